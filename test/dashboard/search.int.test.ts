/** Search in the dashboard, with the keyboard alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { password, startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

let dashboard: DashboardFixture;

beforeAll(async () => {
  if (chromiumPath !== null) dashboard = await startDashboard();
});
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('search', () => {
  // promise: search-keys
  it.each([1200, 390])('opens by Ctrl-K, names what it finds, and leads there by the keyboard alone, at %s pixels', async (width) => {
    const { page, errors } = await dashboard.open('/dashboard/', {
      storageState: dashboard.signedIn,
      viewport: { width, height: 844 },
      ...(width < 500 && { colorScheme: 'dark' }),
    });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'People, devices, recordings' });
    await field.waitFor();
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.type('demo-pat');
    const first = page.getByRole('listbox').getByRole('option').first();
    await first.waitFor();
    expect(await first.getAttribute('aria-selected')).toBe('true');
    expect(await first.textContent()).toMatch(/User\s+demo-patient/);
    expect(await page.getByRole('status').filter({ hasText: 'result' }).textContent()).toMatch(/^\d+ results?$/);
    expect(await violations(page)).toEqual([]);
    const folder = process.env['BIO_TEST_PICTURES'];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/search-${width}.png` });
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => field.getAttribute('aria-activedescendant')).toBe('hit-1');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/users\//);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('nobody at all');
    await page.getByRole('status').filter({ hasText: 'Nothing found' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('gives the keyboard back to where it was, and closes when the browser goes back', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.evaluate(() => (location.hash = '#/users'));
    const search = page.getByRole('searchbox');
    await search.focus();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(await search.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names first who was typed, also where it is a device', async () => {
    const [device] = await dashboard.send<{ device_id: string }[]>('GET', '/api/v1/devices');
    const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
    for (const id of ['Joe', 'Jo', `home of ${device!.device_id}`])
      await dashboard.send('POST', '/api/v1/xusers', { external_id: id, project_key: project!.project_key });
    const { page, errors } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    const names = (): Promise<string[]> => page.locator('#hits li b').allTextContents();
    const field = page.getByRole('combobox', { name: 'People, devices, recordings' });
    await field.fill('jo');
    await expect.poll(names).toEqual(['Jo', 'Joe']);
    await field.fill(device!.device_id.toUpperCase());
    await expect.poll(() => page.locator('#hits li').first().textContent()).toMatch(/^\s*Device/);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('opens the first of what is found when Enter comes before the answer, and nothing of other words', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.route('**/api/v1/search?*', async (route) => {
      await sleep(700); // a service at work
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('demo-pat');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/users\//);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/overview`);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('demo-pat');
    await page.locator('#hits li').first().waitFor();
    await page.keyboard.type(' nobody');
    await page.keyboard.press('Enter'); // below the field stands what was found before
    await page.getByRole('status').filter({ hasText: 'Nothing found' }).waitFor();
    expect(page.url()).toContain('#/overview');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has every letter that follows Ctrl-K, on a machine that draws a frame late', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.evaluate(() => {
      const inFrame = globalThis.requestAnimationFrame.bind(globalThis);
      globalThis.requestAnimationFrame = (draw) => setTimeout(() => inFrame(draw), 1000) as unknown as number;
    });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('demo-pat');
    expect(await page.getByRole('combobox', { name: 'People, devices, recordings' }).inputValue()).toBe('demo-pat');
    await page.locator('#hits li').first().waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names nobody below the cover of a session that has ended, and finds them again after it', async () => {
    const { page } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('demo-pat');
    const hits = page.locator('#hits li');
    await hits.first().waitFor();
    await page.context().clearCookies();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor({ timeout: 90_000 }); // by what the page asks for by itself
    await expect.poll(() => hits.count()).toBe(0);
    await again.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await expect.poll(() => again.count()).toBe(0);
    await hits.first().waitFor();
    expect(await hits.first().textContent()).toMatch(/User\s+demo-patient/);
    await page.context().close();
  });
});
