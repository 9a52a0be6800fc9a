/** The pages at a zoom of 400 % (320 px wide), with the spacing of text that WCAG 1.4.12 asks for, and in forced colours: nothing is cut
 *  off or out of reach, and traces can be seen. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { at, sendViewed } from '../helpers/viewed-recording.ts';

/** On a page of its own heading, once it is loaded: what the page before had does not count. */
const loaded = (heading: string, what = 'h1'): string => `main:has(h1:has-text("${heading}")):not(:has(.skeletons)) ${what}`;

let dashboard: DashboardFixture;
let pages: readonly (readonly [name: string, path: string, ready: string])[];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  const { stream, person } = await sendViewed(dashboard);
  let sending = '';
  await until(async () => {
    const devices = await dashboard.send<{ xuser_id: string | null; is_flowing: boolean }[]>('GET', '/api/v1/devices');
    // what was sent to be viewed flowed, too, some seconds ago
    sending = devices.find(({ is_flowing: flows, xuser_id: of }) => flows && of !== person)?.xuser_id ?? '';
    return sending !== '';
  });
  pages = [
    ['live', `#/users/${sending}`, '.tile:not(.old)[data-feature=hr_ecg] output'],
    ['recording', `#/recordings/${stream}?at=${at(100)}`, 'bio-recording[data-state=ready]'],
    ['variability', `#/recordings/${stream}/variability?at=${at(100)}`, loaded('Heart rate variability of', 'h2')],
    ['wall', '#/wall', '.wall .wall-tile'],
    ['overview', '#/overview', loaded('Overview', 'h2')],
    ['devices', '#/devices', loaded('Devices', 'table')],
    ['rules', '#/rules', loaded('Rules')],
    ['report', `#/users/${person}/report`, loaded('Report', '.report h1')],
  ];
}, 400_000);
afterAll(() => dashboard?.close());

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

/** Text that its own box or one around it cuts off, and pages that scroll sideways. */
const cutOff = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const faults: string[] = [];
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) faults.push(`the page is ${scrollWidth} px wide`);
    const deep = (root: ParentNode): Element[] =>
      [...root.querySelectorAll('*')].flatMap((element) => [element, ...(element.shadowRoot === null ? [] : deep(element.shadowRoot))]);
    for (const element of deep(document.body)) {
      if (
        !(element instanceof HTMLElement) ||
        element.closest('.vh, .skip') !== null ||
        element.matches('.vh *, select, option, input, textarea')
      )
        continue;
      const { overflowX, overflowY, textOverflow, visibility } = getComputedStyle(element);
      const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent!.trim() !== '');
      if (!hasText || visibility === 'hidden' || element.clientWidth === 0) continue;
      const hides = (overflow: string): boolean => overflow === 'hidden' || overflow === 'clip';
      const isCut =
        (hides(overflowX) && element.scrollWidth > element.clientWidth + 1 && textOverflow !== 'ellipsis') ||
        (hides(overflowY) && element.scrollHeight > element.clientHeight + 2);
      if (isCut) faults.push(`cut off: ${element.localName}.${element.className} "${element.textContent!.trim().slice(0, 40)}"`);
    }
    return faults;
  });

/** Pixels of a canvas that are unlike its most frequent one. */
const inked = (page: Page, selector: string): Promise<number[]> =>
  page.locator(selector).evaluateAll((all) =>
    (all as HTMLCanvasElement[]).map((canvas) => {
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      const counts = new Map<number, number>();
      for (let i = 0; i < data.length; i += 4) {
        const color = (data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]! | (data[i + 3]! << 24);
        counts.set(color, (counts.get(color) ?? 0) + 1);
      }
      return data.length / 4 - Math.max(0, ...counts.values());
    }),
  );

const traces: Readonly<Record<string, string>> = { live: 'bio-live-trace canvas:last-of-type', recording: 'bio-recording canvas' };

const spacing =
  '* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-block-end: 2em !important }';

const looks = [
  ['zoom', { width: 320, height: 256 }, ''],
  ['spacing', { width: 1280, height: 900 }, spacing],
  ['forced', { width: 1280, height: 900 }, ''],
] as const;

describe.skipIf(chromiumPath === null).each(looks)('with %s', (look, viewport, css) => {
  it('nothing is cut off, and traces can be seen', async () => {
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, viewport, timezoneId: 'UTC' });
    if (look === 'forced') await page.emulateMedia({ forcedColors: 'active' });
    const faults: Record<string, string[]> = {};
    for (const [name, path, ready] of pages) {
      await page.goto(`${dashboard.service.baseUrl}/dashboard/${path}`);
      await page.locator(ready).first().waitFor({ state: 'attached' });
      await page.waitForTimeout(1500);
      if (css !== '')
        await page.evaluate((text) => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(text);
          document.adoptedStyleSheets = [sheet];
        }, css);
      await page.waitForTimeout(1500);
      await picture(page, `${look}-${name}`);
      const found = await cutOff(page);
      const canvases = traces[name];
      // The trace of what is sent now comes with its next frames.
      if (canvases !== undefined)
        await until(async () => {
          const counts = await inked(page, canvases);
          return counts.length > 0 && counts.every((count) => count > 100);
        }).catch(() => found.push('a trace is empty'));
      if (found.length > 0) faults[name] = found;
    }
    expect(faults).toEqual({});
    expect(errors).toEqual([]);
    await page.context().close();
  }, 300_000);
});
