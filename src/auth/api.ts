/** Every route of credentials and tenancy: tokens, keys, sessions, projects, users, consents, operators, audit log. */
import type { Pool } from 'pg';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import type { Auth } from './auth.ts';
import { auditRoutes } from '../tenancy/audit-routes.ts';
import type { AuditDeps } from '../tenancy/audit-routes.ts';
import { consentRoutes } from '../tenancy/consent-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { operatorRoutes } from '../tenancy/operator-routes.ts';
import { projectRoutes } from '../tenancy/project-routes.ts';
import { projectSettingsRoutes } from '../tenancy/project-settings-routes.ts';
import { publicKeyRoutes } from './public-key-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import type { SessionDeps } from './session-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { xuserRoutes } from '../tenancy/xuser-routes.ts';

export type AuthApiDeps = Readonly<{ pool: Pool; auth: Auth; cursors: Cursors }> & Pick<AuditDeps, 'flushReads'> & Omit<SessionDeps, 'db'>;

export function authApi({ pool, auth, cursors, flushReads, ...sessions }: AuthApiDeps): readonly Route[] {
  return [
    ...tokenRoutes({ db: pool, auth }),
    ...xuserRoutes({ db: pool, cursors }),
    ...consentRoutes({ db: pool }),
    ...keyRoutes({ pool }),
    ...projectRoutes({ db: pool }),
    ...publicKeyRoutes({ db: pool }),
    ...projectSettingsRoutes({ db: pool }),
    ...sessionRoutes({ db: pool, ...sessions }),
    ...operatorRoutes({ db: pool }),
    ...auditRoutes({ db: pool, cursors, flushReads }),
  ];
}
