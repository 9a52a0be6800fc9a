/** GET /api/v1/streams/{streamId}/overview: minimum and maximum of a waveform by bucket, as JSON or protobuf. */
import { Type } from 'typebox';
import type { Config } from '../config.ts';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { pickMediaType } from '../http/accept.ts';
import { writeJson } from '../http/json.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, NanosInteger, nullable, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { INCOMPLETE, NewestSamples } from './newest-samples.ts';
import { encodeOverviews } from '../proto/query-codec.ts';
import type { OverviewMessage } from '../proto/query-codec.ts';
import { channelKinds } from '../signal.ts';
import type { OverviewBuckets } from './overview-buckets.ts';
import { overviewSteps } from './overview-buckets.ts';
import { CELLS_MAX, planOverview, readOverview } from './overview.ts';
import type { OverviewChannel, OverviewPlan } from './overview.ts';
import { nanosOf } from './sample-routes.ts';
import type { RecentSamples } from './samples.ts';
import { jsonInSlices } from './slices.ts';
import type { Turns } from './turns.ts';

/** Buckets of a channel: a page of ten minutes for each pixel of a wide screen. */
const BUCKETS_MAX = 20_000;
/** Rows of the database from which overviews wait for one another, as charts do. */
const LARGE_ROWS = 20_000;
/** Extremes written per turn of the event loop. */
const SLICE_BUCKETS = 10_000;
const PROTOBUF = 'application/x-protobuf';

const counts = (description: string) => Type.Array(Type.Integer(), { description });
const OverviewSchema = exactly({
  channel: Type.String(),
  kind: oneOf(channelKinds),
  unit: Type.String(),
  lead: Type.String(),
  rate_hz: Type.Number(),
  t0_ns: NanosInteger,
  step_ms: Type.Integer({ description: 'Length of a bucket. Bucket i begins i * step_ms after t0_ns.' }),
  min: Type.Array(nullable(Type.Number()), { description: 'Least physical value of the samples that are not bad; null: there are none.' }),
  max: Type.Array(nullable(Type.Number()), { description: 'Greatest of them.' }),
  n: counts('How many samples there are.'),
  suspect_n: counts('How many of them are suspect.'),
  bad_n: counts('How many of them are bad.'),
});

type Deps = Readonly<{ db: Db; config: Pick<Config, 'chartRowsMax'>; turns: Turns; recentSamples?: RecentSamples; onDamaged?: OnDamaged }>;

const getOverview = ({ db, config: { chartRowsMax: rowsMax }, turns, recentSamples, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/overview',
    operationId: 'getOverview',
    tag: 'Streams',
    summary: 'Read the minimum and maximum of waveforms by bucket',
    description:
      'What the samples of the same range would give, without sending them. Buckets count from the zero of the stream, so a bucket has the ' +
      'same samples in every answer; the range is widened to whole buckets. A channel begins and ends with a bucket that has samples; one ' +
      `without samples is left out. The step is the finest with at most \`buckets\` of a channel and ${CELLS_MAX.toLocaleString('en')} in all. ` +
      `With Accept: ${PROTOBUF} a ChannelOverviewList of proto/query.proto.`,
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channels: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 64, description: 'Channel codes; absent: all.' })),
      buckets: orDefault(Type.Integer({ minimum: 1, maximum: BUCKETS_MAX, default: 1500, description: 'Most buckets of a channel.' })),
      resolution: Type.Optional(
        oneOf(
          overviewSteps.map(({ name }) => name),
          { description: 'Finest step to use; absent: two samples.' },
        ),
      ),
    },
    responses: {
      200: { description: 'By channel.', schema: Type.Array(OverviewSchema), alternatives: { [PROTOBUF]: null }, headers: [INCOMPLETE] },
    },
    errors: ['not_found', 'range_too_large', 'not_acceptable'],
    handler: async ({ caller, params, query, header, signal }) => {
      const type = pickMediaType(header('accept'), ['application/json', PROTOBUF]);
      const stream = await ownStream(db, caller, params.streamId);
      const [fromNs, toNs] = [nanosOf(query.since), nanosOf(query.until)];
      if (fromNs >= toNs) {
        throw new PipelineError('validation_failed', '/query/until: is not after since', {
          errors: [{ pointer: '/query/until', code: 'order', detail: 'is not after since' }],
        });
      }
      const who = callerKey(caller);
      const plan = await turns.run(who, false, signal, () =>
        planOverview(db, {
          streamId: stream.id,
          channels: query.channels ?? null,
          fromNs,
          toNs,
          stepMinMs: overviewSteps.find(({ name }) => name === query.resolution)?.stepMs ?? 0,
          bucketsMax: query.buckets,
          rowsMax,
        }),
      );
      const newest = new NewestSamples(recentSamples);
      const overviews: OverviewMessage[] = [];
      for (const channel of plan?.channels ?? []) {
        if (plan === null) break;
        const buckets = await turns.run(who, plan.rowCount > LARGE_ROWS, signal, () =>
          readOverview(db, plan, channel, newest.recent, onDamaged),
        );
        const overview = trimmed(plan, channel, buckets);
        if (overview !== null) overviews.push(overview);
      }
      const headers = { vary: 'accept', ...newest.headers };
      if (type === PROTOBUF) return { status: 200, bytes: encodeOverviews(overviews), contentType: PROTOBUF, headers };
      const texts: string[] = [];
      for (const overview of overviews) texts.push(await jsonOf(overview));
      return { status: 200, text: `[${texts.join(',')}]`, contentType: 'application/json', headers };
    },
  });

/** From the first to the last bucket that has samples, in physical units; null: none has. */
function trimmed({ epochNs, stepMs }: OverviewPlan, channel: OverviewChannel, buckets: OverviewBuckets): OverviewMessage | null {
  const { n, suspectN, badN, min, max } = buckets;
  const from = n.findIndex((count) => count > 0);
  if (from < 0) return null;
  const to = n.findLastIndex((count) => count > 0) + 1;
  // Divided, not multiplied by 1 / gain: the same digits as those of the samples.
  const physical = (digital: Float64Array): Float64Array =>
    digital.slice(from, to).map((value) => (Number.isFinite(value) ? (value - channel.baseline) / channel.gain : NaN));
  const [low, high] = channel.gain > 0 ? [min, max] : [max, min];
  return {
    ...channel,
    t0Ns: epochNs + BigInt(buckets.first + from) * BigInt(stepMs) * 1_000_000n,
    stepMs,
    min: physical(low),
    max: physical(high),
    n: n.slice(from, to),
    suspectN: suspectN.slice(from, to),
    badN: badN.slice(from, to),
  };
}

async function jsonOf({ code, kind, unit, lead, rateNanoHz, t0Ns, stepMs, min, max, n, suspectN, badN }: OverviewMessage): Promise<string> {
  const head = writeJson({ channel: code, kind, unit, lead, rate_hz: rateNanoHz / 1e9, t0_ns: t0Ns, step_ms: stepMs });
  const texts: string[] = [];
  for (const [name, values] of Object.entries({ min, max }))
    texts.push(`"${name}":${await jsonInSlices(values.length, SLICE_BUCKETS, (i) => values[i])}`); // NaN becomes null
  for (const [name, values] of Object.entries({ n, suspect_n: suspectN, bad_n: badN })) texts.push(`"${name}":[${values.join()}]`);
  return `${head.slice(0, -1)},${texts.join(',')}}`;
}

export const overviewRoutes = (deps: Deps): readonly Route[] => [getOverview(deps)];
