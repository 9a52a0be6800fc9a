/** `biosignal org`, `project` and `key`: list and create organizations, projects and keys. They work on the database, not through the
 *  service: people who can run them can do everything anyway. */
import type { Pool } from 'pg';
import { audit } from '../tenancy/audit.ts';
import type { AuditEntry } from '../tenancy/audit.ts';
import { createApiKey, listApiKeys, OVERLAP_SEC, revokeApiKey, rotateApiKey } from '../auth/api-keys.ts';
import type { ApiKey } from '../auth/api-keys.ts';
import { createOrganization } from '../auth/organizations.ts';
import type { NewOrganization } from '../auth/organizations.ts';
import { PipelineError } from '../errors.ts';
import { scopes } from '../caller.ts';
import type { Scope } from '../caller.ts';
import { transaction } from '../storage/database/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command, Console } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { formatTable, LISTED_MAX, listNamed } from './table.ts';
import type { Named } from './table.ts';
import type { Db } from '../storage/database/database.ts';
import { createProject } from '../tenancy/projects.ts';

const orgOption = { type: 'string', value: 'ORG', doc: 'Id or name of the organization. Not needed while there is only one.' } as const;

export const org: Command = {
  name: 'org',
  summary: 'Create, list, move and remove organizations.',
  positionals: 'create NAME | list | move ORG | remove ORG',
  verbs: true,
  description: `create makes the organization, its first project and a first key with every scope. The key is shown only once.
move copies everything of it to the database of --to, next to others, by a backup in --folder. From the beginning on its requests are
answered 503 here, so devices keep what they have; send them to the other service then. Tokens of its users are minted anew there, and
journals need the same BIO_SECRET. If it fails, or with --back, the organization goes on here.
A move that was killed is given again, with another folder.
remove erases an organization that was moved, and all its users, if the database of --to has it. What is in the audit log stays.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_MOVE_TO', doc: 'The other database. Better in BIO_MOVE_TO: it has a password.' },
    folder: {
      type: 'string',
      value: 'FOLDER',
      fallback: 'biosignal-move',
      doc: 'move: an empty folder for the backup; keep it until all is well.',
    },
    back: { type: 'boolean', doc: 'move: let an organization that was to be moved go on here.' },
    wait: { type: 'string', value: 'SEC', fallback: '120', doc: 'move: how long to wait for acknowledged packets to reach the tables.' },
    yes: { type: 'boolean', doc: 'remove: do it. Without --yes the command only says what it would erase.' },
    project: { type: 'string', value: 'NAME', doc: 'create: name of the first project. Default: the name of the organization.' },
  },
  examples: ['biosignal org create "Sleep Lab" --project Pilot', 'biosignal org move "Sleep Lab" --folder /var/backups/sleep-lab'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async (database) => {
      const { pool } = database;
      const [verb] = positionals;
      if (verb === 'move' || verb === 'remove') {
        const { moveOrganization, moveBack, removeOrganization } = await import('./organization-move.ts');
        const orgId = await findOrganization(pool, argument(positionals, verb, 'ORG'));
        const to = options.text('to');
        if (verb === 'remove') return await removeOrganization(pool, orgId, to, options.flag('yes'), console);
        if (options.flag('back')) return await moveBack(pool, orgId, to, console);
        const [folder, waitMs] = [options.text('folder'), 1000 * options.number('wait', 0, 86_400)];
        return await moveOrganization(database, { orgId, to, folder, waitMs }, console);
      }
      if (verb === 'list') {
        const { rows } = await pool.query<{ id: string; name: string; projects: number; state: string }>(
          `select id, name, (select count(*)::int from project where organization_id = organization.id) as projects,
             case when moving_at is null then 'here' else 'moved' end as state
           from organization order by created_at`,
        );
        return show(console, json, rows);
      }
      const name = argument(positionals, 'create', 'NAME');
      const projectName = options.text('project');
      const made = await createOrganization(pool, name, {
        ...(projectName === '' ? {} : { projectName }),
        onMade: (client, its) => auditOrganization(client, console, its),
      });
      const { orgId, projectId, projectKey, sdkKey, apiKey } = made;
      return showOne(console, json, {
        org_id: orgId,
        project_id: projectId,
        project_key: projectKey,
        sdk_key: sdkKey,
        api_key: apiKey.key,
      });
    }),
};

export const project: Command = {
  name: 'project',
  summary: 'Create and list projects.',
  positionals: 'create NAME | list',
  verbs: true,
  options: { org: orgOption },
  examples: ['biosignal project create "Night study"', 'biosignal project list --json'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const orgId = await findOrganization(pool, options.text('org'));
      if (positionals[0] === 'list') {
        const { rows } = await pool.query<{ id: string; name: string; project_key: string; sdk_key: string | null; users: number }>(
          `select id, name, project_key,
             (select sdk_key from sdk_key where project_id = project.id and revoked_at is null and expires_at is null order by created_at limit 1) as sdk_key,
             (select count(*)::int from xuser where project_id = project.id) as users
           from project where organization_id = $1 order by created_at`,
          [orgId],
        );
        return show(console, json, rows);
      }
      const name = argument(positionals, 'create', 'NAME');
      const made = await transaction(pool, async (client) => {
        const its = await createProject(client, orgId, name);
        await audit(client, commandLine(console, orgId), { action: 'project.created', targetKind: 'project', targetId: its.projectId });
        return its;
      });
      return showOne(console, json, { project_id: made.projectId, project_key: made.projectKey, sdk_key: made.sdkKey });
    }),
};

export const key: Command = {
  name: 'key',
  summary: 'Create, list, rotate and revoke organization keys.',
  positionals: 'create NAME | list | rotate ID | revoke ID',
  verbs: true,
  description:
    'A key is shown only once, when it is created; the database holds its hash. A rotated key keeps working for --overlap seconds.',
  options: {
    org: orgOption,
    scopes: { type: 'string', value: 'LIST', fallback: 'read', doc: `Comma-separated, of ${scopes.join(', ')}.` },
    project: { type: 'string', value: 'PROJECT', doc: 'Limit the key to this project: name, id or project key.' },
    env: { type: 'string', value: 'ENV', fallback: 'live', doc: 'live or test.' },
    expires: { type: 'string', value: 'TIME', doc: 'When the key expires. Default: never.' },
    overlap: { type: 'string', value: 'SEC', fallback: String(OVERLAP_SEC), doc: 'rotate: how long the old key keeps working.' },
  },
  examples: ['biosignal key create "ward 3 gateway" --scopes ingest', 'biosignal key rotate 0195… --overlap 3600'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const orgId = await findOrganization(pool, options.text('org'));
      const [verb] = positionals;
      const note = (
        client: Db,
        action: string,
        { id, project_id: projectId, scopes: given }: ApiKey,
        detail: object = {},
      ): Promise<void> => {
        const entry: AuditEntry = { action, targetKind: 'api_key', targetId: id, projectId, detail: { scopes: given, ...detail } };
        return audit(client, commandLine(console, orgId), entry);
      };
      if (verb === 'list') {
        const keys = await listApiKeys(pool, orgId);
        const state = (row: (typeof keys)[number]): string => {
          if (row.revoked_at !== null) return 'revoked';
          if (row.expires_at === null) return 'active';
          return Date.parse(row.expires_at) < Date.now() ? 'expired' : `until ${row.expires_at}`;
        };
        const rows = keys.map((row) => ({
          id: row.id,
          name: row.name,
          key: row.hint,
          scopes: row.scopes,
          state: state(row),
          last_used: row.last_used_at,
        }));
        return show(console, json, rows);
      }
      if (verb === 'rotate') {
        const id = argument(positionals, 'rotate', 'ID');
        const overlapSec = options.integer('overlap', 0, 31_536_000);
        const made = await transaction(pool, async (client) => {
          const its = await rotateApiKey(client, orgId, id, overlapSec, null);
          await note(client, 'api_key.rotated', its.record, { from: its.record.rotated_from });
          return its;
        });
        return showOne(console, json, { id: made.record.id, api_key: made.key });
      }
      if (verb === 'revoke') {
        const id = argument(positionals, 'revoke', 'ID');
        const revoked = await transaction(pool, async (client) => {
          const its = await revokeApiKey(client, orgId, id);
          await note(client, 'api_key.revoked', its);
          return its;
        });
        return showOne(console, json, { id: revoked.id, revoked_at: revoked.revoked_at ?? '' });
      }
      const expires = options.time('expires');
      const input = {
        orgId,
        name: argument(positionals, 'create', 'NAME'),
        scopes: readScopes(options.text('scopes')),
        env: options.oneOf('env', ['live', 'test']),
        projectId: options.text('project') === '' ? null : await findProject(pool, orgId, options.text('project')),
        expiresAt: expires === null ? null : new Date(Number(expires / 1_000_000n)).toISOString(),
      };
      const made = await transaction(pool, async (client) => {
        const its = await createApiKey(client, input);
        await note(client, 'api_key.created', its.record);
        return its;
      });
      return showOne(console, json, { id: made.record.id, api_key: made.key });
    }),
};

/** Records the creation of an organization, with its first project and key. */
export async function auditOrganization(db: Db, console: Console, made: NewOrganization): Promise<void> {
  const { orgId, projectId, apiKey } = made;
  const actor = commandLine(console, orgId);
  const { scopes: given } = apiKey.record;
  await audit(db, actor, { action: 'organization.created', targetKind: 'organization', targetId: orgId });
  await audit(db, actor, { action: 'project.created', targetKind: 'project', targetId: projectId });
  await audit(db, actor, { action: 'api_key.created', targetKind: 'api_key', targetId: apiKey.record.id, detail: { scopes: given } });
}

function argument(positionals: readonly string[], verb: string, name: string): string {
  const [, value] = positionals;
  if (value === undefined || value === '') throw new UsageError(`${verb} needs ${name}`);
  return value;
}

function readScopes(text: string): Scope[] {
  return text.split(',').map((item) => {
    const found = scopes.find((scope) => scope === item.trim());
    if (found === undefined) throw new UsageError(`--scopes: no '${item}'; there are ${scopes.join(', ')}`);
    return found;
  });
}

/** The organization of an id or name; the only one for ''. */
export async function findOrganization(pool: Pool, wanted: string): Promise<string> {
  const { rows } = await pool.query<Named>(
    `select id, name from organization where $1 = '' or id::text = $1 or name = $1 order by created_at, id limit ${LISTED_MAX + 1}`,
    [wanted],
  );
  const [only, another] = rows;
  if (only === undefined) throw new PipelineError('not_found', wanted === '' ? 'there is no organization yet: biosignal org create NAME' : `no organization '${wanted}'`); // prettier-ignore
  if (another !== undefined) throw new UsageError(wanted === '' ? `there are several organizations: name one with --org: ${listNamed(rows)}` : `several organizations are called '${wanted}': give the id: ${listNamed(rows)}`); // prettier-ignore
  return only.id;
}

async function findProject(pool: Pool, orgId: string, wanted: string): Promise<string> {
  const { rows } = await pool.query<Named>(
    `select id, name from project where organization_id = $1 and (id::text = $2 or project_key = $2 or name = $2)
     order by created_at, id limit ${LISTED_MAX + 1}`,
    [orgId, wanted],
  );
  const [only, another] = rows;
  if (only === undefined) throw new PipelineError('not_found', `no project '${wanted}' in this organization`);
  if (another !== undefined) throw new UsageError(`several projects are called '${wanted}': give the id: ${listNamed(rows)}`);
  return only.id;
}

type Shown = Readonly<Record<string, string | number | null | readonly string[]>>;

function show(console: Console, json: boolean, rows: readonly Shown[]): number {
  if (json) {
    console.out(JSON.stringify(rows, null, 2));
    return EXIT_OK;
  }
  const texts = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])));
  for (const line of formatTable(texts)) console.out(line);
  return EXIT_OK;
}

function textOf(value: Shown[string]): string | number | null {
  return typeof value === 'object' && value !== null ? value.join(',') : value;
}

function showOne(console: Console, json: boolean, row: Readonly<Record<string, string>>): number {
  if (json) console.out(JSON.stringify(row, null, 2));
  else for (const [name, value] of Object.entries(row)) console.out(`${name}: ${value}`);
  return EXIT_OK;
}
