/** Live frames of one subject, for browsers and Node 22: reconnects with jitter, resumes where it was, renews its token in band.
 *  The connection and its modes are in live-connection.ts; of those, a caller sees four:
 *  - connecting: a socket is being opened.
 *  - live: the service sends frames, as soon as there are any.
 *  - waiting: until the next attempt, or for a new token after the old one expired or was refused.
 *  - closed: by close(), or by a close code that says that reconnecting is useless. Final. */
import type { LiveFrame } from './frame.ts';
import type { ConnectionState, LiveConnection, LiveMessage } from './live-connection.ts';
import { openLiveConnection } from './live-connection.ts';
import { afterStatus } from './retry.ts';

export type { LiveChannel, LiveFeature, LiveFrame } from './frame.ts';

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

/** Frames held for the next animation frame; a page in the background draws none and keeps the newest. */
const HELD_MAX = 600;
/** Time for the answer whether a token is refused, ms; after that it counts as not refused. */
const ANSWER_MS = 10_000;

export class LiveClient {
  readonly #options: LiveClientOptions;
  readonly #connection: LiveConnection;
  readonly #perAnimationFrame: boolean;
  #state: LiveState = 'connecting';
  #lastSeq = -1;
  #held: LiveFrame[] = [];
  #drawPlanned = false;

  /** Connects at once. */
  constructor(options: LiveClientOptions) {
    this.#options = options;
    this.#perAnimationFrame = typeof requestAnimationFrame === 'function' && (options.perAnimationFrame ?? true);
    const { baseUrl, subject, token, sdkKey, channels, webSocket, random } = options;
    this.#connection = openLiveConnection({
      baseUrl,
      subject,
      token,
      sdkKey,
      channels,
      webSocket,
      random,
      onFrame: (frame) => this.#take(frame),
      onMessage: (message) => this.#hear(message),
      onState: (state, detail) => this.#follow(state, detail),
      isRefused: (refused) => this.#isRefused(refused),
    });
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
    if (this.#state !== 'closed') await this.#connection.renew();
  }

  /** Changes what is sent. Absent fields stay as they are, null lifts them. */
  subscribe(wanted: { channels?: readonly string[] | null; maxRateHz?: number | null }): void {
    const { channels, maxRateHz } = wanted;
    const fields = { ...(channels !== undefined && { channels }), ...(maxRateHz !== undefined && { max_rate_hz: maxRateHz }) };
    this.#connection.tell({ type: 'subscribe', ...fields });
  }

  close(): void {
    this.#end('closed by the caller');
    this.#held = [];
  }

  #end(detail: string): void {
    if (this.#state === 'closed') return;
    this.#become('closed', detail);
    this.#connection.close();
  }

  /** Frames and messages say that the connection is live, so the states of an open socket add nothing. */
  #follow(state: ConnectionState, detail: string): void {
    if (state === 'refused') this.#end(detail);
    else if (state === 'connecting' || state === 'waiting') this.#become(state, detail);
  }

  #take(frame: LiveFrame): void {
    this.#ready();
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

  #hear({ type, status, code, detail }: LiveMessage): void {
    if (type === 'ready') this.#ready();
    else if (type === 'replay' && status === 'too_old') this.#options.onGap?.(this.#lastSeq);
    else if (type === 'error') this.#options.onState?.(this.#state, `${code}: ${detail}`);
  }

  #ready(): void {
    if (this.#state === 'live') return;
    this.#become('live', '');
    if (this.#options.maxRateHz !== undefined) this.subscribe({ maxRateHz: this.#options.maxRateHz });
  }

  /** A handshake that was refused tells no reason; an ordinary request with the same credential does. */
  async #isRefused(token: string): Promise<boolean> {
    try {
      const url = new URL('/api/v1/bootstrap', this.#options.baseUrl.replace(/^ws/, 'http'));
      const response = await (this.#options.fetch ?? fetch)(url, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      return response.status !== 404 && afterStatus(response.status) === 'stop';
    } catch {
      return false;
    }
  }

  #become(state: LiveState, detail: string): void {
    if (this.#state === 'closed' || (this.#state === state && detail === '')) return;
    this.#state = state;
    this.#options.onState?.(state, detail);
  }
}
