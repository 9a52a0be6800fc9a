/** The example application in a real Chromium against a real service: its own sign-in, tokens from its backend, every widget, direct
 *  mode. */
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleServer } from '../../examples/web/server.ts';
import { buildWeb } from '../../scripts/build-web.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { widgetTags } from '../helpers/widget-answers.ts';

let folder: string;
let database: TestDatabase;
let service: Service;
let org: NewOrganization;
let example: Server;
let home: string;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  await buildWeb(folder);
  database = await testDatabase();
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }),
    webDir: folder,
  });
  org = await createOrganization(database.pool, 'Example');
  example = exampleServer({ serviceUrl: service.baseUrl, apiKey: org.apiKey.key, projectKey: org.projectKey, sdkKey: org.sdkKey });
  await new Promise<void>((resolve) => example.listen(0, '127.0.0.1', resolve));
  home = `http://127.0.0.1:${(example.address() as AddressInfo).port}`;
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  example?.closeAllConnections();
  example?.close();
  await service?.stop();
  await database?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function signedIn(name: string): Promise<{ page: Page; errors: string[] }> {
  const page = await (await browser.newContext()).newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && message.text().includes('Content Security Policy')) errors.push(message.text());
  });
  await page.goto(`${home}/sign-in`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${home}/`);
  return { page, errors };
}

/** Settled: neither loading nor in trouble. */
async function settled(page: Page): Promise<void> {
  await expect
    .poll(
      () =>
        page.evaluate(
          (tags) =>
            tags
              .map((tag) => document.querySelector<HTMLElement>(tag)?.dataset['state'])
              .filter((state) => !/^(ready|empty|stale)$/.test(state ?? '')),
          [...widgetTags],
        ),
      { timeout: 15_000 },
    )
    .toEqual([]);
}

describe.skipIf(chromiumPath === null)('the example application', () => {
  // promise: example-works
  it('shows every widget in token mode; the key never reaches the browser', async () => {
    const { page, errors } = await signedIn('ada');
    await settled(page);
    expect(await page.content()).not.toContain(org.apiKey.key);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has the steps that the service has of the person, and of others none', async () => {
    const headers = { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/json' };
    const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
      const answer = await fetch(service.baseUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
      return (await answer.json()) as T;
    };
    const ring = (page: Page): Promise<string> =>
      page.locator('bio-progress-ring').evaluate((element) => element.shadowRoot!.querySelector('.in')?.textContent ?? '');
    const { page } = await signedIn('ada');
    await settled(page);
    expect(await ring(page)).toBe('');
    const [ada] = await ask<{ xuser_id: string }[]>('GET', '/api/v1/xusers?external_id=ada');
    const [project] = await ask<{ id: string }[]>('GET', '/api/v1/projects');
    const catalog = await ask<{ id: number; abbreviation: string }[]>('GET', `/api/v1/projects/${project!.id}/biosignals`);
    const steps = catalog.find(({ abbreviation }) => abbreviation === 'STEPS')!.id;
    const measurements = [{ biosignal_id: steps, value: 2345, time: new Date().toISOString() }];
    await ask('POST', '/api/v1/measurements', { subject_id: ada!.xuser_id, measurements });
    await page.reload();
    await settled(page);
    expect((await ring(page)).match(/[\d,]+/g)).toEqual(['2,345', '10,000', '23']);
    await page.context().close();
    const other = await signedIn('bob');
    await settled(other.page);
    expect(await ring(other.page)).toBe('');
    await other.page.context().close();
  });

  // promise: own-data-only, example-works
  it('takes a mood, a journal entry, a check-in and a finished task, and shows them to nobody else', async () => {
    const { page } = await signedIn('ada');
    await settled(page);
    await page.locator('bio-mood').getByLabel('Good', { exact: true }).check();
    await page.locator('bio-mood').getByLabel('Anything to add?').fill('Fresh air');
    await page.locator('bio-mood').getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('bio-mood').getByText('Fresh air').count()).toBe(1);

    await page.locator('bio-journal').getByRole('textbox').fill('Walked to the lake');
    await page.locator('bio-journal').getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('bio-journal li').count()).toBe(1);

    const checkin = page.locator('bio-checkin');
    await checkin.getByLabel('Hours of sleep').fill('7.5');
    await checkin.getByRole('radiogroup').nth(0).getByLabel('A little').check();
    await checkin.getByRole('radiogroup').nth(1).getByLabel('Not at all').check();
    await checkin.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => checkin.getByText('Your answers have been sent').count()).toBe(1);

    const tasks = `${service.baseUrl}/api/v1/tasks`;
    const users = (await (
      await fetch(`${service.baseUrl}/api/v1/xusers?external_id=ada`, { headers: { authorization: `Bearer ${org.apiKey.key}` } })
    ).json()) as { xuser_id: string }[];
    const given = await fetch(tasks, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ subject_id: users[0]!.xuser_id, title: 'Measure blood pressure' }),
    });
    expect(given.status).toBe(201);
    await page.reload();
    await page
      .locator('bio-task-list')
      .getByRole('button', { name: /^Done\s?: Measure blood pressure$/ })
      .click();
    await expect.poll(() => page.locator('bio-task-list').getByRole('button', { name: 'Undo' }).count()).toBe(1);
    await page.context().close();

    const other = await signedIn('bob');
    await settled(other.page);
    expect(await other.page.locator('bio-journal li').count()).toBe(0);
    expect(await other.page.locator('bio-mood').getByText('Fresh air').count()).toBe(0);
    await other.page.context().close();
  });

  // promise: direct-origins
  it('works in direct mode from a registered origin, and from no other', async () => {
    const { page } = await signedIn('ada');
    await page.goto(`${home}/direct`);
    await expect.poll(() => page.locator('bio-trend-card').getAttribute('data-state'), { timeout: 10_000 }).toBe('error');
    await database.pool.query('insert into allowed_origin (project_id, origin) select id, $2 from project where project_key = $1', [
      org.projectKey,
      home,
    ]);
    await expect
      .poll(
        async () => {
          await page.reload();
          await page.waitForTimeout(700);
          return page.locator('bio-journal li').count();
        },
        { timeout: 15_000 },
      )
      .toBe(1);
    await settled(page);
    await page.context().close();
  });
});
