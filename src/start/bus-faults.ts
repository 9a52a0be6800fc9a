/** Logs why this node could not answer others: the first fault at once, then a line a minute with how many came since. A damaged node, or
 *  one that lies, can ask thousands of times a second. */
import type { Logger } from '../http/logger.ts';

const PERIOD_MS = 60_000;

export function logBusFaults(logger: Pick<Logger, 'error'>, nowMs: () => number = () => performance.now()): (err: unknown) => void {
  let writtenMs = -Infinity;
  let unsaid = 0;
  return (err) => {
    if (nowMs() - writtenMs < PERIOD_MS) {
      unsaid += 1;
      return;
    }
    logger.error({ err, ...(unsaid > 0 && { unsaid }) }, 'cluster: a question of another node could not be answered');
    writtenMs = nowMs();
    unsaid = 0;
  };
}
