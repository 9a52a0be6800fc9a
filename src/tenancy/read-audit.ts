/** Records who read or changed whose data, and how often, from REST answers and from viewers of live feeds. */
import type { RequestContext } from '../http/route.ts';
import type { Exchange } from '../http/server.ts';
import type { Db } from '../storage/database/database.ts';
import { AuditBatch } from './audit-batch.ts';
import type { BatchEntry } from './audit-batch.ts';
import { actorId, inetOf } from './audit.ts';
import { projectOf } from './record-ownership.ts';
import { scopeOf } from './request-scope.ts';
import type { Caller } from '../caller.ts';

/** Window in which repeats of a read are one entry. */
const READ_WINDOW_MS = 300_000;
/** Window in which failures are one entry, per account and address. */
const SIGN_IN_WINDOW_MS = 60_000;
/** A viewer who returns within this time continues the same viewing: a reconnect, a reloaded page, a second tab. */
const LIVE_GAP_MS = 30_000;

/** Tags of routes that are about people. */
const personal = new Set(['Users', 'Streams', 'Observations', 'Episodes', 'Annotations', 'Rules', 'Self-reports', 'Fleet']);
/** Reads that are POSTs. */
const readingPosts = new Set(['queryChart', 'tryRule']);
/** Reads among these that reveal nothing about a person. */
const impersonal = new Set(['getFleetCounts']);
/** Changes whose handlers write an entry of their own. */
const ownEntries = new Set([
  'recordConsent',
  'eraseUser',
  'exportUser',
  'createAnnotation',
  'updateAnnotation',
  'deleteAnnotation',
  'createRule',
  'updateRule',
  'deleteRule',
  'createGroup',
  'updateGroup',
  'deleteGroup',
  'addGroupMember',
  'removeGroupMember',
]);

/** Actions that only read; everything else in the log is an act. Same list as the index in sql/000016-audit.sql. */
export const readActions = ['personal_data.read', 'personal_data.listed', 'live.started', 'live.ended'] as const;

type From = Pick<RequestContext, 'remoteAddress' | 'requestId'>;
type Known = Exclude<Caller, { kind: 'anonymous' }>;
type Viewing = { sockets: number; readonly startedMs: number; endedMs: number; readonly entry: Omit<BatchEntry, 'action' | 'detail'> };

export type ReadAudit = Readonly<{
  /** For other events that repeat. */
  batch: AuditBatch;
  /** Give it to startHttp's `observe`. */
  observe: (exchange: Exchange) => void;
  /** Notes that a caller watches a person live.  @returns to be called when they stop */
  watch: (caller: Known, subjectId: string, from: From) => () => void;
  /** Notes a failed sign-in.  @param account null: none has that address */
  signInRefused: (account: Readonly<{ operatorId: string; orgId: string }> | null, from: From) => void;
  /** Writes everything noted so far. */
  flush: () => Promise<void>;
  stop: () => Promise<void>;
}>;

export function startReadAudit(db: Db, onError: (error: unknown) => void = () => undefined): ReadAudit {
  const batch = new AuditBatch(db, onError);
  const viewings = new Map<string, Viewing>();
  const endViewings = (beforeMs: number): void => {
    for (const [key, viewing] of viewings) {
      if (viewing.sockets > 0 || viewing.endedMs > beforeMs) continue;
      viewings.delete(key);
      const seconds = Math.round((viewing.endedMs - viewing.startedMs) / 1000);
      batch.add({ ...viewing.entry, action: 'live.ended', detail: { seconds } }, viewing.endedMs);
    }
  };
  // job: viewings: writes the end of live views that nobody has taken up again for 30 s
  const timer = setInterval(() => endViewings(performance.now() - LIVE_GAP_MS), LIVE_GAP_MS / 3);
  timer.unref();

  return {
    batch,
    observe: ({ route, status, caller, path, remoteAddress, requestId, reply }) => {
      if (route === null || status >= 400 || caller.kind === 'anonymous') return;
      const { operationId } = route;
      const minted = operationId === 'createUserToken';
      if (!minted && (!personal.has(route.tag) || impersonal.has(operationId) || ownEntries.has(operationId))) return;
      const reads = route.method === 'GET' || readingPosts.has(operationId);
      // Entries that people make are themselves the record of it; a repeated answer changed nothing.
      if (!reads && !minted && (caller.kind === 'user' || reply.headers?.['idempotency-replayed'] !== undefined)) return;
      const { subjectId, projectId } = scopeOf(caller);
      const key = `${caller.kind} ${actorId(caller)} ${operationId} ${path} ${subjectId ?? ''} ${remoteAddress}`;
      const entryOf = (): BatchEntry => ({
        ...actorOf(caller, { remoteAddress, requestId }),
        action: minted
          ? 'token.minted'
          : !reads
            ? 'personal_data.changed'
            : subjectId === null
              ? 'personal_data.listed'
              : 'personal_data.read',
        targetKind: minted ? 'xuser' : 'path',
        targetId: minted ? (subjectId ?? '') : path,
        subjectId,
        projectId: projectId ?? projectOf(caller),
        detail: { operation: operationId },
      });
      batch.count(key, entryOf, READ_WINDOW_MS);
    },
    watch: (caller, subjectId, from) => {
      const key = `${caller.kind} ${actorId(caller)} ${subjectId} ${from.remoteAddress}`;
      let viewing = viewings.get(key);
      if (viewing === undefined) {
        const startedMs = performance.now();
        const projectId = scopeOf(caller).projectId ?? projectOf(caller);
        const entry = { ...actorOf(caller, from), targetKind: 'xuser', targetId: subjectId, subjectId, projectId };
        viewing = { sockets: 0, startedMs, endedMs: startedMs, entry };
        viewings.set(key, viewing);
        batch.add({ ...entry, action: 'live.started', detail: {} }, startedMs);
      }
      const { sockets } = viewing;
      viewing.sockets = sockets + 1;
      const own = viewing;
      return () => {
        own.sockets -= 1;
        own.endedMs = performance.now();
      };
    },
    signInRefused: (account, { remoteAddress, requestId }) => {
      const entryOf = (): BatchEntry => ({
        orgId: account?.orgId ?? null,
        actorKind: 'system',
        actorId: '',
        action: 'session.refused',
        targetKind: 'operator',
        targetId: account?.operatorId ?? '',
        subjectId: null,
        projectId: null,
        ip: inetOf(remoteAddress),
        requestId,
        detail: {},
      });
      batch.count(`sign-in ${account?.operatorId ?? ''} ${remoteAddress}`, entryOf, SIGN_IN_WINDOW_MS);
    },
    flush: () => batch.flush(),
    stop: async () => {
      clearInterval(timer);
      for (const viewing of viewings.values()) {
        if (viewing.sockets > 0) viewing.endedMs = performance.now();
        viewing.sockets = 0;
      }
      endViewings(Infinity);
      await batch.stop();
    },
  };
}

function actorOf(
  caller: Known,
  { remoteAddress, requestId }: From,
): Pick<BatchEntry, 'orgId' | 'actorKind' | 'actorId' | 'ip' | 'requestId'> {
  return { orgId: caller.orgId, actorKind: caller.kind, actorId: actorId(caller), ip: inetOf(remoteAddress), requestId };
}
