/** Where the newest data of a chart are, however long ago. */
import type { ChartRequest, Series } from '../../shared/data.ts';
import { addDays, startOfDay } from '../../shared/days.ts';
import type { View } from '../plot.ts';

const DAY_MS = 864e5;
/** The service refuses more than 3660 days. */
const DAYS_MAX = 3650;
/** Looked through, too: a device's clock may be ahead, mostly by hours. */
const AHEAD_DAYS = 9;

/** At least as long is what is shown of a few values. */
const SHOWN_MS_MIN = 5 * 60_000;

/** From the first to the last bucket with a value of any of the series, of a period that ends with the newest, to a minute; null: there is
 *  none in ten years. Two requests: days of UTC are stored, so ten years of them are read from as many rows as there are days with data;
 *  then the minutes of two days. Of a longer period the beginning is that of a day.
 *  @param lengthMs of the period */
export async function newestStretch(
  ask: (request: ChartRequest) => Promise<readonly Series[]>,
  series: readonly string[],
  lengthMs: number,
): Promise<View | null> {
  /** Beginnings of the buckets that have a value, Unix ms. */
  const buckets = async (toMs: number, days: number, resolution: '1d' | '1m'): Promise<number[]> => {
    const found = await ask({ series, toMs, rangeMs: days * DAY_MS, resolution, maxPoints: 4000, tz: 'UTC' });
    return (found[0]?.timesMs ?? []).filter((_, row) => found.some(({ values }) => (values[row] ?? null) !== null));
  };
  const days = await buckets((Math.ceil(Date.now() / DAY_MS) + AHEAD_DAYS) * DAY_MS, DAYS_MAX + AHEAD_DAYS, '1d');
  const dayMs = days.at(-1);
  if (dayMs === undefined) return null;
  const minutes = await buckets(dayMs + DAY_MS, 2, '1m');
  const newestMs = minutes.at(-1);
  const toMs = newestMs === undefined ? dayMs + DAY_MS : newestMs + 60_000;
  const sinceMs = toMs - lengthMs;
  const firstDayMs = days.find((ms) => ms + DAY_MS > sinceMs) ?? dayMs;
  const firstMs = firstDayMs < dayMs - DAY_MS ? firstDayMs : (minutes.find((ms) => ms >= sinceMs) ?? firstDayMs);
  return { fromMs: Math.max(sinceMs, Math.min(firstMs, toMs - SHOWN_MS_MIN)), toMs };
}

/** Where days are shown: as many whole days as before, with the newest data at their end. */
export function daysEndingWith({ fromMs, toMs }: View, endMs: number, timeZone: string | undefined): View {
  const end = addDays(startOfDay(endMs - 1, timeZone), 1, timeZone);
  return { fromMs: addDays(end, -Math.round((toMs - fromMs) / DAY_MS), timeZone), toMs: end };
}
