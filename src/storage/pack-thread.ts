/** A thread that packs batches. Each partition is packed by itself, and a small frame costs almost as much as a large one: eight of them in
 *  a batch of 80 packets cost the main thread 310 µs, one 120 µs, and handing the batch over to this thread 55 µs
 *  (`npm run bench -- pack-thread`, next to other work). */
import { Worker } from 'node:worker_threads';
import type { Piece } from './log-pieces.ts';

export type ToPack = Readonly<{ entries: Uint8Array; partitions: Uint16Array }>;
/** @param pieces partition, count and length of each, one piece after the other */
export type PackedPieces = Readonly<{ pieces: Int32Array; bytes: Uint8Array }>;

/** A batch takes the thread less than a millisecond. One that has waited this long is packed by the caller, ms. */
const ANSWER_MS = 5000;
/** Pause after a thread that ended before it was ready, and would do so again, ms. */
const PAUSE_MS = 60_000;

type Options = Readonly<{ onFault: (message: string, cause: unknown) => void; answerMs?: number; pauseMs?: number }>;

export class PackThread {
  readonly #options: Options;
  #worker: Worker | null = null;
  #isReady = false;
  /** performance.now() before which no thread is started. */
  #pausedUntilMs = 0;
  #asked: PromiseWithResolvers<readonly Piece[]> | null = null;
  #isClosing = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Starts the thread with its first call. One batch at a time.
   *  @returns null while the thread is not ready or when it has ended: the caller packs the batch itself */
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
    const worker = new Worker(new URL('./pack-worker.ts', import.meta.url), { name: 'pack' });
    worker.unref();
    worker.on('message', (message: 'ready' | PackedPieces) => {
      if (this.#worker !== worker) return; // it was given up
      if (message === 'ready') this.#isReady = true;
      else this.#settle(message);
    });
    worker.on('error', (error) => this.#end(worker, error));
    worker.on('messageerror', (error) => this.#end(worker, error));
    worker.on('exit', (code) => this.#end(worker, new Error(`the thread ended with code ${code}`)));
    return worker;
  }

  /** Nobody waits for the thread any more, however long it takes to end. */
  #end(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    if (!this.#isReady) this.#pausedUntilMs = performance.now() + (this.#options.pauseMs ?? PAUSE_MS);
    this.#isReady = false;
    if (!this.#isClosing) this.#options.onFault('the packet log packs without its thread for now', cause);
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
  }
}
