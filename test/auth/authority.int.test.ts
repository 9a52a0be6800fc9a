/** No caller grants more than it has: every operation that administers an organization, by every credential that might try, on records of
 *  its own project, of another project and of the whole organization; in the whole service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { memberRoles, signIn, updateMember } from '../../src/tenancy/operators.ts';
import type { MemberRole } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSdkKey } from '../../src/auth/public-keys.ts';
import { scopes } from '../../src/caller.ts';
import type { Scope } from '../../src/caller.ts';
import { putMember } from '../helpers/members.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { createProject } from '../../src/tenancy/projects.ts';

const password = 'a long enough password';
const kinds = ['admin key', 'full key', 'key of P1', 'owner', 'admin', 'clinician', 'analyst', 'viewer'] as const;
type Kind = (typeof kinds)[number];
type Place = 'P1' | 'P2' | 'organization' | 'other organization';
type Outcome = 'ok' | 403 | 404;

/** Records in each place, which the requests name. */
type Things = {
  project: string;
  subject: string;
  device: string;
  key: string;
  sdkKey: string;
  webhook: string;
  member: string;
  profile: string;
};

let running: RunningService;
const credentials = new Map<Kind, Readonly<Record<string, string>>>();
const things = new Map<Place, Things>();
let people: Map<MemberRole, string>;

beforeAll(async () => {
  running = await runService();
  const { pool } = running.database;
  const { orgId } = running.org;
  const other = await createOrganization(pool, 'Other');
  const p2 = (await createProject(pool, orgId, 'P2')).projectId;
  const person = (org: string, email: string, role: MemberRole) =>
    putMember(pool, { orgId: org, email, displayName: '', role, password }).then(({ id }) => id);
  const fill = async (org: string, project: string, name: string): Promise<Things> => {
    const maker = (await createApiKey(pool, { orgId: org, name: `maker of ${name}`, scopes, projectId: project })).key;
    const { body: user } = await running.send<{ xuser_id: string }>('POST', '/api/v1/xusers', { as: maker, body: { external_id: name } });
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 1, deviceId: `device of ${name}` });
    const t0UnixNs = BigInt(Date.now() - 1000) * 1_000_000n;
    const sent = await running.ingest({ ...packet!, subject: user.xuser_id, t0UnixNs, sentUnixNs: t0UnixNs }, maker);
    expect(sent.status, sent.text).toBe(202);
    const hook = { url: 'https://hooks.example/', events: ['*'] };
    const { body: webhook } = await running.send<{ id: string }>('POST', '/api/v1/webhooks', { as: maker, body: hook });
    return {
      project,
      subject: user.xuser_id,
      device: `device of ${name}`,
      key: (await createApiKey(pool, { orgId: org, name: `key of ${name}`, scopes: ['admin'], projectId: project })).record.id,
      sdkKey: (await createSdkKey(pool, project, name)).id,
      webhook: webhook.id,
      member: await person(org, `${name}@members.example`, 'viewer'),
      profile: '',
    };
  };
  things.set('P1', await fill(orgId, running.org.projectId, 'P1'));
  things.set('P2', await fill(orgId, p2, 'P2'));
  things.set('other organization', await fill(other.orgId, other.projectId, 'elsewhere'));
  const wide = (await createApiKey(pool, { orgId, name: 'wide', scopes: ['admin'] })).record.id;
  const hook = { url: 'https://hooks.example/', events: ['*'] };
  const { body: webhook } = await running.send<{ id: string }>('POST', '/api/v1/webhooks', { body: hook });
  const profile = { code: 'p', name: 'p', manufacturer: '', model: '', channels: [] };
  const { body: made } = await running.send<{ id: string }>('POST', '/api/v1/device-profiles', { body: profile });
  things.set('organization', { ...things.get('P1')!, key: wide, webhook: webhook.id, profile: made.id });

  const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
  const key = async (name: Kind, given: readonly Scope[], projectId: string | null) =>
    credentials.set(name, bearer((await createApiKey(pool, { orgId, name, scopes: given, projectId })).key));
  await key('admin key', ['admin'], null);
  await key('full key', scopes, null);
  await key('key of P1', scopes, running.org.projectId);
  people = new Map();
  for (const role of memberRoles) {
    const email = `${role}@org.example`;
    people.set(role, await person(orgId, email, role));
    const { token } = await signIn(pool, email, password, { ip: '127.0.0.1', userAgent: '' });
    credentials.set(role, { cookie: `bio_session=${token}`, origin: running.service.baseUrl, 'if-match': '*' });
  }
});
afterAll(async () => {
  await running.close();
});

const as = (kind: Kind, method: string, path: string, body?: unknown) =>
  running.send<Record<string, unknown>>(method, path, { as: '', headers: credentials.get(kind)!, ...(body === undefined ? {} : { body }) });

type Operation = Readonly<{
  name: string;
  method: string;
  path: (at: Things) => string;
  body?: (at: Things) => unknown;
  places: readonly Place[];
  /** Project keys have no access to what belongs to the whole organization. */
  wide?: true;
}>;

const projects = ['P1', 'P2', 'other organization'] as const;
const nothing = { samples_days: null, features_days: null, beats_days: null };
const operations: readonly Operation[] = [
  { name: 'list members', method: 'GET', path: () => '/api/v1/members', places: ['organization'], wide: true },
  { name: 'change nothing of a member', method: 'PATCH', path: (at) => `/api/v1/members/${at.member}`, body: () => ({}), places: ['organization', 'other organization'], wide: true }, // prettier-ignore
  { name: 'verify the chain', method: 'GET', path: () => '/api/v1/audit-log/chain', places: ['organization'], wide: true },
  { name: 'read the audit log', method: 'GET', path: () => '/api/v1/audit-log', places: ['P1'] },
  { name: 'list keys', method: 'GET', path: () => '/api/v1/api-keys', places: ['P1'] },
  { name: 'make a key of a project', method: 'POST', path: () => '/api/v1/api-keys', body: (at) => ({ name: 'x', scopes: ['admin'], project_id: at.project }), places: projects }, // prettier-ignore
  { name: 'rotate a key', method: 'POST', path: (at) => `/api/v1/api-keys/${at.key}/rotate`, body: () => ({}), places: [...projects, 'organization'] }, // prettier-ignore
  { name: 'list SDK keys', method: 'GET', path: (at) => `/api/v1/projects/${at.project}/sdk-keys`, places: projects },
  { name: 'make an SDK key', method: 'POST', path: (at) => `/api/v1/projects/${at.project}/sdk-keys`, body: () => ({}), places: projects },
  { name: 'rotate an SDK key', method: 'POST', path: (at) => `/api/v1/projects/${at.project}/sdk-keys/${at.sdkKey}/rotate`, body: () => ({ overlap_sec: 3600 }), places: projects }, // prettier-ignore
  { name: 'make a project', method: 'POST', path: () => '/api/v1/projects', body: () => ({ name: 'x' }), places: ['organization'], wide: true }, // prettier-ignore
  { name: 'read origins', method: 'GET', path: (at) => `/api/v1/projects/${at.project}/origins`, places: projects },
  { name: 'set origins', method: 'PUT', path: (at) => `/api/v1/projects/${at.project}/origins`, body: () => ({ origins: [] }), places: projects }, // prettier-ignore
  { name: 'read settings', method: 'GET', path: (at) => `/api/v1/projects/${at.project}/settings`, places: projects },
  { name: 'set retention', method: 'PUT', path: (at) => `/api/v1/projects/${at.project}/settings`, body: () => ({ retention: nothing, consent_required: [] }), places: projects }, // prettier-ignore
  { name: 'make a device profile', method: 'POST', path: () => '/api/v1/device-profiles', body: () => ({ code: `p${Math.random()}`.replace('.', '-'), name: 'p', manufacturer: '', model: '', channels: [] }), places: ['organization'], wide: true }, // prettier-ignore
  { name: 'set the profile of a device', method: 'PUT', path: (at) => `/api/v1/devices/${encodeURIComponent(at.device)}/profile`, body: () => ({ profile_id: things.get('organization')!.profile }), places: ['P1', 'P2'] }, // prettier-ignore
  { name: 'make a webhook of a project', method: 'POST', path: () => '/api/v1/webhooks', body: (at) => ({ url: 'https://h.example/', events: ['*'], project_id: at.project }), places: projects }, // prettier-ignore
  { name: 'list the deliveries of a webhook', method: 'GET', path: (at) => `/api/v1/webhooks/${at.webhook}/deliveries`, places: [...projects, 'organization'] }, // prettier-ignore
  { name: 'export a person', method: 'GET', path: (at) => `/api/v1/xusers/${at.subject}/export`, places: projects },
  { name: 'remove a webhook', method: 'DELETE', path: (at) => `/api/v1/webhooks/${at.webhook}`, places: ['other organization', 'P2'] },
  { name: 'erase a person', method: 'POST', path: (at) => `/api/v1/xusers/${at.subject}/erase`, body: () => ({ confirm_external_id: 'somebody else' }), places: projects }, // prettier-ignore
  { name: 'revoke a key', method: 'DELETE', path: (at) => `/api/v1/api-keys/${at.key}`, places: ['other organization', 'P2'] },
];

/** The rule itself. */
function expected(operation: Operation, kind: Kind, place: Place): Outcome {
  if (kind === 'clinician' || kind === 'analyst' || kind === 'viewer') return operation.name === 'list SDK keys' && place !== 'other organization' ? 'ok' : operation.name === 'list SDK keys' ? 404 : 403; // prettier-ignore
  if (kind === 'admin key' && operation.name === 'list SDK keys') return 403; // takes `read`
  if (kind === 'key of P1' && operation.wide === true) return 403;
  if (place === 'other organization') return 404;
  if (kind === 'key of P1' && place !== 'P1') return 404;
  return 'ok';
}

describe.each(operations)('$name', (operation) => {
  // promise: no-more-rights, project-key-reach
  it.each(operation.places)('of %s', async (place) => {
    const at = things.get(place)!;
    for (const kind of kinds) {
      // A removed record is gone for the next caller, so refused callers come first.
      if (/^(remove|revoke)/.test(operation.name) && expected(operation, kind, place) === 'ok' && kind !== 'admin') continue;
      const given = await as(kind, operation.method, operation.path(at), operation.body?.(at));
      const wanted = expected(operation, kind, place);
      const said = `${kind}: ${given.status} ${given.text.slice(0, 200)}`;
      if (wanted === 'ok') expect([200, 201, 204, 409, 422], said).toContain(given.status);
      else expect(given.status, said).toBe(wanted);
    }
  });
});

it('a key that a member makes, or that replaces one, is noted as theirs, and of the environment that was asked for', async () => {
  const made = await as('admin', 'POST', '/api/v1/api-keys', { name: 'theirs', scopes: ['read'], env: 'test' });
  expect(String(made.body['key'])).toMatch(/^org_test_/);
  const next = await as('owner', 'POST', `/api/v1/api-keys/${String(made.body['id'])}/rotate`, {});
  const { rows } = await running.database.pool.query<{ created_by: string }>(
    'select created_by from api_key where id = any($1::uuid[]) order by created_at',
    [[made.body['id'], next.body['id']]],
  );
  expect(rows.map((row) => row.created_by)).toEqual([people.get('admin'), people.get('owner')]);
});

describe('a member', () => {
  const made = async (kind: Kind, role: MemberRole) => {
    const email = `${kind}-${role}`.replaceAll(' ', '.');
    return await as(kind, 'POST', '/api/v1/members', { email: `${email}@made.example`, role, password });
  };
  const gives: Readonly<Record<Kind, readonly MemberRole[]>> = {
    'admin key': [],
    'full key': ['admin', 'clinician', 'analyst', 'viewer'],
    'key of P1': [],
    owner: memberRoles,
    admin: ['admin', 'clinician', 'analyst', 'viewer'],
    clinician: [],
    analyst: [],
    viewer: [],
  };

  // promise: no-more-rights, member-roles
  it.each(kinds)('is made by %s in no role above its own', async (kind) => {
    for (const role of memberRoles) {
      const { status, text } = await made(kind, role);
      expect(status, `${role} ${text}`).toBe(gives[kind].includes(role) ? 201 : 403);
    }
  });

  // promise: admin-key-roles
  it('is made by a key with the scopes that the role amounts to', async () => {
    const { pool } = running.database;
    const { orgId } = running.org;
    const table: readonly (readonly [readonly Scope[], readonly MemberRole[]])[] = [
      [
        ['admin', 'read'],
        ['analyst', 'viewer'],
      ],
      [
        ['admin', 'read', 'write'],
        ['clinician', 'analyst', 'viewer'],
      ],
      [['admin', 'write', 'ingest'], []],
    ];
    for (const [given, allowed] of table) {
      const { key } = await createApiKey(pool, { orgId, name: given.join(), scopes: given });
      for (const role of memberRoles) {
        const email = `${given.join('.')}.${role}@made.example`;
        const { status } = await running.send('POST', '/api/v1/members', { as: key, body: { email, role, password } });
        expect(status, `${given.join()} makes ${role}`).toBe(allowed.includes(role) ? 201 : 403);
      }
    }
  });

  // promise: member-roles, admin-key-roles
  it('can be changed only by a caller who could have created it, both as it is and as it will be', async () => {
    const owner = people.get('owner')!;
    const admin = people.get('admin')!;
    const viewer = people.get('viewer')!;
    for (const kind of kinds) {
      if (kind === 'owner') continue;
      for (const change of [{ role: 'viewer' }, { disabled: true }, { disabled: false }]) {
        expect((await as(kind, 'PATCH', `/api/v1/members/${owner}`, change)).status, `${kind} on an owner`).toBe(403);
      }
      expect((await as(kind, 'PATCH', `/api/v1/members/${viewer}`, { role: 'owner' })).status, `${kind} makes an owner`).toBe(403);
    }
    for (const kind of ['admin key', 'key of P1'] as const) {
      expect((await as(kind, 'PATCH', `/api/v1/members/${admin}`, { role: 'viewer' })).status, kind).toBe(403);
    }
    // Taking away a right needs no rights; giving it back would.
    for (const role of ['clinician', 'analyst', 'viewer'] as const) {
      const path = `/api/v1/members/${people.get(role)!}`;
      expect((await as('admin key', 'PATCH', path, { disabled: true })).status, role).toBe(200);
      expect((await as('admin key', 'PATCH', path, { disabled: false })).status, role).toBe(403);
      expect((await as('full key', 'PATCH', path, { disabled: false })).status, role).toBe(200);
    }
    const { rows } = await running.database.pool.query('select role, disabled_at from operator_account where id = $1', [owner]);
    expect(rows).toEqual([{ role: 'owner', disabled_at: null }]);
    expect((await as('owner', 'PATCH', `/api/v1/members/${viewer}`, { role: 'analyst' })).status).toBe(200);
    expect((await as('admin', 'PATCH', `/api/v1/members/${viewer}`, { role: 'viewer' })).status).toBe(200);
  });

  // promise: last-owner
  it('who is the last owner stays owner, even when requests race', async () => {
    const { pool } = running.database;
    const { orgId } = await createOrganization(pool, 'Race');
    const accounts = await Promise.all(
      [1, 2].map((i) => putMember(pool, { orgId, email: `o${i}@race.example`, displayName: '', role: 'owner', password })),
    );
    await putMember(pool, { orgId, email: 'a@race.example', displayName: '', role: 'admin', password });
    const owners = async (): Promise<number> =>
      (await pool.query(`select 1 from operator_account where organization_id = $1 and role = 'owner' and disabled_at is null`, [orgId]))
        .rows.length;
    for (let i = 0; i < 20; i++) {
      const changes = await Promise.allSettled(
        accounts.map(({ id }, k) => updateMember(pool, orgId, id, k === 0 ? { role: 'viewer' } : { disabled: true })),
      );
      expect(changes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await owners()).toBe(1);
      await pool.query(`update operator_account set role = 'owner', disabled_at = null where id = any($1)`, [accounts.map(({ id }) => id)]);
    }
  });
});

describe('a key of one project', () => {
  // promise: project-key-reach, shared-device
  it('sees keys, webhooks and log entries of its own project only', async () => {
    const own = things.get('P1')!;
    const elsewhere = things.get('P2')!;
    await as('owner', 'PUT', `/api/v1/projects/${elsewhere.project}/origins`, { origins: ['https://two.example'] });
    await as('owner', 'PUT', `/api/v1/projects/${own.project}/origins`, { origins: ['https://one.example'] });
    await as('owner', 'GET', `/api/v1/streams?subject_id=${elsewhere.subject}`);
    await as('owner', 'GET', `/api/v1/streams?subject_id=${own.subject}`);
    const keys = (await as('key of P1', 'GET', '/api/v1/api-keys')).body as unknown as { name: string; project_id: string }[];
    expect(keys.length).toBeGreaterThan(1);
    expect(keys.filter(({ project_id: id }) => id !== own.project)).toEqual([]);
    const log = await as('key of P1', 'GET', '/api/v1/audit-log?limit=1000');
    expect(log.text).toContain('https://one.example');
    expect(log.text).toContain(own.subject);
    for (const secret of [elsewhere.project, elsewhere.subject, 'https://two.example', 'member.created'])
      expect(log.text).not.toContain(secret);
    const all = await as('full key', 'GET', '/api/v1/audit-log?limit=1000');
    for (const told of [elsewhere.project, elsewhere.subject, 'https://two.example']) expect(all.text).toContain(told);
  });

  // promise: shared-device
  it('cannot change a device that another project uses too', async () => {
    const { pool } = running.database;
    const device = 'wanders';
    const set = (kind: Kind) => as(kind, 'PUT', `/api/v1/devices/${device}/profile`, { profile_id: things.get('organization')!.profile });
    expect((await set('key of P1')).status).toBe(200); // nobody has sent with it yet
    const { key } = await createApiKey(pool, { orgId: running.org.orgId, name: 'p2', scopes, projectId: things.get('P2')!.project });
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 1, deviceId: device });
    const t0UnixNs = BigInt(Date.now() - 1000) * 1_000_000n;
    const sent = await running.ingest({ ...packet!, subject: things.get('P2')!.subject, t0UnixNs, sentUnixNs: t0UnixNs }, key);
    expect(sent.status, sent.text).toBe(202);
    expect((await set('key of P1')).status).toBe(404);
    expect((await set('full key')).status).toBe(200);
  });
});

describe('the header sdk-key', () => {
  it('accepts a key of the project, and refuses a malformed one and one of another project', async () => {
    const { xuser_token: token } = await running.token('page');
    const open = async (sdkKey: string) =>
      (await running.send('GET', '/api/v1/bootstrap', { as: token, headers: { 'sdk-key': sdkKey } })).status;
    expect(await open(running.org.sdkKey)).toBe(200);
    const { rows } = await running.database.pool.query<{ sdk_key: string }>('select sdk_key from sdk_key where id = $1', [
      things.get('P2')!.sdkKey,
    ]);
    for (const sdkKey of ['garbage', 'sdk_garbage', rows[0]!.sdk_key, running.org.projectKey]) expect(await open(sdkKey), sdkKey).toBe(401);
    const { sdkKey: unknown } = await createOrganization(running.database.pool, 'Third');
    expect(await open(unknown)).toBe(401);
  });
});

describe('time', () => {
  const soon = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const ending = (given: readonly Scope[] = scopes, expiresAt = soon(600_000)) =>
    createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'ending', scopes: given, expiresAt });
  type Made = { id: string; key: string; expires_at: string | null; detail: string };
  const make = (as: string, expires?: string | null) =>
    running.send<Made>('POST', '/api/v1/api-keys', {
      as,
      body: { name: 'made', scopes: ['read'], ...(expires === undefined ? {} : { expires_at: expires }) },
    });
  const rotate = (as: string, id: string, overlap = 3600) =>
    running.send<Made>('POST', `/api/v1/api-keys/${id}/rotate`, { as, body: { overlap_sec: overlap } });

  // promise: no-more-time
  it('of a key that a key makes is no longer than its own', async () => {
    const { key, record } = await ending();
    const sameEnd = await make(key);
    expect([sameEnd.status, Date.parse(sameEnd.body.expires_at!)]).toEqual([201, Date.parse(record.expires_at!)]);
    expect((await make(key, soon(60_000))).status).toBe(201);
    for (const longer of [null, soon(700_000)]) {
      const refused = await make(key, longer);
      expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('no more time') as string]);
    }
    expect((await make(running.org.apiKey.key)).body.expires_at).toBe(null);
  });

  // promise: replaced-once
  it('is not extended by a rotation: the successor ends when the old key would have', async () => {
    const { pool } = running.database;
    const { orgId, apiKey } = running.org;
    const { key, record } = await ending();
    const next = await rotate(key, record.id, 60);
    expect([next.status, Date.parse(next.body.expires_at!)]).toEqual([201, Date.parse(record.expires_at!)]);
    // Otherwise a key could create a permanent successor during its overlap.
    const replaced = await createApiKey(pool, { orgId, name: 'replaced', scopes });
    expect((await rotate(apiKey.key, replaced.record.id)).body.expires_at).toBe(null);
    for (const as of [replaced.key, apiKey.key]) {
      expect(await rotate(as, replaced.record.id)).toMatchObject({
        status: 409,
        body: { detail: expect.stringContaining('replaced') as string },
      });
    }
    const lasting = await createApiKey(pool, { orgId, name: 'lasting', scopes: ['read'] });
    expect((await rotate(next.body.key, lasting.record.id)).status).toBe(403);
    const { rows } = await pool.query('select expires_at from api_key where id = $1', [lasting.record.id]);
    expect(rows, 'a refused rotation changes nothing').toEqual([{ expires_at: null }]);
  });

  // promise: replaced-once
  it('is not extended by rotations at the same time either: one makes a successor', async () => {
    const { orgId, apiKey } = running.org;
    for (let round = 0; round < 5; round++) {
      const { record } = await createApiKey(running.database.pool, { orgId, name: 'raced', scopes: ['read'] });
      const raced = await Promise.all(Array.from({ length: 8 }, () => rotate(apiKey.key, record.id, 3600)));
      expect(raced.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, ...Array<number>(7).fill(409)]);
    }
  });

  // promise: no-more-time
  it('of a token is no longer than that of the key that mints it', async () => {
    const { key, record } = await ending(['write'], soon(90_000));
    const { status, body } = await running.send<{ xuser_token: string; expires_in: number }>('POST', '/api/v1/sdk/token', {
      as: key,
      body: { external_id: 'P1', project_key: running.org.projectKey },
    });
    expect(status).toBe(200);
    expect(body.expires_in).toBeLessThanOrEqual(90);
    const { iat, exp } = JSON.parse(Buffer.from(body.xuser_token.split('.')[1]!, 'base64url').toString()) as { iat: number; exp: number };
    expect(exp - iat).toBe(body.expires_in);
    expect(exp * 1000).toBeLessThanOrEqual(Date.parse(record.expires_at!));
  });

  // promise: no-more-time
  it('of an SDK key that a key makes or replaces is no longer than its own', async () => {
    const { key, record } = await ending();
    const path = `/api/v1/projects/${running.org.projectId}/sdk-keys`;
    const lasting = await running.send<Made>('POST', path, { body: {} });
    expect([lasting.status, lasting.body.expires_at]).toEqual([201, null]);
    const made = await running.send<Made>('POST', path, { as: key, body: {} });
    const next = await running.send<Made>('POST', `${path}/${lasting.body.id}/rotate`, { as: key, body: { overlap_sec: 60 } });
    for (const { status, body, text } of [made, next]) {
      expect(status, text).toBe(201);
      expect(Date.parse(body.expires_at!)).toBe(Date.parse(record.expires_at!));
    }
  });

  // promise: no-more-time
  it('of a webhook, a project or its key has no end, so a key with one makes none', async () => {
    const { key } = await ending();
    const hook = { url: 'https://hooks.example/', events: ['*'] };
    for (const [path, body] of [
      ['/api/v1/webhooks', hook],
      ['/api/v1/webhooks', { ...hook, project_id: running.org.projectId }],
      ['/api/v1/projects', { name: 'lasting' }],
      [`/api/v1/projects/${running.org.projectId}/rotate-key`, { overlap_sec: 60 }],
    ] as const) {
      const refused = await running.send<Made>('POST', path, { as: key, body });
      expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('and your key ends at ') as string]);
    }
  });

  // promise: no-more-time
  it('of an account has no end, so a key with one gives none', async () => {
    const { key } = await ending();
    const body = { email: 'lasting@made.example', role: 'viewer', password };
    expect((await running.send('POST', '/api/v1/members', { as: key, body })).status).toBe(403);
  });
});

describe('a refusal says what the caller can do', () => {
  type Said = { code: string; title: string; detail: string };
  const people = 'This key or account may not do this.';

  it('to a member: by the roles that members have', async () => {
    for (const kind of ['viewer', 'clinician'] as const) {
      const { status, body } = await as(kind, 'POST', '/api/v1/projects', { name: 'x' });
      expect([status, body]).toMatchObject([403, { code: 'scope_missing', title: people, detail: expect.stringContaining('admin or owner') as string }]); // prettier-ignore
      expect(JSON.stringify(body)).not.toMatch(/\bkey lacks\b|editor/);
    }
  });

  it('to a program with a key that sends Origin: not of direct mode, unless it is that', async () => {
    const { key } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'page', scopes });
    const ask = (headers: Record<string, string>) => running.send<Said>('GET', '/api/v1/xusers', { as: key, headers: { origin: 'https://app.example', ...headers } }); // prettier-ignore
    const plain = await ask({});
    expect([plain.status, plain.body.code]).toEqual([403, 'origin_forbidden']);
    expect(`${plain.body.title} ${plain.body.detail}`).not.toMatch(/direct mode/i);
    expect(plain.body.detail).toMatch(/user tokens/);
    const direct = await ask({ 'project-key': running.org.projectKey, 'xuser-id': 'P1' });
    expect(direct.body.detail).toMatch(/Direct mode .* register this origin/);
  });

  // promise: unknown-subject
  it('to a device with a key of the whole organization: whom it may not create', async () => {
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 1, deviceId: 'device of nobody' });
    const t0UnixNs = BigInt(Date.now() - 1000) * 1_000_000n;
    const { status, body } = await running.ingest({ ...packet!, subject: 'nobody-yet', t0UnixNs, sentUnixNs: t0UnixNs });
    expect(status).toBe(404);
    expect((body as unknown as Said).detail).toContain('the organization has several projects; send with a key of one');
  });

  it('to a caller who asks for a path that does not exist', async () => {
    const { status, body } = await running.send<Said>('GET', '/api/v1/nowhere');
    expect([status, body.title]).toEqual([404, 'Not found, or not visible to this credential.']);
  });
});
