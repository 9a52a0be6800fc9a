/** Counts packets that were acknowledged but have not been moved from the packet log to the tables yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../storage/database/database.ts';
import type { Console } from './command.ts';
import { startProgress } from './progress.ts';

/** SQL: rows `l` of the packet log after the checkpoint of their partition; a condition may follow. */
export const notStored = 'from packet_log l join packet_log_checkpoint c on c.partition = l.partition where l.batch_id > c.batch_id';

/** Waits until everything acknowledged before the call is in the tables; packets are moved there within seconds.  @param timeoutMs 0:
 *  checks once  @returns false when some are still waiting */
export async function waitForBacklog(database: Database, timeoutMs: number, console: Console): Promise<boolean> {
  // Only packets logged so far: the log of a service that keeps accepting packets is never empty.
  const newest = (await database.pool.query<{ newest: string }>('select coalesce(max(batch_id), 0)::text as newest from packet_log'))
    .rows[0]!.newest;
  const count = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(
      `select count(distinct l.batch_id)::int as n ${notStored} and l.batch_id <= $1`,
      [newest],
    );
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
