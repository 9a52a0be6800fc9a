/** Problem details (RFC 9457): the one place where an error becomes an HTTP answer. */
import { errorTable, PipelineError } from '../errors.ts';
import type { ErrorCode, FieldError } from '../errors.ts';
import type { Reply } from './route.ts';
import { writeJson } from './json.ts';

export const PROBLEM_TYPE = 'application/problem+json';

export type Problem = Readonly<{
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Path of the request, never its query string: queries carry personal data. */
  instance: string;
  code: ErrorCode;
  errors: readonly FieldError[];
  request_id: string;
}>;

/** Turns whatever was thrown into a problem; anything but a PipelineError is `internal`, and its message stays in the log. */
export function problemOf(error: unknown, path: string, requestId: string): Problem {
  const known = knownError(error);
  const row = errorTable[known.code];
  return {
    type: `/api-docs/errors#${known.code}`,
    title: row.title,
    status: row.status,
    detail: known.message,
    instance: path,
    code: known.code,
    errors: known.errors,
    request_id: requestId,
  };
}

/** The reply for a problem, with the headers that its status asks for. */
export function problemReply(error: unknown, path: string, requestId: string): Reply {
  const problem = problemOf(error, path, requestId);
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  if (problem.status === 401) headers['www-authenticate'] = wwwAuthenticate(problem.code);
  const { retryAfterSec } = knownError(error);
  if (problem.status === 429 || problem.status === 503) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterSec ?? 1)));
  return { status: problem.status, headers, text: writeJson(problem), contentType: PROBLEM_TYPE };
}

/** RFC 6750: a request without a credential gets the bare challenge, a bad one gets the error. */
function wwwAuthenticate(code: ErrorCode): string {
  return code === 'credential_missing' ? 'Bearer realm="biosignal"' : 'Bearer realm="biosignal", error="invalid_token"';
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
  const lost =
    error instanceof Error && /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/.test(error.message);
  if (lost || /^(08...|53...|57P..|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT)$/.test(code)) {
    return new PipelineError('unavailable', 'The database does not answer at the moment.', { cause: error, retryAfterSec: 1 });
  }
  return new PipelineError('internal', 'The request failed for a reason that was logged.', { cause: error });
}
