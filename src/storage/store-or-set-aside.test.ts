import { expect, test } from 'vitest';
import { PipelineError } from '../errors.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';

test('a batch that takes longer than a statement may is stored in halves, in order, with nothing set aside', async () => {
  const stored: number[] = [];
  const asked: number[] = [];
  await storeOrSetAside<readonly number[]>([1, 2, 3, 4], false, {
    write: async (part) => {
      asked.push(part.length);
      // As a connection says it after its own attempts.
      const canceled = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
      if (part.length > 2) throw new PipelineError('unavailable', 'the database does not take writes', { cause: canceled });
      stored.push(...part);
    },
    halve: (part) => (part.length < 2 ? null : [part.slice(0, part.length >> 1), part.slice(part.length >> 1)]),
    setAside: () => Promise.reject(new Error('nothing is to be set aside')),
    forgetPartitions: () => {},
    isStopped: () => asked.length > 20,
    onFault: () => {},
  });
  expect(asked).toEqual([4, 2, 2]);
  expect(stored).toEqual([1, 2, 3, 4]);
});
