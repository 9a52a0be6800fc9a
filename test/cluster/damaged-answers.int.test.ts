/** Damaged answers of another node. What an owner says of packets that are passed on to it is checked before a device is told that they are
 *  kept; a scrape is answered without the node. */
import { connect } from '@nats-io/transport-node';
import { afterAll, expect, test } from 'vitest';
import { hasNatsServer } from '../../faults/lib/nats-server.ts';
import { encodeObject } from '../../src/forward/wire.ts';
import { encodeBatch } from '../../src/proto/packet-encode.ts';
import { until } from '../helpers/database.ts';
import { hasAll, packetsOfPeople, startNatsPair } from './nodes.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const refusal = { index: 0, code: 'busy', why: 'it is at its limit' };
const settled = { kept: false, closed: [], why: 'it is at its limit', refused: [refusal], repeats: [], highs: [] };
const damaged: readonly unknown[] = [
  null,
  7,
  [],
  {},
  { ...settled, kept: 'yes' },
  { ...settled, kept: true },
  { ...settled, refused: null },
  { ...settled, refused: [] },
  { ...settled, refused: {} },
  { ...settled, refused: [null] },
  ...[1, -1, 0.5, 1e9, '0', null].map((index) => ({ ...settled, refused: [{ ...refusal, index }] })),
  ...[5, null, ['busy'], {}].map((code) => ({ ...settled, refused: [{ ...refusal, code }] })),
  { ...settled, refused: [{ ...refusal, why: { a: 1 } }] },
  { ...settled, closed: null },
  { ...settled, closed: [{}] },
  ...[null, [null], [{ streamId: 1 }], [{ streamId: 1, seq: '0' }]].map((repeats) => ({ ...settled, kept: true, refused: [], repeats })),
  ...[null, [null], [[1]], [[1, -1]], [[1, 'x']], { length: 1 }].map((highs) => ({ ...settled, kept: true, refused: [], highs })),
];

// promise: damaged-answers
test.runIf(hasNatsServer)(
  'an answer that does not say which packets are kept counts as none: its devices send again, and each packet is stored once',
  async () => {
    const { natsPort, database, key, started } = await startNatsPair(closing, 2);
    const nodes = started.map(({ service }) => service);
    const [packets] = packetsOfPeople(1, damaged.length + 60, 200, BigInt(Date.now() - 60_000) * 1_000_000n);
    const send = async (node: number, packet: number): Promise<{ status: number; text: string }> => {
      const answer = await fetch(`${nodes[node]!.baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' },
        body: Buffer.from(packets![packet]!),
      });
      return { status: answer.status, text: await answer.text() };
    };

    // Who answers first is heard: the owner answers after its commit.
    const liar = await connect({ servers: `127.0.0.1:${natsPort}` });
    closing.push(() => liar.close());
    let lie: unknown = settled;
    let told = 0;
    const lies = liar.subscribe('ward.*.packets', {
      callback: (_, message) => {
        told += 1;
        message.respond(encodeObject(lie));
      },
    });
    await liar.flush();
    let elsewhere = -1;
    let probe = damaged.length + 2; // one that the owner kept is not passed on again
    await until(async () => {
      for (const node of [0, 1]) {
        const before = told;
        await send(node, probe++);
        if (told > before) elsewhere = node;
      }
      return elsewhere !== -1;
    }, 30_000);
    const answers: string[] = [];
    for (const [i, each] of damaged.entries()) {
      lie = each;
      const before = told;
      let [status, text] = [0, ''];
      await until(async () => {
        ({ status, text } = await send(elsewhere, 2 + i)); // the first after a refusal opens the stream again
        return told > before;
      }, 30_000);
      if (status !== 503 || !text.includes('a message of another node is damaged'))
        answers.push(`${JSON.stringify(lie)}: ${status} ${text}`);
    }
    expect(answers).toEqual([]);
    lies.unsubscribe();
    await liar.flush();
    for (const packet of packets!.keys()) await until(async () => (await send(elsewhere, packet)).status === 202, 30_000);
    await until(() => hasAll(database, 1, packets!.length), 30_000);
  },
);

test.runIf(hasNatsServer)(
  'a damaged answer to the opening of a stream refuses the packets of that stream, and no others of the batch',
  async () => {
    const { natsPort, database, key, started } = await startNatsPair(closing, 2);
    const { baseUrl } = started[0]!.service;
    const people = packetsOfPeople(12, 1, 200, BigInt(Date.now() - 60_000) * 1_000_000n);
    const liar = await connect({ servers: `127.0.0.1:${natsPort}` });
    closing.push(() => liar.close());
    const lies = [null, 7, [], {}, { rejected: true, code: 'no such code', detail: '' }, { streamId: 1, subjectId: 'x', epochNs: 0 }];
    let told = 0;
    const open = liar.subscribe('ward.*.open', {
      callback: (_, message) => void message.respond(encodeObject(lies[told++ % lies.length])),
    });
    await liar.flush();
    const post = async (): Promise<{ status: number; text: string }> => {
      const answer = await fetch(`${baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
        body: Buffer.from(encodeBatch(people.map(([packet]) => packet!))),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const { status, text } = await post();
    expect(status, text).toBe(202);
    expect(told).toBeGreaterThan(0);
    const { accepted, rejected } = JSON.parse(text) as { accepted: number; rejected: readonly { code: string; detail: string }[] };
    expect(accepted + rejected.length).toBe(people.length);
    expect(accepted).toBeGreaterThan(0);
    for (const { code } of rejected) expect(code).toBe('unavailable');
    open.unsubscribe();
    await liar.flush();
    await until(async () => (JSON.parse((await post()).text) as { rejected?: readonly unknown[] }).rejected?.length === 0, 30_000);
    await until(() => hasAll(database, people.length, 1), 30_000);
  },
);

test.runIf(hasNatsServer)('a damaged answer to a scrape counts as none: /metrics says the rest, and that a node was silent', async () => {
  const { natsPort, started } = await startNatsPair(closing, 2, (node) => ({ BIO_SHARE_PORT: '1', BIO_NODE_NAME: `ward/${node + 1}` }));
  const { baseUrl } = started[0]!.service;
  const scrape = async (): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${baseUrl}/metrics`);
    return { status: answer.status, text: await answer.text() };
  };
  await until(async () => (await scrape()).text.includes('node="ward/2"'), 30_000);

  const liar = await connect({ servers: `127.0.0.1:${natsPort}` });
  closing.push(() => liar.close());
  const metric = { name: 'bio_beats_total', help: 'Beats.', type: 'counter', aggregator: 'sum', values: [{ labels: {}, value: 1 }] };
  const lies = [
    null,
    7,
    [],
    {},
    { node: 'ward/2' },
    { node: 5, metrics: [metric] },
    { node: 'ward/2', metrics: { length: 1 } },
    ...[null, {}, { ...metric, name: 3 }, { ...metric, help: null }, { ...metric, aggregator: 'toString' }].map((one) => ({
      node: 'ward/2',
      metrics: [one],
    })),
    ...[null, [null], [{ labels: null, value: 1 }], [{ labels: { a: {} }, value: 1 }], [{ labels: {}, value: '1' }]].map((values) => ({
      node: 'ward/2',
      metrics: [{ ...metric, values }],
    })),
  ].map(encodeObject);
  let lie: Buffer = Buffer.alloc(0);
  liar.subscribe('ward.*.metrics', { callback: (_, message) => void message.respond(lie) });
  await liar.flush();
  const answers: string[] = [];
  for (const each of [...lies, Buffer.from('no message'), Buffer.alloc(0)]) {
    lie = each;
    let said = '';
    // Who answers first is heard, which may be the node itself.
    for (let round = 0; round < 10 && said !== 'without it'; round++) {
      const { status, text } = await scrape();
      const isWithout = text.includes('bio_nodes_silent{node="ward/1"} 1\n') && !text.includes('node="ward/2"');
      said = status !== 200 ? text : isWithout ? 'without it' : 'with it';
      if (status !== 200) break;
    }
    if (said !== 'without it') answers.push(`${String(each)}: ${said}`);
  }
  expect(answers).toEqual([]);
});
