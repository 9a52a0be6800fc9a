/** Pieces of a recording: fetched when they are looked at, kept while they are among the last that were. */
import { Failed } from '../shared/ask-again.ts';

export type Piece = Readonly<{ fromMs: number; lengthMs: number; channel: string }>;

export class Pieces<T> {
  readonly #of: PiecesOf<T>;
  readonly #closing = new AbortController();
  /** By key, the one that was looked at last at the end; null: there is nothing. */
  readonly #kept = new Map<string, Readonly<{ piece: Piece; value: T | null }>>();
  readonly #requests = new Map<string, Readonly<{ piece: Piece; request: AbortController }>>();
  readonly #failed = new Failed();
  /** Keys of those that are shown until they are read again. */
  readonly #stale = new Set<string>();

  constructor(of: PiecesOf<T>) {
    this.#of = of;
  }

  /** What is here of it; else, or if it may have changed, it is fetched. */
  get(piece: Piece): T | null {
    const key = keyOf(piece);
    const known = this.#kept.get(key);
    if (known !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, known);
    }
    const isAsked = known === undefined || this.#stale.has(key);
    if (isAsked && !this.#requests.has(key) && this.#failed.mayAsk(key)) void this.#fetch(key, piece);
    return known?.value ?? null;
  }

  /** Why it is not here; null: it is, there is nothing, or nobody has asked for it. */
  absence(piece: Piece): 'loading' | 'failed' | null {
    const key = keyOf(piece);
    const known = this.#kept.get(key);
    if (this.#failed.has(key)) return known?.value ? null : 'failed';
    return this.#requests.has(key) && known === undefined ? 'loading' : null;
  }

  /** Everything that is here. */
  get values(): readonly T[] {
    return [...this.#kept.values()].flatMap(({ value }) => value ?? []);
  }

  /** What ends later than a time is read again; what is here of it stays until then. */
  renewAfter(ms: number): void {
    for (const [key, { piece }] of this.#kept) if (piece.fromMs + piece.lengthMs > ms) this.#stale.add(key);
  }

  /** What could not be read is asked for again when it is needed, also what was refused. */
  askAgain(): void {
    this.#failed.clear();
  }

  close(): void {
    this.#closing.abort();
    for (const { request } of this.#requests.values()) request.abort();
  }

  async #fetch(key: string, piece: Piece): Promise<void> {
    for (const { piece: other, request } of this.#requests.values()) if (!this.#of.isWanted(other)) request.abort();
    const request = new AbortController();
    this.#requests.set(key, { piece, request });
    this.#stale.delete(key);
    try {
      const value = await this.#of.read(piece, request.signal);
      this.#kept.delete(key);
      this.#kept.set(key, { piece, value });
      this.#failed.delete(key);
      if (!this.#of.isShown(piece) && !this.#closing.signal.aborted) this.#of.onPrefetched(piece);
      for (const [oldest, { piece: other }] of this.#kept) {
        if (this.#kept.size <= this.#of.keptMax) break;
        if (!this.#of.isWanted(other)) this.#kept.delete(oldest);
      }
    } catch (error) {
      if (this.#kept.has(key)) this.#stale.add(key); // asked for again after the next step, or in a while
      // What was only prefetched is asked for when it is shown.
      if (!request.signal.aborted && this.#of.isShown(piece)) this.#failed.add(key, error, () => this.#tell(piece));
    } finally {
      this.#requests.delete(key);
      this.#tell(piece);
    }
  }

  #tell(piece: Piece): void {
    if (!this.#closing.signal.aborted && this.#of.isShown(piece)) this.#of.onChange();
  }
}

export type PiecesOf<T> = Readonly<{
  /** @returns null: there is nothing */
  read: (piece: Piece, signal: AbortSignal) => Promise<T | null>;
  isShown: (piece: Piece) => boolean;
  /** Is it waited for, and kept, whatever else is fetched? */
  isWanted: (piece: Piece) => boolean;
  /** One that is not shown has come. */
  onPrefetched: (piece: Piece) => void;
  /** One that is shown has come, or could not be read, or may be asked for again. */
  onChange: () => void;
  keptMax: number;
}>;

const keyOf = ({ fromMs, lengthMs, channel }: Piece): string => `${fromMs} ${lengthMs} ${channel}`;
