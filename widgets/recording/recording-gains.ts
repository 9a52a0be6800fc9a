/** Gains of the signals of a strip: of ECG in mm/mV, of others by how they fit; of all, and of each that has its own. */

export const gains = [5, 10, 20] as const;
/** mm/mV of usual paper; a signal without millivolts has that many tenths of the height at which it fits. */
export const USUAL_GAIN = 10;

export class Gains {
  /** Of all of ECG, mm/mV. */
  all = USUAL_GAIN;
  /** Of signals that have one of their own, by code. */
  readonly #own = new Map<string, number>();
  readonly #unitOf: (channel: string) => string;

  /** @param unitOf unit of a channel by its code */
  constructor(unitOf: (channel: string) => string) {
    this.#unitOf = unitOf;
  }

  /** @param channel '': of all of ECG */
  of(channel: string): number {
    return this.#own.get(channel) ?? (this.#isFitted(channel) ? USUAL_GAIN : this.all);
  }

  /** @param channel '': of all; the ones that had their own follow, too */
  set(channel: string, gain: number): void {
    if (channel !== '') this.#own.set(channel, gain);
    else {
      this.#own.clear();
      this.all = gain;
    }
  }

  /** In words. */
  name(channel: string, gain: number): string {
    return this.#isFitted(channel) ? `× ${gain / USUAL_GAIN}` : `${gain} mm/mV`;
  }

  /** In words, where a signal has another gain than all. */
  own(channel: string): string {
    const gain = this.of(channel);
    return gain === (this.#isFitted(channel) ? USUAL_GAIN : this.all) ? '' : this.name(channel, gain);
  }

  /** Signals of other units than mV are fitted to their lane. */
  #isFitted(channel: string): boolean {
    return this.#unitOf(channel) !== 'mV';
  }
}
