/** Closes sockets within a second of their credential being revoked. */
import type { Caller } from '../caller.ts';
import type { HttpServer } from '../http/server.ts';
import type { Auth, AuthChange } from './auth.ts';

const EXPIRY_CHECK_MS = 500;
/** Callers that are checked at the same time: many more would wait for a connection until they are refused one. */
const CHECKS_AT_ONCE = 8;

/** Connects database notifications to open sockets: a change re-checks the callers it may concern, until the database answers, and an
 *  expired key closes its sockets.
 *  @returns how to stop */
export function connectRevocation(auth: Auth, http: Pick<HttpServer, 'callers' | 'closeSockets'>): () => void {
  const waiting = new Set<Caller>();
  /** Those of whom the database said nothing: they are checked again. */
  const unanswered = new Set<Caller>();
  let working = 0;
  const recheck = async (caller: Caller): Promise<void> => {
    if (await auth.isMoving(caller)) http.closeSockets((other) => other === caller, 'unavailable');
    else if (!(await auth.isValid(caller))) http.closeSockets((other) => other === caller, 'credential_invalid');
  };
  const work = async (): Promise<void> => {
    working += 1;
    for (const caller of waiting) {
      waiting.delete(caller);
      await recheck(caller).catch(() => unanswered.add(caller));
    }
    working -= 1;
  };
  const check = (caller: Caller): void => {
    waiting.add(caller);
    if (working < CHECKS_AT_ONCE) void work();
  };
  const stop = auth.onChange((change) => {
    for (const caller of http.callers()) if (concerns(change, caller)) check(caller);
  });
  // job: expired-callers: closes the sockets of keys that have expired, and checks those again that could not be checked, twice a second
  const timer = setInterval(() => {
    http.closeSockets((caller) => auth.isExpired(caller), 'credential_invalid');
    if (unanswered.size === 0) return;
    const again = http.callers().filter((caller) => unanswered.has(caller));
    unanswered.clear();
    for (const caller of again) check(caller);
  }, EXPIRY_CHECK_MS);
  timer.unref();
  return () => {
    stop();
    waiting.clear();
    clearInterval(timer);
  };
}

function concerns(change: AuthChange, caller: Caller): boolean {
  if (caller.kind === 'anonymous') return false;
  const { table, id } = change;
  if (table === '' || id === caller.orgId) return true;
  if (table === 'signing_key') return caller.kind === 'user' && (caller.kid === undefined || caller.kid === id);
  switch (caller.kind) {
    case 'key':
      return id === caller.keyId || id === caller.projectId;
    case 'user':
      return id === caller.subjectId || id === caller.projectId || (caller.sdkKeyIds?.includes(id) ?? false);
    case 'operator':
      return id === caller.operatorId || table === 'operator_session';
    default: {
      const never: never = caller;
      throw new Error(`caller ${String(never)}`);
    }
  }
}
