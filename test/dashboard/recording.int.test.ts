/** The viewer of a recording in a real Chromium: what it shows and says, on screen and on paper, to whom, what of it could not be read,
 *  and what axe finds. What leads through it: recording-gestures.int.test.ts and recording-search.int.test.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { password, requireConsents, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { picture, shownSec, startViewer } from '../helpers/recording-viewer.ts';
import type { ViewerFixture } from '../helpers/recording-viewer.ts';
import { at, NOTE_SEC, SECONDS, startMs } from '../helpers/viewed-recording.ts';

let dashboard: DashboardFixture;
let stream: string;
let person: string;
let openViewer: ViewerFixture['openViewer'];

beforeAll(async () => {
  if (chromiumPath !== null) ({ dashboard, stream, person, openViewer } = await startViewer());
}, 400_000);
afterAll(() => dashboard?.close());

/** How many pixels of a canvas are not of its background. */
const inked = async (page: Page, name: string): Promise<number> =>
  await page.locator(`canvas.${name}`).evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i]! > 0) count++;
    return count;
  });

describe.skipIf(chromiumPath === null)('a recording', () => {
  it("is opened from a person's page, and shows the whole, a page and a strip", async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    await page.getByRole('link', { name: /the recording of viewed patch/ }).click();
    await page.getByRole('heading', { name: 'Recording of Vera Viewed' }).waitFor();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    for (const name of ['whole', 'rows', 'strip']) await until(async () => (await inked(page, name)) > 500);
    await until(async () => (await page.getByRole('status').filter({ hasText: 'heart rate' }).textContent())!.includes('75 /min, Good'));
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows nothing more of a person who has withdrawn a consent, nor when the session has ended in another window', async () => {
    const { page, errors } = await openViewer(`?at=${at(100)}`);
    const nothingIsLeft = async (shown: Page): Promise<void> => {
      await expect.poll(() => shown.locator('canvas').count(), { timeout: 60_000 }).toBe(0);
      await expect.poll(() => shown.getByText('walked').count()).toBe(0);
      expect(await shown.getByText('Vera Viewed').count()).toBe(0);
    };
    await page.getByRole('cell', { name: 'walked', exact: true }).waitFor();
    await requireConsents(dashboard, ['sharing']);
    try {
      await nothingIsLeft(page);
      await picture(page, 'recording-withdrawn');
    } finally {
      await requireConsents(dashboard, []);
    }
    await page.locator('bio-recording[data-state=ready]').waitFor(); // by itself
    await page.getByRole('cell', { name: 'walked', exact: true }).waitFor();
    const other = await dashboard.open(`/dashboard/#/recordings/${stream}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    await other.page.locator('bio-recording[data-state=ready]').waitFor();
    await other.page.getByRole('cell', { name: 'walked', exact: true }).waitFor();
    await other.page.context().clearCookies();
    await nothingIsLeft(other.page);
    await other.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    expect(errors).toEqual([]);
    for (const opened of [page, other.page]) await opened.context().close();
  });

  // promise: pages-consent
  it('every page about a person who has withdrawn a consent empties by itself, and comes back when it is given again', async () => {
    const { send } = dashboard;
    const seen = { subject_id: person, kind: 'note', started_at: at(60) };
    const episode = await send<{ id: string }>('POST', '/api/v1/episodes', seen);
    const pages = [
      [`users/${person}`, 'main td'],
      [`users/${person}/report`, 'main bio-provider'],
      [`users/${person}/recordings`, 'main .day-lane'],
      [`recordings/${stream}?at=${at(100)}`, 'bio-recording[data-state=ready]'],
      [`recordings/${stream}/variability?at=${at(100)}`, 'main .tachogram'],
      [`episodes/${episode.id}`, 'main section.card'],
    ] as const;
    const opened = await Promise.all(
      pages.map(([path]) => dashboard.open(`/dashboard/#/${path}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' })),
    );
    const see = (isShown: boolean) =>
      Promise.all(
        opened.map(async ({ page }, i) => {
          const shown = page.locator(pages[i]![1]).first();
          await expect.poll(() => shown.count(), { timeout: 120_000, message: pages[i]![0] }).toBe(isShown ? 1 : 0);
        }),
      );
    await see(true);
    await requireConsents(dashboard, ['sharing']);
    try {
      await see(false);
      for (const [i, { page }] of opened.entries()) if (i > 0) expect(await page.getByText('Vera Viewed').count(), pages[i]![0]).toBe(0);
      await picture(opened[4]!.page, 'variability-withdrawn');
    } finally {
      await requireConsents(dashboard, []);
    }
    await see(true);
    for (const { page, errors } of opened) {
      expect(errors).toEqual([]);
      await page.context().close();
    }
  }, 500_000);

  // promise: pages-consent
  it('a dialog about a person who has withdrawn a consent closes; one of a session that has ended says nothing until its member is back', async () => {
    const { send } = dashboard;
    const seen = { subject_id: person, kind: 'note', started_at: at(61), title: 'Vera fell' };
    const episode = await send<{ id: string }>('POST', '/api/v1/episodes', seen);
    const looks = { storageState: dashboard.signedIn, timezoneId: 'UTC' };
    const ofEpisode = await dashboard.open(`/dashboard/#/episodes/${episode.id}`, looks);
    const { page: viewer, errors } = await openViewer(`?at=${at(100)}`);
    const ofViewer = viewer.getByRole('dialog');
    const ask = async (): Promise<void> => {
      await viewer
        .getByRole('row')
        .filter({ hasText: 'walked' })
        .getByRole('button', { name: /^Delete/ })
        .click();
      await ofViewer.getByRole('heading').waitFor();
    };
    const acknowledge = ofEpisode.page.getByRole('button', { name: 'Acknowledge', exact: true });
    await ask();
    await acknowledge.click();
    await ofEpisode.page.getByRole('dialog').getByRole('textbox').fill('I called Vera');
    await requireConsents(dashboard, ['sharing']);
    try {
      // What is asked for now is refused, and the page looks at once; the other learns it by itself.
      await ofEpisode.page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
      for (const { page } of [ofEpisode, { page: viewer }]) {
        await expect.poll(() => page.getByRole('dialog').count(), { timeout: 60_000 }).toBe(0);
        await page.locator('.problem[role=alert]').waitFor();
        expect(await page.getByText(/Vera|walked/).count()).toBe(0);
      }
    } finally {
      await requireConsents(dashboard, []);
    }
    await viewer.locator('bio-recording[data-state=ready]').waitFor(); // by itself, and without a dialog
    expect(await ofViewer.count()).toBe(0);

    await ask();
    const title = await ofViewer.getByRole('heading').textContent();
    await viewer.context().clearCookies();
    const again = viewer.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor({ timeout: 60_000 });
    await expect.poll(() => viewer.getByText(title!).count(), { timeout: 60_000 }).toBe(0);
    await again.getByLabel('Password').fill(password);
    await viewer.keyboard.press('Enter');
    await expect.poll(() => again.count(), { timeout: 60_000 }).toBe(0);
    await viewer.getByRole('dialog', { name: title! }).waitFor();
    await viewer.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await viewer.getByRole('cell', { name: 'walked', exact: true }).waitFor();
    expect([...errors, ...ofEpisode.errors]).toEqual([]);
    for (const page of [viewer, ofEpisode.page]) await page.context().close();
  }, 500_000);

  it('opens the variability of where one has gone a moment before, and is there again on the way back', async () => {
    const { page } = await openViewer();
    await page.locator('.views').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('v');
    await page.getByRole('heading', { name: 'Heart rate variability of' }).waitFor();
    expect(Math.abs((await shownSec(page)) - SECONDS)).toBeLessThan(2);
    await page.goBack();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(Math.abs((await shownSec(page)) - SECONDS)).toBeLessThan(2);
    await page.context().close();
  });

  it('has the keyboard when it opens, unless that is elsewhere on the page', async () => {
    const { page, errors } = await openViewer(`?at=${at(100)}`);
    await page.locator('.views:focus').waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.keyboard.press('c');
    await page.getByText('800 ms = 75 /min').waitFor();
    await page.getByRole('link', { name: 'Vera Viewed' }).click();
    await page.getByRole('link', { name: /the recording of viewed patch/ }).click();
    await page.locator('.views:focus').waitFor();
    // A link that has the keyboard keeps it.
    await page.getByRole('navigation').getByRole('link', { name: 'Wall' }).focus();
    await page.evaluate((address) => (location.hash = address), `#/recordings/${stream}?at=${at(200)}`);
    await page.getByText(/heart rate 75/).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Wall');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has the reading of the strip and its calipers below it, in sight with it', async () => {
    const { page } = await openViewer(`?at=${at(200)}`, { viewport: { width: 1400, height: 900 } });
    const strip = page.locator('canvas.strip');
    await page.locator('.views').focus();
    await page.keyboard.press('c');
    await strip.scrollIntoViewIfNeeded();
    for (const text of [/heart rate 75/, / ms = /]) {
      const [below, box] = [(await page.getByText(text).boundingBox())!, (await strip.boundingBox())!];
      expect(below.y + below.height).toBeLessThanOrEqual(900);
      expect(below.y).toBeGreaterThan(box.y + box.height / 2);
    }
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const [below, box] = [(await page.getByText(/heart rate 75/).boundingBox())!, (await strip.boundingBox())!];
    expect(below.y).toBeGreaterThanOrEqual(box.y + box.height);
    await page.context().close();
  });

  // promise: strip-in-sight
  it('keeps its strip in sight while one scrolls through the rows, unless it needs the screen', async () => {
    const { page } = await openViewer(`?at=${at(100)}`, { viewport: { width: 1366, height: 860 } });
    const strip = page.locator('canvas.strip');
    const bounds = async (name: string) => (await page.locator(`canvas.${name}`).boundingBox())!;
    const below = async (): Promise<number> => (await bounds('strip')).y + (await bounds('strip')).height - 860 + 28; // and a line of what is read
    expect(await below()).toBeLessThanOrEqual(1);
    const rows = await bounds('rows');
    await page.mouse.click(rows.x + rows.width * 0.9, rows.y + 20); // what it shows is seen
    await until(async () => Math.abs((await shownSec(page)) - 100) > 5);
    await page.mouse.wheel(0, 200);
    await until(async () => (await bounds('rows')).y < rows.y - 100);
    expect(Math.abs(await below())).toBeLessThanOrEqual(1);
    await page.setViewportSize({ width: 1366, height: 600 });
    expect(await strip.evaluate((canvas) => getComputedStyle(canvas).position)).toBe('static');
    await page.context().close();
  });

  it('is whole on a phone, in the dark, from right to left and in German', async () => {
    for (const options of [
      { viewport: { width: 390, height: 844 }, hasTouch: true },
      { colorScheme: 'dark' },
      { locale: 'de-DE' },
    ] as const satisfies readonly BrowserContextOptions[]) {
      const { page, errors } = await openViewer(`?at=${at(100)}`, options);
      if (!('locale' in options)) await page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'));
      else await page.locator('bio-recording').evaluate((element) => element.setAttribute('lang', 'de'));
      if ('locale' in options) await page.getByLabel('Papiervorschub').waitFor();
      await until(async () => (await inked(page, 'strip')) > 500);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  // promise: unread-is-no-gap
  it('says what could not be read, not that there was no signal, and reads it later', async () => {
    const { page } = await openViewer(`?at=${at(100)}`);
    const reading = page.getByRole('status').filter({ hasText: 'heart rate' });
    await page.route(/\/samples\?/, (route) => route.abort());
    await page.locator('.views').focus();
    await page.keyboard.press('PageDown');
    await page.keyboard.press('ArrowUp');
    await until(async () => (await reading.textContent())!.includes('could not be read'));
    await page.unroute(/\/samples\?/);
    await until(async () => (await reading.textContent())!.includes('75 /min, Good'));
    await page.context().close();
  });

  // promise: unread-is-no-gap
  it('reads again what was refused, when it is asked to', async () => {
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    let refuses = true;
    await page.route(/\/(samples|overview|episodes)\?/, (route) =>
      refuses ? route.fulfill({ status: 422, json: { code: 'validation_failed' } }) : route.continue(),
    );
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}?at=${at(NOTE_SEC)}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await expect.poll(() => page.locator('.read').textContent()).toContain('could not be read');
    const again = page.locator('bio-recording').getByRole('button', { name: 'Try again' });
    await picture(page, 'recording-refused');
    expect(await violations(page, 'bio-recording')).toEqual([]);
    await again.click();
    await page.waitForTimeout(1000);
    expect(await again.count()).toBe(1); // it is refused still
    refuses = false;
    await again.click();
    await expect.poll(() => page.locator('.read').textContent()).toContain('75 /min, Good');
    for (const name of ['rows', 'whole']) await until(async () => (await inked(page, name)) > 500);
    await again.waitFor({ state: 'detached' });
    await page.getByLabel('Jump to').selectOption('Mark');
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await until(async () => Math.abs((await shownSec(page)) - NOTE_SEC) < 2);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says what the letters above its beats mean, also of the first, whose kind is not determined', async () => {
    const { page } = await openViewer();
    await expect.poll(() => page.locator('.letters').textContent()).toBe('Q: kind not determined');
    const box = (await page.locator('canvas.strip').boundingBox())!;
    await page.mouse.move(box.x + (0.5 * 25 * 96) / 25.4, box.y + box.height / 2);
    await expect.poll(() => page.locator('.hovered').textContent()).toMatch(/^Beat [\d:.]+, Q: kind not determined$/);
    await page.context().close();
  });

  it('says that there is no connection when it could not be opened for want of one, and opens when asked again', async () => {
    const { page } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    let [asked, isAway] = [0, true];
    // The page asks first, then the viewer.
    await page.route(`**/api/v1/streams/${stream}`, (route) => (++asked > 1 && isAway ? route.abort() : route.continue()));
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}`);
    await page.locator('bio-recording[data-state=offline]').waitFor();
    isAway = false;
    await page.locator('bio-recording').getByRole('button', { name: 'Try again' }).click();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.context().close();
  });

  // promise: unread-rows
  it('says in the rows of a page, and in the whole, what could not be read, and reads it by itself', async () => {
    let [refuses, tried] = [true, 0];
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    await page.route(/\/overview\?/, (route) => {
      tried++;
      return refuses ? route.fulfill({ status: 503, json: { code: 'unavailable' } }) : route.continue();
    });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}?at=${at(100)}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.getByRole('img', { name: /could not be read$/ }).waitFor();
    await picture(page, 'recording-unread');
    const [blank, first] = [await inked(page, 'rows'), tried];
    await until(() => tried > first);
    refuses = false;
    await page.getByRole('img', { name: /could not be read$/ }).waitFor({ state: 'detached' });
    for (const name of ['rows', 'whole']) await until(async () => (await inked(page, name)) > 500);
    await until(async () => (await inked(page, 'rows')) !== blank);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: persons-clocks
  it("tells times by the person's clocks, wherever the browser is, and goes to a date and time of them", async () => {
    await dashboard.send('PATCH', `/api/v1/xusers/${person}`, { time_zone: 'Asia/Kolkata' });
    const { page } = await openViewer(`?at=${at(100)}`, { timezoneId: 'America/New_York' });
    const clock = new Intl.DateTimeFormat('sv', { timeZone: 'Asia/Kolkata', dateStyle: 'short', timeStyle: 'medium' });
    const local = (sec: number): string => clock.format(startMs + 1000 * sec).replace(' ', 'T');
    const field = page.getByLabel('Go to date and time');
    expect(await field.inputValue()).toBe(local(100));
    await field.fill(local(250));
    await field.press('Enter');
    await until(async () => Math.abs((await shownSec(page)) - 250) < 1);
    await page
      .locator('.reading')
      .getByText(`${local(250).slice(11)} GMT+5:30`)
      .waitFor();
    await page.getByText('Times are of the time zone Asia/Kolkata').waitFor();
    // So are all times of their other pages, which say so where the browser's clocks are others.
    const shown = new Intl.DateTimeFormat('en-US', { timeZone: 'Asia/Kolkata', dateStyle: 'medium', timeStyle: 'short' }).format(startMs);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}`);
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Recordings' }) });
    expect(await card.locator('time').first().textContent()).toBe(shown);
    await page.getByText('Times are of the time zone Asia/Kolkata').waitFor();
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}/recordings`);
    await page.getByText('Times are of the time zone Asia/Kolkata').waitFor();
    await page.context().close();
    const there = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn, timezoneId: 'Asia/Kolkata' });
    await there.page.getByRole('heading', { name: 'Recordings' }).waitFor();
    expect(await there.page.getByText('Times are of').count()).toBe(0);
    await there.page.context().close();
  });

  // promise: recording-grows
  it('grows while it is being recorded, and stays where one looks', async () => {
    const people = await dashboard.send<{ xuser_id: string; external_id: string }[]>('GET', '/api/v1/xusers?limit=50');
    const patient = people.find(({ external_id: id }) => id === 'demo-patient')!;
    const live = (await dashboard.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${patient.xuser_id}`))[0]!;
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${live.id}`, { storageState: dashboard.signedIn });
    const newest = page.getByText('Still being recorded; newest at');
    const first = await newest.textContent();
    await page.locator('.views').focus();
    await page.keyboard.press('Home');
    await until(async () => page.url().includes('at='));
    const url = page.url();
    await until(async () => (await newest.textContent()) !== first, 60_000);
    expect(page.url()).toBe(url);
    // What has only just been recorded has no beats yet, which is not the same as none that can be used.
    await page.keyboard.press('End');
    await page.getByText('heart rate –, not computed yet').waitFor();
    // What others mark meanwhile is there, too.
    const { recorded_from: from } = await dashboard.send<{ recorded_from: string }>('GET', `/api/v1/streams/${live.id}`);
    const markedMs = Date.parse(from) + 7000;
    const mark = { stream_id: live.id, kind: 'note', starts_at: new Date(markedMs).toISOString(), text: 'meanwhile' };
    await dashboard.send('POST', '/api/v1/annotations', mark);
    await page.locator('.views').focus();
    await until(async () => {
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+N');
      await page.waitForTimeout(500);
      return Math.abs((await shownSec(page)) - (markedMs - startMs) / 1000) < 0.1;
    }, 90_000);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: strip-on-paper
  it('is printed at the speed of its paper, whatever the paper is wide', async () => {
    const { page } = await openViewer(`?at=${at(100)}`);
    const strip = page.locator('canvas.strip');
    await until(async () => (await inked(page, 'strip')) > 500);
    const width = (await strip.boundingBox())!.width;
    // Paper is light, also where the screen is dark: its trace is green.
    const isGreen = (): Promise<boolean> =>
      strip.evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
        return data.some((_, i) => i % 4 === 1 && data[i]! > data[i - 1]! + 60 && data[i + 2]! > 200);
      });
    await page.emulateMedia({ colorScheme: 'dark' });
    await until(isGreen);
    await page.emulateMedia({ media: 'print', colorScheme: 'light' });
    await until(async () => !(await isGreen()));
    await page.setViewportSize({ width: 718, height: 1000 }); // A4 less its margins
    const [printed, views] = [(await strip.boundingBox())!, (await page.locator('.views').boundingBox())!];
    expect(printed.width).toBeCloseTo(width, 0);
    expect(printed.x + printed.width / 2).toBeCloseTo(views.x + views.width / 2, 0);
    // Paper has no keys, and leads to no other recording; it says of which device this one is.
    expect(await page.getByText(/Keys </).isVisible()).toBe(false);
    for (const word of ['No earlier recording', 'No later recording']) expect(await page.getByText(word).isVisible()).toBe(false);
    expect(await page.locator('.neighbours > p').isVisible()).toBe(true);
    if (process.env['BIO_TEST_PICTURES'] !== undefined) await page.screenshot({ path: `${process.env['BIO_TEST_PICTURES']}/printed.png` });
    await page.context().close();
  });

  it('keeps a mark that was saved while an older answer was under way', async () => {
    const { page, errors } = await openViewer(`?at=${at(120)}`);
    await page.getByRole('cell', { name: 'walked', exact: true }).waitFor();
    const refresh = (): Promise<void> =>
      page.locator('bio-recording').evaluate((viewer: HTMLElement & { refreshMarks: () => Promise<void> }) => viewer.refreshMarks());
    const release = Promise.withResolvers<void>();
    let isHeld = false;
    await page.route('**/api/v1/annotations?*', async (route) => {
      if (isHeld) return route.fallback();
      isHeld = true;
      const answer = await route.fetch();
      await release.promise;
      await route.fulfill({ response: answer });
    });
    const older = refresh();
    await until(() => isHeld);
    await sleep(1000);
    await dashboard.send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at: at(150), text: 'in between' });
    await refresh();
    release.resolve();
    await older;
    await page.getByLabel('Jump to').selectOption('Episode or mark');
    await page.getByRole('button', { name: 'Next' }).click();
    await until(async () => Math.abs((await shownSec(page)) - 150) < 1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says so when there is none', async () => {
    const { page } = await dashboard.open('/dashboard/#/recordings/00000000-0000-4000-8000-00000000dead', {
      storageState: dashboard.signedIn,
    });
    await page.getByRole('alert').waitFor();
    await page.context().close();
  });
});
