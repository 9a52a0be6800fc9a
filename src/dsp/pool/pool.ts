/** Main-thread side of the DSP: orders runs, batches them to worker threads, returns rows, and survives the death of threads. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelConfig, SampleRun, Spo2Calibration, StreamId } from '../../signal.ts';
import { keepsEarlierRows } from '../engine/groups.ts';
import { Engines } from './engines.ts';
import { FeatureLane, handlesOf } from './lane.ts';
import type { FeaturePoolOptions, FeaturePoolStats, LoadRuns } from './options.ts';
import { runsOf } from './poison.ts';
import { Replay } from './replay.ts';
import type { Stream } from './stream.ts';
import { enterMode, mayHeal, newStream, noteLate, notFinalUs } from './stream.ts';
import type { Batch } from './wire.ts';

const secondUs = 1_000_000;
/** Rows of a stream end at most this much after its last sample. */
const tailUs = 16 * secondUs;
const crashesMax = 3;
/** A flush remains valid when the data continue this much later: a little more than the context. */
const flushGapUs = 17 * secondUs;

/** Each stream has its own mode:
 *  - `live`: runs pass through its orderer to its engine, and rows come out. A lost thread, a new channel, late data near the live edge and
 *    data soon after a flush make it loading.
 *  - `loading`: its engine is rebuilt from stored samples (replay.ts); new runs wait. The end of the load makes it live; the events that
 *    make a live stream loading restart the load.
 *  - `broken`, which is final: no engine can be made for it, it kills threads whatever is left out, or it is being erased. Ignores runs.
 *  Late data far back do not change the mode: a separate engine computes them. `late` and `healing` tell that this is due or under way. */
export class FeaturePool {
  readonly #options: FeaturePoolOptions;
  readonly #lanes: readonly FeatureLane[];
  readonly #streams = new Map<StreamId, Stream>();
  readonly #engines: Engines;
  readonly #replay: Replay;
  readonly #ticker: NodeJS.Timeout;
  #crashCount = 0;
  #quarantineCount = 0;
  #closed = false;

  constructor(options: FeaturePoolOptions) {
    if (!(options.workerCount >= 1)) throw new RangeError(`${options.workerCount} workers`);
    this.#options = options;
    this.#engines = new Engines(options);
    this.#lanes = Array.from({ length: options.workerCount }, () => this.#newLane());
    this.#replay = new Replay(options, this.#lanes, this.#engines);
    // job: idle-streams: computes the last beats of streams that are silent, and recomputes what is late
    this.#ticker = setInterval(() => this.#tick(), 250);
    this.#ticker.unref();
  }

  /** Opens a stream, or adds channels to an open one: `channels[i]` is channelNo i, known ones unchanged.
   *  @param resume a stream that was seen before this process started: its rows from fromNs on are computed again from loadRuns, as one
   *  replacement. fromNs: time of its last stored beat or feature, rowsToNs, less 128 s, at least 0; toNs: end of its stored samples
   *  @param spo2 the calibration that the stream was opened with, always the same one; null: none */
  openStream(
    streamId: StreamId,
    channels: readonly ChannelConfig[],
    resume?: Readonly<{ fromNs: bigint; toNs: bigint; rowsToNs?: bigint }>,
    spo2: Spo2Calibration | null = null,
  ): void {
    const open = this.#streams.get(streamId);
    if (open !== undefined) {
      if (channels.length <= open.channels.length || open.mode === 'broken') return;
      const keepsRows = keepsEarlierRows(open.channels, channels);
      open.channels = channels;
      if (open.newestUs < 0) {
        this.#engines.start(open, 0);
        return;
      }
      // the engine is rebuilt with the new channel from what is not final yet; what is, is late where it would come out differently now
      const fromUs = notFinalUs(open);
      if (!keepsRows && !(open.firstUs > fromUs)) noteLate(open, open.resumed ? 0 : Math.floor(open.firstUs), Math.ceil(fromUs));
      this.#replay.rebuild(open, fromUs, open.newestUs);
      return;
    }
    const stream = newStream(streamId, this.#lanes[streamId % this.#lanes.length]!, channels, resume !== undefined, spo2);
    this.#streams.set(streamId, stream);
    if (resume === undefined) this.#engines.start(stream, 0);
    else {
      stream.newestUs = Number(resume.toNs / 1000n);
      // rows of the process before may lie a little past the samples (the last block, the last second), or they were stored before them
      stream.newestRowUs = Math.max(stream.newestUs + tailUs, Number((resume.rowsToNs ?? 0n) / 1000n));
      this.#replay.rebuild(stream, Number(resume.fromNs / 1000n), stream.newestUs);
    }
  }

  /** Hands over accepted runs, in any order. Takes ownership of their arrays.
   *  @returns 'busy' when the queue is full: nothing was kept, hand the same runs over later
   *  @throws RangeError for a stream or channel that was not opened: a programmer's error */
  push(streamId: StreamId, runs: readonly SampleRun[]): 'accepted' | 'busy' {
    const stream = this.#known(streamId);
    if (this.#queueBytes() >= (this.#options.queueBytesMax ?? 64 << 20)) return 'busy';
    if (stream.mode === 'broken') return 'accepted';
    stream.lastPushMs = performance.now();
    stream.released = false;
    let firstUs = Number.POSITIVE_INFINITY;
    for (const run of runs) {
      const channel = stream.channels[run.channelNo];
      if (channel === undefined) throw new RangeError(`stream ${streamId}: channel ${run.channelNo} of ${stream.channels.length}`);
      const usPerSample = 1e15 / channel.rateNanoHz;
      firstUs = Math.min(firstUs, run.k0 * usPerSample);
      stream.newestUs = Math.max(stream.newestUs, (run.k0 + run.samples.length) * usPerSample);
    }
    stream.firstUs = Math.min(stream.firstUs, firstUs);
    if (stream.flushed && stream.mode === 'live') {
      stream.flushed = false;
      const gapEndUs = stream.orderer.newestUs + flushGapUs;
      if (firstUs < gapEndUs) this.#replay.rebuild(stream, notFinalUs(stream), stream.orderer.newestUs);
      else stream.orderer.releaseTo(gapEndUs);
    }
    if (stream.mode === 'live') stream.orderer.push(runs);
    else this.#replay.keep(stream, runs);
    return 'accepted';
  }

  /** Computes the rows that samples of [fromNs, toNs) touch again from stored samples, and replaces them.
   *  @returns when the last output was handed to onOutput */
  async recompute(streamId: StreamId, fromNs: bigint, toNs: bigint, loadRuns: LoadRuns = this.#options.loadRuns): Promise<void> {
    const stream = this.#known(streamId);
    stream.healing++;
    try {
      await this.#replay.heal(stream, { fromUs: Number(fromNs / 1000n), toUs: Number(toNs / 1000n) }, loadRuns);
    } finally {
      stream.healing--;
    }
  }

  /** Computes exactly the rows of [fromNs, toNs) from stored samples, as replacements. The range must end before the rows that a live
   *  engine has yet to emit. @returns when the last output was passed to onOutput */
  async computeRows(streamId: StreamId, fromNs: bigint, toNs: bigint): Promise<void> {
    const rows = { fromUs: Number(fromNs / 1000n), toUs: Number(toNs / 1000n) };
    if (rows.toUs > rows.fromUs) await this.#replay.computeBeside(this.#known(streamId), rows, this.#options.loadRuns);
  }

  /** Samples of [fromNs, toNs) came when rows of that time had been computed without them: they will be computed again. */
  markLate(streamId: StreamId, fromNs: bigint, toNs: bigint): void {
    noteLate(this.#known(streamId), Number(fromNs / 1000n), Number(toNs / 1000n));
  }

  /** Is nothing of a stream still to be read back: no late data, no loading engine? Then what was pushed comes out without storage. */
  isSettled(streamId: StreamId): boolean {
    const stream = this.#streams.get(streamId);
    return stream === undefined || stream.mode === 'broken' || (stream.mode === 'live' && stream.late === null && stream.healing === 0);
  }

  /** Flushes streams without data for idleMs; runs on a timer, exposed for shutdown (0 flushes all). Resolves when the rows are out. */
  async idleFlush(idleMs: number = this.#options.idleFlushMs ?? 20_000): Promise<void> {
    const now = performance.now();
    for (const stream of this.#streams.values()) if (now - stream.lastPushMs >= idleMs) this.#flush(stream);
    await Promise.all(this.#lanes.map((lane) => lane.fence().catch(() => {})));
  }

  /** Resolves when everything pushed so far is computed, late data included; what could not be read back stays owed. */
  async settle(): Promise<void> {
    for (;;) {
      await Promise.all(this.#lanes.map((lane) => lane.fence().catch(() => {})));
      for (const stream of this.#streams.values()) if (mayHeal(stream, Number.NEGATIVE_INFINITY)) this.#replay.healLate(stream);
      if (this.#replay.isIdle && this.#lanes.every((lane) => lane.lagMs(performance.now()) === 0)) return;
      await this.#replay.ended();
    }
  }

  /** What is not computed of a stream never will be: its samples are being erased. */
  stopComputing(streamId: StreamId): void {
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) this.#break(stream);
  }

  /** Forgets a stream after flushing it.
   *  @param deadlineMs performance.now() from which it is not waited for any more: the stream stays as it is while something is owed
   *  @returns is it forgotten? */
  async closeStream(streamId: StreamId, deadlineMs = Infinity): Promise<boolean> {
    const stream = this.#known(streamId);
    while (!this.isSettled(streamId) && !this.#closed) {
      if (performance.now() >= deadlineMs) return false;
      if (mayHeal(stream, performance.now())) this.#replay.healLate(stream);
      await sleep(5);
    }
    if (stream.mode !== 'broken' && !(await isThroughBy(stream.lane, deadlineMs))) return false;
    this.#flush(stream);
    stream.lane.control({ op: 'close', handle: stream.handle });
    await stream.lane.fence().catch(() => {});
    // The worker was lost: the stream is read back, with the rows of its end.
    if (!this.isSettled(streamId) && !this.#closed) return await this.closeStream(streamId, deadlineMs);
    this.#engines.forget(stream);
    this.#streams.delete(streamId);
    return true;
  }

  /** Forgets a stream at once: what is not computed of it is computed elsewhere. */
  dropStream(streamId: StreamId): void {
    this.stopComputing(streamId);
    this.#streams.delete(streamId);
  }

  stats(): FeaturePoolStats {
    const now = performance.now();
    const sum = (of: (lane: FeatureLane) => number): number => this.#lanes.reduce((total, lane) => total + of(lane), 0);
    return {
      streamCount: this.#streams.size,
      loadingCount: this.#replay.loadingCount,
      queueBytes: this.#queueBytes(),
      lagMs: Math.max(0, ...this.#lanes.map((lane) => lane.lagMs(now))),
      batchCount: sum((lane) => lane.batchCount),
      sampleCount: sum((lane) => lane.sampleCount),
      crashCount: this.#crashCount,
      quarantineCount: this.#quarantineCount,
      recomputeCount: this.#replay.recomputeCount,
    };
  }

  /** Sends what waits, takes the rows, stops the threads. Does not flush: a stream goes on after a restart with `resume`. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#replay.close();
    clearInterval(this.#ticker);
    await Promise.all(this.#lanes.map((lane) => lane.close()));
    await this.#replay.ended();
  }

  #newLane(): FeatureLane {
    const lane: FeatureLane = new FeatureLane({
      workerUrl: this.#options.workerUrl ?? new URL('./worker.ts', import.meta.url).href,
      batchRunsMin: this.#options.batchRunsMin ?? 64,
      batchBytesMax: 1 << 20,
      lingerMs: this.#options.lingerMs ?? 50,
      holdMs: this.#options.holdMs ?? 500,
      taskTimeoutMs: this.#options.taskTimeoutMs ?? 30_000,
      heapMbMax: this.#options.workerHeapMbMax ?? 2048,
      onOutputs: (outputs) => {
        for (const output of outputs) this.#engines.take(output);
      },
      onRefused: ({ handle, reason }) => this.#refused(handle, reason),
      onCrash: (batch, dropped, cause) => this.#laneCrashed(lane, batch, dropped, cause),
      onFault: (message, cause) => this.#options.onFault?.(message, cause),
    });
    return lane;
  }

  #known(streamId: StreamId): Stream {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) throw new RangeError(`stream ${streamId} is not open`);
    return stream;
  }

  #queueBytes(): number {
    let sum = this.#replay.backlogBytes;
    for (const lane of this.#lanes) sum += lane.queueBytes;
    return sum;
  }

  #flush(stream: Stream): void {
    if (stream.flushed || stream.mode !== 'live' || stream.orderer.newestUs < 0) return;
    stream.orderer.release();
    stream.flushed = true;
    stream.lane.control({ op: 'flush', handle: stream.handle });
  }

  // ---- lost threads

  #laneCrashed(lane: FeatureLane, batch: Batch, dropped: ReadonlySet<number>, cause: unknown): void {
    this.#crashCount++;
    this.#options.onFault?.('a worker was lost; its streams are read back', cause);
    const suspects = handlesOf(batch);
    for (const handle of suspects) this.#lostBeside(handle, batch, cause);
    for (const stream of this.#streams.values()) {
      if (stream.lane !== lane || stream.handle < 0) continue;
      if (suspects.has(stream.handle)) this.#streamLost(stream, batch, cause);
      else if (dropped.has(stream.handle) || stream.orderer.newestUs >= 0 || stream.mode === 'loading')
        this.#streamLost(stream, null, cause);
      else this.#engines.start(stream, 0);
    }
  }

  /** Late data that was being computed next to the live engine is tried again by its caller, without what killed the worker three
   *  times. */
  #lostBeside(handle: number, batch: Batch, cause: unknown): void {
    const stream = this.#engines.ownerOf(handle);
    if (stream === undefined || stream.handle === handle || ++stream.lateCrashes < crashesMax) return;
    stream.lateCrashes = 0;
    this.#quarantine(stream, batch, handle, cause);
  }

  /** @param batch the batch the worker died on, when the stream had a part in it */
  #streamLost(stream: Stream, batch: Batch | null, cause: unknown): void {
    const handle = stream.handle;
    this.#engines.forget(stream);
    if (batch !== null && ++stream.crashes >= crashesMax) this.#quarantine(stream, batch, handle, cause);
    this.#replay.rebuild(stream, notFinalUs(stream), stream.newestUs);
  }

  #quarantine(stream: Stream, batch: Batch, handle: number, cause: unknown): void {
    const runs = runsOf(batch, handle);
    stream.crashes = 0;
    this.#quarantineCount++;
    for (const run of runs) stream.poison.push({ channelNo: run.channelNo, fromK: run.k0, toK: run.k0 + run.samples.length });
    this.#options.onQuarantine?.({ streamId: stream.id, runs, reason: String(cause) });
    if (++stream.quarantines < 3 && runs.length > 0) return;
    this.#break(stream);
    this.#options.onFault?.(`stream ${stream.id}: computed no longer, it kills workers`, cause);
  }

  /** No engine can be made for a stream's channels. The worker lives on, so no other stream is touched, at no restart either. */
  #refused(handle: number, reason: string): void {
    const stream = this.#engines.ownerOf(handle);
    if (stream === undefined || stream.mode === 'broken') return;
    this.#quarantineCount++;
    this.#break(stream);
    this.#options.onQuarantine?.({ streamId: stream.id, runs: [], reason });
  }

  #break(stream: Stream): void {
    this.#engines.drop(stream);
    enterMode(stream, 'broken');
    stream.loads++; // one under way ends
    stream.late = null;
    stream.gathered = null;
    this.#replay.takeBacklog(stream);
  }

  // ---- time

  #tick(): void {
    const now = performance.now();
    const { holeWaitMs = 2000, idleFlushMs = 20_000, lateWaitMs = 1000 } = this.#options;
    for (const stream of this.#streams.values()) {
      if (stream.mode !== 'live') continue;
      const idleMs = now - stream.lastPushMs;
      if (idleMs >= holeWaitMs && !stream.released) {
        stream.released = true;
        stream.orderer.release();
      }
      if (idleMs >= idleFlushMs) this.#flush(stream);
      const { late } = stream;
      if (late === null || !mayHeal(stream, now)) continue;
      if (now - late.lastMs >= lateWaitMs || now - late.sinceMs >= 10 * lateWaitMs) this.#replay.healLate(stream);
    }
  }
}

/** Whether all that a lane has now is computed by then. */
async function isThroughBy(lane: FeatureLane, deadlineMs: number): Promise<boolean> {
  if (deadlineMs === Infinity) return true;
  const through = lane.fence().then(
    () => true,
    () => true, // the thread was lost, and its streams are read back
  );
  return await Promise.race([through, sleep(Math.max(0, deadlineMs - performance.now()), false, { ref: false })]);
}
