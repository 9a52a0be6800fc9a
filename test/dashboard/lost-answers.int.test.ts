/** Answers of the service that are lost while a person saves something in the dashboard: it was done, and who sends it again has it once.
 *  In a real Chromium; the request reaches the service, and its answer does not reach the page. */
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { addPerson, at, sendViewed, startMs } from '../helpers/viewed-recording.ts';

type Mark = Readonly<{ id: string; kind: string; beat: string | null; text: string; starts_at: string; version: number }>;
const NO_ANSWER = 'The service did not respond.';

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

/** The next change with this method at such an address is done, and its answer is lost. */
async function loseNext(page: Page, method: string, address: string, how: 'whole' | 'half' = 'whole'): Promise<void> {
  let isLost = false;
  await page.route(address, async (route: Route): Promise<void> => {
    if (isLost || route.request().method() !== method) return route.fallback();
    isLost = true;
    const answer = await route.fetch();
    expect(answer.ok(), `${method} ${address}: ${answer.status()}`).toBe(true);
    if (how === 'whole') await route.abort('connectionreset');
    else await route.fulfill({ response: answer, body: (await answer.text()).slice(0, 20) });
  });
}

async function open(path: string): Promise<Page> {
  const { page } = await dashboard.open(`/dashboard/#/${path}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
  return page;
}

const groups = async (): Promise<string[]> =>
  (await dashboard.send<{ name: string }[]>('GET', `/api/v1/projects/${project}/groups`)).map(({ name }) => name).toSorted();
const panel = (page: Page) => page.getByRole('region', { name: 'Marks' });
const marks = () => dashboard.send<Mark[]>('GET', `/api/v1/annotations?stream_id=${stream}`);
async function openViewer(sec: number): Promise<Page> {
  const page = await open(`recordings/${stream}?at=${at(sec)}`);
  await page.locator('bio-recording[data-state=ready]').waitFor();
  await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
  return page;
}

/** @param said in the dialog, after the answer was lost */
async function saveTwice(page: Page, button: string, said = NO_ANSWER): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: button }).click();
  await dialog.getByRole('alert').filter({ hasText: said }).waitFor();
  await dialog.getByRole('button', { name: button }).click();
  await dialog.waitFor({ state: 'detached' });
}

describe.skipIf(chromiumPath === null)('an answer that is lost', () => {
  // promise: saved-once
  it.each(['whole', 'half'] as const)('(%s) leaves one mark of what is saved again', async (how) => {
    const page = await openViewer(how === 'whole' ? 100 : 110);
    await page.keyboard.press('m');
    await page.keyboard.press('Enter');
    const text = `lost ${how}`;
    await page.getByRole('dialog').getByLabel('Text').fill(text);
    await loseNext(page, 'POST', '**/api/v1/annotations', how);
    await saveTwice(page, 'Save');
    await panel(page).getByRole('row').filter({ hasText: text }).waitFor();
    expect((await marks()).filter((mark) => mark.text === text)).toHaveLength(1);
    await page.context().close();
  });

  // promise: saved-once
  it('leaves one group of what is saved again, and another one once the first was renamed', async () => {
    const page = await open('groups');
    const add = async (): Promise<void> => {
      await page.getByRole('button', { name: 'New group' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Ward 7');
    };
    await add();
    await loseNext(page, 'POST', '**/groups');
    await saveTwice(page, 'Make it');
    expect(await groups()).toEqual(['Ward 7']);
    // Sent, done, and its answer lost; then it is renamed here: what is made then is not what was made before.
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Ward 8');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await add();
    await loseNext(page, 'POST', '**/groups');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const made = page.getByRole('row').filter({ hasText: 'Ward 7' });
    await made.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    await add();
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await made.waitFor();
    expect(await groups()).toEqual(['Ward 7', 'Ward 8']);
    await page.context().close();
  });

  it('leaves one group also where the second try is refused before it was looked at', async () => {
    const page = await open('groups');
    await page.getByRole('button', { name: 'New group' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Ward 9');
    await loseNext(page, 'POST', '**/groups');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    await page.route(
      '**/groups',
      (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 429, json: { detail: 'Too many.' } }) : route.fallback()),
      { times: 1 },
    );
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Too many.' }).waitFor();
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Ward 9' }).count()).toBe(1);
    expect((await groups()).filter((name) => name === 'Ward 9')).toHaveLength(1);
    await page.context().close();
  });

  it('of the page, after something was saved, is no reason to save it again', async () => {
    const page = await open('groups');
    await page.getByRole('button', { name: 'New group' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Ward 10');
    let isSaved = false;
    let isLost = false;
    await page.route('**/groups', async (route) => {
      if (route.request().method() === 'POST') {
        const response = await route.fetch();
        isSaved = response.ok();
        return route.fulfill({ response });
      }
      if (!isSaved || isLost) return route.fallback();
      isLost = true;
      await route.abort('connectionreset');
    });
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(isLost).toBe(true);
    // The page says that it is not as things are, and is read again by itself.
    await page.getByRole('row').filter({ hasText: 'Ward 10' }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    expect((await groups()).filter((name) => name === 'Ward 10')).toHaveLength(1);
    await page.context().close();
  });

  it('to the deletion of a group is no deletion by another', async () => {
    await dashboard.send('POST', `/api/v1/projects/${project}/groups`, { name: 'Ward 11' });
    const page = await open('groups');
    await page.getByRole('row').filter({ hasText: 'Ward 11' }).getByRole('button', { name: 'Delete' }).click();
    await loseNext(page, 'DELETE', '**/groups/*');
    await saveTwice(page, 'Delete');
    expect(await groups()).not.toContain('Ward 11');
    await page.context().close();
  });

  it('leaves one rule, also where it was tried on history before it is saved again', async () => {
    const page = await open('rules');
    await page.getByRole('button', { name: 'New rule' }).click();
    const form = page.locator('#rule-form');
    await form.getByLabel('Name', { exact: true }).fill('Fast once');
    await form.getByLabel(/^Threshold/).fill('150');
    await loseNext(page, 'POST', '**/rules');
    await form.locator('[value=save]').click();
    await page.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    await form.locator('[value=try]').click();
    await page.locator('#rule-trial').waitFor();
    await form.locator('[value=save]').click();
    await form.waitFor({ state: 'detached' });
    const rules = await dashboard.send<{ name: string }[]>('GET', `/api/v1/projects/${project}/rules`);
    expect(rules.filter(({ name }) => name === 'Fast once')).toHaveLength(1);
    await page.context().close();
  });

  it('is not repeated to who has given up, and does the same again after another has undone it', async () => {
    const id = await addPerson(dashboard, 'asked', 'Ada Asked');
    const page = await open(`users/${id}`);
    const dialog = page.getByRole('dialog');
    const record = page.getByRole('button', { name: 'Record consent to sharing' });
    const withdraw = page.getByRole('button', { name: 'Withdraw consent to sharing' });
    const give = dialog.getByRole('button', { name: 'Record consent' });
    await record.click();
    await loseNext(page, 'POST', '**/consents');
    await give.click();
    await dialog.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await withdraw.waitFor(); // it was given
    await dashboard.send('POST', `/api/v1/xusers/${id}/consents`, { purpose: 'sharing', granted: false });
    await page.getByRole('link', { name: 'Groups' }).click(); // the same page of the browser
    await page.getByRole('button', { name: 'New group' }).waitFor();
    await page.goBack();
    await record.click();
    await give.click();
    await dialog.waitFor({ state: 'detached' });
    await withdraw.waitFor();
    await page.context().close();
  });

  it('to a change of a person is no change by another', async () => {
    const page = await open(`users/${person}`);
    const details = page
      .getByRole('region')
      .or(page.locator('section'))
      .filter({ has: page.getByRole('heading', { name: 'Details' }) });
    await details.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Vera Saved');
    await loseNext(page, 'PATCH', `**/api/v1/xusers/${person}`);
    await saveTwice(page, 'Save');
    await page.getByRole('heading', { name: 'Vera Saved' }).waitFor();
    await page.context().close();
  });

  it('to a change of a mark, and to its deletion, is no change by another', async () => {
    await dashboard.send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at: at(200), text: 'dizzy' });
    const page = await openViewer(200);
    const row = (text: string) => panel(page).getByRole('row').filter({ hasText: text });
    await row('dizzy').getByRole('button', { name: 'Edit' }).click();
    await panel(page).getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Text').fill('second');
    await loseNext(page, 'PATCH', '**/api/v1/annotations/*');
    await saveTwice(page, 'Save');
    await row('second').getByRole('button', { name: 'Delete' }).click();
    await loseNext(page, 'DELETE', '**/api/v1/annotations/*');
    await saveTwice(page, 'Delete');
    await panel(page).getByText('Deleted: Note second').waitFor();
    expect((await marks()).some(({ text }) => text === 'second')).toBe(false);
    await page.context().close();
  });

  it('to a step back leaves what was marked before it', async () => {
    const page = await openViewer(300);
    for (const text of ['earlier', 'later']) {
      await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
      await page.keyboard.press('m');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByLabel('Text').fill(text);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await panel(page).getByRole('row').filter({ hasText: text }).waitFor();
    }
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await loseNext(page, 'DELETE', '**/api/v1/annotations/*');
    await page.keyboard.press('Control+z');
    await page.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    await page.keyboard.press('Control+z');
    await panel(page)
      .getByText(/^Deleted: Note/)
      .waitFor();
    expect((await marks()).map(({ text }) => text)).toContain('earlier');
    expect((await marks()).map(({ text }) => text)).not.toContain('later');
    await page.context().close();
  });

  it('to the first correction of a beat is no correction by another', async () => {
    const page = await openViewer(250);
    await page
      .getByRole('status')
      .filter({ hasText: /heart rate \d/ })
      .waitFor();
    await page.keyboard.press('b');
    await panel(page)
      .getByText(/Computed as/)
      .waitFor();
    await loseNext(page, 'POST', '**/api/v1/annotations');
    const ventricular = panel(page).getByRole('button', { name: /^V / });
    await ventricular.click();
    await page.getByRole('alert').filter({ hasText: NO_ANSWER }).waitFor();
    await ventricular.click();
    await panel(page).getByRole('row').filter({ hasText: 'Beat V' }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    const near = ({ starts_at: time }: Mark): boolean => Math.abs(Date.parse(time) - startMs - 250_000) < 1000;
    expect((await marks()).filter(near)).toMatchObject([{ kind: 'beat', beat: 'V', version: 1 }]);
    await page.context().close();
  });
});
