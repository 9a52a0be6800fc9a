/** The audit log answers who read a person's data, and when; in the whole service, with its CLI. */
import { tmpdir, userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { AuditBatch } from '../../src/tenancy/audit-batch.ts';
import type { BatchEntry } from '../../src/tenancy/audit-batch.ts';
import { createMember, signIn } from '../../src/tenancy/operators.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { auditLog } from '../../src/cli/audit.ts';
import { EXIT_FAILED, EXIT_OK, runCommand } from '../../src/cli/command.ts';
import type { Command } from '../../src/cli/command.ts';
import { erase } from '../../src/cli/erase.ts';
import { exportRecordings } from '../../src/cli/export.ts';
import { init } from '../../src/cli/init.ts';
import { operator } from '../../src/cli/operators.ts';
import { key as keyCommand, org as orgCommand, project as projectCommand } from '../../src/cli/organizations.ts';
import { signingKey } from '../../src/cli/signing-key.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

type Entry = Readonly<{
  id: number;
  time: string;
  actor_kind: string;
  actor_id: string;
  action: string;
  target_kind: string;
  target_id: string;
  subject_id: string | null;
  project_id: string | null;
  detail: Record<string, unknown>;
  ip: string | null;
  request_id: string;
  chain_seq: number;
}>;

const password = 'a long enough password';
let running: RunningService;
let subject: Readonly<{ id: string; token: string; stream: string; episode: string; artifact: string; annotation: string; rule: string }>;
let viewer: Readonly<{ id: string; headers: Record<string, string> }>;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-audit-'));
  running = await runService();
  const { xuser_id: id, xuser_token: token } = await running.token('watched');
  const startNs = BigInt(Date.now() - 2000) * 1_000_000n;
  const packets = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 10, deviceId: 'of the watched' }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    return { ...packet, subject: id, t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n };
  });
  for (const packet of packets) expect((await running.ingest(packet)).status).toBe(202);
  const streams = await running.send<{ id: string }[]>('GET', '/api/v1/streams', { as: token });
  const body = { subject_id: id, kind: 'event', started_at: new Date().toISOString() };
  const episode = await running.send<{ id: string }>('POST', '/api/v1/episodes', { body });
  const note = { body: { kind: 'note' } };
  const detail = await running.send<{ artifacts: { id: string }[] }>('POST', `/api/v1/episodes/${episode.body.id}/artifacts`, note);
  const stream = streams.body[0]!.id;
  const mark = { stream_id: stream, kind: 'note', starts_at: new Date().toISOString() };
  const annotation = await running.send<{ id: string }>('POST', '/api/v1/annotations', { body: mark });
  const bound = { name: 'Fast', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 60, subject_id: id };
  const rule = await running.send<{ id: string }>('POST', `/api/v1/projects/${running.org.projectId}/rules`, { body: bound });
  const artifact = detail.body.artifacts[0]!.id;
  subject = { id, token, stream, episode: episode.body.id, artifact, annotation: annotation.body.id, rule: rule.body.id };
  const { pool } = running.database;
  const made = { orgId: running.org.orgId, email: 'v@audit.example', displayName: '', role: 'viewer', password } as const;
  const member = await createMember(pool, made);
  const session = await signIn(pool, made.email, password, { ip: '127.0.0.1', userAgent: '' });
  viewer = { id: member.id, headers: { cookie: `bio_session=${session.token}`, origin: running.service.baseUrl } };
});
afterAll(async () => {
  await running?.close();
  rmSync(work, { recursive: true, force: true });
});

const log = async (query: string): Promise<readonly Entry[]> => {
  const answer = await running.send<Entry[]>('GET', `/api/v1/audit-log?limit=1000&${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

async function command(run: Command, args: string[], databaseUrl = running.database.url) {
  let out = '';
  let err = '';
  const code = await runCommand(run, args, {
    out: (line) => void (out += `${line}\n`),
    err: (line) => void (err += `${line}\n`),
    progress: null,
    env: { DATABASE_URL: databaseUrl, BIO_OPERATOR_PASSWORD: password },
    cwd: work,
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

/** Every way to one person's data, by operation. */
const reads: Readonly<Record<string, () => readonly [string, string, unknown?]>> = {
  getUser: () => ['GET', `/api/v1/xusers/${subject.id}`],
  listConsents: () => ['GET', `/api/v1/xusers/${subject.id}/consents`],
  listStreams: () => ['GET', `/api/v1/streams?subject_id=${subject.id}`],
  getStream: () => ['GET', `/api/v1/streams/${subject.stream}`],
  getFeatures: () => ['GET', `/api/v1/streams/${subject.stream}/features`],
  getBeats: () => ['GET', `/api/v1/streams/${subject.stream}/beats`],
  getOverview: () => ['GET', `/api/v1/streams/${subject.stream}/overview?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  getSamples: () => ['GET', `/api/v1/streams/${subject.stream}/samples?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  getStrip: () => ['GET', `/api/v1/streams/${subject.stream}/strip?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  getDayVariability: () => ['GET', `/api/v1/day-variability?date=2026-01-01&subject_id=watched`],
  listObservations: () => ['GET', `/api/v1/observations?biosignal_id=20&subject_id=watched`],
  queryChart: () => [
    'POST',
    '/api/v1/charts/query',
    { subject_id: 'watched', series: [{ biosignal_id: 20 }], range: { duration: 'PT1H' } },
  ],
  listEpisodes: () => ['GET', `/api/v1/episodes?subject_id=${subject.id}`],
  getEpisode: () => ['GET', `/api/v1/episodes/${subject.episode}`],
  getArtifact: () => ['GET', `/api/v1/episodes/${subject.episode}/artifacts/${subject.artifact}`],
  listAnnotations: () => ['GET', `/api/v1/annotations?subject_id=${subject.id}`],
  getAnnotation: () => ['GET', `/api/v1/annotations/${subject.annotation}`],
  tryRule: () => [
    'POST',
    `/api/v1/projects/${running.org.projectId}/rules/try`,
    {
      rule: { name: 'Fast', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 60, subject_id: subject.id },
      since: '2026-01-01T00:00:00Z',
      until: '2026-01-01T01:00:00Z',
    },
  ],
  getRule: () => ['GET', `/api/v1/projects/${running.org.projectId}/rules/${subject.rule}`],
  getCorrections: () => ['GET', `/api/v1/streams/${subject.stream}/corrections?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  listEvents: () => ['GET', `/api/v1/streams/${subject.stream}/events`],
  getVariability: () => ['GET', `/api/v1/streams/${subject.stream}/variability?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  getWaves: () => ['GET', `/api/v1/streams/${subject.stream}/waves?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`],
  listMoods: () => ['GET', `/api/v1/moods?subject_id=${subject.id}`],
  listQuestionnaireResponses: () => ['GET', `/api/v1/questionnaire-responses?subject_id=${subject.id}`],
  listTasks: () => ['GET', `/api/v1/tasks?subject_id=${subject.id}`],
  listTaskSchedules: () => ['GET', `/api/v1/task-schedules?subject_id=${subject.id}`],
  listGoals: () => ['GET', `/api/v1/goals?subject_id=${subject.id}`],
};

describe('a read', () => {
  // promise: audit-reads
  it.each(Object.keys(reads))('by %s names the person, the reader and the operation', async (operation) => {
    const [method, path, body] = reads[operation]!();
    const answer = await running.send(method, path, { as: '', headers: viewer.headers, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBe(200);
    const found = (await log(`subject_id=${subject.id}&kind=reads&actor_id=${viewer.id}`)).filter(
      ({ detail }) => detail['operation'] === operation,
    );
    expect(found).toMatchObject([
      {
        action: 'personal_data.read',
        actor_kind: 'operator',
        actor_id: viewer.id,
        subject_id: subject.id,
        project_id: running.org.projectId,
      },
    ]);
    expect(Math.abs(Date.parse(found[0]!.time) - Date.now())).toBeLessThan(60_000);
  });

  // promise: audit-reads
  it('by the person and in direct mode names the person too', async () => {
    await running.send('GET', '/api/v1/journal', { as: subject.token });
    const direct = { 'project-key': running.org.projectKey, 'xuser-id': 'watched' };
    await running.send('GET', '/api/v1/journal', { headers: direct });
    const journal = (await log(`subject_id=watched&kind=reads`)).filter(({ detail }) => detail['operation'] === 'listJournal');
    expect(new Set(journal.map(({ actor_kind: kind }) => kind))).toEqual(new Set(['user', 'key']));
    expect(journal.every(({ subject_id: id }) => id === subject.id)).toBe(true);
  });

  // promise: audit-reads
  it('of a FHIR bundle and of an export names the person', async () => {
    await running.send('GET', `/api/v1/observations?biosignal_id=21&subject_id=watched`, { headers: { accept: 'application/fhir+json' } });
    await running.send('GET', `/api/v1/xusers/${subject.id}/export`);
    expect((await log(`subject_id=watched&action=xuser.exported`)).length).toBe(1);
  });

  // promise: audit-reads
  it('names the person of its own request, however many requests run at once with the same key', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, (_, i) => running.token(`crowd ${i}`)));
    const { key } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'crowd', scopes: ['read'] });
    const paths = people.map(({ xuser_id: id }) => `/api/v1/xusers/${id}`);
    await Promise.all([...paths, ...paths.toReversed()].map((path) => running.send('GET', path, { as: key })));
    for (const { xuser_id: id } of people) {
      const seen = await log(`subject_id=${id}&kind=reads`);
      expect(seen.map(({ target_id: path }) => path)).toEqual([`/api/v1/xusers/${id}`]);
    }
  });

  // promise: audit-lists, audit-repeats
  it('that is repeated adds one entry, not one each time, and a list of many people has its own kind of entry', async () => {
    const { key, record } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'poller', scopes: ['read'] });
    for (let i = 0; i < 20; i++) {
      await running.send('GET', `/api/v1/xusers/${subject.id}`, { as: key });
      if (i % 5 === 0) await log(`actor_id=${record.id}`); // writes what is due
    }
    await running.send('GET', '/api/v1/devices', { as: key });
    await running.send('GET', '/api/v1/xusers', { as: key });
    const entries = await log(`actor_id=${record.id}`);
    const [read, ...more] = entries.filter(({ action }) => action === 'personal_data.read');
    expect(more).toEqual([]);
    expect(read).toMatchObject({ ip: '127.0.0.1', request_id: expect.stringMatching(/./) as string });
    const lists = entries.filter(({ action }) => action === 'personal_data.listed');
    expect(lists.map(({ detail, subject_id: id }) => [detail['operation'], id])).toEqual([
      ['listUsers', null],
      ['listDevices', null],
    ]);
  });
});

describe('live viewing', () => {
  // promise: audit-reads
  it('is logged when it begins and when it ends, with viewer and subject', async () => {
    const other = await runService();
    try {
      const { xuser_id: id } = await other.token('live');
      const { key, record } = await createApiKey(other.database.pool, { orgId: other.org.orgId, name: 'watcher', scopes: ['read'] });
      const entries = async (): Promise<readonly Entry[]> =>
        (await other.send<Entry[]>('GET', `/api/v1/audit-log?subject_id=live&kind=reads`)).body.filter(({ action }) =>
          action.startsWith('live.'),
        );
      const first = await other.watch('live', key);
      await until(first.ready);
      const started = { action: 'live.started', actor_kind: 'key', actor_id: record.id, subject_id: id, project_id: other.org.projectId };
      expect(await entries()).toMatchObject([started]);
      // A second tab, and a reconnect, are the same viewing.
      const second = await other.watch(id, key);
      await until(second.ready);
      first.socket.close();
      const again = await other.watch('live', key);
      await until(again.ready);
      expect(await entries()).toHaveLength(1);
      second.socket.close();
      again.socket.close();
      await other.service.stop();
      const { rows } = await other.database.pool.query<Entry>(`select * from audit_log where action like 'live.%' order by id`);
      expect(rows).toMatchObject([started, { ...started, action: 'live.ended' }]);
      expect(rows[1]?.detail['seconds']).toBeTypeOf('number');
    } finally {
      await other.close();
    }
  });
});

describe('an act', () => {
  // promise: mints-audited, audit-changes
  it('on records names the person, and minting a token names whom it is for', async () => {
    const { xuser_id: id } = await running.token('acted on');
    const send = (method: string, path: string, body: unknown) => running.send(method, path, { body });
    await send('PATCH', `/api/v1/xusers/${id}`, { display_name: 'A' });
    await send('POST', '/api/v1/tasks', { subject_id: id, title: 'Walk' });
    await send('POST', `/api/v1/xusers/${id}/consents`, { purpose: 'sharing', granted: true });
    const entries = await log(`subject_id=${id}&kind=acts`);
    for (const entry of entries) expect(entry).toMatchObject({ actor_kind: 'key', actor_id: running.org.apiKey.record.id });
    const acts = entries.map(({ action, detail }) => [action, detail['operation'] ?? '']);
    expect(acts).toEqual(
      expect.arrayContaining([
        ['token.minted', 'createUserToken'],
        ['personal_data.changed', 'updateUser'],
        ['personal_data.changed', 'createTask'],
        ['consent.granted', ''],
      ]),
    );
    expect(acts).toHaveLength(4);
  });

  // promise: audit-cli, audit-after-erasure
  it('at the command line names the account of the machine', async () => {
    const account = userInfo().username;
    const since = `since=${encodeURIComponent(new Date(Date.now() - 1000).toISOString())}`;
    const { xuser_id: id } = await running.token('gone');
    const ok = async (run: Command, ...args: string[]): Promise<void> => {
      const { code, err } = await command(run, [...args, '--org', running.org.orgId]);
      expect(code, err).toBe(EXIT_OK);
    };
    await ok(keyCommand, 'create', 'by cli', '--scopes', 'read');
    await ok(operator, 'create', 'cli@audit.example', '--role', 'viewer');
    await ok(operator, 'password', 'cli@audit.example');
    await ok(operator, 'role', 'cli@audit.example', '--role', 'analyst');
    await ok(operator, 'disable', 'cli@audit.example');
    const out = ['--format', 'csv', '--out', work];
    expect((await command(exportRecordings, [subject.stream, ...out])).code).toBe(EXIT_OK);
    await ok(erase, 'gone', '--yes');
    const entries = (await log(since)).filter(({ actor_kind: kind }) => kind === 'cli');
    expect(entries.map(({ action, actor_id: actor }) => [action, actor]).toReversed()).toEqual([
      ['api_key.created', account],
      ['member.created', account],
      ['member.password_set', account],
      ['member.updated', account],
      ['member.updated', account],
      ['recording.exported', account],
      ['xuser.erased', account],
    ]);
    expect(entries.find(({ action }) => action === 'recording.exported')).toMatchObject({ subject_id: subject.id });
    // Of an erased person the id is left, and the log still answers by it; the application's name for them is gone.
    expect((await log(`subject_id=${id}`)).map(({ action }) => action)).toEqual(expect.arrayContaining(['xuser.erased', 'token.minted']));
    expect((await running.send('GET', '/api/v1/audit-log?subject_id=gone')).status).toBe(404);
    expect((await running.send('GET', '/api/v1/audit-log?limit=1000')).text).not.toMatch(/"gone"/);
  });

  // promise: audit-cli
  it('of init is in the log of the organization that it creates', async () => {
    const database = await testDatabase();
    try {
      const made = await command(init, ['Lab', '--operator', 'o@lab.example', '--json'], database.url);
      expect(made.code, made.err).toBe(EXIT_OK);
      const { rows } = await database.pool.query<{ action: string }>(`select action from audit_log where actor_kind = 'cli' order by id`);
      expect(rows.map(({ action }) => action)).toEqual(['organization.created', 'project.created', 'api_key.created', 'member.created']);
    } finally {
      await database.close();
    }
  });
});

describe('the log', () => {
  // promise: audit-answers
  it('is filtered by person, actor, action, kind and time, and comes in pages', async () => {
    const all = await log('');
    for (const entry of await log(`actor_id=${viewer.id}`)) expect(entry.actor_id).toBe(viewer.id);
    for (const entry of await log('action=token.minted')) expect(entry.action).toBe('token.minted');
    const [acts, seen] = [await log('kind=acts'), await log('kind=reads')];
    expect(acts.length + seen.length).toBeGreaterThanOrEqual(all.length);
    expect(acts.some(({ action }) => /personal_data\.(read|listed)|live/.test(action))).toBe(false);
    const middle = all[Math.floor(all.length / 2)]!.time;
    for (const { time } of await log(`since=${encodeURIComponent(middle)}`))
      expect(Date.parse(time)).toBeGreaterThanOrEqual(Date.parse(middle));
    for (const { time } of await log(`until=${encodeURIComponent(middle)}`)) expect(Date.parse(time)).toBeLessThan(Date.parse(middle) + 1);
    const paged: number[] = [];
    for (let path: string | undefined = `/api/v1/audit-log?limit=3&subject_id=watched`; path !== undefined;) {
      const page: Awaited<ReturnType<typeof running.send<Entry[]>>> = await running.send<Entry[]>('GET', path);
      paged.push(...page.body.map(({ id }) => id));
      path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(paged).toEqual((await log('subject_id=watched')).map(({ id }) => id));
    expect((await running.send('GET', '/api/v1/audit-log?subject_id=nobody')).status).toBe(404);
  });

  // promise: audit-order
  it('is in order of occurrence over all pages, however late an entry was written', async () => {
    const { pool } = running.database;
    const { orgId } = running.org;
    const other = await createOrganization(pool, 'Late writers');
    const add = (target: string, seconds: number): Promise<unknown> =>
      pool.query(`insert into audit_log (organization_id, actor_kind, action, target_id, time) values ($1, 'system', 'late', $2, now() - make_interval(secs => $3))`, [other.orgId, target, seconds]); // prettier-ignore
    expect(other.orgId).not.toBe(orgId);
    for (const [target, seconds] of [['b', 20], ['d', 5], ['a', 30], ['c', 10]] as const) await add(target, seconds); // prettier-ignore
    const seen: string[] = [];
    let path: string | undefined = '/api/v1/audit-log?limit=1&action=late';
    while (path !== undefined) {
      const page: Awaited<ReturnType<typeof running.send<Entry[]>>> = await running.send<Entry[]>('GET', path, { as: other.apiKey.key });
      seen.push(...page.body.map(({ target_id: target }) => target));
      path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
      if (seen.length === 2) await add('later', 0); // of a page that was shown before: the pages after it stay as they are
    }
    expect(seen).toEqual(['d', 'c', 'b', 'a']);
    const { text } = await running.send('GET', '/api/v1/audit-log?format=csv&action=late', { as: other.apiKey.key });
    expect(text.match(/,late,,(\w+)/g)).toEqual(['later', 'd', 'c', 'b', 'a'].map((target) => `,late,,${target}`));
  });

  // promise: audit-answers
  it('is exported whole as CSV, in which no cell is a formula, and says so itself', async () => {
    await running.database.pool.query(
      `insert into audit_log (organization_id, actor_kind, action, target_id) select $1, 'system', 'filler', '=1+1,"x"' from generate_series(1, 1200)`,
      [running.org.orgId],
    );
    const { text, headers, status } = await running.send('GET', '/api/v1/audit-log?format=csv&limit=5&action=filler');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers.get('content-disposition')).toContain('audit-log.csv');
    const lines = text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(1201);
    expect(lines[0]).toMatch(/^id,time,actor_kind,actor_id,action,target_kind,target_id,subject_id,/);
    expect(lines[1]).toContain(`"'=1+1,""x"""`);
    expect((await log('action=audit_log.exported'))[0]).toMatchObject({ actor_kind: 'key', detail: { action: 'filler' } });
  });

  it('of another organization does not exist', async () => {
    const other = await createOrganization(running.database.pool, 'Stranger');
    for (const person of [subject.id, 'watched'])
      expect((await running.send('GET', `/api/v1/audit-log?subject_id=${person}`, { as: other.apiKey.key })).status).toBe(404);
  });
});

describe('entries in a batch', () => {
  const entry = (orgId: string, targetId: string, more: Partial<BatchEntry> = {}): BatchEntry => ({
    orgId,
    actorKind: 'key',
    actorId: 'k',
    action: 'personal_data.read',
    targetKind: 'path',
    targetId,
    subjectId: null,
    projectId: null,
    ip: null,
    requestId: 'r',
    detail: {},
    ...more,
  });

  // promise: audit-waits, audit-repeats
  it('are kept while the database refuses, and written later with the time at which they happened', async () => {
    const database = await testDatabase();
    const { orgId } = await createOrganization(database.pool, 'Batch');
    const batch = new AuditBatch(database.pool, () => undefined);
    try {
      for (const request of ['first', 'second']) batch.count('twice', () => entry(orgId, '/twice', { requestId: request }), 1000);
      await batch.flush();
      const twice = await database.pool.query('select request_id, detail from audit_log');
      expect(twice.rows).toEqual([{ request_id: 'first', detail: { count: 2, since: expect.stringMatching(/^2/) as string } }]);
      await database.pool.query('alter table audit_log rename to audit_log_away');
      batch.count('one', () => entry(orgId, '/one'), 1000);
      batch.add(entry(orgId, '/two'), performance.now() - 60_000);
      await expect(batch.flush()).rejects.toThrow('audit_log');
      await expect(batch.flush()).rejects.toThrow('audit_log');
      await database.pool.query('alter table audit_log_away rename to audit_log');
      await batch.flush();
      const { rows } = await database.pool.query<{ target_id: string; age: number }>(
        `select target_id, extract(epoch from now() - time)::float8 as age from audit_log where target_id <> '/twice' order by target_id`,
      );
      expect(rows.map(({ target_id: target }) => target)).toEqual(['/one', '/two']);
      expect(rows[1]!.age).toBeGreaterThan(59);
    } finally {
      await batch.stop();
      await database.close();
    }
  });

  it('do not wait for an entry that the database can never store', async () => {
    const database = await testDatabase();
    const { orgId } = await createOrganization(database.pool, 'Batch');
    const errors: unknown[] = [];
    const batch = new AuditBatch(database.pool, (error) => void errors.push(error));
    batch.add(entry(orgId, '/good'), performance.now());
    batch.add(entry(orgId, '/bad', { ip: 'no address' }), performance.now());
    batch.add(entry(orgId, '/fine'), performance.now());
    await batch.stop();
    const { rows } = await database.pool.query('select target_id from audit_log order by target_id');
    expect(rows).toEqual([{ target_id: '/fine' }, { target_id: '/good' }]);
    expect(errors).toHaveLength(1);
    await database.close();
  });
});

describe('the chain', () => {
  it('covers entries from before entries named a person, and those since', async () => {
    const database = await testDatabase();
    try {
      const { orgId } = await createOrganization(database.pool, 'Chain');
      const add = (columns = '', values = '') =>
        database.pool.query(`insert into audit_log (organization_id, actor_kind, action${columns}) values ($1, 'key', 'x'${values})`, [
          orgId,
        ]);
      await add();
      await add();
      // Older entries lacked these columns, and keep their original hash.
      const { rows } = await database.pool.query<{ whole: boolean }>(
        `select hash = sha256(coalesce(prev_hash, '') || convert_to((to_jsonb(a) - '{id,hash,prev_hash,subject_id,project_id}'::text[])::text, 'UTF8')) as whole
         from audit_log a where organization_id = $1`,
        [orgId],
      );
      expect(rows.map(({ whole }) => whole)).toEqual(Array.from(rows, () => true));
      await add(', subject_id', `, gen_random_uuid()`);
      await add();
      const brokenAt = async (): Promise<unknown> =>
        (await database.pool.query('select audit_log_broken_at($1)::int as at, (select count(*)::int from audit_log) as n', [orgId]))
          .rows[0];
      expect(await brokenAt()).toEqual({ at: null, n: rows.length + 2 });
      await database.pool.query('alter table audit_log disable trigger audit_log_append_only');
      await database.pool.query('update audit_log set subject_id = null where chain_seq = $1', [rows.length + 1]);
      expect(await brokenAt()).toEqual({ at: rows.length + 1, n: rows.length + 2 });
    } finally {
      await database.close();
    }
  });

  // promise: audit-chain, audit-head
  it('is verified from the command line; entries taken off its end are found by a head that was kept', async () => {
    const database = await testDatabase();
    try {
      const { orgId } = await createOrganization(database.pool, 'Chain');
      for (let i = 0; i < 4; i++)
        await database.pool.query(`insert into audit_log (organization_id, actor_kind, action) values ($1, 'key', 'x')`, [orgId]);
      const run = (...args: string[]) => command(auditLog, args, database.url);
      const heads = JSON.parse((await run('head', '--json')).out) as { organization: string; entries: number; head: string | null }[];
      const { head } = heads.find(({ organization }) => organization === orgId)!;
      expect(head).toMatch(/^[0-9a-f]{64}$/);
      const kept = await run('verify', '--head', head!);
      expect(kept.code).toBe(EXIT_OK);
      expect(kept.out).toContain(`Chain: 4 entries, head ${head}`);
      expect(kept.out).toMatch(/^ok: /m);
      expect(kept.out).toContain('other machine');
      await database.pool.query(`insert into audit_log (organization_id, actor_kind, action) values ($1, 'key', 'later')`, [orgId]);
      expect((await run('verify', '--head', head!)).code).toBe(EXIT_OK);
      await database.pool.query('alter table audit_log disable trigger user');
      await database.pool.query('delete from audit_log where organization_id = $1 and chain_seq >= 4', [orgId]);
      expect((await run('verify')).code).toBe(EXIT_OK); // what is left is whole
      const cut = await run('verify', '--head', head!);
      expect(cut.code).toBe(EXIT_FAILED);
      expect(cut.out).not.toMatch(/^ok: /m);
      expect(cut.err).toContain(`${head} is in no chain`);
      await database.pool.query(`update audit_log set action = 'changed' where organization_id = $1 and chain_seq = 2`, [orgId]);
      const broken = await run('verify');
      expect(broken.code).toBe(EXIT_FAILED);
      expect(broken.err).toContain('Chain: broken at entry 2 of 3');
    } finally {
      await database.close();
    }
  });
});

describe('a change whose entry cannot be written', () => {
  const counted = `select (select string_agg(concat(email, role, password_hash, disabled_at), ',' order by id) from operator_account) as members,
    (select count(*)::int from api_key) as keys, (select count(*)::int from api_key where revoked_at is null and expires_at is null) as lasting,
    (select count(*)::int from sdk_key) as sdk_keys, (select count(*)::int from sdk_key where revoked_at is null and expires_at is null) as lasting_sdk,
    (select string_agg(project_key, ',' order by id) from project) as projects, (select count(*)::int from organization) as organizations,
    (select count(*)::int from device_profile) as profiles, (select count(*)::int from device) as devices,
    (select count(*)::int from biosignal) as biosignals,
    (select count(*)::int from signing_key where expires_at is not null) as withdrawn`;
  const state = async (): Promise<unknown> => (await running.database.pool.query(counted)).rows[0];

  // promise: audit-changes
  it('is rolled back', async () => {
    const { pool } = running.database;
    const { orgId, projectId } = running.org;
    const { record } = await createApiKey(pool, { orgId, name: 'stays', scopes: ['read'] });
    const { rows: sdk } = await pool.query<{ id: string }>('select id from sdk_key where project_id = $1', [projectId]);
    const { rows: signing } = await pool.query<{ kid: string }>('select kid from signing_key');
    const channel = { code: 'ecg', kind: 'ecg', rate_hz: 250, unit: 'mV', lead: 'I' };
    const profile = { code: 'unsaid', name: 'Unsaid', manufacturer: '', model: '', channels: [channel] };
    const biosignal = { name: 'Unsaid', abbreviation: 'UNS', unit: '1', signal_type: 'scalar', source_type: 'device', code: 'unsaid' };
    const requests: (readonly [string, string, unknown?])[] = [
      ['POST', '/api/v1/members', { email: 'unsaid@audit.example', role: 'viewer', password }],
      ['POST', '/api/v1/api-keys', { name: 'unsaid', scopes: ['read'] }],
      ['POST', `/api/v1/api-keys/${record.id}/rotate`, {}],
      ['DELETE', `/api/v1/api-keys/${record.id}`],
      ['POST', `/api/v1/projects/${projectId}/sdk-keys`, {}],
      ['POST', `/api/v1/projects/${projectId}/sdk-keys/${sdk[0]!.id}/rotate`, {}],
      ['DELETE', `/api/v1/projects/${projectId}/sdk-keys/${sdk[0]!.id}`],
      ['POST', `/api/v1/projects/${projectId}/rotate-key`, {}],
      ['POST', '/api/v1/device-profiles', profile],
      ['PUT', '/api/v1/devices/unsaid/profile', { profile_id: null }],
      ['POST', `/api/v1/projects/${projectId}/biosignals`, biosignal],
    ];
    const commands: (readonly [Command, string[]])[] = [
      [orgCommand, ['create', 'Unsaid']],
      [projectCommand, ['create', 'Unsaid', '--org', orgId]],
      [keyCommand, ['create', 'unsaid', '--org', orgId]],
      [keyCommand, ['rotate', record.id, '--org', orgId]],
      [keyCommand, ['revoke', record.id, '--org', orgId]],
      [signingKey, ['withdraw', signing[0]!.kid]],
      [operator, ['create', 'unsaid@audit.example', '--org', orgId]],
      [operator, ['password', 'v@audit.example', '--org', orgId]],
      [operator, ['role', 'v@audit.example', '--role', 'analyst', '--org', orgId]],
      [operator, ['disable', 'v@audit.example', '--org', orgId]],
    ];
    const before = await state();
    await pool.query(`create function refuse_entry() returns trigger language plpgsql as $$ begin raise exception 'no entry'; end $$`);
    await pool.query('create trigger refuse_entry before insert on audit_log for each row execute function refuse_entry()');
    try {
      for (const [method, path, body] of requests) {
        const answer = await running.send(method, path, body === undefined ? {} : { body });
        expect(answer.status, `${method} ${path} ${answer.text}`).toBe(500);
        expect(await state(), `${method} ${path}`).toEqual(before);
      }
      for (const [run, args] of commands) {
        const done = await command(run, args);
        expect(done.code, args.join(' ')).not.toBe(EXIT_OK);
        expect(done.err).toContain('no entry');
        expect(await state(), args.join(' ')).toEqual(before);
      }
    } finally {
      await pool.query('drop function refuse_entry cascade');
    }
  });
});
