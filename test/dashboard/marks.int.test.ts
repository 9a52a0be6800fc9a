/** Marks and corrected beats in the viewer of a recording, in a real Chromium: by mouse, by touch and by keyboard alone, who may, what is
 *  kept of each version, and what the strip and the values show of beats that were corrected. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { addPerson, at, ECTOPIC_SEC, NOTE_SEC, SECOND, sendRecording, sendViewed, startMs } from '../helpers/viewed-recording.ts';

type Mark = Readonly<{
  id: string;
  version: number;
  kind: string;
  beat: string | null;
  channel: string | null;
  starts_at: string;
  ends_at: string | null;
  text: string;
  made_by_name: string;
}>;
const PX_PER_SEC = (25 * 96) / 25.4;

let dashboard: DashboardFixture;
let stream: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ stream } = await sendViewed(dashboard));
});
afterAll(() => dashboard?.close());

async function openViewer(sec: number, options: BrowserContextOptions = {}): Promise<Opened> {
  const opened = await dashboard.open(`/dashboard/#/recordings/${stream}?at=${at(sec)}`, {
    storageState: dashboard.signedIn,
    timezoneId: 'UTC',
    ...options,
  });
  await opened.page.locator('bio-recording[data-state=ready]').waitFor();
  return opened;
}

async function marks(): Promise<readonly Mark[]> {
  return await dashboard.send<Mark[]>('GET', `/api/v1/annotations?stream_id=${stream}`);
}

const secOf = (iso: string | null): number => (Date.parse(iso ?? '') - startMs) / 1000;
const shownSec = (page: Page): number => secOf(new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '').get('at'));

/** The middle of the strip on the screen. */
async function middle(page: Page): Promise<{ x: number; y: number }> {
  const strip = page.locator('canvas.strip');
  await strip.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await strip.boundingBox())!;
  return { x: x + width / 2, y: y + height / 2 };
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

const panel = (page: Page) => page.getByRole('region', { name: 'Marks' });
const row = (page: Page, text: string) => panel(page).getByRole('row').filter({ hasText: text });

/** Chooses the beat in the middle of the strip, by the keyboard. */
async function chooseBeat(page: Page): Promise<void> {
  await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
  await page
    .getByRole('status')
    .filter({ hasText: /heart rate \d/ })
    .waitFor();
  await page.keyboard.press('b');
  await panel(page)
    .getByText(/Computed as/)
    .waitFor();
}

describe.skipIf(chromiumPath === null)('marks of a recording', () => {
  // promise: marks-in-viewer
  it('are made with the mouse, changed, deleted and taken back up, and every version can be read', async () => {
    const { page, errors } = await openViewer(100);
    await page.getByRole('combobox', { name: 'Mark', exact: true }).selectOption('Moment or stretch');
    const { x, y } = await middle(page);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 2 * PX_PER_SEC, y, { steps: 4 });
    await page.mouse.up();
    await panel(page).getByRole('button', { name: 'Mark this' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Kind').selectOption('Symptom');
    await dialog.getByLabel('Text').fill('dizzy on the stairs');
    await picture(page, 'marks-dialog');
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'dizzy on the stairs').filter({ hasText: 'Ada' }).waitFor();
    const made = (await marks()).find(({ text }) => text === 'dizzy on the stairs')!;
    expect(made).toMatchObject({ kind: 'symptom', made_by_name: 'Ada' });
    expect(secOf(made.starts_at)).toBeCloseTo(100, 1);
    expect(secOf(made.ends_at)).toBeCloseTo(102, 1);

    await row(page, 'dizzy').getByRole('button', { name: 'Edit' }).click();
    const change = panel(page).getByRole('button', { name: 'Change' });
    await expect.poll(() => change.evaluate((button) => button === document.activeElement)).toBe(true);
    await expect.poll(() => change.evaluate((button) => button.getBoundingClientRect().bottom <= innerHeight + 1)).toBe(true);
    const place = await middle(page);
    await page.mouse.click(place.x + PX_PER_SEC, place.y);
    await panel(page).getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Text').fill('dizzy, sat down');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await row(page, 'dizzy, sat down').getByText('changed').waitFor();
    const changed = (await marks()).find(({ id }) => id === made.id)!;
    expect(changed).toMatchObject({ version: 2, kind: 'symptom', ends_at: null });
    expect(secOf(changed.starts_at)).toBeCloseTo(101, 1);

    await row(page, 'dizzy').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await panel(page).getByText('Deleted: Symptom dizzy, sat down').waitFor();
    expect((await marks()).some(({ id }) => id === made.id)).toBe(false);
    await panel(page).getByRole('button', { name: 'Undo' }).click();
    await row(page, 'dizzy').getByRole('button', { name: 'History' }).click();
    const history = page.getByRole('region', { name: 'History of a mark' });
    await expect.poll(() => history.getByRole('listitem').count()).toBe(4);
    expect(await history.getByRole('listitem').nth(1).textContent()).toMatch(/Deleted\s+by Ada/);
    expect(await history.getByRole('listitem').nth(3).textContent()).toContain('dizzy on the stairs');
    await picture(page, 'marks-history');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: marks-by-keyboard
  it('are made and found by keyboard alone', async () => {
    const { page, errors } = await openViewer(200);
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('['); // the beginning
    for (let i = 0; i < 30; i++) await page.keyboard.press('.');
    await page.keyboard.press(']');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Kind').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await row(page, 'by keys').waitFor();
    const made = (await marks()).find(({ text }) => text === 'by keys')!;
    expect([secOf(made.starts_at), secOf(made.ends_at)].map((sec) => Math.round(100 * sec))).toEqual([20_000, 20_030]);
    // Back on the strip without a hand on the mouse.
    await page.keyboard.press('Shift+N');
    await until(() => Math.abs(shownSec(page) - NOTE_SEC) < 0.1);
    await page.keyboard.press('Shift+P');
    await until(() => Math.abs(shownSec(page) - 200) < 0.1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('are made by keyboard alone while calipers are on, and with brackets behind AltGr', async () => {
    const { page, errors } = await openViewer(220);
    const measured = page.locator('.measured');
    const saved = async (text: string): Promise<readonly number[]> => {
      await page.getByRole('dialog').getByLabel('Kind').waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await row(page, text).waitFor();
      const made = (await marks()).find((mark) => mark.text === text)!;
      return [secOf(made.starts_at), secOf(made.ends_at)].map((sec) => Math.round(100 * sec));
    };
    const stretch = async (): Promise<void> => {
      await page.keyboard.press('[');
      for (let i = 0; i < 20; i++) await page.keyboard.press('.');
      await page.keyboard.press(']');
    };
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    // What the calipers measure is marked.
    await page.keyboard.press('c');
    await stretch();
    await until(async () => /\b(199|200|201) ms/.test((await measured.textContent())!));
    await page.keyboard.press('Enter');
    expect(await saved('measured by keys')).toEqual([22_000, 22_020]);
    expect(await measured.textContent()).toBe('');
    // Escape ends them; what is picked stays, and goes with the next.
    await page.keyboard.press('m');
    await panel(page).getByRole('button', { name: 'Mark this' }).waitFor();
    await page.keyboard.press('c');
    await until(async () => (await measured.textContent())!.includes(' ms'));
    await page.keyboard.press('Escape');
    await until(async () => (await measured.textContent()) === '');
    expect(await panel(page).getByRole('button', { name: 'Mark this' }).count()).toBe(1);
    await page.keyboard.press('Escape');
    await panel(page).getByText('To mark something').waitFor();
    // M ends them, too; a German keyboard says Ctrl and Alt with a bracket.
    await page.keyboard.press('c');
    await page.keyboard.press('m');
    await until(async () => (await measured.textContent()) === '');
    for (let i = 0; i < 20; i++) await page.keyboard.press('.');
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => {
      const key = { key: ']', ctrlKey: true, altKey: true, bubbles: true, cancelable: true };
      viewer.shadowRoot!.querySelector('.views')!.dispatchEvent(new KeyboardEvent('keydown', key));
    });
    await page.keyboard.press('Enter');
    expect(await saved('marked by keys')).toEqual([22_020, 22_040]);
    // Ctrl with Z takes back what was marked last, then what before.
    await page.keyboard.press('Control+z');
    await panel(page).getByText('Deleted: Note marked by keys').waitFor();
    await until(async () => !(await marks()).some(({ text }) => text === 'marked by keys'));
    await page.keyboard.press('Control+z');
    await panel(page).getByText('Deleted: Note measured by keys').waitFor();
    await page.keyboard.press('Control+z'); // of others' marks nothing
    await panel(page).getByRole('button', { name: 'Undo' }).click();
    await row(page, 'measured by keys').waitFor();
    expect((await marks()).some(({ text }) => text === 'walked')).toBe(true);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('taken back by key after another client has changed them, are kept', async () => {
    const { page } = await openViewer(240);
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('m');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Text').fill('mine');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await row(page, 'mine').waitFor();
    const { id } = (await marks()).find(({ text }) => text === 'mine')!;
    await dashboard.send('PATCH', `/api/v1/annotations/${id}`, { text: 'of another' });
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('Control+z');
    await page.getByRole('alert').waitFor();
    expect((await marks()).find((mark) => mark.id === id)).toMatchObject({ text: 'of another' });
    await page.context().close();
  });

  it('are deleted as the dialog shows them, and not taken back up by who edits one that another has deleted', async () => {
    const body = { stream_id: stream, kind: 'note', starts_at: at(260) };
    const noted = (text: string): Promise<Mark> => dashboard.send<Mark>('POST', '/api/v1/annotations', { ...body, text });
    const stale = await noted('stale');
    const textOf = async (id: string): Promise<string | undefined> => (await marks()).find((mark) => mark.id === id)?.text;
    const { page } = await openViewer(260);
    await row(page, 'stale').waitFor();
    await dashboard.send('PATCH', `/api/v1/annotations/${stale.id}`, { text: 'of another' });
    const dialog = page.getByRole('dialog');
    await row(page, 'stale').getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('of another').waitFor();
    await dashboard.send('PATCH', `/api/v1/annotations/${stale.id}`, { text: 'of a third' });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('Nothing was saved').waitFor();
    expect(await textOf(stale.id)).toBe('of a third');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.reload();
    await row(page, 'of a third').waitFor();

    const again = await noted('once more');
    await page.reload();
    await row(page, 'once more').waitFor();
    const { baseUrl, firstKey } = dashboard.service;
    const headers = { authorization: `Bearer ${firstKey}` };
    expect((await fetch(`${baseUrl}/api/v1/annotations/${again.id}`, { method: 'DELETE', headers })).status).toBe(204);
    await row(page, 'once more').getByRole('button', { name: 'Edit' }).click();
    await panel(page).getByText('Deleted: Note once more').waitFor();
    await expect.poll(() => row(page, 'once more').count()).toBe(0);
    expect(await panel(page).getByRole('button', { name: 'Change' }).count()).toBe(0);
    expect(await textOf(again.id)).toBe(undefined);
    await page.context().close();
  });

  it('are made by touch on a phone', async () => {
    const { page, errors } = await openViewer(250, { viewport: { width: 390, height: 844 }, hasTouch: true });
    await page.getByRole('combobox', { name: 'Mark', exact: true }).selectOption('Moment or stretch');
    const { x, y } = await middle(page);
    await page.touchscreen.tap(x, y);
    await panel(page).getByRole('button', { name: 'Mark this' }).tap();
    await page.getByRole('dialog').getByLabel('Text').fill('by touch');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).tap();
    await panel(page).getByText('by touch').first().waitFor();
    expect(secOf((await marks()).find(({ text }) => text === 'by touch')!.starts_at)).toBeCloseTo(250, 1);
    await picture(page, 'marks-phone');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names the beat under the pointer until the strip moves on, and a stretch to the millisecond', async () => {
    const { page, errors } = await openViewer(ECTOPIC_SEC);
    const { x, y } = await middle(page);
    const hovered = page.locator('bio-recording .hovered');
    await expect
      .poll(async () => {
        await page.mouse.click(x, y);
        return await hovered.textContent();
      })
      .toMatch(/^Beat \d/);
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowRight');
    await expect.poll(() => hovered.textContent()).toBe('');
    await page.keyboard.press('m');
    await page.keyboard.press('[');
    for (let i = 0; i < 2; i++) await page.keyboard.press('.');
    await page.keyboard.press(']');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Everyone').waitFor();
    const [from, to] = [...(await dialog.textContent())!.matchAll(/:(\d\d[.,]\d+)/g)].map(([, sec]) => Number(sec));
    expect(to! - from!).toBeCloseTo(0.02, 3);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: beats-corrected-in-viewer
  it('correct beats: another kind, none, and one that was not found, with the values of both', async () => {
    const { page, errors } = await openViewer(ECTOPIC_SEC);
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    // The early beat is picked by key, and said to be normal.
    await page
      .getByRole('status')
      .filter({ hasText: /heart rate \d/ })
      .waitFor(); // its beats are there
    await page.keyboard.press('b');
    await page.getByText(/Chosen: beat at .*, [NSV] by AAMI, \d+% sure/).waitFor();
    await panel(page)
      .getByText(/Computed as ectopic/)
      .waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter'); // the third: V
    await row(page, 'Beat V').waitFor();
    // It is corrected again by the mouse: the same mark, another version.
    await page.getByRole('combobox', { name: 'Mark', exact: true }).selectOption('Beat');
    const { x, y } = await middle(page);
    await page.mouse.click(x, y);
    await panel(page).getByRole('button', { name: 'No beat' }).click();
    await row(page, 'No beat').getByText('changed').waitFor();
    const [corrected] = (await marks()).filter(({ kind }) => kind === 'beat');
    expect(corrected).toMatchObject({ version: 2, beat: 'none' });
    expect(secOf(corrected!.starts_at)).toBeCloseTo(ECTOPIC_SEC, 1);
    // And a beat is added half way between two others.
    const now = await middle(page);
    await page.mouse.click(now.x + 1.55 * PX_PER_SEC, now.y);
    await panel(page)
      .getByText(/No beat was found/)
      .waitFor();
    await panel(page).getByRole('button', { name: 'N normal' }).click();
    await row(page, 'Beat N').waitFor();
    const both = page.getByRole('region', { name: 'Beats as computed and as corrected' });
    await both.getByText('2 corrected').waitFor();
    const beats = await both
      .getByRole('row')
      .filter({ hasText: /^Beats\s*\d/ })
      .getByRole('cell')
      .allTextContents();
    const others = await both.getByRole('row').filter({ hasText: 'not normal' }).getByRole('cell').allTextContents();
    const rmssd = await both.getByRole('row').filter({ hasText: 'RMSSD' }).getByRole('cell').allTextContents();
    expect(Number.parseInt(beats[2]!, 10)).toBe(Number.parseInt(beats[1]!, 10)); // one less, one more
    expect(Number.parseInt(others[2]!, 10)).toBe(Number.parseInt(others[1]!, 10) - 1);
    expect(rmssd[2]).not.toBe(rmssd[1]);
    await picture(page, 'marks-beats');
    expect(await violations(page)).toEqual([]);
    // On a phone each number says which of the two it is.
    await page.setViewportSize({ width: 390, height: 844 });
    const saidOf = (numbers: HTMLElement[]): string[] => numbers.map((one) => getComputedStyle(one, '::before').content);
    expect(new Set(await both.locator('td.num').evaluateAll(saidOf))).toEqual(new Set(['"Computed"', '"Corrected"']));
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('have the values of both whatever time the address says, and again after a stretch without beats', async () => {
    const subject = await addPerson(dashboard, 'paused', 'Paula Paused');
    await sendRecording(dashboard, {
      subject: 'paused',
      deviceId: 'paused patch',
      bootId: '09'.repeat(16),
      startMs,
      seconds: 240,
      pause: { at: 120, sec: 1200 },
    });
    const paused = (await dashboard.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`))[0]!.id;
    const beatCount = async (since: number, until: number): Promise<number> =>
      (await dashboard.send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${paused}/beats?since=${at(since)}&until=${at(until)}`)).reduce(
        (sum, { ts_ns: times }) => sum + times.length,
        0,
      );
    await until(async () => (await beatCount(0, 100)) > 50 && (await beatCount(1320, 1400)) > 50, 30_000);
    // Behind more notes than the list shows.
    for (let i = 0; i < 101; i++)
      await dashboard.send('POST', '/api/v1/annotations', { stream_id: paused, kind: 'note', starts_at: at(i / 10), text: `${i}` });
    await dashboard.send('POST', '/api/v1/annotations', { stream_id: paused, kind: 'beat', starts_at: at(50.9), beat: 'V' });
    for (const address of ['yesterday', '+275760-09-13T00:00:00.000Z']) {
      const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${paused}?at=${encodeURIComponent(address)}`, {
        storageState: dashboard.signedIn,
      });
      await page.getByRole('region', { name: 'Beats as computed and as corrected' }).waitFor();
      expect(errors, address).toEqual([]);
      await page.context().close();
    }
    const { page } = await dashboard.open(`/dashboard/#/recordings/${paused}?at=${at(50)}`, { storageState: dashboard.signedIn });
    const both = page.getByRole('region', { name: 'Beats as computed and as corrected' });
    await both.getByText('1 corrected').waitFor();
    const moveTo = (sec: number) =>
      page.locator('bio-recording').evaluate((viewer: HTMLElement & { moveTo: (at: string) => void }, iso) => viewer.moveTo(iso), at(sec));
    await moveTo(700);
    await both.waitFor({ state: 'detached' });
    await moveTo(1400);
    await both.getByText('0 corrected').waitFor();
    // Values of a while ago are not shown as those of an hour that could not be read.
    await page.route(/\/corrections\?/, (route) => route.abort());
    await both.getByLabel('Around the strip').selectOption('1 hour');
    await both.getByText('0 corrected').waitFor({ state: 'detached' });
    await page.unroute(/\/corrections\?/);
    await both.getByLabel('Around the strip').selectOption('24 hours');
    await both.getByText('1 corrected').waitFor();
    await page.context().close();
  });

  it('of one beat in two windows are versions of one mark, the second made by who was told of the first', async () => {
    const [one, other] = [await openViewer(150), await openViewer(150)];
    const made = async (): Promise<unknown[]> =>
      (await marks())
        .filter(({ starts_at: time }) => Math.abs(secOf(time) - 150) < 1)
        .map(({ beat, version, channel }) => [beat, version, channel]);
    await chooseBeat(one.page);
    // A beat that is chosen is soon asked about: the answer must not come after what is made next.
    const asked = other.page.waitForResponse((answer) => /annotations\?.*kind=beat.*since=/.test(answer.url()));
    await chooseBeat(other.page);
    await asked;
    await panel(one.page).getByRole('button', { name: /^V / }).click();
    await row(one.page, 'Beat V').waitFor();
    const supraventricular = panel(other.page).getByRole('button', { name: /^S / });
    await supraventricular.click();
    await panel(other.page)
      .getByRole('alert')
      .getByText(/Ada has already corrected this beat: Beat V, .* Nothing was saved/)
      .waitFor();
    expect(await made()).toEqual([['V', 1, null]]);
    await row(other.page, 'Beat V').waitFor();
    await picture(other.page, 'marks-overtaken');
    expect(await violations(other.page)).toEqual([]);
    await supraventricular.click();
    await row(other.page, 'Beat S').waitFor();
    expect(await panel(other.page).getByRole('alert').count()).toBe(0);
    expect(await made()).toEqual([['S', 2, null]]);
    // The first is told what there was when it was chosen, and of what came after.
    await chooseBeat(one.page);
    await panel(one.page)
      .getByText(/Ada has corrected it: Beat S/)
      .waitFor();
    const { id } = (await marks()).find(({ starts_at: time }) => Math.abs(secOf(time) - 150) < 1)!;
    const { baseUrl, firstKey } = dashboard.service;
    await fetch(`${baseUrl}/api/v1/annotations/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${firstKey}` } });
    await panel(one.page).getByRole('button', { name: /^N / }).click();
    await panel(one.page).getByRole('alert').getByText('deleted').waitFor();
    expect(await made()).toEqual([]);
    await panel(one.page).getByRole('button', { name: /^N / }).click();
    await expect.poll(made).toEqual([['N', 1, null]]);
    for (const { page } of [one, other]) await page.context().close();
  });

  it('of one lead leave what is said of another', async () => {
    const starts = at(0.5 + 425 * 0.8); // 340.5 s
    await dashboard.send('POST', '/api/v1/annotations', {
      stream_id: stream,
      kind: 'beat',
      starts_at: starts,
      beat: 'Q',
      channel: SECOND.code,
    });
    const { page } = await openViewer(340.5);
    await chooseBeat(page);
    await panel(page).getByRole('button', { name: /^V / }).click();
    await row(page, 'Beat V').waitFor();
    const made = (await marks()).filter(({ kind, starts_at: time }) => kind === 'beat' && Math.abs(secOf(time) - 340.5) < 0.2);
    expect(made.map(({ beat, channel, version }) => `${beat} ${channel} ${version}`).toSorted()).toEqual([
      `Q ${SECOND.code} 1`,
      'V null 1',
    ]);
    await page.context().close();
  });

  it('name a beat in the language of the page, and stand on paper in whole words, without the keys that make them', async () => {
    await dashboard.send('POST', '/api/v1/annotations', {
      stream_id: stream,
      kind: 'artefact',
      starts_at: at(120),
      ends_at: at(130),
      text: 'Ventricular pairs',
    });
    const { page } = await openViewer(ECTOPIC_SEC, { locale: 'de-DE' });
    await page
      .getByRole('status')
      .filter({ hasText: /Herzfrequenz \d/ })
      .waitFor();
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('b');
    await page.getByText(/Berechnet als Extrasystole bei/).waitFor();
    await page.getByRole('button', { name: 'Abbrechen' }).click();
    const keys = page.getByText(/Um etwas zu markieren/);
    await keys.waitFor();
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 718, height: 1000 }); // A4 less its margins
    expect(await keys.isVisible()).toBe(false);
    // In one line.
    expect(await page.getByRole('cell', { name: 'Artefakt' }).evaluate((cell) => cell.firstElementChild!.clientHeight)).toBeLessThan(25);
    await page.context().close();
  });

  it('are only read by those who may not write', async () => {
    const password = 'correct horse battery';
    await dashboard.send('POST', '/api/v1/members', { email: 'vic@example.org', display_name: 'Vic', role: 'viewer', password });
    const { page } = await dashboard.open('/dashboard/', { timezoneId: 'UTC' });
    await page.getByLabel('E-mail').fill('vic@example.org');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await picture(page, 'marks-viewer');
    await row(page, 'walked').getByRole('button', { name: 'History' }).click();
    await page.getByRole('region', { name: 'History of a mark' }).waitFor();
    expect(await page.getByRole('button', { name: /^(Edit|Delete|Mark this)/ }).count()).toBe(0);
    expect(await page.getByRole('combobox', { name: 'Mark', exact: true }).count()).toBe(0);
    await page.context().close();
  });

  // promise: calipers
  it('leave room for calipers, which Shift and the keyboard set too', async () => {
    const { page } = await openViewer(150);
    const { x, y } = await middle(page);
    await page.keyboard.down('Shift');
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + PX_PER_SEC, y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    const measured = page.locator('.measured');
    await until(async () => /\b(99\d|100\d) ms = 60 \/min, [^,]+ -?[\d.]+ mV/.test((await measured.textContent())!));
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('[');
    for (let i = 0; i < 50; i++) await page.keyboard.press('.');
    await page.keyboard.press(']');
    await until(async () => /\b(499|500|501) ms = 120 \/min/.test((await measured.textContent())!));
    await page.context().close();
  });
});
