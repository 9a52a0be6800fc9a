/** Questionnaires available to a project: its own versions first, then the built-in ones. */
import { sql } from 'kysely';
import type { InferResult } from 'kysely';
import { build, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Questionnaire, QuestionnaireText } from './questionnaire.ts';
import type { Scoring } from './scoring.ts';
import { shippedQuestionnaires } from './shipped-questionnaires.ts';

export type QuestionnaireVersion = Readonly<{
  code: string;
  version: number;
  text: QuestionnaireText;
  scoring: Scoring;
  /** Ships with the service. */
  builtIn: boolean;
  createdBy: string;
  createdAt: string | null;
  retiredAt: string | null;
}>;

const stored = build
  .selectFrom('questionnaire as q')
  .select(['q.code', 'q.version', 'q.created_by'])
  .select(({ ref }) => [
    ref('q.resource').$castTo<QuestionnaireText>().as('resource'),
    ref('q.scoring').$castTo<Scoring>().as('scoring'),
    isoTime(ref('q.created_at')).as('created_at'),
    isoTime(ref('q.retired_at')).as('retired_at'),
  ]);
type Row = InferResult<typeof stored>[number];

/** Every version of a project, retired ones included, and the built-in ones; by code, newest first. */
export async function listVersions(db: Db, projectId: string | null): Promise<readonly QuestionnaireVersion[]> {
  const versions = stored.where('q.project_id', '=', projectId);
  const { rows } = await run(db, versions.orderBy('q.code').orderBy('q.version', 'desc').limit(2000));
  const shipped = shippedQuestionnaires.map((item): QuestionnaireVersion => ({
    ...item,
    builtIn: true,
    createdBy: '',
    createdAt: null,
    retiredAt: null,
  }));
  return [...rows.map(versionOf), ...shipped].toSorted((a, b) => (a.code === b.code ? b.version - a.version : a.code < b.code ? -1 : 1));
}

/** Questionnaires in use: for each code the newest version that is not retired. */
export async function listAsked(db: Db, projectId: string | null): Promise<readonly QuestionnaireVersion[]> {
  const asked = new Map<string, QuestionnaireVersion>();
  for (const item of await listVersions(db, projectId)) {
    if (item.retiredAt === null && !asked.has(item.code)) asked.set(item.code, item);
  }
  return [...asked.values()];
}

/** @param version one version, retired or not; null: the one in use */
export async function findQuestionnaire(
  db: Db,
  projectId: string | null,
  code: string,
  version: number | null,
): Promise<QuestionnaireVersion | null> {
  const { rows } = await run(
    db,
    stored
      .where('q.project_id', '=', projectId)
      .where('q.code', '=', code)
      .where(({ eb }) => (version === null ? eb('q.retired_at', 'is', null) : eb('q.version', '=', version)))
      .orderBy('q.version', 'desc')
      .limit(1),
  );
  if (rows[0] !== undefined) return versionOf(rows[0]);
  const shipped = shippedQuestionnaires.find((item) => item.code === code && (version === null || item.version === version));
  return shipped === undefined ? null : { ...shipped, builtIn: true, createdBy: '', createdAt: null, retiredAt: null };
}

/** Adds a version and retires earlier ones.  @returns its number */
export async function publishQuestionnaire(
  db: Db,
  input: Readonly<{ orgId: string; projectId: string; code: string; text: QuestionnaireText; scoring: Scoring; createdBy: string }>,
): Promise<number> {
  const shipped = shippedQuestionnaires.find((item) => item.code === input.code)?.version ?? 0;
  // The caller holds the lock of the project; otherwise two writers would collide on the unique key.
  const { orgId, projectId, code, text, scoring, createdBy } = input;
  const next = build
    .selectFrom('questionnaire')
    .select(sql<number>`greatest(coalesce(max(version), 0), ${shipped}::integer) + 1`.as('version'))
    .where('project_id', '=', projectId)
    .where('code', '=', code);
  const { rows } = await run(
    db,
    build
      .with('retired', () => notRetired(projectId, code).set({ retired_at: now }))
      .insertInto('questionnaire')
      .values({
        organization_id: orgId,
        project_id: projectId,
        code,
        version: next,
        resource: JSON.stringify(text),
        scoring: JSON.stringify(scoring),
        created_by: createdBy,
      })
      .returning('version'),
  );
  const version = rows[0]?.version;
  if (version === undefined) throw new Error('questionnaire insert returned no row');
  return version;
}

/** Retires a project's own questionnaire. */
export async function retireQuestionnaire(db: Db, projectId: string, code: string): Promise<void> {
  await run(db, notRetired(projectId, code).set({ retired_at: now }));
}

function notRetired(projectId: string, code: string) {
  return build.updateTable('questionnaire').where('project_id', '=', projectId).where('code', '=', code).where('retired_at', 'is', null);
}

/** As a FHIR R4 resource. */
export function resourceOf({ code, version, text, retiredAt }: QuestionnaireVersion): Questionnaire {
  return { resourceType: 'Questionnaire', id: code, version: String(version), status: retiredAt === null ? 'active' : 'retired', ...text };
}

function versionOf(row: Row): QuestionnaireVersion {
  return {
    code: row.code,
    version: row.version,
    text: row.resource,
    scoring: row.scoring,
    builtIn: false,
    createdBy: row.created_by,
    createdAt: row.created_at,
    retiredAt: row.retired_at,
  };
}
