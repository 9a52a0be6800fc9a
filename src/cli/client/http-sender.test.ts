/** The sender against a scripted service on loopback: it answers as scripted and counts the packets it kept. */
import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { isRejected } from '../../errors.ts';
import { splitBatch } from '../../proto/packet-decode.ts';
import { HttpSender } from './http-sender.ts';

type Answer =
  | { status: number; headers?: Record<string, string>; body?: (packets: number[]) => unknown; keep?: boolean }
  | 'hang up'
  | 'hold and hang up';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function startScript(script: (request: number) => Answer) {
  const kept: number[] = [];
  let requests = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const packets = splitBatch(Buffer.concat(chunks), 1000, 10_000);
      if (isRejected(packets)) throw new Error(packets.detail);
      const numbers = packets.map((bytes) => bytes[0]!);
      const answer = script(requests++);
      if (answer === 'hang up') {
        request.socket.destroy();
        return;
      }
      if (answer === 'hold and hang up') {
        setTimeout(() => request.socket.destroy(), 1500);
        return;
      }
      if (answer.keep !== false && answer.status === 202) kept.push(...numbers);
      const reply = answer.body?.(numbers) ?? { accepted: numbers.length, duplicates: 0, rejected: [] };
      response.writeHead(answer.status, answer.headers).end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, kept, requests: () => requests };
}

function senderTo(url: string, more: Partial<ConstructorParameters<typeof HttpSender>[0]> = {}) {
  const settled: [number, string][] = [];
  const sender = new HttpSender({
    url,
    credential: 'k',
    signal: new AbortController().signal,
    batchPacketsMax: 4,
    onSettled: (tag, code) => settled.push([tag, code]),
    ...more,
  });
  return { sender, settled };
}

test('gives up soon where nothing has ever answered, and says what to check', async () => {
  const { sender } = senderTo('http://127.0.0.1:9', { firstAnswerMs: 300 }); // nothing listens there, and fetch would not ask if it did
  await expect(sender.send(Uint8Array.of(1), 1).then(() => sender.flush())).rejects.toThrow(
    "nothing answers at http://127.0.0.1:9: bad port. Is the service running ('npm start')",
  );
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const { sender: other } = senderTo(`http://127.0.0.1:${port}`, { firstAnswerMs: 300 });
  await expect(other.send(Uint8Array.of(1), 1).then(() => other.flush())).rejects.toThrow(
    /nothing answers at .*ECONNREFUSED.*Is the service running/,
  );
});

// promise: simulate-waits
test('goes on where a service that held the first request is killed and started again', async () => {
  const service = await startScript((request) => (request === 0 ? 'hold and hang up' : { status: 202 }));
  const { sender, settled } = senderTo(service.url, { firstAnswerMs: 1000 });
  await sender.send(Uint8Array.of(1), 1);
  await sender.flush();
  expect(settled).toEqual([[1, 'accepted']]);
});

// promise: simulate-waits
test('waits out busy answers and lost connections and keeps the order', async () => {
  const script: Answer[] = [{ status: 503, headers: { 'retry-after': '0' } }, 'hang up', { status: 429, headers: { 'retry-after': '0' } }];
  const service = await startScript((request) => script[request] ?? { status: 202 });
  const { sender, settled } = senderTo(service.url);
  for (let i = 1; i <= 10; i++) await sender.send(Uint8Array.of(i), i);
  await sender.flush();
  expect(service.kept).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(settled.map(([tag]) => tag)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(sender.totals).toMatchObject({ accepted: 10, rejected: 0, retries: 3 });
});

test('sends again only what was refused for now, and reports what was refused for good', async () => {
  const service = await startScript((request) =>
    request > 0
      ? { status: 202 }
      : {
          status: 202,
          headers: { 'retry-after': '0' },
          body: () => ({ accepted: 0, duplicates: 0, rejected: [{ index: 0, code: 'packet_clock', detail: 'x' }] }),
        },
  );
  const { sender, settled } = senderTo(service.url);
  await sender.send(Uint8Array.of(1), 1);
  await sender.flush();
  expect(settled).toEqual([[1, 'packet_clock']]);
  const busy = await startScript((request) => ({
    status: 202,
    headers: { 'retry-after': '0' },
    body: (packets) =>
      request === 0
        ? { accepted: 0, duplicates: 0, rejected: packets.map((_, index) => ({ index, code: 'busy', detail: '' })) }
        : { accepted: packets.length, duplicates: 0, rejected: [] },
  }));
  const second = senderTo(busy.url);
  await second.sender.send(Uint8Array.of(5), 5);
  await second.sender.flush();
  expect(second.settled).toEqual([[5, 'accepted']]);
  expect(busy.requests()).toBe(2);
});

test('a refused credential ends the sending with its code', async () => {
  const service = await startScript(() => ({ status: 401, body: () => ({ code: 'credential_invalid', detail: 'no such key' }) }));
  const { sender } = senderTo(service.url);
  await sender.send(Uint8Array.of(1), 1);
  await expect(sender.flush()).rejects.toMatchObject({ code: 'credential_invalid', message: 'no such key' });
});

test('gives up when nothing gets through for the stated time', async () => {
  const service = await startScript(() => ({ status: 503, headers: { 'retry-after': '0' } }));
  const { sender } = senderTo(service.url, { giveUpMs: 50 });
  await sender.send(Uint8Array.of(1), 1);
  await expect(sender.flush()).rejects.toMatchObject({ code: 'unavailable' });
});

test('a signal that lives as long as the command keeps nothing of a request that was answered', async () => {
  const script = await startScript(() => ({ status: 202 }));
  const { signal } = new AbortController();
  const { sender } = senderTo(script.url, { signal, batchPacketsMax: 1 });
  for (let i = 0; i < 20; i++) {
    await sender.send(Uint8Array.of(i), i);
    await sender.flush();
  }
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  const dependent = key === undefined ? undefined : (signal as unknown as Record<symbol, Set<unknown> | undefined>)[key];
  expect(script.requests()).toBe(20);
  expect([getEventListeners(signal, 'abort').length, dependent?.size ?? 0]).toEqual([0, 0]);
});
