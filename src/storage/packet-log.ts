/** The packet log makes packets durable before they are acknowledged: unchanged, in batches, one COPY and one commit per batch.
 *
 *  A batch fills while the previous one is being written, and is written once that one is done and it has lingered or is full (group
 *  commit). Batches are numbered in commit order, above all of an earlier owner (log-ownership.ts). Everything up to the checkpoint is in
 *  the other tables; recover() replays everything after it at a start. Nothing after the checkpoint is ever dropped; what is before it is,
 *  once it is a day old (maintenance.ts). A packet that was refused was not kept; resending is always safe, because the tables behind the
 *  log store the same samples once.
 *
 *  Modes: `open` takes packets. A batch is retried for retryForMs; when it cannot be written the log is `away`: that batch and all behind
 *  it are refused at once, so that a device resends its packets in the order of recording, and append() answers 'busy'. The database is
 *  probed about twice a second; its first answer makes the log `open` again. After a lack of room (53100) the answer does not say that
 *  there is some: the log is `trying`: open, and still not well, until a batch is durable or TRYING_MS have passed without one. `closed`
 *  refuses packets. So does `lost`, which is final: another instance has taken over the log. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../errors.ts';
import type { StreamId } from '../signal.ts';
import { CopyBuffer, copyRows } from './copy-binary.ts';
import type { Database } from './database/database.ts';
import { ENTRY_HEAD, readBatch, streamIdsOf } from './log-batch.ts';
import type { Damage, LogEntry, ReadPacket } from './log-batch.ts';
import { areEqual, packByPartition, readHeads, splitByPartition } from './log-pieces.ts';
import type { Piece } from './log-pieces.ts';
import { isNotOwner } from './fence.ts';
import { Ownership } from './log-ownership.ts';
import type { LogOwner } from './log-ownership.ts';
import { PackThread } from './pack-thread.ts';
import { Partitions } from './schema/partitions.ts';
import { saveStreams } from './stream-registry.ts';
import type { RefusedStreams, StreamRegistry } from './stream-registry.ts';
import { failureOf, sqlStateOf } from './database/sql-states.ts';
import { WriterConnection } from './database/writer-connection.ts';

/** A group commit; the same object for all of its packets. */
export type LogBatch = Readonly<{
  /** Ascending in commit order; 0 until the batch is written for the first time. */
  position: number;
  /** Resolves when the packets are durable; rejects (PipelineError unavailable) when nothing of them was kept. */
  durable: Promise<void>;
}>;

export type PacketLogOptions = Readonly<{
  /** Packets waiting to become durable, bytes; above it append answers 'busy'. Default 64 MiB. */
  queueBytesMax?: number;
  /** How long a batch waits for more packets while a caller is blocked on it (hurry), ms. Default 10. */
  lingerMs?: number;
  /** ... and while none is, ms, since a commit costs as much as dozens of packets. Never less than lingerMs. Default: lingerMs. */
  calmLingerMs?: number;
  /** A batch with this many packets does not wait for calmLingerMs. Default 128. */
  batchPacketsMax?: number;
  /** A batch of this size is written without lingering, bytes. Default 1 MiB. */
  batchBytesMax?: number;
  /** How long a batch is retried before its packets are refused, ms; longer than a restart of the database. Default 8,000. */
  retryForMs?: number;
  /** Ownership of the log. Default: claimed by open(), released by close(). */
  ownership?: LogOwner;
  /** How long open() waits for another instance when it claims the log, ms. Default 10,000. */
  lockWaitMs?: number;
  onRetry?: (error: Error, attempt: number) => void;
  /** Called when the database becomes unavailable (with the reason) and when the log is open again (null). */
  onAway?: (reason: Error | null) => void;
  /** Called with streams whose sequence numbers a checkpoint could not save; the next checkpoint retries. */
  onRefused?: (refused: readonly RefusedStreams[]) => void;
  /** Called when the thread that packs is away, and with null when it packs again. */
  onFault?: (message: string, cause: unknown) => void;
}>;

/** Packets of some partitions after a batch. */
export type LogRange = Readonly<{ partitions: readonly number[]; after: number }>;

export const RETRY_FOR_MS = 8000;
/** Bytes per row of a part: four rows fill a page, so that batches share their last page. Besides these bytes a row has 24 of header, 24 of
 *  columns before them, 4 of length and 2 of the partition behind them, and four of 2,032 fit the 8,168 of a page with 4 more each. */
const PART_BYTES = 1978;
/** A smaller batch of one partition is packed at once, bytes: handing it to a thread costs the main thread as much. */
const PACK_LATER_BYTES = 16 * 1024;
/** While the thread is away a larger batch is stored as it is, bytes: packing a megabyte would hold the main thread for milliseconds. */
const PACK_HERE_BYTES_MAX = 64 * 1024;
/** Period of probing an unavailable database, ms. */
const PROBE_MS = 500;
/** How long a log that was refused for lack of room, and has had no packet since, is said not to be well, ms. */
const TRYING_MS = 30_000;
/** SQLSTATE of a full disk: a probe needs no room, and does not notice. */
const NO_ROOM = '53100';

type OpenBatch = {
  position: number;
  durable: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
  buffer: Buffer;
  bytes: number;
  /** Partition of each packet. */
  partitions: number[];
  /** performance.now() of the first packet. */
  since: number;
  /** A caller is blocked on it, or it has many packets. */
  hurried: boolean;
};

export class PacketLog {
  readonly #database: Database;
  readonly #registry: StreamRegistry;
  readonly #options: Required<Omit<PacketLogOptions, 'onRetry' | 'onAway' | 'onRefused' | 'onFault' | 'ownership' | 'lockWaitMs'>>;
  readonly #onAway: (reason: Error | null) => void;
  readonly #onRefused: (refused: readonly RefusedStreams[]) => void;

  readonly #ownership: LogOwner;
  readonly #connection: WriterConnection;
  readonly #partitions: Partitions;
  readonly #packThread: PackThread;
  #durablePosition: number;
  #checkpointed: number;
  #checkpointing: Promise<void> = Promise.resolve();
  #open: OpenBatch | null = null;
  /** Full batches waiting behind the one being written. */
  readonly #full: OpenBatch[] = [];
  #queueBytes = 0;
  #writing = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  /** performance.now() when the database became unavailable; null: it is available. */
  #awaySinceMs: number | null = null;
  /** Why the database took nothing, and since when; null: it is well. */
  #trouble: Readonly<{ sinceMs: number; reason: Error }> | null = null;
  #trying: NodeJS.Timeout | null = null;
  #spare: Buffer | null = null;
  #release: () => Promise<void> = async () => undefined;

  private constructor(database: Database, registry: StreamRegistry, ownership: LogOwner, options: PacketLogOptions) {
    this.#database = database;
    this.#registry = registry;
    this.#ownership = ownership;
    this.#checkpointed = ownership.checkpoint;
    this.#durablePosition = ownership.newest;
    const lingerMs = options.lingerMs ?? 10;
    this.#options = {
      queueBytesMax: options.queueBytesMax ?? 64 * 1024 * 1024,
      lingerMs,
      calmLingerMs: Math.max(lingerMs, options.calmLingerMs ?? 0),
      batchPacketsMax: options.batchPacketsMax ?? 128,
      batchBytesMax: options.batchBytesMax ?? 1024 * 1024,
      retryForMs: options.retryForMs ?? RETRY_FOR_MS,
    };
    this.#partitions = new Partitions(database);
    this.#onAway = options.onAway ?? (() => {});
    this.#onRefused = options.onRefused ?? (() => {});
    this.#packThread = new PackThread({ onFault: options.onFault ?? (() => {}) });
    const answerTimeoutMs = Math.max(1000, this.#options.retryForMs);
    this.#connection = new WriterConnection(ownership.fence.fenced(database), {
      retryForMs: this.#options.retryForMs,
      statementTimeoutMs: answerTimeoutMs,
      answerTimeoutMs,
      ...(options.onRetry === undefined ? {} : { onRetry: options.onRetry }),
    });
    void ownership.ended.then((why) => this.#goAway(new PipelineError('unavailable', why, { retryAfterSec: 1 })));
  }

  /** Takes over the packet log of a database. Call recover() before the first append.
   *  @throws PipelineError conflict when another service holds it */
  static async open(database: Database, registry: StreamRegistry, options: PacketLogOptions = {}): Promise<PacketLog> {
    const { ownership, lockWaitMs = 10_000 } = options;
    if (ownership !== undefined) return new PacketLog(database, registry, ownership, options);
    const own = await Ownership.claim(database, { waitMs: lockWaitMs });
    const log = new PacketLog(database, registry, own, options);
    log.#release = () => own.release();
    return log;
  }

  /** Position of the newest durable batch. */
  get durablePosition(): number {
    return this.#durablePosition;
  }

  /** Size of packets not yet durable, bytes. */
  get queueBytes(): number {
    return this.#queueBytes;
  }

  /** Why this instance lost the log; null: it owns it. */
  get lost(): string | null {
    return this.#ownership.lost;
  }

  /** How long the database has been unavailable, ms; 0 while it is available. */
  get awayMs(): number {
    return this.#awaySinceMs === null ? 0 : performance.now() - this.#awaySinceMs;
  }

  /** How long the database has taken nothing, ms, also while that is tried again, and whether for lack of room; null: it is well. */
  get trouble(): Readonly<{ ms: number; noRoom: boolean }> | null {
    if (this.#trouble === null) return null;
    return { ms: performance.now() - this.#trouble.sinceMs, noRoom: sqlStateOf(this.#trouble.reason.cause) === NO_ROOM };
  }

  /** Takes a packet and copies its bytes. 'busy': nothing was kept, because the queue is full or the log is `away`.
   *  @param partition of the packet's subject */
  append(entry: LogEntry, partition = 0): LogBatch | 'busy' {
    const size = ENTRY_HEAD + entry.bytes.length;
    assert(this.#ownership.fence.held.epochOf(partition) !== null, `partition ${partition} is not this owner's`);
    if (this.#closed || this.#awaySinceMs !== null || this.#queueBytes + size > this.#options.queueBytesMax) return 'busy';
    const batch = this.#batchFor(size);
    const { buffer } = batch;
    let at = batch.bytes;
    at = buffer.writeUInt32LE(entry.streamId, at);
    at = buffer.writeUInt32LE(entry.seq % 4_294_967_296, at);
    at = buffer.writeUInt32LE(Math.floor(entry.seq / 4_294_967_296), at);
    at = buffer.writeBigInt64LE(entry.receivedNs, at);
    at = buffer.writeUInt32LE(entry.bytes.length, at);
    buffer.set(entry.bytes, at);
    batch.bytes += size;
    batch.partitions.push(partition);
    this.#queueBytes += size;
    if (batch.partitions.length === this.#options.batchPacketsMax) this.hurry();
    else this.#schedule();
    return batch;
  }

  /** A caller is blocked on the packets taken so far: write them after lingerMs, not after calmLingerMs. */
  hurry(): void {
    if (this.#open === null || this.#open.hurried) return;
    this.#open.hurried = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule();
  }

  /** Yields all durable packets after the checkpoint, in the order of their acknowledgement, and notes each in the registry.
   *  A packet that was sent twice may be yielded twice.
   *  @param readPacket reads a packet and checks it against its entry. Default: accepts every entry as it is
   *  @param onDamage takes the bytes in which no packet was found. Default: throws
   *  @param prepare is called with the streams of the next batches before their packets are read. Damage may hide a stream from it
   *  whose packets are then read all the same
   *  @param of which packets. Default: all that this owner holds */
  async *recover<T = true>(
    readPacket: ReadPacket<T> = () => true as T,
    onDamage: (damage: Damage, position: number) => Promise<void> = refuseDamage,
    prepare: (streamIds: readonly StreamId[]) => Promise<void> = async () => undefined,
    of: LogRange = { partitions: this.#ownership.fence.held.partitions, after: this.#checkpointed },
  ): AsyncGenerator<LogEntry & Readonly<{ position: number; packet: T }>> {
    for (let from = of.after; ;) {
      const { rows } = await this.#database.pool.query<BatchPart>(nextBatches, [from.toString(), of.partitions]);
      if (rows.length === 0) return;
      from = Number(rows.at(-1)!.batch_id);
      const batches = batchesOf(rows);
      await prepare([...new Set(batches.flatMap(({ data }) => [...streamIdsOf(data)]))]);
      for (const { position, data } of batches) {
        for await (const found of readBatch(data, readPacket)) {
          if ('damage' in found) {
            await onDamage(found.damage, position);
            continue;
          }
          const { entry, packet } = found;
          this.#registry.noteDurable(entry.streamId, entry.seq, entry.receivedNs);
          yield { ...entry, position, packet };
        }
      }
    }
  }

  /** Notes that everything up to `position` is in the other tables and need not be replayed. Saves the sequence numbers in the same
   *  transaction. One at a time: a checkpoint that overtook another would release packets whose sequence numbers are not saved yet.
   *  @param position is lowered to the newest durable batch */
  async checkpoint(position: number): Promise<void> {
    const saved = this.#checkpointing.then(() => this.#saveCheckpoint(position));
    this.#checkpointing = saved.catch(() => {});
    await saved;
  }

  async #saveCheckpoint(position: number): Promise<void> {
    const target = Math.min(position, this.#durablePosition);
    const dirty = this.#registry.takeDirty();
    if (target <= this.#checkpointed && dirty.count === 0) return;
    const { fence } = this.#ownership;
    try {
      const refused = await fence.holding(this.#database, async (client, partitions) => {
        const refusedStreams = await saveStreams(client, dirty);
        await client.query(
          'update packet_log_checkpoint set batch_id = greatest(batch_id, $1), updated_at = now() where partition = any ($2::smallint[])',
          [target.toString(), partitions],
        );
        return refusedStreams;
      });
      this.#checkpointed = Math.max(this.#checkpointed, target);
      if (refused.length > 0) this.#onRefused(refused);
    } catch (error) {
      dirty.undo(); // also when no connection was available
      throw error;
    }
  }

  /** Notes that this owner's later batches are above `position`, which is above all that were written before: a checkpoint may be there. */
  noteClaim(position: number): void {
    if (this.#durablePosition < position) this.#durablePosition = position;
  }

  /** Writes queued batches, then releases ownership. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#open !== null || this.#full.length > 0 || this.#writing) {
      const last = this.#open ?? this.#full.at(-1);
      this.#flush();
      if (last === undefined) await sleep(5);
      else await last.durable.catch(() => {});
    }
    assert(this.#queueBytes === 0, 'the packet log was closed with packets that wait');
    await this.#connection.close();
    await this.#packThread.close();
    await this.#release();
  }

  /** Refuses all waiting batches, and probes the database until it answers. */
  #goAway(reason: Error): void {
    if (this.#awaySinceMs !== null || this.#closed) return;
    this.#awaySinceMs = performance.now();
    if (this.#trying !== null) clearTimeout(this.#trying);
    this.#trying = null;
    const waiting = this.#full.splice(0);
    if (this.#open !== null) waiting.push(this.#open);
    this.#open = null;
    for (const batch of waiting) this.#settle(batch, reason);
    if (this.lost !== null) return;
    if (this.#trouble === null) this.#onAway(reason);
    this.#trouble = { sinceMs: this.#trouble?.sinceMs ?? this.#awaySinceMs, reason };
    void this.#askAgain();
  }

  // job: log-probe: asks a database that is away until it takes writes again
  async #askAgain(): Promise<void> {
    const probe = new WriterConnection(this.#database, { retryForMs: 0, statementTimeoutMs: 2000, answerTimeoutMs: 3000 });
    while (!this.#closed && this.lost === null) {
      const asking = probe.run((client) => client.query(takesWrites));
      if (await asking.then(({ rowCount }) => rowCount === 1, () => false)) break; // prettier-ignore
      await sleep(PROBE_MS * (0.5 + Math.random()));
    }
    await probe.close();
    if (this.lost !== null) return;
    this.#awaySinceMs = null;
    if (this.trouble?.noRoom === true) this.#trying = setTimeout(() => this.#isWell(), TRYING_MS).unref();
    else this.#isWell();
  }

  #isWell(): void {
    if (this.#trying !== null) clearTimeout(this.#trying);
    this.#trying = null;
    if (this.#trouble === null || this.#awaySinceMs !== null) return;
    this.#trouble = null;
    this.#onAway(null);
  }

  /** Returns the open batch, or a new one if the entry does not fit it. */
  #batchFor(size: number): OpenBatch {
    let batch = this.#open;
    if (batch !== null && batch.bytes > 0 && batch.bytes + size > this.#options.batchBytesMax) {
      this.#full.push(batch);
      batch = null;
    }
    if (batch === null) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      promise.catch(() => {}); // callers handle the rejection, if there are any
      const buffer = this.#spare ?? Buffer.allocUnsafe(256 * 1024);
      this.#spare = null;
      batch = {
        position: 0,
        durable: promise,
        resolve,
        reject,
        buffer,
        bytes: 0,
        partitions: [],
        since: performance.now(),
        hurried: false,
      };
      this.#open = batch;
    }
    if (batch.bytes + size > batch.buffer.length) {
      const bigger = Buffer.allocUnsafe(Math.max(2 * batch.buffer.length, batch.bytes + size));
      batch.buffer.copy(bigger, 0, 0, batch.bytes);
      batch.buffer = bigger;
    }
    return batch;
  }

  #schedule(): void {
    if (this.#writing) return; // continues when that batch is done
    const batch = this.#full[0] ?? this.#open;
    if (batch === null || batch === undefined) return;
    const lingerMs = batch.hurried ? this.#options.lingerMs : this.#options.calmLingerMs;
    const waitMs = this.#full.length > 0 || this.#closed ? 0 : lingerMs - (performance.now() - batch.since);
    if (waitMs <= 0 || batch.bytes >= this.#options.batchBytesMax) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), waitMs);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing) return;
    let batch = this.#full.shift();
    if (batch === undefined) {
      if (this.#open === null) return;
      batch = this.#open;
      this.#open = null;
    }
    assert(batch.partitions.length > 0 && this.#awaySinceMs === null, 'a batch is written while the packet log is open');
    this.#writing = true;
    batch.position = this.#ownership.fence.held.nextPosition();
    const sent = batch;
    void this.#write(sent)
      .then(
        () => this.#settle(sent, null),
        (error: unknown) => {
          if (isNotOwner(error)) this.#ownership.lose();
          const reason = asUnavailable(error);
          this.#settle(sent, reason);
          this.#goAway(reason);
        },
      )
      .finally(() => {
        this.#writing = false;
        this.#schedule();
      });
  }

  #settle(batch: OpenBatch, error: Error | null): void {
    assert(this.#queueBytes >= batch.bytes, `batch ${batch.position} of the packet log was settled twice`);
    this.#queueBytes -= batch.bytes;
    if (error === null) {
      assert(batch.position > this.#durablePosition, `batch ${batch.position} of the packet log after ${this.#durablePosition}`);
      this.#durablePosition = batch.position;
      this.#isWell();
      for (const entry of readHeads(batch.buffer.subarray(0, batch.bytes)))
        this.#registry.noteDurable(entry.streamId, entry.seq, entry.receivedNs);
    }
    if (batch.buffer.length <= 1024 * 1024) this.#spare = batch.buffer;
    if (error === null) batch.resolve();
    else batch.reject(error);
  }

  async #pack({ buffer, bytes, partitions }: OpenBatch): Promise<readonly Piece[]> {
    const entries = buffer.subarray(0, bytes);
    const packed = bytes < PACK_LATER_BYTES && areEqual(partitions) ? null : await this.#packThread.pack(entries, partitions);
    return packed ?? (bytes > PACK_HERE_BYTES_MAX ? splitByPartition : packByPartition)(entries, partitions);
  }

  async #write(batch: OpenBatch): Promise<void> {
    const timeUs = Math.floor(Date.now() * 1000);
    const pieces = await this.#pack(batch);
    await this.#connection.run(async (client) => {
      const store = async (): Promise<void> => {
        await this.#partitions.ensure(client, 'packet_log', [timeUs]);
        await copyRows(
          client,
          'packet_log (time, batch_id, part, packet_count, data, partition)',
          batchRows(batch.position, pieces, timeUs),
        );
      };
      try {
        await store().catch((error: unknown) => {
          if (failureOf(error) !== 'missing_partition') throw error;
          this.#partitions.forget();
          return store();
        });
      } catch (error) {
        // The batch is stored: its commit succeeded although the answer was lost. COPY stores all of its rows or none.
        if (failureOf(error) !== 'duplicate') throw error;
        await client.query('rollback');
      }
    });
  }
}

/** Returns a row when the database can be written. Locks the row, so that it fails on a full disk or a read-only standby. */
const takesWrites = 'select batch_id from packet_log_checkpoint order by partition limit 1 for update';

/** Selects all parts of the next batches after $1 that are of the partitions $2. */
const nextBatches = `select batch_id, time, data from packet_log
  where batch_id > $1 and partition = any ($2::smallint[]) and batch_id <= (
    select max(batch_id) from (
      select distinct batch_id from packet_log where batch_id > $1 and partition = any ($2::smallint[]) order by batch_id limit 16) next)
  order by batch_id, time, part`;

type BatchPart = Readonly<{ batch_id: bigint; time: Date; data: Buffer }>;

/** Joins the parts of each batch. */
function batchesOf(parts: readonly BatchPart[]): readonly Readonly<{ position: number; data: Buffer }>[] {
  const batches: { position: number; data: Buffer }[] = [];
  for (let i = 0; i < parts.length;) {
    const { batch_id: id, time } = parts[i]!;
    const from = i;
    while (i < parts.length && parts[i]!.batch_id === id && parts[i]!.time.getTime() === time.getTime()) i++;
    batches.push({ position: Number(id), data: Buffer.concat(parts.slice(from, i).map(({ data }) => data)) });
  }
  return batches;
}

function batchRows(position: number, pieces: readonly Piece[], timeUs: number): CopyBuffer {
  const bytes = pieces.reduce((sum, { data }) => sum + data.length, 0);
  const rows = new CopyBuffer(bytes + (pieces.length + 1) * 1024 + (bytes / PART_BYTES) * 64);
  let part = 0;
  for (const { partition, count, data } of pieces) {
    for (let from = 0; from < data.length; from += PART_BYTES) {
      rows.row(6);
      rows.timestamptz(timeUs);
      rows.int8(BigInt(position));
      rows.int2(part++);
      rows.int4(from === 0 ? count : 0);
      rows.bytea(data, from, Math.min(from + PART_BYTES, data.length));
      rows.int2(partition);
    }
  }
  return rows;
}

async function refuseDamage(_damage: Damage, position: number): Promise<never> {
  throw new PipelineError('internal', `batch ${position} of packet_log is damaged`);
}

function asUnavailable(error: unknown): Error {
  if (error instanceof PipelineError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PipelineError('unavailable', `the packet log could not be written: ${message}`, { cause: error });
}
