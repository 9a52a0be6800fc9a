/** Synthetic ECG, clean and spoilt; how well the flags predict errors on recordings is scored by `npm run accuracy`. */
import { describe, expect, it, test } from 'vitest';
import { ecgFlag, ecgRateFlag } from './quality.ts';
import { noShapedBeats } from '../kernels/found-beats.ts';
import type { FoundJudgements } from './kernel.ts';
import { EcgKernel, noJudgements } from './kernel.ts';

function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
}

function ecg(fs: number, seconds: number): Float64Array {
  const next = random(11);
  const x = new Float64Array(Math.round(fs * seconds));
  for (let i = 0; i < x.length; i++) x[i] = 0.02 * next();
  for (let t = 0.4; t < seconds; t += 0.85 + 0.05 * next()) {
    for (let i = Math.max(0, Math.ceil((t - 0.3) * fs)); i < Math.min(x.length, (t + 0.5) * fs); i++) {
      const s = i / fs - t;
      x[i] = x[i]! + Math.exp(-((s / 0.012) ** 2)) + 0.25 * Math.exp(-(((s - 0.28) / 0.05) ** 2));
    }
  }
  return x;
}

function judge(x: Float64Array, fs: number, packet = x.length, kernel = new EcgKernel(fs, 1)): FoundJudgements {
  const beats = noShapedBeats();
  const out = noJudgements();
  for (let at = 0; at < x.length; at += packet) kernel.push([x], at, Math.min(x.length, at + packet), beats, out);
  kernel.flush(beats, out);
  return out;
}

/** The judgement of the 10 s before a whole second. */
const at = (out: FoundJudgements, endSec: number): { sqi: number; rate: number } => ({
  sqi: out.sqi[endSec - 1]!,
  rate: out.rate[endSec - 1]!,
});

const numbers = (out: FoundJudgements): number[][] => [[...out.sqi.subarray(0, out.count)], [...out.rate.subarray(0, out.count)]];

describe('EcgKernel judges', () => {
  it.each([100, 125, 250, 257.3, 360, 1000])('a clean ECG good at %f Hz, once a second', (fs) => {
    const out = judge(ecg(fs, 60), fs);
    expect([...out.endSec.subarray(0, out.count)]).toEqual(Array.from({ length: out.count }, (_, i) => i + 1));
    expect(out.count).toBeGreaterThanOrEqual(60);
    for (let t = 10; t <= 58; t++) {
      expect(ecgFlag(at(out, t).sqi), `beats before ${t}: ${at(out, t).sqi}`).toBe(0);
      expect(ecgRateFlag(at(out, t).rate), `rate at ${t}: ${at(out, t).rate}`).toBe(0);
    }
  });

  it.each([
    // missing samples first: the second detector takes up the first value wherever a push ended
    ['samples that come after 15.3 s without any', 3, 0, 5501, () => Number.NaN],
    // nothing can be learned for long: the candidates of the first attempts are older than what the rings hold
    ['12 s of nothing but a small wave', 0, 7200, 11_520, (i: number) => (i % 7) * 1e-3],
  ] as const)('%s the same however they are cut', (_, offset, from, to, make) => {
    const x = ecg(360, 60).map((value) => value + offset);
    for (let i = from; i < to; i++) x[i] = make(i);
    const whole = numbers(judge(x, 360, 360));
    for (const packet of [17, 18, 180, 5000]) expect(numbers(judge(x, 360, packet)), `${packet}`).toEqual(whole);
  });

  test('broad noise without beats not good, flat and missing stretches bad', () => {
    const x = ecg(250, 120);
    const next = random(3);
    let wander = 0;
    for (let i = 30 * 250; i < 60 * 250; i++) x[i] = (wander += 0.5 * next() - 0.05 * wander) + next();
    x.fill(0.5, 75 * 250, 90 * 250);
    x.fill(Number.NaN, 100 * 250, 110 * 250);
    const out = judge(x, 250);
    for (let t = 40; t < 60; t++) {
      expect(ecgFlag(at(out, t).sqi), `noise before ${t}: ${at(out, t).sqi}`).toBeGreaterThan(0);
      expect(ecgRateFlag(at(out, t).rate), `noise before ${t}: ${at(out, t).rate}`).toBeGreaterThan(0);
    }
    for (let t = 84; t < 91; t++) expect(at(out, t)).toEqual({ sqi: 0, rate: 0 });
    for (let t = 108; t < 112; t++) expect(at(out, t)).toEqual({ sqi: 0, rate: 0 });
    expect(ecgFlag(at(out, 20).sqi)).toBe(0);
  });

  test('the same however the samples are cut, and after a reset', () => {
    const x = ecg(257.3, 40);
    x.fill(Number.NaN, 5000, 5100);
    const whole = numbers(judge(x, 257.3));
    for (const packet of [1, 26, 90, 1000]) expect(numbers(judge(x, 257.3, packet))).toEqual(whole);
    const kernel = new EcgKernel(257.3, 1);
    kernel.push([x], 2000, 9000, noShapedBeats(), noJudgements());
    kernel.reset();
    expect(numbers(judge(x, 257.3, x.length, kernel))).toEqual(whole);
  });

  test('the seconds that are wanted as if it judged all', () => {
    const x = ecg(250, 40);
    const kernel = new EcgKernel(250, 1);
    kernel.reset(16);
    const out = judge(x, 250, 250, kernel);
    expect(out.endSec[0]).toBe(17);
    expect(numbers(out)).toEqual(numbers(judge(x, 250)).map((column) => column.slice(16)));
  });

  test('absurd values do no harm', () => {
    const x = ecg(250, 30);
    x.fill(1e29, 2000, 2500);
    x.fill(Number.NEGATIVE_INFINITY, 4000, 4100);
    for (const value of numbers(judge(x, 250)).flat()) expect(value >= 0 && value <= 1).toBe(true);
  });

  test('two leads as good as the better one', () => {
    const x = ecg(250, 40);
    const flat = new Float64Array(x.length);
    const beats = noShapedBeats();
    const out = noJudgements();
    const kernel = new EcgKernel(250, 2);
    kernel.push([flat, x], 0, x.length, beats, out);
    for (let t = 12; t <= 36; t++) expect(ecgFlag(at(out, t).sqi), `${t}: ${at(out, t).sqi}`).toBe(0);
  });
});
