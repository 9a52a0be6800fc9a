/** Background jobs of a running service whose work no other test waits for: nothing here calls them, nor asks for what would do their
 *  work. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
let reader: { id: string; key: string };
let person: { xuser_id: string };
let scheduleId = '';

const count = async (from: string, ...values: unknown[]): Promise<number> =>
  (await running.database.pool.query(`select from ${from}`, values)).rowCount ?? 0;

/** Everything that takes time begins at once. */
beforeAll(async () => {
  running = await runService({ BIO_RETENTION_PERIOD_SEC: '1' });
  person = await running.token('watched');
  const { key, record } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'reader', scopes: ['read'] });
  reader = { id: record.id, key };
  expect((await running.send('GET', `/api/v1/xusers/${person.xuser_id}`, { as: key })).status).toBe(200);

  const next = createPacketSource(createSimulatedDevice({ seed: 5, channels: ['ecg.ii'], heartRateBpm: 150 }), {
    deviceId: 'fast',
    bootId: 'fa'.repeat(16),
    subject: 'watched',
    startUnixNs: BigInt(Date.now() - 250_000) * 1_000_000n,
    packetMs: 10_000,
  });
  for (let i = 0; i < 24; i++) expect((await running.ingest({ ...next().packet, sentUnixNs: 0n })).status).toBe(202);

  const schedule = await running.send<{ id: string }>('POST', '/api/v1/task-schedules', {
    body: { subject_id: person.xuser_id, title: 'Tablet', every: 'day', times: ['08:00'] },
  });
  expect(schedule.status, schedule.text).toBe(201);
  scheduleId = schedule.body.id;
});
afterAll(() => running?.close());

// promise: audit-killed, last-used
// job: audit-flush, last-used
it('writes pending audit entries and the last use of keys within ten seconds', async () => {
  const { pool } = running.database;
  await expect.poll(() => count(`audit_log where actor_id = $1 and action = 'personal_data.read'`, reader.id), { timeout: 30_000 }).toBe(1);
  const used = async (): Promise<unknown> => (await pool.query('select last_used_at from api_key where id = $1', [reader.id])).rows[0];
  await expect.poll(used, { timeout: 30_000 }).toEqual({ last_used_at: expect.any(Date) });
});

// promise: webhook-kept, idempotency
// job: kept-replies, ended-deliveries
it('deletes kept answers after a day and ended deliveries after 30 days', async () => {
  const { pool } = running.database;
  const ended = async (): Promise<string> => {
    const hook = await running.send<{ id: string }>('POST', '/api/v1/webhooks', { body: { url: 'https://hooks.invalid/', events: ['*'] } });
    const body = { subject_id: person.xuser_id, kind: 'note', started_at: new Date().toISOString() };
    expect((await running.send('POST', '/api/v1/episodes', { body })).status).toBe(201);
    expect((await running.send('DELETE', `/api/v1/webhooks/${hook.body.id}`)).status).toBe(204); // what was due to it has ended
    return hook.body.id;
  };
  const [old, young] = [await ended(), await ended()];
  const keep = async (path: string, body: object): Promise<void> =>
    expect((await running.send('POST', path, { body, headers: { 'idempotency-key': 'kept' } })).status).toBe(201);
  await keep('/api/v1/projects', { name: 'Old' });
  await keep('/api/v1/tasks', { subject_id: person.xuser_id, title: 'Young' });
  const deliveries = (hook: string): Promise<number> => count('webhook_delivery where webhook_id = $1', hook);
  const replies = (operation: string): Promise<number> => count('idempotency where starts_with(operation, $1)', operation);
  expect([await deliveries(old), await deliveries(young), await replies('createProject'), await replies('createTask')]).toEqual([
    1, 1, 1, 1,
  ]);
  for (const [hook, days] of Object.entries({ [old]: 31, [young]: 29 }))
    await pool.query('update webhook_delivery set created_at = now() - make_interval(days => $2) where webhook_id = $1', [hook, days]);
  for (const [operation, hours] of Object.entries({ createProject: 25, createTask: 23 }))
    await pool.query('update idempotency set created_at = now() - make_interval(hours => $2) where starts_with(operation, $1)', [
      operation,
      hours,
    ]);
  await expect.poll(async () => [await deliveries(old), await replies('createProject')], { timeout: 20_000 }).toEqual([0, 0]);
  expect([await deliveries(young), await replies('createTask')]).toEqual([1, 1]);
});

// job: episode-rules
it('opens an episode by rule from what a device sent', async () => {
  const found = async (): Promise<unknown> =>
    (await running.send('GET', `/api/v1/episodes?subject_id=${person.xuser_id}&kind=tachycardia`)).body;
  await expect.poll(found, { timeout: 60_000 }).toMatchObject([{ created_by: 'rule:tachycardia_v1' }]);
});

// job: occurrences
it('records missed occurrences at the next start at the latest', async () => {
  const { pool, url } = running.database;
  await pool.query(
    `with gone as (delete from task where schedule_id = $1)
     update task_schedule set created_at = created_at - interval '5 days', starts_on = starts_on - 5, made_until = null where id = $1`,
    [scheduleId],
  );
  await running.service.stop();
  const next = await startService({ config: readConfig({ DATABASE_URL: url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  try {
    await expect
      .poll(() => count(`task where schedule_id = $1 and status = 'missed'`, scheduleId), { timeout: 20_000 })
      .toBeGreaterThanOrEqual(3);
  } finally {
    await next.stop();
  }
});
