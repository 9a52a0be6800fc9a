/** TimescaleDB's jobs: they pack old chunks and keep the continuous aggregates. Nothing fails at once when they do, so they are watched. */
import type { Database } from '../database/database.ts';

export type JobFault = Readonly<{
  /** `Columnstore Policy [1003] of feature` */
  job: string;
  /** What the server says, or since when it has not run. */
  why: string;
}>;

/** A job that is due for so long does not run at all. */
export const DUE = '15 minutes';

/** What a server says that counts every run as failed after its work is committed: PostgreSQL from 15.20 and 17.12 on refuses what
 *  TimescaleDB up to 2.29.2 does there. */
const COUNTED_AS_FAILED = 'cannot drop portal "" while it is being set up';

/** Jobs whose last run failed, and those that are due and do not run (no background worker is free, or the scheduler is off). TimescaleDB's
 *  telemetry is left out: it may fail wherever there is no way out.
 *  @param since jobs had no chance to run before it: the database was not there, or the server did not run */
export async function failingJobs(database: Database, since = new Date(0)): Promise<readonly JobFault[]> {
  if (database.kind !== 'timescale') return [];
  const { rows } = await database.pool.query<{ job: string; failed: boolean; message: string | null; due: string }>(
    `select j.application_name || coalesce(' of ' || coalesce(a.view_name, j.hypertable_name), '') as job,
       coalesce(s.last_run_status = 'Failed', false) as failed, said.message,
       to_char(due.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"') as due
     from timescaledb_information.jobs j
     left join timescaledb_information.job_stats s using (job_id)
     left join timescaledb_information.continuous_aggregates a
       on a.materialization_hypertable_schema = j.hypertable_schema and a.materialization_hypertable_name = j.hypertable_name
     left join lateral (
       select e.err_message as message from timescaledb_information.job_errors e where e.job_id = j.job_id order by e.finish_time desc limit 1) said on true
     cross join lateral (select greatest(coalesce(nullif(s.next_start, '-infinity'), (select min(applied_at) from migration)), pg_postmaster_start_time(), $1) as at) due
     where j.scheduled and j.proc_name <> 'policy_telemetry'
       and (s.last_run_status = 'Failed' and said.message is distinct from $2 or s.job_status is distinct from 'Running' and due.at < now() - interval '${DUE}')
     order by j.job_id`,
    [since, COUNTED_AS_FAILED],
  );
  return rows.map(({ job, failed, message, due }) => ({
    job,
    why: failed
      ? `its last run failed: ${message ?? 'see timescaledb_information.job_errors'}`
      : `due since ${due} and not run: are background workers free (timescaledb.max_background_workers, max_worker_processes)?`,
  }));
}

/** @returns whether the server counts runs of jobs as failed that have done their work: they are repeated later than asked for */
export async function countsAsFailed({ kind, pool }: Database): Promise<boolean> {
  if (kind !== 'timescale') return false;
  const { rowCount } = await pool.query(
    `select from timescaledb_information.job_errors where err_message = $1 and finish_time > now() - interval '3 days' limit 1`,
    [COUNTED_AS_FAILED],
  );
  return rowCount !== 0;
}
