/** A rule tried on history against the rule itself, which ran while the same packets arrived. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { until } from '../helpers/database.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { Answer, RunningService } from '../helpers/running-service.ts';

type Tried = Readonly<{
  episodes: readonly Readonly<{ subject_id: string; started_at: string; ended_at: string | null; extreme: number; duration_sec: number }>[];
  episode_count: number;
  person_count: number;
  covered_sec: number;
  recording_count: number;
  recording_total: number;
  with_value_count: number;
  complete: boolean;
}>;
type Episode = Readonly<{
  started_at: string;
  ended_at: string | null;
  created_by: string;
  summary: Readonly<{ extreme: number; duration_sec: number }>;
}>;

let running: RunningService;
let path: string;
const SECONDS = 1200;
const startMs = Math.floor((Date.now() - 1_500_000) / 1000) * 1000;
/** Several stretches, some too short, one with a silence in it, and one that still goes on. */
const rateAt = (sec: number): number => {
  if (sec < 100 || (sec >= 400 && sec < 470)) return 70;
  if (sec >= 700 && sec < 1050) return sec % 100 < 40 ? 135 : 112;
  return sec < 260 || sec >= 1080 ? 140 : 95;
};
const rules = [
  { name: 'a', feature: 'hr_ecg', comparison: 'above', threshold: 120, sustain_sec: 20, release_sec: 10 },
  { name: 'b', feature: 'hr_ecg', comparison: 'above', threshold: 130, end_threshold: 105, sustain_sec: 30, release_sec: 20 },
  { name: 'c', feature: 'hr_ecg', comparison: 'below', threshold: 80, sustain_sec: 0, release_sec: 5, quality_max: 1 },
  { name: 'd', feature: 'hr_ecg', comparison: 'above', threshold: 60, sustain_sec: 600, release_sec: 5 },
  // a value comes once in five minutes, and holds until the next
  { name: 'e', feature: 'ventricular_burden_300s', comparison: 'below', threshold: 101, sustain_sec: 60, quality_max: 1 },
] as const;
const range = { since: new Date(startMs - 60_000).toISOString(), until: new Date(startMs + 3_600_000).toISOString() };

/** Trials that wait for the table of recordings. */
const underWaySql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%as is_new%'`;

beforeAll(async () => {
  running = await runService();
  path = `/api/v1/projects/${running.org.projectId}/rules`;
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const attempt = async (rule: object, more: object = {}): Promise<Tried> => {
  const answer = await running.send<Tried>('POST', `${path}/try`, { body: { rule, ...range, ...more } });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

describe('a rule tried on history', () => {
  // promise: rule-trial
  it('finds the episodes that the rule itself opened while the packets arrived, and writes nothing', async () => {
    const { xuser_id: id } = await running.token('tried');
    const made: string[] = [];
    for (const rule of rules) made.push((await running.send<{ id: string }>('POST', path, { body: rule })).body.id);
    const packets = ecgPackets({ deviceId: 'tried', subject: id, startMs, seconds: SECONDS, rrSec: (sec) => 60 / rateAt(sec) });
    const sent = packets.filter((_, i) => i < 15 || i >= 18); // silence of 30 s
    for (const [i, packet] of sent.entries()) {
      expect((await running.ingest(packet)).status).toBe(202);
      if (i % 5 === 4) await applyRules(running.database.pool, []);
    }
    let rounds = 0;
    let before = '';
    await until(async () => {
      await applyRules(running.database.pool, []);
      const now = JSON.stringify((await running.send('GET', `/api/v1/episodes?subject_id=${id}`)).body);
      rounds = now === before ? rounds + 1 : 0;
      before = now;
      const { rows } = await running.database.pool.query<{ newest: number | null }>(
        `select extract(epoch from max(newest_value(s.id, m.id)))::float8 as newest from stream s, method m where m.name = 'hr_ecg' and s.xuser_id = $1`,
        [id],
      );
      return rounds > 2 && (rows[0]?.newest ?? 0) > startMs / 1000 + SECONDS - 20;
    }, 90_000);
    const { body: all } = await running.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${id}&limit=1000`);
    for (const [i, rule] of rules.entries()) {
      const real = all.filter(({ created_by: by }) => by === `rule:${made[i]}`).toReversed();
      const tried = await attempt({ ...rule, subject_id: 'tried' });
      const told = (time: string | null): number | null => (time === null ? null : Date.parse(time));
      expect(tried.episodes.map((one) => [told(one.started_at), told(one.ended_at), one.extreme, one.duration_sec])).toEqual(
        real.map(({ started_at: start, ended_at: end, summary }) => [told(start), told(end), summary.extreme, summary.duration_sec]),
      );
      expect(tried.episode_count).toBe(real.length);
      expect(tried.covered_sec).toBeCloseTo(
        real.reduce((sum, { summary }) => sum + summary.duration_sec, 0),
        6,
      );
      expect(tried).toMatchObject({ recording_count: 1, person_count: real.length > 0 ? 1 : 0, complete: true });
      expect(real.length, rule.name).toBeGreaterThan(0);
    }
    expect((await running.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${id}&limit=1000`)).body).toEqual(all);
    expect((await running.send<unknown[]>('GET', path)).body).toHaveLength(rules.length);
  });

  it('takes everybody of the project who shares, a range of 31 days, and only what lies in it', async () => {
    const { xuser_id: id } = await running.token('hidden');
    for (const packet of ecgPackets({ deviceId: 'hidden', subject: id, startMs, seconds: 150, rrSec: () => 60 / 140 }))
      await running.ingest(packet);
    await until(async () => (await attempt(rules[0])).person_count === 2, 60_000);
    const all = await attempt({ ...rules[0], subject_id: id });
    expect(all.person_count).toBe(1);
    // Values can be stored before the row says from when to when there are samples.
    for (const newest of [null, new Date(startMs + 9000)]) {
      await running.database.pool.query('update stream set recorded_from = null, last_sample_at = $2 where xuser_id = $1', [id, newest]);
      expect((await attempt({ ...rules[0], subject_id: id })).episodes).toMatchObject([{ extreme: all.episodes[0]!.extreme }]);
    }
    const early = { until: new Date(startMs + 90_000).toISOString() };
    const [open] = (await attempt({ ...rules[0], subject_id: id }, early)).episodes;
    expect(open).toMatchObject({ subject_id: id, ended_at: null });
    await running.database.pool.query(`update project set consent_required = '{sharing}'`);
    expect((await attempt(rules[0])).person_count).toBe(0);
    await running.database.pool.query(`update project set consent_required = '{}'`);
    const refused = async (since: string, to: string): Promise<number> =>
      (await running.send('POST', `${path}/try`, { body: { rule: rules[0], since, until: to } })).status;
    expect(await refused('2026-01-01T00:00:00Z', '2026-02-01T00:00:01Z')).toBe(400);
    expect(await refused('2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z')).toBe(422);
  });

  it('reads what was computed before an upgrade of the method', async () => {
    const rule = { ...rules[0], subject_id: 'tried' };
    const settled = { until: new Date(startMs + 900_000).toISOString() };
    const before = await attempt(rule, settled);
    expect(before.episode_count).toBeGreaterThan(0);
    await running.database.pool.query(
      `insert into method (kind, name, code, cadence_hz, unit) select kind, name, 'derived:hr_ecg_v999', cadence_hz, unit
       from method where kind = 'feature' and name = 'hr_ecg' order by id desc limit 1`,
    );
    expect(await attempt(rule, settled)).toEqual(before);
  });

  it('looks at all of thousands of short recordings, and at the newest of more, and says how many there are', async () => {
    const rule = { ...rules[0], subject_id: 'hidden' };
    const alone = await attempt(rule);
    expect(alone).toMatchObject({ complete: true, recording_total: 1, with_value_count: 1 });
    const add = (count: number) =>
      running.database.pool.query(
        `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, last_packet_at, recorded_from, last_sample_at)
         select s.organization_id, s.project_id, s.device_id, s.xuser_id, uuid_send(gen_random_uuid()), s.epoch_ns, s.started_at - interval '1 hour',
           s.last_packet_at - interval '1 hour', $2, $2::timestamptz + interval '30 seconds'
         from (select * from stream where xuser_id = (select id from xuser where external_id = 'hidden') order by id limit 1) s, generate_series(1, $1::integer)`,
        [count, new Date(startMs)],
      );
    await add(1200);
    const all = await attempt(rule);
    expect(all).toMatchObject({ complete: true, recording_total: 1201, recording_count: 1201, with_value_count: 1 });
    expect(all.episodes).toEqual(alone.episodes);
    await add(8800);
    const newest = await attempt(rule);
    expect(newest).toMatchObject({ complete: false, recording_total: 10_001 });
    expect(newest.episodes).toEqual(alone.episodes);
  });

  // promise: trial-share
  it('leaves a place to other organizations while one tries', async () => {
    const { pool } = running.database;
    const other = await createOrganization(pool, 'Other');
    const rule = { ...rules[0], name: 'share' };
    const others = (): Promise<Answer> =>
      running.send('POST', `/api/v1/projects/${other.projectId}/rules/try`, { as: other.apiKey.key, body: { rule, ...range } });
    const own = (): Promise<Answer> => running.send('POST', `${path}/try`, { body: { rule, ...range } });
    const holder = await pool.connect();
    const pending: Promise<Answer>[] = [];
    try {
      await holder.query('begin');
      await holder.query('lock table stream in access exclusive mode');
      pending.push(own());
      await until(async () => (await pool.query(underWaySql)).rowCount === 1, 30_000);
      expect(await own()).toMatchObject({ status: 503, body: { code: 'busy', detail: expect.stringContaining('this organization') } });
      pending.push(others());
      await until(async () => (await pool.query(underWaySql)).rowCount === 2, 30_000);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
