/** The streams that are open here, one record each.
 *
 *  A stream is entered when its device opens it, or when the replay meets it, and leaves when everything of it is stored and computed.
 *  - read back: only while the log is replayed. The feature pool does not know it yet; `readBack` notes what the pool will read.
 *  - computed: samples go to the feature pool. What the pool had no room for is `owed`, and paid from storage.
 *  - unclosed: it was to be closed while something was owed. It stays as it is until nothing is, or until its device comes back.
 *  Other rooms keep records of their own by the same id, because they forget at other times: the session of its device (ingest), rows that
 *  are filling (BlockWriter), its engine (FeaturePool), numbers and clock to be saved (StreamRegistry), frames (Hub). */
import type { Admitted } from '../ingest/sink.ts';
import { reachAheadSec } from '../dsp/kernels/segment-grid.ts';
import { gridTimeNs } from '../signal.ts';
import type { ChannelConfig, SampleRun, Spo2Calibration, StreamId, SubjectId } from '../signal.ts';
import type { ResumePoint } from '../storage/resume-point.ts';
import type { OpenedStream } from '../storage/stream-registry.ts';

/** Rows depend on samples at most this much later, see reachAheadSec of src/dsp/kernels/segment-grid.ts. */
export const LOOK_AHEAD_NS = BigInt(reachAheadSec) * 1_000_000_000n;

/** [from, to), device ns. */
export type Span = Readonly<{ fromNs: bigint; toNs: bigint }>;

export type ReadBack = {
  /** The channels that earlier values were computed with; null: there are none. */
  readonly channels: readonly ChannelConfig[] | null;
  /** Computed again, or for the first time; null: no samples. Rows of before may lie up to rowsToNs. */
  span: (Span & Readonly<{ rowsToNs?: bigint }>) | null;
  /** Samples that came too late for values before that. */
  late: Span | null;
};

export type OpenStream = {
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
  /** Durable samples that the feature pool had no room for. */
  owed: Span | null;
  /** Rows before it had been computed when the stream was opened here, device ns; 0 for a new one. */
  computedNs: bigint;
  /** While the log is replayed: what the feature pool will read back of the stream when that is done. */
  readBack: ReadBack | null;
  /** Recomputed ranges that are not stored yet. */
  replacing: number;
  /** It could not be closed yet, and its device has not come back. */
  unclosed: boolean;
  /** When a packet last came, ms of the monotonic clock. */
  lastMs: number;
};

export class StreamTable {
  readonly #streams = new Map<StreamId, OpenStream>();
  /** Streams that are being closed; the last steps come when the record has left. */
  readonly #closing = new Map<StreamId, Promise<void>>();
  /** Who is being erased: of their streams nothing is computed any more. */
  readonly erasing = new Set<SubjectId>();

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

  /** @param resume where the computation of its rows goes on; null: it has none */
  enter({ streamId, epochNs, subjectId, channels, spo2 }: OpenedStream, resume: ResumePoint | null): OpenStream {
    const stream: OpenStream = {
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
      unclosed: false,
      lastMs: -Infinity,
    };
    this.#streams.set(streamId, stream);
    return stream;
  }

  leave(streamId: StreamId): void {
    this.#streams.delete(streamId);
  }

  /** Calls at the same time share one. */
  closeOnce(streamId: StreamId, close: () => Promise<void>): Promise<void> {
    let closing = this.#closing.get(streamId);
    if (closing === undefined) {
      closing = close().finally(() => this.#closing.delete(streamId));
      this.#closing.set(streamId, closing);
    }
    return closing;
  }

  /** When a stream that is being closed is closed, or could not be. */
  async closed(streamId: StreamId): Promise<void> {
    await this.#closing.get(streamId)?.catch(() => undefined);
  }
}

export function widened(span: Span | null, { fromNs, toNs }: Span): Span {
  if (span === null) return { fromNs, toNs };
  return { fromNs: fromNs < span.fromNs ? fromNs : span.fromNs, toNs: toNs > span.toNs ? toNs : span.toNs };
}

/** Notes what was recorded. @returns is it more than before, at either end? */
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

/** The replayed samples of a stream that is not computed yet. */
export function noteReplayed(stream: OpenStream, readBack: ReadBack, runs: readonly SampleRun[]): void {
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
