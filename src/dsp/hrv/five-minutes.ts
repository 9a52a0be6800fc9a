/** The values of variability that come once in five minutes. */
import { fiveMinuteMethods } from '../rows/methods-five-minutes.ts';
import { dfaAlpha1, sampleEntropy } from './complexity.ts';
import type { Method } from '../rows/methods.ts';
import { bandPowers } from './frequency.ts';
import { geometry, stressIndex } from './geometric.ts';
import type { NnWindow, TimeDomain } from './time-domain.ts';

/** @param endSec ends of the intervals, s  @param time of the same window
 *  @returns in the order of `fiveMinuteMethods`; NaN for what the window does not give */
export function fiveMinuteValues(nn: NnWindow, endSec: Float64Array, time: TimeDomain): number[] {
  const { triangularIndex, tinnMs } = geometry(nn);
  const [{ windowSec, coverageMin }] = fiveMinuteMethods as [Method];
  const { vlfMs2, lfMs2, hfMs2 } = bandPowers(endSec, nn.nnMs, nn.count, coverageMin * windowSec);
  const percentOf = 100 / (lfMs2 + hfMs2);
  return [
    shareAbove(nn, 20),
    time.sd1Ms / time.sd2Ms,
    triangularIndex,
    tinnMs,
    stressIndex(nn),
    dfaAlpha1(nn),
    sampleEntropy(nn, time.sdnnMs),
    vlfMs2,
    vlfMs2 + lfMs2 + hfMs2,
    lfMs2 * percentOf,
    hfMs2 * percentOf,
  ].map((value) => (Number.isFinite(value) ? value : Number.NaN));
}

/** Values of the histogram do not hang on single differences. */
const ofSpread = new Set(['hrv_triangular_300s', 'hrv_tinn_300s', 'hrv_stress_index_300s']);

const ofPower = /_(vlf|total_power|lf_nu|hf_nu)_/;

/** Where the value's doubts come from: the spread of the intervals, their spectrum, or else their differences. In the order of
 *  `fiveMinuteMethods`. */
export const doubtOf: readonly ('pairs' | 'spread' | 'power')[] = fiveMinuteMethods.map(({ feature }) =>
  ofSpread.has(feature) ? 'spread' : ofPower.test(feature) ? 'power' : 'pairs',
);

/** Does the longest or the shortest interval alone change the value? In the order of `fiveMinuteMethods`. */
export const hangsOnExtremes: readonly boolean[] = fiveMinuteMethods.map(({ feature }) => feature === 'hrv_stress_index_300s');

/** Share of differences of adjacent intervals above a limit. */
function shareAbove({ count, nnMs, adjacent }: NnWindow, limitMs: number): number {
  let pairs = 0;
  let above = 0;
  for (let i = 1; i < count; i++) {
    if (adjacent[i] === 0) continue;
    pairs++;
    if (Math.abs(nnMs[i]! - nnMs[i - 1]!) > limitMs) above++;
  }
  return above / pairs;
}
