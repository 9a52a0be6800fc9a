/** `biosignal conform` against a service that means harm or is broken, told by a proxy before a right one: what it is answered harms
 *  neither the terminal nor the report, no key goes anywhere else, and everything of the run is taken away. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Summary = Readonly<{
  left: readonly string[];
  cut: string;
  version: string;
  checks: readonly { name: string; got: string; result: string }[];
}>;
type Ended = Readonly<{ code: number | null; out: string; err: string }>;
/** An answer on its way to the run. */
type Passing = { status: number; headers: OutgoingHttpHeaders; body: Buffer };

const main = join(import.meta.dirname, '../../src/cli/main.ts');
const RUN_MS_MAX = 180_000;
const folder = mkdtempSync(join(tmpdir(), 'biosignal-conform-'));

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '1000' });
});
afterAll(async () => {
  await running.close();
  rmSync(folder, { recursive: true });
});

function conform(args: readonly string[], begun: (out: () => string, stop: () => void) => void = () => undefined): Promise<Ended> {
  const flags = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=400'];
  const child = spawn(process.execPath, [...flags, main, 'conform', ...args, '--new-project'], {
    env: { ...process.env, BIO_KEY: running.org.apiKey.key },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  begun(
    () => out + err,
    () => void child.kill('SIGINT'),
  );
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

const rowsOf = async (sql: string): Promise<number> =>
  Number((await running.database.pool.query<{ count: string }>(`select count(*) from ${sql}`)).rows[0]?.count);

async function whatIsLeft(): Promise<readonly string[]> {
  const looks: readonly string[] = [
    'xuser',
    'device',
    'stream',
    'allowed_origin',
    `api_key where name like 'conform-%' and revoked_at is null`,
    `sdk_key where name like 'conform-%' and revoked_at is null`,
    `webhook where disabled_at is null`,
    `project where consent_required <> '{}'`,
  ];
  const counts = await Promise.all(looks.map(rowsOf));
  return looks.flatMap((look, i) => (counts[i] === 0 ? [] : [`${counts[i]} of ${look}`]));
}

async function listening(server: Server): Promise<{ url: string; port: number; stop: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${port}`, port, stop };
}

/** @param change what becomes of an answer  @param upgraded what becomes of a handshake */
async function through(change: (answer: Passing, req: IncomingMessage) => void, upgraded?: (req: IncomingMessage, socket: Duplex) => void) {
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req;
    const to = {
      host: '127.0.0.1',
      port: running.service.port,
      method,
      path,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: false,
    };
    const onward = request(to, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
      answer.on('end', () => {
        const passing: Passing = { status: answer.statusCode ?? 502, headers: { ...answer.headers }, body: Buffer.concat(chunks) };
        const whole = passing.body.length;
        change(passing, req);
        if (passing.body.length !== whole) passing.headers['content-length'] = passing.body.length;
        res.writeHead(passing.status, passing.headers).end(passing.body);
      });
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  if (upgraded !== undefined) server.on('upgrade', upgraded);
  return await listening(server);
}

it(
  'ends at an answer without end',
  async () => {
    const server = createServer((_, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const piece = Buffer.alloc(1 << 20, ' ');
      const pour = (): void => {
        while (!res.destroyed && res.write(piece));
      };
      res.on('drain', pour);
      pour();
    });
    const endless = await listening(server);
    const { code, err } = await conform([endless.url]);
    await endless.stop();
    expect(err).toContain('answers with more than 32 MiB');
    expect(code).toBe(1);
  },
  RUN_MS_MAX,
);

it(
  'says of a description that is none that this is no biosignal service',
  async () => {
    for (const text of ['null', '[]', '7', '{"paths":null}', '{"paths":{"/a":null}}', '{"paths":{"/a(":{"get":{"operationId":"a"}}}}']) {
      const server = createServer((_, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end(text));
      const odd = await listening(server);
      const { code, err } = await conform([odd.url]);
      await odd.stop();
      expect(err, text).toMatch(/this is not a biosignal service|the projects could not be listed/);
      expect(code, text).toBe(err.includes('no list') ? 1 : 2);
    }
  },
  RUN_MS_MAX,
);

it(
  'sends its keys to nobody else, whatever the next page is said to be',
  async () => {
    const heard: string[] = [];
    const elsewhere = await listening(createServer((req, res) => void (heard.push(`${req.url} ${req.headers.authorization}`), res.end())));
    const proxy = await through(({ headers }) => {
      if (headers['link'] !== undefined) headers['link'] = `<http://service//127.0.0.1:${elsewhere.port}/api/v1/xusers>; rel="next"`;
    });
    const { code, out } = await conform([proxy.url, '--only', 'Lists', '--json']);
    await Promise.all([proxy.stop(), elsewhere.stop()]);
    expect(heard).toEqual([]);
    expect({ code, left: (JSON.parse(out) as Summary).left }).toEqual({ code: 1, left: [] });
    expect(await whatIsLeft()).toEqual([]);
  },
  RUN_MS_MAX,
);

it(
  'shows no secret that it is answered, and nothing that a terminal or a page would run',
  async () => {
    const secrets = new Set<string>();
    const evil = '<script>alert(1)</script>\u001b]0;owned\u0007\u009b31m';
    const proxy = await through((answer, req) => {
      const secret = req.headers.authorization?.replace('Bearer ', '') ?? '';
      if (secret.length > 20) secrets.add(secret);
      const text = answer.body.toString();
      if (req.url === '/api-docs/openapi.json') {
        const description = JSON.parse(text) as { info: { version: string }; paths: Record<string, unknown> };
        description.info.version = `${evil}${running.org.apiKey.key}`;
        description.paths[`/api/v1/${evil}`] = { get: { operationId: evil, responses: {} } };
        answer.body = Buffer.from(JSON.stringify(description));
        answer.headers['server'] = 'nginx \u009b31m<b>';
      } else if (answer.status >= 400 && /problem/.test(answer.headers['content-type'] ?? '')) {
        const problem = JSON.parse(text) as object;
        answer.body = Buffer.from(JSON.stringify({ ...problem, status: evil, detail: `${evil} ${secret}` }));
      }
    });
    const reports = ['html', 'json'].map((end) => join(folder, `shown.${end}`));
    const only = ['Description', 'Ingest'].flatMap((group) => ['--only', group]);
    const { code, out, err } = await conform([proxy.url, ...only, ...reports.flatMap((report) => ['--report', report])]);
    await proxy.stop();
    expect(code).toBe(1);
    expect(secrets.size).toBeGreaterThan(3);
    const texts = [out, err, ...reports.map((report) => readFileSync(report, 'utf8'))];
    for (const text of texts) {
      expect([...secrets].filter((secret) => text.includes(secret))).toEqual([]);
      // oxlint-disable-next-line no-control-regex
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\\u00[019]/);
    }
    expect(texts[2]).not.toMatch(/<script|31m<b>/);
    expect(texts[2]).toContain('&lt;script&gt;');
    expect(await whatIsLeft()).toEqual([]);
  },
  RUN_MS_MAX,
);

it(
  'cleans up when a socket says what is no JSON',
  async () => {
    const proxy = await through(
      () => undefined,
      (req, socket) => {
        const accept = createHash('sha1')
          .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
          .digest('base64');
        const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`];
        socket.on('error', () => undefined);
        socket.on('end', () => socket.destroy()).resume();
        socket.write([...lines, 'Sec-WebSocket-Protocol: bio.v1', '', ''].join('\r\n'));
        for (const text of ['not JSON', 'null', '[]']) socket.write(Buffer.concat([Buffer.of(0x81, text.length), Buffer.from(text)]));
      },
    );
    const { code, out } = await conform([proxy.url, '--only', 'Sockets', '--json', '--timeout', '6']);
    await proxy.stop();
    expect({ code, left: (JSON.parse(out) as Summary).left }).toEqual({ code: 1, left: [] });
    expect(await whatIsLeft()).toEqual([]);
  },
  RUN_MS_MAX,
);

it(
  'does not begin where the clocks of the service and of this machine are far apart',
  async () => {
    const before = await rowsOf('api_key');
    for (const days of [-365, 365]) {
      const proxy = await through(({ headers }) => void (headers['date'] = new Date(Date.now() + days * 86_400_000).toUTCString()));
      const { code, err } = await conform([proxy.url]);
      await proxy.stop();
      expect(err).toContain('clock');
      expect(code).toBe(2);
    }
    expect(await rowsOf('api_key')).toBe(before);
  },
  RUN_MS_MAX,
);

it(
  'looks at the reports before it begins, and says what is found when one cannot be written after all',
  async () => {
    mkdirSync(join(folder, 'folder.html'));
    const { code, err } = await conform([running.service.baseUrl, '--report', join(folder, 'folder.html')]);
    expect(err).toContain('folder.html');
    expect(code).toBe(2);
    writeFileSync(join(folder, 'before.json'), 'of last week');
    const kept = await conform([running.service.baseUrl, '--only', 'Description', '--report', join(folder, 'before.json')]);
    expect([kept.code, kept.err]).toEqual([2, expect.stringContaining('before.json is there already')]);
    expect(readFileSync(join(folder, 'before.json'), 'utf8')).toBe('of last week');

    const gone = join(folder, 'gone');
    mkdirSync(gone);
    const reports = ['--report', join(gone, 'report.html'), '--report', join(folder, 'kept.json')];
    const ended = await conform(
      [running.service.baseUrl, '--only', 'Description', ...reports],
      () =>
        void until(async () => (await rowsOf(`api_key where name like 'conform-%' and revoked_at is null`)) > 0, RUN_MS_MAX).then(() =>
          rmSync(gone, { recursive: true }),
        ),
    );
    expect(ended.err).toContain('report.html');
    expect(ended.out).toMatch(/\d+ checks in/);
    expect(readFileSync(join(folder, 'kept.json'), 'utf8')).toContain('"passed"');
    expect(ended.code).toBe(1);
  },
  RUN_MS_MAX,
);

it(
  'leaves nothing when two run at once',
  async () => {
    const args = [running.service.baseUrl, '--only', 'Consent and erasure', '--only', 'Pages of other origins', '--json'];
    const first = conform(args);
    await sleep(2500);
    const ended = await Promise.all([first, conform(args)]);
    expect(ended.map(({ out }) => (JSON.parse(out) as Summary).left)).toEqual([[], []]);
    expect(await whatIsLeft()).toEqual([]);
  },
  RUN_MS_MAX,
);

it(
  'says that it is cleaning up when it is interrupted',
  async () => {
    const { code, err } = await conform([running.service.baseUrl], (_, stop) => {
      void until(async () => (await rowsOf('stream')) > 0, RUN_MS_MAX).then(stop);
    });
    expect(code).toBe(130);
    expect(err).toContain('cleaning up');
    expect(await whatIsLeft()).toEqual([]);
  },
  RUN_MS_MAX,
);
