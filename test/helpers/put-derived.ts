/** Values and beats into their tables without the service, and out of them: what a test, or a bench, wants to find there. */
import { CopyBuffer, copyRows } from '../../src/storage/copy-binary.ts';
import { encodeBeats, encodeFeatures, MINUTE_NS } from '../../src/storage/derived-block.ts';
import { beatBlockColumns, featureBlockColumns, putBeatBlock, putFeatureBlock } from '../../src/storage/derived-rows.ts';
import { placeOf } from '../../src/storage/derived-minutes.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { Partitions } from '../../src/storage/schema/partitions.ts';

type Row = Readonly<{ ts_ns: bigint; stream_id: number; method_id: number; channel_no: number; qmask: number }>;
type Value = Row & Readonly<{ value: number | null; per_unit: number }>;
type Beat = Row & Readonly<{ interval_ms: number | null; kind: number; reason: string; confidence?: number | null }>;
type Minute<T> = { key: { streamId: number; methodId: number; channelNo: number; minute: number }; rows: T[] };

/** Stores the values that a query gives: ts_ns, value, stream_id, method_id, channel_no, qmask. Joins them with minutes that are there.
 *  @returns how many */
export async function putFeatures(database: Database, query: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await database.pool.query<Value>(
    `with given as (${query}), minutes as (
       select distinct stream_id, method_id, channel_no, ts_ns / ${MINUTE_NS} as minute from given)
     select x.*, steps_per_unit(m.step) as per_unit from (
       select ts_ns, value, stream_id, method_id, channel_no, qmask from given
       union all
       select f.ts_ns, f.value, f.stream_id, f.method_id, f.channel_no, f.qmask
       from minutes n cross join lateral feature_values(to_timestamp(n.minute * 60), to_timestamp(n.minute * 60 + 60)) f
       where f.stream_id = n.stream_id and f.method_id = n.method_id and f.channel_no = n.channel_no
         and not exists (select from given g where g.ts_ns = f.ts_ns and g.stream_id = f.stream_id and g.method_id = f.method_id and g.channel_no = f.channel_no)) x
     join method m on m.id = x.method_id order by ts_ns`,
    [...values],
  );
  const buffer = new CopyBuffer();
  const minutes = minutesOf(rows);
  for (const { key, rows: points } of minutes)
    putFeatureBlock(
      buffer,
      key,
      encodeFeatures({
        ns: points.map(({ ts_ns }) => placeOf(ts_ns).ns),
        steps: points.map(({ value, per_unit }) => (value === null ? NaN : Math.round(value * per_unit) + 0)),
        flags: points.map(({ qmask }) => qmask),
      }),
    );
  await store(database, 'feature_block', featureBlockColumns, minutes, buffer);
  return rows.length;
}

/** Stores the beats that a query gives, in minutes that have none: ts_ns, stream_id, method_id, channel_no, interval_ms, kind, qmask,
 *  reason; confidence, where they have one. */
export async function putBeats(database: Database, query: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await database.pool.query<Beat>(`select * from (${query}) x order by ts_ns`, [...values]);
  const buffer = new CopyBuffer();
  const minutes = minutesOf(rows);
  for (const { key, rows: points } of minutes)
    putBeatBlock(
      buffer,
      key,
      encodeBeats({
        ns: points.map(({ ts_ns }) => placeOf(ts_ns).ns),
        intervalUs: points.map(({ interval_ms: ms }) => (ms === null ? NaN : Math.round(ms * 1000))),
        kinds: points.map(({ kind }) => kind),
        flags: points.map(({ qmask }) => qmask),
        reasons: points.map(({ reason }) => reason),
        confidences: points.map(({ confidence }) => (confidence === undefined || confidence === null ? NaN : Math.round(100 * confidence))),
      }),
    );
  await store(database, 'beat_block', beatBlockColumns, minutes, buffer);
  return rows.length;
}

/** Deletes values of which a condition holds, of every stream. */
export async function dropFeatures(database: Database, condition: string): Promise<void> {
  const rest = `select ts_ns, value, stream_id, method_id, channel_no, qmask from kept_by_test`;
  await database.pool.query(
    `drop table if exists kept_by_test; create table kept_by_test as select * from feature where not (${condition})`,
  );
  await database.pool.query('delete from feature_block; delete from derived_open where stream_id > 0');
  await putFeatures(database, rest);
  await database.pool.query('drop table kept_by_test');
}

/** Deletes beats of which a condition holds. */
export async function dropBeats(database: Database, condition: string): Promise<void> {
  const rest = `select ts_ns, stream_id, method_id, channel_no, interval_ms, kind, qmask, reason from kept_by_test`;
  await database.pool.query(`drop table if exists kept_by_test; create table kept_by_test as select * from beat where not (${condition})`);
  await database.pool.query('delete from beat_block');
  await putBeats(database, rest);
  await database.pool.query('drop table kept_by_test');
}

function minutesOf<T extends Row>(rows: readonly T[]): Minute<T>[] {
  const minutes = new Map<string, Minute<T>>();
  for (const row of rows) {
    const key = { streamId: row.stream_id, methodId: row.method_id, channelNo: row.channel_no, minute: placeOf(row.ts_ns).minute };
    const name = Object.values(key).join(':');
    const known = minutes.get(name);
    if (known === undefined) minutes.set(name, { key, rows: [row] });
    else known.rows.push(row);
  }
  return [...minutes.values()];
}

async function store<T>(
  database: Database,
  table: string,
  columns: string,
  minutes: readonly Minute<T>[],
  rows: CopyBuffer,
): Promise<void> {
  const client = await database.connect();
  try {
    await new Partitions(database).ensure(client, table, new Set(minutes.map(({ key }) => key.minute * 60_000_000)));
    await client.query('begin');
    await client.query(`create temporary table incoming (like ${table}) on commit drop`);
    await copyRows(client, `incoming (${columns})`, rows);
    await client.query(
      `delete from ${table} b using incoming i where b.stream_id = i.stream_id and b.method_id = i.method_id and b.channel_no = i.channel_no and b.time = i.time`,
    );
    await client.query(`insert into ${table} (${columns}) select ${columns} from incoming`);
    await client.query('commit');
  } finally {
    await client.end();
  }
}
