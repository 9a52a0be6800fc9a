/** Hashing passwords is slow on purpose: others must not wait for it. */
import { expect, it } from 'vitest';
import { runService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

const TRIES = 8;

// promise: sign-ins-delay-nobody
it('a user token is checked while many sign in, not after them', async () => {
  const run = await runService();
  const { xuser_token: token, xuser_id: id } = await run.token('patient');
  let answered = 0;
  const tries = Array.from({ length: TRIES }, async (_, i) => {
    const body = { email: `nobody-${i}@example.com`, password: 'a guess of a password' };
    const { status } = await run.send('POST', '/auth/session', { as: '', body });
    answered++;
    return status;
  });
  await until(() => answered > 0, 30_000);
  const { status } = await run.send('GET', `/api/v1/xusers/${id}`, { as: token });
  expect(status).toBe(200);
  expect(answered).toBeLessThan(TRIES / 2); // four threads: five, if it waited for its turn
  expect(await Promise.all(tries)).toEqual(Array.from({ length: TRIES }, () => 401));
  await run.close();
});
