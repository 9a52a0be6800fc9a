/** Names the partitions of the packet log that this node holds, on every connection that writes for it: the database refuses what is no
 *  longer held.
 *
 *  What is held may change while the service runs (take, drop). Work that began under the former names ends under them; `quiet` waits
 *  for it, so that a partition is given back only when nothing under way names it any more. */
import type pg from 'pg';
import { HeldPartitions } from '../cluster/held-partitions.ts';
import type { Database } from './database/database.ts';
import { transaction } from './database/transaction.ts';
import type { Write } from './database/transaction.ts';

/** SQLSTATE of a write whose epoch is outdated. */
const NOT_OWNER = 'BS001';

/** True for a write refused because another instance owns the log. */
export function isNotOwner(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === NOT_OWNER;
}

export class Fence {
  readonly held = new HeldPartitions();
  readonly #onRefused: () => void;
  /** Raised with every change of what is held. */
  #names = 0;
  /** Connections and the names that they have. */
  readonly #named = new WeakMap<pg.Client, number>();
  /** Names of the work under way. */
  readonly #working = new Map<object, number>();
  readonly #waiting = new Set<() => void>();

  /** @param onRefused called when a write was refused */
  constructor(onRefused: () => void) {
    this.#onRefused = onRefused;
  }

  /** Notes a claim. */
  take(partitions: readonly number[], epoch: bigint): void {
    this.held.take(partitions, epoch);
    this.#names += 1;
  }

  /** Names the partition no more. It may be given back after `quiet`. */
  drop(partition: number): void {
    this.held.drop(partition);
    this.#names += 1;
  }

  /** Whether another node has claimed one of these since. @param rows epochs that the database has */
  isBehind(rows: readonly Readonly<{ partition: number; epoch: bigint }>[]): boolean {
    return rows.some(({ partition, epoch }) => epoch > (this.held.epochOf(partition) ?? epoch));
  }

  /** Resolves when all work that began under former names has ended. */
  async quiet(): Promise<void> {
    const names = this.#names;
    while ([...this.#working.values()].some((former) => former < names)) await new Promise<void>((done) => this.#waiting.add(done));
  }

  /** The same database for the owner's writers: their connections name what it holds, and their commits wait for the disk whatever the
   *  defaults of the server, database or login are ('local', 'remote_write' and 'remote_apply' do so, too). */
  fenced(database: Database): Database {
    const connect = async (): Promise<pg.Client> => {
      const client = await database.connect();
      try {
        await client.query(`select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`);
        await this.#name(client);
        return client;
      } catch (error) {
        await client.end().catch(() => {});
        throw error;
      }
    };
    const use = <T>(client: pg.Client, work: (client: pg.Client) => Promise<T>): Promise<T> =>
      this.#during(async () => {
        if (this.#named.get(client) !== this.#names) await this.#name(client);
        return await work(client);
      });
    return { ...database, connect, use };
  }

  /** The same for writes over a pool that others share: each is a transaction that names what is held. */
  writing({ pool }: Database): Write {
    return async (work) => {
      try {
        return await this.#during(() =>
          transaction(pool, async (client) => {
            await client.query(this.#naming('set local'));
            return await work(client);
          }),
        );
      } catch (error) {
        if (isNotOwner(error)) this.#onRefused();
        throw error;
      }
    };
  }

  /** A transaction that keeps what is held: nobody claims one of these partitions before its end. Fails when one was claimed.
   *  @param work receives the partitions */
  async holding<T>({ pool }: Database, work: (client: pg.PoolClient, partitions: readonly number[]) => Promise<T>): Promise<T> {
    return await this.#during(async () => {
      const client = await pool.connect();
      try {
        const kept = this.held.partitions.filter((partition) => this.held.modeOf(partition) !== 'taking');
        await client.query(`begin; ${this.holdStatement}`);
        const result = await work(client, kept);
        await client.query('commit');
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        if (isNotOwner(error)) this.#onRefused();
        throw error;
      }
    });
  }

  get holdStatement(): string {
    const { partitions, epochs } = this.held.toSql();
    return `select hold_partitions('${partitions}', '${epochs}')`;
  }

  async #name(client: pg.Client): Promise<void> {
    const names = this.#names;
    await client.query(this.#naming('set'));
    this.#named.set(client, names);
  }

  /** Settings of a session, by which the fence knows what it holds. Who holds nothing names nothing, and is refused. */
  #naming(set: 'set' | 'set local'): string {
    const { partitions, epochs } = this.held.toSql();
    const named = this.held.partitions.length === 0 ? '' : partitions;
    return `${set} bio.partitions = '${named}'; ${set} bio.epochs = '${epochs}'`;
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    const token = {};
    this.#working.set(token, this.#names);
    try {
      return await work();
    } finally {
      this.#working.delete(token);
      for (const done of this.#waiting) done();
      this.#waiting.clear();
    }
  }
}
