/** Ownership of the packet log: an owner that was followed by another changes nothing any more, whatever it writes and whenever it
 *  wakes; one
 *  that only lost its connections goes on. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { locks, pairLocks } from '../../src/storage/database/locks.ts';
import { LOG_FORM } from '../../src/storage/log-batch.ts';
import { Ownership } from '../../src/storage/log-ownership.ts';
import { PacketHashes } from '../../src/storage/packet-hashes.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { openRoles } from '../../src/storage/database/roles.ts';
import { forgetLetter, keepLetter, putAside } from '../../src/storage/set-aside.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import type { OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testRun } from '../helpers/recording.ts';

const SEC = 1_000_000_000n;
let database: TestDatabase;
let stream: OpenedStream;
const open: (() => Promise<void>)[] = [];

beforeEach(async () => {
  database = await testDatabase();
  stream = await openTestStream(new StreamRegistry(database), await createTenant(database));
});
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close().catch(() => undefined);
  await database.close();
});

async function claim(options: Parameters<typeof Ownership.claim>[1] = {}): Promise<Ownership> {
  const ownership = await Ownership.claim(database, options);
  open.push(() => ownership.release());
  return ownership;
}

async function openLog(ownership: Ownership): Promise<PacketLog> {
  const log = await PacketLog.open(database, new StreamRegistry(database), { ownership, lingerMs: 1, retryForMs: 1000 });
  open.push(() => log.close());
  return log;
}

const append = async (log: PacketLog, seq: number): Promise<number> => {
  const batch = log.append({ streamId: stream.streamId, seq, receivedNs: 1n, bytes: new Uint8Array(50) });
  if (batch === 'busy') throw new Error('busy');
  await batch.durable;
  return batch.position;
};

const sessionLock = `locktype = 'advisory' and objsubid = 1 and pid <> pg_backend_pid()
  and database = (select oid from pg_database where datname = current_database())`;

/** Ends every connection but those of the test itself. */
const endSessions = (): Promise<unknown> =>
  database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );

const endLockHolder = `select pg_terminate_backend(pid) from pg_locks where ${sessionLock}`;

/** Another instance takes the log from a living owner, as it may when that one is cut off. @returns the newest batch that it saw */
async function takeFromLiving(): Promise<bigint> {
  const next = await database.connect();
  open.push(() => next.end());
  for (;;) {
    await next.query(endLockHolder);
    const { rows } = await next.query<{ newest: bigint }>(
      'select newest from claim_log(gen_random_uuid(), $1, (select epoch from packet_log_checkpoint), $2)',
      ['next', LOG_FORM],
    );
    if (rows[0] !== undefined) return rows[0].newest;
  }
}

type Rows = Readonly<{ batches: number; blocks: number; beats: number; values: number; reported: number; checkpoint: number }>;
const countRows = async (): Promise<Rows> =>
  (
    await database.pool.query<Rows>(
      `select (select count(*)::int from packet_log) as batches, (select sum(n)::int from sample_block) as blocks,
         (select count(*)::int from beat) as beats, (select count(*)::int from feature) as values,
         (select count(*)::int from measurement) as reported, (select batch_id::float8 from packet_log_checkpoint) as checkpoint`,
    )
  ).rows[0]!;

const derivedRows = (tNs: bigint) => ({
  streamId: stream.streamId,
  beats: [
    {
      channelNo: 0,
      tNs,
      ibiMs: 800,
      kind: 'normal' as const,
      reason: '',
      confidence: NaN,
      quality: 0 as const,
      method: 'derived:r_peaks_v19',
    },
  ],
  features: [{ feature: 'hr_ecg', channelNo: 0, tNs, value: 75, qmask: 0 as const, methodCode: 'derived:hr_ecg_v1' }],
  replaces: null,
});

// promise: takeover-loses-nothing
test('an owner that was replaced writes nothing: log, checkpoint, samples, derived and reported rows, deletes', async () => {
  const faults: string[] = [];
  const onFault = (message: string): void => void faults.push(message);
  const ownership = await claim();
  const log = await openLog(ownership);
  const blocks = new BlockWriter(ownership.fenced(database), { lingerMs: 5, incompleteAfterMs: 50, onFault });
  const newRows = (name: string): DerivedWriter => {
    const currentMethods = ['derived:r_peaks_v19', 'derived:hr_ecg_v1'];
    const writer = new DerivedWriter(ownership.fenced(database), {
      currentMethods,
      lingerMs: 5,
      onFault: (text) => onFault(`${name}: ${text}`),
    });
    open.push(() => writer.abandon());
    return writer;
  };
  const rows = newRows('inserted');
  const deleting = newRows('deleted');
  const reporting = newRows('reported');
  open.push(() => blocks.abandon());
  const rates = stream.channels.map((channel) => channel.rateNanoHz);
  await append(log, 0);
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, 0, 250)], log.durablePosition);
  await blocks.flush();
  await rows.add(derivedRows(SEC), stream.epochNs);
  const before = await countRows();
  expect(before).toMatchObject({ batches: 1, blocks: 250, beats: 1, values: 1 });

  await takeFromLiving();
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, 250, 250)], log.durablePosition + 1);
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, 125, 125)], log.durablePosition + 1); // merges: a delete and an insert
  void rows.add(derivedRows(2n * SEC), stream.epochNs);
  void deleting.add({ streamId: stream.streamId, beats: [], features: [], replaces: { fromNs: 0n, toNs: 10n * SEC } }, stream.epochNs);
  const reported = {
    streamId: stream.streamId,
    seq: 9,
    index: 0,
    subjectId: stream.subjectId,
    code: 'battery',
    tsNs: stream.epochNs,
    value: 1,
  };
  void reporting.addReported([{ ...reported, unit: '%', quality: 0 }], []);
  for (const name of ['samples', 'inserted', 'deleted', 'reported'])
    await until(() => faults.some((text) => text.startsWith(name) && text.includes('another instance has taken')));
  await expect(append(log, 1)).rejects.toThrow(/taken over|busy/);
  await expect(log.checkpoint(log.durablePosition)).rejects.toThrow('another instance has taken');
  expect(await ownership.ended).toContain('start again');
  expect(log.append({ streamId: stream.streamId, seq: 2, receivedNs: 1n, bytes: new Uint8Array(1) })).toBe('busy');
  expect(await countRows()).toEqual(before);
});

test('an owner that was replaced writes nothing over the pool either: channels, hashes, what was set aside', async () => {
  const roles = await openRoles(database);
  open.push(() => roles.close());
  const ownership = await claim();
  const write = ownership.writing(roles.ingest);
  const registry = new StreamRegistry(roles.ingest, write);
  const hashes = new PacketHashes(roles.ingest, { write });
  const letter = { kind: 'packet', streamId: stream.streamId, reason: 'test', sqlState: null, logPosition: 1, content: null } as const;
  const channel = { ...stream.channels[0]!, code: 'ecg.new', gain: 7 };
  const rows = async () =>
    (
      await database.pool.query<{ channels: number; hashes: number; letters: number; marked: number }>(
        `select (select count(*)::int from stream_channel) as channels, (select count(*)::int from packet_hash) as hashes,
           (select count(*)::int from set_aside) as letters, (select count(*)::int from set_aside where replay_at is not null) as marked`,
      )
    ).rows[0]!;
  await registry.addChannels(stream.streamId, stream.channels.length, [channel]);
  hashes.note(stream.streamId, 0, 1);
  await hashes.save();
  await write((client) => putAside(client, [{ ...letter, bytes: Buffer.from('a') }]));
  await database.pool.query('update set_aside set replay_at = now()');
  const before = await rows();
  expect(before).toEqual({ channels: stream.channels.length + 1, hashes: 1, letters: 1, marked: 1 });

  await takeFromLiving();
  const { rows: letters } = await database.pool.query<{ id: bigint }>('select id from set_aside');
  hashes.note(stream.streamId, 1, 2);
  const refused = { code: 'BS001' };
  await expect(registry.addChannels(stream.streamId, stream.channels.length + 1, [channel])).rejects.toMatchObject(refused);
  await expect(hashes.save()).rejects.toMatchObject(refused);
  await expect(write((client) => putAside(client, [{ ...letter, bytes: Buffer.from('b') }]))).rejects.toMatchObject(refused);
  await expect(write((client) => forgetLetter(client, letters[0]!.id))).rejects.toMatchObject(refused);
  await expect(write((client) => keepLetter(client, letters[0]!.id, letter))).rejects.toMatchObject(refused);
  // Code that forgets to say whose it is
  await expect(new StreamRegistry(roles.ingest).addChannels(stream.streamId, 9, [channel])).rejects.toMatchObject(refused);
  expect(await rows()).toEqual(before);
  expect(ownership.lost).toContain('start again');
});

test('an owner that lost every connection goes on while nobody else has claimed', async () => {
  const ownership = await claim();
  const log = await openLog(ownership);
  const first = await append(log, 0);
  for (let i = 1; i <= 5; i++) {
    await endSessions();
    expect(await append(log, i)).toBeGreaterThan(first);
  }
  await until(() => ownership.unconfirmedMs < 500);
  expect(ownership.lost).toBeNull();
  expect(await countRows()).toMatchObject({ batches: 6 });
});

test('a claim that waited too long for a commit under way is tried again, and does not stand in its own way', async () => {
  const before = await claim();
  const committing = await database.connect();
  try {
    await committing.query('begin');
    await committing.query('select pg_advisory_xact_lock_shared($1, $2)', [...pairLocks.logHold]);
    await before.release();
    let faults = 0;
    const waiting = Ownership.claim(database, { onFault: () => (faults += 1) });
    await until(() => faults > 0, 20_000);
    await committing.query('rollback');
    const after = await waiting;
    expect(after.epoch).toBeGreaterThan(before.epoch);
    await after.release();
  } finally {
    await committing.end();
  }
});

// job: ownership
test('an owner that lost its lock regains it before a waiting instance takes it', async () => {
  const ownership = await claim();
  const abort = new AbortController();
  // One that has just been started takes a free log at once; this one has seen that the log has an owner.
  let told = false;
  const waiting = Ownership.claim(database, { signal: abort.signal, onStandby: () => (told = true) });
  await until(() => told);
  let longestMs = 0;
  const confirmed = (): boolean => {
    longestMs = Math.max(longestMs, ownership.unconfirmedMs);
    return ownership.lost !== null || ownership.unconfirmedMs < 300;
  };
  for (let i = 0; i < 3 && ownership.lost === null; i++) {
    await database.pool.query(endLockHolder);
    await until(() => ownership.unconfirmedMs > 300);
    await until(confirmed, 30_000);
  }
  // A machine that is busy for longer than the other one waits hands the log over, which is right.
  if (longestMs < 1500) expect(ownership.lost).toBeNull();
  abort.abort();
  await expect(waiting).rejects.toThrow();
});

test('the numbers of a later owner are above all that were written, also where another release or a restore left higher ones', async () => {
  const first = await openLog(await claim());
  const before = await append(first, 0);
  await first.close();
  for (const close of open.splice(0).toReversed()) await close();
  await database.pool.query(`insert into packet_log (time, batch_id, part, packet_count, data) select time, $1, 1, 0, '' from packet_log`, [
    (7n << 32n).toString(),
  ]);
  const second = await claim();
  expect(second.epoch).toBe(8n);
  expect(second.newest).toBe(7 * 2 ** 32);
  const log = await openLog(second);
  const after = await append(log, 1);
  expect(after).toBeGreaterThan(before);
  expect(after).toBe(8 * 2 ** 32 + 1);
});

// promise: log-form
test('a release that cannot read packed batches has the log until one that packs has had it, and is told why afterwards', async () => {
  const older = await database.connect();
  open.push(() => older.end());
  // as releases before packing claim
  const claimed = (): Promise<{ rowCount: number | null }> =>
    older.query(`select from claim_log(gen_random_uuid(), 'older', (select epoch from packet_log_checkpoint))`);
  expect((await claimed()).rowCount).toBe(1);
  await older.query('select pg_advisory_unlock($1)', [locks.packetLog.toString()]);
  const newer = await openLog(await claim());
  const position = await append(newer, 0);
  await newer.close();
  for (const close of open.splice(1).toReversed()) await close();
  await expect(claimed()).rejects.toMatchObject({ code: '55000', message: expect.stringMatching(/cannot read/) as string });
  // It has left nothing behind: the next one that can read the batches has them.
  const next = await claim();
  expect(next.newest).toBe(position);
});

test('a claim waits for what the owner is committing, and counts it', async () => {
  const ownership = await claim();
  const writer = await ownership.fenced(database).connect();
  open.push(() => writer.end());
  const position = (ownership.epoch << 32n) + 5n;
  if (database.kind === 'postgres') await database.pool.query(`select ensure_partitions('packet_log', now(), now())`);
  await writer.query('begin');
  await writer.query(`insert into packet_log (time, batch_id, part, packet_count, data) values (now(), $1, 0, 0, '')`, [
    position.toString(),
  ]);
  let claimed: bigint | null = null;
  const claiming = takeFromLiving().then((newest) => (claimed = newest));
  await until(async () => {
    const { rowCount } = await database.pool.query(`select from pg_locks where locktype = 'advisory' and objsubid = 2 and not granted
      and database = (select oid from pg_database where datname = current_database())`);
    return rowCount === 1;
  });
  expect(claimed).toBeNull();
  await writer.query('commit');
  expect(await claiming).toBe(position);
  await expect(writer.query('delete from packet_log')).rejects.toMatchObject({ code: 'BS001' });
});

test('the roles of the data path write with an epoch only; the login and what people report need none', async () => {
  const roles = await openRoles(database);
  open.push(() => roles.close());
  if (roles.without !== null) return;
  const insert = (as: Database): Promise<unknown> => as.pool.query('delete from sample_block');
  await insert(roles.ingest); // before there was any owner
  const ownership = await claim();
  await expect(insert(roles.ingest)).rejects.toMatchObject({ code: 'BS001' });
  await expect(roles.worker.pool.query('delete from beat_block')).rejects.toMatchObject({ code: 'BS001' });
  const fenced = await ownership.fenced(roles.worker).connect();
  open.push(() => fenced.end());
  await fenced.query('delete from beat_block');
  await insert(database);
});

test('the log of an earlier release, which does not renew, is not taken while its lock is held', async () => {
  const earlier = await database.connect();
  open.push(() => earlier.end());
  await earlier.query('select pg_advisory_lock($1)', [locks.packetLog]);
  await expect(claim({ waitMs: 400 })).rejects.toMatchObject({ code: 'conflict' });
  const waiting = claim();
  await earlier.query('select pg_advisory_unlock($1)', [locks.packetLog]);
  expect((await waiting).epoch).toBe(1n);
});

test('a released log is taken at once by the waiting instance', async () => {
  const first = await claim();
  const waiting = Ownership.claim(database, { instance: { id: '00000000-0000-4000-8000-000000000001', name: 'second' } });
  await first.release();
  const second = await waiting;
  open.push(() => second.release());
  expect(second.epoch).toBe(first.epoch + 1n);
  const { rows } = await database.pool.query('select owner_name from packet_log_checkpoint');
  expect(rows).toEqual([{ owner_name: 'second' }]);
});
