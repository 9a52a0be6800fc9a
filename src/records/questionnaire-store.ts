/** Questionnaires as a project has them: its own versions first, then those that ship. */
import type { Db } from '../storage/database/database.ts';
import type { Questionnaire, QuestionnaireText } from './questionnaire.ts';
import type { Scoring } from './scoring.ts';
import { shippedQuestionnaires } from './shipped-questionnaires.ts';

export type QuestionnaireVersion = Readonly<{
  code: string;
  version: number;
  text: QuestionnaireText;
  scoring: Scoring;
  /** It ships with the service: no project wrote it. */
  builtIn: boolean;
  createdBy: string;
  createdAt: string | null;
  retiredAt: string | null;
}>;

type Row = Readonly<{
  code: string;
  version: number;
  resource: QuestionnaireText;
  scoring: Scoring;
  created_by: string;
  created_at: string;
  retired_at: string | null;
}>;
const columns = `q.code, q.version, q.resource, q.scoring, q.created_by, to_json(q.created_at) #>> '{}' as created_at,
  to_json(q.retired_at) #>> '{}' as retired_at`;

/** Every version of a project, retired ones included, and those that ship; by code, the newest first. */
export async function listVersions(db: Db, projectId: string | null): Promise<readonly QuestionnaireVersion[]> {
  const { rows } = await db.query<Row>(
    `select ${columns} from questionnaire q where q.project_id = $1::uuid order by q.code, q.version desc limit 2000`,
    [projectId],
  );
  const shipped = shippedQuestionnaires.map((item): QuestionnaireVersion => ({
    ...item,
    builtIn: true,
    createdBy: '',
    createdAt: null,
    retiredAt: null,
  }));
  return [...rows.map(versionOf), ...shipped].toSorted((a, b) => (a.code === b.code ? b.version - a.version : a.code < b.code ? -1 : 1));
}

/** What a project asks now: of each code the newest version that is not retired. */
export async function listAsked(db: Db, projectId: string | null): Promise<readonly QuestionnaireVersion[]> {
  const asked = new Map<string, QuestionnaireVersion>();
  for (const item of await listVersions(db, projectId)) {
    if (item.retiredAt === null && !asked.has(item.code)) asked.set(item.code, item);
  }
  return [...asked.values()];
}

/** @param version one version, retired or not; null: the one that is asked now */
export async function findQuestionnaire(
  db: Db,
  projectId: string | null,
  code: string,
  version: number | null,
): Promise<QuestionnaireVersion | null> {
  const { rows } = await db.query<Row>(
    `select ${columns} from questionnaire q
     where q.project_id = $1::uuid and q.code = $2 and case when $3::integer is null then q.retired_at is null else q.version = $3 end
     order by q.version desc limit 1`,
    [projectId, code, version],
  );
  if (rows[0] !== undefined) return versionOf(rows[0]);
  const shipped = shippedQuestionnaires.find((item) => item.code === code && (version === null || item.version === version));
  return shipped === undefined ? null : { ...shipped, builtIn: true, createdBy: '', createdAt: null, retiredAt: null };
}

/** Adds a version and retires the ones before it. @returns its number */
export async function publishQuestionnaire(
  db: Db,
  input: Readonly<{ orgId: string; projectId: string; code: string; text: QuestionnaireText; scoring: Scoring; createdBy: string }>,
): Promise<number> {
  const shipped = shippedQuestionnaires.find((item) => item.code === input.code)?.version ?? 0;
  // The caller holds the lock of the project: two writers at once would meet at the unique key.
  const { rows } = await db.query<{ version: number }>(
    `with newest as (
       select greatest(coalesce(max(version), 0), $7::integer) + 1 as version from questionnaire where project_id = $2 and code = $3
     ), retired as (
       update questionnaire set retired_at = now() where project_id = $2 and code = $3 and retired_at is null
     )
     insert into questionnaire (organization_id, project_id, code, version, resource, scoring, created_by)
     select $1, $2, $3, newest.version, $4, $5, $6 from newest returning version`,
    [input.orgId, input.projectId, input.code, JSON.stringify(input.text), JSON.stringify(input.scoring), input.createdBy, shipped],
  );
  const version = rows[0]?.version;
  if (version === undefined) throw new Error('questionnaire insert returned no row');
  return version;
}

/** Asks a project's own questionnaire no longer. */
export async function retireQuestionnaire(db: Db, projectId: string, code: string): Promise<void> {
  await db.query('update questionnaire set retired_at = now() where project_id = $1 and code = $2 and retired_at is null', [
    projectId,
    code,
  ]);
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
