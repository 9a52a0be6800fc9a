/** The annotated ECG recordings (WFDB: NAME.hea, .dat, .atr), and what is done to them before scoring. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAnnotations } from '../src/formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { learningSec, matchBeats } from './match-beats.ts';
import type { BeatMatch } from './match-beats.ts';

export type EcgRecording = Readonly<{
  name: string;
  fs: number;
  leads: readonly Float64Array[];
  leadNames: readonly string[];
  /** Reference beats, samples. */
  beats: Float64Array;
  /** Annotation code of each reference beat. */
  codes: readonly string[];
  /** Ventricular flutter or fibrillation, samples. */
  flutter: readonly (readonly [number, number])[];
  /** Rhythms as annotated, e.g. `AFIB`, samples [from, to). */
  rhythms: readonly Readonly<{ name: string; from: number; to: number }>[];
  /** Beats before this are not counted, s: the learning time of EC57 in MIT-BIH; QTDB is scored whole. */
  countFromSec: number;
}>;

const cache = new Map<string, Promise<EcgRecording[]>>();

/** Every record of DIR/mitdb that has beat annotations; empty where the folder is absent. */
export const loadMitdb = (dataDir: string): Promise<EcgRecording[]> => loadOnce(join(dataDir, 'mitdb'), learningSec);

/** Every record of DIR/qtdb that has annotations of the whole recording. */
export const loadQtdb = (dataDir: string): Promise<EcgRecording[]> => loadOnce(join(dataDir, 'qtdb'), 0);

function loadOnce(folder: string, countFromSec: number): Promise<EcgRecording[]> {
  let recordings = cache.get(folder);
  if (recordings === undefined) cache.set(folder, (recordings = loadFolder(folder, countFromSec)));
  return recordings;
}

/** A record that cannot be read is said and left out: one bad header does not end a report. */
export async function loadFolder(folder: string, countFromSec: number): Promise<EcgRecording[]> {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.hea') && existsSync(join(folder, `${file.slice(0, -4)}.atr`)))
    .map((file) => file.slice(0, -4))
    .toSorted();
  const recordings: EcgRecording[] = [];
  for (const name of names) {
    try {
      recordings.push(await loadRecording(folder, name, countFromSec));
    } catch (error) {
      console.warn(`SKIPPED ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return recordings;
}

async function loadRecording(folder: string, name: string, countFromSec: number): Promise<EcgRecording> {
  const record = await readRecord(join(folder, `${name}.hea`));
  const annotations = await readAnnotations(join(folder, `${name}.atr`));
  const beats = annotations.filter((a) => a.isBeat);
  const end = record.leads[0]?.samples.length ?? 0;
  const flutter: [number, number][] = [];
  const rhythms: { name: string; from: number; to: number }[] = [];
  let from = -1;
  for (const a of annotations) {
    if (a.code === '[') from = a.sample;
    if (a.code === ']' && from >= 0) {
      flutter.push([from, a.sample]);
      from = -1;
    }
    const last = rhythms.at(-1);
    if (a.code === '+' && last !== undefined) last.to = a.sample;
    if (a.code === '+') rhythms.push({ name: a.aux.replace(/^\(/, '').replace(/\0.*$/, ''), from: a.sample, to: end });
  }
  if (from >= 0) flutter.push([from, end]);
  return {
    name,
    fs: record.fs,
    leads: record.leads.map(physicalSamples),
    leadNames: record.leads.map((lead) => lead.name),
    beats: Float64Array.from(beats, (a) => a.sample),
    codes: beats.map((a) => a.code),
    flutter,
    rhythms,
    countFromSec,
  };
}

/** Detected beats against the recording's own, by the rules of its database. @param detected samples, ascending */
export function matchRecording({ beats, fs, flutter, countFromSec }: EcgRecording, detected: ArrayLike<number>): BeatMatch {
  return matchBeats(beats, detected, fs, flutter, (position) => position >= countFromSec * fs);
}

/** Samples at another rate, by a Hann-windowed sinc of 16 zero crossings that also band-limits. */
export function resample(x: Float64Array, from: number, to: number): Float64Array {
  const n = Math.floor((x.length * to) / from);
  const out = new Float64Array(n);
  const cut = Math.min(1, to / from);
  const half = 8 / cut;
  for (let i = 0; i < n; i++) {
    const centre = (i * from) / to;
    let sum = 0;
    let weight = 0;
    for (let k = Math.max(0, Math.ceil(centre - half)); k <= Math.min(x.length - 1, centre + half); k++) {
      const t = (k - centre) * cut;
      const w = t === 0 ? 1 : (Math.sin(Math.PI * t) / (Math.PI * t)) * (0.5 + 0.5 * Math.cos((Math.PI * t) / 8));
      sum += w * x[k]!;
      weight += w;
    }
    out[i] = sum / weight;
  }
  return out;
}

/** The recorded electrode-motion noise, or null where it is absent. 360 Hz. */
export function loadElectrodeMotion(dataDir: string): Float64Array | null {
  const file = join(dataDir, 'em_noise', 'em_360hz_mv.csv');
  if (!existsSync(file)) return null;
  return Float64Array.from(readFileSync(file, 'utf8').trim().split('\n'), Number);
}

const NOISE_RATE = 360;
const STRETCH_SEC = 120;

/** Adds looped noise in alternate 2-minute stretches from minute 5, as WFDB's nst does.
 *  Signal power: (mean peak-to-peak of the QRS complexes, +-50 ms around the annotations of the first 5 minutes, 5 % trimmed on both
 *  sides)^2 / 8. Noise power: (mean of the rms of 1 s windows, 5 % trimmed)^2.
 *  @param snrDb ratio of the two in the noisy stretches */
export function addNoise(recording: EcgRecording, lead: number, noise: Float64Array, snrDb: number): Float64Array {
  const { fs, beats } = recording;
  const x = recording.leads[lead]!;
  const out = Float64Array.from(x);
  const gain = Math.sqrt(qrsPower(x, beats, fs) / (windowPower(noise) * 10 ** (snrDb / 10)));
  const start = Math.round(300 * fs);
  for (let i = start; i < x.length; i++) {
    if (isNoisy(i / fs)) out[i] = x[i]! + gain * noise[Math.floor((i * NOISE_RATE) / fs) % noise.length]!;
  }
  return out;
}

/** Does this second lie in a stretch with added noise? */
export function isNoisy(sec: number): boolean {
  return sec >= 300 && Math.floor((sec - 300) / STRETCH_SEC) % 2 === 0;
}

function qrsPower(x: Float64Array, beats: Float64Array, fs: number): number {
  const half = Math.round(0.05 * fs);
  const heights: number[] = [];
  for (const beat of beats) {
    if (beat >= 300 * fs || heights.length >= 300) break;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (let i = Math.max(0, beat - half); i <= Math.min(x.length - 1, beat + half); i++) {
      low = Math.min(low, x[i]!);
      high = Math.max(high, x[i]!);
    }
    heights.push(high - low);
  }
  return trimmedMean(heights) ** 2 / 8;
}

function windowPower(noise: Float64Array): number {
  const rms: number[] = [];
  for (let at = 0; at + NOISE_RATE <= noise.length; at += NOISE_RATE) {
    let mean = 0;
    for (let i = 0; i < NOISE_RATE; i++) mean += noise[at + i]! / NOISE_RATE;
    let square = 0;
    for (let i = 0; i < NOISE_RATE; i++) square += (noise[at + i]! - mean) ** 2 / NOISE_RATE;
    rms.push(Math.sqrt(square));
  }
  return trimmedMean(rms) ** 2;
}

function trimmedMean(values: number[]): number {
  const cut = Math.floor(values.length * 0.05);
  const kept = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return kept.reduce((a, b) => a + b, 0) / kept.length;
}
