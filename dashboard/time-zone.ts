/** Whose clocks a page about a person shows: the person's, else those of their project. Every page of a person, and their report, does. */

type Zoned = Readonly<{ time_zone: string | null; project_id: string }>;
type Projects = readonly Readonly<{ id: string; time_zone: string }>[];

/** @returns '' where neither is known */
export const zoneOf = (user: Zoned, projects: Projects): string =>
  user.time_zone ?? projects.find(({ id }) => id === user.project_id)?.time_zone ?? '';

/** What is made once is kept: a list of hundreds of times would make as many formatters, each of some 50 µs. */
const known = new Map<string, string | undefined>();
const clocks = new Map<string, Intl.DateTimeFormat>();

/** For Intl: undefined, the browser's, for '' and for one that this browser does not know. */
export function clockZone(zone: string): string | undefined {
  if (!known.has(zone)) known.set(zone, zone === '' ? undefined : knownZone(zone));
  return known.get(zone);
}

function knownZone(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** A date and its time on the clocks of a zone ('': the browser's). */
export function clockOf(locale: string, zone: string, timeStyle: 'short' | 'medium'): Intl.DateTimeFormat {
  const key = `${locale} ${zone} ${timeStyle}`;
  const kept = clocks.get(key) ?? new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle, timeZone: clockZone(zone) });
  clocks.set(key, kept);
  return kept;
}

/** The browser's own. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether times of it are others than the browser's own: then the page has to say whose they are. */
export function isForeign(zone: string): boolean {
  const shown = clockZone(zone);
  return shown !== undefined && shown !== ownZone();
}
