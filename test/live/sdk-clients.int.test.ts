/** LiveClient and IngestClient against a service that misbehaves: the stand-in of test/helpers/browser-fixture.ts, over real sockets. */
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { IngestClient } from '../../sdk/ingest-client.ts';
import { LiveClient } from '../../sdk/live-client.ts';
import { encodeReply } from '../../src/proto/reply-codec.ts';
import type { Fixture, FixtureSocket } from '../helpers/browser-fixture.ts';
import { fixtureFrame, startFixture } from '../helpers/browser-fixture.ts';

let fixture: Fixture;
let opened: FixtureSocket[];
let open: Set<FixtureSocket>;

beforeAll(async () => {
  fixture = await startFixture('/nowhere');
});

afterAll(async () => {
  await fixture.close();
});

beforeEach(() => {
  opened = [];
  const mine = (open = new Set());
  fixture.onSocket((socket) => {
    opened.push(socket);
    mine.add(socket);
    return () => mine.delete(socket);
  });
});

function viewer(options: Partial<ConstructorParameters<typeof LiveClient>[0]> = {}) {
  const seqs: number[] = [];
  const states: string[] = [];
  const gaps: number[] = [];
  const client = new LiveClient({
    baseUrl: fixture.origin,
    subject: 's',
    token: () => 'key',
    random: () => 0,
    onFrame: ({ seq }) => void seqs.push(seq),
    onState: (state) => void states.push(state),
    onGap: (seq) => void gaps.push(seq),
    ...options,
  });
  return { client, seqs, states, gaps };
}

const frame = (seq: number, replayed = false): Uint8Array => fixtureFrame(BigInt(seq) * 100_000_000n, [], [], { replayed });
const protocolOf = (token: string): string => `bio.v1, bio.bearer.${btoa(token).replaceAll('=', '')}`;

it('goes on after a frame that it cannot read', async () => {
  const { client, seqs } = viewer();
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.send(frame(7));
  opened[0]!.send(new Uint8Array([0xff]));
  opened[0]!.send(frame(8));
  await expect.poll(() => seqs).toEqual([7, 8]);
  client.close();
});

it('goes on after a text that is not a message', async () => {
  const { client, seqs } = viewer();
  await expect.poll(() => open.size).toBe(1);
  for (const text of ['<html>', 'null', '"ready"', '[]', '7', '']) opened[0]!.say(text);
  opened[0]!.send(frame(7));
  await expect.poll(() => seqs).toEqual([7]);
  client.close();
});

it('opens no socket after a listener closed it while it waited', async () => {
  const states: string[] = [];
  const { client } = viewer({
    onState: (state) => {
      states.push(state);
      if (state === 'waiting') client.close();
    },
  });
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.close(4013, 'shutting_down');
  await expect.poll(() => states).toEqual(['waiting', 'closed']);
  await sleep(300); // the first pause is 25 ms
  expect(opened).toHaveLength(1);
});

it('opens one socket when a listener renews it while it waits', async () => {
  const { client } = viewer({ onState: (state) => void (state === 'waiting' && client.renew()) });
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.close(4013, 'shutting_down');
  await expect.poll(() => opened.length).toBe(2);
  await sleep(300); // the first pause is 25 ms
  expect(opened).toHaveLength(2);
  client.close();
  await expect.poll(() => open.size).toBe(0);
});

it('gives up a handshake, and a question about its credential, that nobody answers', async () => {
  const handshakes: string[] = [];
  const silent = createServer(() => undefined);
  const sockets: Socket[] = [];
  silent.on('connection', (socket: Socket) => void sockets.push(socket));
  silent.on('upgrade', ({ url = '' }, socket) => {
    handshakes.push(url);
    socket.on('error', () => undefined);
    if (url.includes('refused')) socket.destroy();
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const viewers = ['silent', 'refused'].map((subject) => viewer({ baseUrl, subject }));
  const wanted = ['/ws?subject=refused', '/ws?subject=silent'];
  await expect.poll(() => handshakes.toSorted()).toEqual(wanted);
  await expect.poll(() => [...new Set(handshakes.slice(2))].toSorted(), { timeout: 20_000 }).toEqual(wanted);
  for (const { client, states } of viewers) {
    expect(states.slice(0, 2)).toEqual(['waiting', 'connecting']);
    client.close();
  }
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

it('opens one socket however often it is renewed while it waits for a token, and tells it the newest', async () => {
  const given: ((token: string) => void)[] = [];
  const { client } = viewer({ token: () => new Promise((resolve) => given.push(resolve)) });
  await client.renew();
  await expect.poll(() => given.length).toBe(1);
  given[0]!('first');
  await expect.poll(() => given.length).toBe(2);
  given[1]!('second');
  await expect.poll(() => fixture.texts.splice(0).map((text) => JSON.parse(text) as unknown)).toEqual([{ type: 'auth', token: 'second' }]);
  expect(opened.map(({ protocols }) => protocols)).toEqual([protocolOf('first')]);
  client.close();
  await expect.poll(() => open.size).toBe(0);
});

it('goes on with the token that it told as the one before expired', async () => {
  let token = 'first';
  const { client } = viewer({ token: () => token });
  await expect.poll(() => open.size).toBe(1);
  fixture.texts.splice(0);
  token = 'second';
  await client.renew();
  await expect.poll(() => fixture.texts.length).toBe(1);
  opened[0]!.close(4001, 'token_expired'); // was on its way
  await expect.poll(() => opened.map(({ protocols }) => protocols)).toEqual([protocolOf('first'), protocolOf('second')]);
  opened[1]!.tell({ type: 'ready' });
  token = 'third';
  await client.renew();
  opened[1]!.tell({ type: 'auth', expires_at_ms: 0 });
  await expect.poll(() => client.state).toBe('live');
  opened[1]!.close(4001, 'token_expired');
  await expect.poll(() => client.state).toBe('waiting');
  await sleep(300); // the same token would be refused: it waits for another
  expect(opened).toHaveLength(2);
  client.close();
});

it('tries ever new tokens at growing pauses while each is said to have expired', async () => {
  let asked = 0;
  fixture.onSocket((socket) => {
    opened.push(socket);
    socket.close(4001, 'token_expired');
    return undefined;
  });
  // The longest pauses: 250 ms, then twice as long each time.
  const { client } = viewer({ token: () => `token ${asked++}`, random: () => 1 });
  const startedMs = performance.now();
  await expect.poll(() => opened.length, { timeout: 10_000 }).toBe(4);
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(250 + 500 + 1000 - 50);
  client.close();
});

it('asks for missed frames, delivers each frame once, and reports those that are lost', async () => {
  const { client, seqs, states, gaps } = viewer();
  await expect.poll(() => open.size).toBe(1);
  expect(opened[0]!.url.search).toBe('?subject=s');
  opened[0]!.tell({ type: 'ready' });
  for (const seq of [1, 2, 3]) opened[0]!.send(frame(seq));
  await expect.poll(() => seqs.length).toBe(3);
  opened[0]!.close(4013, 'shutting_down');
  await expect.poll(() => opened.length).toBe(2);
  expect(opened[1]!.url.search).toBe('?subject=s&after=3');
  for (const seq of [2, 3, 4]) opened[1]!.send(frame(seq, true));
  opened[1]!.tell({ type: 'replay', status: 'too_old', oldest_seq: 9 });
  await expect.poll(() => gaps).toEqual([4]);
  expect(seqs).toEqual([1, 2, 3, 4]);
  expect(states).toEqual(['live', 'waiting', 'connecting', 'live']);
  expect(client.lastSeq).toBe(4);
  client.close();
  expect(states.at(-1)).toBe('closed');
});

it('stays closed after a close code that says so', async () => {
  const { client, states } = viewer();
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.close(4507, 'not_found');
  await expect.poll(() => states).toEqual(['closed']);
  await client.renew();
  expect(client.state).toBe('closed');
  expect(opened).toHaveLength(1);
});

it('sends packets again after a reply that it cannot read', async () => {
  const client = new IngestClient({ baseUrl: fixture.origin, token: () => 'key', transport: 'websocket', random: () => 0 });
  const result = client.sendEncoded(new Uint8Array([8, 1]));
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.send(new Uint8Array([0xff]));
  await expect.poll(() => opened.length).toBe(2);
  const none = { duplicates: 0, unverified: 0, rejected: [], highSeq: 0, serverTimeNs: 0n, notices: [], nodeUrl: '' };
  opened[1]!.send(encodeReply({ ...none, accepted: 1, settled: 1, window: 64 }));
  expect(await result).toMatchObject({ status: 'stored' });
  client.close();
});

const reply = {
  accepted: 0,
  duplicates: 0,
  unverified: 0,
  rejected: [],
  highSeq: 0,
  serverTimeNs: 0n,
  notices: [],
  window: 64,
  nodeUrl: '',
};
const device = (): IngestClient =>
  new IngestClient({ baseUrl: fixture.origin, token: () => 'key', transport: 'websocket', random: () => 0 });

it('moves to the node that is named once nothing is on its way, and comes back when that has gone', async () => {
  const node = await startFixture('/nowhere');
  const there: FixtureSocket[] = [];
  node.onSocket((socket) => void there.push(socket));
  const client = device();
  const first = client.sendEncoded(new Uint8Array([8, 1]));
  const second = client.sendEncoded(new Uint8Array([8, 2]));
  await expect.poll(() => open.size).toBe(1);
  opened[0]!.send(encodeReply({ ...reply, accepted: 1, settled: 1, nodeUrl: node.origin }));
  expect(await first).toMatchObject({ status: 'stored' });
  const third = client.sendEncoded(new Uint8Array([8, 3]));
  expect(there).toHaveLength(0);
  opened[0]!.send(encodeReply({ ...reply, accepted: 1, settled: 2 }));
  expect(await second).toMatchObject({ status: 'stored' });
  await expect.poll(() => there.length).toBe(1);
  await expect.poll(() => open.size).toBe(0);
  there[0]!.send(encodeReply({ ...reply, accepted: 1, settled: 1 }));
  expect(await third).toMatchObject({ status: 'stored' });

  const fourth = client.sendEncoded(new Uint8Array([8, 4]));
  await node.close();
  await expect.poll(() => opened.length).toBe(2);
  opened[1]!.send(encodeReply({ ...reply, accepted: 1, settled: 1, nodeUrl: node.origin })); // just after a break it stays
  expect(await fourth).toMatchObject({ status: 'stored' });
  const fifth = client.sendEncoded(new Uint8Array([8, 5]));
  opened[1]!.send(encodeReply({ ...reply, accepted: 1, settled: 2 }));
  expect(await fifth).toMatchObject({ status: 'stored' });
  expect(opened).toHaveLength(2);
  client.close();
});

it('stays with the service when the node that is named does not answer', async () => {
  const silent = createServer(() => undefined); // takes connections, and says nothing
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const client = device();
  const first = client.sendEncoded(new Uint8Array([8, 1]));
  await expect.poll(() => open.size).toBe(1);
  const nodeUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  opened[0]!.send(encodeReply({ ...reply, accepted: 1, settled: 1, nodeUrl }));
  expect(await first).toMatchObject({ status: 'stored' });
  const second = client.sendEncoded(new Uint8Array([8, 2]));
  await expect.poll(() => opened.length, { timeout: 6000 }).toBe(2);
  opened[1]!.send(encodeReply({ ...reply, accepted: 1, settled: 1, nodeUrl }));
  expect(await second).toMatchObject({ status: 'stored' });
  const third = client.sendEncoded(new Uint8Array([8, 3]));
  opened[1]!.send(encodeReply({ ...reply, accepted: 1, settled: 2 }));
  expect(await third).toMatchObject({ status: 'stored' });
  client.close();
  silent.closeAllConnections();
  await new Promise((done) => silent.close(done));
});

it('takes its credential from https to nothing but https', async () => {
  const asked: string[] = [];
  class Recorded extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      asked.push(String(url));
      super(`${fixture.origin.replace('http', 'ws')}/ingest/stream`, protocols);
    }
  }
  const options = { token: () => 'key', transport: 'websocket', random: () => 0, webSocket: Recorded } as const;
  const client = new IngestClient({ ...options, baseUrl: 'https://service.example' });
  for (const [i, nodeUrl] of ['http://node-2.example', 'ftp://node-2.example', 'node-2.example', 'https://node-2.example'].entries()) {
    const sent = client.sendEncoded(new Uint8Array([8, i + 1]));
    await expect.poll(() => open.size).toBe(1);
    opened[0]!.send(encodeReply({ ...reply, accepted: 1, settled: i + 1, nodeUrl }));
    expect(await sent).toMatchObject({ status: 'stored' });
  }
  await expect.poll(() => asked).toEqual(['wss://service.example/ingest/stream', 'wss://node-2.example/ingest/stream']);
  client.close();
});
