/** GET /api/v1/streams/{streamId}/waves: where P, QRS and T of each beat of up to five minutes lie, and its PR, QRS, QT and QTc. */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { PipelineError } from '../errors.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, NanosInteger, nullable, oneOf, orDefault, QualityMask, Timestamp, Uuid } from '../http/schemas.ts';
import type { ChannelConfig } from '../signal.ts';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { beatsFor, boundaryNames, correctedQt, formulas, leadsToMeasure, measureBeats, samplesFor, waveUses } from './beat-waves.ts';
import type { LeadToMeasure, MeasuredBeat } from './beat-waves.ts';
import type { Range } from './corrected-beats.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { INCOMPLETE, NewestSamples } from './newest-samples.ts';
import { nanosOf } from './sample-routes.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples } from './samples.ts';
import { readBeatSeries } from './series.ts';
import type { BeatSeries } from './series.ts';
import { beatKinds } from './series-pages.ts';
import { breathe } from './slices.ts';
import { timestampAfter, timestampAt } from './time-bounds.ts';
import type { Turns } from './turns.ts';
import { wrong } from './wrong.ts';

const WAVES_MIN_MAX = 5;
const NS_PER_MIN = 60_000_000_000n;
/** Five minutes at 600 a minute. */
const BEATS_MAX = 3000;
/** Rows of samples: five minutes of one lead in rows of a second, in as many channels as a lead may have had. */
const ROWS_MAX = 64 * 360;

const DETECTOR = 'derived:r_peaks';
const columnOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const ms = (description: string): TSchema => Type.Array(nullable(Type.Number()), { description });

/** One column for each boundary of a wave, in nanoseconds or in milliseconds. */
const boundarySchemas = Object.fromEntries(
  boundaryNames.flatMap((name) => [
    [`${columnOf(name)}_ns`, Type.Optional(Type.Array(nullable(NanosInteger)))],
    [`${columnOf(name)}_ms`, Type.Optional(Type.Array(nullable(Type.Number())))],
  ]),
);
const WavesSchema = exactly({
  method_code: Type.String({ description: 'Of the beats.' }),
  channel: Type.String({ description: 'Lead that was measured.' }),
  ts_ns: Type.Optional(Type.Array(NanosInteger, { description: 'Of the R peaks.' })),
  ts_ms: Type.Optional(Type.Array(Type.Number(), { description: 'With ts_unit=ms, instead of ts_ns; likewise the boundaries.' })),
  interval_ms: ms('To the beat before; null after a gap.'),
  kind: Type.Array(oneOf(beatKinds)),
  ...boundarySchemas,
  pr_ms: ms('Onset of P to onset of QRS.'),
  qrs_ms: ms('Onset to end of QRS.'),
  qt_ms: ms('Onset of QRS to end of T.'),
  qtc_bazett_ms: ms('QT corrected by the interval before the beat; null where that is not an interval between good normal beats.'),
  qtc_fridericia_ms: ms('Likewise.'),
  qtc_framingham_ms: ms('Likewise.'),
  qtc_hodges_ms: ms('Likewise.'),
  use: Type.Array(oneOf(waveUses), {
    description:
      'What the medians pr_60s, qrs_60s and qt_60s do with the beat. used: they have what it measured. Left out: suspect, bad (its signal), gap (no interval ' +
      'before it), kind (it is not normal), unmeasured (no QRS complex, or samples are missing), unseen (an interpolated beat).',
  }),
  qmask: Type.Array(QualityMask, { description: '0 used; 2 a bad signal, or nothing measured; 1 left out for another reason.' }),
});

type Deps = Readonly<{ db: Db; turns: Turns; recentSamples?: RecentSamples; onDamaged?: OnDamaged }>;

const getWaves = ({ db, turns, recentSamples, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/waves',
    operationId: 'getWaves',
    tag: 'Streams',
    summary: 'Measure P, QRS and T of each beat',
    description:
      `Of the ECG beats in [since, until), at most ${WAVES_MIN_MAX} min, measured in stored samples by the code that the medians of a minute (pr_60s, qrs_60s, ` +
      'qt_60s) are made by: the median of the beats in (end - 60 s, end] that are used is the stored one. Stored qtc_* are of that median and of the mean ' +
      'interval between good beats; here each beat has the interval before it. Null where a boundary was not found. One element for each lead, of the ' +
      'newest method that has beats in the range; none where there are none.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channel: Type.Optional(Type.String({ maxLength: 32, description: 'Lead to measure in; absent: the first, as the medians.' })),
      method_code: Type.Optional(
        Type.String({ maxLength: 128, description: 'Of the beats, e.g. derived:r_peaks_v19; absent: the newest.' }),
      ),
      ts_unit: orDefault(oneOf(['ns', 'ms'], { default: 'ns' })),
    },
    responses: { 200: { description: 'Beats, as columns.', schema: Type.Array(WavesSchema), headers: [INCOMPLETE] } },
    errors: ['not_found', 'range_too_large'],
    handler: async ({ caller, params, query, signal }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const range = { fromNs: nanosOf(query.since), toNs: nanosOf(query.until) };
      if (range.fromNs >= range.toNs) throw wrong('/query/until', 'is not after since');
      if (range.toNs - range.fromNs > BigInt(WAVES_MIN_MAX) * NS_PER_MIN)
        throw new PipelineError('range_too_large', `Beats are measured in at most ${WAVES_MIN_MAX} min at once.`);
      const leads = leadsToMeasure(await readChannels(db, stream.id), query.channel ?? null);
      if (leads.length === 0 && query.channel !== undefined) throw wrong('/query/channel', 'is no channel of the stream with an ECG');
      const newest = new NewestSamples(recentSamples);
      const parts: string[] = [];
      await turns.run(callerKey(caller), false, signal, async () => {
        for (const lead of leads) {
          const series = await readBeats(db, stream.id, lead, query.method_code ?? null, range, onDamaged);
          if (series.length === 0) continue;
          const { segments } = await readSamples(db, {
            streamId: stream.id,
            channels: [lead.code],
            ...samplesFor(range),
            rowsMax: ROWS_MAX,
            ...(newest.recent && { recent: newest.recent }),
            ...(onDamaged && { onDamaged }),
          });
          for (const one of series) {
            await breathe();
            const beats = await measureBeats(one, segments, lead, range);
            await breathe();
            parts.push(written(one.methodCode, lead.code, beats, query.ts_unit));
          }
        }
      });
      return { status: 200, text: `[${parts.join(',')}]`, contentType: 'application/json', headers: newest.headers };
    },
  });

type ChannelRow = Omit<ChannelConfig, 'rateNanoHz'> & Readonly<{ rate_nhz: bigint }>;

/** Every channel that the stream has had, by its number: what groups of leads are made of. */
async function readChannels(db: Db, streamId: number): Promise<readonly ChannelConfig[]> {
  const { rows } = await db.query<ChannelRow>(
    prepared('select code, kind, rate_nhz, gain, baseline, unit, lead from stream_channel where stream_id = $1 order by channel_no', [
      streamId,
    ]),
  );
  return rows.map(({ rate_nhz: rate, ...channel }) => ({ ...channel, rateNanoHz: Number(rate) }));
}

/** Beats of the newest method that has some in the range: of several channels, where the device changed its rate. */
async function readBeats(
  db: Db,
  streamId: number,
  { beatsOf }: LeadToMeasure,
  methodCode: string | null,
  range: Range,
  onDamaged: OnDamaged | undefined,
): Promise<readonly BeatSeries[]> {
  const { fromNs, toNs } = beatsFor(range);
  const found = await readBeatSeries(db, {
    streamId,
    channelCode: beatsOf,
    methodCode,
    since: timestampAt(fromNs),
    until: timestampAfter(toNs),
    limit: BEATS_MAX,
    ...(onDamaged && { onDamaged }),
  });
  const own = found.filter((one) => one.methodCode.startsWith(DETECTOR) && one.tsNs.some((ns) => ns >= range.fromNs && ns < range.toNs));
  if (own.some(({ next }) => next !== null))
    throw new PipelineError('validation_failed', `The range has more than ${BEATS_MAX} beats: ask for a shorter one.`);
  return own.filter((one) => one.methodCode === own[0]!.methodCode);
}

/** Whole microseconds: a sample is longer. */
const number = (value: number): string => (Number.isNaN(value) ? 'null' : String(Math.round(1000 * value) / 1000));
const time = (ns: bigint | null, unit: 'ns' | 'ms'): string =>
  ns === null ? 'null' : unit === 'ns' ? String(ns) : String(Number(ns / 1000n) / 1000);

function written(methodCode: string, channel: string, beats: readonly MeasuredBeat[], unit: 'ns' | 'ms'): string {
  const members = [`"method_code":${JSON.stringify(methodCode)},"channel":${JSON.stringify(channel)}`];
  const add = (name: string, element: (beat: MeasuredBeat) => string): void => {
    members.push(`"${name}":[${beats.map(element).join(',')}]`);
  };
  add(`ts_${unit}`, ({ tsNs }) => time(tsNs, unit));
  add('interval_ms', ({ intervalMs }) => number(intervalMs));
  add('kind', ({ kind }) => `"${beatKinds[kind]!}"`);
  for (const name of boundaryNames) add(`${columnOf(name)}_${unit}`, ({ at }) => time(at[name], unit));
  add('pr_ms', ({ pr }) => number(pr));
  add('qrs_ms', ({ qrs }) => number(qrs));
  add('qt_ms', ({ qt }) => number(qt));
  for (const formula of formulas) add(`qtc_${formula}_ms`, (beat) => number(correctedQt(beat, formula)));
  add('use', ({ use }) => `"${use}"`);
  add('qmask', ({ qmask }) => String(qmask));
  return `{${members.join(',')}}`;
}

export const waveRoutes = (deps: Deps): readonly Route[] => [getWaves(deps)];
