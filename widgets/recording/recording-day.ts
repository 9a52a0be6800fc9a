/** One day of a recording of days: its signal, how far it can be trusted, and heart rate. */
import { Retry } from './ask-again.ts';
import type { Envelope, Quality, Rate, RecordingSource } from './recording-source.ts';

export class RecordingDay {
  readonly channel: string;
  /** Midnight to midnight of the clocks, Unix ms. */
  readonly span: readonly [number, number];
  envelope: Envelope | null = null;
  quality: Quality | null = null;
  rate: Rate | null = null;
  /** Its signal could not be read. */
  isUnread = false;
  readonly #retry = new Retry();
  readonly #source: RecordingSource;
  readonly #onChange: () => void;
  readonly #closing = new AbortController();

  /** @param onChange called whenever a part of it has come */
  constructor(source: RecordingSource, channel: string, span: readonly [number, number], onChange: () => void) {
    [this.#source, this.channel, this.span, this.#onChange] = [source, channel, span, onChange];
    this.load();
  }

  /** Asks for all of it, also again where more of it was recorded. What cannot be read is not drawn, and asked for again. */
  load(): void {
    this.#retry.stop();
    this.#ask();
  }

  #ask(): void {
    const { signal } = this.#closing;
    const later = (work: Promise<void>): void =>
      void work
        .catch((error: unknown) => {
          if (!signal.aborted) this.#retry.later(error, () => this.#ask());
        })
        .then(() => {
          if (!signal.aborted) this.#onChange();
        });
    const whole = this.#source.whole([this.channel], signal, this.span);
    whole.then(
      () => void (this.isUnread = false),
      () => void (this.isUnread = true),
    );
    later(whole.then((found) => void (this.envelope = found[0] ?? null)));
    later(this.#source.quality(this.channel, signal, this.span).then((quality) => void (this.quality = quality)));
    later(this.#source.rate(signal, this.span).then((rate) => void (this.rate = rate)));
  }

  close(): void {
    this.#closing.abort();
    this.#retry.stop();
  }
}
