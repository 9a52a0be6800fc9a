/** Peers that have gone without a word: a cable pulled out, a machine switched off. Nobody closes their connections. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { packetsOfPeople, sendAll, startNode } from '../cluster/nodes.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: half-open
test('sockets of devices and of viewers whose peer has gone without a word are closed within two minutes, others are not', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const { apiKey } = await createOrganization(database.pool, 'Half open');
  const { service } = await startNode(database.url, {});
  closing.push(() => service.stop());
  const proxies = await Promise.all([TcpProxy.start(service.port), TcpProxy.start(service.port)]);
  closing.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
  const [cut] = proxies;
  const [packets] = packetsOfPeople(1, 600, 200, BigInt(Date.now() - 1000) * 1_000_000n);
  const sending = sendAll(packets!, apiKey.key, () => [service], { first: 0, pauseMs: 180 });
  sending.catch(() => undefined);
  await until(async () => (await database.pool.query('select from stream')).rowCount === 1, 30_000);
  const open = async (): Promise<readonly number[]> => {
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
    return ['bio_viewers', 'bio_ingest_sockets'].map((name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]));
  };
  const said = [0, 0];
  for (let i = 0; i < 12; i++) {
    const path = i < 8 ? `/ws?subject=person-0` : '/ingest/stream';
    const socket = new WebSocket(`ws://127.0.0.1:${proxies[i % 2]!.port}${path}`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`,
    ]);
    socket.addEventListener('message', () => void (said[i < 8 ? 0 : 1]! += 1));
    closing.push(() => socket.close());
  }
  await until(async () => (await open()).join() === '8,4', 30_000);
  await until(() => said[0]! > 80 && said[1]! >= 4, 30_000);
  cut.mode = 'hole';
  await until(async () => (await open()).join() === '4,2', 120_000);
  await sleep(20_000); // those that are there and say nothing stay
  expect(await open()).toEqual([4, 2]);
  await sending;
}, 300_000);
