/** A viewer who comes back after a person has gone from one node to another: the frames that were missed are at several nodes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { assign } from '../../src/cluster/assignment.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, ownersOf, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 3;
const PACKETS = 300;
const PACKET_MS = 200;
/** The next node hears within a look at the cluster that a viewer may come back. */
const FRAMES_MISSED_MAX = 6;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Replay = Readonly<{ type: string; status?: string }>;
type View = Readonly<{ seen: number[]; replays: Replay[]; leave: () => number }>;

// promise: replay-after-move
test.each([
  ['is drained', async (_: Service, drain: () => Promise<unknown>) => void (await drain())],
  ['is stopped', (owner: Service) => owner.stop()],
])(
  'frames that a viewer missed while the node of the person %s are given by whichever node has them',
  async (_, move) => {
    const database = await testDatabase();
    closing.push(() => database.close());
    await database.pool.query('select set_partitions($1)', [PARTITIONS]);
    const { apiKey } = await createOrganization(database.pool, 'Moved');
    const folder = mkdtempSync(join(tmpdir(), 'biosignal-moved-'));
    closing.push(() => rmSync(folder, { recursive: true }));
    const names = ['moved-1', 'moved-2', 'moved-3'];
    const started = await Promise.all(names.map((name) => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: name })));
    closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
    await until(() => isShared(database, 3), 60_000);
    const { rows: nodes } = await database.pool.query<{ id: string; name: string }>('select id, name from cluster_node');
    const nodeOf = (id: string): Service => started[names.indexOf(nodes.find((node) => node.id === id)!.name)]!.service;

    const view = (node: Service, after?: number, inBand = false): View => {
      const seen: number[] = [];
      const replays: Replay[] = [];
      const protocols = ['bio.v1', `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`];
      const query = after === undefined || inBand ? '' : `&after=${after}`;
      const socket = new WebSocket(`${node.baseUrl.replace('http', 'ws')}/ws?subject=person-0${query}`, protocols);
      closing.push(() => socket.close());
      socket.binaryType = 'arraybuffer';
      socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (typeof data !== 'string') return seen.push(decodeFrame(new Uint8Array(data)).seq);
        const said = JSON.parse(data) as Replay;
        if (said.type === 'replay') {
          replays.push(said);
          seen.length = 0; // of frames that came before it was asked for
        }
        if (inBand && said.type === 'ready') socket.send(JSON.stringify({ type: 'replay', after }));
      });
      const leave = (): number => {
        socket.close();
        return seen.at(-1)!;
      };
      return { seen, replays, leave };
    };
    const [packets] = packetsOfPeople(1, PACKETS, PACKET_MS, BigInt(Date.now() - PACKET_MS) * 1_000_000n);
    await sendAll(packets!.slice(0, 1), apiKey.key, () => started.map(({ service }) => service), { first: 0, pauseMs: 0 });
    const { rows } = await database.pool.query<{ id: string }>('select id from xuser');
    const partition = partitionOf(rows[0]!.id, PARTITIONS);
    const owner = (await ownersOf(database))[partition]!;
    const others = nodes.map(({ id }) => id).filter((id) => id !== owner);
    const next = assign(PARTITIONS, others.toSorted())[partition]!;
    const third = others.find((id) => id !== next)!;
    let isOver = false;
    const sending = (async () => {
      for (const [i, body] of packets!.entries()) {
        if (isOver) return;
        const sinceMs = performance.now();
        if (i > 0) await sendAll([body], apiKey.key, () => [nodeOf(third)], { first: 0, pauseMs: 0 });
        await sleep(Math.max(0, PACKET_MS - (performance.now() - sinceMs)));
      }
    })();
    closing.push(() => {
      isOver = true;
      return sending;
    });

    const before = [owner, third].map((id) => view(nodeOf(id)));
    await until(() => before.every(({ seen }) => seen.length > 30), 60_000);
    const left = before.map((one) => one.leave());
    await sleep(500);
    await move(nodeOf(owner), () => database.pool.query('update cluster_node set draining = true where id = $1', [owner]));
    await until(async () => (await ownersOf(database))[partition] === next, 60_000);
    await sleep(3000);
    const back = left.flatMap((after) =>
      [next, third].flatMap((id) => [false, true].map((inBand) => ({ after, ...view(nodeOf(id), after, inBand) }))),
    );
    await until(() => back.every(({ seen, replays }) => replays.length > 0 && seen.length > 60), 60_000);
    expect(back.map(({ replays }) => replays.map(({ status }) => status))).toEqual(back.map(() => ['ok']));
    for (const { after, seen } of back) {
      const steps = [after, ...seen].slice(1).map((seq, i) => seq - [after, ...seen][i]!);
      expect(Math.min(...steps)).toBe(1);
      expect(Math.max(...steps)).toBeLessThanOrEqual(FRAMES_MISSED_MAX);
    }
  },
  180_000,
);
