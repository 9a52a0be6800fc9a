/** Rest and nights of the last days of a range: what the service works out for a day, as a table. */
import type { Answer } from '../../../sdk/request.ts';
import { addDays, startOfDay, wallTime } from '../../shared/days.ts';
import type { Session } from '../../shared/session.ts';
import type { View } from '../plot.ts';

export type Night = Answer<'getDayVariability'>[number];

/** Each day is a request of its own. */
export const NIGHTS_MAX = 14;
const AT_ONCE = 4;

/** Dates of the days that the range touches, the last ones, ascending. */
export function datesOf({ fromMs, toMs }: View, timeZone: string | undefined, max = NIGHTS_MAX): string[] {
  const dates: string[] = [];
  for (let day = startOfDay(toMs - 1, timeZone); day > fromMs - 864e5 && dates.length < max; day = addDays(day, -1, timeZone)) {
    if (addDays(day, 1, timeZone) > fromMs) dates.push(new Date(wallTime(day, timeZone)).toISOString().slice(0, 10));
  }
  return dates.toReversed();
}

/** @param tz days are of this zone; undefined: the person's */
export async function readNights(
  session: Pick<Session, 'get' | 'identity'>,
  dates: readonly string[],
  tz: string | undefined,
): Promise<Night[]> {
  const { subjectId } = await session.identity();
  const nights: Night[] = [];
  for (let i = 0; i < dates.length; i += AT_ONCE) {
    const asked = dates
      .slice(i, i + AT_ONCE)
      .map((date) => session.get('/api/v1/day-variability', { query: { subject_id: subjectId, date, ...(tz !== undefined && { tz }) } }));
    nights.push(...(await Promise.all(asked)).flat());
  }
  return nights;
}
