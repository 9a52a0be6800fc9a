/** One worker thread and its queue: sends batches, receives rows, and recovers when the thread dies. */
import { Piscina } from 'piscina';
import type { ChannelNo, Samples } from '../../signal.ts';
import type { BatchAnswer, Control, EngineOutput, Refusal } from './wire.ts';
import { Batch, readOutputs, recordWidth } from './wire.ts';

export type LaneOptions = Readonly<{
  /** Module with runBatch(). */
  workerUrl: string;
  batchRunsMin: number;
  /** A batch is closed at this size, bytes of samples. */
  batchBytesMax: number;
  lingerMs: number;
  /** How long a stream's runs are collected, so that the state of its engine is fetched into the cache once for all of them, ms; 0: not. */
  holdMs: number;
  /** A batch that takes longer ends the thread. Counted from when the thread has loaded its module: on a starved machine that alone takes
   *  seconds, and ending it for that would begin it again. */
  taskTimeoutMs: number;
  /** Heap of the thread, MB; more ends it as a crash does. */
  heapMbMax: number;
  onOutputs: (outputs: readonly EngineOutput[]) => void;
  /** No engine could be made: its handle gives nothing. */
  onRefused: (refusal: Refusal) => void;
  /** The thread died: its engines are gone, what was queued was dropped. `batch` is the one it died on. */
  onCrash: (batch: Batch, dropped: ReadonlySet<number>, cause: unknown) => void;
  /** Called with errors thrown by listeners; the lane continues. */
  onFault: (message: string, cause: unknown) => void;
}>;

/** A stream's runs and passes (no samples) that its engine has not got yet. */
type Held = {
  sinceMs: number;
  bytes: number;
  items: { channelNo: ChannelNo; k: number; samples: Samples | null; qmask: Uint8Array | null }[];
};

/** A thread that has not loaded after so long is ended, too. */
const loadTimeoutMs = 180_000;

/** Time budget per sweep, ms. The event loop is blocked for that long. */
const sweepTurnMs = 3;

/** More is handed over at once, bytes of samples of one stream. */
const heldBytesMax = 1 << 15;

/** Modes: idle (nothing in flight; a started batch waits for company or for its linger), busy (one batch in flight, others queue behind),
 *  closed (takes nothing). A batch that fails moves it through a fresh thread back to idle; all queued batches are dropped, because the
 *  engines they were meant for are gone: their streams are loaded again. */
export class FeatureLane {
  readonly #options: LaneOptions;
  #thread: Piscina;
  /** Resolves when the thread has answered for the first time. */
  #loaded: Promise<unknown>;
  #open = new Batch();
  readonly #queue: Batch[] = [];
  readonly #spare: Batch[] = [];
  #inFlight: Batch | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Handles that get batches of their own: one of them may be what kills the thread. */
  readonly #alone = new Set<number>();
  #openAlone = -1;
  #closed = false;
  readonly #held = new Map<number, Held>();
  #sweeper: NodeJS.Timeout | null = null;
  queueBytes = 0;
  batchCount = 0;
  sampleCount = 0;
  /** Threads that were lost. */
  lossCount = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#thread = this.#startThread();
    this.#loaded = this.#load();
  }

  /** Takes ownership of the arrays. */
  run(handle: number, channelNo: ChannelNo, k: number, samples: Samples, qmask: Uint8Array | null): void {
    if (!this.#holds(handle)) {
      this.#runNow(handle, channelNo, k, samples, qmask);
      this.#send(false);
      return;
    }
    const held = this.#heldOf(handle);
    const bytes = samples.byteLength + (qmask?.byteLength ?? 0);
    held.items.push({ channelNo, k, samples, qmask });
    held.bytes += bytes;
    this.queueBytes += bytes;
    if (held.bytes < heldBytesMax) return;
    this.#letGo(handle);
    this.#send(false);
  }

  #runNow(handle: number, channelNo: ChannelNo, k0: number, samples: Samples, qmask: Uint8Array | null): void {
    const before = this.#batchFor(handle).payloadBytes;
    this.#open.run(handle, channelNo, k0, samples, qmask);
    this.queueBytes += this.#open.payloadBytes - before;
    if (this.#open.payloadBytes >= this.#options.batchBytesMax) this.#rotate();
  }

  pass(handle: number, channelNo: ChannelNo, k: number): void {
    if (this.#holds(handle)) {
      this.#heldOf(handle).items.push({ channelNo, k, samples: null, qmask: null });
      return;
    }
    this.#batchFor(handle).pass(handle, channelNo, k);
    this.#send(false);
  }

  control(control: Control): void {
    this.#letGo(control.handle);
    this.#batchFor(control.handle).control(control);
    this.#send(false);
  }

  /** Resolves when everything handed over so far has been processed and its rows given out; rejects when the thread dies before. */
  fence(): Promise<void> {
    for (const handle of this.#held.keys()) this.#letGo(handle);
    const last = this.#open.recordCount > 0 ? this.#open : (this.#queue[this.#queue.length - 1] ?? this.#inFlight);
    if (last === null) return Promise.resolve();
    const done = new Promise<void>((resolve, reject) => {
      last.done.push((failed) => (failed === null ? resolve() : reject(failed as Error)));
    });
    this.#send(true);
    return done;
  }

  /** Keeps a handle's records apart from others' (or no longer). */
  setAlone(handle: number, alone: boolean): void {
    this.#letGo(handle);
    if (alone) this.#alone.add(handle);
    else this.#alone.delete(handle);
  }

  /** Age of the oldest record that is not done, ms. */
  lagMs(nowMs: number): number {
    const oldest = this.#inFlight ?? this.#queue[0] ?? this.#open;
    // the map keeps the order in which holding began
    const [held] = this.#held.values();
    const sinceMs = Math.min(oldest.recordCount === 0 ? nowMs : oldest.sinceMs, held?.sinceMs ?? nowMs);
    return nowMs - sinceMs;
  }

  /** Sends what waits, takes the rows, stops the thread. */
  async close(): Promise<void> {
    if (this.#closed) return;
    await this.fence().catch(() => {});
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#sweeper !== null) clearTimeout(this.#sweeper);
    await this.#thread.destroy();
  }

  #startThread(): Piscina {
    return new Piscina({
      filename: this.#options.workerUrl,
      name: 'runBatch',
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMbMax },
    });
  }

  #load(): Promise<unknown> {
    const loaded = this.#answer(new Batch(), loadTimeoutMs);
    loaded.catch(() => {}); // the batch that waits for it says so
    return loaded;
  }

  /** What the thread makes of a batch; rejects when it dies or gives no answer in time, and ends it then. */
  async #answer(batch: Batch, timeoutMs: number): Promise<BatchAnswer> {
    const abort = new AbortController();
    const watchdog = setTimeout(() => abort.abort(new Error('the worker gave no answer')), timeoutMs);
    try {
      return (await this.#thread.run(batch.task(), { signal: abort.signal })) as BatchAnswer;
    } finally {
      clearTimeout(watchdog);
    }
  }

  #holds(handle: number): boolean {
    return this.#options.holdMs > 0 && !this.#alone.has(handle);
  }

  #heldOf(handle: number): Held {
    let held = this.#held.get(handle);
    if (held === undefined) {
      held = { sinceMs: performance.now(), bytes: 0, items: [] };
      this.#held.set(handle, held);
      this.#sweepLater();
    }
    return held;
  }

  #sweepLater(): void {
    this.#sweeper ??= setTimeout(() => {
      this.#sweeper = null;
      this.#sweep();
    }, this.#options.holdMs / 4);
  }

  #sweep(): void {
    const begunMs = performance.now();
    for (const [handle, held] of this.#held) {
      if (held.sinceMs > begunMs - this.#options.holdMs) break;
      if (performance.now() - begunMs > sweepTurnMs) {
        setImmediate(() => this.#sweep());
        return;
      }
      this.#letGo(handle);
    }
    if (this.#held.size > 0 && !this.#closed) this.#sweepLater();
    this.#send(false);
  }

  /** Puts what is held of a stream into the batch, together. */
  #letGo(handle: number): void {
    const held = this.#held.get(handle);
    if (held === undefined) return;
    this.#held.delete(handle);
    this.queueBytes -= held.bytes;
    for (const { channelNo, k, samples, qmask } of held.items) {
      if (samples === null) this.#batchFor(handle).pass(handle, channelNo, k);
      else this.#runNow(handle, channelNo, k, samples, qmask);
    }
  }

  #batchFor(handle: number): Batch {
    const owner = this.#alone.has(handle) ? handle : -1;
    if (owner !== this.#openAlone) {
      if (this.#open.recordCount > 0) this.#rotate();
      this.#openAlone = owner;
    }
    if (this.#open.recordCount === 0) this.#open.sinceMs = performance.now();
    return this.#open;
  }

  #rotate(): void {
    this.#queue.push(this.#open);
    this.#open = this.#spare.pop() ?? new Batch();
    this.#openAlone = -1;
  }

  #send(now: boolean): void {
    if (this.#inFlight !== null || this.#closed) return;
    let batch = this.#queue.shift();
    if (batch === undefined) {
      if (this.#open.recordCount === 0) return;
      const wait = this.#open.sinceMs + this.#options.lingerMs - performance.now();
      if (!now && wait > 0 && this.#open.runCount < this.#options.batchRunsMin && this.#open.done.length === 0) {
        this.#timer ??= setTimeout(() => {
          this.#timer = null;
          this.#send(true);
        }, wait);
        return;
      }
      batch = this.#open;
      this.#open = this.#spare.pop() ?? new Batch();
      this.#openAlone = -1;
    }
    this.#inFlight = batch;
    void this.#process(batch);
  }

  async #process(batch: Batch): Promise<void> {
    let outputs: EngineOutput[];
    let refused: readonly Refusal[];
    try {
      await this.#loaded;
      const answer = await this.#answer(batch, this.#options.taskTimeoutMs);
      refused = answer instanceof Float64Array ? [] : answer.refused;
      outputs = readOutputs(answer instanceof Float64Array ? answer : answer.rows);
    } catch (cause) {
      this.#recover(batch, cause);
      return;
    }
    this.queueBytes -= batch.payloadBytes;
    this.batchCount++;
    this.sampleCount += batch.sampleCount;
    this.#inFlight = null;
    this.#tell(() => {
      for (const refusal of refused) this.#options.onRefused(refusal);
      this.#options.onOutputs(outputs);
    });
    for (const done of batch.done) done(null);
    batch.clear();
    if (this.#spare.length < 2 && batch.payload.byteLength <= 2 * this.#options.batchBytesMax) this.#spare.push(batch);
    this.#send(false);
  }

  /** Nobody waits for the promise that this runs in: an error here would end the process. */
  #tell(how: () => void): void {
    try {
      how();
    } catch (cause) {
      this.#options.onFault('dsp: what a worker gave could not be handed on', cause);
    }
  }

  #recover(batch: Batch, cause: unknown): void {
    this.lossCount++;
    const lost = [...this.#queue.splice(0), this.#open];
    this.#open = new Batch();
    this.#openAlone = -1;
    this.queueBytes = 0;
    const dropped = new Set<number>();
    for (const b of lost) for (const handle of handlesOf(b)) dropped.add(handle);
    for (const handle of this.#held.keys()) dropped.add(handle);
    this.#held.clear();
    this.#thread.destroy().catch(() => {});
    this.#thread = this.#startThread();
    this.#loaded = this.#load();
    this.#inFlight = null;
    this.#tell(() => this.#options.onCrash(batch, dropped, cause));
    for (const b of [batch, ...lost]) for (const done of b.done) done(cause ?? new Error('worker lost'));
    this.#send(false);
  }
}

/** Handles that a batch has records of. */
export function handlesOf(batch: Batch): Set<number> {
  const handles = new Set<number>();
  for (let i = 0; i < batch.recordCount; i++) handles.add(batch.records[i * recordWidth + 1]!);
  return handles;
}
