/** Lists that can be sorted and searched, with the choice in the address. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/until.ts';
import { startWard } from '../helpers/ward.ts';
import type { Ward } from '../helpers/ward.ts';

const EPISODES = 210;
const RECORDINGS = 23;

let dashboard: DashboardFixture;
let ward: Ward;
let often: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  const { send, service } = dashboard;
  const [project] = await send<{ id: string; project_key: string }[]>('GET', '/api/v1/projects');
  const levels = [80, 12, 45];
  const people: { id: string; batteryPercent: number }[] = [];
  for (const [i, batteryPercent] of levels.entries()) {
    const body = { external_id: `bed-${i + 1}`, project_key: project!.project_key };
    people.push({ id: (await send<{ xuser_id: string }>('POST', '/api/v1/xusers', body)).xuser_id, batteryPercent });
  }
  ward = await startWard(service.baseUrl, service.firstKey!, people);
  often = people[2]!.id;
  // One more of the same device at each boot.
  const boots = await startWard(
    service.baseUrl,
    service.firstKey!,
    Array.from({ length: RECORDINGS - 1 }, () => ({ id: often, channels: ['resp'] as const, batteryPercent: 45 })),
  );
  await until(async () => (await send<unknown[]>('GET', `/api/v1/streams?subject_id=${often}&limit=100`)).length === RECORDINGS);
  boots.stop();
  for (let i = 0; i < EPISODES; i++) {
    const [minute, second] = [Math.floor(i / 60), i % 60].map((n) => String(n).padStart(2, '0'));
    await send('POST', '/api/v1/episodes', {
      subject_id: people[0]!.id,
      kind: 'alert',
      title: `episode ${i}`,
      severity: i === 0 ? 'high' : 'low',
      started_at: `2026-03-01T08:${minute}:${second}Z`,
    });
  }
}, 240_000);

afterAll(async () => {
  ward?.stop();
  await dashboard?.close();
});

describe.skipIf(chromiumPath === null)('lists of the dashboard', () => {
  // promise: devices-sorted
  it('devices are sorted by what is chosen and searched, and the address keeps it', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/devices', { storageState: dashboard.signedIn });
    const users = async (): Promise<(string | undefined)[]> =>
      (await page.locator('tbody tr').allTextContents()).map((text) => /bed-\d|demo-patient/.exec(text)?.[0]);
    await expect.poll(async () => (await page.locator('tbody').textContent())?.includes('45 %')).toBe(true);
    await page.getByLabel('Sort by').selectOption('battery');
    expect((await users()).slice(0, 3)).toEqual(['bed-2', 'bed-3', 'bed-1']);
    await page.reload();
    await expect.poll(users).toContain('bed-2');
    expect((await users())[0]).toBe('bed-2');
    await page.getByLabel('Search', { exact: false }).first().fill('BED-3');
    await expect.poll(users).toEqual(['bed-3']);
    expect(page.url()).toContain('sort=battery&search=BED-3');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 60_000);

  // promise: recordings-paged
  it('every recording of a person can be reached', async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${often}`, { storageState: dashboard.signedIn });
    const rows = page.locator('section.card', { has: page.getByRole('heading', { name: 'Recordings' }) }).locator('tbody tr');
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(20);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(RECORDINGS);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 60_000);

  // promise: episodes-paged
  it('an open episode older than the newest 200 can be reached, and the most severe comes first when asked for', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/episodes', { storageState: dashboard.signedIn });
    await page.getByText('episode 209', { exact: true }).waitFor();
    expect(await page.getByText('episode 0', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('episode 0', { exact: true }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(EPISODES);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.getByLabel('Sort by').selectOption('severity');
    await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain('episode 0');
    await page.reload();
    await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain('episode 0');
    expect(page.url()).toContain('sort=severity');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 60_000);
});
