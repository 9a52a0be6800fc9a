/** The rules that projects make, for the rounds of episode-rules.ts: which streams each concerns now, and episodes whose rule is gone. */
import type { Db } from '../storage/database/database.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { isActive, isHere } from '../tenancy/moving.ts';
import { everySec, lookBackSql } from './episode-rule.ts';
import type { Candidate, EpisodeRule } from './episode-rule.ts';
import { endUnconfirmed, OPEN_BY_RULE } from './rule-episodes.ts';
import { hasNewsSql, lookedFromSql } from './rule-looks.ts';

/** A row of episode_rule, as far as a round needs it. */
export type RuleRow = Readonly<{
  id: string;
  name: string;
  kind: string;
  feature: string;
  comparison: 'above' | 'below';
  threshold: number;
  end_threshold: number | null;
  sustain_sec: number;
  release_sec: number;
  quality_max: number;
  severity: EpisodeRule['severity'];
  email_to: readonly string[];
  updated_at?: string;
  /** Time from one value of the feature to the next, s; null: it has none. */
  every_sec: number | null;
}>;

/** SQL: says whether a person (column) is one of those whom a row r of episode_rule is for; the project is another condition. */
const isFor = (person: string): string => `(r.xuser_id is null or r.xuser_id = ${person})
       and (r.group_id is null or exists (select from person_group_member g where g.group_id = r.group_id and g.xuser_id = ${person}))`;

/** `created_by` of the episodes of a project's rule. */
export const creatorOfProjectRule = (id: string): string => `rule:${id}`;

/** SQL: how often a feature has a value, s, by its newest method. */
const everySecSql = (feature: string): string =>
  `select ${everySec('m')} from method m where m.kind = 'feature' and m.name = ${feature} order by ${newestFirst('m')} limit 1`;

/** SQL: a row r of episode_rule as JSON, with how often its feature has a value. */
const ROW_SQL = `to_jsonb(r) || jsonb_build_object('every_sec', (${everySecSql('r.feature')}))`;

/** How often a feature has a value, s; null: nothing is known of it. */
export async function everySecOf(db: Db, feature: string): Promise<number | null> {
  // SQL: an order that other queries share.
  const { rows } = await db.query<{ sec: number | null }>(`select (${everySecSql('$1')}) as sec`, [feature]);
  return rows[0]?.sec ?? null;
}

/** The rule that a row stands for. A value holds until the next is due: what comes once in five minutes is not back after 30 s. */
export function episodeRuleOf(row: RuleRow): EpisodeRule {
  return {
    name: row.kind,
    title: row.name,
    by: creatorOfProjectRule(row.id),
    ...(row.email_to.length > 0 && { emailsOf: row.id }),
    feature: row.feature,
    ...(row.comparison === 'above' ? { above: row.threshold } : { below: row.threshold }),
    ...(row.end_threshold !== null && { endBound: row.end_threshold }),
    qualityMax: row.quality_max === 0 ? 0 : 1,
    sustainSec: row.sustain_sec,
    releaseSec: Math.max(row.release_sec, row.every_sec ?? 0),
    everySec: row.every_sec ?? 0,
    severity: row.severity,
    ...(row.updated_at !== undefined && { changedMs: Date.parse(row.updated_at) }),
  };
}

type Found = Readonly<{ rule: EpisodeRule; ruleId: string; stream: Candidate }>;

/** The rules that are switched on, by organization, of each the oldest first. */
export async function rulesByOrganization(db: Db): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await db.query<{ organization_id: string; ids: string[] }>(
    // SQL: conditions that all background work has.
    `select r.organization_id, array_agg(r.id::text order by r.created_at, r.id) as ids from episode_rule r
     where r.is_enabled and ${isHere('r.organization_id')} and ${isActive('r.project_id')} group by r.organization_id`,
  );
  return new Map(rows.map(({ organization_id: id, ids }) => [id, ids]));
}

/** Projects of an organization whose rules are looked at now. */
export async function activeProjects(db: Db, organizationId: string): Promise<ReadonlySet<string>> {
  // SQL: as above.
  const { rows } = await db.query<{ id: string }>(
    `select p.id from project p where p.organization_id = $1 and ${isHere('p.organization_id')} and ${isActive('p.id')}`,
    [organizationId],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Rules as they are now, by id; not those that were switched off or deleted. */
export async function currentRules(db: Db, ids: readonly string[]): Promise<Map<string, EpisodeRule>> {
  if (ids.length === 0) return new Map();
  // SQL: the row as JSON, as concernedByProjectRules has it.
  const { rows } = await db.query<Readonly<{ rule: RuleRow }>>(
    `select ${ROW_SQL} as rule from episode_rule r where r.id = any($1::uuid[]) and r.is_enabled`,
    [[...new Set(ids)]],
  );
  return new Map(rows.map(({ rule }) => [rule.id, episodeRuleOf(rule)]));
}

/** Pairs of a rule and a stream that it may concern: one with an open episode of it, or with a recent value beyond its bound. One query for
 *  some rules and all their streams. */
export async function concernedByProjectRules(db: Db, ids: readonly string[]): Promise<readonly Found[]> {
  // SQL: as in episode-rules.ts, a query of feature values that begins with their newest time.
  const { rows } = await db.query<Readonly<{ rule: RuleRow; stream: Candidate }>>(
    `select ${ROW_SQL} as rule, json_build_object('id', s.id, 'uuid', s.uuid, 'organization_id', s.organization_id, 'project_id', s.project_id,
       'xuser_id', s.xuser_id) as stream
     from episode_rule r
     cross join lateral (
       select m.id, steps_per_unit(m.step) as per_unit, ${everySec('m')} as every_sec from method m
       where m.kind = 'feature' and m.name = r.feature order by ${newestFirst('m')} limit 1) o
     cross join lateral (select make_interval(secs => ${lookBackSql('o.every_sec')}) as look_back) k
     join stream s on s.project_id = r.project_id and ${isFor('s.xuser_id')}
     where r.id = any($1::uuid[]) and r.is_enabled and ${isHere('r.organization_id')} and ${isActive('r.project_id')} and (
       s.id in (select e.stream_id from episode e where ${OPEN_BY_RULE} and e.organization_id = r.organization_id and e.created_by = 'rule:' || r.id)
       or ${hasNewsSql('k.look_back')} and exists (
         select from (select newest_value(s.id, o.id) as time offset 0) v
         cross join lateral (select ${lookedFromSql('v.time', 'k.look_back')} as low) n
         cross join lateral (
           select from feature_minute f
           where f.stream_id = s.id and f.method_id = o.id and f.bucket > n.low - interval '1 minute'
             and case r.comparison when 'above' then f.max >= r.threshold * o.per_unit else f.min <= r.threshold * o.per_unit end) beyond))
     order by r.created_at, r.id, s.id`,
    [ids],
  );
  return rows.map(({ rule, stream }) => ({ rule: episodeRuleOf(rule), ruleId: rule.id, stream }));
}

/** Episodes of one organization that endOrphans ends at once; the next round ends others. */
const ORPHANS_MAX = 500;

/** Ends open episodes whose rule was deleted or switched off, or is no longer for their person. */
export async function endOrphans(db: Db): Promise<void> {
  type Orphan = Readonly<{ id: string; kind: string; organization_id: string; project_id: string; xuser_id: string }>;
  // SQL: a pattern for the creators that are rules of projects, and the condition that rounds use.
  const { rows } = await db.query<Orphan>(
    `select * from (select e.id, e.kind, e.organization_id, e.project_id, e.xuser_id,
       row_number() over (partition by e.organization_id order by e.started_at, e.id) as nth from episode e
     where ${OPEN_BY_RULE} and ${isHere('e.organization_id')} and ${isActive('e.project_id')} and e.created_by ~ '^rule:[0-9a-f]{8}-' and not exists (
       select from episode_rule r
       where e.created_by = 'rule:' || r.id and r.is_enabled and r.project_id = e.project_id and ${isFor('e.xuser_id')})) orphan where nth <= ${ORPHANS_MAX}`,
  );
  for (const episode of rows) await endUnconfirmed(db, episode, episode.kind, episode.id);
}
