// Charts and observations: days of the caller's zone with 23 and 25 hours, gaps as null, flags respected, points bounded, pages complete.
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readChart, type ChartQuery, type ChartSeries } from '../../src/query/chart.ts';
import { fittingResolutions, lengthMs, resolutions } from '../../src/query/chart-resolution.ts';
import { minutesInSteps, type PackedSeries } from '../../src/query/feature-buckets.ts';
import { findBiosignal, readObservations } from '../../src/query/observations.ts';
import { readSamples } from '../../src/query/samples.ts';
import type { ChannelNo } from '../../src/signal.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import type { DerivedFeature } from '../../src/storage/derived-steps.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, ecg, openTestStream, testEpochNs, testRun, testSample, type TestTenant } from '../helpers/recording.ts';

const SECOND = 1_000_000_000n;
let database: TestDatabase;
let tenant: TestTenant;
let stream: OpenedStream;
let writer: DerivedWriter;
beforeAll(async () => {
  database = await testDatabase();
  // No service runs here: what TimescaleDB's own jobs refresh under a test, nobody takes back into the aggregates.
  if (database.kind === 'timescale')
    await database.pool.query(`select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where job_id >= 1000`);
  tenant = await createTenant(database);
  stream = await openTestStream(new StreamRegistry(database), tenant);
  writer = new DerivedWriter(database, { currentMethods: [], lingerMs: 1 });
});
afterAll(async () => {
  await writer.close();
  await database.close();
});

const feature = (name: string, unixSec: number, value: number, qmask: 0 | 1 | 2 = 0): DerivedFeature => ({
  feature: name,
  channelNo: -1,
  tNs: BigInt(unixSec) * SECOND - testEpochNs + (testEpochNs % SECOND), // on whole Unix seconds, or just after
  value,
  qmask,
  methodCode: `derived:${name}_v1`,
});
const store = (features: DerivedFeature[]): Promise<void> =>
  writer.add({ streamId: stream.streamId, beats: [], features, replaces: null }, stream.epochNs);
const sec = (iso: string): number => Date.parse(iso) / 1000;
const iso = (ms: number): string => new Date(ms).toISOString();
const mean = (name: string): ChartSeries => ({ kind: 'feature', feature: name, methodCode: null, aggregate: 'mean' });

const ask = (series: ChartSeries[], from: string, to: string, more: Partial<ChartQuery> = {}) =>
  readChart(database.pool, {
    orgId: tenant.orgId,
    subjectId: tenant.subjectId,
    series,
    fromNs: BigInt(Date.parse(from)) * 1_000_000n,
    toNs: BigInt(Date.parse(to)) * 1_000_000n,
    resolution: null,
    maxPoints: 1000,
    timeZone: 'UTC',
    qualityMax: 0,
    fill: 'null',
    ...more,
  });

for (const [zone, from, to, lengths] of [
  ['Europe/Paris', '2026-03-28T00:00:00+01:00', '2026-03-31T00:00:00+02:00', [24, 23, 24]], // summer time begins on the 29th
  ['Europe/Paris', '2026-10-24T00:00:00+02:00', '2026-10-27T00:00:00+01:00', [24, 25, 24]],
  ['Asia/Kolkata', '2026-01-05T00:00:00+05:30', '2026-01-08T00:00:00+05:30', [24, 24, 24]], // midnight is not a whole hour of UTC
  ['Australia/Lord_Howe', '2026-04-04T00:00:00+11:00', '2026-04-07T00:00:00+10:30', [24, 24.5, 24]], // a shift of half an hour
  ['Atlantic/Azores', '2026-10-24T00:00:00+00:00', '2026-10-27T00:00:00-01:00', [24, 25, 24]], // the clocks show midnight twice
  ['America/Havana', '2024-11-02T00:00:00-04:00', '2024-11-05T00:00:00-05:00', [24, 25, 24]],
  ['Asia/Beirut', '2026-03-28T00:00:00+02:00', '2026-03-31T00:00:00+03:00', [24, 23, 24]], // midnight is skipped
  ['Pacific/Apia', '2011-12-29T00:00:00-10:00', '2012-01-01T00:00:00+14:00', [24, 24]], // the 30th was skipped
] as const) {
  test(`days are those of ${zone}, ${lengths.join(', ')} hours long`, async () => {
    const name = `days_${zone.replace(/\W/g, '_').toLowerCase()}_${from.slice(5, 7)}`;
    const [begin, end] = [sec(from), sec(to)];
    await store(Array.from({ length: (end - begin) / 600 }, (_, i) => feature(name, begin + 600 * i, 1)));
    for (const refresh of [false, true]) {
      if (refresh) await refreshRollups(database);
      const chart = await ask([{ kind: 'feature', feature: name, methodCode: null, aggregate: 'count' }], from, to, {
        resolution: '1d',
        timeZone: zone,
      });
      expect(chart.resolution).toBe('1d');
      expect(chart.values).toEqual(lengths.map((hours) => [hours * 6]));
      const starts = [...chart.tsMs, end * 1000];
      expect(lengths.map((_, i) => (starts[i + 1]! - starts[i]!) / 3_600_000)).toEqual(lengths);
      expect(chart.tsMs[0]).toBe(begin * 1000);
    }
  });
}

test('days, weeks and months in UTC are read from the kept days, the ends of the range from hours; the same as from the rows', async () => {
  const name = 'kept_days';
  const begin = sec('2026-05-03T07:30:00Z');
  const count = 12 * 24 * 6; // every ten minutes for twelve days
  await store(Array.from({ length: count }, (_, i) => feature(name, begin + 600 * i, i % 97, i % 11 === 0 ? 1 : 0)));
  let withDays = 0; // charts that asked for kept days
  const db = {
    query: (statement: string | { text: string; values: string[] }, values?: unknown[]) => {
      if (typeof statement !== 'string' && statement.text.includes('feature_buckets') && statement.values[6]! < statement.values[7]!)
        withDays++;
      return database.pool.query(statement as string, values);
    },
  };
  for (const kept of [false, true]) {
    if (kept) await refreshRollups(database);
    for (const [from, to] of [
      ['2026-05-03T00:00:00Z', '2026-05-17T00:00:00Z'],
      ['2026-05-04T05:00:00Z', '2026-05-12T19:00:00Z'],
      ['2026-05-05T05:00:00Z', '2026-05-05T19:00:00Z'], // no whole day
      ['2026-05-05T05:00:00Z', '2026-05-06T00:00:00Z'],
    ] as const) {
      const inRange = Array.from({ length: count }, (_, i) => i).filter((i) => begin + 600 * i >= sec(from) && begin + 600 * i < sec(to));
      for (const resolution of ['1d', '1w', '1mo']) {
        for (const aggregate of ['count', 'sum', 'first', 'last'] as const) {
          const question = {
            orgId: tenant.orgId,
            subjectId: tenant.subjectId,
            maxPoints: 1000,
            timeZone: 'UTC',
            qualityMax: 2,
            fill: 'none',
          } as const;
          const chart = await readChart(db as never, {
            ...question,
            series: [{ kind: 'feature', feature: name, methodCode: null, aggregate }],
            fromNs: BigInt(Date.parse(from)) * 1_000_000n,
            toNs: BigInt(Date.parse(to)) * 1_000_000n,
            resolution,
          });
          const values = chart.values.map(([value]) => value ?? 0);
          const whole = values.reduce((sum, value) => sum + value, 0);
          if (aggregate === 'count') expect([from, resolution, whole]).toEqual([from, resolution, inRange.length]);
          if (aggregate === 'sum')
            expect([from, resolution, whole]).toEqual([from, resolution, inRange.reduce((sum, i) => sum + (i % 97), 0)]);
          const good = inRange.filter((i) => i % 11 !== 0); // of a good bucket
          if (aggregate === 'first') expect(values[0]).toBe(good[0]! % 97);
          if (aggregate === 'last') expect(values.at(-1)).toBe(good.at(-1)! % 97);
        }
      }
    }
  }
  expect(withDays).toBe(2 * 2 * 3 * 4); // half of the ranges have a whole one
  withDays = 0;
  // In Paris a day is not one of UTC.
  await readChart(db as never, {
    orgId: tenant.orgId,
    subjectId: tenant.subjectId,
    maxPoints: 1000,
    qualityMax: 2,
    fill: 'none',
    timeZone: 'Europe/Paris',
    series: [mean(name)],
    fromNs: BigInt(begin) * SECOND,
    toNs: BigInt(begin + 86_400 * 5) * SECOND,
    resolution: '1d',
  });
  expect(withDays).toBe(0);
});

// promise: chart-flags
test('gaps are null, bad values are flagged and not shown, suspect ones only when asked for', async () => {
  const begin = sec('2026-02-01T10:00:00Z');
  const rows: DerivedFeature[] = [];
  const flags = [0, 0, null, 2, 1, 0] as const; // by minute
  flags.forEach((flag, minute) => {
    if (flag !== null) for (let i = 0; i < 60; i++) rows.push(feature('quality', begin + 60 * minute + i, 100 + minute, flag));
  });
  rows.push(
    feature('quality', begin + 6 * 60, 1000, 2),
    feature('quality', begin + 6 * 60 + 1, 106, 0),
    feature('quality', begin + 6 * 60 + 2, 106, 0),
  );
  await store(rows);
  const range = ['2026-02-01T10:00:00Z', '2026-02-01T10:07:00Z'] as const;
  const good = await ask([mean('quality')], ...range, { resolution: '1m' });
  expect(good.values.flat()).toEqual([100, 101, null, null, null, 105, 106]);
  expect(good.qmask.flat()).toEqual([0, 0, null, 2, 1, 0, 0]);
  const suspect = await ask([mean('quality')], ...range, { resolution: '1m', qualityMax: 1 });
  expect(suspect.values.flat()).toEqual([100, 101, null, null, 104, 105, 106]);
  // of several minutes none of whose values are suspect
  const wide = await ask([mean('quality')], '2026-02-01T10:00:00Z', '2026-02-01T10:02:00Z', { resolution: '2m', qualityMax: 1 });
  expect(wide.values.flat()).toEqual([100.5]);
  const none = await ask([mean('quality')], ...range, { resolution: '1m', fill: 'none' });
  expect(none.tsMs).toHaveLength(6);
  const previous = await ask([mean('quality')], ...range, { resolution: '1m', fill: 'previous' });
  expect(previous.values.flat()).toEqual([100, 101, 101, 101, 101, 105, 106]);
  for (const [aggregate, values] of [
    ['min', [100, 106]],
    ['max', [101, 106]],
    ['sum', [6000 + 6060, 212]],
    ['first', [100, 106]],
    ['last', [101, 106]],
    ['count', [120, 2]],
  ] as const) {
    const chart = await ask([{ kind: 'feature', feature: 'quality', methodCode: null, aggregate }], ...range, { resolution: '2m' });
    expect([aggregate, chart.values[0]![0], chart.values[3]![0]]).toEqual([aggregate, ...values]);
  }
});

test('a bucket without a good value is the mean of its suspect ones at every resolution', async () => {
  const begin = sec('2026-02-05T10:00:00Z');
  await store(Array.from({ length: 600 }, (_, i) => feature('suspect_only', begin + i, 40 + (i % 2), 1)));
  for (const resolution of ['30s', '1m', '5m', '1h'])
    for (const aggregate of ['mean', 'sum', 'min', 'max'] as const) {
      const series = [{ ...mean('suspect_only'), aggregate } as ChartSeries];
      const chart = await ask(series, '2026-02-05T10:00:00Z', '2026-02-05T10:10:00Z', { resolution, qualityMax: 1 });
      const n = 600 / chart.values.length;
      expect([resolution, aggregate, chart.values[0]]).toEqual([
        resolution,
        aggregate,
        [{ mean: 40.5, sum: 40.5 * n, min: 40, max: 41 }[aggregate]],
      ]);
    }
});

test('a range that begins and ends within an hour is complete at every resolution', async () => {
  const begin = sec('2026-05-02T21:58:00Z');
  await store(Array.from({ length: 3 * 86_400 }, (_, i) => i).filter((i) => i % 30 === 0).map((i) => feature('hr_ecg', begin + i, i === 30 ? 40 : i === 259_170 ? 190 : 70))); // prettier-ignore
  for (const kept of [false, true]) {
    if (kept) await refreshRollups(database);
    for (const [lengthSec, max] of [
      [240, 70],
      [7200, 70],
      [3 * 86_400, 190],
    ] as const)
      for (const resolution of ['1m', '5m', '30m', '1h', '2h', '1d']) {
        const [from, to] = [iso(begin * 1000), iso((begin + lengthSec) * 1000)];
        const chart = await ask([mean('hr_ecg')], from, to, { resolution, detail: true, maxPoints: 10_000 });
        expect([resolution, chart.detail!.totals[0]]).toMatchObject([resolution, { n: lengthSec / 30, min: 40, max }]);
        expect(chart.detail!.n.reduce((sum, [n]) => sum + (n ?? 0), 0)).toBe(lengthSec / 30);
      }
  }
});

// promise: chart-flags, chart-detail
test('each bucket says how much data it rests on, and the totals of the range are the same at every resolution', async () => {
  const begin = sec('2026-06-01T00:00:00Z');
  await database.pool.query(
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'resting', 'derived:resting_v1', 1, '/min') on conflict do nothing`,
  );
  // Three hours: a value a second but for the second hour, which has 40 % of them; a peak of two seconds among the good ones, higher ones
  // that are suspect and bad, and a bad first minute.
  const rows = Array.from({ length: 10_800 }, (_, i) => i)
    .filter((i) => i < 3600 || i >= 7200 || i % 5 < 2)
    .map((i) => {
      const flag = i < 60 ? 2 : i % 10 === 3 ? 1 : i % 10 === 4 ? 2 : 0;
      const value = i === 5000 || i === 5001 ? 158 : flag === 1 ? 170 : flag === 2 ? 300 : i === 9000 ? 41 : 60 + (i % 7);
      return { i, value, flag } as const;
    });
  await store(rows.map(({ i, value, flag }) => feature('resting', begin + i, value, flag)));
  const good = rows.filter(({ flag }) => flag === 0).map(({ value }) => value);
  const to = iso((begin + 10_800) * 1000);
  const expected = {
    n: rows.length,
    goodN: good.length,
    expectedN: 10_800,
    flag: 0,
    min: 41,
    max: 158,
    mean: Math.round((1000 * good.reduce((sum, value) => sum + value, 0)) / good.length) / 1000, // a method without a step
    first: good[0],
    last: good.at(-1),
  };
  const doubtful = rows.filter(({ flag }) => flag === 1).map(({ value }) => value);
  const suspect = {
    n: doubtful.length,
    min: Math.min(...doubtful),
    max: Math.max(...doubtful),
    mean: Math.round((1000 * doubtful.reduce((sum, value) => sum + value, 0)) / doubtful.length) / 1000,
  };
  for (const kept of [false, true]) {
    if (kept) await refreshRollups(database);
    for (const qualityMax of [0, 1, 2] as const)
      for (const resolution of ['30s', '1m', '2m', '30m', '1h', '1d']) {
        const chart = await ask([mean('resting')], iso(begin * 1000), to, { resolution, qualityMax, detail: true, maxPoints: 2000 });
        const admitted = rows.filter(({ flag }) => flag <= qualityMax).reduce((sum, { value }) => sum + value, 0);
        expect([resolution, qualityMax, chart.detail!.totals[0]]).toEqual([
          resolution,
          qualityMax,
          { ...expected, suspect: qualityMax === 0 ? null : suspect, sum: admitted },
        ]);
      }
  }
  const hours = await ask([mean('resting')], iso(begin * 1000), to, { resolution: '1h', detail: true });
  expect(hours.detail).toMatchObject({
    expectedN: [[3600], [3600], [3600]],
    n: [[3600], [1440], [3600]],
    max: [[66], [158], [66]],
    min: [[60], [60], [41]],
  });
  // A number says the same whatever flags were asked for: where it is good, it is of good values alone.
  const minutes = (qualityMax: 0 | 1 | 2) => ask([mean('resting')], iso(begin * 1000), to, { resolution: '1m', qualityMax });
  const [strict, usual, all] = [await minutes(0), await minutes(1), await minutes(2)];
  expect(usual.values.slice(1)).toEqual(strict.values.slice(1));
  expect(all.values.slice(1)).toEqual(strict.values.slice(1));
  expect([strict.values[0], all.values[0], all.qmask[0]]).toEqual([[null], [300], [2]]);
  expect(hours.detail!.goodN.flat().reduce((sum, n) => sum! + n!, 0)).toBe(good.length);
  expect((await ask([mean('resting')], iso(begin * 1000), to, { resolution: '1h' })).detail).toBeUndefined();
});

test('never more points than asked for, and the finest resolution that allows it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3650 * 86_400_000 }), fc.integer({ min: 2, max: 10_000 }), (rangeMs, maxPoints) => {
      const chosen = fittingResolutions(rangeMs, maxPoints, 1, null)[0]!;
      const index = resolutions.indexOf(chosen);
      if (index < resolutions.length - 1) expect(Math.ceil(rangeMs / lengthMs(chosen)) + 1).toBeLessThanOrEqual(maxPoints);
      if (index > 0) expect(Math.ceil(rangeMs / lengthMs(resolutions[index - 1]!)) + 1).toBeGreaterThan(maxPoints);
    }),
  );
});

test('a waveform is its minimum and maximum per bucket, from samples below a second and from row statistics above', async () => {
  const blocks = new BlockWriter(database);
  blocks.push(
    stream.streamId,
    stream.epochNs,
    stream.channels.map((c) => c.rateNanoHz),
    [testRun(0, 0, 250 * 120)],
    1,
  );
  await blocks.close();
  const physical = (k: number): number => (testSample(0, k) - ecg.baseline) / ecg.gain;
  const wave: ChartSeries = { kind: 'waveform', channelKind: 'ecg', channelCode: null };
  const from = new Date(Number(testEpochNs / 1_000_000n) + 1877).toISOString(); // the next whole second of the wall clock: sample 469.2…
  for (const [seconds, points] of [
    [2, 500],
    [60, 31],
  ] as const) {
    const to = new Date(Date.parse(from) + seconds * 1000).toISOString();
    const chart = await ask([wave], from, to, { maxPoints: points });
    expect(chart.tsMs.length).toBeLessThanOrEqual(points);
    const k0 = Math.ceil((Date.parse(from) - Number(testEpochNs) / 1e6) / 4);
    const all = Array.from({ length: seconds * 250 - 250 }, (_, i) => physical(k0 + i));
    const lows = chart.values.flatMap(([low]) => (low === null || low === undefined ? [] : [low]));
    const highs = chart.values.flatMap(([, high]) => (high === null || high === undefined ? [] : [high]));
    expect(Math.min(...lows)).toBeLessThanOrEqual(Math.min(...all));
    expect(Math.max(...highs)).toBeGreaterThanOrEqual(Math.max(...all));
    expect(chart.qmask.flat().every((flag) => flag === 0 || flag === null)).toBe(true);
  }
});

test('the statistics of a waveform include extremes of suspect samples', async () => {
  const [k0, n] = [250 * 1200, 250 * 60];
  const blocks = new BlockWriter(database);
  const rates = stream.channels.map((c) => c.rateNanoHz);
  blocks.push(stream.streamId, stream.epochNs, rates, [{ ...testRun(0, k0, n), qmask: new Uint8Array(n).fill(1) }], 1);
  await blocks.close();
  const from = Number(testEpochNs / 1_000_000n) + 1_201_877;
  const wave: ChartSeries = { kind: 'waveform', channelKind: 'ecg', channelCode: null };
  const { values, detail } = await ask([wave], iso(from), iso(from + 30_000), { maxPoints: 40, qualityMax: 1, detail: true });
  const lows = values.map(([low]) => low ?? Infinity);
  expect(Math.min(...lows)).toBeLessThan(Infinity);
  expect(detail!.totals[0]).toMatchObject({ flag: 1, min: Math.min(...lows), max: Math.max(...lows.filter(Number.isFinite)) });
  expect(detail!.min.map(([low]) => low)).toEqual(values.map(([low]) => low));
});

test('buckets shorter than the rows of a slow channel are made of its samples, those that are not rows yet included', async () => {
  const slow = 1; // 130.1 Hz: rows of two seconds
  const rates = stream.channels.map((c) => c.rateNanoHz);
  const blocks = new BlockWriter(database);
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(slow, 0, 130 * 40)], 1);
  await blocks.flush();
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(slow, 130 * 40, 130 * 20)], 2); // half of its last row
  const from = Number(testEpochNs / 1_000_000n) + 1877;
  const chart = await ask(
    [{ kind: 'waveform', channelKind: null, channelCode: stream.channels[slow]!.code }],
    iso(from),
    iso(from + 55_000),
    {
      maxPoints: 60,
      qualityMax: 2,
      recent: (_, channelNo, fromNs, toNs) => blocks.recentRuns(stream.streamId, channelNo as ChannelNo, fromNs, toNs),
    },
  );
  expect(chart.resolution).toBe('1s');
  const { gain, baseline } = stream.channels[slow]!;
  for (const [i, startMs] of chart.tsMs.entries()) {
    const values: number[] = [];
    for (let k = 0; k < 130 * 60; k++) {
      const ms = Number(testEpochNs) / 1e6 + k / 0.1301;
      if (ms >= Math.max(startMs, from) && ms < Math.min(startMs + 1000, from + 55_000))
        values.push((testSample(slow, k) - baseline) / gain);
    }
    expect(chart.values[i]![0]).toBeCloseTo(Math.min(...values), 9);
    expect(chart.values[i]![1]).toBeCloseTo(Math.max(...values), 9);
  }
  expect(chart.tsMs).toHaveLength(55);
  await blocks.close();
});

test('pages of samples of a slow channel advance and join', async () => {
  const seen: number[] = [];
  const [fromNs, toNs] = [testEpochNs + 500_000_000n, testEpochNs + 20n * SECOND];
  for (let next: bigint | null = fromNs; next !== null;) {
    const page: Awaited<ReturnType<typeof readSamples>> = await readSamples(database.pool, {
      streamId: stream.streamId,
      channels: [stream.channels[1]!.code],
      fromNs: next,
      toNs,
      rowsMax: 1,
    });
    for (const segment of page.segments)
      segment.samples.forEach((value, i) => (expect(value).toBe(testSample(1, segment.k0 + i)), seen.push(segment.k0 + i)));
    next = page.nextFromNs;
  }
  expect(seen).toEqual(Array.from({ length: 2602 - 66 }, (_, i) => 66 + i));
});

test('pages of samples join without a gap', async () => {
  const [fromNs, toNs] = [testEpochNs + 500_000_000n, testEpochNs + 20n * SECOND];
  const seen: number[] = [];
  for (let next: bigint | null = fromNs; next !== null;) {
    const page: Awaited<ReturnType<typeof readSamples>> = await readSamples(database.pool, {
      streamId: stream.streamId,
      channels: ['ecg.ii'],
      fromNs: next,
      toNs,
      rowsMax: 3,
    });
    for (const segment of page.segments)
      segment.samples.forEach((value, i) => (expect(value).toBe(testSample(0, segment.k0 + i)), seen.push(segment.k0 + i)));
    next = page.nextFromNs;
  }
  expect(seen).toEqual(Array.from({ length: 5000 - 125 }, (_, i) => 125 + i));
});

// promise: pages
test('pages of observations neither skip nor repeat one while others are written', async () => {
  const biosignal = (await findBiosignal(database.pool, tenant.projectId, 61))!; // SpO2
  const report = (index: number, at: bigint, value: number): Promise<void> =>
    writer.addReported(
      [
        {
          streamId: stream.streamId,
          seq: 5,
          index,
          subjectId: tenant.subjectId,
          code: 'spo2',
          tsNs: at,
          value,
          unit: '%',
          quality: 0,
        },
      ],
      [],
    );
  for (let i = 0; i < 40; i++) void report(i, testEpochNs + BigInt(i >> 2) * SECOND, 50 + i / 4); // four at each time
  await writer.flush();
  for (const order of ['asc', 'desc'] as const) {
    const seen: number[] = [];
    let after: readonly [string, string] | null = null;
    for (let page = 0; page < 50; page++) {
      const rows: Awaited<ReturnType<typeof readObservations>> = await readObservations(database.pool, {
        subjectId: tenant.subjectId,
        biosignal,
        since: null,
        until: null,
        deviceId: null,
        methodCode: null,
        qualityMax: 0,
        order,
        after,
        limit: 7,
      });
      if (rows.length === 0) break;
      seen.push(...rows.map((row) => row.value));
      after = [rows.at(-1)!.effective_time, rows.at(-1)!.id];
      // written behind and before the page that comes next
      await report(1000 + page, testEpochNs - BigInt(page + 1) * SECOND, 80 + page / 10);
      await report(2000 + page, testEpochNs + BigInt(100 + page) * SECOND, 90 + page / 10);
    }
    const asked = seen.filter((value) => value < 60);
    expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => 50 + i / 4));
    expect(new Set(seen).size).toBe(seen.length);
  }
});

// promise: observations-good, minutes-detail
test('derived observations are the minutes that are good enough', async () => {
  const begin = sec('2026-02-02T08:00:00Z');
  await store([
    ...Array.from({ length: 60 }, (_, i) => feature('hr_ecg', begin + i, 60 + (i % 2))),
    ...Array.from({ length: 60 }, (_, i) => feature('hr_ecg', begin + 60 + i, 80, i < 40 ? 2 : 0)), // a third is good
    ...Array.from({ length: 60 }, (_, i) => feature('hr_ecg', begin + 120 + i, 70, i < 20 ? 2 : 0)), // two thirds are
  ]);
  const biosignal = (await findBiosignal(database.pool, tenant.projectId, 20))!;
  const filter = {
    subjectId: tenant.subjectId,
    biosignal,
    since: '2026-02-02T00:00:00Z',
    until: '2026-02-03T00:00:00Z',
    deviceId: null,
    methodCode: null,
    order: 'asc',
    after: null,
    limit: 10,
  } as const;
  const good = await readObservations(database.pool, { ...filter, qualityMax: 0 });
  expect(good.map((row) => [row.effective_time, row.value, row.qmask, row.method_code, row.device_id])).toEqual([
    ['2026-02-02T08:00:00.000000Z', 60.5, 0, 'derived:hr_ecg_v1', 'patch-1'],
    ['2026-02-02T08:02:00.000000Z', 70, 0, 'derived:hr_ecg_v1', 'patch-1'],
  ]);
  const all = await readObservations(database.pool, { ...filter, qualityMax: 2 });
  expect(all.map(({ value, qmask, n, good_n, min, max }) => [value, qmask, n, good_n, min, max])).toEqual([
    [60.5, 0, 60, 60, 60, 61],
    [80, 2, 60, 20, 80, 80],
    [70, 0, 60, 40, 70, 70],
  ]);
});

// promise: fhir-same
test('an observation has one value and one flag, whatever flags are asked for', async () => {
  const begin = sec('2026-02-04T08:00:00Z');
  await store([
    // 50 good ones of 60, the others bad and far away
    ...Array.from({ length: 60 }, (_, i) => feature('hr_ecg', begin + i, i < 50 ? 60 + (i % 5) : 100, i < 50 ? 0 : 2)),
    ...Array.from({ length: 60 }, (_, i) =>
      feature('hr_ecg', begin + 60 + i, i < 25 ? 70 : i < 50 ? 80 : 200, i < 25 ? 0 : i < 50 ? 1 : 2),
    ),
  ]);
  const biosignal = (await findBiosignal(database.pool, tenant.projectId, 20))!;
  const range = { since: '2026-02-04T00:00:00Z', until: '2026-02-05T00:00:00Z' };
  const filter = {
    subjectId: tenant.subjectId,
    biosignal,
    ...range,
    deviceId: null,
    methodCode: null,
    order: 'asc',
    after: null,
    limit: 10,
  } as const;
  const read = async (qualityMax: number) =>
    (await readObservations(database.pool, { ...filter, qualityMax })).map(({ id, value, qmask, min, max }) => ({
      id,
      value,
      qmask,
      min,
      max,
    }));
  const [good, usable, all] = [await read(0), await read(1), await read(2)];
  expect(good).toMatchObject([{ value: 62, qmask: 0, min: 60, max: 64 }]);
  expect(usable).toMatchObject([good[0]!, { value: 75, qmask: 1, min: 70, max: 80 }]);
  expect(all).toEqual(usable);
  const chart = await ask([mean('hr_ecg')], range.since, range.until, { resolution: '1m', qualityMax: 2, fill: 'none', maxPoints: 2000 });
  expect(chart.values.flat()).toEqual([62, 75]);
});

test('pages of derived observations are complete over years of gaps, two channels and two streams, in both orders', async () => {
  const other = await openTestStream(new StreamRegistry(database), tenant, undefined, 7);
  const begin = sec('2026-01-03T00:00:00Z');
  // minutes from the first on: close together, hours, months and years apart, and before and after the time of the streams
  const minutes = [-900_000, -3, 0, 1, 2, 5, 6, 180, 181, 1500, 1501, 44_000, 44_001, 60_000, 700_000, 700_100];
  const value = (minute: number, channelNo: number): DerivedFeature => ({ ...feature('emg_rms', begin + 60 * minute, minute), channelNo });
  await store(minutes.flatMap((minute) => [value(minute, 0), value(minute, 1)]));
  await writer.add(
    { streamId: other.streamId, beats: [], features: minutes.slice(5, 9).map((minute) => value(minute, 0)), replaces: null },
    other.epochNs,
  );
  const { rows } = await database.pool.query(
    `insert into biosignal (id, code, name, abbreviation, unit, signal_type, role, source_type, feature)
     values (990, 'emg_rms', 'EMG', 'EMG', 'mV', 'scalar', 'calculation', 'derived', 'emg_rms') returning id`,
  );
  const biosignal = (await findBiosignal(database.pool, tenant.projectId, rows[0].id))!;
  for (const order of ['asc', 'desc'] as const) {
    for (const [since, until] of [
      [null, null],
      [iso((begin - 60) * 1000), null],
      [iso((begin - 180) * 1000), iso((begin + 60 * 60_000) * 1000)],
    ]) {
      const ask = (after: readonly [string, string] | null, limit: number): ReturnType<typeof readObservations> =>
        readObservations(database.pool, {
          subjectId: tenant.subjectId,
          biosignal,
          since: since!,
          until: until!,
          deviceId: null,
          methodCode: null,
          qualityMax: 0,
          order,
          after,
          limit,
        });
      const within = minutes.filter(
        (minute) => (since === null || begin + 60 * minute >= sec(since!)) && (until === null || begin + 60 * minute < sec(until!)),
      );
      const expected = within.flatMap((minute) => [
        minute,
        minute,
        ...(minutes.indexOf(minute) >= 5 && minutes.indexOf(minute) < 9 ? [minute] : []),
      ]);
      const whole = await ask(null, 1000);
      expect(whole.map((row) => row.value)).toEqual(order === 'asc' ? expected : expected.toReversed());
      const paged: (typeof whole)[number][] = [];
      for (;;) {
        const page = await ask(paged.length === 0 ? null : [paged.at(-1)!.effective_time, paged.at(-1)!.id], 3);
        paged.push(...page);
        if (page.length < 3) break;
      }
      expect(paged).toEqual(whole);
    }
  }
});

test('a page of the newest minutes of a long recording reads about that many, at once', async () => {
  const other = await createTenant(database);
  const long = await openTestStream(new StreamRegistry(database), other);
  const begin = sec('2026-01-20T00:00:00Z');
  const features = Array.from({ length: 300 }, (_, minute) => feature('hr_ecg', begin + 60 * minute, minute));
  await writer.add({ streamId: long.streamId, beats: [], features, replaces: null }, long.epochNs);
  await database.pool.query('update stream set last_sample_at = to_timestamp($1) where id = $2', [begin + 300 * 60, long.streamId]);
  const read: number[] = [];
  const db = {
    query: async (statement: pg.QueryConfig) => {
      const answer = await database.pool.query<PackedSeries>(statement);
      if (statement.text.includes('feature_buckets(')) read.push(...answer.rows.map((series) => minutesInSteps(series).length));
      return answer;
    },
  };
  const biosignal = (await findBiosignal(database.pool, other.projectId, 20))!;
  const rows = await readObservations(db as never, {
    subjectId: other.subjectId,
    biosignal,
    since: null,
    until: null,
    deviceId: null,
    methodCode: null,
    qualityMax: 0,
    order: 'desc',
    after: null,
    limit: 20,
  });
  expect(rows.map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, i) => 299 - i));
  expect(read).toHaveLength(1);
  expect(read[0]).toBeLessThan(30);
});

test('a minute with values of several channels and streams includes them all, in every aggregate', async () => {
  const other = await openTestStream(new StreamRegistry(database), tenant, undefined, 9);
  const begin = sec('2026-03-03T00:00:00Z');
  const value = (minute: number, second: number, channelNo: number, of: number): DerivedFeature => ({
    ...feature('eda_mean', begin + 60 * minute + second, of),
    channelNo,
  });
  // one row in minutes 0 to 5, then a minute of two streams, then minutes of two channels
  await store([
    ...[0, 1, 2, 3, 4, 5].map((minute) => value(minute, 1, 0, 0.1 * minute)),
    value(6, 0, 0, 0.1),
    ...[7, 8, 9].flatMap((minute) => [value(minute, 0, 0, 0.1), value(minute, 1, 1, 0.2)]),
  ]);
  await writer.add({ streamId: other.streamId, beats: [], features: [value(6, 1, 0, 0.2)], replaces: null }, other.epochNs);
  const two = { mean: 0.15, min: 0.1, max: 0.2, sum: 0.3, count: 2, first: 0.1, last: 0.1 } as const;
  for (const [aggregate, expected] of Object.entries(two) as [keyof typeof two, number][]) {
    for (const [from, to] of [
      [0, 7], // mostly single
      [6, 10],
      [0, 7],
    ] as const) {
      const chart = await ask(
        [{ kind: 'feature', feature: 'eda_mean', methodCode: null, aggregate }],
        iso((begin + 60 * from) * 1000),
        iso((begin + 60 * to) * 1000),
        { resolution: '1m' },
      );
      const values = chart.values.map(([one]) => one);
      for (let minute = from; minute < to; minute++) {
        const single = aggregate === 'count' ? 1 : 0.1 * minute;
        const got = values[minute - from];
        if (minute < 6) expect([aggregate, minute, got]).toEqual([aggregate, minute, expect.closeTo(single, 12) as number]);
        else if (aggregate === 'first' || aggregate === 'last') expect([0.1, 0.2]).toContain(got);
        else expect([aggregate, minute, got]).toEqual([aggregate, minute, expected]);
      }
    }
  }
});
