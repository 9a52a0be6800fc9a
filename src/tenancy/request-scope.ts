/** Remembers the person and project that a request turned out to be about: noted where ownership is decided, read by the audit log once the
 *  request is answered. Keyed by the request's own Caller object (src/http/incoming.ts makes one per request), so that handlers need not
 *  pass it on. */
import type { Caller } from '../caller.ts';

export type RequestScope = Readonly<{ subjectId: string | null; projectId: string | null }>;

const NOTHING: RequestScope = { subjectId: null, projectId: null };
const scopes = new WeakMap<Caller, RequestScope>();

/** Notes that the request reads or changes the data of this person. */
export function noteSubject(caller: Caller, subjectId: string, projectId: string): void {
  scopes.set(caller, { subjectId, projectId });
}

/** Notes that the request is about this project; a person noted before is kept. */
export function noteProject(caller: Caller, projectId: string): void {
  const { subjectId } = scopeOf(caller);
  if (subjectId === null) scopes.set(caller, { subjectId, projectId });
}

export function scopeOf(caller: Caller): RequestScope {
  return scopes.get(caller) ?? NOTHING;
}

/** Notes that what `before` turned out to be about is what `after` is about: a new credential on the same socket. */
export function keepScope(before: Caller, after: Caller): void {
  const scope = scopes.get(before);
  if (scope !== undefined && before !== after) scopes.set(after, scope);
}
