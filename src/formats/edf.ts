/** Reads and writes EDF and EDF+ (European Data Format: Kemp et al. 1992, doi:10.1016/0013-4694(92)90009-7; EDF+: Kemp & Olivan 2003,
 *  doi:10.1016/S1388-2457(03)00123-8; specification at edfplus.info).
 *
 *  Files are untrusted: every number of the header is checked against the file's size before memory is taken, and a file that breaks the
 *  specification is Rejected with the field that does. Read: EDF, EDF+C, EDF+D with annotations. Not read: BDF (24 bits).
 *  Written: EDF+C, and EDF+D where the samples have gaps. */
import { rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { isRecordable } from '../signal.ts';
import { civilTimeNs } from './civil-time.ts';

const SIGNAL_COUNT_MAX = 512;
const RECORD_COUNT_MAX = 10_000_000;
const SAMPLES_PER_RECORD_MAX = 1_000_000;
const ANNOTATION_COUNT_MAX = 1_000_000;
const ANNOTATIONS_LABEL = 'EDF Annotations';
const SECOND_NS = 1_000_000_000n;
const RATE_MAX = 1_000_000; // Hz
/** Years that two digits stand for. */
const YEAR_SHORT_MIN = 1985;
const YEAR_SHORT_MAX = 2084;

/** One ordinary signal. physical = (digital - baseline) / gain. */
export type EdfSignal = Readonly<{
  label: string;
  transducer: string;
  unit: string;
  prefilter: string;
  fs: number;
  rateNanoHz: number;
  samplesPerRecord: number;
  gain: number;
  baseline: number;
  digitalMin: number;
  digitalMax: number;
  /** All records joined; where an EDF+D file has gaps, see recordStartSec. */
  samples: Int16Array;
}>;

export type EdfAnnotation = Readonly<{
  /** Seconds after the start of the first record. */
  onsetSec: number;
  /** NaN where the file states none. */
  durationSec: number;
  text: string;
}>;

export type EdfFile = Readonly<{
  variant: 'edf' | 'edf+c' | 'edf+d';
  patient: string;
  recording: string;
  /** Unix ns of the start of the first record: local time of the recorder, taken as UTC, with its fraction in EDF+. Null without a valid
   *  date from 1900 to 2199. */
  startUnixNs: bigint | null;
  recordDurationSec: number;
  /** Start of every data record after the start of the first, s. */
  recordStartSec: Float64Array;
  signals: readonly EdfSignal[];
  annotations: readonly EdfAnnotation[];
}>;

// ---- reading -------------------------------------------------------------------------------------------------------------------

/** Parses a whole file. @returns Rejected validation_failed that names the field */
export function parseEdf(bytes: Uint8Array): EdfFile | Rejected {
  if (bytes.length < 256) return bad(`${bytes.length} bytes, a header has 256`);
  const ascii = (from: number, length: number): string => latin1(bytes, from, length).trim();
  if (bytes[0] === 0xff) return bad('BDF (24 bits) is not read');
  if (ascii(0, 8) !== '0') return bad(`version "${ascii(0, 8).slice(0, 8)}" is not 0`);
  const headerBytes = count(ascii(184, 8), 256, 256 * (SIGNAL_COUNT_MAX + 1));
  const signalCount = count(ascii(252, 4), 1, SIGNAL_COUNT_MAX);
  if (signalCount === null) return bad(`number of signals "${ascii(252, 4)}" is not 1..${SIGNAL_COUNT_MAX}`);
  if (headerBytes !== 256 * (signalCount + 1)) return bad(`header bytes "${ascii(184, 8)}" for ${signalCount} signals`);
  if (bytes.length < headerBytes) return bad(`file of ${bytes.length} bytes ends within its header of ${headerBytes}`);
  const recordDurationSec = decimal(ascii(244, 8));
  if (recordDurationSec === null || recordDurationSec < 0 || recordDurationSec > 86_400) {
    return bad(`duration of a record "${ascii(244, 8)}" is not 0..86400 s`);
  }
  const reserved = ascii(192, 44);
  const variant = reserved.startsWith('EDF+C') ? 'edf+c' : reserved.startsWith('EDF+D') ? 'edf+d' : 'edf';

  const fields: Fields[] = [];
  let recordBytes = 0;
  for (let i = 0; i < signalCount; i++) {
    const signal = parseSignal(bytes, signalCount, i, recordDurationSec);
    if ('rejected' in signal) return signal;
    fields.push(signal);
    recordBytes += 2 * signal.samplesPerRecord;
  }
  const present = Math.floor((bytes.length - headerBytes) / recordBytes);
  // -1: still being recorded when it was written. A count beyond the file's end is what a cut-off copy has: what is there is read.
  const stated = ascii(236, 8) === '-1' ? present : count(ascii(236, 8), 0, RECORD_COUNT_MAX);
  if (stated === null) return bad(`number of records "${ascii(236, 8)}" is not -1..${RECORD_COUNT_MAX}`);
  const recordCount = Math.min(stated, present);

  const recordStartSec = Float64Array.from({ length: recordCount }, (_, i) => i * recordDurationSec);
  const annotations: EdfAnnotation[] = [];
  const signals: EdfSignal[] = [];
  let offset = headerBytes;
  let timeKept = false;
  for (const field of fields) {
    if (variant !== 'edf' && field.label === ANNOTATIONS_LABEL) {
      const onsets = timeKept ? null : recordStartSec;
      timeKept = true;
      const fault = readAnnotations(bytes, { offset, recordBytes, recordCount, length: 2 * field.samplesPerRecord }, onsets, annotations);
      if (fault !== null) return fault;
    } else {
      signals.push(readSignal(bytes, field, offset, recordBytes, recordCount, recordDurationSec));
    }
    offset += 2 * field.samplesPerRecord;
  }
  if (variant === 'edf+d' && !timeKept) return bad('EDF+D without a signal "EDF Annotations"');
  const fraction = recordStartSec[0] ?? 0; // the header's time is in whole seconds
  const startNs = startTime(ascii(168, 8), ascii(176, 8), ascii(88, 80));
  for (let i = 0; i < recordStartSec.length; i++) recordStartSec[i] = roundNs(recordStartSec[i]! - fraction);
  return {
    variant,
    patient: ascii(8, 80),
    recording: ascii(88, 80),
    startUnixNs: withFraction(startNs, fraction),
    recordDurationSec,
    recordStartSec,
    signals,
    annotations: annotations
      .map((annotation) => ({ ...annotation, onsetSec: roundNs(annotation.onsetSec - fraction) }))
      .toSorted((a, b) => a.onsetSec - b.onsetSec),
  };
}

type Fields = Omit<EdfSignal, 'samples' | 'fs' | 'rateNanoHz'>;

function parseSignal(bytes: Uint8Array, signalCount: number, i: number, durationSec: number): Fields | Rejected {
  // The header keeps each field of all signals together: 16 bytes of label per signal, then 80 of transducer per signal, and so on.
  const field = (before: number, width: number): string => latin1(bytes, 256 + signalCount * before + i * width, width).trim();
  const label = field(0, 16);
  const name = `signal ${i} "${label}"`;
  const samplesPerRecord = count(field(216, 8), 1, SAMPLES_PER_RECORD_MAX);
  if (samplesPerRecord === null) return bad(`${name}: samples per record "${field(216, 8)}" is not 1..${SAMPLES_PER_RECORD_MAX}`);
  const ends = [field(104, 8), field(112, 8), field(120, 8), field(128, 8)].map(decimal);
  const [physicalMin, physicalMax, digitalMin, digitalMax] = ends;
  const text = { label, transducer: field(16, 80), unit: field(96, 8), prefilter: field(136, 80) };
  if (label === ANNOTATIONS_LABEL) {
    return { ...text, samplesPerRecord, gain: 1, baseline: 0, digitalMin: -32_768, digitalMax: 32_767 };
  }
  if (durationSec === 0) return bad(`${name}: an ordinary signal in records of 0 s`);
  if (samplesPerRecord / durationSec > RATE_MAX) return bad(`${name}: more than ${RATE_MAX} samples per second`);
  if (physicalMin == null || physicalMax == null || physicalMin === physicalMax) return bad(`${name}: physical minimum and maximum`);
  if (digitalMin == null || digitalMax == null || digitalMin >= digitalMax || digitalMin < -32_768 || digitalMax > 32_767) {
    return bad(`${name}: digital minimum and maximum`);
  }
  const gain = (digitalMax - digitalMin) / (physicalMax - physicalMin);
  return { ...text, samplesPerRecord, gain, baseline: digitalMin - physicalMin * gain, digitalMin, digitalMax };
}

function readSignal(
  bytes: Uint8Array,
  field: Fields,
  offset: number,
  recordBytes: number,
  recordCount: number,
  durationSec: number,
): EdfSignal {
  const width = field.samplesPerRecord;
  const samples = new Int16Array(width * recordCount);
  for (let record = 0, k = 0; record < recordCount; record++) {
    let at = offset + record * recordBytes;
    for (let i = 0; i < width; i++, at += 2) samples[k++] = bytes[at]! | (bytes[at + 1]! << 8);
  }
  const fs = width / durationSec;
  return { ...field, fs, rateNanoHz: Math.round((width * 1e9) / durationSec), samples };
}

type Place = Readonly<{ offset: number; recordBytes: number; recordCount: number; length: number }>;

/** Time-stamped annotation lists: +onset [0x15 duration] 0x14 text 0x14 text 0x14 ... 0x00. The first of a record keeps its time. */
function readAnnotations(bytes: Uint8Array, place: Place, starts: Float64Array | null, out: EdfAnnotation[]): Rejected | null {
  const decoder = new TextDecoder('utf-8');
  for (let record = 0; record < place.recordCount; record++) {
    const from = place.offset + record * place.recordBytes;
    let at = from;
    let first = starts !== null;
    while (at < from + place.length && bytes[at] !== 0) {
      let end = at;
      while (end < from + place.length && bytes[end] !== 0) end++;
      const parts = decoder.decode(bytes.subarray(at, end)).split('\u0014');
      const [onsetText = '', durationText] = (parts[0] ?? '').split('\u0015');
      const onsetSec = /^[+-]/.test(onsetText) ? decimal(onsetText) : null;
      if (onsetSec === null) return bad(`record ${record}: annotation at "${onsetText.slice(0, 16)}"`);
      const durationSec = durationText === undefined || durationText === '' ? Number.NaN : decimal(durationText);
      if (durationSec === null || durationSec < 0) return bad(`record ${record}: annotation of duration "${durationText?.slice(0, 16)}"`);
      if (first) starts![record] = onsetSec;
      for (const text of parts.slice(1, -1)) {
        if (text === '') continue; // the one that keeps the record's time
        if (out.length >= ANNOTATION_COUNT_MAX) return bad(`more than ${ANNOTATION_COUNT_MAX} annotations`);
        out.push({ onsetSec, durationSec, text });
      }
      first = false;
      at = end + 1;
    }
    if (first) return bad(`record ${record} does not state its time`);
    if (starts !== null && record > 0 && starts[record]! < starts[record - 1]!) return bad(`record ${record} begins before the one before`);
  }
  return null;
}

function withFraction(startNs: bigint | null, fraction: number): bigint | null {
  const exact = startNs === null ? null : startNs + BigInt(Math.round(fraction * 1e9));
  return exact !== null && isRecordable(exact) ? exact : null;
}

/** dd.mm.yy hh.mm.ss; EDF+ has the full year in "Startdate dd-MMM-yyyy", and the letters yy in the date after 2084. */
function startTime(date: string, time: string, recording: string): bigint | null {
  const d = /^(\d\d)\.(\d\d)\.(\d\d|yy)$/i.exec(date);
  const t = /^(\d\d)\.(\d\d)\.(\d\d)$/.exec(time);
  if (d === null || t === null) return null;
  if (/Startdate X( |$)/.test(recording)) return null; // the date is not known, whatever stands in its place
  const stated = /Startdate \d\d-[A-Z]{3}-(\d{4})/.exec(recording)?.[1];
  const short = Number(d[3]);
  const year = stated === undefined ? (short >= YEAR_SHORT_MIN % 100 ? 1900 : 2000) + short : Number(stated); // NaN, of yy: no date
  return civilTimeNs({ year, month: Number(d[2]), day: Number(d[1]), hour: Number(t[1]), minute: Number(t[2]), second: t[3]! });
}

// ---- writing -------------------------------------------------------------------------------------------------------------------

export type EdfSignalToWrite = Readonly<{
  /** e.g. `ECG II`; at most 16 characters of ASCII. */
  label: string;
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

/** Writes EDF+C, or EDF+D when whole records are missing from every signal. Other missing samples hold the value before and are named by
 *  an annotation "missing LABEL" with their duration.
 *  @throws RangeError on rates that no record length up to 60 s makes whole, and on texts that the format cannot carry */
export function writeEdf(file: EdfToWrite): EdfWritten {
  const { signals, missing } = file;
  // Without signals: one record of 0 s that holds the annotations, as the specification of EDF+ has it.
  const durationSec = signals.length === 0 ? 0 : recordDuration(signals.map(({ rateNanoHz }) => rateNanoHz));
  const widths = signals.map(({ rateNanoHz }) => Math.round((rateNanoHz * durationSec) / 1e9));
  const recordTotal = Math.max(0, ...signals.map(({ samples }, i) => Math.ceil(samples.length / widths[i]!)));
  const annotations = [...(file.annotations ?? [])];
  const scales = signals.map((signal) => chooseScale(signal, missing));
  const kept: number[] = signals.length === 0 ? [0] : [];
  for (let record = 0; record < recordTotal; record++) {
    if (signals.some(({ samples }, i) => hasSample(samples, record * widths[i]!, (record + 1) * widths[i]!, missing))) kept.push(record);
  }
  const keptSet = new Set(kept);
  for (const [i, signal] of signals.entries()) {
    annotations.push(...missingStretches(signal, widths[i]!, recordTotal, durationSec, keptSet, missing));
  }
  const startNs = file.startUnixNs ?? 0n;
  const fraction = Number(startNs - wholeSeconds(startNs) * SECOND_NS) / 1e9;
  const lists = distribute(annotations, kept, durationSec, fraction);
  const listBytes = Math.max(32, ...lists.map((list) => list.length));
  const listWidth = Math.ceil(listBytes / 2);

  const recordBytes = 2 * (widths.reduce((sum, width) => sum + width, 0) + listWidth);
  const headerBytes = 256 * (signals.length + 2);
  const bytes = new Uint8Array(headerBytes + recordBytes * kept.length);
  const contiguous = kept.every((record, i) => record === i);
  bytes.set(header(file, contiguous, kept.length, durationSec, widths, scales, listWidth, headerBytes));
  let at = headerBytes;
  const last = scales.map(({ digitalMin, digitalMax }) => Math.max(digitalMin, Math.min(digitalMax, 0)));
  for (const [index, record] of kept.entries()) {
    for (const [i, { samples }] of signals.entries()) {
      const { shift, by } = scales[i]!;
      for (let k = record * widths[i]!; k < (record + 1) * widths[i]!; k++, at += 2) {
        const value = k < samples.length ? samples[k]! : missing;
        if (value !== missing) last[i] = Math.round((value - shift) / by);
        bytes[at] = last[i]! & 0xff;
        bytes[at + 1] = (last[i]! >> 8) & 0xff;
      }
    }
    bytes.set(lists[index]!, at);
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

/** Digital ranges tried: wide round ones, in which physical ends of 8 characters are exact for most gains. */
const ranges = [32_000, 30_000, 20_000, 32_768, 25_000, 32_767] as const;

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

/** The annotation list of every kept record, its own time first. An annotation goes into the record that covers it, else the next. */
function distribute(annotations: readonly EdfAnnotation[], kept: readonly number[], durationSec: number, fraction: number): Uint8Array[] {
  const encoder = new TextEncoder();
  const texts = kept.map((record) => `+${seconds(record * durationSec + fraction)}\u0014\u0014\u0000`);
  for (const { onsetSec, durationSec: length, text } of annotations.toSorted((a, b) => a.onsetSec - b.onsetSec)) {
    const record = Math.floor(onsetSec / durationSec);
    let index = kept.findIndex((candidate) => candidate >= record);
    if (index < 0) index = kept.length - 1;
    if (index < 0) break;
    const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ' '); // eslint-disable-line no-control-regex
    const stated = Number.isNaN(length) ? '' : `\u0015${seconds(length)}`;
    const onset = onsetSec + fraction;
    texts[index] += `${onset < 0 ? '-' : '+'}${seconds(Math.abs(onset))}${stated}\u0014${clean}\u0014\u0000`;
  }
  return texts.map((text) => encoder.encode(text));
}

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
  each(8, ({ unit }) => unit, '');
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

/** Takes off what the subtraction of decimals leaves. */
const roundNs = (sec: number): number => Math.round(sec * 1e9) / 1e9;

// ---- small readers -------------------------------------------------------------------------------------------------------------

function latin1(bytes: Uint8Array, from: number, length: number): string {
  let text = '';
  for (let i = from; i < from + length; i++) text += String.fromCharCode(bytes[i] ?? 32);
  return text;
}

function count(text: string, min: number, max: number): number | null {
  if (!/^\d{1,8}$/.test(text)) return null;
  const value = Number(text);
  return value >= min && value <= max ? value : null;
}

function decimal(text: string): number | null {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?$/i.test(text) || text.length > 32) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

const bad = (detail: string): Rejected => rejected('validation_failed', detail);
