/** Joins runs to whole rows of the device clock and writes them to sample_block.
 *
 *  A row has three stages: it is filled and sealed (open-rows.ts), waits for the next COPY, and is written (store-rows.ts). New rows are
 *  stored by COPY alone. A row that was sealed before (late samples), or is not newer than the table was when the channel was first stored
 *  from here (a replayed log, a device that resends), is stored carefully: read, merge, replace, in the same transaction as the COPY of the
 *  rest. If the table turns out to have a supposedly new row (23505), the whole batch is stored carefully. So the same samples may be
 *  pushed any number of times, in any order, with the same result.
 *
 *  Samples are never dropped: they are durable in packet_log, and safePosition() is the position up to which they are durable here, too.
 *  While the database is unavailable the batch is retried; `full` tells ingest to slow the devices. A row that the database can never
 *  store is set aside.
 *
 *  Modes: `open` takes and stores runs. `closed`: everything is stored; takes nothing. `abandoned` is final: stores nothing any more, and
 *  accepts runs only to discard them, because packets may still become durable in the log while the service ends. Batches in progress end
 *  without being stored, so safePosition() is meaningless. */
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
  /** Maximum size of samples and sealed rows not yet stored, bytes; above it `full` is true. Default 128 MiB. */
  queueBytesMax?: number;
  /** Sealed rows are written this long after the first of them, ms: each COPY costs PostgreSQL milliseconds, and until then queries read
   *  them from memory. Default 1,000. */
  lingerMs?: number;
  /** ... or at this size, bytes; a statement stores about twice as much at most. Default 2 MiB. */
  batchBytesMax?: number;
  /** An incomplete row of one second is sealed when nothing has arrived for it for this long, ms of wall time. Longer rows wait one second
   *  more for each further second, so that a gateway that sends every few seconds can fill them. Default 2,000. */
  incompleteAfterMs?: number;
  /** Called with a fault that is being retried: once, until something is stored. */
  onFault?: (message: string, cause: unknown) => void;
  /** Called with rows that were set aside. */
  onSetAside?: (letters: readonly Letter[]) => void;
  /** Called with stored rows that cannot be read, at every attempt to read them. */
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
  /** Sealed rows waiting for the next batch. */
  #ready: SealedRow[] = [];
  /** Size of sealed rows not yet stored, bytes. */
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
      onRetry: (error) => this.#onFault(`samples: ${error.message}: it is tried again`, error),
    });
    this.#letters = new LetterBox(this.#connection, {
      label: 'samples',
      onFault: options.onFault,
      onSetAside: options.onSetAside,
      isStopped: () => this.#mode !== 'open',
    });
    this.#open = new OpenRows({ incompleteAfterMs: this.#options.incompleteAfterMs, onSealed: (sealed) => this.#takeSealed(sealed) });
  }

  /** Size of samples and rows not yet stored, bytes. */
  get queueBytes(): number {
    return this.#open.bytes + this.#readyBytes;
  }

  /** True above the bound: answer 'busy' before a packet goes to the log. push() still takes packets that are already durable. */
  get full(): boolean {
    return this.queueBytes > this.#options.queueBytesMax;
  }

  /** Takes the runs of one packet; copies them.
   *  @param epochNs of the stream  @param rates nano-hertz by ChannelNo  @param position of the packet's batch in the log */
  push(streamId: StreamId, epochNs: bigint, rates: readonly number[], runs: readonly SampleRun[], position: number): void {
    assert(this.#mode !== 'closed', 'samples came after their writer was closed');
    this.#open.add(streamId, epochNs, rates, runs, position);
  }

  /** Log position up to which all pushed packets are in sample_block. Infinity when nothing waits. */
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
    // Memory first: rows committed between the two reads are then seen twice and merged, not missed.
    const runs = this.recentRuns(streamId, channelNo, fromNs, toNs);
    const [fromUs, toUs] = [secondUs(epochNs, fromSecond), secondUs(epochNs, toSecond)];
    runs.push(...(await readStoredRuns(this.#pool, streamId, channelNo, fromUs, toUs, this.#onDamaged)));
    return clipToSeconds(mergeRuns(runs), rateNanoHz, fromSecond, toSecond);
  }

  /** Acknowledged samples that are not in the table yet. May include samples up to a row's length outside. Copies, in any order. */
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

  /** Seals the rows of an idle stream and forgets its channels. @returns when the rows are stored */
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

  /** Stores everything that waits, then ends. */
  async close(): Promise<void> {
    await this.flush();
    await this.#end('closed');
  }

  /** Ends without storing, since the log has everything. For tests, and for a stop whose deadline has passed. */
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
    const batch = this.#ready.splice(0, this.#countOfBatch());
    this.#inFlight = batch;
    this.#writing = this.#store(batch).finally(() => {
      this.#inFlight = [];
      this.#writing = null;
      if (this.#ready.length > 0) this.#schedule();
    });
  }

  /** Sealed rows of one statement. All that waits after the log was read back would take longer than a statement may, at every attempt. */
  #countOfBatch(): number {
    let bytes = 0;
    let count = 0;
    while (count < this.#ready.length && bytes < 2 * this.#options.batchBytesMax) bytes += this.#ready[count++]!.bytes;
    return count;
  }

  /** Retries until the batch is stored or set aside; only an abandoned writer gives up. */
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
