/** A node that passed packets on and then follows their owner: what it knew of their streams may be old. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import type { SimulatedChannel } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, ownersOf, startNode } from './nodes.ts';

const PARTITIONS = 2;
/** So many that it is certain in practice that each partition has one. */
const PEOPLE = 16;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const startUnixNs = BigInt(Date.now() - 3000) * 1_000_000n;
/** A packet of a second. */
function packetOf(person: number, second: number, channels: readonly SimulatedChannel[]): Uint8Array {
  const bootId = (person + 1).toString(16).padStart(32, '0');
  const source = { deviceId: `patch-${person}`, bootId, subject: `person-${person}`, startUnixNs, packetMs: 1000 };
  const next = createPacketSource(createSimulatedDevice({ seed: person, channels }), source);
  for (let at = 0; at < second; at++) next();
  return encodePacket({ ...next().packet, sentUnixNs: 0n });
}

// promise again: nodes-lose-nothing
test('a node that follows the owner of a stream knows what came to it by other nodes', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const { apiKey } = await createOrganization(database.pool, 'Followed');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-followed-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const settings = { BIO_BUS_DIR: folder };
  const { service: near } = await startNode(database.url, settings);
  closing.push(() => near.stop());
  const env = { DATABASE_URL: database.url, BIO_NODE_NAME: 'owner', BIO_DSP_WORKERS: '1', BIO_DB_CONNECTIONS_MAX: '14', ...settings };
  const owner = new ServiceProcess(await freePort(), { env });
  closing.push(() => owner.kill());
  await until(() => isShared(database, 2), 30_000);
  const send = async (baseUrl: string, packet: Uint8Array): Promise<string> => {
    let said = '';
    await until(async () => {
      const answer = await fetch(`${baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf', accept: 'application/json' },
        body: Buffer.from(packet),
      });
      said = await answer.text();
      return answer.status === 202;
    }, 30_000);
    return said;
  };
  for (let person = 0; person < PEOPLE; person++) await send(near.baseUrl, packetOf(person, 0, ['ecg.ii']));
  const { rows: nodes } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'owner'`);
  const { rows: people } = await database.pool.query<{ id: string; external_id: string }>('select id, external_id from xuser');
  const owners = await ownersOf(database);
  const [theirs, neighbour] = people.filter(({ id }) => owners[partitionOf(id, PARTITIONS)] === nodes[0]!.id);
  const [person, another] = [theirs!, neighbour!].map(({ external_id: name }) => Number(name.split('-')[1]));

  const elsewhere = packetOf(person!, 1, ['ecg.ii', 'ppg.ir']);
  await send(`http://127.0.0.1:${owner.port}`, elsewhere);
  await owner.kill();
  await until(() => isShared(database, 1), 30_000);
  await send(near.baseUrl, packetOf(another!, 1, ['ecg.ii'])); // the partition is open
  expect(JSON.parse(await send(near.baseUrl, elsewhere))).toMatchObject({ accepted: 0, duplicates: 1 });
  await send(near.baseUrl, packetOf(person!, 2, ['ecg.ii', 'temp.skin', 'ppg.ir']));
  const { rows } = await database.pool.query<{ code: string }>(
    `select c.code from stream_channel c join stream s on s.id = c.stream_id where s.xuser_id = $1 order by c.channel_no`,
    [theirs!.id],
  );
  expect(rows.map(({ code }) => code)).toEqual(['ecg.ii', 'ppg.ir', 'temp.skin']);
});
