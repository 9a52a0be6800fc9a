/** Path of a packet up to the sink: decode, find its session, admit, hand over. Shared by the HTTP route and the sockets. */
import type { Config } from '../config.ts';
import type { Rejected } from '../errors.ts';
import { isRejected } from '../errors.ts';
import type { RequestContext } from '../http/route.ts';
import { Tally } from '../metrics.ts';
import type { Metrics } from '../metrics.ts';
import type { DecodedPacket, PacketLimits } from '../proto/packet.ts';
import { defaultPacketLimits } from '../proto/packet.ts';
import { decodePacket } from '../proto/packet-decode.ts';
import { Commit } from './commit.ts';
import type { AdmissionLimits } from './admit.ts';
import { admitPacket, defaultAdmissionLimits } from './admit.ts';
import { PastDays } from './past-days.ts';
import { SessionTable } from './session-table.ts';
import type { Session } from './session.ts';
import type { Admitted, PacketSink } from './sink.ts';
import type { Caller } from '../caller.ts';
import type { StreamId } from '../signal.ts';
import { unixNowMs } from '../unix-clock.ts';

/** Sessions without packets for this long are dropped from memory, ms. */
const SESSION_IDLE_MS = 10 * 60_000;
/** Maximum number of streams in memory, 12 kB each. */
const SESSIONS_MAX = 200_000;
/** Every nth acknowledgement is timed. */
const TIMED_EVERY = 16;
/** Minimum time between two pairs for the clock fit, and between two notes of the fit, ns. */
const CLOCK_PAIR_NS = 200_000_000n;
const CLOCK_NOTE_NS = 60_000_000_000n;
/** Older data were stored on the device and say nothing about its clock, ns. */
const CLOCK_LAG_NS_MAX = 900_000_000_000n;
/** Sequence numbers recalled at once, and sessions that keep such a stretch: 1 MB in all. */
export const RECALL_COUNT = 256;
const RECALLED_MAX = 512;

export type IngestConfig = Pick<
  Config,
  | 'packetBytesMax'
  | 'batchBytesMax'
  | 'reorderWindowMs'
  | 'devicePacketsPerSecMax'
  | 'userIngestSocketsMax'
  | 'keyIngestSocketsMax'
  | 'userStreamsPerMinMax'
  | 'keyStreamsPerMinMax'
>;

/** Outcome of offering a packet: the commit that contains it; a duplicate (with the commit of its first copy, null when that is durable);
 *  'recall' (call recall(), then offer it again); 'busy'; or why it was rejected. */
export type Offered = Commit | DuplicateOf | 'recall' | 'busy' | Rejected;
export type DuplicateOf = Readonly<{
  commit: Commit | null;
  /** A packet with this number is durable, but its content can no longer be compared. */
  unverified: boolean;
}>;

/** Sender of a packet: the request, or the request that opened the socket, with its present caller. */
export type Sender = Pick<RequestContext, 'caller' | 'remoteAddress' | 'requestId'>;

/** A packet refused because a different one has its sequence number. */
export type Conflict = Readonly<{ sender: Sender; session: Session; seq: number }>;

export type IngestListeners = Readonly<{
  /** Called with errors for which devices are answered `unavailable`. */
  onFault?: (message: string, cause: unknown) => void;
  onConflict?: (conflict: Conflict) => void;
}>;

const DUPLICATE: DuplicateOf = { commit: null, unverified: false };
const UNVERIFIED: DuplicateOf = { commit: null, unverified: true };

export class Ingest {
  readonly sessions: SessionTable;
  readonly packetLimits: PacketLimits;
  readonly admissionLimits: AdmissionLimits;
  readonly config: IngestConfig;
  readonly #sink: PacketSink;
  readonly #metrics: Metrics | null;
  readonly #listeners: IngestListeners;
  /** The newest commit. */
  #commit: Commit | null = null;
  readonly #pastDays = new PastDays();
  /** Few, one per group commit in progress. Repeats are rare, so they are searched for here instead of indexing packets per session. */
  readonly #unsettled = new Set<Commit>();
  /** Sessions with a recalled stretch, in order of recall. */
  readonly #recalled = new Set<Session>();
  readonly #acceptedCount: Tally;
  readonly #duplicateCount: Tally;
  readonly #busyCount: Tally;
  readonly #rejectedCount: Tally;
  #ackCount = 0;
  #stopping = false;

  constructor(sink: PacketSink, config: IngestConfig, metrics: Metrics | null = null, listeners: IngestListeners = {}) {
    this.#listeners = listeners;
    this.#sink = sink;
    this.#metrics = metrics;
    this.config = config;
    this.packetLimits = { ...defaultPacketLimits, packetBytesMax: config.packetBytesMax };
    this.admissionLimits = { ...defaultAdmissionLimits, reorderWindowMs: config.reorderWindowMs };
    const perMin = { user: config.userStreamsPerMinMax, key: config.keyStreamsPerMinMax };
    this.sessions = new SessionTable(sink, SESSIONS_MAX, perMin, this.admissionLimits);
    const tally = (outcome: string): Tally => metrics?.packets.tally({ outcome }) ?? new Tally();
    this.#acceptedCount = tally('accepted');
    this.#duplicateCount = tally('duplicate');
    this.#busyCount = tally('busy');
    this.#rejectedCount = tally('rejected');
  }

  /** True once the service stops: what is taken is settled, and requests take no more. */
  get stopping(): boolean {
    return this.#stopping;
  }

  stop(): void {
    this.#stopping = true;
  }

  /** Decodes a packet; bad bytes are a value with a code, not an exception. */
  decode(bytes: Uint8Array): DecodedPacket | Rejected {
    const packet = decodePacket(bytes, this.packetLimits);
    if (isRejected(packet)) this.countRejected(packet);
    return packet;
  }

  find(caller: Caller, packet: DecodedPacket, receivedNs: bigint): Session | Rejected | Promise<Session | Rejected> {
    return this.sessions.find(caller, packet, receivedNs);
  }

  /** Admits a packet to its session and hands it to the sink. @param bytes the packet as received; not kept by this call */
  offer(session: Session, packet: DecodedPacket, bytes: Uint8Array, receivedNs: bigint, sender: Sender): Offered {
    const nowMs = performance.now();
    session.lastUsedMs = nowMs;
    const admitted = admitPacket(packet, session, this.admissionLimits, receivedNs);
    if (isRejected(admitted)) {
      this.countRejected(admitted);
      if (admitted.code === 'packet_conflict') this.#listeners.onConflict?.({ sender, session, seq: packet.seq });
      return admitted;
    }
    if (admitted.kind === 'duplicate') {
      if (admitted.content === 'unknown') return 'recall';
      this.#duplicateCount.inc();
      if (admitted.content === 'unverified') return UNVERIFIED;
      const commit = this.#commitOf(session, admitted.seq);
      return commit === null ? DUPLICATE : { commit, unverified: false };
    }
    const late = this.#pastDays.take(sender.caller, session.epochNs + admitted.t0DeviceNs, receivedNs);
    if (late !== null) {
      this.countRejected(late);
      return late;
    }
    session.apply(admitted);
    let durable: ReturnType<PacketSink['accept']>;
    try {
      durable = this.#sink.accept(session, admitted, bytes);
    } catch (error) {
      session.revert(admitted);
      throw error;
    }
    if (durable === 'busy' || durable === 'closed') {
      session.revert(admitted);
      if (durable === 'closed') this.sessions.forget(session);
      this.#busyCount.inc();
      return 'busy';
    }
    this.#acceptedCount.inc();
    if (receivedNs - session.lastPairNs >= CLOCK_PAIR_NS && !admitted.backfill && !session.isStated) this.#takeClock(session, admitted);
    // The sink returns the same promise for every packet of one group commit.
    let commit = this.#commit;
    if (commit === null || commit.durable !== durable) {
      commit = new Commit(durable, (ended) => this.#unsettled.delete(ended));
      this.#unsettled.add(commit);
      this.#commit = commit;
    }
    commit.add(session, admitted.seq);
    return commit;
  }

  #takeClock(session: Session, { endDeviceNs, receivedNs }: Admitted): void {
    session.lastPairNs = receivedNs;
    if (receivedNs - (session.epochNs + endDeviceNs) > CLOCK_LAG_NS_MAX) return;
    session.clock.add(endDeviceNs, receivedNs);
    if (receivedNs - session.lastFitNs < CLOCK_NOTE_NS) return;
    session.lastFitNs = receivedNs;
    const fit = session.clock.fit();
    if (fit !== null) this.#sink.noteClock(session.streamId, fit);
  }

  /** Base URL of another node that stores a stream; '': none. */
  nodeUrlOf(streamId: StreamId): string {
    return this.#sink.nodeUrlOf(streamId);
  }

  /** A caller is blocked on this commit: flush soon instead of waiting for more packets. */
  hurry({ durable }: Commit): void {
    this.#sink.hurry(durable);
  }

  /** Fetches the stored hashes of an older number and its neighbours, so that its packet can be offered again.
   *  @throws PipelineError unavailable when the database is away */
  async recall(session: Session, seq: number): Promise<void> {
    const commit = this.#commitOf(session, seq);
    if (commit !== null) {
      this.hurry(commit);
      await commit.durable.catch(() => undefined); // not kept: its number is free again
    }
    if (session.closed || !session.seqs.has(seq)) return;
    const firstSeq = seq - (seq % RECALL_COUNT);
    const hashes = await this.#sink.packetHashes(session.streamId, firstSeq, RECALL_COUNT);
    session.recalled = { firstSeq, hashes };
    this.#recalled.delete(session);
    this.#recalled.add(session);
    if (this.#recalled.size > RECALLED_MAX) {
      const oldest = this.#recalled.values().next().value!;
      oldest.recalled = null;
      this.#recalled.delete(oldest);
    }
  }

  /** The unsettled commit that contains a packet; null when it is durable. */
  #commitOf(session: Session, seq: number): Commit | null {
    if (session.unsettledCount === 0) return null;
    for (const commit of this.#unsettled) if (commit.has(session, seq)) return commit;
    return null;
  }

  countRejected(why: Rejected): void {
    this.#rejectedCount.inc();
    this.#metrics?.packetsRejected.inc({ code: why.code });
  }

  fault(message: string, cause: unknown): void {
    this.#metrics?.errors.inc({ where: 'ingest' });
    this.#listeners.onFault?.(message, cause);
  }

  observeAck(seconds: number): void {
    if (this.#ackCount++ % TIMED_EVERY === 0) this.#metrics?.ackSeconds.observe(seconds);
  }

  countSockets(delta: 1 | -1): void {
    this.#metrics?.ingestSockets.inc(delta);
  }

  /** Call every second or so. */
  sweep(): void {
    this.sessions.sweep(performance.now(), SESSION_IDLE_MS);
  }
}

/** Wall clock, Unix ns, with the resolution of a millisecond. */
export function unixNowNs(): bigint {
  const ms = unixNowMs();
  if (ms !== nowMs) {
    nowMs = ms;
    nowNs = BigInt(ms) * 1_000_000n;
  }
  return nowNs;
}

/** Cache of the last call, since many packets arrive per millisecond. */
let nowMs = 0;
let nowNs = 0n;
