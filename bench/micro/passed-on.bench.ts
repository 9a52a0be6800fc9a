/** Processor time of a packet between the socket and the sink, at its owner and passed on by another node: decoding, admission, the
 *  message and its answer at both ends, and nothing else; no sockets of devices, no database. One process takes packets of 100 ms with
 *  4 channels of 250 Hz and offers them to its own sink or passes them on to a second process; both sinks commit every 40 ms. What the
 *  loop of the generator costs is taken off. Unix sockets and, where nats-server is installed, NATS; what is compared takes turns.
 *  BENCH_RATE: packets a second, 667 as between each two of three nodes with 600 devices. BENCH_SEC of each turn (3).
 *
 *  sh scripts/with-runtime.sh bench/micro/passed-on.bench.ts */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { SocketBus } from '../../src/bus/socket-bus.ts';
import type { ClusterView } from '../../src/cluster/cluster-view.ts';
import { readConfig } from '../../src/config.ts';
import { isRejected } from '../../src/errors.ts';
import { openDoor } from '../../src/forward/owner-door.ts';
import { RoutedSink } from '../../src/forward/routed-sink.ts';
import { decodeObject, encodeObject } from '../../src/forward/wire.ts';
import { Commit } from '../../src/ingest/commit.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import type { Session } from '../../src/ingest/session.ts';
import type { PacketSink, StreamRecord, StreamRequest } from '../../src/ingest/sink.ts';
import { Tally } from '../../src/metrics.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../../src/signal.ts';
import { ecgPacket } from '../lib/packets.ts';
import { report, reportMedian } from '../lib/result.ts';

const RATE = Number(process.env['BENCH_RATE'] ?? 667);
const SEC = Number(process.env['BENCH_SEC'] ?? 3);
const ROUNDS = 5;
const DEVICES = Math.max(1, Math.round(RATE / 10));
const TICK_MS = 4;
const COMMIT_MS = 40;
const WAIT_MS = 60_000;
const CALLER = {
  kind: 'key',
  keyId: 'k',
  orgId: 'o',
  projectId: null,
  subjectId: null,
  scopes: new Set(['ingest']),
} as unknown as Session & StreamRequest['caller'];
const SENDER = { caller: CALLER, remoteAddress: '', requestId: '' };

/** Keeps nothing; everything that came within COMMIT_MS is durable together. */
class CommittingSink implements PacketSink {
  #filling: PromiseWithResolvers<void> | null = null;
  #opened = 0;

  async openStream({ deviceId, epochNs }: StreamRequest): Promise<StreamRecord> {
    await Promise.resolve();
    return {
      streamId: ++this.#opened as StreamId,
      orgId: 'o' as OrgId,
      projectId: 'p' as ProjectId,
      subjectId: deviceId as string as SubjectId,
      epochNs,
      timeSource: null,
      expiring: [],
      channels: [],
      seqRanges: [],
      node: '',
    };
  }

  isRecorded(): Promise<boolean> {
    return Promise.resolve(false);
  }

  accept(): Promise<void> {
    if (this.#filling === null) {
      const filling = Promise.withResolvers<void>();
      this.#filling = filling;
      setTimeout(() => {
        this.#filling = null;
        filling.resolve();
      }, COMMIT_MS);
    }
    return this.#filling.promise;
  }

  packetHashes(): Promise<Float64Array> {
    return Promise.reject(new Error('not used'));
  }
  nodeUrlOf(): string {
    return '';
  }
  noteClock(): void {}
  hurry(): void {}
  async closeStream(): Promise<void> {}
}

/** @param address of a NATS server, or a folder */
async function open(address: string, node: string): Promise<Bus> {
  if (!address.startsWith('nats:')) return await SocketBus.open(address, node);
  const { NatsBus } = await import('../../src/bus/nats-bus.ts');
  return await NatsBus.open({ url: address, ca: '', cluster: 'bench', mayBePlain: true }, node);
}

async function own(address: string): Promise<void> {
  const bus = await open(address, 'owner');
  const sink = new CommittingSink();
  openDoor(bus, new Ingest(sink, readConfig({})), sink);
  bus.handle('spent', () => encodeObject(process.cpuUsage()));
  process.once('disconnect', () => process.exit());
  process.send!('ready');
}

type Mode = 'nothing' | 'at its owner' | 'passed on';

class Generator {
  readonly #devices: readonly (readonly Uint8Array[])[];
  #next = 0;
  #round = 0;

  constructor() {
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const count = Math.ceil((10 * SEC * (ROUNDS + 1) * RATE) / (10 * DEVICES)) + 20;
    this.#devices = Array.from({ length: DEVICES }, (_, i) =>
      ecgPacket({ channels: 4, fs: 250, ms: 100, count, deviceId: `d${i}` }).map((packet) =>
        encodePacket({ ...packet, t0UnixNs: nowNs - 600_000_000_000n + packet.t0DeviceNs }),
      ),
    );
  }

  next(): Uint8Array {
    const bytes = this.#devices[this.#next]![this.#round]!;
    if (++this.#next === DEVICES) {
      this.#next = 0;
      this.#round++;
    }
    return bytes;
  }
}

/** Packets as from sockets, in turns of the loop that are 4 ms apart. @returns how many */
async function send(ingest: Ingest | null, generator: Generator): Promise<number> {
  const commits = new Set<Commit>();
  const fromMs = performance.now();
  let sent = 0;
  for (let nowMs = fromMs; nowMs - fromMs < 1000 * SEC; nowMs = performance.now()) {
    for (const due = ((nowMs - fromMs) * RATE) / 1000; sent < due; sent++) {
      if (ingest === null) continue;
      const bytes = generator.next();
      const receivedNs = BigInt(Date.now()) * 1_000_000n;
      const packet = ingest.decode(bytes);
      if (isRejected(packet)) throw new Error(packet.detail);
      const found = ingest.find(CALLER, packet, receivedNs);
      const session = found instanceof Promise ? await found : found;
      if (isRejected(session)) throw new Error(session.detail);
      const offered = ingest.offer(session, packet, bytes, receivedNs, SENDER);
      if (!(offered instanceof Commit)) throw new Error(`not accepted: ${JSON.stringify(offered)}`);
      if (!commits.has(offered)) commits.add(offered);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(Array.from(commits, ({ durable }) => durable));
  return sent;
}

async function measure(name: string, address: string): Promise<void> {
  const owner = fork(import.meta.filename, [address], { execArgv: process.execArgv });
  await new Promise((ready) => owner.once('message', ready));
  const bus = await open(address, 'edge');
  const view: ClusterView = {
    self: 'edge',
    partitionCount: 1,
    ownerOf: () => 'owner',
    nodes: () => ['edge', 'owner'].map((id) => ({ id, name: id, address: '', draining: false })),
    lookAgain: () => undefined,
    lookNow: () => Promise.resolve(),
    onChange: () => () => undefined,
  };
  const config = { ...readConfig({}), keyStreamsPerMinMax: 100_000 };
  const passing = new RoutedSink({
    local: new CommittingSink(),
    view,
    bus,
    subjectOf: async ({ deviceId }) => Promise.resolve({ subjectId: deviceId as string as SubjectId }),
    forwarded: new Tally(),
  });
  const ways: Readonly<Record<Mode, Readonly<{ ingest: Ingest | null; generator: Generator; us: number[] }>>> = {
    nothing: { ingest: null, generator: new Generator(), us: [] },
    'at its owner': { ingest: new Ingest(new CommittingSink(), config), generator: new Generator(), us: [] },
    'passed on': { ingest: new Ingest(passing, config), generator: new Generator(), us: [] },
  };
  const spent = async (): Promise<number> => {
    const theirs = decodeObject<NodeJS.CpuUsage>(await bus.request('owner', 'spent', new Uint8Array(0), WAIT_MS));
    const ours = process.cpuUsage();
    return theirs.user + theirs.system + ours.user + ours.system;
  };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const way of Object.values(ways)) {
      const before = await spent();
      const sent = await send(way.ingest, way.generator);
      const us = ((await spent()) - before) / sent;
      if (round > 0) way.us.push(us); // in the first the code is being compiled
    }
  }
  const above = (mode: Mode): number[] => ways[mode].us.map((us, i) => us - ways.nothing.us[i]!);
  const [direct, passed] = [above('at its owner'), above('passed on')];
  reportMedian({ name: `${name}, at its owner: a packet from socket to sink`, unit: 'µs/packet' }, direct);
  reportMedian({ name: `${name}, passed on: the same at both nodes`, unit: 'µs/packet' }, passed);
  const more = passed.map((us, i) => us - direct[i]!).toSorted((a, b) => a - b);
  report({ name: `${name}: more for a packet that is passed on`, value: more[more.length >> 1]!, unit: 'µs/packet' });
  await bus.close();
  owner.disconnect();
}

const asOwner = process.argv[2];
if (asOwner !== undefined && process.send !== undefined) await own(asOwner);
else {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-passed-'));
  await measure('Unix sockets', folder);
  rmSync(folder, { recursive: true, force: true });
  if (hasNatsServer && process.env['BENCH_NATS'] !== '0') {
    const nats = await startNats();
    await measure('NATS', `nats://127.0.0.1:${nats.port}`);
    await nats.close();
  }
  process.exit();
}
