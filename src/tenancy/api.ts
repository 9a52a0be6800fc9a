/** Every route of src/tenancy: users, consents, projects, members, the audit log, and what a client asks once per session. */
import type { Pool } from 'pg';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { auditRoutes } from './audit-routes.ts';
import type { AuditDeps } from './audit-routes.ts';
import { bootstrapRoutes } from './bootstrap-routes.ts';
import type { BootstrapDeps } from './bootstrap-routes.ts';
import { consentRoutes } from './consent-routes.ts';
import { groupRoutes } from './group-routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { projectRoutes } from './project-routes.ts';
import { projectSettingsRoutes } from './project-settings-routes.ts';
import { xuserRoutes } from './xuser-routes.ts';

export type TenancyApiDeps = Readonly<{ db: Pool; cursors: Cursors; flowingStreams?: () => readonly number[] }> &
  BootstrapDeps &
  Pick<AuditDeps, 'flushReads'>;

export function tenancyApi(deps: TenancyApiDeps): readonly Route[] {
  return [
    ...xuserRoutes(deps),
    ...groupRoutes(deps),
    ...consentRoutes(deps),
    ...projectRoutes(deps),
    ...projectSettingsRoutes(deps),
    ...operatorRoutes(deps),
    ...auditRoutes(deps),
    ...bootstrapRoutes(deps),
  ];
}
