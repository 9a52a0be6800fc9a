/** P13: decoding with full validation against protobufjs' static decode of the same bytes (which validates nothing of ours).
 *  A and B interleaved in one process, 7 pairs, median ratio. Usage: node bench/ingest-decode.bench.ts */
import { report, reportMedian } from './lib/result.ts';
import { isRejected } from '../src/errors.ts';
import { biosignal } from '../src/proto/generated/generated.js';
import { defaultPacketLimits } from '../src/proto/packet.ts';
import { decodePacket } from '../src/proto/packet-decode.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { ecgPacket } from './lib/packets.ts';

const cases = [
  { name: '100 ms, 4 x 250 Hz', packets: ecgPacket({ channels: 4, fs: 250, ms: 100, count: 256 }) },
  { name: '1 s, 4 x 250 Hz', packets: ecgPacket({ channels: 4, fs: 250, ms: 1000, count: 64 }) },
  { name: '1 s, 1 x 130.1 Hz', packets: ecgPacket({ channels: 1, fs: 130.1, ms: 1000, count: 64 }) },
];
const Reference = biosignal.v1.Packet;
let kept = 0;

function ours(bytes: readonly Uint8Array[], rounds: number): number {
  const from = performance.now();
  for (let r = 0; r < rounds; r++) {
    for (const one of bytes) {
      const packet = decodePacket(one, defaultPacketLimits);
      if (isRejected(packet)) throw new Error(packet.detail);
      kept += packet.seq + packet.blocks.length;
    }
  }
  return ((performance.now() - from) * 1e6) / (rounds * bytes.length);
}

function reference(bytes: readonly Uint8Array[], rounds: number): number {
  const from = performance.now();
  for (let r = 0; r < rounds; r++) for (const one of bytes) kept += Reference.decode(one).blocks.length;
  return ((performance.now() - from) * 1e6) / (rounds * bytes.length);
}

const median = (x: number[]): number => x.sort((a, b) => a - b)[x.length >> 1]!;
for (const { name, packets } of cases) {
  const bytes = packets.map((packet) => encodePacket(packet));
  const samples = packets[0]!.blocks.reduce((sum, block) => sum + block.samples.length, 0);
  const rounds = Math.ceil(2_000_000 / (bytes.length * samples));
  ours(bytes, rounds);
  reference(bytes, rounds);
  const pairs = Array.from({ length: 7 }, () => [ours(bytes, rounds), reference(bytes, rounds)] as const);
  const ratios = pairs.map(([a, b]) => b / a);
  const nsOurs = median(pairs.map(([a]) => a));
  const note = `${bytes[0]!.length} bytes a packet, ${(nsOurs / samples).toFixed(2)} ns a sample`;
  report({ name: `decoding and validating, ${name}`, value: nsOurs / 1000, unit: 'µs/packet', note });
  reportMedian({ name: `protobufjs static over it, ${name}`, goal: 'P13' }, ratios);
}
if (kept === 0) console.log(kept);
