/** For tests and benches of the engine: a synthetic stream, ways to send it, and a table that applies outputs as storage would. */
import type { ChannelConfig, ChannelNo, SampleRun, StreamId } from '../../signal.ts';
import type { LoadRuns } from '../pool/options.ts';
import type { FeatureOutput } from '../rows/feature-rows.ts';

/** Uniform numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const channel = (code: string, kind: ChannelConfig['kind'], hz: number): ChannelConfig => ({
  code,
  kind,
  rateNanoHz: Math.round(hz * 1e9),
  gain: 200,
  baseline: 10,
  unit: kind === 'ecg' ? 'mV' : '1',
  lead: '',
});

export const fixtureChannels: readonly ChannelConfig[] = [
  channel('ecg.i', 'ecg', 250),
  channel('ecg.ii', 'ecg', 250),
  channel('ppg.ir', 'ppg', 130.1),
  channel('resp', 'resp', 25),
  channel('eda', 'eda', 4),
  channel('temp.skin', 'temp', 4),
  channel('acc.x', 'acc', 32),
  channel('acc.y', 'acc', 32),
  channel('acc.z', 'acc', 32),
];

/** From the beat at t to the next one, s. */
export type Heart = (t: number, random: () => number) => number;

/** Respiratory sinus arrhythmia, and a premature beat now and then. */
const usualHeart: Heart = (t, random) =>
  (0.8 + 0.04 * Math.sin(2 * Math.PI * 0.25 * t) + 0.02 * (random() - 0.5)) * (random() < 0.02 ? 0.65 : 1);

/** Beats of a heart, waves, wander and noise; digital samples from device time startSec. */
export function madeUpStream(
  seed: number,
  startSec: number,
  lengthSec: number,
  channels = fixtureChannels,
  heart = usualHeart,
): SampleRun[] {
  const random = seeded(seed);
  const beats: number[] = [];
  for (let t = startSec - 1; t < startSec + lengthSec + 2;) {
    t += heart(t, random);
    beats.push(t);
  }
  return channels.map(({ kind, rateNanoHz }, no) => {
    const fs = rateNanoHz / 1e9;
    const k0 = Math.ceil(startSec * fs);
    const n = Math.floor(lengthSec * fs);
    const samples = new Int32Array(n);
    let b = 0;
    for (let i = 0; i < n; i++) {
      const t = (k0 + i) / fs;
      while (b < beats.length - 2 && beats[b + 1]! < t - 0.5) b++;
      if (kind !== 'ecg' && kind !== 'ppg') {
        samples[i] = Math.round(slow(kind, t, no, random) * 200) + 10;
        continue;
      }
      let x = 0.1 * Math.sin(2 * Math.PI * 0.2 * t) + 0.03 * (random() - 0.5);
      for (let j = b; j < beats.length && beats[j]! < t + 0.5; j++)
        x += kind === 'ecg' ? heartbeat(t - beats[j]!) : pulse(t - beats[j]! - 0.25);
      samples[i] = Math.round(x * 200 * (1 + 0.2 * no)) + 10;
    }
    return { channelNo: no as ChannelNo, k0, samples, qmask: null };
  });
}

/** Skin conductance with a response every 20 s, warm skin, and walking in every other minute. */
function slow(kind: ChannelConfig['kind'], t: number, no: number, random: () => number): number {
  if (kind === 'eda') return 5 + 0.4 * bump(t % 20, 8, 2) + 0.005 * random();
  if (kind === 'resp') return Math.sin(2 * Math.PI * 0.25 * t) + 0.05 * random();
  if (kind === 'temp') return 33 + 0.2 * Math.sin(t / 100) + 0.01 * random();
  const walking = Math.floor(t / 60) % 2 === 0 ? 0.3 : 0.01;
  return (no === 8 ? 1 : 0) + walking * Math.sin(2 * Math.PI * 1.8 * t + no) + 0.005 * random();
}

const bump = (t: number, at: number, width: number): number => Math.exp(-(((t - at) / width) ** 2));
const heartbeat = (t: number): number =>
  1.2 * bump(t, 0, 0.012) - 0.2 * bump(t, 0.03, 0.012) + 0.25 * bump(t, 0.25, 0.05) + 0.1 * bump(t, -0.17, 0.03);
const pulse = (t: number): number => bump(t, 0, 0.1) + 0.4 * bump(t, 0.28, 0.12);

/** Leaves device-time stretches out of runs. */
export function withoutStretches(
  runs: readonly SampleRun[],
  channels: readonly ChannelConfig[],
  stretches: readonly [number, number][],
): SampleRun[] {
  let parts = [...runs];
  for (const [fromSec, toSec] of stretches)
    parts = parts.flatMap((run) => {
      const fs = channels[run.channelNo]!.rateNanoHz / 1e9;
      const end = run.k0 + run.samples.length;
      return [slice(run, run.k0, Math.min(end, Math.ceil(fromSec * fs))), slice(run, Math.max(run.k0, Math.ceil(toSec * fs)), end)].filter(
        (r) => r.samples.length > 0,
      );
    });
  return parts;
}

function slice(run: SampleRun, from: number, to: number): SampleRun {
  const a = Math.max(0, from - run.k0);
  return { ...run, k0: run.k0 + a, samples: run.samples.slice(a, Math.max(a, to - run.k0)) };
}

/** Cuts runs into packets of minSec to maxSec, all channels in each, in order of time. */
export function packets(
  runs: readonly SampleRun[],
  channels: readonly ChannelConfig[],
  random: () => number,
  minSec: number,
  maxSec: number,
): SampleRun[][] {
  const fsOf = (run: SampleRun): number => channels[run.channelNo]!.rateNanoHz / 1e9;
  let t = Math.min(...runs.map((run) => run.k0 / fsOf(run)));
  const end = Math.max(...runs.map((run) => (run.k0 + run.samples.length) / fsOf(run)));
  const out: SampleRun[][] = [];
  while (t < end) {
    const next = t + minSec + (maxSec - minSec) * random();
    const packet = runs
      .map((run) =>
        slice(run, Math.max(run.k0, Math.ceil(t * fsOf(run))), Math.min(run.k0 + run.samples.length, Math.ceil(next * fsOf(run)))),
      )
      .filter((run) => run.samples.length > 0);
    if (packet.length > 0) out.push(packet);
    t = next;
  }
  return out;
}

/** Serves runs as storage would. */
export function loadFrom(runs: readonly SampleRun[], channels: readonly ChannelConfig[]): LoadRuns {
  return async (_stream, channelNo, fromNs, toNs) => {
    const fs = channels[channelNo]!.rateNanoHz / 1e9;
    const [from, to] = [Math.ceil((Number(fromNs) / 1e9) * fs), Math.ceil((Number(toNs) / 1e9) * fs)];
    return runs
      .filter((run) => run.channelNo === channelNo && run.k0 < to && run.k0 + run.samples.length > from)
      .map((run) => slice(run, from, to))
      .filter((run) => run.samples.length > 0);
  };
}

/** A table of rows by their key. A row that comes twice without a replacement, or outside of its replacement, is an error. */
export class RowTable {
  readonly rows = new Map<string, string>();
  readonly errors: string[] = [];
  readonly #times = new Map<string, bigint>();

  readonly apply = (output: FeatureOutput): void => {
    const { replaces, streamId } = output;
    if (replaces !== null)
      for (const [key, tNs] of this.#times)
        if (key.startsWith(`${streamId} `) && tNs >= replaces.fromNs && tNs < replaces.toNs) {
          this.rows.delete(key);
          this.#times.delete(key);
        }
    const add = (streamId: StreamId, name: string, tNs: bigint, value: string): void => {
      const key = `${streamId} ${name} ${tNs}`;
      if (this.rows.has(key)) this.errors.push(`twice: ${key}`);
      if (replaces !== null && (tNs < replaces.fromNs || tNs >= replaces.toNs)) this.errors.push(`outside: ${key}`);
      this.rows.set(key, value);
      this.#times.set(key, tNs);
    };
    for (const { channelNo, tNs, method, ibiMs, kind, reason, confidence, quality } of output.beats)
      add(streamId, `${method} ${channelNo}`, tNs, `${ibiMs} ${kind} ${reason} ${confidence} ${quality}`);
    for (const { feature, channelNo, tNs, value, qmask, methodCode } of output.features)
      add(streamId, `${feature} ${channelNo}`, tNs, `${value} ${qmask} ${methodCode}`);
    for (const { channelNo, tNs, sqi, flag } of output.quality) add(streamId, `quality ${channelNo}`, tNs, `${sqi} ${flag}`);
  };

  /** Time of the newest row, ns; 0 without rows. */
  get newestNs(): bigint {
    let newest = 0n;
    for (const tNs of this.#times.values()) if (tNs > newest) newest = tNs;
    return newest;
  }

  /** Sorted, to compare two tables. */
  dump(): string[] {
    return [...this.rows].map(([key, value]) => `${key} = ${value}`).sort();
  }
}

/** The first rows that only one side has, and how many. */
export function differences(got: readonly string[], wanted: readonly string[]): string[] {
  const [a, b] = [new Set(got), new Set(wanted)];
  const extra = got.filter((row) => !b.has(row));
  const missing = wanted.filter((row) => !a.has(row));
  if (extra.length + missing.length === 0) return [];
  return [`${extra.length} extra, ${missing.length} missing of ${wanted.length}`, ...extra.slice(0, 6), 'missing:', ...missing.slice(0, 6)];
}
