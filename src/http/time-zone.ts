/** Cache of known time zones. Asking ICU costs 20 µs and more, and its first answer tens of milliseconds. */

/** IANA has some 600 names, in any case of letters. */
const KNOWN_MAX = 1000;
const known = new Set<string>();

/** Says whether it is an IANA time zone, by any of its names. */
export function isTimeZone(zone: string): boolean {
  if (known.has(zone)) return true;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    return false;
  }
  if (known.size < KNOWN_MAX) known.add(zone);
  return true;
}
