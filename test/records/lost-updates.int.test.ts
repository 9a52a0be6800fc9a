/** Two people change one thing at the same time: one of them is told, and no change is lost silently. Over REST, and on pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

let dash: DashboardFixture;
let project = '';
let person = '';
let episode = '';
let member = '';
beforeAll(async () => {
  dash = await startDashboard();
  const projects = await dash.send<{ id: string; project_key: string }[]>('GET', '/api/v1/projects');
  project = projects[0]!.id;
  const user = await dash.send<{ xuser_id: string }>('POST', '/api/v1/xusers', {
    external_id: 'edited',
    project_key: projects[0]!.project_key,
  });
  person = user.xuser_id;
  const body = { subject_id: person, kind: 'note', started_at: '2026-03-01T08:00:00Z' };
  episode = (await dash.send<{ id: string }>('POST', '/api/v1/episodes', body)).id;
  const added = { email: 'bob@example.org', role: 'viewer', password: 'correct horse staple' };
  member = (await dash.send<{ id: string }>('POST', '/api/v1/members', added)).id;
});
afterAll(() => dash.close());

const questionnaire = (title: string) => ({
  resource: { title, item: [{ linkId: 'a', text: 'How strong?', type: 'integer' }] },
  scoring: { scores: [], safety: [] },
});
type Options = Readonly<{ as?: Record<string, string>; etag?: string; body?: object }>;

async function ask(method: string, path: string, { as, etag, body }: Options = {}) {
  const response = await fetch(dash.service.baseUrl + path, {
    method,
    headers: {
      ...(as ?? { authorization: `Bearer ${dash.service.firstKey}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === undefined ? {} : { 'if-match': etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, etag: response.headers.get('etag') ?? '', body: (text === '' ? {} : JSON.parse(text)) as never };
}

/** A signed-in operator: the cookie, as a page of the service itself sends it. */
function operator(): Record<string, string> {
  const cookie = dash.signedIn.cookies.find(({ name }) => name === 'bio_session')!;
  return { cookie: `${cookie.name}=${cookie.value}`, origin: dash.service.baseUrl };
}

const retention = (days: number) => ({
  retention: { samples_days: days, features_days: null, beats_days: null },
  consent_required: [],
});
const things = (): readonly { name: string; method: string; path: string; read: () => Promise<string>; body: (i: number) => object }[] => [
  {
    name: 'questionnaire',
    method: 'PUT',
    path: `/api/v1/projects/${project}/questionnaires/edited`,
    read: async () => {
      const versions = (await ask('GET', `/api/v1/projects/${project}/questionnaires`)).body as {
        id: string;
        version: string;
        status: string;
      }[];
      return `"${versions.find(({ id, status }) => id === 'edited' && status === 'active')!.version}"`;
    },
    body: (i) => questionnaire(`Edited ${i}`),
  },
  {
    name: 'settings of a project',
    method: 'PUT',
    path: `/api/v1/projects/${project}/settings`,
    read: async () => (await ask('GET', `/api/v1/projects/${project}/settings`)).etag,
    body: (i) => retention(3000 + i),
  },
  {
    name: 'origins of a project',
    method: 'PUT',
    path: `/api/v1/projects/${project}/origins`,
    read: async () => (await ask('GET', `/api/v1/projects/${project}/origins`)).etag,
    body: (i) => ({ origins: [`https://app${i}.example`] }),
  },
  {
    name: 'user',
    method: 'PATCH',
    path: `/api/v1/xusers/${person}`,
    read: async () => (await ask('GET', `/api/v1/xusers/${person}`)).etag,
    body: (i) => ({ display_name: `Ada ${i}` }),
  },
  {
    name: 'episode',
    method: 'PATCH',
    path: `/api/v1/episodes/${episode}`,
    read: async () => (await ask('GET', `/api/v1/episodes/${episode}`)).etag,
    body: (i) => ({ title: `Title ${i}` }),
  },
  {
    name: 'member',
    method: 'PATCH',
    path: `/api/v1/members/${member}`,
    read: async () => ((await ask('GET', '/api/v1/members')).body as { id: string; etag: string }[]).find(({ id }) => id === member)!.etag,
    body: (i) => ({ role: ['clinician', 'analyst', 'admin', 'viewer', 'clinician'][i] }),
  },
];

describe('three clients that change the same version of a record', () => {
  // promise: edits-kept, operators-say-what-they-read
  it.each([0, 1, 2, 3, 4, 5])('one wins, the others are told, and can retry with the current version: %i', async (at) => {
    const { name, method, path, read, body } = things()[at]!;
    if (name === 'questionnaire') await ask(method, path, { body: body(0) });
    const etag = await read();
    expect(etag, name).toMatch(/^"[^"]+"$/);
    const answers = await Promise.all([0, 1, 2].map((i) => ask(method, path, { etag, body: body(i) })));
    expect(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      name,
    ).toEqual([200, 412, 412]);
    expect(answers.find(({ status }) => status === 412)?.body).toMatchObject({ code: 'precondition_failed' });
    // People must send the tag that they read; a program may omit it, and replaces the present state.
    expect((await ask(method, path, { as: operator(), body: body(3) })).body, name).toMatchObject({ code: 'precondition_required' });
    expect((await ask(method, path, { as: operator(), etag: await read(), body: body(3) })).status, name).toBe(200);
    const again = await ask(method, path, { body: body(4) });
    expect(again.status, name).toBe(200);
    if (again.etag !== '') expect(again.etag, name).toBe(await read());
    // Tags made weak by a proxy are accepted; a tag of another record is not.
    expect((await ask(method, path, { etag: `W/${await read()}`, body: body(0) })).status, name).toBe(200);
    expect((await ask(method, path, { etag: '"other"', body: body(1) })).status, name).toBe(412);
    expect((await ask(method, path, { etag: '*', body: body(2) })).status, name).toBe(200);
  });
});

describe('two people with the same page open', () => {
  // promise: edits-kept
  it('the second one to save is told, keeps the text, and can look at what the first one saved', async () => {
    await ask('PUT', `/api/v1/projects/${project}/questionnaires/shared`, { body: questionnaire('Before') });
    const address = `/dashboard/#/settings/questionnaires/${project}/shared`;
    const [{ page: first }, { page: second, errors }] = await Promise.all([
      dash.open(address, { storageState: dash.signedIn }),
      dash.open(address, { storageState: dash.signedIn }),
    ]);
    for (const [page, title] of [
      [first, 'Of the first'],
      [second, 'Of the second'],
    ] as const) {
      await page.getByLabel('Title').first().fill(title);
      await page.getByLabel('Title').first().blur();
    }
    await first.getByRole('button', { name: /^Publish version/ }).click();
    await first.getByText('is now in use').waitFor();
    await second.getByRole('button', { name: /^Publish version/ }).click();
    await second.getByRole('alert').getByText('Someone else changed this').waitFor();
    expect(await second.getByLabel('Title').first().inputValue()).toBe('Of the second');
    await second.getByRole('button', { name: 'Discard my changes and reload' }).click();
    await expect.poll(() => second.getByLabel('Title').first().inputValue()).toBe('Of the first');
    expect(await second.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
  });
});
