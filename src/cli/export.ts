/** `biosignal export`: recordings of the database as files that other programs read. */
import { mkdir } from 'node:fs/promises';
import { audit } from '../tenancy/audit.ts';
import { PipelineError } from '../errors.ts';
import { commandLine } from './acts.ts';
import { waitForBacklog } from './backlog.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE, UsageError } from './command.ts';
import { exportCsv } from './export/csv.ts';
import { exportEdf } from './export/edf.ts';
import { exportFhirAnnotations, firstMarkNs } from './export/annotations.ts';
import { exportFhir } from './export/fhir.ts';
import { exportParquet } from './export/parquet.ts';
import { fileStem, findPerson, joinSegments, readWhole, safeName, startOf } from './export/stretch.ts';
import type { StreamExport } from './export/stretch.ts';
import { FORCE_OPTION, writeWhole } from './export/whole-files.ts';
import { exportWfdb } from './export/wfdb.ts';
import { withDatabase } from './open-database.ts';
import { findOrganization } from './organizations.ts';

const formats = ['wfdb', 'edf', 'csv', 'parquet', 'fhir'] as const;

/** Largest ns that the database holds: the year 2262. */
/** As far as 64 bits reach. */
const END_OF_TIME_NS = 9_223_372_036_000_000_000n;
const BEGIN_OF_TIME_NS = -END_OF_TIME_NS;

export const exportRecordings: Command = {
  name: 'export',
  summary: 'Export recordings as WFDB, EDF+, CSV or Parquet, or a user as FHIR.',
  positionals: 'STREAM_ID | USER',
  description: `STREAM_ID is the uuid of a stream; USER the uuid or external id of a user record, for all of their streams.
wfdb     one record per sampling rate, with the detected beats as .bio annotations, what people marked as .mrk, and the
         beats with their corrections as .cor
edf      EDF+ with all channels, events and what people marked; EDF+D if the recording has gaps, unless --continuous
csv      one table per sampling rate, in physical values; 'import' reads it back to the same samples
parquet  three tables: samples (digital and physical), beats, features; times are UTC, in nanoseconds
fhir     every observation of the user as FHIR R4 Observations, one per line (NDJSON), and what people marked likewise
A file that is there already is not replaced without --force. Digital values are written as the device sent them. The command waits
(--wait) for packets acknowledged before it started; if they have not reached the tables by then, nothing is written and the exit code
is 3. With --no-wait the files are written at once, and the exit code is 1 if acknowledged packets may be missing from them. Reads the
database directly: only people who may read everything can run it.`,
  options: {
    org: { type: 'string', value: 'ORG', doc: 'Id or name of the organization. Not needed unless several have such a user.' },
    format: { type: 'string', value: 'FORMAT', fallback: 'edf', doc: `${formats.join(', ')}.` },
    out: { type: 'string', value: 'FOLDER', fallback: '.', doc: 'Folder for the files.' },
    force: FORCE_OPTION,
    continuous: { type: 'boolean', doc: 'edf: EDF+C in any case; gaps hold the value before them and are named by annotations.' },
    since: { type: 'string', value: 'TIME', doc: 'First time, inclusive.' },
    until: { type: 'string', value: 'TIME', doc: 'Last time, exclusive.' },
    wait: { type: 'string', value: 'SEC', fallback: '120', doc: 'How long to wait for acknowledged packets to reach the tables.' },
    'no-wait': { type: 'boolean', doc: 'Write what the tables hold now.' },
  },
  examples: ['biosignal export patient-7 --format edf --out exports --since 2026-01-05T00:00:00Z --until 2026-01-06T00:00:00Z'],
  run: async ({ console, options, positionals, json }) => {
    const [wanted] = positionals;
    if (wanted === undefined || positionals.length > 1) throw new UsageError('name one stream or one user');
    const format = options.oneOf('format', formats);
    const [folder, mayReplace] = [options.text('out'), options.flag('force')];
    const isContinuous = options.flag('continuous');
    if (isContinuous && format !== 'edf') throw new UsageError('--continuous is for --format edf');
    const org = options.text('org');
    const waitMs = options.flag('no-wait') ? 0 : options.number('wait', 0, 86_400) * 1000;
    const range = { fromNs: options.time('since') ?? BEGIN_OF_TIME_NS, toNs: options.time('until') ?? END_OF_TIME_NS };
    return await withDatabase(console, async (database) => {
      const { pool } = database;
      const whole = await waitForBacklog(database, waitMs, console);
      if (!whole && !options.flag('no-wait')) {
        console.err('biosignal export: acknowledged packets have not reached the tables yet; is the service running?');
        console.err('Try again, raise --wait, or write what is there with --no-wait.');
        return EXIT_UNAVAILABLE;
      }
      const { person, streams } = await findPerson(pool, wanted, org === '' ? null : await findOrganization(pool, org));
      await mkdir(folder, { recursive: true });
      // A person with measurements but no recordings still has observations.
      if (streams.length === 0 && format !== 'fhir') throw new PipelineError('not_found', `user '${wanted}' has no recordings`);
      const { xuser_id: subjectId, project_id: projectId, organization_id: orgId } = person;
      const since = options.text('since');
      const until = options.text('until');
      const detail = { format, streams: streams.length, ...(since === '' ? {} : { since }), ...(until === '' ? {} : { until }) };
      const entry = { action: 'recording.exported', targetKind: 'xuser', targetId: subjectId, subjectId, projectId, detail };
      await audit(pool, commandLine(console, orgId), entry);
      const files: string[] = [];
      const job = { pool, range, folder, console };
      if (format === 'fhir')
        files.push(
          ...(await writeWhole(folder, mayReplace, async (apart) => [
            await exportFhir({ ...job, folder: apart }, person),
            ...(await exportFhirAnnotations({ ...job, folder: apart }, person)),
          ])),
        );
      else {
        for (const stream of streams) {
          files.push(
            ...(await writeWhole(folder, mayReplace, (apart) => exportStream({ ...job, stream, folder: apart }, format, isContinuous))),
          );
        }
      }
      if (json) console.out(JSON.stringify({ files }, null, 2));
      else for (const file of files) console.out(file);
      if (files.length === 0) console.err('biosignal export: no samples in that range');
      if (whole) return EXIT_OK;
      console.err('biosignal export: incomplete: some acknowledged packets had not reached the tables yet');
      return EXIT_FAILED;
    });
  },
};

async function exportStream(
  job: StreamExport,
  format: Exclude<(typeof formats)[number], 'fhir'>,
  isContinuous: boolean,
): Promise<string[]> {
  const { stream, console } = job;
  if (format === 'parquet') return await exportParquet(job, (firstNs) => fileStem(stream, firstNs));
  const segments = await readWhole(job);
  if (segments.length === 0) return format === 'edf' ? await exportEventsOnly(job) : [];
  const startDeviceNs = startOf(segments, stream.epoch_ns);
  const columns = joinSegments(segments, startDeviceNs);
  for (const { config } of columns.filter(({ rounded }) => rounded)) console.err(`${config.code}: float samples were rounded to 9 digits`);
  const startNs = stream.epoch_ns + startDeviceNs;
  const name = fileStem(stream, startNs);
  if (format === 'edf') return [await exportEdf(job, name, startNs, columns, isContinuous)];
  const files: string[] = [];
  const rates = [...new Set(columns.map(({ config }) => config.rateNanoHz))];
  for (const rate of rates) {
    const ofRate = columns.filter(({ config }) => config.rateNanoHz === rate);
    const rateName = rates.length === 1 ? name : `${name}-${safeName(String(rate / 1e9))}Hz`;
    if (format === 'csv') files.push(await exportCsv(job, rateName, startNs, ofRate));
    else files.push(...(await exportWfdb(job, rateName, startNs, ofRate)));
  }
  return files;
}

/** A stream that has events or marks and no samples in the range, e.g. a hypnogram, is an EDF+ file of annotations. */
async function exportEventsOnly(job: StreamExport): Promise<string[]> {
  const { pool, stream, range } = job;
  const { rows } = await pool.query<{ first: bigint | null }>(
    'select min(ts_ns) as first from device_event where stream_id = $1 and ts_ns >= $2 and ts_ns < $3',
    [stream.id, String(range.fromNs), String(range.toNs)],
  );
  const [event, mark] = [rows[0]?.first ?? null, await firstMarkNs(job)];
  const first = event === null || (mark !== null && mark < event) ? mark : event;
  if (first === null) return [];
  const startNs = stream.epoch_ns <= first && stream.epoch_ns >= range.fromNs ? stream.epoch_ns : first;
  return [await exportEdf(job, fileStem(stream, startNs), startNs, [])];
}
