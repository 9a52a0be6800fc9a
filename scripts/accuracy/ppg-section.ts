/** PPG beats on BIDMC (at rest) and IEEE SPC (running), heart rate at rest, and pulse rate variability against ECG. */
import { PpgBeatDetector } from '../../src/dsp/ppg-beats.ts';
import { PpgQuality, emptyQuality } from '../../src/dsp/ppg-quality.ts';
import { judgeIntervals, newCorrection } from '../../src/dsp/rr-correction.ts';
import { alignRPeaks } from './align-r-peaks.ts';
import { rateBpm } from './ppg-quality-section.ts';
import { findAll, findBeats, loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { Section } from './section.ts';
import { median, rates, scoreBeats } from './ppg-reference.ts';
import type { BeatScore } from './ppg-reference.ts';

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir);
  if (items.length === 0) return null;
  const scores = items.map((item) => scoreOne(item));
  const notes = ['Reference: R peaks on which two detectors agree within 150 ms; one constant lag per recording; 150 ms, one to one.'];
  const rows: string[][] = [['recording', 'beats', 'Se %', '+P %', 'F1 %', 'FP', 'FN', 'lag s']];
  items.forEach((item, i) => rows.push(scoreRow(item.name, scores[i]!, scores[i]!.lagSec.toFixed(2))));
  const json: Record<string, unknown> = {};
  for (const set of ['bidmc', 'spc'] as const) {
    if (!items.some((item) => item.set === set)) continue;
    const sum = gross(scores.filter((_, i) => items[i]!.set === set));
    rows.push(scoreRow(`gross ${set}`, sum, ''));
    json[set] = { ...sum, ...rates(sum) };
  }
  for (const fs of [32, 64, 250]) {
    for (const set of ['bidmc', 'spc'] as const) {
      const own = items.filter((item) => item.set === set);
      if (own.length === 0) continue;
      const sum = gross(own.map((item) => scoreOne({ ...item, fs, ppg: resampled(item.ppg, item.fs, fs) })));
      rows.push(scoreRow(`gross ${set} at ${fs} Hz`, sum, ''));
      json[`${set} at ${fs} Hz`] = { ...sum, ...rates(sum) };
    }
  }
  for (const set of ['bidmc', 'spc'] as const) {
    const own = items.filter((item) => item.set === set);
    if (own.length === 0) continue;
    const sum = gross(own.map((item) => scoreBeats(segmentedBeats(item), item.reference)));
    rows.push(scoreRow(`gross ${set} in segments`, sum, ''));
    json[`${set} in segments`] = { ...sum, ...rates(sum) };
  }
  const first = items.filter((item) => item.set === 'spc' && item.name.endsWith('.1'));
  if (first.length > 0) {
    const sum = gross(first.map((item) => scoreOne(item, item.spc!.ppg)));
    rows.push(scoreRow('gross spc, both wavelengths fused', sum, ''));
    json['spc fused'] = { ...sum, ...rates(sum) };
  }
  const rest = items.filter((item) => item.set === 'bidmc');
  if (rest.length > 0) {
    const hr = restHeartRate(rest);
    const prv = pulseRateVariability(rest);
    json['heartRateBidmc'] = hr;
    json['prvBidmc'] = prv;
    notes.push(
      `Heart rate BIDMC: within 5 bpm ${hr.within5.toFixed(2)} %, mean error ${hr.meanError.toFixed(2)} bpm, ${hr.windows} windows of 8 s.`,
    );
    notes.push(
      `PRV SDNN BIDMC: mean error ${prv.sdnnMeanErrorMs.toFixed(2)} ms, median ${prv.sdnnMedianErrorMs.toFixed(2)} ms, ${prv.windows} windows of 5 min.`,
    );
  }
  return { title: 'PPG beats', rows, json, notes };
}

/** Beats of one recording against its reference. @param leads wavelengths to fuse */
export function scoreOne(item: PpgItem, leads: readonly Float64Array[] = [item.ppg]): BeatScore {
  const beats = findBeats(new PpgBeatDetector(item.fs, leads.length), leads);
  return scoreBeats(
    beats.map((position) => position / item.fs),
    item.reference,
  );
}

export function gross(scores: readonly BeatScore[]): { tp: number; fp: number; fn: number } {
  const sum = { tp: 0, fp: 0, fn: 0 };
  for (const { tp, fp, fn } of scores) {
    sum.tp += tp;
    sum.fp += fp;
    sum.fn += fn;
  }
  return sum;
}

/** Beats in s as the engine finds them: segments of 64 s, each with a detector started afresh 16 s before. */
function segmentedBeats({ ppg, fs }: PpgItem): Float64Array {
  const beats: number[] = [];
  for (let from = 0; from < ppg.length; from += 64 * fs) {
    const start = Math.max(0, from - 16 * fs);
    const detector = new PpgBeatDetector(fs);
    const end = Math.min(ppg.length, from + (64 + Math.ceil(detector.latencySec)) * fs);
    for (const position of findBeats(detector, ppg.subarray(start, end))) {
      const at = start + position;
      // at a seam the two detectors may place one beat on either side
      if (at >= from && at < from + 64 * fs && at - (beats.at(-1) ?? Number.NEGATIVE_INFINITY) > 0.2 * fs) beats.push(at);
    }
  }
  return Float64Array.from(beats, (at) => at / fs);
}

/** Linear interpolation, of a moving mean where the rate falls. */
function resampled(x: Float64Array, from: number, to: number): Float64Array {
  const width = Math.max(1, Math.round(from / to));
  return Float64Array.from({ length: Math.floor((x.length / from) * to) }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < width; k++) {
      const at = Math.min(x.length - 2, Math.max(0, (i * from) / to + k - (width - 1) / 2));
      const j = Math.floor(at);
      sum += x[j]! + (at - j) * (x[j + 1]! - x[j]!);
    }
    return sum / width;
  });
}

function scoreRow(name: string, score: Readonly<{ tp: number; fp: number; fn: number }>, lag: string): string[] {
  const { se, ppv, f1 } = rates(score);
  return [name, String(score.tp + score.fn), se.toFixed(2), ppv.toFixed(2), f1.toFixed(2), String(score.fp), String(score.fn), lag];
}

/** 60 / median interval of 8 s windows, 2 s step, against the ECG's, at the lag of the beats. */
export function restHeartRate(items: readonly PpgItem[]): { windows: number; within5: number; meanError: number } {
  const errors: number[] = [];
  for (const item of items) {
    const beats = findBeats(new PpgBeatDetector(item.fs), item.ppg).map((position) => position / item.fs);
    const { lagSec } = scoreBeats(beats, item.reference);
    const shifted = beats.map((time) => time + lagSec);
    const { spanSec, beatSec } = item.reference;
    for (let from = 4; from + 8 <= item.ppg.length / item.fs - 2; from += 2) {
      let covered = false;
      for (let k = 0; k < spanSec.length; k += 2) if (spanSec[k]! <= from + 1 && spanSec[k + 1]! >= from + 7) covered = true;
      const truth = rateBpm(beatSec, from, from + 8);
      if (!covered || truth === null) continue;
      errors.push(Math.min(200, Math.abs(truth - (rateBpm(shifted, from, from + 8) ?? 0))));
    }
  }
  return {
    windows: errors.length,
    within5: (100 * errors.filter((error) => error <= 5).length) / errors.length,
    meanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
  };
}

/** Least confidence of a beat, and least quality of its second, for its interval to count. */
const CONFIDENCE_MIN = 0.7;
const SQI_MIN = 0.9;
const WINDOW_SEC = 300;

/** SDNN of 5 minutes (steps of 1 minute) from PPG against ECG. Near-sinus windows: at least 98 % of RR pass as NN; PPG at rest: at least 90 % of
 *  its seconds are flagged 0 and accepted intervals cover 80 %. R peaks are aligned to their template: at 125 Hz their jitter is 2-10 ms. */
export function pulseRateVariability(items: readonly PpgItem[]): {
  windows: number;
  sdnnMeanErrorMs: number;
  sdnnMedianErrorMs: number;
  sdnnBiasMs: number;
} {
  const errors: number[] = [];
  for (const item of items) {
    const { fs } = item;
    const ecg = accepted(
      alignRPeaks(
        item.ecg,
        item.rSec.map((time) => time * fs),
        fs,
      ),
      fs,
      () => true,
    );
    const detector = new PpgBeatDetector(fs);
    const found = findAll(detector, item.ppg);
    const quality = new PpgQuality(fs, detector.latencySec);
    quality.pushBeats(found, 0, found.count);
    const judged = emptyQuality();
    quality.push(item.ppg, 0, item.ppg.length, judged);
    quality.flush(judged);
    const sqi = (position: number): number => judged.sqi[Math.min(judged.count - 1, Math.max(0, Math.floor(position / fs)))]!;
    const ppg = accepted(
      found.position.slice(0, found.count),
      fs,
      (i) => found.confidence[i]! >= CONFIDENCE_MIN && sqi(found.position[i]!) >= SQI_MIN,
    );
    for (let from = 0; from + WINDOW_SEC <= item.ppg.length / fs; from += 60) {
      const a = within(ecg, from);
      const b = within(ppg, from);
      const good = judged.flag.slice(from, from + WINDOW_SEC).filter((flag) => flag === 0).length;
      const covered = b.nn.reduce((sum, nn) => sum + nn, 0) / 1000 / WINDOW_SEC;
      if (a.nn.length < 0.98 * a.count || good < 0.9 * WINDOW_SEC || covered < 0.8) continue;
      errors.push(deviation(b.nn) - deviation(a.nn));
    }
  }
  return {
    windows: errors.length,
    sdnnMeanErrorMs: errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length,
    sdnnMedianErrorMs: median(errors.map(Math.abs)),
    sdnnBiasMs: errors.reduce((sum, error) => sum + error, 0) / errors.length,
  };
}

type Intervals = Readonly<{ tUs: Float64Array; verdict: Uint8Array }>;

/** Intervals judged by the engine's own rules; both beats must be kept. */
function accepted(position: Float64Array, fs: number, keep: (i: number) => boolean): Intervals {
  const tUs = position.map((p) => (p / fs) * 1e6);
  const verdict = new Uint8Array(tUs.length);
  judgeIntervals({ tUs, verdict }, 0, tUs.length, true, newCorrection(0));
  for (let i = 1; i < tUs.length; i++) if (!keep(i) || !keep(i - 1)) verdict[i] = 1;
  return { tUs, verdict };
}

function within({ tUs, verdict }: Intervals, fromSec: number): { nn: number[]; count: number } {
  const nn: number[] = [];
  let count = 0;
  for (let i = 1; i < tUs.length; i++) {
    if (tUs[i - 1]! < fromSec * 1e6 || tUs[i]! >= (fromSec + WINDOW_SEC) * 1e6) continue;
    count++;
    if (verdict[i] === 0) nn.push((tUs[i]! - tUs[i - 1]!) / 1000);
  }
  return { nn, count };
}

function deviation(x: readonly number[]): number {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  return Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1));
}
