/** What people enter themselves, on a real database: whose it is, once and not twice, encrypted, scored, and seen among the observations. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allRoutes } from './helpers/all-routes.ts';
import { startApi } from './helpers/api.ts';
import type { Api } from './helpers/api.ts';

let api: Api;
let ada: { token: string; id: string };
let bob: { token: string; id: string };

beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  ada = await api.token('ada');
  bob = await api.token('bob');
});

afterAll(async () => {
  expect(api.breaches).toEqual([]);
  await api.close();
});

const direct = (user: string) => ({ 'project-key': api.org.projectKey, 'xuser-id': user });

it('keeps a mood once, shows it to its owner, and as an observation', async () => {
  const body = { score: 4, note: 'Slept well', time: '2026-03-01T08:00:00.000Z' };
  const headers = { 'idempotency-key': 'mood-1' };
  const first = await api.json<{ id: string }>('POST', '/api/v1/moods', { as: ada.token, body, headers, status: 201 });
  const again = await api.json<{ id: string }>('POST', '/api/v1/moods', { as: ada.token, body, headers, status: 201 });
  expect(again.id).toBe(first.id);
  expect(await api.json('GET', '/api/v1/moods', { as: ada.token })).toMatchObject([{ id: first.id, score: 4, note: 'Slept well' }]);
  expect(await api.json('GET', '/api/v1/moods', { as: bob.token })).toEqual([]);
  const observations = await api.json('GET', `/api/v1/observations?biosignal_id=80&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z`, {
    as: ada.token,
  });
  expect(observations).toMatchObject([{ value: 4, method_code: 'reported:mood_v1' }]);
});

it('refuses keys except in direct mode, and scores outside of 1 to 5', async () => {
  expect((await api.send('GET', '/api/v1/moods')).status).toBe(401);
  expect((await api.send('POST', '/api/v1/moods', { body: { score: 3 } })).status).toBe(401);
  expect((await api.send('GET', '/api/v1/moods', { headers: direct('ada') })).status).toBe(200);
  expect((await api.send('POST', '/api/v1/moods', { as: ada.token, body: { score: 6 } })).status).toBe(422);
});

it('stores journal texts sealed, and opens them for their owner only', async () => {
  const text = 'Ein Tag am See. 今天很好 🙂';
  await api.json('POST', '/api/v1/journal', { as: ada.token, body: { text }, status: 201 });
  expect(await api.json('GET', '/api/v1/journal', { as: ada.token })).toMatchObject([{ text }]);
  expect(await api.json('GET', '/api/v1/journal', { as: bob.token })).toEqual([]);
  const { rows } = await api.database.pool.query<{ sealed: Buffer }>('select sealed from journal_entry');
  expect(rows[0]!.sealed.includes(Buffer.from('See'))).toBe(false);
});

it('scores a PHQ-9, records the total, and opens an episode for item 9', async () => {
  const questionnaire = await api.json<{ version: string; item: { linkId: string; answerOption: { valueCoding: { code: string } }[] }[] }>(
    'GET',
    '/api/v1/questionnaires/phq-9',
    { as: ada.token },
  );
  const item = questionnaire.item.map(({ linkId, answerOption }) => ({ linkId, answer: [{ valueCoding: answerOption[1]!.valueCoding }] }));
  const body = {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'phq-9',
    version: '1',
    status: 'completed',
    authored: '2026-03-01T09:00:00Z',
    item,
  };
  const answer = await api.json('POST', '/api/v1/questionnaire-responses', { as: ada.token, body, status: 201 });
  expect(answer).toMatchObject({ scores: [{ name: 'PHQ-9', value: 9, text: 'mild' }], safety: true });
  expect(
    await api.json('GET', '/api/v1/observations?biosignal_id=81&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z', { as: ada.token }),
  ).toMatchObject([{ value: 9, loinc_code: '44261-6', method_code: 'reported:phq9_v1' }]);
  expect(await api.json('GET', `/api/v1/episodes?subject_id=${ada.id}`)).toMatchObject([
    { kind: 'safety', severity: 'high', status: 'open' },
  ]);
  expect(await api.json('GET', '/api/v1/questionnaire-responses', { as: bob.token })).toEqual([]);

  const short = { ...body, item: item.slice(1) };
  expect((await api.send('POST', '/api/v1/questionnaire-responses', { as: ada.token, body: short })).status).toBe(422);
  expect((await api.send('POST', '/api/v1/questionnaire-responses', { as: ada.token, body: { ...body, version: '9' } })).status).toBe(409);
  expect((await api.send('GET', '/api/v1/questionnaires/none', { as: ada.token })).status).toBe(404);
});

it('gives tasks by key, lets only their person mark them, and takes the latest mark', async () => {
  const task = await api.json<{ id: string }>('POST', '/api/v1/tasks', { body: { subject_id: ada.id, title: 'Walk' }, status: 201 });
  expect((await api.send('POST', '/api/v1/tasks', { as: ada.token, body: { subject_id: ada.id, title: 'x' } })).status).toBe(401);
  const mark = (as: string, status: string, time: string) =>
    api.send('POST', `/api/v1/tasks/${task.id}/status`, { as, body: { status, time } });
  expect((await mark(bob.token, 'done', '2026-03-01T09:00:00Z')).status).toBe(404);
  expect((await mark(ada.token, 'done', '2026-03-01T10:00:00Z')).status).toBe(200);
  expect(await (await mark(ada.token, 'due', '2026-03-01T09:30:00Z')).json()).toMatchObject({ status: 'done' });
  expect(await (await mark(ada.token, 'due', '2026-03-01T10:30:00Z')).json()).toMatchObject({ status: 'due' });
  expect(await api.json('GET', '/api/v1/tasks', { as: ada.token })).toMatchObject([{ title: 'Walk', status: 'due' }]);
  expect(await api.json('GET', '/api/v1/tasks', { as: bob.token })).toEqual([]);
});
