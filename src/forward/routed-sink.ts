/** Takes packets of every subject to the node that owns it: this one, or another by the bus.
 *
 *  Packets for another node wait some milliseconds for more (LINGER_MS) and go in one message. Its answer comes after its commit, so a
 *  device is never answered before its packet is durable. When the owner does not answer or dies, all packets of the message are refused as
 *  unavailable and their devices send them again: what was stored is recognized by its number. A packet that the owner refuses is refused
 *  alone, since devices of several organizations share a message. When a subject gets another owner, its sessions end; the next packet
 *  opens its stream there. */
import type { Bus } from '../bus/bus.ts';
import type { ClusterView, NodeId } from '../cluster/cluster-view.ts';
import { errorTable, isRejected, PipelineError, rejected } from '../errors.ts';
import type { ErrorCode, Rejected } from '../errors.ts';
import type { Session } from '../ingest/session.ts';
import type { Admitted, OwnersWord, PacketSink, StreamName, StreamRecord, StreamRequest } from '../ingest/sink.ts';
import { Turns } from '../ingest/turns.ts';
import type { Tally } from '../metrics.ts';
import type { ClockFit, StreamId, SubjectId } from '../signal.ts';
import { BATCH_HEAD, checkSaid, decodeObject, decodePackets, encodeObject, PACKET_HEAD, PacketMessage } from './wire.ts';

/** How long packets wait for others while a request waits for them, and while only sockets do, ms. A message costs main threads as much
 *  as ten packets; a socket is acknowledged every 180 ms (ack-schedule.ts), so that it does not wait longer for it. */
const LINGER_MS = 20;
const CALM_LINGER_MS = 40;
/** And what may be waiting for one owner or its answer, bytes. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
const BATCH_BYTES_MAX = 512 * 1024;
/** Longer than an owner tries to reach its database before it answers (RETRY_FOR_MS of the packet log), ms. */
const ANSWER_MS = 10_000;
const OPEN_MS = 10_000;
/** Openings that one node is asked for at the same time. */
const OPENINGS_MAX = 512;
/** Packets that are refused because their partition moves are sent again, s. */
const MOVED_RETRY_SEC = 1;
const MOVED = 'another node takes the person over; nothing was kept';

/** Of a packet, by its place in the message. */
export type PacketRefusal = Readonly<{ index: number; code: string; why: string }>;

/** What the owner says of a message. */
export type Settled = Readonly<{
  /** Every packet is durable. */
  kept: boolean;
  /** Streams that the owner does not record any more, or of which it refused a packet for good. */
  closed: readonly StreamId[];
  /** Why one was not, for people. */
  why: string;
  /** Which were not. Absent in answers of earlier releases, which mean the whole message. */
  refused?: readonly PacketRefusal[];
  /** Packets that were durable before. */
  repeats: readonly Readonly<{ streamId: StreamId; seq: number }>[];
  /** The highest number that is durable, of streams with one above all of this message. */
  highs: readonly (readonly [StreamId, number])[];
}>;

type Remote = Readonly<{ owner: NodeId; subjectId: SubjectId }>;
type Batch = {
  readonly owner: NodeId;
  readonly message: PacketMessage;
  /** Numbers of its packets. */
  readonly seqs: number[];
  readonly settled: PromiseWithResolvers<void | OwnersWord>;
  /** performance.now() of the first packet. */
  readonly sinceMs: number;
  /** Sends it before those of other owners, because a request waits for it; null: only sockets wait. */
  hurried: NodeJS.Timeout | null;
};
type Lane = { batch: Batch | null; waitingBytes: number; lastBytes: number };

export type RouteParts = Readonly<{
  /** The sink of this node. */
  local: PacketSink;
  view: ClusterView;
  bus: Bus;
  /** Whom a stream would record. */
  subjectOf: (request: StreamRequest) => Promise<Readonly<{ subjectId: SubjectId }> | Rejected>;
  /** Packets that were passed on. */
  forwarded: Tally;
}>;

export class RoutedSink implements PacketSink {
  readonly #parts: RouteParts;
  readonly #remote = new Map<StreamId, Remote>();
  readonly #lanes = new Map<NodeId, Lane>();
  /** By the promise that their packets got. */
  readonly #unsettled = new Map<Promise<void | OwnersWord>, Batch>();
  /** A timer runs at whose end all messages are sent that are being filled. */
  #isTimed = false;
  /** How to end what each node is asked. */
  readonly #asked = new Map<NodeId, Set<(reason: Error) => void>>();
  readonly #openings = new Map<NodeId, Turns>();

  constructor(parts: RouteParts) {
    this.#parts = parts;
    parts.view.onChange(() => {
      this.#forgetMoved();
      this.#refuseOfDead();
    });
  }

  async openStream(request: StreamRequest, onward: () => void = () => undefined): Promise<StreamRecord | Rejected> {
    const { local, view, subjectOf } = this.#parts;
    const subject = await subjectOf(request);
    if (isRejected(subject)) return subject;
    const owner = view.ownerOf(subject.subjectId);
    if (owner === null) {
      view.lookAgain();
      throw new PipelineError('unavailable', 'no node has the person at the moment; nothing was kept', { retryAfterSec: MOVED_RETRY_SEC });
    }
    if (owner === view.self) return await local.openStream(request);
    onward();
    const answer = await this.#turnsOf(owner).run(async () => {
      if (view.ownerOf(subject.subjectId) !== owner) throw new PipelineError('unavailable', MOVED, { retryAfterSec: MOVED_RETRY_SEC });
      return await this.#ask(owner, 'open', encodeObject(request), OPEN_MS);
    });
    const record = ofOwner(() => decodeOpened(answer));
    if (isRejected(record)) return record;
    this.#remote.set(record.streamId, { owner, subjectId: record.subjectId });
    return { ...record, node: owner };
  }

  isRecorded(stream: StreamName): Promise<boolean> {
    return this.#parts.local.isRecorded(stream); // all nodes share the database
  }

  accept(session: Session, admitted: Admitted, bytes: Uint8Array): Promise<void | OwnersWord> | 'busy' | 'closed' {
    const { streamId, node: owner } = session;
    if (owner === '') return this.#parts.local.accept(session, admitted, bytes);
    if (this.#remote.get(streamId)?.owner !== owner) return 'closed';
    const lane = this.#laneOf(owner);
    const size = PACKET_HEAD + bytes.length;
    if (lane.waitingBytes + size > WAITING_BYTES_MAX) return 'busy';
    if (lane.batch !== null && lane.batch.message.length + size > BATCH_BYTES_MAX) this.#flush(lane);
    lane.batch ??= this.#newBatch(owner, lane.lastBytes);
    lane.batch.message.add({ streamId, receivedNs: admitted.receivedNs, bytes });
    lane.batch.seqs.push(admitted.seq);
    lane.waitingBytes += size;
    this.#parts.forwarded.inc();
    return lane.batch.settled.promise;
  }

  hurry(durable: Promise<void | OwnersWord>): void {
    const batch = this.#unsettled.get(durable);
    if (batch === undefined) {
      this.#parts.local.hurry(durable);
      return;
    }
    const lane = this.#lanes.get(batch.owner);
    if (lane?.batch !== batch || batch.hurried !== null) return; // it was sent, or will be
    // It waits for others all the same: one message for each costs more than the time that it saves.
    batch.hurried = setTimeout(() => this.#flush(lane), Math.max(0, batch.sinceMs + LINGER_MS - performance.now()));
  }

  async packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array> {
    const remote = this.#remote.get(streamId);
    if (remote === undefined) return await this.#parts.local.packetHashes(streamId, firstSeq, count);
    const answer = await this.#ask(remote.owner, 'hashes', encodeObject({ streamId, firstSeq, count }), OPEN_MS);
    return ofOwner(() => decodeHashes(answer));
  }

  nodeUrlOf(streamId: StreamId): string {
    const owner = this.#remote.get(streamId)?.owner;
    if (owner === undefined) return '';
    const { view } = this.#parts;
    const addresses = new Map(view.nodes().map(({ id, address }) => [id, address]));
    const address = addresses.get(owner) ?? '';
    return address === addresses.get(view.self) ? '' : address; // processes behind one port: the kernel chooses
  }

  /** The owner of a stream hears when packets came, and fits the clock itself. */
  noteClock(streamId: StreamId, fit: ClockFit): void {
    if (!this.#remote.has(streamId)) this.#parts.local.noteClock(streamId, fit);
  }

  async closeStream(session: Session): Promise<void> {
    const { streamId, node } = session;
    if (node === '') await this.#parts.local.closeStream(session);
    else if (this.#remote.get(streamId)?.owner === node) this.#remote.delete(streamId); // the owner closes it when it is idle
  }

  #turnsOf(owner: NodeId): Turns {
    let turns = this.#openings.get(owner);
    if (turns === undefined) {
      turns = new Turns(OPENINGS_MAX);
      this.#openings.set(owner, turns);
    }
    return turns;
  }

  #laneOf(owner: NodeId): Lane {
    let lane = this.#lanes.get(owner);
    if (lane === undefined) {
      lane = { batch: null, waitingBytes: 0, lastBytes: 0 };
      this.#lanes.set(owner, lane);
    }
    return lane;
  }

  #newBatch(owner: NodeId, likelyBytes: number): Batch {
    const settled = Promise.withResolvers<void | OwnersWord>();
    settled.promise.catch(() => undefined); // ingest handles it
    if (!this.#isTimed) {
      this.#isTimed = true;
      setTimeout(() => this.#flushAll(), CALM_LINGER_MS);
    }
    const batch: Batch = { owner, message: new PacketMessage(likelyBytes), seqs: [], settled, sinceMs: performance.now(), hurried: null };
    this.#unsettled.set(settled.promise, batch);
    return batch;
  }

  /** To all owners at the same time: one turn of the loop, and with NATS one write. */
  #flushAll(): void {
    this.#isTimed = false;
    for (const lane of this.#lanes.values()) this.#flush(lane);
  }

  #flush(lane: Lane): void {
    const { batch } = lane;
    if (batch === null) return;
    lane.batch = null;
    const { owner, hurried, message, settled } = batch;
    if (hurried !== null) clearTimeout(hurried);
    const bytes = message.finish(hurried !== null);
    lane.lastBytes = bytes.length;
    this.#ask(owner, 'packets', bytes, ANSWER_MS)
      .then((answer) => this.#settle(batch, bytes, decodeSettled(answer, batch.seqs.length)))
      .catch((error: unknown) => {
        this.#parts.view.lookAgain();
        for (const { streamId } of decodePackets(bytes).packets) this.#remote.delete(streamId);
        settled.reject(notKept((error as Error).message));
      })
      .finally(() => {
        this.#unsettled.delete(settled.promise);
        lane.waitingBytes -= bytes.length - BATCH_HEAD;
        if (lane.waitingBytes === 0 && lane.batch === null) this.#lanes.delete(owner);
      });
  }

  #settle({ settled, seqs }: Batch, bytes: Buffer, { kept, closed, why, refused, repeats, highs }: Settled): void {
    for (const streamId of closed) this.#remote.delete(streamId);
    if (closed.length > 0) this.#parts.view.lookAgain();
    if (!kept && refused === undefined) return settled.reject(notKept(why));
    if (kept && repeats.length + highs.length === 0) return settled.resolve();
    settled.resolve({ refused: refusedOf(refused ?? [], bytes, seqs), repeats: repeatsOf(repeats), highs: new Map(highs) });
  }

  /** Over NATS nobody says that a node was killed: without this, what it was asked would wait for the whole time. */
  #refuseOfDead(): void {
    const living = new Set(this.#parts.view.nodes().map(({ id }) => id));
    for (const [owner, pending] of this.#asked)
      if (!living.has(owner)) for (const refuse of pending) refuse(new PipelineError('unavailable', 'the node has gone'));
    for (const owner of this.#openings.keys()) if (!living.has(owner)) this.#openings.delete(owner); // those that wait are refused in turn
  }

  async #ask(owner: NodeId, kind: string, body: Uint8Array, waitMs: number): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const pending = this.#asked.get(owner) ?? new Set();
    this.#asked.set(owner, pending.add(reject));
    this.#parts.bus.request(owner, kind, body, waitMs).then(resolve, reject);
    try {
      return await promise;
    } finally {
      pending.delete(reject);
      if (pending.size === 0 && this.#asked.get(owner) === pending) this.#asked.delete(owner);
    }
  }

  #forgetMoved(): void {
    const { view } = this.#parts;
    for (const [streamId, { owner, subjectId }] of this.#remote) if (view.ownerOf(subjectId) !== owner) this.#remote.delete(streamId);
  }
}

/** Reads what an owner says. What is damaged of it may be whole the next time.  @throws PipelineError unavailable */
function ofOwner<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw notKept((error as Error).message);
  }
}

/** @throws PipelineError internal: neither a stream nor a refusal */
function decodeOpened(answer: Buffer): StreamRecord | Rejected {
  const said = decodeObject<StreamRecord | Rejected | null>(answer);
  checkSaid(said !== null && typeof said === 'object');
  if (isRejected(said!)) checkSaid(Object.hasOwn(errorTable, said.code) && typeof said.detail === 'string');
  else {
    const { streamId, subjectId, epochNs, channels, seqRanges, expiring } = said!;
    checkSaid(Number.isSafeInteger(streamId) && typeof subjectId === 'string' && typeof epochNs === 'bigint');
    checkSaid([channels, seqRanges, expiring].every((list) => Array.isArray(list)));
  }
  return said!;
}

/** One hash for each packet; JSON has no NaN: null is one.  @throws PipelineError internal */
function decodeHashes(answer: Buffer): Float64Array {
  const said = decodeObject<readonly (number | null)[]>(answer);
  checkSaid(Array.isArray(said) && said.every((hash) => hash === null || typeof hash === 'number'));
  return Float64Array.from(said, (hash) => hash ?? NaN);
}

/** @param packets of the message  @throws PipelineError internal: it does not say which of them are kept, so none counts as kept */
function decodeSettled(answer: Buffer, packets: number): Settled {
  const said = decodeObject<Settled | null>(answer);
  const isNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  const isList = (list: unknown, isRight: (each: never) => boolean): boolean =>
    Array.isArray(list) && list.every((each) => each !== null && isRight(each as never));
  const isRefusal = ({ index, code, why }: PacketRefusal): boolean =>
    isNumber(index) && index < packets && typeof code === 'string' && typeof why === 'string';
  checkSaid(said !== null && typeof said.kept === 'boolean' && typeof said.why === 'string');
  const { kept, closed, refused, repeats, highs } = said!;
  checkSaid(isList(closed, isNumber));
  checkSaid(refused === undefined || (isList(refused, isRefusal) && kept === (refused.length === 0)));
  checkSaid(isList(repeats, ({ streamId, seq }: Settled['repeats'][number]) => isNumber(streamId) && isNumber(seq)));
  checkSaid(isList(highs, (high: unknown) => Array.isArray(high) && high.length === 2 && high.every(isNumber)));
  return said!;
}

function refusedOf(refused: readonly PacketRefusal[], bytes: Buffer, seqs: readonly number[]): OwnersWord['refused'] {
  const byStream = new Map<StreamId, Map<number, Rejected>>();
  if (refused.length === 0) return byStream;
  const { packets } = decodePackets(bytes);
  for (const { index, code, why } of refused) {
    const { streamId } = packets[index]!;
    const known = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'unavailable'; // of a later release
    byStream.set(
      streamId,
      (byStream.get(streamId) ?? new Map()).set(seqs[index]!, rejected(known, errorTable[known].retry ? notKeptAlone(why) : why)),
    );
  }
  return byStream;
}

function repeatsOf(repeats: Settled['repeats']): OwnersWord['repeats'] {
  const byStream = new Map<StreamId, Set<number>>();
  for (const { streamId, seq } of repeats) byStream.set(streamId, (byStream.get(streamId) ?? new Set()).add(seq));
  return byStream;
}

const notKeptAlone = (why: string): string => `The node that stores this packet has not kept it: ${why}. Send it again.`;

function notKept(why: string): PipelineError {
  return new PipelineError('unavailable', `The node that stores these packets has not kept all of them: ${why}. Send them again.`, {
    retryAfterSec: MOVED_RETRY_SEC,
  });
}
