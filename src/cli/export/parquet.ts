/** A stream as Parquet tables for pandas, DuckDB, Spark and the like: samples, beats and features, one row each, times to the nanosecond.
 *  Pages are written as they are read, so that memory does not grow with the length of the recording. */
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { ColumnSource, ParquetWriter as Writer } from 'hyparquet-writer';
import { beatClassOf, judgesKinds } from '../../query/beat-classes.ts';
import type { SampleSegment } from '../../query/samples.ts';
import { gridTimeNs } from '../../signal.ts';
import { samplePages } from './stretch.ts';
import type { StreamExport } from './stretch.ts';

type Field = Readonly<{ name: string; type: 'utf8' | 'timestamp' | 'int32' | 'int8' | 'double'; nullable?: true }>;
type Values = string[] | BigInt64Array | Int32Array | Float64Array | (number | null)[];

const ROW_GROUP = 250_000;
const ROWS_PER_QUERY = 100_000;

const sampleFields: readonly Field[] = [
  { name: 'channel', type: 'utf8' },
  { name: 'ts', type: 'timestamp' },
  { name: 'digital', type: 'int32', nullable: true }, // as the device sent it; null where it sent floats
  { name: 'value', type: 'double' }, // physical
  { name: 'qmask', type: 'int8' },
];
const beatFields: readonly Field[] = [
  { name: 'channel', type: 'utf8' },
  { name: 'method_code', type: 'utf8' },
  { name: 'ts', type: 'timestamp' },
  { name: 'interval_ms', type: 'double', nullable: true },
  { name: 'kind', type: 'utf8' },
  { name: 'accepted', type: 'int8' }, // 1: the interval is an NN interval, as variability uses it
  { name: 'reason', type: 'utf8' }, // e.g. ventricular
  { name: 'aami', type: 'utf8', nullable: true }, // N, S, V or Q, as /beats has it
  { name: 'confidence', type: 'double', nullable: true }, // probability that it is ventricular, supraventricular or neither, as the reason says
  { name: 'qmask', type: 'int8' },
];
const featureFields: readonly Field[] = [
  { name: 'feature', type: 'utf8' },
  { name: 'method_code', type: 'utf8' },
  { name: 'channel', type: 'utf8', nullable: true },
  { name: 'ts', type: 'timestamp' }, // end of the value's window
  { name: 'value', type: 'double', nullable: true },
  { name: 'qmask', type: 'int8' },
];

/** @param name stem of the files  @returns their paths; empty when there are no samples */
export async function exportParquet(job: StreamExport, nameOf: (firstNs: bigint) => string): Promise<string[]> {
  const { pool, stream, range, folder } = job;
  let name = '';
  let samples: Table | null = null;
  const channels = new Map<string, object>();
  const metadata: Metadata = { stream: stream.uuid, user: stream.subject, device: stream.device };
  for await (const page of samplePages(job)) {
    if (page.length === 0) continue;
    if (samples === null) {
      name = nameOf(page.reduce((least, { t0Ns }) => (t0Ns < least ? t0Ns : least), page[0]!.t0Ns));
      samples = await openTable(join(folder, `${name}.samples.parquet`), sampleFields, metadata);
    }
    for (const segment of page) {
      const { code, kind, unit, lead, gain, baseline, rateNanoHz } = segment;
      channels.set(code, { code, kind, unit, lead, gain, baseline, rate_nano_hz: rateNanoHz });
      addSegment(samples, segment, stream.epoch_ns);
    }
  }
  if (samples === null) return [];
  samples.close({ channels: JSON.stringify([...channels.values()]) });
  const bounds = [stream.id, String(range.fromNs), String(range.toNs)];
  const beats = await writeRows(pool, join(folder, `${name}.beats.parquet`), beatFields, beatSql, bounds, metadata);
  const features = await writeRows(pool, join(folder, `${name}.features.parquet`), featureFields, featureSql, bounds, metadata);
  return [samples.path, ...beats, ...features];
}

function addSegment(table: Table, segment: SampleSegment, epochNs: bigint): void {
  const { samples, code, k0, gain, baseline, rateNanoHz, qmask } = segment;
  const floats = samples instanceof Float32Array;
  for (let from = 0; from < samples.length; from += ROW_GROUP) {
    const n = Math.min(ROW_GROUP, samples.length - from);
    const ts = new BigInt64Array(n);
    const digital: (number | null)[] = Array.from({ length: n }, () => null);
    const value = new Float64Array(n);
    const flags = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const sample = samples[from + i]!;
      ts[i] = epochNs + gridTimeNs(k0 + from + i, rateNanoHz);
      digital[i] = floats ? null : sample;
      value[i] = (sample - baseline) / gain;
      flags[i] = qmask === null ? 0 : qmask[from + i]!;
    }
    table.add([Array.from({ length: n }, () => code), ts, digital, value, flags]);
  }
}

/** From the last row of the page before on; a microsecond more at each end, because ns are cut off towards 1970. */
const fromLast = `timestamptz 'epoch' + (greatest($2::int8, $4::int8) / 1000 - 1) * interval '1 microsecond',
  timestamptz 'epoch' + ($3::int8 / 1000 + 1) * interval '1 microsecond'`;
// Pages by the key after the last row, so that a long recording is never held whole.
const beatSql = `select c.code as channel, m.code as method_code, b.ts_ns as ts, b.interval_ms,
    (array['normal', 'ectopic', 'artefact', 'interpolated'])[b.kind + 1] as kind,
    (b.interval_ms is not null and b.reason = '')::integer as accepted, b.reason, b.confidence, b.qmask
  from beat_values(${fromLast}) b join method m on m.id = b.method_id
    join stream_channel c on c.stream_id = b.stream_id and c.channel_no = b.channel_no
  where b.stream_id = $1 and b.ts_ns >= $2 and b.ts_ns < $3 and (b.ts_ns, c.code, m.code) > ($4, $5, $6)
  order by b.ts_ns, c.code, m.code limit ${ROWS_PER_QUERY}`;
const featureSql = `select m.name as feature, m.code as method_code, c.code as channel, f.ts_ns as ts, f.value, f.qmask
  from feature_values(${fromLast}) f join method m on m.id = f.method_id
    left join stream_channel c on c.stream_id = f.stream_id and c.channel_no = f.channel_no
  where f.stream_id = $1 and f.ts_ns >= $2 and f.ts_ns < $3 and (f.ts_ns, coalesce(c.code, ''), m.code) > ($4, $5, $6)
  order by f.ts_ns, coalesce(c.code, ''), m.code limit ${ROWS_PER_QUERY}`;

/** Written as key-value metadata `biosignal.<key>`. */
type Metadata = Readonly<Record<string, string>>;
type Row = Readonly<Record<string, string | number | bigint | null>>;

async function writeRows(
  pool: Pool,
  path: string,
  fields: readonly Field[],
  sql: string,
  bounds: readonly unknown[],
  metadata: Metadata,
): Promise<string[]> {
  let table: Table | null = null; // a table without rows is not written: some readers refuse an empty list of row groups
  let after: readonly [string, string, string] = [String(BigInt(bounds[1] as string) - 1n), '', '']; // before every row of the range
  for (;;) {
    const { rows: read }: { rows: Row[] } = await pool.query<Row>(sql, [...bounds, ...after]);
    const rows = fields === beatFields ? read.map(withClass) : read;
    if (rows.length > 0) {
      table ??= await openTable(path, fields, metadata);
      table.add(fields.map(({ name, type }) => {
          if (type === 'timestamp') return BigInt64Array.from(rows, (row) => row[name] as bigint);
          return rows.map((row) => row[name] ?? null) as Values;
        })); // prettier-ignore
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_QUERY) break;
    after = [String(last['ts']), String(last['channel'] ?? ''), String(last['method_code'])];
  }
  table?.close({});
  return table === null ? [] : [path];
}

const kinds: readonly unknown[] = ['normal', 'ectopic', 'artefact', 'interpolated']; // as in beatSql

function withClass(row: Row): Row {
  const { method_code: method, kind, reason, qmask, confidence = null } = row;
  const sure = typeof confidence === 'number' ? confidence : null;
  return { ...row, aami: beatClassOf(judgesKinds(String(method)), kinds.indexOf(kind), String(reason), Number(qmask), sure) };
}

type Table = Readonly<{
  path: string;
  add: (columns: readonly Values[]) => void;
  close: (more: Metadata) => void;
}>;

/** Imported here, so that no other command pays for it. */
async function openTable(path: string, fields: readonly Field[], metadata: Metadata): Promise<Table> {
  const { ParquetWriter, fileWriter } = await import('hyparquet-writer');
  const kvMetadata = Object.entries(metadata).map(([key, value]) => ({ key: `biosignal.${key}`, value }));
  const writer = new ParquetWriter({ writer: fileWriter(path), schema: schemaOf(fields), kvMetadata, createdBy: 'biosignal' });
  return {
    path,
    add: (columns) => {
      const columnData = fields.map(({ name, type }, i): ColumnSource => {
        // Differences of neighbours are small: a tenth of the plain size for times.
        const delta = type === 'timestamp' || type === 'int32';
        return { name, data: columns[i]! as ColumnSource['data'], ...(delta ? { encoding: 'DELTA_BINARY_PACKED' } : {}) };
      });
      void writer.write({ columnData, rowGroupSize: ROW_GROUP }); // a file writer is synchronous
    },
    close: (more) => {
      kvMetadata.push(...Object.entries(more).map(([key, value]) => ({ key: `biosignal.${key}`, value })));
      void writer.finish();
    },
  };
}

function schemaOf(fields: readonly Field[]): Writer['schema'] {
  return [
    { name: 'root', num_children: fields.length },
    ...fields.map(({ name, type, nullable }) => {
      const repetition = { name, repetition_type: nullable === true ? 'OPTIONAL' : 'REQUIRED' } as const;
      switch (type) {
        case 'utf8':
          return { ...repetition, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
        case 'timestamp':
          return { ...repetition, type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' } } as const;
        case 'int32':
          return { ...repetition, type: 'INT32' } as const;
        case 'int8':
          // No logical type in addition: hyparquet-writer 0.17 writes its width wrongly, and arrow-rs refuses the file.
          return { ...repetition, type: 'INT32', converted_type: 'INT_8' } as const;
        case 'double':
          return { ...repetition, type: 'DOUBLE' } as const;
        default: {
          const never: never = type;
          throw new RangeError(`no column type ${String(never)}`);
        }
      }
    }),
  ];
}
