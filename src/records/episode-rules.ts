/** Episodes by rule: stretches in which a feature stayed beyond a bound, found in the stored values of flowing streams. The service has
 *  rules of its own (own-rules.ts), and projects make theirs (project-rules.ts).
 *
 *  A rule is `quiet` until its bound has been passed for `sustainSec`; then an episode opens. It ends at the last value beyond the bound
 *  of its end, once the feature has been back, or silent, for `releaseSec`. Bad values neither start nor prolong an episode, nor do
 *  suspect ones unless the rule says so. A pure function of the stored values: checking the same values again opens nothing twice (one
 *  episode per rule, stream and start). An open episode is judged from its start by the rule and the values as they are now, so that a
 *  changed rule and late values count for it; one that would not have opened ends. A long one is, too, but not in every round. */
import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { build, epochMs, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { hashedLock, namedLocks } from '../storage/database/locks.ts';
import { transaction } from '../storage/database/transaction.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { creatorOf, lookBackSec, NEWS_SEC, ONE_PLAN, REACHED_SQL, silenceSec } from './episode-rule.ts';
import type { Candidate, EpisodeRule } from './episode-rule.ts';
import { isActive, isHere } from '../tenancy/moving.ts';
import { ownRules } from './own-rules.ts';
import { endOrphans, rulesByOrganization } from './project-rules.ts';
import { endUnconfirmed, OPEN_BY_RULE, recordStretch } from './rule-episodes.ts';
import { hasNewsSql, looksDue, lookedFromSql } from './rule-looks.ts';
import type { Look } from './rule-looks.ts';
import { RuleTurns } from './rule-turns.ts';
import type { Pair } from './rule-turns.ts';
import { valuesBeyond } from './rule-values.ts';
import { StretchFinder } from './stretches.ts';
import type { Stretch } from './stretches.ts';
import { unixNowMs } from '../unix-clock.ts';

export type RuleOptions = Readonly<{
  pool: Pool;
  rules?: readonly EpisodeRule[];
  periodMs?: number;
  /** Whether rounds are this node's: each of three nodes with a round of its own costs the database three. */
  isTurn?: () => boolean;
  onError?: (error: unknown) => void;
}>;

const PERIOD_MS = 15_000;
/** How long a turn waits for one of another node, s. */
const TURN_WAIT_SEC = 10;
/** Applies the rules to streams with recent packets every PERIOD_MS, on one node at a time.  @returns how to stop */
export function startEpisodeRules(options: RuleOptions): () => Promise<void> {
  let running: Promise<void> | null = null;
  const onError = options.onError ?? (() => undefined);
  const turns = new RuleTurns();
  // job: episode-rules: opens, prolongs and closes episodes from stored values, every 15 s
  const timer = setInterval(() => {
    if (options.isTurn?.() === false) return turns.clear();
    running ??= applyRules(options.pool, options.rules ?? ownRules, turns)
      .catch(onError)
      .finally(() => (running = null));
  }, options.periodMs ?? PERIOD_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    turns.stop();
    await running;
  };
}

/** Runs one round, after any work of another node: the rules given, then those of projects, organization by organization (rule-turns.ts).
 *  @throws the database's 55P03 when that one does not end, because stalled rules must be noticed */
export async function applyRules(pool: Pool, rules: readonly EpisodeRule[], turns = new RuleTurns()): Promise<void> {
  const turn = async (work: (client: PoolClient) => Promise<void>): Promise<void> =>
    transaction(pool, async (client) => {
      await client.query(`set local lock_timeout = '${TURN_WAIT_SEC}s'`);
      await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.episodeRules)})`);
      await client.query('set local lock_timeout to default');
      await work(client);
    });
  const own: Pair[] = [];
  let ofProjects: ReadonlyMap<string, readonly string[]> = new Map();
  let looks: readonly Look[] = [];
  await turn(async (client) => {
    await client.query(ONE_PLAN);
    looks = await looksDue(client);
    for (const rule of rules) for (const stream of await concerned(client, rule)) own.push({ rule, ruleId: null, stream });
    await endOrphans(client);
    ofProjects = await rulesByOrganization(client);
  });
  await turns.take({ own, ruleIds: ofProjects, looks }, turn, applyRule);
}

/** Streams whose values one query looks at: on a busy machine each takes milliseconds of the 30 s that a query has. */
const STREAMS_AT_ONCE = 500;

/** Streams that the rule may concern: those with an open episode of it, and those with a recent value beyond its bound. Few queries for
 *  the fleet: two per stream and rule took 12 % of the main thread with 500 devices. */
async function concerned(db: Db, rule: EpisodeRule): Promise<readonly Candidate[]> {
  const lookBack = lookBackSec(rule);
  const { rows } = await db.query<Candidate & Readonly<{ is_open: boolean }>>(
    `select s.id, s.uuid, s.organization_id, s.project_id, s.xuser_id, s.id in (select stream_id from episode where ${OPEN_BY_RULE} and created_by = $1) as is_open
     from stream s
     where ${isHere('s.organization_id')} and ${isActive('s.project_id')}
       and (s.id in (select stream_id from episode where ${OPEN_BY_RULE} and created_by = $1) or ${hasNewsSql('make_interval(secs => $2::integer)')})
     order by s.id`,
    [creatorOf(rule), lookBack],
  );
  const recent = rows.filter((stream) => !stream.is_open).map(({ id }) => id);
  const beyond = new Set<number>();
  for (let first = 0; first < recent.length; first += STREAMS_AT_ONCE) {
    // SQL, as in applyRule: a query of feature values that begins with their newest time.
    const { rows: found } = await db.query<{ id: number }>(
      `with method_of as (
         select m.id, steps_per_unit(m.step) as per_unit from method m where m.kind = 'feature' and m.name = $1 order by ${newestFirst('m')} limit 1)
       select s.id from stream s
       where s.id = any($2::integer[]) and exists (
         select from method_of o
         cross join lateral (select newest_value(s.id, o.id) as time offset 0) v
         cross join lateral (select ${lookedFromSql('v.time', 'make_interval(secs => $3::integer)')} as low) n
         cross join lateral (
           select from feature_minute f
           where f.stream_id = s.id and f.method_id = o.id and f.bucket > n.low - interval '1 minute'
             and (f.max >= $4 * o.per_unit or f.min <= $5 * o.per_unit)) beyond)`,
      [rule.feature, recent.slice(first, first + STREAMS_AT_ONCE), lookBack, rule.above ?? null, rule.below ?? null],
    );
    for (const { id } of found) beyond.add(id);
  }
  return rows.filter(({ id, is_open: isOpen }) => isOpen || beyond.has(id));
}

/** An open episode of this age is judged from its start once an hour, or when its rule was changed; else from its last value beyond the
 *  bound: in a week one has 600,000 values, and a round comes every 15 s. */
const WHOLE_MS = 6 * 3_600_000;
const HOUR_MINUTES = 60;

type Open = Readonly<{ id: string; start_ms: number; updated_ms: number; summary: Readonly<{ extreme?: number; duration_sec?: number }> }>;

/** The minute of each hour in which an episode is judged from its start.  @param id uuid */
export const wholeMinuteOf = (id: string): number => Number(`0x${id.slice(0, 8)}`) % HOUR_MINUTES;

/** The stretch that an open episode is of, as the last round left it; null: it is to be judged from its start. */
function goesOn(
  rule: EpisodeRule,
  { id, start_ms: startMs, updated_ms: updatedMs, summary }: Open,
  nowMs: number,
): Omit<Stretch, 'over'> | null {
  const { extreme, duration_sec: sec } = summary;
  if (typeof extreme !== 'number' || typeof sec !== 'number' || nowMs - startMs < WHOLE_MS) return null;
  if ((rule.changedMs ?? 0) >= updatedMs || Math.floor(nowMs / 60_000) % HOUR_MINUTES === wholeMinuteOf(id)) return null;
  return { startMs: startMs + 1000 * (rule.beforeSec ?? 0), endMs: startMs + 1000 * sec, extreme };
}

/** Range that one statement unpacks at most, ms. */
const PART_MS = 3_600_000;

async function applyRule(db: Db, stream: Candidate, rule: EpisodeRule): Promise<void> {
  const open = await run(
    db,
    build
      .selectFrom('episode')
      .select(({ ref }) => [
        'id',
        epochMs(ref('started_at')).as('start_ms'),
        epochMs(ref('updated_at')).as('updated_ms'),
        ref('summary').$castTo<Open['summary']>().as('summary'),
      ])
      .where('xuser_id', '=', stream.xuser_id)
      .where('stream_id', '=', stream.id)
      .where('created_by', '=', creatorOf(rule))
      .where(sql.raw<boolean>(OPEN_BY_RULE))
      .orderBy('started_at', 'desc')
      .limit(1),
  );
  const [started] = open.rows;
  const from = started === undefined ? null : goesOn(rule, started, unixNowMs());
  const { methodId, newestMs, lowMs, isSilent } = await rangeOf(db, stream, rule, started?.start_ms ?? null);
  if (newestMs === null) {
    // No value of a new version yet: of a silent recording none will come.
    if (started !== undefined && isSilent) await endUnconfirmed(db, stream, rule.name, started.id, 'rule');
    return;
  }
  const finder = new StretchFinder(rule, from);
  const stretches: Stretch[] = [];
  for (let partMs = from?.endMs ?? lowMs; partMs <= newestMs; partMs += PART_MS) {
    const { t, v } = await valuesBeyond(db, rule, methodId, stream.id, partMs, Math.min(partMs + PART_MS, newestMs + 1));
    for (const [i, timeMs] of t.entries()) {
      const ended = finder.push(timeMs, v[i]!);
      if (ended !== null) stretches.push(ended);
    }
  }
  // Of an import nothing is open: what is found is over, and becomes longer with the values that follow.
  const last = finder.finish(isSilent || newestMs < unixNowMs() - NEWS_SEC * 1000 ? Infinity : newestMs);
  if (last !== null) stretches.push(last);
  for (const stretch of stretches) await recordStretch(db, stream, rule, stretch);
  const isConfirmed = stretches.some(({ endMs }) => started !== undefined && endMs >= started.start_ms);
  if (started !== undefined && !isConfirmed) await endUnconfirmed(db, stream, rule.name, started.id);
}

type Range = Readonly<{ isSilent: boolean }> &
  (Readonly<{ methodId: number; newestMs: number; lowMs: number }> | Readonly<{ methodId: null; newestMs: null; lowMs: null }>);

/** What a look examines: from where the round before ended, and from within an episode that may go on, to the newest value. Times of the
 *  values, not of the wall clock, so that replaying an old recording makes episodes, too.
 *  @param openMs of an open episode: from there on */
async function rangeOf(db: Db, stream: Candidate, rule: EpisodeRule, openMs: number | null): Promise<Range> {
  // SQL: a query of feature values that begins with their newest time.
  const { rows } = await db.query<{ method_id: number | null; newest: number | null; low: number | null; is_silent: boolean }>(
    `with method_of as (select m.id from method m where m.kind = 'feature' and m.name = $2 order by ${newestFirst('m')} limit 1),
     newest as materialized (select newest_value($1, (select id from method_of)) as time),
     range as (
       select s.*, n.time, ${lookedFromSql('n.time', 'make_interval(secs => $3::integer)')} as low
       from stream s, newest n where s.id = $1)
     select (select id from method_of) as method_id, (extract(epoch from s.time) * 1000)::float8 as newest,
       (extract(epoch from least(s.low, to_timestamp($4::float8 / 1000), (
         select min(e.started_at) from episode e
         where e.xuser_id = s.xuser_id and e.stream_id = s.id and e.created_by = $5
           and e.started_at between s.low - interval '${WHOLE_MS} milliseconds' and s.low and e.ended_at >= s.low))) * 1000)::float8 as low,
       coalesce(
         s.last_packet_at < now() - make_interval(secs => $6::integer)
           or case when s.last_sample_at > s.time + make_interval(secs => $6::integer)
             then ${REACHED_SQL} > s.time + make_interval(secs => $6::integer) end, false) as is_silent
     from range s`,
    [stream.id, rule.feature, lookBackSec(rule), openMs, creatorOf(rule), silenceSec(rule)],
  );
  const { method_id: methodId = null, newest = null, low = null, is_silent: isSilent = false } = rows[0] ?? {};
  if (methodId === null || newest === null) return { isSilent, methodId: null, newestMs: null, lowMs: null };
  return { isSilent, methodId, newestMs: newest, lowMs: low ?? newest };
}
