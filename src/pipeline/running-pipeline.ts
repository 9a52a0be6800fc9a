/** The pipeline as the service runs it: wires its parts, starts, reports and stops them.
 *
 *  Modes: `open` takes packets. `stopping` answers 'busy' and stores the packets taken. `abandoned` is final: packets not stored yet are
 *  left to the log, because another instance owns it or the time to stop is over; no more checkpoints are saved. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../errors.ts';
import { Ingest } from '../ingest/ingest.ts';
import { IngestSockets } from '../ingest/ingest-socket.ts';
import type { PacketSink } from '../ingest/sink.ts';
import { postRawPacket } from '../ingest/post-raw-packet.ts';
import type { Hub } from '../live/hub.ts';
import { liveSocketRoute } from '../live/live-socket.ts';
import type { ChannelNo, StreamId, SubjectId } from '../signal.ts';
import type { BlockRun } from '../storage/block-codec.ts';
import { PacketLog } from '../storage/packet-log.ts';
import type { LogRange } from '../storage/packet-log.ts';
import { StreamRegistry } from '../storage/stream-registry.ts';
import { newsOfOutages, onceAnOutage } from '../storage/database/once-an-outage.ts';
import type { Write } from '../storage/database/transaction.ts';
import { Checkpoints } from './checkpoints.ts';
import { Computing } from './computing.ts';
import { Faults } from './faults.ts';
import type { PipelineHost, PipelineOptions } from './options.ts';
import { Pipeline } from './pipeline.ts';
import { PartitionMoves } from './partition-moves.ts';
import type { Claimed } from './partition-moves.ts';
import { Recovery } from './recover.ts';
import { ReplayHorizon } from './replay-horizon.ts';
import { openStores } from './stores.ts';
import type { Stores } from './stores.ts';
import { StreamLife } from './stream-life.ts';
import { StreamTable } from './stream-table.ts';

const HUB_TICK_MS = 10;
const SECOND_MS = 1000;
const FLOWING_MS = 10_000;

export class RunningPipeline {
  readonly #options: PipelineOptions;
  readonly #write: Write;
  readonly #streams: StreamTable;
  readonly #faults: Faults;
  readonly #stores: Stores;
  readonly #computing: Computing;
  readonly #horizon: ReplayHorizon;
  readonly #checkpoints: Checkpoints;
  readonly #life: StreamLife;
  readonly #moves: PartitionMoves;
  readonly #pipeline: Pipeline;
  readonly ingest: Ingest;
  readonly #sockets: IngestSockets;
  #host: PipelineHost | null = null;
  #mode: 'open' | 'stopping' | 'abandoned' = 'open';

  constructor(options: PipelineOptions, registry: StreamRegistry, log: PacketLog) {
    const { config, database, ownership, metrics, logger } = options;
    const streams = new StreamTable(ownership.partitionCount);
    this.#streams = streams;
    const isStopped = (): boolean => this.#mode !== 'open';
    this.#options = options;
    this.#write = ownership.fence.writing(database);
    this.#faults = new Faults(options, this.#write);
    this.#stores = openStores(options, {
      registry,
      log,
      write: this.#write,
      streams,
      faults: this.#faults,
      publish: (topic, bytes) => this.#host?.publish(topic, bytes, true),
      onOutput: (output) => this.#pipeline.takeOutput(output),
    });
    const stores = this.#stores;
    const computing = new Computing(stores.pool, streams, options);
    const horizon = new ReplayHorizon(ownership.checkpoint);
    const isComputed = (streamId: StreamId): boolean => {
      const stream = streams.get(streamId);
      return stream === undefined || computing.isComputed(stream);
    };
    const checkpoints = new Checkpoints(stores, horizon, isComputed, this.#faults);
    const newestDurable = (): Promise<void> => this.#pipeline.newestDurable();
    const { fence } = ownership;
    const life = new StreamLife({
      options,
      stores,
      streams,
      computing,
      checkpoints,
      partitions: { untilOpen: (partition) => this.#moves.untilOpen(partition) },
      newestDurable,
      isStopped,
    });
    this.#pipeline = new Pipeline({ stores, streams, life, computing, horizon, held: fence.held, metrics, isStopped });
    this.#moves = new PartitionMoves({
      fence,
      stores,
      streams,
      life,
      horizon,
      checkpoints,
      recover: (range) => this.#recover(range),
      newestDurable,
      dropSessions: (match) => this.ingest.sessions.drop(match),
      isStopped,
      mustGoOn: () => this.#mustGoOn(),
      onFault: (message, err) => logger.warn({ err }, message),
    });
    this.#computing = computing;
    this.#horizon = horizon;
    this.#checkpoints = checkpoints;
    this.#life = life;
    const sink = options.route?.(this.#pipeline, (request) => life.subjectOf(request)) ?? this.#pipeline;
    const isNews = newsOfOutages();
    this.ingest = new Ingest(sink, config, metrics, {
      onFault: (message, err) => {
        if (isNews(`${message} ${err instanceof Error ? err.message : ''}`)) logger.warn({ err }, `ingest: ${message}`);
      },
      ...(options.onConflict === undefined ? {} : { onConflict: options.onConflict }),
    });
    this.#sockets = new IngestSockets(this.ingest);
  }

  // ------------------------------------------------------------------------------------------------ start

  get routes() {
    return [postRawPacket(this.ingest)];
  }

  /** Takes packets of the partitions of this node, and no others. */
  get local(): PacketSink {
    return this.#pipeline;
  }

  get hub(): Hub {
    return this.#stores.hub;
  }

  get sockets() {
    const { config, metrics, resolveSubject, watched, fetchFrames, reachesFrames } = this.#options;
    const countViewers = (delta: 1 | -1): void => metrics.viewers.inc(delta);
    return [
      this.#sockets.route(),
      liveSocketRoute({
        hub: this.#stores.hub,
        viewerQueueBytesMax: config.viewerQueueBytesMax,
        socketsMax: { user: config.userLiveSocketsMax, key: config.keyLiveSocketsMax },
        resolveSubject,
        watched,
        fetchFrames,
        reachesFrames,
        countViewers,
      }),
    ];
  }

  /** Replays the log. Call it before attach: everything acknowledged must be known before the first new packet.
   *  @returns number of packets replayed */
  async recover(): Promise<number> {
    assert(this.#host === null, 'the log is replayed before packets are taken');
    const { fence, checkpoint } = this.#options.ownership;
    const count = await this.#recover({ partitions: fence.held.partitions, after: checkpoint });
    this.#horizon.noteClaim(this.#stores.log.durablePosition);
    return count;
  }

  /** Takes what was claimed while the service runs. One call at a time. @returns packets replayed */
  take(claimed: Claimed): Promise<number> {
    return this.#moves.take(claimed);
  }

  /** Stores and forgets a partition. @returns see PartitionMoves.release */
  release(partition: number): Promise<number | null> {
    return this.#moves.release(partition);
  }

  #recover(range: LogRange): Promise<number> {
    return new Recovery({
      options: this.#options,
      stores: this.#stores,
      write: this.#write,
      streams: this.#streams,
      life: this.#life,
      faults: this.#faults,
      range,
      limits: this.ingest.admissionLimits,
      hand: (taken, position) => this.#pipeline.hand(taken, position),
      mustGoOn: () => this.#mustGoOn(),
    }).run();
  }

  /** @throws PipelineError unavailable when the pipeline was abandoned */
  #mustGoOn(): void {
    if (this.#mode === 'abandoned') throw new PipelineError('unavailable', 'the pipeline was given up: its writers store nothing any more');
  }

  /** Connects the pipeline to the server once it listens: live frames can be sent, timers start. */
  attach(host: PipelineHost): void {
    assert(this.#host === null, 'the pipeline has a server');
    this.#host = host;
    // job: frames: sends live frames that wait for a channel when their deadline comes, every 10 ms
    host.ticks.every(HUB_TICK_MS, () => this.#stores.hub.tick(performance.now()));
    // job: every-second: closes idle recordings, recomputes ranges that the full pool refused, reports how long the queues are
    host.ticks.every(SECOND_MS, () => this.#everySecond());
    this.#checkpoints.start();
  }

  #everySecond(): void {
    const { metrics } = this.#options;
    const { log, blocks, rows, pool } = this.#stores;
    this.ingest.sweep();
    const { queueBytes } = pool.stats();
    this.#computing.payAll(queueBytes);
    this.#life.closeLate();
    metrics.openStreams.set(this.#streams.size);
    metrics.queueBytes.set({ queue: 'packet_log' }, log.queueBytes);
    metrics.queueBytes.set({ queue: 'blocks' }, blocks.queueBytes);
    metrics.queueBytes.set({ queue: 'dsp' }, queueBytes);
    metrics.queueBytes.set({ queue: 'rows' }, rows.queueBytes);
  }

  sayOnce(...said: Parameters<Faults['sayOnce']>): void {
    this.#faults.sayOnce(...said);
  }

  // ------------------------------------------------------------------------------------------------ state

  /** Acknowledged samples of a channel that are not stored yet, so that a query sees a packet as soon as its device is answered. */
  recentRuns(streamId: number, channelNo: number, fromNs: bigint, toNs: bigint): readonly BlockRun[] {
    return this.#stores.blocks.recentRuns(streamId as StreamId, channelNo as ChannelNo, fromNs, toNs);
  }

  /** Streams that received a packet within the last 10 s. */
  flowingStreams(): readonly StreamId[] {
    const sinceMs = performance.now() - FLOWING_MS;
    return [...this.#streams.values()].filter((stream) => stream.lastMs >= sinceMs).map((stream) => stream.id);
  }

  /** Subjects that are being recorded or watched. */
  openSubjects(): readonly SubjectId[] {
    const recorded = Array.from(this.ingest.sessions.values(), (session) => session.subjectId);
    return [...new Set([...recorded, ...this.#stores.hub.subjects()])];
  }

  /** Parts that must work for packets to be taken, for /readyz. */
  parts(): readonly Readonly<{ name: string; ok: boolean; detail: string }>[] {
    const { blocks, rows, pool } = this.#stores;
    const { lagMs, crashCount, loadingCount } = pool.stats();
    const behind = loadingCount === 0 ? '' : `, ${loadingCount} streams to be read back`;
    return [
      this.#logPart(),
      { name: 'sample_block', ok: !blocks.full, detail: `${blocks.queueBytes} bytes waiting` },
      { name: 'derived_rows', ok: !rows.full, detail: `${rows.queueBytes} bytes waiting` },
      { name: 'set_aside', ok: true, detail: `${this.#faults.setAsideCount} rows or packets since the start` },
      { name: 'dsp', ok: !this.#computing.full, detail: `lag ${Math.round(lagMs)} ms, ${crashCount} worker crashes${behind}` },
    ];
  }

  #logPart(): Readonly<{ name: string; ok: boolean; detail: string }> {
    const { lost, trouble, queueBytes } = this.#stores.log;
    const { doubtful, unconfirmedMs } = this.#options.ownership;
    const name = 'packet_log';
    if (lost !== null) return { name, ok: false, detail: `lost: ${lost}` };
    if (doubtful && trouble === null)
      return { name, ok: false, detail: `not confirmed for ${Math.round(unconfirmedMs / 1000)} s: another instance may have taken over` };
    return { name, ok: this.#mode === 'open' && trouble === null, detail: packetLogDetail(trouble, queueBytes) };
  }

  // ------------------------------------------------------------------------------------------------ erasing and disconnecting a user

  /** Ends the live data of a user who is being erased: closes viewers, stores and closes streams. Call it after disabling the user, so
   *  that a device's next packet is refused, and before deleting rows. Does not wait for values that are not computed yet.
   *  @returns when no row of the user is on its way to the tables any more */
  eraseSubject(subjectId: SubjectId): Promise<void> {
    return this.#life.erase(subjectId, () => this.forgetSubject(subjectId));
  }

  /** Ends the live data of a user whose packets are no longer accepted.
   *  @returns when the streams are stored; values that cannot be computed now are computed later */
  async forgetSubject(subjectId: SubjectId, code: 'not_found' | 'unavailable' = 'not_found'): Promise<void> {
    this.#stores.hub.closeSubject(subjectId, code);
    const dropped = this.ingest.sessions.drop((session) => session.subjectId === subjectId);
    // At once: a stream that its device opens while others are being closed has a session and stays.
    await Promise.all([dropped, this.#life.closeOf(subjectId)]);
  }

  // ------------------------------------------------------------------------------------------------ stop

  /** Saves a checkpoint. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.save();
  }

  /** Stops taking packets, and tells devices to reconnect once everything taken is acknowledged. */
  async drain(deadlineMs: number): Promise<void> {
    this.ingest.stop();
    await this.#sockets.drain(deadlineMs);
  }

  /** Makes everything taken durable, in the log and in the tables. The next start replays from the log what the database has not taken
   *  within deadlineMs. */
  async stop(deadlineMs = Infinity): Promise<void> {
    if (this.#mode === 'open') this.#mode = 'stopping';
    this.#checkpoints.stop();
    const storing = this.#storeAll();
    if (deadlineMs === Infinity) return await storing;
    const timer = new AbortController();
    const late = sleep(deadlineMs, true, { signal: timer.signal }).catch(() => false);
    const isLate = await Promise.race([storing.then(() => false), late]);
    timer.abort();
    if (!isLate) return;
    storing.catch(() => undefined);
    this.#options.logger.error(
      { deadlineMs },
      'stop: the database did not take everything in time; the next start replays the rest from the packet log',
    );
    await this.abandon();
  }

  async #storeAll(): Promise<void> {
    const { log, pool, blocks, rows } = this.#stores;
    await log.close();
    if (log.lost !== null) return await this.abandon();
    while (this.#pipeline.isHanding) await sleep(2);
    await pool.settle();
    await pool.idleFlush(0); // the last beats, in case the device never returns; if it does, they are computed again
    await pool.close();
    await blocks.flush();
    await rows.flush();
    await this.checkpoint().catch(() => undefined);
    await rows.close();
    await blocks.close();
  }

  /** Ends all parts without storing anything: a start replays the log, or another instance owns it. */
  async abandon(): Promise<void> {
    this.#mode = 'abandoned';
    this.#checkpoints.abandon();
    const { log, pool, blocks, rows } = this.#stores;
    await Promise.all([blocks.abandon(), rows.abandon(), pool.close(), log.close()]);
  }
}

function packetLogDetail(trouble: PacketLog['trouble'], queueBytes: number): string {
  if (trouble === null) return `${queueBytes} bytes waiting`;
  const what = trouble.noRoom ? 'has no room on its disk and has' : 'has';
  return `degraded: the database ${what} taken nothing for ${Math.round(trouble.ms / 1000)} s; devices are answered 503`;
}

/** Opens the packet log and replays it. @returns the pipeline, ready for packets */
export async function startPipeline(options: PipelineOptions): Promise<RunningPipeline> {
  const { config, database, ownership, logger, metrics } = options;
  const registry = new StreamRegistry(database, ownership.fence.writing(database));
  const log = await PacketLog.open(database, registry, {
    ownership,
    queueBytesMax: config.packetLogQueueBytesMax,
    lingerMs: config.packetLogLingerMs,
    calmLingerMs: config.packetLogCalmLingerMs,
    onRetry: onceAnOutage((err) => logger.warn({ err }, 'packet log: it is tried again')),
    onAway: (err) => {
      metrics.degraded.set(err === null ? 0 : 1);
      if (err === null) logger.warn({}, 'packet log: the database is back');
      else logger.error({ err }, 'packet log: the database takes nothing; devices are answered 503 until it does');
    },
    onFault: (message, err) => {
      if (err !== null) metrics.errors.inc({ where: 'packet_log' });
      logger.warn(err === null ? {} : { err }, message);
    },
    onRefused: (refused) => {
      for (const { streamIds, why: err } of refused)
        pipeline.sayOnce({ err, streamIds }, 'packet log: a checkpoint could not save the numbers of streams; the next one tries again');
    },
  });
  const pipeline = new RunningPipeline(options, registry, log);
  try {
    const startedMs = performance.now();
    const taken = ownership.ended.then((why) => Promise.reject(new PipelineError('conflict', why)));
    const count = await Promise.race([pipeline.recover(), taken]);
    if (count > 0)
      logger.info(
        { count, ms: Math.round(performance.now() - startedMs) },
        'packet log: replayed what was acknowledged before the last stop',
      );
    await pipeline.checkpoint();
    return pipeline;
  } catch (error) {
    await pipeline.abandon();
    throw error;
  }
}
