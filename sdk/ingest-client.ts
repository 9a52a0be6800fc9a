/** Sends packets of a device and keeps each one until the service says that it is durable. Browsers and Node 22.
 *  Two ways with one face: 'http' posts batches, 'websocket' streams; both send again what was not acknowledged, which is harmless because
 *  the service stores a sequence number once.
 *
 *  Where several nodes share the work, a socket that one device uses is told which node stores its packets, and moves there once what is on
 *  its way is settled. Where that node cannot be reached, or has gone, it comes back to baseUrl.
 *
 *  Modes
 *  - sending: packets leave as fast as the service takes them (HTTP: one batch at a time; WebSocket: within the window it grants).
 *  - waiting: the network or the service is away, or asked to wait. Packets are kept, up to queueBytesMax; the next try comes by itself.
 *  - stopped: the credential was refused, so trying again is useless. Packets are kept. renew() sends again with a new credential.
 *  - closed: by close(). Final; what was not acknowledged is 'lost'. */
import type { Packet } from '../src/proto/packet.ts';
import type { SampleEncoding } from '../src/proto/packet-encode.ts';
import { encodeBatch, encodePacket } from '../src/proto/packet-encode.ts';
import type { IngestReply, Rejection } from '../src/proto/reply-codec.ts';
import { decodeReply } from '../src/proto/reply-codec.ts';
import { afterClose, afterStatus, backoffMs, retryableRejection } from './retry.ts';

export type { Block, Event, Measurement, Packet } from '../src/proto/packet.ts';

/** Said of a connection that nothing answered. */
export const UNREACHABLE = 'the service cannot be reached';

export type IngestState = 'sending' | 'waiting' | 'stopped' | 'closed';

/** What became of one packet. stored: it is durable, now or since an earlier try. rejected: refused for good, `code` of the error table.
 *  lost: given up by this client, because its queue was full or it was closed. */
export type PacketResult = Readonly<{ status: 'stored' | 'rejected' | 'lost'; code: string; detail: string }>;

export type IngestClientOptions = Readonly<{
  /** `https://host`; http for loopback. */
  baseUrl: string;
  /** Organization key with the scope ingest, or a user token. Asked before each request or connection. */
  token: () => string | Promise<string>;
  transport?: 'http' | 'websocket';
  encoding?: SampleEncoding;
  /** HTTP: a batch is posted when it has this many packets (default 256) or the oldest has waited this long (default 100 ms). */
  batchPacketsMax?: number;
  lingerMs?: number;
  /** Unacknowledged packets held in memory, bytes; default 16 MiB. Above it the oldest are given up. */
  queueBytesMax?: number;
  /** WebSocket: whether to move to the node that the service names (default true). Its address gets the credential, too; from https only
   *  one of https is followed. */
  followsNodes?: boolean;
  onReply?: (reply: IngestReply) => void;
  onState?: (state: IngestState, detail: string) => void;
  /** Packets that the service refused for good. */
  onRejected?: (rejection: Rejection, bytes: Uint8Array) => void;
  /** Packets given up because the queue was full. */
  onLost?: (bytes: Uint8Array) => void;
  webSocket?: typeof WebSocket;
  fetch?: typeof fetch;
  random?: () => number;
}>;

/** What is sent before the service has said how much it takes. */
const FIRST_WINDOW = 64;
/** A batch stays below the service's default of 8 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** A node that broke the connection is not moved to again for this time; one that did not answer, or refused, for longer. ms */
const MOVE_AGAIN_MS = 10_000;
const MOVE_AFTER_FAULT_MS = 600_000;
/** And counts as one that did not answer after this, ms: its address may be one that only others reach. */
const MOVE_ANSWER_MS = 3000;
/** A service that is busy withholds its replies and still answers a ping; one that hangs, or is cut off, does not. A socket that has said
 *  nothing for so long is asked, and given up when it says nothing after that, ms; a handshake likewise. */
const PING_AFTER_MS = 5000;
const GIVE_UP_MS = 10_000;
const WATCH_MS = 500;
/** HTTP: a request without an answer is given up after this, ms, and what its bytes take on a slow line, bytes per ms. */
const ANSWER_MS = 30_000;
const SLOW_LINE = 32;
const STORED: PacketResult = { status: 'stored', code: '', detail: '' };

type Waiting = Readonly<{ bytes: Uint8Array; done: (result: PacketResult) => void }>;

export class IngestClient {
  readonly #options: IngestClientOptions;
  readonly #random: () => number;
  readonly #queueBytesMax: number;
  readonly #batchPacketsMax: number;
  readonly #http: boolean;
  #state: IngestState = 'sending';
  /** Oldest first. The first #sent of them are on their way. */
  #queue: Waiting[] = [];
  #queueBytes = 0;
  #sent = 0;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #busy = false;
  #socket: WebSocket | null = null;
  /** When the socket last said something, or was begun, and when it was last asked, performance.now(). */
  #heardMs = 0;
  #pingMs = 0;
  #token = '';
  #settled = 0;
  #window = FIRST_WINDOW;
  /** Where the socket is, or goes to when what is on its way is settled; '': baseUrl. */
  #node = '';
  #movesTo: string | null = null;
  /** From when on a node's address is followed, performance.now(). */
  #followsFromMs = 0;
  #idle: (() => void)[] = [];
  #roomy: (() => void)[] = [];

  constructor(options: IngestClientOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#queueBytesMax = options.queueBytesMax ?? 16 * 1024 * 1024;
    this.#batchPacketsMax = options.batchPacketsMax ?? 256;
    this.#http = (options.transport ?? 'http') === 'http';
  }

  get state(): IngestState {
    return this.#state;
  }

  /** Packets not acknowledged yet. */
  get pendingCount(): number {
    return this.#queue.length;
  }

  get pendingBytes(): number {
    return this.#queueBytes;
  }

  /** Queues a packet. @returns what became of it, once that is known; never rejects, so it need not be awaited
   *  @throws RangeError for values that the schema cannot hold  @throws Error after close() */
  send(packet: Packet): Promise<PacketResult> {
    return this.sendEncoded(encodePacket(packet, this.#options.encoding ?? 'deltas'));
  }

  /** @param bytes one encoded packet; kept */
  sendEncoded(bytes: Uint8Array): Promise<PacketResult> {
    if (this.#state === 'closed') throw new Error('the client is closed');
    const result = new Promise<PacketResult>((done) => this.#queue.push({ bytes, done }));
    this.#queueBytes += bytes.length;
    while (this.#queueBytes > this.#queueBytesMax && this.#queue.length > 1) this.#giveUpOldest();
    this.#wake();
    return result;
  }

  /** Resolves when the queue is at most half full: await it before send() to be slowed down rather than to lose the oldest. */
  async room(): Promise<void> {
    while (this.#state !== 'closed' && this.#queueBytes > this.#queueBytesMax / 2) {
      await new Promise<void>((resolve) => this.#roomy.push(resolve));
    }
  }

  /** Resolves when every packet sent so far has been settled. */
  async flush(): Promise<void> {
    if (this.#queue.length === 0) return;
    if (this.#http && !this.#busy && this.#state === 'sending') void this.#post();
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** There is a new credential: sends again after `stopped`, and renews an open socket in band. */
  async renew(): Promise<void> {
    if (this.#state === 'closed') return;
    if (this.#socket?.readyState === 1) {
      this.#token = await this.#options.token();
      this.#socket?.send(JSON.stringify({ type: 'auth', token: this.#token }));
      return;
    }
    if (this.#state !== 'stopped') return;
    this.#become('sending', '');
    this.#attempt = 0;
    this.#wake();
  }

  /** Stops sending; what is not acknowledged is lost to this client. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#become('closed', '');
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#socket?.close(1000);
    this.#socket = null;
    for (const { done } of this.#queue.splice(0)) done({ status: 'lost', code: 'closed', detail: 'the client was closed' });
    this.#queueBytes = 0;
    this.#noteRoom();
  }

  #wake(): void {
    if (this.#state !== 'sending') return;
    if (this.#http) {
      if (this.#busy) return;
      const full = this.#queue.length >= this.#batchPacketsMax;
      if (this.#timer !== null) {
        if (!full) return;
        clearTimeout(this.#timer);
      }
      this.#after(full ? 0 : (this.#options.lingerMs ?? 100), () => this.#post());
    } else if (this.#socket === null) {
      if (this.#timer === null && !this.#busy) this.#after(0, () => this.#connect());
    } else this.#pump();
  }

  #after(delayMs: number, run: () => Promise<void>): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#state === 'closed' || this.#state === 'stopped') return;
      this.#become('sending', '');
      void run();
    }, delayMs);
  }

  #retryLater(run: () => Promise<void>, leastMs: number, detail: string): void {
    if (this.#isOver() || this.#timer !== null) return;
    this.#become('waiting', detail);
    this.#after(Math.max(leastMs, backoffMs(this.#attempt++, this.#random())), run);
  }

  /** The credential was refused. A newer one is tried at once; with the same one the answer would be the same. */
  async #refused(run: () => Promise<void>, detail: string): Promise<void> {
    const before = this.#token;
    let now = before;
    try {
      now = await this.#options.token();
    } catch {
      // renew() is awaited
    }
    if (this.#isOver()) return;
    if (now !== before) this.#retryLater(run, 0, detail);
    else this.#become('stopped', detail);
  }

  // ------------------------------------------------------------------------------------------------ HTTP

  async #post(): Promise<void> {
    if (this.#busy || this.#queue.length === 0 || this.#isOver()) return;
    this.#busy = true;
    const batch = this.#nextBatch();
    this.#sent = batch.length;
    let then: () => void = () => this.#retryLater(() => this.#post(), 0, 'the service cannot be reached');
    try {
      const { response, answer } = await this.#send(encodeBatch(batch.map(({ bytes }) => bytes)));
      if (response.status === 202) {
        const reply = decodeReply(answer);
        this.#options.onReply?.(reply);
        const again = this.#settleBatch(batch, reply.rejected);
        then = again ? () => this.#retryLater(() => this.#post(), 0, 'some packets were not taken') : () => this.#goOn();
      } else then = this.#afterRefusal(batch, response.status, response.headers.get('retry-after'), problemOf(answer));
    } catch {
      // The network, or no token: the same again later.
    }
    this.#busy = false;
    this.#sent = 0;
    if (!this.#isOver()) then();
  }

  #goOn(): void {
    this.#attempt = 0;
    if (this.#queue.length > 0) this.#after(0, () => this.#post());
  }

  #nextBatch(): readonly Waiting[] {
    let count = 0;
    let bytes = 0;
    while (count < this.#queue.length && count < this.#batchPacketsMax) {
      bytes += this.#queue[count]!.bytes.length;
      if (count > 0 && bytes > BATCH_BYTES_MAX) break;
      count++;
    }
    return this.#queue.slice(0, count);
  }

  #afterRefusal(batch: readonly Waiting[], status: number, retryAfter: string | null, problem: Problem): () => void {
    const code = problem.code ?? `http_${status}`;
    const detail = `${status} ${code}: ${problem.detail ?? ''}`;
    switch (afterStatus(status)) {
      case 'retry':
        return () => this.#retryLater(() => this.#post(), 1000 * Number(retryAfter ?? 0) || 0, detail);
      case 'stop':
        return () => void this.#refused(() => this.#post(), detail);
      default:
        // The batch as a whole was refused: sending it again cannot help.
        this.#settleBatch(
          batch,
          batch.map((_, index) => ({ index, code, detail: problem.detail ?? '' })),
        );
        return () => this.#goOn();
    }
  }

  async #send(body: Uint8Array<ArrayBuffer>): Promise<Readonly<{ response: Response; answer: Uint8Array }>> {
    this.#token = await this.#options.token();
    const gaveUp = new AbortController();
    const timer = setTimeout(() => gaveUp.abort(), ANSWER_MS + body.length / SLOW_LINE);
    try {
      const response = await (this.#options.fetch ?? fetch)(new URL('/ingest/raw-packet', this.#options.baseUrl), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#token}`,
          'content-type': 'application/x-protobuf; encoding=delimited',
          accept: 'application/x-protobuf',
        },
        body,
        signal: gaveUp.signal,
      });
      return { response, answer: new Uint8Array(await response.arrayBuffer()) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Takes the batch off the queue but for what may be sent again. @returns true when something is left to be sent again */
  #settleBatch(batch: readonly Waiting[], rejections: readonly Rejection[]): boolean {
    const byIndex = new Map(rejections.map((rejection) => [rejection.index, rejection]));
    const again = batch.filter((one, index) => !this.#settleOne(one, byIndex.get(index)));
    this.#queue = [...again, ...this.#queue.slice(batch.length)];
    this.#queueBytes = this.#queue.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#noteRoom();
    return again.length > 0;
  }

  /** @returns false when the packet is to be sent again */
  #settleOne({ bytes, done }: Waiting, rejection: Rejection | undefined): boolean {
    if (rejection === undefined) done(STORED);
    else if (retryableRejection(rejection.code)) return false;
    else {
      this.#options.onRejected?.(rejection, bytes);
      done({ status: 'rejected', code: rejection.code, detail: rejection.detail });
    }
    return true;
  }

  // ------------------------------------------------------------------------------------------------ WebSocket

  async #connect(): Promise<void> {
    if (this.#socket !== null || this.#busy || this.#isOver()) return;
    this.#busy = true;
    try {
      this.#token = await this.#options.token();
      if (this.#isOver()) return;
      const base = this.#node === '' ? this.#options.baseUrl : this.#node;
      const url = new URL('/ingest/stream', base.replace(/^http/, 'ws'));
      const bearer = btoa(this.#token).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
      const socket = new (this.#options.webSocket ?? WebSocket)(url, ['bio.v1', `bio.bearer.${bearer}`]);
      let opened = false;
      const late = this.#node === '' ? undefined : setTimeout(() => void this.#disconnected(socket, false, 1006, ''), MOVE_ANSWER_MS);
      socket.binaryType = 'arraybuffer';
      this.#socket = socket;
      this.#heardMs = performance.now();
      this.#watch(socket);
      this.#sent = 0;
      this.#settled = 0;
      this.#window = FIRST_WINDOW;
      socket.addEventListener('open', () => {
        opened = true;
        this.#heardMs = performance.now();
        clearTimeout(late);
        this.#pump();
      });
      socket.addEventListener('message', (event) => {
        if (socket === this.#socket) this.#heardMs = performance.now();
        if (socket === this.#socket && event.data instanceof ArrayBuffer) this.#hear(socket, new Uint8Array(event.data));
      });
      // A close event follows, but for a refused handshake in Node 22.
      socket.addEventListener('error', () => {
        clearTimeout(late);
        if (!opened) void this.#disconnected(socket, false, 1006, '');
      });
      socket.addEventListener('close', (event) => void this.#disconnected(socket, opened, event.code, event.reason));
    } catch {
      this.#retryLater(() => this.#connect(), 0, 'no connection');
    } finally {
      this.#busy = false;
    }
  }

  /** Looks after a socket until it is another one's turn. */
  #watch(socket: WebSocket): void {
    const timer = setInterval(() => {
      if (socket !== this.#socket) {
        clearInterval(timer);
        return;
      }
      const nowMs = performance.now();
      const isOpen = socket.readyState === 1;
      if (isOpen && this.#sent === 0) return;
      if (isOpen && this.#pingMs <= this.#heardMs) {
        if (nowMs - this.#heardMs < PING_AFTER_MS) return;
        this.#pingMs = nowMs;
        socket.send('{"type":"ping"}');
      } else if (nowMs - (isOpen ? this.#pingMs : this.#heardMs) > GIVE_UP_MS) {
        // As if it had been open: silence says nothing about the credential.
        void this.#disconnected(socket, true, 1006, 'silent');
        socket.close();
      }
    }, WATCH_MS);
  }

  #pump(): void {
    const socket = this.#socket;
    if (socket === null || socket.readyState !== 1) return;
    if (this.#movesTo !== null) {
      if (this.#sent === 0) this.#move(socket, this.#movesTo);
      return;
    }
    while (this.#sent < this.#queue.length && this.#sent < this.#window) {
      socket.send(this.#queue[this.#sent]!.bytes as Uint8Array<ArrayBuffer>);
      this.#sent++;
    }
  }

  /** A reply that cannot be read settles nothing: what was sent is sent again over the next socket. */
  #hear(socket: WebSocket, bytes: Uint8Array): void {
    let reply: IngestReply;
    try {
      reply = decodeReply(bytes);
    } catch {
      void this.#disconnected(socket, true, 1006, 'unreadable reply');
      socket.close();
      return;
    }
    this.#acknowledged(reply);
  }

  #acknowledged(reply: IngestReply): void {
    this.#options.onReply?.(reply);
    this.#attempt = 0;
    if (reply.window > 0) this.#window = reply.window;
    const count = Math.min(reply.settled - this.#settled, this.#sent);
    const byIndex = new Map(reply.rejected.map((rejection) => [rejection.index - this.#settled, rejection]));
    const settled = this.#queue.splice(0, count);
    const again = settled.filter((one, i) => !this.#settleOne(one, byIndex.get(i)));
    for (const { bytes } of settled) this.#queueBytes -= bytes.length;
    for (const one of again) {
      this.#queue.push(one);
      this.#queueBytes += one.bytes.length;
    }
    this.#sent -= count;
    this.#settled = reply.settled;
    this.#noteRoom();
    if (this.#mayMoveTo(reply.nodeUrl)) this.#movesTo = reply.nodeUrl;
    this.#pump();
  }

  #mayMoveTo(nodeUrl: string): boolean {
    const { followsNodes, baseUrl } = this.#options;
    if (nodeUrl === '' || nodeUrl === this.#node || followsNodes === false || performance.now() < this.#followsFromMs) return false;
    return URL.canParse(nodeUrl) && (nodeUrl.startsWith('https:') || (nodeUrl.startsWith('http:') && baseUrl.startsWith('http:')));
  }

  /** Nothing is on its way. */
  #move(socket: WebSocket, nodeUrl: string): void {
    this.#movesTo = null;
    this.#node = nodeUrl;
    this.#followsFromMs = performance.now() + MOVE_AGAIN_MS;
    this.#socket = null;
    socket.close(1000);
    void this.#connect();
  }

  /** The next socket is one of baseUrl. */
  #leaveNode(opened: boolean): void {
    this.#movesTo = null;
    if (this.#node === '') return;
    this.#node = '';
    this.#followsFromMs = performance.now() + (opened ? MOVE_AGAIN_MS : MOVE_AFTER_FAULT_MS);
  }

  async #disconnected(socket: WebSocket, opened: boolean, code: number, reason: string): Promise<void> {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#sent = 0;
    if (!opened) socket.close();
    const isBack = this.#node !== '' && !opened;
    this.#leaveNode(opened);
    if (this.#isOver()) return;
    if (isBack) {
      if (this.#queue.length > 0) this.#retryLater(() => this.#connect(), 0, 'the node that was named cannot be reached');
      return;
    }
    const { next, detail } = opened ? { next: afterClose(code), detail: `${code} ${reason}`.trim() } : await this.#whyNotOpened();
    if (this.#isOver()) return;
    if (next === 'stop') await this.#refused(() => this.#connect(), detail);
    else if (this.#queue.length > 0) this.#retryLater(() => this.#connect(), 0, detail);
  }

  /** A handshake that was refused tells no reason, so an empty batch is posted to hear it. */
  async #whyNotOpened(): Promise<{ next: 'stop' | 'retry'; detail: string }> {
    try {
      const { response, answer } = await this.#send(new Uint8Array(0));
      if (afterStatus(response.status) !== 'stop') return { next: 'retry', detail: 'no connection' };
      const { code, detail } = problemOf(answer);
      return { next: 'stop', detail: `${response.status} ${code ?? `http_${response.status}`}: ${detail ?? ''}` };
    } catch {
      return { next: 'retry', detail: UNREACHABLE };
    }
  }

  // ------------------------------------------------------------------------------------------------ the queue

  /** Never one that is on its way: its acknowledgement is counted by position. */
  #giveUpOldest(): void {
    const [lost] = this.#queue.splice(Math.min(this.#sent, this.#queue.length - 1), 1);
    if (lost === undefined) return;
    this.#queueBytes -= lost.bytes.length;
    this.#options.onLost?.(lost.bytes);
    lost.done({ status: 'lost', code: 'queue_full', detail: `more than ${this.#queueBytesMax} bytes were waiting` });
  }

  #noteRoom(): void {
    if (this.#queueBytes <= this.#queueBytesMax / 2) for (const resolve of this.#roomy.splice(0)) resolve();
    if (this.#queue.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #isOver(): boolean {
    return this.#state === 'closed';
  }

  #become(state: IngestState, detail: string): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state, detail);
  }
}

type Problem = Readonly<{ code?: string; detail?: string }>;

function problemOf(answer: Uint8Array): Problem {
  try {
    return (JSON.parse(new TextDecoder().decode(answer)) ?? {}) as Problem;
  } catch {
    return {};
  }
}
