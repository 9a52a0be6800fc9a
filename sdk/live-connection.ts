/** One WebSocket to /ws, kept open, for LiveClient (live-client.ts) and the widgets (widgets/shared/live-feed.ts), which map its states to
 *  their own.
 *
 *  Modes
 *  - connecting: a socket is being opened, for at most 10 s, or is open and no new frame has arrived. Its failure plans another one.
 *  - live: frames arrive.
 *  - stale: no frame for 3 s, but the service answers: the device is not sending.
 *  - offline: the service has not answered a ping for 2 s, at most 3.5 s after it was last heard. After 8 s the socket is given up.
 *  - waiting: until the next attempt, or, after the token expired or was refused, for a new one. renew() ends both.
 *  - refused: by a close code that says that reconnecting is useless. Only renew() starts over, except where a person's consent is missing,
 *    which may come back: then the service is asked again, in this mode, first within 2 s, later within 15 s.
 *  - closed: by close(). Final.
 *
 *  A reconnect asks for the frames after the last one seen, so a short loss of the network leaves no gap. */
import { decodeFrame } from './frame.ts';
import type { LiveFrame } from './frame.ts';
import { addressOf } from './request.ts';
import { afterClose, backoffMs } from './retry.ts';

export type ConnectionState = 'connecting' | 'live' | 'stale' | 'offline' | 'waiting' | 'refused' | 'closed';

/** A text message of the service; docs/wire-format.md lists them. */
export type LiveMessage = Readonly<{
  type?: string;
  status?: string;
  code?: string;
  detail?: string;
  subject?: string;
  oldest_seq?: number | null;
}>;

export type LiveConnectionOptions = Readonly<{
  /** http, https, ws or wss. */
  baseUrl: string;
  subject: string;
  /** uuids of further subjects over the same socket; each frame names its own. */
  also?: readonly string[] | undefined;
  /** Asked at every connect and by renew(); never part of an address. '': the browser's cookie is sent instead. */
  token: () => string | Promise<string>;
  /** Public key of the page; '' for none. */
  sdkKey?: string | undefined;
  channels?: readonly string[] | undefined;
  /** The first connection asks for the frames after this number; absent: for new frames only. */
  after?: number;
  /** Every frame as it comes, replayed ones too; nowMs is performance.now(). */
  onFrame: (frame: LiveFrame, nowMs: number) => void;
  onMessage: (message: LiveMessage) => void;
  onState: (state: ConnectionState, detail: string) => void;
  /** Whether the service refuses this token: asked after a failed handshake, which gives no reason. Absent: retries. */
  isRefused?: (token: string) => Promise<boolean>;
  webSocket?: typeof WebSocket | undefined;
  random?: (() => number) | undefined;
}>;

export type LiveConnection = Readonly<{
  /** Sends a new token over the open socket; connects now if there is none. */
  renew: () => Promise<void>;
  /** Sends a message, unless there is no open socket. */
  tell: (message: object) => void;
  close: () => void;
}>;

const STALE_MS = 3000;
/** Silence after which the service is sent a ping, ms. */
const PING_AFTER_MS = 1000;
/** Time for the answer: after the first the service counts as out of reach, after the second the socket is given up, ms. */
const ANSWER_MS = 2000;
const GIVE_UP_MS = 8000;
/** Time for a handshake, ms. */
const HANDSHAKE_MS = 10_000;
/** Between two looks at the clock: each of the two times above can last this much longer, ms. */
const WATCH_MS = 250;
const CONNECTING = 0;
const OPEN = 1;
const TOKEN_EXPIRED = 4001;
const CONSENT_MISSING = 4508;
/** A refusal is like so many failures in a row: the next attempt follows within 2 s, then 4, 8 and 15. */
const REFUSED_ATTEMPT = 3;
/** Keys in this form only: a browser throws an error for a subprotocol with other characters. */
const sdkKeyPattern = /^sdk_[0-9A-Za-z]+$/;

/** Connects at once. */
export function openLiveConnection(options: LiveConnectionOptions): LiveConnection {
  const { onFrame, onMessage, onState, random = Math.random } = options;
  let socket: WebSocket | null = null;
  let state: ConnectionState = 'connecting';
  /** The service's last word was about this one. */
  let token = '';
  /** Told in band; counts when the service has said that it took it. */
  let told = '';
  let after = options.after;
  /** Failures since the service was last heard. */
  let attempt = 0;
  /** Number of connects. Code that awaited something checks that it is still the same, or drops the result. */
  let turn = 0;
  /** A new token came while the socket was opening with the one before it. */
  let renewed = false;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let watchTimer: ReturnType<typeof setInterval> | undefined;
  let frameMs = 0;
  let openingMs = 0;
  let heardMs = 0;
  let pingMs = 0;

  const become = (next: ConnectionState, detail = ''): void => {
    if (state === 'closed' || (next === state && detail === '')) return;
    state = next;
    onState(next, detail);
  };

  const tell = (message: object): void => {
    if (socket?.readyState === OPEN) socket.send(JSON.stringify(message));
  };

  const connect = async (meanwhile: ConnectionState = 'connecting'): Promise<void> => {
    clearTimeout(retryTimer);
    const mine = ++turn;
    become(meanwhile);
    try {
      const given = await options.token();
      if (mine !== turn) return;
      token = told = given;
      follow(openSocket(options, token, after));
    } catch (error) {
      if (mine === turn) retry(error instanceof Error ? error.message : 'no connection');
    }
  };

  const follow = (opened: WebSocket): void => {
    let isOpen = false;
    socket = opened;
    openingMs = performance.now();
    opened.addEventListener('open', () => {
      isOpen = true;
      heardMs = frameMs = performance.now();
      if (renewed) sayToken().catch(() => undefined); // the token of the handshake stays valid until it expires
    });
    opened.addEventListener('message', ({ data }) => {
      if (socket === opened) hear(data);
    });
    opened.addEventListener('close', ({ code, reason }) => void lose(opened, isOpen, code, reason));
    // A close event follows, except after a refused handshake in Node 22.
    opened.addEventListener('error', () => void (isOpen || lose(opened, false, 1006, '')));
    watchTimer = setInterval(watch, WATCH_MS);
  };

  const hear = (data: string | ArrayBuffer): void => {
    heardMs = performance.now();
    attempt = 0;
    if (typeof data === 'string') {
      const message = messageOf(data);
      if (message?.type === 'auth') token = told;
      if (message !== null) onMessage(message);
      return;
    }
    let frame: LiveFrame;
    try {
      frame = decodeFrame(new Uint8Array(data));
    } catch {
      return; // a frame of a newer schema: the next one may be readable
    }
    after = frame.seq;
    frameMs = heardMs;
    if (!frame.replayed) become('live');
    onFrame(frame, heardMs);
  };

  const lose = async (lost: WebSocket, wasOpen: boolean, code: number, reason: string): Promise<void> => {
    if (socket !== lost) return;
    socket = null;
    clearInterval(watchTimer);
    const mine = turn;
    const detail = `${code} ${reason}`;
    if (code === TOKEN_EXPIRED) await awaitToken(reason);
    else if (wasOpen && afterClose(code) === 'stop') {
      become('refused', detail);
      after = options.after; // nothing of before is shown any more
      if (mine === turn && code === CONSENT_MISSING)
        retryTimer = setTimeout(() => void connect('refused'), backoffMs(REFUSED_ATTEMPT + attempt++, random()));
    } else if (wasOpen || !(await options.isRefused?.(token))) {
      if (mine === turn) retry(detail);
    } else if (mine === turn) await awaitToken('the credential is refused');
  };

  const retry = (detail: string): void => {
    const mine = turn;
    become('waiting', detail);
    if (mine !== turn) return; // the listener has closed or renewed the connection
    retryTimer = setTimeout(() => void connect(), backoffMs(attempt++, random()));
  };

  /** With the same token the answer would be the same: waits for renew(), unless there is a new one already. A cookie may be renewed
   *  without the page's knowledge. */
  const awaitToken = async (reason: string): Promise<void> => {
    const mine = turn;
    const before = token;
    become('waiting', reason);
    try {
      if (before !== '' && (await options.token()) === before) return;
    } catch {
      return;
    }
    if (mine === turn) retry(reason);
  };

  const sayToken = async (): Promise<void> => {
    renewed = false;
    const given = await options.token();
    if (given !== told) tell({ type: 'auth', token: given });
    told = given;
  };

  const watch = (): void => {
    if (socket === null) return;
    const nowMs = performance.now();
    if (socket.readyState === CONNECTING) {
      if (nowMs - openingMs > HANDSHAKE_MS) giveUp(socket);
    } else if (socket.readyState !== OPEN) return;
    else if (pingMs <= heardMs) {
      // Also where no device has sent since the socket opened: the connection is not slow.
      if (nowMs - frameMs > STALE_MS) become('stale');
      if (nowMs - heardMs < PING_AFTER_MS) return;
      pingMs = nowMs;
      tell({ type: 'ping' });
    } else if (nowMs - pingMs > GIVE_UP_MS) giveUp(socket);
    else if (nowMs - pingMs > ANSWER_MS) become('offline');
  };

  /** Gives up a silent socket. As if it had been open: silence says nothing about the token, so nothing asks whether it is refused. */
  const giveUp = (silent: WebSocket): void => {
    void lose(silent, true, 1006, 'silent');
    silent.close();
  };

  const again = (): void => {
    attempt = 0;
    if (socket === null && state !== 'closed') void connect();
  };
  const onOnline = (): void => void (state === 'refused' || again());
  globalThis.addEventListener?.('online', onOnline); // Node has no such event
  void connect();

  return {
    tell,
    renew: async () => {
      if (socket?.readyState === OPEN) await sayToken();
      else if (socket || state === 'connecting') renewed = true;
      else again();
    },
    close: () => {
      become('closed');
      turn++;
      clearTimeout(retryTimer);
      clearInterval(watchTimer);
      globalThis.removeEventListener?.('online', onOnline);
      const open = socket;
      socket = null;
      open?.close(1000);
    },
  };
}

/** Credentials travel in subprotocols, never in an address.
 *  @throws SyntaxError or DOMException when the address or the token cannot be used */
function openSocket(options: LiveConnectionOptions, token: string, after: number | undefined): WebSocket {
  const { baseUrl, subject, also, channels, sdkKey = '', webSocket: Socket = WebSocket } = options;
  const protocols = ['bio.v1'];
  if (token !== '') protocols.push(`bio.bearer.${base64url(token)}`);
  if (sdkKeyPattern.test(sdkKey)) protocols.push(`bio.sdk.${sdkKey}`);
  const socket = new Socket(
    new URL(addressOf('/ws', { query: { subject, also, channels, after } }), baseUrl.replace(/^http/, 'ws')),
    protocols,
  );
  socket.binaryType = 'arraybuffer';
  return socket;
}

/** Reads a message; null: the text is none, such as the words of a proxy. */
function messageOf(text: string): LiveMessage | null {
  try {
    const message = JSON.parse(text) as unknown;
    return typeof message === 'object' ? message : null;
  } catch {
    return null;
  }
}

function base64url(text: string): string {
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
