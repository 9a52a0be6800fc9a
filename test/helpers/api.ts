/** The API on a real database and real sockets, with the contract check on every answer. */
import { expect } from 'vitest';
import { BiosignalClient } from '../../sdk/client.ts';
import { Auth } from '../../src/auth/auth.ts';
import { connectRevocation } from '../../src/auth/revocation.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { idempotencyStore } from '../../src/tenancy/idempotency.ts';
import { readConfig } from '../../src/config.ts';
import type { Route, SocketRoute } from '../../src/http/route.ts';
import { startHttp } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { openRoles } from '../../src/storage/database/roles.ts';
import { contractBreaches } from './contract.ts';
import { testDatabase } from './database.ts';
import { patientFetch } from './patient-fetch.ts';
import type { TestDatabase } from './database.ts';

export type Api = Readonly<{
  base: string;
  http: HttpServer;
  auth: Auth;
  database: TestDatabase;
  org: NewOrganization;
  routes: readonly Route[];
  /** Sends a request with a credential ('' for none); a body becomes JSON. */
  send: (method: string, path: string, options?: SendOptions) => Promise<Response>;
  /** The same, reading the answer as JSON and expecting a status. */
  json: <T = unknown>(method: string, path: string, options?: SendOptions & { status?: number }) => Promise<T>;
  /** The typed client, for tests of what is answered rather than of how; without a credential the organization's key. It never retries. */
  client: (credential?: string) => BiosignalClient;
  token: (externalId: string) => Promise<{ token: string; id: string }>;
  breaches: readonly string[];
  close: () => Promise<void>;
}>;

export type SendOptions = Readonly<{ as?: string; body?: unknown; headers?: Readonly<Record<string, string>> }>;
/** api: acts as the api role, as in the service. */
export type ApiParts = Readonly<{ database: TestDatabase; auth: Auth; api: Database }>;

/** Starts the API with the routes that `makeRoutes` gives. */
export async function startApi(
  makeRoutes: (parts: ApiParts) => { routes: readonly Route[]; sockets?: readonly SocketRoute[] },
  env: Readonly<Record<string, string>> = {},
  options: Readonly<{ authFailuresPerSec?: number }> = {},
): Promise<Api> {
  const database = await testDatabase();
  const config = readConfig({ PORT: '0', BIO_REQUESTS_PER_SEC_MAX: '10000', ...env });
  const auth = new Auth({ database, issuer: 'http://test', secret: Buffer.alloc(32, 9), allowedOrigins: config.allowedOrigins });
  await auth.start();
  const org = await createOrganization(database.pool, 'Test');
  const roles = await openRoles(database);
  if (roles.without !== null) throw new Error(roles.without);
  const { routes, sockets = [] } = makeRoutes({ database, auth, api: roles.api });
  const breaches: string[] = [];
  const errors: string[] = [];
  const silent = (): void => undefined;
  const http = await startHttp({
    ...options,
    config,
    routes,
    sockets,
    authenticate: auth.authenticate,
    originAllowed: auth.originAllowed,
    idempotency: idempotencyStore(database.pool),
    logger: {
      debug: silent,
      info: silent,
      warn: silent,
      error: (fields, message) => void errors.push(`${message} ${String((fields as { err?: Error }).err?.stack)}`),
    },
    observe: (exchange) => void breaches.push(...contractBreaches(exchange)),
  });
  const disconnect = connectRevocation(auth, http);
  const base = `http://127.0.0.1:${http.port}`;
  const send: Api['send'] = (method, path, { as = org.apiKey.key, body, headers } = {}) =>
    patientFetch(base + path, {
      method,
      headers: {
        ...(as === '' ? {} : { authorization: `Bearer ${as}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const json: Api['json'] = async (method, path, options = {}) => {
    const response = await send(method, path, options);
    const text = await response.text();
    expect(response.status, text).toBe(options.status ?? 200);
    return JSON.parse(text) as never;
  };
  const client: Api['client'] = (credential = org.apiKey.key) => new BiosignalClient({ baseUrl: base, credential, retries: 0 });
  return {
    base,
    http,
    auth,
    database,
    org,
    routes,
    send,
    json,
    client,
    breaches,
    token: async (externalId) => {
      const { xuser_token: token, xuser_id: id } = await client().createUserToken(externalId, org.projectKey);
      return { token, id };
    },
    close: async () => {
      disconnect();
      await http.stop();
      await auth.stop();
      await roles.close();
      await database.close();
      expect(errors).toEqual([]);
      expect(breaches).toEqual([]);
    },
  };
}
