/** Cross-origin rules. Token mode: any origin, no cookies. Direct mode: registered origins, enforced on the real request, because a
 *  preflight carries no key. Operator sessions (cookies): the service's own origin only. */
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import type { Headers } from './hygiene.ts';

export type OriginAllowed = (caller: Caller & { kind: 'key' }, origin: string) => boolean | Promise<boolean>;

const EXPOSED =
  'link, location, etag, ratelimit, ratelimit-policy, retry-after, x-request-id, content-disposition, idempotency-replayed, bio-incomplete';
const ACCEPTED =
  'authorization, content-type, content-encoding, accept, idempotency-key, if-match, if-none-match, project-key, xuser-id, sdk-key, x-request-id';

export function preflightHeaders(methods: readonly string[]): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': ACCEPTED,
    'access-control-max-age': '600',
  };
}

/** Headers of an actual answer, errors included: a page of an unregistered origin may read the error that says so, and nothing else. */
export function corsHeaders(origin: string, caller: Caller): Readonly<Record<string, string>> {
  if (origin === '' || caller.kind === 'operator') return {};
  if (caller.kind === 'key' && origin === 'null') return {}; // a sandboxed frame has no origin that could be registered
  if (caller.kind === 'key') return { 'access-control-allow-origin': origin, vary: 'origin', 'access-control-expose-headers': EXPOSED };
  return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };
}

/** A browser sends a session's cookie with whatever a page asks for, so a request that changes something must show that it comes from the
 *  service's own page. Browsers do so with every POST, PUT, PATCH and DELETE; only old ones omit Sec-Fetch-Site.
 *  @throws PipelineError origin_forbidden */
export function needOwnPage(caller: Caller, method: string, headers: Headers): void {
  if (caller.kind !== 'operator' || method === 'GET' || method === 'HEAD') return;
  if (isOwnPage((name) => headers.get(name) ?? '')) return;
  throw new PipelineError(
    'origin_forbidden',
    "A dashboard session can change things from the service's own pages only. Programs use a key.",
  );
}

/** Does the request come from a page of the service, by Origin or, without it, by Sec-Fetch-Site? */
export function isOwnPage(header: (lowerCaseName: string) => string): boolean {
  const origin = header('origin');
  return origin === '' ? header('sec-fetch-site') === 'same-origin' : sameHost(origin, header('host'));
}

/** @throws PipelineError origin_forbidden */
export async function checkOrigin(origin: string, caller: Caller, headers: Headers, allowed: OriginAllowed): Promise<void> {
  if (caller.kind === 'key' && !(await allowed(caller, origin))) {
    const from = origin.slice(0, 200);
    const direct = headers.has('project-key') || headers.has('xuser-id');
    const detail = direct
      ? `Direct mode is not allowed from ${from}: register this origin in the settings of the project, or in ALLOWED_ORIGINS.`
      : `An organization key was sent from a web page (Origin: ${from}). Pages use user tokens, which your backend mints; programs send no Origin.`;
    throw new PipelineError('origin_forbidden', detail);
  }
  if (caller.kind === 'operator' && !sameHost(origin, headers.get('host') ?? '')) {
    throw new PipelineError('origin_forbidden', "A dashboard session is accepted from the service's own pages only.");
  }
}

function sameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}
