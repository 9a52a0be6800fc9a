/** Content hashes of durable packets, by stream and sequence number. They distinguish a reused number from a packet sent twice, also much
 *  later and after a restart. A row contains the consecutive packets of one stream between two checkpoints (8 bytes each) and is kept as
 *  long as the packet log (table `retention`). Hashes not saved yet belong to packets after the checkpoint, which a start replays. */
import { PipelineError } from '../errors.ts';
import type { StreamId } from '../signal.ts';
import { Coalesce } from './database/coalesce.ts';
import type { Database } from './database/database.ts';
import { holdLog, withoutErased } from './erased-streams.ts';
import { Partitions } from './schema/partitions.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';
import type { Write } from './database/transaction.ts';

/** Packets of one row. */
const ROW_COUNT_MAX = 256;
/** Maximum number of hashes waiting to be saved: 32 MB. Further ones are dropped, and their packets cannot be compared later. */
const UNSAVED_MAX = 4 * 1024 * 1024;
/** Rows of one statement. */
const SAVE_ROWS = 4096;

/** Consecutive packets. */
type Run = Readonly<{ firstSeq: number; hashes: number[] }>;
type Row = Run & Readonly<{ streamId: StreamId }>;
type Asked = Readonly<{ streamId: StreamId; firstSeq: number; count: number }>;

export type PacketHashesOptions = Readonly<{
  /** Runs a transaction of the owner of the packet log. */
  write: Write;
  /** Called with streams whose rows the database refuses permanently. */
  onRefused?: (streamIds: readonly StreamId[], why: unknown) => void;
}>;

export class PacketHashes {
  readonly #database: Database;
  readonly #options: PacketHashesOptions;
  readonly #partitions: Partitions;
  readonly #lookUps: Coalesce<Asked, Float64Array>;
  #unsaved = new Map<StreamId, Run[]>();
  #unsavedCount = 0;
  /** Hashes being saved by the statement in progress. */
  #saving: ReadonlyMap<StreamId, readonly Run[]> = new Map();

  constructor(database: Database, options: PacketHashesOptions) {
    this.#database = database;
    this.#options = options;
    this.#partitions = new Partitions(database);
    this.#lookUps = new Coalesce((asked) => this.#lookUp(asked));
  }

  /** Notes the hash of a packet that has become durable. */
  note(streamId: StreamId, seq: number, hash: number): void {
    if (this.#unsavedCount >= UNSAVED_MAX) return;
    this.#unsavedCount++;
    const runs = this.#unsaved.get(streamId);
    if (runs === undefined) {
      this.#unsaved.set(streamId, [{ firstSeq: seq, hashes: [hash] }]);
      return;
    }
    const last = runs[runs.length - 1]!;
    if (seq === last.firstSeq + last.hashes.length && last.hashes.length < ROW_COUNT_MAX) last.hashes.push(hash);
    else runs.push({ firstSeq: seq, hashes: [hash] });
  }

  /** Saves the noted hashes. One call at a time. After a failure the next call retries everything; a row that is refused permanently is
   *  dropped. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const taken = this.#unsaved;
    const count = this.#unsavedCount;
    this.#saving = taken;
    this.#unsaved = new Map();
    this.#unsavedCount = 0;
    try {
      await this.#insert(taken);
    } catch (error) {
      for (const [streamId, runs] of this.#unsaved) taken.set(streamId, [...(taken.get(streamId) ?? []), ...runs]);
      this.#unsaved = taken;
      this.#unsavedCount += count;
      throw error;
    } finally {
      this.#saving = new Map();
    }
  }

  async #insert(taken: ReadonlyMap<StreamId, readonly Run[]>): Promise<void> {
    const rows = [...taken].flatMap(([streamId, runs]) => runs.map((run) => ({ streamId, ...run })));
    await this.#partitions.ensure(this.#database.pool, 'packet_hash', [Date.now() * 1000]);
    for (let from = 0; from < rows.length; from += SAVE_ROWS) {
      await storeOrSetAside<readonly Row[]>(rows.slice(from, from + SAVE_ROWS), false, {
        write: (part) => this.#writeRows(part),
        halve: (part) => (part.length < 2 ? null : [part.slice(0, part.length >> 1), part.slice(part.length >> 1)]),
        setAside: async (part, why) => this.#onRefused(part, why),
        forgetPartitions: () => this.#partitions.forget(),
        isStopped: () => false,
        onFault: (error) => {
          throw error; // the next call retries everything; a row stored twice says the same twice
        },
      });
    }
  }

  async #writeRows(taken: readonly Row[]): Promise<void> {
    await this.#options.write(async (client) => {
      await holdLog(client);
      const rows = await withoutErased(client, taken, ({ streamId }) => streamId);
      await client.query(insertHashes, [
        rows.map(({ streamId }) => streamId),
        rows.map(({ firstSeq }) => firstSeq),
        rows.map(({ hashes }) => Buffer.from(Float64Array.from(hashes).buffer)),
      ]);
    });
  }

  /** Drops hashes: their packets are stored, but cannot be compared later. */
  #onRefused(rows: readonly Row[], why: unknown): void {
    this.#options.onRefused?.(
      rows.map(({ streamId }) => streamId),
      why,
    );
  }

  /** Hashes of firstSeq .. firstSeq + count - 1; NaN where none is known. Calls at the same time share their statement.
   *  @throws PipelineError unavailable */
  async find(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array> {
    try {
      return await this.#lookUps.call({ streamId, firstSeq, count });
    } catch (cause) {
      throw new PipelineError('unavailable', 'What is stored under this number could not be looked up; send it again.', {
        cause,
        retryAfterSec: 2,
      });
    }
  }

  async #lookUp(asked: readonly Asked[]): Promise<readonly Float64Array[]> {
    const found = asked.map(({ count }) => new Float64Array(count).fill(NaN));
    // Before the query, which would miss hashes saved meanwhile.
    asked.forEach(({ streamId, firstSeq }, i) => {
      for (const runs of [this.#saving.get(streamId), this.#unsaved.get(streamId)]) {
        for (const run of runs ?? []) run.hashes.forEach((hash, n) => enter(found[i]!, run.firstSeq + n - firstSeq, hash));
      }
    });
    const { rows } = await this.#database.pool.query<{ i: number; first_seq: bigint; hashes: Buffer }>(findHashes, [
      asked.map(({ streamId }) => streamId),
      asked.map(({ firstSeq }) => firstSeq),
      asked.map(({ count }) => count),
    ]);
    for (const { i, first_seq: firstSeq, hashes } of rows) {
      const offset = Number(firstSeq) - asked[i]!.firstSeq;
      for (let n = 0; n < hashes.length / 8; n++) enter(found[i]!, offset + n, hashes.readDoubleLE(8 * n));
    }
    return found;
  }
}

function enter(hashes: Float64Array, index: number, hash: number): void {
  if (index >= 0 && index < hashes.length) hashes[index] = hash;
}

const insertHashes = `insert into packet_hash (time, stream_id, first_seq, hashes)
  select now(), * from unnest($1::integer[], $2::bigint[], $3::bytea[])`;

const findHashes = `
  select (asked.i - 1)::integer as i, h.first_seq, h.hashes
  from unnest($1::integer[], $2::bigint[], $3::integer[]) with ordinality as asked (stream_id, first_seq, count, i)
  cross join lateral (
    select p.first_seq, p.hashes from packet_hash p
    where p.stream_id = asked.stream_id
      and p.first_seq > asked.first_seq - ${ROW_COUNT_MAX} and p.first_seq < asked.first_seq + asked.count
  ) h`;
