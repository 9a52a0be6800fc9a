/** `biosignal conform` as a user runs it, in a process of its own: against a service that is right, one that answers a single thing
 *  wrong, and interrupted. However it ends, nothing of it is left but empty projects, keys that are revoked, and the audit log. */
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Summary = Readonly<{
  passed: number;
  failed: number;
  skipped: number;
  left: readonly string[];
  checks: readonly { group: string; name: string; got: string; result: string }[];
}>;
type Ended = Readonly<{ code: number | null; out: string; err: string }>;

const main = join(import.meta.dirname, '../../src/cli/main.ts');
const CHECKS_MIN = 250;
const RUN_MS_MAX = 180_000;

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '1000' });
});
afterAll(() => running.close());

/** @param begun called with the process when it runs */
function conform(args: readonly string[], begun: (stop: () => void) => void = () => undefined): Promise<Ended> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'conform', ...args], {
    env: { ...process.env, BIO_KEY: running.org.apiKey.key },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  begun(() => child.kill('SIGINT'));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

const rowsOf = async (sql: string): Promise<number> => {
  const { rows } = await running.database.pool.query<{ count: string }>(sql);
  return Number(rows[0]?.count);
};

/** Tables that hold something of a person or a device, and keys that still work. */
async function whatIsLeft(): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const table of [
    'xuser',
    'device',
    'stream',
    'measurement',
    'episode',
    'mood',
    'journal_entry',
    'task',
    'goal',
    'consent',
    'sample_block',
  ])
    left[table] = await rowsOf(`select count(*) from ${table}`);
  left['api_key'] = await rowsOf(`select count(*) from api_key where name like 'conform-%' and revoked_at is null`);
  left['sdk_key'] = await rowsOf(`select count(*) from sdk_key where name = 'conform' and revoked_at is null`);
  left['webhook'] = await rowsOf('select count(*) from webhook where disabled_at is null');
  left['allowed_origin'] = await rowsOf('select count(*) from allowed_origin');
  left['settings'] = await rowsOf(`select count(*) from project where consent_required <> '{}'`);
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0));
}

it('makes no second project where there is one, unless it is told to', async () => {
  const { code, err } = await conform([running.service.baseUrl]);
  expect(err).toContain('--new-project');
  expect(code).toBe(2);
  expect(await rowsOf('select count(*) from project')).toBe(1);
});

it(
  'passes against the service, and cleans up',
  async () => {
    const { code, out, err } = await conform([running.service.baseUrl, '--new-project', '--json']);
    expect(err).toBe('');
    const { passed, failed, left, checks } = JSON.parse(out) as Summary;
    expect(checks.filter(({ result }) => result === 'failed')).toEqual([]);
    expect({ failed, left, code }).toEqual({ failed: 0, left: [], code: 0 });
    expect(passed).toBeGreaterThanOrEqual(CHECKS_MIN);
    expect(out).not.toContain(running.org.apiKey.key);
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'finds an answer that is wrong, and cleans up',
  async () => {
    const proxy = await conflictsAsDuplicates(running.service.port);
    try {
      const { code, out } = await conform([proxy.baseUrl, '--only', 'Ingest', '--json']);
      const { checks, left } = JSON.parse(out) as Summary;
      const failed = checks.filter(({ result }) => result === 'failed').map(({ name }) => name);
      expect(failed).toEqual(['Its number with other samples', 'Its number at another device time', 'Its number with one event more']);
      expect({ code, left }).toEqual({ code: 1, left: [] });
    } finally {
      await proxy.stop();
    }
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'cleans up when it is interrupted',
  async () => {
    const { code } = await conform([running.service.baseUrl], (stop) => {
      void until(async () => (await rowsOf('select count(*) from stream')) > 0, RUN_MS_MAX).then(stop);
    });
    expect(code).toBe(130);
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

/** A proxy that answers 409 of a device as if its packet had been stored before. */
async function conflictsAsDuplicates(servicePort: number): Promise<{ baseUrl: string; stop: () => Promise<void> }> {
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req;
    // A connection of its own for each: one that was kept may end at the moment in which it is used again.
    const onward = request({ host: '127.0.0.1', port: servicePort, method, path, headers, agent: false }, (answer) => {
      if (answer.statusCode !== 409 || req.url !== '/ingest/raw-packet') {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
        return;
      }
      answer.resume();
      const reply = { accepted: 0, duplicates: 1, unverified: 0, rejected: [], high_seq: 0, server_time_ns: 0 };
      res.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { baseUrl: `http://127.0.0.1:${port}`, stop };
}
