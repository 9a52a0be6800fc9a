/** Times of which the clocks alone do not say enough: where they are put back, an hour comes twice. */
import { wallTime } from './days.ts';
import { formatTime, zoneName } from './format.ts';

const HOUR_MS = 36e5;

/** Whether the clocks change in a range, or so near to it that they show a time of it twice. */
export function clocksChange(fromMs: number, toMs: number, timeZone: string | undefined): boolean {
  const [from, to] = [fromMs - HOUR_MS, toMs + HOUR_MS];
  return Math.abs(wallTime(to, timeZone) - wallTime(from, timeZone) - (to - from)) > 1;
}

/** What tells apart the two times at which the clocks show the same: ` CEST` and ` CET`; '' where they show it once. */
export function zoneIfTwice(locale: string, timeMs: number, timeZone: string | undefined): string {
  const wall = wallTime(timeMs, timeZone);
  const isTwice = [HOUR_MS, -HOUR_MS].some((ms) => wallTime(timeMs + ms, timeZone) === wall);
  return isTwice ? ` ${zoneName(locale, timeMs, timeZone)}` : '';
}

/** As formatTime; with the abbreviation of the zone where the clocks change in the range of which it is a time. */
export function zonedTime(
  locale: string,
  timeMs: number,
  timeZone: string | undefined,
  style: 'date' | 'full' | 'seconds' = 'full',
  fromMs = timeMs,
  toMs = timeMs,
): string {
  return formatTime(locale, timeMs, timeZone, style, clocksChange(fromMs, toMs, timeZone));
}
