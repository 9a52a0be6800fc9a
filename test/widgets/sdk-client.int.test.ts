/** The typed client against the route table: every operation, every type, and a round trip through a running service. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Static } from 'typebox';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { call } from '../../dashboard/service.ts';
import { apiTypes } from '../../scripts/build-api-types.ts';
import { ApiError, BiosignalClient, operations, parseNanos } from '../../sdk/client.ts';
import type * as sdk from '../../sdk/client.ts';
import { addressOf } from '../../sdk/request.ts';
import type { TokenResponse } from '../../src/auth/token-routes.ts';
import type { XuserSchema } from '../../src/tenancy/xuser-routes.ts';
import type { BiosignalSchema } from '../../src/query/biosignal-routes.ts';
import type { ObservationSchema } from '../../src/query/observation-routes.ts';
import type { StreamSchema } from '../../src/query/stream-routes.ts';
import type { EpisodeSchema } from '../../src/records/episode-detail.ts';
import type { Session } from '../../widgets/shared/session.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

let api: Api;
let client: BiosignalClient;
/** For the compiler only: never called. */
declare const session: Session;
beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  client = new BiosignalClient({ baseUrl: api.base, credential: api.org.apiKey.key });
});
afterAll(async () => {
  await api.close();
});

describe('the client', () => {
  it('knows every operation under /api/v1, by its method and path', () => {
    const table = allRoutes().filter((route) => route.path.startsWith('/api/v1/'));
    expect(Object.fromEntries(table.map((route) => [route.operationId, [route.method, route.path]]))).toEqual(operations);
  });

  it('has the types of the table', () => {
    expect(apiTypes(allRoutes())).toBe(readFileSync(new URL('../../sdk/api-types.ts', import.meta.url), 'utf8'));
    expectTypeOf<sdk.UserToken>().toExtend<Static<typeof TokenResponse>>();
    expectTypeOf<Static<typeof XuserSchema>>().toEqualTypeOf<sdk.User>();
    expectTypeOf<Static<typeof BiosignalSchema>>().toExtend<sdk.Biosignal>();
    expectTypeOf<Static<typeof ObservationSchema>>().toEqualTypeOf<sdk.Observation>();
    expectTypeOf<Static<typeof StreamSchema>>().toExtend<sdk.Stream>();
    expectTypeOf<Static<typeof EpisodeSchema>>().toExtend<sdk.Episode>();
  });

  it('does not compile for what the API does not know', () => {
    const never = (): void => {
      // @ts-expect-error no such operation
      void client.call('listPatients');
      // @ts-expect-error a parameter of the path is missing
      void client.call('getUser');
      // @ts-expect-error another parameter
      void client.call('getUser', { params: { userId: 'x' } });
      // @ts-expect-error biosignal_id is a number, and required
      void client.call('listObservations', { query: { subject_id: 'x' } });
      // @ts-expect-error no such member of the query
      void client.call('listStreams', { query: { subject: 'x' } });
      // @ts-expect-error no such member of the body
      void client.call('createMood', { body: { score: 4, notes: 'x' } });
      // @ts-expect-error the score is missing
      void client.call('createMood', { body: {} });
      // @ts-expect-error no such field of the answer
      void client.call('listProjects').then(([project]) => project?.title);
      // @ts-expect-error not a list
      void client.pages('getUser', { params: { xuserId: 'x' } });
      // @ts-expect-error no such path, in a widget
      void session.get('/api/v1/mood');
      // @ts-expect-error that path has no POST
      void session.post('/api/v1/methods');
      // @ts-expect-error a parameter of the path is missing
      void session.get('/api/v1/streams/{streamId}/beats', { query: { limit: 5 } });
      // @ts-expect-error no such field of the answer
      void session.get('/api/v1/moods').then(([mood]) => mood?.value);
      // @ts-expect-error no such role, in the dashboard
      void call('PATCH', '/api/v1/members/{memberId}', { params: { memberId: 'x' }, body: { role: 'boss' } });
      // @ts-expect-error another method
      void call('PUT', '/api/v1/members');
    };
    expect(never).toBeTypeOf('function');
  });

  it('makes addresses', () => {
    expect(addressOf('/a/{b}/c', { params: { b: 'x/y z' } })).toBe('/a/x%2Fy%20z/c');
    expect(addressOf('/a', { query: { names: ['b', 'c'], d: undefined, e: false, f: '?&' } })).toBe('/a?names=b%2Cc&e=false&f=%3F%26');
    expect(addressOf('/a/{b}', { params: { b: '?' }, query: {} })).toBe('/a/%3F');
  });

  // promise: sdk-anywhere
  it('mints a token, and uses it', async () => {
    const { xuser_token: token, xuser_id: id } = await client.createUserToken('someone', api.org.projectKey);
    const own = new BiosignalClient({ baseUrl: api.base, credential: () => token });
    expect((await own.resolveUser('someone')).xuser_id).toBe(id);
    expect((await own.call('listBiosignals', { params: { projectId: api.org.projectId } })).length).toBeGreaterThan(20);
    expect(await own.call('listObservations', { query: { biosignal_id: 20 } })).toEqual([]);
    expect(await own.call('listStreams')).toEqual([]);
    expect(await own.call('listEpisodes')).toEqual([]);
    expect((await own.call('queryChart', { body: { series: [{ biosignal_id: 20 }], range: { duration: 'PT1H' } } })).data).toEqual([]);
  });

  it('walks through pages', async () => {
    for (let i = 0; i < 5; i++) await client.resolveUser(`page ${i}`);
    const seen: sdk.User[] = [];
    for await (const page of client.pages('listUsers', { query: { limit: 2 } })) seen.push(...page);
    expect(new Set(seen.map((user) => user.xuser_id)).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(5);
  });

  it('throws problems with their code', async () => {
    const error = await client.getFeatures('00000000-0000-4000-8000-000000000000').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, code: 'not_found' });
    expect((error as ApiError).requestId).not.toBe('');
  });

  it('tries again after 429 and 503, and a lost POST only with a key', async () => {
    const statuses = [503, 429, 200];
    let calls = 0;
    const flaky = new BiosignalClient({
      baseUrl: api.base,
      credential: 'x',
      fetch: async () => {
        calls += 1;
        return new Response('{}', { status: statuses.shift() ?? 200, headers: { 'retry-after': '0' } });
      },
    });
    await flaky.createUserToken('a', 'b');
    expect(calls).toBe(3);
    // A proxy's 502 does not say whether the service did it: asked again where that is safe, said otherwise.
    statuses.push(502, 504, 200, 502);
    await flaky.call('listStreams');
    expect(calls).toBe(6);
    await expect(flaky.createUserToken('a', 'b')).rejects.toMatchObject({ status: 502 });
    const lost = new BiosignalClient({ baseUrl: api.base, credential: 'x', fetch: () => Promise.reject(new TypeError('lost')) });
    await expect(lost.createUserToken('a', 'b')).rejects.toThrow('lost');
  });

  it('gives a request up that nobody answers, begun or not, but not a body that is read as it comes', async () => {
    let asked = 0;
    const hung = createServer((request, response) => {
      asked += 1;
      if (request.url === '/api/v1/methods') return;
      response.writeHead(200, { 'content-type': 'application/json' }).write('[');
      if (request.url === '/api/v1/streams') setTimeout(() => response.end(']'), 600);
    });
    await new Promise<void>((done) => hung.listen(0, '127.0.0.1', done));
    const { port } = hung.address() as { port: number };
    const impatient = new BiosignalClient({ baseUrl: `http://127.0.0.1:${port}`, credential: 'x', timeoutMs: 300, retries: 1 });
    try {
      await expect(impatient.call('listMethods')).rejects.toThrow('not answered in time');
      await expect(impatient.call('listMoods')).rejects.toThrow('not answered in time');
      expect(asked).toBe(4);
      const mine = new AbortController();
      const read = impatient.call('listMethods', { signal: mine.signal });
      mine.abort(new Error('enough'));
      await expect(read).rejects.toThrow('enough');
      expect(await (await impatient.response('listStreams')).text()).toBe('[]');
    } finally {
      hung.closeAllConnections();
      hung.close();
    }
  });

  // promise: exact-times
  it('reads times to the last digit', () => {
    expect(parseNanos('[{"name":"hr","ts_ns":[1700000000000000001,2],"values":[1.5,2]},{"ts_ns":[]}]')).toEqual([
      { name: 'hr', ts_ns: [1_700_000_000_000_000_001n, 2n], values: [1.5, 2] },
      { ts_ns: [] },
    ]);
  });
});
