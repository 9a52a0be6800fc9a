/** Rows of sample_block: makes them from runs, writes them as COPY fields, reads them back. */
import { isRejected, PipelineError } from '../errors.ts';
import { gridCeil, gridTimeNs, type StreamId } from '../signal.ts';
import type { Database } from './database/database.ts';
import { blockBytesMax, decodeBlock, encodeBlockInto, type BlockRun, type SampleRoom } from './block-codec.ts';
import type { CopyBuffer } from './copy-binary.ts';
import { part } from './merge-runs.ts';

export type SampleRow = Readonly<{
  streamId: StreamId;
  channelNo: number;
  /** Start of the row's first device second, Unix µs. */
  timeUs: number;
  /** First sample, Unix ns. */
  startNs: bigint;
  n: number;
  /** Statistics of the samples that are not bad, digital units; NaN when there are none. */
  min: number;
  max: number;
  mean: number;
  suspectCount: number;
  badCount: number;
  codec: Uint8Array;
}>;

export const sampleBlockColumns = 'sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)';

/** Seconds of the longest row. */
export const ROW_SEC_MAX = 8;
/** A row costs PostgreSQL 4 to 5 µs and 105 bytes, however many samples it contains. */
const ROW_SAMPLES_MIN = 800;

/** Length of a row in seconds of the device clock: 1, 2, 4 or 8, counted from the stream's zero. docs/decisions/0011. */
export function rowSecOf(rateNanoHz: number): number {
  let sec = 1;
  while (sec < ROW_SEC_MAX && (rateNanoHz / 1e9) * sec < ROW_SAMPLES_MIN) sec *= 2;
  return sec;
}

/** Clips runs to the device seconds [fromSecond, toSecond). */
export function clipToSeconds(runs: readonly BlockRun[], rateNanoHz: number, fromSecond: number, toSecond: number): BlockRun[] {
  const kFrom = fromSecond <= 0 ? 0 : gridCeil(BigInt(fromSecond) * 1_000_000_000n, rateNanoHz);
  const kTo = toSecond <= 0 ? 0 : gridCeil(BigInt(toSecond) * 1_000_000_000n, rateNanoHz);
  const clipped: BlockRun[] = [];
  for (const run of runs) {
    const low = Math.max(0, kFrom - run.k0);
    const high = Math.min(run.samples.length, kTo - run.k0);
    if (low < high) clipped.push(low === 0 && high === run.samples.length ? run : part(run, low, high));
  }
  return clipped;
}

const scratch = { bytes: new Uint8Array(64 * 1024) };

/** Packs one row. @param runs ascending by k0, not empty  @param timeUs the start of its first second, Unix µs */
export function makeSampleRow(
  streamId: StreamId,
  channelNo: number,
  timeUs: number,
  epochNs: bigint,
  rateNanoHz: number,
  runs: readonly BlockRun[],
): SampleRow {
  const room = blockBytesMax(runs);
  if (room > scratch.bytes.length) scratch.bytes = new Uint8Array(room);
  const end = encodeBlockInto(runs, scratch.bytes, 0);
  let n = 0;
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let goodCount = 0;
  let suspectCount = 0;
  let badCount = 0;
  for (const { samples, qmask } of runs) {
    n += samples.length;
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      if (qmask !== null && qmask[i] !== 0) {
        if (qmask[i] === 2) {
          badCount++;
          continue;
        }
        suspectCount++;
      }
      if (value !== value) continue; // NaN, from a device that sends floats
      goodCount++;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  return {
    streamId,
    channelNo,
    timeUs,
    startNs: epochNs + gridTimeNs(runs[0]!.k0, rateNanoHz),
    n,
    min: goodCount === 0 ? NaN : min,
    max: goodCount === 0 ? NaN : max,
    mean: goodCount === 0 ? NaN : sum / goodCount,
    suspectCount,
    badCount,
    codec: scratch.bytes.slice(0, end),
  };
}

export function putSampleRow(rows: CopyBuffer, row: SampleRow): void {
  rows.row(11);
  rows.timestamptz(row.timeUs);
  rows.int8(row.startNs);
  rows.int4(row.streamId);
  rows.int4(row.n);
  rows.float4(row.min);
  rows.float4(row.max);
  rows.float4(row.mean);
  rows.int2(row.channelNo);
  rows.int2(Math.min(row.suspectCount, 32_767));
  rows.int2(Math.min(row.badCount, 32_767));
  rows.bytea(row.codec);
}

/** @throws PipelineError internal when the block is damaged */
export function runsOf(codec: Uint8Array, room: SampleRoom | null = null): BlockRun[] {
  const runs = decodeBlock(codec, room);
  if (isRejected(runs)) throw new PipelineError('internal', runs.detail);
  return runs;
}

/** A stored row whose samples cannot be read. */
export type DamagedRow = Readonly<{
  streamId: StreamId;
  channelNo: number;
  /** As in SampleRow. */
  timeUs: number;
  n: number;
  reason: string;
  codec: Uint8Array;
}>;

/** Stored runs of one channel, by row, from rows that overlap [fromUs, toUs); the caller clips them.
 *  @param onDamaged called with rows that cannot be read, which are gaps */
export async function readStoredRuns(
  pool: Pick<Database['pool'], 'query'>,
  streamId: StreamId,
  channelNo: number,
  fromUs: number,
  toUs: number,
  onDamaged: (rows: readonly DamagedRow[]) => void,
): Promise<BlockRun[]> {
  const { rows } = await pool.query<{ us: number; n: number; codec: Buffer }>(
    `select (extract(epoch from time) * 1000000)::float8 as us, n, codec from sample_block
     where time >= timestamptz 'epoch' + $3 * interval '1 microsecond' and time < timestamptz 'epoch' + $4 * interval '1 microsecond'
       and stream_id = $1 and channel_no = $2
     order by time`,
    [streamId, channelNo, fromUs - (ROW_SEC_MAX - 1) * 1e6, toUs],
  );
  const damaged: DamagedRow[] = [];
  const runs = rows.flatMap(({ us: timeUs, n, codec }) => {
    const decoded = decodeBlock(codec);
    if (!isRejected(decoded)) return decoded;
    damaged.push({ streamId, channelNo, timeUs, n, reason: decoded.detail, codec });
    return [];
  });
  if (damaged.length > 0) onDamaged(damaged);
  return runs;
}
