/** Beats and values of a batch into the database: the minutes that they touch, as whole rows.
 *
 *  A minute that is not over stays in memory and in derived_open, one row a stream; one that is over becomes a row of feature_block or
 *  beat_block, and whatever comes for it later writes that row again. So a minute is in one place, and a reader takes both together.
 *
 *  Who else writes (reprocess, an owner that was followed) is noticed by the version of a stream's row in derived_open, which every write
 *  raises: then what is known of the stream is forgotten, read again, and the batch written once more. A crash of PostgreSQL empties that
 *  table and keeps our memory: the row of stream 0 has another version then, and everything open is written again. */
import assert from 'node:assert/strict';
import type pg from 'pg';
import type { StreamId } from '../signal.ts';
import { CopyBuffer, copyRows, microseconds } from './copy-binary.ts';
import { derivedLock } from './database/locks.ts';
import { RowFault } from './database/sql-states.ts';
import { MINUTE_NS } from './derived-block.ts';
import {
  beatBlockOf,
  checkPoint,
  featureBlockOf,
  keyOf,
  minuteKey,
  minutesOfOpenRow,
  openRowOf,
  placeOf,
  aFeature,
  pointsOfBeats,
  pointsOfFeatures,
  withPoints,
  type Minute,
  type OpenStream,
  type Point,
  type SeriesKind,
} from './derived-minutes.ts';
import { beatBlockColumns, featureBlockColumns, putBeatBlock, putFeatureBlock } from './derived-rows.ts';
import type { Step } from './derived-steps.ts';
import { withoutErased } from './erased-streams.ts';
import type { Partitions } from './schema/partitions.ts';

export type DerivedStoreOptions = Readonly<{
  currentMethods: readonly string[];
  cadences: Readonly<Record<string, number>>;
  /** See DerivedWriterOptions. */
  valueSteps: Readonly<Record<string, number>>;
  units: Readonly<Record<string, string>>;
  /** Called with what is damaged. */
  onFault: (message: string, cause: unknown) => void;
}>;

/** Another process has written to these streams. */
export class StaleStreams extends Error {
  override readonly name = 'StaleStreams';
  readonly streamIds: readonly StreamId[];

  constructor(streamIds: readonly StreamId[]) {
    super(`the open minutes of ${streamIds.length} streams were written by another process`);
    this.streamIds = streamIds;
  }
}

type Method = Readonly<{ kind: SeriesKind; code: string; name: string }>;
type KnownMethod = Readonly<{ id: number; perUnit: number }>;

/** Of one stream, while an attempt is under way. */
type Working = { readonly streamId: StreamId; readonly version: number; readonly minutes: Map<string, Minute>; completes: boolean };

/** A beat's method is named by its code. */
const BEAT_NAME = '';
const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;
const tables = { feature: 'feature_block', beat: 'beat_block' } as const;
const keys = { feature: 'stream_id, method_id, channel_no, time', beat: 'stream_id, channel_no, method_id, time' } as const;
const columns = { feature: featureBlockColumns, beat: beatBlockColumns } as const;
const kinds = ['feature', 'beat'] as const;
const MINUTE_US = MINUTE_NS / 1000;
/** Minutes before now that may be open. */
const OPEN_MINUTES = 10;
/** The row that says that derived_open was not emptied, without minutes. */
const NOT_EMPTIED = 0;

/** How many steps are one of a method's unit: steps_per_unit() of sql/000057-derived-reading.sql. */
const stepsPerUnit = (step: number): number => (step > 0 ? Math.round(1 / step) : 1000);

export class DerivedStore {
  readonly #options: DerivedStoreOptions;
  readonly #partitions: Partitions;
  /** By code, then by name. */
  readonly #methods = { beat: new Map<string, Map<string, KnownMethod>>(), feature: new Map<string, Map<string, KnownMethod>>() };
  readonly #streams = new Map<StreamId, OpenStream>();
  /** Of derived_open, as it was last written. */
  #generation: bigint | null = null;

  constructor(partitions: Partitions, options: DerivedStoreOptions) {
    this.#options = options;
    this.#partitions = partitions;
  }

  forget(streamIds: readonly StreamId[]): void {
    for (const streamId of streamIds) this.#streams.delete(streamId);
  }

  /** Streams with open minutes that nothing was written to since. @param beforeMs of performance.now() */
  untouched(beforeMs: number): StreamId[] {
    return [...this.#streams].filter(([, { touchedMs }]) => touchedMs < beforeMs).map(([streamId]) => streamId);
  }

  /** What a write needs that is not part of its transaction: methods in the catalog, partitions, what is open of its streams. */
  async prepare(client: pg.Client, steps: readonly Step[]): Promise<void> {
    await this.#enterMethods(client, steps);
    const unknown = [...new Set(steps.map(({ rows }) => rows.streamId))].filter((streamId) => !this.#streams.has(streamId));
    if (unknown.length > 0) {
      const { rows } = await client.query<{ stream_id: number; version: bigint; data: Buffer }>(
        'select stream_id, version, data from derived_open where stream_id = any ($1::int[])',
        [unknown],
      );
      for (const { stream_id, version, data } of rows)
        this.#streams.set(stream_id as StreamId, {
          version: Number(version),
          minutes: this.#minutesOf(stream_id as StreamId, data),
          touchedMs: performance.now(),
        });
    }
    const times = { beat: new Set<number>(), feature: new Set<number>() };
    for (const { epochNs, rows } of steps) {
      for (const { tNs } of rows.beats) times.beat.add(microseconds(epochNs + tNs));
      for (const { tNs } of rows.features) times.feature.add(microseconds(epochNs + tNs));
      for (const { kind, minute } of this.#streams.get(rows.streamId)?.minutes ?? []) times[kind].add(minute * MINUTE_US);
    }
    for (const kind of kinds) await this.#partitions.ensure(client, tables[kind], times[kind]);
  }

  /** Of a damaged row none: they are computed again from stored samples, as after a crash of PostgreSQL, and the row is written anew. */
  #minutesOf(streamId: StreamId, data: Buffer): Minute[] {
    try {
      return minutesOfOpenRow(data);
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      this.#told(`the open minutes of stream ${streamId}`, error);
      return [];
    }
  }

  #told(what: string, error: RowFault): void {
    this.#options.onFault(`derived rows: ${what} cannot be read, written anew: ${error.message}`, error);
  }

  /** Writes in the caller's transaction, which holds the log. @param steps of streams that are not erased
   *  @param careful a minute that is thought to be new may have a row
   *  @returns to be called when it is committed
   *  @throws StaleStreams when another process has written to one of them: forget them and begin again */
  async write(client: pg.Client, steps: readonly Step[], careful: boolean): Promise<() => void> {
    const generation = await generationOf(client);
    const wasEmptied = this.#generation !== null && generation !== this.#generation;
    const working = new Map<StreamId, Working>();
    for (const { rows, completes } of steps) {
      const stream = working.get(rows.streamId) ?? this.#begin(rows.streamId);
      stream.completes ||= completes;
      working.set(rows.streamId, stream);
    }
    if (wasEmptied) {
      const others = [...this.#streams.keys()].filter((streamId) => !working.has(streamId));
      const kept = await withoutErased(client, others, (streamId) => streamId);
      for (const streamId of kept) working.set(streamId, this.#begin(streamId));
    }
    const current = await this.#readReplaced(client, steps, working);
    await this.#readTouched(client, steps, working, careful);
    for (const step of steps) this.#apply(step, working.get(step.rows.streamId)!, current);
    const installed = await this.#store(client, [...working.values()], wasEmptied, careful);
    return () => {
      this.#generation = generation;
      installed();
    };
  }

  #begin(streamId: StreamId): Working {
    const open = this.#streams.get(streamId);
    const minutes = new Map(open?.minutes.map((minute) => [keyOf(minute), { ...minute }]));
    return { streamId, version: open?.version ?? 0, minutes, completes: false };
  }

  // ------------------------------------------------------------------------------------------------ what is there

  /** Reads the rows that ranges to be replaced reach into, of current methods. @returns the ids of these methods, by kind */
  async #readReplaced(client: pg.Client, steps: readonly Step[], working: Map<StreamId, Working>): Promise<ReadonlySet<string>> {
    const replacing = steps.filter(({ rows }) => rows.replaces !== null);
    if (replacing.length === 0) return new Set();
    const methods = await client.query<{ id: number; kind: SeriesKind }>('select id, kind from method where code = any ($1)', [
      this.#options.currentMethods,
    ]);
    for (const { epochNs, rows } of replacing) {
      // Of two at the same moment neither would see the other's rows.
      await client.query(`select pg_advisory_xact_lock(${derivedLock(rows.streamId)})`);
      const { fromNs, toNs } = rows.replaces!;
      const [from, to] = [placeOf(epochNs + fromNs).minute, placeOf(epochNs + toNs).minute];
      for (const kind of kinds) {
        const ids = methods.rows.filter((method) => method.kind === kind).map(({ id }) => id);
        const found = await client.query<BlockRow>(
          `select ${storedColumns[kind]} from ${tables[kind]} b
           where b.time >= to_timestamp($1::float8) and b.time <= to_timestamp($2::float8) and b.stream_id = $3 and b.method_id = any ($4::smallint[])`,
          [from * 60, to * 60, rows.streamId, ids],
        );
        for (const row of found.rows) {
          try {
            take(working.get(rows.streamId)!, kind, row);
          } catch (error) {
            if (!(error instanceof RowFault)) throw error;
            // What is computed again takes its place: otherwise the whole range would be refused.
            this.#told(`a ${kind} minute of stream ${rows.streamId}`, error);
            take(working.get(rows.streamId)!, kind, row, []);
          }
        }
      }
    }
    return new Set(methods.rows.map(({ id, kind }) => `${kind}:${id}`));
  }

  /** Reads the rows of minutes that get points and are not in memory. @param careful of those in memory, too */
  async #readTouched(client: pg.Client, steps: readonly Step[], working: Map<StreamId, Working>, careful: boolean): Promise<void> {
    const asked = { beat: new Map<string, AskedMinute>(), feature: new Map<string, AskedMinute>() };
    const ask = (streamId: StreamId, kind: SeriesKind, methodId: number, channelNo: number, minute: number): void => {
      const key = minuteKey(kind, methodId, channelNo, minute);
      if (careful || !working.get(streamId)!.minutes.has(key))
        asked[kind].set(`${streamId}:${key}`, { streamId, methodId, channelNo, minute });
    };
    for (const { epochNs, rows } of steps) {
      for (const { method, channelNo, tNs } of rows.beats)
        ask(rows.streamId, 'beat', this.#method('beat', method, BEAT_NAME).id, channelNo, placeOf(epochNs + tNs).minute);
      for (const { methodCode, feature, channelNo, tNs } of rows.features)
        ask(rows.streamId, 'feature', this.#method('feature', methodCode, feature).id, channelNo, placeOf(epochNs + tNs).minute);
    }
    if (careful)
      for (const { streamId, minutes } of working.values())
        for (const { kind, methodId, channelNo, minute } of minutes.values()) ask(streamId, kind, methodId, channelNo, minute);
    for (const kind of kinds) {
      const wanted = [...asked[kind].values()];
      if (wanted.length === 0) continue;
      const minutes = wanted.map(({ minute }) => minute);
      const { rows } = await client.query<BlockRow & { stream_id: number }>(
        `select b.stream_id, ${storedColumns[kind]}
         from unnest($1::int[], $2::smallint[], $3::smallint[], $4::float8[]) as k (stream_id, method_id, channel_no, sec)
         cross join lateral (
           select * from ${tables[kind]} b
           where b.stream_id = k.stream_id and b.method_id = k.method_id and b.channel_no = k.channel_no and b.time = to_timestamp(k.sec)
             and b.time >= to_timestamp($5::float8) and b.time <= to_timestamp($6::float8)
           offset 0) b -- one look by the key for each`,
        [
          wanted.map(({ streamId }) => streamId),
          wanted.map(({ methodId }) => methodId),
          wanted.map(({ channelNo }) => channelNo),
          minutes.map((minute) => minute * 60),
          60 * minutes.reduce((a, b) => Math.min(a, b)),
          60 * minutes.reduce((a, b) => Math.max(a, b)),
        ],
      );
      for (const row of rows) take(working.get(row.stream_id as StreamId)!, kind, row);
    }
  }

  // ------------------------------------------------------------------------------------------------ what becomes of it

  #apply({ epochNs, rows }: Step, { minutes }: Working, current: ReadonlySet<string>): void {
    if (rows.replaces !== null) takeOut(minutes, current, epochNs + rows.replaces.fromNs, epochNs + rows.replaces.toNs);
    const added = new Map<string, { minute: Minute; points: Point[] }>();
    const add = (kind: SeriesKind, methodId: number, channelNo: number, tsNs: bigint, point: Omit<Point, 'ns'>): void => {
      const { minute, ns } = placeOf(tsNs);
      const key = minuteKey(kind, methodId, channelNo, minute);
      let into = added.get(key);
      if (into === undefined) {
        const known = minutes.get(key) ?? { kind, methodId, channelNo, minute, points: [], inBlock: false, changed: false };
        into = { minute: known, points: [] };
        added.set(key, into);
      }
      into.points.push(checkPoint({ ...point, ns }, channelNo));
    };
    for (const { method, channelNo, tNs, quality, ibiMs, kind, reason, confidence } of rows.beats)
      add('beat', this.#method('beat', method, BEAT_NAME).id, channelNo, epochNs + tNs, {
        flag: quality,
        steps: NaN,
        intervalUs: Math.round(ibiMs * 1000),
        kind: beatKinds.indexOf(kind),
        reason,
        confidence: Math.round(confidence * 100),
      });
    for (const { feature, methodCode, channelNo, tNs, value, qmask } of rows.features) {
      const { id, perUnit } = this.#method('feature', methodCode, feature);
      const steps = Math.round(value * perUnit) + 0;
      add('feature', id, channelNo, epochNs + tNs, { ...aFeature, flag: qmask, steps });
    }
    for (const [key, { minute, points }] of added)
      minutes.set(key, { ...minute, points: withPoints(minute.points, points), changed: true });
  }

  /** Complete minutes into their tables, open ones into derived_open. */
  async #store(client: pg.Client, streams: readonly Working[], wasEmptied: boolean, careful: boolean): Promise<() => void> {
    const added: Placed[] = [];
    const again: Placed[] = [];
    const gone: Placed[] = [];
    const open = streams.map((stream) => {
      const isOver = overOf(stream);
      const left: Minute[] = [];
      for (const minute of stream.minutes.values()) {
        const placed = { streamId: stream.streamId, minute };
        if (minute.inBlock) {
          if (minute.changed) (minute.points.length === 0 ? gone : again).push(placed);
        } else if (minute.points.length > 0) {
          if (isOver(minute)) added.push(placed);
          else left.push({ ...minute, changed: false });
        }
      }
      return { ...stream, left };
    });
    for (const kind of kinds) {
      const of = (placed: readonly Placed[]): Placed[] => placed.filter(({ minute }) => minute.kind === kind);
      if (gone.length > 0) await deleteMinutes(client, kind, of(gone));
      await upsertMinutes(client, kind, careful ? of([...again, ...added]) : of(again));
      if (!careful) await copyRows(client, `${tables[kind]} (${columns[kind]})`, rowsOf(kind, of(added)));
    }
    await this.#note(client, open, gone);
    const versions = await writeOpen(client, open, wasEmptied);
    return () => {
      const touchedMs = performance.now();
      for (const { streamId, left } of open) {
        if (left.length === 0) this.#streams.delete(streamId);
        else this.#streams.set(streamId, { version: versions.get(streamId)!, minutes: left, touchedMs });
      }
    };
  }

  /** Hours of features that change without a write to feature_block that adds: their minutes are open since now, or gone. */
  async #note(client: pg.Client, open: readonly OpenRow[], gone: readonly Placed[]): Promise<void> {
    const opened = open.flatMap(({ streamId, left }) => {
      const known = new Set(this.#streams.get(streamId)?.minutes.map(keyOf));
      return left.filter((minute) => !known.has(keyOf(minute))).map((minute): Placed => ({ streamId, minute }));
    });
    const noted = [...opened, ...gone].filter(({ minute }) => minute.kind === 'feature');
    if (noted.length === 0) return;
    await client.query(
      'select note_hours($1::int[], $2::smallint[], $3::smallint[], array(select to_timestamp(x) from unnest($4::float8[]) with ordinality as t (x, i) order by i))',
      [
        noted.map(({ streamId }) => streamId),
        noted.map(({ minute }) => minute.methodId),
        noted.map(({ minute }) => minute.channelNo),
        noted.map(({ minute }) => minute.minute * 60),
      ],
    );
  }

  // ------------------------------------------------------------------------------------------------ methods

  #method(kind: SeriesKind, code: string, name: string): KnownMethod {
    const method = this.#methods[kind].get(code)?.get(name);
    assert(method !== undefined, `method ${code} was not entered`);
    return method;
  }

  async #enterMethods(client: pg.Client, steps: readonly Step[]): Promise<void> {
    const missing = new Map<string, Method>();
    const need = (kind: SeriesKind, code: string, name: string): void => {
      if (this.#methods[kind].get(code)?.has(name) !== true) missing.set(`${kind}:${code}:${name}`, { kind, code, name });
    };
    for (const { rows } of steps) {
      for (const { method } of rows.beats) need('beat', method, BEAT_NAME);
      for (const { methodCode, feature } of rows.features) need('feature', methodCode, feature);
    }
    for (const method of missing.values()) await this.#enterMethod(client, method);
  }

  async #enterMethod(client: pg.Client, { kind, code, name: given }: Method): Promise<void> {
    const name = given === BEAT_NAME ? code.replace(/^[^:]*:|_v\d+$/g, '') : given;
    const cadence = kind === 'feature' ? (this.#options.cadences[name] ?? null) : null;
    const { rows } = await client.query<{ id: number; step: number }>(
      `insert into method (kind, name, code, cadence_hz, step, unit)
       values ($1, $2, $3, $4, $5, coalesce((select unit from biosignal where feature = $2 and project_id is null limit 1), $6))
       on conflict (kind, name, code) do update
         set cadence_hz = coalesce(excluded.cadence_hz, method.cadence_hz), unit = coalesce(nullif(method.unit, ''), excluded.unit)
       returning id, step`,
      [kind, name, code, cadence, this.#options.valueSteps[code] ?? 0, kind === 'feature' ? (this.#options.units[name] ?? '') : ''],
    );
    const known = this.#methods[kind];
    if (!known.has(code)) known.set(code, new Map());
    known.get(code)!.set(given, { id: rows[0]!.id, perUnit: stepsPerUnit(rows[0]!.step) });
  }
}

type AskedMinute = Readonly<{ streamId: StreamId; methodId: number; channelNo: number; minute: number }>;
type Placed = Readonly<{ streamId: StreamId; minute: Minute }>;

/** A row of feature_block or beat_block, with the columns that decoding needs. */
type BlockRow = Readonly<{
  method_id: number;
  channel_no: number;
  minute: number;
  n: number;
  min: number | null;
  sum: number | null;
  reasons: string | null;
  codec: Buffer;
}>;
const storedColumns = {
  feature: `b.method_id, b.channel_no, (date_part('epoch', b.time) / 60)::int as minute, b.n, b.min, b.sum::float8 as sum, b.codec`,
  beat: `b.method_id, b.channel_no, (date_part('epoch', b.time) / 60)::int as minute, b.n, b.reasons, b.codec`,
} as const;

/** A stored row becomes a minute of the attempt; what memory has of that minute came after it. @param instead of its points
 *  @throws RowFault when it is damaged */
function take({ minutes }: Working, kind: SeriesKind, row: BlockRow, instead: readonly Point[] | null = null): void {
  const { method_id: methodId, channel_no: channelNo, minute, n, min, sum, reasons, codec } = row;
  const key = minuteKey(kind, methodId, channelNo, minute);
  const known = minutes.get(key);
  if (known?.inBlock === true) return;
  const stored = instead ?? (kind === 'beat' ? pointsOfBeats({ n, reasons, codec }) : pointsOfFeatures({ n, min, sum, codec }));
  const points = known === undefined ? stored : withPoints(stored, known.points);
  minutes.set(key, { kind, methodId, channelNo, minute, points, inBlock: true, changed: known !== undefined || instead !== null });
}

/** Takes the points of [fromNs, toNs) out of minutes of current methods. */
function takeOut(minutes: Map<string, Minute>, current: ReadonlySet<string>, fromNs: bigint, toNs: bigint): void {
  for (const [key, minute] of minutes) {
    if (!current.has(`${minute.kind}:${minute.methodId}`)) continue;
    const startNs = BigInt(minute.minute) * BigInt(MINUTE_NS);
    const [from, to] = [Number(fromNs - startNs), Number(toNs - startNs)];
    const points = minute.points.filter(({ ns }) => ns < from || ns >= to);
    if (points.length < minute.points.length) minutes.set(key, { ...minute, points, changed: true });
  }
}

/** Which minutes of a stream are over: those that their series goes on after; because a series may have ended, those that the stream is a
 *  minute further than; and those of long ago, of a recording that is sent now. */
function overOf({ minutes, completes }: Working): (minute: Minute) => boolean {
  let newest = -Infinity;
  const newestOf = new Map<string, number>();
  const series = ({ kind, methodId, channelNo }: Minute): string => `${kind}:${methodId}:${channelNo}`;
  for (const minute of minutes.values()) {
    if (minute.points.length === 0) continue;
    newest = Math.max(newest, minute.minute);
    newestOf.set(series(minute), Math.max(newestOf.get(series(minute)) ?? -Infinity, minute.minute));
  }
  const longAgo = Date.now() / 60_000 - OPEN_MINUTES;
  return (minute) => completes || minute.minute < longAgo || minute.minute < newest - 1 || minute.minute < newestOf.get(series(minute))!;
}

/** In the order of the key: neighbours in the key are then neighbours on disk. */
function rowsOf(kind: SeriesKind, placed: readonly Placed[]): CopyBuffer {
  const rows = new CopyBuffer(1024 + 200 * placed.length);
  const sorted = placed.toSorted(
    (a, b) =>
      a.streamId - b.streamId ||
      (kind === 'feature'
        ? a.minute.methodId - b.minute.methodId || a.minute.channelNo - b.minute.channelNo
        : a.minute.channelNo - b.minute.channelNo || a.minute.methodId - b.minute.methodId) ||
      a.minute.minute - b.minute.minute,
  );
  for (const { streamId, minute } of sorted) {
    const key = { streamId, methodId: minute.methodId, channelNo: minute.channelNo, minute: minute.minute };
    if (kind === 'feature') putFeatureBlock(rows, key, featureBlockOf(minute.points));
    else putBeatBlock(rows, key, beatBlockOf(minute.points));
  }
  return rows;
}

async function upsertMinutes(client: pg.Client, kind: SeriesKind, placed: readonly Placed[]): Promise<void> {
  if (placed.length === 0) return;
  const [table, key] = [tables[kind], keys[kind]];
  const temporary = `incoming_${table}`;
  await client.query(`create temporary table if not exists ${temporary} (like ${table}) on commit delete rows`);
  await copyRows(client, `${temporary} (${columns[kind]})`, rowsOf(kind, placed));
  const values = columns[kind].split(', ').filter((column) => !key.split(', ').includes(column));
  await client.query(
    `insert into ${table} (${columns[kind]}) select ${columns[kind]} from ${temporary} order by ${key}
     on conflict (${key}) do update set ${values.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  await client.query(`delete from ${temporary}`);
}

/** Minutes of which a replacement left nothing. */
async function deleteMinutes(client: pg.Client, kind: SeriesKind, placed: readonly Placed[]): Promise<void> {
  if (placed.length === 0) return;
  const minutes = placed.map(({ minute }) => minute.minute);
  await client.query(
    `delete from ${tables[kind]} b using unnest($1::int[], $2::smallint[], $3::smallint[], $4::float8[]) as k (stream_id, method_id, channel_no, sec)
     where b.stream_id = k.stream_id and b.method_id = k.method_id and b.channel_no = k.channel_no and b.time = to_timestamp(k.sec)
       and b.time >= to_timestamp($5::float8) and b.time <= to_timestamp($6::float8)`,
    [
      placed.map(({ streamId }) => streamId),
      placed.map(({ minute }) => minute.methodId),
      placed.map(({ minute }) => minute.channelNo),
      minutes.map((minute) => minute * 60),
      60 * minutes.reduce((a, b) => Math.min(a, b)),
      60 * minutes.reduce((a, b) => Math.max(a, b)),
    ],
  );
}

/** A number that changes when derived_open was emptied. */
async function generationOf(client: pg.Client): Promise<bigint> {
  const { rows } = await client.query<{ version: bigint }>(
    `with made as (
       insert into derived_open values (${NOT_EMPTIED}, (random() * 1e15)::bigint, '\\x0000') on conflict do nothing returning version)
     select version from made union all select version from derived_open where stream_id = ${NOT_EMPTIED} limit 1`,
  );
  const [row] = rows;
  // Made by another transaction after this statement began: seen by the next one.
  return row === undefined ? generationOf(client) : row.version;
}

type OpenRow = Readonly<{ streamId: StreamId; version: number; left: readonly Minute[] }>;

/** One row a stream. @returns versions of those that have one  @throws StaleStreams */
async function writeOpen(client: pg.Client, streams: readonly OpenRow[], wasEmptied: boolean): Promise<ReadonlyMap<StreamId, number>> {
  const isNew = ({ version }: OpenRow): boolean => wasEmptied || version === 0;
  const sorted = streams.toSorted((a, b) => a.streamId - b.streamId);
  const filled = sorted.filter(({ left }) => left.length > 0);
  const versions = new Map(filled.map(({ streamId, version }) => [streamId, version + 1]));
  await putOpen(
    client,
    filled.filter(isNew),
    `insert into derived_open select x.id, x.version, x.data from x on conflict do nothing returning stream_id`,
  );
  await putOpen(
    client,
    filled.filter((row) => !isNew(row)),
    `update derived_open o set version = x.version, data = x.data from x where o.stream_id = x.id and o.version = x.version - 1 returning o.stream_id`,
  );
  const empty = sorted.filter((row) => row.left.length === 0 && !isNew(row));
  await putOpen(
    client,
    empty,
    `delete from derived_open o using x where o.stream_id = x.id and o.version = x.version - 1 returning o.stream_id`,
  );
  return versions;
}

/** One parameter has the bytes of all rows: an array of them would go as text. */
async function putOpen(client: pg.Client, rows: readonly OpenRow[], statement: string): Promise<void> {
  if (rows.length === 0) return;
  const data = rows.map(({ left }) => openRowOf(left));
  let end = 1;
  const starts = data.map((bytes) => (end += bytes.length) - bytes.length);
  const { rows: written } = await client.query<{ stream_id: number }>(
    `with x as materialized (
       select a.id, a.version, substring($5::bytea from a.at for a.bytes) as data
       from unnest($1::int[], $2::int8[], $3::int[], $4::int[]) as a (id, version, at, bytes))
     ${statement}`,
    [
      rows.map(({ streamId }) => streamId),
      rows.map(({ version }) => version + 1),
      starts,
      data.map((bytes) => bytes.length),
      Buffer.concat(data),
    ],
  );
  if (written.length === rows.length) return;
  const done = new Set(written.map(({ stream_id }) => stream_id));
  throw new StaleStreams(rows.map(({ streamId }) => streamId).filter((streamId) => !done.has(streamId)));
}
