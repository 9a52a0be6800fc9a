/** People, credentials and data of the fuzzed API: two organizations, two projects, three people, and every kind of credential. What
 *  belongs to a person carries a canary in all of its texts, so that an answer which should not have it gives it away. */
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { createMember, signIn } from '../../../src/tenancy/operators.ts';
import { createOrganization } from '../../../src/auth/organizations.ts';
import type { NewOrganization } from '../../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../../src/cli/simulator/packets.ts';
import { scopes } from '../../../src/caller.ts';
import { encodeBatch, encodePacket } from '../../../src/proto/packet-encode.ts';
import { createProject } from '../../../src/tenancy/projects.ts';

/** Whose something is. `ada` asks for herself, `bob` is of her project, `eve` of another organization. */
export const owners = ['ada', 'bob', 'eve'] as const;
export type Owner = (typeof owners)[number];

export type Credential = Readonly<{
  headers: Readonly<Record<string, string>>;
  scopes: readonly string[];
  kind: 'none' | 'invalid' | 'key' | 'user' | 'operator';
  role?: 'viewer' | 'owner';
  /** Owners whose canaries it may never see. */
  blind: readonly Owner[];
}>;

/** Ids and names by the parameter or field that takes them. */
export type Known = Readonly<Record<string, string | number>>;
export type World = Readonly<{
  credentials: Readonly<Record<string, Credential>>;
  known: Readonly<Record<Owner, Known>>;
  canaries: Readonly<Record<Owner, string>>;
}>;

/** Of a running service. */
export type Served = Readonly<{ baseUrl: string; pool: Pool }>;

const PASSWORD = 'a long enough password';
/** Recorded by everybody. */
const SECONDS = 20;

export async function makeWorld(served: Served): Promise<World> {
  const { pool } = served;
  const [mine, other] = [await createOrganization(pool, 'Mine'), await createOrganization(pool, `canary-eve-${randomUUID()}`)];
  const canaries = { ada: `canary-ada-${randomUUID()}`, bob: `canary-bob-${randomUUID()}`, eve: `canary-eve-${randomUUID()}` };
  const people = {
    ada: await makePerson(served, mine, canaries.ada),
    bob: await makePerson(served, mine, canaries.bob),
    eve: await makePerson(served, other, canaries.eve),
  };
  const { projectId } = await createProject(pool, mine.orgId, 'Second project');
  const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
  const key = async (name: string, given: readonly string[], project?: string): Promise<Record<string, string>> =>
    bearer(
      (
        await createApiKey(pool, {
          orgId: mine.orgId,
          name,
          scopes: given as never,
          ...(project === undefined ? {} : { projectId: project }),
        })
      ).key,
    );
  const session = async (role: 'viewer' | 'owner'): Promise<Record<string, string>> => {
    const email = `${role}-${randomUUID()}@members.example`;
    await createMember(pool, { orgId: mine.orgId, email, displayName: role, role, password: PASSWORD });
    const { token } = await signIn(pool, email, PASSWORD, { ip: '127.0.0.1', userAgent: '' });
    return { cookie: `bio_session=${token}`, origin: served.baseUrl };
  };
  const ofKey = (headers: Record<string, string>, given: readonly string[], blind: readonly Owner[] = ['eve']): Credential => ({
    headers,
    scopes: given,
    kind: 'key',
    blind,
  });
  const none: Omit<Credential, 'headers'> = { scopes: [], kind: 'invalid', blind: owners };
  const credentials: Record<string, Credential> = {
    none: { ...none, kind: 'none', headers: {} },
    malformed: { ...none, headers: { authorization: 'Bearer \t..' } },
    projectKey: { ...none, headers: bearer(mine.projectKey) },
    sdkKey: { ...none, headers: bearer(mine.sdkKey) },
    all: ofKey(bearer(mine.apiKey.key), scopes),
    elsewhere: ofKey(await key('elsewhere', scopes, projectId), scopes, owners),
    stranger: ofKey(bearer(other.apiKey.key), scopes, ['ada', 'bob']),
    ada: { headers: bearer(people.ada.token), scopes: [], kind: 'user', blind: ['bob', 'eve'] },
    bob: { headers: bearer(people.bob.token), scopes: [], kind: 'user', blind: ['ada', 'eve'] },
    eve: { headers: bearer(people.eve.token), scopes: [], kind: 'user', blind: ['ada', 'bob'] },
    viewer: { headers: await session('viewer'), scopes: [], kind: 'operator', role: 'viewer', blind: ['eve'] },
    owner: { headers: await session('owner'), scopes: [], kind: 'operator', role: 'owner', blind: ['eve'] },
  };
  for (const scope of scopes) credentials[scope] = ofKey(await key(scope, [scope]), [scope]);
  return { credentials, canaries, known: { ada: people.ada.known, bob: people.bob.known, eve: people.eve.known } };
}

/** A person with a recording and one of everything that people enter or are given. */
async function makePerson({ baseUrl }: Served, org: NewOrganization, canary: string): Promise<{ token: string; known: Known }> {
  const ask = async <T>(method: string, path: string, body: unknown, as = org.apiKey.key): Promise<T> => {
    const isJson = !(body instanceof Uint8Array);
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${as}`,
        ...(body === undefined ? {} : { 'content-type': isJson ? 'application/json' : 'application/x-protobuf; encoding=delimited' }),
      },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : Buffer.from(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  };
  const made = async (path: string, body: unknown, as?: string): Promise<string> =>
    (await ask<{ id: string }>('POST', `/api/v1/${path}`, body, as)).id;
  const { xuser_token: token, xuser_id: subject } = await ask<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', {
    external_id: canary,
    project_key: org.projectKey,
  });
  await ask('POST', '/ingest/raw-packet', recordingOf(canary), token);
  const [stream] = await ask<{ id: string }[]>('GET', '/api/v1/streams', undefined, token);
  const devices = await ask<Record<string, string>[]>('GET', '/api/v1/devices?limit=1000', undefined);
  const episode = await made('episodes', {
    subject_id: subject,
    kind: 'event',
    started_at: '2026-01-01T00:00:00Z',
    title: canary,
    summary: { text: canary },
  });
  const { artifacts } = await ask<{ artifacts: { id: string }[] }>('POST', `/api/v1/episodes/${episode}/artifacts`, {
    kind: 'note',
    title: canary,
  });
  await ask('POST', '/api/v1/moods', { score: 3, note: canary }, token);
  await ask('POST', '/api/v1/journal', { text: canary }, token);
  // Questionnaires are for everybody of a project, profiles of devices for everybody of an organization: no canaries.
  const questionnaire = { title: 'How are you?', item: [{ linkId: 'a', text: 'How are you?', type: 'text' }] };
  const code = `q-${canary.slice(-12)}`;
  await ask('PUT', `/api/v1/projects/${org.projectId}/questionnaires/${code}`, {
    resource: questionnaire,
    scoring: { scores: [], safety: [] },
  });
  const answered = {
    resourceType: 'QuestionnaireResponse',
    questionnaire: code,
    status: 'completed',
    item: [{ linkId: 'a', answer: [{ valueString: canary }] }],
  };
  const profile = { code: `p-${canary.slice(-12)}`, name: 'A profile', manufacturer: '', model: '', channels: [] };
  return {
    token,
    known: {
      xuserId: subject,
      subject_id: subject,
      xuser_id: subject,
      external_id: canary,
      projectId: org.projectId,
      project_id: org.projectId,
      project_key: org.projectKey,
      streamId: stream!.id,
      stream_id: stream!.id,
      deviceId: devices.find((one) => one['device_id'] === canary.slice(0, 64))?.['id'] ?? '00000000-0000-4000-8000-000000000000',
      device_id: canary.slice(0, 64),
      biosignal_id: 20,
      id: episode,
      artifactId: artifacts[0]!.id,
      taskId: await made('tasks', { subject_id: subject, title: canary }),
      scheduleId: await made('task-schedules', { subject_id: subject, title: canary, every: 'day', times: ['08:00'] }),
      goalId: await made('goals', { subject_id: subject, biosignal_id: 60, target: 8000 }),
      questionnaireId: code,
      responseId: await made('questionnaire-responses', answered, token),
      webhookId: await made('webhooks', { url: `https://hooks.example/${canary}`, events: ['*'] }),
      profile_id: await made('device-profiles', profile),
    },
  };
}

/** Recorded an hour ago. */
function recordingOf(canary: string): Uint8Array {
  const startUnixNs = BigInt(Date.now() - 3_600_000) * 1_000_000n;
  const device = createSimulatedDevice({ seed: 5, channels: ['ecg.ii', 'ppg.ir', 'temp.skin'] });
  const bootId = randomUUID().replaceAll('-', '');
  const next = createPacketSource(device, {
    deviceId: canary.slice(0, 64),
    bootId,
    subject: canary,
    startUnixNs,
    packetMs: 1000,
    firmware: canary,
  });
  const sentUnixNs = BigInt(Date.now()) * 1_000_000n;
  const events = [{ code: 'button', tOffsetNs: 7, text: canary }];
  return encodeBatch(
    Array.from({ length: SECONDS }, (_, i) => encodePacket({ ...next().packet, sentUnixNs, events: i === 0 ? events : [] })),
  );
}
