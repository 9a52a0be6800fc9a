/** The drift of a device's clock is measured while it sends, and shown. The clock of this process is turned by hand: minutes pass in
 *  seconds. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { until } from '../helpers/database.ts';
import { packetOf } from '../helpers/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());
afterEach(() => vi.useRealTimers());

const PACKETS = 400;
const SLOW_PPM = 100;
const FAST_WALL_MS = 180_000;

type Clock = { offset_ns: number; skew_ppm: number | null; rms_ns: number; pairs: number };

/** Sends packets of one second. @param paceMs of our clock from one to the next  @param ageSec of the first one
 *  @param stepSec of the device's clock from one to the next  @param count of packets */
async function send(
  deviceId: string,
  paceMs: number,
  ageSec: number,
  stepSec = 1,
  count = PACKETS,
): Promise<{ clock: Clock; epoch_ns: number; time_source: string; id: string }> {
  const startMs = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  for (let seq = 0; seq < count; seq++) {
    const nowMs = startMs + (seq + 1) * paceMs;
    vi.setSystemTime(nowMs);
    const sentUnixNs = BigInt(Math.round((nowMs + FAST_WALL_MS) * 1e6));
    const sent = await running.ingest(
      packetOf(deviceId, seq, {
        subject: deviceId,
        t0DeviceNs: BigInt(seq * stepSec) * 1_000_000_000n,
        t0UnixNs: sentUnixNs - BigInt(ageSec) * 1_000_000_000n,
        sentUnixNs,
      }),
    );
    expect(sent.status, sent.text).toBe(202);
  }
  vi.useRealTimers();
  const saved = `select from stream s join device d on d.id = s.device_id where d.external_id = $1 and upper(range_merge(seqs)) = $2`;
  await until(async () => (await running.database.pool.query(saved, [deviceId, count])).rowCount === 1);
  return (await running.send<never[]>('GET', `/api/v1/streams?subject_id=${deviceId}`)).body[0]!;
}

// promise: skew
test('a device that is slow by 100 ppm and whose wall clock is three minutes fast', async () => {
  const { clock, epoch_ns: epochNs, time_source: source } = await send('drifting', 1000 * (1 + SLOW_PPM / 1e6), 1);
  expect(source).toBe('age');
  expect(clock.skew_ppm).toBeGreaterThan(SLOW_PPM - 5);
  expect(clock.skew_ppm).toBeLessThan(SLOW_PPM + 5);
  expect(clock.rms_ns).toBeLessThan(2e6);
  expect(clock.pairs).toBeGreaterThan(30);
  // Its samples have come to be late by what it lost since its first packet.
  const lateMs = (clock.offset_ns - epochNs) / 1e6;
  expect(lateMs).toBeGreaterThan(25);
  expect(lateMs).toBeLessThan(45);
  const { body: devices } = await running.send<{ device_id: string; clock: object }[]>('GET', '/api/v1/devices');
  expect(devices.find((device) => device.device_id === 'drifting')?.clock).toEqual({
    skew_ppm: clock.skew_ppm,
    rms_ms: clock.rms_ns / 1e6,
    pairs: clock.pairs,
  });
});

test('a device that sends every five seconds: more packets than windows are kept', async () => {
  const { clock } = await send('sparse', 5000 * (1 + SLOW_PPM / 1e6), 1, 5, 100);
  expect(clock.skew_ppm).toBeGreaterThan(SLOW_PPM - 5);
  expect(clock.skew_ppm).toBeLessThan(SLOW_PPM + 5);
  expect(clock.pairs).toBeLessThanOrEqual(64);
});

// promise: skew
test('stored data uploaded faster than it was recorded gives no clock estimate', async () => {
  const { clock } = await send('catching-up', 250, PACKETS);
  expect(clock).toEqual({ offset_ns: null, skew_ppm: null, rms_ns: null, pairs: 0 });
});
