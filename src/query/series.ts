/** Reads long series as columns, so that 100,000 values need no 100,000 objects. Features come as arrays in PostgreSQL's binary format (in
 *  base64, because a bytea would come as hex), beats as JSON text. Aggregates take their input in the order of the sorted subquery; an
 *  ORDER BY in each would sort once per column. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';

export type SeriesFilter = Readonly<{
  streamId: number;
  names: readonly string[] | null;
  methodCode: string | null;
  /** [since, until), RFC 3339 or null. */
  since: string | null;
  until: string | null;
  qualityMax: number;
  /** Most values per second: each interval of 1/cadence gives its best flagged, then latest, value. null: all values. */
  cadenceHz: number | null;
  /** Values per series. */
  limit: number;
}>;

export type FeatureSeries = Readonly<{
  name: string;
  methodCode: string;
  /** UCUM. */
  unit: string;
  cadenceHz: number;
  /** Unix ns, ascending; values and flags are parallel. */
  tsNs: BigInt64Array;
  values: Float64Array;
  qmask: Uint8Array;
  /** Start of the next page when there may be more: a microsecond after the last value. */
  next: string | null;
}>;

const inSource = `from feature_values($4::timestamptz, $5::timestamptz) f
  where f.stream_id = $1 and f.method_id = s.id and f.channel_no = s.channel_no
    and f.time >= $4::timestamptz and f.time < $5::timestamptz
    and f.qmask <= $6 and f.value is not null and f.value < 'infinity' and f.value > '-infinity'`;
/** Reads straight from the primary key, in its order. */
const everyValue = `select f.time, f.ts_ns, f.value, f.qmask ${inSource} and $7::float8 is null order by f.time limit $8`;
/** The best flagged, then latest value of each interval. */
const oneEach = `select * from (
    select distinct on (floor(extract(epoch from f.time) * $7::float8)) f.time, f.ts_ns, f.value, f.qmask ${inSource}
    order by floor(extract(epoch from f.time) * $7::float8), f.qmask, f.time desc
  ) d order by d.time limit $8`;

/** Reads features of a stream, one series per name: from the newest method with values, unless one is named; for the whole stream, or its
 *  first channel. Values that could not be computed are left out; the columns stay parallel. */
export async function readFeatureSeries(db: Db, filter: SeriesFilter): Promise<readonly FeatureSeries[]> {
  const chosen = filter.cadenceHz === null ? everyValue : oneEach;
  const { rows } = await db.query<{
    name: string;
    code: string;
    unit: string;
    cadence_hz: number | null;
    n: number;
    ts: string | null;
    val: string | null;
    q: string | null;
    last: string | null;
  }>(
    prepared(
      `with channel as (
       select -1::smallint as channel_no union all select channel_no from stream_channel where stream_id = $1
     ), source as (
       select distinct on (m.name) m.id, m.name, m.code, m.unit, m.cadence_hz, c.channel_no
       from method m cross join channel c
       where m.kind = 'feature' and ($2::text[] is null or m.name = any($2)) and ($3::text is null or m.code = $3)
         and exists (
           select from feature_values($4::timestamptz, $5::timestamptz) f
           where f.stream_id = $1 and f.method_id = m.id and f.channel_no = c.channel_no
             and f.time >= $4::timestamptz and f.time < $5::timestamptz
           offset 0 -- one probe each, see chart-sources.ts
         )
       order by m.name, m.id desc, c.channel_no
     )
     select s.name, s.code, s.unit, s.cadence_hz, v.*
     from source s cross join lateral (
       select count(*)::integer as n, encode(array_send(array_agg(p.ts_ns)), 'base64') as ts, encode(array_send(array_agg(p.value)), 'base64') as val,
         encode(array_send(array_agg(p.qmask::integer::"char")), 'base64') as q, to_json(max(p.time) + interval '1 microsecond') #>> '{}' as last
       from (${chosen}) p
     ) v
     order by s.name`,
      [
        filter.streamId,
        filter.names,
        filter.methodCode,
        filter.since ?? '-infinity',
        filter.until ?? 'infinity',
        filter.qualityMax,
        filter.cadenceHz,
        filter.limit,
      ],
    ),
  );
  return rows.map((row) => ({
    name: row.name,
    methodCode: row.code,
    unit: row.unit,
    cadenceHz: filter.cadenceHz === null ? (row.cadence_hz ?? 0) : Math.min(filter.cadenceHz, row.cadence_hz ?? filter.cadenceHz),
    tsNs: columnOf(row.ts, new BigInt64Array(row.n), 8, (view, at) => view.getBigInt64(at)),
    values: columnOf(row.val, new Float64Array(row.n), 8, (view, at) => view.getFloat64(at)),
    qmask: columnOf(row.q, new Uint8Array(row.n), 1, (view, at) => view.getUint8(at)),
    next: row.n >= filter.limit ? row.last : null,
  }));
}

/** Header of array_send for one dimension without nulls: dimensions, null flag, type, length, lower bound. */
const ARRAY_HEADER_BYTES = 20;

/** Reads the output of array_send in base64: each element is preceded by its length, in network byte order. */
function columnOf<T extends BigInt64Array | Float64Array | Uint8Array>(
  base64: string | null,
  out: T,
  elementBytes: number,
  read: (view: DataView, at: number) => T[number],
): T {
  if (base64 === null) return out;
  const sent = Buffer.from(base64, 'base64');
  const stride = 4 + elementBytes;
  if (sent.length !== ARRAY_HEADER_BYTES + stride * out.length) throw new Error(`array of ${sent.length} bytes for ${out.length} elements`);
  const view = new DataView(sent.buffer, sent.byteOffset, sent.byteLength);
  for (let i = 0; i < out.length; i++) out[i] = read(view, ARRAY_HEADER_BYTES + 4 + stride * i);
  return out;
}

export type BeatFilter = Readonly<{
  streamId: number;
  channelCode: string | null;
  methodCode: string | null;
  since: string | null;
  until: string | null;
  limit: number;
}>;

export const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;

export type BeatSeries = Readonly<{
  methodCode: string;
  channelCode: string;
  tsNs: string;
  intervalMs: string;
  kinds: string;
  /** JSON: may the interval to the previous beat be used, as variability uses it? */
  accepted: string;
  qmask: string;
  next: string | null;
}>;

/** Reads beats of a stream, one series per channel and method. */
export async function readBeatSeries(db: Db, filter: BeatFilter): Promise<readonly BeatSeries[]> {
  const { rows } = await db.query<{
    code: string;
    channel_code: string;
    n: number;
    ts: string | null;
    iv: string | null;
    k: string | null;
    a: string | null;
    q: string | null;
    last: string | null;
  }>(
    prepared(
      `with source as (
       select m.id, m.code, c.channel_no, c.code as channel_code
       from method m cross join stream_channel c
       where m.kind = 'beat' and c.stream_id = $1 and ($2::text is null or c.code = $2) and ($3::text is null or m.code = $3)
         and exists (
           select from beat_values($4::timestamptz, $5::timestamptz) b
           where b.time >= $4::timestamptz and b.time < $5::timestamptz
             and b.stream_id = $1 and b.channel_no = c.channel_no and b.method_id = m.id
           offset 0
         )
     )
     select s.code, s.channel_code, v.*
     from source s cross join lateral (
       select count(*)::integer as n, string_agg(p.ts_ns::text, ',') as ts,
         string_agg(coalesce(p.interval_ms::text, 'null'), ',') as iv,
         string_agg(p.kind::text, ',') as k, string_agg(p.accepted::text, ',') as a, string_agg(p.qmask::text, ',') as q,
         to_json(max(p.time) + interval '1 microsecond') #>> '{}' as last
       from (
         select b.time, b.ts_ns, b.interval_ms, b.kind, b.interval_ms is not null and b.reason = '' as accepted, b.qmask from beat_values($4::timestamptz, $5::timestamptz) b
         where b.stream_id = $1 and b.channel_no = s.channel_no and b.method_id = s.id
           and b.time >= $4::timestamptz and b.time < $5::timestamptz
         order by b.time limit $6
       ) p
     ) v
     where v.n > 0
     order by s.channel_code, s.code`,
      [filter.streamId, filter.channelCode, filter.methodCode, filter.since ?? '-infinity', filter.until ?? 'infinity', filter.limit],
    ),
  );
  return rows.map((row) => ({
    methodCode: row.code,
    channelCode: row.channel_code,
    tsNs: row.ts ?? '',
    intervalMs: row.iv ?? '',
    kinds: (row.k ?? '')
      .split(',')
      .map((kind) => `"${beatKinds[Number(kind)] ?? 'artefact'}"`)
      .join(','),
    accepted: row.a ?? '',
    qmask: row.q ?? '',
    next: row.n >= filter.limit ? row.last : null,
  }));
}
