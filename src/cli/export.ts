/** `biosignal export`: recordings of the database as files that other programs read. */
import { mkdir, writeFile } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { writeCsv } from '../formats/csv.ts';
import type { CsvChannel } from '../formats/csv.ts';
import { writeEdf } from '../formats/edf.ts';
import type { EdfAnnotation } from '../formats/edf.ts';
import { writeAnnotations, writeRecord } from '../formats/wfdb.ts';
import { fhirObservation } from '../query/fhir.ts';
import { readObservations } from '../query/observations.ts';
import type { BiosignalRow, ObservationRow } from '../query/observations.ts';
import { readSamples } from '../query/samples.ts';
import type { SampleSegment } from '../query/samples.ts';
import { gridCeil } from '../signal.ts';
import type { ChannelConfig } from '../signal.ts';
import type { Command, Console } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { MISSING } from './recording.ts';

const formats = ['wfdb', 'edf', 'csv', 'fhir'] as const;
type Format = (typeof formats)[number];

const ROWS_PER_QUERY = 4000;
const SAMPLES_MAX = 200_000_000;
const OBSERVATIONS_PER_QUERY = 1000;
/** Largest ns that the database holds: the year 2262. */
const END_OF_TIME_NS = 9_223_372_036_000_000_000n;

type Range = Readonly<{ fromNs: bigint; toNs: bigint }>;
type StreamRow = Readonly<{
  id: number;
  uuid: string;
  epoch_ns: bigint;
  device: string;
  subject: string;
  xuser_id: string;
  project_id: string;
}>;

/** One channel of the exported stretch as one array on its grid. */
type Column = Readonly<{ config: ChannelConfig; samples: Int32Array; rounded: boolean }>;

export const exportRecordings: Command = {
  name: 'export',
  summary: 'Export recordings as WFDB, EDF+ or CSV, or a user as FHIR.',
  positionals: 'STREAM_ID | USER',
  description: `STREAM_ID is the uuid of a stream; USER the uuid or external id of a user record, for all of their streams.
wfdb  one record per sampling rate, with the detected beats as .bio annotations
edf   EDF+ with all channels and events; EDF+D where the recording has gaps
csv   one table per sampling rate, physical values; 'import' reads it back to the same samples
fhir  every observation of the user as FHIR R4 Observations, one per line (NDJSON)
Digital values are written as the device sent them. Speaks to the database: whoever may run this may read everything anyway.`,
  options: {
    format: { type: 'string', value: 'FORMAT', fallback: 'edf', doc: `${formats.join(', ')}.` },
    out: { type: 'string', value: 'FOLDER', fallback: '.', doc: 'Where the files go.' },
    since: { type: 'string', value: 'TIME', doc: 'First time, inclusive.' },
    until: { type: 'string', value: 'TIME', doc: 'Last time, exclusive.' },
  },
  examples: ['biosignal export patient-7 --format edf --out exports --since 2026-01-05T00:00:00Z --until 2026-01-06T00:00:00Z'],
  run: async ({ console, options, positionals, json }) => {
    const [wanted] = positionals;
    if (wanted === undefined || positionals.length > 1) throw new UsageError('name one stream or one user');
    const format = options.oneOf('format', formats);
    const folder = options.text('out');
    await mkdir(folder, { recursive: true });
    const range = { fromNs: options.time('since') ?? 0n, toNs: options.time('until') ?? END_OF_TIME_NS };
    return await withDatabase(console, async ({ pool }) => {
      const streams = await findStreams(pool, wanted);
      const files: string[] = [];
      if (format === 'fhir') files.push(await exportFhir(pool, streams, range, folder, console));
      else {
        for (const stream of streams) {
          console.signal.throwIfAborted();
          files.push(...(await exportStream(pool, stream, range, format, folder, console)));
        }
      }
      if (json) console.out(JSON.stringify({ files }, null, 2));
      else for (const file of files) console.out(file);
      if (files.length === 0) console.err('biosignal export: no samples in that range');
      return EXIT_OK;
    });
  },
};

async function findStreams(pool: Pool, wanted: string): Promise<StreamRow[]> {
  const { rows } = await pool.query<StreamRow>(
    `select s.id, s.uuid, s.epoch_ns, d.external_id as device, x.external_id as subject, s.xuser_id, s.project_id
     from stream s join device d on d.id = s.device_id join xuser x on x.id = s.xuser_id
     where s.uuid::text = $1 or x.id::text = $1 or x.external_id = $1 order by s.epoch_ns, s.id`,
    [wanted],
  );
  if (rows.length === 0) throw new PipelineError('not_found', `no stream or user '${wanted}' with recordings`);
  if (new Set(rows.map((row) => row.xuser_id)).size > 1)
    throw new UsageError(`several users have the external id '${wanted}': give the uuid`);
  return rows;
}

async function exportStream(
  pool: Pool,
  stream: StreamRow,
  range: Range,
  format: Format,
  folder: string,
  console: Console,
): Promise<string[]> {
  const segments: SampleSegment[] = [];
  let sampleCount = 0;
  for (let fromNs: bigint | null = range.fromNs; fromNs !== null;) {
    const page = await readSamples(pool, { streamId: stream.id, channels: null, fromNs, toNs: range.toNs, rowsMax: ROWS_PER_QUERY });
    segments.push(...page.segments);
    sampleCount += page.segments.reduce((sum, { samples }) => sum + samples.length, 0);
    if (sampleCount > SAMPLES_MAX) throw new UsageError(`more than ${SAMPLES_MAX} samples in one file: narrow --since and --until`);
    fromNs = page.nextFromNs;
  }
  if (segments.length === 0) return [];
  // All channels begin at one whole second of the device clock, where grids of whole rates meet.
  const firstNs = segments.reduce((least, { t0Ns }) => (t0Ns < least ? t0Ns : least), segments[0]!.t0Ns) - stream.epoch_ns;
  const startDeviceNs = firstNs - (firstNs % 1_000_000_000n);
  const columns = joinSegments(segments, startDeviceNs);
  for (const { config } of columns.filter(({ rounded }) => rounded)) console.err(`${config.code}: float samples were rounded to 9 digits`);
  const startNs = stream.epoch_ns + startDeviceNs;
  const name = safeName(
    `${stream.subject}-${new Date(Number(startNs / 1_000_000n)).toISOString().slice(0, 19)}-${stream.uuid.slice(0, 8)}`,
  );
  const context = { pool, stream, range, folder, name, startNs, console };
  if (format === 'edf') return [await exportEdf(context, columns)];
  const files: string[] = [];
  const rates = [...new Set(columns.map(({ config }) => config.rateNanoHz))];
  for (const rate of rates) {
    const ofRate = columns.filter(({ config }) => config.rateNanoHz === rate);
    const rateName = rates.length === 1 ? name : `${name}-${safeName(String(rate / 1e9))}Hz`;
    files.push(...(format === 'csv' ? await exportCsv(context, rateName, ofRate) : await exportWfdb(context, rateName, ofRate)));
  }
  return files;
}

type Context = Readonly<{ pool: Pool; stream: StreamRow; range: Range; folder: string; name: string; startNs: bigint; console: Console }>;

function joinSegments(segments: readonly SampleSegment[], startDeviceNs: bigint): Column[] {
  const columns: Column[] = [];
  for (const channelNo of [...new Set(segments.map((segment) => segment.channelNo))].toSorted((a, b) => a - b)) {
    const own = segments.filter((segment) => segment.channelNo === channelNo);
    const { code, kind, unit, lead, gain, baseline, rateNanoHz } = own[0]!;
    const kStart = gridCeil(startDeviceNs, rateNanoHz);
    const kEnd = own.reduce((most, { k0, samples }) => Math.max(most, k0 + samples.length), 0);
    const samples = new Int32Array(Math.max(0, kEnd - kStart)).fill(MISSING);
    const floats = own.some((segment) => segment.samples instanceof Float32Array);
    const scale = floats ? floatScale(own) : 1;
    for (const segment of own) {
      for (let i = 0; i < segment.samples.length; i++) {
        const value = segment.samples[i]!;
        if (segment.k0 + i >= kStart && !Number.isNaN(value)) samples[segment.k0 + i - kStart] = floats ? Math.round(value * scale) : value;
      }
    }
    columns.push({
      config: { code, kind, rateNanoHz, gain: gain * scale, baseline: baseline * scale, unit, lead },
      samples,
      rounded: floats,
    });
  }
  return columns;
}

/** The power of ten that brings the largest value just below 2^31. */
function floatScale(segments: readonly SampleSegment[]): number {
  let largest = 1e-9;
  for (const { samples } of segments) for (const value of samples) if (Math.abs(value) > largest) largest = Math.abs(value);
  return 10 ** Math.min(9, Math.floor(Math.log10(2_000_000_000 / largest)));
}

async function exportEdf({ pool, stream, range, folder, name, startNs, console }: Context, columns: readonly Column[]): Promise<string> {
  const { rows } = await pool.query<{ ts_ns: bigint; code: string; content: string }>(
    `select ts_ns, code, content from device_event where stream_id = $1 and ts_ns >= $2 and ts_ns < $3 order by ts_ns`,
    [stream.id, String(range.fromNs), String(range.toNs)],
  );
  const annotations = rows.map(({ ts_ns: ts, code, content }): EdfAnnotation => {
    const text = code === 'annotation' ? content : content === '' ? code : `${code} ${content}`;
    return { onsetSec: Number(ts - startNs) / 1e9, durationSec: Number.NaN, text };
  });
  const labels = new Set<string>();
  const signals = columns.map(({ config, samples }) => ({
    label: edfLabel(config, labels),
    unit: config.unit.slice(0, 8),
    rateNanoHz: config.rateNanoHz,
    gain: config.gain,
    baseline: config.baseline,
    samples,
  }));
  const startUnixSec = Number(startNs / 1000n) / 1e6;
  const { bytes, rescaled } = writeEdf({ startUnixSec, signals, annotations, missing: MISSING, equipment: 'biosignal' });
  for (const { label, by } of rescaled)
    console.err(`${label}: its range exceeds 16 bits; values were divided by ${by} (other formats keep them)`);
  const path = join(folder, `${name}.edf`);
  await writeFile(path, bytes);
  return path;
}

/** EDF+ labels begin with the type of signal. */
function edfLabel({ kind, code, lead }: ChannelConfig, taken: Set<string>): string {
  const plain = `${kind === 'ecg' ? 'ECG ' : ''}${lead !== '' && kind === 'ecg' ? lead : code}`.replace(/[^\x20-\x7e]/g, '_').slice(0, 14);
  let label = plain;
  for (let i = 2; taken.has(label); i++) label = `${plain}${i}`;
  taken.add(label);
  return label;
}

async function exportCsv({ folder, startNs }: Context, name: string, columns: readonly Column[]): Promise<string[]> {
  const channels = columns.map(({ config, samples }): CsvChannel => ({ config, samples }));
  const path = join(folder, `${name}.csv`);
  await pipeline(Readable.from(writeCsv({ startUnixNs: startNs, channels, missing: MISSING })), createWriteStream(path));
  return [path];
}

async function exportWfdb({ pool, stream, range, folder, startNs }: Context, name: string, columns: readonly Column[]): Promise<string[]> {
  const length = Math.max(...columns.map(({ samples }) => samples.length));
  const fs = columns[0]!.config.rateNanoHz / 1e9;
  const leads = columns.map(({ config, samples }) => {
    const padded = new Int32Array(length).fill(MISSING);
    padded.set(samples);
    return { name: config.lead === '' || config.kind !== 'ecg' ? config.code : config.lead, ...fitted(config, padded) };
  });
  const comments = [
    `start_unix_ns ${startNs}`,
    `stream ${stream.uuid}`,
    ...columns.map(({ config }) => `channel ${config.code} unit ${config.unit}`),
  ];
  await writeRecord(folder, { name, fs, leads, comments }, 16);
  const files = [join(folder, `${name}.hea`), join(folder, `${name}.dat`)];
  const { rows } = await pool.query<{ ts_ns: bigint; kind: number }>(
    `select distinct on (b.ts_ns) b.ts_ns, b.kind from beat b join stream_channel c on c.stream_id = b.stream_id and c.channel_no = b.channel_no
     where b.stream_id = $1 and c.code = any ($2) and b.ts_ns >= $3 and b.ts_ns < $4 order by b.ts_ns`,
    [stream.id, columns.map(({ config }) => config.code), String(range.fromNs), String(range.toNs)],
  );
  if (rows.length === 0) return files;
  // normal, ectopic (premature, of unknown origin), artefact, interpolated
  const codes = ['N', 'S', '|', '?'] as const;
  const annotations = rows
    .map(({ ts_ns: ts, kind }) => ({ sample: Math.round((Number(ts - startNs) / 1e9) * fs), code: codes[kind] ?? '?' }))
    .filter(({ sample }) => sample >= 0);
  const path = join(folder, `${name}.bio`);
  await writeAnnotations(path, annotations);
  return [...files, path];
}

/** WFDB has whole baselines and 16 bits here: values outside are moved as a whole, or divided when their range is too wide. */
function fitted(config: ChannelConfig, samples: Int32Array): { gain: number; baseline: number; unit: string; samples: Int32Array } {
  let low = Infinity;
  let high = -Infinity;
  for (const value of samples) {
    if (value === MISSING) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const by = high - low > 65_000 ? Math.ceil((high - low) / 65_000) : 1;
  const shift = by === 1 && low >= -32_767 && high <= 32_767 ? 0 : Math.round((low + high) / 2);
  const gain = config.gain / by;
  const baseline = Math.round((config.baseline - shift) / by);
  if (shift === 0 && by === 1) return { gain, baseline, unit: config.unit, samples };
  return {
    gain,
    baseline,
    unit: config.unit,
    samples: samples.map((value) => (value === MISSING ? MISSING : Math.round((value - shift) / by))),
  };
}

async function exportFhir(pool: Pool, streams: readonly StreamRow[], range: Range, folder: string, console: Console): Promise<string> {
  const { xuser_id: subjectId, project_id: projectId, subject } = streams[0]!;
  const { rows: biosignals } = await pool.query<BiosignalRow>(
    `select id, name, abbreviation, unit, loinc_code, signal_type, feature, channel_kind from biosignal
     where (project_id is null or project_id = $1) and channel_kind is null order by id`,
    [projectId],
  );
  const time = (ns: bigint): string => new Date(Number(ns / 1_000_000n)).toISOString();
  async function* lines(): AsyncGenerator<string> {
    for (const biosignal of biosignals) {
      let after: readonly [string, string] | null = null;
      for (;;) {
        console.signal.throwIfAborted();
        const page: readonly ObservationRow[] = await readObservations(pool, {
          subjectId,
          biosignal,
          since: time(range.fromNs),
          until: time(range.toNs),
          deviceId: null,
          methodCode: null,
          qualityMax: 2,
          order: 'asc',
          after,
          limit: OBSERVATIONS_PER_QUERY,
        });
        for (const row of page) yield `${JSON.stringify(fhirObservation(row, subjectId))}\n`;
        const last = page.at(-1);
        if (page.length < OBSERVATIONS_PER_QUERY || last === undefined) break;
        after = [last.effective_time, last.id];
      }
    }
  }
  const path = join(folder, `${safeName(subject)}-observations.ndjson`);
  await pipeline(Readable.from(lines()), createWriteStream(path));
  return path;
}

/** Letters, digits, `_` and `-`, as WFDB record names are; never a path. */
function safeName(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[_-]+/, 'x')
    .slice(0, 100);
}
