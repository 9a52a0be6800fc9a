/** The pool's record of one stream. Its modes and transitions are described at FeaturePool. */
import assert from 'node:assert/strict';
import type { ChannelConfig, SampleRun, Spo2Calibration, StreamId } from '../../signal.ts';
import type { FeatureLane } from './lane.ts';
import type { Poison } from './poison.ts';
import type { EngineOutput } from './wire.ts';
import type { RangeUs } from '../kernels/segment-grid.ts';
import { RunOrderer } from './run-orderer.ts';

/** Rows of an engine that is being fed from storage, to be given out as replacements from fromUs on. */
export type Gathered = { fromUs: number; outputs: EngineOutput[]; rowCount: number };

export type Mode = 'live' | 'loading' | 'broken';

/** What failed is tried again after this long at first, ms. */
export const retryMsDefault = 100;
/** What could not be read back is tried again after this many times the first wait between two tries: 5 s. */
export const laterTimes = 50;

export type Stream = {
  readonly id: StreamId;
  readonly lane: FeatureLane;
  channels: readonly ChannelConfig[];
  readonly spo2: Spo2Calibration | null;
  /** Only enterMode changes it. */
  mode: Mode;
  /** Of its engine; -1: it has none now. */
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
  /** Runs that wait while it is loading. */
  backlog: SampleRun[];
  backlogBytes: number;
  lastPushMs: number;
  released: boolean;
  flushed: boolean;
  /** Samples whose rows are owed. After a failure it is not tried again before `retryAtMs` (-Infinity: it has not failed). */
  late: (RangeUs & { sinceMs: number; lastMs: number; retryAtMs: number }) | null;
  /** Workers lost in a row while computing late data in a separate engine. */
  lateCrashes: number;
  /** Recomputations under way. */
  healing: number;
  /** Rows of the engine being loaded, given out as one replacement. */
  gathered: Gathered | null;
  /** Number of the load that counts; one under way with a lower number ends. */
  loads: number;
  /** The last load failed, and waits to be tried again. */
  loadFailed: boolean;
  /** Threads lost on a batch with samples of it, since it was last loaded; above 0 its batches hold no other stream. */
  crashes: number;
  /** At the third it is broken. */
  quarantines: number;
  /** Samples that are left out. Nowhere else: a stream that is closed, or a start, forgets them. */
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

const nextModes: Readonly<Record<Mode, readonly Mode[]>> = {
  live: ['loading', 'broken'],
  loading: ['loading', 'live', 'broken'],
  broken: ['broken'],
};

export function enterMode(stream: Stream, mode: Mode): void {
  const { id, mode: before, handle, gathered, backlog } = stream;
  assert(nextModes[before].includes(mode), `stream ${id}: ${before} does not become ${mode}`);
  if (mode === 'live')
    assert(handle >= 0 && gathered === null, `stream ${id}: live without an engine, or with rows that were not given out`);
  else assert(handle < 0, `stream ${id}: ${mode} with the engine of before`);
  assert(mode === 'loading' || before === 'loading' || backlog.length === 0, `stream ${id}: samples wait although it was ${before}`);
  stream.mode = mode;
}

/** Samples of a range came when rows of that time had been computed without them. */
export function noteLate(stream: Stream, fromUs: number, toUs: number): void {
  const now = performance.now();
  const late = stream.late;
  stream.late =
    late === null
      ? { fromUs, toUs, sinceMs: now, lastMs: now, retryAtMs: Number.NEGATIVE_INFINITY }
      : { ...late, fromUs: Math.min(late.fromUs, fromUs), toUs: Math.max(late.toUs, toUs), lastMs: now };
}

/** Notes a range that could not be computed: it stays owed until it is. */
export function owe(stream: Stream, fromUs: number, toUs: number, retryMs = retryMsDefault): void {
  if (stream.mode === 'broken') return;
  noteLate(stream, fromUs, toUs);
  stream.late!.retryAtMs = performance.now() + laterTimes * retryMs;
}

/** Is there late data that may be computed now? What has failed waits. */
export function mayHeal({ late, mode }: Stream, nowMs: number): boolean {
  return late !== null && mode === 'live' && late.retryAtMs <= nowMs;
}

/** Where a stream's rows stop being out, µs. Its first row may lie at the start of its first second, and none before: an engine with a
 *  group of channels that has not begun calls nothing final. */
export function notFinalUs({ finalUs, firstUs, resumed }: Stream): number {
  const beginsUs = Number.isFinite(firstUs) ? Math.floor(firstUs / 1e6) * 1e6 : 0;
  if (!Number.isFinite(finalUs)) return beginsUs;
  return resumed ? Math.floor(finalUs) : Math.max(Math.floor(finalUs), beginsUs);
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
