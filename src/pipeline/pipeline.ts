/** Shows, stores and computes admitted packets. The only place where ingest, storage, DSP and live meet.
 *
 *  `accept` appends the packet to the packet log and shows it to viewers at once, since a frame promises nothing. After the commit of its
 *  group the device is answered, and `hand` passes the samples to the block writer and the feature pool. Beats and features come back
 *  (`takeOutput`), and are stored and shown. A start replays acknowledged packets that are not in the tables yet (recover.ts;
 *  replay-horizon.ts decides which those are) and resumes the computation of streams after their last rows. */
import type { HeldPartitions } from '../cluster/held-partitions.ts';
import type { FeatureOutput } from '../dsp/rows/feature-rows.ts';
import { PipelineError } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import type { Session } from '../ingest/session.ts';
import type { Admitted, PacketSink, StreamName, StreamRecord, StreamRequest } from '../ingest/sink.ts';
import { OFF_MS_MAX } from '../live/frame-clock.ts';
import type { Metrics } from '../metrics.ts';
import type { ClockFit, StreamId } from '../signal.ts';
import type { LogBatch } from '../storage/packet-log.ts';
import type { Computing } from './computing.ts';
import type { ReplayHorizon } from './replay-horizon.ts';
import type { Stores } from './stores.ts';
import type { StreamLife } from './stream-life.ts';
import { noteRecorded } from './stream-table.ts';
import type { OpenStream, StreamTable } from './stream-table.ts';
import { unixNowMs } from '../unix-clock.ts';

/** Retry-After for devices while the database is unavailable, s. */
const AWAY_RETRY_SEC = 3;
/** Values older than this, relative to the newest sample, are not shown live, ms. */
const LIVE_FEATURE_MS_MAX = 60_000;
const LIVE_FEATURE_NS_MAX = BigInt(LIVE_FEATURE_MS_MAX) * 1_000_000n;

export type Taken = Readonly<{ stream: OpenStream; admitted: Admitted }>;

export type PipelineParts = Readonly<{
  stores: Stores;
  streams: StreamTable;
  life: StreamLife;
  computing: Computing;
  horizon: ReplayHorizon;
  /** Partitions that this node owns. */
  held: HeldPartitions;
  metrics: Metrics;
  isStopped: () => boolean;
}>;

export class Pipeline implements PacketSink {
  readonly #parts: PipelineParts;
  readonly #stores: Stores;
  readonly #streams: StreamTable;
  readonly #computing: Computing;
  /** The group commit being filled, and its packets. */
  #batch: LogBatch | null = null;
  #taken: Taken[] = [];
  /** Number of groups not passed on yet. */
  #handing = 0;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#stores = parts.stores;
    this.#streams = parts.streams;
    this.#computing = parts.computing;
  }

  // ------------------------------------------------------------------------------------------------ the rest of PacketSink

  openStream(request: StreamRequest): Promise<StreamRecord | Rejected> {
    return this.#parts.life.open(request);
  }

  isRecorded(stream: StreamName): Promise<boolean> {
    return this.#stores.registry.isRecorded(stream);
  }

  closeStream({ streamId }: Session): Promise<void> {
    return this.#parts.life.close(streamId);
  }

  hurry(): void {
    this.#stores.log.hurry();
  }

  nodeUrlOf(): string {
    return '';
  }

  noteClock(streamId: StreamId, fit: ClockFit): void {
    this.#stores.registry.noteClock(streamId, fit);
  }

  packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array> {
    return this.#stores.hashes.find(streamId, firstSeq, count);
  }

  // ------------------------------------------------------------------------------------------------ a packet

  accept(session: Session, admitted: Admitted, bytes: Uint8Array): Promise<void> | 'busy' | 'closed' {
    const { log, blocks, rows, hub } = this.#stores;
    if (log.lost !== null) throw new PipelineError('unavailable', `Nothing was kept: ${log.lost}.`, { retryAfterSec: 1 });
    if (log.awayMs > 0)
      throw new PipelineError('unavailable', 'The database is away; nothing was kept.', { retryAfterSec: AWAY_RETRY_SEC });
    if (this.#parts.isStopped() || this.#computing.full || blocks.full || rows.full) return 'busy';
    const stream = this.#streams.get(session.streamId);
    if (stream === undefined || this.#streams.isClosing(stream.id)) return 'closed'; // the feature pool may have closed it
    if (this.#parts.held.modeOf(stream.partition) !== 'open') return 'closed'; // the partition goes to another node
    const batch = log.append({ streamId: stream.id, seq: admitted.seq, receivedNs: admitted.receivedNs, bytes }, stream.partition);
    if (batch === 'busy') return 'busy';
    const { life } = this.#parts;
    if (session.channels.length > stream.channels.length) life.addChannels(stream, session.channels);
    if (this.#batch !== batch) this.#follow(batch);
    this.#taken.push({ stream, admitted });
    stream.lastMs = performance.now();
    hub.push(session, admitted.runs);
    return stream.savedCount < stream.channels.length ? life.durableWithChannels(stream, batch) : batch.durable;
  }

  /** Starts a new group, whose packets are passed on together once it is durable. */
  #follow(batch: LogBatch): void {
    const taken: Taken[] = [];
    this.#batch = batch;
    this.#taken = taken;
    this.#handing += 1;
    batch.durable
      .then(
        () => {
          this.hand(taken, batch.position);
          this.#parts.horizon.noteHanded(batch.position);
        },
        () => undefined, // nothing was kept; ingest has told the devices
      )
      .finally(() => (this.#handing -= 1));
  }

  /** True while a group is not passed on yet. */
  get isHanding(): boolean {
    return this.#handing > 0;
  }

  /** Resolves when the newest group is durable or refused. */
  async newestDurable(): Promise<void> {
    await this.#batch?.durable.catch(() => undefined);
  }

  /** Passes the durable packets of one group to the writers and the feature pool. */
  hand(taken: readonly Taken[], position: number): void {
    const { hashes, blocks, registry } = this.#stores;
    const { horizon, metrics } = this.#parts;
    let sampleCount = 0;
    for (const { stream, admitted } of taken) {
      const { runs } = admitted;
      hashes.note(stream.id, admitted.seq, admitted.contentHash);
      if (runs.length > 0) {
        blocks.push(stream.id, stream.epochNs, stream.rates, runs, position);
        this.#computing.take(stream, runs, admitted);
        if (!this.#computing.isComputed(stream)) horizon.noteUncomputed(stream.id, position);
        for (const run of runs) sampleCount += run.samples.length;
      }
      if (noteRecorded(stream, admitted) && stream.tailDeviceNs !== null)
        registry.noteRecorded(stream.id, stream.epochNs + stream.tailDeviceNs, stream.epochNs + admitted.endDeviceNs);
      if (admitted.measurements.length > 0 || admitted.events.length > 0) this.#report(stream, admitted, position);
    }
    metrics.samples.inc(sampleCount);
  }

  /** Queues measurements and events for storage. */
  #report({ id: streamId, subjectId, epochNs }: OpenStream, admitted: Admitted, position: number): void {
    const { seq } = admitted;
    const tsNs = (offsetNs: number): bigint => epochNs + admitted.t0DeviceNs + BigInt(Math.round(offsetNs));
    const measurements = admitted.measurements.map(({ code, tOffsetNs, value, unit, quality }, index) => {
      return { streamId, subjectId, seq, index, code, tsNs: tsNs(tOffsetNs), value, unit, quality };
    });
    const events = admitted.events.map(({ code, tOffsetNs, text }, index) => ({ streamId, seq, index, code, tsNs: tsNs(tOffsetNs), text }));
    const release = this.#parts.horizon.hold(position);
    void this.#stores.rows.addReported(measurements, events, position).then(release);
  }

  // ------------------------------------------------------------------------------------------------ computed rows

  takeOutput(output: FeatureOutput): void {
    const stream = this.#streams.get(output.streamId);
    if (stream === undefined) return;
    const { metrics } = this.#parts;
    const { rows, hub } = this.#stores;
    const stored = rows.add(output, stream.epochNs);
    if (output.replaces !== null) {
      stream.replacing += 1;
      void stored.finally(() => (stream.replacing -= 1));
    }
    metrics.beats.inc(output.beats.length);
    metrics.features.inc(output.features.length);
    if (!hub.watched(stream.subjectId) || output.features.length === 0 || isHistory(stream)) return;
    const fresh = output.features.filter((row) => row.tNs > stream.headDeviceNs - LIVE_FEATURE_NS_MAX);
    const shown = fresh.map((row) => ({ name: row.feature, tsNs: stream.epochNs + row.tNs, value: row.value, qmask: row.qmask }));
    hub.features(stream.subjectId, shown);
  }
}

/** Too far from now to be shown live, as its samples are. */
function isHistory({ epochNs, headDeviceNs }: OpenStream): boolean {
  return Math.abs(Number(epochNs + headDeviceNs) / 1e6 - unixNowMs()) > OFF_MS_MAX;
}
