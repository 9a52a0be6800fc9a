/** The HTTP and WebSocket server: the thin layer on uWebSockets.js.
 *  One request: hygiene ▸ route ▸ https ▸ (body starts) ▸ who ▸ may ▸ origin ▸ rate ▸ query ▸ body ▸ handler ▸ reply.
 *  Whatever is thrown on the way becomes a problem+json answer here, and nowhere else. */
import { createHash } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import type { Config } from '../config.ts';
import { checkAccess } from './access.ts';
import { readBody } from './body.ts';
import { COMPRESS_BYTES_MIN, compress, pickCoding } from './compress.ts';
import { checkOrigin, corsHeaders, preflightHeaders } from './cors.ts';
import type { OriginAllowed } from './cors.ts';
import { declaredLength, readHeaders } from './hygiene.ts';
import type { Headers } from './hygiene.ts';
import { writeJson } from './json.ts';
import type { Logger } from './logger.ts';
import { peerOf } from './peer.ts';
import { problemReply } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import type { Verdict } from './rate-limit.ts';
import { writeReply, writeStream } from './reply.ts';
import { addressOf, bearerOf, callerKey, newRequestId, requestIdOf } from './request.ts';
import type { Wire } from './reply.ts';
import type { Authenticate, Caller, Reply, RequestContext, Route, SocketRoute } from './route.ts';
import { Router } from './router.ts';
import { attachSockets } from './sockets.ts';
import type { StaticMount } from './static-files.ts';
import { Ticks } from './ticks.ts';
import { loadUws } from './uws.ts';
import type { UwsListenSocket, UwsResponse } from './uws.ts';
import { compileCheck, compileQuery, readJson } from './validate.ts';
import type { Check, QueryReader } from './validate.ts';

/** JSON bodies of routes that state no limit of their own, bytes. */
export const JSON_BYTES_MAX = 1024 * 1024;
/** Seconds of the sustained rate that may come at once. */
const BURST_SEC = 4;
/** An unread body up to this long is read and thrown away; beyond it an early answer closes the connection. */
const DRAIN_BYTES_MAX = 64 * 1024;
/** Failed credentials of one address: per second, and as a burst of that many seconds. */
const AUTH_FAILURES_PER_SEC = 5;
const AUTH_BURST_SEC = 20;

export type HttpConfig = Pick<
  Config,
  'host' | 'port' | 'tlsCert' | 'tlsKey' | 'trustProxy' | 'bodyTimeoutMs' | 'stopTimeoutMs' | 'requestsPerSecMax' | 'devicePacketsPerSecMax'
>;

/** Runs `work` once per (caller, route, key): a repeat gets the first answer, another body gets idempotency_mismatch. */
export type Idempotency = (
  entry: Readonly<{ caller: Caller; route: string; key: string; fingerprint: string }>,
  work: () => Promise<Reply>,
) => Promise<Reply>;

/** What is told of each answered request. `route` is null for static files, preflights and unknown paths. */
export type Exchange = Readonly<{
  route: Route | null;
  method: string;
  status: number;
  durationMs: number;
  caller: Caller;
  reply: Reply;
  path: string;
  /** '' when the request was refused before it was known. */
  remoteAddress: string;
  requestId: string;
}>;

export type HttpOptions = Readonly<{
  config: HttpConfig;
  routes: readonly Route[];
  sockets?: readonly SocketRoute[];
  statics?: readonly StaticMount[];
  authenticate: Authenticate;
  originAllowed?: OriginAllowed;
  idempotency?: Idempotency;
  logger: Logger;
  /** Failed credentials that one address may send per second, and AUTH_BURST_SEC times as many at once. Default 5. */
  authFailuresPerSec?: number;
  ticks?: Ticks;
  /** Metrics, audit and the contract check of the tests listen here. */
  observe?: (exchange: Exchange) => void;
}>;

export type HttpServer = Readonly<{
  port: number;
  /** Sends one message to every subscriber of a topic, encoded once. */
  publish: (topic: string, bytes: Uint8Array, isBinary: boolean) => void;
  subscriberCount: (topic: string) => number;
  /** Callers of the open sockets, one per socket. */
  callers: () => readonly Caller[];
  /** Closes sockets whose caller matches: revoked keys, deleted users. */
  closeSockets: (match: (caller: Caller) => boolean, code: 'credential_invalid' | 'shutting_down') => void;
  ticks: Ticks;
  /** Takes no new connection, tells sockets to reconnect, lets requests in flight end, then closes; at most stopTimeoutMs. */
  stop: () => Promise<void>;
}>;

type Row = Readonly<{ route: Route; query: QueryReader; body: Check | null; params: ReadonlyMap<string, Check> }>;

const ANONYMOUS: Caller = { kind: 'anonymous' };
const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();
const browserHeaders = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Listens. @throws Error naming PORT when the port is in use */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { config, logger } = options;
  const tls = config.tlsCert !== '';
  const uws = loadUws();
  const app = tls ? uws.SSLApp({ cert_file_name: config.tlsCert, key_file_name: config.tlsKey }) : uws.App();
  const ticks = options.ticks ?? new Ticks();
  const peerRules = { tls, trustProxy: config.trustProxy };
  const router = new Router<Row>();
  for (const route of options.routes) router.add(route.method, route.path, compileRow(route));
  const limits = {
    api: new RateLimit('api', config.requestsPerSecMax, BURST_SEC),
    ingest: new RateLimit('ingest', config.devicePacketsPerSecMax, BURST_SEC),
  };
  const authFailures = new RateLimit('auth', options.authFailuresPerSec ?? AUTH_FAILURES_PER_SEC, AUTH_BURST_SEC);
  const originAllowed = options.originAllowed ?? (() => false);
  const socketPaths = new Set((options.sockets ?? []).map((route) => route.path));
  let inFlight = 0;
  let stopping = false;

  app.any('/*', (res, req) => {
    const startedMs = performance.now();
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    const query = req.getQuery() ?? '';
    const wire: Wire = { res, head: method === 'HEAD', aborted: false, replied: false };
    const abortListeners: (() => void)[] = [];
    inFlight += 1;
    res.onAborted(() => {
      wire.aborted = true;
      for (const listener of abortListeners) listener();
    });
    ticks.runDue(startedMs);

    let requestId = newRequestId();
    let headers: Headers | null = null;
    let clean = false; // until the end of this request is certain, an error closes the connection
    let close = true;
    let caller: Caller = ANONYMOUS;
    let route: Route | null = null;
    let verdict: Verdict | null = null;
    let policy = '';
    let secure = tls;
    let remoteAddress = '';

    const finish = async (reply: Reply): Promise<void> => {
      const out: Record<string, string> = { 'x-request-id': requestId };
      // A device reads the body of its acknowledgement; headers meant for browsers cost it and us a third of the answer.
      const lean = route?.limit === 'ingest' && reply.status < 300;
      if (!lean) Object.assign(out, browserHeaders);
      if (secure && !lean) out['strict-transport-security'] = 'max-age=31536000; includeSubDomains';
      const origin = headers?.get('origin') ?? '';
      if (origin !== '') Object.assign(out, corsHeaders(origin, caller));
      if (verdict !== null && !lean) {
        out['ratelimit-policy'] = policy;
        out['ratelimit'] = `"${route?.limit ?? 'api'}";r=${verdict.remaining};t=${verdict.resetSec}`;
      }
      for (const name in reply.headers) out[name.toLowerCase()] = reply.headers[name] ?? '';
      const type = reply.contentType ?? (reply.json !== undefined ? 'application/json' : undefined);
      if (type !== undefined) out['content-type'] = type;
      const durationMs = performance.now() - startedMs;
      options.observe?.({ route, method, status: reply.status, durationMs, caller, reply, path, remoteAddress, requestId });
      if (reply.stream !== undefined) {
        await writeStream(wire, reply.status, out, reply.stream);
        return;
      }
      let body = reply.bytes ?? (reply.json !== undefined ? encoder.encode(writeJson(reply.json)) : undefined);
      body ??= reply.text !== undefined ? encoder.encode(reply.text) : EMPTY;
      let status = reply.status;
      if (route?.etag === true && status === 200) {
        out['etag'] ??= `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
        out['cache-control'] = 'private, no-cache';
        if (etagMatches(headers?.get('if-none-match') ?? '', out['etag'])) {
          status = 304;
          body = EMPTY;
        }
      }
      if (
        body.length >= COMPRESS_BYTES_MIN &&
        out['content-encoding'] === undefined &&
        /json|text|javascript|csv/.test(out['content-type'] ?? '')
      ) {
        const coding = pickCoding(headers?.get('accept-encoding') ?? '');
        out['vary'] = out['vary'] === undefined ? 'accept-encoding' : `${out['vary']}, accept-encoding`;
        if (coding !== null) {
          body = await compress(body, coding);
          out['content-encoding'] = coding;
        }
      }
      writeReply(wire, status, out, body, close);
    };

    const fail = async (error: unknown): Promise<void> => {
      const known = error instanceof PipelineError;
      if (!known || error.code === 'internal') logger.error({ err: error, requestId, method, path }, 'request failed');
      if (known && (error.code === 'payload_too_large' || error.code === 'request_timeout')) close = true;
      // uWS goes on parsing the bytes it has read even after an answer that closes; while one is pending it drops the connection instead.
      if (!clean) await new Promise((resolve) => setImmediate(resolve));
      await finish(problemReply(error, path, requestId));
    };

    const run = async (): Promise<Reply> => {
      headers = readHeaders(req);
      requestId = requestIdOf(headers);
      const declared = declaredLength(headers);
      if (headers.get('host') === undefined) throw new PipelineError('bad_request', 'The Host header is missing.');
      const peer = peerOf(addressOf(res), headers, peerRules);
      secure = peer.secure;
      remoteAddress = peer.address;
      if (stopping) throw new PipelineError('shutting_down', 'The service is stopping.');
      clean = true;
      close = declared === 'chunked' || declared > DRAIN_BYTES_MAX; // an early error leaves the body unread
      if (method === 'OPTIONS') return preflight(router, path, headers);
      const mounted = method === 'GET' || wire.head ? staticReply(options.statics, path, headers) : null;
      if (mounted !== null) return mounted;
      if (socketPaths.has(path)) throw new PipelineError('bad_request', 'This is a WebSocket endpoint: send an Upgrade request.');
      const { value: row, params } = router.match(wire.head ? 'GET' : method, path);
      route = row.route;
      const pending = bodyOf(res, route, declared, headers, config.bodyTimeoutMs, wire, abortListeners);
      pending?.catch(() => undefined); // an earlier refusal leaves it without a reader
      if (route.access.public !== true) {
        const now = performance.now();
        if (authFailures.exhausted(peer.address, now)) {
          throw new PipelineError('rate_limited', 'Too many failed credentials from this address.', { retryAfterSec: 1 });
        }
        const held = headers;
        try {
          const found = options.authenticate({
            bearer: bearerOf(headers),
            header: (name) => held.get(name) ?? '',
            method,
            access: route.access,
          });
          caller = found instanceof Promise ? await found : found;
          checkAccess(route.access, caller, method);
        } catch (error) {
          if (error instanceof PipelineError && error.code === 'credential_invalid') authFailures.take(peer.address, now);
          throw error;
        }
        const limit = route.limit ?? 'api';
        if (limit !== 'none') {
          const policed = limits[limit];
          policy = policed.policy;
          const who = callerKey(caller);
          verdict = policed.take(limit === 'ingest' ? `${who} ${peer.address}` : who, now);
          if (!verdict.allowed) {
            throw new PipelineError('rate_limited', `The limit is ${policy}.`, { retryAfterSec: verdict.retryAfterSec });
          }
        }
        const origin = headers.get('origin') ?? '';
        if (origin !== '' && caller.kind !== 'user') await checkOrigin(origin, caller, headers, originAllowed);
      }
      const read = row.query(query);
      for (const [name, check] of row.params) {
        const errors = check(/^\d{1,15}$/.test(params[name] ?? '') && numeric(route, name) ? Number(params[name]) : params[name]);
        // A malformed id names no record: the same answer as an unknown one, so that ids cannot be probed by form.
        if (errors.length > 0) throw new PipelineError('not_found', `There is no such ${name}.`);
      }
      const bytes = pending === null ? null : await pending;
      close = false;
      const body = bytes === null || row.body === null ? bytes : readJson(bytes, row.body);
      const context = contextOf({
        caller,
        params,
        query: read,
        body,
        headers,
        requestId,
        remoteAddress: peer.address,
        wire,
        abortListeners,
      });
      const key = headers.get('idempotency-key') ?? '';
      if (route.idempotent !== true || key === '' || options.idempotency === undefined) return await route.handler(context);
      // oxlint-disable-next-line no-control-regex
      if (!/^[\x21-\x7e]{1,200}$/.test(key))
        throw new PipelineError('bad_request', 'Idempotency-Key must be 1 to 200 visible ASCII characters.');
      const fingerprint = createHash('sha256')
        .update(`${path}?${query}\n`)
        .update(bytes ?? EMPTY)
        .digest('base64url');
      const { handler, operationId } = route;
      return await options.idempotency({ caller, route: operationId, key, fingerprint }, () => handler(context));
    };

    run()
      .then(finish, fail)
      .catch((error: unknown) => {
        logger.error({ err: error, requestId, method, path }, 'answer failed');
        return wire.replied ? undefined : finish(problemReply(error, path, requestId));
      })
      .catch(() => undefined)
      .finally(() => {
        inFlight -= 1;
      });
  });

  const sockets = attachSockets(app, uws, { ...options, originAllowed, ticks, peerRules, isStopping: () => stopping });
  const listening = await new Promise<UwsListenSocket | false>((resolve) => {
    // Exclusive: without it a second service would share the port (SO_REUSEPORT) and take every other connection.
    app.listen(config.host, config.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
  if (listening === false) {
    throw new Error(`cannot listen on ${config.host}:${config.port}: the port is in use or not allowed. Set PORT to another one.`);
  }
  const port = uws.us_socket_local_port(listening);

  return {
    port,
    publish: (topic, bytes, isBinary) => void app.publish(topic, bytes, isBinary, false),
    subscriberCount: (topic) => app.numSubscribers(topic),
    callers: sockets.callers,
    closeSockets: sockets.closeMatching,
    ticks,
    stop: async () => {
      if (stopping) return;
      stopping = true;
      uws.us_listen_socket_close(listening);
      sockets.closeMatching(() => true, 'shutting_down');
      const deadlineMs = performance.now() + config.stopTimeoutMs;
      const busy = (): boolean => inFlight > 0 || sockets.count() > 0;
      while (busy() && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 10));
      app.close();
    },
  };
}

/** Compiles a row's schemas. */
function compileRow(route: Route): Row {
  const params = new Map(Object.entries(route.params ?? {}).map(([name, schema]) => [name, compileCheck(schema)]));
  const body = route.body === undefined || route.body === 'binary' ? null : compileCheck(route.body);
  return { route, query: compileQuery(route.query ?? {}), body, params };
}

function numeric(route: Route, name: string): boolean {
  const schema: { type?: string } | undefined = route.params?.[name];
  return schema?.type === 'integer';
}

/** Starts reading the body at once: uWS drops what arrives before onData is set. null when the route has none. */
function bodyOf(
  res: UwsResponse,
  route: Route,
  declared: number | 'chunked',
  headers: Headers,
  timeoutMs: number,
  wire: Wire,
  abortListeners: (() => void)[],
): Promise<Uint8Array> | null {
  if (route.body === undefined) {
    if (declared !== 0) throw new PipelineError('bad_request', 'This endpoint takes no body.');
    return null;
  }
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const types = route.bodyTypes ?? (route.body === 'binary' ? [] : ['application/json']);
  if (types.length > 0 && !types.includes(type)) {
    throw new PipelineError('unsupported_media_type', `Content-Type must be ${types.join(' or ')}, not ${type.slice(0, 64) || 'absent'}.`);
  }
  if (route.body !== 'binary' && (headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new PipelineError('unsupported_media_type', 'JSON bodies are taken without Content-Encoding.');
  }
  const limits = { bytesMax: route.bodyBytesMax ?? JSON_BYTES_MAX, timeoutMs };
  return readBody(res, declared, limits, {
    get now() {
      return wire.aborted || wire.replied;
    },
    listen: (visit) => void abortListeners.push(visit),
  });
}

type ContextParts = Omit<RequestContext, 'header' | 'signal'> & Readonly<{ headers: Headers; wire: Wire; abortListeners: (() => void)[] }>;

function contextOf(parts: ContextParts): RequestContext {
  const { caller, params, query, body, headers, requestId, remoteAddress, wire, abortListeners } = parts;
  let controller: AbortController | null = null;
  return {
    caller,
    params,
    query,
    body,
    requestId,
    remoteAddress,
    header: (name) => headers.get(name) ?? '',
    // Made on first use: most handlers never ask, and a controller costs more than the rest of this object.
    get signal() {
      if (controller === null) {
        const made = new AbortController();
        if (wire.aborted) made.abort();
        else abortListeners.push(() => made.abort());
        controller = made;
      }
      return controller.signal;
    },
  };
}

function preflight(router: Router<Row>, path: string, headers: Headers): Reply {
  const methods = router.methods(path);
  if (methods.length === 0) throw new PipelineError('not_found', 'There is nothing at this path.');
  const all = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  if (headers.get('access-control-request-method') === undefined)
    return { status: 204, headers: { allow: [...all, 'OPTIONS'].join(', ') } };
  return { status: 204, headers: preflightHeaders(all) };
}

function staticReply(mounts: readonly StaticMount[] | undefined, path: string, headers: Headers): Reply | null {
  for (const mount of mounts ?? []) {
    const reply = mount.reply(path, (name) => headers.get(name) ?? '');
    if (reply !== null) return reply;
  }
  return null;
}

/** Weak comparison (RFC 9110 section 8.8.3.2). */
function etagMatches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((item) => item.trim().replace(/^W\//, '') === bare);
}
