/** Partitions of plain PostgreSQL are made by the first writer, and several may be first. On the whole service. */
import type pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { failureOf } from '../../src/storage/database/sql-states.ts';
import { Partitions } from '../../src/storage/schema/partitions.ts';
import { withPartitions } from '../../src/storage/with-partitions.ts';
import { packetOf } from '../helpers/packets.ts';
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

const mood = async (): Promise<number> => {
  const path = `/api/v1/projects/${running.org.projectKey}/biosignals`;
  const { body } = await running.send<{ id: number; abbreviation: string }[]>('GET', path);
  return body.find(({ abbreviation }) => abbreviation === 'MOOD')!.id;
};

it('takes a measurement whose partition retention drops while it waits to be stored', async ({ skip }) => {
  if (running.database.kind !== 'postgres') skip();
  const { xuser_id: id } = await running.token('dropped');
  const measurement = { biosignal_id: await mood(), value: 3, time: periodOf(2 * ROUNDS) };
  const holder = await running.database.connect();
  await holder.query('begin');
  await holder.query('select from xuser where id = $1 for update', [id]);
  const answer = running.send('POST', '/api/v1/measurements', { body: { subject_id: id, measurements: [measurement] } });
  const { pool } = running.database;
  await vi.waitUntil(async () => (await pool.query('select from pg_locks where not granted')).rowCount! > 0, 20_000);
  const made = `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'measurement'::regclass
    and pg_get_expr((select relpartbound from pg_class where oid = inhrelid), inhrelid) like '%' || to_char(
      date_bin('28 days', $1::timestamptz, timestamptz '2001-01-01 00:00:00+00') at time zone 'UTC', 'YYYY-MM-DD') || '%TO%'`;
  const { rows } = await pool.query<{ name: string }>(made, [measurement.time]);
  expect(rows).toHaveLength(1);
  await pool.query(`drop table ${rows[0]!.name}`);
  await holder.query('commit');
  await holder.end();
  const { status, text } = await answer;
  expect(status, text).toBe(201);
});

it('stores packets whose partition of the packet log was dropped behind its writer', async ({ skip }) => {
  const { database, ingest, token } = running;
  if (database.kind !== 'postgres') skip();
  const { xuser_token: as } = await token('logged');
  expect((await ingest(packetOf('patch', 0), as)).status).toBe(202);
  const { rows } = await database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'packet_log'::regclass`,
  );
  for (const { name } of rows) await database.pool.query(`drop table ${name}`);
  const { status, text } = await ingest(packetOf('patch', 1), as);
  expect(status, text).toBe(202);
});

const momentOf = (period: number): number => Date.UTC(1500, 0, 1) + period * PARTITION_DAYS * 86_400_000;
const fill = `insert into measurement (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit)
  select to_timestamp($1::float8 / 1000), 0, u.id, u.id, u.id, u.id, 1, 1, '' from (select gen_random_uuid() as id) u`;

/** Sessions that make and fill the same periods, as fast as they can.  @returns how many rows found no partition */
async function race(sessions: readonly pg.Client[], firstPeriod: number, periods: number): Promise<number> {
  let missing = 0;
  const count = (): void => void missing++;
  for (const session of sessions) session.on('notice', count);
  const each = `do $$ declare moment timestamptz; begin
    for period in 0 .. ${periods - 1} loop
      moment := to_timestamp(${momentOf(firstPeriod) / 1000}) + period * interval '${PARTITION_DAYS} days';
      perform ensure_partitions('measurement', moment, moment);
      commit;
      begin
        ${fill.replace('to_timestamp($1::float8 / 1000)', 'moment')};
      exception when check_violation then
        raise notice 'no partition';
      end;
      commit;
    end loop; end $$`;
  await Promise.all(sessions.map((session) => session.query(each)));
  for (const session of sessions) session.off('notice', count);
  return missing;
}

const openSessions = (): Promise<readonly pg.Client[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, async () => await running.database.connect()));

it('a session that finds a partition made can fill it, however recently another has made it', async ({ skip }) => {
  if (running.database.kind !== 'postgres') skip();
  const sessions = await openSessions();
  // One period at a time: a session that is behind the others may miss the news of a later one, which is the next test.
  let missing = 0;
  for (let period = 0; period < 300; period++) missing += await race(sessions, period, 1);
  for (const session of sessions) await session.end();
  expect(missing).toBe(0);
}, 120_000);

it('a session that missed the news of a partition hears it when it is told again, and stores its row', async ({ skip }) => {
  if (running.database.kind !== 'postgres') skip();
  const sessions = await openSessions();
  const partitions = new Partitions(running.database);
  let deaf = 0;
  // About one race in twenty leaves a session without the news, until the table changes again.
  for (let first = 1000; first < 1000 + 4 * 250 && deaf < 2; first += 4) {
    await race(sessions, first, 4);
    for (const session of sessions) {
      const ms = momentOf(first + 3);
      const store = () => session.query(fill, [ms]);
      const failed = await store().then(
        () => null,
        (error: unknown) => failureOf(error),
      );
      if (failed === null) continue;
      expect(failed).toBe('missing_partition');
      deaf++;
      if (deaf === 1) {
        await partitions.ensure(session, 'measurement', [ms * 1000]); // as writers do
        partitions.forget();
        await partitions.ensure(session, 'measurement', [ms * 1000]);
        await store();
      } else await withPartitions(session, 'measurement', store); // as routes do
    }
  }
  for (const session of sessions) await session.end();
  console.log(`${deaf} sessions had missed the news`);
}, 120_000);
