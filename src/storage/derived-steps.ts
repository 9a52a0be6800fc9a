/** A step: beats and features of one stream that are written together. Which ranges are deleted first, and how a refused step is halved
 *  and set aside. */
import type { StreamId } from '../signal.ts';
import { halvesOf } from './store-or-set-aside.ts';
import type { Letter } from './set-aside.ts';

export type DerivedBeat = Readonly<{
  channelNo: number;
  /** ns of the device clock. */
  tNs: bigint;
  /** NaN after a gap. */
  ibiMs: number;
  kind: 'normal' | 'ectopic' | 'artefact' | 'interpolated';
  reason: string;
  /** Probability that its kind is right, 0 to 1; NaN: unknown. */
  confidence: number;
  quality: 0 | 1 | 2;
  /** e.g. `derived:r_peaks_v19`. */
  method: string;
}>;

export type DerivedFeature = Readonly<{
  feature: string;
  /** -1: of the whole stream. */
  channelNo: number;
  /** End of its window, ns of the device clock. */
  tNs: bigint;
  /** NaN: could not be computed. */
  value: number;
  qmask: 0 | 1 | 2;
  methodCode: string;
}>;

/** Rows of one stream; the FeatureOutput of src/dsp fits. */
export type DerivedRows = Readonly<{
  streamId: StreamId;
  beats: readonly DerivedBeat[];
  features: readonly DerivedFeature[];
  /** Delete the stream's rows of the current methods with fromNs <= tNs < toNs first. Device clock. */
  replaces: Readonly<{ fromNs: bigint; toNs: bigint }> | null;
}>;

/** Rows of one stream that wait to be written. */
export type Step = Readonly<{
  epochNs: bigint;
  rows: DerivedRows;
  /** What is open of the stream is over: nothing came for a while, or the writer ends. */
  completes: boolean;
  done: () => void;
}>;

/** Two parts to be written one after the other; null for one row, or a range without rows. */
export function halveSteps(steps: readonly Step[]): readonly [readonly Step[], readonly Step[]] | null {
  if (steps.length > 1) return halvesOf(steps);
  const [first, second] = steps.length === 1 ? halvesOfStep(steps[0]!) : [null, null];
  return first === null ? null : [[first], [second]];
}

/** The range is deleted with the first half, and in the end by itself: after a refused row the old rows must not remain among the new ones.
 *  @returns nulls for one row, or a range without rows */
function halvesOfStep(step: Step): readonly [Step, Step] | readonly [null, null] {
  const { beats, features } = step.rows;
  const rowCount = beats.length + features.length;
  if (rowCount === 1 && step.rows.replaces !== null)
    return [
      { ...step, rows: { ...step.rows, beats: [], features: [] } },
      { ...step, rows: { ...step.rows, replaces: null } },
    ];
  if (rowCount < 2) return [null, null];
  const both = beats.length > 0 && features.length > 0;
  const [firstBeats, secondBeats] = both ? [beats, []] : halvesOf(beats);
  const [firstFeatures, secondFeatures] = both ? [[], features] : halvesOf(features);
  return [
    { ...step, rows: { ...step.rows, beats: firstBeats, features: firstFeatures } },
    { ...step, rows: { ...step.rows, beats: secondBeats, features: secondFeatures, replaces: null } },
  ];
}

/** Separates the ranges of replacements from their rows. The ranges are deleted even if the rows are set aside, so that old rows do not
 *  remain among new ones. @returns null and all steps when there is nothing to separate */
export function rangesApart(steps: readonly Step[]): readonly [readonly Step[] | null, readonly Step[]] {
  const hasRows = ({ rows }: Step): boolean => rows.beats.length + rows.features.length > 0;
  const ranges = steps.filter((step) => step.rows.replaces !== null);
  if (!ranges.some(hasRows)) return [null, steps];
  return [
    ranges.map((step) => ({ ...step, rows: { ...step.rows, beats: [], features: [] } })),
    steps.filter(hasRows).map((step) => ({ ...step, rows: { ...step.rows, replaces: null } })),
  ];
}

/** One dead letter per step. */
export function lettersOfSteps(steps: readonly Step[], reason: Pick<Letter, 'reason' | 'sqlState'>): Letter[] {
  return steps.map(({ epochNs, rows }): Letter => {
    const { streamId, ...content } = rows;
    return { ...reason, bytes: null, kind: 'derived', streamId, logPosition: null, content: { epochNs, ...content } };
  });
}
