/** Chooses the buckets of a chart: as fine as the range and the number of points allow. */

/** A step in ms; or calendar units of the caller's time zone, whose days may have 23 or 25 hours. */
export type Resolution =
  | Readonly<{ name: string; kind: 'fixed'; stepMs: number }>
  | Readonly<{ name: string; kind: 'calendar'; unit: 'day' | 'week' | 'month'; approximateMs: number }>;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const fixed = (name: string, stepMs: number): Resolution => ({ name, kind: 'fixed', stepMs });

/** Ascending. Steps below a second are for waveforms only. */
export const resolutions: readonly Resolution[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => fixed(`${ms}ms`, ms)),
  ...[1, 2, 5, 10, 15, 30].map((s) => fixed(`${s}s`, s * second)),
  ...[1, 2, 5, 10, 15, 30].map((m) => fixed(`${m}m`, m * minute)),
  ...[1, 2, 3, 6, 12].map((h) => fixed(`${h}h`, h * hour)),
  { name: '1d', kind: 'calendar', unit: 'day', approximateMs: day },
  { name: '1w', kind: 'calendar', unit: 'week', approximateMs: 7 * day },
  { name: '1mo', kind: 'calendar', unit: 'month', approximateMs: 28 * day },
];

/** Resolutions of at least `stepMinMs` with at most maxPoints buckets in the range, finest first; the coarsest when none qualifies.
 *  @param asked name of the finest resolution to use */
export function fittingResolutions(rangeMs: number, maxPoints: number, stepMinMs: number, asked: string | null): readonly Resolution[] {
  const wanted = resolutions.find((resolution) => resolution.name === asked);
  const leastMs = Math.max(stepMinMs, wanted === undefined ? 0 : lengthMs(wanted));
  const fitting = resolutions.filter((resolution) => {
    const step = lengthMs(resolution);
    // One bucket more, because the range need not begin at a bucket's start.
    return step >= leastMs && Math.ceil(rangeMs / step) + 1 <= maxPoints;
  });
  return fitting.length > 0 ? fitting : resolutions.slice(-1);
}

/** Shortest length of a bucket. */
export function lengthMs(resolution: Resolution): number {
  return resolution.kind === 'fixed' ? resolution.stepMs : resolution.approximateMs;
}
