/** Acts of devices: record, send, keep for later, say again, contradict themselves, start anew. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../src/cli/simulator/random.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch } from '../../src/proto/packet-encode.ts';
import { personOf } from '../commands.ts';
import type { DeviceCommand, Upload } from '../commands.ts';
import { deliver } from '../deliver.ts';
import { wrist } from '../generate.ts';
import type { Via } from '../deliver.ts';
import type { Boot, Device, Oracle } from '../oracle.ts';
import { encode, Recorder } from '../recorder.ts';
import { watchLive } from './live.ts';
import { sendIllegal, sendOdd } from './odd.ts';

type BootCommand = Extract<DeviceCommand, { do: 'boot' }>;
type Running = Readonly<{ recorder: Recorder; boot: Boot }>;

const usual: Omit<BootCommand, 'device'> = { do: 'boot', agoSec: 700, wallClock: 0, driftPpm: 0, channels: ['ecg.ii', ...wrist] };

export async function runDeviceCommand(oracle: Oracle, command: DeviceCommand): Promise<void> {
  const device = oracle.device(command.device);
  switch (command.do) {
    case 'boot':
      await start(oracle, command);
      return;
    case 'send': {
      const { recorder, boot } = await running(oracle, command.device);
      recorder.record(command.sec);
      await upload(oracle, boot, recorder, 'in order', command.via);
      return;
    }
    case 'record':
      (await running(oracle, command.device)).recorder.record(command.sec);
      return;
    case 'upload': {
      const { recorder, boot } = await running(oracle, command.device);
      await upload(oracle, boot, recorder, command.order, command.via);
      return;
    }
    case 'skip':
      (await running(oracle, command.device)).recorder.skip(command.sec);
      return;
    case 'pause':
      await sleep(command.ms);
      return;
    case 'resend':
      await resend(oracle, device, command.count);
      return;
    case 'contradict':
      await contradict(oracle, device, command.back);
      return;
    case 'addChannel':
      (await running(oracle, command.device)).recorder.add(command.channel);
      return;
    case 'setClock':
      (await running(oracle, command.device)).recorder.wallClock = command.wallClock;
      return;
    case 'odd':
      await sendOdd(oracle, command);
      return;
    case 'illegal':
      await sendIllegal(oracle, command);
      return;
    case 'live': {
      const { recorder, boot } = await start(oracle, { ...usual, device: command.device, agoSec: 0 }, 200);
      await watchLive(oracle, recorder, boot, command.sec);
      return;
    }
    default: {
      const never: never = command;
      throw new TypeError(JSON.stringify(never));
    }
  }
}

async function running(oracle: Oracle, index: number): Promise<Running> {
  const { recorder, boot } = oracle.device(index);
  return recorder !== null && boot !== null ? { recorder, boot } : await start(oracle, { ...usual, device: index });
}

async function start(oracle: Oracle, command: BootCommand, packetMs?: number): Promise<Running> {
  const device = oracle.device(command.device);
  const person = await oracle.person(personOf(command.device));
  const boot = oracle.openBoot(device.id, `boot ${device.bootCount++}`, person);
  const recorder = new Recorder({
    ...command,
    seed: (oracle.seed * 1009 + command.device * 101 + device.bootCount) >>> 0,
    deviceId: device.id,
    bootId: boot.bootId,
    subject: person.externalId,
    startMs: Date.now() - command.agoSec * 1000,
    packetMs,
  });
  Object.assign(device, { boot, recorder });
  return { boot, recorder };
}

async function upload(oracle: Oracle, boot: Boot, recorder: Recorder, order: Upload, via: Via): Promise<void> {
  const packets = recorder.kept.splice(0).map((packet) => recorder.stamp(packet));
  if (packets.length > 0) await deliver(oracle, boot, ordered(packets, order, oracle.seed + boot.sent.length), via);
}

function ordered(packets: readonly Packet[], order: Upload, seed: number): readonly Packet[] {
  if (order === 'in order') return packets;
  if (order === 'newest first') return packets.toReversed();
  const random = createRandom(seed, 'shuffle');
  return packets
    .map((packet) => ({ packet, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ packet }) => packet);
}

async function resend(oracle: Oracle, { boot }: Device, count: number): Promise<void> {
  const again = boot?.sent.filter(({ accepted }) => accepted).slice(-count) ?? [];
  if (boot === null || again.length === 0) return;
  const { json } = await oracle.ask('POST', '/ingest/raw-packet', {
    packets: encodeBatch(again.map(({ bytes }) => bytes)),
    delimited: true,
  });
  const reply = json as { accepted: number; duplicates: number; rejected: { code: string }[] } | null;
  if (reply?.rejected.some(({ code }) => code === 'consent_missing')) return;
  oracle.expect(
    'answers',
    reply?.duplicates === again.length,
    () => `${again.length} packets sent again were answered ${JSON.stringify(reply)}`,
  );
}

/** The same number and begin, other samples: refused, and what was stored stays. */
async function contradict(oracle: Oracle, { boot }: Device, back: number): Promise<void> {
  const stored = boot?.sent.filter(({ accepted }) => accepted) ?? [];
  const one = stored.at(-1 - (back % Math.max(1, stored.length)));
  const block = one?.packet.blocks[0];
  if (boot === null || one === undefined || block === undefined) return;
  const other = { ...block, samples: Int32Array.from(block.samples, (sample) => sample + 1) };
  const bytes = encode({ ...one.packet, blocks: [other, ...one.packet.blocks.slice(1)] });
  const answer = await oracle.ask('POST', '/ingest/raw-packet', { packets: bytes });
  const { code } = (answer.json ?? {}) as { code?: string };
  oracle.expect(
    'answers',
    code === 'packet_conflict' || code === 'consent_missing',
    () => `packet ${one.packet.seq} of ${boot.deviceId} with other samples was answered ${answer.status} ${answer.text.slice(0, 200)}`,
  );
}
