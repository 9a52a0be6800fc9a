/** The pages of rows of a recording: which one has a time, and its signal and quality. The next page is prefetched. */
import { Pieces } from './recording-pieces.ts';
import type { Piece } from './recording-pieces.ts';
import type { Envelope, Quality, RecordingSource } from './recording-source.ts';

const ROWS = 10;
/** Of a row: as many as pixels of a wide screen. */
const ROW_BUCKETS = 2000;
/** Of an answer, and of one of a service of an earlier release. */
const BUCKETS_MAX = 20_000;
const OLD_BUCKETS_MAX = 5000;
/** Of an answer: from more samples the service makes buckets of seconds. */
const SAMPLES_MAX = 2_000_000;
/** Of slower signals a page has the samples, with those on both sides: buckets hold two samples at least. */
const SLOW_HZ = 4;
/** Of the last page of a recording that goes on: its last rows are read again and again. */
const LAST_PARTS = 5;
const KEPT = 20;

/** What is drawn of a page. */
export type PageLayer = 'signal' | 'quality';

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
  if (before?.rowMs === rowMs && before.count === count && atMs >= before.fromMs && atMs < before.fromMs + lengthMs) {
    // One whose last rows were still to come when the recording ended is replaced by a full one.
    if (goesOn || before.fromMs + lengthMs <= startMs + total * rowMs) return before;
  }
  const grid = startMs + Math.floor((atMs - startMs) / lengthMs) * lengthMs;
  return { fromMs: goesOn ? grid : Math.min(grid, startMs + (total - count) * rowMs), rowMs, count };
}

export class RecordingPages {
  readonly #source: RecordingSource;
  readonly #signals: Pieces<Envelope>;
  readonly #qualities: Pieces<Quality>;
  #shown: Page | null = null;
  /** The ones next to it, that the next turn leads to first. */
  #near: readonly Page[] = [];
  /** Which way it was turned last. */
  #turned: 1 | -1 = 1;
  #bucketsMax = BUCKETS_MAX;
  /** In how many parts the signal of a page was fetched first: it stays so when a recording ends. */
  readonly #partCounts = new Map<string, number>();

  /** @param onChange called when what is drawn of the page has changed */
  constructor(source: RecordingSource, onChange: (layer: PageLayer) => void) {
    this.#source = source;
    const common = {
      isShown: (piece: Piece) => overlaps(piece, this.#shown),
      isWanted: (piece: Piece) => [this.#shown, ...this.#near].some((page) => overlaps(piece, page)),
      onPrefetched: ({ channel }: Piece) => queueMicrotask(() => this.prefetch(channel)),
      keptMax: KEPT,
    };
    this.#signals = new Pieces({
      ...common,
      read: (piece, signal) => this.#readSignal(piece, signal),
      onChange: () => onChange('signal'),
    });
    this.#qualities = new Pieces({
      ...common,
      read: ({ fromMs, lengthMs, channel }, signal) => source.quality(channel, signal, [fromMs, fromMs + lengthMs]),
      onChange: () => onChange('quality'),
    });
  }

  /** The page that is shown while the strip is at a time. */
  at(atMs: number, rowSec: number): Page {
    const before = this.#shown;
    const page = pageAt(this.#source, atMs, rowSec * 1000, before);
    if (page.rowMs === before?.rowMs && page.fromMs !== before.fromMs) this.#turned = page.fromMs > before.fromMs ? 1 : -1;
    return (this.#shown = page);
  }

  /** What is here of its signal; the rest is fetched. */
  envelopes(page: Page, channel: string): readonly Envelope[] {
    return this.#partsOf(page, channel).flatMap((part) => this.#signals.get(part) ?? []);
  }

  /** What is not here of its signal. Call it after `envelopes`, which fetches it. */
  absent(page: Page, channel: string): readonly AbsentPart[] {
    return this.#partsOf(page, channel).flatMap((part) => {
      const why = this.#signals.absence(part);
      return why === null ? [] : [{ fromMs: part.fromMs, toMs: part.fromMs + part.lengthMs, why }];
    });
  }

  /** How far a channel can be trusted: on a page, which is fetched, and on those that are here. */
  qualities(page: Page, channel: string): readonly Quality[] {
    this.#qualities.get({ fromMs: page.fromMs, lengthMs: pageMs(page), channel });
    return this.#qualities.values.filter((quality) => quality.channel === channel);
  }

  /** Prefetches the page that the next turn leads to, once all of the shown one is here, then the one on its other side. */
  prefetch(channel: string): void {
    const page = this.#shown;
    if (page === null || !this.#isRead(page, channel)) return;
    const { startMs, endMs } = this.#source;
    this.#near = [this.#turned, -this.#turned].flatMap((by) => {
      const next = pageAt(this.#source, Math.max(startMs, page.fromMs + by * pageMs(page)), page.rowMs, page);
      return next.fromMs === page.fromMs || next.fromMs > endMs ? [] : next;
    });
    for (const next of this.#near) {
      this.envelopes(next, channel);
      this.qualities(next, channel);
      if (!this.#isRead(next, channel)) return;
    }
  }

  #isRead(page: Page, channel: string): boolean {
    if (this.absent(page, channel).length > 0) return false;
    return this.#qualities.absence({ fromMs: page.fromMs, lengthMs: pageMs(page), channel }) !== 'loading';
  }

  /** What is later than a time is read again; what is here of it stays until then. */
  renewAfter(ms: number): void {
    this.#signals.renewAfter(ms);
    this.#qualities.renewAfter(ms);
  }

  /** A part of a page could not be read. */
  isUnread(page: Page, channel: string): boolean {
    const quality = this.#qualities.absence({ fromMs: page.fromMs, lengthMs: pageMs(page), channel });
    return quality === 'failed' || this.absent(page, channel).some(({ why }) => why === 'failed');
  }

  askAgain(): void {
    this.#signals.askAgain();
    this.#qualities.askAgain();
  }

  close(): void {
    this.#signals.close();
    this.#qualities.close();
  }

  #partsOf(page: Page, channel: string): readonly Piece[] {
    const key = `${page.fromMs} ${pageMs(page)} ${channel}`;
    const count = this.#partCounts.get(key) ?? this.#countFor(page, channel);
    if (this.#partCounts.size > KEPT) this.#partCounts.clear();
    this.#partCounts.set(key, count);
    const lengthMs = pageMs(page) / count;
    const parts = Array.from({ length: count }, (_, part) => ({ fromMs: page.fromMs + part * lengthMs, lengthMs, channel }));
    return parts.filter(({ fromMs }) => fromMs <= this.#source.endMs);
  }

  #countFor(page: Page, channel: string): number {
    const rateHz = this.#rateHz(channel);
    return Math.max(
      this.#source.goesOn && page.fromMs + pageMs(page) > this.#source.unsettledMs ? LAST_PARTS : 1,
      Math.ceil((ROW_BUCKETS * page.count) / this.#bucketsMax),
      Math.ceil((rateHz * pageMs(page)) / 1000 / SAMPLES_MAX),
    );
  }

  #rateHz(channel: string): number {
    return this.#source.channelOf(channel)?.rate_hz ?? 1;
  }

  async #readSignal({ fromMs, lengthMs, channel }: Piece, signal: AbortSignal): Promise<Envelope | null> {
    const rateHz = this.#rateHz(channel);
    if (rateHz <= SLOW_HZ) return await this.#source.sampled(channel, fromMs - 1500 / rateHz, fromMs + lengthMs + 1500 / rateHz, signal);
    const buckets = Math.min(this.#bucketsMax, Math.ceil((ROW_BUCKETS * lengthMs) / this.#shown!.rowMs));
    try {
      return (await this.#source.envelopes(fromMs, fromMs + lengthMs, buckets, [channel], signal))[0] ?? null;
    } catch (error) {
      if ((error as { status?: number }).status === 422 && buckets > OLD_BUCKETS_MAX) {
        this.#bucketsMax = OLD_BUCKETS_MAX;
        this.#partCounts.clear();
      }
      throw error;
    }
  }
}

const overlaps = ({ fromMs, lengthMs }: Piece, page: Page | null): boolean =>
  page !== null && fromMs + lengthMs > page.fromMs && fromMs < page.fromMs + pageMs(page);
