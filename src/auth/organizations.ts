/** Makes organizations and projects with their keys: for `npm start`, the CLI and tests. */
import type { Pool, PoolClient } from 'pg';
import { scopes } from '../http/route.ts';
import type { Scope } from '../http/route.ts';
import { transaction } from '../storage/transaction.ts';
import { createApiKey } from './api-keys.ts';
import type { Db, NewApiKey } from './api-keys.ts';
import { makePublicKey } from './key-format.ts';

export type NewProject = Readonly<{ projectId: string; projectKey: string; sdkKey: string }>;
export type NewOrganization = NewProject & Readonly<{ orgId: string; apiKey: NewApiKey }>;

export type OrganizationOptions = Readonly<{
  projectName?: string;
  scopes?: readonly Scope[];
  /** In the same transaction. */
  onMade?: (client: PoolClient, made: NewOrganization) => Promise<void>;
}>;

/** Makes an organization with one project and one organization key (all scopes unless said otherwise). */
export async function createOrganization(pool: Pool, name: string, options: OrganizationOptions = {}): Promise<NewOrganization> {
  return await transaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>('insert into organization (name) values ($1) returning id', [name]);
    const orgId = rows[0]?.id ?? '';
    const project = await createProject(client, orgId, options.projectName ?? name);
    const apiKey = await createApiKey(client, { orgId, name: 'first key', scopes: options.scopes ?? scopes });
    const made = { orgId, ...project, apiKey };
    await options.onMade?.(client, made);
    return made;
  });
}

/** Makes a project with its public keys. */
export async function createProject(db: Db, orgId: string, name: string): Promise<NewProject> {
  const projectKey = makePublicKey('proj');
  const sdkKey = makePublicKey('sdk');
  const { rows } = await db.query<{ id: string }>(
    'insert into project (organization_id, name, project_key) values ($1, $2, $3) returning id',
    [orgId, name, projectKey],
  );
  const projectId = rows[0]?.id ?? '';
  await db.query('insert into sdk_key (project_id, sdk_key, name) values ($1, $2, $3)', [projectId, sdkKey, 'first key']);
  return { projectId, projectKey, sdkKey };
}
