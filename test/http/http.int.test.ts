/** The HTTP layer on real sockets: what uWebSockets.js accepts and we do not, problems, bodies, sockets and their ends. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { PipelineError } from '../../src/errors.ts';
import { decodeBody } from '../../src/http/body.ts';
import type { PeerSocket, Route, SocketRoute } from '../../src/http/route.ts';
import { startHttp } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import type { Caller } from '../../src/caller.ts';

const key: Caller = { kind: 'key', keyId: 'k1', orgId: 'o1', scopes: ['read'], projectId: null, subjectId: null };
const user = (expiresAtMs: number): Caller => ({ kind: 'user', orgId: 'o1', projectId: 'p1', subjectId: 's1', jti: 'j', expiresAtMs });

const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    tag: 'Service',
    summary: 'health',
    access: { public: true },
    responses: { 200: { description: 'ok' } },
    handler: async () => ({ status: 200, json: { big: 1_700_000_000_000_000_001n } }),
  },
  {
    method: 'POST',
    path: '/api/v1/echo/{id}',
    operationId: 'echo',
    tag: 'T',
    summary: 'echo',
    access: { key: 'read', userToken: 'own' },
    params: { id: Type.Integer({ minimum: 1 }) },
    query: { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 3 })), names: Type.Optional(Type.Array(Type.String())) },
    body: Type.Object({ a: Type.String({ maxLength: 5 }) }, { additionalProperties: false }),
    bodyBytesMax: 1000,
    responses: { 200: { description: 'ok' } },
    handler: async (request) => ({
      status: 200,
      json: { params: request.params, query: request.query, body: request.body, who: request.caller.kind },
    }),
  },
  {
    method: 'POST',
    path: '/ingest/bytes',
    operationId: 'bytes',
    tag: 'T',
    summary: 'bytes',
    access: { key: 'read' },
    body: 'binary',
    bodyTypes: ['application/x-protobuf'],
    bodyBytesMax: 100_000,
    limit: 'ingest',
    responses: { 200: { description: 'ok' } },
    handler: async (request) => {
      const bytes = await decodeBody(request.body as Uint8Array, request.header('content-encoding'), 50_000);
      return { status: 200, json: { n: bytes.length } };
    },
  },
  {
    method: 'GET',
    path: '/api/v1/stream',
    operationId: 'stream',
    tag: 'T',
    summary: 'stream',
    access: { key: 'read' },
    etag: true,
    responses: { 200: { description: 'ok' } },
    handler: async () => ({
      status: 200,
      contentType: 'text/csv',
      stream: (async function* () {
        for (let i = 0; i < 100; i++) yield new Uint8Array(10_000).fill(65);
      })(),
    }),
  },
  {
    method: 'GET',
    path: '/api/v1/catalog',
    operationId: 'catalog',
    tag: 'T',
    summary: 'catalog',
    access: { key: 'read' },
    etag: true,
    responses: { 200: { description: 'ok' } },
    handler: async () => ({ status: 200, json: Array.from({ length: 500 }, (_, id) => ({ id, name: `signal ${id}` })) }),
  },
];

const peers: PeerSocket[] = [];
const received: string[] = [];
let closedCount = 0;
const sockets: readonly SocketRoute[] = [
  {
    path: '/ws',
    operationId: 'live',
    tag: 'T',
    summary: 'live',
    access: { key: 'read', userToken: 'own' },
    query: { subject: Type.String() },
    protocol: 'bio.v1',
    messageBytesMax: 1 << 20,
    backpressureBytesMax: 1 << 20,
    open: (request, socket) => {
      peers.push(socket);
      socket.subscribe('all');
      socket.sendText(`hello ${String(request.query['subject'])}`);
      return {
        text: (text) => void received.push(text),
        binary: () => spin(0.05),
        closed: () => void (closedCount += 1),
      };
    },
  },
];

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

let http: HttpServer;
let base = '';
beforeAll(async () => {
  http = await startEcho(300);
  base = `http://127.0.0.1:${http.port}`;
});
afterAll(async () => {
  await http.stop();
});

function startEcho(bodyTimeoutMs: number): Promise<HttpServer> {
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (f: object, m: string) => console.error(m, f),
  };
  return startHttp({
    config: { ...readConfig({ PORT: '0' }), bodyTimeoutMs, requestsPerSecMax: 500, stopTimeoutMs: 2000 },
    routes,
    sockets,
    authenticate: ({ bearer }) => {
      if (bearer === null) return { kind: 'anonymous' };
      if (bearer === 'key') return key;
      if (bearer === 'user') return user(Date.now() + 3_600_000);
      if (bearer === 'short') return user(Date.now() + 150);
      throw new PipelineError('credential_invalid', 'unknown');
    },
    originAllowed: (_caller, origin) => origin === 'https://good.example',
    logger,
  });
}

/** Sends bytes as they are and collects what comes back until the server closes or `waitMs` passed. */
function raw(text: string | readonly string[], waitMs = 700, port = http.port): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    const parts = typeof text === 'string' ? [text] : text;
    let answer = '';
    let closed = false;
    const socket = connect(port, '127.0.0.1');
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: answer, closed });
    };
    const timer = setTimeout(done, waitMs);
    socket.on('connect', () => parts.forEach((part, i) => setTimeout(() => socket.write(part), i * 50)));
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('end', () => {
      closed = true;
      done();
    });
    socket.on('error', () => {
      closed = true;
      done();
    });
  });
}

const post = (body: string, headers: Record<string, string> = {}, path = '/api/v1/echo/7'): Promise<Response> =>
  fetch(base + path, { method: 'POST', body, headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...headers } });

async function code(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = (await response.json()) as { code: string; status: number; request_id: string };
  expect(problem.status).toBe(response.status);
  expect(problem.request_id).toBe(response.headers.get('x-request-id'));
  return problem.code;
}

describe('requests', () => {
  // promise: exact-times
  it('writes bigint as digits, to the last one', async () => {
    const response = await fetch(`${base}/healthz`);
    expect(await response.text()).toBe('{"big":1700000000000000001}');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  // promise: rate-headers
  it('coerces the query, fills defaults and validates the body', async () => {
    const response = await post('{"a":"x"}', {}, '/api/v1/echo/7?names=a,b&names=c');
    expect(await response.json()).toEqual({
      params: { id: '7' },
      query: { limit: 3, names: ['a', 'b', 'c'] },
      body: { a: 'x' },
      who: 'key',
    });
    expect(response.headers.get('ratelimit-policy')).toBe('"api";q=2000;w=4');
  });

  // promise: json-twice
  it('takes the last of two members with one name', async () => {
    expect(await (await post('{"a":"first","a":"x"}')).json()).toMatchObject({ body: { a: 'x' } });
  });

  // promise: control-characters, json-type, problems
  it.each([
    ['a wrong type', () => post('{"a":1}'), 422, 'validation_failed'],
    ['an unknown member', () => post('{"a":"x","b":1}'), 422, 'validation_failed'],
    ['broken JSON', () => post('{"a":'), 400, 'bad_request'],
    ['a NUL', () => post('{"a":"\\u0000"}'), 422, 'validation_failed'],
    ['a lone surrogate', () => post('{"a":"sur-\\ud800-x"}'), 422, 'validation_failed'],
    ['a control character', () => post('{"a":"\\u001b[2J"}'), 422, 'validation_failed'],
    ['a NUL in the name of a member', () => post('{"a":"x","b\\u0000":1}'), 422, 'validation_failed'],
    ['another content type', () => post('x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
    ['an unknown parameter', () => post('{"a":"x"}', {}, '/api/v1/echo/7?token=x'), 422, 'validation_failed'],
    ['a parameter out of range', () => post('{"a":"x"}', {}, '/api/v1/echo/7?limit=11'), 422, 'validation_failed'],
    ['a repeated parameter', () => post('{"a":"x"}', {}, '/api/v1/echo/7?limit=1&limit=2'), 422, 'validation_failed'],
    ['a malformed id', () => post('{"a":"x"}', {}, '/api/v1/echo/abc'), 404, 'not_found'],
    ['an unknown path', () => fetch(`${base}/nope?secret=1`), 404, 'not_found'],
    ['an empty segment', () => fetch(`${base}//healthz`), 404, 'not_found'],
    ['a malformed escape', () => post('{"a":"x"}', {}, '/api/v1/echo/%zz'), 400, 'bad_request'],
    ['an escaped slash', () => post('{"a":"x"}', {}, '/api/v1/echo/a%2fb'), 400, 'bad_request'],
    ['another method', () => fetch(`${base}/healthz`, { method: 'DELETE' }), 405, 'method_not_allowed'],
    ['no credential', () => post('{"a":"x"}', { authorization: '' }), 401, 'credential_invalid'],
    ['an unknown credential', () => post('{"a":"x"}', { authorization: 'Bearer nope' }), 401, 'credential_invalid'],
    ['another scheme', () => post('{"a":"x"}', { authorization: 'Basic eDp5' }), 401, 'credential_invalid'],
    ['a body too large', () => post(`{"a":"${'x'.repeat(2000)}"}`), 413, 'payload_too_large'],
    ['a socket path without an upgrade', () => fetch(`${base}/ws?subject=x`), 400, 'bad_request'],
  ])('answers %s with a problem', async (_name, send, status, expected) => {
    const response = await send();
    expect(response.status).toBe(status);
    expect(await code(response)).toBe(expected);
  });

  // promise: bombs
  it('counts a compressed body after decompression', async () => {
    const send = (n: number): Promise<Response> =>
      fetch(`${base}/ingest/bytes`, {
        method: 'POST',
        body: gzipSync(new Uint8Array(n)),
        headers: { authorization: 'Bearer key', 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
      });
    expect(await (await send(50_000)).json()).toEqual({ n: 50_000 });
    expect(await code(await send(50_001))).toBe('payload_too_large');
  });

  it('reads a chunked body', async () => {
    const { text } = await raw(
      'POST /ingest/bytes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
    );
    expect(text).toContain('{"n":5}');
  });

  it('streams an answer of a megabyte', async () => {
    const response = await fetch(`${base}/api/v1/stream`, { headers: { authorization: 'Bearer key' } });
    expect((await response.arrayBuffer()).byteLength).toBe(1_000_000);
  });

  it('compresses, and answers a repeat by its ETag with 304', async () => {
    const headers = { authorization: 'Bearer key', 'accept-encoding': 'br, gzip' };
    const first = await fetch(`${base}/api/v1/catalog`, { headers });
    expect(first.headers.get('content-encoding')).toBe('br');
    expect(((await first.json()) as unknown[]).length).toBe(500);
    const etag = first.headers.get('etag') ?? '';
    const again = await fetch(`${base}/api/v1/catalog`, { headers: { ...headers, 'if-none-match': etag } });
    expect(again.status).toBe(304);
  });

  it('names the methods of a path where another was sent', async () => {
    const response = await fetch(`${base}/healthz`, { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it('answers HEAD like GET without a body', async () => {
    const response = await fetch(`${base}/healthz`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });
});

describe('origins', () => {
  it('lets any page use a user token, and only registered ones a key', async () => {
    const send = (authorization: string, origin: string): Promise<Response> => post('{"a":"x"}', { authorization, origin });
    expect((await send('Bearer user', 'https://any.example')).headers.get('access-control-allow-origin')).toBe('*');
    expect((await send('Bearer key', 'https://good.example')).headers.get('access-control-allow-origin')).toBe('https://good.example');
    expect(await code(await send('Bearer key', 'https://good.example.evil'))).toBe('origin_forbidden');
  });

  it('answers a preflight, which carries no key', async () => {
    const response = await fetch(`${base}/api/v1/echo/7`, {
      method: 'OPTIONS',
      headers: { origin: 'https://any.example', 'access-control-request-method': 'POST' },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('answers a preflight for a server-only operation without allowing any page', async () => {
    const response = await fetch(`${base}/ingest/bytes`, {
      method: 'OPTIONS',
      headers: { origin: 'https://any.example', 'access-control-request-method': 'POST' },
    });
    expect(response.status).toBe(204);
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('does not let a page without an origin read answers to a key', async () => {
    const response = await post('{"a":"x"}', { authorization: 'Bearer key', origin: 'null' });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(await code(response)).toBe('origin_forbidden');
  });
});

describe('hygiene on raw sockets', () => {
  const head = 'POST /api/v1/echo/7 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\nContent-Type: application/json\r\n';
  const smuggled = '{"a":"x"}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  // promise: smuggling
  it.each([
    ['two different lengths', `${head}Content-Length: 9\r\nContent-Length: 60\r\n\r\n${smuggled}`],
    ['two equal lengths', `${head}Content-Length: 9\r\nContent-Length: 9\r\n\r\n${smuggled}`],
    ['a length list', `${head}Content-Length: 9, 9\r\n\r\n${smuggled}`],
    ['a signed length', `${head}Content-Length: +9\r\n\r\n${smuggled}`],
    ['a hexadecimal length', `${head}Content-Length: 0x9\r\n\r\n${smuggled}`],
    [
      'length and encoding',
      `${head}Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ],
    ['an odd encoding', `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['two encodings', `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    [
      'an encoding twice',
      `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ],
    ['two hosts', `GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['two credentials', `${head}Authorization: Bearer user\r\nContent-Length: 9\r\n\r\n${smuggled}`],
    ['a space before the colon', `POST /api/v1/echo/7 HTTP/1.1\r\nHost: localhost\r\nContent-Length : 9\r\n\r\n${smuggled}`],
    ['a bare line feed', `GET /healthz HTTP/1.1\nHost: localhost\n\nGET /healthz HTTP/1.1\nHost: localhost\n\n`],
    ['a folded header', `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ])('refuses %s and answers nothing after it', async (_name, text) => {
    const answer = await raw(text);
    expect(answer.text).not.toContain('"big"');
    expect(answer.text.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
    if (answer.text !== '') expect(answer.text).toMatch(/^HTTP\/1\.1 (4\d\d|505)/);
    expect(answer.closed).toBe(true);
  });

  it('refuses HTTP/1.0 and unknown versions', async () => {
    for (const version of ['HTTP/1.0', 'HTTP/3.0', 'HTTX/1.1']) {
      const answer = await raw(`GET /healthz ${version}\r\nHost: localhost\r\n\r\n`);
      expect(answer.text).not.toContain('"big"');
    }
  });

  // promise: loopback-names
  it.each(['evil.example', 'localhost.evil.example:80', ''])('refuses a request that came for the name "%s"', async (host) => {
    const answer = await raw(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.text).not.toContain('"big"');
  });

  it('does not name the library that answers', async () => {
    for (const line of ['GET /healthz', 'GET /nowhere', 'OPTIONS /healthz', 'GET /api/v1/stream']) {
      const answer = await raw(`${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\nConnection: close\r\n\r\n`);
      expect(answer.text).toMatch(/^HTTP\/1\.1 \d/);
      expect(answer.text.split('\r\n\r\n', 1)[0]).not.toMatch(/uwebsockets/i);
    }
  });

  // promise: smuggling
  it('takes 12 KiB of headers and refuses 20 KiB', async () => {
    const fits = await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(12_000)}\r\n\r\n`);
    expect(fits.text).toContain('"big"');
    const over = await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(over.text).toMatch(/^HTTP\/1\.1 431 /);
    expect(over.text).toContain('"code":"headers_too_large"');
    expect(over.text).toContain('at most 16384');
    expect(over.text).not.toMatch(/uwebsockets/i);
    const long = await raw(`GET /healthz?${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(long.text).toContain('"code":"headers_too_large"');
    const far = await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(40_000)}\r\n\r\n`);
    expect(far.text).toMatch(/^HTTP\/1\.1 431 /);
    expect(far.closed).toBe(true);
  });

  // promise: smuggling
  it('refuses 100 header fields', async () => {
    const many = Array.from({ length: 90 }, (_, i) => `X-${i}: 1\r\n`).join('');
    expect((await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${many}\r\n`)).text).toContain('431');
  });

  // promise: body-deadline
  // job: late-bodies
  it('ends a slow body at a deadline', async () => {
    const answer = await raw(`${head}Content-Length: 9\r\n\r\n{"a"`, 1500);
    expect(answer.text).toMatch(/^HTTP\/1\.1 408/);
    expect(answer.text).toContain('request_timeout');
    expect(answer.closed).toBe(true);
  });

  it('waits for a slow body as long as its deadline says, and answers then', async () => {
    const slow = await startEcho(16_000);
    try {
      const start = `${head}Content-Length: 9\r\n\r\n`;
      const bytes = [start, ...Array.from({ length: 280 }, () => ''), '{"a":"x"}'];
      const [whole, silent, dripping] = await Promise.all([
        raw(bytes, 20_000, slow.port),
        raw(`${start}{"a"`, 20_000, slow.port),
        raw([start.replace(': 9', ': 999'), ...Array.from({ length: 500 }, () => ' ')], 20_000, slow.port),
      ]);
      expect(whole.text).toContain('"who":"key"');
      expect(silent.text).toMatch(/^HTTP\/1\.1 408/);
      expect(dripping.text).toMatch(/^HTTP\/1\.1 408/);
    } finally {
      await slow.stop();
    }
  });

  it('refuses a declared length over the limit before the body', async () => {
    const answer = await raw(`${head}Content-Length: 999999999\r\n\r\n`);
    expect(answer.text).toMatch(/^HTTP\/1\.1 413/);
    expect(answer.closed).toBe(true);
  });

  it('reads a body that comes byte by byte', async () => {
    const answer = await raw([`${head}Content-Length: 9\r\n\r\n`, '{"a"', ':"x', '"}'], 600);
    expect(answer.text).toContain('"who":"key"');
  });
});

describe('sockets', () => {
  const protocols = (secret: string): string[] => ['bio.v1', `bio.bearer.${Buffer.from(secret).toString('base64url')}`];
  const closeOf = (ws: WebSocket): Promise<{ code: number; reason: string }> =>
    new Promise((resolve) => ws.addEventListener('close', (event) => resolve({ code: event.code, reason: event.reason })));
  const opened = (ws: WebSocket): Promise<void> =>
    new Promise((resolve, reject) => {
      ws.addEventListener('open', () => resolve());
      ws.addEventListener('error', () => reject(new Error('refused')));
    });
  const url = (): string => `ws://127.0.0.1:${http.port}/ws?subject=s1`;

  // promise: token-in-subprotocol
  it('takes the credential from the subprotocols and echoes bio.v1 only', async () => {
    const ws = new WebSocket(url(), protocols('user'));
    await opened(ws);
    expect(ws.protocol).toBe('bio.v1');
    ws.close();
    await closeOf(ws);
  });

  const handshake = (extra: string, path = '/ws?subject=s1'): Promise<{ text: string; closed: boolean }> =>
    raw(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${extra}\r\n`,
      300,
    );
  // promise: no-credential-in-address, socket-origin, token-in-subprotocol
  it.each([
    ['no credential', '', '/ws?subject=s1', 401],
    ['a wrong credential', 'Authorization: Bearer nope\r\n', '/ws?subject=s1', 401],
    ['a token in the address', '', '/ws?subject=s1&token=user', 401],
    ['a token in the address next to a good one', 'Authorization: Bearer user\r\n', '/ws?subject=s1&token=user', 422],
    ['no subject', 'Authorization: Bearer user\r\n', '/ws', 422],
    ['a foreign page with a key', 'Authorization: Bearer key\r\nOrigin: https://evil.example\r\n', '/ws?subject=s1', 403],
  ])('refuses %s at the handshake', async (_name, extra, path, status) => {
    expect((await handshake(extra, path)).text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
  it.each([
    ['Upgrade', 'Connection: Upgrade'],
    ['the word upgrade in Connection', 'Upgrade: websocket\r\nConnection: keep-alive'],
    ['websocket in Upgrade', 'Upgrade: h2c\r\nConnection: Upgrade'],
    ['a name of this service', 'Upgrade: websocket\r\nConnection: Upgrade', 'evil.example'],
  ])('refuses a handshake without %s', async (_name, fields, host = 'localhost') => {
    const answer = await raw(
      `GET /ws?subject=s1 HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer key\r\n\r\n`,
    );
    expect(answer.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.closed).toBe(true);
  });
  it('takes a list in Connection, as browsers send', async () => {
    const answer = await raw(
      'GET /ws?subject=s1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer key\r\n\r\n',
      300,
    );
    expect(answer.text).toMatch(/^HTTP\/1\.1 101 /);
  });
  it('accepts Authorization from servers', async () => {
    expect((await handshake('Authorization: Bearer key\r\n')).text).toMatch(/^HTTP\/1.1 101 /);
  });

  // job: expired-tokens
  it('closes with 4001 when the token expires', async () => {
    const ws = new WebSocket(url(), protocols('short'));
    expect((await closeOf(ws)).code).toBe(4001);
  });

  it('stays open when a new token arrives in time', async () => {
    const ws = new WebSocket(url(), protocols('short'));
    await opened(ws);
    await peers.at(-1)?.authenticate('user');
    await sleep(300);
    expect(ws.readyState).toBe(WebSocket.OPEN);
    ws.close();
    await closeOf(ws);
  });

  it('closes with 4502 when the credential is revoked', async () => {
    const ws = new WebSocket(url(), protocols('user'));
    await opened(ws);
    const end = closeOf(ws);
    http.closeSockets((caller) => caller.kind === 'user' && caller.subjectId === 's1', 'credential_invalid');
    expect((await end).code).toBe(4502);
  });

  // promise: timers-go-on
  // job: ticks
  it('keeps timers within bounds while one peer never stops sending', async () => {
    let worst = 0;
    let last = performance.now();
    const stopTick = http.ticks.every(10, () => {
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    });
    const flood = connect(http.port, '127.0.0.1');
    flood.on('error', () => undefined);
    flood.write(
      'GET /ws?subject=s1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer key\r\n\r\n',
    );
    await new Promise((resolve) => flood.once('data', resolve));
    const frame = Buffer.concat([Buffer.from([0x82, 0x80 | 100, 0, 0, 0, 0]), Buffer.alloc(100)]);
    const many = Buffer.concat(Array.from({ length: 10_000 }, () => frame));
    const isOpen = (): boolean => !flood.destroyed;
    const until = performance.now() + 2000;
    while (isOpen() && performance.now() < until) {
      if (!flood.write(many)) await new Promise((resolve) => flood.once('drain', resolve).once('close', resolve));
    }
    stopTick();
    const closedByServer = flood.destroyed;
    flood.destroy();
    console.info(`worst tick distance under a flood: ${worst.toFixed(1)} ms; peer closed: ${String(closedByServer)}`);
    expect(worst).toBeLessThan(700); // 10 ms on a machine that has time; two seconds where the flood is not held back
  });
});

describe('a peer that never stops sending a body', () => {
  // promise: timers-go-on
  it.each([
    ['beyond a declared limit', 'Content-Length: 99999999999\r\n\r\n', ''],
    ['without a credential, to an unknown path', 'Content-Length: 99999999999\r\n\r\n', '/nowhere'],
    ['in chunks beyond the limit', 'Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n', ''],
  ])('%s leaves the timers of everybody else alone', async (_name, rest, path) => {
    let worst = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    }, 10);
    const flood = connect(http.port, '127.0.0.1');
    flood.on('error', () => undefined);
    flood.write(
      `POST ${path === '' ? '/ingest/bytes' : path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\nContent-Type: application/x-protobuf\r\n${rest}`,
    );
    const junk = Buffer.alloc(1 << 20);
    const until = performance.now() + 1000;
    const isOpen = (): boolean => !flood.destroyed;
    while (isOpen() && performance.now() < until) {
      if (!flood.write(junk)) await new Promise((resolve) => flood.once('drain', resolve).once('close', resolve));
    }
    clearInterval(timer);
    flood.destroy();
    console.info(`worst timer distance: ${worst.toFixed(1)} ms`);
    expect(worst).toBeLessThan(700);
  });
});

describe('start and stop', () => {
  it('names PORT when the port is in use', async () => {
    const config = { ...readConfig({ PORT: String(http.port) }) };
    const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
    await expect(startHttp({ config, routes: [], authenticate: () => ({ kind: 'anonymous' }), logger })).rejects.toThrow(/PORT/);
  });
});
