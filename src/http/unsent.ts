/** Long answers whose peers read slowly: what waits for all of them is bounded. Beyond the bound, the caller who holds most loses the
 *  oldest of its answers: the connection is closed, so that the peer sees that it is incomplete. */

/** Bytes for which an answer counts that is written in pieces while it waits: a page of samples behind it. */
export const STREAM_BYTES = 8 * 1024 * 1024;

/** An answer that waits. */
export type Waiting = Readonly<{ bytes: number; cut: () => void }>;

export class Unsent {
  readonly #bytesMax: number;
  readonly #onCut: (heldBytes: number) => void;
  /** By caller, the oldest first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #bytes = 0;

  /** @param onCut called for each answer that is cut off, with what waited then */
  constructor(bytesMax: number, onCut: (heldBytes: number) => void) {
    this.#bytesMax = bytesMax;
    this.#onCut = onCut;
  }

  /** The only answer that waits is never cut off.  @returns to be called when it waits no more; may be called twice */
  add(caller: string, answer: Waiting): () => void {
    let own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, (own = new Set()));
    own.add(answer);
    this.#bytes += answer.bytes;
    while (this.#bytes > this.#bytesMax && this.#cutOne());
    return () => this.#remove(caller, answer);
  }

  #cutOne(): boolean {
    let [most, greedy]: [number, string | null] = [0, null];
    let count = 0;
    for (const [caller, answers] of this.#waiting) {
      let bytes = 0;
      for (const answer of answers) bytes += answer.bytes;
      count += answers.size;
      if (bytes > most) [most, greedy] = [bytes, caller];
    }
    const [oldest] = this.#waiting.get(greedy ?? '') ?? [];
    if (count < 2 || greedy === null || oldest === undefined) return false;
    this.#onCut(this.#bytes);
    this.#remove(greedy, oldest);
    oldest.cut();
    return true;
  }

  #remove(caller: string, answer: Waiting): void {
    const own = this.#waiting.get(caller);
    if (own?.delete(answer) !== true) return;
    this.#bytes -= answer.bytes;
    if (own.size === 0) this.#waiting.delete(caller);
  }
}
