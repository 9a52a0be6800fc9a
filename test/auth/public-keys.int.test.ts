/** Public keys of a project: rotated with an overlap, revoked at once, on a node that learns of it by NOTIFY alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Auth } from '../../src/auth/auth.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createProject } from '../../src/tenancy/projects.ts';
import { connectRevocation } from '../../src/auth/revocation.ts';
import { readConfig } from '../../src/config.ts';
import type { AuthRequest, SocketRoute } from '../../src/http/route.ts';
import { startHttp } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { until } from '../helpers/until.ts';
import type { Caller } from '../../src/caller.ts';

type SdkKey = {
  id: string;
  sdk_key: string;
  name: string;
  expires_at: string | null;
  revoked_at: string | null;
  rotated_from: string | null;
};
type Project = { project_key: string; previous_project_key: string | null; previous_key_expires_at: string | null };

let api: Api;
/** Another node of the same database. */
let other: Auth;
let otherHttp: HttpServer;
let disconnect: () => void;
const feed: SocketRoute = {
  path: '/feed',
  operationId: 'feed',
  tag: 'test',
  summary: 'stays open',
  access: { key: 'read', userToken: 'own' },
  protocol: 'bio.v1',
  messageBytesMax: 1000,
  backpressureBytesMax: 1000,
  open: () => ({ closed: () => undefined }),
};
beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts), sockets: [feed] }));
  other = new Auth({ database: api.database, issuer: 'http://test', secret: Buffer.alloc(32, 9), allowedOrigins: [] });
  await other.start();
  const silent = (): void => undefined;
  otherHttp = await startHttp({
    config: readConfig({ PORT: '0' }),
    routes: [],
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
  await api.close();
});

const path = (rest: string): string => `/api/v1/projects/${api.org.projectId}${rest}`;
const made = (name: string): Promise<SdkKey> => api.json('POST', path('/sdk-keys'), { body: { name }, status: 201 });
const actions = async (): Promise<string[]> => {
  const { rows } = await api.database.pool.query<{ action: string }>('select action from audit_log');
  return rows.map((row) => row.action);
};
const within1s = (condition: () => Promise<boolean>): Promise<void> => until(condition, 1000);

/** An open socket and the code that it will close with. */
async function open(http: HttpServer, token: string, sdkKey = ''): Promise<Readonly<{ socket: WebSocket; code: Promise<number> }>> {
  const bearer = `bio.bearer.${Buffer.from(token).toString('base64url')}`;
  const socket = new WebSocket(`ws://127.0.0.1:${http.port}/feed`, ['bio.v1', bearer, ...(sdkKey === '' ? [] : [`bio.sdk.${sdkKey}`])]);
  const code = new Promise<number>((resolve) => socket.addEventListener('close', (event) => resolve(event.code)));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('refused')));
  });
  return { socket, code };
}
const withinMs = async (codes: readonly Promise<number>[], ms: number): Promise<readonly (number | 'open')[]> =>
  Promise.race([Promise.all(codes), sleep(ms, ['open'] as const)]);

describe('an SDK key that ends', () => {
  // promise: sdk-key-revoked
  it('closes the sockets that carry it, on every node within a second, and no others', async () => {
    const key = await made('live page');
    const { token } = await api.token('viewer');
    const carrying = await Promise.all([open(api.http, token, key.sdk_key), open(otherHttp, token, key.sdk_key)]);
    const others = await Promise.all([open(api.http, token), open(otherHttp, token, api.org.sdkKey)]);
    await api.json('DELETE', path(`/sdk-keys/${key.id}`));
    expect(
      await withinMs(
        carrying.map(({ code }) => code),
        1000,
      ),
    ).toEqual([4502, 4502]);
    await expect(open(otherHttp, token, key.sdk_key)).rejects.toThrow('refused');
    for (const { socket } of others) {
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.close();
    }
  });

  // promise: rotation-overlap
  // job: expired-callers
  it('closes them when the overlap of a rotation is over', async () => {
    const key = await made('rotated page');
    const { token } = await api.token('viewer');
    const carrying = await Promise.all([open(api.http, token, key.sdk_key), open(otherHttp, token, key.sdk_key)]);
    await api.json('POST', path(`/sdk-keys/${key.id}/rotate`), { body: { overlap_sec: 1 }, status: 201 });
    expect(
      await withinMs(
        carrying.map(({ code }) => code),
        3000,
      ),
    ).toEqual([4502, 4502]);
  });

  // promise: token-bound
  it('ends the tokens that were minted for it, over REST and in sockets', async () => {
    const key = await made('bound');
    const body = { external_id: 'viewer', project_key: api.org.projectKey };
    const mint = (sdkKey: string): Promise<Response> => api.send('POST', '/api/v1/sdk/token', { body, headers: { 'sdk-key': sdkKey } });
    const { xuser_token: token } = (await (await mint(key.sdk_key)).json()) as { xuser_token: string };
    const { token: free } = await api.token('viewer');
    const status = async (as: string): Promise<number> => (await api.send('GET', '/api/v1/bootstrap', { as })).status;
    const there = (): Promise<Caller> =>
      Promise.resolve(other.authenticate({ method: 'GET', bearer: token, header: () => '', access: { userToken: 'own' } }));
    expect([await status(token), (await there()).kind]).toEqual([200, 'user']);
    const feedOpen = await open(otherHttp, token);
    await api.json('DELETE', path(`/sdk-keys/${key.id}`));
    expect(await withinMs([feedOpen.code], 1000)).toEqual([4502]);
    await within1s(async () => (await status(token)) === 401);
    await expect(Promise.resolve().then(there)).rejects.toMatchObject({ code: 'credential_invalid' });
    expect(await status(free)).toBe(200);
    expect((await mint(key.sdk_key)).status).toBe(422);
  });
});

describe('a public key that is rotated', () => {
  // promise: public-replaced
  it('can be rotated again: an SDK key at any time, a project key once its overlap has ended', async () => {
    const { projectId } = await createProject(api.database.pool, api.org.orgId, 'Replaced');
    const at = `/api/v1/projects/${projectId}`;
    const key = await api.json<SdkKey>('POST', `${at}/sdk-keys`, { body: {}, status: 201 });
    const made = await Promise.all(
      Array.from({ length: 4 }, () => api.json<SdkKey>('POST', `${at}/sdk-keys/${key.id}/rotate`, { body: {}, status: 201 })),
    );
    expect(new Set(made.map(({ sdk_key: text }) => text)).size).toBe(4);
    expect(made.map(({ rotated_from: from }) => from)).toEqual(Array(4).fill(key.id));
    const rotate = (): Promise<Response> => api.send('POST', `${at}/rotate-key`, { body: { overlap_sec: 3600 } });
    expect([(await rotate()).status, (await rotate()).status]).toEqual([201, 409]);
    await api.json('DELETE', `${at}/previous-key`);
    expect((await rotate()).status).toBe(201);
  });
});

describe('an organization key that is rotated', () => {
  // promise: key-overlap
  // job: expired-callers
  it('closes its open sockets when the overlap is over', async () => {
    const { key, record } = await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'monitor', scopes: ['read'] });
    const { code } = await open(otherHttp, key);
    await api.json('POST', `/api/v1/api-keys/${record.id}/rotate`, { body: { overlap_sec: 1 }, status: 201 });
    expect(await withinMs([code], 3000)).toEqual([4502]);
  });
});

describe('the last use', () => {
  // promise: last-used
  it('of SDK keys and of project keys is shown, also of the key before a rotation', async () => {
    const project = await createProject(api.database.pool, api.org.orgId, 'Used');
    const at = `/api/v1/projects/${project.projectId}`;
    const shown = async (): Promise<{ key_last_used_at: string | null; previous_key_last_used_at: string | null } | undefined> =>
      (
        await api.json<{ id: string; key_last_used_at: string | null; previous_key_last_used_at: string | null }[]>(
          'GET',
          '/api/v1/projects',
        )
      ).find(({ id }) => id === project.projectId);
    const sdkKeys = (): Promise<{ last_used_at: string | null }[]> => api.json('GET', `${at}/sdk-keys`);
    expect(await shown()).toMatchObject({ key_last_used_at: null, previous_key_last_used_at: null });
    expect((await sdkKeys())[0]).toMatchObject({ last_used_at: null });
    const body = { external_id: 'someone', project_key: project.projectKey };
    const { xuser_token: token } = await api.json<{ xuser_token: string }>('POST', '/api/v1/sdk/token', { body });
    await api.send('GET', '/api/v1/bootstrap', { as: token, headers: { 'sdk-key': project.sdkKey } });
    await api.send('GET', '/api/v1/bootstrap', { as: token, headers: { 'sdk-key': 'sdk_unknown' } });
    await api.auth.flushLastUsed();
    const since = Date.now() - 60_000;
    expect(Date.parse((await shown())?.key_last_used_at ?? '')).toBeGreaterThan(since);
    expect(Date.parse((await sdkKeys())[0]?.last_used_at ?? '')).toBeGreaterThan(since);
    await api.json('POST', `${at}/rotate-key`, { body: { overlap_sec: 3600 }, status: 201 });
    const after = await shown();
    expect(after?.key_last_used_at).toBeNull();
    expect(Date.parse(after?.previous_key_last_used_at ?? '')).toBeGreaterThan(since);
  });
});

describe('SDK keys', () => {
  // promise: sdk-key-revoked
  it('of a revoked key refuse the pages that carry it, on every node within a second', async () => {
    const key = await made('page');
    const { token } = await api.token('reader');
    const here = async (sdkKey: string): Promise<number> =>
      (await api.send('GET', '/api/v1/bootstrap', { as: token, headers: { 'sdk-key': sdkKey } })).status;
    const request = (sdkKey: string): AuthRequest => ({
      method: 'GET',
      bearer: token,
      header: (name: string) => (name === 'sdk-key' ? sdkKey : ''),
      access: { userToken: 'own' },
    });
    const there = (sdkKey: string): Promise<Caller> => Promise.resolve(other.authenticate(request(sdkKey)));
    expect(await here(key.sdk_key)).toBe(200);
    expect((await there(key.sdk_key)).kind).toBe('user');
    const revoked = await api.json<SdkKey>('DELETE', path(`/sdk-keys/${key.id}`));
    expect(revoked.revoked_at).not.toBeNull();
    await within1s(async () => (await here(key.sdk_key)) === 401);
    await within1s(() =>
      Promise.resolve()
        .then(() => there(key.sdk_key))
        .then(
          () => false,
          (error: { code: string }) => error.code === 'credential_invalid',
        ),
    );
    // The token is still valid without a key and with another one; revoking again changes nothing.
    expect(await here('')).toBe(200);
    expect(await here(api.org.sdkKey)).toBe(200);
    expect(await api.json('DELETE', path(`/sdk-keys/${key.id}`))).toEqual(revoked);
    expect(await actions()).toContain('sdk_key.revoked');
  });

  // promise: rotation-overlap
  it('are rotated: the old one works for the overlap and no longer', async () => {
    const key = await made('rotates');
    const { token } = await api.token('reader');
    const status = async (sdkKey: string): Promise<number> =>
      (await api.send('GET', '/api/v1/bootstrap', { as: token, headers: { 'sdk-key': sdkKey } })).status;
    const next = await api.json<SdkKey>('POST', path(`/sdk-keys/${key.id}/rotate`), { body: { overlap_sec: 3600 }, status: 201 });
    expect(next).toMatchObject({ name: 'rotates', rotated_from: key.id, expires_at: null, revoked_at: null });
    expect(next.sdk_key).not.toBe(key.sdk_key);
    const listed = (await api.json<SdkKey[]>('GET', path('/sdk-keys'))).find((item) => item.id === key.id);
    expect((Date.parse(listed?.expires_at ?? '') - Date.now()) / 1000).toBeGreaterThan(3500);
    expect(await status(key.sdk_key)).toBe(200);
    const usual = await made('usual');
    await api.json('POST', path(`/sdk-keys/${usual.id}/rotate`), { body: {}, status: 201 });
    const ends = (await api.json<SdkKey[]>('GET', path('/sdk-keys'))).find((item) => item.id === usual.id)?.expires_at;
    expect(Math.abs(Date.parse(ends ?? '') - Date.now() - 86_400_000)).toBeLessThan(600_000); // a day
    await api.json('POST', path(`/sdk-keys/${next.id}/rotate`), { body: { overlap_sec: 0 }, status: 201 });
    await within1s(async () => (await status(next.sdk_key)) === 401);
    expect((await api.send('POST', path(`/sdk-keys/${next.id}/rotate`), { body: {} })).status).toBe(409);
    expect(await actions()).toContain('sdk_key.rotated');
  });

  it('belong to their project', async () => {
    const second = await createProject(api.database.pool, api.org.orgId, 'Elsewhere');
    const key = await made('mine');
    for (const [method, rest] of [
      ['POST', '/rotate'],
      ['DELETE', ''],
    ] as const) {
      const response = await api.send(
        method,
        `/api/v1/projects/${second.projectId}/sdk-keys/${key.id}${rest}`,
        method === 'POST' ? { body: {} } : {},
      );
      expect(response.status).toBe(404);
    }
    const { key: reader } = await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'r', scopes: ['read'] });
    expect((await api.send('DELETE', path(`/sdk-keys/${key.id}`), { as: reader })).status).toBe(403);
  });
});

describe('the project key', () => {
  const mint = async (projectKey: string): Promise<number> =>
    (await api.send('POST', '/api/v1/sdk/token', { body: { external_id: 'x', project_key: projectKey } })).status;
  const direct = async (projectKey: string): Promise<number> =>
    (await api.send('GET', '/api/v1/moods', { headers: { 'project-key': projectKey, 'xuser-id': 'x' } })).status;

  // promise: rotation-overlap
  it('is rotated with an overlap that a revocation ends, for tokens and for direct mode', async () => {
    const old = api.org.projectKey;
    const project = await api.json<Project>('POST', path('/rotate-key'), { body: { overlap_sec: 3600 }, status: 201 });
    expect(project.previous_project_key).toBe(old);
    for (const key of [old, project.project_key]) expect([await mint(key), await direct(key)]).toEqual([200, 200]);
    expect((await api.send('POST', path('/rotate-key'), { body: {} })).status).toBe(409);
    const after = await api.json<Project>('DELETE', path('/previous-key'));
    expect(after).toMatchObject({ project_key: project.project_key, previous_project_key: null, previous_key_expires_at: null });
    expect(await mint(old)).toBe(404);
    await within1s(async () => (await direct(old)) === 401);
    expect([await mint(after.project_key), await direct(after.project_key)]).toEqual([200, 200]);
    expect(await actions()).toEqual(expect.arrayContaining(['project_key.rotated', 'project_key.revoked']));
    // Without an overlap the old one ends at once, and there is nothing to wait for before the next.
    for (let i = 0; i < 2; i++) await api.json('POST', path('/rotate-key'), { body: { overlap_sec: 0 }, status: 201 });
    expect(await mint(after.project_key)).toBe(404);
  });
});
