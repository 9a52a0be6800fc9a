/** Stored minutes whose bytes cannot be unpacked (a damaged disk): an answer leaves them out and holds the rest, and
 *  the operator is told. */
import type { Logger } from '../http/logger.ts';
import type { Metrics } from '../metrics.ts';

export type DamagedMinute = Readonly<{
  kind: 'feature' | 'beat';
  streamId: number;
  /** From 1970. */
  minute: number;
  reason: string;
}>;
export type OnDamaged = (damaged: DamagedMinute) => void;

/** Number of minutes remembered, so that one that is asked for repeatedly causes one log line. */
const SAID_MAX = 1000;

/** Logs and counts each damaged minute once, as far as remembered. */
export function damagedMinutes(logger: Logger, metrics: Pick<Metrics, 'errors'>): OnDamaged {
  const said = new Set<string>();
  return ({ kind, streamId, minute, reason }) => {
    const what = `${kind} ${streamId} ${minute} ${reason}`;
    if (said.has(what)) return;
    if (said.size >= SAID_MAX) said.clear();
    said.add(what);
    metrics.errors.inc({ where: 'query' });
    const time = new Date(minute * 60_000).toISOString();
    logger.error({ kind, streamId, time, reason }, 'a stored minute cannot be unpacked, answers leave it out');
  };
}
