/** A person is erased just after a start, whose device has not come back: their stream was opened by the replay of the packet log, and its
 *  values are still being computed. Nothing of it may be stored after the erasure. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase } from '../helpers/database.ts';

const IDLE_FLUSH_MS = 6000;

// promise: erasure
// job: idle-streams
test('nothing is stored after the erasure of a person whose stream the replay has opened', async () => {
  const database = await testDatabase();
  const org = await createOrganization(database.pool, 'Test');
  const quiet = (): void => undefined;
  const start = (): Promise<Service> =>
    startService({
      config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: String(IDLE_FLUSH_MS) }),
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  const post = async (service: Service, path: string, body: Uint8Array | object): Promise<Record<string, string>> => {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(service.baseUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${org.apiKey.key}`,
        'content-type': isBytes ? 'application/x-protobuf; encoding=delimited' : 'application/json',
      },
      body: isBytes ? Buffer.from(body) : JSON.stringify(body),
    });
    const text = await response.text();
    expect(response.ok, text).toBe(true);
    return JSON.parse(text) as Record<string, string>;
  };
  let service = await start();
  try {
    const { xuser_id: id } = await post(service, '/api/v1/sdk/token', { external_id: 'patient-1', project_key: org.projectKey });
    const startNs = BigInt(Date.now() - 120_000) * 1_000_000n;
    const packets = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 90, deviceId: 'patch-1' }).map((packet) => {
      const t0UnixNs = startNs + packet.t0DeviceNs;
      return encodePacket({ ...packet, subject: id!, t0UnixNs, sentUnixNs: t0UnixNs + 1_000_000_000n });
    });
    await post(service, '/ingest/raw-packet', encodeBatch(packets));
    await service.pipeline.abandon(); // as after a kill
    await service.stop();
    service = await start();
    await post(service, `/api/v1/xusers/${id}/erase`, { confirm_external_id: 'patient-1' });
    const left = async (): Promise<number> =>
      (
        await database.pool.query<{ n: number }>(
          `select ((select count(*) from feature) + (select count(*) from beat) + (select count(*) from sample_block))::int as n`,
        )
      ).rows[0]!.n;
    for (const endMs = performance.now() + IDLE_FLUSH_MS + 6000; performance.now() < endMs;) {
      expect(await left()).toBe(0);
      await sleep(500);
    }
  } finally {
    await service.stop();
    await database.close();
  }
});
