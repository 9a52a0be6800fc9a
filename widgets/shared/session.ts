/** Who the widgets of one provider act for, and how they call the service. Secrets live in private fields only: nothing here is reflected
 *  to an attribute, written to storage or logged. */
import { addressOf } from '../../sdk/request.ts';
import type { Answer, AnyRequest, OperationAt, PathOf, RequestArguments } from '../../sdk/request.ts';
import type { LiveFeed, LiveFrame, LiveState, StartLiveFeed } from './live-feed.ts';

export type Credentials =
  | Readonly<{ mode: 'token'; sdkKey: string; token: string }>
  | Readonly<{ mode: 'direct'; apiKey: string; projectKey: string; externalId: string }>
  /** The service's own dashboard: the browser sends the operator's cookie, scripts never see it. */
  | Readonly<{ mode: 'operator'; subjectId: string; projectId: string }>;

/** Why the widgets cannot show data, as far as the session knows. */
export type SessionState = 'none' | 'ready' | 'unauthorized';

/** An answer of the service that is not a success. `status` 0: no answer at all. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly retryAfterSec: number | null;

  constructor(status: number, code: string, detail: string, requestId = '', retryAfterSec: number | null = null) {
    super(detail);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterSec = retryAfterSec;
  }
}

export type LiveListener = Readonly<{
  frame?: (frame: LiveFrame, nowMs: number) => void;
  state?: (state: LiveState, detail: string) => void;
}>;

type Claims = Readonly<{ sub: string; proj: string; expMs: number; lifetimeMs: number }>;

type Options = Readonly<{ signal?: AbortSignal | undefined }>;

export class Session {
  readonly baseUrl: string;
  #credentials: Credentials;
  #claims: Claims | null = null;
  #receivedMs = performance.now();
  #receivedWallMs = Date.now();
  #renewed = false;
  /** The page has been told that this token ends soon. */
  announced = false;
  #resolved: Promise<{ subjectId: string; projectId: string }> | null = null;
  #state: SessionState = 'ready';
  #listeners = new Set<() => void>();
  /** Set by the module of the live widgets, so that pages without them do not carry the feed and its decoder. */
  static startFeed: StartLiveFeed | null = null;
  #live = new Set<LiveListener>();
  #feed: LiveFeed | null = null;
  #liveState: LiveState = 'connecting';

  constructor(baseUrl: string, credentials: Credentials) {
    this.baseUrl = baseUrl;
    this.#credentials = credentials;
    if (credentials.mode === 'token') this.#claims = readClaims(credentials.token);
  }

  get mode(): Credentials['mode'] {
    return this.#credentials.mode;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Lifetime of the token in ms; null where there is none to read. */
  get lifetimeMs(): number | null {
    return this.#claims?.lifetimeMs ?? null;
  }

  /** Lifetime less the time since the token came. The browser's clock may be hours wrong, so `exp` is not held against it; it is only asked for
   *  the time that passed, because the monotonic one stands still while a machine sleeps. */
  get leftMs(): number {
    return (this.lifetimeMs ?? Infinity) - Math.max(performance.now() - this.#receivedMs, Date.now() - this.#receivedWallMs);
  }

  /** The least that may be left: a first token may have waited in a cache, and the wall clock may be right. A renewed one is new. */
  get leastLeftMs(): number {
    const wallMs = (this.#claims?.expMs ?? 0) - Date.now();
    return this.#renewed || wallMs <= 0 ? this.leftMs : Math.min(wallMs, this.leftMs);
  }

  /** The same user with a new token: widgets keep what they show, the open socket is told in band.
   *  @returns false when the token is for somebody else; then a new session is needed */
  renew(token: string): boolean {
    const claims = readClaims(token);
    if (this.#credentials.mode !== 'token' || claims === null) return false;
    const same = this.#claims !== null && claims.sub === this.#claims.sub && claims.proj === this.#claims.proj;
    if (!same) return false;
    if (token === this.#credentials.token) return true;
    this.#credentials = { ...this.#credentials, token };
    this.#claims = claims;
    this.#receivedMs = performance.now();
    this.#receivedWallMs = Date.now();
    this.#renewed = true;
    this.announced = false;
    const recovered = this.#state === 'unauthorized';
    this.#state = 'ready';
    this.#feed?.renew();
    if (recovered) this.#notify();
    return true;
  }

  /** Ids of the user and the project: from the token's claims, or asked once in direct mode. */
  async identity(): Promise<{ subjectId: string; projectId: string }> {
    if (this.#claims !== null) return { subjectId: this.#claims.sub, projectId: this.#claims.proj };
    if (this.#credentials.mode === 'operator') return this.#credentials;
    if (this.#credentials.mode !== 'direct') throw new ServiceError(401, 'credential_invalid', 'The token cannot be read.');
    const { externalId, projectKey } = this.#credentials;
    this.#resolved ??= this.post('/api/v1/xusers', { body: { external_id: externalId, project_key: projectKey } }).then((user) => ({
      subjectId: user.xuser_id,
      projectId: user.project_id,
    }));
    this.#resolved.catch(() => (this.#resolved = null));
    return this.#resolved;
  }

  get<P extends PathOf<'GET'>>(path: P, ...args: RequestArguments<OperationAt<'GET', P>, Options>): Promise<Answer<OperationAt<'GET', P>>>;
  get(path: string, { signal, ...request }: AnyRequest & Options = {}): Promise<unknown> {
    return this.#request(addressOf(path, request), { method: 'GET', ...(signal === undefined ? {} : { signal }) });
  }

  post<P extends PathOf<'POST'>>(
    path: P,
    ...args: RequestArguments<OperationAt<'POST', P>, Options>
  ): Promise<Answer<OperationAt<'POST', P>>>;
  post(path: string, { signal, ...request }: AnyRequest & Options = {}): Promise<unknown> {
    return this.send(addressOf(path, request), request.body, signal === undefined ? {} : { signal });
  }

  /** Posts to a whole address: for what was typed when it was made (outbox.ts).
   *  @param idempotencyKey makes a repeated send harmless; give one for everything that creates a record */
  send(address: string, body: unknown, options: Options & { idempotencyKey?: string } = {}): Promise<unknown> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey;
    return this.#request(address, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  async #request(path: string, init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }): Promise<unknown> {
    const headers: Record<string, string> = { accept: 'application/json', ...init.headers };
    const credentials = this.#credentials;
    const secret = this.#secret();
    if (secret !== '') headers['authorization'] = `Bearer ${secret}`;
    if (credentials.mode === 'token' && credentials.sdkKey !== '') headers['sdk-key'] = credentials.sdkKey;
    if (credentials.mode === 'direct') {
      headers['project-key'] = credentials.projectKey;
      headers['xuser-id'] = `UTF-8''${encodeURIComponent(credentials.externalId)}`; // as it is, it may arrive as somebody else's
    }
    let response: Response;
    try {
      response = await fetch(new URL(path, this.baseUrl), {
        ...init,
        headers,
        credentials: credentials.mode === 'operator' ? 'same-origin' : 'omit',
        referrerPolicy: 'no-referrer',
      });
    } catch (cause) {
      if (init.signal?.aborted === true) throw cause;
      throw new ServiceError(0, 'network', 'The service did not answer.');
    }
    if (response.ok) return response.status === 204 ? null : response.json();
    const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; title?: string; request_id?: string };
    const retry = Number(response.headers.get('retry-after'));
    const error = new ServiceError(
      response.status,
      problem.code ?? 'unknown',
      problem.detail ?? problem.title ?? response.statusText,
      problem.request_id ?? '',
      Number.isFinite(retry) && retry > 0 ? retry : null,
    );
    const used = credentials === this.#credentials; // a 401 for a token that has been replaced meanwhile says nothing
    if (response.status === 401 && used) this.#setState('unauthorized');
    throw error;
  }

  /** The token is past its time and none came in its place. */
  expire(): void {
    this.#setState('unauthorized');
  }

  /** Called when the session's state changes. Returns how to stop. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Joins the one live socket of this session; it is opened for the first listener and closed after the last. Returns how to leave. */
  live(listener: LiveListener): () => void {
    this.#live.add(listener);
    if (this.#feed === null) void this.#openFeed();
    else listener.state?.(this.#liveState, '');
    return () => {
      this.#live.delete(listener);
      // A widget that moves in the page leaves and joins in one task; keep the socket for it.
      setTimeout(() => {
        if (this.#live.size > 0) return;
        this.#feed?.close();
        this.#feed = null;
      });
    };
  }

  async #openFeed(): Promise<void> {
    const toAll = (state: LiveState, detail: string): void => {
      this.#liveState = state;
      for (const listener of this.#live) listener.state?.(state, detail);
    };
    try {
      const { subjectId } = await this.identity();
      if (this.#feed !== null || this.#live.size === 0 || Session.startFeed === null) return;
      this.#feed = Session.startFeed({
        baseUrl: this.baseUrl,
        subjectId,
        token: () => this.#secret(),
        sdkKey: this.#credentials.mode === 'token' ? this.#credentials.sdkKey : '',
        onFrame: (frame, nowMs) => {
          for (const listener of this.#live) listener.frame?.(frame, nowMs);
        },
        onState: toAll,
      });
    } catch (error) {
      const refused = error instanceof ServiceError && error.status !== 0;
      toAll(refused ? 'refused' : 'offline', refused ? error.message : '');
    }
  }

  /** What goes into the Authorization header; empty for operators. */
  #secret(): string {
    const credentials = this.#credentials;
    return credentials.mode === 'token' ? credentials.token : credentials.mode === 'direct' ? credentials.apiKey : '';
  }

  #setState(state: SessionState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#live.clear();
    this.#feed?.close();
    this.#feed = null;
    this.#listeners.clear();
  }
}

/** Reads the claims that the page needs. Not a verification: the service verifies, the page only wants to know whom it shows and until when. */
export function readClaims(token: string): Claims | null {
  try {
    const payload = token.split('.')[1] ?? '';
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.codePointAt(0)!);
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as {
      sub?: unknown;
      proj?: unknown;
      exp?: unknown;
      iat?: unknown;
    };
    if (typeof claims.sub !== 'string' || typeof claims.exp !== 'number') return null;
    const expMs = claims.exp * 1000;
    return {
      sub: claims.sub,
      proj: typeof claims.proj === 'string' ? claims.proj : '',
      expMs,
      lifetimeMs: expMs - (typeof claims.iat === 'number' ? claims.iat * 1000 : Date.now()),
    };
  } catch {
    return null;
  }
}
