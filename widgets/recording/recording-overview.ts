/** The whole of a recording, and one day of a recording of days: signal, how far it can be trusted, and heart rate. */
import { Retry } from '../shared/ask-again.ts';
import type { Envelope, Quality, Rate, RecordingSource } from './recording-source.ts';

export class RecordingOverview {
  readonly channel: string;
  /** Midnight to midnight of the clocks, Unix ms; null: the whole recording, as far as it has got. */
  readonly day: readonly [number, number] | null;
  envelope: Envelope | null = null;
  quality: Quality | null = null;
  rate: Rate | null = null;
  /** Its signal could not be read; or any part of it. */
  isUnread = false;
  isLacking = false;
  #isUnderWay = false;
  /** Again, once what is under way is here. */
  #isWanted = false;
  readonly #retry = new Retry();
  readonly #source: RecordingSource;
  readonly #onChange: () => void;
  readonly #closing = new AbortController();

  /** @param onChange called whenever a part of it has come */
  constructor(source: RecordingSource, channel: string, day: readonly [number, number] | null, onChange: () => void) {
    [this.#source, this.channel, this.day, this.#onChange] = [source, channel, day, onChange];
    this.load();
  }

  /** Asks for all of it, also again where more of it was recorded. What cannot be read is not drawn, and asked for again. */
  load(): void {
    this.#retry.stop();
    this.#ask();
  }

  /** One at a time: an older answer must not replace a newer one. */
  #ask(): void {
    this.#isWanted = this.#isUnderWay;
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    void this.#read().finally(() => {
      this.#isUnderWay = false;
      if (this.#isWanted && !this.#closing.signal.aborted) this.#ask();
    });
  }

  async #read(): Promise<void> {
    const { signal } = this.#closing;
    const span = this.day ?? undefined;
    const part = async <T>(asked: Promise<T>, take: (found: T) => void): Promise<void> => {
      try {
        const found = await asked;
        if (!signal.aborted) take(found);
      } catch (error) {
        if (!signal.aborted) {
          this.isLacking = true;
          this.#retry.later(error, () => this.#ask());
        }
        throw error;
      } finally {
        if (!signal.aborted) this.#onChange();
      }
    };
    const whole = this.#source.whole([this.channel], signal, span);
    whole.then(
      () => void (this.isUnread = false),
      () => void (this.isUnread = true),
    );
    const found = await Promise.allSettled([
      part(whole, (found) => void (this.envelope = found[0] ?? null)),
      part(this.#source.quality(this.channel, signal, span), (quality) => void (this.quality = quality)),
      part(this.#source.rate(signal, span), (rate) => void (this.rate = rate)),
    ]);
    if (!found.every(({ status }) => status === 'fulfilled') || signal.aborted) return;
    this.#retry.stop();
    if (this.isLacking) {
      this.isLacking = false;
      this.#onChange();
    }
  }

  close(): void {
    this.#closing.abort();
    this.#retry.stop();
  }
}

/** Those of an open recording that were shown last: the whole, and a day. */
export class RecordingOverviews {
  readonly #shown = new Map<'whole' | 'day', RecordingOverview>();
  readonly #source: RecordingSource;
  readonly #onChange: () => void;

  /** @param onChange called whenever a part of one has come */
  constructor(source: RecordingSource, onChange: () => void) {
    [this.#source, this.#onChange] = [source, onChange];
  }

  /** As it was shown last; undefined: not yet. */
  get whole(): RecordingOverview | undefined {
    return this.#shown.get('whole');
  }

  /** @param day null: the whole */
  of(channel: string, day: readonly [number, number] | null): RecordingOverview {
    const name = day === null ? 'whole' : 'day';
    const before = this.#shown.get(name);
    const isThen = before?.day?.[0] === day?.[0];
    if (isThen && before?.channel === channel) return before;
    before?.close();
    const next = new RecordingOverview(this.#source, channel, day, this.#onChange);
    if (isThen) next.rate = before?.rate ?? null; // heart rate is the same of all channels
    this.#shown.set(name, next);
    return next;
  }

  get isLacking(): boolean {
    return [...this.#shown.values()].some(({ isLacking }) => isLacking);
  }

  /** What is later than a time is read again. */
  renewAfter(ms: number): void {
    for (const one of this.#shown.values()) if (one.day === null || one.day[1] > ms) one.load();
  }

  askAgain(): void {
    for (const one of this.#shown.values()) if (one.isLacking) one.load();
  }

  close(): void {
    for (const one of this.#shown.values()) one.close();
  }
}
