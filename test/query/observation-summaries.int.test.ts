// Hours and days of observations, against the values that the service gives of the same streams: two starts of one device over the night in
// which Paris sets its clocks forward, days of three time zones.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packetOf } from '../helpers/packets.ts';
import { putFeatures } from '../helpers/put-derived.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

const HOUR = 3_600_000;
const HR_ECG = 20;
const EDA_TONIC = 31;
const V_BURDEN = 111;
const startMs = Date.UTC(2026, 2, 27, 21, 17);
/** Of the two starts: the device is off for an hour between them. */
const starts = [
  { fromMs: startMs, toMs: startMs + 30 * HOUR },
  { fromMs: startMs + 31 * HOUR, toMs: startMs + 70 * HOUR },
];

/** Not an ECG, of which the service would compute heart rates of its own. */
const channel = { code: 'temp.skin', kind: 'temp', rateNanoHz: 1e9, gain: 100, baseline: 0, unit: 'Cel', lead: '' } as const;
const block = { channel, tOffsetNs: 0, samples: Int32Array.of(3300), qmask: null };

type Observation = Readonly<{
  id: string;
  value: number;
  effective_time: string;
  device_id: string;
  qmask: number;
  n: number;
  good_n: number;
  expected_n: number;
  min: number;
  max: number;
}>;
type Value = readonly [ms: number, value: number, flag: number];

let running: RunningService;
let subject: string;
let values: Value[];

beforeAll(async () => {
  running = await runService();
  const token = await running.token('ada');
  subject = token.xuser_id;
  for (const [i, { fromMs, toMs }] of starts.entries())
    for (const [seq, ms] of [fromMs, toMs].entries()) {
      const t0UnixNs = BigInt(ms) * 1_000_000n;
      const t0DeviceNs = BigInt(ms - fromMs) * 1_000_000n;
      const bootId = `0${i}`.repeat(16);
      const { status, text } = await running.ingest(
        packetOf('patch', seq, { bootId, t0DeviceNs, t0UnixNs, sentUnixNs: 0n, blocks: [block], measurements: [], events: [] }),
        token.xuser_token,
      );
      expect(status, text).toBe(202);
    }
  const streams = (await running.send<{ id: string; started_at: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`)).body;
  expect(streams).toHaveLength(2);
  const { pool } = running.database;
  await pool.query(
    `insert into method (kind, name, code, cadence_hz, unit, step) values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min', 0.001),
       ('feature', 'eda_tonic', 'derived:eda_tonic_v1', 1 / 8.0, 'uS', 0.001),
       ('feature', 'ventricular_burden_300s', 'derived:ventricular_burden_300s_v1', 1 / 300.0, '%', 0.01) on conflict do nothing`,
  );
  // Of the first start: one value every 8 s, which 60 s are no multiple of, and one every 5 min.
  for (const [code, everySec] of [
    ['derived:eda_tonic_v1', 8],
    ['derived:ventricular_burden_300s_v1', 300],
  ] as const)
    await putFeatures(
      running.database,
      `select t * $3::bigint * 1000000000 as ts_ns, (t % 7)::float8 as value, s.id as stream_id, m.id as method_id, (-1)::smallint as channel_no, 0::smallint as qmask
       from generate_series($1::bigint / $3 + 1, $2::bigint / $3) t, method m, stream s where m.code = $4 and s.epoch_ns / 1000000000 = $1`,
      [startMs / 1000, startMs / 1000 + 6 * 3600, everySec, code],
    );
  // What is summed up: a heart rate every 20 s, some suspect and bad, some hours all bad, in others a quarter good.
  for (const { fromMs, toMs } of starts) {
    const count = await putFeatures(
      running.database,
      `select t * 1000000000 as ts_ns, (50 + t / 20 % 61)::float8 as value, s.id as stream_id, m.id as method_id, (-1)::smallint as channel_no,
         (case when t / 3600 % 7 = 3 then 2 when t / 3600 % 11 = 4 and t / 20 % 4 > 0 then 2 when t / 3600 % 5 = 1 then 1 when t / 20 % 11 = 0 then 2 when t / 20 % 13 = 0 then 1 else 0 end)::smallint as qmask
       from generate_series($1::bigint, $2::bigint, 20) t, method m, stream s
       where m.code = 'derived:hr_ecg_v1' and s.epoch_ns / 1000000000 = $1`,
      [fromMs / 1000, toMs / 1000],
    );
    expect(count).toBeGreaterThan(5000);
  }
  const found: Value[] = [];
  for (const { id } of streams) {
    for (let path: string | null = `/api/v1/streams/${id}/features?names=hr_ecg&quality_max=2&ts_unit=ms&limit=10000`; path !== null;) {
      const answer: Awaited<ReturnType<typeof running.send<{ ts_ms: number[]; values: number[]; qmask: number[] }[]>>> = await running.send(
        'GET',
        path,
      );
      expect(answer.status, answer.text).toBe(200);
      for (const series of answer.body) found.push(...series.ts_ms.map((ms, i) => [ms, series.values[i]!, series.qmask[i]!] as const));
      path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]?.replace(running.service.baseUrl, '') ?? null;
    }
  }
  values = found;
});
afterAll(() => running?.close());

const ask = (query: string, accept = 'application/json') =>
  running.send<Observation[]>('GET', `/api/v1/observations?biosignal_id=${HR_ECG}&subject_id=${subject}&order=asc&${query}`, {
    headers: { accept },
  });

/** Start of the local day of a time, Unix ms. */
function dayOf(ms: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  const day = parts.format(ms);
  // The first minute of that day: at most 25 hours before.
  let at = Math.floor(ms / 60_000) * 60_000;
  for (let step = 16 * HOUR; step >= 60_000; step = Math.floor(step / 120_000) * 60_000) while (parts.format(at - step) === day) at -= step;
  return at;
}

/** To the step of the heart rate, 0.001 /min. */
const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** What a client computes from the values, with the flag's rule. */
function expected(bucketOf: (ms: number) => number, qualityMax: number): unknown[] {
  const buckets = new Map<number, Value[]>();
  const cache = new Map<number, number>();
  for (const one of values) {
    const minute = Math.floor(one[0] / 60_000);
    const at = cache.get(minute) ?? bucketOf(one[0]);
    cache.set(minute, at);
    buckets.set(at, [...(buckets.get(at) ?? []).splice(0), one]);
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .flatMap(([ms, all]) => {
      const count = (worst: number): number => all.filter(([, , flag]) => flag <= worst).length;
      const qmask = count(0) * 2 >= all.length ? 0 : count(1) * 2 >= all.length ? 1 : 2;
      if (qmask > qualityMax) return [];
      const used = all.filter(([, , flag]) => flag <= qmask).map(([, value]) => value);
      const value = rounded(used.reduce((sum, one) => sum + one, 0) / used.length);
      return [{ ms, value, qmask, n: all.length, good_n: count(0), min: Math.min(...used), max: Math.max(...used) }];
    });
}

const shown = (rows: readonly Observation[]): unknown[] =>
  rows.map(({ effective_time, value, qmask, n, good_n, min, max }) => ({
    ms: Date.parse(effective_time),
    value,
    qmask,
    n,
    good_n,
    min,
    max,
  }));

async function answered(query: string): Promise<readonly Observation[]> {
  const answer = await ask(query);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

describe('observations by', () => {
  // promise: observation-summaries
  it.each([0, 1, 2])('the hour, quality up to %i', async (quality) => {
    const wanted = expected((ms) => Math.floor(ms / HOUR) * HOUR, quality);
    expect(wanted.length).toBeGreaterThan(30);
    const rows = await answered(`interval=PT1H&limit=1000&quality_max=${quality}`);
    expect(shown(rows)).toEqual(wanted);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(rows.every(({ device_id: device, expected_n: due }) => device === 'patch' && due === 3600)).toBe(true);
  });

  it.each(['UTC', 'Europe/Paris', 'Asia/Kolkata'])('the day of %s', async (timeZone) => {
    const wanted = expected((ms) => dayOf(ms, timeZone), 2);
    const rows = await answered(`interval=P1D&quality_max=2&tz=${encodeURIComponent(timeZone)}`);
    expect(shown(rows)).toEqual(wanted);
    const dueHours = rows.map(({ expected_n: due }) => due / 3600);
    expect(dueHours.includes(23)).toBe(timeZone === 'Europe/Paris');
    expect(dueHours.includes(24)).toBe(true);
  });

  it('the hour in pages, both ways, within a range', async () => {
    const range = `interval=PT1H&quality_max=2&since=${new Date(startMs).toISOString()}&until=2026-03-29T00:00:00Z`;
    const wanted = expected((ms) => Math.floor(ms / HOUR) * HOUR, 2).filter(
      (row) => (row as { ms: number }).ms >= startMs && (row as { ms: number }).ms < Date.UTC(2026, 2, 29),
    );
    for (const order of ['asc', 'desc']) {
      const rows: Observation[] = [];
      for (
        let path: string | null = `/api/v1/observations?biosignal_id=${HR_ECG}&subject_id=${subject}&${range}&order=${order}&limit=5`;
        path !== null;
      ) {
        const answer: Awaited<ReturnType<typeof ask>> = await running.send('GET', path);
        expect(answer.status, answer.text).toBe(200);
        rows.push(...answer.body);
        path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]?.replace(running.service.baseUrl, '') ?? null;
      }
      expect(shown(order === 'asc' ? rows : rows.toReversed())).toEqual(wanted);
    }
  });

  // promise: observation-summaries-fhir
  it('the day as FHIR: a period, with what is due', async () => {
    const answer = await ask('interval=P1D&quality_max=2&tz=Europe/Paris', 'application/fhir+json');
    const { entry } = answer.body as unknown as {
      entry: { resource: { effectivePeriod: { start: string; end: string }; effectiveDateTime?: string; component: object[] } }[];
    };
    expect(entry[2]!.resource.effectivePeriod).toEqual({ start: '2026-03-28T23:00:00.000000Z', end: '2026-03-29T22:00:00.000000Z' });
    expect(entry[2]!.resource.effectiveDateTime).toBeUndefined();
    expect(entry[2]!.resource.component).toContainEqual(expect.objectContaining({ valueInteger: 23 * 3600 }));
  });

  it('nothing else: reported values have no hours, and a zone must be one', async () => {
    const refused = async (query: string): Promise<unknown> => {
      const { status, body } = await running.send<{ errors: { pointer: string }[] }>(
        'GET',
        `/api/v1/observations?subject_id=${subject}&${query}`,
      );
      return [status, body.errors[0]?.pointer];
    };
    expect(await refused('biosignal_id=61&interval=P1D')).toEqual([422, '/query/interval']);
    expect(await refused(`biosignal_id=${HR_ECG}&interval=P1D&tz=Mars/Olympus`)).toEqual([422, '/query/tz']);
    expect(await refused(`biosignal_id=${HR_ECG}&interval=PT2H`)).toEqual([422, '/query/interval']);
  });
});

type Range = Readonly<{ from: string; to: string }>;
type Chart = Readonly<{
  data: readonly (readonly (number | null)[])[];
  detail: Readonly<{
    n: readonly (readonly (number | null)[])[];
    good_n: readonly (readonly (number | null)[])[];
    expected_n: readonly (readonly (number | null)[])[];
    totals: readonly Readonly<{
      n: number;
      good_n: number;
      expected_n: number | null;
      qmask: number | null;
      mean: number | null;
      sum: number | null;
    }>[];
  }>;
}>;

async function chartOf(biosignal: number, range: Range, more: object): Promise<Chart> {
  const body = { subject_id: subject, series: [{ biosignal_id: biosignal }], range, detail: true, max_points: 5000, ...more };
  const { status, text, body: chart } = await running.send<Chart>('POST', '/api/v1/charts/query', { body });
  expect(status, text).toBe(200);
  return chart;
}

const shortRange = { from: new Date(startMs).toISOString(), to: new Date(startMs + 6 * HOUR).toISOString() };

/** Due at 5-minute steps of the clock: a minute has one or none, and nobody knows which. */
describe('how many values are due', () => {
  const of = (biosignal: number, query: string) =>
    running.send<Observation[]>(
      'GET',
      `/api/v1/observations?biosignal_id=${biosignal}&subject_id=${subject}&order=asc&since=${shortRange.from}&until=${shortRange.to}&${query}`,
    );

  // promise: observation-expected
  it('is not said of a minute whose values are five minutes apart; of the hour and the day it is', async () => {
    const minutes = (await of(V_BURDEN, 'limit=1000')).body;
    expect(minutes.length).toBe(72);
    for (const { n, good_n: good, expected_n: due } of minutes) expect([n, good, due]).toEqual([1, 1, null]);
    const hours = (await of(V_BURDEN, 'interval=PT1H')).body;
    expect(hours.map(({ good_n: good, expected_n: due }) => [good, due])).toEqual([12, 12, 12, 12, 12, 4].map((good) => [good, 12]));
    const days = (await of(V_BURDEN, 'interval=P1D&tz=UTC')).body;
    expect(days.map(({ expected_n: due }) => due)).toEqual([288]);
  });

  it.each(['PT1M', 'PT1H'])('is in FHIR of %s what it is in JSON', async (interval) => {
    for (const biosignal of [V_BURDEN, EDA_TONIC]) {
      const json = (await of(biosignal, `interval=${interval}&limit=3`)).body;
      const { body } = await running.send<{ entry: { resource: { component: { code: { text: string }; valueInteger: number }[] } }[] }>(
        'GET',
        `/api/v1/observations?biosignal_id=${biosignal}&subject_id=${subject}&order=asc&limit=3&since=${shortRange.from}&until=${shortRange.to}&interval=${interval}`,
        { headers: { accept: 'application/fhir+json' } },
      );
      const due = body.entry.map(
        ({ resource }) => resource.component.find(({ code }) => code.text.startsWith('Values in a whole'))?.valueInteger,
      );
      expect(due).toEqual(json.map(({ expected_n: value }) => value ?? undefined));
      expect(due.every((value) => value !== 0)).toBe(true);
    }
  });

  // promise: observation-expected
  it('is never less than what one series has, however the steps of values and of buckets fit together', async () => {
    for (const { n, expected_n: due } of (await of(EDA_TONIC, 'limit=1000')).body) expect(due).toBeGreaterThanOrEqual(n);
    for (const [biosignal, cadenceSec] of [
      [EDA_TONIC, 8],
      [V_BURDEN, 300],
    ] as const)
      for (const [resolution, sec] of [
        ['10s', 10],
        ['15s', 15],
        ['1m', 60],
        ['2m', 120],
        ['5m', 300],
        ['1h', 3600],
      ] as const) {
        const { detail } = await chartOf(biosignal, shortRange, { resolution, fill: 'null' });
        const rows = detail.n.map(([n], i) => [n ?? 0, detail.expected_n[i]![0]!] as const);
        expect(rows.length, resolution).toBeGreaterThanOrEqual((6 * 3600) / sec);
        for (const [n, due] of rows.slice(1, -1)) {
          if (sec < cadenceSec) expect([resolution, due]).toEqual([resolution, null]);
          else expect([resolution, Math.abs(due! - sec / cadenceSec) < 1, due! >= n]).toEqual([resolution, true, true]);
        }
        const [totals] = detail.totals;
        expect([resolution, totals!.expected_n]).toEqual([resolution, Math.floor((6 * 3600) / cadenceSec)]);
      }
  });

  // promise: observation-expected
  it('is never less than what a chart has that begins and ends within a minute', async () => {
    const range = { from: new Date(startMs + 57_300).toISOString(), to: new Date(startMs + 5 * HOUR + 42_900).toISOString() };
    for (const resolution of ['1s', '1m', '5m', '1h', '1d']) {
      const { detail } = await chartOf(EDA_TONIC, range, { resolution });
      if (resolution !== '1s')
        for (const [i, [n]] of detail.n.entries()) expect([resolution, i, detail.expected_n[i]![0]! >= n!]).toEqual([resolution, i, true]);
      const [totals] = detail.totals;
      expect([resolution, totals!.expected_n! >= totals!.n, totals!.n > 2000]).toEqual([resolution, true, true]);
    }
  });
});

// promise: one-flag
it.each([
  ['PT1H', HOUR],
  ['P1D', 24 * HOUR],
] as const)('the totals of a chart of exactly one %s have its flag, whatever quality they admit', async (interval, lengthMs) => {
  const rows = await answered(`interval=${interval}&tz=UTC&limit=1000&quality_max=2`);
  const flags = new Set<number>();
  for (const row of rows) {
    const from = Date.parse(row.effective_time);
    const range = { from: new Date(from).toISOString(), to: new Date(from + lengthMs).toISOString() };
    flags.add(row.qmask);
    for (const quality of [0, 1, 2]) {
      const [totals] = (await chartOf(HR_ECG, range, { quality_max: quality, resolution: '5m' })).detail.totals;
      expect([row.effective_time, quality, totals!.n, totals!.good_n, totals!.qmask]).toEqual([
        row.effective_time,
        quality,
        row.n,
        row.good_n,
        row.qmask,
      ]);
    }
  }
  expect(flags.has(0)).toBe(true);
  if (interval === 'PT1H') expect(flags).toEqual(new Set([0, 1, 2]));
});

/** A mean of many values: no digit that no value has. */
describe('means are rounded to the step of the values', () => {
  const digits = (text: string, members: readonly string[]): readonly string[] =>
    members.flatMap((member) => [...text.matchAll(new RegExp(`"${member}":(-?[0-9.e+-]+)`, 'g'))].map((match) => match[1]!));
  const atMostThree = (numbers: readonly string[]): void => {
    expect(numbers.length).toBeGreaterThan(20);
    for (const number of numbers) expect(number).toMatch(/^-?\d+(\.\d{1,3})?$/);
  };

  // promise: means-rounded
  it.each(['PT1M', 'PT1H', 'P1D'])('of observations of %s, in JSON and in FHIR', async (interval) => {
    const query = `interval=${interval}&tz=UTC&limit=1000&quality_max=2`;
    const json = await ask(query);
    const fhir = await ask(query, 'application/fhir+json');
    const numbers = [...digits(json.text, ['value', 'min', 'max']), ...digits(fhir.text, ['value'])];
    expect(numbers.length).toBeGreaterThan(0);
    if (interval === 'P1D') expect(numbers.every((number) => /^\d+(\.\d{1,3})?$/.test(number))).toBe(true);
    else atMostThree(numbers);
    const { entry } = fhir.body as unknown as { entry: { resource: { valueQuantity: { value: number } } }[] };
    expect(entry.map(({ resource }) => resource.valueQuantity.value)).toEqual(json.body.map(({ value }) => value));
  });

  // promise: means-rounded
  it.each(['1m', '1h', '1d'])('of charts by %s, buckets and totals; a minute has the value of its observation', async (resolution) => {
    const range = { from: new Date(startMs).toISOString(), to: new Date(startMs + 2 * 24 * HOUR).toISOString() };
    const { data, detail } = await chartOf(HR_ECG, range, { resolution, quality_max: 2, tz: 'UTC' });
    const means = data.flatMap(([, mean]) => (mean === null ? [] : [`${mean}`]));
    for (const number of means) expect(number).toMatch(/^\d+(\.\d{1,3})?$/);
    const { mean, sum } = detail.totals[0]!;
    for (const number of [mean, sum]) expect(`${number}`).toMatch(/^\d+(\.\d{1,3})?$/);
    const interval = { '1m': 'PT1M', '1h': 'PT1H', '1d': 'P1D' }[resolution];
    const rows = await answered(`interval=${interval}&tz=UTC&limit=1000&quality_max=2`);
    const shownAt = new Map(data.map(([ms, value]) => [ms, value]));
    const inRange = rows.filter(({ effective_time: at }) => Date.parse(at) >= startMs && Date.parse(at) < startMs + 24 * HOUR);
    expect(inRange.length).toBeGreaterThan(resolution === '1d' ? 0 : 20);
    for (const { effective_time: at, value } of inRange) expect([at, shownAt.get(Date.parse(at))]).toEqual([at, value]);
  });
});

/** Methods have other numbers in another database: an organization that moves there keeps its ids, and none comes to mean another value. */
// promise: observation-ids
it('names an observation by the code of its method, never by its number in this database', async () => {
  const code = 'derived:hr_ecg_v1';
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const asked = `biosignal_id=${HR_ECG}&subject_id=${subject}&order=asc&limit=1&since=${new Date(startMs).toISOString()}`;
  const first = async (query: string): Promise<Observation> => {
    const { status, text, body } = await running.send<Observation[]>('GET', `/api/v1/observations?${asked}${query}`);
    expect(status, text).toBe(200);
    return body[0]!;
  };
  const minute = await first('');
  const streams = (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`)).body.map(({ id }) => id);
  const ids = streams.map((id) => `${id}.${hash(code).slice(0, 8)}.-1.${Date.parse(minute.effective_time) / 1000}`);
  expect(ids).toContain(minute.id);
  expect(minute.id.length).toBeLessThanOrEqual(64); // as FHIR allows
  for (const interval of ['PT1H', 'P1D']) {
    const { id, effective_time: from } = await first(`&interval=${interval}`);
    const series = hash([subject, code, '', 'patch'].join(' ')).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
    expect(id).toBe(`${series}.${Date.parse(from) / 1000}.${interval}`);
  }
});
