/** One row of the route table: it validates requests, shapes responses, says who may call, and becomes the API description.
 *  The table is the only place where an endpoint is declared; the router, /api-docs, the credential matrix test and the typed client read it. */
import type { TSchema } from 'typebox';
import type { Caller, OperatorRole, Scope } from '../caller.ts';
import type { ErrorCode } from '../errors.ts';

/** Who may call. A kind that is absent gets 401; a key without the scope 403; another's record is 404 (the handler's duty). */
export type Access = Readonly<{
  /** Anyone, no credential (health, docs, JWKS, widget bundle). Never under /api/v1. */
  public?: true;
  /** Scope that an organization key needs; absent = keys are refused. */
  key?: Scope;
  /** `own`: the user token's own records only. */
  userToken?: 'own';
  /** Direct mode: an organization key plus project key and xuser-id headers stands for one user (widget records). `true`: a key reads with
   *  `read` and changes with `write`; a scope: that one, whatever is done. */
  direct?: true | Scope;
  /** Least role of an operator session. */
  operator?: OperatorRole;
}>;

/** What src/auth is shown of a request: enough to say who calls, nothing of the body. */
export type AuthRequest = Readonly<{
  /** The secret of `Authorization: Bearer` or of the subprotocol `bio.bearer.<base64url>`; null when none was sent. */
  bearer: string | null;
  header: (lowerCaseName: string) => string;
  method: string;
  access: Access;
}>;

/** Says who calls; `anonymous` when no credential was sent. Synchronous when the credential is in the cache.
 *  @throws PipelineError credential_invalid, token_expired, not_found (direct mode: no such project or user) */
export type Authenticate = (request: AuthRequest) => Caller | Promise<Caller>;

export type RequestContext = Readonly<{
  caller: Caller;
  params: Readonly<Record<string, string>>;
  /** Validated and coerced by the route's query schema. */
  query: Readonly<Record<string, unknown>>;
  /** Validated JSON value, or the raw (still encoded) bytes when `body` is 'binary', or null. */
  body: unknown;
  header: (lowerCaseName: string) => string;
  requestId: string;
  /** Aborted when the peer goes away. */
  signal: AbortSignal;
  remoteAddress: string;
}>;

export type Reply = Readonly<{
  status: number;
  /** Of several cookies (set-cookie) one a line. */
  headers?: Readonly<Record<string, string>>;
  /** A value to be written as JSON (bigint becomes integer digits), bytes, text, or a stream of byte chunks. Absent: no body. */
  json?: unknown;
  bytes?: Uint8Array;
  text?: string;
  stream?: AsyncIterable<Uint8Array>;
  contentType?: string;
}>;

export type ResponseSpec = Readonly<{
  description: string;
  schema?: TSchema;
  /** Default: application/json when there is a schema. */
  contentType?: string;
  /** Other media types that Accept can ask for, with the schema of those that are JSON. */
  alternatives?: Readonly<Record<string, TSchema | null>>;
  headers?: readonly string[];
}>;

export type Route = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/v1/streams/{streamId}/features` */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  params?: Readonly<Record<string, TSchema>>;
  query?: Readonly<Record<string, TSchema>>;
  /** JSON schema of the body, or 'binary' for raw bytes (then `bodyTypes` lists the content types). */
  body?: TSchema | 'binary';
  bodyTypes?: readonly string[];
  bodyBytesMax?: number;
  /** Success answers by status. */
  responses: Readonly<Record<number, ResponseSpec>>;
  /** Error codes that this route can answer besides those that every route can (auth, rate, validation, internal). */
  errors?: readonly ErrorCode[];
  /** POSTs that honour Idempotency-Key. */
  idempotent?: true;
  /** Answers carry an ETag of their bytes, and If-None-Match is answered 304. */
  etag?: true;
  /** Which rate limit counts it: `api` (default) per credential, `ingest` per credential and address, `none`. */
  limit?: 'api' | 'ingest' | 'none';
  handler: (request: RequestContext) => Promise<Reply>;
}>;

/** A WebSocket endpoint. `open` is called after authentication; it answers handlers or a refusal. */
export type SocketRoute = Readonly<{
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  access: Access;
  query?: Readonly<Record<string, TSchema>>;
  /** Subprotocol echoed to the client, e.g. `bio.v1`. */
  protocol: string;
  messageBytesMax: number;
  /** Longer messages, up to this, are given to the handlers, which refuse them with a code; absent: none. Beyond it the library breaks the
   *  connection, and the peer does not hear why. */
  refusedBytesMax?: number;
  /** Open sockets of one user over all tokens, and of one key or operator; above it 429. Absent: no limit. */
  socketsMax?: Readonly<{ user: number; key: number }>;
  /** Bytes of unsent output a socket may hold before uWS drops or closes. */
  backpressureBytesMax: number;
  open: (request: RequestContext, socket: PeerSocket) => SocketHandlers;
}>;

/** The thin view of a uWS socket that ingest and live see. */
export type PeerSocket = Readonly<{
  id: number;
  /** 'sent' | 'buffered' (backpressure) | 'dropped' (over the bound). */
  sendBinary: (bytes: Uint8Array) => 'sent' | 'buffered' | 'dropped';
  sendText: (text: string) => 'sent' | 'buffered' | 'dropped';
  /** Bytes buffered in user space. */
  bufferedBytes: () => number;
  subscribe: (topic: string) => void;
  unsubscribe: (topic: string) => void;
  close: (code: ErrorCode | 'normal', detail: string) => void;
  /** Replaces the caller after an in-band `auth`; the socket closes with token_expired at `expiresAtMs`, and at once when the new credential
   *  is not of the same user, or of a key with the same reach. */
  authenticate: (token: string) => Promise<Caller>;
}>;

export type SocketHandlers = Readonly<{
  /** bytes are the library's own memory: decode or copy before returning or awaiting. */
  binary?: (bytes: Uint8Array) => void;
  text?: (text: string) => void;
  drain?: () => void;
  closed: () => void;
}>;
