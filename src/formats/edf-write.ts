/** Writes EDF+C, and EDF+D where the samples have gaps. The format's sources stand in edf-read.ts. */
import { asciiOf } from './ascii.ts';
import { ANNOTATIONS_LABEL, YEAR_SHORT_MAX, YEAR_SHORT_MIN } from './edf-common.ts';
import type { EdfAnnotation } from './edf-common.ts';

const SECOND_NS = 1_000_000_000n;
/** EDF advises records of no more. */
const RECORD_BYTES_ADVISED = 61_440;

export type EdfSignalToWrite = Readonly<{
  /** e.g. `ECG II`; at most 16 characters of ASCII. */
  label: string;
  /** Spelled in ASCII and cut to 8 characters. */
  unit: string;
  /** Nano-hertz. */
  rateNanoHz: number;
  gain: number;
  baseline: number;
  /** Seconds of the first sample after the start of the file, a whole number of samples. */
  samples: Int32Array;
  transducer?: string;
  prefilter?: string;
}>;

export type EdfToWrite = Readonly<{
  /** Its fraction of a second is kept as the onset of the first record, as EDF+ does. Null: 1985-01-01, EDF+'s unknown date. */
  startUnixNs: bigint | null;
  signals: readonly EdfSignalToWrite[];
  annotations?: readonly EdfAnnotation[];
  /** The value that stands for a missing sample in `samples`. */
  missing: number;
  /** EDF+C whatever is missing: records that no signal has are written too, with the values before. */
  isContinuous?: boolean;
  /** For the header; letters and digits, '' = unknown. Personal data are the caller's decision. */
  patientCode?: string;
  equipment?: string;
}>;

export type EdfWritten = Readonly<{
  bytes: Uint8Array;
  /** Labels of signals whose values did not fit 16 bits and were divided (by the number); empty: digital values are exact. */
  rescaled: readonly Readonly<{ label: string; by: number }>[];
  /** Largest relative error of a gain, because EDF writes ranges with 8 characters. */
  gainError: number;
}>;

/** Writes EDF+C, or EDF+D when whole records are missing from every signal, unless it is to be continuous. Other missing samples hold the
 *  value before and are named by an annotation "missing LABEL" with their duration.
 *  @throws RangeError on rates that no record length up to 60 s makes whole, and on texts that the format cannot carry */
export function writeEdf(file: EdfToWrite): EdfWritten {
  const { signals, missing } = file;
  // Without signals: records of 0 s that hold the annotations, as the specification of EDF+ has it.
  const durationSec = signals.length === 0 ? 0 : recordDuration(signals.map(({ rateNanoHz }) => rateNanoHz));
  const widths = signals.map(({ rateNanoHz }) => Math.round((rateNanoHz * durationSec) / 1e9));
  const recordTotal = Math.max(0, ...signals.map(({ samples }, i) => Math.ceil(samples.length / widths[i]!)));
  const annotations = [...(file.annotations ?? [])];
  const scales = signals.map((signal) => chooseScale(signal, missing));
  const kept: number[] = signals.length === 0 ? [0] : [];
  for (let record = 0; record < recordTotal; record++) {
    if (
      file.isContinuous === true ||
      signals.some(({ samples }, i) => hasSample(samples, record * widths[i]!, (record + 1) * widths[i]!, missing))
    )
      kept.push(record);
  }
  const keptSet = new Set(kept);
  for (const [i, signal] of signals.entries()) {
    annotations.push(...missingStretches(signal, widths[i]!, recordTotal, durationSec, keptSet, missing));
  }
  const startNs = file.startUnixNs ?? 0n;
  const fraction = Number(startNs - wholeSeconds(startNs) * SECOND_NS) / 1e9;
  const sampleBytes = 2 * widths.reduce((sum, width) => sum + width, 0);
  const { lists, listWidth } = distribute(annotations, kept, durationSec, fraction, sampleBytes);

  const recordBytes = sampleBytes + 2 * listWidth;
  const headerBytes = 256 * (signals.length + 2);
  const bytes = new Uint8Array(headerBytes + recordBytes * lists.length);
  const contiguous = kept.every((record, i) => record === i);
  bytes.set(header(file, contiguous, lists.length, durationSec, widths, scales, listWidth, headerBytes));
  let at = headerBytes;
  const last = scales.map(({ digitalMin, digitalMax }) => Math.max(digitalMin, Math.min(digitalMax, 0)));
  for (const [index, list] of lists.entries()) {
    const record = kept[index] ?? 0;
    for (const [i, { samples }] of signals.entries()) {
      const { shift, by } = scales[i]!;
      for (let k = record * widths[i]!; k < (record + 1) * widths[i]!; k++, at += 2) {
        const value = k < samples.length ? samples[k]! : missing;
        if (value !== missing) last[i] = Math.round((value - shift) / by);
        bytes[at] = last[i]! & 0xff;
        bytes[at + 1] = (last[i]! >> 8) & 0xff;
      }
    }
    let end = at;
    for (const tal of list) {
      bytes.set(tal, end);
      end += tal.length;
    }
    at += 2 * listWidth;
  }
  const rescaled = signals.flatMap(({ label }, i) => (scales[i]!.by === 1 ? [] : [{ label, by: scales[i]!.by }]));
  return { bytes, rescaled, gainError: Math.max(0, ...scales.map((scale) => scale.gainError)) };
}

/** Shortest whole number of seconds in which every channel has a whole number of samples. */
function recordDuration(rates: readonly number[]): number {
  for (let sec = 1; sec <= 60; sec++) if (rates.every((rate) => (rate * sec) % 1e9 === 0)) return sec;
  throw new RangeError(`no record of at most 60 s holds whole samples of ${rates.map((rate) => rate / 1e9).join(', ')} Hz`);
}

type Scale = Readonly<{
  /** digital written = (digital - shift) / by */
  shift: number;
  by: number;
  digitalMin: number;
  digitalMax: number;
  physicalMin: string;
  physicalMax: string;
  gainError: number;
}>;

/** Digital ranges tried, the smallest of the most exact: round ones, in which physical ends of 8 characters are exact for most gains.
 *  Viewers draw a signal from one end of its range to the other. */
const ranges = [400, 1000, 2000, 4000, 6000, 8000, 10_000, 12_000, 16_000, 20_000, 25_000, 30_000, 32_000, 32_767, 32_768] as const;

function chooseScale({ samples, gain, baseline, label }: EdfSignalToWrite, missing: number): Scale {
  let low = Infinity;
  let high = -Infinity;
  for (const value of samples) {
    if (value === missing) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) low = high = 0;
  const by = Math.max(1, Math.ceil((high - low) / 60_000));
  // Values that fit are written as they are; others are moved to the middle of the 16 bits first.
  const shift = by === 1 && low >= -32_768 && high <= 32_767 ? 0 : Math.round((low + high) / 2);
  const [lowWritten, highWritten] = [Math.round((low - shift) / by), Math.round((high - shift) / by)];
  let best: Scale | null = null;
  for (const range of ranges) {
    const [digitalMin, digitalMax] = [-range, Math.min(range, 32_767)];
    if (lowWritten < digitalMin || highWritten > digitalMax) continue;
    const physical = (written: number): number => (written * by + shift - baseline) / gain;
    const physicalMin = eight(physical(digitalMin));
    const physicalMax = eight(physical(digitalMax));
    const read = (digitalMax - digitalMin) / (Number(physicalMax) - Number(physicalMin));
    const gainError = Math.abs((read * by) / gain - 1);
    if (best === null || gainError < best.gainError - 1e-12)
      best = { shift, by, digitalMin, digitalMax, physicalMin, physicalMax, gainError };
  }
  if (best === null || !Number.isFinite(best.gainError)) throw new RangeError(`${label}: gain ${gain} does not fit EDF's 8 characters`);
  return best;
}

/** The nearest number that 8 characters can write. */
function eight(value: number): string {
  for (let digits = 7; digits >= 0; digits--) {
    const text = String(Number(value.toFixed(digits)));
    if (text.length <= 8 && !text.includes('e')) return text;
  }
  throw new RangeError(`${value} does not fit 8 characters`);
}

function hasSample(samples: Int32Array, from: number, to: number, missing: number): boolean {
  for (let k = from; k < Math.min(to, samples.length); k++) if (samples[k] !== missing) return true;
  return false;
}

function missingStretches(
  { label, samples, rateNanoHz }: EdfSignalToWrite,
  width: number,
  recordTotal: number,
  durationSec: number,
  kept: ReadonlySet<number>,
  missing: number,
): EdfAnnotation[] {
  const found: EdfAnnotation[] = [];
  const absent = (k: number): boolean => kept.has(Math.floor(k / width)) && (k >= samples.length || samples[k] === missing);
  const end = recordTotal * width;
  for (let k = 0; k < end; k++) {
    if (!absent(k)) continue;
    const from = k;
    while (k < end && absent(k)) k++;
    found.push({ onsetSec: (from * durationSec) / width, durationSec: ((k - from) / rateNanoHz) * 1e9, text: `missing ${label}` });
  }
  return found;
}

type Lists = Readonly<{
  /** Of every record: its own time, then annotations. */
  lists: readonly (readonly Uint8Array[])[];
  /** Of the longest, in 2 bytes. */
  listWidth: number;
}>;

/** Which annotations stand in which record. Every record of a file is as wide as the longest list, so that is the record which covers an
 *  annotation (or the next, in a gap) as long as the lists take no more than the samples; what is beyond goes into records near it, which
 *  EDF+ allows: the onset says when it was. */
function distribute(
  annotations: readonly EdfAnnotation[],
  kept: readonly number[],
  durationSec: number,
  fraction: number,
  sampleBytes: number,
): Lists {
  const encoder = new TextEncoder();
  const times = kept.map((record) => encoder.encode(`+${seconds(record * durationSec + fraction)}\u0014\u0014\u0000`));
  const tals: Tal[] = [];
  let index = 0;
  for (const { onsetSec, durationSec: length, text } of annotations.toSorted((a, b) => a.onsetSec - b.onsetSec)) {
    const record = Math.floor(onsetSec / durationSec);
    while (index < kept.length - 1 && kept[index]! < record) index++;
    const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ' '); // eslint-disable-line no-control-regex
    const stated = Number.isNaN(length) ? '' : `\u0015${seconds(length)}`;
    const onset = onsetSec + fraction;
    const bytes = encoder.encode(`${onset < 0 ? '-' : '+'}${seconds(Math.abs(onset))}${stated}\u0014${clean}\u0014\u0000`);
    tals.push({ index, bytes });
  }
  const timeBytes = times.reduce((most, { length }) => Math.max(most, length), 0);
  const talBytes = tals.reduce((most, { bytes }) => Math.max(most, bytes.length), 0);
  const advised = RECORD_BYTES_ADVISED - sampleBytes;
  let widest = Math.max(32, timeBytes + talBytes, Math.min(sampleBytes === 0 ? Infinity : sampleBytes, advised));
  for (;;) {
    const lists = kept.length === 0 ? [] : fill(times, tals, widest, sampleBytes === 0);
    if (lists !== null) {
      const longest = lists.reduce((most, list) => Math.max(most, lengthOf(list)), 32);
      return { lists, listWidth: Math.ceil(longest / 2) };
    }
    const wider = Math.ceil(widest * 1.25);
    widest = widest < advised ? Math.min(wider, advised) : wider;
  }
}

/** A time-stamped annotation list, and the record that it belongs to. */
type Tal = Readonly<{ index: number; bytes: Uint8Array }>;

/** Into the record that each belongs to or the next with room; those that find none up to the end, from the end back.
 *  @param mayAdd records of the first time, after the last  @returns null: they do not fit */
function fill(times: readonly Uint8Array[], tals: readonly Tal[], bytesMax: number, mayAdd: boolean): Uint8Array[][] | null {
  const lists = times.map((time) => [time]);
  const used = times.map(({ length }) => length);
  const put = (at: number, bytes: Uint8Array): boolean => {
    if (used[at]! + bytes.length > bytesMax) return false;
    lists[at]!.push(bytes);
    used[at]! += bytes.length;
    return true;
  };
  let at = 0;
  let back = lists.length - 1;
  for (const { index, bytes } of tals) {
    at = Math.max(at, index);
    while (at < lists.length && !put(at, bytes)) at++;
    if (at < lists.length) continue;
    if (mayAdd) {
      lists.push([times[0]!, bytes]);
      used.push(times[0]!.length + bytes.length);
    } else {
      while (back >= 0 && !put(back, bytes)) back--;
      if (back < 0) return null;
    }
  }
  return lists;
}

const lengthOf = (list: readonly Uint8Array[]): number => list.reduce((sum, { length }) => sum + length, 0);

/** Plain decimals with at most 9 digits after the point. */
function seconds(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '');
}

function header(
  file: EdfToWrite,
  contiguous: boolean,
  recordCount: number,
  durationSec: number,
  widths: readonly number[],
  scales: readonly Scale[],
  listWidth: number,
  headerBytes: number,
): Uint8Array {
  const known = file.startUnixNs !== null;
  const start = new Date(file.startUnixNs === null ? Date.UTC(1985, 0, 1) : Number(wholeSeconds(file.startUnixNs)) * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const month = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'][start.getUTCMonth()]!;
  const day = two(start.getUTCDate());
  const year = start.getUTCFullYear();
  const yy = year < YEAR_SHORT_MIN || year > YEAR_SHORT_MAX ? 'yy' : two(year % 100);
  const word = (text: string | undefined): string => (text === undefined || text === '' ? 'X' : text.replace(/[^\x21-\x7e]/g, '_'));
  let text = '';
  const put = (value: string, width: number): void => {
    if (!/^[\x20-\x7e]*$/.test(value)) throw new RangeError(`"${value}" is not printable ASCII`);
    if (value.length > width) throw new RangeError(`"${value}" is longer than ${width} characters`);
    text += value.padEnd(width);
  };
  put('0', 8);
  put(`${word(file.patientCode)} X X X`, 80);
  put(`Startdate ${known ? `${day}-${month}-${year}` : 'X'} X X ${word(file.equipment)}`, 80);
  put(`${day}.${two(start.getUTCMonth() + 1)}.${yy}`, 8);
  put(`${two(start.getUTCHours())}.${two(start.getUTCMinutes())}.${two(start.getUTCSeconds())}`, 8);
  put(String(headerBytes), 8);
  put(contiguous ? 'EDF+C' : 'EDF+D', 44);
  put(String(recordCount), 8);
  put(String(durationSec), 8);
  put(String(file.signals.length + 1), 4);
  const each = (width: number, value: (signal: EdfSignalToWrite, scale: Scale, i: number) => string, ofList: string): void => {
    for (const [i, signal] of file.signals.entries()) put(value(signal, scales[i]!, i), width);
    put(ofList, width);
  };
  each(16, ({ label }) => label, ANNOTATIONS_LABEL);
  each(80, ({ transducer }) => transducer ?? '', '');
  each(8, ({ unit }) => asciiOf(unit).slice(0, 8), '');
  each(8, (_, scale) => scale.physicalMin, '-1');
  each(8, (_, scale) => scale.physicalMax, '1');
  each(8, (_, scale) => String(scale.digitalMin), '-32768');
  each(8, (_, scale) => String(scale.digitalMax), '32767');
  each(80, ({ prefilter }) => prefilter ?? '', '');
  each(8, (_signal, _scale, i) => String(widths[i]), String(listWidth));
  each(32, () => '', '');
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Whole seconds since 1970, rounded down before it too. */
function wholeSeconds(unixNs: bigint): bigint {
  return unixNs / SECOND_NS - (unixNs % SECOND_NS < 0n ? 1n : 0n);
}
