/** Who may give what: nobody gives, or takes from others, more than they have themselves. A key has scopes and perhaps a project and an
 *  end, a member has a role; what a role amounts to in scopes makes the two comparable. An account has no end, so a key with one gives none.
 *
 *  What is asked of a key: its scopes when it makes another (checkScopes) or changes one that is there (needKeyWithin), its project
 *  (needKeyWithin, needWholeOrganization; for a project that a request names, ownProject), its end (checkEnd, needLasting), its roles. */
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

/** Scopes of these that the key of a caller has not. Operators who may make keys have them all. */
function lackingScopes(caller: Caller, wanted: readonly Scope[]): readonly Scope[] {
  return caller.kind === 'key' ? wanted.filter((scope) => !caller.scopes.includes(scope)) : [];
}

/** A key gives no scope that it does not have. @throws PipelineError scope_missing */
export function checkScopes(caller: Caller, given: readonly Scope[]): void {
  const lacking = lackingScopes(caller, given);
  if (lacking.length > 0) throw new PipelineError('scope_missing', `The key lacks ${lacking.join(', ')} itself.`);
}

/** A key replaces or revokes no key that has scopes, or a project, beyond its own: who replaces one gets what it had.
 *  @throws PipelineError not_found, scope_missing */
export async function needKeyWithin(db: Db, caller: Caller, keyId: string): Promise<void> {
  if (caller.kind !== 'key') return;
  const key = build.selectFrom('api_key').select(['scopes', 'project_id']).where('organization_id', '=', caller.orgId);
  const { rows } = await run(db, key.where('id', '=', keyId));
  const row = rows[0];
  if (row === undefined || (caller.projectId !== null && row.project_id !== caller.projectId)) {
    throw new PipelineError('not_found', 'There is no such key.');
  }
  const lacking = lackingScopes(caller, row.scopes);
  if (lacking.length > 0) throw new PipelineError('scope_missing', `The key has ${lacking.join(', ')}, which yours lacks.`);
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
