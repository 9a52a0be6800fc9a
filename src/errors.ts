/** The closed table of error codes: what each means on HTTP, on a socket, and to the person who reads it. */

type ErrorRow = Readonly<{
  /** HTTP status. */
  status: number;
  /** WebSocket close code; 4000-4499 reconnect, 4500-4999 do not. */
  close: number;
  /** May the client send the same again later? */
  retry: boolean;
  /** Told in a message of a socket that stays open: no answer has this status and no socket closes with this code. */
  inBand?: true;
  /** One sentence for the person who reads it. */
  title: string;
}>;

const table = {
  // who is calling
  credential_missing: { status: 401, close: 4501, retry: false, title: 'This endpoint needs a credential.' },
  credential_invalid: { status: 401, close: 4502, retry: false, title: 'The credential is wrong, has expired or was revoked.' },
  credential_kind: { status: 401, close: 4503, retry: false, title: 'This kind of credential is not accepted here.' },
  token_expired: { status: 401, close: 4001, retry: false, title: 'The user token has expired; get a new one and reconnect.' },
  scope_missing: { status: 403, close: 4504, retry: false, title: 'This key or account may not do this.' },
  origin_forbidden: { status: 403, close: 4505, retry: false, title: 'Requests from this web page are not accepted.' },
  https_required: { status: 403, close: 4506, retry: false, title: 'Use HTTPS.' },
  consent_missing: {
    status: 403,
    close: 4508,
    retry: false,
    title: 'The person has not consented to this, or has withdrawn their consent.',
  },
  not_found: { status: 404, close: 4507, retry: false, title: 'Not found, or not visible to this credential.' },
  // what was asked
  bad_request: { status: 400, close: 4510, retry: false, title: 'The request is malformed.' },
  validation_failed: { status: 422, close: 4511, retry: false, title: 'A value in the request is missing or not valid.' },
  method_not_allowed: { status: 405, close: 4512, retry: false, title: 'This path does not support this method.' },
  not_acceptable: { status: 406, close: 4513, retry: false, title: 'None of the accepted media types can be produced.' },
  unsupported_media_type: { status: 415, close: 4514, retry: false, title: 'The content type or encoding is not supported.' },
  payload_too_large: { status: 413, close: 4515, retry: false, title: 'The body is larger than the limit.' },
  headers_too_large: { status: 431, close: 4516, retry: false, title: 'The request headers are larger than the limit.' },
  idempotency_mismatch: { status: 422, close: 4517, retry: false, title: 'This Idempotency-Key was already used for a different request.' },
  conflict: { status: 409, close: 4518, retry: false, title: 'The request conflicts with the current state.' },
  precondition_failed: { status: 412, close: 4521, retry: false, title: 'The record was changed by someone else after you read it.' },
  precondition_required: { status: 428, close: 4522, retry: false, title: 'The request must name the version it changes (If-Match).' },
  cursor_invalid: { status: 400, close: 4519, retry: false, title: 'The cursor is malformed or belongs to another query.' },
  range_too_large: { status: 400, close: 4520, retry: false, title: 'The request asks for more than fits in one response.' },
  request_timeout: { status: 408, close: 4002, retry: true, title: 'The request body did not arrive in time.' },
  // packets
  packet_malformed: { status: 400, close: 4530, retry: false, title: 'The packet is not a valid protocol buffer of this schema.' },
  packet_too_large: { status: 413, close: 4531, retry: false, title: 'The packet is larger than the limit.' },
  packet_schema_version: { status: 400, close: 4532, retry: false, title: 'The schema version is not supported.' },
  packet_invalid: { status: 422, close: 4533, retry: false, title: 'A field of the packet is out of range.' },
  packet_clock: { status: 422, close: 4534, retry: false, title: 'The times of the packet are outside the accepted range.' },
  packet_conflict: { status: 409, close: 4535, retry: false, title: 'A different packet with this sequence number is already stored.' },
  channel_limit: { status: 422, close: 4536, retry: false, title: 'The stream has too many channel configurations.' },
  // load and health
  rate_limited: { status: 429, close: 4010, retry: true, title: 'Too many requests; slow down.' },
  busy: { status: 503, close: 4011, retry: true, title: 'The service is at its limit; send the request again.' },
  unavailable: {
    status: 503,
    close: 4012,
    retry: true,
    title: 'Part of the service is unavailable; send the request again.',
  },
  shutting_down: { status: 503, close: 4013, retry: true, title: 'The service is restarting; reconnect.' },
  slow_consumer: { status: 503, close: 4014, retry: true, title: 'The viewer was too slow for too long.' },
  replay_too_old: { status: 410, close: 4540, retry: false, inBand: true, title: 'The requested frames are no longer kept.' },
  internal: { status: 500, close: 4015, retry: true, title: 'The service failed; the error has been logged.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof table;

export const errorTable: Readonly<Record<ErrorCode, ErrorRow>> = table;

/** A request that fails. One place turns it into a status or a close code, from the table. */
export class PipelineError extends Error {
  override readonly name = 'PipelineError';
  readonly code: ErrorCode;
  readonly errors: readonly FieldError[];
  /** Seconds after which to try again, for 429 and 503. */
  readonly retryAfterSec: number | null;

  constructor(code: ErrorCode, detail: string, options: { cause?: unknown; errors?: readonly FieldError[]; retryAfterSec?: number } = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAfterSec = options.retryAfterSec ?? null;
  }
}

/** One thing wrong with one field; `pointer` is a JSON pointer (RFC 6901). */
export type FieldError = Readonly<{ pointer: string; code: string; detail: string }>;

/** Bad data is a value, not an exception. */
export type Rejected = Readonly<{ rejected: true; code: ErrorCode; detail: string }>;

export function rejected(code: ErrorCode, detail: string): Rejected {
  return { rejected: true, code, detail };
}

export function isRejected(value: object): value is Rejected {
  // not `in`: on objects of many shapes, at least once per packet, it costs ten times a plain read
  return (value as { rejected?: unknown }).rejected === true;
}

/** A database that is unreachable, restarting, out of connections (SQLSTATE classes 08, 53, 57P; socket errors) or too slow for its time
 *  limit (57014) is `unavailable`: the client may send the same again. Anything else that is not ours is a fault. */
export function knownError(error: unknown): PipelineError {
  if (error instanceof PipelineError) return error;
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '57014' || (error instanceof Error && error.message === 'Query read timeout')) {
    return new PipelineError('unavailable', 'The database did not finish within its time limit: ask for less.', {
      cause: error,
      retryAfterSec: 5,
    });
  }
  if (isDatabaseAway(error))
    return new PipelineError('unavailable', 'The database does not answer at the moment.', { cause: error, retryAfterSec: 1 });
  return new PipelineError('internal', 'The request failed for a reason that was logged.', { cause: error });
}

/** Whether a database that is unreachable, restarting or out of connections is the reason of an error that is not ours. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof PipelineError) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered)/.test(error.message) ||
    /^(08...|53...|57P..|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT)$/.test(code)
  );
}
