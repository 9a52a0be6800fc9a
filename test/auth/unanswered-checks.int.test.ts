/** A right ends while the node gets no answer of its database: whether what is open may go on is asked again until there is one. On the
 *  whole service. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts';
import { createProject } from '../../src/tenancy/projects.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

/** Longer than a question waits for a connection, ms. */
const NO_ANSWER_MS = 9000;

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

function packetsOf(deviceId: string, subject: string) {
  const startNs = BigInt(Date.now() - 10_000) * 1_000_000n;
  return ecgPacket({ channels: 1, fs: 250, ms: 100, count: 100, deviceId }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    return { ...packet, subject, t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n };
  });
}

// promise again: revoked-within-a-second, consent-recording
test('a key, the consent of a project and a person that end while every connection is taken end what is open, once one is free', async () => {
  const { service, database, org } = running;
  const { orgId } = org;
  const key = await createApiKey(database.pool, { orgId, name: 'lost', scopes: ['read'] });
  const strict = await createProject(database.pool, orgId, 'Strict');
  const strictKey = await createApiKey(database.pool, { orgId, name: 'strict', scopes: ['ingest'], projectId: strict.projectId });
  const { xuser_id: watchedId } = await running.token('watched');
  const { xuser_id: disabledId } = await running.token('disabled');
  const watched = await running.watch(watchedId, key.key);
  const recording = packetsOf('recorded', 'person-of-strict');
  const disabled = packetsOf('of-disabled', disabledId);
  expect((await running.ingest(recording[0]!, strictKey.key)).status).toBe(202);
  expect((await running.ingest(disabled[0]!)).status).toBe(202);
  await until(() => watched.ready());

  const { pool } = service.database;
  const taken = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  try {
    expect(await revokeApiKey(database.pool, orgId, key.record.id)).toMatchObject({ id: key.record.id });
    await database.pool.query(`update project set consent_required = '{recording}' where id = $1`, [strict.projectId]);
    await database.pool.query('update xuser set disabled_at = now() where id = $1', [disabledId]);
    await sleep(NO_ANSWER_MS);
    expect(watched.closed()).toBeNull();
  } finally {
    for (const client of taken) client.release();
  }
  await until(() => watched.closed() !== null, 10_000);
  expect(watched.closed()?.code).toBe(4502);
  let seq = 1;
  await until(async () => (await running.ingest(recording[seq++ % 100]!, strictKey.key)).body.code === 'consent_missing', 10_000);
  await until(async () => (await running.ingest(disabled[seq++ % 100]!)).body.code === 'not_found', 10_000);
});
