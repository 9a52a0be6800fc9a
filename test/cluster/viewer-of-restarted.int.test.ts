/** A viewer who comes back to a node that has just started: it knows from its first answer on which node has the person's frames. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PACKETS = 15;
const PACKET_MS = 200;
/** What is missed while the viewer is away, frames of 100 ms. */
const MISSED = 10;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

type Replay = Readonly<{ type: string; status?: string; frames?: number; oldest_seq?: number | null }>;

// promise: restarted-knows
test('a node that has just started gives a viewer the frames that were missed, from the node that has them', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Restarted');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-restarted-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const first = await startNode(database.url, { BIO_BUS_DIR: folder });
  closing.push(() => first.service.stop());
  await until(() => isShared(database, 1), 30_000);

  const replays: Replay[] = [];
  const view = (baseUrl: string, after?: number): number[] => {
    const seen: number[] = [];
    const protocols = ['bio.v1', `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`];
    const query = after === undefined ? '' : `&after=${after}`;
    const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/ws?subject=person-0${query}`, protocols);
    closing.push(() => socket.close());
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') seen.push(decodeFrame(new Uint8Array(data)).seq);
      else if ((JSON.parse(data) as Replay).type === 'replay') replays.push(JSON.parse(data) as Replay);
    });
    return seen;
  };
  const [packets] = packetsOfPeople(1, PACKETS, PACKET_MS, BigInt(Date.now() - PACKET_MS) * 1_000_000n);
  await sendAll(packets!.slice(0, 1), apiKey.key, () => [first.service], { first: 0, pauseMs: 0 });
  const here = view(first.service.baseUrl);
  await sleep(500); // it watches
  await sendAll(packets!.slice(1), apiKey.key, () => [first.service], { first: 0, pauseMs: PACKET_MS });
  await until(() => here.length > 2 * MISSED);

  // The new node can read who owns what, and not say yet that it lives.
  const lock = await database.connect();
  closing.push(() => lock.end());
  await lock.query('begin; lock table cluster_node in share mode');
  const second = await startNode(database.url, { BIO_BUS_DIR: folder });
  closing.push(() => second.service.stop());
  const there = view(second.service.baseUrl, here.at(-1 - MISSED)!);
  await until(() => replays.length > 0);
  await lock.query('rollback');
  expect(replays).toEqual([{ type: 'replay', status: 'ok', frames: MISSED }]);
  await until(() => there.length >= MISSED);
  expect(there.slice(0, MISSED)).toEqual(here.slice(-MISSED));
});
