/** The audit log: who did what to what. Append-only; a failure to write it fails the action that it records. */
import type { Caller } from '../http/route.ts';
import type { Db } from './api-keys.ts';

export type AuditEntry = Readonly<{
  /** Resource and past tense, e.g. `api_key.created`. */
  action: string;
  targetKind: string;
  targetId: string;
  detail?: object;
}>;

/** Who asks, as a handler knows it. */
export type Actor = Readonly<{ caller: Caller; remoteAddress: string; requestId: string }>;

export async function audit(db: Db, actor: Actor, entry: AuditEntry): Promise<void> {
  const { caller } = actor;
  await db.query(
    `insert into audit_log (organization_id, actor_kind, actor_id, action, target_kind, target_id, detail, ip, request_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      caller.kind === 'anonymous' ? null : caller.orgId,
      caller.kind === 'anonymous' ? 'system' : caller.kind,
      actorId(caller),
      entry.action,
      entry.targetKind,
      entry.targetId,
      JSON.stringify(entry.detail ?? {}),
      /^[0-9a-f.:]+$/i.test(actor.remoteAddress) ? actor.remoteAddress : null,
      actor.requestId,
    ],
  );
}

export function actorId(caller: Caller): string {
  switch (caller.kind) {
    case 'key':
      return caller.keyId;
    case 'user':
      return caller.subjectId;
    case 'operator':
      return caller.operatorId;
    case 'anonymous':
      return '';
    default: {
      const never: never = caller;
      throw new Error(`caller ${String(never)}`);
    }
  }
}
