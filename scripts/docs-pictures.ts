/** Makes pictures of docs/images from published recordings: the live page, the wall, the recording viewer, charts, the report and the
 *  overview, as the dashboard shows them. Licences and sources stand in docs/images/README.md.
 *
 *  sh scripts/with-runtime.sh scripts/docs-pictures.ts [--data FOLDER] [--out FOLDER] [--only live,wall,…]
 *  --data: folder with mitdb (WFDB) and bidmc (CSV); default BIO_TEST_DATA or ../shared/data.
 *  Takes three minutes, most of which the live page needs for its values. Exit code 1 when a picture is larger than 150 kB. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openRecording } from '../src/cli/client/recording.ts';
import type { Console } from '../src/cli/command.ts';
import { replayRecording } from '../src/cli/replay.ts';
import { readConfig } from '../src/config.ts';
import { startService } from '../src/server.ts';
import type { Service } from '../src/server.ts';
import { launchChromium } from '../test/helpers/chromium.ts';
import { buildWeb } from './build-web.ts';
import { mistaken, toolOptions } from './tool-options.ts';

const PICTURE_BYTES_MAX = 150_000;
/** People on the wall, of each database. */
const LIVE = { mitdb: 10, bidmc: 6 } as const;
/** Device time of a packet, ms. */
const LIVE_PACKET_MS = 250;
const STORED_PACKET_MS = 1000;
/** Minutes since the stored recording ended, and that charts show. */
const STORED_ENDED_MIN = 5;
const CHART_MIN = 40;
/** Variability of a minute is given out once there is one. */
const LIVE_SEC = 75;
/** Pictures while people send, and of what is stored. */
const ofLive = ['live', 'wall', 'overview'] as const;
const names = [...ofLive, 'recording', 'charts', 'report'] as const;
const isOfLive = (name: string): boolean => (ofLive as readonly string[]).includes(name);
const SHOT_MS = 120_000;

const { values: options } = toolOptions({
  options: {
    data: { type: 'string', default: process.env['BIO_TEST_DATA'] ?? '../shared/data' },
    out: { type: 'string', default: 'docs/images' },
    only: { type: 'string', default: names.join() },
  },
});
const wanted = options.only.split(',');
const strange = wanted.filter((name) => !(names as readonly string[]).includes(name));
if (strange.length > 0) mistaken(`--only: no "${strange.join()}"; there are ${names.join()}`);

const folder = await mkdtemp(join(tmpdir(), 'bio-pictures-'));
const stopping = new AbortController();
const console_: Console = { out: () => {}, err: () => {}, progress: null, env: {}, cwd: '.', signal: stopping.signal };

/** The service with its people; asks the REST API with the key that may everything. */
class Stage {
  readonly service: Service;
  #projectKey = '';

  constructor(service: Service) {
    this.service = service;
  }

  async ask<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(this.service.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${this.service.firstKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async addPerson(externalId: string, name: string): Promise<string> {
    if (this.#projectKey === '') this.#projectKey = (await this.ask<{ project_key: string }[]>('GET', '/api/v1/projects'))[0]!.project_key;
    const body = { external_id: externalId, project_key: this.#projectKey, display_name: name };
    return (await this.ask<{ xuser_id: string }>('POST', '/api/v1/xusers', body)).xuser_id;
  }

  /** Sends a recording. @param endedMin minutes since it ended; null: it is sent as it happens, from now on */
  async send(path: string, subject: string, deviceId: string, endedMin: number | null): Promise<void> {
    const recording = await openRecording(path);
    const isLive = endedMin === null;
    const startMs = isLive ? 0 : Date.now() - endedMin * 60_000 - recording.durationSec * 1000;
    await replayRecording(
      recording,
      {
        url: this.service.baseUrl,
        credential: this.service.firstKey!,
        transport: isLive ? 'websocket' : 'http',
        subject,
        deviceId,
        packetMs: isLive ? LIVE_PACKET_MS : STORED_PACKET_MS,
        speed: isLive ? 1 : Infinity,
        startUnixNs: isLive ? null : BigInt(Math.round(startMs)) * 1_000_000n,
        durationSec: Infinity,
        resume: null,
        stated: !isLive,
      },
      console_,
    );
  }
}

async function recordingsOf(database: string, suffix: string, count: number): Promise<string[]> {
  const files = await readdir(join(options.data, database));
  return files
    .filter((file) => file.endsWith(suffix))
    .toSorted()
    .slice(0, count)
    .map((file) => join(options.data, database, file));
}

/** Everybody who sends as it happens. @returns their ids, by the names of the recordings */
async function startLive(stage: Stage): Promise<Map<string, string>> {
  const paths = [...(await recordingsOf('mitdb', '.hea', LIVE.mitdb)), ...(await recordingsOf('bidmc', '_Signals.csv.gz', LIVE.bidmc))];
  const ids = new Map<string, string>();
  for (const [i, path] of paths.entries()) {
    const { name } = await openRecording(path);
    const external = `bed-${String(i + 1).padStart(2, '0')}`;
    ids.set(name, await stage.addPerson(external, path.includes('mitdb') ? `MIT-BIH ${name}` : `BIDMC ${name.replace(/\D/g, '')}`));
    void stage.send(path, external, `patch-${i + 1}`, null).catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    });
  }
  return ids;
}

/** The demo brings the first key, and a simulated person who is not for these pictures. */
async function leaveOutDemo(stage: Stage): Promise<void> {
  for (let asked = 0; asked < 100; asked++) {
    const [demo] = await stage.ask<{ xuser_id: string }[]>('GET', '/api/v1/xusers?external_id=demo-patient');
    if (demo !== undefined) {
      const { xuser_id: id } = demo;
      await stage.ask('POST', `/api/v1/xusers/${id}/erase`, { confirm_external_id: 'demo-patient' });
      return;
    }
    await sleep(200);
  }
  throw new Error('the person of the demo has not come within 20 s');
}

/** A recording of half an hour that ended a while ago. @returns whose */
async function storePerson(stage: Stage): Promise<string> {
  const id = await stage.addPerson('holter-1', 'MIT-BIH 119');
  await stage.send(join(options.data, 'mitdb/119.hea'), 'holter-1', 'holter', STORED_ENDED_MIN);
  return id;
}

async function signedIn(stage: Stage, browser: Browser): Promise<BrowserContext> {
  const account = { email: 'nurse@example.org', password: randomBytes(12).toString('hex') };
  await stage.ask('POST', '/api/v1/members', { ...account, display_name: 'Ada', role: 'clinician' });
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, locale: 'en-GB' });
  const page = await context.newPage();
  await page.goto(`${stage.service.baseUrl}/dashboard/`);
  await page.getByLabel('E-mail').fill(account.email);
  await page.getByLabel('Password').fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
  await page.close();
  return context;
}

/** As WebP: a page of text and traces is a third of what it is as PNG. */
async function save(browser: Browser, name: string, png: Buffer): Promise<void> {
  const page = await browser.newPage();
  for (const quality of [0.9, 0.8, 0.7, 0.6]) {
    const webp = await page.evaluate(
      async ([data, wish]) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
        canvas.getContext('2d')!.drawImage(image, 0, 0);
        return canvas.toDataURL('image/webp', wish).split(',')[1]!;
      },
      [png.toString('base64'), quality] as const,
    );
    const bytes = Buffer.from(webp, 'base64');
    if (bytes.length > PICTURE_BYTES_MAX && quality > 0.6) continue;
    await writeFile(join(options.out, `${name}.webp`), bytes);
    console.log(`${name}.webp: ${(bytes.length / 1000).toFixed(0)} kB`);
    if (bytes.length > PICTURE_BYTES_MAX) process.exitCode = 1;
    break;
  }
  await page.close();
}

type Shot = Readonly<{ address: string; ready: (page: Page) => Promise<unknown>; height?: number; width?: number; print?: boolean }>;

function shotsOf(live: ReadonlyMap<string, string>, stored: string, streamId: string): Record<(typeof names)[number], Shot> {
  const charts = (page: Page): Promise<unknown> => page.locator('bio-trend-chart canvas').first().waitFor({ timeout: 60_000 });
  const today = new Date().toISOString().slice(0, 10);
  const since = new Date(Date.now() - CHART_MIN * 60_000).toISOString();
  return {
    live: {
      address: `#/users/${live.get('bidmc_07')}`,
      height: 980,
      ready: (page) => page.locator('[data-feature=hrv_rmssd_60s] .number').filter({ hasText: /\d/ }).waitFor({ timeout: 120_000 }),
    },
    wall: {
      address: '#/wall',
      width: 1280,
      height: 720,
      ready: (page) => page.locator('.wall-tile:not(.old)').nth(14).waitFor({ timeout: 60_000 }),
    },
    recording: {
      address: `#/recordings/${streamId}?at=${new Date(Date.now() - (STORED_ENDED_MIN + 20) * 60_000).toISOString()}`,
      height: 1200,
      ready: (page) =>
        page
          .locator('bio-recording')
          .getByText(/heart rate \d/)
          .waitFor(),
    },
    charts: { address: `#/users/${stored}?from=${since}&to=${new Date().toISOString()}`, height: 640, ready: charts },
    report: { address: `#/users/${stored}/report?from=${today}&to=${today}`, width: 760, height: 1080, print: true, ready: charts },
    overview: {
      address: '#/overview',
      height: 760,
      ready: (page) => page.locator('.figure').filter({ hasText: 'Packets per second' }).filter({ hasNotText: 'measuring' }).waitFor(),
    },
  };
}

const [browser] = await Promise.all([launchChromium(), buildWeb(join(folder, 'web'))]);
const service = await startService({
  config: readConfig({ BIO_DATA_DIR: join(folder, 'data'), PORT: '0', BIO_DEMO: '1', BIO_LOG_LEVEL: 'silent' }),
  webDir: join(folder, 'web'),
});
try {
  const stage = new Stage(service);
  await leaveOutDemo(stage);
  const stored = await storePerson(stage);
  const live = wanted.some(isOfLive) ? await startLive(stage) : new Map<string, string>();
  const context = await signedIn(stage, browser);
  if (live.size > 0) await sleep(LIVE_SEC * 1000);
  const [stream] = await stage.ask<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${stored}`);
  const shots = shotsOf(live, stored, stream!.id);
  for (const name of names) {
    if (!wanted.includes(name)) continue;
    if (!isOfLive(name)) stopping.abort();
    const { address, ready, width = 1200, height = 800, print = false } = shots[name];
    const page = await context.newPage();
    await page.setViewportSize({ width, height });
    await page.goto(`${service.baseUrl}/dashboard/${address}`);
    await ready(page);
    await sleep(6000); // a whole sweep of a trace
    if (print) await page.emulateMedia({ media: 'print' });
    await save(browser, name, await page.screenshot({ timeout: SHOT_MS }));
    await page.close();
  }
} finally {
  stopping.abort();
  await browser.close();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}
