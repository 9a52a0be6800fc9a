// SQL reads packed minutes: the points that the codec was given, wherever the minute lies, and the statistics that follow from them.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CopyBuffer, copyRows } from '../../src/storage/copy-binary.ts';
import { encodeBeats, encodeFeatures, type FeatureBlock, type FeaturePoints } from '../../src/storage/derived-block.ts';
import { beatBlockColumns, featureBlockColumns, putBeatBlock, putFeatureBlock } from '../../src/storage/derived-rows.ts';
import { beatClassOf } from '../../src/query/beat-classes.ts';
import { encodeOpenMinutes, type OpenMinute } from '../../src/storage/open-minutes.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { beatPoints, featurePoints } from '../helpers/derived-points.ts';

let database: TestDatabase;
/** Of 0.01, and without a step. */
let methods: readonly number[];
const MINUTE = 29_453_760; // 2026-01-01 UTC
const minuteNs = (minute: number): bigint => BigInt(minute) * 60_000_000_000n;

beforeAll(async () => {
  database = await testDatabase();
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into method (kind, name, code, step) values ('feature', 'a', 'derived:a_v1', 0.01), ('feature', 'b', 'derived:b_v1', 0) returning id`,
  );
  methods = rows.map(({ id }) => id);
  if (database.kind === 'postgres')
    for (const table of ['feature_block', 'beat_block'])
      await database.pool.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($2))', [table, 60 * MINUTE]);
});
afterAll(() => database.close());

const openOf = (block: FeatureBlock, minute: number, methodId: number, channelNo: number): OpenMinute => ({
  minute,
  methodId,
  channelNo,
  n: block.n,
  isBeat: false,
  base: block.min ?? block.sum ?? 0,
  reasons: null,
  codec: block.codec,
});

/** As feature_values gives them. */
const valuesOf = (points: FeaturePoints, minute: number, perUnit: number): unknown[] =>
  points.ns.map((ns, i) => [
    minuteNs(minute) + BigInt(ns),
    Number.isNaN(points.steps[i]) ? null : points.steps[i]! / perUnit,
    points.flags[i],
  ]);

test('feature_points and beat_points in SQL give the points that the codec was given', async () => {
  await fc.assert(
    fc.asyncProperty(featurePoints, beatPoints, async (features, beats) => {
      const f = encodeFeatures(features);
      const values = await database.pool.query<{ ts_ns: bigint; steps: bigint | null; qmask: number }>(
        'select * from feature_points(to_timestamp($1), $2, $3, $4)',
        [60 * MINUTE, f.n, f.min ?? f.sum, f.codec],
      );
      expect(values.rows.map(({ ts_ns, steps, qmask }) => [ts_ns, steps === null ? null : Number(steps), qmask])).toEqual(
        valuesOf(features, MINUTE, 1),
      );
      const b = encodeBeats(beats);
      const found = await database.pool.query('select * from beat_points(to_timestamp($1), $2, $3, $4)', [
        60 * MINUTE,
        b.n,
        b.reasons,
        b.codec,
      ]);
      expect(found.rows).toEqual(
        beats.ns.map((ns, i) => ({
          ts_ns: minuteNs(MINUTE) + BigInt(ns),
          interval_us: Number.isNaN(beats.intervalUs[i]) ? null : BigInt(beats.intervalUs[i]!),
          kind: beats.kinds[i],
          qmask: beats.flags[i],
          reason: beats.reasons[i],
          confidence: Number.isNaN(beats.confidences[i]) ? null : beats.confidences[i],
        })),
      );
    }),
    { numRuns: 60 },
  );
});

test('the open minutes of a stream are read as they were written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(featurePoints, { minLength: 1, maxLength: 5 }), beatPoints, async (features, beats) => {
      const b = encodeBeats(beats);
      const minutes: OpenMinute[] = [
        ...features.map((points, i) => openOf(encodeFeatures(points), MINUTE + i, 1 + i, i - 1)),
        { minute: MINUTE, methodId: 32_767, channelNo: 3, n: b.n, isBeat: true, base: 0, reasons: b.reasons, codec: b.codec },
      ];
      const { rows } = await database.pool.query<Record<string, unknown>>(
        `select (extract(epoch from time) / 60)::int as minute, method_id as "methodId", channel_no as "channelNo", n, is_beat as "isBeat", base::float8 as base, reasons, codec
         from open_minutes($1)`,
        [encodeOpenMinutes(minutes)],
      );
      expect(rows.map((row) => ({ ...row, codec: [...(row['codec'] as Buffer)] }))).toEqual(
        minutes.map((minute) => ({ ...minute, codec: [...minute.codec] })),
      );
    }),
    { numRuns: 30 },
  );
});

test('values of complete and of open minutes are read alike, with their statistics, by the time asked for', async () => {
  await fc.assert(
    fc.asyncProperty(featurePoints, featurePoints, async (first, second) => {
      await database.pool.query('delete from feature_block; delete from derived_open');
      const [a, b] = [encodeFeatures(first), encodeFeatures(second)];
      const client = await database.connect();
      const rows = new CopyBuffer();
      putFeatureBlock(rows, { streamId: 7, methodId: methods[0]!, channelNo: -1, minute: MINUTE }, a);
      await copyRows(client, `feature_block (${featureBlockColumns})`, rows);
      await client.end();
      await database.pool.query('insert into derived_open values (7, 1, $1)', [
        encodeOpenMinutes([openOf(b, MINUTE + 1, methods[0]!, -1)]),
      ]);
      const between = async (from: bigint, to: bigint): Promise<unknown[]> => {
        const { rows } = await database.pool.query<{ ts_ns: bigint; value: number | null; qmask: number }>(
          `select ts_ns, value, qmask from feature_values(to_timestamp($1::float8), to_timestamp($2::float8)) where stream_id = 7 order by ts_ns`,
          [Number(from / 1_000_000_000n), Number(to / 1_000_000_000n)],
        );
        return rows.map(({ ts_ns, value, qmask }) => [ts_ns, value, qmask]);
      };
      const all = [...valuesOf(first, MINUTE, 100), ...valuesOf(second, MINUTE + 1, 100)] as [bigint, number | null, number][];
      expect(await between(minuteNs(MINUTE), minuteNs(MINUTE + 2))).toEqual(all);
      const [from, to] = [minuteNs(MINUTE) + 20_000_000_000n, minuteNs(MINUTE + 1) + 40_000_000_000n];
      expect(await between(from, to)).toEqual(all.filter(([t]) => t >= from && t < to));
      const minutes = await database.pool.query('select * from feature_minute order by bucket');
      expect(minutes.rows).toMatchObject([
        { ...statisticsOf(first), is_open: false },
        { ...statisticsOf(second), is_open: true },
      ]);
    }),
    { numRuns: 60 },
  );
});

test('a beat has a confidence in SQL where it has one in the API: not where the signal is bad, nor where no beat was seen', async () => {
  const every = [0, 1, 2, 3].flatMap((kind) => [0, 1, 2].map((flag) => ({ kind, flag })));
  const block = encodeBeats({
    ns: every.map((_, i) => i * 1e9),
    intervalUs: every.map(() => NaN),
    kinds: every.map(({ kind }) => kind),
    flags: every.map(({ flag }) => flag),
    reasons: every.map(() => ''),
    confidences: every.map((_, i) => 80 + i),
  });
  const client = await database.connect();
  const rows = new CopyBuffer();
  putBeatBlock(rows, { streamId: 8, methodId: methods[0]!, channelNo: 0, minute: MINUTE }, block);
  await copyRows(client, `beat_block (${beatBlockColumns})`, rows);
  await client.end();
  const wanted = every.map(({ kind, flag }, i) => {
    const ofBeat = beatClassOf(true, kind, '', flag, (80 + i) / 100);
    return ofBeat === null || ofBeat === 'Q' ? null : (80 + i) / 100;
  });
  const found = await database.pool.query<{ confidence: number | null }>('select confidence from beat where stream_id = 8 order by ts_ns');
  expect(found.rows.map(({ confidence }) => confidence)).toEqual(wanted);
  // of api.beat, which shows rows of people and streams alone, the text
  const { rows: texts } = await database.pool.query<{ text: string }>(
    `select replace(replace(pg_get_functiondef(f::regproc), 'api.', ''), 'public.', '') as text
     from unnest(array['beat_values', 'api.beat_values']) f`,
  );
  expect(texts[1]!.text).toBe(texts[0]!.text);
});

/** As feature_minute gives them: sums without the order of addition, everything from the values themselves. */
function statisticsOf({ steps, flags }: FeaturePoints): Record<string, unknown> {
  const of = (counts: (flag: number) => boolean): number[] => steps.filter((x, i) => x === x && counts(flags[i]!));
  const sets = { '': of(() => true), good_: of((flag) => flag === 0), suspect_: of((flag) => flag === 1) };
  const row: Record<string, unknown> = { stream_id: 7, method_id: methods[0], channel_no: -1, n: BigInt(steps.length) };
  const whole = (x: number | undefined): bigint | null => (x === undefined ? null : BigInt(x));
  for (const [name, set] of Object.entries(sets)) {
    row[name === '' ? 'value_n' : `${name}n`] = BigInt(set.length);
    row[`${name}sum`] = set.length === 0 ? null : set.reduce((sum, x) => sum + BigInt(x), 0n);
    row[`${name}min`] = set.length === 0 ? null : BigInt(Math.min(...set));
    row[`${name}max`] = set.length === 0 ? null : BigInt(Math.max(...set));
    if (name === 'suspect_') continue;
    row[`${name}first`] = whole(set[0]);
    row[`${name}last`] = whole(set.at(-1));
  }
  return row;
}
