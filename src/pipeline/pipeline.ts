/** What happens to an admitted packet: show, keep, compute. The only place where ingest, storage, DSP and live meet.
 *
 *  accept: the packet goes to the packet log (and to the viewers at once: a frame is no promise). When its group is committed the device is
 *  answered, and the samples go to the block writer and to the feature pool. Beats and features come back, are stored and shown.
 *  A start replays what was acknowledged and is not in the tables yet; streams that were being computed go on from their last rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { FeatureOutput } from '../dsp/rows/feature-rows.ts';
import { FeaturePool } from '../dsp/pool/pool.ts';
import { reachAheadSec } from '../dsp/kernels/segment-grid.ts';
import { beatMethods, featureMethods } from '../dsp/rows/methods.ts';
import { isRejected, PipelineError, rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { admitPacket } from '../ingest/admit.ts';
import { IngestSockets } from '../ingest/ingest-socket.ts';
import { Ingest } from '../ingest/ingest.ts';
import type { Conflict } from '../ingest/ingest.ts';
import { postRawPacket } from '../ingest/post-raw-packet.ts';
import { Session } from '../ingest/session.ts';
import type { Admitted, PacketSink, StreamRecord, StreamRequest } from '../ingest/sink.ts';
import { OFF_MS_MAX } from '../live/frame-clock.ts';
import { Hub } from '../live/hub.ts';
import { liveSocketRoute } from '../live/live-socket.ts';
import type { LiveSocketOptions } from '../live/live-socket.ts';
import type { Metrics } from '../metrics.ts';
import { decodeOldPacket, decodePacket, widestPacketLimits } from '../proto/packet-codec.ts';
import type { DecodedPacket } from '../proto/packet-codec.ts';
import { gridTimeNs } from '../signal.ts';
import type { ChannelConfig, ChannelNo, ClockFit, ProjectId, SampleRun, Spo2Calibration, StreamId, SubjectId } from '../signal.ts';
import type { BlockRun } from '../storage/block-codec.ts';
import { BlockWriter } from '../storage/block-writer.ts';
import { DerivedWriter } from '../storage/derived-writer.ts';
import type { Database } from '../storage/database/database.ts';
import type { Damage, LogEntry } from '../storage/log-batch.ts';
import { isNotOwner } from '../storage/ownership.ts';
import type { Ownership } from '../storage/ownership.ts';
import { PacketHashes } from '../storage/packet-hashes.ts';
import { PacketLog } from '../storage/packet-log.ts';
import type { LogBatch } from '../storage/packet-log.ts';
import { Coalesce } from '../storage/database/coalesce.ts';
import { readExpiring } from '../storage/retention.ts';
import { resumePoints, unfinishedStreams } from '../storage/resume-point.ts';
import type { ResumePoint } from '../storage/resume-point.ts';
import { replayRows } from '../storage/letter-replay.ts';
import { forgetLetter, keepLetter, lettersToReplay, putAside, reasonOf, setAsideKinds } from '../storage/set-aside.ts';
import type { Letter, LetterToReplay } from '../storage/set-aside.ts';
import type { DamagedRow } from '../storage/sample-rows.ts';
import { failureOf } from '../storage/database/sql-states.ts';
import { StreamRegistry } from '../storage/stream-registry.ts';
import type { FoundStream, OpenedStream } from '../storage/stream-registry.ts';
import type { Write } from '../storage/database/transaction.ts';

/** How often what is safe in the tables is noted, so that a start need not replay it. */
const CHECKPOINT_MS = 2000;
/** What devices are told to wait while the database is away, s. */
const AWAY_RETRY_SEC = 3;
const HUB_TICK_MS = 10;
const SECOND_MS = 1000;
const FLOWING_MS = 10_000;
/** What is owed of a stream that is being closed is waited for this long; then it stays open until nothing is owed. */
const CLOSE_MS = 5000;
/** At start, streams that ended this long before the newest packet are looked at for values that were not computed. */
const UNFINISHED_HOURS = 1;
/** Rows depend on samples at most this much later, see reachAheadSec of src/dsp/kernels/segment-grid.ts. */
const LOOK_AHEAD_NS = BigInt(reachAheadSec) * 1_000_000_000n;
/** Values older than this are history and not shown as live. */
const LIVE_FEATURE_MS_MAX = 60_000;
const LIVE_FEATURE_NS_MAX = BigInt(LIVE_FEATURE_MS_MAX) * 1_000_000n;
/** The shortest time that a table can be kept, see sql/000007-retention.sql. */
const RETENTION_NS_MIN = 3_600_000_000_000n;
/** Kinds of refusals that are remembered as said: a device that is refused again and again is one line of the log. */
const SAID_MAX = 1000;
const STREAM_ID_MAX = 2_147_483_647;

export type PipelineLogger = Readonly<{ info: Say; warn: Say; error: Say }>;
type Say = (fields: object, message: string) => void;

export type PipelineOptions = Readonly<{
  config: Config;
  /** Acts as the ingest role: the log, streams, samples. */
  database: Database;
  /** Acts as the worker role: what is derived and reported. */
  derived: Database;
  /** Of the packet log. */
  ownership: Ownership;
  metrics: Metrics;
  logger: PipelineLogger;
  resolveSubject: LiveSocketOptions['resolveSubject'];
  /** Called when packets were refused because others have their numbers, at most once per stream and minute. */
  onConflict?: (conflict: Conflict) => void;
  watched?: LiveSocketOptions['watched'];
}>;

/** What the server gives once it listens. */
export type PipelineHost = Readonly<{
  publish: (topic: string, bytes: Uint8Array, isBinary: boolean) => void;
  ticks: Readonly<{ every: (periodMs: number, run: () => void) => () => void }>;
}>;

/** [from, to), device ns. */
type Span = Readonly<{ fromNs: bigint; toNs: bigint }>;

type ReadBack = {
  /** The channels that earlier values were computed with; null: there are none. */
  readonly channels: readonly ChannelConfig[] | null;
  /** Computed again, or for the first time; null: no samples. Rows of before may lie up to rowsToNs. */
  span: (Span & Readonly<{ rowsToNs?: bigint }>) | null;
  /** Samples that came too late for values before that. */
  late: Span | null;
};

/** What is remembered of a stream that is open here. */
type Stream = {
  readonly id: StreamId;
  readonly epochNs: bigint;
  readonly subjectId: SubjectId;
  channels: readonly ChannelConfig[];
  readonly spo2: Spo2Calibration | null;
  /** nano-hertz by ChannelNo. */
  rates: number[];
  /** Channel configurations that are in the database; a packet with a newer one waits for it. */
  savedCount: number;
  saving: Promise<void> | null;
  /** Device ns of the newest durable sample. */
  headDeviceNs: bigint;
  /** Device ns of the oldest sample, measurement or event since the stream was opened here; null: none yet. */
  tailDeviceNs: bigint | null;
  /** Durable samples that the feature pool had no room for: [from, to) device ns. */
  owed: Span | null;
  /** Rows before it had been computed when the stream was opened here, device ns; 0 for a new one. */
  computedNs: bigint;
  /** While the log is replayed: what the feature pool will read back of the stream when that is done. */
  readBack: ReadBack | null;
  /** Recomputed ranges that are not stored yet. */
  replacing: number;
  /** When a packet last came, ms of the monotonic clock. */
  lastMs: number;
};

type Taken = Readonly<{ stream: Stream; admitted: Admitted }>;

/** A packet of the log, and why today's decoder would refuse it; null: it would not. Then its text is cleaned. */
type OldPacket = Readonly<{ packet: DecodedPacket; refused: Rejected | null }>;
type LoggedPacket = LogEntry & Readonly<{ position: number; packet: OldPacket }>;
/** What a recovery knows of the streams that it meets. */
type Recovery = Readonly<{
  streams: Map<StreamId, FoundStream | null>;
  resumePoints: Map<StreamId, Promise<ResumePoint | null>>;
  sessions: Map<StreamId, Session>;
}>;
type Refusal = Pick<Letter, 'reason' | 'sqlState'>;

export class Pipeline implements PacketSink {
  readonly #options: PipelineOptions;
  readonly #registry: StreamRegistry;
  readonly #log: PacketLog;
  readonly #hashes: PacketHashes;
  readonly #write: Write;
  readonly #blocks: BlockWriter;
  readonly #rows: DerivedWriter;
  /** Streams with samples that came too late for what was computed, and the log position of the first of them: they are replayed at a start
   *  until the rows that they touch are stored. */
  readonly #dirty = new Map<StreamId, number>();
  /** Packets whose reported rows are not stored yet, by log position: those of one batch share it. */
  readonly #reporting = new Map<number, number>();
  readonly #pool: FeaturePool;
  readonly #hub: Hub;
  readonly #streams = new Map<StreamId, Stream>();
  /** Streams that are being closed. */
  readonly #closing = new Map<StreamId, Promise<void>>();
  /** Streams that could not be closed yet, and whose device has not come back. */
  readonly #unclosed = new Set<StreamId>();
  /** Who is being erased. */
  readonly #erasing = new Set<SubjectId>();
  /** Asked once per stream; a consent that is withdrawn ends the sessions of its person (forgetSubject). */
  readonly #mayRecord: Coalesce<SubjectId, boolean>;
  readonly #resumePoints: Coalesce<Readonly<{ streamId: StreamId; epochNs: bigint }>, ResumePoint | null>;
  readonly ingest: Ingest;
  readonly #sockets: IngestSockets;
  #host: PipelineHost | null = null;
  /** The group commit that is filling, and what travels in it. */
  #batch: LogBatch | null = null;
  #taken: Taken[] = [];
  /** Everything up to this group was handed to the block writer. */
  #handedPosition: number;
  /** Groups that are durable and still being handed on. */
  #handing = 0;
  #poolFull = false;
  #checkpointing: Promise<void> | null = null;
  /** Begins when that one is done. */
  #nextCheckpoint: Promise<void> | null = null;
  readonly #timers: NodeJS.Timeout[] = [];
  #setAsideCount = 0;
  readonly #said = new Set<string>();
  #stopped = false;
  /** Told to end without what is not stored yet: the checkpoint stays where it is. */
  #abandoned = false;

  constructor(options: PipelineOptions, registry: StreamRegistry, log: PacketLog) {
    const { config, database, derived, ownership, metrics, logger } = options;
    this.#options = options;
    this.#registry = registry;
    this.#log = log;
    this.#write = ownership.writing(database);
    this.#hashes = new PacketHashes(database, {
      write: this.#write,
      onRefused: (streamIds, err) => this.sayOnce({ err, streamIds }, 'packet hashes: rows were refused; their packets cannot be compared'),
    });
    this.#handedPosition = log.durablePosition;
    const onFault = (message: string, cause: unknown): void => {
      if (isNotOwner(cause)) ownership.lose(); // no writer of this instance stores anything any more
      metrics.errors.inc({ where: 'pipeline' });
      logger.warn({ err: cause }, message);
    };
    const onSetAside = (letters: readonly Letter[]): void => this.#noteSetAside(letters);
    for (const kind of setAsideKinds) metrics.setAside.inc({ kind }, 0);
    this.#blocks = new BlockWriter(ownership.fenced(database), {
      queueBytesMax: config.blockQueueBytesMax,
      onFault,
      onSetAside,
      onDamaged: (rows) => void this.#noteDamaged(rows),
    });
    this.#rows = new DerivedWriter(ownership.fenced(derived), {
      currentMethods: [...Object.values(beatMethods).map((method) => method.code), ...featureMethods.map((method) => method.code)],
      cadences: Object.fromEntries(featureMethods.map(({ feature, cadenceSec }) => [feature, 1 / cadenceSec])),
      onFault,
      onSetAside,
    });
    this.#hub = new Hub(config, (topic, bytes) => this.#host?.publish(topic, bytes, true), metrics);
    this.#pool = new FeaturePool({
      workerCount: config.dspWorkers,
      queueBytesMax: config.dspQueueBytesMax,
      taskTimeoutMs: config.dspTaskTimeoutMs,
      idleFlushMs: config.dspIdleFlushMs,
      onOutput: (output) => this.#takeOutput(output),
      loadRuns: (streamId, channelNo, fromNs, toNs) => this.loadRuns(streamId, channelNo, fromNs, toNs),
      onQuarantine: ({ streamId, runs, reason }) => {
        metrics.quarantined.inc();
        if (runs.length === 0) logger.error({ streamId, reason }, 'dsp: a stream is not computed; its samples stay stored');
        else
          logger.error(
            { streamId, reason, samples: runs.map(({ channelNo, k0, samples }) => ({ channelNo, fromK: k0, toK: k0 + samples.length })) },
            'dsp: samples that stopped a worker three times were left out; they stay stored',
          );
      },
      onFault,
    });
    this.#mayRecord = new Coalesce((subjectIds) => this.#whoMayBeRecorded(subjectIds));
    this.#resumePoints = new Coalesce((streams) => resumePoints(options.derived, streams), 64);
    this.ingest = new Ingest(this, config, metrics, {
      onFault: (message, err) => logger.warn({ err }, `ingest: ${message}`),
      ...(options.onConflict === undefined ? {} : { onConflict: options.onConflict }),
    });
    this.#sockets = new IngestSockets(this.ingest);
  }

  get routes() {
    return [postRawPacket(this.ingest)];
  }

  get sockets() {
    const { config, metrics, resolveSubject, watched } = this.#options;
    const countViewers = (delta: 1 | -1): void => metrics.viewers.inc(delta);
    return [
      this.#sockets.route(),
      liveSocketRoute({
        hub: this.#hub,
        viewerQueueBytesMax: config.viewerQueueBytesMax,
        socketsMax: { user: config.userLiveSocketsMax, key: config.keyLiveSocketsMax },
        resolveSubject,
        watched,
        countViewers,
      }),
    ];
  }

  /** The server listens: frames have somewhere to go. */
  attach(host: PipelineHost): void {
    this.#host = host;
    // job: frames: sends live frames that wait for a channel when their deadline comes, every 10 ms
    host.ticks.every(HUB_TICK_MS, () => this.#hub.tick(performance.now()));
    // job: every-second: closes idle recordings, pays what is owed to the workers, says how long the queues are
    host.ticks.every(SECOND_MS, () => this.#everySecond());
    // job: checkpoint: notes up to where the packet log is in the tables, every 2 s
    this.#timers.push(setInterval(() => void this.#checkpointOrSay(), CHECKPOINT_MS));
  }

  // ------------------------------------------------------------------------------------------------ a stream begins and ends

  async openStream(request: StreamRequest): Promise<StreamRecord | Rejected> {
    const { caller, deviceId, bootId, firmware, epochNs, timeSource, receivedNs } = request;
    if (caller.kind !== 'key' && caller.kind !== 'user') return rejected('credential_kind', 'a device sends with a key or a user token');
    const orgId = caller.orgId as StreamRecord['orgId'];
    const own = caller.kind === 'user' ? caller.subjectId : '';
    const wanted = request.subject === '' ? own : request.subject;
    const projectId = caller.projectId as ProjectId | null;
    const subject = await this.#registry.resolveSubject({ orgId, projectId, subject: wanted, deviceId });
    if (isRejected(subject)) return subject;
    if (caller.kind === 'user' && subject.subjectId !== caller.subjectId) return rejected('not_found', 'no such subject');
    if (!(await this.#mayRecord.call(subject.subjectId))) return rejected('consent_missing', 'the person has not consented to recording');
    const opened = await this.#registry.openStream({ ...subject, deviceId, bootId, firmware, epochNs, timeSource, receivedNs });
    if (isRejected(opened)) return opened;
    await this.#remember(opened);
    // Retention is counted in days: what is measured now is not asked about.
    const isOld = opened.epochNs + request.endDeviceNs < receivedNs - RETENTION_NS_MIN;
    const expiring = isOld ? await readExpiring(this.#options.database.pool, subject.projectId) : [];
    return { ...opened, expiring };
  }

  async #whoMayBeRecorded(subjectIds: readonly SubjectId[]): Promise<readonly boolean[]> {
    const { rows } = await this.#options.database.pool.query<{ missing: string[] }>(
      'select missing_consents(id) as missing from unnest($1::uuid[]) with ordinality as asked (id, i) order by i',
      [subjectIds],
    );
    return rows.map(({ missing }) => !missing.includes('recording'));
  }

  /** Opens a stream here: its features go on after the last ones stored. */
  async #remember(opened: OpenedStream): Promise<Stream> {
    await this.#closing.get(opened.streamId)?.catch(() => undefined);
    const known = this.#streams.get(opened.streamId);
    if (known !== undefined) {
      this.#unclosed.delete(known.id);
      return known;
    }
    const { streamId, channels, spo2 } = opened;
    const resume = await this.#resumePoint(opened);
    const stream = this.#enter(opened, resume);
    if (resume === null) this.#pool.openStream(streamId, channels, undefined, spo2);
    else {
      this.#pool.openStream(streamId, channels, resume, spo2);
      this.#options.metrics.recomputes.inc({ reason: 'resume' });
    }
    return stream;
  }

  async #resumePoint({ streamId, epochNs, existed }: OpenedStream): Promise<ResumePoint | null> {
    return existed ? await this.#resumePoints.call({ streamId, epochNs }) : null;
  }

  #enter({ streamId, epochNs, subjectId, channels, spo2 }: OpenedStream, resume: ResumePoint | null): Stream {
    const stream: Stream = {
      id: streamId,
      epochNs,
      subjectId,
      channels,
      spo2,
      rates: channels.map((channel) => channel.rateNanoHz),
      savedCount: channels.length,
      saving: null,
      headDeviceNs: resume?.toNs ?? -1n,
      tailDeviceNs: null,
      owed: null,
      computedNs: resume?.fromNs ?? 0n,
      readBack: null,
      replacing: 0,
      lastMs: -Infinity,
    };
    this.#streams.set(streamId, stream);
    return stream;
  }

  async closeStream({ streamId }: Session): Promise<void> {
    await this.#close(streamId);
  }

  /** Calls at the same time share one. */
  #close(streamId: StreamId): Promise<void> {
    let closing = this.#closing.get(streamId);
    if (closing === undefined) {
      closing = this.#closeNow(streamId).finally(() => this.#closing.delete(streamId));
      this.#closing.set(streamId, closing);
    }
    return closing;
  }

  async #closeNow(streamId: StreamId): Promise<void> {
    await this.#batch?.durable.catch(() => undefined); // its last packets may be in it
    this.#unclosed.delete(streamId);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (this.#erasing.has(stream.subjectId)) this.#stopComputing(stream);
    const deadlineMs = performance.now() + CLOSE_MS;
    await this.#untilPaid(stream, deadlineMs);
    if (stream.owed !== null || !(await this.#pool.closeStream(streamId, deadlineMs))) {
      this.#unclosed.add(streamId);
      return;
    }
    await this.#blocks.closeStream(streamId); // if the same boot goes on, it goes on after the last sample stored
    await this.#rows.flush();
    this.#streams.delete(streamId);
    await this.checkpoint();
    this.#registry.closeStream(streamId);
  }

  #stopComputing(stream: Stream): void {
    stream.owed = null;
    this.#pool.stopComputing(stream.id);
  }

  /** Closes what could not be closed before, once nothing is owed of it. */
  #closeLate(): void {
    for (const streamId of this.#unclosed) {
      const stream = this.#streams.get(streamId);
      if (stream === undefined || this.#isComputed(stream)) void this.#close(streamId).catch(() => undefined);
    }
  }

  /** Whose packets are taken, or who is watched. */
  openSubjects(): readonly SubjectId[] {
    const recorded = Array.from(this.ingest.sessions.values(), (session) => session.subjectId);
    return [...new Set([...recorded, ...this.#hub.subjects()])];
  }

  /** Ends what is live of a user who is being erased: viewers are closed, streams are stored and forgotten. Call it when the user can no
   *  longer be resolved (disabled) and before the rows are deleted; a device's next packet then asks whom it is for, and is refused.
   *  Values that are still to be computed are not waited for.
   *  @returns when nothing of the user is on its way to the tables any more */
  async eraseSubject(subjectId: SubjectId): Promise<void> {
    this.#erasing.add(subjectId);
    try {
      for (const stream of this.#streams.values()) if (stream.subjectId === subjectId) this.#stopComputing(stream);
      await this.forgetSubject(subjectId);
    } finally {
      this.#erasing.delete(subjectId);
    }
  }

  /** Ends what is live of a user whose packets are not taken any more.
   *  @returns when their streams are stored; what cannot be computed now is computed later */
  async forgetSubject(subjectId: SubjectId, code: 'not_found' | 'unavailable' = 'not_found'): Promise<void> {
    this.#hub.closeSubject(subjectId, code);
    await this.ingest.sessions.drop((session) => session.subjectId === subjectId);
    // Those of the replay whose devices have not come back have no session.
    const left = [...this.#streams.values()].filter((stream) => stream.subjectId === subjectId);
    await Promise.all(left.map(({ id }) => this.#close(id)));
  }

  // ------------------------------------------------------------------------------------------------ a packet

  accept(session: Session, admitted: Admitted, bytes: Uint8Array): Promise<void> | 'busy' {
    if (this.#log.lost !== null) throw new PipelineError('unavailable', `Nothing was kept: ${this.#log.lost}.`, { retryAfterSec: 1 });
    if (this.#log.awayMs > 0)
      throw new PipelineError('unavailable', 'The database is away; nothing was kept.', { retryAfterSec: AWAY_RETRY_SEC });
    if (this.#stopped || this.#poolFull || this.#blocks.full || this.#rows.full) return 'busy';
    const stream = this.#streams.get(session.streamId);
    if (stream === undefined) return 'busy'; // being closed: the session is opened again by the next try
    const batch = this.#log.append({ streamId: stream.id, seq: admitted.seq, receivedNs: admitted.receivedNs, bytes });
    if (batch === 'busy') return 'busy';
    if (session.channels.length > stream.channels.length) this.#addChannels(stream, session.channels);
    if (this.#batch !== batch) this.#follow(batch);
    this.#taken.push({ stream, admitted });
    stream.lastMs = performance.now();
    this.#hub.push(session, admitted.runs);
    return stream.savedCount < stream.channels.length ? this.#durableWithChannels(stream, batch) : batch.durable;
  }

  hurry(): void {
    this.#log.hurry();
  }

  noteClock(streamId: StreamId, fit: ClockFit): void {
    this.#registry.noteClock(streamId, fit);
  }

  packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array> {
    return this.#hashes.find(streamId, firstSeq, count);
  }

  #addChannels(stream: Stream, channels: readonly ChannelConfig[]): void {
    stream.channels = [...channels];
    stream.rates = channels.map((channel) => channel.rateNanoHz);
    if (stream.readBack === null) this.#pool.openStream(stream.id, stream.channels, undefined, stream.spo2);
  }

  /** Samples mean nothing without their channel's gain and rate: acknowledged when both are durable. */
  async #durableWithChannels(stream: Stream, batch: LogBatch): Promise<void> {
    try {
      await Promise.all([batch.durable, this.#saveChannels(stream)]);
    } catch (error) {
      if (failureOf(error) !== 'bad_row') throw error;
      throw new PipelineError('packet_invalid', `a channel cannot be stored: ${(error as Error).message}`, { cause: error });
    }
  }

  async #saveChannels(stream: Stream): Promise<void> {
    while (stream.savedCount < stream.channels.length) {
      const from = stream.savedCount;
      const { channels } = stream;
      stream.saving ??= this.#registry
        .addChannels(stream.id, from, channels.slice(from))
        .then(() => void (stream.savedCount = channels.length))
        .finally(() => (stream.saving = null));
      await stream.saving;
    }
  }

  /** A new group commit: when it is durable, what travelled in it goes on together. */
  #follow(batch: LogBatch): void {
    const taken: Taken[] = [];
    this.#batch = batch;
    this.#taken = taken;
    this.#handing += 1;
    batch.durable
      .then(
        () => this.#hand(taken, batch.position),
        () => undefined, // nothing was kept; ingest has told the devices
      )
      .finally(() => (this.#handing -= 1));
  }

  #hand(taken: readonly Taken[], position: number): void {
    const { metrics } = this.#options;
    let sampleCount = 0;
    for (const { stream, admitted } of taken) {
      const { runs } = admitted;
      this.#hashes.note(stream.id, admitted.seq, admitted.contentHash);
      if (runs.length > 0) {
        this.#blocks.push(stream.id, stream.epochNs, stream.rates, runs, position);
        this.#compute(stream, runs, admitted);
        if (!this.#dirty.has(stream.id) && !this.#isComputed(stream)) this.#dirty.set(stream.id, position);
        for (const run of runs) sampleCount += run.samples.length;
      }
      this.#noteRecorded(stream, admitted);
      if (admitted.measurements.length > 0 || admitted.events.length > 0) this.#report(stream, admitted, position);
    }
    this.#handedPosition = position;
    metrics.samples.inc(sampleCount);
  }

  #noteRecorded(stream: Stream, admitted: Admitted): void {
    const { t0DeviceNs, endDeviceNs } = admitted;
    const isNewer = endDeviceNs > stream.headDeviceNs;
    if (isNewer) stream.headDeviceNs = endDeviceNs;
    const isOlder = stream.tailDeviceNs === null || t0DeviceNs < stream.tailDeviceNs;
    const firstNs = isOlder ? oldestOf(admitted, stream.rates) : null;
    if (firstNs !== null && (stream.tailDeviceNs === null || firstNs < stream.tailDeviceNs)) stream.tailDeviceNs = firstNs;
    else if (!isNewer) return;
    const { epochNs, tailDeviceNs } = stream;
    if (tailDeviceNs !== null) this.#registry.noteRecorded(stream.id, epochNs + tailDeviceNs, epochNs + endDeviceNs);
  }

  /** What the device says beside samples. */
  #report(stream: Stream, admitted: Admitted, position: number): void {
    const { id: streamId, subjectId } = stream;
    const { seq } = admitted;
    const tsNs = (offsetNs: number): bigint => stream.epochNs + admitted.t0DeviceNs + BigInt(Math.round(offsetNs));
    const measurements = admitted.measurements.map(({ code, tOffsetNs, value, unit, quality }, index) => {
      return { streamId, subjectId, seq, index, code, tsNs: tsNs(tOffsetNs), value, unit, quality };
    });
    const events = admitted.events.map(({ code, tOffsetNs, text }, index) => ({ streamId, seq, index, code, tsNs: tsNs(tOffsetNs), text }));
    this.#reporting.set(position, (this.#reporting.get(position) ?? 0) + 1);
    void this.#rows.addReported(measurements, events, position).then(() => {
      const left = this.#reporting.get(position)! - 1;
      if (left === 0) this.#reporting.delete(position);
      else this.#reporting.set(position, left);
    });
  }

  /** A full pool costs freshness, never a value: what it did not take is computed from the tables later. */
  #compute(stream: Stream, runs: readonly SampleRun[], span: Readonly<{ t0DeviceNs: bigint; endDeviceNs: bigint }>): void {
    if (this.#streams.get(stream.id) !== stream) return;
    if (stream.readBack !== null) return noteReplayed(stream, stream.readBack, runs);
    if (this.#pool.push(stream.id, runs) === 'accepted') return;
    this.#poolFull = true;
    owe(stream, span.t0DeviceNs, span.endDeviceNs);
  }

  /** Are the rows that the stream's samples touch out or on their way, as far as they can be without reading samples back? */
  #isComputed(stream: Stream): boolean {
    return stream.readBack === null && stream.owed === null && stream.replacing === 0 && this.#pool.isSettled(stream.id);
  }

  // ------------------------------------------------------------------------------------------------ what was computed

  #takeOutput(output: FeatureOutput): void {
    const stream = this.#streams.get(output.streamId);
    if (stream === undefined) return;
    const { metrics } = this.#options;
    const stored = this.#rows.add(output, stream.epochNs);
    if (output.replaces !== null) {
      stream.replacing += 1;
      void stored.finally(() => (stream.replacing -= 1));
    }
    metrics.beats.inc(output.beats.length);
    metrics.features.inc(output.features.length);
    if (!this.#hub.watched(stream.subjectId) || output.features.length === 0 || isHistory(stream)) return;
    const fresh = output.features.filter((row) => row.tNs > stream.headDeviceNs - LIVE_FEATURE_NS_MAX);
    const rows = fresh.map((row) => ({ name: row.feature, tsNs: stream.epochNs + row.tNs, value: row.value, qmask: row.qmask }));
    this.#hub.features(stream.subjectId, rows);
  }

  /** What is acknowledged of a channel and not yet stored; so a query sees a packet as soon as its device is answered. */
  recentRuns(streamId: number, channelNo: number, fromNs: bigint, toNs: bigint): readonly BlockRun[] {
    return this.#blocks.recentRuns(streamId as StreamId, channelNo as ChannelNo, fromNs, toNs);
  }

  /** Everything accepted of a channel, stored or not. */
  async loadRuns(streamId: StreamId, channelNo: ChannelNo, fromNs: bigint, toNs: bigint): Promise<readonly SampleRun[]> {
    const stream = this.#streams.get(streamId) ?? (await this.#registry.findStream(streamId));
    const rateNanoHz = stream?.channels[channelNo]?.rateNanoHz;
    if (stream === null || rateNanoHz === undefined) return [];
    const runs = await this.#blocks.loadRuns(streamId, channelNo, stream.epochNs, rateNanoHz, fromNs, toNs);
    return runs.map((run) => ({ channelNo, k0: run.k0, samples: run.samples, qmask: run.qmask }));
  }

  // ------------------------------------------------------------------------------------------------ from time to time

  #everySecond(): void {
    const { metrics, config } = this.#options;
    this.ingest.sweep();
    const { queueBytes } = this.#pool.stats();
    if (this.#poolFull && queueBytes < config.dspQueueBytesMax / 2) this.#poolFull = false;
    if (!this.#poolFull) for (const stream of this.#streams.values()) if (stream.owed !== null) void this.#payOwed(stream);
    this.#closeLate();
    metrics.openStreams.set(this.#streams.size);
    metrics.queueBytes.set({ queue: 'packet_log' }, this.#log.queueBytes);
    metrics.queueBytes.set({ queue: 'blocks' }, this.#blocks.queueBytes);
    metrics.queueBytes.set({ queue: 'dsp' }, queueBytes);
    metrics.queueBytes.set({ queue: 'rows' }, this.#rows.queueBytes);
  }

  /** Never rejects: what could not be computed stays owed. */
  async #payOwed(stream: Stream): Promise<void> {
    const { owed } = stream;
    if (owed === null) return;
    stream.owed = null;
    this.#options.metrics.recomputes.inc({ reason: 'late' });
    try {
      await this.#pool.recompute(stream.id, owed.fromNs, owed.toNs);
    } catch (err) {
      if (this.#erasing.has(stream.subjectId)) return;
      owe(stream, owed.fromNs, owed.toNs);
      this.#options.logger.warn({ err, streamId: stream.id }, 'dsp: an owed range could not be computed; it will be tried again');
    }
  }

  /** Until nothing is owed of a stream that is about to be forgotten; one that is left as it is pays with everybody. */
  async #untilPaid(stream: Stream, deadlineMs: number): Promise<void> {
    while (stream.owed !== null && !this.#stopped && performance.now() < deadlineMs) {
      void this.#payOwed(stream);
      await sleep(SECOND_MS);
    }
  }

  /** The database being away is said by others. */
  async #checkpointOrSay(): Promise<void> {
    try {
      await this.checkpoint();
    } catch (err) {
      if (failureOf(err) === 'try_again') return;
      this.sayOnce({ err }, 'packet log: the checkpoint cannot be saved; everything since then is replayed at the next start');
    }
  }

  /** Notes what need not be replayed any more. Those who ask while one is under way share the next: a fleet that goes idle together. */
  checkpoint(): Promise<void> {
    this.#nextCheckpoint ??= this.#checkpointAfter(this.#checkpointing);
    return this.#nextCheckpoint;
  }

  async #checkpointAfter(before: Promise<void> | null): Promise<void> {
    await before?.catch(() => undefined);
    this.#checkpointing = this.#nextCheckpoint;
    this.#nextCheckpoint = null;
    try {
      await this.#saveCheckpoint();
    } finally {
      this.#checkpointing = null;
    }
  }

  async #saveCheckpoint(): Promise<void> {
    if (this.#abandoned) return; // perhaps meanwhile: the writers have forgotten what they did not store
    let position = Math.min(this.#handedPosition, this.#blocks.safePosition());
    for (const waiting of this.#reporting.keys()) position = Math.min(position, waiting - 1);
    for (const [streamId, waiting] of this.#dirty) {
      const stream = this.#streams.get(streamId);
      if (stream === undefined || this.#isComputed(stream)) this.#dirty.delete(streamId);
      else position = Math.min(position, waiting - 1);
    }
    await this.#saveHashes(); // first: what is behind the checkpoint is not replayed
    if (!this.#abandoned) await this.#log.checkpoint(position);
  }

  /** A packet without its hash is stored all the same: a table that takes none of them holds up no checkpoint. */
  async #saveHashes(): Promise<void> {
    try {
      await this.#hashes.save();
    } catch (err) {
      if (isNotOwner(err) || failureOf(err) === 'try_again') throw err;
      this.sayOnce({ err }, 'packet hashes: they cannot be saved; it is tried again with every checkpoint');
    }
  }

  /** Replays what was acknowledged and is not in the tables, and what somebody asked to store again. What cannot be stored is set aside: no
   *  packet keeps the service from starting. Values are not waited for: they are computed from the samples read back, while packets are
   *  taken; until then the checkpoint stays before them. @returns packets replayed */
  async recover(): Promise<number> {
    const recovery: Recovery = { streams: new Map(), resumePoints: new Map(), sessions: new Map() };
    let count = 0;
    let position = 0;
    const entries = this.#log.recover<OldPacket>(
      (entry) => this.#readEntry(entry, recovery),
      (damage, at) => this.#setAsideDamage(damage, at, recovery),
      (streamIds) => this.#lookUp(streamIds, recovery),
    );
    for await (const entry of entries) {
      this.#mustGoOn();
      position = entry.position;
      const { refused } = entry.packet;
      const refusal =
        refused === null ? await this.#replay(entry, recovery) : { reason: `${refused.code}: ${refused.detail}`, sqlState: null };
      if (refusal === null) count += 1;
      else await this.#setAside([letterOf(entry, entry.position, refusal)]);
      if (this.#blocks.full) await this.#blocks.flush();
    }
    this.#handedPosition = Math.max(position, this.#log.durablePosition);
    for await (const letter of lettersToReplay(this.#options.database.pool)) await this.#replayLetter(letter, recovery);
    const unfinished = await unfinishedStreams(this.#options.derived, UNFINISHED_HOURS);
    await this.#lookUp(unfinished, recovery);
    for (const streamId of unfinished) {
      const found = await this.#findStream(streamId, recovery);
      if (found !== null) await this.#meet(found, recovery);
    }
    for (const stream of this.#streams.values()) this.#startReadingBack(stream);
    return count;
  }

  /** Finds many streams by a few statements. */
  async #lookUp(streamIds: readonly StreamId[], recovery: Recovery): Promise<void> {
    const asked = streamIds.filter((streamId) => streamId <= STREAM_ID_MAX && !recovery.streams.has(streamId));
    const found = await this.#registry.findStreams(asked);
    for (const streamId of asked) recovery.streams.set(streamId, found.get(streamId) ?? null);
    await Promise.all([...found.values()].map((stream) => this.#resumePointOf(stream, recovery)));
  }

  #resumePointOf(found: FoundStream, { resumePoints: known }: Recovery): Promise<ResumePoint | null> {
    let resume = known.get(found.streamId);
    if (resume === undefined) {
      resume = this.#resumePoint(found);
      known.set(found.streamId, resume);
    }
    return resume;
  }

  /** Opens a stream for the replay, without the feature pool. */
  async #meet(found: FoundStream, recovery: Recovery): Promise<Stream> {
    const known = this.#streams.get(found.streamId);
    if (known !== undefined) return known;
    const resume = await this.#resumePointOf(found, recovery);
    const stream = this.#enter(found, resume);
    stream.readBack = { channels: resume === null ? null : found.channels, span: resume, late: null };
    return stream;
  }

  /** Hands a stream of the replay to the feature pool, which reads its samples back when it comes to it. */
  #startReadingBack(stream: Stream): void {
    const { id, readBack, spo2 } = stream;
    if (readBack === null) return;
    stream.readBack = null;
    const { channels, span, late } = readBack;
    this.#pool.openStream(id, channels ?? stream.channels, span ?? undefined, spo2);
    // channels of replayed packets change earlier values, too
    this.#pool.openStream(id, stream.channels, undefined, spo2);
    if (span !== null) this.#options.metrics.recomputes.inc({ reason: 'resume' });
    if (late !== null) this.#pool.markLate(id, late.fromNs, late.toNs);
  }

  #markLate(stream: Stream, late: Span): void {
    if (stream.readBack === null) this.#pool.markLate(stream.id, late.fromNs, late.toNs);
    else stream.readBack.late = widened(stream.readBack.late, late);
  }

  /** The packet of an entry, whatever limits it was accepted under; null when it is not the one that its head names. */
  #readEntry({ bytes, seq, streamId }: LogEntry, recovery: Recovery): OldPacket | null | Promise<OldPacket | null> {
    const strict = decodePacket(bytes, widestPacketLimits);
    const packet = isRejected(strict) ? decodeOldPacket(bytes) : strict;
    if (isRejected(packet) || packet.seq !== seq) return null;
    const old = { packet, refused: isRejected(strict) ? strict : null };
    const check = (stream: FoundStream | null): OldPacket | null =>
      stream === null || (stream.deviceId === packet.deviceId && stream.bootId === packet.bootId) ? old : null;
    const stream = recovery.streams.get(streamId);
    return stream === undefined ? this.#findStream(streamId, recovery).then(check) : check(stream);
  }

  async #findStream(streamId: StreamId, recovery: Recovery): Promise<FoundStream | null> {
    let stream = recovery.streams.get(streamId);
    if (stream === undefined) {
      // what is no number of a stream is of a damaged head
      stream = streamId > STREAM_ID_MAX ? null : await this.#registry.findStream(streamId);
      recovery.streams.set(streamId, stream);
    }
    return stream;
  }

  /** Hands a packet of the log on. @returns why it cannot be stored, or null */
  async #replay({ streamId, receivedNs, position, packet: { packet } }: LoggedPacket, recovery: Recovery): Promise<Refusal | null> {
    const found = await this.#findStream(streamId, recovery);
    if (found === null) return null; // erased meanwhile
    let session = recovery.sessions.get(streamId);
    if (session === undefined) {
      session = new Session('', packet.deviceId, packet.bootId, packet.subject, { ...found, seqRanges: [], expiring: [] });
      recovery.sessions.set(streamId, session);
    }
    const stream = await this.#meet(found, recovery);
    // One session may have named the person by uuid and the next by external id: whose the stream is was settled when it was opened.
    const named = { ...packet, subject: session.subjectText };
    let admitted = admitPacket(named, session, this.ingest.admissionLimits, receivedNs);
    if (isRejected(admitted) && admitted.code === 'packet_conflict') {
      // The first one was refused although the log has it (its commit was not answered in time): the later one was acknowledged.
      session.seqs.delete(packet.seq);
      admitted = admitPacket(named, session, this.ingest.admissionLimits, receivedNs);
    }
    if (isRejected(admitted)) return { reason: `${admitted.code}: ${admitted.detail}`, sqlState: null };
    if (admitted.kind === 'duplicate') return null;
    try {
      await this.#registry.addChannels(streamId, session.channels.length, admitted.newChannels);
    } catch (error) {
      if (failureOf(error) !== 'bad_row') throw error;
      return reasonOf(error);
    }
    session.apply(admitted);
    if (session.channels.length > stream.channels.length) {
      this.#addChannels(stream, session.channels);
      stream.savedCount = session.channels.length;
    }
    this.#hand([{ stream, admitted }], position);
    // rows from computedNs on are computed again from everything stored; those before it look ahead a little
    const { computedNs } = stream;
    if (admitted.runs.length > 0 && computedNs > 0n && admitted.t0DeviceNs < computedNs + LOOK_AHEAD_NS)
      this.#markLate(stream, { fromNs: admitted.t0DeviceNs, toNs: admitted.endDeviceNs });
    return null;
  }

  /** Stores a letter again, and waits for it: a letter goes when its rows are in the tables. */
  async #replayLetter(letter: LetterToReplay, recovery: Recovery): Promise<void> {
    const refusal = await this.#tryLetter(letter, recovery);
    await this.#blocks.flush();
    await this.#rows.flush();
    this.#mustGoOn(); // writers that were abandoned say that they are done
    await this.#write((client) => (refusal === null ? forgetLetter(client, letter.id) : keepLetter(client, letter.id, refusal)));
    this.#options.logger.info({ id: letter.id.toString(), kind: letter.kind, refused: refusal?.reason ?? null }, 'set aside: tried again');
  }

  async #tryLetter(letter: LetterToReplay, recovery: Recovery): Promise<Refusal | null> {
    const { kind, streamId, bytes } = letter;
    const stream = streamId === null ? null : await this.#findStream(streamId, recovery);
    if (stream === null) return { reason: 'whose it is is not known: it cannot be stored', sqlState: null };
    const position = this.#log.durablePosition;
    try {
      if (kind !== 'packet') {
        await replayRows(letter, stream, { blocks: this.#blocks, rows: this.#rows }, position);
        return null;
      }
      const { seq, receivedNs } = letter.content as { seq: number; receivedNs: string };
      const entry = { streamId: stream.streamId, seq, receivedNs: BigInt(receivedNs), bytes: bytes! };
      const packet = await this.#readEntry(entry, recovery);
      if (packet === null) return { reason: 'no packet of this stream can be read from its bytes', sqlState: null };
      return await this.#replay({ ...entry, position, packet }, recovery);
    } catch (error) {
      if (failureOf(error) === 'try_again') throw error;
      return reasonOf(error);
    }
  }

  async #setAsideDamage({ bytes, at, entry }: Damage, position: number, recovery: Recovery): Promise<void> {
    const refusal = { reason: `no packet can be read at byte ${at} of the batch`, sqlState: null };
    // A packet that can be read does not agree with its head: then the head is damaged, and whose it is is not known.
    const stream = entry === null || !isRejected(decodeOldPacket(entry.bytes)) ? null : await this.#findStream(entry.streamId, recovery);
    const letter =
      entry === null || stream === null
        ? { ...refusal, kind: 'log' as const, streamId: null, logPosition: position, content: { at }, bytes }
        : letterOf(entry, position, refusal);
    await this.#setAside([letter]);
  }

  async #setAside(letters: readonly Letter[]): Promise<void> {
    await this.#write((client) => putAside(client, letters));
    this.#noteSetAside(letters);
  }

  #noteSetAside(letters: readonly Letter[]): void {
    const { logger, metrics } = this.#options;
    this.#setAsideCount += letters.length;
    for (const { kind, streamId, reason, sqlState, logPosition } of letters) {
      metrics.setAside.inc({ kind });
      if (this.#isNews(`${kind} ${streamId ?? ''} ${sqlState ?? reason}`))
        logger.error(
          { kind, streamId, sqlState, logPosition, reason },
          "it could not be stored and was set aside: 'biosignal set-aside list'",
        );
    }
  }

  /** Stored rows that cannot be read are gaps to the values. What is left of each is set aside once, so that somebody hears of it. */
  async #noteDamaged(rows: readonly DamagedRow[]): Promise<void> {
    const nameOf = ({ streamId, channelNo, timeUs }: DamagedRow): string => `damaged ${streamId} ${channelNo} ${timeUs}`;
    const news = rows.filter((row) => this.#isNews(nameOf(row)));
    if (news.length === 0) return;
    const letters = news.map(({ streamId, channelNo, timeUs, n, reason, codec }): Letter => {
      const content = { channelNo, timeUs, sampleCount: n };
      const why = `the stored row cannot be read, values are computed without it: ${reason}`;
      return { reason: why, sqlState: null, kind: 'samples', streamId, logPosition: null, content, bytes: codec };
    });
    try {
      await this.#setAside(letters);
    } catch (err) {
      for (const row of news) this.#said.delete(nameOf(row)); // the next that reads them says it again
      this.#options.logger.warn({ err, streamId: news[0]!.streamId }, 'samples: stored rows cannot be read, nor set aside now');
    }
  }

  /** Of what goes wrong with every checkpoint. */
  sayOnce(fields: Readonly<{ err: unknown; streamIds?: readonly StreamId[] }>, message: string): void {
    if (!this.#isNews(`${message} ${(fields.err as Error).message}`)) return;
    this.#options.metrics.errors.inc({ where: 'checkpoint' });
    this.#options.logger.error(fields, message);
  }

  /** Not said before, as far as is remembered. */
  #isNews(what: string): boolean {
    if (this.#said.has(what)) return false;
    if (this.#said.size >= SAID_MAX) this.#said.clear();
    this.#said.add(what);
    return true;
  }

  /** Streams that packets came for within the last 10 s. */
  flowingStreams(): readonly StreamId[] {
    const sinceMs = performance.now() - FLOWING_MS;
    return [...this.#streams.values()].filter((stream) => stream.lastMs >= sinceMs).map((stream) => stream.id);
  }

  /** For /readyz: what must work for packets to be taken. */
  parts(): readonly Readonly<{ name: string; ok: boolean; detail: string }>[] {
    const { lagMs, crashCount, loadingCount } = this.#pool.stats();
    const behind = loadingCount === 0 ? '' : `, ${loadingCount} streams to be read back`;
    return [
      this.#logPart(),
      { name: 'sample_block', ok: !this.#blocks.full, detail: `${this.#blocks.queueBytes} bytes waiting` },
      { name: 'derived_rows', ok: !this.#rows.full, detail: `${this.#rows.queueBytes} bytes waiting` },
      { name: 'set_aside', ok: true, detail: `${this.#setAsideCount} rows or packets since the start` },
      { name: 'dsp', ok: !this.#poolFull, detail: `lag ${Math.round(lagMs)} ms, ${crashCount} worker crashes${behind}` },
    ];
  }

  #logPart(): Readonly<{ name: string; ok: boolean; detail: string }> {
    const { lost, awayMs, queueBytes } = this.#log;
    const { doubtful, unconfirmedMs } = this.#options.ownership;
    const name = 'packet_log';
    if (lost !== null) return { name, ok: false, detail: `lost: ${lost}` };
    if (doubtful && awayMs === 0)
      return { name, ok: false, detail: `not confirmed for ${Math.round(unconfirmedMs / 1000)} s: another instance may have taken over` };
    return { name, ok: !this.#stopped && awayMs === 0, detail: packetLogDetail(awayMs, queueBytes) };
  }

  /** Takes no new packet; devices are told to reconnect when everything taken is acknowledged. */
  async drain(deadlineMs: number): Promise<void> {
    await this.#sockets.drain(deadlineMs);
  }

  /** What was taken becomes durable, in the log and in the tables. What the database does not take within deadlineMs is left to the log: it
   *  is replayed at the next start. */
  async stop(deadlineMs = Infinity): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
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
    await this.#log.close();
    if (this.#log.lost !== null) return await this.abandon();
    while (this.#handing > 0) await sleep(2);
    await this.#pool.settle();
    await this.#pool.idleFlush(0); // the last beats, in case a device never comes back; if it does, they are computed again
    await this.#pool.close();
    await this.#blocks.flush();
    await this.#rows.flush();
    await this.checkpoint().catch(() => undefined);
    await this.#rows.close();
    await this.#blocks.close();
  }

  /** @throws PipelineError unavailable when the pipeline was abandoned while it replays */
  #mustGoOn(): void {
    if (this.#abandoned) throw new PipelineError('unavailable', 'the replay was given up: its writers store nothing any more');
  }

  /** Ends everything that was started, and stores nothing: the log has it, or another instance has the log. */
  async abandon(): Promise<void> {
    this.#stopped = true;
    this.#abandoned = true;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#blocks.abandon(), this.#rows.abandon(), this.#pool.close(), this.#log.close()]);
  }
}

/** The replayed samples of a stream that is not computed yet. */
function noteReplayed(stream: Stream, readBack: ReadBack, runs: readonly SampleRun[]): void {
  for (const { channelNo, k0, samples } of runs) {
    const rate = stream.rates[channelNo]!;
    const fromNs = gridTimeNs(k0, rate);
    const toNs = gridTimeNs(k0 + samples.length, rate);
    if (readBack.span === null) {
      // Nothing was stored before: no value is older than this.
      stream.computedNs = fromNs > LOOK_AHEAD_NS ? fromNs - LOOK_AHEAD_NS : 0n;
      readBack.span = { fromNs: stream.computedNs, toNs };
    } else if (toNs > readBack.span.toNs) readBack.span = { ...readBack.span, toNs };
  }
}

/** Device ns of the oldest that a packet holds; null when it holds nothing. */
function oldestOf({ t0DeviceNs, runs, measurements, events }: Admitted, rates: readonly number[]): bigint | null {
  let oldest: bigint | null = null;
  const take = (ns: bigint): void => {
    if (oldest === null || ns < oldest) oldest = ns;
  };
  for (const { channelNo, k0 } of runs) take(gridTimeNs(k0, rates[channelNo]!));
  for (const { tOffsetNs } of measurements) take(t0DeviceNs + BigInt(Math.round(tOffsetNs)));
  for (const { tOffsetNs } of events) take(t0DeviceNs + BigInt(Math.round(tOffsetNs)));
  return oldest;
}

/** Too far from now to be shown live, as its samples are. */
function isHistory({ epochNs, headDeviceNs }: Stream): boolean {
  return Math.abs(Number(epochNs + headDeviceNs) / 1e6 - Date.now()) > OFF_MS_MAX;
}

function widened(span: Span | null, { fromNs, toNs }: Span): Span {
  if (span === null) return { fromNs, toNs };
  return { fromNs: fromNs < span.fromNs ? fromNs : span.fromNs, toNs: toNs > span.toNs ? toNs : span.toNs };
}

function letterOf({ streamId, seq, receivedNs, bytes }: LogEntry, position: number, refusal: Refusal): Letter {
  return { ...refusal, kind: 'packet', streamId, logPosition: position, content: { seq, receivedNs }, bytes };
}

/** Adds a range to what is owed of a stream. */
function owe(stream: Stream, fromNs: bigint, toNs: bigint): void {
  stream.owed = widened(stream.owed, { fromNs, toNs });
}

function packetLogDetail(awayMs: number, queueBytes: number): string {
  if (awayMs === 0) return `${queueBytes} bytes waiting`;
  return `degraded: the database has taken nothing for ${Math.round(awayMs / 1000)} s; devices are answered 503`;
}

/** Opens the log, replays what it holds, and is then ready for packets. */
export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { config, database, ownership, logger, metrics } = options;
  const registry = new StreamRegistry(database, ownership.writing(database));
  const log = await PacketLog.open(database, registry, {
    ownership,
    queueBytesMax: config.packetLogQueueBytesMax,
    lingerMs: config.packetLogLingerMs,
    calmLingerMs: config.packetLogCalmLingerMs,
    onRetry: (err, attempt) => logger.warn({ err, attempt }, 'packet log: trying again'),
    onAway: (err) => {
      metrics.degraded.set(err === null ? 0 : 1);
      if (err === null) logger.warn({}, 'packet log: the database is back');
      else logger.error({ err }, 'packet log: the database takes nothing; devices are answered 503 until it does');
    },
    onRefused: (refused) => {
      for (const { streamIds, why: err } of refused)
        pipeline.sayOnce({ err, streamIds }, 'packet log: a checkpoint could not save the numbers of streams; the next one tries again');
    },
  });
  const pipeline = new Pipeline(options, registry, log);
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
