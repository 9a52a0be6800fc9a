/** Decides whether a kind of caller may use a route: the access table of the API, in one function. */
import { PipelineError } from '../errors.ts';
import { operatorRoles } from '../caller.ts';
import type { Access } from './route.ts';
import type { Caller, OperatorRole } from '../caller.ts';

/** Roles, as members know them, that act as an operator of at least this role. */
export const rolesOf = {
  viewer: 'viewer, analyst, clinician, admin or owner',
  editor: 'clinician, admin or owner',
  admin: 'admin or owner',
} as const satisfies Record<OperatorRole, string>;

/** Passes or throws: a kind that is not listed is 401, a key without the scope or an operator below the role is 403. Whether the record is
 *  the caller's is for the handler to decide (404). */
export function checkAccess(access: Access, caller: Caller, method: string): void {
  if (access.public === true) return;
  switch (caller.kind) {
    case 'anonymous':
      throw new PipelineError('credential_missing', 'Send Authorization: Bearer with a key or a user token.');
    case 'key':
      checkScope(access, caller, method);
      return;
    case 'user':
      if (access.userToken === undefined) throw new PipelineError('credential_kind', 'A user token is not accepted here.');
      return;
    case 'operator':
      if (access.operator === undefined) throw new PipelineError('credential_kind', 'An operator session is not accepted here.');
      if (operatorRoles.indexOf(caller.role) < operatorRoles.indexOf(access.operator)) {
        throw new PipelineError('scope_missing', `Your account may not do this: it needs the role ${rolesOf[access.operator]}.`);
      }
      return;
    default: {
      const never: never = caller;
      throw new Error(`caller ${String(never)}`);
    }
  }
}

/** Says whether a socket that one caller opened may continue as another: as the same person or operator, or by a key with the same reach
 *  and no fewer scopes. */
export function mayContinue(before: Caller, after: Caller): boolean {
  if (before.kind === 'operator') return after.kind === 'operator' && before.operatorId === after.operatorId;
  if (before.kind === 'anonymous' || before.kind !== after.kind) return false;
  if (before.orgId !== after.orgId || before.projectId !== after.projectId || before.subjectId !== after.subjectId) return false;
  return before.kind === 'user' || (after.kind === 'key' && before.scopes.every((scope) => after.scopes.includes(scope)));
}

/** A key that acts for one user (direct mode) reads with `read` and changes with `write`, unless the route says which scope it takes;
 *  any other key needs the route's scope. */
function checkScope(access: Access, caller: Caller & { kind: 'key' }, method: string): void {
  let needed = access.key;
  if (access.direct !== undefined && caller.subjectId !== null) {
    needed ??= access.direct === true ? (method === 'GET' || method === 'HEAD' ? 'read' : 'write') : access.direct;
  }
  if (needed === undefined) throw new PipelineError('credential_kind', 'An organization key is not accepted here; use a user token.');
  if (!caller.scopes.includes(needed)) {
    throw new PipelineError('scope_missing', `This needs the scope ${needed}; the key has ${caller.scopes.join(', ')}.`);
  }
}
