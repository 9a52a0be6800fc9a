/** Measurements in the whole service: impossible values are refused, unlikely ones flagged, other units converted; everything in a device's
 *  packet is stored. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const SPO2 = 61;
const TEMPERATURE = 62;
const WEIGHT = 67;
const SYSTOLIC = 68;
const GLUCOSE = 70;
type Stored = {
  created: number;
  implausible: number[];
  converted: { given_value: number; given_unit: string; value: number; unit: string }[];
};
type Problem = { errors: { pointer: string; code: string; detail: string }[] };
type Observed = { value: number; unit: string; loinc_code: string };

let run: RunningService;
let person: { xuser_id: string };
beforeAll(async () => {
  run = await runService();
  person = await run.token('measured');
});
afterAll(async () => {
  expect(run.faults).toEqual([]);
  await run.close();
});

let minute = 0;
const store = <T = Stored>(...items: { biosignal_id: number; value: number; unit?: string; time?: string }[]) =>
  run.send<T>('POST', '/api/v1/measurements', {
    body: {
      subject_id: person.xuser_id,
      measurements: items.map((item) => ({
        time: new Date(Date.parse('2026-03-01T08:00:00Z') + minute++ * 60_000).toISOString(),
        ...item,
      })),
    },
  });
const observed = async (biosignal: number, qualityMax = 0): Promise<Observed[]> => {
  const query = `biosignal_id=${biosignal}&subject_id=${person.xuser_id}&quality_max=${qualityMax}&order=asc`;
  return (await run.send<Observed[]>('GET', `/api/v1/observations?${query}`)).body;
};

// promise: measurements-whole, measurement-ranges
it.each([
  ['an oxygen saturation of 250 %', { biosignal_id: SPO2, value: 250 }, 'value', '0 to 100 %'],
  ['98.6 as degrees Celsius', { biosignal_id: TEMPERATURE, value: 98.6 }, 'value', '10 to 50 Cel'],
  ['a negative weight', { biosignal_id: WEIGHT, value: -70 }, 'value', '0.2 to 700 kg'],
  ['a unit that does not convert', { biosignal_id: WEIGHT, value: 70, unit: 'stone' }, 'unit', 'kg, '],
  ['glucose per litre as a weight', { biosignal_id: WEIGHT, value: 70, unit: 'mmol/L' }, 'unit', '[lb_av]'],
  ['a time in the future', { biosignal_id: WEIGHT, value: 70, time: '2050-01-01T00:00:00Z' }, 'time', 'future'],
  ['the year 1800', { biosignal_id: WEIGHT, value: 70, time: '1800-01-01T00:00:00Z' }, 'time', '1900'],
  ['31 February', { biosignal_id: WEIGHT, value: 70, time: '2026-02-31T00:00:00Z' }, 'time', 'RFC 3339'],
])('refuses %s, and all that came with it, and says what is taken', async (_what, wrong, member, taken) => {
  const { status, body, text } = await store<Problem>({ biosignal_id: WEIGHT, value: 71.234 }, wrong);
  expect(status, text).toBe(422);
  expect(body.errors[0]).toMatchObject({ pointer: `/measurements/1/${member}`, detail: expect.stringContaining(taken) as string });
  expect((await observed(WEIGHT, 2)).map(({ value }) => value)).not.toContain(71.234);
});

// promise: measurement-ranges
it('takes a time up to five minutes ahead', async () => {
  const ahead = (ms: number) => ({ biosignal_id: WEIGHT, value: 70, time: new Date(Date.now() + ms).toISOString() });
  expect((await store(ahead(280_000))).status).toBe(201);
  expect((await store(ahead(320_000))).status).toBe(422);
});

// promise: measurement-units
it.each([
  [TEMPERATURE, 98.6, '[degF]', 37, 'Cel', '8310-5'],
  [WEIGHT, 154, '[lb_av]', 69.85322498, 'kg', '29463-7'],
  [SYSTOLIC, 16, 'kPa', 120.009852135, 'mm[Hg]', '8480-6'],
  [GLUCOSE, 5.5, 'mmol/L', 99.0858, 'mg/dL', '2339-0'],
  [GLUCOSE, 5.6, 'mmol/l', 100.88736, 'mg/dL', '2339-0'],
  [GLUCOSE, 97, 'mg/dl', 97, 'mg/dL', '2339-0'],
  [GLUCOSE, 0.57, 'g/L', 57, 'mg/dL', '2339-0'],
  [TEMPERATURE, 98.7, 'F', 37.0555555556, 'Cel', '8310-5'],
  [WEIGHT, 155, 'lbs', 70.30681735, 'kg', '29463-7'],
])('converts to the unit of biosignal %i: %d %s', async (biosignal, value, unit, expected, into, loinc) => {
  const { status, body, text } = await store({ biosignal_id: biosignal, value, unit });
  expect(status, text).toBe(201);
  expect(body).toMatchObject({ created: 1, implausible: [], converted: [{ given_value: value, given_unit: unit, unit: into }] });
  expect(body.converted[0]!.value).toBeCloseTo(expected, 8);
  const stored = (await observed(biosignal)).find((item) => item.value === body.converted[0]!.value);
  expect(stored).toMatchObject({ unit: into, loinc_code: loinc });
  // The export has the value as sent.
  const lines = (await run.send('GET', `/api/v1/xusers/${person.xuser_id}/export`)).text.split('\n');
  expect(lines.some((line) => line.includes(`"given_unit": "${unit}"`) && line.includes(`"given_value": ${value}`))).toBe(true);
});

// promise: measurement-units
it.each([
  ['mg/dL', 90, 'mg/dl', 90],
  ['mg/dL', 0.57, 'g/L', 57],
  ['mg/dL', 905, 'mg/L', 90.5],
  ['mg/dL', 905, 'µg/ml', 90.5],
  ['10*9/L', 6.1, '10*3/uL', 6.1],
  ['10*9/L', 6.1, 'G/l', 6.1],
  ['10*9/L', 6100, '/µL', 6.1],
  ['m[IU]/L', 2.35, 'mIU/L', 2.35],
  ['m[IU]/L', 2.35, 'µIU/mL', 2.35],
  ['mL/min/{1.73_m2}', 88, 'mL/min/1.73m²', 88],
  ['mmol/(24.h)', 120, 'mmol/24h', 120],
])('converts to the own unit %s, exactly: %d %s', async (own, value, unit, expected) => {
  const number = minute++;
  const named = { name: `Laboratory ${number}`, abbreviation: `LAB-${number}`, code: `laboratory_${number}` };
  const body = { ...named, unit: own, signal_type: 'scalar', source_type: 'import' };
  const made = await run.send<{ id: number }>('POST', `/api/v1/projects/${run.org.projectId}/biosignals`, { body });
  expect(made.status, made.text).toBe(201);
  const answer = await store({ biosignal_id: made.body.id, value, unit });
  expect(answer.status, answer.text).toBe(201);
  expect(answer.body.converted).toEqual([{ index: 0, given_value: value, given_unit: unit, value: expected, unit: own }]);
  expect(await observed(made.body.id)).toMatchObject([{ value: expected, unit: own }]);
  const given = await run.database.pool.query(`select given_value, given_unit from measurement where biosignal_id = $1`, [made.body.id]);
  expect(given.rows).toEqual([{ given_value: value, given_unit: unit }]);
});

// promise: measurement-units
it('refuses a unit that does not convert, with those that do and how it is written', async () => {
  const detailOf = async (unit: string): Promise<string> => {
    const { status, body } = await store<Problem>({ biosignal_id: GLUCOSE, value: 90, unit });
    expect(status).toBe(422);
    return body.errors[0]!.detail;
  };
  const taken = "does not convert to the biosignal's unit; it takes mg/dL, mmol/L, and these with other prefixes";
  expect(await detailOf('mmHg')).toBe(`mmHg ${taken}; in UCUM it would be mm[Hg]`);
  expect(await detailOf('steps')).toBe(`steps ${taken}; in UCUM it would be {steps}, if it is a count`);
  expect(await detailOf('mm[Hg]')).toBe(`mm[Hg] ${taken}`);
  expect(await detailOf('UG/ML')).toBe(`UG/ML ${taken}`);
});

// promise: measurement-suspect
it('stores values that are possible but unlikely as suspect', async () => {
  const { body, text } = await store({ biosignal_id: SPO2, value: 97 }, { biosignal_id: SPO2, value: 45 });
  expect(body, text).toMatchObject({ created: 2, implausible: [1] });
  expect((await observed(SPO2)).map(({ value }) => value)).toEqual([97]);
  expect((await observed(SPO2, 1)).map(({ value }) => value)).toEqual([97, 45]);
});

// promise: packet-measurements, worse-flag
it("keeps every measurement of a device's packet, flagged where it is implausible, converted where its unit is another", async () => {
  const own = {
    name: 'Carbon monoxide',
    abbreviation: 'CO',
    code: 'carbon_monoxide',
    unit: '[ppm]',
    signal_type: 'scalar',
    source_type: 'device',
  };
  expect((await run.send('POST', `/api/v1/projects/${run.org.projectId}/biosignals`, { body: own })).status).toBe(201);
  const { xuser_id: id } = await run.token('wearer');
  const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: 'oximeter' });
  const t0UnixNs = BigInt(Date.now() - 60_000) * 1_000_000n;
  const of = (code: string, value: number, unit: string, tOffsetNs: number, quality: 0 | 1 | 2 = 0) => {
    return { tOffsetNs, code, value, unit, quality };
  };
  const measurements = [
    of('spo2', 250, '%', 0),
    of('spo2', 45, '%', 1e8),
    of('spo2', 97, '%', 2e8),
    of('body_temperature', 98.6, '[degF]', 3e8),
    of('body_temperature', 36.5, 'furlong', 4e8),
    of('body_temperature', 109.4, '[degF]', 5e8),
    of('glucose', 1.7e308, 'mmol/L', 6e8),
    // Where the device sends a flag too, the worse of the two applies.
    of('spo2', 97, '%', 7e8, 1),
    of('spo2', 45, '%', 8e8, 2),
    of('spo2', 250, '%', 9e8, 1),
    // Powers of ten and spellings, exactly; what would be more than a number holds stays.
    of('glucose', 0.57, 'g/L', 10e8),
    of('glucose', 5, 'mmol/l', 11e8),
    of('body_temperature', 98.6, 'degF', 12e8),
    of('glucose', 1.7e308, 'g/L', 13e8),
    // Not 5 million of them: 1 may mean no unit.
    of('carbon_monoxide', 4, '[ppm]', 14e8),
    of('carbon_monoxide', 5, '1', 15e8),
    of('carbon_monoxide', 6, '', 16e8),
    of('spo2', 0.97, '1', 17e8),
  ];
  const answer = await run.ingest({ ...packet!, subject: id, t0UnixNs, sentUnixNs: t0UnixNs, measurements });
  expect(answer.status, answer.text).toBe(202);
  const stored = async (): Promise<object[]> =>
    (
      await run.database.pool.query<object>(
        `select b.code, m.value, m.unit, m.qmask, m.given_value, m.given_unit
         from measurement m join biosignal b on b.id = m.biosignal_id where m.xuser_id = $1 order by m.time`,
        [id],
      )
    ).rows;
  await until(async () => (await stored()).length === measurements.length);
  expect(await stored()).toEqual([
    { code: 'spo2', value: 250, unit: '%', qmask: 2, given_value: null, given_unit: null },
    { code: 'spo2', value: 45, unit: '%', qmask: 1, given_value: null, given_unit: null },
    { code: 'spo2', value: 97, unit: '%', qmask: 0, given_value: null, given_unit: null },
    { code: 'body_temperature', value: 37, unit: 'Cel', qmask: 0, given_value: 98.6, given_unit: '[degF]' },
    { code: 'body_temperature', value: 36.5, unit: 'furlong', qmask: 2, given_value: null, given_unit: null },
    // The last plausible one: in binary 5/9 of it is a little more.
    { code: 'body_temperature', value: 43, unit: 'Cel', qmask: 0, given_value: 109.4, given_unit: '[degF]' },
    { code: 'glucose', value: 1.7e308, unit: 'mmol/L', qmask: 2, given_value: null, given_unit: null },
    { code: 'spo2', value: 97, unit: '%', qmask: 1, given_value: null, given_unit: null },
    { code: 'spo2', value: 45, unit: '%', qmask: 2, given_value: null, given_unit: null },
    { code: 'spo2', value: 250, unit: '%', qmask: 2, given_value: null, given_unit: null },
    { code: 'glucose', value: 57, unit: 'mg/dL', qmask: 0, given_value: 0.57, given_unit: 'g/L' },
    { code: 'glucose', value: 90.078, unit: 'mg/dL', qmask: 0, given_value: 5, given_unit: 'mmol/l' },
    { code: 'body_temperature', value: 37, unit: 'Cel', qmask: 0, given_value: 98.6, given_unit: 'degF' },
    { code: 'glucose', value: 1.7e308, unit: 'g/L', qmask: 2, given_value: null, given_unit: null },
    { code: 'carbon_monoxide', value: 4, unit: '[ppm]', qmask: 0, given_value: null, given_unit: null },
    { code: 'carbon_monoxide', value: 5, unit: '1', qmask: 2, given_value: null, given_unit: null },
    { code: 'carbon_monoxide', value: 6, unit: '[ppm]', qmask: 0, given_value: null, given_unit: null },
    { code: 'spo2', value: 97, unit: '%', qmask: 0, given_value: 0.97, given_unit: '1' },
  ]);
});

const resourceOf = async (biosignal: number) => {
  const query = `biosignal_id=${biosignal}&subject_id=${person.xuser_id}&limit=1`;
  const { body } = await run.send<{ entry: { resource: { category?: { coding: { code: string }[] }[] } }[] }>(
    'GET',
    `/api/v1/observations?${query}`,
    { headers: { accept: 'application/fhir+json' } },
  );
  return body.entry[0]!.resource;
};

it.each([
  [WEIGHT, 72, 'vital-signs'],
  [SYSTOLIC, 121, 'vital-signs'],
  [SYSTOLIC + 1, 81, 'vital-signs'],
  [GLUCOSE, 101, 'laboratory'],
])('tells biosignal %d in the category of FHIR that it belongs to', async (biosignal, value, category) => {
  expect((await store({ biosignal_id: biosignal, value })).status).toBe(201);
  expect((await resourceOf(biosignal)).category?.[0]!.coding[0]!.code).toBe(category);
});

// promise: fhir-category
it.each([
  ['import', 'scalar', undefined],
  ['clinician', 'scalar', undefined],
  ['device', 'score', undefined],
  ['self_report', 'scalar', 'survey'],
  ['clinician', 'score', 'survey'],
])('tells an own biosignal of %s, a %s, in the category %s of FHIR', async (source_type, signal_type, category) => {
  const name = `Of ${source_type} ${signal_type}`;
  const body = { name, abbreviation: name, unit: 'g/L', signal_type, source_type, code: `of_${source_type}_${signal_type}` };
  const own = await run.send<{ id: number }>('POST', `/api/v1/projects/${run.org.projectId}/biosignals`, { body });
  expect(own.status, own.text).toBe(201);
  expect((await store({ biosignal_id: own.body.id, value: 14 })).status).toBe(201);
  const resource = await resourceOf(own.body.id);
  expect(resource).toMatchObject({ valueQuantity: { value: 14 }, status: 'final' });
  expect(resource.category?.[0]!.coding[0]!.code).toBe(category);
});

// promise: measurement-ranges
// promise: measurement-corrected
it('gives a measurement that is sent again the quality that it is sent with', async () => {
  const { xuser_id: id } = await run.token('corrected');
  const weight = { biosignal_id: WEIGHT, value: 70, time: '2026-02-21T08:00:00Z' };
  const send = async (...measurements: object[]) => {
    const body = { subject_id: id, measurements };
    const { status, body: answer } = await run.send<Record<string, number>>('POST', '/api/v1/measurements', { body });
    return [status, answer['created'], answer['corrected'], answer['duplicates']];
  };
  const flags = async (): Promise<[number, number][]> => {
    const path = `/api/v1/observations?biosignal_id=${WEIGHT}&subject_id=${id}&quality_max=2&order=asc`;
    return (await run.send<{ value: number; qmask: number }[]>('GET', path)).body.map(({ value, qmask }) => [value, qmask]);
  };
  expect(await send({ ...weight, quality: 0 })).toEqual([201, 1, 0, 0]);
  expect(await send({ ...weight, quality: 2 })).toEqual([201, 0, 1, 0]);
  expect(await flags()).toEqual([[70, 2]]);
  const good = await run.send('GET', `/api/v1/observations?biosignal_id=${WEIGHT}&subject_id=${id}&quality_max=0`);
  expect(good.body).toEqual([]);
  for (const again of [weight, { ...weight, quality: 2 }]) expect(await send(again)).toEqual([201, 0, 0, 1]);
  // With what is new, in another unit, and twice in one request: the last holds.
  const pounds = { ...weight, value: 154.3236, unit: '[lb_av]', time: '2026-02-22T08:00:00Z' };
  expect(await send({ ...weight, quality: 1 }, pounds, { ...weight, quality: 0 }, { ...pounds, quality: 1 })).toEqual([201, 1, 2, 1]);
  expect((await flags()).map(([, flag]) => flag)).toEqual([0, 1]);
  const log = await run.send<{ action: string; detail: object }[]>(
    'GET',
    `/api/v1/audit-log?subject_id=${id}&action=measurements.corrected`,
  );
  expect(log.body).toHaveLength(2);
  expect(log.body.at(-1)).toMatchObject({ detail: { corrected: [{ from: 0, to: 2 }] } });
  const racing = await Promise.all([0, 1, 2, 0, 1, 2].map((quality) => send({ ...weight, quality })));
  expect(racing.map(([status]) => status)).toEqual(Array(6).fill(201));
  expect(await flags()).toHaveLength(2);
});

// promise again: measurement-corrected
it('keeps each of two corrections that come at once', async () => {
  const { xuser_id: id } = await run.token('corrected-at-once');
  const weight = { biosignal_id: WEIGHT, value: 71, time: '2026-02-23T08:00:00Z' };
  const send = async (quality: number) => {
    const body = { subject_id: id, measurements: [{ ...weight, quality }] };
    return (await run.send<Record<string, number>>('POST', '/api/v1/measurements', { body })).body;
  };
  await send(0);
  // Both are under way before either can end.
  const { pool } = run.database;
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query('select from measurement where xuser_id = $1 for update', [id]);
  const sent = [send(1), send(2)];
  await until(async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]!.n === 2;
  });
  await holder.query('commit');
  holder.release();
  const answers = await Promise.all(sent);
  expect(answers).toMatchObject([
    { corrected: 1, duplicates: 0 },
    { corrected: 1, duplicates: 0 },
  ]);
  const log = await run.send<{ detail: { corrected: { from: number; to: number }[] } }[]>(
    'GET',
    `/api/v1/audit-log?subject_id=${id}&action=measurements.corrected`,
  );
  const path = `/api/v1/observations?biosignal_id=${WEIGHT}&subject_id=${id}&quality_max=2`;
  const kept = (await run.send<{ qmask: number }[]>('GET', path)).body;
  // The log has the times at which requests began, not at which they had their turn.
  const [first, second] = log.body.flatMap(({ detail }) => detail.corrected).toSorted((a, b) => a.from - b.from);
  expect(first!.from).toBe(0);
  expect(second!.from).toBe(first!.to);
  expect(kept.map(({ qmask }) => qmask)).toEqual([second!.to]);
});

it('refuses a value that is not a finite number in the unit of the biosignal', async () => {
  const body = { name: 'Load', abbreviation: 'LOAD', unit: '%', signal_type: 'scalar', source_type: 'device', code: 'load' };
  const own = await run.send<{ id: number }>('POST', `/api/v1/projects/${run.org.projectId}/biosignals`, { body });
  expect(own.status, own.text).toBe(201);
  expect((await store({ biosignal_id: own.body.id, value: 1e308 })).status).toBe(201);
  const { status, body: problem, text } = await store<Problem>({ biosignal_id: own.body.id, value: 1e308, unit: '1' });
  expect(status, text).toBe(422);
  expect(problem.errors).toMatchObject([{ pointer: '/measurements/0/value', code: 'range' }]);
});

// promise again: past-months
it('refuses measurements of very many months, and a mood of one more, and takes those of now', async () => {
  const lunar = Array.from({ length: 800 }, (_, i) => ({
    biosignal_id: WEIGHT,
    value: 70,
    time: new Date(Date.UTC(2020, 0, 1) - i * 28 * 86_400_000).toISOString(),
  }));
  expect(await store(...lunar)).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  const { xuser_token: as } = await run.token('measured');
  const mood = (time: string) => run.send('POST', '/api/v1/moods', { as, body: { score: 3, time } });
  expect((await mood('1905-01-01T00:00:00Z')).status).toBe(429);
  expect((await mood(new Date().toISOString())).status).toBe(201);
  expect((await store({ biosignal_id: WEIGHT, value: 70, time: new Date().toISOString() })).status).toBe(201);
});
