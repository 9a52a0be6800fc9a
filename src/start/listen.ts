/** The HTTP server: API, sockets, pages, and what is counted of each exchange. */
import { join } from 'node:path';
import { apiTags } from '../http/api-tags.ts';
import { webhookMessages } from '../tenancy/events.ts';
import type { Auth } from '../auth/auth.ts';
import { idempotencyStore } from '../tenancy/idempotency.ts';
import type { Config } from '../config.ts';
import { docsAssets, docsRoutes } from '../http/docs-routes.ts';
import type { Logger } from '../http/logger.ts';
import type { Route } from '../http/route.ts';
import { startHttp } from '../http/server.ts';
import type { SharedTries } from '../http/shared-tries.ts';
import type { HttpServer } from '../http/server.ts';
import { DASHBOARD_CSP, redirects, staticFolder } from '../http/static-files.ts';
import type { StaticMount } from '../http/static-files.ts';
import type { Metrics } from '../metrics.ts';
import type { RunningPipeline } from '../pipeline/running-pipeline.ts';
import type { Database } from '../storage/database/database.ts';
import type { RefusedCredentials } from '../http/refused-credentials.ts';
import type { ReadAudit } from '../tenancy/read-audit.ts';

type ListenParts = Readonly<{
  config: Config;
  /** Null: that of the configuration. An instance that took over listens on the port of its standby. */
  port: number | null;
  version: string;
  webDir: string | undefined;
  apiRoutes: readonly Route[];
  pipeline: RunningPipeline;
  auth: Auth;
  database: Database;
  reads: ReadAudit;
  metrics: Metrics;
  logger: Logger;
  tries: SharedTries;
  onRefused: RefusedCredentials['note'];
}>;

export async function listen(parts: ListenParts): Promise<HttpServer> {
  const { config, port, version, webDir, apiRoutes, pipeline, auth, database, reads, metrics, logger, onRefused, tries } = parts;
  const { sockets } = pipeline;
  return await startHttp({
    config: port === null ? config : { ...config, port },
    routes: [...apiRoutes, ...docsRoutes(apiRoutes, sockets, { version, tags: apiTags, webhooks: webhookMessages })],
    sockets,
    statics: [docsAssets(), redirects({ '/api-docs/': '/api-docs' }), ...webMounts(webDir)],
    authenticate: auth.authenticate,
    isVerified: auth.isVerified,
    tries,
    originAllowed: auth.originAllowed,
    onRefused: (code, address) => {
      metrics.credentialsRefused.inc({ reason: code });
      onRefused(code, address);
    },
    idempotency: idempotencyStore(database.pool),
    logger,
    observe: (exchange) => {
      const { route, status, durationMs } = exchange;
      reads.observe(exchange);
      if (status < 300) notePathKey(auth, exchange.path);
      const operation = route?.operationId ?? 'none';
      metrics.requests.inc({ operation, status });
      metrics.requestSeconds.observe({ operation }, durationMs / 1000);
    },
  });
}

/** Notes the use of a project key that a path names. */
function notePathKey(auth: Auth, path: string): void {
  const at = path.indexOf('/proj_');
  if (at >= 0) auth.notePublicKey(path.slice(at + 1).split('/', 1)[0] ?? '');
}

function webMounts(webDir: string | undefined): readonly StaticMount[] {
  if (webDir === undefined) return [];
  return [
    staticFolder({ prefix: '/cdn/', folder: join(webDir, 'cdn'), csp: "default-src 'none'", audience: 'cdn', immutable: /^v1\/\d[^/]*\// }),
    staticFolder({ prefix: '/dashboard/', folder: join(webDir, 'dashboard'), csp: DASHBOARD_CSP, audience: 'page' }),
    redirects({ '/': '/dashboard/' }),
  ];
}
