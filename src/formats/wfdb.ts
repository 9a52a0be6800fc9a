/** Reads and writes WFDB records (.hea, .dat) and annotation files (.atr and kin), the format of PhysioNet.
 *
 *  Specification: header(5), signal(5), annot(5) of the WFDB Applications Guide (Moody).
 *  The files are untrusted: a header may name data files only by plain names inside its own folder, and every count, length and
 *  number is checked before memory is taken. The parsers return `Rejected`; the functions that open files throw PipelineError.
 *
 *  Read: signal formats 8, 16, 24, 32, 61, 80, 160, 212, 310 and 311, several samples per frame, skew, byte offsets, several files per
 *  record. Not read: multi-segment records (their header says `name/segments`), the FLAC formats, AHA annotations. */

import { constants } from 'node:fs';
import { open, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { isRejected, PipelineError, rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { isRecordable } from '../signal.ts';
import { civilTimeNs } from './civil-time.ts';
import { decodeSamples, formats, isFormat, MISSING_SAMPLE, samplesIn } from './wfdb-samples.ts';
import type { WfdbFormat } from './wfdb-samples.ts';

export { MISSING_SAMPLE } from './wfdb-samples.ts';

const HEADER_BYTES_MAX = 65_536;
const ANNOTATION_BYTES_MAX = 64 * 1024 * 1024;
const SIGNAL_COUNT_MAX = 256;
/** Samples of all leads together: 24 h of 12 leads at 250 Hz is 259 million. 1 GiB as Int32. */
const SAMPLE_COUNT_MAX = 268_435_456;
const SAMPLES_PER_FRAME_MAX = 1_000;
const RATE_MAX = 1_000_000; // Hz
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

export type WfdbLead = Readonly<{
  name: string;
  gain: number;
  baseline: number;
  unit: string;
  fs: number;
  rateNanoHz: number;
  /** Digital values; MISSING_SAMPLE where the recorder had none. */
  samples: Int32Array;
  /** Does the sum of the samples agree with the header? True where the header states none. */
  checksumOk: boolean;
}>;

export type WfdbRecord = Readonly<{
  name: string;
  /** Frame rate in Hz, that of every lead with one sample per frame. */
  fs: number;
  rateNanoHz: number;
  /** See WfdbHeader. */
  startUnixNs: bigint | null;
  leads: readonly WfdbLead[];
  comments: readonly string[];
}>;

export type Annotation = Readonly<{
  /** Sample index at the record's frame rate (or at the file's own time resolution, see AnnotationFile). */
  sample: number;
  /** Mnemonic as WFDB prints it: `N`, `V`, `+`, `~` …; `[n]` for a code without one. */
  code: string;
  /** Does it mark a QRS complex (WFDB's isqrs)? */
  isBeat: boolean;
  subtype: number;
  channel: number;
  number: number;
  /** Text, e.g. `(AFIB` of a rhythm change; usually empty. */
  aux: string;
}>;

/** Where an annotation file states its own time resolution, `timeResolutionHz` has it; else null: the record's frame rate holds. */
export type AnnotationFile = Readonly<{ annotations: readonly Annotation[]; timeResolutionHz: number | null }>;

// ---- reading -------------------------------------------------------------------------------------------------------------------

/** Reads a header.
 *  @param path of the .hea file; the extension may be left out
 *  @throws PipelineError validation_failed when it is not a header that this reader accepts, not_found when there is none */
export async function readHeader(path: string): Promise<WfdbHeader> {
  const headerPath = path.endsWith('.hea') ? path : `${path}.hea`;
  const bytes = await readBounded(headerPath, HEADER_BYTES_MAX);
  return orThrow(parseHeader(bytes.toString('latin1')), headerPath);
}

/** Reads a record whole: header and all of its samples.
 *  @param path of the .hea file; the extension may be left out */
export async function readRecord(path: string): Promise<WfdbRecord> {
  const header = await readHeader(path);
  const folder = dirname(path);
  const leads: WfdbLead[] = [];
  for (let first = 0; first < header.signals.length;) {
    let end = first + 1;
    while (end < header.signals.length && header.signals[end]!.file === header.signals[first]!.file) end++;
    const group = header.signals.slice(first, end);
    const bytes = await readInFolder(folder, group[0]!.file);
    leads.push(...orThrow(decodeGroup(bytes, group, header), join(folder, group[0]!.file)));
    first = end;
  }
  const { name, fs, startUnixNs, comments } = header;
  return { name, fs, rateNanoHz: nanoHz(fs), startUnixNs, leads, comments };
}

/** Reads an annotation file whole.
 *  @param path with its annotator as extension, e.g. `100.atr`
 *  @returns annotations in file order, which ascends in time */
export async function readAnnotations(path: string): Promise<readonly Annotation[]> {
  return (await readAnnotationFile(path)).annotations;
}

/** As readAnnotations, with the time resolution of the file. */
export async function readAnnotationFile(path: string): Promise<AnnotationFile> {
  return orThrow(parseAnnotations(await readBounded(path, ANNOTATION_BYTES_MAX)), path);
}

/** Physical values of a lead; NaN where a sample is missing. */
export function physicalSamples(lead: Pick<WfdbLead, 'gain' | 'baseline' | 'samples'>): Float64Array {
  const { samples, gain, baseline } = lead;
  const out = new Float64Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const digital = samples[i]!;
    out[i] = digital === MISSING_SAMPLE ? Number.NaN : (digital - baseline) / gain;
  }
  return out;
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

/** Decodes one data file into the leads that share it. */
export function decodeGroup(bytes: Uint8Array, group: readonly WfdbSignal[], header: WfdbHeader): WfdbLead[] | Rejected {
  const { format, byteOffset, file } = group[0]!;
  let perFrame = 0;
  for (const signal of group) perFrame += signal.samplesPerFrame;
  const skewMax = Math.max(...group.map((signal) => signal.skew));
  const available = samplesIn(Math.max(0, bytes.length - byteOffset), format);
  const frames = header.frameCount === 0 ? Math.floor(available / perFrame) : header.frameCount;
  // Skewed tails may lie beyond the end; those samples are then missing. Everything else must be there.
  if (frames * perFrame > available) return bad(`file "${file}" ends early: ${frames * perFrame} samples announced, ${available} present`);
  if (frames * perFrame > SAMPLE_COUNT_MAX) return bad(`file "${file}": more than ${SAMPLE_COUNT_MAX} samples`);
  const framesStored = Math.min(Math.floor(available / perFrame), frames + skewMax);

  const flat = decodeSamples(bytes.subarray(byteOffset), format, framesStored * perFrame);
  const leads: WfdbLead[] = [];
  let column = 0;
  for (const signal of group) {
    const { samplesPerFrame, skew } = signal;
    if (format === 8) addUp(flat, signal, column, perFrame);
    const samples = new Int32Array(frames * samplesPerFrame);
    const { missing } = formats[format];
    let sum = 0;
    for (let frame = 0; frame < frames; frame++) {
      for (let s = 0; s < samplesPerFrame; s++) {
        const from = frame + skew;
        const value = from < framesStored ? flat[from * perFrame + column + s]! : missing;
        sum = (sum + value) & 0xffff;
        samples[frame * samplesPerFrame + s] = value === missing ? MISSING_SAMPLE : value;
      }
    }
    leads.push({
      name: signal.name,
      gain: signal.gain,
      baseline: signal.baseline,
      unit: signal.unit,
      fs: header.fs * samplesPerFrame,
      rateNanoHz: nanoHz(header.fs) * samplesPerFrame,
      samples,
      checksumOk: signal.checksum === null || (signal.checksum & 0xffff) === sum,
    });
    column += samplesPerFrame;
  }
  return leads;
}

/** Makes samples of the differences of one signal, in place. @param column its first in a frame */
function addUp(flat: Int32Array, { samplesPerFrame, initial }: WfdbSignal, column: number, perFrame: number): void {
  let value = initial;
  for (let frame = 0; frame < flat.length; frame += perFrame)
    for (let s = 0; s < samplesPerFrame; s++) {
      value = (value + flat[frame + column + s]!) | 0;
      flat[frame + column + s] = value;
    }
}

// ---- annotations ---------------------------------------------------------------------------------------------------------------

/** Mnemonics by code, WFDB's ecgcodes.h; index = code. */
const mnemonics = ' NLRaVFJASEj/Q~ | sT*D"=pB^t+u?![]en@xf()r'.split('');
const beatCodes = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 25, 30, 34, 35, 38, 41]);
const SKIP = 59;
const NUM = 60;
const SUB = 61;
const CHN = 62;
const AUX = 63;
const CODE_MAX = 49; // ACMAX: larger ones are pseudo-annotations
const NOTE = 22;
const SAMPLE_MAX = 2 ** 52;

/** Parses an annotation file in MIT format: 16-bit little-endian words, 6 bits of code and 10 of time difference. */
export function parseAnnotations(bytes: Uint8Array): AnnotationFile | Rejected {
  const annotations: Annotation[] = [];
  let timeResolutionHz: number | null = null;
  let sample = 0;
  let channel = 0;
  let number = 0;
  let at = 0;
  for (;;) {
    if (at + 2 > bytes.length) return bad(`annotations end at byte ${at} without their end mark`);
    let code = bytes[at + 1]! >> 2;
    let data = bytes[at]! | ((bytes[at + 1]! & 3) << 8);
    at += 2;
    if (code === 0 && data === 0) break;
    while (code === SKIP) {
      if (at + 6 > bytes.length) return bad(`annotations end within a skip at byte ${at}`);
      // A PDP-11 long: the high half first, each half little-endian.
      sample += (bytes[at]! << 16) | (bytes[at + 1]! << 24) | bytes[at + 2]! | (bytes[at + 3]! << 8);
      code = bytes[at + 5]! >> 2;
      data = bytes[at + 4]! | ((bytes[at + 5]! & 3) << 8);
      at += 6;
    }
    if (code === 0 && data === 0) break;
    if (code > CODE_MAX) return bad(`annotation code ${code} at byte ${at - 2} modifies nothing`);
    sample += data;
    if (sample < 0 || sample > SAMPLE_MAX) return bad(`annotation at byte ${at - 2} lies at sample ${sample}`);

    let subtype = 0;
    let aux = '';
    // The modifiers follow the annotation that they belong to; NUM and CHN hold for the later ones too.
    for (;;) {
      if (at + 2 > bytes.length) break;
      const modifier = bytes[at + 1]! >> 2;
      const value = bytes[at]! | ((bytes[at + 1]! & 3) << 8);
      if (modifier === NUM) number = signedByte(value);
      else if (modifier === SUB) subtype = signedByte(value);
      else if (modifier === CHN) channel = value & 0xff;
      else if (modifier === AUX) {
        if (at + 2 + value > bytes.length) return bad(`annotation text at byte ${at} is cut off`);
        aux = text(bytes, at + 2, value);
        at += value + (value & 1);
      } else break;
      at += 2;
    }
    if (code === NOTE && sample === 0 && aux.startsWith('## ')) {
      const resolution = /^## time resolution: ([0-9.]+)$/.exec(aux);
      if (resolution !== null) timeResolutionHz = decimal(resolution[1]);
      continue; // file-level declarations, not annotations
    }
    annotations.push({ sample, code: mnemonic(code), isBeat: beatCodes.has(code), subtype, channel, number, aux });
  }
  return { annotations, timeResolutionHz };
}

// ---- writing -------------------------------------------------------------------------------------------------------------------

export type LeadToWrite = Readonly<{ name: string; gain: number; baseline: number; unit: string; samples: Int32Array }>;

export type RecordToWrite = Readonly<{
  name: string;
  fs: number;
  leads: readonly LeadToWrite[];
  comments?: readonly string[];
  /** Unix ns of the first sample: written as base time (to the ms, as header(5) has it) and date, and exactly as the comment
   *  `start_unix_ns`. */
  startUnixNs?: bigint;
}>;

/** Writes NAME.hea and NAME.dat into a folder, replacing them whole.
 *  @throws RangeError as encodeRecord does */
export async function writeRecord(folder: string, record: RecordToWrite, format: 16 | 212 = 16): Promise<void> {
  const { hea, dat } = encodeRecord(record, format);
  await replaceFile(join(folder, `${record.name}.dat`), dat);
  await replaceFile(join(folder, `${record.name}.hea`), hea);
}

/** The two files of a record.
 *  @param record leads of one length; samples within the range of the format, or MISSING_SAMPLE
 *  @throws RangeError on a name, rate, length or sample that the format cannot carry */
export function encodeRecord(record: RecordToWrite, format: 16 | 212 = 16): Readonly<{ hea: Uint8Array; dat: Uint8Array }> {
  const { name, fs, leads } = record;
  if (!plainName(name) || name.includes('.')) throw new RangeError(`record name "${name}"`);
  if (!(fs > 0 && fs <= RATE_MAX)) throw new RangeError(`rate ${fs} Hz`);
  const n = leads[0]?.samples.length ?? 0;
  const { bits, missing } = formats[format];
  const limit = 2 ** (bits - 1) - 1;
  const flat = new Int32Array(n * leads.length);
  const start = record.startUnixNs === undefined ? '' : ` ${baseTimeOf(record.startUnixNs)}`;
  const lines = [`${name} ${leads.length} ${plainDecimal(fs)} ${n}${start}`];
  for (const [column, lead] of leads.entries()) {
    if (lead.samples.length !== n) throw new RangeError(`lead ${lead.name}: ${lead.samples.length} samples, the first has ${n}`);
    if (!(lead.gain > 0) || !Number.isInteger(lead.baseline)) throw new RangeError(`lead ${lead.name}: gain or baseline`);
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const value = lead.samples[i]! === MISSING_SAMPLE ? missing : lead.samples[i]!;
      if (value < missing || value > limit)
        throw new RangeError(`lead ${lead.name}: sample ${i} is ${value}, format ${format} ends at ${limit}`);
      flat[i * leads.length + column] = value;
      sum = (sum + value) & 0xffff;
    }
    const first = n === 0 ? 0 : flat[column]!;
    const checksum = (sum << 16) >> 16;
    const scale = `${plainDecimal(lead.gain)}(${lead.baseline})/${lead.unit.replace(/\s/g, '_') || 'NU'}`;
    lines.push(`${name}.dat ${format} ${scale} ${bits} 0 ${first} ${checksum} 0 ${lead.name.replace(/[\r\n]/g, ' ')}`);
  }
  if (record.startUnixNs !== undefined) lines.push(`# start_unix_ns ${record.startUnixNs}`);
  for (const comment of record.comments ?? []) lines.push(`# ${comment.replace(/[\r\n]/g, ' ')}`);
  return { hea: Buffer.from(`${lines.join('\n')}\n`, 'latin1'), dat: encodeSamples(flat, format) };
}

/** `HH:MM:SS.mmm DD/MM/YYYY` */
function baseTimeOf(unixNs: bigint): string {
  const ms = unixNs / 1_000_000n - (unixNs % 1_000_000n < 0n ? 1n : 0n);
  const [date = '', time = ''] = new Date(Number(ms)).toISOString().slice(0, -1).split('T');
  return `${time.replace(/\.000$/, '')} ${date.split('-').toReversed().join('/')}`;
}

function encodeSamples(flat: Int32Array, format: 16 | 212): Uint8Array {
  const n = flat.length;
  if (format === 16) {
    const out = new Uint8Array(2 * n);
    for (let i = 0; i < n; i++) {
      out[2 * i] = flat[i]! & 0xff;
      out[2 * i + 1] = (flat[i]! >> 8) & 0xff;
    }
    return out;
  }
  const out = new Uint8Array(Math.ceil(n / 2) * 3);
  for (let i = 0; i < n; i++) {
    const at = (i >> 1) * 3;
    const value = flat[i]!;
    if ((i & 1) === 0) {
      out[at] = value & 0xff;
      out[at + 1] = (value >> 8) & 0x0f;
    } else {
      out[at + 2] = value & 0xff;
      out[at + 1] = out[at + 1]! | ((value >> 4) & 0xf0);
    }
  }
  return n % 2 === 1 ? out.subarray(0, out.length - 1) : out;
}

export type AnnotationToWrite = Readonly<{
  sample: number;
  code: string;
  subtype?: number;
  channel?: number;
  number?: number;
  aux?: string;
}>;

/** Writes an annotation file in MIT format, replacing it whole.
 *  @param annotations ascending in time; integer samples >= 0; codes as WFDB prints them; text of at most 255 bytes */
export async function writeAnnotations(path: string, annotations: readonly AnnotationToWrite[]): Promise<void> {
  await replaceFile(path, encodeAnnotations(annotations));
}

/** The bytes of an annotation file. */
export function encodeAnnotations(annotations: readonly AnnotationToWrite[]): Uint8Array {
  const out: number[] = [];
  const word = (code: number, data: number): void => void out.push(data & 0xff, (code << 2) | ((data >> 8) & 3));
  let time = 0;
  let channel = 0;
  let number = 0;
  for (const annotation of annotations) {
    const code = mnemonics.indexOf(annotation.code, 1);
    if (code < 1 || annotation.code === ' ') throw new RangeError(`annotation code "${annotation.code}"`);
    let step = annotation.sample - time;
    if (!Number.isInteger(step) || step < 0) throw new RangeError(`annotation at sample ${annotation.sample} after ${time}`);
    while (step > 1023) {
      const skip = Math.min(step, 0x7fff_ffff);
      word(SKIP, 0);
      out.push((skip >> 16) & 0xff, (skip >> 24) & 0xff, skip & 0xff, (skip >> 8) & 0xff);
      step -= skip;
    }
    word(code, step);
    time = annotation.sample;
    const aux = Buffer.from(annotation.aux ?? '', 'utf8');
    if (aux.length > 255) throw new RangeError(`annotation text of ${aux.length} bytes`);
    if ((annotation.subtype ?? 0) !== 0) word(SUB, annotation.subtype! & 0xff);
    if ((annotation.channel ?? 0) !== channel) word(CHN, (channel = annotation.channel ?? 0) & 0xff);
    if ((annotation.number ?? 0) !== number) word(NUM, (number = annotation.number ?? 0) & 0xff);
    if (aux.length > 0) {
      word(AUX, aux.length);
      out.push(...aux);
      if (aux.length % 2 === 1) out.push(0);
    }
  }
  word(0, 0);
  return Uint8Array.from(out);
}

// ---- files ---------------------------------------------------------------------------------------------------------------------

/** Opens a data file that a header names: inside the folder also after symbolic links are followed, and a regular file. */
async function readInFolder(folder: string, name: string): Promise<Buffer> {
  const path = join(folder, name);
  let inside: string;
  try {
    const [realFolder, realFile] = await Promise.all([realpath(folder), realpath(path)]);
    if (!realFile.startsWith(realFolder.endsWith(sep) ? realFolder : realFolder + sep)) {
      throw new PipelineError('validation_failed', `${path}: leads out of the folder of its header`);
    }
    inside = realFile;
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError('not_found', `${path}: no such file`, { cause });
  }
  return readBounded(inside, SAMPLE_COUNT_MAX * 4);
}

/** O_NONBLOCK so that a named pipe does not hang the open; what is not a regular file is refused. */
async function readBounded(path: string, bytesMax: number): Promise<Buffer> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw new PipelineError('not_found', `${path}: cannot be opened`, { cause });
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new PipelineError('validation_failed', `${path}: not a regular file`);
    if (stat.size > bytesMax) throw new PipelineError('payload_too_large', `${path}: ${stat.size} bytes (limit ${bytesMax})`);
    return await readFile(file);
  } finally {
    await file.close();
  }
}

async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const part = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  await writeFile(part, bytes);
  await rename(part, path);
}

// ---- small checks --------------------------------------------------------------------------------------------------------------

function bad(detail: string): Rejected {
  return rejected('validation_failed', detail);
}

function orThrow<T extends object>(value: T | Rejected, path: string): T {
  if (isRejected(value)) throw new PipelineError(value.code, `${path}: ${value.detail}`);
  return value;
}

/** A name without a path: letters, digits, `_ - .`, beginning with a letter or digit. */
function plainName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name);
}

function integer(field: string | undefined, min: number, max: number): number | null {
  if (field === undefined || !/^[+-]?\d{1,10}$/.test(field)) return null;
  const value = Number(field);
  return value >= min && value <= max ? value : null;
}

function decimal(field: string | undefined): number | null {
  if (field === undefined || field.length > 32 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$/.test(field)) return null;
  const value = Number(field);
  return Number.isFinite(value) ? value : null;
}

/** Digits without an exponent, as header readers expect. */
function plainDecimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, '');
}

function nanoHz(fs: number): number {
  return Math.round(fs * 1e9);
}

function mnemonic(code: number): string {
  const known = mnemonics[code];
  return known === undefined || known === ' ' ? `[${code}]` : known;
}

function signedByte(value: number): number {
  return (value << 24) >> 24;
}

/** Latin-1 up to the first NUL: WFDB ends the text of some annotations with one. */
function text(bytes: Uint8Array, from: number, length: number): string {
  const slice = Buffer.from(bytes.buffer, bytes.byteOffset + from, length);
  const nul = slice.indexOf(0);
  return slice.toString('utf8', 0, nul < 0 ? length : nul);
}

function short(field: string | undefined): string {
  return (field ?? '').slice(0, 40);
}
