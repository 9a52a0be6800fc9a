/** Light that a device gives as no device should: of last year, without a finger, at another rate after a restart, with samples that are no
 *  numbers, upside down by its gain, a tone next to a pulse. Nothing that is wrong is good, nothing is lost. On the whole service. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Packet } from '../../src/proto/packet.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

const SEC = 1_000_000_000n;
const lengthSec = 80;
const packetSec = 4;
const lastYearNs = (BigInt(Date.now()) - 365n * 86_400_000n) * 1_000_000n;

const beat = (t: number): number => Math.exp(-(((t - 0.2) / 0.09) ** 2)) + 0.35 * Math.exp(-(((t - 0.48) / 0.12) ** 2));
/** A pulse of 75 /min. */
const pulse = (t: number): number => beat(t % 0.8) + beat((t % 0.8) + 0.8);
const tone = (t: number): number => Math.sin(2 * Math.PI * 1.5 * t);

type Light = Readonly<{ code: string; hz: number; gain?: number; at: (t: number, i: number) => number; isFloat?: boolean }>;

async function sent(deviceId: string, boot: number, startNs: bigint, lights: readonly Light[]): Promise<void> {
  for (let seq = 0; seq < lengthSec / packetSec; seq++) {
    const t0 = BigInt(seq * packetSec) * SEC;
    const packet: Packet = {
      schemaVersion: 1,
      deviceId,
      bootId: boot.toString(16).padStart(32, '0'),
      seq,
      t0DeviceNs: t0,
      t0UnixNs: startNs + t0,
      sentUnixNs: 0n,
      subject: '',
      firmware: '',
      blocks: lights.map(({ code, hz, gain = 1, at, isFloat = false }) => {
        const channel: ChannelConfig = { code, kind: 'ppg', rateNanoHz: hz * 1e9, gain, baseline: 0, unit: '1', lead: '' };
        const value = (_: unknown, i: number): number => at(seq * packetSec + i / hz, seq * packetSec * hz + i);
        const length = packetSec * hz;
        return {
          channel,
          tOffsetNs: 0,
          samples: isFloat ? Float32Array.from({ length }, value) : Int32Array.from({ length }, value),
          qmask: null,
        };
      }),
      measurements: [],
      events: [],
    };
    const { status, text } = await running.ingest(packet, (await running.token(deviceId)).xuser_token);
    expect(status, text).toBe(202);
  }
}

type Row = { feature: string; t: number; value: number; qmask: number };

/** Values of a device's recordings, by boot. */
async function rowsOf(deviceId: string, boot: number): Promise<Row[]> {
  const { rows } = await running.database.pool.query<Row>(
    `select m.name as feature, (f.ts_ns - s.epoch_ns)::float8 / 1e9 as t, f.value, f.qmask
     from feature f join stream s on s.id = f.stream_id join device d on d.id = s.device_id join method m on m.id = f.method_id
     where d.external_id = $1 and encode(s.boot_id, 'hex') = $2 order by f.ts_ns`,
    [deviceId, boot.toString(16).padStart(32, '0')],
  );
  return rows;
}

const of = (rows: readonly Row[], feature: string): Row[] => rows.filter((row) => row.feature === feature);
const good = (rows: readonly Row[], feature: string): Row[] => of(rows, feature).filter(({ qmask }) => qmask === 0);

const counts = (t: number): number => 10_000 + 1000 * pulse(t);

it.each<[string, bigint, readonly Light[], boolean]>([
  ['of last year', lastYearNs, [{ code: 'ppg.green', hz: 64, at: counts }], true],
  ['with a negative gain', lastYearNs + 1000n * SEC, [{ code: 'ppg.green', hz: 64, gain: -1, at: (t) => -counts(t) }], true],
  ['with samples that are no numbers', lastYearNs + 2000n * SEC, [{ code: 'ppg.green', hz: 50, isFloat: true, at: (t, i) => (i % 501 === 7 ? Number.POSITIVE_INFINITY : i % 333 === 5 ? Number.NaN : counts(t)) }], true],
  ['of a vibration', lastYearNs + 3000n * SEC, [{ code: 'ppg.green', hz: 64, at: (t) => 10_000 + 1000 * tone(t) }], false],
  ['of a vibration in red and infrared', lastYearNs + 4000n * SEC, [{ code: 'ppg.red', hz: 64, at: (t) => 10_000 + 800 * tone(t) }, { code: 'ppg.ir', hz: 64, at: (t) => 20_000 + 1000 * tone(t) }], false],
])('light %s', async (name, startNs, lights, isPulse) => {
  const deviceId = name.replaceAll(' ', '-');
  await sent(deviceId, 1, startNs, lights);
  await expect.poll(async () => of(await rowsOf(deviceId, 1), 'worn_ppg').length, { timeout: 120_000, interval: 500 }).toBeGreaterThanOrEqual(lengthSec / 8 - 2);
  const rows = await rowsOf(deviceId, 1);
  expect(of(rows, 'hr_ppg').length).toBeGreaterThan(40);
  for (const { value, qmask, t } of of(rows, 'hr_ppg')) if (qmask === 0) expect(Math.abs(value - 75), `${t}`).toBeLessThan(5);
  const [rates, worn] = [good(rows, 'hr_ppg').length, good(rows, 'worn_ppg').length];
  if (isPulse) expect([rates > 30, worn > 4]).toEqual([true, true]);
  else expect([rates, worn, good(rows, 'spo2').length]).toEqual([0, 0, 0]);
  expect(running.faults).toEqual([]);
}); // prettier-ignore

it('a sensor that comes back at another rate after a restart has the values of each of its recordings', async () => {
  const startNs = lastYearNs + 5000n * SEC;
  for (const [boot, hz] of [
    [1, 50],
    [2, 100],
    [3, 25],
  ] as const)
    // prettier-ignore
    await sent('restarted', boot, startNs + BigInt(boot * 200) * SEC, [{ code: 'ppg.green', hz, at: counts }]);
  for (const boot of [1, 2, 3]) {
    await expect
      .poll(async () => of(await rowsOf('restarted', boot), 'worn_ppg').length, { timeout: 120_000, interval: 500 })
      .toBeGreaterThanOrEqual(lengthSec / 8 - 2);
    const rates = good(await rowsOf('restarted', boot), 'hr_ppg');
    expect(rates.length, `${boot}`).toBeGreaterThan(30);
    for (const { value } of rates) expect(Math.abs(value - 75)).toBeLessThan(5);
  }
  expect(running.faults).toEqual([]);
});
