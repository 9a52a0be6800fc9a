// Acknowledged means queryable: what a device was answered for is in the next answer of GET /streams/{id}/samples, in the middle of its
// second too, once and in order; and in SQL when its second is stored.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createOrganization, type NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService, type Service } from '../../src/server.ts';
import { testDatabase, until, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let org: NewOrganization;

beforeAll(async () => {
  database = await testDatabase();
  const quiet = (): void => undefined;
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0' }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  org = await createOrganization(database.pool, 'Fresh');
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
});

const headers = (): Record<string, string> => ({ authorization: `Bearer ${org.apiKey.key}` });

// promise: packets-once
test('every acknowledged packet of 100 ms is in the next answer', async () => {
  const startNs = BigInt(Date.now()) * 1_000_000n;
  const packets = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 45, deviceId: 'fresh' });
  const sent: number[] = [];
  const delaysMs: number[] = [];
  let streamId = '';
  for (const packet of packets) {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    const body = encodePacket({ ...packet, t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n });
    const posted = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'application/x-protobuf' },
      body,
    });
    expect(posted.status, await posted.text()).toBe(202);
    const acknowledgedMs = performance.now();
    sent.push(...packet.blocks[0]!.samples);
    if (streamId === '') streamId = (await database.pool.query<{ uuid: string }>('select uuid from stream')).rows[0]!.uuid;
    const query = `since=${new Date(Number(startNs / 1_000_000n) - 1000).toISOString()}&until=2100-01-01T00:00:00Z&raw=true`;
    const answer = await fetch(`${service.baseUrl}/api/v1/streams/${streamId}/samples?${query}`, { headers: headers() });
    const segments = (await answer.json()) as { samples: number[] }[];
    delaysMs.push(performance.now() - acknowledgedMs);
    expect(segments.flatMap((segment) => segment.samples)).toEqual(sent);
    await sleep(60);
  }
  // The content above is the promise; the time is that of one request, on whatever machine runs the tests.
  delaysMs.sort((a, b) => a - b);
  const p50 = delaysMs[delaysMs.length >> 1]!;
  console.log(`acknowledged to read: p50 ${p50.toFixed(1)} ms, worst ${delaysMs.at(-1)!.toFixed(1)} ms`);
  expect(p50).toBeLessThan(1000);
  await until(async () => {
    const { rows } = await database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from sample_block');
    return rows[0]!.n === sent.length;
  });
});
