/** Samples of a stream, as JSON, CSV, protobuf or Arrow. */
import { Type } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { pickMediaType } from '../http/accept.ts';
import type { Cursors } from '../http/cursor.ts';
import { writeJson } from '../http/json.ts';
import { callerKey } from '../http/request.ts';
import { nextPage, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { CursorQuery, exactly, NanosInteger, nullable, oneOf, orDefault, QualityMask, Timestamp, Uuid } from '../http/schemas.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { INCOMPLETE, NewestSamples } from './newest-samples.ts';
import { channelKinds, gridTimeNs } from '../signal.ts';
import { encodeSegments } from '../proto/query-codec.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples, SampleSegment } from './samples.ts';
import { jsonInSlices } from './slices.ts';
import type { Turns } from './turns.ts';

/** Rows per answer, each 1 to 8 s of a channel, and samples: 16 minutes of 4 channels at 250 Hz. */
const ROWS_MAX = 2400;
const SAMPLES_MAX = 1_000_000;
/** Samples written per turn of the event loop. */
const SLICE_SAMPLES = 20_000;
const CSV = 'text/csv';
const PROTOBUF = 'application/x-protobuf';
const ARROW = 'application/vnd.apache.arrow.stream';

const SegmentSchema = exactly({
  channel: Type.String(),
  kind: oneOf(channelKinds),
  unit: Type.String(),
  lead: Type.String(),
  rate_hz: Type.Number(),
  t0_ns: NanosInteger,
  gain: Type.Number(),
  baseline: Type.Number(),
  samples: Type.Array(nullable(Type.Number()), { description: 'Physical values; with raw=true digital ones. null: not a number.' }),
  qmask: nullable(Type.Array(QualityMask, { description: 'Per sample; null: all good.' })),
});

type Deps = Readonly<{ db: Db; cursors: Cursors; turns: Turns; recentSamples?: RecentSamples; onDamaged?: OnDamaged }>;

const getSamples = ({ db, cursors, turns, recentSamples, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/samples',
    operationId: 'getSamples',
    tag: 'Streams',
    summary: 'Read samples of a stream',
    description:
      'Stretches of consecutive samples by channel and time; a gap begins a new one. Sample i lies i / rate after t0_ns. A page holds about ' +
      `${SAMPLES_MAX.toLocaleString('en')} samples. With Accept: text/csv rows of time, channel, value, quality; ${PROTOBUF} a SampleSegmentList of ` +
      `proto/query.proto; ${ARROW} a stream with the columns ts_ns, channel, value, quality, one batch per stretch.`,
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Timestamp,
      until: Timestamp,
      channels: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 64, description: 'Channel codes; absent: all.' })),
      raw: orDefault(Type.Boolean({ default: false, description: 'Digital values as the device sent them.' })),
      cursor: CursorQuery,
    },
    responses: {
      200: {
        description: 'Samples.',
        schema: Type.Array(SegmentSchema),
        alternatives: { [CSV]: null, [PROTOBUF]: null, [ARROW]: null },
        headers: ['Link', INCOMPLETE],
      },
    },
    errors: ['not_found', 'cursor_invalid', 'not_acceptable'],
    handler: async ({ caller, params, query, header, signal }) => {
      const type = pickMediaType(header('accept'), ['application/json', CSV, PROTOBUF, ARROW]);
      const stream = await ownStream(db, caller, params.streamId);
      const scope = `samples ${stream.uuid} ${JSON.stringify([query.since, query.until, query.channels])}`;
      const list = { cursors, path: `/api/v1/streams/${stream.uuid}/samples`, scope, query };
      const start = pageStart(list);
      const fromNs = start === null ? nanosOf(query.since) : BigInt(start[0] ?? 0);
      const toNs = nanosOf(query.until);
      if (fromNs >= toNs) {
        throw new PipelineError('validation_failed', '/query/until: is not after since', {
          errors: [{ pointer: '/query/until', code: 'order', detail: 'is not after since' }],
        });
      }
      const newest = new NewestSamples(recentSamples);
      const { segments, nextFromNs } = await turns.run(callerKey(caller), false, signal, () =>
        readSamples(db, {
          streamId: stream.id,
          channels: query.channels ?? null,
          fromNs,
          toNs,
          rowsMax: ROWS_MAX,
          samplesMax: SAMPLES_MAX,
          ...(newest.recent && { recent: newest.recent }),
          ...(onDamaged && { onDamaged }),
        }),
      );
      const page = nextPage(list, nextFromNs === null ? null : [nextFromNs.toString()]);
      const headers = { vary: 'accept', ...page, ...newest.headers };
      if (type === CSV) return { status: 200, stream: csvOf(segments, query.raw), contentType: `${CSV}; charset=utf-8`, headers };
      if (type === PROTOBUF) return { status: 200, bytes: encodeSegments(segments), contentType: PROTOBUF, headers };
      if (type === ARROW) {
        const { encodeArrow } = await import('./samples-arrow.ts'); // 60 ms and 10 MB that most processes never need
        return { status: 200, bytes: encodeArrow(segments, query.raw), contentType: ARROW, headers };
      }
      const texts: string[] = [];
      for (const segment of segments) texts.push(await jsonOf(segment, query.raw));
      return { status: 200, text: `[${texts.join(',')}]`, contentType: 'application/json', headers };
    },
  });

/** Nanoseconds of an RFC 3339 time, to all nine digits of its fraction. */
export function nanosOf(time: string): bigint {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  const whole = BigInt(Math.floor(Date.parse(time.replace(/\.\d+/, '')) / 1000)) * 1_000_000_000n;
  return whole + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}

/** Sample i in physical units, or as the device sent it; null for NaN. */
function valueOf({ samples, gain, baseline }: SampleSegment, i: number, raw: boolean): number | null {
  // Divided, not multiplied by 1 / gain: the same digits as any reader who applies the formula.
  const value = raw ? samples[i]! : (samples[i]! - baseline) / gain;
  return Number.isFinite(value) ? value : null;
}

async function jsonOf(segment: SampleSegment, raw: boolean): Promise<string> {
  const { code, kind, unit, lead, rateNanoHz, t0Ns, gain, baseline, samples, qmask } = segment;
  const head = writeJson({ channel: code, kind, unit, lead, rate_hz: rateNanoHz / 1e9, t0_ns: t0Ns, gain, baseline });
  const values = await jsonInSlices(samples.length, SLICE_SAMPLES, (i) => valueOf(segment, i, raw));
  const flags = qmask === null ? 'null' : await jsonInSlices(qmask.length, SLICE_SAMPLES, (i) => qmask[i]);
  return `${head.slice(0, -1)},"samples":${values},"qmask":${flags}}`;
}

export async function* csvOf(segments: readonly SampleSegment[], raw: boolean): AsyncIterable<Uint8Array> {
  yield Buffer.from('ts_ns,channel,value,quality\n');
  for (const segment of segments) {
    const epochNs = segment.t0Ns - gridTimeNs(segment.k0, segment.rateNanoHz);
    const lines: string[] = [];
    for (let i = 0; i < segment.samples.length; i++) {
      lines.push(
        `${epochNs + gridTimeNs(segment.k0 + i, segment.rateNanoHz)},${segment.code},${valueOf(segment, i, raw) ?? ''},${segment.qmask?.[i] ?? 0}`,
      );
      if (lines.length === 5000) yield Buffer.from(`${lines.splice(0).join('\n')}\n`);
    }
    if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`);
  }
}

export const sampleRoutes = (deps: Deps): readonly Route[] => [getSamples(deps)];
