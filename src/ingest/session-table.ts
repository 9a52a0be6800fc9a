/** Finds the session of a packet: in memory, or by opening its stream once, however many packets arrive for it meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Rejected } from '../errors.ts';
import { isRejected, rejected } from '../errors.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { callerKey } from '../http/request.ts';
import type { Caller } from '../caller.ts';
import type { Packet } from '../proto/packet.ts';
import { checkAlone, checkBeginning, defaultAdmissionLimits, packetEndNs } from './admit.ts';
import type { AdmissionLimits } from './admit.ts';
import { placeInTime } from './clock-fit.ts';
import { noticesOf } from './notices.ts';
import { Session } from './session.ts';
import type { PacketSink, StreamRecord, StreamRequest } from './sink.ts';
import { Turns } from './turns.ts';

/** Maximum number of streams opened concurrently. After a restart all devices reconnect at once; the sink opens them in groups. */
const OPENINGS_MAX = 512;
const MINUTE_SEC = 60;
/** Time that a packet waits for its stream to be closed before it is answered busy, ms. */
const CLOSING_MS_MAX = 10_000;
/** Time that a boot without a recording is remembered, ms: a device sends what it has buffered of a wrong time packet by packet. Short, as
 *  another node may begin its recording meanwhile. */
const UNRECORDED_MS = 2000;
const UNRECORDED_MAX = 10_000;

/** Number of streams that a user (over all tokens) and a key may open per minute; also the burst. */
export type OpeningLimits = Readonly<{ user: number; key: number }>;

type Sending = Exclude<Caller, { kind: 'anonymous' | 'operator' }>;
type SendingRequest = StreamRequest & Readonly<{ caller: Sending }>;

/** asked: for whom, as askedBy. placed: it has ended, or waits for another node. drops: which sessions were dropped meanwhile, of an
 *  opening that is not waited for. */
type Opening = Readonly<{
  asked: string;
  done: Promise<Session | Rejected>;
  placed: PromiseWithResolvers<void>;
  drops: ((session: Session) => boolean)[];
}>;

export class SessionTable {
  readonly #sink: PacketSink;
  readonly #sessionsMax: number;
  readonly #perMin: OpeningLimits;
  readonly #limits: AdmissionLimits;
  readonly #openingsPerMin: Readonly<Record<'user' | 'key', RateLimit>>;
  readonly #sessions = new Map<string, Session>();
  /** Streams being opened or closed; packets that arrive meanwhile wait. */
  readonly #opening = new Map<string, Opening>();
  readonly #closing = new Map<string, Promise<void>>();
  /** Until when boots are known to have no recording, performance.now(); the oldest first. */
  readonly #unrecorded = new Map<string, number>();
  readonly #turns = new Turns(OPENINGS_MAX);

  /** @param sessionsMax maximum number of streams in memory; further ones are answered busy */
  constructor(sink: PacketSink, sessionsMax: number, perMin: OpeningLimits, limits: AdmissionLimits = defaultAdmissionLimits) {
    this.#sink = sink;
    this.#limits = limits;
    this.#openingsPerMin = {
      user: new RateLimit('streams', perMin.user / MINUTE_SEC, MINUTE_SEC),
      key: new RateLimit('streams', perMin.key / MINUTE_SEC, MINUTE_SEC),
    };
    this.#perMin = perMin;
    this.#sessionsMax = sessionsMax;
  }

  get count(): number {
    return this.#sessions.size;
  }

  values(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** @returns the session, without a promise when it is in memory; Rejected when the caller may not write to it, or the packet would begin
   *  a stream and cannot be stored
   *  @throws PipelineError (rejected promise) when the database is unavailable */
  find(caller: Caller, packet: Packet, receivedNs: bigint): Session | Rejected | Promise<Session | Rejected> {
    if (caller.kind !== 'key' && caller.kind !== 'user') return rejected('credential_kind', 'a device sends with a key or a user token');
    const key = keyOf(caller.orgId, packet);
    const session = this.#sessions.get(key);
    if (session !== undefined) return mayWrite(caller, session) ?? session;
    const opening = this.#open(key, caller, packet, receivedNs);
    if (isRejected(opening)) return opening;
    return opening.then((opened) => (isRejected(opened) ? opened : (mayWrite(caller, opened) ?? opened)));
  }

  /** Whether the session of a packet is in memory. */
  isOpen(caller: Caller, packet: Packet): boolean {
    return caller.kind !== 'anonymous' && this.#sessions.has(keyOf(caller.orgId, packet));
  }

  #open(key: string, caller: Sending, packet: Packet, receivedNs: bigint): Promise<Session | Rejected> | Rejected {
    const under = this.#opening.get(key);
    if (under !== undefined) return this.#await(under, caller, packet, receivedNs);
    const alone = checkAlone(packet, this.#limits);
    if (alone !== null) return alone;
    if (packet.recordedUnixNs !== undefined && caller.kind !== 'key')
      return rejected('credential_kind', 'only an organization key may state when a recording was made');
    const endDeviceNs = packetEndNs(packet);
    const placement = placeInTime(packet, endDeviceNs, receivedNs);
    const bad = checkBeginning(packet, placement, this.#limits, receivedNs);
    if (bad !== null && (this.#unrecorded.get(key) ?? 0) > performance.now()) return bad;
    // One that may be refused for its time takes its place when it is known to be of a recording.
    const full = bad === null ? this.#takePlace(caller) : this.#whyNoPlace(caller);
    if (full !== null) return full;
    const { deviceId, bootId, subject, firmware } = packet;
    const request = { caller, deviceId, bootId, subject, firmware, ...placement, endDeviceNs, receivedNs };
    return this.#note(key, askedBy(request), async (onward) => {
      if (!(await this.#isClosed(key))) return rejected('busy', 'what was sent before is still being stored; send it again later');
      const refusal = this.#whyFull() ?? (bad === null ? null : await this.#whyNotOpened(key, request, bad));
      return refusal ?? (await this.#openNow(key, packet, request, onward));
    });
  }

  /** What an opening comes to for a packet that arrived meanwhile. It is refused for its own faults only, not for those of the other
   *  one. */
  async #await(under: Opening, caller: Sending, packet: Packet, receivedNs: bigint): Promise<Session | Rejected> {
    const opened = await under.done;
    if (!isRejected(opened)) return opened;
    const isOwn = opened.code !== 'packet_clock' && under.asked === askedBy({ caller, subject: packet.subject });
    return isOwn ? opened : await this.find(caller, packet, receivedNs);
  }

  /** @param bad why the packet may not begin a recording  @returns why it may not go on with one either; null: it may, and has its place */
  async #whyNotOpened(key: string, { caller, deviceId, bootId }: SendingRequest, bad: Rejected): Promise<Rejected | null> {
    if (await this.#sink.isRecorded({ orgId: caller.orgId, deviceId, bootId })) return this.#takePlace(caller);
    if (this.#unrecorded.size >= UNRECORDED_MAX) this.#unrecorded.clear();
    this.#unrecorded.delete(key); // to be the newest
    this.#unrecorded.set(key, performance.now() + UNRECORDED_MS);
    return bad;
  }

  /** Counts an opening.  @returns null, or why it is one too many */
  #takePlace(caller: Sending): Rejected | null {
    return this.#openingsPerMin[caller.kind].take(callerKey(caller), performance.now()).allowed ? null : this.#tooMany(caller);
  }

  #whyNoPlace(caller: Sending): Rejected | null {
    return this.#openingsPerMin[caller.kind].exhausted(callerKey(caller), performance.now()) ? this.#tooMany(caller) : null;
  }

  #tooMany({ kind }: Sending): Rejected {
    const detail = `${this.#perMin[kind]} streams were opened with this credential within a minute, which is the limit`;
    return rejected('rate_limited', detail);
  }

  /** @param work is told what to call when it waits for another node from now on */
  #note(key: string, asked: string, work: (onward: () => void) => Promise<Session | Rejected>): Promise<Session | Rejected> {
    const placed = Promise.withResolvers<void>();
    const drops: Opening['drops'] = [];
    const done = work(placed.resolve)
      .then((opened) => {
        if (!isRejected(opened)) this.#unrecorded.delete(key);
        if (!isRejected(opened) && !opened.closed && drops.some((match) => match(opened))) void this.#drop(opened);
        return opened;
      })
      .finally(() => {
        this.#opening.delete(key);
        placed.resolve();
      });
    this.#opening.set(key, { asked, done, placed, drops });
    return done;
  }

  async #openNow(key: string, packet: Packet, request: SendingRequest, onward: () => void): Promise<Session | Rejected> {
    const record = await this.#turns.run((passOn) => {
      return this.#sink.openStream(request, () => {
        passOn(); // those of this node do not wait for another one
        onward();
      });
    });
    if (isRejected(record)) return record;
    const session = new Session(key, packet.deviceId, packet.bootId, packet.subject, record);
    session.lastUsedMs = performance.now();
    session.notices = noticesOf(packet, request, record, request.receivedNs);
    this.#sessions.set(key, session);
    return session;
  }

  /** Opens a stream of this node for which another one sends. @returns its session, and what is durable of it */
  async openFor(
    request: StreamRequest,
    open: (request: StreamRequest) => Promise<StreamRecord | Rejected>,
  ): Promise<Readonly<{ session: Session; record: StreamRecord }> | Rejected> {
    const { caller, deviceId, bootId, subject } = request;
    if (caller.kind !== 'key' && caller.kind !== 'user') return rejected('credential_kind', 'a device sends with a key or a user token');
    const key = keyOf(caller.orgId, request);
    for (let under = this.#opening.get(key); under !== undefined; under = this.#opening.get(key)) await under.done.catch(() => undefined);
    let found: StreamRecord | null = null;
    const openNow = async (): Promise<Session | Rejected> => {
      if (!(await this.#isClosed(key))) return rejected('busy', 'what was sent before is still being stored; send it again later');
      const full = this.#sessions.has(key) ? null : this.#whyFull();
      if (full !== null) return full;
      const record = await this.#turns.run(() => open(request));
      if (isRejected(record)) return record;
      found = record;
      const known = this.#sessions.get(key);
      if (known?.streamId === record.streamId && known.node === record.node) return known;
      if (known !== undefined) this.forget(known); // of another recording, or from when another node stored this one
      const session = new Session(key, deviceId, bootId, subject, record);
      session.lastUsedMs = performance.now();
      this.#sessions.set(key, session);
      return session;
    };
    const session = await this.#note(key, askedBy({ caller, subject }), openNow);
    return isRejected(session) ? session : { session, record: found! };
  }

  /** Called by an opening, which counts. */
  #whyFull(): Rejected | null {
    if (this.#sessions.size + this.#opening.size <= this.#sessionsMax) return null;
    return rejected('busy', `${this.#sessions.size} streams are open, limit ${this.#sessionsMax}`);
  }

  /** @returns false when the stream is still being closed after CLOSING_MS_MAX */
  async #isClosed(key: string): Promise<boolean> {
    const closing = this.#closing.get(key);
    if (closing === undefined) return true;
    const timer = new AbortController();
    const late = sleep(CLOSING_MS_MAX, false, { signal: timer.signal }).catch(() => false);
    return await Promise.race([closing.then(() => true), late]).finally(() => timer.abort());
  }

  /** Drops sessions that have been idle for `idleMs`. @param nowMs performance.now() */
  sweep(nowMs: number, idleMs: number): void {
    for (const [key, untilMs] of this.#unrecorded) {
      if (untilMs > nowMs) break;
      this.#unrecorded.delete(key);
    }
    for (const session of this.#sessions.values()) {
      if (session.unsettledCount === 0 && nowMs - session.lastUsedMs >= idleMs) void this.#drop(session);
    }
  }

  /** Drops sessions at once, e.g. of an erased subject or of a device that was reassigned. Their next packet opens the stream again.
   *  @returns when the sink has closed them, including those that were being opened: not those that wait for another node, which may hang;
   *  they are dropped when they come */
  async drop(match: (session: Session) => boolean): Promise<void> {
    const closing = this.#dropMatching(match);
    const openings = Array.from(this.#opening.values());
    await Promise.all(openings.map(({ placed }) => placed.promise));
    for (const { drops } of openings) drops.push(match); // of those that have not ended
    closing.push(...this.#dropMatching(match));
    await Promise.all(closing);
  }

  #dropMatching(match: (session: Session) => boolean): Promise<void>[] {
    const closing: Promise<void>[] = [];
    for (const session of this.#sessions.values()) if (match(session)) closing.push(this.#drop(session));
    return closing;
  }

  /** Forgets the session of a stream that the sink has closed by itself. The next packet opens the stream again. */
  forget(session: Session): void {
    session.closed = true;
    if (this.#sessions.get(session.key) === session) this.#sessions.delete(session.key);
  }

  #drop(session: Session): Promise<void> {
    const { key } = session;
    this.forget(session);
    const closed = this.#sink.closeStream(session).finally(() => this.#closing.delete(key));
    this.#closing.set(key, closed);
    closed.catch(() => undefined); // the next packet to open the stream gets the error
    return closed;
  }
}

const keyOf = (orgId: string, { bootId, deviceId }: Pick<Packet, 'bootId' | 'deviceId'>): string => `${orgId}/${bootId}/${deviceId}`;

/** Who sends, and of whom: another one may be let in where this one is not. */
const askedBy = ({ caller, subject }: Readonly<{ caller: Sending; subject: string }>): string => `${callerKey(caller)} ${subject}`;

/** Checks whether the caller may send for the session's subject. Another user's stream answers as if it did not exist. */
export function mayWrite(caller: Caller, session: Session): Rejected | null {
  const own =
    caller.kind === 'user'
      ? caller.subjectId === session.subjectId
      : caller.kind === 'key' &&
        (caller.projectId === null || caller.projectId === session.projectId) &&
        (caller.subjectId === null || caller.subjectId === session.subjectId);
  return own ? null : rejected('not_found', 'no such stream, or it is not yours');
}
