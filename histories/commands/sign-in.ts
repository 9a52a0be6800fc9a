/** Operators who sign in: with a cookie, as the dashboard does, and with the rights of their role. */
import type { OperatorCommand } from '../commands.ts';
import type { Oracle } from '../oracle.ts';
import { until } from './until.ts';

type Role = Extract<OperatorCommand, { do: 'signIn' }>['role'];

const PASSWORD = 'a long enough password';

export async function signIn(oracle: Oracle, role: Role): Promise<void> {
  const email = `${role}-${oracle.memberCount}@${oracle.org.orgId}.test`;
  const member = await oracle.ask('POST', '/api/v1/members', { body: { email, role, password: PASSWORD } });
  // A try that got no answer may have made the account.
  const isMade = member.status === 201 || (member.status === 409 && member.lostCount > 0);
  oracle.expect('answers', isMade, () => `a member was answered ${member.status} ${member.text.slice(0, 300)}`);
  if (!isMade) return;
  oracle.memberCount++;
  const wrong = await oracle.ask('POST', '/auth/session', { as: '', body: { email, password: `${PASSWORD}!` } });
  oracle.expect('answers', wrong.status === 401, () => `a wrong password was answered ${wrong.status} ${wrong.text.slice(0, 300)}`);
  const session = await oracle.ask('POST', '/auth/session', { as: '', body: { email, password: PASSWORD } });
  oracle.expect('answers', session.status === 200, () => `signing in was answered ${session.status} ${session.text.slice(0, 300)}`);
  if (session.status !== 200) return;
  oracle.signInCount++;
  const cookies = session.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  await act(oracle, role, email, { cookie: cookies.join('; '), 'sec-fetch-site': 'same-origin' });
}

async function act(oracle: Oracle, role: Role, email: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const as = { as: '', headers };
  const who = await oracle.must<{ email: string; role: string }>(200, 'GET', '/auth/session', as);
  oracle.expect('answers', who?.email === email && who.role === role, () => `${email} is ${JSON.stringify(who)}`);
  await oracle.must(200, 'GET', '/api/v1/xusers', as);
  const key = { ...as, body: { name: `of ${email}`, scopes: ['read'] } };
  if (role === 'viewer') await oracle.must(403, 'POST', '/api/v1/api-keys', key);
  else {
    const made = await oracle.must<{ id: string }>(201, 'POST', '/api/v1/api-keys', key);
    if (made !== null && (await oracle.must(200, 'DELETE', `/api/v1/api-keys/${made.id}`, as)) !== null) oracle.keyChanges += 2;
  }
  const out = await oracle.ask('DELETE', '/auth/session', as);
  const isOut = out.status === 204 || (out.status === 401 && out.lostCount > 0);
  oracle.expect('answers', isOut, () => `signing out was answered ${out.status} ${out.text.slice(0, 300)}`);
  if (out.status === 204) oracle.signOutCount++;
  if (isOut)
    await until(
      oracle,
      'a session that has ended is still answered',
      async () => (await oracle.ask('GET', '/auth/session', as)).status === 401,
    );
}
