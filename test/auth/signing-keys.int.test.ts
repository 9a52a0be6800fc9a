/** A signing key that is withdrawn ends every token that it signed, on every node within a second, sockets too; with the command that an
 *  operator types. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { Auth } from '../../src/auth/auth.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { connectRevocation } from '../../src/auth/revocation.ts';
import { tokenRoutes } from '../../src/auth/token-routes.ts';
import { runCommand, EXIT_FAILED, EXIT_OK } from '../../src/cli/command.ts';
import type { Command } from '../../src/cli/command.ts';
import { signingKey } from '../../src/cli/signing-key.ts';
import { readConfig } from '../../src/config.ts';
import type { Route, SocketRoute } from '../../src/http/route.ts';
import { startHttp } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { serviceSecret } from '../../src/storage/service-secret.ts';
import { testDatabase } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
/** Another node: it shares the database, and nothing else. */
let other: Auth;
let otherHttp: HttpServer;
let disconnect: () => void;
const route: Route = {
  method: 'GET',
  path: '/api/v1/bootstrap',
  operationId: 'whoAmI',
  tag: 'test',
  summary: 'answers who is let in',
  access: { userToken: 'own' },
  responses: { 200: { description: 'in' } },
  handler: async () => ({ status: 200, json: {} }),
};
const feed: SocketRoute = {
  path: '/ws',
  operationId: 'feed',
  tag: 'test',
  summary: 'stays open',
  access: { userToken: 'own' },
  query: { subject: Type.Optional(Type.String()) },
  protocol: 'bio.v1',
  messageBytesMax: 1000,
  backpressureBytesMax: 1000,
  open: () => ({ closed: () => undefined }),
};
beforeAll(async () => {
  running = await runService({ BIO_PUBLIC_URL: 'http://test' });
  const secret = await serviceSecret(running.database, 'signing keys');
  other = new Auth({ database: running.database, issuer: 'http://test', secret, allowedOrigins: [] });
  await other.start();
  const silent = (): void => undefined;
  otherHttp = await startHttp({
    config: readConfig({ PORT: '0' }),
    routes: [route, ...tokenRoutes({ db: running.database.pool, auth: other })],
    sockets: [feed],
    authenticate: other.authenticate,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  disconnect = connectRevocation(other, otherHttp);
});
afterAll(async () => {
  disconnect();
  await otherHttp.stop();
  await other.stop();
  await running.close();
});

async function command(run: Command, ...args: string[]) {
  let out = '';
  let err = '';
  const code = await runCommand(run, args, {
    out: (line) => void (out += `${line}\n`),
    err: (line) => void (err += `${line}\n`),
    progress: null,
    env: { DATABASE_URL: running.database.url },
    cwd: '.',
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

const kidOf = (token: string): string => (JSON.parse(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString()) as { kid: string }).kid;
const asUser = async (base: string, token: string): Promise<number> =>
  (await fetch(`${base}/api/v1/bootstrap`, { headers: { authorization: `Bearer ${token}` } })).status;

// promise: signing-key-withdrawn
it('ends its tokens in requests and open sockets when it is withdrawn, and the next token is signed by a new key', async () => {
  const nodes = [running.service.baseUrl, `http://127.0.0.1:${otherHttp.port}`];
  const { xuser_token: token, xuser_id: id } = await running.token('holder');
  const kid = kidOf(token);
  expect(kid, "typed at a command line, where a leading '-' would be an option").toMatch(/^[0-9a-f]{18}$/);
  for (const base of nodes) expect(await asUser(base, token)).toBe(200); // verified, and remembered
  const watched = await running.watch(id, token);
  await expect.poll(() => watched.ready()).toBe(true);
  const elsewhere = new WebSocket(`ws://127.0.0.1:${otherHttp.port}/ws`, [
    'bio.v1',
    `bio.bearer.${Buffer.from(token).toString('base64url')}`,
  ]);
  const closed = new Promise<number>((resolve) => elsewhere.addEventListener('close', ({ code }) => resolve(code)));
  await new Promise((resolve) => elsewhere.addEventListener('open', resolve));

  expect((await command(signingKey, 'list', '--json')).out).toContain(kid);
  expect((await command(signingKey, 'withdraw', 'unknown')).code).toBe(EXIT_FAILED);
  const startedMs = performance.now();
  const done = await command(signingKey, 'withdraw', kid);
  expect(done.code, done.err).toBe(EXIT_OK);
  for (const base of nodes) await expect.poll(() => asUser(base, token), { timeout: 5000, interval: 20 }).toBe(401);
  await expect.poll(() => watched.closed()?.code, { timeout: 5000, interval: 20 }).toBe(4502);
  expect(await closed).toBe(4502);
  expect(performance.now() - startedMs).toBeLessThan(5000); // a second, on a machine that has time

  const keys = async (base: string): Promise<string[]> =>
    ((await (await fetch(`${base}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map((key) => key.kid);
  const next = await running.token('holder');
  expect(kidOf(next.xuser_token)).not.toBe(kid);
  for (const base of nodes) await expect.poll(() => keys(base)).toEqual([kidOf(next.xuser_token)]);
  for (const base of nodes) expect(await asUser(base, next.xuser_token)).toBe(200);
  const { rows } = await running.database.pool.query(`select actor_kind, target_id from audit_log where action = 'signing_key.withdrawn'`);
  expect(rows).toEqual([{ actor_kind: 'cli', target_id: kid }]);
});

// promise: signing-key-withdrawn
it('ends its tokens on a node that missed the notification when it is withdrawn', async () => {
  // With the table's notifications off, only polling is left.
  const { pool } = running.database;
  const { xuser_token: token } = await running.token('deaf');
  expect(await asUser(running.service.baseUrl, token)).toBe(200);
  await pool.query('alter table signing_key disable trigger user');
  try {
    await command(signingKey, 'withdraw', kidOf(token));
    await expect.poll(() => asUser(running.service.baseUrl, token), { timeout: 5000, interval: 50 }).toBe(401);
  } finally {
    await pool.query('alter table signing_key enable trigger user');
  }
});

it("mints tokens while the clock of its machine is behind the database's, all with one key", async () => {
  const database = await testDatabase();
  const { apiKey, projectKey } = await createOrganization(database.pool, 'Behind');
  const node = new ServiceProcess(await freePort(), {
    env: { DATABASE_URL: database.url, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' },
  });
  try {
    await node.untilReady();
    node.send({ clockStepMs: -60_000 });
    await sleep(500);
    for (let round = 0; round < 3; round++) {
      const minted = await fetch(`${node.url}/api/v1/sdk/token`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ external_id: 'person', project_key: projectKey }),
      });
      const text = await minted.text();
      expect(minted.status, text).toBe(200);
      const { xuser_token: token } = JSON.parse(text) as { xuser_token: string };
      const used = await fetch(`${node.url}/api/v1/moods`, { headers: { authorization: `Bearer ${token}` } });
      expect(used.status, await used.text()).toBe(200);
    }
    const { rows } = await database.pool.query('select from signing_key');
    expect(rows).toHaveLength(1);
  } finally {
    await node.terminate();
    await database.close();
  }
});
