/** Routes for features and beats of a stream, as columns. */
import { Type } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { pickMediaType } from '../http/accept.ts';
import type { Cursors } from '../http/cursor.ts';
import { callerKey } from '../http/request.ts';
import { nextPage, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import {
  CursorQuery,
  exactly,
  LimitQuery,
  NanosInteger,
  nullable,
  oneOf,
  orDefault,
  QualityMask,
  Timestamp,
  Uuid,
} from '../http/schemas.ts';
import { encodeFeatureSeries } from '../proto/query-codec.ts';
import { beatClasses } from './beat-classes.ts';
import type { MethodDescription } from './biosignal-routes.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { JsonColumns } from './json-columns.ts';
import { computedFeatures, needFeatures } from './known-features.ts';
import { readBeatSeries, readFeatureSeries } from './series.ts';
import { beatKinds, cutTogether } from './series-pages.ts';
import { breathe } from './slices.ts';
import type { Turns } from './turns.ts';

const PROTOBUF = 'application/x-protobuf';
/** Pages with more values per series than this wait for a place among large reads. */
const LARGE_LIMIT = 10_000;
/** Room for a value, or a beat, with its time and its flag, as JSON. */
const BYTES_OF_VALUE = 72;
const BYTES_OF_BEAT = 90;
const writtenKinds = beatKinds.map((kind) => `"${kind}"`);
const writtenClasses = ['null', ...beatClasses.map((name) => `"${name}"`)];

const FeatureSeriesSchema = Type.Object(
  {
    name: Type.String(),
    ts_ns: Type.Optional(Type.Array(NanosInteger)),
    ts_ms: Type.Optional(Type.Array(Type.Number(), { description: 'With ts_unit=ms, instead of ts_ns.' })),
    values: Type.Array(Type.Number()),
    cadence_hz: Type.Number(),
    qmask: Type.Array(QualityMask),
    unit: Type.String({ description: 'UCUM.' }),
    method_code: Type.String(),
  },
  { additionalProperties: false },
);
const BeatSeriesSchema = exactly({
  method_code: Type.String(),
  channel: Type.String(),
  ts_ns: Type.Optional(Type.Array(NanosInteger)),
  ts_ms: Type.Optional(Type.Array(Type.Number(), { description: 'With ts_unit=ms, instead of ts_ns.' })),
  interval_ms: Type.Array(nullable(Type.Number()), { description: 'To the beat before; null after a gap.' }),
  kind: Type.Array(oneOf(beatKinds)),
  accepted: Type.Array(Type.Boolean(), {
    description:
      'Is the interval an NN interval? Those that are make heart rate variability: in a window (end - length, end] the intervals with both beats inside, and ' +
      'for differences those whose interval before is accepted and inside, too.',
  }),
  aami: Type.Array(nullable(oneOf(beatClasses)), {
    description:
      'Where the beat began, by AAMI EC57, from its shape and timing: N normal, S supraventricular, V ventricular (fusion beats, F, are not told from ' +
      'them), Q: its shape cannot be judged (a bad signal, or no usual beat to compare with). null: no beat of the heart was seen there (artefact, ' +
      'interpolated), or the method does not judge it (PPG, r_peaks_v9 and before).',
  }),
  confidence: Type.Array(nullable(Type.Number({ minimum: 0, maximum: 1 })), {
    description: 'Probability that N, S or V is right, in hundredths; null where it is not known.',
  }),
  qmask: Type.Array(QualityMask),
});

const range = {
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
  method_code: Type.Optional(Type.String({ maxLength: 128, description: 'e.g. derived:hr_ecg_v18; absent: the newest.' })),
  cursor: CursorQuery,
};

const TimeUnit = orDefault(oneOf(['ns', 'ms'], { default: 'ns' }));

type SeriesDeps = Readonly<{ db: Db; cursors: Cursors; turns: Turns; onDamaged?: OnDamaged; methods?: readonly MethodDescription[] }>;

const getFeatures = ({ db, cursors, turns, onDamaged, methods = [] }: SeriesDeps, computed = computedFeatures(methods)) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/features',
    operationId: 'getFeatures',
    tag: 'Streams',
    summary: 'Read the derived features of a stream',
    description:
      'One element per feature. ts_ns are integers beyond 2^53, written to the digit; ts_unit=ms gives ts_ms instead, Accept: application/x-protobuf exact integers. The limit is per ' +
      'feature: a page ends for all of them where the first full one does, so that pages give each value once.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      ...range,
      names: Type.Optional(
        Type.Array(Type.String({ maxLength: 64 }), {
          maxItems: 64,
          description: 'Features; absent: all. One that does not exist is refused, one without values is left out.',
        }),
      ),
      cadence: Type.Optional(
        Type.Number({ exclusiveMinimum: 0, maximum: 1000, description: 'At most so many values per second and feature, Hz.' }),
      ),
      quality_max: orDefault(Type.Integer({ minimum: 0, maximum: 2, default: 2, description: 'Worst flag to return.' })),
      ts_unit: TimeUnit,
      limit: LimitQuery(10_000, 100_000),
    },
    responses: {
      200: {
        description: 'Feature series; as protobuf a FeatureSeriesList of proto/query.proto.',
        schema: Type.Array(FeatureSeriesSchema),
        alternatives: { [PROTOBUF]: null },
        headers: ['Link'],
      },
    },
    errors: ['not_found', 'cursor_invalid', 'not_acceptable'],
    handler: async ({ caller, params, query, header, signal }) => {
      const type = pickMediaType(header('accept'), ['application/json', PROTOBUF]);
      const stream = await ownStream(db, caller, params.streamId);
      await needFeatures(db, computed, query.names ?? []);
      const { names, method_code: method, since, until, quality_max: qualityMax, cadence } = query;
      const scope = `features ${stream.uuid} ${JSON.stringify([names, method, since, until, qualityMax, cadence])}`;
      const list = { cursors, path: `/api/v1/streams/${stream.uuid}/features`, scope, query };
      const start = pageStart(list);
      const filter = {
        streamId: stream.id,
        names: query.names ?? null,
        methodCode: query.method_code ?? null,
        since: start === null ? (query.since ?? null) : String(start[0]),
        until: query.until ?? null,
        qualityMax: query.quality_max,
        cadenceHz: query.cadence ?? null,
        limit: query.limit,
        ...(onDamaged && { onDamaged }),
      };
      const full = await turns.run(callerKey(caller), query.limit > LARGE_LIMIT, signal, () => readFeatureSeries(db, filter));
      const { series, next } = cutTogether(full, (one, count) => {
        const { tsNs, values, qmask } = one;
        return { ...one, tsNs: tsNs.subarray(0, count), values: values.subarray(0, count), qmask: qmask.subarray(0, count) };
      });
      const headers = { vary: 'accept', ...nextPage(list, next === null ? null : [next]) };
      if (type === PROTOBUF) return { status: 200, bytes: encodeFeatureSeries(series), contentType: PROTOBUF, headers };
      const json = new JsonColumns(series.reduce((bytes, { tsNs }) => bytes + 200 + BYTES_OF_VALUE * tsNs.length, 2));
      let before = '[';
      for (const { name, methodCode, unit, tsNs, values, cadenceHz, qmask } of series) {
        await breathe();
        json.text(`${before}{"name":${JSON.stringify(name)},"ts_${query.ts_unit}":`);
        json.times(tsNs, query.ts_unit);
        json.text(',"values":');
        json.numbers(values);
        json.text(`,"cadence_hz":${cadenceHz},"qmask":`);
        json.numbers(qmask);
        json.text(`,"unit":${JSON.stringify(unit)},"method_code":${JSON.stringify(methodCode)}}`);
        before = ',';
      }
      json.text(series.length === 0 ? '[]' : ']');
      return { status: 200, bytes: json.take(), contentType: 'application/json', headers };
    },
  });

const getBeats = ({ db, cursors, turns, onDamaged }: SeriesDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/beats',
    operationId: 'getBeats',
    tag: 'Streams',
    summary: 'Read the beats of a stream',
    description:
      'One element per channel and method: times, intervals, what kind of beat it is, whether its interval is accepted for variability, where it began and how sure that is, and its flag. ' +
      'The limit is per element: a page ends for all of them where the first full one does, so that pages give each beat once.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: { ...range, channel: Type.Optional(Type.String({ maxLength: 32 })), ts_unit: TimeUnit, limit: LimitQuery(10_000, 100_000) },
    responses: { 200: { description: 'Beats.', schema: Type.Array(BeatSeriesSchema), headers: ['Link'] } },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, params, query, signal }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const { channel, method_code: method, since, until } = query;
      const scope = `beats ${stream.uuid} ${JSON.stringify([channel, method, since, until])}`;
      const list = { cursors, path: `/api/v1/streams/${stream.uuid}/beats`, scope, query };
      const start = pageStart(list);
      const filter = {
        streamId: stream.id,
        channelCode: query.channel ?? null,
        methodCode: query.method_code ?? null,
        since: start === null ? (query.since ?? null) : String(start[0]),
        until: query.until ?? null,
        limit: query.limit,
        ...(onDamaged && { onDamaged }),
      };
      const full = await turns.run(callerKey(caller), query.limit > LARGE_LIMIT, signal, () => readBeatSeries(db, filter));
      const { series, next } = cutTogether(full, (one, count) => ({
        ...one,
        tsNs: one.tsNs.subarray(0, count),
        intervalMs: one.intervalMs.subarray(0, count),
        kinds: one.kinds.subarray(0, count),
        accepted: one.accepted.subarray(0, count),
        classes: one.classes.subarray(0, count),
        confidence: one.confidence.subarray(0, count),
        qmask: one.qmask.subarray(0, count),
      }));
      const json = new JsonColumns(series.reduce((bytes, { tsNs }) => bytes + 200 + BYTES_OF_BEAT * tsNs.length, 2));
      let before = '[';
      for (const { methodCode, channelCode, tsNs, intervalMs, kinds, accepted, classes, confidence, qmask } of series) {
        await breathe();
        json.text(`${before}{"method_code":${JSON.stringify(methodCode)},"channel":${JSON.stringify(channelCode)},"ts_${query.ts_unit}":`);
        json.times(tsNs, query.ts_unit);
        json.text(',"interval_ms":');
        json.numbers(intervalMs);
        json.text(',"kind":');
        json.choices(writtenKinds, kinds);
        json.text(',"accepted":');
        json.choices(['false', 'true'], accepted);
        json.text(',"aami":');
        json.choices(writtenClasses, classes);
        json.text(',"confidence":');
        json.numbers(confidence);
        json.text(',"qmask":');
        json.numbers(qmask);
        json.text('}');
        before = ',';
      }
      json.text(series.length === 0 ? '[]' : ']');
      return {
        status: 200,
        bytes: json.take(),
        contentType: 'application/json',
        headers: nextPage(list, next === null ? null : [next]),
      };
    },
  });

export const seriesRoutes = (deps: SeriesDeps): readonly Route[] => [getFeatures(deps), getBeats(deps)];
