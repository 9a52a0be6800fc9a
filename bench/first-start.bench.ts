/** From a fresh clone to a live trace on a page: `git clone`, `npm start`, and a browser that looks at the address that it prints.
 *  Installs the locked dependencies with the package cache that the machine has. Needs git, npm and Chromium. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromiumPath, launchChromium } from '../test/helpers/chromium.ts';
import { report } from './lib/result.ts';

const GIVE_UP_MS = 300_000;

if (chromiumPath === null) process.exit(0);
const browser = await launchChromium();
const folder = mkdtempSync(join(tmpdir(), 'biosignal-first-start-'));
const probe = createServer().listen(0, '127.0.0.1');
await new Promise((done) => probe.once('listening', done));
const { port } = probe.address() as AddressInfo;
await new Promise((done) => probe.close(done));

const startedMs = performance.now();
const seconds = (): number => (performance.now() - startedMs) / 1000;
execFileSync('git', ['clone', '--quiet', resolve('.'), join(folder, 'biosignal')]);
const child = spawn('npm', ['start'], {
  cwd: join(folder, 'biosignal'),
  env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(port) },
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: true, // a group of its own, so that Ctrl-C can be played
});
try {
  const address = await new Promise<string>((found, failed) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const page = /http:\S+#demo=\S+/.exec(text);
      if (page !== null) found(page[0]);
    });
    child.on('exit', (code) => failed(new Error(`npm start ended with ${code}: ${text}`)));
    setTimeout(() => failed(new Error('nothing was printed')), GIVE_UP_MS).unref();
  });
  report({ name: 'fresh clone to the printed address', value: seconds(), unit: 's' });
  const page = await browser.newPage();
  await page.goto(address);
  await page.locator('.link.live').waitFor({ timeout: GIVE_UP_MS });
  // A trace is there when its line has moved over paper: two looks at the canvas differ.
  const trace = page.locator('bio-live-trace').first();
  const before = await trace.screenshot();
  while (before.equals(await trace.screenshot())) await page.waitForTimeout(50);
  report({ name: 'fresh clone to a live trace', value: seconds(), unit: 's', note: 'U1: at most 90 s with a warm package cache' });
  await page.waitForFunction(() => Number(document.querySelector('[data-feature=hr_ecg] output')?.textContent) > 40);
  report({ name: 'fresh clone to a heart rate', value: seconds(), unit: 's' });
} finally {
  child.removeAllListeners('exit');
  process.kill(-(child.pid ?? 0), 'SIGINT');
  await new Promise((done) => child.once('exit', done));
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
