/** The same sequence number with other bytes. The first packet is kept: one with other samples or another start is refused with
 *  packet_conflict (409) and counted in bio_packets_rejected_total; the same sent again, also at another time, is a duplicate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerWriter } from '../src/cli/client/ledger.ts';
import { createSimulatedDevice } from '../src/cli/simulator/device.ts';
import { createPacketSource } from '../src/cli/simulator/packets.ts';
import type { Packet } from '../src/proto/packet.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { World } from './lib/world.ts';
import { resultOf, withoutRecovery } from './report.ts';
import type { Runnable } from './report.ts';

export const sameIdScenario: Runnable = {
  name: 'same-id',
  about: 'the same number with other bytes: the first is kept, the other one is refused with 409',
  run: async ({ rounds, seed }) => {
    const startedMs = performance.now();
    const world = await World.start({ name: 'same-id', seed, deviceCount: 2 });
    const complaints: string[] = [];
    const doneMs: number[] = [];
    let verdict = null;
    try {
      await world.fleet.stop();
      const ledger = new LedgerWriter(world.ledger);
      for (let round = 1; round <= rounds; round++) {
        const since = performance.now();
        complaints.push(...(await sendTwice(world, ledger, seed, round)));
        doneMs.push(performance.now() - since);
      }
      ledger.close();
      await sleep(1000);
      verdict = await world.verdict();
      for (const { deviceId, firstFault } of verdict.faulty.slice(0, 5)) complaints.push(`${deviceId}: ${firstFault}`);
      const metrics = await (await fetch(`${world.service.url}/metrics`)).text();
      const counted = Number(/bio_packets_rejected_total\{code="packet_conflict"\} (\d+)/.exec(metrics)?.[1] ?? 0);
      if (counted !== 2 * rounds) complaints.push(`${counted} conflicts are counted in the metrics, ${2 * rounds} were sent`);
    } catch (error) {
      complaints.push(error instanceof Error ? error.message : String(error));
    }
    await world.close();
    return { ...resultOf(sameIdScenario, seed, verdict, doneMs, complaints, startedMs), ...withoutRecovery };
  },
};

async function sendTwice(world: World, ledger: LedgerWriter, seed: number, round: number): Promise<string[]> {
  const deviceId = `same${round}`;
  const bootId = Buffer.from(deviceId.padEnd(16, '.')).toString('hex');
  const person = createSimulatedDevice({ seed: seed + round, channels: ['ecg.ii'] });
  const startUnixNs = BigInt(Date.now() - 10_000) * 1_000_000n;
  const next = createPacketSource(person, { deviceId, bootId, subject: deviceId, startUnixNs, packetMs: 500 });
  const packets = Array.from({ length: 6 }, () => next().packet);
  const complaints: string[] = [];
  const expectAnswer = async (packet: Packet, what: string, status: number, wanted: RegExp): Promise<void> => {
    const answer = await fetch(new URL('/ingest/raw-packet', world.service.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${world.credential}`, 'content-type': 'application/x-protobuf' },
      body: encodePacket(packet) as Uint8Array<ArrayBuffer>,
    });
    const text = await answer.text();
    if (answer.status !== status || !wanted.test(text)) complaints.push(`round ${round}: ${what}: ${answer.status} ${text.slice(0, 200)}`);
  };
  for (const packet of packets) {
    const key = { deviceId, bootId, seq: packet.seq };
    ledger.sent(key, encodePacket(packet));
    await expectAnswer(packet, 'first', 202, /"accepted":1/);
    ledger.settled(key, 'accepted');
  }
  const victim = packets[round % packets.length]!;
  const louder = victim.blocks.map((block) => ({ ...block, samples: (block.samples as Int32Array).map((value) => value + 1) }));
  await expectAnswer(victim, 'the same again', 202, /"duplicates":1/);
  await expectAnswer({ ...victim, sentUnixNs: victim.sentUnixNs + 1n }, 'the same again, later', 202, /"duplicates":1/);
  await expectAnswer({ ...victim, blocks: louder }, 'other samples', 409, /packet_conflict/);
  await expectAnswer({ ...victim, t0DeviceNs: victim.t0DeviceNs + 7_000_000n }, 'another start', 409, /packet_conflict/);
  return complaints;
}
