/** Every route of src/records. */
import type { Pool } from 'pg';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { episodeRoutes } from './episode-routes.ts';
import { eraseRoutes } from './erase-routes.ts';
import { questionnaireRoutes } from './questionnaire-routes.ts';
import { selfReportRoutes } from './self-report-routes.ts';
import { taskRoutes } from './task-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

export function recordsApi(deps: Readonly<{ db: Pool; cursors: Cursors }>): readonly Route[] {
  return [
    ...episodeRoutes(deps),
    ...eraseRoutes(deps),
    ...webhookRoutes(deps),
    ...selfReportRoutes(deps),
    ...questionnaireRoutes(deps),
    ...taskRoutes(deps),
  ];
}
