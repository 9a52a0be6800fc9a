/** Life cycle of a stream: opens it for its device, saves its channels, closes it when it is idle, and ends it when its subject is erased
 *  or may no longer be recorded. */
import { isRejected, PipelineError, rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import type { StreamRecord, StreamRequest } from '../ingest/sink.ts';
import type { ChannelConfig, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { Coalesce } from '../storage/database/coalesce.ts';
import { failureOf } from '../storage/database/sql-states.ts';
import type { LogBatch } from '../storage/packet-log.ts';
import { resumePoints } from '../storage/resume-point.ts';
import type { ResumePoint } from '../storage/resume-point.ts';
import { readExpiring } from '../storage/retention.ts';
import type { Subject } from '../storage/stream-opening.ts';
import type { OpenedStream } from '../storage/stream-registry.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Computing } from './computing.ts';
import type { PipelineOptions } from './options.ts';
import type { PartitionMoves } from './partition-moves.ts';
import type { Stores } from './stores.ts';
import type { OpenStream, StreamTable } from './stream-table.ts';

/** Time that closing a stream waits for its owed ranges, ms; after that the stream stays open until nothing is owed. */
const CLOSE_MS = 5000;
/** Shortest possible retention of a table, ns; see sql/000007-retention.sql. */
const RETENTION_NS_MIN = 3_600_000_000_000n;

export type StreamLifeParts = Readonly<{
  options: PipelineOptions;
  stores: Stores;
  streams: StreamTable;
  computing: Computing;
  checkpoints: Checkpoints;
  partitions: Pick<PartitionMoves, 'untilOpen'>;
  /** Resolves when the group commit being filled is durable or refused. */
  newestDurable: () => Promise<void>;
  isStopped: () => boolean;
}>;

export class StreamLife {
  readonly #parts: StreamLifeParts;
  readonly #stores: Stores;
  readonly #streams: StreamTable;
  /** Called once per stream. Withdrawing consent ends the sessions of the person (forgetSubject). */
  readonly #mayRecord: Coalesce<SubjectId, boolean>;
  readonly #resumePoints: Coalesce<Readonly<{ streamId: StreamId; epochNs: bigint }>, ResumePoint | null>;

  constructor(parts: StreamLifeParts) {
    const { options, stores, streams } = parts;
    this.#parts = parts;
    this.#stores = stores;
    this.#streams = streams;
    this.#mayRecord = new Coalesce((subjectIds) => options.mayRecord(subjectIds));
    this.#resumePoints = new Coalesce((asked) => resumePoints(options.derived, asked), 64);
  }

  // ------------------------------------------------------------------------------------------------ opening

  /** Whom a stream would record. */
  async subjectOf({ caller, deviceId, subject: named }: StreamRequest): Promise<Subject | Rejected> {
    if (caller.kind !== 'key' && caller.kind !== 'user') return rejected('credential_kind', 'a device sends with a key or a user token');
    const orgId = caller.orgId as StreamRecord['orgId'];
    const own = caller.kind === 'user' ? caller.subjectId : '';
    const wanted = named === '' ? own : named;
    const projectId = caller.projectId as ProjectId | null;
    const subject = await this.#stores.registry.resolveSubject({ orgId, projectId, subject: wanted, deviceId });
    if (isRejected(subject)) return subject;
    if (caller.kind === 'user' && subject.subjectId !== caller.subjectId) return rejected('not_found', 'no such subject');
    return subject;
  }

  async open(request: StreamRequest): Promise<StreamRecord | Rejected> {
    const { deviceId, bootId, firmware, epochNs, timeSource, receivedNs } = request;
    const { registry } = this.#stores;
    const { partitions } = this.#parts;
    const subject = await this.subjectOf(request);
    if (isRejected(subject)) return subject;
    await partitions.untilOpen(this.#streams.partitionOf(subject.subjectId));
    if (!(await this.#mayRecord.call(subject.subjectId))) return rejected('consent_missing', 'the person has not consented to recording');
    const opened = await registry.openStream({ ...subject, deviceId, bootId, firmware, epochNs, timeSource, receivedNs });
    if (isRejected(opened)) return opened;
    await this.#remember(opened);
    // Retention is counted in days, so a stream that is recorded now needs no look-up.
    const isOld = opened.epochNs + request.endDeviceNs < receivedNs - RETENTION_NS_MIN;
    const expiring = isOld ? await readExpiring(this.#parts.options.database.pool, subject.projectId) : [];
    return { ...opened, expiring, node: '' };
  }

  /** Enters a stream; its features resume after the last ones stored. */
  async #remember(opened: OpenedStream): Promise<void> {
    await this.#streams.closed(opened.streamId);
    const known = this.#streams.get(opened.streamId);
    if (known !== undefined) {
      known.unclosed = false;
      return;
    }
    const { streamId, channels, spo2 } = opened;
    const resume = await this.resumePoint(opened);
    this.#streams.enter(opened, resume);
    if (resume === null) this.#stores.pool.openStream(streamId, channels, undefined, spo2);
    else {
      this.#stores.pool.openStream(streamId, channels, resume, spo2);
      this.#parts.options.metrics.recomputes.inc({ reason: 'resume' });
    }
  }

  async resumePoint({ streamId, epochNs, existed }: OpenedStream): Promise<ResumePoint | null> {
    return existed ? await this.#resumePoints.call({ streamId, epochNs }) : null;
  }

  // ------------------------------------------------------------------------------------------------ channels

  addChannels(stream: OpenStream, channels: readonly ChannelConfig[]): void {
    stream.channels = [...channels];
    stream.rates = channels.map((channel) => channel.rateNanoHz);
    if (stream.readBack === null) this.#stores.pool.openStream(stream.id, stream.channels, undefined, stream.spo2);
  }

  /** Resolves when both the packet and its new channels are durable: samples are useless without their channel's gain and rate. */
  async durableWithChannels(stream: OpenStream, batch: LogBatch): Promise<void> {
    try {
      await Promise.all([batch.durable, this.#saveChannels(stream)]);
    } catch (error) {
      if (failureOf(error) !== 'bad_row') throw error;
      throw new PipelineError('packet_invalid', `a channel cannot be stored: ${(error as Error).message}`, { cause: error });
    }
  }

  async #saveChannels(stream: OpenStream): Promise<void> {
    while (stream.savedCount < stream.channels.length) {
      const from = stream.savedCount;
      const { channels } = stream;
      stream.saving ??= this.#stores.registry
        .addChannels(stream.id, from, channels.slice(from))
        .then(() => void (stream.savedCount = channels.length))
        .finally(() => (stream.saving = null));
      await stream.saving;
    }
  }

  // ------------------------------------------------------------------------------------------------ closing

  /** Concurrent calls share one. @returns when the stream is stored and closed, or stays open because something is owed */
  close(streamId: StreamId): Promise<void> {
    return this.#streams.closeOnce(streamId, () => this.#closeNow(streamId));
  }

  async #closeNow(streamId: StreamId): Promise<void> {
    const { computing, checkpoints, newestDurable, isStopped } = this.#parts;
    await newestDurable(); // its last packets may be in it
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.unclosed = false;
    if (this.#streams.erasing.has(stream.subjectId)) computing.stop(stream);
    const deadlineMs = performance.now() + CLOSE_MS;
    await computing.untilPaid(stream, deadlineMs, isStopped);
    const { pool, blocks, rows, registry } = this.#stores;
    if (stream.owed !== null || !(await pool.closeStream(streamId, deadlineMs))) {
      stream.unclosed = true;
      return;
    }
    await blocks.closeStream(streamId); // should the same boot continue, it does so after the last stored sample
    await rows.flush();
    this.#streams.leave(streamId);
    await checkpoints.save();
    registry.closeStream(streamId);
  }

  /** Closes streams that could not be closed before, once nothing is owed to them. Call it every second. */
  closeLate(): void {
    for (const stream of this.#streams.values())
      if (stream.unclosed && this.#parts.computing.isComputed(stream)) void this.close(stream.id).catch(() => undefined);
  }

  /** Closes the streams of a partition, as far as they can be closed within some seconds. @returns those that stay open */
  async closePartition(partition: number): Promise<readonly OpenStream[]> {
    await Promise.all(this.#streams.ofPartition(partition).map(({ id }) => this.close(id)));
    return this.#streams.ofPartition(partition);
  }

  /** Forgets a stream of which something is not computed: its next owner does that, from the log. */
  forsake(stream: OpenStream): void {
    this.#streams.leave(stream.id); // from here on nothing that is computed of it is taken
    this.#parts.computing.stop(stream);
    this.#stores.pool.dropStream(stream.id);
    this.#stores.registry.closeStream(stream.id);
  }

  /** Closes the streams of a subject, including replayed ones without a session, whose devices have not returned. */
  async closeOf(subjectId: SubjectId): Promise<void> {
    await Promise.all(this.#streams.ofSubject(subjectId).map(({ id }) => this.close(id)));
  }

  /** Closes a user's live streams before erasure, without waiting for values that are not computed yet.
   *  @param end ends their sessions and closes their streams */
  async erase(subjectId: SubjectId, end: () => Promise<void>): Promise<void> {
    const { erasing } = this.#streams;
    erasing.add(subjectId);
    try {
      for (const stream of this.#streams.ofSubject(subjectId)) this.#parts.computing.stop(stream);
      await end();
    } finally {
      erasing.delete(subjectId);
    }
  }
}
