/** `biosignal conform` as a user runs it, against a service that is right. However it ends: conform-cut-short.int.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { signIn } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { runCommand } from '../../src/cli/command.ts';
import { conform as conformCommand } from '../../src/cli/conform.ts';
import { RUN_MS_MAX, conform, rowsOf, whatIsLeft } from '../helpers/conform.ts';
import type { Summary } from '../helpers/conform.ts';
import { putMember } from '../helpers/members.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const CHECKS_MIN = 800;

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '1000' });
});
afterAll(() => running.close());

it('creates no second project where there is one, unless told to', async () => {
  const { code, err } = await conform(running, [running.service.baseUrl]);
  expect(err).toContain('--new-project');
  expect(code).toBe(2);
  expect(await rowsOf(running, 'select count(*) from project')).toBe(1);
});

it(
  'passes against the service, and cleans up',
  async () => {
    const { pool } = running.database;
    const other = await createOrganization(pool, 'Other');
    const options = ['--other-key', other.apiKey.key, '--session', `bio_session=${await operatorSession()}`];
    const { code, out, err } = await conform(running, [running.service.baseUrl, '--new-project', '--json', ...options]);
    expect(err).toBe('');
    const { passed, failed, left, checks } = JSON.parse(out) as Summary;
    expect(checks.filter(({ result }) => result === 'failed')).toEqual([]);
    expect({ failed, left, code }).toEqual({ failed: 0, left: [], code: 0 });
    expect(passed).toBeGreaterThanOrEqual(CHECKS_MIN);
    expect(out).not.toContain(running.org.apiKey.key);
    expect(await whatIsLeft(running)).toEqual({});
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
  const keysBefore = await rowsOf(running, 'select count(*) from api_key');
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
  expect(await rowsOf(running, 'select count(*) from api_key')).toBe(keysBefore + 1);
  await running.database.pool.query("delete from xuser where external_id = 'ada'");
});
