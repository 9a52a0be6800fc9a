/** Public keys of a project: rotated with an overlap, revoked at once, on a node that hears of it by NOTIFY alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Auth } from '../src/auth/auth.ts';
import { createApiKey } from '../src/auth/api-keys.ts';
import { createProject } from '../src/auth/organizations.ts';
import type { AuthRequest, Caller } from '../src/http/route.ts';
import { allRoutes } from './helpers/all-routes.ts';
import { startApi } from './helpers/api.ts';
import type { Api } from './helpers/api.ts';

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
beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  other = new Auth({ database: api.database, issuer: 'http://test', secret: Buffer.alloc(32, 9), allowedOrigins: [] });
  await other.start();
});
afterAll(async () => {
  await other.stop();
  await api.close();
});

const path = (rest: string): string => `/api/v1/projects/${api.org.projectId}${rest}`;
const made = (name: string): Promise<SdkKey> => api.json('POST', path('/sdk-keys'), { body: { name }, status: 201 });
const actions = async (): Promise<string[]> => {
  const { rows } = await api.database.pool.query<{ action: string }>('select action from audit_log');
  return rows.map((row) => row.action);
};
/** ms until a condition holds; fails after 1 s. */
async function within1s(condition: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedMs > 1000) throw new Error('not within a second');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('SDK keys', () => {
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
    // The token still stands by itself and with another key; revoking again changes nothing.
    expect(await here('')).toBe(200);
    expect(await here(api.org.sdkKey)).toBe(200);
    expect(await api.json('DELETE', path(`/sdk-keys/${key.id}`))).toEqual(revoked);
    expect(await actions()).toContain('sdk_key.revoked');
  });

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
