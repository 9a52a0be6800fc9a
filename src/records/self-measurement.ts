/** Writes what a person reported as a measurement too, so that it appears among the observations. */
import type { Db } from '../storage/database/database.ts';
import type { Subject } from '../tenancy/ownership.ts';

export type SelfMeasurement = Readonly<{
  /** Id of the record that it comes from: written twice, it is stored once. */
  id: string;
  /** Code of the biosignal in the catalog: `mood`, `phq9`, `gad7`. */
  code: string;
  value: number;
  time: string;
  methodCode: string;
  /** The code is of the product (a questionnaire that ships): a biosignal of the project with the same code does not take it. */
  ofProduct: boolean;
}>;

/** Does nothing where the catalog has no biosignal of this code. */
export async function storeSelfMeasurement(db: Db, subject: Subject, measurement: SelfMeasurement): Promise<void> {
  const { rows } = await db.query<{ needed: boolean }>(`select to_regclass('partition_rule') is not null as needed`);
  if (rows[0]?.needed === true) {
    await db.query(`select ensure_partitions('measurement', $1::timestamptz, $1::timestamptz)`, [measurement.time]);
  }
  await db.query(
    `insert into measurement (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit, method_code)
     select $1::timestamptz, (extract(epoch from $1::timestamptz) * 1000000)::bigint * 1000, $2, $3, $4, $5, b.id, $6, b.unit, $7
     from biosignal b where b.code = $8 and (b.project_id is null or b.project_id = $4)
     order by (b.project_id is null) = $9 desc limit 1
     on conflict do nothing`,
    [
      measurement.time,
      measurement.id,
      subject.orgId,
      subject.projectId,
      subject.id,
      measurement.value,
      measurement.methodCode,
      measurement.code,
      measurement.ofProduct,
    ],
  );
}

/** Removes the observations of a record that was corrected; the record itself stays. */
export async function removeSelfMeasurements(db: Db, subject: Subject, id: string, time: string): Promise<void> {
  await db.query('delete from measurement where xuser_id = $1 and time = $2::timestamptz and id = $3', [subject.id, time, id]);
}
