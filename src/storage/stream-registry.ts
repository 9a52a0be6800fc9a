/** Registry of streams: finds or creates them, with their channels and durable sequence numbers, and saves changes at checkpoints. */
import { rejected, type Rejected } from '../errors.ts';
import type { ChannelConfig, ClockFit, OrgId, ProjectId, Spo2Calibration, StreamId, SubjectId, TimeSource } from '../signal.ts';
import type pg from 'pg';
import { build, run } from './database/build.ts';
import type { Database } from './database/database.ts';
import { Coalesce } from './database/coalesce.ts';
import { SeqRanges, type SeqRange } from './seq-ranges.ts';
import { failureOf } from './database/sql-states.ts';
import { channelsOf, findOrCreateStreams, resolveSubjects, streamColumns } from './stream-opening.ts';
import { transaction } from './database/transaction.ts';
import type { Write } from './database/transaction.ts';
import type { StreamOpening, StreamRow, Subject, SubjectRequest } from './stream-opening.ts';

export type OpenedStream = Readonly<{
  streamId: StreamId;
  /** Id shown by the API. */
  uuid: string;
  orgId: OrgId;
  projectId: ProjectId;
  subjectId: SubjectId;
  /** Fixed when the stream was created. time = epochNs + device time. */
  epochNs: bigint;
  /** How it was known when the stream was created; null: created by an earlier release. */
  timeSource: TimeSource | null;
  /** By ChannelNo. */
  channels: readonly ChannelConfig[];
  /** Calibration of the device's profile when the stream was created; never changes. null: none. */
  spo2: Spo2Calibration | null;
  /** Sequence numbers that are durable, packet_log included. */
  seqRanges: readonly SeqRange[];
  /** False when this call created it. */
  existed: boolean;
}>;

/** A stream named in packet_log, with the device and boot that its packets state. */
export type FoundStream = OpenedStream & Readonly<{ deviceId: string; bootId: string }>;

/** Changes of a stream since the last checkpoint. */
type Dirty = {
  seqs: SeqRanges;
  lastPacketNs: bigint;
  /** Recorded range, [first, last) Unix ns; null: nothing yet. */
  firstNs: bigint | null;
  lastNs: bigint | null;
  clock: ClockFit | null;
  changed: boolean;
};

type NewChannels = Readonly<{ streamId: StreamId; firstNo: number; channels: readonly ChannelConfig[] }>;

/** Changes as columns for one update. `undo` takes them back when they are not saved: all, or a range of positions. */
export type DirtyStreams = Readonly<{
  columns: readonly (readonly unknown[])[];
  count: number;
  undo: (from?: number, to?: number) => void;
}>;
export type RefusedStreams = Readonly<{ streamIds: readonly StreamId[]; why: unknown }>;

/** Refused streams that one checkpoint isolates; beyond that, the rest of a part is refused as a whole. */
const REFUSED_MAX = 50;
/** Streams that one statement looks up. */
const FIND_MAX = 512;

export class StreamRegistry {
  readonly #database: Database;
  readonly #write: Write;
  /** Streams with durable packets since the process started; a closed one stays until its checkpoint. */
  readonly #open = new Map<StreamId, Dirty>();

  readonly #subjects: Coalesce<SubjectRequest, Subject | Rejected>;
  readonly #openings: Coalesce<StreamOpening, OpenedStream | Rejected>;
  readonly #newChannels: Coalesce<NewChannels, void>;

  /** @param write runs the transactions of the data path; default: plain ones, without ownership of the log */
  constructor(database: Database, write: Write = (work) => transaction(database.pool, work)) {
    this.#database = database;
    this.#write = write;
    const { pool } = database;
    this.#subjects = new Coalesce((requests) => resolveSubjects(pool, requests));
    this.#openings = new Coalesce((requests) => this.#openStreams(requests));
    this.#newChannels = new Coalesce((requests) => this.#saveChannels(requests));
  }

  /** Resolves the subject of a device. Concurrent calls share their statements. */
  resolveSubject(request: SubjectRequest): Promise<Subject | Rejected> {
    return this.#subjects.call(request);
  }

  /** Finds or creates the stream of (organization, device, boot). Concurrent calls share their statements.
   *  Rejected with conflict when the stream exists and records another subject. */
  openStream(request: StreamOpening): Promise<OpenedStream | Rejected> {
    return this.#openings.call(request);
  }

  /** Whether a stream of (organization, device, boot) exists. */
  async isRecorded({
    orgId,
    deviceId,
    bootId,
  }: Pick<StreamOpening, 'deviceId' | 'bootId'> & Readonly<{ orgId: string }>): Promise<boolean> {
    const { rowCount } = await this.#database.pool.query(
      `select from stream s join device d on d.id = s.device_id
       where d.organization_id = $1 and d.external_id = $2 and s.boot_id = decode($3, 'hex')`,
      [orgId, deviceId, bootId],
    );
    return rowCount !== 0;
  }

  async #openStreams(requests: readonly StreamOpening[]): Promise<readonly (OpenedStream | Rejected)[]> {
    const { pool } = this.#database;
    const found = await findOrCreateStreams(pool, requests);
    const existing = found.filter(({ existed }) => existed).map(({ row }) => row.id as StreamId);
    const channels = await channelsOf(pool, existing);
    return found.map(({ row, existed }, i) =>
      row.xuser_id === requests[i]!.subjectId
        ? this.#opened(row, existed, channels.get(row.id as StreamId) ?? [])
        : rejected('conflict', 'this boot of the device records another subject'),
    );
  }

  /** A stream named in packet_log; null when it was erased meanwhile. */
  async findStream(streamId: StreamId): Promise<FoundStream | null> {
    return (await this.findStreams([streamId])).get(streamId) ?? null;
  }

  /** Many streams, by id; streams that were erased meanwhile are missing. */
  async findStreams(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, FoundStream>> {
    const { pool } = this.#database;
    const found = new Map<StreamId, FoundStream>();
    for (let from = 0; from < streamIds.length; from += FIND_MAX) {
      const ids = streamIds.slice(from, from + FIND_MAX);
      const { rows } = await pool.query<StreamRow & { device: string; boot: string }>(
        `select ${streamColumns}, d.external_id as device, encode(s.boot_id, 'hex') as boot
         from stream s join device d on d.id = s.device_id where s.id = any($1::int[])`,
        [ids],
      );
      const channels = await channelsOf(pool, ids);
      for (const row of rows) {
        const opened = this.#opened(row, true, channels.get(row.id as StreamId) ?? []);
        found.set(opened.streamId, { ...opened, deviceId: row.device, bootId: row.boot });
      }
    }
    return found;
  }

  /** Saves channel configurations; idempotent. @param firstNo ChannelNo of the first one */
  async addChannels(streamId: StreamId, firstNo: number, channels: readonly ChannelConfig[]): Promise<void> {
    if (channels.length > 0) await this.#newChannels.call({ streamId, firstNo, channels });
  }

  async #saveChannels(requests: readonly NewChannels[]): Promise<void[]> {
    const rows = requests.flatMap(({ streamId, firstNo, channels }) =>
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
    );
    const insert = build
      .insertInto('stream_channel')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['stream_id', 'channel_no']).doNothing());
    await this.#write((client) => run(client, insert));
    return requests.map(() => undefined);
  }

  /** Notes a durable packet. Called by PacketLog, also for recovered packets. */
  noteDurable(streamId: StreamId, seq: number, receivedNs: bigint): void {
    let dirty = this.#open.get(streamId);
    if (dirty === undefined) {
      dirty = newDirty(); // a stream of a recovered log that was not opened here; the checkpoint adds to its row
      this.#open.set(streamId, dirty);
    }
    dirty.seqs.add(seq);
    if (receivedNs > dirty.lastPacketNs) dirty.lastPacketNs = receivedNs;
    dirty.changed = true;
  }

  /** Notes a recorded range, [firstNs, lastNs) Unix ns; saved with the next checkpoint. */
  noteRecorded(streamId: StreamId, firstNs: bigint, lastNs: bigint): void {
    const dirty = this.#open.get(streamId);
    if (dirty === undefined) return;
    if (dirty.firstNs === null || firstNs < dirty.firstNs) dirty.firstNs = firstNs;
    if (dirty.lastNs === null || lastNs > dirty.lastNs) dirty.lastNs = lastNs;
    dirty.changed = true;
  }

  /** Notes the clock fit of a stream; saved with the next checkpoint. */
  noteClock(streamId: StreamId, clock: ClockFit): void {
    const dirty = this.#open.get(streamId);
    if (dirty === undefined) return;
    dirty.clock = clock;
    dirty.changed = true;
  }

  /** Lets an idle stream be forgotten once it is saved. It may be opened again at any time. */
  closeStream(streamId: StreamId): void {
    const dirty = this.#open.get(streamId);
    if (dirty !== undefined && !dirty.changed) this.#open.delete(streamId);
  }

  /** For PacketLog.checkpoint. */
  takeDirty(): DirtyStreams {
    const ids: number[] = [];
    const seqs: string[] = [];
    const packetTimes: (Date | null)[] = [];
    const firstTimes: (Date | null)[] = [];
    const lastTimes: (Date | null)[] = [];
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
      firstTimes.push(dirty.firstNs === null ? null : dateOf(dirty.firstNs));
      lastTimes.push(dirty.lastNs === null ? null : dateOf(dirty.lastNs));
      offsets.push(dirty.clock?.offsetNs.toString() ?? null);
      skews.push(dirty.clock?.skewPpm ?? null);
      rms.push(dirty.clock?.rmsNs ?? null);
      pairs.push(dirty.clock?.pairCount ?? null);
    }
    const undo = (from = 0, to = taken.length): void => {
      for (const dirty of taken.slice(from, to)) dirty.changed = true;
    };
    return { columns: [ids, seqs, packetTimes, firstTimes, lastTimes, offsets, skews, rms, pairs], count: ids.length, undo };
  }

  #opened(row: StreamRow, existed: boolean, channels: readonly ChannelConfig[]): OpenedStream {
    const streamId = row.id as StreamId;
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
      timeSource: row.time_source,
      channels,
      spo2: row.spo2_offset === null || row.spo2_slope === null ? null : { offset: row.spo2_offset, slope: row.spo2_slope },
      seqRanges: dirty.seqs.ranges(),
      existed,
    };
  }
}

/** Saves the result of takeDirty in the transaction of a checkpoint. Streams that the database refuses do not hold up others: they stay
 *  dirty, and the next checkpoint retries them. @returns the refused streams, and why */
export async function saveStreams(client: pg.ClientBase, { columns, count, undo }: DirtyStreams): Promise<readonly RefusedStreams[]> {
  const refused: RefusedStreams[] = [];
  const save = async (from: number, to: number): Promise<void> => {
    await client.query(`savepoint streams`);
    try {
      await client.query(
        updateStreams,
        columns.map((column) => column.slice(from, to)),
      );
    } catch (error) {
      if (failureOf(error) !== 'bad_row') throw error;
      await client.query('rollback to savepoint streams');
      if (to - from > 1 && refused.length < REFUSED_MAX) {
        const middle = (from + to) >> 1;
        await save(from, middle);
        await save(middle, to);
        return;
      }
      refused.push({ streamIds: columns[0]!.slice(from, to) as StreamId[], why: error });
      undo(from, to);
    }
  };
  if (count > 0) await save(0, count);
  return refused;
}

/** Update with the columns of takeDirty; adds to the existing rows. */
const updateStreams = `
  update stream s set
    seqs = s.seqs + d.seqs,
    last_packet_at = greatest(s.last_packet_at, d.last_packet_at),
    recorded_from = least(s.recorded_from, d.recorded_from),
    last_sample_at = greatest(s.last_sample_at, d.last_sample_at),
    clock_offset_ns = coalesce(d.offset_ns, s.clock_offset_ns),
    clock_skew_ppm = coalesce(d.skew_ppm, s.clock_skew_ppm),
    clock_rms_ns = coalesce(d.rms_ns, s.clock_rms_ns),
    clock_pairs = coalesce(d.pairs, s.clock_pairs)
  from unnest($1::int[], $2::int8multirange[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::int8[], $7::float8[], $8::float8[], $9::int[])
    as d (id, seqs, last_packet_at, recorded_from, last_sample_at, offset_ns, skew_ppm, rms_ns, pairs)
  where s.id = d.id`;

function newDirty(): Dirty {
  return { seqs: new SeqRanges(), lastPacketNs: 0n, firstNs: null, lastNs: null, clock: null, changed: false };
}

/** Rounds down to a millisecond. */
function dateOf(ns: bigint): Date {
  return new Date(Number((ns - (((ns % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n));
}
