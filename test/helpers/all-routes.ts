/** The whole table of the API, as src/server.ts puts it together (without ingest and live, which bring their own tests). */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { authApi } from '../../src/auth/api.ts';
import { apiTags } from '../../src/http/api-tags.ts';
import { webhookMessages } from '../../src/tenancy/events.ts';
import { tenancyApi } from '../../src/tenancy/api.ts';
import { routesByOrganization } from '../../src/tenancy/organization-routes.ts';
import { readConfig } from '../../src/config.ts';
import { Cursors } from '../../src/http/cursor.ts';
import { docsRoutes } from '../../src/http/docs-routes.ts';
import type { Route, SocketRoute } from '../../src/http/route.ts';
import { serviceRoutes } from '../../src/http/service-routes.ts';
import { methodDescriptions } from '../../src/dsp/catalog/method-descriptions.ts';
import { queryApi } from '../../src/query/api.ts';
import { serviceTurns } from '../../src/query/turns.ts';
import { recordsApi } from '../../src/records/api.ts';
import { webhooksApi } from '../../src/webhooks/api.ts';
import { WebhookNetworks } from '../../src/webhooks/webhook-networks.ts';
import type { ApiParts } from './api.ts';

const nothing = {} as never;

/** A socket as live declares it, for the description. */
const describedSocket: SocketRoute = {
  path: '/ws',
  operationId: 'openLive',
  tag: 'Live',
  summary: 'Live frames of a user',
  access: { key: 'read', userToken: 'own' },
  query: { subject: Type.String() },
  protocol: 'bio.v1',
  messageBytesMax: 1000,
  backpressureBytesMax: 1000,
  open: nothing,
};

/** @param parts absent: for the description only, no handler may be called */
export function allRoutes(
  { database, auth, api }: ApiParts = { database: { pool: nothing } as never, auth: nothing, api: nothing },
): readonly Route[] {
  const cursors = new Cursors(Buffer.alloc(32, 7));
  const config = readConfig({});
  const readers = serviceTurns(config);
  const build = (db: Pool): Route[] => [
    ...authApi({ pool: db, auth, secureCookies: false }),
    ...tenancyApi({ db, cursors, version: '0', config }),
    ...queryApi({ db, cursors, config, methods: methodDescriptions(), ...readers }),
    ...recordsApi({ db, owner: database.pool, cursors }),
    ...webhooksApi({ db, networks: new WebhookNetworks(['127.0.0.0/8']) }),
  ];
  const routes = [
    ...routesByOrganization(build, database.pool, api),
    ...serviceRoutes({
      version: '0',
      node: 'one',
      parts: async () => [{ name: 'database', ok: true, detail: '' }],
      metrics: async () => '# none\n',
      metricsToken: 'metrics-token',
    }),
  ];
  return [...routes, ...docsRoutes(routes, [describedSocket], { version: '0', tags: apiTags, webhooks: webhookMessages })];
}
