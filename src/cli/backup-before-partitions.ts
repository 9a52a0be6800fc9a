/** Restores backups from before subjects belonged to partitions (schema below 63): a column of theirs is gone, and a row is made that every
 *  schema since then has. */
import type pg from 'pg';

const PARTITIONS_VERSION = 63;

/** @param schemaVersion of the backup */
export async function makeColumnsOfBefore(client: pg.Client, schemaVersion: number): Promise<void> {
  if (schemaVersion < PARTITIONS_VERSION) await client.query('alter table packet_log_checkpoint add column id boolean');
}

/** Call it when everything has been read. */
export async function dropColumnsOfBefore(client: pg.Client, schemaVersion: number): Promise<void> {
  if (schemaVersion >= PARTITIONS_VERSION) return;
  await client.query('alter table packet_log_checkpoint drop column id');
  await client.query('insert into cluster_setting (epoch) select epoch from packet_log_checkpoint');
}
