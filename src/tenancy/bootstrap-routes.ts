/** GET /api/v1/bootstrap: what a client needs once per session; and the device profiles of an organization. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { audit } from './audit.ts';
import { needWholeOrganization } from './authority.ts';
import { orgOf, ownSubjectOf, projectOf } from './record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, run, runForOne } from '../storage/database/build.ts';
import type { Config } from '../config.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { JSON_BYTES_MAX } from '../http/incoming.ts';
import { HEADER_BYTES_MAX } from '../http/uws.ts';
import { exactly, nullable, OneLine, oneOf, Uuid } from '../http/schemas.ts';
import { usedZone } from '../http/time-zone.ts';
import { transaction } from '../storage/database/transaction.ts';
import { channelKinds } from '../signal.ts';

const ProfileChannel = exactly({
  code: Type.String({ pattern: '^[a-z][a-z0-9_.-]{0,31}$' }),
  kind: oneOf(channelKinds),
  rate_hz: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 }),
  unit: OneLine(32),
  lead: OneLine(32),
});
const Calibration = exactly({
  offset: Type.Number({ exclusiveMinimum: 0, maximum: 200, description: 'SpO2 at R = 0, %.' }),
  slope: Type.Number({ exclusiveMinimum: 0, maximum: 200, description: 'Fall of SpO2 per 1 of R, the ratio of ratios, %.' }),
});
const profileMembers = {
  code: Type.String({ pattern: '^[a-z][a-z0-9_.-]{0,62}$' }),
  name: OneLine(200, { minLength: 1 }),
  manufacturer: OneLine(200),
  model: OneLine(200),
  channels: Type.Array(ProfileChannel, { maxItems: 64 }),
};
const ProfileSchema = exactly({
  id: Uuid,
  ...profileMembers,
  spo2_calibration: nullable(Calibration),
  built_in: Type.Boolean(),
});
const DeviceProfileOf = exactly({ id: Uuid, device_id: Type.String(), profile_id: nullable(Uuid) });
const BootstrapSchema = exactly({
  version: Type.String(),
  project: nullable(exactly({ id: Uuid, name: Type.String(), project_key: Type.String(), time_zone: Type.String() })),
  user: nullable(exactly({ xuser_id: Uuid, external_id: Type.String(), display_name: Type.String(), time_zone: Type.String() })),
  device_profiles: Type.Array(ProfileSchema),
  live: exactly({ path: Type.String(), protocol: Type.String(), frame_ms: Type.Integer(), deadline_ms: Type.Integer() }),
  limits: Type.Record(Type.String(), Type.Integer(), {
    description: 'Every limit a client can meet; the unit is the last word of its name.',
  }),
});

type Profile = Readonly<Static<typeof ProfileSchema>>;

const profileColumns = [
  'id',
  'code',
  'name',
  'manufacturer',
  'model',
  sql<Profile['channels']>`channels`.as('channels'),
  sql<
    Profile['spo2_calibration']
  >`case when spo2_offset is not null then json_build_object('offset', spo2_offset, 'slope', spo2_slope) end`.as('spo2_calibration'),
  sql<boolean>`organization_id is null`.as('built_in'),
] as const;

export type BootstrapDeps = Readonly<{
  db: Pool;
  version: string;
  config: Pick<
    Config,
    | 'packetBytesMax'
    | 'batchBytesMax'
    | 'bodyTimeoutMs'
    | 'requestsPerSecMax'
    | 'devicePacketsPerSecMax'
    | 'frameDeadlineMs'
    | 'reorderWindowMs'
  >;
}>;

async function profilesOf(db: Db, orgId: string): Promise<readonly Profile[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('device_profile')
      .select(profileColumns)
      .where(({ or, eb }) => or([eb('organization_id', 'is', null), eb('organization_id', '=', orgId)]))
      .orderBy('organization_id', (owner) => owner.asc().nullsFirst())
      .orderBy('code'),
  );
  return rows;
}

const getBootstrap = ({ db, version, config }: BootstrapDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/bootstrap',
    operationId: 'getBootstrap',
    tag: 'Bootstrap',
    summary: 'Configuration with device profiles and limits',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    etag: true,
    responses: { 200: { description: 'The configuration.', schema: BootstrapSchema } },
    handler: async ({ caller }) => {
      const own = projectOf(caller);
      const projects = build
        .selectFrom('project')
        .select(['id', 'name', 'project_key', 'time_zone'])
        .where('organization_id', '=', orgOf(caller))
        .where('archived_at', 'is', null)
        .$if(own !== null, (all) => all.where('id', '=', own));
      const project = await run(db, projects.orderBy('created_at').limit(2));
      const users = build
        .selectFrom('xuser as x')
        .innerJoin('project as p', 'p.id', 'x.project_id')
        .select(['x.id as xuser_id', 'x.external_id', 'x.display_name', 'x.time_zone as own_zone', 'p.time_zone as project_zone']);
      const user = await run(db, users.where('x.id', '=', ownSubjectOf(caller)).where('x.organization_id', '=', orgOf(caller)));
      const [first] = project.rows;
      return {
        status: 200,
        json: {
          version,
          project: project.rows.length === 1 && first !== undefined ? { ...first, time_zone: usedZone(first.time_zone) ?? 'UTC' } : null,
          user:
            user.rows.map(({ own_zone: zone, project_zone: of, ...who }) => ({
              ...who,
              time_zone: usedZone(zone) ?? usedZone(of) ?? 'UTC',
            }))[0] ?? null,
          device_profiles: await profilesOf(db, orgOf(caller)),
          live: { path: '/ws', protocol: 'bio.v1', frame_ms: 100, deadline_ms: config.frameDeadlineMs },
          limits: {
            json_body_bytes: JSON_BYTES_MAX,
            header_bytes: HEADER_BYTES_MAX,
            packet_bytes: config.packetBytesMax,
            batch_bytes: config.batchBytesMax,
            body_ms: config.bodyTimeoutMs,
            requests_per_sec: config.requestsPerSecMax,
            device_packets_per_sec: config.devicePacketsPerSecMax,
            reorder_window_ms: config.reorderWindowMs,
            page_items: 1000,
            token_sec: 3600,
          },
        },
      };
    },
  });

const listDeviceProfiles = ({ db }: BootstrapDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/device-profiles',
    operationId: 'listDeviceProfiles',
    tag: 'Bootstrap',
    summary: 'List device profiles',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    etag: true,
    responses: { 200: { description: 'Profiles, built-in ones first.', schema: Type.Array(ProfileSchema) } },
    handler: async ({ caller }) => ({ status: 200, json: await profilesOf(db, orgOf(caller)) }),
  });

const createDeviceProfile = ({ db }: BootstrapDeps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/device-profiles',
    operationId: 'createDeviceProfile',
    tag: 'Bootstrap',
    summary: 'Add a device profile of the organization',
    access: { key: 'admin', operator: 'admin' },
    body: exactly({ ...profileMembers, spo2_calibration: Type.Optional(nullable(Calibration)) }),
    responses: { 201: { description: 'The profile.', schema: ProfileSchema } },
    errors: ['conflict'],
    handler: async (request) => {
      needWholeOrganization(request.caller);
      const input = request.body;
      const json = await transaction(db, async (client) => {
        const insert = build.insertInto('device_profile').values({
          organization_id: orgOf(request.caller),
          code: input.code,
          name: input.name,
          manufacturer: input.manufacturer,
          model: input.model,
          channels: JSON.stringify(input.channels),
          spo2_offset: input.spo2_calibration?.offset ?? null,
          spo2_slope: input.spo2_calibration?.slope ?? null,
        });
        const made = await runForOne(client, insert.returning(profileColumns)).catch((cause: unknown) => {
          if (sqlStateOf(cause) === '23505') throw new PipelineError('conflict', `There is a profile ${input.code}.`, { cause });
          throw cause;
        });
        await audit(client, request, { action: 'device_profile.created', targetKind: 'device_profile', targetId: made.id });
        return made;
      });
      return { status: 201, json };
    },
  });

const setDeviceProfile = ({ db }: BootstrapDeps) =>
  defineRoute({
    method: 'PUT',
    path: '/api/v1/devices/{deviceId}/profile',
    operationId: 'setDeviceProfile',
    tag: 'Bootstrap',
    summary: 'Say which profile a device has',
    description:
      'deviceId is the device_id of its packets; the device need not have sent any yet. Holds for the streams that are opened from then on: ' +
      'those that are there keep the calibration they were opened with. A key of one project sets it for devices that no other project uses.',
    access: { key: 'admin', operator: 'admin' },
    params: { deviceId: Type.String({ minLength: 1, maxLength: 128 }) },
    body: exactly({ profile_id: nullable(Uuid) }),
    responses: { 200: { description: 'The device.', schema: DeviceProfileOf } },
    errors: ['not_found'],
    handler: async (request) => {
      const { profile_id: profileId } = request.body;
      const orgId = orgOf(request.caller);
      const json = await transaction(db, async (client) => {
        // SQL: the conflict condition needs an alias of the table inserted into, which kysely does not have.
        const { rows } = await client.query<Static<typeof DeviceProfileOf>>(
          `insert into device as d (organization_id, project_id, external_id, profile_id)
         select $1, $2::uuid, $3, $4::uuid
         where $4::uuid is null or exists (select 1 from device_profile where id = $4::uuid and (organization_id is null or organization_id = $1))
         on conflict (organization_id, external_id) do update set profile_id = excluded.profile_id
           where $2::uuid is null
             or d.project_id = $2::uuid and not exists (select from stream s where s.device_id = d.id and s.project_id <> $2::uuid)
         returning d.id, d.external_id as device_id, d.profile_id`,
          [orgId, projectOf(request.caller), request.params.deviceId, profileId],
        );
        const device = rows[0];
        if (device === undefined) throw new PipelineError('not_found', 'There is no such device or profile.');
        await audit(client, request, {
          action: 'device.profile_set',
          targetKind: 'device',
          targetId: device.id,
          detail: { profile_id: profileId },
        });
        return device;
      });
      return { status: 200, json };
    },
  });

export const bootstrapRoutes = (deps: BootstrapDeps): readonly Route[] => [
  getBootstrap(deps),
  listDeviceProfiles(deps),
  createDeviceProfile(deps),
  setDeviceProfile(deps),
];
