/** Every observation of a user as FHIR R4 Observations, one per line. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fhirObservation } from '../../query/fhir.ts';
import { readObservations } from '../../query/observations.ts';
import type { BiosignalRow, ObservationRow } from '../../query/observations.ts';
import { startProgress } from '../progress.ts';
import { personStem } from './stretch.ts';
import type { PersonRow, StreamExport } from './stretch.ts';

const OBSERVATIONS_PER_QUERY = 1000;

/** @returns path of the file */
export async function exportFhir(job: Omit<StreamExport, 'stream'>, person: PersonRow): Promise<string> {
  const { pool, range, folder, console } = job;
  const { xuser_id: subjectId, project_id: projectId } = person;
  const { rows: biosignals } = await pool.query<BiosignalRow>(
    `select id, name, abbreviation, unit, loinc_code, signal_type, source_type, feature, channel_kind from biosignal
     where (project_id is null or project_id = $1) and channel_kind is null order by id`,
    [projectId],
  );
  const time = (ns: bigint): string => new Date(Number(ns / 1_000_000n)).toISOString();
  const progress = startProgress(console, 'observations', biosignals.length);
  let count = 0;
  async function* lines(): AsyncGenerator<string> {
    for (const [done, biosignal] of biosignals.entries()) {
      let after: readonly [string, string] | null = null;
      for (;;) {
        console.signal.throwIfAborted();
        const page: readonly ObservationRow[] = await readObservations(pool, {
          subjectId,
          biosignal,
          since: time(range.fromNs),
          until: time(range.toNs),
          deviceId: null,
          methodCode: null,
          qualityMax: 2,
          order: 'asc',
          after,
          limit: OBSERVATIONS_PER_QUERY,
        });
        for (const row of page) yield `${JSON.stringify(fhirObservation(row, subjectId))}\n`;
        count += page.length;
        progress.update(done, `${count} observations`);
        const last = page.at(-1);
        if (page.length < OBSERVATIONS_PER_QUERY || last === undefined) break;
        after = [last.effective_time, last.id];
      }
    }
  }
  const path = join(folder, `${personStem(person)}-observations.ndjson`);
  try {
    await pipeline(Readable.from(lines()), createWriteStream(path));
  } finally {
    progress.end();
  }
  return path;
}
