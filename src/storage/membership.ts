/** A node's part in a cluster: says that it lives, takes the partitions that are its share and free, gives those back that are
 *  another's share, and knows who owns what.
 *
 *  Safety rests on epochs alone, as with one owner of the whole log (log-ownership.ts): a claim that came too early costs the former
 *  owner a restart, and no data. A node that was followed by another in any partition has `lost`, which is final: it was cut off or
 *  suspended for seconds, and starts again.
 *
 *  Nothing is negotiated: every node reads the same rows once a second, and computes the same shares (src/cluster/assignment.ts). */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { CLOCK_OFF_MS } from '../cluster/agreed-clock.ts';
import { assign } from '../cluster/assignment.ts';
import type { ClusterNode, ClusterView, NodeId } from '../cluster/cluster-view.ts';
import { partitionOf } from '../cluster/partition-of.ts';
import { HUNG_MS, mayTake } from '../cluster/takeover.ts';
import { PipelineError } from '../errors.ts';
import type { Database } from './database/database.ts';
import { locks, pairLocks } from './database/locks.ts';
import { isLoginRefused, isRetryable } from './database/sql-states.ts';
import { WriterConnection } from './database/writer-connection.ts';
import { Fence, isNotOwner } from './fence.ts';
import { LOG_FORM } from './log-batch.ts';
import { endBackendsOf } from './log-ownership.ts';
import type { Instance, LogOwner } from './log-ownership.ts';
import { machineStartMs } from '../unix-clock.ts';

/** Period of looking at nodes and owners, ms; shorter while a partition of ours is not ours yet. */
const LOOK_MS = 1000;
const SOON_MS = 200;
/** Time that a claim waits for transactions of the former owner, ms. */
const CLAIM_WAIT_MS = 2000;
const ANSWER_MS = 4000;
/** Others' word that something has moved is followed at most so often, ms. */
const AGAIN_MS = 100;
/** Partitions that are given back at the same time. */
const RELEASES_MAX = 4;
const FOLLOWED = 'another node has taken over partitions of this one';
const CUT_ANEW = 'people were cut into another number of partitions';
const NOT_GIVEN_BACK = 'this node could not give a partition back in order';
const NOT_READ_BACK = 'this node could not read partitions back';
const REFUSED = 'the database refuses this node new connections';
/** Time after which a partition that is being given back is looked into, ms. */
const GIVE_BACK_MS = 10_000;
/** Age up to which a node that has just started takes what is nobody's at once, ms. */
const FRESH_MS = 1500;
/** Rows of nodes that have gone are kept this long, for people to see. */
const GONE_KEPT = '1 hour';

/** What takes and releases partitions: the pipeline. */
export type PartitionHost = Readonly<{
  take: (claimed: Readonly<{ partitions: readonly number[]; epoch: bigint; checkpoint: number }>) => Promise<number>;
  release: (partition: number) => Promise<number | null>;
}>;

export type MemberOptions = Readonly<{
  instance: Instance;
  address?: string;
  version?: string;
  /** Name under which this node talks to the others; empty: it has none, and any other's will do. */
  cluster?: string;
  onFault?: (message: string, cause: unknown) => void;
  onMove?: (fields: object, message: string) => void;
}>;

type NodeRow = Readonly<{
  id: string;
  name: string;
  address: string;
  renewed: string;
  draining: boolean;
  refused: boolean;
  cluster: string;
  startedMs: number;
  locked: boolean;
}>;
type PartitionRow = Readonly<{ partition: number; epoch: string; owner: string | null }>;
type Seen = Readonly<{ partitions: number; epoch: number; nodes: readonly NodeRow[]; owners: readonly PartitionRow[] }>;
type Look = Seen & Readonly<{ nowMs: number }>;
type ClaimedRow = { partition: number; epoch: bigint; checkpoint: bigint; newest: bigint };

export class Membership implements LogOwner, ClusterView {
  readonly fence = new Fence(() => this.lose());
  readonly checkpoint = 0;
  readonly newest = 0;
  readonly partitionCount: number;
  readonly #options: MemberOptions;
  readonly #database: Database;
  readonly #connection: WriterConnection;
  readonly #lost = Promise.withResolvers<string>();
  readonly #listeners = new Set<() => void>();
  /** When each node's row was seen to change, performance.now(). */
  readonly #heard = new Map<NodeId, Readonly<{ renewed: string; ms: number }>>();
  /** Nodes whose session lock was seen in this database. */
  readonly #met = new Set<NodeId>();
  readonly #releasing = new Map<number, Readonly<{ done: Promise<void>; startedMs: number }>>();
  #seen: Seen = { partitions: 0, epoch: 0, nodes: [], owners: [] };
  #viewText = '';
  #host: PartitionHost | null = null;
  #taking: Promise<void> | null = null;
  #running: Promise<void> = Promise.resolve();
  #working: Promise<void> = Promise.resolve();
  #mode: 'joined' | 'leaving' | 'left' = 'joined';
  #lostWhy: string | null = null;
  #startedMs = performance.now();
  #renewedMs = performance.now();
  #connectedMs = 0;
  #lookedMs = 0;
  /** Bounds of the database's clock: Unix ms there at 0 of the monotonic clock here; null: not looked yet. */
  #databaseStartMs: Readonly<{ low: number; high: number }> | null = null;
  /** As it was last told: 1 ahead, -1 behind, 0 neither. */
  #clockTold = 0;
  /** The database gives this node no new connection. */
  #refused = false;
  /** When it was last asked for one. */
  #askedMs = -Infinity;
  #wake: () => void = () => undefined;

  private constructor(database: Database, partitionCount: number, options: MemberOptions) {
    this.partitionCount = partitionCount;
    this.#options = options;
    this.#database = database;
    this.#connection = new WriterConnection(database, {
      retryForMs: 0,
      statementTimeoutMs: ANSWER_MS,
      answerTimeoutMs: ANSWER_MS,
      onConnect: (client) => this.#connected(client),
    });
  }

  /** Joins without a partition, and knows who has which from the first question on. `begin` takes the first.
   *  @throws PipelineError conflict while a node alone owns the whole log, or nodes live that talk under another name */
  static async join(database: Database, options: MemberOptions): Promise<Membership> {
    const { rows } = await database.pool.query<{ partitions: number }>('select partitions from cluster_setting');
    const membership = new Membership(database, rows[0]!.partitions, options);
    try {
      membership.#seen = await membership.#look(readCluster);
      const why = membership.#otherName(() => true);
      if (why !== null) throw new PipelineError('conflict', `${why}. Set BIO_CLUSTER to the same on every node, or stop the others first`);
    } catch (error) {
      await membership.#connection.close();
      throw error;
    }
    return membership;
  }

  // ------------------------------------------------------------------------------------------------ what others ask

  get self(): NodeId {
    return this.#options.instance.id;
  }

  ownerOf(subjectId: string): NodeId | null {
    const partition = partitionOf(subjectId, this.partitionCount);
    const mode = this.fence.held.modeOf(partition);
    if (mode === 'open' || mode === 'taking') return this.self;
    const owner = this.#seen.owners[partition]?.owner ?? null;
    // Its own: being given back. One that never lived here owned the database that this one is a copy of, and may live there.
    return owner === null || owner === this.self || !this.#met.has(owner) ? null : owner;
  }

  nodes(): readonly ClusterNode[] {
    return this.#seen.nodes
      .filter((node) => this.#isAlive(node))
      .map(({ id, name, address, draining }) => ({ id, name, address, draining }));
  }

  /** Whether this one does what one node does for all: the first of those that live and can work. Two may think so for a moment. */
  get isFirst(): boolean {
    return this.#seen.nodes.find((node) => this.#canWork(node))?.id === this.self;
  }

  /** Partitions that no living node has, as this one last saw it; all of them before it has looked. */
  get withoutOwner(): number {
    if (this.#seen.owners.length === 0) return this.partitionCount;
    const alive = new Set(this.nodes().map(({ id }) => id));
    return this.#seen.owners.filter(({ owner }) => owner === null || !alive.has(owner)).length;
  }

  /** The newest that was given, as this node last saw it. */
  get newestEpoch(): number {
    return this.#seen.epoch;
  }

  /** How far this machine's clock is ahead of the database's, ms, at least; 0: within the time of a look. */
  get clockOffMs(): number {
    return this.clockOffAt(machineStartMs());
  }

  /** The same of a clock. @param startMs what it says at 0 of the monotonic clock, Unix ms */
  clockOffAt(startMs: number): number {
    if (this.#databaseStartMs === null) return 0;
    const { low, high } = this.#databaseStartMs;
    return startMs > high ? startMs - high : Math.min(0, startMs - low);
  }

  lookAgain(): void {
    if (performance.now() - this.#lookedMs > AGAIN_MS) this.#wake();
  }

  async lookNow(): Promise<void> {
    this.#seen = await this.#look(readCluster);
    this.#tellChanges();
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  get lost(): string | null {
    return this.#lostWhy;
  }

  get ended(): Promise<string> {
    return this.#lost.promise;
  }

  get unconfirmedMs(): number {
    return performance.now() - this.#renewedMs;
  }

  get doubtful(): boolean {
    return this.unconfirmedMs > HUNG_MS;
  }

  /** @param why a clause of a sentence that goes on with what follows from it. Absent: the database refused what this node wrote, and is
   *  asked why before anybody is told */
  lose(why?: string): void {
    if (this.#lostWhy !== null || this.#mode === 'left') return;
    this.#lostWhy = sayLost(why ?? FOLLOWED);
    this.#wake();
    if (why === undefined) void this.#whyRefused().then((found) => this.#lost.resolve((this.#lostWhy = sayLost(found))));
    else this.#lost.resolve(this.#lostWhy);
  }

  /** A write is refused before the next look notices what has changed. */
  async #whyRefused(): Promise<string> {
    const asked = this.#run((client) => client.query<{ partitions: number }>('select partitions from cluster_setting'));
    const partitions = await asked.then(
      ({ rows }) => rows[0]?.partitions,
      () => this.partitionCount,
    );
    return partitions === this.partitionCount ? FOLLOWED : CUT_ANEW;
  }

  // ------------------------------------------------------------------------------------------------ life

  /** Takes and gives back partitions from now on. */
  begin(host: PartitionHost): void {
    this.#host = host;
    this.#startedMs = performance.now();
    this.#running = this.#live();
  }

  /** Gives everything back to the others, as far as that is possible in the time. */
  async leave(deadlineMs: number): Promise<void> {
    if (this.#mode !== 'joined') return;
    this.#mode = 'leaving';
    this.#wake();
    const left = async (): Promise<void> => {
      while (this.#lostWhy === null && this.#host !== null && this.fence.held.partitions.length > 0) await sleep(20);
    };
    await Promise.race([left(), sleep(deadlineMs, undefined, { ref: false })]);
  }

  /** Ends the membership; what is still held is another's as soon as it notices. */
  async release(): Promise<void> {
    this.#mode = 'left';
    this.#wake();
    await this.#running;
    await this.#taking;
    await Promise.all([...this.#releasing.values()].map(({ done }) => done));
    await this.#run((client) =>
      // SQL: two rows of bookkeeping in one message
      client.query(`update packet_log_checkpoint set owner = null where owner = '${this.self}';
          delete from cluster_node where id = '${this.self}'`),
    ).catch((error: unknown) => this.#fault('the node could not say that it goes: the others wait for a moment', error));
    await this.#connection.close();
  }

  // job: membership: says every second that this node lives, and moves partitions to where they belong
  async #live(): Promise<void> {
    while (this.#mode !== 'left' && this.#lostWhy === null) {
      const wanting = await this.#tick().catch((error: unknown) => {
        if (!isAway(error)) this.#fault('the cluster could not be looked at', error);
        return true;
      });
      if (this.#isOver()) break;
      await new Promise<void>((done) => {
        const timer = setTimeout(done, wanting ? SOON_MS : LOOK_MS);
        this.#wake = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
  }

  #isOver(): boolean {
    return this.#mode === 'left' || this.#lostWhy !== null;
  }

  /** @returns whether a partition of our share is not ours yet, or one of another's is still ours */
  async #tick(): Promise<boolean> {
    const isFollowed = await this.#renew();
    this.#seen = await this.#look(lookAtCluster, [GONE_KEPT]);
    const mine = this.#seen.nodes.find(({ id }) => id === this.self);
    // Of nodes that start at the same moment none sees the other's row when it joins.
    const why = this.#otherName(({ startedMs, id }) => mine !== undefined && (startedMs - mine.startedMs || (id < mine.id ? -1 : 1)) < 0);
    if (why !== null) this.lose(why);
    if (this.#seen.partitions !== this.partitionCount) this.lose(CUT_ANEW);
    if (isFollowed) this.lose(FOLLOWED);
    if (this.#isOver()) return false;
    this.#tellChanges();
    const able = this.#seen.nodes.filter((node) => this.#canWork(node) && (node.id !== this.self || this.#mode !== 'leaving'));
    // Where each that lives is drained, they take all the same: an operator who drains one wants others to have its people, not nobody.
    const willing = able.filter(({ draining }) => !draining);
    const takers = willing.length > 0 ? willing : able;
    const shares = assign(this.partitionCount, takers.map(({ id }) => id).toSorted());
    const free: PartitionRow[] = [];
    const unknown: PartitionRow[] = [];
    let unsettled = false;
    for (const row of this.#seen.owners) {
      const { partition, owner } = row;
      const share = shares[partition];
      const mode = this.fence.held.modeOf(partition);
      if (mode === null && owner === this.self && !this.#releasing.has(partition)) unknown.push(row);
      if (mode === null && share === this.self) {
        unsettled = true;
        if (this.#mayTake(owner)) free.push(row);
      } else if (mode === 'open' && share !== this.self && (share !== undefined || this.#mode === 'leaving')) {
        unsettled = true;
        if (this.#releasing.size < RELEASES_MAX) this.#release(partition);
      }
    }
    const isStuck = [...this.#releasing.values()].some(({ startedMs }) => performance.now() - startedMs > GIVE_BACK_MS);
    // Its writers wait for connections that they will not be given: the next owner reads from the log what they have.
    if (isStuck && this.#refused) this.lose(NOT_GIVEN_BACK);
    const isAskedAgain = (this.#refused || isStuck) && performance.now() - this.#askedMs >= LOOK_MS;
    if (((free.length > 0 && !this.#refused) || isAskedAgain) && this.#taking === null)
      this.#taking = this.#take(free).finally(() => (this.#taking = null));
    if (this.#taking !== null || unknown.length === 0) return unsettled;
    await this.#disown(unknown);
    return true;
  }

  /** Why this node cannot be one of those that live; null: it can. It would not reach their people, nor they its. */
  #otherName(isAsked: (node: NodeRow) => boolean): string | null {
    const { cluster = '' } = this.#options;
    const other = this.#seen.nodes.find(
      (node) =>
        node.id !== this.self && node.cluster !== '' && cluster !== '' && node.cluster !== cluster && this.#isAlive(node) && isAsked(node),
    );
    return other === undefined
      ? null
      : `this node is of the cluster '${cluster}', and ${other.name}, which shares its database, of '${other.cluster}': they would not reach each other`;
  }

  /** It lives, and the database gives it new connections. */
  #canWork(node: NodeRow): boolean {
    return this.#isAlive(node) && !(node.id === this.self ? this.#refused : node.refused);
  }

  #isAlive({ id, locked }: NodeRow): boolean {
    return id === this.self || (locked && this.#silentMs(id) < HUNG_MS);
  }

  #silentMs(id: NodeId): number {
    const heard = this.#heard.get(id);
    return heard === undefined ? Infinity : performance.now() - Math.max(heard.ms, this.#connectedMs);
  }

  #mayTake(owner: NodeId | null): boolean {
    if (owner === this.self) return false; // being given back, or to be
    const node = this.#seen.nodes.find(({ id }) => id === owner);
    const fresh = performance.now() - this.#startedMs < FRESH_MS;
    return mayTake({ owner, locked: node?.locked ?? false, silentMs: owner === null ? 0 : this.#silentMs(owner) }, fresh);
  }

  async #take(free: readonly PartitionRow[]): Promise<void> {
    try {
      if (!(await this.#canOpenConnections())) return;
      const rows = free.length === 0 ? [] : await this.#claim(free);
      if (rows.length === 0 || this.#host === null) return;
      const claimed = {
        partitions: rows.map(({ partition }) => partition),
        epoch: rows[0]!.epoch,
        checkpoint: Math.min(...rows.map(({ checkpoint }) => Number(checkpoint))),
      };
      const startedMs = performance.now();
      const replayed = await this.#host.take(claimed);
      this.#tellChanges();
      const ms = Math.round(performance.now() - startedMs);
      this.#options.onMove?.(
        { partitions: claimed.partitions, epoch: claimed.epoch.toString(), replayed, ms },
        'cluster: partitions taken',
      );
    } catch (error) {
      if (!isAway(error)) this.#fault('partitions could not be taken', error);
      if (this.fence.held.partitions.some((partition) => this.fence.held.modeOf(partition) === 'taking'))
        this.lose(whyOf(error, NOT_READ_BACK));
    }
  }

  /** Whether the database gives a new connection, which reading back needs: to a node whose password was changed, or whose right to
   *  connect or role was taken, it does not, while the connections that are open still work. What such a node claimed would be nobody's
   *  until someone restarts it. */
  async #canOpenConnections(): Promise<boolean> {
    this.#askedMs = performance.now();
    try {
      await (await this.#database.connect()).end();
      this.#refused = false;
      return true;
    } catch (error) {
      if (isRetryable(error)) return false;
      if (!this.#refused) this.#fault('this node takes no partition: the database refuses it new connections', error);
      this.#refused = true;
      return false;
    }
  }

  async #claim(free: readonly PartitionRow[]): Promise<readonly ClaimedRow[]> {
    const gone = new Set(free.map(({ owner }) => owner).filter((owner) => owner !== null));
    return await this.#run(async (client) => {
      for (const owner of gone) await endBackendsOf(client, owner, (message, error) => this.#fault(message, error));
      const { id, name } = this.#options.instance;
      const { rows } = await client.query<ClaimedRow>(
        'select partition, epoch, checkpoint, newest from claim_partitions($1, $2, $3::smallint[], $4::bigint[], $5)',
        [id, name, free.map(({ partition }) => partition), free.map(({ epoch }) => epoch), LOG_FORM],
      );
      return rows;
    });
  }

  #release(partition: number): void {
    const epoch = this.fence.held.epochOf(partition)!;
    const startedMs = performance.now();
    const done = this.#host!
      .release(partition)
      .then(async (stored) => {
        await this.#giveBack(partition, epoch, stored);
        this.#options.onMove?.({ partition, ms: Math.round(performance.now() - startedMs) }, 'cluster: partition given back');
      })
      .catch((error: unknown) => {
        if (this.#isOver()) return;
        this.#fault('a partition could not be given back', error);
        this.lose(whyOf(error, NOT_GIVEN_BACK)); // the next owner reads it back
      })
      .finally(() => {
        this.#releasing.delete(partition);
        this.#wake();
      });
    this.#releasing.set(partition, { done, startedMs });
  }

  async #giveBack(partition: number, epoch: bigint, stored: number | null): Promise<void> {
    for (;;) {
      try {
        await this.#run((client) =>
          client.query(
            `update packet_log_checkpoint set owner = null, batch_id = greatest(batch_id, $3::bigint), updated_at = now()
             where partition = $1 and epoch = $2`,
            [partition, epoch.toString(), (stored ?? 0).toString()],
          ),
        );
        return;
      } catch (error) {
        if (this.#isOver() || !isAway(error)) throw error;
        await sleep(SOON_MS);
      }
    }
  }

  /** Gives back what this node does not know to have: the answer to its claim was lost. It, or another, claims it as any that is free. */
  async #disown(rows: readonly PartitionRow[]): Promise<void> {
    await this.#run((client) =>
      client.query(
        `update packet_log_checkpoint c set owner = null from unnest($2::smallint[], $3::bigint[]) as d (partition, epoch)
         where c.partition = d.partition and c.epoch = d.epoch and c.owner = $1`,
        [this.self, rows.map(({ partition }) => partition), rows.map(({ epoch }) => epoch)],
      ),
    );
  }

  /** Tells listeners when owners or nodes are others than before. */
  #tellChanges(): void {
    const text = JSON.stringify([this.nodes(), this.#seen.owners.map(({ owner }) => owner), this.fence.held.partitions]);
    if (text === this.#viewText) return;
    this.#viewText = text;
    for (const changed of this.#listeners) changed();
  }

  // ------------------------------------------------------------------------------------------------ statements

  /** @returns whether something that this node held when it said so is not its own any more */
  async #renew(): Promise<boolean> {
    const { instance, address = '', version = '', cluster = '' } = this.#options;
    const held = this.fence.held.partitions.map((partition) => [partition, this.fence.held.epochOf(partition)!] as const);
    const { rows } = await this.#run((client) =>
      client.query<{ partition: number; epoch: bigint }>(renewNode, [
        instance.id,
        lockKeyOf(instance.id),
        instance.name,
        address,
        version,
        this.#refused,
        this.#mode === 'leaving',
        held.map(([partition]) => partition),
        held.map(([, epoch]) => epoch),
        cluster,
      ]),
    );
    this.#renewedMs = performance.now();
    const isStill = (partition: number, epoch: bigint): boolean => this.fence.held.epochOf(partition) === epoch;
    return held.some(
      ([partition, epoch]) => isStill(partition, epoch) && !rows.some((row) => row.partition === partition && row.epoch === epoch),
    );
  }

  async #look(statement: string, values: readonly string[] = []): Promise<Seen> {
    const { rows, beforeMs, afterMs } = await this.#run(async (client) => {
      const startMs = performance.now();
      const answer = await client.query<Look>(statement, [...values]);
      return { rows: answer.rows, beforeMs: startMs, afterMs: performance.now() };
    });
    const seen = rows[0]!;
    this.#noteClock(seen.nowMs, beforeMs, afterMs);
    const nowMs = performance.now();
    this.#lookedMs = nowMs;
    for (const { id, renewed } of seen.nodes) if (this.#heard.get(id)?.renewed !== renewed) this.#heard.set(id, { renewed, ms: nowMs });
    for (const { id, locked } of seen.nodes) if (locked) this.#met.add(id);
    for (const ids of [this.#heard, this.#met]) for (const id of ids.keys()) if (!seen.nodes.some((node) => node.id === id)) ids.delete(id);
    return seen;
  }

  /** @param databaseMs what the database's clock said between two moments of the monotonic clock */
  #noteClock(databaseMs: number, beforeMs: number, afterMs: number): void {
    this.#databaseStartMs = { low: databaseMs - afterMs, high: databaseMs - beforeMs };
    const { clockOffMs } = this;
    const off = Math.abs(clockOffMs) > CLOCK_OFF_MS ? Math.sign(clockOffMs) : 0;
    if (off === this.#clockTold) return;
    this.#clockTold = off;
    const sec = (Math.abs(clockOffMs) / 1000).toFixed(1);
    if (off !== 0)
      this.#fault(
        `this machine's clock is ${sec} s ${off > 0 ? 'ahead of' : 'behind'} the database's: run a time service on both`,
        undefined,
      );
    else this.#options.onMove?.({}, "cluster: this machine's clock agrees with the database's again");
  }

  /** On every new connection: the locks by which the others see that this process lives, and that the log has owners. */
  async #connected(client: pg.Client): Promise<void> {
    await client.query(
      `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set lock_timeout = ${CLAIM_WAIT_MS};
       set synchronous_commit = on`,
    );
    const { rows } = await client.query<{ shared: boolean; own: boolean }>(
      'select pg_try_advisory_lock_shared($1) as shared, pg_try_advisory_lock($2, $3) as own',
      [locks.packetLog.toString(), pairLocks.clusterNode[0], lockKeyOf(this.self)],
    );
    if (!rows[0]!.shared) throw new PipelineError('conflict', 'a node alone owns the whole packet log of this database');
    // Without its own lock a node is taken for dead after two seconds: a connection before this one may still have it.
    if (!rows[0]!.own) await client.query('select pg_advisory_lock($1, $2)', [pairLocks.clusterNode[0], lockKeyOf(this.self)]);
    this.#connectedMs = performance.now();
    client.once('end', () => this.#wake());
  }

  /** One piece of work after the other: they share a connection. */
  async #run<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const before = this.#working;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    await before;
    try {
      return await this.#connection.run(work);
    } finally {
      resolve();
    }
  }

  #fault(message: string, cause: unknown): void {
    this.#options.onFault?.(`cluster: ${message}`, cause);
  }
}

const sayLost = (why: string): string => `${why}; it has to start again`;

/** Of the session lock of a node: 31 bits of its id. */
function lockKeyOf(id: NodeId): number {
  return Number(`0x${id.slice(0, 8)}`) & 0x7fffffff;
}

/** Why a node ends that failed to move a partition; undefined: its write was refused. @param otherwise where the error does not say it */
function whyOf(error: unknown, otherwise: string): string | undefined {
  if (isNotOwner(error)) return undefined;
  return isLoginRefused(error) ? REFUSED : otherwise;
}

function isAway(error: unknown): boolean {
  return error instanceof PipelineError && error.code === 'unavailable';
}

/** SQL: says that a node lives, unless it was followed in what it holds: such a node ends, and must not draw a share that nobody takes.
 *  One that leaves is draining: the others take what it gives back while it still has sockets to close. */
const renewNode = `
  with held as (
    update packet_log_checkpoint set renewed_at = clock_timestamp() where owner = $1 returning partition, epoch),
  node as (
    insert into cluster_node (id, lock_key, name, address, version, refused, draining, cluster)
    select $1::uuid, $2::int, $3::text, $4::text, $5::text, $6::boolean, $7::boolean, $10::text
    where not exists (select from unnest($8::smallint[], $9::bigint[]) as was (partition, epoch)
      where not exists (select from held h where h.partition = was.partition and h.epoch = was.epoch))
    on conflict (id) do update set renewed_at = clock_timestamp(), refused = excluded.refused,
      draining = cluster_node.draining or excluded.draining)
  select partition, epoch from held`;

/** SQL condition: the node n lives, or the server has not noticed yet that it has gone. */
const isLocked = `exists (
  select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 2
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid = ${pairLocks.clusterNode[0]} and l.objid::bigint = n.lock_key)`;

/** SQL: one look, so that nodes and owners are of the same moment. */
const readCluster = `
  select (select partitions from cluster_setting) as partitions, (select epoch::float8 from cluster_setting) as epoch, extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs",
    coalesce((select json_agg(json_build_object('id', n.id, 'name', n.name, 'address', n.address, 'renewed', n.renewed_at::text,
      'draining', n.draining, 'refused', n.refused, 'cluster', n.cluster, 'startedMs', extract(epoch from n.started_at)::float8 * 1000,
      'locked', ${isLocked}) order by n.id)
      from cluster_node n), '[]') as nodes,
    (select json_agg(json_build_object('partition', c.partition, 'epoch', c.epoch::text, 'owner', c.owner) order by c.partition)
      from packet_log_checkpoint c) as owners`;

/** SQL: the same. Rows of nodes that have gone are removed by it; not those of nodes that live, whose renewals are old when the database's
 *  clock leaps. */
const lookAtCluster = `
  with gone as (
    delete from cluster_node n where n.renewed_at < clock_timestamp() - $1::interval and not ${isLocked})${readCluster}`;
