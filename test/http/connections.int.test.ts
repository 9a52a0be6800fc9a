/** Requests that follow an answer without a body on the same connection: from raw sockets, Node's clients, and real proxies, which send
 *  everyone's requests over a few connections. */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { hasProxy, startProxy } from '../helpers/proxy.ts';
import type { ProxyKind } from '../helpers/proxy.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Sent = Readonly<{ status: number; text: string; headers: ReadonlyMap<string, string> }>;
type Send = (method: string, path: string, headers?: Readonly<Record<string, string>>, body?: string) => Promise<Sent>;

let running: RunningService;
let origin = '';
let bearer = '';
beforeAll(async () => {
  running = await runService();
  origin = running.service.baseUrl;
  bearer = `Bearer ${running.org.apiKey.key}`;
});
afterAll(() => running.close());

/** Pairs of an answer without a body and the request that comes after it, three times over. */
async function walk(send: Send): Promise<void> {
  const { projectId, projectKey } = running.org;
  const authorized = { authorization: bearer, 'accept-encoding': 'identity' }; // lengths are compared below
  const json = { ...authorized, 'content-type': 'application/json' };
  const mint = async (): Promise<void> => {
    const made = await send('POST', '/api/v1/sdk/token', json, JSON.stringify({ external_id: 'ada', project_key: projectKey }));
    expect(made.status, made.text).toBe(200);
  };
  const asked = {
    origin: 'https://page.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  for (let round = 0; round < 3; round++) {
    const preflight = await send('OPTIONS', '/api/v1/moods', asked);
    expect(preflight.status).toBe(204);
    expect(preflight.headers.has('content-length')).toBe(false);
    await mint();

    const catalog = `/api/v1/projects/${projectId}/biosignals`;
    const first = await send('GET', catalog, authorized);
    expect(first.status).toBe(200);
    const again = await send('GET', catalog, { ...authorized, 'if-none-match': first.headers.get('etag') ?? '' });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers.has('content-length')).toBe(false);
    await mint();

    const hook = await send('POST', '/api/v1/webhooks', json, JSON.stringify({ url: 'https://hooks.example.org/a', events: ['*'] }));
    expect(hook.status, hook.text).toBe(201);
    const removed = await send('DELETE', `/api/v1/webhooks/${(JSON.parse(hook.text) as { id: string }).id}`, authorized);
    expect(removed.status, removed.text).toBe(204);
    expect(removed.headers.has('content-length')).toBe(false);
    await mint();

    const head = await send('HEAD', catalog, authorized);
    expect(head).toMatchObject({ status: 200, text: '' });
    const whole = await send('GET', catalog, authorized);
    expect(whole.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(whole.headers.get('content-length'));
    const refused = await send('HEAD', '/api/v1/nothing-here', authorized);
    expect(refused).toMatchObject({ status: 404, text: '' });
    await mint();
  }
}

/** Sends through an agent; `ports` collects the local ports of the connections that were used. */
function agentOf(base: string, agent: Agent, ports: Set<number>): Send {
  const { hostname, port } = new URL(base);
  return (method, path, headers = {}, body = '') =>
    new Promise((resolve, reject) => {
      const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = request({ agent, hostname, port, method, path, headers: { ...headers, ...length } }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const names = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
          resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: new Map(names) });
        });
      });
      sent.on('socket', (socket) => {
        const note = (): void => void ports.add(socket.localPort ?? 0);
        if (socket.connecting) socket.once('connect', note);
        else note();
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

const viaFetch =
  (base: string): Send =>
  async (method, path, headers = {}, body = '') => {
    const answer = await fetch(base + path, { method, headers, ...(body === '' ? {} : { body }) });
    return { status: answer.status, text: await answer.text(), headers: new Map(answer.headers) };
  };

describe('one connection', () => {
  it('of an agent of Node serves every request', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number>();
    await walk(agentOf(origin, agent, ports));
    agent.destroy();
    expect(ports.size).toBe(1);
  });

  it('of fetch serves every request', () => walk(viaFetch(origin)));

  /** Writes all at once and reads until the service closes the connection. */
  const pipeline = (requests: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(running.service.port, '127.0.0.1', () => socket.write(requests.join('')));
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
    });
  const preflight = 'OPTIONS /api/v1/moods HTTP/1.1\r\nHost: localhost\r\nOrigin: https://e\r\nAccess-Control-Request-Method: GET\r\n\r\n';
  const head = 'HEAD /api-docs/errors HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n';
  const last = 'GET /api-docs/errors HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n';

  it('serves what was pipelined after answers without a body, in order', async () => {
    const { headers } = await fetch(`${origin}/api-docs/errors`);
    const unchanged = `GET /api-docs/errors HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: ${headers.get('etag')}\r\n\r\n`;
    const text = await pipeline([preflight, unchanged, head, preflight, head, unchanged, last]);
    expect(text.match(/^HTTP\/1\.1 \d+/gm)?.map((line) => Number(line.slice(9)))).toEqual([204, 304, 200, 204, 200, 304, 200]);
    expect(text).toMatch(/<\/html>\s*$/);
  });

  it('serves a hundred answers without a body and then a request', async () => {
    const text = await pipeline([...Array.from({ length: 50 }, () => preflight + head), last]);
    expect(text.match(/^HTTP\/1\.1 20[04] /gm)?.length).toBe(101);
    expect(text).toMatch(/<\/html>\s*$/);
  });

  it('is closed after an answer without a body when the client asks for it', async () => {
    for (const asked of [preflight, head]) {
      const text = await pipeline([asked.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')]);
      expect(text).toMatch(/^HTTP\/1\.1 20[04] /);
      expect(text).toMatch(/\r\n\r\n$/);
    }
  });

  it.each([
    ['a long body that HEAD has none of', 'Content-Length: 100000'],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 1'],
  ])('is closed after HEAD with %s, with the length of the answer and without its body', async (_name, header) => {
    const text = await pipeline([`HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`]);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
    expect(text).toMatch(/\r\nContent-Length: [1-9]\d+\r\n\r\n$/i);
  });

  it.each(['OPTIONS /healthz', 'GET /api-docs/assets/swagger-ui.css'])('is not left with the unread body of %s', async (line) => {
    const text = await pipeline([`${line} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /`]);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text.match(/^HTTP\//gm)).toHaveLength(1);
  });
});

describe.each(['caddy', 'nginx'] as const satisfies readonly ProxyKind[])('behind %s', (kind) => {
  const there = hasProxy(kind);

  it.skipIf(!there)('every request after an answer without a body is served', async () => {
    const proxy = await startProxy(kind, running.service.port);
    try {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      await walk(agentOf(proxy.baseUrl, agent, new Set()));
      agent.destroy();
    } finally {
      await proxy.stop();
    }
  });

  it.skipIf(!there)('live frames and acknowledgements have their sockets', async () => {
    const proxy = await startProxy(kind, running.service.port);
    try {
      const { xuser_token: token } = await running.token('ada');
      const watched = await running.watch('ada', token, proxy.baseUrl);
      await until(() => watched.ready());
      watched.socket.close();
      await until(() => watched.closed() !== null);
      expect(watched.closed()?.code).toBe(1005);
    } finally {
      await proxy.stop();
    }
  });
});
