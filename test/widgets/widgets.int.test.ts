/** Every widget in every state in a real Chromium, in a page with a strict content security policy: what is shown, that nothing breaks the
 *  policy, that axe finds nothing, and that hostile strings stay text. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import type { WebBuild } from '../../scripts/build-web.ts';
import { fixtureToken, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture } from '../helpers/browser-fixture.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { serveWidgetAnswers, widgetPage, widgetTags } from '../helpers/widget-answers.ts';
import type { Mode } from '../helpers/widget-answers.ts';

let folder: string;
let built: WebBuild;
let buildCpuMs: number;
let fixture: Fixture;
let browser: Browser;
let axe: string;
const state: { mode: Mode; word: string | null } = { mode: 'ready', word: null };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  const before = process.cpuUsage();
  built = await buildWeb(folder);
  const used = process.cpuUsage(before);
  buildCpuMs = (used.user + used.system) / 1000;
  axe = await readFile(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
  if (chromiumPath === null) return;
  fixture = await startFixture(folder);
  serveWidgetAnswers(fixture, state);
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
  await rm(folder, { recursive: true, force: true });
});

type Opened = { page: Page; errors: string[] };
/** One window for each way of looking; tests load their page in it, one after the other. */
const windows = new Map<string, Opened>();

async function open(
  options: Parameters<Browser['newPage']>[0] = {},
  page: Partial<Parameters<typeof widgetPage>[0]> = {},
): Promise<Opened> {
  const attributes = page.attributes ?? `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`;
  fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, ...page }) });
  const key = JSON.stringify(options);
  const window = windows.get(key) ?? (await openWindow(options));
  windows.set(key, window);
  window.errors.length = 0;
  await window.page.goto(`${fixture.origin}/page`);
  return window;
}

async function openWindow(options: Parameters<Browser['newPage']>[0]): Promise<Opened> {
  const opened = await browser.newPage({ viewport: { width: 1000, height: 900 }, ...options });
  const errors: string[] = [];
  opened.on('pageerror', (error) => errors.push(error.message));
  opened.on('console', (message) => {
    // The browser itself reports failed requests; those are the point of some states.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  return { page: opened, errors };
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate(async () => {
    const runner = (
      globalThis as unknown as {
        axe: { run: (node: Document, options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe;
    const { violations: found } = await runner.run(document, { resultTypes: ['violations'] });
    return found.map((item) => `${item.id}: ${item.nodes.map((node) => node.html).join(' ')}`);
  });
}

const statesOf = (page: Page): Promise<Record<string, string | undefined>> =>
  page.evaluate(
    (tags) => Object.fromEntries(tags.map((tag) => [tag, document.querySelector<HTMLElement>(tag)?.dataset['state']])),
    [...widgetTags],
  );

/** What a widget reaches when the service is in a mode. Forms have nothing that goes stale; a list of moods may be empty and still be
 *  ready. */
function expectedState(tag: string, mode: Mode): Mode {
  if (mode === 'stale' && !tag.startsWith('bio-trend')) return 'ready';
  if (mode === 'empty' && tag === 'bio-mood') return 'ready';
  return mode;
}

it('builds with less than 3 s of processor time', () => {
  expect(buildCpuMs).toBeLessThan(3000);
  expect(Object.keys(built.files).toSorted()).toEqual([
    'bio-chart.js',
    'bio-core.js',
    'bio-recording.js',
    'bio-widgets.css',
    'bio-widgets.js',
  ]);
});

it('keeps the bundles within their budgets: 14 kB core, 45 kB with charts, 60 kB for recordings (brotli)', () => {
  expect(built.files['bio-core.js']!.brotliBytes).toBeLessThanOrEqual(14_000);
  expect(built.files['bio-widgets.js']!.brotliBytes).toBeLessThanOrEqual(45_000);
  expect(built.files['bio-recording.js']!.brotliBytes).toBeLessThanOrEqual(60_000);
});

it('can be imported where there is no DOM', async () => {
  const { BioProvider } = await import('../../widgets/provider/provider.ts');
  const { BioTrendChart } = await import('../../widgets/trend-chart/trend-chart.ts');
  expect(typeof BioProvider).toBe('function');
  expect(typeof BioTrendChart).toBe('function');
});

describe.skipIf(chromiumPath === null)('in Chromium', () => {
  for (const mode of ['ready', 'loading', 'empty', 'stale', 'offline', 'error', 'unauthorized'] as const) {
    // promise: marks-in-words
    it(`shows the state ${mode}, without an axe violation`, async () => {
      state.mode = mode;
      const { page, errors } = await open();
      const expected = Object.fromEntries(widgetTags.map((tag) => [tag, expectedState(tag, mode)]));
      await expect.poll(() => statesOf(page)).toEqual(expected);
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
    });
  }

  for (const [name, options, page] of [
    ['dark', { colorScheme: 'dark' }, {}],
    ['forced colours', { forcedColors: 'active' }, {}],
    ['right to left', {}, { dir: 'rtl', lang: 'ar' }],
    ['German at 320 px', { viewport: { width: 320, height: 700 } }, { lang: 'de' }],
    ['French at 320 px', { viewport: { width: 320, height: 700 } }, { lang: 'fr' }],
    ['Spanish at 320 px', { viewport: { width: 320, height: 700 } }, { lang: 'es' }],
    ['Chinese, reduced motion', { reducedMotion: 'reduce' }, { lang: 'zh' }],
  ] as const) {
    it(`has no axe violation and no sideways scrolling: ${name}`, async () => {
      state.mode = 'ready';
      const { page: opened, errors } = await open(options, page);
      await expect.poll(async () => Object.values(await statesOf(opened))).toEqual(widgetTags.map(() => 'ready'));
      expect(await violations(opened)).toEqual([]);
      expect(await opened.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      expect(errors).toEqual([]);
    });
  }

  // promise: hostile-text
  it('renders hostile strings of every field as text', async () => {
    state.mode = 'ready';
    const hostile = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>${1}"\'`{{x}}';
    state.word = hostile;
    const { page, errors } = await open();
    await expect.poll(async () => Object.values(await statesOf(page))).toEqual(widgetTags.map(() => 'ready'));
    const found = await page.evaluate(
      ({ tags, word }) => ({
        images: tags.reduce((sum, tag) => sum + document.querySelector(tag)!.shadowRoot!.querySelectorAll('img, script').length, 0),
        shown: tags.filter((tag) => document.querySelector(tag)!.shadowRoot!.textContent!.includes(word)),
        hit: 'hit' in globalThis,
      }),
      { tags: [...widgetTags], word: hostile },
    );
    state.word = null;
    expect(found.hit).toBe(false);
    expect(found.images).toBe(0);
    // The progress ring shows its biosignal's name, the trend card and chart theirs, the rest what people and projects wrote.
    expect(found.shown.toSorted()).toEqual(widgetTags.toSorted());
    expect(errors).toEqual([]);
  });

  it('works when the script is on the page twice', async () => {
    state.mode = 'ready';
    const { page, errors } = await open({}, { scripts: 2 });
    await expect.poll(async () => Object.values(await statesOf(page))).toEqual(widgetTags.map(() => 'ready'));
    expect(errors).toEqual([]);
  });

  // promise: unusable-hidden, marks-in-words, good-share
  it('never shows an unusable value as a number, marks suspect ones, and offers the same numbers as a table', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0"></bio-trend-chart>' });
    const chart = page.locator('bio-trend-chart');
    await chart.getByText('Show as table').click();
    const cells = await chart
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!.trim())));
    const marked = (mark: string): string[][] => cells.filter((row) => row[2]!.startsWith(mark));
    expect(marked('Unusable').map((row) => row[1])).toEqual(['–', '–', '–', '–', '–']);
    expect(marked('Suspect').length).toBe(14);
    // With the least and the greatest value of the bucket, and how much of it is good where that is not all.
    expect(marked('Good').filter((row) => !/^\d+ \(\d+ – \d+\)$/.test(row[1]!))).toEqual([]);
    expect(cells.at(-1)![2]).toBe('Good 94%');
    expect(cells[0]![2]).toBe('Good 50%');
  });

  describe('tells the author of the page what is wrong', () => {
    const wrong = [
      'bio-trend-chart biosignals="HR,NOPE"',
      'bio-trend-card biosignals="NOPE"',
      'bio-progress-ring biosignals="NOPE"',
      'bio-health-metrics biosignals="NOPE"',
    ];
    const banana = ['bio-trend-chart', 'bio-trend-card', 'bio-progress-ring', 'bio-health-metrics'].map((tag) => `${tag} range="banana"`);

    async function openOwn(attributes: string, elements: readonly string[]): Promise<{ page: Page; warnings: string[] }> {
      state.mode = 'ready';
      const body = elements.map((element) => `<${element}></${element.split(' ')[0]}>`).join('');
      fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body }) });
      const page = await browser.newPage();
      const warnings: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'warning') warnings.push(message.text());
      });
      await page.clock.install();
      await page.goto(`${fixture.origin}/page`);
      return { page, warnings };
    }
    const states = (page: Page): Promise<string[]> =>
      page.evaluate(() => [...document.querySelectorAll<HTMLElement>('bio-provider > *')].map((item) => item.dataset['state'] ?? ''));
    const token = (): string => `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`;

    it('shows an error for an unknown biosignal, not an empty period; knows a feature by its name', async () => {
      const { page, warnings } = await openOwn(token(), [...wrong, 'bio-trend-card biosignals="hr_ecg"']);
      await expect.poll(() => states(page)).toEqual([...wrong.map(() => 'error'), 'ready']);
      for (const tag of ['bio-trend-chart', 'bio-trend-card', 'bio-progress-ring', 'bio-health-metrics']) {
        expect(
          warnings.filter((line) => line.startsWith(`${tag}: `) && line.includes('NOPE')),
          tag,
        ).toHaveLength(1);
      }
      await page.clock.runFor('05:00');
      expect(warnings).toHaveLength(4);
      await page.close();
    });

    it('shows an error for an invalid range, not another range', async () => {
      const { page, warnings } = await openOwn(token(), banana);
      await expect.poll(() => states(page)).toEqual(banana.map(() => 'error'));
      expect(warnings.filter((line) => /range="banana".*24h/.test(line))).toHaveLength(4);
      await page.close();
    });

    it('shows a refusal of the service once, in its own sentence', async () => {
      const detail = 'The origin https://clinic.example is not registered: PUT /api/v1/projects/{id}/origins.';
      fixture.on('POST', '/api/v1/charts/query', { status: 403, json: { status: 403, code: 'origin_forbidden', detail, request_id: 'r' } });
      const { page, warnings } = await openOwn(token(), ['bio-trend-card biosignals="HR"']);
      await expect.poll(() => states(page)).toEqual(['error']);
      await page.clock.runFor('05:00');
      expect(warnings).toEqual([`bio-trend-card: ${detail} (origin_forbidden)`]);
      await page.close();
      serveWidgetAnswers(fixture, state);
    });

    it('shows no endless skeleton when the token or its provider is missing', async () => {
      const { page, warnings } = await openOwn('', ['bio-trend-card', 'bio-mood']);
      await page.evaluate(() => document.querySelector('main')!.append(document.createElement('bio-trend-chart')));
      await page.clock.runFor('00:15');
      await expect.poll(() => states(page)).toEqual(['error', 'error']);
      expect(await page.locator('main > bio-trend-chart').getAttribute('data-state')).toBe('error');
      expect(await page.locator('.skeleton').count()).toBe(0);
      expect(warnings).toEqual([
        expect.stringMatching(/bio-provider.*xuser-token/),
        expect.stringMatching(/bio-trend-chart.*in a bio-provider/),
      ]);
      await page.evaluate((value) => document.querySelector('bio-provider')!.setAttribute('xuser-token', value), fixtureToken());
      await expect.poll(() => states(page)).toEqual(['ready', 'ready']);
      await page.close();
    });
  });

  for (const [lang, locale, clock] of [
    ['en-US', 'en-US', /^\d{1,2}:\d\d(:\d\d)? [AP]M$/],
    ['en', 'en-GB', /^\d\d:\d\d(:\d\d)?$/],
    ['', 'de-DE', /^\d\d:\d\d(:\d\d)?$/],
  ] as const) {
    it(`writes times in one form, axis and text, with seconds where they matter: page ${lang || 'without language'}, browser ${locale}`, async () => {
      state.mode = 'ready';
      const nowMs = Math.floor(Date.now() / 10_000) * 10_000;
      const data = Array.from({ length: 60 }, (_, i) => [nowMs - (60 - i) * 10_000, 70 + (i % 7)]);
      fixture.on('POST', '/api/v1/charts/query', { json: { values: [{}], data, qmask: data.map(() => [0]) } });
      const attributes = `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`;
      const body = '<bio-trend-chart biosignals="HR" range="10m" refresh="0"></bio-trend-chart>';
      fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body, lang }).replace(' lang=""', '') });
      const page = await (await browser.newContext({ locale, viewport: { width: 900, height: 900 } })).newPage();
      await page.addInitScript(() => {
        const written = ((globalThis as unknown as { written: string[] }).written = []) as string[];
        const { fillText } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
          written.push(text);
          fillText.call(this, text, ...rest);
        };
      });
      await page.goto(`${fixture.origin}/page`);
      const chart = page.locator('bio-trend-chart');
      await expect.poll(() => chart.locator('canvas').count()).toBe(1);
      const written = await page.evaluate(() => (globalThis as unknown as { written: string[] }).written);
      const times = written.filter((text) => text.includes(':')).map((text) => text.replaceAll('\u202f', ' '));
      expect(times.length).toBeGreaterThan(3);
      for (const time of times) expect(time).toMatch(clock);

      expect(await chart.locator('.readout').count()).toBe(1);
      await chart.locator('.tools button').click();
      expect(await chart.locator('.readout').count()).toBe(0); // nothing to point at
      const cells = (await chart.locator('tbody tr td:first-child').allTextContents()).map((text) => text.replaceAll('\u202f', ' '));
      expect(new Set(cells).size).toBe(cells.length);
      for (const cell of cells) expect(cell.replace(/^.*?(, | )(?=\d{1,2}:)/, '')).toMatch(clock);
      // The box ends with a row: none is cut in half.
      const cut = await chart.locator('.scroll').evaluate((box) => {
        const bottom = box.getBoundingClientRect().top + box.clientTop + box.clientHeight;
        return [...box.querySelectorAll('tr')].some((row) => {
          const edge = row.getBoundingClientRect();
          return edge.top < bottom - 2 && edge.bottom > bottom + 2;
        });
      });
      expect(cut).toBe(false);
      await page.context().close();
      serveWidgetAnswers(fixture, state);
    });
  }

  it('shows the goal that the person was set, and its progress', async () => {
    state.mode = 'ready';
    const goal = { id: 'g1', biosignal_id: 2, name: 'Steps', unit: '{steps}', title: 'Walk more', target: 8000, value: 2000 };
    fixture.on('GET', '/api/v1/goals', { json: [goal] });
    const { page } = await open({}, { body: '<bio-progress-ring></bio-progress-ring>' });
    const ring = page.locator('bio-progress-ring');
    await expect.poll(() => ring.getAttribute('data-state')).toBe('ready');
    expect(await ring.getByRole('meter').getAttribute('aria-valuemax')).toBe('8000');
    expect(await ring.locator('.in').textContent()).toMatch(/2,000.*8,000.*25%/s);
    expect(await ring.getByRole('heading').textContent()).toBe('Walk more');
    serveWidgetAnswers(fixture, state);
  });

  it('is loaded from its immutable address with its integrity value, and refused when a byte differs', async () => {
    state.mode = 'ready';
    const load = async (integrity: string): Promise<boolean> => {
      const page = await browser.newPage();
      fixture.on('GET', '/page', {
        html: `<script src="/cdn/v1/${built.immutable}/bio-widgets.js" integrity="${integrity}" crossorigin="anonymous"></script>`,
      });
      await page.goto(`${fixture.origin}/page`);
      const defined = await page.evaluate(() => customElements.get('bio-provider') !== undefined);
      await page.close();
      return defined;
    };
    const { integrity } = built.files['bio-widgets.js']!;
    expect(integrity).toMatch(/^sha384-/);
    expect(await load(integrity)).toBe(true);
    expect(await load(integrity.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).toBe(false);
    expect(await load(built.files['bio-core.js']!.integrity)).toBe(false);
  });

  for (const layout of ['block', 'grid', 'flex']) {
    it(`fits the chart to a container that becomes narrower and wider again: ${layout}`, async () => {
      state.mode = 'ready';
      const { page } = await open({}, { body: '<div id="box"><bio-trend-chart biosignals="HR,TEMP" refresh="0"></bio-trend-chart></div>' });
      await page.evaluate((display) => {
        const { style } = document.querySelector<HTMLElement>('#box')!;
        style.display = display;
        style.flexDirection = 'column';
      }, layout);
      const chart = page.locator('bio-trend-chart');
      await expect.poll(() => chart.locator('canvas').count()).toBe(2);
      const widths = (): Promise<{ page: number; plot: number; box: number }> =>
        page.evaluate(() => {
          const root = document.querySelector('bio-trend-chart')!.shadowRoot!;
          const canvas = root.querySelector('canvas')!;
          return {
            page: document.documentElement.scrollWidth,
            plot: Math.round(canvas.getBoundingClientRect().width),
            box: Math.round(root.querySelector('.plot')!.getBoundingClientRect().width),
          };
        });
      for (const width of [390, 1000, 600]) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(async () => (await widths()).page).toBe(width);
        await expect.poll(async () => Math.abs((await widths()).plot - (width - 50))).toBeLessThan(20);
        expect((await widths()).plot).toBe((await widths()).box);
      }
      await page.setViewportSize({ width: 1000, height: 900 });
    });
  }

  for (const [width, lang] of [
    [300, 'en'],
    [320, 'de'],
    [420, 'en'],
  ] as const) {
    it(`keeps the five faces of the mood in one row at ${width} px (${lang})`, async () => {
      state.mode = 'ready';
      const { page } = await open({ viewport: { width, height: 700 } }, { lang, body: '<bio-mood></bio-mood>' });
      const faces = page.locator('bio-mood .scale label');
      await expect.poll(() => faces.count()).toBe(5);
      const tops = await faces.evaluateAll((labels) => new Set(labels.map((label) => label.getBoundingClientRect().top)).size);
      expect(tops).toBe(1);
      // No word is cut or broken off in the middle.
      expect(await faces.evaluateAll((labels) => labels.filter((label) => label.scrollWidth > label.clientWidth).length)).toBe(0);
    });
  }

  it('prints on a light ground, with whole tables and without buttons', async () => {
    state.mode = 'ready';
    const { page } = await open(
      { colorScheme: 'dark' },
      {
        attributes: `sdk-key="sdk_test" theme="dark" xuser-token="${fixtureToken()}"`,
        body: '<bio-trend-chart biosignals="HR" refresh="0" theme="dark"></bio-trend-chart>',
      },
    );
    const chart = page.locator('bio-trend-chart');
    await chart.getByText('Show as table').click();
    const look = (): Promise<{ ground: string; cut: boolean; buttons: number }> =>
      chart.evaluate((element) => {
        const root = element.shadowRoot!;
        const box = root.querySelector('.scroll')!;
        return {
          ground: getComputedStyle(root.querySelector('.card')!).backgroundColor,
          cut: box.scrollHeight > box.clientHeight + 1,
          buttons: [...root.querySelectorAll('button')].filter((button) => button.checkVisibility()).length,
        };
      });
    expect(await look()).toMatchObject({ ground: 'rgb(18, 24, 31)', cut: true });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await look()).toEqual({ ground: 'rgb(255, 255, 255)', cut: false, buttons: 0 });
    await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
  });

  it('reads values by keyboard', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0"></bio-trend-chart>' });
    const chart = page.locator('bio-trend-chart');
    await chart.getByRole('img').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => chart.locator('.readout').textContent()).toMatch(/Heart rate: 7\d \(6\d – 8\d\) \/min\s+Good/);
  });

  it('asks for nothing more once a widget has left the page', async () => {
    state.mode = 'ready';
    const page = await browser.newPage();
    await page.clock.install();
    const body = '<bio-trend-card biosignals="HR" refresh="2s"></bio-trend-card>';
    const attributes = `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`;
    fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body }) });
    await page.goto(`${fixture.origin}/page`);
    const card = page.locator('bio-trend-card');
    await expect.poll(() => card.getAttribute('data-state')).toBe('ready');
    const atFirst = fixture.requests.length;
    await page.clock.runFor(2500);
    await expect.poll(() => fixture.requests.length).toBeGreaterThan(atFirst);
    await page.evaluate(() => document.querySelector('bio-trend-card')!.remove());
    // What was under way when the widget left may still arrive.
    let before = -1;
    while (before !== fixture.requests.length) {
      before = fixture.requests.length;
      await sleep(500);
    }
    await page.clock.runFor(20_000);
    expect(fixture.requests.length).toBe(before);
    await page.close();
  });

  it('goes on when a widget is moved in the page, while it loads as well', async () => {
    state.mode = 'ready';
    const page = await browser.newPage();
    await page.clock.install();
    const body = ['bio-trend-card', 'bio-trend-chart', 'bio-mood'].map((tag) => `<${tag} biosignals="HR" refresh="2s"></${tag}>`).join('');
    const attributes = `sdk-key="sdk_test" xuser-token="${fixtureToken()}"`;
    const html = widgetPage({ origin: fixture.origin, attributes, body });
    fixture.on('GET', '/page', { html });
    await page.goto(`${fixture.origin}/page`);
    const widgets = page.locator('bio-provider > *');
    const states = (): Promise<(string | null)[]> => widgets.evaluateAll((all) => all.map((one) => one.getAttribute('data-state')));
    const move = (): Promise<void> =>
      page.evaluate(() => {
        for (const one of document.querySelectorAll('bio-provider > *')) one.parentElement!.append(one);
      });
    const asks = async (): Promise<void> => {
      const before = fixture.requests.length;
      await page.clock.runFor(2500);
      await expect.poll(() => fixture.requests.length).toBeGreaterThanOrEqual(before + 3);
    };
    await expect.poll(states).toEqual(['ready', 'ready', 'ready']);
    await asks();
    await move();
    await expect.poll(states).toEqual(['ready', 'ready', 'ready']);
    await asks();
    await page.evaluate(() => {
      for (const one of document.querySelectorAll('bio-provider > *')) {
        const fresh = one.cloneNode() as HTMLElement;
        delete fresh.dataset['state'];
        one.replaceWith(fresh);
      }
    });
    await move();
    await expect.poll(states).toEqual(['ready', 'ready', 'ready']);
    await page.close();
  });

  it('keeps what it shows when the connection breaks, and says so', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-card biosignals="HR"></bio-trend-card>' });
    const card = page.locator('bio-trend-card');
    await expect.poll(() => card.getAttribute('data-state')).toBe('ready');
    state.mode = 'offline';
    await card.evaluate((element) => (element as unknown as { reload: () => void }).reload());
    await expect.poll(() => card.getAttribute('data-state'), { timeout: 6000 }).toBe('offline');
    expect(await card.locator('[part=value]').textContent()).toMatch(/^\d+$/);
    expect(await card.getByRole('status').textContent()).toContain('No connection');
    state.mode = 'ready';
    await card.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => card.getAttribute('data-state')).toBe('ready');
  });

  it('shows a text on its buttons where colours are forced', async () => {
    state.mode = 'ready';
    const { page } = await open({ forcedColors: 'active' }, { body: '<bio-journal></bio-journal>' });
    const colors = await page
      .locator('bio-journal')
      .getByRole('button', { name: 'Save' })
      .evaluate((button) => [
        getComputedStyle(button).color,
        getComputedStyle(button).backgroundColor,
        getComputedStyle(button).forcedColorAdjust,
      ]);
    // Without `none` the browser lays its own ground under the text, in the colour of the text.
    expect(colors[2]).toBe('none');
    expect(colors[0]).not.toBe(colors[1]);
  });

  it('asks once why there are no values lately, however long a pointer moves about there', async () => {
    state.mode = 'ready';
    const nowMs = Date.now();
    const data = Array.from({ length: 60 }, (_, i) => [nowMs - (120 - i) * 60_000, 70 + (i % 7)]);
    const qmask = data.map(() => [0]);
    fixture.on('POST', '/api/v1/charts/query', { json: { values: [{}], data, qmask } });
    let count = 0;
    fixture.on('GET', '/api/v1/streams', () => {
      count++;
      return { json: [] };
    });
    try {
      const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR" range="2h" refresh="0" tools></bio-trend-chart>' });
      const over = (await page.locator('bio-trend-chart .u-over').boundingBox())!;
      const readout = page.locator('bio-trend-chart .readout');
      for (let i = 0; i < 12; i++) {
        await page.mouse.move(over.x + over.width * (0.7 + 0.01 * i), over.y + 20);
        await expect.poll(() => readout.textContent()).toContain('no value.');
      }
      await expect.poll(() => readout.textContent()).toContain('Nothing was recorded.');
      expect(count).toBeLessThanOrEqual(2); // two where a minute ends meanwhile
    } finally {
      serveWidgetAnswers(fixture, state);
    }
  });

  // promise: gaps-drawn
  it('draws no line across buckets that are missing', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0"></bio-trend-chart>' });
    /** Shares of the way from the first column with a trace to the last one, with whether there is a trace. */
    const traced = (from: number, to: number): Promise<boolean[]> =>
      page
        .locator('bio-trend-chart canvas')
        .first()
        .evaluate(
          (canvas: HTMLCanvasElement, [least, greatest]) => {
            const { data, width, height } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
            const columns = Array.from({ length: width }, (_, x) =>
              Array.from({ length: height }, (__, y) => (y * width + x) * 4).some(
                (at) => data[at + 3]! > 200 && data[at]! < 40 && data[at + 2]! < 80,
              ),
            );
            const [first, last] = [columns.indexOf(true), columns.lastIndexOf(true)];
            const at = (share: number): number => Math.round(first + share * (last - first));
            return columns.slice(at(least!), at(greatest!));
          },
          [from, to],
        );
    // Of 240 buckets those between the 60th and the 75th are missing.
    await expect.poll(() => traced(0.2, 0.24).then((columns) => columns.filter(Boolean).length)).toBeGreaterThan(5);
    expect((await traced(0.26, 0.305)).length).toBeGreaterThan(20);
    expect((await traced(0.26, 0.305)).filter(Boolean)).toEqual([]);
    expect((await traced(0.32, 0.36)).filter(Boolean).length).toBeGreaterThan(5);
  });

  // promise: holes-said
  it('shows a stretch without values as a hollow ribbon, and says why there are none', async () => {
    state.mode = 'ready';
    const asked: string[] = [];
    fixture.on('GET', '/api/v1/streams', ({ url }) => {
      asked.push(url.searchParams.get('since') ?? '');
      return { json: [] };
    });
    const { page, errors } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0" tools></bio-trend-chart>' });
    const canvas = page.locator('bio-trend-chart canvas').first();
    /** Rows of the canvas that have the muted colour in every column between two shares of the plot. */
    const lines = (from: number, to: number): Promise<number> =>
      canvas.evaluate(
        (element: HTMLCanvasElement, [least, greatest]) => {
          const root = element.getRootNode() as ShadowRoot;
          const probe = document.createElement('span');
          probe.style.color = 'var(--_muted)';
          root.append(probe);
          const muted = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
          probe.remove();
          const { data, width, height } = element.getContext('2d')!.getImageData(0, 0, element.width, element.height);
          const [left, right] = [root.querySelector('.u-over')!.getBoundingClientRect(), element.getBoundingClientRect()].map(
            ({ x, width: wide }, i) => (i === 0 ? x : wide),
          ) as [number, number];
          const over = root.querySelector<HTMLElement>('.u-over')!.offsetWidth;
          const x = (share: number): number => Math.round(((left - element.getBoundingClientRect().x + share * over) / right) * width);
          let count = 0;
          for (let y = 0; y < height; y++) {
            let all = true;
            for (let px = x(least!); px < x(greatest!); px++)
              all &&=
                muted.slice(0, 3).every((part, k) => Math.abs(data[(y * width + px) * 4 + k]! - part) < 60) &&
                data[(y * width + px) * 4 + 3]! > 90;
            if (all) count++;
          }
          return count;
        },
        [from, to],
      );
    // Of 240 buckets those between the 60th and the 75th are missing.
    await expect.poll(() => lines(0.27, 0.3)).toBeGreaterThanOrEqual(2);
    expect(await lines(0.4, 0.43)).toBe(0);
    const over = (await page.locator('bio-trend-chart .u-over').boundingBox())!;
    await page.mouse.move(over.x + over.width * 0.1, over.y + 20);
    const readout = page.locator('bio-trend-chart .readout');
    await expect.poll(() => readout.textContent()).toContain('Heart rate');
    await page.mouse.move(over.x + over.width * 0.28, over.y + 20);
    await expect.poll(() => readout.textContent()).toMatch(/ – .*: no value\. Nothing was recorded\./);
    expect(asked).toHaveLength(1);
    await page.mouse.move(over.x + over.width * 0.6, over.y + 20);
    await expect.poll(() => readout.textContent()).toContain('Heart rate');
    expect(errors).toEqual([]);
    if (process.env['BIO_TEST_PICTURES'] !== undefined) await page.screenshot({ path: `${process.env['BIO_TEST_PICTURES']}/hole.png` });
  });

  // promise: gaps-drawn
  it('does not show a period without measurements as unusable: a line with fewer values than its neighbour has no gaps', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR,RMSSD" refresh="0"></bio-trend-chart>' });
    const chart = page.locator('bio-trend-chart');
    const inked = (): Promise<number> =>
      chart
        .locator('canvas')
        .nth(1)
        .evaluate((canvas: HTMLCanvasElement) => {
          const { data, width, height } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
          const columns = new Set<number>();
          for (let y = 0; y < height; y++)
            for (let x = 0; x < width; x++) {
              const at = (y * width + x) * 4;
              // the dark of the trace, not grid, labels or ribbon
              if (data[at + 3]! > 200 && data[at]! < 40 && data[at + 2]! < 80) columns.add(x);
            }
          return columns.size / width;
        });
    await expect.poll(inked).toBeGreaterThan(0.7);
    await chart.getByText('Show as table').click();
    const marks = await chart.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.children[4]!.textContent!.trim()));
    expect(marks.filter((mark) => mark.startsWith('Unusable')).length).toBe(2);
    expect(marks.filter((mark) => mark === '').length).toBeGreaterThan(90);
  });

  it('asks for no time zone that the service refuses: offsets and abbreviations are none', async () => {
    state.mode = 'ready';
    const { page } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0" tz="+02:00"></bio-trend-chart>' });
    await expect.poll(() => page.locator('bio-trend-chart').getAttribute('data-state')).toBe('ready');
    const asked = fixture.requests.findLast(({ path }) => path === '/api/v1/charts/query')!.body as { tz?: string };
    expect(asked.tz).toBeUndefined();
    const zones = await page.locator('bio-trend-chart').evaluate((chart) =>
      ['+02:00', 'CET', 'UTC+5', 'Mars/Olympus', '', 'UTC', 'Europe/Berlin', 'asia/tokyo', 'Japan', 'GMT'].map((zone) => {
        chart.setAttribute('tz', zone);
        return (chart as unknown as { timeZone?: string }).timeZone ?? null;
      }),
    );
    expect(zones).toEqual([null, null, null, null, null, 'UTC', 'Europe/Berlin', 'Asia/Tokyo', 'Asia/Tokyo', 'UTC']);
  });

  it('draws a single value', async () => {
    state.mode = 'ready';
    fixture.on('POST', '/api/v1/charts/query', () => ({ json: { values: [], data: [[Date.now() - 60_000, 71]], qmask: [[0]] } }));
    const { page, errors } = await open({}, { body: '<bio-trend-chart biosignals="HR" refresh="0"></bio-trend-chart>' });
    await expect.poll(() => page.locator('bio-trend-chart canvas').count()).toBe(1);
    expect(await page.locator('bio-trend-chart [part=value]').textContent()).toBe('72'); // the newest observation
    expect(errors).toEqual([]);
    serveWidgetAnswers(fixture, state);
  });

  // promise: scores-by-the-service
  it('asks a questionnaire: required answers, questions that depend on answers, a FHIR response', async () => {
    state.mode = 'ready';
    let sent: unknown = null;
    fixture.on('POST', '/api/v1/questionnaire-responses', (request) => {
      sent = request.body;
      return { status: 201, json: { id: 'r1', scores: [{ name: 'Total', value: 3 }], safety: true } };
    });
    const { page } = await open({}, { body: '<bio-checkin questionnaire="phq-2" show-score></bio-checkin>' });
    const checkin = page.locator('bio-checkin');
    await checkin.getByRole('button', { name: 'Send' }).click();
    expect(await checkin.getByText('Please answer this question').count()).toBe(1);
    await checkin.getByLabel('Nearly every day').check();
    await checkin.getByLabel('Hours of sleep').fill('6.5');
    await checkin.getByLabel('What happened?').fill('Exams');
    await checkin.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => checkin.getByRole('alert').textContent()).toContain('emergency');
    expect(await checkin.getByText('Score 3').count()).toBe(1);
    expect(sent).toMatchObject({
      resourceType: 'QuestionnaireResponse',
      questionnaire: 'phq-2',
      status: 'completed',
      item: [
        { linkId: '1', answer: [{ valueCoding: { code: 'LA2' } }] },
        { linkId: '2', answer: [{ valueDecimal: 6.5 }] },
        { linkId: '3', answer: [{ valueString: 'Exams' }] },
      ],
    });
    expect(await violations(page)).toEqual([]);
  });
});
