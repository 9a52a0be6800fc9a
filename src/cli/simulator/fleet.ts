/** A fleet of simulated devices, each on its own simulated person: fully determined by these options, so that it can be reproduced. */
import { createHash } from 'node:crypto';
import { createSimulatedDevice } from './device.ts';
import type { SimulatedDeviceOptions } from './device.ts';
import { createFaultyPath } from './faults.ts';
import type { FaultOptions, FaultyPath } from './faults.ts';
import { createPacketSource } from './packets.ts';
import type { SimulatedPacket } from './packets.ts';

/** An encoded packet on its way. */
export type Leaving = Readonly<{ bytes: Uint8Array; seq: number }>;

export type FleetDevice = {
  readonly deviceId: string;
  readonly bootId: string;
  readonly subject: string;
  readonly next: () => SimulatedPacket;
  readonly path: FaultyPath<Leaving>;
};

export type Fleet = Readonly<{
  deviceCount: number;
  seed: number;
  devicePrefix: string;
  subjectPrefix: string;
  /** User record of the only device, in place of the prefix. */
  subject?: string;
  startUnixNs: bigint;
  packetMs: number;
  skewPpm: number;
  person: Omit<SimulatedDeviceOptions, 'seed'>;
  faults: Omit<FaultOptions, 'seed'>;
}>;

/** @param index of the device, from 0 */
export function createFleetDevice(fleet: Fleet, index: number): FleetDevice {
  const seed = (fleet.seed * 100_003 + index) >>> 0;
  const name = String(index + 1).padStart(4, '0');
  const deviceId = `${fleet.devicePrefix}${name}`;
  const subject = fleet.subject ?? `${fleet.subjectPrefix}${name}`;
  const bootId = createHash('sha256').update(`${deviceId} ${seed} ${fleet.startUnixNs}`).digest('hex').slice(0, 32);
  // Half of the fleet's clocks run fast, half slow, up to the stated skew.
  const skewPpm = fleet.deviceCount === 1 ? fleet.skewPpm : fleet.skewPpm * ((2 * index) / (fleet.deviceCount - 1) - 1);
  const { startUnixNs, packetMs } = fleet;
  const device = createSimulatedDevice({ ...fleet.person, seed });
  const next = createPacketSource(device, { deviceId, bootId, subject, startUnixNs, packetMs, skewPpm });
  return { deviceId, bootId, subject, next, path: createFaultyPath<Leaving>({ ...fleet.faults, seed }) };
}
