/** Whose data, and which project, a request turned out to be about: noted where ownership is settled, read by the audit log once the request
 *  is answered. Keyed by the request's own Caller object (src/http/incoming.ts makes one per request), so that the handlers in between need
 *  not pass it on. */
import type { Caller } from '../caller.ts';

export type RequestScope = Readonly<{ subjectId: string | null; projectId: string | null }>;

const NOTHING: RequestScope = { subjectId: null, projectId: null };
const scopes = new WeakMap<Caller, RequestScope>();

/** The request reads or changes the data of this person. */
export function noteSubject(caller: Caller, subjectId: string, projectId: string): void {
  scopes.set(caller, { subjectId, projectId });
}

/** The request is about this project; a person of it that was noted stays. */
export function noteProject(caller: Caller, projectId: string): void {
  const { subjectId } = scopeOf(caller);
  if (subjectId === null) scopes.set(caller, { subjectId, projectId });
}

export function scopeOf(caller: Caller): RequestScope {
  return scopes.get(caller) ?? NOTHING;
}
