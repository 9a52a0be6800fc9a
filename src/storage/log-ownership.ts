/** Who writes the packet log of a database: one instance at a time, and never again one that has lost it.
 *
 *  Right by the epoch alone: claiming gives an instance an epoch above all before it, its writers name that epoch, and the database refuses
 *  one that is not the newest (sql/000011-log-ownership.sql). A claim waits for what is being committed, so nothing is acknowledged by the
 *  former owner that the next one does not read.
 *  Quick by two signs of life, which may be wrong without harm: a session lock, free the moment the process has gone, and a row that the
 *  owner renews. No clock is compared: one who waits watches whether the row changes.
 *
 *  Modes: claiming (watches, and takes what is free), `held` (renews; a lost connection is opened again, and while nobody has claimed since
 *  it goes on), `lost` (for good: the process must start again, because what it knows of the log is old), released. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { PipelineError } from '../errors.ts';
import type { Database } from './database/database.ts';
import { locks, pairLocks } from './database/locks.ts';
import { transaction } from './database/transaction.ts';
import type { Write } from './database/transaction.ts';
import { WriterConnection } from './database/writer-connection.ts';

/** SQLSTATE of a write whose epoch is not the newest. */
const NOT_OWNER = 'BS001';
/** Session lock of the owner. Earlier releases know no other sign. */
const LOCK = locks.packetLog;
/** How often an owner renews, ms. */
const RENEW_MS = 1000;
/** How often a waiting instance looks, and an owner tries to reach a database that is away, ms. */
const LOOK_MS = 250;
/** An owner whose lock is free is given this long to come back, ms: its connection was lost, or the database has restarted. */
const CUT_MS = 2000;
/** An owner that holds its lock and does not renew for so long hangs, or its machine has gone without a word, ms. */
const HUNG_MS = 10_000;
/** An instance that was started so short a time ago takes a free log at once: the one before it was stopped or killed a moment ago. ms. */
const FRESH_MS = 1000;
/** A claim waits so long for transactions of the owner before, ms; one that was stopped in the middle never ends its own. */
const CLAIM_WAIT_MS = 2000;
const ANSWER_MS = 4000;
/** Numbers of an epoch: group commits of three years at 40 a second. */
const EPOCH_POSITIONS = 2 ** 32;

export type Instance = Readonly<{
  /** New at every start; its first eight digits end the names of the instance's connections (see tagOf). */
  id: string;
  /** For people: host and port. */
  name: string;
}>;

export type ClaimOptions = Readonly<{
  /** Default: one without a name. */
  instance?: Instance;
  /** How long to wait for another instance, ms. Default: for ever. */
  waitMs?: number;
  /** Ends the waiting. */
  signal?: AbortSignal;
  /** Told once, when another instance has the log. */
  onStandby?: (owner: string) => void;
  /** Hears what goes wrong with claiming and renewing; it is tried again. */
  onFault?: (message: string, cause: unknown) => void;
}>;

type Seen = { epoch: bigint; owner: string | null; owner_name: string; renewed: string; locked: boolean };
type Claim = { epoch: bigint; checkpoint: bigint; newest: bigint };

/** Of an instance, as it ends the application_name of its connections. */
export function tagOf(instance: Instance): string {
  return instance.id.slice(0, 8);
}

/** Was a write refused because another instance has the log? */
export function isNotOwner(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === NOT_OWNER;
}

export class Ownership {
  readonly #instance: Instance;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #connection: WriterConnection;
  readonly #lost = Promise.withResolvers<string>();
  #claim: Claim | null = null;
  #lostWhy: string | null = null;
  #released = false;
  /** Backend of the connection that has the lock, or had it. */
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

  /** Takes the log, as soon as it may be taken.
   *  @throws PipelineError conflict when another instance has it for longer than waitMs; the signal's reason */
  static async claim(database: Database, options: ClaimOptions = {}): Promise<Ownership> {
    const ownership = new Ownership(database, options);
    try {
      ownership.#claim = await ownership.#wait(options);
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

  /** Newest batch whose packets are all in the other tables, at the time of the claim. */
  get checkpoint(): number {
    return Number(this.#claim!.checkpoint);
  }

  /** Newest batch of the log at the time of the claim. */
  get newest(): number {
    return Number(this.#claim!.newest);
  }

  /** Number of the first batch that this owner writes; above all there are. */
  get firstPosition(): number {
    return Number(this.epoch) * EPOCH_POSITIONS + 1;
  }

  /** Why the log is not this instance's any more; null: it is, as far as is known here. */
  get lost(): string | null {
    return this.#lostWhy;
  }

  /** Resolves with the reason when the log is lost. */
  get ended(): Promise<string> {
    return this.#lost.promise;
  }

  /** How long the database has not confirmed that the log is ours, ms. */
  get unconfirmedMs(): number {
    return performance.now() - this.#renewedMs;
  }

  /** Could another instance have taken the log by now without our hearing of it? */
  get doubtful(): boolean {
    return this.unconfirmedMs > HUNG_MS;
  }

  /** The same database for the writers of the owner: their connections name its epoch. */
  fenced(database: Database): Database {
    const connect = async (): Promise<pg.Client> => {
      const client = await database.connect();
      try {
        await client.query(`set bio.epoch = ${this.epoch}`);
        return client;
      } catch (error) {
        await client.end().catch(() => {});
        throw error;
      }
    };
    return { ...database, connect };
  }

  /** The same for writes over a pool, whose connections are not the owner's alone: each is a transaction that names the epoch. */
  writing({ pool }: Database): Write {
    return async (work) => {
      try {
        return await transaction(pool, async (client) => {
          await client.query(`set local bio.epoch = ${this.epoch}`);
          return await work(client);
        });
      } catch (error) {
        if (isNotOwner(error)) this.lose();
        throw error;
      }
    };
  }

  /** A write was refused, or the row says so: it is over. */
  lose(): void {
    if (this.#lostWhy !== null || this.#released) return;
    this.#lostWhy = 'another instance has taken over the packet log; this one has to start again';
    this.#wake();
    this.#lost.resolve(this.#lostWhy);
  }

  /** Gives the log back: the next instance need not wait. */
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
    let watched = false; // it was seen with its owner
    let told = false;
    for (;;) {
      signal?.throwIfAborted();
      const seen = await this.#look();
      const nowMs = performance.now();
      if (seen !== null) {
        if (before === null || seen.epoch !== before.epoch || seen.renewed !== before.renewed) heardMs = nowMs;
        before = seen;
        // Before the connection was there nothing could be heard.
        const silentMs = nowMs - Math.max(heardMs, this.#connectedMs);
        const fresh = !watched || nowMs - startedMs < FRESH_MS;
        if (mayTake(seen, silentMs, fresh)) {
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

  /** null: the database is away. */
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
        const { rows } = await client.query<Claim & { pid: number }>(
          'select epoch, checkpoint, newest, pg_backend_pid() as pid from claim_log($1, $2, $3)',
          [id, name, seen.epoch.toString()],
        );
        const claim = rows[0];
        if (claim === undefined) return null;
        if (!Number.isSafeInteger((Number(claim.epoch) + 1) * EPOCH_POSITIONS))
          throw new PipelineError('internal', `packet_log: epoch ${claim.epoch} has no numbers below 2^53`);
        await client.query('set synchronous_commit = off'); // a renewal that a crash of the server undoes was none
        this.#locked = true;
        this.#pid = claim.pid;
        return claim;
      });
    } catch (error) {
      if (!isAway(error)) throw error;
      this.#onFault('the packet log could not be taken over: it is tried again', error);
      await sleep(LOOK_MS);
      return null;
    }
  }

  /** What the former owner has begun would keep its locks for as long as that one hangs. */
  async #endBackends(client: pg.Client, owner: string): Promise<void> {
    try {
      await client.query(endBackends(owner));
    } catch (error) {
      await client.query('rollback');
      this.#onFault('connections of the owner before could not be ended: it acts as another login', error);
    }
  }

  /** On every new connection. */
  async #connected(client: pg.Client): Promise<void> {
    // A server that loses an instance without a word lets its lock go within seconds rather than hours.
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
      // A connection that ends is opened again at once: while its lock is free, another instance counts the seconds.
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
      if (rowCount === 0) this.lose();
      else this.#renewedMs = performance.now();
      return true;
    } catch (error) {
      if (!isAway(error)) this.#onFault('the packet log could not be renewed', error);
      return false;
    }
  }

  /** The lock of a connection that was lost. One of ours that was cut off may have it yet, because the server has not noticed: it is ended.
   *  Not having it is no harm while the row is renewed. */
  async #lockAgain(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ got: boolean; pid: number }>('select pg_try_advisory_lock($1) as got, pg_backend_pid() as pid', [
      LOCK.toString(),
    ]);
    this.#locked = rows[0]!.got;
    if (this.#locked) this.#pid = rows[0]!.pid;
    else if (this.#pid !== 0) await client.query(endLockHolder(this.#pid));
  }
}

/** The database does not answer, or does not take this now. */
function isAway(error: unknown): boolean {
  return error instanceof PipelineError && error.code === 'unavailable';
}

/** May an instance that waits take the log from the one that was seen? */
function mayTake({ owner, locked }: Seen, silentMs: number, fresh: boolean): boolean {
  // A lock without an owner: one of an earlier release, which does not renew, or one that is just coming or going.
  if (locked) return owner !== null && silentMs >= HUNG_MS;
  return owner === null || fresh || silentMs >= CUT_MS;
}

const ofThisDatabase = `database = (select oid from pg_database where datname = current_database())`;
const isSessionLock = `locktype = 'advisory' and granted and objsubid = 1 and ${ofThisDatabase} and (classid::int8 << 32) + objid::int8 = ${LOCK}`;
const isHold = `locktype = 'advisory' and granted and objsubid = 2 and ${ofThisDatabase} and classid = ${pairLocks.logHold[0]} and objid = ${pairLocks.logHold[1]}`;

/** SQL: is there a living owner? */
export const logIsHeld = `exists (select from pg_locks where ${isSessionLock})`;

const lookAtOwner = `select epoch, owner, owner_name, renewed_at::text as renewed, exists (select from pg_locks where ${isSessionLock} and pid <> pg_backend_pid()) as locked
  from packet_log_checkpoint`;

/** As the login role, to which the backends belong. */
const asLogin = (statement: string): string => `begin; set local role none; ${statement}; commit`;

/** Ends all connections of an instance, and whoever else has the log's locks. */
const endBackends = (owner: string): string =>
  asLogin(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and (application_name like '% ${owner.slice(0, 8)}'
      or pid in (select pid from pg_locks where (${isSessionLock}) or (${isHold})))`);

/** Ends only the backend that has the session lock: its number may be somebody else's by now. */
const endLockHolder = (pid: number): string =>
  asLogin(`select pg_terminate_backend(pid) from pg_locks where pid = ${pid} and ${isSessionLock}`);
