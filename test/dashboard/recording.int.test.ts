/** The viewer of a recording in a real Chromium, on a recording that was sent as packets, with an ectopic beat, a gap and an annotation:
 *  every gesture, the keyboard alone, what is told, the address, and what axe finds. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { password, requireConsents, startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import {
  addPerson,
  at,
  ECTOPIC_SEC,
  EVENT_SEC,
  GAP,
  NOTE_SEC,
  SECOND,
  SECONDS,
  sendRecording,
  sendViewed,
  startMs,
} from '../helpers/viewed-recording.ts';

let dashboard: DashboardFixture;
let stream: string;
let person: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ stream, person } = await sendViewed(dashboard));
}, 400_000);
afterAll(() => dashboard?.close());

async function openViewer(query = '', options: BrowserContextOptions = {}): Promise<Opened> {
  const opened = await dashboard.open(`/dashboard/#/recordings/${stream}${query}`, {
    storageState: dashboard.signedIn,
    timezoneId: 'UTC',
    ...options,
  });
  await opened.page.locator('bio-recording[data-state=ready]').waitFor();
  return opened;
}

const shownSec = async (page: Page): Promise<number> => {
  const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '');
  return (Date.parse(query.get('at') ?? '') - startMs) / 1000;
};

/** How many pixels of a canvas are not of its background. */
const inked = async (page: Page, name: string): Promise<number> =>
  await page.locator(`canvas.${name}`).evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i]! > 0) count++;
    return count;
  });

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

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

  it('moves by keyboard alone, and keeps where it is in the address', async () => {
    const { page } = await openViewer(`?at=${at(100)}`);
    await page.locator('.views').focus();
    await page.keyboard.press('g');
    await page.locator('.goto input[type=datetime-local]:focus').waitFor();
    await page.locator('.views').focus();
    await page.keyboard.press('PageDown');
    await until(async () => Math.abs((await shownSec(page)) - SECONDS) < 2); // a page is longer than what is left
    await page.keyboard.press('Home');
    await until(async () => Math.abs(await shownSec(page)) < 1);
    await page.keyboard.press('ArrowDown');
    await until(async () => Math.abs((await shownSec(page)) - 60) < 1);
    await page.keyboard.press('+');
    await until(() => page.url().includes('speed=50'));
    const reloaded = page.url();
    await page.reload();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(page.url()).toBe(reloaded);
    await page.context().close();
  });

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

  it('opens at its beginning, before which nothing is picked', async () => {
    const { page, errors } = await openViewer('', { viewport: { width: 1900, height: 1000 } });
    const beginning = new Date(startMs).toISOString().slice(11, 19);
    await page.getByRole('img', { name: new RegExp(`^Strip of .* s from .*, ${beginning} UTC,`) }).waitFor();
    await page.getByRole('combobox', { name: 'Mark', exact: true }).selectOption('Moment or stretch');
    await page.keyboard.press('Escape');
    const strip = page.locator('canvas.strip');
    const { x, y, width } = (await strip.boundingBox())!;
    await page.mouse.move(x + width / 2, y + 100);
    await page.mouse.down();
    await page.mouse.move(x - 400, y + 100, { steps: 4 });
    await page.mouse.up();
    await page
      .getByRole('status')
      .filter({ hasText: `${beginning}.000` })
      .waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('goes to a time that is typed figure by figure, and gives the keyboard back to the strip', async () => {
    const { page, errors } = await openViewer(`?at=${at(100)}`, { locale: 'en-US' });
    const goal = new Date(startMs + 250_000);
    const [year, month, day, hour, minute, second] = goal.toISOString().match(/\d+/g)!;
    const figures = `${month}${day}${year}${String(Number(hour) % 12 || 12).padStart(2, '0')}${minute}${second}${Number(hour) < 12 ? 'A' : 'P'}`;
    await page.locator('.views').focus();
    await page.keyboard.press('g');
    for (const figure of figures) await page.keyboard.press(figure);
    await page.keyboard.press('Enter');
    await until(async () => Math.abs((await shownSec(page)) - 250) < 1);
    await page.locator('.views:focus').waitFor();
    await page.keyboard.press('c');
    await page.getByText('800 ms = 75 /min').waitFor();
    // What is no time of the recording is dropped, and what is shown stands there again.
    await page.keyboard.press('g');
    for (const figure of '010119990101') await page.keyboard.press(figure);
    await page.keyboard.press('Escape');
    await page.locator('.views:focus').waitFor();
    expect(await page.getByLabel('Go to date and time').inputValue()).toBe(goal.toISOString().slice(0, 19));
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

  it('goes to the events of one text among many others, exactly that one where there is one', async () => {
    const beats = Array.from({ length: 59 }, (_, i) => ({ sec: i + 0.5, code: 'annotation', text: i % 20 === 14 ? 'V' : 'N' }));
    const others = [
      { sec: 22, code: 'annotation', text: '+ (AFIB' },
      { sec: 26, code: 'annotation', text: 'missing ECG V1' },
      { sec: 49, code: 'annotation', text: '+ (N' },
    ];
    await addPerson(dashboard, 'annotated', 'Anna Annotated');
    await sendRecording(dashboard, {
      subject: 'annotated',
      deviceId: 'annotated patch',
      bootId: '0a'.repeat(16),
      startMs,
      seconds: 60,
      events: [...beats, ...others].toSorted((a, b) => a.sec - b.sec),
    });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=annotated'))[0]!.id;
    const { page } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(1)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.getByLabel('Jump to').selectOption('Event of the device or file');
    const text = page.getByLabel('With the text');
    // What there is to choose: the most frequent first.
    const offered = page.locator('datalist option');
    await until(async () => (await offered.count()) === 5);
    expect(await offered.evaluateAll((options: HTMLOptionElement[]) => options.map(({ value }) => value))).toEqual([
      'N',
      'V',
      '+ (AFIB',
      'missing ECG V1',
      '+ (N',
    ]);
    const next = page.getByRole('button', { name: 'Next' });
    const goesTo = async (sec: number): Promise<void> => await until(async () => Math.abs((await shownSec(page)) - sec) < 0.01);
    await text.fill('V');
    for (const sec of [14.5, 34.5, 54.5]) {
      await next.click();
      await goesTo(sec);
    }
    await next.click();
    await page.getByText('There are no more in this direction').waitFor();
    // A part of it is enough, in small letters too; Enter leads back to the keys of the strip.
    await text.fill('afib');
    await text.press('Enter');
    await page.keyboard.press('p');
    await goesTo(22);
    await text.fill('');
    await next.click();
    await goesTo(22.5);
    expect(await violations(page, 'bio-recording')).toEqual([]);
    await page.context().close();
  });

  it('says that there are more events than it shows, and goes to those as well', async () => {
    // As many as the annotated beats of five hours.
    const beats = Array.from({ length: 20_000 }, (_, i) => ({ sec: i * 0.002, code: 'annotation', text: 'N' }));
    const late = [42, 44, 48, 55].map((sec) => ({ sec, code: 'annotation', text: sec === 48 ? 'V' : 'N' }));
    await addPerson(dashboard, 'counted', 'Conny Counted');
    const sent = { subject: 'counted', deviceId: 'counted patch', bootId: '0b'.repeat(16), startMs, seconds: 60, packetSec: 0.5 } as const;
    await sendRecording(dashboard, { ...sent, events: [...beats, ...late] });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=counted'))[0]!.id;
    // Until its times are saved, what is asked for lies after its end.
    await until(async () => {
      const { last_sample_at: last } = await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${of}`);
      return Date.parse(last ?? '') > startMs + 59_000;
    });
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(43)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    await page.getByText(/^Only the first 19,999 marks or events are shown here, none after .*:39 UTC$/).waitFor();
    await page.getByLabel('Jump to').selectOption('Event of the device or file');
    const go = async (name: string, sec: number): Promise<void> => {
      await page.getByRole('button', { name }).click();
      await until(async () => Math.abs((await shownSec(page)) - sec) < 0.01);
    };
    await go('Next', 44);
    await go('Next', 48);
    await go('Previous', 44);
    await go('Previous', 42);
    await go('Previous', 39.998);
    await page.getByLabel('With the text').fill('V');
    await go('Next', 48);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('There are no more in this direction').waitFor();
    await page.getByLabel('With the text').fill('N');
    await go('Next', 55);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that there are more marks, and more episodes, than it shows', async () => {
    const subject = await addPerson(dashboard, 'marked', 'Mara Marked');
    await sendRecording(dashboard, { subject: 'marked', deviceId: 'marked patch', bootId: '0c'.repeat(16), startMs, seconds: 60 });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=marked'))[0]!.id;
    const mark = { stream_id: of, kind: 'note', starts_at: at(10), text: 'one of many' };
    const episode = { subject_id: subject, kind: 'manual', title: 'One of many', severity: 'low', started_at: at(10), ended_at: at(59) };
    // One through the service; as many more as it takes, every 2 ms, as copies of its row: so many requests take minutes.
    for (const [table, begin, path, body] of [
      ['annotation', 'starts_at', '/api/v1/annotations', mark],
      ['episode', 'started_at', '/api/v1/episodes', episode],
    ] as const) {
      const { id } = await dashboard.send<{ id: string }>('POST', path, body);
      await dashboard.database.pool.query(
        `insert into ${table} select (jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), '${begin}', one.${begin} + n * interval '2 ms'))).*
         from ${table} one, generate_series(1, 20000) n where one.id = $1`,
        [id],
      );
    }
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(20)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    // 20 answers of 1000; each begins with the last of the one before.
    await page.getByText(/^Only the first 19,981 marks or events are shown here, none after .*:49 UTC$/).waitFor();
    await page.getByText(/^Only the newest 19,981 episodes are shown here, none before .*:10 UTC$/).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('goes to the ectopic beat, the gap, the event and the note, and says when there is no more', async () => {
    const { page } = await openViewer(`?at=${at(20)}`);
    const [jump, next] = [page.getByLabel('Jump to'), page.getByRole('button', { name: 'Next' })];
    for (const [choice, sec] of [
      ['Ectopic beat', ECTOPIC_SEC],
      ['Gap', GAP[0]],
      ['Event of the device or file', EVENT_SEC],
      ['Episode or mark', NOTE_SEC],
    ] as const) {
      await jump.selectOption(choice);
      await until(async () => {
        await next.click();
        return Math.abs((await shownSec(page)) - sec) < 2;
      });
    }
    await next.click();
    const noMore = page.getByText('There are no more in this direction');
    await noMore.waitFor();
    // What is said does not stand in place of what is read.
    await expect.poll(() => page.locator('.read').textContent()).toMatch(/heart rate 75 \/min, Good$/);
    await jump.selectOption('Event of the device or file');
    await page.getByLabel('With the text').fill('full');
    for (const name of ['Next', 'Previous']) {
      await page.getByRole('button', { name, exact: true }).click();
      await expect.poll(() => page.locator('.said').textContent(), { message: name }).toBe('There are none in this recording');
    }
    await jump.selectOption('Episode or mark');
    await next.click();
    await noMore.waitFor();
    // Steps that follow one another closely: it does not wait for the last of them.
    await page.locator('.views').focus();
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press('ArrowLeft');
      await page.waitForTimeout(60);
    }
    expect(await noMore.count()).toBe(0);
    // One that is still being looked for when the person has gone elsewhere.
    await page.keyboard.press('End');
    await jump.selectOption('Gap');
    await page.route('**/overview*', async (route) => {
      await sleep(800);
      await route.continue().catch(() => undefined); // nobody waits for it any more
    });
    const sought = page.waitForRequest(/\/overview/);
    await page.getByRole('button', { name: 'Previous' }).click();
    await sought;
    await page.keyboard.press('Home');
    await page.locator('.views').focus();
    await page.keyboard.press('Home');
    await page.waitForTimeout(1200);
    expect(await shownSec(page)).toBeLessThan(1);
    expect(await noMore.count()).toBe(0);
    // Another kind is another question.
    await page.unroute('**/overview*');
    await jump.selectOption('Episode or mark');
    await page.getByRole('button', { name: 'Previous' }).click();
    await noMore.waitFor();
    await jump.selectOption('Ectopic beat');
    await expect.poll(() => noMore.count()).toBe(0);
    await page.context().close();
  });

  // promise: worst-first
  it('goes to the worst stretch, then to the next worst and back, and says which of how many, by key and by choice', async () => {
    const subject = await addPerson(dashboard, 'loose', 'Lou Loose', 'UTC');
    const off = [
      [0, 20],
      [100, 130],
      [200, 260],
      [330, 340],
    ] as const;
    // Not where a bucket of the service begins.
    const beginMs = startMs + 2600;
    await sendRecording(dashboard, {
      subject: 'loose',
      deviceId: 'loose patch',
      bootId: '27'.repeat(16),
      startMs: beginMs,
      seconds: 400,
      off,
    });
    const [{ id }] = await dashboard.send<[{ id: string }]>('GET', `/api/v1/streams?subject_id=${subject}`);
    await until(async () => {
      const { last_sample_at: last } = await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${id}`);
      const [beats] = await dashboard.send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${id}/beats`);
      return Date.parse(last ?? '') > startMs + 399_000 && (beats?.ts_ns.at(-1) ?? 0) > 1e6 * (startMs + 340_000);
    }, 60_000);
    const query = `?at=${at(20)}`;
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${id}${query}`, { storageState: dashboard.signedIn });
    await page.locator('bio-recording[data-state=ready]').waitFor();
    const said = page.locator('bio-recording .said');
    const goes = async (press: () => Promise<void>, rank: number, sec: number, lengthSec: number): Promise<void> => {
      await press();
      await expect.poll(() => said.textContent()).toMatch(new RegExp(`^Worst quality, ${rank} of 4: \\d+ s from [\\d:]+, Unusable$`));
      const length = Number(/: (\d+) s/.exec((await said.textContent())!)![1]);
      expect(Math.abs(length - lengthSec)).toBeLessThanOrEqual(10); // judged by the second, put together by 5 s
      await expect.poll(async () => Math.abs((await shownSec(page)) - sec)).toBeLessThanOrEqual(6);
    };
    const press = (key: string) => (): Promise<void> => page.keyboard.press(key);
    await page.locator('.views').focus();
    // Until it is judged to its end there is less to go to.
    await expect
      .poll(
        async () => {
          await page.reload();
          await page.locator('bio-recording[data-state=ready]').waitFor();
          await page.waitForLoadState('networkidle');
          await page.locator('.views').focus();
          await page.keyboard.press('w');
          await page.waitForTimeout(500);
          return await said.textContent();
        },
        { timeout: 60_000 },
      )
      .toContain('1 of 4');
    await page.keyboard.press('Home');
    await page.locator('.views').focus();
    await goes(press('w'), 2, 100, 30);
    await goes(press('w'), 3, 2, 20);
    expect(await said.textContent()).toContain(` from ${at(2.6).slice(11, 19)},`);
    await goes(press('w'), 4, 330, 10);
    await press('w')();
    await expect.poll(() => said.textContent()).toBe('There are no more in this direction');
    await goes(press('Shift+W'), 3, 2, 20);
    await goes(press('Shift+W'), 2, 100, 30);
    await goes(press('Shift+W'), 1, 200, 60);
    await page.getByLabel('Jump to').selectOption('Worst quality'); // begins anew
    await goes(() => page.getByRole('button', { name: 'Next' }).click(), 1, 200, 60);
    await goes(() => page.getByRole('button', { name: 'Next' }).click(), 2, 100, 30);
    await goes(() => page.getByRole('button', { name: 'Previous' }).click(), 1, 200, 60);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that it could not look, not that there are no more', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    await page.locator('.views').focus();
    const said = page.locator('bio-recording .said');
    await page.getByLabel('Jump to').selectOption('Ectopic beat');
    await page.route(/\/beats\?.*limit=100000/, (route) => route.abort('connectionrefused'));
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => said.textContent()).toBe('It could not be looked for. Try again.');
    await page.context().close();
  });

  it('says so, too, where marks or the whole could not be read, and looks again', async () => {
    const { page } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    const unread = /\/(episodes|overview)\?/;
    await page.route(unread, (route) => route.abort('connectionrefused'));
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}?at=${at(200)}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    const said = page.locator('bio-recording .said');
    const next = async (to: string): Promise<void> => {
      await page.getByLabel('Jump to').selectOption(to);
      await page.getByRole('button', { name: 'Next' }).click();
    };
    for (const to of ['Mark', 'Gap']) {
      await next(to);
      await expect.poll(() => said.textContent(), { message: to }).toBe('It could not be looked for. Try again.');
    }
    await page.unroute(unread);
    await next('Gap');
    await until(async () => Math.abs((await shownSec(page)) - GAP[0]) < 2);
    await next('Mark');
    await until(async () => Math.abs((await shownSec(page)) - NOTE_SEC) < 2);
    await page.context().close();
  });

  it('looks for nothing any more once one has moved on, or closed it', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    await page.getByLabel('Jump to').selectOption('Ectopic beat');
    const sought = /\/beats\?.*limit=100000/;
    await page.route(sought, () => undefined); // never answered
    for (const away of [() => page.keyboard.press('Home'), () => page.evaluate(() => void (location.hash = '#/users'))]) {
      const [asked, dropped] = [page.waitForRequest(sought), page.waitForEvent('requestfailed', (request) => sought.test(request.url()))];
      await page.locator('.views').focus();
      await page.keyboard.press('n');
      await asked;
      await away();
      await dropped;
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('is dragged, wheeled and picked on the rows, and measured with calipers', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    const strip = page.locator('canvas.strip');
    await strip.scrollIntoViewIfNeeded();
    const box = (await strip.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 189, y, { steps: 4 }); // 2 s at 25 mm/s
    await page.mouse.up();
    await until(async () => Math.abs((await shownSec(page)) - 202) < 0.1);
    await page.mouse.wheel(0, 94.5);
    await until(async () => Math.abs((await shownSec(page)) - 203) < 0.1);
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    await strip.scrollIntoViewIfNeeded();
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 94.5, y, { steps: 4 });
    await page.mouse.up();
    await until(async () => /\b(99\d|100\d) ms = 60 \/min/.test((await page.locator('.measured').textContent())!));
    await page.getByRole('checkbox', { name: 'Filter' }).check();
    await page.getByText('not for measuring ST or T').waitFor();
    const rows = page.locator('canvas.rows');
    await rows.scrollIntoViewIfNeeded();
    const area = (await rows.boundingBox())!;
    await page.mouse.click(area.x + 64 + (area.width - 64) / 2, area.y + area.height * 0.15);
    await until(async () => Math.abs((await shownSec(page)) - 90) < 2);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('is moved and marked by the main button alone', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    await page.locator('.views').focus();
    await page.keyboard.press('m');
    const middleOf = async (name: string): Promise<readonly [number, number]> => {
      await page.locator(`canvas.${name}`).scrollIntoViewIfNeeded();
      const box = (await page.locator(`canvas.${name}`).boundingBox())!;
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    for (const name of ['rows', 'whole', 'strip']) {
      const [x, y] = await middleOf(name);
      for (const button of ['right', 'middle'] as const) {
        await page.mouse.move(x, y);
        await page.mouse.down({ button });
        await page.mouse.move(x - 100, y, { steps: 4 });
        await page.mouse.up({ button });
      }
    }
    await page.mouse.wheel(0, 94.5); // a second
    await until(async () => Math.abs((await shownSec(page)) - 201) < 0.1);
    expect(await page.locator('dialog[open]').count()).toBe(0);
    await page.context().close();
  });

  it('stays where it is when its pointer went up elsewhere', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    const strip = page.locator('canvas.strip');
    await strip.scrollIntoViewIfNeeded();
    const box = (await strip.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await strip.evaluate(
      (canvas, clientX) => canvas.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, buttons: 0, clientX })),
      x,
    );
    await page.mouse.move(x - 189, y, { steps: 4 });
    await page.mouse.wheel(0, 94.5); // a second
    await until(async () => Math.abs((await shownSec(page)) - 201) < 0.1);
    await page.mouse.up();
    await page.context().close();
  });

  it('is dragged by one finger, and its speed changed by two, or by the wheel with Ctrl', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const strip = page.locator('canvas.strip');
    await strip.scrollIntoViewIfNeeded();
    const box = (await strip.boundingBox())!;
    const session = await page.context().newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...xs: number[]): Promise<void> => {
      const touchPoints = xs.map((x, id) => ({ x: box.x + box.width / 2 + x, y: box.y + box.height / 2, id }));
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    const speed = (): Promise<string> => page.getByLabel('Paper speed').inputValue();
    await touch('touchStart', 60);
    for (const x of [30, 0, -34.5]) await touch('touchMove', x); // 1 s at 25 mm/s
    await touch('touchEnd');
    await until(async () => Math.abs((await shownSec(page)) - 201) < 0.1);
    await touch('touchStart', -40, 40);
    await touch('touchMove', -70, 70);
    await touch('touchEnd');
    await expect.poll(speed).toBe('50 mm/s');
    for (const width of [40, 20]) {
      await touch('touchStart', -70, 70);
      await touch('touchMove', -width, width);
      await touch('touchEnd');
    }
    await expect.poll(speed).toBe('12.5 mm/s');
    expect(Math.abs((await shownSec(page)) - 201)).toBeLessThan(0.1); // two fingers do not move it
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    await expect.poll(speed).toBe('25 mm/s');
    // Calipers by a finger: 94.5 CSS pixels are 25 mm.
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    await strip.scrollIntoViewIfNeeded();
    await touch('touchStart', -47.25);
    await touch('touchMove', 0);
    await touch('touchMove', 47.25);
    await touch('touchEnd');
    await expect.poll(() => page.locator('.measured').textContent()).toMatch(/\b(99\d|100\d) ms = 60 \/min/);
    // Two fingers keep what was measured.
    await touch('touchStart', 10);
    await touch('touchStart', 10, 60);
    await touch('touchMove', -40, 90);
    await touch('touchEnd');
    await expect.poll(speed).toBe('50 mm/s');
    expect(await page.locator('.measured').textContent()).toMatch(/\b(99\d|100\d) ms = 60 \/min/);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('lets a finger scroll the page that starts on the strip, and neither moves nor measures by it', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const strip = page.locator('canvas.strip');
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    const session = await page.context().newCDPSession(page);
    for (const isMeasuring of [true, false]) {
      if (!isMeasuring) await page.getByRole('checkbox', { name: 'Calipers' }).uncheck();
      await strip.scrollIntoViewIfNeeded();
      const box = (await strip.boundingBox())!;
      const before = await page.evaluate(() => scrollY);
      const measured = await page.locator('.measured').allTextContents();
      const [x, y] = [box.x + box.width / 2, box.y + 20];
      await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      for (const down of [30, 90, 150, 210]) {
        await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x: x + 2, y: y + down }] });
        await page.waitForTimeout(30);
      }
      await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      await expect.poll(async () => before - (await page.evaluate(() => scrollY))).toBeGreaterThan(100);
      expect(Math.abs((await shownSec(page)) - 200)).toBeLessThan(0.2);
      expect(await page.locator('.measured').allTextContents()).toEqual(measured);
    }
    expect(errors).toEqual([]);
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

  it('has gains of each signal; of one that is fitted to its lane they are times as high, whatever ECG has', async () => {
    const subject = await addPerson(dashboard, 'pulsed', 'Paul Pulsed');
    const second = { ...SECOND, code: 'ppg.ir', kind: 'ppg', unit: '', lead: '' } as const;
    const sent = { subject: 'pulsed', deviceId: 'ring', bootId: '17'.repeat(16), startMs, seconds: 60, second };
    await sendRecording(dashboard, sent);
    const [{ id }] = await dashboard.send<[{ id: string }]>('GET', `/api/v1/streams?subject_id=${subject}`);
    // Of one that is still being recorded a page has room for what comes.
    await until(
      async () => (await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${id}`)).last_sample_at !== null,
    );
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${subject}`, { storageState: dashboard.signedIn });
    await page.route(`**/api/v1/streams/${id}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), is_flowing: false } });
    });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${id}?channels=ecg.ii,ppg.ir`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    // It has one row of a minute, and no empty ones; of ten seconds it has six.
    const rows = page.locator('canvas.rows');
    const tall = async (): Promise<number> => (await rows.boundingBox())!.height;
    expect(await tall()).toBeLessThan(60);
    await page
      .locator('bio-recording label', { hasText: /^\s*Row\s*10 s/ })
      .locator('select')
      .selectOption('10 s');
    await until(async () => (await tall()) > 200);
    expect(await tall()).toBeLessThan(300);
    const gain = page.locator('bio-recording label', { hasText: /^\s*Gain\s*[5×]/ }).locator('select');
    const chosen = (): Promise<string> => gain.evaluate((select: HTMLSelectElement) => select.selectedOptions[0]!.textContent!.trim());
    const press = async (...keys: string[]): Promise<string> => {
      for (const key of keys) await page.keyboard.press(key);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      return await chosen();
    };
    await gain.selectOption({ label: '20 mm/mV' });
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    expect(await press('2')).toBe('× 1');
    expect(await press('-')).toBe('× 0.5');
    expect(await press('+', '+')).toBe('× 2');
    expect(await press('1')).toBe('20 mm/mV');
    expect(await press('0')).toBe('20 mm/mV');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('begins without calipers when it shows another recording', async () => {
    const { page, errors } = await openViewer();
    const viewer = page.locator('bio-recording');
    await viewer.evaluate((element: HTMLElement) => element.focus());
    await page.keyboard.press('c');
    await until(async () => (await page.locator('.measured').textContent())!.includes(' ms'));
    const devices = await dashboard.send<{ stream_id: string }[]>('GET', '/api/v1/devices');
    const other = devices.find(({ stream_id: id }) => id !== stream)!.stream_id;
    await viewer.evaluate((element: HTMLElement, id) => element.setAttribute('stream', id), other);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await viewer.evaluate((element: HTMLElement) => element.focus());
    await page.keyboard.press('Enter');
    expect(await page.getByRole('checkbox', { name: 'Calipers' }).isChecked()).toBe(false);
    expect(errors).toEqual([]);
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
