/** Writes what the service derives and what devices report beside samples: beats, features, measurements, events.
 *
 *  Outputs are written in the order in which they were added, many in one transaction. An output that replaces a range deletes and inserts
 *  in that transaction, so no reader sees the range empty. New rows go by COPY; when the table has one of them after all (23505: a replay)
 *  the batch is written again by way of temporary tables, where the newest row of a key wins. Writing twice is writing once.
 *
 *  A row that the database can never hold is set aside and the others are stored; a replacement with such a row is then written in pieces,
 *  so a reader may see its range half done for a moment.
 *
 *  Modes: `open` takes rows and stores them, one batch at a time; what comes meanwhile is the next batch. `closed`: everything was stored;
 *  takes nothing. `abandoned`, for good: takes rows only to forget them, and ends the batch under way without storing it; who waits for rows
 *  that were not begun waits for ever, and no checkpoint is saved any more. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { StreamId, SubjectId } from '../signal.ts';
import { CopyBuffer, copyRows, microseconds } from './copy-binary.ts';
import type { Database } from './database/database.ts';
import { derivedLock } from './database/locks.ts';
import { LetterBox } from './letter-box.ts';
import { Partitions } from './schema/partitions.ts';
import { reasonOf } from './set-aside.ts';
import type { Letter } from './set-aside.ts';
import { RowFault } from './database/sql-states.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';
import { WriterConnection } from './database/writer-connection.ts';

export type DerivedBeat = Readonly<{
  channelNo: number;
  /** ns of the device clock. */
  tNs: bigint;
  /** NaN after a gap. */
  ibiMs: number;
  kind: 'normal' | 'ectopic' | 'artefact' | 'interpolated';
  reason: string;
  quality: 0 | 1 | 2;
  /** e.g. `derived:r_peaks_v4`. */
  method: string;
}>;

export type DerivedFeature = Readonly<{
  feature: string;
  /** -1: of the whole stream. */
  channelNo: number;
  /** End of its window, ns of the device clock. */
  tNs: bigint;
  /** NaN: could not be computed. */
  value: number;
  qmask: 0 | 1 | 2;
  methodCode: string;
}>;

/** Rows of one stream; the FeatureOutput of src/dsp fits. */
export type DerivedRows = Readonly<{
  streamId: StreamId;
  beats: readonly DerivedBeat[];
  features: readonly DerivedFeature[];
  /** Delete the stream's rows of the current methods with fromNs <= tNs < toNs first. Device clock. */
  replaces: Readonly<{ fromNs: bigint; toNs: bigint }> | null;
}>;

export type ReportedMeasurement = Readonly<{
  streamId: StreamId;
  /** With `index`, what makes it the same measurement when its packet is stored again. */
  seq: number;
  index: number;
  subjectId: SubjectId;
  /** As the packet names it; the catalog grows by a code that it does not know. */
  code: string;
  /** Unix ns. */
  tsNs: bigint;
  value: number;
  unit: string;
  quality: 0 | 1 | 2;
}>;

export type ReportedEvent = Readonly<{ streamId: StreamId; seq: number; index: number; code: string; tsNs: bigint; text: string }>;

/** Rows that are written together. */
type Batch = Readonly<{
  steps: readonly Step[];
  measurements: readonly Logged<ReportedMeasurement>[];
  events: readonly Logged<ReportedEvent>[];
}>;
/** Of a packet that is in this batch of packet_log. */
type Logged<T> = T & Readonly<{ logPosition: number | null }>;

export type DerivedWriterOptions = Readonly<{
  /** Method codes whose rows a replaced range holds: those that this release computes. Rows of other versions are left alone. */
  currentMethods: readonly string[];
  /** Name, cadence and unit of features, for the catalog of methods. */
  cadences?: Readonly<Record<string, number>>;
  /** Rows not yet stored, bytes; above it `full` is true. Default 32 MiB. */
  queueBytesMax?: number;
  /** Rows leave this long after the first, ms. Default 200. */
  lingerMs?: number;
  /** Told what is tried again: once, until something is stored. */
  onFault?: (message: string, cause: unknown) => void;
  /** Told what was set aside. */
  onSetAside?: (letters: readonly Letter[]) => void;
}>;

type Step = Readonly<{ epochNs: bigint; rows: DerivedRows; done: () => void }>;

type Method = Readonly<{ kind: 'beat' | 'feature'; code: string; name: string }>;

/** Rows that are written together, and the step whose range is deleted before them. */
type Group = Readonly<{
  replaces: Step | null;
  beats: CopyBuffer;
  features: CopyBuffer;
  /** Unix µs. */
  beatTimes: readonly number[];
  featureTimes: readonly number[];
}>;

/** A beat's method is named by its code. */
const BEAT_NAME = '';
const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;
const BEAT_COLUMNS = 'time, ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason';
const FEATURE_COLUMNS = 'time, ts_ns, value, stream_id, method_id, channel_no, qmask';
/** Approximate memory per queued row, bytes. */
const ROW_BYTES = 100;
/** Streams whose rows are further apart are written in transactions of their own, ms. */
const APART_MS = 600_000;

export class DerivedWriter {
  readonly #options: Required<Omit<DerivedWriterOptions, 'onFault' | 'onSetAside'>>;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #letters: LetterBox;
  readonly #connection: WriterConnection;
  readonly #partitions: Partitions;
  readonly #notesRanges: boolean;
  /** By code, then by name. */
  readonly #methodIds = { beat: new Map<string, Map<string, number>>(), feature: new Map<string, Map<string, number>>() };
  #steps: Step[] = [];
  #measurements: Logged<ReportedMeasurement>[] = [];
  #events: Logged<ReportedEvent>[] = [];
  #reportedDone: (() => void)[] = [];
  #queueBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #mode: 'open' | 'closed' | 'abandoned' = 'open';

  constructor(database: Database, options: DerivedWriterOptions) {
    this.#options = {
      currentMethods: options.currentMethods,
      cadences: options.cadences ?? {},
      queueBytesMax: options.queueBytesMax ?? 32 * 1024 * 1024,
      lingerMs: options.lingerMs ?? 200,
    };
    this.#onFault = options.onFault ?? (() => {});
    this.#partitions = new Partitions(database);
    this.#notesRanges = database.kind === 'timescale';
    this.#connection = new WriterConnection(database, {
      onRetry: (error, attempt) => this.#onFault(`derived rows: attempt ${attempt}: ${error.message}`, error),
    });
    this.#letters = new LetterBox(this.#connection, {
      label: 'derived rows',
      onFault: options.onFault,
      onSetAside: options.onSetAside,
      isStopped: () => this.#mode !== 'open',
    });
  }

  /** Not yet stored, bytes. */
  get queueBytes(): number {
    return this.#queueBytes;
  }

  get full(): boolean {
    return this.#queueBytes > this.#options.queueBytesMax;
  }

  /** Adds rows of one stream. @returns when they are stored; never rejects */
  add(rows: DerivedRows, epochNs: bigint): Promise<void> {
    if (rows.beats.length === 0 && rows.features.length === 0 && rows.replaces === null) return Promise.resolve();
    return new Promise((done) => {
      this.#steps.push({ epochNs, rows, done });
      this.#queued(rows.beats.length + rows.features.length);
    });
  }

  /** Adds what a packet reports beside samples. @param logPosition of the packet  @returns when it is stored; never rejects */
  addReported(
    measurements: readonly ReportedMeasurement[],
    events: readonly ReportedEvent[],
    logPosition: number | null = null,
  ): Promise<void> {
    if (measurements.length === 0 && events.length === 0) return Promise.resolve();
    return new Promise((done) => {
      for (const row of measurements) this.#measurements.push({ ...row, logPosition });
      for (const row of events) this.#events.push({ ...row, logPosition });
      this.#reportedDone.push(done);
      this.#queued(measurements.length + events.length);
    });
  }

  async flush(): Promise<void> {
    while (this.#steps.length > 0 || this.#reportedDone.length > 0 || this.#writing !== null) {
      this.#startWriting();
      await this.#writing;
    }
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#end('closed');
  }

  /** Ends without storing: the next owner of the log has the packets and computes the rows again. */
  async abandon(): Promise<void> {
    this.#steps = [];
    this.#measurements = [];
    this.#events = [];
    this.#reportedDone = [];
    await this.#end('abandoned');
  }

  async #end(mode: 'closed' | 'abandoned'): Promise<void> {
    assert(this.#steps.length === 0 && this.#reportedDone.length === 0, 'the writer of derived rows was ended with rows that wait');
    if (this.#mode === 'open') this.#mode = mode;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#connection.close();
  }

  #queued(rowCount: number): void {
    assert(this.#mode !== 'closed', 'derived rows came after their writer was closed');
    this.#queueBytes += rowCount * ROW_BYTES;
    if (this.#writing === null && this.#mode === 'open') this.#timer ??= setTimeout(() => this.#startWriting(), this.#options.lingerMs);
  }

  #startWriting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || (this.#steps.length === 0 && this.#reportedDone.length === 0)) return;
    const steps = this.#steps;
    const measurements = this.#measurements;
    const events = this.#events;
    const done = [...steps.map((step) => step.done), ...this.#reportedDone];
    const bytes = this.#queueBytes;
    this.#steps = [];
    this.#measurements = [];
    this.#events = [];
    this.#reportedDone = [];
    this.#writing = this.#storeByTime({ steps, measurements, events }).finally(() => {
      assert(this.#queueBytes >= bytes, 'more derived rows were stored than were taken');
      this.#queueBytes -= bytes;
      this.#writing = null;
      for (const resolve of done) resolve();
      if (this.#steps.length > 0 || this.#reportedDone.length > 0) this.#queued(0);
    });
  }

  /** TimescaleDB notes one range per transaction and chunk as touched, from its oldest row to its newest: an hour of last week in one
   *  transaction with this second would have the aggregates of that week computed again, everybody's. */
  async #storeByTime(batch: Batch): Promise<void> {
    const [first = [], ...others] = this.#notesRanges ? stepsByTime(batch.steps) : [batch.steps];
    await this.#store({ ...batch, steps: first });
    for (const steps of others) await this.#store({ steps, measurements: [], events: [] });
  }

  #store(batch: Batch): Promise<void> {
    return storeOrSetAside(batch, false, {
      write: (part, careful) => this.#write(part, careful),
      halve,
      apart,
      setAside: (part, why) => this.#setAside(part, why),
      forgetPartitions: () => this.#partitions.forget(),
      isStopped: () => this.#mode !== 'open',
      onFault: (error) => this.#letters.fault(error),
    });
  }

  async #write({ steps, measurements, events }: Batch, careful: boolean): Promise<void> {
    await this.#connection.run(async (client) => {
      const groups = await this.#encode(client, steps);
      await this.#ensurePartitions(client, groups, measurements, events);
      await client.query('begin');
      for (const group of groups) await this.#writeGroup(client, group, careful);
      if (measurements.length > 0) await this.#writeMeasurements(client, measurements);
      if (events.length > 0) await writeEvents(client, events);
      await client.query('commit');
    });
    this.#letters.stored();
  }

  async #setAside(batch: Batch, why: unknown): Promise<void> {
    await this.#letters.put(lettersOf(batch, why));
  }

  /** Rows as they go to the server; methods that the catalog lacks are entered. */
  async #encode(client: pg.Client, steps: readonly Step[]): Promise<readonly Group[]> {
    const missing = new Map<string, Method>();
    const encodeAll = (): Group[] => {
      try {
        return groupSteps(steps).map((group) => this.#encodeGroup(group, missing));
      } catch (error) {
        throw new RowFault(`it could not be encoded: ${(error as Error).message}`, { cause: error });
      }
    };
    const groups = encodeAll();
    if (missing.size === 0) return groups;
    for (const method of missing.values()) await this.#enterMethod(client, method);
    return encodeAll();
  }

  #encodeGroup(group: readonly Step[], missing: Map<string, Method>): Group {
    const beats = new CopyBuffer(1024);
    const features = new CopyBuffer();
    const beatTimes: number[] = [];
    const featureTimes: number[] = [];
    for (const { epochNs, rows } of group) {
      for (const beat of rows.beats) {
        const methodId = this.#methodId('beat', beat.method, BEAT_NAME, missing);
        const tsNs = epochNs + beat.tNs;
        const us = microseconds(tsNs);
        beatTimes.push(us);
        beats.row(9);
        beats.timestamptz(us);
        beats.int8(tsNs);
        beats.int4(rows.streamId);
        beats.int2(beat.channelNo);
        beats.int2(methodId);
        beats.float8(beat.ibiMs);
        beats.int2(beatKinds.indexOf(beat.kind));
        beats.int2(beat.quality);
        beats.text(beat.reason);
      }
      for (const feature of rows.features) {
        const methodId = this.#methodId('feature', feature.methodCode, feature.feature, missing);
        const tsNs = epochNs + feature.tNs;
        const us = microseconds(tsNs);
        featureTimes.push(us);
        features.row(7);
        features.timestamptz(us);
        features.int8(tsNs);
        features.float8(feature.value);
        features.int4(rows.streamId);
        features.int2(methodId);
        features.int2(feature.channelNo);
        features.int2(feature.qmask);
      }
    }
    const first = group[0]!;
    return { replaces: first.rows.replaces === null ? null : first, beats, features, beatTimes, featureTimes };
  }

  /** One replacement with what follows it up to the next. */
  async #writeGroup(client: pg.Client, { replaces, beats, features }: Group, careful: boolean): Promise<void> {
    if (replaces !== null) await this.#deleteRange(client, replaces);
    if (careful) {
      await copyByTemporary(client, 'beat', BEAT_COLUMNS, 'stream_id, channel_no, method_id, time', beats);
      await copyByTemporary(client, 'feature', FEATURE_COLUMNS, 'stream_id, method_id, channel_no, time', features);
    } else {
      await copyRows(client, `beat (${BEAT_COLUMNS})`, beats);
      await copyRows(client, `feature (${FEATURE_COLUMNS})`, features);
    }
  }

  async #deleteRange(client: pg.Client, { epochNs, rows }: Step): Promise<void> {
    const { fromNs, toNs } = rows.replaces!;
    // Of two at the same moment neither would see the other's rows, and both would stay.
    await client.query(`select pg_advisory_xact_lock(${derivedLock(rows.streamId)})`);
    const range = [microseconds(epochNs + fromNs), microseconds(epochNs + toNs), epochNs + fromNs, epochNs + toNs].map(String);
    for (const table of ['beat', 'feature']) {
      await client.query(
        `delete from ${table}
         where time >= timestamptz 'epoch' + $1::int8 * interval '1 microsecond' and time <= timestamptz 'epoch' + $2::int8 * interval '1 microsecond'
           and ts_ns >= $3 and ts_ns < $4
           and stream_id = $5 and method_id = any ((select array_agg(id) from method where code = any ($6))::smallint[])`,
        [...range, rows.streamId, this.#options.currentMethods],
      );
    }
  }

  /** @param name BEAT_NAME: in the code  @returns 0 when it is missing, and notes it */
  #methodId(kind: Method['kind'], code: string, name: string, missing: Map<string, Method>): number {
    const id = this.#methodIds[kind].get(code)?.get(name);
    if (id !== undefined) return id;
    missing.set(`${kind}:${code}:${name}`, { kind, code, name });
    return 0;
  }

  async #enterMethod(client: pg.Client, { kind, code, name: given }: Method): Promise<void> {
    const name = given === BEAT_NAME ? code.replace(/^[^:]*:|_v\d+$/g, '') : given;
    const cadence = kind === 'feature' ? (this.#options.cadences[name] ?? null) : null;
    const { rows } = await client.query<{ id: number }>(
      `insert into method (kind, name, code, cadence_hz, unit)
       values ($1, $2, $3, $4, coalesce((select unit from biosignal where feature = $2 and project_id is null limit 1), ''))
       on conflict (kind, name, code) do update set cadence_hz = coalesce(excluded.cadence_hz, method.cadence_hz) returning id`,
      [kind, name, code, cadence],
    );
    const ids = this.#methodIds[kind];
    if (!ids.has(code)) ids.set(code, new Map());
    ids.get(code)!.set(given, rows[0]!.id);
  }

  async #ensurePartitions(
    client: pg.Client,
    groups: readonly Group[],
    measurements: readonly ReportedMeasurement[],
    events: readonly ReportedEvent[],
  ): Promise<void> {
    for (const { beatTimes, featureTimes } of groups) {
      await this.#partitions.ensure(client, 'beat', beatTimes);
      await this.#partitions.ensure(client, 'feature', featureTimes);
    }
    await this.#partitions.ensure(
      client,
      'measurement',
      measurements.map((row) => microseconds(row.tsNs)),
    );
    await this.#partitions.ensure(
      client,
      'device_event',
      events.map((row) => microseconds(row.tsNs)),
    );
  }

  async #writeMeasurements(client: pg.Client, rows: readonly ReportedMeasurement[]): Promise<void> {
    await client.query(
      `insert into biosignal (project_id, name, abbreviation, unit, signal_type, role, source_type, code)
       select distinct on (x.project_id, m.code) x.project_id, m.code, upper(m.code), m.unit, 'scalar', 'measurement', 'device', m.code
       from unnest($1::uuid[], $2::text[], $3::text[]) as m (xuser_id, code, unit) join xuser x on x.id = m.xuser_id
       where not exists (select from biosignal b where b.code = m.code and (b.project_id is null or b.project_id = x.project_id))
       on conflict do nothing`,
      [rows.map((row) => row.subjectId), rows.map((row) => row.code), rows.map((row) => row.unit)],
    );
    await client.query(
      `insert into measurement
         (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit, qmask, device_id, stream_id, given_value, given_unit)
       select timestamptz 'epoch' + m.us * interval '1 microsecond', m.ts_ns, m.id, x.organization_id, x.project_id, x.id, b.id, v.value, v.unit,
         -- Acknowledged, so it is kept: what cannot be is bad, what is unlikely suspect. In a unit that does not convert a number is none of
         -- this biosignal's, and must not be charted as one.
         greatest(m.qmask, case
           when v.unit <> b.unit then case when b.unit = '' then 0 else 2 end
           when v.value not between coalesce(b.possible_min, '-infinity') and coalesce(b.possible_max, 'infinity') then 2
           when v.value not between coalesce(b.plausible_min, '-infinity') and coalesce(b.plausible_max, 'infinity') then 1
           else 0 end),
         s.device_id, s.id, case when c.given is not null then m.value end, c.given
       from unnest($1::int8[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::float8[], $7::text[], $8::smallint[], $9::int[])
         as m (us, ts_ns, id, xuser_id, code, value, unit, qmask, stream_id)
       join xuser x on x.id = m.xuser_id
       join stream s on s.id = m.stream_id
       cross join lateral (
         select b.* from biosignal b where b.code = m.code and (b.project_id is null or b.project_id = x.project_id)
         order by b.project_id nulls last limit 1) b
       -- A number whose conversion a float8 might not hold (22003) is none of a measurement: it stays as it came, bad.
       left join unit_conversion c on c.given = m.unit and c.unit = b.unit and c.code in ('', b.code) and abs(m.value) < 1e300
       cross join lateral (
         -- Through numeric: to 15 digits, so that 109.4 [degF] is 43 Cel and not a little more than what is plausible.
         select case when c.given is null or (c.factor = 1 and c.shift = 0) then m.value
             else (m.value * c.factor + c.shift)::numeric::float8 end as value,
           case when m.unit = '' or c.given is not null then b.unit else m.unit end as unit) v
       on conflict do nothing`,
      [
        rows.map((row) => microseconds(row.tsNs)),
        rows.map((row) => row.tsNs.toString()),
        rows.map((row) => stableId('measurement', row)),
        rows.map((row) => row.subjectId),
        rows.map((row) => row.code),
        rows.map((row) => row.value),
        rows.map((row) => row.unit),
        rows.map((row) => row.quality),
        rows.map((row) => row.streamId),
      ],
    );
  }
}

/** The steps in parts that begin at about the same time, the oldest first. All steps of a stream are in one part, in their order. */
function stepsByTime(steps: readonly Step[]): readonly (readonly Step[])[] {
  const streams = new Map<StreamId, { beginMs: number; steps: Step[] }>();
  for (const step of steps) {
    const beginMs = beginOf(step);
    const stream = streams.get(step.rows.streamId);
    if (stream === undefined) streams.set(step.rows.streamId, { beginMs, steps: [step] });
    else {
      stream.steps.push(step);
      stream.beginMs = Math.min(stream.beginMs, beginMs);
    }
  }
  const parts: Step[][] = [];
  let lastMs = -Infinity;
  for (const { beginMs, steps: own } of [...streams.values()].sort((a, b) => a.beginMs - b.beginMs)) {
    if (beginMs - lastMs > APART_MS) parts.push([]);
    parts.at(-1)!.push(...own);
    lastMs = beginMs;
  }
  return parts;
}

/** Time of the first row that a step writes or deletes, Unix ms. */
function beginOf({ epochNs, rows }: Step): number {
  const tNs = rows.replaces?.fromNs ?? rows.beats[0]?.tNs ?? rows.features[0]?.tNs ?? 0n;
  return Number((epochNs + tNs) / 1_000_000n);
}

function halve(batch: Batch): readonly [Batch, Batch] | null {
  const { steps, measurements, events } = batch;
  const reportedCount = measurements.length + events.length;
  if (steps.length > 0 && reportedCount > 0)
    return [
      { ...batch, measurements: [], events: [] },
      { ...batch, steps: [] },
    ];
  if (measurements.length > 0 && events.length > 0)
    return [
      { ...batch, events: [] },
      { ...batch, measurements: [] },
    ];
  if (steps.length + reportedCount > 1) {
    const [firstSteps, secondSteps] = halvesOf(steps);
    const [firstMeasurements, secondMeasurements] = halvesOf(measurements);
    const [firstEvents, secondEvents] = halvesOf(events);
    return [
      { steps: firstSteps, measurements: firstMeasurements, events: firstEvents },
      { steps: secondSteps, measurements: secondMeasurements, events: secondEvents },
    ];
  }
  const [first, second] = steps.length === 1 ? halvesOfStep(steps[0]!) : [null, null];
  return first === null
    ? null
    : [
        { ...batch, steps: [first] },
        { ...batch, steps: [second] },
      ];
}

function halvesOf<T>(rows: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = rows.length >> 1;
  return [rows.slice(0, middle), rows.slice(middle)];
}

/** The range is deleted with the first half, and at last by itself: a row that is refused must not leave the old ones beside the new.
 *  @returns nulls when it is one row, or a range without rows */
function halvesOfStep(step: Step): readonly [Step, Step] | readonly [null, null] {
  const { beats, features } = step.rows;
  const rowCount = beats.length + features.length;
  if (rowCount === 1 && step.rows.replaces !== null)
    return [
      { ...step, rows: { ...step.rows, beats: [], features: [] } },
      { ...step, rows: { ...step.rows, replaces: null } },
    ];
  if (rowCount < 2) return [null, null];
  const both = beats.length > 0 && features.length > 0;
  const [firstBeats, secondBeats] = both ? [beats, []] : halvesOf(beats);
  const [firstFeatures, secondFeatures] = both ? [[], features] : halvesOf(features);
  return [
    { ...step, rows: { ...step.rows, beats: firstBeats, features: firstFeatures } },
    { ...step, rows: { ...step.rows, beats: secondBeats, features: secondFeatures, replaces: null } },
  ];
}

/** The ranges of replacements, to be deleted although their rows are set aside: the old rows must not stay beside the new. */
function apart(batch: Batch): readonly [Batch | null, Batch] {
  const hasRows = ({ rows }: Step): boolean => rows.beats.length + rows.features.length > 0;
  const ranges = batch.steps.filter((step) => step.rows.replaces !== null);
  if (!ranges.some(hasRows)) return [null, batch];
  return [
    { steps: ranges.map((step) => ({ ...step, rows: { ...step.rows, beats: [], features: [] } })), measurements: [], events: [] },
    { ...batch, steps: batch.steps.filter(hasRows).map((step) => ({ ...step, rows: { ...step.rows, replaces: null } })) },
  ];
}

function lettersOf({ steps, measurements, events }: Batch, why: unknown): Letter[] {
  const reason = reasonOf(why);
  const row = { ...reason, bytes: null };
  return [
    ...steps.map(({ epochNs, rows }): Letter => {
      const { streamId, ...content } = rows;
      return { ...row, kind: 'derived', streamId, logPosition: null, content: { epochNs, ...content } };
    }),
    ...measurements.map(({ streamId, subjectId, logPosition, ...content }): Letter => {
      return { ...row, kind: 'measurement', streamId, subjectId, logPosition, content };
    }),
    ...events.map(({ streamId, logPosition, ...content }): Letter => ({ ...row, kind: 'event', streamId, logPosition, content })),
  ];
}

/** Cuts before every replacement, so that rows added before it are deleted by it and rows after it are not. */
function groupSteps(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    if (groups.length === 0 || step.rows.replaces !== null) groups.push([step]);
    else groups.at(-1)!.push(step);
  }
  return groups;
}

/** The newest row of a key wins, as if each had been written after the other. */
async function copyByTemporary(client: pg.Client, table: string, columns: string, key: string, rows: CopyBuffer): Promise<void> {
  if (rows.rowCount === 0) return;
  const temporary = `incoming_${table}`;
  await client.query(
    `create temporary table if not exists ${temporary} (like ${table}, ordinal bigint generated always as identity) on commit delete rows`,
  );
  await copyRows(client, `${temporary} (${columns})`, rows);
  const values = columns.split(', ').filter((column) => !key.split(', ').includes(column));
  await client.query(
    `insert into ${table} (${columns}) select distinct on (${key}) ${columns} from ${temporary} order by ${key}, ordinal desc
     on conflict (${key}) do update set ${values.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  await client.query(`delete from ${temporary}`);
}

async function writeEvents(client: pg.Client, rows: readonly ReportedEvent[]): Promise<void> {
  await client.query(
    `with written as (
       insert into device_event (time, ts_ns, id, stream_id, code, content)
       select timestamptz 'epoch' + e.us * interval '1 microsecond', e.ts_ns, e.id, e.stream_id, e.code, e.content
       from unnest($1::int8[], $2::int8[], $3::uuid[], $4::int[], $5::text[], $6::text[]) as e (us, ts_ns, id, stream_id, code, content)
       on conflict do nothing
       returning id, time, stream_id, code, content)
     select open_event_episode(id, time, stream_id, code, content) from written`,
    [
      rows.map((row) => microseconds(row.tsNs)),
      rows.map((row) => row.tsNs.toString()),
      rows.map((row) => stableId('event', row)),
      rows.map((row) => row.streamId),
      rows.map((row) => row.code),
      rows.map((row) => row.text),
    ],
  );
}

/** A uuid (version 8) that is a pure function of where the item stands in which packet. */
function stableId(kind: string, item: Readonly<{ streamId: number; seq: number; index: number }>): string {
  const bytes = createHash('sha256').update(`${kind}:${item.streamId}:${item.seq}:${item.index}`).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
