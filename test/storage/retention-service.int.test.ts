/** Retention per project in a living service: a recording of last month is imported, its project keeps five days, and its rows go; those of
 *  another project stay. And when no sweep gets done, log, metric and doctor say so. On every kind of server. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { doctor } from '../../src/cli/doctor.ts';
import { runCommand } from '../../src/cli/command.ts';
import { locks } from '../../src/storage/database/locks.ts';
import { otherServers } from '../helpers/database.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

const DAY_MS = 86_400_000;

for (const server of [{ name: 'the server of this run', url: undefined }, ...otherServers()]) {
  describe(`retention in a running service on ${server.name}`, () => {
    let running: RunningService;
    beforeAll(async () => {
      running = await runService({ BIO_RETENTION_PERIOD_SEC: '1' }, server.url);
    });
    afterAll(() => running?.close());

    const counts = async (subjectId: string): Promise<number[]> =>
      await Promise.all(
        ['sample_block', 'beat', 'feature'].map(async (relation) => {
          const { rows } = await running.database.pool.query<{ n: number }>(
            `select count(*)::int as n from ${relation} where stream_id in (select id from stream where xuser_id = $1)`,
            [subjectId],
          );
          return rows[0]!.n;
        }),
      );

    const ageSec = async (): Promise<number> =>
      Number(/^bio_retention_age_seconds (\S+)$/m.exec((await running.send('GET', '/metrics', { as: '' })).text)?.[1] ?? NaN);

    // promise: retention-everywhere, retention-by-recording
    // setting: BIO_RETENTION_PERIOD_SEC
    // job: project-retention
    test('a recording of last month is deleted from the project that keeps five days, and from no other', async () => {
      const { org, send } = running;
      const other = await send<{ project_key: string }>('POST', '/api/v1/projects', { body: { name: 'Other' } });
      expect(other.status, other.text).toBe(201);
      const subjects = await Promise.all([
        sendEcg(running, org.projectKey, 'strict-old', Date.now() - 40 * DAY_MS),
        sendEcg(running, org.projectKey, 'strict-new', Date.now() - DAY_MS),
        sendEcg(running, other.body.project_key, 'other-old', Date.now() - 40 * DAY_MS),
      ]);
      await expect.poll(async () => (await Promise.all(subjects.map(counts))).flat().every((n) => n > 0), { timeout: 60_000 }).toBe(true);
      const set = await send('PUT', `/api/v1/projects/${org.projectId}/settings`, {
        body: { retention: { samples_days: 5, features_days: 5, beats_days: 5 }, consent_required: [] },
      });
      expect(set.status, set.text).toBe(200);
      await expect.poll(() => counts(subjects[0]!), { timeout: 20_000 }).toEqual([0, 0, 0]);
      for (const subject of subjects.slice(1)) expect((await counts(subject)).every((n) => n > 0)).toBe(true);
      expect(running.faults).toEqual([]);
    });

    // promise: retention-by-recording
    test('a recording imported since is deleted when the project then keeps four days only', async () => {
      const { org, send, database } = running;
      // As if the project had said so an hour ago: the last look was one at recent history.
      await database.pool.query(`update project_retention set updated_at = now() - interval '1 hour'`);
      const looked = `select min(cutoff + interval '5 days' - whole_at) > interval '0' as at_recent from project_retention_swept`;
      await expect.poll(async () => (await database.pool.query(looked)).rows[0]).toEqual({ at_recent: true });
      const subject = await sendEcg(running, org.projectKey, 'strict-late', Date.now() - 50 * DAY_MS);
      await expect.poll(async () => (await counts(subject)).every((n) => n > 0), { timeout: 60_000 }).toBe(true);
      const set = await send('PUT', `/api/v1/projects/${org.projectId}/settings`, {
        body: { retention: { samples_days: 4, features_days: 4, beats_days: 4 }, consent_required: [] },
      });
      expect(set.status, set.text).toBe(200);
      await expect.poll(() => counts(subject), { timeout: 20_000 }).toEqual([0, 0, 0]);
    });

    // promise: retention-late
    // job: maintenance-watch
    test('a sweep that was not possible for an hour is in the log, the metrics and what doctor says', async () => {
      const { database } = running;
      const holder = await database.connect();
      await holder.query('select pg_advisory_lock($1)', [locks.projectRetention.toString()]);
      try {
        await database.pool.query(`update project_retention set updated_at = now() - interval '2 hours'`);
        await database.pool.query(`update project_retention_swept set cutoff = cutoff - interval '2 hours'`);
        await expect.poll(ageSec).toBeGreaterThan(3600);
        expect(running.faults.filter((fault) => fault.includes('retention of projects was last applied in full'))).toHaveLength(1);
        const told: string[] = [];
        await runCommand(doctor, [], {
          out: (line) => void told.push(line),
          err: (line) => void told.push(line),
          progress: null,
          env: { DATABASE_URL: database.url, PORT: '1' },
          cwd: fileURLToPath(new URL('../..', import.meta.url)),
          signal: new AbortController().signal,
        });
        expect(told.join('\n')).toMatch(/WARNING {2}retention .*120 minutes/);
      } finally {
        await holder.end();
      }
      await expect.poll(ageSec).toBeLessThan(60);
    });
  });
}
