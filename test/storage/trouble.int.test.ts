// A database in trouble: connections cut in the middle of a COPY, statements cancelled, read-only, killed, no room on the disk. Whatever
// happens, what was acknowledged is there once, and what could not be kept was refused. On a server of its own, with fsync.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import { WriterConnection } from '../../src/storage/database/writer-connection.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { runsOf } from '../../src/storage/sample-rows.ts';
import { halvesOf, storeOrSetAside } from '../../src/storage/store-or-set-aside.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, until, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testRun, testSample } from '../helpers/recording.ts';

const SECOND = 1_000_000_000n;
const folder = mkdtempSync(join(tmpdir(), 'bio-trouble-'));
let server: EmbeddedPostgres;
let admin: pg.Client;
let database: TestDatabase;
let stream: OpenedStream;
let writers: Writers;

beforeAll(async () => {
  server = await startServer();
});
beforeEach(async () => {
  database = await testDatabase({}, server.url);
  const registry = new StreamRegistry(database);
  stream = await openTestStream(registry, await createTenant(database));
  writers = await openWriters(registry);
  admin = await adminOf();
  return async () => {
    await admin.end().catch(() => {});
    await writers.blocks.abandon();
    await writers.rows.close();
    await writers.log.close();
    await database.close();
  };
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const startServer = (port?: number): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ dataDir: join(folder, 'pg'), ...(port === undefined ? {} : { port }) });

async function adminOf(): Promise<pg.Client> {
  const client = new pg.Client(database.url);
  client.on('error', () => {});
  await client.connect();
  return client;
}

type Writers = Readonly<{ log: PacketLog; blocks: BlockWriter; rows: DerivedWriter; faults: string[] }>;

async function openWriters(registry: StreamRegistry, retryForMs = 60_000): Promise<Writers> {
  const faults: string[] = [];
  const onFault = (message: string): void => void faults.push(message);
  return {
    log: await PacketLog.open(database, registry, { lingerMs: 1, retryForMs, onRetry: (error) => onFault(error.message) }),
    blocks: new BlockWriter(database, { lingerMs: 5, onFault }),
    rows: new DerivedWriter(database, { currentMethods: [], lingerMs: 5, onFault }),
    faults,
  };
}

/** Writes one second everywhere. @returns when the log has it */
async function write(second: number): Promise<void> {
  const { log, blocks, rows } = writers;
  const batch = log.append({ streamId: stream.streamId, seq: second, receivedNs: 1n, bytes: Buffer.alloc(500, second % 256) });
  if (batch === 'busy') throw new Error('busy');
  const rates = stream.channels.map((channel) => channel.rateNanoHz);
  const value = {
    feature: 'hr_ecg',
    channelNo: -1,
    tNs: BigInt(second) * SECOND,
    value: second,
    qmask: 0,
    methodCode: 'derived:hr_ecg_v1',
  } as const;
  await batch.durable;
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, second * 250, 250)], batch.position);
  void rows.add({ streamId: stream.streamId, beats: [], features: [value], replaces: null }, stream.epochNs);
}

/** Everything is in the tables, once, and right. */
async function expectSeconds(count: number): Promise<void> {
  await writers.blocks.flush();
  await writers.rows.flush();
  const seconds = Array.from({ length: count }, (_, i) => i);
  const { rows: stored } = await database.pool.query<{ codec: Buffer }>(
    'select codec from sample_block where stream_id = $1 order by time',
    [stream.streamId],
  );
  const samples = stored.flatMap((row) => runsOf(row.codec).flatMap((run) => [...run.samples]));
  expect(samples).toEqual(Array.from({ length: 250 * count }, (_, k) => testSample(0, k)));
  const { rows: values } = await database.pool.query<{ value: number }>('select value from feature where stream_id = $1 order by time', [
    stream.streamId,
  ]);
  expect(values.map((row) => row.value)).toEqual(seconds);
  await writers.log.close();
  const next = await PacketLog.open(database, new StreamRegistry(database));
  const seqs: number[] = [];
  for await (const entry of next.recover()) seqs.push(entry.seq);
  await next.close();
  expect(seqs).toEqual(seconds);
}

const writersOf = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name = 'biosignal'`;

test('connections cut in the middle of a COPY, again and again', async () => {
  const acks: Promise<void>[] = [];
  for (let second = 0; second < 200; second++) {
    acks.push(write(second));
    if (second % 5 === 0)
      await admin.query(`select pg_terminate_backend(pid) ${writersOf} and (query ilike 'copy%' or ${second % 20} = 0)`);
    await sleep(4);
  }
  await Promise.all(acks);
  expect(writers.faults.length).toBeGreaterThan(5);
  await expectSeconds(200);
});

test('statements that wait for a lock and are cancelled (57014: a statement timeout) are done again', async () => {
  await write(0);
  await writers.blocks.flush();
  await writers.rows.flush();
  await admin.query('begin; lock table packet_log, sample_block, feature in access exclusive mode');
  const acks = Array.from({ length: 20 }, (_, i) => write(i + 1));
  const canceller = await adminOf();
  for (let i = 0; i < 10; i++) {
    await sleep(60);
    await canceller.query(`select pg_cancel_backend(pid) ${writersOf} and wait_event_type = 'Lock'`);
  }
  await canceller.end();
  expect(writers.faults.some((message) => /canceling statement/.test(message))).toBe(true);
  await admin.query('commit');
  await Promise.all(acks);
  await expectSeconds(21);
});

test('read-only after a failover (25006), then writable: waited for', async () => {
  await write(0);
  const { rows } = await admin.query<{ name: string }>('select current_database() as name');
  await admin.query(`alter database ${rows[0]!.name} set default_transaction_read_only = on`);
  await admin.query(`select pg_terminate_backend(pid) ${writersOf}`);
  const acks = Array.from({ length: 30 }, (_, i) => write(i + 1));
  await until(() => writers.faults.some((message) => /read-only transaction/.test(message)));
  await sleep(300);
  await admin.query(`set default_transaction_read_only = off; alter database ${rows[0]!.name} set default_transaction_read_only = off`);
  await admin.query(`select pg_terminate_backend(pid) ${writersOf}`);
  await Promise.all(acks);
  await expectSeconds(31);
});

// promise: ack-durable
test('PostgreSQL killed under load and started again, three times', async () => {
  const acks: Promise<void>[] = [];
  let second = 0;
  for (let round = 0; round < 3; round++) {
    for (const stopMs = performance.now() + 300; performance.now() < stopMs; await sleep(3)) acks.push(write(second++));
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    for (let i = 0; i < 20; i++) acks.push(write(second++));
    server = await startServer(server.port);
    await acks.at(-1);
  }
  await Promise.all(acks);
  expect(writers.faults.length).toBeGreaterThan(2);
  await expectSeconds(second);
});

// promise: database-away
// job: log-probe
test('no room on the disk (53100): refused, nothing of it kept, and taken when there is room', async ({ skip }) => {
  if (process.getuid?.() !== 0) return skip('SKIPPED: a full disk needs root, to mount a small one');
  const disk = join(server.dataDir, 'small-disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'bio-small-disk', disk]);
  } catch (error) {
    return skip(`SKIPPED: a small disk could not be mounted: ${(error as Error).message}`);
  }
  try {
    const { uid, gid } = statSync(join(server.dataDir, 'pgdata'));
    chownSync(disk, uid, gid);
    const { rows } = await admin.query<{ name: string }>('select current_database() as name');
    await admin.query(`create tablespace small_disk location '${disk}'`);
    await admin.query(`alter database ${rows[0]!.name} set default_tablespace = small_disk`);
    await writers.log.close();
    await writers.blocks.abandon();
    await writers.rows.close();
    writers = await openWriters(new StreamRegistry(database), 400);
    let second = 0;
    let refused: unknown = null;
    for (; refused === null && second < 60; second++) {
      const filler = { streamId: stream.streamId, seq: 1_000_000 + second, receivedNs: 1n, bytes: randomBytes(200_000) };
      const batch = writers.log.append(filler) as { durable: Promise<void> };
      await Promise.all([batch.durable, write(second)]).catch((error: unknown) => (refused = error));
    }
    expect(refused).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/No space left|could not extend/) as string });
    const before = await database.pool.query<{ n: number }>('select coalesce(max(batch_id), 0)::float8 as n from packet_log');
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    // a device sends again what was refused; 'busy' until the log has seen that there is room
    for (let tries = 0; ; tries++) {
      if (await write(second - 1).then(() => true).catch(() => false)) break; // prettier-ignore
      if (tries > 100) throw new Error('never taken again');
      await sleep(100);
    }
    const after = await database.pool.query<{ n: number }>('select max(batch_id)::float8 as n from packet_log');
    expect(after.rows[0]!.n).toBeGreaterThan(before.rows[0]!.n);
    await writers.blocks.flush();
    await writers.rows.flush();
    const stored = await database.pool.query<{ blocks: number; values: number }>(
      'select (select sum(n / 250)::int from sample_block) as blocks, (select count(*)::int from feature) as values',
    );
    expect(stored.rows).toEqual([{ blocks: second, values: second }]);
    await admin.query(`alter database ${rows[0]!.name} reset default_tablespace`);
  } finally {
    await writers.log.close();
    await writers.blocks.abandon();
    await writers.rows.close();
    const name = new URL(database.url).pathname.slice(1);
    await admin.end();
    const other = new pg.Client(server.url);
    await other.connect();
    await other.query(`drop database ${name} with (force)`);
    await other.query('drop tablespace if exists small_disk');
    await other.end();
    execFileSync('umount', ['-l', disk]);
  }
});

test('a batch whose statement gives no answer is stored in halves, each tried once, and nothing is set aside', async () => {
  await database.pool.query('create table row_of_batch (n integer)');
  const connection = new WriterConnection(database, { retryForMs: 0, answerTimeoutMs: 1000 });
  const asked: number[] = [];
  const faults: string[] = [];
  await storeOrSetAside<readonly number[]>([1, 2, 3, 4], false, {
    write: (part) => {
      asked.push(part.length);
      return connection.transaction(async (client) => {
        await client.query('insert into row_of_batch select * from unnest($1::int[])', [part]);
        await client.query('select pg_sleep($1)', [part.length > 2 ? 5 : 0]);
      });
    },
    halve: (part) => (part.length < 2 ? null : halvesOf(part)),
    setAside: () => Promise.reject(new Error('nothing is to be set aside')),
    forgetPartitions: () => {},
    isStopped: () => asked.length > 6,
    onFault: (error) => void faults.push((error as Error).message),
  });
  expect(asked).toEqual([4, 2, 2]);
  expect(faults).toEqual([expect.stringContaining('gave no answer within 1000 ms')]);
  expect((await database.pool.query('select n from row_of_batch order by n')).rows.map(({ n }) => n as number)).toEqual([1, 2, 3, 4]);
  await connection.close();
});
