/** Options, callbacks and statistics of the pool of DSP workers. */
import type { ChannelNo, SampleRun, StreamId } from '../../signal.ts';
import type { FeatureOutput } from '../rows/feature-rows.ts';
import type { RunOrdererOptions } from './run-orderer.ts';

/** Everything stored or accepted of one channel in [fromNs, toNs) of the device clock, in any order, overlaps allowed.
 *  Must contain every sample that was handed to push() before the call, whether it is in a table yet or not. */
export type LoadRuns = (streamId: StreamId, channelNo: ChannelNo, fromNs: bigint, toNs: bigint) => Promise<readonly SampleRun[]>;

export type QuarantinedBatch = Readonly<{
  streamId: StreamId;
  /** The stream's runs in the batch that killed the worker, for study; they are left out from now on. */
  runs: readonly SampleRun[];
  /** What the last crash said. */
  reason: string;
}>;

export type FeaturePoolOptions = Readonly<{
  /** Worker threads, >= 1. A stream lives on one of them. */
  workerCount: number;
  onOutput: (output: FeatureOutput) => void;
  /** Reads samples back: late data, resumed streams, lost workers. */
  loadRuns: LoadRuns;
  /** Called with runs that killed a worker three times; their stream continues without them. No runs: the stream is no longer computed,
   *  because no engine can be made for it, or the remaining samples kill workers, too. */
  onQuarantine?: (batch: QuarantinedBatch) => void;
  /** Faults that were survived: crashes, time-outs, failed loads. */
  onFault?: (message: string, cause: unknown) => void;
  /** Bytes of samples that may wait for the workers, all streams; above it push answers 'busy'. Default 64 MiB. */
  queueBytesMax?: number;
  /** A batch leaves when it holds this many runs ... Default 64. */
  batchRunsMin?: number;
  /** ... or this long after its first run, ms. Default 50. */
  lingerMs?: number;
  /** A stream's samples are held back this long and computed together: the engine of a device that sends ten packets a second is visited
   *  twice a second, which takes half the time. Rows come that much later. 0: not held. Default 500 ms. */
  holdMs?: number;
  /** A worker that answers nothing for this long is stopped and rebuilt, ms. Default 30,000. */
  taskTimeoutMs?: number;
  /** Heap of a worker thread, MB; one that needs more is stopped and rebuilt. Default 2,048: 10,000 devices need a tenth of it. */
  workerHeapMbMax?: number;
  /** Holes of a stream that nothing comes for become gaps after this wall time, ms. Default 2,000. */
  holeWaitMs?: number;
  /** A stream without data for this long is flushed: its last beats come out, ms of wall time. Default 20,000. */
  idleFlushMs?: number;
  /** Late data is computed when none came for this long (at most ten times as long after the first), ms. Default 1,000. */
  lateWaitMs?: number;
  /** A failed reading back is tried again after four times this long, then 16 and 64 times; after that 50 times as long later, ms, without
   *  end. Default 100. */
  retryMs?: number;
  orderer?: RunOrdererOptions;
  /** For tests of failing workers. */
  workerUrl?: string;
}>;

export type FeaturePoolStats = Readonly<{
  streamCount: number;
  /** Streams whose samples are being read back. */
  loadingCount: number;
  queueBytes: number;
  /** Age of the oldest run that no worker has finished, ms; 0 when idle. */
  lagMs: number;
  batchCount: number;
  sampleCount: number;
  crashCount: number;
  quarantineCount: number;
  recomputeCount: number;
}>;
