/** Episodes that stay open for long: a round looks at what is new, and says the same as one that looks at everything. */
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { applyRules, wholeMinuteOf } from '../../src/records/episode-rules.ts';
import { putFeatures } from '../helpers/put-derived.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const HOURS = 20;
let running: RunningService;
const nowSec = Math.floor(Date.now() / 1000);
const startSec = nowSec - HOURS * 3600;

beforeAll(async () => {
  running = await runService({ BIO_DEMO: '0' });
});
afterAll(() => running?.close());

/** Values of hr_ecg, one a second; the recording has reached the last of them. */
async function put(streamId: number, fromSec: number, toSec: number, value: string): Promise<void> {
  await putFeatures(
    running.database,
    `select t * 1000000000 as ts_ns, (${value})::float8 as value, $1::integer as stream_id, m.id as method_id, (-1)::smallint as channel_no, 0::smallint as qmask
     from generate_series($2::bigint, $3::bigint) t, method m where m.code = 'derived:hr_ecg_v999'`,
    [streamId, fromSec, toSec],
  );
  await running.database.pool.query('update stream set last_sample_at = to_timestamp($2), last_packet_at = now() where id = $1', [
    streamId,
    toSec,
  ]);
}

/** A round, and how many values it has read. */
async function round(): Promise<number> {
  let read = 0;
  const { pool } = running.database;
  const counted = {
    connect: async (): Promise<PoolClient> => {
      const client = await pool.connect();
      return new Proxy(client, {
        get: (target, name) => {
          if (name !== 'query')
            return typeof target[name as 'release'] === 'function' ? target[name as 'release'].bind(target) : target[name as 'release'];
          return async (...given: Parameters<PoolClient['query']>) => {
            const asked = target.query(...given) as unknown as Promise<{ rows?: readonly { t?: readonly number[] | null }[] }>;
            const answer = await asked;
            for (const row of answer.rows ?? []) if (Array.isArray(row.t)) read += row.t.length;
            return answer;
          };
        },
      });
    },
  };
  await applyRules(counted as unknown as Pool, []);
  return read;
}

// promise: rule-long
it('a round reads the newest values of an episode of many hours, and prolongs and ends it as if it had read all', async () => {
  const { pool } = running.database;
  const { xuser_id: id } = await running.token('long');
  await pool.query(
    `insert into method (kind, name, code, cadence_hz, unit, step) values ('feature', 'hr_ecg', 'derived:hr_ecg_v999', 1, '/min', 0.01)`,
  );
  const { rows } = await pool.query<{ id: number }>(
    `with d as (insert into device (organization_id, project_id, external_id) values ($1, $2, 'long') returning id)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, recorded_from, last_packet_at, last_sample_at)
     select $1, $2, d.id, $3, uuid_send(gen_random_uuid()), $4::bigint * 1000000000, to_timestamp($4), to_timestamp($4), now(), now() from d returning id`,
    [running.org.orgId, running.org.projectId, id, startSec],
  );
  const stream = rows[0]!.id;
  // The rate stays between the two bounds for hours: only its beginning was beyond the first.
  await put(stream, startSec, nowSec - 300, `case when t < ${startSec + 600} then 150 else 110 end`);
  const path = `/api/v1/projects/${running.org.projectId}/rules`;
  const body = {
    name: 'fast',
    feature: 'hr_ecg',
    comparison: 'above',
    threshold: 120,
    end_threshold: 100,
    sustain_sec: 60,
    release_sec: 30,
  };
  const rule = (await running.send<{ id: string }>('POST', path, { body })).body.id;
  await pool.query(`update episode_rule set updated_at = now() - interval '2 days' where id = $1`, [rule]);
  const minute = Math.floor(Date.now() / 60_000) % 60;
  let episode: string;
  do episode = crypto.randomUUID();
  while ([0, 1, 2, 3, 4, 5].some((after) => wholeMinuteOf(episode) === (minute + after) % 60));
  await pool.query(
    `insert into episode (id, organization_id, project_id, xuser_id, stream_id, kind, title, status, severity, started_at, summary, created_by)
     values ($1, $2, $3, $4, $5, 'threshold', 'fast', 'open', 'medium', to_timestamp($6), $7, 'rule:' || $8)`,
    [
      episode,
      running.org.orgId,
      running.org.projectId,
      id,
      stream,
      startSec,
      JSON.stringify({ feature: 'hr_ecg', extreme: 150, duration_sec: nowSec - 600 - startSec }),
      rule,
    ],
  );
  const state = async () => {
    const found = await running.send<{ id: string; status: string; started_at: string; ended_at: string | null; summary: object }[]>(
      'GET',
      `/api/v1/episodes?subject_id=${id}`,
    );
    expect(found.body).toHaveLength(1);
    return found.body[0]!;
  };
  expect(await round()).toBeLessThan(2000);
  expect(await state()).toMatchObject({ id: episode, status: 'open', summary: { extreme: 150, duration_sec: nowSec - 300 - startSec } });
  expect(Date.parse((await state()).started_at)).toBe(startSec * 1000);

  // A changed rule is judged from the start, once.
  await running.send('PATCH', `${path}/${rule}`, { body: { threshold: 125 } });
  expect(await round()).toBeGreaterThan(60_000);
  expect(await state()).toMatchObject({ id: episode, status: 'open', summary: { extreme: 150, duration_sec: nowSec - 300 - startSec } });

  await put(stream, nowSec - 299, nowSec - 200, '111');
  expect(await round()).toBeGreaterThan(60_000); // until something of it has changed
  expect(await round()).toBeLessThan(2000);
  await put(stream, nowSec - 199, nowSec - 100, '70');
  expect(await round()).toBeLessThan(2000);
  const ended = await state();
  expect(ended).toMatchObject({
    id: episode,
    status: 'closed',
    summary: { extreme: 150, ended_by: 'rule', duration_sec: nowSec - 200 - startSec },
  });
  expect(Date.parse(ended.ended_at!)).toBe((nowSec - 200) * 1000);
});
