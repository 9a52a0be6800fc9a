/** Numbers, units and times as people of a locale write them. */

/** UCUM to what is printed: `Cel` is °C, `ms2` is ms², `{score}` is nothing, `mm[Hg]` is mmHg. */
export function unitLabel(ucum: string): string {
  const plain = ucum.replace(/{.*}|[[\]]|^1$/g, '').replace('s2', 's²');
  return plain
    .replace(/^u(?=[SV]$)/, 'µ')
    .replace(/^Cel$/, '°C')
    .replace(/^degF$/, '°F');
}

/** @param digits significant digits at most; whole numbers keep all of theirs */
export function formatNumber(locale: string, value: number, digits = 3): string {
  if (!Number.isFinite(value)) return '–';
  const isWhole = Math.abs(value) >= 10 ** (digits - 1);
  return new Intl.NumberFormat(locale, isWhole ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits }).format(value);
}

type Numbers = readonly (number | null)[];
type Measured = Readonly<{
  name?: string;
  key?: string;
  unit: string;
  values: Numbers;
  lows?: Numbers;
  highs?: Numbers;
  range?: Numbers;
  newest?: Readonly<{ value: number }> | null;
}>;

/** Temperatures in the units that people of the page use, and shares of differences (pNN50, pNN20) in per cent, as clinicians have them.
 *  Others have one unit everywhere. */
export function convertUnit<S extends Measured>(series: S, units: string | null): S {
  const isShare = /pnn.0/i.test(`${series.name}${series.key}`);
  const [unit, by, zero] = isShare ? ['%', 100, 0] : units === 'us' && series.unit === 'Cel' ? ['[degF]', 1.8, 32] : ['', 0, 0];
  if (by === 0) return series;
  const to = (values: Numbers = []): Numbers => values.map((value) => (value === null ? null : value * by + zero));
  const { values, lows, highs, range, newest } = series;
  const newer = newest && { ...newest, value: to([newest.value])[0] };
  return { ...series, unit, values: to(values), lows: to(lows), highs: to(highs), range: to(range), newest: newer };
}

/** What a value is of. `source_type`: as the catalog has it; a feature without a biosignal has none. */
export type ValueOf = Readonly<{ unit: string; source_type?: string }>;

/** Decimals that suit a unit, measured or computed: none of a heart rate, one of a temperature. Of what was computed here below 10: two of
 *  a ratio or skin conductance, three of activity. null: as many as were given. A switch, because a unit may be "constructor". */
function decimalsOf(unit: string, size: number, isComputed: boolean): number | null {
  switch (unit) {
    case 'ms':
    case '{steps}':
      return 0;
    case '/min':
      return size < 5 ? 1 : 0;
    case 'Cel':
    case '[degF]':
    case 'h':
      return 1;
  }
  if (!isComputed || !/^([1%{]|uS|ms2|\[g)/.test(unit)) return null;
  if (size >= 10) return 0;
  return unit === '1' || unit === 'uS' ? 2 : unit === '[g]' ? 3 : 1;
}

/** A number that a person or a device gave keeps its tenths from 10 on, and four digits below: 72.4 kg, 104.5 mg/dL, a urine of 1.025.
 *  Rates, ms and steps are whole, given or computed. Means and what was converted have endless digits. */
export function formatValue(locale: string, value: number | null, { unit, source_type: source = 'derived' }: ValueOf): string {
  if (value === null || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  const isCounted = unit[0] === '{';
  const exact = decimalsOf(unit, size, source === 'derived');
  const given = size < 10 && !isCounted ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 1 };
  const known = { minimumFractionDigits: isCounted ? 0 : exact!, maximumFractionDigits: exact! };
  return new Intl.NumberFormat(locale, exact === null ? given : known).format(value);
}

/** @param isZoned with the abbreviation of the zone, which a time that the clocks show twice has in any case: CEST, CET */
export function formatTime(
  locale: string,
  timeMs: number,
  timeZone: string | undefined,
  style: 'date' | 'full' | 'seconds' = 'full',
  isZoned = false,
): string {
  const timeStyle = style === 'date' ? undefined : style === 'full' ? 'short' : 'medium';
  const clock = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle, timeZone });
  const [text, after, before] = [0, 36e5, -36e5].map((ms) => clock.format(timeMs + ms));
  return text! + (timeStyle && (isZoned || text === after || text === before) ? ` ${zoneName(locale, timeMs, timeZone)}` : '');
}

export const zoneName = (locale: string, timeMs: number, timeZone: string | undefined): string =>
  new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' }).format(timeMs).split(' ').at(-1)!;

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** "5 minutes ago". */
export function formatAge(locale: string, timeMs: number, nowMs: number): string {
  const seconds = (timeMs - nowMs) / 1000;
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  for (const [unit, size] of steps) if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  return format.format(0, 'second');
}

const lengths: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** ISO 8601 durations of weeks, days, hours, minutes and seconds, or the short forms `15m`, `24h`, `7d`. Milliseconds, or null. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?[smhdw]|P(\d+W)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$/.test(text)) return null;
  let ms = 0;
  for (const [, count, unit] of text.toLowerCase().matchAll(/([\d.]+)(.)/g)) ms += Number(count) * lengths[unit!]!;
  return ms > 0 || text[0] !== 'P' ? ms : null;
}
