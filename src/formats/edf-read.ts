/** Reads EDF, EDF+C and EDF+D with annotations (European Data Format: Kemp et al. 1992, doi:10.1016/0013-4694(92)90009-7; EDF+: Kemp &
 *  Olivan 2003, doi:10.1016/S1388-2457(03)00123-8; specification at edfplus.info). BDF (24 bits) is not read.
 *
 *  Files are untrusted: every number of the header is checked against the file's size before memory is taken, and a file that breaks the
 *  specification is Rejected with the field that does. */
import { rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { isRecordable } from '../signal.ts';
import { civilTimeNs } from './civil-time.ts';
import { ANNOTATIONS_LABEL, YEAR_SHORT_MIN } from './edf-common.ts';
import type { EdfAnnotation } from './edf-common.ts';

const SIGNAL_COUNT_MAX = 512;
const RECORD_COUNT_MAX = 10_000_000;
const SAMPLES_PER_RECORD_MAX = 1_000_000;
const ANNOTATION_COUNT_MAX = 1_000_000;
const RATE_MAX = 1_000_000; // Hz

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

/** Takes off what the subtraction of decimals leaves. */
const roundNs = (sec: number): number => Math.round(sec * 1e9) / 1e9;

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
