/** What the pool knows of one stream. */
import type { ChannelConfig, SampleRun, Spo2Calibration, StreamId } from '../../signal.ts';
import type { FeatureLane } from './lane.ts';
import type { Poison } from './poison.ts';
import type { EngineOutput } from './wire.ts';
import type { RangeUs } from '../kernels/segment-grid.ts';
import { RunOrderer } from './run-orderer.ts';

/** Rows of an engine that is being fed from storage, to be given out as replacements from fromUs on. */
export type Gathered = { fromUs: number; outputs: EngineOutput[]; rowCount: number };

/** Modes: live (runs go through the orderer to the engine `handle`), loading (the engine is being rebuilt from stored samples, new runs
 *  wait in `backlog`; once a load has failed they are left to the next one, which reads them), broken (no engine can be made for it, or it
 *  kills workers whatever is left out; takes and ignores). A crash of the lane, late data near the live edge and data after a flush move live
 *  to loading; the end of the load moves it back. */
export type Stream = {
  readonly id: StreamId;
  readonly lane: FeatureLane;
  channels: readonly ChannelConfig[];
  readonly spo2: Spo2Calibration | null;
  mode: 'live' | 'loading' | 'broken';
  handle: number;
  orderer: RunOrderer;
  /** Rows before it are out, µs; Infinity before the first samples. */
  finalUs: number;
  /** Newest row given out, µs. */
  newestRowUs: number;
  /** Start of the oldest and end of the newest run taken, µs. */
  firstUs: number;
  /** Were there samples before this process? */
  readonly resumed: boolean;
  newestUs: number;
  backlog: SampleRun[];
  backlogBytes: number;
  lastPushMs: number;
  released: boolean;
  flushed: boolean;
  /** Samples whose rows are owed. After a failure it is not tried again before `retryAtMs` (-Infinity: it has not failed). */
  late: (RangeUs & { sinceMs: number; lastMs: number; retryAtMs: number }) | null;
  /** Workers lost in a row while late data was computed beside the live engine. */
  lateCrashes: number;
  /** Recomputations under way. */
  healing: number;
  /** Rows of the engine being loaded, given out as one replacement. */
  gathered: Gathered | null;
  loads: number;
  /** The last load failed, and waits to be tried again. */
  loadFailed: boolean;
  crashes: number;
  quarantines: number;
  poison: Poison[];
};

/** @param resumed were there samples before this process? */
export function newStream(
  id: StreamId,
  lane: FeatureLane,
  channels: readonly ChannelConfig[],
  resumed: boolean,
  spo2: Spo2Calibration | null,
): Stream {
  return {
    id,
    lane,
    channels,
    spo2,
    mode: 'live',
    handle: -1,
    orderer: new RunOrderer(channels, { run() {}, pass() {}, late() {} }),
    finalUs: Number.POSITIVE_INFINITY,
    newestRowUs: -1,
    firstUs: Number.POSITIVE_INFINITY,
    resumed,
    newestUs: -1,
    backlog: [],
    backlogBytes: 0,
    lastPushMs: performance.now(),
    released: false,
    flushed: false,
    late: null,
    lateCrashes: 0,
    healing: 0,
    gathered: null,
    loads: 0,
    loadFailed: false,
    crashes: 0,
    quarantines: 0,
    poison: [],
  };
}

/** Where a stream's rows stop being out, µs; its first row may lie at the start of its first second. */
export function notFinalUs({ finalUs, firstUs }: Stream): number {
  if (Number.isFinite(finalUs)) return Math.floor(finalUs);
  return Number.isFinite(firstUs) ? Math.floor(firstUs / 1e6) * 1e6 : 0;
}

/** From where on rows are the live engine's to give, µs; Infinity when it has nothing. */
export function liveRowsFromUs(stream: Stream): number {
  if (stream.gathered !== null) return stream.gathered.fromUs;
  return stream.orderer.newestUs < 0 ? Number.POSITIVE_INFINITY : notFinalUs(stream);
}

/** Takes the gathered rows before endUs out, as one replacement; null: nothing has been gathered. `newestUs`: of all gathered ones.
 *  @param newestRowUs newest row given out before */
export function takeGathered(gathered: Gathered, endUs: number, newestRowUs: number): EngineOutput | null {
  const last = gathered.outputs[gathered.outputs.length - 1];
  if (last === undefined) return null;
  const isBefore = (row: { tNs: bigint }): boolean => Number(row.tNs / 1000n) < endUs;
  const isAfter = (row: { tNs: bigint }): boolean => !isBefore(row);
  const beats = gathered.outputs.flatMap((o) => o.beats);
  const features = gathered.outputs.flatMap((o) => o.features);
  const quality = gathered.outputs.flatMap((o) => o.quality);
  let newestUs = newestRowUs;
  for (const o of gathered.outputs) newestUs = Math.max(newestUs, o.newestUs);
  const { fromUs } = gathered;
  const toUs = Math.min(endUs, Math.max(newestUs + 1, fromUs));
  const kept = { beats: beats.filter(isAfter), features: features.filter(isAfter), quality: quality.filter(isAfter) };
  gathered.fromUs = toUs;
  gathered.outputs = [{ ...last, ...kept }];
  gathered.rowCount = kept.beats.length + kept.features.length + kept.quality.length;
  return {
    ...last,
    newestUs,
    beats: beats.filter(isBefore),
    features: features.filter(isBefore),
    quality: quality.filter(isBefore),
    replaces: { fromUs, toUs },
  };
}
