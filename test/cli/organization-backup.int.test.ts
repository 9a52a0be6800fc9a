/** One organization is moved from a database of several into another one in use, whose numbers of streams and biosignals are taken: every
 *  answer is the same there, and nobody else's rows have changed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { backup, restore } from '../../src/cli/backup.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Command, Console } from '../../src/cli/command.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

/** Longer than the last beats of a stream wait for more, ms. */
const QUIET_MS = 12_000;
const SECONDS = 90;
const startMs = Math.floor((Date.now() - 3_600_000) / 60_000) * 60_000;
let from: RunningService;
let to: RunningService;
let work: string;
let moved: Readonly<{ orgId: string; key: string; projectId: string }>;
let lines: string[] = [];

async function fill(running: RunningService, key: string, projectId: string, name: string): Promise<void> {
  const ok = async <T = { id: string }>(path: string, body: unknown): Promise<T> => {
    const answer = await running.send<T>('POST', path, { as: key, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const packets = ecgPacket({ channels: 1, fs: 250, ms: 10_000, count: SECONDS / 10, deviceId: `${name} patch` });
  for (const packet of packets) {
    const t0UnixNs = BigInt(startMs) * 1_000_000n + packet.t0DeviceNs;
    const sent = await running.ingest({ ...packet, subject: name, t0UnixNs, sentUnixNs: 0n }, key);
    expect(sent.status, sent.text).toBe(202);
  }
  const strain = {
    code: `strain_${name}`,
    name: `${name} strain`,
    abbreviation: name,
    unit: '%',
    signal_type: 'scalar',
    source_type: 'device',
  };
  const biosignal = await ok<{ id: number }>(`/api/v1/projects/${projectId}/biosignals`, strain);
  const measurements = [{ biosignal_id: biosignal.id, value: 12.5, time: new Date(startMs).toISOString() }];
  await ok('/api/v1/measurements', { subject_id: name, measurements });
  await ok('/api/v1/episodes', { subject_id: name, kind: 'event', title: `${name} walked`, started_at: new Date(startMs).toISOString() });
  await ok('/api/v1/webhooks', { url: 'https://hooks.example/', events: ['xuser.erased'] });
}

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-organization-'));
  from = await runService();
  to = await runService();
  // Both databases have recordings of others before: numbers that the moved organization's streams have are taken there.
  await fill(from, from.org.apiKey.key, from.org.projectId, 'stayed');
  await fill(to, to.org.apiKey.key, to.org.projectId, 'there');
  await fill(to, to.org.apiKey.key, to.org.projectId, 'there2');
  const { orgId, projectId, apiKey } = await createOrganization(from.database.pool, 'Moved');
  moved = { orgId, projectId, key: apiKey.key };
  await fill(from, moved.key, projectId, 'moved');
  await until(async () => {
    const { rows } = await from.database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from sample_block');
    return rows[0]!.n === 2 * SECONDS * 250 && (await answers(from))['features']!.includes('hr_ecg');
  });
});
afterAll(async () => {
  await from?.close();
  await to?.close();
  rmSync(work, { recursive: true, force: true });
});

/** Everything that the organization's key gets to see. */
async function answers(running: RunningService): Promise<Record<string, string>> {
  const get = async (path: string): Promise<string> => {
    const { status, text } = await running.send('GET', path, { as: moved.key });
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  const range = `since=${new Date(startMs).toISOString()}&until=${new Date(startMs + 1000 * SECONDS).toISOString()}`;
  const streams = await get('/api/v1/streams?subject_id=moved');
  const stream = `/api/v1/streams/${(JSON.parse(streams) as { id: string }[])[0]!.id}`;
  const biosignals = JSON.parse(await get(`/api/v1/projects/${moved.projectId}/biosignals`)) as { id: number; name: string }[];
  const strain = biosignals.find(({ name }) => name === 'moved strain')!;
  return {
    users: await get('/api/v1/xusers'),
    streams,
    samples: await get(`${stream}/samples?${range}&raw=true`),
    beats: await get(`${stream}/beats`),
    // Of whole minutes; the last one is computed again when the device goes on.
    features: await get(`${stream}/features?since=${new Date(startMs).toISOString()}&until=${new Date(startMs + 60_000).toISOString()}`),
    strain: (await get(`/api/v1/observations?biosignal_id=${strain.id}&subject_id=moved`)).replaceAll(String(strain.id), 'ID'),
    episodes: await get('/api/v1/episodes?subject_id=moved'),
    webhooks: await get('/api/v1/webhooks'),
  };
}

async function run(command: Command, databaseUrl: string, ...args: string[]): Promise<number> {
  lines = [];
  const say = (line: string): void => void lines.push(line);
  const env = { DATABASE_URL: databaseUrl };
  const console: Console = { out: say, err: say, progress: null, env, cwd: work, signal: new AbortController().signal };
  return await runCommand(command, args, console);
}

/** Rows of everybody else, by table. */
async function others({ database }: RunningService): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const table of ['sample_block', 'beat_block', 'feature_block', 'stream_channel', 'packet_hash'] as const) {
    const { rows } = await database.pool.query<{ f: string }>(
      `select count(*) || ' ' || coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) as f from ${table} t
       where stream_id in (select id from stream where organization_id <> $1)`,
      [moved.orgId],
    );
    found[table] = rows[0]!.f;
  }
  return found;
}

/** What is found once it has been the same for so long. */
async function settled(find: () => Promise<Record<string, string>>, quietMs: number): Promise<Record<string, string>> {
  let [seen, sinceMs] = [await find(), Date.now()];
  await until(async () => {
    const now = await find();
    if (JSON.stringify(now) !== JSON.stringify(seen)) [seen, sinceMs] = [now, Date.now()];
    return Date.now() - sinceMs > quietMs;
  }, 60_000);
  return seen;
}

/** Rows of everybody else once everything that was sent is computed: every stream has values, and nothing has come for a while. */
async function settledOthers(running: RunningService): Promise<Record<string, string>> {
  await until(async () => {
    const { rows } = await running.database.pool.query<{ n: number }>(
      'select count(*)::int as n from stream s where organization_id <> $1 and not exists (select from feature_block where stream_id = s.id)',
      [moved.orgId],
    );
    return rows[0]!.n === 0;
  });
  return await settled(() => others(running), QUIET_MS);
}

/** Entries of the organization's journal, which is written in batches: what was asked is in it within seconds. */
async function entries({ database }: RunningService): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from audit_log where organization_id = $1', [
    moved.orgId,
  ]);
  return rows[0]!.n;
}

test('a backup of one organization is restored next to others, and answers there as before', async () => {
  await until(async () => (await answers(from))['streams']!.includes('"is_flowing":false'));
  const [before, otherRows] = await Promise.all([settled(() => answers(from), QUIET_MS), settledOthers(to)]);
  await until(async () => (await entries(from)) > 3);
  const folder = join(work, 'moved');
  expect(await run(backup, from.database.url, '--org', 'Moved', folder), lines.join('\n')).toBe(0);
  expect((await to.send('GET', '/api/v1/xusers', { as: moved.key })).status).toBe(401);
  expect(await run(restore, to.database.url, folder), lines.join('\n')).toBe(0);
  await until(async () => (await to.send('GET', '/api/v1/xusers', { as: moved.key })).status === 200);
  const after = await answers(to);
  for (const [name, text] of Object.entries(before)) expect([name, after[name]]).toEqual([name, text]);
  expect(await others(to)).toEqual(otherRows);
  const { rows } = await to.database.pool.query<{ broken: string | null }>('select audit_log_broken_at($1) as broken', [moved.orgId]);
  expect(rows[0]!.broken).toBeNull();
  expect(await entries(to)).toBeGreaterThan(3);

  expect(await run(restore, to.database.url, folder)).not.toBe(0);
  expect(lines.join('\n')).toContain('in this database already');
  // The device goes on at the new place.
  const [next] = ecgPacket({ channels: 1, fs: 250, ms: 10_000, count: SECONDS / 10 + 1, deviceId: 'moved patch' }).slice(-1);
  const t0UnixNs = BigInt(startMs) * 1_000_000n + next!.t0DeviceNs;
  const sent = await to.ingest({ ...next!, subject: 'moved', t0UnixNs, sentUnixNs: 0n }, moved.key);
  expect(sent.body, sent.text).toMatchObject({ accepted: 1, duplicates: 0 });
  expect((JSON.parse((await answers(to))['streams']!) as unknown[]).length).toBe(1);
  const again = await to.ingest({ ...next!, subject: 'moved', t0UnixNs, sentUnixNs: 0n }, moved.key);
  expect(again.body, again.text).toMatchObject({ duplicates: 1 });
});
