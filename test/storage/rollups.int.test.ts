// feature_1m, _1h and _1d say the same as the raw rows, to the last digit, on every server: late, repeated, replaced and deleted rows,
// before and after a refresh, and under a refresh that runs at the same time.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FeatureBuckets, readFeatureBuckets } from '../../src/query/feature-buckets.ts';
import type { DerivedFeature } from '../../src/storage/derived-steps.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { otherServers, testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testEpochNs, type TestTenant } from '../helpers/recording.ts';

const methods = ['derived:hr_ecg_v1', 'derived:sqi_ecg_v1'];
const SECOND = 1_000_000_000n;

/** One write: rows, or the deletion of a range by replacing it with nothing. Times in seconds of the device clock. */
type Write = { replaces: [number, number] | null; rows: { t: number; tenths: number | null; qmask: 0 | 1 | 2; channelNo: number }[] };

const row = fc.record({
  t: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 3500, max: 3700 }), fc.integer({ min: 86_000, max: 90_000 })),
  tenths: fc.option(fc.integer({ min: -5000, max: 5000 }), { freq: 8 }),
  qmask: fc.constantFrom(0, 0, 0, 1, 2) as fc.Arbitrary<0 | 1 | 2>,
  channelNo: fc.constantFrom(-1, -1, 0),
});
const write: fc.Arbitrary<Write> = fc
  .tuple(
    fc.option(fc.tuple(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 1, max: 5000 })), { freq: 4 }),
    fc.array(row, { maxLength: 40 }),
  )
  .map(([range, rows]) => {
    const replaces: [number, number] | null = range === null ? null : [range[0], range[0] + range[1]];
    return { replaces, rows: replaces === null ? rows : rows.filter(({ t }) => t >= replaces[0] && t < replaces[1]) };
  });

type Kept = Map<string, { t: number; tenths: number | null; qmask: number; channelNo: number }>;

/** What the raw rows are after a write. */
function applied(kept: Kept, { replaces, rows }: Write): Kept {
  const next: Kept = new Map([...kept].filter(([, { t }]) => replaces === null || t < replaces[0] || t >= replaces[1]));
  for (const one of rows) next.set(`${one.channelNo}:${one.t}`, one);
  return next;
}

/** The buckets that these rows have, computed plainly. Values are tenths, so sums are exact. */
function expected(kept: Kept, stepSec: number): Map<string, unknown> {
  const offset = Number(testEpochNs / SECOND) % stepSec;
  const groups = new Map<string, { t: number; tenths: number | null; qmask: number }[]>();
  for (const { t, tenths, qmask, channelNo } of [...kept.values()].sort((a, b) => a.t - b.t)) {
    const key = `${channelNo}:${Math.floor((t + offset) / stepSec)}`;
    groups.set(key, [...(groups.get(key) ?? []), { t, tenths, qmask }]);
  }
  const stats = (values: number[]): unknown[] =>
    values.length === 0 ? [null, null, null] : [values.reduce((a, b) => a + b), Math.min(...values), Math.max(...values)];
  return new Map(
    [...groups].map(([key, rows]) => {
      const all = rows.flatMap(({ tenths }) => (tenths === null ? [] : [tenths]));
      const of = (flag: number): number[] => rows.flatMap(({ tenths, qmask }) => (tenths === null || qmask !== flag ? [] : [tenths]));
      const counts = [rows.length, all.length, of(0).length, of(1).length];
      return [
        key,
        [
          ...counts,
          ...stats(all),
          ...stats(of(0)),
          ...stats(of(1)),
          all[0] ?? null,
          all.at(-1) ?? null,
          of(0)[0] ?? null,
          of(0).at(-1) ?? null,
        ],
      ];
    }),
  );
}

async function actual(database: TestDatabase, stream: OpenedStream, relation: string, stepSec: number): Promise<Map<string, unknown>> {
  const epochSec = Number(testEpochNs / SECOND);
  const { rows } = await database.pool.query<Record<string, never> & { channel_no: number; at: number }>(
    `select channel_no, extract(epoch from bucket)::float8 as at, n::int, value_n::int, good_n::int, suspect_n::int,
       sum * 10 as sum, min, max, good_sum * 10 as good_sum, good_min, good_max, suspect_sum * 10 as suspect_sum, suspect_min, suspect_max,
       first, last, good_first, good_last
     from ${relation} where stream_id = $1`,
    [stream.streamId],
  );
  const tenths = (value: unknown): number | null => (value === null ? null : Math.round(Number(value) * 10));
  return new Map(
    rows.map((r) => {
      const bucket = Math.floor((r.at - (epochSec - (epochSec % stepSec))) / stepSec);
      const sums = (prefix: string): unknown[] => [
        r[`${prefix}sum`] === null ? null : Number(r[`${prefix}sum`]),
        tenths(r[`${prefix}min`]),
        tenths(r[`${prefix}max`]),
      ];
      return [
        `${r.channel_no}:${bucket}`,
        [
          r['n'],
          r['value_n'],
          r['good_n'],
          r['suspect_n'],
          ...sums(''),
          ...sums('good_'),
          ...sums('suspect_'),
          ...['first', 'last', 'good_first', 'good_last'].map((c) => tenths(r[c])),
        ],
      ];
    }),
  );
}

/** The buckets of a stream as a chart adds them up from feature_buckets, and as the rows of a view have them. */
async function chartedAndPlain(
  database: TestDatabase,
  stream: OpenedStream,
  [relation, stepSec]: (typeof relations)[number],
  worst: 0 | 1 | 2,
): Promise<[unknown[], unknown[]]> {
  const { rows: method } = await database.pool.query<{ id: number }>('select id from method where code = $1', [methods[0]]);
  if (method[0] === undefined) return [[], []];
  const beginMs = Math.floor(Number(testEpochNs / SECOND) / 86_400) * 86_400_000;
  const [from, to] = [beginMs, beginMs + 3 * 86_400_000].map((ms) => new Date(ms).toISOString()) as [string, string];
  const [hoursFrom, hoursTo] = relation === 'feature_1m' ? [null, null] : [from, to];
  const [daysFrom, daysTo] = relation === 'feature_1d' ? [from, to] : [hoursTo, hoursTo];
  const bounds = { from, to, hoursFrom, hoursTo, daysFrom, daysTo };
  const packed = await readFeatureBuckets(database.pool, [stream.streamId], [method[0].id], bounds, worst, true);
  const starts = Array.from({ length: (3 * 86_400) / stepSec }, (_, i) => beginMs + 1000 * stepSec * i);
  const bucketAt = (ms: number): number => Math.floor((ms - beginMs) / (1000 * stepSec));
  const charted = [...new Set(packed.map(({ channel_no: channelNo }) => channelNo))].flatMap((channelNo) => {
    const buckets = new FeatureBuckets({ starts, bucketAt, qualityMax: worst, withExtremes: true, ofValues: false });
    for (const series of packed) if (series.channel_no === channelNo) buckets.addSeries(series);
    const ends = { first: buckets.column('first', true).cells, last: buckets.column('last', true).cells };
    return [...buckets.column('sum', true).cells].map(([ms, { row }]) => {
      const one = row!;
      const [good, suspect, every] = (['good', 'suspect', 'every'] as const).map((of) => [
        one[`${of}_sum`],
        one[`${of}_min`],
        one[`${of}_max`],
      ]);
      const end = (of: 'good' | 'every'): unknown[] => [ends.first.get(ms)!.row![of], ends.last.get(ms)!.row![of]];
      return [
        [channelNo, ms, one.n, one.good_n, one.suspect_n, ...good!, ...end('good')],
        worst > 0 ? suspect : [],
        worst === 2 ? [one.value_n, ...every!, ...end('every')] : [],
      ];
    });
  });
  const { rows: plain } = await database.pool.query<unknown[]>({
    rowMode: 'array',
    text: `select
       json_build_array(channel_no, extract(epoch from bucket) * 1000, n, good_n, suspect_n, good_sum::float8, good_min, good_max, good_first, good_last),
       case when ${worst} > 0 then json_build_array(suspect_sum::float8, suspect_min, suspect_max) else '[]' end,
       case when ${worst} = 2 then json_build_array(value_n, sum::float8, min, max, first, last) else '[]' end
     from ${relation} where stream_id = $1 and method_id = $2`,
    values: [stream.streamId, method[0].id],
  });
  const sorted = (list: unknown[]): unknown[] => list.map((row) => JSON.stringify(row)).sort();
  return [sorted(charted), sorted(plain)];
}

const relations = [
  ['feature_1m', 60],
  ['feature_1h', 3600],
  ['feature_1d', 86_400],
] as const;

for (const server of [{ name: 'the server of this run', url: undefined }, ...otherServers()]) {
  describe(`rollups on ${server.name}`, () => {
    let database: TestDatabase;
    let tenant: TestTenant;
    let writer: DerivedWriter;
    let boot = 0;
    beforeAll(async () => {
      database = await testDatabase({}, server.url);
      tenant = await createTenant(database);
      writer = new DerivedWriter(database, { currentMethods: methods, lingerMs: 1 });
      if (database.kind === 'timescale')
        await database.pool.query(`select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where job_id >= 1000`);
    });
    afterAll(async () => {
      await writer.close();
      await database.close();
    });

    const newStream = (): Promise<OpenedStream> => openTestStream(new StreamRegistry(database), tenant, undefined, ++boot);

    const store = (stream: OpenedStream, { replaces, rows }: Write): Promise<void> =>
      writer.add(
        {
          streamId: stream.streamId,
          beats: [],
          features: rows.map(({ t, tenths, qmask, channelNo }): DerivedFeature => ({
            feature: 'hr_ecg',
            channelNo,
            tNs: BigInt(t) * SECOND,
            value: tenths === null ? NaN : tenths / 10,
            qmask,
            methodCode: 'derived:hr_ecg_v1',
          })),
          replaces: replaces === null ? null : { fromNs: BigInt(replaces[0]) * SECOND, toNs: BigInt(replaces[1]) * SECOND },
        },
        stream.epochNs,
      );

    // promise: charts-same, rollup-columns
    test('equal a recomputation from the raw rows after any history', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(write, fc.boolean()), { minLength: 1, maxLength: 6 }), async (history) => {
          const stream = await newStream();
          let kept: Kept = new Map();
          let turn = history.length;
          for (const [one, refreshAfter] of history) {
            await store(stream, one);
            kept = applied(kept, one);
            if (refreshAfter) await refreshRollups(database);
            for (const [relation, step] of relations) expect(await actual(database, stream, relation, step)).toEqual(expected(kept, step));
            const worst = (turn++ % 3) as 0 | 1 | 2;
            for (const relation of relations) {
              const [charted, plain] = await chartedAndPlain(database, stream, relation, worst);
              expect([relation, worst, charted]).toEqual([relation, worst, plain]);
            }
          }
        }),
        { numRuns: 20, seed: 20261121 },
      );
    });

    // job: rollups
    test('are right at every moment while writers and refreshes run together', async () => {
      const stream = await newStream();
      let kept: Kept = new Map();
      let writing = true;
      const refreshing = (async () => {
        while (writing) await refreshRollups(database);
      })();
      const second = new DerivedWriter(database, { currentMethods: methods, lingerMs: 1 });
      for (let i = 0; i < 60; i++) {
        const one: Write = {
          replaces: i % 7 === 3 ? [i * 30, i * 30 + 90] : null,
          rows: Array.from({ length: 30 }, (_, j) => ({ t: i * 30 + j, tenths: i + j, qmask: j % 5 === 0 ? 1 : 0, channelNo: -1 })),
        };
        kept = applied(kept, one);
        await store(stream, one);
        const [relation, step] = relations[i % 3]!;
        expect(await actual(database, stream, relation, step)).toEqual(expected(kept, step));
        const [charted, plain] = await chartedAndPlain(database, stream, relations[i % 3]!, (i % 3) as 0 | 1 | 2);
        expect(charted).toEqual(plain);
      }
      writing = false;
      await refreshing;
      await Promise.all([second.close(), writer.close()]); // what is open stays noted
      writer = new DerivedWriter(database, { currentMethods: methods, lingerMs: 1 });
      await refreshRollups(database);
      expect((await database.pool.query<{ n: number }>('select count(*)::int as n from rollup_dirty')).rows[0]!.n).toBe(0);
      for (const [relation, step] of relations) expect(await actual(database, stream, relation, step)).toEqual(expected(kept, step));
    });
  });
}
