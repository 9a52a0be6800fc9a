/** Time limits that an administrator has set on the database or the role for other programs: the service has its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { startService } from '../../src/server.ts';
import { testDatabase } from '../helpers/database.ts';

it('limits of the database for idle sessions and long statements leave the service as it is', async () => {
  await using database = await testDatabase();
  const name = new URL(database.url).pathname.slice(1);
  for (const limit of ['statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])
    await database.pool.query(`alter database "${name}" set ${limit} = '1500ms'`);
  const ours = await openDatabase(database.url);
  const connection = await ours.connect();
  try {
    await connection.query('select pg_sleep(2)');
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
