// Hours and days of observations, against the values that the service gives of the same streams: two starts of one device over the night in
// which Paris sets its clocks forward, days of three time zones.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packetOf } from '../helpers/packets.ts';
import { putFeatures } from '../helpers/put-derived.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

const HOUR = 3_600_000;
const HR_ECG = 20;
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
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min') on conflict do nothing`,
  );
  // What is summed up: a heart rate every 20 s, some suspect and bad, some hours all bad.
  for (const { fromMs, toMs } of starts) {
    const count = await putFeatures(
      running.database,
      `select t * 1000000000 as ts_ns, (50 + t / 20 % 61)::float8 as value, s.id as stream_id, m.id as method_id, (-1)::smallint as channel_no,
         (case when t / 3600 % 7 = 3 then 2 when t / 3600 % 5 = 1 then 1 when t / 20 % 11 = 0 then 2 when t / 20 % 13 = 0 then 1 else 0 end)::smallint as qmask
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
      const value = used.reduce((sum, one) => sum + one, 0) / used.length;
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
