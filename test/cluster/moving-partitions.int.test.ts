/** Nodes of one database that come and go while devices send: every partition moves, most of them several times. What was acknowledged is
 *  stored once, and values are those of a node that was alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { derivedRows } from '../helpers/derived-rows.ts';

const PARTITIONS = 6;
const PEOPLE = 8;
const PACKETS = 150;
const busDir = mkdtempSync(join(tmpdir(), 'biosignal-bus-'));
const startUnixNs = BigInt(Date.now() - 600_000) * 1_000_000n;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(busDir, { recursive: true });
});

function packetsOf(person: number): readonly Uint8Array[] {
  const bootId = (person + 1).toString(16).padStart(32, '0');
  const source = { deviceId: `patch-${person}`, bootId, subject: `person-${person}`, startUnixNs, packetMs: 1000 };
  const next = createPacketSource(createSimulatedDevice({ seed: person, channels: ['ecg.ii'] }), source);
  return Array.from({ length: PACKETS }, () => encodePacket({ ...next().packet, sentUnixNs: 0n }));
}
const packets = Array.from({ length: PEOPLE }, (_, person) => packetsOf(person));

/** @param busDir of the nodes; '': it is alone */
async function start(url: string, busDir: string): Promise<Service> {
  const faults: string[] = [];
  const quiet = (): void => undefined;
  const told = (fields: object, message: string): void => void faults.push(`${message} ${String((fields as { err?: Error }).err?.stack)}`);
  const service = await startService({
    config: readConfig({
      DATABASE_URL: url,
      PORT: '0',
      BIO_REQUESTS_PER_SEC_MAX: '10000',
      BIO_DSP_WORKERS: '1',
      BIO_DB_CONNECTIONS_MAX: '14',
      BIO_BUS_DIR: busDir,
    }),
    logger: { debug: quiet, info: quiet, warn: told, error: told },
  });
  closing.push(async () => {
    await service.stop();
    expect(faults.filter((text) => !text.startsWith('database: this node may open'))).toEqual([]);
  });
  return service;
}

/** Sends a person's packets one after the other to the node that takes them. @returns how often they were refused */
async function send(person: number, key: string, nodes: () => readonly Service[], pauseMs: number): Promise<number> {
  let refused = 0;
  let at = person;
  for (const body of packets[person]!) {
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
    await sleep(pauseMs);
  }
  return refused;
}

test('partitions move between nodes that come and go: nothing is lost or doubled, and values are those of one node', async () => {
  const alone = await testDatabase();
  closing.push(() => alone.close());
  const reference = await start(alone.url, '');
  const { apiKey } = await createOrganization(alone.pool, 'Alone');
  await Promise.all(packets.map((_, person) => send(person, apiKey.key, () => [reference], 0)));

  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const org = await createOrganization(database.pool, 'Cluster');
  const owners = async (): Promise<(string | null)[]> =>
    (await database.pool.query<{ owner: string | null }>('select owner from packet_log_checkpoint order by partition')).rows.map(
      ({ owner }) => owner,
    );
  const evenly = (nodes: number) => async (): Promise<boolean> => {
    const found = await owners();
    const counts = new Map<string | null, number>();
    for (const owner of found) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    return counts.size === nodes && !counts.has(null) && Math.max(...counts.values()) <= Math.ceil(PARTITIONS / nodes);
  };
  const living = [await start(database.url, busDir)];
  await until(evenly(1));
  const sending = Promise.all(packets.map((_, person) => send(person, org.apiKey.key, () => living, 120)));
  for (let round = 0; round < 3; round++) {
    living.push(await start(database.url, busDir));
    await until(evenly(2), 30_000);
    const [former] = living.splice(0, 1);
    await former!.stop();
    await until(evenly(1), 30_000);
  }
  const refused = await sending;
  console.log(refused);
  expect(living[0]!.pipeline.parts().every(({ ok }) => ok)).toBe(true);

  await until(async () => {
    const { rows } = await database.pool.query<{ seqs: string }>('select seqs::text from stream');
    return rows.length === PEOPLE && rows.every(({ seqs }) => seqs === `{[0,${PACKETS})}`);
  });
  await Promise.all([living[0]!.stop(), reference.stop()]);
  for (const person of packets.keys()) {
    const expected = await derivedRows(alone, `patch-${person}`);
    expect(expected.length).toBeGreaterThan(100);
    expect(await derivedRows(database, `patch-${person}`)).toEqual(expected);
  }
  const samples = 'select sum(n)::int as n from sample_block';
  expect((await database.pool.query(samples)).rows).toEqual((await alone.pool.query(samples)).rows);
}, 180_000);
