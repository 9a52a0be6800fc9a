import { expect, it } from 'vitest';
import { Type } from 'typebox';
import { compileCheck, compileQuery, Preparing } from './validate.ts';

it('compiles each schema once, in idle time or when it is asked first', async () => {
  const preparing = new Preparing();
  const order: string[] = [];
  const check = compileCheck(Type.Object({ rate: Type.Number() }), '', preparing);
  const query = compileQuery({ limit: Type.Optional(Type.Integer({ maximum: 10 })) }, preparing);
  preparing.add(() => void order.push('prepared'));
  expect(check({ rate: 'fast' })).toMatchObject([{ pointer: '/rate', code: 'type' }]); // asked before its turn
  preparing.begin(0, 0);
  await expect.poll(() => order).toEqual(['prepared']);
  expect(check({ rate: 250 })).toEqual([]);
  expect(query('limit=10')).toEqual({ limit: 10 });
  expect(() => query('limit=11')).toThrow('/query/limit');
});

it('stops preparing', async () => {
  const preparing = new Preparing();
  let done = 0;
  preparing.add(() => void (done += 1));
  preparing.begin(5, 5);
  preparing.stop();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(done).toBe(0);
});
