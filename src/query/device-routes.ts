/** All devices at once: which are silent, late, lossy, low on battery or off in time; and how good the signals of all users were. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { FLOWING_SEC } from '../tenancy/flowing.ts';
import { groupIdOf } from '../tenancy/groups.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { orgOf, projectIdOf } from '../tenancy/record-ownership.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, GroupQuery, LimitQuery, nullable, orDefault, ProjectQuery, Timestamp, Uuid } from '../http/schemas.ts';

const BATTERY_CODE = 'battery';
/** Age at which a battery report no longer describes the present. */
const BATTERY_DAYS = 7;
/** Devices that are asked for by their ids. */
const IDS_MAX = 100;

const DeviceSchema = exactly({
  id: Uuid,
  device_id: Type.String(),
  name: Type.String(),
  firmware: Type.String(),
  project_id: nullable(Uuid),
  xuser_id: nullable(Uuid),
  external_id: nullable(Type.String({ description: 'Of the user whom it records.' })),
  display_name: nullable(Type.String({ description: "Of this user; '': none was given." })),
  stream_id: nullable(Uuid),
  is_flowing: Type.Boolean(),
  last_packet_at: nullable(Timestamp),
  last_sample_at: nullable(Timestamp),
  lag_ms: nullable(
    Type.Number({
      description:
        'Receive time of the newest packet minus time of its newest sample; saved every 2 s. null: it is no live recording, but an import or more than a day old when it arrived.',
    }),
  ),
  packets: Type.Integer({ description: 'Stored of the newest recording.' }),
  lost_packets: Type.Integer({ description: 'Sequence numbers missing between its first and its newest.' }),
  battery_percent: nullable(Type.Number()),
  battery_at: nullable(Timestamp),
  clock: exactly({ skew_ppm: nullable(Type.Number()), rms_ms: nullable(Type.Number()), pairs: Type.Integer() }),
  channels: Type.Array(Type.String()),
  set_aside: Type.Integer({
    description: 'Packets and rows of the newest recording that could not be stored; the operator of the service sees why.',
  }),
});

const QualitySchema = exactly({
  xuser_id: Uuid,
  external_id: Type.String(),
  display_name: Type.String(),
  feature: Type.String({ description: 'hr_ecg, hr_ppg …' }),
  hours: Type.Array(
    exactly({
      start: Timestamp,
      expected: Type.Integer({ description: 'Values of a whole hour, by the cadence of the feature.' }),
      n: Type.Integer({ description: 'Values that there are; the rest is a gap.' }),
      good: Type.Integer(),
      suspect: Type.Integer(),
    }),
  ),
});

type Deps = Readonly<{ db: Pool; flowingStreams?: () => readonly number[] }>;

const listDevices = ({ db, flowingStreams }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/devices',
    operationId: 'listDevices',
    tag: 'Fleet',
    summary: 'List devices with their health',
    description:
      'Of each its newest recording, and that of everybody else who sent with it within a day, so that nobody who falls silent is hidden behind ' +
      'another person with the same device. Those that were heard last come first.',
    access: { key: 'read', operator: 'viewer' },
    query: {
      project_id: ProjectQuery,
      group_id: GroupQuery,
      flowing: Type.Optional(Type.Boolean({ description: 'true: those that send now; false: the others.' })),
      ids: Type.Optional(Type.Array(Uuid, { maxItems: IDS_MAX, description: 'Only these, by `id`; absent: all.' })),
      limit: LimitQuery(200, 1000),
    },
    responses: { 200: { description: 'Devices.', schema: Type.Array(DeviceSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const { project_id: wanted, limit } = query;
      // SQL, like the next query: one row per device, each part from a lateral query.
      const { rows } = await db.query<Static<typeof DeviceSchema>>(
        `select d.id, d.external_id as device_id, d.name, coalesce(nullif(s.firmware, ''), d.firmware) as firmware, coalesce(s.project_id, d.project_id) as project_id,
           x.id as xuser_id, x.external_id, x.display_name, s.uuid as stream_id,
           (coalesce(s.last_packet_at > now() - make_interval(secs => $3::integer), false) or coalesce(s.id = any($4::integer[]), false)) as is_flowing,
           to_json(s.last_packet_at) #>> '{}' as last_packet_at, to_json(s.last_sample_at) #>> '{}' as last_sample_at,
           case when s.time_source is distinct from 'stated' and s.last_packet_at - s.last_sample_at < interval '1 day'
             then (extract(epoch from s.last_packet_at - s.last_sample_at) * 1000)::double precision end as lag_ms,
           coalesce(p.received, 0)::bigint as packets, coalesce(p.span - p.received, 0)::bigint as lost_packets,
           b.value as battery_percent, to_json(b.time) #>> '{}' as battery_at,
           jsonb_build_object('skew_ppm', s.clock_skew_ppm, 'rms_ms', s.clock_rms_ns / 1e6, 'pairs', coalesce(s.clock_pairs, 0)) as clock,
           array(select distinct c.code from stream_channel c where c.stream_id = s.id order by 1) as channels,
           (select count(*)::integer from set_aside a where a.xuser_id = s.xuser_id and a.stream_id = s.id) as set_aside
         from device d
         left join lateral (
           select * from (
             select *, row_number() over (order by heard desc) as rank from (
               select distinct on (xuser_id) *, coalesce(last_packet_at, started_at) as heard from stream where device_id = d.id
               order by xuser_id, coalesce(last_packet_at, started_at) desc) of_person) ranked
           where rank = 1 or heard > now() - interval '1 day') s on true
         left join lateral (
           select sum(upper(r) - lower(r)) as received, max(upper(r)) - min(lower(r)) as span from unnest(s.seqs) r) p on true
         left join xuser x on x.id = coalesce(s.xuser_id, d.xuser_id)
         left join lateral (
           select m.value, m.time from measurement m
           where m.xuser_id = x.id and m.device_id = d.id and m.time > now() - make_interval(days => $6::integer)
             and m.time < now() + interval '1 hour'
             and m.biosignal_id = (select id from biosignal where code = $5 and project_id is null)
           order by m.time desc limit 1) b on true
         where d.organization_id = $1 and ($2::uuid is null or coalesce(s.project_id, d.project_id) = $2)
           and coalesce(s.project_id, d.project_id, d.organization_id)
             not in (select p.id from project p where p.organization_id = $1 and p.archived_at is not null)
           and ($8::uuid is null or x.id in (select g.xuser_id from person_group_member g where g.group_id = $8))
           and ($10::uuid[] is null or d.id = any($10))
           and ($9::boolean is null or $9 =
             (coalesce(s.last_packet_at > now() - make_interval(secs => $3::integer), false) or coalesce(s.id = any($4::integer[]), false)))
         order by s.last_packet_at desc nulls last, d.external_id limit $7`,
        [
          orgOf(caller),
          await projectIdOf(db, caller, wanted),
          FLOWING_SEC,
          [...(flowingStreams?.() ?? [])],
          BATTERY_CODE,
          BATTERY_DAYS,
          limit,
          await groupIdOf(db, caller, query.group_id),
          query.flowing ?? null,
          query.ids ?? null,
        ],
      );
      return { status: 200, json: rows };
    },
  });

const getSignalQuality = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/signal-quality',
    operationId: 'getSignalQuality',
    tag: 'Fleet',
    summary: 'Quality of the signals of all users, by the hour',
    description:
      'Read from the hourly aggregates of the heart rates, which are given once a second as long as there is a signal: a missing value is a ' +
      'gap, a value flagged suspect or bad says how good the signal under it was.',
    access: { key: 'read', operator: 'viewer' },
    query: {
      project_id: ProjectQuery,
      group_id: GroupQuery,
      hours: orDefault(Type.Integer({ minimum: 1, maximum: 168, default: 24 })),
      limit: LimitQuery(200, 1000),
    },
    responses: { 200: { description: 'Users with data, the worst first.', schema: Type.Array(QualitySchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const { project_id: wanted, hours, limit } = query;
      // An hour is of the newest version that has values in it.
      // Looks hours up by the key of the rollups (offset 0 keeps the planner from joining): a join of all hours with all streams
      // reads the hours of every organization. Asks for consent once per person, after their hours are gathered.
      const { rows } = await db.query<Static<typeof QualitySchema>>(
        `with hourly as (
           select s.xuser_id, m.name as feature, f.bucket, round(m.cadence_hz * 3600)::integer as expected,
             sum(f.n)::bigint as n, sum(f.good_n)::bigint as good, sum(f.suspect_n)::bigint as suspect,
             row_number() over (partition by s.xuser_id, m.name, f.bucket order by ${newestFirst('m')}) as age
           from stream s cross join method m
           cross join lateral (select -1::smallint as no union all select c.channel_no from stream_channel c where c.stream_id = s.id) c
           cross join lateral (
             select * from feature_1h f where f.stream_id = s.id and f.method_id = m.id and f.channel_no = c.no
               and f.bucket >= date_trunc('hour', now()) - make_interval(hours => $3::integer - 1) and f.bucket <= now()
             offset 0) f
           where s.organization_id = $1 and ($2::uuid is null or s.project_id = $2)
             and ($5::uuid is null or s.xuser_id in (select g.xuser_id from person_group_member g where g.group_id = $5))
             and coalesce(s.ended_at, s.last_sample_at, 'infinity') >= now() - make_interval(hours => $3::integer)
             and m.kind = 'feature' and m.name in ('hr_ecg', 'hr_ppg') and m.cadence_hz is not null
           group by 1, 2, 3, m.id
         ), listed as (
           select h.xuser_id, h.feature, sum(h.good)::double precision / nullif(sum(h.n), 0) as good_share,
             jsonb_agg(jsonb_build_object('start', to_json(h.bucket) #>> '{}', 'expected', h.expected, 'n', h.n, 'good', h.good, 'suspect', h.suspect)
               order by h.bucket) as hours
           from hourly h where h.age = 1 group by 1, 2
         )
         select x.id as xuser_id, x.external_id, x.display_name, l.feature, l.hours
         from listed l join xuser x on x.id = l.xuser_id
         where not 'sharing' = any(missing_consents(x.id))
           and x.project_id not in (select p.id from project p where p.organization_id = $1 and p.archived_at is not null)
         order by l.good_share, x.external_id, l.feature limit $4`,
        [orgOf(caller), await projectIdOf(db, caller, wanted), hours, limit, await groupIdOf(db, caller, query.group_id)],
      );
      return { status: 200, json: rows };
    },
  });

export const deviceRoutes = (deps: Deps): readonly Route[] => [listDevices(deps), getSignalQuality(deps)];
