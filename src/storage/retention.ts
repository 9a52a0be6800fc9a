/** Retention of projects, where it is shorter than the service's own (table `retention`, whole chunks).
 *
 *  Rows of other projects share the chunks, so expired rows are deleted: an hour of a few streams per statement, each its own transaction,
 *  so that no lock is held long and writers are not held up. Rollups of deleted features go with their next refresh. */
import type pg from 'pg';
import { waitLong } from './database/database.ts';
import type { Database, Db } from './database/database.ts';
import { locks } from './database/locks.ts';

/** Days that rows are kept by the time they were measured; null: as long as the service keeps them. 1 to 36,500. */
export type ProjectRetention = Readonly<{
  samplesDays: number | null;
  /** Features and their rollups. */
  featuresDays: number | null;
  beatsDays: number | null;
}>;

export const keepEverything: ProjectRetention = { samplesDays: null, featuresDays: null, beatsDays: null };
export const retentionDaysMax = 36_500;

/** The retention that a project has set; keepEverything when it has set none. */
export async function readProjectRetention(db: Db, projectId: string): Promise<ProjectRetention> {
  const { rows } = await db.query<{ samples_days: number | null; features_days: number | null; beats_days: number | null }>(
    'select samples_days, features_days, beats_days from project_retention where project_id = $1',
    [projectId],
  );
  const row = rows[0];
  return row === undefined ? keepEverything : { samplesDays: row.samples_days, featuresDays: row.features_days, beatsDays: row.beats_days };
}

/** Kinds of a project's data that will be deleted, and after how many days, by the shorter of the project's and the service's rule. */
export async function readExpiring(db: Db, projectId: string): Promise<readonly Readonly<{ what: string; days: number }>[]> {
  const { rows } = await db.query<{ relation: keyof typeof spoken; days: number }>(
    `select kept.relation, round(least(kept.days, extract(epoch from r.keep) / 86400)::numeric, 1)::float8 as days
     from (values ${relations.map(([relation, column]) => `('${relation}', (select ${column} from project_retention where project_id = $1))`).join(', ')})
       as kept (relation, days) left join retention r using (relation)
     where kept.days is not null or r.keep is not null`,
    [projectId],
  );
  return rows.map(({ relation, days }) => ({ what: spoken[relation], days }));
}

/** Sets all three periods; takes effect with the next run of the maintenance (BIO_RETENTION_PERIOD_SEC). The project must be the caller's.
 *  @throws the database's 23514 when a number of days is out of range */
export async function writeProjectRetention(db: Db, projectId: string, retention: ProjectRetention): Promise<void> {
  await db.query(
    `insert into project_retention as kept (project_id, organization_id, samples_days, features_days, beats_days)
     select id, organization_id, $2, $3, $4 from project where id = $1
     on conflict (project_id) do update set
       samples_days = excluded.samples_days, features_days = excluded.features_days, beats_days = excluded.beats_days, updated_at = now()
     where (kept.samples_days, kept.features_days, kept.beats_days)
       is distinct from (excluded.samples_days, excluded.features_days, excluded.beats_days)`,
    [projectId, retention.samplesDays, retention.featuresDays, retention.beatsDays],
  );
}

const relations = [
  ['sample_block', 'samples_days'],
  ['feature_block', 'features_days'],
  ['beat_block', 'beats_days'],
] as const;
const spoken = { sample_block: 'samples', feature_block: 'values', beat_block: 'beats' } as const;

/** Streams of one delete: 20 streams x 4 channels x 3,600 s = 288,000 rows of samples at most. */
export const STREAMS_PER_DELETE = 20;
/** Streams found per query. */
const STREAMS_PER_LOOK = 500;
/** Rows stored later than this are found by the next full sweep: daily, and after the project changed its retention. */
const LATE = '8 days';
/** Time after a project changed its retention in which rows acknowledged before may still be stored. */
const ON_ITS_WAY = '10 minutes';
/** Time limit of one delete, s: rows of packed chunks are unpacked first. */
const DELETE_SEC_MAX = 600;

export type ProjectRetentionResult = Readonly<{
  rows: number;
  /** `done`: nothing is left; `more`: the run reached its limit, call again; `busy`: another service is applying retention. */
  outcome: 'done' | 'more' | 'busy';
}>;

/** Deletes expired rows. One service at a time.
 *  @param options deletesMax: statements of one run, default 2,000; signal: ends the run after the current statement (`more`) */
export async function applyProjectRetention(
  database: Database,
  options: Readonly<{ deletesMax?: number; signal?: AbortSignal }> = {},
): Promise<ProjectRetentionResult> {
  const client = await database.pool.connect();
  waitLong(client);
  let isLocked = false;
  try {
    const { rows: got } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${locks.projectRetention}) as got`);
    isLocked = got[0]!.got;
    if (!isLocked) return { rows: 0, outcome: 'busy' };
    await client.query(`set statement_timeout = '${DELETE_SEC_MAX}s'`);
    // Rows of the columnstore are unpacked before deletion; one delete of ours exceeds the default bound of 100,000.
    if (database.kind === 'timescale') await client.query('set timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
    const { rows: rules } = await client.query<Rule>(
      `select project_id, relation, now() - days * interval '1 day' as cutoff, now()::text as begun, updated_at::text as set_at
       from ${rulesOf}
       order by random()`, // so that a project with years to delete does not hold up the others forever
    );
    let left = options.deletesMax ?? 2000;
    let total = 0;
    for (const rule of rules) {
      const { rows, deletes, done } = await sweep(client, rule, left, options.signal);
      total += rows;
      left -= deletes;
      if (!done) return { rows: total, outcome: 'more' };
    }
    return { rows: total, outcome: 'done' };
  } finally {
    // The server frees the lock of a closed connection a moment later: a run that follows at once would find it busy.
    if (isLocked) await client.query(`select pg_advisory_unlock(${locks.projectRetention})`).catch(() => undefined);
    client.release(true); // with its settings
  }
}

/** A row per project and relation that has a number of days. */
const rulesOf = `(select p.project_id, p.updated_at, r.relation, r.days
  from project_retention p
  cross join lateral (values ${relations.map(([relation, column]) => `('${relation}', p.${column})`).join(', ')}) as r (relation, days)
  where r.days is not null) rules`;

/** Time since the most overdue rule was fully applied, by any service, or set, s; 0 when no project has one. */
export async function projectRetentionAgeSec(db: Db): Promise<number> {
  // A rule of n days that has deleted up to `cutoff` ran n days after `cutoff`.
  const { rows } = await db.query<{ age: number }>(
    `select coalesce(max(extract(epoch from now() - greatest(s.cutoff + days * interval '1 day', rules.updated_at))), 0)::float8 as age
     from ${rulesOf} left join project_retention_swept s using (project_id, relation)`,
  );
  return Math.max(0, rows[0]!.age);
}

type Rule = {
  project_id: string;
  relation: string;
  cutoff: Date;
  /** When this sweep began, and when the project last set its retention; as text, because a Date has no microseconds. */
  begun: string;
  set_at: string;
};

async function sweep(
  client: pg.PoolClient,
  rule: Rule,
  deletesMax: number,
  signal: AbortSignal | undefined,
): Promise<{ rows: number; deletes: number; done: boolean }> {
  const { project_id: project, relation, cutoff, begun, set_at: setAt } = rule;
  const { rows: swept } = await client.query<{ whole: boolean; since: Date }>(
    `select s.whole_at < greatest($3::timestamptz + interval '${ON_ITS_WAY}', now() - interval '1 day') as whole, s.cutoff - interval '${LATE}' as since
     from project_retention_swept s where s.project_id = $1 and s.relation = $2`,
    [project, relation, setAt],
  );
  const whole = swept[0]?.whole ?? true;
  const since = whole ? '-infinity' : swept[0]!.since;
  let total = 0;
  let deletes = 0;
  for (;;) {
    const { rows: found } = await client.query<{ id: number; hour: Date }>(
      `select s.id, date_trunc('hour', old.time, 'UTC') as hour from stream s
       cross join lateral (select time from ${relation} where time >= $2 and time < $3 and stream_id = s.id limit 1) old
       where s.project_id = $1 limit ${STREAMS_PER_LOOK}`,
      [project, since, cutoff],
    );
    if (found.length === 0) break;
    for (const [hour, ids] of byHour(found)) {
      for (let i = 0; i < ids.length; i += STREAMS_PER_DELETE) {
        if (deletes >= deletesMax || signal?.aborted === true) return { rows: total, deletes, done: false };
        total += await deleteHour(client, relation, new Date(hour), cutoff, ids.slice(i, i + STREAMS_PER_DELETE));
        deletes += 1;
      }
    }
  }
  await client.query(
    `insert into project_retention_swept (project_id, relation, cutoff, whole_at) values ($1, $2, $3, $5::timestamptz)
     on conflict (project_id, relation) do update set cutoff = greatest(project_retention_swept.cutoff, excluded.cutoff),
       whole_at = case when $4 then excluded.whole_at else project_retention_swept.whole_at end`,
    [project, relation, cutoff, whole, begun],
  );
  return { rows: total, deletes, done: true };
}

/** @returns rows */
async function deleteHour(
  client: pg.PoolClient,
  relation: string,
  hour: Date,
  cutoff: Date,
  streamIds: readonly number[],
): Promise<number> {
  const expired = `delete from ${relation} where time >= $1 and time < least($1::timestamptz + interval '1 hour', $2) and stream_id = any ($3::int[])`;
  const values = [hour, cutoff, streamIds];
  if (relation !== 'feature_block') return (await client.query(expired, values)).rowCount ?? 0;
  const { rows } = await client.query<{ n: number }>(
    `with gone as (${expired} returning stream_id, method_id, channel_no, time), noted as (
       select note_hours(array_agg(stream_id), array_agg(method_id), array_agg(channel_no), array_agg(time)) from gone)
     select count(*)::int as n from gone, noted`,
    values,
  );
  return rows[0]!.n;
}

function byHour(found: readonly { id: number; hour: Date }[]): Map<number, number[]> {
  const hours = new Map<number, number[]>();
  for (const { id, hour } of found) {
    const ids = hours.get(hour.getTime());
    if (ids === undefined) hours.set(hour.getTime(), [id]);
    else ids.push(id);
  }
  return hours;
}
