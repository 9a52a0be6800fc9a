/** Which names of time zones the service takes. Days are cut by PostgreSQL and written by Intl: a name must mean the same to both. */

/** Cache of known time zones. Asking ICU costs 20 µs and more, and its first answer tens of milliseconds. IANA has some 600 names, in any
 *  case of letters. */
const KNOWN_MAX = 1000;
const known = new Set<string>();

/** Three letters are an abbreviation to PostgreSQL before they are a zone: CET is +1 in summer, too, IST the time of Israel. ICU has
 *  meanings of its own for a good many (IST: India; PST: Los Angeles with its summer). These are the same to both. */
const threeLetters = new Set(['UTC', 'UCT', 'GMT', 'EST', 'MST', 'HST', 'PRC', 'ROC', 'ROK']);
/** An alias that ICU alone has. */
const OF_ICU = 'US/PACIFIC-NEW';

/** Names by which browsers call zones that IANA has renamed (CLDR keeps the first one), and the names of today. PostgreSQL reads the
 *  tzdata of its machine, where the former are a package of their own on Debian 13 (tzdata-legacy). Stored names were changed likewise by
 *  sql/000092. */
const renamed: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'Africa/Asmera': 'Africa/Asmara',
    'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
    'America/Catamarca': 'America/Argentina/Catamarca',
    'America/Coral_Harbour': 'America/Atikokan',
    'America/Cordoba': 'America/Argentina/Cordoba',
    'America/Godthab': 'America/Nuuk',
    'America/Indianapolis': 'America/Indiana/Indianapolis',
    'America/Jujuy': 'America/Argentina/Jujuy',
    'America/Louisville': 'America/Kentucky/Louisville',
    'America/Mendoza': 'America/Argentina/Mendoza',
    'Asia/Calcutta': 'Asia/Kolkata',
    'Asia/Katmandu': 'Asia/Kathmandu',
    'Asia/Rangoon': 'Asia/Yangon',
    'Asia/Saigon': 'Asia/Ho_Chi_Minh',
    'Atlantic/Faeroe': 'Atlantic/Faroe',
    'Europe/Kiev': 'Europe/Kyiv',
    'Pacific/Enderbury': 'Pacific/Kanton',
    'Pacific/Ponape': 'Pacific/Pohnpei',
    'Pacific/Truk': 'Pacific/Chuuk',
  }).map(([before, now]) => [before.toUpperCase(), now]),
);

/** @param zone as a client names it  @returns the name that every PostgreSQL knows */
export function presentName(zone: string): string {
  return renamed.get(zone.toUpperCase()) ?? zone;
}

/** Says whether it is an IANA time zone, by any of its names that mean the same to Intl and PostgreSQL. An offset does not: `+05:30` is
 *  east to Intl and, as in POSIX, west to PostgreSQL. */
export function isTimeZone(zone: string): boolean {
  if (known.has(zone)) return true;
  const name = zone.toUpperCase();
  if (!/^[A-Z]/.test(name) || name === OF_ICU || (name.length === 3 && !threeLetters.has(name))) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    return false;
  }
  if (known.size < KNOWN_MAX) known.add(zone);
  return true;
}

/** What IANA calls these zones since 2024. */
const successors: ReadonlyMap<string, string> = new Map([
  ['CET', 'Europe/Brussels'],
  ['EET', 'Europe/Athens'],
  ['MET', 'Europe/Brussels'],
  ['WET', 'Europe/Lisbon'],
]);

/** A stored zone as it is used. Older releases took more than is taken now: some of it has a name that is taken.
 *  @returns null: it has none; the project's zone holds, and UTC where that has none either */
export function usedZone(stored: string | null): string | null {
  if (stored === null || isTimeZone(stored)) return stored;
  const [, sign, hours] = /^([+-])(\d\d?)(?::?00)?$/.exec(stored) ?? [];
  const named = sign === undefined ? successors.get(stored.toUpperCase()) : `Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}`;
  return named !== undefined && isTimeZone(named) ? named : null;
}

/** The refusal of such a value. @returns a sentence without its subject */
export function notTimeZone(zone: string): string {
  return /^[a-z]{3}$/i.test(zone)
    ? 'is not an IANA time zone, or an abbreviation with several meanings: name a place, such as Europe/Paris'
    : 'is not an IANA time zone';
}
