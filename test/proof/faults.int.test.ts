/** The short form of `npm run faults`: each kind of fault once or twice, with the same harness and the same verdict. And what its rounds
 *  found, as tests of their own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { World } from '../../faults/lib/world.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { shortRound } from '../../faults/short.ts';
import type { StreamId } from '../../src/signal.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream } from '../helpers/recording.ts';

const seed = Number(process.env['BIO_FAULT_SEED'] ?? 369); // one whose pauses are short

describe(`a running service, seed ${seed}`, () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ name: 'short', seed, deviceCount: 4, env: { BIO_DSP_IDLE_FLUSH_MS: '1000' } });
  });
  afterAll(() => world?.close(), 60_000);

  // promise: replay, ack-durable
  test('loses and duplicates nothing acknowledged through one fault after the other', async () => {
    await shortRound(world, seed);
    const verdict = await world.verdict();
    // beats and values are those of a clean run of the same packets, bit for bit
    expect(verdict.derived.complaints).toEqual([]);
    expect(verdict.derived.rows).toBeGreaterThan(300);
    expect(verdict.faulty).toEqual([]);
    expect(verdict).toMatchObject({ ok: true, missing_packets: 0, missing_samples: 0, doubled_samples: 0, unanswered: 0 });
    expect(verdict.accepted).toBeGreaterThan(30);
  }, 600_000);
});

describe('the packet log behind a connection that fails', () => {
  let direct: TestDatabase;
  let proxy: TcpProxy;
  let registry: StreamRegistry;
  let streamId: StreamId;
  const entry = (seq: number) => ({ streamId, seq, receivedNs: 1n, bytes: new Uint8Array(50) });
  const open = async (): Promise<Awaited<ReturnType<typeof openDatabase>>> => {
    const url = new URL(direct.url);
    url.port = String(proxy.port);
    return await openDatabase(url.href);
  };

  beforeAll(async () => {
    direct = await testDatabase();
    proxy = await TcpProxy.start(Number(new URL(direct.url).port));
    const own = new StreamRegistry(direct);
    streamId = (await openTestStream(own, await createTenant(direct))).streamId;
  });
  afterAll(async () => {
    await proxy?.close();
    await direct?.close();
  });

  test('a checkpoint that gets no connection keeps the sequence numbers for the next one', async () => {
    const database = await open();
    registry = new StreamRegistry(database);
    const log = await PacketLog.open(database, registry, { lingerMs: 1 });
    const batch = log.append(entry(7));
    if (batch === 'busy') throw new Error('busy');
    await batch.durable;
    proxy.mode = 'refuse';
    await expect(log.checkpoint(log.durablePosition)).rejects.toThrow();
    proxy.mode = 'pass';
    await log.checkpoint(log.durablePosition);
    expect((await new StreamRegistry(direct).findStream(streamId))!.seqRanges).toContainEqual([7, 7]);
    await log.close();
    await database.close();
  });

  for (const mode of ['refuse', 'hole'] as const) {
    // promise: database-away
    // job: log-probe
    test(`database away (${mode}): what waits is refused together, new packets at once, and all are taken when it is back`, async () => {
      const database = await open();
      registry = new StreamRegistry(database);
      const told: boolean[] = [];
      const log = await PacketLog.open(database, registry, {
        lingerMs: 1,
        retryForMs: 1000,
        onAway: (reason) => told.push(reason !== null),
      });
      proxy.mode = mode;
      const first = mode === 'refuse' ? 100 : 200;
      const waiting = Array.from({ length: 5 }, (_, i) => log.append(entry(first + i)));
      const outcomes = await Promise.allSettled(waiting.map(async (batch) => (batch === 'busy' ? null : await batch.durable)));
      expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
      expect(log.awayMs).toBeGreaterThan(0);
      expect(log.append(entry(first + 5))).toBe('busy');
      expect(log.queueBytes).toBe(0);
      proxy.mode = 'pass';
      await until(() => log.awayMs === 0);
      expect(told).toEqual([true, false]);
      const batch = log.append(entry(first));
      if (batch === 'busy') throw new Error('still away');
      await batch.durable;
      await log.close();
      await database.close();
    });
  }

  test('a connection that dies while it is lent out does not end the process', async () => {
    const database = await open();
    const client = await database.pool.connect();
    proxy.mode = 'refuse';
    await sleep(100); // without a listener the error event would fail this run
    client.release(true);
    proxy.mode = 'pass';
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await database.close();
  });

  // Each cut in the middle of opening used to start a second loop of retries, and each loop held a connection for ever.
  // job: auth-changes
  test('a listener that is cut again and again comes back as one connection', async () => {
    const database = await open();
    const stop = await database.listen('faults_test', () => undefined);
    proxy.delayMs = 15; // so that cuts fall between connecting and listening
    for (let i = 0; i < 16; i++) {
      await sleep(190 + 9 * ((5 * i) % 13));
      proxy.mode = 'pass'; // resets what is open
    }
    proxy.delayMs = 0;
    await sleep(1500);
    const { rows } = await direct.pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where query ilike 'listen%faults_test%'`,
    );
    expect(rows[0]!.n).toBe(1);
    await stop();
    await database.close();
  });
});
