/** Time-domain heart rate variability of one window of NN intervals. */

/** NN intervals of one window, ascending in time; `adjacent[i]` = 1 when interval i follows interval i-1 with one beat between them
 *  (no rejected interval and no gap): only such pairs have a difference. Length >= count. */
export type NnWindow = { count: number; nnMs: Float64Array; adjacent: Uint8Array };

export type TimeDomain = {
  /** NN intervals used. */
  nnCount: number;
  /** Pairs of adjacent NN intervals used. */
  pairCount: number;
  meanNnMs: number;
  /** Standard deviation, divisor n - 1. */
  sdnnMs: number;
  rmssdMs: number;
  /** Share (0..1) of differences above 50 ms; divisor = number of differences, as published (not number of intervals). */
  pnn50: number;
  /** Poincaré width and length: SD1 = SDSD / sqrt 2, SD2 = sqrt(2 SDNN^2 - SDSD^2 / 2); SDSD has divisor n - 1
   *  (Brennan, Palaniswami & Kamen 2001, doi:10.1109/10.959330). */
  sd1Ms: number;
  sd2Ms: number;
};

/** Mean NN, SDNN, RMSSD, pNN50, SD1 and SD2 by the definitions of the Task Force 1996 (doi:10.1161/01.CIR.93.5.1043), two passes.
 *  @returns NaN for what needs more intervals or pairs than there are (SDNN: 2 intervals; RMSSD, pNN50: 1 pair; SD1, SD2: 2 pairs) */
export function timeDomain({ count, nnMs, adjacent }: NnWindow): TimeDomain {
  let sum = 0;
  let pairCount = 0;
  let squares = 0;
  let differences = 0;
  let over50 = 0;
  for (let i = 0; i < count; i++) {
    sum += nnMs[i]!;
    if (i === 0 || adjacent[i] === 0) continue;
    const d = nnMs[i]! - nnMs[i - 1]!;
    pairCount++;
    squares += d * d;
    differences += d;
    if (Math.abs(d) > 50) over50++;
  }
  const meanNnMs = sum / count;
  const meanDifference = differences / pairCount;
  let spread = 0;
  let differenceSpread = 0;
  for (let i = 0; i < count; i++) {
    const x = nnMs[i]! - meanNnMs;
    spread += x * x;
    if (i === 0 || adjacent[i] === 0) continue;
    const d = nnMs[i]! - nnMs[i - 1]! - meanDifference;
    differenceSpread += d * d;
  }
  const sdnnMs = count > 1 ? Math.sqrt(spread / (count - 1)) : Number.NaN;
  const sdsdMs = pairCount > 1 ? Math.sqrt(differenceSpread / (pairCount - 1)) : Number.NaN;
  return {
    nnCount: count,
    pairCount,
    meanNnMs,
    sdnnMs,
    rmssdMs: Math.sqrt(squares / pairCount), // of no pair 0 / 0, NaN
    pnn50: over50 / pairCount,
    sd1Ms: sdsdMs / Math.SQRT2,
    sd2Ms: Math.sqrt(Math.max(0, 2 * sdnnMs * sdnnMs - (sdsdMs * sdsdMs) / 2)),
  };
}
