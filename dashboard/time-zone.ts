/** Whose clocks a page about a person shows: the person's, else those of their project. Every page of a person, and their report, does. */

type Zoned = Readonly<{ time_zone: string | null; project_id: string }>;
type Projects = readonly Readonly<{ id: string; time_zone: string }>[];

/** @returns '' where neither is known */
export const zoneOf = (user: Zoned, projects: Projects): string =>
  user.time_zone ?? projects.find(({ id }) => id === user.project_id)?.time_zone ?? '';

/** For Intl: undefined, the browser's, for '' and for one that this browser does not know. */
export function clockZone(zone: string): string | undefined {
  try {
    return zone === '' ? undefined : new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The browser's own. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether times of it are others than the browser's own: then the page has to say whose they are. */
export function isForeign(zone: string): boolean {
  const known = clockZone(zone);
  return known !== undefined && known !== ownZone();
}
