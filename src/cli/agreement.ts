/** `biosignal agreement`: how heart rate and RMSSD of the service agree with the reference annotations of replayed recordings. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../errors.ts';
import { readAnnotations } from '../formats/wfdb.ts';
import { openApi } from './api.ts';
import type { Api, FeatureSeries, StreamInfo } from './api.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { listRecordings, openRecording } from './recording.ts';
import type { Recording } from './recording.ts';
import { isExcluded, referenceBeats, referenceHeartRate, referenceRmssd } from './reference.ts';
import type { ReferenceBeats } from './reference.ts';
import { formatTable } from './table.ts';

/** The aim: HR within 2 bpm in 99 % of the values flagged good. */
export const HR_TOLERANCE_BPM = 2;
export const HR_SHARE_MIN = 0.99;
/** RMSSD counts as agreeing within 10 %, or within 5 ms: annotations themselves are placed to a few ms. */
const RMSSD_TOLERANCE = 0.1;
const RMSSD_TOLERANCE_MS = 5;

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

function points(series: readonly FeatureSeries[], name: string, epochNs: bigint): Point[] {
  return series
    .filter((one) => one.name === name)
    .flatMap((one) =>
      one.ts_ns.flatMap((ts, i): Point[] => {
        const value = one.values[i];
        if (value === null || value === undefined) return [];
        return [{ endSec: Number(BigInt(ts) - epochNs) / 1e9, value, flag: one.qmask[i] ?? 2 }];
      }),
    );
}

/** Reads the features of a stream once the newest expected one is there. */
export async function waitForFeatures(api: Api, streamId: string, untilNs: bigint, timeoutMs: number): Promise<FeatureSeries[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const series = await api.list<FeatureSeries>(`/api/v1/streams/${streamId}/features`, {
      names: 'hr_ecg,hrv_rmssd_60s',
      limit: 1000,
    });
    const newest = series.filter((one) => one.name === 'hr_ecg').reduce((best, one) => Math.max(best, Number(one.ts_ns.at(-1) ?? 0)), 0);
    if (newest >= Number(untilNs)) return series;
    if (performance.now() > deadline) return series;
    await sleep(500);
  }
}

export const agreement: Command = {
  name: 'agreement',
  summary: 'Compare heart rate and RMSSD of replayed recordings with their annotations.',
  positionals: 'RECORDING...',
  description: `Run it after 'biosignal replay' of the same WFDB recordings, whose .atr files hold the reference beats. For every second it compares
hr_ecg with the heart rate of the reference beats in the same 8 s, and hrv_rmssd_60s likewise. Exit code 1 when fewer than 99 % of
all heart rates flagged good lie within 2 bpm. Annotated flutter and fibrillation is left out.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope read.' },
    subject: { type: 'string', value: 'ID', doc: "As in the replay. Default: the recording's name." },
    device: { type: 'string', value: 'ID', doc: 'As in the replay. Default: replay-NAME.' },
    wait: { type: 'string', value: 'SEC', fallback: '10', doc: 'How long to wait for the last values.' },
  },
  examples: ['biosignal replay data/mitdb --speed max && biosignal agreement data/mitdb'],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one recording');
    const api = openApi(options.text('to'), options.required('key'), console.signal);
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    const results: Agreement[] = [];
    for (const path of paths) {
      const recording = await openRecording(path);
      if (recording.annotationPath === null) throw new PipelineError('not_found', `${path} has no .atr beside it`);
      const device = options.text('device');
      const deviceId = device === '' ? `replay-${recording.name}` : paths.length > 1 ? `${device}-${recording.name}` : device;
      const stream = await newestStream(api, options.text('subject') || recording.name, deviceId);
      results.push(await measure(api, recording, stream, options.number('wait', 0, 3600) * 1000));
    }
    const total = sumUp(results);
    if (json) console.out(JSON.stringify({ total, recordings: results }, null, 2));
    else for (const line of formatTable([...results, total].map(row))) console.out(line);
    return total.hrShare >= HR_SHARE_MIN ? EXIT_OK : EXIT_FAILED;
  },
};

async function newestStream(api: Api, subject: string, deviceId: string): Promise<StreamInfo> {
  const streams = await api.list<StreamInfo>('/api/v1/streams', { subject_id: subject });
  const stream = streams.find((one) => one.device_id === deviceId);
  if (stream === undefined) throw new PipelineError('not_found', `user ${subject} has no stream of device ${deviceId}: replay it first`);
  return stream;
}

async function measure(api: Api, recording: Recording, stream: StreamInfo, waitMs: number): Promise<Agreement> {
  const fs = (recording.channels[0]?.config.rateNanoHz ?? 0) / 1e9;
  const beats = referenceBeats(await readAnnotations(recording.annotationPath!), fs);
  const epochNs = await epochOf(api, stream);
  const lastNs = epochNs + BigInt(Math.floor(recording.durationSec - 4)) * 1_000_000_000n;
  const series = await waitForFeatures(api, stream.id, lastNs, waitMs);
  return compareWithReference(recording.name, beats, recording.durationSec, epochNs, series);
}

/** Values of hr_ecg lie on whole seconds of the device clock, so device time 0 follows from any of them and the stream's start. */
async function epochOf(api: Api, stream: StreamInfo): Promise<bigint> {
  const series = await api.list<FeatureSeries>(`/api/v1/streams/${stream.id}/features`, { names: 'hr_ecg', limit: 1000 });
  const first = series.flatMap((one) => one.ts_ns.slice(0, 1))[0];
  if (first === undefined) throw new PipelineError('not_found', `stream ${stream.id} has no hr_ecg yet`);
  const startNs = BigInt(Math.round(Date.parse(stream.started_at))) * 1_000_000n;
  const second = 1_000_000_000n;
  const seconds = (BigInt(first) - startNs + second / 2n) / second;
  return BigInt(first) - seconds * second;
}

export function sumUp(results: readonly Agreement[]): Agreement {
  const sum = (pick: (result: Agreement) => number): number => results.reduce((total, result) => total + (pick(result) || 0), 0);
  const good = sum((result) => result.good);
  const rmssdGood = sum((result) => result.rmssdGood);
  const medians = results.map((result) => result.rmssdMedianError).filter((value) => !Number.isNaN(value));
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
  };
}

function row(result: Agreement): Record<string, string | number> {
  const percent = (share: number): string => (Number.isNaN(share) ? '-' : `${(100 * share).toFixed(2)} %`);
  return {
    recording: result.recording,
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
