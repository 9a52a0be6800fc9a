/** Nodes that share a database and talk under different names, as after a slip in the settings of one. */
import { afterAll, expect, test } from 'vitest';
import { hasNatsServer } from '../../faults/lib/nats-server.ts';
import { until } from '../helpers/database.ts';
import { isShared, ownersOf, startNatsPair, startNode } from './nodes.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: cluster-named
test.runIf(hasNatsServer)(
  'a node whose BIO_CLUSTER is not that of the others does not start, says both names, and takes nothing',
  async () => {
    const { database, natsPort, started } = await startNatsPair(closing, 4);
    const before = await ownersOf(database);
    const settings = { BIO_NATS_URL: `nats://127.0.0.1:${natsPort}`, BIO_CLUSTER: 'word' };
    const start = async (): Promise<void> => {
      const { service } = await startNode(database.url, settings);
      closing.push(() => service.stop());
      await until(() => isShared(database, 3), 30_000); // it should not have
    };
    await expect(start()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^this node is of the cluster 'word', and node \d+, which shares its database, of 'ward': they would not reach each other\. Set BIO_CLUSTER to the same on every node, or stop the others first$/,
      ) as string,
    });
    expect(await ownersOf(database)).toEqual(before);
    expect((await database.pool.query('select from cluster_node')).rowCount).toBe(2);
    expect(started.flatMap(({ faults }) => faults)).toEqual([]);

    // The name is theirs as long as they live.
    for (const { service } of started) await service.stop();
    const { service } = await startNode(database.url, settings);
    closing.push(() => service.stop());
    await until(() => isShared(database, 1), 30_000);
  },
);
