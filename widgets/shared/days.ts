/** Days on the clocks of a time zone: they have 23, 24 or 25 hours. */

const clocks = new Map<string, Intl.DateTimeFormat>();

/** What the clocks show at a time, as the ms at which clocks of UTC show the same.
 *  @param timeZone IANA; undefined: the browser's */
export function wallTime(timeMs: number, timeZone: string | undefined): number {
  const key = `${timeZone}`;
  let clock = clocks.get(key);
  if (clock === undefined) clocks.set(key, (clock = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' })));
  return Date.parse(`${clock.format(timeMs).replace(' ', 'T')}Z`) + (((timeMs % 1000) + 1000) % 1000);
}

/** When the clocks show this: the first time, where they show it twice; where they skip it, as much later as they were put forward. */
export function atWallTime(wallMs: number, timeZone: string | undefined): number {
  const [before, after] = [-864e5, 864e5].map((ms) => wallMs + wallMs + ms - wallTime(wallMs + ms, timeZone)) as [number, number];
  return wallTime(before, timeZone) !== wallMs && wallTime(after, timeZone) === wallMs ? after : before;
}

/** The same time of the clock, days later. */
export function addDays(timeMs: number, days: number, timeZone: string | undefined): number {
  return atWallTime(wallTime(timeMs, timeZone) + days * 864e5, timeZone);
}

export function startOfDay(timeMs: number, timeZone: string | undefined): number {
  return atWallTime(Math.floor(wallTime(timeMs, timeZone) / 864e5) * 864e5, timeZone);
}
