/** The main thread's side of the DSP: batches runs to worker threads, hands their rows back, survives their deaths. */
import type { ChannelConfig, ChannelNo, SampleRun, StreamId } from '../signal.ts';
import type { FeatureOutput } from './feature-rows.ts';

/** Everything stored or accepted of one channel in [fromNs, toNs) of the device clock, in any order, overlaps allowed.
 *  Must contain every sample that was handed to push() before the call, whether it is in a table yet or not. */
export type LoadRuns = (streamId: StreamId, channelNo: ChannelNo, fromNs: bigint, toNs: bigint) => Promise<readonly SampleRun[]>;

export type QuarantinedBatch = Readonly<{
  /** The batch as it was sent to the worker, for study. */
  bytes: Uint8Array;
  streamIds: readonly StreamId[];
  /** Message of the last crash. */
  reason: string;
}>;

export type FeaturePoolOptions = Readonly<{
  /** Worker threads, >= 1. A stream lives on one of them. */
  workerCount: number;
  onOutput: (output: FeatureOutput) => void;
  /** Reads samples back: late data, resumed streams, lost workers. */
  loadRuns: LoadRuns;
  /** A batch that killed its worker three times; its streams go on without it. */
  onQuarantine?: (batch: QuarantinedBatch) => void;
  /** Faults that were survived: crashes, time-outs, failed loads. */
  onFault?: (message: string, cause: unknown) => void;
  /** Bytes of samples that may wait for the workers, all streams; above it push answers 'busy'. Default 64 MiB. */
  queueBytesMax?: number;
  /** A batch leaves when it holds this many runs ... Default 64. */
  batchRunsMin?: number;
  /** ... or this long after its first run, ms. Default 50. */
  lingerMs?: number;
  /** A worker that answers nothing for this long is stopped and rebuilt, ms. Default 30,000. */
  taskTimeoutMs?: number;
  /** A stream without data for this long is flushed: holes become gaps, the last beats come out, ms of wall time. Default 20,000. */
  idleFlushMs?: number;
}>;

export type FeaturePoolStats = Readonly<{
  streamCount: number;
  queueBytes: number;
  /** Age of the oldest run that no worker has finished, ms; 0 when idle. */
  lagMs: number;
  batchCount: number;
  sampleCount: number;
  crashCount: number;
  quarantineCount: number;
  recomputeCount: number;
}>;

export class FeaturePool {
  constructor(options: FeaturePoolOptions) {
    void options;
    throw new Error('being built');
  }

  /** Opens a stream, or adds channels to an open one: `channels[i]` is channelNo i, known ones unchanged.
   *  @param resumeFromNs a stream that was seen before this process started: rows from here on are computed again from loadRuns
   *  (as one replaced range) before anything new. Take the time of the last stored beat or feature less 128 s, at least 0. */
  openStream(streamId: StreamId, channels: readonly ChannelConfig[], resumeFromNs?: bigint): void {
    void [streamId, channels, resumeFromNs];
  }

  /** Hands over accepted runs, in any order. Takes ownership of their arrays.
   *  @returns 'busy' when the queue is full: nothing was kept, hand the same runs over later (samples are stored, so recompute()
   *  also heals what was never pushed) */
  push(streamId: StreamId, runs: readonly SampleRun[]): 'accepted' | 'busy' {
    void [streamId, runs];
    return 'busy';
  }

  /** Computes a range again from stored samples and replaces its rows, including the rows after it that depend on it.
   *  @returns when the last output was handed to onOutput */
  async recompute(streamId: StreamId, fromNs: bigint, toNs: bigint, loadRuns?: LoadRuns): Promise<void> {
    void [streamId, fromNs, toNs, loadRuns];
  }

  /** Flushes streams without data since idleFlushMs; runs on a timer, exposed for shutdown (0 flushes all). Resolves when the rows are out. */
  async idleFlush(idleMs?: number): Promise<void> {
    void idleMs;
  }

  /** Forgets a stream after flushing it. */
  async closeStream(streamId: StreamId): Promise<void> {
    void streamId;
  }

  stats(): FeaturePoolStats {
    throw new Error('being built');
  }

  /** Sends what waits, takes the rows, stops the threads. Does not flush: a stream goes on after a restart with resumeFromNs. */
  async close(): Promise<void> {}
}
