/** The interface document, line by line, against the running service: resources and members, the life of a user token, endpoints,
 *  credentials, modes and origins, events on the wire, errors, limits, versioning. What the document leaves open is tested elsewhere. */
import { createPublicKey } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { decodeFrame } from '../../sdk/frame.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
type Json = Record<string, unknown>;

let run: RunningService;
let token: { xuser_token: string; xuser_id: string; expires_in: number };
let streamId = '';
const startMs = Date.now() - 90_000;

/** 90 s of ECG and PPG up to now, in packets of a second. */
async function record(subject: string): Promise<void> {
  const packets = ecgPacket({ channels: 2, fs: 250, ms: 1000, count: 90, deviceId: 'patch' });
  for (const packet of packets) {
    const t0UnixNs = BigInt(startMs) * 1_000_000n + packet.t0DeviceNs;
    const answer = await run.ingest({ ...packet, subject, t0UnixNs, sentUnixNs: 0n });
    expect(answer.status, answer.text).toBe(202);
  }
}

beforeAll(async () => {
  run = await runService({ ALLOWED_ORIGINS: 'https://app.example' });
  const minted = await run.send<typeof token>('POST', '/api/v1/sdk/token', {
    body: { external_id: 'person-1', project_key: run.org.projectKey },
  });
  expect(minted.status, minted.text).toBe(200);
  token = minted.body;
  await record('person-1');
  streamId = (await run.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=person-1')).body[0]!.id;
});
afterAll(() => run.close());

describe('resources and their fields', () => {
  it('credentials have the prefixes org_, proj_ and sdk_; a user token is a JWT of RS256', () => {
    expect(run.org.apiKey.key).toMatch(/^org_/);
    expect(run.org.projectKey).toMatch(/^proj_/);
    expect(run.org.sdkKey).toMatch(/^sdk_/);
    expect(decodeProtectedHeader(token.xuser_token).alg).toBe('RS256');
  });

  // promise: token-hour
  it('a user token carries user, project and organization, lasts an hour, and verifies with the published key', async () => {
    const { keys } = (await run.send<{ keys: Json[] }>('GET', '/.well-known/jwks.json', { as: '' })).body;
    const { kid } = decodeProtectedHeader(token.xuser_token);
    const key = createPublicKey({ key: keys.find((one) => one['kid'] === kid) as never, format: 'jwk' });
    const { payload } = await jwtVerify(token.xuser_token, key, { algorithms: ['RS256'] });
    expect(payload).toMatchObject({ sub: token.xuser_id, org: run.org.orgId, proj: run.org.projectId });
    expect(payload.exp! - payload.iat!).toBe(3600);
  });

  it('the token response is xuser_token, xuser_id, expires_in', () => {
    expect(Object.keys(token).sort()).toEqual(['expires_in', 'xuser_id', 'xuser_token']);
    expect(token.xuser_id).toMatch(UUID);
    expect(token.expires_in).toBe(3600);
  });

  // promise: sdk-key-opens-nothing
  it('an sdk key grants no access', async () => {
    expect((await run.send('GET', '/api/v1/bootstrap', { as: run.org.sdkKey })).status).toBe(401);
  });

  // promise: user-made-once
  it('one user record per external id under a project, however often it is asked for', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await run.token('person-1')).xuser_id).concat(
        run
          .send<{ xuser_id: string }>('POST', '/api/v1/xusers', { body: { external_id: 'person-1', project_key: run.org.projectKey } })
          .then(({ body }) => body.xuser_id),
      ),
    );
    expect(new Set(ids)).toEqual(new Set([token.xuser_id]));
  });

  it('a biosignal has exactly its nine members', async () => {
    const { body } = await run.send<Json[]>('GET', `/api/v1/projects/${run.org.projectId}/biosignals`);
    expect(body.length).toBeGreaterThan(20);
    for (const item of body) {
      expect(Object.keys(item).sort()).toEqual(
        ['id', 'name', 'abbreviation', 'unit', 'loinc_code', 'signal_type', 'role', 'source_type', 'is_flowing'].sort(),
      );
      expect(Number.isInteger(item['id'])).toBe(true);
      expect(typeof item['is_flowing']).toBe('boolean');
    }
    const flowing = body.filter((item) => item['is_flowing'] === true).map((item) => item['abbreviation']);
    expect(flowing).toContain('ECG');
    expect(body.some((item) => item['is_flowing'] === false)).toBe(true);
  });

  // promise: quality-everywhere
  it('a feature series is name, ts_ns, values, cadence_hz, qmask, parallel, flags 0 to 2', async () => {
    let series: Json[] = [];
    await until(async () => {
      series = (await run.send<Json[]>('GET', `/api/v1/streams/${streamId}/features`)).body;
      return series.length > 0;
    }, 30_000);
    for (const item of series) {
      // The members of the interface, and those that were added.
      expect(Object.keys(item).sort()).toEqual(['cadence_hz', 'name', 'qmask', 'ts_ns', 'values', 'unit', 'method_code'].sort());
      const [ts, values, flags] = [item['ts_ns'], item['values'], item['qmask']] as [number[], number[], number[]];
      expect([values.length, flags.length]).toEqual([ts.length, ts.length]);
      expect(ts.every((ns) => Number.isInteger(ns))).toBe(true);
      expect(flags.every((flag) => [0, 1, 2].includes(flag))).toBe(true);
    }
  });

  it('an observation has its eight members and what its value rests on; method_code is <kind>:<method_name>', async () => {
    const at = new Date().toISOString();
    const made = await run.send('POST', '/api/v1/measurements', {
      body: { subject_id: 'person-1', measurements: [{ biosignal_id: 61, value: 97, time: at }] },
    });
    expect(made.status, made.text).toBeLessThan(300);
    const { body, status, text } = await run.send<Json[]>(
      'GET',
      `/api/v1/observations?biosignal_id=61&subject_id=person-1&since=${new Date(startMs).toISOString()}&until=2100-01-01T00:00:00Z`,
    );
    expect(status, text).toBe(200);
    expect(body).toHaveLength(1);
    expect(Object.keys(body[0]!).sort()).toEqual(
      ['id', 'biosignal_id', 'loinc_code', 'value', 'unit', 'effective_time', 'device_id', 'method_code']
        .concat(['qmask', 'n', 'good_n', 'expected_n', 'min', 'max'])
        .sort(),
    );
    expect(body[0]).toMatchObject({ biosignal_id: 61, value: 97 });
    expect(body[0]!['effective_time']).toMatch(ISO);
    expect(body[0]!['method_code']).toMatch(/^\w+:\w+$/);
    const before = await run.send<Json[]>(
      'GET',
      `/api/v1/observations?biosignal_id=61&subject_id=person-1&until=${new Date(startMs).toISOString()}`,
    );
    expect(before.body).toEqual([]);
  });
});

describe('endpoints', () => {
  it.each([
    ['GET', '/api/v1/xusers', undefined],
    ['GET', '/api/v1/episodes?subject_id=person-1', undefined],
    ['GET', '/api/v1/bootstrap', undefined],
    ['POST', '/api/v1/charts/query', { subject_id: 'person-1', series: [{ biosignal_id: 20 }], range: { duration: 'PT1H' } }],
  ])('%s %s answers a key', async (method, path, body) => {
    const answer = await run.send(method, path, { body });
    expect(answer.status, answer.text).toBe(200);
  });

  it('an episode has a detail with artifacts; bootstrap has device profiles; POST /xusers gives the service uuid', async () => {
    const made = await run.send<{ id: string }>('POST', '/api/v1/episodes', {
      body: { subject_id: 'person-1', kind: 'annotation', title: 'Walk', started_at: new Date(startMs).toISOString() },
    });
    expect(made.status, made.text).toBe(201);
    const detail = await run.send<Json>('GET', `/api/v1/episodes/${made.body.id}`);
    expect(detail.body['artifacts']).toEqual(expect.any(Array));
    expect((await run.send<Json>('GET', '/api/v1/bootstrap')).body['device_profiles']).toEqual(expect.any(Array));
    const fresh = await run.send<{ xuser_id: string }>('POST', '/api/v1/xusers', {
      body: { external_id: 'person-new', project_key: run.org.projectKey },
    });
    expect(fresh.body.xuser_id).toMatch(UUID);
  });

  it('POST /ingest/raw-packet takes a binary packet', async () => {
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 1, deviceId: 'other', bootId: 'ab'.repeat(16) });
    const answer = await run.ingest({ ...packet!, subject: 'person-1', t0UnixNs: BigInt(Date.now()) * 1_000_000n, sentUnixNs: 0n });
    expect(answer.status, answer.text).toBe(202);
  });

  it('all /api/v1 endpoints of the description require authentication', async () => {
    const { paths } = (await run.send<{ paths: Record<string, Json> }>('GET', '/api-docs', { as: '' })).body;
    const tried: string[] = [];
    for (const [path, item] of Object.entries(paths)) {
      if (!path.startsWith('/api/v1/')) continue;
      for (const method of Object.keys(item).filter((key) => /^(get|post|put|patch|delete)$/.test(key))) {
        const own = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
        const answer = await run.send(method.toUpperCase(), own, { as: '', ...(/get|delete/.test(method) ? {} : { body: {} }) });
        if (path !== '/api/v1/sessions') tried.push(`${method} ${path} ${answer.status}`);
      }
    }
    expect(tried.length).toBeGreaterThan(60);
    expect(tried.filter((line) => !line.endsWith(' 401'))).toEqual([]);
  });

  // promise: frames-100ms
  it('/ws?subject= gives a binary frame of every active channel for each 100 ms', async () => {
    const bearer = Buffer.from(token.xuser_token).toString('base64url');
    const url = `${run.service.baseUrl.replace('http', 'ws')}/ws?subject=${token.xuser_id}`;
    const socket = new WebSocket(url, ['bio.v1', `bio.bearer.${bearer}`]);
    socket.binaryType = 'arraybuffer';
    const frames: ReturnType<typeof decodeFrame>[] = [];
    socket.addEventListener('message', ({ data }) => {
      if (data instanceof ArrayBuffer) frames.push(decodeFrame(new Uint8Array(data)));
    });
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    const packets = ecgPacket({ channels: 2, fs: 250, ms: 100, count: 60, deviceId: 'live', bootId: 'cd'.repeat(16) });
    const zeroMs = Date.now();
    for (const packet of packets) {
      const t0UnixNs = BigInt(zeroMs) * 1_000_000n + packet.t0DeviceNs;
      await fetch(`${run.service.baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${run.org.apiKey.key}`, 'content-type': 'application/x-protobuf' },
        body: Buffer.from(encodePacket({ ...packet, subject: 'person-1', t0UnixNs, sentUnixNs: 0n })),
      });
      await sleep(20);
      if (frames.length > 10) break;
    }
    await until(() => frames.length > 5, 10_000);
    socket.close();
    const full = frames.filter((frame) => frame.ecg.length > 0 && frame.ppg.length > 0);
    expect(full.length).toBeGreaterThan(0);
    for (const frame of frames) expect(frame).toMatchObject({ durationMs: 100, eda: expect.anything(), temp: expect.anything() });
  });

  // promise: api-described
  it('the machine-readable description is at /api-docs, and names every endpoint of the document', async () => {
    const { openapi, paths } = (await run.send<{ openapi: string; paths: Json }>('GET', '/api-docs', { as: '' })).body;
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/v1/sdk/token',
        '/api/v1/xusers',
        '/api/v1/episodes',
        '/api/v1/episodes/{id}',
        '/api/v1/charts/query',
        '/api/v1/bootstrap',
        '/ingest/raw-packet',
        '/api/v1/projects/{projectId}/biosignals',
        '/api/v1/observations',
        '/api/v1/streams/{streamId}/features',
        '/ws',
      ]),
    );
  });
});

describe('authentication', () => {
  // promise: key-scopes
  it('a Write-scoped key mints tokens; a key without that scope does not (403); a user token is the wrong kind (401)', async () => {
    const body = { external_id: 'person-1', project_key: run.org.projectKey };
    const reader = await run.send<{ key: string }>('POST', '/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } });
    expect((await run.send('POST', '/api/v1/sdk/token', { body, as: reader.body.key })).status).toBe(403);
    expect((await run.send('POST', '/api/v1/sdk/token', { body, as: token.xuser_token })).status).toBe(401);
  });

  // promise: refusal-kinds
  it('an org key on a widget endpoint is the wrong kind (401), unless it stands for a user in direct mode', async () => {
    expect((await run.send('GET', '/api/v1/moods')).status).toBe(401);
    const headers = { 'project-key': run.org.projectKey, 'xuser-id': 'person-1' };
    expect((await run.send('GET', '/api/v1/moods', { headers })).status).toBe(200);
    expect((await run.send('GET', '/api/v1/moods', { as: token.xuser_token })).status).toBe(200);
  });

  // promise: not-yours-is-404
  it("a token cannot reach another user's data", async () => {
    await run.token('person-2');
    const other = (await run.send<{ xuser_id: string }>('POST', '/api/v1/xusers', { body: { external_id: 'person-2' } })).body.xuser_id;
    const path = `/api/v1/observations?biosignal_id=20&subject_id=${other}`;
    expect((await run.send('GET', path, { as: token.xuser_token })).status).toBe(404);
    const stranger = await run.token('person-2');
    expect((await run.send('GET', `/api/v1/streams/${streamId}/features`, { as: stranger.xuser_token })).status).toBe(404);
  });

  // promise: direct-origins
  // setting: ALLOWED_ORIGINS
  it('token mode: any origin; direct mode: only registered origins', async () => {
    const any = await run.send('GET', '/api/v1/bootstrap', { as: token.xuser_token, headers: { origin: 'https://anywhere.example' } });
    expect([any.status, any.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect((await run.send('GET', '/api/v1/bootstrap', { headers: { origin: 'https://app.example' } })).status).toBe(200);
    expect((await run.send('GET', '/api/v1/bootstrap', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  });

  it('an authentication failure is 401', async () => {
    for (const as of ['', 'nonsense', `${token.xuser_token}x`, `${run.org.apiKey.key.slice(0, -1)}_`])
      expect((await run.send('GET', '/api/v1/bootstrap', { as })).status, as).toBe(401);
  });
});
