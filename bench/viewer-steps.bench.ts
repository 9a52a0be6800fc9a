/** U4: each step from a recording of a day to one beat, as a person sees it: from the gesture to the last change of the picture.
 *  Usage: node bench/viewer-steps.bench.ts    BENCH_VIEWER_HOURS (24) of one ECG; BENCH_VIEWER_STEPS (30) of each kind.
 *
 *  The whole service on an embedded PostgreSQL, its dashboard in Chromium without a GPU, all on this machine. A step ends when nothing is
 *  asked for any more and the canvas has not changed since. To see that, columns of its pixels are read in each frame; to read all of them
 *  took longer than the step. */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildWeb } from '../scripts/build-web.ts';
import { createOrganization } from '../src/auth/organizations.ts';
import { createSimulatedDevice } from '../src/cli/simulator/device.ts';
import { createPacketSource } from '../src/cli/simulator/packets.ts';
import { readConfig } from '../src/config.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { startService } from '../src/server.ts';
import { launchChromium } from '../test/helpers/chromium.ts';
import type { BioRecording } from '../widgets/recording/recording.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { report } from './lib/result.ts';

const HOURS = Number(process.env['BENCH_VIEWER_HOURS'] ?? 24);
const STEPS = Number(process.env['BENCH_VIEWER_STEPS'] ?? 30);
const PACKET_SEC = 10;
/** Nothing changes any more, ms. */
const SETTLED_MS = 300;
const STEP_MAX_MS = 10_000;
const operator = { email: 'bench@example.org', password: 'correct horse battery' };

const database = await openBenchDatabase();
const folder = await mkdtemp(join(tmpdir(), 'bio-viewer-bench-'));
await buildWeb(folder);
const service = await startService({
  config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }),
  webDir: folder,
});
const { apiKey } = await createOrganization(service.database.pool, 'Bench');
const headers = { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/json' };

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(service.baseUrl + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** @returns id of a stream that ended an hour ago */
async function record(): Promise<string> {
  const [project] = await send<{ project_key: string }[]>('GET', '/api/v1/projects');
  const { xuser_id: person } = await send<{ xuser_id: string }>('POST', '/api/v1/xusers', {
    external_id: 'day',
    project_key: project!.project_key,
  });
  const next = createPacketSource(createSimulatedDevice({ seed: 5, channels: ['ecg.ii'] }), {
    deviceId: 'day',
    bootId: '05'.repeat(16),
    subject: 'day',
    startUnixNs: BigInt(Date.now() - (HOURS + 1) * 3_600_000) * 1_000_000n,
    packetMs: PACKET_SEC * 1000,
  });
  for (let left = (HOURS * 3600) / PACKET_SEC; left > 0; left--) {
    const body = Buffer.from(encodePacket({ ...next().packet, sentUnixNs: 0n }));
    const post = { method: 'POST', headers: { ...headers, 'content-type': 'application/x-protobuf' }, body };
    for (;;) {
      const { status } = await fetch(`${service.baseUrl}/ingest/raw-packet`, post);
      if (status === 202) break;
      if (status !== 429 && status !== 503) throw new Error(`a packet was refused: ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  for (;;) {
    const [stream] = await send<{ id: string; is_flowing: boolean }[]>('GET', `/api/v1/streams?subject_id=${person}`);
    if (!stream!.is_flowing) return stream!.id; // while it goes on, its last page is fetched again and again
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const quantile = (values: readonly number[], q: number): number => values.toSorted((a, b) => a - b)[Math.floor(q * (values.length - 1))]!;

try {
  const stream = await record();
  await send('POST', '/api/v1/members', { ...operator, display_name: 'Bench', role: 'viewer' });
  const browser = await launchChromium();
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 1000 } })).newPage();
  await page.goto(`${service.baseUrl}/dashboard/`);
  await page.getByLabel('E-mail').fill(operator.email);
  await page.getByLabel('Password').fill(operator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
  await page.goto(`${service.baseUrl}/dashboard/#/recordings/${stream}`);
  await page.locator('bio-recording[data-state=ready]').waitFor();
  await page.waitForLoadState('networkidle');
  const times = await page.evaluate(measure, { steps: STEPS, settledMs: SETTLED_MS, stepMaxMs: STEP_MAX_MS });
  for (const [name, values] of Object.entries(times)) {
    report({ name: `${name}, p50`, value: quantile(values, 0.5), unit: 'ms' });
    report({ name: `${name}, p95`, value: quantile(values, 0.95), goal: 'U4', note: `load ${loadavg()[0]!.toFixed(1)}` });
  }
  await browser.close();
} finally {
  await service.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
}

/** In the page: makes steps of each kind, from places that were not looked at before. */
async function measure(limits: Readonly<{ steps: number; settledMs: number; stepMaxMs: number }>): Promise<Record<string, number[]>> {
  const { root } = document.querySelector<BioRecording>('bio-recording')!;
  const canvasOf = (name: string): HTMLCanvasElement => root.querySelector(`canvas.${name}`)!;
  let underWay = 0;
  const ask = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    underWay++;
    try {
      const answer = await ask(...request);
      await answer.clone().arrayBuffer();
      return answer;
    } finally {
      underWay--;
    }
  };
  /** Of columns of pixels from one side to the other, which each row of a page and each second of a strip has. */
  const picture = (name: string): number => {
    const canvas = canvasOf(name);
    const context = canvas.getContext('2d')!;
    let hash = 0;
    for (let x = 40; x < canvas.width; x += 97)
      for (const value of context.getImageData(x, 0, 1, canvas.height).data) hash = (hash * 31 + value) | 0;
    return hash;
  };
  const frame = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => resolve()));
  const step = async (name: string, act: () => void): Promise<number> => {
    let last = picture(name);
    const startMs = performance.now();
    let changedMs = startMs;
    act();
    for (;;) {
      await frame();
      const [now, nowMs] = [picture(name), performance.now()];
      if (now !== last) [last, changedMs] = [now, nowMs];
      if ((underWay === 0 && nowMs - changedMs > limits.settledMs) || nowMs - startMs > limits.stepMaxMs) return changedMs - startMs;
    }
  };
  const click = (name: string, x: number, y: number): void => {
    const { left, top, width, height } = canvasOf(name).getBoundingClientRect();
    const at = { clientX: left + x * width, clientY: top + y * height };
    canvasOf(name).dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, buttons: 1, pointerId: 1, ...at }));
  };
  const press = (key: string): void =>
    void root.querySelector('.views')!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const found: Record<string, number[]> = {};
  for (let i = 0; i < limits.steps; i++) {
    const [place, along, row] = [((i * 7919) % 97) / 97, 0.2 + (0.7 * ((i * 31) % 17)) / 17, (((i * 13) % 10) + 0.3) / 10];
    for (const [name, canvas, act] of [
      ['from the whole to a page', 'rows', () => click('whole', place, 0.3)],
      ['from a page to a strip', 'strip', () => click('rows', along, row)],
      ['from a strip to a beat', 'strip', () => press(i % 2 === 0 ? '+' : '-')],
      ['along the strip', 'strip', () => press('ArrowRight')],
      ['to the next page', 'rows', () => press('PageDown')],
    ] as const)
      (found[name] ??= []).push(await step(canvas, act));
  }
  return found;
}
