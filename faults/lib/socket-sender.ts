/** Sends packets over WebSocket /ingest/stream, in order, until each is durable or refused for good: the counterpart of HttpSender. After a
 *  lost connection everything that is not settled is sent again, oldest first. */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorTable } from '../../src/errors.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';

type Queued = Readonly<{ bytes: Uint8Array; tag: number }>;

export type SocketSenderOptions = Readonly<{
  /** Base address, http://. */
  url: string;
  credential: string;
  onSettled: (tag: number, code: 'accepted' | ErrorCode) => void;
  /** Wait after a lost connection, ms; jittered. */
  retryMs?: number;
}>;

const FIRST_WINDOW = 64;

export class SocketSender {
  readonly #options: SocketSenderOptions;
  #queue: Queued[] = [];
  #sent = 0;
  #settled = 0;
  #window = FIRST_WINDOW;
  #socket: WebSocket | null = null;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: SocketSenderOptions) {
    this.#options = options;
    this.#connect();
  }

  get pendingCount(): number {
    return this.#queue.length;
  }

  /** For messages about what hangs. */
  get state(): string {
    return `${this.#socket === null ? 'no socket' : `state ${this.#socket.readyState}`}, ${this.#sent} sent, window ${this.#window}`;
  }

  send(bytes: Uint8Array, tag: number): void {
    this.#queue.push({ bytes, tag });
    this.#pump();
  }

  async flush(): Promise<void> {
    if (this.#queue.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
    for (const done of this.#idle.splice(0)) done();
  }

  #connect(): void {
    if (this.#closed) return;
    const bearer = Buffer.from(this.#options.credential).toString('base64url');
    const socket = new WebSocket(new URL('/ingest/stream', this.#options.url.replace(/^http/, 'ws')), ['bio.v1', `bio.bearer.${bearer}`]);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.#sent = 0;
    this.#settled = 0;
    this.#window = FIRST_WINDOW;
    socket.addEventListener('open', () => this.#pump());
    const lost = (): void => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      void sleep((this.#options.retryMs ?? 200) * (0.5 + Math.random())).then(() => this.#connect());
    };
    // Node sends no close event when the connection was never made.
    socket.addEventListener('error', lost);
    socket.addEventListener('close', lost);
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket === socket && data instanceof ArrayBuffer) this.#acknowledged(new Uint8Array(data));
    });
  }

  #pump(): void {
    const socket = this.#socket;
    if (socket === null || socket.readyState !== WebSocket.OPEN) return;
    while (this.#sent < this.#queue.length && this.#sent < this.#window)
      socket.send(this.#queue[this.#sent++]!.bytes as Uint8Array<ArrayBuffer>);
  }

  #acknowledged(bytes: Uint8Array): void {
    const reply = decodeReply(bytes);
    if (reply.window > 0) this.#window = reply.window;
    const count = Math.min(reply.settled - this.#settled, this.#sent);
    const refused = new Map(reply.rejected.map((item) => [item.index - this.#settled, item.code as ErrorCode]));
    const again: Queued[] = [];
    for (const [i, item] of this.#queue.splice(0, count).entries()) {
      const code = refused.get(i);
      if (code !== undefined && errorTable[code].retry) again.push(item);
      else this.#options.onSettled(item.tag, code ?? 'accepted');
    }
    this.#queue.push(...again);
    this.#sent -= count;
    this.#settled = reply.settled;
    if (this.#queue.length === 0) for (const done of this.#idle.splice(0)) done();
    this.#pump();
  }
}
