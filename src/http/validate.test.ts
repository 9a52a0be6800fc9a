import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Type } from 'typebox';
import { compileCheck, compileQuery, Preparing, readJson } from './validate.ts';

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
  await sleep(50);
  expect(done).toBe(0);
});

it('refuses text that no table can hold, and says where it is', () => {
  const anything = compileCheck(Type.Unknown());
  const read = (body: string): unknown => readJson(new TextEncoder().encode(body), anything);
  expect(read('{"note":"two\\nlines\\tand \\ud83e\\udec0"}')).toEqual({ note: 'two\nlines\tand 🫀' });
  expect(() => read('{"a":[{"b~/":"x\\u0000"}]}')).toThrow('/a/0/b~0~1: holds U+0000');
  expect(() => read('{"id":"sur-\\ud800-x"}')).toThrow('/id: holds U+D800');
  expect(() => read('{"id":"\u0085"}')).toThrow('/id: holds U+0085');
  expect(() => read('{"id":"\uffff"}')).toThrow('/id: holds U+FFFF');
  expect(() => read('{"a\\u000a":1}')).toThrow('a member whose name holds U+000A');
});

it('refuses a body that is nested deeper than 64 levels, whatever is in it', () => {
  const read = (depth: number, inside: string): unknown =>
    readJson(new TextEncoder().encode(`${'['.repeat(depth)}${inside}${']'.repeat(depth)}`), compileCheck(Type.Unknown()));
  expect(() => read(64, '"[[[["')).not.toThrow();
  expect(() => read(64, '"\\u0000"')).toThrow('holds U+0000');
  expect(() => read(65, '1')).toThrow('nested deeper than 64 levels');
  expect(() => read(100_000, '"\\u0000"')).toThrow('nested deeper than 64 levels');
});

it('refuses query values that would be changed on their way', () => {
  const query = compileQuery({ subject: Type.Optional(Type.String()), names: Type.Optional(Type.Array(Type.String())) });
  expect(query('subject=Zo%C3%AB%20100%')).toEqual({ subject: 'Zoë 100%' });
  expect(query('subject=%EF%BF%BD')).toEqual({ subject: '\ufffd' });
  expect(() => query('subject=a%00b')).toThrow('/query/subject: holds U+0000');
  expect(() => query('subject=a%0Ab')).toThrow('/query/subject: holds U+000A');
  expect(() => query('subject=sur-%ED%A0%80-x')).toThrow('/query/subject: holds an escape that is not UTF-8');
  expect(() => query('names=a&names=%7F')).toThrow('/query/names: holds U+007F');
});
