/** `biosignal agreement`: compares heart rate and RMSSD of the service with the reference annotations of replayed recordings. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../errors.ts';
import { readAnnotations } from '../formats/wfdb-annotations.ts';
import { openApi, streamsOf } from './client/api.ts';
import type { Api, FeatureSeries } from './client/api.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { listRecordings, openRecording } from './client/recording.ts';
import type { Recording } from './client/recording.ts';
import { placeOf } from './progress.ts';
import { replayRecording } from './replay.ts';
import { isExcluded, referenceBeats, referenceHeartRate, referenceRmssd } from './reference.ts';
import type { ReferenceBeats } from './reference.ts';
import { formatTable } from './table.ts';

/** The aim: HR within 2 bpm in 99 % of the values flagged good. */
export const HR_TOLERANCE_BPM = 2;
export const HR_SHARE_MIN = 0.99;
/** RMSSD counts as agreeing within 10 %, or within 5 ms: annotations themselves are placed to a few ms. */
const RMSSD_TOLERANCE = 0.1;
const RMSSD_TOLERANCE_MS = 5;
/** Values of the last seconds come late or never, because their windows wait for beats that do not come. */
const TAIL_SEC = 12;

export type Agreement = Readonly<{
  recording: string;
  /** Seconds of the recording for which the reference has a heart rate. */
  seconds: number;
  /** Values flagged 0 that were compared. */
  good: number;
  /** Share of them within HR_TOLERANCE_BPM; NaN when there is none. */
  hrShare: number;
  hrMeanAbsError: number;
  /** Values of any flag off by more than the tolerance, and how many of those are flagged 1 or 2. */
  off: number;
  offFlagged: number;
  rmssdGood: number;
  rmssdShare: number;
  /** Median of |value - reference| / reference. */
  rmssdMedianError: number;
}>;

/** Beats that can be found, beats found, and false detections. */
export type Matched = Readonly<{ beats: number; found: number; extra: number }>;

export function compareWithReference(
  recording: string,
  beats: ReferenceBeats,
  durationSec: number,
  epochNs: bigint,
  series: readonly FeatureSeries[],
): Agreement {
  const heartRate = points(series, 'hr_ecg', epochNs);
  let good = 0;
  let within = 0;
  let absolute = 0;
  let off = 0;
  let offFlagged = 0;
  for (const { endSec, value, flag } of heartRate) {
    const reference = referenceHeartRate(beats, endSec);
    if (Number.isNaN(reference) || endSec > durationSec || isExcluded(beats, endSec, 8)) continue;
    const error = Math.abs(value - reference);
    if (error > HR_TOLERANCE_BPM) {
      off++;
      if (flag !== 0) offFlagged++;
    }
    if (flag !== 0) continue;
    good++;
    absolute += error;
    if (error <= HR_TOLERANCE_BPM) within++;
  }
  const errors: number[] = [];
  let rmssdWithin = 0;
  for (const { endSec, value, flag } of points(series, 'hrv_rmssd_60s', epochNs)) {
    const reference = referenceRmssd(beats, endSec);
    if (flag !== 0 || Number.isNaN(reference) || endSec > durationSec || isExcluded(beats, endSec, 60)) continue;
    const error = Math.abs(value - reference);
    errors.push(error / reference);
    if (error <= Math.max(RMSSD_TOLERANCE_MS, RMSSD_TOLERANCE * reference)) rmssdWithin++;
  }
  errors.sort((a, b) => a - b);
  let seconds = 0;
  for (let sec = 8; sec <= durationSec; sec++) {
    if (!Number.isNaN(referenceHeartRate(beats, sec)) && !isExcluded(beats, sec, 8)) seconds++;
  }
  return {
    recording,
    seconds,
    good,
    hrShare: within / good,
    hrMeanAbsError: absolute / good,
    off,
    offFlagged,
    rmssdGood: errors.length,
    rmssdShare: rmssdWithin / errors.length,
    rmssdMedianError: errors[errors.length >> 1] ?? Number.NaN,
  };
}

type Point = Readonly<{ endSec: number; value: number; flag: number }>;

/** Values of a feature by their time; a page may repeat the last ones of the previous page. */
function points(series: readonly FeatureSeries[], name: string, epochNs: bigint): Point[] {
  const found = new Map<number, Point>();
  for (const { name: of, ts_ns: times, values, qmask } of series) {
    if (of !== name) continue;
    for (const [i, ts] of times.entries()) {
      const value = values[i];
      const endSec = Number(BigInt(ts) - epochNs) / 1e9;
      if (value !== null && value !== undefined) found.set(endSec, { endSec, value, flag: qmask[i] ?? 2 });
    }
  }
  return [...found.values()];
}

/** Reads the features of a stream once the newest expected one is available. */
export async function waitForFeatures(api: Api, streamId: string, untilNs: bigint, timeoutMs: number): Promise<FeatureSeries[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const series = await api.list<FeatureSeries>(`/api/v1/streams/${streamId}/features`, {
      names: 'hr_ecg,hrv_rmssd_60s',
      limit: 100_000,
    });
    const newest = series.filter((one) => one.name === 'hr_ecg').reduce((best, one) => Math.max(best, Number(one.ts_ns.at(-1) ?? 0)), 0);
    if (newest >= Number(untilNs)) return series;
    if (performance.now() > deadline) return series;
    await sleep(500);
  }
}

/** Replays a WFDB recording as fast as the service takes it, and compares. */
export async function measureAgreement(
  recording: Recording,
  target: Readonly<{
    url: string;
    credential: string;
    subject: string;
    deviceId: string;
    packetMs: number;
    waitMs: number;
    /** Label of the progress line. */
    label?: string;
  }>,
  console: Console,
): Promise<Agreement> {
  if (recording.annotationPath === null) throw new PipelineError('not_found', `${recording.path} has no .atr file next to it`);
  const replayed = await replayRecording(
    recording,
    { ...target, speed: Infinity, startUnixNs: null, resume: null, durationSec: Infinity },
    console,
  );
  if (replayed.rejected > 0) throw new PipelineError('packet_invalid', replayed.firstRejection);
  console.signal.throwIfAborted();
  const api = openApi(target.url, target.credential, console.signal);
  const streams = await streamsOf(api, target.subject);
  const stream = streams.find((one) => one.boot_id === replayed.bootId);
  if (stream === undefined)
    throw new PipelineError('not_found', `the stream of boot ${replayed.bootId} is not listed for ${target.subject}`);
  const epochNs = BigInt(replayed.startUnixNs);
  // Nothing follows the last beats of a recording, so their values may be missing; those before must be there.
  const lastNs = epochNs + BigInt(Math.floor(recording.durationSec - TAIL_SEC)) * 1_000_000_000n;
  const series = await waitForFeatures(api, stream.id, lastNs, target.waitMs);
  const fs = (recording.channels[0]?.config.rateNanoHz ?? 0) / 1e9;
  const beats = referenceBeats(await readAnnotations(recording.annotationPath), fs);
  return compareWithReference(
    recording.name,
    beats,
    recording.durationSec,
    epochNs,
    series.map((one) => upTo(one, lastNs)),
  );
}

/** Values up to a time; which later ones are already available is a matter of chance. */
function upTo(series: FeatureSeries, endNs: bigint): FeatureSeries {
  const end = series.ts_ns.findIndex((ts) => BigInt(ts) > endNs);
  if (end < 0) return series;
  return { ...series, ts_ns: series.ts_ns.slice(0, end), values: series.values.slice(0, end), qmask: series.qmask.slice(0, end) };
}

export const agreement: Command = {
  name: 'agreement',
  summary: 'Replay annotated recordings and compare heart rate and RMSSD with their reference beats.',
  positionals: '[RECORDING...]',
  description: `RECORDING is a WFDB header with an .atr file next to it, or a folder of these. Each is replayed at --speed max; then, for every second,
hr_ecg is compared with the heart rate of the reference beats in the same 8 s, and hrv_rmssd_60s likewise. Exit code 1 if fewer than
99 % of all heart rates flagged good are within 2 bpm. Annotated ventricular flutter and fibrillation are left out.
With --truth nothing is sent: every device simulated by 'simulate --truth FILE' is compared with what its signals were made from, beat
by beat (within 150 ms, while there was contact) and value by value.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scopes ingest and read.' },
    'packet-ms': { type: 'string', value: 'MS', fallback: '1000', doc: 'Device time of one packet.' },
    truth: { type: 'string', value: 'FILE', doc: "File written by 'simulate --truth', instead of recordings." },
    wait: { type: 'string', value: 'SEC', fallback: '60', doc: 'Longest wait for the last values of a recording.' },
  },
  examples: [
    'biosignal agreement data/mitdb',
    'biosignal agreement data/mitdb/101.hea --json',
    'biosignal agreement --truth run1.truth.jsonl',
  ],
  run: async ({ console, options, positionals, json }) => {
    const truth = options.text('truth');
    if ((positionals.length === 0) === (truth === '')) throw new UsageError('name recordings, or --truth');
    if (truth !== '') {
      const { measureTruth } = await import('./truth.ts');
      const waitMs = options.number('wait', 0, 3600) * 1000;
      return conclude(
        await measureTruth(truth, { url: options.text('to'), credential: options.required('key'), waitMs }, console),
        json,
        console,
      );
    }
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    const results: Agreement[] = [];
    const startedMs = performance.now();
    for (const [index, path] of paths.entries()) {
      const recording = await openRecording(path);
      const target = {
        url: options.text('to'),
        credential: options.required('key'),
        subject: recording.name,
        deviceId: `replay-${recording.name}`,
        packetMs: options.integer('packet-ms', 10, 60_000),
        waitMs: options.number('wait', 0, 3600) * 1000,
        label: `${placeOf(index, index, paths.length, performance.now() - startedMs)}${recording.name}`,
      };
      results.push(await measureAgreement(recording, target, console));
    }
    return conclude(results, json, console);
  },
};

function conclude(results: readonly (Agreement & Partial<Matched>)[], json: boolean, console: Console): number {
  const total = sumUp(results);
  if (json) console.out(JSON.stringify({ total, recordings: results }, null, 2));
  else for (const line of formatTable([...results, total].map(row))) console.out(line);
  return total.hrShare >= HR_SHARE_MIN ? EXIT_OK : EXIT_FAILED;
}

export function sumUp(results: readonly (Agreement & Partial<Matched>)[]): Agreement & Partial<Matched> {
  const sum = (pick: (result: Agreement & Partial<Matched>) => number): number =>
    results.reduce((total, result) => total + (pick(result) || 0), 0);
  const good = sum((result) => result.good);
  const rmssdGood = sum((result) => result.rmssdGood);
  const medians = results.map((result) => result.rmssdMedianError).filter((value) => !Number.isNaN(value));
  const matched = {
    beats: sum((result) => result.beats ?? 0),
    found: sum((result) => result.found ?? 0),
    extra: sum((result) => result.extra ?? 0),
  };
  return {
    recording: 'all',
    seconds: sum((result) => result.seconds),
    good,
    hrShare: sum((result) => result.hrShare * result.good) / good,
    hrMeanAbsError: sum((result) => result.hrMeanAbsError * result.good) / good,
    off: sum((result) => result.off),
    offFlagged: sum((result) => result.offFlagged),
    rmssdGood,
    rmssdShare: sum((result) => result.rmssdShare * result.rmssdGood) / rmssdGood,
    rmssdMedianError: medians.toSorted((a, b) => a - b)[medians.length >> 1] ?? Number.NaN,
    ...(results.some(({ beats }) => beats !== undefined) ? matched : {}),
  };
}

function row(result: Agreement & Partial<Matched>): Record<string, string | number> {
  const percent = (share: number): string => (Number.isNaN(share) ? '-' : `${(100 * share).toFixed(2)} %`);
  const { beats, found = 0, extra = 0 } = result;
  return {
    recording: result.recording,
    ...(beats === undefined ? {} : { beats, 'beats found': percent(found / beats), extra }),
    seconds: result.seconds,
    good: result.good,
    'HR within 2 bpm': percent(result.hrShare),
    'mean |error|': Number.isNaN(result.hrMeanAbsError) ? '-' : result.hrMeanAbsError.toFixed(2),
    'off > 2 bpm': result.off,
    'of them flagged': result.offFlagged,
    'RMSSD good': result.rmssdGood,
    'within 10 % or 5 ms': percent(result.rmssdShare),
    'median error': percent(result.rmssdMedianError),
  };
}
