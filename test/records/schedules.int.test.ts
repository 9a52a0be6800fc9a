/** Tasks that recur in the whole service: once each whatever the time zone becomes, on record when nobody did them, and completed by
 *  answers. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepOccurrences } from '../../src/records/occurrences.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Task = { id: string; due: string; status: string; questionnaire: string | null; response_id: string | null };
type Counts = { schedule_id: string; done: number; skipped: number; missed: number; due: number; adherence: number | null };

let run: RunningService;
beforeAll(async () => {
  run = await runService();
});
afterAll(async () => {
  expect(run.faults).toEqual([]);
  await run.close();
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const at = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toISOString();

async function personIn(externalId: string, timeZone: string): Promise<{ xuser_id: string; xuser_token: string }> {
  const person = await run.token(externalId);
  await moveTo(person.xuser_id, timeZone);
  return person;
}
const moveTo = async (id: string, timeZone: string): Promise<void> =>
  expect((await run.send('PATCH', `/api/v1/xusers/${id}`, { body: { time_zone: timeZone } })).status).toBe(200);
async function schedule(subject: string, body: object): Promise<string> {
  const answer = await run.send<{ id: string }>('POST', '/api/v1/task-schedules', {
    body: { subject_id: subject, title: 'Recurs', every: 'day', ...body },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
}
const tasksOf = async (as: string): Promise<Task[]> => (await run.send<Task[]>('GET', '/api/v1/tasks', { as })).body;
async function countsOf(subject: string, since: string, until: string): Promise<Counts[]> {
  const query = new URLSearchParams({ subject_id: subject, since, until }).toString();
  const answer = await run.send<{ schedules: Counts[] }>('GET', `/api/v1/adherence?${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.schedules;
}
/** Makes a task look as if it was given days ago, with neither readers nor a running service since. */
const ago = (id: string, days: number) =>
  run.database.pool.query(
    `with gone as (delete from task where schedule_id = $1)
     update task_schedule set created_at = created_at - make_interval(days => $2), starts_on = starts_on - $2, made_until = null where id = $1`,
    [id, days],
  );

// promise: tasks-on-their-clocks
it('a changed time zone moves future occurrences and duplicates none', async () => {
  const person = await personIn('traveller', 'Asia/Tokyo');
  await schedule(person.xuser_id, { times: ['08:00', '20:00'] });
  const hoursIn = (zone: string, tasks: readonly Task[]): string[] =>
    tasks.map(({ due }) => new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(new Date(due)));
  const range = [at(-5 * DAY_MS), at(5 * DAY_MS)] as const;
  const home = await tasksOf(person.xuser_token);
  expect(new Set(hoursIn('Asia/Tokyo', home)).size).toBe(2);
  const [before] = await countsOf(person.xuser_id, ...range);
  for (const zone of ['America/New_York', 'Asia/Tokyo', 'America/New_York'])
    await moveTo(person.xuser_id, zone).then(() => tasksOf(person.xuser_token));
  const [after] = await countsOf(person.xuser_id, ...range);
  expect(after!.due).toBe(before!.due);
  const ahead = (await tasksOf(person.xuser_token)).filter(({ due }) => Date.parse(due) > Date.now());
  expect(ahead.length).toBeLessThanOrEqual(2);
  for (const hour of hoursIn('America/New_York', ahead)) expect(['08:00', '20:00']).toContain(hour);
});

// promise: old-zones-used
it('a zone that an older release stored is the one that it stands for, also of occurrences', async () => {
  const person = await personIn('settler', 'Europe/Berlin');
  await schedule(person.xuser_id, { times: ['08:00', '20:00'] });
  // PostgreSQL reads an offset the other way round, and does not know the last.
  for (const [stored, used] of [
    ['+02:00', 'Etc/GMT-2'],
    ['cet', 'Europe/Brussels'],
    ['Mars/Olympus', 'UTC'],
  ] as const) {
    await run.database.pool.query('update xuser set time_zone = $1 where id = $2', [stored, person.xuser_id]);
    await keepOccurrences(run.database.pool);
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: used, hour: '2-digit', minute: '2-digit' });
    const ahead = (await tasksOf(person.xuser_token)).filter(({ due }) => Date.parse(due) > Date.now() + 3 * HOUR_MS);
    expect(ahead).not.toHaveLength(0); // a list reaches a day ahead: which of the two is in it depends on the hour
    for (const { due } of ahead) expect([stored, clock.format(Date.parse(due))]).toEqual([stored, expect.stringMatching(/^(08|20):00$/)]);
  }
  await moveTo(person.xuser_id, 'Europe/Berlin');
});

it('a changed time zone makes nothing due in the past', async () => {
  const person = await personIn('eastward', 'Pacific/Honolulu');
  const id = await schedule(person.xuser_id, { times: Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, '0')}:30`) });
  await tasksOf(person.xuser_token);
  const { rows } = await run.database.pool.query<{ from: Date; n: number }>(
    'select min(due) as from, count(*)::int as n from task where schedule_id = $1',
    [id],
  );
  expect(rows[0]!.n).toBeGreaterThanOrEqual(24); // no more in the last half hour of the day there
  await moveTo(person.xuser_id, 'Pacific/Kiritimati'); // the same hours a day earlier
  await tasksOf(person.xuser_token);
  const past = await run.database.pool.query('select from task where schedule_id = $1 and due < $2', [id, rows[0]!.from]);
  expect(past.rowCount).toBe(0);
});

it('a schedule that ends before it begins is refused, with or without a stated beginning', async () => {
  const person = await personIn('backwards', 'Europe/Berlin');
  for (const body of [{ starts_on: '2031-03-02', ends_on: '2031-03-01' }, { ends_on: '2026-01-01' }]) {
    const { status, text } = await run.send('POST', '/api/v1/task-schedules', {
      body: { subject_id: person.xuser_id, title: 'Recurs', every: 'day', times: ['08:00'], ...body },
    });
    expect([status, text]).toEqual([422, expect.stringContaining('"pointer":"/ends_on"') as string]);
  }
  await schedule(person.xuser_id, { times: ['08:00'], starts_on: '2031-03-01', ends_on: '2031-03-01' });
});

it('occurrences that nobody looked at are recorded as missed; a mark that arrives late counts', async () => {
  const person = await personIn('silent', 'Europe/Berlin');
  const id = await schedule(person.xuser_id, { times: ['09:00'] });
  await ago(id, 5);
  await keepOccurrences(run.database.pool);
  const { rows } = await run.database.pool.query<{ id: string; due: Date }>(
    `select id, due from task where schedule_id = $1 and status = 'missed' order by due`,
    [id],
  );
  expect(rows.length).toBeGreaterThanOrEqual(3);
  expect(rows.length).toBeLessThanOrEqual(5);
  for (const [i, { due }] of rows.entries()) if (i > 0) expect((due.getTime() - rows[i - 1]!.due.getTime()) / HOUR_MS).toBeCloseTo(24, -1);
  await keepOccurrences(run.database.pool);
  const [counts] = await countsOf(person.xuser_id, at(-10 * DAY_MS), at(0));
  expect(counts).toMatchObject({ schedule_id: id, missed: rows.length, done: 0, adherence: 0 });
  // Missed occurrences are no longer shown.
  expect((await tasksOf(person.xuser_token)).map((task) => task.id)).not.toContain(rows[0]!.id);

  const time = new Date(rows[0]!.due.getTime() + HOUR_MS).toISOString(); // done in time, told today
  const marked = await run.send<Task>('POST', `/api/v1/tasks/${rows[0]!.id}/status`, {
    as: person.xuser_token,
    body: { status: 'done', time },
  });
  expect(marked.body, marked.text).toMatchObject({ status: 'done' });
  await keepOccurrences(run.database.pool);
  const [later] = await countsOf(person.xuser_id, at(-10 * DAY_MS), at(0));
  expect(later).toMatchObject({ missed: rows.length - 1, done: 1, adherence: 1 / rows.length });
  // An ended schedule keeps its past.
  expect((await run.send('DELETE', `/api/v1/task-schedules/${id}`)).status).toBe(204);
  expect(await countsOf(person.xuser_id, at(-10 * DAY_MS), at(2 * DAY_MS))).toMatchObject([{ missed: rows.length - 1, done: 1 }]);
});

it('occurrences of a questionnaire are done by answering it', async () => {
  const person = await personIn('asked', 'Asia/Tokyo');
  const unknown = { subject_id: person.xuser_id, title: 'x', every: 'day', times: ['08:00'], questionnaire: 'no-such' };
  expect((await run.send('POST', '/api/v1/task-schedules', { body: unknown })).status).toBe(404);
  await run.send('PUT', `/api/v1/projects/${run.org.projectId}/questionnaires/pain`, {
    body: {
      resource: { title: 'Pain', item: [{ linkId: 'a', text: 'How strong?', type: 'integer' }] },
      scoring: { scores: [], safety: [] },
    },
  });
  const id = await schedule(person.xuser_id, { times: ['08:00', '20:00'], questionnaire: 'pain' });
  await ago(id, 3);
  const open = (await tasksOf(person.xuser_token)).filter(({ due }) => Date.parse(due) <= Date.now());
  expect(open[0]).toMatchObject({ questionnaire: 'pain', status: 'due', response_id: null });
  const byHand = await run.send('POST', `/api/v1/tasks/${open[0]!.id}/status`, { as: person.xuser_token, body: { status: 'done' } });
  expect(byHand.status, byHand.text).toBe(422);
  const body = {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'pain',
    status: 'completed',
    authored: new Date(Date.parse(open[0]!.due) + HOUR_MS).toISOString(),
    item: [{ linkId: 'a', answer: [{ valueInteger: 3 }] }],
  };
  const answered = await run.send<{ id: string }>('POST', '/api/v1/questionnaire-responses', { as: person.xuser_token, body });
  expect(answered.status, answered.text).toBe(201);
  const done = (await tasksOf(person.xuser_token)).filter(({ status }) => status === 'done');
  expect(done).toMatchObject([{ id: open[0]!.id, response_id: answered.body.id }]);
  const [counts] = await countsOf(person.xuser_id, at(-10 * DAY_MS), at(0));
  expect(counts).toMatchObject({ done: 1, skipped: 0 });
  const other = await run.token('somebody-else');
  const query = `subject_id=${person.xuser_id}`;
  expect((await run.send('GET', `/api/v1/adherence?${query}`, { as: other.xuser_token })).status).toBe(404);
  expect((await run.send('GET', `/api/v1/adherence?${query}&since=2020-01-01T00:00:00Z`)).status).toBe(422);
});

it('an answer late in the day counts for that morning, and a second one does not count for tomorrow', async () => {
  const person = await personIn('evening', 'Asia/Tokyo');
  // Due 13 hours ago and in 11 hours, wherever the clock stands.
  const inTokyo = (ms: number): string => new Date(Date.now() + ms + 9 * HOUR_MS).toISOString().slice(11, 16);
  const id = await schedule(person.xuser_id, { times: [inTokyo(-13 * HOUR_MS)], questionnaire: 'pain' });
  await ago(id, 3);
  const answer = async (authored: string): Promise<void> => {
    const item = [{ linkId: 'a', answer: [{ valueInteger: 3 }] }];
    const body = { resourceType: 'QuestionnaireResponse', questionnaire: 'pain', status: 'completed', authored, item };
    const { status, text } = await run.send('POST', '/api/v1/questionnaire-responses', { as: person.xuser_token, body });
    expect(status, text).toBe(201);
  };
  const ofDay = async (): Promise<string[]> =>
    (
      await run.database.pool.query<{ status: string }>(
        `select status from task where schedule_id = $1 and due > now() - interval '1 day' and due < now() + interval '1 day' order by due`,
        [id],
      )
    ).rows.map(({ status }) => status);
  await tasksOf(person.xuser_token);
  expect(await ofDay()).toEqual(['due', 'due']);
  await answer(at(-60_000));
  expect(await ofDay()).toEqual(['done', 'due']);
  await answer(at(-30_000));
  expect(await ofDay()).toEqual(['done', 'due']);
});

it('tasks of an archived project rest: none is made, missed or moved until it is active again', async () => {
  const { pool } = run.database;
  const person = await personIn('resting', 'Asia/Tokyo');
  const id = await schedule(person.xuser_id, { times: ['08:00', '20:00'] });
  await tasksOf(person.xuser_token);
  const behind = await schedule(person.xuser_id, { times: ['09:00'] });
  const archive = async (time: Date | null): Promise<unknown> =>
    await pool.query('update project set archived_at = $1 where id = $2', [time, run.org.projectId]);
  const tasks = async (): Promise<readonly { schedule_id: string; due: Date; status: string }[]> =>
    (await pool.query('select schedule_id, due, status from task where xuser_id = $1 order by schedule_id, due', [person.xuser_id])).rows;
  // one of them is a day and an hour old when the project is archived
  const { rows: old } = await pool.query<{ id: string }>(
    `update task set due = now() - interval '25 hours', slot = (now() - interval '25 hours') at time zone 'Asia/Tokyo'
     where id = (select id from task where schedule_id = $1 order by due limit 1) returning id`,
    [id],
  );
  const statusOfOld = async (): Promise<string> =>
    (await pool.query<{ status: string }>('select status from task where id = $1', [old[0]!.id])).rows[0]!.status;
  await archive(new Date());
  await ago(behind, 5);
  await pool.query(`update xuser set time_zone = 'Europe/Berlin' where id = $1`, [person.xuser_id]);
  const before = await tasks();
  expect(before.every((task) => task.schedule_id === id)).toBe(true);
  await keepOccurrences(pool);
  expect(await tasks()).toEqual(before);
  expect(await statusOfOld()).toBe('due');
  await archive(null);
  await keepOccurrences(pool);
  expect(await statusOfOld()).toBe('missed');
  const after = await tasks();
  expect(after.filter((task) => task.schedule_id === behind && task.status === 'missed').length).toBeGreaterThan(2);
  expect(after.filter((task) => task.schedule_id === id)).not.toEqual(before);
});
