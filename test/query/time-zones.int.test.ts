// Time zones where the service takes one: PostgreSQL and Intl read some names differently, and days at the ends of the calendar leave it.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { doctor } from '../../src/cli/doctor.ts';
import { ran } from '../helpers/commands.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

let running: RunningService;
let subject: string;

beforeAll(async () => {
  running = await runService();
  subject = (await running.token('ada')).xuser_id;
});
afterAll(() => running?.close());

type Refusal = Readonly<{ errors?: readonly { pointer: string; detail: string }[] }>;
const zoneTakers: [string, string, (zone: string) => Promise<{ status: number; text: string; body: Refusal }>][] = [
  ['a chart', '/tz', (tz) => chart('2026-03-01T00:00:00Z', '2026-03-04T00:00:00Z', tz)],
  [
    'observations by the day',
    '/query/tz',
    (tz) => running.send('GET', `/api/v1/observations?subject_id=${subject}&biosignal_id=20&interval=P1D&tz=${encodeURIComponent(tz)}`),
  ],
  ['a day', '/query/tz', (tz) => day('2026-03-01', tz)],
  [
    'a person',
    '/time_zone',
    (zone) => running.send('PATCH', `/api/v1/xusers/${subject}`, { headers: { 'if-match': '*' }, body: { time_zone: zone } }),
  ],
  ['a new person', '/time_zone', (zone) => running.send('POST', '/api/v1/xusers', { body: { external_id: 'eve', time_zone: zone } })],
];

function chart(from: string, to: string, tz: string) {
  const body = { subject_id: subject, series: [{ feature: 'hr_ecg' }], range: { from, to }, resolution: '1d', max_points: 1000, tz };
  return running.send<Refusal>('POST', '/api/v1/charts/query', { body });
}

function day(date: string, tz: string) {
  return running.send<Refusal>('GET', `/api/v1/day-variability?subject_id=${subject}&date=${date}&tz=${encodeURIComponent(tz)}`);
}

for (const [name, pointer, ask] of zoneTakers) {
  it(`${name} takes no zone that PostgreSQL reads otherwise than Intl`, async () => {
    // An offset has the other sign in POSIX; CET is +1 in summer, too, and IST that of Israel, as abbreviations of PostgreSQL.
    for (const zone of ['+05:30', '-05:30', '+05', '-0530', '5', 'UTC+5', 'CET', 'ist', 'BST', 'US/Pacific-New', 'Mars/Olympus']) {
      const { status, text, body } = await ask(zone);
      expect([zone, status], text).toEqual([zone, 422]);
      expect(body.errors![0]!.pointer).toBe(pointer);
    }
    // Names that every installation has: those of before (GB) are a package of their own on Debian 13. Browsers still give some of them.
    for (const zone of [
      'Asia/Calcutta',
      'europe/kiev',
      'America/Buenos_Aires',
      'UTC',
      'Etc/GMT+5',
      'Etc/GMT-14',
      'Asia/Kolkata',
      'asia/kolkata',
      'Europe/Berlin',
      'GMT',
    ]) {
      const { status, text } = await ask(zone);
      expect([zone, status < 300], text).toEqual([zone, true]);
    }
  });
}

// promise: old-zones-used
it('a person whose zone is taken no more has charts, days and strips all the same, and doctor names them', async () => {
  const { pool } = running.database;
  const stored = {
    CET: 'Europe/Brussels',
    '+02:00': 'Etc/GMT-2',
    '-0900': 'Etc/GMT+9',
    '+05:30': null,
    IST: null,
    'Europe/Berlin': 'Europe/Berlin',
  };
  for (const [zone, used] of Object.entries(stored)) {
    await pool.query('update xuser set time_zone = $1 where id = $2', [zone, subject]);
    const person = await running.send<{ time_zone: string | null }>('GET', `/api/v1/xusers/${subject}`);
    expect([zone, person.body.time_zone]).toEqual([zone, used]);
    const [listed] = (await running.send<{ time_zone: string | null }[]>('GET', '/api/v1/xusers?external_id=ada')).body;
    expect(listed!.time_zone).toBe(used);
    const range = { from: '2026-03-01T00:00:00Z', to: '2026-03-04T00:00:00Z' };
    const body = { subject_id: subject, series: [{ feature: 'hr_ecg' }], range, resolution: '1d', fill: 'null' };
    const { status, text, body: answer } = await running.send<{ data: number[][] }>('POST', '/api/v1/charts/query', { body });
    expect([zone, status], text).toEqual([zone, 200]);
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: used ?? 'UTC', timeStyle: 'short' });
    expect([zone, clock.format(answer.data[1]![0])]).toEqual([zone, '00:00']);
    for (const path of ['observations?biosignal_id=20&interval=P1D', 'day-variability?date=2026-03-01'])
      expect([zone, (await running.send('GET', `/api/v1/${path}&subject_id=${subject}`)).status]).toEqual([zone, 200]);
  }
  await pool.query(`update xuser set time_zone = '+02:00' where id = $1`, [subject]);
  const bea = (await running.token('project bea')).xuser_id;
  await pool.query(`update xuser set time_zone = 'IST' where id = $1`, [bea]);
  const { out } = await ran(doctor, ['--json'], { env: { DATABASE_URL: running.database.url }, cwd: '/' });
  const findings = JSON.parse(out.join('\n')) as { check: string; state: string; found: string }[];
  expect(findings.filter(({ check }) => check === 'time zones')).toEqual([
    expect.objectContaining({
      state: 'warning',
      found: `accepted by an older release, no longer now: ada (${subject}): +02:00, used as Etc/GMT-2; project bea (${bea}): IST, used as that of the project`,
    }),
  ]);
  await pool.query('update xuser set time_zone = null where id = any ($1)', [[subject, bea]]);
});

it('every zone that a browser names is known to the database by its name of today', async () => {
  const { presentName } = await import('../../src/http/time-zone.ts');
  const { rows } = await running.database.pool.query<{ name: string }>('select name from pg_timezone_names');
  const known = new Set(rows.map(({ name }) => name));
  expect(Intl.supportedValuesOf('timeZone').filter((zone) => !known.has(presentName(zone)))).toEqual([]);
});

const TZDATA = '/usr/share/zoneinfo';
it.runIf(existsSync(`${TZDATA}/zone.tab`))('every zone that a browser names has a name of those that tzdata lists', async () => {
  const { presentName } = await import('../../src/http/time-zone.ts');
  // Others are links to a name of before, which not every package has.
  const listed = new Set(readFileSync(`${TZDATA}/zone.tab`, 'utf8').match(/[A-Z][a-z]+\/[A-Z][A-Za-z_/-]+/g));
  const named = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC' && existsSync(`${TZDATA}/${zone}`));
  expect(named.filter((zone) => !listed.has(presentName(zone)))).toEqual([]);
});

it('zones that an earlier release stored get their names of today', async () => {
  const { presentName } = await import('../../src/http/time-zone.ts');
  const { pool } = running.database;
  const former = Intl.supportedValuesOf('timeZone').filter((zone) => presentName(zone) !== zone);
  expect(former.length).toBeGreaterThan(0);
  for (const zone of [...former, 'asia/calcutta', 'Europe/Berlin']) {
    await pool.query('update xuser set time_zone = $1 where id = $2', [zone, subject]);
    await pool.query('update project set time_zone = $1', [zone]);
    await pool.query(readFileSync('sql/000092-former-zone-names.sql', 'utf8'));
    const { rows } = await pool.query(
      'select x.time_zone as x, p.time_zone as p from xuser x join project p on p.id = x.project_id where x.id = $1',
      [subject],
    );
    expect(rows).toEqual([{ x: presentName(zone), p: presentName(zone) }]);
  }
  await pool.query('update xuser set time_zone = null where id = $1', [subject]);
});

it('what is taken means the same to PostgreSQL and Intl, in winter and summer', async () => {
  const { isTimeZone } = await import('../../src/http/time-zone.ts');
  const { rows } = await running.database.pool.query<{ name: string; months: string[] }>(
    `select name, array(select to_char(t at time zone name, 'YYYY-MM-DD HH24:MI') from unnest($1::timestamptz[]) as t) as months
     from (select name from pg_timezone_names union select abbrev from pg_timezone_abbrevs) as names (name)`,
    [['2026-01-15T00:00:00Z', '2026-07-15T00:00:00Z']],
  );
  const taken = rows.filter(({ name }) => isTimeZone(name));
  expect(taken.length).toBeGreaterThan(400);
  for (const { name, months } of taken) {
    const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: name, dateStyle: 'short', timeStyle: 'short' });
    expect([name, ...[Date.UTC(2026, 0, 15), Date.UTC(2026, 6, 15)].map((ms) => clock.format(ms))]).toEqual([name, ...months]);
  }
});

it.each([
  ['9999-12-31', 'America/Adak'],
  ['9999-12-31', 'UTC'],
  ['0001-01-01', 'Asia/Tokyo'],
  ['0000-01-01', 'UTC'],
  ['0000-12-31', 'America/Adak'],
])('day %s of %s reaches beyond the calendar', async (date, tz) => {
  const { status, text, body } = await day(date, tz);
  expect(status, text).toBe(422);
  expect(body.errors![0]!.pointer).toBe('/query/date');
});

it.each(['America/Adak', 'Asia/Tokyo', 'UTC'])('the ends of the calendar in %s have answers', async (tz) => {
  for (const [from, to] of [
    ['9999-12-29T00:00:00Z', '9999-12-31T23:59:59Z'],
    ['0001-01-01T00:00:00Z', '0001-01-03T00:00:00Z'],
    ['0000-01-01T00:00:00Z', '0000-01-03T00:00:00Z'],
    ['9999-12-31T20:00:00-12:00', '9999-12-31T23:59:59-12:00'],
  ] as const) {
    for (const path of [
      `/api/v1/observations?subject_id=${subject}&biosignal_id=20&interval=P1D&tz=${tz}&since=${from}&until=${to}`,
      `/api/v1/observations?subject_id=${subject}&biosignal_id=20&since=${from}&until=${to}`,
      `/api/v1/streams?subject_id=${subject}&since=${from}&until=${to}`,
    ]) {
      const { status, text } = await running.send('GET', path);
      expect([path, status < 500], text).toEqual([path, true]);
    }
    const { status, text } = await chart(from, to, tz);
    expect([from, status < 500], text).toEqual([from, true]);
  }
  expect((await day('9999-12-30', tz)).status).toBe(200);
  expect((await day('0001-01-02', tz)).status).toBe(200);
  expect(running.faults).toEqual([]);
});

// The Azores: on 25 October 2026 at 01:00 the clocks went back to 00:00.
it('a day whose midnight comes twice begins with the first, as pages have it', async () => {
  const tz = 'Atlantic/Azores';
  const [first, next] = [Date.parse('2026-10-25T00:00:00Z'), Date.parse('2026-10-26T01:00:00Z')];
  const times = [first - 60_000, first, first + 30 * 60_000, first + 90 * 60_000, next - 60_000, next];
  const measurements = times.map((time) => ({ biosignal_id: 67, time: new Date(time).toISOString(), value: 80 }));
  const stored = await running.send('POST', '/api/v1/measurements', { body: { subject_id: subject, measurements } });
  expect(stored.status, stored.text).toBe(201);
  const body = {
    subject_id: subject,
    series: [{ biosignal_id: 67, agg: 'count' }],
    range: { from: '2026-10-24T00:00:00Z', to: '2026-10-27T01:00:00Z' },
    resolution: '1d',
    tz,
  };
  for (const fill of ['none', 'null']) {
    const { data } = (await running.send<{ data: number[][] }>('POST', '/api/v1/charts/query', { body: { ...body, fill } })).body;
    const [before, the, after] = [first - 86_400_000, first, next];
    expect([fill, data]).toEqual([fill, [[before, 1], [the, 4], [after, 1]]]); // prettier-ignore
  }
});
