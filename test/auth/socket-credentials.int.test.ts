/** Credentials of an open socket: a second one may renew it but never widen or move it, it depends on the present one alone, and sockets
 *  and new streams are limited per credential. On the whole service. */
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts';
import type { NewApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Scope } from '../../src/caller.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { IngestReply } from '../../src/proto/reply-codec.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { createProject } from '../../src/tenancy/projects.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService({
    BIO_USER_LIVE_SOCKETS_MAX: '3',
    BIO_USER_INGEST_SOCKETS_MAX: '2',
    BIO_KEY_LIVE_SOCKETS_MAX: '40',
    BIO_KEY_INGEST_SOCKETS_MAX: '40',
    BIO_USER_STREAMS_PER_MIN_MAX: '5',
    BIO_KEY_STREAMS_PER_MIN_MAX: '60',
  });
});
afterAll(() => running?.close());

type Open = { socket: WebSocket; texts: string[]; replies: IngestReply[]; closed: () => CloseEvent | null };
const paths = { live: '/ws?subject=patient', ingest: '/ingest/stream' } as const;

async function connect(path: string, credential: string): Promise<Open> {
  const address = running.service.baseUrl.replace('http', 'ws') + path;
  const socket = new WebSocket(address, ['bio.v1', `bio.bearer.${Buffer.from(credential).toString('base64url')}`]);
  socket.binaryType = 'arraybuffer';
  const texts: string[] = [];
  const replies: IngestReply[] = [];
  let closed: CloseEvent | null = null;
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') texts.push(data);
    else if (path === paths.ingest) replies.push(decodeReply(new Uint8Array(data as ArrayBuffer)));
  });
  socket.addEventListener('close', (event) => void (closed = event));
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error('refused')));
  });
  return { socket, texts, replies, closed: () => closed };
}

/** The answer to an upgrade that is refused. */
async function upgrade(path: string, credential: string): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const asked = request(running.service.baseUrl + path, {
    headers: {
      authorization: `Bearer ${credential}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    },
  }).end();
  const [response] = (await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])) as [IncomingMessage];
  if (response.statusCode === 101) {
    response.socket.destroy();
    return { status: 101, text: '', retryAfter: null };
  }
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, text, retryAfter: response.headers['retry-after'] ?? null };
}

const key = (scopes: readonly Scope[], over: { orgId?: string; projectId?: string } = {}): Promise<NewApiKey> =>
  createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'k', scopes, ...over });
const say = (open: Open, token: string): void => open.socket.send(JSON.stringify({ type: 'auth', token }));

let deviceCount = 0;
function packets(count: number, subject = 'patient'): Packet[] {
  const startNs = BigInt(Date.now() - 60_000) * 1_000_000n;
  const made = ecgPacket({ channels: 1, fs: 100, ms: 100, count, deviceId: `socket-${++deviceCount}` });
  return made.map((packet) => ({ ...packet, t0UnixNs: startNs + packet.t0DeviceNs, subject }));
}

beforeAll(async () => {
  await running.token('patient');
});

describe.each(['live', 'ingest'] as const)('an open %s socket', (kind) => {
  const scopes: Scope[] = ['read', 'ingest'];

  // promise: second-credential
  it("closes when it is given another person's credential, and when its credential is revoked", async () => {
    const other = await createOrganization(running.database.pool, 'Other');
    const project = await createProject(running.database.pool, running.org.orgId, 'Second');
    const foreign: Record<string, string> = {
      'another organization': (await createApiKey(running.database.pool, { orgId: other.orgId, name: 'b', scopes })).key,
      'one project of the organization': (await key(scopes, { projectId: project.projectId })).key,
      'fewer scopes': (await key([kind === 'live' ? 'read' : 'ingest'])).key,
      'another kind': (await running.token('patient')).xuser_token,
    };
    for (const [what, credential] of Object.entries(foreign)) {
      const open = await connect(paths[kind], (await key(scopes)).key);
      say(open, credential);
      await expect.poll(() => open.closed()?.code, { message: what }).toBe(4503);
      expect(open.closed()!.reason).toMatch(/^credential_kind: /);
    }
  });

  // promise: second-credential, ingest-texts
  it('goes on with a new key of the same reach, and depends on that one: it survives the end of the first', async () => {
    for (const how of ['revoked', 'expired'] as const) {
      const [first, second] = [await key(scopes), await key([...scopes, 'write'])];
      const open = await connect(paths[kind], first.key);
      const witness = await connect(paths[kind], first.key);
      if (kind === 'ingest') open.socket.send(encodePacket(packets(1)[0]!));
      say(open, second.key);
      await expect.poll(() => open.texts.some((text) => text.includes('"auth"'))).toBe(true);
      if (how === 'revoked') await revokeApiKey(running.database.pool, running.org.orgId, first.record.id);
      else await running.database.pool.query('update api_key set expires_at = now() where id = $1', [first.record.id]);
      await expect.poll(() => witness.closed()?.code, { timeout: 5000 }).toBe(4502);
      if (kind === 'ingest') {
        open.socket.send(encodePacket(packets(1)[0]!));
        await expect.poll(() => open.replies.reduce((sum, reply) => sum + reply.accepted, 0)).toBe(2);
      }
      expect(open.closed(), how).toBe(null);
      await revokeApiKey(running.database.pool, running.org.orgId, second.record.id);
      await expect.poll(() => open.closed()?.code, { timeout: 5000 }).toBe(4502);
    }
  });

  // promise: second-credential
  it('closes when a token of another person is offered', async () => {
    const { xuser_token: mine } = await running.token('patient');
    const { xuser_token: theirs } = await running.token(`neighbour-${kind}`);
    const open = await connect(paths[kind], mine);
    say(open, theirs);
    await expect.poll(() => open.closed()?.code).toBe(4503);
  });

  // promise: sockets-bounded
  // setting: BIO_USER_INGEST_SOCKETS_MAX, BIO_USER_LIVE_SOCKETS_MAX
  it('is refused with 429 above the limit of one person, whichever token, and nobody else is', async () => {
    const person = `crowd-${kind}`;
    const path = kind === 'live' ? `/ws?subject=${person}` : paths.ingest;
    const max = kind === 'live' ? 3 : 2;
    const open: Open[] = [];
    for (let i = 0; i < max; i++) open.push(await connect(path, (await running.token(person)).xuser_token));
    const refused = await upgrade(path, (await running.token(person)).xuser_token);
    expect(refused).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) as string });
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining(String(max)) as string });
    const neighbour = await connect(paths[kind], (await running.token('patient')).xuser_token);
    neighbour.socket.close();
    open[0]!.socket.close();
    await expect.poll(async () => (await upgrade(path, (await running.token(person)).xuser_token)).status).toBe(101);
  });

  // promise: sockets-bounded
  // setting: BIO_KEY_INGEST_SOCKETS_MAX, BIO_KEY_LIVE_SOCKETS_MAX
  it('is refused with 429 above the limit of one key, and another key is not', async () => {
    const { key: fleet } = await key(scopes);
    for (let i = 0; i < 40; i++) await connect(paths[kind], fleet);
    expect((await upgrade(paths[kind], fleet)).status).toBe(429);
    expect((await upgrade(paths[kind], (await key(scopes)).key)).status).toBe(101);
  });
});

it('a live view is in the audit log under the key that it goes on with, and in its project', async () => {
  const [first, second] = [await key(['read']), await key(['read'])];
  const open = await connect(paths.live, first.key);
  await expect.poll(() => open.texts.some((text) => text.includes('"ready"'))).toBe(true);
  say(open, second.key);
  await expect.poll(() => open.texts.some((text) => text.includes('"auth"'))).toBe(true);
  for (const { record } of [first, second]) {
    const { body } = await running.send<unknown[]>('GET', `/api/v1/audit-log?action=live.started&actor_id=${record.id}`);
    expect(body).toMatchObject([{ project_id: running.org.projectId }]);
  }
  open.socket.close();
});

describe('new streams', () => {
  const one = (subject: string): Packet => packets(1, subject)[0]!;
  type Reply = { accepted: number; rejected: { index: number; code: string }[]; code: string; detail: string };

  // promise: sockets-bounded
  // setting: BIO_USER_STREAMS_PER_MIN_MAX
  it('of one user are limited per minute, then answered 429; other users are not held up', async () => {
    const { xuser_token: token } = await running.token('opener');
    const { xuser_token: other } = await running.token('bystander');
    for (let i = 0; i < 5; i++) expect((await running.ingest(one('opener'), token)).status).toBe(202);
    const refused = await running.ingest(one('opener'), token);
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await running.ingest(one('bystander'), other)).status).toBe(202);
    const { rows } = await running.database.pool.query(
      `select from stream s join xuser x on x.id = s.xuser_id where x.external_id = 'opener'`,
    );
    expect(rows).toHaveLength(5);
  });

  it('of one user are refused one by one in a batch, and packets for an open stream are stored', async () => {
    const { xuser_token: token } = await running.token('batcher');
    const [first, second] = packets(2, 'batcher') as [Packet, Packet];
    const batch = [first, ...Array.from({ length: 6 }, () => one('batcher')), second].map((packet) => encodePacket(packet));
    const { status, body } = await running.send<Reply>('POST', '/ingest/raw-packet', {
      as: token,
      body: encodeBatch(batch),
      headers: { 'content-type': 'application/x-protobuf; encoding=delimited' },
    });
    expect([status, body.accepted]).toEqual([202, 6]);
    expect(body.rejected.map(({ index, code }) => [index, code])).toEqual([
      [5, 'rate_limited'],
      [6, 'rate_limited'],
    ]);
  });

  // setting: BIO_USER_STREAMS_PER_MIN_MAX
  it('of one user end a socket with 4010 and a sentence', async () => {
    const { xuser_token: token } = await running.token('streamer');
    const open = await connect(paths.ingest, token);
    for (let i = 0; i < 6; i++) open.socket.send(encodePacket(one('streamer')));
    await expect.poll(() => open.closed()?.code).toBe(4010);
    expect(open.closed()!.reason).toContain('5 streams');
  });

  // promise: sockets-bounded
  // setting: BIO_KEY_STREAMS_PER_MIN_MAX
  it('of one key are bounded too', async () => {
    const { key: fleet } = await key(['ingest']);
    const { key: other } = await key(['ingest']);
    const batch = Array.from({ length: 100 }, () => encodePacket(one('patient'))); // and one more each second
    const { body } = await running.send<Reply>('POST', '/ingest/raw-packet', {
      as: fleet,
      body: encodeBatch(batch),
      headers: { 'content-type': 'application/x-protobuf; encoding=delimited' },
    });
    expect(body.accepted).toBeGreaterThanOrEqual(60);
    expect(body.rejected.length).toBeGreaterThan(0);
    expect((await running.ingest(one('patient'), other)).status).toBe(202);
  });
});

// promise: ingest-texts, live-ready, live-ping, live-messages
it('answers pings on both sockets, and closes after too many of them', async () => {
  const { key: credential } = await key(['read', 'ingest']);
  const says = (open: Open, type: string): Promise<void> =>
    expect.poll(() => open.texts.some((text) => text.includes(`"type":"${type}"`)), { message: type }).toBe(true);
  const device = await connect(paths.ingest, credential);
  device.socket.send('{"type":"ping"}');
  await says(device, 'pong');
  device.socket.close();
  const viewer = await connect(paths.live, credential);
  await says(viewer, 'ready');
  viewer.socket.send('{"type":"ping"}');
  await says(viewer, 'pong');
  const pongs = (): number => viewer.texts.filter((text) => text.includes('"type":"pong"')).length;
  for (let i = 0; i < 45; i++) viewer.socket.send('{"type":"ping"}');
  await expect.poll(pongs).toBe(46);
  expect(viewer.closed()).toBe(null);
  for (let i = 0; i < 100; i++) viewer.socket.send('{"type":"ping"}');
  await expect.poll(() => viewer.closed()?.code).toBe(4010);
});
