/** Data of very many days, each of which is a partition: what one credential sends does not keep the others waiting. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { delimited } from '../helpers/raw-device.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const DAY_NS = 86_400_000_000_000n;
let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
const packetOf = (subject: string, seq: number, day: number): Packet => ({
  schemaVersion: 1,
  deviceId: `days of ${subject}`,
  bootId: '00'.repeat(16),
  seq,
  t0DeviceNs: BigInt(day) * DAY_NS,
  t0UnixNs: BigInt(Date.UTC(2016, 0, 1)) * 1_000_000n + BigInt(day) * DAY_NS,
  sentUnixNs: 0n,
  subject,
  firmware: '',
  blocks: [{ channel, tOffsetNs: 0, samples: Int32Array.from({ length: 25 }, (_, i) => i), qmask: null }],
  measurements: [],
  events: [],
});
type Reply = Readonly<{ accepted: number; rejected: readonly { index: number; code: string }[] }>;
const post = async (packets: readonly Packet[], as: string): Promise<Reply> => {
  const body = encodeBatch(packets.map((packet) => encodePacket(packet)));
  const answer = await running.send<Reply>('POST', '/ingest/raw-packet', { as, body, headers: delimited });
  expect(answer.status, answer.text).toBe(202);
  return answer.body;
};

// promise: past-days
it('a person begins sixty of them a minute, and is told to send the rest again; of days that are begun everything is taken', async () => {
  const { xuser_id: id, xuser_token: token } = await running.token('years');
  const packets = Array.from({ length: 400 }, (_, day) => packetOf(id, day, day));
  const first = await post(packets, token);
  expect(first.accepted).toBeGreaterThanOrEqual(60);
  expect(first.accepted).toBeLessThan(120);
  expect(new Set(first.rejected.map(({ code }) => code))).toEqual(new Set(['rate_limited']));
  expect(first.accepted + first.rejected.length).toBe(packets.length);
  const last = packets.length - first.rejected.length - 1;
  const sameDay = Array.from({ length: 50 }, (_, i) => packetOf(id, 1000 + i, last));
  expect(
    await post(
      sameDay.map((packet, i) => ({ ...packet, t0DeviceNs: packet.t0DeviceNs + BigInt(i + 1) * 1_000_000_000n })),
      token,
    ),
  ).toMatchObject({
    accepted: 50,
  });
  const { xuser_id: other, xuser_token: good } = await running.token('today');
  const now = { ...packetOf(other, 0, 0), t0UnixNs: BigInt(Date.now() - 2000) * 1_000_000n };
  expect(await post([now], good)).toMatchObject({ accepted: 1 });
});
