/** Problem details (RFC 9457): the one place where an error becomes an HTTP answer. */
import { errorTable, knownError } from '../errors.ts';
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
