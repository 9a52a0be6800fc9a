/** Self-reports on a real database: owned, stored exactly once, encrypted, scored, and shown among the observations. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { idempotencyStore } from '../../src/tenancy/idempotency.ts';
import { readConfig } from '../../src/config.ts';
import { Cursors } from '../../src/http/cursor.ts';
import type { Route } from '../../src/http/route.ts';
import { startHttp } from '../../src/http/server.ts';
import { recordsApi } from '../../src/records/api.ts';
import { JournalCipher } from '../../src/records/journal-cipher.ts';
import { JournalSeals } from '../../src/records/journal-seals.ts';
import { serviceSecret } from '../../src/storage/service-secret.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { putFeatures } from '../helpers/put-derived.ts';

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

// promise: scores-are-observations
it('keeps a mood once, shows it to its owner, and as an observation', async () => {
  const body = { score: 4, note: 'Slept well', time: '2026-03-01T08:00:00.000Z' };
  const own = api.client(ada.token);
  const first = await own.call('createMood', { body, idempotencyKey: 'mood-1' });
  const again = await own.call('createMood', { body, idempotencyKey: 'mood-1' });
  expect(again.id).toBe(first.id);
  expect(await own.call('listMoods')).toMatchObject([{ id: first.id, score: 4, note: 'Slept well' }]);
  expect(await api.client(bob.token).call('listMoods')).toEqual([]);
  const observations = await own.call('listObservations', {
    query: { biosignal_id: 80, since: '2026-03-01T00:00:00Z', until: '2026-03-02T00:00:00Z' },
  });
  expect(observations).toMatchObject([{ value: 4, method_code: 'reported:mood_v1' }]);
});

it('refuses keys except in direct mode, and scores outside of 1 to 5', async () => {
  expect((await api.send('GET', '/api/v1/moods')).status).toBe(401);
  expect((await api.send('POST', '/api/v1/moods', { body: { score: 3 } })).status).toBe(401);
  expect((await api.send('GET', '/api/v1/moods', { headers: direct('ada') })).status).toBe(200);
  expect((await api.send('POST', '/api/v1/moods', { as: ada.token, body: { score: 6 } })).status).toBe(422);
});

// promise: sealed
it('stores journal texts sealed, and opens them for their owner only', async () => {
  const text = 'Ein Tag am See. 今天很好 🙂';
  await api.client(ada.token).call('createJournalEntry', { body: { text } });
  expect(await api.client(ada.token).call('listJournal')).toMatchObject([{ text }]);
  expect(await api.client(bob.token).call('listJournal')).toEqual([]);
  const { rows } = await api.database.pool.query<{ sealed: Buffer }>('select sealed from journal_entry');
  expect(rows[0]!.sealed.includes(Buffer.from('See'))).toBe(false);
});

// promise: scores-are-observations, safety-episode, scores-by-the-service
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

// promise: tasks-set
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

const project = (): string => `/api/v1/projects/${api.org.projectId}/questionnaires`;
const pains = (texts: readonly string[]) => ({
  resource: {
    title: 'Pain',
    item: texts.map((text, i) => ({ linkId: `pain.${i + 1}`, text, type: 'integer', required: true })),
  },
  scoring: {
    scores: [{ name: 'Pain', expression: 'max({pain.1}, 0) * 10', code: 'pain', bands: [{ from: 50, text: 'strong' }] }],
    safety: [{ title: 'Strong pain', expression: '{pain.1} >= 9' }],
  },
});
const painOf = (value: number, version: string, authored: string) => ({
  resourceType: 'QuestionnaireResponse',
  questionnaire: 'pain',
  version,
  status: 'completed',
  authored,
  item: [{ linkId: 'pain.1', answer: [{ valueInteger: value }] }],
});

// promise: amendments, amendments-newest
it('asks the newest version of a project, scores by the version that was answered, and falls back when it is retired', async () => {
  const biosignal = { name: 'Pain', abbreviation: 'PAIN', unit: '{score}', signal_type: 'score', source_type: 'self_report', code: 'pain' };
  const { id: painId } = await api.json<{ id: number }>('POST', `/api/v1/projects/${api.org.projectId}/biosignals`, {
    body: biosignal,
    status: 201,
  });
  const first = pains(['How strong is it?']);
  expect(await api.json('PUT', `${project()}/pain`, { body: first })).toMatchObject({ id: 'pain', version: '1', status: 'active' });
  const second = { ...first, scoring: { ...first.scoring, scores: [{ name: 'Pain', expression: '{pain.1}' }] } };
  expect(await api.json('PUT', `${project()}/pain`, { body: second })).toMatchObject({ version: '2' });
  expect(await api.json('GET', '/api/v1/questionnaires/pain', { as: ada.token })).toMatchObject({ id: 'pain', version: '2' });
  expect(await api.json('GET', '/api/v1/questionnaires/pain?version=1', { as: ada.token })).toMatchObject({
    version: '1',
    status: 'retired',
  });

  // Answered offline before the second version existed: scored by the first.
  const body = painOf(9, '1', '2026-04-01T09:00:00Z');
  const answer = await api.json<{ id: string }>('POST', '/api/v1/questionnaire-responses', { as: ada.token, body, status: 201 });
  expect(answer).toMatchObject({ scores: [{ name: 'Pain', value: 90, text: 'strong' }], safety: true });
  const observed = `/api/v1/observations?biosignal_id=${painId}&since=2026-04-01T00:00:00Z&until=2026-04-02T00:00:00Z`;
  expect(await api.json('GET', observed, { as: ada.token })).toMatchObject([{ value: 90, method_code: 'reported:pain_v1' }]);

  // Corrected: both stay, the observation is that of the correction, and the episode is not raised again.
  const amendment = { item: painOf(4, '1', '').item, reason: 'misread the scale' };
  const amended = await api.json<{ id: string }>('POST', `/api/v1/questionnaire-responses/${answer.id}/amendments`, {
    as: ada.token,
    body: amendment,
    status: 201,
  });
  expect(await api.json('GET', observed, { as: ada.token })).toMatchObject([{ value: 40 }]);
  const list = (more = '') => api.json('GET', `/api/v1/questionnaire-responses?questionnaire=pain${more}`, { as: ada.token });
  expect(await list()).toMatchObject([{ id: amended.id, status: 'amended', amends: answer.id, reason: 'misread the scale' }]);
  expect(await list('&superseded=true')).toMatchObject([{ id: amended.id, superseded_by: null }, { id: answer.id, superseded_by: amended.id }]); // prettier-ignore
  const again = { as: ada.token, body: amendment };
  expect((await api.send('POST', `/api/v1/questionnaire-responses/${answer.id}/amendments`, again)).status).toBe(409);
  expect(
    (await api.send('POST', `/api/v1/questionnaire-responses/${amended.id}/amendments`, { as: bob.token, body: amendment })).status,
  ).toBe(404);
  const safety = await api.json<{ title: string }[]>('GET', `/api/v1/episodes?subject_id=${ada.id}&kind=safety`);
  expect(safety.filter(({ title }) => title === 'Strong pain')).toHaveLength(1);

  expect((await api.send('DELETE', `${project()}/pain`)).status).toBe(204);
  expect((await api.send('GET', '/api/v1/questionnaires/pain', { as: ada.token })).status).toBe(404);
  expect(await api.json('GET', project())).toMatchObject([
    { id: 'daily-checkin', built_in: true },
    { id: 'gad-7' },
    { id: 'pain', version: '2', status: 'retired' },
    { id: 'pain', version: '1', status: 'retired' },
    { id: 'phq-9' },
    { id: 'who-5' },
  ]);
});

it('lets a project replace one that ships, and names what is wrong with a rule', async () => {
  const body = pains(['How strong is it?']);
  const broken = { ...body, scoring: { scores: [{ name: 'x', expression: 'sum({pain.1}' }], safety: [] } };
  const refused = await api.send('PUT', `${project()}/who-5`, { body: broken });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    errors: [{ pointer: '/scoring/scores/0/expression', detail: '")" is missing, at character 13' }],
  });
  expect(await api.json('PUT', `${project()}/who-5`, { body })).toMatchObject({ version: '2' });
  expect(await api.json('GET', '/api/v1/questionnaires/who-5', { as: ada.token })).toMatchObject({ version: '2', title: 'Pain' });
  await api.send('DELETE', `${project()}/who-5`);
  expect(await api.json('GET', '/api/v1/questionnaires/who-5', { as: ada.token })).toMatchObject({ version: '1' });
  const trial = (value: number) =>
    api.send('POST', `/api/v1/projects/${api.org.projectId}/questionnaire-trials`, {
      body: { ...body, item: painOf(value, '1', '').item },
    });
  expect(await (await trial(9)).json()).toEqual({ scores: [{ name: 'Pain', value: 90, text: 'strong' }], safety: ['Strong pain'] });
  expect(await api.json('GET', '/api/v1/questionnaire-responses?questionnaire=who-5', { as: ada.token })).toEqual([]);
});

it('stores the score of a shipped questionnaire under its biosignal of the catalog, and refuses a score with an unknown code', async () => {
  const own = { name: 'Mine', abbreviation: 'MINE', unit: '{score}', signal_type: 'score', source_type: 'self_report', code: 'who5' };
  const { id } = await api.json<{ id: number }>('POST', `/api/v1/projects/${api.org.projectId}/biosignals`, { body: own, status: 201 });
  const asked = await api.json<{ item: { linkId: string; answerOption: { valueCoding: object }[] }[] }>(
    'GET',
    '/api/v1/questionnaires/who-5',
    {
      as: ada.token,
    },
  );
  const item = asked.item.map(({ linkId, answerOption }) => ({ linkId, answer: [{ valueCoding: answerOption[1]!.valueCoding }] }));
  const body = {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'who-5',
    status: 'completed',
    authored: '2026-05-01T07:00:00Z',
    item,
  };
  await api.json('POST', '/api/v1/questionnaire-responses', { as: ada.token, body, status: 201 });
  const observed = (biosignal: number) =>
    api.json('GET', `/api/v1/observations?biosignal_id=${biosignal}&since=2026-05-01T00:00:00Z&until=2026-05-02T00:00:00Z`, {
      as: ada.token,
    });
  expect(await observed(83)).toMatchObject([{ value: 20 }]);
  expect(await observed(id)).toEqual([]);

  const scored = pains(['How strong is it?']);
  const unknown = { ...scored, scoring: { ...scored.scoring, scores: [{ ...scored.scoring.scores[0], code: 'nobody.knows' }] } };
  const refused = await api.send('PUT', `${project()}/pain`, { body: unknown });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ errors: [{ pointer: '/scoring/scores/0/code', code: 'unknown' }] });
});

it('keeps a draft until the questionnaire is answered', async () => {
  const item = [{ linkId: 'daily.sleep', answer: [{ valueDecimal: 7 }] }];
  const path = '/api/v1/questionnaires/daily-checkin/draft';
  expect((await api.send('GET', path, { as: ada.token })).status).toBe(404);
  await api.json('PUT', path, { as: ada.token, body: { item } });
  expect(await api.json('GET', path, { as: ada.token })).toMatchObject({ version: '1', item });
  expect((await api.send('GET', path, { as: bob.token })).status).toBe(404);
  const amount = (linkId: string) => ({ linkId, answer: [{ valueCoding: { code: 'amount-1' } }] });
  const body = {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'daily-checkin',
    status: 'completed',
    authored: '2026-03-03T07:00:00Z',
    item: [...item, amount('daily.stress'), amount('daily.pain')],
  };
  await api.json('POST', '/api/v1/questionnaire-responses', { as: ada.token, body, status: 201 });
  expect((await api.send('GET', path, { as: ada.token })).status).toBe(404);
  expect(
    await api.json('GET', '/api/v1/observations?biosignal_id=63&since=2026-03-03T00:00:00Z&until=2026-03-04T00:00:00Z', { as: ada.token }),
  ).toMatchObject([{ value: 7, method_code: 'reported:dailycheckin_v1' }]);
});

// promise: tasks-set, tasks-on-their-clocks
it("makes the occurrences of a recurring task once, in the person's time zone, and ends them", async () => {
  await api.database.pool.query(`update xuser set time_zone = 'Asia/Tokyo' where id = $1`, [bob.id]);
  const body = { subject_id: bob.id, title: 'Tablet', every: 'day', times: ['08:00', '20:30'] } as const;
  const schedule = await api.client().call('createTaskSchedule', { body });
  const own = api.client(bob.token);
  const tasks = () => own.call('listTasks');
  const [first, second] = await Promise.all([tasks(), tasks()]);
  expect(first).toEqual(second);
  expect(first.length).toBeGreaterThanOrEqual(2);
  // 08:00 and 20:30 in Tokyo.
  for (const task of first) expect(new Date(task.due ?? 0).toISOString()).toMatch(/T(23:00|11:30):00/);
  const done = first[0]!;
  await own.call('setTaskStatus', { params: { taskId: done.id }, body: { status: 'done' } });
  expect((await tasks()).filter((task) => task.status === 'done').map((task) => task.id)).toEqual([done.id]);
  expect((await api.send('DELETE', `/api/v1/task-schedules/${schedule.id}`, { as: bob.token })).status).toBe(401);
  expect((await api.send('DELETE', `/api/v1/task-schedules/${schedule.id}`)).status).toBe(204);
  expect((await tasks()).filter((task) => task.status === 'due' && Date.parse(task.due ?? '') > Date.now())).toEqual([]);
  expect(await api.json('GET', '/api/v1/task-schedules', { as: bob.token })).toMatchObject([
    { title: 'Tablet', times: ['08:00', '20:30'] },
  ]);
  expect((await api.send('POST', '/api/v1/task-schedules', { body: { ...body, every: 'week' } })).status).toBe(422);
});

it('keeps every second week and its weekdays from the week of the start', async () => {
  const body = { subject_id: ada.id, title: 'Weigh', every: 'week', every_n: 2, weekdays: [1, 2, 3, 4, 5, 6, 7], times: ['00:00'] };
  await api.json('POST', '/api/v1/task-schedules', { body: { ...body, title: 'This week', starts_on: '2026-01-05' }, status: 201 });
  await api.json('POST', '/api/v1/task-schedules', { body: { ...body, title: 'Other week', starts_on: '2026-01-12' }, status: 201 });
  const tasks = await api.json<{ title: string; due: string }[]>('GET', '/api/v1/tasks', { as: ada.token });
  const weekOf = (due: string): number => Math.floor((Date.parse(due) - Date.parse('2026-01-05T00:00:00Z')) / (7 * 864e5));
  const weekly = tasks.filter((task) => task.title.endsWith('week'));
  expect(weekly.length).toBeGreaterThan(0);
  for (const task of weekly) expect(weekOf(task.due) % 2 === 0 ? 'This week' : 'Other week').toBe(task.title);
});

// promise: tasks-set
it("reports progress towards a goal in the person's time zone", async () => {
  const own = api.client(ada.token);
  await api.client().call('createGoal', { body: { subject_id: ada.id, biosignal_id: 60, target: 8000 } });
  expect(await own.call('listGoals')).toMatchObject([{ biosignal_id: 60, target: 8000, value: null }]);
  const now = new Date().toISOString();
  const measurements = [1500, 2500].map((value, i) => ({ biosignal_id: 60, value, time: new Date(Date.parse(now) - i).toISOString() }));
  const old = { biosignal_id: 60, value: 9999, time: new Date(Date.now() - 2 * 864e5).toISOString() };
  await api.client().call('createMeasurements', { body: { subject_id: ada.id, measurements: [...measurements, old] } });
  const goals = await own.call('listGoals');
  expect(goals).toMatchObject([{ value: 4000, unit: '{steps}', agg: 'sum', period: 'day' }]);
  expect(await api.client(bob.token).call('listGoals')).toEqual([]);
  expect(await api.client().call('endGoal', { params: { goalId: goals[0]!.id } })).toBeNull();
  expect(await own.call('listGoals')).toEqual([]);
});

// promise: means-rounded
it('rounds the mean of a goal of reported values, which have no step, to 12 digits', async () => {
  await api.client().call('createGoal', { body: { subject_id: ada.id, biosignal_id: 67, target: 70, agg: 'mean' } });
  const now = Date.now();
  const measurements = [70, 70, 71].map((value, i) => ({ biosignal_id: 67, value, time: new Date(now - i).toISOString() }));
  await api.client().call('createMeasurements', { body: { subject_id: ada.id, measurements } });
  const goals = await api.client(ada.token).call('listGoals');
  expect(goals).toMatchObject([{ value: 70.3333333333, agg: 'mean' }]);
  await api.client().call('endGoal', { params: { goalId: goals[0]!.id } });
});

// promise: means-rounded
it('sums up reported values without a digit of its own, in a goal, in a bucket, and in the range of one bucket and of several', async () => {
  const catalog = await api.json<{ id: number; unit: string }[]>('GET', `/api/v1/projects/${api.org.projectId}/biosignals`);
  const biosignal = catalog.find(({ unit }) => unit === 'kg');
  const goal = { subject_id: bob.id, biosignal_id: biosignal!.id, target: 1, agg: 'sum' } as const;
  await api.client().call('createGoal', { body: goal });
  const now = Date.now();
  const measurements = [1.1, 2.2].map((value, i) => ({ biosignal_id: biosignal!.id, value, time: new Date(now - 2000 * i).toISOString() }));
  await api.client().call('createMeasurements', { body: { subject_id: bob.id, measurements } });
  const goals = await api.client(bob.token).call('listGoals');
  expect(goals).toMatchObject([{ value: 3.3, agg: 'sum' }]);
  await api.client().call('endGoal', { params: { goalId: goals[0]!.id } });
  const range = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 1000).toISOString() };
  for (const resolution of ['1d', '1s'] as const) {
    const series = [{ biosignal_id: biosignal!.id, agg: 'sum' as const }];
    const chart = await api.client().call('queryChart', { body: { subject_id: bob.id, series, range, detail: true, resolution } });
    expect(chart.detail!.totals.map(({ sum }) => sum)).toEqual([3.3]);
    if (resolution === '1d') expect(chart.data.flat()).toContain(3.3);
  }
});

it('shows the health of devices (lost packets, battery, lag), and nothing of other organizations', async () => {
  const { pool } = api.database;
  await pool.query(
    `with d as (insert into device (organization_id, project_id, external_id) values ($1, $2, 'patch-1') returning id)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, seqs, last_packet_at, last_sample_at)
     select $1, $2, d.id, $3, uuid_send(gen_random_uuid()), 0, '{[0,90),[95,100)}', now(), now() - interval '300 ms' from d`,
    [api.org.orgId, api.org.projectId, ada.id],
  );
  await pool.query(
    `insert into measurement (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit, device_id)
     select now(), 0, gen_random_uuid(), $1, $2, $3, 66, 41, '%', d.id from device d where d.external_id = 'patch-1'`,
    [api.org.orgId, api.org.projectId, ada.id],
  );
  expect(await api.json('GET', '/api/v1/devices')).toMatchObject([
    {
      device_id: 'patch-1',
      external_id: 'ada',
      is_flowing: true,
      packets: 95,
      lost_packets: 5,
      lag_ms: 300,
      battery_percent: 41,
      clock: { skew_ppm: null, rms_ms: null, pairs: 0 },
    },
  ]);
  expect((await api.send('GET', '/api/v1/devices', { as: ada.token })).status).toBe(401);
});

it('adds up the quality of heart rates by the hour', async () => {
  const { pool } = api.database;
  await pool.query(
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min')
     on conflict (kind, name, code) do update set cadence_hz = 1`,
  );
  await putFeatures(
    api.database,
    `select extract(epoch from date_trunc('hour', now()))::bigint * 1000000000 + i * 1000000 as ts_ns, 70 as value, s.id as stream_id,
       m.id as method_id, (-1)::smallint as channel_no, (case when i <= 30 then 0 when i <= 40 then 1 else 2 end)::smallint as qmask
     from method m, stream s join device d on d.id = s.device_id, generate_series(1, 45) i
     where d.external_id = 'patch-1' and m.code = 'derived:hr_ecg_v1'`,
  );
  const quality = await api.client().call('getSignalQuality', { query: { hours: 2 } });
  expect(quality).toMatchObject([{ external_id: 'ada', feature: 'hr_ecg' }]);
  expect(quality[0]!.hours.at(-1)).toMatchObject({ expected: 3600, n: 45, good: 30, suspect: 10 });
});

// promise: sealed
it('seals journals with BIO_SECRET where it is set, and still opens those sealed before', async () => {
  const secret = Buffer.from('a secret of at least 32 characters, from outside');
  const { pool } = api.database;
  const outside = await startHttpFor(
    recordsApi({ db: pool, cursors: new Cursors(Buffer.alloc(32, 7)), journal: new JournalSeals(pool, { secret }) }),
  );
  const call = (method: string, body?: object): Promise<Response> =>
    fetch(`${outside.base}/api/v1/journal`, {
      method,
      headers: { authorization: `Bearer ${ada.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  expect((await call('POST', { text: 'sealed from outside' })).status).toBe(201);
  const texts = ((await (await call('GET')).json()) as { text: string }[]).map((entry) => entry.text);
  expect(texts).toEqual(['sealed from outside', 'Ein Tag am See. 今天很好 🙂']);
  // Without that secret the database alone does not open it.
  const { rows } = await pool.query<{ id: string; sealed: Buffer }>(
    'select id, sealed from journal_entry order by created_at desc limit 1',
  );
  const own = new JournalCipher(await serviceSecret({ pool } as never, 'journal'));
  expect(() => own.open(rows[0]!.sealed, ada.id, rows[0]!.id)).toThrow();
  await outside.stop();
  await pool.query('delete from journal_entry where id = $1', [rows[0]!.id]);
});

/** A second front to the same database. */
async function startHttpFor(routes: readonly Route[]): Promise<{ base: string; stop: () => Promise<void> }> {
  const silent = (): void => undefined;
  const http = await startHttp({
    config: readConfig({ PORT: '0' }),
    routes,
    sockets: [],
    authenticate: api.auth.authenticate,
    originAllowed: api.auth.originAllowed,
    idempotency: idempotencyStore(api.database.pool),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  return { base: `http://127.0.0.1:${http.port}`, stop: () => http.stop() };
}
