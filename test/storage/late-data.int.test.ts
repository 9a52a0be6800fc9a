/** Late data is in every chart as soon as it is stored: hours late, and weeks late into chunks that are packed, next to a device that is on
 *  time. Through the whole service, the same on every kind of server; none may show when it keeps hours and days. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { otherServers } from '../helpers/database.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A chart may be behind the rows for so long, ms: between two questions, on a machine at work. Hours are kept every half minute. */
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
      // What is on time: hours and days are kept up to now, over the place of what is late, and its chunks are packed where they can be.
      const punctual = await Promise.all(
        [lateMs - 90_000, Date.now() - 125 * 60_000, Date.now() - 4 * 60_000].map((startMs, i) =>
          sendEcg(running, org.projectKey, `${name}-${i}`, startMs),
        ),
      );
      for (const subject of punctual) await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      if (database.kind === 'timescale')
        await database.pool.query(`select compress_chunk(c) from show_chunks('feature_block', older_than => interval '10 days') c`);
      await refreshRollups(database);

      const subject = await sendEcg(running, org.projectKey, `${name}-late`, lateMs);
      await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      await expect.poll(() => behind(subject, lateMs), { timeout: AT_ONCE_MS }).toEqual([]);
    });

    // promise: late-in-charts
    test('rows that are deleted late disappear from every chart', async () => {
      const { database, org } = running;
      const oldMs = Date.now() - 12 * DAY_MS;
      const subject = await sendEcg(running, org.projectKey, 'kept-too-long', oldMs);
      await expect.poll(() => stored(subject), { timeout: 60_000 }).toBeGreaterThan(30);
      await refreshRollups(database);
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
