/** Readers of the recordings in the shared data folder: BIDMC, IEEE SPC 2015 and Stress-Predict (Empatica E4), all as gzipped CSV, and of
 *  Empatica E4 folders as their maker hands them out, as plain CSV.
 *  They feed the accuracy report, the replay command and tests. Each reads one recording whole into Float64Array columns.
 *  Missing or empty fields become NaN; a file of another layout throws a RangeError that names it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Columns of one CSV file. */
type Table = Readonly<{ header: readonly string[]; columns: readonly Float64Array[]; rowCount: number }>;

export type BidmcRecording = Readonly<{
  name: string;
  /** 125 Hz. */
  fs: number;
  /** By lead as the file names it: `RESP`, `PLETH`, `II`, `V`, `AVR`, `ABP` …; scaled 0..1 in the original. */
  signals: ReadonlyMap<string, Float64Array>;
  /** Sample indices of inspirations as each of two annotators marked them. */
  breaths: readonly [Int32Array, Int32Array];
}>;

export type SpcRecording = Readonly<{
  name: string;
  /** 125 Hz. */
  fs: number;
  ecg: Float64Array;
  /** Two green wrist PPG channels, arbitrary units. */
  ppg: readonly [Float64Array, Float64Array];
  /** Wrist acceleration x, y, z in g. */
  acc: readonly [Float64Array, Float64Array, Float64Array];
  /** True heart rate in bpm of the window [2 i, 2 i + 8) s. */
  bpm: Float64Array;
}>;

/** One sensor of an Empatica E4: its own start and rate. */
export type E4Signal = Readonly<{ startUnixSec: number; fs: number; columns: readonly Float64Array[] }>;

export type E4Recording = Readonly<{
  name: string;
  /** Blood volume pulse, 64 Hz, arbitrary units. */
  bvp: E4Signal;
  /** µS, 4 Hz. */
  eda: E4Signal;
  /** x, y, z in g, 32 Hz (the file holds 1/64 g). */
  acc: E4Signal;
  /** Skin temperature, °C, 4 Hz. */
  temp: E4Signal;
  /** The device's own heart rate, bpm, 1 Hz; null where the folder has none. */
  hr: E4Signal | null;
  /** The device's own inter-beat intervals: seconds since bvp's start, and the interval in s; empty where the folder has none. */
  ibi: Readonly<{ timeSec: Float64Array; ibiSec: Float64Array }>;
}>;

/** Names of the recordings of a BIDMC folder (`bidmc_01` …), ascending; empty when there is none. */
export function listBidmc(dir: string): string[] {
  return listBySuffix(dir, '_Signals.csv.gz');
}

/** Reads `NAME_Signals.csv.gz` and `NAME_Breaths.csv`. */
export function readBidmc(dir: string, name: string): BidmcRecording {
  const table = readTable(join(dir, `${name}_Signals.csv.gz`), true);
  const signals = new Map<string, Float64Array>();
  for (let c = 1; c < table.header.length; c++) {
    signals.set(table.header[c]!, table.columns[c]!);
  }
  if (!signals.has('PLETH')) throw new RangeError(`${name}: no PLETH column`);
  const breathsPath = join(dir, `${name}_Breaths.csv`);
  const breaths = existsSync(breathsPath) ? readTable(breathsPath, true).columns : [];
  return { name, fs: 125, signals, breaths: [toIndices(breaths[0]), toIndices(breaths[1])] };
}

/** Names of the recordings of an IEEE SPC folder (`DATA_01_TYPE01` …), ascending; empty when there is none. */
export function listSpc(dir: string): string[] {
  return listBySuffix(dir, '.bpm.csv');
}

/** Reads `NAME.csv.gz` and `NAME.bpm.csv`. */
export function readSpc(dir: string, name: string): SpcRecording {
  const table = readTable(join(dir, `${name}.csv.gz`), true);
  const column = (key: string): Float64Array => {
    const found = table.columns[table.header.indexOf(key)];
    if (found === undefined) throw new RangeError(`${name}: no column ${key}`);
    return found;
  };
  const bpm = readTable(join(dir, `${name}.bpm.csv`), true).columns[0] ?? new Float64Array(0);
  return {
    name,
    fs: 125,
    ecg: column('ecg'),
    ppg: [column('ppg1'), column('ppg2')],
    acc: [column('acc_x'), column('acc_y'), column('acc_z')],
    bpm,
  };
}

/** Names of the subjects of a Stress-Predict folder (`S01` …), ascending; empty when there is none. */
export function listE4(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && e4Path(dir, entry.name, 'BVP') !== null)
    .map((entry) => entry.name)
    .toSorted();
}

/** Reads the sensors of one Empatica E4 folder. */
export function readE4(dir: string, name: string): E4Recording {
  const at = (sensor: string): string => {
    const path = e4Path(dir, name, sensor);
    if (path === null) throw new RangeError(`${join(dir, name)}: an Empatica folder without ${sensor}.csv or ${sensor}.csv.gz`);
    return path;
  };
  const ibiPath = e4Path(dir, name, 'IBI');
  const ibi = ibiPath === null ? [] : readTable(ibiPath, true).columns;
  const hrPath = e4Path(dir, name, 'HR');
  return {
    name,
    bvp: readE4Signal(at('BVP'), 1),
    eda: readE4Signal(at('EDA'), 1),
    acc: readE4Signal(at('ACC'), 64),
    temp: readE4Signal(at('TEMP'), 1),
    hr: hrPath === null ? null : readE4Signal(hrPath, 1),
    ibi: {
      timeSec: ibi[0] ?? new Float64Array(0),
      ibiSec: ibi[1] ?? new Float64Array(0),
    },
  };
}

/** Gzipped or plain; null where there is neither. */
function e4Path(dir: string, name: string, sensor: string): string | null {
  return [`${sensor}.csv.gz`, `${sensor}.csv`].map((file) => join(dir, name, file)).find((path) => existsSync(path)) ?? null;
}

/** @param lsbPerUnit the file's values are divided by it */
function readE4Signal(path: string, lsbPerUnit: number): E4Signal {
  const { columns, rowCount } = readTable(path, false);
  const first = columns[0];
  if (first === undefined || rowCount < 2) throw new RangeError(`${path}: no start and rate rows`);
  return {
    startUnixSec: first[0]!,
    fs: first[1]!,
    columns: columns.map((column) => column.subarray(2).map((value) => value / lsbPerUnit)),
  };
}

function listBySuffix(dir: string, suffix: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .toSorted();
}

function toIndices(column: Float64Array | undefined): Int32Array {
  return Int32Array.from((column ?? new Float64Array(0)).filter((value) => !Number.isNaN(value)));
}

/** Reads a CSV of plain decimals. Parsed from bytes: 8x faster than split and Number, and a recording is 360,000 fields. */
function readTable(path: string, hasHeader: boolean): Table {
  const file = readFileSync(path);
  const bytes = path.endsWith('.gz') ? gunzipSync(file) : file;
  const firstEnd = bytes.indexOf(10) < 0 ? bytes.length : bytes.indexOf(10);
  const firstLine = bytes
    .toString('latin1', 0, firstEnd)
    .split(',')
    .map((field) => field.trim());
  const width = firstLine.length;
  let rowsMax = 1;
  for (let i = bytes.indexOf(10); i >= 0; i = bytes.indexOf(10, i + 1)) rowsMax++;
  const columns = firstLine.map(() => new Float64Array(rowsMax).fill(Number.NaN));
  let row = 0;
  let at = hasHeader ? firstEnd + 1 : 0;
  while (at < bytes.length) {
    let end = bytes.indexOf(10, at);
    if (end < 0) end = bytes.length;
    let field = at;
    for (let c = 0; c < width && field < end; c++) {
      let stop = field;
      while (stop < end && bytes[stop] !== 44) stop++;
      columns[c]![row] = parseDecimal(bytes, field, stop);
      field = stop + 1;
    }
    if (end > at) row++;
    at = end + 1;
  }
  return { header: firstLine, columns: columns.map((column) => column.subarray(0, row)), rowCount: row };
}

const powersOf10 = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

/** A plain decimal is digits / 10^k: one exact division, so the result is the nearest double, as Number() gives. */
function parseDecimal(bytes: Uint8Array, from: number, to: number): number {
  let mantissa = 0;
  let digits = 0;
  let decimals = -1;
  let negative = false;
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!;
    if (byte >= 48 && byte <= 57) {
      mantissa = mantissa * 10 + (byte - 48);
      digits++;
      if (decimals >= 0) decimals++;
    } else if (byte === 46 && decimals < 0) decimals = 0;
    else if (byte === 45 && digits === 0) negative = true;
    else if (byte === 32 || byte === 13) continue;
    else return slowDecimal(bytes, from, to);
  }
  if (digits === 0) return Number.NaN;
  if (digits > 15) return slowDecimal(bytes, from, to);
  const value = decimals > 0 ? mantissa / powersOf10[decimals]! : mantissa;
  return negative ? -value : value;
}

function slowDecimal(bytes: Uint8Array, from: number, to: number): number {
  const text = Buffer.from(bytes.subarray(from, to)).toString('latin1').trim();
  return text === '' ? Number.NaN : Number(text);
}
