import { describe, expect, test } from 'vitest';
import { correctBeats, MATCH_NS } from './corrected-beats.ts';
import type { Correction } from './corrected-beats.ts';

const kindsOfBeats = ['N', 'S', 'V', 'none'];

/** The same numbers in every run (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function columnsAt(tsNs: readonly bigint[]) {
  return {
    tsNs: BigInt64Array.from(tsNs),
    intervalMs: new Float64Array(tsNs.length).fill(Number.NaN),
    kinds: new Uint8Array(tsNs.length),
    accepted: new Uint8Array(tsNs.length),
  };
}

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

/** The rule, by looking at every beat: the nearest computed one, or else the first of those added; both within MATCH_NS. Of two as near,
 *  the earlier. @returns time of the beat and what was said of it last, of all that were said something about */
function byLookingAtAll(computed: readonly bigint[], corrections: readonly Correction[]): string[] {
  const said = new Map<string, string>();
  const added: bigint[] = [];
  for (const { tsNs, beat } of corrections) {
    const near = computed.filter((ns) => distance(ns, tsNs) <= MATCH_NS).toSorted((a, b) => Number(distance(a, tsNs) - distance(b, tsNs)));
    const known = near[0] ?? added.find((ns) => distance(ns, tsNs) <= MATCH_NS);
    if (known === undefined) added.push(tsNs);
    said.set(String(known ?? tsNs), beat);
  }
  return [...said].filter(([, beat]) => beat !== 'none').map(([ns, beat]) => `${ns} ${beat}`);
}

describe('beats that people added', () => {
  test.each([
    ['now', 1_760_000_000_000_000_000n],
    ['around 1970', -10_000_000_000n],
    ['in 1905', -2_050_000_000_000_000_000n],
  ])('are those that looking at every one finds: %s', (_name, fromNs) => {
    for (let seed = 1; seed <= 60; seed++) {
      const next = random(seed);
      // Multiples of 50 ms: many pairs are exactly 150 ms apart, or as far from one beat as from another.
      const at = (): bigint =>
        fromNs + BigInt(Math.floor(next() * 400)) * 50_000_000n + (next() < 0.2 ? BigInt(Math.floor(next() * 3)) : 0n);
      const computed = [...new Set(Array.from({ length: seed % 8 }, at))].toSorted((a, b) => (a < b ? -1 : 1));
      const corrections = Array.from({ length: 150 }, (_, i) => ({
        id: String(i),
        tsNs: at(),
        beat: kindsOfBeats[Math.floor(next() * 4)]!,
      }));
      const { beats, applied } = correctBeats(columnsAt(computed), corrections);
      const said = beats.flatMap(({ tsNs, said: what }) => (what === null ? [] : [`${tsNs} ${what}`]));
      expect(said.toSorted(), `seed ${seed}`).toEqual(byLookingAtAll(computed, corrections).toSorted());
      expect(applied.map(({ id }) => id)).toEqual(corrections.map(({ id }) => id));
    }
  });

  test('as many as a request may have cost no more than a moment', () => {
    const columns = columnsAt([]);
    const corrections = Array.from({ length: 10_000 }, (_, i) => ({ id: String(i), tsNs: BigInt(i) * 8_000_000_000n, beat: 'V' }));
    const before = process.threadCpuUsage(); // not the clock: others use the machine, too
    const { beats } = correctBeats(columns, corrections);
    const { user, system } = process.threadCpuUsage(before);
    expect(beats).toHaveLength(10_000);
    expect((user + system) / 1000).toBeLessThan(200);
  });
});
