// A device whose profile brings the calibration of its oximeter gets good oxygen saturations, the same ones whichever way they are
// computed.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { EXIT_OK } from '../../src/cli/command.ts';
import { reprocess } from '../../src/cli/reprocess.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { pulseWave } from '../../src/dsp/testing/ppg-faults.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const light = ['ppg.red', 'ppg.ir'].map((code): ChannelConfig => ({
  code,
  kind: 'ppg',
  rateNanoHz: 100e9,
  gain: 1,
  baseline: 0,
  unit: '1',
  lead: 'finger',
}));
const lengthSec = 96;
const epochNs = BigInt(Date.now() - 3_600_000) * 1_000_000n;

let database: TestDatabase;
let org: NewOrganization;
let baseUrl = '';
let serving: ChildProcess | null = null;

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
});
afterEach(() => stop('SIGKILL'));
afterAll(() => database.close());

async function serve(): Promise<void> {
  serving = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = (await once(serving.stdout!.setEncoding('utf8'), 'data')) as [string];
  baseUrl = first.trim();
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const child = serving;
  if (child === null) return;
  serving = null;
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}

async function api<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return JSON.parse(text) as T;
}

/** Two seconds of light with a ratio of ratios of 0.5. */
function packet(deviceId: string, seq: number, boot = '00'): Packet {
  const t0 = BigInt(2 * seq) * 1_000_000_000n;
  return {
    schemaVersion: 1,
    deviceId,
    bootId: boot.repeat(16),
    seq,
    t0DeviceNs: t0,
    t0UnixNs: epochNs + t0,
    sentUnixNs: epochNs + t0,
    subject: '',
    firmware: '',
    blocks: light.map((channel, no) => ({
      channel,
      tOffsetNs: 0,
      samples: Int32Array.from({ length: 200 }, (_, i) =>
        Math.round(100_000 * (1 + (no === 0 ? 0.01 : 0.02) * pulseWave(1.2 * (2 * seq + i / 100)))),
      ),
      qmask: null,
    })),
    measurements: [],
    events: [],
  };
}

async function send(packets: readonly Packet[]): Promise<void> {
  const response = await fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: encodeBatch(packets.map((one) => encodePacket(one))) as Uint8Array<ArrayBuffer>,
  });
  expect([response.status, await response.json()]).toEqual([202, expect.objectContaining({ rejected: [] })]);
}

type Row = { device: string; boot: string; t: number; value: number; qmask: number };

/** Oxygen saturations by device, boot and time; the value as the bits it has. */
async function saturations(deviceId: string, boot = '00'): Promise<Row[]> {
  const { rows } = await database.pool.query<Row>(
    `select d.external_id as device, encode(s.boot_id, 'hex') as boot, (f.ts_ns - s.epoch_ns)::float8 / 1e9 as t, f.value, f.qmask
     from feature f join stream s on s.id = f.stream_id join device d on d.id = s.device_id join method m on m.id = f.method_id
     where m.code = 'derived:spo2_v6' and d.external_id = $1 and encode(s.boot_id, 'hex') = $2 order by f.ts_ns`,
    [deviceId, boot.repeat(16)],
  );
  return rows;
}

async function reprocessed(): Promise<void> {
  const surroundings = { env: { DATABASE_URL: database.url }, cwd: process.cwd() };
  const { code, err } = await ran(reprocess, ['--all', '--ended', '--workers', '1'], surroundings);
  expect(code, err.join('\n')).toBe(EXIT_OK);
}

// promise: profile-assigned, spo2-kept, spo2-suspect
test('values are good by the line of the profile, live, after a kill, with late data and computed again; without a profile suspect at best', async () => {
  await serve();
  const made = await api<{ id: string; spo2_calibration: unknown }>('POST', '/api/v1/device-profiles', {
    code: 'clip',
    name: 'Clip',
    manufacturer: '',
    model: '',
    channels: [],
    spo2_calibration: { offset: 108.3, slope: 19.7 },
  });
  expect(made.spo2_calibration).toEqual({ offset: 108.3, slope: 19.7 });
  await api('PUT', '/api/v1/devices/with/profile', { profile_id: made.id });

  const numbers = Array.from({ length: lengthSec / 2 }, (_, seq) => seq);
  const [early, late, rest] = [numbers.slice(0, 24), numbers.slice(30, 34), numbers.filter((seq) => (seq >= 24 && seq < 30) || seq >= 34)];
  const both = (part: readonly number[]): Promise<void> => send(['with', 'without'].flatMap((id) => part.map((seq) => packet(id, seq))));
  await both(early);
  // with some of them stored: the next process goes on behind them
  await expect.poll(async () => (await saturations('with')).length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
  await stop('SIGKILL');
  await serve();
  await both(rest);
  await both(late);
  await stop('SIGTERM');
  const live = { with: await saturations('with'), without: await saturations('without') };
  for (const rows of [live.with, live.without]) expect(rows.length).toBeGreaterThanOrEqual(lengthSec / 8 - 1);
  // the last block may be cut
  for (const { value, qmask, t } of live.with.filter((row) => row.t <= lengthSec - 8)) {
    expect(qmask, `at ${t} s`).toBe(0);
    expect(Math.abs(value - (108.3 - 19.7 * 0.5)), `at ${t} s`).toBeLessThan(0.3);
  }
  for (const { value, qmask, t } of live.without) {
    expect(qmask, `at ${t} s`).toBeGreaterThanOrEqual(1);
    expect(Math.abs(value - 97.5), `at ${t} s`).toBeLessThan(0.3);
  }

  // What the stream was opened with stays with it, whatever becomes of the device; a stream that is opened later has the new one.
  await serve();
  await api('PUT', '/api/v1/devices/with/profile', { profile_id: null });
  await api('PUT', '/api/v1/devices/without/profile', { profile_id: made.id });
  await send(numbers.flatMap((seq) => ['with', 'without'].map((id) => packet(id, seq, '01'))));
  await stop('SIGTERM');
  await reprocessed();
  expect(await saturations('with')).toEqual(live.with);
  expect(await saturations('without')).toEqual(live.without);
  expect(Math.min(...(await saturations('with', '01')).map((row) => row.qmask))).toBe(1);
  expect((await saturations('without', '01')).filter((row) => row.qmask === 0).length).toBeGreaterThanOrEqual(lengthSec / 8 - 2);
});
