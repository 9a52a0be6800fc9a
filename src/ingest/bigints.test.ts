import { expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { bigintOf, numberOf } from './bigints.ts';

it('converts as Number() and BigInt() do', () => {
  const random = seededRandom(1);
  const edges = [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 52 + 1, Number.MAX_SAFE_INTEGER, 2 ** 53];
  const some = Array.from({ length: 2000 }, () => Math.floor(random() * 2 ** (53 * random())));
  for (const value of [...edges, ...some]) {
    expect(bigintOf(value)).toBe(BigInt(value));
    expect(numberOf(BigInt(value))).toBe(value);
  }
  for (const value of [1_790_000_000_123_456_789n, 2n ** 62n - 1n, 2n ** 64n - 1n]) {
    expect(Math.abs(numberOf(value) - Number(value))).toBeLessThanOrEqual(2048); // one rounding more or less
  }
});
