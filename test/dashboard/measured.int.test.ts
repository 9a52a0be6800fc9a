/** Measurements that did not come as a signal, on the page of a person, in their charts and in their report, in a real Chromium on the
 *  whole service. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { report } from '../../src/cli/report.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { ran } from '../helpers/commands.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { addPerson } from '../helpers/viewed-recording.ts';

const DAY = '2025-11-22';
const at = (clock: string): string => `${DAY}T${clock}:00Z`;
const pdftotext = '/usr/bin/pdftotext';
const pictures = process.env['BIO_TEST_PICTURES'];

let dashboard: DashboardFixture;
let folder: string;
/** Measured at home, never recorded. */
let home: string;
/** Nobody has measured anything of theirs. */
let none: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-measured-'));
  dashboard = await startDashboard();
  const { send } = dashboard;
  home = await addPerson(dashboard, 'home', 'Hanna Home', 'UTC');
  none = await addPerson(dashboard, 'none', 'Nina None', 'UTC');
  const project = (await send<{ id: string }[]>('GET', '/api/v1/projects'))[0]!;
  const own = { signal_type: 'scalar', source_type: 'clinician', unit: 'mg/dL' };
  const biosignals = `/api/v1/projects/${project.id}/biosignals`;
  await send('POST', biosignals, { ...own, name: 'Lab value', abbreviation: 'LAB0', code: 'lab0' });
  const catalog = await send<{ id: number; abbreviation: string }[]>('GET', biosignals);
  const idOf = (wanted: string): number => catalog.find(({ abbreviation }) => abbreviation === wanted)!.id;
  const measurements = [
    { biosignal_id: idOf('LAB0'), value: 104.5, time: at('08:00') },
    { biosignal_id: idOf('LAB0'), value: 108, time: at('08:02') },
    { biosignal_id: idOf('GLUCOSE'), value: 98, time: at('08:00'), method_code: 'imported:lab' },
    { biosignal_id: idOf('GLUCOSE'), value: 105, time: at('08:10') },
    { biosignal_id: idOf('WEIGHT'), value: 72.4, time: at('07:00'), method_code: 'reported:app' },
    { biosignal_id: idOf('BP-SYS'), value: 121, time: at('07:05'), quality: 1 },
    { biosignal_id: idOf('BP-SYS'), value: 123, time: at('09:05') },
  ];
  await send('POST', '/api/v1/measurements', { subject_id: home, measurements });
}, 300_000);

afterAll(async () => {
  await dashboard?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const queryOf = async (page: Page): Promise<URLSearchParams> =>
  new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1] ?? '');

/** At a desk and on a phone. */
async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  for (const width of [1400, 320]) {
    await page.setViewportSize({ width, height: 900 });
    await page.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 1200, height: 900 });
}

describe.skipIf(chromiumPath === null)('what was measured', () => {
  // promise: any-trend
  it('can be chosen as the value of the chart, where the person has values of it', async () => {
    const address = `/dashboard/#/users/${home}?from=${at('06:00')}&to=${at('10:00')}`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const choice = page.locator('.trends select[name=value]');
    const offered = choice.locator('optgroup[label=Measurements] option');
    await expect.poll(() => offered.allTextContents()).toEqual(['Blood glucose', 'Body weight', 'Lab value', 'Systolic blood pressure']);
    const chart = page.locator('bio-trend-chart#trend');
    for (const [name, value, read] of [
      ['Blood glucose', 'GLUCOSE', '105 mg/dL'],
      ['Lab value', 'LAB0', '108 mg/dL'],
      ['Body weight', 'WEIGHT', '72.4 kg'],
    ] as const) {
      await choice.selectOption({ label: name });
      await chart.getByRole('heading', { name }).waitFor();
      await expect.poll(async () => (await chart.locator('.legend li span').nth(1).textContent())?.trim()).toBe(read.replace(' ', ''));
      expect((await queryOf(page)).get('value')).toBe(value);
    }
    await page.reload();
    await chart.getByRole('heading', { name: 'Body weight' }).waitFor();
    await picture(page, 'measured-value');
    await choice.selectOption('');
    await chart.getByRole('heading', { name: 'Heart rate and HRV' }).waitFor();
    expect(await violations(page, '.trends')).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
    const other = await dashboard.open(`/dashboard/#/users/${none}`, { storageState: dashboard.signedIn });
    await other.page.locator('bio-trend-chart#trend').getByText('No data in this period').waitFor();
    await expect.poll(() => other.page.locator('.trends select[name=value] option').count()).toBeGreaterThan(60);
    expect(await other.page.locator('.trends optgroup').count()).toBe(0);
    await other.page.context().close();
  });

  // promise: newest-data
  it('is what the page of a person who was never recorded begins with, and Newest data leads to the newest of it', async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${home}`, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.getByRole('heading', { name: 'Systolic blood pressure' }).waitFor();
    await expect.poll(() => page.locator('.trends select[name=value]').inputValue()).toBe('BP-SYS');
    await chart.getByRole('button', { name: 'Newest data' }).click();
    await chart.locator('.legend').first().waitFor();
    const query = await queryOf(page);
    const [from, to, newest] = [query.get('from'), query.get('to'), at('09:05')].map((time) => Date.parse(time ?? '')) as [
      number,
      number,
      number,
    ];
    expect([from <= newest, to > newest, to - newest <= 60_000]).toEqual([true, true, true]);
    await page.reload();
    await chart.getByRole('heading', { name: 'Systolic blood pressure' }).waitFor();
    await chart.locator('.legend').first().waitFor();
    // A value that is chosen there is shown, also where nothing of it is.
    await page.locator('.trends select[name=value]').selectOption('');
    await chart.getByRole('heading', { name: 'Heart rate and HRV' }).waitFor();
    await page.reload();
    await expect.poll(() => page.locator('.trends select[name=value] optgroup option').count()).toBe(4);
    await chart.getByRole('heading', { name: 'Heart rate and HRV' }).waitFor();
    await expect.poll(() => page.locator('.trends select[name=value]').inputValue()).toBe('');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: report-whole
  it.each([
    ['en', 'Measurements', 'Body weight', '72.4 kg', 'reported by the person', 'suspect'],
    ['de', 'Messungen', 'Körpergewicht', '72,4 kg', 'von der Person angegeben', 'fraglich'],
    ['fr', 'Mesures', 'Poids', '72,4 kg', 'déclaré par la personne', 'douteux'],
    ['es', 'Mediciones', 'Peso corporal', '72,4 kg', 'comunicado por la persona', 'dudoso'],
  ])('is in the report of its range, with its unit, time and source: %s', async (locale, heading, weight, read, source, suspect) => {
    const address = `/dashboard/#/users/${home}/report?from=${DAY}&to=${DAY}`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn, locale });
    const section = page.locator('.report section', { has: page.getByRole('heading', { name: heading, exact: true }) });
    await section.waitFor();
    const rows = section.locator('tbody tr');
    expect(await rows.count()).toBe(7);
    const cells = await rows.last().locator('td').allTextContents();
    expect([cells[0], cells[1], cells[4]].map((text) => text!.trim())).toEqual([weight, read, source]);
    expect(cells[3]).toMatch(/2025.*0?7:00/);
    expect(await rows.nth(5).locator('td').nth(2).textContent()).toContain(suspect);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(await violations(page, 'main')).toEqual([]);
    await picture(page, `measured-report-${locale}`);
    // On A4, too, within its margins; from the command line it is this page that is printed.
    const [{ id: project }] = await dashboard.send<[{ id: string }]>('GET', '/api/v1/projects');
    await page.goto('about:blank');
    const asked = new URLSearchParams({ subject: home, project, from: DAY, to: DAY });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/report#${asked.toString()}`);
    await page.locator('html[data-report=ready]').waitFor();
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 688, height: 1000 });
    expect(await rows.last().isVisible()).toBe(true);
    expect(await rows.last().locator('td').allTextContents()).toEqual(cells);
    expect(await section.locator('.scroll').evaluate((box) => box.querySelector('table')!.scrollWidth <= box.clientWidth + 1)).toBe(true);
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/measured-print-${locale}.png` });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('is in a report with the latest of what came often, which says so, and without the battery of a device', async () => {
    const { send } = dashboard;
    const project = (await send<{ id: string }[]>('GET', '/api/v1/projects'))[0]!;
    const catalog = await send<{ id: number; abbreviation: string }[]>('GET', `/api/v1/projects/${project.id}/biosignals`);
    const idOf = (wanted: string): number => catalog.find(({ abbreviation }) => abbreviation === wanted)!.id;
    const subject = await addPerson(dashboard, 'often', 'Otto Often', 'UTC');
    const measurements = Array.from({ length: 30 }, (_, i) => ({
      biosignal_id: idOf('SPO2'),
      value: 90 + (i % 8),
      time: at(`08:${10 + i}`),
    }));
    const few = ['WEIGHT', 'BATT'].map((name) => ({ biosignal_id: idOf(name), value: 80, time: at('07:00') }));
    await send('POST', '/api/v1/measurements', { subject_id: subject, measurements: [...measurements, ...few] });
    const { page } = await dashboard.open(`/dashboard/#/users/${subject}/report?from=${DAY}&to=${DAY}`, {
      storageState: dashboard.signedIn,
    });
    const sentence = /of each, the latest 20 are listed: Oxygen saturation by pulse oximetry\./;
    await page.locator('.report').getByText(sentence).waitFor();
    const names = await page.locator('.report tbody tr td:first-child').allTextContents();
    expect(names.map((name) => name.trim())).toEqual([...Array<string>(20).fill('Oxygen saturation by pulse oximetry'), 'Body weight']);
    await page.locator('.figure', { hasText: 'Measurements' }).getByText('21+').waitFor();
    await page.context().close();
  });

  it('is in no report of another day', async () => {
    const address = `/dashboard/#/users/${home}/report?from=2025-11-20&to=2025-11-21`;
    const { page } = await dashboard.open(address, { storageState: dashboard.signedIn });
    await page.locator('.report').getByText('No value was computed in this range.').waitFor();
    expect(await page.locator('.report').getByRole('heading', { name: 'Measurements' }).count()).toBe(0);
    await page.context().close();
  });

  // promise: report-range
  it('ends the days of a report of no range in particular, where nothing was recorded', async () => {
    const { page } = await dashboard.open(`/dashboard/#/users/${home}/report`, { storageState: dashboard.signedIn });
    await page
      .locator('.report')
      .getByText('Nothing was recorded or measured in the last 7 days. The report is of the 7 days up to the newest measurement.')
      .waitFor();
    expect(
      await page.locator('input[type=date]').evaluateAll((fields) => fields.map((field) => (field as HTMLInputElement).value)),
    ).toEqual(['2025-11-16', DAY]);
    await page.getByRole('cell', { name: '72.4 kg' }).waitFor();
    await page.context().close();
  });

  it.skipIf(!existsSync(pdftotext))('is in the report that is printed', async () => {
    const out = join(folder, 'home.pdf');
    const key = { cwd: folder, env: { BIO_KEY: dashboard.service.firstKey! } };
    const made = await ran(report, ['home', '--since', DAY, '--until', DAY, '--out', out, '--to', dashboard.service.baseUrl], key);
    expect(made.code, made.err.join('\n')).toBe(0);
    const { stdout } = await promisify(execFile)(pdftotext, ['-layout', out, '-']);
    expect(stdout).toMatch(/Measurements/);
    expect(stdout).toMatch(/Lab value\s+104\.5 mg\/dL\s+good\s+Nov 22, 2025, 8:00.AM/);
    expect(stdout).toMatch(/Body weight\s+72\.4 kg\s+good\s+Nov 22, 2025, 7:00.AM\s+reported by the person/);
  });

  it('has nothing suspect below a chart of two that were measured at different times', async () => {
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    await page
      .context()
      .route('**/application', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><html lang="en"><script src="/cdn/v1/bio-widgets.js"></script>' }),
      );
    await page.goto(`${dashboard.service.baseUrl}/application`);
    const projectId = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/projects'))[0]!.id;
    /** Pixels of the colour of what is suspect on a chart of these, all of one unit. */
    const suspectOf = async (biosignals: string): Promise<number> => {
      await page.evaluate(
        ([subject, wanted, from, to]) => {
          document.body.innerHTML = `<bio-provider tz="UTC"><bio-trend-chart biosignals="${wanted}" from="${from}" to="${to}"></bio-trend-chart></bio-provider>`;
          Object.assign(document.querySelector('bio-provider')!, { operator: subject });
        },
        [{ subjectId: home, projectId }, biosignals, at('07:00'), at('10:00')] as const,
      );
      const canvas = page.locator('bio-trend-chart canvas');
      await canvas.waitFor();
      expect(await canvas.count()).toBe(1);
      if (pictures !== undefined) await page.screenshot({ path: `${pictures}/ribbon-${biosignals}.png` });
      return canvas.evaluate((element: HTMLCanvasElement) => {
        const probe = document.createElement('span');
        probe.style.color = 'var(--_suspect)';
        (element.getRootNode() as ShadowRoot).append(probe);
        const color = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
        probe.remove();
        const { data } = element.getContext('2d')!.getImageData(0, 0, element.width, element.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3]! > 60 && color.every((part, k) => Math.abs(data[i + k]! - part) < 12)) count++;
        return count;
      });
    };
    expect(await suspectOf('BP-SYS'), 'of one that its device doubts').toBeGreaterThan(10);
    for (const biosignals of ['LAB0', 'GLUCOSE', 'LAB0,GLUCOSE', 'GLUCOSE,LAB0']) expect(await suspectOf(biosignals), biosignals).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
