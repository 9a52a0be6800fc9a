/** Compares the file of `simulate --truth` with what the service found: beats within 150 ms (EC57), heart rate, RMSSD. */
import { readFileSync } from 'node:fs';
import { PipelineError } from '../errors.ts';
import { compareWithReference, waitForFeatures } from './agreement.ts';
import type { Agreement, Matched } from './agreement.ts';
import { openApi, streamsOf } from './client/api.ts';
import type { Api } from './client/api.ts';
import type { Console } from './command.ts';
import { startProgress } from './progress.ts';

/** Simulated beats of one device. Times are device seconds. */
export type Truth = Readonly<{
  device: string;
  bootId: string;
  subject: string;
  beats: readonly Readonly<{ atSec: number; kind: string }>[];
  /** Stretches without contact of the ECG: beats there cannot be found. */
  contactLosses: readonly Readonly<{ atSec: number; durationSec: number }>[];
}>;

export type TruthAgreement = Agreement & Matched;

const BEAT_TOLERANCE_MS = 150;
/** Excluded seconds: the first beats train the detector; the last ones, and their values, wait for later samples. */
const HEAD_SEC = 5;
const TAIL_SEC = 12;

type Line = {
  device: string;
  bootId: string;
  subject: string;
  beats: { atSec: number; kind: string }[];
  contactLosses: { atSec: number; durationSec: number; sensor: string }[];
};

/** @throws PipelineError for a file that `simulate --truth` did not write */
export function readTruth(path: string): Truth[] {
  const devices = new Map<string, Line>();
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    if (text === '') continue;
    const line = parse(text, path);
    const id = `${line.device}\n${line.bootId}`;
    const before = devices.get(id);
    const contactLosses = line.contactLosses.filter(({ sensor }) => sensor === 'ecg');
    if (before === undefined) devices.set(id, { ...line, contactLosses });
    else {
      before.beats.push(...line.beats);
      before.contactLosses.push(...contactLosses);
    }
  }
  return [...devices.values()];
}

function parse(text: string, path: string): Line {
  try {
    const line = JSON.parse(text) as Line;
    if (Array.isArray(line.beats) && Array.isArray(line.contactLosses) && typeof line.bootId === 'string') return line;
  } catch {
    // told below
  }
  throw new PipelineError('validation_failed', `${path} is not what 'simulate --truth' writes: ${text.slice(0, 60)}`);
}

/** Compares every device of a truth file with its stream.
 *  @param target waitMs: how long to wait for the last values of a device */
export async function measureTruth(
  path: string,
  target: Readonly<{ url: string; credential: string; waitMs: number }>,
  console: Console,
): Promise<TruthAgreement[]> {
  const api = openApi(target.url, target.credential, console.signal);
  const truths = readTruth(path);
  const progress = startProgress(console, 'agreement', truths.length);
  const startedMs = performance.now();
  const results: TruthAgreement[] = [];
  try {
    for (const truth of truths) {
      console.signal.throwIfAborted();
      results.push(await compareDevice(api, truth, target.waitMs));
      const perMin = (60_000 * results.length) / (performance.now() - startedMs);
      progress.update(results.length, `${perMin.toFixed(0)} devices/min`);
    }
  } finally {
    progress.end();
  }
  return results;
}

async function compareDevice(api: Api, truth: Truth, waitMs: number): Promise<TruthAgreement> {
  const streams = await streamsOf(api, truth.subject);
  const stream = streams.find(({ boot_id: bootId }) => bootId === truth.bootId);
  if (stream === undefined) throw new PipelineError('not_found', `${truth.device}: no stream of boot ${truth.bootId} for ${truth.subject}`);
  const epochNs = BigInt(stream.epoch_ns);
  const lastSec = truth.beats.at(-1)?.atSec ?? 0;
  const untilNs = epochNs + BigInt(Math.max(0, Math.floor(lastSec - TAIL_SEC))) * 1_000_000_000n;
  const series = await waitForFeatures(api, stream.id, untilNs, waitMs);
  const reference = {
    timeSec: Float64Array.from(truth.beats, ({ atSec }) => atSec),
    normal: Uint8Array.from(truth.beats, ({ kind }) => (kind === 'N' ? 1 : 0)),
    excluded: [],
  };
  type Beats = { channel: string; ts_ns: (bigint | number)[]; qmask: number[] };
  const pages = await api.list<Beats>(`/api/v1/streams/${stream.id}/beats`, { limit: 100_000 });
  const detected = new Set<number>(); // a page may repeat beats of the page before
  for (const { channel, ts_ns: times, qmask } of pages) {
    if (!channel.startsWith('ecg')) continue;
    for (const [i, ts] of times.entries()) if (qmask[i] !== 2) detected.add(Number(BigInt(ts) - epochNs) / 1e9);
  }
  const seen = (sec: number): boolean =>
    sec >= HEAD_SEC &&
    sec <= lastSec - TAIL_SEC &&
    !truth.contactLosses.some(({ atSec, durationSec }) => sec > atSec - 0.2 && sec < atSec + durationSec + 1);
  return {
    ...compareWithReference(truth.subject, reference, lastSec, epochNs, series),
    ...matchBeats([...reference.timeSec].filter(seen), [...detected].filter(seen)),
  };
}

/** Pairs each true beat with the first free detection within 150 ms, in time order. @param truth, @param detected s */
export function matchBeats(truth: readonly number[], detected: readonly number[]): Matched {
  const sorted = detected.toSorted((a, b) => a - b);
  let found = 0;
  let next = 0;
  for (const at of truth.toSorted((a, b) => a - b)) {
    while (next < sorted.length && sorted[next]! < at - BEAT_TOLERANCE_MS / 1000) next++;
    if (next < sorted.length && sorted[next]! <= at + BEAT_TOLERANCE_MS / 1000) {
      found++;
      next++;
    }
  }
  return { beats: truth.length, found, extra: sorted.length - found };
}
