/** Numbers, units and times as people of a locale write them. */

const ucumToPrint: Readonly<Record<string, string>> = {
  '%/s2': '%/s²',
  '/min': '/min',
  '{beats}/min': '/min',
  '1': '',
  Cel: '°C',
  '[degF]': '°F',
  uS: 'µS',
  uV: 'µV',
  'mm[Hg]': 'mmHg',
  '[g]': 'g',
};

/** UCUM to what is printed: `Cel` is °C, `ms2` is ms², `{score}` is nothing. */
export function unitLabel(ucum: string): string {
  return ucumToPrint[ucum] ?? (ucum[0] === '{' ? '' : ucum.replace('s2', 's²'));
}

/** @param digits significant digits at most; whole numbers keep all of theirs */
export function formatNumber(locale: string, value: number, digits = 3): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 10 ** (digits - 1)) return new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(value);
  return new Intl.NumberFormat(locale, { maximumSignificantDigits: digits }).format(value);
}

type Numbers = readonly (number | null)[];
type Measured = Readonly<{
  unit: string;
  values: Numbers;
  lows?: Numbers;
  highs?: Numbers;
  range?: Numbers;
  newest?: Readonly<{ value: number }> | null;
}>;

/** Temperatures in the units that people of the page use. Other biosignals have one unit everywhere. */
export function convertUnit<S extends Measured>(series: S, units: string | null): S {
  if (units !== 'us' || series.unit !== 'Cel') return series;
  const to = (values: Numbers = []): Numbers => values.map((value) => (value === null ? null : value * 1.8 + 32));
  const { values, lows, highs, range, newest } = series;
  const newer = newest && { ...newest, value: to([newest.value])[0] };
  return { ...series, unit: '[degF]', values: to(values), lows: to(lows), highs: to(highs), range: to(range), newest: newer };
}

/** Decimals that suit the unit: a heart rate has none, a temperature one, a ratio or an index two. */
export function formatValue(locale: string, value: number | null, unit: string): string {
  if (value === null || !Number.isFinite(value)) return '–';
  const decimals = unit === 'Cel' || unit === '[degF]' ? 1 : Math.abs(value) >= 10 ? 0 : unit === '1' ? 2 : 1;
  const exact = /^(\/min|ms|{steps})$/.test(unit) ? 0 : decimals;
  return new Intl.NumberFormat(locale, { minimumFractionDigits: unit[0] === '{' ? 0 : exact, maximumFractionDigits: exact }).format(value);
}

export function formatTime(
  locale: string,
  timeMs: number,
  timeZone: string | undefined,
  style: 'time' | 'date' | 'full' | 'seconds' = 'full',
): string {
  const options: Intl.DateTimeFormatOptions =
    style === 'time'
      ? { timeStyle: 'short' }
      : style === 'date'
        ? { dateStyle: 'medium' }
        : { dateStyle: 'medium', timeStyle: style === 'seconds' ? 'medium' : 'short' };
  return new Intl.DateTimeFormat(locale, timeZone === undefined ? options : { ...options, timeZone }).format(timeMs);
}

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

/** ISO 8601 durations of days, hours, minutes and seconds, or the short forms `15m`, `24h`, `7d`. Milliseconds, or null. */
export function parseDuration(text: string): number | null {
  const short = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text);
  if (short !== null) return Number(short[1]) * { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 }[short[2] as 's' | 'm' | 'h' | 'd' | 'w'];
  const iso = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  if (iso === null) return null;
  const [, weeks, days, hours, minutes, seconds] = iso.map((part) => Number(part ?? 0));
  const ms = weeks! * 6048e5 + days! * 864e5 + hours! * 36e5 + minutes! * 6e4 + seconds! * 1e3;
  return ms > 0 ? ms : null;
}
