/** Sets the clock by which a node judges packets, and says when it is not that of its machine. */
import { aheadOfAgreed, CLOCK_OFF_MS } from '../cluster/agreed-clock.ts';
import type { Logger } from '../http/logger.ts';
import type { Part } from '../http/service-routes.ts';
import type { Membership } from '../storage/membership.ts';
import { setUnixClock } from '../unix-clock.ts';

export class NodeClock {
  readonly #membership: Pick<Membership, 'clockOffMs'>;
  readonly #logger: Logger;
  #aheadMs = 0;

  constructor(membership: Pick<Membership, 'clockOffMs'>, logger: Logger) {
    this.#membership = membership;
    this.#logger = logger;
  }

  /** @param nodes how far this machine's clock is ahead of that of each other node, ms */
  agree(nodes: readonly number[]): void {
    const before = this.#aheadMs;
    this.#aheadMs = aheadOfAgreed({ database: this.#membership.clockOffMs, nodes }, before);
    setUnixClock(this.#aheadMs);
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
