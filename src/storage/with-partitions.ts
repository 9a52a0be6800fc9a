/** Runs work that stores rows in partitions, and again where one was missing after all: retention dropped it in between, or the connection
 *  does not know it (sql/000099-partition-just-made.sql). Only plain PostgreSQL fails in this way. */
import type { Db } from './database/database.ts';
import { failureOf } from './database/sql-states.ts';
import { announcePartitions } from './schema/partitions.ts';

/** One is enough, unless the table changes again at that moment. */
const REPEATS_MAX = 2;

/** @param work makes the partitions that it needs, and leaves nothing behind when it fails  @throws what work throws */
export async function withPartitions<T>(db: Db, relation: string, work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      if (failureOf(error) !== 'missing_partition' || repeats === REPEATS_MAX) throw error;
      await announcePartitions(db, relation);
    }
  }
}
