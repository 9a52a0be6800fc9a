/** Joins runs to whole seconds of the device clock and writes them to sample_block.
 *
 *  A row is as many seconds as rowSecOf says, by the channel's rate; "second" below is the row's, by its first. A second is sealed when all of its samples are there, or when nothing has come for it for a while; sealed seconds wait for the next COPY.
 *  A second that was sealed before (late samples), or is not newer than what the table had when the channel was first stored from here (a
 *  replayed log, a device that sends again), goes the safe way: read, merge, replace, in the same transaction as the COPY of the rest.
 *  Seconds that are new go by COPY alone; if the table has one of them after all (23505), the whole batch goes the safe way. So the same samples may be pushed any number of times, in any order, and the table is the same.
 *
 *  Nothing here is dropped: the samples are durable in packet_log, and safePosition() says up to where they are durable here too. When the
 *  database is away the batch is tried again until it is back; `full` tells ingest to slow the devices. A row that the database can never
 *  hold is set aside. */
import type pg from 'pg';
import { gridCeil, type ChannelNo, type SampleRun, type StreamId } from '../signal.ts';
import type { BlockRun } from './block-codec.ts';
import { CopyBuffer, copyRows } from './copy-binary.ts';
import type { Database } from './database/database.ts';
import { LetterBox } from './letter-box.ts';
import { mergeRuns } from './merge-runs.ts';
import { OpenRun } from './open-run.ts';
import { Partitions } from './schema/partitions.ts';
import {
  clipToSeconds,
  makeSampleRow,
  putSampleRow,
  readStoredRuns,
  ROW_SEC_MAX,
  rowSecOf,
  runsOf,
  sampleBlockColumns,
  type DamagedRow,
  type SampleRow,
} from './sample-rows.ts';
import { reasonOf } from './set-aside.ts';
import type { Letter } from './set-aside.ts';
import { RowFault } from './database/sql-states.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';
import { WriterConnection } from './database/writer-connection.ts';

export type BlockWriterOptions = Readonly<{
  /** Samples and sealed seconds not yet stored, bytes; above it `full` is true. Default 128 MiB. */
  queueBytesMax?: number;
  /** Sealed seconds leave this long after the first, ms: each COPY costs PostgreSQL milliseconds, and until then they are read from memory.
   *  Default 1,000. */
  lingerMs?: number;
  /** ... or at this size, bytes. Default 2 MiB. */
  batchBytesMax?: number;
  /** An incomplete second is sealed when nothing has come for it for this long, ms of wall time; a row of more seconds waits for each of
   *  them, so that a gateway that sends every few seconds fills it. Default 2,000. */
  incompleteAfterMs?: number;
  /** Told what is tried again: once, until something is stored. */
  onFault?: (message: string, cause: unknown) => void;
  /** Told what was set aside. */
  onSetAside?: (letters: readonly Letter[]) => void;
  /** Told of stored rows that cannot be read, each time that they should be. */
  onDamaged?: (rows: readonly DamagedRow[]) => void;
}>;

type Channel = {
  streamId: StreamId;
  channelNo: ChannelNo;
  epochNs: bigint;
  rateNanoHz: number;
  /** Seconds of a row. */
  rowSec: number;
  seconds: Map<number, OpenRow>;
  /** The second used last. */
  current: OpenRow | null;
  /** Newest second sealed since the channel was first seen here; -1: none. */
  sealedHigh: number;
  /** Newest row that the table had when the first one was stored from here, Unix µs (-Infinity: none after it); null: not asked yet. */
  storedHighUs: number | null;
  /** Sealed, not yet stored. */
  waiting: Set<Sealed>;
  /** Forget the channel once nothing waits. */
  closing: boolean;
};

type OpenRow = {
  second: number;
  /** Grid indices of the second: [kStart, kEnd). */
  kStart: number;
  kEnd: number;
  /** In-order samples from the first on; the usual case. null: none, or all in `others`. */
  first: OpenRun | null;
  /** What did not continue it. */
  others: BlockRun[];
  otherCount: number;
  position: number;
  touchedMs: number;
  /** It is in the queue of those to be sealed. */
  due: boolean;
};

type Sealed = { channel: Channel; second: number; row: SampleRow; position: number; mayExist: boolean; bytes: number };

const SECOND_NS = 1_000_000_000n;
/** Row, key and bookkeeping of a sealed second beside its samples, bytes. */
const ROW_BYTES = 300;
/** Seconds are sealed for so long at a time, ms; devices that began together fill their rows together, and sockets wait meanwhile. */
const SEAL_TURN_MS = 3;

export class BlockWriter {
  readonly #options: Required<Omit<BlockWriterOptions, 'onFault' | 'onSetAside' | 'onDamaged'>>;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #onDamaged: (rows: readonly DamagedRow[]) => void;
  readonly #letters: LetterBox;
  readonly #connection: WriterConnection;
  readonly #partitions: Partitions;
  readonly #pool: pg.Pool;
  readonly #channels = new Map<number, Channel>();
  #ready: Sealed[] = [];
  #readyBytes = 0;
  #openBytes = 0;
  #writing: Promise<void> | null = null;
  #inFlight: readonly Sealed[] = [];
  #timer: NodeJS.Timeout | null = null;
  readonly #sweeper: NodeJS.Timeout;
  /** Complete or too old, from #dueHead on: sealed in the next turns of the loop, and read as open seconds until then. */
  #due: { channel: Channel; open: OpenRow }[] = [];
  #dueHead = 0;
  #closed = false;

  constructor(database: Database, options: BlockWriterOptions = {}) {
    this.#options = {
      queueBytesMax: options.queueBytesMax ?? 128 * 1024 * 1024,
      lingerMs: options.lingerMs ?? 1000,
      batchBytesMax: options.batchBytesMax ?? 2 * 1024 * 1024,
      incompleteAfterMs: options.incompleteAfterMs ?? 2000,
    };
    this.#onFault = options.onFault ?? (() => {});
    this.#onDamaged = options.onDamaged ?? (() => {});
    this.#pool = database.pool;
    this.#partitions = new Partitions(database);
    this.#connection = new WriterConnection(database, {
      onRetry: (error, attempt) => this.#onFault(`samples: attempt ${attempt}: ${error.message}`, error),
    });
    this.#letters = new LetterBox(this.#connection, {
      label: 'samples',
      onFault: options.onFault,
      onSetAside: options.onSetAside,
      isStopped: () => this.#closed,
    });
    // job: incomplete-rows: stores seconds with holes after a while
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(20, this.#options.incompleteAfterMs / 4));
    this.#sweeper.unref();
  }

  /** Not yet stored, bytes. */
  get queueBytes(): number {
    return this.#openBytes + this.#readyBytes;
  }

  /** Above the bound: answer 'busy' before a packet goes to the log. push() still takes what is durable already. */
  get full(): boolean {
    return this.queueBytes > this.#options.queueBytesMax;
  }

  /** Takes the runs of one packet; copies them.
   *  @param epochNs of the stream  @param rates nano-hertz by ChannelNo  @param position of the packet's batch in the log */
  push(streamId: StreamId, epochNs: bigint, rates: readonly number[], runs: readonly SampleRun[], position: number): void {
    const nowMs = performance.now();
    for (const run of runs) {
      const channel = this.#channel(streamId, run.channelNo, epochNs, rates);
      for (let from = 0; from < run.samples.length;) {
        const second = this.#secondOf(channel, run.k0 + from);
        const to = Math.min(run.samples.length, second.kEnd - run.k0);
        this.#add(second, run, from, to);
        if (position < second.position) second.position = position;
        second.touchedMs = nowMs;
        if (!second.due && (second.first?.n ?? 0) + second.otherCount >= second.kEnd - second.kStart) this.#sealSoon(channel, second);
        from = to;
      }
    }
  }

  /** Every packet of a batch up to here is in sample_block, as far as it was pushed. Infinity when nothing waits. */
  safePosition(): number {
    let lowest = Infinity;
    for (const channel of this.#channels.values()) {
      for (const second of channel.seconds.values()) if (second.position < lowest) lowest = second.position;
    }
    for (const sealed of this.#ready) if (sealed.position < lowest) lowest = sealed.position;
    for (const sealed of this.#inFlight) if (sealed.position < lowest) lowest = sealed.position;
    return lowest - 1;
  }

  /** Stores everything, incomplete seconds included. */
  async flush(): Promise<void> {
    for (const channel of this.#channels.values()) for (const second of channel.seconds.values()) this.#seal(channel, second);
    while (this.#ready.length > 0 || this.#writing !== null) {
      this.#startWriting();
      await this.#writing;
    }
  }

  /** All samples of one channel in [fromNs, toNs) of the device clock: stored, sealed and open, merged. Whole seconds, so it may
   *  contain samples just outside. A stored row that cannot be read is a gap. */
  async loadRuns(
    streamId: StreamId,
    channelNo: ChannelNo,
    epochNs: bigint,
    rateNanoHz: number,
    fromNs: bigint,
    toNs: bigint,
  ): Promise<BlockRun[]> {
    const fromSecond = floorSecond(fromNs);
    const toSecond = floorSecond(toNs - 1n) + 1;
    // Memory first: what is committed between the two reads is then seen twice and merged, not missed.
    const runs = this.recentRuns(streamId, channelNo, fromNs, toNs);
    const [fromUs, toUs] = [secondUs(epochNs, fromSecond), secondUs(epochNs, toSecond)];
    runs.push(...(await readStoredRuns(this.#pool, streamId, channelNo, fromUs, toUs, this.#onDamaged)));
    return clipToSeconds(mergeRuns(runs), rateNanoHz, fromSecond, toSecond);
  }

  /** What of loadRuns is not yet in the table: acknowledged, and up to a row's seconds away from it. Copies, in any order. */
  recentRuns(streamId: StreamId, channelNo: ChannelNo, fromNs: bigint, toNs: bigint): BlockRun[] {
    const channel = this.#channels.get(channelKey(streamId, channelNo));
    if (channel === undefined) return [];
    const fromSecond = floorSecond(fromNs) - channel.rowSec + 1;
    const toSecond = floorSecond(toNs - 1n) + 1;
    const runs: BlockRun[] = [];
    for (const sealed of channel.waiting)
      if (sealed.second >= fromSecond && sealed.second < toSecond) runs.push(...runsOf(sealed.row.codec));
    for (const open of channel.seconds.values()) if (open.second >= fromSecond && open.second < toSecond) runs.push(...runsOfOpen(open));
    return runs;
  }

  /** The stream is idle: seals its seconds and forgets its channels. @returns when they are stored */
  async closeStream(streamId: StreamId): Promise<void> {
    const closing: Channel[] = [];
    for (const [key, channel] of this.#channels) {
      if (channel.streamId !== streamId) continue;
      for (const second of channel.seconds.values()) this.#seal(channel, second);
      if (channel.waiting.size === 0) this.#channels.delete(key);
      else {
        channel.closing = true;
        closing.push(channel);
      }
    }
    while (closing.some((channel) => channel.waiting.size > 0) && !this.#closed) {
      this.#startWriting();
      await this.#writing;
    }
  }

  /** Stores what waits and ends. */
  async close(): Promise<void> {
    await this.flush();
    this.#closed = true;
    clearInterval(this.#sweeper);
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#connection.close();
  }

  /** Ends without storing: the log has everything. For tests and for a stop whose deadline has come. */
  async abandon(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#ready = [];
    await this.#connection.close();
  }

  #channel(streamId: StreamId, channelNo: ChannelNo, epochNs: bigint, rates: readonly number[]): Channel {
    const key = channelKey(streamId, channelNo);
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      const rateNanoHz = rates[channelNo];
      if (rateNanoHz === undefined) throw new RangeError(`stream ${streamId} has no channel ${channelNo}`);
      channel = {
        streamId,
        channelNo,
        epochNs,
        rateNanoHz,
        rowSec: rowSecOf(rateNanoHz),
        seconds: new Map(),
        current: null,
        sealedHigh: -1,
        storedHighUs: null,
        waiting: new Set(),
        closing: false,
      };
      this.#channels.set(key, channel);
    }
    channel.closing = false;
    return channel;
  }

  #secondOf(channel: Channel, k: number): OpenRow {
    const current = channel.current;
    if (current !== null && k >= current.kStart && k < current.kEnd) return current;
    const { rowSec } = channel;
    const ownSecond = Number((BigInt(k) * SECOND_NS) / BigInt(channel.rateNanoHz));
    const second = ownSecond - (ownSecond % rowSec);
    let open = channel.seconds.get(second);
    if (open === undefined) {
      const kStart = gridCeil(BigInt(second) * SECOND_NS, channel.rateNanoHz);
      const kEnd = gridCeil(BigInt(second + rowSec) * SECOND_NS, channel.rateNanoHz);
      open = {
        second,
        kStart,
        kEnd,
        first: null,
        others: [],
        otherCount: 0,
        position: Infinity,
        touchedMs: 0,
        due: false,
      };
      channel.seconds.set(second, open);
    }
    channel.current = open;
    return open;
  }

  /** Adds samples [from, to) of a run to the second they belong to. */
  #add(open: OpenRow, run: SampleRun, from: number, to: number): void {
    const { samples, qmask } = run;
    const k = run.k0 + from;
    const count = to - from;
    const isFloat = samples instanceof Float32Array;
    if (open.first === null) {
      open.first = new OpenRun(k, open.kEnd - k, isFloat);
      this.#openBytes += open.first.bytes;
    }
    const { first } = open;
    if (k === first.k0 + first.n && isFloat === first.isFloat) {
      const before = first.bytes;
      first.append(samples, qmask, from, to);
      this.#openBytes += first.bytes - before;
    } else {
      open.others.push({ k0: k, samples: samples.slice(from, to), qmask: qmask?.slice(from, to) ?? null });
      open.otherCount += count;
      this.#openBytes += 4 * count;
    }
  }

  #sealSoon(channel: Channel, open: OpenRow): void {
    open.due = true;
    if (this.#due.length === 0) setImmediate(() => this.#sealDue());
    this.#due.push({ channel, open });
  }

  #sealDue(): void {
    const due = this.#due;
    const begunMs = performance.now();
    for (let nowMs = begunMs; this.#dueHead < due.length; nowMs = performance.now()) {
      if (nowMs - begunMs > SEAL_TURN_MS) {
        setImmediate(() => this.#sealDue());
        return;
      }
      const { channel, open } = due[this.#dueHead++]!;
      if (channel.seconds.get(open.second) !== open) continue; // sealed meanwhile, by a flush or because its stream ended
      open.due = false;
      if (this.#isStale(channel, open, nowMs)) this.#seal(channel, open);
      else this.#sealIfComplete(channel, open);
    }
    due.length = 0;
    this.#dueHead = 0;
  }

  /** As many samples as the second has have come: seal it, unless some came twice and others are missing. */
  #sealIfComplete(channel: Channel, open: OpenRow): void {
    const wanted = open.kEnd - open.kStart;
    const runs = runsOfOpen(open);
    if (runs.length === 1 && runs[0]!.samples.length === wanted) {
      this.#seal(channel, open, runs);
      return;
    }
    const count = runs.reduce((sum, run) => sum + run.samples.length, 0);
    this.#openBytes += 4 * count - bytesOfOpen(open);
    open.others = [...runs];
    open.otherCount = count;
    open.first = null;
  }

  #seal(channel: Channel, open: OpenRow, runs: readonly BlockRun[] = runsOfOpen(open)): void {
    channel.seconds.delete(open.second);
    if (channel.current === open) channel.current = null;
    this.#openBytes -= bytesOfOpen(open);
    const row = makeSampleRow(
      channel.streamId,
      channel.channelNo,
      secondUs(channel.epochNs, open.second),
      channel.epochNs,
      channel.rateNanoHz,
      runs,
    );
    const mayExist = open.second <= channel.sealedHigh;
    if (open.second > channel.sealedHigh) channel.sealedHigh = open.second;
    const sealed: Sealed = { channel, second: open.second, row, position: open.position, mayExist, bytes: row.codec.length + ROW_BYTES };
    channel.waiting.add(sealed);
    this.#ready.push(sealed);
    this.#readyBytes += sealed.bytes;
    this.#schedule();
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const channel of this.#channels.values())
      for (const open of channel.seconds.values()) if (!open.due && this.#isStale(channel, open, nowMs)) this.#sealSoon(channel, open);
  }

  #isStale(channel: Channel, open: OpenRow, nowMs: number): boolean {
    return open.touchedMs < nowMs - this.#options.incompleteAfterMs - 1000 * (channel.rowSec - 1);
  }

  #schedule(): void {
    if (this.#writing !== null || this.#closed) return;
    if (this.#readyBytes >= this.#options.batchBytesMax) this.#startWriting();
    else this.#timer ??= setTimeout(() => this.#startWriting(), this.#options.lingerMs);
  }

  #startWriting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || this.#ready.length === 0) return;
    const batch = this.#ready;
    this.#ready = [];
    this.#inFlight = batch;
    this.#writing = this.#store(batch).finally(() => {
      this.#inFlight = [];
      this.#writing = null;
      if (this.#ready.length > 0) this.#schedule();
    });
  }

  /** Until it is stored or set aside; only an abandoned writer gives up. */
  async #store(batch: readonly Sealed[]): Promise<void> {
    const mayExist = batch.some(
      ({ channel, row, mayExist: seen }) => seen || channel.storedHighUs === null || row.timeUs <= channel.storedHighUs,
    );
    await storeOrSetAside(batch, false, {
      write: (part, askAll) => this.#write(part, mayExist, askAll),
      halve: (part) => (part.length < 2 ? null : [part.slice(0, part.length >> 1), part.slice(part.length >> 1)]),
      setAside: (part, why) => this.#setAside(part, why),
      forgetPartitions: () => this.#partitions.forget(),
      isStopped: () => this.#closed,
      onFault: (error) => this.#letters.fault(error),
    });
    for (const sealed of batch) {
      const { channel } = sealed;
      channel.waiting.delete(sealed);
      this.#readyBytes -= sealed.bytes;
      if (channel.closing && channel.waiting.size === 0) this.#channels.delete(channelKey(channel.streamId, channel.channelNo));
    }
  }

  async #write(batch: readonly Sealed[], mayExist: boolean, askAll: boolean): Promise<void> {
    await this.#connection.run(async (client) => {
      await this.#partitions.ensure(client, 'sample_block', new Set(batch.map((sealed) => sealed.row.timeUs)));
      if (mayExist || askAll) await storeCarefully(client, batch, askAll);
      else await copyRows(client, sampleBlockColumns, rowsOf(batch.map((sealed) => sealed.row)));
    });
    this.#letters.stored();
  }

  async #setAside(batch: readonly Sealed[], why: unknown): Promise<void> {
    const letters = batch.map(({ channel: { streamId, channelNo }, row, position }): Letter => {
      const content = { channelNo, timeUs: row.timeUs, sampleCount: row.n };
      return { ...reasonOf(why), kind: 'samples', streamId, logPosition: position, content, bytes: row.codec };
    });
    await this.#letters.put(letters);
  }
}

/** The rows that begin within those that $1..$4 name (start and seconds): earlier code wrote a second to a row, whatever the rate. The range
 *  of times lets partitions and chunks be excluded. */
const namedRows = `unnest($1::int[], $2::smallint[], $3::int8[], $4::int[]) as k (stream_id, channel_no, us, sec)
  where b.time between timestamptz 'epoch' + $5 * interval '1 microsecond' and timestamptz 'epoch' + $6 * interval '1 microsecond'
    and b.stream_id = k.stream_id and b.channel_no = k.channel_no
    and b.time >= timestamptz 'epoch' + k.us * interval '1 microsecond'
    and b.time < timestamptz 'epoch' + (k.us + k.sec * 1000000) * interval '1 microsecond'`;

/** Replaces the rows that exist by their union with the new ones, and copies the rest: one transaction, so that no reader misses one.
 *  @param askAll whether to look for every row, not only for those that may exist */
async function storeCarefully(client: pg.Client, batch: readonly Sealed[], askAll: boolean): Promise<void> {
  const byKey = new Map<string, { sealed: Sealed; blocks: Uint8Array[] }>();
  for (const sealed of batch) {
    const key = rowKey(sealed.row.streamId, sealed.row.channelNo, sealed.row.timeUs);
    const found = byKey.get(key);
    if (found === undefined) byKey.set(key, { sealed, blocks: [sealed.row.codec] });
    else found.blocks.push(sealed.row.codec);
  }
  await client.query('begin');
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

/** @throws RowFault when one of them is damaged: the row that is there stays as it is, and the new one is set aside */
function storedRuns(blocks: readonly Uint8Array[]): BlockRun[] {
  try {
    return blocks.flatMap((codec) => runsOf(codec));
  } catch (error) {
    throw new RowFault(`the stored row that it belongs to is damaged: ${(error as Error).message}`, { cause: error });
  }
}

/** Asks for the newest row of channels that were not stored from here before. The key alone would not show every row that must be merged:
 *  earlier code wrote shorter rows, and one of them may begin within ours. What is older than this batch needs no answer: should it come
 *  again it is older than what was sealed. */
async function learnStoredHigh(client: pg.Client, batch: readonly Sealed[]): Promise<void> {
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

/** In the order of the key: neighbours in the key are then neighbours on disk, and its pages split full instead of half empty. */
function rowsOf(rows: readonly SampleRow[]): CopyBuffer {
  const buffer = new CopyBuffer(1024 + rows.reduce((bytes, row) => bytes + row.codec.length + 100, 0));
  const sorted = rows.toSorted((a, b) => a.streamId - b.streamId || a.channelNo - b.channelNo || a.timeUs - b.timeUs);
  for (const row of sorted) putSampleRow(buffer, row);
  return buffer;
}

/** Copies of the buffer, which goes on changing; the other runs are never changed. */
function runsOfOpen({ first, others }: OpenRow): BlockRun[] {
  if (first === null) return mergeRuns(others);
  return others.length === 0 ? [first.run()] : mergeRuns([first.run(), ...others]);
}

function bytesOfOpen({ first, otherCount }: OpenRow): number {
  return (first?.bytes ?? 0) + 4 * otherCount;
}

function channelKey(streamId: StreamId, channelNo: number): number {
  return streamId * 32_768 + channelNo;
}

function rowKey(streamId: number, channelNo: number, timeUs: number): string {
  return `${streamId}:${channelNo}:${timeUs}`;
}

function floorSecond(ns: bigint): number {
  return Number(ns >= 0n ? ns / SECOND_NS : -((-ns + SECOND_NS - 1n) / SECOND_NS));
}

/** Unix µs of the start of a device second. */
function secondUs(epochNs: bigint, second: number): number {
  const ns = epochNs + BigInt(second) * SECOND_NS;
  return Number(ns >= 0n ? ns / 1000n : (ns - 999n) / 1000n);
}
