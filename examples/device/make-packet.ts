/** Writes first-packet.bin: two seconds of simulated ECG, the same bytes every time.
 *  Run: scripts/with-runtime.sh examples/device/make-packet.ts > examples/device/first-packet.bin */
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';

/** The packet of the examples. It has no wall clock: the service takes its end for the moment of arrival. */
export function firstPacket(): Packet {
  const device = createSimulatedDevice({ seed: 7, channels: ['ecg.ii'], heartRateBpm: 72 });
  const span = device.next(2000);
  return {
    schemaVersion: 1,
    deviceId: 'example-curl',
    bootId: '00112233445566778899aabbccddeeff',
    seq: 0,
    t0DeviceNs: 0n,
    t0UnixNs: 0n,
    sentUnixNs: 0n,
    subject: 'example-patient',
    firmware: 'example 1',
    blocks: span.runs.map((run) => ({ channel: device.channels[run.channelNo]!, tOffsetNs: 0, samples: run.samples, qmask: null })),
    measurements: [],
    events: [],
  };
}

if (import.meta.main) process.stdout.write(encodePacket(firstPacket()));
