/** One word for the end of a trace: how far the last two seconds can be trusted. */
import type { TraceRing } from './trace-ring.ts';

const WINDOW_MS = 2000;
const SAMPLES_MIN = 4;
/** Of 60 Hz and more, as ECG and pulse waves have: one that stays on one value is an electrode that is off, whatever its device says. */
const FLAT_MIN = 120;

/** 2, bad, when less than half is usable, or nothing moves that ought to; 1, suspect, when a tenth is not good; else 0.
 *  @param endMs unix time in ms of the end */
export function traceQuality(ring: TraceRing, endMs: number): number {
  let notGood = 0;
  let bad = 0;
  let count = 0;
  let moves = 0;
  // Of a channel of 1 Hz the last few samples count: two seconds may hold none.
  const from = Math.min(ring.indexAt(endMs - WINDOW_MS), ring.end - SAMPLES_MIN);
  for (let i = Math.max(ring.start, from); i < ring.end; i++) {
    count++;
    const flag = ring.flag(i);
    if (flag >= 1) notGood++;
    if (flag >= 2) bad++;
    if (ring.value(i) !== ring.value(i - 1)) moves++;
  }
  if ((count > FLAT_MIN && moves < 2) || bad * 2 > count || count === 0) return 2;
  return notGood * 10 > count ? 1 : 0;
}
