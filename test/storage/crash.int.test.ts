// A service that is killed at any instant has lost no packet that it acknowledged, and stored none twice.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StreamId } from '../../src/signal.ts';
import type { LogEntry } from '../../src/storage/log-batch.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { runsOf } from '../../src/storage/sample-rows.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase, until } from '../helpers/database.ts';
import { createTenant, openTestStream, testSample, type TestTenant } from '../helpers/recording.ts';

const rounds = Number(process.env['BIO_TEST_CRASH_ROUNDS'] ?? 8);
let database: TestDatabase;
let tenant: TestTenant;
beforeAll(async () => {
  database = await testDatabase();
  tenant = await createTenant(database);
});
afterAll(() => database.close());

/** Runs the child, kills it some time after its first acknowledgement. @returns its acknowledgements, in the order in which it gave them */
async function runAndKill(firstSeq: number, streamId: number, afterMs: number): Promise<{ acks: number[]; first: string }> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'test/helpers/storage-child.ts', database.url, String(firstSeq), String(streamId)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let text = '';
  let armed = false;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (armed || !text.includes('ack')) return;
    armed = true;
    setTimeout(() => child.kill('SIGKILL'), afterMs);
  });
  await new Promise((done) => child.once('close', done));
  const lines = text.split('\n').slice(0, -1); // the last line may be cut
  return { acks: lines.filter((line) => line.startsWith('ack')).map((line) => Number(line.slice(4))), first: lines[0] ?? '' };
}

// promise: replay, ack-durable, log-batches
test(`killed ${rounds} times: every acknowledged sample is there once`, async () => {
  const stream = await openTestStream(new StreamRegistry(database), tenant);
  let next = 0;
  for (let round = 0; round < rounds; round++) {
    const { acks } = await runAndKill(next, stream.streamId, (round * 37) % 230);
    expect(acks).toEqual(Array.from({ length: acks.length }, (_, i) => next + i));
    expect(acks.length).toBeGreaterThan(0);
    next += acks.length; // the device sends again what was not acknowledged
  }
  const { acks } = await runAndKill(next, stream.streamId, 1500);
  next += acks.length;
  // The rest of the log is what a last start would recover: the child above recovered all but its own end.
  const recovered = new Map<number, number>();
  const registry = new StreamRegistry(database);
  const log = await PacketLog.open(database, registry);
  for await (const entry of log.recover()) recovered.set(Buffer.from(entry.bytes).readUInt32LE(0), entry.seq);
  await log.close();
  const { rows } = await database.pool.query<{ channel_no: number; codec: Buffer }>(
    'select channel_no, codec from sample_block where stream_id = $1 order by time',
    [stream.streamId],
  );
  for (const channelNo of [0, 1]) {
    const seen = new Map<number, number>();
    for (const row of rows.filter((row) => row.channel_no === channelNo)) {
      for (const run of runsOf(row.codec)) {
        run.samples.forEach((value, i) => {
          expect(seen.has(run.k0 + i)).toBe(false);
          seen.set(run.k0 + i, value);
        });
      }
    }
    for (let k = 0; k < next * 25; k++) if (!recovered.has(k - (k % 25))) expect([k, seen.get(k)]).toEqual([k, testSample(channelNo, k)]);
    for (const [k, value] of seen) expect(value).toBe(testSample(channelNo, k));
  }
  const again = await registry.findStream(stream.streamId);
  expect(again!.seqRanges).toHaveLength(1);
  expect(again!.seqRanges[0]![1]).toBeGreaterThanOrEqual(next - 1);
});

const entry = (streamId: StreamId, seq: number, size = 100): LogEntry => ({
  streamId,
  seq,
  receivedNs: 1n,
  bytes: Buffer.alloc(size, seq % 256),
});

// promise: replay, log-batches
test('the log gives back what was acknowledged, in order, whatever the sizes', async () => {
  const other = await testDatabase();
  const registry = new StreamRegistry(other);
  const stream = await openTestStream(registry, await createTenant(other));
  const log = await PacketLog.open(other, registry, { lingerMs: 1, batchBytesMax: 20_000 });
  const sizes = Array.from({ length: 200 }, (_, i) => (i * 7919) % 9000);
  await Promise.all(sizes.map((size, seq) => (log.append(entry(stream.streamId, seq, size)) as { durable: Promise<void> }).durable));
  await log.close();
  const next = await PacketLog.open(other, registry);
  const got: LogEntry[] = [];
  for await (const one of next.recover()) got.push(one);
  expect(got.map((one) => [one.seq, one.bytes.length])).toEqual(sizes.map((size, seq) => [seq, size]));
  expect(got.every((one) => one.bytes.every((byte) => byte === one.seq % 256))).toBe(true);
  await next.checkpoint(next.durablePosition);
  await next.close();
  const later = await PacketLog.open(other, new StreamRegistry(other));
  for await (const one of later.recover()) expect.unreachable(`seq ${one.seq} came again after the checkpoint`);
  expect((await new StreamRegistry(other).findStream(stream.streamId))!.seqRanges).toEqual([[0, 199]]);
  await later.close();
  await other.close();
});

test('a large batch is stored as it is while the thread that packs is not there, and packed when it is', async () => {
  await using other = await testDatabase();
  const registry = new StreamRegistry(other);
  const { streamId } = await openTestStream(registry, await createTenant(other));
  const log = await PacketLog.open(other, registry);
  let seq = 0;
  /** @returns bytes of it in the table */
  const commit = async (): Promise<number> => {
    const batches = Array.from(
      { length: 20 },
      () => log.append(entry(streamId, seq++, 8000)) as { position: number; durable: Promise<void> },
    );
    await Promise.all(batches.map(({ durable }) => durable));
    const { rows } = await other.pool.query<{ bytes: number }>(
      'select sum(length(data))::int as bytes from packet_log where batch_id = (select max(batch_id) from packet_log)',
    );
    return rows[0]!.bytes;
  };
  expect(await commit()).toBeGreaterThan(160_000); // the thread is loading
  await until(async () => (await commit()) < 10_000);
  await log.close();
  const next = await PacketLog.open(other, registry);
  let read = 0;
  for await (const one of next.recover()) {
    expect([one.seq, one.bytes.length, one.bytes.every((byte) => byte === one.seq % 256)]).toEqual([read, 8000, true]);
    read++;
  }
  expect(read).toBe(seq);
  await next.close();
});

// promise: one-owner
test('a second service is refused while the first holds the log', async () => {
  const registry = new StreamRegistry(database);
  const first = await PacketLog.open(database, registry);
  await expect(PacketLog.open(database, registry, { lockWaitMs: 100 })).rejects.toMatchObject({ code: 'conflict' });
  await first.close();
  await (await PacketLog.open(database, registry)).close();
});

// promise: queues-bounded
test('a full queue answers busy and keeps nothing; it takes packets again when it has drained', async () => {
  const registry = new StreamRegistry(database);
  const stream = await openTestStream(registry, tenant);
  const log = await PacketLog.open(database, registry, { queueBytesMax: 10_000 });
  const batches = Array.from({ length: 20 }, (_, seq) => log.append(entry(stream.streamId, 10_000 + seq, 976)));
  expect(batches.filter((batch) => batch === 'busy')).toHaveLength(10);
  await (batches[0] as { durable: Promise<void> }).durable;
  expect(log.append(entry(stream.streamId, 20_000))).not.toBe('busy');
  await log.close();
  expect(log.append(entry(stream.streamId, 20_001))).toBe('busy');
});

test('a cut connection delays an acknowledgement, and the packet is stored once', async () => {
  const other = await testDatabase();
  const registry = new StreamRegistry(other);
  const stream = await openTestStream(registry, await createTenant(other));
  const log = await PacketLog.open(other, registry, { lingerMs: 1 });
  const acks: Promise<void>[] = [];
  for (let seq = 0; seq < 60; seq++) {
    acks.push((log.append(entry(stream.streamId, seq)) as { durable: Promise<void> }).durable);
    if (seq % 6 === 0)
      await other.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query !~ 'pg_terminate'`,
      );
    await sleep(3);
  }
  await Promise.all(acks);
  await log.close();
  const next = await PacketLog.open(other, registry);
  const seqs: number[] = [];
  for await (const one of next.recover()) seqs.push(one.seq);
  expect(seqs).toEqual(Array.from({ length: 60 }, (_, seq) => seq));
  await next.close();
  await other.close();
});

// promise: database-away
test('packets are refused and nothing of them is kept when the database stays unavailable', async () => {
  const other = await testDatabase();
  const registry = new StreamRegistry(other);
  const stream = await openTestStream(registry, await createTenant(other));
  const log = await PacketLog.open(other, registry, { lingerMs: 1, retryForMs: 300 });
  const name = (await other.pool.query<{ d: string }>('select current_database() as d')).rows[0]!.d;
  await other.pool.query(`alter database ${name} set default_transaction_read_only = on`); // a standby after a failover: 25006
  await other.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  const refused = log.append(entry(stream.streamId, 1));
  await expect((refused as { durable: Promise<void> }).durable).rejects.toMatchObject({ code: 'unavailable' });
  await other.pool.query(`set default_transaction_read_only = off; alter database ${name} set default_transaction_read_only = off`);
  await (log.append(entry(stream.streamId, 1)) as { durable: Promise<void> }).durable;
  await log.close();
  await other.close();
});
