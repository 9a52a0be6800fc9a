/** Reads the data of an export: the streams of a user, their samples page by page, and one channel of a stretch as one array. */
import type { Pool } from 'pg';
import { PipelineError } from '../../errors.ts';
import { readSamples } from '../../query/samples.ts';
import type { SampleSegment } from '../../query/samples.ts';
import { gridCeil } from '../../signal.ts';
import type { ChannelConfig } from '../../signal.ts';
import { UsageError } from '../command.ts';
import type { Console } from '../command.ts';
import { startProgress } from '../progress.ts';
import { MISSING } from '../client/recording.ts';

/** Channel seconds that are read and decoded at once. */
const ROWS_PER_QUERY = 4000;
/** Most samples, missing ones included, for formats written in one piece: 4 bytes each in memory. */
const SAMPLES_MAX = 200_000_000;

/** Unix ns, from inclusive, to exclusive. */
export type Range = Readonly<{ fromNs: bigint; toNs: bigint }>;

export type PersonRow = Readonly<{
  /** External id. */
  subject: string;
  xuser_id: string;
  project_id: string;
  organization_id: string;
}>;

export type StreamRow = PersonRow & Readonly<{ id: number; uuid: string; epoch_ns: bigint; device: string }>;

/** Input of one stream's export. `name` is the stem of its files. */
export type StreamExport = Readonly<{ pool: Pool; stream: StreamRow; range: Range; folder: string; console: Console }>;

/** One channel of the exported stretch as one array on its grid. */
export type Column = Readonly<{ config: ChannelConfig; samples: Int32Array; rounded: boolean }>;

/** Finds streams by the uuid of a stream, or by the uuid or external id of a user, who may have none; and their owner.
 *  @throws PipelineError not_found; UsageError when several users match */
export async function findPerson(
  pool: Pool,
  wanted: string,
  orgId: string | null,
): Promise<Readonly<{ person: PersonRow; streams: readonly StreamRow[] }>> {
  const { rows } = await pool.query<StreamRow>(
    `select s.id, s.uuid, s.epoch_ns, d.external_id as device, x.external_id as subject, s.xuser_id, s.project_id, s.organization_id
     from stream s join device d on d.id = s.device_id join xuser x on x.id = s.xuser_id
     where (s.uuid::text = $1 or x.id::text = $1 or x.external_id = $1) and ($2::uuid is null or s.organization_id = $2)
     order by s.epoch_ns, s.id`,
    [wanted, orgId],
  );
  const people = await pool.query<PersonRow>(
    `select external_id as subject, id as xuser_id, project_id, organization_id from xuser
     where (id::text = $1 or external_id = $1) and ($2::uuid is null or organization_id = $2)`,
    [wanted, orgId],
  );
  const [person] = [...rows, ...people.rows];
  if (person === undefined) throw new PipelineError('not_found', `no stream or user '${wanted}'`);
  const ids = new Set([...rows, ...people.rows].map(({ xuser_id: id }) => id));
  if (ids.size > 1) {
    const help =
      new Set([...rows, ...people.rows].map(({ organization_id: id }) => id)).size > 1 ? 'give --org, or the uuid' : 'give the uuid';
    throw new UsageError(`several users have the external id '${wanted}': ${help}: ${[...ids].slice(0, 10).join(', ')}`);
  }
  return { person, streams: rows };
}

/** Segments of one stream, page by page in time, with progress. */
export async function* samplePages({ pool, stream, range, console }: StreamExport): AsyncGenerator<readonly SampleSegment[]> {
  const { rows } = await pool.query<{ first_ms: number | null; last_ms: number | null }>(
    `select (extract(epoch from min(time)) * 1000)::float8 as first_ms, (extract(epoch from max(time)) * 1000)::float8 as last_ms
     from sample_block where stream_id = $1`,
    [stream.id],
  );
  const firstMs = Math.max(rows[0]?.first_ms ?? 0, Number(range.fromNs / 1_000_000n));
  const lastMs = Math.min(rows[0]?.last_ms ?? 0, Number(range.toNs / 1_000_000n));
  const progress = startProgress(console, stream.uuid, Math.max(0, lastMs - firstMs));
  const startedMs = performance.now();
  let sampleCount = 0;
  try {
    for (let fromNs: bigint | null = range.fromNs; fromNs !== null;) {
      console.signal.throwIfAborted();
      const page = await readSamples(pool, {
        streamId: stream.id,
        channels: null,
        fromNs,
        toNs: range.toNs,
        rowsMax: ROWS_PER_QUERY,
        onDamaged: ({ reason, ...where }) =>
          console.err(`biosignal export: a stored row is damaged and left out (${reason}): ${JSON.stringify(where)}`),
      });
      yield page.segments;
      for (const { samples } of page.segments) sampleCount += samples.length;
      fromNs = page.nextFromNs;
      const rate = Math.round((1000 * sampleCount) / (performance.now() - startedMs));
      if (fromNs !== null) progress.update(Number(fromNs / 1_000_000n) - firstMs, `${rate} samples/s`);
    }
  } finally {
    progress.end();
  }
}

/** All segments of one stream, for the formats whose header needs them. @throws UsageError above SAMPLES_MAX */
export async function readWhole(job: StreamExport): Promise<SampleSegment[]> {
  const segments: SampleSegment[] = [];
  let sampleCount = 0;
  for await (const page of samplePages(job)) {
    segments.push(...page);
    for (const { samples } of page) sampleCount += samples.length;
    if (sampleCount > SAMPLES_MAX) throw tooLong();
  }
  return segments;
}

function tooLong(): UsageError {
  return new UsageError(`more than ${SAMPLES_MAX} samples in one file, gaps counted: narrow --since and --until, or export as parquet`);
}

/** Device time at which all channels of an export begin: a whole second, where grids of whole rates meet. */
export function startOf(segments: readonly SampleSegment[], epochNs: bigint): bigint {
  const firstNs = segments.reduce((least, { t0Ns }) => (t0Ns < least ? t0Ns : least), segments[0]!.t0Ns) - epochNs;
  return firstNs - (firstNs % 1_000_000_000n);
}

/** Puts the segments of each channel on one array; absent or non-finite samples are MISSING. Float samples are scaled to integers of nine
 *  digits.
 *  @throws UsageError above SAMPLES_MAX samples, counting those of gaps */
export function joinSegments(segments: readonly SampleSegment[], startDeviceNs: bigint): Column[] {
  const columns: Column[] = [];
  let places = 0;
  for (const channelNo of [...new Set(segments.map((segment) => segment.channelNo))].toSorted((a, b) => a - b)) {
    const own = segments.filter((segment) => segment.channelNo === channelNo);
    const { code, kind, unit, lead, gain, baseline, rateNanoHz } = own[0]!;
    const kStart = gridCeil(startDeviceNs, rateNanoHz);
    const kEnd = own.reduce((most, { k0, samples }) => Math.max(most, k0 + samples.length), 0);
    places += Math.max(0, kEnd - kStart);
    if (places > SAMPLES_MAX) throw tooLong();
    const samples = new Int32Array(Math.max(0, kEnd - kStart)).fill(MISSING);
    const floats = own.some((segment) => segment.samples instanceof Float32Array);
    const scale = floats ? floatScale(own) : 1;
    for (const segment of own) {
      for (let i = 0; i < segment.samples.length; i++) {
        const value = segment.samples[i]!;
        if (segment.k0 + i >= kStart && Number.isFinite(value))
          samples[segment.k0 + i - kStart] = floats ? Math.round(value * scale) : value;
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

/** The power of ten that scales the largest value to just below 2^31. */
function floatScale(segments: readonly SampleSegment[]): number {
  let largest = 1e-9;
  for (const { samples } of segments)
    for (const value of samples) if (Number.isFinite(value) && Math.abs(value) > largest) largest = Math.abs(value);
  return 10 ** Math.min(9, Math.floor(Math.log10(2_000_000_000 / largest)));
}

/** Characters of a file's name, without its ending. */
const NAME_MAX = 100;

/** Stem of a stream's files: user, start, stream. */
export function fileStem(stream: StreamRow, startNs: bigint): string {
  const of = `-${new Date(Number(startNs / 1_000_000n)).toISOString().slice(0, 19)}-${stream.uuid.slice(0, 8)}`;
  return safeName(safeName(stream.subject).slice(0, NAME_MAX - of.length) + of);
}

/** Stem of a person's files: their external id, with a part of their own id where it has other characters or is too long. */
export function personStem({ subject, xuser_id: id }: Pick<PersonRow, 'subject' | 'xuser_id'>): string {
  const plain = safeName(subject);
  return plain === subject ? plain : `${plain.slice(0, NAME_MAX - 9)}-${id.slice(0, 8)}`;
}

/** Letters, digits, `_` and `-`, as WFDB record names are; never a path. */
export function safeName(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[_-]+/, 'x')
    .slice(0, NAME_MAX);
}
