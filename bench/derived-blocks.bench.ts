/** Cost of a second of a device's derived values for PostgreSQL: bytes, WAL and processor time, as rows of one value and as rows of a
 *  minute, with the open minute kept in four ways.
 *
 *  node bench/derived-blocks.bench.ts      BENCH_DEVICES=200 BENCH_SEC=120   BIO_BENCH_DATABASE_URL=... (else embedded PostgreSQL)
 *  The rows are those that the engine makes of ECG and PPG of a BIDMC recording. Seconds of the devices pass as fast as they are stored,
 *  one transaction each, as the writer's batches do; nothing else is stored. Every device begins at another second of the minute. */
import type pg from 'pg';
import { streamRows, type StreamRows } from '../accuracy/hrv-stream.ts';
import { encodeBeats, encodeFeatures, MINUTE_NS } from '../src/storage/derived-block.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import type { Database } from '../src/storage/database/database.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { treeCpuSec } from './lib/processor-time.ts';
import { bidmc } from './lib/recordings.ts';
import { report } from './lib/result.ts';
import { freshDatabase } from './lib/storage-fixture.ts';

const DEVICES = Number(process.env['BENCH_DEVICES'] ?? 200);
const SECONDS = Number(process.env['BENCH_SEC'] ?? 120);
const WARM_SEC = 60;
/** Of the recording: five minutes until every value is there. */
const FROM_SEC = 300;
const RATE_HZ = 125;
const STEPS_PER_UNIT = 1000;
const EPOCH_SEC = 1_767_225_600;

type Point = Readonly<{
  series: number;
  ns: number;
  steps: number;
  flag: number;
  intervalUs: number;
  kind: number;
  reason: string;
  confidence: number;
}>;
type Series = Readonly<{ kind: 'beat' | 'feature'; name: string; channelNo: number }>;

/** Points of one device by the second in which they are due, and its series. */
function recordedPoints(): { series: Series[]; seconds: Point[][] } {
  const recording = bidmc()[0];
  if (recording === undefined) throw new Error('this bench needs the BIDMC recordings');
  const [, pulse, , , ecg] = recording.channels;
  const channel = (code: string, kind: 'ecg' | 'ppg', samples: Int32Array) => ({
    code,
    kind,
    fs: RATE_HZ,
    unit: '1',
    samples: Float64Array.from(samples, (x) => x / 200),
  });
  const rows: StreamRows = streamRows([channel('ecg.ii', 'ecg', ecg ?? pulse!), channel('ppg.ir', 'ppg', pulse!)]);
  const series: Series[] = [];
  const seconds: Point[][] = Array.from({ length: WARM_SEC + SECONDS }, () => []);
  const seriesOf = (kind: Series['kind'], name: string, channelNo: number): number => {
    const known = series.findIndex((one) => one.kind === kind && one.name === name && one.channelNo === channelNo);
    return known >= 0 ? known : series.push({ kind, name, channelNo }) - 1;
  };
  const add = (tNs: bigint, point: Omit<Point, 'ns'>): void => {
    const ns = Number(tNs) - FROM_SEC * 1e9;
    seconds[Math.floor(ns / 1e9)]?.push({ ...point, ns });
  };
  for (const { method, channelNo, tNs, ibiMs, kind, quality, reason, confidence } of rows.beats)
    add(tNs, {
      series: seriesOf('beat', method, channelNo),
      steps: 0,
      flag: quality,
      intervalUs: Math.round(ibiMs * 1000),
      kind: kind === 'normal' ? 0 : 1,
      reason,
      confidence: Math.round(100 * confidence),
    });
  for (const [feature, values] of rows.features)
    for (const { tNs, value, qmask, channelNo } of values)
      add(tNs, {
        series: seriesOf('feature', feature, channelNo),
        steps: Math.round(value * STEPS_PER_UNIT),
        flag: qmask,
        intervalUs: 0,
        kind: 0,
        reason: '',
        confidence: NaN,
      });
  return { series, seconds };
}

const { series, seconds } = recordedPoints();

/** One device whose clock is some seconds into its minute. */
type Device = { id: number; shiftSec: number; open: Map<number, { minute: number; points: Point[] }> };
const newDevices = (): Device[] => Array.from({ length: DEVICES }, (_, i) => ({ id: i + 1, shiftSec: (i * 7) % 60, open: new Map() }));

const nsOf = (device: Device, point: Point): number => point.ns + device.shiftSec * 1e9;

// ---------------------------------------------------------------------------------------------------------------- ways of writing

type Way = Readonly<{
  name: string;
  tables: readonly string[];
  make: (database: Database) => Promise<void>;
  /** One second of all devices, in one transaction. */
  second: (client: pg.Client, devices: readonly Device[], sec: number) => Promise<void>;
}>;

/** As it was before; what its rollups took comes on top. */
const single: Way = {
  name: 'a row a value, without rollups',
  tables: ['trial_beat', 'trial_feature'],
  make: async (database) => {
    await database.pool.query(
      `create table trial_beat (time timestamptz not null, ts_ns bigint not null, stream_id integer not null, channel_no smallint not null,
         method_id smallint not null, interval_ms double precision, kind smallint not null, qmask smallint not null, reason text not null default '',
         primary key (stream_id, channel_no, method_id, time));
       create table trial_feature (time timestamptz not null, ts_ns bigint not null, value double precision, stream_id integer not null,
         method_id smallint not null, channel_no smallint not null, qmask smallint not null, primary key (stream_id, method_id, channel_no, time))`,
    );
  },
  second: async (client, devices, sec) => {
    const [beats, features] = [new CopyBuffer(), new CopyBuffer()];
    for (const device of devices)
      for (const point of seconds[sec]!) {
        const us = EPOCH_SEC * 1e6 + Math.floor(nsOf(device, point) / 1000);
        if (series[point.series]!.kind === 'beat') {
          beats.row(9);
          beats.timestamptz(us);
          beats.int8(BigInt(us) * 1000n);
          beats.int4(device.id);
          beats.int2(series[point.series]!.channelNo);
          beats.int2(point.series);
          beats.float8(point.intervalUs / 1000);
          beats.int2(point.kind);
          beats.int2(point.flag);
          beats.text(point.reason);
        } else {
          features.row(7);
          features.timestamptz(us);
          features.int8(BigInt(us) * 1000n);
          features.float8(point.steps / STEPS_PER_UNIT);
          features.int4(device.id);
          features.int2(point.series);
          features.int2(series[point.series]!.channelNo);
          features.int2(point.flag);
        }
      }
    await copyRows(client, 'trial_beat (time, ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason)', beats);
    await copyRows(client, 'trial_feature (time, ts_ns, value, stream_id, method_id, channel_no, qmask)', features);
  },
};

const columns =
  'time, stream_id, method_id, channel_no, n, sum, min, max, first, last, good_n, suspect_n, good_sum, suspect_sum, good_min, good_max, good_first, good_last, suspect_min, suspect_max, codec';
const shape = `(time timestamptz not null, sum bigint, good_sum bigint, suspect_sum bigint, stream_id integer not null,
  min integer, max integer, first integer, last integer, good_min integer, good_max integer, good_first integer, good_last integer,
  suspect_min integer, suspect_max integer, method_id smallint not null, channel_no smallint not null, n smallint not null,
  value_n smallint, good_n smallint, suspect_n smallint, codec bytea not null)`;

type Row = readonly (string | number | null | Uint8Array)[];

function rowOf(device: Device, no: number, minute: number, points: readonly Point[]): Row {
  const ns = points.map((point) => nsOf(device, point) - minute * MINUTE_NS);
  const flags = points.map(({ flag }) => flag);
  const head = [EPOCH_SEC + 60 * minute, device.id, no, series[no]!.channelNo] as const;
  if (series[no]!.kind === 'beat') {
    const block = encodeBeats({
      ns,
      flags,
      intervalUs: points.map((p) => p.intervalUs),
      kinds: points.map((p) => p.kind),
      reasons: points.map((p) => p.reason),
      confidences: points.map((p) => p.confidence),
    });
    return [...head, block.n, ...Array.from({ length: 15 }, () => null), block.codec];
  }
  const b = encodeFeatures({ ns, flags, steps: points.map(({ steps }) => steps) });
  return [
    ...head,
    b.n,
    b.sum,
    b.min,
    b.max,
    b.first,
    b.last,
    b.goodN,
    b.suspectN,
    b.goodSum,
    b.suspectSum,
    b.goodMin,
    b.goodMax,
    b.goodFirst,
    b.goodLast,
    b.suspectMin,
    b.suspectMax,
    b.codec,
  ];
}

/** Takes a second of points into the open minutes. @returns changed rows, and those of minutes that are complete */
function take(devices: readonly Device[], sec: number): { changed: Row[]; complete: Row[] } {
  const [changed, complete]: [Row[], Row[]] = [[], []];
  for (const device of devices) {
    const touched = new Set<number>();
    for (const point of seconds[sec]!) {
      const minute = Math.floor(nsOf(device, point) / MINUTE_NS);
      const open = device.open.get(point.series);
      if (open !== undefined && open.minute === minute) open.points.push(point);
      else {
        if (open !== undefined) complete.push(rowOf(device, point.series, open.minute, open.points));
        device.open.set(point.series, { minute, points: [point] });
      }
      touched.add(point.series);
    }
    for (const no of touched) changed.push(rowOf(device, no, device.open.get(no)!.minute, device.open.get(no)!.points));
  }
  return { changed, complete };
}

async function copyComplete(client: pg.Client, rows: readonly Row[]): Promise<void> {
  const buffer = new CopyBuffer();
  for (const row of rows.toSorted((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]))) {
    buffer.row(21);
    buffer.timestamptz(Number(row[0]) * 1e6);
    buffer.int4(row[1] as number);
    for (const i of [2, 3, 4]) buffer.int2(row[i] as number);
    for (let i = 5; i < 20; i++) {
      const value = row[i] as number | null;
      if (value === null) buffer.null();
      else if (i === 5 || i === 12 || i === 13) buffer.int8(BigInt(value));
      else if (i === 10 || i === 11) buffer.int2(value);
      else buffer.int4(value);
    }
    buffer.bytea(row[20] as Uint8Array);
  }
  await copyRows(client, `trial_block (${columns})`, buffer);
}

const types = [
  'float8',
  'int',
  'int2',
  'int2',
  'int2',
  'int8',
  'int',
  'int',
  'int',
  'int',
  'int2',
  'int2',
  'int8',
  'int8',
  'int',
  'int',
  'int',
  'int',
  'int',
  'int',
  'bytea',
];
const named = columns.split(', ');
const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ');
const asBytea = (value: unknown): unknown => (value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value);
const parameters = (rows: readonly Row[]): unknown[] => types.map((_, i) => rows.map((row) => asBytea(row[i])));

const makeBlock = async (database: Database): Promise<void> => {
  await database.pool.query(
    `create table trial_block ${shape}; alter table trial_block add primary key (stream_id, method_id, channel_no, time)`,
  );
  if (database.kind !== 'postgres')
    await database.pool.query(
      `select create_hypertable('trial_block', by_range('time', interval '7 days'), create_default_indexes => false)`,
    );
};

const perSeries: Way = {
  name: 'a row a minute, open: unlogged, a row a series',
  tables: ['trial_block', 'trial_open'],
  make: async (database) => {
    await makeBlock(database);
    await database.pool.query(
      `create unlogged table trial_open ${shape} with (fillfactor = 45); alter table trial_open add primary key (stream_id, method_id, channel_no)`,
    );
  },
  second: async (client, devices, sec) => {
    const { changed, complete } = take(devices, sec);
    await client.query({
      name: 'open',
      text: `insert into trial_open (${columns}) select to_timestamp(x.time), ${named
        .slice(1)
        .map((c) => `x.${c}`)
        .join(', ')}
       from unnest(${arrays}) as x (${columns}) on conflict (stream_id, method_id, channel_no) do update set
       ${named
         .filter((c) => !/^(stream_id|method_id|channel_no)$/.test(c))
         .map((c) => `${c} = excluded.${c}`)
         .join(', ')}`,
      values: parameters(changed),
    });
    await copyComplete(client, complete);
  },
};

const perStream: Way = {
  name: 'a row a minute, open: unlogged, a row a stream',
  tables: ['trial_block', 'trial_open'],
  make: async (database) => {
    await makeBlock(database);
    await database.pool.query(`create type trial_row as ${shape.replaceAll(' not null', '')}`);
    await database.pool.query(
      `create unlogged table trial_open (stream_id integer primary key, rows trial_row[] not null) with (fillfactor = 45, toast_tuple_target = 8160);
       alter table trial_open alter rows set storage external`,
    );
  },
  second: async (client, devices, sec) => {
    const { complete } = take(devices, sec);
    const all = devices.flatMap((device) => [...device.open].map(([no, open]) => rowOf(device, no, open.minute, open.points)));
    const inShape = [
      'to_timestamp(x.time)',
      'x.sum',
      'x.good_sum',
      'x.suspect_sum',
      'x.stream_id',
      'x.min',
      'x.max',
      'x.first',
      'x.last',
      'x.good_min',
      'x.good_max',
      'x.good_first',
      'x.good_last',
      'x.suspect_min',
      'x.suspect_max',
      'x.method_id',
      'x.channel_no',
      'x.n',
      'null',
      'x.good_n',
      'x.suspect_n',
      'x.codec',
    ];
    await client.query({
      name: 'open',
      text: `insert into trial_open select x.stream_id, array_agg(row(${inShape.join(', ')})::trial_row) from unnest(${arrays}) as x (${columns}) group by 1
       on conflict (stream_id) do update set rows = excluded.rows`,
      values: parameters(all),
    });
    await copyComplete(client, complete);
  },
};

const ENTRY = 20;

const packed: Way = {
  name: 'a row a minute, open: unlogged, a packed row a stream',
  tables: ['trial_block', 'trial_open'],
  make: async (database) => {
    await makeBlock(database);
    await database.pool.query(
      `create unlogged table trial_open (stream_id integer primary key, data bytea not null) with (fillfactor = 45, toast_tuple_target = 8160);
       alter table trial_open alter data set storage external`,
    );
  },
  second: async (client, devices, sec) => {
    const { changed, complete } = take(devices, sec);
    const touched = new Set(changed.map((row) => row[1]));
    const parts = devices
      .filter(({ id }) => touched.has(id))
      .map((device) => {
        const rows = [...device.open].map(([no, open]) => rowOf(device, no, open.minute, open.points));
        const heads = Buffer.alloc(rows.length * ENTRY);
        for (const [i, row] of rows.entries()) heads.writeInt16BE(row[2] as number, i * ENTRY);
        return Buffer.concat([heads, ...rows.map((row) => row[20] as Uint8Array)]);
      });
    let end = 1;
    const starts = parts.map((part) => (end += part.length) - part.length);
    await client.query({
      name: 'open',
      text: `insert into trial_open select x.id, substring($4::bytea from x.at for x.bytes) from unnest($1::int[], $2::int[], $3::int[]) as x (id, at, bytes)
       on conflict (stream_id) do update set data = excluded.data`,
      values: [[...touched], starts, parts.map((part) => part.length), Buffer.concat(parts)],
    });
    await copyComplete(client, complete);
  },
};

const inMemory: Way = {
  name: 'a row a minute, open: in memory alone',
  tables: ['trial_block'],
  make: makeBlock,
  second: async (client, devices, sec) => copyComplete(client, take(devices, sec).complete),
};

// ---------------------------------------------------------------------------------------------------------------- measuring

const server = await openBenchDatabase();

async function bytesOf(database: Database, tables: readonly string[]): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: number }>(
    `with recursive part as (
       select c.oid from pg_class c where c.relname = any ($1) or c.relname like '\\_materialized\\_hypertable\\_%' and not exists (select from pg_inherits i where i.inhrelid = c.oid)
       union select i.inhrelid from pg_inherits i join part on i.inhparent = part.oid)
     select coalesce(sum(pg_total_relation_size(oid)), 0)::float8 as bytes from part`,
    [tables],
  );
  return rows[0]!.bytes;
}

async function walAt(database: Database): Promise<number> {
  return Number((await database.pool.query<{ at: string }>(`select (pg_current_wal_lsn() - '0/0')::text as at`)).rows[0]!.at);
}

async function measure(way: Way): Promise<void> {
  const { database, drop } = await freshDatabase(server.url);
  await way.make(database);
  const client = await database.connect();
  const devices = newDevices();
  const second = async (sec: number): Promise<void> => {
    await client.query('begin');
    await way.second(client, devices, sec);
    await client.query('commit');
  };
  for (let sec = 0; sec < WARM_SEC; sec++) await second(sec);
  await database.pool.query('checkpoint');
  const before = { bytes: await bytesOf(database, way.tables), wal: await walAt(database), cpu: treeCpuSec(server.postmasterPid!) };
  for (let sec = WARM_SEC; sec < WARM_SEC + SECONDS; sec++) await second(sec);
  const deviceSec = DEVICES * SECONDS;
  report({
    name: `${way.name}: PostgreSQL CPU a device-second`,
    value: ((treeCpuSec(server.postmasterPid!) - before.cpu) / deviceSec) * 1e6,
    unit: 'us',
  });
  report({ name: `${way.name}: WAL a device-second`, value: ((await walAt(database)) - before.wal) / deviceSec, unit: 'B' });
  report({
    name: `${way.name}: bytes a device-second`,
    value: ((await bytesOf(database, way.tables)) - before.bytes) / deviceSec,
    unit: 'B',
  });
  await client.end();
  await drop();
}

try {
  console.log(server.server);
  const counts = new Map<string, number>();
  for (const point of seconds.flat()) {
    const { kind, name, channelNo } = series[point.series]!;
    const key = `${kind} ${name} of ${channelNo}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [key, n] of [...counts].toSorted((a, b) => b[1] - a[1]))
    console.log(`   ${key}: ${((n * 60) / (WARM_SEC + SECONDS)).toFixed(1)} a minute`);
  console.log(`   ${series.length} series, ${((seconds.flat().length * 60) / (WARM_SEC + SECONDS)).toFixed(0)} rows of one value a minute`);
  for (const way of [single, perSeries, perStream, packed, inMemory, packed, perSeries, single]) await measure(way);
} finally {
  await server.drop();
}
