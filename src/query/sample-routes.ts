/** Samples of a stream, as JSON or CSV. */
import { Type } from 'typebox';
import type { Db } from '../auth/api-keys.ts';
import { ownStream } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import { nextLink } from '../http/cursor.ts';
import type { Cursors } from '../http/cursor.ts';
import { writeJson } from '../http/json.ts';
import type { Route } from '../http/route.ts';
import { CursorQuery, exactly, NanosInteger, nullable, oneOf, QualityMask, Timestamp, Uuid } from '../http/schemas.ts';
import { channelKinds, gridTimeNs } from '../signal.ts';
import { readSamples } from './samples.ts';
import { stripSvg } from './strip.ts';
import type { SampleSegment } from './samples.ts';

/** Channel seconds of one answer: 600 s of 4 channels. */
const ROWS_MAX = 2400;
const CSV = 'text/csv';
const SVG = 'image/svg+xml';
const STRIP_SEC_MAX = 60;

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

export function sampleRoutes(deps: Readonly<{ db: Db; cursors: Cursors }>): readonly Route[] {
  const { db, cursors } = deps;
  return [
    {
      method: 'GET',
      path: '/api/v1/streams/{streamId}/samples',
      operationId: 'getSamples',
      tag: 'Streams',
      summary: 'Read samples of a stream',
      description:
        'Stretches of consecutive samples by channel and time; a gap begins a new one. Sample i lies i / rate after t0_ns. A page holds ' +
        `${ROWS_MAX} channel seconds. With Accept: text/csv rows of time, channel, value, quality.`,
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      params: { streamId: Uuid },
      query: {
        since: Timestamp,
        until: Timestamp,
        channels: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 64, description: 'Channel codes; absent: all.' })),
        raw: Type.Optional(Type.Boolean({ default: false, description: 'Digital values as the device sent them.' })),
        cursor: CursorQuery,
      },
      responses: { 200: { description: 'Samples.', schema: Type.Array(SegmentSchema), alternatives: { [CSV]: null }, headers: ['Link'] } },
      errors: ['not_found', 'cursor_invalid'],
      handler: async ({ caller, params, query, header }) => {
        const given = query as { since: string; until: string; channels?: string[]; raw: boolean; cursor?: string };
        const stream = await ownStream(db, caller, params['streamId'] ?? '');
        const scope = ['samples', stream.uuid, given.until, given.channels?.join() ?? ''].join(' ');
        const fromNs = given.cursor === undefined ? nanosOf(given.since) : BigInt(cursors.open(scope, given.cursor)[0] ?? 0);
        const toNs = nanosOf(given.until);
        if (fromNs >= toNs) {
          throw new PipelineError('validation_failed', '/query/until: lies before since', {
            errors: [{ pointer: '/query/until', code: 'order', detail: 'lies before since' }],
          });
        }
        const { segments, nextFromNs } = await readSamples(db, {
          streamId: stream.id,
          channels: given.channels ?? null,
          fromNs,
          toNs,
          rowsMax: ROWS_MAX,
        });
        const path = `/api/v1/streams/${stream.uuid}/samples`;
        const headers: Record<string, string> = { vary: 'accept' };
        if (nextFromNs !== null) headers['link'] = nextLink(path, query, cursors.seal(scope, [nextFromNs.toString()]));
        if (header('accept').includes(CSV))
          return { status: 200, stream: csvOf(segments, given.raw), contentType: `${CSV}; charset=utf-8`, headers };
        return {
          status: 200,
          text: `[${segments.map((segment) => jsonOf(segment, given.raw)).join(',')}]`,
          contentType: 'application/json',
          headers,
        };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/streams/{streamId}/strip',
      operationId: 'getStrip',
      tag: 'Streams',
      summary: 'Draw a strip of one channel',
      description: `At most ${STRIP_SEC_MAX} s, as SVG: 1 s is 100 px, bad samples are grey and dashed, gaps are gaps.`,
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      params: { streamId: Uuid },
      query: {
        since: Timestamp,
        until: Timestamp,
        channel: Type.Optional(Type.String({ maxLength: 32, description: 'Absent: the first.' })),
      },
      responses: { 200: { description: 'The strip.', contentType: SVG } },
      errors: ['not_found', 'range_too_large'],
      handler: async ({ caller, params, query }) => {
        const given = query as { since: string; until: string; channel?: string };
        const stream = await ownStream(db, caller, params['streamId'] ?? '');
        const fromNs = nanosOf(given.since);
        const toNs = nanosOf(given.until);
        if (fromNs >= toNs || toNs - fromNs > BigInt(STRIP_SEC_MAX) * 1_000_000_000n) {
          throw new PipelineError('range_too_large', `A strip is longer than 0 s and at most ${STRIP_SEC_MAX} s.`);
        }
        const channels = given.channel === undefined ? null : [given.channel];
        const { segments } = await readSamples(db, { streamId: stream.id, channels, fromNs, toNs, rowsMax: ROWS_MAX });
        const code = given.channel ?? segments[0]?.code ?? '';
        const own = segments.filter((segment) => segment.code === code);
        const svg = stripSvg(own, fromNs, Number(toNs - fromNs) / 1e9, `${code} ${given.since}`);
        const headers = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };
        return { status: 200, text: svg, contentType: SVG, headers };
      },
    },
  ];
}

/** Nanoseconds of an RFC 3339 time, with all the digits of its fraction that count. */
export function nanosOf(time: string): bigint {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  const whole = BigInt(Math.floor(Date.parse(time.replace(/\.\d+/, '')) / 1000)) * 1_000_000_000n;
  return whole + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}

function physical(segment: SampleSegment, raw: boolean): (number | null)[] {
  const { samples, gain, baseline } = segment;
  const out: (number | null)[] = Array.from({ length: samples.length });
  // Divided, not multiplied by 1 / gain: the same digits as everybody who follows the formula.
  for (let i = 0; i < samples.length; i++) {
    const value = raw ? samples[i]! : (samples[i]! - baseline) / gain;
    out[i] = Number.isFinite(value) ? value : null;
  }
  return out;
}

function jsonOf(segment: SampleSegment, raw: boolean): string {
  const { code, kind, unit, lead, rateNanoHz, t0Ns, gain, baseline, qmask } = segment;
  return writeJson({
    channel: code,
    kind,
    unit,
    lead,
    rate_hz: rateNanoHz / 1e9,
    t0_ns: t0Ns,
    gain,
    baseline,
    samples: physical(segment, raw),
    qmask: qmask === null ? null : Array.from(qmask),
  });
}

async function* csvOf(segments: readonly SampleSegment[], raw: boolean): AsyncIterable<Uint8Array> {
  yield Buffer.from('ts_ns,channel,value,quality\n');
  for (const segment of segments) {
    const epochNs = segment.t0Ns - gridTimeNs(segment.k0, segment.rateNanoHz);
    const values = physical(segment, raw);
    const lines: string[] = [];
    for (let i = 0; i < values.length; i++) {
      lines.push(
        `${epochNs + gridTimeNs(segment.k0 + i, segment.rateNanoHz)},${segment.code},${values[i] ?? ''},${segment.qmask?.[i] ?? 0}`,
      );
      if (lines.length === 5000) yield Buffer.from(`${lines.splice(0).join('\n')}\n`);
    }
    if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`);
  }
}
