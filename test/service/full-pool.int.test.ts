/** A recording that comes faster than it can be computed: the full pool refuses packets, and no second of it stays without values. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fixtureChannels, madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { until } from '../helpers/database.ts';
import { derivedRows, packetsOf, postPackets, secondOf } from '../helpers/derived-rows.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

vi.setConfig({ testTimeout: 180_000 });

const lengthSec = 1800;
const epochNs = BigInt(Date.now() - lengthSec * 1000 - 60_000) * 1_000_000n;
const channels = fixtureChannels.slice(0, 2);

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_QUEUE_BYTES_MAX: String(1 << 20), BIO_DSP_IDLE_FLUSH_MS: '500' });
});
afterAll(() => running.close());

// promise: full-pool
test('an import that fills the pool again and again leaves no second without a heart rate', async () => {
  const sent = packetsOf('fast-1', madeUpStream(51, 0, lengthSec, channels), channels, epochNs).map((packet) => ({
    ...packet,
    sentUnixNs: 0n,
  }));
  let refused = 0;
  for (let i = 0; i < sent.length; i += 60) {
    for (;;) {
      const { status, text } = await postPackets(running.service.baseUrl, running.org.apiKey.key, sent.slice(i, i + 60));
      if (status === 202 && (JSON.parse(text) as { rejected: unknown[] }).rejected.length === 0) break;
      expect([202, 503], text).toContain(status);
      refused++;
      await sleep(20);
    }
  }
  expect(refused).toBeGreaterThan(0);
  const seconds = async (): Promise<number[]> =>
    (await derivedRows(running.database, 'fast-1')).filter((row) => row.startsWith('derived:hr_ecg_v')).map(secondOf);
  await until(async () => (await seconds()).some((sec) => sec > lengthSec - 20), 60_000);
  await until(async () => missing(await seconds()).length === 0, 60_000).catch(() => {});
  expect(missing(await seconds())).toEqual([]);
});

/** Seconds between the first minute and the last without a value. */
function missing(seconds: readonly number[]): number[] {
  const there = new Set(seconds.map(Math.round));
  return Array.from({ length: lengthSec - 120 }, (_, i) => i + 60).filter((sec) => !there.has(sec));
}
