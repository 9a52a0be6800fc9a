/** Live frames of one subject, for browsers and Node 22: reconnects with jitter, resumes where it was, renews its token in band.
 *
 *  Modes
 *  - connecting: a socket is being opened. Its failure plans another one.
 *  - live: frames arrive.
 *  - waiting: until the next attempt, or for a new token after the old one expired or was refused.
 *  - closed: by close(), or by a close code that says that reconnecting is useless. Final. */
import type { LiveFrame } from '../src/proto/frame-codec.ts';
import { decodeFrame } from '../src/proto/frame-codec.ts';
import { openLiveSocket } from './live-socket.ts';
import { afterClose, afterStatus, backoffMs } from './retry.ts';

export type { LiveChannel, LiveFeature, LiveFrame } from '../src/proto/frame-codec.ts';

export type LiveState = 'connecting' | 'live' | 'waiting' | 'closed';

export type LiveClientOptions = Readonly<{
  /** `https://host` or `wss://host`; http and ws for loopback. */
  baseUrl: string;
  subject: string;
  /** User token or organization key. Asked again whenever a connection is opened, so that it may answer a renewed one. */
  token: () => string | Promise<string>;
  /** Public SDK key of the page: the feed ends when the key is revoked. Absent: the feed lives by its token alone. */
  sdkKey?: string;
  /** Channel codes or kinds; absent: every channel. */
  channels?: readonly string[];
  /** At most this many frames per second; absent: all ten. */
  maxRateHz?: number;
  onFrame: (frame: LiveFrame) => void;
  onState?: (state: LiveState, detail: string) => void;
  /** Frames that nothing can bring back: the service no longer had them. */
  onGap?: (afterSeq: number) => void;
  /** Hands over at most the newest frames once per animation frame instead of each as it comes. Browsers only; default there true. */
  perAnimationFrame?: boolean;
  /** For tests. */
  webSocket?: typeof WebSocket;
  fetch?: typeof fetch;
  random?: () => number;
}>;

/** Nothing heard for this long: the connection is dead, whatever the socket says. */
const SILENCE_MS = 20_000;
const PING_MS = 7000;
/** Frames held for the next animation frame; a page in the background draws none and keeps the newest. */
const HELD_MAX = 600;
const TOKEN_EXPIRED = 4001;

export class LiveClient {
  readonly #options: LiveClientOptions;
  readonly #WebSocket: typeof WebSocket;
  readonly #random: () => number;
  readonly #perAnimationFrame: boolean;
  #socket: WebSocket | null = null;
  #state: LiveState = 'connecting';
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pingTimer: ReturnType<typeof setInterval> | null = null;
  #heardAtMs = 0;
  #lastSeq = -1;
  #sentToken = '';
  #held: LiveFrame[] = [];
  #drawPlanned = false;

  /** Connects at once. */
  constructor(options: LiveClientOptions) {
    this.#options = options;
    this.#WebSocket = options.webSocket ?? globalThis.WebSocket;
    this.#random = options.random ?? Math.random;
    this.#perAnimationFrame = typeof requestAnimationFrame === 'function' && (options.perAnimationFrame ?? true);
    void this.#connect();
  }

  get state(): LiveState {
    return this.#state;
  }

  /** Seq of the newest frame, -1 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Renews the credential without a new connection. When the socket has been closed for an expired token, connects again. */
  async renew(): Promise<void> {
    if (this.#state === 'closed') return;
    if (this.#socket?.readyState === this.#WebSocket.OPEN) {
      const token = await this.#options.token();
      if (token !== this.#sentToken) this.#tell({ type: 'auth', token });
      this.#sentToken = token;
    } else this.#retry(0);
  }

  /** Changes what is sent. Absent fields stay as they are, null lifts them. */
  subscribe(wanted: { channels?: readonly string[] | null; maxRateHz?: number | null }): void {
    const { channels, maxRateHz } = wanted;
    const fields = { ...(channels !== undefined && { channels }), ...(maxRateHz !== undefined && { max_rate_hz: maxRateHz }) };
    this.#tell({ type: 'subscribe', ...fields });
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#become('closed', 'closed by the caller');
    this.#clearTimers();
    this.#socket?.close(1000);
    this.#socket = null;
    this.#held = [];
  }

  async #connect(): Promise<void> {
    this.#become('connecting', '');
    let token: string;
    try {
      token = await this.#options.token();
    } catch (error) {
      this.#plan(error instanceof Error ? error.message : 'no token');
      return;
    }
    if (this.#isClosed()) return;
    this.#sentToken = token;
    const { baseUrl, subject, sdkKey, channels } = this.#options;
    const after = this.#lastSeq >= 0 ? this.#lastSeq : undefined;
    let socket: WebSocket;
    try {
      socket = openLiveSocket({ baseUrl, subject, token, sdkKey, channels, after }, this.#WebSocket);
    } catch (error) {
      this.#plan(error instanceof Error ? error.message : 'no socket');
      return;
    }
    this.#socket = socket;
    let opened = false;
    socket.addEventListener('open', () => void (opened = true));
    socket.addEventListener('message', (event) => this.#heard(socket, event.data));
    socket.addEventListener('close', (event) => void this.#ended(socket, opened, event.code, event.reason));
    // A close event follows, but for a refused handshake in Node 22.
    socket.addEventListener('error', () => void (opened || this.#ended(socket, false, 1006, '')));
    this.#heardAtMs = performance.now();
    this.#pingTimer = setInterval(() => this.#watch(socket), PING_MS);
  }

  #heard(socket: WebSocket, data: unknown): void {
    if (socket !== this.#socket) return;
    this.#heardAtMs = performance.now();
    if (typeof data === 'string') {
      this.#told(data);
      return;
    }
    if (!(data instanceof ArrayBuffer)) return;
    if (this.#state !== 'live') this.#ready();
    const frame = decodeFrame(new Uint8Array(data));
    if (frame.seq <= this.#lastSeq) return; // a replay that overlaps
    this.#lastSeq = frame.seq;
    if (!this.#perAnimationFrame) {
      this.#options.onFrame(frame);
      return;
    }
    this.#held.push(frame);
    if (this.#held.length > HELD_MAX) this.#held.shift();
    if (this.#drawPlanned) return;
    this.#drawPlanned = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#drawPlanned = false;
    const frames = this.#held;
    this.#held = [];
    for (const frame of frames) this.#options.onFrame(frame);
  }

  #told(text: string): void {
    const message = JSON.parse(text) as { type?: string; status?: string; code?: string; detail?: string };
    if (message.type === 'ready') this.#ready();
    else if (message.type === 'replay' && message.status === 'too_old') this.#options.onGap?.(this.#lastSeq);
    else if (message.type === 'error') this.#options.onState?.(this.#state, `${message.code}: ${message.detail}`);
  }

  #ready(): void {
    if (this.#state === 'live') return;
    this.#attempt = 0;
    this.#become('live', '');
    if (this.#options.maxRateHz !== undefined) this.subscribe({ maxRateHz: this.#options.maxRateHz });
  }

  async #ended(socket: WebSocket, opened: boolean, code: number, reason: string): Promise<void> {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#clearTimers();
    if (this.#isClosed()) return;
    if (!opened && (await this.#isRefused())) await this.#afterExpiry('the credential is refused');
    else if (code === TOKEN_EXPIRED) await this.#afterExpiry(reason);
    else if (opened && afterClose(code) === 'stop') this.#become('closed', `${code} ${reason}`);
    else this.#plan(`${code} ${reason}`);
  }

  /** A handshake that was refused tells no reason; an ordinary request with the same credential does. */
  async #isRefused(): Promise<boolean> {
    try {
      const url = new URL('/api/v1/bootstrap', this.#options.baseUrl.replace(/^ws/, 'http'));
      const response = await (this.#options.fetch ?? fetch)(url, { headers: { authorization: `Bearer ${this.#sentToken}` } });
      return response.status !== 404 && afterStatus(response.status) === 'stop';
    } catch {
      return false;
    }
  }

  /** With the same token again the answer would be the same: connects when there is a new one, else waits for renew(). */
  async #afterExpiry(reason: string): Promise<void> {
    this.#become('waiting', reason);
    const before = this.#sentToken;
    try {
      if ((await this.#options.token()) !== before) this.#retry(0);
    } catch {
      // renew() is awaited
    }
  }

  #plan(detail: string): void {
    if (this.#isClosed()) return;
    this.#become('waiting', detail);
    this.#retry(backoffMs(this.#attempt++, this.#random()));
  }

  #retry(delayMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#socket === null && !this.#isClosed()) void this.#connect();
    }, delayMs);
  }

  /** Asks for a sign of life, and gives up a connection that shows none. */
  #watch(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    if (performance.now() - this.#heardAtMs > SILENCE_MS) {
      void this.#ended(socket, true, 1006, 'silent');
      socket.close();
    } else this.#tell({ type: 'ping' });
  }

  #tell(message: object): void {
    if (this.#socket?.readyState === this.#WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #clearTimers(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#pingTimer !== null) clearInterval(this.#pingTimer);
    this.#timer = null;
    this.#pingTimer = null;
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #become(state: LiveState, detail: string): void {
    if (this.#state === state && detail === '') return;
    this.#state = state;
    this.#options.onState?.(state, detail);
  }
}
