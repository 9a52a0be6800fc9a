/** Restores backups from before beats and values were packed into minutes (schema 54 and 55): their rows go into tables of their own, and
 *  are packed when all has been read. */
import type pg from 'pg';
import { PipelineError } from '../errors.ts';
import type { Database } from '../storage/database/database.ts';
import { packRows, rowTables } from '../storage/pack-rows.ts';
import type { TableEntry } from './backup.ts';
import type { Console } from './command.ts';

/** Columns as sql/000006-derived-values.sql made them. */
const shapes = {
  beat: `time timestamptz not null, ts_ns bigint not null, stream_id integer not null, channel_no smallint not null, method_id smallint not null,
    interval_ms double precision, kind smallint not null, qmask smallint not null, reason text not null,
    primary key (stream_id, channel_no, method_id, time)`,
  feature: `time timestamptz not null, ts_ns bigint not null, value double precision, stream_id integer not null, method_id smallint not null,
    channel_no smallint not null, qmask smallint not null,
    primary key (stream_id, method_id, channel_no, time)`,
} as const;

const isOfRows = (name: string): name is keyof typeof shapes => Object.hasOwn(shapes, name);

/** Where the rows of a table that is no longer there go. */
export function rowTableOf(name: string): string | undefined {
  return isOfRows(name) ? rowTables[name] : undefined;
}

/** Makes the tables that the backup's rows need. */
export async function makeRowTables(client: pg.Client, tables: readonly TableEntry[]): Promise<void> {
  for (const { name } of tables) if (isOfRows(name)) await client.query(`create table ${rowTables[name]} (${shapes[name]})`);
}

/** What such a backup says about these tables is said about those of their minutes, as sql/000056-derived-minutes.sql has it. */
export async function renameKept(client: pg.Client): Promise<void> {
  for (const table of ['retention', 'project_retention_swept'])
    await client.query(`update ${table} set relation = relation || '_block' where relation in ('beat', 'feature')`);
}

/** Packs what a restore has read. @throws PipelineError that says how to go on: the database is not empty any more */
export async function packRestored({ url, kind }: Database, console: Console): Promise<void> {
  try {
    await packRows(url, kind, { onProgress: console.err });
  } catch (error) {
    throw new PipelineError(
      'internal',
      `everything was read, but beats and values are not packed yet: run 'biosignal migrate', which goes on (${(error as Error).message})`,
      { cause: error },
    );
  }
}
