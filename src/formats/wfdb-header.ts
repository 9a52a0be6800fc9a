/** Reads WFDB headers (.hea): header(5) of the WFDB Applications Guide (Moody). The files are untrusted: data files are named only by plain
 *  names inside the header's own folder, and every count, length and number is checked before memory is allocated.
 *  Not read: multi-segment records (their headers say `name/segments`). */
import { isRejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { isRecordable } from '../signal.ts';
import { civilTimeNs } from './civil-time.ts';
import { bad, orThrow, plainName, integer, decimal, short } from './wfdb-fields.ts';
import { readBounded } from './wfdb-files.ts';
import { formats, isFormat } from './wfdb-samples.ts';
import type { WfdbFormat } from './wfdb-samples.ts';

const HEADER_BYTES_MAX = 65_536;
const SIGNAL_COUNT_MAX = 256;

/** Samples of all leads together: 24 h of 12 leads at 250 Hz is 259 million. 1 GiB as Int32. */
export const SAMPLE_COUNT_MAX = 268_435_456;

const SAMPLES_PER_FRAME_MAX = 1_000;
export const RATE_MAX = 1_000_000; // Hz
const DEFAULT_GAIN = 200; // header(5): used where the gain is absent or 0
const DEFAULT_FRAME_RATE = 250; // header(5)

/** One signal line of a header. physical = (digital - baseline) / gain. */
export type WfdbSignal = Readonly<{
  file: string;
  format: WfdbFormat;
  samplesPerFrame: number;
  /** Samples by which this signal lags in the file. */
  skew: number;
  /** Bytes before the first sample of the file. */
  byteOffset: number;
  gain: number;
  baseline: number;
  unit: string;
  adcResolution: number;
  adcZero: number;
  /** The sample before the first one: where the differences of format 8 begin. */
  initial: number;
  /** 16-bit sum of all samples, or null where the header has none. */
  checksum: number | null;
  /** Description, e.g. `MLII`; `signal 0` where the header has none. */
  name: string;
}>;

export type WfdbHeader = Readonly<{
  name: string;
  /** Frames per second; a lead of n samples per frame runs at n times this rate. */
  fs: number;
  /** Frames; 0 where the header leaves it to the file size. */
  frameCount: number;
  /** `HH:MM:SS DD/MM/YYYY` as written, or empty. */
  baseTime: string;
  /** Unix ns of the first sample: of the comment `start_unix_ns`, as our own exports write it, else of base time and date, taken as UTC.
   *  Null where the header has no date, or one outside of 1900 to 2199. */
  startUnixNs: bigint | null;
  signals: readonly WfdbSignal[];
  comments: readonly string[];
}>;

/** Reads a header.
 *  @param path of the .hea file; the extension may be left out
 *  @throws PipelineError validation_failed when it is not a header that this reader accepts, not_found when there is none */
export async function readHeader(path: string): Promise<WfdbHeader> {
  const headerPath = path.endsWith('.hea') ? path : `${path}.hea`;
  const bytes = await readBounded(headerPath, HEADER_BYTES_MAX);
  return orThrow(parseHeader(bytes.toString('latin1')), headerPath);
}

/** Parses the text of a header. */
export function parseHeader(text: string): WfdbHeader | Rejected {
  const comments: string[] = [];
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed.startsWith('#')) comments.push(trimmed.slice(1).trim());
    else if (trimmed !== '') lines.push(trimmed);
  }
  const record = lines[0]?.split(/\s+/) ?? [];
  const name = record[0] ?? '';
  if (name.includes('/')) return bad(`record "${short(name)}": multi-segment records are not read`);
  if (!plainName(name)) return bad(`record name "${short(name)}" is not a plain name`);
  const signalCount = integer(record[1], 0, SIGNAL_COUNT_MAX);
  if (signalCount === null) return bad(`signal count "${short(record[1])}" is not 0..${SIGNAL_COUNT_MAX}`);
  const fs = record[2] === undefined ? DEFAULT_FRAME_RATE : decimal(record[2].split(/[/(]/)[0]);
  if (fs === null || fs <= 0 || fs > RATE_MAX) return bad(`sampling rate "${short(record[2])}" is not within 0..${RATE_MAX} Hz`);
  const frameCount = record[3] === undefined ? 0 : integer(record[3], 0, SAMPLE_COUNT_MAX);
  if (frameCount === null) return bad(`sample count "${short(record[3])}" is not 0..${SAMPLE_COUNT_MAX}`);
  if (lines.length - 1 < signalCount) return bad(`${signalCount} signals announced, ${lines.length - 1} described`);

  const signals: WfdbSignal[] = [];
  for (let i = 0; i < signalCount; i++) {
    const signal = parseSignalLine(lines[i + 1]!, i);
    if (isRejected(signal)) return signal;
    const earlier = signals.findIndex((s) => s.file === signal.file);
    if (earlier >= 0 && signals[i - 1]!.file !== signal.file) return bad(`signal ${i}: file "${signal.file}" returns after another file`);
    if (earlier >= 0 && (signals[earlier]!.format !== signal.format || signals[earlier]!.byteOffset !== signal.byteOffset)) {
      return bad(`signal ${i}: file "${signal.file}" has two formats or offsets`);
    }
    signals.push(signal);
  }
  const baseTime = record.slice(4, 6).join(' ');
  return { name, fs, frameCount, baseTime, startUnixNs: startOf(baseTime, comments), signals, comments };
}

function startOf(baseTime: string, comments: readonly string[]): bigint | null {
  for (const comment of comments) {
    const exact = /^start_unix_ns (-?\d{1,19})$/.exec(comment)?.[1];
    if (exact !== undefined && isRecordable(BigInt(exact))) return BigInt(exact);
  }
  const match = /^(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d{1,12})?) (\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(baseTime);
  if (match === null) return null;
  const [, hour, minute, second, day, month, year] = match;
  return civilTimeNs({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: second!,
  });
}

function parseSignalLine(line: string, i: number): WfdbSignal | Rejected {
  const field = line.split(/\s+/);
  const file = field[0] ?? '';
  if (!plainName(file)) return bad(`signal ${i}: file "${short(file)}" is not a plain name in the header's folder`);
  const layout = /^(\d+)(?:x(\d+))?(?::(\d+))?(?:\+(\d+))?$/.exec(field[1] ?? '');
  const format = Number(layout?.[1]);
  if (layout === null || !isFormat(format))
    return bad(`signal ${i}: format "${short(field[1])}" is not one of ${Object.keys(formats).join(', ')}`);
  const samplesPerFrame = layout[2] === undefined ? 1 : integer(layout[2], 1, SAMPLES_PER_FRAME_MAX);
  const skew = layout[3] === undefined ? 0 : integer(layout[3], 0, SAMPLE_COUNT_MAX);
  const byteOffset = layout[4] === undefined ? 0 : integer(layout[4], 0, SAMPLE_COUNT_MAX);
  if (samplesPerFrame === null || skew === null || byteOffset === null)
    return bad(`signal ${i}: format "${short(field[1])}" is out of range`);

  const scale = /^([0-9.eE+-]+)(?:\((-?\d+)\))?(?:\/(\S{1,32}))?$/.exec(field[2] ?? String(DEFAULT_GAIN));
  const gain = decimal(scale?.[1]);
  if (scale === null || gain === null) return bad(`signal ${i}: gain "${short(field[2])}" is malformed`);
  const adcResolution = field[3] === undefined ? formats[format].bits : integer(field[3], 0, 32);
  const adcZero = field[4] === undefined ? 0 : integer(field[4], -2_147_483_648, 2_147_483_647);
  if (adcResolution === null || adcZero === null) return bad(`signal ${i}: ADC resolution or zero is malformed`);
  const baseline = scale[2] === undefined ? adcZero : integer(scale[2], -2_147_483_648, 2_147_483_647);
  if (baseline === null) return bad(`signal ${i}: baseline "${scale[2]}" is out of range`);
  const initial = field[5] === undefined ? adcZero : integer(field[5], -2_147_483_648, 2_147_483_647);
  if (initial === null) return bad(`signal ${i}: initial value "${short(field[5])}" is malformed`);
  const checksum = field[6] === undefined ? null : integer(field[6], -65_536, 65_536);
  return {
    file,
    format,
    samplesPerFrame,
    skew,
    byteOffset,
    gain: gain === 0 ? DEFAULT_GAIN : gain,
    baseline,
    unit: scale[3] ?? 'mV',
    adcResolution,
    adcZero,
    initial,
    checksum,
    name: field.slice(8).join(' ').slice(0, 64) || `signal ${i}`,
  };
}
