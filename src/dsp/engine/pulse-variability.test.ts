// Variability of the pulse is good only where the places of beats are known: at slow rates, and next to samples that are missing.
import { expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { seeded } from '../testing/fixture.ts';

const seconds = 300;

type Recording = Readonly<{ samples: Float64Array; beatSec: readonly number[] }>;

/** @param swing share by which breathing changes the intervals */
function recording(perMin: number, fs: number, swing: number, seed: number): Recording {
  const random = seeded(seed);
  const samples = Float64Array.from({ length: fs * seconds }, () => 0.03 * (random() - 0.5));
  const beatSec: number[] = [];
  for (let t = 0.5; t < seconds; t += (60 / perMin) * (1 + swing * Math.sin(2 * Math.PI * 0.25 * t) + 0.006 * (random() - 0.5))) {
    beatSec.push(t);
    for (let k = Math.max(0, Math.floor((t - 0.3) * fs)); k < Math.min(samples.length, (t + 1) * fs); k++) {
      const at = k / fs - t;
      samples[k]! += Math.exp(-((at / 0.085) ** 2)) + 0.35 * Math.exp(-(((at - 0.28) / 0.12) ** 2));
    }
  }
  return { samples, beatSec };
}

function rmssdOf(beatSec: readonly number[], fromSec: number, toSec: number): number {
  const inside = beatSec.filter((t) => t > fromSec && t <= toSec);
  const differences = inside.slice(2).map((t, i) => 1000 * (t - 2 * inside[i + 1]! + inside[i]!));
  return Math.sqrt(differences.reduce((sum, d) => sum + d * d, 0) / differences.length);
}

/** RMSSD of a minute flagged good: how many there are, and how far the worst is off, as a share. */
function goodOf({ samples, beatSec }: Recording, fs: number): { count: number; worst: number } {
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }]);
  let count = 0;
  let worst = 0;
  for (const { tNs, value, qmask } of features.get('prv_rmssd_60s')!) {
    if (qmask !== 0) continue;
    const t = Number(tNs) / 1e9;
    count++;
    worst = Math.max(worst, Math.abs(value / rmssdOf(beatSec, t - 60, t) - 1));
  }
  return { count, worst };
}

test.each([
  [60, 0.002],
  [110, 0.003],
  [160, 0.003],
])('at 25 Hz, where beats lie between samples, a small RMSSD of %d /min is not good', (perMin, swing) => {
  expect(goodOf(recording(perMin, 25, swing, 4), 25).count).toBe(0);
});

test('at 25 Hz a large RMSSD is good, and right', () => {
  const { count, worst } = goodOf(recording(60, 25, 0.05, 4), 25);
  expect(count).toBeGreaterThan(20);
  expect(worst).toBeLessThan(0.1);
});

test('where packets are lost, the beats in them do not count', () => {
  let found = 0;
  for (let seed = 1; seed <= 6; seed++) {
    const random = seeded(seed);
    const made = recording(62, 64, 0.06, seed);
    for (let from = 0; from < made.samples.length; from += 16) if (random() < 0.04) made.samples.fill(Number.NaN, from, from + 16);
    const { count, worst } = goodOf(made, 64);
    found += count;
    expect(worst, String(seed)).toBeLessThan(0.1);
  }
  expect(found).toBeGreaterThan(20);
});

test('of a pulse with pauses no RMSSD is good, wherever the pulse after a pause is steepest', () => {
  const fs = 64;
  for (const [pauseSec, perMin, seed] of [
    [2.6, 48, 1],
    [2.6, 66, 1],
    [2.9, 58, 1],
    [2.98, 58, 2],
  ] as const) {
    const random = seeded(seed);
    const samples = Float64Array.from({ length: fs * 200 }, () => 0.03 * (random() - 0.5));
    const add = (beat: number): void => {
      for (let k = Math.max(0, Math.floor((beat - 0.5) * fs)); k < Math.min(samples.length, (beat + 1.6) * fs); k++) {
        const at = k / fs - beat;
        samples[k]! += at < 0 ? Math.exp(-((at / 0.1) ** 2)) : Math.exp(-at / 0.24);
      }
    };
    let nextPause = 12;
    for (let t = 0.5; t < 200;) {
      add(t);
      const isPause = t > nextPause;
      t += isPause ? pauseSec : (60 / perMin) * (1 + 0.02 * Math.sin(2 * Math.PI * 0.25 * t) + 0.006 * (random() - 0.5));
      if (isPause) nextPause = t + 22;
    }
    expect(goodOf({ samples, beatSec: [] }, fs).count, `${pauseSec} s, ${perMin} /min`).toBe(0);
  }
});
