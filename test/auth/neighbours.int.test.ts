/** Every operation by neighbours, with ids of one's own but for one: what a request names is checked id by id, not only its first one. And
 *  every operation about a person who has withdrawn consent, or was erased. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSdkKey } from '../../src/auth/public-keys.ts';
import { scopes } from '../../src/caller.ts';
import type { Route } from '../../src/http/route.ts';
import { createProject } from '../../src/tenancy/projects.ts';
import { signIn } from '../../src/tenancy/operators.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { putMember } from '../helpers/members.ts';

const since = '2026-01-01T00:00:00Z';
const until = '2026-01-01T00:00:10Z';
const names = [
  'subject',
  'externalId',
  'stream',
  'device',
  'deviceUuid',
  'episode',
  'artifact',
  'key',
  'member',
  'webhook',
  'delivery',
  'task',
  'response',
  'schedule',
  'goal',
  'annotation',
  'rule',
  'group',
  'sdkKey',
  'profile',
  'project',
  'projectKey',
  'questionnaire',
] as const;
type Name = (typeof names)[number];
type Ids = Readonly<Record<Name, string>>;
type Estate = Ids & Readonly<{ token: string }>;
type Sample = Readonly<{ query?: string; body?: unknown }>;

const bound = { name: 'fast', feature: 'hr_ecg', comparison: 'above', threshold: 400, sustain_sec: 60 };
const questionnaireBody = {
  resource: { title: 'x', item: [{ linkId: 'a', text: 'a', type: 'text' }] },
  scoring: { scores: [], safety: [] },
};

/** Requests that name everything that they can name. */
const samplesOf = (ids: Ids): Readonly<Record<string, readonly Sample[]>> => ({
  createUserToken: [{ body: { external_id: ids.externalId, project_key: ids.projectKey } }],
  resolveUser: [
    { body: { external_id: ids.externalId, project_key: ids.projectKey } },
    { body: { xuser_id: ids.externalId, project_key: ids.projectKey } },
  ],
  listUsers: [
    { query: `project_id=${ids.project}&group_id=${ids.group}` },
    { query: `external_id=${ids.externalId}` },
    { query: `search=${ids.externalId}` },
    { query: `group_id=${ids.group}` },
    { query: '' },
  ],
  updateUser: [{ body: { display_name: 'changed' } }],
  recordConsent: [{ body: { purpose: 'sharing', granted: true } }],
  setProjectSettings: [{ body: { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: [] } }],
  createApiKey: [{ body: { name: 'made', scopes: ['read'], project_id: ids.project } }],
  setOrigins: [{ body: { origins: [] } }],
  createMember: [{ body: { email: 'x@x.example', role: 'viewer', password: 'a long enough password' } }],
  updateMember: [{ body: { role: 'viewer' } }],
  createProject: [{ body: { name: 'made' } }],
  listAuditLog: [
    { query: `subject_id=${ids.subject}` },
    { query: `actor_id=${ids.key}` },
    { query: `subject_id=${ids.externalId}` },
    { query: `subject_id=${ids.subject}&kind=reads` },
  ],
  createBiosignal: [{ body: { name: 'x', abbreviation: 'X', unit: '1', signal_type: 'scalar', source_type: 'device', code: 'x' } }],
  listStreams: [{ query: `subject_id=${ids.subject}&device_id=${ids.device}` }, { query: `subject_id=${ids.externalId}` }],
  getSamples: [{ query: `since=${since}&until=${until}` }],
  getOverview: [{ query: `since=${since}&until=${until}` }],
  getStrip: [{ query: `since=${since}&until=${until}` }],
  getCorrections: [{ query: `since=${since}&until=${until}` }],
  getVariability: [{ query: `since=${since}&until=${until}` }],
  getWaves: [{ query: `since=${since}&until=${until}` }],
  createDeviceProfile: [{ body: { code: 'p', name: 'p', manufacturer: '', model: '', channels: [] } }],
  setDeviceProfile: [{ body: { profile_id: ids.profile } }, { body: { profile_id: null } }],
  getDayVariability: [{ query: `date=2026-01-01&subject_id=${ids.subject}` }],
  listObservations: [
    { query: `biosignal_id=20&subject_id=${ids.subject}&device_id=${ids.device}` },
    { query: `biosignal_id=20&subject_id=${ids.externalId}` },
  ],
  createMeasurements: [
    { body: { subject_id: ids.subject, measurements: [{ biosignal_id: 61, value: 97, time: since }] } },
    { body: { subject_id: ids.externalId, measurements: [{ biosignal_id: 61, value: 97, time: since }] } },
  ],
  queryChart: [{ body: { subject_id: ids.subject, series: [{ biosignal_id: 20 }], range: { from: since, to: until } } }],
  listEpisodes: [{ query: `subject_id=${ids.subject}` }],
  createEpisode: [{ body: { subject_id: ids.subject, stream_id: ids.stream, kind: 'event', started_at: since } }],
  updateEpisode: [{ body: { title: 'changed' } }],
  acknowledgeEpisode: [{ body: { note: 'seen' } }],
  addArtifact: [{ body: { kind: 'note', stream_id: ids.stream } }],
  listAnnotations: [
    { query: `subject_id=${ids.subject}&stream_id=${ids.stream}` },
    { query: `stream_id=${ids.stream}` },
    { query: `subject_id=${ids.externalId}` },
  ],
  createAnnotation: [{ body: { stream_id: ids.stream, kind: 'note', starts_at: since } }],
  updateAnnotation: [{ body: { text: 'changed' } }],
  search: [{ query: `q=${ids.externalId}` }, { query: `q=${ids.device}` }, { query: `q=${ids.stream.slice(0, 8)}` }, { query: 'q=-' }],
  listGroups: [{ query: `subject_id=${ids.subject}` }, { query: `subject_id=${ids.externalId}` }, {}],
  createGroup: [{ body: { name: 'Ward' } }],
  updateGroup: [{ body: { name: 'changed' } }],
  addGroupMember: [{ body: {} }],
  createRule: [
    { body: { ...bound, subject_id: ids.subject } },
    { body: { ...bound, group_id: ids.group } },
    { body: { ...bound, subject_id: ids.externalId } },
  ],
  tryRule: [
    { body: { rule: { ...bound, subject_id: ids.subject }, since, until } },
    { body: { rule: { ...bound, group_id: ids.group }, since, until } },
  ],
  updateRule: [{ body: { subject_id: ids.subject } }, { body: { subject_id: null, group_id: ids.group } }],
  listMoods: [{ query: `subject_id=${ids.subject}` }],
  createMood: [{ body: { score: 3 } }],
  listJournal: [{ query: `subject_id=${ids.subject}` }],
  createJournalEntry: [{ body: { text: 'a day' } }],
  listQuestionnaires: [{ query: `project_id=${ids.project}` }],
  getQuestionnaire: [{ query: `project_id=${ids.project}` }],
  publishQuestionnaire: [{ body: questionnaireBody }],
  tryQuestionnaire: [{ body: { ...questionnaireBody, item: [] } }],
  saveQuestionnaireDraft: [{ body: { item: [] } }],
  createQuestionnaireResponse: [
    { body: { resourceType: 'QuestionnaireResponse', questionnaire: ids.questionnaire, status: 'completed', item: [] } },
  ],
  amendQuestionnaireResponse: [{ body: { item: [] } }],
  listQuestionnaireResponses: [{ query: `subject_id=${ids.subject}&questionnaire=${ids.questionnaire}` }],
  listTaskSchedules: [{ query: `subject_id=${ids.subject}` }],
  createTaskSchedule: [
    { body: { subject_id: ids.subject, title: 'Walk', every: 'day', times: ['08:00'], questionnaire: ids.questionnaire } },
  ],
  getAdherence: [{ query: `subject_id=${ids.subject}` }],
  listGoals: [{ query: `subject_id=${ids.subject}` }],
  createGoal: [{ body: { subject_id: ids.subject, biosignal_id: 60, target: 8000 } }],
  listDevices: [
    { query: `project_id=${ids.project}&group_id=${ids.group}&ids=${ids.deviceUuid}` },
    { query: `ids=${ids.deviceUuid}` },
    { query: `group_id=${ids.group}` },
    { query: '' },
  ],
  getSignalQuality: [{ query: `project_id=${ids.project}&group_id=${ids.group}` }, { query: `group_id=${ids.group}` }, { query: '' }],
  listRecentEpisodes: [{ query: `project_id=${ids.project}&group_id=${ids.group}` }, { query: `group_id=${ids.group}` }, { query: '' }],
  getFleetCounts: [{ query: `project_id=${ids.project}` }],
  listTasks: [{ query: `subject_id=${ids.subject}` }],
  createTask: [{ body: { subject_id: ids.subject, title: 'Walk' } }],
  setTaskStatus: [{ body: { status: 'done' } }],
  createWebhook: [{ body: { url: 'https://hooks.example/x', events: ['*'], project_id: ids.project } }],
  eraseUser: [{ body: { confirm_external_id: ids.externalId } }],
});

const pathOf = (route: Route, ids: Ids): string => {
  const values: Readonly<Record<string, string>> = {
    xuserId: ids.subject,
    streamId: ids.stream,
    id: ids.episode,
    artifactId: ids.artifact,
    keyId: ids.key,
    sdkKeyId: ids.sdkKey,
    deviceId: ids.device,
    memberId: ids.member,
    projectId: ids.project,
    webhookId: ids.webhook,
    deliveryId: ids.delivery,
    taskId: ids.task,
    responseId: ids.response,
    scheduleId: ids.schedule,
    goalId: ids.goal,
    annotationId: ids.annotation,
    ruleId: ids.rule,
    groupId: ids.group,
    questionnaireId: ids.questionnaire,
  };
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'unknown');
};

let api: Api;
const routes = allRoutes();
let victim: Estate;
let sibling: Estate;
type Attacker = Readonly<{ name: string; headers: Readonly<Record<string, string>>; own: Ids }>;
const attackers: Attacker[] = [];
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

async function estate(
  label: string,
  org: { orgId: string; key: string },
  project: { projectId: string; projectKey: string },
): Promise<Estate> {
  const { pool } = api.database;
  const as = org.key;
  const made = async <T = { id: string }>(path: string, body: unknown, by = as): Promise<T> =>
    api.json<T>('POST', path, { body, as: by, status: 201 });
  const externalId = `person-of-${label}`;
  const minted = await api.json<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', {
    as,
    body: { external_id: externalId, project_key: project.projectKey },
  });
  const subject = minted.xuser_id;
  const device = `device-of-${label}`;
  const { rows } = await pool.query<{ uuid: string; device: string }>(
    `with device as (insert into device (organization_id, project_id, external_id, xuser_id) values ($1, $2, $4, $3) returning id)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, last_packet_at)
     select $1, $2, device.id, $3, uuid_send(gen_random_uuid()), 0, now(), now() from device returning uuid, device_id as device`,
    [org.orgId, project.projectId, subject, device],
  );
  const stream = rows[0]!.uuid;
  const episode = (
    await made('/api/v1/episodes', { subject_id: subject, kind: 'event', started_at: since, title: `secret title of ${label}` })
  ).id;
  const detail = await made<{ artifacts: { id: string }[] }>(`/api/v1/episodes/${episode}/artifacts`, {
    kind: 'note',
    content: { text: `secret note of ${label}` },
  });
  const profile = (
    await made('/api/v1/device-profiles', { code: `profile-${label}`, name: 'x', manufacturer: '', model: '', channels: [] })
  ).id;
  const questionnaire = `form-${label}`;
  await api.json('PUT', `/api/v1/projects/${project.projectId}/questionnaires/${questionnaire}`, {
    as,
    body: {
      resource: { title: `secret form of ${label}`, item: [{ linkId: 'a', text: 'a', type: 'text' }] },
      scoring: { scores: [], safety: [] },
    },
  });
  const webhook = (await made('/api/v1/webhooks', { url: 'https://hooks.example/', events: ['*'], project_id: project.projectId })).id;
  await api.json('PATCH', `/api/v1/episodes/${episode}`, { as, body: {} });
  const deliveries = await api.json<{ id: string }[]>('GET', `/api/v1/webhooks/${webhook}/deliveries`, { as });
  const group = (await made(`/api/v1/projects/${project.projectId}/groups`, { name: `secret ward of ${label}` })).id;
  await api.json('PUT', `/api/v1/projects/${project.projectId}/groups/${group}/members/${subject}`, { as, body: {} });
  const token = minted.xuser_token;
  await made('/api/v1/journal', { text: `secret day of ${label}` }, token);
  await made('/api/v1/moods', { score: 3, note: `secret mood of ${label}` }, token);
  const response = (
    await made(
      '/api/v1/questionnaire-responses',
      { resourceType: 'QuestionnaireResponse', questionnaire, status: 'completed', item: [] },
      token,
    )
  ).id;
  await api.json('PUT', `/api/v1/questionnaires/${questionnaire}/draft`, { as: token, body: { item: [] } });
  const member = await putMember(pool, {
    orgId: org.orgId,
    email: `member@${label}.example`,
    displayName: '',
    role: 'clinician',
    password: 'a long enough password',
  });
  return {
    token,
    subject,
    externalId,
    stream,
    device,
    deviceUuid: rows[0]!.device,
    episode,
    artifact: detail.artifacts[0]!.id,
    profile,
    questionnaire,
    webhook,
    delivery: deliveries[0]!.id,
    group,
    response,
    key: (await createApiKey(pool, { orgId: org.orgId, name: 'target', scopes: ['admin'], projectId: project.projectId })).record.id,
    member: member.id,
    task: (await made('/api/v1/tasks', { subject_id: subject, title: `secret task of ${label}` })).id,
    schedule: (
      await made('/api/v1/task-schedules', { subject_id: subject, title: `secret plan of ${label}`, every: 'day', times: ['08:00'] })
    ).id,
    goal: (await made('/api/v1/goals', { subject_id: subject, biosignal_id: 60, target: 8000, title: `secret goal of ${label}` })).id,
    annotation: (await made('/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at: since, text: `secret mark of ${label}` }))
      .id,
    rule: (await made(`/api/v1/projects/${project.projectId}/rules`, { ...bound, name: `secret rule of ${label}`, subject_id: subject }))
      .id,
    sdkKey: (await createSdkKey(pool, project.projectId, 'target')).id,
    project: project.projectId,
    projectKey: project.projectKey,
  };
}

beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }), {}, { authFailuresPerSec: 100_000 });
  const { pool } = api.database;
  const { orgId } = api.org;
  const ours = { orgId, key: api.org.apiKey.key };
  victim = await estate('victim', ours, api.org);
  const second = await createProject(pool, orgId, 'Second');
  const neighbour = await estate('neighbour', ours, second);
  sibling = await estate('sibling', ours, api.org);
  const other = await createOrganization(pool, 'Other');
  const stranger = await estate('stranger', { orgId: other.orgId, key: other.apiKey.key }, other);
  const key = async (org: string, projectId?: string) =>
    bearer((await createApiKey(pool, { orgId: org, name: 'attacker', scopes, ...(projectId !== undefined && { projectId }) })).key);
  attackers.push(
    { name: 'key of another project', headers: await key(orgId, second.projectId), own: neighbour },
    { name: 'key narrowed to another project', headers: { ...(await key(orgId)), 'project-key': second.projectKey }, own: neighbour },
    {
      name: 'key in direct mode for another person of another project',
      headers: { ...(await key(orgId)), 'project-key': second.projectKey, 'xuser-id': neighbour.externalId },
      own: neighbour,
    },
    {
      name: 'key in direct mode for another person of the project',
      headers: { ...(await key(orgId)), 'project-key': api.org.projectKey, 'xuser-id': sibling.externalId },
      own: sibling,
    },
    { name: 'token of another project', headers: bearer(neighbour.token), own: neighbour },
    { name: 'token of another person', headers: bearer(sibling.token), own: sibling },
    { name: 'key of another organization', headers: await key(other.orgId), own: stranger },
    { name: 'owner of another organization', headers: await operator(other.orgId, 'attacker'), own: stranger },
    { name: 'token of another organization', headers: bearer(stranger.token), own: stranger },
  );
});
afterAll(async () => {
  await api.close();
});

async function operator(orgId: string, name: string): Promise<Record<string, string>> {
  const [email, password] = [`${name}@${orgId}.example`, 'a long enough password'];
  await putMember(api.database.pool, { orgId, email, displayName: '', role: 'owner', password });
  const { token } = await signIn(api.database.pool, email, password, { ip: '127.0.0.1', userAgent: '' });
  return { cookie: `bio_session=${token}`, origin: api.base };
}

/** What ends something comes later; what ends a person or a credential last. */
const ended = ({ operationId }: Route): 0 | 1 | 2 =>
  /ProjectKey$|^erase/.test(operationId) ? 2 : /revoke|rotate|delete|retire|^end|remove/.test(operationId) ? 1 : 0;
const ordered = routes.filter(({ path }) => path.startsWith('/api/v1/')).toSorted((a, b) => ended(a) - ended(b));

/** Rows of the victim in every table that has a person, and those of the project that people make. */
async function everything(): Promise<Readonly<Record<string, string>>> {
  const { pool } = api.database;
  const { rows } = await pool.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and c.column_name = 'xuser_id' and t.table_type = 'BASE TABLE' order by 1`,
  );
  const of: Record<string, string> = {};
  const read = async (name: string, where: string, value: string): Promise<void> => {
    const found = await pool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t where ${where} = $1 order by 1`, [
      value,
    ]);
    of[name] = found.rows.map(({ row }) => row).join('\n');
  };
  for (const { name } of rows) await read(name, 'xuser_id', victim.subject);
  await read('xuser', 'id', victim.subject);
  for (const name of ['person_group', 'episode_rule', 'sdk_key', 'webhook', 'questionnaire'])
    await read(name, 'project_id', victim.project);
  return of;
}

/** Ids that are names, which each project or organization gives for itself: another one's is just free. */
const ownNames: readonly Name[] = ['externalId', 'device', 'questionnaire'];
/** Operations that name a person or a key and answer only what is the caller's: an empty list, or the caller's own record. */
const narrowed = /^(resolveUser|listUsers|listAuditLog|listDevices)$/;
const secret = /secret \w+ of victim/;

type Sent = Readonly<{ status: number; text: string }>;
async function send(route: Route, headers: Attacker['headers'], path: string, body: string | null): Promise<Sent> {
  const response = await api.send(route.method, path, {
    as: '',
    headers: { ...headers, 'if-match': '*' },
    ...(body !== null && { body: JSON.parse(body) as unknown }),
  });
  // An error repeats the address that was asked.
  return { status: response.status, text: (await response.text()).replaceAll(/"instance":"[^"]*"/g, '') };
}

/** Each request of a route with own ids: its address, and its body if it has one. */
const requestsOf = (route: Route, ids: Ids): readonly (readonly [string, string | null])[] =>
  (samplesOf(ids)[route.operationId] ?? [{}]).map(({ query = '', body = {} }) => [
    pathOf(route, ids) + (query === '' ? '' : `?${query}`),
    route.body === undefined ? null : JSON.stringify(body),
  ]);

// promise: not-yours-is-404
it('no request reaches a record of others by any of the ids in it, while the rest are ids of its own', async () => {
  const before = await everything();
  let tried = 0;
  for (const route of ordered) {
    for (const { name, headers, own } of attackers) {
      if (name.includes('direct') && route.access.direct === undefined) continue;
      for (const [path, body] of requestsOf(route, own)) {
        for (const id of names) {
          if (ownNames.includes(id) || own[id] === victim[id] || !`${path} ${body}`.includes(own[id])) continue;
          const theirs = (text: string): string => text.replaceAll(own[id], victim[id]);
          const { status, text } = await send(route, headers, theirs(path), body === null ? null : theirs(body));
          const said = `${route.operationId} by ${name}, ${id} of the victim: ${status} ${text.slice(0, 200)}`;
          tried++;
          const ofOrganization = id === 'profile' && !name.includes('organization'); // its projects share the profiles
          if (!narrowed.test(route.operationId) && !ofOrganization) expect([401, 403, 404, 409, 422], said).toContain(status);
          expect(status, said).toBeLessThan(500);
          for (const other of names) {
            if (other !== id && !ownNames.includes(other) && own[other] !== victim[other])
              expect(text.includes(victim[other]), `${other}: ${said}`).toBe(false);
          }
          expect(text, said).not.toMatch(secret);
        }
      }
    }
  }
  expect(tried).toBeGreaterThan(500);
  expect(await everything()).toEqual(before);
});

// promise: consent-sharing
it('nobody but the person reads or changes what is about a person who has not agreed', async () => {
  const settings = { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: ['sharing', 'recording'] };
  await api.json('PUT', `/api/v1/projects/${victim.project}/settings`, { body: settings });
  const key = bearer(api.org.apiKey.key);
  const callers = [
    ['a key', key],
    ['the owner', await operator(api.org.orgId, 'owner')],
    ['a key in direct mode', { ...key, 'project-key': victim.projectKey, 'xuser-id': victim.externalId }],
  ] as const;
  // Names of forms, groups and rules are the project's; the export is the person's.
  const allowed = /questionnaire|group|rule|^exportUser$/i;
  for (const route of ordered) {
    if (ended(route) > 0 || /^(recordConsent|setProjectSettings)$/.test(route.operationId)) continue;
    for (const [name, headers] of callers) {
      if (name.includes('direct') && route.access.direct === undefined) continue;
      for (const [path, body] of requestsOf(route, victim)) {
        const { status, text } = await send(route, headers, path, body);
        const said = `${route.operationId} by ${name}: ${status} ${text.slice(0, 200)}`;
        expect(status, said).toBeLessThan(500);
        if (!allowed.test(route.operationId)) expect(text, said).not.toMatch(secret);
      }
    }
  }
});

it('nobody reads or changes what was about a person who is erased', async () => {
  const body = { confirm_external_id: sibling.externalId };
  await api.json('POST', `/api/v1/xusers/${sibling.subject}/erase`, { body });
  const callers = [
    ['a key', bearer(api.org.apiKey.key)],
    ['the owner', await operator(api.org.orgId, 'owner2')],
    ['their token', bearer(sibling.token)],
  ] as const;
  const made = /^(createUserToken|resolveUser)$/; // these make a person of that name
  for (const route of ordered) {
    if (made.test(route.operationId) || ended(route) === 2) continue;
    for (const [name, headers] of callers) {
      for (const [path, sent] of requestsOf(route, sibling)) {
        const { status, text } = await send(route, headers, path, sent);
        const said = `${route.operationId} by ${name}: ${status} ${text.slice(0, 200)}`;
        expect(status, said).toBeLessThan(500);
        if (name === 'their token') expect(status, said).toBe(401);
        expect(text, said).not.toMatch(/secret (title|note|day|mood|task|plan|goal|mark) of sibling/);
        expect(text.includes(sibling.stream), said).toBe(false);
      }
    }
  }
});
