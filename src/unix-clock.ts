/** Unix time by which packets and user tokens are judged, and recordings and entries are placed. Of an instance alone it is the machine's.
 *  Nodes of a cluster agree about it (src/cluster/agreed-clock.ts), and a leap of the machine's clock is not followed until they have. */

/** Unix ms at 0 of the monotonic clock; null: the machine's clock says it. */
let startMs: number | null = null;

export const unixNowMs = (): number => (startMs === null ? Date.now() : Math.round(startMs + performance.now()));

/** The same by the machine's clock, which may leap. */
export const machineStartMs = (): number => Date.now() - performance.now();

/** @param agreedMs Unix ms at 0 of the monotonic clock, as nodes agree about it; null: they are asked no more */
export function setUnixClock(agreedMs: number | null): void {
  startMs = agreedMs;
}
