/** Packets that reach another node than that of their people: one that is refused begins no recording there either. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { packetOf } from '../helpers/packets.ts';
import type { PacketChanges } from '../helpers/packets.ts';
import { isShared, startNode } from './nodes.ts';

const PEOPLE = 8;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: refused-leaves-nothing
test('a refused packet leaves no recording at the node of its person, and no time to the next packet', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [4]);
  const { apiKey } = await createOrganization(database.pool, 'Refused');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-refused-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const started = await Promise.all([0, 1].map(() => startNode(database.url, { BIO_BUS_DIR: folder })));
  closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
  await until(() => isShared(database, 2), 30_000);

  const send = async (person: number, seq: number, changes: PacketChanges): Promise<number> => {
    const answer = await fetch(`${started[0]!.service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(encodePacket(packetOf(`refused-${person}`, seq, { subject: `refused-${person}`, ...changes }))),
    });
    return answer.status;
  };
  const monthAgoNs = BigInt(Date.now() - 30 * 86_400_000) * 1_000_000n;
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  for (let person = 0; person < PEOPLE; person++) {
    const hourLong = { events: [{ code: 'button', tOffsetNs: 3600e9, text: '' }], t0UnixNs: nowNs, sentUnixNs: nowNs };
    expect(await send(person, 0, { recordedUnixNs: monthAgoNs, events: [{ code: 'A BUTTON', tOffsetNs: 0, text: '' }] })).toBe(422);
    expect(await send(person, 1, hourLong)).toBe(422);
  }
  expect((await database.pool.query('select from stream')).rowCount).toBe(0);
  for (let person = 0; person < PEOPLE; person++) expect(await send(person, 2, {})).toBe(202);
  const { rows } = await database.pool.query<{ source: string; streams: number }>(
    'select time_source as source, count(*)::integer as streams from stream group by time_source',
  );
  expect(rows).toEqual([{ source: 'age', streams: PEOPLE }]);
  const metrics = await (await fetch(`${started[0]!.service.baseUrl}/metrics`)).text();
  expect(Number(/^bio_packets_forwarded_total (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);
});
