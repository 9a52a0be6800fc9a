/** Connections to the database: a node keeps to its number however many ask at once, three nodes fit the server's default of 100, and a
 *  server with less room gives a warning at the start. */
import pg from 'pg';
import { expect, test } from 'vitest';
import { readConfig, settings } from '../../src/config.ts';
import { poolSizes } from '../../src/storage/database/roles.ts';
import { runService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

const CONNECTIONS = 14;

// promise: connections-bound
// setting: BIO_DB_CONNECTIONS_MAX
test('a node keeps to BIO_DB_CONNECTIONS_MAX under a hundred requests at once, and answers all of them', async () => {
  const running = await runService({ BIO_DB_CONNECTIONS_MAX: String(CONNECTIONS), BIO_RETENTION_PERIOD_SEC: '1' });
  const observer = new pg.Client(running.database.url.replace(/\?.*/, ''));
  await observer.connect();
  const used = async (): Promise<number> => {
    const { rows } = await observer.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'biosignal%'
         and pid <> all ($1::int[])`,
      [own],
    );
    return rows[0]!.n;
  };
  // The test's own connections have the service's name.
  const before = await running.database.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const own = before.rows.map(({ pid }) => pid);
  const subject = await sendEcg(running, running.org.projectKey, 'one', Date.now() - 100_000);
  let most = 0;
  let asking = true;
  const watching = (async () => {
    while (asking) most = Math.max(most, await used());
  })();
  const paths = [`/api/v1/streams?subject_id=${subject}`, '/api/v1/xusers', '/api/v1/projects', '/api/v1/audit-log', `/api/v1/members`];
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => running.send('GET', paths[i % paths.length]!)));
  asking = false;
  await watching;
  expect(answers.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
  expect(most).toBeGreaterThan(3);
  expect(most).toBeLessThanOrEqual(CONNECTIONS);
  expect(running.faults).toEqual([]);
  await observer.end();
  await running.close();
});

// promise: connections-bound
test('three nodes with the default fit a server with the default, and pools take what they are given', () => {
  const { dbConnectionsMax } = readConfig({});
  expect(3 * dbConnectionsMax).toBeLessThanOrEqual(100 - 3); // superuser_reserved_connections
  for (const max of [13, 14, 20, 30, 100, 1000]) {
    const sizes = Object.values(poolSizes(max));
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(max - 5);
  }
  expect(() => settings.dbConnectionsMax.parse('12')).toThrow();
});

// promise: connections-warning
// setting: BIO_DB_CONNECTIONS_MAX
test('warns at the start when the server has fewer free connections than the node may open', async () => {
  const running = await runService({ BIO_DB_CONNECTIONS_MAX: '5000' });
  expect(running.faults).toEqual([
    expect.stringMatching(/may open 5000 connections, and of the server's \d+ only \d+ are free: raise its max_connections/),
  ]);
  await running.close();
});
