/** The log while a database is away: each part that waits for it says so once, and why. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { HttpSender } from '../../src/cli/client/http-sender.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test('a database that is away for 20 s is told once for each reason by those who wait for it', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const { apiKey } = await createOrganization(database.pool, 'Outage');
  const url = new URL(database.url);
  const proxy = await TcpProxy.start(Number(url.port));
  closing.push(() => proxy.close());
  url.port = String(proxy.port);
  const lines: string[] = [];
  const tell = (fields: object, message: string): void => {
    const { err } = fields as { err?: Error };
    lines.push(`${message}${err === undefined ? '' : ` (${err.message})`}`);
  };
  const quiet = (): void => undefined;
  const service = await startService({
    config: readConfig({
      DATABASE_URL: url.href,
      PORT: '0',
      BIO_SMTP_URL: 'smtp://127.0.0.1:9',
      BIO_MAIL_FROM: 'service@ward.example',
    }),
    logger: { debug: quiet, info: quiet, warn: tell, error: tell },
  });
  closing.push(() => service.stop());
  const isReady = async (): Promise<boolean> => (await fetch(`${service.baseUrl}/readyz`)).status === 200;
  await until(isReady, 30_000);
  const ending = new AbortController();
  closing.push(() => ending.abort());
  const sender = new HttpSender({ url: service.baseUrl, credential: apiKey.key, signal: ending.signal });
  // Some that writers have when it goes, and some while it is away.
  const packets = ecgPackets({ deviceId: 'strap', subject: 'one', startMs: Date.now() - 90_000, seconds: 90, rrSec: () => 0.8 });
  for (const [i, packet] of packets.entries()) if (i < 6) await sender.send(encodePacket(packet), i);
  await sender.flush();
  proxy.mode = 'refuse';
  for (const [i, packet] of packets.entries()) if (i >= 6) await sender.send(encodePacket(packet), i);
  await sleep(20_000);
  const told = [...lines].toSorted();
  proxy.mode = 'pass';
  await until(isReady, 60_000);
  await sender.flush();
  expect(sender.totals).toMatchObject({ accepted: packets.length, rejected: 0 });
  expect(told.some((line) => line.startsWith('webhooks: '))).toBe(true);
  expect(told.some((line) => line.startsWith('samples: '))).toBe(true);
  expect(told.filter((line, i) => line === told[i - 1])).toEqual([]);
  expect(told.length, told.join('\n')).toBeLessThan(30);
}, 300_000);
