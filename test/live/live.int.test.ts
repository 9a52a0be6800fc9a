/** Live frames over real sockets, with a sink in memory. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemoryService } from '../../bench/lib/memory-service.ts';
import { KEY, startMemoryService } from '../../bench/lib/memory-service.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { IngestClient } from '../../sdk/ingest-client.ts';
import type { LiveFrame } from '../../sdk/live-client.ts';
import { LiveClient } from '../../sdk/live-client.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { until } from '../helpers/until.ts';

let service: MemoryService;
let deviceCount = 0;

beforeAll(async () => {
  service = await startMemoryService({ commitMs: 5, config: { viewerQueueBytesMax: 16 * 1024, viewerSlowSecMax: 2 } });
});
afterAll(() => service.stop());

/** A device that sends packets of 100 ms at its own pace until stopped. */
function device(options: { subject?: string; channels?: number; periodMs?: number; fs?: number } = {}) {
  const id = `live-${++deviceCount}`;
  const subject = options.subject ?? `subject-${id}`;
  const client = new IngestClient({ baseUrl: service.baseUrl, token: () => KEY, transport: 'websocket' });
  const packets = ecgPacket({ channels: options.channels ?? 2, fs: options.fs ?? 250, ms: 100, count: 600, deviceId: id });
  const startNs = BigInt(Date.now()) * 1_000_000n;
  let sent = 0;
  const send = (packet: Packet): void => {
    const nowNs = startNs + packet.t0DeviceNs;
    void client.send({ ...packet, subject, t0UnixNs: nowNs, sentUnixNs: nowNs + 100_000_000n });
  };
  const next = (): void => {
    const packet = packets[sent++];
    if (packet !== undefined) send(packet);
  };
  const timer = options.periodMs === 0 ? null : setInterval(next, options.periodMs ?? 100);
  return {
    id,
    subject,
    packets,
    send,
    next,
    sentCount: () => sent,
    stop: (): void => {
      if (timer !== null) clearInterval(timer);
      client.close();
    },
  };
}

function viewer(subject: string, options: Partial<ConstructorParameters<typeof LiveClient>[0]> = {}) {
  const frames: LiveFrame[] = [];
  const states: string[] = [];
  const gaps: number[] = [];
  const client = new LiveClient({
    baseUrl: service.baseUrl,
    subject,
    token: () => KEY,
    onFrame: (frame) => void frames.push(frame),
    onState: (state, detail) => void states.push(`${state} ${detail}`.trim()),
    onGap: (seq) => void gaps.push(seq),
    ...options,
  });
  return { client, frames, states, gaps };
}

function expectInOrder(frames: readonly LiveFrame[]): void {
  for (let i = 1; i < frames.length; i++) expect(frames[i]!.seq).toBeGreaterThan(frames[i - 1]!.seq);
}

/** A viewer that opens a socket and then reads nothing. */
async function deafViewer(subject: string): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const bearer = Buffer.from(KEY).toString('base64url');
  socket.write(
    `GET /ws?subject=${subject} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: bio.v1, bio.bearer.${bearer}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  socket.on('error', () => undefined);
  return socket;
}

describe('/ws', () => {
  // promise: frame-order
  it('shows what a device sends, in order, with physical values and features', async () => {
    const v = viewer('subject-a');
    await until(() => v.client.state === 'live');
    const d = device({ subject: 'subject-a' });
    await until(() => v.frames.length >= 3);
    service.hub.features('subject-a' as never, [{ name: 'hr_ecg', tsNs: 5n, value: 61.5, qmask: 1 }]);
    await until(() => v.frames.length >= 8);
    d.stop();
    expectInOrder(v.frames);
    expect(v.frames[0]!.ecg).toHaveLength(25);
    const sent = d.packets[0]!.blocks[0]!.samples;
    expect(Array.from(v.frames[0]!.ecg)).toEqual(Array.from(sent, (x) => Math.fround(x / 200)));
    expect(v.frames[0]!.channels.map((c) => [c.code, c.kind, c.unit, c.rateNanoHz, c.primary])).toEqual([
      ['ecg.ii', 'ecg', 'mV', 250e9, true],
      ['ppg.ir', 'ppg', 'mV', 250e9, true],
    ]);
    expect(v.frames.flatMap((frame) => frame.features)).toEqual([{ name: 'hr_ecg', tsNs: 5n, value: 61.5, qmask: 1 }]);
    v.client.close();
  });

  // promise: live-channels, live-subscribe
  it('sends only the channels and the rate that a viewer asks for', async () => {
    const d = device({ channels: 4 });
    const some = viewer(d.subject, { channels: ['resp', 'acc.x'] });
    const rare = viewer(d.subject, { maxRateHz: 2 });
    const all = viewer(d.subject);
    await until(() => all.frames.length >= 20);
    expect(some.frames.at(-1)!.channels.map((c) => c.code)).toEqual(['resp', 'acc.x']);
    expect(some.frames.at(-1)!.channels[0]!.samples).toHaveLength(25);
    expect(all.frames.at(-1)!.channels).toHaveLength(4);
    expect(rare.frames.length).toBeGreaterThan(2);
    expect(rare.frames.length).toBeLessThan(7);
    some.client.subscribe({ channels: null });
    const before = some.frames.length;
    await until(() => some.frames.length > before + 3);
    expect(some.frames.at(-1)!.channels).toHaveLength(4);
    for (const v of [some, rare, all]) {
      expectInOrder(v.frames);
      v.client.close();
    }
    d.stop();
  });

  // promise: live-channels, live-ready, live-replay, live-ping, ring
  it('replays what a viewer missed, and says so when it is too old', async () => {
    const d = device();
    const first = viewer(d.subject);
    await until(() => first.frames.length >= 5);
    first.client.close();
    const last = first.frames.at(-1)!.seq;
    await sleep(600);
    const bearer = Buffer.from(KEY).toString('base64url');
    const socket = new WebSocket(`ws://127.0.0.1:${service.port}/ws?subject=${d.subject}&after=${last}`, [
      'bio.v1',
      `bio.bearer.${bearer}`,
    ]);
    socket.binaryType = 'arraybuffer';
    const { decodeFrame } = await import('../../src/proto/frame-codec.ts');
    const frames: LiveFrame[] = [];
    const texts: { type: string; status?: string }[] = [];
    socket.addEventListener('message', (event) => {
      if (event.data instanceof ArrayBuffer) frames.push(decodeFrame(new Uint8Array(event.data)));
      else texts.push(JSON.parse(String(event.data)));
    });
    await until(() => frames.some((frame) => !frame.replayed));
    expect(frames[0]!.seq).toBe(last + 1);
    expect(frames.filter((frame) => frame.replayed).length).toBeGreaterThanOrEqual(5);
    for (let i = 1; i < frames.length; i++) expect(frames[i]!.seq).toBe(frames[i - 1]!.seq + 1);
    expect(texts.map(({ type, status }) => `${type} ${status ?? ''}`.trim())).toEqual(['ready', 'replay ok']);
    socket.send(JSON.stringify({ type: 'replay', after: 17 }));
    socket.send(JSON.stringify({ type: 'ping', id: 'x' }));
    socket.send('{"type":"dance"}');
    await until(() => texts.length >= 5);
    expect(texts.slice(2)).toMatchObject([
      { type: 'replay', status: 'too_old', code: 'replay_too_old' },
      { type: 'pong', id: 'x' },
      { type: 'error', code: 'bad_request' },
    ]);
    socket.close();
    d.stop();
  });

  // promise: live-client, frame-order
  it('comes back after the connection was lost and misses nothing', async () => {
    const d = device();
    const v = viewer(d.subject, { random: () => 0 });
    await until(() => v.frames.length >= 5);
    service.http.closeSockets((caller) => caller.kind === 'key' && caller.scopes.includes('read'), 'shutting_down');
    await until(() => v.frames.length >= 25);
    expect(v.states.some((state) => state.startsWith('waiting 4013'))).toBe(true);
    expect(v.gaps).toEqual([]);
    // The device lost its socket too and sent again what was not acknowledged.
    const seqs = v.frames.map((frame) => frame.seq);
    expectInOrder(v.frames);
    expect(seqs.at(-1)! - seqs[0]!).toBe(seqs.length - 1);
    v.client.close();
    d.stop();
  });

  // promise: own-data-only, live-client, live-auth
  // job: expired-tokens
  it('lets a user see only that user, renews a token in band, and closes when it expires', async () => {
    const d = device({ subject: 'user-7' });
    let token = `user:user-7:${Date.now() + 900}`;
    const v = viewer('user-7', { token: () => token });
    const other = viewer('user-7', { token: () => 'user:user-8' });
    const nobody = viewer('nobody');
    await until(() => v.frames.length > 0 && other.client.state === 'closed' && nobody.client.state === 'closed');
    expect(other.states.at(-1)).toMatch(/^closed 4507/);
    token = `user:user-7:${Date.now() + 2000}`;
    await v.client.renew();
    await sleep(1200);
    expect(v.client.state).toBe('live');
    await until(() => v.client.state === 'waiting');
    expect(v.states.at(-1)).toMatch(/^waiting token_expired/);
    const before = v.frames.length;
    token = 'user:user-7';
    await v.client.renew();
    await until(() => v.frames.length > before + 5);
    expect(v.gaps).toEqual([]);
    v.client.close();
    d.stop();
  });

  it('ends every view of an erased subject at once', async () => {
    const d = device();
    const v = viewer(d.subject);
    await until(() => v.frames.length > 2);
    service.hub.closeSubject(d.subject as never);
    await until(() => v.client.state === 'closed', 1000);
    expect(v.states.at(-1)).toMatch(/^closed 4507/);
    expect(service.hub.watched(d.subject as never)).toBe(false);
    d.stop();
  });

  it('builds no frames without viewers', async () => {
    const d = device({ subject: 'unwatched' });
    await sleep(300);
    expect(service.hub.watched('unwatched' as never)).toBe(false);
    d.stop();
  });
});

describe('under load', () => {
  // promise: slow-viewers, nobody-waits
  it('slow viewers delay nobody, are told what they missed, and are closed after a while', async () => {
    const d = device({ channels: 8, fs: 1000 });
    const normal = Array.from({ length: 20 }, () => viewer(d.subject));
    const deaf = await Promise.all(Array.from({ length: 20 }, () => deafViewer(d.subject)));
    const closed = deaf.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await until(() => normal.every((v) => v.frames.length > 10));
    // The kernel's buffers hold megabytes: fill them with bursts far faster than real time.
    const burst = setInterval(() => {
      for (let i = 0; i < 20; i++) d.next();
    }, 100);
    await until(() => d.sentCount() >= 580, 15_000);
    clearInterval(burst);
    await until(() => normal.every((v) => v.frames.length >= 500), 15_000);
    const dropped = normal.reduce((sum, v) => sum + v.frames.reduce((inner, frame) => inner + frame.droppedFrames, 0), 0);
    for (const v of normal) {
      expectInOrder(v.frames);
      v.client.close();
    }
    expect(dropped).toBeLessThan(normal.length * 50);
    for (const socket of deaf) socket.destroy();
    await Promise.all(closed);
    d.stop();
  });

  it('accepts a storm of reconnecting viewers', async () => {
    const d = device();
    const storm = Array.from({ length: 200 }, () => viewer(d.subject));
    await until(() => storm.every((v) => v.frames.length > 3), 15_000);
    service.http.closeSockets((caller) => caller.kind === 'key', 'shutting_down');
    await until(() => storm.every((v) => v.client.state !== 'live'));
    const before = storm.map((v) => v.frames.length);
    await until(() => storm.every((v, i) => v.frames.length > before[i]! + 5), 20_000);
    for (const v of storm) {
      expect(v.gaps).toEqual([]);
      expectInOrder(v.frames);
      v.client.close();
    }
    d.stop();
  });
});
