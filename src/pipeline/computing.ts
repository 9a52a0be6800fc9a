/** Passes samples to the feature pool, and tracks the ranges still owed to it.
 *
 *  A full pool delays values but never loses one: ranges that it refused are owed, and computed from the tables when there is room again.
 *  The pool is `full` from the first refusal until its queue has shrunk to half. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeaturePool } from '../dsp/pool/pool.ts';
import type { SampleRun } from '../signal.ts';
import type { PipelineOptions } from './options.ts';
import { noteReplayed, widened } from './stream-table.ts';
import type { OpenStream, Span, StreamTable } from './stream-table.ts';

/** Period at which a stream that is being closed retries its owed range, ms. */
const PAY_MS = 1000;

export class Computing {
  readonly #pool: FeaturePool;
  readonly #streams: StreamTable;
  readonly #options: Pick<PipelineOptions, 'config' | 'metrics' | 'logger'>;
  #full = false;

  constructor(pool: FeaturePool, streams: StreamTable, options: Pick<PipelineOptions, 'config' | 'metrics' | 'logger'>) {
    this.#pool = pool;
    this.#streams = streams;
    this.#options = options;
  }

  /** While full, new packets are refused; accepting them would only add to the backlog. */
  get full(): boolean {
    return this.#full;
  }

  /** Takes durable samples. @param span of the packet that contained them */
  take(stream: OpenStream, runs: readonly SampleRun[], span: Readonly<{ t0DeviceNs: bigint; endDeviceNs: bigint }>): void {
    if (this.#streams.get(stream.id) !== stream) return;
    if (stream.readBack !== null) return noteReplayed(stream, stream.readBack, runs);
    if (this.#pool.push(stream.id, runs) === 'accepted') return;
    this.#full = true;
    owe(stream, { fromNs: span.t0DeviceNs, toNs: span.endDeviceNs });
  }

  /** True when all rows affected by the stream's samples are computed, or will be without reading samples back. */
  isComputed(stream: OpenStream): boolean {
    return stream.readBack === null && stream.owed === null && stream.replacing === 0 && this.#pool.isSettled(stream.id);
  }

  /** Stops computing a stream that is being erased. */
  stop(stream: OpenStream): void {
    stream.owed = null;
    this.#pool.stopComputing(stream.id);
  }

  /** Computes owed ranges when there is room. Call it every second. @param queueBytes of the pool */
  payAll(queueBytes: number): void {
    if (this.#full && queueBytes < this.#options.config.dspQueueBytesMax / 2) this.#full = false;
    if (!this.#full) for (const stream of this.#streams.values()) if (stream.owed !== null) void this.#pay(stream);
  }

  /** Waits until nothing is owed to a stream that is about to be closed. At the deadline its rest stays owed, for `payAll`. */
  async untilPaid(stream: OpenStream, deadlineMs: number, isStopped: () => boolean): Promise<void> {
    while (stream.owed !== null && !isStopped() && performance.now() < deadlineMs) {
      void this.#pay(stream);
      await sleep(PAY_MS);
    }
  }

  /** Never rejects: a range that could not be computed stays owed. */
  async #pay(stream: OpenStream): Promise<void> {
    const { owed } = stream;
    if (owed === null) return;
    stream.owed = null;
    this.#options.metrics.recomputes.inc({ reason: 'late' });
    try {
      await this.#pool.recompute(stream.id, owed.fromNs, owed.toNs);
    } catch (err) {
      if (this.#streams.erasing.has(stream.subjectId)) return;
      owe(stream, owed);
      this.#options.logger.warn({ err, streamId: stream.id }, 'dsp: an owed range could not be computed; it will be tried again');
    }
  }
}

function owe(stream: OpenStream, span: Span): void {
  stream.owed = widened(stream.owed, span);
}
