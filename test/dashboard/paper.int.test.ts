/** Pages of the dashboard on paper, as PDF, and on the smallest and the largest screen, in a real Chromium on the whole service. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { at, sendViewed } from '../helpers/viewed-recording.ts';
import { startWard } from '../helpers/ward.ts';
import type { Ward } from '../helpers/ward.ts';

const pdftotext = '/usr/bin/pdftotext';
const hasReader = existsSync(pdftotext);
if (!hasReader) console.warn('SKIPPED: no pdftotext on this machine; install the Debian package `poppler-utils` to test what is printed');

let dashboard: DashboardFixture;
let ward: Ward;
let folder: string;
/** By name: address, what is there once it is ready, and what its print says. */
let pages: Readonly<Record<string, readonly [hash: string, ready: string, ...says: RegExp[]]>>;
let reportOf: readonly [hash: string, ready: string];

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-paper-'));
  dashboard = await startDashboard();
  const { send, service } = dashboard;
  const viewed = await sendViewed(dashboard);
  const [project] = await send<{ project_key: string }[]>('GET', '/api/v1/projects');
  const body = { external_id: 'bed-01', project_key: project!.project_key, display_name: 'Grace Hopper' };
  const { xuser_id: sending } = await send<{ xuser_id: string }>('POST', '/api/v1/xusers', body);
  ward = await startWard(service.baseUrl, service.firstKey!, [{ id: sending, channels: ['ecg.ii'] }]);
  const time = /\d\d:\d\d/;
  const here = `#/recordings/${viewed.stream}`;
  reportOf = [`#/users/${viewed.person}/report`, '.report .disclaimer'];
  pages = {
    live: [`#/users/${sending}`, 'bio-live-trace', /Grace Hopper/, /25 mm\/s/, /10 mm\/mV/, time],
    wall: ['#/wall', '.wall-tile:not(.old)', /Grace Hopper/, /\/min/, /25 mm\/s, height fitted/],
    overview: ['#/overview', '.figure', /Sending now/, /Grace Hopper/, /ecg\.ii/],
    devices: ['#/devices', 'tbody tr', /viewed patch/, /Grace Hopper/, /80 %/],
    rules: ['#/rules', 'main .empty, main table', /Not an alarm system/],
    recording: [
      `${here}?at=${at(100)}`,
      'bio-recording[data-state=ready]',
      /Recording of Vera Viewed/,
      /viewed patch/,
      /Strip: ECG II · mV, ECG V5 · mV; 25 mm\/s, 10 mm\/mV; its middle is at .*UTC; beats by \S*r_peaks\S*/,
      /heart rate 75 \/min/,
      time,
    ],
    person: [`#/users/${viewed.person}`, 'bio-trend-chart', /Vera Viewed/, /Heart rate from ECG/, /viewed patch/, /10 min 0 s/, time],
    variability: [`${here}/variability?at=${at(150)}`, '.tachogram', /Poincaré plot/, /RMSSD/, /hrv_rmssd_300s_v\d+/, /ms²/, time],
  };
}, 600_000);
afterAll(async () => {
  ward?.stop();
  await dashboard?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function go(page: Page, hash: string, ready: string): Promise<void> {
  await page.goto(`${dashboard.service.baseUrl}/dashboard/${hash}`);
  await page.locator(ready).first().waitFor({ timeout: 60_000 });
  await page.waitForTimeout(1500); // traces and charts are drawn
}

/** What of a page is beyond its width, cut off, too small to read, or not as sharp as the screen; in shadow roots, too. */
const flaws = (page: Page, smallest: number): Promise<string[]> =>
  page.evaluate((leastPx) => {
    const found = new Set<string>();
    const nameOf = (element: Element): string => `${element.localName}.${element.getAttribute('class') ?? ''}`;
    const scrolls = (start: Element): boolean => {
      for (let one: Element | null = start; one !== null; one = one.parentElement ?? (one.getRootNode() as ShadowRoot).host ?? null)
        if (/auto|scroll|hidden|clip/.test(getComputedStyle(one).overflowX)) return true;
      return false;
    };
    const look = (root: ParentNode): void => {
      for (const element of root.querySelectorAll('*')) {
        if (element.shadowRoot !== null) look(element.shadowRoot);
        const { left, right, width, height } = element.getBoundingClientRect();
        const style = getComputedStyle(element);
        if (width <= 1 || height <= 1 || style.visibility === 'hidden' || style.clipPath !== 'none') continue;
        const isAway = right < 0; // until it has the focus
        if ((right > innerWidth + 1 || (left < -1 && !isAway)) && !scrolls(element)) found.add(`${nameOf(element)} is beyond the page`);
        const hasText = [...element.childNodes].some(({ nodeType, textContent }) => nodeType === 3 && textContent!.trim() !== '');
        const text = element.textContent!.trim().slice(0, 30);
        if (hasText && Number.parseFloat(style.fontSize) < leastPx) found.add(`${nameOf(element)} '${text}' has ${style.fontSize}`);
        if (hasText && style.overflowX !== 'visible' && style.textOverflow === 'clip' && element.scrollWidth > element.clientWidth + 1)
          found.add(`${nameOf(element)} '${text}' is cut off`);
        const isDrawn = element instanceof HTMLCanvasElement && (element.width !== 300 || element.height !== 150); // not as it was made
        if (isDrawn && Math.abs(element.width - width * devicePixelRatio) > 4)
          found.add(`${nameOf(element)} has ${element.width} pixels for ${width} of ${devicePixelRatio}`);
      }
    };
    look(document);
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) found.add(`the page scrolls: ${scrollWidth} of ${innerWidth}`);
    return [...found];
  }, smallest);

/** Words of a PDF that stand on others, by the boxes of pdftotext: they share more than a third of the height and the width of a letter. */
function overprinted(boxes: string): string[] {
  return boxes.split('<page ').flatMap((sheet, i) => {
    const words = [...sheet.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)</g)].map(
      ([, left, top, right, bottom, text]) => ({
        box: [left, top, right, bottom].map(Number) as [number, number, number, number],
        text: text!,
      }),
    );
    return words.flatMap((one, k) =>
      words.slice(k + 1).flatMap((other) => {
        const [width, height] = [0, 1].map(
          (axis) => Math.min(one.box[axis + 2]!, other.box[axis + 2]!) - Math.max(one.box[axis]!, other.box[axis]!),
        );
        const least = Math.min(one.box[3] - one.box[1], other.box[3] - other.box[1]);
        return width! > least / 3 && height! > least / 3 ? [`sheet ${i}: '${one.text}' on '${other.text}'`] : [];
      }),
    );
  });
}

describe.skipIf(chromiumPath === null)('pages of the dashboard', () => {
  // promise: on-paper
  it.skipIf(!hasReader)(
    'say on paper whose they are, when, in which units and by which methods, and what they are not; without controls, on white',
    async () => {
      const { page, errors } = await dashboard.open('/dashboard/', {
        storageState: dashboard.signedIn,
        timezoneId: 'UTC',
        locale: 'en-GB',
        colorScheme: 'dark',
      });
      for (const [name, [hash, ready, ...says]] of Object.entries(pages)) {
        await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
        await go(page, hash, ready);
        if (name === 'recording') await page.getByText(/beats by .*r_peaks/).waitFor({ state: 'attached' });
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
        await page.setViewportSize({ width: 688, height: 971 }); // the text of A4
        await expect.poll(() => flaws(page, 9), { message: name }).toEqual([]); // drawn anew for the paper
        const seen = await page.evaluate(() => {
          const isSeen = (element: Element): boolean => element.checkVisibility({ visibilityProperty: true });
          const fields = (root: ParentNode): string[] =>
            [...root.querySelectorAll('*')].flatMap((element) => [
              ...(element.matches('button, input, select, textarea, nav') && isSeen(element) ? [element.outerHTML.slice(0, 80)] : []),
              ...(element.shadowRoot === null ? [] : fields(element.shadowRoot)),
            ]);
          const light = (color: string): boolean => {
            const [r = 0, g = 0, b = 0, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
            return alpha === 0 || Math.min(r, g, b) > 200 || color.startsWith('color(');
          };
          const dark = [...document.querySelectorAll('html, body, #app, main, .wall, .card, .tile, .wall-tile')].filter(
            (element) => !light(getComputedStyle(element).backgroundColor),
          );
          return { fields: fields(document), dark: dark.map((element) => `${element.localName}.${element.className}`) };
        });
        expect(seen, name).toEqual({ fields: [], dark: [] });
        const file = join(folder, `${name}.pdf`);
        await writeFile(file, await page.pdf({ preferCSSPageSize: true, printBackground: true }));
        const { stdout } = await promisify(execFile)(pdftotext, ['-raw', file, '-']);
        const text = stdout.replaceAll(/\s+/g, ' ');
        for (const one of says) expect(text, name).toMatch(one);
        if (name === 'recording') expect(stdout.split('\f')[0], 'its strip on the first sheet').toContain('Strip: ');
        expect(text, name).toMatch(/Printed \d+ \w+ \d{4}(?:,| at) \d\d:\d\d:\d\d UTC\. No alarms\. Not a medical device\./);
        await page.setViewportSize({ width: 1200, height: 900 });
      }
      expect(errors).toEqual([]);
      await page.context().close();
    },
    600_000,
  );

  // promise: on-paper
  it.skipIf(!hasReader)(
    'lie nowhere over each other on paper, wherever a sheet ends',
    async () => {
      const { page, errors } = await dashboard.open('/dashboard/', {
        storageState: dashboard.signedIn,
        timezoneId: 'UTC',
        locale: 'en-GB',
      });
      const found: string[] = [];
      for (const [name, [hash, ready]] of Object.entries({ ...pages, report: reportOf })) {
        if (name === 'wall') continue; // one sheet
        await page.setViewportSize({ width: 1200, height: 900 });
        await go(page, hash, ready);
        for (const px of [0, 120, 240, 360, 480, 600, 720, 840]) {
          // As a longer text above it would: a sheet ends elsewhere.
          await page.evaluate((size) => {
            document.body.style.paddingBlockStart = `${size}px`;
          }, px);
          const file = join(process.env['BIO_TEST_PICTURES'] ?? folder, `${name}-${px}.pdf`);
          await writeFile(file, await page.pdf({ preferCSSPageSize: true, printBackground: true }));
          const { stdout } = await promisify(execFile)(pdftotext, ['-bbox', file, '-'], { maxBuffer: 1e8 });
          found.push(...overprinted(stdout).map((words) => `${name}, ${px} px lower: ${words}`));
        }
      }
      expect(found).toEqual([]);
      expect(errors).toEqual([]);
      await page.context().close();
    },
    600_000,
  );

  // promise: every-screen
  it('are whole on a phone and on a 4K screen: nothing is cut off, too small or blunt, and nothing scrolls sideways', async () => {
    for (const options of [
      { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true },
      { viewport: { width: 3840, height: 2160 } },
    ] as const) {
      const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC', ...options });
      for (const [name, [hash, ready]] of Object.entries(pages)) {
        if (name === 'wall') continue; // wall.int.test.ts
        await go(page, hash, ready);
        expect(await flaws(page, 10), `${name} at ${options.viewport.width}`).toEqual([]);
      }
      expect(errors).toEqual([]);
      await page.context().close();
    }
  }, 600_000);
});
