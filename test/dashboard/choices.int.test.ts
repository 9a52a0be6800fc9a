/** Pages right after a choice (a filter, a period, a project): while its answer is under way, comes after that of a later choice, or does
 *  not come: never what was asked for before, and never "there are none". */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { addPerson, at, sendRecording, startMs } from '../helpers/viewed-recording.ts';

const SECONDS = 120;
const FIRST = 'p-first';
const SECOND = 'p-second';

let dashboard: DashboardFixture;
let person: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  person = await addPerson(dashboard, FIRST, 'First Person', 'Europe/Berlin');
  await addPerson(dashboard, SECOND, 'Second Person');
  const [deviceId, seconds] = ['patch', SECONDS];
  await sendRecording(dashboard, { subject: FIRST, deviceId, bootId: '01'.repeat(16), startMs, seconds });
  await sendRecording(dashboard, { subject: SECOND, deviceId: 'another', bootId: '02'.repeat(16), startMs, seconds });
  const episode = { subject_id: person, kind: 'alert', severity: 'low', started_at: at(10) };
  const { id } = await dashboard.send<{ id: string }>('POST', '/api/v1/episodes', { ...episode, title: 'is over', ended_at: at(20) });
  await dashboard.send('POST', `/api/v1/episodes/${id}/acknowledgement`, {}).catch(() => undefined);
  await dashboard.send('POST', '/api/v1/episodes', { ...episode, title: 'goes on' });
});

afterAll(async () => dashboard?.close());

/** Answers to these questions wait until they are released, or fail. */
async function hold(page: Page, asked: RegExp): Promise<{ count: () => number; release: () => void; fail: () => void }> {
  let count = 0;
  const { promise: gate, resolve } = Promise.withResolvers<'continue' | 'abort'>();
  await page.route(
    asked,
    async (route) => {
      count += 1;
      if ((await gate) === 'continue') await route.fallback();
      else await route.abort('internetdisconnected');
    },
    { times: 1 },
  );
  return { count: () => count, release: () => resolve('continue'), fail: () => resolve('abort') };
}

const settled = (page: Page): Promise<void> => page.waitForLoadState('networkidle');

describe.skipIf(chromiumPath === null)('a choice', () => {
  it('of episodes shows those of the last choice, whichever answer comes first, and never says that there are none before', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/episodes', { storageState: dashboard.signedIn });
    await page.getByRole('link', { name: 'goes on' }).waitFor();
    const held = await hold(page, /fleet\/episodes\?.*status=closed/);
    await page.getByRole('button', { name: 'Ended' }).click();
    await expect.poll(held.count).toBe(1);
    const main = page.locator('#main');
    await expect.poll(() => main.innerText()).not.toContain('goes on');
    expect(await main.innerText()).not.toContain('No episodes');
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await page.getByRole('link', { name: 'goes on' }).waitFor();
    held.release();
    await settled(page);
    expect(await main.innerText()).toContain('goes on');
    expect(await main.innerText()).not.toContain('is over');

    const failing = await hold(page, /fleet\/episodes\?.*status=cancelled/);
    await page.getByRole('button', { name: 'Dismissed' }).click();
    await expect.poll(failing.count).toBe(1);
    failing.fail();
    await main.getByRole('alert').waitFor();
    expect(await main.innerText()).not.toContain('No episodes');
    await main.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => main.innerText()).toContain('No episodes');
    expect(await main.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('of a period of signal quality has no hours of another one', async () => {
    const { page } = await dashboard.open('/dashboard/#/quality', { storageState: dashboard.signedIn });
    const rows = page.locator('.quality-list li');
    await rows.first().waitFor();
    const held = await hold(page, /signal-quality\?hours=168/);
    await page.getByRole('button', { name: '7 days' }).click();
    await expect.poll(held.count).toBe(1);
    await expect.poll(() => rows.count()).toBe(0);
    held.fail();
    await page.locator('#main').getByRole('alert').waitFor();
    expect(await rows.count()).toBe(0);
    await page.getByRole('button', { name: '24 hours' }).click();
    await rows.first().waitFor();
    await page.context().close();
  });

  it('of days is not said to be without a recording before it is known', async () => {
    const { page } = await dashboard.open(`/dashboard/#/users/${person}/recordings`, { storageState: dashboard.signedIn });
    await page.locator('.day-lane .bar').first().waitFor();
    const held = await hold(page, /charts\/query/);
    await page.getByRole('button', { name: '1 day', exact: true }).click();
    await expect.poll(held.count).toBe(1);
    await expect.poll(() => page.locator('.day-lane').count()).toBe(0);
    held.fail();
    await page.locator('#main').getByRole('alert').waitFor();
    expect(await page.locator('.day-lane').count()).toBe(0);
    expect(await page.locator('#main').innerText()).not.toContain('Nothing was recorded');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.day-lane .bar').first().waitFor();
    await page.context().close();
  });

  it('of days in the address may be of anybody’s making', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/groups', { storageState: dashboard.signedIn });
    for (const query of ['from=2026-10-20&to=2026-13-45', 'from=0001-01-01&to=2026-10-20', 'on=275760-09-13', 'on=0001-01-01']) {
      await page.evaluate((hash) => (location.hash = hash), `#/users/${person}/recordings?${query}`);
      await page.locator('.day-lane .bar').first().waitFor();
      expect(await page.locator('#main').getByRole('alert').count(), query).toBe(0);
      await page.evaluate(() => (location.hash = '#/groups'));
      await page.locator('.day-lane').first().waitFor({ state: 'detached' });
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('of users and of recordings shows what was found for the last of them', async () => {
    const { page } = await dashboard.open('/dashboard/#/users', { storageState: dashboard.signedIn });
    const main = page.locator('#main');
    await main.getByRole('link', { name: FIRST }).waitFor();
    const held = await hold(page, /xusers\?.*search=second/);
    await page.getByRole('searchbox').fill('second');
    await page.keyboard.press('Enter');
    await expect.poll(held.count).toBe(1);
    await expect.poll(() => main.getByRole('link', { name: FIRST }).count()).toBe(0);
    await page.getByRole('searchbox').fill('first');
    await page.keyboard.press('Enter');
    await main.getByRole('link', { name: FIRST }).waitFor();
    held.release();
    await settled(page);
    expect(await main.getByRole('link', { name: SECOND }).count()).toBe(0);
    await page.context().close();
  });

  it('of a project shows its own groups', async () => {
    const { send, open, signedIn } = dashboard;
    const [first] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const second = await send<{ id: string }>('POST', '/api/v1/projects', { name: 'Another project' });
    await send('POST', `/api/v1/projects/${first!.id}/groups`, { name: 'ward of the first' });
    await send('POST', `/api/v1/projects/${second.id}/groups`, { name: 'ward of the second' });
    const { page } = await open(`/dashboard/#/groups?project=${first!.id}`, { storageState: signedIn });
    const main = page.locator('#main');
    await main.getByText('ward of the first').first().waitFor();
    const held = await hold(page, new RegExp(`${second.id}/groups`));
    await page.getByLabel('Project').selectOption(second.id);
    await expect.poll(held.count).toBe(1);
    await expect.poll(() => main.getByText('ward of the first').count()).toBe(0);
    await page.getByLabel('Project').selectOption(first!.id);
    await main.getByText('ward of the first').first().waitFor();
    held.release();
    await settled(page);
    expect(await main.getByText('ward of the second').count()).toBe(0);
    await page.context().close();
  });

  it('of a project has no trial and no draft of a rule of the one before, which were asked for there', async () => {
    const { send, open, signedIn } = dashboard;
    const [first] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const other = await send<{ id: string }>('POST', '/api/v1/projects', { name: 'Project of no rules' });
    const rule = { name: 'Fast', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 60, severity: 'high' };
    await send('POST', `/api/v1/projects/${first!.id}/rules`, rule);
    const { page } = await open(`/dashboard/#/rules?project=${first!.id}`, { storageState: signedIn });
    for (const [press, asked, shown] of [
      ['Try Fast', /rules\/try/, '#rule-trial'],
      ['Edit Fast', /rules\/[0-9a-f-]{36}/, '#rule-form'],
    ] as const) {
      await page.getByRole('button', { name: press }).waitFor();
      const held = await hold(page, asked);
      await page.getByRole('button', { name: press }).click();
      await expect.poll(held.count).toBe(1);
      await page.getByLabel('Project').selectOption(other.id);
      await page.getByText('No rules yet').waitFor();
      held.release();
      await settled(page);
      await page.waitForTimeout(300);
      expect(await page.locator(shown).count(), shown).toBe(0);
      await page.getByLabel('Project').selectOption(first!.id);
    }
    await page.context().close();
  });

  it('of whom to compare with is the last one', async () => {
    const { page } = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn });
    const field = page.getByLabel('Compare with another person');
    await field.waitFor();
    const held = await hold(page, new RegExp(`xusers\\?.*external_id=${SECOND}`));
    await field.fill(SECOND);
    await page.keyboard.press('Enter');
    await expect.poll(held.count).toBe(1);
    await field.fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('There is no person nobody in this project.').waitFor();
    held.release();
    await settled(page);
    expect(await page.getByText('There is no person nobody in this project.').count()).toBe(1);
    expect(await page.locator('#trend').getAttribute('compare')).toBeNull();
    expect(page.url()).toContain('with=nobody');
    await page.context().close();
  });

  it('of the page itself, while what a dialog changed is loaded, lets the dialog close', async () => {
    const third = await addPerson(dashboard, 'p-third', 'Third Person');
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${third}`, { storageState: dashboard.signedIn });
    await page.getByText('No device of this user is sending right now.').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Another Name');
    const held = await hold(page, /streams\?.*sort=newest/);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(held.count).toBe(1);
    // The page looks by itself, as a device has begun to send, and is answered first.
    await sendRecording(dashboard, { subject: 'p-third', deviceId: 'third', bootId: '03'.repeat(16), startMs, seconds: 20 });
    await expect
      .poll(async () => {
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        return await page.locator('.row.status').count();
      })
      .toBe(1);
    held.release();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
