/** Which roles a caller may give, and whose accounts it may end, asked without a route before it that refuses most callers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { scopes } from '../../src/caller.ts';
import type { Caller, Scope } from '../../src/caller.ts';
import { endOfCaller, rolesToDisable, rolesWithin } from '../../src/tenancy/authority.ts';
import { memberRoles } from '../../src/tenancy/operators.ts';
import type { MemberRole } from '../../src/tenancy/operators.ts';
import { putMember } from '../helpers/members.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let org: NewOrganization;
const accounts = new Map<MemberRole, string>();
beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
  for (const role of memberRoles) {
    const member = { orgId: org.orgId, email: `${role}@org.example`, displayName: '', role, password: 'a long enough password' };
    accounts.set(role, (await putMember(database.pool, member)).id);
  }
});
afterAll(() => database.close());

const given = async (caller: Caller) => [await rolesWithin(database.pool, caller), await rolesToDisable(database.pool, caller)];
const member = (role: MemberRole, orgId = org.orgId): Caller => ({
  kind: 'operator',
  operatorId: accounts.get(role)!,
  orgId,
  role: 'admin',
});
async function keyOf(own: readonly Scope[], projectId: string | null, expiresAt: string | null = null): Promise<Caller> {
  const { record } = await createApiKey(database.pool, { orgId: org.orgId, name: 'k', scopes: own, projectId, expiresAt });
  return { kind: 'key', keyId: record.id, orgId: org.orgId, scopes: own, projectId, subjectId: null };
}
const below = ['clinician', 'analyst', 'viewer'];

// promise: no-more-rights, member-roles
test('what a member may grant and end depends on the account, whatever the session says', async () => {
  expect(await given(member('owner'))).toEqual([memberRoles, memberRoles]);
  expect(await given(member('admin'))).toEqual([
    ['admin', ...below],
    ['admin', ...below],
  ]);
  for (const role of ['clinician', 'analyst', 'viewer'] as const) expect(await given(member(role)), role).toEqual([[], []]);
});

// promise: no-more-rights
test('an account of another organization grants nothing', async () => {
  const { orgId } = await createOrganization(database.pool, 'Other');
  expect(await given(member('owner', orgId))).toEqual([[], []]);
});

// promise: admin-key-roles
test('a key grants roles within its scopes, and ends roles that administer nothing', async () => {
  expect(await given(await keyOf(scopes, null))).toEqual([
    ['admin', ...below],
    ['admin', ...below],
  ]);
  expect(await given(await keyOf(['admin'], null))).toEqual([[], below]);
  expect(await given(await keyOf(scopes, org.projectId))).toEqual([[], []]);
  expect(await given(await keyOf(scopes, null, new Date(Date.now() + 3_600_000).toISOString()))).toEqual([[], below]);
});

test('claims of a token are not an account, and a deleted key has no expiry', async () => {
  const user = { kind: 'user', orgId: org.orgId, projectId: org.projectId, subjectId: randomUUID(), jti: 'j', expiresAtMs: Infinity };
  expect(await given({ ...user, operatorId: accounts.get('owner') } as unknown as Caller)).toEqual([[], []]);
  const gone: Caller = { kind: 'key', keyId: randomUUID(), orgId: org.orgId, scopes, projectId: null, subjectId: null };
  expect(await endOfCaller(database.pool, gone)).toBeNull();
});
