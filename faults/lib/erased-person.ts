/** A person who is recorded only to be erased while their device sends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import type { World } from './world.ts';

const PACKET_MS = 200;
/** Sent before the erasure, and the time in which it has to be possible, ms. */
const PACKETS_BEFORE = 25;
const ERASE_MS_MAX = 60_000;
/** Rows that were on their way have arrived after this, ms. */
const SETTLED_MS = 4000;

/** @throws Error when a row of theirs is left */
export async function eraseWhileSending(world: World, subject: string): Promise<void> {
  const url = `http://127.0.0.1:${world.front!.port}`;
  const ask = (method: string, path: string, body: object | Uint8Array, type: string): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${world.credential}`, 'content-type': type },
      body: body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
    });
  const startUnixNs = BigInt(Date.now()) * 1_000_000n;
  const bootId = Buffer.from(subject.padEnd(16, '.').slice(-16)).toString('hex');
  const source = { deviceId: `of-${subject}`, bootId, subject, startUnixNs, packetMs: PACKET_MS };
  const next = createPacketSource(createSimulatedDevice({ seed: 7, channels: ['ecg.ii'] }), source);
  let isErased = false;
  const sendNext = async (): Promise<void> => {
    const bytes = encodePacket(next().packet);
    for (;;) {
      const answer = await ask('POST', '/ingest/raw-packet', bytes, 'application/x-protobuf').catch(() => null);
      await answer?.arrayBuffer().catch(() => undefined);
      if (answer?.status === 202 || isErased) return;
      await sleep(50);
    }
  };
  for (let i = 0; i < PACKETS_BEFORE; i++) await sendNext();
  const person = await world.sql<{ id: string; streams: number[] }>(
    `select x.id, array_agg(s.id) as streams from xuser x join stream s on s.xuser_id = x.id where x.external_id = $1 group by x.id`,
    [subject],
  );
  const { id, streams } = person[0]!;
  const sending = (async () => {
    while (!isErased) await sendNext();
  })();
  let isTried = false;
  for (const deadline = performance.now() + ERASE_MS_MAX; ; await sleep(200)) {
    const answer = await ask('POST', `/api/v1/xusers/${id}/erase`, { confirm_external_id: subject }, 'application/json').catch(() => null);
    const said = (await answer?.text().catch(() => '')) ?? '';
    if (answer?.status === 200) break;
    if (answer?.status === 404 && isTried) break; // done by a try whose answer was lost, with its node or the balancer's connection
    isTried = true;
    if (performance.now() > deadline) throw new Error(`a person cannot be erased: ${answer?.status} ${said}`);
  }
  isErased = true;
  await sending;
  await sleep(SETTLED_MS);
  for (const table of ['sample_block', 'feature', 'beat']) {
    const [left] = await world.sql<{ count: number }>(`select count(*)::int from ${table} where stream_id = any($1)`, [streams]);
    if (left!.count > 0) throw new Error(`${left!.count} rows of ${table} are left of a person who was erased`);
  }
}
