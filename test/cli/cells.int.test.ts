/** Two services with a database each behind one address: Caddy as ops/caddy/Caddyfile.cells sets it up, and `biosignal cells`. Every kind
 *  of credential reaches its own organization and no other; an organization is moved while its device sends, and nothing is lost. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { cells } from '../../src/cli/cells.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Command, Console } from '../../src/cli/command.ts';
import { org } from '../../src/cli/organizations.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { until } from '../helpers/database.ts';
import { hasProxy, startProxy } from '../helpers/proxy.ts';
import type { Proxy } from '../helpers/proxy.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const there = hasProxy('caddy');
const SECRET = 'one secret for every cell, of forty bytes';
let a: RunningService;
let b: RunningService;
let front: Proxy;
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
    [a, b] = await Promise.all([runService(env), runService(env)]);
    const cell = (name: string, { service, database }: RunningService) => ({
      name,
      upstream: `127.0.0.1:${service.port}`,
      database: database.url,
    });
    const file = join(work, 'cells.json');
    writeFileSync(file, JSON.stringify({ cells: [cell('a', a), cell('b', b)] }));
    directory = runCommand(cells, [file, '--listen', '127.0.0.1:0'], consoleOf({}, stop.signal));
    await until(() => lines.some((line) => line.includes('answers at')));
    const port = /:(\d+)\/cell/.exec(lines.join())![1]!;
    const caddyfile = readFileSync(new URL('../../ops/caddy/Caddyfile.cells', import.meta.url), 'utf8');
    front = await startProxy(
      'caddy',
      0,
      (own) =>
        `{\n  admin off\n  auto_https off\n}\n${caddyfile.replace('{$BIO_SITE}', `http://127.0.0.1:${own}`).replace('{$BIO_CELLS:127.0.0.1:8090}', `127.0.0.1:${port}`)}`,
    );
  }, 60_000);
  afterAll(async () => {
    stop.abort();
    await directory;
    await front?.stop();
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

  it('what no cell knows is refused as the service would, and what needs no credential is answered', async () => {
    for (const as of ['org_live_nothing', 'x.y.z', `${a.org.apiKey.key.slice(0, -1)}_`]) {
      const { status, text } = await ask('/api/v1/xusers', as);
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([401, 'credential_invalid']);
    }
    expect((await ask('/healthz', '')).status).toBe(200);
    expect((await ask('/api/v1/xusers', '')).status).toBe(401);
  });

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

    const env = { DATABASE_URL: a.database.url, BIO_MOVE_TO: b.database.url };
    expect(await run(org, env, 'move', 'Moving', '--folder', join(work, 'again')), lines.join('\n')).toBe(0);
    expect(lines.join()).toContain('was moved before');
    expect(await run(org, env, 'move', 'Moving', '--back')).not.toBe(0);
    expect(await run(org, env, 'remove', 'Test', '--yes')).not.toBe(0);
    expect(await run(org, env, 'remove', 'Moving', '--yes'), lines.join('\n')).toBe(0);
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
