/** Two people at work on the same thing in the dashboard, in a real Chromium: each sees what the other has done, nothing is replaced in
 *  silence, and what was typed stays. */
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { addPerson, at, sendViewed, startMs } from '../helpers/viewed-recording.ts';

type Mark = Readonly<{ id: string; kind: string; beat: string | null; text: string; starts_at: string; version: number }>;

let dashboard: DashboardFixture;
let stream = '';
let person = '';
let project = '';

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ stream, person } = await sendViewed(dashboard));
  project = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/projects'))[0]!.id;
});
afterAll(() => dashboard?.close());

async function open(path: string): Promise<Page> {
  const { page } = await dashboard.open(`/dashboard/#/${path}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
  return page;
}
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
async function erase(path: string): Promise<void> {
  const { baseUrl, firstKey } = dashboard.service;
  const answer = await fetch(baseUrl + path, { method: 'DELETE', headers: { authorization: `Bearer ${firstKey}` } });
  expect(answer.status).toBe(204);
}

const panel = (page: Page) => page.getByRole('region', { name: 'Marks' });
const row = (page: Page, text: string) => panel(page).getByRole('row').filter({ hasText: text });
async function openViewer(sec: number): Promise<Page> {
  const page = await open(`recordings/${stream}?at=${at(sec)}`);
  await page.locator('bio-recording[data-state=ready]').waitFor();
  await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
  return page;
}
async function chooseBeat(page: Page): Promise<void> {
  await page
    .getByRole('status')
    .filter({ hasText: /heart rate \d/ })
    .waitFor();
  await page.keyboard.press('b');
  await panel(page)
    .getByText(/Computed as/)
    .waitFor();
}
/** Of about this second of the recording. */
async function correctionsAt(sec: number): Promise<readonly Mark[]> {
  const marks = await dashboard.send<Mark[]>('GET', `/api/v1/annotations?stream_id=${stream}&kind=beat`);
  return marks.filter(({ starts_at: time }) => Math.abs(Date.parse(time) - startMs - 1000 * sec) < 1000);
}

describe.skipIf(chromiumPath === null)('two people', () => {
  // promise: corrected-once
  it('who correct a beat within milliseconds make one correction, and the second is told', async () => {
    const [one, other] = [await openViewer(150), await openViewer(150)];
    for (const page of [one, other]) await chooseBeat(page);
    // Both have looked and seen none; then one is faster.
    let held: Route | null = null;
    await other.route('**/api/v1/annotations', async (route) => {
      if (route.request().method() !== 'POST' || held !== null) return route.fallback();
      held = route;
    });
    await panel(other).getByRole('button', { name: /^S / }).click();
    await expect.poll(() => held !== null).toBe(true);
    await panel(one).getByRole('button', { name: /^V / }).click();
    await row(one, 'Beat V').waitFor();
    await held!.continue();
    await panel(other)
      .getByRole('alert')
      .getByText(/Ada has already corrected this beat: Beat V, .* Nothing was saved/)
      .waitFor();
    expect(await correctionsAt(150)).toMatchObject([{ beat: 'V', version: 1 }]);
    await panel(other).getByRole('button', { name: /^S / }).click();
    await row(other, 'Beat S').waitFor();
    expect(await correctionsAt(150)).toMatchObject([{ beat: 'S', version: 2 }]);
    for (const page of [one, other]) await page.context().close();
  });

  it('do not take a correction up again where the other has made one since', async () => {
    const page = await openViewer(180);
    await chooseBeat(page);
    await panel(page).getByRole('button', { name: /^V / }).click();
    await row(page, 'Beat V').waitFor();
    const [mine] = await correctionsAt(180);
    await row(page, 'Beat V').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await panel(page).getByText('Deleted: Beat V').waitFor();
    await dashboard.send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'beat', starts_at: mine!.starts_at, beat: 'F' });
    await panel(page).getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('alert').filter({ hasText: 'This beat has another correction by now.' }).waitFor();
    await row(page, 'Beat F').waitFor();
    expect(await correctionsAt(180)).toMatchObject([{ beat: 'F' }]);
    await page.context().close();
  });

  // promise: marks-of-others
  it('see marks of each other on a recording that has ended, in the viewer and in the list, within half a minute', async () => {
    const page = await openViewer(220);
    await panel(page).waitFor();
    await page.evaluate(() => {
      const told: string[] = [];
      (globalThis as unknown as { told: string[] }).told = told;
      document.addEventListener('bio:recording-marks', () => told.push('marks'));
    });
    const { id } = await dashboard.send<Mark>('POST', '/api/v1/annotations', {
      stream_id: stream,
      kind: 'symptom',
      starts_at: at(220),
      text: 'by another',
    });
    await row(page, 'by another').waitFor({ timeout: 60_000 });
    await erase(`/api/v1/annotations/${id}`);
    await expect.poll(() => row(page, 'by another').count(), { timeout: 60_000 }).toBe(0);
    await page.waitForTimeout(31_000);
    expect(await page.evaluate(() => (globalThis as unknown as { told: string[] }).told)).toEqual(['marks', 'marks']); // not when nothing is new
    await page.context().close();
  });

  // promise: overtaken-at-the-dialog
  it('who edit a person at the same time: the second is told what it is now, keeps the text, and saves it knowingly', async () => {
    const edited = await addPerson(dashboard, 'edited', 'Eda Edited');
    const page = await open(`users/${edited}`);
    await page.getByRole('heading', { name: 'Eda Edited' }).waitFor();
    const details = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Details' }) });
    await details.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Eda Second');
    await dashboard.send('PATCH', `/api/v1/xusers/${edited}`, { display_name: 'Eda First', time_zone: 'Asia/Tokyo' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog
      .getByRole('alert')
      .filter({ hasText: 'Nothing was saved' })
      .filter({ hasText: 'Eda First' })
      .filter({ hasText: 'Asia/Tokyo' })
      .waitFor();
    await picture(page, 'two-people-dialog');
    expect(await violations(page)).toEqual([]);
    const name = async (): Promise<string> =>
      (await dashboard.send<{ display_name: string }>('GET', `/api/v1/xusers/${edited}`)).display_name;
    expect(await name()).toBe('Eda First');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Eda Second');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Eda Second' }).waitFor();
    // The time zone, which the second has left alone, is that of the first.
    expect(await dashboard.send('GET', `/api/v1/xusers/${edited}`)).toMatchObject({ display_name: 'Eda Second', time_zone: 'Asia/Tokyo' });
    await page.context().close();
  });

  // promise: overtaken-at-the-dialog
  it('who edit a mark at the same time: the second is told what it is now, and keeps the text', async () => {
    const { id } = await dashboard.send<Mark>('POST', '/api/v1/annotations', {
      stream_id: stream,
      kind: 'note',
      starts_at: at(260),
      text: 'before',
    });
    const page = await openViewer(260);
    await row(page, 'before').getByRole('button', { name: 'Edit' }).click();
    await panel(page).getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Text').fill('of the second');
    await dashboard.send('PATCH', `/api/v1/annotations/${id}`, { text: 'of the first', kind: 'symptom' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Nothing was saved' }).filter({ hasText: 'Symptom of the first' }).waitFor();
    expect(await dialog.getByLabel('Text').inputValue()).toBe('of the second');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'of the second').waitFor();
    await page.context().close();
  });

  // promise: overtaken-at-the-dialog
  it('who rename a group, write a rule and review an episode at the same time: the second is told, and saves it knowingly', async () => {
    const { id } = await dashboard.send<{ id: string }>('POST', `/api/v1/projects/${project}/groups`, { name: 'Ward' });
    const page = await open('groups');
    const dialog = page.getByRole('dialog');
    await page.getByRole('row').filter({ hasText: 'Ward' }).getByRole('button', { name: 'Rename' }).click();
    await dialog.getByLabel('Name').fill('Ward of the second');
    await dashboard.send('PATCH', `/api/v1/projects/${project}/groups/${id}`, { name: 'Ward of the first' });
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'renamed it to Ward of the first' }).waitFor();
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('row').filter({ hasText: 'Ward of the second' }).waitFor();

    const body = { name: 'Fast twice', feature: 'hr_ecg', comparison: 'above', threshold: 150, sustain_sec: 60, enabled: false };
    const rule = await dashboard.send<{ id: string }>('POST', `/api/v1/projects/${project}/rules`, body);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/rules`);
    const line = page.getByRole('row').filter({ hasText: 'Fast twice' });
    await line.getByRole('button', { name: 'Edit' }).click();
    const name = page.locator('#rule-form').getByLabel('Name', { exact: true });
    await name.fill('Fast twice, of the second');
    await dashboard.send('PATCH', `/api/v1/projects/${project}/rules/${rule.id}`, { name: 'Fast twice, of the first' });
    const save = page.locator('#rule-form [value=save]');
    await save.click();
    await page.getByRole('alert').filter({ hasText: 'Another person has changed this rule meanwhile' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'Fast twice, of the first' }).waitFor();
    expect(await name.inputValue()).toBe('Fast twice, of the second');
    await save.click();
    await page.getByRole('row').filter({ hasText: 'Fast twice, of the second' }).waitFor();

    const note = { subject_id: person, kind: 'note', title: 'Seen by two', started_at: at(10) };
    const episode = await dashboard.send<{ id: string }>('POST', '/api/v1/episodes', note);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/episodes/${episode.id}`);
    await page.getByRole('button', { name: 'Mark as reviewed' }).click();
    await dialog.getByLabel('Note').fill('nothing in it');
    await dashboard.send('PATCH', `/api/v1/episodes/${episode.id}`, { status: 'cancelled' });
    await dialog.getByRole('button', { name: 'Mark as reviewed' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Nothing was saved' }).filter({ hasText: 'dismissed' }).waitFor();
    expect(await dialog.getByLabel('Note').inputValue()).toBe('nothing in it');
    await dialog.getByRole('button', { name: 'Mark as reviewed' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await dashboard.send('GET', `/api/v1/episodes/${episode.id}`)).toMatchObject({ status: 'closed' });
    await page.context().close();
  });

  it('a sort that is chosen while the page of a person is read again leaves none of the rest unread', async () => {
    const page = await open(`users/${person}?device=viewed%20patch`);
    await page.getByRole('heading', { name: 'Recordings' }).waitFor();
    await page.getByLabel('Sort by').waitFor();
    let held: Route | null = null;
    await page.route('**/api/v1/streams?*limit=*', async (route) => {
      if (held !== null) return route.fallback();
      held = route;
    });
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/api/v1/moods') && asked.push(request.url()));
    await page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Details' }) })
      .getByRole('button', { name: 'Edit' })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => held !== null).toBe(true);
    // Below the dialog, which waits for the page.
    await page.getByLabel('Sort by').evaluate((field: HTMLSelectElement) => {
      field.value = 'oldest';
      field.dispatchEvent(new Event('change'));
    });
    await held!.continue();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => asked.length).toBe(1);
    await page.context().close();
  });

  // promise: gone-is-said
  it('who act on what the other has deleted are told so, and see the list as it is', async () => {
    const add = (name: string) => dashboard.send<{ id: string }>('POST', `/api/v1/projects/${project}/groups`, { name });
    const [kept, gone] = [await add('Kept'), await add('Gone')];
    expect(kept.id).not.toBe(gone.id);
    const page = await open('groups');
    const line = page.getByRole('row').filter({ hasText: 'Gone' });
    await line.waitFor();
    await erase(`/api/v1/projects/${project}/groups/${gone.id}`);
    await line.getByRole('button', { name: 'Rename' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Gone on');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'This is no longer there' }).waitFor();
    await expect.poll(() => line.count()).toBe(0); // below the dialog
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Gone on');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('row').filter({ hasText: 'Kept' }).waitFor();

    const hook = async (url: string) => await dashboard.send<{ id: string }>('POST', '/api/v1/webhooks', { url, events: ['*'] });
    const { id } = await hook('https://clinic.example/gone');
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/settings/webhooks`);
    const address = page.getByRole('row').filter({ hasText: 'clinic.example/gone' });
    await address.waitFor();
    await erase(`/api/v1/webhooks/${id}`);
    await address.getByRole('button', { name: /^Test|Send a test/ }).click();
    await page.getByRole('alert').filter({ hasText: 'This is no longer there' }).waitFor();
    await expect.poll(() => address.count()).toBe(0);
    await picture(page, 'two-people-gone');
    await page.context().close();
  });
});
