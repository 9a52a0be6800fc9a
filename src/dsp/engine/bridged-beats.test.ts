/** Beats in lost samples, through the engine. */
import { expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { BeatRow } from '../rows/feature-rows.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';

const fs = 250;
const seconds = 120;
const { beats, pWaves } = makeRhythm(seconds, 75, () => true, 5);
const ecg = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.01, seed: 3 });
/** Every seventh beat from the twentieth on. */
const lost = beats.filter((_, i) => i >= 20 && i % 7 === 0 && i < beats.length - 5);

/** @param gaps stretches of missing samples, s */
function rowsOf(x: Float64Array, gaps: readonly (readonly [number, number])[]): readonly BeatRow[] {
  const samples = Float64Array.from(x);
  for (const [from, to] of gaps) samples.fill(Number.NaN, Math.round(from * fs), Math.round(to * fs));
  return streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]).beats;
}

const secOf = ({ tNs }: BeatRow): number => Number(tNs) / 1e9;
const bridgedOf = (rows: readonly BeatRow[]): readonly BeatRow[] => rows.filter(({ reason }) => reason === 'bridged');

// promise: bridged-beats
test.each([
  [0.05, 0.05],
  [0.09, 0.02],
  [0.02, 0.09],
  [0.15, 0.15],
])('a beat in samples lost from %s s before it until %s s after it is bridged, and said to be', (before, after) => {
  const rows = rowsOf(ecg, lost.map((t) => [t - before, t + after])); // prettier-ignore
  const seen = rows.filter(({ kind }) => kind !== 'interpolated').map(secOf);
  const hidden = lost.filter((t) => !seen.some((u) => Math.abs(u - t) < 0.05));
  if (before === after) expect(hidden).toEqual(lost);
  const bridged = bridgedOf(rows);
  expect(bridged).toHaveLength(hidden.length);
  for (const [i, row] of bridged.entries()) {
    expect(Math.abs(secOf(row) - hidden[i]!), `beat at ${hidden[i]} s`).toBeLessThan(0.06);
    expect(row).toMatchObject({ kind: 'interpolated', ibiMs: Number.NaN });
    expect(row.quality).toBeGreaterThanOrEqual(1);
    const next = rows.find((other) => other.tNs > row.tNs)!;
    // the interval across the gap is nobody's
    expect(Number.isNaN(next.ibiMs) || next.reason !== '').toBe(true);
  }
  expect(rows).toHaveLength(beats.length);
});

test('no beat is bridged where none is missing: lost samples between beats, and a pause that is seen to be one', () => {
  expect(bridgedOf(rowsOf(ecg, lost.map((t) => [t + 0.35, t + 0.45])))).toEqual([]); // prettier-ignore
  const left = beats.filter((t) => !lost.includes(t));
  const paused = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats: left, pWaves, noiseMv: 0.01, seed: 3 });
  // the place of the beat that does not come is not in the gap
  expect(bridgedOf(rowsOf(paused, lost.map((t) => [t + 0.35, t + 0.45])))).toEqual([]); // prettier-ignore
});

test('missing samples too few to hide a beat bridge none, nor is a beat bridged without a rhythm', () => {
  expect(bridgedOf(rowsOf(ecg, lost.map((t) => [t - 0.01, t + 0.01])))).toEqual([]); // prettier-ignore
  expect(bridgedOf(rowsOf(ecg, [[beats[2]! - 0.1, beats[2]! + 0.1]]))).toEqual([]); // prettier-ignore
});
