/** Listeners of the one live connection of a page. Nothing listens at the address: a connection that is being opened is enough. */
import { expect, it } from 'vitest';
import { joinLive } from './live-feed.ts';
import { Session } from './session.ts';

const token = `x.${Buffer.from(JSON.stringify({ sub: 's', proj: 'p', exp: Date.now() / 1000 + 3600 })).toString('base64url')}.y`;

it('is connecting again, not closed, for those who come after the last one has left', async () => {
  const session = new Session('http://127.0.0.1:1', { mode: 'token', sdkKey: 'sdk_x', token });
  const leaveFirst = joinLive(session, {});
  await expect.poll(() => session.live.feed).not.toBeNull();
  leaveFirst();
  await expect.poll(() => session.live.state).toBe('closed');

  const told: string[] = [];
  const leave = [0, 1].map(() => joinLive(session, { state: (state) => void told.push(state) }));
  expect(told).toEqual(['connecting']); // the second one, of the connection that the first one has begun
  for (const go of leave) go();
  session.close();
});
