/** Everything that a person can do with a chart, in a real Chromium under a strict policy: zoom and pan by mouse, wheel, keys and
 *  fingers, other ranges, comparison, downloads, points. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import type { WebBuild } from '../../scripts/build-web.ts';
import { fixtureToken, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture } from '../helpers/browser-fixture.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { violations } from '../helpers/dashboard.ts';
import { detailOf, serveWidgetAnswers, widgetPage } from '../helpers/widget-answers.ts';

const HOUR_MS = 3_600_000;
const FROM_MS = Date.UTC(2026, 2, 28, 6);
const TO_MS = Date.UTC(2026, 2, 28, 18);
/** Twelve hours of a day in March. */
const fixed = `biosignals="HR" from="${new Date(FROM_MS).toISOString()}" to="${new Date(TO_MS).toISOString()}"`;

let folder: string;
let built: WebBuild;
let fixture: Fixture;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  built = await buildWeb(folder);
  if (chromiumPath === null) return;
  fixture = await startFixture(folder);
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
  await rm(folder, { recursive: true, force: true });
});

type Asked = { subject_id: string; range: { from: string; to: string }; resolution?: string; series: { agg?: string }[] };
type Span = Readonly<{ fromMs: number; toMs: number }>;

beforeEach(() => {
  if (fixture === undefined) return;
  serveWidgetAnswers(fixture, { mode: 'ready', word: null });
  const day = { window_count: 280, coverage: 0.97, sdnn_ms: 142, sdann_ms: 120, sdnn_index_ms: 60, night_hr: 54.2, day_hr: 71.5 };
  fixture.on('GET', '/api/v1/day-variability', ({ url }) => {
    const date = url.searchParams.get('date');
    const [from, until] = [`${date}T00:00:00Z`, `${date}T23:59:00Z`];
    return { json: [{ device_id: 'band-17', date, from, until, ...day, dip_percent: 24.2, resting_hr: 51.3 }] };
  });
  fixture.requests.length = 0;
});

/** Ranges of charts that were asked for, in order. */
const asked = (): Asked[] => fixture.requests.filter(({ path }) => path === '/api/v1/charts/query').map(({ body }) => body as Asked);
const spanOf = ({ range }: Asked): Span => ({ fromMs: Date.parse(range.from), toMs: Date.parse(range.to) });
const newest = (): Span => spanOf(asked().at(-1)!);

/** So many ranges were asked for, and the last one is drawn: each is drawn on canvases of its own. */
async function untilDrawn(chart: Locator, count: number): Promise<void> {
  await expect.poll(() => asked().length).toBe(count);
  await chart.locator('canvas:not([data-seen])').first().waitFor();
  await markSeen(chart);
}

const markSeen = (chart: Locator): Promise<void> =>
  chart.locator('canvas').evaluateAll((all) => {
    for (const canvas of all as HTMLElement[]) canvas.dataset['seen'] = '';
  });

type Looks = Readonly<{ context?: BrowserContextOptions; page?: Partial<Parameters<typeof widgetPage>[0]>; tz?: string }>;

async function open(elements: readonly string[], { context = {}, page: more = {}, tz = 'UTC' }: Looks = {}) {
  const body = elements.map((attributes) => `<bio-trend-chart ${attributes}></bio-trend-chart>`).join('');
  const attributes = `sdk-key="sdk_test" tz="${tz}" xuser-token="${fixtureToken()}"`;
  fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body, ...more }) });
  const page = await (await browser.newContext({ viewport: { width: 1000, height: 900 }, ...context })).newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.addInitScript(() => {
    const events = ((globalThis as unknown as { events: object[] }).events = []) as object[];
    for (const name of ['bio:range', 'bio:point'])
      document.addEventListener(name, (event) => events.push({ name, ...(event as CustomEvent<object>).detail }));
  });
  const loaded = page.waitForResponse((response) => response.url().endsWith('/bio-chart.js'));
  await page.goto(`${fixture.origin}/page`);
  const chart = page.locator('bio-trend-chart').first();
  await chart.locator('canvas').first().waitFor();
  // Without controls what moves is fetched when the pointer comes near.
  await chart.locator('.title').hover();
  await loaded;
  await expect.poll(() => chart.evaluate((element) => element.shadowRoot!.adoptedStyleSheets.length)).toBe(3);
  await markSeen(chart);
  return { page, chart, errors, close: () => page.context().close() };
}

const events = (page: Page): Promise<Record<string, unknown>[]> =>
  page.evaluate(() => (globalThis as unknown as { events: Record<string, unknown>[] }).events);

/** A place in the first plot. @param share 0: its left edge */
async function placeIn(chart: Locator, share: number): Promise<{ x: number; y: number }> {
  const box = (await chart.locator('.u-over').first().boundingBox())!;
  return { x: box.x + share * box.width, y: box.y + box.height / 2 };
}

async function drag(page: Page, chart: Locator, from: number, to: number): Promise<void> {
  const [a, b] = [await placeIn(chart, from), await placeIn(chart, to)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, a.y, { steps: 2 });
  await page.mouse.move(b.x, b.y);
  await page.mouse.up();
}

it('has a bundle of its own for what moves, of at most 11 kB (brotli)', () => {
  expect(built.files['bio-chart.js']!.brotliBytes).toBeLessThanOrEqual(11_000);
});

describe.skipIf(chromiumPath === null)('a chart', () => {
  it('zooms by a drag and by the wheel, moves with Shift, and goes back by a double click', async () => {
    const { page, chart, errors, close } = await open([fixed]);
    expect(newest()).toEqual({ fromMs: FROM_MS, toMs: TO_MS });

    await drag(page, chart, 0.25, 0.5);
    await untilDrawn(chart, 2);
    const zoomed = newest();
    expect(Math.abs(zoomed.fromMs - (FROM_MS + 3 * HOUR_MS))).toBeLessThan(60_000);
    expect(Math.abs(zoomed.toMs - (FROM_MS + 6 * HOUR_MS))).toBeLessThan(60_000);
    expect((await events(page)).at(-1)).toEqual({ name: 'bio:range', range: null, ...asked()[1]!.range });

    await page.keyboard.down('Shift');
    await drag(page, chart, 0.5, 0.75); // to the right: to what was before
    await page.keyboard.up('Shift');
    await untilDrawn(chart, 3);
    expect(Math.abs(newest().fromMs - (zoomed.fromMs - 0.75 * HOUR_MS))).toBeLessThan(60_000);
    expect(Math.abs(newest().toMs - newest().fromMs - (zoomed.toMs - zoomed.fromMs))).toBeLessThan(10);

    const { x, y } = await placeIn(chart, 0.5);
    await page.mouse.dblclick(x, y);
    await untilDrawn(chart, 4);
    expect(newest()).toEqual(zoomed);
    await page.mouse.dblclick(x, y);
    await untilDrawn(chart, 5);
    expect(newest()).toEqual({ fromMs: FROM_MS, toMs: TO_MS });

    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await untilDrawn(chart, 6);
    const wheeled = newest();
    expect(wheeled.toMs - wheeled.fromMs).toBeLessThan(8 * HOUR_MS);
    // What the pointer is on stays there.
    expect(Math.abs((wheeled.fromMs + wheeled.toMs) / 2 - (FROM_MS + TO_MS) / 2)).toBeLessThan(120_000);
    expect(errors).toEqual([]);
    await close();
  });

  it('leaves the wheel to the page, unless it has the focus or Ctrl is held', async () => {
    const { page, chart, close } = await open([fixed], { context: { viewport: { width: 1000, height: 300 } } });
    const { x, y } = await placeIn(chart, 0.5);
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, 120);
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(0);
    const scrolled = await page.evaluate(() => scrollY);
    await chart.locator('.stack').focus();
    const again = await placeIn(chart, 0.5);
    await page.mouse.move(again.x, again.y);
    await page.mouse.wheel(0, 120);
    await untilDrawn(chart, 2);
    expect(newest().toMs - newest().fromMs).toBeGreaterThan(12 * HOUR_MS);
    expect(await page.evaluate(() => scrollY)).toBe(scrolled);
    await close();
  });

  it('is moved by the keyboard alone, and reads with it', async () => {
    const { page, chart, errors, close } = await open([`${fixed} points`]);
    fixture.on('GET', '/api/v1/streams', { json: [{ id: '0b5c', channels: [{ code: 'ecg.I' }] }] });
    await chart.locator('.stack').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await events(page)).at(-1)).toMatchObject({ name: 'bio:point', biosignal: 'HR', stream_id: '0b5c' });
    const { time } = (await events(page)).at(-1) as { time: string };
    expect(TO_MS - Date.parse(time)).toBeLessThan(HOUR_MS);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('+');
    await untilDrawn(chart, 2);
    expect(newest().toMs - newest().fromMs).toBe(6 * HOUR_MS);
    const { fromMs } = newest();
    await page.keyboard.press('Shift+ArrowLeft');
    await untilDrawn(chart, 3);
    expect(newest().fromMs).toBe(fromMs - 1.5 * HOUR_MS);
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await expect.poll(newest).toEqual({ fromMs: FROM_MS, toMs: TO_MS });
    await page.keyboard.press('-');
    await expect.poll(() => newest().toMs - newest().fromMs).toBe(24 * HOUR_MS);
    expect(errors).toEqual([]);
    await close();
  });

  it('is zoomed by two fingers, moved by one, and scrolled past by one that goes up', async () => {
    const { page, chart, close } = await open([fixed], {
      context: { viewport: { width: 390, height: 600 }, hasTouch: true, isMobile: true },
    });
    const session = await page.context().newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...shares: number[]): Promise<void> => {
      const touchPoints = await Promise.all(shares.map(async (share, id) => ({ ...(await placeIn(chart, share)), id })));
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart', 0.4, 0.6);
    await touch('touchMove', 0.3, 0.7);
    await touch('touchMove', 0.2, 0.8);
    await touch('touchEnd');
    await untilDrawn(chart, 2);
    expect((newest().toMs - newest().fromMs) / HOUR_MS).toBeCloseTo(4, 0);
    const { fromMs } = newest();
    await touch('touchStart', 0.3);
    await touch('touchMove', 0.4);
    await touch('touchMove', 0.55);
    await touch('touchEnd');
    await untilDrawn(chart, 3);
    expect(fromMs - newest().fromMs).toBeGreaterThan(0.5 * HOUR_MS);
    expect(await chart.locator('.plot').evaluate((plot) => getComputedStyle(plot).touchAction)).toBe('pan-y');
    await close();
  });

  it('stands where it stood when a finger that began aslant scrolls the page past it', async () => {
    const looks = { viewport: { width: 390, height: 600 }, hasTouch: true };
    const { page, chart, errors, close } = await open([fixed, fixed], { context: looks });
    await page.mouse.move(1, 1);
    const picture = (): Promise<string> => chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    const before = await picture();
    const session = await page.context().newCDPSession(page);
    const { x, y } = await placeIn(chart, 0.5);
    await chart.evaluate((element) => {
      element.addEventListener('pointercancel', () => (element.dataset['cancelled'] = ''));
    });
    await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
    for (const [right, up] of [
      [6, 3],
      [10, 8],
      [12, 40],
      [14, 90],
      [14, 140],
    ] as const) {
      await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x: x + right, y: y - up }] });
      await page.waitForTimeout(30);
    }
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(50);
    expect(await chart.getAttribute('data-cancelled')).toBe('');
    expect(await picture()).toBe(before);
    expect(asked()).toHaveLength(2);
    expect(errors).toEqual([]);
    await close();
  });

  it('goes on with a drag, by mouse and by finger, when an answer comes meanwhile', async () => {
    fixture.on('GET', '/api/v1/streams', { json: [] });
    const { page, chart, errors, close } = await open(['biosignals="HR" range="12h" refresh="2s"'], { context: { hasTouch: true } });
    const answered = async (): Promise<void> => {
      const before = asked().length;
      await expect.poll(() => asked().length).toBeGreaterThan(before);
      await chart.locator('canvas:not([data-seen])').first().waitFor();
    };
    const share = ({ fromMs, toMs }: Span): number => (toMs - fromMs) / (12 * HOUR_MS);
    const [from, to] = [await placeIn(chart, 0.25), await placeIn(chart, 0.75)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 40, from.y, { steps: 2 });
    await answered();
    await page.mouse.move(to.x, to.y, { steps: 2 });
    expect(await chart.locator('.sel').count()).toBe(1);
    await page.mouse.up();
    await expect.poll(async () => (await events(page)).length).toBe(1);
    await expect.poll(() => Math.abs(share(newest()) - 0.5)).toBeLessThan(0.02);
    const [chosen] = await events(page);
    await chart.getByRole('button', { name: '24' }).click();
    await markSeen(chart);
    await answered();
    const session = await page.context().newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...shares: number[]): Promise<void> => {
      const touchPoints = await Promise.all(shares.map(async (at, id) => ({ ...(await placeIn(chart, at)), id })));
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart', 0.3);
    await touch('touchMove', 0.4);
    await markSeen(chart);
    await answered();
    await touch('touchMove', 0.5);
    await touch('touchMove', 0.55);
    await touch('touchEnd');
    await expect.poll(async () => (await events(page)).length).toBe(3);
    const moved = (await events(page)).at(-1) as { from: string; to: string };
    expect(Math.abs((Date.now() - Date.parse(moved.to)) / HOUR_MS - 6)).toBeLessThan(0.5); // by a quarter of a day
    expect(Math.abs((Date.parse(moved.to) - Date.parse(moved.from)) / HOUR_MS - 24)).toBeLessThan(0.1);
    expect(chosen).toMatchObject({ name: 'bio:range', range: null });
    expect(errors).toEqual([]);
    await close();
  });

  it('looks for the newest data, however long ago; says when there are none, or when it cannot say', async () => {
    const newestMs = Date.UTC(2025, 2, 3, 14, 7);
    let is: 'there' | 'none' | 'failed' = 'failed';
    fixture.on('POST', '/api/v1/charts/query', ({ body }) => {
      const { range, resolution } = body as Asked;
      const stepMs = resolution === '1d' ? 24 * HOUR_MS : 60_000;
      const ms = Math.floor(newestMs / stepMs) * stepMs;
      if (resolution !== undefined && is === 'failed') return { status: 500, json: { code: 'internal', status: 500 } };
      const isThere = is === 'there' && Date.parse(range.from) <= ms && Date.parse(range.to) > ms;
      const [data, qmask] = isThere ? [[[ms, 61]], [[0]]] : [[], []];
      return { json: { range, resolution: '1m', values: [{ agg: 'mean' }], data, qmask, detail: detailOf(data, qmask) } };
    });
    fixture.on('GET', '/api/v1/observations', { json: [] });
    const { page, chart, errors, close } = await open(['biosignals="HR" range="24h"']);
    await chart.getByRole('button', { name: 'Newest data' }).click();
    await chart.getByText('The search failed').waitFor();
    is = 'none';
    await chart.getByRole('button', { name: 'Newest data' }).click();
    await chart.getByText('No data, at no other time either').waitFor();
    is = 'there';
    await chart.getByRole('button', { name: 'Newest data' }).click();
    await chart.locator('.legend').waitFor();
    expect(newest()).toEqual({ fromMs: newestMs - 4 * 60_000, toMs: newestMs + 60_000 }); // of one minute, five are shown
    expect(await chart.getByText('No data in this period').count()).toBe(0);
    expect(await violations(page, 'main')).toEqual([]);
    expect(errors.filter((error) => !error.includes('500'))).toEqual([]);
    await close();
  });

  it('tells a click on a point from a double click and from a drag', async () => {
    fixture.on('GET', '/api/v1/streams', { json: [] });
    const { page, chart, close } = await open([`${fixed} points`]);
    const { x, y } = await placeIn(chart, 0.5);
    await drag(page, chart, 0.4, 0.6);
    await untilDrawn(chart, 2);
    await page.mouse.dblclick(x, y);
    await untilDrawn(chart, 3);
    expect((await events(page)).filter(({ name }) => name === 'bio:point')).toEqual([]);
    await page.mouse.move(x - 9, y);
    await page.mouse.click(x, y);
    await expect.poll(async () => (await events(page)).at(-1)).toMatchObject({ name: 'bio:point', stream_id: null });
    await close();
  });

  it('knows nothing more of a person when it is of another one: their nights are closed', async () => {
    const { page, chart, errors, close } = await open([`${fixed} tools`]);
    const nights = chart.getByRole('button', { name: 'Rest and nights' });
    await nights.click();
    await chart.getByText('band-17').first().waitFor();
    fixture.on('GET', '/api/v1/day-variability', { json: [] });
    const token = fixtureToken({ sub: 'someone-else' });
    await page.evaluate((value) => document.querySelector('bio-provider')!.setAttribute('xuser-token', value), token);
    await untilDrawn(chart, 2);
    expect(asked()[1]!.subject_id).toBe('someone-else');
    expect(await chart.getByText('band-17').count()).toBe(0);
    await nights.click();
    await expect.poll(() => nights.getAttribute('aria-expanded')).toBe('true');
    expect(errors).toEqual([]);
    await close();
  });

  it('goes to the day before and after by the clock, where a day has 23 hours', async () => {
    const { page, chart, errors, close } = await open(['biosignals="HR" from="2026-03-29" to="2026-03-29" tools'], { tz: 'Europe/Berlin' });
    expect(asked()[0]!.range).toEqual({ from: '2026-03-28T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' });
    await chart.getByRole('button', { name: 'Earlier' }).click();
    await untilDrawn(chart, 2);
    expect(asked()[1]!.range).toEqual({ from: '2026-03-27T23:00:00.000Z', to: '2026-03-28T23:00:00.000Z' });
    await chart.getByRole('button', { name: 'Later' }).click();
    await chart.getByRole('button', { name: 'Later' }).click();
    await expect.poll(() => asked().at(-1)!.range).toEqual({ from: '2026-03-29T22:00:00.000Z', to: '2026-03-30T22:00:00.000Z' });
    await chart.getByLabel('From').fill('2026-10-25');
    await chart.getByLabel('To').fill('2026-10-25');
    await chart.getByRole('button', { name: 'Show', exact: true }).click();
    await expect.poll(() => asked().at(-1)!.range).toEqual({ from: '2026-10-24T22:00:00.000Z', to: '2026-10-25T23:00:00.000Z' });
    expect(errors).toEqual([]);
    await page.close();
    await close();
  });

  it('shows the days that are drawn, whichever way round they were typed', async () => {
    const { page, chart, close } = await open(['biosignals="HR" from="2026-03-02" to="2026-03-05" tools'], { tz: 'Europe/Berlin' });
    const [from, to] = [chart.getByLabel('From'), chart.getByLabel('To')];
    const fields = async (): Promise<string[]> => [await from.inputValue(), await to.inputValue()];
    for (const [first, last] of [
      ['2026-03-02', '2026-03-05'], // as before, so that nothing is set anew
      ['2026-03-01', '2026-03-04'],
      ['2031-03-01', '2031-03-04'], // later than today
    ] as const) {
      await from.fill(last);
      await to.fill(first);
      await chart.getByRole('button', { name: 'Show', exact: true }).click();
      await expect.poll(() => asked().at(-1)!.range.from.slice(0, 4)).toBe(first.slice(0, 4));
      await expect.poll(fields).toEqual([first, last]);
    }
    await page.close();
    await close();
  });

  it('leaves what is being typed as it is when an answer comes', async () => {
    const { page, chart, close } = await open(['biosignals="HR" from="2026-03-02" to="2026-03-05" tools'], { tz: 'Europe/Berlin' });
    const [from, to] = [chart.getByLabel('From'), chart.getByLabel('To')];
    const held: (() => void)[] = [];
    await page.route('**/api/v1/charts/query', async (route) => {
      await new Promise<void>((go) => held.push(go));
      await route.continue();
    });
    await chart.getByRole('button', { name: 'Earlier' }).click();
    await expect.poll(() => held.length).toBe(1);
    await from.fill('2026-02-10');
    await to.fill('2026-02-12');
    held.forEach((go) => go());
    await untilDrawn(chart, 2);
    expect([await from.inputValue(), await to.inputValue()]).toEqual(['2026-02-10', '2026-02-12']);
    await page.unroute('**/api/v1/charts/query');
    await chart.getByRole('button', { name: 'Show', exact: true }).click();
    await untilDrawn(chart, 3);
    expect(asked()[2]!.range).toEqual({ from: '2026-02-09T23:00:00.000Z', to: '2026-02-12T23:00:00.000Z' });
    // What was shown is as it is drawn, and follows the next step.
    await chart.getByRole('button', { name: 'Earlier' }).click();
    await untilDrawn(chart, 4);
    await expect.poll(async () => [await from.inputValue(), await to.inputValue()]).toEqual(['2026-02-07', '2026-02-09']);
    // So do dates that were typed and left.
    await from.fill('2026-01-01');
    await chart.getByRole('button', { name: 'Later' }).click();
    await untilDrawn(chart, 5);
    await expect.poll(async () => [await from.inputValue(), await to.inputValue()]).toEqual(['2026-02-10', '2026-02-12']);
    await page.close();
    await close();
  });

  it('draws steps and sleep as a bar for each day, and says which day', async () => {
    const days = ['2026-03-27T23:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z'].map((time) => Date.parse(time));
    const answer = { values: [{ agg: 'sum' }], data: days.map((ms, i) => [ms, 4000 + 1000 * i]), qmask: days.map(() => [0]) };
    fixture.on('POST', '/api/v1/charts/query', { json: answer });
    const { page, chart, close } = await open(['biosignals="STEPS" from="2026-03-28" to="2026-03-30"'], { tz: 'Europe/Berlin' });
    expect(asked()[0]).toMatchObject({ resolution: '1d', series: [{ agg: 'sum' }], range: { from: '2026-03-27T23:00:00.000Z' } });
    // Late in the evening of the second day, the day is still the second.
    const { x, y } = await placeIn(chart, 0.64);
    await page.mouse.move(x, y);
    await expect.poll(() => chart.locator('.readout').textContent()).toMatch(/Mar 29, 2026.*5,000/s);
    const ink = await chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext('2d')!.getImageData(Math.round(canvas.width * 0.55), Math.round(canvas.height * 0.7), 1, 1);
      return data[3]!;
    });
    expect(ink).toBe(255); // inside a bar, far from any line
    await close();
  });

  it('compares with the period before and with another person, on the same axis', async () => {
    const other = '11111111-2222-4333-8444-555555555555';
    const { chart, errors, close } = await open([`${fixed} tools`]);
    await chart.getByLabel('Compare with').selectOption('the day before');
    await expect.poll(() => asked().length).toBe(3);
    const spans = asked()
      .slice(1)
      .map(spanOf)
      .toSorted((a, b) => a.fromMs - b.fromMs);
    expect(spans).toEqual([
      { fromMs: FROM_MS - 24 * HOUR_MS, toMs: TO_MS - 24 * HOUR_MS },
      { fromMs: FROM_MS, toMs: TO_MS },
    ]);
    await chart.getByText('Heart rate, the day before').waitFor();
    expect(await chart.getByRole('heading').textContent()).toBe('Heart rate');
    await chart.evaluate((element, id) => {
      element.setAttribute('compare-name', 'Bert');
      element.setAttribute('compare', id);
    }, other);
    await chart.getByText('Heart rate, Bert').waitFor();
    expect(
      asked()
        .slice(-2)
        .map(({ subject_id: id }) => id),
    ).toContain(other);
    expect(errors).toEqual([]);
    await close();
  });

  it('names the newest value of each line: of what is counted, both as the sum of the day', async () => {
    const MINUTES = 15;
    fixture.on('POST', '/api/v1/charts/query', ({ body }) => {
      const { range, resolution } = body as Asked;
      const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
      const isCompared = to < Date.now() - 12 * HOUR_MS;
      // Of today: 4,000 by one row of its day.
      if (resolution === '1d') return { json: { resolution: 'P1D', values: [{ agg: 'sum' }], data: [[to - HOUR_MS, 4000]], qmask: [[0]] } };
      const step = MINUTES * 60_000;
      const first = Math.ceil(from / step) * step;
      const data = Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, i) => [first + i * step, isCompared ? 20 : 50]);
      return { json: { resolution: 'PT15M', values: [{ agg: 'sum' }], data, qmask: data.map(() => [0]) } };
    });
    // In a zone in which it is about noon.
    const offset = 12 - new Date().getUTCHours();
    const zone = `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`;
    const { chart, errors, close } = await open(['biosignals="STEPS" range="24h" tools compare="1d"'], { tz: zone });
    const values = (): Promise<string[]> => chart.locator('.legend [part=value]').allTextContents();
    await expect.poll(async () => (await values())[0]).toBe('4,000');
    const rows = Math.floor(((Date.now() + offset * HOUR_MS) % (24 * HOUR_MS)) / (MINUTES * 60_000)) + 1;
    const [, compared] = (await values()).map((text) => Number(text.replaceAll(',', '')));
    // A quarter of an hour may begin meanwhile.
    expect([20 * rows, 20 * (rows + 1), 20 * (rows - 1)]).toContain(compared);
    expect(errors).toEqual([]);
    await close();
  });

  it('marks suspect values of what it compares with', async () => {
    const other = '11111111-2222-4333-8444-555555555555';
    fixture.on('POST', '/api/v1/charts/query', ({ body }) => {
      const { subject_id: id, range } = body as Asked;
      const compared = id === other ? 1 : 0;
      const data = Array.from({ length: 60 }, (_, i) => [Date.parse(range.from) + i * 720_000, 70 + 20 * compared]);
      const qmask = data.map(() => [compared]);
      const methods = ['derived:hr_ecg_v11', 'derived:hr_ecg_v10'].slice(compared);
      const values = [{ agg: 'mean', method_codes: methods }];
      return { json: { range, resolution: 'PT12M', values, data, qmask, detail: detailOf(data, qmask) } };
    });
    const { page, chart, errors, close } = await open([`${fixed} tools compare="${other}" compare-name="Bert"`]);
    await chart.locator('.legend').getByText('Heart rate, Bert').waitFor();
    /** Pixels of the colour of what is suspect, above the ribbon. */
    const marked = (): Promise<number> =>
      chart.evaluate((element) => {
        const root = element.shadowRoot!;
        const probe = document.createElement('span');
        probe.style.color = 'var(--_suspect)';
        root.append(probe);
        const color = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
        probe.remove();
        const canvas = root.querySelector('canvas')!;
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, Math.round(canvas.height * 0.6));
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3]! > 200 && color.slice(0, 3).every((part, k) => Math.abs(data[i + k]! - part) < 12)) count++;
        return count;
      });
    await expect.poll(marked).toBeGreaterThan(100);
    // Of which versions the values are is said where there are several.
    await expect.poll(() => chart.getByText('derived:').allTextContents()).toEqual(['derived:hr_ecg_v11, derived:hr_ecg_v10']);
    // A picture says so, too, and what the triangles are: it is looked at without this page.
    const [file] = await Promise.all([page.waitForEvent('download'), chart.getByRole('button', { name: 'Download SVG' }).click()]);
    const picture = (await readFile(await file.path())).toString();
    expect(picture).toContain('Heart rate (/min), hr_ecg_v11 hr_ecg_v10<');
    expect(picture).toContain('triangle: suspect value');
    const [table] = await Promise.all([page.waitForEvent('download'), chart.getByRole('button', { name: 'Download CSV' }).click()]);
    const [head, first] = (await readFile(await table.path())).toString().split('\r\n');
    expect(head).toMatch(/Heart rate good share,Heart rate method,.*Heart rate, Bert method"$/);
    expect(first).toMatch(/,good,[\d.]+,hr_ecg_v11 hr_ecg_v10,.*,hr_ecg_v10$/);
    expect(errors).toEqual([]);
    await close();
  });

  it('shares its cursor with charts of the same link', async () => {
    const { page, chart, close } = await open([`${fixed} link="a"`, `${fixed.replace('HR', 'TEMP')} link="a"`, `${fixed} link="b"`]);
    const readouts = (): Promise<string[]> =>
      page
        .locator('bio-trend-chart')
        .evaluateAll((charts) => charts.map((item) => item.shadowRoot!.querySelector('.readout')!.textContent!));
    const { x, y } = await placeIn(chart, 0.5);
    await expect
      .poll(async () => {
        await page.mouse.move(x, y - 5);
        await page.mouse.move(x, y);
        return (await readouts())[1];
      })
      .toMatch(/Skin temperature/);
    const [first, second, third] = await readouts();
    expect(second!.split('Skin')[0]!.trim()).toBe(first!.split('Heart')[0]!.trim());
    expect(third).toMatch(/Point at the chart/);
    await close();
  });

  it('is taken along as numbers and as pictures', async () => {
    const { page, chart, errors, close } = await open([`${fixed} tools heading="Heart, =rate"`], { tz: 'Europe/Berlin' });
    const download = async (kind: string): Promise<{ name: string; bytes: Buffer }> => {
      const [file] = await Promise.all([page.waitForEvent('download'), chart.getByRole('button', { name: `Download ${kind}` }).click()]);
      return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
    };
    const csv = await download('CSV');
    expect(csv.name).toBe('Heart-rate_2026-03-28.csv');
    const lines = csv.bytes.toString().trimEnd().split('\r\n');
    expect(lines[0]).toBe(
      'time,Heart rate (/min),Heart rate (/min) min,Heart rate (/min) max,Heart rate quality,Heart rate good share,Heart rate method',
    );
    expect(lines[1]).toMatch(/^2026-03-28T07:00:00\+01:00,[\d.]+,[\d.]+,[\d.]+,good,1,$/); // a service that does not say the method
    expect(lines.filter((line) => line.includes(',unusable,0.056,') || /,,,,unusable,/.test(line))).toHaveLength(5);
    // A table has no picture to take along.
    await chart.getByRole('button', { name: 'Show as table' }).click();
    await expect.poll(() => chart.getByRole('button', { name: 'Download SVG' }).isDisabled()).toBe(true);
    expect(await chart.getByRole('button', { name: 'Download PNG' }).isDisabled()).toBe(true);
    expect((await download('CSV')).bytes.equals(csv.bytes)).toBe(true);
    await chart.getByRole('button', { name: 'Show as chart' }).click();
    const png = await download('PNG');
    expect([png.name, png.bytes.subarray(1, 4).toString()]).toEqual(['Heart-rate_2026-03-28.png', 'PNG']);
    const svg = (await download('SVG')).bytes.toString();
    const plain = await browser.newPage();
    const drawn = await plain.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
      return [
        parsed.querySelector('parsererror') === null,
        parsed.querySelectorAll('path').length,
        parsed.documentElement.textContent,
      ] as const;
    }, svg);
    await plain.close();
    expect(drawn[0]).toBe(true);
    expect(drawn[1]).toBeGreaterThan(5);
    expect(drawn[2]).toContain('Heart, =rate');
    expect(errors).toEqual([]);
    await close();
  });

  it.each([
    ['light', {}],
    ['dark', { context: { colorScheme: 'dark' } }],
    ['forced colours', { context: { forcedColors: 'active' } }],
    ['right to left', { page: { dir: 'rtl', lang: 'ar' } }],
    ['German at 390 px', { context: { viewport: { width: 390, height: 800 } }, page: { lang: 'de' } }],
  ] as [string, Looks][])('has no axe violation and no sideways scrolling with everything open: %s', async (_, looks) => {
    const { page, chart, errors, close } = await open([`${fixed} tools points compare="7d"`], looks);
    await chart.locator('[aria-expanded]').click();
    await chart.getByText('band-17').first().waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(errors).toEqual([]);
    await close();
  });

  it('of some seconds says them: in its range, where a value is read, on its axis and in what is taken along', async () => {
    const [fromMs, toMs] = [FROM_MS + 10_000, FROM_MS + 20_000];
    fixture.on('POST', '/api/v1/charts/query', ({ body }) => {
      const { range } = body as Asked;
      const [data, qmask] = [[[fromMs + 4000, 61]], [[0]]]; // one alone: there is no step between two
      return { json: { range, resolution: null, values: [{ agg: 'mean' }], data, qmask, detail: detailOf(data, qmask) } };
    });
    const of = `biosignals="HR" from="${new Date(fromMs).toISOString()}" to="${new Date(toMs).toISOString()}"`;
    const { page, chart, errors, close } = await open([`${of} tools`]);
    await chart.getByText(/ 6:00:10.* – .* 6:00:20/).waitFor();
    await chart.locator('.stack').focus();
    await page.keyboard.press('End');
    await expect.poll(() => chart.locator('.readout').textContent()).toContain(' 6:00:14');
    const [file] = await Promise.all([page.waitForEvent('download'), chart.getByRole('button', { name: /SVG/ }).click()]);
    const svg = (await readFile(await file.path())).toString();
    expect(svg).toMatch(/ 6:00:10.* – .* 6:00:20/);
    expect(svg).toMatch(/>6:00:1[1-9]/); // a tick
    expect(errors).toEqual([]);
    await close();
  });

  it('that is gone before it has loaded listens to nothing any more', async () => {
    const { page, errors, close } = await open([`${fixed} tools`]);
    await page.evaluate(() => {
      const counted = globalThis as unknown as { listening: number };
      counted.listening = 0;
      const [add, remove] = [document.addEventListener.bind(document), document.removeEventListener.bind(document)];
      document.addEventListener = (...args: Parameters<typeof add>): void => {
        counted.listening++;
        add(...args);
      };
      document.removeEventListener = (...args: Parameters<typeof remove>): void => {
        counted.listening--;
        remove(...args);
      };
      const first = document.querySelector('bio-trend-chart')!;
      for (let i = 0; i < 10; i++) {
        const other = first.cloneNode() as HTMLElement;
        first.after(other);
        other.remove();
      }
    });
    await sleep(500);
    expect(await page.evaluate(() => (globalThis as unknown as { listening: number }).listening)).toBe(0);
    expect(errors).toEqual([]);
    await close();
  });

  it('is still with `readonly`: no controls, no bundle, no zoom', async () => {
    fixture.on('GET', '/page', {
      html: widgetPage({
        origin: fixture.origin,
        attributes: `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`,
        body: `<bio-trend-chart ${fixed} readonly></bio-trend-chart>`,
      }),
    });
    const page = await browser.newPage();
    await page.goto(`${fixture.origin}/page`);
    const chart = page.locator('bio-trend-chart');
    await chart.locator('canvas').waitFor();
    await drag(page, chart, 0.2, 0.6);
    await chart.getByText('Heart rate:').waitFor();
    expect(fixture.requests.map(({ path }) => path)).not.toContain('/cdn/v1/bio-chart.js');
    expect(asked()).toHaveLength(1);
    await page.close();
  });

  it('says what is wrong with a time that is none', async () => {
    fixture.on('GET', '/page', {
      html: widgetPage({
        origin: fixture.origin,
        attributes: `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`,
        body: '<bio-trend-chart from="yesterday"></bio-trend-chart><bio-trend-chart from="2026-03-02" to="2026-03-01"></bio-trend-chart>',
      }),
    });
    const page = await browser.newPage();
    const warnings: string[] = [];
    page.on('console', (message) => warnings.push(message.text()));
    await page.goto(`${fixture.origin}/page`);
    await expect.poll(() => page.locator('bio-trend-chart[data-state=error]').count()).toBe(2);
    expect(warnings.join('\n')).toMatch(/from="yesterday" is not a time; write 2026-03-01/);
    expect(warnings.join('\n')).toMatch(/from is not before to/);
    await page.close();
  });
});
