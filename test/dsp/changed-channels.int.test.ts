// A first lead that changes its rate while another keeps its own has the same rows in whatever order its packets arrive, and of samples in
// a unit that does not convert nothing is computed.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { fixtureChannels, madeUpStream } from '../../src/dsp/testing/fixture.ts';
import type { Packet } from '../../src/proto/packet.ts';
import type { ChannelConfig, SampleRun } from '../../src/signal.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { derivedRows, differences, packetsOf, postPackets, secondOf } from '../helpers/derived-rows.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const lengthSec = 150;
const changeSec = 60;
const epochNs = BigInt(Date.now() - 3_600_000) * 1_000_000n;

let database: TestDatabase;
let org: NewOrganization;
let service: Service;

const rowsOf = (deviceId: string): Promise<string[]> => derivedRows(database, deviceId);

async function send(sent: readonly Packet[]): Promise<void> {
  const { status, text } = await postPackets(service.baseUrl, org.apiKey.key, sent);
  expect(status, text).toBe(202);
  expect(JSON.parse(text)).toMatchObject({ accepted: sent.length, rejected: [] });
}

/** Until the last second has been judged: without more data that happens when the stream is taken for ended. */
async function endedRows(deviceId: string): Promise<string[]> {
  let rows: string[] = [];
  const judgedSec = (): number => Math.max(0, ...rows.filter((row) => row.includes(':sqi_')).map(secondOf));
  await until(async () => {
    rows = await rowsOf(deviceId);
    return judgedSec() >= lengthSec - 1;
  }, 60_000);
  return rows;
}

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
  const quiet = (): void => undefined;
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: '300' }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
});

// promise: live-is-recomputed, changed-rate
test('a first lead that changes its rate, in order, backwards, and with its change late', async () => {
  const [first, second] = fixtureChannels;
  const channels: ChannelConfig[] = [first!, second!, { ...first!, rateNanoHz: first!.rateNanoHz / 2 }];
  const cut = (run: SampleRun, fromSec: number, toSec: number): SampleRun => {
    const [from, to] = [fromSec, toSec].map((sec) => Math.ceil((sec * channels[run.channelNo]!.rateNanoHz) / 1e9) - run.k0);
    return { ...run, k0: run.k0 + from!, samples: run.samples.subarray(from, to) };
  };
  const [fast, other, slow] = madeUpStream(5, 0, lengthSec, channels);
  const runs = [cut(fast!, 0, changeSec), other!, cut(slow!, changeSec, lengthSec)];
  const packets = (deviceId: string): Packet[] => packetsOf(deviceId, runs, channels, epochNs);

  const inOrder = packets('in order');
  for (let i = 0; i < inOrder.length; i += 10) await send(inOrder.slice(i, i + 10));
  const wanted = await endedRows('in order');
  const rates = wanted.filter((row) => /^derived:hr_ecg_v\d+ -1 /.test(row));
  expect(new Set(rates.map(secondOf)).size).toBe(rates.length);
  expect(rates.length).toBeGreaterThan(lengthSec - 30);

  const [begin, ...rest] = packets('backwards');
  await send([begin!]);
  for (const packet of rest.reverse()) await send([packet]);
  const late = packets('late');
  const isLate = (i: number): boolean => i > 50 && i < 70;
  await send(late.filter((_, i) => !isLate(i)));
  await endedRows('late');
  await send(late.filter((_, i) => isLate(i)));
  for (const deviceId of ['backwards', 'late']) {
    let found: string[] = [];
    await until(async () => (found = differences(await rowsOf(deviceId), wanted)).length === 0, 30_000).catch(() => undefined);
    expect(found, deviceId).toEqual([]);
  }
});

// promise: foreign-units
test('a temperature in kPa and a resistance of the skin have no values, what came with them has', async () => {
  const of = (units: Readonly<Record<string, string>>): ChannelConfig[] =>
    fixtureChannels
      .filter(({ code }) => ['ecg.i', 'eda', 'temp.skin'].includes(code))
      .map((channel) => ({ ...channel, unit: units[channel.code] ?? channel.unit }));
  const featuresOf = async (deviceId: string, channels: readonly ChannelConfig[]): Promise<Set<string>> => {
    await send(packetsOf(deviceId, madeUpStream(6, 0, lengthSec, channels), channels, epochNs));
    return new Set((await endedRows(deviceId)).map((row) => /^derived:(\w+)_v\d+ /.exec(row)?.[1] ?? ''));
  };
  const known = await featuresOf('known units', of({ eda: 'uS', 'temp.skin': 'Cel' }));
  const foreign = await featuresOf('foreign units', of({ eda: 'kΩ', 'temp.skin': 'kPa' }));
  for (const feature of ['temp_mean', 'eda_tonic', 'scr_rate']) {
    expect([...known]).toContain(feature);
    expect([...foreign]).not.toContain(feature);
  }
  expect([...foreign]).toContain('hr_ecg');
});
