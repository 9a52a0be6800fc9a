/** Joins runs to whole rows of the device clock and writes them to sample_block.
 *
 *  A row goes through three places: it is filled and sealed (open-rows.ts), waits for the next COPY, and travels to the database
 *  (store-rows.ts). A row that was sealed before (late samples), or is not newer than what the table had when the channel was first stored
 *  from here (a replayed log, a device that sends again), goes the safe way: read, merge, replace, in the same transaction as the COPY of
 *  the rest. Rows that are new go by COPY alone; if the table has one of them after all (23505), the whole batch goes the safe way. So the
 *  same samples may be pushed any number of times, in any order, and the table is the same.
 *
 *  Nothing here is dropped: the samples are durable in packet_log, and safePosition() says up to where they are durable here too. When the
 *  database is away the batch is tried again until it is back; `full` tells ingest to slow the devices. A row that the database can never
 *  hold is set aside.
 *
 *  Modes: `open` takes runs and stores them. `closed`: everything was stored; takes nothing. `abandoned`, for good: stores nothing any more,
 *  and takes runs only to forget them, because packets may become durable in the log while the service ends; batches under way end without
 *  being stored, so safePosition() means nothing. */
import assert from 'node:assert/strict';
import type pg from 'pg';
import type { ChannelNo, SampleRun, StreamId } from '../signal.ts';
import type { BlockRun } from './block-codec.ts';
import type { Database } from './database/database.ts';
import { LetterBox } from './letter-box.ts';
import { mergeRuns } from './merge-runs.ts';
import { OpenRows, secondOf, secondUs } from './open-rows.ts';
import type { SealedRow } from './open-rows.ts';
import { Partitions } from './schema/partitions.ts';
import { clipToSeconds, readStoredRuns, runsOf, type DamagedRow } from './sample-rows.ts';
import { reasonOf } from './set-aside.ts';
import type { Letter } from './set-aside.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';
import { copyNew, storeCarefully } from './store-rows.ts';
import { WriterConnection } from './database/writer-connection.ts';

export type BlockWriterOptions = Readonly<{
  /** Samples and sealed rows not yet stored, bytes; above it `full` is true. Default 128 MiB. */
  queueBytesMax?: number;
  /** Sealed rows leave this long after the first, ms: each COPY costs PostgreSQL milliseconds, and until then they are read from memory.
   *  Default 1,000. */
  lingerMs?: number;
  /** ... or at this size, bytes. Default 2 MiB. */
  batchBytesMax?: number;
  /** An incomplete row of a second is sealed when nothing has come for it for this long, ms of wall time; a row of more seconds waits as
   *  long for the first and a second for each other one, so that a gateway that sends every few seconds fills it. Default 2,000. */
  incompleteAfterMs?: number;
  /** Told what is tried again: once, until something is stored. */
  onFault?: (message: string, cause: unknown) => void;
  /** Told what was set aside. */
  onSetAside?: (letters: readonly Letter[]) => void;
  /** Told of stored rows that cannot be read, each time that they should be. */
  onDamaged?: (rows: readonly DamagedRow[]) => void;
}>;

export class BlockWriter {
  readonly #options: Required<Omit<BlockWriterOptions, 'onFault' | 'onSetAside' | 'onDamaged'>>;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #onDamaged: (rows: readonly DamagedRow[]) => void;
  readonly #letters: LetterBox;
  readonly #connection: WriterConnection;
  readonly #partitions: Partitions;
  readonly #pool: pg.Pool;
  readonly #open: OpenRows;
  /** Sealed; they wait for the next batch. */
  #ready: SealedRow[] = [];
  /** Sealed and not stored, bytes. */
  #readyBytes = 0;
  #writing: Promise<void> | null = null;
  #inFlight: readonly SealedRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #mode: 'open' | 'closed' | 'abandoned' = 'open';

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
      isStopped: () => this.#mode !== 'open',
    });
    this.#open = new OpenRows({ incompleteAfterMs: this.#options.incompleteAfterMs, onSealed: (sealed) => this.#takeSealed(sealed) });
  }

  /** Not yet stored, bytes. */
  get queueBytes(): number {
    return this.#open.bytes + this.#readyBytes;
  }

  /** Above the bound: answer 'busy' before a packet goes to the log. push() still takes what is durable already. */
  get full(): boolean {
    return this.queueBytes > this.#options.queueBytesMax;
  }

  /** Takes the runs of one packet; copies them.
   *  @param epochNs of the stream  @param rates nano-hertz by ChannelNo  @param position of the packet's batch in the log */
  push(streamId: StreamId, epochNs: bigint, rates: readonly number[], runs: readonly SampleRun[], position: number): void {
    assert(this.#mode !== 'closed', 'samples came after their writer was closed');
    this.#open.add(streamId, epochNs, rates, runs, position);
  }

  /** Every packet of a batch up to here is in sample_block, as far as it was pushed. Infinity when nothing waits. */
  safePosition(): number {
    let lowest = this.#open.lowestPosition();
    for (const sealed of this.#ready) if (sealed.position < lowest) lowest = sealed.position;
    for (const sealed of this.#inFlight) if (sealed.position < lowest) lowest = sealed.position;
    return lowest - 1;
  }

  /** Stores everything, incomplete rows included. */
  async flush(): Promise<void> {
    this.#open.sealAll();
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
    const fromSecond = secondOf(fromNs);
    const toSecond = secondOf(toNs - 1n) + 1;
    // Memory first: what is committed between the two reads is then seen twice and merged, not missed.
    const runs = this.recentRuns(streamId, channelNo, fromNs, toNs);
    const [fromUs, toUs] = [secondUs(epochNs, fromSecond), secondUs(epochNs, toSecond)];
    runs.push(...(await readStoredRuns(this.#pool, streamId, channelNo, fromUs, toUs, this.#onDamaged)));
    return clipToSeconds(mergeRuns(runs), rateNanoHz, fromSecond, toSecond);
  }

  /** What of loadRuns is not yet in the table: acknowledged, and up to a row's seconds away from it. Copies, in any order. */
  recentRuns(streamId: StreamId, channelNo: ChannelNo, fromNs: bigint, toNs: bigint): BlockRun[] {
    const channel = this.#open.find(streamId, channelNo);
    if (channel === undefined) return [];
    const fromSecond = secondOf(fromNs) - channel.rowSec + 1;
    const toSecond = secondOf(toNs - 1n) + 1;
    const runs: BlockRun[] = [];
    for (const sealed of channel.waiting)
      if (sealed.rowStart >= fromSecond && sealed.rowStart < toSecond) runs.push(...runsOf(sealed.row.codec));
    runs.push(...this.#open.runsOf(channel, fromSecond, toSecond));
    return runs;
  }

  /** The stream is idle: seals its rows and forgets its channels. @returns when they are stored */
  async closeStream(streamId: StreamId): Promise<void> {
    const channels = this.#open.ofStream(streamId);
    this.#open.sealAll(channels);
    for (const channel of channels) {
      if (channel.waiting.size === 0) this.#open.forget(channel);
      else channel.closing = true;
    }
    while (channels.some((channel) => channel.waiting.size > 0) && this.#mode === 'open') {
      this.#startWriting();
      await this.#writing;
    }
  }

  /** Stores what waits and ends. */
  async close(): Promise<void> {
    await this.flush();
    await this.#end('closed');
  }

  /** Ends without storing: the log has everything. For tests and for a stop whose deadline has come. */
  async abandon(): Promise<void> {
    this.#ready = [];
    await this.#end('abandoned');
  }

  async #end(mode: 'closed' | 'abandoned'): Promise<void> {
    assert(mode === 'abandoned' || this.#ready.length === 0, 'the writer of samples was closed with rows that are not stored');
    if (this.#mode === 'open') this.#mode = mode;
    this.#open.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#connection.close();
  }

  #takeSealed(sealed: SealedRow): void {
    this.#ready.push(sealed);
    this.#readyBytes += sealed.bytes;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#writing !== null || this.#mode !== 'open') return;
    if (this.#readyBytes >= this.#options.batchBytesMax) this.#startWriting();
    else this.#timer ??= setTimeout(() => this.#startWriting(), this.#options.lingerMs);
  }

  #startWriting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || this.#ready.length === 0) return;
    assert(this.#inFlight.length === 0, 'a batch of samples is under way');
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
  async #store(batch: readonly SealedRow[]): Promise<void> {
    const mayExist = batch.some(
      ({ channel, row, mayExist: seen }) => seen || channel.storedHighUs === null || row.timeUs <= channel.storedHighUs,
    );
    await storeOrSetAside(batch, false, {
      write: (part, askAll) => this.#write(part, mayExist, askAll),
      halve: (part) => (part.length < 2 ? null : [part.slice(0, part.length >> 1), part.slice(part.length >> 1)]),
      setAside: (part, why) => this.#setAside(part, why),
      forgetPartitions: () => this.#partitions.forget(),
      isStopped: () => this.#mode !== 'open',
      onFault: (error) => this.#letters.fault(error),
    });
    for (const sealed of batch) {
      const { channel } = sealed;
      assert(channel.waiting.delete(sealed), 'a row of samples was stored twice');
      this.#readyBytes -= sealed.bytes;
      if (channel.closing && channel.waiting.size === 0) this.#open.forget(channel);
    }
  }

  async #write(batch: readonly SealedRow[], mayExist: boolean, askAll: boolean): Promise<void> {
    await this.#connection.run(async (client) => {
      await this.#partitions.ensure(client, 'sample_block', new Set(batch.map((sealed) => sealed.row.timeUs)));
      if (mayExist || askAll) await storeCarefully(client, batch, askAll);
      else await copyNew(client, batch);
    });
    this.#letters.stored();
  }

  async #setAside(batch: readonly SealedRow[], why: unknown): Promise<void> {
    const letters = batch.map(({ channel: { streamId, channelNo }, row, position }): Letter => {
      const content = { channelNo, timeUs: row.timeUs, sampleCount: row.n };
      return { ...reasonOf(why), kind: 'samples', streamId, logPosition: position, content, bytes: row.codec };
    });
    await this.#letters.put(letters);
  }
}
