/** Unix time by which packets are judged and recordings are placed. Of an instance alone it is the machine's. Nodes of a cluster agree
 *  about it (src/cluster/agreed-clock.ts), and a leap of the machine's clock is not followed until they have. */

/** Unix ms at 0 of the monotonic clock; null: the machine's clock says it. */
let startMs: number | null = null;

export const unixNowMs = (): number => (startMs === null ? Date.now() : Math.round(startMs + performance.now()));

/** @param aheadMs how far the machine's clock is ahead of what nodes agree about, now; null: they are asked no more */
export function setUnixClock(aheadMs: number | null): void {
  startMs = aheadMs === null ? null : Date.now() - aheadMs - performance.now();
}
