/** GET /api/v1/streams/{streamId}/variability: intervals, variability and spectrum of a window of up to half an hour. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { storedFeatures, windowVariability } from '../dsp/hrv/stored-window.ts';
import type { WindowSpectrum, WindowValue } from '../dsp/hrv/stored-window.ts';
import { PipelineError } from '../errors.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, oneOf, orDefault, QualityMask, Timestamp, Uuid } from '../http/schemas.ts';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { CORRECTED_NS, correctBeats } from './corrected-beats.ts';
import type { CorrectedBeat, Correction } from './corrected-beats.ts';
import { readCorrections } from './correction-routes.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { nanosOf } from './sample-routes.ts';
import { readBeatSeries, readFeatureSeries } from './series.ts';
import type { BeatSeries, FeatureSeries } from './series.ts';
import { breathe } from './slices.ts';
import { timestampAfter, timestampAt } from './time-bounds.ts';
import type { Turns } from './turns.ts';
import { intervalUses, windowIntervals } from './window-intervals.ts';
import type { WindowIntervals } from './window-intervals.ts';
import { wrong } from './wrong.ts';

const SECONDS_MIN = 10;
const MINUTES_MAX = 30;
/** Half an hour at 400 a minute. */
const BEATS_MAX = 12_000;
const FIVE_MIN_NS = 300_000_000_000n;
/** Stored windows of five minutes end so far apart: their cadence. */
const SNAP_NS = 30_000_000_000n;
/** A stored value is of the beats that are read where its mean interval is theirs, ms: below 188 Hz the engine places beats by shape. */
const SAME_MEAN_MS = 0.5;
/** From this index on, fibrillation is likelier than not. */
const AF_LIKELY = 0.5;
const AF_INDEX = 'af_index';
/** From this share of the good values on, and no fewer than so many of them, a window looks like fibrillation. Each value is of 30 s, one
 *  in 10 s: a short stretch of ectopic beats can have two. Chosen on MIT-BIH, where no window of five minutes without fibrillation has
 *  three; checked on QTDB, where none has two. */
const AF_SHARE_MIN = 0.05;
const AF_VALUES_MIN = 3;

const count = (description?: string) => Type.Integer(description === undefined ? {} : { description });
const number = (description: string) => nullable(Type.Number({ description }));
const ValueSchema = exactly({
  name: Type.String({ description: 'As in the features, such as sdnn of hrv_sdnn_300s.' }),
  title: Type.String(),
  value: number('null: too little is covered, or there are too few intervals.'),
  unit: Type.String({ description: 'UCUM.' }),
  qmask: nullable(QualityMask),
  method_code: nullable(Type.String({ description: 'Of the stored value that this is; null: computed for this answer.' })),
});
const SpectrumSchema = exactly({
  step_hz: Type.Number(),
  density_ms2_hz: Type.Array(Type.Number(), { description: 'ms2/Hz at 0 Hz and every step on, to 0.5 Hz.' }),
  bands: Type.Array(
    exactly({
      name: oneOf(['vlf', 'lf', 'hf']),
      from_hz: Type.Number(),
      to_hz: Type.Number(),
      peak_hz: number('Of the highest peak; null: the density has none inside the band.'),
    }),
  ),
  segment_count: count('Spectra that it is the mean of.'),
  segment_sec: Type.Number({ description: 'How long each of them is.' }),
});
const BeatsSchema = exactly({
  at_ms: Type.Array(Type.Number(), { description: 'After since.' }),
  interval_ms: Type.Array(nullable(Type.Number()), { description: 'To the beat before; null: it has none inside the window.' }),
  use: Type.Array(oneOf(intervalUses), {
    description:
      'What becomes of the interval. nn: it counts. Left out: ectopic (next to an ectopic beat), rejected (an artefact, or it does not fit), missed ' +
      '(a beat in it was not seen). none: the beat has no interval here. unseen: where a beat was not seen; no interval is made of it.',
  }),
  is_pair: Type.Array(Type.Boolean(), { description: 'The interval and the one before it count, and share a beat.' }),
  qmask: Type.Array(QualityMask),
  said: Type.Array(nullable(Type.String()), { description: 'What a person says that the beat is: N, S, V, F, Q, or none.' }),
});
const SeriesSchema = exactly({
  method_code: Type.String({ description: 'Of the beats.' }),
  method_codes: Type.Array(Type.String(), { description: 'Versions that have beats in the window, the newest first.' }),
  channel: Type.String(),
  signal: oneOf(['ecg', 'ppg']),
  coverage: Type.Number({ description: 'Share of the window that intervals cover.' }),
  nn_coverage: Type.Number({ description: 'Share of the window that the intervals which count cover; a spectrum needs 80 % of it.' }),
  beat_count: count('Beats that were seen.'),
  interval_count: count(),
  nn_count: count(),
  pair_count: count(),
  corrected_count: count('Corrections of people that lie in the window, used or not.'),
  af_share: number(
    `Share of the good af_index values of the window that are ${AF_LIKELY} or more; where it has no good one, of the suspect ones; null: there are none.`,
  ),
  is_af_likely: Type.Boolean({
    description: `The window looks like atrial fibrillation: af_share is ${AF_SHARE_MIN} or more, of ${AF_VALUES_MIN} values or, of fewer, all.`,
  }),
  values: Type.Array(ValueSchema),
  spectrum: nullable(SpectrumSchema),
  beats: BeatsSchema,
});
type Series = Static<typeof SeriesSchema>;
const VariabilitySchema = exactly({ since: Timestamp, until: Timestamp, corrected: Type.Boolean(), series: Type.Array(SeriesSchema) });

type Deps = Readonly<{ db: Db; turns: Turns; onDamaged?: OnDamaged }>;
type Window = Readonly<{ sinceNs: bigint; untilNs: bigint }>;

const getVariability = ({ db, turns, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/variability',
    operationId: 'getVariability',
    tag: 'Streams',
    summary: 'Read intervals, variability and spectrum of a window',
    description:
      `Of beats in (since, until], ${SECONDS_MIN} s to ${MINUTES_MAX} min, one element for each signal that has beats there. By the code that computes ` +
      'the stored features; where five minutes end with a stored value, it is that value, and says its method. Other values are of these beats, ' +
      'and suspect where most of the stored RMSSD in the window are not good: of 60 s, from 5 min on of five minutes (spreads, from 150 s on: the ' +
      'stored SDNN of five minutes). A window longer than 512 s has the mean of spectra of five ' +
      'minutes, half over each other. Values that need intervals on a larger share of the window than there are, are null.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channel: Type.Optional(Type.String({ maxLength: 32 })),
      method_code: Type.Optional(Type.String({ maxLength: 128, description: 'Of beats, e.g. derived:r_peaks_v19; absent: the newest.' })),
      snap: orDefault(
        Type.Boolean({
          default: false,
          description: 'Move five minutes by at most 30 s to a window that stored values are of, where there is one.',
        }),
      ),
      corrected: orDefault(Type.Boolean({ default: false, description: 'Of the beats as people corrected them.' })),
    },
    responses: { 200: { description: 'The window, which snap may have moved.', schema: VariabilitySchema } },
    errors: ['not_found'],
    handler: async ({ caller, params, query, signal }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const asked = { sinceNs: nanosOf(query.since), untilNs: nanosOf(query.until) };
      const seconds = Number(asked.untilNs - asked.sinceNs) / 1e9;
      if (seconds < SECONDS_MIN) throw wrong('/query/until', `is less than ${SECONDS_MIN} s after since`);
      if (seconds > 60 * MINUTES_MAX) throw wrong('/query/until', `is more than ${MINUTES_MAX} min after since`);
      const json = await turns.run(callerKey(caller), false, signal, async () => {
        const { window, features } = await readWindow(db, stream.id, asked, query.snap, onDamaged);
        const near = { since: timestampAt(window.sinceNs - CORRECTED_NS), until: timestampAfter(window.untilNs + CORRECTED_NS) };
        const found = await readBeatSeries(db, {
          streamId: stream.id,
          channelCode: query.channel ?? null,
          methodCode: query.method_code ?? null,
          ...near,
          limit: BEATS_MAX,
          ...(onDamaged && { onDamaged }),
        });
        if (found.some(({ next }) => next !== null))
          throw new PipelineError('validation_failed', `The window has more than ${BEATS_MAX} beats: ask for a shorter one.`);
        const corrections = await readCorrections(db, stream.id, near);
        const rates = await readRates(db, stream.id);
        const series: Series[] = [];
        for (const [one, codes] of newestOf(found, window)) {
          await breathe();
          const own = corrections.filter(({ channel }) => channel === '' || channel === one.channelCode);
          series.push(seriesOf(one, codes, window, own, features, rates.get(one.channelCode) ?? Infinity, query.corrected));
        }
        return { since: timestampAt(window.sinceNs), until: timestampAt(window.untilNs), corrected: query.corrected, series };
      });
      return { status: 200, json };
    },
  });

/** The stored values in and near a window, and the window, moved to one that they are of. */
async function readWindow(
  db: Db,
  streamId: number,
  asked: Window,
  snap: boolean,
  onDamaged: OnDamaged | undefined,
): Promise<{ window: Window; features: readonly FeatureSeries[] }> {
  const names = [...storedFeatures('ecg'), ...storedFeatures('ppg'), 'hrv_rmssd_60s', 'prv_rmssd_60s', AF_INDEX];
  const features = await readFeatureSeries(db, {
    streamId,
    names,
    methodCode: null,
    since: timestampAt(asked.sinceNs - SNAP_NS),
    until: timestampAfter(asked.untilNs + SNAP_NS),
    qualityMax: 2,
    cadenceHz: null,
    limit: 2000,
    ...(onDamaged && { onDamaged }),
  });
  if (asked.untilNs - asked.sinceNs !== FIVE_MIN_NS) return { window: asked, features };
  // Values of five minutes that end within the same microsecond are of this window: times of a request have no more digits.
  const endsOf = (name: string): bigint[] =>
    features
      .flatMap((one) => (one.name.endsWith(name) ? [...one.tsNs] : []))
      .filter((ns) => apart(ns, asked.untilNs) <= (snap ? SNAP_NS : 999n));
  const nearest = (ends: readonly bigint[]): bigint | undefined =>
    ends.toSorted((a, b) => Number(apart(a, asked.untilNs) - apart(b, asked.untilNs)))[0];
  // Spectra are stored half as often as the others.
  const untilNs = nearest(endsOf('_lf_300s')) ?? nearest(endsOf('_mean_nn_300s')) ?? asked.untilNs;
  return { window: { sinceNs: untilNs - FIVE_MIN_NS, untilNs }, features };
}

const apart = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

/** Of each channel and kind of method the newest version with beats in the window, and the codes of all of them. */
function newestOf(found: readonly BeatSeries[], window: Window): [BeatSeries, string[]][] {
  const inside = found.filter(({ tsNs }) => tsNs.some((ns) => isInside(window, ns)));
  const kindOf = ({ channelCode, methodCode }: BeatSeries): string => `${channelCode} ${methodCode.replace(/_v\d+$/, '')}`;
  return [...Map.groupBy(inside, kindOf).values()].map((versions) => [versions[0]!, versions.map(({ methodCode }) => methodCode)]);
}

const isInside = ({ sinceNs, untilNs }: Window, ns: bigint): boolean => ns > sinceNs && ns <= untilNs;

function seriesOf(
  one: BeatSeries,
  codes: string[],
  window: Window,
  corrections: readonly Correction[],
  features: readonly FeatureSeries[],
  fs: number,
  isCorrected: boolean,
): Series {
  const source = one.methodCode.includes('pulse_peaks') ? 'ppg' : 'ecg';
  const after = correctBeats(one, corrections);
  const saidOf = new Map(after.applied.flatMap(({ found: beat, beat: said }) => (beat === null ? [] : [[beat.tsNs, said] as const])));
  const computed: readonly CorrectedBeat[] = Array.from(one.tsNs, (tsNs, index) => ({ tsNs, index, said: null, saidOf: null }));
  const beats = (isCorrected ? after.beats : computed).filter(({ tsNs }) => isInside(window, tsNs));
  const found = windowIntervals(beats, one, window.sinceNs);
  const windowSec = Number(window.untilNs - window.sinceNs) / 1e9;
  const { coverage, values, spectrum } = windowVariability({
    source,
    fs,
    windowSec,
    intervals: found.intervals,
    beatCount: found.seenCount,
    suspectCount: found.suspectCount,
    badCount: found.badCount,
    isDoubtful: isDoubtful(features, source, window),
    isSpreadDoubtful: isSpreadDoubtful(features, source, window),
  });
  const correctedCount = corrections.filter(({ tsNs }) => isInside(window, tsNs)).length;
  const stored = isCorrected && correctedCount > 0 ? new Map<string, Stored>() : storedOf(features, window, values, windowSec);
  return {
    method_code: one.methodCode,
    method_codes: codes,
    channel: one.channelCode,
    signal: source,
    coverage: shareOf(coverage),
    nn_coverage: shareOf(found.intervals.reduce((sum, { ms, isNn }) => sum + (isNn ? ms / 1000 : 0), 0) / windowSec),
    beat_count: found.seenCount,
    interval_count: found.intervals.length,
    nn_count: found.intervals.filter(({ isNn }) => isNn).length,
    pair_count: found.beats.filter(({ isPair }) => isPair).length,
    corrected_count: correctedCount,
    ...(source === 'ecg' ? fibrillation(features, window) : notKnown),
    values: values.map(({ name, feature, title, unit, value, qmask }) => {
      const kept = stored.get(feature);
      return kept === undefined
        ? { name, title, value, unit, qmask, method_code: null }
        : { name, title, value: kept.value, unit, qmask: kept.qmask, method_code: kept.methodCode };
    }),
    spectrum: spectrum === null ? null : writtenSpectrum(spectrum),
    beats: writtenBeats(found, saidOf, window),
  };
}

type Stored = Readonly<{ value: number; qmask: number; methodCode: string }>;

/** The stored values of a window, by name, where they are of the beats that were read: those of another version, or of another group of
 *  channels, have other intervals. */
function storedOf(
  features: readonly FeatureSeries[],
  { untilNs }: Window,
  values: readonly WindowValue[],
  windowSec: number,
): ReadonlyMap<string, Stored> {
  const stored = new Map<string, Stored>();
  if (windowSec !== 300) return stored;
  const names = new Set(values.map(({ feature }) => feature));
  for (const { name, methodCode, tsNs, values: column, qmask } of features) {
    const i = names.has(name) ? tsNs.indexOf(untilNs) : -1;
    if (i >= 0) stored.set(name, { value: column[i]!, qmask: qmask[i]!, methodCode });
  }
  const [mean] = values;
  const kept = stored.get(mean!.feature);
  const isSame = kept !== undefined && mean!.value !== null && Math.abs(kept.value - mean!.value) <= SAME_MEAN_MS;
  return isSame ? stored : new Map();
}

/** The engine knows more of beats than is stored; its flags tell: those of five minutes of a window as long, else those of a minute. */
function isDoubtful(features: readonly FeatureSeries[], source: 'ecg' | 'ppg', window: Window): boolean {
  const { sinceNs, untilNs } = window;
  const prefix = source === 'ecg' ? 'hrv' : 'prv';
  const suspectNear = untilNs - sinceNs >= FIVE_MIN_NS ? isSuspectNear(features, `${prefix}_rmssd_300s`, window) : null;
  if (suspectNear !== null) return suspectNear;
  const minutes = features.find(({ name }) => name === `${prefix}_rmssd_60s`);
  if (minutes === undefined) return true;
  const half = (untilNs - sinceNs) / 2n;
  const fromNs = sinceNs + (half < SNAP_NS ? half : SNAP_NS);
  const flags = [...minutes.qmask].filter((_, i) => minutes.tsNs[i]! >= fromNs && minutes.tsNs[i]! <= untilNs + SNAP_NS);
  return flags.filter((flag) => flag === 0).length <= flags.length / 2;
}

/** As isDoubtful, of spreads. Five minutes say nothing of a window of less than half of them. */
function isSpreadDoubtful(features: readonly FeatureSeries[], source: 'ecg' | 'ppg', window: Window): boolean {
  if (window.untilNs - window.sinceNs < FIVE_MIN_NS / 2n) return false;
  const name = source === 'ecg' ? 'hrv_sdnn_300s' : 'prv_sdnn_300s';
  return isSuspectNear(features, name, window) ?? isDoubtful(features, source, window);
}

/** Is the stored value that ends nearest to the end of the window not good, or, of a longer one, half of those that end in it?
 *  null: there is none. */
function isSuspectNear(features: readonly FeatureSeries[], feature: string, { sinceNs, untilNs }: Window): boolean | null {
  const one = features.find(({ name }) => name === feature);
  const near = Array.from(one?.tsNs ?? [], (ns, i) => ({ ns, apartNs: apart(ns, untilNs), flag: one!.qmask[i]! }))
    .filter(({ ns }) => ns > sinceNs && ns <= untilNs + SNAP_NS)
    .toSorted((a, b) => Number(a.apartNs - b.apartNs));
  if (near.length === 0) return null;
  if (near[0]!.flag > 0 || untilNs - sinceNs <= FIVE_MIN_NS) return near[0]!.flag > 0;
  return near.filter(({ flag }) => flag === 0).length <= near.length / 2;
}

type Fibrillation = Pick<Series, 'af_share' | 'is_af_likely'>;
const notKnown: Fibrillation = { af_share: null, is_af_likely: false };

function fibrillation(features: readonly FeatureSeries[], window: Window): Fibrillation {
  const found = features.find(({ name }) => name === AF_INDEX);
  const flagged = (flag: number): number[] =>
    [...(found?.values ?? [])].filter((_, i) => isInside(window, found!.tsNs[i]!) && found!.qmask[i] === flag);
  const good = flagged(0);
  const judged = good.length > 0 ? good : flagged(1);
  if (judged.length === 0) return notKnown;
  const likely = judged.filter((index) => index >= AF_LIKELY).length;
  const share = likely / judged.length;
  return {
    af_share: Math.round(1000 * share) / 1000,
    is_af_likely: share >= AF_SHARE_MIN && likely >= Math.min(AF_VALUES_MIN, judged.length),
  };
}

const shareOf = (share: number): number => Math.round(share * 1e4) / 1e4;

const writtenSpectrum = ({ stepHz, density, bands, segmentCount, segmentSec }: WindowSpectrum): Series['spectrum'] => ({
  step_hz: stepHz,
  density_ms2_hz: Array.from(density, (value) => Math.round(value * 100) / 100),
  bands: bands.map(({ name, fromHz, toHz, peakHz }) => ({ name, from_hz: fromHz, to_hz: toHz, peak_hz: peakHz })),
  segment_count: segmentCount,
  segment_sec: segmentSec,
});

/** As computed, too, beats say what people say of them. */
function writtenBeats({ beats }: WindowIntervals, said: ReadonlyMap<bigint, string>, { sinceNs }: Window): Series['beats'] {
  return {
    at_ms: beats.map(({ tsNs }) => Math.round(Number(tsNs - sinceNs) / 1000) / 1000),
    interval_ms: beats.map(({ intervalMs }) => intervalMs),
    use: beats.map(({ use }) => use),
    is_pair: beats.map(({ isPair }) => isPair),
    qmask: beats.map(({ qmask }) => qmask),
    said: beats.map((beat) => beat.said ?? said.get(beat.tsNs) ?? null),
  };
}

/** Rate of each channel, Hz: the lowest, where it changed. */
async function readRates(db: Db, streamId: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ code: string; hz: number }>(
    prepared('select code, min(rate_nhz)::float8 / 1e9 as hz from stream_channel where stream_id = $1 group by code', [streamId]),
  );
  return new Map(rows.map(({ code, hz }) => [code, hz]));
}

export const variabilityRoutes = (deps: Deps): readonly Route[] => [getVariability(deps)];
