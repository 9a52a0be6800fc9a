/** Simulated people whose devices stream into a service, over one socket. */
import { randomBytes } from 'node:crypto';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import type { SimulatedChannel } from '../../src/cli/simulator/device.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { SCHEMA_VERSION } from '../../src/proto/packet.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { gridTimeNs } from '../../src/signal.ts';

const PACKET_MS = 200;
/** Of the 256 that the service allows; a round sends one for each person. */
const UNSETTLED_MAX = 100;
/** Raw value of a sensor that measures nothing. */
const RAIL = 4000;

export type WardPerson = Readonly<{ id: string; channels?: readonly SimulatedChannel[]; batteryPercent?: number }>;
export type Ward = Readonly<{
  /** This one's device says nothing more. */
  silence: (id: string) => void;
  /** The sensors of this one lie on the table, or are worn again: all of their samples are of one value, which the device does not flag. */
  takeOff: (id: string, isOff?: boolean) => void;
  stop: () => void;
}>;

export async function startWard(baseUrl: string, key: string, people: readonly WardPerson[]): Promise<Ward> {
  /** Sent and not answered: sent again over a new connection, as a device does that lost its own on a slow machine. */
  let unsettled: Uint8Array<ArrayBuffer>[] = [];
  let stopped = false;
  const connect = async (): Promise<WebSocket> => {
    const opened = new WebSocket(`${baseUrl.replace('http', 'ws')}/ingest/stream`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(key).toString('base64url')}`,
    ]);
    await new Promise((resolve, reject) => {
      opened.addEventListener('open', resolve);
      opened.addEventListener('error', reject);
    });
    opened.binaryType = 'arraybuffer';
    let settled = 0;
    opened.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') throw new Error(`the service says: ${data}`);
      const reply = decodeReply(new Uint8Array(data as ArrayBuffer));
      if (reply.rejected.length > 0) throw new Error(`refused: ${JSON.stringify(reply.rejected)}`);
      unsettled = unsettled.slice(reply.settled - settled);
      settled = reply.settled;
    });
    opened.addEventListener('close', ({ code, reason }) => {
      if (stopped) return;
      console.warn(`the ward's connection was closed: ${code} ${reason}`);
      void connect().then((next) => (socket = next));
    });
    for (const packet of unsettled) opened.send(packet);
    return opened;
  };
  let socket = await connect();
  const startedMs = performance.now();
  const unixAtZero = BigInt(Date.now()) * 1_000_000n;
  const silent = new Set<string>();
  const off = new Set<string>();
  const devices = people.map(({ id, channels = ['ecg.ii'], batteryPercent = 80 }, i) => ({
    id,
    batteryPercent,
    device: createSimulatedDevice({ seed: 1000 + i, channels }),
    bootId: randomBytes(16).toString('hex'),
  }));
  let seq = 0;
  const send = (): void => {
    for (const { id, device, bootId, batteryPercent } of devices) {
      const span = device.next(PACKET_MS);
      if (silent.has(id)) continue;
      const packet = encodePacket({
        schemaVersion: SCHEMA_VERSION,
        deviceId: `ward-${id}`,
        bootId,
        seq,
        subject: id,
        t0DeviceNs: span.t0DeviceNs,
        t0UnixNs: unixAtZero + span.t0DeviceNs,
        sentUnixNs: BigInt(Date.now()) * 1_000_000n,
        firmware: 'ward',
        blocks: span.runs.map((run) => {
          const channel = device.channels[run.channelNo]!;
          const tOffsetNs = Number(gridTimeNs(run.k0, channel.rateNanoHz) - span.t0DeviceNs);
          const samples = off.has(id) ? run.samples.map(() => RAIL) : run.samples;
          return { channel, tOffsetNs, samples, qmask: run.qmask };
        }),
        measurements: seq === 0 ? [{ code: 'battery', tOffsetNs: 0, value: batteryPercent, unit: '%', quality: 0 }] : [],
        events: [],
      });
      unsettled.push(packet as Uint8Array<ArrayBuffer>);
      if (socket.readyState === WebSocket.OPEN) socket.send(packet as Uint8Array<ArrayBuffer>);
    }
    seq++;
  };
  const timer = setInterval(() => {
    // A device waits for the answers to what it sent: the first packets open streams, which takes a while.
    while (unsettled.length < UNSETTLED_MAX && performance.now() - startedMs >= (seq + 1) * PACKET_MS) send();
  }, PACKET_MS / 4);
  return {
    silence: (id) => void silent.add(id),
    takeOff: (id, isOff = true) => void (isOff ? off.add(id) : off.delete(id)),
    stop: () => {
      stopped = true;
      clearInterval(timer);
      socket.close();
    },
  };
}
