import { describe, expect, test } from 'vitest';
import { fiveMinuteMethods } from '../rows/methods-five-minutes.ts';
import { methodIndex } from '../rows/methods.ts';
import { seeded } from '../testing/fixture.ts';
import { BeatTrack, Gaps } from './beats.ts';
import { dfaAlpha1, sampleEntropy } from './complexity.ts';
import { fiveMinuteValues, doubtOf } from './five-minutes.ts';
import { geometry, stressIndex } from './geometric.ts';
import type { NnWindow } from './time-domain.ts';
import { timeDomain } from './time-domain.ts';
import { BeatValues } from './values.ts';

// The references below are the papers' definitions, written plainly and slowly, with nothing of the code under test.

const sum = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0);
const mean = (x: readonly number[]): number => sum(x) / x.length;
const deviation = (x: readonly number[]): number => Math.sqrt(sum(x.map((v) => (v - mean(x)) ** 2)) / (x.length - 1));

const windowOf = (nn: readonly number[], breaks: readonly number[] = []): NnWindow => ({
  count: nn.length,
  nnMs: Float64Array.from(nn),
  adjacent: Uint8Array.from(nn, (_, i) => (i > 0 && !breaks.includes(i) ? 1 : 0)),
});

/** Normal numbers from uniform ones. */
function normals(count: number, seed: number): number[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => sum(Array.from({ length: 12 }, random)) - 6);
}

/** A pulse with breathing, a slow wave and noise, on whole milliseconds of a 250 Hz grid or finer. */
function tachogram(count: number, seed: number): number[] {
  const noise = normals(count, seed);
  return noise.map((e, i) => 820 + 40 * Math.sin(i / 1.6) + 30 * Math.sin(i / 9) + 12 * e + 0.05 * i);
}

/** Slope and remaining squares of a straight line, by the textbook. */
function line(x: readonly number[], y: readonly number[]): { slope: number; squares: number } {
  const slope = sum(x.map((v, i) => (v - mean(x)) * (y[i]! - mean(y)))) / sum(x.map((v) => (v - mean(x)) ** 2));
  const shift = mean(y) - slope * mean(x);
  return { slope, squares: sum(x.map((v, i) => (y[i]! - shift - slope * v) ** 2)) };
}

/** Peng 1995 on a whole series: the profile of the series less its mean, cut into boxes from its start. */
function dfaByThePaper(nn: readonly number[]): number {
  let running = 0;
  const profile = nn.map((v) => (running += v - mean(nn)));
  const logN: number[] = [];
  const logF: number[] = [];
  for (let n = 4; n <= 16; n++) {
    const boxes = Array.from({ length: Math.floor(nn.length / n) }, (_, b) => profile.slice(b * n, (b + 1) * n));
    const squares = sum(
      boxes.map(
        (box) =>
          line(
            box.map((_, k) => k),
            box,
          ).squares,
      ),
    );
    logN.push(Math.log10(n));
    logF.push(Math.log10(Math.sqrt(squares / (boxes.length * n))));
  }
  return line(logN, logF).slope;
}

/** Richman & Moorman 2000: B and A by the largest difference of all pairs of templates. */
function entropyByThePaper(nn: readonly number[]): number {
  const r = 0.2 * deviation(nn);
  const alike = (m: number): number => {
    const templates = Array.from({ length: nn.length - 2 }, (_, i) => nn.slice(i, i + m));
    let pairs = 0;
    templates.forEach((a, i) =>
      templates.forEach((b, j) => {
        if (i !== j && Math.max(...a.map((v, k) => Math.abs(v - b[k]!))) <= r) pairs++;
      }),
    );
    return pairs;
  };
  return -Math.log(alike(3) / alike(2));
}

/** Task Force 1996: every pair of feet N < X < M of the triangle is tried against the whole histogram. */
function tinnByThePaper(nn: readonly number[]): { index: number; tinnMs: number } {
  const bin = 1000 / 128;
  const histogram = Array.from({ length: 385 }, (_, b) => nn.filter((v) => v >= b * bin && v < (b + 1) * bin).length);
  const height = Math.max(...histogram);
  const top = histogram.indexOf(height);
  const side = (foot: number): number[] =>
    histogram.map((_, b) => ((b - foot) * (b - top) < 0 || b === top ? (height * (b - foot)) / (top - foot) : 0));
  let best = { squares: Infinity, width: 0 };
  const used = histogram.flatMap((n, b) => (n > 0 ? [b] : []));
  for (let n = used[0]! - 40; n < top; n++)
    for (let m = top + 1; m < used.at(-1)! + 40; m++) {
      const [left, right] = [side(n), side(m)];
      const squares = sum(histogram.map((d, b) => (d - (b <= top ? left[b]! : right[b]!)) ** 2));
      if (squares < best.squares - 1e-9) best = { squares, width: m - n };
    }
  return { index: nn.length / height, tinnMs: best.width * bin };
}

describe('the five-minute set', () => {
  test('alpha 1 is that of the paper', () => {
    for (const seed of [1, 2, 3]) {
      const nn = tachogram(371, seed);
      expect(dfaAlpha1(windowOf(nn))).toBeCloseTo(dfaByThePaper(nn), 10);
    }
  });

  test('alpha 1 of white noise is near 0.5, of its sum near 1.5', () => {
    const noise = normals(20_000, 7);
    let running = 0;
    const walk = noise.map((e) => (running += e));
    // first-order boxes of few beats are biased: 0.5 and 1.5 hold for long boxes
    expect(Math.abs(dfaAlpha1(windowOf(noise)) - 0.5)).toBeLessThan(0.1);
    expect(Math.abs(dfaAlpha1(windowOf(walk)) - 1.5)).toBeLessThan(0.1);
  });

  test('no box of alpha 1 lies across an excluded interval', () => {
    const [a, b] = [tachogram(160, 4), tachogram(176, 5)];
    const apart = windowOf([...a, ...b.map((v) => v + 300)], [160]);
    const together = windowOf([...a, ...b], [160]);
    expect(dfaAlpha1(apart)).toBeCloseTo(dfaAlpha1(together), 10);
    expect(Math.abs(dfaAlpha1(windowOf([...a, ...b.map((v) => v + 300)])) - dfaAlpha1(apart))).toBeGreaterThan(0.001);
  });

  test('alpha 1 has no value of pieces that are short, or of nothing that fluctuates', () => {
    const nn = tachogram(120, 6);
    expect(
      dfaAlpha1(
        windowOf(
          nn,
          Array.from({ length: 12 }, (_, i) => 10 * i),
        ),
      ),
    ).toBeNaN();
    // a piece of 20 among them has one box of 16, which is too little
    expect(dfaAlpha1(windowOf(nn, [0, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]))).toBeNaN();
    expect(dfaAlpha1(windowOf(nn, [0, 60]))).not.toBeNaN();
    expect(dfaAlpha1(windowOf(Array.from({ length: 100 }, () => 800)))).toBeNaN();
  });

  test('sample entropy is that of the paper', () => {
    for (const seed of [1, 2]) {
      const nn = tachogram(330, seed);
      expect(sampleEntropy(windowOf(nn), deviation(nn))).toBeCloseTo(entropyByThePaper(nn), 12);
    }
  });

  test('sample entropy by hand', () => {
    // 1 2 1 2 1 2 3, r < 1: pairs alike are (1 2) three times, (2 1) twice: 4; of three (1 2 1) twice, (2 1 2) twice: 2
    expect(sampleEntropy(windowOf([1, 2, 1, 2, 1, 2, 3]), 1)).toBeCloseTo(Math.log(4 / 2), 12);
    expect(sampleEntropy(windowOf([1, 2, 4, 8, 16, 32]), 1)).toBeNaN();
    // with a break before the fourth, (2 1 2) and the (1 2 1) that reaches over it are gone
    expect(sampleEntropy(windowOf([1, 2, 1, 2, 1, 2, 3], [3]), 1)).toBeNaN();
  });

  test('triangular index and TINN are those of the Task Force', () => {
    for (const seed of [1, 2]) {
      const nn = tachogram(140, seed);
      const wanted = tinnByThePaper(nn);
      expect(geometry(windowOf(nn))).toEqual({ triangularIndex: wanted.index, tinnMs: wanted.tinnMs });
    }
  });

  test('TINN of a triangle is its base', () => {
    const middle = (b: number): number => (b + 0.5) * 7.8125;
    const nn = [1, 2, 3, 4, 3, 2, 1].flatMap((n, i) => Array.from({ length: n }, () => middle(100 + i)));
    expect(geometry(windowOf(nn))).toEqual({ triangularIndex: 4, tinnMs: 8 * 7.8125 });
  });

  test('stress index by hand', () => {
    // the bin 800 to 850 ms holds 6 of 10: AMo 60 %, Mo 0.825 s; 0.95 - 0.71 s
    const nn = [710, 760, 801, 805, 812, 820, 830, 849.9, 900, 950];
    expect(stressIndex(windowOf(nn))).toBeCloseTo(60 / (2 * 0.825 * 0.24), 10);
    expect(stressIndex(windowOf([800, 800]))).toBeNaN();
  });

  test('every value is there, in the order of its method', () => {
    const nn = tachogram(360, 9);
    const window = windowOf(nn);
    let t = 0;
    const endSec = Float64Array.from(nn, (v) => (t += v / 1000));
    const time = timeDomain(window);
    const values = fiveMinuteValues(window, endSec, time);
    expect(values.length).toBe(fiveMinuteMethods.length);
    expect(doubtOf.length).toBe(fiveMinuteMethods.length);
    const of = (name: string): number => values[fiveMinuteMethods.findIndex(({ feature }) => feature === `hrv_${name}_300s`)]!;
    const differences = nn.slice(1).map((v, i) => Math.abs(v - nn[i]!));
    expect(of('pnn20')).toBe(differences.filter((d) => d > 20).length / differences.length);
    expect(of('sd1_sd2')).toBe(time.sd1Ms / time.sd2Ms);
    expect(of('dfa_alpha1')).toBe(dfaAlpha1(window));
    expect(of('sample_entropy')).toBe(sampleEntropy(window, time.sdnnMs));
    expect(of('stress_index')).toBe(stressIndex(window));
    expect(of('lf_nu') + of('hf_nu')).toBeCloseTo(100, 10);
    const inBands = of('total_power') - of('vlf');
    // the sine of 40 ms with a period of 10 beats (8.2 s, 0.12 Hz) is LF: 800 ms2
    expect((inBands * of('lf_nu')) / 100).toBeGreaterThan(700);
    expect(of('total_power')).toBeGreaterThan(of('vlf'));
  });
});

/** Values of five minutes of beats with these intervals, ms: time, s, and flag of each feature. */
function valuesOf(source: 'ecg' | 'ppg', nn: readonly number[], seconds: number): Map<string, { sec: number; flag: number }[]> {
  const track = new BeatTrack();
  const found = new Map(fiveMinuteMethods.map(({ feature }) => [feature, [] as { sec: number; flag: number }[]]));
  const of = new Map(fiveMinuteMethods.map(({ feature }) => [methodIndex(feature), feature]));
  const values = new BeatValues(
    source,
    250,
    track,
    new Gaps(),
    () => 0,
    () => false,
    {
      value: (index, _channel, tUs, _value, flag) => void found.get(of.get(index) ?? '')?.push({ sec: tUs / 1e6, flag }),
    },
  );
  values.start(0);
  let t = 1000;
  for (const ms of nn) {
    t += Math.round(1000 * ms);
    if (t < seconds * 1e6) track.push(t, 1, 0);
  }
  track.flag.fill(0, 0, track.count);
  values.advance(seconds * 1e6, seconds * 1e6);
  return found;
}

describe('when a value comes, and its flag', () => {
  const calm = normals(800, 3).map((e, i) => 820 + 25 * Math.sin(i / 1.6) + 40 * Math.sin(i / 30) + 6 * e);

  test('each is there once in five minutes, and good', () => {
    for (const [feature, rows] of valuesOf('ecg', calm, 640))
      expect(rows, feature).toEqual([
        { sec: 300, flag: 0 },
        { sec: 600, flag: 0 },
      ]);
  });

  test('none without four fifths of the window, and none from the pulse', () => {
    for (const rows of valuesOf('ecg', calm.slice(0, 280), 640).values()) expect(rows).toEqual([]);
    for (const rows of valuesOf('ppg', calm, 640).values()) expect(rows).toEqual([]);
  });

  test('an ectopic beat that is left out makes the stress index suspect, because it hangs on the longest interval', () => {
    const early = calm.with(100, 650).with(101, 990);
    const found = valuesOf('ecg', early, 301);
    expect(found.get('hrv_stress_index_300s')).toEqual([{ sec: 300, flag: 1 }]);
    expect(found.get('hrv_triangular_300s')).toEqual([{ sec: 300, flag: 0 }]);
  });

  test('with every fifth beat early, all are bad', () => {
    const often = calm.map((ms, i) => (i % 5 === 0 ? 0.6 * ms : i % 5 === 1 ? 1.4 * ms : ms));
    for (const [feature, rows] of valuesOf('ecg', often, 301)) if (rows.length > 0) expect(rows, feature).toEqual([{ sec: 300, flag: 2 }]);
    expect(valuesOf('ecg', often, 301).get('hrv_tinn_300s')!.length).toBe(1);
  });
});
