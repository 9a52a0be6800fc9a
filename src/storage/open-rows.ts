/** Rows of sample_block being filled: collects the samples of each channel until a row can be sealed.
 *
 *  A row holds as many seconds of the device clock as rowSecOf says, by the channel's rate: 1, 2, 4 or 8. It is
 *  - open: samples are added, in any order;
 *  - due: complete, or without new samples for a while; it is sealed in one of the next turns of the event loop, and takes samples until
 *    then;
 *  - sealed: packed and passed to onSealed. Later samples open the row again; it is then merged with the stored one. */
import assert from 'node:assert/strict';
import { gridCeil, type ChannelNo, type SampleRun, type StreamId } from '../signal.ts';
import type { BlockRun } from './block-codec.ts';
import { mergeRuns } from './merge-runs.ts';
import { OpenRun } from './open-run.ts';
import { makeSampleRow, rowSecOf, type SampleRow } from './sample-rows.ts';

export type Channel = {
  readonly streamId: StreamId;
  readonly channelNo: ChannelNo;
  readonly epochNs: bigint;
  readonly rateNanoHz: number;
  /** Seconds of a row. */
  readonly rowSec: number;
  /** By their first second. */
  readonly openRows: Map<number, OpenRow>;
  /** The row used last. */
  current: OpenRow | null;
  /** First second of the newest row sealed since the channel was first seen here; -1: none. */
  sealedHigh: number;
  /** Newest row in the table when the first one was stored from here, Unix µs (-Infinity: none after it); null: not queried yet. */
  storedHighUs: number | null;
  /** Rows sealed and not yet stored. */
  readonly waiting: Set<SealedRow>;
  /** Forget the channel once nothing waits. */
  closing: boolean;
};

type OpenRow = {
  /** Its first second, of the device clock. */
  readonly rowStart: number;
  /** Grid indices of the row: [kStart, kEnd). */
  readonly kStart: number;
  readonly kEnd: number;
  /** Samples in order from the first one, the usual case. null: none, or all in `others`. */
  first: OpenRun | null;
  /** Runs that did not continue it. */
  others: BlockRun[];
  otherCount: number;
  /** Lowest log position of its packets. */
  position: number;
  touchedMs: number;
  due: boolean;
};

export type SealedRow = Readonly<{
  channel: Channel;
  rowStart: number;
  row: SampleRow;
  position: number;
  /** True unless it is newer than every row sealed before. */
  mayExist: boolean;
  bytes: number;
}>;

export type OpenRowsOptions = Readonly<{
  /** An incomplete row of one second is sealed when nothing has arrived for it for this long, ms; see BlockWriterOptions. */
  incompleteAfterMs: number;
  onSealed: (sealed: SealedRow) => void;
}>;

const SECOND_NS = 1_000_000_000n;
/** Overhead of a sealed row besides its samples, bytes. */
const ROW_BYTES = 300;
/** Time budget for sealing per turn, ms. Devices that began together complete their rows together, and sockets wait meanwhile. */
const SEAL_TURN_MS = 3;

export class OpenRows {
  readonly #options: OpenRowsOptions;
  readonly #channels = new Map<number, Channel>();
  readonly #sweeper: NodeJS.Timeout;
  #bytes = 0;
  /** From #dueHead on. */
  #due: { channel: Channel; open: OpenRow }[] = [];
  #dueHead = 0;

  constructor(options: OpenRowsOptions) {
    this.#options = options;
    // job: incomplete-rows: stores rows with holes after a while
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(20, options.incompleteAfterMs / 4));
    this.#sweeper.unref();
  }

  /** Stops the periodic sealing. */
  stop(): void {
    clearInterval(this.#sweeper);
  }

  /** Samples of open rows, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  find(streamId: StreamId, channelNo: ChannelNo): Channel | undefined {
    return this.#channels.get(channelKey(streamId, channelNo));
  }

  ofStream(streamId: StreamId): readonly Channel[] {
    return [...this.#channels.values()].filter((channel) => channel.streamId === streamId);
  }

  /** Forgets a channel with no open or waiting rows. */
  forget({ streamId, channelNo, openRows, waiting }: Channel): void {
    assert(openRows.size === 0 && waiting.size === 0, `stream ${streamId}, channel ${channelNo}: forgotten with rows that are not stored`);
    this.#channels.delete(channelKey(streamId, channelNo));
  }

  /** Takes the runs of one packet; copies them. See BlockWriter.push. */
  add(streamId: StreamId, epochNs: bigint, rates: readonly number[], runs: readonly SampleRun[], position: number): void {
    const nowMs = performance.now();
    for (const run of runs) {
      const channel = this.#channel(streamId, run.channelNo, epochNs, rates);
      for (let from = 0; from < run.samples.length;) {
        const open = this.#rowOf(channel, run.k0 + from);
        const to = Math.min(run.samples.length, open.kEnd - run.k0);
        this.#append(open, run, from, to);
        if (position < open.position) open.position = position;
        open.touchedMs = nowMs;
        if (!open.due && (open.first?.n ?? 0) + open.otherCount >= open.kEnd - open.kStart) this.#sealSoon(channel, open);
        from = to;
      }
    }
  }

  /** Lowest log position of the packets in open rows; Infinity: nothing is open. */
  lowestPosition(): number {
    let lowest = Infinity;
    for (const { openRows } of this.#channels.values())
      for (const { position } of openRows.values()) if (position < lowest) lowest = position;
    return lowest;
  }

  /** Runs of the rows that begin in [fromSecond, toSecond). Copies, in any order. */
  runsOf({ openRows }: Channel, fromSecond: number, toSecond: number): BlockRun[] {
    const runs: BlockRun[] = [];
    for (const open of openRows.values()) if (open.rowStart >= fromSecond && open.rowStart < toSecond) runs.push(...runsOfOpen(open));
    return runs;
  }

  /** Seals all open rows, complete or not. */
  sealAll(channels: Iterable<Channel> = this.#channels.values()): void {
    for (const channel of channels) for (const open of channel.openRows.values()) this.#seal(channel, open);
  }

  #channel(streamId: StreamId, channelNo: ChannelNo, epochNs: bigint, rates: readonly number[]): Channel {
    const key = channelKey(streamId, channelNo);
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      const rateNanoHz = rates[channelNo];
      if (rateNanoHz === undefined) throw new RangeError(`stream ${streamId} has no channel ${channelNo}`);
      channel = {
        streamId,
        channelNo,
        epochNs,
        rateNanoHz,
        rowSec: rowSecOf(rateNanoHz),
        openRows: new Map(),
        current: null,
        sealedHigh: -1,
        storedHighUs: null,
        waiting: new Set(),
        closing: false,
      };
      this.#channels.set(key, channel);
    }
    channel.closing = false;
    return channel;
  }

  #rowOf(channel: Channel, k: number): OpenRow {
    const current = channel.current;
    if (current !== null && k >= current.kStart && k < current.kEnd) return current;
    const { rowSec } = channel;
    const second = Number((BigInt(k) * SECOND_NS) / BigInt(channel.rateNanoHz));
    const rowStart = second - (second % rowSec);
    let open = channel.openRows.get(rowStart);
    if (open === undefined) {
      const kStart = gridCeil(BigInt(rowStart) * SECOND_NS, channel.rateNanoHz);
      const kEnd = gridCeil(BigInt(rowStart + rowSec) * SECOND_NS, channel.rateNanoHz);
      open = {
        rowStart,
        kStart,
        kEnd,
        first: null,
        others: [],
        otherCount: 0,
        position: Infinity,
        touchedMs: 0,
        due: false,
      };
      channel.openRows.set(rowStart, open);
    }
    channel.current = open;
    return open;
  }

  /** Appends samples [from, to) of a run to the row they belong to. */
  #append(open: OpenRow, run: SampleRun, from: number, to: number): void {
    const { samples, qmask } = run;
    const k = run.k0 + from;
    const count = to - from;
    const isFloat = samples instanceof Float32Array;
    if (open.first === null) {
      open.first = new OpenRun(k, open.kEnd - k, isFloat);
      this.#bytes += open.first.bytes;
    }
    const { first } = open;
    if (k === first.k0 + first.n && isFloat === first.isFloat) {
      const before = first.bytes;
      first.append(samples, qmask, from, to);
      this.#bytes += first.bytes - before;
    } else {
      open.others.push({ k0: k, samples: samples.slice(from, to), qmask: qmask?.slice(from, to) ?? null });
      open.otherCount += count;
      this.#bytes += 4 * count;
    }
  }

  #sealSoon(channel: Channel, open: OpenRow): void {
    open.due = true;
    if (this.#due.length === 0) setImmediate(() => this.#sealDue());
    this.#due.push({ channel, open });
  }

  #sealDue(): void {
    const due = this.#due;
    const begunMs = performance.now();
    for (let nowMs = begunMs; this.#dueHead < due.length; nowMs = performance.now()) {
      if (nowMs - begunMs > SEAL_TURN_MS) {
        setImmediate(() => this.#sealDue());
        return;
      }
      const { channel, open } = due[this.#dueHead++]!;
      if (channel.openRows.get(open.rowStart) !== open) continue; // sealed meanwhile by a flush or the end of its stream
      open.due = false;
      if (this.#isStale(channel, open, nowMs)) this.#seal(channel, open);
      else this.#sealIfComplete(channel, open);
    }
    due.length = 0;
    this.#dueHead = 0;
  }

  /** The row has received its number of samples: seals it, unless some arrived twice and others are missing. */
  #sealIfComplete(channel: Channel, open: OpenRow): void {
    const wanted = open.kEnd - open.kStart;
    const runs = runsOfOpen(open);
    if (runs.length === 1 && runs[0]!.samples.length === wanted) {
      this.#seal(channel, open, runs);
      return;
    }
    const count = runs.reduce((sum, run) => sum + run.samples.length, 0);
    this.#bytes += 4 * count - bytesOfOpen(open);
    open.others = [...runs];
    open.otherCount = count;
    open.first = null;
  }

  #seal(channel: Channel, open: OpenRow, runs: readonly BlockRun[] = runsOfOpen(open)): void {
    const { streamId, channelNo, epochNs, rateNanoHz } = channel;
    const { rowStart, position } = open;
    assert(channel.openRows.delete(rowStart), `stream ${streamId}, channel ${channelNo}: row ${rowStart} was sealed twice`);
    if (channel.current === open) channel.current = null;
    this.#bytes -= bytesOfOpen(open);
    const row = makeSampleRow(streamId, channelNo, secondUs(epochNs, rowStart), epochNs, rateNanoHz, runs);
    const mayExist = rowStart <= channel.sealedHigh;
    if (rowStart > channel.sealedHigh) channel.sealedHigh = rowStart;
    const sealed: SealedRow = { channel, rowStart, row, position, mayExist, bytes: row.codec.length + ROW_BYTES };
    channel.waiting.add(sealed);
    this.#options.onSealed(sealed);
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const channel of this.#channels.values())
      for (const open of channel.openRows.values()) if (!open.due && this.#isStale(channel, open, nowMs)) this.#sealSoon(channel, open);
  }

  #isStale(channel: Channel, open: OpenRow, nowMs: number): boolean {
    return open.touchedMs < nowMs - this.#options.incompleteAfterMs - 1000 * (channel.rowSec - 1);
  }
}

/** Copies the buffer, which keeps changing; the other runs never change. */
function runsOfOpen({ first, others }: OpenRow): BlockRun[] {
  if (first === null) return mergeRuns(others);
  return others.length === 0 ? [first.run()] : mergeRuns([first.run(), ...others]);
}

function bytesOfOpen({ first, otherCount }: OpenRow): number {
  return (first?.bytes ?? 0) + 4 * otherCount;
}

function channelKey(streamId: StreamId, channelNo: number): number {
  return streamId * 32_768 + channelNo;
}

/** The device second that contains a time of the device clock. */
export function secondOf(ns: bigint): number {
  return Number(ns >= 0n ? ns / SECOND_NS : -((-ns + SECOND_NS - 1n) / SECOND_NS));
}

/** Unix µs of the start of a device second. */
export function secondUs(epochNs: bigint, second: number): number {
  const ns = epochNs + BigInt(second) * SECOND_NS;
  return Number(ns >= 0n ? ns / 1000n : (ns - 999n) / 1000n);
}
