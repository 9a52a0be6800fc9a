/** Opens a recording in any supported layout as channels of one device: digital samples, gains, rates, start times. */
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { isRejected, PipelineError } from '../../errors.ts';
import { parseCsv } from '../../formats/csv.ts';
import { parseEdf } from '../../formats/edf-read.ts';
import type { EdfFile, EdfSignal } from '../../formats/edf-read.ts';
import { readBidmc, readE4, readSpc } from '../../formats/datasets.ts';
import type { E4Signal } from '../../formats/datasets.ts';
import { readRecord } from '../../formats/wfdb-read.ts';
import type { WfdbLead } from '../../formats/wfdb-read.ts';
import { MISSING_SAMPLE } from '../../formats/wfdb-samples.ts';
import { channelKinds } from '../../signal.ts';
import type { ChannelConfig, ChannelKind } from '../../signal.ts';
import { fitText } from '../../text.ts';

/** Marks a missing sample in integer channels (as in the WFDB reader); NaN in float channels. */
export const MISSING = MISSING_SAMPLE;

export type RecordedChannel = Readonly<{
  config: ChannelConfig;
  /** Device time of sample 0, s. */
  startSec: number;
  samples: Int32Array | Float32Array;
}>;

export type Recording = Readonly<{
  name: string;
  /** File or folder it was read from. */
  path: string;
  channels: readonly RecordedChannel[];
  durationSec: number;
  /** Unix ns of device time 0, if the files say when it was recorded. */
  startUnixNs: bigint | null;
  /** Path of a reference annotation file in the same folder (.atr), or null. */
  annotationPath: string | null;
  /** Annotations, s after the start; some may lie before it, or after the last sample. */
  events: readonly Readonly<{ atSec: number; text: string; durationSec?: number }>[];
  /** Content that the service cannot store, one sentence each. */
  notKept?: readonly string[];
}>;

const FILE_BYTES_MAX = 1024 * 1024 * 1024;
const FOLDER_DEPTH_MAX = 5;

/** Recordings that a file or folder names: WFDB `.hea`, BIDMC `_Signals.csv.gz`, IEEE SPC `.csv.gz`, Empatica E4 folders, EDF,
 *  single CSV tables (not searched for in folders). Folders are searched with their subfolders.
 *  @returns paths for openRecording, ascending within a folder  @throws PipelineError not_found when there is none */
export async function listRecordings(path: string): Promise<string[]> {
  if (!existsSync(path)) throw new PipelineError('not_found', `no such file or folder: ${path}`);
  if (!statSync(path).isDirectory() || isE4(path)) return [path];
  const found = await searchFolder(path, FOLDER_DEPTH_MAX);
  if (found.length === 0) throw new PipelineError('not_found', `no recordings in ${path}`);
  return found;
}

async function searchFolder(path: string, depthMax: number): Promise<string[]> {
  const entries = (await readdir(path, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  const found = files
    .filter((file) => file.endsWith('.hea') || /\.edf$/i.test(file) || isBidmc(file) || isSpc(file, files))
    .map((file) => join(path, file));
  for (const entry of entries) {
    const folder = join(path, entry.name);
    if (!entry.isDirectory()) continue;
    if (isE4(folder)) found.push(folder);
    else if (depthMax > 0) found.push(...(await searchFolder(folder, depthMax - 1)));
  }
  return found;
}

const isE4 = (folder: string): boolean => ['BVP.csv.gz', 'BVP.csv'].some((file) => existsSync(join(folder, file)));

export async function openRecording(path: string): Promise<Recording> {
  const file = basename(path);
  if (isE4(path)) return openE4(path);
  if (isBidmc(file)) return openBidmc(path);
  if (isSpc(file, await readdir(dirname(path)))) return openSpc(path);
  if (/\.edf$/i.test(file)) return await openEdf(path);
  if (/\.(csv|tsv|txt)$/i.test(file)) return await openCsv(path);
  if (extname(file) === '.hea' || existsSync(`${path}.hea`)) return await openWfdb(path);
  throw new PipelineError(
    'unsupported_media_type',
    `${path}: not a WFDB header, EDF, CSV (unpacked), BIDMC or SPC table, or Empatica folder`,
  );
}

const isBidmc = (file: string): boolean => file.endsWith('_Signals.csv.gz');
const isSpc = (file: string, files: readonly string[]): boolean =>
  file.endsWith('.csv.gz') && files.includes(file.replace(/\.csv\.gz$/, '.bpm.csv'));

// ---- WFDB

async function openWfdb(path: string): Promise<Recording> {
  const record = await readRecord(path);
  const base = path.replace(/\.hea$/, '');
  const codes = new Set<string>();
  const channels = record.leads.map((lead) => ({ config: wfdbChannel(lead, codes), startSec: 0, samples: lead.samples }));
  const annotationPath = existsSync(`${base}.atr`) ? `${base}.atr` : null;
  return finish(record.name, path, channels, record.startUnixNs, annotationPath);
}

/** The usual twelve, modified ones, Holter's, Frank's and EASI's. */
const ecgLeads = /^((ML?|MOD\.?)?(I|II|III|AVR|AVL|AVF|V[1-9]R?|V)|ML[1-6]|MCL[1-6]|CM[1-6]|CC[5-7]|D[1-4]|V[XYZ]|ES|AS|AI)$/i;
/** One lead, or what lies between two electrodes of the chest: `V1-V2`. */
const isEcgLead = (name: string): boolean => name.split('-').every((part) => ecgLeads.test(part));

function wfdbChannel(lead: WfdbLead, codes: Set<string>): ChannelConfig {
  const kind = kindOfName(lead.name, lead.unit);
  return {
    code: uniqueCode(kind, lead.name, codes),
    kind,
    rateNanoHz: lead.rateNanoHz,
    gain: lead.gain,
    baseline: lead.baseline,
    unit: lead.unit === '' ? 'mV' : ucum(lead.unit),
    lead: lead.name,
  };
}

/** The lead of an ECG that a column is called by, as it writes it; empty for another name. */
const leadOf = (name: string): string => (ecgLeads.test(name.trim()) ? name.trim() : '');

/** Kind of a signal, by the names that PhysioNet's and EDF's recorders use. */
export function kindOfName(name: string, unit: string): ChannelKind {
  const text = name.trim().toLowerCase();
  const spelled = channelKinds.find((kind) => text === kind || text.startsWith(`${kind}.`));
  if (spelled !== undefined) return spelled;
  if (isEcgLead(name.trim()) || /ecg|ekg/.test(text)) return 'ecg';
  if (/pleth|ppg|bvp/.test(text)) return 'ppg';
  if (/resp|thor|abdo/.test(text)) return 'resp';
  if (/eda|gsr/.test(text)) return 'eda';
  if (/temp/.test(text)) return 'temp';
  if (/acc/.test(text)) return 'acc';
  if (/gyr/.test(text)) return 'gyro';
  if (/^signal \d+$/.test(text) && /^m?v$/i.test(unit)) return 'ecg';
  return 'other';
}

/** A channel code of the service's own spelling: kind and the name's letters and digits, unique within the recording. A name that is such
 *  a code already, as our own exports have, stays as it is. */
export function uniqueCode(kind: ChannelKind, name: string, taken: Set<string>): string {
  const base = codeBase(kind, name);
  let code = base;
  for (let i = 2; taken.has(code); i++) code = `${base}-${i}`;
  taken.add(code);
  return code;
}

function codeBase(kind: ChannelKind, name: string): string {
  if (name.startsWith(`${kind}.`) && /^[a-z0-9][a-z0-9._-]{0,28}$/.test(name)) return name;
  const tail = name
    .toLowerCase()
    .replace(kind === 'ecg' ? /^ml?(?=ii+$)|ecg|ekg/g : /(?!)/, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return (tail === '' || tail === kind ? kind : `${kind}.${tail}`).slice(0, 29);
}

function ucum(unit: string): string {
  const known: Readonly<Record<string, string>> = { bpm: '/min', degc: 'Cel', 'deg c': 'Cel', mmhg: 'mm[Hg]', nu: '1', adu: '1', us: 'uS' };
  return known[unit.toLowerCase()] ?? unit;
}

// ---- EDF

async function openEdf(path: string): Promise<Recording> {
  const file = parseEdf(await readBounded(path));
  if (isRejected(file)) throw new PipelineError(file.code, `${path}: ${file.detail}`);
  const codes = new Set<string>();
  const channels = file.signals.flatMap((signal) => edfChannels(file, signal, codes));
  const labels = new Set(file.signals.map(({ label }) => `missing ${label}`)); // of our own writer: masked below
  const events = file.annotations
    .filter(({ text }) => !labels.has(text))
    .map(({ onsetSec, durationSec, text }) => ({ atSec: onsetSec, text, ...(Number.isNaN(durationSec) ? {} : { durationSec }) }));
  const notKept = file.signals.flatMap(({ label, transducer, prefilter }) => [
    ...(transducer === '' ? [] : [`transducer of ${label}: ${transducer}`]),
    ...(prefilter === '' ? [] : [`prefilter of ${label}: ${prefilter}`]),
  ]);
  const name = basename(path).replace(/\.edf$/i, '');
  return { ...finish(name, path, channels, file.startUnixNs, null), events, notKept };
}

/** One recorded channel per stretch without a gap: an EDF+D file has several. */
function edfChannels(file: EdfFile, signal: EdfSignal, codes: Set<string>): RecordedChannel[] {
  const { recordStartSec, recordDurationSec } = file;
  const { label, samplesPerRecord, samples, rateNanoHz, gain, baseline, unit } = signal;
  const kind = kindOfName(label, unit);
  const code = uniqueCode(kind, plainLabel(label), codes);
  const config = { code, kind, rateNanoHz, gain, baseline: Math.round(baseline * 1e6) / 1e6, unit: ucum(unit), lead: label };
  const channels: RecordedChannel[] = [];
  for (let first = 0; first < recordStartSec.length;) {
    let end = first + 1;
    while (end < recordStartSec.length && Math.abs(recordStartSec[end]! - recordStartSec[end - 1]! - recordDurationSec) < 1e-6) end++;
    const piece = Int32Array.from(samples.subarray(first * samplesPerRecord, end * samplesPerRecord));
    for (const { onsetSec, durationSec, text } of file.annotations) {
      if (text === `missing ${label}`) maskMissing(piece, onsetSec - recordStartSec[first]!, durationSec, rateNanoHz);
    }
    channels.push({ config, startSec: recordStartSec[first]!, samples: piece });
    first = end;
  }
  return channels;
}

/** An EDF label without its type of signal. */
export function plainLabel(label: string): string {
  return label.replace(/^(ECG|EKG|EEG|EMG|Resp)\s+/i, '');
}

/** Is the lead the name that the channel was imported under, so that an import under this name makes the same code again?
 *  @param name the lead as the format's reader takes it */
export function isNamedByLead({ code, kind, lead }: ChannelConfig, name: string): boolean {
  if (lead === '' || kindOfName(lead, '') !== kind) return false;
  const base = codeBase(kind, name);
  return code === base || code.replace(/-\d+$/, '') === base; // -2: the second of that name
}

/** Our own EDF writer names samples that it had to make up (see writeEdf). */
function maskMissing(samples: Int32Array, fromSec: number, durationSec: number, rateNanoHz: number): void {
  const from = Math.round((fromSec * rateNanoHz) / 1e9);
  const to = from + Math.round((durationSec * rateNanoHz) / 1e9);
  if (to > from) samples.fill(MISSING, Math.max(0, from), Math.max(0, Math.min(samples.length, to)));
}

// ---- CSV

async function openCsv(path: string): Promise<Recording> {
  const table = parseCsv((await readBounded(path)).toString('utf8'), { missing: MISSING, kindOf: kindOfName, leadOf });
  if (isRejected(table)) throw new PipelineError(table.code, `${path}: ${table.detail}`);
  const codes = new Set<string>();
  const channels = table.channels.map(({ config, samples }) => {
    const known = /^[a-z0-9][a-z0-9._-]{0,31}$/.test(config.code) && !codes.has(config.code);
    const code = known ? config.code : uniqueCode(config.kind, config.code, codes);
    codes.add(code);
    return { config: { ...config, code, unit: ucum(config.unit), lead: config.lead }, startSec: 0, samples };
  });
  const name = basename(path).replace(/\.(csv|tsv|txt)$/i, '');
  return { ...finish(name, path, channels, table.startUnixNs, null), notKept: table.notKept };
}

async function readBounded(path: string): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > FILE_BYTES_MAX) throw new PipelineError('payload_too_large', `${path}: ${size} bytes (limit ${FILE_BYTES_MAX})`);
  return await readFile(path);
}

// ---- tables of physical values

/** 16 bits over the range that occurs would lose the CSV's digits; 1e-6 of a unit loses nothing that these files have. */
function digitize(values: Float64Array, gain: number): Int32Array {
  const out = new Int32Array(values.length);
  for (let i = 0; i < out.length; i++) {
    const value = values[i]!;
    out[i] = Number.isNaN(value) ? MISSING : Math.round(Math.max(-2_147_483_647, Math.min(2_147_483_647, value * gain)));
  }
  return out;
}

type Physical = Readonly<{
  code: string;
  kind: ChannelKind;
  fs: number;
  unit: string;
  lead: string;
  gain: number;
  values: Float64Array;
  startSec?: number;
}>;

function channelOf(from: Physical): RecordedChannel {
  const { code, kind, fs, unit, lead, gain, values } = from;
  const config = { code, kind, rateNanoHz: Math.round(fs * 1e9), gain, baseline: 0, unit, lead };
  return { config, startSec: from.startSec ?? 0, samples: digitize(values, gain) };
}

function openBidmc(path: string): Recording {
  const name = basename(path).slice(0, -'_Signals.csv.gz'.length);
  const { fs, signals } = readBidmc(dirname(path), name);
  const codes = new Set<string>();
  const channels = [...signals].map(([lead, values]) => {
    const kind = kindOfName(lead, '');
    // The files hold values scaled by their writer, without a unit: ECG is close to mV.
    return channelOf({ code: uniqueCode(kind, lead, codes), kind, fs, unit: kind === 'ecg' ? 'mV' : '1', lead, gain: 10_000, values });
  });
  return finish(name, path, channels, null, null);
}

function openSpc(path: string): Recording {
  const name = basename(path).slice(0, -'.csv.gz'.length);
  const { fs, ecg, ppg, acc } = readSpc(dirname(path), name);
  const channels = [
    channelOf({ code: 'ecg', kind: 'ecg', fs, unit: '1', lead: 'chest', gain: 10, values: ecg }),
    ...ppg.map((values, i) => channelOf({ code: `ppg.green${i + 1}`, kind: 'ppg', fs, unit: '1', lead: 'wrist', gain: 10, values })),
    ...acc.map((values, i) => channelOf({ code: `acc.${'xyz'[i]}`, kind: 'acc', fs, unit: '[g]', lead: 'wrist', gain: 10_000, values })),
  ];
  return finish(name, path, channels, null, null);
}

function openE4(path: string): Recording {
  const name = basename(path);
  const { bvp, eda, acc, temp } = readE4(dirname(path), name);
  const start = Math.min(bvp.startUnixSec, eda.startUnixSec, acc.startUnixSec, temp.startUnixSec);
  const one = (code: string, kind: ChannelKind, unit: string, gain: number, signal: E4Signal, column = 0): RecordedChannel =>
    channelOf({
      code,
      kind,
      fs: signal.fs,
      unit,
      lead: 'wrist',
      gain,
      values: signal.columns[column] ?? new Float64Array(0),
      startSec: signal.startUnixSec - start,
    });
  const channels = [
    one('ppg.green', 'ppg', '1', 100, bvp),
    one('eda', 'eda', 'uS', 1_000_000, eda),
    one('temp.skin', 'temp', 'Cel', 100, temp),
    ...['x', 'y', 'z'].map((axis, i) => one(`acc.${axis}`, 'acc', '[g]', 64, acc, i)),
  ];
  return finish(name, path, channels, BigInt(Math.round(start * 1e6)) * 1000n, null);
}

/** Most bytes of a file's name in a packet, which allows no control characters either. */
const NAME_BYTES_MAX = 200;
const LEAD_BYTES_MAX = 32;
const UNIT_BYTES_MAX = 16;

function finish(
  name: string,
  path: string,
  found: readonly RecordedChannel[],
  startUnixNs: bigint | null,
  annotationPath: string | null,
): Recording {
  const channels = found.map(({ config, ...rest }) => ({
    ...rest,
    config: { ...config, unit: fitText(config.unit, 'name', UNIT_BYTES_MAX), lead: fitText(config.lead, 'name', LEAD_BYTES_MAX) },
  }));
  const ends = channels.map(({ config, startSec, samples }) => startSec + (samples.length / config.rateNanoHz) * 1e9);
  return {
    name: fitText(name, 'name', NAME_BYTES_MAX),
    path,
    channels,
    durationSec: Math.max(0, ...ends),
    startUnixNs,
    annotationPath,
    events: [],
  };
}
