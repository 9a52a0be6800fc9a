/** Every route of src/records. */
import type { Pool } from 'pg';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { acknowledgementRoutes } from './acknowledgement-routes.ts';
import { annotationRoutes } from './annotation-routes.ts';
import { adherenceRoutes } from './adherence-routes.ts';
import { episodeRoutes } from './episode-routes.ts';
import { eraseRoutes } from './erase-routes.ts';
import type { EraseDeps } from './erase-routes.ts';
import { fleetRoutes } from './fleet-routes.ts';
import { goalRoutes } from './goal-routes.ts';
import { JournalSeals } from './journal-seals.ts';
import { questionnaireRoutes } from './questionnaire-routes.ts';
import { responseRoutes } from './response-routes.ts';
import { ruleRoutes } from './rule-routes.ts';
import { ruleTrialRoutes } from './rule-trial-routes.ts';
import { selfReportRoutes } from './self-report-routes.ts';
import { taskRoutes } from './task-routes.ts';
import { taskScheduleRoutes } from './task-schedule-routes.ts';

/** @param deps owner: pool for what an organization's own role may not do: erasing, and reading the secret of journals. Default: db */
export function recordsApi(
  deps: Readonly<{
    db: Pool;
    owner?: Pool;
    cursors: Cursors;
    /** A mail server is set, so rules may send e-mail. Default: no. */
    canMail?: boolean;
    endSubject?: EraseDeps['endSubject'];
    /** Names of the features that this release computes. Default: none. */
    computed?: ReadonlySet<string>;
    /** Default: journals are sealed with a secret stored in the database. */
    journal?: JournalSeals;
  }>,
): readonly Route[] {
  const { owner = deps.db, computed = new Set() } = deps;
  return [
    ...episodeRoutes(deps),
    ...acknowledgementRoutes(deps),
    ...annotationRoutes(deps),
    ...ruleTrialRoutes({ ...deps, computed }),
    ...ruleRoutes({ ...deps, computed, canMail: deps.canMail ?? false }),
    ...eraseRoutes({ ...deps, db: owner }),
    ...selfReportRoutes({ ...deps, journal: deps.journal ?? new JournalSeals(owner) }),
    ...questionnaireRoutes(deps),
    ...responseRoutes(deps),
    ...taskRoutes(deps),
    ...taskScheduleRoutes(deps),
    ...adherenceRoutes(deps),
    ...goalRoutes(deps),
    ...fleetRoutes(deps),
  ];
}
