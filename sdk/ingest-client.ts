/** Sends packets of a device and keeps each one until the service says that it is durable. Browsers and Node 22.
 *  Two ways with one face: 'http' posts batches, 'websocket' streams; both send again what was not acknowledged, which is harmless because
 *  the service stores a sequence number once. */
import type { Packet, SampleEncoding } from '../src/proto/packet-codec.ts';
import { encodeBatch, encodePacket } from '../src/proto/packet-codec.ts';
import type { IngestReply, Rejection } from '../src/proto/reply-codec.ts';
import { decodeReply } from '../src/proto/reply-codec.ts';

export type { Block, Event, Measurement, Packet } from '../src/proto/packet-codec.ts';

export type IngestClientOptions = Readonly<{
  /** `https://host`; http for loopback. */
  baseUrl: string;
  /** Organization key with the scope ingest, or a user token. Asked before each request or connection. */
  token: () => string | Promise<string>;
  transport?: 'http' | 'websocket';
  encoding?: SampleEncoding;
  /** HTTP: a batch is posted when it has this many packets or the oldest has waited this long. */
  batchPacketsMax?: number;
  lingerMs?: number;
  /** Unacknowledged packets held in memory, bytes. Above it the oldest are given up and told to onLost. */
  queueBytesMax?: number;
  onReply?: (reply: IngestReply) => void;
  /** Packets that the service refused for good. */
  onRejected?: (rejection: Rejection, bytes: Uint8Array) => void;
  /** Packets given up because the queue was full. */
  onLost?: (bytes: Uint8Array) => void;
  webSocket?: typeof WebSocket;
  fetch?: typeof fetch;
  random?: () => number;
}>;

const FIRST_DELAY_MS = 200;
const DELAY_MS_MAX = 20_000;
/** What is sent before the service has said how much it takes. */
const FIRST_WINDOW = 64;
/** Codes of the error table that may be sent again. */
const retryable = new Set(['busy', 'unavailable', 'rate_limited', 'shutting_down', 'internal', 'request_timeout']);

export class IngestClient {
  readonly #options: IngestClientOptions;
  readonly #random: () => number;
  readonly #queueBytesMax: number;
  readonly #http: boolean;
  /** Oldest first. The first #sent of them are on their way. */
  #queue: Uint8Array[] = [];
  #queueBytes = 0;
  #sent = 0;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #busy = false;
  #closed = false;
  #socket: WebSocket | null = null;
  #settled = 0;
  #window = FIRST_WINDOW;
  #idle: (() => void)[] = [];

  constructor(options: IngestClientOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#queueBytesMax = options.queueBytesMax ?? 16 * 1024 * 1024;
    this.#http = (options.transport ?? 'http') === 'http';
  }

  /** Packets not acknowledged yet. */
  get pendingCount(): number {
    return this.#queue.length;
  }

  get pendingBytes(): number {
    return this.#queueBytes;
  }

  send(packet: Packet): void {
    this.sendEncoded(encodePacket(packet, this.#options.encoding ?? 'deltas'));
  }

  /** @param bytes one encoded packet; kept */
  sendEncoded(bytes: Uint8Array): void {
    if (this.#closed) throw new Error('the client is closed');
    this.#queue.push(bytes);
    this.#queueBytes += bytes.length;
    while (this.#queueBytes > this.#queueBytesMax && this.#queue.length > 1) this.#giveUpOldest();
    this.#wake();
  }

  /** Resolves when every packet sent so far has been settled. */
  async flush(): Promise<void> {
    if (this.#queue.length === 0) return;
    if (this.#http && !this.#busy && this.#attempt === 0) void this.#post();
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Stops sending; what is not acknowledged is lost to this client. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#socket?.close(1000);
    this.#socket = null;
  }

  #wake(): void {
    if (this.#http) {
      if (this.#busy || this.#timer !== null) {
        if (this.#queue.length !== (this.#options.batchPacketsMax ?? 256) || this.#busy || this.#attempt > 0) return;
        clearTimeout(this.#timer!);
      }
      this.#after(this.#queue.length >= (this.#options.batchPacketsMax ?? 256) ? 0 : (this.#options.lingerMs ?? 100), () => this.#post());
    } else if (this.#socket === null) {
      if (this.#timer === null && !this.#busy) this.#after(0, () => this.#connect());
    } else this.#pump();
  }

  #after(delayMs: number, run: () => Promise<void>): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (!this.#closed) void run();
    }, delayMs);
  }

  /** Full jitter, doubled with every failure, never sooner than the service asked for. */
  #retryLater(run: () => Promise<void>, leastMs: number): void {
    const capMs = Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** this.#attempt);
    this.#attempt++;
    if (this.#closed || this.#timer !== null) return;
    this.#after(leastMs + capMs * (0.1 + 0.9 * this.#random()), run);
  }

  // ------------------------------------------------------------------------------------------------ HTTP

  async #post(): Promise<void> {
    if (this.#busy || this.#queue.length === 0) return;
    this.#busy = true;
    const batch = this.#queue.slice(0, this.#options.batchPacketsMax ?? 256);
    this.#sent = batch.length;
    let waitMs = 0;
    let ok = false;
    try {
      const response = await (this.#options.fetch ?? fetch)(new URL('/ingest/raw-packet', this.#options.baseUrl), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await this.#options.token()}`,
          'content-type': 'application/x-protobuf; encoding=delimited',
          accept: 'application/x-protobuf',
        },
        body: encodeBatch(batch),
      });
      if (response.status === 202) {
        const reply = decodeReply(new Uint8Array(await response.arrayBuffer()));
        this.#options.onReply?.(reply);
        ok = !this.#settleBatch(batch, reply.rejected);
      } else {
        waitMs = 1000 * Number(response.headers.get('retry-after') ?? 0);
        const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
        const code = problem.code ?? `http_${response.status}`;
        if (code === 'packet_malformed' || code === 'payload_too_large' || code === 'packet_too_large') {
          // The batch as a whole was refused: sending it again cannot help.
          this.#settleBatch(
            batch,
            batch.map((_, index) => ({ index, code, detail: problem.detail ?? '' })),
          );
          ok = true;
        }
      }
    } catch {
      // The network: the same again later.
    }
    this.#busy = false;
    this.#sent = 0;
    if (ok) {
      this.#attempt = 0;
      if (this.#queue.length > 0) this.#after(0, () => this.#post());
    } else if (this.#queue.length > 0) this.#retryLater(() => this.#post(), waitMs);
  }

  /** Takes the batch off the queue but for what may be sent again. @returns true when something is left to be sent again */
  #settleBatch(batch: readonly Uint8Array[], rejections: readonly Rejection[]): boolean {
    const again: Uint8Array[] = [];
    for (const rejection of rejections) {
      const bytes = batch[rejection.index];
      if (bytes === undefined) continue;
      if (retryable.has(rejection.code)) again.push(bytes);
      else this.#options.onRejected?.(rejection, bytes);
    }
    this.#queue = [...again, ...this.#queue.slice(batch.length)];
    this.#queueBytes = this.#queue.reduce((sum, bytes) => sum + bytes.length, 0);
    this.#settleIdle();
    return again.length > 0;
  }

  // ------------------------------------------------------------------------------------------------ WebSocket

  async #connect(): Promise<void> {
    if (this.#socket !== null || this.#busy) return;
    this.#busy = true;
    try {
      const token = await this.#options.token();
      const url = new URL('/ingest/stream', this.#options.baseUrl.replace(/^http/, 'ws'));
      const bearer = btoa(token).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
      const socket = new (this.#options.webSocket ?? WebSocket)(url, ['bio.v1', `bio.bearer.${bearer}`]);
      socket.binaryType = 'arraybuffer';
      this.#socket = socket;
      this.#sent = 0;
      this.#settled = 0;
      this.#window = FIRST_WINDOW;
      socket.addEventListener('open', () => this.#pump());
      socket.addEventListener('message', (event) => {
        if (socket === this.#socket && event.data instanceof ArrayBuffer) this.#acknowledged(decodeReply(new Uint8Array(event.data)));
      });
      socket.addEventListener('error', () => undefined); // a close event follows
      socket.addEventListener('close', (event) => this.#disconnected(socket, event.code));
    } catch {
      this.#retryLater(() => this.#connect(), 0);
    } finally {
      this.#busy = false;
    }
  }

  #pump(): void {
    const socket = this.#socket;
    if (socket === null || socket.readyState !== 1) return;
    while (this.#sent < this.#queue.length && this.#sent < this.#window) {
      socket.send(this.#queue[this.#sent]! as Uint8Array<ArrayBuffer>);
      this.#sent++;
    }
  }

  #acknowledged(reply: IngestReply): void {
    this.#options.onReply?.(reply);
    this.#attempt = 0;
    if (reply.window > 0) this.#window = reply.window;
    const count = Math.min(reply.settled - this.#settled, this.#sent);
    const again: Uint8Array[] = [];
    for (const rejection of reply.rejected) {
      const bytes = this.#queue[rejection.index - this.#settled];
      if (bytes === undefined) continue;
      if (retryable.has(rejection.code)) again.push(bytes);
      else this.#options.onRejected?.(rejection, bytes);
    }
    for (let i = 0; i < count; i++) this.#queueBytes -= this.#queue[i]!.length;
    this.#queue.splice(0, count);
    this.#sent -= count;
    this.#settled = reply.settled;
    for (const bytes of again) {
      this.#queue.push(bytes);
      this.#queueBytes += bytes.length;
    }
    this.#settleIdle();
    this.#pump();
  }

  #disconnected(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#sent = 0;
    if (this.#closed) return;
    if (code >= 4500 && code <= 4999) {
      this.#closed = true;
      return;
    }
    if (this.#queue.length > 0) this.#retryLater(() => this.#connect(), 0);
  }

  // ------------------------------------------------------------------------------------------------ the queue

  /** Never one that is on its way: its acknowledgement is counted by position. */
  #giveUpOldest(): void {
    const [lost] = this.#queue.splice(Math.min(this.#sent, this.#queue.length - 1), 1);
    if (lost === undefined) return;
    this.#queueBytes -= lost.length;
    this.#options.onLost?.(lost);
  }

  #settleIdle(): void {
    if (this.#queue.length > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
