/** Limits of failures that count on whichever node they happen, so that several nodes are not guessed at several times as fast. Each node
 *  tells the others, who count a moment later; what is lost on the way is counted where it happened. */
import { RateLimit } from './rate-limit.ts';

export class SharedTries {
  readonly #limits = new Map<string, RateLimit>();
  #tell: (limit: string, who: string) => void = () => undefined;

  /** A limit of this name. @param perSec, burstSec as RateLimit */
  limit(name: string, perSec: number, burstSec: number): RateLimit {
    const made = new RateLimit(name, perSec, burstSec, (who) => this.#tell(name, who));
    this.#limits.set(name, made);
    return made;
  }

  /** @param tell the other nodes */
  connect(tell: (limit: string, who: string) => void): void {
    this.#tell = tell;
  }

  /** Counts what another node told. */
  note(name: string, who: string): void {
    this.#limits.get(name)?.note(who, performance.now());
  }
}
