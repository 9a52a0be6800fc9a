/** Commands of people: write how they are, answer a questionnaire, look at their pages. */
import { randomUUID } from 'node:crypto';
import type { PersonCommand } from '../commands.ts';
import { WEIGHT } from '../compare/weights.ts';
import type { Answer } from '../http.ts';
import type { Oracle, Person } from '../oracle.ts';

/** The international pound. */
const KG_PER_POUND = 0.45359237;
const HOUR_MS = 3_600_000;

export async function runPersonCommand(oracle: Oracle, command: PersonCommand): Promise<void> {
  const person = await oracle.person(command.person);
  switch (command.do) {
    case 'mood': {
      const { score, note } = command;
      if (await written(oracle, person, '/api/v1/moods', { score, note })) person.moods.push({ score, note });
      return;
    }
    case 'journal':
      if (await written(oracle, person, '/api/v1/journal', { text: command.text })) person.journal.push(command.text);
      return;
    case 'answer': {
      const item = command.points.map((points, i) => ({ linkId: `who-5.${i + 1}`, answer: [{ valueCoding: { code: `who5-${points}` } }] }));
      const body = { resourceType: 'QuestionnaireResponse', questionnaire: 'who-5', status: 'completed', item };
      const score = 4 * command.points.reduce((sum, points) => sum + points, 0);
      if (await written(oracle, person, '/api/v1/questionnaire-responses', body)) person.answers.push(score);
      return;
    }
    case 'measure':
      await measure(oracle, person, command);
      return;
    case 'episode':
      await noteEpisode(oracle, person, command);
      return;
    case 'look':
      await look(oracle, person);
      return;
    default: {
      const never: never = command;
      throw new TypeError(JSON.stringify(never));
    }
  }
}

/** @returns was it kept? */
async function written(oracle: Oracle, person: Person, path: string, body: object): Promise<boolean> {
  const { status, text } = await oracle.ask('POST', path, { as: person.token, body });
  const wanted = oracle.isMissing(person, 'recording') ? 403 : 201;
  oracle.expect('answers', status === wanted || status >= 500, () => `POST ${path}: ${status} instead of ${wanted}: ${text.slice(0, 300)}`);
  return status === 201;
}

/** A day apart, the newest a day old. */
async function measure(oracle: Oracle, person: Person, { value, unit }: Extract<PersonCommand, { do: 'measure' }>): Promise<void> {
  const time = new Date(Date.now() - (person.weights.length + 1) * 86_400_000).toISOString();
  const body = { subject_id: person.xuserId, measurements: [{ biosignal_id: WEIGHT, value, unit, time }] };
  const tell = async (): Promise<Answer> => await oracle.ask('POST', '/api/v1/measurements', { body });
  const { status, text } = await tell();
  const wanted = oracle.isMissing(person, 'recording') ? 403 : 201;
  oracle.expect('answers', status === wanted || status >= 500, () => `a weight: ${status} instead of ${wanted}: ${text.slice(0, 300)}`);
  if (status !== 201) return;
  person.weights.push({ time, kg: unit === 'kg' ? value : value * KG_PER_POUND });
  const again = await tell();
  const { created, duplicates } = (again.json ?? {}) as { created?: number; duplicates?: number };
  oracle.expect(
    'answers',
    created === 0 && duplicates === 1,
    () => `a weight that was told again was answered ${again.status} ${again.text.slice(0, 300)}`,
  );
}

async function noteEpisode(oracle: Oracle, person: Person, { kind, closes }: Extract<PersonCommand, { do: 'episode' }>): Promise<void> {
  const startedMs = Date.now() - HOUR_MS;
  const body = { subject_id: person.xuserId, kind, started_at: new Date(startedMs).toISOString() };
  const headers = { 'idempotency-key': randomUUID() };
  const note = async (): Promise<Answer> => await oracle.ask('POST', '/api/v1/episodes', { body, headers });
  const { status, json, text } = await note();
  const wanted = oracle.isMissing(person, 'sharing') ? 403 : 201;
  oracle.expect('answers', status === wanted || status >= 500, () => `an episode: ${status} instead of ${wanted}: ${text.slice(0, 300)}`);
  if (status !== 201) return;
  const { id } = json as { id: string };
  person.episodes.add(id);
  const again = (await note()).json as { id?: string } | null;
  oracle.expect('answers', again?.id === id, () => `episode ${id}, said again with its Idempotency-Key, is ${again?.id}`);
  oracle.happened('episode.created', id, person);
  if (!closes) return;
  const change = { status: 'closed', ended_at: new Date(startedMs + 60_000).toISOString() };
  const closed = await oracle.must<{ status: string }>(200, 'PATCH', `/api/v1/episodes/${id}`, { body: change });
  oracle.expect('entries', closed === null || closed.status === 'closed', () => `episode ${id} is ${closed?.status}`);
  if (closed === null) return;
  person.changedEpisodes.add(id);
  oracle.happened('episode.updated', id, person);
}

/** All at once, as a page does. */
async function look(oracle: Oracle, person: Person): Promise<void> {
  const as = person.token;
  const month = { since: new Date(Date.now() - 30 * 86_400_000).toISOString(), until: new Date().toISOString() };
  const paths = [
    'bootstrap',
    'streams',
    `observations?biosignal_id=1&since=${month.since}&until=${month.until}`,
    'observations?biosignal_id=2',
    'moods',
    'journal',
    'tasks',
    'goals',
    'episodes',
    'questionnaires',
  ];
  const charts = ['PT1H', 'P7D'].map((duration) => ({
    series: [{ feature: 'hr_ecg' }, { feature: 'hr_ppg', agg: 'max' }],
    range: { duration },
  }));
  await Promise.all([
    ...paths.map((path) => oracle.must(200, 'GET', `/api/v1/${path}`, { as })),
    ...charts.map((body) => oracle.must(200, 'POST', '/api/v1/charts/query', { as, body })),
    ...['devices', 'signal-quality', 'fleet/episodes', 'xusers'].map((path) => oracle.must(200, 'GET', `/api/v1/${path}`)),
  ]);
}
