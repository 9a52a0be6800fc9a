/** Statements that resolve the subjects of devices and open their streams, for many devices at once. */
import type pg from 'pg';
import { rejected, type Rejected } from '../errors.ts';
import type { ChannelConfig, ChannelKind, OrgId, ProjectId, StreamId, SubjectId, TimeSource } from '../signal.ts';

export type SubjectRequest = Readonly<{
  orgId: OrgId;
  /** Project of the credential; null: any of the organization, which must have exactly one when a user is to be created. */
  projectId: ProjectId | null;
  /** The user's id, or external id (created when absent). '': the user named by the device's record, else a user of the device's own with
   *  the external id `device:<device id>`. */
  subject: string;
  deviceId: string;
}>;

export type Subject = Readonly<{ orgId: OrgId; projectId: ProjectId; subjectId: SubjectId }>;

export type StreamOpening = Readonly<{
  orgId: OrgId;
  /** The subject's project. */
  projectId: ProjectId;
  subjectId: SubjectId;
  /** device_id of the packets. */
  deviceId: string;
  /** 32 hexadecimal digits. */
  bootId: string;
  firmware: string;
  /** Unix ns of device time 0, used if the stream is new. */
  epochNs: bigint;
  /** How it is known. */
  timeSource?: TimeSource;
  /** Unix ns. */
  receivedNs: bigint;
}>;

export type StreamRow = {
  id: number;
  uuid: string;
  organization_id: string;
  project_id: string;
  xuser_id: string;
  epoch_ns: bigint;
  time_source: TimeSource | null;
  seqs: string;
  /** The calibration of the device's profile when the stream was created. */
  spo2_offset: number | null;
  spo2_slope: number | null;
};

export const streamColumns =
  's.id, s.uuid, s.organization_id, s.project_id, s.xuser_id, s.epoch_ns, s.time_source, s.seqs, s.spo2_offset, s.spo2_slope';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EXTERNAL_ID_MAX = 255;

/** @returns the subject of each request; Rejected: not_found, or conflict when an external id exists in several projects */
export async function resolveSubjects(pool: pg.Pool, requests: readonly SubjectRequest[]): Promise<readonly (Subject | Rejected)[]> {
  const found = await pool.query<{ i: number; id: string; project_id: string }>(
    `with asked as (select * from unnest($1::int[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[]) as a (i, org, project, subject, device, id))
     select a.i, x.id, x.project_id from asked a
       join project p on p.organization_id = a.org and (a.project is null or p.id = a.project)
       join xuser x on x.project_id = p.id and x.external_id = a.subject
     where x.disabled_at is null
     union
     select a.i, x.id, x.project_id from asked a
       join xuser x on x.id = a.id and x.organization_id = a.org and (a.project is null or x.project_id = a.project)
     where x.disabled_at is null
     union
     select a.i, x.id, x.project_id from asked a
       join device d on d.organization_id = a.org and d.external_id = a.device
       join xuser x on x.id = d.xuser_id and x.organization_id = a.org and (a.project is null or x.project_id = a.project)
     where a.subject = '' and x.disabled_at is null`,
    [
      requests.map((_, i) => i),
      requests.map((request) => request.orgId),
      requests.map((request) => request.projectId),
      requests.map((request) => request.subject),
      requests.map((request) => request.deviceId),
      requests.map((request) => (uuidPattern.test(request.subject) ? request.subject : null)),
    ],
  );
  const out: (Subject | Rejected | null)[] = requests.map(() => null);
  for (const { i, id, project_id: projectId } of found.rows) {
    const { orgId, subject } = requests[i]!;
    out[i] =
      out[i] === null
        ? { orgId, projectId: projectId as ProjectId, subjectId: id as SubjectId }
        : rejected('conflict', `external id ${subject} exists in several projects; use a key of one project`);
  }
  const missing: { i: number; externalId: string }[] = [];
  for (const [i, { subject, deviceId }] of requests.entries()) {
    if (out[i] !== null) continue;
    if (uuidPattern.test(subject)) out[i] = rejected('not_found', 'no such subject');
    else if (subject.length > EXTERNAL_ID_MAX) out[i] = rejected('packet_invalid', `subject is longer than ${EXTERNAL_ID_MAX} characters`);
    else missing.push({ i, externalId: subject === '' ? `device:${deviceId}` : subject });
  }
  if (missing.length > 0) {
    await createSubjects(pool, requests, missing, out);
    await refuseWithoutProject(pool, requests, out);
  }
  return out.map((one) => one ?? rejected('not_found', 'no such subject'));
}

/** Creates users that do not exist yet, in the order of the key, so that two nodes doing the same do not deadlock. */
async function createSubjects(
  pool: pg.Pool,
  requests: readonly SubjectRequest[],
  missing: readonly Readonly<{ i: number; externalId: string }>[],
  out: (Subject | Rejected | null)[],
): Promise<void> {
  const { rows } = await pool.query<{ id: string; organization_id: string; project_id: string; external_id: string }>(
    `insert into xuser (organization_id, project_id, external_id)
     select distinct p.organization_id, p.id, a.external_id
     from unnest($1::uuid[], $2::uuid[], $3::text[]) as a (org, project, external_id)
     join project p on p.organization_id = a.org and p.archived_at is null
       and case when a.project is null then (select count(*) from project o where o.organization_id = a.org and o.archived_at is null) = 1
                else p.id = a.project end
     order by p.id, a.external_id
     on conflict (project_id, external_id) do update set external_id = excluded.external_id where xuser.disabled_at is null
     returning id, organization_id, project_id, external_id`,
    [
      missing.map(({ i }) => requests[i]!.orgId),
      missing.map(({ i }) => requests[i]!.projectId),
      missing.map(({ externalId }) => externalId),
    ],
  );
  // A credential without a project creates in the only one there is, so organization and external id tell rows apart unless it has one.
  const byOrg = new Map(rows.map((row) => [`${row.organization_id} ${row.external_id}`, row]));
  const byProject = new Map(rows.map((row) => [`${row.project_id} ${row.external_id}`, row]));
  for (const { i, externalId } of missing) {
    const { orgId, projectId } = requests[i]!;
    const row = projectId === null ? byOrg.get(`${orgId} ${externalId}`) : byProject.get(`${projectId} ${externalId}`);
    if (row !== undefined) out[i] = { orgId, projectId: row.project_id as ProjectId, subjectId: row.id as SubjectId };
  }
}

/** Explains why no user was created for requests that name no project where there are several. */
async function refuseWithoutProject(pool: pg.Pool, requests: readonly SubjectRequest[], out: (Subject | Rejected | null)[]): Promise<void> {
  const left = requests.flatMap(({ projectId, orgId }, i) => (out[i] === null && projectId === null ? [{ i, orgId }] : []));
  if (left.length === 0) return;
  const { rows } = await pool.query<{ id: string }>(
    `select organization_id as id from project where organization_id = any ($1::uuid[]) and archived_at is null
     group by organization_id having count(*) > 1`,
    [left.map(({ orgId }) => orgId)],
  );
  const several = new Set(rows.map(({ id }) => id));
  const detail =
    'no such subject, and none is created: the organization has several projects; send with a key of one, or create the user first';
  for (const { i, orgId } of left) if (several.has(orgId)) out[i] = rejected('not_found', detail);
}

/** Finds or creates the streams of (organization, device, boot). @returns rows in the order of the requests */
export async function findOrCreateStreams(
  pool: pg.Pool,
  requests: readonly StreamOpening[],
): Promise<readonly Readonly<{ row: StreamRow; existed: boolean }>[]> {
  const devices = await pool.query<{ id: string; organization_id: string; external_id: string }>(
    `insert into device (organization_id, project_id, external_id, firmware, last_seen_at, xuser_id)
     select distinct on (org, device) org, project, device, firmware, seen, xuser
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::uuid[]) as a (org, project, device, firmware, seen, xuser)
     order by org, device, seen desc
     on conflict (organization_id, external_id) do update set
       firmware = case when excluded.firmware = '' then device.firmware else excluded.firmware end,
       last_seen_at = greatest(device.last_seen_at, excluded.last_seen_at)
     returning id, organization_id, external_id`,
    [
      requests.map((request) => request.orgId),
      requests.map((request) => request.projectId),
      requests.map((request) => request.deviceId),
      requests.map((request) => request.firmware),
      requests.map((request) => dateOf(request.receivedNs)),
      requests.map((request) => request.subjectId),
    ],
  );
  const deviceIds = new Map(devices.rows.map((row) => [`${row.organization_id} ${row.external_id}`, row.id]));
  const ids = requests.map((request) => deviceIds.get(`${request.orgId} ${request.deviceId}`)!);
  const inserted = await pool.query<StreamRow & { key: string }>(
    `insert into stream as s (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, time_source, firmware, started_at, spo2_offset, spo2_slope)
     select a.org, a.project, a.device, a.xuser, decode(a.boot, 'hex'), a.epoch_ns, a.time_source, a.firmware, a.started_at,
       profile.spo2_offset, profile.spo2_slope
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::int8[], $7::text[], $8::text[], $9::timestamptz[])
       as a (org, project, device, xuser, boot, epoch_ns, time_source, firmware, started_at)
     left join device on device.id = a.device left join device_profile profile on profile.id = device.profile_id
     order by a.device, a.boot
     on conflict (device_id, boot_id) do nothing
     returning ${streamColumns}, s.device_id || ' ' || encode(s.boot_id, 'hex') as key`,
    [
      requests.map((request) => request.orgId),
      requests.map((request) => request.projectId),
      ids,
      requests.map((request) => request.subjectId),
      requests.map((request) => request.bootId),
      requests.map((request) => request.epochNs.toString()),
      requests.map((request) => request.timeSource ?? null),
      requests.map((request) => request.firmware),
      requests.map((request) => dateOf(request.receivedNs)),
    ],
  );
  const rows = new Map(inserted.rows.map((row) => [row.key, { row, existed: false }]));
  const keys = requests.map((request, i) => `${ids[i]!} ${request.bootId}`);
  const others = keys.flatMap((key, i) => (rows.has(key) ? [] : [i]));
  if (others.length > 0) {
    const existing = await pool.query<StreamRow & { key: string }>(
      `select ${streamColumns}, s.device_id || ' ' || encode(s.boot_id, 'hex') as key
       from unnest($1::uuid[], $2::text[]) as a (device, boot) join stream s on s.device_id = a.device and s.boot_id = decode(a.boot, 'hex')`,
      [others.map((i) => ids[i]), others.map((i) => requests[i]!.bootId)],
    );
    for (const row of existing.rows) rows.set(row.key, { row, existed: true });
  }
  return keys.map((key) => rows.get(key)!);
}

/** Channel configurations of streams, by ChannelNo. */
export async function channelsOf(pool: pg.Pool, streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, readonly ChannelConfig[]>> {
  const out = new Map<StreamId, ChannelConfig[]>();
  if (streamIds.length === 0) return out;
  const { rows } = await pool.query<{
    stream_id: number;
    code: string;
    kind: string;
    rate_nhz: bigint;
    gain: number;
    baseline: number;
    unit: string;
    lead: string;
  }>(
    'select stream_id, code, kind, rate_nhz, gain, baseline, unit, lead from stream_channel where stream_id = any($1::int[]) order by stream_id, channel_no',
    [streamIds],
  );
  for (const row of rows) {
    const list = out.get(row.stream_id as StreamId) ?? [];
    list.push({
      code: row.code,
      kind: row.kind as ChannelKind,
      rateNanoHz: Number(row.rate_nhz),
      gain: row.gain,
      baseline: row.baseline,
      unit: row.unit,
      lead: row.lead,
    });
    out.set(row.stream_id as StreamId, list);
  }
  return out;
}

function dateOf(ns: bigint): Date {
  return new Date(Number(ns / 1_000_000n));
}
