/** Erasure in the whole service while the person is being recorded and watched; and what happens when it cannot be done. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { eraseUser } from '../../src/records/erase.ts';
import type { StreamId } from '../../src/signal.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(async () => {
  await running.close();
});

function packetsOf(deviceId: string, subject: string, count: number, ms = 100) {
  const startNs = BigInt(Date.now() - ms * count) * 1_000_000n;
  return ecgPacket({ channels: 1, fs: 250, ms, count, deviceId }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    return { ...packet, subject, t0UnixNs, sentUnixNs: t0UnixNs + BigInt(ms) * 1_000_000n };
  });
}

// promise: revoked-4502
it('ends feeds and recordings within a second, erases data in flight too, and leaves nothing', async () => {
  const { xuser_id: id, xuser_token: token } = await running.token('leaving');
  const packets = packetsOf('leaving-1', id, 60);
  for (const packet of packets.slice(0, 30)) expect((await running.ingest(packet)).status).toBe(202);
  const viewer = await running.watch(id, running.org.apiKey.key);
  const own = await running.watch(id, token);
  await until(() => viewer.ready() && own.ready());
  const startedMs = performance.now();
  const erasing = running.send<{ stores: { store: string; deleted: number; remaining: number }[] }>('POST', `/api/v1/xusers/${id}/erase`, {
    body: { confirm_external_id: 'leaving' },
  });
  await until(() => viewer.closed() !== null && own.closed() !== null, 1000);
  expect(performance.now() - startedMs).toBeLessThan(1000);
  expect(viewer.closed()?.code).toBe(4507);
  const { status, body, text } = await erasing;
  expect(status, text).toBe(200);
  const stores = new Map(body.stores.map((row) => [row.store, row]));
  expect(body.stores.filter(({ remaining }) => remaining !== 0)).toEqual([]);
  expect(stores.get('sample_block')?.deleted).toBeGreaterThanOrEqual(1);
  expect(stores.get('stream')?.deleted).toBe(1);
  for (const name of [
    'feature_1h',
    'feature_1d',
    'consent',
    'episode',
    'artifact',
    'goal',
    'beat_block',
    'feature_block',
    'derived_open',
  ]) {
    expect(stores.has(name), name).toBe(true);
  }
  expect(await running.ingest(packets[30]!)).toMatchObject({ status: 404 });
  expect((await running.send('GET', `/api/v1/streams?subject_id=${id}`)).status).toBe(404);
  expect(running.faults).toEqual([]);
});

// promise: gone-4507
it('ends what is open here within a second when another node erases the user', async () => {
  const { xuser_id: id } = await running.token('elsewhere');
  const viewer = await running.watch(id, running.org.apiKey.key);
  await until(() => viewer.ready());
  await eraseUser(running.database.pool, running.org.orgId, id, { actor: null }); // without this node's endSubject
  await until(() => viewer.closed() !== null, 1000);
  expect(viewer.closed()?.code).toBe(4507);
});

// promise: erasure
// job: erasures
it('deletes rows that are being stored and keeps waiting rows out when another process erases the user, also one that is killed', async () => {
  const own = await runService();
  const { xuser_id: id } = await own.token('storing');
  const { xuser_id: other } = await own.token('left by a kill');
  const { pool } = own.database;
  const packets = [packetsOf('storing-1', id, 36, 1000), packetsOf('storing-2', other, 36, 1000)];
  const send = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) for (const one of packets) expect((await own.ingest(one[i]!)).status).toBe(202);
  };
  // Every statement that stores samples waits at a gate.
  const gate = await own.database.connect();
  await gate.query(
    `create function gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
     create trigger gate after insert on sample_block for each statement execute function gate();
     select pg_advisory_lock(1)`,
  );
  await send(0, 18);
  const { rows: streams } = await pool.query<{ id: number }>('select id from stream where xuser_id = any($1) order by xuser_id = $2', [
    [id, other],
    other,
  ]);
  const waiting = async (): Promise<number> =>
    (await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event = 'advisory' and query ~* '^copy'`))
      .rowCount ?? 0;
  await expect.poll(waiting, { timeout: 30_000 }).toBe(1);
  await send(18, 36);
  const erasing = eraseUser(pool, own.org.orgId, id, { actor: null }); // as the command does: without this node's endSubject
  await expect.poll(async () => (await pool.query('select from xuser where id = $1', [id])).rowCount, { timeout: 30_000 }).toBe(0);
  const command = ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'erase', other, '--yes'];
  const killed = spawn(process.execPath, command, { env: { ...process.env, DATABASE_URL: own.database.url }, stdio: 'ignore' });
  await expect.poll(async () => (await pool.query('select from xuser where id = $1', [other])).rowCount, { timeout: 30_000 }).toBe(0);
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  await gate.query('select pg_advisory_unlock(1)');
  const { stores } = await erasing;
  const leftByKill = `select from sample_block where stream_id = $1`;
  await expect.poll(async () => (await pool.query(leftByKill, [streams[1]!.id])).rowCount, { timeout: 30_000 }).toBe(0);
  const entries = await pool.query<{ detail: { interrupted?: true; stores: { store: string; deleted: number }[] } }>(
    `select detail from audit_log where action = 'xuser.erased' and target_id = $1 order by id desc`,
    [other],
  );
  expect(entries.rows[0]?.detail.interrupted).toBe(true);
  expect(entries.rows[0]?.detail.stores.find(({ store }) => store === 'sample_block')?.deleted).toBeGreaterThan(0);
  const samples = stores.find(({ store }) => store === 'sample_block');
  // A writer that has kept rows for longer than the erasure took.
  const writer = new DerivedWriter(own.database, { currentMethods: [] });
  const value = { feature: 'hr_ecg', channelNo: -1, tNs: 0n, value: 60, qmask: 0, methodCode: 'derived:late_v1' } as const;
  const epochNs = BigInt(Date.now()) * 1_000_000n;
  void writer.add({ streamId: streams[0]!.id as StreamId, beats: [], features: [value], replaces: null }, epochNs);
  await writer.close();
  await own.service.stop(); // stores everything that waits
  const left: Record<string, number> = {};
  for (const table of ['sample_block', 'beat', 'feature', 'packet_hash', 'device_event', 'measurement', 'stream'])
    left[table] = (
      await pool.query(`select from ${table} where ${table === 'stream' ? 'id' : 'stream_id'} = any($1::integer[])`, [
        streams.map((stream) => stream.id),
      ])
    ).rowCount!;
  expect(left).toEqual({ sample_block: 0, beat: 0, feature: 0, packet_hash: 0, device_event: 0, measurement: 0, stream: 0 });
  expect(samples?.deleted).toBeGreaterThan(0);
  expect(samples?.remaining).toBe(0);
  await gate.end();
  await own.close();
});

// promise: erasure
it('starts again when the server cancelled it in a deadlock with a writer', async () => {
  const { xuser_id: id } = await running.token('deadlocked');
  for (const packet of packetsOf('deadlocked-1', id, 3, 1000)) expect((await running.ingest(packet)).status).toBe(202);
  const { pool } = running.database;
  const writer = await running.database.connect();
  // Erasure locks the device first and the recording last. The side that finds it is ended.
  await writer.query(`set deadlock_timeout = '60s'; begin`);
  const patient = new pg.Pool({ connectionString: running.database.url, options: '-c deadlock_timeout=3s' });
  await writer.query('select from stream where xuser_id = $1 for update', [id]);
  const erasing = eraseUser(patient, running.org.orgId, id, { actor: null }).catch((error: Error) => ({ stores: [], error }));
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'delete from "xuser"%'`;
  await expect.poll(async () => (await pool.query(waits)).rowCount, { timeout: 30_000, interval: 10 }).toBe(1);
  const ended = await writer.query(`select from device where external_id = 'deadlocked-1' for update`).then(
    () => 'erasure',
    () => 'writer',
  );
  await writer.query('rollback');
  expect(ended).toBe('erasure');
  const erased = await erasing;
  expect(erased).not.toHaveProperty('error');
  const { stores } = erased;
  expect(stores.filter(({ remaining }) => remaining !== 0)).toEqual([]);
  expect(stores).toContainEqual({ store: 'xuser', deleted: 1, remaining: 0 });
  const { rows } = await pool.query(`select from audit_log where action = 'xuser.erased' and target_id = $1`, [id]);
  expect(rows).toHaveLength(1);
  await patient.end();
  await writer.end();
});

// promise: erasure
it('leaves nothing of what is being entered for the person at that moment, and who enters it hears that there is no such person', async () => {
  const own = await runService({ BIO_DB_CONNECTIONS_MAX: '60' });
  const { pool } = own.database;
  const { xuser_id: id, xuser_token: token } = await own.token('entered');
  for (const packet of packetsOf('entered-1', id, 2)) expect((await own.ingest(packet)).status).toBe(202);
  const streamId = (await own.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body[0]!.id;
  const time = new Date().toISOString();
  const rule = { name: 'fast', feature: 'hr_ecg', comparison: 'above', threshold: 400, sustain_sec: 60, subject_id: id };
  const entries: Readonly<Record<string, readonly [string, object, string?]>> = {
    measurement: ['/api/v1/measurements', { subject_id: id, measurements: [{ biosignal_id: 61, value: 97, time }] }],
    annotation: ['/api/v1/annotations', { stream_id: streamId, kind: 'note', starts_at: time }],
    episode: ['/api/v1/episodes', { subject_id: id, stream_id: streamId, kind: 'event', started_at: time }],
    goal: ['/api/v1/goals', { subject_id: id, biosignal_id: 60, target: 8000 }],
    task: ['/api/v1/tasks', { subject_id: id, title: 'Walk' }],
    task_schedule: ['/api/v1/task-schedules', { subject_id: id, title: 'Walk', every: 'day', times: ['08:00'] }],
    consent: [`/api/v1/xusers/${id}/consents`, { purpose: 'sharing', granted: true }],
    episode_rule: [`/api/v1/projects/${own.org.projectId}/rules`, rule],
    mood: ['/api/v1/moods', { score: 3 }, token],
    journal_entry: ['/api/v1/journal', { text: 'a day' }, token],
  };
  // Every entry is made up to its insert, and waits there at a gate.
  const gate = await own.database.connect();
  await gate.query(
    `create function gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
     ${Object.keys(entries)
       .map((table) => `create trigger gate before insert on ${table} for each statement execute function gate()`)
       .join(';')};
     select pg_advisory_lock(1)`,
  );
  const sent = Object.values(entries).map(async ([path, body, as], i) => {
    const headers = { 'idempotency-key': `entry-${i}-of-a-person` };
    const { status, text } = await own.send('POST', path, { body, headers, ...(as !== undefined && { as }) });
    return `${path} ${status} ${text}`;
  });
  const waiting = async (): Promise<number> =>
    (await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`)).rowCount ?? 0;
  await expect.poll(waiting, { timeout: 30_000 }).toBe(sent.length);
  const erasing = eraseUser(pool, own.org.orgId, id, { actor: null });
  // It is done, but for those whom it waits for.
  const locked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~* 'delete from'`;
  const gone = 'select from xuser where id = $1';
  await expect.poll(async () => (await pool.query(gone, [id])).rowCount === 0 || (await pool.query(locked)).rowCount === 1).toBe(true);
  await gate.query('select pg_advisory_unlock(1)');
  await gate.end();
  await erasing;
  expect(await Promise.all(sent).then((said) => said.filter((one) => !/ (201|404|503) /.test(one)))).toEqual([]);
  for (const table of Object.keys(entries))
    expect((await pool.query(`select from ${table} where xuser_id = $1`, [id])).rowCount, table).toBe(0);
  const kept = `select from idempotency where position(convert_to($1, 'UTF8') in coalesce(response_body, '')) > 0`;
  expect((await pool.query(kept, [id])).rowCount).toBe(0);
  expect(own.faults).toEqual([]);
  await own.close();
});

it('says when the packet log will have dropped the last packets, as long as it is kept here', async () => {
  const { pool } = running.database;
  const { xuser_id: id } = await running.token('logged');
  await pool.query("update retention set keep = '7 days' where relation = 'packet_log'");
  try {
    const { body, text } = await running.send<{ erased_at: string; packet_log_until: string }>('POST', `/api/v1/xusers/${id}/erase`, {
      body: { confirm_external_id: 'logged' },
    });
    expect((Date.parse(body.packet_log_until) - Date.parse(body.erased_at)) / 3_600_000, text).toBe(7 * 24 + 6);
  } finally {
    await pool.query("update retention set keep = '1 day' where relation = 'packet_log'");
  }
});

it('erases everything or nothing: with a database of another version the user stays and there is no receipt', async () => {
  const { xuser_id: id } = await running.token('staying');
  const { pool } = running.database;
  await pool.query('alter table webhook_delivery rename to webhook_delivery_later');
  try {
    await expect(eraseUser(pool, running.org.orgId, id, { actor: null })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Nothing was erased') as string,
    });
  } finally {
    await pool.query('alter table webhook_delivery_later rename to webhook_delivery');
  }
  const { rows } = await pool.query('select 1 from xuser where id = $1', [id]);
  expect(rows.length).toBe(1);
  const log = await pool.query(`select 1 from audit_log where action = 'xuser.erased' and target_id = $1`, [id]);
  expect(log.rows.length).toBe(0);
  expect((await eraseUser(pool, running.org.orgId, id, { actor: null })).stores.every(({ remaining }) => remaining === 0)).toBe(true);
});
