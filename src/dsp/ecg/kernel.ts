/** Beats and quality of the ECG leads of one rate, in one pass: what the segment runner runs. */
import { arenaBytes, arenaDoubles, arenaFloats } from '../kernels/arena.ts';
import { BeatShapes, shapeMeasures } from './beat-shapes.ts';
import { shapeEvidence } from './shape-evidence.ts';
import { EcgQuality, ecgQualityWindowSec } from './quality.ts';
import { appendShapedBeat, noBeats } from '../kernels/found-beats.ts';
import type { ShapedBeats } from '../kernels/contract.ts';
import type { CandidateNotes } from './r-peaks-candidates.ts';
import type { LeadListener } from './r-peaks.ts';
import { RPeakDetector } from './r-peaks.ts';
import type { LeadSignal } from './r-peaks-lead.ts';

/** Judgements, one per whole second since reset, as parallel growable columns. */
export type FoundJudgements = {
  count: number;
  /** The 10 s before this were judged; whole seconds since reset. */
  endSec: Float64Array;
  /** Probability that the beats in them are right (F1 >= 90 %), of the best lead. */
  sqi: Float64Array;
  /** Probability that the heart rate is right (within 5 bpm). */
  rate: Float64Array;
};

export const noJudgements = (): FoundJudgements => ({
  count: 0,
  endSec: new Float64Array(16),
  sqi: new Float64Array(16),
  rate: new Float64Array(16),
});

const pLikeness = shapeMeasures.indexOf('p_likeness');
const beforeRest = shapeMeasures.indexOf('before_rest');
const ofBroadRhythm = { ventricular: Number.NaN, supraventricular: 0 };
const notAsked = { ventricular: Number.NaN, supraventricular: Number.NaN };
/** At most this many leads are judged. */
const JUDGED_LEADS = 2;
/** Candidates of 12 s: no two are closer than 200 ms. */
const NOTES = 96;
/** More beats than are ever found and not given yet: those of 2 s. */
const FOUND = 32;

/** Push leads in order, flush at the end. A beat at t and the judgement of the second that ends at t are out once the sample at
 *  t + latencySec was pushed. A pure function of the samples since reset, however they were cut. */
export class EcgKernel implements LeadListener {
  readonly latencySec: number;
  /** For fitting. */
  readonly judges: readonly EcgQuality[];
  readonly #detector: RPeakDetector;
  readonly #fs: number;
  /** Of the first lead, and of the second one. */
  readonly #shapes: BeatShapes;
  readonly #secondShapes: BeatShapes | null;
  readonly #beats = noBeats(64);
  readonly #notes: CandidateNotes = {
    count: 0,
    position: arenaDoubles(NOTES),
    score: arenaFloats(NOTES),
    doubt: arenaDoubles(NOTES),
    alike: arenaFloats(NOTES),
    noise: arenaFloats(NOTES),
    isBeat: arenaBytes(NOTES),
  };
  readonly #signals: (LeadSignal | null)[];
  #k = 0;
  #n = 0;
  #second = 0;
  #secondEnd = 0;
  #judged = 0;
  #quietSec = 0;
  /** Sample from which on it is asked what the shape of beats says. */
  #askedFrom = 0;
  #given = 0;
  /** By number of the beat since reset: is it to be seen in the second lead alone? */
  readonly #ofSecond = arenaBytes(FOUND);
  #foundCount = 0;
  #givenCount = 0;

  /** @param fs sampling rate in Hz, 50..4000 */
  constructor(fs: number, leadCount: number) {
    this.#fs = fs;
    this.#detector = new RPeakDetector(fs, leadCount);
    this.#detector.notes = this.#notes;
    this.#detector.listener = this;
    this.latencySec = this.#detector.latencySec;
    this.#shapes = new BeatShapes(this.#detector.featureRate);
    this.#secondShapes = leadCount > 1 ? new BeatShapes(this.#detector.featureRate) : null;
    this.judges = Array.from({ length: Math.min(leadCount, JUDGED_LEADS) }, () => new EcgQuality(fs, this.#detector.decimation));
    this.#signals = this.judges.map(() => null);
    this.reset();
  }

  /** @param quietSec judgements that end by then, in seconds, are not wanted, nor the shapes of beats more than a second before it */
  reset(quietSec = 0): void {
    this.#quietSec = quietSec;
    this.#askedFrom = (quietSec - 1) * this.#fs;
    this.#detector.reset();
    for (const judge of this.judges) judge.reset();
    this.#shapes.reset();
    this.#secondShapes?.reset();
    this.#beats.count = 0;
    this.#notes.count = 0;
    this.#n = 0;
    this.#k = 0;
    this.#second = 0;
    this.#secondEnd = Math.ceil(this.#fs - 1e-6);
    this.#judged = 0;
    this.#given = 0;
    this.#foundCount = 0;
    this.#givenCount = 0;
  }

  push(leads: readonly Float64Array[], from: number, to: number, beats: ShapedBeats, judgements: FoundJudgements): void {
    for (let at = from; at < to;) {
      // Never across the end of a second: its sums and its judgement are at one place whatever the cut.
      const end = Math.min(to, at + this.#secondEnd - this.#n);
      this.#detector.push(leads, at, end, this.#beats);
      this.#n += end - at;
      at = end;
      if (this.#n === this.#secondEnd) this.#endSecond(beats, judgements);
    }
    this.#give(beats);
  }

  /** The data ends here: beats undecided are decided, and the seconds that are complete are judged. */
  flush(beats: ShapedBeats, judgements: FoundJudgements): void {
    this.#detector.flush(this.#beats);
    const whole = Math.floor(this.#n / this.#fs + 1e-9);
    while (this.#judged < whole) this.#judge(judgements);
    this.#give(beats);
  }

  leadPushed(lead: number, signal: LeadSignal, k: number, count: number): void {
    if (lead === 0) this.#shapes.push(signal.inputs, k, count);
    else if (lead === 1) this.#secondShapes?.push(signal.inputs, k, count);
    const judge = this.judges[lead];
    if (judge === undefined) return;
    this.#signals[lead] = signal;
    this.#k = k + count;
    judge.push(signal, k, count);
  }

  beatFound(isOfSecond: boolean): void {
    this.#ofSecond[this.#foundCount++ % FOUND] = isOfSecond ? 1 : 0;
  }

  #endSecond(beats: ShapedBeats, judgements: FoundJudgements): void {
    this.#second++;
    this.#secondEnd = Math.ceil((this.#second + 1) * this.#fs - 1e-6);
    this.#measure();
    if (this.#second - this.latencySec > this.#judged) {
      this.#give(beats);
      this.#judge(judgements);
    }
    for (const judge of this.judges) judge.startSecond(this.#second);
  }

  #measure(): void {
    for (let lead = 0; lead < this.judges.length; lead++) {
      const signal = this.#signals[lead]!;
      if (signal !== null) this.judges[lead]!.measure(this.#beats, signal, this.#k);
    }
  }

  #judge(out: FoundJudgements): void {
    const endSec = ++this.#judged;
    const fromSec = Math.max(0, endSec - ecgQualityWindowSec);
    const toSec = endSec;
    const { position } = this.#beats;
    this.#forget(fromSec * this.#fs);
    if (endSec <= this.#quietSec) return;
    let last = this.#beats.count;
    while (last > 0 && position[last - 1]! >= toSec * this.#fs) last--;
    let sqi = 0;
    let rate = 0;
    for (const judge of this.judges) judge.judge(fromSec, toSec, this.#beats, 0, last, this.#notes);
    const isDoubtful = this.#leadsDisagree(last, fromSec, toSec);
    for (const judge of this.judges) {
      if (isDoubtful) judge.doubt();
      if (judge.sqi > sqi) sqi = judge.sqi;
      if (judge.rate > rate) rate = judge.rate;
    }
    append(out, endSec, sqi, rate);
  }

  /** Do the first two leads show the rhythms of two hearts, or the first one other waves than the beats before `last`, or a pulse that
   *  none of them follows? The second may show that pulse too low to tell. */
  #leadsDisagree(last: number, fromSec: number, toSec: number): boolean {
    const [first, second] = this.judges;
    if (second === undefined) return false;
    if (first!.hasLonePulse || first!.isOfAnotherHeart(second, fromSec, toSec)) return true;
    return first!.showsOtherWaves(this.#beats, last, fromSec, toSec);
  }

  /** Drops beats and notes before a position. */
  #forget(position: number): void {
    const beats = this.#beats;
    let n = 0;
    while (n < this.#given && beats.position[n]! < position) n++;
    if (n > 0) {
      beats.position.copyWithin(0, n, beats.count);
      beats.confidence.copyWithin(0, n, beats.count);
      beats.count -= n;
      this.#given -= n;
      for (const judge of this.judges) judge.forgetBeats(n);
    }
    const notes = this.#notes;
    let kept = 0;
    for (let i = 0; i < notes.count; i++) {
      if (notes.position[i]! < position) continue;
      if (kept === i) {
        kept++;
        continue;
      }
      notes.position[kept] = notes.position[i]!;
      notes.score[kept] = notes.score[i]!;
      notes.doubt[kept] = notes.doubt[i]!;
      notes.alike[kept] = notes.alike[i]!;
      notes.noise[kept] = notes.noise[i]!;
      notes.isBeat[kept++] = notes.isBeat[i]!;
    }
    notes.count = kept;
  }

  #give(out: ShapedBeats): void {
    const { position, confidence, count } = this.#beats;
    const { decimation } = this.#detector;
    for (; this.#given < count; this.#given++) {
      const at = position[this.#given]!;
      const sample = (at - (decimation - 1) / 2) / decimation;
      const isAsked = at >= this.#askedFrom;
      this.#shapes.measure(Math.round(sample), isAsked);
      this.#secondShapes?.measure(Math.round(sample), isAsked);
      const second = this.#secondShapes?.measures ?? null;
      const isOfSecond = this.#ofSecond[this.#givenCount++ % FOUND] === 1;
      const placed = isOfSecond ? this.#secondShapes! : this.#shapes;
      const { mayBeVentricular } = placed;
      // of a lead without a usual beat, as one that is dead or all noise, nothing is known; of hum every beat is usual
      const isSecondKnown = !mayBeVentricular && second !== null && !Number.isNaN(second[0]!);
      const isBySecond = isSecondKnown && (isOfSecond || Number.isNaN(this.#shapes.measures[0]!));
      const measures = isBySecond ? second : this.#shapes.measures;
      const shiftMs = placed.shiftMs + ((Math.round(sample) - sample) * decimation * 1000) / this.#fs;
      appendShapedBeat(
        out,
        at,
        confidence[this.#given]!,
        mayBeVentricular ? ofBroadRhythm : isAsked ? shapeEvidence(measures, isBySecond ? null : second) : notAsked,
        measures[pLikeness]!,
        measures[beforeRest]!,
        (isBySecond ? this.#secondShapes! : placed).widthMs,
        shiftMs,
      );
    }
  }
}

function append(out: FoundJudgements, endSec: number, sqi: number, rate: number): void {
  if (out.count === out.sqi.length) {
    const grow = (column: Float64Array): Float64Array => {
      const grown = new Float64Array(2 * column.length);
      grown.set(column);
      return grown;
    };
    out.endSec = grow(out.endSec);
    out.sqi = grow(out.sqi);
    out.rate = grow(out.rate);
  }
  out.endSec[out.count] = endSec;
  out.sqi[out.count] = sqi;
  out.rate[out.count++] = rate;
}
