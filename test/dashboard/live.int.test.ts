/** The live page on the whole service with its simulated device: pause and scroll back, the full screen, and the loss of the browser's own
 *  connection on the person's page, on the live page and in widgets. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';

/** As many pixels as a trace of a few beats has at least. */
const TRACE_PX = 300;

let dashboard: DashboardFixture;
let person: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  await until(async () => {
    const devices = await dashboard.send<{ xuser_id: string | null; is_flowing: boolean }[]>('GET', '/api/v1/devices');
    person = devices.find(({ is_flowing: flows }) => flows)?.xuser_id ?? '';
    return person !== '';
  });
}, 120_000);
afterAll(() => dashboard?.close());

async function openPerson(origin = dashboard.service.baseUrl): Promise<{ page: Page; errors: string[] }> {
  const opened = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
  await opened.page.goto(`${origin}/dashboard/#/users/${person}`);
  await liveValue(opened.page);
  return opened;
}

/** Waits until a heart rate stands there and is new. */
async function liveValue(page: Page): Promise<void> {
  const value = page.locator('.tile:not(.old)[data-feature=hr_ecg] output');
  await expect.poll(async () => await value.textContent({ timeout: 1000 }).catch(() => ''), { timeout: 90_000 }).toMatch(/^\d+$/);
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Pixels of the paused strip that have the colour of the trace. */
async function traced(page: Page): Promise<number> {
  return await page.locator('bio-paused-traces canvas').evaluate((canvas: HTMLCanvasElement) => {
    const host = (canvas.getRootNode() as ShadowRoot).host;
    const probe = document.createElement('span');
    probe.style.color = 'var(--_trace)';
    host.shadowRoot!.append(probe);
    const [r = 0, g = 0, b = 0] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
    probe.remove();
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (Math.abs(data[i]! - r) + Math.abs(data[i + 1]! - g) + Math.abs(data[i + 2]! - b) < 30) count++;
    return count;
  });
}

/** Pulls the cable, and looks at what is said within five seconds. */
async function lose(proxy: TcpProxy, page: Page, said: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  proxy.mode = 'hole';
  await expect.poll(said, { timeout: 10_000, interval: 100 }).toBe(true);
  const tookMs = performance.now() - startedMs;
  await picture(page, 'live-lost');
  expect(tookMs).toBeLessThan(5000);
}

const veils = (page: Page, tag: string) => page.locator(tag).getByText('No connection to the service');

describe.skipIf(chromiumPath === null)('the live page', () => {
  // promise: live-pause
  it('is paused, scrolled back over what it holds and what the service has, and goes on', async () => {
    const { page, errors } = await openPerson();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/Paused at .*The numbers go on/).waitFor();
    await expect.poll(() => traced(page)).toBeGreaterThan(TRACE_PX);
    expect(await page.locator('bio-live-trace').first().isVisible()).toBe(false);
    await picture(page, 'live-paused');
    expect(await violations(page)).toEqual([]);
    const slider = page.getByRole('slider', { name: 'Scroll back' });
    await slider.focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
    await page.getByText('2.0 s before the pause').waitFor();
    const shown = await page.locator('bio-paused-traces canvas').screenshot();
    const canvas = (await page.locator('bio-paused-traces canvas').boundingBox())!;
    await page.mouse.move(canvas.x + 100, canvas.y + 60);
    await page.mouse.down();
    await page.mouse.move(canvas.x + 289, canvas.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.getByText('4.0 s before the pause').waitFor();
    await expect.poll(async () => shown.equals(await page.locator('bio-paused-traces canvas').screenshot())).toBe(false);
    // The numbers are those of now.
    expect(await page.locator('.tile.old[data-feature=hr_ecg]').count()).toBe(0);
    const link = page.getByRole('link', { name: 'Open the recording here' });
    expect(await link.getAttribute('href')).toMatch(/^#\/recordings\/[0-9a-f-]{36}\?at=20/);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('bio-live-trace').first().waitFor();
    expect(await page.locator('bio-paused-traces').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 150_000);

  it('takes the whole screen, and still says that it is no alarm', async () => {
    const { page } = await openPerson();
    await page.getByRole('button', { name: 'Full screen' }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    await expect.poll(() => page.getByRole('navigation').isVisible()).toBe(false);
    const notice = page.getByText('No alarms. Not a medical device.').first();
    const { y, height } = (await notice.boundingBox())!;
    expect(y + height).toBeLessThanOrEqual(await page.evaluate(() => innerHeight));
    await picture(page, 'live-full');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Full screen' }).click();
    await expect.poll(() => page.getByRole('navigation').isVisible()).toBe(true);
    await page.context().close();
  }, 150_000);

  // promise: own-connection-live
  it("says within five seconds that its own connection is gone, with every value grey, on the person's page and the live page", async () => {
    const proxy = await TcpProxy.start(Number(new URL(dashboard.service.baseUrl).port));
    const origin = `http://127.0.0.1:${proxy.port}`;
    try {
      for (const kind of ['person', 'live'] as const) {
        const { page } = kind === 'person' ? await openPerson(origin) : await dashboard.open('/dashboard/');
        if (kind === 'live') await page.goto(`${origin}/dashboard/live#demo=${dashboard.service.demoSecret}`);
        await liveValue(page);
        const traces = await page.locator('bio-live-trace').count();
        const isSaid = async (): Promise<boolean> =>
          (await page.locator('.link').textContent())!.includes('No connection to the service') &&
          (await page.locator('.tile:not(.old)').count()) === 0 &&
          (await veils(page, 'bio-live-trace').count()) === traces;
        await lose(proxy, page, isSaid);
        if (kind === 'person') {
          // What the page holds can still be looked at.
          await page.getByRole('button', { name: 'Pause' }).click();
          await expect.poll(() => traced(page)).toBeGreaterThan(TRACE_PX);
          await page.getByRole('button', { name: 'Pause' }).click();
        }
        proxy.mode = 'pass';
        await liveValue(page);
        await page.context().close();
      }
    } finally {
      await proxy.close();
    }
  }, 240_000);

  // promise: own-connection-live
  it('says so in widgets too', async () => {
    const proxy = await TcpProxy.start(Number(new URL(dashboard.service.baseUrl).port));
    try {
      const { page } = await dashboard.open('/dashboard/');
      await page.goto(`http://127.0.0.1:${proxy.port}/dashboard/live#demo=${dashboard.service.demoSecret}`);
      await liveValue(page);
      await page.evaluate(() => {
        const chart = document.createElement('bio-trend-chart');
        chart.setAttribute('biosignals', 'HR');
        chart.setAttribute('live', 'ecg');
        chart.id = 'charted';
        document.querySelector('#provider')!.append(chart);
      });
      await expect.poll(() => page.locator('#charted bio-live-trace canvas').count()).toBe(2);
      await expect.poll(() => page.locator('#charted .veil').count(), { timeout: 20_000 }).toBe(0);
      await lose(proxy, page, async () => (await veils(page, '#charted bio-live-trace').count()) === 1);
      proxy.mode = 'pass';
      await expect.poll(() => page.locator('#charted .veil').count(), { timeout: 60_000 }).toBe(0);
      await page.context().close();
    } finally {
      await proxy.close();
    }
  }, 150_000);

  // promise: live-pause
  it('is scrolled back beyond what it holds: the rest is read', async () => {
    const { page } = await openPerson();
    await until(async () => {
      const streams = await dashboard.send<{ recorded_from: string | null }[]>('GET', `/api/v1/streams?subject_id=${person}`);
      return streams.some(({ recorded_from: from }) => from !== null && Date.now() - Date.parse(from) > 110_000);
    }, 150_000);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('slider', { name: 'Scroll back' }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageDown');
    await page.getByText('90.0 s before the pause').waitFor();
    await expect.poll(() => traced(page), { timeout: 20_000 }).toBeGreaterThan(TRACE_PX);
    await picture(page, 'live-paused-older');
    await page.context().close();
  }, 240_000);
});
