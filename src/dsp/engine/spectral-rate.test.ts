import { expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { seeded } from '../testing/fixture.ts';

const fs = 64;
const seconds = 180;

/** Pulses at the times given. */
function pulse(beatSec: readonly number[]): Float64Array {
  const random = seeded(2);
  const x = Float64Array.from({ length: fs * seconds }, () => 0.01 * (random() - 0.5));
  for (const beat of beatSec)
    for (let k = Math.max(0, Math.floor((beat - 0.3) * fs)); k < Math.min(x.length, (beat + 1) * fs); k++) {
      const t = k / fs - beat;
      x[k]! += Math.exp(-((t / 0.08) ** 2)) + 0.4 * Math.exp(-(((t - 0.25) / 0.13) ** 2));
    }
  return x;
}

function ratesOf(samples: Float64Array): { t: number; beats: number; flag: number; motion: number; motionFlag: number }[] {
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }]);
  const beats = new Map((features.get('hr_ppg') ?? []).map((row) => [row.tNs, row]));
  return (features.get('hr_ppg_motion') ?? []).map(({ tNs, value, qmask }) => ({
    t: Number(tNs) / 1e9,
    beats: beats.get(tNs)?.value ?? Number.NaN,
    flag: beats.get(tNs)?.qmask ?? 2,
    motion: value,
    motionFlag: qmask,
  }));
}

test('hr_ppg_motion of a pulse at rest is the rate of its beats, and good, without an accelerometer', () => {
  const beatSec = Array.from({ length: seconds }, (_, i) => 0.5 + i * 0.9 + 0.03 * Math.sin(i));
  const settled = ratesOf(pulse(beatSec)).filter(({ t }) => t > 30);
  const good = settled.filter(({ flag }) => flag === 0);
  expect(good.length).toBeGreaterThan(50);
  for (const { beats, motion, motionFlag } of good) expect([motion, motionFlag]).toEqual([beats, 0]);
  for (const { flag, motionFlag } of settled) if (flag > 0) expect(motionFlag).toBeGreaterThan(0);
});

test('hr_ppg_motion of a pulse with pauses in a good signal is that of its beats, suspect where theirs is', () => {
  const beatSec: number[] = [];
  for (let t = 0.5; t < seconds; t += beatSec.length % 5 === 4 ? 1.5 : 0.8) beatSec.push(t);
  const settled = ratesOf(pulse(beatSec)).filter(({ t, flag }) => t > 30 && flag === 1);
  const alike = settled.filter(({ beats, motion }) => beats === motion);
  expect(settled.length).toBeGreaterThan(30);
  expect(alike.length / settled.length).toBeGreaterThan(0.8);
  for (const { motionFlag } of settled) expect(motionFlag).toBeGreaterThan(0);
});

test('every spectral rate is given out once, also where no beats are', () => {
  const random = seeded(3);
  const rows = ratesOf(Float64Array.from({ length: fs * seconds }, (_, k) => Math.sin(2 * Math.PI * 1.3 * (k / fs)) + 0.5 * random()));
  expect(rows.map(({ t }) => t)).toEqual([...new Set(rows.map(({ t }) => t))].toSorted((a, b) => a - b));
  expect(rows.length).toBeGreaterThan(60);
});

test('a pulse that is taken off with a motion at its own rate leaves no good rate at the end of the range', () => {
  const beatSec = Array.from({ length: 220 }, (_, i) => 0.5 + (i * 60) / 72);
  const phase = (t: number): number => 2 * Math.PI * 1.2 * t + 0.3 * Math.sin(2 * Math.PI * 0.03 * t);
  const moved = (gain: number): Float64Array =>
    Float64Array.from({ length: fs * seconds }, (_, i) => gain * (Math.sin(phase(i / fs)) + 0.25 * Math.sin(2 * phase(i / fs))));
  const samples = pulse(beatSec).map((v, i) => v + 0.35 * Math.sin(phase(i / fs - 0.12)) + 0.15 * Math.sin(2 * phase(i / fs) + 1));
  const axes = [0.6, 0.4, 0.2].map((gain, i) => ({ code: `acc.${'xyz'[i]!}`, kind: 'acc' as const, fs, unit: 'g', samples: moved(gain) }));
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }, ...axes]);
  const rates = features.get('hr_ppg_motion')!;
  expect(rates.length).toBeGreaterThan(80);
  const wrong = rates.filter(({ value }) => Math.abs(value - 72) > 5);
  expect(wrong.length).toBeGreaterThan(0);
  expect(wrong.filter(({ qmask }) => qmask === 0)).toEqual([]);
});

/** Pulse of 72 or 100 /min, and from 30 s on a motion at so many times that rate, in the pulse as high as `inPulse`. */
function movedRates(perMin: number, times: number, inPulse: number, g: number): Map<string, { value: number; flag: number }[]> {
  const random = seeded(2);
  const beatSec: number[] = [];
  for (let t = 0.5; t < seconds; t += (60 / perMin) * (1 + 0.03 * (random() - 0.5))) beatSec.push(t);
  const phase = (t: number): number => 2 * Math.PI * ((times * perMin) / 60) * t + 0.3 * Math.sin(2 * Math.PI * 0.03 * t);
  const samples = pulse(beatSec).map((v, i) => {
    const at = phase(i / fs - 0.12);
    return i < 30 * fs ? v : v + inPulse * (Math.sin(at) + 0.4 * Math.sin(2 * at + 1));
  });
  const axes = [0.6, 0.4, 0.2].map((share, i) => {
    const moved = Float64Array.from({ length: fs * seconds }, (_, k) => {
      const at = phase(k / fs);
      return 0.005 * (random() - 0.5) + (k < 30 * fs ? 0 : share * g * (Math.sin(at) + 0.25 * Math.sin(2 * at)));
    });
    return { code: `acc.${'xyz'[i]!}`, kind: 'acc' as const, fs, unit: 'g', samples: moved };
  });
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }, ...axes]);
  const of = (feature: string): { value: number; flag: number }[] =>
    (features.get(feature) ?? []).filter(({ tNs }) => Number(tNs) > 40e9).map(({ value, qmask }) => ({ value, flag: qmask }));
  return new Map(['hr_ppg', 'hr_ppg_motion', 'prv_rmssd_60s'].map((feature) => [feature, of(feature)]));
}

test.each([
  ['hr_ppg_motion', 'the rate of the pulse', 100, 1, 0.8, 0.3],
  ['hr_ppg_motion', 'the rate of the pulse', 100, 1, 2, 1],
  ['hr_ppg_motion', 'half of the rate of the pulse', 72, 0.5, 0.3, 1],
  ['hr_ppg_motion', 'half of the rate of the pulse', 100, 0.5, 0.8, 1],
  ['hr_ppg_motion', 'twice the rate of the pulse', 100, 2, 2, 0.3],
  ['hr_ppg', 'half of the rate of the pulse', 72, 0.5, 2, 0.3],
  ['hr_ppg', 'half of the rate of the pulse', 100, 0.5, 2, 1],
])('%s in a motion at %s: %d /min, %f times it, %f of its height and %f g, is not good where it is wrong', (feature, _, perMin, times, inPulse, g) => {
  const rates = movedRates(perMin, times, inPulse, g).get(feature)!;
  const wrong = rates.filter(({ value }) => Math.abs(value - perMin) > 5);
  expect(wrong.length).toBeGreaterThan(30);
  expect(wrong.filter(({ flag }) => flag === 0)).toEqual([]);
}); // prettier-ignore

test.each([
  [72, 1.5, 0.8, 0.3],
  [72, 2, 0.8, 1],
  [100, 2, 0.3, 0.3],
])('hr_ppg_motion of %d /min in a motion at %f times it stays good where it is right', (perMin, times, inPulse, g) => {
  const rates = movedRates(perMin, times, inPulse, g).get('hr_ppg_motion')!;
  for (const { value } of rates) expect(Math.abs(value - perMin)).toBeLessThan(5);
  expect(rates.filter(({ flag }) => flag === 0).length).toBeGreaterThan(0.8 * rates.length);
});

test('a pulse that is taken off with a motion at its own rate leaves no good rate at three times that', () => {
  const rates = [63, 66, 69].flatMap((perMin) =>
    [0.3, 1].flatMap((inPulse) =>
      movedRates(perMin, 1, inPulse, 0.3)
        .get('hr_ppg_motion')!
        .map((rate) => ({ ...rate, perMin })),
    ),
  );
  const wrong = rates.filter(({ value, perMin }) => Math.abs(value - 3 * perMin) < 10);
  expect(wrong.length).toBeGreaterThan(5);
  expect(wrong.filter(({ flag }) => flag === 0)).toEqual([]);
});

test('what is made of the beats of a motion is not good, at the start neither', () => {
  const random = seeded(4);
  const lengthSec = 330;
  const step = (t: number): number => (t < 0 ? 0 : Math.exp(-(((t - 0.2) / 0.08) ** 2)) + 0.4 * Math.exp(-(((t - 0.45) / 0.13) ** 2)));
  const stepSec: number[] = [];
  for (let t = 0.1; t < lengthSec; t += 0.55 + 0.01 * Math.sin(t / 3) + 0.004 * (random() - 0.5)) stepSec.push(t);
  const wave = new Float64Array(fs * lengthSec);
  for (const at of stepSec) for (let k = Math.ceil(at * fs); k < Math.min(wave.length, (at + 1) * fs); k++) wave[k]! += step(k / fs - at);
  const axes = [0.6, 0.4, 0.2].map((share, i) => ({
    code: `acc.${'xyz'[i]!}`,
    kind: 'acc' as const,
    fs,
    unit: 'g',
    samples: wave.map((value) => share * value + 0.005 * random()),
  }));
  const samples = wave.map((value) => value + 0.01 * (random() - 0.5));
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }, ...axes]);
  for (const feature of ['hr_ppg', 'prv_mean_nn_300s']) {
    expect(features.get(feature)!.length, feature).toBeGreaterThan(1);
    expect(
      features.get(feature)!.filter(({ qmask }) => qmask === 0),
      feature,
    ).toEqual([]);
  }
});
