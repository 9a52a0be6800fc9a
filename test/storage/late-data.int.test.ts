/** Late data is in every chart as soon as it is stored: hours late, and weeks late into chunks that are packed, next to a device that is on
 *  time. Through the whole service, the same on every kind of server; none may let an aggregate's schedule show. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { otherServers, testDatabase } from '../helpers/database.ts';
import { createTenant, ecg, openTestStream } from '../helpers/recording.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A chart may be behind the rows for so long, ms: two looks at what is noted, on a machine at work. The aggregates' own schedule is a
 *  minute to an hour. */
const AT_ONCE_MS = 8000;
const stepsMs = { '1s': 1000, '1m': 60_000, '5m': 300_000, '1h': HOUR_MS, '3h': 3 * HOUR_MS, '1d': DAY_MS } as const;
const POINTS_MAX = 10_000;

for (const server of [{ name: 'the server of this run', url: undefined }, ...otherServers()]) {
  describe(`late data on ${server.name}`, () => {
    let running: RunningService;
    beforeAll(async () => {
      running = await runService({ BIO_RETENTION_PERIOD_SEC: '1' }, server.url);
    });
    afterAll(async () => {
      expect(running.faults).toEqual([]);
      await running.close();
    });

    /** What the aggregates do by schedule: they keep everything up to shortly before now. */
    async function keepAggregates(): Promise<void> {
      const { database } = running;
      if (database.kind !== 'timescale') return void (await refreshRollups(database));
      const { rows } = await database.pool.query<{ id: number }>(
        `select job_id as id from timescaledb_information.jobs where proc_name = 'policy_refresh_continuous_aggregate' order by job_id`,
      );
      expect(rows.length).toBe(3);
      for (const { id } of rows) await database.pool.query(`call run_job(${id})`);
    }

    /** Values of heart rate from that hour on, as the charts of all resolutions that a question may have count them. */
    async function counted(subjectId: string, aroundMs: number): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      const fromMs = Math.floor(aroundMs / HOUR_MS) * HOUR_MS;
      for (const [resolution, stepMs] of Object.entries(stepsMs)) {
        // The finest of weeks would have too many points for an answer.
        const toMs = Math.min(fromMs + POINTS_MAX * stepMs - 2 * stepMs, Math.ceil(Date.now() / DAY_MS) * DAY_MS);
        if (stepMs < 5 * 60_000 && toMs < Date.now() - DAY_MS) continue;
        const chart = await running.send<{ resolution: string; data: [number, number | null][] }>('POST', '/api/v1/charts/query', {
          body: {
            subject_id: subjectId,
            series: [{ feature: 'hr_ecg', agg: 'count' }],
            range: { from: new Date(Math.floor(fromMs / Math.max(stepMs, HOUR_MS)) * Math.max(stepMs, HOUR_MS)), to: new Date(toMs) },
            resolution,
            max_points: POINTS_MAX,
            tz: 'UTC',
            quality_max: 2,
          },
        });
        expect([chart.status, chart.body.resolution], chart.text).toEqual([200, resolution]);
        counts[resolution] = chart.body.data.reduce((sum, [, value]) => sum + (value ?? 0), 0);
      }
      return counts;
    }

    const stored = async (subjectId: string): Promise<number> => {
      const { rows } = await running.database.pool.query<{ n: number }>(
        `select count(*)::int as n from feature f join method m on m.id = f.method_id
         where m.name = 'hr_ecg' and f.stream_id in (select id from stream where xuser_id = $1)`,
        [subjectId],
      );
      return rows[0]!.n;
    };
    /** Resolutions whose chart has not the values that are stored: [name, counted, stored]. */
    async function behind(subjectId: string, aroundMs: number): Promise<unknown[]> {
      const n = await stored(subjectId);
      const counts = await counted(subjectId, aroundMs);
      return Object.entries(counts)
        .filter(([, count]) => count !== n)
        .map(([resolution, count]) => [resolution, count, n]);
    }

    // promise: charts-same, late-in-charts
    // job: timescaledb-policies, rollups
    test.each([
      ['three hours', 175 * 60_000],
      ['three weeks', 20 * DAY_MS + 5 * HOUR_MS],
    ])('by %s', { timeout: 120_000 }, async (late, lateByMs) => {
      const { database, org } = running;
      const name = late.replace(' ', '-');
      const lateMs = Date.now() - lateByMs;
      // What is on time: the aggregates are kept up to now, over the place of what is late, and that is packed where it can be.
      const punctual = await Promise.all(
        [lateMs - 90_000, Date.now() - 125 * 60_000, Date.now() - 4 * 60_000].map((startMs, i) =>
          sendEcg(running, org.projectKey, `${name}-${i}`, startMs),
        ),
      );
      for (const subject of punctual) await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      if (database.kind === 'timescale')
        await database.pool.query(`select compress_chunk(c) from show_chunks('feature_block', older_than => interval '10 days') c`);
      await keepAggregates();

      const subject = await sendEcg(running, org.projectKey, `${name}-late`, lateMs);
      await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      await expect.poll(() => behind(subject, lateMs), { timeout: AT_ONCE_MS }).toEqual([]);
    });

    // promise: late-in-charts
    test('rows that are deleted late are gone from every chart', { timeout: 120_000 }, async () => {
      const { database, org } = running;
      const oldMs = Date.now() - 12 * DAY_MS;
      const subject = await sendEcg(running, org.projectKey, 'kept-too-long', oldMs);
      await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      await keepAggregates();
      await expect.poll(() => behind(subject, oldMs), { timeout: AT_ONCE_MS }).toEqual([]);
      const set = await running.send('PUT', `/api/v1/projects/${org.projectId}/settings`, {
        body: { retention: { samples_days: null, features_days: 10, beats_days: null }, consent_required: [] },
      });
      expect(set.status, set.text).toBe(200);
      await expect.poll(() => stored(subject), { timeout: 20_000 }).toBe(0);
      await expect.poll(() => behind(subject, oldMs), { timeout: AT_ONCE_MS }).toEqual([]);
      expect((await database.pool.query('select from feature limit 1')).rowCount).toBe(1); // those of three hours ago
    });
  });
}

test('an hour of last week next to a device on time touches that hour in the aggregates, not the week', async ({ skip }) => {
  const community = otherServers().find(({ name }) => name === 'timescale');
  await using database = await testDatabase({}, community?.url);
  if (database.kind !== 'timescale') return skip();
  await database.pool.query(`select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where job_id >= 1000`);
  const tenant = await createTenant(database);
  const registry = new StreamRegistry(database);
  const writer = new DerivedWriter(database, { currentMethods: [] });
  const nowMs = Date.now();
  const values = async (stream: OpenedStream, fromMs: number): Promise<void> => {
    const features = Array.from({ length: 60 }, (_, i) => ({
      feature: 'hr_ecg',
      channelNo: -1,
      tNs: BigInt(fromMs + i * 1000) * 1_000_000n - stream.epochNs,
      value: 60,
      qmask: 0 as const,
      methodCode: 'derived:hr_ecg_v1',
    }));
    await writer.add({ streamId: stream.streamId, beats: [], features, replaces: null }, stream.epochNs);
  };
  const [live, late] = [await openTestStream(registry, tenant, [ecg], 1), await openTestStream(registry, tenant, [ecg], 2)];
  await values(live, nowMs - 300_000);
  await database.pool.query(`call refresh_continuous_aggregate('feature_1m', null, $1::timestamptz)`, [new Date(nowMs - 120_000)]);
  // In one chunk, and in one batch of the writer.
  await Promise.all([values(live, nowMs - 60_000), values(late, nowMs - 5 * HOUR_MS), values(live, nowMs)]);
  const { rows } = await database.pool.query<{ minutes: number }>(
    `select (greatest_modified_value - lowest_modified_value) / 60e6::float8 as minutes
     from _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log`,
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const { minutes } of rows) expect(minutes).toBeLessThan(2);
  expect((await database.pool.query('select from feature')).rowCount).toBe(4 * 60);
  await writer.close();
});
