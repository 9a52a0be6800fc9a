/** Two organizations with the same names of people and devices, at two nodes: what is asked or changed at one node holds at the other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PEOPLE = 4;
/** More than a minute of them is not sent, so that most samples are still with the owner when they are asked for. */
const PACKETS = 20;
const PACKET_MS = 200;
const FS = 250;

type Organization = Awaited<ReturnType<typeof createOrganization>>;
type Answer = Readonly<{ status: number; body: unknown; incomplete?: string | null }>;
type Stream = Readonly<{ id: string; is_flowing: boolean }>;

let database: TestDatabase;
let nodes: readonly Service[] = [];
let [first, second]: (Organization | null)[] = [null, null];
const packets = packetsOfPeople(PEOPLE, 3 * PACKETS, PACKET_MS, BigInt(Date.now() - PACKETS * PACKET_MS) * 1_000_000n);
const folder = mkdtempSync(join(tmpdir(), 'biosignal-any-'));
beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [4]);
  first = await createOrganization(database.pool, 'First');
  second = await createOrganization(database.pool, 'Second');
  const started = await Promise.all([0, 1].map(() => startNode(database.url, { BIO_BUS_DIR: folder })));
  nodes = started.map(({ service }) => service);
  await until(() => isShared(database, 2), 30_000);
  // Half of each recording through one node, half through the other: one of the halves is passed on.
  const sent = [first, second].flatMap(({ apiKey }) =>
    packets.map(async (each) => {
      for (const half of [0, 1])
        await sendAll(each.slice((half * PACKETS) / 2, ((half + 1) * PACKETS) / 2), apiKey.key, () => nodes, { first: half, pauseMs: 20 });
    }),
  );
  await Promise.all(sent);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function ask({ baseUrl }: Service, organization: Organization, method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${organization.apiKey.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json().catch(() => null), incomplete: answer.headers.get('bio-incomplete') };
}

/** Of every person, one after the other. */
async function streamsAt(node: Service, organization: Organization): Promise<readonly Stream[]> {
  const lists: Stream[] = [];
  for (let person = 0; person < PEOPLE; person++)
    lists.push(...((await ask(node, organization, 'GET', `/api/v1/streams?subject_id=person-${person}`)).body as Stream[]));
  return lists;
}

async function send({ baseUrl }: Service, organization: Organization, packet: Uint8Array): Promise<Answer> {
  const answer = await fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${organization.apiKey.key}`, 'content-type': 'application/x-protobuf' },
    body: Buffer.from(packet),
  });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

const personOf = async (organization: Organization, person: number): Promise<string> => {
  const { rows } = await database.pool.query<{ id: string }>('select id from xuser where project_id = $1 and external_id = $2', [
    organization.projectId,
    `person-${person}`,
  ]);
  return rows[0]!.id;
};

it('every node says that a device sends, and has its newest samples, of its own organization only', async () => {
  const texts = await Promise.all(nodes.map(async ({ metrics }) => await metrics.registry.metrics()));
  const forwarded = texts.map((text) => Number(/^bio_packets_forwarded_total (\d+)/m.exec(text)?.[1]));
  expect(forwarded[0]! + forwarded[1]!, 'how many hangs on who was sent again').toBeGreaterThan(0);
  const lists = [first!, second!].map(async (organization) => {
    let [here, there]: (readonly Stream[])[] = [];
    // The owner knows at once, another node when the time of the newest packet has been saved.
    await until(async () => {
      [here, there] = await Promise.all(nodes.map((node) => streamsAt(node, organization)));
      return [...here!, ...there!].every(({ is_flowing }) => is_flowing);
    });
    expect(here!.map(({ id }) => id)).toEqual(there!.map(({ id }) => id));
    expect(here!.length).toBe(PEOPLE);
    return here!;
  });
  const [ofFirst, ofSecond] = await Promise.all(lists);
  const range = `since=${new Date(Date.now() - 3_600_000).toISOString()}&until=${new Date(Date.now() + 60_000).toISOString()}`;
  for (const node of nodes) {
    for (const { id } of ofFirst!) {
      const { status, body, incomplete } = await ask(node, first!, 'GET', `/api/v1/streams/${id}/samples?${range}&raw=true`);
      expect([status, incomplete]).toEqual([200, null]);
      const count = (body as { samples: number[] }[]).reduce((sum, { samples }) => sum + samples.length, 0);
      expect(count).toBe((PACKETS * PACKET_MS * FS) / 1000);
      expect((await ask(node, second!, 'GET', `/api/v1/streams/${id}/samples?${range}`)).status).toBe(404);
    }
  }
  expect(ofSecond!.some(({ id }) => ofFirst!.some((stream) => stream.id === id))).toBe(false);
});

it('consent that is withdrawn at one node ends the recording at every node, of that organization', async () => {
  const person = await personOf(first!, 0);
  const settings = { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: ['recording'] };
  const say = (node: Service, granted: boolean): Promise<Answer> =>
    ask(node, first!, 'POST', `/api/v1/xusers/${person}/consents`, { purpose: 'recording', granted, document: 'v1' });
  expect((await say(nodes[0]!, true)).status).toBe(201);
  expect((await ask(nodes[1]!, first!, 'PUT', `/api/v1/projects/${first!.projectId}/settings`, settings)).status).toBe(200);
  let next = PACKETS;
  for (const node of nodes) await until(async () => (await send(node, first!, packets[0]![next]!)).status === 202 && ++next > 0);
  expect((await say(nodes[0]!, false)).status).toBe(201);
  for (const node of nodes)
    await until(async () => ((await send(node, first!, packets[0]![next++]!)).body as { code?: string }).code === 'consent_missing');
  for (const node of nodes) expect((await send(node, second!, packets[0]![PACKETS]!)).status).toBe(202);
});

it('a person who is erased at one node while their device sends to both leaves nothing, and the namesake stays', async () => {
  const [person, namesake] = [await personOf(second!, 1), await personOf(first!, 1)];
  const { rows } = await database.pool.query<{ id: number }>('select id from stream where xuser_id = $1', [person]);
  const streams = rows.map(({ id }) => id);
  let isErased = false;
  const sending = nodes.map(async (node, i) => {
    for (let at = PACKETS + i; !isErased && at < 3 * PACKETS; at += 2) await send(node, second!, packets[1]![at]!);
  });
  const erase = (node: Service): Promise<Answer> =>
    ask(node, second!, 'POST', `/api/v1/xusers/${person}/erase`, { confirm_external_id: 'person-1' });
  await until(async () => (await erase(nodes[0]!)).status === 200, 30_000);
  isErased = true;
  await Promise.all(sending);
  // What other people sent since then is in the tables: so would be what was on its way when the person was erased.
  await until(async () => (await database.pool.query('select from sample_block b join stream s on s.id = b.stream_id')).rowCount! > 0);
  const left = await database.pool.query('select from sample_block where stream_id = any($1)', [streams]);
  expect(left.rowCount).toBe(0);
  for (const node of nodes) {
    expect((await ask(node, second!, 'GET', `/api/v1/xusers/${person}`)).status).toBe(404);
    expect((await ask(node, first!, 'GET', `/api/v1/xusers/${namesake}`)).status).toBe(200);
  }
});
