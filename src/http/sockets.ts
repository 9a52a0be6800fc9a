/** WebSocket endpoints: the handshake with its credential, the budget of each socket, and its end.
 *
 *  A socket is `live` from the upgrade until it closes. It lives by its present credential: the one of the handshake, or the last that an
 *  `auth` gave it. It closes with 4001 when that token expires, with 4502 when that credential is revoked or has expired, with 4503 when it
 *  is given another person's credential, with 4013 when the service stops, and with 4010 when its peer monopolises the event loop
 *  (turn-budget.ts). */
import { errorTable, PipelineError } from '../errors.ts';
import type { CorkLender } from './cork-lender.ts';
import type { ErrorCode } from '../errors.ts';
import { checkAccess, mayContinue } from './access.ts';
import type { CredentialGate } from './credential-gate.ts';
import { checkOrigin } from './cors.ts';
import type { OriginAllowed } from './cors.ts';
import { requestedAddress } from './host.ts';
import type { HostRule } from './host.ts';
import { readHeaders } from './hygiene.ts';
import type { Headers } from './hygiene.ts';
import type { Logger } from './logger.ts';
import { peerOf } from './peer.ts';
import type { PeerRules } from './peer.ts';
import { problemReply } from './problem.ts';
import { writeReply } from './reply.ts';
import type { Wire } from './reply.ts';
import type { PeerSocket, RequestContext, SocketHandlers, SocketRoute } from './route.ts';
import { addressOf, bearerOf, callerKey, newRequestId, requestIdOf } from './request.ts';
import type { Ticks } from './ticks.ts';
import { TurnBudget, Turns } from './turn-budget.ts';
import type { Uws, UwsApp, UwsRequest, UwsResponse, UwsSocket, UwsUpgradeContext } from './uws.ts';
import { compileQuery } from './validate.ts';
import type { Caller } from '../caller.ts';

/** A peer that answers no ping for this long is gone. */
const IDLE_SEC = 60;
/** Interval between checks for expired tokens, ms. */
const EXPIRY_CHECK_MS = 250;
const REASON_BYTES_MAX = 123;
/** Retry-After for a client with too many sockets, s. */
const SOCKETS_RETRY_SEC = 30;
const BEARER = 'bio.bearer.';
/** How a page names its SDK key: browsers cannot send the header `sdk-key` with a WebSocket. */
const SDK_KEY = 'bio.sdk.';

export type SocketOptions = Readonly<{
  sockets?: readonly SocketRoute[];
  gate: CredentialGate;
  originAllowed: OriginAllowed;
  peerRules: PeerRules;
  checkHost: HostRule;
  logger: Logger;
  ticks: Ticks;
  isStopping: () => boolean;
}>;

/** A socket may stay open for days: of its request only what a later `auth` needs is kept. */
type Data = {
  readonly route: SocketRoute;
  request: Omit<RequestContext, 'caller'> | null;
  readonly kept: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
  caller: Caller;
  live: Live | null;
};

/** Headers that name the person a credential acts for. */
const keptHeaders = ['project-key', 'xuser-id', 'origin', 'sdk-key'] as const;
const NO_HEADERS: ReadonlyMap<string, string> = new Map();
const NEVER = new AbortController().signal;

export type Sockets = Readonly<{
  count: () => number;
  callers: () => readonly Caller[];
  closeMatching: (match: (caller: Caller) => boolean, code: ErrorCode) => void;
  stop: () => void;
}>;

/** Registers every socket route on the app. @param lender owner of the cork used while no socket is open; null: none */
export function attachSockets(app: UwsApp, uws: Uws, options: SocketOptions, lender: CorkLender | null): Sockets {
  const open = new Set<Live>();
  const counts: Counts = new Map();
  const turns = new Turns();
  let lastId = 0;
  // One sweep for all: a timer per socket holds 200 bytes.
  // job: expired-tokens: closes sockets whose token has expired
  const stop = options.ticks.every(EXPIRY_CHECK_MS, () => {
    const nowMs = Date.now();
    for (const live of open) live.expire(nowMs);
  });
  for (const route of options.sockets ?? []) {
    const readQuery = compileQuery(route.query ?? {});
    app.ws<Data>(route.path, {
      maxPayloadLength: route.refusedBytesMax ?? route.messageBytesMax,
      maxBackpressure: route.backpressureBytesMax,
      closeOnBackpressureLimit: false,
      idleTimeout: IDLE_SEC,
      sendPingsAutomatically: true,
      compression: uws.DISABLED, // permessage-deflate costs 7-12x per message
      upgrade: (res, req, upgradeContext) => upgrade({ open, lender }, counts, res, req, upgradeContext, route, readQuery, options),
      open: (ws) => {
        const data = ws.getUserData();
        const live = new Live(++lastId, ws, data, options, turns);
        data.live = live;
        open.add(live);
        count(counts, live.countKey, 1);
        live.start();
      },
      message: (ws, message, isBinary) => ws.getUserData().live?.receive(message, isBinary),
      drain: (ws) => ws.getUserData().live?.handlers?.drain?.(),
      close: (ws) => {
        const { live } = ws.getUserData();
        if (live === null) return;
        open.delete(live);
        count(counts, live.countKey, -1);
        live.ended();
      },
    });
  }
  return {
    stop,
    count: () => open.size,
    callers: () => Array.from(open, (live) => live.caller),
    closeMatching: (match, code) => {
      for (const live of open) if (match(live.caller)) live.close(code, errorTable[code].title);
    },
  };
}

/** Open sockets by path and caller. */
type Counts = Map<string, number>;

function count(counts: Counts, key: string, by: 1 | -1): void {
  const n = (counts.get(key) ?? 0) + by;
  if (n === 0) counts.delete(key);
  else counts.set(key, n);
}

function countKeyOf(route: SocketRoute, caller: Caller): string {
  return `${route.path} ${callerKey(caller)}`;
}

/** @throws PipelineError rate_limited when the caller has as many sockets as it may */
function checkCount(counts: Counts, route: SocketRoute, caller: Caller): void {
  if (route.socketsMax === undefined) return;
  const max = caller.kind === 'user' ? route.socketsMax.user : route.socketsMax.key;
  if ((counts.get(countKeyOf(route, caller)) ?? 0) < max) return;
  throw new PipelineError('rate_limited', `${max} sockets of this credential are open on ${route.path}, which is the limit.`, {
    retryAfterSec: SOCKETS_RETRY_SEC,
  });
}

function upgrade(
  corks: Corks,
  counts: Counts,
  res: UwsResponse,
  req: UwsRequest,
  upgradeContext: UwsUpgradeContext,
  route: SocketRoute,
  readQuery: (text: string) => Readonly<Record<string, unknown>>,
  options: SocketOptions,
): void {
  const wire: Wire = { res, head: false, aborted: false, replied: false };
  const path = req.getUrl();
  const queryText = req.getQuery() ?? '';
  let requestId = newRequestId();
  res.onAborted(() => {
    wire.aborted = true;
  });
  const run = async (): Promise<void> => {
    const headers = readHeaders(req);
    requestId = requestIdOf(headers);
    if (options.isStopping()) throw new PipelineError('shutting_down', 'The service is stopping.');
    options.checkHost(headers.get('host') ?? '');
    if (!isUpgrade(headers)) throw new PipelineError('bad_request', 'Send Upgrade: websocket and Connection: Upgrade.');
    if (headers.get('sec-websocket-version') !== '13') throw new PipelineError('bad_request', 'Sec-WebSocket-Version must be 13.');
    const peer = peerOf(addressOf(res, options.peerRules), headers, options.peerRules);
    const offered = (headers.get('sec-websocket-protocol') ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    const bearer = bearerIn(offered, headers, options.gate, peer.address);
    const sdkKey = offered.find((item) => item.startsWith(SDK_KEY));
    if (sdkKey !== undefined) headers.set('sdk-key', sdkKey.slice(SDK_KEY.length));
    const request = { bearer, header: (name: string) => headers.get(name) ?? '', method: 'GET', access: route.access };
    let caller = await options.gate.check(request, peer.address);
    checkAccess(route.access, caller, 'GET');
    const origin = headers.get('origin') ?? '';
    if (origin !== '' && caller.kind !== 'user') {
      await checkOrigin(origin, caller, headers, options.originAllowed);
      caller = await options.gate.check(request, peer.address); // revoked meanwhile: nobody would close this socket
    }
    const query = readQuery(queryText);
    if (offered.length > 0 && !offered.includes(route.protocol)) {
      throw new PipelineError('bad_request', `Offer the subprotocol ${route.protocol}.`);
    }
    if (wire.aborted) return;
    const context = {
      params: {},
      query,
      body: null,
      header: request.header,
      requestId,
      signal: NEVER,
      remoteAddress: peer.address,
      requestedAddress: () => requestedAddress(headers.get('host') ?? '', peer.secure),
    };
    checkCount(counts, route, caller);
    wire.replied = true;
    upgradeUncorked(corks, res, () => {
      res.upgrade<Data>(
        { route, request: context, kept: keptOf(headers), remoteAddress: peer.address, caller, live: null },
        headers.get('sec-websocket-key') ?? '',
        offered.length > 0 ? route.protocol : '',
        '',
        upgradeContext,
      );
    });
  };
  run().catch((error: unknown) => {
    if (!(error instanceof PipelineError)) options.logger.error({ err: error, requestId, path }, 'upgrade failed');
    const reply = problemReply(error, path, requestId);
    const headers = { ...reply.headers, 'content-type': reply.contentType ?? '', 'x-request-id': requestId };
    writeReply(wire, reply.status, headers, Buffer.from(reply.text ?? ''), true);
  });
}

/** The library takes any request with a Sec-WebSocket-Key for an upgrade (RFC 6455 section 4.2.1 asks for both). */
function isUpgrade(headers: Headers): boolean {
  const asksFor = (name: string, token: string): boolean =>
    (headers.get(name) ?? '').split(',').some((item) => item.trim().toLowerCase() === token);
  return asksFor('upgrade', 'websocket') && asksFor('connection', 'upgrade');
}

function keptOf(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const kept = keptHeaders.filter((name) => headers.has(name));
  return kept.length === 0 ? NO_HEADERS : new Map(kept.map((name) => [name, headers.get(name) ?? '']));
}

function bearerIn(offered: readonly string[], headers: Headers, gate: CredentialGate, address: string): string | null {
  try {
    return subprotocolBearer(offered) ?? bearerOf(headers);
  } catch (error) {
    throw gate.refusal(error, address);
  }
}

/** The credential among the offered subprotocols: browsers cannot set headers on a WebSocket, and an address would end in logs. */
function subprotocolBearer(offered: readonly string[]): string | null {
  const found = offered.filter((item) => item.startsWith(BEARER));
  if (found.length === 0) return null;
  const secret = Buffer.from(found[0]?.slice(BEARER.length) ?? '', 'base64url').toString('latin1');
  if (found.length > 1 || !/^[\x21-\x7e]{1,4096}$/.test(secret)) {
    throw new PipelineError('credential_invalid', `Offer one ${BEARER}<base64url of the credential>.`);
  }
  return secret;
}

type Corks = Readonly<{ open: ReadonlySet<Live>; lender: CorkLender | null }>;

/** Upgrades a response after an asynchronous question: in the cork of another socket, so that this one is not corked.
 *
 *  It must not happen inside res.cork(): after the callback uWebSockets.js 20.51 reads the response's state, but if the upgrade shrank the
 *  socket in place that memory is already free, and some sockets were closed with 1006 as soon as they opened. With no cork to borrow, the
 *  library writes a line to stderr; nothing else is affected. */
function upgradeUncorked({ open, lender }: Corks, res: UwsResponse, work: () => void): void {
  const [other = lender] = open;
  if (other === null) work();
  else other.cork(() => void res.cork(work)); // the inner cork only tells the library that its user knows about corks
}

class Live implements PeerSocket {
  handlers: SocketHandlers | null = null;
  readonly id: number;
  /** Caller who opened the socket: it counts for them until it closes. */
  readonly countKey: string;
  readonly #ws: UwsSocket<Data>;
  readonly #data: Data;
  readonly #options: SocketOptions;
  readonly #budget: TurnBudget;
  #closed = false;

  constructor(id: number, ws: UwsSocket<Data>, data: Data, options: SocketOptions, turns: Turns) {
    this.id = id;
    this.#ws = ws;
    this.#data = data;
    this.#options = options;
    this.#budget = new TurnBudget(turns);
    this.countKey = countKeyOf(data.route, data.caller);
  }

  get caller(): Caller {
    return this.#data.caller;
  }

  start(): void {
    const { request, route, caller } = this.#data;
    this.#data.request = null;
    if (request === null || this.#closed) return;
    try {
      this.handlers = route.open({ ...request, caller }, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  // ---------------------------------------------------------------------------------------------------------------- what handlers see

  sendBinary(bytes: Uint8Array): 'sent' | 'buffered' | 'dropped' {
    return this.#send(bytes, true);
  }

  sendText(text: string): 'sent' | 'buffered' | 'dropped' {
    return this.#send(text, false);
  }

  cork(work: () => void): void {
    this.#ws.cork(work);
  }

  bufferedBytes(): number {
    return this.#closed ? 0 : this.#ws.getBufferedAmount();
  }

  subscribe(topic: string): void {
    if (!this.#closed) this.#ws.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    if (!this.#closed) this.#ws.unsubscribe(topic);
  }

  close(code: ErrorCode | 'normal', detail: string): void {
    if (this.#closed) return;
    this.#closed = true; // before end(): uWS calls `close` from inside it
    let reason = code === 'normal' ? detail : `${code}: ${detail}`;
    while (Buffer.byteLength(reason) > REASON_BYTES_MAX) reason = reason.slice(0, -1);
    this.#ws.end(code === 'normal' ? 1000 : errorTable[code].close, reason);
  }

  async authenticate(token: string): Promise<Caller> {
    const { route, kept, remoteAddress } = this.#data;
    const request = { bearer: token, header: (name: string) => kept.get(name) ?? '', method: 'GET', access: route.access };
    const caller = await this.#options.gate.check(request, remoteAddress);
    // A new credential may renew the rights that the socket was opened with, never move or reduce them.
    if (!mayContinue(this.#data.caller, caller)) {
      const why = 'The new credential is not of the user, or not of a key with the same reach, for whom the socket was opened.';
      this.close('credential_kind', why);
      throw new PipelineError('credential_kind', why);
    }
    checkAccess(route.access, caller, 'GET');
    this.#data.caller = caller;
    return caller;
  }

  // ---------------------------------------------------------------------------------------------------------------- what the server does

  expire(nowMs: number): void {
    const { caller } = this.#data;
    if (caller.kind === 'user' && caller.expiresAtMs <= nowMs) this.close('token_expired', 'Reconnect with a new token.');
  }

  receive(message: ArrayBuffer, isBinary: boolean): void {
    if (this.#closed || this.handlers === null) return;
    if (this.#budget.isOver(message.byteLength)) {
      this.close('rate_limited', 'The socket sent without a pause for longer than one peer may.');
      return;
    }
    const { ticks } = this.#options;
    ticks.runDue(performance.now());
    const fromMs = performance.now();
    try {
      if (isBinary) {
        if (this.handlers.binary === undefined) this.close('bad_request', 'Binary messages are not taken here.');
        else this.handlers.binary(new Uint8Array(message));
      } else if (this.handlers.text === undefined) this.close('bad_request', 'Text messages are not taken here.');
      else this.handlers.text(Buffer.from(message).toString('utf8'));
    } catch (error) {
      this.#fail(error);
    }
    this.#budget.spend(performance.now() - fromMs);
  }

  ended(): void {
    this.#closed = true;
    const { handlers } = this;
    this.handlers = null;
    handlers?.closed();
  }

  #send(message: Uint8Array | string, isBinary: boolean): 'sent' | 'buffered' | 'dropped' {
    if (this.#closed) return 'dropped';
    const answer = this.#ws.send(message, isBinary, false);
    return answer === 1 ? 'sent' : answer === 0 ? 'buffered' : 'dropped';
  }

  #fail(error: unknown): void {
    if (error instanceof PipelineError) {
      this.close(error.code, error.message);
      return;
    }
    this.#options.logger.error({ err: error, path: this.#data.route.path }, 'socket failed');
    this.close('internal', errorTable.internal.title);
  }
}
