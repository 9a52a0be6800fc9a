/** A viewer who comes back while a person's partition is on its way from one node to another. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { assign } from '../../src/cluster/assignment.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, ownersOf, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 3;
const PACKETS = 15;
const PACKET_MS = 200;
/** What is missed while the viewer is away, frames of 100 ms. */
const MISSED = 10;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

type Said = Readonly<{ type: string; status?: string; frames?: number }>;

// promise: replay-between-owners
test('is given what was missed as soon as the next node has the person, and not told that nothing is kept', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const { apiKey } = await createOrganization(database.pool, 'Between');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-between-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const names = ['between-1', 'between-2', 'between-3'];
  const started = await Promise.all(names.map((name) => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: name })));
  closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
  await until(() => isShared(database, 3), 60_000);
  const { rows: nodes } = await database.pool.query<{ id: string; name: string }>('select id, name from cluster_node');
  const nodeOf = (id: string): Service => started[names.indexOf(nodes.find((node) => node.id === id)!.name)]!.service;

  const view = (node: Service, after: number | null, inBand: boolean): { seen: number[]; said: Said[] } => {
    const seen: number[] = [];
    const said: Said[] = [];
    const protocols = ['bio.v1', `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`];
    const query = after === null || inBand ? '' : `&after=${after}`;
    const socket = new WebSocket(`${node.baseUrl.replace('http', 'ws')}/ws?subject=person-0${query}`, protocols);
    closing.push(() => socket.close());
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') return seen.push(decodeFrame(new Uint8Array(data)).seq);
      const message = JSON.parse(data) as Said;
      said.push(message);
      if (inBand && message.type === 'ready') socket.send(JSON.stringify({ type: 'replay', after }));
    });
    return { seen, said };
  };
  const [packets] = packetsOfPeople(1, PACKETS, PACKET_MS, BigInt(Date.now() - PACKET_MS) * 1_000_000n);
  const all = started.map(({ service }) => service);
  await sendAll(packets!.slice(0, 1), apiKey.key, () => all, { first: 0, pauseMs: 0 });
  const { rows } = await database.pool.query<{ id: string }>('select id from xuser');
  const partition = partitionOf(rows[0]!.id, PARTITIONS);
  const owner = (await ownersOf(database))[partition]!;
  const others = nodes.map(({ id }) => id).filter((id) => id !== owner);
  const nextOwner = assign(PARTITIONS, others.toSorted())[partition]!;
  const third = others.find((id) => id !== nextOwner)!;

  const watching = view(nodeOf(nextOwner), null, false); // so the next owner has the frames, too
  await until(() => watching.said.length > 0);
  await sleep(500);
  await sendAll(packets!.slice(1), apiKey.key, () => [nodeOf(owner)], { first: 0, pauseMs: PACKET_MS });
  await until(() => watching.seen.length > 2 * MISSED);

  const lock = await database.connect();
  closing.push(() => lock.end());
  await lock.query('begin; select from cluster_setting for update'); // nobody can claim anything
  await database.pool.query('update cluster_node set draining = true where id = $1', [owner]);
  const { metrics } = nodeOf(third);
  const withoutOwner = async (): Promise<string> => await metrics.registry.getSingleMetricAsString('bio_partitions_without_owner');
  await until(async () => (await ownersOf(database))[partition] === null && / [1-9]$/m.test(await withoutOwner()), 30_000);
  const after = watching.seen.at(-1 - MISSED)!;
  const back = [view(nodeOf(third), after, false), view(nodeOf(third), after, true)];
  await until(() => back.every(({ said }) => said.some(({ type }) => type === 'ready')));
  await sleep(500);
  await lock.query('rollback');
  const replaysOf = ({ said }: { said: readonly Said[] }): readonly Said[] => said.filter(({ type }) => type === 'replay');
  await until(() => back.every((one) => replaysOf(one).length > 0), 30_000);
  for (const one of back) expect(replaysOf(one)).toEqual([{ type: 'replay', status: 'ok', frames: MISSED }]);
  await until(() => back.every(({ seen }) => seen.length >= MISSED));
  for (const { seen } of back) expect(seen.slice(0, MISSED)).toEqual(watching.seen.slice(-MISSED));
});
