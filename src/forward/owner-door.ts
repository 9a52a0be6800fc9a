/** Takes packets that other nodes forward to this one, which owns their subjects. A packet is decoded and admitted again, as if its
 *  device had sent it here: the session of the owner decides what is a duplicate. */
import type { Bus } from '../bus/bus.ts';
import { isRejected } from '../errors.ts';
import type { ErrorCode, Rejected } from '../errors.ts';
import { Commit } from '../ingest/commit.ts';
import { RECALL_COUNT } from '../ingest/ingest.ts';
import type { Ingest, Sender } from '../ingest/ingest.ts';
import type { Session } from '../ingest/session.ts';
import type { PacketSink, StreamRequest } from '../ingest/sink.ts';
import type { StreamId } from '../signal.ts';
import type { PacketRefusal, Settled } from './routed-sink.ts';
import { checkSaid, decodeObject, decodePackets, encodeObject } from './wire.ts';
import type { ForwardedPacket } from './wire.ts';

/** A stream that another node sends for, and who opened it. */
type Guest = Readonly<{ session: Session; sender: Sender }>;

/** The commit that keeps a packet; null: it is durable. */
type Kept = Readonly<{ session: Session; seq: number; commit: Commit | null; isRepeat: boolean }>;
/** isFinal: its stream must be opened again. */
type Refused = Readonly<{ code: ErrorCode; why: string; isFinal: boolean }>;

const GUESTS_MIN = 64;

class OwnerDoor {
  readonly #ingest: Ingest;
  readonly #local: PacketSink;
  readonly #guests = new Map<StreamId, Guest>();
  /** Those whose session is over are forgotten when there are so many: a look at all for each opening would grow with their square. */
  #guestsMax = GUESTS_MIN;

  constructor(ingest: Ingest, local: PacketSink) {
    this.#ingest = ingest;
    this.#local = local;
  }

  async open(request: StreamRequest): Promise<unknown> {
    const opened = await this.#ingest.sessions.openFor(request, (asked) => this.#local.openStream(asked));
    if (isRejected(opened)) return opened;
    const { session, record } = opened;
    this.#forgetClosed();
    this.#guests.set(session.streamId, { session, sender: { caller: request.caller, remoteAddress: '', requestId: '' } });
    return record;
  }

  async take(body: Buffer): Promise<Settled> {
    const { packets, isHurried } = decodePackets(body);
    const commits = new Set<Commit>();
    const closed = new Set<StreamId>();
    const taken: Kept[] = [];
    const refused: PacketRefusal[] = [];
    for (const [index, packet] of packets.entries()) {
      let offered = this.#offer(packet);
      // A turn for each packet would cost more than what it waits for.
      if (offered instanceof Promise) offered = await offered;
      if ('seq' in offered) {
        taken.push(offered);
        if (offered.commit !== null) commits.add(offered.commit);
      } else {
        refused.push({ index, code: offered.code, why: offered.why });
        if (offered.isFinal) closed.add(packet.streamId);
      }
    }
    if (isHurried) for (const commit of commits) this.#ingest.hurry(commit);
    const settled = await Promise.allSettled(Array.from(commits, (commit) => commit.durable));
    for (const commit of settled) if (commit.status === 'rejected') throw commit.reason;
    const kept = refused.length === 0;
    // Earlier releases do not read which were refused, and why: they are told of one.
    return { kept, closed: [...closed], why: refused.at(-1)?.why ?? '', refused, repeats: repeatsOf(taken), highs: highsOf(taken) };
  }

  #offer({ streamId, receivedNs, bytes }: ForwardedPacket, attempt = 1): Kept | Refused | Promise<Kept | Refused> {
    const guest = this.#guests.get(streamId);
    if (guest === undefined || guest.session.closed) return { code: 'unavailable', why: 'it has closed the stream', isFinal: true };
    const { session, sender } = guest;
    const packet = this.#ingest.decode(bytes);
    if (isRejected(packet)) return refusalOf(packet);
    const { seq } = packet;
    const offered = this.#ingest.offer(session, packet, bytes, receivedNs, sender);
    if (offered instanceof Commit) return { session, seq, commit: offered, isRepeat: false };
    if (offered === 'busy') return { code: 'busy', why: 'it is at its limit', isFinal: session.closed };
    if (offered === 'recall') {
      if (attempt > 2) return { code: 'unavailable', why: 'an earlier packet with this number cannot be compared', isFinal: true };
      return this.#ingest.recall(session, seq).then(() => this.#offer({ streamId, receivedNs, bytes }, attempt + 1));
    }
    if (isRejected(offered)) return refusalOf(offered);
    return { session, seq, commit: offered.commit, isRepeat: true };
  }

  #forgetClosed(): void {
    if (this.#guests.size < this.#guestsMax) return;
    for (const [streamId, { session }] of this.#guests) if (session.closed) this.#guests.delete(streamId);
    this.#guestsMax = Math.max(GUESTS_MIN, 2 * this.#guests.size);
  }
}

const refusalOf = ({ code, detail }: Rejected): Refused => ({ code, why: detail, isFinal: true });

const repeatsOf = (taken: readonly Kept[]): Settled['repeats'] =>
  taken.filter(({ isRepeat }) => isRepeat).map(({ session: { streamId }, seq }) => ({ streamId, seq }));

/** Of streams with a number above all of this message; of the others the sender knows it. In most messages there are none. */
function highsOf(taken: readonly Kept[]): Settled['highs'] {
  const sent = new Map<Session, number>();
  for (const { session, seq } of taken) sent.set(session, Math.max(seq, sent.get(session) ?? 0));
  const highs: [StreamId, number][] = [];
  for (const [session, seq] of sent) if (session.durableHigh > seq) highs.push([session.streamId, session.durableHigh]);
  return highs;
}

/** Takes what other nodes forward from now on. @param local the sink of this node, which refuses what it does not own */
export function openDoor(bus: Bus, ingest: Ingest, local: PacketSink): void {
  const door = new OwnerDoor(ingest, local);
  bus.handle('open', async (_, body) => encodeObject(await door.open(decodeObject<StreamRequest>(body))));
  bus.handle('packets', async (_, body) => encodeObject(await door.take(body)));
  bus.handle('hashes', async (_, body) => {
    const { streamId, firstSeq, count } = decodeObject<{ streamId: StreamId; firstSeq: number; count: number }>(body);
    checkSaid([streamId, firstSeq, count].every((each) => Number.isSafeInteger(each) && each >= 0) && count <= RECALL_COUNT);
    return encodeObject(Array.from(await local.packetHashes(streamId, firstSeq, count)));
  });
}
