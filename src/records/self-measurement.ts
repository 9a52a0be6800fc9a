/** Stores self-reported values as measurements too, so that they appear among the observations. */
import { sql } from 'kysely';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Subject } from '../tenancy/record-ownership.ts';

export type SelfMeasurement = Readonly<{
  /** Id of its source record: written twice, it is stored once. */
  id: string;
  /** Code of the biosignal in the catalog: `mood`, `phq9`, `gad7`. */
  code: string;
  value: number;
  time: string;
  methodCode: string;
  /** The code belongs to the product (a built-in questionnaire): a project's biosignal with the same code is not used. */
  ofProduct: boolean;
}>;

/** Does nothing where the catalog has no biosignal of this code. */
export async function storeSelfMeasurement(db: Db, subject: Subject, measurement: SelfMeasurement): Promise<void> {
  const { id, code, value, methodCode, ofProduct } = measurement;
  const { orgId, projectId } = subject;
  const time = sql<Date>`${measurement.time}::timestamptz`;
  const needed = sql<boolean>`to_regclass('partition_rule') is not null`;
  const { rows } = await run(db, build.selectNoFrom(needed.as('needed')));
  if (rows[0]?.needed === true) {
    await run(db, build.selectNoFrom(sql`ensure_partitions('measurement', ${time}, ${time})`.as('made')));
  }
  const { rows: signals } = await run(
    db,
    build
      .selectFrom('biosignal')
      .select(['id', 'unit'])
      .where('code', '=', code)
      .where(({ or, eb }) => or([eb('project_id', 'is', null), eb('project_id', '=', projectId)]))
      .orderBy('project_id', (order) => (ofProduct ? order.desc().nullsFirst() : order.asc().nullsLast()))
      .limit(1),
  );
  const signal = signals[0];
  if (signal === undefined) return;
  await run(
    db,
    build
      .insertInto('measurement')
      .values({
        time,
        ts_ns: sql<bigint>`(extract(epoch from ${time}) * 1000000)::bigint * 1000`,
        id,
        organization_id: orgId,
        project_id: projectId,
        xuser_id: subject.id,
        biosignal_id: signal.id,
        value,
        unit: signal.unit,
        method_code: methodCode,
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Removes the observations of a record that was corrected; the record itself stays. */
export async function removeSelfMeasurements(db: Db, subject: Subject, id: string, time: string): Promise<void> {
  const measurements = build.deleteFrom('measurement').where('xuser_id', '=', subject.id).where('id', '=', id);
  await run(db, measurements.where('time', '=', sql<Date>`${time}::timestamptz`));
}
