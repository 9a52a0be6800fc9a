/** Writes wait for the disk, whatever the server's defaults are: the test server's own has synchronous_commit off. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

const tables = ['packet_log', 'sample_block', 'beat_block', 'feature_block'];
let running: RunningService;

beforeAll(async () => {
  running = await runService();
  const { pool } = running.database;
  await pool.query(
    `create table waited (relation text, waits text);
     grant insert on waited to public;
     create function note_waits() returns trigger language plpgsql as $$
     begin
       insert into waited values (tg_argv[0], current_setting('synchronous_commit'));
       return null;
     end $$`,
  );
  for (const table of tables)
    await pool.query(`create trigger waits after insert on ${table} for each statement execute function note_waits('${table}')`);
});
afterAll(() => running.close());

// promise: ack-durable
test('the log, samples and what is computed are flushed at each commit where the server says synchronous_commit = off', async () => {
  const { pool } = running.database;
  if (process.env['BIO_TEST_DATABASE_URL'] === undefined)
    expect((await pool.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  await sendEcg(running, running.org.projectKey, 'waits', Date.now() - 3_600_000);
  const waited = `select relation, array_agg(distinct waits) as waits from waited group by relation order by relation`;
  await expect
    .poll(async () => (await pool.query(waited)).rows, { timeout: 60_000 })
    .toEqual(tables.toSorted().map((relation) => ({ relation, waits: ['on'] })));
});
