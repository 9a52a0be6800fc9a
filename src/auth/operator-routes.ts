/** Sign-in of the dashboard, members of an organization, and the audit log. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { nextLink } from '../http/cursor.ts';
import type { Cursors } from '../http/cursor.ts';
import { checkIfMatch } from '../http/precondition.ts';
import { RateLimit } from '../http/rate-limit.ts';
import type { Access, Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { transaction } from '../storage/transaction.ts';
import { audit } from './audit.ts';
import { SESSION_COOKIE } from './auth.ts';
import {
  createMember,
  listMembers,
  lockMember,
  memberRoles,
  PASSWORD_MIN,
  SESSION_SEC,
  signIn,
  signOut,
  updateMember,
} from './operators.ts';
import type { MemberRole } from './operators.ts';
import { orgOf } from './ownership.ts';

const MemberSchema = exactly({
  id: Uuid,
  email: Type.String(),
  display_name: Type.String(),
  role: oneOf(memberRoles),
  created_at: Timestamp,
  last_login_at: nullable(Timestamp),
  disabled: Type.Boolean(),
  etag: Type.String({ description: 'For If-Match of a change.' }),
});
const AuditSchema = exactly({
  id: Type.Integer(),
  time: Timestamp,
  actor_kind: Type.String(),
  actor_id: Type.String(),
  action: Type.String(),
  target_kind: Type.String(),
  target_id: Type.String(),
  detail: Type.Record(Type.String(), Type.Unknown()),
  ip: nullable(Type.String()),
  request_id: Type.String(),
  chain_seq: nullable(Type.Integer({ description: 'Position in the chain of the organization, from 1.' })),
  hash: nullable(Type.String({ description: 'SHA-256 over the entry before and this one, hexadecimal.' })),
});
const Email = Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 254 });
const admin: Access = { key: 'admin', operator: 'admin' };
/** Sign-ins of one address and of one account: each costs 0.3 s of CPU, and guesses must be slow. */
const SIGN_INS_PER_SEC = 0.2;
const SIGN_IN_BURST_SEC = 50;

export function operatorRoutes(deps: Readonly<{ db: Pool; cursors: Cursors; secureCookies: boolean }>): readonly Route[] {
  const { db, cursors, secureCookies } = deps;
  const tries = new RateLimit('sign-in', SIGN_INS_PER_SEC, SIGN_IN_BURST_SEC);
  const cookie = (value: string, maxAgeSec: number): string =>
    `${SESSION_COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSec}${secureCookies ? '; Secure' : ''}`;
  return [
    {
      method: 'POST',
      path: '/auth/session',
      operationId: 'signIn',
      tag: 'Operators',
      summary: 'Sign in to the dashboard',
      description: 'Sets an HttpOnly, SameSite=Strict cookie. Ten tries at once for an address or an account, then one in five seconds.',
      access: { public: true },
      body: exactly({ email: Email, password: Type.String({ minLength: 1, maxLength: 200 }) }),
      bodyBytesMax: 4096,
      responses: { 200: { description: 'Signed in.', schema: MemberSchema, headers: ['Set-Cookie'] } },
      errors: ['credential_invalid', 'rate_limited', 'origin_forbidden'],
      handler: async (request) => {
        const { email, password } = request.body as { email: string; password: string };
        const origin = request.header('origin');
        if (origin !== '' && !origin.endsWith(`//${request.header('host')}`)) {
          throw new PipelineError('origin_forbidden', 'Sign in from the service itself.');
        }
        const now = performance.now();
        for (const who of [`address ${request.remoteAddress}`, `account ${email.toLowerCase()}`]) {
          const verdict = tries.take(who, now);
          if (!verdict.allowed) throw new PipelineError('rate_limited', 'Too many tries; wait.', { retryAfterSec: verdict.retryAfterSec });
        }
        const from = { ip: request.remoteAddress, userAgent: request.header('user-agent') };
        const { token, member, orgId } = await signIn(db, email, password, from);
        const actor = { ...request, caller: { kind: 'operator', operatorId: member.id, orgId, role: 'viewer' } as const };
        await audit(db, actor, { action: 'session.created', targetKind: 'operator', targetId: member.id });
        return { status: 200, json: member, headers: { 'set-cookie': cookie(token, SESSION_SEC) } };
      },
    },
    {
      method: 'DELETE',
      path: '/auth/session',
      operationId: 'signOut',
      tag: 'Operators',
      summary: 'Sign out',
      access: { operator: 'viewer' },
      responses: { 204: { description: 'Signed out.', headers: ['Set-Cookie'] } },
      handler: async ({ header }) => {
        const token = new RegExp(`(?:^|; ?)${SESSION_COOKIE}=([^;]+)`).exec(header('cookie'))?.[1];
        if (token !== undefined) await signOut(db, token);
        return { status: 204, headers: { 'set-cookie': cookie('', 0) } };
      },
    },
    {
      method: 'GET',
      path: '/auth/session',
      operationId: 'getSession',
      tag: 'Operators',
      summary: 'Who is signed in?',
      access: { operator: 'viewer' },
      responses: { 200: { description: 'The account.', schema: MemberSchema } },
      errors: ['not_found'],
      handler: async ({ caller }) => {
        const members = await listMembers(db, orgOf(caller));
        const member = members.find(({ id }) => caller.kind === 'operator' && id === caller.operatorId);
        if (member === undefined) throw new PipelineError('not_found', 'There is no such account.');
        return { status: 200, json: member };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/members',
      operationId: 'listMembers',
      tag: 'Operators',
      summary: 'List the members of the organization',
      access: admin,
      responses: { 200: { description: 'Members.', schema: Type.Array(MemberSchema) } },
      handler: async ({ caller }) => ({ status: 200, json: await listMembers(db, orgOf(caller)) }),
    },
    {
      method: 'POST',
      path: '/api/v1/members',
      operationId: 'createMember',
      tag: 'Operators',
      summary: 'Add a member',
      access: admin,
      body: exactly({
        email: Email,
        display_name: Type.Optional(Type.String({ maxLength: 200 })),
        role: oneOf(memberRoles),
        password: Type.String({ minLength: PASSWORD_MIN, maxLength: 200 }),
      }),
      responses: { 201: { description: 'The member.', schema: MemberSchema } },
      errors: ['conflict'],
      handler: async (request) => {
        const input = request.body as { email: string; display_name?: string; role: MemberRole; password: string };
        const { email, role, password } = input;
        const member = await createMember(db, {
          orgId: orgOf(request.caller),
          email,
          displayName: input.display_name ?? '',
          role,
          password,
        });
        await audit(db, request, { action: 'member.created', targetKind: 'operator', targetId: member.id, detail: { role } });
        return { status: 201, json: member };
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/members/{memberId}',
      operationId: 'updateMember',
      tag: 'Operators',
      summary: 'Change the role of a member, or disable the account',
      access: admin,
      params: { memberId: Uuid },
      body: exactly({ role: Type.Optional(oneOf(memberRoles)), disabled: Type.Optional(Type.Boolean()) }),
      responses: { 200: { description: 'The member as it is now.', schema: MemberSchema } },
      errors: ['not_found', 'conflict', 'precondition_failed', 'precondition_required'],
      handler: async (request) => {
        const change = request.body as { role?: MemberRole; disabled?: boolean };
        const orgId = orgOf(request.caller);
        const id = request.params['memberId'] ?? '';
        return await transaction(db, async (client) => {
          checkIfMatch(request, (await lockMember(client, orgId, id)).etag);
          const member = await updateMember(client, orgId, id, change);
          await audit(client, request, { action: 'member.updated', targetKind: 'operator', targetId: member.id, detail: change });
          return { status: 200, json: member };
        });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/audit-log/chain',
      operationId: 'verifyAuditLog',
      tag: 'Operators',
      summary: 'Verify the hash chain of the audit log',
      description: 'Keep the head elsewhere: a chain whose end was cut off is whole, but ends in another hash.',
      access: admin,
      responses: {
        200: {
          description: 'What the chain is like.',
          schema: exactly({
            entries: Type.Integer(),
            head: nullable(Type.String({ description: 'Hash of the newest entry, hexadecimal.' })),
            broken_at: nullable(Type.Integer({ description: 'chain_seq of the first entry that is not as it was written; null: none.' })),
          }),
        },
      },
      handler: async ({ caller }) => {
        const { rows } = await db.query(
          `select count(*)::float8 as entries, encode((array_agg(hash order by chain_seq desc))[1], 'hex') as head,
             audit_log_broken_at($1)::float8 as broken_at
           from audit_log where organization_id = $1 and chain_seq is not null`,
          [orgOf(caller)],
        );
        return { status: 200, json: rows[0] };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/audit-log',
      operationId: 'listAuditLog',
      tag: 'Operators',
      summary: 'Read the audit log, newest first',
      access: admin,
      query: { limit: LimitQuery(100, 1000), cursor: CursorQuery, action: Type.Optional(Type.String({ maxLength: 100 })) },
      responses: { 200: { description: 'Entries.', schema: Type.Array(AuditSchema), headers: ['Link'] } },
      errors: ['cursor_invalid'],
      handler: async ({ caller, query }) => {
        const { limit, cursor, action } = query as { limit: number; cursor?: string; action?: string };
        const scope = `audit ${orgOf(caller)} ${action ?? ''}`;
        const before = cursor === undefined ? null : cursors.open(scope, cursor)[0];
        const { rows } = await db.query<{ id: number }>(
          `select id::float8 as id, to_json(time) #>> '{}' as time, actor_kind, actor_id, action, target_kind, target_id, detail,
             host(ip) as ip, request_id, chain_seq::float8 as chain_seq, encode(hash, 'hex') as hash
           from audit_log where organization_id = $1 and ($2::bigint is null or audit_log.id < $2) and ($3::text is null or action = $3)
           order by audit_log.id desc limit $4`,
          [orgOf(caller), before, action ?? null, limit + 1],
        );
        const page = rows.slice(0, limit);
        const last = page.at(-1);
        const more = rows.length > limit && last !== undefined;
        return {
          status: 200,
          json: page,
          headers: more ? { link: nextLink('/api/v1/audit-log', query, cursors.seal(scope, [last.id])) } : {},
        };
      },
    },
  ];
}
