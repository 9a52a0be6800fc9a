/** Time limits that an administrator has set on the database or the role for other programs: the service has its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';
import { startService } from '../../src/server.ts';
import { testDatabase } from '../helpers/database.ts';

it('limits of the database for idle sessions and long statements leave the service as it is', async () => {
  await using database = await testDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const limits = [
    'statement_timeout',
    'idle_session_timeout',
    'idle_in_transaction_session_timeout',
    'lock_timeout',
    'transaction_timeout',
  ];
  const { rows } = await database.pool.query<{ name: string }>('select name from pg_settings where name = any($1)', [limits]);
  // transaction_timeout is PostgreSQL's from 17 on
  for (const { name: limit } of rows) await database.pool.query(`alter database "${name}" set ${limit} = '1500ms'`);
  const ours = await openDatabase(database.url);
  const connection = await ours.connect();
  try {
    await connection.query('select pg_sleep(2)');
    const several = await Promise.all([1, 2, 3].map(() => ours.pool.query<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(2)')));
    expect(new Set(several.map(({ rows: [row] }) => row!.pid)).size).toBe(3);
    await sleep(2000);
    await connection.query('select 1');
    expect((await ours.pool.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '30s' }]);
  } finally {
    await connection.end();
    await ours.close();
  }
  const faults: string[] = [];
  const note = (fields: object, message: string): void =>
    void faults.push(`${message} ${String((fields as { err?: Error }).err?.message)}`);
  const quiet = (): void => undefined;
  const service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0' }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
  });
  await sleep(6000);
  expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  expect(faults).toEqual([]);
  await service.stop();
});

it('a migration lasts longer than the longest transaction that the database allows others', async () => {
  await using database = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'biosignal-migrations-'));
  try {
    await writeFile(join(folder, '000001-long.sql'), 'select pg_sleep(2);');
    await database.pool.query('truncate migration');
    const has = await database.pool.query(`select from pg_settings where name = 'transaction_timeout'`);
    const name = new URL(database.url).pathname.slice(1);
    if (has.rowCount === 1) await database.pool.query(`alter database "${name}" set transaction_timeout = '1s'`);
    expect((await migrate(database.url, { folder: pathToFileURL(`${folder}/`) })).applied).toEqual(['000001-long.sql']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
