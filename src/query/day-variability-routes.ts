/** GET /api/v1/day-variability: SDNN, SDANN, SDNN index, heart rate of night and day, resting heart rate, of one day of a user. */
import { Type } from 'typebox';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, Timestamp } from '../http/schemas.ts';
import { isTimeZone, notTimeZone, presentName } from '../http/time-zone.ts';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { ownSubject } from '../tenancy/record-ownership.ts';
import { firstTimeOf } from './clock-times.ts';
import type { NnFiveMinutes } from './day-variability.ts';
import { DAY_HOURS_MIN, dayVariability, DAYTIME, FIVE_MS, NIGHT, PART_MIN, RESTING_WINDOWS, sideBySide } from './day-variability.ts';
import { wrong } from './wrong.ts';

const number = (description: string) => nullable(Type.Number({ description }));
const wholeDay = `; null with less than ${DAY_HOURS_MIN} h of windows`;

const DayVariabilitySchema = exactly({
  device_id: Type.String(),
  date: Type.String(),
  from: Timestamp,
  until: Timestamp,
  window_count: Type.Integer({ description: 'Windows of five minutes with good intervals that do not overlap.' }),
  coverage: Type.Number({ description: 'Share of the day that lies in them.' }),
  sdnn_ms: number(`Standard deviation of the NN intervals${wholeDay}.`),
  sdann_ms: number(`Standard deviation of the mean NN intervals of the windows${wholeDay}.`),
  sdnn_index_ms: number(`Mean of the standard deviations of the windows${wholeDay}.`),
  night_hr: number(`Heart rate, /min, from ${NIGHT.fromHour} to ${NIGHT.toHour} h; null with less than ${100 * PART_MIN} % of it.`),
  day_hr: number(`Heart rate, /min, from ${DAYTIME.fromHour} to ${DAYTIME.toHour} h; null likewise.`),
  dip_percent: number('How much lower the heart rate of the night is than that of the day, %.'),
  resting_hr: number(`Lowest heart rate of ${(RESTING_WINDOWS * FIVE_MS) / 60_000} min without a gap, /min.`),
});

const getDayVariability = ({ db }: Readonly<{ db: Db }>) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/day-variability',
    operationId: 'getDayVariability',
    tag: 'Observations',
    summary: "Read the variability of a user's day",
    description:
      'From the good values of hrv_mean_nn_300s and hrv_sdnn_300s of ECG, one element for each device that has any. The day is one of the ' +
      'clock, of 23, 24 or 25 hours. Worked out at each request, so what arrives late is in it, and rounded last: to 0.001 ms, 0.001 /min, ' +
      '0.01 % and 0.0001 of coverage. SDNN is that of all intervals of the windows ' +
      '(Task Force of the ESC and NASPE 1996, doi:10.1161/01.CIR.93.5.1043).',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      subject_id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'The user. Required with an organization key; a user token implies its own.',
        }),
      ),
      date: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'The day, such as 2026-03-01.' }),
      tz: Type.Optional(Type.String({ maxLength: 64, description: "IANA time zone of the day; absent: the user's." })),
    },
    responses: { 200: { description: 'The day, by device.', schema: Type.Array(DayVariabilitySchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      const timeZone = presentName(query.tz ?? subject.timeZone);
      if (!isTimeZone(timeZone)) throw wrong('/query/tz', notTimeZone(timeZone));
      const day = await boundsOf(db, query.date, timeZone);
      const hourOf = clock(timeZone);
      const json = [...(await readWindows(db, subject.id, day))].map(([device, windows]) => ({
        device_id: device,
        date: query.date,
        from: new Date(day.fromMs).toISOString(),
        until: new Date(day.untilMs).toISOString(),
        ...dayVariability(sideBySide(windows), day.untilMs - day.fromMs, hourOf),
      }));
      return { status: 200, json };
    },
  });

const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('+010000-01-01T00:00:00Z');

type Day = Readonly<{ fromMs: number; untilMs: number }>;

async function boundsOf(db: Db, date: string, timeZone: string): Promise<Day> {
  if (date < '0001' || Number.isNaN(Date.parse(date)) || !new Date(date).toISOString().startsWith(date))
    throw wrong('/query/date', 'is no day of the calendar');
  const asked = db.query<Day>(
    prepared(
      `select date_part('epoch', ${firstTimeOf('$1::timestamp', '$2')}) * 1000 as "fromMs",
         date_part('epoch', ${firstTimeOf(`($1::timestamp + interval '1 day')`, '$2')}) * 1000 as "untilMs"`,
      [date, timeZone],
    ),
  );
  const { rows } = await asked.catch((error: unknown) => {
    throw sqlStateOf(error) === '22023' ? wrong('/query/tz', 'is not a time zone that the database knows') : error;
  });
  const day = rows[0]!;
  // Times are written with four digits of the year.
  if (day.fromMs < YEAR_1_MS || day.untilMs >= YEAR_10000_MS) throw wrong('/query/date', 'does not lie in the years 1 to 9999 of UTC');
  return day;
}

/** Good windows that lie in the day, by device, ascending. Where two versions of a method have values, the newer one's count, good or
 *  not: mean and deviation each have versions of their own. Streams are named by number: so feature_values reads their rows alone. The
 *  two values of a window meet by grouping: its rows are guessed as one, so a join compares each with every other, 8 million times for a
 *  day. */
export async function readWindows(db: Db, subjectId: string, { fromMs, untilMs }: Day): Promise<Map<string, NnFiveMinutes[]>> {
  const bounds = [new Date(fromMs + FIVE_MS - 1).toISOString(), new Date(untilMs + 1).toISOString()];
  const { rows } = await db.query<{ device: string; endMs: number; meanMs: number; sdMs: number }>(
    prepared(
      `with own as materialized (
         select s.id, d.external_id as device from stream s join device d on d.id = s.device_id
         where s.xuser_id = $1 and coalesce(s.recorded_from, '-infinity') < $3::timestamptz + interval '1 day'
           and coalesce(s.ended_at, s.last_sample_at, 'infinity') >= $2::timestamptz - interval '1 day'),
       found as (
         select distinct on (own.device, f.ts_ns, m.name) own.device, f.ts_ns, m.name, f.value, f.qmask
         from feature_values($2::timestamptz, $3::timestamptz) f
         join own on own.id = f.stream_id join method m on m.id = f.method_id
         where f.stream_id = any (array(select id from own))
           and f.method_id = any (array(select id from method where kind = 'feature' and name in ('hrv_mean_nn_300s', 'hrv_sdnn_300s')))
         order by own.device, f.ts_ns, m.name, ${newestFirst('m')})
       select device, ts_ns / 1e6::float8 as "endMs", max(value) filter (where name = 'hrv_mean_nn_300s') as "meanMs",
         max(value) filter (where name = 'hrv_sdnn_300s') as "sdMs"
       from found where qmask = 0 group by device, ts_ns having count(*) = 2 order by device, ts_ns`,
      [subjectId, ...bounds],
    ),
  );
  return Map.groupBy(rows, ({ device }) => device);
}

/** Hour of the clock of a time, with its fraction. */
function clock(timeZone: string): (ms: number) => number {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return (ms) => {
    const [hour, minute] = parts.format(ms).split(':').map(Number) as [number, number];
    return hour + minute / 60;
  };
}

export const dayVariabilityRoutes = (deps: Readonly<{ db: Db }>): Route[] => [getDayVariability(deps)];
