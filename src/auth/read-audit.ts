/** Reads of personal data in the audit log: who looked at whose records, and how often.
 *  A page asks every few seconds, so equal reads within FLUSH_MS are one entry with a count; a killed process loses at most that much. */
import type { Exchange } from '../http/server.ts';
import type { Caller } from '../http/route.ts';
import type { Db } from './api-keys.ts';
import { actorId } from './audit.ts';

const FLUSH_MS = 10_000;
/** Entries held; beyond it they are written at once. */
const ENTRIES_MAX = 5000;
/** Tags whose reads are about a person. */
const personal = new Set(['Users', 'Streams', 'Observations', 'Episodes', 'Self-reports', 'Live']);

type Entry = {
  readonly caller: Exclude<Caller, { kind: 'anonymous' }>;
  readonly operation: string;
  readonly path: string;
  readonly ip: string;
  count: number;
};

export type ReadAudit = Readonly<{
  /** Give it to startHttp's `observe`. */
  observe: (exchange: Exchange) => void;
  flush: () => Promise<void>;
  stop: () => Promise<void>;
}>;

export function startReadAudit(db: Db, onError: (error: unknown) => void = () => undefined): ReadAudit {
  let entries = new Map<string, Entry>();
  const flush = async (): Promise<void> => {
    if (entries.size === 0) return;
    // One order of organizations for all nodes: each row takes the lock of its organization's chain.
    const rows = [...entries.values()].toSorted((a, b) => (a.caller.orgId < b.caller.orgId ? -1 : 1));
    entries = new Map();
    await db.query(
      `insert into audit_log (organization_id, actor_kind, actor_id, action, target_kind, target_id, detail, ip)
       select o, k, a, 'personal_data.read', 'path', p, jsonb_build_object('operation', op, 'count', c), case when i ~ '^[0-9a-fA-F.:]+$' then i::inet end
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[]) as entry (o, k, a, op, p, c, i)`,
      [
        rows.map((row) => row.caller.orgId),
        rows.map((row) => row.caller.kind),
        rows.map((row) => actorId(row.caller)),
        rows.map((row) => row.operation),
        rows.map((row) => row.path),
        rows.map((row) => row.count),
        rows.map((row) => row.ip),
      ],
    );
  };
  const timer = setInterval(() => void flush().catch(onError), FLUSH_MS);
  timer.unref();
  return {
    observe: ({ route, status, caller, path, remoteAddress }) => {
      if (route === null || status >= 400 || caller.kind === 'anonymous' || !personal.has(route.tag)) return;
      if (route.method !== 'GET' && route.operationId !== 'queryChart') return; // changes have entries of their own
      const key = `${caller.kind} ${actorId(caller)} ${route.operationId} ${path} ${remoteAddress}`;
      const entry = entries.get(key);
      if (entry !== undefined) entry.count += 1;
      else entries.set(key, { caller, operation: route.operationId, path, ip: remoteAddress, count: 1 });
      if (entries.size >= ENTRIES_MAX) flush().catch(onError);
    },
    flush,
    stop: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
