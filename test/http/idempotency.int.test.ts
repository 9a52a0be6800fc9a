/** A retry with an Idempotency-Key finds the work done with its answer, or not done at all: also where the answer cannot be stored. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { afterStatus } from '../../sdk/retry.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running.close());

// promise: idempotency
it('a project is created once, though the answer could not be stored at first', async () => {
  const { pool } = running.database;
  const create = () =>
    running.send<{ id: string }>('POST', '/api/v1/projects', { body: { name: 'Twice?' }, headers: { 'idempotency-key': 'project-1' } });
  await pool.query(`create function refuse_answers() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$`);
  await pool.query('create trigger refuse_answers before update on idempotency for each row execute function refuse_answers()');
  expect((await create()).status).toBe(500);
  await pool.query('drop trigger refuse_answers on idempotency; drop function refuse_answers()');
  const made = await create();
  expect(made.status, made.text).toBe(201);
  const again = await create();
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.body.id).toBe(made.body.id);
  expect((await pool.query(`select 1 from project where name = 'Twice?'`)).rowCount).toBe(1);
});

// promise: idempotency
it('an idempotency key that one organization key uses for two people counts as two', async () => {
  const people = [await running.token('first'), await running.token('second')];
  const report = (externalId: string) =>
    running.send<{ id: string }>('POST', '/api/v1/moods', {
      body: { score: 4 },
      headers: { 'project-key': running.org.projectKey, 'xuser-id': externalId, 'idempotency-key': 'mood-1' },
    });
  const [first, second, again] = [await report('first'), await report('second'), await report('second')];
  for (const made of [first, second]) expect(made.status, made.text).toBe(201);
  expect(second.headers.get('idempotency-replayed')).toBeNull();
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.text).toBe(second.text);
  const { rows } = await running.database.pool.query<{ xuser_id: string }>('select xuser_id from mood order by created_at');
  expect(rows.map((row) => row.xuser_id)).toEqual(people.map((person) => person.xuser_id));
});

it('an idempotency key that one organization key uses in two projects counts as two', async () => {
  const other = await running.send<{ project_key: string }>('POST', '/api/v1/projects', { body: { name: 'Other' } });
  expect(other.status, other.text).toBe(201);
  const create = (projectKey: string) =>
    running.send<{ id: string; project_id: string }>('POST', '/api/v1/xusers', {
      body: { external_id: 'in both' },
      headers: { 'project-key': projectKey, 'idempotency-key': 'person-1' },
    });
  const [here, there] = [await create(running.org.projectKey), await create(other.body.project_key)];
  for (const made of [here, there]) expect(made.status, made.text).toBe(201);
  expect(there.body.project_id).not.toBe(here.body.project_id);
});

it('a repeat while the first request is still being answered is told to retry, in a form that clients understand', async () => {
  const { pool } = running.database;
  const { xuser_token: as } = await running.token('impatient');
  const report = () => running.send('POST', '/api/v1/moods', { as, body: { score: 5 }, headers: { 'idempotency-key': 'mood-2' } });
  const lock = await pool.connect();
  try {
    await lock.query('begin; lock table mood');
    const first = report();
    await until(async () => (await pool.query(`select from pg_locks where relation = 'mood'::regclass and not granted`)).rowCount === 1);
    const repeat = await report();
    expect([repeat.status, repeat.body['code'], repeat.headers.get('retry-after')]).toEqual([503, 'busy', '1']);
    expect(afterStatus(repeat.status)).toBe('retry');
    await lock.query('rollback');
    expect((await first).status).toBe(201);
  } finally {
    lock.release(true);
  }
  const again = await report();
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
});
