/** GET /api/v1/streams/{streamId}/corrections: beats that people corrected, and the variability with and without what they say. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { PipelineError } from '../errors.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { CORRECTED_NS, correctBeats, MATCH_NS } from './corrected-beats.ts';
import type { BeatSummary, Correction, Range } from './corrected-beats.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { nanosOf } from './sample-routes.ts';
import { readBeatSeries } from './series.ts';
import type { BeatSeries } from './series.ts';
import { beatKinds } from './series-pages.ts';
import { breathe } from './slices.ts';
import { timestampAt } from './time-bounds.ts';
import type { Turns } from './turns.ts';
import { wrong } from './wrong.ts';

const HOURS_MAX = 24;
/** 24 h at 180 a minute. */
const BEATS_MAX = 260_000;
const CORRECTIONS_MAX = 10_000;
const LARGE_HOURS = 1;

const number = (description: string) => nullable(Type.Number({ description }));
const SummarySchema = exactly({
  beat_count: Type.Integer(),
  other_count: Type.Integer({ description: 'Beats that are not normal.' }),
  nn_count: Type.Integer({ description: 'Intervals between normal beats that follow each other.' }),
  mean_hr: number('Of these intervals, /min; null: there is none.'),
  sdnn_ms: number('null with less than two.'),
  rmssd_ms: number('null without two that follow each other.'),
  pnn50_percent: number('Likewise.'),
});
const SeriesSchema = exactly({
  method_code: Type.String(),
  channel: Type.String(),
  computed: SummarySchema,
  corrected: SummarySchema,
  corrections: Type.Array(
    exactly({
      annotation_id: Uuid,
      at: Timestamp,
      beat: Type.String({ description: 'What it is: N, S, V, F, Q, or none.' }),
      found_at: nullable(
        Type.String({ format: 'date-time', description: 'Of the computed beat that it means; null: none was found there.' }),
      ),
      found_kind: nullable(oneOf(beatKinds)),
    }),
  ),
});

type Deps = Readonly<{ db: Db; turns: Turns; onDamaged?: OnDamaged }>;

const getCorrections = ({ db, turns, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/corrections',
    operationId: 'getCorrections',
    tag: 'Annotations',
    summary: 'Compare beats as computed with beats as corrected',
    description:
      `Corrections are the annotations of kind beat in [since, until), at most ${HOURS_MAX} h; each means the computed beat within ` +
      `${MATCH_NS / 1_000_000n} ms. SDNN, RMSSD and pNN50 are those of the whole range (Task Force of the ESC and NASPE 1996, ` +
      'doi:10.1161/01.CIR.93.5.1043), with and without them. Stored values stay as computed.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channel: Type.Optional(Type.String({ maxLength: 32 })),
      method_code: Type.Optional(Type.String({ maxLength: 128, description: 'e.g. derived:r_peaks_v19; absent: the newest.' })),
    },
    responses: { 200: { description: 'One element per channel and method.', schema: Type.Array(SeriesSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params, query, signal }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const hours = (Date.parse(query.until) - Date.parse(query.since)) / 3_600_000;
      if (hours <= 0) throw wrong('/query/until', 'is not after since');
      if (hours > HOURS_MAX) throw wrong('/query/until', `is more than ${HOURS_MAX} h after since`);
      const range = { fromNs: nanosOf(query.since), toNs: nanosOf(query.until) };
      const corrections = await readCorrections(db, stream.id, widened(range, MATCH_NS));
      const filter = {
        streamId: stream.id,
        channelCode: query.channel ?? null,
        methodCode: query.method_code ?? null,
        ...widened(range, CORRECTED_NS),
        limit: BEATS_MAX,
        ...(onDamaged && { onDamaged }),
      };
      const json = await turns.run(callerKey(caller), hours > LARGE_HOURS, signal, async () => {
        const series = await readBeatSeries(db, filter);
        if (series.some(({ next }) => next !== null))
          throw new PipelineError('validation_failed', `The range has more than ${BEATS_MAX} beats: ask for a shorter one.`);
        const compared = [];
        for (const one of series) {
          await breathe();
          const own = corrections.filter(({ channel }) => channel === '' || channel === one.channelCode);
          compared.push(compare(one, own, range));
        }
        return compared.filter(({ computed, corrected }) => computed.beat_count + corrected.beat_count > 0);
      });
      return { status: 200, json };
    },
  });

const widened = ({ fromNs, toNs }: Range, byNs: bigint) => ({ since: timestampAt(fromNs - byNs), until: timestampAt(toNs + byNs) });

function compare({ methodCode, channelCode, ...columns }: BeatSeries, corrections: readonly Correction[], range: Range) {
  const { computed, corrected, applied } = correctBeats(columns, corrections, range);
  return {
    method_code: methodCode,
    channel: channelCode,
    computed: written(computed),
    corrected: written(corrected),
    corrections: applied.map(({ id, tsNs, beat, found }) => ({
      annotation_id: id,
      at: timestampAt(tsNs),
      beat,
      found_at: found === null ? null : timestampAt(found.tsNs),
      found_kind: found === null ? null : beatKinds[found.kind]!,
    })),
  };
}

const written = (summary: BeatSummary) => ({
  beat_count: summary.beatCount,
  other_count: summary.otherCount,
  nn_count: summary.nnCount,
  mean_hr: summary.meanHr,
  sdnn_ms: summary.sdnnMs,
  rmssd_ms: summary.rmssdMs,
  pnn50_percent: summary.pnn50Percent,
});

/** In the order in which they were made. */
export async function readCorrections(
  db: Db,
  streamId: number,
  { since, until }: Readonly<{ since: string; until: string }>,
): Promise<readonly (Correction & Readonly<{ channel: string }>)[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('annotation')
      .select(({ ref }) => [
        'id',
        sql<string>`trunc(extract(epoch from ${ref('starts_at')}) * 1000000)::text`.as('us'),
        'beat',
        'channel_code as channel',
      ])
      .where('stream_id', '=', streamId)
      .where('kind', '=', 'beat')
      .where('replaced_at', 'is', null)
      .where('deleted', '=', false)
      .where('starts_at', '>=', sql<Date>`${since}::timestamptz`)
      .where('starts_at', '<', sql<Date>`${until}::timestamptz`)
      .orderBy('made_at')
      .orderBy('id')
      .limit(CORRECTIONS_MAX + 1),
  );
  if (rows.length > CORRECTIONS_MAX)
    throw new PipelineError('validation_failed', `The range has more than ${CORRECTIONS_MAX} corrections: ask for a shorter one.`);
  return rows.map(({ id, us, beat, channel }) => ({ id, tsNs: BigInt(us) * 1000n, beat: beat ?? 'none', channel }));
}

export const correctionRoutes = (deps: Deps): readonly Route[] => [getCorrections(deps)];
