/** The REST surface on a real database: catalog, streams, episodes, keys, projects, operators. Every answer is checked against the
 *  table. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMember } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { isPublicAddress, WebhookNetworks } from '../../src/webhooks/webhook-networks.ts';
import { signatureOf } from '../../src/webhooks/webhook-request.ts';
import { startWebhookDeliverer } from '../../src/webhooks/webhooks.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { until } from '../helpers/database.ts';
import { putMember } from '../helpers/members.ts';

let api: Api;
let user: { token: string; id: string };
beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  user = await api.token('patient');
});
afterAll(async () => {
  await api.close();
});

type Entity = Readonly<{ id: string }> & Readonly<Record<string, unknown>>;
const code = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;

/** A device with one boot; flowing when its last packet came now. */
async function stream(subjectId: string, kinds: readonly string[], lastPacket = 'now()'): Promise<{ id: number; uuid: string }> {
  const { pool } = api.database;
  const device = await pool.query<{ id: string }>(
    `insert into device (organization_id, project_id, external_id) values ($1, $2, 'dev-' || gen_random_uuid()) returning id`,
    [api.org.orgId, api.org.projectId],
  );
  const made = await pool.query<{ id: number; uuid: string }>(
    `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, last_packet_at)
     values ($1, $2, $3, $4, uuid_send(gen_random_uuid()), 1700000000000000001, ${lastPacket}) returning id, uuid`,
    [api.org.orgId, api.org.projectId, device.rows[0]?.id, subjectId],
  );
  const row = made.rows[0];
  if (row === undefined) throw new Error('no stream');
  for (const [i, kind] of kinds.entries()) {
    await pool.query(
      `insert into stream_channel (stream_id, channel_no, code, kind, rate_nhz, gain, baseline, unit) values ($1, $2, $3, $3, 250000000000, 200, 0, 'mV')`,
      [row.id, i, kind],
    );
  }
  return row;
}

describe('biosignals', () => {
  it('lists the catalog with exactly the members of the interface', async () => {
    const list = await api.json<Record<string, unknown>[]>('GET', `/api/v1/projects/${api.org.projectId}/biosignals`);
    expect(list.length).toBeGreaterThan(20);
    expect(Object.keys(list[0] ?? {}).toSorted()).toEqual(
      ['abbreviation', 'id', 'is_flowing', 'loinc_code', 'name', 'role', 'signal_type', 'source_type', 'unit'].toSorted(),
    );
  });

  // promise: flowing
  it('flows while a device sends, for the user who wears it and the project', async () => {
    const flowing = async (as: string): Promise<unknown[]> => {
      const list = await api.json<Record<string, unknown>[]>('GET', `/api/v1/projects/${api.org.projectKey}/biosignals`, { as });
      return list.filter((item) => item['is_flowing'] === true).map((item) => item['abbreviation']);
    };
    expect(await flowing(api.org.apiKey.key)).toEqual([]);
    await stream(user.id, ['ecg'], `now() - interval '11 s'`);
    expect(await flowing(api.org.apiKey.key)).toEqual([]);
    await stream(user.id, ['ecg']);
    expect(await flowing(api.org.apiKey.key)).toEqual(expect.arrayContaining(['ECG', 'HR', 'RMSSD']));
    expect(await flowing(api.org.apiKey.key)).not.toContain('PPG');
    // A value computed from several channels needs all of them in one stream.
    expect(await flowing(api.org.apiKey.key)).not.toContain('RESP-PPG');
    const optical = await api.token('optical');
    await stream(optical.id, ['ppg']);
    const ofLight = [
      'PPG',
      'HR-PPG',
      'HR-PPG-M',
      'RESP-PPG',
      'PI',
      'CREST-T',
      'PULSE-W',
      'PULSE-IPA',
      'PULSE-RI',
      'PULSE-DT',
      'PULSE-BA',
      'PULSE-AGI',
    ];
    expect(await flowing(optical.token)).toEqual(expect.arrayContaining(ofLight));
    for (const name of ['SPO2-PPG', 'RESP-ECG']) expect(await flowing(optical.token)).not.toContain(name);
    expect(await flowing(user.token)).toContain('HR');
    expect(await flowing((await api.token('bystander')).token)).toEqual([]);
  });

  // promise: flowing
  it('grows at run time, per project', async () => {
    const body = { name: 'Grip', abbreviation: 'GRIP', unit: 'kg', signal_type: 'scalar', source_type: 'clinician', code: 'grip' };
    const path = `/api/v1/projects/${api.org.projectId}/biosignals`;
    expect(await api.json('POST', path, { body, status: 201 })).toMatchObject({ abbreviation: 'GRIP', is_flowing: false });
    expect((await api.send('POST', path, { body })).status).toBe(409);
    const other = await createOrganization(api.database.pool, 'Elsewhere');
    const list = await api.json<Record<string, unknown>[]>('GET', `/api/v1/projects/${other.projectId}/biosignals`, {
      as: other.apiKey.key,
    });
    expect(list.some((item) => item['abbreviation'] === 'GRIP')).toBe(false);
    expect((await api.send('GET', path, { as: other.apiKey.key })).status).toBe(404);
  });
});

describe('streams', () => {
  it('are listed with channels and clock, in pages, for their own user', async () => {
    const { uuid } = await stream(user.id, ['ecg', 'ppg']);
    const list = await api.client().call('listStreams', { query: { subject_id: user.id, limit: 1 } });
    expect(list[0]).toMatchObject({ subject_id: user.id });
    const one = await api.client(user.token).call('getStream', { params: { streamId: uuid } });
    expect(one).toMatchObject({ id: uuid, channels: [{ code: 'ecg', rate_hz: 250 }, { code: 'ppg' }] });
    // To the digit, which JSON.parse would lose.
    expect(await (await api.send('GET', `/api/v1/streams/${uuid}`)).text()).toContain('"epoch_ns":1700000000000000001,');
    expect(one).toMatchObject({ recorded_from: null });
    const other = await api.token('stranger');
    expect((await api.send('GET', `/api/v1/streams/${uuid}`, { as: other.token })).status).toBe(404);
    expect(await code(await api.send('GET', '/api/v1/streams'))).toBe('validation_failed');
    expect((await api.send('GET', `/api/v1/streams?subject_id=${user.id}`, { as: other.token })).status).toBe(404);
  });
});

describe('what is not there', () => {
  it('is named in words, however the id is written', async () => {
    for (const [path, thing] of [
      ['xusers', 'user'],
      ['streams', 'stream'],
      ['episodes', 'episode'],
      ['annotations', 'annotation'],
    ] as const) {
      for (const id of ['anna', '0193b5c0-0000-7000-8000-000000000001']) {
        const answer = await api.send('GET', `/api/v1/${path}/${id}`);
        expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([404, `There is no such ${thing}.`]);
      }
    }
  });

  it('is a range that ends where it begins', async () => {
    const { uuid } = await stream(user.id, ['ecg']);
    for (const list of ['samples', 'overview']) {
      const answer = await api.send('GET', `/api/v1/streams/${uuid}/${list}?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z`);
      expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('is not after since')]);
    }
  });

  // promise: range-forward
  it('is a range that ends before it begins, in every list and report', async () => {
    const { uuid } = await stream(user.id, ['ecg']);
    const ofUser = `subject_id=${user.id}&`;
    const lists = {
      [`streams/${uuid}/features`]: '',
      [`streams/${uuid}/beats`]: '',
      [`streams/${uuid}/events`]: '',
      [`streams/${uuid}/samples`]: '',
      observations: `${ofUser}biosignal_id=61&`,
      streams: ofUser,
      episodes: ofUser,
      annotations: ofUser,
      adherence: ofUser,
      'audit-log': '',
    };
    for (const [list, query] of Object.entries(lists)) {
      const ask = (since: string, until: string) => api.send('GET', `/api/v1/${list}?${query}since=${since}&until=${until}`);
      const refused = await ask('2026-01-02T00:00:00Z', '2026-01-01T23:59:59.999Z');
      expect([list, refused.status, await refused.json()]).toMatchObject([
        list,
        422,
        { detail: '/query/until: lies before since', errors: [{ pointer: '/query/until', code: 'order', detail: 'lies before since' }] },
      ]);
      // The later offset is the earlier time.
      expect([list, (await ask('2026-01-02T00:00:00%2B02:00', '2026-01-01T23:00:00Z')).status]).toEqual([list, 200]);
    }
  });
});

describe('bootstrap', () => {
  // promise: profiles
  it('has device profiles, limits and the caller, and an ETag', async () => {
    const response = await api.send('GET', '/api/v1/bootstrap', { as: user.token });
    const body = (await response.json()) as { user: object; device_profiles: { code: string }[]; limits: object };
    expect(body.user).toMatchObject({ xuser_id: user.id, external_id: 'patient' });
    expect(body.device_profiles.map((profile) => profile.code)).toContain('simulator');
    expect(body.limits).toMatchObject({ packet_bytes: 262_144 });
    const again = await api.send('GET', '/api/v1/bootstrap', {
      as: user.token,
      headers: { 'if-none-match': response.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });
});

describe('episodes', () => {
  it('are created, read with artifacts, changed and listed', async () => {
    const body = { subject_id: user.id, kind: 'exercise', started_at: '2026-01-01T10:00:00Z', summary: { steps: 1200 } };
    const made = await api.json<Entity>('POST', '/api/v1/episodes', { body, status: 201 });
    expect(made).toMatchObject({ status: 'open', severity: 'none', artifacts: [] });
    const path = `/api/v1/episodes/${made.id}`;
    const strip = { kind: 'strip', title: 'lead II', media_type: 'image/svg+xml', data_base64: Buffer.from('<svg/>').toString('base64') };
    const detail = await api.json<{ artifacts: { href: string; bytes: number }[] }>('POST', `${path}/artifacts`, {
      body: strip,
      status: 201,
    });
    expect(detail.artifacts[0]).toMatchObject({ bytes: 6 });
    const file = await api.send('GET', detail.artifacts[0]?.href ?? '', { as: user.token });
    expect(file.headers.get('content-disposition')).toBe('attachment');
    expect(await file.text()).toBe('<svg/>');
    const wrong: Record<string, object> = {
      '/data_base64 base64': { data_base64: 'A' },
      '/data_base64 minLength': { data_base64: '' },
      '/data_base64 exclusive': { content: {}, data_base64: 'AAAA' },
    };
    for (const [what, fields] of Object.entries(wrong)) {
      const refused = await api.send('POST', `${path}/artifacts`, { body: { kind: 'note', ...fields } });
      const [pointer, code] = what.split(' ');
      expect([refused.status, await refused.json()]).toMatchObject([422, { errors: [{ pointer, code }] }]);
    }
    for (const text of ['AA=', 'A===', '==', 'AAAAA'])
      expect((await api.send('POST', `${path}/artifacts`, { body: { kind: 'note', data_base64: text } })).status).toBe(422);
    for (const [text, bytes] of [
      ['AA', 1],
      ['AA==', 1],
      ['AAAA', 3],
    ] as const) {
      const body = { kind: 'file', media_type: 'text/plain', data_base64: text };
      const { artifacts } = await api.json<{ artifacts: { bytes: number }[] }>('POST', `${path}/artifacts`, { body, status: 201 });
      expect(artifacts.at(-1)).toMatchObject({ bytes });
    }
    const closed = await api.json<Entity>('PATCH', path, { body: { status: 'closed', ended_at: '2026-01-01T11:00:00Z' } });
    expect(closed).toMatchObject({ status: 'closed', artifact_count: 4 });
    expect((await api.send('PATCH', path, { body: { ended_at: '2025-01-01T11:00:00Z' } })).status).toBe(422);
    const list = await api.json<Entity[]>('GET', '/api/v1/episodes?since=2026-01-01T10:30:00Z&until=2026-01-02T00:00:00Z', {
      as: user.token,
    });
    expect(list.map((item) => item.id)).toEqual([made.id]);
    const stranger = await api.token('nosy');
    for (const address of [path, detail.artifacts[0]?.href ?? '']) {
      expect((await api.send('GET', address, { as: stranger.token })).status).toBe(404);
    }
    expect((await api.send('POST', '/api/v1/episodes', { as: user.token, body })).status).toBe(401);
  });
});

describe('keys and projects', () => {
  it('create, rotate and revoke through the API, with an audit trail', async () => {
    const made = await api.client().call('createApiKey', { body: { name: 'ci', scopes: ['read'] } });
    expect((await api.send('GET', '/api/v1/projects', { as: made.key })).status).toBe(200);
    expect(await code(await api.send('GET', '/api/v1/api-keys', { as: made.key }))).toBe('scope_missing');
    const next = await api.client().call('rotateApiKey', { params: { keyId: made.id }, body: { overlap_sec: 60 } });
    expect(next.rotated_from).toBe(made.id);
    await api.client().call('revokeApiKey', { params: { keyId: made.id } });
    await until(async () => (await api.send('GET', '/api/v1/projects', { as: made.key })).status === 401, 1000);
    const list = await api.client().call('listApiKeys');
    expect(JSON.stringify(list)).not.toContain(next.key);
    const log = await api.client().call('listAuditLog', { query: { limit: 10 } });
    expect(log.filter((entry) => [made.id, next.id].includes(entry.target_id)).map((entry) => entry.action)).toEqual([
      'api_key.revoked',
      'api_key.rotated',
      'api_key.created',
    ]);
  });

  // promise: no-more-rights
  it('cannot grant what they do not have', async () => {
    const admin = await api.json<{ key: string }>('POST', '/api/v1/api-keys', { body: { name: 'a', scopes: ['admin'] }, status: 201 });
    expect(await code(await api.send('POST', '/api/v1/api-keys', { as: admin.key, body: { name: 'b', scopes: ['admin', 'read'] } }))).toBe(
      'scope_missing',
    );
    expect(await code(await api.send('POST', `/api/v1/api-keys/${api.org.apiKey.record.id}/rotate`, { as: admin.key, body: {} }))).toBe(
      'scope_missing',
    );
  });

  it('register origins', async () => {
    const path = `/api/v1/projects/${api.org.projectId}/origins`;
    const origins = ['https://a.example', 'https://b.example:8443'];
    expect(await api.json('PUT', path, { body: { origins } })).toEqual({ origins });
    expect((await api.send('PUT', path, { body: { origins: ['https://a.example/path'] } })).status).toBe(422);
    expect(await api.json('PUT', path, { body: { origins: ['https://b.example:8443'] } })).toEqual({ origins: ['https://b.example:8443'] });
  });
});

describe('the audit log', () => {
  // promise: audit-chain
  it('is a chain in which every change is detected', async () => {
    const { pool } = api.database;
    await Promise.all(Array.from({ length: 10 }, (_, i) => api.json('POST', '/api/v1/projects', { body: { name: `p${i}` }, status: 201 })));
    const whole = await api.client().call('verifyAuditLog');
    expect(whole.entries).toBeGreaterThanOrEqual(10);
    expect(whole.broken_at).toBeNull();
    expect(whole.head).toMatch(/^[0-9a-f]{64}$/);
    await expect(pool.query(`update audit_log set action = 'x'`)).rejects.toThrow('append-only');
    await expect(pool.query('delete from audit_log')).rejects.toThrow('append-only');
    await expect(pool.query('truncate audit_log')).rejects.toThrow('append-only');
    await pool.query('alter table audit_log disable trigger audit_log_append_only');
    const changed = await pool.query<{ seq: number }>(
      `update audit_log set actor_id = 'somebody else' where organization_id = $1 and chain_seq = 3 returning chain_seq::float8 as seq`,
      [api.org.orgId],
    );
    expect(changed.rows.length).toBe(1);
    expect(await api.json('GET', '/api/v1/audit-log/chain')).toMatchObject({ broken_at: 3 });
  });
});

describe('webhooks', () => {
  // promise: webhook-addresses, webhook-signed, webhook-retry, webhook-id
  it('deliver signed events, retry until one is accepted, and on replay', async () => {
    const received: { headers: IncomingHttpHeaders; body: string }[] = [];
    const answers = [500, 302, 204];
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        response.writeHead(answers.shift() ?? 204, { location: 'http://127.0.0.1:1/' }).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const hook = await api.json<{ id: string; secret: string }>('POST', '/api/v1/webhooks', {
      body: { url, events: ['episode.created'] },
      status: 201,
    });
    const { pool } = api.database;
    const body = { subject_id: user.id, kind: 'fall', severity: 'high', started_at: '2026-01-01T00:00:00Z' };
    const episode = await api.json<Entity>('POST', '/api/v1/episodes', { body, status: 201 });
    const list = (): Promise<{ id: string; status: string; attempts: number; last_status: number | null; last_error: string | null }[]> =>
      api.json('GET', `/api/v1/webhooks/${hook.id}/deliveries`);

    const strict = startWebhookDeliverer({ pool, pollMs: 20 });
    await until(async () => (await list())[0]?.attempts === 1 && (await list())[0]?.last_error !== null);
    await strict();
    expect((await list())[0]).toMatchObject({
      status: 'pending',
      last_error: expect.stringContaining('not an address of the public internet') as string,
    });
    expect(received).toEqual([]);

    const stop = startWebhookDeliverer({ pool, pollMs: 20, networks: new WebhookNetworks(['127.0.0.0/8']) });
    for (const status of [500, 302, 204]) {
      await pool.query('update webhook_delivery set next_attempt_at = now()');
      await until(async () => (await list())[0]?.last_status === status);
    }
    await until(async () => (await list())[0]?.status === 'delivered');
    expect((await list())[0]?.attempts).toBe(4);
    expect(received.length).toBe(3);
    const [first] = received;
    const id = String(first?.headers['webhook-id']);
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'episode.created',
      data: { episode_id: episode.id, kind: 'fall', severity: 'high' },
    });
    const last = received.at(-1);
    expect(last?.headers['webhook-signature']).toBe(
      signatureOf(Buffer.from(hook.secret, 'base64'), id, Number(last?.headers['webhook-timestamp']), last?.body ?? ''),
    );
    await api.json('POST', `/api/v1/webhooks/${hook.id}/deliveries/${id}/replay`, { body: {}, status: 202 });
    await until(() => received.length === 4);
    await stop();
    await new Promise((resolve) => receiver.close(resolve));
    expect((await api.send('DELETE', `/api/v1/webhooks/${hook.id}`)).status).toBe(204);
  });

  // promise: webhook-retry
  it('are retried for a day and a half at growing pauses, and then marked failed', async () => {
    const receiver = createServer((request, response) => void request.resume().on('end', () => response.writeHead(500).end()));
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/never`;
    const hook = await api.json<{ id: string }>('POST', '/api/v1/webhooks', { body: { url, events: ['episode.created'] }, status: 201 });
    const body = { subject_id: user.id, kind: 'fall', started_at: '2026-01-02T00:00:00Z' };
    await api.json<Entity>('POST', '/api/v1/episodes', { body, status: 201 });
    const { pool } = api.database;
    type Tried = { attempts: number; status: string; pause: number };
    const tried = async (): Promise<Tried | undefined> =>
      (
        await pool.query<Tried>(
          `select attempts, status, extract(epoch from next_attempt_at - now())::float8 as pause from webhook_delivery
           where webhook_id = $1 and last_status = 500`,
          [hook.id],
        )
      ).rows[0];
    const stop = startWebhookDeliverer({ pool, pollMs: 20, networks: new WebhookNetworks(['127.0.0.0/8']) });
    const pauses: number[] = [];
    for (let status = 'pending'; status === 'pending' && pauses.length < 20;) {
      await pool.query('update webhook_delivery set next_attempt_at = now(), last_status = null where webhook_id = $1', [hook.id]);
      await until(async () => (await tried()) !== undefined);
      const row = (await tried())!;
      expect(row.attempts).toBe(pauses.length + 1);
      ({ status } = row);
      if (status === 'pending') pauses.push(row.pause);
      else expect(status).toBe('failed');
    }
    await stop();
    await new Promise((resolve) => receiver.close(resolve));
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
    const days = pauses.reduce((sum, pause) => sum + pause, 0) / 86_400;
    expect(days).toBeGreaterThan(1.4);
    expect(days).toBeLessThan(1.6);
    expect((await api.send('DELETE', `/api/v1/webhooks/${hook.id}`)).status).toBe(204);
  });

  // promise: webhook-addresses
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '0.0.0.0',
    '224.0.0.1',
    'nonsense',
  ])('never call %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
  it.each(['8.8.8.8', '2606:4700::1111'])('may call %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('operators', () => {
  const password = 'correct horse battery';
  // promise: session-cookie, sessions
  it('sign in with a cookie, are limited to their role, and sign out', async () => {
    await createMember(api.database.pool, {
      orgId: api.org.orgId,
      email: 'Nurse@x.example',
      displayName: 'N',
      role: 'clinician',
      password,
    });
    const wrong = await api.send('POST', '/auth/session', { as: '', body: { email: 'nurse@x.example', password: 'wrong password' } });
    expect(wrong.status).toBe(401);
    const response = await api.send('POST', '/auth/session', { as: '', body: { email: 'nurse@x.example', password } });
    const setCookie = response.headers.get('set-cookie') ?? '';
    expect(setCookie).toMatch(/HttpOnly; SameSite=Strict/);
    const headers = { cookie: setCookie.split(';')[0] ?? '', origin: api.base };
    expect(await api.json('GET', '/auth/session', { as: '', headers })).toMatchObject({ role: 'clinician' });
    expect((await api.send('GET', `/api/v1/episodes?subject_id=${user.id}`, { as: '', headers })).status).toBe(200);
    expect((await api.send('GET', '/api/v1/api-keys', { as: '', headers })).status).toBe(403);
    const foreign = { ...headers, origin: 'https://evil.example' };
    expect(await code(await api.send('GET', `/api/v1/episodes?subject_id=${user.id}`, { as: '', headers: foreign }))).toBe(
      'origin_forbidden',
    );
    expect((await api.send('DELETE', '/auth/session', { as: '', headers })).status).toBe(204);
    await until(async () => (await api.send('GET', '/auth/session', { as: '', headers })).status === 401, 1000);
  });

  it('are slowed when they guess', async () => {
    const email = 'guessed@x.example';
    await putMember(api.database.pool, { orgId: api.org.orgId, email, displayName: '', role: 'viewer', password });
    const guess = (i: number) => api.send('POST', '/auth/session', { as: '', body: { email, password: `guess number ${i}` } });
    // Concurrently: in sequence, a busy machine would be as slow as the limit.
    const statuses = (await Promise.all(Array.from({ length: 14 }, (_, i) => guess(i)))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(1);
    expect(statuses).not.toContain(200);
  });

  it('cannot remove the last administrator', async () => {
    const only = await api.json<Entity>('POST', '/api/v1/members', {
      body: { email: 'boss@x.example', role: 'admin', password },
      status: 201,
    });
    expect(await code(await api.send('PATCH', `/api/v1/members/${only.id}`, { body: { disabled: true } }))).toBe('conflict');
    expect((await api.send('POST', '/api/v1/members', { body: { email: 'BOSS@x.example', role: 'viewer', password } })).status).toBe(409);
  });
});

describe('service', () => {
  // promise: metrics-guarded, health
  it('answers health, readiness and metrics', async () => {
    expect(await api.json('GET', '/healthz', { as: '' })).toMatchObject({ status: 'ok' });
    expect(await api.json('GET', '/readyz', { as: '' })).toMatchObject({ status: 'ready' });
    expect((await api.send('GET', '/metrics', { as: '' })).status).toBe(200);
    expect((await api.send('GET', '/metrics', { as: 'wrong' })).status).toBe(401);
    expect((await api.send('GET', '/metrics', { as: 'metrics-token' })).status).toBe(200);
  });
});
