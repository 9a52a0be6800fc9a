/** A date and time of day as files write them, in UTC, to Unix ns without a detour over doubles. */

const YEAR_MIN = 1900;
const YEAR_MAX = 2199;

export type CivilTime = Readonly<{
  year: number;
  /** 1..12 */
  month: number;
  day: number;
  hour: number;
  minute: number;
  /** Decimal text, e.g. `5.000488281`; digits after the ninth decimal are cut off. */
  second: string;
}>;

/** @returns Unix ns, or null for a date that does not exist or lies outside of 1900 to 2199 */
export function civilTimeNs({ year, month, day, hour, minute, second }: CivilTime): bigint | null {
  const [whole = '', fraction = ''] = second.split('.');
  const sec = Number(whole);
  if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || hour > 23 || minute > 59 || sec > 59) return null;
  const ms = Date.UTC(year, month - 1, day, hour, minute, sec);
  if (day < 1 || new Date(ms).getUTCDate() !== day) return null;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}
