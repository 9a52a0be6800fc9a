/** Acknowledgements of episodes: who has seen one, when, and their note, whether or not it is over; reopening takes the acknowledgement
 *  back. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addMember } from '../helpers/members.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Acknowledgement = { at: string; by: string; by_name: string | null; note: string; ended_at: string | null };
type Episode = {
  id: string;
  status: string;
  started_at: string;
  ended_at: string | null;
  acknowledged_at: string | null;
  acknowledged_by: string | null;
  acknowledged_by_name: string | null;
  acknowledgement_note: string | null;
  acknowledgements: Acknowledgement[];
};

let run: RunningService;
let person: { xuser_id: string; xuser_token: string };
beforeAll(async () => {
  run = await runService();
  person = await run.token('watched');
});
afterAll(async () => {
  expect(run.faults).toEqual([]);
  await run.close();
});

async function made(body: object = {}): Promise<Episode> {
  const answer = await run.send<Episode>('POST', '/api/v1/episodes', {
    body: { subject_id: person.xuser_id, kind: 'alert', started_at: '2026-03-01T08:00:00Z', ...body },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}
const read = async (id: string): Promise<Episode> => (await run.send<Episode>('GET', `/api/v1/episodes/${id}`)).body;
const change = (id: string, body: object) => run.send<Episode>('PATCH', `/api/v1/episodes/${id}`, { body });
const acknowledge = (id: string, body: object = {}, options: { as?: string; headers?: Record<string, string> } = {}) =>
  run.send<Episode>('POST', `/api/v1/episodes/${id}/acknowledgement`, { body, ...options });
const idsOf = async (query: string): Promise<string[]> =>
  (await run.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${person.xuser_id}&${query}`)).body.map(({ id }) => id);

// promise: acknowledgement
it('says who acknowledged an episode, when and with which note, and leaves it open', async () => {
  const { id, acknowledged_at: before } = await made();
  expect(before).toBeNull();
  const answer = await acknowledge(id, { note: 'Called, is fine' });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toMatchObject({
    status: 'open',
    ended_at: null,
    acknowledged_by: `key:${run.org.apiKey.record.id}`,
    acknowledgement_note: 'Called, is fine',
  });
  expect(Date.now() - Date.parse(answer.body.acknowledged_at ?? '')).toBeLessThan(60_000);
  expect(answer.headers.get('etag')).toBe((await run.send('GET', `/api/v1/episodes/${id}`)).headers.get('etag'));
  const [listed] = (await run.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${person.xuser_id}&limit=1`)).body;
  expect(listed).toMatchObject({ id, acknowledgement_note: 'Called, is fine' });
  expect(await idsOf('acknowledged=true')).toContain(id);
  expect(await idsOf('acknowledged=false')).not.toContain(id);
  const fleet = await run.send<Episode[]>('GET', '/api/v1/fleet/episodes?acknowledged=true');
  expect(fleet.body.find((one) => one.id === id)).toMatchObject({
    acknowledged_at: listed?.acknowledged_at,
    acknowledged_by_name: 'first key',
  });
  const { body: log } = await run.send<{ action: string; subject_id: string }[]>('GET', '/api/v1/audit-log?action=episode.acknowledged');
  expect(log[0]).toMatchObject({ target_id: id, subject_id: person.xuser_id });
});

// promise: acknowledgement
it('keeps earlier acknowledgements in the history; one sent twice with the same idempotency key counts once', async () => {
  const { id } = await made();
  await acknowledge(id, { note: 'first' });
  const headers = { 'idempotency-key': 'acknowledge-once' };
  await acknowledge(id, { note: 'second' }, { headers });
  expect((await acknowledge(id, { note: 'second' }, { headers })).status).toBe(200);
  const { acknowledgements, acknowledgement_note: note } = await read(id);
  expect(note).toBe('second');
  expect(acknowledgements.map((one) => [one.note, one.ended_at === null])).toEqual([
    ['second', true],
    ['first', false],
  ]);
  expect((await change(id, { status: 'closed' })).body).toMatchObject({ status: 'closed', acknowledgement_note: 'second' });
});

// promise: acknowledgement
it('requires the version that was read and a role that may change episodes', async () => {
  const { id } = await made();
  const editor = await addMember(run, 'clinician');
  const viewer = await addMember(run, 'viewer');
  const path = `/api/v1/episodes/${id}`;
  const post = (headers: Record<string, string>) => run.send(`POST`, `${path}/acknowledgement`, { as: '', headers, body: {} });
  expect((await post(viewer)).status).toBe(403);
  expect((await post(editor)).status).toBe(428);
  const tag = (await run.send('GET', path)).headers.get('etag') ?? '';
  await change(id, { title: 'Other' });
  expect((await post({ ...editor, 'if-match': tag })).status).toBe(412);
  expect((await read(id)).acknowledged_at).toBeNull();
  const now = (await run.send('GET', path)).headers.get('etag') ?? '';
  expect((await post({ ...editor, 'if-match': now })).status).toBe(200);
  expect(await read(id)).toMatchObject({
    acknowledged_by: expect.stringMatching(/^operator:/) as string,
    acknowledged_by_name: 'A clinician',
  });
  expect((await acknowledge(id, {}, { as: person.xuser_token })).status).toBe(401);
  expect((await acknowledge('00000000-0000-4000-8000-000000000000')).status).toBe(404);
  expect((await acknowledge(id, { note: 'x'.repeat(1001) })).status).toBe(422);
});

// promise: acknowledged-again
it('an episode that is reopened has no end and needs a new acknowledgement', async () => {
  const { id } = await made({ ended_at: '2026-03-01T09:00:00Z' });
  await acknowledge(id, { note: 'seen' });
  const { body: reopened } = await change(id, { status: 'open' });
  expect(reopened).toMatchObject({ status: 'open', ended_at: null, acknowledged_at: null, acknowledgement_note: null });
  expect(reopened.acknowledgements).toMatchObject([{ note: 'seen', ended_at: expect.any(String) as string }]);
  // It is still open, so later ranges include it.
  expect(await idsOf('since=2026-03-02T00:00:00Z')).toContain(id);
  const { body: log } = await run.send<{ detail: object }[]>('GET', '/api/v1/audit-log?action=episode.updated');
  expect(log[0]).toMatchObject({ target_id: id, detail: { status: 'open' } });
});

// promise: episode-states
it('an episode cannot be open and have an end; setting an end closes it, and closing it sets an end', async () => {
  const { id } = await made();
  expect((await change(id, { status: 'open', ended_at: '2026-03-01T09:00:00Z' })).status).toBe(422);
  expect((await change(id, { ended_at: '2026-03-01T09:00:00Z' })).body).toMatchObject({
    status: 'closed',
    ended_at: '2026-03-01T09:00:00+00:00',
  });
  expect((await change(id, { ended_at: null })).status).toBe(422);
  expect((await change(id, { title: 'Still closed' })).body).toMatchObject({ status: 'closed', ended_at: '2026-03-01T09:00:00+00:00' });
  const body = { subject_id: person.xuser_id, kind: 'alert', started_at: '2026-03-01T08:00:00Z' };
  const contradiction = { ...body, status: 'open', ended_at: '2026-03-01T09:00:00Z' };
  expect((await run.send('POST', '/api/v1/episodes', { body: contradiction })).status).toBe(422);
  expect((await made({ status: 'closed' })).ended_at).toEqual(expect.any(String));
});
