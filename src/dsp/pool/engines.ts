/** Table of the pool's engines: the stream of each, and how its rows are emitted.
 *
 *  An engine has a handle and lives in one lane. A stream has one main engine, which is live or being loaded (its rows are then collected
 *  and emitted as one replacement), and temporarily others that compute late data; their rows are emitted at once, as replacements. */
import type { FeatureOutput } from '../rows/feature-rows.ts';
import type { RangeUs } from '../kernels/segment-grid.ts';
import { reachAheadSec } from '../kernels/segment-grid.ts';
import type { FeatureLane } from './lane.ts';
import type { FeaturePoolOptions } from './options.ts';
import { RunOrderer, runOrdererDefaults } from './run-orderer.ts';
import type { Stream } from './stream.ts';
import { noteLate, owe, takeGathered } from './stream.ts';
import type { EngineOutput } from './wire.ts';
import { toFeatureOutput } from './wire.ts';

const secondUs = 1_000_000;
/** Rows gathered while a stream is read back, before a part of them is given out. */
const gatheredMax = 20_000;

export class Engines {
  readonly #options: FeaturePoolOptions;
  /** By handle. */
  readonly #owners = new Map<number, Readonly<{ stream: Stream; take: (output: EngineOutput) => void }>>();
  #handles = 0;

  constructor(options: FeaturePoolOptions) {
    this.#options = options;
  }

  /** Takes the rows of an engine; ignores those of an engine that was dropped meanwhile. */
  take(output: EngineOutput): void {
    this.#owners.get(output.handle)?.take(output);
  }

  ownerOf(handle: number): Stream | undefined {
    return this.#owners.get(handle)?.stream;
  }

  /** A fresh engine and orderer for a stream; rows before fromUs stay in the worker. */
  start(stream: Stream, fromUs: number): void {
    this.drop(stream);
    const handle = this.newHandle();
    const { lane, orderer: before } = stream;
    stream.handle = handle;
    stream.orderer = new RunOrderer(
      stream.channels,
      {
        run: (channelNo, k0, samples, qmask) => lane.run(handle, channelNo, k0, samples, qmask),
        pass: (channelNo, k) => lane.pass(handle, channelNo, k),
        late: (lateFromUs, lateToUs) => noteLate(stream, lateFromUs, lateToUs),
      },
      this.#options.orderer ?? runOrdererDefaults,
    );
    stream.orderer.inheritHoles(before, fromUs + reachAheadSec * secondUs);
    this.#owners.set(handle, { stream, take: (output) => this.#takeLive(stream, output, fromUs) });
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

  drop(stream: Stream): void {
    if (stream.handle < 0) return;
    stream.lane.control({ op: 'close', handle: stream.handle });
    this.forget(stream);
  }

  /** Its lane has no such engine any more. */
  forget(stream: Stream): void {
    this.#owners.delete(stream.handle);
    stream.lane.setAlone(stream.handle, false);
    stream.handle = -1;
  }

  /** For an engine that is about to be started. */
  newHandle(): number {
    return this.#handles++;
  }

  /** Creates an engine for rows [fromUs, toUs), next to the live one. @param isSuspect whether it may be what kills its thread */
  startBeside(handle: number, stream: Stream, lane: FeatureLane, rows: RangeUs, isSuspect: boolean): void {
    this.#owners.set(handle, { stream, take: (output) => this.#giveOut(stream, output) });
    lane.setAlone(handle, isSuspect);
    lane.control({ op: 'open', handle, channels: stream.channels, spo2: stream.spo2, fromUs: rows.fromUs, toUs: rows.toUs, gated: true });
  }

  forgetBeside(handle: number, lane: FeatureLane): void {
    lane.setAlone(handle, false);
    this.#owners.delete(handle);
  }

  /** @param fromUs of its first rows: those before are out, although its chains begin further back, with the samples before them */
  #takeLive(stream: Stream, output: EngineOutput, fromUs: number): void {
    stream.finalUs = Math.max(fromUs, output.finalUs);
    const { gathered } = stream;
    if (gathered === null) {
      this.#giveOut(stream, output);
      return;
    }
    gathered.outputs.push(output);
    gathered.rowCount += output.beats.length + output.features.length + output.quality.length;
    if (gathered.rowCount > gatheredMax) this.giveGathered(stream, stream.finalUs);
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
      owe(stream, fromUs, toUs, this.#options.retryMs);
    }
  }

  /** Gives out the gathered rows before endUs as one replacement. */
  giveGathered(stream: Stream, endUs: number): void {
    const gathered = stream.gathered!;
    const output = takeGathered(gathered, endUs, stream.newestRowUs);
    if (output === null) return;
    stream.newestRowUs = Math.max(stream.newestRowUs, output.newestUs);
    this.#output(stream, output);
  }
}

/** Time of the first row, µs. */
function oldestUs({ beats, features, quality }: FeatureOutput): number {
  let oldestNs: bigint | null = null;
  for (const { tNs } of [...beats, ...features, ...quality]) if (oldestNs === null || tNs < oldestNs) oldestNs = tNs;
  return Number((oldestNs ?? 0n) / 1000n);
}
