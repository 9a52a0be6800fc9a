// A day of variability through the service: values that overlap, a bad stretch, an hour without a device, the night in which Paris sets its
// clocks forward, values that come late.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readWindows } from '../../src/query/day-variability-routes.ts';
import { packetOf } from '../helpers/packets.ts';
import { putFeatures } from '../helpers/put-derived.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

/** Midnight of 29 March 2026 in Paris, a day of 23 hours. */
const midnight = Date.UTC(2026, 2, 28, 23) / 1000;
const channel = { code: 'temp.skin', kind: 'temp', rateNanoHz: 1e9, gain: 100, baseline: 0, unit: 'Cel', lead: '' } as const;

let running: RunningService;
let subject: string;
type Day = Readonly<Record<string, number | string | null>>;
const ask = (query: string) => running.send<Day[]>('GET', `/api/v1/day-variability?${query}`);

/** A mean interval of 1000 ms, 1250 ms from 0 to 6 h UTC, with an SDNN of 40 ms, each 30 s. */
const put = (fromSec: number, toSec: number): Promise<number> =>
  putFeatures(
    running.database,
    `select t * 1000000000 as ts_ns, case when m.name = 'hrv_sdnn_300s' then 40 when t % 86400 <= 21600 then 1250 else 1000 end::float8 as value,
       s.id as stream_id, m.id as method_id, (-1)::smallint as channel_no,
       (case when t >= $3::bigint and t < $3::bigint + 7200 then 2 else 0 end)::smallint as qmask
     from generate_series($1::bigint, $2::bigint, 30) t, method m, stream s
     where m.kind = 'feature' and m.name in ('hrv_mean_nn_300s', 'hrv_sdnn_300s')`,
    [fromSec, toSec, midnight + 14 * 3600],
  );

beforeAll(async () => {
  running = await runService();
  const token = await running.token('ada');
  subject = token.xuser_id;
  const fromSec = midnight - 7200;
  for (const [seq, sec] of [fromSec, midnight + 30 * 3600].entries()) {
    const { status, text } = await running.ingest(
      packetOf('patch', seq, {
        bootId: '01'.repeat(16),
        t0DeviceNs: BigInt(sec - fromSec) * 1_000_000_000n,
        t0UnixNs: BigInt(sec) * 1_000_000_000n,
        sentUnixNs: 0n,
        blocks: [{ channel, tOffsetNs: 0, samples: Int32Array.of(3300), qmask: null }],
        measurements: [],
        events: [],
      }),
      token.xuser_token,
    );
    expect(status, text).toBe(202);
  }
  // Each method has a version of its own.
  await running.database.pool.query(
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hrv_mean_nn_300s', 'derived:hrv_mean_nn_300s_v6', 1 / 30.0, 'ms'),
       ('feature', 'hrv_sdnn_300s', 'derived:hrv_sdnn_300s_v7', 1 / 30.0, 'ms') on conflict do nothing`,
  );
  await put(midnight - 3600, midnight + 16 * 3600);
  await put(midnight + 18 * 3600, midnight + 26 * 3600);
});
afterAll(() => running?.close());

it('a day of 23 hours with two bad and two empty ones, before and after the late data arrives', async () => {
  const before = await ask(`subject_id=${subject}&date=2026-03-29&tz=Europe/Paris`);
  expect(before.status, before.text).toBe(200);
  const [day] = before.body;
  expect(day).toMatchObject({
    device_id: 'patch',
    date: '2026-03-29',
    from: '2026-03-28T23:00:00.000Z',
    until: '2026-03-29T22:00:00.000Z',
    // bad windows are those that end from 14 to 16 h after midnight, and the window that ends at 18 h reaches into it
    sdnn_index_ms: 40,
  });
  const hours = (day!['window_count'] as number) / 12;
  expect(hours).toBeGreaterThan(18.9);
  expect(hours).toBeLessThan(19.2);
  expect(day!['coverage']).toBeCloseTo(hours / 23, 4);
  // from 1 to 6 h of Paris: 0 to 4 h UTC less the hour that is skipped
  expect(day!['night_hr']).toBeCloseTo(48, 1);
  expect(day!['day_hr']).toBeCloseTo(60, 1);
  expect(day!['dip_percent']).toBeCloseTo(20, 0);
  expect(day!['resting_hr']).toBeCloseTo(48, 9);
  const slow = 6 / hours;
  expect(day!['sdann_ms'] as number).toBeCloseTo(250 * Math.sqrt(slow * (1 - slow)), -0.5);
  await put(midnight + 16 * 3600 + 30, midnight + 18 * 3600 - 30);
  const after = await ask(`subject_id=${subject}&date=2026-03-29&tz=Europe/Paris`);
  expect((after.body[0]!['window_count'] as number) - (day!['window_count'] as number)).toBeGreaterThanOrEqual(23);
});

it('numbers are rounded to steps, as stored values are', async () => {
  const { text } = await ask(`subject_id=${subject}&date=2026-03-29&tz=Europe/Paris`);
  const numberOf = (name: string): string => new RegExp(`"${name}":([^,}]+)`).exec(text)![1]!;
  for (const name of ['sdnn_ms', 'sdann_ms', 'sdnn_index_ms', 'night_hr', 'day_hr', 'resting_hr'])
    expect(numberOf(name), name).toMatch(/^\d+(\.\d{1,3})?$/);
  expect(numberOf('dip_percent')).toMatch(/^-?\d+(\.\d{1,2})?$/);
  expect(numberOf('coverage')).toMatch(/^[01](\.\d{1,4})?$/);
});

it('less than 18 hours give no variability, and a day without values gives nothing', async () => {
  const next = await ask(`subject_id=${subject}&date=2026-03-30&tz=Europe/Paris`);
  expect(next.body).toMatchObject([{ sdnn_ms: null, sdann_ms: null, sdnn_index_ms: null }]);
  expect((await ask(`subject_id=${subject}&date=2026-04-02`)).body).toEqual([]);
});

type Plan = { 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] } & Record<string, unknown>;
/** Rows that the busiest step of a plan has looked at, those included that it threw away. */
function looksOf(plan: Plan): number {
  const thrownAway = ['Rows Removed by Filter', 'Rows Removed by Join Filter'].reduce((sum, name) => sum + Number(plan[name] ?? 0), 0);
  return Math.max(plan['Actual Loops'] * (plan['Actual Rows'] + thrownAway), ...(plan.Plans ?? []).map(looksOf));
}

it('looks at each value of a whole day a few times, not at each with every other', async () => {
  const fromSec = midnight + 30 * 3600 - 86_400;
  await put(fromSec, fromSec + 86_400);
  let plan: Plan | undefined;
  const { pool } = running.database;
  const explaining = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (analyze, format json) ${text}`, values);
      plan = rows[0]!['QUERY PLAN'][0]!.Plan;
      return { rows: [] };
    },
  };
  await readWindows(explaining as unknown as typeof pool, subject, { fromMs: 1000 * fromSec, untilMs: 1000 * (fromSec + 86_400) });
  expect(looksOf(plan!)).toBeGreaterThan(2 * 2000);
  expect(looksOf(plan!)).toBeLessThan(50_000);
});

it('refuses an invalid day, an unknown zone and an unknown user', async () => {
  expect((await ask(`subject_id=${subject}&date=2026-02-30`)).status).toBe(422);
  expect((await ask(`subject_id=${subject}&date=2026-03-29&tz=Europe/Nowhere`)).status).toBe(422);
  expect((await ask(`subject_id=someone-else&date=2026-03-29`)).status).toBe(404);
});
