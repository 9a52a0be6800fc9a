/** U2 and what a page with widgets costs: sizes of the bundles, time to the first value and the first trace, frames per second and CPU of 8
 *  live channels, and the memory of a live trace that runs on.
 *  Usage: node bench/web.bench.ts    BENCH_WEB_SEC (10) of live trace, BENCH_WEB_MINUTES (0; --full 30) of watching the memory.
 *
 *  The service is a stand-in that answers at once (test/helpers/browser-fixture.ts), so the times are the page's own. Chromium draws
 *  without a GPU here: a machine with one does less. CPU is that of all of Chromium's processes together. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { buildWeb } from '../scripts/build-web.ts';
import { fixtureEcg, fixtureFrame, fixtureToken, startFixture } from '../test/helpers/browser-fixture.ts';
import { chromiumPath } from '../test/helpers/chromium.ts';
import { serveWidgetAnswers, widgetPage } from '../test/helpers/widget-answers.ts';
import { treeCpuSec } from './lib/processor-time.ts';
import { report, reportCurve, reportMedian } from './lib/result.ts';

const CHANNELS = 8;
const FS = 250;
const FRAME_MS = 100;
const sec = Number(process.env['BENCH_WEB_SEC'] ?? 10);
const minutes = Number(process.env['BENCH_WEB_MINUTES'] ?? (process.env['BENCH_FULL'] === '1' ? 30 : 0));

const folder = await mkdtemp(join(tmpdir(), 'bio-web-bench-'));
const { files } = await buildWeb(folder);
report({ name: 'bio-core.js, brotli', value: files['bio-core.js']!.brotliBytes, goal: 'U2 core' });
report({ name: 'bio-widgets.js, brotli', value: files['bio-widgets.js']!.brotliBytes, goal: 'U2 all' });
report({ name: 'bio-recording.js, brotli', value: files['bio-recording.js']!.brotliBytes, goal: 'U2 viewer' });
if (chromiumPath === null) {
  console.log('no Chromium on this machine: sizes only');
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

const fixture = await startFixture(folder);
serveWidgetAnswers(fixture, { mode: 'ready', word: null });
fixture.onSocket((socket) => {
  let frame = 0;
  const startedMs = Date.now();
  const t0 = BigInt(startedMs) * 1_000_000n;
  const perFrame = (FS * FRAME_MS) / 1000;
  const send = (): void => {
    const samples = Array.from({ length: perFrame }, (_, i) => fixtureEcg((frame * perFrame + i) / FS, 70));
    const channels = Array.from({ length: CHANNELS }, (_, i) => ({ code: `ecg.${i}`, kind: 1, unit: 'mV', rateHz: FS, samples }));
    socket.send(fixtureFrame(t0 + BigInt(frame) * BigInt(FRAME_MS) * 1_000_000n, channels, [{ name: 'hr_ecg', value: 70, qmask: 0 }]));
    frame += 1;
  };
  // By the clock: a timer that is late on a busy machine must not make the device slow.
  const timer = setInterval(() => {
    while (frame * FRAME_MS <= Date.now() - startedMs) send();
  }, FRAME_MS / 4);
  return () => clearInterval(timer);
});

const server = await chromium.launchServer({
  executablePath: chromiumPath,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-sync',
    '--disable-component-update',
    '--enable-precise-memory-info',
  ],
});
const browser: Browser = await chromium.connect(server.wsEndpoint());
const browserPid = server.process().pid ?? 0;
const attributes = `sdk-key="sdk_bench" xuser-token="${fixtureToken()}"`;
const serve = (body: string): void => fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body }) });

// Time to the first value, from the start of the navigation, with an empty cache.
for (const [name, tag, part] of [
  ['first value of bio-trend-card', 'bio-trend-card', '<bio-trend-card biosignals="HR" refresh="0"></bio-trend-card>'],
  ['first line of bio-trend-chart, 24 h', 'bio-trend-chart', '<bio-trend-chart biosignals="HR" refresh="0"></bio-trend-chart>'],
] as const) {
  serve(part);
  const times: number[] = [];
  for (let i = 0; i < 7; i++) {
    const context = await browser.newContext({ viewport: { width: 1000, height: 800 } });
    const page = await context.newPage();
    await page.goto(`${fixture.origin}/page`, { waitUntil: 'commit' });
    await page.waitForFunction((wanted) => document.querySelector<HTMLElement>(wanted)?.dataset['state'] === 'ready', tag, {
      polling: 'raf',
    });
    if (i > 0) times.push(await page.evaluate(() => performance.now()));
    await context.close();
  }
  reportMedian({ name, unit: 'ms' }, times);
}

// The same to the first stroke of a live trace: the socket, one frame of 100 ms, and the trace's own delay against uneven arrival.
serve('<bio-live-trace channel="ecg.0"></bio-live-trace>');
const traceTimes: number[] = [];
for (let i = 0; i < 6; i++) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${fixture.origin}/page`, { waitUntil: 'commit' });
  await page.waitForFunction(hasInk, null, { polling: 'raf' });
  if (i > 0) traceTimes.push(await page.evaluate(() => performance.now()));
  await context.close();
}
reportMedian({ name: 'first stroke of bio-live-trace', unit: 'ms' }, traceTimes);

serve(Array.from({ length: CHANNELS }, (_, i) => `<bio-live-trace channel="ecg.${i}"></bio-live-trace>`).join(''));
const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
const errors: string[] = [];
page.on('pageerror', (error) => errors.push(error.message));
await page.goto(`${fixture.origin}/page`);
await page.locator('bio-live-trace .veil').first().waitFor({ state: 'detached' });
const metrics = await page.context().newCDPSession(page);
await metrics.send('Performance.enable', { timeDomain: 'threadTicks' });
await page.waitForTimeout(3000);

const busyBefore = await taskSec(metrics);
const cpuBefore = treeCpuSec(browserPid);
const startedMs = performance.now();
const frames = await framesIn(page, sec * 1000);
const wallSec = (performance.now() - startedMs) / 1000;
report({ name: `${CHANNELS} live channels of ${FS} Hz: frames per second`, value: frames.perSec, unit: '1/s', better: 'higher' });
report({ name: `${CHANNELS} live channels: longest time between two frames`, value: frames.longestMs, unit: 'ms' });
report({
  name: `${CHANNELS} live channels: main thread of the page`,
  value: ((await taskSec(metrics)) - busyBefore) / wallSec,
  unit: 'CPU',
});
report({
  name: `${CHANNELS} live channels: all of Chromium, drawing without a GPU`,
  value: (treeCpuSec(browserPid) - cpuBefore) / wallSec,
  unit: 'CPU',
});

// Memory: the heap after a collection, at equal distances. A leak is a slope that does not end.
const points: [number, number][] = [];
const steps = 6;
for (let i = 0; i <= steps; i++) {
  if (i > 0) await page.waitForTimeout(Math.max(2000, (minutes * 60_000) / steps));
  await metrics.send('HeapProfiler.collectGarbage');
  points.push([Number(((performance.now() - startedMs) / 60_000).toFixed(2)), (await heapBytes(metrics)) / 1e6]);
}
reportCurve({ name: 'heap of the page with 8 live traces', x: 'minutes', y: 'MB', points });
// The first point is before the rings are full.
report({ name: 'growth of that heap from the second look to the last', value: points.at(-1)![1] - points[1]![1], unit: 'MB' });
if (errors.length > 0) {
  console.log(`errors on the page: ${errors.join('; ')}`);
  process.exitCode = 1;
}

await browser.close();
await server.close();
await fixture.close();
await rm(folder, { recursive: true, force: true });

/** Runs in the page. The first canvas is the grid. */
function hasInk(): boolean {
  const canvas = document.querySelector('bio-live-trace')?.shadowRoot?.querySelectorAll('canvas')[1];
  if (canvas === undefined || canvas.width === 0 || canvas.height === 0) return false;
  const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 3; i < data.length; i += 4) if (data[i]! > 0) return true;
  return false;
}

async function taskSec(session: CDPSession): Promise<number> {
  const { metrics: all } = await session.send('Performance.getMetrics');
  return all.find((metric) => metric.name === 'TaskDuration')?.value ?? Number.NaN;
}

async function heapBytes(session: CDPSession): Promise<number> {
  const { metrics: all } = await session.send('Performance.getMetrics');
  return all.find((metric) => metric.name === 'JSHeapUsedSize')?.value ?? Number.NaN;
}

/** Animation frames that the page got. */
function framesIn(on: Page, durationMs: number): Promise<{ perSec: number; longestMs: number }> {
  return on.evaluate(
    (wantedMs) =>
      new Promise<{ perSec: number; longestMs: number }>((resolve) => {
        const begunMs = performance.now();
        let lastMs = begunMs;
        let count = 0;
        let longestMs = 0;
        const tick = (nowMs: number): void => {
          count += 1;
          longestMs = Math.max(longestMs, nowMs - lastMs);
          lastMs = nowMs;
          if (nowMs - begunMs < wantedMs) requestAnimationFrame(tick);
          else resolve({ perSec: (count * 1000) / (nowMs - begunMs), longestMs });
        };
        requestAnimationFrame(tick);
      }),
    durationMs,
  );
}
