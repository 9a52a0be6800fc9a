/** Rules of a project: the values of whom, beyond which bound and for how long, open an episode. */
import { sql } from 'kysely';
import { build, isoTime, now, run, runForOne } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import type { EpisodeSeverity } from './episodes.ts';

export const comparisons = ['above', 'below'] as const;

/** A rule as the API shows it. */
export type Rule = Readonly<{
  id: string;
  project_id: string;
  name: string;
  kind: string;
  subject_id: string | null;
  external_id: string | null;
  group_id: string | null;
  feature: string;
  comparison: (typeof comparisons)[number];
  threshold: number;
  end_threshold: number | null;
  sustain_sec: number;
  release_sec: number;
  quality_max: 0 | 1;
  severity: EpisodeSeverity;
  enabled: boolean;
  email_to: string[];
  quiet_from: string | null;
  quiet_to: string | null;
  email_problem: string | null;
  open_episodes: number;
  created_by: string;
  created_at: string;
  updated_at: string;
}>;

/** What a person says of a rule; the rest follows. */
export type RuleContent = Pick<
  Rule,
  | 'name'
  | 'kind'
  | 'subject_id'
  | 'group_id'
  | 'feature'
  | 'comparison'
  | 'threshold'
  | 'end_threshold'
  | 'sustain_sec'
  | 'release_sec'
  | 'quality_max'
  | 'severity'
  | 'enabled'
  | 'email_to'
  | 'quiet_from'
  | 'quiet_to'
>;

/** Rules of one project. */
const RULES_MAX = 100;

/** The count would tell what the values of one person are, as the bound is known. Asked only where the project requires it: it costs. */
const isShared = sql<boolean>`(p.consent_required = '{}' or not 'sharing' = any(missing_consents(e.xuser_id)))`;

/** Of an address that the rule still tells, and tried: what waits for its first attempt says nothing. */
const isTold = sql<boolean>`(m.recipient = any(r.email_to) and (m.status = 'sent' or m.last_error is not null))`;

const rules = build
  .selectFrom('episode_rule as r')
  .leftJoin('xuser as x', 'x.id', 'r.xuser_id')
  .select(({ ref, selectFrom }) => [
    'r.id',
    'r.project_id',
    'r.name',
    'r.kind',
    'r.xuser_id as subject_id',
    'x.external_id',
    'r.group_id',
    'r.feature',
    ref('r.comparison').$castTo<Rule['comparison']>().as('comparison'),
    'r.threshold',
    'r.end_threshold',
    'r.sustain_sec',
    'r.release_sec',
    ref('r.quality_max').$castTo<Rule['quality_max']>().as('quality_max'),
    ref('r.severity').$castTo<EpisodeSeverity>().as('severity'),
    'r.is_enabled as enabled',
    'r.email_to',
    sql<string | null>`to_char(r.quiet_from, 'HH24:MI')`.as('quiet_from'),
    sql<string | null>`to_char(r.quiet_to, 'HH24:MI')`.as('quiet_to'),
    selectFrom(
      selectFrom('episode_email as m')
        .select(['m.last_error as error', 'm.created_at'])
        .distinctOn('m.recipient')
        .whereRef('m.rule_id', '=', 'r.id')
        .where(isTold)
        .orderBy('m.recipient')
        .orderBy('m.created_at', 'desc')
        .as('newest'),
    )
      .select('newest.error')
      .where('newest.error', 'is not', null)
      .orderBy('newest.created_at', 'desc')
      .limit(1)
      .$asScalar()
      .as('email_problem'),
    selectFrom('episode as e')
      .innerJoin('project as p', 'p.id', 'e.project_id')
      .select(sql<number>`count(*)::integer`.as('n'))
      .whereRef('e.organization_id', '=', 'r.organization_id')
      .where('e.status', '=', 'open')
      .where(isShared)
      .where('e.created_by', '=', sql<string>`'rule:' || r.id`)
      .$asScalar()
      .$notNull()
      .as('open_episodes'),
    'r.created_by',
    isoTime(ref('r.created_at')).as('created_at'),
    isoTime(ref('r.updated_at')).as('updated_at'),
  ]);

/** Of a project, the oldest first. */
export async function listRules(db: Db, projectId: string): Promise<readonly Rule[]> {
  const { rows } = await run(db, rules.where('r.project_id', '=', projectId).orderBy('r.created_at').orderBy('r.id').limit(RULES_MAX));
  return rows;
}

/** @throws PipelineError not_found: not of this project */
export async function findRule(db: Db, projectId: string, id: string): Promise<Rule> {
  const { rows } = await run(db, rules.where('r.project_id', '=', projectId).where('r.id', '=', id));
  if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such rule.');
  return rows[0];
}

/** Makes other changes to the rule, and rounds that would end its episodes, wait. */
export async function lockRule(db: Db, id: string): Promise<void> {
  await run(db, build.selectFrom('episode_rule').select('id').where('id', '=', id).forNoKeyUpdate());
}

const columnsOf = (content: RuleContent) => ({
  name: content.name,
  kind: content.kind,
  xuser_id: content.subject_id,
  group_id: content.group_id,
  feature: content.feature,
  comparison: content.comparison,
  threshold: content.threshold,
  end_threshold: content.end_threshold,
  sustain_sec: content.sustain_sec,
  release_sec: content.release_sec,
  quality_max: content.quality_max,
  severity: content.severity,
  is_enabled: content.enabled,
  email_to: [...content.email_to],
  quiet_from: content.quiet_from,
  quiet_to: content.quiet_to,
});

/** Call it with the project locked, so that the count is exact.  @throws PipelineError conflict: the project has RULES_MAX */
export async function insertRule(
  db: Db,
  place: Readonly<{ orgId: string; projectId: string; by: string }>,
  content: RuleContent,
): Promise<string> {
  const { count } = await runForOne(
    db,
    build
      .selectFrom('episode_rule')
      .select(sql<number>`count(*)::integer`.as('count'))
      .where('project_id', '=', place.projectId),
  );
  if (count >= RULES_MAX) throw new PipelineError('conflict', `The project has ${RULES_MAX} rules, and no more: delete one first.`);
  const row = { ...columnsOf(content), organization_id: place.orgId, project_id: place.projectId, created_by: place.by };
  return (await runForOne(db, build.insertInto('episode_rule').values(row).returning('id'))).id;
}

export async function updateRule(db: Db, id: string, content: RuleContent): Promise<void> {
  await run(
    db,
    build
      .updateTable('episode_rule')
      .set({ ...columnsOf(content), updated_at: now })
      .where('id', '=', id),
  );
}

export async function deleteRule(db: Db, id: string): Promise<void> {
  await run(db, build.deleteFrom('episode_rule').where('id', '=', id));
}

/** Says whether a feature is one that was computed here, by whichever release, or is in the catalog of values. */
export async function isKnownFeature(db: Db, feature: string): Promise<boolean> {
  const stored = build.selectFrom('method').select('id').where('kind', '=', 'feature').where('name', '=', feature);
  const listed = build.selectFrom('biosignal').select('id').where('feature', '=', feature).where('project_id', 'is', null);
  const [methods, values] = [await run(db, stored.limit(1)), await run(db, listed.limit(1))];
  return methods.rows.length + values.rows.length > 0;
}
