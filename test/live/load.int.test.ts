/** Viewers and devices that misbehave, together with some that do not. The load comes from a process of its own, the service is in this
 *  one, with a sink in memory. bench/live-load.bench.ts has the figures; here are the bounds beyond which something is broken. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LoadPlan, LoadResult } from '../../bench/lib/load.ts';
import type { MemoryService } from '../../bench/lib/memory-service.ts';
import { KEY, startMemoryService } from '../../bench/lib/memory-service.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { startLoad } from '../../bench/lib/service-process.ts';
import { IngestClient } from '../../sdk/ingest-client.ts';
import { LiveClient } from '../../sdk/live-client.ts';
import type { LiveFrame } from '../../sdk/live-client.ts';
import { until } from '../helpers/until.ts';

let service: MemoryService;

beforeAll(async () => {
  service = await startMemoryService({ ledger: false });
});
afterAll(() => service.stop());

type Watched = Readonly<{ load: LoadResult; tickMs: number[] }>;

/** Runs a load; meanwhile a tick of 10 ms is timed. */
async function run(plan: Omit<LoadPlan, 'port' | 'key'>): Promise<Watched> {
  const nobody = { pid: 0, port: service.port, key: KEY, usage: () => Promise.reject(), subjects: async () => ({}), stop: async () => {} };
  const load = await startLoad(nobody as never, plan);
  const tickMs: number[] = [];
  let lastMs = performance.now();
  const stop = service.http.ticks.every(10, () => {
    tickMs.push(performance.now() - lastMs);
    lastMs = performance.now();
  });
  const result = await load.result;
  stop();
  await load.stop();
  return { load: result, tickMs: tickMs.sort((a, b) => a - b) };
}

const usual = { channels: 4, fs: 250, packetMs: 100, warmSec: 1, sec: 3 };

// promise: timers-go-on
// job: ticks
it.each(['device', 'viewer'] as const)('a %s that never stops sending starves nobody', async (firehose) => {
  const { load, tickMs } = await run({ ...usual, devices: 20, viewersPerDevice: 1, firehose });
  // Nearly all on an idle machine; the peer takes what processor there is on a busy one.
  expect(load.frames / load.lateMs.n).toBeGreaterThan(0.5);
  expect(load.settled / load.sent).toBeGreaterThan(0.5);
  // Unmodified uWebSockets.js: 2,300 to 5,000 ms. The goal of 20 ms (p99) is the bench's, on a quiet machine.
  expect(tickMs[Math.floor(tickMs.length * 0.9)]).toBeLessThan(1000);
});

// promise: late-samples, devices-share
it('shows one subject with devices of 1 Hz to 1 kHz, one of which catches up at once: every sample once, in order', async () => {
  const frames: LiveFrame[] = [];
  const viewer = new LiveClient({
    baseUrl: service.baseUrl,
    subject: 'mixed',
    token: () => KEY,
    onFrame: (frame) => void frames.push(frame),
  });
  await until(() => viewer.state === 'live');
  const sender = new IngestClient({ baseUrl: service.baseUrl, token: () => KEY, transport: 'websocket' });
  const nowNs = BigInt(Date.now() - 8000) * 1_000_000n;
  const devices = [
    { fs: 1, ms: 1000, count: 6 },
    { fs: 130, ms: 100, count: 60 },
    { fs: 1000, ms: 100, count: 60 },
  ].map((plan, i) => ecgPacket({ ...plan, channels: 1, deviceId: `mixed-${i}` }));
  const send = (packets: (typeof devices)[number]): void => {
    for (const packet of packets) {
      const t0UnixNs = nowNs + packet.t0DeviceNs;
      void sender.send({ ...packet, subject: 'mixed', t0UnixNs, sentUnixNs: nowNs });
    }
  };
  for (let n = 0; n < 10; n++) {
    send(devices[0]!.slice((n * 6) / 10, ((n + 1) * 6) / 10));
    send(devices[2]!.slice(n * 6, n * 6 + 6));
    if (n === 0) send(devices[1]!.slice(0, 6));
    if (n === 8) send(devices[1]!.slice(6)); // 5.4 s at once, late
    await sleep(30);
  }
  await sender.flush();
  const wanted = [6, 780, 6000];
  const rates = [1e9, 130e9, 1000e9];
  const samplesOf = (rate: number): number =>
    frames.reduce((sum, frame) => sum + frame.channels.reduce((n, c) => n + (c.rateNanoHz === rate ? present(c.samples) : 0), 0), 0);
  await until(() => rates.every((rate, i) => samplesOf(rate) >= wanted[i]!), 12_000);
  expect(rates.map(samplesOf)).toEqual(wanted);
  for (let i = 1; i < frames.length; i++) expect(frames[i]!.seq).toBeGreaterThan(frames[i - 1]!.seq);
  sender.close();
  viewer.close();
});

/** Samples that are there: a missing one is NaN. */
function present(samples: Float32Array): number {
  let count = 0;
  for (const x of samples) if (!Number.isNaN(x)) count++;
  return count;
}

it('hands a page its frames once per animation frame, in order', async () => {
  const draws: (() => void)[] = [];
  (globalThis as { requestAnimationFrame?: unknown }).requestAnimationFrame = (draw: () => void) => draws.push(draw);
  const seqs: number[] = [];
  const viewer = new LiveClient({
    baseUrl: service.baseUrl,
    subject: 'drawn',
    token: () => KEY,
    onFrame: ({ seq }) => void seqs.push(seq),
  });
  const sender = new IngestClient({ baseUrl: service.baseUrl, token: () => KEY, transport: 'websocket' });
  try {
    await until(() => viewer.state === 'live');
    const startNs = BigInt(Date.now() - 3000) * 1_000_000n;
    for (const packet of ecgPacket({ channels: 1, fs: 250, ms: 100, count: 30, deviceId: 'drawn' })) {
      const t0UnixNs = startNs + packet.t0DeviceNs;
      await sender.room();
      void sender.send({ ...packet, subject: 'drawn', t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n });
    }
    await until(() => viewer.lastSeq >= 4);
    expect(seqs).toEqual([]); // nothing before the page draws
    expect(draws.length).toBe(1); // and one request for all of them
    draws[0]!();
    expect(seqs.length).toBeGreaterThanOrEqual(5);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect(seqs.at(-1)).toBe(viewer.lastSeq);
  } finally {
    viewer.close();
    sender.close();
    delete (globalThis as { requestAnimationFrame?: unknown }).requestAnimationFrame;
  }
});
