/** A rolling upgrade: this release next to a node of one that knows less. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { NatsBus } from '../../src/bus/nats-bus.ts';
import { SocketBus } from '../../src/bus/socket-bus.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { RemoteFeeds } from '../../src/forward/remote-feeds.ts';
import { Hub } from '../../src/live/hub.ts';
import type { ChannelNo, StreamId, SubjectId } from '../../src/signal.ts';
import { Membership } from '../../src/storage/membership.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { begin, isShared, ownersOf, startNode } from './nodes.ts';

const PARTITIONS = 2;
/** A node that does not answer counts as not reached after ten seconds, and is asked every three. */
const WATCHED_MS = 16_000;
const PUSH_MS = 200;
const channels = [{ code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 1, baseline: 0, unit: 'mV', lead: '' }] as const;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

type Settings = Readonly<Record<string, string>>;

const transports: readonly [string, boolean, () => Promise<readonly [Settings, (node: string) => Promise<Bus>]>][] = [
  [
    'Unix sockets',
    true,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'biosignal-former-'));
      closing.push(() => rmSync(folder, { recursive: true }));
      return [{ BIO_BUS_DIR: folder }, (node) => SocketBus.open(folder, node)];
    },
  ],
  [
    'NATS',
    hasNatsServer,
    async () => {
      const nats = await startNats();
      closing.push(() => nats.close());
      const url = `nats://127.0.0.1:${nats.port}`;
      const cluster = 'former';
      return [{ BIO_NATS_URL: url, BIO_CLUSTER: cluster }, (node) => NatsBus.open({ url, ca: '', cluster, mayBePlain: false }, node)];
    },
  ],
];

/** A node as it was before nodes asked one another whether they are there: it owns partitions, and sends the frames of its people. */
async function startFormer(database: TestDatabase, open: (node: string) => Promise<Bus>): Promise<{ node: Membership; hub: Hub }> {
  const id = randomUUID();
  const bus = await open(id);
  closing.push(() => bus.close());
  const node = await Membership.join(database, { instance: { id, name: 'former' } });
  closing.push(() => node.release());
  const hub = new Hub({ frameDeadlineMs: 250, viewerQueueBytesMax: 1 << 20, viewerSlowSecMax: 5 }, () => undefined);
  const feeds = new RemoteFeeds(bus, node, hub, { reaches: () => true });
  closing.push(() => feeds.stop());
  begin(node);
  return { node, hub };
}

async function personOf(node: Membership, baseUrl: string, key: string, projectKey: string): Promise<SubjectId> {
  for (;;) {
    const made = await fetch(`${baseUrl}/api/v1/sdk/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ external_id: randomUUID(), project_key: projectKey }),
    });
    const { xuser_id: id } = (await made.json()) as { xuser_id: SubjectId };
    if (node.fence.held.modeOf(partitionOf(id, PARTITIONS)) === 'open') return id;
  }
}

describe.each(transports)('over %s', (_, runs, transport) => {
  // promise: former-is-reached
  test.runIf(runs)(
    'a viewer at a node of this release keeps seeing the frames of a former one, which does not know the question',
    async () => {
      const database = await testDatabase();
      closing.push(() => database.close());
      await database.pool.query('select set_partitions($1)', [PARTITIONS]);
      const { apiKey, projectKey } = await createOrganization(database.pool, 'Former');
      const [settings, open] = await transport();
      const former = await startFormer(database, open);
      const { service, faults } = await startNode(database.url, settings);
      closing.push(() => service.stop());
      await until(() => isShared(database, 2), 60_000);
      expect(await ownersOf(database)).toContain(former.node.self);
      const subjectId = await personOf(former.node, service.baseUrl, apiKey.key, projectKey);

      const stream = { streamId: 1 as StreamId, epochNs: BigInt(Date.now()) * 1_000_000n, channels, subjectId };
      let pushed = 0;
      const pushing = setInterval(() => {
        const samples = new Int32Array((250 * PUSH_MS) / 1000);
        former.hub.push(stream, [{ channelNo: 0 as ChannelNo, k0: samples.length * pushed++, samples, qmask: null }]);
        former.hub.tick(performance.now());
      }, PUSH_MS);
      closing.push(() => clearInterval(pushing));
      const protocols = ['bio.v1', `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`];
      const socket = new WebSocket(`${service.baseUrl.replace('http', 'ws')}/ws?subject=${subjectId}`, protocols);
      closing.push(() => socket.close());
      let frameMs = -Infinity;
      const closed: number[] = [];
      socket.addEventListener('message', ({ data }) => {
        if (typeof data !== 'string') frameMs = performance.now();
      });
      socket.addEventListener('close', ({ code }) => closed.push(code));
      await until(() => frameMs > 0);
      await sleep(WATCHED_MS);
      expect(closed).toEqual([]);
      expect(performance.now() - frameMs).toBeLessThan(2000);
      expect(faults).toEqual([]);
      const { parts } = (await (await fetch(`${service.baseUrl}/readyz`)).json()) as { parts: { name: string; detail: string }[] };
      expect(parts.find(({ name }) => name === 'bus')?.detail).toBe('open, to 1 other node');
    },
  );
});
