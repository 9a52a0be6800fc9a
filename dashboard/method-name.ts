/** Names of computed values, as the catalog has them, and their numbers as people read and type them. */
import { convertUnit, formatNumber, formatValue, unitLabel } from '../widgets/shared/format.ts';
import { locale, named, t } from './language.ts';

/** @returns e.g. "HRV RMSSD, 60 s"; a number stays with its unit */
export const methodName = ({ name, title }: Readonly<{ name: string; title: string }>): string =>
  named(title || name).replaceAll(/(\d) /g, '$1\u00a0');

/** The length of a window: 8 s, 60 s, 5 min. */
export const windowText = (sec: number): string => (sec % 60 === 0 && sec > 60 ? `${sec / 60}\u00a0min` : `${sec}\u00a0s`);

type Measure = Readonly<{ name: string; unit: string }>;

/** How a value is shown: shares of differences (pNN50) are stored as shares and read in per cent.
 *  @returns unit: for formatValue; title: as it is printed, '' where there is none; per: a stored value times this is what people read */
export function shownAs({ name, unit }: Measure): Readonly<{ unit: string; title: string; per: number }> {
  const shown = convertUnit({ name, unit, values: [1] }, null);
  return { unit: shown.unit, title: unitLabel(shown.unit), per: shown.values[0]! };
}

/** The unit that a value is read in; '': it has none. */
const methodUnit = (method: Measure): string => shownAs(method).title;

/** What stands in brackets behind the name of a value: its unit, or beats where it counts them. Steps, couplets and runs are named. */
export const countedIn = (method: Measure): string => (method.unit === '{beats}' ? t('beats') : methodUnit(method));

/** Qualities, the index of atrial fibrillation, and whether a sensor is worn. */
const isUpToOne = /^(sqi_|worn_|af_index$)/;

/** What stands at a field for such a number; '': what its name counts. */
export function typedIn(method: Measure): string {
  if (isUpToOne.test(method.name)) return t('from 0 to 1');
  return shownAs(method).unit === '1' ? t('no unit') : countedIn(method);
}

/** @returns the name, with what it counts where that is no unit: "Longest ventricular run, 10 s (beats)" */
export const namedWithCount = (method: Parameters<typeof methodName>[0] & Measure): string =>
  `${methodName(method)}${methodUnit(method) === '' && countedIn(method) !== '' ? ` (${countedIn(method)})` : ''}`;

/** Without the dust of a multiplication. */
const clean = (value: number): number => Number(value.toPrecision(12));

/** A number of a value as people type it. */
export const typedOf = (method: Measure | undefined, stored: number): number =>
  method === undefined ? stored : clean(stored * shownAs(method).per);

/** What is stored of a number that was typed. */
export const storedOf = (method: Measure | undefined, typed: number): number =>
  method === undefined ? typed : clean(typed / shownAs(method).per);

const withUnit = (number: string, unit: string): string => `${number}${unit === '' ? '' : `\u00a0${unit}`}`;

/** A bound that a person typed, with its unit, as the language of the page writes it. */
export const boundText = (method: Measure | undefined, stored: number): string =>
  withUnit(formatNumber(locale, typedOf(method, stored), 6), method === undefined ? '' : methodUnit(method));

/** A computed number with its unit, in the decimals that suit it. */
export function valueText({ name, unit }: Measure, stored: number): string {
  const shown = convertUnit({ name, unit, values: [stored] }, null);
  return withUnit(formatValue(locale, shown.values[0]!, shown), unitLabel(shown.unit));
}
