/** Every route of identity: tokens, users, keys, projects, operators. */
import type { Pool } from 'pg';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import type { Auth } from './auth.ts';
import { auditRoutes } from './audit-routes.ts';
import type { AuditDeps } from './audit-routes.ts';
import { consentRoutes } from './consent-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { projectRoutes } from './project-routes.ts';
import { projectSettingsRoutes } from './project-settings-routes.ts';
import { publicKeyRoutes } from './public-key-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import type { SessionDeps } from './session-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { xuserRoutes } from './xuser-routes.ts';

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

/** What the tags of the API description mean. */
export const apiTags: Readonly<Record<string, string>> = {
  Tokens: 'Short-lived tokens for one user each.',
  Users: 'The users of the calling application: exactly one record per external id and project.',
  Keys: 'Organization keys.',
  Projects: 'Projects, their public keys and their origins.',
  Operators: 'People who work with the dashboard, and the audit log.',
  Biosignals: 'The catalog: what is measured and derived, and what flows now.',
  Streams: 'Recordings, their features, beats and samples.',
  Observations: 'Values as FHIR-aligned records, and charts of them.',
  Episodes: 'Stretches of time that matter, with their artifacts.',
  'Self-reports': 'What people enter: mood, journal, questionnaires, tasks; their goals.',
  Questionnaires: 'Questionnaires of a project: versions and scoring rules.',
  Fleet: 'Devices and signal quality across users.',
  Bootstrap: 'Configuration for clients.',
  Webhooks: 'What happened, told to an address of yours.',
  Live: 'The live feed.',
  ingest: 'Packets of devices.',
  Service: 'Health, metrics, this description.',
};
