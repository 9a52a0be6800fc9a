/** Decides what a client does after each answer of the service: by HTTP status, by close code, by the code of one refused packet. The
 *  numbers are those of src/errors.ts; docs/wire-format.md has the table with words. */

/** retry: the same again, later. stop: the credential is refused, a new one is needed. refused: the same can never succeed. */
export type Next = 'retry' | 'stop' | 'refused';

export function afterStatus(status: number): Next {
  if (status === 401 || status === 403) return 'stop';
  if (status === 408 || status === 429 || status >= 500) return 'retry';
  return status === 404 ? 'stop' : 'refused';
}

/** Says whether what was asked for may not be seen, or is no longer there. */
export function isRefusal(error: unknown): boolean {
  return afterStatus((error as { status?: number }).status ?? 0) === 'stop';
}

const TOKEN_EXPIRED = 4001;
const POLICY_VIOLATION = 1008;

/** 4000-4499 and broken connections: come again. 4500-4999: do not. 4001: with a new token. */
export function afterClose(code: number): Exclude<Next, 'refused'> {
  return code === TOKEN_EXPIRED || code === POLICY_VIOLATION || (code >= 4500 && code <= 4999) ? 'stop' : 'retry';
}

const retryable = new Set(['busy', 'unavailable', 'rate_limited', 'shutting_down', 'internal', 'request_timeout']);

/** May a packet that was refused with this code be sent again? */
export function retryableRejection(code: string): boolean {
  return retryable.has(code);
}

const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 15_000;

/** Full jitter, doubled with every failure: a thousand clients that lost the same service do not come back at once.
 *  @param attempt failures before this one  @param random 0..1  @returns ms */
export function backoffMs(attempt: number, random: number): number {
  return Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** attempt) * (0.1 + 0.9 * random);
}
