/** The burden of ectopic beats of a stream's ECG: of each 5 minutes, and the longest ventricular run of each 10 s. */
import { BAD, SUSPECT } from '../../signal.ts';
import type { BeatTrack, Gaps } from '../hrv/beats.ts';
import type { Run } from '../hrv/burden.ts';
import { burdenFlag, countBurden, isIrregular, longestRun } from '../hrv/burden.ts';
import type { ValueSink } from '../hrv/values.ts';
import { worse } from '../hrv/values.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';

const secondUs = 1_000_000;
const methods = {
  ventricular: methodIndex('ventricular_burden_300s'),
  supraventricular: methodIndex('supraventricular_burden_300s'),
  couplets: methodIndex('ventricular_couplets_300s'),
  runs: methodIndex('ventricular_runs_300s'),
  run: methodIndex('ventricular_run_10s'),
};
const five = featureMethods[methods.ventricular]!;
const ten = featureMethods[methods.run]!;
/** Beats of a run before the window count back to here. */
export const runUs = 300 * secondUs;
/** By so much of the past a run is judged to lie in fibrillation. */
const rhythmUs = 30 * secondUs;

const run: Run = { beats: 0, flag: BAD };

export class BeatBurden {
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #sink: ValueSink;
  #fiveSec = -1;
  #tenSec = -1;

  /** @param track, gaps kept by the caller, for 312 s */
  constructor(track: BeatTrack, gaps: Gaps, sink: ValueSink) {
    this.#track = track;
    this.#gaps = gaps;
    this.#sink = sink;
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return this.#fiveSec < 0 ? Number.POSITIVE_INFINITY : Math.min(this.#fiveSec, this.#tenSec) * secondUs;
  }

  start(tUs: number): void {
    this.#fiveSec = Math.ceil(tUs / (five.cadenceSec * secondUs)) * five.cadenceSec;
    this.#tenSec = Math.ceil(tUs / (ten.cadenceSec * secondUs)) * ten.cadenceSec;
  }

  /** @param judgedUs every beat before it has its verdict and its flag */
  advance(judgedUs: number): void {
    if (this.#fiveSec < 0) return;
    for (; this.#tenSec * secondUs < judgedUs; this.#tenSec = this.#gaps.nextDue(this.#tenSec, ten.cadenceSec, judgedUs))
      if (this.#isPresent(this.#tenSec * secondUs)) this.#longest(this.#tenSec * secondUs);
    for (; this.#fiveSec * secondUs < judgedUs; this.#fiveSec = this.#gaps.nextDue(this.#fiveSec, five.cadenceSec, judgedUs))
      if (this.#isPresent(this.#fiveSec * secondUs)) this.#burden(this.#fiveSec * secondUs);
  }

  /** Values exist where their last second has samples. */
  #isPresent(tUs: number): boolean {
    return this.#gaps.missingUs(tUs - secondUs, tUs) < secondUs;
  }

  #longest(tUs: number): void {
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - ten.windowSec * secondUs, to);
    if (from === to) return;
    longestRun(this.#track, tUs - runUs, from, to, run);
    const doubtful = run.beats > 0 && isIrregular(this.#track, this.#track.after(tUs - rhythmUs, from), to);
    this.#sink.value(methods.run, -1, tUs, run.beats, doubtful ? worse(run.flag, SUSPECT) : run.flag);
  }

  #burden(tUs: number): void {
    const windowUs = five.windowSec * secondUs;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    const burden = countBurden(this.#track, from, to);
    if (burden.usableUs < five.coverageMin * windowUs) return;
    const flag = burdenFlag(burden, windowUs);
    const irregular = isIrregular(this.#track, from, to);
    const ventricular = irregular ? SUSPECT : flag;
    this.#sink.value(methods.ventricular, -1, tUs, (100 * burden.ventricular) / burden.beats, ventricular);
    this.#sink.value(methods.supraventricular, -1, tUs, (100 * burden.supraventricular) / burden.beats, irregular ? BAD : flag);
    this.#sink.value(methods.couplets, -1, tUs, burden.couplets, ventricular);
    this.#sink.value(methods.runs, -1, tUs, burden.runs, ventricular);
  }
}
