/** A thread that packs batches. Each partition is packed by itself, and a small frame costs almost as much as a large one: eight of them in
 *  a batch of 80 packets cost the main thread 310 µs, one 120 µs, and handing the batch over to this thread 55 µs
 *  (`npm run bench -- pack-thread`, next to other work). */
import { Worker } from 'node:worker_threads';
import type { Piece } from './log-pieces.ts';

export type ToPack = Readonly<{ entries: Uint8Array; partitions: Uint16Array }>;
/** @param pieces partition, count and length of each, one piece after the other */
export type PackedPieces = Readonly<{ pieces: Int32Array; bytes: Uint8Array }>;

export class PackThread {
  #worker: Worker | null = null;
  #isReady = false;
  /** It ended before it was ready, and would do so again. */
  #isBroken = false;
  #asked: PromiseWithResolvers<readonly Piece[]> | null = null;

  /** Starts the thread with its first call. One batch at a time.
   *  @returns null while the thread is not ready or when it has ended: the caller packs the batch itself */
  async pack(entries: Buffer, partitions: readonly number[]): Promise<readonly Piece[] | null> {
    if (this.#isBroken) return null;
    const worker = (this.#worker ??= this.#start());
    if (!this.#isReady) return null;
    const asked = Promise.withResolvers<readonly Piece[]>();
    this.#asked = asked;
    const message: ToPack = { entries: new Uint8Array(entries), partitions: Uint16Array.from(partitions) };
    worker.postMessage(message, [message.entries.buffer as ArrayBuffer]);
    return await asked.promise.catch(() => null);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./pack-worker.ts', import.meta.url), { name: 'pack' });
    worker.unref();
    worker.on('message', (message: 'ready' | PackedPieces) => {
      if (message === 'ready') this.#isReady = true;
      else this.#settle(message);
    });
    const ended = (): void => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#isBroken = !this.#isReady;
      this.#isReady = false;
      this.#asked?.reject(new Error('the thread has ended'));
      this.#asked = null;
    };
    worker.on('error', ended);
    worker.on('exit', ended);
    return worker;
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
