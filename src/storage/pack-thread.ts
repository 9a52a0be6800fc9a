/** A thread that packs batches. Each partition is packed by itself, and a small frame costs almost as much as a large one: eight of them in
 *  a batch of 80 packets cost the main thread 310 µs, one 120 µs, and handing the batch over to this thread 55 µs
 *  (`npm run bench -- pack-thread`, next to other work). */
import { Worker } from 'node:worker_threads';
import type { Piece } from './log-pieces.ts';

export type ToPack = Readonly<{ entries: Uint8Array; partitions: Uint16Array }>;
/** @param pieces partition, count and length of each, one piece after the other */
export type PackedPieces = Readonly<{ pieces: Int32Array; bytes: Uint8Array }>;

/** A batch takes the thread less than a millisecond. One that has waited this long is left to the caller, ms. */
const ANSWER_MS = 5000;
/** A thread that has not loaded after this long is ended, ms: on a starved machine that takes seconds. */
const READY_MS = 60_000;
/** Pause after the first thread that ended, ms; doubled with each that ends before it has packed a batch, up to the longest. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 60_000;

type Options = Readonly<{
  /** Called with the first of several ends in a row, and with null once a thread packs again. */
  onFault: (message: string, cause: unknown) => void;
  answerMs?: number;
  readyMs?: number;
  pauseMs?: number;
  workerUrl?: URL;
}>;

/** Modes: without a thread (none was needed yet, or the last one has ended and pauses), loading, ready. An end in any of them
 *  leads to the first; a batch that was packed ends the row of ends. */
export class PackThread {
  readonly #options: Options;
  #worker: Worker | null = null;
  #isReady = false;
  #loading: NodeJS.Timeout | undefined;
  /** Threads that ended since a batch was packed. */
  #ends = 0;
  /** performance.now() before which no thread is started. */
  #pausedUntilMs = 0;
  #asked: PromiseWithResolvers<readonly Piece[]> | null = null;
  #isClosing = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Starts the thread with its first call. One batch at a time.
   *  @returns null while the thread is not ready or when it has ended: the caller does without it */
  async pack(entries: Buffer, partitions: readonly number[]): Promise<readonly Piece[] | null> {
    if (this.#worker === null && performance.now() < this.#pausedUntilMs) return null;
    const worker = (this.#worker ??= this.#start());
    if (!this.#isReady) return null;
    const asked = Promise.withResolvers<readonly Piece[]>();
    this.#asked = asked;
    const message: ToPack = { entries: new Uint8Array(entries), partitions: Uint16Array.from(partitions) };
    worker.postMessage(message, [message.entries.buffer as ArrayBuffer]);
    const answerMs = this.#options.answerMs ?? ANSWER_MS;
    const late = setTimeout(() => this.#end(worker, new Error(`no answer within ${answerMs} ms`)), answerMs);
    try {
      return await asked.promise;
    } catch {
      return null;
    } finally {
      clearTimeout(late);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#worker?.terminate();
    this.#isClosing = false;
  }

  #start(): Worker {
    const { workerUrl = new URL('./pack-worker.ts', import.meta.url), readyMs = READY_MS } = this.#options;
    const worker = new Worker(workerUrl, { name: 'pack' });
    worker.unref();
    this.#loading = setTimeout(() => this.#end(worker, new Error(`not ready within ${readyMs} ms`)), readyMs).unref();
    worker.on('message', (message: 'ready' | PackedPieces) => {
      if (this.#worker !== worker) return; // it was given up
      if (message === 'ready') {
        clearTimeout(this.#loading);
        this.#isReady = true;
      } else this.#settle(message);
    });
    worker.on('error', (error) => this.#end(worker, error));
    worker.on('messageerror', (error) => this.#end(worker, error));
    worker.on('exit', (code) => this.#end(worker, new Error(`the thread ended with code ${code}`)));
    return worker;
  }

  /** Nobody waits for the thread any more, however long it takes to end. */
  #end(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#loading);
    this.#worker = null;
    this.#isReady = false;
    if (!this.#isClosing) {
      this.#pausedUntilMs = performance.now() + Math.min(PAUSE_MS_MAX, (this.#options.pauseMs ?? PAUSE_MS) * 2 ** this.#ends);
      if (++this.#ends === 1) this.#options.onFault('the packet log packs without its thread for now', cause);
    }
    this.#asked?.reject(new Error('the thread has ended'));
    this.#asked = null;
    void worker.terminate();
  }

  #settle({ pieces, bytes }: PackedPieces): void {
    const found: Piece[] = [];
    let at = 0;
    for (let i = 0; i < pieces.length; i += 3) {
      const end = at + pieces[i + 2]!;
      found.push({ partition: pieces[i]!, count: pieces[i + 1]!, data: Buffer.from(bytes.buffer, at, end - at) });
      at = end;
    }
    this.#asked?.resolve(found);
    this.#asked = null;
    if (this.#ends > 0) this.#options.onFault('the packet log packs with its thread again', null);
    this.#ends = 0;
  }
}
