/** Cost of one packet to the main thread between the socket and the sink: decode, admit, offer, commit; no sockets, no database.
 *  Packets of 100 ms with 4 channels of 250 Hz, of 2,000 devices in turn, so that caches are as cold as in life. CPU seconds of the
 *  process. Usage: node bench/micro/ingest-path.bench.ts */
import { readConfig } from '../../src/config.ts';
import { isRejected } from '../../src/errors.ts';
import { Commit } from '../../src/ingest/commit.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import { Session } from '../../src/ingest/session.ts';
import type { PacketSink } from '../../src/ingest/sink.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../../src/signal.ts';
import { ecgPacket } from '../lib/packets.ts';
import { reportMedian } from '../lib/result.ts';

const DEVICES = 2000;
const PACKETS = 40;
const GROUP = 300; // packets of one group commit

let done: () => void = () => undefined;
let durable = Promise.resolve();
let taken = 0;
const sink: PacketSink = {
  openStream: () => Promise.reject(new Error('not used')),
  isRecorded: () => Promise.resolve(false),
  accept: () => {
    if (taken++ % GROUP === 0) {
      done();
      durable = new Promise((resolve) => (done = resolve));
    }
    return durable;
  },
  packetHashes: () => Promise.reject(new Error('not used')),
  nodeUrlOf: () => '',
  noteClock: () => undefined,
  hurry: () => undefined,
  closeStream: () => Promise.resolve(),
};

const ANYBODY = { caller: { kind: 'anonymous' }, remoteAddress: '', requestId: '' } as const;
const nowNs = BigInt(Date.now()) * 1_000_000n;
const sent = Array.from({ length: DEVICES }, (_, i) => {
  const packets = ecgPacket({ channels: 4, fs: 250, ms: 100, count: PACKETS, deviceId: `d${i}` });
  return packets.map((packet) => encodePacket({ ...packet, t0UnixNs: nowNs + packet.t0DeviceNs }));
});

async function round(): Promise<number> {
  const ingest = new Ingest(sink, readConfig({}));
  const sessions = sent.map((_, i) => {
    const record = {
      streamId: i as StreamId,
      orgId: 'o' as OrgId,
      projectId: 'p' as ProjectId,
      subjectId: `s${i}` as SubjectId,
      epochNs: nowNs,
      timeSource: null,
      expiring: [],
      channels: [],
      seqRanges: [],
      node: '',
    };
    return new Session('k', `d${i}`, '0123456789abcdef0123456789abcdef', '', record);
  });
  const from = process.cpuUsage();
  for (let n = 0; n < PACKETS; n++) {
    for (let i = 0; i < DEVICES; i++) {
      const bytes = sent[i]![n]!;
      const packet = ingest.decode(bytes);
      if (isRejected(packet)) throw new Error(packet.detail);
      if (!(ingest.offer(sessions[i]!, packet, bytes, nowNs, ANYBODY) instanceof Commit)) throw new Error('not accepted');
      if (taken % GROUP === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const { user, system } = process.cpuUsage(from);
  return (user + system) / (DEVICES * PACKETS);
}

await round();
const rounds: number[] = [];
for (let i = 0; i < 7; i++) rounds.push(await round());
reportMedian({ name: 'packet from socket to sink', unit: 'µs' }, rounds);
