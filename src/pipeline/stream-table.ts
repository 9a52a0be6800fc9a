/** Table of the open streams.
 *
 *  A stream enters when its device opens it or the replay finds it, and leaves when all of it is stored and computed.
 *  - read back: only during the replay. The feature pool does not know the stream yet; `readBack` collects what the pool will read.
 *  - computed: samples go to the feature pool. Ranges that the pool had no room for are `owed`, and computed from storage later.
 *  - unclosed: closing failed because something was owed. The stream stays until nothing is, or until its device returns.
 *  Other modules keep records by the same id, since they forget at other times: the device's session (ingest), rows being filled
 *  (BlockWriter), the engine (FeaturePool), sequence numbers and clock to be saved (StreamRegistry), frames (Hub). */
import type { Admitted } from '../ingest/sink.ts';
import { partitionOf } from '../cluster/partition-of.ts';
import { reachAheadSec } from '../dsp/kernels/segment-grid.ts';
import { gridTimeNs } from '../signal.ts';
import type { ChannelConfig, SampleRun, Spo2Calibration, StreamId, SubjectId } from '../signal.ts';
import type { ResumePoint } from '../storage/resume-point.ts';
import type { OpenedStream } from '../storage/stream-registry.ts';

/** Rows depend on samples at most this much later, ns; see reachAheadSec in src/dsp/kernels/segment-grid.ts. */
export const LOOK_AHEAD_NS = BigInt(reachAheadSec) * 1_000_000_000n;

/** Half-open range [from, to), device ns. */
export type Span = Readonly<{ fromNs: bigint; toNs: bigint }>;

export type ReadBack = {
  /** Channels that earlier values were computed from; null: no earlier values. */
  readonly channels: readonly ChannelConfig[] | null;
  /** Range to compute; null: no samples. Existing rows may reach up to rowsToNs. */
  span: (Span & Readonly<{ rowsToNs?: bigint }>) | null;
  /** Late samples that affect values before `span`. */
  late: Span | null;
};

export type OpenStream = {
  readonly id: StreamId;
  readonly epochNs: bigint;
  readonly subjectId: SubjectId;
  /** Of the subject. */
  readonly partition: number;
  channels: readonly ChannelConfig[];
  readonly spo2: Spo2Calibration | null;
  /** Nano-hertz, by ChannelNo. */
  rates: number[];
  /** Number of channel configurations in the database; a packet with a newer one waits until it is saved. */
  savedCount: number;
  saving: Promise<void> | null;
  /** Device ns of the newest durable sample. */
  headDeviceNs: bigint;
  /** Device ns of the oldest sample, measurement or event since the stream was opened here; null: none yet. */
  tailDeviceNs: bigint | null;
  /** Range of durable samples that the feature pool had no room for. */
  owed: Span | null;
  /** Rows before this time were computed before the stream was opened here, device ns; 0 for a new stream. */
  computedNs: bigint;
  /** During the replay: what the feature pool will read back afterwards. */
  readBack: ReadBack | null;
  /** Number of recomputed ranges that are not stored yet. */
  replacing: number;
  /** Closing failed, and the device has not returned since. */
  unclosed: boolean;
  /** Arrival of the last packet, ms of the monotonic clock. */
  lastMs: number;
};

export class StreamTable {
  readonly #partitionCount: number;
  readonly #streams = new Map<StreamId, OpenStream>();
  /** Streams being closed; the last steps happen after the record has left. */
  readonly #closing = new Map<StreamId, Promise<void>>();
  /** Subjects being erased; their streams are no longer computed. */
  readonly erasing = new Set<SubjectId>();

  /** @param partitionCount of the database */
  constructor(partitionCount: number) {
    this.#partitionCount = partitionCount;
  }

  partitionOf(subjectId: SubjectId): number {
    return partitionOf(subjectId, this.#partitionCount);
  }

  get size(): number {
    return this.#streams.size;
  }

  get(streamId: StreamId): OpenStream | undefined {
    return this.#streams.get(streamId);
  }

  values(): IterableIterator<OpenStream> {
    return this.#streams.values();
  }

  ofSubject(subjectId: SubjectId): readonly OpenStream[] {
    return [...this.#streams.values()].filter((stream) => stream.subjectId === subjectId);
  }

  ofPartition(partition: number): readonly OpenStream[] {
    return [...this.#streams.values()].filter((stream) => stream.partition === partition);
  }

  /** @param resume where to resume computing rows; null: there are none yet */
  enter({ streamId, epochNs, subjectId, channels, spo2 }: OpenedStream, resume: ResumePoint | null): OpenStream {
    const stream: OpenStream = {
      id: streamId,
      epochNs,
      subjectId,
      partition: this.partitionOf(subjectId),
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
      unclosed: false,
      lastMs: -Infinity,
    };
    this.#streams.set(streamId, stream);
    return stream;
  }

  leave(streamId: StreamId): void {
    this.#streams.delete(streamId);
  }

  /** Concurrent calls share one. */
  closeOnce(streamId: StreamId, close: () => Promise<void>): Promise<void> {
    let closing = this.#closing.get(streamId);
    if (closing === undefined) {
      closing = close().finally(() => this.#closing.delete(streamId));
      this.#closing.set(streamId, closing);
    }
    return closing;
  }

  /** Whether a stream is being closed: then nothing is added to it any more. */
  isClosing(streamId: StreamId): boolean {
    return this.#closing.has(streamId);
  }

  /** Resolves when a stream being closed is closed, or closing failed. */
  async closed(streamId: StreamId): Promise<void> {
    await this.#closing.get(streamId)?.catch(() => undefined);
  }
}

export function widened(span: Span | null, { fromNs, toNs }: Span): Span {
  if (span === null) return { fromNs, toNs };
  return { fromNs: fromNs < span.fromNs ? fromNs : span.fromNs, toNs: toNs > span.toNs ? toNs : span.toNs };
}

/** Extends the recorded range of a stream. @returns whether it grew at either end */
export function noteRecorded(stream: OpenStream, admitted: Admitted): boolean {
  const { t0DeviceNs, endDeviceNs } = admitted;
  const isNewer = endDeviceNs > stream.headDeviceNs;
  if (isNewer) stream.headDeviceNs = endDeviceNs;
  const isOlder = stream.tailDeviceNs === null || t0DeviceNs < stream.tailDeviceNs;
  const firstNs = isOlder ? oldestOf(admitted, stream.rates) : null;
  if (firstNs === null || (stream.tailDeviceNs !== null && firstNs >= stream.tailDeviceNs)) return isNewer;
  stream.tailDeviceNs = firstNs;
  return true;
}

/** Device ns of a packet's oldest sample, measurement or event; null when it is empty. */
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

/** Adds replayed samples to the range that will be read back. */
export function noteReplayed(stream: OpenStream, readBack: ReadBack, runs: readonly SampleRun[]): void {
  for (const { channelNo, k0, samples } of runs) {
    const rate = stream.rates[channelNo]!;
    const fromNs = gridTimeNs(k0, rate);
    const toNs = gridTimeNs(k0 + samples.length, rate);
    if (readBack.span === null) {
      // Nothing was stored before, so no value is older than this.
      stream.computedNs = fromNs > LOOK_AHEAD_NS ? fromNs - LOOK_AHEAD_NS : 0n;
      readBack.span = { fromNs: stream.computedNs, toNs };
    } else if (toNs > readBack.span.toNs) readBack.span = { ...readBack.span, toNs };
  }
}
