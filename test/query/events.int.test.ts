/** Events of a recording: sent by a device, listed as they were said, page by page. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Event = Readonly<{ id: string; at: string; code: string; text: string }>;

let running: RunningService;
let path: string;
const startMs = Date.UTC(2025, 0, 5, 8); // of last year
const at = (ms: number): string => new Date(startMs + ms).toISOString().replace('Z', '000Z');

beforeAll(async () => {
  running = await runService();
  const { body } = await running.send<{ xuser_id: string }>('POST', '/api/v1/xusers', { body: { external_id: 'ada' } });
  const answer = await running.ingest({
    schemaVersion: 1,
    deviceId: 'patch',
    bootId: '05'.repeat(16),
    seq: 0,
    t0DeviceNs: 0n,
    t0UnixNs: BigInt(startMs) * 1_000_000n,
    sentUnixNs: 0n,
    subject: 'ada',
    firmware: '',
    blocks: [],
    measurements: [],
    events: [
      { code: 'battery', tOffsetNs: 500_000_000, text: '12 %\tlow\nsoon' },
      { code: 'annotation', tOffsetNs: 250_000_000, text: 'N' },
      { code: 'annotation', tOffsetNs: 250_000_000, text: '+ (AFIB' },
      { code: 'patient_marker', tOffsetNs: 1_000_000_000, text: '' },
    ],
  });
  expect(answer.status, answer.text).toBe(202);
  const streams = `/api/v1/streams?subject_id=${body.xuser_id}`;
  path = `/api/v1/streams/${(await running.send<{ id: string }[]>('GET', streams)).body[0]!.id}/events`;
  await until(async () => (await list()).length === 4, 30_000);
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const list = async (query = ''): Promise<readonly Event[]> => {
  const answer = await running.send<readonly Event[]>('GET', path + query);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const said = (events: readonly Event[]): readonly string[] => events.map((event) => `${event.at} ${event.code} ${event.text}`);

// promise: events-listed
it('lists them by their time, as the device said them', async () => {
  const all = said(await list());
  expect(all.slice(0, 2).toSorted()).toEqual([`${at(250)} annotation + (AFIB`, `${at(250)} annotation N`]);
  expect(all.slice(2)).toEqual([`${at(500)} battery 12 %\tlow\nsoon`, `${at(1000)} patient_marker `]);
  expect(said(await list('?code=battery'))).toEqual(all.slice(2, 3));
  expect(said(await list(`?since=${at(500)}&until=${at(1000)}`))).toEqual(all.slice(2, 3));
});

it('gives each once in pages of one, two of the same time too', async () => {
  const all = await list();
  const paged: Event[] = [];
  let next: string | undefined = `${path}?limit=1`;
  while (next !== undefined) {
    const answer: Awaited<ReturnType<typeof running.send<readonly Event[]>>> = await running.send<readonly Event[]>('GET', next);
    expect(answer.body).toHaveLength(1);
    paged.push(...answer.body);
    next = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  expect(paged).toEqual(all);
});

it('gives a stranger none', async () => {
  const far = await createOrganization(running.database.pool, 'Far');
  expect((await running.send('GET', path, { as: far.apiKey.key })).status).toBe(404);
});
