/** The whole service on a database of four partitions: rows of the log are of one partition each, a start after a kill reads all of them,
 *  and a service that loses one partition stops writing. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { readConfig } from '../../src/config.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { LOG_FORM, readBatch } from '../../src/storage/log-batch.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const PARTITIONS = 4;
const PEOPLE = 12;
let database: TestDatabase;
let org: NewOrganization;
let child: ChildProcess | null = null;
let service: Service | null = null;

beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  org = await createOrganization(database.pool, 'Partitioned');
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await service?.stop();
  await database.close();
});

const startUnixNs = BigInt(Date.now() - 60_000) * 1_000_000n;
/** Packets of a person, from one second to another. */
function packetsOf(person: number, from: number, to: number): Uint8Array {
  const bootId = person.toString(16).padStart(32, '0');
  const source = { deviceId: `patch-${person}`, bootId, subject: `person-${person}`, startUnixNs, packetMs: 1000 };
  const next = createPacketSource(createSimulatedDevice({ seed: person, channels: ['ecg.ii'] }), source);
  const packets = Array.from({ length: to }, () => encodePacket({ ...next().packet, sentUnixNs: 0n }));
  return encodeBatch(packets.slice(from));
}

type Reply = Readonly<{ accepted: number; duplicates: number }>;
const post = (baseUrl: string, body: Uint8Array): Promise<Response> =>
  fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: Buffer.from(body),
  });

/** All people at once, so that a group commit has packets of several partitions. */
async function sendAll(baseUrl: string, from: number, to: number): Promise<Reply[]> {
  const bodies = Array.from({ length: PEOPLE }, (_, person) => packetsOf(person, from, to));
  return await Promise.all(
    bodies.map(async (body) => {
      const answer = await post(baseUrl, body);
      expect(answer.status).toBe(202);
      return (await answer.json()) as Reply;
    }),
  );
}

const count = async (sql: string): Promise<number> => (await database.pool.query<{ n: number }>(sql)).rows[0]!.n;

/** Streams whose packets are in each partition of the log. */
async function streamsOfPartitions(): Promise<Map<number, Set<number>>> {
  const { rows } = await database.pool.query<{ partition: number; data: Buffer }>(
    `select partition, string_agg(data, '' order by part) as data from packet_log group by batch_id, partition`,
  );
  const found = new Map<number, Set<number>>();
  for (const { partition, data } of rows) {
    const streams = found.get(partition) ?? new Set();
    for await (const read of readBatch(data, () => true)) if ('entry' in read) streams.add(read.entry.streamId);
    found.set(partition, streams);
  }
  return found;
}

test('a database of four partitions: what is acknowledged outlives a kill, and a partition that was lost ends the service', async () => {
  child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [baseUrl] = (await once(createInterface(child.stdout!), 'line')) as [string];
  await sendAll(baseUrl, 0, 10);
  await until(async () => (await count('select count(*)::int as n from packet_log_checkpoint where batch_id > 0')) === PARTITIONS);
  await sendAll(baseUrl, 10, 20);
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
  child = null;

  const { rows: streams } = await database.pool.query<{ id: number; xuser_id: string }>('select id, xuser_id from stream');
  expect(streams).toHaveLength(PEOPLE);
  const expected = new Map<number, Set<number>>();
  for (const { id, xuser_id } of streams) {
    const partition = partitionOf(xuser_id, PARTITIONS);
    expected.set(partition, (expected.get(partition) ?? new Set()).add(id));
  }
  expect(expected.size).toBeGreaterThan(1);
  expect(await streamsOfPartitions()).toEqual(expected);
  // A group commit has packets of several of them.
  expect(
    await count('select count(*)::int as n from (select from packet_log group by batch_id having count(distinct partition) > 1) b'),
  ).toBeGreaterThan(0);
  expect(await count('select sum(packet_count)::int as n from packet_log')).toBe(PEOPLE * 20);

  const quiet = (): void => undefined;
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0' }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  const again = await sendAll(service.baseUrl, 0, 20);
  expect(again.map(({ accepted, duplicates }) => ({ accepted, duplicates }))).toEqual(
    Array.from({ length: PEOPLE }, () => ({ accepted: 0, duplicates: 20 })),
  );
  await sendAll(service.baseUrl, 20, 25);

  await database.pool.query(
    `select from claim_partitions(gen_random_uuid(), 'another', '{2}', array(select epoch from packet_log_checkpoint where partition = 2), $1)`,
    [LOG_FORM],
  );
  const before = await count('select sum(packet_count)::int as n from packet_log');
  expect(before).toBe(PEOPLE * 25);
  await until(async () => (await post(service!.baseUrl, packetsOf(0, 25, 26))).status === 503);
  const { body } = { body: (await (await fetch(`${service.baseUrl}/readyz`)).json()) as { parts: { name: string; detail: string }[] } };
  expect(body.parts.find(({ name }) => name === 'packet_log')?.detail).toContain('lost: another instance has taken over');
  // Nothing is written, of no partition: the batch before the refusal, if any, was acknowledged as before.
  expect(await count('select sum(packet_count)::int as n from packet_log')).toBe(before);
});
