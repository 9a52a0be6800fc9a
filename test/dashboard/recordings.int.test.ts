/** All recordings of a person in a real Chromium: a night that was sent in five parts, on the days of the person's clocks; a click
 *  opens the viewer there, and from it one walks through the night in order. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOfDay } from '../../widgets/shared/days.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { addPerson, sendRecording } from '../helpers/viewed-recording.ts';

const ZONE = 'Asia/Kolkata';
/** Midnight between the evening and the morning of the night. */
const midnight = startOfDay(Date.now() - 864e5, ZONE);
/** Minutes before and after midnight at which its parts begin; each is of two minutes, so the third goes over it. */
const STARTS = [-120, -60, -1, 60, 120] as const;
const SECONDS = 120;
const HOUR = 36e5;
const dateOf = (ms: number): string => new Intl.DateTimeFormat('sv', { timeZone: ZONE, dateStyle: 'short' }).format(ms);
const clockOf = (shown: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => new Intl.DateTimeFormat('en-US', { timeZone: ZONE, ...shown });
const [evening, morning] = [dateOf(midnight - 1), dateOf(midnight)];

let dashboard: DashboardFixture;
let person: string;
let wearer: string;
/** A device worn on three days: the evening, and 30 hours later, for a minute each. */
let ofDays = '';
let streams: readonly { id: string; recorded_from: string; last_sample_at: string }[] = [];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  person = await addPerson(dashboard, 'sleeper', 'Nora Night', ZONE);
  for (const [i, minutes] of STARTS.entries()) {
    const startMs = midnight + minutes * 60_000;
    await sendRecording(dashboard, {
      subject: 'sleeper',
      deviceId: 'night patch',
      bootId: `0${i + 1}`.repeat(16),
      startMs,
      seconds: SECONDS,
    });
  }
  wearer = await addPerson(dashboard, 'wearer', 'Wanda Wear', ZONE);
  const worn = { startMs: midnight - 7 * HOUR, seconds: 120, pause: { at: 60, sec: 30 * 3600 } };
  await sendRecording(dashboard, { subject: 'wearer', deviceId: 'holter', bootId: '77'.repeat(16), ...worn });
  await until(async () => {
    const [stream] = await dashboard.send<typeof streams>('GET', `/api/v1/streams?subject_id=${wearer}`);
    ofDays = stream?.id ?? '';
    return stream !== undefined && Date.parse(stream.last_sample_at) - Date.parse(stream.recorded_from) > 30 * HOUR;
  }, 60_000);
  await until(async () => {
    streams = await dashboard.send('GET', `/api/v1/streams?subject_id=${person}&sort=oldest`);
    const isSaved = ({ recorded_from: from, last_sample_at: to }: (typeof streams)[number]): boolean =>
      Date.parse(to) - Date.parse(from) > 1000 * (SECONDS - 1);
    return streams.length === STARTS.length && streams.every(isSaved);
  }, 60_000);
});
afterAll(() => dashboard?.close());

async function opened(address: string, options = {}): Promise<Opened> {
  return dashboard.open(`/dashboard/#/${address}`, { storageState: dashboard.signedIn, timezoneId: 'America/New_York', ...options });
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, clip: { x: 0, y: 0, width: 1600, height: 900 } });
}

const shown = (page: Page): string => /recordings\/([^?]+)/.exec(page.url())?.[1] ?? '';
const atMs = (page: Page): number => Date.parse(new URLSearchParams(page.url().split('?').at(-1)).get('at') ?? '');

describe.skipIf(chromiumPath === null)('all recordings of a person', () => {
  // promise: recordings-by-day
  it('stand on the days of their clocks, and open where one clicks', async () => {
    const { page, errors } = await opened(`users/${person}`, { viewport: { width: 3840, height: 2160 } }); // a minute is 2 px
    await page.getByRole('link', { name: 'All recordings' }).click();
    await page.getByRole('heading', { name: 'Recordings of Nora Night' }).waitFor();
    const rows = page.locator('.days > li');
    await until(async () => (await rows.count()) === 7);
    const counts = await rows.evaluateAll((days) => days.map((day) => day.querySelectorAll('.bar').length));
    expect(counts).toEqual([0, 0, 0, 0, 0, 3, 3]); // the third lies on both days
    const words = await rows.nth(5).locator('.day-name').textContent();
    expect(words).toContain('5 min 0 s in 3 recordings');
    expect(words).toContain('2 gaps, 1.9 h');
    await until(async () => (await rows.nth(6).locator('polyline').count()) > 0, 30_000);
    // One rate all night is one number.
    await until(async () => (await rows.nth(5).locator('.day-name').textContent())!.includes('mean heart rate'), 30_000);
    expect(await rows.nth(5).locator('.day-name').textContent()).toContain('mean heart rate 75 /min');
    // The ribbon is where something was recorded, however wide its cells are.
    const outside = await rows.evaluateAll((days) =>
      days.flatMap((day) => {
        const sides = (name: string) => [...day.querySelectorAll(name)].map((shape) => shape.getBoundingClientRect());
        const bars = sides('.bar .edge');
        return sides('.day-ribbon rect').filter(
          (cell) => !bars.some((bar) => cell.left >= bar.left - 0.5 && cell.right <= bar.right + 0.5),
        );
      }),
    );
    expect(outside).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await rows.nth(6).locator('.bar .edge').nth(1).click();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(streams.findIndex(({ id }) => id === shown(page))).toBe(3);
    expect(Math.abs(atMs(page) - (midnight + 61 * 60_000))).toBeLessThan(35_000);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: short-recordings-hit
  it('can be hit where they are short, and keep their length', async () => {
    const { page, errors } = await opened(`users/${person}/recordings`, { viewport: { width: 1280, height: 900 } });
    const row = page.locator('.days > li').nth(6);
    await until(async () => (await row.locator('.bar').count()) === 3);
    const boxes = await row.locator('.bar').evaluateAll((bars) =>
      bars.map((bar) => {
        const size = (selector: string): number[] => {
          const { width, height } = bar.querySelector(selector)!.getBoundingClientRect();
          return [Math.round(width), Math.round(height)];
        };
        return { about: size('.about rect'), edge: size('.edge')[0]! };
      }),
    );
    for (const { about, edge } of boxes) {
      expect(about).toEqual([24, 24]);
      expect(edge).toBeLessThan(6);
    }
    await row.scrollIntoViewIfNeeded();
    const second = (await row.locator('.bar .edge').nth(1).boundingBox())!;
    await page.mouse.click(second.x + 10, second.y + 6);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(streams.findIndex(({ id }) => id === shown(page))).toBe(3);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('have names that are whole, next to those that are too short for them, and over no other bar', async () => {
    for (const width of [390, 1280]) {
      const { page, errors } = await opened(`users/${person}/recordings`, { viewport: { width, height: 900 } });
      await until(async () => (await page.locator('.bar text').count()) === 6);
      await page.waitForTimeout(300); // it is drawn again once its width is known
      const found = await page.locator('.day-lane').evaluateAll((days) =>
        days.flatMap((day) => {
          const [picture, bars] = [day.getBoundingClientRect(), [...day.querySelectorAll('.bar')]];
          return bars.flatMap((bar) => {
            const name = bar.querySelector('text')!.getBoundingClientRect();
            const isCut = name.left < picture.left || name.right > picture.right;
            const others = bars.filter((one) => one !== bar).flatMap((one) => [...one.querySelectorAll('.edge, text')]);
            const isOver = others.some((one) => {
              const box = one.getBoundingClientRect();
              return box.left < name.right && box.right > name.left && box.top < name.bottom && box.bottom > name.top;
            });
            return isCut || isOver ? [bar.getAttribute('aria-label')] : [];
          });
        }),
      );
      expect(found, `${width}`).toEqual([]);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  // promise: own-clock-said
  it('are of the person’s clocks, where lists of several people are of the browser’s, and say so', async () => {
    const { page, errors } = await opened('users');
    const zone = page.locator('.zone');
    await expect.poll(() => zone.allTextContents()).toEqual(['Times are of this browser’s time zone, America/New_York.']);
    // Ages are the same on every clock.
    await page.getByRole('link', { name: /^Devices/ }).click();
    await page.getByRole('heading', { name: 'Devices', exact: true }).waitFor();
    await page.getByRole('cell').first().waitFor();
    expect(await zone.count()).toBe(0);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}/recordings`);
    await expect.poll(() => zone.allTextContents()).toEqual([`Times are of the time zone ${ZONE}.`]);
    await page.keyboard.press('Control+k');
    await page.locator('dialog input').fill('sleeper');
    await page
      .getByText(/ E[DS]T$/)
      .first()
      .waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('show what was received by its samples, also where no value was computed', async () => {
    const { page, errors } = await opened('overview', { viewport: { width: 3840, height: 2160 } });
    await page.route('**/api/v1/charts/query', async (route) => {
      const response = await route.fetch();
      const chart = (await response.json()) as { detail: object };
      await route.fulfill({
        response,
        json: { ...chart, data: [], qmask: [], detail: { ...chart.detail, n: [], good_n: [], expected_n: [] } },
      });
    });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}/recordings?from=${evening}&to=${morning}`);
    const rows = page.locator('.days > li');
    await rows.nth(1).locator('.received').first().waitFor();
    const widths = async (name: string): Promise<number[]> =>
      await rows.evaluateAll(
        (days, shapes) =>
          days.map((day) => [...day.querySelectorAll(shapes)].reduce((sum, shape) => sum + shape.getBoundingClientRect().width, 0)),
        name,
      );
    const [received, bars] = [await widths('.received'), await widths('.bar .edge')];
    for (const [i, wide] of bars.entries()) expect(Math.abs(received[i]! / wide - 1)).toBeLessThan(0.05);
    expect(await page.locator('.days polyline').count()).toBe(0);
    await page.getByText('received, not computed').waitFor();
    await picture(page, 'recordings-not-computed');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('of three months show what was received of a recording of days, and without it when that is too much to read', async () => {
    const first = dateOf(midnight - 80 * 24 * HOUR);
    const address = `users/${wearer}/recordings?from=${first}&to=${morning}`;
    const { page, errors } = await opened(address);
    await page.locator('.days .received').first().waitFor();
    expect(await page.locator('.days > li').count()).toBe(81);
    await page.route('**/overview?*', (route) =>
      route.fulfill({ status: 400, contentType: 'application/problem+json', json: { code: 'range_too_large', detail: 'Ask for less.' } }),
    );
    await page.reload();
    await page.locator('.days .bar').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('go to the days before and after, to any days, and from empty ones to the next recordings', async () => {
    const { page, errors } = await opened(`users/${person}/recordings?from=${morning}&to=${morning}`);
    await page.locator('.days > li').waitFor();
    await page.getByRole('button', { name: 'Previous day' }).click();
    await until(() => page.url().includes(`from=${evening}&to=${evening}`));
    await until(async () => (await page.locator('.bar').count()) === 3);
    await page.getByRole('button', { name: 'Previous day' }).click();
    await page.getByText('Nothing was recorded on these days').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Later recordings' }).click();
    await until(() => page.url().includes(`from=${evening}`));
    await page.getByRole('button', { name: '30 days' }).click();
    await until(async () => (await page.locator('.days > li').count()) === 30);
    await page.getByLabel('First day').fill(evening);
    await until(async () => (await page.locator('.days > li').count()) === 1);
    // Typed figure by figure: on its way it is a day of January, and of the year 2, and the last day stays.
    const last = (days: number): string => new Date(Date.parse(evening) + days * 864e5).toISOString().slice(0, 10);
    await page.getByLabel('Last day').fill(last(2));
    await page.getByLabel('First day').focus();
    const [year, month, day] = evening.split('-');
    for (const figure of `${month}${day}${year}`) await page.keyboard.press(figure);
    await until(() => page.url().includes(`from=${evening}&to=${last(2)}`));
    await page.getByLabel('Last day').fill(evening);
    await until(async () => (await page.locator('.days > li').count()) === 1);
    const address = page.url();
    await page.reload();
    await until(async () => (await page.locator('.bar').count()) === 3);
    expect(page.url()).toBe(address);
    await page.getByText('As a list (3)').click();
    expect(await page.locator('tbody tr').first().textContent()).toContain('22:00');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: recordings-walked
  it('are walked through in order, by keyboard and by button, and say where they end', async () => {
    const { page, errors } = await opened(`recordings/${streams[0]!.id}?speed=50`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.getByText('No earlier recording').waitFor();
    await page.locator('.views').focus();
    await page.locator('.neighbours a.after').waitFor();
    for (const stream of streams.slice(1)) {
      await page.keyboard.press('>');
      // The keyboard is in the new one, and goes on.
      await until(() => page.evaluate((id) => document.activeElement?.getAttribute('stream') === id, stream.id));
      expect(page.url()).toContain('speed=50');
    }
    await page.getByText('No later recording').waitFor();
    await page.keyboard.press('<');
    await page.locator(`bio-recording[stream="${streams[3]!.id}"]`).waitFor();
    await until(() => Math.abs(atMs(page) - Date.parse(streams[3]!.last_sample_at)) < 1000);
    const before = page.getByRole('link', { name: 'Previous recording' });
    for (const stream of [streams[2]!, streams[1]!]) {
      await before.click();
      await page.locator(`bio-recording[stream="${stream.id}"]`).waitFor();
      await until(() => before.evaluate((link) => link === document.activeElement));
    }
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'All recordings' }).click();
    await until(async () => (await page.locator('.bar').count()) > 0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('use all of a large screen, and fit a phone, in the dark and from right to left', async () => {
    for (const [width, height] of [
      [3840, 2160],
      [390, 844],
    ] as const) {
      for (const address of [`users/${person}/recordings`, `recordings/${streams[2]!.id}`]) {
        const { page, errors } = await opened(address, { viewport: { width, height }, colorScheme: 'dark' });
        const view = page.locator('.days .bar, bio-recording[data-state=ready]').first();
        await view.waitFor();
        await page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'));
        const wide = (await page.locator('.days, bio-recording').boundingBox())!.width;
        expect(wide / width).toBeGreaterThan(0.8);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        expect(await violations(page)).toEqual([]);
        expect(errors).toEqual([]);
        await page.context().close();
      }
    }
  });

  // promise: recording-day
  it('of days have a day between the whole and a page: by click, wheel and keyboard', async () => {
    const { page, errors } = await opened(`recordings/${ofDays}?at=${new Date(midnight - 7 * HOUR + 30_000).toISOString()}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    const day = page.locator('canvas.day');
    const hoursIn = (): number => (atMs(page) - midnight) / HOUR;
    await page.locator('canvas.whole:not(.day)').click({ position: { x: 500, y: 60 } }); // somewhere on the next day
    await until(() => hoursIn() > 2 && hoursIn() < 14);
    await day.scrollIntoViewIfNeeded();
    const box = (await day.boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + 60);
    await until(() => Math.abs(hoursIn() - 12) < 0.1);
    await page.mouse.wheel(0, box.width / 4);
    await until(() => Math.abs(hoursIn() - 18) < 0.1);
    await page.locator('.views').focus();
    await page.keyboard.press('Shift+D');
    await until(() => Math.abs(hoursIn() + 6) < 0.1);
    expect(await day.getAttribute('aria-label')).toContain(`Day of ${clockOf({ month: 'short', day: 'numeric' }).format(midnight - 1)}`);
    await page.keyboard.press('d');
    await until(() => Math.abs(hoursIn() - 18) < 0.1);
    await page.getByRole('button', { name: 'Previous day' }).click();
    await until(() => Math.abs(hoursIn() + 6) < 0.1);
    // The minute in the evening: at its hour of the day there is a signal, and nothing before it.
    const inkedNear = (hour: number): Promise<number> =>
      day.evaluate((canvas: HTMLCanvasElement, at) => {
        const { data } = canvas.getContext('2d')!.getImageData((canvas.width * at) / 24 - 3, canvas.height * 0.1, 6, canvas.height * 0.2);
        const colours = new Set<string>();
        for (let i = 0; i < data.length; i += 4) colours.add(data.slice(i, i + 4).join());
        return colours.size;
      }, hour);
    await until(async () => (await inkedNear(17)) > 1);
    expect(await inkedNear(11)).toBe(1); // a full hour without a line of the axis
    expect(await violations(page)).toEqual([]);
    await page.goto(page.url().replace(ofDays, streams[0]!.id));
    await page.locator(`bio-recording[stream="${streams[0]!.id}"][data-state=ready]`).waitFor();
    expect(await day.count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
