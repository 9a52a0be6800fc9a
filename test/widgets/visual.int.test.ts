/** The look of the widgets, against pictures in test/visual: a quarter of the size, and every character a box of one font that the test
 *  makes itself, so that neither the machine's fonts nor its smoothing matter. What must not change unseen: layout, colours, states,
 *  charts. A change that is wanted: BIO_UPDATE_VISUAL=1 npm test -- test/widgets/visual.int.test.ts, and look at the new pictures. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import { boxFont } from '../helpers/box-font.ts';
import { fixtureToken, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture } from '../helpers/browser-fixture.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { serveWidgetAnswers, widgetPage, widgetTags } from '../helpers/widget-answers.ts';
import type { Mode } from '../helpers/widget-answers.ts';

const NOW_MS = Date.UTC(2026, 4, 5, 12, 0, 30);
const SHRINK = 4;
/** Of 255, and the share of pixels that may differ by more: edges that fall on another pixel. */
const TOLERANCE = 48;
const SHARE_MAX = 0.001;

let folder: string;
let fixture: Fixture;
let browser: Browser;
let bench: Page;
const state: { mode: Mode; word: string | null; nowMs: number } = { mode: 'ready', word: null, nowMs: NOW_MS };

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  await buildWeb(folder);
  fixture = await startFixture(folder);
  serveWidgetAnswers(fixture, state);
  browser = await launchChromium();
  bench = await browser.newPage();
});

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const scenes = [
  ['ready', 'ready', {}, {}],
  ['dark', 'ready', { colorScheme: 'dark' }, {}],
  ['right-to-left', 'ready', {}, { dir: 'rtl', lang: 'ar' }],
  ['german-320', 'ready', { viewport: { width: 320, height: 700 } }, { lang: 'de' }],
  ['empty', 'empty', {}, {}],
  ['stale', 'stale', {}, {}],
  ['error', 'error', {}, {}],
  ['offline-dark', 'offline', { colorScheme: 'dark' }, {}],
  ['unauthorized', 'unauthorized', {}, {}],
] as const;

describe.skipIf(chromiumPath === null)('pictures of the widgets', () => {
  it.each(scenes)('%s', async (name, mode, options, attributes) => {
    state.mode = mode;
    const token = fixtureToken({ iat: NOW_MS / 1000, exp: NOW_MS / 1000 + 3600 });
    fixture.on('GET', '/page', {
      html: widgetPage({ origin: fixture.origin, attributes: `sdk-key="sdk_test" tz="UTC" xuser-token="${token}"`, ...attributes }),
    });
    const page = await browser.newPage({ viewport: { width: 900, height: 900 }, reducedMotion: 'reduce', ...options });
    await page.clock.setFixedTime(NOW_MS);
    await page.goto(`${fixture.origin}/page`);
    await page.evaluate(async (base64) => {
      const face = new FontFace(
        'Boxes',
        Uint8Array.from(atob(base64), (char) => char.codePointAt(0)!),
      );
      document.fonts.add(await face.load());
      document.documentElement.style.font = '16px Boxes';
      document.querySelector<HTMLElement>('bio-provider')!.style.setProperty('--bio-font', 'Boxes');
    }, boxFont().toString('base64'));
    const settled = (): Promise<boolean> =>
      page.evaluate(
        (tags) =>
          tags.every((tag) => {
            const is = document.querySelector<HTMLElement>(tag)!.dataset['state'];
            return is !== undefined && is !== 'loading';
          }),
        [...widgetTags],
      );
    await expect.poll(settled).toBe(true);
    // The chart is drawn again, now that its font is there.
    await page.evaluate(() => (document.querySelector('bio-trend-chart') as unknown as { reload: () => void }).reload());
    await page.waitForLoadState('networkidle');
    const shot = (await page.screenshot({ fullPage: true, caret: 'hide' })).toString('base64');
    await page.context().close();

    const file = join(import.meta.dirname, 'visual', `${name}.png`);
    const kept = existsSync(file) && process.env['BIO_UPDATE_VISUAL'] !== '1' ? (await readFile(file)).toString('base64') : null;
    const { small, share, size } = await compare(shot, kept);
    if (kept === null) await writeFile(file, Buffer.from(small, 'base64'));
    expect(kept === null && process.env['CI'] !== undefined ? `${name}.png is missing` : size).toBe('same');
    if (share > SHARE_MAX) await writeFile(join(tmpdir(), `bio-visual-${name}.png`), Buffer.from(small, 'base64'));
    expect(share, `share of pixels that differ; the new picture is in ${tmpdir()}`).toBeLessThanOrEqual(SHARE_MAX);
  });
});

/** Shrinks the shot and holds it against the kept picture, in a page of its own. */
function compare(shot: string, kept: string | null): Promise<{ small: string; share: number; size: string }> {
  return bench.evaluate(
    async ({ shot: newer, kept: older, shrink, tolerance }) => {
      const load = async (base64: string): Promise<ImageBitmap> =>
        createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
      const draw = (image: ImageBitmap, width: number, height: number): CanvasRenderingContext2D => {
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = height;
        const context = canvas.getContext('2d', { willReadFrequently: true })!;
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, width, height);
        return context;
      };
      const large = await load(newer);
      const context = draw(large, Math.round(large.width / shrink), Math.round(large.height / shrink));
      const { width, height } = context.canvas;
      const small = context.canvas.toDataURL('image/png').split(',')[1]!;
      if (older === null) return { small, share: 0, size: 'same' };
      const before = await load(older);
      if (before.width !== width || before.height !== height) {
        return { small, share: 1, size: `${width} x ${height} instead of ${before.width} x ${before.height}` };
      }
      const a = context.getImageData(0, 0, width, height).data;
      const b = draw(before, width, height).getImageData(0, 0, width, height).data;
      let differing = 0;
      for (let i = 0; i < a.length; i += 4) {
        const by = Math.max(Math.abs(a[i]! - b[i]!), Math.abs(a[i + 1]! - b[i + 1]!), Math.abs(a[i + 2]! - b[i + 2]!));
        if (by > tolerance) differing += 1;
      }
      return { small, share: differing / (width * height), size: 'same' };
    },
    { shot, kept, shrink: SHRINK, tolerance: TOLERANCE },
  );
}
