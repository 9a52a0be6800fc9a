/** Two services with a database each behind one address: Caddy as ops/caddy/Caddyfile.cells sets it up, and `biosignal cells`. Every kind
 *  of credential reaches its own organization and no other; an organization is moved while its device sends, and nothing is lost. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { cells, KNOWN_MS } from '../../src/cli/cells.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Command, Console } from '../../src/cli/command.ts';
import { org } from '../../src/cli/organizations.ts';
import { auditLog } from '../../src/cli/audit.ts';
import { keepOccurrences } from '../../src/records/occurrences.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { until } from '../helpers/database.ts';
import { hasProxy, startProxy } from '../helpers/proxy.ts';
import type { Proxy } from '../helpers/proxy.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const there = hasProxy('caddy');
const hooks = { BIO_WEBHOOK_NETWORKS: '127.0.0.0/8' };
const SECRET = 'one secret for every cell, of forty bytes';
let a: RunningService;
let b: RunningService;
let front: Proxy;
/** From the directory to the database of b. */
let wayToB: TcpProxy;
let work: string;
const stop = new AbortController();
let lines: string[] = [];
let directory: Promise<number>;

function consoleOf(env: Readonly<Record<string, string>>, signal = new AbortController().signal): Console {
  const say = (line: string): void => void lines.push(line);
  return { out: say, err: say, progress: null, env, cwd: work, signal };
}

async function run(command: Command, env: Readonly<Record<string, string>>, ...args: string[]): Promise<number> {
  lines = [];
  return await runCommand(command, args, consoleOf(env));
}

describe.skipIf(!there)('two cells behind one address', () => {
  beforeAll(async () => {
    work = mkdtempSync(join(tmpdir(), 'biosignal-cells-'));
    const env = { BIO_SECRET: SECRET, BIO_TRUST_PROXY: '127.0.0.1', BIO_PUBLIC_URL: 'https://bio.example' };
    [a, b] = await Promise.all([runService({ ...env, ...hooks }), runService({ ...env, ...hooks })]);
    const cell = (name: string, { service, database }: RunningService) => ({
      name,
      upstream: `127.0.0.1:${service.port}`,
      database: name === 'b' ? database.url.replace(/:\d+\//, `:${wayToB.port}/`) : database.url,
    });
    wayToB = await TcpProxy.start(Number(new URL(b.database.url).port));
    const file = join(work, 'cells.json');
    writeFileSync(file, JSON.stringify({ cells: [cell('a', a), cell('b', b)] }));
    directory = runCommand(cells, [file, '--listen', '127.0.0.1:0'], consoleOf({}, stop.signal));
    await until(() => lines.some((line) => line.includes('answers at')));
    const port = /:(\d+)\/cell/.exec(lines.join())![1]!;
    const caddyfile = readFileSync(new URL('../../ops/caddy/Caddyfile.cells', import.meta.url), 'utf8');
    front = await startProxy('caddy', 0, (own) =>
      caddyfile
        .replace('auto_https disable_redirects', 'auto_https off')
        .replace('{$BIO_SITE:localhost:8443}', `http://127.0.0.1:${own}`)
        .replace('{$BIO_CELLS:127.0.0.1:8090}', `127.0.0.1:${port}`),
    );
  });
  afterAll(async () => {
    stop.abort();
    await directory;
    await front?.stop();
    await wayToB?.close();
    await a?.close();
    await b?.close();
    rmSync(work, { recursive: true, force: true });
  });

  async function ask(path: string, as: string, init: RequestInit = {}): Promise<Readonly<{ status: number; text: string }>> {
    const headers = { ...(as === '' ? {} : { authorization: `Bearer ${as}` }), 'x-forwarded-proto': 'https', ...init.headers };
    const response = await fetch(front.baseUrl + path, { ...init, headers });
    return { status: response.status, text: await response.text() };
  }

  it('a key, a token and a session reach their own organization', async () => {
    for (const [cell, name] of [
      [a, 'ada of a'],
      [b, 'ada of b'],
    ] as const) {
      const { xuser_token: token, xuser_id: id } = await cell.token(name);
      for (const as of [cell.org.apiKey.key, token]) {
        const { status, text } = await ask(`/api/v1/xusers/${id}`, as);
        expect([status, text.includes(name)], text).toEqual([200, true]);
      }
      const watched = await cell.watch(name, token, front.baseUrl);
      await until(() => watched.ready());
      watched.socket.close();
    }
  });

  // promise: cells-apart
  it('while the database of one cell is away, refused or silent, the other is asked and answered as before', async () => {
    try {
      for (const mode of ['refuse', 'hole'] as const) {
        wayToB.mode = mode;
        await until(async () => (await ask('/api/v1/xusers', b.org.apiKey.key)).status === 503, 20_000);
        await sleep(KNOWN_MS); // what the directory knows of a's key is forgotten
        const startedMs = performance.now();
        expect((await ask('/api/v1/xusers', a.org.apiKey.key)).status).toBe(200);
        expect(performance.now() - startedMs).toBeLessThan(1500); // the directory gives up on b after 2 s
      }
    } finally {
      wayToB.mode = 'pass';
    }
    await until(async () => (await ask('/api/v1/xusers', b.org.apiKey.key)).status === 200, 20_000);
  });

  it('what no cell knows is refused as the service would, and what needs no credential is answered', async () => {
    for (const as of ['org_live_nothing', 'x.y.z', `${a.org.apiKey.key.slice(0, -1)}_`]) {
      const { status, text } = await ask('/api/v1/xusers', as);
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([401, 'credential_invalid']);
    }
    expect((await ask('/healthz', '')).status).toBe(200);
    expect((await ask('/api/v1/xusers', '')).status).toBe(401);
  });

  // promise: moved-rests
  it('an organization is moved while its device sends: nothing acknowledged is lost, and it answers from the other cell', async () => {
    const { orgId, apiKey } = await createOrganization(a.database.pool, 'Moving');
    const packets = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 60, deviceId: 'moving patch' });
    const startNs = BigInt(Date.now() - 600_000) * 1_000_000n;
    let acknowledged = 0;
    let refused = 0;
    const finish = new AbortController();
    const sending = (async () => {
      for (const packet of packets) {
        const body = Buffer.from(encodePacket({ ...packet, subject: 'moving', t0UnixNs: startNs + packet.t0DeviceNs, sentUnixNs: 0n }));
        for (;;) {
          const headers = { 'content-type': 'application/x-protobuf' };
          const { status, text } = await ask('/ingest/raw-packet', apiKey.key, { method: 'POST', body, headers });
          if (status === 202) break;
          expect([status, text]).toEqual([503, expect.stringContaining('unavailable')]);
          refused += 1;
          await sleep(200);
        }
        acknowledged += 1;
        if (!finish.signal.aborted) await sleep(150);
      }
    })();
    await until(() => acknowledged >= 3);
    const hooked: number[] = [];
    const hook = createServer((_, response) => {
      hooked.push(performance.now());
      response.writeHead(hooked.length === 1 ? 503 : 204).end();
    });
    await once(hook.listen(0, '127.0.0.1'), 'listening');
    const as = apiKey.key;
    const { port } = hook.address() as AddressInfo;
    const webhook = { url: `http://127.0.0.1:${port}/`, events: ['xuser.updated'] };
    expect((await a.send('POST', '/api/v1/webhooks', { as, body: webhook })).status).toBe(201);
    const { body: people } = await a.send<{ xuser_id: string }[]>('GET', '/api/v1/xusers', { as });
    const task = { subject_id: people[0]!.xuser_id, title: 'Tablet', every: 'day', times: ['08:00'] };
    expect((await a.send('POST', '/api/v1/task-schedules', { as, body: task })).status).toBe(201);
    expect((await a.send('PATCH', `/api/v1/xusers/${people[0]!.xuser_id}`, { as, body: { display_name: 'Ann' } })).status).toBe(200);
    await until(() => hooked.length === 1); // the next attempt is due in five seconds
    const folder = join(work, 'moving');
    const code = await run(org, { DATABASE_URL: a.database.url, BIO_MOVE_TO: b.database.url }, 'move', 'Moving', '--folder', folder);
    expect(code, lines.join('\n')).toBe(0);
    finish.abort();
    await sending;
    expect(refused).toBeGreaterThan(0);
    await until(async () => {
      const { rows } = await b.database.pool.query<{ n: number }>(
        'select coalesce(sum(k.n), 0)::int as n from sample_block k join stream s on s.id = k.stream_id where s.organization_id = $1',
        [orgId],
      );
      return rows[0]!.n === 60 * 250;
    });
    expect((await a.send('GET', '/api/v1/xusers', { as: apiKey.key })).status).toBe(503);
    expect((await ask('/api/v1/streams?subject_id=moving', apiKey.key)).status).toBe(200);

    // What works in the background goes on in the other cell alone.
    const attempts = async ({ database }: RunningService): Promise<readonly string[]> =>
      (
        await database.pool.query<{ said: string }>(
          `select d.status || ' ' || d.attempts as said from webhook_delivery d join webhook w on w.id = d.webhook_id where w.organization_id = $1`,
          [orgId],
        )
      ).rows.map(({ said }) => said);
    await until(async () => (await attempts(b)).join() === 'delivered 2', 30_000);
    expect([await attempts(a), hooked.length]).toEqual([['pending 1'], 2]);
    hook.close();
    const tasks = async ({ database }: RunningService): Promise<number> => {
      await database.pool.query(`with gone as (delete from task) update task_schedule set made_until = null`);
      await keepOccurrences(database.pool);
      return (await database.pool.query('select from task where organization_id = $1', [orgId])).rowCount ?? 0;
    };
    expect([await tasks(a), await tasks(b)]).toEqual([0, expect.toSatisfy((n: number) => n > 0)]);

    const env = { DATABASE_URL: a.database.url, BIO_MOVE_TO: b.database.url };
    expect(await run(org, env, 'move', 'Moving', '--folder', join(work, 'again')), lines.join('\n')).toBe(0);
    expect(lines.join()).toContain('was moved before');
    expect(await run(org, env, 'move', 'Moving', '--back')).not.toBe(0);
    expect(await run(org, env, 'remove', 'Test', '--yes')).not.toBe(0);
    expect(await run(org, env, 'remove', 'Moving', '--yes'), lines.join('\n')).toBe(0);
    // Each cell keeps its own chain whole; what was done before the move is in both, the removal where it was done.
    for (const { database } of [a, b]) expect(await run(auditLog, { DATABASE_URL: database.url }, 'verify'), lines.join('\n')).toBe(0);
    const entries = async ({ database }: RunningService, action: string): Promise<number> =>
      (await database.pool.query('select from audit_log where organization_id = $1 and action = $2', [orgId, action])).rowCount ?? 0;
    const counts = async (action: string) => [await entries(a, action), await entries(b, action)];
    expect([await counts('webhook.created'), await counts('organization.removed')]).toEqual([
      [1, 1],
      [1, 0],
    ]);
    const left = await a.database.pool.query('select from stream where organization_id = $1', [orgId]);
    expect(left.rows).toHaveLength(0);
    expect((await ask('/api/v1/streams?subject_id=moving', apiKey.key)).status).toBe(200);
  });

  it('a move that fails leaves the organization where it is', async () => {
    const { apiKey } = await createOrganization(a.database.pool, 'Staying');
    const env = { DATABASE_URL: a.database.url, BIO_MOVE_TO: a.database.url };
    expect(await run(org, env, 'move', 'Staying', '--folder', join(work, 'staying'))).not.toBe(0);
    await until(async () => (await ask('/api/v1/xusers', apiKey.key)).status === 200);
  });
});
