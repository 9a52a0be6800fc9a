/** The recordings of a person on the days of their clocks: what of each lies in a day, side by side where they overlap, what is between
 *  them, and how the heart rate of the day is drawn. Times are Unix ms. */
import type { Answer } from '../sdk/request.ts';
import { atWallTime, startOfDay, wallTime } from '../widgets/shared/days.ts';

/** A recording, as long as it is known. */
export type Recorded = Readonly<{ id: string; fromMs: number; toMs: number }>;
/** @param date as in an address: 2026-03-29 */
export type Day = Readonly<{ date: string; startMs: number; endMs: number }>;
/** The part of a recording that lies in a day. @param lane 0 is the first */
export type Bar<Of extends Recorded> = Readonly<{
  of: Of;
  fromMs: number;
  toMs: number;
  lane: number;
  /** Where its name stands. */
  name: 'in' | 'after' | 'before';
}>;
/** Heart rate of a stretch. @param covered share of it with values, 0 to 1 @param flag 0 good, 1 suspect, 2 bad */
export type Cell = Readonly<{ fromMs: number; toMs: number; rate: number | null; covered: number; flag: 0 | 1 | 2 }>;

export const dateAt = (timeMs: number, zone: string | undefined): string => new Date(wallTime(timeMs, zone)).toISOString().slice(0, 10);

/** Midnight of a date on the clocks of a zone. */
export const midnight = (date: string, zone: string | undefined): number => atWallTime(Date.parse(`${date}T00:00:00Z`), zone);

/** @param from @param to dates, both among the days */
export function daysOf(from: string, to: string, zone: string | undefined): Day[] {
  const days: Day[] = [];
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += 864e5) {
    const [date, next] = [ms, ms + 864e5].map((one) => new Date(one).toISOString().slice(0, 10)) as [string, string];
    days.push({ date, startMs: midnight(date, zone), endMs: midnight(next, zone) });
  }
  return days;
}

/** @param days how many later; earlier where negative */
export const shifted = (date: string, days: number): string => new Date(Date.parse(date) + days * 864e5).toISOString().slice(0, 10);

/** Each recording in the first lane that is free, with its name in it, or after it, or before it at the end of the day.
 *  @param recordings by their beginning  @param nameMs as long as its name is on the picture; 0: it is left out where it is too long */
export function barsIn<Of extends Recorded>(
  { startMs, endMs }: Day,
  recordings: readonly Of[],
  nameMs: (of: Of) => number = () => 0,
): Bar<Of>[] {
  const freeFrom: number[] = [];
  return recordings
    .filter(({ fromMs, toMs }) => fromMs < endMs && toMs > startMs)
    .map((of) => {
      const [fromMs, toMs] = [Math.max(startMs, of.fromMs), Math.min(endMs, of.toMs)];
      const long = nameMs(of);
      const name = long <= toMs - fromMs ? 'in' : toMs + long <= endMs ? 'after' : 'before';
      const free = freeFrom.findIndex((ms) => ms <= (name === 'before' ? fromMs - long : fromMs));
      const lane = free === -1 ? freeFrom.length : free;
      freeFrom[lane] = name === 'after' ? toMs + long : toMs;
      return { of, fromMs, toMs, lane, name };
    });
}

/** How long at least one was recorded, and what is between the first and the last of them. @param spans by their beginning */
export function coverOf(spans: readonly Readonly<{ fromMs: number; toMs: number }>[]): { recordedMs: number; gapsMs: number[] } {
  let [recordedMs, reachedMs] = [0, -Infinity];
  const gapsMs: number[] = [];
  for (const { fromMs, toMs } of spans) {
    if (Number.isFinite(reachedMs) && fromMs > reachedMs) gapsMs.push(fromMs - reachedMs);
    recordedMs += Math.max(0, toMs - Math.max(fromMs, reachedMs));
    reachedMs = Math.max(reachedMs, toMs);
  }
  return { recordedMs, gapsMs };
}

/** When the clocks of a day show 6, 12 and 18 h: on a day of 23 or 25 hours these are not quarters. */
export function ticksOf({ startMs }: Day, zone: string | undefined): readonly Readonly<{ hour: number; timeMs: number }>[] {
  const wall = wallTime(startOfDay(startMs, zone), zone);
  return [6, 12, 18].map((hour) => ({ hour, timeMs: atWallTime(wall + hour * 36e5, zone) }));
}

/** What was received of a stretch. @param share of it with samples, 0 to 1 */
export type Received = Readonly<{ fromMs: number; toMs: number; share: number }>;

/** What of a recording was received, by the samples of a channel: stretches of one share as one. */
export function receivedOf({ t0_ns: t0, step_ms: stepMs, rate_hz: rateHz, n }: Answer<'getOverview'>[number], of: Recorded): Received[] {
  const found: Received[] = [];
  for (const [i, count] of n.entries()) {
    const bucketMs = t0 / 1e6 + i * stepMs;
    const [fromMs, toMs] = [Math.max(of.fromMs, bucketMs), Math.min(of.toMs, bucketMs + stepMs)];
    if (count === 0 || toMs <= fromMs) continue;
    // To a twentieth: a picture of a row shows no more, and a day of whole minutes is one stretch.
    const share = Math.min(1, Math.round((20_000 * count) / (rateHz * (toMs - fromMs))) / 20);
    const before = found.at(-1);
    if (before !== undefined && before.toMs === fromMs && before.share === share) found[found.length - 1] = { ...before, toMs };
    else found.push({ fromMs, toMs, share });
  }
  return found;
}

type Chart = Answer<'queryChart'>;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

/** Of a resolution such as 5m, ms. */
export const stepOf = (resolution: string): number => Number(/^\d+/.exec(resolution)?.[0] ?? 1) * (UNIT_MS[resolution.at(-1)!] ?? 36e5);

/** A chart of heart rate from ECG and from pulse waves, with detail: from ECG where it has a value. */
export function cellsOf({ data, qmask, detail, resolution }: Chart): Cell[] {
  const stepMs = stepOf(resolution);
  return data.flatMap(([ts, ...rates], i) => {
    const has = (column: number): boolean => (detail?.n[i]?.[column] ?? 0) > 0;
    const column = rates.findIndex((_, at) => has(at) && rates[at] !== null);
    const known = column === -1 ? rates.findIndex((_, at) => has(at)) : column;
    if (ts === null || ts === undefined || known === -1) return [];
    const [n, good, expected] = [detail?.n[i]?.[known] ?? 0, detail?.good_n[i]?.[known] ?? 0, detail?.expected_n[i]?.[known] ?? null];
    const covered = expected === null || expected === 0 ? 1 : Math.min(1, n / expected);
    const flag = good >= n / 2 ? 0 : (Math.max(1, qmask[i]?.[known] ?? 2) as 1 | 2);
    return [{ fromMs: ts, toMs: ts + stepMs, rate: rates[known] ?? null, covered, flag }];
  });
}

/** The parts of cells that lie in recordings, each as high as what of it was received: a cell may be longer than a recording.
 *  @param spans by their beginning */
export function cellsWithin(cells: readonly Cell[], spans: readonly Readonly<{ fromMs: number; toMs: number }>[]): Cell[] {
  return cells.flatMap((cell) => {
    const parts: { fromMs: number; toMs: number }[] = [];
    let reachedMs = cell.fromMs;
    for (const span of spans) {
      const [fromMs, toMs] = [Math.max(reachedMs, span.fromMs), Math.min(cell.toMs, span.toMs)];
      if (toMs <= fromMs) continue;
      parts.push({ fromMs, toMs });
      reachedMs = toMs;
    }
    const recordedMs = parts.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    const covered = Math.min(1, (cell.covered * (cell.toMs - cell.fromMs)) / recordedMs);
    return parts.map((part) => ({ ...cell, ...part, covered }));
  });
}

/** Lines of heart rate of a day as points of an SVG of 1000 by 100; a stretch without values ends one.
 *  @param low @param high of the scale, per minute */
export function linesOf({ startMs, endMs }: Day, cells: readonly Cell[], low: number, high: number): string[] {
  const lines: string[] = [];
  let endedMs = NaN;
  for (const { fromMs, toMs, rate } of cells) {
    if (fromMs >= endMs || toMs <= startMs || rate === null) continue;
    const x = (1000 * ((fromMs + toMs) / 2 - startMs)) / (endMs - startMs);
    const y = 100 - (100 * (rate - low)) / Math.max(1, high - low);
    const point = `${x.toFixed(1)},${y.toFixed(1)}`;
    if (fromMs === endedMs) lines[lines.length - 1] += ` ${point}`;
    else lines.push(point);
    endedMs = toMs;
  }
  // One alone is a dash as wide as a cell: a line of one point is not drawn.
  return lines.map((line) => (line.includes(' ') ? line : `${line} ${Number(line.split(',')[0]) + 2},${line.split(',')[1]}`));
}
