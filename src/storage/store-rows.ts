/** Writes sealed rows to sample_block: new rows by COPY alone; rows that may exist already are merged with the stored ones. */
import type pg from 'pg';
import type { BlockRun } from './block-codec.ts';
import { CopyBuffer, copyRows } from './copy-binary.ts';
import { beginHeld, withoutErased } from './erased-streams.ts';
import { RowFault } from './database/sql-states.ts';
import { mergeRuns } from './merge-runs.ts';
import type { Channel, SealedRow } from './open-rows.ts';
import { makeSampleRow, putSampleRow, ROW_SEC_MAX, runsOf, sampleBlockColumns, type SampleRow } from './sample-rows.ts';

/** Copies new rows. If one exists after all, the database refuses it (23505) and nothing is written. */
export async function copyNew(client: pg.Client, batch: readonly SealedRow[]): Promise<void> {
  await beginHeld(client);
  const rows = await withoutErased(client, batch, streamOf);
  await copyRows(client, sampleBlockColumns, rowsOf(rows.map((sealed) => sealed.row)));
  await client.query('commit');
}

/** Selects rows that begin within those named by $1..$4 (start and seconds): earlier code wrote one second per row, whatever the rate. The
 *  range of times lets the planner exclude partitions and chunks. */
const namedRows = `unnest($1::int[], $2::smallint[], $3::int8[], $4::int[]) as k (stream_id, channel_no, us, sec)
  where b.time between timestamptz 'epoch' + $5 * interval '1 microsecond' and timestamptz 'epoch' + $6 * interval '1 microsecond'
    and b.stream_id = k.stream_id and b.channel_no = k.channel_no
    and b.time >= timestamptz 'epoch' + k.us * interval '1 microsecond'
    and b.time < timestamptz 'epoch' + (k.us + k.sec * 1000000) * interval '1 microsecond'`;

/** Replaces existing rows by their union with the new ones, and copies the rest, in one transaction, so that no reader misses a row.
 *  @param askAll whether to look for every row, not only for those that may exist */
export async function storeCarefully(client: pg.Client, sealedRows: readonly SealedRow[], askAll: boolean): Promise<void> {
  await beginHeld(client);
  const batch = await withoutErased(client, sealedRows, streamOf);
  const byKey = new Map<string, { sealed: SealedRow; blocks: Uint8Array[] }>();
  for (const sealed of batch) {
    const key = rowKey(sealed.row.streamId, sealed.row.channelNo, sealed.row.timeUs);
    const found = byKey.get(key);
    if (found === undefined) byKey.set(key, { sealed, blocks: [sealed.row.codec] });
    else found.blocks.push(sealed.row.codec);
  }
  await learnStoredHigh(client, batch);
  const asked = [...byKey.values()]
    .filter(
      ({ sealed, blocks }) =>
        askAll || sealed.mayExist || blocks.length > 1 || sealed.row.timeUs <= (sealed.channel.storedHighUs ?? Infinity),
    )
    .map(({ sealed: { row, channel } }) => ({ ...row, rowSec: channel.rowSec }));
  if (asked.length > 0) {
    const times = asked.map((row) => row.timeUs);
    const range = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b)) + (ROW_SEC_MAX - 1) * 1e6];
    const stored = await client.query<{ stream_id: number; channel_no: number; us: bigint; sec: number; codec: Buffer }>(
      `select b.stream_id, b.channel_no, k.us, k.sec, b.codec from sample_block b, ${namedRows}`,
      [asked.map((row) => row.streamId), asked.map((row) => row.channelNo), times, asked.map((row) => row.rowSec), ...range],
    );
    for (const row of stored.rows) byKey.get(rowKey(row.stream_id, row.channel_no, Number(row.us)))!.blocks.unshift(row.codec);
    if (stored.rows.length > 0) {
      const found = [
        stored.rows.map((row) => row.stream_id),
        stored.rows.map((row) => row.channel_no),
        stored.rows.map((row) => row.us.toString()),
        stored.rows.map((row) => row.sec),
      ];
      await client.query(`delete from sample_block b using ${namedRows}`, [...found, ...range]);
    }
  }
  const rows: SampleRow[] = [];
  for (const { sealed, blocks } of byKey.values()) {
    const { streamId, channelNo, timeUs } = sealed.row;
    const { epochNs, rateNanoHz } = sealed.channel;
    rows.push(
      blocks.length === 1 ? sealed.row : makeSampleRow(streamId, channelNo, timeUs, epochNs, rateNanoHz, mergeRuns(storedRuns(blocks))),
    );
  }
  await copyRows(client, sampleBlockColumns, rowsOf(rows));
  await client.query('commit');
}

/** @throws RowFault when one of them is damaged: the stored row stays as it is, and the new one is set aside */
function storedRuns(blocks: readonly Uint8Array[]): BlockRun[] {
  try {
    return blocks.flatMap((codec) => runsOf(codec));
  } catch (error) {
    throw new RowFault(`the stored row that it belongs to is damaged: ${(error as Error).message}`, { cause: error });
  }
}

/** Looks up the newest row of channels that were not stored from here before. The key alone would not show every row that must be merged:
 *  earlier code wrote shorter rows, and one of them may begin within ours. Rows older than this batch do not matter: should their samples
 *  come again, they are older than what was sealed. */
async function learnStoredHigh(client: pg.Client, batch: readonly SealedRow[]): Promise<void> {
  const firsts = new Map<Channel, number>();
  for (const { channel, row } of batch)
    if (channel.storedHighUs === null) firsts.set(channel, Math.min(row.timeUs, firsts.get(channel) ?? Infinity));
  if (firsts.size === 0) return;
  const channels = [...firsts.keys()];
  const { rows } = await client.query<{ us: number | null }>(
    `select (select (extract(epoch from b.time) * 1000000)::float8 from sample_block b
             where b.time >= timestamptz 'epoch' + $3 * interval '1 microsecond' and b.stream_id = k.stream_id and b.channel_no = k.channel_no
             order by b.time desc limit 1) as us
     from unnest($1::int[], $2::smallint[]) with ordinality as k (stream_id, channel_no, i) order by k.i`,
    [channels.map(({ streamId }) => streamId), channels.map(({ channelNo }) => channelNo), Math.min(...firsts.values())],
  );
  for (const [i, channel] of channels.entries()) channel.storedHighUs = rows[i]!.us ?? -Infinity;
}

/** Sorts rows by key: neighbours in the key are then neighbours on disk, and index pages split full instead of half empty. */
function rowsOf(rows: readonly SampleRow[]): CopyBuffer {
  const buffer = new CopyBuffer(1024 + rows.reduce((bytes, row) => bytes + row.codec.length + 100, 0));
  const sorted = rows.toSorted((a, b) => a.streamId - b.streamId || a.channelNo - b.channelNo || a.timeUs - b.timeUs);
  for (const row of sorted) putSampleRow(buffer, row);
  return buffer;
}

const streamOf = ({ row }: SealedRow): number => row.streamId;

function rowKey(streamId: number, channelNo: number, timeUs: number): string {
  return `${streamId}:${channelNo}:${timeUs}`;
}
