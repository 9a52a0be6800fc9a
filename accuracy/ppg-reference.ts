/** Reference beats for PPG scoring, from the simultaneous ECG, and the scoring itself (rules of the data folder's README).
 *
 *  A reference beat is one that two independent ECG detectors place within 150 ms of each other, in a stretch where they do not disagree
 *  and RR <= 2.5 s. Stretches of disagreement, and of a flat PPG, count neither as hit nor as error. Test beats are shifted by one constant
 *  lag per recording (the best of -1 … +1 s in 20 ms steps: pulse transit and filter delays are not errors), matched one to one within 150
 *  ms. */

export type PpgReference = Readonly<{
  /** Agreed R peaks, seconds. */
  beatSec: Float64Array;
  /** Stretches that are scored, seconds, flattened pairs [from, to); ascending. */
  spanSec: Float64Array;
}>;

export type BeatScore = Readonly<{ tp: number; fp: number; fn: number; lagSec: number }>;

const WINDOW_SEC = 0.15;
const RR_MAX_SEC = 2.5;

/** Keeps what two detectors agree on. @param first the detector whose positions are kept, seconds  @param second the independent one,
 *  seconds */
export function agreedBeats(first: Float64Array, second: Float64Array, ppg: Float64Array, fs: number): PpgReference {
  const endSec = ppg.length / fs;
  const pairs = matchBeats(first, second, WINDOW_SEC);
  const lonely: number[] = [];
  pairs.forEach((j, i) => j < 0 && lonely.push(first[i]!));
  const used = new Uint8Array(second.length);
  for (const j of pairs) if (j >= 0) used[j] = 1;
  second.forEach((time, j) => used[j] === 0 && lonely.push(time));
  lonely.sort((a, b) => a - b);
  return referenceOf(
    first.filter((_, i) => pairs[i]! >= 0),
    (from, to) => lonely.some((time) => time > from && time < to),
    ppg,
    fs,
    endSec,
  );
}

/** Beats that an expert marked. @param artefactSec stretches that count neither way, flattened pairs */
export function markedBeats(marked: Float64Array, artefactSec: Float64Array, ppg: Float64Array, fs: number): PpgReference {
  const isArtefact = (from: number, to: number): boolean => {
    for (let k = 0; k + 1 < artefactSec.length; k += 2) if (artefactSec[k]! < to && artefactSec[k + 1]! > from) return true;
    return false;
  };
  return referenceOf(marked, isArtefact, ppg, fs, ppg.length / fs);
}

/** @param isDisputed does the stretch between two beats count neither way? */
function referenceOf(
  beatSec: Float64Array,
  isDisputed: (from: number, to: number) => boolean,
  ppg: Float64Array,
  fs: number,
  endSec: number,
): PpgReference {
  const flat = flatSpans(ppg, fs);
  const spans: number[] = [];
  const isValid: boolean[] = [];
  for (let i = 0; i + 1 < beatSec.length; i++) {
    const from = beatSec[i]!;
    const to = beatSec[i + 1]!;
    const isFlat = flat.some(([a, b]) => a < to && b > from);
    isValid.push(!isDisputed(from, to) && !isFlat && to - from <= RR_MAX_SEC && from >= 2 && to <= endSec - 2);
  }
  const beats: number[] = [];
  for (let i = 0; i < beatSec.length; i++) {
    if (isValid[i - 1] === true || isValid[i] === true) beats.push(beatSec[i]!);
    if (isValid[i] !== true) continue;
    const last = spans.length - 1;
    if (spans[last] === beatSec[i]) spans[last] = beatSec[i + 1]!;
    else spans.push(beatSec[i]!, beatSec[i + 1]!);
  }
  return { beatSec: Float64Array.from(beats), spanSec: Float64Array.from(spans) };
}

/** Counts hits and errors at the best constant lag. @param testSec beats of the detector under test, seconds, ascending */
export function scoreBeats(testSec: Float64Array, reference: PpgReference): BeatScore {
  let best = scoreAtLag(testSec, reference, 0);
  for (let step = -50; step <= 50; step++) {
    const score = scoreAtLag(testSec, reference, step * 0.02);
    if (score.tp > best.tp || (score.tp === best.tp && Math.abs(score.lagSec) < Math.abs(best.lagSec))) best = score;
  }
  return best;
}

export function scoreAtLag(testSec: Float64Array, reference: PpgReference, lagSec: number): BeatScore {
  const shifted = testSec.map((time) => time + lagSec);
  const pairs = matchBeats(reference.beatSec, shifted, WINDOW_SEC);
  const used = new Uint8Array(shifted.length);
  let tp = 0;
  for (const j of pairs) {
    if (j < 0) continue;
    used[j] = 1;
    tp++;
  }
  let fp = 0;
  for (let j = 0; j < shifted.length; j++) if (used[j] === 0 && isInside(reference.spanSec, shifted[j]!)) fp++;
  return { tp, fp, fn: reference.beatSec.length - tp, lagSec };
}

/** For each reference beat the index of its test beat, or -1. One to one; where windows overlap, the closer pair wins. */
export function matchBeats(reference: Float64Array, test: Float64Array, windowSec: number): Int32Array {
  const match = new Int32Array(reference.length).fill(-1);
  let i = 0;
  let j = 0;
  while (i < reference.length && j < test.length) {
    const distance = test[j]! - reference[i]!;
    if (distance < -windowSec) j++;
    else if (distance > windowSec) i++;
    else if (j + 1 < test.length && Math.abs(test[j + 1]! - reference[i]!) < Math.abs(distance)) j++;
    else if (i + 1 < reference.length && Math.abs(test[j]! - reference[i + 1]!) < Math.abs(distance)) i++;
    else match[i++] = j++;
  }
  return match;
}

/** F1, sensitivity and positive predictivity in percent. */
export function rates(score: Readonly<{ tp: number; fp: number; fn: number }>): { se: number; ppv: number; f1: number } {
  const se = (100 * score.tp) / (score.tp + score.fn);
  const ppv = (100 * score.tp) / (score.tp + score.fp);
  return { se, ppv, f1: (200 * score.tp) / (2 * score.tp + score.fp + score.fn) };
}

function isInside(spanSec: Float64Array, time: number): boolean {
  for (let k = 0; k < spanSec.length; k += 2) if (time >= spanSec[k]! && time < spanSec[k + 1]!) return true;
  return false;
}

/** Stretches of at least 1 s without any change. */
function flatSpans(x: Float64Array, fs: number): [number, number][] {
  const spans: [number, number][] = [];
  let from = 0;
  for (let i = 1; i <= x.length; i++) {
    if (i < x.length && x[i] === x[i - 1]) continue;
    if (i - from >= fs) spans.push([from / fs, i / fs]);
    from = i;
  }
  return spans;
}

/** Second, independent ECG detector for the reference: two moving averages (Elgendi 2013, doi:10.1371/journal.pone.0073557),
 *  offline, with zero-phase filtering, and blocks below 0.3 of the local median energy dropped.
 *  @returns R peaks in seconds */
export function twoAverageRPeaks(ecg: Float64Array, fs: number): Float64Array {
  const band = zeroPhaseBand(ecg, fs, 8, 20);
  const n = band.length;
  const energy = band.map((value) => value * value);
  const short = centredMean(energy, Math.round(0.097 * fs));
  const long = centredMean(energy, Math.round(0.611 * fs));
  const globalMean = energy.reduce((sum, value) => sum + value, 0) / n;
  const peaks: number[] = [];
  const heights: number[] = [];
  let from = -1;
  for (let i = 0; i <= n; i++) {
    const on = i < n && short[i]! > long[i]! + 0.04 * globalMean;
    if (on && from < 0) from = i;
    if (on || from < 0) continue;
    if (i - from >= 0.06 * fs) {
      let at = from;
      for (let k = from; k < i; k++) if (Math.abs(band[k]!) > Math.abs(band[at]!)) at = k;
      const height = Math.abs(band[at]!);
      const last = peaks.length - 1;
      if (last >= 0 && at - peaks[last]! < 0.25 * fs) {
        if (height > heights[last]!) [peaks[last], heights[last]] = [at, height];
      } else {
        peaks.push(at);
        heights.push(height);
      }
    }
    from = -1;
  }
  return Float64Array.from(
    peaks.filter((_, k) => heights[k]! > 0.4 * median(heights.slice(Math.max(0, k - 8), k + 9))).map((at) => at / fs),
  );
}

export function median(values: readonly number[] | Float64Array): number {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function centredMean(x: Float64Array, width: number): Float64Array {
  const half = width >> 1;
  const out = new Float64Array(x.length);
  let sum = 0;
  for (let i = -half; i < x.length; i++) {
    if (i + half < x.length) sum += x[i + half]!;
    if (i - half - 1 >= 0) sum -= x[i - half - 1]!;
    if (i >= 0) out[i] = sum / (2 * half + 1);
  }
  return out;
}

/** One first-order-pair band-pass (biquad high- and low-pass) run forwards and backwards. */
function zeroPhaseBand(x: Float64Array, fs: number, lowHz: number, highHz: number): Float64Array {
  const y = Float64Array.from(x, (value) => (Number.isNaN(value) ? 0 : value));
  for (const [hz, isHigh] of [
    [lowHz, true],
    [highHz, false],
  ] as const) {
    for (let pass = 0; pass < 2; pass++) {
      biquad(y, fs, hz, isHigh);
      y.reverse();
    }
  }
  return y;
}

function biquad(y: Float64Array, fs: number, hz: number, isHigh: boolean): void {
  const w = (2 * Math.PI * hz) / fs;
  const alpha = Math.sin(w) / Math.SQRT2;
  const cos = Math.cos(w);
  const a0 = 1 + alpha;
  const b0 = (isHigh ? 1 + cos : 1 - cos) / 2 / a0;
  const b1 = (isHigh ? -(1 + cos) : 1 - cos) / a0;
  const a1 = (-2 * cos) / a0;
  const a2 = (1 - alpha) / a0;
  const start = y[0] ?? 0;
  let [x1, x2, y1, y2] = isHigh ? [start, start, 0, 0] : [start, start, start, start];
  for (let i = 0; i < y.length; i++) {
    const x0 = y[i]!;
    const value = b0 * x0 + b1 * x1 + b0 * x2 - a1 * y1 - a2 * y2;
    x2 = x1;
    x1 = x0;
    y2 = y1;
    y1 = value;
    y[i] = value;
  }
}
