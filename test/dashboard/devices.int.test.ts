/** The page of devices of a large fleet, in a real Chromium on the whole service: what it asks for while it is open. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/until.ts';

let dashboard: DashboardFixture;
beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  await until(async () => (await dashboard.send<object[]>('GET', '/api/v1/devices')).length > 0);
});
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('a long list of devices', () => {
  it('asks for the devices that are drawn, not every time for all of a long list', async () => {
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    const asked: string[][] = [];
    await page.route(/\/api\/v1\/devices\?/, async (route) => {
      const { searchParams } = new URL(route.request().url());
      if (searchParams.has('flowing')) return route.continue(); // the overview's
      const ids = searchParams.get('ids');
      const answer = await route.fetch();
      const rows = (await answer.json()) as { id: string; device_id: string; last_packet_at: string | null }[];
      asked.push(ids?.split(',') ?? []);
      // A fleet of others that are not drawn: they fell silent before those.
      const more = Array.from({ length: 300 }, (_, i) => ({
        ...rows[0],
        id: crypto.randomUUID(),
        device_id: `old ${i}`,
        last_packet_at: null,
      }));
      await route.fulfill({ json: ids === null ? [...rows, ...more] : rows });
    });
    await page.evaluate(() => (location.hash = '#/devices'));
    await page.getByText('100 of 30').waitFor();
    await expect.poll(() => asked.length, { timeout: 20_000 }).toBeGreaterThan(2);
    expect(asked.map(({ length }) => length).slice(0, 3)).toEqual([0, 100, 100]);
    const real = await dashboard.send<{ id: string }[]>('GET', '/api/v1/devices');
    expect(asked[1]).toEqual(expect.arrayContaining(real.map(({ id }) => id)));
    const of = (id: string) => dashboard.send<{ id: string }[]>('GET', `/api/v1/devices?ids=${id},${crypto.randomUUID()}`);
    expect((await of(real[0]!.id)).map(({ id }) => id)).toEqual([real[0]!.id]);
    expect(await of(crypto.randomUUID())).toEqual([]);
    // What is asked for in between is shown, next to the others.
    await expect.poll(() => page.locator('tbody tr').count()).toBe(100);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows the first device of a fleet within seconds', async () => {
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    const others = /\/api\/v1\/devices\?(?!.*flowing)/;
    await page.route(others, (route) => route.fulfill({ json: [] }));
    await page.evaluate(() => (location.hash = '#/devices'));
    await page.getByText('No devices yet').waitFor();
    await page.unroute(others);
    await page.locator('tbody tr').first().waitFor({ timeout: 15_000 });
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
