/** The viewer of a recording in a real Chromium: every gesture, the keyboard alone, calipers and gains, and the address. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { shownSec, startViewer } from '../helpers/recording-viewer.ts';
import type { ViewerFixture } from '../helpers/recording-viewer.ts';
import { addPerson, at, SECOND, SECONDS, sendRecording, startMs } from '../helpers/viewed-recording.ts';

let dashboard: DashboardFixture;
let stream: string;
let openViewer: ViewerFixture['openViewer'];

beforeAll(async () => {
  if (chromiumPath !== null) ({ dashboard, stream, openViewer } = await startViewer());
}, 400_000);
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('a recording', () => {
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
    // Of the topmost signal, over whichever it is drawn.
    expect(await page.locator('.measured').textContent()).toMatch(/, ECG\b.* -?\d+\.\d\d mV$/);
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

  it('drops what a key has ended while its pointer is down', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    const strip = page.locator('canvas.strip');
    await strip.scrollIntoViewIfNeeded();
    const dragAnd = async (key: string): Promise<void> => {
      await page.locator('.views').focus();
      const { x, y, width, height } = (await strip.boundingBox())!;
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 + 40, y + height / 2, { steps: 2 });
      await page.keyboard.press(key);
      await page.mouse.move(x + width / 2 + 80, y + height / 2, { steps: 2 });
      await page.mouse.up();
    };
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    await dragAnd('c');
    expect(await page.locator('.measured').textContent()).toBe('');
    await page.getByRole('combobox', { name: 'Mark', exact: true }).selectOption('Moment or stretch');
    await dragAnd('Escape');
    expect(await page.locator('.said').textContent()).toBe('');
    expect(errors).toEqual([]);
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

  it('marches out over all of the strip, also where what is measured is beyond its edge', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    await page.evaluate(() => {
      const of = globalThis as unknown as { lines: number[] };
      const { moveTo } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.moveTo = function (x, y) {
        if (y === 26 && this.canvas.classList.contains('strip')) of.lines?.push(x);
        moveTo.call(this, x, y);
      };
    });
    const viewer = page.locator('bio-recording');
    await viewer.evaluate((element: HTMLElement) => element.focus());
    await page.keyboard.press('c'); // 800 ms
    await page.getByRole('checkbox', { name: 'March out' }).check();
    await viewer.evaluate((element: HTMLElement) => element.focus());
    const { width } = (await page.locator('canvas.strip').boundingBox())!;
    const shown = (): Promise<number> =>
      page.evaluate(async (right) => {
        const of = globalThis as unknown as { lines: number[] };
        of.lines = [];
        document.querySelector('bio-recording')!.toggleAttribute('theme');
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
        return new Set(of.lines.filter((x) => x > 0 && x < right).map(Math.round)).size;
      }, width);
    const whole = Math.floor(width / ((0.8 * 25 * 96) / 25.4));
    for (const key of ['', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Home']) {
      if (key !== '') await page.keyboard.press(key);
      expect(await shown(), key).toBeGreaterThanOrEqual(whole);
      expect(await shown(), key).toBeLessThanOrEqual(whole + 1);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has the signals that are ticked, and no others: the last one cannot be taken away', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    const boxes = page.locator('.channels input');
    const ticked = (): Promise<boolean[]> => boxes.evaluateAll((all) => all.map((box) => (box as HTMLInputElement).checked));
    expect(await ticked()).toEqual([true, true]);
    await boxes.first().click();
    await boxes.last().click();
    expect(await ticked()).toEqual([false, true]);
    expect(page.url()).toMatch(/channels=ecg\.v5$/);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('is dragged by one finger again after it was replaced under another', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const session = await page.context().newCDPSession(page);
    const strip = page.locator('canvas.strip');
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', x: number): Promise<void> => {
      const box = (await strip.boundingBox())!;
      const touchPoints = type === 'touchEnd' ? [] : [{ x: box.x + box.width / 2 + x, y: box.y + box.height / 2, id: 0 }];
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await strip.scrollIntoViewIfNeeded();
    await touch('touchStart', 60);
    await touch('touchMove', 30);
    // Its provider is set anew, as after a sign-in.
    await page.evaluate(() => {
      const provider = document.querySelector('bio-provider')!;
      const { parentElement: parent, nextSibling: next } = provider;
      provider.remove();
      parent!.insertBefore(provider, next);
    });
    await page.locator('bio-recording[data-state=ready] canvas.strip').waitFor({ state: 'attached' });
    // Its finger goes up elsewhere.
    await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x: 5, y: 5, id: 0 }] });
    await touch('touchEnd', 0);
    await strip.scrollIntoViewIfNeeded();
    await page
      .locator('bio-recording')
      .evaluate((viewer: HTMLElement & { moveTo: (at: string) => void }, to) => viewer.moveTo(to), at(300));
    await until(async () => Math.abs((await shownSec(page)) - 300) < 0.1);
    await touch('touchStart', 60);
    for (const x of [30, 0, -34.5]) await touch('touchMove', x); // 1 s at 25 mm/s
    await touch('touchEnd', 0);
    await until(async () => Math.abs((await shownSec(page)) - 301) < 0.1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('stays where it is when a page asks for a time that is none', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => {
      const { moveTo, showPick } = viewer as unknown as Record<'moveTo' | 'showPick', (...of: unknown[]) => void>;
      moveTo.call(viewer, 'soon');
      showPick.call(viewer, '', null);
    });
    await page.locator('bio-recording').evaluate((element: HTMLElement) => element.focus());
    await page.keyboard.press('.');
    await until(async () => Math.abs((await shownSec(page)) - 200.01) < 0.005);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('does not tell of another recording where one was a moment ago', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    const devices = await dashboard.send<{ stream_id: string }[]>('GET', '/api/v1/devices');
    const other = devices.find(({ stream_id: id }) => id !== stream)!.stream_id;
    await page.route(`**/api/v1/streams/${other}`, async (route) => {
      await sleep(600);
      await route.continue();
    });
    const told: string[] = [];
    await page.exposeFunction('tellTest', (place: string) => told.push(place));
    await page.locator('bio-recording').evaluate(
      (viewer: HTMLElement & { moveTo: (at: string) => void }, [to, id]) => {
        const { tellTest } = globalThis as unknown as { tellTest: (place: string) => void };
        viewer.addEventListener('bio:recording-view', (event) => tellTest((event as CustomEvent<{ at: string }>).detail.at));
        viewer.moveTo(to!);
        viewer.setAttribute('stream', id!);
      },
      [at(300), other],
    );
    await sleep(1000);
    expect(told).not.toContain(at(300));
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
