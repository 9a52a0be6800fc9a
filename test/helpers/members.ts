/** People of an organization who are signed in, for tests of what each of them may do. */
import { createMember, signIn } from '../../src/tenancy/operators.ts';
import type { MemberRole } from '../../src/tenancy/operators.ts';
import type { RunningService } from './running-service.ts';

const password = 'correct horse battery';

/** Adds a member called "A <role>".  @returns the headers that their browser sends */
export async function addMember(run: RunningService, role: MemberRole): Promise<Record<string, string>> {
  const email = `${role}@members.example`;
  await createMember(run.database.pool, { orgId: run.org.orgId, email, displayName: `A ${role}`, role, password });
  const { token } = await signIn(run.database.pool, email, password, { ip: '127.0.0.1', userAgent: '' });
  return { cookie: `bio_session=${token}`, origin: run.service.baseUrl };
}
