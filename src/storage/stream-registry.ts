/** Streams as the database knows them: found or created, their channels, their durable sequence numbers, and what a checkpoint saves. */
import { rejected, type Rejected } from '../errors.ts';
import type { ChannelConfig, ChannelKind, OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import type { Database } from './database.ts';
import { SeqRanges, type SeqRange } from './seq-ranges.ts';

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
  /** What `epochNs` shall be if the stream is new: Unix ns of device time 0. */
  epochNs: bigint;
  /** Unix ns. */
  receivedNs: bigint;
}>;

export type OpenedStream = Readonly<{
  streamId: StreamId;
  /** What the API shows. */
  uuid: string;
  orgId: OrgId;
  projectId: ProjectId;
  subjectId: SubjectId;
  /** Fixed when the stream was created. time = epochNs + device time. */
  epochNs: bigint;
  /** By ChannelNo. */
  channels: readonly ChannelConfig[];
  /** Sequence numbers that are durable, packet_log included. */
  seqRanges: readonly SeqRange[];
  /** False when this call created it. */
  existed: boolean;
}>;

/** The robust linear fit of a device clock against the receiver's. */
export type ClockFit = Readonly<{ offsetNs: bigint; skewPpm: number; rmsNs: number; pairCount: number }>;

export type Subject = Readonly<{ orgId: OrgId; projectId: ProjectId; subjectId: SubjectId }>;

/** What of a stream changed since the last checkpoint. */
type Dirty = { seqs: SeqRanges; lastPacketNs: bigint; lastSampleNs: bigint; clock: ClockFit | null; changed: boolean };

type StreamRow = {
  id: number;
  uuid: string;
  organization_id: string;
  project_id: string;
  xuser_id: string;
  epoch_ns: bigint;
  seqs: string;
};

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export class StreamRegistry {
  readonly #database: Database;
  /** Streams with something durable since the process started; a closed one stays until its checkpoint. */
  readonly #open = new Map<StreamId, Dirty>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Settles whom a device records.
   *  @param subject xuser uuid, or external id (created when absent), or '' = whom the device's record names, else a user of its own
   *  with the external id `device:<device id>`
   *  @param projectId of the credential; null: any of the organization, which must have one project when a user is to be created */
  async resolveSubject(orgId: OrgId, projectId: ProjectId | null, subject: string, deviceId: string): Promise<Subject | Rejected> {
    const { pool } = this.#database;
    const found = await pool.query<{ id: string; project_id: string }>(
      `select x.id, x.project_id from xuser x
       where x.organization_id = $1 and ($2::uuid is null or x.project_id = $2) and x.disabled_at is null
         and case
           when $3 = '' then x.id = (select d.xuser_id from device d where d.organization_id = $1 and d.external_id = $4)
           when $5 then x.id::text = lower($3) or x.external_id = $3
           else x.external_id = $3 end
       limit 2`,
      [orgId, projectId, subject, deviceId, uuidPattern.test(subject)],
    );
    if (found.rows.length > 1) return rejected('conflict', `external id ${subject} exists in several projects; use a key of one project`);
    const row = found.rows[0];
    if (row !== undefined) return { orgId, projectId: row.project_id as ProjectId, subjectId: row.id as SubjectId };
    if (uuidPattern.test(subject)) return rejected('not_found', 'no such subject');
    const externalId = subject === '' ? `device:${deviceId}` : subject;
    const created = await pool.query<{ id: string; project_id: string }>(
      `insert into xuser (organization_id, project_id, external_id)
       select $1, p.id, $3 from project p
       where p.organization_id = $1 and p.archived_at is null
         and case when $2::uuid is null then (select count(*) from project o where o.organization_id = $1 and o.archived_at is null) = 1 else p.id = $2 end
       on conflict (project_id, external_id) do update set external_id = excluded.external_id where xuser.disabled_at is null
       returning id, project_id`,
      [orgId, projectId, externalId],
    );
    const user = created.rows[0];
    if (user === undefined) return rejected('not_found', 'no such subject');
    return { orgId, projectId: user.project_id as ProjectId, subjectId: user.id as SubjectId };
  }

  /** Finds or creates the stream of (organization, device, boot).
   *  Rejected with conflict when the stream exists and records somebody else. */
  async openStream(request: StreamOpening): Promise<OpenedStream | Rejected> {
    const { pool } = this.#database;
    const device = await pool.query<{ id: string }>(
      `insert into device (organization_id, project_id, external_id, firmware, last_seen_at, xuser_id)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (organization_id, external_id) do update set
         firmware = case when excluded.firmware = '' then device.firmware else excluded.firmware end,
         last_seen_at = greatest(device.last_seen_at, excluded.last_seen_at)
       returning id`,
      [request.orgId, request.projectId, request.deviceId, request.firmware, dateOf(request.receivedNs), request.subjectId],
    );
    const boot = Buffer.from(request.bootId, 'hex');
    const columns = 'id, uuid, organization_id, project_id, xuser_id, epoch_ns, seqs';
    const inserted = await pool.query<StreamRow>(
      `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, firmware, started_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (device_id, boot_id) do nothing returning ${columns}`,
      [
        request.orgId,
        request.projectId,
        device.rows[0]!.id,
        request.subjectId,
        boot,
        request.epochNs.toString(),
        request.firmware,
        dateOf(request.receivedNs),
      ],
    );
    const existed = inserted.rows.length === 0;
    const row = existed
      ? (await pool.query<StreamRow>(`select ${columns} from stream where device_id = $1 and boot_id = $2`, [device.rows[0]!.id, boot]))
          .rows[0]!
      : inserted.rows[0]!;
    if (row.xuser_id !== request.subjectId) return rejected('conflict', 'this boot of the device records another subject');
    return this.#opened(row, existed);
  }

  /** The stream of a row of packet_log; null when it was erased meanwhile. */
  async findStream(streamId: StreamId): Promise<OpenedStream | null> {
    const { rows } = await this.#database.pool.query<StreamRow>(
      'select id, uuid, organization_id, project_id, xuser_id, epoch_ns, seqs from stream where id = $1',
      [streamId],
    );
    return rows[0] === undefined ? null : this.#opened(rows[0], true);
  }

  /** Saves channel configurations; idempotent. @param firstNo ChannelNo of the first one */
  async addChannels(streamId: StreamId, firstNo: number, channels: readonly ChannelConfig[]): Promise<void> {
    if (channels.length === 0) return;
    await this.#database.kysely
      .insertInto('stream_channel')
      .values(
        channels.map((channel, i) => ({
          stream_id: streamId,
          channel_no: firstNo + i,
          code: channel.code,
          kind: channel.kind,
          rate_nhz: channel.rateNanoHz,
          gain: channel.gain,
          baseline: channel.baseline,
          unit: channel.unit,
          lead: channel.lead,
        })),
      )
      .onConflict((conflict) => conflict.columns(['stream_id', 'channel_no']).doNothing())
      .execute();
  }

  /** A packet became durable. PacketLog calls it, for recovered packets too. */
  noteDurable(streamId: StreamId, seq: number, receivedNs: bigint): void {
    let dirty = this.#open.get(streamId);
    if (dirty === undefined) {
      dirty = newDirty(); // not opened here: of a recovered log. The checkpoint adds to what the row has.
      this.#open.set(streamId, dirty);
    }
    dirty.seqs.add(seq);
    if (receivedNs > dirty.lastPacketNs) dirty.lastPacketNs = receivedNs;
    dirty.changed = true;
  }

  /** The newest sample and the clock of a stream, saved with the next checkpoint. */
  noteProgress(streamId: StreamId, lastSampleNs: bigint, clock: ClockFit | null = null): void {
    const dirty = this.#open.get(streamId);
    if (dirty === undefined) return;
    if (lastSampleNs > dirty.lastSampleNs) dirty.lastSampleNs = lastSampleNs;
    dirty.clock = clock ?? dirty.clock;
    dirty.changed = true;
  }

  /** The stream is idle: its row of the registry may go once it is saved. Opening it again is always right. */
  closeStream(streamId: StreamId): void {
    const dirty = this.#open.get(streamId);
    if (dirty !== undefined && !dirty.changed) this.#open.delete(streamId);
  }

  /** For PacketLog.checkpoint: what changed, as columns for one update, and how to take it back when the update fails. */
  takeDirty(): Readonly<{ columns: readonly unknown[]; count: number; undo: () => void }> {
    const ids: number[] = [];
    const seqs: string[] = [];
    const packetTimes: (Date | null)[] = [];
    const sampleTimes: (Date | null)[] = [];
    const offsets: (string | null)[] = [];
    const skews: (number | null)[] = [];
    const rms: (number | null)[] = [];
    const pairs: (number | null)[] = [];
    const taken: Dirty[] = [];
    for (const [streamId, dirty] of this.#open) {
      if (!dirty.changed) continue;
      dirty.changed = false;
      taken.push(dirty);
      ids.push(streamId);
      seqs.push(dirty.seqs.toString());
      packetTimes.push(dirty.lastPacketNs === 0n ? null : dateOf(dirty.lastPacketNs));
      sampleTimes.push(dirty.lastSampleNs === 0n ? null : dateOf(dirty.lastSampleNs));
      offsets.push(dirty.clock?.offsetNs.toString() ?? null);
      skews.push(dirty.clock?.skewPpm ?? null);
      rms.push(dirty.clock?.rmsNs ?? null);
      pairs.push(dirty.clock?.pairCount ?? null);
    }
    const undo = (): void => {
      for (const dirty of taken) dirty.changed = true;
    };
    return { columns: [ids, seqs, packetTimes, sampleTimes, offsets, skews, rms, pairs], count: ids.length, undo };
  }

  async #opened(row: StreamRow, existed: boolean): Promise<OpenedStream> {
    const streamId = row.id as StreamId;
    const channels = existed ? await this.#channels(streamId) : [];
    const stored = SeqRanges.parse(row.seqs);
    let dirty = this.#open.get(streamId);
    if (dirty === undefined) {
      dirty = newDirty();
      this.#open.set(streamId, dirty);
    }
    for (const [first, last] of stored.ranges()) dirty.seqs.addRange(first, last);
    return {
      streamId,
      uuid: row.uuid,
      orgId: row.organization_id as OrgId,
      projectId: row.project_id as ProjectId,
      subjectId: row.xuser_id as SubjectId,
      epochNs: row.epoch_ns,
      channels,
      seqRanges: dirty.seqs.ranges(),
      existed,
    };
  }

  async #channels(streamId: StreamId): Promise<ChannelConfig[]> {
    const rows = await this.#database.kysely
      .selectFrom('stream_channel')
      .selectAll()
      .where('stream_id', '=', streamId)
      .orderBy('channel_no')
      .execute();
    return rows.map((row) => ({
      code: row.code,
      kind: row.kind as ChannelKind,
      rateNanoHz: Number(row.rate_nhz),
      gain: row.gain,
      baseline: row.baseline,
      unit: row.unit,
      lead: row.lead,
    }));
  }
}

/** The update that a checkpoint makes of takeDirty's columns; adds to what the rows have. */
export const saveStreams = `
  update stream s set
    seqs = s.seqs + d.seqs,
    last_packet_at = greatest(s.last_packet_at, d.last_packet_at),
    last_sample_at = greatest(s.last_sample_at, d.last_sample_at),
    clock_offset_ns = coalesce(d.offset_ns, s.clock_offset_ns),
    clock_skew_ppm = coalesce(d.skew_ppm, s.clock_skew_ppm),
    clock_rms_ns = coalesce(d.rms_ns, s.clock_rms_ns),
    clock_pairs = coalesce(d.pairs, s.clock_pairs)
  from unnest($1::int[], $2::int8multirange[], $3::timestamptz[], $4::timestamptz[], $5::int8[], $6::float8[], $7::float8[], $8::int[])
    as d (id, seqs, last_packet_at, last_sample_at, offset_ns, skew_ppm, rms_ns, pairs)
  where s.id = d.id`;

function newDirty(): Dirty {
  return { seqs: new SeqRanges(), lastPacketNs: 0n, lastSampleNs: 0n, clock: null, changed: false };
}

function dateOf(ns: bigint): Date {
  return new Date(Number(ns / 1_000_000n));
}
