/** Reads and writes tables of samples as CSV (RFC 4180 without quoted line breaks).
 *
 *  Written: comment lines that describe the channels, a header, then one row per sample time with an empty field where a channel has none:
 *    # biosignal-csv 1
 *    # channel ecg.ii {"kind":"ecg","rate_nhz":250000000000,"gain":1000,"baseline":0,"unit":"mV","lead":"II"}
 *    time_ns,ecg.ii
 *    1700000000000000000,0.012
 *  Such a file reads back to the same digital samples. Read also: any table with a time column first or a stated rate, separated by comma,
 *  semicolon or tab; its gains follow from the decimals that it writes. Where the separator is no comma, decimals may have one.
 *  Times: ISO 8601, d.m.Y, or numbers in the unit that the column names; where it names none, numbers from 1973 on are told apart by their
 *  size (seconds, ms, us, ns since 1970) and smaller ones are seconds. Times without an offset are UTC; none is rounded above 1 ns.
 *  Files are untrusted: sizes are bounded, bad fields are Rejected, and a refusal says what would be read. */
import { isRejected, rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { channelKinds } from '../signal.ts';
import type { ChannelConfig, ChannelKind } from '../signal.ts';
import { civilTimeNs } from './civil-time.ts';

const COLUMN_COUNT_MAX = 256;
const ROW_COUNT_MAX = 100_000_000;
const LINE_CHARS_MAX = 65_536;
const DECIMALS_MAX = 9;
/** Largest digital value; the one below its negative marks a missing sample. */
const DIGITAL_MAX = 2_147_483_647;
/** Steps that 99 % of the values of a column need where the others make them coarser. */
const COUNTS_MIN = 1000;
const GRID = 1_000_000_000_000_000_000n;

/** One channel of a table; sample i is row i. */
export type CsvChannel = Readonly<{
  config: ChannelConfig;
  /** Digital values; `missing` where the field is empty. */
  samples: Int32Array;
}>;

export type CsvTable = Readonly<{
  /** Unix ns of row 0, or null where the table only counts from zero. */
  startUnixNs: bigint | null;
  rateNanoHz: number;
  channels: readonly CsvChannel[];
  /** What of the table could not be stored, one sentence each. */
  notKept: readonly string[];
}>;

export type CsvReadOptions = Readonly<{
  /** Rate of a table without a time column, nano-hertz. */
  rateNanoHz?: number;
  /** What a column holds, by its name and unit; the default calls everything `other`. */
  kindOf?: (name: string, unit: string) => ChannelKind;
  /** The lead that a name says, empty for none. */
  leadOf?: (name: string) => string;
  missing: number;
}>;

// ---- writing -------------------------------------------------------------------------------------------------------------------

/** First line of an export: its time_ns is Unix time, of any year. */
const MARK = '# biosignal-csv';

export type CsvToWrite = Readonly<{
  startUnixNs: bigint;
  /** Of one rate and one length; sample i at startUnixNs + i / rate. */
  channels: readonly CsvChannel[];
  missing: number;
}>;

/** The text in pieces of about 64 KiB. Rows in which every channel is missing are left out. */
export function* writeCsv(table: CsvToWrite): Generator<string> {
  const { channels, startUnixNs, missing } = table;
  const rate = channels[0]?.config.rateNanoHz ?? 1e9;
  if (channels.some(({ config }) => config.rateNanoHz !== rate)) throw new RangeError('channels of one CSV file have one rate');
  let text = `${MARK} 1\n`;
  for (const { config } of channels) {
    const { kind, rateNanoHz, gain, baseline, unit, lead } = config;
    text += `# channel ${config.code} ${JSON.stringify({ kind, rate_nhz: rateNanoHz, gain, baseline, unit, lead })}\n`;
  }
  text += `time_ns,${channels.map(({ config }) => quoted(config.code)).join(',')}\n`;
  const rows = Math.max(0, ...channels.map(({ samples }) => samples.length));
  const timeOf = timeTexts(startUnixNs, rate);
  const columns = channels.map(({ config, samples }) => ({ samples, textOf: physicalTexts(config) }));
  for (let i = 0; i < rows; i++) {
    let line = '';
    let some = false;
    for (const { samples, textOf } of columns) {
      const digital = i < samples.length ? samples[i]! : missing;
      line += ',';
      if (digital === missing) continue;
      some = true;
      line += textOf(digital);
    }
    if (!some) continue;
    text += `${timeOf(i)}${line}\n`;
    if (text.length > 65_536) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

const quoted = (name: string): string => (/[",;\t\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

/** Texts that are kept of a channel: an ECG has some thousand values, and making one takes longer than finding it. */
const TEXTS_MAX = 65_536;

function physicalTexts({ gain, baseline }: Pick<ChannelConfig, 'gain' | 'baseline'>): (digital: number) => string {
  const texts = new Map<number, string>();
  return (digital) => {
    let text = texts.get(digital);
    if (text === undefined) {
      text = physicalText(digital, gain, baseline);
      if (texts.size < TEXTS_MAX) texts.set(digital, text);
    }
    return text;
  };
}

/** The shortest text from which the digital value comes back: fewer digits than the nearest double has. */
function physicalText(digital: number, gain: number, baseline: number): string {
  const value = (digital - baseline) / gain;
  const short = Number(value.toPrecision(10));
  return String(Math.round(short * gain + baseline) === digital ? short : value);
}

const SECOND = 1_000_000_000;

/** Times of rows in ns, as text. Whole rates have the same fractions in every second, so a row takes no arithmetic of large integers. */
function timeTexts(startNs: bigint, rateNanoHz: number): (i: number) => string {
  const hz = rateNanoHz / SECOND;
  if (!Number.isInteger(hz) || hz < 1 || hz > 100_000 || startNs < SECOND) return (i) => String(startNs + offsetNs(i, rateNanoHz));
  const fractions = Float64Array.from({ length: hz }, (_, i) => Number(startNs % BigInt(SECOND)) + Number(offsetNs(i, rateNanoHz)));
  const startSec = Number(startNs / BigInt(SECOND));
  return (i) => {
    const sec = Math.floor(i / hz);
    const ns = fractions[i - sec * hz]!;
    return ns < SECOND ? `${startSec + sec}${String(ns).padStart(9, '0')}` : `${startSec + sec + 1}${String(ns - SECOND).padStart(9, '0')}`;
  };
}

function offsetNs(i: number, rateNanoHz: number): bigint {
  return (BigInt(i) * GRID + BigInt(rateNanoHz) / 2n) / BigInt(rateNanoHz);
}

// ---- reading -------------------------------------------------------------------------------------------------------------------

/** How the numbers of a table are written; `mark` is the first decimal mark that was met. */
type Decimals = { max: number; mark: '' | '.' | ',' };
type Column = Readonly<{
  name: string;
  values: number[];
  decimals: Decimals;
  /** The value farthest from zero, its size, and the number of its line. */
  largest: { value: number; size: number; line: number };
}>;

/** Parses a whole table. */
export function parseCsv(text: string, options: CsvReadOptions): CsvTable | Rejected {
  const described = new Map<string, ChannelConfig>();
  let at = text.startsWith('\ufeff') ? 1 : 0;
  let lineNo = 0;
  const nextLine = (): string | null => {
    if (at >= text.length) return null;
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    const line = text.slice(at, Math.min(end, at + LINE_CHARS_MAX + 1));
    at = end + 1;
    lineNo++;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  };
  let line = nextLine();
  const ofExport = line?.startsWith(MARK) === true;
  while (line !== null && (line.startsWith('#') || line.trim() === '')) {
    const fault = readDescription(line, described);
    if (fault !== null) return bad(`line ${lineNo}: ${fault}`);
    line = nextLine();
  }
  if (line === null) return bad('no header line');
  const heads = [',', ';', '\t'].map((mark) => ({ separator: mark, names: splitLine(line!, mark) }));
  const { separator, names } = heads.reduce((best, head) => (head.names.length > best.names.length ? head : best));
  if (names.length > COLUMN_COUNT_MAX) return bad(`${names.length} columns, limit ${COLUMN_COUNT_MAX}`);
  let timeUnit = timeUnitOf(names[0] ?? '');
  const commas = separator !== ',';
  const columns = names.slice(timeUnit === null ? 0 : 1).map((name): Column => ({
    name,
    values: [],
    decimals: { max: 0, mark: '' },
    largest: { value: 0, size: 0, line: 0 },
  }));
  if (columns.length === 0) return bad('no column of values');
  if (names.every((name) => name !== '' && Number.isFinite(Number(name)))) return bad('the first line holds numbers: a header is needed');

  const times: bigint[] = [];
  for (line = nextLine(); line !== null; line = nextLine()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    if (line.length > LINE_CHARS_MAX) return bad(`line ${lineNo}: longer than ${LINE_CHARS_MAX} characters`);
    if (columns[0]!.values.length >= ROW_COUNT_MAX) return bad(`more than ${ROW_COUNT_MAX} rows`);
    const fields = splitLine(line, separator);
    if (fields.length !== names.length) return bad(`line ${lineNo}: ${fields.length} fields, the header has ${names.length}`);
    if (timeUnit !== null) {
      const field = commas ? fields[0]!.replace(/^([+-]?\d+),(\d+)$/, '$1.$2') : fields[0]!;
      if (timeUnit === 'any') timeUnit = timeUnitOfField(field);
      const timeNs = readTime(field, timeUnit);
      if (timeNs === null) return bad(`line ${lineNo}: time "${field.slice(0, 32)}" ${timeHint(field)}`);
      times.push(timeNs);
    }
    for (const [i, column] of columns.entries()) {
      const field = fields[timeUnit === null ? i : i + 1]!;
      const value = readValue(field, column.decimals, commas);
      if (value === null && i === 0 && timeUnit === null && /\d[-./:]\d+[-./:]\d/.test(field))
        return bad(
          `line ${lineNo}: "${field.slice(0, 32)}" is a time, and ${column.name.slice(0, 64)} is not known for a column of times: ${timeNames}`,
        );
      if (value === null) return bad(`line ${lineNo}, ${column.name}: "${field.slice(0, 32)}" is no number${numberHint(field)}`);
      column.values.push(value);
      if (Math.abs(value) > column.largest.size) Object.assign(column.largest, { value, size: Math.abs(value), line: lineNo });
    }
  }
  const table = toTable(columns, times, timeUnit, described, options);
  return ofExport && timeUnit === 'ns' && times.length > 0 && !isRejected(table) ? { ...table, startUnixNs: times[0]! } : table;
}

function toTable(
  columns: readonly Column[],
  times: readonly bigint[],
  timeUnit: TimeUnit | null,
  described: ReadonlyMap<string, ChannelConfig>,
  options: CsvReadOptions,
): CsvTable | Rejected {
  const rows = columns[0]!.values.length;
  const stated = described.get(columns[0]!.name)?.rateNanoHz ?? options.rateNanoHz ?? null;
  const rateNanoHz = stated ?? rateOf(times);
  if (rateNanoHz === null) return bad(timeUnit === null ? noTimeHint : rows < ROWS_MIN ? fewRowsHint(rows) : unevenHint);
  const index = timeUnit === null ? null : gridRows(times, rateNanoHz);
  if (index !== null && 'rejected' in index) return index;
  const length = index === null ? rows : rows === 0 ? 0 : index[rows - 1]! + 1;
  const channels: CsvChannel[] = [];
  const notKept: string[] = [];
  for (const column of columns) {
    const config = described.get(column.name) ?? guessConfig(column, rateNanoHz, options);
    const { name, largest } = column;
    if (!described.has(column.name) && hidesOthers(column, config.gain))
      return bad(`line ${largest.line}, ${name}: ${largest.value} is too large for the decimals of the other values: ${outlierHint}`);
    if (largest.size > 0 && largest.size * Math.abs(config.gain) < 0.5)
      notKept.push(
        `${name}: all its values are rounded to 0, as they are below ${0.5 / Math.abs(config.gain)}: write them in a smaller unit`,
      );
    const samples = new Int32Array(length).fill(options.missing);
    for (let i = 0; i < rows; i++) {
      const value = column.values[i]!;
      if (Number.isNaN(value)) continue;
      const digital = Math.round(value * config.gain + config.baseline);
      // Of the largest value, nearly always: with a baseline it may be another.
      if (Math.abs(digital) > DIGITAL_MAX) {
        const at = value === largest.value ? `line ${largest.line}` : `row ${i + 1}`;
        return bad(`${at}, ${name}: ${value} does not fit into 32 bits at a gain of ${config.gain}: ${outlierHint}`);
      }
      samples[index === null ? i : index[i]!] = digital;
    }
    channels.push({ config, samples });
  }
  // Numbers that begin after 2000 are a wall clock, as dates are; smaller ones count from the start of a recording.
  const first = times[0] ?? 0n;
  const wallClock = times.length > 0 && (timeUnit === 'date' || first >= 946_684_800_000_000_000n);
  return { startUnixNs: wallClock ? first : null, rateNanoHz, channels, notKept };
}

/** Row numbers on the sample grid, so that left-out rows are gaps. */
function gridRows(times: readonly bigint[], rateNanoHz: number): number[] | Rejected {
  const rate = BigInt(rateNanoHz);
  const rows: number[] = [];
  for (const time of times) {
    const row = Number(((time - times[0]!) * rate + GRID / 2n) / GRID);
    if (rows.length > 0 && row <= rows.at(-1)!) {
      const hz = rateNanoHz / 1e9;
      return bad(
        `row ${rows.length + 1}: its time does not come after the row before, at ${hz} Hz: write times in order, to the microsecond or finer`,
      );
    }
    // A single wrong time must not cost memory for the gap that it makes.
    if (row > 1_000_000 + 50 * times.length) return bad(`row ${rows.length + 1}: ${row} samples after the first, in ${times.length} rows`);
    rows.push(row);
  }
  return rows;
}

/** Of fewer rows no rate can be told by their times. */
const ROWS_MIN = 3;

/** From the median step; null where more than a tenth of the steps are off by over half of it. */
function rateOf(times: readonly bigint[]): number | null {
  if (times.length < ROWS_MIN) return null;
  const steps = times.slice(1, 10_001).map((time, i) => Number(time - times[i]!));
  const sorted = steps.toSorted((a, b) => a - b);
  const step = sorted[sorted.length >> 1]!;
  if (step <= 0) return null;
  const off = steps.filter((value) => Math.abs(value - step) > step / 2).length;
  if (off > steps.length / 10) return null;
  // Times were rounded when the file was written: the mean over the even steps is closer than one step.
  const even = steps.filter((value) => Math.abs(value - step) <= step / 2);
  const mean = even.reduce((sum, value) => sum + value, 0) / even.length;
  const hz = 1e9 / mean;
  const round = Math.round(hz);
  return Math.round((Math.abs(hz - round) < 1e-3 * hz ? Math.max(round, hz < 1 ? 0 : 1) || hz : hz) * 1e9);
}

/** Digital values keep every decimal that the table writes; with more than 31 bits of them, the last are rounded. */
function guessConfig({ name, decimals, largest }: Column, rateNanoHz: number, options: CsvReadOptions): ChannelConfig {
  const [, title = name, unit = '1'] = /^(.*?)\s*[[(]([^\])]{1,16})[\])]$/.exec(name) ?? [];
  const kind = options.kindOf?.(title, unit) ?? 'other';
  return {
    code: title,
    kind,
    rateNanoHz,
    gain: 10 ** digitsFor(decimals, largest.size),
    baseline: 0,
    unit,
    lead: options.leadOf?.(title) ?? '',
  };
}

function digitsFor(decimals: Decimals, size: number): number {
  let digits = Math.min(decimals.max, DECIMALS_MAX);
  while (digits > 0 && size * 10 ** digits > 2_000_000_000) digits--;
  return digits;
}

/** Does a value, or one in a hundred, cost the others their decimals: do they fit into less than COUNTS_MIN steps, and would have had
 *  more? */
function hidesOthers({ values, decimals }: Column, gain: number): boolean {
  if (gain >= 10 ** Math.min(decimals.max, DECIMALS_MAX)) return false;
  const sizes = Float64Array.from(
    values.filter((value) => !Number.isNaN(value)),
    Math.abs,
  ).sort();
  const other = sizes[Math.min(sizes.length - 2, Math.floor(0.99 * sizes.length))] ?? 0;
  const wanted = 10 ** digitsFor(decimals, other);
  return wanted > gain && other * gain < COUNTS_MIN && other * wanted >= 1;
}

const outlierHint = 'leave the field empty if it is no measurement, or write the column in a larger unit';
const timeNames = 'name the first column time, timestamp, date time, t or seconds';
const noTimeHint =
  'no time column: name the first column time (seconds, or ISO 8601 such as 2026-01-31T08:00:00.125Z), or describe the channels in ' +
  'comments with their rate_nhz, as an export does';
const fewRowsHint = (rows: number): string =>
  `${rows === 0 ? 'the table has a header and no rows' : rows === 1 ? 'the table has only one row' : `the table has only ${rows} rows`}: ` +
  `its sampling rate is told by the times of at least ${ROWS_MIN}, or stated in comments with rate_nhz, as an export does`;
const unevenHint = 'the times of the rows are not evenly spaced: one table has one sampling rate; split tables of several, or resample';

/** `any`: the first field tells. `date`: dates with a time of day. */
type TimeUnit = 'ns' | 'us' | 'ms' | 's' | 'date' | 'any';

function timeUnitOf(name: string): TimeUnit | null {
  const match = /^(?:time|timestamp|date[ _/]?time|t|ts|seconds)(?:[_ ]?[[(]?(ns|us|µs|ms|s|sec|utc|iso)[\])]?)?$/i.exec(name.trim());
  if (match === null) return null;
  const unit = (match[1] ?? (/^seconds$/i.test(name) ? 's' : '')).toLowerCase();
  if (unit === 'ns' || unit === 'us' || unit === 'ms') return unit;
  return unit === 'µs' ? 'us' : unit === 's' || unit === 'sec' ? 's' : 'any';
}

/** Unix times since 1973 in s, ms, us and ns have no number in common. */
function timeUnitOfField(field: string): TimeUnit {
  if (/\d[-./:T]\d+[-./:]/.test(field)) return 'date';
  const size = Math.abs(Number(field));
  if (size >= 1e17) return 'ns';
  if (size >= 1e14) return 'us';
  return size >= 1e11 ? 'ms' : 's';
}

const nsPer = { ns: 1n, us: 1000n, ms: 1_000_000n, s: 1_000_000_000n } as const;
const clock = String.raw`(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d{1,20})?))?\s*(Z|[+-]\d\d:?\d\d)?`;
const isoTime = new RegExp(String.raw`^(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ]\s*${clock}$`, 'i');
const dottedTime = new RegExp(String.raw`^(\d{1,2})\.(\d{1,2})\.(\d{4}),?[T ]\s*${clock}$`, 'i');

/** Decimal text to ns without a detour over doubles: they hold Unix seconds to 0.2 µs only. */
function readTime(field: string, unit: TimeUnit): bigint | null {
  const text = field.trim();
  if (unit === 'date') return readDate(text);
  const match = /^([+-]?)(\d{1,20})(?:\.(\d{0,20}))?$/.exec(text);
  if (match === null) return null;
  const scale = nsPer[unit === 'any' ? 's' : unit];
  const fraction = (match[3] ?? '').slice(0, 9);
  const ns = BigInt(match[2]!) * scale + (fraction === '' ? 0n : (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length));
  return match[1] === '-' ? -ns : ns;
}

function readDate(text: string): bigint | null {
  const iso = isoTime.exec(text);
  const match = iso ?? dottedTime.exec(text);
  if (match === null) return null;
  const [year, day] = iso === null ? [match[3], match[1]] : [match[1], match[3]];
  const second = (match[6] ?? '0').replace(',', '.');
  const civil = { year: Number(year), month: Number(match[2]), day: Number(day), hour: Number(match[4]), minute: Number(match[5]), second };
  const ns = civilTimeNs(civil);
  const offset = /^([+-])(\d\d):?(\d\d)$/.exec(match[7] ?? '');
  if (ns === null || offset === null) return ns;
  const offsetNs = BigInt(Number(offset[2]) * 60 + Number(offset[3])) * 60n * nsPer.s;
  return offset[1] === '-' ? ns + offsetNs : ns - offsetNs;
}

function timeHint(field: string): string {
  if (/^\s*\d{1,2}\/\d{1,2}\/\d{2,4}/.test(field))
    return 'may be day/month or month/day: write 2026-01-31T08:00:00.125Z or 31.01.2026 08:00:00';
  if (/^\s*\d{1,2}:\d\d/.test(field)) return 'has no date: write 2026-01-31T08:00:00.125Z, or seconds since the start';
  return 'is not read: write ISO 8601 (2026-01-31T08:00:00.125Z), 31.01.2026 08:00:00, or numbers (s; ms, us or ns in a column time_ms …)';
}

function numberHint(field: string): string {
  if (/^\s*[+-]?\d[\d.,']*\d\s*$/.test(field))
    return ': write decimals with one point (or one comma, in all rows), thousands without a mark';
  return ': leave missing values empty';
}

/** NaN for an empty field; null for what is no number. @param commas may decimals have one: the separator is another */
function readValue(field: string, decimals: Decimals, commas: boolean): number | null {
  let text = field.trim();
  if (text === '' || text === 'NaN' || text === 'nan' || text === 'NA') return Number.NaN;
  const mark = text.includes('.') ? '.' : commas && text.includes(',') ? ',' : '';
  if (mark !== '') {
    // 1,234 next to 1.5 is a thousand, or a mistake: not to be guessed.
    if (decimals.mark !== '' && decimals.mark !== mark) return null;
    decimals.mark = mark;
    if (mark === ',') text = text.replace(',', '.');
  }
  if (text.length > 40 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/.test(text)) return null;
  const value = Number(text);
  if (!Number.isFinite(value)) return null;
  const point = text.indexOf('.');
  const exponent = /[eE]([+-]?\d+)$/.exec(text);
  const mantissa = point < 0 ? 0 : text.length - point - 1 - (exponent === null ? 0 : exponent[0].length);
  decimals.max = Math.max(decimals.max, mantissa - Number(exponent?.[1] ?? 0));
  return value;
}

function splitLine(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator);
  const fields: string[] = [];
  let field = '';
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!;
    if (quoted && c === '"' && line[i + 1] === '"') {
      field += '"';
      i++;
    } else if (c === '"') quoted = !quoted;
    else if (c === separator && !quoted) {
      fields.push(field);
      field = '';
    } else field += c;
  }
  return [...fields, field];
}

/** `# channel CODE {json}`; other comments say nothing. @returns what is wrong, or null */
function readDescription(line: string, described: Map<string, ChannelConfig>): string | null {
  const match = /^# channel (\S{1,32}) (\{.{1,1000}\})$/.exec(line.trim());
  if (match === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(match[2]!);
  } catch {
    return 'the channel description is not JSON';
  }
  const { kind, rate_nhz: rateNanoHz, gain, baseline, unit, lead } = value as Record<string, unknown>;
  const known = channelKinds.find((item) => item === kind);
  if (known === undefined) return `kind ${JSON.stringify(kind)}`;
  if (typeof rateNanoHz !== 'number' || !Number.isSafeInteger(rateNanoHz) || rateNanoHz < 1) return 'rate_nhz';
  if (typeof gain !== 'number' || gain === 0 || typeof baseline !== 'number') return 'gain or baseline';
  if (typeof unit !== 'string' || typeof lead !== 'string' || unit.length > 16 || lead.length > 32) return 'unit or lead';
  described.set(match[1]!, { code: match[1]!, kind: known, rateNanoHz, gain, baseline, unit, lead });
  return null;
}

const bad = (detail: string): Rejected => rejected('validation_failed', detail);
