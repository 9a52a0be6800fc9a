/** Routes for streams (recordings): owner, channels and clock of each. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { FLOWING_SEC } from '../tenancy/flowing.ts';
import { ownStream, ownSubject } from '../tenancy/record-ownership.ts';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import { channelKinds, timeSources } from '../signal.ts';

const ChannelSchema = exactly({
  code: Type.String(),
  kind: oneOf(channelKinds),
  rate_hz: Type.Number({ description: 'Exact to the nano-hertz in the packets; here as a number.' }),
  gain: Type.Number({ description: 'LSB per unit: physical = (digital - baseline) / gain' }),
  baseline: Type.Number(),
  unit: Type.String({ description: 'UCUM' }),
  lead: Type.String(),
});
export const StreamSchema = exactly({
  id: Uuid,
  subject_id: Uuid,
  device_id: Type.String(),
  boot_id: Type.String({ description: '16 bytes, hexadecimal' }),
  firmware: Type.String(),
  epoch_ns: Type.Integer({
    description:
      'Unix ns of the zero of the device clock of this recording: sample k of a channel lies at epoch_ns + k / rate. Exceeds 2^53.',
  }),
  recorded_from: nullable(
    Type.String({
      format: 'date-time',
      description: 'Time of the first sample, measurement or event; saved every 2 s. null: nothing was recorded yet.',
    }),
  ),
  time_source: nullable(
    oneOf(timeSources, {
      description:
        'How its time is known. stated: by the recording itself (an import); device: by the clock of the device; age: by how long ago the device ' +
        'says its packets were taken, its clock being wrong; arrival: its first packet is taken to have ended when it came. null: of an earlier release.',
    }),
  ),
  started_at: Type.String({
    format: 'date-time',
    description: 'When its first packet arrived, which may be long after recorded_from: of an import, or of a device that was offline.',
  }),
  last_sample_at: nullable(
    Type.String({ format: 'date-time', description: 'End of the newest sample, measurement or event; saved every 2 s.' }),
  ),
  ended_at: nullable(Timestamp),
  is_flowing: Type.Boolean(),
  clock: exactly(
    {
      offset_ns: nullable(
        Type.Integer({
          description: 'Unix ns minus device ns, of the newest packets on their fastest way. What it is above epoch_ns, samples come late.',
        }),
      ),
      skew_ppm: nullable(Type.Number({ description: 'Parts per million; positive: the device is slow.' })),
      rms_ns: nullable(Type.Number()),
      pairs: Type.Integer(),
    },
    {
      description:
        'Robust linear fit of the device clock against the receiver, every minute; null for the first five minutes, and of stored data.',
    },
  ),
  channels: Type.Array(ChannelSchema),
});

/** Sort key of lists, which has an index. A stream whose first packet has just arrived may not have its own time yet. */
const sortedBy = 'coalesce(s.recorded_from, s.started_at)';
// SQL, like the statements that use it: channels and clock as JSON, and an order by one of two times.
const columns = `s.uuid as id, s.xuser_id as subject_id, d.external_id as device_id, encode(s.boot_id, 'hex') as boot_id, s.firmware, s.epoch_ns,
  to_json(s.recorded_from) #>> '{}' as recorded_from,
  s.time_source, to_json(s.started_at) #>> '{}' as started_at, to_json(s.last_sample_at) #>> '{}' as last_sample_at,
  to_json(s.ended_at) #>> '{}' as ended_at,
  (coalesce(s.last_packet_at > now() - make_interval(secs => ${FLOWING_SEC}), false) or s.id = any($1::integer[])) as is_flowing,
  jsonb_build_object('offset_ns', s.clock_offset_ns, 'skew_ppm', s.clock_skew_ppm, 'rms_ns', s.clock_rms_ns, 'pairs', s.clock_pairs) as clock,
  coalesce((
    select jsonb_agg(jsonb_build_object('code', c.code, 'kind', c.kind, 'rate_hz', c.rate_nhz / 1e9, 'gain', c.gain, 'baseline', c.baseline,
      'unit', c.unit, 'lead', c.lead) order by c.channel_no)
    from stream_channel c where c.stream_id = s.id
  ), '[]'::jsonb) as channels`;

type StreamRow = Readonly<Static<typeof StreamSchema>>;

export type StreamDeps = Readonly<{ db: Db; cursors: Cursors; flowingStreams?: () => readonly number[] }>;

const listStreams = ({ db, cursors, flowingStreams = () => [] }: StreamDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams',
    operationId: 'listStreams',
    tag: 'Streams',
    summary: 'List the recordings of a user',
    description: 'Those with something recorded before `until` and at or after `since`, whenever it arrived.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key.' })),
      since: Type.Optional(Timestamp),
      until: Type.Optional(Timestamp),
      device_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      sort: orDefault(oneOf(['newest', 'oldest'], { default: 'newest', description: 'By when the recording began.' })),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Streams.', schema: Type.Array(StreamSchema), headers: ['Link'] } },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, query }) => {
      const { subject_id: subjectId, since, until, device_id: device, sort, limit } = query;
      const subject = await ownSubject(db, caller, subjectId ?? '');
      const scope = ['streams', subject.id, since ?? '', until ?? '', sort, device ?? ''].join(' ');
      const list = { cursors, path: '/api/v1/streams', scope, query };
      const [afterTime, afterId] = pageStart(list) ?? [null, null];
      const [beyond, order] = sort === 'newest' ? ['<', 'desc'] : ['>', 'asc'];
      const { rows } = await db.query<StreamRow>(
        `select ${columns} from stream s join device d on d.id = s.device_id
         where s.organization_id = $2 and s.xuser_id = $3
           and ($4::timestamptz is null or coalesce(s.ended_at, s.last_sample_at, 'infinity') >= $4)
           and ($5::timestamptz is null or coalesce(s.recorded_from, to_timestamp(s.epoch_ns / 1e9::float8)) < $5)
           and ($6::timestamptz is null or (${sortedBy}, s.uuid) ${beyond} ($6::timestamptz, $7::uuid))
           and ($9::text is null or d.external_id = $9)
         order by ${sortedBy} ${order}, s.uuid ${order} limit $8`,
        [[...flowingStreams()], subject.orgId, subject.id, since ?? null, until ?? null, afterTime, afterId, limit + 1, device ?? null],
      );
      const { items, headers } = page(list, rows, (last) => [last.recorded_from ?? last.started_at, last.id]);
      return { status: 200, json: items, headers };
    },
  });

const getStream = ({ db, flowingStreams = () => [] }: StreamDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}',
    operationId: 'getStream',
    tag: 'Streams',
    summary: 'Read one recording',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    responses: { 200: { description: 'The stream.', schema: StreamSchema } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const { rows } = await db.query<StreamRow>(`select ${columns} from stream s join device d on d.id = s.device_id where s.id = $2`, [
        [...flowingStreams()],
        stream.id,
      ]);
      const [row] = rows;
      if (row === undefined) throw new PipelineError('not_found', 'There is no such stream.'); // erased meanwhile
      return { status: 200, json: row };
    },
  });

export const streamRoutes = (deps: StreamDeps): readonly Route[] => [listStreams(deps), getStream(deps)];
