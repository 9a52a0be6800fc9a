/** The whole of a recording, or one day of a recording of days: its signal, how far it can be trusted, and heart rate. */
import { Retry } from './ask-again.ts';
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
