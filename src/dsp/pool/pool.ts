/** The main thread's side of the DSP: puts runs in order, batches them to worker threads, hands rows back, survives the threads' deaths. */
import type { ChannelConfig, ChannelNo, SampleRun, Spo2Calibration, StreamId } from '../../signal.ts';
import { FeatureLane, handlesOf } from './lane.ts';
import { runsOf, withoutPoison } from './poison.ts';
import type { FeaturePoolOptions, FeaturePoolStats, LoadRuns } from './options.ts';
import type { FeatureOutput } from '../rows/feature-rows.ts';
import type { Stream } from './stream.ts';
import { liveRowsFromUs, newStream, notFinalUs, takeGathered } from './stream.ts';
import type { Batch, EngineOutput } from './wire.ts';
import { toFeatureOutput } from './wire.ts';
import { keepsEarlierRows } from '../engine/groups.ts';
import type { RangeUs } from '../kernels/segment-grid.ts';
import { reachAheadSec, rowsTouchedBy, samplesNeededFor, segmentIndexAt, segmentSec } from '../kernels/segment-grid.ts';
import { RunOrderer, runOrdererDefaults } from './run-orderer.ts';

const secondUs = 1_000_000;
/** Samples read back at once: two seconds of work for nobody, 64 kB a channel at 250 Hz. */
const loadChunkUs = 256 * secondUs;
/** After a crash: what is quarantined in the end is at most this long. */
const suspectChunkUs = 8 * secondUs;
/** Rows of a stream end at most this much after its last sample. */
const tailUs = 16 * secondUs;
const loadsAtOnce = 4;
const loadTries = 4;
/** What could not be read back is tried again after this many times the first wait between two tries: 5 s. */
const laterTimes = 50;
/** Rows gathered while a stream is read back, before a part of them is given out. */
const gatheredMax = 20_000;
const crashesMax = 3;
/** A flush is right when the data goes on this much later: a little over the context. */
const flushGapUs = 17 * secondUs;
/** Late data reaching further back than this is computed beside the live engine, not by rebuilding it. */
const rebuildBackUs = 900 * secondUs;

export class FeaturePool {
  readonly #options: FeaturePoolOptions;
  readonly #lanes: readonly FeatureLane[];
  readonly #streams = new Map<StreamId, Stream>();
  /** Whose an engine is, and what becomes of its rows; by handle. */
  readonly #owners = new Map<number, Readonly<{ stream: Stream; take: (output: EngineOutput) => void }>>();
  readonly #waiting: (() => void)[] = [];
  readonly #jobs = new Set<Promise<void>>();
  readonly #ticker: NodeJS.Timeout;
  #loads = 0;
  #handles = 0;
  #backlogBytes = 0;
  #crashCount = 0;
  #quarantineCount = 0;
  #recomputeCount = 0;
  #closed = false;

  constructor(options: FeaturePoolOptions) {
    if (!(options.workerCount >= 1)) throw new RangeError(`${options.workerCount} workers`);
    this.#options = options;
    this.#lanes = Array.from({ length: options.workerCount }, () => this.#newLane());
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
        this.#startEngine(open, 0);
        return;
      }
      // the engine is rebuilt with the new channel from what is not final yet; what is, is late where it would come out differently now
      const fromUs = notFinalUs(open);
      if (!keepsRows && !(open.firstUs > fromUs)) this.#noteLate(open, open.resumed ? 0 : Math.floor(open.firstUs), Math.ceil(fromUs));
      this.#rebuild(open, fromUs, open.newestUs);
      return;
    }
    const stream = newStream(streamId, this.#lanes[streamId % this.#lanes.length]!, channels, resume !== undefined, spo2);
    this.#streams.set(streamId, stream);
    if (resume === undefined) this.#startEngine(stream, 0);
    else {
      stream.newestUs = Number(resume.toNs / 1000n);
      // rows of the process before may lie a little past the samples (the last block, the last second), or they were stored before them
      stream.newestRowUs = Math.max(stream.newestUs + tailUs, Number((resume.rowsToNs ?? 0n) / 1000n));
      this.#rebuild(stream, Number(resume.fromNs / 1000n), stream.newestUs);
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
      if (firstUs < gapEndUs) this.#rebuild(stream, notFinalUs(stream), stream.orderer.newestUs);
      else stream.orderer.releaseTo(gapEndUs);
    }
    if (stream.mode === 'live') stream.orderer.push(runs);
    else if (stream.loadFailed) this.#leaveToStorage(stream, runs);
    else for (const run of runs) this.#keep(stream, run);
    return 'accepted';
  }

  /** Computes the rows that samples of [fromNs, toNs) touch again from stored samples, and replaces them.
   *  @returns when the last output was handed to onOutput */
  async recompute(streamId: StreamId, fromNs: bigint, toNs: bigint, loadRuns: LoadRuns = this.#options.loadRuns): Promise<void> {
    const stream = this.#known(streamId);
    stream.healing++;
    try {
      await this.#heal(stream, { fromUs: Number(fromNs / 1000n), toUs: Number(toNs / 1000n) }, loadRuns);
    } finally {
      stream.healing--;
    }
  }

  /** Computes the rows of [fromNs, toNs), and no others, from stored samples; they come as replacements. What a live engine still holds back
   *  is not touched: the caller ends the range before it.  @returns when the last output was handed to onOutput */
  async computeRows(streamId: StreamId, fromNs: bigint, toNs: bigint): Promise<void> {
    const rows = { fromUs: Number(fromNs / 1000n), toUs: Number(toNs / 1000n) };
    if (rows.toUs > rows.fromUs) await this.#computeBeside(this.#known(streamId), rows, this.#options.loadRuns);
  }

  /** Samples of [fromNs, toNs) came when rows of that time had been computed without them: they will be computed again. */
  markLate(streamId: StreamId, fromNs: bigint, toNs: bigint): void {
    this.#noteLate(this.#known(streamId), Number(fromNs / 1000n), Number(toNs / 1000n));
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
      for (const stream of this.#streams.values()) if (mayHeal(stream, Number.NEGATIVE_INFINITY)) this.#healLate(stream);
      if (this.#jobs.size === 0 && this.#lanes.every((lane) => lane.lagMs(performance.now()) === 0)) return;
      await Promise.allSettled(this.#jobs);
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
      if (mayHeal(stream, performance.now())) this.#healLate(stream);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.#flush(stream);
    stream.lane.control({ op: 'close', handle: stream.handle });
    await stream.lane.fence().catch(() => {});
    this.#forgetHandle(stream);
    this.#streams.delete(streamId);
    return true;
  }

  stats(): FeaturePoolStats {
    const now = performance.now();
    const sum = (of: (lane: FeatureLane) => number): number => this.#lanes.reduce((total, lane) => total + of(lane), 0);
    return {
      streamCount: this.#streams.size,
      loadingCount: this.#loads + this.#waiting.length,
      queueBytes: this.#queueBytes(),
      lagMs: Math.max(0, ...this.#lanes.map((lane) => lane.lagMs(now))),
      batchCount: sum((lane) => lane.batchCount),
      sampleCount: sum((lane) => lane.sampleCount),
      crashCount: this.#crashCount,
      quarantineCount: this.#quarantineCount,
      recomputeCount: this.#recomputeCount,
    };
  }

  /** Sends what waits, takes the rows, stops the threads. Does not flush: a stream goes on after a restart with `resume`. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#ticker);
    await Promise.all(this.#lanes.map((lane) => lane.close()));
    await Promise.allSettled(this.#jobs);
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
        for (const output of outputs) this.#owners.get(output.handle)?.take(output);
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

  get #retryMs(): number {
    return this.#options.retryMs ?? 100;
  }

  #queueBytes(): number {
    let sum = this.#backlogBytes;
    for (const lane of this.#lanes) sum += lane.queueBytes;
    return sum;
  }

  #keep(stream: Stream, run: SampleRun): void {
    stream.backlog.push(run);
    stream.backlogBytes += run.samples.byteLength;
    this.#backlogBytes += run.samples.byteLength;
  }

  #takeBacklog(stream: Stream): SampleRun[] {
    this.#backlogBytes -= stream.backlogBytes;
    stream.backlogBytes = 0;
    return stream.backlog.splice(0);
  }

  /** Keeps nothing of samples that the next load reads, so that a stream which cannot be read back takes no room from others. Those that rows
   *  before that load look ahead to are late. */
  #leaveToStorage(stream: Stream, runs: readonly SampleRun[]): void {
    const lateBeforeUs = stream.gathered!.fromUs + reachAheadSec * secondUs;
    for (const run of runs) {
      const usPerSample = 1e15 / stream.channels[run.channelNo]!.rateNanoHz;
      const fromUs = run.k0 * usPerSample;
      if (stream.gathered!.fromUs > 0 && fromUs < lateBeforeUs)
        this.#noteLate(stream, Math.floor(fromUs), Math.ceil(fromUs + run.samples.length * usPerSample));
    }
  }

  // ---- the live engine

  /** A fresh engine and orderer for a stream; rows before fromUs stay in the worker. */
  #startEngine(stream: Stream, fromUs: number): void {
    this.#dropEngine(stream);
    const handle = this.#handles++;
    const { lane, orderer: before } = stream;
    stream.handle = handle;
    stream.orderer = new RunOrderer(
      stream.channels,
      {
        run: (channelNo, k0, samples, qmask) => lane.run(handle, channelNo, k0, samples, qmask),
        pass: (channelNo, k) => lane.pass(handle, channelNo, k),
        late: (lateFromUs, lateToUs) => this.#noteLate(stream, lateFromUs, lateToUs),
      },
      this.#options.orderer ?? runOrdererDefaults,
    );
    stream.orderer.inheritHoles(before, fromUs + reachAheadSec * secondUs);
    this.#owners.set(handle, { stream, take: (output) => this.#takeLive(stream, output) });
    lane.setAlone(handle, stream.crashes > 0);
    lane.control({
      op: 'open',
      handle,
      channels: stream.channels,
      spo2: stream.spo2,
      fromUs,
      toUs: Number.POSITIVE_INFINITY,
      gated: false,
    });
  }

  #dropEngine(stream: Stream): void {
    if (stream.handle < 0) return;
    stream.lane.control({ op: 'close', handle: stream.handle });
    this.#forgetHandle(stream);
    stream.handle = -1;
  }

  #forgetHandle(stream: Stream): void {
    this.#owners.delete(stream.handle);
    stream.lane.setAlone(stream.handle, false);
  }

  #takeLive(stream: Stream, output: EngineOutput): void {
    stream.finalUs = output.finalUs;
    const { gathered } = stream;
    if (gathered === null) {
      this.#giveOut(stream, output);
      return;
    }
    gathered.outputs.push(output);
    gathered.rowCount += output.beats.length + output.features.length + output.quality.length;
    if (gathered.rowCount > gatheredMax) this.#giveGathered(stream, output.finalUs);
  }

  #giveOut(stream: Stream, output: EngineOutput): void {
    stream.newestRowUs = Math.max(stream.newestRowUs, output.newestUs);
    if (output.beats.length + output.features.length + output.quality.length > 0 || output.replaces !== null) this.#output(stream, output);
  }

  /** Hands rows on; those that are not taken are owed. */
  #output(stream: Stream, output: EngineOutput): void {
    const rows = toFeatureOutput(stream.id, output);
    try {
      this.#options.onOutput(rows);
    } catch (cause) {
      this.#options.onFault?.(`stream ${stream.id}: rows could not be handed on`, cause);
      const { fromUs, toUs } = output.replaces ?? { fromUs: oldestUs(rows), toUs: output.newestUs + 1 };
      this.#owe(stream, fromUs, toUs);
    }
  }

  /** Gives out the gathered rows before endUs as one replacement. */
  #giveGathered(stream: Stream, endUs: number): void {
    const gathered = stream.gathered!;
    const output = takeGathered(gathered, endUs, stream.newestRowUs);
    if (output === null) return;
    stream.newestRowUs = Math.max(stream.newestRowUs, output.newestUs);
    this.#output(stream, output);
  }

  #flush(stream: Stream): void {
    if (stream.flushed || stream.mode !== 'live' || stream.orderer.newestUs < 0) return;
    stream.orderer.release();
    stream.flushed = true;
    stream.lane.control({ op: 'flush', handle: stream.handle });
  }

  // ---- reading back

  /** Replaces the stream's engine by one that is fed from stored samples, so that rows from fromUs on come out anew. */
  #rebuild(stream: Stream, fromUs: number, toUs: number): void {
    if (stream.mode === 'broken' || this.#closed) return;
    this.#dropEngine(stream);
    const from = Math.max(0, Math.min(fromUs, stream.gathered?.fromUs ?? fromUs));
    stream.mode = 'loading';
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
      this.#recomputeCount++;
      this.#startEngine(stream, fromUs);
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
      this.#giveGathered(stream, Number.POSITIVE_INFINITY);
      stream.gathered = null;
      stream.mode = 'live';
      stream.orderer.push(this.#takeBacklog(stream));
    } catch (cause) {
      // a crash has started another load already
      if (stream.loads !== turn || this.#closed) return;
      this.#options.onFault?.(`stream ${stream.id}: samples could not be read back`, cause);
      stream.loadFailed = true;
      stream.gathered = { fromUs, outputs: [], rowCount: 0 };
      this.#leaveToStorage(stream, this.#takeBacklog(stream));
      this.#rebuildLater(stream, fromUs, turn);
    } finally {
      this.#endTurn();
    }
  }

  #rebuildLater(stream: Stream, fromUs: number, turn: number): void {
    setTimeout(() => {
      if (stream.loads === turn && !this.#closed) this.#rebuild(stream, fromUs, stream.newestUs);
    }, laterTimes * this.#retryMs).unref();
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
        await new Promise((resolve) => setTimeout(resolve, this.#retryMs * 4 ** attempt));
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

  #noteLate(stream: Stream, fromUs: number, toUs: number): void {
    const now = performance.now();
    const late = stream.late;
    stream.late =
      late === null
        ? { fromUs, toUs, sinceMs: now, lastMs: now, retryAtMs: Number.NEGATIVE_INFINITY }
        : { ...late, fromUs: Math.min(late.fromUs, fromUs), toUs: Math.max(late.toUs, toUs), lastMs: now };
  }

  /** Notes a range that could not be computed: it stays owed until it is. */
  #owe(stream: Stream, fromUs: number, toUs: number): void {
    if (stream.mode === 'broken') return;
    this.#noteLate(stream, fromUs, toUs);
    stream.late!.retryAtMs = performance.now() + laterTimes * this.#retryMs;
  }

  #healLate(stream: Stream): void {
    const late = stream.late!;
    stream.late = null;
    stream.healing++;
    this.#track(
      this.#heal(stream, late, this.#options.loadRuns)
        .catch((cause: unknown) => {
          this.#options.onFault?.(`stream ${stream.id}: late data could not be computed; it will be tried again`, cause);
          this.#owe(stream, late.fromUs, late.toUs);
        })
        .finally(() => stream.healing--),
    );
  }

  /** Makes the rows that a dirty range touches right again: far back beside the live engine, near it by rebuilding it. */
  async #heal(stream: Stream, dirty: RangeUs, loadRuns: LoadRuns): Promise<void> {
    const rows = rowsTouchedBy(dirty);
    const liveFromUs = liveRowsFromUs(stream);
    if (rows.toUs <= liveFromUs) {
      await this.#computeBeside(stream, rows, loadRuns);
      return;
    }
    const cutUs = Math.max(rows.fromUs, segmentIndexAt(Math.max(0, liveFromUs - rebuildBackUs)) * segmentSec * secondUs);
    if (rows.fromUs < cutUs) await this.#computeBeside(stream, { fromUs: rows.fromUs, toUs: cutUs }, loadRuns);
    this.#rebuild(stream, cutUs, stream.newestUs);
    await this.#loaded(stream);
  }

  /** Until a stream's engine is live again, or has to wait for storage: nobody must wait for that, and the stream is not settled. */
  async #loaded(stream: Stream): Promise<void> {
    while (stream.mode === 'loading' && !stream.loadFailed && !this.#closed) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Computes [fromUs, toUs) with an engine of its own; its rows come as replacements, piece by piece. */
  async #computeBeside(stream: Stream, rows: RangeUs, loadRuns: LoadRuns): Promise<void> {
    await this.#takeTurn();
    const handle = this.#handles++;
    const lane = this.#lanes[(stream.id + segmentIndexAt(rows.fromUs)) % this.#lanes.length]!;
    const isSuspect = stream.lateCrashes > 0;
    const chunkUs = isSuspect ? suspectChunkUs : loadChunkUs;
    try {
      this.#recomputeCount++;
      this.#owners.set(handle, { stream, take: (output) => this.#giveOut(stream, output) });
      lane.setAlone(handle, isSuspect);
      lane.control({ op: 'open', handle, channels: stream.channels, spo2: stream.spo2, fromUs: rows.fromUs, toUs: rows.toUs, gated: true });
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
        await lane.fence();
      }
      lane.control({ op: 'flush', handle });
      lane.control({ op: 'close', handle });
      await lane.fence();
      stream.lateCrashes = 0;
    } finally {
      lane.setAlone(handle, false);
      this.#owners.delete(handle);
      this.#endTurn();
    }
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
      else this.#startEngine(stream, 0);
    }
  }

  /** Late data that was being computed beside the live engine is tried again by whoever began it, without what killed the worker three
   *  times. */
  #lostBeside(handle: number, batch: Batch, cause: unknown): void {
    const stream = this.#owners.get(handle)?.stream;
    if (stream === undefined || stream.handle === handle || ++stream.lateCrashes < crashesMax) return;
    stream.lateCrashes = 0;
    this.#quarantine(stream, batch, handle, cause);
  }

  /** @param batch the batch the worker died on, when the stream had a part in it */
  #streamLost(stream: Stream, batch: Batch | null, cause: unknown): void {
    const handle = stream.handle;
    this.#forgetHandle(stream);
    stream.handle = -1;
    if (batch !== null && ++stream.crashes >= crashesMax) this.#quarantine(stream, batch, handle, cause);
    this.#rebuild(stream, notFinalUs(stream), stream.newestUs);
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
    const stream = this.#owners.get(handle)?.stream;
    if (stream === undefined || stream.mode === 'broken') return;
    this.#quarantineCount++;
    this.#break(stream);
    this.#options.onQuarantine?.({ streamId: stream.id, runs: [], reason });
  }

  #break(stream: Stream): void {
    this.#dropEngine(stream);
    stream.mode = 'broken';
    stream.loads++; // one under way ends
    stream.late = null;
    stream.gathered = null;
    this.#takeBacklog(stream);
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
      if (now - late.lastMs >= lateWaitMs || now - late.sinceMs >= 10 * lateWaitMs) this.#healLate(stream);
    }
  }
}

/** Is there late data that may be computed now? What has failed waits. */
function mayHeal({ late, mode }: Stream, nowMs: number): boolean {
  return late !== null && mode === 'live' && late.retryAtMs <= nowMs;
}

/** Time of the first row, µs. */
function oldestUs({ beats, features, quality }: FeatureOutput): number {
  let oldestNs: bigint | null = null;
  for (const { tNs } of [...beats, ...features, ...quality]) if (oldestNs === null || tNs < oldestNs) oldestNs = tNs;
  return Number((oldestNs ?? 0n) / 1000n);
}
