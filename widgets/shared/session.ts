/** Session of one provider: the person its widgets act for, and their calls to the service. Secrets live in private fields only: nothing
 *  here is reflected to an attribute, written to storage or logged. */
import { ApiError, fetchJson } from '../../sdk/fetch-json.ts';
import type { JsonRequest } from '../../sdk/fetch-json.ts';
import { addressOf } from '../../sdk/request.ts';
import type { Answer, AnyRequest, OperationAt, PathOf, RequestArguments } from '../../sdk/request.ts';
import type { LiveConnection, LiveConnectionOptions } from '../../sdk/live-connection.ts';
import type { LiveFrame, LiveState } from './live-frame.ts';

export type Credentials =
  | Readonly<{ mode: 'token'; sdkKey: string; token: string }>
  | Readonly<{ mode: 'direct'; apiKey: string; projectKey: string; externalId: string }>
  /** The service's own dashboard: the browser sends the operator's cookie, scripts never see it. */
  | Readonly<{ mode: 'operator'; subjectId: string; projectId: string }>;

/** Why the widgets cannot show data, as far as the session knows. */
export type SessionState = 'none' | 'ready' | 'unauthorized';

/** A mistake in the page, such as an attribute that means nothing. */
export const pageFault = (detail: string): ApiError => new ApiError(-1, { code: 'page', detail });

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
  /** Who watches this person live, and the feed while it is open: kept by live-feed.ts. */
  readonly live = {
    listeners: new Set<LiveListener>(),
    feed: null as LiveConnection | null,
    /** It is asked for whom the feed is, or that will be asked again. */
    opening: false,
    state: 'connecting' as LiveState,
  };

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

  /** Lifetime less the time since the token came. The browser's clock may be hours wrong, so `exp` is not held against it; it is only asked
   *  for the time that passed, because the monotonic one stands still while a machine sleeps. */
  get leftMs(): number {
    return (this.lifetimeMs ?? Infinity) - Math.max(performance.now() - this.#receivedMs, Date.now() - this.#receivedWallMs);
  }

  /** The least that may be left: a first token may have waited in a cache, and the wall clock may be right. A renewed one is new. */
  get leastLeftMs(): number {
    const wallMs = (this.#claims?.expMs ?? 0) - Date.now();
    return this.#renewed || wallMs <= 0 ? this.leftMs : Math.min(wallMs, this.leftMs);
  }

  /** The same user with a new token: widgets keep what they show, the open socket is told in band.
   *  @returns false when the token is for another person; then a new session is needed */
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
    void this.live.feed?.renew();
    if (recovered) this.#notify();
    return true;
  }

  /** Ids of the user and the project: from the token's claims, or asked once in direct mode. */
  async identity(): Promise<{ subjectId: string; projectId: string }> {
    if (this.#claims !== null) return { subjectId: this.#claims.sub, projectId: this.#claims.proj };
    if (this.#credentials.mode === 'operator') return this.#credentials;
    if (this.#credentials.mode !== 'direct') throw new ApiError(401, { code: 'credential_invalid', detail: 'The token cannot be read.' });
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
    return this.#request(addressOf(path, request), { method: 'GET', signal });
  }

  post<P extends PathOf<'POST'>>(
    path: P,
    ...args: RequestArguments<OperationAt<'POST', P>, Options>
  ): Promise<Answer<OperationAt<'POST', P>>>;
  post(path: string, { signal, ...request }: AnyRequest & Options = {}): Promise<unknown> {
    return this.send(addressOf(path, request), request.body, { signal });
  }

  /** Posts to a whole address: for what was typed when it was made (outbox.ts).
   *  @param idempotencyKey makes a repeated send harmless; give one for everything that creates a record */
  send(address: string, body: unknown, { signal, idempotencyKey }: Options & { idempotencyKey?: string } = {}): Promise<unknown> {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    return this.#request(address, { method: 'POST', body, signal, headers });
  }

  async #request(path: string, request: JsonRequest): Promise<unknown> {
    const credentials = this.#credentials;
    const secret = this.#secret();
    try {
      const response = await fetchJson(new URL(path, this.baseUrl), {
        ...request,
        headers: {
          ...request.headers,
          ...(secret !== '' && { authorization: `Bearer ${secret}` }),
          ...(credentials.mode === 'token' && credentials.sdkKey !== '' && { 'sdk-key': credentials.sdkKey }),
          ...(credentials.mode === 'direct' && {
            'project-key': credentials.projectKey,
            'xuser-id': `UTF-8''${encodeURIComponent(credentials.externalId)}`, // unencoded, it may arrive as another person's
          }),
        },
        credentials: credentials.mode === 'operator' ? 'same-origin' : 'omit',
        referrerPolicy: 'no-referrer',
      });
      return response.status === 204 ? null : response.json();
    } catch (error) {
      if (error instanceof ApiError) {
        // A 401 for a token that has been replaced meanwhile says nothing.
        if (error.status === 401 && credentials === this.#credentials) this.#setState('unauthorized');
      } else if (!request.signal?.aborted) throw new ApiError(0, { code: 'network', detail: 'No connection to the service' });
      throw error;
    }
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

  /** Address and credentials of a live connection.
   *  @throws ApiError when the person cannot be named */
  async liveAddress(): Promise<Pick<LiveConnectionOptions, 'baseUrl' | 'subject' | 'token' | 'sdkKey'>> {
    const { subjectId } = await this.identity();
    const credentials = this.#credentials;
    return {
      baseUrl: this.baseUrl,
      subject: subjectId,
      token: () => this.#secret(),
      sdkKey: credentials.mode === 'token' ? credentials.sdkKey : '',
    };
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
    const { live } = this;
    live.listeners.clear();
    live.feed?.close();
    live.feed = null;
    this.#listeners.clear();
  }
}

/** Reads the claims that the page needs. Not a verification: the service verifies, the page only wants to know whom it shows and until
 *  when. */
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
