/** Of the buckets of a chart: their usual distance, and when one is whole. */

/** Below this share of good values a bucket says so. */
export const WHOLE = 0.99;

/** @param timesMs ascending  @returns the usual distance, ms */
export function medianStep(timesMs: readonly number[]): number {
  const steps = timesMs.slice(1).map((time, i) => time - timesMs[i]!);
  steps.sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 60_000;
}
