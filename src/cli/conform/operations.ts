/** Every operation of the service with who may call it, from the documents and not from the service's own description, and with what a good
 *  request needs. An operation without a row fails the run. */
import { scopeNames } from './stage.ts';
import type { Ids, ScopeName } from './stage.ts';

/** Outcome for a credential of the right organization. `yes` is neither 401 nor 403. */
type Outcome = 'yes' | 401 | 403;
/** `head`: owner or admin. */
export type OperatorRole = 'viewer' | 'editor' | 'head';
export type Caller = ScopeName | 'user' | OperatorRole;
export type Family = Readonly<Record<Caller, Outcome>>;

const keys = (allowed: ScopeName | null, otherwise: 401 | 403): Record<ScopeName, Outcome> =>
  Object.fromEntries(scopeNames.map((scope) => [scope, scope === allowed ? 'yes' : otherwise])) as Record<ScopeName, Outcome>;
const operators = (least: OperatorRole | null): Record<OperatorRole, Outcome> => {
  const roles = ['viewer', 'editor', 'head'] as const;
  return Object.fromEntries(roles.map((role, rank) => [role, least === null ? 401 : rank >= roles.indexOf(least) ? 'yes' : 403])) as Record<
    OperatorRole,
    Outcome
  >;
};

/** Rows of the table of credentials (docs/integrator.md): outcome by caller. */
export const families = {
  token: { ...keys('write', 403), user: 401, ...operators(null) },
  resolve: { ...keys('write', 403), user: 'yes', ...operators('editor') },
  read: { ...keys('read', 403), user: 'yes', ...operators('viewer') },
  write: { ...keys('write', 403), user: 401, ...operators('editor') },
  admin: { ...keys('admin', 403), user: 401, ...operators('head') },
  adminOrOwn: { ...keys('admin', 403), user: 'yes', ...operators('head') },
  projects: { ...keys('read', 403), user: 401, ...operators('viewer') },
  /** Records of widgets: a key in direct mode only. */
  widget: { ...keys(null, 401), user: 'yes', ...operators('viewer') },
  own: { ...keys(null, 401), user: 'yes', ...operators(null) },
  session: { ...keys(null, 401), user: 401, ...operators('viewer') },
  ingest: { ...keys('ingest', 403), user: 'yes', ...operators(null) },
} as const satisfies Record<string, Family>;
export type FamilyName = keyof typeof families | 'public' | 'socket';

export type Row = Readonly<{
  id: string;
  method: string;
  path: string;
  family: FamilyName;
  /** A good request names a record of one person or project; for others it does not exist. */
  named?: true;
  /** Query of a GET, for the good request. */
  query?: (ids: Ids) => string;
  /** A body that only the record's owner may send; it changes nothing that the run relies on. */
  body?: (ids: Ids) => unknown;
  /** Not requested with a good credential: it reads data of others, or is expensive. */
  quiet?: true;
  /** May list data of others in the same project or organization. */
  broad?: true;
  /** Direct mode, with the scope that it takes. */
  direct?: ScopeName;
}>;

const project = '/api/v1/projects/{projectId}';
const user = '/api/v1/xusers/{xuserId}';
const stream = '/api/v1/streams/{streamId}';
const episode = '/api/v1/episodes/{id}';
const hook = '/api/v1/webhooks/{webhookId}';
const draft = '/api/v1/questionnaires/{questionnaireId}/draft';
const subject = ({ user: id }: Ids): string => `subject_id=${id}`;
const tenSeconds = ({ user: _user }: Ids): string => 'since=2025-03-03T08:00:00Z&until=2025-03-03T08:00:10Z';
const questionnaire = { resource: { title: 'x', item: [{ linkId: 'a', text: 'a', type: 'text' }] }, scoring: { scores: [], safety: [] } };
const rule = { name: 'conform', feature: 'hr_ecg', comparison: 'above', threshold: 400, sustain_sec: 60, enabled: false };
const nothing = (): unknown => ({});

type More = Omit<Row, 'id' | 'method' | 'path' | 'family'>;
const row = (id: string, method: string, path: string, family: FamilyName, more: More = {}): Row => ({ id, method, path, family, ...more });

export const rows: readonly Row[] = [
  row('createUserToken', 'POST', '/api/v1/sdk/token', 'token', {
    named: true,
    body: ({ externalId, projectKey }) => ({ external_id: externalId, project_key: projectKey }),
  }),
  row('getJwks', 'GET', '/.well-known/jwks.json', 'public'),
  row('resolveUser', 'POST', '/api/v1/xusers', 'resolve', {
    named: true,
    body: ({ externalId, projectKey }) => ({ external_id: externalId, project_key: projectKey }),
  }),
  row('listUsers', 'GET', '/api/v1/xusers', 'read', { named: true, broad: true, query: ({ project: id }) => `project_id=${id}` }),
  row('getUser', 'GET', user, 'read', { named: true }),
  row('updateUser', 'PATCH', user, 'write', { named: true, body: nothing }),
  row('listConsents', 'GET', `${user}/consents`, 'read', { named: true }),
  row('recordConsent', 'POST', `${user}/consents`, 'resolve', { named: true, body: () => ({ purpose: 'sharing', granted: true }) }),
  row('exportUser', 'GET', `${user}/export`, 'adminOrOwn', { named: true }),
  row('eraseUser', 'POST', `${user}/erase`, 'admin', { named: true, body: () => ({ confirm_external_id: 'conform-nobody' }) }),
  row('listApiKeys', 'GET', '/api/v1/api-keys', 'admin', { broad: true }),
  row('createApiKey', 'POST', '/api/v1/api-keys', 'admin'),
  row('rotateApiKey', 'POST', '/api/v1/api-keys/{keyId}/rotate', 'admin', { named: true, body: nothing }),
  row('revokeApiKey', 'DELETE', '/api/v1/api-keys/{keyId}', 'admin', { named: true }),
  row('listProjects', 'GET', '/api/v1/projects', 'projects', { broad: true }),
  row('createProject', 'POST', '/api/v1/projects', 'admin'),
  row('getOrigins', 'GET', `${project}/origins`, 'admin', { named: true }),
  row('setOrigins', 'PUT', `${project}/origins`, 'admin', { named: true, body: () => ({ origins: [] }) }),
  row('getProjectSettings', 'GET', `${project}/settings`, 'admin', { named: true }),
  row('setProjectSettings', 'PUT', `${project}/settings`, 'admin', {
    named: true,
    body: () => ({ retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: [] }),
  }),
  row('listSdkKeys', 'GET', `${project}/sdk-keys`, 'projects', { named: true }),
  row('createSdkKey', 'POST', `${project}/sdk-keys`, 'admin', { named: true, body: () => ({ name: 'conform' }) }),
  row('rotateSdkKey', 'POST', `${project}/sdk-keys/{sdkKeyId}/rotate`, 'admin', { named: true, body: nothing }),
  row('revokeSdkKey', 'DELETE', `${project}/sdk-keys/{sdkKeyId}`, 'admin', { named: true }),
  row('rotateProjectKey', 'POST', `${project}/rotate-key`, 'admin', { named: true, body: nothing }),
  row('revokePreviousProjectKey', 'DELETE', `${project}/previous-key`, 'admin', { named: true }),
  row('signIn', 'POST', '/auth/session', 'public', { quiet: true }),
  row('signOut', 'DELETE', '/auth/session', 'session', { quiet: true }),
  row('getSession', 'GET', '/auth/session', 'session'),
  row('listMembers', 'GET', '/api/v1/members', 'admin', { quiet: true }),
  row('createMember', 'POST', '/api/v1/members', 'admin'),
  row('updateMember', 'PATCH', '/api/v1/members/{memberId}', 'admin', { quiet: true }),
  row('listAuditLog', 'GET', '/api/v1/audit-log', 'admin', { broad: true, query: () => 'limit=1' }),
  row('verifyAuditLog', 'GET', '/api/v1/audit-log/chain', 'admin', { quiet: true }),
  row('listWebhooks', 'GET', '/api/v1/webhooks', 'admin', { broad: true }),
  row('createWebhook', 'POST', '/api/v1/webhooks', 'admin'),
  row('deleteWebhook', 'DELETE', hook, 'admin', { named: true }),
  row('testWebhook', 'POST', `${hook}/test`, 'admin', { named: true, body: nothing }),
  row('rotateWebhookSecret', 'POST', `${hook}/rotate-secret`, 'admin', { named: true, body: nothing }),
  row('resumeWebhook', 'POST', `${hook}/resume`, 'admin', { named: true, body: nothing }),
  row('listDeliveries', 'GET', `${hook}/deliveries`, 'admin', { named: true }),
  row('replayDelivery', 'POST', `${hook}/deliveries/{deliveryId}/replay`, 'admin', { named: true, body: nothing }),
  row('listBiosignals', 'GET', `${project}/biosignals`, 'read', { named: true }),
  row('createBiosignal', 'POST', `${project}/biosignals`, 'admin'),
  row('listMethods', 'GET', '/api/v1/methods', 'read'),
  row('listStreams', 'GET', '/api/v1/streams', 'read', { named: true, query: subject }),
  row('getStream', 'GET', stream, 'read', { named: true }),
  row('getFeatures', 'GET', `${stream}/features`, 'read', { named: true }),
  row('getBeats', 'GET', `${stream}/beats`, 'read', { named: true }),
  row('getSamples', 'GET', `${stream}/samples`, 'read', { named: true, query: tenSeconds }),
  row('getOverview', 'GET', `${stream}/overview`, 'read', { named: true, query: tenSeconds }),
  row('getStrip', 'GET', `${stream}/strip`, 'read', { named: true, query: tenSeconds }),
  row('getBootstrap', 'GET', '/api/v1/bootstrap', 'read'),
  row('listDeviceProfiles', 'GET', '/api/v1/device-profiles', 'read'),
  row('createDeviceProfile', 'POST', '/api/v1/device-profiles', 'admin'),
  row('setDeviceProfile', 'PUT', '/api/v1/devices/{deviceId}/profile', 'admin', { named: true, body: () => ({ profile_id: null }) }),
  row('getDayVariability', 'GET', '/api/v1/day-variability', 'read', { named: true, query: (ids) => `date=2026-01-01&${subject(ids)}` }),
  row('listObservations', 'GET', '/api/v1/observations', 'read', { named: true, query: (ids) => `biosignal_id=20&${subject(ids)}` }),
  row('createMeasurements', 'POST', '/api/v1/measurements', 'write', {
    named: true,
    body: ({ user: id }) => ({ subject_id: id, measurements: [{ biosignal_id: 61, value: 97, time: '2025-03-03T08:00:00Z' }] }),
  }),
  row('queryChart', 'POST', '/api/v1/charts/query', 'read', {
    named: true,
    body: ({ user: id }) => ({
      subject_id: id,
      series: [{ biosignal_id: 20 }],
      range: { from: '2025-03-03T08:00:00Z', to: '2025-03-03T09:00:00Z' },
    }),
  }),
  row('listEpisodes', 'GET', '/api/v1/episodes', 'read', { named: true, query: subject }),
  row('createEpisode', 'POST', '/api/v1/episodes', 'write', {
    named: true,
    body: ({ user: id }) => ({ subject_id: id, kind: 'event', started_at: '2025-03-03T08:00:00Z' }),
  }),
  row('getEpisode', 'GET', episode, 'read', { named: true }),
  row('updateEpisode', 'PATCH', episode, 'write', { named: true, body: nothing }),
  row('acknowledgeEpisode', 'POST', `${episode}/acknowledgement`, 'write', { named: true, body: nothing }),
  row('addArtifact', 'POST', `${episode}/artifacts`, 'write', { named: true, body: () => ({ kind: 'note' }) }),
  row('getArtifact', 'GET', `${episode}/artifacts/{artifactId}`, 'read', { named: true }),
  row('listMoods', 'GET', '/api/v1/moods', 'widget', { named: true, query: subject, direct: 'read' }),
  row('createMood', 'POST', '/api/v1/moods', 'own', { direct: 'write' }),
  row('listJournal', 'GET', '/api/v1/journal', 'own', { named: true, query: subject, direct: 'write' }),
  row('createJournalEntry', 'POST', '/api/v1/journal', 'own', { direct: 'write' }),
  row('listQuestionnaires', 'GET', '/api/v1/questionnaires', 'read'),
  row('getQuestionnaire', 'GET', '/api/v1/questionnaires/{questionnaireId}', 'read'),
  row('listQuestionnaireVersions', 'GET', `${project}/questionnaires`, 'admin', { named: true }),
  row('publishQuestionnaire', 'PUT', `${project}/questionnaires/{questionnaireId}`, 'admin', { named: true, body: () => questionnaire }),
  row('retireQuestionnaire', 'DELETE', `${project}/questionnaires/{questionnaireId}`, 'admin', { named: true }),
  row('tryQuestionnaire', 'POST', `${project}/questionnaire-trials`, 'admin', {
    named: true,
    body: () => ({ ...questionnaire, item: [] }),
  }),
  row('createQuestionnaireResponse', 'POST', '/api/v1/questionnaire-responses', 'own', { direct: 'write' }),
  row('listQuestionnaireResponses', 'GET', '/api/v1/questionnaire-responses', 'widget', { named: true, query: subject, direct: 'read' }),
  row('amendQuestionnaireResponse', 'POST', '/api/v1/questionnaire-responses/{responseId}/amendments', 'own', {
    named: true,
    body: () => ({ item: [] }),
    direct: 'write',
  }),
  row('getQuestionnaireDraft', 'GET', draft, 'own', { direct: 'read' }),
  row('saveQuestionnaireDraft', 'PUT', draft, 'own', { direct: 'write' }),
  row('deleteQuestionnaireDraft', 'DELETE', draft, 'own', { direct: 'write' }),
  row('listTasks', 'GET', '/api/v1/tasks', 'read', { named: true, query: subject }),
  row('createTask', 'POST', '/api/v1/tasks', 'write', { named: true, body: ({ user: id }) => ({ subject_id: id, title: 'Walk' }) }),
  row('setTaskStatus', 'POST', '/api/v1/tasks/{taskId}/status', 'own', { named: true, body: () => ({ status: 'done' }), direct: 'write' }),
  row('listTaskSchedules', 'GET', '/api/v1/task-schedules', 'read', { named: true, query: subject }),
  row('createTaskSchedule', 'POST', '/api/v1/task-schedules', 'write', {
    named: true,
    body: ({ user: id }) => ({ subject_id: id, title: 'Walk', every: 'day', times: ['08:00'] }),
  }),
  row('endTaskSchedule', 'DELETE', '/api/v1/task-schedules/{scheduleId}', 'write', { named: true }),
  row('getAdherence', 'GET', '/api/v1/adherence', 'read', { named: true, query: subject }),
  row('listAnnotations', 'GET', '/api/v1/annotations', 'read', { named: true, query: subject }),
  row('createAnnotation', 'POST', '/api/v1/annotations', 'write', {
    named: true,
    body: ({ stream: id }) => ({ stream_id: id, kind: 'note', starts_at: new Date(Date.now()).toISOString() }),
  }),
  row('getAnnotation', 'GET', '/api/v1/annotations/{annotationId}', 'read', { named: true }),
  row('updateAnnotation', 'PATCH', '/api/v1/annotations/{annotationId}', 'write', { named: true, body: () => ({ text: 'seen' }) }),
  row('deleteAnnotation', 'DELETE', '/api/v1/annotations/{annotationId}', 'write', { named: true }),
  row('getCorrections', 'GET', '/api/v1/streams/{streamId}/corrections', 'read', {
    named: true,
    query: () => 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z',
  }),
  row('listEvents', 'GET', '/api/v1/streams/{streamId}/events', 'read', { named: true }),
  row('getVariability', 'GET', '/api/v1/streams/{streamId}/variability', 'read', {
    named: true,
    query: () => 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:05:00Z',
  }),
  row('getWaves', 'GET', '/api/v1/streams/{streamId}/waves', 'read', {
    named: true,
    query: () => 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z',
  }),
  row('search', 'GET', '/api/v1/search', 'projects', { broad: true, query: () => 'q=conform' }),
  row('listGroups', 'GET', `${project}/groups`, 'projects', { named: true }),
  row('createGroup', 'POST', `${project}/groups`, 'write', { named: true, body: () => ({ name: 'conform made' }) }),
  row('updateGroup', 'PATCH', `${project}/groups/{groupId}`, 'write', { named: true, body: nothing }),
  row('addGroupMember', 'PUT', `${project}/groups/{groupId}/members/{xuserId}`, 'write', { named: true, body: nothing }),
  row('removeGroupMember', 'DELETE', `${project}/groups/{groupId}/members/{xuserId}`, 'write', { named: true }),
  row('deleteGroup', 'DELETE', `${project}/groups/{groupId}`, 'write', { named: true }),
  row('listRules', 'GET', `${project}/rules`, 'projects', { named: true }),
  row('createRule', 'POST', `${project}/rules`, 'write', { named: true, body: () => rule }),
  row('tryRule', 'POST', `${project}/rules/try`, 'projects', {
    named: true,
    body: () => ({ rule, since: '2026-01-01T00:00:00Z', until: '2026-01-01T01:00:00Z' }),
  }),
  row('getRule', 'GET', `${project}/rules/{ruleId}`, 'projects', { named: true }),
  row('updateRule', 'PATCH', `${project}/rules/{ruleId}`, 'write', { named: true, body: () => ({ enabled: false }) }),
  row('deleteRule', 'DELETE', `${project}/rules/{ruleId}`, 'write', { named: true }),
  row('listGoals', 'GET', '/api/v1/goals', 'read', { named: true, query: subject }),
  row('createGoal', 'POST', '/api/v1/goals', 'write', {
    named: true,
    body: ({ user: id }) => ({ subject_id: id, biosignal_id: 60, target: 8000 }),
  }),
  row('endGoal', 'DELETE', '/api/v1/goals/{goalId}', 'write', { named: true }),
  row('listDevices', 'GET', '/api/v1/devices', 'projects', { broad: true }),
  row('getSignalQuality', 'GET', '/api/v1/signal-quality', 'projects', { broad: true }),
  row('listRecentEpisodes', 'GET', '/api/v1/fleet/episodes', 'projects', { broad: true }),
  row('getFleetCounts', 'GET', '/api/v1/fleet/counts', 'projects', { broad: true }),
  row('postRawPacket', 'POST', '/ingest/raw-packet', 'ingest'),
  row('ingestStream', 'GET', '/ingest/stream', 'socket'),
  row('liveFrames', 'GET', '/ws', 'socket'),
  row('getHealth', 'GET', '/healthz', 'public'),
  row('getReadiness', 'GET', '/readyz', 'public'),
  row('getMetrics', 'GET', '/metrics', 'public', { quiet: true }),
  row('getApiDescription', 'GET', '/api-docs', 'public'),
  row('getOpenApi', 'GET', '/api-docs/openapi.json', 'public'),
  row('getErrorCodes', 'GET', '/api-docs/errors', 'public'),
  row('getDocsScript', 'GET', '/api-docs/start.js', 'public'),
  row('getDocsStyle', 'GET', '/api-docs/contrast.css', 'public'),
];

/** An id that no record has. */
export const NO_ID = '00000000-0000-4000-8000-00000000dead';

/** The path with the ids of records, or with ids that no record has. */
export function pathOf({ path, query }: Row, ids: Ids | null): string {
  const known: Readonly<Record<string, string>> = ids === null ? {} : idsByName(ids);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? (name === 'questionnaireId' ? 'conform-none' : NO_ID));
  return ids === null || query === undefined ? filled : `${filled}?${query(ids)}`;
}

function idsByName(ids: Ids): Readonly<Record<string, string>> {
  return {
    xuserId: ids.user,
    projectId: ids.project,
    streamId: ids.stream,
    id: ids.episode,
    artifactId: ids.artifact,
    keyId: ids.key,
    sdkKeyId: ids.sdkKey,
    deviceId: ids.device,
    webhookId: ids.webhook,
    taskId: ids.task,
    scheduleId: ids.schedule,
    goalId: ids.goal,
    annotationId: ids.annotation,
    ruleId: ids.rule,
    groupId: ids.group,
    responseId: ids.response,
    questionnaireId: 'phq-9',
  };
}
