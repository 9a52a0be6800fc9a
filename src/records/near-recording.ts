/** Whether what a person says of a recording lies on it. */
import { sql } from 'kysely';
import { PipelineError } from '../errors.ts';
import { isAhead } from '../http/times.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';

/** On the recording, or this near it. */
const NEAR = '1 day';

type Range = Readonly<{ startsAt: string; endsAt: string | null }>;

/** What lies far from the recording is shown nowhere on it: a slip of the date, or of another recording. A recording's own times may move
 *  by some seconds when its clock is corrected.  @param pointer of the start  @throws PipelineError validation_failed */
export async function checkNear(db: Db, streamId: number, { startsAt, endsAt }: Range, pointer: string): Promise<void> {
  const { rows } = await run(
    db,
    build
      .selectFrom('stream')
      .select([
        sql<boolean>`coalesce(recorded_from, to_timestamp(epoch_ns / 1e9::float8)) - ${NEAR}::interval > ${endsAt ?? startsAt}::timestamptz`.as(
          'before',
        ),
        sql<boolean>`coalesce(last_sample_at + ${NEAR}::interval < ${startsAt}::timestamptz, false)`.as('after'),
      ])
      .where('id', '=', streamId),
  );
  const { before = false, after = false } = rows[0] ?? {};
  if (!before && !after) return;
  const detail = before ? 'is more than a day before the recording' : 'is more than a day after the end of the recording';
  throw new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code: 'range', detail }] });
}

/** Refuses times in the future: what is said was observed, not planned. A recording that states its times may be of the future, because
 *  the clock of its device was wrong; what lies on it was observed.
 *  @param streamId null: of no recording  @param times by the place in the request  @throws PipelineError validation_failed */
export async function checkNotAhead(db: Db, streamId: number | null, times: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [pointer, time] of Object.entries(times)) {
    if (time === null || !isAhead(time) || (streamId !== null && (await isRecorded(db, streamId, time)))) continue;
    const detail = 'lies in the future';
    throw new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code: 'future', detail }] });
  }
}

async function isRecorded(db: Db, streamId: number, time: string): Promise<boolean> {
  const recorded = build.selectFrom('stream').select('id').where('id', '=', streamId);
  const { rows } = await run(db, recorded.where(sql<boolean>`last_sample_at >= ${time}::timestamptz`));
  return rows.length > 0;
}
