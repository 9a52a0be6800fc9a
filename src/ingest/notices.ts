/** Notices to the sender when its stream is opened: its data are placed at a different time than its packets say, or will not be kept
 *  for long. */
import type { Packet } from '../proto/packet.ts';
import type { Placement } from './clock-fit.ts';
import type { StreamRecord } from './sink.ts';

const DAY_NS = 86_400_000_000_000n;

/** @param placement of the packet, as if it opened the stream  @param record the stream as stored */
export function noticesOf(packet: Packet, placement: Placement, record: StreamRecord, receivedNs: bigint): readonly string[] {
  const notices: string[] = [];
  const name = `device ${packet.deviceId}, boot ${packet.bootId}`;
  const { epochNs, timeSource } = placement;
  if (record.epochNs !== epochNs) {
    // An existing stream keeps its place in time. For a device with clocks that is normal and needs no notice.
    if (timeSource === 'stated')
      notices.push(
        `${name}: the recording is stored already, from ${iso(record.epochNs + packet.t0DeviceNs)} on and not from ${iso(epochNs + packet.t0DeviceNs)}; ` +
          'to move it, erase it and import it again',
      );
  } else if (timeSource === 'arrival' && packet.t0UnixNs !== 0n) {
    notices.push(`${name}: the device's clock says ${iso(packet.t0UnixNs)}, which is not believed; the recording is placed by its arrival`);
  } else if (timeSource === 'age') {
    const offSec = Math.round(Number(packet.sentUnixNs - receivedNs) / 1e9);
    notices.push(
      `${name}: the device's clock is ${Math.abs(offSec)} s ${offSec < 0 ? 'slow' : 'fast'}; the recording is placed by the age of its packets`,
    );
  }
  const firstNs = record.epochNs + packet.t0DeviceNs;
  for (const { what, days } of record.expiring) {
    const cutoffNs = receivedNs - BigInt(Math.round(days)) * DAY_NS;
    if (firstNs < cutoffNs) notices.push(`${name}: ${what} are kept ${days} days: those before ${iso(cutoffNs)} will be deleted`);
  }
  return notices;
}

/** ISO 8601 to the second; nanoseconds when no Date can represent the time. */
function iso(unixNs: bigint): string {
  const date = new Date(Number(unixNs / 1_000_000n));
  return Number.isNaN(date.getTime()) ? `${unixNs} ns` : `${date.toISOString().slice(0, 19)}Z`;
}
