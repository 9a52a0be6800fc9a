/** What the database needs done beside reads and writes: rollups kept, expired chunks and partitions dropped, old replies forgotten. */
import { waitLong } from './database.ts';
import type { Database } from './database.ts';
import { applyProjectRetention } from './retention.ts';

export type MaintenanceOptions = Readonly<{
  /** How often noted minutes are kept in the rollups, ms. Default 30,000. */
  refreshMs?: number;
  /** How often retention is applied, ms. Default 600,000. */
  retentionMs?: number;
  onFault?: (message: string, cause: unknown) => void;
}>;

/** Minutes of one refresh: each run is a short transaction. */
const REFRESH_ROWS = 5000;

/** Starts the housekeeping. Any number of services may run it on one database: each task is done by one of them at a time. @returns how to stop */
export function startMaintenance(database: Database, options: MaintenanceOptions = {}): () => Promise<void> {
  const onFault = options.onFault ?? (() => {});
  const tasks = [
    every(
      options.refreshMs ?? 30_000,
      () => refreshRollups(database),
      (error) => onFault('rollups could not be refreshed', error),
    ),
    every(
      options.retentionMs ?? 600_000,
      async () => {
        await applyRetention(database);
        await applyProjectRetention(database);
      },
      (error) => onFault('retention could not be applied', error),
    ),
  ];
  return async () => {
    await Promise.all(tasks.map((stop) => stop()));
  };
}

/** Keeps the minutes that were noted, until none is left. TimescaleDB's continuous aggregates have jobs of their own: does nothing there.
 *  @returns how many minutes */
export async function refreshRollups(database: Database): Promise<number> {
  if (database.kind === 'timescale') return 0;
  const client = await database.pool.connect();
  const waitAsBefore = waitLong(client);
  let total = 0;
  try {
    await client.query('set statement_timeout = 0');
    for (;;) {
      const { rows } = await client.query<{ minutes: number }>('call refresh_rollups(0, $1)', [REFRESH_ROWS]);
      total += rows[0]!.minutes;
      if (rows[0]!.minutes < REFRESH_ROWS) break;
    }
    await client.query('reset statement_timeout');
    waitAsBefore();
    client.release();
  } catch (error) {
    client.release(true); // with its session lock
    throw error;
  }
  return total;
}

/** Drops whole chunks and partitions that retention has passed, idempotency records of more than a day and
 *  deliveries of webhooks that ended, of more than 30 days. @returns how many were dropped */
export async function applyRetention(database: Database): Promise<number> {
  await database.pool.query("delete from idempotency where created_at < now() - interval '1 day'");
  await database.pool.query("delete from webhook_delivery where status <> 'pending' and created_at < now() - interval '30 days'");
  const { rows } = await database.pool.query<{ dropped: number }>('select apply_retention() as dropped');
  return rows[0]!.dropped;
}

/** Runs a task again and again, never two at once. @returns how to stop: waits for the one that runs */
function every(periodMs: number, task: () => Promise<unknown>, onError: (error: unknown) => void): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    timer = setTimeout(() => {
      running = task()
        .then(() => {}, onError)
        .then(() => {
          if (!stopped) arm();
        });
    }, periodMs);
    timer.unref();
  };
  arm();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
