import { expect, test } from 'vitest';
import { emptyValues } from '../../dsp/kernels/block-values.ts';
import { Spo2 } from '../../dsp/ppg/spo2.ts';
import { createSimulatedDevice, simulatedSpo2 } from './device.ts';
import type { SimulatedDeviceOptions, TruthBeat } from './device.ts';

/** Runs a device for a while in steps, joined per channel. */
function run(options: SimulatedDeviceOptions, durationMs: number, stepMs: (step: number) => number) {
  const device = createSimulatedDevice(options);
  const samples = device.channels.map((): number[] => []);
  const beats: TruthBeat[] = [];
  for (let at = 0, step = 0; at < durationMs; step++) {
    const length = Math.min(stepMs(step), durationMs - at);
    const span = device.next(length);
    for (const { channelNo, k0, samples: run } of span.runs) {
      expect(k0).toBe(samples[channelNo]!.length);
      samples[channelNo]!.push(...run);
    }
    beats.push(...span.beats);
    at += length;
  }
  return { device, samples, beats };
}

test('gives the same samples and beats however the time is cut', () => {
  const options = {
    seed: 7,
    pvcPercent: 5,
    activity: 'mixed',
    rhythm: 'paroxysmal_fibrillation',
    contactLossPerHour: 120,
    channels: ['ecg.ii', 'ppg.ir', 'eda', 'temp.skin', 'acc.x', 'resp'],
  } as const;
  const whole = run(options, 90_000, () => 90_000);
  const cut = run(options, 90_000, (step) => [100, 37, 1000, 4, 250][step % 5]!);
  expect(cut.samples).toEqual(whole.samples);
  expect(cut.beats).toEqual(whole.beats);
});

test('another seed is another person', () => {
  const a = run({ seed: 1 }, 5000, () => 1000);
  const b = run({ seed: 2 }, 5000, () => 1000);
  expect(a.samples[0]).not.toEqual(b.samples[0]);
});

test('samples every channel at its rate', () => {
  const { device, samples } = run({ seed: 3 }, 10_000, () => 100);
  const byCode = Object.fromEntries(device.channels.map((channel, i) => [channel.code, samples[i]!.length]));
  expect(byCode).toEqual({ 'ecg.ii': 2500, 'ppg.ir': 1000, eda: 40, 'temp.skin': 10, 'acc.x': 500, 'acc.y': 500, 'acc.z': 500 });
});

test('beats have the rate and variability of a healthy adult at rest', () => {
  const { beats } = run({ seed: 11, heartRateBpm: 64, breathsPerMin: 14, channels: ['temp.skin'] }, 600_000, () => 10_000);
  const rr = beats.slice(1).map((beat) => beat.rrMs);
  const mean = rr.reduce((sum, value) => sum + value, 0) / rr.length;
  const sdnn = Math.sqrt(rr.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (rr.length - 1));
  const rmssd = Math.sqrt(rr.slice(1).reduce((sum, value, i) => sum + (value - rr[i]!) ** 2, 0) / (rr.length - 1));
  expect(60_000 / mean).toBeCloseTo(64, -0.5);
  expect(sdnn).toBeGreaterThan(25);
  expect(sdnn).toBeLessThan(70);
  expect(rmssd).toBeGreaterThan(15);
  expect(rmssd).toBeLessThan(60);
});

test('the R wave of a clean ECG is highest at the true beat', () => {
  const { samples, beats } = run({ seed: 5, noise: 0, channels: ['ecg.ii'] }, 30_000, () => 1000);
  const ecg = samples[0]!;
  const inside = beats.filter((beat) => beat.atSec > 0.5 && beat.atSec < 29.5);
  expect(inside.length).toBeGreaterThan(20);
  for (const beat of inside) {
    const k = Math.round(beat.atSec * 250);
    const window = ecg.slice(k - 60, k + 60);
    expect(Math.abs(window.indexOf(Math.max(...window)) - 60)).toBeLessThanOrEqual(1);
    expect(Math.max(...window)).toBeGreaterThan(900);
  }
});

test('a ventricular beat comes early and is followed by a pause', () => {
  const { beats } = run({ seed: 5, pvcPercent: 10, channels: ['temp.skin'] }, 300_000, () => 5000);
  const early = beats.flatMap((beat, i) => (beat.kind === 'V' && i > 0 && i + 1 < beats.length ? [i] : []));
  expect(early.length).toBeGreaterThan(10);
  for (const i of early) {
    expect(beats[i]!.rrMs).toBeLessThan(0.8 * beats[i + 1]!.rrMs);
  }
});

test('running raises the heart rate and moves the wrist', () => {
  const still = run({ seed: 9, channels: ['acc.z'] }, 240_000, () => 1000);
  const running = run({ seed: 9, activity: 'run', channels: ['acc.z'] }, 240_000, () => 1000);
  const lastMinute = (beats: readonly TruthBeat[]): number => beats.filter((beat) => beat.atSec >= 180).length;
  expect(lastMinute(running.beats)).toBeGreaterThan(lastMinute(still.beats) + 40);
  const range = (z: readonly number[]): number => Math.max(...z.slice(-500)) - Math.min(...z.slice(-500));
  expect(range(running.samples[0]!)).toBeGreaterThan(4096);
  expect(range(still.samples[0]!)).toBeLessThan(600);
});

test('fibrillation comes and goes: irregular beats without P waves, then sinus rhythm again', () => {
  const device = createSimulatedDevice({ seed: 4, rhythm: 'paroxysmal_fibrillation', channels: ['temp.skin'] });
  const rr: Record<'true' | 'false', number[]> = { true: [], false: [] };
  for (let sec = 0; sec < 1800; sec++) {
    const span = device.next(1000);
    for (const { rrMs } of span.beats) rr[`${span.fibrillating}`].push(rrMs);
  }
  const irregularity = (values: readonly number[]): number => {
    const steps = values.slice(1).map((value, i) => Math.abs(value - values[i]!));
    return steps.reduce((sum, step) => sum + step, 0) / values.reduce((sum, value) => sum + value, 0);
  };
  expect(Math.min(rr.true.length, rr.false.length)).toBeGreaterThan(300);
  expect(irregularity(rr.true)).toBeGreaterThan(0.15);
  expect(irregularity(rr.false)).toBeLessThan(0.06);
});

test('a loss of contact takes the ECG to its rail and the pulse out of the PPG, for as long as the truth says', () => {
  const device = createSimulatedDevice({ seed: 3, contactLossPerHour: 60, channels: ['ecg.ii', 'ppg.ir'] });
  const samples: number[][] = [[], []];
  const losses: { atSec: number; durationSec: number; sensor: string }[] = [];
  for (let sec = 0; sec < 900; sec++) {
    const span = device.next(1000);
    for (const { channelNo, samples: run } of span.runs) samples[channelNo]!.push(...run);
    losses.push(...span.contactLosses);
  }
  const of = (sensor: string) => losses.filter((loss) => loss.sensor === sensor && loss.atSec + loss.durationSec < 900);
  expect(Math.min(of('ecg').length, of('ppg').length)).toBeGreaterThan(1);
  const cut = (channel: number, fs: number, from: number, to: number): number[] =>
    samples[channel]!.slice(Math.ceil(from * fs), Math.floor(to * fs));
  const range = (values: readonly number[]): number => Math.max(...values) - Math.min(...values);
  for (const { atSec, durationSec } of of('ecg')) {
    expect(Math.min(...cut(0, 250, atSec + 1.5, atSec + durationSec))).toBeGreaterThan(32_000);
    expect(Math.max(...cut(0, 250, atSec + durationSec + 0.01, atSec + durationSec + 1))).toBeLessThan(3000);
  }
  for (const { atSec, durationSec } of of('ppg')) expect(range(cut(1, 100, atSec + 1.5, atSec + durationSec))).toBeLessThan(400);
});

test('red and infrared light carry the saturation that the truth names', () => {
  const device = createSimulatedDevice({ seed: 5, channels: ['ppg.ir', 'ppg.red'] });
  const spo2 = new Spo2(100, { offset: 110, slope: 25 });
  const found = emptyValues();
  for (let sec = 0; sec < 120; sec++) {
    const [infrared, red] = device.next(1000).runs.map(({ samples }) => Float64Array.from(samples));
    spo2.push(red!, infrared!, 0, 100, found);
  }
  const good = [...found.value.subarray(0, found.count)].filter((_, i) => found.flag[i] === 0);
  expect(good.length).toBeGreaterThan(10);
  expect(Math.max(...good.map((value) => Math.abs(value - simulatedSpo2)))).toBeLessThan(1);
});
