/** Closes sockets within a second of their credential being revoked. */
import type { Caller } from '../caller.ts';
import type { HttpServer } from '../http/server.ts';
import type { Auth, AuthChange } from './auth.ts';

const EXPIRY_CHECK_MS = 500;

/** Connects database notifications to open sockets: a change re-checks the callers it may concern, and an expired key closes its sockets.
 *  @returns how to stop */
export function connectRevocation(auth: Auth, http: Pick<HttpServer, 'callers' | 'closeSockets'>): () => void {
  const recheck = async (caller: Caller): Promise<void> => {
    if (await auth.isMoving(caller)) http.closeSockets((other) => other === caller, 'unavailable');
    else if (!(await auth.isValid(caller))) http.closeSockets((other) => other === caller, 'credential_invalid');
  };
  const stop = auth.onChange((change) => {
    for (const caller of http.callers()) {
      // While the database is unavailable there is no answer; the reconnect notifies again.
      if (concerns(change, caller)) recheck(caller).catch(() => undefined);
    }
  });
  // job: expired-callers: closes the sockets of keys that have expired, twice a second
  const timer = setInterval(() => http.closeSockets((caller) => auth.isExpired(caller), 'credential_invalid'), EXPIRY_CHECK_MS);
  timer.unref();
  return () => {
    stop();
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
