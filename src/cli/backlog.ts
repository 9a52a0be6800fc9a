/** Counts packets that were acknowledged but have not been moved from the packet log to the tables yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../storage/database/database.ts';
import type { Console } from './command.ts';
import { startProgress } from './progress.ts';

/** SQL: rows `l` of the packet log after the checkpoint of their partition; a condition may follow. */
export const notStored = 'from packet_log l join packet_log_checkpoint c on c.partition = l.partition where l.batch_id > c.batch_id';

/** The newest position of each partition, as the two arrays that `upTo` takes. Each has its own: the positions of a node whose epoch is
 *  lower stay below those of another node for ever. */
export type LogBounds = readonly [partitions: readonly number[], newest: readonly string[]];

/** SQL: a condition after `notStored`, with LogBounds as $1 and $2. */
export const upTo = `and exists (
  select from unnest($1::smallint[], $2::int8[]) b (partition, newest) where b.partition = l.partition and l.batch_id <= b.newest)`;

/** What has been logged so far and is not in the tables. A service that keeps accepting packets always has more. */
export async function logBounds(pool: pg.Pool): Promise<LogBounds> {
  const { rows } = await pool.query<{ partition: number; newest: string }>(
    `select l.partition, max(l.batch_id)::text as newest ${notStored} group by l.partition`,
  );
  return [rows.map(({ partition }) => partition), rows.map(({ newest }) => newest)];
}

/** Waits until everything acknowledged before the call is in the tables; packets are moved there within seconds.  @param timeoutMs 0:
 *  checks once  @returns false when some are still waiting */
export async function waitForBacklog(database: Database, timeoutMs: number, console: Console): Promise<boolean> {
  const bounds = await logBounds(database.pool);
  const count = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(`select count(distinct l.batch_id)::int as n ${notStored} ${upTo}`, [
      ...bounds,
    ]);
    return rows[0]!.n;
  };
  const first = await count();
  const progress = startProgress(console, 'waiting for the service to move packets to the tables', first);
  try {
    for (const deadline = performance.now() + timeoutMs; ; await sleep(200, undefined, { signal: console.signal })) {
      const left = await count();
      if (left === 0) return true;
      if (performance.now() > deadline) return false;
      progress.update(first - left);
    }
  } finally {
    progress.end();
  }
}
