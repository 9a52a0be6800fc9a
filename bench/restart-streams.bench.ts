/** Cost of a start after the service was killed with streams open: on the clock and in processor time (service and PostgreSQL), until
 *  the service listens, until it acknowledges a packet of a stream that was open, and until every value is computed and the checkpoint has
 *  passed the log. Every device sends an ECG of 250 Hz in packets of a second.
 *
 *  node bench/restart-streams.bench.ts      BENCH_STREAMS=10,100,1000  BENCH_SEC=30  BIO_BENCH_DATABASE_URL=... (else embedded
 *  PostgreSQL) */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { openBenchDatabase, type BenchDatabase } from './lib/bench-database.ts';
import { ecgPacket } from './lib/packets.ts';
import { threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';
import { startLoad, startServiceProcess } from './lib/service-process.ts';

const counts = (process.env['BENCH_STREAMS'] ?? '10,100,1000').split(',').map(Number);
const sec = Number(process.env['BENCH_SEC'] ?? (process.env['BENCH_FULL'] === '1' ? 90 : 30));
const GIVE_UP_MS = 300_000;

type Cost = Readonly<{ sec: number; serviceSec: number; postgresSec: number }>;

for (const count of counts) {
  const database = await openBenchDatabase();
  const client = new pg.Client(database.url);
  try {
    await client.connect();
    await measure(count, database, client);
  } finally {
    await client.end().catch(() => undefined);
    await database.drop();
  }
}

async function measure(count: number, database: BenchDatabase, client: pg.Client): Promise<void> {
  const killed = await startServiceProcess('full', { DATABASE_URL: database.url });
  const plan = { devices: count, viewersPerDevice: 0, channels: 1, fs: 250, packetMs: 1000, warmSec: 0, sec };
  const load = await startLoad(killed, plan);
  await load.result;
  process.kill(killed.pid, 'SIGKILL');
  await load.stop();

  const postgresBefore = postgresSec(database);
  const begunMs = performance.now();
  const service = await startServiceProcess('full', { DATABASE_URL: database.url });
  const cost = (): Cost => ({
    sec: (performance.now() - begunMs) / 1000,
    serviceSec: threadsCpuSec(service.pid).all,
    postgresSec: postgresSec(database) - postgresBefore,
  });
  try {
    tell(count, 'listens', cost());
    await sendOne(service.port, killed.key, client);
    tell(count, 'acknowledges', cost(), 'bound at 1,000 streams: 5 s of CPU, service and PostgreSQL together');
    await caughtUp(client);
    tell(count, 'has caught up', cost());
  } finally {
    await service.stop();
  }
}

function tell(count: number, what: string, cost: Cost, note = ''): void {
  const name = `${count} streams: ${what}`;
  report({ name: `${name}, time`, value: cost.sec, unit: 's', note });
  report({ name: `${name}, CPU of the service`, value: cost.serviceSec, unit: 's', note });
  report({ name: `${name}, CPU of PostgreSQL`, value: cost.postgresSec, unit: 's', note });
}

function postgresSec({ postmasterPid }: BenchDatabase): number {
  return postmasterPid === null ? NaN : treeCpuSec(postmasterPid);
}

/** The next packet of one of the streams, again and again until it is acknowledged. */
async function sendOne(port: number, key: string, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ device: string; boot: string; subject: string }>(
    `select d.external_id as device, encode(s.boot_id, 'hex') as boot, x.external_id as subject
     from stream s join device d on d.id = s.device_id join xuser x on x.id = s.xuser_id limit 1`,
  );
  const { device, boot, subject } = rows[0]!;
  const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: device });
  const t0DeviceNs = BigInt(sec + 60) * 1_000_000_000n;
  const bytes = encodePacket({ ...packet!, bootId: boot, subject, seq: 1_000_000, t0DeviceNs, t0UnixNs: 0n, sentUnixNs: 0n });
  for (const untilMs = performance.now() + GIVE_UP_MS; performance.now() < untilMs; await sleep(20)) {
    const answer = await fetch(`http://127.0.0.1:${port}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(bytes),
    });
    const text = await answer.text();
    if (answer.status === 202 && text.includes('"rejected":[]')) return;
    if (answer.status !== 503) throw new Error(`refused: ${answer.status} ${text}`);
  }
  throw new Error('nothing was acknowledged');
}

/** The checkpoint passes a packet when its samples are stored and the values of its stream are computed. */
async function caughtUp(client: pg.Client): Promise<void> {
  for (const untilMs = performance.now() + GIVE_UP_MS; performance.now() < untilMs; await sleep(100)) {
    const { rows } = await client.query<{ done: boolean }>(
      'select batch_id >= (select max(batch_id) from packet_log) as done from packet_log_checkpoint',
    );
    if (rows[0]!.done) return;
  }
  throw new Error('the checkpoint stays behind');
}
