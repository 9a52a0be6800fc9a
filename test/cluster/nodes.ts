/** Nodes in this process and devices that send to them one packet after the other, for tests of clusters. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { startNats } from '../../faults/lib/nats-server.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import type { Membership, PartitionHost } from '../../src/storage/membership.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

/** @returns packets of one lead, by person */
export function packetsOfPeople(
  people: number,
  packets: number,
  packetMs: number,
  startUnixNs: bigint,
): readonly (readonly Uint8Array[])[] {
  return Array.from({ length: people }, (_, person) => {
    const bootId = (person + 1).toString(16).padStart(32, '0');
    const source = { deviceId: `patch-${person}`, bootId, subject: `person-${person}`, startUnixNs, packetMs };
    const next = createPacketSource(createSimulatedDevice({ seed: person, channels: ['ecg.ii'] }), source);
    return Array.from({ length: packets }, () => encodePacket({ ...next().packet, sentUnixNs: 0n }));
  });
}

let startedCount = 0;

/** @param settings of the bus; none: the node is alone @returns the node, and what it reported as a fault */
export async function startNode(url: string, settings: Readonly<Record<string, string>>): Promise<{ service: Service; faults: string[] }> {
  const faults: string[] = [];
  const quiet = (): void => undefined;
  const told = (fields: object, message: string): void => {
    if (!message.startsWith('database: this node may open')) faults.push(`${message} ${String((fields as { err?: Error }).err?.stack)}`);
  };
  const service = await startService({
    config: readConfig({
      DATABASE_URL: url,
      PORT: '0',
      BIO_REQUESTS_PER_SEC_MAX: '10000',
      BIO_DSP_WORKERS: '1',
      BIO_DB_CONNECTIONS_MAX: '14',
      BIO_NODE_NAME: `node ${++startedCount}`,
      ...settings,
    }),
    logger: { debug: quiet, info: quiet, warn: told, error: told },
  });
  return { service, faults };
}

/** A node without the rest of the service opens what it takes at once.
 *  @param release what it does with a partition that is another's share */
export function begin(node: Membership, release: PartitionHost['release'] = () => Promise.resolve(null)): void {
  const { fence } = node;
  node.begin({
    take: async ({ partitions, epoch }) => {
      fence.take(partitions, epoch);
      for (const partition of partitions) fence.held.open(partition);
      return 0;
    },
    release: async (partition) => {
      fence.held.leave(partition);
      const stored = await release(partition);
      fence.drop(partition);
      return stored;
    },
  });
}

type NatsPair = Readonly<{
  natsPort: number;
  database: TestDatabase;
  /** Of an organization of theirs. */
  key: string;
  started: readonly Awaited<ReturnType<typeof startNode>>[];
}>;

/** Two nodes that share a database over a NATS server of their own.  @param closing gets what ends them, to be called from the last on
 *  @param settingsOf of the first and of the second node, besides those of the bus */
export async function startNatsPair(
  closing: (() => unknown)[],
  partitions: number,
  settingsOf: (node: number) => Readonly<Record<string, string>> = () => ({}),
): Promise<NatsPair> {
  const nats = await startNats();
  closing.push(() => nats.close());
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [partitions]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const settings = { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}`, BIO_CLUSTER: 'ward' };
  const started = await Promise.all([0, 1].map((node) => startNode(database.url, { ...settings, ...settingsOf(node) })));
  closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
  await until(() => isShared(database, 2), 30_000);
  return { natsPort: nats.port, database, key: apiKey.key, started };
}

type ProcessesOptions = Readonly<{ json?: boolean; stderr?: 'pipe' | 'inherit' | 'ignore' }>;

/** `biosignal start --processes COUNT`, with what it needs of a small server of databases.  @param env DATABASE_URL and PORT at least */
export function spawnProcesses(
  count: number,
  env: Readonly<Record<string, string>>,
  { json = false, stderr = 'pipe' }: ProcessesOptions = {},
): ChildProcess {
  const args = ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'start', '--processes', String(count)];
  return spawn(process.execPath, json ? [...args, '--json'] : args, {
    env: { ...process.env, BIO_DB_CONNECTIONS_MAX: '14', BIO_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', stderr],
  });
}

/** Sends packets one after the other, to the next node where one refuses. @returns how often they were refused */
export async function sendAll(
  packets: readonly Uint8Array[],
  key: string,
  nodes: () => readonly Service[],
  options: Readonly<{ first: number; pauseMs: number; onAccepted?: (at: number) => void }>,
): Promise<number> {
  let refused = 0;
  let at = options.first;
  for (const [i, body] of packets.entries()) {
    for (;;) {
      const living = nodes();
      const { baseUrl } = living[at % living.length]!;
      const answer = await fetch(`${baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' },
        body: Buffer.from(body),
      }).catch(() => null);
      const text = (await answer?.text()) ?? '';
      if (answer?.status === 202) break;
      expect([503, 429, undefined], text).toContain(answer?.status);
      refused += 1;
      at += 1;
      await sleep(20);
    }
    options.onAccepted?.(i);
    await sleep(options.pauseMs);
  }
  return refused;
}

/** The owner of each partition. */
export async function ownersOf(database: TestDatabase): Promise<readonly (string | null)[]> {
  const { rows } = await database.pool.query<{ owner: string | null }>('select owner from packet_log_checkpoint order by partition');
  return rows.map(({ owner }) => owner);
}

/** Every partition has an owner, and none has more than its share. */
export async function isShared(database: TestDatabase, nodes: number): Promise<boolean> {
  const owners = await ownersOf(database);
  const counts = new Map<string | null, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts.size === nodes && !counts.has(null) && Math.max(...counts.values()) <= Math.ceil(owners.length / nodes);
}

/** Every packet of every device is stored. */
export async function hasAll(database: TestDatabase, people: number, packets: number): Promise<boolean> {
  const { rows } = await database.pool.query<{ seqs: string }>('select seqs::text from stream');
  return rows.length === people && rows.every(({ seqs }) => seqs === `{[0,${packets})}`);
}
