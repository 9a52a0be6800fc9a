/** A service that stops and starts again under open pages of the dashboard, at the same address and database, in a real Chromium:
 *  what could not be read is read once it is back, by itself, and what was typed stays. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { sendViewed } from '../helpers/viewed-recording.ts';

const NO_ANSWER = 'The service did not respond.';
const AGAIN_MS = 60_000;

let dashboard: DashboardFixture;
let stream = '';
let person = '';

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard(await freePort());
  ({ stream, person } = await sendViewed(dashboard));
});
afterAll(() => dashboard?.close());

async function open(path: string): Promise<Page> {
  const { page } = await dashboard.open(`/dashboard/#/${path}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
  return page;
}
const refused = (page: Page) => page.getByRole('alert').filter({ hasText: NO_ANSWER });

describe.skipIf(chromiumPath === null)('a service that is away for a while', () => {
  // promise: pages-ask-again
  it('is asked again by pages that could not be loaded, by lists whose order was chosen, and by the viewer', async () => {
    const [failed, chosen, viewer, typed] = [
      await open('overview'),
      await open('users'),
      await open(`recordings/${stream}`),
      await open(`users/${person}`),
    ];
    await viewer.locator('bio-recording[data-state=ready]').waitFor();
    const list = chosen.getByRole('link', { name: 'viewed' });
    await list.waitFor();
    await typed.getByRole('heading', { name: 'Vera Viewed' }).waitFor();
    await typed
      .locator('section')
      .filter({ has: typed.getByRole('heading', { name: 'Details' }) })
      .getByRole('button', { name: 'Edit' })
      .click();
    const dialog = typed.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Vera Away');
    await dashboard.whileAway(async () => {
      await failed.getByRole('link', { name: 'Groups' }).click();
      await refused(failed).waitFor();
      await chosen.getByLabel('Sort by').selectOption('name');
      await refused(chosen).waitFor();
      expect(await list.count()).toBe(0);
      await viewer.locator('bio-recording').evaluate((element: HTMLElement, id) => {
        element.setAttribute('stream', '');
        element.setAttribute('stream', id);
      }, stream);
      await viewer.locator('bio-recording[data-state=offline]').waitFor();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    });
    await failed.getByText('No groups yet').waitFor({ timeout: AGAIN_MS });
    await expect.poll(() => refused(failed).count()).toBe(0);
    await list.waitFor({ timeout: AGAIN_MS });
    await expect.poll(() => refused(chosen).count()).toBe(0);
    await viewer.locator('bio-recording[data-state=ready]').waitFor({ timeout: AGAIN_MS });
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Vera Away');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await typed.getByRole('heading', { name: 'Vera Away' }).waitFor();
    for (const page of [failed, chosen, viewer, typed]) await page.context().close();
  });

  // promise: sign-in-asks-again
  it('is asked again who is signed in, by a page that came while it went', async () => {
    const page = await open('groups');
    await page.getByText('No groups yet').waitFor();
    // The page and its script are there; what it asks for first is not.
    await page.route('**/auth/session', (route) => route.abort('connectionrefused'));
    await page.reload();
    await refused(page).waitFor();
    await page.unroute('**/auth/session');
    await page.getByText('No groups yet').waitFor({ timeout: AGAIN_MS });
    await page.context().close();
  });

  it('is not asked again where nobody is signed in: that is an answer', async () => {
    const { page } = await dashboard.open('/dashboard/#/groups', { timezoneId: 'UTC' });
    await page.getByLabel('E-mail').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => request.url().endsWith('/auth/session') && asked.push(request.method()));
    await page.waitForTimeout(5000);
    expect(asked).toEqual([]); // nobody is signed in: that is an answer
    await page.context().close();
  });
});
