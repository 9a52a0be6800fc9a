// However long a device, the database or the service itself is silent, and whenever: the final rows are those of the same packets sent at
// once. What is shown early, because nothing more seems to come, is computed again when the data goes on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { fixtureChannels, madeUpStream, withoutStretches } from '../../src/dsp/testing/fixture.ts';
import type { Packet } from '../../src/proto/packet.ts';
import type { ChannelConfig, SampleRun } from '../../src/signal.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { derivedRows, differences, packetsOf, postPackets, secondOf } from '../helpers/derived-rows.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

type Recording = Readonly<{ channels: readonly ChannelConfig[]; runs: readonly SampleRun[] }>;

const lengthSec = 200;
/** From the first second of a boot, as a device that was just switched on. */
const recorded = (seed: number, codes: RegExp): Recording => {
  const channels = fixtureChannels.filter(({ code }) => codes.test(code));
  return { channels, runs: madeUpStream(seed, 0, lengthSec, channels) };
};
/** What is final when depends on what else the stream has. */
const recordings = {
  'of one lead': recorded(31, /^ecg.i$/),
  'of pulse and one axis of motion': recorded(32, /^(ppg.ir|acc.x)$/),
  'of everything but breathing': recorded(33, /^(ecg|ppg|eda|temp|acc)/),
};
const gapless = recordings['of everything but breathing'];
/** With a pause on the device's own clock, too. */
const paused = (fromSec: number, toSec: number): Recording => ({
  ...gapless,
  runs: withoutStretches(gapless.runs, gapless.channels, [[fromSec, toSec]]),
});
const epochNs = BigInt(Date.now() - 3_600_000) * 1_000_000n;

let database: TestDatabase;
let org: NewOrganization;
let service: Service;

const start = async (idleFlushMs = 300): Promise<Service> => {
  const quiet = (): void => undefined;
  return await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: String(idleFlushMs) }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
};
const recording = (deviceId: string, { channels, runs }: Recording = gapless): Packet[] => packetsOf(deviceId, runs, channels, epochNs);
const rowsOf = (deviceId: string): Promise<string[]> => derivedRows(database, deviceId);
const startSecOf = ({ t0DeviceNs }: Packet): number => Number(t0DeviceNs) / 1e9;

async function send(sent: readonly Packet[]): Promise<void> {
  const { status, text } = await postPackets(service.baseUrl, org.apiKey.key, sent);
  expect(status, text).toBe(202);
  expect(JSON.parse(text)).toMatchObject({ accepted: sent.length, rejected: [] });
}

/** Until the stream's last second has been judged: without more data that happens when it is taken for ended. */
async function untilFlushed(deviceId: string, sent: readonly Packet[]): Promise<void> {
  const endSec = Math.max(...sent.map(startSecOf));
  const judgedSec = (rows: readonly string[]): number => Math.max(0, ...rows.filter((row) => row.includes(':sqi_')).map(secondOf));
  await until(async () => judgedSec(await rowsOf(deviceId)) >= Math.floor(endSec), 60_000);
}

/** What the packets give when they come at once, in order. */
const clean = new Map<Recording, Promise<string[]>>();
async function cleanRows(of: Recording): Promise<string[]> {
  const known = clean.get(of);
  if (known !== undefined) return known;
  const name = `clean${clean.size}`;
  const rows = (async () => {
    const sent = recording(name, of);
    await send(sent);
    await untilFlushed(name, sent);
    return rowsOf(name);
  })();
  clean.set(of, rows);
  return rows;
}

async function expectClean(deviceId: string, of: Recording = gapless): Promise<void> {
  const wanted = await cleanRows(of);
  expect(wanted.length).toBeGreaterThan(80);
  let found: string[] = [];
  // expect.poll knows of one test at a time
  await until(async () => (found = differences(await rowsOf(deviceId), wanted)).length === 0, 60_000).catch(() => undefined);
  expect(found).toEqual([]);
}

/** Sends in parts, each after the stream was taken for ended. @param cutsSec device time at which parts begin */
async function sendInParts(deviceId: string, cutsSec: readonly number[], of: Recording = gapless): Promise<void> {
  const all = recording(deviceId, of);
  const borders = [0, ...cutsSec, Infinity];
  for (let i = 1; i < borders.length; i++) {
    const part = all.filter((packet) => startSecOf(packet) >= borders[i - 1]! && startSecOf(packet) < borders[i]!);
    await send(part);
    await untilFlushed(deviceId, part);
  }
}

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
  service = await start();
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
});

for (const [what, cutsSec] of [
  ['after 4 s', [4]],
  ['after 30 s', [30]],
  ['around the border of a segment', [62, 64, 66]],
  ['again and again', [2, 5, 9, 14, 81, 150]],
] as const)
  test.concurrent(`a silence ${what}, gapless on the device's clock`, async () => {
    await Promise.all(
      Object.entries(recordings).map(async ([name, of]) => {
        const deviceId = `silent ${cutsSec.join()} ${name}`;
        await sendInParts(deviceId, cutsSec, of);
        await expectClean(deviceId, of);
      }),
    );
  });

for (const [fromSec, toSec] of [
  [6, 12],
  [6, 26],
  [9, 195],
] as const)
  test.concurrent(`a silence with a pause of the device from ${fromSec} to ${toSec} s`, async () => {
    const of = paused(fromSec, toSec);
    const deviceId = `paused ${fromSec} ${toSec}`;
    await sendInParts(deviceId, [toSec], of);
    await expectClean(deviceId, of);
  });

// promise: late-is-the-same
test.concurrent('samples that were held back arrive after the stream counted as ended', async () => {
  const all = recording('held back');
  const held = all.filter((_, i) => i === 0 || (i >= 3 && i < 7) || (i > 60 && i < 75) || i === all.length - 3);
  await send(all.filter((packet) => !held.includes(packet)));
  await untilFlushed('held back', all);
  for (const packet of [...held].reverse()) await send([packet]);
  await expectClean('held back');
});

// promise: late-is-the-same
test.concurrent('the first packet after a silence is the newest', async () => {
  // more than a context ahead: as if the device had paused; then what lies between comes, the newest first
  const all = recording('newest first');
  const [first, rest] = [all.filter((packet) => startSecOf(packet) < 6), all.filter((packet) => startSecOf(packet) >= 6)];
  await send(first);
  await untilFlushed('newest first', first);
  await send(rest.filter((packet) => startSecOf(packet) > 30));
  for (const packet of rest.filter((candidate) => startSecOf(candidate) <= 30).reverse()) await send([packet]);
  await expectClean('newest first');
});

test.concurrent('a stream that was dropped from memory after a silence is continued by the same boot', async () => {
  const all = recording('dropped');
  const cuts = [0, 5, 11, 70, Infinity];
  for (let i = 1; i < cuts.length; i++) {
    const part = all.filter((packet) => startSecOf(packet) >= cuts[i - 1]! && startSecOf(packet) < cuts[i]!);
    await send(part);
    await untilFlushed('dropped', part);
    await service.pipeline.ingest.sessions.drop((session) => session.deviceId === 'dropped');
  }
  await expectClean('dropped');
});

test('a restart after a silence', async () => {
  const all = recording('restarted');
  const cuts = [0, 4, 9, 75, Infinity];
  for (let i = 1; i < cuts.length; i++) {
    const part = all.filter((packet) => startSecOf(packet) >= cuts[i - 1]! && startSecOf(packet) < cuts[i]!);
    await send(part);
    if (i % 2 === 1) await untilFlushed('restarted', part);
    await service.stop();
    service = await start();
  }
  await expectClean('restarted');
});

// job: idle-streams
test('early values are there before the data goes on', async () => {
  const first = recording('shown').filter((packet) => startSecOf(packet) < 8);
  await send(first);
  await untilFlushed('shown', first);
  const rows = await rowsOf('shown');
  expect(
    rows
      .filter((row) => row.startsWith('derived:r_peaks'))
      .map(secondOf)
      .at(-1),
  ).toBeGreaterThan(6);
});

// Rows and samples are stored by two connections: a kill may fall between, here by more than half a minute.
test('a kill when early rows are stored and the samples that they were made of are not', async () => {
  const endsSec = [161.7, 165.6];
  const part = (endSec: number, fromSec: number, toSec: number): Packet[] =>
    recording(`killed ${endSec}`).filter((packet) => startSecOf(packet) >= fromSec && startSecOf(packet) < toSec);
  const wanted = new Set((await cleanRows(gapless)).map(keyOf));
  await service.stop();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BIO_DSP_IDLE_FLUSH_MS: '200' },
  });
  const [address] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  const post = async (packets: readonly Packet[]): Promise<void> => {
    const { status, text } = await postPackets(address.trim(), org.apiKey.key, packets);
    expect(JSON.parse(text), String(status)).toMatchObject({ accepted: packets.length });
  };
  const client = await database.pool.connect();
  try {
    for (const endSec of endsSec) {
      const first = part(endSec, 0, 125);
      await post(first);
      // all but the rows of several seconds that are still open
      await until(async () => (await storedCount(`killed ${endSec}`)) > 0.9 * sampleCount(first), 60_000);
    }
    await client.query('begin');
    await client.query('lock table sample_block in exclusive mode'); // it can be read
    for (const endSec of endsSec) {
      const second = part(endSec, 125, endSec);
      await post(second);
      await untilFlushed(`killed ${endSec}`, second);
    }
    child.kill('SIGKILL');
    await once(child, 'close');
    // the server would finish what it was told
    const waiting = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await database.pool.query(waiting)).rows.length === 0, 20_000);
  } finally {
    await client.query('rollback').finally(() => client.release());
  }
  for (const endSec of endsSec) {
    expect(await storedCount(`killed ${endSec}`)).toBeLessThanOrEqual(sampleCount(part(endSec, 0, 125)));
    // one of what is shown early is not there in the end: else this would prove nothing
    const strange = (await rowsOf(`killed ${endSec}`)).filter((row) => !wanted.has(keyOf(row)));
    expect(strange.map(secondOf).at(-1)).toBeGreaterThan(150);
  }

  service = await start(600_000); // being taken for ended once more would hide it
  for (const endSec of endsSec) await send(part(endSec, endSec, Infinity));
  const isFinal = (row: string): boolean => secondOf(row) < 170; // the last beats are not out
  const final = (await cleanRows(gapless)).filter(isFinal);
  for (const endSec of endsSec)
    await expect
      .poll(async () => differences((await rowsOf(`killed ${endSec}`)).filter(isFinal), final), { timeout: 60_000, interval: 250 })
      .toEqual([]);
});

// Heart rates are given out seconds before the last beats are: they do not say that all is computed.
test('a kill before the last beats are out, of a device that never comes back', async () => {
  await cleanRows(gapless);
  await service.stop();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BIO_DSP_IDLE_FLUSH_MS: '600000' },
  });
  const [address] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  const all = recording('never back');
  const { text } = await postPackets(address.trim(), org.apiKey.key, all);
  expect(JSON.parse(text)).toMatchObject({ accepted: all.length });
  const replayed = 'select (select max(batch_id) from packet_log) > (select batch_id from packet_log_checkpoint) as some';
  await until(async () => {
    const newestSec = Math.max(0, ...(await rowsOf('never back')).map(secondOf));
    const { rows } = await database.pool.query<{ some: boolean }>(replayed);
    return newestSec >= lengthSec - 3 && !rows[0]!.some;
  }, 60_000);
  child.kill('SIGKILL');
  await once(child, 'close');
  service = await start();
  await expectClean('never back');
});

/** What a row is of, without what it says. */
const keyOf = (row: string): string => row.split(' ').slice(0, 3).join(' ');

const sampleCount = (packets: readonly Packet[]): number =>
  packets.reduce((sum, { blocks }) => sum + blocks.reduce((count, { samples }) => count + samples.length, 0), 0);

async function storedCount(deviceId: string): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `select coalesce(sum(b.n), 0)::int as n from sample_block b join stream s on s.id = b.stream_id join device d on d.id = s.device_id
     where d.external_id = $1`,
    [deviceId],
  );
  return rows[0]!.n;
}
