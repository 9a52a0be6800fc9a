import { describe, expect, test } from 'vitest';
import type { FoundBeats } from '../kernels/contract.ts';
import { PpgBeatDetector } from './beats.ts';

const emptyBeats = (): FoundBeats => ({ count: 0, position: new Float64Array(1), confidence: new Float64Array(1) });

/** Deterministic uniform numbers in [0, 1). */
function lcg(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A pulse train with a dicrotic wave, jittered intervals, wander and noise; upstroke middles at the returned times. */
function syntheticPulse(fs: number, seconds: number, seed = 1): { x: Float64Array; feetSec: number[] } {
  const random = lcg(seed);
  const x = new Float64Array(Math.round(seconds * fs));
  const feetSec: number[] = [];
  for (let t = 0.5; t < seconds; t += 0.8 + 0.08 * (random() - 0.5)) feetSec.push(t);
  const wave = (t: number): number => Math.exp(-(((t - 0.18) / 0.08) ** 2)) + 0.35 * Math.exp(-(((t - 0.48) / 0.09) ** 2));
  for (let i = 0; i < x.length; i++) {
    const t = i / fs;
    let value = 0.2 * Math.sin(2 * Math.PI * 0.2 * t) + 0.01 * (random() - 0.5);
    for (const foot of feetSec) if (t > foot - 0.5 && t < foot + 1.2) value += wave(t - foot);
    x[i] = value;
  }
  return { x, feetSec };
}

function find(x: Float64Array, fs: number, cut: (at: number) => number = () => x.length): FoundBeats {
  const detector = new PpgBeatDetector(fs);
  const out = emptyBeats();
  for (let at = 0; at < x.length;) {
    const to = Math.min(x.length, at + Math.max(1, cut(at)));
    detector.push([x], at, to, out);
    at = to;
  }
  detector.flush(out);
  return out;
}

const positions = (beats: FoundBeats): number[] => [...beats.position.subarray(0, beats.count)];

describe('PpgBeatDetector', () => {
  test.each([25, 32, 64, 100, 125, 130.1, 250, 500])('finds every beat once, ignoring the dicrotic wave, at %f Hz', (fs) => {
    const { x, feetSec } = syntheticPulse(fs, 60);
    const found = positions(find(x, fs)).map((p) => p / fs);
    const inner = feetSec.filter((t) => t > 3 && t < 57);
    const errors = inner.map((foot) => {
      const near = found.filter((t) => Math.abs(t - foot - 0.13) < 0.1);
      expect(near).toHaveLength(1);
      return near[0]! - foot;
    });
    expect(found.filter((t) => t > 3.1 && t < 57)).toHaveLength(feetSec.filter((t) => t + 0.13 > 3.1 && t + 0.13 < 57).length);
    const mean = errors.reduce((a, b) => a + b, 0) / errors.length;
    expect(mean).toBeGreaterThan(0.08);
    expect(mean).toBeLessThan(0.16);
    for (const error of errors) expect(Math.abs(error - mean)).toBeLessThan(0.02);
  });

  test('finds the same beats, bit for bit, however the samples are cut', () => {
    const { x } = syntheticPulse(125, 90, 3);
    for (let i = 5000; i < 5004; i++) x[i] = Number.NaN;
    for (let i = 7000; i < 7300; i++) x[i] = Number.NaN;
    const whole = find(x, 125);
    expect(whole.count).toBeGreaterThan(90);
    for (const size of [1, 7, 18, 125, 5000]) expect(positions(find(x, 125, () => size))).toEqual(positions(whole));
    const random = lcg(9);
    expect(positions(find(x, 125, () => Math.floor(random() * 400)))).toEqual(positions(whole));
  });

  test('finds the same beats when the signal is scaled by 1e-4 … 1e6 and shifted', () => {
    const { x } = syntheticPulse(125, 60, 5);
    const plain = positions(find(x, 125));
    for (const scale of [1e-4, 3, 1e6]) {
      const scaled = positions(
        find(
          x.map((value) => scale * (value + 7)),
          125,
        ),
      );
      expect(scaled).toHaveLength(plain.length);
      scaled.forEach((position, i) => expect(Math.abs(position - plain[i]!)).toBeLessThan(0.01));
    }
  });

  test('keeps its promise of latency: a beat is out once latencySec of samples followed it', () => {
    const { x } = syntheticPulse(125, 60, 7);
    const final = positions(find(x, 125));
    const detector = new PpgBeatDetector(125);
    const out = emptyBeats();
    for (let i = 0; i < x.length; i++) {
      detector.push([x], i, i + 1, out);
      const due = final.filter((position) => position + detector.latencySec * 125 <= i).length;
      expect(out.count).toBeGreaterThanOrEqual(due);
    }
  });

  test('settles to the same beats after 16 s of context, from wherever it started', () => {
    const { x } = syntheticPulse(125, 120, 11);
    const whole = positions(find(x, 125)).filter((p) => p >= 50 * 125 && p < 110 * 125);
    const late = positions(find(x.subarray(34 * 125), 125))
      .map((p) => p + 34 * 125)
      .filter((p) => p >= 50 * 125 && p < 110 * 125);
    expect(late).toHaveLength(whole.length);
    late.forEach((position, i) => expect(Math.abs(position - whole[i]!)).toBeLessThan(1e-3));
  });

  test('is as new after reset', () => {
    const { x } = syntheticPulse(125, 60, 17);
    x.fill(Number.NaN, 0, 40);
    const detector = new PpgBeatDetector(125);
    const out = emptyBeats();
    detector.push([x.map((value) => 3 * value)], 0, 4321, out);
    detector.reset();
    out.count = 0;
    detector.push([x], 0, x.length, out);
    detector.flush(out);
    expect(positions(out)).toEqual(positions(find(x, 125)));
  });

  test('takes light that stands still for a gap from where it stopped: no beat on the way to a rail, and beats again behind it', () => {
    const { x } = syntheticPulse(125, 60, 19);
    const real = positions(find(x, 125));
    for (const rail of [-30, 0.4, 30]) {
      const stuck = x.slice().fill(rail, 3000, 3500);
      const whole = positions(find(stuck, 125));
      expect(whole.filter((p) => p > 3000 && p < 3500)).toEqual([]);
      expect(whole.filter((p) => p > 3750)).toHaveLength(real.filter((p) => p > 3750).length);
      expect(whole.filter((p) => p < 2990)).toHaveLength(real.filter((p) => p < 2990).length);
      for (const size of [1, 18, 400]) expect(positions(find(stuck, 125, () => size))).toEqual(whole);
    }
  });

  // The middle of an upstroke may lie half a second before the maximum by which its beat is chosen: 6 of 10 such minutes had one.
  test('puts no beat before the one before it, nor sooner after it than 0.2 s, in noise, after gaps and at rails', () => {
    const random = lcg(6);
    for (const fs of [25, 64, 125])
      for (const leadCount of [1, 2]) {
        let level = 0;
        const leads = Array.from({ length: leadCount }, () =>
          Float64Array.from({ length: 600 * fs }, () => (level += random() - 0.5) + 3 * (random() - 0.5)),
        );
        for (let at = 20 * fs; at < 600 * fs; at += Math.round(7.3 * fs)) {
          const value = random() < 0.5 ? Number.NaN : 9;
          for (const x of leads) x.fill(value, at, at + Math.round((0.1 + 1.2 * random()) * fs));
        }
        const detector = new PpgBeatDetector(fs, leadCount);
        const out = emptyBeats();
        detector.push(leads, 0, 600 * fs, out);
        detector.flush(out);
        expect(out.count).toBeGreaterThan(800);
        const least = Math.min(...positions(out).map((p, i, all) => (i === 0 ? fs : p - all[i - 1]!)));
        expect(least / fs, `${fs} Hz, ${leadCount}`).toBeGreaterThanOrEqual(0.2);
      }
  });

  test('goes on through feet that are clipped', () => {
    const { x } = syntheticPulse(125, 60, 23);
    const clipped = positions(
      find(
        x.map((value) => Math.max(value, 0.1)),
        125,
      ),
    );
    expect(clipped.filter((p) => p > 375)).toHaveLength(positions(find(x, 125)).filter((p) => p > 375).length);
  });

  test('finds nothing in a flat, missing or infinite signal, and never throws', () => {
    for (const value of [0, 5, Number.NaN, Number.POSITIVE_INFINITY]) expect(find(new Float64Array(3000).fill(value), 125).count).toBe(0);
  });

  // Of 240 ends 84 had a beat after their last sample: what was held until the gap was known went on rising.
  test.each([25, 64, 125])(
    'gives out no beat at %i Hz that a gap or an end cuts, and those before it where they are without the gap',
    (fs) => {
      const { x } = syntheticPulse(fs, 40, 29);
      const whole = positions(find(x, fs));
      for (let end = 25 * fs; end < 27 * fs; end += Math.ceil(fs / 31)) {
        const again = end + 5 * fs;
        const cut = x.slice().fill(Number.NaN, end, again);
        for (const found of [positions(find(cut, fs)), positions(find(x.subarray(0, end), fs))]) {
          expect(found.filter((p) => p > end - 1 && p < again)).toEqual([]);
          const late = found.filter((p) => p > 20 * fs && p < again);
          for (const p of late) expect(Math.min(...whole.map((w) => Math.abs(w - p))) / fs, `${p} of ${end}`).toBeLessThan(0.015);
          const known = whole.filter((p) => p > 20 * fs && p < end - 0.2 * fs);
          expect(late.length).toBeGreaterThanOrEqual(known.length);
        }
        // of an upstroke that began in the gap the middle is not known
        const misplaced = positions(find(cut, fs)).filter((p) => p >= again && whole.some((w) => w < again && p - w < 0.15 * fs));
        expect(misplaced).toEqual([]);
      }
    },
  );

  test('takes no wave for a beat for being the last one before an end', () => {
    const { x, feetSec } = syntheticPulse(64, 40, 31);
    // no pulse follows: what is left is the dicrotic wave, and the way back of the filters
    for (const foot of feetSec.filter((t) => t > 20 && t < 30))
      for (let tail = 0.65; tail < 1.3; tail += 0.05) {
        const made = syntheticPulse(64, foot, 31);
        const ended = x.subarray(0, Math.round((foot + tail) * 64)).map((_, i) => {
          const t = i / 64;
          const wave = (at: number): number => Math.exp(-(((at - 0.18) / 0.08) ** 2)) + 0.35 * Math.exp(-(((at - 0.48) / 0.09) ** 2));
          return [...made.feetSec, foot].reduce((sum, f) => (t > f - 0.5 && t < f + 1.2 ? sum + wave(t - f) : sum), 0);
        });
        expect(
          positions(find(ended, 64)).filter((p) => p / 64 > foot + 0.3),
          `${foot} s, ${tail}`,
        ).toEqual([]);
      }
  });

  test('sees a beat that only one of two wavelengths shows', () => {
    const { x } = syntheticPulse(125, 60, 13);
    const dead = new Float64Array(x.length).fill(3);
    const both = new PpgBeatDetector(125, 2);
    const out = emptyBeats();
    both.push([dead, x.map((value) => 40 * value)], 0, x.length, out);
    both.flush(out);
    const late = (beats: FoundBeats): number => positions(beats).filter((position) => position > 10 * 125).length;
    expect(late(out)).toBe(late(find(x, 125)));
  });
});
