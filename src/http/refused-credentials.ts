/** Logs the addresses whose credentials are refused, so that an operator sees guessing, or a device with a dead key. One line per address
 *  every PERIOD_MS, for at most ADDRESSES_MAX addresses; never any part of the credential. */
import type { ErrorCode } from '../errors.ts';
import type { Logger } from './logger.ts';

const PERIOD_MS = 60_000;
/** Addresses that get a line of their own per period; the rest share one. */
const ADDRESSES_MAX = 50;
/** Refusals below which an address is not logged: typing mistakes. */
const COUNT_MIN = 3;

export type RefusedCredentials = Readonly<{
  note: (code: ErrorCode, address: string) => void;
  /** Writes pending lines. */
  stop: () => void;
}>;

export function logRefusedCredentials(logger: Pick<Logger, 'warn'>): RefusedCredentials {
  let counts = new Map<string, number>();
  let otherCount = 0;
  const write = (): void => {
    const seen = counts;
    counts = new Map();
    for (const [address, count] of seen) {
      if (count >= COUNT_MIN) logger.warn({ address, count }, 'credentials: an address sent credentials that were refused');
    }
    if (otherCount > 0) logger.warn({ count: otherCount }, 'credentials: more were refused, of further addresses');
    otherCount = 0;
  };
  // job: refusals: writes a line for each address whose credentials were refused, every minute
  const timer = setInterval(write, PERIOD_MS);
  timer.unref();
  return {
    note: (code, address) => {
      if (code === 'token_expired') return; // happens to every page
      const count = counts.get(address);
      if (count !== undefined || counts.size < ADDRESSES_MAX) counts.set(address, (count ?? 0) + 1);
      else otherCount += 1;
    },
    stop: () => {
      clearInterval(timer);
      write();
    },
  };
}
