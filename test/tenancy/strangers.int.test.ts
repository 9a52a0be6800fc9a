/** Keeps strangers' data apart: two people of a project, another project of the organization and another organization have the same of
 *  everything, under the same names and repeat keys; then each reads all that it can, and finds nothing of the others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { scopes } from '../../src/caller.ts';
import type { StreamId } from '../../src/signal.ts';
import { putAside } from '../../src/storage/set-aside.ts';
import { createProject } from '../../src/tenancy/projects.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

/** A person of a project, and the mark in every text about them. */
type Place = Readonly<{
  mark: string;
  organization: string;
  project: string;
  /** Of the project, of the whole organization, of the person. */
  key: string;
  wideKey: string;
  token: string;
  person: string;
  ids: Map<string, string>;
  /** Must appear only in their own answers. */
  marks: string[];
}>;

let run: RunningService;
let one: Place;
let neighbour: Place;
let otherProject: Place;
let otherOrganization: Place;

beforeAll(async () => {
  run = await runService({ BIO_WEBHOOK_NETWORKS: '127.0.0.0/8' });
  const { pool } = run.database;
  const { orgId, projectId, projectKey } = run.org;
  const far = await createOrganization(pool, 'zqfar organization');
  const two = await createProject(pool, orgId, 'zqtwo project');
  const keyOf = async (org: string, project: string): Promise<string> =>
    (await createApiKey(pool, { orgId: org, name: 'k', scopes, projectId: project })).key;
  const wideKey = run.org.apiKey.key;
  const own = { organization: orgId, project: projectId, key: await keyOf(orgId, projectId), wideKey };
  const second = { organization: orgId, project: two.projectId, key: await keyOf(orgId, two.projectId), wideKey };
  const third = { organization: far.orgId, project: far.projectId, key: await keyOf(far.orgId, far.projectId), wideKey: far.apiKey.key };
  one = await fill('zqone', 'same person', 'same patch', projectKey, own);
  neighbour = await fill('zqnext', 'neighbour', 'their patch', projectKey, own);
  otherProject = await fill('zqtwo', 'same person', 'patch of two', two.projectKey, second);
  otherOrganization = await fill('zqfar', 'same person', 'same patch', far.projectKey, third);
  const everyone = [one, neighbour, otherProject, otherOrganization];
  const featuresOf = async ({ person }: Place): Promise<boolean> =>
    (await pool.query('select 1 from feature f join stream s on s.id = f.stream_id where s.xuser_id = $1 limit 1', [person])).rows.length >
    0;
  await until(async () => (await Promise.all(everyone.map(featuresOf))).every(Boolean), 60_000);
  for (const place of everyone) {
    const { rows } = await pool.query<{ uuid: string }>('select uuid from stream where xuser_id = $1', [place.person]);
    place.marks.push(place.mark, place.person, ...rows.map(({ uuid }) => uuid));
    place.ids.set('streamId', rows[0]!.uuid);
  }
});
afterAll(() => run.close());

type Tenant = Pick<Place, 'organization' | 'project' | 'key' | 'wideKey'>;

/** Sends everything that the API accepts for one person and one project. The keys of repeats are the same in every organization. */
async function fill(mark: string, externalId: string, device: string, projectKey: string, tenant: Tenant): Promise<Place> {
  const { key, wideKey } = tenant;
  let count = 0;
  const ok = async <T = { id: string }>(as: string, method: string, path: string, body: unknown): Promise<T> => {
    const headers = method === 'POST' ? { 'idempotency-key': `${tenant.project === run.org.projectId ? mark : 'zqone'}-${++count}` } : {};
    const answer = await run.send<T>(method, path, { as, body, headers });
    expect(answer.status, `${mark}: ${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer.body;
  };
  const { xuser_id: person, xuser_token: token } = await ok<{ xuser_id: string; xuser_token: string }>(key, 'POST', '/api/v1/sdk/token', {
    external_id: externalId,
    project_key: projectKey,
  });
  const startNs = BigInt(Date.now() - 600_000) * 1_000_000n;
  for (const packet of ecgPacket({ channels: 1, fs: 250, ms: 8000, count: 10, deviceId: device })) {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    const sent = await run.ingest({ ...packet, subject: externalId, t0UnixNs, sentUnixNs: 0n }, key);
    expect(sent.status, sent.text).toBe(202);
  }
  const project = `/api/v1/projects/${tenant.project}`;
  const item = [{ linkId: 'w', answer: [{ valueString: mark }] }];
  await ok(key, 'PUT', `${project}/questionnaires/words`, {
    resource: { title: 'Words', item: [{ linkId: 'w', text: 'w', type: 'string' }] },
    scoring: { scores: [], safety: [] },
  });
  await ok(key, 'PATCH', `/api/v1/xusers/${person}`, { display_name: `${mark} name` });
  await ok(key, 'POST', `/api/v1/xusers/${person}/consents`, { purpose: 'sharing', granted: true, document: `${mark} signed` });
  await ok(token, 'POST', '/api/v1/moods', { score: 2, note: `${mark} mood` });
  await ok(token, 'POST', '/api/v1/journal', { text: `${mark} diary` });
  const response = { resourceType: 'QuestionnaireResponse', questionnaire: 'words', status: 'completed', item };
  await ok(token, 'POST', '/api/v1/questionnaire-responses', response);
  await ok(token, 'PUT', '/api/v1/questionnaires/words/draft', { item });
  await ok(key, 'POST', '/api/v1/tasks', { subject_id: person, title: `${mark} task` });
  await ok(key, 'POST', '/api/v1/task-schedules', { subject_id: person, title: `${mark} daily`, every: 'day', times: ['08:00'] });
  await ok(key, 'POST', '/api/v1/goals', { subject_id: person, biosignal_id: 81, target: 3, title: `${mark} goal` });
  const value = ['zqone', 'zqnext', 'zqtwo', 'zqfar'].indexOf(mark) + 3.1375;
  const measurements = [{ biosignal_id: 81, value, time: new Date().toISOString() }];
  await ok(key, 'POST', '/api/v1/measurements', { subject_id: person, measurements });
  const note = { subject_id: person, kind: 'note', title: `${mark} episode`, started_at: new Date().toISOString() };
  const episode = await ok(key, 'POST', '/api/v1/episodes', note);
  await ok(key, 'POST', `/api/v1/episodes/${episode.id}/artifacts`, { kind: 'note', title: `${mark} artifact`, content: { x: mark } });
  await ok(key, 'POST', `/api/v1/episodes/${episode.id}/acknowledgement`, { note: `${mark} seen` });
  const { rows } = await run.database.pool.query<{ id: StreamId; uuid: string }>('select id, uuid from stream where xuser_id = $1', [
    person,
  ]);
  const said = { stream_id: rows[0]!.uuid, kind: 'note', starts_at: new Date().toISOString(), text: `${mark} marked` };
  const annotation = await ok(key, 'POST', '/api/v1/annotations', said);
  const group = await ok(key, 'POST', `${project}/groups`, { name: `${mark} ward` });
  await ok(key, 'PUT', `${project}/groups/${group.id}/members/${person}`, undefined);
  const bound = { name: `${mark} rule`, feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 60, subject_id: person };
  const rule = await ok(key, 'POST', `${project}/rules`, bound);
  const why = { reason: 'refused', sqlState: null, logPosition: null, bytes: null };
  await putAside(run.database.pool, [{ ...why, kind: 'measurement', streamId: rows[0]!.id, content: { note: `${mark} aside` } }]);
  const ids = new Map([
    ['id', episode.id],
    ['annotationId', annotation.id],
    ['ruleId', rule.id],
    ['groupId', group.id],
    ['projectId', tenant.project],
    ['xuserId', person],
    ['questionnaireId', 'words'],
  ]);
  const marks = [episode.id, String(value)];
  if (mark === 'zqnext') return { ...tenant, mark, token, person, ids, marks };
  const webhook = await ok(key, 'POST', '/api/v1/webhooks', {
    url: `http://127.0.0.1:9/${mark}`,
    events: ['*'],
    project_id: tenant.project,
  });
  ids.set('webhookId', webhook.id);
  const sdkKey = await ok(key, 'POST', `${project}/sdk-keys`, { name: `${mark} page` });
  const apiKey = await ok(key, 'POST', '/api/v1/api-keys', { name: `${mark} key`, scopes: ['read'], project_id: tenant.project });
  await ok(key, 'PUT', `${project}/origins`, { origins: [`https://${mark}.example`] });
  await ok(key, 'POST', `${project}/biosignals`, {
    code: 'strain',
    name: `${mark} strain`,
    abbreviation: 'S',
    unit: '%',
    signal_type: 'scalar',
    source_type: 'device',
  });
  const member = { email: `${mark}@members.example`, role: 'viewer', password: 'a long enough password' };
  if (mark !== 'zqtwo') await ok(wideKey, 'POST', '/api/v1/members', member);
  const profile = { code: 'same-model', name: `${mark} model`, manufacturer: '', model: '', channels: [] };
  if (mark !== 'zqtwo') await ok(wideKey, 'POST', '/api/v1/device-profiles', profile);
  return { ...tenant, mark, token, person, ids, marks: [...marks, webhook.id, sdkKey.id, apiKey.id] };
}

/** Everything that can be read at one place, as text by path; what a credential may not read is left out. */
async function readAll(place: Place, as: string): Promise<ReadonlyMap<string, string>> {
  const query: Readonly<Record<string, string>> = {
    subject_id: place.person,
    biosignal_id: '81',
    since: new Date(Date.now() - 3_600_000).toISOString(),
    until: new Date(Date.now() + 3_600_000).toISOString(),
    date: new Date().toISOString().slice(0, 10),
  };
  const answers = new Map<string, string>();
  for (const route of allRoutes().filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/'))) {
    const names = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {});
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => place.ids.get(name) ?? 'none');
    for (const subject of names.includes('subject_id') ? [true, false] : [false]) {
      const asked = names.filter((name) => query[name] !== undefined && (subject || name !== 'subject_id'));
      const url = `${path}?${new URLSearchParams(asked.map((name) => [name, query[name]!])).toString()}`;
      const answer = await run.send('GET', url, { as });
      if (answer.status === 200) answers.set(url, answer.text);
      else expect([400, 401, 403, 404, 422], `${url}: ${answer.text}`).toContain(answer.status);
    }
  }
  return answers;
}

function expectNoneOf(others: readonly Place[], answers: ReadonlyMap<string, string>): void {
  for (const [url, text] of answers) for (const mark of others.flatMap(({ marks }) => marks)) expect(text, url).not.toContain(mark);
}

describe('data of others is not read', () => {
  // promise: project-key-reach
  it.each([
    ['a key of the project', () => one.key, () => [otherProject, otherOrganization], 17],
    ['a key of the organization', () => one.wideKey, () => [otherOrganization], 18],
    ['the person', () => one.token, () => [neighbour, otherProject, otherOrganization], 15],
  ])('by %s', async (_, as, others, answersMin) => {
    const answers = await readAll(one, as());
    expectNoneOf(others(), answers);
    const own = [...answers.values()].filter((text) => one.marks.some((mark) => text.includes(mark)));
    expect(own.length).toBeGreaterThanOrEqual(answersMin);
  });

  it('by another organization that uses the same names', async () => {
    expectNoneOf([one, neighbour, otherProject], await readAll(otherOrganization, otherOrganization.wideKey));
  });
});

// promise: lists-of-strangers
it('a list that is narrowed to what is of another organization, or is nowhere, is not found', async () => {
  const nowhere = crypto.randomUUID();
  const { project, person } = otherOrganization;
  const statusOf = async (path: string, as = one.wideKey): Promise<number> => (await run.send('GET', path, { as })).status;
  for (const path of ['xusers', 'devices', 'signal-quality', 'fleet/episodes', 'fleet/counts', 'questionnaires']) {
    for (const id of [project, nowhere]) expect(await statusOf(`/api/v1/${path}?project_id=${id}`), path).toBe(404);
    expect(await statusOf(`/api/v1/${path}?project_id=${one.project}`), path).toBe(200);
  }
  expect(await statusOf(`/api/v1/xusers?project_id=${otherProject.project}`, one.key)).toBe(404);
  expect(await statusOf(`/api/v1/xusers?project_id=${project}`, one.token)).toBe(404);
  expect(await statusOf(`/api/v1/xusers?project_id=${one.project}`, one.token)).toBe(200);
  for (const path of ['xusers', 'devices', 'signal-quality', 'fleet/episodes'])
    expect(await statusOf(`/api/v1/${path}?group_id=${nowhere}`), path).toBe(404);
  for (const id of [person, nowhere]) expect(await statusOf(`/api/v1/audit-log?subject_id=${id}`)).toBe(404);
  expect(await statusOf(`/api/v1/audit-log?subject_id=${otherProject.person}`, one.key)).toBe(404);
  expect(await statusOf(`/api/v1/audit-log?subject_id=${one.person}`)).toBe(200);
});

// promise: lists-of-strangers
it('an audit log that is narrowed to an actor of another organization, or who is nowhere, is not found', async () => {
  const actors = async (place: Place): Promise<string[]> => {
    const lists = await Promise.all(
      ['members', 'api-keys'].map(async (path) => (await run.send<{ id: string }[]>('GET', `/api/v1/${path}`, { as: place.wideKey })).body),
    );
    expect(lists.map(({ length }) => length > 0)).toEqual([true, true]);
    return [...lists.flat().map(({ id }) => id), place.person];
  };
  const statusOf = async (actor: string, as: string): Promise<number> =>
    (await run.send('GET', `/api/v1/audit-log?actor_id=${encodeURIComponent(actor)}`, { as })).status;
  for (const id of await actors(one)) expect(await statusOf(id, one.wideKey), id).toBe(200);
  for (const id of [...(await actors(otherOrganization)), crypto.randomUUID(), 'no such account'])
    expect(await statusOf(id, one.wideKey), id).toBe(404);
  expect((await run.send('GET', `/api/v1/audit-log?actor_id=nobody&format=csv`, { as: one.wideKey })).status).toBe(404);
  expect([await statusOf(one.person, one.key), await statusOf(otherProject.person, one.key)]).toEqual([200, 404]);
});

it('a name of another project names nobody in the audit log', async () => {
  const asked = '/api/v1/audit-log?subject_id=neighbour';
  const { status, text } = await run.send('GET', asked, { as: one.key });
  expect([status, text.includes(neighbour.person)]).toEqual([200, true]);
  for (const as of [otherProject.key, otherOrganization.key, otherOrganization.wideKey])
    expect((await run.send('GET', asked, { as })).status).toBe(404);
  const own = await run.send('GET', '/api/v1/audit-log?subject_id=same%20person', { as: otherProject.key });
  expect([own.status, own.text.includes(otherProject.person), own.text.includes(one.person)]).toEqual([200, true, false]);
});

/** Tables of which each person has one row. */
const exportedOnce =
  'stream stream_channel annotation episode_rule person_group_member episode artifact episode_acknowledgement mood goal task_schedule questionnaire_response questionnaire_draft ' +
  'consent journal_entry device set_aside';

describe('data of one person', () => {
  it("is exported without a line of anyone else's", async () => {
    for (const [place, stranger] of [
      [one, neighbour],
      [neighbour, one],
    ] as const) {
      const { text } = await run.send('GET', `/api/v1/xusers/${place.person}/export`, { as: place.key });
      for (const mark of stranger.marks) expect(text).not.toContain(mark);
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { table: string });
      const counts = new Map<string, number>();
      for (const { table } of lines) counts.set(table, (counts.get(table) ?? 0) + 1);
      for (const table of exportedOnce.split(' ')) expect(counts.get(table), `${table} of ${place.mark}`).toBe(1);
      expect(counts.get('measurement'), `measurements of ${place.mark}`).toBe(2); // the mood is one
    }
  });
});
