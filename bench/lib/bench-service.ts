/** A service in a process of its own, for benches. argv: bare | node-ws | memory | full.
 *  bare: uWebSockets.js alone doing the same socket work: a reply to every second packet, and 700 bytes to the viewers of the subject.
 *  node-ws: the same work with the npm package ws on node:http, which is what one would take without thinking.
 *  Speaks IPC: ready once, then answers `usage` and `stop`.
 *  full: DATABASE_URL names an empty database. */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../src/config.ts';
import type { UwsSocket } from '../../src/http/uws.ts';
import { loadUws } from '../../src/http/uws.ts';
import { KEY, startMemoryService } from './memory-service.ts';
import { mainThreadCpuMs } from './processor-time.ts';

export type BenchReady = Readonly<{ kind: 'ready'; port: number; key: string }>;
export type BenchUsage = Readonly<{
  kind: 'usage';
  cpuSec: number;
  rssBytes: number;
  /** Of JavaScript: heap in use and external. */
  heapBytes: number;
  packets: number;
  loopP99Ms: number;
  loopMaxMs: number;
  /** Processor time of the main thread between two ticks 10 ms apart: what made a tick late beyond it was others' work on the machine. */
  ownP99Ms: number;
  ownMaxMs: number;
}>;

/** As far as we use it; the package brings no types. */
type WsSocket = {
  on: (event: 'message', listen: (message: Buffer) => void) => void;
  send: (bytes: Uint8Array) => void;
  terminate: () => void;
};

const gaps: number[] = [];
const own: number[] = [];
let lastMs = performance.now();
let lastOwnMs = mainThreadCpuMs();
/** uuid of each user by external id. */
export type BenchSubjects = Readonly<{ kind: 'subjects'; uuids: Readonly<Record<string, string>> }>;

/** A 10 ms tick, as frames and deadlines see it; its lateness is what a firehose does to everybody else. */
function noteTick(): void {
  const nowMs = performance.now();
  gaps.push(nowMs - lastMs);
  lastMs = nowMs;
  const ownMs = mainThreadCpuMs();
  own.push(ownMs - lastOwnMs);
  lastOwnMs = ownMs;
}

const nobody = async (): Promise<Record<string, string>> => {
  await Promise.resolve();
  return {};
};

async function start(mode: string): Promise<{
  port: number;
  key: string;
  packets: () => number;
  subjects: () => Promise<Record<string, string>>;
  stop: () => Promise<void>;
}> {
  if (mode === 'bare') return startBare();
  if (mode === 'node-ws') return startNodeWs();
  if (mode === 'memory') {
    const service = await startMemoryService({
      ledger: false,
      config: { devicePacketsPerSecMax: 1_000_000, requestsPerSecMax: 1_000_000 },
    });
    service.http.ticks.every(10, noteTick);
    return { port: service.port, key: KEY, packets: () => service.sink.packetCount, subjects: nobody, stop: service.stop };
  }
  const { startService } = await import('../../src/server.ts');
  const { createOrganization } = await import('../../src/auth/organizations.ts');
  const config = {
    ...readConfig(process.env),
    port: 0,
    logLevel: 'warn' as const,
    devicePacketsPerSecMax: 1_000_000,
    requestsPerSecMax: 1_000_000,
  };
  const service = await startService({ config });
  const { apiKey } = await createOrganization(service.database.pool, `Bench ${Date.now()}`);
  const subjects = async (): Promise<Record<string, string>> => {
    const { rows } = await service.database.pool.query<{ id: string; external_id: string }>('select id, external_id from xuser');
    return Object.fromEntries(rows.map((row) => [row.external_id, row.id]));
  };
  setInterval(noteTick, 10);
  return { port: service.port, key: apiKey.key, packets: () => 0, subjects, stop: service.stop };
}

/** The floor under every figure: what the sockets alone cost. */
function startBare(): {
  port: number;
  key: string;
  packets: () => number;
  subjects: () => Promise<Record<string, string>>;
  stop: () => Promise<void>;
} {
  const uws = loadUws();
  const app = uws.App();
  type Peer = { subject: string; count: number };
  const viewers = new Map<string, Set<UwsSocket<Peer>>>();
  const reply = new Uint8Array(24);
  const frame = new Uint8Array(700);
  let packets = 0;
  const accept = (path: string, open: (ws: UwsSocket<Peer>) => void, message: (ws: UwsSocket<Peer>, bytes: ArrayBuffer) => void): void => {
    app.ws<Peer>(path, {
      maxPayloadLength: 65_536,
      maxBackpressure: 1_048_576,
      closeOnBackpressureLimit: false,
      idleTimeout: 60,
      sendPingsAutomatically: true,
      compression: uws.DISABLED,
      upgrade: (res, req, context) => {
        const subject = new URLSearchParams(req.getQuery() ?? '').get('subject') ?? '';
        const key = req.getHeader('sec-websocket-key');
        res.upgrade<Peer>({ subject, count: 0 }, key, 'bio.v1', '', context);
      },
      open,
      message,
      drain: () => undefined,
      close: () => undefined,
    });
  };
  accept(
    '/ingest/stream',
    () => undefined,
    (ws, message) => {
      packets++;
      const peer = ws.getUserData();
      if (peer.subject === '') {
        peer.subject = /s\d{8}/.exec(Buffer.from(message).toString('latin1'))?.[0] ?? '';
      }
      if (++peer.count % 2 === 0) ws.send(reply, true, false);
      for (const viewer of viewers.get(peer.subject) ?? []) viewer.send(frame, true, false);
    },
  );
  accept(
    '/ws',
    (ws) => {
      const { subject } = ws.getUserData();
      const set = viewers.get(subject) ?? new Set();
      viewers.set(subject, set.add(ws));
    },
    () => undefined,
  );
  let port = 0;
  app.listen('127.0.0.1', 0, 0, (socket) => {
    if (socket !== false) port = uws.us_socket_local_port(socket);
  });
  setInterval(noteTick, 10);
  return {
    port,
    key: KEY,
    packets: () => packets,
    subjects: nobody,
    stop: async () => {
      await Promise.resolve();
      app.close();
    },
  };
}

async function startNodeWs(): Promise<Awaited<ReturnType<typeof startBare>>> {
  const { createServer } = await import('node:http');
  const { WebSocketServer } = await import('ws');
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, handleProtocols: () => 'bio.v1' });
  const viewers = new Map<string, Set<WsSocket>>();
  const reply = new Uint8Array(24);
  const frame = new Uint8Array(700);
  let packets = 0;
  sockets.on('connection', (ws: WsSocket, request: IncomingMessage) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/ws') {
      const subject = url.searchParams.get('subject') ?? '';
      viewers.set(subject, (viewers.get(subject) ?? new Set()).add(ws));
      return;
    }
    let subject = '';
    let count = 0;
    ws.on('message', (message: Buffer) => {
      packets++;
      if (subject === '') subject = /s\d{8}/.exec(message.toString('latin1'))?.[0] ?? '';
      if (++count % 2 === 0) ws.send(reply);
      for (const viewer of viewers.get(subject) ?? []) viewer.send(frame);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  setInterval(noteTick, 10);
  return {
    port: (server.address() as AddressInfo).port,
    key: KEY,
    packets: () => packets,
    subjects: nobody,
    stop: async () => {
      await Promise.resolve();
      for (const client of sockets.clients as Set<WsSocket>) client.terminate();
      server.close();
    },
  };
}

const service = await start(process.argv[2] ?? 'memory');

process.on('message', (message: unknown) => {
  if (message === 'usage' || message === 'usage after gc') {
    if (message === 'usage after gc') globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    gaps.sort((a, b) => a - b);
    own.sort((a, b) => a - b);
    const usage: BenchUsage = {
      kind: 'usage',
      cpuSec: (user + system) / 1e6,
      rssBytes: process.memoryUsage().rss,
      heapBytes: process.memoryUsage().heapUsed + process.memoryUsage().external,
      packets: service.packets(),
      loopP99Ms: gaps[Math.floor(gaps.length * 0.99)] ?? 0,
      loopMaxMs: gaps.at(-1) ?? 0,
      ownP99Ms: own[Math.floor(own.length * 0.99)] ?? 0,
      ownMaxMs: own.at(-1) ?? 0,
    };
    gaps.length = 0;
    own.length = 0;
    process.send!(usage);
  } else if (message === 'subjects') {
    void service.subjects().then((uuids) => process.send!({ kind: 'subjects', uuids } satisfies BenchSubjects));
  } else if (message === 'stop') void service.stop().then(() => process.exit(0));
});
process.on('disconnect', () => process.exit(0));
process.send!({ kind: 'ready', port: service.port, key: service.key } satisfies BenchReady);
