/** Partitions of plain PostgreSQL are made by the first writer, and several may be first. On the whole service. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

/** Partitions of measurements hold so many days. */
const PARTITION_DAYS = 28;
const ROUNDS = 5;
const AT_ONCE = 6;

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

/** A time in a partition that nobody has written to. */
const periodOf = (round: number): string => new Date(Date.UTC(2010, 0, 1) + round * PARTITION_DAYS * 86_400_000).toISOString();

it('takes the first entries of a new period, however many come at the same moment', async () => {
  const people = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => running.token(`person-${i}`)));
  const statuses: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const made = people.map(({ xuser_token: as }) =>
      running.send('POST', '/api/v1/moods', { as, body: { score: 3, time: periodOf(round) } }),
    );
    statuses.push(...(await Promise.all(made)).map(({ status }) => status));
  }
  expect(statuses).toEqual(statuses.map(() => 201));
  const { rows } = await running.database.pool.query<{ n: number }>(
    `select count(*)::integer as n from measurement where method_code = 'reported:mood_v1'`,
  );
  expect(rows[0]!.n).toBe(ROUNDS * AT_ONCE);
});

it('takes the first measurements of a new period from several requests at once', async () => {
  const { xuser_id: id } = await running.token('measured');
  const catalog = await running.send<{ id: number; abbreviation: string }[]>(
    'GET',
    `/api/v1/projects/${running.org.projectKey}/biosignals`,
  );
  const mood = catalog.body.find(({ abbreviation }) => abbreviation === 'MOOD')!;
  const statuses: number[] = [];
  for (let round = ROUNDS; round < 2 * ROUNDS; round++) {
    const made = Array.from({ length: AT_ONCE }, (_, i) =>
      running.send('POST', '/api/v1/measurements', {
        body: { subject_id: id, measurements: [{ biosignal_id: mood.id, value: 1 + (i % 5), time: periodOf(round) }] },
      }),
    );
    statuses.push(...(await Promise.all(made)).map(({ status }) => status));
  }
  expect(statuses).toEqual(statuses.map(() => 201));
});
