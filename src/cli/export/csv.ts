/** Channels of one rate as one CSV table. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { writeCsv } from '../../formats/csv.ts';
import type { CsvChannel } from '../../formats/csv.ts';
import { MISSING } from '../client/recording.ts';
import type { Column, StreamExport } from './stretch.ts';

/** @param columns of one rate  @returns path of the file */
export async function exportCsv({ folder }: StreamExport, name: string, startNs: bigint, columns: readonly Column[]): Promise<string> {
  const channels = columns.map(({ config, samples }): CsvChannel => ({ config, samples }));
  const path = join(folder, `${name}.csv`);
  await pipeline(Readable.from(writeCsv({ startUnixNs: startNs, channels, missing: MISSING })), createWriteStream(path));
  return path;
}
