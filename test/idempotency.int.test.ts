/** A retry with an Idempotency-Key finds the work done with its answer, or not done at all: also where the answer cannot be stored. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runService } from './helpers/running-service.ts';
import type { RunningService } from './helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running.close());

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
