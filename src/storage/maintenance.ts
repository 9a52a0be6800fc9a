/** Housekeeping of the database: refreshes rollups and, for late values, continuous aggregates; drops expired chunks and partitions;
 *  applies the retention of projects; deletes old replies; and checks that all of that gets done. */
import { waitLong } from './database/database.ts';
import type { Database } from './database/database.ts';
import { applyProjectRetention, projectRetentionAgeSec } from './retention.ts';
import { expireLetters } from './set-aside.ts';
import { failingJobs } from './schema/timescale-jobs.ts';
import type { JobFault } from './schema/timescale-jobs.ts';

export type MaintenanceOptions = Readonly<{
  /** Period of refreshing the noted minutes in the rollups, ms. Default 30,000. */
  refreshMs?: number;
  /** Period of looking for late values, where there are continuous aggregates, ms. Default 1,000. */
  lateMs?: number;
  /** Period of applying retention, ms; the first time within a minute. Default 600,000. */
  retentionMs?: number;
  /** Period of checking that retention and TimescaleDB's jobs get done, ms. Default 60,000, or retentionMs if that is less. */
  watchMs?: number;
  onFault?: (message: string, cause: unknown) => void;
  /** Called with the result of each check. */
  onWatched?: (found: MaintenanceState) => void;
}>;

export type MaintenanceState = Readonly<{
  /** Time since every project's retention was last applied in full, by any service, s; 0 when no project has one. */
  retentionAgeSec: number;
  /** Jobs of TimescaleDB that fail or do not run; empty on other servers. */
  jobs: readonly JobFault[];
}>;

/** Hours of one refresh: each run is a short transaction. */
const REFRESH_ROWS = 500;
/** Maximum time until retention is first applied after a start, ms, so that a service that restarts often applies it too. */
const FIRST_RETENTION_MS = 60_000;
/** Retention of a project that was not fully applied for this long is reported, s; so are rollups that could not be refreshed. */
export const OVERDUE_SEC = 3600;
/** Period of these reports, ms. */
const REPORT_MS = 3_600_000;
/** Minimum pause after a failed task, ms. */
const AFTER_FAULT_MS = 30_000;

/** Starts the housekeeping. Any number of services may run it on one database: each task runs in one of them at a time.
 *  @returns how to stop */
export function startMaintenance(database: Database, options: MaintenanceOptions = {}): () => Promise<void> {
  const onFault = options.onFault ?? (() => {});
  const stopping = new AbortController();
  const retentionMs = options.retentionMs ?? 600_000;
  const watchMs = options.watchMs ?? Math.min(60_000, retentionMs);
  // Independent tasks: a failing one does not stop the others.
  const expiring = (task: () => Promise<unknown>, fault: string): (() => Promise<void>) =>
    every(retentionMs, task, (error) => onFault(fault, error), FIRST_RETENTION_MS);
  // job: timescaledb-policies: packs old chunks (TimescaleDB runs them: sql/000010)
  const tasks = [
    // job: rollups: brings new and late values into hours and days
    every(options.refreshMs ?? 30_000, rollupTask(database, onFault), (error) => onFault('rollups could not be refreshed', error)),
    // job: retention: drops chunks and partitions that the table retention no longer keeps
    expiring(() => applyRetention(database), 'retention could not be applied'),
    // job: kept-replies: forgets answers that were kept for Idempotency-Key after a day
    expiring(() => forgetReplies(database), 'kept replies of more than a day could not be deleted'),
    // job: ended-deliveries: forgets deliveries of webhooks after 30 days
    expiring(() => forgetDeliveries(database), 'deliveries of webhooks of more than 30 days could not be deleted'),
    // job: set-aside-expiry: deletes what was set aside long ago
    expiring(() => expireLetters(database.pool), 'what was set aside long ago could not be deleted'),
    // job: project-retention: deletes what a project no longer keeps
    expiring(async () => {
      while ((await applyProjectRetention(database, { signal: stopping.signal })).outcome === 'more') if (stopping.signal.aborted) break;
    }, 'retention of projects could not be applied'),
    // job: maintenance-watch: says when retention is late and when jobs of TimescaleDB fail
    every(watchMs, watchTask(database, onFault, options.onWatched), (error) => onFault('maintenance could not be watched', error)),
  ];
  return async () => {
    stopping.abort();
    await Promise.all(tasks.map((stop) => stop()));
  };
}

/** Refreshes the noted hours until none is left. @returns number of hours; 0 also while another service is refreshing */
export async function refreshRollups(database: Database): Promise<number> {
  const client = await database.pool.connect();
  const waitAsBefore = waitLong(client);
  let total = 0;
  try {
    await client.query('set statement_timeout = 0');
    for (;;) {
      const { rows } = await client.query<{ hours: number }>('call refresh_hours(0, $1)', [REFRESH_ROWS]);
      total += rows[0]!.hours;
      if (rows[0]!.hours < REFRESH_ROWS) break;
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

/** Drops whole chunks and partitions that have expired. @returns how many */
export async function applyRetention({ pool }: Database): Promise<number> {
  const { rows } = await pool.query<{ dropped: number }>('select apply_retention() as dropped');
  return rows[0]!.dropped;
}

const forgetReplies = ({ pool }: Database): Promise<unknown> =>
  pool.query("delete from idempotency where created_at < now() - interval '1 day'");
const forgetDeliveries = ({ pool }: Database): Promise<unknown> =>
  pool.query("delete from webhook_delivery where status <> 'pending' and created_at < now() - interval '30 days'");

/** Reports rollups that another session keeps from being refreshed: charts stay right, but compute more every day. */
function rollupTask(database: Database, onFault: (message: string, cause: unknown) => void): () => Promise<void> {
  let keptMs = performance.now();
  return async () => {
    if ((await refreshRollups(database)) === 0) {
      const { rows } = await database.pool.query<{ left: boolean }>(
        `select exists (select from rollup_dirty where bucket < now() - interval '75 minutes') as left`,
      );
      const forMs = performance.now() - keptMs;
      if (rows[0]!.left && forMs < OVERDUE_SEC * 1000) return;
      if (rows[0]!.left) onFault(`rollups could not be refreshed for ${minutes(forMs / 1000)}: another session holds their lock`, null);
    }
    keptMs = performance.now();
  };
}

function watchTask(
  database: Database,
  onFault: (message: string, cause: unknown) => void,
  onWatched: ((found: MaintenanceState) => void) | undefined,
): () => Promise<void> {
  let reported = '';
  let reportedMs = -Infinity;
  const since = new Date();
  return async () => {
    const [retentionAgeSec, jobs] = await Promise.all([projectRetentionAgeSec(database.pool), failingJobs(database, since)]);
    onWatched?.({ retentionAgeSec, jobs });
    const faults = jobs.map(({ job, why }) => `TimescaleDB: ${job}: ${why}`);
    if (retentionAgeSec > OVERDUE_SEC)
      faults.unshift(
        `retention of projects was last applied in full ${minutes(retentionAgeSec)} ago: rows outlive what their project keeps`,
      );
    // Report a different fault at once, the same one after an hour.
    const kinds = [retentionAgeSec > OVERDUE_SEC, ...jobs.map(({ job }) => job)].join();
    if (kinds === reported && performance.now() - reportedMs < REPORT_MS) return;
    [reported, reportedMs] = [kinds, performance.now()];
    for (const fault of faults) onFault(fault, null);
  };
}

const minutes = (sec: number): string => `${Math.round(sec / 60)} minutes`;

/** Runs a task periodically, never twice at once, and for at most half of the time. @param firstMs maximum time until the first run
 *  @returns how to stop, which waits for a run in progress */
function every(periodMs: number, task: () => Promise<unknown>, onError: (error: unknown) => void, firstMs = Infinity): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const run = async (): Promise<void> => {
    const begunMs = performance.now();
    let pauseMs = periodMs;
    try {
      await task();
    } catch (error) {
      onError(error);
      pauseMs = Math.max(periodMs, AFTER_FAULT_MS);
    }
    if (!stopped) arm(Math.max(pauseMs, performance.now() - begunMs));
  };
  const arm = (delayMs: number): void => {
    timer = setTimeout(() => {
      running = run();
    }, delayMs);
    timer.unref();
  };
  arm(Math.min(periodMs, firstMs));
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
