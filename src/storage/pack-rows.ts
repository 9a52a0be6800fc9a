/** Packs beats and values that an earlier release stored, a row each, into minutes. It runs before the service does, as a part of its
 *  migration (upgrade.ts), and after a backup of such rows was restored.
 *
 *  The rows are in beat_rows and feature_rows, mostly in parts of a week (partitions or chunks). A part is packed some streams at a time,
 *  in one transaction that also notes how far it came: after a kill it goes on from there. A part that is done is dropped. Nobody writes
 *  to these tables any more, so nothing waits. */
import pg from 'pg';
import { STEP_COUNT_MAX } from '../signal.ts';
import { CopyBuffer, copyRows } from './copy-binary.ts';
import { readCopy, type CopyRow } from './copy-reader.ts';
import type { ServerKind } from './database/database.ts';
import { liftTransactionTimeout, sessionOf } from './database/session.ts';
import { encodeBeats, encodeFeatures, MINUTE_NS } from './derived-block.ts';
import { beatBlockColumns, featureBlockColumns, putBeatBlock, putFeatureBlock, type MinuteKey } from './derived-rows.ts';
import { Partitions } from './schema/partitions.ts';

export type Packed = Readonly<{
  values: number;
  beats: number;
  /** Values and intervals that had more digits than a step of their method has. */
  rounded: number;
  /** Values that no row holds: infinite, or of more than STEP_COUNT_MAX steps. They are there, as bad ones without a value. */
  without: number;
}>;

export type PackOptions = Readonly<{
  /** @param message how far it is */
  onProgress?: (message: string) => void;
  /** Rows of a transaction, unless one stream has more in a part: 5 million in a week of a device with ECG and PPG. Default 500,000. */
  rowsPerPiece?: number;
}>;

type Kind = 'feature' | 'beat';
const kinds = ['feature', 'beat'] as const;
const MINUTE_US = MINUTE_NS / 1000;
const ROWS_PER_PIECE = 500_000;
/** Packed rows in memory, bytes. */
const STORED_BYTES = 16 << 20;
const INTERVAL_US_MAX = 2 ** 32 - 1;
const BAD = 2;
/** The coarsest step that a method of before gets, unless its values are whole numbers; and digits after the point of the finest. */
const STEP_MAX = 0.001;
const DIGITS_MAX = 9;
const SAY_EVERY_MS = 5000;

/** Of beat_rows and feature_rows, and of what they become. */
const keys = {
  feature: 'stream_id, method_id, channel_no, time',
  beat: 'stream_id, channel_no, method_id, time',
} as const satisfies Record<Kind, string>;
/** Where the rows of a kind are until they are packed. */
export const rowTables = { feature: 'feature_rows', beat: 'beat_rows' } as const satisfies Record<Kind, string>;

/** Packs what there is. @returns what was packed now; null: there was nothing to do */
export async function packRows(url: string, server: ServerKind, options: PackOptions = {}): Promise<Packed | null> {
  const [reader, writer] = [1, 2].map(() => new pg.Client(sessionOf(url, 'biosignal migrate')));
  try {
    for (const client of [reader!, writer!]) {
      client.on('error', () => undefined);
      await client.connect();
      await client.query('set statement_timeout = 0');
      await client.query(liftTransactionTimeout);
    }
    if (!(await hasRows(writer!))) return null;
    await writer!.query(
      'create table if not exists rows_packed (part text, stream_id integer not null, constraint rows_packed_pkey primary key (part))',
    );
    await giveSteps(writer!);
    const packing = new Packing(reader!, writer!, server, options);
    for (const kind of kinds) await packing.all(kind);
    await writer!.query('drop table rows_packed');
    // What comes next reads all minutes: without numbers it would be planned for an empty table.
    for (const kind of kinds) await writer!.query(`analyze ${kind}_block`);
    return packing.packed;
  } finally {
    await Promise.all([reader!.end(), writer!.end()]);
  }
}

/** Are there rows of before? */
export async function hasRows(client: pg.Client): Promise<boolean> {
  return (await isThere(client, rowTables.feature)) || (await isThere(client, rowTables.beat));
}

/** Values of a method of before, which were not rounded, get a step: 1 if all are whole numbers, else the smallest power of ten with which
 *  the largest of them is a number of STEP_COUNT_MAX steps at most, 1e-9 to 0.001. So the largest keeps nine digits, or three after the
 *  point. Those that 0.001 could not hold do not count: an outlier would take the digits of all. */
async function giveSteps(client: pg.Client): Promise<void> {
  const found = new Map<number, { largest: number; whole: boolean }>();
  for (const part of await partsOf(client, 'feature')) {
    const { rows } = await client.query<{ id: number; largest: number; whole: boolean }>(
      `select f.method_id as id, bool_and(f.value = trunc(f.value) and abs(f.value) <= ${STEP_COUNT_MAX}) as whole,
         coalesce(max(abs(f.value)) filter (where abs(f.value) <= ${STEP_COUNT_MAX * STEP_MAX}), 0) as largest
       from ${part} f
       where f.method_id = any (array(select id from method where step = 0 and kind = 'feature')) and f.value is not null group by 1`,
    );
    for (const { id, largest, whole } of rows) {
      const before = found.get(id) ?? { largest: 0, whole: true };
      found.set(id, { largest: Math.max(before.largest, largest), whole: before.whole && whole });
    }
  }
  for (const [id, { largest, whole }] of found) {
    const digits = largest === 0 ? DIGITS_MAX : Math.min(DIGITS_MAX, Math.floor(Math.log10(STEP_COUNT_MAX / largest)));
    await client.query('update method set step = $2 where id = $1', [id, whole ? 1 : 10 ** -digits]);
  }
}

/** Partitions or chunks, in the order of their names; the table itself where it has none. */
async function partsOf(client: pg.Client, kind: Kind): Promise<readonly string[]> {
  if (!(await isThere(client, rowTables[kind]))) return [];
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.oid in (select inhrelid from pg_inherits where inhparent = $1::regclass)
       or c.oid = $1::regclass and c.relkind = 'r' and not exists (select from pg_inherits where inhparent = $1::regclass) order by 1`,
    [rowTables[kind]],
  );
  return rows.map(({ name }) => name);
}

async function isThere(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
  return rows[0]!.there;
}

type Counts = { -readonly [name in keyof Packed]: Packed[name] };

class Packing {
  readonly packed: Counts = { values: 0, beats: 0, rounded: 0, without: 0 };
  readonly #reader: pg.Client;
  readonly #writer: pg.Client;
  readonly #partitions: Partitions;
  readonly #onProgress: (message: string) => void;
  readonly #rowsPerPiece: number;
  readonly #startedMs = performance.now();
  #saidMs = performance.now();

  constructor(reader: pg.Client, writer: pg.Client, server: ServerKind, options: PackOptions) {
    const { onProgress = () => undefined, rowsPerPiece = ROWS_PER_PIECE } = options;
    this.#reader = reader;
    this.#writer = writer;
    this.#partitions = new Partitions({ kind: server });
    this.#onProgress = onProgress;
    this.#rowsPerPiece = rowsPerPiece;
  }

  /** Packs the rows of a kind, and drops their table. */
  async all(kind: Kind): Promise<void> {
    if (!(await isThere(this.#writer, rowTables[kind]))) return;
    const parts = await partsOf(this.#writer, kind);
    for (const [i, part] of parts.entries()) {
      for (const streams of await this.#streamsOf(part)) {
        await this.#pack(kind, part, streams);
        this.#say(kind, `part ${i + 1} of ${parts.length}`, false);
      }
      // One by one: to drop thousands at once takes more locks than a server has.
      await this.#writer.query(`drop table ${part}`);
    }
    this.#say(kind, `all of ${parts.length} parts`, true);
    await this.#writer.query(`drop table if exists ${rowTables[kind]}`);
  }

  /** Ranges of stream numbers of a part that are packed together: those that are left. */
  async #streamsOf(part: string): Promise<(readonly [first: number, last: number])[]> {
    const { rows } = await this.#writer.query<{ id: number; n: number }>(
      `select stream_id as id, count(*)::int as n from ${part}
       where stream_id > coalesce((select p.stream_id from rows_packed p where p.part = $1), -1) group by 1 order by 1`,
      [part],
    );
    const ranges: [number, number][] = [];
    let held = Infinity;
    for (const { id, n } of rows) {
      held += n;
      if (held > this.#rowsPerPiece) {
        ranges.push([id, id]);
        held = n;
      } else ranges.at(-1)![1] = id;
    }
    return ranges;
  }

  async #pack(kind: Kind, part: string, [first, last]: readonly [number, number]): Promise<void> {
    await this.#writer.query('begin');
    try {
      await (kind === 'feature' ? this.#features(part, first, last) : this.#beats(part, first, last));
      await this.#writer.query('insert into rows_packed values ($1, $2) on conflict (part) do update set stream_id = excluded.stream_id', [
        part,
        last,
      ]);
      await this.#writer.query('commit');
    } catch (error) {
      await this.#writer.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  async #features(part: string, first: number, last: number): Promise<void> {
    const perUnit = await this.#stepsPerUnit();
    let [ns, steps, flags]: [number[], number[], number[]] = [[], [], []];
    const minutes = new Minutes(this.#writer, this.#partitions, 'feature', (blocks, key) => {
      putFeatureBlock(blocks, key, encodeFeatures({ ns, steps, flags }));
      [ns, steps, flags] = [[], [], []];
    });
    const put = (row: CopyRow): void => {
      minutes.begin(row);
      const value = row.isNull(6) ? NaN : row.float8(6);
      const unit = perUnit.get(row.int2(1)) ?? 1000;
      const count = Math.round(value * unit) + 0;
      const isBeyond = Math.abs(count) > STEP_COUNT_MAX;
      if (isBeyond) this.packed.without += 1;
      else if (value === value && count / unit !== value) this.packed.rounded += 1;
      ns.push(row.float8(4));
      steps.push(isBeyond ? NaN : count);
      flags.push(isBeyond ? BAD : row.int2(5));
      this.packed.values += 1;
    };
    await readCopy(this.#reader, select(part, 'feature', 'value', first, last), put, () => minutes.storeSome());
    await minutes.end();
  }

  async #beats(part: string, first: number, last: number): Promise<void> {
    let [ns, intervalUs, beatKinds, flags, reasons]: [number[], number[], number[], number[], string[]] = [[], [], [], [], []];
    const minutes = new Minutes(this.#writer, this.#partitions, 'beat', (blocks, key) => {
      putBeatBlock(blocks, key, encodeBeats({ ns, intervalUs, kinds: beatKinds, flags, reasons, confidences: ns.map(() => NaN) }));
      [ns, intervalUs, beatKinds, flags, reasons] = [[], [], [], [], []];
    });
    const put = (row: CopyRow): void => {
      minutes.begin(row);
      const ms = row.isNull(6) ? NaN : row.float8(6);
      const us = Math.round(ms * 1000);
      const isBeyond = us < 0 || us > INTERVAL_US_MAX;
      if (isBeyond) this.packed.without += 1;
      else if (ms === ms && us / 1000 !== ms) this.packed.rounded += 1;
      ns.push(row.float8(4));
      intervalUs.push(isBeyond ? NaN : us);
      flags.push(isBeyond ? BAD : row.int2(5));
      beatKinds.push(row.int2(7));
      reasons.push(row.text(8));
      this.packed.beats += 1;
    };
    await readCopy(this.#reader, select(part, 'beat', 'interval_ms, kind, reason', first, last), put, () => minutes.storeSome());
    await minutes.end();
  }

  async #stepsPerUnit(): Promise<ReadonlyMap<number, number>> {
    const { rows } = await this.#writer.query<{ id: number; step: number }>('select id, step from method where step > 0');
    return new Map(rows.map(({ id, step }) => [id, Math.round(1 / step)]));
  }

  #say(kind: Kind, place: string, isDone: boolean): void {
    if (!isDone && performance.now() - this.#saidMs < SAY_EVERY_MS) return;
    this.#saidMs = performance.now();
    const { values, beats } = this.packed;
    const perSecond = Math.round((values + beats) / ((performance.now() - this.#startedMs) / 1000));
    this.#onProgress(
      `packing ${kind === 'feature' ? 'values' : 'beats'}, ${place}: ${values} values and ${beats} beats, ${perSecond} a second`,
    );
  }
}

/** Rows in the order of their key: those of a minute of a series are neighbours. A minute is counted from 1970, before it too. */
const select = (part: string, kind: Kind, columns: string, first: number, last: number): string =>
  `select stream_id, method_id, channel_no, ((ts_ns - x.ns) / ${MINUTE_NS})::int4, x.ns::float8, qmask, ${columns}
   from ${part} cross join lateral (select mod(mod(ts_ns, ${MINUTE_NS}) + ${MINUTE_NS}, ${MINUTE_NS}) as ns) x
   where stream_id between ${first} and ${last} order by ${keys[kind]}`;

/** Minutes of the rows that come, into their table. */
class Minutes {
  readonly #writer: pg.Client;
  readonly #partitions: Partitions;
  readonly #kind: Kind;
  readonly #put: (blocks: CopyBuffer, key: MinuteKey) => void;
  #key: MinuteKey | null = null;
  #blocks = new CopyBuffer();
  /** Unix µs of the minutes. */
  #times = new Set<number>();

  /** @param put after the last row of a minute of a series */
  constructor(writer: pg.Client, partitions: Partitions, kind: Kind, put: (blocks: CopyBuffer, key: MinuteKey) => void) {
    this.#writer = writer;
    this.#partitions = partitions;
    this.#kind = kind;
    this.#put = put;
  }

  /** Before each row. */
  begin(row: CopyRow): void {
    const [streamId, methodId, channelNo, minute] = [row.int4(0), row.int2(1), row.int2(2), row.int4(3)];
    const key = this.#key;
    if (key?.minute === minute && key.channelNo === channelNo && key.methodId === methodId && key.streamId === streamId) return;
    if (key !== null) this.#put(this.#blocks, key);
    this.#key = { streamId, methodId, channelNo, minute };
    this.#times.add(minute * MINUTE_US);
  }

  /** Stores what there is when it has become much. */
  async storeSome(): Promise<void> {
    if (this.#blocks.bytes >= STORED_BYTES) await this.#store();
  }

  async end(): Promise<void> {
    if (this.#key !== null) this.#put(this.#blocks, this.#key);
    await this.#store();
  }

  async #store(): Promise<void> {
    const [blocks, times] = [this.#blocks, this.#times];
    this.#blocks = new CopyBuffer();
    this.#times = new Set();
    await this.#partitions.ensure(this.#writer, `${this.#kind}_block`, times);
    await copyRows(this.#writer, `${this.#kind}_block (${this.#kind === 'feature' ? featureBlockColumns : beatBlockColumns})`, blocks);
  }
}
