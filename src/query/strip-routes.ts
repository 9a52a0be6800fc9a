/** GET /api/v1/streams/{streamId}/strip: some seconds of a waveform as a picture, or as data for other programs. */
import { Type } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { prepared } from '../storage/database/prepared.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route, WrittenReply } from '../http/route.ts';
import { oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import { usedZone } from '../http/time-zone.ts';
import { gridTimeNs } from '../signal.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { INCOMPLETE, NewestSamples } from './newest-samples.ts';
import { csvOf, nanosOf } from './sample-routes.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples } from './samples.ts';
import type { SampleSegment } from './samples.ts';
import { beatClasses } from './beat-classes.ts';
import { beatKinds } from './series-pages.ts';
import type { BeatColumns } from './series-pages.ts';
import { readBeatSeries } from './series.ts';
import { stripPng } from './strip-png.ts';
import { stripWfdb } from './strip-wfdb.ts';
import { layOutStrip, stripSvg } from './strip.ts';
import type { StripBeat, StripOf } from './strip.ts';
import { stripLanguages } from './strip-words.ts';
import type { StripLanguage } from './strip-words.ts';
import type { Turns } from './turns.ts';

const STRIP_SEC_MAX = 60;
/** Channel seconds: a minute of 64 channels. */
const ROWS_MAX = 3840;
/** Beats of one strip: five a second. */
const BEATS_MAX = 5 * STRIP_SEC_MAX;
const DETECTORS: Readonly<Record<string, string>> = { ecg: 'derived:r_peaks', ppg: 'derived:pulse_peaks' };
const formats = ['svg', 'png', 'csv', 'wfdb'] as const;
type Format = (typeof formats)[number];

type Deps = Readonly<{ db: Db; turns: Turns; recentSamples?: RecentSamples; onDamaged?: OnDamaged }>;

const getStrip = ({ db, turns, recentSamples, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/strip',
    operationId: 'getStrip',
    tag: 'Streams',
    summary: 'Draw a strip, or take it along',
    description:
      `At most ${STRIP_SEC_MAX} s. svg and png show one channel on paper of 1 and 5 mm (4 px a mm): 25 mm/s, 10 mm/mV or the next gain that fits, ` +
      'a calibration pulse, person, lead, time and method, beats marked; unusable samples are grey and dashed, gaps are gaps. csv has rows of ' +
      'time, channel, value, quality; wfdb is a ZIP of a .hea and a .dat file per sampling rate: both of every channel unless one is named.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channel: Type.Optional(Type.String({ maxLength: 32, description: 'Absent: the first for a picture, all for data.' })),
      format: orDefault(oneOf(formats, { default: 'svg' })),
      lang: orDefault(oneOf(stripLanguages, { default: 'en', description: 'Of the words on a picture.' })),
    },
    responses: {
      200: {
        description: 'The strip.',
        contentType: 'image/svg+xml',
        alternatives: { 'image/png': null, 'text/csv': null, 'application/zip': null },
        headers: [INCOMPLETE],
      },
    },
    errors: ['not_found', 'range_too_large'],
    handler: async ({ caller, params, query, signal }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const fromNs = nanosOf(query.since);
      const toNs = nanosOf(query.until);
      if (fromNs >= toNs || toNs - fromNs > BigInt(STRIP_SEC_MAX) * 1_000_000_000n) {
        throw new PipelineError('range_too_large', `A strip is longer than 0 s and at most ${STRIP_SEC_MAX} s.`);
      }
      const channels = query.channel === undefined ? null : [query.channel];
      const newest = new NewestSamples(recentSamples);
      const { segments } = await turns.run(callerKey(caller), false, signal, () =>
        readSamples(db, {
          streamId: stream.id,
          channels,
          fromNs,
          toNs,
          rowsMax: ROWS_MAX,
          ...(newest.recent && { recent: newest.recent }),
          ...(onDamaged && { onDamaged }),
        }),
      );
      const picture = query.format === 'svg' || query.format === 'png';
      const header = picture ? await headerOf(db, stream, query, segments, onDamaged) : NO_HEADER;
      const reply = replyOf(query.format, segments, { fromNs, toNs }, query, header);
      return { ...reply, headers: { ...reply.headers, ...newest.headers } };
    },
  });

type Header = Pick<StripOf, 'person' | 'timeZone' | 'channel' | 'beats' | 'method'>;
/** For data formats, which have no header. */
const NO_HEADER: Header = { person: '', timeZone: 'UTC', channel: '', beats: [], method: '' };

/** Reads the text and beats that go with the trace. Beats come from the channel itself, else from another of its kind: leads of one
 *  heart. */
async function headerOf(
  db: Db,
  stream: Readonly<{ id: number; subjectId: string }>,
  given: Readonly<{ since: string; until: string; channel?: string }>,
  segments: readonly SampleSegment[],
  onDamaged?: OnDamaged,
): Promise<Header> {
  const channel = given.channel ?? segments[0]?.code ?? '';
  const [{ rows }, series] = await Promise.all([
    db.query<{ external_id: string; display_name: string; own_zone: string | null; project_zone: string }>(
      prepared(
        `select x.external_id, x.display_name, x.time_zone as own_zone, p.time_zone as project_zone
         from xuser x join project p on p.id = x.project_id where x.id = $1`,
        [stream.subjectId],
      ),
    ),
    readBeatSeries(db, {
      streamId: stream.id,
      channelCode: null,
      methodCode: null,
      since: given.since,
      until: given.until,
      limit: BEATS_MAX,
      ...(onDamaged && { onDamaged }),
    }),
  ]);
  const person = rows[0];
  const kind = segments.find((segment) => segment.code === channel)?.kind ?? '';
  // The newest version of a method comes first.
  const found =
    series.find((item) => item.channelCode === channel) ?? series.find((item) => item.methodCode.startsWith(DETECTORS[kind] ?? 'none'));
  const name = person?.display_name ?? '';
  const id = person?.external_id ?? stream.subjectId;
  return {
    person: name === '' || name === id ? id : `${name} (${id})`,
    timeZone: usedZone(person?.own_zone ?? null) ?? usedZone(person?.project_zone ?? null) ?? 'UTC',
    channel,
    beats: found === undefined ? [] : beatsOf(found),
    method: found?.methodCode ?? '',
  };
}

function beatsOf({ tsNs, kinds, classes, qmask }: BeatColumns): StripBeat[] {
  return Array.from(tsNs, (ns, i) => ({
    tsNs: ns,
    kind: beatKinds[kinds[i]!]!,
    aami: beatClasses[classes[i]! - 1] ?? null,
    qmask: qmask[i]!,
  }));
}

function replyOf(
  format: Format,
  segments: readonly SampleSegment[],
  range: Readonly<{ fromNs: bigint; toNs: bigint }>,
  given: Readonly<{ since: string; lang: StripLanguage }>,
  header: Header,
): WrittenReply<200> {
  const name = `strip_${given.since.replaceAll(/[^0-9TZ]/g, '')}`;
  const attachment = (extension: string): Record<string, string> => ({
    'content-disposition': `attachment; filename="${name}.${extension}"`,
  });
  switch (format) {
    case 'csv':
      return { status: 200, stream: csvOf(segments, false), contentType: 'text/csv; charset=utf-8', headers: attachment('csv') };
    case 'wfdb': {
      const [first] = segments;
      const epochNs = first === undefined ? 0n : first.t0Ns - gridTimeNs(first.k0, first.rateNanoHz);
      return { status: 200, bytes: stripWfdb(segments, epochNs, range, name), contentType: 'application/zip', headers: attachment('zip') };
    }
    case 'svg':
    case 'png': {
      const own = segments.filter((segment) => segment.code === header.channel);
      const durationSec = Number(range.toNs - range.fromNs) / 1e9;
      const strip = layOutStrip({ ...header, segments: own, fromNs: range.fromNs, durationSec, language: given.lang });
      if (format === 'png') return { status: 200, bytes: stripPng(strip), contentType: 'image/png' };
      const headers = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };
      return { status: 200, text: stripSvg(strip), contentType: 'image/svg+xml', headers };
    }
    default: {
      const never: never = format;
      throw new Error(`format ${String(never)}`);
    }
  }
}

export const stripRoutes = (deps: Deps): readonly Route[] => [getStrip(deps)];
