/** The dashboard and the live page in a real Chromium, on the whole service with its simulated device. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWeb } from '../scripts/build-web.ts';
import { readConfig } from '../src/config.ts';
import { startService } from '../src/server.ts';
import type { Service } from '../src/server.ts';
import { chromiumPath, launchChromium } from './helpers/chromium.ts';
import { testDatabase } from './helpers/database.ts';
import type { TestDatabase } from './helpers/database.ts';

const email = 'ada@example.org';
const password = 'correct horse battery';

let folder: string;
let database: TestDatabase;
let service: Service;
let browser: Browser;
let axe: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  await buildWeb(folder);
  database = await testDatabase();
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DEMO: '1', BIO_LOG_LEVEL: 'silent' }),
    webDir: folder,
  });
  const answer = await fetch(`${service.baseUrl}/api/v1/members`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email, display_name: 'Ada', role: 'owner', password }),
  });
  expect(answer.status).toBe(201);
  browser = await launchChromium();
  axe = await readFile(join(import.meta.dirname, '../node_modules/axe-core/axe.min.js'), 'utf8');
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await database?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function open(path: string): Promise<{ page: Page; errors: string[] }> {
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 900 } })).newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(service.baseUrl + path);
  return { page, errors };
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate(async () => {
    const runner = (
      globalThis as unknown as { axe: { run: (node: Document) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe;
    const { violations: found } = await runner.run(document);
    return found.map((item) => `${item.id}: ${item.nodes.map((node) => node.html).join(' ')}`);
  });
}

describe.skipIf(chromiumPath === null)('the live page', () => {
  it('shows a trace, a heart rate and HRV of the simulated device', async () => {
    const { page, errors } = await open(`/dashboard/live.html#demo=${service.demoSecret}`);
    await page.locator('.link.live').waitFor({ timeout: 10_000 });
    const rate = page.locator('[data-feature=hr_ecg] output');
    await expect.poll(async () => Number(await rate.textContent()), { timeout: 20_000 }).toBeGreaterThan(40);
    expect(Number(await rate.textContent())).toBeLessThan(120);
    // RMSSD of 60 s needs most of its window before it is anything but unusable.
    await expect.poll(() => page.locator('[data-feature=hrv_rmssd_60s] output').textContent(), { timeout: 80_000 }).toMatch(/^\d+$/);
    await expect.poll(() => page.locator('bio-trend-chart').getAttribute('data-state'), { timeout: 20_000 }).toBe('ready');
    expect(await page.locator('bio-live-trace').count()).toBeGreaterThanOrEqual(2);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 150_000);

  it('says what to do when the address is of another run', async () => {
    const { page } = await open('/dashboard/live.html#demo=wrong');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('Open the address that the service printed');
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('the dashboard', () => {
  it('refuses a wrong password', async () => {
    const { page } = await open('/dashboard/');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('not this one, surely');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('creates, rotates and revokes a key; the secret is shown once', async () => {
    const { page, errors } = await open('/dashboard/#/settings/keys');
    await signIn(page);
    await page.getByLabel('Name').fill('clinic backend');
    await page.getByLabel('Write').check();
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.locator('.secret code').textContent()) ?? '';
    const uses = (key: string): Promise<number> =>
      fetch(`${service.baseUrl}/api/v1/projects`, { headers: { authorization: `Bearer ${key}` } }).then((answer) => answer.status);
    expect(await uses(secret)).toBe(200);
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: 'I have stored it' }).click();
    await expect.poll(() => page.evaluate((text) => document.documentElement.outerHTML.includes(text), secret)).toBe(false);

    await page.getByRole('button', { name: 'Rotate clinic backend' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await expect.poll(() => page.locator('.secret code').textContent()).not.toBe(secret);
    const next = (await page.locator('.secret code').textContent()) ?? '';
    expect([await uses(secret), await uses(next)]).toEqual([200, 200]);

    await page.getByRole('button', { name: 'Revoke clinic backend' }).first().click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.locator('.state.revoked').waitFor();
    await expect.poll(() => uses(next), { timeout: 3000 }).toBe(401);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('opens every section without an axe violation, and a user with the live monitor', async () => {
    const { page, errors } = await open('/dashboard/');
    await signIn(page);
    for (const section of ['Projects', 'Members', 'Audit log', 'Users']) {
      await page.getByRole('link', { name: section }).click();
      await page.getByRole('heading', { level: 1, name: section }).waitFor();
      await expect.poll(() => page.locator('.card').count()).toBeGreaterThan(0);
      expect(await violations(page)).toEqual([]);
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    await page.getByRole('link', { name: 'demo-patient' }).click();
    await page.locator('.link.live').waitFor({ timeout: 10_000 });
    await expect.poll(() => page.locator('[data-feature=hr_ecg] output').textContent(), { timeout: 20_000 }).toMatch(/^\d+$/);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('signs out', async () => {
    const { page } = await open('/dashboard/');
    await signIn(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.context().close();
  });
});
