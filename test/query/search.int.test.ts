/** Search over the records of an organization. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

type Found = Readonly<{
  people: readonly Readonly<{ external_id: string; display_name: string }>[];
  devices: readonly Readonly<{ device_id: string; external_id: string | null }>[];
  recordings: readonly Readonly<{ stream_id: string; external_id: string }>[];
}>;

let running: RunningService;

beforeAll(async () => {
  running = await runService();
  const id = await sendEcg(running, running.org.projectKey, 'Bed-12', Date.now() - 300_000);
  await running.send('PATCH', `/api/v1/xusers/${id}`, { body: { display_name: 'Ärztin 100%' } });
  await running.token('other bed-12');
  await running.token('elsewhere');
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const find = async (words: string, as?: string, more = ''): Promise<Found> => {
  const answer = await running.send<Found>('GET', `/api/v1/search?q=${encodeURIComponent(words)}${more}`, as === undefined ? {} : { as });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

// promise: search
it('finds people, devices and recordings by a part of their names in any case, what begins with it first', async () => {
  await until(async () => (await find('bed-12')).recordings.length === 1, 30_000);
  const found = await find('BED-12');
  expect(found.people.map(({ external_id: id }) => id)).toEqual(['Bed-12', 'other bed-12']);
  expect(found.devices).toMatchObject([{ device_id: 'Bed-12', external_id: 'Bed-12' }]);
  expect(found.recordings).toMatchObject([{ external_id: 'Bed-12' }]);
  expect((await find('ärztin')).people).toMatchObject([{ display_name: 'Ärztin 100%' }]);
  expect((await find('0%')).people).toHaveLength(1); // no pattern
  const id = found.recordings[0]!.stream_id;
  expect((await find(id.slice(0, 8))).recordings.map((one) => one.stream_id)).toContain(id);
  expect((await find(id)).recordings.map((one) => one.stream_id)).toEqual([id]);
  expect(await find('zzz')).toEqual({ people: [], devices: [], recordings: [] });
  expect((await find('e', undefined, '&limit=1')).people).toHaveLength(1);
  expect((await running.send('GET', '/api/v1/search?q=')).status).toBe(422);
});

it('finds nothing of another organization, and no recordings of people who do not share', async () => {
  const far = await createOrganization(running.database.pool, 'Far');
  expect(await find('bed-12', far.apiKey.key)).toEqual({ people: [], devices: [], recordings: [] });
  const [recording] = (await find('bed-12')).recordings;
  expect((await find(recording!.stream_id, far.apiKey.key)).recordings).toEqual([]);
  await running.database.pool.query(`update project set consent_required = '{sharing}'`);
  expect((await find('bed-12')).recordings).toEqual([]);
});

it('nothing of an archived project is found, listed or counted, and its recordings cannot be opened', async () => {
  const lists = ['xusers', 'devices', 'signal-quality', 'fleet/episodes'];
  const listed = async (name: string): Promise<unknown> => (await running.send('GET', `/api/v1/${name}`)).body;
  await running.database.pool.query(`update project set consent_required = '{}'`);
  const [recording] = (await find('bed-12')).recordings;
  await running.send('POST', '/api/v1/episodes', { body: { subject_id: 'Bed-12', kind: 'fall', started_at: new Date().toISOString() } });
  for (const name of lists) await until(async () => ((await listed(name)) as unknown[]).length > 0); // quality is computed a moment later
  await running.database.pool.query('update project set archived_at = now()');
  expect(await find('bed-12')).toEqual({ people: [], devices: [], recordings: [] });
  for (const name of lists) expect(await listed(name), name).toEqual([]);
  expect(await listed('fleet/counts')).toMatchObject({ people: 0, devices: 0, episodes_open: 0 });
  expect((await running.send('GET', `/api/v1/streams/${recording!.stream_id}`)).status).toBe(404);
});
