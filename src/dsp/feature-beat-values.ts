/** Heart rate and variability from the beats of one channel group: which values are due, what they are and how good they are. */
import type { QualityFlag } from '../signal.ts';
import { BAD, GOOD, SUSPECT } from '../signal.ts';
import type { BeatTrack, Gaps } from './feature-beats.ts';
import type { NnWindow } from './hrv.ts';
import { timeDomain } from './hrv.ts';
import { bandPowers } from './hrv-frequency.ts';
import type { Method } from './methods.ts';
import { featureMethods, methodIndex } from './methods.ts';

/** Takes values in the order they become final. `method` is a position in `featureMethods`. */
export type ValueSink = { value(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void };

const secondUs = 1_000_000;

type Names = { hr: number; rmssd60: number; long: readonly number[]; spectral: readonly number[] };

const named = (hr: string, prefix: string): Names => ({
  hr: methodIndex(hr),
  rmssd60: methodIndex(`${prefix}_rmssd_60s`),
  long: ['mean_nn', 'sdnn', 'rmssd', 'pnn50', 'sd1', 'sd2'].map((name) => methodIndex(`${prefix}_${name}_300s`)),
  spectral: ['lf', 'hf', 'lf_hf'].map((name) => methodIndex(`${prefix}_${name}_300s`)),
});

const names = { ecg: named('hr_ecg', 'hrv'), ppg: named('hr_ppg', 'prv') };

/** Cadences in the table are shared by the members of a group. */
const group = (index: number): Method => featureMethods[index]!;

const window: NnWindow = { count: 0, nnMs: new Float64Array(1024), adjacent: new Uint8Array(1024) };
const endSec = { t: new Float64Array(1024) };

/** Shares of intervals of a window at which its flag turns, see flagOf. */
const excludedSuspect = 0.05;
const excludedBad = 0.2;

export class BeatValues {
  readonly #names: Names;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #sink: ValueSink;
  /** Next due times, whole seconds of the device clock. */
  #hrSec = -1;
  #rmssdSec = 0;
  #longSec = 0;
  #spectralSec = 0;

  constructor(source: 'ecg' | 'ppg', track: BeatTrack, gaps: Gaps, sink: ValueSink) {
    this.#names = names[source];
    this.#track = track;
    this.#gaps = gaps;
    this.#sink = sink;
  }

  /** The first sample: nothing is due before it. */
  start(tUs: number): void {
    const due = (cadenceSec: number): number => Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
    this.#hrSec = due(group(this.#names.hr).cadenceSec);
    this.#rmssdSec = due(group(this.#names.rmssd60).cadenceSec);
    this.#longSec = due(group(this.#names.long[0]!).cadenceSec);
    this.#spectralSec = due(group(this.#names.spectral[0]!).cadenceSec);
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return Math.min(this.#hrSec, this.#rmssdSec, this.#longSec, this.#spectralSec) * secondUs;
  }

  /** @param beatsUs every beat before it is in the track  @param judgedUs every beat before it has its verdict */
  advance(beatsUs: number, judgedUs: number): void {
    if (this.#hrSec < 0) return;
    for (; this.#hrSec * secondUs < beatsUs; this.#hrSec += group(this.#names.hr).cadenceSec)
      if (this.#present(this.#hrSec)) this.#heartRate(this.#hrSec * secondUs);
    for (; this.#rmssdSec * secondUs < judgedUs; this.#rmssdSec += group(this.#names.rmssd60).cadenceSec)
      if (this.#present(this.#rmssdSec)) this.#shortVariability(this.#rmssdSec * secondUs);
    for (; this.#longSec * secondUs < judgedUs; this.#longSec += group(this.#names.long[0]!).cadenceSec)
      if (this.#present(this.#longSec)) this.#longVariability(this.#longSec * secondUs);
    for (; this.#spectralSec * secondUs < judgedUs; this.#spectralSec += group(this.#names.spectral[0]!).cadenceSec)
      if (this.#present(this.#spectralSec)) this.#spectrum(this.#spectralSec * secondUs);
  }

  /** A value exists only where its last second has samples: in a gap and after the end there is nothing to say. */
  #present(tSec: number): boolean {
    return this.#gaps.missingUs((tSec - 1) * secondUs, tSec * secondUs) < secondUs;
  }

  #heartRate(tUs: number): void {
    const { tUs: times, starts, flag, confidence } = this.#track;
    const method = group(this.#names.hr);
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - method.windowSec * secondUs, to);
    let sum = 0;
    let count = 0;
    let worst = 0;
    let doubtful = 0;
    let longest = 0;
    for (let i = from; i < to; i++) {
      worst = Math.max(worst, flag[i]!);
      if (confidence[i]! < doubtfulConfidence) doubtful++;
      if (i === from || starts[i] === 1) continue;
      const rr = times[i]! - times[i - 1]!;
      sum += rr;
      longest = Math.max(longest, rr);
      count++;
    }
    if (count < 2 || sum < method.coverageMin * method.windowSec * secondUs) return;
    const mean = sum / count;
    let quality: QualityFlag = worst === BAD || doubtful > 2 ? BAD : worst === SUSPECT || doubtful > 0 ? SUSPECT : GOOD;
    if (quality === GOOD && longest > 1.6 * mean) quality = SUSPECT;
    this.#sink.value(this.#names.hr, -1, tUs, (60 * secondUs) / mean, quality);
  }

  #shortVariability(tUs: number): void {
    const method = group(this.#names.rmssd60);
    const flag = this.#gather(tUs, method);
    if (flag === null || window.count < 2) return;
    const { rmssdMs } = timeDomain(window);
    if (!Number.isNaN(rmssdMs)) this.#sink.value(this.#names.rmssd60, -1, tUs, rmssdMs, flag);
  }

  #longVariability(tUs: number): void {
    const flag = this.#gather(tUs, group(this.#names.long[0]!));
    if (flag === null) return;
    const x = timeDomain(window);
    const values = [x.meanNnMs, x.sdnnMs, x.rmssdMs, x.pnn50, x.sd1Ms, x.sd2Ms];
    for (let i = 0; i < values.length; i++)
      if (!Number.isNaN(values[i]!)) this.#sink.value(this.#names.long[i]!, -1, tUs, values[i]!, flag);
  }

  #spectrum(tUs: number): void {
    const flag = this.#gather(tUs, group(this.#names.spectral[0]!));
    if (flag === null) return;
    const { lfMs2, hfMs2 } = bandPowers(endSec.t, window.nnMs, window.count);
    if (Number.isNaN(lfMs2)) return;
    this.#sink.value(this.#names.spectral[0]!, -1, tUs, lfMs2, flag);
    this.#sink.value(this.#names.spectral[1]!, -1, tUs, hfMs2, flag);
    if (hfMs2 > 0) this.#sink.value(this.#names.spectral[2]!, -1, tUs, lfMs2 / hfMs2, flag);
  }

  /** NN intervals with both beats in (t - window, t] into `window`.
   *  @returns the window's flag; null when its intervals cover too little */
  #gather(tUs: number, method: Method): QualityFlag | null {
    const { tUs: times, starts, verdict, flag, confidence } = this.#track;
    const windowUs = method.windowSec * secondUs;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    if (window.nnMs.length < to - from) {
      window.nnMs = new Float64Array(2 * (to - from));
      window.adjacent = new Uint8Array(2 * (to - from));
      endSec.t = new Float64Array(2 * (to - from));
    }
    let count = 0;
    let covered = 0;
    let intervals = 0;
    let doubtful = 0;
    let bad = 0;
    let accepted = -2;
    for (let i = from; i < to; i++) {
      if (flag[i] === BAD) bad++;
      else if (flag[i] === SUSPECT || confidence[i]! < doubtfulConfidence) doubtful++;
      if (i === from || starts[i] === 1) continue;
      const rr = times[i]! - times[i - 1]!;
      intervals++;
      covered += rr;
      if (verdict[i] !== 0) continue;
      window.nnMs[count] = rr / 1000;
      window.adjacent[count] = accepted === i - 1 ? 1 : 0;
      endSec.t[count] = (times[i]! - tUs + windowUs) / secondUs;
      accepted = i;
      count++;
    }
    window.count = count;
    const coverage = covered / windowUs;
    if (coverage < method.coverageMin || count < 2) return null;
    return flagOf(coverage, 1 - count / intervals, bad / (to - from), (bad + doubtful) / (to - from));
  }
}

/** A detector confidence below this makes a beat doubtful. */
const doubtfulConfidence = 0.5;

/** EC57-like: variability needs 80 % accepted intervals; 0 asks for 95 %. */
function flagOf(coverage: number, excluded: number, bad: number, doubtful: number): QualityFlag {
  if (excluded > excludedBad || bad > 0.2 || doubtful > 0.5) return BAD;
  return excluded > excludedSuspect || bad > 0 || doubtful > 0.05 || coverage < 0.8 ? SUSPECT : GOOD;
}
