/** Episodes by rule: stretches in which a feature stayed beyond a bound, found in the stored values of flowing streams.
 *
 *  A rule is `quiet` until its bound has been passed for `sustainSec`; then an episode opens. It ends at the last value beyond the bound,
 *  once the feature has been back, or silent, for `releaseSec`. Bad values neither start nor prolong an episode, nor do suspect ones unless
 *  the rule says so. A pure function of the stored values: checking the same values again opens nothing twice (one episode per rule, stream
 *  and start). */
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { emitEvent } from '../tenancy/events.ts';
import { build, epochMs, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { hashedLock, namedLocks } from '../storage/database/locks.ts';
import { transaction } from '../storage/database/transaction.ts';
import { insertEpisode, insertStrip } from './episodes.ts';

export type EpisodeRule = Readonly<{
  name: string;
  title: string;
  feature: string;
  above?: number;
  below?: number;
  /** Worst flag of a value that counts; default 0. */
  qualityMax?: 0 | 1;
  /** With qualityMax 1: a feature that must have a share of GOOD_SHARE_MIN good values in the last minute, so that noise does not count. */
  trusted?: string;
  sustainSec: number;
  releaseSec: number;
  /** The episode begins so long before its first value: where a value speaks of the whole window before it. */
  beforeSec?: number;
  severity: 'low' | 'medium' | 'high';
}>;

/** Not a diagnosis: bounds for an adult at rest, to draw a person's attention. */
export const defaultRules: readonly EpisodeRule[] = [
  {
    name: 'tachycardia',
    title: 'Sustained fast heart rate',
    feature: 'hr_ecg',
    above: 120,
    sustainSec: 60,
    releaseSec: 30,
    severity: 'medium',
  },
  {
    name: 'bradycardia',
    title: 'Sustained slow heart rate',
    feature: 'hr_ecg',
    below: 40,
    sustainSec: 60,
    releaseSec: 30,
    severity: 'medium',
  },
  {
    name: 'irregular_rhythm',
    title: 'Irregular rhythm without P waves',
    feature: 'af_index',
    above: 0.8,
    sustainSec: 120,
    releaseSec: 60,
    beforeSec: 30,
    severity: 'medium',
  },
  {
    name: 'pause',
    title: 'Pause between two beats',
    feature: 'longest_rr_10s',
    above: 2500,
    // the longer the pause, the less its seconds can be judged by
    qualityMax: 1,
    trusted: 'hr_ecg',
    sustainSec: 0,
    releaseSec: 10,
    beforeSec: 10,
    severity: 'medium',
  },
  {
    name: 'ventricular_run',
    title: 'Three or more ventricular beats in a row',
    feature: 'ventricular_run_10s',
    above: 2,
    sustainSec: 0,
    releaseSec: 10,
    beforeSec: 10,
    severity: 'medium',
  },
];

export type Stretch = Readonly<{ startMs: number; endMs: number; over: boolean; extreme: number }>;

/** Finds the stretches of a series that satisfy a rule.  @param values ascending in time, good ones only  @param nowMs newest time
 *  examined */
export function findStretches(rule: EpisodeRule, timesMs: readonly number[], values: readonly number[], nowMs: number): readonly Stretch[] {
  const beyond = (value: number): boolean =>
    (rule.above !== undefined && value > rule.above) || (rule.below !== undefined && value < rule.below);
  const found: Stretch[] = [];
  let startMs = 0;
  let lastMs = 0;
  let extreme = 0;
  let inside = false;
  const close = (over: boolean): void => {
    if (lastMs - startMs >= rule.sustainSec * 1000) found.push({ startMs, endMs: lastMs, over, extreme });
    inside = false;
  };
  for (let i = 0; i < values.length; i++) {
    const time = timesMs[i]!;
    const value = values[i]!;
    if (inside && time - lastMs > rule.releaseSec * 1000) close(true);
    if (!beyond(value)) continue;
    if (!inside) {
      inside = true;
      startMs = time;
      extreme = value;
    }
    lastMs = time;
    extreme = rule.above === undefined ? Math.min(extreme, value) : Math.max(extreme, value);
  }
  if (inside) close(nowMs - lastMs > rule.releaseSec * 1000);
  return found;
}

export type RuleOptions = Readonly<{
  pool: Pool;
  rules?: readonly EpisodeRule[];
  periodMs?: number;
  onError?: (error: unknown) => void;
}>;

/** Share of the trusted feature's values within a minute that must be good. */
const GOOD_SHARE_MIN = 0.8;
const PERIOD_MS = 15_000;
/** How long a round waits for another node's round, s; a round takes less than a second. */
const TURN_WAIT_SEC = 10;
/** Range examined in each round, s: longer than any rule's sustain and release, plus a minute for late packets. */
const LOOK_BACK_SEC = 900;

/** Applies the rules to streams with recent packets every PERIOD_MS, on one node at a time.  @returns how to stop */
export function startEpisodeRules(options: RuleOptions): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const onError = options.onError ?? (() => undefined);
  // job: episode-rules: opens, prolongs and closes episodes from stored values, every 15 s
  const timer = setInterval(() => {
    running = running.then(() => applyRules(options.pool, options.rules ?? defaultRules)).catch(onError);
  }, options.periodMs ?? PERIOD_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}

type Candidate = Readonly<{ id: number; uuid: string; organization_id: string; project_id: string; xuser_id: string }>;

/** Runs one round, after any round of another node.  @throws the database's 55P03 when that one does not end, because stalled rules must be
 *  noticed */
export async function applyRules(pool: Pool, rules: readonly EpisodeRule[]): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(`set local lock_timeout = '${TURN_WAIT_SEC}s'`);
    await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.episodeRules)})`);
    await client.query('set local lock_timeout to default');
    for (const rule of rules) for (const stream of await concerned(client, rule)) await applyRule(client, stream, rule);
  });
}

/** Streams that the rule may concern: those with an open episode of it, and those with a recent value beyond its bound. One query for the
 *  fleet: two per stream and rule took 12 % of the main thread with 500 devices. */
async function concerned(db: Db, rule: EpisodeRule): Promise<readonly Candidate[]> {
  // SQL, as in applyRule: a query of feature values that begins with their newest time.
  const { rows } = await db.query<Candidate>(
    `with method_of as (
       select id, steps_per_unit(step) as per_unit from method where kind = 'feature' and name = $1 order by id desc limit 1)
     select s.id, s.uuid, s.organization_id, s.project_id, s.xuser_id from stream s
     where s.id in (select stream_id from episode where status = 'open' and created_by = $2)
        or s.last_packet_at > now() - make_interval(secs => $3::integer) and exists (
          select from method_of o
          cross join lateral (select newest_value(s.id, o.id) - make_interval(secs => $3::integer) as low offset 0) n
          cross join lateral (
            select from feature_minute f
            where f.stream_id = s.id and f.method_id = o.id and f.bucket > n.low - interval '1 minute'
              and (f.max >= $4 * o.per_unit or f.min <= $5 * o.per_unit)) beyond)`,
    [rule.feature, `rule:${rule.name}_v1`, LOOK_BACK_SEC, rule.above ?? null, rule.below ?? null],
  );
  return rows;
}

async function applyRule(db: Db, stream: Candidate, rule: EpisodeRule): Promise<void> {
  const createdBy = `rule:${rule.name}_v1`;
  const open = await run(
    db,
    build
      .selectFrom('episode')
      .select(({ ref }) => epochMs(ref('started_at')).as('start_ms'))
      .where('xuser_id', '=', stream.xuser_id)
      .where('stream_id', '=', stream.id)
      .where('created_by', '=', createdBy)
      .where('status', '=', 'open')
      .orderBy('started_at', 'desc')
      .limit(1),
  );
  // Times of the values, not of the wall clock, so that replaying an old recording makes episodes too.
  const { rows } = await db.query<{ newest: number | null; t: number[] | null; v: number[] | null }>(
    `with method_of as (select id from method where kind = 'feature' and name = $2 order by id desc limit 1),
     trusted_of as (select id from method where kind = 'feature' and name = $6 order by id desc limit 1),
     newest as (select newest_value($1, (select id from method_of)) as time),
     range as materialized (select least(time - make_interval(secs => $3::integer), to_timestamp($4::float8)) as low from newest),
     trusted as materialized (
       select h.time, h.qmask from range cross join lateral feature_values(range.low - interval '1 minute', 'infinity') h
       where h.stream_id = $1 and h.method_id = (select id from trusted_of))
     select (extract(epoch from (select time from newest)) * 1000)::float8 as newest,
       array_agg((extract(epoch from f.time) * 1000)::float8 order by f.time) as t, array_agg(f.value order by f.time) as v
     from range cross join lateral feature_values(range.low, 'infinity') f
     where f.stream_id = $1 and f.method_id = (select id from method_of) and f.qmask <= $5 and f.value is not null
       and ($6::text is null or (
         select count(*) filter (where h.qmask = 0) >= ${GOOD_SHARE_MIN} * count(*) from trusted h
         where h.time > f.time - interval '1 minute' and h.time <= f.time))`,
    [
      stream.id,
      rule.feature,
      LOOK_BACK_SEC,
      (open.rows[0]?.start_ms ?? Number.MAX_SAFE_INTEGER / 1e4) / 1000,
      rule.qualityMax ?? 0,
      rule.trusted ?? null,
    ],
  );
  const { newest, t, v } = rows[0] ?? {};
  if (newest === null || newest === undefined || t === null || t === undefined || v === null || v === undefined) return;
  for (const stretch of findStretches(rule, t, v, newest)) await record(db, stream, rule, createdBy, stretch);
}

/** Opens, prolongs or closes the episode of a stretch. */
async function record(db: Db, stream: Candidate, rule: EpisodeRule, createdBy: string, stretch: Stretch): Promise<void> {
  const start = new Date(stretch.startMs - 1000 * (rule.beforeSec ?? 0)).toISOString();
  const end = new Date(stretch.endMs).toISOString();
  const summary = { feature: rule.feature, extreme: stretch.extreme, duration_sec: (Date.parse(end) - Date.parse(start)) / 1000 };
  // A known episode that overlaps is the same stretch, because the examined range may begin inside it.
  const known = await run(
    db,
    build
      .selectFrom('episode')
      .select(['id', 'status'])
      .where('xuser_id', '=', stream.xuser_id)
      .where('stream_id', '=', stream.id)
      .where('created_by', '=', createdBy)
      .where('started_at', '<=', sql<Date>`${end}::timestamptz`)
      .where(sql<boolean>`coalesce(ended_at, 'infinity') >= ${start}::timestamptz`)
      .limit(1),
  );
  const scope = { orgId: stream.organization_id, projectId: stream.project_id };
  const row = known.rows[0];
  if (row === undefined) {
    const episodeId = await insertEpisode(db, {
      ...scope,
      subjectId: stream.xuser_id,
      streamId: stream.id,
      kind: rule.name,
      title: rule.title,
      status: stretch.over ? 'closed' : 'open',
      severity: rule.severity,
      startedAt: start,
      endedAt: stretch.over ? end : null,
      summary,
      createdBy,
    });
    await insertStrip(db, { episodeId, streamId: stream.id, start, end, by: createdBy });
    await emitEvent(db, scope, 'episode.created', {
      episode_id: episodeId,
      subject_id: stream.xuser_id,
      kind: rule.name,
      severity: rule.severity,
    });
    return;
  }
  if (row.status !== 'open') return;
  const status = stretch.over ? 'closed' : 'open';
  const after = { status, ended_at: stretch.over ? end : null, summary: JSON.stringify(summary), updated_at: now } as const;
  await run(
    db,
    build
      .updateTable('episode')
      .set(after)
      .where('id', '=', row.id)
      .where(({ or, eb }) => or([eb('status', '<>', status), sql<boolean>`summary <> ${after.summary}::jsonb`])),
  );
  if (stretch.over) await emitEvent(db, scope, 'episode.updated', { episode_id: row.id, subject_id: stream.xuser_id, kind: rule.name });
}
