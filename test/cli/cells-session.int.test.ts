/** `biosignal cells` asks its databases as the service does: an administrator's time limits for other programs are not its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { cells, KNOWN_MS } from '../../src/cli/cells.ts';
import { runCommand } from '../../src/cli/command.ts';
import { makeOrgKey } from '../../src/key-format.ts';
import { testDatabase, until } from '../helpers/database.ts';

/** `biosignal cells` with one cell. */
function startDirectory(database: string): { lines: string[]; url: Promise<string>; stop: () => Promise<void> } {
  const work = mkdtempSync(join(tmpdir(), 'biosignal-cells-'));
  const file = join(work, 'cells.json');
  writeFileSync(file, JSON.stringify({ cells: [{ name: 'a', upstream: '127.0.0.1:1', database }] }));
  const stopping = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const console = { out: say, err: say, progress: null, env: {}, cwd: work, signal: stopping.signal };
  const running = runCommand(cells, [file, '--listen', '127.0.0.1:0'], console);
  const url = until(() => lines.some((line) => line.includes('answers at'))).then(() => /http:\S+/.exec(lines.join(' '))![0]);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
    rmSync(work, { recursive: true });
  };
  return { lines, url, stop };
}

it('a login that may not see every organization is told to the operator, and refuses no device for good', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Hidden');
  const login = `cells_${Math.random().toString(36).slice(2)}`;
  await database.pool.query(`create role ${login} login password 'word'`);
  const address = Object.assign(new URL(database.url), { username: login, password: 'word' }).href;
  const directory = startDirectory(address);
  try {
    const url = await directory.url;
    const ask = async (): Promise<number> => (await fetch(url, { headers: { authorization: `Bearer ${apiKey.key}` } })).status;
    expect(await ask()).toBe(503); // a device that is answered 401 sends no more
    expect(await ask()).toBe(503);
    const told = (why: string): number => directory.lines.filter((line) => line.includes(`cell 'a' cannot be asked: ${why}`)).length;
    expect(told('query would be affected by row-level security policy'), directory.lines.join('\n')).toBe(1);
    await database.pool.query(`alter role ${login} bypassrls`);
    expect(await ask()).toBe(503);
    expect(told('permission denied for table'), directory.lines.join('\n')).toBe(1);
    await database.pool.query(`grant select on api_key, organization, operator_session, operator_account to ${login}`);
    expect(await ask()).toBe(200);
    expect(directory.lines.at(-1)).toContain("cell 'a' answers again");
  } finally {
    await directory.stop();
    await database.pool.query(`drop owned by ${login}; drop role ${login}`);
  }
});

it('a limit of the database for waits leaves the answers of the directory as they are', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Waiting');
  await database.pool.query(`alter database "${new URL(database.url).pathname.slice(1)}" set lock_timeout = '50ms'`);
  // A name in the address is a person's, too.
  const address = `${database.url}${database.url.includes('?') ? '&' : '?'}application_name=another`;
  const directory = startDirectory(address);
  const locking = await database.connect();
  try {
    const url = await directory.url;
    await locking.query('begin; lock table api_key in access exclusive mode');
    const asked = fetch(url, { headers: { authorization: `Bearer ${apiKey.key}` } });
    await sleep(500);
    await locking.query('commit');
    const { status, headers } = await asked;
    expect([status, headers.get('bio-cell')]).toEqual([200, 'a']);
    const named = "select from pg_stat_activity where datname = current_database() and application_name = 'biosignal cells'";
    expect((await database.pool.query(named)).rowCount).toBe(1);
  } finally {
    await locking.end();
    await directory.stop();
  }
});

it('guesses keep no one from being answered', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Known');
  const { apiKey: other } = await createOrganization(database.pool, 'New');
  // A question takes 200 ms, and is counted.
  await database.pool.query(`create schema slow; create sequence slow.asked; grant usage on schema slow to public;
    create view slow.api_key as select k.* from (select pg_sleep(0.2), nextval('slow.asked')) s, public.api_key k`);
  const name = new URL(database.url).pathname.slice(1);
  await database.pool.query(`alter database "${name}" set search_path = slow, public`);
  const directory = startDirectory(database.url);
  try {
    const url = await directory.url;
    const ask = async (key: string, address: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
      return (await fetch(url, { headers })).status;
    };
    const wrong = makeOrgKey('live').key;
    const asked = async (): Promise<number> =>
      Number((await database.pool.query<{ n: string }>('select last_value as n from slow.asked')).rows[0]!.n);
    expect(await ask(apiKey.key, '192.0.2.1')).toBe(200);
    expect(await ask(wrong, '192.0.2.2')).toBe(401);
    const before = await asked();
    expect(await Promise.all(Array.from({ length: 20 }, () => ask(wrong, '192.0.2.2')))).toEqual(Array<number>(20).fill(401));
    expect(await asked()).toBe(before); // it is remembered for a moment

    await sleep(KNOWN_MS);
    const guesses = Array.from({ length: 120 }, () => ask(makeOrgKey('live').key, '192.0.2.2'));
    await sleep(300);
    expect(await Promise.all([ask(apiKey.key, '192.0.2.1'), ask(other.key, '192.0.2.3')])).toEqual([200, 200]);
    expect(new Set(await Promise.all(guesses))).not.toContain(200);
  } finally {
    await directory.stop();
  }
});

it('whose guesses are many is told to slow down', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Guessed');
  const directory = startDirectory(database.url);
  try {
    const url = await directory.url;
    const ask = async (key: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '192.0.2.2' };
      return (await fetch(url, { headers })).status;
    };
    let status = 401;
    for (let i = 0; status === 401 && i < 2000; i++) status = await ask(makeOrgKey('live').key);
    expect(status).toBe(429);
    expect(await ask(apiKey.key)).toBe(200);
  } finally {
    await directory.stop();
  }
});
