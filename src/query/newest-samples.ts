/** The newest samples of one answer: acknowledged, not stored yet, and in the memory of the node that owns the stream. An answer that was
 *  made without those of another node says so. */
import type { RecentSamples } from './samples.ts';

/** Header of such an answer, as responses declare it. */
export const INCOMPLETE = 'Bio-Incomplete';

export class NewestSamples {
  readonly recent: RecentSamples | undefined;
  #isLacking = false;

  /** @param recent absent: stored samples only */
  constructor(recent: RecentSamples | undefined) {
    const lack = (): void => void (this.#isLacking = true);
    this.recent = recent && ((streamId, channelNo, fromNs, toNs) => recent(streamId, channelNo, fromNs, toNs, lack));
  }

  /** Whether samples of another node are missing: to be asked when everything was read. */
  get isLacking(): boolean {
    return this.#isLacking;
  }

  /** To be asked when everything was read. */
  get headers(): Readonly<Record<string, string>> {
    return this.#isLacking ? { [INCOMPLETE.toLowerCase()]: 'newest' } : {};
  }
}
