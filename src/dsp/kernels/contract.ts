/** Contract of every streaming kernel in src/dsp: fed in order, cut anywhere, a pure function of the samples since its reset. */

/** Beats found so far, as parallel growable columns; positions ascend. The engine drains it after every push. */
export type FoundBeats = {
  count: number;
  /** Fractional sample index since reset (sub-sample refined); length >= count. */
  position: Float64Array;
  /** Beat SQI 0..1 as the detector sees it; length >= count. */
  confidence: Float64Array;
};

/** Beats whose shape was looked at, as columns. */
export type ShapedBeats = FoundBeats & {
  /** What the shape says for a ventricular and for a supraventricular origin, as parts of a logit; NaN: nothing. The first alone NaN: it is
   *  of a rhythm that may be ventricular. length >= count. */
  ventricular: Float64Array;
  supraventricular: Float64Array;
  /** How alike what stands before the beat is to what stands before the usual one, -1..1; NaN: unknown; length >= count. */
  pLikeness: Float64Array;
  /** How much of what stands before the beat is not what stands before beats of its shape, where that was seen twice, before the usual
   *  one, or before one of the last three: logarithm of its size over that of the QRS complex; NaN: unknown; length >= count. */
  beforeRest: Float64Array;
  /** Area over height of the QRS complex of its shape, of its own where that is not known, ms; NaN: unknown; length >= count. */
  widthMs: Float64Array;
  /** How far after its position the usual beat fits best, ms; NaN: it does not. length >= count. */
  shiftMs: Float64Array;
};

/** Finds beats in one channel (or several fused leads of one rate).
 *  push(a); push(b) finds exactly what push(a ++ b) finds. NaN marks a missing sample; bad data never throws. */
export interface BeatDetector {
  /** A beat at position p has been emitted once sample p + latencySec * fs was pushed; beats are final when emitted. */
  readonly latencySec: number;
  reset(): void;
  /** @param leads one Float64Array per lead, physical units, any scale; rows [from, to) are new  @param out appended to */
  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void;
  /** The data ends here: emit what is still undecided. */
  flush(out: FoundBeats): void;
}
