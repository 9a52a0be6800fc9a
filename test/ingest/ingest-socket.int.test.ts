/** Answers of a packet socket when it ends, and the bounds that it keeps to, with a sink in memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MemoryService } from '../../bench/lib/memory-service.ts';
import { KEY, startMemoryService } from '../../bench/lib/memory-service.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import type { Config } from '../../src/config.ts';
import { PipelineError } from '../../src/errors.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import type { IngestReply } from '../../src/proto/reply-codec.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { until } from '../helpers/database.ts';

let service: MemoryService;
const start = async (options: { commitMs?: number; config?: Partial<Config> } = {}): Promise<void> => {
  await service.stop();
  service = await startMemoryService(options);
};
beforeEach(async () => {
  service = await startMemoryService();
});
afterEach(() => service.stop());

type Stream = {
  socket: WebSocket;
  replies: IngestReply[];
  texts: string[];
  closed: Promise<{ code: number; reason: string }>;
  settled: () => number;
};

async function stream(): Promise<Stream> {
  const bearer = Buffer.from(KEY).toString('base64url');
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}/ingest/stream`, ['bio.v1', `bio.bearer.${bearer}`]);
  socket.binaryType = 'arraybuffer';
  const replies: IngestReply[] = [];
  const texts: string[] = [];
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === 'string') texts.push(data);
    else replies.push(decodeReply(new Uint8Array(data)));
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason })),
  );
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  return { socket, replies, texts, closed, settled: () => replies.at(-1)?.settled ?? -1 };
}

const packets = (count: number, ms = 100): Uint8Array<ArrayBuffer>[] =>
  ecgPacket({ channels: 2, fs: 250, ms, count, deviceId: `device of ${ms}` }).map((packet) => new Uint8Array(encodePacket(packet)));

describe('text messages', () => {
  it('are answered, or refused with what was expected', async () => {
    const { socket, texts, closed } = await stream();
    socket.send('{"type":"ping"}');
    await until(() => texts.length > 0);
    expect(JSON.parse(texts[0]!)).toMatchObject({ type: 'pong', time_ms: expect.any(Number) as number });
    socket.send('{"type":"auth"}');
    expect(await closed).toMatchObject({ code: 4510, reason: expect.stringContaining('{"type":"ping"}') as string });
    const other = await stream();
    other.socket.send('ping');
    expect(await other.closed).toMatchObject({ code: 4510, reason: 'bad_request: Text messages are JSON.' });
  });
});

describe('packets that are not kept', () => {
  it('end the socket, after acknowledging what was kept before them', async () => {
    const { socket, closed, settled } = await stream();
    const sent = packets(8);
    for (const bytes of sent.slice(0, 5)) socket.send(bytes);
    await until(() => [...service.sink.stored.values()][0]?.size === 5);
    service.sink.mode = 'failing';
    for (const bytes of sent.slice(5)) socket.send(bytes);
    expect(await closed).toMatchObject({ code: 4012, reason: 'unavailable: the database is away' });
    expect(settled()).toBe(5);
  });

  it('give no further reason when the cause is not for the device to know', async () => {
    service.sink.accept = () => Promise.reject(new Error('column "x" does not exist'));
    const { socket, closed } = await stream();
    socket.send(packets(1)[0]!);
    expect(await closed).toMatchObject({ code: 4012, reason: 'unavailable: The packets could not be stored.' });
  });

  it('do not affect packets that wait behind them: all are sent again in order', async () => {
    const { socket, closed } = await stream();
    service.sink.mode = 'busy';
    for (const bytes of packets(5)) socket.send(bytes);
    const accept = service.sink.accept.bind(service.sink);
    let asked = 0;
    service.sink.accept = (session, admitted) => {
      if (asked++ < 2) return 'busy';
      if (asked === 3) throw new PipelineError('unavailable', 'the database is away');
      return accept(session, admitted);
    };
    service.sink.mode = 'normal';
    expect((await closed).code).toBe(4012);
    expect(service.sink.packetCount).toBe(0);
  });
});

describe('a device that ignores the window', () => {
  it('is closed at 1024 messages that are not settled, and no further one is taken', async () => {
    await start({ commitMs: 4000 });
    const { socket, closed } = await stream();
    // In pieces: a slow machine would close the socket for the time of one turn first.
    for (const [i, bytes] of packets(1100, 20).entries()) {
      if (i % 100 === 0) await sleep(10);
      socket.send(bytes);
    }
    expect((await closed).code).toBe(4010);
    expect(service.sink.packetCount).toBe(1024);
  });

  it('is closed when 4 MB wait, however few messages they are', async () => {
    service.sink.mode = 'busy';
    const { socket, closed } = await stream();
    const [bytes] = packets(1, 100_000);
    expect(bytes!.length).toBeGreaterThan(50_000);
    for (let i = 0; i <= (4 << 20) / bytes!.length; i++) socket.send(bytes!);
    expect((await closed).code).toBe(4010);
  });
});

it('a device that exceeds its rate is slowed to it after four seconds', async () => {
  await start({ config: { devicePacketsPerSecMax: 50 } });
  const startedMs = performance.now();
  const { socket, settled } = await stream();
  for (const bytes of packets(240)) socket.send(bytes);
  await until(() => settled() >= 200);
  await until(() => settled() === 240, 5000);
  expect(performance.now() - startedMs).toBeGreaterThan(750);
  socket.close();
});
