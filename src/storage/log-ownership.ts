/** Ownership of a database's packet log: one instance writes it at a time, and an instance that has lost it never does again.
 *
 *  Safety rests on the epoch alone: a claim gives an instance a higher epoch than any before it, its writers name that epoch, and the
 *  database refuses any but the newest (sql/000063-partitions.sql). A claim waits for commits in
 *  progress, so the new owner reads everything that the former one acknowledged.
 *  Fast takeover rests on two signs of life, which may be wrong without harm: a session lock, released the moment the process ends, and a
 *  row that the owner renews. Clocks are never compared: a waiting instance watches whether the row changes.
 *
 *  Modes: claiming (watches, and takes a free log), `held` (renews; reopens a lost connection and continues unless another instance has
 *  claimed since), `lost` (final: the process must restart, because its knowledge of the log is outdated), released. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { HeldPartitions } from '../cluster/held-partitions.ts';
import { HUNG_MS, mayTake } from '../cluster/takeover.ts';
import { PipelineError } from '../errors.ts';
import type { Database } from './database/database.ts';
import { locks, pairLocks } from './database/locks.ts';
import type { Write } from './database/transaction.ts';
import { WriterConnection } from './database/writer-connection.ts';
import { Fence } from './fence.ts';
import { LOG_FORM } from './log-batch.ts';

/** Session lock of the owner; the only sign of life in earlier releases. */
const LOCK = locks.packetLog;
/** Period of renewal, ms. */
const RENEW_MS = 1000;
/** Period at which a waiting instance checks the row, and an owner tries to reach an unavailable database, ms. */
const LOOK_MS = 250;
/** Age up to which a new instance takes a free log at once, ms: its predecessor was stopped or killed a moment ago. */
const FRESH_MS = 1000;
/** Time that a claim waits for transactions of the former owner, ms; a process that was suspended never ends its own. */
const CLAIM_WAIT_MS = 2000;
const ANSWER_MS = 4000;
const NOT_ENDED = 'connections of the owner before could not be ended: it acts as another login';

export type Instance = Readonly<{
  /** New at every start; its first eight digits end the names of the instance's connections (see tagOf). */
  id: string;
  /** Host and port, for messages. */
  name: string;
}>;

export type ClaimOptions = Readonly<{
  /** Default: an unnamed instance. */
  instance?: Instance;
  /** How long to wait for another instance, ms. Default: no limit. */
  waitMs?: number;
  /** Aborts the wait. */
  signal?: AbortSignal;
  /** Called once, when another instance owns the log. */
  onStandby?: (owner: string) => void;
  /** Called with faults while claiming and renewing, which are retried. */
  onFault?: (message: string, cause: unknown) => void;
}>;

/** epochs: of all partitions, as an array of SQL. */
type Seen = { epochs: string; owner: string | null; owner_name: string; renewed: string; locked: boolean };
type Claim = Readonly<{ partitions: readonly number[]; epoch: bigint; checkpoint: bigint; newest: bigint }>;
type ClaimedRow = { partition: number; epoch: bigint; checkpoint: bigint; newest: bigint; pid: number };

/** Suffix of the application_name of an instance's connections. */
export function tagOf(instance: Instance): string {
  return instance.id.slice(0, 8);
}

/** What the rest of the service sees of ownership, of the whole log or of partitions that come and go. */
export interface LogOwner {
  /** Partitions of the database, held here or not. */
  readonly partitionCount: number;
  readonly fence: Fence;
  /** Newest batch up to which the packets of every partition held at the start are in the other tables. */
  readonly checkpoint: number;
  /** Newest batch of the log at the start. */
  readonly newest: number;
  /** Why this instance no longer owns anything and has to start again; null: it goes on, as far as it knows. */
  readonly lost: string | null;
  /** Resolves with that reason. */
  readonly ended: Promise<string>;
  /** Time since the database last confirmed our ownership, ms. */
  readonly unconfirmedMs: number;
  /** True when another instance could have taken what is ours without our knowledge. */
  readonly doubtful: boolean;
  lose(): void;
}

export class Ownership implements LogOwner {
  readonly fence = new Fence(() => this.lose());
  readonly #instance: Instance;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #connection: WriterConnection;
  readonly #lost = Promise.withResolvers<string>();
  #claim: Claim | null = null;
  #lostWhy: string | null = null;
  #released = false;
  /** Backend of the connection that has, or had, the lock. */
  #pid = 0;
  #locked = false;
  /** performance.now() of the last connection to the database. */
  #connectedMs = 0;
  /** performance.now() of the last renewal that was confirmed. */
  #renewedMs = 0;
  #renewing: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;

  private constructor(database: Database, options: ClaimOptions) {
    this.#instance = options.instance ?? { id: randomUUID(), name: 'unnamed' };
    this.#onFault = options.onFault ?? (() => undefined);
    this.#connection = new WriterConnection(database, {
      retryForMs: 0,
      statementTimeoutMs: ANSWER_MS,
      answerTimeoutMs: ANSWER_MS,
      onConnect: (client) => this.#connected(client),
    });
  }

  /** Takes the log as soon as it is free.
   *  @throws PipelineError conflict when another instance keeps it for longer than waitMs; the signal's reason */
  static async claim(database: Database, options: ClaimOptions = {}): Promise<Ownership> {
    const ownership = new Ownership(database, options);
    try {
      const claim = await ownership.#wait(options);
      ownership.#claim = claim;
      ownership.fence.take(claim.partitions, claim.epoch);
      for (const partition of claim.partitions) ownership.held.open(partition);
    } catch (error) {
      await ownership.#connection.close();
      throw error;
    }
    ownership.#renewedMs = performance.now();
    ownership.#renewing = ownership.#keepRenewing();
    return ownership;
  }

  get epoch(): bigint {
    return this.#claim!.epoch;
  }

  get held(): HeldPartitions {
    return this.fence.held;
  }

  /** All are held. */
  get partitionCount(): number {
    return this.held.partitions.length;
  }

  /** Newest batch up to which the packets of every partition are in the other tables, at the time of the claim. */
  get checkpoint(): number {
    return Number(this.#claim!.checkpoint);
  }

  /** Newest batch of the log at the time of the claim. */
  get newest(): number {
    return Number(this.#claim!.newest);
  }

  /** Why this instance no longer owns the log; null: it does, as far as it knows. */
  get lost(): string | null {
    return this.#lostWhy;
  }

  /** Resolves with the reason when the log is lost. */
  get ended(): Promise<string> {
    return this.#lost.promise;
  }

  /** Time since the database last confirmed our ownership, ms. */
  get unconfirmedMs(): number {
    return performance.now() - this.#renewedMs;
  }

  /** True when another instance could have taken the log without our knowledge. */
  get doubtful(): boolean {
    return this.unconfirmedMs > HUNG_MS;
  }

  fenced(database: Database): Database {
    return this.fence.fenced(database);
  }

  writing(database: Database): Write {
    return this.fence.writing(database);
  }

  /** Ends the ownership, after a refused write or a row that names another owner. */
  lose(): void {
    if (this.#lostWhy !== null || this.#released) return;
    this.#lostWhy = 'another instance has taken over the packet log; this one has to start again';
    this.#wake();
    this.#lost.resolve(this.#lostWhy);
  }

  /** Releases the log, so that the next instance need not wait. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#wake();
    await this.#renewing;
    if (this.#lostWhy === null)
      await this.#connection
        .run((client) => client.query('update packet_log_checkpoint set owner = null where epoch = $1', [this.epoch.toString()]))
        .catch((error: unknown) => this.#onFault('the packet log could not be given back: the next owner waits for a moment', error));
    await this.#connection.close();
  }

  async #wait({ waitMs = Infinity, signal, onStandby }: ClaimOptions): Promise<Claim> {
    const startedMs = performance.now();
    let before: Seen | null = null;
    let heardMs = startedMs;
    let watched = false; // an owner was seen
    let told = false;
    for (;;) {
      signal?.throwIfAborted();
      const seen = await this.#look();
      const nowMs = performance.now();
      if (seen !== null) {
        if (before === null || seen.epochs !== before.epochs || seen.renewed !== before.renewed) heardMs = nowMs;
        before = seen;
        // Nothing could be observed before the connection existed.
        const silentMs = nowMs - Math.max(heardMs, this.#connectedMs);
        const fresh = !watched || nowMs - startedMs < FRESH_MS;
        if (mayTake({ ...seen, silentMs }, fresh)) {
          const claim = await this.#take(seen);
          if (claim !== null) return claim;
        } else if (!told && !fresh) {
          told = true;
          onStandby?.(seen.owner_name);
        }
        watched ||= seen.locked;
      }
      if (nowMs - startedMs >= waitMs) throw new PipelineError('conflict', 'another biosignal service writes to this database');
      await sleep(Math.min(LOOK_MS, waitMs), undefined, signal === undefined ? {} : { signal });
    }
  }

  /** null: the database is unavailable. */
  async #look(): Promise<Seen | null> {
    try {
      const { rows } = await this.#connection.run((client) => client.query<Seen>(lookAtOwner));
      return rows[0]!;
    } catch (error) {
      if (!isAway(error)) throw error;
      return null;
    }
  }

  /** null: not this time. */
  async #take(seen: Seen): Promise<Claim | null> {
    try {
      return await this.#connection.run(async (client) => {
        if (seen.owner !== null) await this.#endBackends(client, seen.owner);
        const { id, name } = this.#instance;
        const { rows } = await client.query<ClaimedRow>(
          'select partition, epoch, checkpoint, newest, pg_backend_pid() as pid from claim_log($1, $2, $3::bigint[], $4)',
          [id, name, seen.epochs, LOG_FORM],
        );
        const claim = claimOf(rows);
        if (claim === null) return null;
        await client.query('set synchronous_commit = off'); // a renewal undone by a crash of the server does no harm
        this.#locked = true;
        this.#pid = rows[0]!.pid;
        return claim;
      });
    } catch (error) {
      if (!isAway(error)) throw error;
      this.#onFault('the packet log could not be taken over: it is tried again', error);
      await sleep(LOOK_MS);
      return null;
    }
  }

  /** Transactions of a former owner that hangs would keep their locks. */
  async #endBackends(client: pg.Client, owner: string): Promise<void> {
    try {
      await client.query(endBackends(owner));
    } catch (error) {
      await client.query('rollback');
      this.#onFault(NOT_ENDED, error);
    }
  }

  /** On every new connection. */
  async #connected(client: pg.Client): Promise<void> {
    // The server then releases the lock of an instance that disappeared within seconds rather than hours.
    await client.query(
      `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set lock_timeout = ${CLAIM_WAIT_MS}`,
    );
    this.#connectedMs = performance.now();
    this.#locked = false;
    client.once('end', () => this.#wake());
    if (this.#claim !== null) await client.query('set synchronous_commit = off');
  }

  // job: ownership: renews the claim on the packet log every second; without it another node takes over
  async #keepRenewing(): Promise<void> {
    while (!this.#released && this.#lostWhy === null) {
      const confirmed = await this.#renew();
      if (this.#released || this.#lostWhy !== null) break;
      // A connection that ends is reopened at once, because another instance may take the log while the lock is free.
      await new Promise<void>((done) => {
        const timer = setTimeout(done, confirmed ? RENEW_MS : LOOK_MS);
        this.#wake = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
    if (this.#lostWhy !== null) await this.#connection.close();
  }

  /** @returns whether the database has answered */
  async #renew(): Promise<boolean> {
    try {
      const { rowCount } = await this.#connection.run(async (client) => {
        if (!this.#locked) await this.#lockAgain(client);
        return await client.query('update packet_log_checkpoint set renewed_at = clock_timestamp() where epoch = $1', [
          this.epoch.toString(),
        ]);
      });
      if (rowCount !== this.held.partitions.length) this.lose();
      else this.#renewedMs = performance.now();
      return true;
    } catch (error) {
      if (!isAway(error)) this.#onFault('the packet log could not be renewed', error);
      return false;
    }
  }

  /** Takes the lock again after a lost connection. Ends a connection of ours that was cut off without the server noticing, and still has
   *  it. Without the lock nothing is lost while the row is renewed. */
  async #lockAgain(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ got: boolean; pid: number }>('select pg_try_advisory_lock($1) as got, pg_backend_pid() as pid', [
      LOCK.toString(),
    ]);
    this.#locked = rows[0]!.got;
    if (this.#locked) this.#pid = rows[0]!.pid;
    else if (this.#pid !== 0) await client.query(endLockHolder(this.#pid));
  }
}

/** What was claimed; null: nothing. */
function claimOf(rows: readonly ClaimedRow[]): Claim | null {
  const [first] = rows;
  if (first === undefined) return null;
  const partitions = rows.map(({ partition }) => partition);
  const checkpoints = rows.map(({ checkpoint }) => checkpoint);
  const newest = rows.map((row) => row.newest);
  return { partitions, epoch: first.epoch, checkpoint: checkpoints.reduce(lower), newest: newest.reduce(higher) };
}

const lower = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** True when the database does not answer, or cannot take this now. */
function isAway(error: unknown): boolean {
  return error instanceof PipelineError && error.code === 'unavailable';
}

const ofThisDatabase = `database = (select oid from pg_database where datname = current_database())`;
const isSessionLock = `locktype = 'advisory' and granted and objsubid = 1 and ${ofThisDatabase} and (classid::int8 << 32) + objid::int8 = ${LOCK}`;
const isHold = `locktype = 'advisory' and granted and objsubid = 2 and ${ofThisDatabase} and classid = ${pairLocks.logHold[0]}`;

/** SQL condition: the log has a living owner. */
export const logIsHeld = `exists (select from pg_locks where ${isSessionLock})`;

/** The row that was renewed last says who owns the log: one instance owns all partitions. */
const lookAtOwner = `select (select array_agg(epoch order by partition)::text from packet_log_checkpoint) as epochs, owner, owner_name,
    renewed_at::text as renewed, exists (select from pg_locks where ${isSessionLock} and pid <> pg_backend_pid()) as locked
  from packet_log_checkpoint order by renewed_at desc, partition limit 1`;

/** Runs as the login role, which owns the backends. */
const asLogin = (statement: string): string => `begin; set local role none; ${statement}; commit`;

/** Ends all connections of an instance, and any other that has the log's locks. */
const endBackends = (owner: string): string =>
  asLogin(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and (application_name like '% ${owner.slice(0, 8)}'
      or pid in (select pid from pg_locks where (${isSessionLock}) or (${isHold})))`);

/** Ends all connections of a node that hangs or has gone: its transactions would keep their locks. */
export async function endBackendsOf(client: pg.Client, owner: string, onFault: (message: string, cause: unknown) => void): Promise<void> {
  try {
    await client.query(
      asLogin(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name like '% ${owner.slice(0, 8)}'`),
    );
  } catch (error) {
    await client.query('rollback');
    onFault(NOT_ENDED, error);
  }
}

/** Ends the backend only if it has the session lock: its number may have been reused. */
const endLockHolder = (pid: number): string =>
  asLogin(`select pg_terminate_backend(pid) from pg_locks where pid = ${pid} and ${isSessionLock}`);
