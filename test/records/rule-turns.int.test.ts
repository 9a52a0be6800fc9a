/** A round of rules when one organization has very much for it: the others have their turns meanwhile. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { RuleTurns } from '../../src/records/rule-turns.ts';
import { until } from '../helpers/database.ts';
import { putFeatures } from '../helpers/put-derived.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const RULES = 100;
const RECORDINGS = 2;
let database: TestDatabase;
let many: NewOrganization;
let one: NewOrganization;
const nowSec = Math.floor(Date.now() / 1000);

/** Rules of a project that are always true, and recordings of people whose heart rate is 80 since a minute. */
async function add({ orgId, projectId }: NewOrganization, rules: number, recordings: number): Promise<void> {
  const { pool } = database;
  await pool.query(
    `insert into episode_rule (organization_id, project_id, name, kind, feature, comparison, threshold, sustain_sec, release_sec, quality_max, severity, created_by)
     select $1, $2, 'r' || n, 'always', 'hr_ecg', 'above', 1, 10, 10, 0, 'low', 'test' from generate_series(1, $3::integer) n`,
    [orgId, projectId, rules],
  );
  for (let n = 0; n < recordings; n++) {
    const { rows } = await pool.query<{ id: number }>(
      `with x as (insert into xuser (organization_id, project_id, external_id) values ($1, $2, $3) returning id),
       d as (insert into device (organization_id, project_id, external_id) values ($1, $2, $3) returning id)
       insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, recorded_from, last_packet_at, last_sample_at)
       select $1, $2, d.id, x.id, uuid_send(gen_random_uuid()), $4::bigint * 1000000000, to_timestamp($4), to_timestamp($4), now(), now() from d, x returning id`,
      [orgId, projectId, `person ${n}`, nowSec - 60],
    );
    await putFeatures(
      database,
      `select t * 1000000000 as ts_ns, 80::float8 as value, $1::integer as stream_id, m.id as method_id, (-1)::smallint as channel_no, 0::smallint as qmask
       from generate_series($2::bigint, $3::bigint) t, method m where m.code = 'derived:hr_ecg_v999'`,
      [rows[0]!.id, nowSec - 60, nowSec],
    );
  }
}
const episodesOf = async ({ orgId }: NewOrganization): Promise<number> =>
  (await database.pool.query<{ n: number }>('select count(*)::integer as n from episode where organization_id = $1', [orgId])).rows[0]!.n;

beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query(
    `insert into method (kind, name, code, cadence_hz, unit, step) values ('feature', 'hr_ecg', 'derived:hr_ecg_v999', 1, '/min', 0.01)`,
  );
  many = await createOrganization(database.pool, 'Many rules');
  one = await createOrganization(database.pool, 'One rule');
  await add(many, RULES, RECORDINGS);
  await add(one, 1, 1);
});
beforeEach(() => database.pool.query('delete from episode'));
afterAll(() => database?.close());

// promise: rule-turns
it('opens the episode of an organization with one rule before all of one with very many, which has all in the end, once', async () => {
  let over = false;
  const turns = new RuleTurns();
  const round = applyRules(database.pool, [], turns).finally(() => (over = true));
  await until(async () => over || (await episodesOf(one)) > 0, 60_000);
  expect(await episodesOf(one)).toBe(1);
  expect(await episodesOf(many)).toBeLessThan(RULES * RECORDINGS);
  await round;
  await until(async () => {
    await applyRules(database.pool, [], turns);
    return (await episodesOf(many)) >= RULES * RECORDINGS;
  }, 120_000);
  await applyRules(database.pool, [], turns);
  expect([await episodesOf(one), await episodesOf(many)]).toEqual([1, RULES * RECORDINGS]);
});

// promise again: rule-turns
it('opens the episodes of one organization though those of another cannot be stored, which the round tells', async () => {
  await database.pool.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`);
  await database.pool.query(
    `create trigger refuse before insert on episode for each row when (new.organization_id = '${many.orgId}') execute function refuse()`,
  );
  await database.pool.query(`delete from episode_rule where organization_id = $1 and name <> 'r1'`, [many.orgId]);
  await expect(applyRules(database.pool, [])).rejects.toThrow('not this one');
  expect([await episodesOf(one), await episodesOf(many)]).toEqual([1, 0]);
});
