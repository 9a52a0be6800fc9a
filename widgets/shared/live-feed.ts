/** One WebSocket to /ws?subject=, kept open.
 *
 *  Modes: `connecting` (socket opening, or waiting to try again), `live` (frames arrive), `stale` (no frame for 3 s, but the service
 *  answers: the device is away), `offline` (the service does not answer a ping, or the socket broke and the next try is pending), `refused`
 *  (a close code of 4500 and above: trying again cannot help; a new token starts over), `closed` (by us). A reconnect asks for the frames
 *  after the last one seen, so a blink of the network leaves no gap; after a minute the service no longer holds them and the feed starts
 *  fresh. */

import type { LiveFrame as Frame } from '../../sdk/frame.ts';
import { openLiveSocket } from '../../sdk/live-socket.ts';
import { readFrame } from './frame-reader.ts';

export type LiveChannel = Frame['channels'][number] &
  Readonly<{
    /** Unique within the frame: the code, and the device where a person wears several. */
    id: string;
    rateHz: number;
    /** Time of the first sample after the frame's t0. */
    offsetNs: number;
  }>;
export type LiveFrame = Omit<Frame, 'channels' | 'features'> &
  Readonly<{ channels: readonly LiveChannel[]; features: readonly (Frame['features'][number] & Readonly<{ timeMs: number }>)[] }>;

export type LiveState = 'connecting' | 'live' | 'stale' | 'offline' | 'refused' | 'closed';

export type LiveFeedOptions = Readonly<{
  /** Service address, http(s)://host[:port]. */
  baseUrl: string;
  subjectId: string;
  /** Read at every connect; never put in an address. Empty: the browser's cookie speaks. */
  token: () => string;
  /** SDK key of the page, '' when it names none: the feed ends when the key is revoked. */
  sdkKey?: string;
  onFrame: (frame: LiveFrame, nowMs: number) => void;
  onState: (state: LiveState, detail: string) => void;
}>;

export type LiveFeed = Readonly<{
  /** A new token for the open socket: no reconnect. */
  renew: () => void;
  close: () => void;
}>;

const STALE_MS = 3000;
/** Nothing heard for this long: the service is asked whether it is there; less often while a device is known to be away. */
const PING_AFTER_MS = 1000;
const PING_STALE_MS = 5000;
/** A service that has not answered by then is not reached; later the socket is given up. */
const ANSWER_MS = 2000;
const GIVE_UP_MS = 8000;
const RETRY_MIN_MS = 400;
const RETRY_MAX_MS = 10_000;
const REPLAY_MAX_MS = 55_000;

export type StartLiveFeed = (options: LiveFeedOptions) => LiveFeed;

export function startLiveFeed(options: LiveFeedOptions): LiveFeed {
  const { baseUrl, subjectId: subject, sdkKey } = options;
  let socket: WebSocket | null = null;
  let state: LiveState = 'connecting';
  let attempt = 0;
  let lastSeq: number | null = null;
  let lastFrameMs = 0;
  let heardMs = 0;
  let pingMs = 0;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;

  const setState = (next: LiveState, detail = ''): void => {
    if (state === 'closed') return;
    if (next === state && detail === '') return;
    state = next;
    options.onState(next, detail);
  };

  const sayToken = (to: WebSocket): void => to.send(JSON.stringify({ type: 'auth', token: options.token() }));

  const connect = (): void => {
    clearTimeout(retryTimer);
    if (state === 'closed') return;
    // A first connect asks for all that is held: a trace of seconds a centimetre would take a minute to fill.
    const resumes = lastSeq !== null && performance.now() - lastFrameMs < REPLAY_MAX_MS;
    setState('connecting');
    const token = options.token();
    const opened = openLiveSocket({ baseUrl, subject, token, sdkKey, after: (resumes && lastSeq) || 0 });
    socket = opened;
    // A token that came while the socket was opening: the service has seen the one before it.
    opened.addEventListener('open', () => {
      heardMs = lastFrameMs = performance.now();
      if (options.token() !== token) sayToken(opened);
    });
    opened.addEventListener('message', (event) => {
      if (socket !== opened) return;
      heardMs = performance.now();
      if (typeof event.data === 'string') {
        const { oldest_seq: oldest } = JSON.parse(event.data) as { oldest_seq?: number | null };
        if (oldest && !resumes) opened.send(JSON.stringify({ type: 'replay', after: oldest - 1 }));
        return;
      }
      let frame: LiveFrame;
      try {
        frame = readFrame(new Uint8Array(event.data as ArrayBuffer));
      } catch {
        return; // a frame of a newer schema: the next one may be readable
      }
      attempt = 0;
      lastSeq = frame.seq;
      lastFrameMs = heardMs;
      if (!frame.replayed) setState('live');
      options.onFrame(frame, lastFrameMs);
    });
    opened.addEventListener('close', (event) => {
      if (socket !== opened) return;
      if (event.code >= 4500 && event.code < 5000) {
        lastSeq = event.code === 4540 ? null : lastSeq;
        if (event.code !== 4540) {
          socket = null;
          setState('refused', event.reason);
          return;
        }
      }
      lose(event.reason);
    });
  };

  const lose = (reason: string): void => {
    socket = null;
    setState('offline', reason);
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** attempt++) * (0.7 + 0.6 * Math.random());
    retryTimer = setTimeout(connect, waitMs);
  };

  const watch = setInterval(() => {
    if (socket?.readyState !== WebSocket.OPEN) return;
    const nowMs = performance.now();
    if (pingMs <= heardMs) {
      // Also where no device has sent since the socket opened: that is no slow connection.
      if (nowMs - lastFrameMs > STALE_MS) setState('stale');
      if (nowMs - heardMs < (state === 'stale' ? PING_STALE_MS : PING_AFTER_MS)) return;
      pingMs = nowMs;
      socket.send('{"type":"ping"}');
    } else if (nowMs - pingMs > GIVE_UP_MS) {
      socket.close();
      lose('');
    } else if (nowMs - pingMs > ANSWER_MS) setState('offline');
  }, 500);
  const onOnline = (): void => {
    attempt = 0;
    if (socket === null && state !== 'refused') connect();
  };
  globalThis.addEventListener('online', onOnline);
  connect();

  return {
    renew: () => {
      if (socket?.readyState === WebSocket.OPEN) sayToken(socket);
      else if (socket === null) {
        attempt = 0;
        connect();
      }
    },
    close: () => {
      setState('closed');
      clearTimeout(retryTimer);
      clearInterval(watch);
      globalThis.removeEventListener('online', onOnline);
      const open = socket;
      socket = null;
      open?.close(1000);
    },
  };
}
