/** The pages of rows of a recording: which one has a time, and its signal and quality, asked for in parts and kept. */
import { Failed } from './ask-again.ts';
import type { Envelope, Quality, RecordingSource } from './recording-source.ts';

const ROWS = 10;
/** Of a page of a recording that goes on, whose last rows are read again and again. */
const PAGE_PARTS = 5;
/** Of a page: for each row as many as pixels of a wide screen. */
const PAGE_BUCKETS = 20_000;
const PARTS_KEPT = 20;

/** What is read of a page. */
export type What = 'signal' | 'quality';

export type Page = Readonly<{ fromMs: number; rowMs: number; count: number }>;

/** A part of a page that is not there, and why. */
export type AbsentPart = Readonly<{ fromMs: number; toMs: number; why: 'loading' | 'failed' }>;

export const pageMs = ({ rowMs, count }: Page): number => rowMs * count;

/** The page that has a time. Pages follow one another from the beginning; the last one begins earlier, so that it is full.
 *  @param recording `goesOn`: rows come at its end, and those that are there stay where they are
 *  @param before the page that was shown: a step within it does not turn it */
export function pageAt(
  { startMs, endMs, goesOn }: Readonly<{ startMs: number; endMs: number; goesOn: boolean }>,
  atMs: number,
  rowMs: number,
  before: Page | null,
): Page {
  const total = Math.max(1, Math.ceil((endMs - startMs) / rowMs));
  const count = goesOn ? ROWS : Math.min(ROWS, total);
  const lengthMs = count * rowMs;
  if (before?.rowMs === rowMs && before.count === count && atMs >= before.fromMs && atMs < before.fromMs + lengthMs) return before;
  const grid = startMs + Math.floor((atMs - startMs) / lengthMs) * lengthMs;
  return { fromMs: goesOn ? grid : Math.min(grid, startMs + (total - count) * rowMs), rowMs, count };
}

export class RecordingPages {
  readonly #source: RecordingSource;
  readonly #onChange: (what: What) => void;
  readonly #closing = new AbortController();
  #shown: Page | null = null;
  /** Which way it was turned last. */
  #turned: 1 | -1 = 1;
  /** Parts of pages, by their beginning, length and channel; null: without samples. */
  readonly #parts = new Map<string, Envelope | null>();
  readonly #requests = new Map<string, AbortController>();
  /** Parts and qualities that could not be read, by their key. */
  readonly #failed = new Failed();
  /** Of pages, by their beginning, length and channel; null: asked for, or not judged. */
  readonly #qualities = new Map<string, Quality | null>();
  /** Keys of parts and qualities that are shown until they are read again. */
  readonly #stale = new Set<string>();

  /** @param onChange called when what was asked for is there */
  constructor(source: RecordingSource, onChange: (what: What) => void) {
    [this.#source, this.#onChange] = [source, onChange];
  }

  /** The page that is shown while the strip is at a time. */
  at(atMs: number, rowSec: number): Page {
    const page = pageAt(this.#source, atMs, rowSec * 1000, this.#shown);
    if (this.#shown !== null && page.fromMs !== this.#shown.fromMs) this.#turned = page.fromMs > this.#shown.fromMs ? 1 : -1;
    return (this.#shown = page);
  }

  /** Asks for the page to which one more turn leads, once all of this one is here. */
  askNext(channel: string): void {
    const page = this.#shown;
    const { goesOn, startMs, endMs } = this.#source;
    if (page === null || goesOn || this.absent(page, channel).length > 0) return;
    const next = pageAt(this.#source, page.fromMs + this.#turned * pageMs(page), page.rowMs, page);
    if (next.fromMs < startMs || next.fromMs >= endMs || next.fromMs === page.fromMs) return;
    this.envelopes(next, channel);
    this.qualities(next, channel);
  }

  /** What is here of a page; the rest is asked for, and comes. */
  envelopes(page: Page, channel: string): readonly Envelope[] {
    return this.#partsOf(page)
      .filter(({ fromMs }) => fromMs <= this.#source.endMs)
      .flatMap(({ fromMs, partMs }) => this.#part(fromMs, partMs, channel) ?? []);
  }

  #partsOf(page: Page): readonly Readonly<{ fromMs: number; partMs: number }>[] {
    const length = this.#source.goesOn ? PAGE_PARTS : 1;
    const partMs = pageMs(page) / length;
    return Array.from({ length }, (_, part) => ({ fromMs: page.fromMs + part * partMs, partMs }));
  }

  /** What is not here of a page. Call it after `envelopes`, which asks for it. */
  absent(page: Page, channel: string): readonly AbsentPart[] {
    return this.#partsOf(page).flatMap(({ fromMs, partMs }) => {
      const key = `${fromMs} ${partMs} ${channel}`;
      const why = this.#failed.has(key) ? 'failed' : this.#requests.has(key) ? 'loading' : null;
      const known = this.#parts.get(key);
      return why === null || known || (known === null && why === 'loading') ? [] : [{ fromMs, toMs: fromMs + partMs, why }];
    });
  }

  #fail(what: What, key: string, error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#failed.add(key, error, () => this.#closing.signal.aborted || this.#onChange(what));
    this.#onChange(what);
  }

  #part(fromMs: number, partMs: number, channel: string): Envelope | null {
    const key = `${fromMs} ${partMs} ${channel}`;
    const known = this.#parts.get(key) ?? null;
    const isWanted = !this.#parts.has(key) || this.#stale.has(key);
    if (isWanted && !this.#requests.has(key) && this.#failed.mayAsk(key)) {
      for (const [other, request] of this.#requests) if (!this.#isShown(other)) request.abort();
      const request = new AbortController();
      this.#requests.set(key, request);
      this.#stale.delete(key);
      this.#source
        .envelopes(fromMs, fromMs + partMs, Math.round((PAGE_BUCKETS * partMs) / pageMs(this.#shown!)), [channel], request.signal)
        .then((found) => {
          if (this.#parts.size > PARTS_KEPT) this.#parts.delete(this.#parts.keys().next().value!);
          this.#parts.set(key, found[0] ?? null);
          this.#failed.delete(key);
        })
        .catch((error: unknown) => {
          if (this.#parts.has(key)) this.#stale.add(key); // asked for again after the next step, or in a while
          if (!request.signal.aborted) this.#fail('signal', key, error);
        })
        .finally(() => {
          if (this.#requests.get(key) === request) this.#requests.delete(key);
          this.#onChange('signal');
        });
    }
    return known;
  }

  /** How far a channel can be trusted: on a page, and on the ones next to it where they are known. */
  qualities(page: Page, channel: string): readonly Quality[] {
    const { fromMs } = page;
    const key = `${fromMs} ${pageMs(page)} ${channel}`;
    const name = `quality ${key}`;
    const isStale = this.#stale.has(name);
    if ((isStale || !this.#qualities.has(key)) && this.#failed.mayAsk(name)) {
      this.#stale.delete(name);
      this.#qualities.set(key, this.#qualities.get(key) ?? null);
      if (this.#qualities.size > PARTS_KEPT) this.#qualities.delete(this.#qualities.keys().next().value!);
      void this.#source
        .quality(channel, this.#closing.signal, [fromMs, fromMs + pageMs(page)])
        .then((quality) => {
          this.#qualities.set(key, quality);
          this.#failed.delete(name);
          this.#onChange('quality');
        })
        .catch((error: unknown) => {
          if (isStale) this.#stale.add(name);
          else this.#qualities.delete(key);
          this.#fail('quality', name, error);
        });
    }
    return [...this.#qualities.values()].filter((quality) => quality?.channel === channel) as Quality[];
  }

  /** Is a part of a page one of the page that is shown? */
  #isShown(key: string): boolean {
    const [fromMs, toMs] = spanOf(key);
    return this.#shown !== null && toMs > this.#shown.fromMs && fromMs < this.#shown.fromMs + pageMs(this.#shown);
  }

  /** What is later than a time is asked for again; what is here of it stays until then. */
  renewAfter(ms: number): void {
    for (const key of this.#parts.keys()) if (spanOf(key)[1] > ms) this.#stale.add(key);
    for (const key of this.#qualities.keys()) if (spanOf(key)[1] > ms) this.#stale.add(`quality ${key}`);
  }

  close(): void {
    this.#closing.abort();
    for (const request of this.#requests.values()) request.abort();
  }
}

/** [from, to) of a key, Unix ms. */
function spanOf(key: string): readonly [number, number] {
  const [fromMs, lengthMs] = key.split(' ').map(Number) as [number, number];
  return [fromMs, fromMs + lengthMs];
}
