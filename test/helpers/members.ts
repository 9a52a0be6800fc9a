/** People of an organization who are signed in, for tests of what each of them may do. */
import { randomBytes, scryptSync } from 'node:crypto';
import type { Pool } from 'pg';
import { signIn } from '../../src/tenancy/operators.ts';
import type { createMember, MemberRole } from '../../src/tenancy/operators.ts';
import type { RunningService } from './running-service.ts';

const password = 'correct horse battery';

/** Adds an account as createMember does, with a hash of a hundredth of its cost: each sign-in of a test would take 0.4 s of CPU. What the
 *  hashes of the service cost is a test of their own (src/tenancy/operators.test.ts). */
export async function putMember(pool: Pool, input: Parameters<typeof createMember>[1]): Promise<{ id: string }> {
  const [salt, N] = [randomBytes(16), 1024];
  const hash = scryptSync(input.password, salt, 32, { N, r: 8, p: 1 });
  const { rows } = await pool.query<{ id: string }>(
    `insert into operator_account (organization_id, email, display_name, role, password_hash) values ($1, $2, $3, $4, $5) returning id`,
    [
      input.orgId,
      input.email,
      input.displayName,
      input.role,
      `scrypt$${N}$8$1$${salt.toString('base64url')}$${hash.toString('base64url')}`,
    ],
  );
  return rows[0]!;
}

/** Adds a member called "A <role>".  @returns the headers that their browser sends */
export async function addMember(run: RunningService, role: MemberRole): Promise<Record<string, string>> {
  const email = `${role}@members.example`;
  await putMember(run.database.pool, { orgId: run.org.orgId, email, displayName: `A ${role}`, role, password });
  const { token } = await signIn(run.database.pool, email, password, { ip: '127.0.0.1', userAgent: '' });
  return { cookie: `bio_session=${token}`, origin: run.service.baseUrl };
}
