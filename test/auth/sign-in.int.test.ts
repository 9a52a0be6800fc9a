/** Signing in to the dashboard in the whole service: its audit entries, whom guesses lock out, and its cookies. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { DeviceCookies } from '../../src/auth/device-cookies.ts';
import { signIn } from '../../src/tenancy/operators.ts';
import { runCommand, EXIT_FAILED, EXIT_OK } from '../../src/cli/command.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { putMember } from '../helpers/members.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { Answer, RunningService } from '../helpers/running-service.ts';

const password = 'a long enough password';
/** Connections to the service come from a proxy, which names the client's address. */
const proxy = { BIO_TRUST_PROXY: '127.0.0.1', BIO_SECRET: 'Wq3v8mZt1kY6rP0sD5xN2bH7cJ4gL9fA', BIO_SESSION_IDLE_MIN: '5' };
const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

let running: RunningService;
beforeAll(async () => {
  running = await runService(proxy);
});
afterAll(async () => {
  await running?.close();
});

const member = async (email: string, role: 'owner' | 'viewer' = 'viewer'): Promise<string> =>
  (await putMember(running.database.pool, { orgId: running.org.orgId, email, displayName: '', role, password })).id;
const tryAt = (email: string, secret: string, headers: Record<string, string>): Promise<Answer<Record<string, unknown>>> =>
  running.send('POST', '/auth/session', { as: '', headers, body: { email, password: secret } });
const cookiesOf = (answer: Answer<unknown>): readonly string[] => answer.headers.getSetCookie();
const sent = (cookies: readonly string[]): string => cookies.map((cookie) => cookie.split(';')[0]).join('; ');
type Entry = Readonly<{ action: string; actor_id: string; target_id: string; ip: string; detail: { count?: number } }>;
const log = async (action: string): Promise<readonly Entry[]> =>
  (await running.send<Entry[]>('GET', `/api/v1/audit-log?action=${action}`, { headers: from('10.0.0.1') })).body;

describe('the audit log', () => {
  // promise: audit-sign-ins
  // setting: BIO_TRUST_PROXY
  it('has sign-ins, failures and sign-outs with their account and address', async () => {
    const id = await member('logged@x.example');
    expect((await tryAt('logged@x.example', 'wrong', from('10.1.1.1'))).status).toBe(401);
    const good = await tryAt('Logged@x.example', password, from('10.1.1.2'));
    expect(good.status, good.text).toBe(200);
    const headers = { ...from('10.1.1.2'), cookie: sent(cookiesOf(good)), 'sec-fetch-site': 'same-origin' };
    expect((await running.send('DELETE', '/auth/session', { as: '', headers })).status).toBe(204);
    expect(await log('session.created')).toMatchObject([{ actor_id: id, target_id: id, ip: '10.1.1.2' }]);
    expect(await log('session.refused')).toMatchObject([{ actor_id: '', target_id: id, ip: '10.1.1.1', detail: { count: 1 } }]);
    expect(await log('session.ended')).toMatchObject([{ actor_id: id, target_id: id, ip: '10.1.1.2' }]);
  });

  // promise: audit-strangers
  it('has failures of addresses without an account for the installation, without what was typed', async () => {
    expect((await tryAt('no-such-person@x.example', 'wrong', from('10.1.2.1'))).status).toBe(401);
    await log('session.refused');
    const { rows } = await running.database.pool.query<{ text: string }>(
      `select to_jsonb(a)::text as text from audit_log a where organization_id is null and action = 'session.refused'`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).toContain('10.1.2.1');
    expect(rows[0]?.text).not.toContain('no-such-person');
  });

  // promise: audit-repeats
  it('is not flooded by guesses: of one account and address it has one entry a minute', async () => {
    const id = await member('flooded@x.example');
    await Promise.all(Array.from({ length: 9 }, (_, i) => tryAt('flooded@x.example', `guess ${i}`, from('10.1.3.1'))));
    const entries = (await log('session.refused')).filter(({ target_id: target }) => target === id);
    expect(entries).toMatchObject([{ ip: '10.1.3.1' }]);
    await tryAt('flooded@x.example', 'one more', from('10.1.3.1'));
    expect((await log('session.refused')).filter(({ target_id: target }) => target === id)).toHaveLength(1);
  });
});

describe('guesses', () => {
  const device = (signedIn: Answer<unknown>): string => sent(cookiesOf(signedIn).filter((cookie) => cookie.includes('bio_device')));
  const refusals = (answers: readonly Answer<unknown>[]): number => answers.filter(({ status }) => status === 429).length;
  /** Concurrently: in sequence, a busy machine would be as slow as the limit. */
  const guess = (count: number, email: string, headers: (i: number) => Record<string, string>) =>
    Promise.all(Array.from({ length: count }, (_, i) => tryAt(email, `guess ${i}`, headers(i))));

  // promise: sign-in-limits, known-browser
  it('from one address lock out no other address, and no known browser at the same one', async () => {
    await member('wanted@x.example', 'owner');
    const known = await tryAt('wanted@x.example', password, from('10.2.0.9'));
    expect(known.status).toBe(200);
    expect(refusals(await guess(30, 'wanted@x.example', () => from('10.2.0.1')))).toBeGreaterThan(15);
    expect((await tryAt('wanted@x.example', password, from('10.2.0.2'))).status).toBe(200);
    expect((await tryAt('wanted@x.example', password, { ...from('10.2.0.1'), cookie: device(known) })).status).toBe(200);
  });

  // promise: sign-in-limits, known-browser
  it('from many addresses are slowed per account, for IPv6 per subscriber, and lock out no known browser', async () => {
    await member('botnet@x.example');
    const known = await tryAt('botnet@x.example', password, from('10.3.0.1'));
    const address = (i: number): string => (i < 16 ? `2001:db8:ffff:1::${i + 1}` : `2001:db8:${i.toString(16)}::1`);
    const answers = await guess(40, 'botnet@x.example', (i) => from(address(i)));
    expect(refusals(answers.slice(0, 16))).toBeGreaterThan(3);
    expect(refusals(answers.slice(16))).toBeGreaterThan(3);
    expect((await tryAt('botnet@x.example', password, { ...from('10.3.0.2'), cookie: device(known) })).status).toBe(200);
  });

  // promise: sign-in-limits, known-browser
  it('from a known browser are slowed as any other, and it is known for its own account only', async () => {
    await member('stolen@x.example');
    const cookie = device(await tryAt('stolen@x.example', password, from('10.4.0.1')));
    const own = await guess(14, 'stolen@x.example', (i) => ({ ...from(`10.4.1.${i}`), cookie }));
    expect(refusals(own)).toBeGreaterThan(1);
    expect(refusals(own)).toBeLessThanOrEqual(4); // ten tries are its own
    expect(own.filter(({ status }) => ![401, 429, 503].includes(status))).toEqual([]); // 503: on a slow machine too many wait
    const cookies = new DeviceCookies(Buffer.alloc(32, 1));
    const made = cookies.issue('a@x.example');
    expect(cookies.open('A@x.example', made)).toMatch(/^[\w-]{16}$/);
    expect(cookies.open('b@x.example', made)).toBeNull();
    expect(new DeviceCookies(Buffer.alloc(32, 2)).open('a@x.example', made)).toBeNull();
    for (const forged of [
      '',
      '1',
      made.replace(/^\d+/, '1'),
      made.replace(/^\d+/, '9999999999'),
      `${made.slice(0, -1)}!`,
      `${made}.x`.replace(/\.[^.]+\.x$/, '.AAAA'),
    ]) {
      expect(cookies.open('a@x.example', forged), forged).toBeNull();
    }
  });
});

describe('a session', () => {
  const session = async (email: string) => {
    const id = await member(email, 'owner');
    const { token } = await signIn(running.database.pool, email, password, { ip: '127.0.0.1', userAgent: '' });
    return { id, headers: { ...from('10.5.0.1'), cookie: `__Host-bio_session=${token}` }, token };
  };
  const status = async (headers: Record<string, string>, method = 'GET', path = '/auth/session', body?: object): Promise<number> =>
    (await running.send(method, path, { as: '', headers, ...(body === undefined ? {} : { body }) })).status;

  // promise: session-cookie, device-cookie, known-browser
  it('is a cookie that no other host can set, where the service is reached over HTTPS', async () => {
    await member('cookie@x.example');
    const signedIn = await tryAt('cookie@x.example', password, from('10.5.0.2'));
    const cookies = cookiesOf(signedIn);
    expect(cookies).toHaveLength(2);
    for (const [i, name] of ['__Host-bio_session', '__Host-bio_device'].entries()) {
      expect(cookies[i]).toMatch(new RegExp(`^${name}=[^;]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=\\d+; Secure$`));
    }
    expect(cookies[1]).toContain('; Max-Age=15552000; '); // 180 days
    expect(await status({ ...from('10.5.0.2'), cookie: sent(cookies) })).toBe(200);
    expect(await status({ ...from('10.5.0.2'), cookie: sent(cookies).replace('__Host-bio_session', 'bio_session') })).toBe(401);
    expect(await status({ ...from('10.5.0.2'), cookie: sent(cookies.slice(1)) })).toBe(401); // a known browser, and nobody signed in
  });

  // promise: session-idle
  // setting: BIO_SESSION_IDLE_MIN
  it('ends after a period without requests', async () => {
    const { id, headers } = await session('idle@x.example');
    expect(await status(headers)).toBe(200);
    await running.database.pool.query(`update operator_session set last_seen_at = now() - interval '4 minutes' where operator_id = $1`, [
      id,
    ]);
    await until(async () => {
      const { rows } = await running.database.pool.query<{ fresh: boolean }>(
        `select last_seen_at > now() - interval '1 minute' as fresh from operator_session where operator_id = $1`,
        [id],
      );
      return (await status(headers)) === 200 && rows[0]?.fresh === true;
    });
    await running.database.pool.query(`update operator_session set last_seen_at = now() - interval '6 minutes' where operator_id = $1`, [
      id,
    ]);
    await running.database.pool.query(`select pg_notify('bio_auth', 'operator_session:x')`);
    await until(async () => (await status(headers)) === 401);
  });

  // promise: session-origin
  it('allows changes only from requests that come from a page of the service', async () => {
    const { headers } = await session('origin@x.example');
    const host = new URL(running.service.baseUrl).host;
    const change = (more: Record<string, string>) => status({ ...headers, ...more }, 'POST', '/api/v1/projects', { name: 'made' });
    expect(await change({})).toBe(403);
    expect(await change({ origin: 'https://evil.example' })).toBe(403);
    expect(await change({ origin: 'null' })).toBe(403);
    expect(await change({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await change({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await change({ 'sec-fetch-site': 'same-origin' })).toBe(201);
    expect(await change({ origin: `https://${host}` })).toBe(201);
    expect(await status(headers, 'DELETE')).toBe(403);
    expect(await status(headers)).toBe(200);
    expect((await running.send('POST', '/api/v1/projects', { body: { name: 'by key' }, headers: from('10.5.0.1') })).status).toBe(201);
  });

  // promise: session-origin
  it('cannot be started by a page of another origin', async () => {
    await member('csrf@x.example');
    const status = async (more: Record<string, string>): Promise<number> =>
      (await tryAt('csrf@x.example', password, { ...from('10.5.0.3'), ...more })).status;
    expect(await status({ origin: 'https://evil.example' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await status({})).toBe(200);
  });
});

describe('BIO_SECRET', () => {
  const start = async (env: Record<string, string>): Promise<string> => {
    await using database = await testDatabase();
    const config = readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent', ...env });
    try {
      const service = await startService({ config });
      await service.stop();
      return 'started';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  const check = async (env: Record<string, string>): Promise<{ code: number; out: string }> => {
    let out = '';
    const code = await runCommand(doctor, ['--no-database'], {
      out: (line) => void (out += `${line}\n`),
      err: (line) => void (out += `${line}\n`),
      progress: null,
      env,
      cwd: '.',
      signal: new AbortController().signal,
    });
    return { code, out };
  };

  // promise: metrics-guarded
  it('metrics are for this machine only where they have no token', async () => {
    const metrics = async (headers: Record<string, string>): Promise<number> =>
      (await running.send('GET', '/metrics', { as: '', headers })).status;
    expect([await metrics(from('10.5.0.9')), await metrics(from('127.0.0.1'))]).toEqual([401, 200]);
  });

  // promise: details-guarded
  it('details of /readyz are for this machine, the dashboard and keys that may administer; others are told what works', async () => {
    type Parts = { status: string; node?: string; parts: { name: string; ok: boolean; detail?: string }[] };
    const ready = async (headers: Record<string, string>, as = ''): Promise<readonly [status: number, parts: number, details: number]> => {
      const { status, body } = await running.send<Parts>('GET', '/readyz', { as, headers });
      // The name of the machine is one of the details.
      expect(body.node === undefined).toBe(body.parts.every(({ detail }) => detail === undefined));
      return [status, body.parts.length, body.parts.filter(({ detail }) => detail !== undefined).length];
    };
    const [status, count, details] = await ready(from('127.0.0.1'));
    expect([status, details]).toEqual([200, count]);
    expect(count).toBeGreaterThan(5);
    const far = from('10.5.0.9');
    const { key: reader } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'reader', scopes: ['read'] });
    const admin = running.org.apiKey.key;
    for (const as of [admin, reader]) await running.send('GET', '/api/v1/xusers', { as, headers: far }); // the service verifies them
    const found = await Promise.all([ready(far), ready(far, reader), ready(far, `${admin}x`), ready(far, admin)]);
    expect(found.map(([code, parts, told]) => [code, parts === count, told])).toEqual([
      [200, true, 0],
      [200, true, 0],
      [200, true, 0],
      [200, true, count],
    ]);
    await member('looks@x.example');
    const headers = { ...far, cookie: sent(cookiesOf(await tryAt('looks@x.example', password, far))) };
    expect((await ready(headers))[2]).toBe(0); // a session that no request has used here is not looked up
    expect((await running.send('GET', '/api/v1/xusers', { as: '', headers })).status).toBe(200);
    expect((await ready(headers))[2]).toBe(count);
  });

  // promise: secret-needed
  // setting: BIO_SECRET
  it('is needed where other machines reach the service', async () => {
    expect(await start({})).toBe('started');
    expect(await start({ BIO_HOST: '0.0.0.0' })).toContain('BIO_SECRET is needed: BIO_HOST is 0.0.0.0');
    expect(await start({ BIO_TRUST_PROXY: '127.0.0.1' })).toContain('BIO_SECRET is needed: BIO_TRUST_PROXY names a proxy');
    expect(await start({ BIO_HOST: '0.0.0.0', BIO_SECRET: proxy.BIO_SECRET })).toBe('started');
  });

  // promise: secret-poor, doctor-exit
  it('is checked by doctor', async () => {
    expect(await check({})).toMatchObject({ code: EXIT_OK, out: expect.stringMatching(/WARNING +secret/) });
    expect(await check({ BIO_TRUST_PROXY: '10.0.0.1' })).toMatchObject({ code: EXIT_FAILED, out: expect.stringMatching(/FAULT +secret/) });
    expect((await check(proxy)).out).not.toContain('no BIO_SECRET');
  });

  // promise: secret-poor
  it.each(['x'.repeat(32), 'changeme'.repeat(4), '1212121212121212121212121212121212', 'aaaabbbbccccddddeeeeffffaaaabbbbc'])(
    'is refused when it is poor: %s',
    (secret) => {
      expect(() => readConfig({ BIO_SECRET: secret })).toThrow('BIO_SECRET must be a random text');
    },
  );
  it.each(['0123456789abcdef0123456789abcdee', '8f1a3c5e7b9d2f4068ace13579bdf024', proxy.BIO_SECRET])('is accepted: %s', (secret) => {
    expect(readConfig({ BIO_SECRET: secret }).secret).toBe(secret);
  });
});
