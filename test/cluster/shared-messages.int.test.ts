/** Packets of several organizations that one node passes on in one message: what the owner refuses is refused to its device alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 4;
const PEOPLE = 12;
const ROUNDS = 15;
const PACKET_MS = 200;
const startUnixNs = BigInt(Date.now() - 60_000) * 1_000_000n;

/** @param seed of the signal: the same device with another seed sends other samples under the same numbers */
function packetsOf(person: number, seed: number): readonly Uint8Array[] {
  const bootId = (person + 1).toString(16).padStart(32, '0');
  const source = { deviceId: `patch-${person}`, bootId, subject: `person-${person}`, startUnixNs, packetMs: PACKET_MS };
  const next = createPacketSource(createSimulatedDevice({ seed, channels: ['ecg.ii'] }), source);
  return Array.from({ length: ROUNDS + 1 }, () => encodePacket({ ...next().packet, sentUnixNs: 0n }));
}

async function post({ baseUrl }: Service, key: string, body: Uint8Array, type = 'application/x-protobuf') {
  const answer = await fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body: Buffer.from(body),
  });
  const text = await answer.text();
  return { status: answer.status, code: (JSON.parse(text) as { code?: string }).code ?? '', text };
}

// promise: message-neighbours
test('a device that sends two packets of one number, to two nodes, holds up no device of another organization', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const hostile = await createOrganization(database.pool, 'Hostile');
  const honest = await createOrganization(database.pool, 'Honest');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-shared-'));
  const started = await Promise.all(['owner', 'edge'].map((name) => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: name })));
  const [owner, edge] = started.map(({ service }) => service) as [Service, Service];
  try {
    await until(() => isShared(database, 2), 30_000);
    const people = Array.from({ length: PEOPLE }, (_, person) => person);
    for (const { apiKey } of [hostile, honest])
      await Promise.all(
        people.map((person) => sendAll(packetsOf(person, person).slice(0, 1), apiKey.key, () => [edge], { first: 0, pauseMs: 0 })),
      );
    const { rows: owned } = await database.pool.query<{ partition: number }>(
      `select partition from packet_log_checkpoint where owner_name = 'owner'`,
    );
    const ofOwner = async ({ projectId }: typeof hostile): Promise<readonly number[]> => {
      const { rows } = await database.pool.query<{ id: string; name: string }>(
        'select id, external_id as name from xuser where project_id = $1 order by external_id',
        [projectId],
      );
      const isOwned = (id: string): boolean => owned.some(({ partition }) => partition === partitionOf(id, PARTITIONS));
      return rows.filter(({ id }) => isOwned(id)).map(({ name }) => Number(name.replace('person-', '')));
    };
    const [bad] = await ofOwner(hostile);
    const [good, better, best] = await ofOwner(honest);
    const [sent, other] = [packetsOf(bad!, bad!), packetsOf(bad!, 1000)];
    const socket = new WebSocket(`${edge.baseUrl.replace('http', 'ws')}/ingest/stream`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(honest.apiKey.key).toString('base64url')}`,
    ]);
    const closes: number[] = [];
    socket.addEventListener('close', ({ code }) => closes.push(code));
    await new Promise((open) => socket.addEventListener('open', open));

    const answers: string[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      await until(async () => (await post(owner, hostile.apiKey.key, sent[round]!)).status === 202);
      socket.send(Buffer.from(packetsOf(best!, best!)[round]!));
      const conflicting = post(edge, hostile.apiKey.key, other[round]!);
      const proper = [
        post(edge, honest.apiKey.key, packetsOf(good!, good!)[round]!),
        post(edge, honest.apiKey.key, encodeBatch([packetsOf(better!, better!)[round]!]), 'application/x-protobuf; encoding=delimited'),
      ];
      for (const each of proper) {
        const { status, text } = await each;
        answers.push(status === 202 ? '202' : text);
      }
      let told = await conflicting;
      for (let tries = 0; told.code === 'unavailable' || told.code === 'busy'; tries++) {
        expect(tries, told.text).toBeLessThan(100);
        await sleep(20);
        told = await post(edge, hostile.apiKey.key, other[round]!);
      }
      expect(told.code).toBe('packet_conflict');
    }
    expect(answers.filter((answer) => answer !== '202')).toEqual([]);
    await until(async () => {
      const { rows } = await database.pool.query<{ seqs: string }>(
        `select s.seqs::text from stream s join xuser x on x.id = s.xuser_id
         where (x.project_id, x.external_id) in (($1, $3), ($2, $4), ($2, $5), ($2, $6))`,
        [hostile.projectId, honest.projectId, ...[bad, good, better, best].map((person) => `person-${person}`)],
      );
      return rows.length === 4 && rows.every(({ seqs }) => seqs === `{[0,${ROUNDS + 1})}`);
    }, 30_000);
    expect(closes).toEqual([]);
    socket.close();
  } finally {
    await Promise.all([owner.stop(), edge.stop()]);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
