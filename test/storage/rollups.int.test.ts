// feature_1m, _1h and _1d say the same as the raw rows, to the last digit, on every server: late, repeated, replaced and deleted rows,
// before and after a refresh, and under a refresh that runs at the same time.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

/** The minutes of a stream as feature_minute_columns packs them, and as the rows of feature_1m have them: [minute, n, good_n, suspect_n,
 *  value_n, good, suspect, every]. */
async function packedAndPlain(database: TestDatabase, stream: OpenedStream, what: string, worst: number): Promise<[unknown[], unknown[]]> {
  const { rows: packed } = await database.pool.query<Record<string, (number | null)[] | null>>(
    `select f.* from method m cross join lateral feature_minute_columns(array[$1::int], m.id, '-infinity', 'infinity', $2, $3) f where m.code = $4`,
    [stream.streamId, what, worst, methods[0]],
  );
  const of = (name: string): (number | null)[] | null => packed[0]?.[name] ?? null;
  const names = ['minutes', 'ns', 'good_ns', 'suspect_ns', 'value_ns', 'goods', 'suspects', 'everies'];
  const one = (of('minutes') ?? []).map((_, i) => {
    const at = (name: string): number | null => of(name)?.[i] ?? null;
    const [n, valueN] = [at('ns'), at('value_ns') ?? at('ns')];
    return [at('minutes'), n, at('good_ns') ?? valueN, at('suspect_ns') ?? 0, worst === 2 ? valueN : null, ...names.slice(5).map(at)];
  });
  const column = (prefix: string, asked: boolean): string =>
    !asked || what === 'count' || (prefix === 'suspect_' && (what === 'first' || what === 'last'))
      ? 'null'
      : what === 'mean' || what === 'sum'
        ? `(${prefix}sum * 1000)::float8`
        : `${prefix}${what} * 1000`;
  const { rows: plain } = await database.pool.query<unknown[]>({
    rowMode: 'array',
    text: `select (extract(epoch from bucket) / 60)::int, n::int, good_n::int, suspect_n::int, ${worst === 2 ? 'value_n::int' : 'null'},
       ${column('good_', worst < 2)}, ${column('suspect_', worst === 1)}, ${column('', worst === 2)} from feature_1m where stream_id = $1`,
    values: [stream.streamId],
  });
  const sorted = (list: unknown[]): unknown[] => list.map((row) => JSON.stringify(row)).sort();
  return [sorted(one), sorted(plain)];
}

const asked = ['mean', 'min', 'max', 'sum', 'count', 'first', 'last'];
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
    test('equal a recomputation from the raw rows after any history', { timeout: 120_000 }, async () => {
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
            const [what, worst] = [asked[turn % asked.length]!, turn++ % 3];
            const [packed, plain] = await packedAndPlain(database, stream, what, worst);
            expect([what, worst, packed]).toEqual([what, worst, plain]);
          }
        }),
        { numRuns: 20, seed: 20261121 },
      );
    });

    // job: rollups
    test('are right at every moment while writers and refreshes run together', { timeout: 60_000 }, async () => {
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
        const [packed, plain] = await packedAndPlain(database, stream, asked[i % asked.length]!, i % 3);
        expect(packed).toEqual(plain);
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
