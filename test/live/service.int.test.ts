/** Ends of a socket, in the whole service: erasure, revocation, expiry, SIGTERM; each within a second, with the code that says whether to
 *  reconnect. And a fleet that connects all at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { decodeFrame } from '../../sdk/frame.ts';
import type { LiveFrame } from '../../sdk/frame.ts';
import { LiveClient } from '../../sdk/live-client.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import type { IngestReply } from '../../src/proto/reply-codec.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import type { SubjectId } from '../../src/signal.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let org: NewOrganization;
const faults: string[] = [];

beforeAll(async () => {
  database = await testDatabase();
  const note = (_fields: object, message: string): void => void faults.push(message);
  const quiet = (): void => undefined;
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0' }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
  });
  org = await createOrganization(database.pool, 'Live');
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
});

type Opened = {
  socket: WebSocket;
  replies: IngestReply[];
  texts: { type: string; code?: string; subject?: string }[];
  frames: LiveFrame[];
  closed: () => CloseEvent | null;
};

async function open(path: string, secret: string): Promise<Opened> {
  const bearer = Buffer.from(secret).toString('base64url');
  const socket = new WebSocket(service.baseUrl.replace('http', 'ws') + path, ['bio.v1', `bio.bearer.${bearer}`]);
  socket.binaryType = 'arraybuffer';
  const replies: IngestReply[] = [];
  const texts: { type: string }[] = [];
  const frames: LiveFrame[] = [];
  let closed: CloseEvent | null = null;
  socket.addEventListener('message', (event) => {
    if (typeof event.data === 'string') texts.push(JSON.parse(event.data) as { type: string });
    else if (path.startsWith('/ingest')) replies.push(decodeReply(new Uint8Array(event.data as ArrayBuffer)));
    else frames.push(decodeFrame(new Uint8Array(event.data as ArrayBuffer)));
  });
  socket.addEventListener('close', (event) => void (closed = event));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return { socket, replies, texts, frames, closed: () => closed };
}

async function api(method: string, path: string, body?: unknown, by: NewOrganization = org): Promise<Record<string, unknown>> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${by.apiKey.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function userToken(externalId: string): Promise<{ xuser_token: string; xuser_id: string }> {
  return api('POST', '/api/v1/sdk/token', { external_id: externalId, project_key: org.projectKey }) as never;
}

/** Packets of 100 ms that end about now. */
function packetsOf(deviceId: string, subject: string, count: number) {
  const startNs = BigInt(Date.now() - 100 * count) * 1_000_000n;
  return ecgPacket({ channels: 2, fs: 250, ms: 100, count, deviceId }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    return encodePacket({ ...packet, subject, t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n });
  });
}

async function withinASecond(what: () => boolean): Promise<void> {
  await until(what, 1000);
}

// promise: live-also
it('shows several people over one socket, stops showing one who is erased, and shows nobody of another organization', async () => {
  const others = await createOrganization(database.pool, 'Others');
  const stranger = (await api('POST', '/api/v1/xusers', { external_id: 'stranger', project_key: others.projectKey }, others))['xuser_id'];
  const people = await Promise.all(['wall-1', 'wall-2', 'wall-3'].map(async (name) => (await userToken(name)).xuser_id));
  const also = [...people.slice(1), people[0], stranger].join(',');
  const viewer = await open(`/ws?subject=wall-1&also=${also}&after=0`, org.apiKey.key);
  await until(() => viewer.texts.filter((text) => text.type === 'ready').length === 3);
  await until(() => viewer.texts.some((text) => text.type === 'gone'));
  expect(viewer.texts.filter(({ type }) => type === 'gone')).toEqual([{ type: 'gone', subject: stranger, code: 'not_found' }]);
  const device = await open('/ingest/stream', org.apiKey.key);
  const packets = people.map((id, i) => packetsOf(`wall-device-${i}`, id, 40));
  const send = (from: number, to: number): void => {
    for (const list of packets) for (const packet of list.slice(from, to)) device.socket.send(packet);
  };
  const seen = (): string[] => [...new Set(viewer.frames.map((frame) => frame.subject))].toSorted();
  send(0, 20);
  await until(() => seen().length === 3);
  expect(seen()).toEqual(people.toSorted());
  await database.pool.query('update xuser set disabled_at = now() where id = $1', [people[2]]);
  const forgotten = service.pipeline.forgetSubject(people[2] as SubjectId);
  await withinASecond(() => viewer.texts.some(({ type, subject }) => type === 'gone' && subject === people[2]));
  await forgotten;
  viewer.frames.length = 0;
  send(20, 40);
  await until(() => seen().length === 2);
  expect(seen()).toEqual(people.slice(0, 2).toSorted());
  expect(viewer.closed()).toBe(null);
  viewer.socket.close();
  device.socket.close();
  const wrong = await open(`/ws?subject=wall-1&also=nobody`, org.apiKey.key);
  await until(() => wrong.closed() !== null);
  expect(wrong.closed()).toMatchObject({ code: 4511 });
});

// promise: gone-4507
it('ends viewers and streams of a user who is being erased, and takes nothing more for that user', async () => {
  const { xuser_id: id } = await userToken('erased');
  const viewer = await open(`/ws?subject=${id}`, org.apiKey.key);
  const device = await open('/ingest/stream', org.apiKey.key);
  await until(() => viewer.texts.some((text) => text.type === 'ready'));
  const packets = packetsOf('erased-1', id, 20);
  for (const packet of packets.slice(0, 15)) device.socket.send(packet);
  await until(() => device.replies.at(-1)?.settled === 15);
  await database.pool.query('update xuser set disabled_at = now() where id = $1', [id]);
  const forgotten = service.pipeline.forgetSubject(id as SubjectId);
  await withinASecond(() => viewer.closed() !== null);
  expect(viewer.closed()).toMatchObject({ code: 4507 });
  await forgotten;
  // Everything acknowledged has reached its table, so a delete finds it all.
  const count = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(
      `select coalesce(sum(n), 0)::int as n from sample_block where stream_id in (select id from stream where xuser_id = $1)`,
      [id],
    );
    return rows[0]!.n;
  };
  expect(await count()).toBe(15 * 25 * 2);
  for (const packet of packets.slice(15)) device.socket.send(packet);
  await until(() => device.replies.at(-1)?.settled === 20);
  expect(device.replies.flatMap((reply) => reply.rejected.map((item) => item.code))).toEqual(Array.from({ length: 5 }, () => 'not_found'));
  expect(await count()).toBe(15 * 25 * 2);
  device.socket.close();
});

// promise: revoked-within-a-second, revoked-4502, gone-4507
// job: auth-changes
it('closes the sockets of a revoked key and of a disabled user', async () => {
  const made = await api('POST', '/api/v1/api-keys', { name: 'to be revoked', scopes: ['read', 'ingest'] });
  const { xuser_id: id, xuser_token: token } = await userToken('disabled');
  const viewer = await open(`/ws?subject=${id}`, String(made['key']));
  const device = await open('/ingest/stream', String(made['key']));
  const own = await open(`/ws?subject=${id}`, token);
  const other = await open(`/ws?subject=${id}`, org.apiKey.key);
  await until(() => [viewer, own, other].every(({ texts }) => texts.length > 0));
  await api('DELETE', `/api/v1/api-keys/${String(made['id'])}`);
  await withinASecond(() => viewer.closed() !== null && device.closed() !== null);
  expect([viewer.closed()?.code, device.closed()?.code]).toEqual([4502, 4502]);
  expect([own.closed()?.code, own.closed()?.reason]).toEqual([undefined, undefined]);
  await database.pool.query('update xuser set disabled_at = now() where id = $1', [id]);
  await withinASecond(() => own.closed() !== null && other.closed() !== null);
  expect([own.closed()?.code, other.closed()?.code]).toEqual([4502, 4507]);
});

// promise: live-client
it('a viewer does not try a refused credential again and again, and goes on with a new one', async () => {
  const { xuser_id: subject, xuser_token: token } = await userToken('renewed');
  let current = 'nonsense';
  let asked = 0;
  const states: string[] = [];
  const client = new LiveClient({
    baseUrl: service.baseUrl,
    subject,
    random: () => 0,
    token: () => {
      asked++;
      return current;
    },
    onFrame: () => undefined,
    onState: (state, detail) => void states.push(`${state} ${detail}`.trim()),
  });
  await until(() => states.at(-1) === 'waiting the credential is refused');
  const askedThen = asked;
  await sleep(400);
  expect(asked).toBe(askedThen);
  current = token;
  await client.renew();
  await until(() => client.state === 'live');
  client.close();
});

// job: acknowledgements
it('opens the streams of a fleet that comes all at once', async () => {
  const fleet = await Promise.all(Array.from({ length: 300 }, () => open('/ingest/stream', org.apiKey.key)));
  for (const [i, device] of fleet.entries()) for (const packet of packetsOf(`fleet-${i}`, `fleet-${i}`, 3)) device.socket.send(packet);
  await until(() => fleet.every((device) => device.replies.at(-1)?.settled === 3), 60_000);
  expect(fleet.flatMap((device) => device.replies.flatMap((reply) => reply.rejected))).toEqual([]);
  // A restart of the service brings them all back at once: known devices, new boots.
  expect(faults).toEqual([]);
  for (const device of fleet) device.socket.close();
});
