/** Who may give what (scopes of keys are compared where keys are made, auth/key-routes.ts): nobody gives, or takes from others, more than they have themselves. A key has scopes and perhaps a project and an end, a
 *  member has a role; what a role amounts to in scopes makes the two comparable. An account has no end, so a key with one gives none. */
import { PipelineError } from '../errors.ts';
import { scopes } from '../caller.ts';
import type { Caller, Scope } from '../caller.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { memberRoles } from './operators.ts';
import type { MemberRole } from './operators.ts';

/** Scopes that a key needs to give a role. An administrator makes keys of every scope, so has them all. null: no key gives it. */
const scopesOfRole: Readonly<Record<MemberRole, readonly Scope[] | null>> = {
  owner: null,
  admin: scopes,
  clinician: ['admin', 'read', 'write'],
  analyst: ['admin', 'read'],
  viewer: ['admin', 'read'],
};

/** Refuses a key of one project what belongs to the organization as a whole: members, profiles, the chain of the log.
 *  @throws PipelineError scope_missing */
export function needWholeOrganization(caller: Caller): void {
  if (caller.kind !== 'key' || caller.projectId === null) return;
  throw new PipelineError('scope_missing', 'The key is confined to one project; this belongs to the organization.');
}

/** When the key of a caller ends; null: never, or it is no key. */
export async function endOfCaller(db: Db, caller: Caller): Promise<Date | null> {
  if (caller.kind !== 'key') return null;
  const { rows } = await run(db, build.selectFrom('api_key').select('expires_at').where('id', '=', caller.keyId));
  return rows[0]?.expires_at ?? null;
}

/** A key gives no more time than it has. @param until when what it gives would end; null: never  @throws PipelineError scope_missing */
export function checkEnd(until: Date | null, own: Date | null): void {
  if (own === null || (until !== null && until <= own)) return;
  const would = until === null ? 'would never end' : `would end at ${until.toISOString()}`;
  throw new PipelineError(
    'scope_missing',
    `Your key ends at ${own.toISOString()} and can give no more time than that: the new one ${would}.`,
  );
}

/** Refuses a key that ends what would stay when it has ended, and nobody would end for it.
 *  @param what e.g. A webhook  @throws PipelineError scope_missing */
export async function needLasting(db: Db, caller: Caller, what: string): Promise<void> {
  const own = await endOfCaller(db, caller);
  if (own === null) return;
  throw new PipelineError(
    'scope_missing',
    `${what} does not end, and your key ends at ${own.toISOString()}: make it with a key without an end, or in the dashboard.`,
  );
}

/** Roles that a key may take from accounts with `admin` alone. */
const belowAdministrators: readonly MemberRole[] = ['clinician', 'analyst', 'viewer'];

/** Roles that a caller may give, and whose accounts it may change: none above its own. */
export async function rolesWithin(db: Db, caller: Caller): Promise<readonly MemberRole[]> {
  if (caller.kind === 'key') {
    if (caller.projectId !== null || (await endOfCaller(db, caller)) !== null) return [];
    return memberRoles.filter((role) => scopesOfRole[role]?.every((scope) => caller.scopes.includes(scope)) === true);
  }
  if (caller.kind !== 'operator') return [];
  const accounts = build.selectFrom('operator_account').select('role').where('organization_id', '=', caller.orgId);
  const { rows } = await run(db, accounts.where('id', '=', caller.operatorId));
  if (rows[0]?.role === 'owner') return memberRoles;
  return rows[0]?.role === 'admin' ? memberRoles.filter((role) => role !== 'owner') : [];
}

/** Roles whose accounts a caller may disable: those that it may give, and with every key of scope `admin` the ones that administer nothing. */
export async function rolesToDisable(db: Db, caller: Caller): Promise<readonly MemberRole[]> {
  const within = await rolesWithin(db, caller);
  return caller.kind === 'key' && caller.projectId === null ? [...new Set([...within, ...belowAdministrators])] : within;
}

/** @throws PipelineError scope_missing */
export function checkRole(role: MemberRole, within: readonly MemberRole[]): void {
  if (within.includes(role)) return;
  throw new PipelineError('scope_missing', `The role ${role} is more than this credential has itself.`);
}
