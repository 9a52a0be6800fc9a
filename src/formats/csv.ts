/** Reads and writes tables of samples as CSV (RFC 4180 without quoted line breaks).
 *
 *  Written: comment lines that describe the channels, a header, then one row per sample time with an empty field where a channel has none:
 *    # biosignal-csv 1
 *    # channel ecg.ii {"kind":"ecg","rate_nhz":250000000000,"gain":1000,"baseline":0,"unit":"mV","lead":"II"}
 *    time_ns,ecg.ii
 *    1700000000000000000,0.012
 *  Such a file reads back to the same digital samples. Read also: any table with a time column or a stated rate, separated by comma,
 *  semicolon or tab; its gains follow from the decimals that it writes. Files are untrusted: sizes are bounded, bad fields are Rejected. */
import { rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { channelKinds } from '../signal.ts';
import type { ChannelConfig, ChannelKind } from '../signal.ts';

const COLUMN_COUNT_MAX = 256;
const ROW_COUNT_MAX = 100_000_000;
const LINE_CHARS_MAX = 65_536;
const DECIMALS_MAX = 9;
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
}>;

export type CsvReadOptions = Readonly<{
  /** Rate of a table without a time column, nano-hertz. */
  rateNanoHz?: number;
  /** What a column holds, by its name and unit; the default calls everything `other`. */
  kindOf?: (name: string, unit: string) => ChannelKind;
  missing: number;
}>;

// ---- writing -------------------------------------------------------------------------------------------------------------------

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
  let text = '# biosignal-csv 1\n';
  for (const { config } of channels) {
    const { kind, rateNanoHz, gain, baseline, unit, lead } = config;
    text += `# channel ${config.code} ${JSON.stringify({ kind, rate_nhz: rateNanoHz, gain, baseline, unit, lead })}\n`;
  }
  text += `time_ns,${channels.map(({ config }) => config.code).join(',')}\n`;
  const rows = Math.max(0, ...channels.map(({ samples }) => samples.length));
  for (let i = 0; i < rows; i++) {
    let line = '';
    let some = false;
    for (const { config, samples } of channels) {
      const digital = i < samples.length ? samples[i]! : missing;
      line += ',';
      if (digital === missing) continue;
      some = true;
      line += physicalText(digital, config.gain, config.baseline);
    }
    if (!some) continue;
    text += `${startUnixNs + offsetNs(i, rate)}${line}\n`;
    if (text.length > 65_536) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

/** The shortest text from which the digital value comes back: fewer digits than the nearest double has. */
function physicalText(digital: number, gain: number, baseline: number): string {
  const value = (digital - baseline) / gain;
  const short = Number(value.toPrecision(10));
  return String(Math.round(short * gain + baseline) === digital ? short : value);
}

function offsetNs(i: number, rateNanoHz: number): bigint {
  return (BigInt(i) * GRID + BigInt(rateNanoHz) / 2n) / BigInt(rateNanoHz);
}

// ---- reading -------------------------------------------------------------------------------------------------------------------

type Column = Readonly<{ name: string; values: number[]; decimals: { max: number } }>;

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
  while (line !== null && (line.startsWith('#') || line.trim() === '')) {
    const fault = readDescription(line, described);
    if (fault !== null) return bad(`line ${lineNo}: ${fault}`);
    line = nextLine();
  }
  if (line === null) return bad('no header line');
  const separator = [',', ';', '\t'].reduce((best, mark) => (line!.split(mark).length > line!.split(best).length ? mark : best));
  const names = splitLine(line, separator);
  if (names.length > COLUMN_COUNT_MAX) return bad(`${names.length} columns, limit ${COLUMN_COUNT_MAX}`);
  const timeUnit = timeUnitOf(names[0] ?? '');
  const columns = names.slice(timeUnit === null ? 0 : 1).map((name): Column => ({ name, values: [], decimals: { max: 0 } }));
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
      const timeNs = readTime(fields[0]!, timeUnit);
      if (timeNs === null) return bad(`line ${lineNo}: time "${fields[0]!.slice(0, 32)}"`);
      times.push(timeNs);
    }
    for (const [i, column] of columns.entries()) {
      const value = readValue(fields[timeUnit === null ? i : i + 1]!, column.decimals);
      if (value === null)
        return bad(`line ${lineNo}, ${column.name}: "${fields[timeUnit === null ? i : i + 1]!.slice(0, 32)}" is no number`);
      column.values.push(value);
    }
  }
  return toTable(columns, times, timeUnit, described, options);
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
  if (rateNanoHz === null) return bad(timeUnit === null ? 'no time column: state the rate' : 'the times of the rows are not evenly spaced');
  const index = timeUnit === null ? null : gridRows(times, rateNanoHz);
  if (index !== null && 'rejected' in index) return index;
  const length = index === null ? rows : rows === 0 ? 0 : index[rows - 1]! + 1;
  const channels = columns.map((column): CsvChannel => {
    const config = described.get(column.name) ?? guessConfig(column, rateNanoHz, options);
    const samples = new Int32Array(length).fill(options.missing);
    for (let i = 0; i < rows; i++) {
      const value = column.values[i]!;
      if (Number.isNaN(value)) continue;
      const digital = Math.round(value * config.gain + config.baseline);
      samples[index === null ? i : index[i]!] = Math.max(-2_147_483_647, Math.min(2_147_483_647, digital));
    }
    return { config, samples };
  });
  // A time column that begins after 2000 is a wall clock; smaller ones count from the start of a recording.
  const first = times[0] ?? 0n;
  return { startUnixNs: timeUnit !== null && first >= 946_684_800_000_000_000n ? first : null, rateNanoHz, channels };
}

/** Row numbers on the sample grid, so that left-out rows are gaps. */
function gridRows(times: readonly bigint[], rateNanoHz: number): number[] | Rejected {
  const rate = BigInt(rateNanoHz);
  const rows: number[] = [];
  for (const time of times) {
    const row = Number(((time - times[0]!) * rate + GRID / 2n) / GRID);
    if (rows.length > 0 && row <= rows.at(-1)!) return bad(`row ${rows.length + 1}: its time does not come after the row before`);
    // A single wrong time must not cost memory for the gap that it makes.
    if (row > 1_000_000 + 50 * times.length) return bad(`row ${rows.length + 1}: ${row} samples after the first, in ${times.length} rows`);
    rows.push(row);
  }
  return rows;
}

/** From the median step; null where more than a tenth of the steps are off by over half of it. */
function rateOf(times: readonly bigint[]): number | null {
  if (times.length < 3) return null;
  const steps = times.slice(1, 10_001).map((time, i) => Number(time - times[i]!));
  const sorted = steps.toSorted((a, b) => a - b);
  const step = sorted[sorted.length >> 1]!;
  if (step <= 0) return null;
  const off = steps.filter((value) => Math.abs(value - step) > step / 2).length;
  if (off > steps.length / 10) return null;
  // Times are rounded by whoever wrote them: the mean over the even steps is closer than one step.
  const even = steps.filter((value) => Math.abs(value - step) <= step / 2);
  const mean = even.reduce((sum, value) => sum + value, 0) / even.length;
  const hz = 1e9 / mean;
  const round = Math.round(hz);
  return Math.round((Math.abs(hz - round) < 1e-3 * hz ? Math.max(round, hz < 1 ? 0 : 1) || hz : hz) * 1e9);
}

/** Digital values keep every decimal that the table writes; with more than 31 bits of them, the last are rounded. */
function guessConfig({ name, values, decimals }: Column, rateNanoHz: number, options: CsvReadOptions): ChannelConfig {
  const [, title = name, unit = '1'] = /^(.*?)\s*[[(]([^\])]{1,16})[\])]$/.exec(name) ?? [];
  let largest = 0;
  for (const value of values) if (Math.abs(value) > largest) largest = Math.abs(value);
  let digits = Math.min(decimals.max, DECIMALS_MAX);
  while (digits > 0 && largest * 10 ** digits > 2_000_000_000) digits--;
  const kind = options.kindOf?.(title, unit) ?? 'other';
  return { code: title, kind, rateNanoHz, gain: 10 ** digits, baseline: 0, unit, lead: '' };
}

type TimeUnit = 'ns' | 'us' | 'ms' | 's' | 'iso';

function timeUnitOf(name: string): TimeUnit | null {
  const match = /^(?:time|timestamp|t|ts|seconds)(?:[_ ]?[[(]?(ns|us|ms|s|sec)[\])]?)?$/i.exec(name.trim());
  if (match === null) return null;
  const unit = (match[1] ?? (/^seconds$/i.test(name) ? 's' : '')).toLowerCase();
  return unit === 'ns' || unit === 'us' || unit === 'ms' ? unit : unit === '' && /stamp/i.test(name) ? 'iso' : 's';
}

const nsPer = { ns: 1n, us: 1000n, ms: 1_000_000n, s: 1_000_000_000n } as const;

/** Decimal text to ns without a detour over doubles: they hold Unix seconds to 0.2 µs only. */
function readTime(field: string, unit: TimeUnit): bigint | null {
  const text = field.trim();
  if (unit === 'iso' && /[T:]/.test(text)) {
    const ms = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
    return Number.isNaN(ms) ? null : BigInt(ms) * 1_000_000n;
  }
  const match = /^([+-]?)(\d{1,20})(?:\.(\d{0,20}))?$/.exec(text);
  if (match === null) return null;
  const scale = nsPer[unit === 'iso' ? 's' : unit];
  const fraction = (match[3] ?? '').slice(0, 9);
  const ns = BigInt(match[2]!) * scale + (fraction === '' ? 0n : (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length));
  return match[1] === '-' ? -ns : ns;
}

/** NaN for an empty field; null for what is no number. */
function readValue(field: string, decimals: { max: number }): number | null {
  const text = field.trim();
  if (text === '' || text === 'NaN' || text === 'nan' || text === 'NA') return Number.NaN;
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
