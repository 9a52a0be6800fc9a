/** Coefficient of sample entropy (Lake & Moorman 2011, doi:10.1152/ajpheart.00561.2010): m = 1, r from 30 ms on, as published. */
const toleranceSec = 0.03;
/** Pairs of successions alike, at least: the tolerance grows until there are so many, as the paper has it for short recordings. */
const pairsMin = 5;
const toleranceStepSec = 0.005;
const toleranceMaxSec = 1;
const intervalsMin = 8;

/** Coefficient of sample entropy of intervals in s: ln(pairs of neighbours alike / pairs of successions alike) + ln(2 r / mean interval).
 *  @returns NaN for fewer than 8 intervals */
export function sampleEntropyCoefficient(rrSec: readonly number[]): number {
  const n = rrSec.length;
  if (n < intervalsMin) return Number.NaN;
  const mean = rrSec.reduce((a, b) => a + b, 0) / n;
  for (let r = toleranceSec; r <= toleranceMaxSec; r += toleranceStepSec) {
    const [one, two] = pairsAlike(rrSec, r);
    if (two >= pairsMin) return Math.log(one / two) + Math.log((2 * r) / mean);
  }
  return Number.NaN;
}

function pairsAlike(rrSec: readonly number[], r: number): [one: number, two: number] {
  let one = 0;
  let two = 0;
  for (let i = 0; i + 1 < rrSec.length; i++)
    for (let j = i + 1; j + 1 < rrSec.length; j++) {
      if (Math.abs(rrSec[i]! - rrSec[j]!) > r) continue;
      one++;
      if (Math.abs(rrSec[i + 1]! - rrSec[j + 1]!) <= r) two++;
    }
  return [one, two];
}
