/** A batch of packets of many devices that the service does not know yet, on the whole service. */
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { delimited } from '../helpers/raw-device.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

type Reply = { accepted: number; duplicates: number; rejected: { index: number; code: string }[]; high_seq: number };

/** One packet after the other of each device, `count` packets each; devices alternate. */
function packetsOf(name: string, devices: number, count: number): Uint8Array[] {
  const startNs = BigInt(Date.now() - count * 100 - 5000) * 1_000_000n;
  const each = Array.from({ length: devices }, (_, i) =>
    ecgPacket({ channels: 1, fs: 250, ms: 100, count, deviceId: `${name}-${i}` }).map((packet) =>
      encodePacket({ ...packet, t0UnixNs: startNs + packet.t0DeviceNs }),
    ),
  );
  return Array.from({ length: count }, (_, seq) => each.map((packets) => packets[seq]!)).flat();
}
const post = (packets: readonly Uint8Array[]) =>
  running.send<Reply>('POST', '/ingest/raw-packet', { body: encodeBatch([...packets]), headers: delimited });
const streams = async (name: string): Promise<number> => {
  const { rows } = await running.database.pool.query<{ n: number }>(
    `select count(*)::int as n from stream s join device d on d.id = s.device_id where d.external_id like $1`,
    [`${name}-%`],
  );
  return rows[0]!.n;
};

test('a batch of many new devices is taken as fast as one of a few, in order, and each refusal has its place', async () => {
  await post(packetsOf('warm', 2, 1));
  const packets = packetsOf('ward', 300, 2);
  const unreadable = Uint8Array.of(1, 2, 3);
  const startedMs = performance.now();
  const { status, body: json } = await post([...packets.slice(0, 290), unreadable, ...packets.slice(290), packets[0]!]);
  const tookMs = performance.now() - startedMs;
  expect(status).toBe(202);
  expect(json).toMatchObject({ accepted: 600, duplicates: 1, high_seq: 1 });
  expect(json.rejected.map(({ index, code }) => ({ index, code }))).toEqual([{ index: 290, code: 'packet_malformed' }]);
  expect(await streams('ward')).toBe(300);
  expect(tookMs).toBeLessThan(4000 * Math.max(1, loadavg()[0]! / availableParallelism()));
  expect((await post(packets)).body).toMatchObject({ accepted: 0, duplicates: 600, rejected: [] });
});

test('a refusal is of the packets that deserve it, not of the others of its stream or its batch', async () => {
  const [late, good, other] = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 3, deviceId: 'mixed' }).map((packet) => ({
    ...packet,
    t0UnixNs: BigInt(Date.now() - 5000) * 1_000_000n + packet.t0DeviceNs,
  }));
  const nobody = ecgPacket({ channels: 1, fs: 250, ms: 100, count: 2, deviceId: 'of-nobody' });
  const { body } = await post(
    [
      { ...late!, t0DeviceNs: 2n ** 62n },
      ...nobody.map((packet) => ({ ...packet, subject: '00000000-0000-4000-8000-000000000000' })),
      good!,
      other!,
      nobody[0]!,
    ].map((packet) => encodePacket(packet)),
  );
  expect(body.rejected.map(({ index, code }) => `${index} ${code}`)).toEqual(['0 packet_invalid', '1 not_found', '2 not_found']);
  expect(body).toMatchObject({ accepted: 3, duplicates: 0 });
});

test('a batch whose client goes away opens no more streams', async () => {
  const body = Buffer.from(encodeBatch(packetsOf('gone', 4000, 1)));
  const client = new AbortController();
  const sending = fetch(`${running.service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.org.apiKey.key}`, ...delimited },
    body,
    signal: client.signal,
  });
  while ((await streams('gone')) === 0) await sleep(5);
  client.abort();
  await expect(sending).rejects.toThrow('aborted');
  let before = -1;
  for (let now = await streams('gone'); now !== before; now = await streams('gone')) {
    before = now;
    await sleep(1000);
  }
  expect(before).toBeLessThan(1500);
});

test('a stop does not wait for a batch of many new devices, and the answer says what was kept', async () => {
  const sending = post(packetsOf('stopped', 4000, 1));
  while ((await streams('stopped')) === 0) await sleep(5);
  await running.service.stop();
  const { status, body: json } = await sending;
  expect(status).toBe(202);
  expect(json.accepted).toBeGreaterThan(0);
  expect(json.accepted).toBeLessThan(4000);
  expect(json.accepted + json.rejected.length).toBe(4000);
  expect(new Set(json.rejected.map(({ code }) => code))).toEqual(new Set(['busy']));
  expect(await streams('stopped')).toBe(json.accepted);
});
