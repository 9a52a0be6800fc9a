/** Two instances of the service on one database, as processes: one takes packets, the other waits and takes over. */
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { World } from '../../faults/lib/world.ts';
import { takeAndGiveBack, untilListening } from '../../faults/ownership.ts';
import { runCommand } from '../../src/cli/command.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { locks } from '../../src/storage/database/locks.ts';
import { testDatabase } from '../helpers/database.ts';

type Readiness = Readonly<{ status: string; parts: readonly { name: string; ok: boolean; detail: string }[] }>;

const readiness = async (service: ServiceProcess): Promise<{ status: number; body: Readiness }> => {
  const answer = await fetch(`${service.url}/readyz`);
  return { status: answer.status, body: (await answer.json()) as Readiness };
};

async function doctorOf(service: ServiceProcess): Promise<unknown> {
  const out: string[] = [];
  const env = { DATABASE_URL: world.postgres.url, PORT: String(service.port) };
  const signal = new AbortController().signal;
  await runCommand(doctor, ['--json'], {
    out: (line) => void out.push(line),
    err: () => undefined,
    progress: null,
    env,
    cwd: world.workDir,
    signal,
  });
  return JSON.parse(out.join('\n')) as unknown;
}

/** One packet of a new device. @returns status; 0: it has ended */
let devices = 0;
async function post(service: ServiceProcess): Promise<number> {
  const deviceId = `direct${devices++}`;
  const device = createSimulatedDevice({ seed: devices, channels: ['ecg.ii'] });
  const bootId = deviceId.padEnd(16, '.');
  const startUnixNs = BigInt(Date.now()) * 1_000_000n;
  const source = createPacketSource(device, {
    deviceId,
    bootId: Buffer.from(bootId).toString('hex'),
    subject: deviceId,
    startUnixNs,
    packetMs: 500,
  });
  return await fetch(`${service.url}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.credential}`, 'content-type': 'application/x-protobuf' },
    body: encodePacket(source().packet) as Uint8Array<ArrayBuffer>,
  }).then(({ status }) => status, () => 0); // prettier-ignore
}

let world: World;
beforeAll(async () => {
  world = await World.start({ name: 'standby', seed: 12, front: true, deviceCount: 6, packetMs: 500 });
});
afterAll(() => world?.close(), 60_000);

const serveFrom = async (service: ServiceProcess): Promise<void> => {
  world.service = service;
  await service.untilReady(60_000);
  world.front!.targetPort = service.port;
  world.front!.mode = 'pass';
  await world.untilServing(performance.now());
};

// promise: one-owner, standby-answers, owner-replaced, owner-metric, takeover-loses-nothing
// job: ownership
test('a second instance waits, says so, and takes over from an owner that hangs, that is killed, and that is cut off: nothing is lost', async () => {
  const first = world.service;
  const second = await world.secondInstance({ env: { DATABASE_URL: world.postgres.url } });

  // It waits.
  await untilListening(second);
  await expect.poll(async () => (await readiness(second)).body.status).toBe('standby');
  const waits = await readiness(second);
  expect(waits.status).toBe(503);
  expect(waits.body.parts).toContainEqual({
    name: 'packet_log',
    ok: false,
    detail: 'standby: another instance has the log; this one waits to take over',
  });
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
  for (const [method, path] of [
    ['GET', '/api/v1/devices'],
    ['POST', '/ingest/raw-packet'],
    ['GET', '/ingest/stream'],
    ['GET', '/dashboard/'],
  ] as const) {
    const answer = await fetch(second.url + path, { method });
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '1']);
    expect(await answer.json()).toMatchObject({ code: 'unavailable' });
  }
  expect(await (await fetch(`${second.url}/metrics`)).text()).toContain('bio_log_owner 0');
  expect(await (await fetch(`${first.url}/metrics`)).text()).toContain('bio_log_owner 1');

  const findings = await doctorOf(second);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'service', state: 'ok', found: expect.stringContaining('on standby') as string }),
  );
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'owner',
      state: 'ok',
      found: expect.stringContaining(`:${first.port} owns the packet log`) as string,
    }),
  );

  // The owner hangs.
  first.pause(true);
  await serveFrom(second);
  first.pause(false);
  const woken = readiness(first).catch(() => null); // null: it has ended already
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(first)));
  expect(answers.filter((status) => status === 202)).toEqual([]);
  expect((await woken)?.status ?? 503).toBe(503);
  expect(await first.gone).toBe(1);
  expect(first.log).toContain('biosignal start: another instance has taken over the packet log; this one has to start again');

  // The owner is killed.
  first.start();
  await untilListening(first);
  await expect.poll(async () => (await readiness(first)).body.status).toBe('standby');
  await second.kill();
  await serveFrom(first);

  // The owner is cut off; the other one is killed when it has taken over, and the log goes back.
  await takeAndGiveBack(world, createRandom(12, 'standby'), 'kill');
  const verdict = await world.verdict();
  expect(verdict.faulty).toEqual([]);
  expect(verdict).toMatchObject({ ok: true, missing_packets: 0, missing_samples: 0, doubled_samples: 0, unanswered: 0 });
});

test('a standby that cannot listen on its port ends at once with a sentence and code 1; the owner is not affected', async () => {
  await using database = await testDatabase();
  const env = { DATABASE_URL: database.url };
  const owner = new ServiceProcess(await freePort(), { env });
  const other = createServer();
  const migration = await database.connect();
  let deaf: ServiceProcess | null = null;
  try {
    await owner.untilReady(60_000);
    // Another program takes the port after the service has looked whether it is free: held back meanwhile, before it migrates.
    await migration.query('select pg_advisory_lock($1)', [locks.migration.toString()]);
    deaf = new ServiceProcess(await freePort(), { env });
    const waits = `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(async () => (await database.pool.query(waits)).rowCount, { timeout: 30_000 }).toBe(1);
    await new Promise<void>((done) => other.listen(deaf!.port, '127.0.0.1', done));
    await migration.query('select pg_advisory_unlock($1)', [locks.migration.toString()]);
    expect(await Promise.race([deaf.gone, sleep(30_000, 'still waiting', { ref: false })])).toBe(1);
    expect(deaf.log).toMatch(new RegExp(`^biosignal start: .*${deaf.port}`, 'm'));
    expect(await owner.isReady()).toBe(true);
  } finally {
    await migration.end();
    other.close();
    await deaf?.kill();
    await owner.kill();
  }
});

// setting: BIO_DEMO
test('two instances started together on an empty database create one organization and one key; the waiting one ends at SIGTERM with 0', async () => {
  await using database = await testDatabase();
  const env = { DATABASE_URL: database.url, BIO_DEMO: '1', BIO_LOG_LEVEL: 'info' };
  const services = [new ServiceProcess(await freePort(), { env }), new ServiceProcess(await freePort(), { env })];
  try {
    await Promise.all(services.map(untilListening));
    await expect.poll(async () => (await Promise.all(services.map((service) => service.isReady()))).filter(Boolean).length).toBe(1);
    const owner = (await services[0]!.isReady()) ? services[0]! : services[1]!;
    const other = services.find((service) => service !== owner)!;
    const made = async (): Promise<unknown> =>
      (
        await database.pool.query(
          `select (select count(*)::int from organization) as organizations, (select count(*)::int from api_key where name not like 'demo device%') as keys`,
        )
      ).rows[0];
    expect(await made()).toEqual({ organizations: 1, keys: 1 });
    expect(await owner.terminate()).toBe(0);
    await other.untilReady(60_000);
    expect(await made()).toEqual({ organizations: 1, keys: 1 });
    owner.start();
    await untilListening(owner);
    await expect.poll(async () => (await readiness(owner)).body.status).toBe('standby');
    expect(await Promise.race([owner.terminate(), sleep(30_000, 'still waiting', { ref: false })])).toBe(0);
  } finally {
    for (const service of services) await service.kill();
  }
});
