/** Consent and the privacy of journals in every mode of reading a person's records, in the whole service: the person's token, a key in
 *  direct mode from a registered page and from a server, a key by itself, an operator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { signIn } from '../../src/tenancy/operators.ts';
import type { Scope } from '../../src/caller.ts';
import { putMember } from '../helpers/members.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const PAGE = 'https://tool.example';
const password = 'a long enough password';
const modes = [
  'token',
  'direct, page, read',
  'direct, page, write',
  'direct, server, read',
  'direct, server, write',
  'key, read',
  'operator',
] as const;
type Mode = (typeof modes)[number];
const states = ['not required', 'refused', 'never asked', 'granted'] as const;
type State = (typeof states)[number];

let running: RunningService;
const people = new Map<State, Readonly<{ id: string; token: string; stream: string }>>();
const credentials = new Map<Mode, Readonly<{ as: string; headers: Readonly<Record<string, string>> }>>();
let projects: Map<State, Readonly<{ id: string; key: string }>>;

beforeAll(async () => {
  running = await runService({ ALLOWED_ORIGINS: PAGE });
  const { pool } = running.database;
  const { orgId } = running.org;
  const made = await running.send<{ id: string; project_key: string }>('POST', '/api/v1/projects', { body: { name: 'asks' } });
  const asking = { id: made.body.id, key: made.body.project_key };
  const open = { id: running.org.projectId, key: running.org.projectKey };
  projects = new Map(states.map((state) => [state, state === 'not required' ? open : asking]));
  for (const state of states) {
    const body = { external_id: state, project_key: projects.get(state)!.key };
    const { body: minted } = await running.send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', { body });
    const { xuser_token: token, xuser_id: id } = minted;
    const write = async (path: string, entry: object): Promise<void> => {
      const answer = await running.send('POST', path, { as: token, body: entry });
      expect(answer.status, answer.text).toBe(201);
    };
    await write('/api/v1/journal', { text: `the secret of ${state}` });
    await write('/api/v1/moods', { score: 2, note: `low, ${state}` });
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 1, deviceId: `of ${state}` });
    const t0UnixNs = BigInt(Date.now() - 1000) * 1_000_000n;
    expect((await running.ingest({ ...packet!, subject: id, t0UnixNs, sentUnixNs: t0UnixNs })).status).toBe(202);
    const streams = await running.send<{ id: string }[]>('GET', '/api/v1/streams', { as: token });
    people.set(state, { id, token, stream: streams.body[0]?.id ?? '' });
    if (state === 'refused' || state === 'granted') {
      await running.send('POST', `/api/v1/xusers/${id}/consents`, {
        as: token,
        body: { purpose: 'sharing', granted: state === 'granted' },
      });
    }
  }
  const retention = { samples_days: null, features_days: null, beats_days: null };
  const settings = { retention, consent_required: ['sharing'] };
  expect((await running.send('PUT', `/api/v1/projects/${asking.id}/settings`, { body: settings })).status).toBe(200);

  const key = async (scopes: readonly Scope[]): Promise<string> => (await createApiKey(pool, { orgId, name: scopes.join(), scopes })).key;
  const [reader, writer] = [await key(['read']), await key(['read', 'write'])];
  const direct = { 'project-key': '', 'xuser-id': '' };
  credentials.set('direct, page, read', { as: reader, headers: { ...direct, origin: PAGE } });
  credentials.set('direct, page, write', { as: writer, headers: { ...direct, origin: PAGE } });
  credentials.set('direct, server, read', { as: reader, headers: direct });
  credentials.set('direct, server, write', { as: writer, headers: direct });
  credentials.set('key, read', { as: reader, headers: {} });
  await putMember(pool, { orgId, email: 'a@direct.example', displayName: '', role: 'owner', password });
  const { token } = await signIn(pool, 'a@direct.example', password, { ip: '127.0.0.1', userAgent: '' });
  credentials.set('operator', { as: '', headers: { cookie: `bio_session=${token}`, origin: running.service.baseUrl } });
});
afterAll(async () => {
  await running.close();
});

async function ask(mode: Mode, state: State, method: string, path: string, body?: unknown) {
  const person = people.get(state)!;
  const { as, headers } = mode === 'token' ? { as: person.token, headers: {} } : credentials.get(mode)!;
  const standsFor = mode.startsWith('direct') ? { 'project-key': projects.get(state)!.key, 'xuser-id': state } : {};
  const answer = await running.send<Record<string, unknown>>(method, path, {
    as,
    headers: { ...headers, ...standsFor },
    ...(body === undefined ? {} : { body }),
  });
  return { ...answer, said: `${mode}, ${state}: ${answer.status} ${answer.text.slice(0, 150)}` };
}

/** Records that others than the person may read, where the person shares them. */
const shared: Readonly<Record<string, (id: string, stream: string) => readonly [string, string, unknown?]>> = {
  moods: (id) => ['GET', `/api/v1/moods?subject_id=${id}`],
  answers: (id) => ['GET', `/api/v1/questionnaire-responses?subject_id=${id}`],
  tasks: (id) => ['GET', `/api/v1/tasks?subject_id=${id}`],
  goals: (id) => ['GET', `/api/v1/goals?subject_id=${id}`],
  streams: (id) => ['GET', `/api/v1/streams?subject_id=${id}`],
  features: (_, stream) => ['GET', `/api/v1/streams/${stream}/features`],
  observations: (id) => ['GET', `/api/v1/observations?biosignal_id=20&subject_id=${id}`],
  episodes: (id) => ['GET', `/api/v1/episodes?subject_id=${id}`],
  chart: (id) => ['POST', '/api/v1/charts/query', { subject_id: id, series: [{ biosignal_id: 20 }], range: { duration: 'PT1H' } }],
};
/** Widget records: keys by themselves are the wrong kind of credential. */
const widgetOnly = new Set(['moods', 'answers']);

describe.each(Object.keys(shared))('%s', (record) => {
  // promise: consent-sharing
  it.each(modes)('by %s, for every state of consent', async (mode) => {
    for (const state of states) {
      const { id, stream } = people.get(state)!;
      const [method, path, body] = shared[record]!(id, stream);
      const { status, body: answer, text, said } = await ask(mode, state, method, path, body);
      const allowed = mode === 'token' || state === 'not required' || state === 'granted';
      if (mode === 'key, read' && widgetOnly.has(record)) expect(status, said).toBe(401);
      else if (allowed) expect(status, said).toBe(200);
      else {
        expect(status, said).toBe(403);
        expect(answer['code'], said).toBe('consent_missing');
      }
      if (!allowed) expect(text).not.toContain('low, ');
    }
  });
});

describe('the journal', () => {
  // promise: journal-readers
  it.each(modes)('by %s, for every state of consent', async (mode) => {
    for (const state of states) {
      const { status, text, said } = await ask(mode, state, 'GET', '/api/v1/journal');
      const could = mode === 'token' || (mode.endsWith(', write') && (state === 'not required' || state === 'granted'));
      expect(text.includes(`the secret of ${state}`), said).toBe(could);
      expect(status, said).toBe(could ? 200 : mode === 'key, read' || mode === 'operator' ? 401 : 403);
    }
  });

  // promise: journal-readers
  it('is written in direct mode by a key that writes, whatever the person shares', async () => {
    for (const state of states) {
      expect((await ask('direct, server, write', state, 'POST', '/api/v1/journal', { text: 'for them' })).status).toBe(201);
      expect((await ask('direct, server, read', state, 'POST', '/api/v1/journal', { text: 'for them' })).status).toBe(403);
    }
  });
});
