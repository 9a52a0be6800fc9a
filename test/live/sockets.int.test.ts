/** The budget of one socket: a socket that monopolises the event loop is closed, one that shares it is not. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { afterClose } from '../../sdk/retry.ts';
import { errorTable } from '../../src/errors.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { startHttp } from '../../src/http/server.ts';
import type { SocketRoute } from '../../src/http/route.ts';
import { readConfig } from '../../src/config.ts';
import { until } from '../helpers/until.ts';

const noop = (): void => undefined;
let http: HttpServer | null = null;
afterEach(async () => {
  await http?.stop();
  http = null;
});

/** A service with one socket route whose handler is `binary`. */
async function serve(binary: (bytes: Uint8Array) => void): Promise<HttpServer> {
  const route: SocketRoute = {
    path: '/test',
    operationId: 'test',
    tag: 'test',
    summary: 'test',
    access: { public: true },
    protocol: 'bio.v1',
    messageBytesMax: 1024,
    backpressureBytesMax: 64 * 1024,
    open: (_request, socket) => {
      socket.subscribe('everybody');
      return { binary, closed: noop };
    },
  };
  http = await startHttp({
    config: { ...readConfig({}), port: 0, stopTimeoutMs: 500 },
    routes: [],
    sockets: [route],
    // as with a database: the answer comes in a later turn, when uWebSockets.js has left its parser
    authenticate: () => new Promise((resolve) => setImmediate(() => resolve({ kind: 'anonymous' }))),
    logger: { debug: noop, info: noop, warn: noop, error: noop },
  });
  return http;
}

async function open(port: number): Promise<{ socket: WebSocket; code: () => number | null }> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/test`, ['bio.v1']);
  let code: number | null = null;
  socket.addEventListener('close', (event) => void (code = event.code));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return { socket, code: () => code };
}

function burn(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

it('does not charge a socket for what others use of the same turn', async () => {
  let count = 0;
  const service = await serve(() => void count++);
  // Other work, run between two messages of this socket: a due tick, a pause of the collector, another process.
  let pause = false;
  service.ticks.every(1, () => {
    if (pause) burn(80);
    pause = false;
  });
  const { socket, code } = await open(service.port);
  for (let round = 1; round <= 5; round++) {
    const from = count;
    // Written before the loop turns: the service reads all of them in one turn.
    for (let i = 0; i < 100; i++) socket.send(new Uint8Array(100));
    pause = true;
    await until(() => count === from + 100 || code() !== null);
  }
  expect(code()).toBeNull();
  expect(count).toBe(500);
  socket.close();
});

it('closes a socket whose own messages use up the turn, and tells it to reconnect', async () => {
  let count = 0;
  const service = await serve(() => {
    count++;
    burn(2);
  });
  const { socket, code } = await open(service.port);
  // A busy machine may read them in two turns, of which none is used up.
  let before = 0;
  for (let round = 0; round < 20 && code() === null; round++) {
    before = count;
    for (let i = 0; i < 400; i++) socket.send(new Uint8Array(100));
    await until(() => code() !== null || count === before + 400);
  }
  expect(code()).toBe(4010);
  // Of one turn: what a window allows, 50 ms of 2 ms each, and what its close needs; before it there may have been another turn.
  expect(count - before).toBeLessThan(400);
});

it('keeps every socket that it accepts, however many come and whatever the pause before', async () => {
  const { port } = await serve(noop);
  const all: Awaited<ReturnType<typeof open>>[] = [];
  for (let wave = 0; wave < 20; wave++) {
    all.push(...(await Promise.all(Array.from({ length: 20 }, () => open(port)))));
    await fetch(`http://127.0.0.1:${port}/nothing`); // sockets that answer HTTP leave memory that the next ones get
  }
  await sleep(200);
  expect(all.filter(({ code }) => code() !== null).length).toBe(0);
  for (const { socket } of all) socket.close();
});

// promise: close-codes, clients-follow
it('documents every close code that says to come back, and the clients do what the table says', () => {
  const text = readFileSync(new URL('../../docs/wire-format.md', import.meta.url), 'utf8');
  for (const [code, row] of Object.entries(errorTable)) {
    const again = row.close < 4500;
    expect(afterClose(row.close), code).toBe(again && code !== 'token_expired' ? 'retry' : 'stop');
    if (again) expect(text, code).toContain(`| ${row.close} | \`${code}\``);
  }
  for (const broken of [1001, 1006, 1011, 1012]) expect(afterClose(broken)).toBe('retry');
});
