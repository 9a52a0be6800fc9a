/** Reads observations of one biosignal of one user: reported values, or the minutes of a derived feature. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';

export type BiosignalRow = Readonly<{
  id: number;
  name: string;
  abbreviation: string;
  unit: string;
  loinc_code: string;
  signal_type: string;
  /** Derived: the feature that its values come from. */
  feature: string | null;
  /** Waveform: the kind of its channels. */
  channel_kind: string | null;
}>;

/** The members of the interface. */
export type Observation = Readonly<{
  id: string;
  biosignal_id: number;
  loinc_code: string;
  value: number;
  unit: string;
  /** RFC 3339 in UTC with microseconds; for a minute, its start. */
  effective_time: string;
  /** device_id of the packets; empty where no device was involved. */
  device_id: string;
  method_code: string;
}>;

export type ObservationRow = Observation &
  Readonly<{
    name: string;
    abbreviation: string;
    signal_type: string;
    qmask: number;
    /** For a minute: how many values are expected, present, and good; least and greatest of those behind its value. */
    n: number | null;
    value_n: number | null;
    good_n: number | null;
    /** How many values the method yields in a whole minute, hour or day. */
    expected_n: number | null;
    /** Of an hour or a day: its end, as effective_time. */
    effective_end?: string;
    min: number | null;
    max: number | null;
  }>;

export type ObservationFilter = Readonly<{
  /** A user that the caller may read. */
  subjectId: string;
  biosignal: BiosignalRow;
  /** [since, until), RFC 3339; null: unbounded. */
  since: string | null;
  until: string | null;
  /** device_id of the packets; null: any. */
  deviceId: string | null;
  /** null: for a derived feature, the newest version with values there. */
  methodCode: string | null;
  /** Worst flag returned. It does not change a value: a good minute's value comes from its good values, a suspect one's from its good and
   *  suspect values, a bad one's from all. */
  qualityMax: number;
  order: 'asc' | 'desc';
  /** effective_time and id of the last observation of the previous page. */
  after: readonly [time: string, id: string] | null;
  limit: number;
}>;

/** Finds a biosignal; null when the project has none with that id. */
export async function findBiosignal(db: Db, projectId: string, id: number): Promise<BiosignalRow | null> {
  const { rows } = await db.query<BiosignalRow>(
    prepared(
      `select b.id, b.name, b.abbreviation, b.unit, b.loinc_code, b.signal_type, b.feature, b.channel_kind from biosignal b
     left join project_biosignal pb on pb.biosignal_id = b.id and pb.project_id = $2
     where b.id = $1 and (b.project_id is null or b.project_id = $2) and not coalesce(pb.hidden, false)`,
      [id, projectId],
    ),
  );
  return rows[0] ?? null;
}

/** Reads a page in the requested order; at equal times, by id. A page after (time, id) neither skips nor repeats one. */
export async function readObservations(db: Db, filter: ObservationFilter): Promise<readonly ObservationRow[]> {
  const { biosignal } = filter;
  if (biosignal.channel_kind !== null) return []; // a waveform has samples
  const rows = biosignal.feature === null ? await reported(db, filter) : await derived(db, filter, biosignal.feature);
  const { id: biosignal_id, name, abbreviation, loinc_code, signal_type } = biosignal;
  return rows.map((row) => ({ ...row, biosignal_id, name, abbreviation, loinc_code, signal_type }));
}

type Row = Omit<ObservationRow, 'biosignal_id' | 'name' | 'abbreviation' | 'loinc_code' | 'signal_type'>;

const rfc3339 = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

async function reported(db: Db, filter: ObservationFilter): Promise<Row[]> {
  const [compare, direction] = filter.order === 'asc' ? ['>', 'asc'] : ['<', 'desc'];
  const { rows } = await db.query<Row>(
    prepared(
      `select m.id::text, m.value, m.unit, ${rfc3339('m.time')} as effective_time, coalesce(d.external_id, '') as device_id, m.method_code, m.qmask,
       null as n, null as value_n, null as good_n, null as expected_n, null as min, null as max
     from measurement m left join device d on d.id = m.device_id
     where m.time >= $1::timestamptz and m.time < $2::timestamptz
       and m.xuser_id = $3 and m.biosignal_id = $4 and m.qmask <= $5
       and ($6::text is null or d.external_id = $6) and ($7::text is null or m.method_code = $7)
       and ($8::timestamptz is null or (m.time, m.id) ${compare} ($8::timestamptz, $9::uuid))
     order by m.time ${direction}, m.id ${direction} limit $10`,
      [
        filter.since ?? '-infinity',
        filter.until ?? 'infinity',
        filter.subjectId,
        filter.biosignal.id,
        filter.qualityMax,
        filter.deviceId,
        filter.methodCode,
        filter.after?.[0] ?? null,
        filter.after?.[1] ?? null,
        filter.limit,
      ],
    ),
  );
  return rows;
}

/** SQL: how many values of a bucket are not worse than quality_max, by quality_max. */
export const usable = ['r.good_n', '(r.good_n + r.suspect_n)', 'r.value_n'] as const;

/** Is it a unit of counts? A minute of counts is a sum, because the mean of its pieces means nothing. */
export function isCounted(unit: string): boolean {
  return unit === '{steps}';
}

/** Extremes and mean of the values behind a minute's flag (f.flag). */
export const minuteExtremes = `
  case f.flag when 0 then r.good_min when 1 then least(r.good_min, r.suspect_min) else r.min end as min,
  case f.flag when 0 then r.good_max when 1 then greatest(r.good_max, r.suspect_max) else r.max end as max`;
export const minuteMean = `
  (case f.flag when 0 then r.good_sum / r.good_n
     when 1 then (coalesce(r.good_sum, 0) + coalesce(r.suspect_sum, 0)) / (r.good_n + r.suspect_n)
     else r.sum / r.value_n end)::float8 as value`;
/** Sum of a minute. Steps walked in a suspect second of a good minute count. */
export const minuteSum = `
  (case f.flag when 2 then r.sum else coalesce(r.good_sum, 0) + coalesce(r.suspect_sum, 0) end)::float8 as value`;

type Minute = {
  ms: number;
  stream_id: number;
  channel_no: number;
  value: number;
  qmask: number;
  n: number;
  value_n: number;
  good_n: number;
  min: number;
  max: number;
};

/** Reads minutes in which at least half of the values are usable, with their mean. An id encodes minute, stream, method and channel. */
async function derived(db: Db, filter: ObservationFilter, feature: string): Promise<Row[]> {
  const source = await sourceOf(db, filter, feature);
  if (source === null) return [];
  const [compare, direction] = filter.order === 'asc' ? ['>', 'asc'] : ['<', 'desc'];
  const n = usable[filter.qualityMax === 0 ? 0 : filter.qualityMax === 1 ? 1 : 2];
  const [, uuid, method, channel] = /^([0-9a-f-]{36})\.(\d+)\.(-?\d+)\./.exec(filter.after?.[1] ?? '') ?? [];
  const minutes: Minute[] = [];
  for (const [from, to] of windows(filter, source)) {
    const { rows } = await db.query<Minute>(
      prepared(
        `select date_part('epoch', r.bucket) * 1000 as ms, r.stream_id, r.channel_no, ${isCounted(filter.biosignal.unit) ? minuteSum : minuteMean}, ${minuteExtremes},
           f.flag as qmask, r.n::int as n, r.value_n::int as value_n, r.good_n::int as good_n
         from feature_1m r join unnest($3::int[], $4::uuid[]) as s (id, uuid) on s.id = r.stream_id
         cross join lateral (select case when r.good_n * 2 >= r.n then 0 when (r.good_n + r.suspect_n) * 2 >= r.n then 1 else 2 end as flag) f
         where r.bucket >= $1::timestamptz and r.bucket < $2::timestamptz
           and r.stream_id = any ($3::int[]) and r.method_id = $5 and ${n} > 0 and ${n} * 2 >= r.n
           and ($6::timestamptz is null or (r.bucket, s.uuid, r.method_id, r.channel_no) ${compare} ($6::timestamptz, $7::uuid, $8::smallint, $9::smallint))
         order by r.bucket ${direction}, s.uuid ${direction}, r.channel_no ${direction} limit $10`,
        [
          from,
          to,
          source.streams.map(({ id }) => id),
          source.streams.map((stream) => stream.uuid),
          source.methodId,
          filter.after?.[0] ?? null,
          uuid ?? null,
          method ?? null,
          channel ?? null,
          filter.limit - minutes.length,
        ],
      ),
    );
    minutes.push(...rows);
    if (minutes.length >= filter.limit) break;
  }
  const streams = new Map(source.streams.map((stream) => [stream.id, stream]));
  return minutes.map(({ ms, stream_id: id, channel_no: channelNo, value, qmask, n, value_n, good_n, min, max }) => ({
    id: `${streams.get(id)!.uuid}.${source.methodId}.${channelNo}.${ms / 1000}`,
    value,
    unit: filter.biosignal.unit,
    effective_time: new Date(ms).toISOString().replace('Z', '000Z'),
    device_id: streams.get(id)!.device,
    method_code: source.methodCode,
    qmask,
    n,
    value_n,
    good_n,
    expected_n: source.cadenceHz === null ? null : Math.round(60 * source.cadenceHz),
    min,
    max,
  }));
}

const MINUTE_MS = 60_000;
const WINDOW_GROWTH = 8;

/** Cuts the range of a page into pieces [from, to), in its order: the page is mostly in the first piece, and 100 minutes need not sort a
 *  year of them. The last piece reaches to the end of the range. Sizes are guesses: they decide how much is read, not what is found. */
function* windows(filter: ObservationFilter, source: Source): Generator<[from: string, to: string]> {
  const [since, until] = [filter.since ?? '-infinity', filter.until ?? 'infinity'];
  const after = filter.after === null ? NaN : Date.parse(filter.after[0]);
  const forward = filter.order === 'asc';
  // Start of the search, ms; on a later page, where the previous one ended.
  const low = Math.max(source.oldestMs, forward ? after || -Infinity : -Infinity, Date.parse(filter.since ?? '') || -Infinity);
  const high = Math.min(source.newestMs, forward ? Infinity : after + MINUTE_MS || Infinity, Date.parse(filter.until ?? '') || Infinity);
  let step = 2 * filter.limit * MINUTE_MS;
  let edge = forward ? since : until;
  for (let at = forward ? low + step : high - step; forward ? at < high : at > low; at += forward ? step : -step) {
    const next = new Date(at).toISOString();
    yield forward ? [edge, next] : [next, edge];
    edge = next;
    step *= WINDOW_GROWTH;
  }
  yield forward ? [edge, until] : [since, edge];
}

type Source = Readonly<{
  streams: readonly Readonly<{ id: number; uuid: string; device: string }>[];
  /** Times of their first and last recorded values, ms, to a day. */
  oldestMs: number;
  newestMs: number;
  methodId: number;
  methodCode: string;
  cadenceHz: number | null;
}>;

/** Finds the user's streams that overlap the range, and the method to read: the newest version with values there. */
export async function sourceOf(db: Db, filter: ObservationFilter, feature: string): Promise<Source | null> {
  const { rows } = await db.query<{
    ids: number[] | null;
    uuids: string[];
    devices: string[];
    oldest_ms: number;
    newest_ms: number;
    method_id: number;
    method_code: string;
    cadence_hz: number | null;
  }>(
    prepared(
      `with own as (
         select array_agg(s.id) as ids, array_agg(s.uuid) as uuids, array_agg(d.external_id) as devices,
           date_part('epoch', min(coalesce(s.recorded_from, to_timestamp(s.epoch_ns / 1e9::float8)))) * 1000 as oldest_ms,
           date_part('epoch', max(coalesce(s.ended_at, s.last_sample_at, s.started_at)) + interval '1 day') * 1000 as newest_ms
         from stream s join device d on d.id = s.device_id
         where s.xuser_id = $1 and ($2::text is null or d.external_id = $2)
           and coalesce(s.recorded_from, '-infinity') < $6::timestamptz + interval '1 day'
           and coalesce(s.ended_at, s.last_sample_at, 'infinity') >= $5::timestamptz - interval '1 day')
       select own.*, m.id as method_id, m.code as method_code, m.cadence_hz
       from own cross join lateral (
         select m.id, m.code, m.cadence_hz from method m
         where m.kind = 'feature' and m.name = $3 and ($4::text is null or m.code = $4) and has_feature(own.ids, m.id, $5::timestamptz, $6::timestamptz)
         order by (substring(m.code from '_v(\\d+)$'))::int desc nulls last, m.id desc limit 1) m`,
      [filter.subjectId, filter.deviceId, feature, filter.methodCode, filter.since ?? '-infinity', filter.until ?? 'infinity'],
    ),
  );
  const row = rows[0];
  if (row === undefined || row.ids === null) return null;
  return {
    streams: row.ids.map((id, i) => ({ id, uuid: row.uuids[i]!, device: row.devices[i]! })),
    oldestMs: row.oldest_ms,
    newestMs: row.newest_ms,
    methodId: row.method_id,
    methodCode: row.method_code,
    cadenceHz: row.cadence_hz,
  };
}
