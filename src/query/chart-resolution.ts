/** Which buckets a chart has: as fine as the range and the number of points allow. */

/** A step in ms; or calendar units of the caller's time zone, whose days may have 23 or 25 hours. */
export type Resolution =
  | Readonly<{ name: string; kind: 'fixed'; stepMs: number }>
  | Readonly<{ name: string; kind: 'calendar'; unit: 'day' | 'week' | 'month'; approximateMs: number }>;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const fixed = (name: string, stepMs: number): Resolution => ({ name, kind: 'fixed', stepMs });

/** Ascending. Below a second only waveforms have them. */
export const resolutions: readonly Resolution[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => fixed(`${ms}ms`, ms)),
  ...[1, 2, 5, 10, 15, 30].map((s) => fixed(`${s}s`, s * second)),
  ...[1, 2, 5, 10, 15, 30].map((m) => fixed(`${m}m`, m * minute)),
  ...[1, 2, 3, 6, 12].map((h) => fixed(`${h}h`, h * hour)),
  { name: '1d', kind: 'calendar', unit: 'day', approximateMs: day },
  { name: '1w', kind: 'calendar', unit: 'week', approximateMs: 7 * day },
  { name: '1mo', kind: 'calendar', unit: 'month', approximateMs: 28 * day },
];

/** The finest of at least `stepMinMs` with at most maxPoints buckets in the range; the coarsest when none has so few.
 *  @param asked name of a resolution; taken unless it would give more than maxPoints */
export function chooseResolution(rangeMs: number, maxPoints: number, stepMinMs: number, asked: string | null): Resolution {
  const fits = (resolution: Resolution): boolean => {
    const step = lengthMs(resolution);
    // One bucket more than the range is long, because the range need not begin at a bucket's start.
    return step >= stepMinMs && Math.ceil(rangeMs / step) + 1 <= maxPoints;
  };
  const wanted = resolutions.find((resolution) => resolution.name === asked);
  if (wanted !== undefined && fits(wanted)) return wanted;
  const least = wanted === undefined ? 0 : lengthMs(wanted);
  return resolutions.find((resolution) => lengthMs(resolution) >= least && fits(resolution)) ?? resolutions.at(-1)!;
}

/** Shortest length of a bucket. */
export function lengthMs(resolution: Resolution): number {
  return resolution.kind === 'fixed' ? resolution.stepMs : resolution.approximateMs;
}
