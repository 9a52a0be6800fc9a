/** Packets over real sockets, with a sink in memory: what is acknowledged is stored, what is refused says why, nothing is taken twice. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MemoryService } from '../../bench/lib/memory-service.ts';
import { KEY, startMemoryService } from '../../bench/lib/memory-service.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { IngestClient } from '../../sdk/ingest-client.ts';
import type { IngestClientOptions } from '../../sdk/ingest-client.ts';
import { PipelineError } from '../../src/errors.ts';
import { errorsOf } from '../../src/http/openapi.ts';
import { postRawPacket } from '../../src/ingest/post-raw-packet.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { IngestReply } from '../../src/proto/reply-codec.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { until } from '../helpers/until.ts';

let service: MemoryService;
let deviceCount = 0;

beforeAll(async () => {
  service = await startMemoryService({ config: { devicePacketsPerSecMax: 5000 } });
});
beforeEach(() => {
  service.sink.mode = 'normal';
  service.sink.openDelayMs = 0;
});
afterAll(() => service.stop());

/** Consecutive packets of 100 ms of a new device. */
function device(count: number): { id: string; packets: Packet[]; key: string } {
  const id = `device-${++deviceCount}`;
  const packets = ecgPacket({ channels: 2, fs: 250, ms: 100, count, deviceId: id });
  return { id, packets, key: `${id}/${packets[0]!.bootId}` };
}

type Answer = { status: number; headers: Headers; body: Record<string, unknown> };

async function post(body: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/x-protobuf', ...headers },
    body: body as Uint8Array<ArrayBuffer>,
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) expect(errorsOf(postRawPacket(service.ingest))).toContain(answer['code']); // what the API's description lists
  return { status: response.status, headers: response.headers, body: answer };
}

const delimited = { 'content-type': 'application/x-protobuf; encoding=delimited' };

describe('POST /ingest/raw-packet', () => {
  // promise: packets-once
  it('stores one packet, and acknowledges the same one again as a duplicate', async () => {
    const { packets, key } = device(1);
    const bytes = encodePacket(packets[0]!);
    const first = await post(bytes);
    expect(first).toMatchObject({ status: 202, body: { accepted: 1, duplicates: 0, rejected: [], high_seq: 0 } });
    expect(service.sink.stored.get(key)).toEqual(new Set([0]));
    expect((await post(bytes)).body).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  // promise: batches, reply-protobuf
  it('stores a batch, compressed or not, and answers as protobuf where asked', async () => {
    const { packets, key } = device(60);
    const parts = [0, 20, 40].map((from) => encodeBatch(packets.slice(from, from + 20).map((packet) => encodePacket(packet))));
    expect((await post(parts[0]!, delimited)).body).toMatchObject({ accepted: 20, high_seq: 19 });
    expect((await post(gzipSync(parts[1]!), { ...delimited, 'content-encoding': 'gzip' })).body).toMatchObject({ accepted: 20 });
    const response = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, ...delimited, 'content-encoding': 'zstd', accept: 'application/x-protobuf' },
      body: new Uint8Array(zstdCompressSync(parts[2]!)),
    });
    expect(response.headers.get('content-type')).toBe('application/x-protobuf');
    expect(decodeReply(new Uint8Array(await response.arrayBuffer()))).toMatchObject({ accepted: 20, highSeq: 59 });
    expect(service.sink.stored.get(key)?.size).toBe(60);
  });

  // promise: batch-alone
  it('keeps the good packets of a batch and says what is wrong with the others', async () => {
    const { packets, key } = device(3);
    const bad = encodePacket(packets[1]!);
    const future: Packet = { ...packets[2]!, t0DeviceNs: packets[2]!.t0DeviceNs + 10n ** 15n };
    const batch = encodeBatch([
      encodePacket(packets[0]!),
      bad.subarray(0, bad.length - 1),
      encodePacket(future),
      encodePacket(packets[0]!),
    ]);
    const { status, body } = await post(batch, delimited);
    expect(status).toBe(202);
    expect(body).toMatchObject({
      accepted: 1,
      duplicates: 1,
      rejected: [
        { index: 1, code: 'packet_malformed' },
        { index: 2, code: 'packet_clock' },
      ],
    });
    expect((body['rejected'] as { detail: string }[])[0]!.detail).toMatch(/^byte \d+: /);
    expect(service.sink.stored.get(key)).toEqual(new Set([0]));
  });

  // promise: refused-says-where, limit-packet, refused-status, batch-alone
  it('refuses what is malformed, too large or of another type, with a code and a place', async () => {
    const bytes = encodePacket(device(1).packets[0]!);
    const cut = await post(bytes.subarray(0, 20));
    expect(cut).toMatchObject({ status: 400, body: { code: 'packet_malformed' } });
    expect(String(cut.body['detail'])).toMatch(/byte \d+/);
    expect(await post(encodeBatch([bytes]).subarray(0, 9), delimited)).toMatchObject({ status: 400, body: { code: 'packet_malformed' } });
    expect(await post(new Uint8Array(300_000))).toMatchObject({ status: 413 });
    expect(await post(gzipSync(new Uint8Array(300_000)), { 'content-encoding': 'gzip' })).toMatchObject({ status: 413 });
    expect(await post(bytes, { 'content-encoding': 'compress' })).toMatchObject({ status: 415 });
    expect(await post(brotliCompressSync(bytes), { 'content-encoding': 'br' })).toMatchObject({ status: 415 });
    expect(await post(bytes, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
    expect(await post(bytes, { 'content-type': 'application/x-protobuf; encoding=json' })).toMatchObject({ status: 415 });
    expect(await post(bytes, { accept: 'text/html' })).toMatchObject({ status: 406, body: { code: 'not_acceptable' } });
    expect(await post(new Uint8Array(0), delimited)).toMatchObject({ status: 202, body: { accepted: 0, rejected: [] } });
    expect(await post(bytes, { authorization: 'Bearer user:somebody-else' })).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  // promise: limit-batch
  it('takes 16,384 packets in a batch, and refuses one more as a whole', async () => {
    const { packets, key } = device(1);
    const first = encodeBatch([encodePacket(packets[0]!)]);
    const batchOf = (count: number): Uint8Array => Buffer.concat([first, new Uint8Array(count - 1)]); // the others are empty
    const over = await post(batchOf(16_385), delimited);
    expect(over).toMatchObject({ status: 413, body: { code: 'packet_too_large' } });
    expect(service.sink.stored.has(key)).toBe(false);
    const { status, body } = await post(batchOf(16_384), delimited);
    expect([status, body['accepted'], (body['rejected'] as object[]).length]).toEqual([202, 1, 16_383]);
  });

  // promise: rate-headers, batch-again
  it('answers busy with Retry-After and keeps nothing, then accepts the same packets', async () => {
    const { packets, key } = device(5);
    const batch = encodeBatch(packets.map((packet) => encodePacket(packet)));
    service.sink.mode = 'busy';
    for (const [body, headers] of [
      [batch, delimited],
      [encodePacket(packets[0]!), {}],
    ] as const) {
      const answer = await post(body, headers);
      expect(answer).toMatchObject({ status: 503, body: { code: 'busy' } });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    service.sink.mode = 'failing';
    expect(await post(batch, delimited)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(service.sink.stored.has(key)).toBe(false);
    service.sink.mode = 'normal';
    expect((await post(batch, delimited)).body).toMatchObject({ accepted: 5, duplicates: 0 });
    expect(service.sink.stored.get(key)?.size).toBe(5);
  });

  // promise: batch-alone
  it('names the packets of a batch that were not kept by their places, in order', async () => {
    const [first, away] = [device(4), device(4)];
    const accept = service.sink.accept.bind(service.sink);
    const gone = new PipelineError('unavailable', 'the database is away');
    service.sink.accept = (session, admitted) => (session.deviceId === away.id ? Promise.reject(gone) : accept(session, admitted));
    const [a, b] = [first, away].map(({ packets }) => packets.map((packet) => encodePacket(packet)));
    const { status, body } = await post(encodeBatch([a![0]!, b![0]!, b![1]!, Uint8Array.of(1), b![1]!, a![1]!, b![2]!]), delimited);
    service.sink.accept = accept;
    expect(status).toBe(202);
    expect(body).toMatchObject({ accepted: 2, duplicates: 0 });
    expect((body['rejected'] as { index: number; code: string }[]).map(({ index, code }) => `${index} ${code}`)).toEqual([
      '1 unavailable',
      '2 unavailable',
      '3 packet_malformed',
      '4 unavailable',
      '6 unavailable',
    ]);
    expect(service.sink.stored.get(first.key)).toEqual(new Set([0, 1]));
  });

  it('opens a stream once for packets that come at the same time', async () => {
    service.sink.openDelayMs = 50;
    const { packets, key } = device(20);
    const answers = await Promise.all(packets.map((packet) => post(encodePacket(packet))));
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    expect(service.sink.stored.get(key)?.size).toBe(20);
  });
});

/** A bare socket: collects the replies. closeCode: 0 while it is open */
async function stream(token = KEY): Promise<{ socket: WebSocket; replies: IngestReply[]; closeCode: () => number }> {
  const bearer = Buffer.from(token).toString('base64url');
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}/ingest/stream`, ['bio.v1', `bio.bearer.${bearer}`]);
  socket.binaryType = 'arraybuffer';
  const replies: IngestReply[] = [];
  socket.addEventListener('message', (event) => {
    if (event.data instanceof ArrayBuffer) replies.push(decodeReply(new Uint8Array(event.data)));
  });
  let code = 0;
  socket.addEventListener('close', (event) => (code = event.code));
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  return { socket, replies, closeCode: () => code };
}

describe('WebSocket /ingest/stream', () => {
  // promise: ack-durable, settled, window
  // job: acknowledgements
  it('acknowledges after durability, in order, with everything accounted for', async () => {
    const { packets, key } = device(200);
    const { socket, replies } = await stream();
    await until(() => replies.length > 0);
    expect(replies[0]).toMatchObject({ settled: 0, window: 256 });
    for (const packet of packets) socket.send(encodePacket(packet));
    socket.send(encodePacket(packets[7]!)); // a duplicate
    socket.send(Uint8Array.of(1, 2, 3)); // no packet
    await until(() => replies.at(-1)!.settled === 202);
    expect(replies.reduce((sum, reply) => sum + reply.accepted, 0)).toBe(200);
    expect(replies.reduce((sum, reply) => sum + reply.duplicates, 0)).toBe(1);
    expect(replies.flatMap((reply) => reply.rejected)).toMatchObject([{ index: 201, code: 'packet_malformed' }]);
    expect(replies.at(-1)!.highSeq).toBe(199);
    expect(service.sink.stored.get(key)?.size).toBe(200);
    for (let i = 1; i < replies.length; i++) expect(replies[i]!.settled).toBeGreaterThanOrEqual(replies[i - 1]!.settled);
    socket.close();
  });

  it('refuses a packet that is too large and takes the next one', async () => {
    const { packets, key } = device(2);
    const { socket, replies } = await stream();
    socket.send(encodePacket(packets[0]!));
    socket.send(new Uint8Array(256 * 1024 + 1));
    socket.send(encodePacket(packets[1]!));
    await until(() => replies.at(-1)?.settled === 3);
    expect(replies.flatMap((reply) => reply.rejected)).toMatchObject([{ index: 1, code: 'packet_too_large' }]);
    expect(service.sink.stored.get(key)?.size).toBe(2);
    socket.close();
  });

  // promise: limit-packet
  it('answers a packet that is too large; one of more than 1 MiB beyond the limit breaks the socket', async () => {
    const { packets, key } = device(1);
    const { socket, replies, closeCode } = await stream();
    socket.send(new Uint8Array(256 * 1024 + 1));
    socket.send(new Uint8Array(256 * 1024 + 1024 * 1024));
    socket.send(encodePacket(packets[0]!));
    await until(() => replies.at(-1)?.settled === 3);
    expect(replies.flatMap(({ rejected }) => rejected.map(({ code }) => code))).toEqual(['packet_too_large', 'packet_too_large']);
    expect(service.sink.stored.get(key)?.size).toBe(1);
    socket.send(new Uint8Array(256 * 1024 + 1024 * 1024 + 1));
    await until(() => closeCode() !== 0 || replies.at(-1)?.settled === 4);
    expect(closeCode()).toBe(1006);
  });

  // promise: withheld
  it('withholds acknowledgements while busy and goes on afterwards', async () => {
    const { packets, key } = device(50);
    const { socket, replies } = await stream();
    service.sink.mode = 'busy';
    for (const packet of packets) socket.send(encodePacket(packet));
    await sleep(150);
    expect(replies.at(-1)?.settled).toBe(0);
    service.sink.mode = 'normal';
    await until(() => replies.at(-1)!.settled === 50);
    expect(service.sink.stored.get(key)?.size).toBe(50);
    socket.close();
  });

  // promise: withheld, ack-durable
  it('ends a connection whose packets did not become durable, so that they come again in order', async () => {
    const { packets, key } = device(10);
    const { socket, replies, closeCode } = await stream();
    service.sink.mode = 'failing';
    for (const packet of packets) socket.send(encodePacket(packet));
    await until(() => closeCode() !== 0, 60_000);
    expect(closeCode()).toBe(4012);
    expect(replies.at(-1)?.settled).toBe(0);
    service.sink.mode = 'normal';
    const again = await stream();
    for (const packet of packets) again.socket.send(encodePacket(packet));
    await until(() => again.replies.at(-1)?.settled === 10);
    expect(service.sink.stored.get(key)?.size).toBe(10);
    again.socket.close();
  });

  // promise: own-user-writes
  it('answers for a stream that may not be opened once per packet, and goes on with the next device', async () => {
    const other = device(1);
    const own = device(1);
    service.sink.openDelayMs = 20;
    const { socket, replies } = await stream(`user:subject-${own.id}`);
    socket.send(encodePacket(other.packets[0]!));
    socket.send(encodePacket(own.packets[0]!));
    await until(() => replies.at(-1)?.settled === 2);
    expect(replies.flatMap((reply) => reply.rejected)).toMatchObject([{ index: 0, code: 'not_found' }]);
    expect(service.sink.stored.get(own.key)?.size).toBe(1);
    socket.close();
  });

  // promise: window-kept, device-limit
  it('closes a peer that ignores the window, while another one is served', async () => {
    const fire = await stream();
    const calm = await stream();
    service.sink.mode = 'busy';
    const bytes = encodePacket(device(1).packets[0]!);
    for (let i = 0; i < 2000; i++) fire.socket.send(bytes);
    await until(() => fire.closeCode() !== 0, 60_000);
    expect(fire.closeCode()).toBe(4010);
    service.sink.mode = 'normal';
    const { packets, key } = device(3);
    for (const packet of packets) calm.socket.send(encodePacket(packet));
    await until(() => calm.replies.at(-1)!.settled === 3);
    expect(service.sink.stored.get(key)?.size).toBe(3);
    calm.socket.close();
  });
});

describe('ingest client', () => {
  it.each(['http', 'websocket'] as const)('delivers everything once over %s, through busy and failing times', async (transport) => {
    const { packets, key } = device(400);
    const client = new IngestClient({ baseUrl: service.baseUrl, token: () => KEY, transport, lingerMs: 5, batchPacketsMax: 50 });
    for (const [i, packet] of packets.entries()) {
      void client.send(packet);
      if (i === 100) service.sink.mode = 'failing';
      if (i === 200) service.sink.mode = 'busy';
      if (i === 300) service.sink.mode = 'normal';
      if (i % 20 === 0) await sleep(5);
    }
    await client.flush();
    expect(client.pendingCount).toBe(0);
    expect(client.pendingBytes).toBe(0);
    expect(service.sink.stored.get(key)).toEqual(new Set(packets.map(({ seq }) => seq)));
    client.close();
  });
});

describe('ingest client', () => {
  const client = (options: Partial<IngestClientOptions>) =>
    new IngestClient({ baseUrl: service.baseUrl, token: () => KEY, lingerMs: 5, ...options });

  // promise: settled
  it.each(['http', 'websocket'] as const)('reports the outcome of each packet over %s', async (transport) => {
    const { packets } = device(3);
    const future: Packet = { ...packets[2]!, t0DeviceNs: packets[2]!.t0DeviceNs + 10n ** 15n };
    const sender = client({ transport });
    const results = await Promise.all([packets[0]!, packets[1]!, future, packets[0]!].map((packet) => sender.send(packet)));
    expect(results.map(({ status, code }) => `${status} ${code}`.trim())).toEqual(['stored', 'stored', 'rejected packet_clock', 'stored']);
    sender.close();
  });

  it.each(['http', 'websocket'] as const)(
    'stops at a refused credential, keeps the packets, and goes on with a new one over %s',
    async (transport) => {
      const { packets, key } = device(5);
      let token = 'nonsense';
      let asked = 0;
      const states: string[] = [];
      const sender = client({
        transport,
        random: () => 0,
        token: () => {
          asked++;
          return token;
        },
        onState: (state, detail) => void states.push(`${state} ${detail}`.trim()),
      });
      const results = packets.map((packet) => sender.send(packet));
      await until(() => sender.state === 'stopped');
      const askedThen = asked;
      await sleep(300);
      expect(asked).toBe(askedThen); // not tried again and again
      expect(sender.pendingCount).toBe(5);
      token = KEY;
      await sender.renew();
      expect((await Promise.all(results)).every(({ status }) => status === 'stored')).toBe(true);
      expect(service.sink.stored.get(key)?.size).toBe(5);
      sender.close();
    },
  );

  it('keeps what it can while the service is unavailable, reports what it gave up, and slows a sender that asks', async () => {
    const { packets, key } = device(100);
    const size = encodePacket(packets[0]!).length;
    const lost: number[] = [];
    let away = true;
    const sender = client({
      queueBytesMax: 20 * size + 200,
      random: () => 0,
      onLost: (bytes) => void lost.push(bytes.length),
      fetch: (...request) => (away ? Promise.reject(new Error('offline')) : fetch(...request)),
    });
    const results = packets.slice(0, 40).map((packet) => sender.send(packet));
    expect(sender.pendingBytes).toBeLessThanOrEqual(20 * size + 200);
    expect(lost.length).toBeGreaterThanOrEqual(19);
    expect(await results[0]).toMatchObject({ status: 'lost', code: 'queue_full' });
    await until(() => sender.state === 'waiting');
    away = false;
    for (const packet of packets.slice(40)) {
      await sender.room();
      results.push(sender.send(packet));
    }
    const all = await Promise.all(results);
    expect(all.filter(({ status }) => status === 'lost')).toHaveLength(lost.length);
    expect(all.slice(-60).every(({ status }) => status === 'stored')).toBe(true);
    expect(service.sink.stored.get(key)?.size).toBe(100 - lost.length);
    sender.close();
  });
});

describe('drain', () => {
  // promise: sockets-at-stop
  it('settles accepted packets, tells devices to reconnect, and accepts nothing more', async () => {
    const own = await startMemoryService({ commitMs: 100 });
    const { packets, key } = device(20);
    const bearer = Buffer.from(KEY).toString('base64url');
    const socket = new WebSocket(`ws://127.0.0.1:${own.port}/ingest/stream`, ['bio.v1', `bio.bearer.${bearer}`]);
    socket.binaryType = 'arraybuffer';
    let settled = 0;
    socket.addEventListener('message', (event) => {
      settled = decodeReply(new Uint8Array(event.data as ArrayBuffer)).settled;
    });
    const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve));
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    for (const packet of packets) socket.send(encodePacket(packet));
    await until(() => own.sink.packetCount === 20);
    await own.stop();
    expect((await closed).code).toBe(4013);
    expect(settled).toBe(20);
    expect(own.sink.stored.get(key)?.size).toBe(20);
  });
});
