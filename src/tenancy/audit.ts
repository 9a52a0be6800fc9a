/** The audit log: who did what to what. Append-only; a failure to write it fails the action that it records. */
import { isIP } from 'node:net';
import type { Insertable } from 'kysely';
import type { Caller } from '../caller.ts';
import { build, builtOnce } from '../storage/database/build.ts';
import type { Values } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';
import { projectOf } from './record-ownership.ts';
import { scopeOf } from './request-scope.ts';

export type AuditEntry = Readonly<{
  /** Resource and past tense, e.g. `api_key.created`. */
  action: string;
  targetKind: string;
  targetId: string;
  detail?: object;
  /** The person whose data it is about. Default: the person that the request turned out to be about. */
  subjectId?: string;
  /** Default: the project that the request turned out to be about, or that the caller is confined to. */
  projectId?: string | null;
}>;

/** The operating-system account that runs a command; `orgId` null: the command concerns the whole installation. */
export type CommandLine = Readonly<{ kind: 'cli'; orgId: string | null; account: string }>;

/** The actor, as a handler knows it. */
export type Actor = Readonly<{ caller: Caller | CommandLine; remoteAddress: string; requestId: string }>;

type Entry = Required<Omit<Insertable<Tables['audit_log']>, 'id' | 'time' | 'chain_seq' | 'prev_hash' | 'hash'>>;
const insertEntry = builtOnce((entry: Values<Entry>) =>
  build.insertInto('audit_log').values({
    organization_id: entry.organization_id,
    actor_kind: entry.actor_kind,
    actor_id: entry.actor_id,
    action: entry.action,
    target_kind: entry.target_kind,
    target_id: entry.target_id,
    detail: entry.detail,
    ip: entry.ip,
    request_id: entry.request_id,
    subject_id: entry.subject_id,
    project_id: entry.project_id,
  }),
);

export async function audit(db: Db, actor: Actor, entry: AuditEntry): Promise<void> {
  const { caller } = actor;
  const scope = caller.kind === 'cli' ? null : scopeOf(caller);
  const own = caller.kind === 'cli' ? null : projectOf(caller);
  const projectId = entry.targetKind === 'project' ? entry.targetId : (scope?.projectId ?? own);
  await insertEntry(db, {
    organization_id: caller.kind === 'anonymous' ? null : caller.orgId,
    actor_kind: caller.kind === 'anonymous' ? 'system' : caller.kind,
    actor_id: actorId(caller),
    action: entry.action,
    target_kind: entry.targetKind,
    target_id: entry.targetId,
    detail: JSON.stringify(entry.detail ?? {}),
    ip: inetOf(actor.remoteAddress),
    request_id: actor.requestId,
    subject_id: entry.subjectId ?? scope?.subjectId ?? null,
    project_id: entry.projectId === undefined ? projectId : entry.projectId,
  });
}

export function actorId(caller: Caller | CommandLine): string {
  switch (caller.kind) {
    case 'key':
      return caller.keyId;
    case 'user':
      return caller.subjectId;
    case 'operator':
      return caller.operatorId;
    case 'cli':
      return caller.account;
    case 'anonymous':
      return '';
    default: {
      const never: never = caller;
      throw new Error(`caller ${String(never)}`);
    }
  }
}

/** An address that PostgreSQL accepts, or null: a trusted proxy may have forwarded anything. */
export function inetOf(address: string): string | null {
  return isIP(address) !== 0 && !address.includes('%') ? address : null;
}
