/** `biosignal cells` asks its databases as the service does: an administrator's time limits for other programs are not its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { cells } from '../../src/cli/cells.ts';
import { runCommand } from '../../src/cli/command.ts';
import { testDatabase, until } from '../helpers/database.ts';

it('a login that may not see every organization is told to the operator, and refuses no device for good', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Hidden');
  const login = `cells_${Math.random().toString(36).slice(2)}`;
  await database.pool.query(`create role ${login} login password 'word'`);
  const work = mkdtempSync(join(tmpdir(), 'biosignal-cells-'));
  const file = join(work, 'cells.json');
  const address = Object.assign(new URL(database.url), { username: login, password: 'word' }).href;
  writeFileSync(file, JSON.stringify({ cells: [{ name: 'a', upstream: '127.0.0.1:1', database: address }] }));
  const stop = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const running = runCommand(cells, [file, '--listen', '127.0.0.1:0'], {
    out: say,
    err: say,
    progress: null,
    env: {},
    cwd: work,
    signal: stop.signal,
  });
  try {
    await until(() => lines.some((line) => line.includes('answers at')));
    const ask = async (): Promise<number> =>
      (await fetch(/http:\S+/.exec(lines.join(' '))![0], { headers: { authorization: `Bearer ${apiKey.key}` } })).status;
    expect(await ask()).toBe(503); // a device that is answered 401 sends no more
    expect(await ask()).toBe(503);
    const told = (why: string): number => lines.filter((line) => line.includes(`cell 'a' cannot be asked: ${why}`)).length;
    expect(told('query would be affected by row-level security policy'), lines.join('\n')).toBe(1);
    await database.pool.query(`alter role ${login} bypassrls`);
    expect(await ask()).toBe(503);
    expect(told('permission denied for table'), lines.join('\n')).toBe(1);
    await database.pool.query(`grant select on api_key, organization, operator_session, operator_account to ${login}`);
    expect(await ask()).toBe(200);
    expect(lines.at(-1)).toContain("cell 'a' answers again");
  } finally {
    stop.abort();
    await running;
    await database.pool.query(`drop owned by ${login}; drop role ${login}`);
    rmSync(work, { recursive: true });
  }
});

it('a limit of the database for waits leaves the answers of the directory as they are', async () => {
  await using database = await testDatabase();
  const { apiKey } = await createOrganization(database.pool, 'Waiting');
  await database.pool.query(`alter database "${new URL(database.url).pathname.slice(1)}" set lock_timeout = '50ms'`);
  const work = mkdtempSync(join(tmpdir(), 'biosignal-cells-'));
  const file = join(work, 'cells.json');
  // A name in the address is a person's, too.
  const address = `${database.url}${database.url.includes('?') ? '&' : '?'}application_name=another`;
  writeFileSync(file, JSON.stringify({ cells: [{ name: 'a', upstream: '127.0.0.1:1', database: address }] }));
  const stop = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const running = runCommand(cells, [file, '--listen', '127.0.0.1:0'], {
    out: say,
    err: say,
    progress: null,
    env: {},
    cwd: work,
    signal: stop.signal,
  });
  const locking = await database.connect();
  try {
    await until(() => lines.some((line) => line.includes('answers at')));
    await locking.query('begin; lock table api_key in access exclusive mode');
    const asked = fetch(/http:\S+/.exec(lines.join(' '))![0], { headers: { authorization: `Bearer ${apiKey.key}` } });
    await sleep(500);
    await locking.query('commit');
    const { status, headers } = await asked;
    expect([status, headers.get('bio-cell')]).toEqual([200, 'a']);
    const named = "select from pg_stat_activity where datname = current_database() and application_name = 'biosignal cells'";
    expect((await database.pool.query(named)).rowCount).toBe(1);
  } finally {
    await locking.end();
    stop.abort();
    await running;
    rmSync(work, { recursive: true });
  }
});
