/** `biosignal import`: recordings into the service at their own time, with their annotations. Importing again changes nothing. */
import { createHash } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import { readAnnotations } from '../formats/wfdb-annotations.ts';
import type { Command, Console, Options } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, systemCode, UsageError } from './command.ts';
import { openApi } from './client/api.ts';
import type { Api } from './client/api.ts';
import { packetCount } from './client/packetize.ts';
import { duration, placeOf } from './progress.ts';
import { listRecordings, openRecording } from './client/recording.ts';
import type { Recording } from './client/recording.ts';
import { replayRecording } from './replay.ts';
import type { ReplayResult } from './replay.ts';
import { isRecordable } from '../signal.ts';
import { withoutRefused } from '../text.ts';
import { StateFile } from './client/state-file.ts';

/** A packet covers a second, and more of slow signals: with one sample each, packets and their overhead would be most of the data. */
const PACKET_MS_MIN = 1000;
const PACKET_MS_MAX = 60_000;
/** Samples of all channels that a longer packet holds at most; each may be a block of its own where many are missing (256 is the limit). */
const SLOW_PACKET_SAMPLES_MAX = 240;
/** Events of one packet; 256 is the limit of the wire format. */
const SLOW_PACKET_EVENTS_MAX = 200;
/** Distance from the samples beyond which an annotation is taken for a mistake, s. */
const EVENT_DISTANCE_SEC_MAX = 86_400;
/** Most lines printed per recording about data not kept. */
const NOT_KEPT_LINES_MAX = 10;

type Imported = ReplayResult & Readonly<{ path: string; events: number; error: string }>;

export const importRecordings: Command = {
  name: 'import',
  summary: 'Import recordings (WFDB with .atr, EDF+, CSV, dataset folders) with their original times.',
  positionals: 'RECORDING...',
  description: `RECORDING is a WFDB header, EDF(+), CSV, a table or folder of a published dataset that 'replay' supports, or a folder, searched with its
subfolders. Recordings go through the ingest endpoint as fast as it accepts them. A stream is identified by its samples, so an import
that was interrupted or is repeated continues where it stopped: packets already stored are counted as duplicates. With --state they
are not sent again, and finished recordings are not opened. A recording that cannot be read does not stop the others.
Annotations (.atr, EDF+) become events with the code 'annotation', including those before and after the samples and those of files
without signals; a duration is appended to the text ('Sleep stage W; duration 30 s'), and 'export --format edf' turns it back into a
duration. Anything in a file that the service does not keep is reported. CSV tables start with a time column, or with the comments that
'export' writes; WFDB headers give the start by base time and date, EDF by its header, in UTC.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest.' },
    subject: { type: 'string', value: 'ID', doc: "External id or uuid of the user record. Default: the recording's name." },
    project: { type: 'string', value: 'PROJECT', doc: 'Project of the user, who is created there if new: name, id or project key.' },
    device: { type: 'string', value: 'ID', doc: 'Device id. Default: import-NAME; with several recordings -NAME is appended.' },
    start: { type: 'string', value: 'TIME', doc: 'Time of the first sample, for recordings that do not state it; others keep theirs.' },
    state: { type: 'string', value: 'FILE', doc: 'Record progress in this file and resume from it.' },
  },
  examples: [
    'biosignal import night.edf --subject patient-7',
    'biosignal import night.edf --subject patient-7 --project "Night study"',
    'biosignal import data/mitdb --start 2026-01-05T08:00:00Z --state mitdb.json',
  ],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one recording');
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    const key = options.required('key');
    const projectKey = await projectKeyOf(options.text('project'), openApi(options.text('to'), key, console.signal));
    const states = await StateFile.open(options.text('state'));
    const results: Imported[] = [];
    const startedMs = performance.now();
    for (const [index, path] of paths.entries()) {
      if (console.signal.aborted) break;
      if (states.find(path)?.done === true) {
        if (!json) console.out(`${path}: already imported`);
        continue;
      }
      const label = placeOf(index, results.length, paths.length, performance.now() - startedMs);
      const result = await importOne(path, paths.length > 1, label, options, projectKey, states, console);
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

/** The key of a project that is named by it, by its id or by its name; empty when none is. A project key is not looked up: a key of the one
 *  scope ingest may not read. */
async function projectKeyOf(wanted: string, api: Api): Promise<string> {
  if (wanted === '' || wanted.startsWith('proj_')) return wanted;
  const projects = await api.list<{ id: string; name: string; project_key: string }>('/api/v1/projects').catch((error: unknown) => {
    if (!(error instanceof PipelineError) || error.code !== 'scope_missing') throw error;
    throw new UsageError(
      '--project: this key may not list projects: give the project key (proj_...), or a key of the scopes ingest and read',
    );
  });
  const [only, another] = projects.filter(({ id, name }) => wanted === id || wanted === name);
  if (only === undefined)
    throw new UsageError(`--project: no project '${wanted}'; there are: ${projects.map(({ name }) => name).join(', ')}`);
  if (another !== undefined) throw new UsageError(`--project: several projects are called '${wanted}': give the id or the project key`);
  return only.project_key;
}

async function importOne(
  path: string,
  several: boolean,
  label: string,
  options: Options,
  projectKey: string,
  states: StateFile,
  console: Console,
): Promise<Imported> {
  try {
    const opened = await withAnnotations(await openRecording(path));
    const { recording, leadNs, left } = withRoomForEvents(opened);
    if (recording.channels.length + recording.events.length === 0) {
      throw new PipelineError('validation_failed', `${path}: holds neither samples nor annotations`);
    }
    const packetMs = packetMsFor(recording);
    const given = options.time('start');
    const stated = recording.startUnixNs;
    const firstSampleNs = stated ?? given;
    const startUnixNs = firstSampleNs === null ? null : firstSampleNs - leadNs;
    if (startUnixNs === null) throw new UsageError(`${path} does not state when it was recorded: give --start`);
    if (!isRecordable(startUnixNs))
      throw new UsageError(`${path}: ${stated === null ? '--start' : 'its time of recording'} lies outside of 1900 to 2199`);
    if (stated !== null && given !== null && given !== stated)
      console.err(`${path}: --start was not used: the recording states ${new Date(Number(stated / 1_000_000n)).toISOString()}`);
    const device = options.text('device');
    const deviceId = (device === '' ? `import-${recording.name}` : several ? `${device}-${recording.name}` : device).slice(0, 64);
    const bootId = identityOf(recording, deviceId, startUnixNs, packetMs);
    const before = states.find(path); // of the same boot: of the same samples, cut the same way
    const state = before?.bootId === bootId ? before : { bootId, startUnixNs: String(startUnixNs), packetMs, nextSeq: 0 };
    const result = await replayRecording(
      recording,
      {
        url: options.text('to'),
        credential: options.required('key'),
        ...(projectKey === '' ? {} : { projectKey }),
        subject: options.text('subject') || recording.name,
        deviceId,
        packetMs,
        speed: Infinity,
        startUnixNs,
        resume: state,
        durationSec: Infinity,
        stated: true,
        withEvents: true,
        label: `${label}${recording.name}`,
      },
      console,
      (reached) => states.set(path, reached),
    );
    if (result.done) {
      states.set(path, { ...state, nextSeq: packetCount(recording, packetMs), done: result.rejected === 0 });
      await states.save();
    }
    sayNotKept(path, [...(recording.notKept ?? []), ...left], console);
    for (const { config } of recording.channels.filter(isUnknownVoltage)) {
      const name = `${withoutRefused(config.lead || config.code)} [${withoutRefused(config.unit)}]`;
      console.err(`${path}: ${name} is kept, but nothing is computed of it: no name of an ECG lead (one that begins with ecg is)`);
    }
    return { ...result, path, events: recording.events.length, error: '' };
  } catch (error) {
    // An unreadable file skips one recording; an unreachable service or a refused key ends the import.
    const ofFile = error instanceof PipelineError && !error.code.startsWith('credential') && !notOfFile.has(error.code);
    if (!several || !(ofFile || error instanceof RangeError || systemCode(error) === 'ENOENT')) throw error;
    return { ...nothing, recording: path, path, events: 0, error: error instanceof Error ? error.message : String(error) };
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
  const { recording, samples, events, channels, elapsedSec, accepted, duplicates, rejected, subject, deviceId, error } = result;
  if (error !== '') {
    console.err(`not imported: ${error}`);
    return;
  }
  console.out(
    `${recording}: ${channels.length === 0 ? 'no signals' : `${samples} samples`}, ${events} annotations in ${elapsedSec.toFixed(1)} s; ${accepted} packets new, ${duplicates} already stored, ` +
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

/** Annotations may lie before the first sample and after the last one: device time 0 is then moved earlier by an amount that keeps the
 *  samples on their grids, and packets continue after the samples.  @returns leadNs: how far device time 0 moved; left: annotations too far
 *  away, in words */
function withRoomForEvents(recording: Recording): { recording: Recording; leadNs: bigint; left: string[] } {
  const { channels, durationSec } = recording;
  const stepSec = wholeSampleSeconds(channels.map(({ config }) => config.rateNanoHz));
  const near = ({ atSec }: Recording['events'][number]): boolean =>
    atSec >= (stepSec === null ? 0 : -EVENT_DISTANCE_SEC_MAX) && atSec <= durationSec + EVENT_DISTANCE_SEC_MAX;
  const kept = recording.events.filter(near);
  const left = recording.events
    .filter((event) => !near(event))
    .map(({ atSec, text }) => `annotation ${atSec < 0 ? `${-atSec} s before the start` : `at ${atSec} s`}: ${text}`);
  const firstSec = kept.reduce((least, { atSec }) => Math.min(least, atSec), 0);
  const leadSec = firstSec < 0 ? Math.ceil(-firstSec / stepSec!) * stepSec! : 0;
  const events = leadSec === 0 ? kept : kept.map((event) => ({ ...event, atSec: roundNs(event.atSec + leadSec) }));
  const lastSec = events.reduce((most, { atSec }) => Math.max(most, atSec), -1);
  return {
    recording: {
      ...recording,
      channels: leadSec === 0 ? channels : channels.map((channel) => ({ ...channel, startSec: channel.startSec + leadSec })),
      // A packet holds what lies before its end: a little more for an event on the edge.
      durationSec: Math.max(durationSec + leadSec, lastSec < 0 ? 0 : lastSec + 1e-3),
      events,
    },
    leadNs: BigInt(leadSec) * 1_000_000_000n,
    left,
  };
}

/** Rounds off the error of adding decimals. */
const roundNs = (sec: number): number => Math.round(sec * 1e9) / 1e9;

/** Shortest time in whole seconds, up to an hour, in which every rate has whole samples; null when there is none. */
function wholeSampleSeconds(rates: readonly number[]): number | null {
  for (let sec = 1; sec <= 3600; sec++) if (rates.every((rate) => (rate * sec) % 1e9 === 0)) return sec;
  return null;
}

/** Longer packets for slow signals, but not so long that blocks or events of one exceed the wire format's limits. */
function packetMsFor({ channels, events }: Recording): number {
  const codes = new Map(channels.map(({ config }) => [config.code, config.rateNanoHz / 1e9])); // stretches of a channel do not overlap
  const samplesPerSec = [...codes.values()].reduce((sum, rate) => sum + rate, 0);
  const slow = samplesPerSec === 0 ? PACKET_MS_MAX : 1000 * Math.floor(SLOW_PACKET_SAMPLES_MAX / samplesPerSec);
  const packetMs = Math.min(PACKET_MS_MAX, Math.max(PACKET_MS_MIN, slow));
  const counts = new Map<number, number>();
  for (const { atSec } of events) {
    const seq = Math.floor((atSec * 1000) / packetMs);
    counts.set(seq, (counts.get(seq) ?? 0) + 1);
  }
  return [...counts.values()].some((count) => count > SLOW_PACKET_EVENTS_MAX) ? PACKET_MS_MIN : packetMs;
}

/** Of brain, eyes and muscles nobody expects a heart rate. */
const isUnknownVoltage = ({ config: { kind, unit, lead, code } }: Recording['channels'][number]): boolean =>
  kind === 'other' && /^[mu]?V$/.test(unit) && !/\b(s?eeg|ecog|eog|emg)\b/i.test(`${lead} ${code}`);

function sayNotKept(path: string, sentences: readonly string[], console: Console): void {
  for (const sentence of sentences.slice(0, NOT_KEPT_LINES_MAX)) console.err(`${path}: not kept: ${withoutRefused(sentence)}`);
  if (sentences.length > NOT_KEPT_LINES_MAX) console.err(`${path}: not kept: ${sentences.length - NOT_KEPT_LINES_MAX} more`);
}

/** Boot id derived from the recording: the same samples of the same device at the same time, cut the same way, always get the same one. */
function identityOf(recording: Recording, deviceId: string, startUnixNs: bigint, packetMs: number): string {
  const cut = packetMs === PACKET_MS_MIN ? '' : `${packetMs}\n`;
  const hash = createHash('sha256').update(`${deviceId}\n${startUnixNs}\n${cut}`);
  for (const { config, startSec, samples } of recording.channels) {
    hash.update(JSON.stringify([config, startSec]));
    hash.update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  }
  // A file of annotations has nothing else.
  if (recording.channels.length === 0) hash.update(JSON.stringify(recording.events));
  return hash.digest('hex').slice(0, 32);
}
