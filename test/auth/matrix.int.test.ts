/** Every endpoint x every kind of credential, against the access table of the design.
 *  Each operation has one row that says its family; an operation without a row fails. A family says what each credential gets. */
import { createSign, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts';
import { signIn, signOut } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSdkKey } from '../../src/auth/public-keys.ts';
import { scopes } from '../../src/caller.ts';
import type { Route } from '../../src/http/route.ts';
import { putMember } from '../helpers/members.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { createProject } from '../../src/tenancy/projects.ts';
import type { Scope } from '../../src/caller.ts';

type Family = 'public' | 'token' | 'resolve' | 'read' | 'write' | 'admin' | 'adminOrOwn' | 'projects' | 'session' | 'widget' | 'own';
type Kind = Scope | 'user' | 'viewer' | 'editor' | 'adminOperator';
type Outcome = 'ok' | 401 | 403;

/** Rows of design 5.1: outcomes for a valid credential of our own organization. */
const families: Readonly<Record<Family, Readonly<Record<Kind, Outcome>>>> = {
  public: { read: 'ok', write: 'ok', ingest: 'ok', admin: 'ok', user: 'ok', viewer: 'ok', editor: 'ok', adminOperator: 'ok' },
  token: { read: 403, write: 'ok', ingest: 403, admin: 403, user: 401, viewer: 401, editor: 401, adminOperator: 401 },
  resolve: { read: 403, write: 'ok', ingest: 403, admin: 403, user: 'ok', viewer: 403, editor: 'ok', adminOperator: 'ok' },
  read: { read: 'ok', write: 403, ingest: 403, admin: 403, user: 'ok', viewer: 'ok', editor: 'ok', adminOperator: 'ok' },
  write: { read: 403, write: 'ok', ingest: 403, admin: 403, user: 401, viewer: 403, editor: 'ok', adminOperator: 'ok' },
  adminOrOwn: { read: 403, write: 403, ingest: 403, admin: 'ok', user: 'ok', viewer: 403, editor: 403, adminOperator: 'ok' },
  admin: { read: 403, write: 403, ingest: 403, admin: 'ok', user: 401, viewer: 403, editor: 403, adminOperator: 'ok' },
  projects: { read: 'ok', write: 403, ingest: 403, admin: 403, user: 401, viewer: 'ok', editor: 'ok', adminOperator: 'ok' },
  // Widget records: a key only in direct mode, which has a test of its own below.
  widget: { read: 401, write: 401, ingest: 401, admin: 401, user: 'ok', viewer: 'ok', editor: 'ok', adminOperator: 'ok' },
  own: { read: 401, write: 401, ingest: 401, admin: 401, user: 'ok', viewer: 401, editor: 401, adminOperator: 401 },
  session: { read: 401, write: 401, ingest: 401, admin: 401, user: 401, viewer: 'ok', editor: 'ok', adminOperator: 'ok' },
};

/** Parts of a good request. `record`: it names one record, so every other caller gets 404. */
type Sample = Readonly<{ family: Family; query?: string; body?: unknown; record?: true }>;

let api: Api;
const ids = {
  subject: '',
  stream: '',
  episode: '',
  artifact: '',
  key: '',
  member: '',
  webhook: '',
  delivery: '',
  task: '',
  response: '',
  schedule: '',
  goal: '',
  annotation: '',
  rule: '',
  group: '',
  sdkKey: '',
  profile: '',
  project: '',
  projectKey: '',
};

const bound = { name: 'fast', feature: 'hr_ecg', comparison: 'above', threshold: 400, sustain_sec: 60 };

function samples(): Readonly<Record<string, Sample>> {
  const since = '2026-01-01T00:00:00Z';
  const until = '2026-01-01T00:00:10Z';
  const questionnaire = { resource: { title: 'x', item: [{ linkId: 'a', text: 'a', type: 'text' }] }, scoring: { scores: [], safety: [] } };
  return {
    createUserToken: { family: 'token', body: { external_id: 'own', project_key: ids.projectKey }, record: true },
    getJwks: { family: 'public' },
    resolveUser: { family: 'resolve', body: { external_id: 'own', project_key: ids.projectKey }, record: true },
    listUsers: { family: 'read' },
    getUser: { family: 'read', record: true },
    updateUser: { family: 'write', body: {}, record: true },
    listConsents: { family: 'read', record: true },
    recordConsent: { family: 'resolve', body: { purpose: 'sharing', granted: true }, record: true },
    getProjectSettings: { family: 'admin', record: true },
    setProjectSettings: {
      family: 'admin',
      body: { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: [] },
      record: true,
    },
    listApiKeys: { family: 'admin' },
    createApiKey: { family: 'admin', body: { name: 'made', scopes: ['admin'] } },
    rotateApiKey: { family: 'admin', body: {}, record: true },
    revokeApiKey: { family: 'admin', record: true },
    listProjects: { family: 'projects' },
    createProject: { family: 'admin', body: { name: 'made' } },
    listSdkKeys: { family: 'projects', record: true },
    createSdkKey: { family: 'admin', body: {}, record: true },
    rotateSdkKey: { family: 'admin', body: {}, record: true },
    revokeSdkKey: { family: 'admin', record: true },
    rotateProjectKey: { family: 'admin', body: {}, record: true },
    revokePreviousProjectKey: { family: 'admin', record: true },
    getOrigins: { family: 'admin', record: true },
    setOrigins: { family: 'admin', body: { origins: [] }, record: true },
    signIn: { family: 'public', body: { email: 'x@x.example', password: 'x' } },
    signOut: { family: 'session' },
    getSession: { family: 'session' },
    listMembers: { family: 'admin' },
    createMember: { family: 'admin', body: { email: 'not an address', role: 'viewer', password: 'x' } },
    updateMember: { family: 'admin', body: {}, record: true },
    listAuditLog: { family: 'admin' },
    listBiosignals: { family: 'read', record: true },
    createBiosignal: {
      family: 'admin',
      body: { name: 'x', abbreviation: 'X', unit: '1', signal_type: 'scalar', source_type: 'device', code: 'x' },
      record: true,
    },
    listMethods: { family: 'read' },
    listStreams: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    getStream: { family: 'read', record: true },
    getFeatures: { family: 'read', record: true },
    getBeats: { family: 'read', record: true },
    getSamples: { family: 'read', query: `since=${since}&until=${until}`, record: true },
    getOverview: { family: 'read', query: `since=${since}&until=${until}`, record: true },
    getStrip: { family: 'read', query: `since=${since}&until=${until}`, record: true },
    getBootstrap: { family: 'read' },
    listDeviceProfiles: { family: 'read' },
    createDeviceProfile: { family: 'admin', body: { code: 'p', name: 'p', manufacturer: '', model: '', channels: [] } },
    setDeviceProfile: { family: 'admin', body: { profile_id: ids.profile }, record: true },
    getDayVariability: { family: 'read', query: `date=2026-01-01&subject_id=${ids.subject}`, record: true },
    listObservations: { family: 'read', query: `biosignal_id=20&subject_id=${ids.subject}`, record: true },
    createMeasurements: {
      family: 'write',
      body: { subject_id: ids.subject, measurements: [{ biosignal_id: 61, value: 97, time: since }] },
      record: true,
    },
    queryChart: {
      family: 'read',
      body: { subject_id: ids.subject, series: [{ biosignal_id: 20 }], range: { from: since, to: until } },
      record: true,
    },
    listEpisodes: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    createEpisode: { family: 'write', body: { subject_id: ids.subject, kind: 'event', started_at: since }, record: true },
    getEpisode: { family: 'read', record: true },
    updateEpisode: { family: 'write', body: {}, record: true },
    acknowledgeEpisode: { family: 'write', body: {}, record: true },
    addArtifact: { family: 'write', body: { kind: 'note' }, record: true },
    getArtifact: { family: 'read', record: true },
    listAnnotations: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    createAnnotation: { family: 'write', body: { stream_id: ids.stream, kind: 'note', starts_at: since }, record: true },
    getAnnotation: { family: 'read', record: true },
    updateAnnotation: { family: 'write', body: {}, record: true },
    deleteAnnotation: { family: 'write', record: true },
    getCorrections: { family: 'read', query: 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z', record: true },
    listEvents: { family: 'read', record: true },
    getVariability: { family: 'read', query: 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z', record: true },
    getWaves: { family: 'read', query: 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z', record: true },
    search: { family: 'projects', query: 'q=own' },
    listGroups: { family: 'projects', record: true },
    createGroup: { family: 'write', body: { name: 'Ward' }, record: true },
    updateGroup: { family: 'write', body: {}, record: true },
    addGroupMember: { family: 'write', body: {}, record: true },
    removeGroupMember: { family: 'write', record: true },
    deleteGroup: { family: 'write', record: true },
    listRules: { family: 'projects', record: true },
    createRule: { family: 'write', body: bound, record: true },
    tryRule: { family: 'projects', body: { rule: bound, since, until }, record: true },
    getRule: { family: 'projects', record: true },
    updateRule: { family: 'write', body: {}, record: true },
    deleteRule: { family: 'write', record: true },
    getHealth: { family: 'public' },
    getReadiness: { family: 'public' },
    getMetrics: { family: 'public' },
    getApiDescription: { family: 'public' },
    getOpenApi: { family: 'public' },
    getErrorCodes: { family: 'public' },
    getDocsScript: { family: 'public' },
    getDocsStyle: { family: 'public' },
    listMoods: { family: 'widget', query: `subject_id=${ids.subject}`, record: true },
    createMood: { family: 'own', body: { score: 3 } },
    listJournal: { family: 'own', query: `subject_id=${ids.subject}`, record: true },
    createJournalEntry: { family: 'own', body: { text: 'a day' } },
    listQuestionnaires: { family: 'read' },
    getQuestionnaire: { family: 'read' },
    listQuestionnaireVersions: { family: 'admin', record: true },
    publishQuestionnaire: { family: 'admin', body: questionnaire, record: true },
    retireQuestionnaire: { family: 'admin', record: true },
    tryQuestionnaire: { family: 'admin', body: { ...questionnaire, item: [] }, record: true },
    getQuestionnaireDraft: { family: 'own' },
    saveQuestionnaireDraft: { family: 'own', body: { item: [] } },
    deleteQuestionnaireDraft: { family: 'own' },
    amendQuestionnaireResponse: { family: 'own', body: { item: [] }, record: true },
    listTaskSchedules: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    createTaskSchedule: { family: 'write', body: { subject_id: ids.subject, title: 'Walk', every: 'day', times: ['08:00'] }, record: true },
    endTaskSchedule: { family: 'write', record: true },
    getAdherence: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    listGoals: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    createGoal: { family: 'write', body: { subject_id: ids.subject, biosignal_id: 60, target: 8000 }, record: true },
    endGoal: { family: 'write', record: true },
    listDevices: { family: 'projects' },
    getSignalQuality: { family: 'projects' },
    listRecentEpisodes: { family: 'projects' },
    getFleetCounts: { family: 'projects' },
    createQuestionnaireResponse: { family: 'own', body: { questionnaire: 'phq-9' } },
    listQuestionnaireResponses: { family: 'widget', query: `subject_id=${ids.subject}`, record: true },
    listTasks: { family: 'read', query: `subject_id=${ids.subject}`, record: true },
    createTask: { family: 'write', body: { subject_id: ids.subject, title: 'Walk' }, record: true },
    setTaskStatus: { family: 'own', body: { status: 'done' }, record: true },
    verifyAuditLog: { family: 'admin' },
    listWebhooks: { family: 'admin' },
    createWebhook: { family: 'admin', body: { url: 'https://hooks.example/x', events: ['*'] } },
    deleteWebhook: { family: 'admin', record: true },
    testWebhook: { family: 'admin', body: {}, record: true },
    rotateWebhookSecret: { family: 'admin', body: {}, record: true },
    resumeWebhook: { family: 'admin', body: {}, record: true },
    listDeliveries: { family: 'admin', record: true },
    replayDelivery: { family: 'admin', body: {}, record: true },
    exportUser: { family: 'adminOrOwn', record: true },
    eraseUser: { family: 'admin', body: { confirm_external_id: 'somebody else' }, record: true },
  };
}

const routes = allRoutes();
/** Good credentials by kind, and bad ones. */
const good = new Map<Kind, Readonly<Record<string, string>>>();
const bad = new Map<string, Readonly<{ headers: Readonly<Record<string, string>>; code: readonly string[] }>>();
const foreign = new Map<string, Readonly<Record<string, string>>>();

beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }), {}, { authFailuresPerSec: 100_000 });
  const { pool } = api.database;
  const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
  const { orgId } = api.org;

  const own = await api.token('own');
  ids.subject = own.id;
  ids.project = api.org.projectId;
  ids.projectKey = api.org.projectKey;
  const { rows } = await pool.query<{ uuid: string }>(
    `with device as (insert into device (organization_id, project_id, external_id) values ($1, $2, 'd') returning id)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns)
     select $1, $2, device.id, $3, uuid_send(gen_random_uuid()), 0 from device returning uuid`,
    [orgId, ids.project, ids.subject],
  );
  ids.stream = rows[0]?.uuid ?? '';
  const body = { subject_id: ids.subject, kind: 'event', started_at: '2026-01-01T00:00:00Z' };
  const episode = await api.json<{ id: string }>('POST', '/api/v1/episodes', { body, status: 201 });
  ids.episode = episode.id;
  const detail = await api.json<{ artifacts: { id: string }[] }>('POST', `/api/v1/episodes/${episode.id}/artifacts`, {
    body: { kind: 'note' },
    status: 201,
  });
  ids.artifact = detail.artifacts[0]?.id ?? '';
  const profile = { code: 'matrix', name: 'x', manufacturer: '', model: '', channels: [] };
  ids.profile = (await api.json<{ id: string }>('POST', '/api/v1/device-profiles', { body: profile, status: 201 })).id;
  ids.sdkKey = (await createSdkKey(pool, ids.project, 'target')).id;
  ids.key = (await createApiKey(pool, { orgId, name: 'target', scopes: ['admin'] })).record.id;

  const hook = await api.json<{ id: string }>('POST', '/api/v1/webhooks', {
    body: { url: 'https://hooks.example/', events: ['*'] },
    status: 201,
  });
  ids.webhook = hook.id;
  await api.json('PATCH', `/api/v1/episodes/${episode.id}`, { body: {} });
  const deliveries = await api.json<{ id: string }[]>('GET', `/api/v1/webhooks/${hook.id}/deliveries`);
  ids.delivery = deliveries[0]?.id ?? '';

  const task = await api.json<{ id: string }>('POST', '/api/v1/tasks', { body: { subject_id: ids.subject, title: 'Walk' }, status: 201 });
  ids.task = task.id;
  const made = async (path: string, body: unknown, as?: string): Promise<string> =>
    (await api.json<{ id: string }>('POST', path, { body, status: 201, ...(as === undefined ? {} : { as }) })).id;
  ids.schedule = await made('/api/v1/task-schedules', { subject_id: ids.subject, title: 'Walk', every: 'day', times: ['08:00'] });
  ids.annotation = await made('/api/v1/annotations', { stream_id: ids.stream, kind: 'note', starts_at: '2026-01-01T00:00:00Z' });
  ids.rule = await made(`/api/v1/projects/${ids.project}/rules`, bound);
  ids.group = await made(`/api/v1/projects/${ids.project}/groups`, { name: 'Ward of the matrix' });
  ids.goal = await made('/api/v1/goals', { subject_id: ids.subject, biosignal_id: 60, target: 8000 });
  const questionnaire = { title: 'x', item: [{ linkId: 'a', text: 'a', type: 'text' }] };
  await api.json('PUT', `/api/v1/projects/${ids.project}/questionnaires/matrix`, {
    body: { resource: questionnaire, scoring: { scores: [], safety: [] } },
  });
  const answered = { resourceType: 'QuestionnaireResponse', questionnaire: 'matrix', status: 'completed', item: [] };
  ids.response = await made('/api/v1/questionnaire-responses', answered, own.token);
  await api.json('PUT', '/api/v1/questionnaires/phq-9/draft', { as: own.token, body: { item: [] } });

  const password = 'a long enough password';
  const operator = async (role: 'viewer' | 'clinician' | 'owner', org: string): Promise<Record<string, string>> => {
    const email = `${role}@${org}.example`;
    const member = await putMember(pool, { orgId: org, email, displayName: '', role, password });
    if (role === 'viewer') ids.member ||= member.id;
    const { token } = await signIn(pool, email, password, { ip: '127.0.0.1', userAgent: '' });
    return { cookie: `bio_session=${token}`, origin: api.base };
  };
  for (const scope of scopes) good.set(scope, bearer((await createApiKey(pool, { orgId, name: scope, scopes: [scope] })).key));
  good.set('user', bearer(own.token));
  good.set('editor', await operator('clinician', orgId));
  good.set('adminOperator', await operator('owner', orgId));
  good.set('viewer', await operator('viewer', orgId));

  const expired = await createApiKey(pool, { orgId, name: 'expired', scopes, expiresAt: '2020-01-01T00:00:00Z' });
  const revoked = await createApiKey(pool, { orgId, name: 'revoked', scopes });
  await revokeApiKey(pool, orgId, revoked.record.id);
  bad.set('nothing', { headers: {}, code: ['credential_missing'] });
  bad.set('garbage', { headers: bearer('garbage'), code: ['credential_invalid'] });
  bad.set('another scheme', { headers: { authorization: 'Basic eDp5' }, code: ['credential_invalid'] });
  bad.set('a project key', { headers: bearer(api.org.projectKey), code: ['credential_kind'] });
  bad.set('an sdk key', { headers: bearer(api.org.sdkKey), code: ['credential_kind'] });
  bad.set('a key with a typo', { headers: bearer(`${api.org.apiKey.key.slice(0, -1)}!`), code: ['credential_invalid'] });
  bad.set('an expired key', { headers: bearer(expired.key), code: ['credential_invalid'] });
  bad.set('a revoked key', { headers: bearer(revoked.key), code: ['credential_invalid'] });
  bad.set('an expired token', { headers: bearer(await expiredToken()), code: ['token_expired'] });
  const leaver = await api.token('leaver');
  await pool.query('update xuser set disabled_at = now() where id = $1', [leaver.id]);
  bad.set('a token of a disabled user', { headers: bearer(leaver.token), code: ['credential_invalid'] });
  bad.set('a token signed with a foreign key', { headers: bearer(await forgedToken()), code: ['credential_invalid'] });
  bad.set('a session of a disabled account', {
    headers: await endedSession('disabled'),
    code: ['credential_invalid', 'credential_missing'],
  });
  bad.set('a session that was signed out', {
    headers: await endedSession('signed out'),
    code: ['credential_invalid', 'credential_missing'],
  });
  bad.set('a session that has expired', { headers: await endedSession('expired'), code: ['credential_invalid', 'credential_missing'] });
  bad.set('a wrong session', { headers: { cookie: `bio_session=${'x'.repeat(43)}` }, code: ['credential_invalid', 'credential_missing'] });

  const other = await createOrganization(pool, 'Other');
  const project = await createProject(pool, orgId, 'Second project');
  foreign.set('a key of another organization', bearer(other.apiKey.key));
  foreign.set(
    'a key of another project',
    bearer((await createApiKey(pool, { orgId, name: 'p2', scopes, projectId: project.projectId })).key),
  );
  foreign.set('another user', bearer((await api.token('another')).token));
  foreign.set('an operator of another organization', await operator('owner', other.orgId));
});
afterAll(async () => {
  await api.close();
});

async function endedSession(how: 'disabled' | 'signed out' | 'expired'): Promise<Record<string, string>> {
  const { pool } = api.database;
  const email = `${how.replace(' ', '.')}@ended.example`;
  const password = 'a long enough password';
  const member = await putMember(pool, { orgId: api.org.orgId, email, displayName: '', role: 'owner', password });
  const { token } = await signIn(pool, email, password, { ip: '127.0.0.1', userAgent: '' });
  if (how === 'disabled') await pool.query('update operator_account set disabled_at = now() where id = $1', [member.id]);
  else if (how === 'signed out') await signOut(pool, token);
  else await pool.query(`update operator_session set expires_at = now() - interval '1 second' where operator_id = $1`, [member.id]);
  return { cookie: `bio_session=${token}` };
}

function forgedToken(): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return tokenOf(0, privateKey);
}

function expiredToken(): Promise<string> {
  return tokenOf(-7200);
}

/** A token for our own user, issued at a time relative to now, s; signed with the service's key unless another is given. */
async function tokenOf(offsetSec: number, otherKey?: KeyObject): Promise<string> {
  const signer = await api.auth.signingKeys.signer();
  const { kid } = signer;
  const key = otherKey ?? signer.key;
  const now = Math.floor(Date.now() / 1000) + offsetSec;
  const claims = {
    iss: 'http://test',
    aud: 'biosignal',
    sub: ids.subject,
    org: api.org.orgId,
    proj: ids.project,
    jti: 'x',
    iat: now,
    exp: now + 3600,
  };
  const text = [{ alg: 'RS256', typ: 'JWT', kid }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
}

function send(route: Route, headers: Readonly<Record<string, string>>): Promise<Response> {
  const sample = samples()[route.operationId];
  const names: Readonly<Record<string, string>> = {
    xuserId: ids.subject,
    streamId: ids.stream,
    id: ids.episode,
    artifactId: ids.artifact,
    keyId: ids.key,
    sdkKeyId: ids.sdkKey,
    deviceId: 'd',
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
    questionnaireId: 'phq-9',
  };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? 'unknown');
  return api.send(route.method, sample?.query === undefined ? path : `${path}?${sample.query}`, {
    as: '',
    headers,
    ...(route.body === undefined ? {} : { body: sample?.body ?? {} }),
  });
}

const codeOf = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;

describe('the access table', () => {
  // promise: key-scopes
  it('has one row for every operation', () => {
    expect(Object.keys(samples()).toSorted()).toEqual(routes.map((route) => route.operationId).toSorted());
  });

  it('never leaves an /api/v1 endpoint open', () => {
    for (const route of routes) if (route.path.startsWith('/api/v1/')) expect(route.access.public, route.path).toBeUndefined();
  });
});

// Signing out and revoking end the credential (or the project key) that is used for it, so they come last.
const lateness = ({ operationId }: Route): number =>
  /^signOut$|ProjectKey$/.test(operationId) ? 2 : /revoke|rotate|delete|retire|^end/.test(operationId) ? 1 : 0;
const ordered = routes.toSorted((a, b) => lateness(a) - lateness(b));

describe.each(ordered.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_name, route) => {
  it('refuses what is no credential', async () => {
    const row = samples()[route.operationId];
    for (const [name, { headers, code }] of bad) {
      if (row?.family === 'public') continue;
      const response = await send(route, headers);
      expect(response.status, name).toBe(401);
      expect(code, name).toContain(await codeOf(response));
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  // promise: key-scopes, refusal-kinds, ingest-only
  it('answers each kind of credential as its family says', async () => {
    const row = samples()[route.operationId];
    for (const [kind, headers] of good) {
      const outcome = families[row?.family ?? 'session'][kind];
      const response = await send(route, headers);
      const text = await response.text();
      if (outcome === 'ok') {
        if (row?.family === 'public')
          expect([401, 403].includes(response.status) && !/signIn|getMetrics/.test(route.operationId), `${kind} ${text}`).toBe(false);
        else expect([401, 403], `${kind} ${text}`).not.toContain(response.status);
        // Removed by the previous kind of credential.
        if (!/^(delete|retire|end)/.test(route.operationId)) expect(response.status, `${kind} ${text}`).not.toBe(404);
        expect(response.status, `${kind} ${text}`).toBeLessThan(500);
      } else expect(response.status, `${kind} ${text}`).toBe(outcome);
    }
  });

  it('lets a key stand for a user where direct mode is meant, with the scope of what is done', async () => {
    const { direct } = route.access;
    const direction = route.method === 'GET' ? 'read' : 'write';
    const as = { 'project-key': ids.projectKey, 'xuser-id': 'own' };
    for (const scope of scopes) {
      if (direct === undefined) continue;
      const response = await send(route, { ...good.get(scope), ...as });
      const needed = route.access.key ?? (direct === true ? direction : direct);
      const text = await response.text();
      if (scope === needed) expect([401, 403, 404], `${scope} ${text}`).not.toContain(response.status);
      else expect(response.status, `${scope} ${text}`).toBe(403);
    }
  });

  // promise: not-yours-is-404, refusal-kinds
  it("shows no one another person's records", async () => {
    const row = samples()[route.operationId];
    if (row?.family === 'public' || row?.family === 'session') return;
    const secrets = [ids.subject, ids.stream, ids.episode, ids.artifact, ids.key, ids.member, ids.webhook];
    for (const [name, headers] of foreign) {
      const response = await send(route, headers);
      const text = await response.text();
      if (row?.record === true) {
        const family = families[row.family];
        const allScopes = Object.values({ ...family, user: 0, viewer: 0, editor: 0, adminOperator: 0 }).every(
          (outcome) => outcome === 401 || outcome === 0,
        );
        const byKey = allScopes ? 401 : 'ok';
        const kind = name === 'another user' ? family.user : name.startsWith('an operator') ? family.adminOperator : byKey;
        const confined = kind === 401 ? [401] : [404];
        // Members belong to the organization: not for a key of one project.
        const shared = name === 'a key of another project' && route.operationId === 'updateMember' ? [403] : [];
        const catalog = name === 'another user' && route.operationId === 'listBiosignals' ? [200] : [];
        expect([...confined, ...shared, ...catalog], `${name} ${text}`).toContain(response.status);
      }
      if (response.ok && name !== 'a key of another project') {
        for (const secret of secrets) expect(text.includes(secret) && secret !== '', `${name} sees ${secret}`).toBe(false);
      }
    }
  });
});
