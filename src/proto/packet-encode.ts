/** Writes packets as bytes, by hand. No node imports: the ingest client runs in browsers too. */
import { channelKinds } from '../signal.ts';
import type { Block, Packet } from './packet.ts';
import { WireWriter } from './wire-writer.ts';

/** How encodePacket writes integer samples. Floats are always written as float32. */
export type SampleEncoding = 'deltas' | 'int16' | 'int24';

const writer = new WireWriter(64 * 1024);

/** Encodes one packet. @throws RangeError for values that the schema cannot hold (a programmer's error) */
export function encodePacket(packet: Packet, encoding: SampleEncoding = 'deltas'): Uint8Array<ArrayBuffer> {
  const w = writer;
  w.reset();
  if (packet.schemaVersion !== 0) w.uint(0x08, packet.schemaVersion);
  if (packet.deviceId !== '') w.text(0x12, packet.deviceId);
  w.bytes(0x1a, bytesOfHex(packet.bootId));
  if (packet.seq !== 0) w.uint(0x20, packet.seq);
  if (packet.t0DeviceNs !== 0n) w.fixed64(0x29, packet.t0DeviceNs);
  if (packet.t0UnixNs !== 0n) w.fixed64(0x31, packet.t0UnixNs);
  if (packet.sentUnixNs !== 0n) w.fixed64(0x39, packet.sentUnixNs);
  if (packet.subject !== '') w.text(0x42, packet.subject);
  if (packet.firmware !== '') w.text(0x4a, packet.firmware);
  for (const block of packet.blocks) writeBlock(w, block, encoding);
  for (const item of packet.measurements) {
    const at = w.open(0x5a);
    w.text(0x0a, item.code);
    if (item.tOffsetNs !== 0) w.uint(0x10, item.tOffsetNs);
    if (!Object.is(item.value, 0)) w.double(0x19, item.value);
    if (item.unit !== '') w.text(0x22, item.unit);
    if (item.quality !== 0) w.uint(0x28, item.quality);
    w.close(at);
  }
  for (const item of packet.events) {
    const at = w.open(0x62);
    w.text(0x0a, item.code);
    if (item.tOffsetNs !== 0) w.uint(0x10, item.tOffsetNs);
    if (item.text !== '') w.text(0x1a, item.text);
    w.close(at);
  }
  if (packet.recordedUnixNs !== undefined) w.fixed64(0x69, BigInt.asUintN(64, packet.recordedUnixNs));
  return w.take();
}

function writeBlock(w: WireWriter, block: Block, encoding: SampleEncoding): void {
  const at = w.open(0x52);
  const inner = w.open(0x0a);
  const c = block.channel;
  w.text(0x0a, c.code);
  w.uint(0x10, channelKinds.indexOf(c.kind) + 1);
  w.uint(0x18, c.rateNanoHz);
  w.double(0x21, c.gain);
  if (!Object.is(c.baseline, 0)) w.double(0x29, c.baseline);
  if (c.unit !== '') w.text(0x32, c.unit);
  if (c.lead !== '') w.text(0x3a, c.lead);
  w.close(inner);
  if (block.tOffsetNs !== 0) w.uint(0x10, block.tOffsetNs);
  const samples = block.samples;
  if (samples instanceof Float32Array) w.floats(0x32, samples);
  else if (encoding === 'deltas') w.deltas(0x1a, samples);
  else if (encoding === 'int16') w.int16(0x22, samples);
  else w.int24(0x2a, samples);
  if (block.qmask !== null) w.qmaskRuns(0x3a, block.qmask);
  w.close(at);
}

function bytesOfHex(hex: string): Uint8Array {
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new RangeError(`boot id '${hex}' is not 32 lower-case hexadecimal digits`);
  const out = new Uint8Array(16);
  for (let i = 0; i < 16; i++) out[i] = Number(`0x${hex.slice(2 * i, 2 * i + 2)}`);
  return out;
}

/** Joins encoded packets into a length-delimited batch: varint length, packet, varint length, packet ... */
export function encodeBatch(packets: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const w = new WireWriter(packets.reduce((sum, packet) => sum + packet.length + 5, 0));
  for (const packet of packets) w.delimited(packet);
  return w.take();
}
