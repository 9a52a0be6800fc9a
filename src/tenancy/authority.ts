/** Limits on granting rights: no caller gives, or takes from others, more than it has itself. A key has scopes, perhaps a project and an
 *  expiry; a member has a role. Each role is worth a set of scopes, which makes the two comparable. An account never expires, so a key that
 *  does cannot give one.
 *
 *  Checks on a key: its scopes when it makes another (checkScopes) or changes an existing one (needKeyWithin), its project (needKeyWithin,
 *  needWholeOrganization; for a project that a request names, ownProject), its expiry, its roles. Of its expiry:
 *  a key it makes or replaces (checkEnd), SDK keys (the end of the caller, in public-key-routes.ts), tokens (Auth.mint); and what never
 *  ends it cannot make (needLasting: projects, webhooks; rolesWithin: accounts). */
import { PipelineError } from '../errors.ts';
import { scopes } from '../caller.ts';
import type { Caller, Scope } from '../caller.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { memberRoles } from './operators.ts';
import type { MemberRole } from './operators.ts';

/** Scopes that a key needs to give a role. An administrator can make keys of every scope, so that role needs all of them. null: no key can
 *  give it. */
const scopesOfRole: Readonly<Record<MemberRole, readonly Scope[] | null>> = {
  owner: null,
  admin: scopes,
  clinician: ['admin', 'read', 'write'],
  analyst: ['admin', 'read'],
  viewer: ['admin', 'read'],
};

/** Refuses project keys access to what belongs to the whole organization: members, profiles, the audit chain.
 *  @throws PipelineError scope_missing */
export function needWholeOrganization(caller: Caller): void {
  if (caller.kind !== 'key' || caller.projectId === null) return;
  throw new PipelineError('scope_missing', 'The key is confined to one project; this belongs to the organization.');
}

/** The scopes among these that the caller's key lacks. Operators who may make keys have them all. */
function lackingScopes(caller: Caller, wanted: readonly Scope[]): readonly Scope[] {
  return caller.kind === 'key' ? wanted.filter((scope) => !caller.scopes.includes(scope)) : [];
}

/** Refuses to let a key grant a scope that it does not have.  @throws PipelineError scope_missing */
export function checkScopes(caller: Caller, given: readonly Scope[]): void {
  const lacking = lackingScopes(caller, given);
  if (lacking.length > 0) throw new PipelineError('scope_missing', `The key lacks ${lacking.join(', ')} itself.`);
}

/** Refuses to let a key replace or revoke one with scopes, or a project, beyond its own: replacing a key would give the caller its rights.
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

/** Expiry of the caller's key; null: it has none, or the caller has no key. */
export async function endOfCaller(db: Db, caller: Caller): Promise<Date | null> {
  if (caller.kind !== 'key') return null;
  const { rows } = await run(db, build.selectFrom('api_key').select('expires_at').where('id', '=', caller.keyId));
  return rows[0]?.expires_at ?? null;
}

/** Refuses to let a key grant more time than it has.  @param until end of the grant; null: never  @throws PipelineError scope_missing */
export function checkEnd(until: Date | null, own: Date | null): void {
  if (own === null || (until !== null && until <= own)) return;
  const would = until === null ? 'would never end' : `would end at ${until.toISOString()}`;
  throw new PipelineError(
    'scope_missing',
    `Your key ends at ${own.toISOString()} and can give no more time than that: the new one ${would}.`,
  );
}

/** Refuses a key with an expiry what would outlive it, with nothing to end it.
 *  @param what e.g. A webhook  @throws PipelineError scope_missing */
export async function needLasting(db: Db, caller: Caller, what: string): Promise<void> {
  const own = await endOfCaller(db, caller);
  if (own === null) return;
  throw new PipelineError(
    'scope_missing',
    `${what} does not end, and your key ends at ${own.toISOString()}: make it with a key without an end, or in the dashboard.`,
  );
}

/** Roles that a key with only `admin` may take from accounts. */
const belowAdministrators: readonly MemberRole[] = ['clinician', 'analyst', 'viewer'];

/** Roles that a caller may give, and whose accounts it may change: none higher than its own. */
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

/** Roles whose accounts a caller may disable: those that it may give; and for any key with scope `admin`, those that administer nothing. */
export async function rolesToDisable(db: Db, caller: Caller): Promise<readonly MemberRole[]> {
  const within = await rolesWithin(db, caller);
  return caller.kind === 'key' && caller.projectId === null ? [...new Set([...within, ...belowAdministrators])] : within;
}

/** @throws PipelineError scope_missing */
export function checkRole(role: MemberRole, within: readonly MemberRole[]): void {
  if (within.includes(role)) return;
  throw new PipelineError('scope_missing', `The role ${role} is more than this credential has itself.`);
}
