/** Creates organizations and projects with their keys, for `npm start`, the CLI and tests. */
import type { Pool, PoolClient } from 'pg';
import { scopes } from '../caller.ts';
import type { Scope } from '../caller.ts';
import { build, run } from '../storage/database/build.ts';
import { transaction } from '../storage/database/transaction.ts';
import { createApiKey } from '../auth/api-keys.ts';
import type { NewApiKey } from '../auth/api-keys.ts';
import { createProject } from '../tenancy/projects.ts';
import type { NewProject } from '../tenancy/projects.ts';

export type NewOrganization = NewProject & Readonly<{ orgId: string; apiKey: NewApiKey }>;

export type OrganizationOptions = Readonly<{
  projectName?: string;
  scopes?: readonly Scope[];
  /** Called in the same transaction. */
  onMade?: (client: PoolClient, made: NewOrganization) => Promise<void>;
}>;

/** Creates an organization with one project and one organization key (all scopes by default). */
export async function createOrganization(pool: Pool, name: string, options: OrganizationOptions = {}): Promise<NewOrganization> {
  return await transaction(pool, async (client) => {
    const { rows } = await run(client, build.insertInto('organization').values({ name }).returning('id'));
    const orgId = rows[0]?.id ?? '';
    const project = await createProject(client, orgId, options.projectName ?? name);
    const apiKey = await createApiKey(client, { orgId, name: 'first key', scopes: options.scopes ?? scopes });
    const made = { orgId, ...project, apiKey };
    await options.onMade?.(client, made);
    return made;
  });
}
