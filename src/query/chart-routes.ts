/** POST /api/v1/charts/query: several series on one time axis, with a flag for every value. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import type { Db } from '../storage/database/database.ts';
import { ownSubject } from '../tenancy/record-ownership.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { callerKey } from '../http/request.ts';
import { writeJson } from '../http/json.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, oneOf, QualityMask, Timestamp } from '../http/schemas.ts';
import { isTimeZone, notTimeZone, presentName } from '../http/time-zone.ts';
import { prepared } from '../storage/database/prepared.ts';
import { newestFirst } from '../storage/newest-method.ts';
import type { ChannelKind, QualityFlag } from '../signal.ts';
import { chartAggregates, readChart } from './chart.ts';
import { planChart } from './chart-plan.ts';
import type { ChartAggregate, ChartQuery, ChartSeries } from './chart.ts';
import type { ChartDetail } from './chart-detail.ts';
import { resolutions } from './chart-resolution.ts';
import type { MethodDescription } from './biosignal-routes.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { computedFeatures, needFeatures } from './known-features.ts';
import { INCOMPLETE, NewestSamples } from './newest-samples.ts';
import { findBiosignal, isCounted } from './observations.ts';
import type { RecentSamples } from './samples.ts';
import { jsonInSlices } from './slices.ts';
import type { Turns } from './turns.ts';
import { wrong } from './wrong.ts';
import { unixNowMs } from '../unix-clock.ts';

const RANGE_DAYS_MAX = 3660;
const POINTS_MAX = 10_000;
/** A chart that reads more rows than this, about 0.2 s of database time, must wait for a place among large reads. */
const LARGE_ROWS = 20_000;
/** Rows of the answer written per turn of the event loop. */
const SLICE_ROWS = 1000;
const resolutionNames = resolutions.map((resolution) => resolution.name);

const ChartBody = exactly({
  subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key.' })),
  series: Type.Array(
    exactly({
      biosignal_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      feature: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      agg: Type.Optional(
        oneOf(chartAggregates, {
          description:
            'Default: mean; sum of what is counted, such as steps. A waveform has two columns, min and max, whatever is asked for.',
        }),
      ),
      method_code: Type.Optional(
        Type.String({ maxLength: 128, description: 'Of a feature; absent: of each bucket the newest version with values there.' }),
      ),
      channel: Type.Optional(Type.String({ maxLength: 32, description: 'Of a waveform; absent: the first of its kind.' })),
    }),
    { minItems: 1, maxItems: 16 },
  ),
  range: Type.Union([
    exactly({ from: Timestamp, to: Timestamp }),
    exactly({
      duration: Type.String({
        pattern: '^P(?=.)(\\d+W|(\\d+D)?(T(?=.)(\\d+H)?(\\d+M)?(\\d+S)?)?)$',
        description: 'ISO 8601, ending now: PT24H, P7D',
      }),
    }),
  ]),
  resolution: Type.Optional(oneOf(resolutionNames, { description: 'The finest to use; coarser when max_points needs it.' })),
  max_points: Type.Optional(Type.Integer({ minimum: 2, maximum: POINTS_MAX, default: 1000 })),
  tz: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'IANA zone in which days begin; default: that of the user.' })),
  quality_max: Type.Optional(
    Type.Unsafe<QualityFlag>({ type: 'integer', minimum: 0, maximum: 2, default: 1, description: 'Worst flag of a value that counts.' }),
  ),
  fill: Type.Optional(
    oneOf(['none', 'null', 'previous'], {
      default: 'none',
      description: 'none: only buckets with data; null: every bucket; previous: every bucket, gaps repeat the value before.',
    }),
  ),
  detail: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Also what the numbers rest on: counts and extremes per bucket, and totals of the range.',
    }),
  ),
});
const Counts = Type.Array(Type.Array(nullable(Type.Integer())));
const Extremes = Type.Array(Type.Array(nullable(Type.Number())));
const DetailSchema = exactly(
  {
    n: Counts,
    good_n: Counts,
    expected_n: Counts,
    min: Extremes,
    max: Extremes,
    totals: Type.Array(
      exactly({
        n: Type.Integer(),
        good_n: Type.Integer(),
        expected_n: nullable(Type.Integer()),
        qmask: nullable(QualityMask),
        min: nullable(Type.Number()),
        max: nullable(Type.Number()),
        mean: nullable(Type.Number()),
        suspect: nullable(exactly({ n: Type.Integer(), min: Type.Number(), max: Type.Number(), mean: Type.Number() })),
        first: nullable(Type.Number()),
        last: nullable(Type.Number()),
        sum: nullable(Type.Number()),
      }),
      {
        description:
          'Of the whole range, one per column, from its values and not from its buckets: the same at every resolution, but that from 1m on ' +
          'computed values are of all minutes that the range touches. min, max, mean: of its good values, however few; where it has none, of the suspect ones, then of all, as far as quality_max admits them. qmask: of the range, as ' +
          'of a bucket and of an hour or a day of observations: 0 when at least half of its values are good, 1 when at least half are good or ' +
          'suspect, else 2; so a mean with qmask 2 is of the few good values of a bad range, or of none. suspect: of its suspect values alone, where ' +
          'quality_max admits them. first, last: good values. sum: of all that quality_max admits.',
      },
    ),
  },
  {
    description:
      'With detail: true. Rows parallel to qmask. n: values there; good_n: good ones; expected_n: values due in the part of the bucket that lies in the ' +
      'range and not in the future, null where nobody knows or they are farther apart than that part is long; min, max: of the values that the number is made of.',
  },
);
const ChartSchema = exactly({
  range: exactly({ from: Timestamp, to: Timestamp }),
  resolution: oneOf(resolutionNames),
  values: Type.Array(
    exactly({
      name: Type.String({
        description: 'Of a feature: as the catalog calls it; one that the catalog lacks, by the title of its method.',
      }),
      unit: Type.String(),
      biosignal_id: nullable(Type.Integer()),
      feature: nullable(Type.String()),
      agg: oneOf(chartAggregates),
      method_codes: Type.Array(Type.String(), {
        description: 'Of a feature: the versions that its values are of, the newest first. A value is of one of them.',
      }),
    }),
    { description: 'Columns of data after the first.' },
  ),
  data: Type.Array(Type.Array(nullable(Type.Number())), {
    description:
      'Rows [ts, v1, v2 …]; ts is the start of the bucket, Unix ms. A mean is rounded to the step of the values of its method, one of reported ' +
      'values to 12 digits.',
  }),
  qmask: Type.Array(Type.Array(nullable(QualityMask)), {
    description:
      'Rows of flags, parallel to data without its first column. null: nothing there; a null value with a flag: too bad to show. A value flagged ' +
      '0 is made of good values alone, one flagged 1 of good and suspect ones; sums and counts are of all that quality_max admits.',
  }),
  detail: Type.Optional(DetailSchema),
});

type Body = Static<typeof ChartBody>;
type SeriesInput = Body['series'][number];
/** Name and unit of a column, besides the series that it comes from. */
type Named = Readonly<{ name: string; unit: string; biosignalId: number | null; feature: string | null; series: ChartSeries }>;

type ChartDeps = Readonly<{
  db: Db;
  config: Pick<Config, 'chartRowsMax'>;
  turns: Turns;
  recentSamples?: RecentSamples;
  onDamaged?: OnDamaged;
  methods?: readonly MethodDescription[];
}>;

const queryChart = (
  { db, config: { chartRowsMax: rowsMax }, turns, recentSamples, onDamaged, methods = [] }: ChartDeps,
  computed = computedFeatures(methods),
) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/charts/query',
    operationId: 'queryChart',
    tag: 'Observations',
    summary: 'Read several series as columns of a chart',
    description:
      `max_points is always honoured: the resolution becomes coarser until it is, and until the chart reads at most ${rowsMax} rows of the ` +
      'database. A feature has a row per second, minute, hour or day (the coarsest that fits the resolution), a waveform one for up to 8 s; samples, ' +
      `which short ranges are made of, count as a row per 200. Beyond that it is refused (range_too_large). Charts of more than ${LARGE_ROWS} ` +
      'rows wait for one another; 429 when too many of one credential wait.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    body: ChartBody,
    responses: { 200: { description: 'The chart.', schema: ChartSchema, headers: [INCOMPLETE] } },
    errors: ['not_found', 'range_too_large'],
    handler: async ({ caller, body, signal }) => {
      const subject = await ownSubject(db, caller, body.subject_id ?? '');
      const { fromMs, toMs } = rangeOf(body.range);
      const timeZone = zoneOf(body.tz ?? subject.timeZone);
      const named: Named[] = [];
      for (const [i, series] of body.series.entries())
        named.push(await namedSeries(db, { methods, computed }, subject.projectId, series, i));
      const newest = new NewestSamples(recentSamples);
      const query: ChartQuery = {
        orgId: subject.orgId,
        subjectId: subject.id,
        series: named.map(({ series }) => series),
        fromNs: BigInt(fromMs) * 1_000_000n,
        toNs: BigInt(toMs) * 1_000_000n,
        resolution: body.resolution ?? null,
        maxPoints: body.max_points ?? 1000,
        timeZone,
        qualityMax: body.quality_max ?? 1,
        fill: body.fill ?? 'none',
        detail: body.detail ?? false,
        ...(newest.recent && { recent: newest.recent }),
        ...(onDamaged && { onDamaged }),
      };
      const who = callerKey(caller);
      const chart = await turns
        .run(who, false, signal, () => planChart(db, query, rowsMax))
        .then((plan) => turns.run(who, plan.rowCount > LARGE_ROWS, signal, () => readChart(db, query, plan, signal)))
        .catch((error: unknown) => {
          throw sqlStateOf(error) === '22023' ? wrong('/tz', 'is not a time zone that the database knows') : error;
        });
      const head = writeJson({
        range: { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() },
        resolution: chart.resolution,
        values: chart.columns.map(({ series, what, methodCodes }) => {
          const { name = '', unit = '', biosignalId = null, feature = null } = named[series] ?? {};
          return { name, unit, biosignal_id: biosignalId, feature, agg: what, method_codes: methodCodes };
        }),
      });
      const data = await jsonInSlices(chart.tsMs.length, SLICE_ROWS, (i) => [chart.tsMs[i], ...(chart.values[i] ?? [])]);
      const qmask = await jsonInSlices(chart.tsMs.length, SLICE_ROWS, (i) => chart.qmask[i]);
      const detail = chart.detail === undefined ? '' : `,"detail":${await detailJson(chart.detail)}`;
      const text = `${head.slice(0, -1)},"data":${data},"qmask":${qmask}${detail}}`;
      return { status: 200, text, contentType: 'application/json', headers: newest.headers };
    },
  });

async function detailJson({ n, goodN, expectedN, min, max, totals }: ChartDetail): Promise<string> {
  const rows = (of: (number | null)[][]): Promise<string> => jsonInSlices(of.length, SLICE_ROWS, (i) => of[i]);
  const ranges = totals.map((range) => ({
    n: range.n,
    good_n: range.goodN,
    expected_n: range.expectedN,
    qmask: range.flag,
    min: range.min,
    max: range.max,
    mean: range.mean,
    suspect: range.suspect,
    first: range.first,
    last: range.last,
    sum: range.sum,
  }));
  return (
    `{"n":${await rows(n)},"good_n":${await rows(goodN)},"expected_n":${await rows(expectedN)},` +
    `"min":${await rows(min)},"max":${await rows(max)},"totals":${writeJson(ranges)}}`
  );
}

type Features = Readonly<{ methods: readonly MethodDescription[]; computed: ReadonlySet<string> }>;

async function namedSeries(db: Db, { methods, computed }: Features, projectId: string, input: SeriesInput, i: number): Promise<Named> {
  if ((input.biosignal_id === undefined) === (input.feature === undefined))
    throw wrong(`/series/${i}`, 'takes either biosignal_id or feature');
  const aggregateOf = (unit: string): ChartAggregate => input.agg ?? (isCounted(unit) ? 'sum' : 'mean');
  const methodCode = input.method_code ?? null;
  if (input.feature !== undefined) {
    const { feature } = input;
    await needFeatures(db, computed, [feature]);
    // SQL: every chart of a feature runs it, and bench/queries.bench.ts measures that.
    const { rows } = await db.query<{ unit: string | null; name: string | null }>(
      prepared(
        `select (select m.unit from method m where m.kind = 'feature' and m.name = $1 order by ${newestFirst('m')} limit 1) as unit, (
           select b.name from biosignal b left join project_biosignal pb on pb.biosignal_id = b.id and pb.project_id = $2
           where b.feature = $1 and (b.project_id is null or b.project_id = $2) and not coalesce(pb.hidden, false)
           order by b.id limit 1) as name`,
        [feature, projectId],
      ),
    );
    const unit = rows[0]?.unit ?? '';
    const title = methods.findLast((method) => method.kind === 'feature' && method.feature === feature)?.title;
    return {
      name: rows[0]?.name ?? (title || feature),
      unit,
      biosignalId: null,
      feature,
      series: { kind: 'feature', feature, methodCode, aggregate: aggregateOf(unit) },
    };
  }
  const biosignal = await findBiosignal(db, projectId, input.biosignal_id ?? 0);
  if (biosignal === null) throw new PipelineError('not_found', `There is no biosignal ${input.biosignal_id} in this project.`);
  const { id, name, unit, feature, channel_kind: channelKind } = biosignal;
  const aggregate = aggregateOf(unit);
  const series: ChartSeries =
    feature !== null
      ? { kind: 'feature', feature, methodCode, aggregate }
      : channelKind !== null
        ? { kind: 'waveform', channelKind: channelKind as ChannelKind, channelCode: input.channel ?? null }
        : { kind: 'measurement', biosignalId: id, aggregate };
  return { name, unit, biosignalId: id, feature, series };
}

function rangeOf(range: Body['range']): { fromMs: number; toMs: number } {
  const toMs = 'to' in range ? Date.parse(range.to) : unixNowMs();
  const fromMs = 'from' in range ? Date.parse(range.from) : toMs - durationMs(range.duration);
  if (!(fromMs < toMs)) throw wrong('/range', 'is empty: from must lie before to');
  if (toMs - fromMs > RANGE_DAYS_MAX * 86_400_000)
    throw new PipelineError('range_too_large', `The range is longer than ${RANGE_DAYS_MAX} days.`);
  return { fromMs, toMs };
}

function durationMs(text: string): number {
  const [, weeks, days, hours, minutes, seconds] = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text) ?? [];
  const number = (part: string | undefined): number => Number(part ?? 0);
  return ((number(weeks) * 7 + number(days)) * 86_400 + number(hours) * 3600 + number(minutes) * 60 + number(seconds)) * 1000;
}

/** @returns the name of today: browsers give older ones (Asia/Calcutta) that not every PostgreSQL knows */
function zoneOf(zone: string): string {
  if (!isTimeZone(zone)) throw wrong('/tz', notTimeZone(zone));
  return presentName(zone);
}

export const chartRoutes = (deps: ChartDeps): readonly Route[] => [queryChart(deps)];
