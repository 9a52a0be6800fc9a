/** Decides whose a record is; every reader of one person's data asks here first. A record of another person and one that does not exist get
 *  the same answer (404), so that ids cannot be probed. */
import { sql } from 'kysely';
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { usedZone } from '../http/time-zone.ts';
import type { SubjectId } from '../signal.ts';
import { build, builtOnce, run } from '../storage/database/build.ts';
import type { Values } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { checkConsent } from './consents.ts';
import type { ConsentPurpose } from './consents.ts';
import { noteProject, noteSubject } from './request-scope.ts';
import { isProjectKey } from './projects.ts';
import { prepared } from '../storage/database/prepared.ts';

export type Subject = Readonly<{ id: SubjectId; externalId: string; orgId: string; projectId: string; timeZone: string }>;
export type OwnedStream = Readonly<{ id: number; uuid: string; subjectId: SubjectId; orgId: string; projectId: string; deviceId: string }>;
export type OwnedProject = Readonly<{ id: string; orgId: string; projectKey: string; timeZone: string }>;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** Organization of a caller. @throws PipelineError credential_missing */
export function orgOf(caller: Caller): string {
  if (caller.kind === 'anonymous') throw new PipelineError('credential_missing', 'This needs a credential.');
  return caller.orgId;
}

/** Project that a caller is confined to, or null when it may use every project of its organization. */
export function projectOf(caller: Caller): string | null {
  return caller.kind === 'user' || caller.kind === 'key' ? caller.projectId : null;
}

/** The user whom a caller is confined to, or null. */
export function ownSubjectOf(caller: Caller): string | null {
  return caller.kind === 'user' || caller.kind === 'key' ? caller.subjectId : null;
}

/** Ids of the archived projects of a caller's organization: what is in them is neither listed nor found. */
export const archivedProjects = (caller: Caller) =>
  build.selectFrom('project').select('id').where('organization_id', '=', orgOf(caller)).where('archived_at', 'is not', null);

/** Finds the user that a request is about. A user token, or direct mode, implies its own user and refuses any other.
 *  @param requested uuid or external id of the user; '' when the request names nobody. An external id is unique within a project: a caller
 *  that reaches several projects with that id must choose one (header project-key) or use the uuid.
 *  @param purpose the use of the person's data, which needs their consent where the project requires it; `none` for what does not touch the
 *  data (the user record itself, erasure, the person's own export)
 *  @throws PipelineError not_found, validation_failed (nobody named, or several), consent_missing */
export async function ownSubject(
  db: Db,
  caller: Caller,
  requested: string,
  purpose: ConsentPurpose | 'none' = 'sharing',
): Promise<Subject> {
  const own = ownSubjectOf(caller);
  const wanted = requested === '' ? own : requested;
  if (wanted === null) throw badSubject('required', 'is required with an organization key');
  // SQL here and in ownStream: every read runs them, as prepared statements; building them each time costs more than sending them.
  const { rows } = await db.query<{
    id: SubjectId;
    external_id: string;
    organization_id: string;
    project_id: string;
    own_zone: string | null;
    project_zone: string;
    missing: readonly ConsentPurpose[];
  }>(
    prepared(
      `select x.id, x.external_id, x.organization_id, x.project_id, x.time_zone as own_zone, p.time_zone as project_zone,
       case when p.consent_required = '{}' then '{}' else missing_consents(x.id) end as missing
     from (
       select id from xuser where id = $5::uuid
       union select u.id from project o join xuser u on u.project_id = o.id and u.external_id = $4 where o.organization_id = $1
     ) named join xuser x using (id) join project p on p.id = x.project_id
     where x.organization_id = $1 and ($2::uuid is null or x.project_id = $2) and ($3::uuid is null or x.id = $3) and p.archived_at is null
     order by x.id = $5::uuid desc limit 2`,
      [orgOf(caller), projectOf(caller), own, wanted, uuid.test(wanted) ? wanted : null],
    ),
  );
  const row = rows[0];
  if (row === undefined) throw new PipelineError('not_found', 'There is no such user.');
  // Many applications use uuids as external ids; where one equals the service's own id of another person, the service's id wins.
  if (rows.length > 1 && row.id !== wanted.toLowerCase()) {
    throw badSubject('ambiguous', 'names users of several projects; send the header project-key, or the uuid');
  }
  if (purpose !== 'none') checkConsent(caller, purpose, row.missing);
  noteSubject(caller, row.id, row.project_id);
  const timeZone = usedZone(row.own_zone) ?? usedZone(row.project_zone) ?? 'UTC';
  return { id: row.id, externalId: row.external_id, orgId: row.organization_id, projectId: row.project_id, timeZone };
}

function badSubject(code: string, detail: string): PipelineError {
  return new PipelineError('validation_failed', `subject_id ${detail}.`, { errors: [{ pointer: '/query/subject_id', code, detail }] });
}

/** Finds a stream by its uuid, for reading. @throws PipelineError not_found, consent_missing */
export async function ownStream(db: Db, caller: Caller, streamId: string): Promise<OwnedStream> {
  if (uuid.test(streamId)) {
    const { rows } = await db.query<{
      id: number;
      uuid: string;
      xuser_id: SubjectId;
      organization_id: string;
      project_id: string;
      device_id: string;
      missing: readonly ConsentPurpose[];
    }>(
      prepared(
        `select s.id, s.uuid, s.xuser_id, s.organization_id, s.project_id, d.external_id as device_id,
         case when p.consent_required = '{}' then '{}' else missing_consents(s.xuser_id) end as missing
       from stream s join device d on d.id = s.device_id join project p on p.id = s.project_id
       where s.uuid = $1 and s.organization_id = $2 and ($3::uuid is null or s.project_id = $3) and ($4::uuid is null or s.xuser_id = $4)
         and p.archived_at is null`,
        [streamId, orgOf(caller), projectOf(caller), ownSubjectOf(caller)],
      ),
    );
    const row = rows[0];
    if (row !== undefined) {
      checkConsent(caller, 'sharing', row.missing);
      noteSubject(caller, row.xuser_id, row.project_id);
      return {
        id: row.id,
        uuid: row.uuid,
        subjectId: row.xuser_id,
        orgId: row.organization_id,
        projectId: row.project_id,
        deviceId: row.device_id,
      };
    }
  }
  throw new PipelineError('not_found', 'There is no such stream.');
}

/** Makes an erasure of the person wait until this transaction ends, so that it finds what the transaction stores. For tables without a
 *  foreign key to the person; others do it by themselves.  @throws PipelineError not_found: erased meanwhile */
export async function holdSubject(db: Db, subjectId: string): Promise<void> {
  const { rows } = await run(db, build.selectFrom('xuser').select('id').where('id', '=', subjectId).forKeyShare());
  if (rows.length === 0) throw new PipelineError('not_found', 'There is no such user.');
}

/** Makes other changes to the project wait until this transaction ends. */
export async function lockProject(db: Db, projectId: string): Promise<void> {
  await run(db, build.selectFrom('project').select('id').where('id', '=', projectId).forNoKeyUpdate());
}

type ProjectAsked = Values<{ project: string; orgId: string; own: string | null }>;

const projectsOf = ({ orgId, own }: ProjectAsked) =>
  build
    .selectFrom('project')
    .select(['id', 'organization_id', 'project_key', 'time_zone'])
    .where('organization_id', '=', orgId)
    .where(sql<boolean>`(${own}::uuid is null or id = ${own})`)
    .where('archived_at', 'is', null);
const projectById = builtOnce((asked: ProjectAsked) => projectsOf(asked).where('id', '=', asked.project));
const projectByKey = builtOnce((asked: ProjectAsked) => projectsOf(asked).where(isProjectKey(asked.project)));

/** Finds a project by uuid or by its public key; during an overlap, also by the previous key.  @throws PipelineError not_found */
export async function ownProject(db: Db, caller: Caller, project: string): Promise<OwnedProject> {
  const find = uuid.test(project) ? projectById : projectByKey;
  const { rows } = await find(db, { project, orgId: orgOf(caller), own: projectOf(caller) });
  const row = rows[0];
  if (row === undefined) throw new PipelineError('not_found', 'There is no such project.');
  noteProject(caller, row.id);
  return { id: row.id, orgId: row.organization_id, projectKey: row.project_key, timeZone: usedZone(row.time_zone) ?? 'UTC' };
}

/** @param wanted id or key of a project; absent: whichever the caller is confined to  @returns its id; null: every project of the caller
 *  @throws PipelineError not_found */
export async function projectIdOf(db: Db, caller: Caller, wanted: string | undefined): Promise<string | null> {
  return wanted === undefined ? projectOf(caller) : (await ownProject(db, caller, wanted)).id;
}
