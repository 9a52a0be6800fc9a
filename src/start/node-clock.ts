/** Sets the clock by which a node judges packets, and says when it is not that of its machine. */
import { aheadOfAgreed, CLOCK_OFF_MS } from '../cluster/agreed-clock.ts';
import type { Logger } from '../http/logger.ts';
import type { Part } from '../http/service-routes.ts';
import type { Membership } from '../storage/membership.ts';
import { machineStartMs, setUnixClock } from '../unix-clock.ts';

export class NodeClock {
  readonly #membership: Pick<Membership, 'clockOffMs' | 'clockOffAt'>;
  readonly #logger: Logger;
  #aheadMs = 0;

  constructor(membership: Pick<Membership, 'clockOffMs' | 'clockOffAt'>, logger: Logger) {
    this.#membership = membership;
    this.#logger = logger;
  }

  /** This machine's clock is read once: others were asked at other times, and it may have leapt since.
   *  @param nodes of the clock of each other node, Unix ms at 0 of this machine's monotonic clock */
  agree(nodes: readonly number[]): void {
    const before = this.#aheadMs;
    const hereMs = machineStartMs();
    const offsets = { database: this.#membership.clockOffAt(hereMs), nodes: nodes.map((thereMs) => hereMs - thereMs) };
    this.#aheadMs = aheadOfAgreed(offsets, before);
    setUnixClock(hereMs - this.#aheadMs);
    if (this.#aheadMs === before) return;
    if (this.#aheadMs === 0) this.#logger.info({}, "cluster: this machine's clock is used again");
    else this.#logger.warn({}, `cluster: ${this.#sentence()}`);
  }

  parts(): readonly Part[] {
    if (this.#aheadMs !== 0) return [{ name: 'clock', ok: false, detail: this.#sentence(), needed: false }];
    const { clockOffMs } = this.#membership;
    if (Math.abs(clockOffMs) <= CLOCK_OFF_MS) return [];
    return [{ name: 'clock', ok: false, detail: `this machine's clock is ${apart(clockOffMs)} the database's`, needed: false }];
  }

  stop(): void {
    setUnixClock(null);
  }

  #sentence(): string {
    return `this machine's clock is ${apart(this.#aheadMs)} that of the other nodes and the database, which is used instead`;
  }
}

const apart = (aheadMs: number): string => `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
