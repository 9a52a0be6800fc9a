/** `biosignal import`: recordings into the service at their own time, with their annotations. Importing again changes nothing. */
import { createHash } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import { readAnnotations } from '../formats/wfdb.ts';
import type { Command, Console, Options } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, systemCode, UsageError } from './command.ts';
import { packetCount } from './packetize.ts';
import { duration, placeOf } from './progress.ts';
import { listRecordings, openRecording } from './recording.ts';
import type { Recording } from './recording.ts';
import { replayRecording } from './replay.ts';
import type { ReplayResult } from './replay.ts';
import { StateFile } from './state-file.ts';

const PACKET_MS = 1000;

type Imported = ReplayResult & Readonly<{ path: string; error: string }>;

export const importRecordings: Command = {
  name: 'import',
  summary: 'Import recordings (WFDB with .atr, EDF+, CSV, dataset folders) at their own time.',
  positionals: 'RECORDING...',
  description: `RECORDING is a WFDB header, EDF(+), CSV, a table or folder of a published dataset that 'replay' knows, or a folder, searched with its
subfolders. The recordings go through the ingest endpoint, as fast as it takes them. The identity of a stream follows from its samples, so
an import that was interrupted, or is done twice, goes on where it stood: packets that are there already are counted as duplicates. With
--state they are not even sent, and recordings that are done are not opened. A recording that cannot be read does not stop the others.
Annotations (.atr, EDF+) become events with the code 'annotation'. CSV tables have a time column, or comments as 'export' writes.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest.' },
    subject: { type: 'string', value: 'ID', doc: "External id or uuid of the user record. Default: the recording's name." },
    device: { type: 'string', value: 'ID', doc: 'Device id. Default: import-NAME; with several recordings -NAME is appended.' },
    start: { type: 'string', value: 'TIME', doc: 'Time of the first sample, for recordings that do not state it.' },
    state: { type: 'string', value: 'FILE', doc: 'Remember there what is durable, and go on from it.' },
  },
  examples: [
    'biosignal import night.edf --subject patient-7',
    'biosignal import data/mitdb --start 2026-01-05T08:00:00Z --state mitdb.json',
  ],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one recording');
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    options.required('key');
    const states = await StateFile.open(options.text('state'));
    const results: Imported[] = [];
    const startedMs = performance.now();
    for (const [index, path] of paths.entries()) {
      if (console.signal.aborted) break;
      if (states.get(path, PACKET_MS)?.done === true) {
        if (!json) console.out(`${path}: done before`);
        continue;
      }
      const label = placeOf(index, results.length, paths.length, performance.now() - startedMs);
      const result = await importOne(path, paths.length > 1, label, options, states, console);
      results.push(result);
      if (!json) describe(result, console);
    }
    await states.save();
    if (json) console.out(JSON.stringify(results, null, 2));
    else if (paths.length > 1) summarize(results, paths.length, performance.now() - startedMs, console);
    if (console.signal.aborted) return EXIT_INTERRUPTED;
    return results.some(({ rejected, error }) => rejected > 0 || error !== '') ? EXIT_FAILED : EXIT_OK;
  },
};

async function importOne(
  path: string,
  several: boolean,
  label: string,
  options: Options,
  states: StateFile,
  console: Console,
): Promise<Imported> {
  try {
    const recording = await withAnnotations(await openRecording(path));
    const startUnixNs = options.time('start') ?? startOf(recording);
    if (startUnixNs === null) throw new UsageError(`${path} does not state when it was recorded: give --start`);
    const device = options.text('device');
    const deviceId = (device === '' ? `import-${recording.name}` : several ? `${device}-${recording.name}` : device).slice(0, 64);
    const bootId = identityOf(recording, deviceId, startUnixNs);
    const before = states.get(path, PACKET_MS);
    const state = before?.bootId === bootId ? before : { bootId, startUnixNs: String(startUnixNs), packetMs: PACKET_MS, nextSeq: 0 };
    const result = await replayRecording(
      recording,
      {
        url: options.text('to'),
        credential: options.required('key'),
        subject: options.text('subject') || recording.name,
        deviceId,
        packetMs: PACKET_MS,
        speed: Infinity,
        startUnixNs,
        resume: state,
        durationSec: Infinity,
        withEvents: true,
        label: `${label}${recording.name}`,
      },
      console,
      (reached) => states.set(path, reached),
    );
    if (result.done) {
      states.set(path, { ...state, nextSeq: packetCount(recording, PACKET_MS), done: result.rejected === 0 });
      await states.save();
    }
    return { ...result, path, error: '' };
  } catch (error) {
    // A file that cannot be read is one recording less; a service or a key that is not there is an end.
    const ofFile = error instanceof PipelineError && !error.code.startsWith('credential') && !notOfFile.has(error.code);
    if (!several || !(ofFile || systemCode(error) === 'ENOENT')) throw error;
    return { ...nothing, recording: path, path, error: error instanceof Error ? error.message : String(error) };
  }
}

const notOfFile = new Set<string>(['unavailable', 'busy', 'shutting_down', 'rate_limited', 'scope_missing', 'https_required', 'internal']);

const nothing: ReplayResult = {
  recording: '',
  deviceId: '',
  subject: '',
  bootId: '',
  startUnixNs: '0',
  channels: [],
  packets: 0,
  samples: 0,
  accepted: 0,
  duplicates: 0,
  rejected: 0,
  firstRejection: '',
  elapsedSec: 0,
  done: false,
};

function describe(result: Imported, console: Console): void {
  const { recording, samples, elapsedSec, accepted, duplicates, rejected, subject, deviceId, error } = result;
  if (error !== '') {
    console.err(`not imported: ${error}`);
    return;
  }
  console.out(
    `${recording}: ${samples} samples in ${elapsedSec.toFixed(1)} s; ${accepted} packets new, ${duplicates} were there, ` +
      `${rejected} rejected; user ${subject}, device ${deviceId}${result.done ? '' : '; interrupted'}`,
  );
  if (result.firstRejection !== '') console.out(`  first: ${result.firstRejection}`);
}

function summarize(results: readonly Imported[], total: number, elapsedMs: number, console: Console): void {
  const samples = results.reduce((sum, result) => sum + result.samples, 0);
  const done = results.filter((result) => result.done).length;
  const failed = results.filter(({ error }) => error !== '').length;
  const rate = Math.round((1000 * samples) / Math.max(1, elapsedMs));
  console.out(
    `${done} of ${total} recordings, ${samples} samples in ${duration(elapsedMs)} (${rate.toLocaleString('en')} samples/s)` +
      (failed === 0 ? '' : `; ${failed} could not be read`),
  );
}

async function withAnnotations(recording: Recording): Promise<Recording> {
  if (recording.annotationPath === null) return recording;
  const fs = (recording.channels[0]?.config.rateNanoHz ?? 1e9) / 1e9;
  const annotations = await readAnnotations(recording.annotationPath);
  const events = annotations.map(({ sample, code, aux }) => ({ atSec: sample / fs, text: aux === '' ? code : `${code} ${aux}` }));
  return { ...recording, events: [...recording.events, ...events] };
}

function startOf(recording: Recording): bigint | null {
  return recording.startUnixSec === null ? null : BigInt(Math.round(recording.startUnixSec * 1e6)) * 1000n;
}

/** A boot id that the same samples of the same device at the same time always get. */
function identityOf(recording: Recording, deviceId: string, startUnixNs: bigint): string {
  const hash = createHash('sha256').update(`${deviceId}\n${startUnixNs}\n`);
  for (const { config, startSec, samples } of recording.channels) {
    hash.update(JSON.stringify([config, startSec]));
    hash.update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  }
  return hash.digest('hex').slice(0, 32);
}
