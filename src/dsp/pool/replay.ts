/** Reading back: computes rows again from stored samples.
 *
 *  - rebuild: replaces a stream's engine by one that is fed from storage (`load`), because the old one is lost, knows too few channels, or
 *    has emitted rows that late samples affect. Runs pushed meanwhile wait in the backlog. A load that fails is retried until it succeeds;
 *    the backlog is dropped, since the next load reads those samples anyway.
 *  - heal: recomputes rows affected by late data: far back in a separate engine, piece by piece; near the live edge by a rebuild.
 *  Few streams are read back at a time; the others wait for their turn. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelNo, SampleRun } from '../../signal.ts';
import type { RangeUs } from '../kernels/segment-grid.ts';
import { reachAheadSec, rowsTouchedBy, samplesNeededFor, segmentIndexAt, segmentSec } from '../kernels/segment-grid.ts';
import type { Engines } from './engines.ts';
import type { FeatureLane } from './lane.ts';
import type { FeaturePoolOptions, LoadRuns } from './options.ts';
import { withoutPoison } from './poison.ts';
import { RunOrderer, runOrdererDefaults } from './run-orderer.ts';
import type { Stream } from './stream.ts';
import { enterMode, laterTimes, liveRowsFromUs, noteLate, owe, retryMsDefault } from './stream.ts';

const secondUs = 1_000_000;
/** Stretch of samples read back at once: 64 kB per channel at 250 Hz. */
const loadChunkUs = 256 * secondUs;
/** After a crash: what is quarantined in the end is at most this long. */
const suspectChunkUs = 8 * secondUs;
const loadsAtOnce = 4;
const loadTries = 4;
/** Late data further back than this are computed by a separate engine instead of rebuilding the live one. */
const rebuildBackUs = 900 * secondUs;

export class Replay {
  readonly #options: FeaturePoolOptions;
  readonly #lanes: readonly FeatureLane[];
  readonly #engines: Engines;
  /** Whose turn has not come. */
  readonly #waiting: (() => void)[] = [];
  readonly #jobs = new Set<Promise<void>>();
  #loads = 0;
  #backlogBytes = 0;
  #closed = false;
  recomputeCount = 0;

  constructor(options: FeaturePoolOptions, lanes: readonly FeatureLane[], engines: Engines) {
    this.#options = options;
    this.#lanes = lanes;
    this.#engines = engines;
  }

  /** Samples that wait until their stream is live again. */
  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  /** Streams that are read back, or wait for their turn. */
  get loadingCount(): number {
    return this.#loads + this.#waiting.length;
  }

  /** Is nothing under way? */
  get isIdle(): boolean {
    return this.#jobs.size === 0;
  }

  /** When everything that is under way has ended, well or not. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#jobs);
  }

  /** Begins nothing any more, and ends what is under way at its next step. */
  close(): void {
    this.#closed = true;
  }

  // ---- what is pushed while a stream is loading

  /** Takes runs of a stream that is loading. */
  keep(stream: Stream, runs: readonly SampleRun[]): void {
    assert(stream.mode === 'loading', `stream ${stream.id}: samples wait for a stream that is ${stream.mode}`);
    if (stream.loadFailed) this.#leaveToStorage(stream, runs);
    else for (const run of runs) this.#keep(stream, run);
  }

  #keep(stream: Stream, run: SampleRun): void {
    stream.backlog.push(run);
    stream.backlogBytes += run.samples.byteLength;
    this.#backlogBytes += run.samples.byteLength;
  }

  takeBacklog(stream: Stream): SampleRun[] {
    this.#backlogBytes -= stream.backlogBytes;
    stream.backlogBytes = 0;
    return stream.backlog.splice(0);
  }

  /** Drops samples that the next load reads anyway, so that a stream that cannot be read back takes no room from others. Samples that
   *  affect rows before that load, by look-ahead, are late. */
  #leaveToStorage(stream: Stream, runs: readonly SampleRun[]): void {
    const lateBeforeUs = stream.gathered!.fromUs + reachAheadSec * secondUs;
    for (const run of runs) {
      const usPerSample = 1e15 / stream.channels[run.channelNo]!.rateNanoHz;
      const fromUs = run.k0 * usPerSample;
      if (stream.gathered!.fromUs > 0 && fromUs < lateBeforeUs)
        noteLate(stream, Math.floor(fromUs), Math.ceil(fromUs + run.samples.length * usPerSample));
    }
  }

  // ---- the engine of a stream, from storage

  /** Replaces the stream's engine by one that is fed from stored samples, so that rows from fromUs on come out anew; and those before that
   *  the engine still had to give, whose samples may wait for their worker for minutes. */
  rebuild(stream: Stream, fromUs: number, toUs: number): void {
    if (stream.mode === 'broken' || this.#closed) return;
    const from = Math.max(0, Math.min(fromUs, liveRowsFromUs(stream)));
    this.#engines.drop(stream);
    enterMode(stream, 'loading');
    stream.flushed = false;
    stream.gathered = { fromUs: from, outputs: [], rowCount: 0 };
    stream.loads++;
    stream.loadFailed = false;
    this.#track(this.#load(stream, from, toUs, stream.loads));
  }

  async #load(stream: Stream, fromUs: number, toUs: number, turn: number): Promise<void> {
    await this.#takeTurn();
    try {
      if (stream.loads !== turn || this.#closed) return;
      this.recomputeCount++;
      this.#engines.start(stream, fromUs);
      const chunkUs = stream.crashes > 0 ? suspectChunkUs : loadChunkUs;
      for (let at = samplesNeededFor({ fromUs, toUs }).fromUs; at <= toUs; at += chunkUs) {
        const runs = await this.#read(stream, at, Math.min(at + chunkUs, Math.ceil(toUs) + secondUs), this.#options.loadRuns);
        if (stream.loads !== turn || this.#closed) return;
        stream.orderer.push(runs, true);
        await stream.lane.fence();
        if (stream.loads !== turn || this.#closed) return;
      }
      stream.lane.setAlone(stream.handle, false);
      stream.crashes = 0;
      this.#engines.giveGathered(stream, Number.POSITIVE_INFINITY);
      stream.gathered = null;
      enterMode(stream, 'live');
      stream.orderer.push(this.takeBacklog(stream));
    } catch (cause) {
      // a crash has started another load already
      if (stream.loads !== turn || this.#closed) return;
      this.#options.onFault?.(`stream ${stream.id}: samples could not be read back`, cause);
      stream.loadFailed = true;
      stream.gathered = { fromUs, outputs: [], rowCount: 0 };
      this.#leaveToStorage(stream, this.takeBacklog(stream));
      this.#rebuildLater(stream, fromUs, turn);
    } finally {
      this.#endTurn();
    }
  }

  #rebuildLater(stream: Stream, fromUs: number, turn: number): void {
    setTimeout(
      () => {
        if (stream.loads === turn && !this.#closed) this.rebuild(stream, fromUs, stream.newestUs);
      },
      laterTimes * (this.#options.retryMs ?? retryMsDefault),
    ).unref();
  }

  /** All channels' runs of [fromUs, toUs), in order of time, without what is poison. */
  async #read(stream: Stream, fromUs: number, toUs: number, loadRuns: LoadRuns): Promise<SampleRun[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const parts = await Promise.all(
          stream.channels.map((_, no) =>
            loadRuns(stream.id, no as ChannelNo, BigInt(Math.floor(fromUs)) * 1000n, BigInt(Math.ceil(toUs)) * 1000n),
          ),
        );
        const startUs = (run: SampleRun): number => run.k0 * (1e15 / stream.channels[run.channelNo]!.rateNanoHz);
        return withoutPoison(parts.flat(), stream.poison).sort((a, b) => startUs(a) - startUs(b));
      } catch (cause) {
        if (attempt === loadTries) throw cause;
        await sleep((this.#options.retryMs ?? retryMsDefault) * 4 ** attempt);
      }
    }
  }

  #takeTurn(): Promise<void> {
    if (this.#loads < loadsAtOnce) {
      this.#loads++;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#loads--;
    else next();
  }

  #track(job: Promise<void>): void {
    this.#jobs.add(job);
    job.finally(() => this.#jobs.delete(job)).catch(() => {});
  }

  // ---- late data

  /** Computes what is late of a stream. */
  healLate(stream: Stream): void {
    const { late } = stream;
    assert(late !== null && stream.mode === 'live', `stream ${stream.id}: nothing to heal while it is ${stream.mode}`);
    stream.late = null;
    stream.healing++;
    this.#track(
      this.heal(stream, late, this.#options.loadRuns)
        .catch((cause: unknown) => {
          this.#options.onFault?.(`stream ${stream.id}: late data could not be computed; it will be tried again`, cause);
          owe(stream, late.fromUs, late.toUs, this.#options.retryMs);
        })
        .finally(() => stream.healing--),
    );
  }

  /** Recomputes the rows affected by a dirty range: far back in a separate engine, near the live edge by rebuilding the live one. A live
   *  engine that has nothing yet begins with the range: what comes next goes on from there, and meanwhile waits. */
  async heal(stream: Stream, dirty: RangeUs, loadRuns: LoadRuns): Promise<void> {
    const rows = rowsTouchedBy(dirty);
    const liveFromUs = liveRowsFromUs(stream);
    if (Number.isFinite(liveFromUs) && rows.toUs <= liveFromUs) {
      await this.computeBeside(stream, rows, loadRuns);
      return;
    }
    const edgeUs = Math.min(liveFromUs, dirty.toUs);
    const cutUs = Math.max(rows.fromUs, segmentIndexAt(Math.max(0, edgeUs - rebuildBackUs)) * segmentSec * secondUs);
    if (rows.fromUs < cutUs) await this.computeBeside(stream, { fromUs: rows.fromUs, toUs: cutUs }, loadRuns);
    // Samples that the full pool refused are not among those that it took.
    stream.firstUs = Math.min(stream.firstUs, dirty.fromUs);
    stream.newestUs = Math.max(stream.newestUs, dirty.toUs);
    this.rebuild(stream, cutUs, stream.newestUs);
    await this.#loaded(stream);
  }

  /** Until a stream's engine is live again, or has to wait for storage: nobody must wait for that, and the stream is not settled. */
  async #loaded(stream: Stream): Promise<void> {
    while (stream.mode === 'loading' && !stream.loadFailed && !this.#closed) await sleep(5);
  }

  /** Computes [fromUs, toUs) with an engine of its own; its rows come as replacements, piece by piece. */
  async computeBeside(stream: Stream, rows: RangeUs, loadRuns: LoadRuns): Promise<void> {
    await this.#takeTurn();
    const lane = this.#lanes[(stream.id + segmentIndexAt(rows.fromUs)) % this.#lanes.length]!;
    const { lossCount } = lane;
    // An engine without records under way is lost without a word, and the next thread does not know it.
    const fence = async (): Promise<void> => {
      await lane.fence();
      if (lane.lossCount !== lossCount) throw new Error('the worker was lost');
    };
    const isSuspect = stream.lateCrashes > 0;
    const chunkUs = isSuspect ? suspectChunkUs : loadChunkUs;
    const handle = this.#engines.newHandle();
    try {
      this.recomputeCount++;
      this.#engines.startBeside(handle, stream, lane, rows, isSuspect);
      const need = samplesNeededFor(rows);
      const orderer = new RunOrderer(
        stream.channels,
        {
          run: (channelNo, k0, samples, qmask) => lane.run(handle, channelNo, k0, samples, qmask),
          pass: (channelNo, k) => lane.pass(handle, channelNo, k),
          late: () => {},
        },
        { ...runOrdererDefaults, holdSec: 0 },
      );
      for (let at = need.fromUs; at < need.toUs; at += chunkUs) {
        const end = Math.min(at + chunkUs, need.toUs);
        orderer.push(await this.#read(stream, at, end, loadRuns), true);
        orderer.release();
        stream.channels.forEach(({ rateNanoHz }, no) => lane.pass(handle, no as ChannelNo, Math.floor((end * rateNanoHz) / 1e15)));
        lane.control({ op: 'give', handle, endUs: end });
        await fence();
      }
      lane.control({ op: 'flush', handle });
      lane.control({ op: 'close', handle });
      await fence();
      stream.lateCrashes = 0;
    } finally {
      this.#engines.forgetBeside(handle, lane);
      this.#endTurn();
    }
  }
}
