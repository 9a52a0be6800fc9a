/** A client of packets against sockets that a test opens: what no service does by itself, such as to fall silent. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { IngestClient } from './ingest-client.ts';

const sockets: FakeSocket[] = [];

class FakeSocket extends EventTarget {
  readyState = 0;
  binaryType = '';
  readonly texts: string[] = [];
  packets = 0;

  constructor() {
    super();
    sockets.push(this);
  }

  open(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }

  answer(text: string): void {
    this.dispatchEvent(new MessageEvent('message', { data: text }));
  }

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.texts.push(data);
    else this.packets += 1;
  }

  close(): void {
    this.readyState = 3;
  }
}

const open = (): IngestClient =>
  new IngestClient({
    baseUrl: 'http://127.0.0.1:1',
    token: () => 'key',
    transport: 'websocket',
    webSocket: FakeSocket as unknown as typeof WebSocket,
    random: () => 0,
  });

beforeEach(() => {
  vi.useFakeTimers();
  sockets.length = 0;
});
afterEach(() => vi.useRealTimers());

it('gives a socket up that says nothing, and sends what it had over the next one', async () => {
  const client = open();
  void client.sendEncoded(new Uint8Array(3));
  await vi.advanceTimersByTimeAsync(10);
  sockets[0]!.open();
  expect(sockets[0]!.packets).toBe(1);
  await vi.advanceTimersByTimeAsync(6000);
  expect(sockets[0]!.texts).toEqual(['{"type":"ping"}']);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(sockets[0]!.readyState).toBe(3);
  expect(sockets).toHaveLength(2);
  sockets[1]!.open();
  expect(sockets[1]!.packets).toBe(1);
  client.close();
});

it('gives a handshake up that nobody answers', async () => {
  const client = open();
  void client.sendEncoded(new Uint8Array(3));
  await vi.advanceTimersByTimeAsync(12_000);
  expect(sockets.map(({ readyState }) => readyState)).toEqual([3, 0]);
  client.close();
});

it('waits for a service that is busy as long as it answers, and asks nothing while nothing is on its way', async () => {
  const client = open();
  void client.sendEncoded(new Uint8Array(3));
  await vi.advanceTimersByTimeAsync(10);
  const [socket] = sockets as [FakeSocket];
  socket.open();
  for (let answered = 0, sec = 0; sec < 60; sec++) {
    await vi.advanceTimersByTimeAsync(1000);
    for (; answered < socket.texts.length; answered++) socket.answer('{"type":"pong","time_ms":0}');
  }
  expect([sockets.length, socket.readyState]).toEqual([1, 1]);
  expect(socket.texts.length).toBeGreaterThan(5);
  client.close();

  const idle = open();
  void idle.sendEncoded(new Uint8Array(3));
  await vi.advanceTimersByTimeAsync(10);
  idle.close();
  const before = sockets.at(-1)!.texts.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets.at(-1)!.texts).toHaveLength(before);
});

it('gives a request up that nobody answers, and sends its packets again', async () => {
  const signals: AbortSignal[] = [];
  const silent = (_: unknown, { signal }: RequestInit): Promise<Response> => {
    signals.push(signal!);
    return new Promise((_answer, fail) => signal!.addEventListener('abort', () => fail(signal!.reason as Error)));
  };
  const client = new IngestClient({ baseUrl: 'http://127.0.0.1:1', token: () => 'key', fetch: silent as typeof fetch, random: () => 0 });
  void client.sendEncoded(new Uint8Array(3));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  expect(client.pendingCount).toBe(1);
  client.close();
});
