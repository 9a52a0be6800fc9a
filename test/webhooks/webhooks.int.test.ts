/** Webhooks of the running service against receivers on real sockets: slow and missing receivers, and addresses that may not be called. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { webhookEvents } from '../../src/tenancy/events.ts';
import { readConfig } from '../../src/config.ts';
import { until } from '../helpers/database.ts';
import { packetOf } from '../helpers/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Event = { type: string; timestamp: string; data: Record<string, unknown> };
type Headers = Readonly<Record<string, string | string[] | undefined>>;
type Delivery = { id: string; event: string; status: string; attempts: number; last_status: number | null; last_error: string | null };
type Hook = { id: string; secret: string; gone_at: string | null; gone_reason: string | null; previous_secret_expires_at: string | null };
type Tested = { delivered: boolean; status: number | null; duration_ms: number; error: string | null; message_id: string };

let run: RunningService;
let person: { xuser_id: string };
const servers: Server[] = [];
beforeAll(async () => {
  run = await runService({ BIO_WEBHOOK_NETWORKS: '127.0.0.0/8' });
  person = await run.token('told-about');
});
afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  await run.close();
  for (const server of servers) server.close();
});

/** @param answer what the receiver does with a request; default: 204 at once */
async function receiver(answer: (response: ServerResponse) => void = (response) => void response.writeHead(204).end()) {
  const events: Event[] = [];
  const requests: { headers: Headers; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      events.push(JSON.parse(body) as Event);
      requests.push({ headers: request.headers, body });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { events, requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}
async function register(url: string, events: readonly string[]): Promise<string> {
  const { status, body, text } = await run.send<Hook>('POST', '/api/v1/webhooks', { body: { url, events } });
  expect(status, text).toBe(201);
  return body.id;
}
const remove = async (id: string): Promise<void> => expect((await run.send('DELETE', `/api/v1/webhooks/${id}`)).status).toBe(204);
const deliveries = async (id: string): Promise<Delivery[]> =>
  (await run.send<Delivery[]>('GET', `/api/v1/webhooks/${id}/deliveries?limit=1000`)).body;
async function episode(kind: string): Promise<string> {
  const body = { subject_id: person.xuser_id, kind, started_at: '2026-03-01T08:00:00Z' };
  const { status, body: made, text } = await run.send<{ id: string }>('POST', '/api/v1/episodes', { body });
  expect(status, text).toBe(201);
  return made.id;
}

// promise: webhook-networks
// setting: BIO_WEBHOOK_NETWORKS
// job: webhooks
it('delivers to a name of this machine', async () => {
  const here = await receiver();
  const id = await register(here.url.replace('127.0.0.1', 'localhost'), ['episode.created']);
  await episode('by_name');
  await until(() => here.events.length === 1, 10_000);
  await remove(id);
});

// promise: webhook-consent
it('sends only ids of a person who has not agreed to sharing', async () => {
  const hook = await receiver();
  const id = await register(hook.url, ['*']);
  const settings = (purposes: readonly string[]) =>
    run.send('PUT', `/api/v1/projects/${run.org.projectId}/settings`, {
      body: { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: purposes },
    });
  // The person's own device says so; nobody else reads it.
  const press = async (seq: number): Promise<void> => {
    const events = [{ code: 'button', tOffsetNs: 0, text: 'private words' }];
    expect(await run.deliver(packetOf('private', seq, { subject: 'told-about', events }))).toBe(202);
  };
  onTestFinished(async () => void (await settings([])));
  await settings(['sharing']);
  await press(0);
  await until(() => hook.events.length === 1, 10_000);
  expect(hook.events[0]).toEqual({
    type: 'episode.created',
    timestamp: expect.any(String) as string,
    data: { episode_id: expect.any(String) as string, subject_id: person.xuser_id },
  });
  await settings([]);
  await press(1);
  await until(() => hook.events.length === 2, 10_000);
  expect(hook.events[1]!.data).toMatchObject({ kind: 'button', severity: expect.any(String) as string });
  await remove(id);

  // Consent is checked each time, also for retries.
  let status = 503;
  const back = await receiver((response) => void response.writeHead(status).end());
  const later = await register(back.url, ['episode.created']);
  await press(2);
  await until(() => back.events.length === 1, 10_000);
  expect(back.events[0]!.data).toMatchObject({ kind: 'button' });
  await until(async () => (await deliveries(later))[0]!.last_status === 503);
  await settings(['sharing']);
  status = 204;
  await run.database.pool.query('update webhook_delivery set next_attempt_at = now() where webhook_id = $1', [later]);
  await until(() => back.events.length === 2, 10_000);
  expect(Object.keys(back.events[1]!.data).toSorted()).toEqual(['episode_id', 'subject_id']);
  await remove(later);
});

// promise: webhook-slow
it('a slow address delays no other, and gets only a few requests at once', async () => {
  const held: ServerResponse[] = [];
  const slow = await receiver((response) => void held.push(response));
  const quick = await receiver();
  const slowId = await register(slow.url, ['episode.created']);
  for (let i = 0; i < 60; i++) await episode(`slow_${i}`);
  await until(() => held.length > 0);
  const quickId = await register(quick.url, ['episode.created']);
  for (let i = 0; i < 12; i++) await episode(`quick_${i}`);
  await until(() => quick.events.length === 12, 5000);
  await until(async () => (await deliveries(quickId)).every(({ status }) => status === 'delivered'));
  expect((await deliveries(slowId)).filter(({ status }) => status === 'delivered')).toEqual([]);
  // Requests given up meanwhile are released.
  const open = (): number => held.filter(({ socket }) => socket?.destroyed === false).length;
  expect(open()).toBeLessThanOrEqual(4);

  // Answered after more than two seconds, and then again not: one at a time.
  const late = held.splice(0);
  await sleep(2100);
  for (const response of late) response.writeHead(204).end();
  await until(() => held.length > 0);
  await sleep(1500); // and a look more
  expect(open()).toBe(1);

  // When it answers at last it gets the rest.
  const before = slow.events.length;
  await until(() => {
    for (const response of held.splice(0)) response.writeHead(204).end();
    return slow.events.length >= before + 3;
  }, 20_000);
  await remove(slowId);
  expect((await deliveriesOfRemoved(slowId)).filter(({ status }) => status === 'pending')).toEqual([]);
  await remove(quickId);
});

/** The API shows those of a removed webhook no more. */
async function deliveriesOfRemoved(id: string): Promise<{ status: string; last_error: string | null }[]> {
  const { rows } = await run.database.pool.query('select status, last_error from webhook_delivery where webhook_id = $1', [id]);
  return rows as { status: string; last_error: string | null }[];
}

// promise: webhook-gone
it('an address that answers 410 is not called again, its webhook says so, and pending deliveries end', async () => {
  const held: ServerResponse[] = [];
  const gone = await receiver((response) => void held.push(response));
  const id = await register(gone.url, ['episode.created']);
  for (let i = 0; i < 10; i++) await episode(`gone_${i}`);
  await until(() => held.length > 0);
  for (const response of held) response.writeHead(410).end();
  await until(async () => (await deliveries(id)).every(({ status }) => status === 'failed'));
  const list = await deliveries(id);
  expect(list).toHaveLength(10);
  expect(list.every(({ attempts }) => attempts <= 1)).toBe(true);
  const { body: hooks } = await run.send<Hook[]>('GET', '/api/v1/webhooks');
  expect(hooks.find((hook) => hook.id === id)?.gone_at).toEqual(expect.any(String));
  await episode('after_gone');
  expect(await deliveries(id)).toHaveLength(10);
  expect((await run.send('POST', `/api/v1/webhooks/${id}/deliveries/${list[0]!.id}/replay`, { body: {} })).status).toBe(404);
  await remove(id);
});

it('what is due to a webhook ends when it is removed', async () => {
  const failing = await receiver((response) => void response.writeHead(500).end());
  const id = await register(failing.url, ['episode.created']);
  await episode('removed');
  await until(async () => (await deliveries(id))[0]?.last_status === 500);
  await remove(id);
  expect(await deliveriesOfRemoved(id)).toEqual([{ status: 'failed', last_error: 'the webhook was removed' }]);
});

/** As in docs/integrator.md: any of the signatures in the header may match. */
function isGenuine(secret: string, { headers, body }: { headers: Headers; body: string }): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = `v1,${createHmac('sha256', Buffer.from(secret, 'base64')).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
}

const tested = (id: string) => run.send<Tested>('POST', `/api/v1/webhooks/${id}/test`, { body: {} });

describe('a test', () => {
  // promise: webhook-test
  it('sends one signed ping now and says what was answered, or why it was not delivered', async () => {
    const good = await receiver();
    const { body: hook } = await run.send<Hook>('POST', '/api/v1/webhooks', { body: { url: good.url, events: ['episode.created'] } });
    const answer = await tested(hook.id);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ delivered: true, status: 204, error: null });
    expect(answer.body.duration_ms).toBeGreaterThanOrEqual(0);
    expect(good.events).toMatchObject([{ type: 'ping', data: { webhook_id: hook.id } }]);
    expect(good.requests[0]!.headers['webhook-id']).toBe(answer.body.message_id);
    expect(isGenuine(hook.secret, good.requests[0]!)).toBe(true);
    expect(await deliveries(hook.id)).toEqual([]);
    await remove(hook.id);
    expect((await tested(hook.id)).status).toBe(404);

    const failing = await receiver((response) => void response.writeHead(503).end());
    const failingId = await register(failing.url, ['*']);
    expect((await tested(failingId)).body).toMatchObject({ delivered: false, status: 503, error: 'HTTP 503' });
    await remove(failingId);
    const closed = await receiver();
    const closedId = await register(closed.url, ['*']);
    await new Promise((resolve) => servers.at(-1)!.close(resolve));
    expect((await tested(closedId)).body).toMatchObject({
      delivered: false,
      status: null,
      error: expect.stringContaining('ECONNREFUSED') as string,
    });
    await remove(closedId);

    const { body: log } = await run.send<{ target_id: string; detail: object }[]>('GET', '/api/v1/audit-log?action=webhook.tested');
    expect(log.map(({ target_id: id, detail }) => ({ id, ...detail }))).toMatchObject([
      { id: closedId, delivered: false },
      { id: failingId, status: 503 },
      { id: hook.id, status: 204 },
    ]);
  });
});

describe('a new secret', () => {
  // promise: webhook-signed, empty-body, webhook-secret, webhook-rotation
  it('signs at once, together with the previous one until the overlap is over', async () => {
    const good = await receiver();
    const { body: hook } = await run.send<Hook>('POST', '/api/v1/webhooks', { body: { url: good.url, events: ['episode.created'] } });
    const rotate = (body?: object) => run.send<Hook>('POST', `/api/v1/webhooks/${hook.id}/rotate-secret`, { body });
    const told = async (): Promise<{ headers: Headers; body: string }> => {
      const before = good.requests.length;
      await episode('told');
      await until(() => good.requests.length > before);
      return good.requests.at(-1)!;
    };
    const first = await rotate(); // nothing has to be said, so a body may be left out
    expect(first.status, first.text).toBe(201);
    expect(first.body.secret).not.toBe(hook.secret);
    expect(Date.parse(first.body.previous_secret_expires_at ?? '')).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    const both = await told();
    expect(String(both.headers['webhook-signature'])).toMatch(/^v1,\S+ v1,\S+$/);
    expect([hook.secret, first.body.secret].map((secret) => isGenuine(secret, both))).toEqual([true, true]);

    const { pool } = run.database;
    const kept = async (): Promise<number | null> =>
      (await pool.query('select from webhook where id = $1 and previous_secret is not null', [hook.id])).rowCount;
    expect(await kept()).toBe(1);
    await pool.query('update webhook set previous_secret_expires_at = now() where id = $1', [hook.id]);
    await until(async () => (await kept()) === 0);

    const second = await rotate({ overlap_sec: 0 });
    expect(second.body.previous_secret_expires_at).toBeNull();
    const alone = await told();
    expect([hook.secret, first.body.secret, second.body.secret].map((secret) => isGenuine(secret, alone))).toEqual([false, false, true]);
    const { body: log } = await run.send<{ target_id: string }[]>('GET', '/api/v1/audit-log?action=webhook.secret_rotated');
    expect(log.filter(({ target_id: id }) => id === hook.id)).toHaveLength(2);
    const listed = (await run.send<Hook[]>('GET', '/api/v1/webhooks')).body.find(({ id }) => id === hook.id);
    expect(listed).not.toHaveProperty('secret');
    await remove(hook.id);
  });
});

// promise: webhook-retry, webhook-gone
it('an address that was given up says why, and is called again on request', async () => {
  let status = 410;
  const back = await receiver((response) => void response.writeHead(status).end());
  const id = await register(back.url, ['episode.created']);
  const hookNow = async (): Promise<Hook> => (await run.send<Hook[]>('GET', '/api/v1/webhooks')).body.find((hook) => hook.id === id)!;
  await episode('given_up');
  await until(async () => (await hookNow()).gone_at !== null);
  expect((await hookNow()).gone_reason).toBe('the address answered 410 Gone');
  status = 204;
  const resumed = await run.send<Hook>('POST', `/api/v1/webhooks/${id}/resume`, { body: {} });
  expect(resumed.body, resumed.text).toMatchObject({ id, gone_at: null, gone_reason: null });
  await episode('back_again');
  await until(() => back.events.length === 2);
  const [failed] = (await deliveries(id)).filter((delivery) => delivery.status === 'failed');
  expect((await run.send('POST', `/api/v1/webhooks/${id}/deliveries/${failed!.id}/replay`, { body: {} })).status).toBe(202);
  await until(() => back.events.length === 3);
  await remove(id);
});

// promise: webhook-schemas
it('every event is as the description of the API says, and names what it is about in the same way', async () => {
  const all = await receiver();
  const id = await register(all.url, ['*']);
  const made = await episode('named');
  await run.send('PATCH', `/api/v1/episodes/${made}`, { body: { title: 'Named' } });
  await run.send('POST', `/api/v1/episodes/${made}/acknowledgement`, { body: { note: 'seen' } });
  await run.send('POST', `/api/v1/episodes/${made}/artifacts`, { body: { kind: 'note', content: { text: 'x' } } });
  const { xuser_id: changed } = await run.token('changed');
  const path = `/api/v1/xusers/${changed}`;
  expect((await run.send('PATCH', path, { body: { display_name: 'Ada' } })).status).toBe(200);
  expect((await run.send('PATCH', path, { body: { display_name: 'Ada' } })).status).toBe(200); // changes nothing, tells nothing
  const resolve = { external_id: 'changed', project_key: run.org.projectKey, time_zone: 'Europe/Berlin' };
  for (let i = 0; i < 2; i++) expect((await run.send('POST', '/api/v1/xusers', { body: resolve })).status).toBe(200);
  const { xuser_id: gone } = await run.token('erased');
  expect((await run.send('POST', `/api/v1/xusers/${gone}/erase`, { body: { confirm_external_id: 'erased' } })).status).toBe(200);
  const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: 'button' });
  const pressed = { ...packet!, subject: person.xuser_id, events: [{ tOffsetNs: 0, code: 'button', text: '' }] };
  expect((await run.ingest(pressed)).status).toBe(202);
  expect((await run.send('POST', `/api/v1/webhooks/${id}/test`, { body: {} })).status).toBe(200);
  await until(async () => all.events.length >= 9 && (await deliveries(id)).every(({ status }) => status === 'delivered'));

  const about = { episode_id: made, subject_id: person.xuser_id };
  const byType = (a: Event, b: Event): number => a.type.localeCompare(b.type);
  expect(all.events.filter(({ data }) => data['kind'] !== 'button').toSorted(byType)).toMatchObject([
    { type: 'artifact.created', data: { ...about, artifact_id: expect.any(String) as string } },
    { type: 'episode.acknowledged', data: about },
    { type: 'episode.created', data: { ...about, started_at: expect.any(String) as string } },
    { type: 'episode.updated', data: about },
    { type: 'ping', data: { webhook_id: id } },
    { type: 'xuser.erased', data: { xuser_id: gone } },
    { type: 'xuser.updated', data: { xuser_id: changed } },
    { type: 'xuser.updated', data: { xuser_id: changed } },
  ]);

  type Described = { post: { requestBody: { content: { 'application/json': { schema: TSchema } } } } };
  const { body: api } = await run.send<{ webhooks: Record<string, Described> }>('GET', '/api-docs/openapi.json', { as: '' });
  const schemas = new Map(
    Object.entries(api.webhooks).map(([name, { post }]) => [name, post.requestBody.content['application/json'].schema]),
  );
  expect([...schemas.keys()].toSorted()).toEqual(['ping', ...webhookEvents].toSorted());
  expect(new Set(all.events.map(({ type }) => type))).toEqual(new Set(schemas.keys()));
  for (const event of all.events) {
    const wrong = Compile(schemas.get(event.type)!).Errors(event)[1];
    expect(wrong, JSON.stringify(event)).toEqual([]);
    expect(Compile(schemas.get(event.type)!).Check({ ...event, data: {} }), event.type).toBe(false);
  }
  await remove(id);
});

// job: webhooks
it('a look at the database that fails is reported, and the next one goes on', async () => {
  const { pool } = run.database;
  const later = await receiver();
  const id = await register(later.url, ['episode.created']);
  await pool.query('alter table webhook_delivery rename column attempts to attempts_away');
  try {
    await until(() => run.faults.some((fault) => fault.includes('webhooks: deliveries could not be read or noted')));
  } finally {
    await pool.query('alter table webhook_delivery rename column attempts_away to attempts');
  }
  await episode('later');
  await until(() => later.events.length === 1);
  await remove(id);
});

// After the others: it uses up what may be tested.
// promise: webhook-addresses, webhook-test-limit
it('a test is not sent to what may not be called, nor more often than a few times a minute', async () => {
  const good = await receiver();
  const id = await register(good.url, ['*']);
  await run.database.pool.query(`update webhook set url = 'http://10.255.255.1/hook' where id = $1`, [id]);
  expect((await tested(id)).body).toMatchObject({ delivered: false, error: expect.stringContaining('public internet') as string });
  const answers = [];
  for (let i = 0; i < 12; i++) answers.push(await tested(id));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
  await remove(id);
});

describe('an address that would not be called', () => {
  let strict: RunningService;
  beforeAll(async () => {
    strict = await runService();
  });
  afterAll(() => strict.close());

  // promise: webhook-addresses, webhook-networks
  // setting: BIO_WEBHOOK_NETWORKS
  it.each([
    'http://8.8.8.8/hook',
    'http://receiver.invalid/hook',
    'https://127.0.0.1/hook',
    'https://localhost/hook',
    'https://2130706433/hook',
    'https://[::1]/hook',
    'https://[::ffff:127.0.0.1]/hook',
    'https://[::ffff:0:127.0.0.1]/hook',
    'https://[64:ff9b::7f00:1]/hook',
    'https://169.254.169.254/latest/meta-data',
    'https://10.1.2.3/hook',
    'https://[fe80::1]/hook',
    'https://[fd00::1]/hook',
  ])('is refused when it is registered: %s', async (url) => {
    const { status, body } = await strict.send<{ errors: { pointer: string; detail: string }[] }>('POST', '/api/v1/webhooks', {
      body: { url, events: ['*'] },
    });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: '/url', detail: expect.stringMatching(/public internet|not https/) as string }]);
  });

  // promise: webhook-addresses
  it.each(['https://me@receiver.invalid/hook', 'https://me:word@receiver.invalid/hook'])(
    'is refused with a name or a password in it: %s',
    async (url) => {
      const { status, text } = await strict.send('POST', '/api/v1/webhooks', { body: { url, events: ['*'] } });
      expect([status, text]).toEqual([422, expect.stringContaining('/url: holds a name or a password') as string]);
      expect(text).not.toContain('word@');
    },
  );

  // promise: webhook-addresses
  it('is taken when its name has no address yet: it is asked again at each call', async () => {
    const { status } = await strict.send('POST', '/api/v1/webhooks', { body: { url: 'https://receiver.invalid/hook', events: ['*'] } });
    expect(status).toBe(201);
  });

  // promise: webhook-test-limit
  it('is tested ten times at once, and not an eleventh time', async () => {
    const { body } = await strict.send<Hook>('POST', '/api/v1/webhooks', { body: { url: 'https://receiver.invalid/hook', events: ['*'] } });
    const test = () => strict.send('POST', `/api/v1/webhooks/${body.id}/test`, { body: {} });
    const answers = await Promise.all(Array.from({ length: 11 }, test));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.find(({ status }) => status !== 200);
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers.get('retry-after'))).toBeLessThanOrEqual(6);
  });

  // promise: webhook-networks
  it('is refused in the settings when it is not a network', () => {
    expect(() => readConfig({ BIO_WEBHOOK_NETWORKS: '10.0.0.0' })).toThrow(/BIO_WEBHOOK_NETWORKS must be networks such as/);
  });
});
