/** How well the ECG quality predicts wrong beats and wrong heart rates, and the fit of its weights.
 *
 *  Every second the 10 s before it are judged. They are wrong when the F1 of their beats is below 90 % (goal S9); a heart rate (8 s, as
 *  hr_ecg) is wrong when it is off by more than 5 bpm. Data: every recording clean, and with electrode motion added at 12, 6 and 0 dB to
 *  alternate 2-minute stretches from minute 5. Held out: weights fitted on every other recording with one half of the noise, judged on the
 *  other recordings with the other half, both ways. The weights in src/dsp/ecg-quality.ts are fitted on all; clean seconds count three
 *  times, once for each noise level. */
import { ecgQualityFeatures, ecgRateBad, ecgRateGood, ecgSqiBad, ecgSqiGood } from '../../src/dsp/ecg-quality.ts';
import { noBeats } from '../../src/dsp/kernel-beats.ts';
import { EcgKernel, noJudgements } from '../../src/dsp/kernel-ecg.ts';
import { matchBeats } from './match-beats.ts';
import { addNoise, loadElectrodeMotion, loadMitdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { Section } from './section.ts';

const WRONG_F1 = 90;
const FIRST_SEC = 12;
const NOISE_FROM_SEC = 310;
const CLEAN_WEIGHT = 3;

type JudgedSecond = Readonly<{
  half: number;
  isClean: boolean;
  endSec: number;
  wrong: boolean;
  /** |heart rate of the beats - of the reference| over 8 s, bpm; null where one of them has none. */
  hrErrorBpm: number | null;
  sqi: number;
  rate: number;
  features: readonly number[];
}>;

export async function run(dataDir: string): Promise<Section | null> {
  const recordings = await loadMitdb(dataDir);
  const noise = loadElectrodeMotion(dataDir);
  if (recordings.length === 0 || noise === null) return null;
  const middle = noise.length >> 1;
  const pieces = [noise.subarray(0, middle), noise.subarray(middle)];
  const all: JudgedSecond[] = [];
  for (const [index, recording] of recordings.entries()) {
    const half = index % 2;
    all.push(...judge(recording, recording.leads[0]!, half, true));
    for (const snrDb of [12, 6, 0]) all.push(...judge(recording, addNoise(recording, 0, pieces[half]!, snrDb), half, false));
  }
  const noisy = all.filter((j) => !j.isClean && j.endSec >= NOISE_FROM_SEC);
  const rated = all.filter((j) => j.hrErrorBpm !== null);
  const sqiTarget = (j: JudgedSecond): boolean => !j.wrong;
  const rateTarget = (j: JudgedSecond): boolean => j.hrErrorBpm! <= 5;
  const halves = [0, 1].map((half) => ({
    sqi: fitLogistic(
      all.filter((j) => j.half === half),
      sqiTarget,
    ),
    rate: fitLogistic(
      rated.filter((j) => j.half === half),
      rateTarget,
    ),
  }));
  const heldOutSqi = (j: JudgedSecond): number => probability(halves[1 - j.half]!.sqi, j.features);
  const heldOutRate = (j: JudgedSecond): number => probability(halves[1 - j.half]!.rate, j.features);
  const figures = {
    seconds: noisy.length,
    wrongPercent: (100 * noisy.filter((j) => j.wrong).length) / noisy.length,
    aucHeldOut: areaUnderCurve(noisy, heldOutSqi),
    aucInUse: areaUnderCurve(noisy, (j) => j.sqi),
    aucAgreementAlone: areaUnderCurve(noisy, (j) => j.features[0]!),
    aucKurtosisAlone: areaUnderCurve(noisy, (j) => j.features[2]!),
    aucScoresAlone: areaUnderCurve(noisy, (j) => -j.features[ecgQualityFeatures.indexOf('doubt')]!),
  };
  const clean = rated.filter((j) => j.isClean);
  const noisyRated = rated.filter((j) => !j.isClean && j.endSec >= NOISE_FROM_SEC);
  const heartRate = {
    'clean, held out': rateFigures(clean, heldOutRate),
    'clean, weights in use': rateFigures(clean, (j) => j.rate),
    'noise, held out': rateFigures(noisyRated, heldOutRate),
    'noise, weights in use': rateFigures(noisyRated, (j) => j.rate),
  };
  const beats = {
    'clean, held out': beatFigures(
      all.filter((j) => j.isClean),
      heldOutSqi,
    ),
    'noise, held out': beatFigures(noisy, heldOutSqi),
  };
  const rows: string[][] = [['figure', 'value']];
  for (const [name, value] of Object.entries(figures)) rows.push([name, name === 'seconds' ? String(value) : value.toFixed(4)]);
  for (const [of, groups] of Object.entries({ 'heart rate': heartRate, beats }))
    for (const [name, group] of Object.entries(groups))
      for (const [key, value] of Object.entries(group)) rows.push([`${of}, ${name}: ${key}`, value.toFixed(2)]);
  const fit = { sqi: fitLogistic(all, sqiTarget), rate: fitLogistic(rated, rateTarget) };
  const text = (weights: readonly number[]): string => weights.map((w) => w.toFixed(3)).join(', ');
  return {
    title: 'ECG: quality and flags',
    rows,
    json: { gross: { ...figures, heartRate, beats }, fit: { ...fit, of: ['constant', ...ecgQualityFeatures] } },
    notes: [
      'Beats are wrong where their F1 in 10 s is below 90 %, heart rates where they are off by more than 5 bpm. AUC over seconds with noise at 12, 6 and 0 dB, the clean stretches between included.',
      `Fit on all recordings, sqi: ${text(fit.sqi)}; rate: ${text(fit.rate)}`,
    ],
  };
}

function judge({ fs, beats, flutter }: EcgRecording, x: Float64Array, half: number, isClean: boolean): JudgedSecond[] {
  const kernel = new EcgKernel(fs, 1);
  const found = noBeats(4096);
  const out = noJudgements();
  const features: number[][] = [];
  // One second at a time, so that the features of each can be read.
  for (let at = 0; at < x.length; at += fs) {
    kernel.push([x], at, Math.min(x.length, at + fs), found, out);
    while (features.length < out.count) features.push([...kernel.judges[0]!.features]);
  }
  const detected = found.position.subarray(0, found.count);
  const judged: JudgedSecond[] = [];
  for (let i = 0; i < features.length; i++) {
    const endSec = out.endSec[i]!;
    const from = (endSec - 10) * fs;
    const to = endSec * fs;
    if (endSec < FIRST_SEC || flutter.some(([a, b]) => a < to && b > from)) continue;
    const near = (list: Float64Array): Float64Array => between(list, from - fs, to + fs);
    const match = matchBeats(near(beats), near(detected), fs, [], (p) => p >= from && p < to);
    const f1 = (200 * match.tp) / (2 * match.tp + match.fp.length + match.fn.length);
    const error = Math.abs(rateAt(beats, fs, endSec) - rateAt(detected, fs, endSec));
    judged.push({
      half,
      isClean,
      endSec,
      wrong: !(f1 >= WRONG_F1),
      hrErrorBpm: Number.isNaN(error) ? null : error,
      sqi: out.sqi[i]!,
      rate: out.rate[i]!,
      features: features[i]!,
    });
  }
  return judged;
}

/** As hr_ecg: 60 / mean interval in (t - 8 s, t], none above 3 s, at least two and 4 s of them. */
function rateAt(beats: Float64Array, fs: number, t: number): number {
  const inside = between(beats, (t - 8) * fs, t * fs);
  let sum = 0;
  let count = 0;
  for (let i = 1; i < inside.length; i++) {
    const rr = (inside[i]! - inside[i - 1]!) / fs;
    if (rr > 3) continue;
    sum += rr;
    count++;
  }
  return count < 2 || sum < 4 ? Number.NaN : (60 * count) / sum;
}

/** Those in (from, to]. */
function between(sorted: Float64Array, from: number, to: number): Float64Array {
  const after = (position: number): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return sorted.subarray(after(from), after(to));
}

const share = (part: number, whole: number): number => (100 * part) / Math.max(1, whole);

/** Goal S9: of heart rates flagged 0, share within 5 bpm; of those off by more, share flagged 1 or 2. */
function rateFigures(judged: readonly JudgedSecond[], rateOf: (j: JudgedSecond) => number): Record<string, number> {
  const good = judged.filter((j) => rateOf(j) >= ecgRateGood);
  const off = judged.filter((j) => j.hrErrorBpm! > 5);
  return {
    'flag 0 %': share(good.length, judged.length),
    'flag 2 %': share(judged.filter((j) => rateOf(j) < ecgRateBad).length, judged.length),
    'of flag 0 within 5 bpm %': share(good.filter((j) => j.hrErrorBpm! <= 5).length, good.length),
    'of off by > 5 bpm flagged 1 or 2 %': share(off.filter((j) => rateOf(j) < ecgRateGood).length, off.length),
  };
}

function beatFigures(judged: readonly JudgedSecond[], sqiOf: (j: JudgedSecond) => number): Record<string, number> {
  const wrong = judged.filter((j) => j.wrong);
  return {
    'flag 0 %': share(judged.filter((j) => sqiOf(j) >= ecgSqiGood).length, judged.length),
    'flag 2 %': share(judged.filter((j) => sqiOf(j) < ecgSqiBad).length, judged.length),
    'of wrong 10 s flagged 1 or 2 %': share(wrong.filter((j) => sqiOf(j) < ecgSqiGood).length, wrong.length),
  };
}

function probability(weights: readonly number[], features: readonly number[]): number {
  let sum = weights[0]!;
  for (let i = 0; i < features.length; i++) sum += weights[i + 1]! * features[i]!;
  return 1 / (1 + Math.exp(-sum));
}

/** Probability of "right" by logistic regression: Newton's method with a little ridge. @returns constant, then one weight per feature */
function fitLogistic(judged: readonly JudgedSecond[], isRight: (j: JudgedSecond) => boolean): number[] {
  const n = ecgQualityFeatures.length + 1;
  const w = Array.from({ length: n }, () => 0);
  for (let round = 0; round < 15; round++) {
    const gradient = Array.from({ length: n }, (_, i) => -0.01 * w[i]!);
    const hessian = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 0.01 : 0)));
    for (const j of judged) {
      const { features } = j;
      const weight = j.isClean ? CLEAN_WEIGHT : 1;
      const p = probability(w, features);
      const error = weight * ((isRight(j) ? 1 : 0) - p);
      const curve = weight * Math.max(1e-6, p * (1 - p));
      for (let i = 0; i < n; i++) {
        const xi = i === 0 ? 1 : features[i - 1]!;
        gradient[i]! += error * xi;
        for (let c = 0; c <= i; c++) hessian[i]![c]! += curve * xi * (c === 0 ? 1 : features[c - 1]!);
      }
    }
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) hessian[i]![j] = hessian[j]![i]!;
    const step = solve(hessian, gradient);
    for (let i = 0; i < n; i++) w[i]! += step[i]!;
  }
  return w;
}

/** Gauss with pivoting. */
function solve(a: number[][], b: readonly number[]): number[] {
  const n = b.length;
  const m = a.map((row, i) => [...row, b[i]!]);
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(m[r]![c]!) > Math.abs(m[pivot]![c]!)) pivot = r;
    [m[c], m[pivot]] = [m[pivot]!, m[c]!];
    for (let r = 0; r < n; r++) {
      if (r === c) continue;
      const factor = m[r]![c]! / m[c]![c]!;
      for (let k = c; k <= n; k++) m[r]![k]! -= factor * m[c]![k]!;
    }
  }
  return m.map((row, i) => row[n]! / row[i]!);
}

/** Probability that a right window scores above a wrong one. */
function areaUnderCurve(judged: readonly JudgedSecond[], scoreOf: (j: JudgedSecond) => number): number {
  const scored = judged.map((j) => ({ score: scoreOf(j), wrong: j.wrong })).toSorted((a, b) => a.score - b.score);
  let rankSum = 0;
  let right = 0;
  for (let i = 0; i < scored.length;) {
    let end = i;
    while (end < scored.length && scored[end]!.score === scored[i]!.score) end++;
    for (let k = i; k < end; k++)
      if (!scored[k]!.wrong) {
        rankSum += (i + 1 + end) / 2;
        right++;
      }
    i = end;
  }
  const wrong = scored.length - right;
  return (rankSum - (right * (right + 1)) / 2) / (right * wrong);
}
