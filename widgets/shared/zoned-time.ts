/** Times of which the clocks alone do not say enough: where they are put back, an hour comes twice. */
import { wallTime } from './days.ts';
import { formatTime } from './format.ts';

const HOUR_MS = 36e5;

/** Whether the clocks change in a range, or so near to it that they show a time of it twice. */
export function clocksChange(fromMs: number, toMs: number, timeZone: string | undefined): boolean {
  const [from, to] = [fromMs - HOUR_MS, toMs + HOUR_MS];
  return Math.abs(wallTime(to, timeZone) - wallTime(from, timeZone) - (to - from)) > 1;
}

/** As formatTime; with the abbreviation of the zone, as the viewer of a recording has it, where the clocks change in the range of which it
 *  is a time. */
export function zonedTime(
  locale: string,
  timeMs: number,
  timeZone: string | undefined,
  style: 'date' | 'full' | 'seconds' = 'full',
  fromMs = timeMs,
  toMs = timeMs,
): string {
  if (style === 'date' || !clocksChange(fromMs, toMs, timeZone)) return formatTime(locale, timeMs, timeZone, style);
  return new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(style === 'seconds' && { second: '2-digit' }),
    timeZoneName: 'short',
    timeZone,
  }).format(timeMs);
}
