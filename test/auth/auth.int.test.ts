/** Keys, tokens, user records: who is let in, who is not, and how soon that changes. */
import { createHash, createHmac, createPublicKey, createSign, createVerify, generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey, rotateApiKey, revokeApiKey } from '../../src/auth/api-keys.ts';
import { createSdkKey } from '../../src/auth/public-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { ownSubject } from '../../src/tenancy/record-ownership.ts';
import { parseKey } from '../../src/key-format.ts';
import { tokenRoutes } from '../../src/auth/token-routes.ts';
import { xuserRoutes } from '../../src/tenancy/xuser-routes.ts';
import { resolveXuser } from '../../src/tenancy/xusers.ts';
import { Cursors } from '../../src/http/cursor.ts';
import type { SocketRoute } from '../../src/http/route.ts';
import { transaction } from '../../src/storage/database/transaction.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { until } from '../helpers/database.ts';
import { createProject } from '../../src/tenancy/projects.ts';

const socket: SocketRoute = {
  path: '/ws',
  operationId: 'live',
  tag: 'Live',
  summary: 'live',
  access: { key: 'read', userToken: 'own' },
  query: { subject: Type.Optional(Type.String()) },
  protocol: 'bio.v1',
  messageBytesMax: 1000,
  backpressureBytesMax: 1000,
  open: () => ({ closed: () => undefined }),
};

let api: Api;
beforeAll(async () => {
  api = await startApi(
    ({ database, auth }) => ({
      routes: [
        ...tokenRoutes({ db: database.pool, auth }),
        ...xuserRoutes({ db: database.pool, cursors: new Cursors(Buffer.alloc(32, 7)) }),
        {
          method: 'GET',
          path: '/api/v1/subject',
          operationId: 'subject',
          tag: 'T',
          summary: 'whom a request is about',
          access: { key: 'read', userToken: 'own' },
          query: { subject_id: Type.String() },
          responses: { 200: { description: 'ok', schema: Type.Object({ id: Type.String() }) } },
          errors: ['not_found'],
          handler: async ({ caller, query }) => {
            const { id } = await ownSubject(database.pool, caller, String(query['subject_id']));
            return { status: 200, json: { id } };
          },
        },
        {
          method: 'GET',
          path: '/api/v1/own',
          operationId: 'own',
          tag: 'T',
          summary: 'a widget record',
          access: { userToken: 'own', direct: true },
          responses: { 200: { description: 'ok', schema: Type.Object({ subject: Type.Union([Type.String(), Type.Null()]) }) } },
          handler: async ({ caller }) => ({ status: 200, json: { subject: 'subjectId' in caller ? caller.subjectId : null } }),
        },
      ],
      sockets: [socket],
    }),
    { ALLOWED_ORIGINS: 'https://app.example' },
  );
});
afterAll(async () => {
  await api.close();
});

const code = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;
const users = (as: string): Promise<Response> => api.send('GET', '/api/v1/xusers', { as });
const b64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('POST /api/v1/sdk/token', () => {
  it('answers exactly xuser_token, xuser_id and expires_in', async () => {
    const answer = await api.json<Record<string, unknown>>('POST', '/api/v1/sdk/token', {
      body: { external_id: 'patient 1', project_key: api.org.projectKey },
    });
    expect(Object.keys(answer).toSorted()).toEqual(['expires_in', 'xuser_id', 'xuser_token']);
    expect(answer['expires_in']).toBe(3600);
    const [head, body] = String(answer['xuser_token'])
      .split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);
    expect(head).toMatchObject({ alg: 'RS256', typ: 'JWT' });
    expect(body).toMatchObject({
      sub: answer['xuser_id'],
      org: api.org.orgId,
      proj: api.org.projectId,
      iss: 'http://test',
      aud: 'biosignal',
    });
    expect(Number(body?.['exp']) - Number(body?.['iat'])).toBe(3600);
  });

  // promise: user-made-once
  it('makes one user however many calls race', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => api.token('racer').then(({ id }) => id)));
    expect(new Set(ids).size).toBe(1);
  });

  it.each([
    ['a user token', async () => (await api.token('u')).token, 401, 'credential_kind'],
    ['a project key', async () => api.org.projectKey, 401, 'credential_kind'],
    ['an sdk key', async () => api.org.sdkKey, 401, 'credential_kind'],
    ['no credential', async () => '', 401, 'credential_missing'],
    [
      'a read-only key',
      async () => (await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'r', scopes: ['read'] })).key,
      403,
      'scope_missing',
    ],
    ['a key of another organization', async () => (await createOrganization(api.database.pool, 'Other')).apiKey.key, 404, 'not_found'],
  ])('refuses %s', async (_name, credential, status, expected) => {
    const response = await api.send('POST', '/api/v1/sdk/token', {
      as: await credential(),
      body: { external_id: 'x', project_key: api.org.projectKey },
    });
    expect(response.status).toBe(status);
    expect(await code(response)).toBe(expected);
  });

  it.each([
    [{}],
    [{ external_id: '', project_key: 'x' }],
    [{ external_id: 5, project_key: 'x' }],
    [{ external_id: 'x\u0001', project_key: 'x' }],
    [[]],
  ])('refuses the body %j', async (body) => {
    expect((await api.send('POST', '/api/v1/sdk/token', { body })).status).toBe(422);
  });

  it('publishes the key that verifies the token', async () => {
    const { token } = await api.token('jwks');
    const jwks = await api.json<{ keys: { kid: string; n: string }[] }>('GET', '/.well-known/jwks.json', { as: '' });
    const [head = '', body = '', signature = ''] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string };
    const jwk = jwks.keys.find((key) => key.kid === kid);
    expect(Buffer.from(jwk?.n ?? '', 'base64url').length * 8).toBe(3072);
    expect(JSON.stringify(jwks)).not.toContain('"d"');
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    expect(createVerify('RSA-SHA256').update(`${head}.${body}`).verify(key, Buffer.from(signature, 'base64url'))).toBe(true);
  });
});

describe('forged tokens', () => {
  /** A token signed with our own key but with other contents, which only the claim checks can stop. */
  async function signed(claims: object, header: object = {}): Promise<string> {
    const { kid, key } = await api.auth.signingKeys.signer();
    const text = `${b64({ alg: 'RS256', typ: 'JWT', kid, ...header })}.${b64(claims)}`;
    return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
  }
  async function claims(): Promise<Record<string, unknown>> {
    const { token } = await api.token('forger');
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
  }
  const now = Math.floor(Date.now() / 1000);

  it('accepts the same claims signed by us', async () => {
    expect((await users(await signed(await claims()))).status).toBe(200);
  });

  // promise: token-checks
  it.each<[string, object, object]>([
    ['no kid', {}, { kid: undefined }],
    ['an unknown kid', {}, { kid: 'nope' }],
    ['a header that brings its key', {}, { jwk: { kty: 'RSA' } }],
    ['a header that points to a key', {}, { jku: 'http://127.0.0.1/' }],
    ['a critical extension', {}, { crit: ['b64'], b64: true }],
    ['another type', {}, { typ: 'at+jwt' }],
    ['another issuer', { iss: 'http://evil' }, {}],
    ['another audience', { aud: 'other' }, {}],
    ['an audience list', { aud: ['biosignal', 'other'] }, {}],
    ['no subject', { sub: undefined }, {}],
    ['no jti', { jti: undefined }, {}],
    ['a life of ten years', { exp: now + 315_360_000 }, {}],
    ['an issue in the future', { iat: now + 600, exp: now + 1200 }, {}],
    ['a start in the future', { nbf: now + 600 }, {}],
    ['times that are text', { exp: String(now + 600) }, {}],
    ['a subject that is not a uuid', { sub: "' or 1=1" }, {}],
    ['another organization', { org: '00000000-0000-4000-8000-000000000000' }, {}],
    ['another project', { proj: '00000000-0000-4000-8000-000000000000' }, {}],
  ])('refuses %s', async (_name, change, header) => {
    const response = await users(await signed({ ...(await claims()), ...change }, header));
    expect(response.status).toBe(401);
    expect(await code(response)).toBe('credential_invalid');
  });

  // promise: token-checks
  it('refuses a token made with an SDK key that does not exist', async () => {
    expect((await users(await signed({ ...(await claims()), sdk: '00000000-0000-4000-8000-000000000000' }, {}))).status).toBe(401);
  });

  // promise: token-checks
  it('says that an expired token has expired', async () => {
    expect(await code(await users(await signed({ ...(await claims()), iat: now - 4000, exp: now - 400 })))).toBe('token_expired');
  });

  // promise: token-checks
  it('refuses alg none, HS256 with the public key, and another key', async () => {
    const { kid } = await api.auth.signingKeys.signer();
    const body = b64(await claims());
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const other = `${b64({ alg: 'RS256', typ: 'JWT', kid })}.${body}`;
    // A verifier that takes the algorithm from the token would check this one with the public key as the secret, and accept it.
    const shared = `${b64({ alg: 'HS256', typ: 'JWT', kid })}.${body}`;
    const { keys } = await api.auth.signingKeys.jwks();
    const key = createPublicKey({ key: keys.find((one) => one['kid'] === kid) as never, format: 'jwk' });
    const hmacs = [key.export({ type: 'spki', format: 'pem' }), key.export({ type: 'spki', format: 'der' })].map((secret) =>
      createHmac('sha256', secret).update(shared).digest('base64url'),
    );
    for (const token of [
      `${b64({ alg: 'none', typ: 'JWT', kid })}.${body}.`,
      ...hmacs.map((hmac) => `${shared}.${hmac}`),
      `${other}.${createSign('RSA-SHA256').update(other).sign(privateKey).toString('base64url')}`,
      `${other}.`,
      'a.b.c',
      '..',
    ]) {
      expect((await users(token)).status).toBe(401);
    }
  });

  it('takes tokens of the old key while a new one takes over', async () => {
    const { token } = await api.token('rotating');
    const before = (await api.auth.signingKeys.signer()).kid;
    const next = await api.auth.signingKeys.rotate();
    expect(next).not.toBe(before);
    const jwks = await api.json<{ keys: { kid: string }[] }>('GET', '/.well-known/jwks.json', { as: '' });
    expect(jwks.keys.map((key) => key.kid)).toEqual(expect.arrayContaining([before, next]));
    expect((await users(token)).status).toBe(200);
    expect((await api.auth.signingKeys.signer()).kid).toBe(before);
  });
});

describe('keys', () => {
  // promise: key-checksum
  it('have a form that is checked offline', () => {
    const { key } = api.org.apiKey;
    expect(key).toMatch(/^org_live_[0-9A-Za-z]{51}$/);
    expect(parseKey(key)).toMatchObject({ kind: 'org', env: 'live' });
    const i = 30;
    const typo = key.slice(0, i) + (key[i] === 'a' ? 'b' : 'a') + key.slice(i + 1);
    expect(parseKey(typo)).toEqual({ kind: 'malformed' });
    expect(parseKey(api.org.projectKey)).toEqual({ kind: 'proj' });
    expect(parseKey(api.org.sdkKey)).toEqual({ kind: 'sdk' });
  });

  // promise: key-hash
  it('are not in the database', async () => {
    const { rows } = await api.database.pool.query<{ found: boolean }>(
      `select to_jsonb(k)::text like '%' || $1 || '%' as found from api_key k`,
      [api.org.apiKey.key.slice(21, 54)],
    );
    expect(rows.some((row) => row.found)).toBe(false);
    const hash = createHash('sha256').update(api.org.apiKey.key).digest();
    const stored = await api.database.pool.query<{ secret_hash: Buffer }>('select secret_hash from api_key where id = $1', [
      api.org.apiKey.record.id,
    ]);
    expect(stored.rows).toEqual([{ secret_hash: hash }]);
  });

  // promise: revoked-within-a-second, revoked-4502
  it('stop at once when revoked, on requests and on open sockets', async () => {
    const { key, record } = await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'x', scopes: ['read'] });
    expect((await users(key)).status).toBe(200);
    const ws = new WebSocket(`${api.base.replace('http', 'ws')}/ws`, ['bio.v1', `bio.bearer.${Buffer.from(key).toString('base64url')}`]);
    const closed = new Promise<number>((resolve) => ws.addEventListener('close', (event) => resolve(event.code)));
    await new Promise((resolve) => ws.addEventListener('open', resolve));
    const startedMs = performance.now();
    await revokeApiKey(api.database.pool, api.org.orgId, record.id);
    await until(async () => (await users(key)).status === 401, 1000);
    expect(await closed).toBe(4502);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });

  // promise: key-overlap
  it('overlap when rotated', async () => {
    const { key, record } = await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'r', scopes: ['read'] });
    const next = await transaction(api.database.pool, (client) => rotateApiKey(client, api.org.orgId, record.id, 1, null));
    expect(next.record).toMatchObject({ name: 'r', scopes: ['read'], rotated_from: record.id });
    expect((await users(key)).status).toBe(200);
    expect((await users(next.key)).status).toBe(200);
    await sleep(2100);
    expect((await users(key)).status).toBe(401);
    expect((await users(next.key)).status).toBe(200);
  });

  // promise: last-used
  it('record when they were last used, not when that was written', async () => {
    const { pool } = api.database;
    const { key, record } = await createApiKey(pool, { orgId: api.org.orgId, name: 'u', scopes: ['read'] });
    const { sdk_key: sdkKey } = await createSdkKey(pool, api.org.projectId, 'u');
    await users(key);
    api.auth.notePublicKey(sdkKey);
    const { rows: after } = await pool.query<{ at: string }>('select clock_timestamp()::text as at'); // a Date ends with the millisecond
    await sleep(500);
    await api.auth.flushLastUsed();
    const { rows } = await pool.query<{ used: boolean; late: boolean }>(
      // a quarter of a second for the way to the server; what was written is half a second late
      `select last_used_at is not null as used, last_used_at > $3::timestamptz + interval '250 ms' as late from api_key where id = $1
       union all select true, last_used_at > $3::timestamptz + interval '250 ms' from public_key_use where key = $2`,
      [record.id, sdkKey, after[0]!.at],
    );
    expect(rows).toEqual(Array.from({ length: 2 }, () => ({ used: true, late: false })));
  });

  it('slow down who guesses', async () => {
    const wrong = Array.from({ length: 130 }, () => users('org_live_wrong'));
    const statuses = (await Promise.all(wrong)).map((response) => response.status);
    expect(statuses).toContain(429);
    await sleep(1500);
    expect((await users(api.org.apiKey.key)).status).toBe(200);
  });
});

describe('users', () => {
  // promise: revoked-within-a-second
  it('lose their tokens when disabled, within a second', async () => {
    const { token, id } = await api.token('leaver');
    expect((await users(token)).status).toBe(200);
    await api.json('PATCH', `/api/v1/xusers/${id}`, { body: { disabled: true } });
    await until(async () => (await users(token)).status === 401, 1000);
    const again = await api.send('POST', '/api/v1/sdk/token', { body: { external_id: 'leaver', project_key: api.org.projectKey } });
    expect(again.status).toBe(409);
  });

  // promise: own-data-only
  it('see only themselves', async () => {
    const a = await api.token('a');
    const b = await api.token('b');
    expect((await api.json<unknown[]>('GET', '/api/v1/xusers', { as: a.token })).length).toBe(1);
    expect((await api.send('GET', `/api/v1/xusers/${b.id}`, { as: a.token })).status).toBe(404);
    expect((await api.send('GET', `/api/v1/xusers/${a.id}`, { as: a.token })).status).toBe(200);
    expect((await api.send('POST', '/api/v1/xusers', { as: a.token, body: { external_id: 'b' } })).status).toBe(404);
    expect((await api.send('POST', '/api/v1/xusers', { as: a.token, body: { external_id: 'a' } })).status).toBe(200);
  });

  it('are resolved or created, and updated', async () => {
    const body = { external_id: 'new one', display_name: 'N', time_zone: 'Europe/Vienna' };
    expect((await api.send('POST', '/api/v1/xusers', { body })).status).toBe(201);
    expect(await api.json('POST', '/api/v1/xusers', { body: { external_id: 'new one' } })).toMatchObject({
      display_name: 'N',
      time_zone: 'Europe/Vienna',
    });
    expect((await api.send('POST', '/api/v1/xusers', { body: { external_id: 'z', time_zone: 'Mars/Olympus' } })).status).toBe(422);
  });

  // promise: pages
  it('come in pages that cannot be forged', async () => {
    for (let i = 0; i < 5; i++) await api.token(`page ${i}`);
    const seen: string[] = [];
    let path = '/api/v1/xusers?limit=2';
    for (let page = 0; page < 50; page++) {
      const response = await api.send('GET', path);
      seen.push(...((await response.json()) as { xuser_id: string }[]).map((user) => user.xuser_id));
      const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      if (next === undefined) break;
      path = next;
    }
    expect(new Set(seen).size).toBe(seen.length);
    const { rows } = await api.database.pool.query<{ n: bigint }>('select count(*) as n from xuser where organization_id = $1', [
      api.org.orgId,
    ]);
    expect(BigInt(seen.length)).toBe(rows[0]?.n);
    const other = await createOrganization(api.database.pool, 'Pages');
    const stolen = new URL(path, api.base).searchParams.get('cursor') ?? '';
    expect(await code(await api.send('GET', `/api/v1/xusers?limit=2&cursor=${stolen}`, { as: other.apiKey.key }))).toBe('cursor_invalid');
    expect(await code(await api.send('GET', '/api/v1/xusers?cursor=abcdefghijklmnopqrstuvwxyz'))).toBe('cursor_invalid');
  });

  // promise: not-yours-is-404
  it('of another organization do not exist', async () => {
    const other = await createOrganization(api.database.pool, 'Far');
    const { id } = await api.token('near');
    expect((await api.send('GET', `/api/v1/xusers/${id}`, { as: other.apiKey.key })).status).toBe(404);
  });
});

describe('external ids', () => {
  const uuid = '7a0e51a4-4d55-4b52-9a0c-7a6f3d0f7f11';
  const seen = async (as: string, subject: string, headers: Record<string, string> = {}): Promise<Response> =>
    api.send('GET', `/api/v1/subject?subject_id=${encodeURIComponent(subject)}`, { as, headers });

  // promise: subject-names
  it('name a user for every key that reaches one user of that name, also when they look like uuids', async () => {
    const { id } = await api.token('known to all');
    const looksLikeUuid = await api.token(uuid);
    const { pool } = api.database;
    const { key: bound } = await createApiKey(pool, { orgId: api.org.orgId, name: 'b', scopes: ['read'], projectId: api.org.projectId });
    for (const as of [api.org.apiKey.key, bound]) {
      expect(await (await seen(as, 'known to all')).json()).toEqual({ id });
      expect(await (await seen(as, uuid)).json()).toEqual({ id: looksLikeUuid.id });
    }
    // The service's own id takes precedence over an equal external id.
    const twin = await api.token(id);
    expect(await (await seen(api.org.apiKey.key, id)).json()).toEqual({ id });
    expect(twin.id).not.toBe(id);
  });

  // promise: subject-names
  it('in two projects ask for the project', async () => {
    const { id } = await api.token('twofold');
    const second = await createProject(api.database.pool, api.org.orgId, 'Second');
    await resolveXuser(api.database.pool, api.org.orgId, second.projectId, 'twofold');
    const answer = await seen(api.org.apiKey.key, 'twofold');
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ errors: [{ code: 'ambiguous' }] });
    expect(await (await seen(api.org.apiKey.key, 'twofold', { 'project-key': api.org.projectKey })).json()).toEqual({ id });
    await api.database.pool.query('update project set archived_at = now() where id = $1', [second.projectId]);
    expect(await (await seen(api.org.apiKey.key, 'twofold')).json()).toEqual({ id });
  });
});

describe('direct mode', () => {
  const direct = (externalId: string, extra: Record<string, string> = {}, as = api.org.apiKey.key): Promise<Response> =>
    api.send('GET', '/api/v1/own', { as, headers: { 'project-key': api.org.projectKey, 'xuser-id': externalId, ...extra } });
  it('lets a key stand for one user on widget records', async () => {
    const { id } = await api.token('direct');
    expect(await (await direct('direct')).json()).toEqual({ subject: id });
    expect((await direct('unknown one')).status).toBe(404);
    expect((await api.send('GET', '/api/v1/own')).status).toBe(401);
    expect((await direct('direct', { 'project-key': 'proj_x' })).status).toBe(401);
  });
  // promise: user-header
  it('never confuses two people whose ids a header cannot hold', async () => {
    const ids = ['Zo', 'Zoë', 'ëZo', 'Zo ', '名前', '50%'];
    const people = new Map<string, string>();
    for (const external of ids) people.set(external, (await api.token(external)).id);
    for (const external of ids) {
      const answer = await direct(`UTF-8''${encodeURIComponent(external)}`);
      expect(await answer.json(), external).toEqual({ subject: people.get(external) });
    }
    for (const sent of ['Zo', 'Zoë', 'ëZo', 'Zo ', 'Z\u00ebo', "UTF-8''%ff"]) {
      const answer = await direct(sent);
      expect(answer.status, sent).toBe(400);
      expect(((await answer.json()) as { code: string }).code).toBe('bad_request');
    }
    expect(await (await direct('50%')).json()).toEqual({ subject: people.get('50%') });
  });
  it('requires the scope of the operation', async () => {
    const { key } = await createApiKey(api.database.pool, { orgId: api.org.orgId, name: 'i', scopes: ['ingest'] });
    expect((await direct('direct', {}, key)).status).toBe(403);
  });
  // promise: direct-origins
  it('accepts only registered origins, of the environment or of the project', async () => {
    expect((await direct('direct', { origin: 'https://app.example' })).status).toBe(200);
    expect((await direct('direct', { origin: 'https://app.example:444' })).status).toBe(403);
    await api.database.pool.query('insert into allowed_origin (project_id, origin) values ($1, $2)', [
      api.org.projectId,
      'https://p.example',
    ]);
    await until(async () => (await direct('direct', { origin: 'https://p.example' })).status === 200, 1000);
  });
});

describe('Idempotency-Key', () => {
  // promise: idempotency
  it('gives the first answer again, and refuses another body', async () => {
    const send = (key: string, externalId: string): Promise<Response> =>
      api.send('POST', '/api/v1/xusers', { body: { external_id: externalId }, headers: { 'idempotency-key': key } });
    const first = await send('k1', 'idem');
    expect(first.status).toBe(201);
    const again = await send('k1', 'idem');
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await again.json()).toEqual(await first.json());
    expect(await code(await send('k1', 'other'))).toBe('idempotency_mismatch');
  });
  // promise: idempotency-race
  it('is answered with busy while the first is being answered', async () => {
    const send = (): Promise<Response> =>
      api.send('POST', '/api/v1/xusers', { body: { external_id: 'slow' }, headers: { 'idempotency-key': 'k3' } });
    const holder = await api.database.connect();
    await holder.query('begin; lock table xuser in share row exclusive mode');
    const first = send();
    try {
      const waits = `select from pg_locks where relation = 'xuser'::regclass and not granted`;
      await until(async () => (await api.database.pool.query(waits)).rowCount === 1);
      const second = await send();
      expect([second.status, await code(second)]).toEqual([503, 'busy']);
    } finally {
      await holder.end();
    }
    expect((await first).status).toBe(201);
    expect((await send()).headers.get('idempotency-replayed')).toBe('true');
  });

  // promise: idempotency-race
  it('runs a raced request once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.send('POST', '/api/v1/xusers', { body: { external_id: 'raced' }, headers: { 'idempotency-key': 'k2' } }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 201 && answer.headers.get('idempotency-replayed') === null).length).toBe(1);
    for (const answer of answers) expect([201, 503]).toContain(answer.status);
  });
});
