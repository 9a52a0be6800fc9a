import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { PulseKernel, emptyPulse } from './pulse.ts';
import type { FoundPulse } from './pulse.ts';

const FS = 64;
const SECONDS = 70;

/** Two wavelengths of a pulse of 75/min under arm swing of 2.3 Hz that the three axes after them share. */
function armSwing(): Float64Array[] {
  const wave = (make: (t: number) => number): Float64Array => Float64Array.from({ length: SECONDS * FS }, (_, i) => make(i / FS));
  const beat = (t: number): number => Math.exp(-((((t % 0.8) - 0.2) / 0.09) ** 2));
  const swing = (t: number): number => Math.sin(2 * Math.PI * 2.3 * t) + 0.5 * Math.sin(2 * Math.PI * 1.15 * t);
  return [
    wave((t) => beat(t) + (t > 30 ? 0.8 : 0.02) * swing(t)),
    wave((t) => 0.7 * beat(t) + (t > 30 ? 0.3 : 0.02) * swing(t)),
    ...[0.2, -0.5, 0.3].map((gain) => wave((t) => (t > 30 ? gain : 0.001) * swing(t))),
  ];
}

/** The same wavelengths at rest, with a steep rise and a slow fall, and a hand that hardly moves. */
function still(): Float64Array[] {
  const shape = (phase: number): number => (phase < 0.15 ? phase / 0.15 : Math.exp(-(phase - 0.15) / 0.3));
  const beats = Float64Array.from({ length: SECONDS * FS }, (_, i) => shape(((i / FS) % 0.8) / 0.8));
  return [beats, beats.map((value) => 0.7 * value), ...[1, 2, 3].map((k) => beats.map((_, i) => 0.001 * Math.sin((k * i) / FS)))];
}

/** A wave of 75/min that rises a little more slowly than it falls. */
const leaning = (i: number): number => {
  const phase = ((i / FS) % 0.8) / 0.8;
  return phase < 0.55 ? phase / 0.55 : (1 - phase) / 0.45;
};

function found(kernel: PulseKernel, leads: readonly Float64Array[], step: number): FoundPulse {
  const out = emptyPulse();
  for (let at = 0; at < SECONDS * FS; at += step) kernel.push(leads, at, Math.min(SECONDS * FS, at + step), out);
  kernel.flush(out);
  return out;
}

const columns = ({ beats, rates, seconds }: FoundPulse): number[][] => [
  [...beats.position.subarray(0, beats.count)],
  [...beats.confidence.subarray(0, beats.count)],
  ...[rates.endSec, rates.bpm, rates.confidence, rates.motion].map((column) => [...column.subarray(0, rates.count)]),
  ...[seconds.startSec, seconds.sqi, seconds.flag].map((column) => [...column.subarray(0, seconds.count)]),
];

describe('PulseKernel', () => {
  test('finds beats, a rate every 2 s that arm swing does not lead astray, and judges every second', () => {
    const { beats, rates, seconds } = found(new PulseKernel(FS, 2, 3), armSwing(), 100);
    expect(beats.count).toBeGreaterThan(60);
    expect(rates.count).toBe((SECONDS - 8) / 2 + 1);
    for (let i = 0; i < rates.count; i++) expect(Math.abs(rates.bpm[i]! - 75)).toBeLessThan(4);
    expect([...seconds.startSec.subarray(0, seconds.count)]).toEqual(Array.from({ length: SECONDS }, (_, k) => k));
    expect([...seconds.flag.subarray(8, 20)]).toEqual(Array.from({ length: 12 }, () => 0));
  });

  test('finds the same, bit for bit, however the rows are cut, and again after reset', () => {
    const leads = armSwing();
    leads[0]!.fill(Number.NaN, 20 * FS, 23 * FS);
    leads[3]!.fill(Number.NaN, 40 * FS, 45 * FS);
    const whole = columns(found(new PulseKernel(FS, 2, 3), leads, SECONDS * FS));
    const used = new PulseKernel(FS, 2, 3);
    found(used, armSwing().toReversed(), 77);
    for (const step of [1, 7, 64, 1000]) {
      expect(columns(found(new PulseKernel(FS, 2, 3), leads, step))).toEqual(whole);
      used.reset();
      expect(columns(found(used, leads, step))).toEqual(whole);
    }
  });

  test('computes a pulse that is upside down as the same pulse upright, bit for bit', () => {
    const leads = still();
    const inverted = leads.map((x, l) => (l < 2 ? x.map((value) => -value) : x));
    const kernel = new PulseKernel(FS, 2, 3);
    expect(columns(found(kernel, inverted, 100))).toEqual(columns(found(new PulseKernel(FS, 2, 3), leads, 100)));
    expect([kernel.isInverted(0), kernel.isInverted(60 * FS)]).toEqual([true, true]);
  });

  test('goes on when a pulse turns over: beats before and after, the same however the rows are cut', () => {
    const leads = still().map((x, l) => (l < 2 ? x.map((value, i) => (i < 20 * FS ? value : 5 - value)) : x));
    const whole = found(new PulseKernel(FS, 2, 3), leads, SECONDS * FS);
    for (const step of [1, 64, 1000]) {
      const kernel = new PulseKernel(FS, 2, 3);
      expect(columns(found(kernel, leads, step))).toEqual(columns(whole));
      // judged upside down with the block that ends at 30 s
      expect([15, 28, 31, 60].map((sec) => kernel.isInverted(sec * FS))).toEqual([false, false, true, true]);
    }
  });

  test('knows from when on the polarity is in doubt, the same however the rows are cut', () => {
    // between 22 s and 41 s waves that lean the other way a little
    const leads = still().map((x, l) => (l < 2 ? x.map((value, i) => (i < 22 * FS || i >= 41 * FS ? value : leaning(i))) : x));
    const doubted = (step: number): number[] => {
      const kernel = new PulseKernel(FS, 2, 3);
      const out = emptyPulse();
      const positions: number[] = [];
      for (let at = 0; at < SECONDS * FS; at += step) {
        kernel.push(leads, at, Math.min(SECONDS * FS, at + step), out);
        const { count, position } = out.beats;
        positions.push(...position.subarray(0, count).filter((beat) => kernel.isPolarityDoubtful(beat)));
        out.beats.count = 0;
      }
      return positions;
    };
    const each = doubted(1);
    expect(each.length).toBeGreaterThan(5);
    for (const step of [7, 50, 64]) expect(doubted(step)).toEqual(each);
  });

  test('gives blocks of light in order where the first wavelength comes later than another', () => {
    const [first, second] = still().map((x) => x.map((value) => value + 50)) as [Float64Array, Float64Array];
    first.fill(Number.NaN, 0, 8 * FS);
    const { blocks } = found(new PulseKernel(FS, 2, 0), [first, second], SECONDS * FS);
    expect([...blocks.endSec.subarray(0, blocks.count)]).toEqual([8, 16, 24, 32, 40, 48, 56, 64]);
    expect([...blocks.value.subarray(0, blocks.count)].map(Number.isNaN).indexOf(false)).toBe(1);
    expect([...blocks.flag.subarray(0, 2)]).toEqual([1, 0]);
  });

  test('told which seconds are not wanted, judges the others as before', () => {
    const leads = armSwing();
    const [, , ...whole] = columns(found(new PulseKernel(FS, 2, 3), leads, 100)).map((column, i) => (i < 6 ? column : column.slice(16)));
    const kernel = new PulseKernel(FS, 2, 3);
    kernel.reset(16);
    const [, , ...quiet] = columns(found(kernel, leads, 100));
    expect(quiet).toEqual(whole);
    expect(quiet.at(-1)!.length).toBe(SECONDS - 16);
  });

  test('takes an accelerometer that is silent for none', () => {
    const [red, infrared] = armSwing();
    const silent = new Float64Array(SECONDS * FS).fill(Number.NaN);
    const without = found(new PulseKernel(FS, 2, 0), [red!, infrared!], 50);
    expect(columns(found(new PulseKernel(FS, 2, 3), [red!, infrared!, silent, silent, silent], 50))).toEqual(columns(without));
  });
});

/** Two wavelengths, 80 s at 100 Hz, of a heart that pauses now and then; samples of either are lost, all or half of them for a while. */
function pausing(seed: number): Float64Array[] {
  const random = seeded(seed);
  const fs = 100;
  const bump = (t: number, width: number): number => Math.exp(-((t / width) ** 2));
  const rr = 0.5 + 0.6 * random();
  const beats: number[] = [];
  for (let t = 0.3; t < 80; t += rr * (1 + 0.1 * (random() - 0.5)) + (random() < 0.04 ? 3 + 9 * random() : 0)) beats.push(t);
  const leads = [1, 0.6].map((gain) =>
    Float64Array.from({ length: 80 * fs }, (_, i) => {
      const t = i / fs;
      const near = beats.filter((beat) => Math.abs(t - beat) < 1.5);
      return near.reduce((x, beat) => x + gain * (bump(t - beat - 0.25, 0.1) + 0.4 * bump(t - beat - 0.53, 0.12)), 10 + 0.02 * random());
    }),
  );
  for (const x of leads)
    for (let lost = 0; lost < 12; lost++) {
      const from = Math.floor(random() * x.length);
      const to = from + fs * [0.1, 0.4, 1, 3][Math.floor(4 * random())]!;
      const share = random() < 0.5 ? 0.5 : 1;
      for (let i = from; i < to && i < x.length; i++) if (random() < share) x[i] = Number.NaN;
    }
  return leads;
}

// A beat that comes late, behind lost samples, was known to the judgement of its second where the packet was long enough.
test.each([412, 909])('seconds are judged alike however the samples are cut, where a beat comes late (%i)', (seed) => {
  const leads = pausing(seed);
  const judged = (step: number): number[][] => {
    const kernel = new PulseKernel(100, 2, 0);
    const out = emptyPulse();
    for (let at = 0; at < leads[0]!.length; at += step) kernel.push(leads, at, Math.min(leads[0]!.length, at + step), out);
    return columns(out);
  };
  const whole = judged(100);
  expect(whole.at(-1)!.length).toBeGreaterThan(60);
  for (const step of [1, 12, 25]) expect(judged(step)).toEqual(whole);
});
