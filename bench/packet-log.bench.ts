/** Cost of a packet in the packet log, for packets of 100 ms, 250 ms and 1 s with 4 channels: bytes on disk (rows, key, room left in pages)
 *  and of the write-ahead log, processor time of this process and of PostgreSQL. Real signals (BIDMC), every device with its own names.
 *  Group commits of as many packets as so many devices send in 50 ms, one after the other.
 *
 *  sh scripts/with-runtime.sh bench/packet-log.bench.ts      BENCH_DEVICES=10,100,1000: how many devices
 *  On an embedded PostgreSQL, or the server of BIO_BENCH_DATABASE_URL. */
import { randomUUID } from 'node:crypto';
import { encodePacket } from '../src/proto/packet-encode.ts';
import type { Database } from '../src/storage/database/database.ts';
import type { LogEntry } from '../src/storage/log-batch.ts';
import { PacketLog } from '../src/storage/packet-log.ts';
import { StreamRegistry } from '../src/storage/stream-registry.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { ecgPacket } from './lib/packets.ts';
import { mainThreadCpuMs, treeCpuSec } from './lib/processor-time.ts';
import { bidmc } from './lib/recordings.ts';
import { report, reportMedian } from './lib/result.ts';
import { benchEpochNs, channel, freshDatabase, streamOf, tenantOf } from './lib/storage-fixture.ts';

const FLEETS = (process.env['BENCH_DEVICES'] ?? '10,100,1000').split(',').map(Number);
const PACKET_MS = [100, 250, 1000] as const;
const FS = 250;
const CHANNELS = 4;
const GROUP_MS = 50;
/** Different packets of a device; they come again, which the pages of a table do not see. */
const PACKETS = 8;
const ROUNDS = 3;
const SIGNALS = bidmc();

const server = await openBenchDatabase();

/** Packets of one device, whose samples nobody else has. */
function packetsOf(device: number, ms: number): Uint8Array[] {
  const plan = { channels: CHANNELS, fs: FS, ms, count: PACKETS, deviceId: `monitor-${device}`, bootId: randomUUID().replaceAll('-', '') };
  const signals = SIGNALS[device % SIGNALS.length]?.channels;
  return ecgPacket(plan).map((packet, i) => {
    const blocks = packet.blocks.map((block, c) => {
      const from = ((device * 2477 + i) * block.samples.length) % 50_000;
      return signals === undefined ? block : { ...block, samples: signals[c]!.subarray(from, from + block.samples.length) };
    });
    return encodePacket({ ...packet, blocks });
  });
}

/** Bytes of the log with its key, and of the write-ahead log. */
async function bytesOf({ pool }: Database): Promise<{ log: number; wal: number }> {
  const { rows } = await pool.query<{ log: number; wal: number }>(
    `with recursive part as (
       select 'packet_log'::regclass::oid as oid union all select i.inhrelid from pg_inherits i join part on i.inhparent = part.oid)
     select (select sum(pg_total_relation_size(oid)) from part)::float8 as log, (pg_current_wal_lsn() - '0/0')::float8 as wal`,
  );
  return rows[0]!;
}

type Cost = Readonly<{ packet: number; disk: number; wal: number; mainUs: number; allUs: number; postgresUs: number | null }>;

async function cost(devices: number, ms: number): Promise<Cost> {
  const { database, drop } = await freshDatabase(server.url);
  const registry = new StreamRegistry(database);
  const tenant = await tenantOf(database);
  const group = Math.max(1, Math.round((devices * GROUP_MS) / ms));
  const streams: Readonly<{ streamId: LogEntry['streamId']; packets: Uint8Array[] }>[] = [];
  for (let d = 0; d < Math.min(devices, group * 4); d++) {
    const { streamId } = await streamOf(registry, tenant, `monitor-${d}`, [channel('ecg', FS)], benchEpochNs);
    streams.push({ streamId, packets: packetsOf(d, ms) });
  }
  const log = await PacketLog.open(database, registry, { lingerMs: 0, calmLingerMs: 10_000, batchPacketsMax: Infinity });
  let sent = 0;
  const send = async (count: number): Promise<void> => {
    for (const end = sent + count; sent < end;) {
      let durable: Promise<void> | undefined;
      for (let i = 0; i < group; i++, sent++) {
        const { streamId, packets } = streams[sent % streams.length]!;
        const seq = Math.floor(sent / streams.length);
        const receivedNs = benchEpochNs + BigInt(Math.round((sent * 1e6 * GROUP_MS) / group + 1e5 * Math.random()));
        const batch = log.append({ streamId, seq, receivedNs, bytes: packets[seq % PACKETS]! });
        if (batch === 'busy') throw new Error('busy');
        durable = batch.durable;
      }
      log.hurry();
      await durable;
    }
  };
  await send(20 * group); // partition, caches
  await database.pool.query('checkpoint');
  const before = await bytesOf(database);
  const [from, main, cpu, postgres] = [sent, mainThreadCpuMs(), process.cpuUsage(), postgresSec()];
  await send(Math.max(400 * group, 4000));
  const count = sent - from;
  const used = process.cpuUsage(cpu);
  const mainUs = ((mainThreadCpuMs() - main) * 1000) / count;
  const postgresUs = postgres === null ? null : ((postgresSec()! - postgres) * 1e6) / count;
  const after = await bytesOf(database);
  const packet = streams.flatMap(({ packets }) => packets).reduce((sum, { length }) => sum + length, 0) / (streams.length * PACKETS);
  await log.close();
  await drop();
  return {
    packet,
    disk: (after.log - before.log) / count,
    wal: (after.wal - before.wal) / count,
    mainUs,
    allUs: (used.user + used.system) / count,
    postgresUs,
  };
}

const postgresSec = (): number | null => (server.postmasterPid === null ? null : treeCpuSec(server.postmasterPid));

try {
  console.log(server.server);
  for (const devices of FLEETS)
    for (const ms of PACKET_MS) {
      const costs: Cost[] = [];
      for (let round = 0; round < ROUNDS; round++) costs.push(await cost(devices, ms));
      const what = `packets of ${ms} ms, ${devices} devices`;
      const note = `${costs[0]!.packet.toFixed(0)} bytes as sent, ${Math.max(1, Math.round((devices * GROUP_MS) / ms))} a commit`;
      report({ name: `log, bytes a packet: ${what}`, value: costs[0]!.disk, unit: 'B', note });
      reportMedian({ name: `write-ahead log, bytes a packet: ${what}`, unit: 'B' }, costs.map(({ wal }) => wal)); // prettier-ignore
      reportMedian({ name: `main thread: ${what}`, unit: 'µs' }, costs.map(({ mainUs }) => mainUs)); // prettier-ignore
      reportMedian({ name: `service, all threads: ${what}`, unit: 'µs' }, costs.map(({ allUs }) => allUs)); // prettier-ignore
      const postgres = costs.map(({ postgresUs }) => postgresUs).filter((us) => us !== null);
      if (postgres.length > 0) reportMedian({ name: `PostgreSQL: ${what}`, unit: 'µs' }, postgres);
    }
} finally {
  await server.drop();
}
