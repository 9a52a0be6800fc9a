/** The lease protocol in seeded histories, and signs of life. `npm run lease-histories` plays many more. */
import { describe, expect, it, test } from 'vitest';
import { EPOCH_POSITIONS, HeldPartitions } from '../../src/cluster/held-partitions.ts';
import { HUNG_MS, mayTake } from '../../src/cluster/takeover.ts';
import { plants } from './lease-database.ts';
import { playLeases } from './lease-history.ts';

const HISTORIES = 1500;
const SEEDS_MAX = 3000;

describe('claims, commits, pauses, deaths, lost connections and drains in any order', () => {
  it('lose nothing, give no number twice, and accept no write of a former owner', () => {
    for (let seed = 1; seed <= HISTORIES; seed++) expect(playLeases(seed), `history ${seed}`).toBeNull();
  });

  it.each(plants)('planted: %s: is found', (plant) => {
    let seed = 1;
    while (seed <= SEEDS_MAX && playLeases(seed, plant) === null) seed++;
    expect(seed).toBeLessThanOrEqual(SEEDS_MAX);
  });
});

test('numbers ascend over a claim, and partitions of a former claim are kept', () => {
  const held = new HeldPartitions();
  held.take([0, 1], 5n);
  expect(held.nextPosition()).toBe(5 * EPOCH_POSITIONS + 1);
  held.take([2], 9n);
  expect(held.nextPosition()).toBe(9 * EPOCH_POSITIONS + 1);
  expect([0, 1, 2, 3].map((partition) => held.epochOf(partition))).toEqual([5n, 5n, 9n, null]);
  held.drop(2);
  expect(held.nextPosition()).toBe(9 * EPOCH_POSITIONS + 2); // never below what it gave
  expect(() => held.take([2], 9n)).toThrow('epoch 9 was given after 9');
  expect(() => held.take([2], 2n ** 21n)).toThrow('used up');
});

test('a partition is taken, opened, left and dropped, in this order', () => {
  const held = new HeldPartitions();
  held.take([3], 1n);
  expect(held.modeOf(3)).toBe('taking');
  held.open(3);
  expect(held.modeOf(3)).toBe('open');
  held.leave(3);
  expect(() => held.open(3)).toThrow('partition 3 is leaving, not taking');
  held.drop(3);
  expect(held.modeOf(3)).toBeNull();
  expect(() => held.leave(3)).toThrow('not held');
});

test.each([
  ['given back', null, false, 0, false, true],
  ['starting or ending, or of an earlier release', null, true, 60_000, false, false],
  ['silent, lock free, for less than a connection takes to come back', 'a', false, 1999, false, false],
  ['silent, lock free, for longer', 'a', false, 2000, false, true],
  ['silent, lock free, and nothing was seen before', 'a', false, 0, true, true],
  ['silent, lock held: it may hang for a moment', 'a', true, HUNG_MS - 1, true, false],
  ['silent, lock held, for too long', 'a', true, HUNG_MS, false, true],
])('an owner that is %s', (_, owner, locked, silentMs, fresh, expected) => {
  expect(mayTake({ owner, locked, silentMs }, fresh)).toBe(expected);
});
