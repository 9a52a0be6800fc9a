/** The table of routes: what the service answers over HTTP, part by part. */
import { authApi } from '../auth/api.ts';
import type { Auth } from '../auth/auth.ts';
import type { Config } from '../config.ts';
import { methodDescriptions } from '../dsp/catalog/method-descriptions.ts';
import { Cursors } from '../http/cursor.ts';
import type { SharedTries } from '../http/shared-tries.ts';
import type { Route } from '../http/route.ts';
import type { Logger } from '../http/logger.ts';
import { serviceRoutes } from '../http/service-routes.ts';
import type { ServiceDeps } from '../http/service-routes.ts';
import type { Metrics } from '../metrics.ts';
import type { Questions } from '../forward/questions.ts';
import type { RunningPipeline } from '../pipeline/running-pipeline.ts';
import { queryApi } from '../query/api.ts';
import { computedFeatures } from '../query/known-features.ts';
import { damagedMinutes } from '../query/damaged-minutes.ts';
import { serviceTurns } from '../query/turns.ts';
import { recordsApi } from '../records/api.ts';
import type { Database } from '../storage/database/database.ts';
import type { RoleDatabases } from '../storage/database/roles.ts';
import { serviceSecret } from '../storage/service-secret.ts';
import { tenancyApi } from '../tenancy/api.ts';
import { routesByOrganization } from '../tenancy/organization-routes.ts';
import type { ReadAudit } from '../tenancy/read-audit.ts';
import { webhooksApi } from '../webhooks/api.ts';
import type { WebhookNetworks } from '../webhooks/webhook-networks.ts';
import { mayReadDetails } from './readiness.ts';
import type { Sealing } from './sealing.ts';

type RouteParts = Readonly<{
  config: Config;
  version: string;
  /** Name of this node. */
  node: string;
  database: Database;
  roles: Pick<RoleDatabases, 'api'>;
  auth: Auth;
  networks: WebhookNetworks;
  metrics: Metrics;
  logger: Logger;
  reads: ReadAudit;
  sealing: Sealing;
  pipeline: RunningPipeline;
  secureCookies: boolean;
  /** Asks other nodes; null: there are none. */
  questions: Questions | null;
  signInRefused: ReadAudit['signInRefused'];
  tries: SharedTries;
  /** For /readyz. */
  parts: ServiceDeps['parts'];
  /** For /metrics. */
  metricsText: ServiceDeps['metrics'];
  demoRoutes: readonly Route[];
}>;

/** Organizations read and write over a pool of the api role that sees their rows alone. */
export async function apiRoutesOf(routeParts: RouteParts): Promise<readonly Route[]> {
  const { config, version, node, database, roles, auth, networks, metrics, logger, reads, sealing, pipeline } = routeParts;
  const { questions, secureCookies, signInRefused, tries, parts, metricsText, demoRoutes } = routeParts;
  const readers = serviceTurns(config);
  const onDamaged = damagedMinutes(logger, metrics);
  const cursors = new Cursors(await serviceSecret(database, 'cursors'));
  const flowingStreams = (): readonly number[] => pipeline.flowingStreams();
  const methods = methodDescriptions();
  const canMail = config.smtpUrl !== '';
  const deviceSecret = await serviceSecret(database, 'device cookies');
  return [
    ...pipeline.routes,
    ...routesByOrganization(
      (db) => [
        ...authApi({ pool: db, auth, secureCookies, deviceSecret, signInRefused, tries, canMail }),
        ...tenancyApi({ db, cursors, flowingStreams, version, config, flushReads: reads.flush }),
        ...queryApi({
          db,
          cursors,
          config,
          ...readers,
          flowingStreams,
          recentSamples:
            questions?.recent ?? ((streamId, channelNo, fromNs, toNs) => pipeline.recentRuns(streamId, channelNo, fromNs, toNs)),
          onDamaged,
          methods,
          openJournal: (sealed, subjectId, entryId) => sealing.journal.open(sealed, subjectId, entryId),
        }),
        ...recordsApi({
          db,
          owner: database.pool,
          cursors,
          endSubject: questions?.eraseSubject ?? ((subjectId) => pipeline.eraseSubject(subjectId)),
          journal: sealing.journal,
          canMail,
          computed: computedFeatures(methods),
        }),
        ...webhooksApi({ db, networks }),
      ],
      database.pool,
      roles.api,
    ),
    ...serviceRoutes({
      version,
      node,
      metricsToken: config.metricsToken,
      metrics: metricsText,
      parts,
      mayReadDetails: (request) => mayReadDetails(auth, request),
    }),
    ...demoRoutes,
  ];
}
