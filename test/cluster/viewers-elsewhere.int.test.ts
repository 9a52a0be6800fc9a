/** Viewers and users at a node that has not the person: they see no difference. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PACKET_MS = 200;
/** While the node of the person learns of the choice; without a question it learns after up to 20. */
const FRAMES_MISSED_MAX = 6;
let database: TestDatabase;
let nodes: readonly Service[] = [];
let key: string;
let projectKey: string;
const folder = mkdtempSync(join(tmpdir(), 'biosignal-elsewhere-'));
beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const organization = await createOrganization(database.pool, 'Cluster');
  key = organization.apiKey.key;
  projectKey = organization.projectKey;
  const ports = [await freePort(), await freePort()];
  const started = await Promise.all(ports.map((port) => startNode(database.url, { BIO_BUS_DIR: folder, PORT: String(port) })));
  nodes = started.map(({ service }) => service);
  await until(() => isShared(database, 2), 30_000);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

// promise: subscribe-elsewhere
it('a viewer who chooses other channels goes on at once and sees no frame twice, at any node', async () => {
  const [packets] = packetsOfPeople(1, 80, PACKET_MS, BigInt(Date.now() - PACKET_MS) * 1_000_000n);
  const sending = sendAll(packets!, key, () => nodes, { first: 0, pauseMs: PACKET_MS - 20 });
  await until(async () => (await database.pool.query('select from stream')).rowCount === 1);
  const viewers = nodes.map(({ baseUrl }) => {
    const protocols = ['bio.v1', `bio.bearer.${Buffer.from(key).toString('base64url')}`];
    const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/ws?subject=person-0`, protocols);
    socket.binaryType = 'arraybuffer';
    const seen: number[] = [];
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') seen.push(decodeFrame(new Uint8Array(data)).seq);
    });
    return { socket, seen };
  });
  // One after the other, and each another choice: nobody else makes the node of the person send it.
  const choices = [
    [['ecg.ii'], ['ecg']],
    [null, ['ecg', 'ppg']],
  ];
  for (const [turn, ofViewers] of choices.entries()) {
    await until(() => viewers.every(({ seen }) => seen.length > 10 + 40 * turn), 30_000);
    for (const [i, { socket }] of viewers.entries()) socket.send(JSON.stringify({ type: 'subscribe', channels: ofViewers[i] }));
  }
  await sending;
  await until(() => viewers.every(({ seen }) => seen.at(-1) === viewers[0]!.seen.at(-1)));
  for (const { socket, seen } of viewers) {
    const steps = seen.slice(1).map((seq, i) => seq - seen[i]!);
    expect(Math.min(...steps)).toBe(1);
    expect(Math.max(...steps)).toBeLessThanOrEqual(FRAMES_MISSED_MAX);
    socket.close();
  }
});

// promise: tokens-everywhere
it('a user token of one node is taken by the other, which has another address', async () => {
  const made = await fetch(`${nodes[0]!.baseUrl}/api/v1/sdk/token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ external_id: 'person-0', project_key: projectKey }),
  });
  const { xuser_token: token, xuser_id: id } = (await made.json()) as { xuser_token: string; xuser_id: string };
  for (const { baseUrl } of nodes) {
    const answer = await fetch(`${baseUrl}/api/v1/xusers/${id}`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status, await answer.text()).toBe(200);
  }
});
