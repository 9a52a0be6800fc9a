/** GET /api/v1/observations, as JSON and as FHIR; POST /api/v1/measurements, for values that do not come in packets. */
import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { Type } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { measurementsLock } from '../storage/database/locks.ts';
import { withPartitions } from '../storage/with-partitions.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import { audit } from '../tenancy/audit.ts';
import { pastMonths } from '../tenancy/past-months.ts';
import { holdSubject, ownSubject } from '../tenancy/record-ownership.ts';
import type { Subject } from '../tenancy/record-ownership.ts';
import { linkBase } from '../config.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { microsecondsOf } from '../http/times.ts';
import { isTimeZone, notTimeZone, presentName } from '../http/time-zone.ts';
import { CursorQuery, exactly, LimitQuery, nullable, OneLine, oneOf, orDefault, QualityMask, Timestamp, Uuid } from '../http/schemas.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { BundleSchema, FHIR_TYPE, fhirBundle } from './fhir.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { measuredValues } from './measured-values.ts';
import type { MeasuredValue, MeasurementInput } from './measured-values.ts';
import { observationIntervals, readSummaries } from './observation-summaries.ts';
import type { SummaryInterval } from './observation-summaries.ts';
import { findBiosignal, readObservations } from './observations.ts';
import type { BiosignalRow, Observation, ObservationFilter, ObservationRow } from './observations.ts';
import { wrong } from './wrong.ts';

export const ObservationSchema = exactly({
  id: Type.String(),
  biosignal_id: Type.Integer(),
  loinc_code: Type.String(),
  value: Type.Number({ description: 'A mean is rounded to the step of the values of its method; of what is counted, the sum.' }),
  unit: Type.String(),
  effective_time: Timestamp,
  device_id: Type.String({ description: 'Empty where no device was involved.' }),
  method_code: Type.String({ description: '<kind>:<method_name>; kinds: measured, derived, aggregated, reported, imported' }),
  qmask: QualityMask,
  n: nullable(Type.Integer({ description: 'Of a minute, hour or day: values that it has; null: a single value that was reported.' })),
  good_n: nullable(Type.Integer({ description: 'How many of them are good.' })),
  expected_n: nullable(
    Type.Integer({
      description:
        'How many a whole minute, hour or day has; where that is no whole number, as of a minute of values every 8 s, the nearest, or n where it ' +
        'has one more. Null: nobody knows, or they are farther apart than it is long, as values every 5 min are in a minute, of which most have none.',
    }),
  ),
  min: nullable(Type.Number({ description: 'Least of the values that value is the mean of.' })),
  max: nullable(Type.Number({ description: 'Greatest of them.' })),
});

const SubjectQuery = Type.Optional(
  Type.String({ minLength: 1, maxLength: 255, description: 'The user. Required with an organization key; a user token implies its own.' }),
);

const MeasurementsBody = exactly({
  subject_id: Type.String({ minLength: 1, maxLength: 255 }),
  measurements: Type.Array(
    exactly({
      biosignal_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      value: Type.Number(),
      unit: Type.Optional(OneLine(32, { minLength: 1, description: 'UCUM; what it is given in.' })),
      time: Timestamp,
      quality: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
      method_code: Type.Optional(Type.String({ pattern: '^(measured|reported|imported):[a-z0-9_]{1,64}$' })),
    }),
    { minItems: 1, maxItems: 1000 },
  ),
});
const StoredSchema = exactly({
  created: Type.Integer(),
  duplicates: Type.Integer({ description: 'How many were stored before, as they are.' }),
  corrected: Type.Integer({ description: 'How many were stored before with another quality, and have the one given now.' }),
  subject_id: Uuid,
  implausible: Type.Array(Type.Integer({ description: 'Positions in the request.' }), { description: 'Stored as suspect.' }),
  converted: Type.Array(
    exactly({
      index: Type.Integer(),
      given_value: Type.Number(),
      given_unit: Type.String(),
      value: Type.Number(),
      unit: Type.String(),
    }),
  ),
});

export type ObservationDeps = Readonly<{
  db: Pool;
  cursors: Cursors;
  /** Address of FHIR links; empty: the one by which the request came. */
  config: Pick<Config, 'publicUrl'>;
  onDamaged?: OnDamaged;
}>;

const listObservations = ({ db, cursors, config, onDamaged }: ObservationDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/observations',
    operationId: 'listObservations',
    tag: 'Observations',
    summary: 'List observations of one biosignal of a user',
    description:
      'since is inclusive, until exclusive. Derived biosignals have one observation per minute in which at least half of the values are ' +
      'good, its value the mean of these; quality_max=1 adds minutes in which at least half is good or suspect (qmask 1, the mean of both), ' +
      'quality_max=2 bad ones (qmask 2, the mean of all). interval=PT1H and P1D give the same of hours (of UTC) and of days of the time zone ' +
      'tz that begin in the range, of all streams of a device together; good_n of expected_n is what is covered. With Accept: application/fhir+json a FHIR R4 searchset Bundle.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      biosignal_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      subject_id: SubjectQuery,
      since: Type.Optional(Timestamp),
      until: Type.Optional(Timestamp),
      device_id: Type.Optional(Type.String({ maxLength: 128 })),
      method_code: Type.Optional(Type.String({ maxLength: 128 })),
      interval: orDefault(
        oneOf(observationIntervals, { default: 'PT1M', description: 'ISO 8601. Reported values have no hours and days.' }),
      ),
      tz: Type.Optional(Type.String({ maxLength: 64, description: "IANA time zone of days; absent: the user's." })),
      quality_max: orDefault(Type.Integer({ minimum: 0, maximum: 2, default: 0, description: 'Worst flag to return.' })),
      order: orDefault(oneOf(['asc', 'desc'], { default: 'desc' })),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
    },
    responses: {
      200: {
        description: 'Observations.',
        schema: Type.Array(ObservationSchema),
        alternatives: { [FHIR_TYPE]: BundleSchema },
        headers: ['Link'],
      },
    },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, query, header, requestedAddress }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      const biosignal = await findBiosignal(db, subject.projectId, query.biosignal_id);
      if (biosignal === null) throw new PipelineError('not_found', `There is no biosignal ${query.biosignal_id} in this project.`);
      const { cursor: _, limit, ...filters } = query;
      const scope = `observations ${subject.id} ${JSON.stringify(filters)}`;
      const list = { cursors, path: '/api/v1/observations', scope, query };
      const key = pageStart(list);
      const filter: ObservationFilter = {
        subjectId: subject.id,
        biosignal,
        since: query.since ?? null,
        until: query.until ?? null,
        deviceId: query.device_id ?? null,
        methodCode: query.method_code ?? null,
        qualityMax: query.quality_max,
        order: query.order,
        after: key === null ? null : [String(key[0]), String(key[1])],
        limit: limit + 1,
        ...(onDamaged && { onDamaged }),
      };
      const { interval } = query;
      const rows =
        interval === 'PT1M'
          ? await readObservations(db, filter)
          : await summaries(db, filter, interval, presentName(query.tz ?? subject.timeZone));
      const { items, headers: found } = page(list, rows, (last) => [last.effective_time, last.id]);
      const headers = { vary: 'accept', ...found };
      if (header('accept').includes(FHIR_TYPE)) {
        const next = found['link']?.slice(1, found['link'].indexOf('>')) ?? null;
        const self = `/api/v1/observations?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()}`;
        const base = config.publicUrl === '' ? requestedAddress() : linkBase(config.publicUrl);
        return { status: 200, json: fhirBundle(items, subject.id, base, self, next), contentType: FHIR_TYPE, headers };
      }
      return { status: 200, json: items.map(observationOf), headers };
    },
  });

async function summaries(
  db: Db,
  filter: ObservationFilter,
  interval: SummaryInterval,
  timeZone: string,
): Promise<readonly ObservationRow[]> {
  if (filter.biosignal.feature === null)
    throw wrong('/query/interval', 'is for derived biosignals: reported values have no hours and days');
  if (!isTimeZone(timeZone)) throw wrong('/query/tz', notTimeZone(timeZone));
  return readSummaries(db, filter, interval, timeZone).catch((error: unknown) => {
    throw sqlStateOf(error) === '22023' ? wrong('/query/tz', 'is not a time zone that the database knows') : error;
  });
}

const createMeasurements = ({ db }: ObservationDeps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/measurements',
    operationId: 'createMeasurements',
    tag: 'Observations',
    summary: 'Store measurements that did not come in packets',
    description:
      'Sent again, the same measurement (user, biosignal, time, value, method) is stored once; with another `quality` than before it gets ' +
      'that one (`corrected`; the audit log says so), without `quality` it keeps the one it has. A measurement with another value is another one: flag the ' +
      'wrong one bad (2) and send the right one. A value in another unit is converted where that can be done exactly ([degF], [lb_av], kPa, ' +
      "mmol/L of glucose, powers of ten such as g/L for mg/dL …) and kept as it was sent, too; `unit` absent: the biosignal's. " +
      'What is impossible, in an unknown unit or of the future is refused, all of it or nothing; what is possible but implausible is ' +
      'stored with the quality 1 (suspect).',
    access: { key: 'write', operator: 'editor' },
    body: MeasurementsBody,
    idempotent: true,
    responses: { 201: { description: 'How many were new.', schema: StoredSchema } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, body.subject_id, 'recording');
      const biosignals = await measurableBiosignals(db, subject.projectId, body.measurements);
      const measured = await measuredValues(db, body.measurements, biosignals);
      pastMonths.take(
        caller,
        measured.map(({ time }) => time),
      );
      const keep = async (client: PoolClient) => {
        await holdSubject(client, subject.id);
        const created = await insertMeasurements(client, subject, measured);
        const stated = measured.filter((_, i) => body.measurements[i]?.quality !== undefined);
        const corrected = created < measured.length ? await correctQuality(client, subject, stated) : [];
        if (corrected.length > 0)
          await audit(client, request, {
            action: 'measurements.corrected',
            targetKind: 'xuser',
            targetId: subject.id,
            detail: { corrected },
          });
        const implausible = measured.flatMap((item, i) => (item.implausible ? [i] : []));
        const converted = measured.flatMap(({ given, value, unit }, index) =>
          given === null ? [] : [{ index, given_value: given.value, given_unit: given.unit, value, unit }],
        );
        const duplicates = measured.length - created - corrected.length;
        return {
          status: 201,
          json: { created, duplicates, corrected: corrected.length, subject_id: subject.id, implausible, converted },
        } as const;
      };
      return await withPartitions(db, 'measurement', async () => {
        await ensurePartitions(db, measured);
        return await answerOnce(db, request, { operationId: 'createMeasurements', subjectId: subject.id }, keep);
      });
    },
  });

/** Measured biosignals by id; computed ones are refused.  @throws PipelineError not_found */
async function measurableBiosignals(
  db: Db,
  projectId: string,
  measurements: readonly MeasurementInput[],
): Promise<ReadonlyMap<number, BiosignalRow>> {
  const biosignals = new Map<number, BiosignalRow>();
  for (const id of new Set(measurements.map((item) => item.biosignal_id))) {
    const biosignal = await findBiosignal(db, projectId, id);
    if (biosignal === null || biosignal.feature !== null || biosignal.channel_kind !== null) {
      throw new PipelineError('not_found', `There is no biosignal ${id} in this project that takes measurements.`);
    }
    biosignals.set(id, biosignal);
  }
  return biosignals;
}

/** Stores those that are not there yet.  @returns how many */
async function insertMeasurements(client: PoolClient, subject: Subject, measured: readonly MeasuredValue[]): Promise<number> {
  // SQL: kysely has no unnest of several arrays.
  const { rowCount } = await client.query(
    `insert into measurement
       (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit, qmask, method_code, given_value, given_unit)
     select t, (extract(epoch from t) * 1000000)::bigint * 1000, id, $1, $2, $3, biosignal_id, value, unit, qmask, method_code, given_value, given_unit
     from unnest($4::timestamptz[], $5::uuid[], $6::integer[], $7::float8[], $8::text[], $9::smallint[], $10::text[], $11::float8[], $12::text[])
       as input (t, id, biosignal_id, value, unit, qmask, method_code, given_value, given_unit)
     on conflict do nothing`,
    [
      subject.orgId,
      subject.projectId,
      subject.id,
      measured.map((item) => item.time),
      measured.map((item) => measurementId(subject.id, item)),
      measured.map((item) => item.biosignal_id),
      measured.map((item) => item.value),
      measured.map((item) => item.unit),
      measured.map((item) => item.quality),
      measured.map((item) => item.method_code ?? 'imported:api_v1'),
      measured.map((item) => item.given?.value ?? null),
      measured.map((item) => item.given?.unit ?? null),
    ],
  );
  return rowCount ?? 0;
}

type Corrected = Readonly<{ id: string; from: number; to: number }>;

/** Gives measurements that are stored with another quality the one that is stated, of several the last.  @returns those */
async function correctQuality(client: PoolClient, subject: Subject, stated: readonly MeasuredValue[]): Promise<readonly Corrected[]> {
  const last = new Map(stated.map((item) => [`${measurementId(subject.id, item)} ${microsecondsOf(item.time)}`, item]));
  const items = [...last.values()];
  // One after the other: what another one has stored anew meanwhile would be missed.
  await client.query(`select pg_advisory_xact_lock(${measurementsLock(subject.id)})`);
  // SQL: kysely has no unnest of several arrays. Deleted and stored anew: the role of the API does not update measurements.
  const { rows } = await client.query<Corrected>(
    `delete from measurement m using unnest($2::timestamptz[], $3::uuid[], $4::integer[], $5::smallint[]) as input (t, id, biosignal_id, qmask)
     where m.xuser_id = $1 and m.biosignal_id = input.biosignal_id and m.time = input.t and m.id = input.id and m.qmask <> input.qmask
       and m.biosignal_id = any ($4::integer[])
       and m.time between (select min(t) from unnest($2::timestamptz[]) t) and (select max(t) from unnest($2::timestamptz[]) t)
     returning m.id, m.qmask as from, input.qmask as to`,
    [
      subject.id,
      items.map((item) => item.time),
      items.map((item) => measurementId(subject.id, item)),
      items.map((item) => item.biosignal_id),
      items.map((item) => item.quality),
    ],
  );
  if (rows.length > 0) await insertMeasurements(client, subject, items);
  return rows;
}

/** Creates the partitions that plain PostgreSQL needs before rows are inserted; the function exists only there. */
async function ensurePartitions(db: Db, measurements: readonly MeasurementInput[]): Promise<void> {
  // SQL: functions of the schema.
  const { rows } = await db.query<{ needed: boolean }>(`select to_regclass('partition_rule') is not null as needed`);
  if (rows[0]?.needed !== true) return;
  const days = new Set(measurements.map((item) => new Date(item.time).toISOString().slice(0, 10)));
  for (const day of days) {
    await db.query(`select ensure_partitions('measurement', $1::timestamptz, $1::timestamptz + interval '1 day')`, [day]);
  }
}

/** A name-based uuid (RFC 9562 version 8): the same measurement sent twice has the same id. */
function measurementId(subjectId: string, item: MeasurementInput): string {
  const hash = createHash('sha256')
    .update([subjectId, item.biosignal_id, Date.parse(item.time), item.value, item.method_code ?? ''].join('\n'))
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** The members of the interface, and the detail behind the value. */
type ObservationBody = Observation & Pick<ObservationRow, 'qmask' | 'n' | 'good_n' | 'expected_n' | 'min' | 'max'>;

function observationOf(row: ObservationRow): ObservationBody {
  const { id, biosignal_id, loinc_code, value, unit, effective_time, device_id, method_code, qmask, n, good_n, expected_n, min, max } = row;
  return { id, biosignal_id, loinc_code, value, unit, effective_time, device_id, method_code, qmask, n, good_n, expected_n, min, max };
}

export const observationRoutes = (deps: ObservationDeps): readonly Route[] => [listObservations(deps), createMeasurements(deps)];
