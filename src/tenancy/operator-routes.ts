/** Members of an organization: who may sign in to the dashboard, and as what. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { checkIfMatch } from '../http/precondition.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { audit } from './audit.ts';
import { checkRole, needWholeOrganization, rolesToDisable, rolesWithin } from './authority.ts';
import { createMember, listMembers, lockMember, memberRoles, PASSWORD_MIN, updateMember } from './operators.ts';
import { orgOf } from './record-ownership.ts';

export const MemberSchema = exactly({
  id: Uuid,
  email: Type.String(),
  display_name: Type.String(),
  role: oneOf(memberRoles),
  created_at: Timestamp,
  last_login_at: nullable(Timestamp),
  disabled: Type.Boolean(),
  etag: Type.String({ description: 'For If-Match of a change.' }),
});
export const Email = Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 254 });
const admin: Access = { key: 'admin', operator: 'admin' };
type Deps = Readonly<{ db: Pool }>;

const listMembersRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/members',
    operationId: 'listMembers',
    tag: 'Operators',
    summary: 'List the members of the organization',
    access: admin,
    responses: { 200: { description: 'Members.', schema: Type.Array(MemberSchema) } },
    handler: async ({ caller }) => {
      needWholeOrganization(caller);
      return { status: 200, json: await listMembers(db, orgOf(caller)) };
    },
  });

const createMemberRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/members',
    operationId: 'createMember',
    tag: 'Operators',
    summary: 'Add a member',
    description:
      'In no role above the own. A key gives the roles whose rights it has: analyst and viewer with `admin` and `read`, clinician with ' +
      '`write` besides, admin with every scope, owner never; a key of one project none.',
    access: admin,
    body: exactly({
      email: Email,
      display_name: Type.Optional(OneLine(200)),
      role: oneOf(memberRoles),
      password: Type.String({ minLength: PASSWORD_MIN, maxLength: 200 }),
    }),
    responses: { 201: { description: 'The member.', schema: MemberSchema } },
    errors: ['conflict'],
    handler: async (request) => {
      const input = request.body;
      const { email, role, password } = input;
      checkRole(role, await rolesWithin(db, request.caller));
      const json = await transaction(db, async (client) => {
        const made = await createMember(client, {
          orgId: orgOf(request.caller),
          email,
          displayName: input.display_name ?? '',
          role,
          password,
        });
        await audit(client, request, { action: 'member.created', targetKind: 'operator', targetId: made.id, detail: { role } });
        return made;
      });
      return { status: 201, json };
    },
  });

const updateMemberRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/members/{memberId}',
    operationId: 'updateMember',
    tag: 'Operators',
    summary: 'Change the role of a member, or disable the account',
    description:
      'Of members whom the caller could have added, to roles that it could have given; a key with `admin` alone may disable those who ' +
      'administer nothing. The last owner stays one.',
    access: admin,
    params: { memberId: Uuid },
    body: exactly({ role: Type.Optional(oneOf(memberRoles)), disabled: Type.Optional(Type.Boolean()) }),
    responses: { 200: { description: 'The member as it is now.', schema: MemberSchema } },
    errors: ['not_found', 'conflict', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const change = request.body;
      const orgId = orgOf(request.caller);
      const id = request.params.memberId;
      needWholeOrganization(request.caller);
      const gives = change.role !== undefined || change.disabled === false;
      const json = await transaction(db, async (client) => {
        const { etag } = await lockMember(client, orgId, id);
        // Read after all accounts are locked: another request may be changing the caller's own role.
        const within = gives ? await rolesWithin(client, request.caller) : await rolesToDisable(client, request.caller);
        if (change.role !== undefined) checkRole(change.role, within);
        checkIfMatch(request, etag);
        const member = await updateMember(client, orgId, id, change, within);
        await audit(client, request, { action: 'member.updated', targetKind: 'operator', targetId: member.id, detail: change });
        return member;
      });
      return { status: 200, json };
    },
  });

export const operatorRoutes = (deps: Deps): readonly Route[] => [listMembersRoute(deps), createMemberRoute(deps), updateMemberRoute(deps)];
