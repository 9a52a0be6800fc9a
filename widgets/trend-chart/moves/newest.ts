/** Where the newest data of a chart are, however long ago. */
import type { ChartRequest, Series } from '../../shared/data.ts';
import { addDays, startOfDay } from '../../shared/days.ts';
import type { Shown } from '../moves-host.ts';
import type { View } from '../plot.ts';

const DAY_MS = 864e5;
/** The service refuses more than 3660 days. */
const DAYS_MAX = 3650;

/** The end of the newest bucket with a value of any of the series, to a minute, Unix ms; null: there is none in ten years. Two requests:
 *  days of UTC are stored, so ten years of them are read from as many rows as there are days with data; then the minutes of one day. */
export async function newestEnd(
  ask: (request: ChartRequest) => Promise<readonly Series[]>,
  series: readonly string[],
): Promise<number | null> {
  const last = async (toMs: number, days: number, resolution: '1d' | '1m'): Promise<number | null> => {
    const found = await ask({ series, toMs, rangeMs: days * DAY_MS, resolution, maxPoints: 4000, tz: 'UTC' });
    const rows = found.map(({ values }) => values.findLastIndex((value) => value !== null));
    return found[0]?.timesMs[Math.max(-1, ...rows)] ?? null;
  };
  const dayMs = await last(Math.ceil(Date.now() / DAY_MS) * DAY_MS, DAYS_MAX, '1d');
  if (dayMs === null) return null;
  const minuteMs = await last(dayMs + DAY_MS, 1, '1m');
  return minuteMs === null ? dayMs + DAY_MS : minuteMs + 60_000;
}

/** As long a period as was shown, with the newest data at its end; where days are shown, whole days. */
export function endingWith(
  { fromMs, toMs, daily }: Pick<Shown, 'fromMs' | 'toMs' | 'daily'>,
  endMs: number,
  timeZone: string | undefined,
): View {
  if (!daily) return { fromMs: endMs - (toMs - fromMs), toMs: endMs };
  const end = addDays(startOfDay(endMs - 1, timeZone), 1, timeZone);
  return { fromMs: addDays(end, -Math.round((toMs - fromMs) / DAY_MS), timeZone), toMs: end };
}
