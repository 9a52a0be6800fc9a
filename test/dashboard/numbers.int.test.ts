/** Measurements as they were given, on the widgets of an application and on the dashboard, in a real Chromium on the whole service. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

let dashboard: DashboardFixture;
let project: { id: string; project_key: string };
let person: { xuser_id: string; xuser_token: string };

/** Of a project's own, and of the catalog: what a device or a person said, and what is read. */
const own = [
  { abbreviation: 'LDL-C', unit: 'mg/dL', value: 104.5, read: '104.5 mg/dL' },
  { abbreviation: 'GLU-M', unit: 'mmol/L', value: 12.3, read: '12.3 mmol/L' },
  { abbreviation: 'LEAN', unit: 'kg', value: 54.35, read: '54.4 kg' },
  { abbreviation: 'FAT', unit: '%', value: 23.4, read: '23.4 %' },
  { abbreviation: 'URINE-SG', unit: '1', value: 1.025, read: '1.025' },
] as const;
const ofCatalog = [
  { abbreviation: 'WEIGHT', value: 72.4, read: '72.4 kg' },
  { abbreviation: 'BP-SYS', value: 121, read: '121 mmHg' },
  { abbreviation: 'HR-R', value: 61.6, read: '62 /min' },
  { abbreviation: 'BT', value: 36.55, read: '36.6 °C' },
] as const;
const all = [...own, ...ofCatalog];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  const { send } = dashboard;
  project = (await send<(typeof project)[]>('GET', '/api/v1/projects'))[0]!;
  person = await send('POST', '/api/v1/sdk/token', { external_id: 'numbers', project_key: project.project_key });
  for (const [i, { abbreviation, unit }] of own.entries())
    await send('POST', `/api/v1/projects/${project.id}/biosignals`, {
      name: `Own ${abbreviation}`,
      abbreviation,
      unit,
      signal_type: 'scalar',
      source_type: 'clinician',
      code: `own${i}`,
    });
  const catalog = await send<{ id: number; abbreviation: string }[]>('GET', `/api/v1/projects/${project.id}/biosignals`);
  const idOf = (wanted: string): number => catalog.find(({ abbreviation }) => abbreviation === wanted)!.id;
  const time = new Date(Date.now() - 600_000).toISOString();
  const measurements = all.map(({ abbreviation, value }) => ({ biosignal_id: idOf(abbreviation), value, time }));
  await send('POST', '/api/v1/measurements', { subject_id: person.xuser_id, measurements });
  await send('POST', '/api/v1/goals', { subject_id: person.xuser_id, biosignal_id: idOf('FAT'), target: 22.5, agg: 'max' });
}, 120_000);

afterAll(() => dashboard?.close());

/** A page of an application, which the service does not serve. */
async function openWidgets(body: string): Promise<Page> {
  const { page } = await dashboard.open('/api-docs');
  await page.context().route('**/application', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><html lang="en"><script src="/cdn/v1/bio-widgets.js" defer></script>
        <bio-provider xuser-token="${person.xuser_token}" lang="en">${body}</bio-provider>`,
    }),
  );
  await page.goto(`${dashboard.service.baseUrl}/application`);
  return page;
}

describe.skipIf(chromiumPath === null)('a measurement', () => {
  it('keeps its decimals on the tiles of an application', async () => {
    const page = await openWidgets(
      `<bio-health-metrics biosignals="${all.map(({ abbreviation }) => abbreviation).join()}"></bio-health-metrics>`,
    );
    const tiles = page.locator('bio-health-metrics .metric');
    await expect.poll(() => tiles.count()).toBe(all.length);
    const shown = await tiles.evaluateAll((items) =>
      items.map((item) => `${item.querySelector('.value')!.textContent} ${item.querySelector('.unit')?.textContent ?? ''}`.trim()),
    );
    expect(shown).toEqual(all.map(({ read }) => read));
    await page.context().close();
  });

  it('keeps them on cards, with the least, mean and greatest value', async () => {
    const page = await openWidgets(
      all.map(({ abbreviation }) => `<bio-trend-card biosignals="${abbreviation}"></bio-trend-card>`).join(''),
    );
    await expect.poll(() => page.locator('bio-trend-card .stats').count()).toBe(all.length);
    const shown = await page
      .locator('bio-trend-card .card')
      .evaluateAll((cards) => cards.map((card) => [...card.querySelectorAll('.value, .unit, .stats dd')].map((part) => part.textContent)));
    expect(shown).toEqual(
      all.map(({ read }) => {
        const [number, unit = ''] = read.split(' ');
        return [number, unit, number, number, number];
      }),
    );
    await page.context().close();
  });

  it('keeps them above a chart and in its table, and in a ring with the goal of a person', async () => {
    const page = await openWidgets(
      `<bio-trend-chart biosignals="LDL-C,FAT,HR-R" range="1h"></bio-trend-chart><bio-progress-ring biosignals="FAT"></bio-progress-ring>
       <bio-progress-ring value="0.75" goal="1.5"></bio-progress-ring>`,
    );
    await expect.poll(() => page.locator('bio-trend-chart [part=value]').allTextContents()).toEqual(['104.5', '23.4', '62']);
    await page.locator('bio-progress-ring .value').first().waitFor();
    expect(
      await page.locator('bio-progress-ring .in').evaluateAll((rings) => rings.map((ring) => ring.textContent!.match(/[\d.]+/g))),
    ).toEqual([
      ['23.4', '22.5', '104'],
      ['0.75', '1.5', '50'],
    ]);
    await page.context().close();
  });

  it("keeps them on the person's page of the dashboard, also in a goal", async () => {
    const { page } = await dashboard.open(`/dashboard/#/users/${person.xuser_id}`, { storageState: dashboard.signedIn });
    const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Measurements' }) });
    await card.waitFor();
    const cells = await card.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.children[1]!.textContent!.trim()));
    expect(cells.toSorted()).toEqual(all.map(({ read }) => read as string).toSorted());
    expect(await page.locator('.goal').textContent()).toContain('23.4 of 22.5 %');
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('a computed value', () => {
  it('has one name: of its methods, in the list of values of a live page, and on its tile', async () => {
    const catalog = await dashboard.send<{ name: string; abbreviation: string }[]>('GET', `/api/v1/projects/${project.id}/biosignals`);
    type Method = { abbreviation: string; title: string; current: boolean };
    const methods = (await dashboard.send<Method[]>('GET', '/api/v1/methods')).filter(({ abbreviation }) => abbreviation !== '');
    const named = ({ abbreviation: wanted }: Method): string => catalog.find(({ abbreviation }) => abbreviation === wanted)!.name;
    expect(methods.length).toBeGreaterThan(60);
    expect(methods.filter((method) => method.title !== named(method))).toEqual([]);
    type Device = { xuser_id: string | null; is_flowing: boolean };
    const flowing = async () => (await dashboard.send<Device[]>('GET', '/api/v1/devices')).find(({ is_flowing: flows }) => flows);
    await expect.poll(flowing, { timeout: 60_000 }).toBeDefined();
    const { page } = await dashboard.open(`/dashboard/#/users/${(await flowing())!.xuser_id}`, { storageState: dashboard.signedIn });
    const tiles = page.locator('.vitals .tile h2');
    await tiles.first().waitFor();
    const shown = await tiles.allTextContents();
    expect(shown.slice(0, 2)).toEqual(['Heart rate from ECG', 'HRV RMSSD, 60\u00a0s']);
    await page.getByText('Choose values').click();
    const list = page.locator('details.values li label');
    await expect.poll(() => list.count()).toBeGreaterThan(60);
    const names = await list.evaluateAll((labels) =>
      labels.map((label) => label.textContent!.replace(label.querySelector('.muted')?.textContent ?? '', '')),
    );
    const known = new Set(methods.filter(({ current }) => current).map(({ title }) => title));
    const offered = names.map((name) => name.replaceAll('\u00a0', ' ').replace(' (beats)', '').trim());
    expect([...known].filter((name) => !offered.includes(name))).toEqual([]);
    await page.context().close();
  });
});
