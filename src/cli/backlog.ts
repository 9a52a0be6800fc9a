/** Counts packets that were acknowledged but have not been moved from the packet log to the tables yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../storage/database/database.ts';
import type { Console } from './command.ts';
import { startProgress } from './progress.ts';

/** Waits until everything acknowledged before the call is in the tables; packets are moved there within seconds.  @param timeoutMs 0:
 *  checks once  @returns false when some are still waiting */
export async function waitForBacklog(database: Database, timeoutMs: number, console: Console): Promise<boolean> {
  // Only packets logged so far: the log of a service that keeps accepting packets is never empty.
  const { rows: log } = await database.pool.query<{ newest: number; done: number }>(
    `select (select coalesce(max(batch_id), 0)::float8 from packet_log) as newest,
       (select min(batch_id)::float8 from packet_log_checkpoint) as done`,
  );
  const { newest, done } = log[0]!;
  const progress = startProgress(console, 'waiting for the service to move packets to the tables', newest - done);
  try {
    for (const deadline = performance.now() + timeoutMs; ; await sleep(200, undefined, { signal: console.signal })) {
      const { rows } = await database.pool.query<{ moved: number }>('select min(batch_id)::float8 as moved from packet_log_checkpoint');
      const { moved } = rows[0]!;
      if (moved >= newest) return true;
      if (performance.now() > deadline) return false;
      progress.update(moved - done);
    }
  } finally {
    progress.end();
  }
}
