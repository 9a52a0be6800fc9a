/** Writes times as text with microseconds, which PostgreSQL reads exactly, so that planning can exclude partitions and chunks. */

const MIN_NS = -62_135_596_800_000_000_000n; // year 1
const MAX_NS = 253_402_300_799_000_000_000n; // year 9999

/** The microsecond at or before a time: for `time >=`. */
export function timestampAt(ns: bigint): string {
  const clamped = ns < MIN_NS ? MIN_NS : ns > MAX_NS ? MAX_NS : ns;
  let us = clamped / 1000n;
  if (clamped < 0n && clamped % 1000n !== 0n) us -= 1n;
  const ms = us >= 0n ? us / 1000n : (us - 999n) / 1000n;
  return `${new Date(Number(ms)).toISOString().slice(0, -1)}${String(us - ms * 1000n).padStart(3, '0')}Z`;
}

/** The first microsecond that lies wholly after a time: for `time <`, when the exact `ts_ns <` follows. */
export function timestampAfter(ns: bigint): string {
  return timestampAt(ns + 1000n);
}
