/** One HTTP request, from its headers to its answer:
 *  hygiene ▸ https ▸ route ▸ (body starts) ▸ who ▸ may ▸ rate ▸ origin ▸ query ▸ body ▸ handler ▸ reply.
 *  Whatever is thrown on the way becomes a problem+json answer here, and nowhere else. */
import { createHash } from 'node:crypto';
import { isDatabaseAway, PipelineError } from '../errors.ts';
import { checkAccess } from './access.ts';
import { readBody } from './body.ts';
import { COMPRESS_BYTES_MIN, compress, pickCoding } from './compress.ts';
import type { CredentialGate } from './credential-gate.ts';
import { checkOrigin, corsHeaders, needOwnPage, preflightHeaders } from './cors.ts';
import type { OriginAllowed } from './cors.ts';
import { requestedAddress } from './host.ts';
import type { HostRule } from './host.ts';
import { declaredLength, readHeaders } from './hygiene.ts';
import type { Headers } from './hygiene.ts';
import { writeJson } from './json.ts';
import { peerOf } from './peer.ts';
import type { PeerRules } from './peer.ts';
import { problemReply } from './problem.ts';
import type { RateLimit, Verdict } from './rate-limit.ts';
import { writeReply, writeStream } from './reply.ts';
import type { Place, Wire } from './reply.ts';
import { addressOf, bearerOf, callerKey, newRequestId, requestIdOf } from './request.ts';
import type { Access, Reply, RequestContext, Route } from './route.ts';
import type { Router } from './router.ts';
import type { HttpOptions } from './server.ts';
import type { StaticMount } from './static-files.ts';
import type { Unsent } from './unsent.ts';
import type { UwsRequest, UwsResponse } from './uws.ts';
import { compileCheck, compileQuery, readJson } from './validate.ts';
import type { Preparing } from './validate.ts';
import type { Check, QueryReader } from './validate.ts';
import type { Caller } from '../caller.ts';

/** JSON bodies of routes that state no limit of their own, bytes. */
export const JSON_BYTES_MAX = 1024 * 1024;
/** An unread body up to this long is read and thrown away; beyond it an early answer closes the connection. */
const DRAIN_BYTES_MAX = 64 * 1024;

/** A route with its schemas compiled. */
export type Row = Readonly<{ route: Route; query: QueryReader; body: Check | null; params: ReadonlyMap<string, Check> }>;

/** State shared by all requests of a server. */
export type Shared = Readonly<{
  options: HttpOptions;
  router: Router<Row>;
  socketPaths: ReadonlySet<string>;
  peerRules: PeerRules;
  checkHost: HostRule;
  limits: Readonly<Record<'api' | 'ingest', RateLimit>>;
  gate: CredentialGate;
  originAllowed: OriginAllowed;
  unsent: Unsent;
  isStopping: () => boolean;
}>;

/** Duration after which a request checks again whether its credential is still valid, ms. */
const ASKED_AGAIN_MS = 100;
const ANONYMOUS: Caller = { kind: 'anonymous' };
const EMPTY = new Uint8Array(0);
const NO_MEMBERS = new TextEncoder().encode('{}');
const encoder = new TextEncoder();
const browserHeaders = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export class Incoming {
  readonly #shared: Shared;
  readonly #wire: Wire;
  readonly #startedMs: number;
  readonly #method: string;
  readonly #path: string;
  readonly #query: string;
  readonly #abortListeners: (() => void)[] = [];
  #headers: Headers = new Map();
  #requestId = '';
  #remoteAddress = '';
  #secure: boolean;
  #route: Route | null = null;
  #caller: Caller = ANONYMOUS;
  #rate: Readonly<{ policy: string; verdict: Verdict }> | null = null;
  /** True until the end of this request is certain; an error then closes the connection. */
  #framed = false;
  #close = true;

  constructor(shared: Shared, res: UwsResponse, req: UwsRequest, startedMs: number) {
    this.#shared = shared;
    this.#startedMs = startedMs;
    this.#method = req.getCaseSensitiveMethod();
    this.#path = req.getUrl();
    this.#query = req.getQuery() ?? '';
    this.#secure = shared.peerRules.tls;
    this.#wire = { res, head: this.#method === 'HEAD', aborted: false, replied: false };
    res.onAborted(() => {
      this.#wire.aborted = true;
      this.#wire.gone?.();
      for (const listener of this.#abortListeners) listener();
    });
  }

  /** Answers the request. Never rejects. The synchronous part runs before it returns: uWS takes `req` back then.
   *  @param ended called when the answer is written or the peer is gone */
  async answer(req: UwsRequest, ended: () => void): Promise<void> {
    try {
      const pending = this.#finish(await this.#run(req));
      if (pending !== null) await pending;
    } catch (error) {
      await this.#fail(error).catch((second: unknown) => this.#log(second, 'the problem could not be answered'));
    } finally {
      ended();
    }
  }

  async #run(req: UwsRequest): Promise<Reply> {
    const { options, router, socketPaths, peerRules, checkHost, isStopping } = this.#shared;
    const headers = readHeaders(req);
    this.#headers = headers;
    this.#requestId = requestIdOf(headers);
    const declared = declaredLength(headers);
    const host = headers.get('host');
    if (host === undefined) throw new PipelineError('bad_request', 'The Host header is missing.');
    checkHost(host);
    const peer = peerOf(addressOf(this.#wire.res, peerRules), headers, peerRules);
    this.#secure = peer.secure;
    this.#remoteAddress = peer.address;
    if (isStopping()) throw new PipelineError('shutting_down', 'The service is stopping.');
    this.#framed = true;
    this.#close = declared === 'chunked' || declared > DRAIN_BYTES_MAX; // an early error leaves the body unread
    const refusal = options.refuse?.(this.#path) ?? null;
    if (refusal !== null) throw refusal;
    if (this.#method === 'OPTIONS') {
      refuseBody(declared);
      return preflight(router, this.#path, headers);
    }
    const mounted = this.#method === 'GET' || this.#wire.head ? staticReply(options.statics, this.#path, headers) : null;
    if (mounted !== null) {
      refuseBody(declared);
      return mounted;
    }
    if (socketPaths.has(this.#path)) throw new PipelineError('bad_request', 'This is a WebSocket endpoint: send an Upgrade request.');
    const { value: row, params } = router.match(this.#wire.head ? 'GET' : this.#method, this.#path);
    this.#route = row.route;
    const pending = this.#startBody(row.route, declared);
    pending?.catch(() => undefined); // an earlier refusal leaves it without a reader
    if (row.route.access.public !== true) {
      const authorized = this.#authorize(row.route);
      if (authorized !== null) await authorized;
    }
    const query = row.query(this.#query);
    checkParams(row, params);
    const bytes = pending === null ? null : await pending;
    this.#close = false;
    if (pending !== null && performance.now() - this.#startedMs > ASKED_AGAIN_MS) await this.#askAgain(row.route);
    const body = bytes === null || row.body === null ? bytes : readJson(bytes, row.body);
    return await this.#handle(row.route, this.#context(params, query, body), bytes ?? EMPTY);
  }

  /** Checks identity, rights, rate and origin. null: already answered, as for a credential in the cache. */
  #authorize(route: Route): Promise<void> | null {
    const found = this.#whoIs(route);
    if (!(found instanceof Promise)) return this.#permit(route, found);
    return found.then((caller) => this.#permit(route, caller) ?? undefined);
  }

  #whoIs(route: Route): Caller | Promise<Caller> {
    const headers = this.#headers;
    const request = {
      bearer: this.#bearer(),
      header: (name: string) => headers.get(name) ?? '',
      method: this.#method,
      access: route.access,
    };
    return this.#shared.gate.check(request, this.#remoteAddress);
  }

  /** Checks the credential again: a body or an answer takes as long as its peer likes, and a right revoked meanwhile is revoked for this
   *  request too.
   *  @throws PipelineError */
  async #askAgain(route: Route): Promise<void> {
    if (route.access.public === true) return;
    const caller = await this.#whoIs(route);
    checkAccess(route.access, caller, this.#method);
  }

  /** Ends a long answer when the right to it ends. No generator: its end would not reach `chunks` before the first was requested. */
  #whileAllowed(route: Route, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const all = chunks[Symbol.asyncIterator]();
    const end = async (): Promise<IteratorResult<Uint8Array, void>> => {
      await all.return?.();
      return { done: true, value: undefined };
    };
    let askedMs = performance.now();
    const next = async (): Promise<IteratorResult<Uint8Array, void>> => {
      const result = (await all.next()) as IteratorResult<Uint8Array, void>;
      if (result.done === true || performance.now() - askedMs <= ASKED_AGAIN_MS) return result;
      askedMs = performance.now();
      try {
        await this.#askAgain(route);
      } catch (error) {
        await end();
        throw error;
      }
      return result;
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  }

  /** Also fails for a header that is not a bearer credential. */
  #bearer(): string | null {
    try {
      return bearerOf(this.#headers);
    } catch (error) {
      throw this.#shared.gate.refusal(error, this.#remoteAddress);
    }
  }

  #permit(route: Route, caller: Caller): Promise<void> | null {
    const { limits, originAllowed } = this.#shared;
    const headers = this.#headers;
    const now = this.#startedMs;
    // One object per request, because src/tenancy/request-scope.ts notes by it what the request is about. Not needed for packets.
    this.#caller = route.limit === 'ingest' ? caller : { ...caller };
    checkAccess(route.access, caller, this.#method);
    needOwnPage(caller, this.#method, headers);
    const name = route.limit ?? 'api';
    if (name !== 'none') {
      const limit = limits[name];
      const who = callerKey(this.#caller);
      const verdict = limit.take(name === 'ingest' ? `${who} ${this.#remoteAddress}` : who, now);
      this.#rate = { policy: limit.policy, verdict };
      if (!verdict.allowed)
        throw new PipelineError('rate_limited', `The limit is ${limit.policy}.`, { retryAfterSec: verdict.retryAfterSec });
    }
    const origin = headers.get('origin') ?? '';
    return origin !== '' && caller.kind !== 'user' ? checkOrigin(origin, caller, headers, originAllowed) : null;
  }

  /** Starts reading the body at once: uWS drops what arrives before onData is set. null when the route has none. */
  #startBody(route: Route, declared: number | 'chunked'): Promise<Uint8Array> | null {
    if (route.body === undefined) {
      refuseBody(declared);
      return null;
    }
    // If every member is optional, so is the body: `curl -X POST` sends neither a body nor a type.
    if (declared === 0 && route.body !== 'binary' && this.#headers.get('content-type') === undefined) return Promise.resolve(NO_MEMBERS);
    checkBodyType(route, this.#headers);
    const wire = this.#wire;
    const limits = { bytesMax: route.bodyBytesMax ?? JSON_BYTES_MAX, timeoutMs: this.#shared.options.config.bodyTimeoutMs };
    return readBody(wire.res, declared, limits, {
      get now() {
        return wire.aborted || wire.replied;
      },
      listen: (visit) => void this.#abortListeners.push(visit),
    });
  }

  #handle(route: Route, context: RequestContext, bytes: Uint8Array): Promise<Reply> {
    const { idempotency } = this.#shared.options;
    const key = this.#headers.get('idempotency-key') ?? '';
    if (route.idempotent !== true || key === '' || idempotency === undefined) return route.handler(context);
    if (!/^[\x21-\x7e]{1,200}$/.test(key)) {
      throw new PipelineError('bad_request', 'Idempotency-Key must be 1 to 200 visible ASCII characters.');
    }
    const fingerprint = createHash('sha256').update(`${this.#path}?${this.#query}\n`).update(bytes).digest('base64url');
    return idempotency({ caller: this.#caller, route: route.operationId, key, fingerprint }, () => route.handler(context));
  }

  #context(params: RequestContext['params'], query: RequestContext['query'], body: unknown): RequestContext {
    const headers = this.#headers;
    const wire = this.#wire;
    const listeners = this.#abortListeners;
    let controller: AbortController | null = null;
    return {
      caller: this.#caller,
      params,
      query,
      body,
      requestId: this.#requestId,
      remoteAddress: this.#remoteAddress,
      requestedAddress: () => requestedAddress(headers.get('host') ?? '', this.#secure),
      header: (name) => headers.get(name) ?? '',
      // Made on first use: most handlers never ask, and a controller costs more than the rest of this object.
      get signal() {
        if (controller === null) {
          const made = new AbortController();
          if (wire.aborted) made.abort();
          else listeners.push(() => made.abort());
          controller = made;
        }
        return controller.signal;
      },
    };
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#requestId === '') this.#requestId = newRequestId(); // refused before its headers were read
    const known = error instanceof PipelineError;
    // That the database is away is told by who waits for it, not by each request of each device.
    if (known ? error.code === 'internal' : !isDatabaseAway(error)) this.#log(error, 'request failed');
    if (known && (error.code === 'payload_too_large' || error.code === 'request_timeout')) this.#close = true;
    // uWS continues to parse bytes already read even after an answer that closes; while an answer is pending it drops the connection
    // instead.
    if (!this.#framed) await new Promise((resolve) => setImmediate(resolve));
    const reply = problemReply(error, this.#path, this.#requestId);
    const allow = known && error.code === 'method_not_allowed' ? { allow: methodsOf(this.#shared.router, this.#path).join(', ') } : {};
    await this.#finish({ ...reply, headers: { ...reply.headers, ...allow } });
  }

  /** null: written. */
  #finish(reply: Reply): Promise<void> | null {
    const wire = this.#wire;
    if (wire.replied) return null;
    const out = this.#outHeaders(reply);
    this.#shared.options.observe?.({
      route: this.#route,
      method: this.#method,
      status: reply.status,
      durationMs: performance.now() - this.#startedMs,
      caller: this.#caller,
      reply,
      path: this.#path,
      remoteAddress: this.#remoteAddress,
      requestId: this.#requestId,
    });
    if (reply.stream !== undefined) {
      const route = this.#route;
      return writeStream(wire, reply.status, out, route === null ? reply.stream : this.#whileAllowed(route, reply.stream), this.#place());
    }
    let body: Uint8Array | string = bodyOf(reply);
    let { status } = reply;
    if (this.#route?.etag === true && status === 200) {
      out['etag'] ??= `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
      out['cache-control'] = 'private, no-cache';
      if (etagMatches(this.#headers.get('if-none-match') ?? '', out['etag'])) {
        status = 304;
        body = EMPTY;
      }
    }
    const packable = body.length >= COMPRESS_BYTES_MIN && out['content-encoding'] === undefined;
    if (packable && /json|text|javascript|csv/.test(out['content-type'] ?? '')) {
      out['vary'] = out['vary'] === undefined ? 'accept-encoding' : `${out['vary']}, accept-encoding`;
      const coding = pickCoding(this.#headers.get('accept-encoding') ?? '');
      if (coding !== null) {
        out['content-encoding'] = coding;
        const packed = compress(typeof body === 'string' ? encoder.encode(body) : body, coding);
        return packed.then((bytes) => writeReply(wire, status, out, bytes, this.#close, this.#place()));
      }
    }
    writeReply(wire, status, out, body, this.#close, this.#place());
    return null;
  }

  /** Peers without a credential share a place by their address. */
  #place(): Place {
    const caller = this.#caller.kind === 'anonymous' ? this.#remoteAddress : callerKey(this.#caller);
    return { unsent: this.#shared.unsent, caller };
  }

  #outHeaders(reply: Reply): Record<string, string> {
    const out: Record<string, string> = { 'x-request-id': this.#requestId };
    // A device reads the body of its acknowledgement; headers meant for browsers would be a third of the answer.
    if (this.#route?.limit !== 'ingest' || reply.status >= 300) {
      Object.assign(out, browserHeaders);
      if (this.#secure) out['strict-transport-security'] = 'max-age=31536000; includeSubDomains';
      if (this.#rate !== null) {
        const { policy, verdict } = this.#rate;
        out['ratelimit-policy'] = policy;
        out['ratelimit'] = `"${this.#route?.limit ?? 'api'}";r=${verdict.remaining};t=${verdict.resetSec}`;
      }
    }
    const origin = this.#headers.get('origin') ?? '';
    if (origin !== '' && this.#method !== 'OPTIONS') Object.assign(out, corsHeaders(origin, this.#caller)); // preflight() sets its own
    for (const name in reply.headers) out[name.toLowerCase()] = reply.headers[name] ?? '';
    const type = reply.contentType ?? (reply.json === undefined ? undefined : 'application/json');
    if (type !== undefined) out['content-type'] = type;
    return out;
  }

  #log(error: unknown, message: string): void {
    this.#shared.options.logger.error({ err: error, requestId: this.#requestId, method: this.#method, path: this.#path }, message);
  }
}

/** Compiles the schemas of a route, in `preparing` or when they are first asked. */
export function compileRow(route: Route, preparing: Preparing): Row {
  const params = new Map(Object.entries(route.params ?? {}).map(([name, schema]) => [name, compileCheck(schema, '', preparing)]));
  const body = route.body === undefined || route.body === 'binary' ? null : compileCheck(route.body, '', preparing);
  return { route, query: compileQuery(route.query ?? {}, preparing), body, params };
}

function refuseBody(declared: number | 'chunked'): void {
  if (declared !== 0) throw new PipelineError('bad_request', 'This endpoint takes no body.');
}

function isInteger(route: Route, name: string): boolean {
  const schema: { type?: string } | undefined = route.params?.[name];
  return schema?.type === 'integer';
}

/** What a parameter of a path names, where its own name does not say it. */
const things: Readonly<Record<string, string>> = { xuserId: 'user', id: 'episode', sdkKeyId: 'key' };

/** A malformed id names no record: the same answer as an unknown one, so that ids cannot be probed by form. */
function checkParams(row: Row, params: Readonly<Record<string, string>>): void {
  for (const [name, check] of row.params) {
    const text = params[name] ?? '';
    const errors = check(/^\d{1,15}$/.test(text) && isInteger(row.route, name) ? Number(text) : text);
    if (errors.length > 0) throw new PipelineError('not_found', `There is no such ${things[name] ?? name.replace(/Id$/, '')}.`);
  }
}

function checkBodyType(route: Route, headers: Headers): void {
  const given = headers.get('content-type') ?? '';
  if (route.body === 'binary' && route.bodyTypes?.includes(given) === true) return;
  const type = given.split(';')[0]?.trim().toLowerCase() ?? '';
  const types = route.bodyTypes ?? (route.body === 'binary' ? [] : ['application/json']);
  if (types.length > 0 && !types.includes(type)) {
    throw new PipelineError('unsupported_media_type', `Content-Type must be ${types.join(' or ')}, not ${type.slice(0, 64) || 'absent'}.`);
  }
  if (route.body !== 'binary' && (headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new PipelineError('unsupported_media_type', 'JSON bodies are taken without Content-Encoding.');
  }
}

/** Text stays text: the library writes it as UTF-8 itself. */
function bodyOf(reply: Reply): Uint8Array | string {
  if (reply.bytes !== undefined) return reply.bytes;
  return reply.json === undefined ? (reply.text ?? EMPTY) : writeJson(reply.json);
}

/** Methods of a path; HEAD goes with GET. */
function methodsOf(router: Router<Row>, path: string): readonly string[] {
  const methods = router.methods(path);
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

/** Answers a preflight. Other origins are allowed where user tokens or direct mode are accepted, or nothing is secret; nowhere else. */
function preflight(router: Router<Row>, path: string, headers: Headers): Reply {
  const all = methodsOf(router, path);
  if (all.length === 0) throw new PipelineError('not_found', 'There is nothing at this path.');
  const allow = [...all, 'OPTIONS'].join(', ');
  if (headers.get('access-control-request-method') === undefined) return { status: 204, headers: { allow } };
  const forPages = router.methods(path).filter((method) => isForPages(router.match(method, path).value.route.access));
  return { status: 204, headers: forPages.length === 0 ? { allow } : preflightHeaders(forPages) };
}

function isForPages({ public: open, userToken, direct }: Access): boolean {
  return open === true || userToken !== undefined || direct === true;
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
