/** The dashboard and the live page in a real Chromium, on the whole service with its simulated device. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
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
const sections = [
  'Devices',
  'Signal quality',
  'Episodes',
  'API keys',
  'Projects',
  'Questionnaires',
  'Biosignals',
  'Device profiles',
  'Webhooks',
  'Members',
  'Audit log',
  'Users',
];

let folder: string;
let database: TestDatabase;
let service: Service;
let browser: Browser;
let axe: string;
/** The cookie of an operator who signed in once; passwords are slow on purpose. */
let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>;

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
  const { page } = await open('/dashboard/');
  await signIn(page);
  signedIn = await page.context().storageState();
  await page.context().close();
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await database?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function open(path: string, as?: typeof signedIn): Promise<{ page: Page; errors: string[] }> {
  const page = await (
    await browser.newContext({ viewport: { width: 1200, height: 900 }, ...(as === undefined ? {} : { storageState: as }) })
  ).newPage();
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

/** @param part what to look at; the frame around the pages is the same for all of them */
async function violations(page: Page, part = 'html'): Promise<string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate(async (selector) => {
    const runner = (
      globalThis as unknown as {
        axe: { run: (selector: string, options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe;
    const { violations: found } = await runner.run(selector, { resultTypes: ['violations'] });
    return found.map((item) => `${item.id}: ${item.nodes.map((node) => node.html).join(' ')}`);
  }, part);
}

describe.skipIf(chromiumPath === null)('the live page', () => {
  it('shows a trace, a heart rate and HRV of the simulated device', async () => {
    const { page, errors } = await open(`/dashboard/live#demo=${service.demoSecret}`);
    await page.locator('.link.live').waitFor({ timeout: 10_000 });
    const rate = page.locator('[data-feature=hr_ecg] output');
    await expect.poll(async () => Number(await rate.textContent()), { timeout: 20_000 }).toBeGreaterThan(40);
    expect(Number(await rate.textContent())).toBeLessThan(120);
    // RMSSD of 60 s is unusable before it has seen most of its window; test/widgets-session.int.test.ts shows its tile.
    expect(await page.locator('[data-feature=hrv_rmssd_60s] output').textContent()).toMatch(/^(--|\d+)$/);
    await expect.poll(() => page.locator('bio-trend-chart').getAttribute('data-state'), { timeout: 20_000 }).toBe('ready');
    expect(await page.locator('bio-live-trace').count()).toBeGreaterThanOrEqual(2);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 150_000);

  it('says what to do when the address is of another run', async () => {
    const { page } = await open('/dashboard/live.html#demo=wrong');
    await expect
      .poll(() => page.getByRole('alert').textContent(), { timeout: 10_000 })
      .toContain('Open the address that the service printed');
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
    const { page, errors } = await open('/dashboard/#/settings/keys', signedIn);
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

  it('opens every section without an axe violation or sideways scrolling, at a desk and on a phone', async () => {
    const { page, errors } = await open('/dashboard/', signedIn);
    for (const viewport of [
      { width: 1200, height: 900 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(viewport);
      for (const section of sections) {
        if (viewport.width < 760) await page.locator('button.menu').click();
        await page.getByRole('link', { name: section, exact: true }).click();
        await page.getByRole('heading', { level: 1, name: section, exact: true }).waitFor();
        await expect.poll(() => page.locator('.card:not(.skeletons)').count(), { timeout: 10_000 }).toBeGreaterThan(0);
        if (viewport.width > 760 || section === 'API keys') expect(await violations(page, 'main'), section).toEqual([]);
        expect(await page.getByRole('alert').count(), section).toBe(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), section).toBeLessThanOrEqual(0);
      }
    }
    expect(errors).toEqual([]);
    await page.context().close();
  }, 240_000);

  it('shows a user live, with the beats of the service marked', async () => {
    const { page, errors } = await open('/dashboard/#/users', signedIn);
    await page.getByRole('link', { name: 'demo-patient' }).click();
    await page.locator('.link.live').waitFor({ timeout: 10_000 });
    await expect.poll(() => page.locator('[data-feature=hr_ecg] output').textContent(), { timeout: 20_000 }).toMatch(/^\d+$/);
    const beats = page.locator('bio-beat-review canvas');
    await expect.poll(() => beats.getAttribute('aria-label'), { timeout: 40_000 }).toMatch(/^[1-9]\d* beats.*; \d+ s behind$/);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 120_000);

  it('shows how devices are: the simulated one sends, loses nothing and reports its battery', async () => {
    const { page } = await open('/dashboard/#/devices', signedIn);
    const row = page.getByRole('row').filter({ hasText: 'demo-patch' });
    await row.getByText('sending').waitFor({ timeout: 10_000 });
    await expect.poll(() => row.textContent(), { timeout: 15_000 }).toMatch(/0 %.*100 %/s);
    await page.context().close();
  });

  it('publishes a questionnaire with rules, after a try-out, and shows what is wrong with a rule', async () => {
    const { page, errors } = await open('/dashboard/#/settings/questionnaires', signedIn);
    await page.getByLabel('Name in addresses').fill('pain-diary');
    await page.getByRole('button', { name: 'Begin' }).click();
    await page.getByLabel('Title', { exact: true }).fill('Pain diary');
    await page.getByLabel('Question', { exact: true }).fill('How strong is the pain?');
    await page.getByLabel('Answers One a line').fill('None = 0\nSome = 4\nUnbearable = 10');
    await page.getByRole('button', { name: 'Add a score' }).click();
    await page.getByLabel('Rule', { exact: true }).fill('sum(all');
    await page.getByRole('button', { name: 'Publish version 1' }).click();
    await expect.poll(() => page.getByRole('alert').textContent(), { timeout: 10_000 }).toContain('")" is missing');
    await page.getByLabel('Rule', { exact: true }).fill('sum(all) * 10');
    await page.getByLabel('Words').fill('0 low, 80 high');
    await page.getByRole('button', { name: 'Add a safety rule' }).click();
    await page.getByLabel('Holds when').fill('{q1} >= 10');
    await page.getByRole('combobox', { name: 'How strong is the pain?' }).selectOption('Unbearable');
    await page.getByRole('button', { name: 'Score these answers' }).click();
    await page.getByText('Score 100').waitFor();
    expect(await page.locator('.badge.bad').textContent()).toContain('An answer needs attention');
    await page.getByRole('button', { name: 'Publish version 1' }).click();
    await page.getByText('version 1 is asked from now on').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows an episode with its strip, and closes it', async () => {
    const headers = { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/json' };
    const post = async (path: string, body: object): Promise<{ id: string }> => {
      const answer = await fetch(service.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(201);
      return (await answer.json()) as { id: string };
    };
    const users = (await (await fetch(`${service.baseUrl}/api/v1/xusers?external_id=demo-patient`, { headers })).json()) as {
      xuser_id: string;
    }[];
    const episode = {
      subject_id: users[0]!.xuser_id,
      kind: 'tachycardia',
      title: 'Fast <b>rate</b>',
      severity: 'high',
      started_at: new Date().toISOString(),
    };
    const { id } = await post('/api/v1/episodes', episode);
    const picture =
      '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><script>parent.hit=1</script><path d="M0 0h9"/></svg>';
    await post(`/api/v1/episodes/${id}/artifacts`, {
      kind: 'strip',
      title: 'ECG II',
      media_type: 'image/svg+xml',
      data_base64: Buffer.from(picture).toString('base64'),
    });
    const { page, errors } = await open('/dashboard/#/episodes', signedIn);
    await page.getByRole('link', { name: 'Fast <b>rate</b>' }).click();
    await expect
      .poll(() => page.getByRole('img', { name: 'ECG II' }).evaluate((image: HTMLImageElement) => image.naturalWidth), { timeout: 10_000 })
      .toBe(300);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Looked at: close' }).click();
    await page.getByRole('button', { name: 'Open again' }).waitFor();
    expect(await page.evaluate(() => 'hit' in globalThis)).toBe(false);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('registers a webhook and shows its secret once; sets retention', async () => {
    const { page } = await open('/dashboard/#/settings/webhooks', signedIn);
    await page.getByLabel('Address').fill('https://hooks.example/x');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    const secret = (await page.locator('.secret code').textContent()) ?? '';
    expect(Buffer.from(secret, 'base64')).toHaveLength(32);
    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByLabel('Samples, days').fill('30');
    await page.getByLabel('Sharing').check();
    await page.getByLabel('Sharing').uncheck();
    await page.getByRole('button', { name: 'Save retention and consent' }).click();
    await page.reload();
    await expect.poll(() => page.getByLabel('Samples, days').inputValue()).toBe('30');
    expect(await page.evaluate((text) => document.documentElement.outerHTML.includes(text), secret)).toBe(false);
    await page.context().close();
  });

  it('rotates and revokes SDK keys and the project key, after asking', async () => {
    const { page, errors } = await open('/dashboard/#/settings/projects', signedIn);
    const keys = page.getByRole('listitem').filter({ hasText: 'sdk_' });
    await page.getByRole('button', { name: 'Add an SDK key' }).click();
    await expect.poll(() => keys.count()).toBe(2);
    await keys
      .last()
      .getByRole('button', { name: /^Rotate sdk_/ })
      .click();
    await keys.last().getByRole('button', { name: 'Keep' }).click();
    await keys
      .last()
      .getByRole('button', { name: /^Rotate sdk_/ })
      .click();
    await keys.last().getByRole('button', { name: 'Rotate', exact: true }).click();
    await expect.poll(() => keys.count()).toBe(3);
    await keys
      .filter({ hasText: 'works until' })
      .getByRole('button', { name: /^Revoke sdk_/ })
      .click();
    expect(await violations(page)).toEqual([]);
    await keys.filter({ hasText: 'works until' }).getByRole('button', { name: 'Revoke', exact: true }).click();
    await expect.poll(() => keys.filter({ hasText: 'revoked' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Rotate project key' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke project key before' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('button', { name: 'Rotate project key' }).waitFor();
    const shot = process.env['SHOT'];
    if (shot !== undefined) await page.screenshot({ path: shot });
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
