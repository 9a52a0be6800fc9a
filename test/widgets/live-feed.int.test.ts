/** The live feed of a page whose widgets ask for it while the service is unavailable; in Node, without a browser. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLiveConnection } from '../../sdk/live-connection.ts';
import { joinLive } from '../../widgets/shared/live-feed.ts';
import { Session } from '../../widgets/shared/session.ts';
import { fixtureFrame, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture } from '../helpers/browser-fixture.ts';

let fixture: Fixture;
let opened = 0;
beforeAll(async () => {
  fixture = await startFixture('/nowhere');
  fixture.onSocket(() => {
    opened++;
    return undefined;
  });
});
afterAll(() => fixture.close());

const asked = (): number => fixture.requests.filter(({ path }) => path === '/api/v1/xusers').length;

it.each([
  ['restarts', 503],
  ['is out of reach', -1],
])('a page that does not know its person yet asks again while the service %s', async (_, status) => {
  const before = opened;
  fixture.requests.splice(0);
  fixture.on('POST', '/api/v1/xusers', () => (asked() < 3 ? { status } : { json: { xuser_id: 'u', project_id: 'p' } }));
  const session = new Session(fixture.origin, { mode: 'direct', apiKey: 'key', projectKey: 'p', externalId: 'e' });
  const states: string[] = [];
  const leave = [1, 2].map(() => joinLive(session, { state: (state) => void states.push(state) }));
  await expect.poll(() => opened - before, { timeout: 10_000 }).toBe(1);
  expect(states).toContain('offline');
  expect(states).not.toContain('refused');
  expect(asked()).toBe(3);
  for (const one of leave) one();
  session.close();
});

it('a page whose key is refused does not ask again', async () => {
  fixture.requests.splice(0);
  fixture.on('POST', '/api/v1/xusers', { status: 401 });
  const session = new Session(fixture.origin, { mode: 'direct', apiKey: 'key', projectKey: 'p', externalId: 'e' });
  const states: string[] = [];
  joinLive(session, { state: (state) => void states.push(state) });
  await expect.poll(() => states).toEqual(['refused']);
  await sleep(600); // the first pause is at most 250 ms
  expect(asked()).toBe(1);
  session.close();
});

it('tells a new token that comes while a refused person is asked for again, and that attempt has not been answered', async () => {
  const afters: (string | null)[] = [];
  fixture.onSocket((socket) => {
    opened++;
    afters.push(socket.url.searchParams.get('after'));
    if (opened === 1) {
      socket.send(fixtureFrame(700_000_000n, [], []));
      socket.close(4508, 'consent_missing');
    }
    return undefined;
  });
  opened = 0;
  fixture.texts.splice(0);
  let token = 'first';
  let attempts = 0;
  class Attempt extends WebSocket {
    constructor(...made: ConstructorParameters<typeof WebSocket>) {
      super(...made);
      if (++attempts < 2) return;
      token = 'second';
      queueMicrotask(() => void connection.renew());
    }
  }
  const connection = openLiveConnection({
    baseUrl: fixture.origin,
    subject: 's',
    after: 0,
    token: () => token,
    onFrame: () => undefined,
    onMessage: () => undefined,
    onState: () => undefined,
    webSocket: Attempt,
    random: () => 0,
  });
  await expect.poll(() => opened).toBe(2);
  await expect.poll(() => fixture.texts.filter((text) => text.includes('auth'))).toEqual(['{"type":"auth","token":"second"}']);
  expect(attempts).toBe(2);
  expect(afters, 'all that is held: nothing of before is shown any more').toEqual(['0', '0']);
  connection.close();
});
