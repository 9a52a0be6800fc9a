/** WebSocket /ingest/stream: packets in as binary messages, acknowledgements out.
 *
 *  Messages of a socket are numbered from 0 as they arrive. Each is settled once: durable, a duplicate, or rejected; an acknowledgement
 *  says how many leading messages are settled. Backpressure is the withheld acknowledgement: a client keeps at most `window` messages
 *  unsettled.
 *
 *  Modes of a socket
 *  - taking: a message is decoded, admitted and offered as it arrives.
 *  - waiting: a stream is being opened, older numbers are recalled, the sink is busy, or the packet budget is used up. Messages are copied
 *    into a queue; when the cause is gone the queue is worked off in order, and the socket is taking again. A queue over its bounds closes
 *    the socket as rate_limited: the client sent more than its window.
 *  - draining: the service stops. New messages are ignored (unsettled, so the client sends them again elsewhere); when all earlier ones are
 *    settled the socket closes with shutting_down. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Rejected } from '../errors.ts';
import { isRejected, PipelineError } from '../errors.ts';
import { defineSocket } from '../http/route.ts';
import type { PeerSocket, SocketHandlers, SocketRoute } from '../http/route.ts';
import type { DecodedPacket } from '../proto/packet.ts';
import type { Rejection } from '../proto/reply-codec.ts';
import { encodeReply } from '../proto/reply-codec.ts';
import { AckSchedule } from './ack-schedule.ts';
import type { AckSocket } from './ack-schedule.ts';
import type { CommitWaiter } from './commit.ts';
import { Commit } from './commit.ts';
import type { Ingest, Offered, Sender } from './ingest.ts';
import { unixNowNs } from './ingest.ts';
import type { Session } from './session.ts';
import { unixNowMs } from '../unix-clock.ts';

/** Unsettled messages that a client may have. */
export const WINDOW = 256;
/** What is tolerated: the client may not have read the window yet. Messages in the queue, and messages taken but not settled. */
const QUEUE_MESSAGES_MAX = 2 * WINDOW;
const UNSETTLED_MAX = 4 * WINDOW;
const QUEUE_BYTES_MAX = 4 * 1024 * 1024;
/** A packet that is up to so many bytes too large is refused as packet_too_large, so that its device goes on; a longer message breaks the
 *  connection. */
const OVERSIZE_BYTES = 1024 * 1024;
const BUSY_RETRY_MS = 20;
/** Settled and untold messages at which the client is told at once. */
const UNTOLD_MAX = WINDOW / 8;
/** Messages worked off from a queue before others get a turn. */
const TURN_MESSAGES = 64;
/** Seconds of the sustained rate that may come at once. */
const BURST_SEC = 4;

/** Consecutive messages that settle together. */
type MessageGroup = {
  session: Session | null;
  /** Those of its earlier messages, where several devices share the socket. */
  others: Set<Session> | null;
  commit: Commit | null;
  accepted: number;
  duplicates: number;
  unverified: number;
  rejections: Rejection[] | null;
  /** Highest sequence number among its packets. */
  highSeq: number;
  receivedMs: number;
  settled: boolean;
};

function newMessageGroup(): MessageGroup {
  return {
    session: null,
    others: null,
    commit: null,
    accepted: 0,
    duplicates: 0,
    unverified: 0,
    rejections: null,
    highSeq: 0,
    receivedMs: 0,
    settled: false,
  };
}

function emptied(group: MessageGroup): MessageGroup {
  group.session = null;
  group.others = null;
  group.commit = null;
  group.accepted = 0;
  group.duplicates = 0;
  group.unverified = 0;
  group.rejections = null;
  group.highSeq = 0;
  return group;
}

export class IngestSockets {
  readonly #ingest: Ingest;
  readonly #open = new Set<IngestSocket>();
  readonly acks = new AckSchedule();
  #draining = false;

  constructor(ingest: Ingest) {
    this.#ingest = ingest;
  }

  get count(): number {
    return this.#open.size;
  }

  route(): SocketRoute {
    return defineSocket({
      path: '/ingest/stream',
      operationId: 'ingestStream',
      tag: 'ingest',
      summary: 'Send packets of a device over a WebSocket',
      access: { key: 'ingest', userToken: 'own' },
      protocol: 'bio.v1',
      messageBytesMax: this.#ingest.config.packetBytesMax,
      refusedBytesMax: this.#ingest.config.packetBytesMax + OVERSIZE_BYTES,
      socketsMax: { user: this.#ingest.config.userIngestSocketsMax, key: this.#ingest.config.keyIngestSocketsMax },
      backpressureBytesMax: 64 * 1024,
      open: (request, peer) => {
        const socket = new IngestSocket(this.#ingest, peer, request, this);
        this.#open.add(socket);
        this.#ingest.countSockets(1);
        if (this.#draining) socket.stop();
        return socket;
      },
    });
  }

  closed(socket: IngestSocket): void {
    if (this.#open.delete(socket)) this.#ingest.countSockets(-1);
  }

  /** Takes no new message, waits until everything taken is settled and acknowledged, then closes the sockets with shutting_down. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    for (const socket of this.#open) socket.stop();
    while (this.#open.size > 0 && performance.now() < deadlineMs) await sleep(5);
    for (const socket of this.#open) socket.end();
  }
}

class IngestSocket implements SocketHandlers, CommitWaiter, AckSocket {
  readonly #ingest: Ingest;
  readonly #peer: PeerSocket;
  readonly #owner: IngestSockets;
  #sender: Sender;
  #session: Session | null = null;
  /** Why the stream of the message at the head of the queue could not be opened. */
  #refusal: Rejected | null = null;
  /** Messages received, and the number of leading ones that are settled. */
  #received = 0;
  #settled = 0;
  /** Groups not yet settled, and those settled behind one that is not. */
  readonly #groups: MessageGroup[] = [];
  /** The last one that was settled, for the next packet. */
  #spare: MessageGroup | null = null;
  /** Not yet told. */
  #accepted = 0;
  #duplicates = 0;
  #unverified = 0;
  #rejections: Rejection[] = [];
  #notices: string[] = [];
  #highSeq = 0;
  /** The device that sent last, and whether others have sent before. */
  #device: string | null = null;
  #isShared = false;
  /** Where it is told to connect, and what it was told. */
  #nodeUrl = '';
  #toldUrl = '';
  #ackPlanned = false;
  ackedMs = -Infinity;
  #greeted = false;
  /** Waiting messages, oldest first, from #queueHead on; null while taking. */
  #queue: Uint8Array[] | null = null;
  #queueHead = 0;
  #queueBytes = 0;
  #draining = false;
  #closed = false;
  #tokens: number;
  #tokensMs = performance.now();

  constructor(ingest: Ingest, peer: PeerSocket, { caller, remoteAddress, requestId }: Sender, owner: IngestSockets) {
    this.#ingest = ingest;
    this.#peer = peer;
    this.#sender = { caller, remoteAddress, requestId };
    this.#owner = owner;
    this.#tokens = ingest.config.devicePacketsPerSecMax * BURST_SEC;
    this.#planAck(); // tells the window
  }

  // ------------------------------------------------------------------------------------------------ handlers

  /** @param bytes the library's memory: copied when the message has to wait */
  binary(bytes: Uint8Array): void {
    if (this.#closed || this.#draining) return;
    if (this.#received - this.#settled >= UNSETTLED_MAX) {
      this.#peer.close('rate_limited', `${UNSETTLED_MAX} messages are unsettled: keep to the window.`);
      return;
    }
    if (this.#queue !== null) {
      this.#enqueue(bytes);
      return;
    }
    const cause = this.#take(bytes);
    if (cause === null) return;
    this.#queue = [];
    this.#queueHead = 0;
    this.#queueBytes = 0;
    this.#enqueue(bytes);
    this.#resumeAfter(cause);
  }

  text(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#peer.close('bad_request', 'Text messages are JSON.');
      return;
    }
    const { type, token } = (message ?? {}) as { type?: unknown; token?: unknown };
    if (type === 'ping') this.#peer.sendText(JSON.stringify({ type: 'pong', time_ms: unixNowMs() }));
    else if (type === 'auth' && typeof token === 'string') {
      this.#authenticate(token).catch((error: unknown) => this.#fail(error));
    } else this.#peer.close('bad_request', 'Text messages are {"type":"auth","token":…} and {"type":"ping"}.');
  }

  async #authenticate(token: string): Promise<void> {
    this.#sender = { ...this.#sender, caller: await this.#peer.authenticate(token) };
    this.#session = null; // whether the new caller may write to it is asked again
    this.#peer.sendText('{"type":"auth"}');
  }

  drain(): void {
    if (this.#ackPlanned) return;
    if (this.#accepted + this.#duplicates + this.#rejections.length > 0) this.#planAck();
  }

  closed(): void {
    this.#closed = true;
    this.#queue = null;
    this.#owner.closed(this);
  }

  // ------------------------------------------------------------------------------------------------ messages

  /** Takes the next message, or says what has to happen first. */
  #take(bytes: Uint8Array): Promise<unknown> | null {
    const nowMs = performance.now();
    const waitMs = this.#budget(nowMs);
    if (waitMs > 0) return sleep(waitMs);
    const packet = this.#ingest.decode(bytes);
    if (isRejected(packet)) {
      this.#reject(packet, nowMs);
      return null;
    }
    const receivedNs = unixNowNs();
    let session = this.#session;
    if (session === null || session.deviceId !== packet.deviceId || session.bootId !== packet.bootId || session.closed) {
      const found = this.#refusal ?? this.#ingest.find(this.#sender.caller, packet, receivedNs);
      this.#refusal = null;
      if (found instanceof Promise) {
        return this.#awaitSession(found);
      }
      if (isRejected(found)) {
        this.#ingest.countRejected(found);
        if (found.code === 'rate_limited') this.#fail(new PipelineError(found.code, found.detail));
        else this.#reject(found, nowMs);
        return null;
      }
      session = found;
      this.#session = found;
      this.#findNode(found);
    }
    return this.#offer(session, packet, bytes, receivedNs, nowMs);
  }

  /** A socket of several devices stays where it is: they have several nodes. */
  #findNode({ deviceId, streamId }: Session): void {
    this.#isShared ||= this.#device !== null && this.#device !== deviceId;
    this.#device = deviceId;
    this.#nodeUrl = this.#isShared ? '' : this.#ingest.nodeUrlOf(streamId);
  }

  async #awaitSession(opening: Promise<Session | Rejected>): Promise<void> {
    const opened = await opening;
    if (isRejected(opened)) this.#refusal = opened;
  }

  #offer(session: Session, packet: DecodedPacket, bytes: Uint8Array, receivedNs: bigint, nowMs: number): Promise<unknown> | null {
    const offered = this.#tryOffer(session, packet, bytes, receivedNs);
    if (offered === null) return null;
    if (offered === 'busy') return sleep(BUSY_RETRY_MS);
    if (offered === 'recall') return this.#ingest.recall(session, packet.seq);
    if (isRejected(offered)) {
      this.#reject(offered, nowMs);
      return null;
    }
    this.#tokens--;
    const accepted = offered instanceof Commit;
    const group = this.#groupFor(session, accepted ? offered : offered.commit, nowMs);
    if (accepted) group.accepted++;
    else {
      group.duplicates++;
      if (offered.unverified) group.unverified++;
    }
    if (packet.seq > group.highSeq) group.highSeq = packet.seq;
    this.#received++;
    if (group.commit === null) this.#advance();
    return null;
  }

  /** null: the database is unavailable and the connection is closed. Closed, not rejected: the device then resends from its oldest packet,
   *  in order. */
  #tryOffer(session: Session, packet: DecodedPacket, bytes: Uint8Array, receivedNs: bigint): Offered | null {
    try {
      return this.#ingest.offer(session, packet, bytes, receivedNs, this.#sender);
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  /** The group that the next message joins: the newest when it waits for the same commit, or needs no wait behind one that does. */
  #groupFor(session: Session | null, commit: Commit | null, nowMs: number): MessageGroup {
    const newest = this.#groups.at(-1);
    if (newest !== undefined && !newest.settled && (commit === newest.commit || commit === null)) {
      if (session !== null && newest.session !== null && newest.session !== session) (newest.others ??= new Set()).add(newest.session);
      newest.session = session ?? newest.session;
      return newest;
    }
    const group = this.#spare ?? newMessageGroup();
    this.#spare = null;
    group.session = session;
    group.commit = commit;
    group.receivedMs = nowMs;
    group.settled = commit === null;
    this.#groups.push(group);
    commit?.wait(this);
    return group;
  }

  #reject(why: Rejected, nowMs: number): void {
    this.#tokens--;
    const group = this.#groupFor(null, null, nowMs);
    (group.rejections ??= []).push({ index: this.#received, code: why.code, detail: why.detail });
    this.#received++;
    if (group.commit === null) this.#advance();
  }

  /** Groups that wait for this commit are settled. One of which a packet was not kept ends the connection: everything from its first
   *  message on is unsettled, so the device sends it again in the order in which it recorded it. */
  committed(commit: Commit, error: unknown): void {
    const failed = error ?? this.#refusalOf(commit);
    if (failed !== null) {
      if (this.#closed || !this.#groups.some((group) => group.commit === commit && !group.settled)) return;
      this.sendAck();
      this.#fail(
        failed instanceof PipelineError ? failed : new PipelineError('unavailable', 'The packets could not be stored.', { cause: failed }),
      );
      return;
    }
    for (const group of this.#groups) if (group.commit === commit) group.settled = true;
    this.#advance();
  }

  /** Of a packet of this socket; null: all were kept. When it is sent again the owner of the stream is asked first, and what cannot be kept
   *  is rejected by itself. */
  #refusalOf(commit: Commit): PipelineError | null {
    for (const { commit: waitedFor, session, others } of this.#groups) {
      if (waitedFor !== commit || session === null) continue;
      const refusal = commit.refusalIn(others === null ? [session] : [session, ...others]);
      if (refusal !== null) return new PipelineError('unavailable', refusal.detail);
    }
    return null;
  }

  /** Moves the settled groups at the front into the next acknowledgement. */
  #advance(): void {
    const groups = this.#groups;
    let done = 0;
    while (done < groups.length && groups[done]!.settled) {
      const group = groups[done]!;
      done++;
      this.#accepted += group.accepted;
      this.#duplicates += group.duplicates;
      this.#unverified += group.unverified;
      this.#settled += group.accepted + group.duplicates + (group.rejections?.length ?? 0);
      if (group.rejections !== null) for (const item of group.rejections) this.#rejections.push(item);
      if (group.session !== null && group.session.notices.length > 0) this.#notices.push(...group.session.takeNotices());
      if (group.session !== null) this.#highSeq = Math.max(group.session.durableHigh, group.highSeq);
      if (group.accepted > 0) this.#ingest.observeAck((performance.now() - group.receivedMs) / 1000);
    }
    if (done === 0) return;
    if (done === 1 && groups.length === 1) this.#spare = emptied(groups.pop()!); // the usual case: a packet waits for its commit
    else groups.splice(0, done);
    if (!this.#ackPlanned) this.#planAck();
  }

  // ------------------------------------------------------------------------------------------------ acknowledgements

  #planAck(): void {
    this.#ackPlanned = true;
    this.#owner.acks.plan(this);
  }

  get needsAck(): boolean {
    return this.#accepted + this.#duplicates >= UNTOLD_MAX || this.#rejections.length > 0 || this.#draining || this.#closed;
  }

  sendAck(): void {
    this.#ackPlanned = false;
    if (this.#closed) return;
    if (this.#accepted + this.#duplicates + this.#rejections.length > 0 || !this.#greeted) {
      const sent = this.#peer.sendBinary(
        encodeReply({
          accepted: this.#accepted,
          duplicates: this.#duplicates,
          unverified: this.#unverified,
          rejected: this.#rejections,
          highSeq: this.#highSeq,
          serverTimeNs: unixNowNs(),
          settled: this.#settled,
          window: WINDOW,
          notices: this.#notices,
          nodeUrl: this.#nodeUrl === this.#toldUrl ? '' : this.#nodeUrl,
        }),
      );
      if (sent === 'dropped') {
        // The device does not read. The counts wait for the next one, after drain.
        if (this.#rejections.length > UNSETTLED_MAX) this.#peer.close('slow_consumer', 'Acknowledgements were not read.');
        return;
      }
      this.#greeted = true;
      this.#toldUrl = this.#nodeUrl;
      this.ackedMs = performance.now();
      this.#accepted = 0;
      this.#duplicates = 0;
      this.#unverified = 0;
      if (this.#rejections.length > 0) this.#rejections = [];
      if (this.#notices.length > 0) this.#notices = [];
    }
    if (this.#draining && this.#groups.length === 0 && this.#queue === null) this.end();
  }

  // ------------------------------------------------------------------------------------------------ waiting

  #enqueue(bytes: Uint8Array): void {
    const queue = this.#queue;
    if (queue === null) return;
    this.#queueBytes += bytes.length;
    if (queue.length - this.#queueHead >= QUEUE_MESSAGES_MAX || this.#queueBytes > QUEUE_BYTES_MAX) {
      this.#peer.close(
        'rate_limited',
        `More than ${QUEUE_MESSAGES_MAX} messages or ${QUEUE_BYTES_MAX} bytes were waiting: keep to the window.`,
      );
      return;
    }
    queue.push(bytes.slice());
  }

  #resumeAfter(cause: Promise<unknown>): void {
    cause.then(
      () => this.#workOff(),
      (error: unknown) => this.#fail(error),
    );
  }

  #workOff(): void {
    const queue = this.#queue;
    if (this.#closed || queue === null) return;
    for (let n = 0; this.#queueHead < queue.length && !this.#closed; n++) {
      if (n === TURN_MESSAGES) {
        this.#resumeAfter(new Promise((resolve) => setImmediate(resolve)));
        return;
      }
      const bytes = queue[this.#queueHead]!;
      const cause = this.#take(bytes);
      if (cause !== null) {
        if (this.#queueHead > WINDOW) {
          queue.splice(0, this.#queueHead);
          this.#queueHead = 0;
        }
        this.#resumeAfter(cause);
        return;
      }
      this.#queueHead++;
      this.#queueBytes -= bytes.length;
    }
    this.#queue = null;
    if (this.#draining) this.#endIfSettled();
  }

  /** Token bucket of the packet rate. @returns ms to wait, 0 when a packet may be taken */
  #budget(nowMs: number): number {
    if (this.#tokens >= 1) return 0;
    const rate = this.#ingest.config.devicePacketsPerSecMax;
    this.#tokens = Math.min(rate * BURST_SEC, this.#tokens + ((nowMs - this.#tokensMs) / 1000) * rate);
    this.#tokensMs = nowMs;
    return this.#tokens >= 1 ? 0 : Math.max(5, (1000 * (1 - this.#tokens)) / rate);
  }

  // ------------------------------------------------------------------------------------------------ the end

  stop(): void {
    this.#draining = true;
    this.#endIfSettled();
  }

  #endIfSettled(): void {
    if (this.#groups.length === 0 && this.#queue === null && !this.#ackPlanned) this.#planAck();
  }

  end(): void {
    this.#peer.close('shutting_down', 'Reconnect and send again what was not acknowledged.');
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    if (error instanceof PipelineError) this.#peer.close(error.code, error.message);
    else {
      this.#ingest.fault('a packet socket could not go on', error);
      this.#peer.close('unavailable', 'The packets could not be taken.');
    }
  }
}
