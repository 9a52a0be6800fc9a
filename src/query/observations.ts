/** Reads observations of one biosignal of one user: reported values, or the minutes of a derived feature. */
import { createHash } from 'node:crypto';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { meanOf } from '../signal.ts';
import type { QualityFlag } from '../signal.ts';
import { extremesOf, flagOf, type BucketRow } from './chart-cells.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { expectedIn } from './expected-values.ts';
import { minutesInSteps, readFeatureBuckets } from './feature-buckets.ts';
import type { PackedSeries } from './feature-buckets.ts';

export type BiosignalRow = Readonly<{
  id: number;
  name: string;
  abbreviation: string;
  unit: string;
  loinc_code: string;
  signal_type: string;
  source_type: string;
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
    source_type: string;
    qmask: number;
    /** For a minute: how many values are expected, present, and good; least and greatest of those behind its value. */
    n: number | null;
    value_n: number | null;
    good_n: number | null;
    /** How many values the method yields in a whole minute, hour or day; null: see expectedIn. */
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
  /** null: for a derived feature, of each minute, hour or day the newest version that has values in it. */
  methodCode: string | null;
  /** Worst flag returned. It does not change a value: a good minute's value comes from its good values, a suspect one's from its good and
   *  suspect values, a bad one's from all. */
  qualityMax: number;
  order: 'asc' | 'desc';
  /** effective_time and id of the last observation of the previous page. */
  after: readonly [time: string, id: string] | null;
  limit: number;
  /** Absent: a damaged minute is an error. */
  onDamaged?: OnDamaged;
}>;

/** Finds a biosignal; null when the project has none with that id. */
export async function findBiosignal(db: Db, projectId: string, id: number): Promise<BiosignalRow | null> {
  const { rows } = await db.query<BiosignalRow>(
    prepared(
      `select b.id, b.name, b.abbreviation, b.unit, b.loinc_code, b.signal_type, b.source_type, b.feature, b.channel_kind from biosignal b
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
  const { id: biosignal_id, name, abbreviation, loinc_code, signal_type, source_type } = biosignal;
  return rows.map((row) => ({ ...row, biosignal_id, name, abbreviation, loinc_code, signal_type, source_type }));
}

type Row = Omit<ObservationRow, 'biosignal_id' | 'name' | 'abbreviation' | 'loinc_code' | 'signal_type' | 'source_type'>;

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

const countedUnits: readonly string[] = ['{steps}', '{couplets}', '{runs}'];

/** Is it a unit of counts? A minute of counts is a sum, because the mean of its pieces means nothing. */
export function isCounted(unit: string): boolean {
  return countedUnits.includes(unit);
}

type Minute = Readonly<{
  ms: number;
  streamId: number;
  uuid: string;
  channelNo: number;
  row: BucketRow;
  perUnit: number;
  method: Method;
}>;
type Place = Pick<Minute, 'ms' | 'uuid' | 'channelNo'>;

/** As PostgreSQL orders them. */
function comparePlaces(a: Place, b: Place): number {
  return a.ms - b.ms || (a.uuid < b.uuid ? -1 : a.uuid > b.uuid ? 1 : a.channelNo - b.channelNo);
}

/** Reads minutes in which at least half of the values are usable, with their mean. An id encodes minute, stream, method and channel;
 *  the method by its code, because its number is another one in the database that an organization moves to. */
async function derived(db: Db, filter: ObservationFilter, feature: string): Promise<Row[]> {
  const source = await sourceOf(db, filter, feature);
  if (source === null) return [];
  const streams = new Map(source.streams.map((stream) => [stream.id, stream]));
  const qualityMax = filter.qualityMax === 0 ? 0 : filter.qualityMax === 1 ? 1 : 2;
  const sign = filter.order === 'asc' ? 1 : -1;
  const after = placeOf(filter.after);
  const minutes: Minute[] = [];
  for (const [from, to] of windows(filter, source)) {
    const bounds = { from, to, hoursFrom: null, hoursTo: null, daysFrom: null, daysTo: null };
    const ids = source.methods.map(({ id }) => id);
    const packed = await readFeatureBuckets(db, [...streams.keys()], ids, bounds, 2, true);
    const wanted = newestOf(source, packed, filter.onDamaged)
      .filter((minute) => isUsable(minute.row, qualityMax) && (after === null || sign * comparePlaces(minute, after) > 0))
      .sort((a, b) => sign * comparePlaces(a, b));
    minutes.push(...wanted.slice(0, filter.limit - minutes.length));
    if (minutes.length >= filter.limit) break;
  }
  const hashes = new Map(source.methods.map(({ code }) => [code, createHash('sha256').update(code).digest('hex').slice(0, 8)]));
  return minutes.map(({ ms, streamId, uuid, channelNo, row, perUnit, method }) => ({
    id: `${uuid}.${hashes.get(method.code)!}.${channelNo}.${ms / 1000}`,
    unit: filter.biosignal.unit,
    effective_time: new Date(ms).toISOString().replace('Z', '000Z'),
    device_id: streams.get(streamId)!.device,
    method_code: method.code,
    n: row.n,
    value_n: row.value_n,
    good_n: row.good_n,
    expected_n: expectedIn(method.cadenceHz, MINUTE_MS, row.n),
    ...numbersOf(row, perUnit, isCounted(filter.biosignal.unit)),
  }));
}

/** Minutes as a chart has them: each is of one version, the newest that has values in it. */
function newestOf({ streams, methods }: Source, packed: readonly PackedSeries[], onDamaged: OnDamaged | undefined): Minute[] {
  const uuids = new Map(streams.map(({ id, uuid }) => [id, uuid]));
  const minutes: Minute[] = [];
  const taken = new Set<string>();
  const keyOf = ({ ms, streamId, channelNo }: Minute): string => `${ms} ${streamId} ${channelNo}`;
  for (const method of methods) {
    const own = packed
      .filter((series) => series.method_id === method.id)
      .flatMap((series) => {
        const { stream_id: streamId, channel_no: channelNo, per_unit: perUnit } = series;
        const place = { streamId, uuid: uuids.get(streamId)!, channelNo, perUnit, method };
        return minutesInSteps(series, onDamaged).map((row): Minute => ({ ...place, ms: row.ms, row }));
      })
      .filter((minute) => minute.row.value_n > 0 && !taken.has(keyOf(minute)));
    minutes.push(...own);
    if (methods.length > 1) for (const minute of own) taken.add(keyOf(minute));
  }
  return minutes;
}

/** The last observation of the page before; without an id of a minute, everything at its time. */
function placeOf(after: ObservationFilter['after']): Place | null {
  if (after === null) return null;
  const [, uuid = '', channelNo] = /^([0-9a-f-]{36})\.[0-9a-f]+\.(-?\d+)\./.exec(after[1]) ?? [];
  return { ms: Date.parse(after[0]), uuid, channelNo: Number(channelNo ?? 0) };
}

function isUsable({ n, good_n: goodN, suspect_n: suspectN, value_n: valueN }: BucketRow, qualityMax: QualityFlag): boolean {
  const usable = qualityMax === 0 ? goodN : qualityMax === 1 ? goodN + suspectN : valueN;
  return usable > 0 && usable * 2 >= n;
}

/** The number of a minute, and the extremes behind it. A sum has steps walked in a suspect second of a good minute, too.
 *  @param row in whole steps */
function numbersOf(row: BucketRow, perUnit: number, isSum: boolean): Pick<ObservationRow, 'value' | 'qmask' | 'min' | 'max'> {
  const qmask = flagOf(row);
  const [min, max] = extremesOf(row, qmask);
  const [sum, n] =
    qmask === 2
      ? [row.every_sum ?? 0, row.value_n]
      : qmask === 1 || isSum
        ? [(row.good_sum ?? 0) + (row.suspect_sum ?? 0), row.good_n + row.suspect_n]
        : [row.good_sum ?? 0, row.good_n];
  const inUnit = (steps: number | null): number | null => (steps === null ? null : steps / perUnit);
  return { value: isSum ? sum / perUnit : meanOf(sum / perUnit, n, perUnit), qmask, min: inUnit(min), max: inUnit(max) };
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const WINDOW_GROWTH = 8;
/** Two months of minutes, 6 MB a series. */
const WINDOW_MS_MAX = 60 * DAY_MS;

/** Cuts the range of a page into pieces [from, to), in its order: the page is mostly in the first piece, and 100 minutes need not sort a
 *  year of them. The last piece reaches to the end of the range. Sizes are guesses: they decide how much is read, not what is found. */
function* windows(filter: ObservationFilter, source: Source): Generator<[from: string, to: string]> {
  const [since, until] = [filter.since ?? '-infinity', filter.until ?? 'infinity'];
  const after = filter.after === null ? NaN : Date.parse(filter.after[0]);
  const forward = filter.order === 'asc';
  // Start of the search, ms; on a later page, where the previous one ended.
  const low = Math.max(source.oldestMs, forward ? after || -Infinity : -Infinity, Date.parse(filter.since ?? '') || -Infinity);
  // A page from the end begins with the last sample; newestMs is a day later.
  const newest = forward ? source.newestMs : source.newestMs - DAY_MS;
  const high = Math.min(newest, forward ? Infinity : after + MINUTE_MS || Infinity, Date.parse(filter.until ?? '') || Infinity);
  let step = Math.ceil(1.25 * filter.limit) * MINUTE_MS; // of a series that has a fifth of its minutes bad
  let edge = forward ? since : until;
  for (let at = forward ? low + step : high - step; forward ? at < high : at > low; at += forward ? step : -step) {
    const next = new Date(at).toISOString();
    yield forward ? [edge, next] : [next, edge];
    edge = next;
    step = Math.min(step * WINDOW_GROWTH, WINDOW_MS_MAX);
  }
  yield forward ? [edge, until] : [since, edge];
}

type Source = Readonly<{
  streams: readonly Readonly<{ id: number; uuid: string; device: string }>[];
  /** Times of their first and last recorded values, ms, to a day. */
  oldestMs: number;
  newestMs: number;
  /** Versions with values in the range, the newest first; those of another unit than the newest are left out. */
  methods: readonly Method[];
}>;
type Method = Readonly<{ id: number; code: string; cadenceHz: number | null }>;

/** Finds the user's streams that overlap the range, and the versions with values there. */
export async function sourceOf(db: Db, filter: ObservationFilter, feature: string): Promise<Source | null> {
  const { rows } = await db.query<{
    ids: number[] | null;
    uuids: string[];
    devices: string[];
    oldest_ms: number;
    newest_ms: number;
    methods: readonly (Method & { unit: string })[] | null;
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
       select own.*, (
         select json_agg(json_build_object('id', m.id, 'code', m.code, 'unit', m.unit, 'cadenceHz', m.cadence_hz) order by ${newestFirst('m')})
         from method m
         where m.kind = 'feature' and m.name = $3 and ($4::text is null or m.code = $4)
           and has_feature(own.ids, m.id, $5::timestamptz, $6::timestamptz)) as methods
       from own`,
      [filter.subjectId, filter.deviceId, feature, filter.methodCode, filter.since ?? '-infinity', filter.until ?? 'infinity'],
    ),
  );
  const row = rows[0];
  if (row === undefined || row.ids === null || row.methods === null) return null;
  return {
    streams: row.ids.map((id, i) => ({ id, uuid: row.uuids[i]!, device: row.devices[i]! })),
    oldestMs: row.oldest_ms,
    newestMs: row.newest_ms,
    methods: row.methods.filter(({ unit }) => unit === row.methods![0]!.unit),
  };
}
