/** A batch of very many streams, and a database that swallows everything without a word. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { testDatabase } from '../helpers/database.ts';
import { startNode } from '../cluster/nodes.ts';

/** Opened 256 at a time: each time would wait 5 s for a connection. */
const STREAMS = 12 * 256;
/** After which a pool of connections has closed those that nobody uses, ms. */
const IDLE_MS = 12_000;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test('a batch waits for its database as a whole, not once more for each part of it, and is refused for another time', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const { apiKey } = await createOrganization(database.pool, 'Gateway');
  const url = new URL(database.url);
  const proxy = await TcpProxy.start(Number(url.port));
  closing.push(() => proxy.close());
  url.port = String(proxy.port);
  const { service } = await startNode(url.href, { BIO_KEY_STREAMS_PER_MIN_MAX: '100000', BIO_STOP_TIMEOUT_MS: '1000' });
  closing.push(() => service.stop());
  const authorization = `Bearer ${apiKey.key}`;
  const batch = encodeBatch(
    Array.from({ length: STREAMS }, () => encodePacket(ecgPacket({ channels: 1, fs: 25, ms: 200, count: 1, deviceId: randomUUID() })[0]!)),
  );
  await sleep(IDLE_MS);
  await (await fetch(`${service.baseUrl}/api/v1/streams`, { headers: { authorization } })).text(); // so that the key is known
  proxy.mode = 'hole';
  const startedMs = performance.now();
  const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: batch,
  });
  const said = (await answer.json()) as { code: string };
  expect([answer.status, said.code]).toEqual([503, 'unavailable']);
  expect(performance.now() - startedMs).toBeLessThan(35_000);
  proxy.mode = 'pass';
}, 240_000);
