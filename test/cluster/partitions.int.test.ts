/** Partitions on a real database: each has an owner of its own, and what a former owner of one writes is refused, whatever the table and
 *  however old the connection. The rules are those of the histories (leases.test.ts); here SQL is held to them. */
import type pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { EPOCH_POSITIONS } from '../../src/cluster/held-partitions.ts';
import { locks } from '../../src/storage/database/locks.ts';
import { openRoles } from '../../src/storage/database/roles.ts';
import { LOG_FORM } from '../../src/storage/log-batch.ts';
import { Ownership } from '../../src/storage/log-ownership.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const PARTITIONS = 4;
const refused = { code: 'BS001' };
let database: TestDatabase;
const open: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  if (database.kind === 'postgres')
    await database.pool.query(`select ensure_partitions(relation, now(), now()) from unnest('{packet_log,packet_hash}'::text[]) relation`);
});
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close().catch(() => undefined);
  await database.close();
});

type Claimed = Readonly<{ partition: number; epoch: bigint; checkpoint: bigint; newest: bigint }>;

const epochsOf = async (partitions: readonly number[]): Promise<bigint[]> => {
  const { rows } = await database.pool.query<{ partition: number; epoch: bigint }>('select partition, epoch from packet_log_checkpoint');
  return partitions.map((wanted) => rows.find(({ partition }) => partition === wanted)?.epoch ?? -1n);
};

/** @param seen the epochs, as they were looked at some time ago */
async function claim(
  partitions: readonly number[],
  seen?: readonly bigint[],
  client: pg.ClientBase | pg.Pool = database.pool,
): Promise<Claimed[]> {
  const epochs = (seen ?? (await epochsOf(partitions))).map(String);
  const { rows } = await client.query<Claimed>('select * from claim_partitions(gen_random_uuid(), $1, $2::smallint[], $3::bigint[], $4)', [
    'a node',
    partitions,
    epochs,
    LOG_FORM,
  ]);
  return rows;
}

/** A connection that writes for a node. */
async function writerOf(claimed: readonly Claimed[]): Promise<pg.Client> {
  const client = await database.connect();
  open.push(() => client.end());
  await name(client, claimed);
  return client;
}

const name = (client: pg.Client, claimed: readonly Claimed[]): Promise<unknown> =>
  client.query(`select set_config('bio.partitions', $1, false), set_config('bio.epochs', $2, false)`, [
    `{${claimed.map(({ partition }) => partition).join()}}`,
    `{${claimed.map(({ epoch }) => epoch).join()}}`,
  ]);

const appendTo = (client: pg.ClientBase, partition: number, position: bigint): Promise<unknown> =>
  client.query(`insert into packet_log (time, batch_id, part, packet_count, data, partition) values (now(), $1, 0, 0, '', $2)`, [
    position.toString(),
    partition,
  ]);

test('a claim of one partition refuses its former owner, in every table, and nobody else', async () => {
  const first = await claim([0, 1]);
  const others = await claim([2, 3]);
  expect(new Set([...first, ...others].map(({ epoch }) => epoch)).size).toBe(2);
  const [before, other] = [await writerOf(first), await writerOf(others)];
  await appendTo(before, 0, (first[0]!.epoch << 32n) + 1n);
  await appendTo(other, 2, (others[0]!.epoch << 32n) + 1n);

  await claim([1]);
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `select distinct tgrelid::regclass::text as name from pg_trigger where tgname like '%\\_fence' and not tgisinternal
       and tgrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace and not relispartition) order by 1`,
  );
  expect(tables.map((table) => table.name)).toEqual(
    expect.arrayContaining(['beat_block', 'derived_open', 'device_event', 'feature_block', 'measurement', 'packet_log', 'sample_block']),
  );
  for (const table of tables) {
    await expect(before.query(`delete from ${table.name}`), table.name).rejects.toMatchObject(refused);
    await expect(
      before.query(`insert into ${table.name} overriding system value select * from ${table.name} limit 0`),
      table.name,
    ).rejects.toMatchObject(refused);
    await other.query(`delete from ${table.name} where false`);
  }
  await expect(
    before.query(`select hold_partitions('{0,1}', $1::bigint[])`, [[0, 1].map((i) => first[i]!.epoch.toString())]),
  ).rejects.toMatchObject(refused);
  // What it still has, it writes again without the one it has lost.
  await name(before, [first[0]!]);
  await appendTo(before, 0, (first[0]!.epoch << 32n) + 2n);
});

test('an epoch is above every epoch and every number before it, of any partition; a number never comes again', async () => {
  const [first] = await claim([0]);
  const writer = await writerOf([first!]);
  await appendTo(writer, 0, ((first!.epoch + 6n) << 32n) + 5n); // as a restore may leave it
  const [second] = await claim([1]);
  expect(second!.epoch).toBe(first!.epoch + 7n);
  expect(second!.newest).toBe(((first!.epoch + 6n) << 32n) + 5n);
  const back = await claim([0]);
  expect(back[0]!.epoch).toBe(second!.epoch + 1n);
});

test('a claim by stale sight takes nothing; of several it takes all or none', async () => {
  const seen = await epochsOf([0, 1]);
  await claim([1]);
  const before = await epochsOf([0, 1, 2, 3]);
  expect(await claim([0, 1], seen)).toEqual([]);
  expect(await claim([0, 9], [seen[0]!, 0n])).toEqual([]);
  expect(await epochsOf([0, 1, 2, 3])).toEqual(before);
});

test('a claim waits for what its owner is committing, not for owners of other partitions, and a write that waited for it is refused', async () => {
  const [zero, one] = [(await claim([0]))[0]!, (await claim([1]))[0]!];
  const [committing, other, late] = [await writerOf([zero]), await writerOf([one]), await writerOf([zero])];
  const position = (zero.epoch << 32n) + 5n;
  await appendTo(committing, 0, zero.epoch << 32n); // TimescaleDB: who makes a chunk keeps others out of it until the commit
  await committing.query('begin');
  await appendTo(committing, 0, position);
  await other.query('begin');
  await appendTo(other, 1, (one.epoch << 32n) + 1n);
  const waiting = async (n: number): Promise<void> =>
    until(async () => {
      const { rowCount } = await database.pool.query(`select from pg_locks where locktype = 'advisory' and objsubid = 2 and not granted
        and database = (select oid from pg_database where datname = current_database())`);
      return rowCount === n;
    });
  const claiming = claim([0]);
  await waiting(1);
  const refusing = expect(appendTo(late, 0, position + 1n)).rejects.toMatchObject(refused);
  await waiting(2);
  expect(await claim([2])).toHaveLength(1); // nothing in its way
  await committing.query('commit');
  expect((await claiming)[0]!.newest).toBe(position);
  await refusing;
  await other.query('commit');
});

test('a history of claims and writes in any order: the database accepts what the rules accept', async () => {
  const random = createRandom(20, 'partitions');
  const below = (n: number): number => Math.floor(random.next() * n);
  const nodes = await Promise.all([0, 1, 2].map(async () => ({ held: new Map<number, Claimed>(), client: await writerOf([]) })));
  const epochs = new Map<number, bigint>();
  let seen = await epochsOf([0, 1, 2, 3]);
  const given = new Set<bigint>();
  const outcomes = { claimed: 0, stale: 0, written: 0, refused: 0 };
  for (const [partition, epoch] of seen.entries()) epochs.set(partition, epoch);
  for (let i = 0; i < 300; i++) {
    const node = nodes[below(3)]!;
    if (below(5) === 0) seen = await epochsOf([0, 1, 2, 3]);
    if (below(3) === 0) {
      const wanted = [0, 1, 2, 3].filter(() => below(2) === 0);
      if (wanted.length === 0) continue;
      const isFresh = wanted.every((partition) => epochs.get(partition) === seen[partition]);
      const claimed = await claim(wanted, wanted.map((partition) => seen[partition]!)); // prettier-ignore
      expect(claimed.map(({ partition }) => partition).toSorted((a, b) => a - b)).toEqual(isFresh ? wanted : []);
      outcomes[isFresh ? 'claimed' : 'stale']++;
      for (const one of claimed) {
        node.held.set(one.partition, one);
        epochs.set(one.partition, one.epoch);
      }
      for (const { epoch } of claimed.slice(0, 1)) {
        expect(given.has(epoch)).toBe(false);
        given.add(epoch);
      }
      await name(node.client, [...node.held.values()]);
    } else if (node.held.size > 0) {
      const [...held] = node.held.values();
      const may = held.every(({ partition, epoch }) => epochs.get(partition) === epoch);
      const newest = held.map(({ epoch }) => epoch).reduce((a, b) => (a > b ? a : b));
      const writing = appendTo(node.client, held[0]!.partition, (newest << 32n) + BigInt(i + 1));
      if (may) await writing;
      else await expect(writing).rejects.toMatchObject(refused);
      outcomes[may ? 'written' : 'refused']++;
      if (may || below(2) === 0) continue;
      for (const { partition, epoch } of held) if (epochs.get(partition) !== epoch) node.held.delete(partition);
      await name(node.client, [...node.held.values()]);
    }
  }
  for (const count of Object.values(outcomes)) expect(count, JSON.stringify(outcomes)).toBeGreaterThan(15);
});

test('the log keeps what one partition has not stored yet, however far the others are', async () => {
  const claimed = await claim([0, 1, 2, 3]);
  const writer = await writerOf(claimed);
  const position = (claimed[0]!.epoch << 32n) + 1n;
  await appendTo(writer, 3, position);
  await database.pool.query(`update retention set keep = '1 hour' where relation = 'packet_log'`);
  const cutoff = async (): Promise<boolean> =>
    (await database.pool.query<{ kept: boolean }>(
      `select retention_cutoff('packet_log') <= (select min(time) from packet_log) as kept from pg_sleep(0)`,
    )).rows[0]!.kept; // prettier-ignore
  const old = `update packet_log set time = time - interval '2 hours'`;
  if (database.kind === 'postgres') await database.pool.query(`select ensure_partitions('packet_log', now() - interval '3 hours', now())`);
  await (database.kind === 'postgres' ? writer.query(old) : moveBack(writer));
  await database.pool.query('update packet_log_checkpoint set batch_id = $1 where partition < 3', [position.toString()]);
  expect(await cutoff()).toBe(true);
  await database.pool.query('update packet_log_checkpoint set batch_id = $1', [position.toString()]);
  expect(await cutoff()).toBe(false);
});

/** A row of a hypertable cannot be updated into another chunk. */
async function moveBack(writer: pg.Client): Promise<void> {
  await writer.query(
    `insert into packet_log select time - interval '2 hours', batch_id, part, packet_count, data, partition from packet_log`,
  );
  await writer.query(`delete from packet_log where time > now() - interval '1 hour'`);
}

test('the number of partitions changes only when everything is stored, and nobody writes by the number before', async () => {
  const claimed = await claim([0, 1, 2, 3]);
  const writer = await writerOf(claimed);
  const position = (claimed[0]!.epoch << 32n) + 1n;
  await appendTo(writer, 2, position);
  await expect(database.pool.query('select set_partitions(6::smallint)')).rejects.toThrow('not in the tables: start the service once');
  await database.pool.query('update packet_log_checkpoint set batch_id = $1', [position.toString()]);
  await database.pool.query('select set_partitions(6::smallint)');
  await expect(appendTo(writer, 2, position + 1n)).rejects.toMatchObject(refused);
  const { rows } = await database.pool.query<{ owner: string | null; batch_id: bigint }>(
    'select owner, batch_id from packet_log_checkpoint',
  );
  expect(rows).toEqual(Array.from({ length: 6 }, () => ({ owner: null, batch_id: position })));
  const next = await Ownership.claim(database);
  open.push(() => next.release());
  expect(next.held.partitions.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(next.held.nextPosition()).toBe(Number(next.epoch) * EPOCH_POSITIONS + 1);
});

test('a release that knows one partition has the log while there is one, and is told why not when there are more', async () => {
  const older = await database.connect();
  open.push(() => older.end());
  const take = (): Promise<pg.QueryResult<{ epoch: bigint }>> =>
    older.query(`select epoch from claim_log(gen_random_uuid(), 'older', (select min(epoch) from packet_log_checkpoint), $1)`, [LOG_FORM]);
  await expect(take()).rejects.toMatchObject({ code: '55000', message: expect.stringContaining('start a newer one') as string });
  await database.pool.query('select set_partitions(1::smallint)');
  const { epoch } = (await take()).rows[0]!;
  await older.query(`select set_config('bio.epoch', $1, false)`, [epoch.toString()]);
  await older.query(`insert into packet_log (time, batch_id, part, packet_count, data) values (now(), $1, 0, 0, '')`, [
    (epoch << 32n).toString(),
  ]);
  await older.query('begin');
  await older.query('select hold_log($1)', [epoch.toString()]);
  await older.query('update packet_log_checkpoint set batch_id = greatest(batch_id, 1), updated_at = now()');
  await older.query('commit');
  await older.query('select pg_advisory_unlock($1)', [locks.packetLog.toString()]);
  const next = await Ownership.claim(database);
  open.push(() => next.release());
  expect(next.epoch).toBe(epoch + 1n);
  await expect(older.query('delete from packet_log')).rejects.toMatchObject(refused);
});

test('the roles of the data path may claim, and hold what they claimed', async () => {
  const roles = await openRoles(database);
  open.push(() => roles.close());
  const owner = await Ownership.claim(roles.ingest);
  open.push(() => owner.release());
  const writer = await owner.fenced(roles.worker).connect();
  open.push(() => writer.end());
  await writer.query('delete from beat_block');
  await claim([3]);
  await expect(writer.query('delete from beat_block')).rejects.toMatchObject(refused);
  await expect(owner.writing(roles.ingest)((client) => client.query('delete from set_aside'))).rejects.toMatchObject(refused);
  expect(await owner.ended).toContain('start again');
});

test('a compressed chunk is fenced as any other', async () => {
  if (database.kind !== 'timescale') return; // only the community licence compresses
  const claimed = await claim([0, 1]);
  const writer = await writerOf(claimed);
  const row = `insert into sample_block (time, start_ns, stream_id, n, channel_no, suspect_n, bad_n, codec)
    values ('2020-01-01', 0, $1, 0, 0, 0, 0, '')`;
  await writer.query(row, [1]);
  await database.pool.query(`select compress_chunk(c) from show_chunks('sample_block') c`);
  await writer.query(row, [2]);
  await claim([1]);
  await expect(writer.query(row, [3])).rejects.toMatchObject(refused);
  await expect(writer.query('delete from sample_block where stream_id = 1')).rejects.toMatchObject(refused);
  expect((await database.pool.query('select from sample_block')).rowCount).toBe(2);
});
