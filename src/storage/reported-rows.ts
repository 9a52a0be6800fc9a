/** Measurements and events that devices report besides samples: writes them to their tables, halves a refused batch, and makes dead letters
 *  of what cannot be stored. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { StreamId, SubjectId } from '../signal.ts';
import { takenAs, timesTen } from '../units/powers-of-ten.ts';
import { microseconds } from './copy-binary.ts';
import type { Partitions } from './schema/partitions.ts';
import type { Letter } from './set-aside.ts';
import { halvesOf } from './store-or-set-aside.ts';

export type ReportedMeasurement = Readonly<{
  streamId: StreamId;
  /** With `index`, identifies the measurement when its packet is stored again. */
  seq: number;
  index: number;
  subjectId: SubjectId;
  /** As the packet names it; an unknown code is added to the catalog. */
  code: string;
  /** Unix ns. */
  tsNs: bigint;
  value: number;
  unit: string;
  quality: 0 | 1 | 2;
}>;

export type ReportedEvent = Readonly<{ streamId: StreamId; seq: number; index: number; code: string; tsNs: bigint; text: string }>;

/** `logPosition`: the batch of packet_log that holds the packet. */
export type Logged<T> = T & Readonly<{ logPosition: number | null }>;

export type ReportedRows = Readonly<{
  measurements: readonly Logged<ReportedMeasurement>[];
  events: readonly Logged<ReportedEvent>[];
}>;

export const NOTHING_REPORTED: ReportedRows = { measurements: [], events: [] };

export function reportedCount({ measurements, events }: ReportedRows): number {
  return measurements.length + events.length;
}

export async function ensureReportedPartitions(
  partitions: Partitions,
  client: pg.Client,
  { measurements, events }: ReportedRows,
): Promise<void> {
  await partitions.ensure(
    client,
    'measurement',
    measurements.map((row) => microseconds(row.tsNs)),
  );
  await partitions.ensure(
    client,
    'device_event',
    events.map((row) => microseconds(row.tsNs)),
  );
}

/** Writes rows in the transaction of the caller. Rows that are already stored stay as they are. */
export async function writeReported(client: pg.Client, { measurements, events }: ReportedRows): Promise<void> {
  if (measurements.length > 0) await writeMeasurements(client, measurements);
  if (events.length > 0) await writeEvents(client, events);
}

/** Two parts to be written one after the other; null for one row or none. */
export function halveReported({ measurements, events }: ReportedRows): readonly [ReportedRows, ReportedRows] | null {
  if (measurements.length > 0 && events.length > 0)
    return [
      { measurements, events: [] },
      { measurements: [], events },
    ];
  if (measurements.length + events.length < 2) return null;
  const [firstMeasurements, secondMeasurements] = halvesOf(measurements);
  const [firstEvents, secondEvents] = halvesOf(events);
  return [
    { measurements: firstMeasurements, events: firstEvents },
    { measurements: secondMeasurements, events: secondEvents },
  ];
}

/** One dead letter per row. */
export function lettersOfReported({ measurements, events }: ReportedRows, reason: Pick<Letter, 'reason' | 'sqlState'>): Letter[] {
  const row = { ...reason, bytes: null };
  return [
    ...measurements.map(({ streamId, subjectId, logPosition, ...content }): Letter => {
      return { ...row, kind: 'measurement', streamId, subjectId, logPosition, content };
    }),
    ...events.map(({ streamId, logPosition, ...content }): Letter => ({ ...row, kind: 'event', streamId, logPosition, content })),
  ];
}

/** @throws the server's 23505 when another session has just taken the abbreviation of a new code: the next attempt finds it taken, and the
 *  database gives another (sql/000101-own-abbreviations.sql) */
async function writeMeasurements(client: pg.Client, rows: readonly ReportedMeasurement[]): Promise<void> {
  await client.query(
    `insert into biosignal (project_id, name, abbreviation, unit, signal_type, role, source_type, code)
     select distinct on (x.project_id, m.code) x.project_id, m.code, upper(m.code), m.unit, 'scalar', 'measurement', 'device', m.code
     from unnest($1::uuid[], $2::text[], $3::text[]) as m (xuser_id, code, unit) join xuser x on x.id = m.xuser_id
     where not exists (select from biosignal b where b.code = m.code and (b.project_id is null or b.project_id = x.project_id))
     on conflict (project_id, code) do nothing`,
    [rows.map((row) => row.subjectId), rows.map((row) => row.code), rows.map((row) => row.unit)],
  );
  const taken = await takenUnits(client, rows);
  await client.query(
    `insert into measurement
       (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit, qmask, device_id, stream_id, given_value, given_unit)
     select timestamptz 'epoch' + m.us * interval '1 microsecond', m.ts_ns, m.id, x.organization_id, x.project_id, x.id, b.id, v.value, v.unit,
       -- Acknowledged, so it is kept: impossible values are bad, unlikely ones suspect. A number in a unit that does not convert is not a
       -- value of this biosignal and must not be charted as one.
       greatest(m.qmask, case
         when v.unit <> b.unit then case when b.unit = '' then 0 else 2 end
         when v.value not between coalesce(b.possible_min, '-infinity') and coalesce(b.possible_max, 'infinity') then 2
         when v.value not between coalesce(b.plausible_min, '-infinity') and coalesce(b.plausible_max, 'infinity') then 1
         else 0 end),
       s.device_id, s.id, case when g.is_given then m.value end, case when g.is_given then m.unit end
     from unnest($1::int8[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::float8[], $7::text[], $8::smallint[], $9::int[], $10::text[], $11::float8[])
       as m (us, ts_ns, id, xuser_id, code, value, unit, qmask, stream_id, taken_unit, taken_value)
     join xuser x on x.id = m.xuser_id
     join stream s on s.id = m.stream_id
     cross join lateral (
       select b.* from biosignal b where b.code = m.code and (b.project_id is null or b.project_id = x.project_id)
       order by b.project_id nulls last limit 1) b
     -- A number whose conversion may overflow a float8 (22003) stays as it came, bad.
     left join unit_conversion c on c.given = m.taken_unit and c.unit = b.unit and c.code in ('', b.code) and abs(m.taken_value) < 1e300
     cross join lateral (
       -- Through numeric, to 15 digits: 109.4 [degF] is 43 Cel and not slightly more, which would be implausible.
       select case when c.given is null and m.taken_unit <> b.unit then m.value
           when c.given is null or (c.factor = 1 and c.shift = 0) then m.taken_value
           else (m.taken_value * c.factor + c.shift)::numeric::float8 end as value,
         case when m.unit = '' or m.taken_unit = b.unit or c.given is not null then b.unit else m.unit end as unit) v
     cross join lateral (select m.unit not in ('', b.unit) and v.unit = b.unit as is_given) g
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
      taken.map(({ unit }) => unit),
      taken.map(({ value }) => value),
    ],
  );
}

/** What each row is in a unit that the database converts: where it came in another, by powers of ten or in another spelling. */
async function takenUnits(client: pg.Client, rows: readonly ReportedMeasurement[]): Promise<readonly { unit: string; value: number }[]> {
  const keyOf = (subject: SubjectId, code: string, unit: string): string => `${subject} ${code} ${unit}`;
  const given = new Map(rows.filter(({ unit }) => unit !== '').map((row) => [keyOf(row.subjectId, row.code, row.unit), row]));
  if (given.size === 0) return rows;
  const sent = [...given.values()];
  const { rows: others } = await client.query<{ xuser_id: SubjectId; code: string; unit: string; taken: string[] }>(
    `select m.*, b.unit || array(select c.given from unit_conversion c where c.unit = b.unit and c.code in ('', b.code) order by 1) as taken
     from unnest($1::uuid[], $2::text[], $3::text[]) as m (xuser_id, code, unit)
     join xuser x on x.id = m.xuser_id
     cross join lateral (
       select b.* from biosignal b where b.code = m.code and (b.project_id is null or b.project_id = x.project_id)
       order by b.project_id nulls last limit 1) b
     where m.unit <> b.unit`,
    [sent.map((row) => row.subjectId), sent.map((row) => row.code), sent.map((row) => row.unit)],
  );
  const found = new Map(others.map((row) => [keyOf(row.xuser_id, row.code, row.unit), takenAs(row.unit, row.taken)]));
  return rows.map(({ subjectId, code, unit, value }) => {
    const taken = found.get(keyOf(subjectId, code, unit));
    const converted = taken ? timesTen(value, taken.power) : Infinity;
    return taken && Number.isFinite(converted) ? { unit: taken.unit, value: converted } : { unit, value };
  });
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

/** A uuid (version 8) that is a pure function of the packet and the item's place in it. */
function stableId(kind: string, item: Readonly<{ streamId: number; seq: number; index: number }>): string {
  const bytes = createHash('sha256').update(`${kind}:${item.streamId}:${item.seq}:${item.index}`).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
