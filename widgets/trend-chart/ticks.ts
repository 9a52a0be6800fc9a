/** Ticks of a time axis, on the clocks of a zone: whole seconds to years. */
import { atWallTime, wallTime } from '../shared/days.ts';
import { zoneIfTwice } from '../shared/zoned-time.ts';

const DAY = 86_400;
const WEEK = 7 * DAY;
/** On average; ticks of months stand on their first days. */
const MONTH = 2_629_800;
/** The first Monday of Unix time. */
const MONDAY = 4 * DAY;

/** Distances of ticks, s. */
export const daySteps: readonly number[] = [DAY, 2 * DAY, WEEK, 2 * WEEK, MONTH, 3 * MONTH, 12 * MONTH, 60 * MONTH];
const clockSteps: readonly number[] = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200];
export const timeSteps: readonly number[] = [...clockSteps, ...daySteps];

/** Whole minutes to days are those of the clock: in a zone of +05:45 too, and when the clocks change; weeks begin on Monday. None at the
 *  very end, where its label would be cut.  @returns times, s */
export function timeSplits(fromSec: number, toSec: number, stepSec: number, timeZone: string | undefined): number[] {
  const splits: number[] = [];
  const wall = (sec: number): number => wallTime(sec * 1000, timeZone) / 1000;
  const byClock = stepSec >= 3600;
  // Below an hour in steps of time, for an hour that the clocks show twice; from where the clocks show a whole one.
  const first = stepSec % WEEK === 0 ? MONDAY : byClock ? 0 : fromSec - wall(fromSec);
  const start = byClock ? wall(fromSec) : fromSec;
  // An hour more, for a day of 25.
  const end = byClock ? wall(toSec) + 3600 : toSec;
  const months = Math.round(stepSec / MONTH);
  const place = (n: number): number => (months > 0 ? Date.UTC(1970, n * months) / 1000 : first + n * stepSec);
  for (let n = Math.floor((start - first) / stepSec) - 1; place(n) <= end; n++) {
    const sec = byClock ? atWallTime(place(n) * 1000, timeZone) / 1000 : place(n);
    // An hour that the clocks skip has no tick: it would lie on the next. A day has one even if it begins at 1:00.
    const isShown = !byClock || stepSec >= DAY || wall(sec) === place(n);
    if (isShown && sec >= fromSec && sec < toSec && sec > (splits.at(-1) ?? -Infinity)) splits.push(sec);
  }
  return splits;
}

/** What stands below a tick. Where the clocks show an hour twice, the first tick of each says which it is.
 *  @param spanMs of the axis: where there is more than half a day of it, a midnight is told by its date */
export function tickTexts(
  splits: readonly number[],
  stepSec: number,
  spanMs: number,
  locale: string,
  timeZone: string | undefined,
  hourCycle?: 'h23',
): string[] {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, { timeZone, ...options });
  const day = format({ day: 'numeric', month: 'short' });
  const of =
    stepSec >= 12 * MONTH
      ? format({ year: 'numeric' })
      : stepSec >= MONTH
        ? format({ month: 'short', year: 'numeric' })
        : stepSec >= DAY
          ? day
          : format({ timeStyle: stepSec < 60 ? 'medium' : 'short', hourCycle });
  let saidZone = '';
  return splits.map((sec) => {
    const timeMs = sec * 1000;
    const zone = stepSec < DAY ? zoneIfTwice(locale, timeMs, timeZone) : '';
    const newZone = zone === saidZone ? '' : zone;
    saidZone = zone;
    const isMidnight = spanMs > 432e5 && stepSec < DAY && wallTime(timeMs, timeZone) % 864e5 === 0;
    return (isMidnight ? day : of).format(timeMs) + newZone;
  });
}
