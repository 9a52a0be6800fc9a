/** `biosignal conform` as a user runs it, in a process of its own: against a service that is right, one that answers a single thing
 *  wrong, one that is away for a while, and interrupted. However it ends, nothing of it is left but empty projects, keys that are revoked,
 *  and the audit log; what a killed run left, a later one takes away. */
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { signIn } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { runCommand } from '../../src/cli/command.ts';
import { conform as conformCommand } from '../../src/cli/conform.ts';
import { putMember } from '../helpers/members.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Summary = Readonly<{
  passed: number;
  failed: number;
  skipped: number;
  left: readonly string[];
  cut: string;
  earlier: string;
  checks: readonly { group: string; name: string; got: string; result: string }[];
}>;
type Ended = Readonly<{ code: number | null; out: string; err: string }>;

const main = join(import.meta.dirname, '../../src/cli/main.ts');
const CHECKS_MIN = 800;
const RUN_MS_MAX = 600_000;

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '1000' });
});
afterAll(() => running.close());

/** @param begun called with the process when it runs */
function conform(args: readonly string[], begun: (stop: (signal?: NodeJS.Signals) => void) => void = () => undefined): Promise<Ended> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'conform', ...args], {
    env: { ...process.env, BIO_KEY: running.org.apiKey.key },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  begun((signal = 'SIGINT') => child.kill(signal));
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
  left['sdk_key'] = await rowsOf(`select count(*) from sdk_key where name like 'conform-%' and revoked_at is null`);
  left['webhook'] = await rowsOf('select count(*) from webhook where disabled_at is null');
  left['allowed_origin'] = await rowsOf('select count(*) from allowed_origin');
  left['settings'] = await rowsOf(`select count(*) from project where consent_required <> '{}'`);
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0));
}

it('creates no second project where there is one, unless told to', async () => {
  const { code, err } = await conform([running.service.baseUrl]);
  expect(err).toContain('--new-project');
  expect(code).toBe(2);
  expect(await rowsOf('select count(*) from project')).toBe(1);
});

it(
  'passes against the service, and cleans up',
  async () => {
    const { pool } = running.database;
    const other = await createOrganization(pool, 'Other');
    const options = ['--other-key', other.apiKey.key, '--session', `bio_session=${await operatorSession()}`];
    const { code, out, err } = await conform([running.service.baseUrl, '--new-project', '--json', ...options]);
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
      void until(async () => (await rowsOf('select count(*) from stream')) > 0, RUN_MS_MAX).then(() => stop());
    });
    expect(code).toBe(130);
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

async function operatorSession(): Promise<string> {
  const [email, password] = ['ada@members.example', 'a long enough password'];
  const { pool } = running.database;
  await putMember(pool, { orgId: running.org.orgId, email, displayName: 'Ada', role: 'admin', password });
  return (await signIn(pool, email, password, { ip: '127.0.0.1', userAgent: '' })).token;
}

it('refuses impossible options in a sentence, and creates nothing', async () => {
  const { pool } = running.database;
  const url = running.service.baseUrl;
  const keysBefore = await rowsOf('select count(*) from api_key');
  const { key } = await createApiKey(pool, { orgId: running.org.orgId, name: 'reader', scopes: ['read'] });
  const said = async (args: readonly string[]): Promise<string> => {
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    const env = { BIO_KEY: running.org.apiKey.key };
    const { signal } = new AbortController();
    const code = await runCommand(conformCommand, args, { out: say, err: say, progress: null, env, cwd: process.cwd(), signal });
    return `${code} ${lines[0]}`;
  };
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[url, '--key', key], '2 biosignal conform: --key lacks write, ingest, admin; it needs the scopes read, write, ingest, admin'],
    [[url, '--key', `${key}x`], '2 biosignal conform: --key is refused: '],
    [[url, '--key', (await running.token('ada')).xuser_token], '2 biosignal conform: --key takes an organization key'],
    [[url, '--other-key', running.org.apiKey.key], '2 biosignal conform: --other-key is of the same organization'],
    [[url, '--session', 'nobody'], '2 biosignal conform: nobody is signed in with --session'],
    [[url, '--report', '/nowhere/report.html'], '2 biosignal conform: --report /nowhere/report.html: cannot write to the folder /nowhere'],
    [[url, '--webhook-url', 'here'], "2 biosignal conform: --webhook-url: 'here' is not an address"],
    [[url.replace('http', 'https')], `2 biosignal conform: ${url.replace('http', 'https')} does not speak TLS: is it ${url}?`],
    [['http://127.0.0.1:1'], '1 biosignal conform: http://127.0.0.1:1 does not answer: '],
  ];
  const answers = await Promise.all(cases.map(([args]) => said(args)));
  for (const [i, [, begin]] of cases.entries()) expect(answers[i]).toContain(begin);
  expect(await rowsOf('select count(*) from api_key')).toBe(keysBefore + 1);
  await running.database.pool.query("delete from xuser where external_id = 'ada'");
});

it(
  'takes away what a killed run has left, when it must be over',
  async () => {
    const url = running.service.baseUrl;
    await conform([url], (stop) => {
      void until(async () => (await rowsOf('select count(*) from stream')) > 0, RUN_MS_MAX).then(() => stop('SIGKILL'));
    });
    const left = await whatIsLeft();
    expect(Object.keys(left)).toEqual(expect.arrayContaining(['xuser', 'stream', 'api_key']));

    const soon = JSON.parse((await conform([url, '--only', 'Description', '--json'])).out) as Summary;
    expect(soon.earlier).toContain('one is under way or was killed');
    expect(await whatIsLeft()).toMatchObject({ xuser: left['xuser'], api_key: left['api_key'] });

    await running.database.pool.query(`update api_key set expires_at = now() where name like 'conform-%'`); // the time has passed
    const later = JSON.parse((await conform([url, '--only', 'Description', '--json'])).out) as Summary;
    expect(later.earlier).toContain('taken away:');
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'ends when the service is away, and cleans up when it is back',
  async () => {
    const proxy = await conflictsAsDuplicates(running.service.port);
    const { code, out } = await conform([proxy.baseUrl, '--json'], () => {
      void until(async () => (await rowsOf('select count(*) from stream')) > 0, RUN_MS_MAX).then(async () => {
        await proxy.stop();
        setTimeout(() => void proxy.start(), 2000);
      });
    });
    await proxy.stop();
    const { cut, left } = JSON.parse(out) as Summary;
    expect(cut).toContain('the service is away');
    expect({ code, left }).toEqual({ code: 1, left: [] });
    expect(await whatIsLeft()).toEqual({});
  },
  RUN_MS_MAX,
);

/** A proxy that answers 409 of a device as if its packet had been stored before. */
async function conflictsAsDuplicates(
  servicePort: number,
): Promise<{ baseUrl: string; start: () => Promise<void>; stop: () => Promise<void> }> {
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
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { baseUrl: `http://127.0.0.1:${port}`, start: () => listen(port), stop };
}
