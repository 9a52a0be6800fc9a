/** Times and dates of requests: RFC 3339, of the years in which recordings can be. Narrower than RFC 3339, because PostgreSQL, Date.parse
 *  and nanoseconds in 64 bits (1677 to 2262) must all take what passes: no year 0, no 60th second, no time zone name in brackets. */
import { Format } from 'typebox/format';
import { unixNowMs } from '../unix-clock.ts';

export const TIME_RULE = 'must be a time of RFC 3339 from 1900 to 2199 in UTC, with Z or an offset of at most 14 hours, to the nanosecond';
export const DATE_RULE = 'must be a date YYYY-MM-DD from 1900 to 2199';

const timePattern = /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)$/;
const datePattern = /^(19|2[01])\d{2}-(\d{2})-(\d{2})$/;

/** Says whether it is a calendar day from 1900 to 2199. */
export function isDate(text: string): boolean {
  const [, , month, day] = datePattern.exec(text) ?? [];
  if (month === undefined || day === undefined) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return at.getUTCMonth() + 1 === Number(month) && at.getUTCDate() === Number(day); // February 30 is March 2, or not a time at all
}

/** Its year counts in UTC, as answers write it: what is taken with an offset of 14 hours must be a time there, too. */
export function isTime(text: string): boolean {
  if (!isDate(timePattern.exec(text)?.[1] ?? '')) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= 1900 && year <= 2199;
}

/** How far a sender's clock may run ahead, ms. */
const AHEAD_MS = 5 * 60_000;

/** Says whether it lies further in the future than a fast clock explains. @param text a time of a request */
export function isAhead(text: string): boolean {
  return Date.parse(text) > unixNowMs() + AHEAD_MS;
}

/** Microseconds since 1970, as the database keeps the time: rounded, a half to the even one. Two times of one microsecond are one time.
 *  @param text a time of a request */
export function microsecondsOf(text: string): number {
  const us = 1e6 * Number(/\.\d+/.exec(text)?.[0] ?? 0);
  const below = Math.floor(us);
  const over = us - below;
  const isUp = over > 0.5 || (over === 0.5 && below % 2 === 1);
  return 1000 * Date.parse(text.replace(/\.\d+/, '')) + below + (isUp ? 1 : 0);
}

/** Makes the schemas' formats mean this. Called before any schema is compiled. */
export function registerTimeFormats(): void {
  Format.Set('date-time', isTime);
  Format.Set('date', isDate);
}
