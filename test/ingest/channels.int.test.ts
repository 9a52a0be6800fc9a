// Every channel that a packet may legally carry is computed or left alone; none costs the others their signal workers.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fixtureChannels, madeUpStream } from '../../src/dsp/testing/fixture.ts';
import type { ChannelConfig, ChannelKind } from '../../src/signal.ts';
import { derivedRows, packetsOf, postPackets } from '../helpers/derived-rows.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningService;
let credential: string;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '500' });
  credential = (await running.token('patient')).xuser_token;
});
afterAll(() => running?.close());

const channelOf = (kind: ChannelKind, code: string, hz: number): ChannelConfig => ({
  code,
  kind,
  rateNanoHz: Math.round(hz * 1e9),
  gain: 200,
  baseline: 10,
  unit: kind === 'ecg' ? 'mV' : '1',
  lead: '',
});
const many = (kind: ChannelKind, count: number, hz: number): ChannelConfig[] =>
  Array.from({ length: count }, (_, i) => channelOf(kind, `${kind}.${i}`, hz));

async function send(deviceId: string, channels: readonly ChannelConfig[], lengthSec: number): Promise<void> {
  const epochNs = BigInt(Date.now() - 600_000) * 1_000_000n;
  const { status, text } = await postPackets(
    running.service.baseUrl,
    credential,
    packetsOf(deviceId, madeUpStream(41, 0, lengthSec, channels), channels, epochNs),
  );
  expect(status, text).toBe(202);
  expect(JSON.parse(text)).toMatchObject({ rejected: [] });
}

const crashCount = async (): Promise<number> => {
  const { text } = await running.send('GET', '/readyz', { as: '' });
  return Number(/(\d+) worker crashes/.exec(text)?.[1] ?? Number.NaN);
};

const heartRates = async (deviceId: string): Promise<number[]> =>
  (await derivedRows(running.database, deviceId)).filter((row) => row.startsWith('derived:hr_ecg')).map((row) => Number(row.split(' ')[3]));

for (const leadCount of [17, 20, 32, 64])
  test(`a stream of ${leadCount} ECG leads has a heart rate, and no worker is lost`, async () => {
    await send(`leads ${leadCount}`, many('ecg', leadCount, 250), 12);
    await expect.poll(async () => (await heartRates(`leads ${leadCount}`)).length, { timeout: 60_000 }).toBeGreaterThan(3);
    for (const perMin of await heartRates(`leads ${leadCount}`)) expect(perMin).toBeCloseTo(75, -1);
    expect(await crashCount()).toBe(0);
  });

// promise: rates-exact, limit-channels
test('64 channels of every kind, of mixed and odd rates, up to the fastest that may be sent: no worker is lost, others are computed', async () => {
  const kinds = ['ecg', 'ppg', 'eda', 'temp', 'resp', 'acc', 'gyro', 'other'] as const;
  for (const kind of kinds) await send(`all ${kind}`, many(kind, 64, 60), 3);
  const rates = [0.001, 0.5, 1.99, 4, 9.99, 19.99, 20, 49.99, 50, 130.1, 257.03, 1000, 1999.9, 2000.1, 4000, 4000.1, 44_100, 1e6];
  for (const kind of kinds) {
    const mixed = rates.map((hz, i) => channelOf(kind, kind === 'ppg' && i % 2 === 0 ? 'ppg.red' : `${kind}.${i}`, hz));
    await send(`mixed ${kind}`, mixed, 0.02);
    // what may take much memory for a single sample
    await send(`fast ${kind}`, many(kind, 64, 1e6), 0.00002);
  }
  await send('healthy', fixtureChannels, 12);
  await expect.poll(async () => (await heartRates('healthy')).length, { timeout: 60_000 }).toBeGreaterThan(3);
  expect(await crashCount()).toBe(0);
  expect(running.faults).toEqual([]);
});

test('a device whose clock jumps by twenty years affects no other device', async () => {
  const channels = fixtureChannels.filter(({ kind }) => kind !== 'acc');
  const [before, after] = [0, 20 * 365.25 * 86_400];
  const epochNs = BigInt(Date.now() - 600_000 - after * 1000) * 1_000_000n;
  for (const startSec of [before, after]) {
    const packets = packetsOf('jumped', madeUpStream(42, startSec, 15, channels), channels, epochNs);
    // sent now: that is how the service knows when the first ones were recorded
    const sentUnixNs = BigInt(Date.now()) * 1_000_000n;
    const sent = packets.map((packet) => ({ ...packet, sentUnixNs, seq: packet.seq + (startSec === after ? 1000 : 0) }));
    const { status, text } = await postPackets(running.service.baseUrl, credential, sent);
    expect(status, text).toBe(202);
    expect(JSON.parse(text)).toMatchObject({ rejected: [] });
  }
  const isAfter = (row: string): boolean => Number(row.split(' ')[2]) / 1e9 > after;
  await expect
    .poll(
      async () => (await derivedRows(running.database, 'jumped')).filter((row) => row.startsWith('derived:hr_') && isAfter(row)).length,
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThan(3);
  expect(await crashCount()).toBe(0);
});
