/** The whole table of the API, as src/server.ts puts it together (without ingest and live, which bring their own tests). */
import { apiTags, authApi } from '../../src/auth/api.ts';
import { readConfig } from '../../src/config.ts';
import { Cursors } from '../../src/http/cursor.ts';
import { docsRoutes } from '../../src/http/docs-routes.ts';
import type { Route } from '../../src/http/route.ts';
import { serviceRoutes } from '../../src/http/service-routes.ts';
import { queryApi } from '../../src/query/api.ts';
import { recordsApi } from '../../src/records/api.ts';
import type { ApiParts } from './api.ts';

const nothing = {} as never;

/** @param parts absent: for the description only, no handler may be called */
export function allRoutes({ database, auth }: ApiParts = { database: { pool: nothing } as never, auth: nothing }): readonly Route[] {
  const cursors = new Cursors(Buffer.alloc(32, 7));
  const config = readConfig({});
  const routes = [
    ...authApi({ pool: database.pool, auth, cursors, secureCookies: false }),
    ...queryApi({ db: database.pool, cursors, version: '0', config }),
    ...recordsApi({ db: database.pool, cursors }),
    ...serviceRoutes({
      version: '0',
      parts: async () => [{ name: 'database', ok: true, detail: '' }],
      metrics: async () => '# none\n',
      metricsToken: 'metrics-token',
    }),
  ];
  return [...routes, ...docsRoutes(routes, [], { version: '0', tags: apiTags })];
}
