/** Channels of one rate as one CSV table. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { writeCsv } from '../../formats/csv.ts';
import type { CsvChannel } from '../../formats/csv.ts';
import { MISSING } from '../client/recording.ts';
import { startProgress } from '../progress.ts';
import type { Column, StreamExport } from './stretch.ts';

/** @param columns of one rate  @returns path of the file */
export async function exportCsv(
  { folder, console }: StreamExport,
  name: string,
  startNs: bigint,
  columns: readonly Column[],
): Promise<string> {
  const channels = columns.map(({ config, samples }): CsvChannel => ({ config, samples }));
  const path = join(folder, `${name}.csv`);
  const progress = startProgress(console, `${name}.csv`, 0);
  const pieces = function* (): Generator<string> {
    let bytes = 0;
    for (const piece of writeCsv({ startUnixNs: startNs, channels, missing: MISSING })) {
      yield piece;
      bytes += piece.length;
      progress.update(bytes, `${Math.round(bytes / 1e6)} MB written`);
    }
  };
  try {
    await pipeline(Readable.from(pieces()), createWriteStream(path));
  } finally {
    progress.end();
  }
  return path;
}
