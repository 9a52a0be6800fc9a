/** A node:http stand-in for the service with answers of the documented shapes, for the states that the real one cannot be put into at will
 *  (errors, silence, odd data), and a WebSocket that sends hand-made live frames. End-to-end tests use the real service. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join } from 'node:path';

export type FixtureRequest = Readonly<{ method: string; path: string; url: URL; headers: IncomingMessage['headers']; body: unknown }>;
/** Status and JSON; status -1 breaks the connection, `null` leaves the request hanging. */
export type FixtureAnswer = Readonly<{ status?: number; json?: unknown; html?: string; headers?: Record<string, string> }> | null;
export type FixtureSocket = Readonly<{
  send: (bytes: Uint8Array) => void;
  close: (code: number, reason: string) => void;
  /** Sends a text message. */
  tell: (message: object) => void;
  /** Sends text as it is, a message or not. */
  say: (text: string) => void;
  /** Answers no ping any more: as a connection that is gone without a word. */
  deafen: () => void;
  url: URL;
  protocols: string;
}>;

export type Fixture = Readonly<{
  origin: string;
  requests: FixtureRequest[];
  /** The newest entry that fits answers. */
  on: (method: string, path: string | RegExp, answer: FixtureAnswer | ((request: FixtureRequest) => FixtureAnswer)) => void;
  onSocket: (open: (socket: FixtureSocket) => (() => void) | undefined) => void;
  /** Text messages from sockets but pings, in order; pings are answered. */
  texts: string[];
  close: () => Promise<void>;
}>;

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
};

/** @param folder built web files (buildWeb), served below / */
export async function startFixture(folder: string): Promise<Fixture> {
  const rules: { method: string; path: string | RegExp; answer: FixtureAnswer | ((request: FixtureRequest) => FixtureAnswer) }[] = [];
  const requests: FixtureRequest[] = [];
  const texts: string[] = [];
  const sockets = new Set<Socket>();
  let openSocket: ((socket: FixtureSocket) => (() => void) | undefined) | null = null;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://fixture');
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const text = Buffer.concat(chunks).toString('utf8');
    const request: FixtureRequest = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      url,
      headers: incoming.headers,
      body: text === '' ? null : (JSON.parse(text) as unknown),
    };
    const cors = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, project-key, xuser-id, sdk-key',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    };
    if (request.method === 'OPTIONS') {
      response.writeHead(204, cors).end();
      return;
    }
    requests.push(request);
    const rule = rules.findLast(
      (item) =>
        item.method === request.method && (typeof item.path === 'string' ? item.path === request.path : item.path.test(request.path)),
    );
    if (rule !== undefined) {
      const answer = typeof rule.answer === 'function' ? rule.answer(request) : rule.answer;
      if (answer === null) return;
      const status = answer.status ?? 200;
      if (status < 0) {
        response.destroy();
        return;
      }
      const type = answer.html !== undefined ? 'text/html; charset=utf-8' : status >= 400 ? 'application/problem+json' : 'application/json';
      response.writeHead(status, { ...cors, 'content-type': type, ...answer.headers });
      response.end(answer.html ?? (status === 204 ? undefined : JSON.stringify(answer.json ?? null)));
      return;
    }
    const name =
      url.pathname === '/dashboard/live' ? '/dashboard/live.html' : url.pathname === '/dashboard/' ? '/dashboard/index.html' : url.pathname;
    const file = join(folder, name);
    if (!name.includes('..') && existsSync(file) && extname(file) !== '') {
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream', 'access-control-allow-origin': '*' });
      response.end(readFileSync(file));
      return;
    }
    response.writeHead(404, { ...cors, 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ type: 'about:blank', title: 'No such record.', status: 404, code: 'not_found', request_id: 'fixture' }));
  };
  const server = createServer((incoming, response) => void handle(incoming, response));
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming, stream) => {
    const socket = stream as Socket;
    if (openSocket === null) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
      return;
    }
    const accept = createHash('sha1')
      .update(`${incoming.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: bio.v1\r\n\r\n`,
    );
    let deaf = false;
    const stop = openSocket({
      deafen: () => (deaf = true),
      tell: (message) => socket.write(wsFrame(1, Buffer.from(JSON.stringify(message)))),
      say: (text) => socket.write(wsFrame(1, Buffer.from(text))),
      url: new URL(incoming.url ?? '/', 'http://fixture'),
      protocols: incoming.headers['sec-websocket-protocol'] ?? '',
      send: (bytes) => {
        if (socket.writable) socket.write(wsFrame(2, bytes));
      },
      close: (code, reason) => socket.end(wsFrame(8, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]))),
    });
    socket.on('data', (data: Buffer) => {
      if ((data[0]! & 15) === 8) {
        socket.end();
        return;
      }
      const text = readWsText(data);
      if (text === '{"type":"ping"}') {
        if (!deaf) socket.write(wsFrame(1, Buffer.from('{"type":"pong"}')));
      } else if (text !== null) texts.push(text);
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => stop?.());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    texts,
    on: (method, path, answer) => rules.push({ method, path, answer }),
    onSocket: (open) => (openSocket = open),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function wsFrame(opcode: number, payload: Uint8Array): Buffer {
  const n = payload.length;
  const head =
    n < 126 ? Buffer.from([0x80 | opcode, n]) : n < 65_536 ? Buffer.from([0x80 | opcode, 126, n >> 8, n & 255]) : Buffer.alloc(10);
  if (n >= 65_536) {
    head[0] = 0x80 | opcode;
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(n), 2);
  }
  return Buffer.concat([head, payload]);
}

/** Clients' short text messages: one frame, masked, below 64 KiB. */
function readWsText(data: Buffer): string | null {
  if (data.length < 6 || (data[0]! & 15) !== 1) return null;
  let length = data[1]! & 127;
  let at = 2;
  if (length === 126) {
    length = data.readUInt16BE(2);
    at = 4;
  }
  const mask = data.subarray(at, at + 4);
  return Buffer.from(data.subarray(at + 4, at + 4 + length).map((byte, i) => byte ^ mask[i % 4]!)).toString('utf8');
}

/** An unsigned token with the claims that pages read; only the fixture accepts it. */
export function fixtureToken(claims: Readonly<Record<string, unknown>> = {}): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const nowSec = Math.floor(Date.now() / 1000);
  return [
    part({ alg: 'RS256', kid: 'fixture' }),
    part({
      sub: '0193b5c0-0000-7000-8000-000000000001',
      proj: '0193b5c0-0000-7000-8000-00000000000a',
      org: 'o',
      iat: nowSec,
      exp: nowSec + 3600,
      ...claims,
    }),
    'x',
  ].join('.');
}

export type FixtureChannel = Readonly<{
  code: string;
  kind: number;
  unit: string;
  rateHz: number;
  lead?: string;
  primary?: boolean;
  samples: ArrayLike<number>;
  qmaskRuns?: readonly number[];
}>;

/** Writes a LiveFrame of proto/biosignal.proto by hand, so that the reader in the page is tested against the schema and not against
 *  itself. */
export function fixtureFrame(
  t0Ns: bigint,
  channels: readonly FixtureChannel[],
  features: readonly Readonly<{ name: string; value: number; qmask: number }>[] = [],
  extra: Readonly<{ replayed?: boolean; droppedFrames?: number; lagMs?: number }> = {},
): Uint8Array {
  const out: Buffer[] = [];
  const varint = (value: number): Buffer => {
    const bytes: number[] = [];
    let rest = value;
    while (rest >= 128) {
      bytes.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
    return Buffer.from(bytes);
  };
  const field = (number: number, wire: number, bytes: Buffer): Buffer =>
    Buffer.concat([varint(number * 8 + wire), ...(wire === 2 ? [varint(bytes.length)] : []), bytes]);
  const fixed = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return bytes;
  };
  const double = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return bytes;
  };
  const floats = (samples: ArrayLike<number>): Buffer => Buffer.from(Float32Array.from(samples).buffer);
  out.push(
    field(1, 2, Buffer.from('subject')),
    field(2, 0, varint(Number(t0Ns / 100_000_000n))),
    field(3, 1, fixed(t0Ns)),
    field(4, 0, varint(100)),
  );
  for (const channel of channels) {
    if (channel.primary === true) out.push(field(4 + channel.kind, 2, floats(channel.samples)));
    const body = [
      field(1, 2, Buffer.from(channel.code)),
      field(2, 0, varint(channel.kind)),
      field(3, 2, Buffer.from(channel.unit)),
      field(4, 0, varint(channel.rateHz * 1e9)),
      field(9, 2, Buffer.from(channel.lead ?? '')),
    ];
    if (channel.primary === true) body.push(field(6, 0, varint(1)));
    else body.push(field(7, 2, floats(channel.samples)));
    if (channel.qmaskRuns !== undefined) body.push(field(8, 2, Buffer.concat(channel.qmaskRuns.map(varint))));
    out.push(field(9, 2, Buffer.concat(body)));
  }
  for (const feature of features) {
    out.push(
      field(
        10,
        2,
        Buffer.concat([
          field(1, 2, Buffer.from(feature.name)),
          field(2, 1, fixed(t0Ns)),
          field(3, 1, double(feature.value)),
          field(4, 0, varint(feature.qmask)),
        ]),
      ),
    );
  }
  if (extra.droppedFrames !== undefined) out.push(field(11, 0, varint(extra.droppedFrames)));
  if (extra.lagMs !== undefined) out.push(field(12, 0, varint(extra.lagMs)));
  if (extra.replayed === true) out.push(field(13, 0, varint(1)));
  return Buffer.concat(out);
}

/** A made-up but plausible ECG in mV at `beatsPerMin`; t in seconds. */
export function fixtureEcg(t: number, beatsPerMin: number): number {
  const phase = ((t * beatsPerMin) / 60) % 1;
  const wave = (at: number, width: number, height: number): number => height * Math.exp(-(((phase - at) / width) ** 2));
  return (
    wave(0.18, 0.025, 0.12) +
    wave(0.285, 0.008, -0.12) +
    wave(0.3, 0.009, 1.15) +
    wave(0.318, 0.009, -0.25) +
    wave(0.52, 0.05, 0.28) +
    0.05 * Math.sin(t * 1.6)
  );
}
