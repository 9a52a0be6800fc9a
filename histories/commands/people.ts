/** What people do: write how they are, answer a questionnaire, look at their pages. */
import type { PersonCommand } from '../commands.ts';
import type { Oracle, Person } from '../oracle.ts';

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
