/** Brings a database to this release: the files of sql/, and between them the rows that only this code can rewrite. */
import { migrate, type MigrateOptions, type MigrateResult } from './schema/migrate.ts';
import { hasRows, packRows, type Packed, type PackOptions } from './pack-rows.ts';

export type UpgradeOptions = Omit<MigrateOptions, 'between'> & PackOptions;
export type UpgradeResult = MigrateResult & Readonly<{ packed: Packed | null }>;

/** 000057-derived-reading.sql: what reads minutes is made when all rows are minutes. */
const READING = 57;

/** @throws PipelineError as migrate() does */
export async function upgrade(url: string, options: UpgradeOptions = {}): Promise<UpgradeResult> {
  let packed: Packed | null = null;
  const result = await migrate(url, {
    ...options,
    between: async (next, client, kind) => {
      // At the end again: a restore of a backup of before may have been ended before it had packed.
      if ((next === null || next >= READING) && (await hasRows(client))) packed = await packRows(url, kind, options);
    },
  });
  return { ...result, packed };
}
