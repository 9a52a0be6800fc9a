/** Stored minutes, and rows of samples, whose bytes cannot be unpacked (a damaged disk): an answer leaves them out and holds the rest, and
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
export type DamagedSamples = Readonly<{
  kind: 'samples';
  streamId: number;
  channelNo: number;
  /** Start of the row, Unix us; null: it is not known which row of the range it is. */
  timeUs: number | null;
  reason: string;
}>;
export type OnDamaged = (damaged: DamagedMinute | DamagedSamples) => void;

/** How many of them are remembered, so that one that is asked for repeatedly causes one log line. */
const SAID_MAX = 1000;

/** Logs and counts each of them once, as far as remembered. */
export function damagedMinutes(logger: Logger, metrics: Pick<Metrics, 'errors'>): OnDamaged {
  const said = new Set<string>();
  return (damaged) => {
    const what = Object.values(damaged).join(' ');
    if (said.has(what)) return;
    if (said.size >= SAID_MAX) said.clear();
    said.add(what);
    metrics.errors.inc({ where: 'query' });
    const { kind, streamId, reason } = damaged;
    if (kind === 'samples') {
      const { channelNo, timeUs } = damaged;
      const time = timeUs === null ? null : new Date(timeUs / 1000).toISOString();
      logger.error({ streamId, channelNo, time, reason }, 'a stored row of samples cannot be unpacked, answers leave it out');
    } else {
      const time = new Date(damaged.minute * 60_000).toISOString();
      logger.error({ kind, streamId, time, reason }, 'a stored minute cannot be unpacked, answers leave it out');
    }
  };
}
