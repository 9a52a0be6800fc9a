/** `biosignal start` as systemd and containers run it: a process that ends when it is told to, or when it cannot start, in time, and says
 *  by its exit code whether all is well. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { packetOf } from '../helpers/packets.ts';

const STILL_RUNNING = 'still running';
/** Exit code, or that it still runs after so long. Starting a process takes a busy machine seconds. */
const within = (gone: Promise<number>, ms: number): Promise<number | string> =>
  Promise.race([gone, sleep(ms, STILL_RUNNING, { ref: false })]);

let database: TestDatabase;
const started: ServiceProcess[] = [];
const start = async (env: Record<string, string> = {}, port?: number): Promise<ServiceProcess> => {
  const service = new ServiceProcess(port ?? (await freePort()), { env: { DATABASE_URL: database.url, ...env } });
  started.push(service);
  return service;
};

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  for (const service of started) if (service.running) await service.kill();
  await database.close();
});

// promise: stop-logged
test('SIGTERM ends the process with 0 once all is stored; nothing of it keeps running; the log says why, and how long it took', async () => {
  const service = await start({ BIO_LOG_LEVEL: 'info' });
  await service.untilReady();
  expect(service.log).not.toContain('stop: ');
  expect(await within(service.terminate(), 60_000)).toBe(0);
  expect(service.log).toMatch(/"why":"SIGTERM","msg":"stop: the service stops"/);
  expect(service.log).toMatch(/"tookMs":\d+,"msg":"stop: the service has stopped"/);
});

describe('a start that fails ends the process with a sentence', () => {
  // promise: start-fails
  test('the log cannot be replayed: workers and timers had begun', async () => {
    await database.pool.query('alter table stream rename to stream_away');
    try {
      const service = await start();
      expect(await within(service.gone, 30_000), service.log).toBe(1);
      expect(service.log).toMatch(/^biosignal start: relation "stream" does not exist$/m);
      expect(service.log).not.toMatch(/after calling end|unhandled/i);
    } finally {
      await database.pool.query('alter table stream_away rename to stream');
    }
  });

  // promise: start-fails
  test('a table is missing', async () => {
    await database.pool.query('alter table packet_log_checkpoint rename to checkpoint_away');
    try {
      const service = await start();
      expect(await within(service.gone, 30_000), service.log).toBe(1);
      expect(service.log).toMatch(/^biosignal start: .*packet_log_checkpoint/m);
    } finally {
      await database.pool.query('alter table checkpoint_away rename to packet_log_checkpoint');
    }
  });

  // promise: start-fails
  // setting: PORT
  test('the port is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const service = await start({}, (server.address() as AddressInfo).port);
    expect(await within(service.gone, 30_000), service.log).toBe(1);
    expect(service.log).toMatch(/^biosignal start: Cannot listen on .*another program uses it/m);
    server.close();
  });

  // promise: start-fails
  test('a setting is wrong', async () => {
    const service = await start({ BIO_SECRET: 'short' });
    expect(await within(service.gone, 30_000), service.log).toBe(1);
    expect(service.log).toMatch(/^biosignal start: BIO_SECRET must be 32 characters or more/m);
  });

  // promise: start-fails, exit-codes
  // setting: DATABASE_URL
  test('no database answers', async () => {
    const service = await start({ DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none` });
    expect(await within(service.gone, 60_000), service.log).toBe(3);
    expect(service.log).toMatch(/^biosignal start: /m);
  });
});

test('SIGTERM during the start ends it: here one that waits for the log of another', async () => {
  const owner = await start();
  await owner.untilReady();
  const second = await start({ BIO_LOG_LEVEL: 'info' });
  const answers = async (): Promise<string> => await (await fetch(`${second.url}/readyz`)).text();
  await expect.poll(() => answers().catch(() => ''), { timeout: 30_000 }).toContain('waits to take over');
  expect(await within(second.terminate(), 10_000), second.log).toBe(0);
  expect(second.log).toContain('stopped while starting');
  expect(second.log).toMatch(/"why":"SIGTERM","msg":"stop: the service stops"/);
  expect(await within(owner.terminate(), 60_000)).toBe(0);
});

// promise again: stop-while-away, stop-logged
test.each(['waits for the log of another', 'runs'] as const)(
  'a part that hangs does not keep the process: a service that %s ends soon after its time, and its log says that it was late',
  async (state) => {
    const proxy = await TcpProxy.start(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const owner = state === 'runs' ? null : await start();
    await owner?.untilReady();
    const service = await start({ DATABASE_URL: url.href, BIO_LOG_LEVEL: 'info', BIO_STOP_TIMEOUT_MS: '1000' });
    if (owner === null) await service.untilReady();
    else await expect.poll(() => service.log, { timeout: 60_000 }).toContain('waits to take over');
    proxy.mode = 'hole'; // what is asked of the database is never answered
    expect(await within(service.terminate(), 20_000), service.log).toBe(0);
    expect(service.log).toMatch(/"leftMs":\d+(\.\d+)?,"msg":"stop: a part did not stop in time"/);
    expect(service.log).toMatch(/"tookMs":\d+,"msg":"stop: the service has stopped"/);
    await owner?.terminate();
    await proxy.close();
  },
);

// promise: stop-while-away
// setting: BIO_STOP_TIMEOUT_MS
test.each(['refuse', 'hole'] as const)(
  'a stop while the database is away (%s) ends within its deadline; the next start has it all',
  async (mode) => {
    const proxy = await TcpProxy.start(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const { apiKey } = await createOrganization(database.pool, `Stop ${mode}`);
    const service = await start({ DATABASE_URL: url.href, BIO_STOP_TIMEOUT_MS: '3000' });
    await service.untilReady();
    const sent = await fetch(`${service.url}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(encodePacket(packetOf(mode, 0))),
    });
    expect(sent.status, await sent.text()).toBe(202);
    proxy.mode = mode;
    const toldMs = performance.now();
    expect(await within(service.terminate(), 15_000), service.log).toBe(0);
    expect(performance.now() - toldMs).toBeLessThan(8000); // which it may take without the setting
    expect(service.log).toMatch(/the next start replays the rest/);
    await proxy.close();

    const next = await start();
    await next.untilReady();
    const stored = `select from device_event e join stream s on s.id = e.stream_id join device d on d.id = s.device_id where d.external_id = '${mode}'`;
    await expect.poll(async () => (await database.pool.query(stored)).rowCount, { timeout: 20_000 }).toBe(1);
    expect(await within(next.terminate(), 60_000)).toBe(0);
  },
);
