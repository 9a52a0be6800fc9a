/** The organization, first key and demo of a new installation. */
import type { Auth } from '../auth/auth.ts';
import { createOrganization } from '../auth/organizations.ts';
import type { Config } from '../config.ts';
import { prepareDemo } from '../demo.ts';
import type { Demo } from '../demo.ts';
import type { Logger } from '../http/logger.ts';
import type { Database } from '../storage/database/database.ts';

/** An installation without any organization gets one, with its first key; a demo also gets its user and device. */
export async function firstStart(
  database: Database,
  auth: Auth,
  config: Config,
  logger: Logger,
): Promise<{ firstKey: string | null; demo: Demo | null }> {
  if (!config.demo) return { firstKey: null, demo: null };
  const { rows: organizations } = await database.pool.query('select 1 from organization limit 1');
  const firstKey = organizations.length > 0 ? null : (await createOrganization(database.pool, 'Demo')).apiKey.key;
  const { rows } = await database.pool.query<{ org_id: string; project_id: string }>(
    `select p.organization_id as org_id, p.id as project_id from project p join organization o on o.id = p.organization_id
     where o.name = 'Demo' and p.archived_at is null order by p.created_at limit 1`,
  );
  const project = rows[0];
  if (project === undefined) {
    logger.warn({}, 'demo: the organization Demo has no project any more, so nothing is shown; create one, or start without BIO_DEMO');
    return { firstKey, demo: null };
  }
  const demo = await prepareDemo(database, auth, { orgId: project.org_id, projectId: project.project_id }, logger);
  return { firstKey, demo };
}
