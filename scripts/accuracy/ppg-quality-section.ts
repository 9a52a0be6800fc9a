/** How well the PPG quality predicts wrong beats and wrong heart rates, and the fit of its weights.
 *
 *  A 10 s window is wrong when the F1 of its beats is below 90 % against the reference (goal S9). Weights are fitted on one half of the
 *  recordings (alternating) and checked on the other, both ways; the weights in src/dsp/ppg-quality.ts are fitted on both halves. */
import { PpgBeatDetector } from '../../src/dsp/ppg-beats.ts';
import { PpgMotionHeartRate, emptyRates } from '../../src/dsp/ppg-motion-hr.ts';
import { PpgQuality, emptyQuality, ppgFlag, ppgQualityFeatures } from '../../src/dsp/ppg-quality.ts';
import { findAll, loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { Section } from './section.ts';
import { matchBeats, median, scoreBeats } from './ppg-reference.ts';

/** One judged second. */
export type Judged = Readonly<{
  item: PpgItem;
  startSec: number;
  wrong: boolean;
  /** |heart rate of the beats - of the reference| over 8 s, bpm; null where either has too few intervals. */
  hrErrorBpm: number | null;
  sqi: number;
  features: readonly number[];
}>;

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir);
  if (items.length === 0) return null;
  const notes: string[] = [];
  const rows: string[][] = [['windows', 'seconds', 'wrong %', 'AUC held out', 'AUC BIDMC', 'AUC SPC', 'AUC final weights']];
  const json: Record<string, unknown> = {};
  for (const rates of [false, true]) {
    const judged = judgeAll(items, rates);
    const heldOut = heldOutScores(judged, rates);
    const name = rates ? 'with spectral rate' : 'PPG alone';
    const auc = (keep: (j: Judged) => boolean, score: (k: number) => number): number => areaUnderCurve(judged, keep, score);
    const figures = {
      seconds: judged.length,
      wrongShare: judged.filter((j) => j.wrong).length / judged.length,
      aucHeldOut: auc(
        () => true,
        (k) => heldOut[k]!,
      ),
      aucHeldOutBidmc: auc(
        (j) => j.item.set === 'bidmc',
        (k) => heldOut[k]!,
      ),
      aucHeldOutSpc: auc(
        (j) => j.item.set === 'spc',
        (k) => heldOut[k]!,
      ),
      aucFinal: auc(
        () => true,
        (k) => judged[k]!.sqi,
      ),
      ...flagFigures(judged),
    };
    json[name] = figures;
    rows.push([
      name,
      String(figures.seconds),
      (100 * figures.wrongShare).toFixed(1),
      figures.aucHeldOut.toFixed(4),
      figures.aucHeldOutBidmc.toFixed(4),
      figures.aucHeldOutSpc.toFixed(4),
      figures.aucFinal.toFixed(4),
    ]);
    notes.push(
      `${name}: heart rates flagged 0: within 5 bpm ${(100 * figures.goodWithin5).toFixed(2)} %, of rates off by more flagged 1 or 2 ${(100 * figures.offFlagged).toFixed(2)} %, flagged 0/1/2 ${figures.flagShares.map((s) => (100 * s).toFixed(1)).join('/')} %.`,
    );
  }
  return { title: 'PPG quality', rows, json, notes };
}

/** Of the heart rates flagged 0 the share within 5 bpm; of those off by more the share flagged 1 or 2; shares of the flags. */
export function flagFigures(judged: readonly Judged[]): { goodWithin5: number; offFlagged: number; flagShares: number[] } {
  let good = 0;
  let goodWithin = 0;
  let off = 0;
  let offFlagged = 0;
  const shares = [0, 0, 0];
  for (const { hrErrorBpm, sqi } of judged) {
    const flag = ppgFlag(sqi);
    shares[flag] = shares[flag]! + 1 / judged.length;
    if (hrErrorBpm === null) continue;
    if (flag === 0) good++;
    if (flag === 0 && hrErrorBpm <= 5) goodWithin++;
    if (hrErrorBpm > 5) off++;
    if (hrErrorBpm > 5 && flag > 0) offFlagged++;
  }
  return { goodWithin5: goodWithin / good, offFlagged: offFlagged / off, flagShares: shares };
}

/** Judges every second of the recordings. */
export function judgeAll(items: readonly PpgItem[], rates: boolean): Judged[] {
  const judged: Judged[] = [];
  for (const item of items) judgeOne(item, rates, judged);
  return judged;
}

function judgeOne(item: PpgItem, withRates: boolean, judged: Judged[]): void {
  const { fs, ppg, reference } = item;
  const detector = new PpgBeatDetector(fs);
  const detected = findAll(detector, ppg);
  const test = detected.position.slice(0, detected.count).map((position) => position / fs);
  const { lagSec } = scoreBeats(test, reference);
  const beats = test.map((time) => time + lagSec);
  const pairs = matchBeats(reference.beatSec, beats, 0.15);
  const used = new Uint8Array(beats.length);
  for (const j of pairs) if (j >= 0) used[j] = 1;
  const quality = new PpgQuality(fs, detector.latencySec, withRates);
  quality.pushBeats(detected, 0, detected.count);
  const out = emptyQuality();
  const found = emptyRates();
  const leads = item.spc === null ? [ppg] : item.spc.ppg;
  const motion = new PpgMotionHeartRate(fs, leads.length, item.spc === null ? 0 : fs);
  for (let at = 0; at < ppg.length; at += 25) {
    const end = Math.min(ppg.length, at + 25);
    if (withRates) {
      if (item.spc !== null) motion.pushAcc(item.spc.acc, at, end, found);
      motion.pushPpg(leads, at, end, found);
      quality.pushRates(found, 0, found.count);
      found.count = 0;
    }
    const before = out.count;
    quality.push(ppg, at, end, out);
    for (let k = before; k < out.count; k++) {
      const startSec = out.startSec[k]!;
      const from = startSec - 4 + lagSec;
      if (startSec < 10 || !covers(reference.spanSec, from + 0.5, from + 9.5)) continue;
      let tp = 0;
      let fn = 0;
      let fp = 0;
      reference.beatSec.forEach((time, i) => {
        if (time < from || time >= from + 10) return;
        if (pairs[i]! >= 0) tp++;
        else fn++;
      });
      beats.forEach((time, j) => {
        if (time >= from && time < from + 10 && used[j] === 0) fp++;
      });
      if (tp + fn < 3) continue;
      const truth = rateBpm(reference.beatSec, from + 1, from + 9);
      const ours = rateBpm(beats, from + 1, from + 9);
      judged.push({
        item,
        startSec,
        wrong: (2 * tp) / (2 * tp + fp + fn) < 0.9,
        hrErrorBpm: truth === null || ours === null ? null : Math.abs(truth - ours),
        sqi: out.sqi[k]!,
        features: Array.from(quality.features),
      });
    }
  }
}

/** 60 / median interval of the beats in [from, to); null with fewer than two intervals. */
export function rateBpm(beatSec: Float64Array, from: number, to: number): number | null {
  const intervals: number[] = [];
  for (let i = 1; i < beatSec.length; i++) if (beatSec[i - 1]! >= from && beatSec[i]! < to) intervals.push(beatSec[i]! - beatSec[i - 1]!);
  return intervals.length < 2 ? null : 60 / median(intervals);
}

/** Scores of each second by weights fitted on the other half of the recordings. */
export function heldOutScores(judged: readonly Judged[], rates: boolean): Float64Array {
  const scores = new Float64Array(judged.length);
  for (const half of [0, 1]) {
    const weights = fit(
      judged.filter((j) => j.item.half === half),
      rates,
    );
    judged.forEach((j, k) => {
      if (j.item.half !== half) scores[k] = weights.constant + weights.of.reduce((sum, w, f) => sum + w * j.features[f]!, 0);
    });
  }
  return scores;
}

/** Logistic regression by Newton's method, with a light ridge. */
export function fit(judged: readonly Judged[], rates: boolean, ridge = 1): { constant: number; of: number[] } {
  const used = ppgQualityFeatures.length - (rates ? 0 : 2);
  const size = used + 1;
  let w: number[] = Array.from({ length: size }, () => 0);
  for (let pass = 0; pass < 25; pass++) {
    const hessian = w.map((_, i) => w.map((__, j) => (i === j && i > 0 ? ridge : 0)));
    const gradient = w.map((value, i) => (i > 0 ? -ridge * value : 0));
    for (const { features, wrong } of judged) {
      let sum = w[0]!;
      for (let i = 1; i < size; i++) sum += w[i]! * features[i - 1]!;
      const p = 1 / (1 + Math.exp(-sum));
      for (let i = 0; i < size; i++) {
        const xi = i === 0 ? 1 : features[i - 1]!;
        gradient[i] = gradient[i]! + ((wrong ? 0 : 1) - p) * xi;
        for (let j = 0; j <= i; j++) hessian[i]![j] = hessian[i]![j]! + p * (1 - p) * xi * (j === 0 ? 1 : features[j - 1]!);
      }
    }
    for (let i = 0; i < size; i++) for (let j = i + 1; j < size; j++) hessian[i]![j] = hessian[j]![i]!;
    const step = solve(hessian, gradient);
    w = w.map((value, i) => value + step[i]!);
  }
  return { constant: w[0]!, of: [...w.slice(1), ...Array.from({ length: rates ? 0 : 2 }, () => 0)] };
}

/** Gaussian elimination with the largest pivot; a and b are used up. */
export function solve(a: number[][], b: number[]): number[] {
  const n = b.length;
  for (let i = 0; i < n; i++) {
    let pivot = i;
    for (let k = i; k < n; k++) if (Math.abs(a[k]![i]!) > Math.abs(a[pivot]![i]!)) pivot = k;
    [a[i], a[pivot]] = [a[pivot]!, a[i]!];
    [b[i], b[pivot]] = [b[pivot]!, b[i]!];
    for (let k = i + 1; k < n; k++) {
      const factor = a[k]![i]! / a[i]![i]!;
      for (let j = i; j < n; j++) a[k]![j] = a[k]![j]! - factor * a[i]![j]!;
      b[k] = b[k]! - factor * b[i]!;
    }
  }
  const x: number[] = Array.from({ length: n }, () => 0);
  for (let i = n - 1; i >= 0; i--) {
    let sum = b[i]!;
    for (let j = i + 1; j < n; j++) sum -= a[i]![j]! * x[j]!;
    x[i] = sum / a[i]![i]!;
  }
  return x;
}

/** Probability that a right window scores higher than a wrong one. */
export function areaUnderCurve(judged: readonly Judged[], keep: (j: Judged) => boolean, score: (k: number) => number): number {
  const all = judged.flatMap((j, k) => (keep(j) ? [{ score: score(k), right: !j.wrong }] : [])).sort((a, b) => a.score - b.score);
  let ranks = 0;
  let right = 0;
  for (let i = 0; i < all.length;) {
    let end = i;
    while (end < all.length && all[end]!.score === all[i]!.score) end++;
    for (let k = i; k < end; k++) {
      if (!all[k]!.right) continue;
      ranks += (i + end + 1) / 2;
      right++;
    }
    i = end;
  }
  return (ranks - (right * (right + 1)) / 2) / (right * (all.length - right));
}

function covers(spanSec: Float64Array, from: number, to: number): boolean {
  for (let k = 0; k < spanSec.length; k += 2) if (spanSec[k]! <= from && spanSec[k + 1]! >= to) return true;
  return false;
}
