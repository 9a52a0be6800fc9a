/** POST /api/v1/charts/query: several series on one time axis, with a flag beside every value. */
import { Type } from 'typebox';
import type { Db } from '../auth/api-keys.ts';
import { ownSubject } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, oneOf, QualityMask, Timestamp } from '../http/schemas.ts';
import { chartAggs, chooseResolution, readChart, resolutions } from './charts.ts';
import type { ChartAgg, ChartBucket, ChartQuery, ChartSource, Resolution } from './charts.ts';
import { findBiosignal } from './observations.ts';

const RANGE_DAYS_MAX = 3660;
const POINTS_MAX = 10_000;
const resolutionNames = Object.keys(resolutions) as Resolution[];

const ChartBody = exactly({
  subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key.' })),
  series: Type.Array(
    exactly({
      biosignal_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      feature: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      agg: Type.Optional(oneOf(chartAggs, { description: 'Default: mean; of a waveform minmax, which gives two columns.' })),
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
  quality_max: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, default: 1, description: 'Worst flag of a value that counts.' })),
  fill: Type.Optional(oneOf(['none', 'null'], { default: 'none', description: 'null: buckets without data are rows of nulls.' })),
});
const ChartSchema = exactly({
  range: exactly({ from: Timestamp, to: Timestamp }),
  resolution: oneOf(resolutionNames),
  values: Type.Array(
    exactly({
      name: Type.String(),
      unit: Type.String(),
      biosignal_id: nullable(Type.Integer()),
      feature: nullable(Type.String()),
      agg: oneOf(chartAggs),
    }),
    { description: 'Columns of data after the first.' },
  ),
  data: Type.Array(Type.Array(nullable(Type.Number())), { description: 'Rows [ts, v1, v2 …]; ts is the start of the bucket, Unix ms.' }),
  qmask: Type.Array(Type.Array(QualityMask), { description: 'Rows of flags, parallel to data without its first column.' }),
});

type Body = Readonly<{
  subject_id?: string;
  series: readonly Readonly<{ biosignal_id?: number; feature?: string; agg?: ChartAgg }>[];
  range: Readonly<{ from: string; to: string }> | Readonly<{ duration: string }>;
  resolution?: Resolution;
  max_points?: number;
  tz?: string;
  quality_max?: number;
  fill?: 'none' | 'null';
}>;
type Column = Readonly<{
  name: string;
  unit: string;
  biosignalId: number | null;
  feature: string | null;
  source: ChartSource;
  agg: Exclude<ChartAgg, 'minmax'>;
}>;

export function chartRoutes(deps: Readonly<{ db: Db }>): readonly Route[] {
  const { db } = deps;
  return [
    {
      method: 'POST',
      path: '/api/v1/charts/query',
      operationId: 'queryChart',
      tag: 'Observations',
      summary: 'Read several series as columns of a chart',
      description: 'max_points is always honoured: the resolution becomes coarser until it is.',
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      body: ChartBody,
      responses: { 200: { description: 'The chart.', schema: ChartSchema } },
      errors: ['not_found', 'range_too_large'],
      handler: async ({ caller, body }) => {
        const given = body as Body;
        const subject = await ownSubject(db, caller, given.subject_id ?? '');
        const { fromMs, toMs } = rangeOf(given.range);
        const timeZone = zoneOf(given.tz ?? subject.timeZone);
        const resolution = chooseResolution(toMs - fromMs, given.max_points ?? 1000, given.resolution ?? null);
        const query: ChartQuery = { subjectId: subject.id, fromMs, toMs, resolution, timeZone, qualityMax: given.quality_max ?? 1 };
        const columns: Column[] = [];
        for (const [i, series] of given.series.entries()) columns.push(...(await columnsOf(db, subject.projectId, series, i)));
        const series = await Promise.all(columns.map((column) => readChart(db, column.source, column.agg, query)));
        return { status: 200, json: chartOf(columns, series, query, given.fill ?? 'none') };
      },
    },
  ];
}

/** One column, or two for the minimum and maximum of a waveform. */
async function columnsOf(db: Db, projectId: string, series: Body['series'][number], i: number): Promise<readonly Column[]> {
  if ((series.biosignal_id === undefined) === (series.feature === undefined)) {
    throw wrong(`/series/${i}`, 'takes either biosignal_id or feature');
  }
  const { feature: named } = series;
  if (named !== undefined) {
    const { rows } = await db.query<{ unit: string }>(
      `select unit from method where kind = 'feature' and name = $1 order by id desc limit 1`,
      [named],
    );
    const agg = series.agg ?? 'mean';
    const base = { unit: rows[0]?.unit ?? '', biosignalId: null, feature: named, source: { kind: 'feature', feature: named } as const };
    return split(base, named, agg);
  }
  const biosignal = await findBiosignal(db, projectId, series.biosignal_id ?? 0);
  if (biosignal === null) throw new PipelineError('not_found', `There is no biosignal ${series.biosignal_id} in this project.`);
  const { id, feature, channel_kind: channelKind } = biosignal;
  const source: ChartSource =
    feature !== null
      ? { kind: 'feature', feature }
      : channelKind !== null
        ? { kind: 'waveform', channelKind }
        : { kind: 'measurement', biosignalId: id };
  const base = { unit: biosignal.unit, biosignalId: id, feature, source };
  return split(base, biosignal.name, series.agg ?? (source.kind === 'waveform' ? 'minmax' : 'mean'));
}

function split(base: Omit<Column, 'name' | 'agg'>, name: string, agg: ChartAgg): readonly Column[] {
  if (agg !== 'minmax') return [{ ...base, name, agg }];
  return [
    { ...base, name: `${name} (min)`, agg: 'min' },
    { ...base, name: `${name} (max)`, agg: 'max' },
  ];
}

function chartOf(
  columns: readonly Column[],
  series: readonly (readonly ChartBucket[])[],
  query: ChartQuery,
  fill: 'none' | 'null',
): object {
  const rows = new Map<number, { values: (number | null)[]; flags: number[] }>();
  const rowAt = (tMs: number): { values: (number | null)[]; flags: number[] } => {
    let row = rows.get(tMs);
    if (row === undefined) rows.set(tMs, (row = { values: columns.map(() => null), flags: columns.map(() => 2) }));
    return row;
  };
  const stepMs = resolutions[query.resolution] * 1000;
  // Days are not equally long in most zones, so empty ones are only filled on the UTC grid.
  if (fill === 'null' && stepMs < 86_400_000)
    for (let t = Math.floor(query.fromMs / stepMs) * stepMs; t < query.toMs; t += stepMs) rowAt(t);
  for (const [column, buckets] of series.entries()) {
    for (const { tMs, value, flag } of buckets) {
      const row = rowAt(tMs);
      row.values[column] = value;
      row.flags[column] = value === null ? 2 : flag;
    }
  }
  const times = [...rows.keys()].toSorted((a, b) => a - b);
  return {
    range: { from: new Date(query.fromMs).toISOString(), to: new Date(query.toMs).toISOString() },
    resolution: query.resolution,
    values: columns.map(({ name, unit, biosignalId, feature, agg }) => ({ name, unit, biosignal_id: biosignalId, feature, agg })),
    data: times.map((tMs) => [tMs, ...(rows.get(tMs)?.values ?? [])]),
    qmask: times.map((tMs) => rows.get(tMs)?.flags ?? []),
  };
}

function rangeOf(range: Body['range']): { fromMs: number; toMs: number } {
  const toMs = 'to' in range ? Date.parse(range.to) : Date.now();
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

function zoneOf(zone: string): string {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw wrong('/tz', 'is not an IANA time zone');
  }
}

function wrong(pointer: string, detail: string): PipelineError {
  return new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code: 'value', detail }] });
}
