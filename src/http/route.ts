/** One row of the route table: it validates requests, shapes responses, says who may call, and becomes the API description. The table is
 *  the only place where an endpoint is declared; the router, /api-docs, the credential matrix test and the typed client read it. */
import type { Static, TObject, TSchema } from 'typebox';
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
   *  `read` and changes with `write`; a scope: that one, for both. */
  direct?: true | Scope;
  /** Least role of an operator session. */
  operator?: OperatorRole;
}>;

/** The part of a request that src/auth sees: enough to identify the caller, nothing of the body. */
export type AuthRequest = Readonly<{
  /** The secret of `Authorization: Bearer` or of the subprotocol `bio.bearer.<base64url>`; null when none was sent. */
  bearer: string | null;
  header: (lowerCaseName: string) => string;
  method: string;
  access: Access;
}>;

/** Authenticates a request; `anonymous` when no credential was sent. Synchronous when the credential is in the cache.
 *  @throws PipelineError credential_invalid, token_expired, not_found (direct mode: no such project or user) */
export type Authenticate = (request: AuthRequest) => Caller | Promise<Caller>;

/** A request that has passed its checks. The types of params, query and body come from its route's schemas (defineRoute). */
export type RequestContext<
  Params = Readonly<Record<string, string>>,
  Query = Readonly<Record<string, unknown>>,
  Body = unknown,
> = Readonly<{
  caller: Caller;
  /** Text of the path segment, accepted by the schema. */
  params: Params;
  /** Validated and coerced by the route's query schema. */
  query: Query;
  /** Validated JSON value, or the raw (still encoded) bytes when `body` is 'binary', or null when the route has none. */
  body: Body;
  header: (lowerCaseName: string) => string;
  requestId: string;
  /** Aborted when the peer goes away. */
  signal: AbortSignal;
  remoteAddress: string;
  /** Scheme and name by which the client reached the service, such as https://bio.example: as requestedAddress (host.ts) says, for links of
   *  the answer alone.  @throws PipelineError bad_request */
  requestedAddress: () => string;
}>;

export type Reply<Status extends number = number> = Readonly<{
  status: Status;
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

type Schemas = Readonly<Record<string, TSchema>>;

/** A row as the router and the description read it. Rows are made by defineRoute. */
export type Route = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/v1/streams/{streamId}/features` */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  params?: Schemas;
  query?: Schemas;
  /** Headers of the request that this route takes and others do not, by name: described, and read by its handler. */
  headers?: Schemas;
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

// oxlint-disable-next-line typescript/no-empty-object-type
type Nothing = {};

/** What an object with these members holds; optional ones may be absent. */
type Members<S extends Schemas> = keyof S extends never ? Nothing : Readonly<Static<TObject<{ -readonly [Name in keyof S]: S[Name] }>>>;

/** `/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}`: 'webhookId' | 'deliveryId' */
type PathParam<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | PathParam<Rest> : never;

type Params<Path extends string> = Readonly<Record<PathParam<Path>, TSchema>>;

type QueryOf<Query> = Query extends Schemas ? Members<Query> : Nothing;
type BodyOf<Body> = Body extends 'binary' ? Uint8Array : Body extends TSchema ? Static<Body> : null;

/** Values accepted where a schema says T: also readonly lists, and undefined for an optional member. */
type Sent<T> = T extends readonly (infer Item)[] ? readonly Sent<Item>[] : T extends object ? SentMembers<T> : T;
type SentMembers<T> = { readonly [Name in keyof T]: Sent<T[Name]> | (T extends Readonly<Record<Name, unknown>> ? never : undefined) };

/** The JSON of a response: as its schema says, or that of a media type that Accept can ask for; never: it declares none. */
type JsonOf<Spec extends ResponseSpec> = SentBy<Member<Spec, 'schema'>> | SentBy<Values<Member<Spec, 'alternatives'>>>;
type SentBy<Schema> = Schema extends TSchema ? Sent<Static<Schema>> : never;
type Member<T, Name extends string> = T extends Readonly<Record<Name, infer Value>> ? Value : never;
type Values<T> = T extends unknown ? T[keyof T] : never;

type Written = Readonly<{ bytes: Uint8Array } | { text: string } | { stream: AsyncIterable<Uint8Array> }>;
/** Answers of functions that several handlers share: with a JSON value, and with a body already written. */
export type JsonReply<Status extends number, Json> = Reply<Status> & Readonly<{ json: Json }>;
export type WrittenReply<Status extends number> = Omit<Reply<Status>, 'json'> & Written;
type BodyBy<Spec extends ResponseSpec> = [JsonOf<Spec>] extends [never] ? { json?: never } : { json: JsonOf<Spec> } | Written;

/** An answer of a status that a route declares, with the body that is declared for it. */
type ReplyOf<Responses extends Route['responses']> = {
  [Status in keyof Responses & number]: Reply<Status> & Readonly<BodyBy<Responses[Status]>>;
}[keyof Responses & number];

/** Refuses `any`, the type of untyped query rows: it would fit every schema. */
type Known<Answer> = Answer extends { json: infer Json } ? (0 extends Json & 1 ? { json: never } : unknown) : unknown;

/** A row as written: its handler gets values that passed the row's schemas, and answers a status that the row declares. */
type RouteDefinition<
  Path extends string,
  PathSchemas extends Params<Path>,
  Query extends Schemas | null,
  Body extends TSchema | 'binary' | null,
  Responses extends Route['responses'],
  Answer extends ReplyOf<Responses>,
> = Omit<Route, 'path' | 'params' | 'query' | 'body' | 'responses' | 'handler'> &
  Readonly<{
    path: Path;
    query?: Query;
    body?: Body;
    responses: Responses;
    handler: (
      request: RequestContext<Members<Pick<PathSchemas, PathParam<Path>>>, QueryOf<Query>, BodyOf<Body>>,
    ) => Promise<Answer & Known<Answer>>;
  }> &
  ([PathParam<Path>] extends [never] ? unknown : Readonly<{ params: PathSchemas }>);

/** Declares an endpoint. Here alone the types of a request are taken on trust: src/http/incoming.ts has checked it by these schemas. */
export function defineRoute<
  const Path extends string,
  PathSchemas extends Params<Path>,
  Responses extends Route['responses'],
  const Answer extends ReplyOf<Responses>,
  Query extends Schemas | null = null,
  Body extends TSchema | 'binary' | null = null,
>(route: RouteDefinition<Path, PathSchemas, Query, Body, Responses, Answer>): Route {
  return route as unknown as Route;
}

/** A WebSocket endpoint. `open` is called after authentication; it answers handlers or a refusal. */
export type SocketRoute = Readonly<{
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  access: Access;
  query?: Schemas;
  /** Subprotocol echoed to the client, e.g. `bio.v1`. */
  protocol: string;
  messageBytesMax: number;
  /** Longer messages, up to this, reach the handlers, which refuse them with a code; absent: none. Beyond it the library breaks the
   *  connection, and the peer does not learn why. */
  refusedBytesMax?: number;
  /** Open sockets of one user over all tokens, and of one key or operator; above it 429. Absent: no limit. */
  socketsMax?: Readonly<{ user: number; key: number }>;
  /** Bytes of unsent output a socket may hold before uWS drops or closes. */
  backpressureBytesMax: number;
  open: (request: RequestContext, socket: PeerSocket) => SocketHandlers;
}>;

type SocketDefinition<Query extends Schemas | null> = Omit<SocketRoute, 'query' | 'open'> &
  Readonly<{ query?: Query; open: (request: RequestContext<Nothing, QueryOf<Query>, null>, socket: PeerSocket) => SocketHandlers }>;

/** Declares a WebSocket endpoint; src/http/sockets.ts has checked the query. */
export function defineSocket<Query extends Schemas | null = null>(route: SocketDefinition<Query>): SocketRoute {
  return route as unknown as SocketRoute;
}

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
  /** Replaces the caller after an in-band `auth`; the socket closes with token_expired at `expiresAtMs`, and at once when the new
   *  credential is not of the same user, or of a key with the same reach. */
  authenticate: (token: string) => Promise<Caller>;
}>;

export type SocketHandlers = Readonly<{
  /** bytes are the library's own memory: decode or copy before returning or awaiting. */
  binary?: (bytes: Uint8Array) => void;
  text?: (text: string) => void;
  drain?: () => void;
  closed: () => void;
}>;
