/** The growable columns of found beats. */

import { arenaDoubles } from './arena.ts';
import { grown } from './grown.ts';
import type { FoundBeats, ShapedBeats } from './contract.ts';

/** Empty columns for a detector to append to. */
export function noBeats(capacity = 16): FoundBeats {
  return { count: 0, position: arenaDoubles(capacity), confidence: arenaDoubles(capacity) };
}

/** Appends one beat, growing the columns by half when they are full. */
export function appendBeat(out: FoundBeats, position: number, confidence: number): void {
  if (out.count === out.position.length) {
    const size = Math.max(16, out.count + (out.count >> 1));
    out.position = grown(out.position, new Float64Array(size));
    out.confidence = grown(out.confidence, new Float64Array(size));
  }
  out.position[out.count] = position;
  out.confidence[out.count] = confidence;
  out.count++;
}

export function noShapedBeats(capacity = 16): ShapedBeats {
  return {
    ...noBeats(capacity),
    ventricular: new Float64Array(capacity),
    supraventricular: new Float64Array(capacity),
    pLikeness: new Float64Array(capacity),
    beforeRest: new Float64Array(capacity),
    widthMs: new Float64Array(capacity),
    shiftMs: new Float64Array(capacity),
  };
}

export function appendShapedBeat(
  out: ShapedBeats,
  position: number,
  confidence: number,
  { ventricular, supraventricular }: Readonly<{ ventricular: number; supraventricular: number }>,
  pLikeness: number,
  beforeRest: number,
  widthMs: number,
  shiftMs: number,
): void {
  appendBeat(out, position, confidence);
  const { length } = out.position;
  if (out.ventricular.length < length) {
    out.ventricular = grown(out.ventricular, new Float64Array(length));
    out.supraventricular = grown(out.supraventricular, new Float64Array(length));
    out.pLikeness = grown(out.pLikeness, new Float64Array(length));
    out.beforeRest = grown(out.beforeRest, new Float64Array(length));
    out.widthMs = grown(out.widthMs, new Float64Array(length));
    out.shiftMs = grown(out.shiftMs, new Float64Array(length));
  }
  out.ventricular[out.count - 1] = ventricular;
  out.supraventricular[out.count - 1] = supraventricular;
  out.pLikeness[out.count - 1] = pLikeness;
  out.beforeRest[out.count - 1] = beforeRest;
  out.widthMs[out.count - 1] = widthMs;
  out.shiftMs[out.count - 1] = shiftMs;
}
