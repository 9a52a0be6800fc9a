/** Trends and the report of a person, in the dashboard and from the command line, on the whole service with an ECG of months ago. */
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { report } from '../../src/cli/report.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { ran } from '../helpers/commands.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { addPerson, sendRecording } from '../helpers/viewed-recording.ts';

const START_MS = Date.UTC(2026, 2, 28, 8);
/** Markup in what people write stays text. */
const TITLE = 'Fast <b>and</b> regular';

let dashboard: DashboardFixture;
let folder: string;
let person: string;
let stream: string;
let episode: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-report-test-'));
  dashboard = await startDashboard();
  const { send, service } = dashboard;
  const [project] = await send<{ project_key: string }[]>('GET', '/api/v1/projects');
  const body = { external_id: 'anna', project_key: project!.project_key };
  const token = await send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', body);
  person = token.xuser_id;
  await send('PATCH', `/api/v1/xusers/${person}`, { display_name: 'Anna', time_zone: 'Europe/Berlin' });
  const next = createPacketSource(createSimulatedDevice({ seed: 9, channels: ['ecg.ii'] }), {
    deviceId: 'patch-1',
    bootId: '0123456789abcdef0123456789abcdef',
    subject: '',
    startUnixNs: BigInt(START_MS) * 1_000_000n,
    packetMs: 10_000,
  });
  for (let i = 0; i < 42; i++) {
    const { packet } = next();
    const sent = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.xuser_token}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(encodePacket({ ...packet, sentUnixNs: 0n })),
    });
    expect(sent.status, await sent.text()).toBe(202);
  }
  stream = (await send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${person}`))[0]!.id;
  const [startedAt, endedAt] = [20_000, 30_000].map((ms) => new Date(START_MS + ms).toISOString());
  const found = { subject_id: person, stream_id: stream, kind: 'tachycardia', title: TITLE, started_at: startedAt, ended_at: endedAt };
  episode = (await send<{ id: string }>('POST', '/api/v1/episodes', found)).id;
  const range = { from: new Date(START_MS).toISOString(), to: new Date(START_MS + 420_000).toISOString() };
  const chart = {
    subject_id: person,
    series: [{ feature: 'hr_ecg' }, { feature: 'hrv_rmssd_60s' }, { feature: 'hrv_sdnn_300s' }],
    range,
    detail: true,
  };
  await until(async () => {
    const { detail } = await send<{ detail: { totals: { good_n: number }[] } }>('POST', '/api/v1/charts/query', chart);
    return detail.totals.every(({ good_n: good }) => good > 0);
  });
});

afterAll(async () => {
  await dashboard?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const loaded = (page: Page, selector: string): Promise<boolean> =>
  page
    .locator(selector)
    .evaluateAll((images) => images.length > 0 && images.every((image) => (image as HTMLImageElement).naturalWidth > 0));

describe.skipIf(chromiumPath === null)('a person', () => {
  // promise: clock-change-said
  it('has the zone on times of a range in which the clocks are put back: there an hour comes twice', async () => {
    const address = `/dashboard/#/users/${person}?from=2025-10-26T00:30:00Z&to=2025-10-26T01:20:00Z`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn, locale: 'en-GB' });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.getByText(/^26 Oct 2025, 02:30(:00)? CEST – 26 Oct 2025, 02:20(:00)? CET$/).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: any-trend
  it('has the course of any computed value that is chosen, which the address keeps', async () => {
    const range = 'from=2026-03-28T08:00:00Z&to=2026-03-28T08:07:00Z';
    const address = `/dashboard/#/users/${person}?${range}`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.getByRole('heading', { name: 'Heart rate and HRV' }).waitFor();
    const choice = page.locator('.trends select[name=value]');
    await expect.poll(() => choice.locator('option').count()).toBe(featureMethods.length + 1);
    await choice.selectOption({ label: 'QT interval, 60 s' });
    await chart.getByRole('heading', { name: 'QT interval, 60 s' }).waitFor();
    await expect.poll(() => chart.locator('[part=value]').first().textContent()).toMatch(/^\d{3}$/);
    expect(page.url()).toContain('value=QT');
    expect(await violations(page, '.trends')).toEqual([]);
    await page.reload();
    await chart.getByRole('heading', { name: 'QT interval, 60 s' }).waitFor();
    await choice.selectOption('');
    await chart.getByRole('heading', { name: 'Heart rate and HRV' }).waitFor();
    expect(page.url()).not.toContain('value=');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: range-in-address, point-to-trace
  it('has trends over any range, which the address keeps; a point leads to its trace', async () => {
    const address = `/dashboard/#/users/${person}?from=2026-03-28T08:00:00Z&to=2026-03-28T08:02:20Z`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.locator('canvas').first().waitFor();
    const at = async (share: number): Promise<[number, number]> => {
      await chart.locator('.u-over').first().scrollIntoViewIfNeeded();
      const over = (await chart.locator('.u-over').first().boundingBox())!;
      return [over.x + share * over.width, over.y + over.height / 2];
    };
    await page.mouse.move(...(await at(0.5)));
    await expect.poll(() => chart.locator('.readout b').first().textContent()).toMatch(/^\d+/);
    // Right below what is pointed at: below the controls it would be off the screen of a laptop.
    const [read, csv] = [await chart.locator('.readout').boundingBox(), await chart.getByRole('button', { name: 'CSV' }).boundingBox()];
    expect(read!.y + read!.height).toBeLessThanOrEqual(csv!.y);
    await page.mouse.click(...(await at(0.5)));
    await page.getByRole('heading', { name: 'Trace at' }).waitFor();
    await expect.poll(() => loaded(page, '.trends .strip img')).toBe(true);
    expect(await page.locator('.trends .strip img').getAttribute('src')).toContain(`/streams/${stream}/strip?since=2026-03-28T08%3A0`);
    expect(await violations(page, 'main')).toEqual([]);
    await page.getByRole('button', { name: 'Close' }).click();

    await page.mouse.move(...(await at(0.25)));
    await page.mouse.down();
    await page.mouse.move(...(await at(0.6)), { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/from=2026-03-28T08%3A00%3A3\d/);
    const kept = await page.evaluate(() => location.hash);
    await page.reload();
    await chart.locator('canvas').first().waitFor();
    expect(await chart.getAttribute('from')).toBe(new URLSearchParams(kept.split('?')[1]).get('from'));

    await page.getByLabel('Compare with another person').fill('nobody-here');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('There is no person nobody-here in this project.').waitFor();
    await page.getByLabel('Compare with another person').fill('demo-patient');
    await page.getByRole('button', { name: 'Compare' }).click();
    await expect.poll(() => chart.getAttribute('compare-name')).toBe('demo-patient');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('with two devices: a point of the ECG leads to its trace, not to that of the device that began later', async () => {
    const { send, service } = dashboard;
    const [project] = await send<{ project_key: string }[]>('GET', '/api/v1/projects');
    const body = { external_id: 'beata', project_key: project!.project_key };
    const { xuser_id: id, xuser_token: token } = await send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', body);
    for (const [channel, bootId, lateSec] of [
      ['ecg.ii', 'ec'.repeat(16), 0],
      ['ppg.ir', '99'.repeat(16), 5],
    ] as const) {
      const next = createPacketSource(createSimulatedDevice({ seed: 11, channels: [channel] }), {
        deviceId: `beata ${channel}`,
        bootId,
        subject: '',
        startUnixNs: BigInt(START_MS + 1000 * lateSec) * 1_000_000n,
        packetMs: 10_000,
      });
      for (let i = 0; i < 14; i++) {
        const sent = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' },
          body: Buffer.from(encodePacket({ ...next().packet, sentUnixNs: 0n })),
        });
        expect(sent.status, await sent.text()).toBe(202);
      }
    }
    const range = { from: new Date(START_MS).toISOString(), to: new Date(START_MS + 140_000).toISOString() };
    await until(async () => {
      const chart = { subject_id: id, series: [{ feature: 'hr_ecg' }], range, detail: true };
      return (
        (await send<{ detail: { totals: { good_n: number }[] } }>('POST', '/api/v1/charts/query', chart)).detail.totals[0]!.good_n > 90
      );
    });
    const streams = await send<{ id: string; device_id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    expect(streams.map(({ device_id: device }) => device)).toEqual(['beata ppg.ir', 'beata ecg.ii']); // the newest first
    const address = `/dashboard/#/users/${id}?from=${range.from}&to=${range.to}`;
    const { page } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const over = page.locator('bio-trend-chart#trend .u-over').first();
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(() => page.locator('bio-trend-chart#trend .readout b').first().textContent()).toMatch(/^\d+/);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const strip = page.locator('.trends .strip img');
    await strip.waitFor();
    expect(await strip.getAttribute('src')).toContain(`/streams/${streams[1]!.id}/strip`);
    await page.context().close();
  });

  // promise: newest-data
  it('next to another person: old values are said to be old, and of nobody without a recording a value is missing', async () => {
    const { page } = await dashboard.open(`/dashboard/#/users/${person}?range=600d`, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.getByText(/Last data .* may be out of date/).waitFor();
    await page.getByLabel('Compare with another person').fill('demo-patient');
    await page.getByRole('button', { name: 'Compare' }).click();
    await chart.locator('.legend li').filter({ hasText: 'demo-patient' }).first().waitFor();
    await chart.getByText(/Last data .* may be out of date/).waitFor();
    const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
    await dashboard.send('POST', '/api/v1/xusers', { external_id: 'unrecorded', project_key: project!.project_key });
    await page.getByLabel('Compare with another person').fill('unrecorded');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('There are no recordings of unrecorded.').waitFor();
    await chart.locator('.legend li').filter({ hasText: 'unrecorded' }).first().getByText('No data in this period').waitFor();
    await page.context().close();
  });

  // promise: compare-elsewhere
  it('next to a person of another day: it says when they were recorded, and leads there', async () => {
    const later = START_MS + 3 * 864e5;
    const other = await addPerson(dashboard, 'another-day', 'Berta', 'Europe/Berlin');
    await sendRecording(dashboard, { subject: 'another-day', deviceId: 'patch-2', bootId: '31'.repeat(16), startMs: later, seconds: 60 });
    await until(async () => (await dashboard.send<unknown[]>('GET', `/api/v1/streams?subject_id=${other}`)).length > 0);
    const address = `/dashboard/#/users/${person}?from=2026-03-28T08:00:00Z&to=2026-03-28T08:07:00Z`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.locator('canvas').first().waitFor();
    const kept = async (): Promise<URLSearchParams> => new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1]);
    const field = page.getByLabel('Compare with another person');
    const compare = async (): Promise<void> => {
      await field.fill('another-day');
      await page.getByRole('button', { name: 'Compare', exact: true }).click();
      await page.getByText('another-day was not recorded in this period. The nearest recordings of another-day:').waitFor();
      expect((await kept()).get('with')).toBe('another-day');
    };
    await compare();
    expect(await violations(page, 'main')).toEqual([]);
    // To nothing in the chart: nobody is compared with any more, also once it is opened again; and then the same person again.
    await chart.getByLabel('Compare with').selectOption('nothing');
    await expect.poll(async () => (await kept()).get('with')).toBeNull();
    await expect.poll(() => field.inputValue()).toBe('');
    expect(await page.getByText('was not recorded in this period').count()).toBe(0);
    await compare();
    await expect.poll(() => chart.getAttribute('compare')).toBe(other);
    await chart.getByLabel('Compare with').selectOption('the day before');
    await expect.poll(async () => (await kept()).get('with')).toBeNull();
    expect(await chart.getAttribute('compare')).toBe('1d');
    await compare();
    await page.locator('.elsewhere a').first().click();
    await page.getByRole('heading', { name: 'Berta' }).waitFor();
    expect((await kept()).get('with')).toBe('anna');
    expect(Date.parse((await kept()).get('from') ?? '')).toBe(later);
    // There the first has no data.
    await page.getByText('anna was not recorded in this period. The nearest recordings of anna:').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('of last year: the chart keeps its controls where it is empty, and leads to the newest data', async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn });
    const chart = page.locator('bio-trend-chart#trend');
    await chart.getByText('No data in this period').waitFor();
    expect(await violations(page, 'main')).toEqual([]);
    const period = (): Promise<string | null> => chart.locator('.tools .muted').last().textContent();
    // It ends now: a minute later it says so.
    const newest = async (): Promise<boolean> => Date.now() - Date.parse((await period())!.split(' – ')[1]!) < 3_600_000;
    expect(await newest()).toBe(true);
    await chart.getByRole('button', { name: 'Earlier' }).click();
    await expect.poll(newest).toBe(false);
    // By keyboard, too: the plot is there.
    await chart.locator('.stack').focus();
    await page.keyboard.press('Backspace');
    await expect.poll(newest).toBe(true);
    await chart.getByRole('button', { name: 'Newest data' }).press('Enter');
    await chart.locator('.legend').first().waitFor();
    expect(await page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.className)).toBe('stack');
    await page.keyboard.press('End');
    await expect.poll(() => chart.locator('.readout').textContent()).toMatch(/Mar 28, 2026.*Heart rate from ECG: \d+/s);
    const kept = new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1]);
    const [from, to] = ['from', 'to'].map((name) => Date.parse(kept.get(name) ?? '')) as [number, number];
    // Seven minutes of data are not drawn on 24 hours.
    expect(Math.abs(from - START_MS)).toBeLessThan(120_000);
    expect(Math.abs(to - (START_MS + 420_000))).toBeLessThan(120_000);
    await page.reload();
    await chart.locator('.legend').first().waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: report-whole
  it('has a report with methods, coverage and strips; it fits a phone, and paper has no controls', async () => {
    const address = `/dashboard/#/users/${person}/report?from=2026-03-28&to=2026-03-28`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn, viewport: { width: 390, height: 800 } });
    const shown = page.locator('.report');
    await shown.getByText('Not a medical device and no diagnosis').waitFor();
    await expect.poll(() => loaded(page, '.paper img')).toBe(true);
    await shown.locator('bio-trend-chart canvas').first().waitFor();
    // Ten seconds and the calibration pulse, in pixels of CSS: 96 are 25.4 mm.
    expect(await page.locator('.paper img').evaluate((image: HTMLImageElement) => Math.round((image.width * 25.4) / 96))).toBe(260);
    const text = await shown.textContent();
    for (const value of ['hrv_rmssd_60s', 'longest_rr_10s', 'qt_60s', 'ventricular_burden_300s'])
      expect(text).toContain(`derived:${value}_v`);
    expect(text).toContain(TITLE);
    expect(text).toContain('Mar 28, 2026, 12:00 AM');
    expect(text).toContain('Europe/Berlin');
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(await violations(page, 'main')).toEqual([]);
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('nav, header.top, main button').filter({ visible: true }).count()).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    await page.getByLabel('From', { exact: true }).fill('2026-03-30');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('from is not before to').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has a report that asks of no method that nothing was computed by', async () => {
    const { page } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().endsWith('/charts/query') && asked.push(request.postData() ?? '')));
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}/report?from=2026-03-28&to=2026-03-28`);
    await page.locator('.report bio-trend-chart canvas').first().waitFor();
    const codes = asked.flatMap((body) =>
      (JSON.parse(body) as { series: { method_code?: string }[] }).series.flatMap((one) => one.method_code ?? []),
    );
    const { rows } = await dashboard.database.pool.query<{ code: string }>(`select code from method where kind = 'feature'`);
    expect(new Set(codes)).toEqual(new Set(rows.map(({ code }) => code)));
    await page.context().close();
  });

  it('has a report that says how far values are computed, and draws a short recording alone', async () => {
    const address = `/dashboard/#/users/${person}/report?from=2026-03-25&to=2026-03-31`;
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    // The second half is not computed yet.
    await page.route('**/features?*', async (route) => {
      const since = Date.parse(new URL(route.request().url()).searchParams.get('since') ?? '');
      if (since > START_MS + 180_000) await route.fulfill({ json: [] });
      else await route.continue();
    });
    await page.goto(dashboard.service.baseUrl + address);
    await page.locator('.report').getByText('This report is not whole: of what was recorded after').waitFor();
    const said = await page.locator('.report .range-note').textContent();
    expect(said).toContain(new Intl.DateTimeFormat('en-US', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(START_MS + 180_000));
    await page.getByText('nothing was recorded in the rest of the range').waitFor();
    const [from, to] = await page
      .locator('.report bio-trend-chart')
      .first()
      .evaluate((chart) => ['from', 'to'].map((name) => Date.parse(chart.getAttribute(name)!)));
    expect([from! <= START_MS, to! >= START_MS + 420_000, to! - from! < 600_000]).toEqual([true, true, true]);
    await page.locator('.report bio-trend-chart canvas').first().waitFor();
    const folderOfPictures = process.env['BIO_TEST_PICTURES'];
    if (folderOfPictures !== undefined) await page.screenshot({ path: `${folderOfPictures}/report-partial.png`, fullPage: true });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it.each(['en', 'de', 'fr', 'es'])('has a report with every column in sight at a desk and on paper: %s', async (locale) => {
    const address = `/dashboard/#/users/${person}/report?from=2026-03-28&to=2026-03-28`;
    const { page } = await dashboard.open(address, { storageState: dashboard.signedIn, locale, viewport: { width: 1280, height: 900 } });
    await page.locator('.report bio-trend-chart canvas').first().waitFor();
    const cut = (): Promise<string[]> =>
      page.evaluate(() =>
        [...document.querySelectorAll('.report .scroll')]
          .filter((box) => box.querySelector('table')!.scrollWidth > box.clientWidth + 1)
          .map((box) => box.parentElement!.querySelector('h2')?.textContent ?? ''),
      );
    expect(await cut()).toEqual([]);
    // A4 within its margins.
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 688, height: 1000 });
    expect(await cut()).toEqual([]);
    const folder = process.env['BIO_TEST_PICTURES'];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/report-${locale}.png`, fullPage: true });
    // No value is called by its name of code.
    expect(await page.locator('.report bio-trend-chart .legend').allTextContents()).not.toContainEqual(expect.stringContaining('_'));
    await page.context().close();
  });

  it('has a report that says so where there are more recordings than it lists, and draws all of the range', async () => {
    const { send, service } = dashboard;
    const { xuser_id: often } = await send<{ xuser_id: string }>('POST', '/api/v1/xusers', { external_id: 'often' });
    const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
    const startMs = Date.parse('2026-02-01T00:00:00Z');
    for (let boot = 1; boot <= 201; boot++) {
      const packet = encodePacket({
        schemaVersion: 1,
        deviceId: 'often',
        bootId: boot.toString(16).padStart(32, '0'),
        seq: 0,
        t0DeviceNs: 0n,
        // The first alone is days before the others.
        t0UnixNs: BigInt(startMs + (boot === 1 ? 0 : 6 * 864e5 + 60_000 * boot)) * 1_000_000n,
        sentUnixNs: 0n,
        subject: 'often',
        firmware: '',
        blocks: [{ channel, tOffsetNs: 0, samples: new Int32Array(250).fill(boot), qmask: null }],
        measurements: [],
        events: [],
      });
      const headers = { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf' };
      const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, { method: 'POST', headers, body: Buffer.from(packet) });
      expect(answer.status, await answer.text()).toBe(202);
    }
    const span = `since=2026-01-31T00:00:00Z&until=2026-02-09T00:00:00Z`;
    await expect
      .poll(async () => (await send<unknown[]>('GET', `/api/v1/streams?subject_id=${often}&${span}&limit=300`)).length, { timeout: 60_000 })
      .toBe(201);
    const address = `/dashboard/#/users/${often}/report?from=2026-02-01&to=2026-02-07`;
    const { page } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const shown = page.locator('.report');
    await shown.getByText('There are more; these are the latest 200.').waitFor();
    await shown.locator('.figure', { hasText: 'Recordings' }).getByText('200+').waitFor();
    expect(await shown.textContent()).not.toContain('nothing was recorded in the rest of the range');
    await page.context().close();
  });

  it('has a report that says of what came just now that it is still being computed, and looks again by itself', async () => {
    const { send, service } = dashboard;
    const { xuser_id: late } = await send<{ xuser_id: string }>('POST', '/api/v1/xusers', { external_id: 'just-imported' });
    const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
    const packet = encodePacket({
      schemaVersion: 1,
      deviceId: 'just-imported',
      bootId: 'ef'.repeat(16),
      seq: 0,
      t0DeviceNs: 0n,
      t0UnixNs: BigInt(Date.parse('2026-02-01T00:00:00Z')) * 1_000_000n,
      sentUnixNs: 0n,
      subject: 'just-imported',
      firmware: '',
      blocks: [{ channel, tOffsetNs: 0, samples: new Int32Array(250).fill(7), qmask: null }],
      measurements: [],
      events: [],
    });
    const headers = { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf' };
    const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, { method: 'POST', headers, body: Buffer.from(packet) });
    expect(answer.status, await answer.text()).toBe(202);
    await expect
      .poll(async () => (await send<{ recorded_from: string | null }[]>('GET', `/api/v1/streams?subject_id=${late}`))[0]?.recorded_from)
      .toBeTruthy();
    const address = `/dashboard/#/users/${late}/report?from=2026-02-01&to=2026-02-01`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const shown = page.locator('.report');
    await shown.getByText('None so far: what came last is still being computed.').waitFor();
    expect(await shown.getByText('None in this range.').count()).toBe(0);
    await shown.locator('.figure', { hasText: 'Episodes' }).getByText('–').waitFor();
    // One of the looks fails.
    await page.route(/\/api\/v1\/episodes\?/, (route) => route.abort('internetdisconnected'), { times: 1 });
    await page.locator('#main').getByRole('alert').waitFor();
    // Without being asked.
    await shown.getByText('None in this range.').waitFor({ timeout: 130_000 });
    expect(await shown.getByText('still being computed').count()).toBe(0);
    expect(await page.locator('#main').getByRole('alert').count()).toBe(0);
    let asked = 0;
    page.on('request', (request) => void (asked += Number(request.url().includes('/api/v1/episodes'))));
    await page.waitForTimeout(9000);
    expect(asked, 'it is whole').toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  }, 250_000);

  it('has a report of days without a recording, which says so', async () => {
    const address = `/dashboard/#/users/${person}/report?from=2026-01-01&to=2026-01-02`;
    const { page, errors } = await dashboard.open(address, { storageState: dashboard.signedIn });
    const shown = page.locator('.report');
    await shown.getByText('No value was computed in this range.').waitFor();
    await shown.getByText('None in this range.').waitFor();
    expect(await shown.locator('bio-trend-chart, table').count()).toBe(0);
    expect(await violations(page, 'main')).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has a page of the report alone that goes with its address', async () => {
    const { page } = await dashboard.open(`/dashboard/report#subject=nobody`, { storageState: dashboard.signedIn });
    await page.locator('html[data-report=failed]').waitFor();
    await page.evaluate((subject) => (location.hash = `subject=${subject}&from=2026-01-01&to=2026-01-02`), person);
    await page.locator('.report').getByText('No value was computed in this range.').waitFor();
    await page.context().close();
  });

  // promise: report-range
  it('of last year: a report of no range in particular is of the days up to the newest recording, and says so', async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${person}/report`, {
      storageState: dashboard.signedIn,
      locale: 'de',
    });
    const shown = page.locator('.report');
    await shown.getByText('In den letzten 7 Tagen wurde nichts aufgezeichnet.').waitFor();
    expect(
      await page.locator('input[type=date]').evaluateAll((fields) => fields.map((field) => (field as HTMLInputElement).value)),
    ).toEqual(['2026-03-22', '2026-03-28']);
    expect(await shown.textContent()).toMatch(/derived:hrv_rmssd_60s_v\d/);
    const strip = shown.locator('.paper img');
    expect(await strip.getAttribute('alt')).toBe('Erste 10 s');
    const svg = await (await page.request.get(dashboard.service.baseUrl + (await strip.getAttribute('src'))!)).text();
    expect(svg).toContain('schraffiert: fraglich');
    expect(svg).toContain('Schläge: derived:r_peaks');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('whose recording goes on for weeks has a report of the usual days, although a shorter one began later', async () => {
    const id = await addPerson(dashboard, 'weeks', 'Wilma');
    const DAY_MS = 86_400_000;
    const startMs = Date.now() - 20 * DAY_MS;
    const sent = { subject: 'weeks', seconds: 60 };
    const pause = { at: 30, sec: (20 * DAY_MS) / 1000 - 600 };
    await sendRecording(dashboard, { ...sent, deviceId: 'weeks patch', bootId: '20'.repeat(16), startMs, pause });
    await sendRecording(dashboard, { ...sent, deviceId: 'weeks watch', bootId: '15'.repeat(16), startMs: startMs + 5 * DAY_MS });
    await until(async () => {
      const streams = await dashboard.send<{ last_sample_at: string | null }[]>('GET', `/api/v1/streams?subject_id=${id}`);
      return streams.length === 2 && streams.some(({ last_sample_at: last }) => Date.parse(last ?? '') > Date.now() - DAY_MS);
    });
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${id}/report`, { storageState: dashboard.signedIn });
    await page.locator('.report').getByText('weeks patch').first().waitFor();
    expect(await page.getByText(/Nothing was recorded in the last/).count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has an episode with the strip that the service draws', async () => {
    const { page } = await dashboard.open(`/dashboard/#/episodes/${episode}`, { storageState: dashboard.signedIn });
    await expect.poll(() => loaded(page, '.strip img')).toBe(true);
    expect(await page.getByText('No strip yet').count()).toBe(0);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('biosignal report', () => {
  const run = (args: readonly string[], key = dashboard.service.firstKey ?? '') =>
    ran(report, [...args, '--to', dashboard.service.baseUrl], { cwd: folder, env: { BIO_KEY: key } });

  // promise: report-pdf
  it('writes a PDF that only its owner reads', async () => {
    const { code, out, err } = await run(['anna', '--since', '2026-03-28', '--until', '2026-03-28']);
    expect(err).toEqual([
      'The page of anna is being made: values, charts and strips ...',
      expect.stringMatching(/^The page was whole after \d+(\.\d)? s; it is being printed \.\.\.$/),
      expect.stringMatching(/^Printed: [\d.]+ kB in \d+(\.\d)? s\.$/),
    ]);
    expect(code).toBe(0);
    expect(out).toEqual([join(folder, 'report-anna.pdf')]);
    const pdf = await readFile(out[0]!);
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    expect((await stat(out[0]!)).mode & 0o777).toBe(0o600);
    // Upright pages, and a lying one for the strips.
    const boxes = [...pdf.toString('latin1').matchAll(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/g)].map(([, w, h]) => Number(w) > Number(h));
    expect(new Set(boxes)).toEqual(new Set([false, true]));
  });

  it('writes it in a language that is asked for, and refuses one that the dashboard has not', async () => {
    const out = join(folder, 'bericht.pdf');
    const { code, err } = await run(['anna', '--since', '2026-03-28', '--until', '2026-03-28', '--language', 'de', '--out', out]);
    expect([code, err.length]).toEqual([0, 3]);
    const pdf = await readFile(out, 'latin1');
    expect(pdf).toContain('/Lang (de)');
    // Without a range: the days up to the newest recording.
    const again = ['anna', '--language', 'de', '--out', out];
    const there = await run(again);
    expect([there.code, there.err.join()]).toEqual([2, expect.stringMatching(/is there already: .* --force/)]);
    const without = await run([...again, '--force']);
    expect(without.err.join(' ')).toContain('Der Bericht ist über die 7 Tage bis zur neuesten Aufzeichnung.');
    const refused = await run(['anna', '--language', 'nl']);
    expect(refused.code).toBe(2);
    expect(refused.err.join(' ')).toContain('--language is one of en, de, fr, es');
  });

  // promise: report-key
  it('never gives the key to the browser: neither as an argument nor in its environment', async () => {
    const program = join(folder, 'not-a-browser');
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/seen\nenv >> ${folder}/seen\n`);
    await chmod(program, 0o700);
    process.env['BIO_KEY'] = dashboard.service.firstKey!;
    const { code, err } = await run(['anna', '--chromium', program, '--out', join(folder, 'never.pdf')]);
    delete process.env['BIO_KEY'];
    expect([code, err.join(' ')]).toEqual([3, expect.stringContaining('Chromium ended')]);
    const seen = await readFile(join(folder, 'seen'), 'utf8');
    expect(seen).toContain('--remote-debugging-pipe');
    expect(seen).not.toContain(dashboard.service.firstKey!);
    expect(seen).not.toContain('BIO_KEY');
  });

  it('says what is missing: a key, a browser, the user, a day', async () => {
    const said = async (...given: Parameters<typeof run>): Promise<string> => {
      const { code, err } = await run(...given);
      return `${code} ${err.join(' ')}`;
    };
    expect(await said(['anna'], '')).toMatch(/^2 .*BIO_KEY must hold an organization key/);
    expect(await said(['anna', '--chromium', '/nowhere/chromium'])).toMatch(
      /^1 .*no \/nowhere\/chromium on this machine.*apt install chromium/,
    );
    expect(await said(['nobody-here'])).toMatch(/^1 .*there is no user 'nobody-here'/);
    expect(await said(['anna', '--since', 'last week'])).toMatch(/^2 .*--since must be an ISO 8601 time/);
    expect(await said(['anna', '--since', '2026-03-29', '--until', '2026-03-28', '--force'])).toMatch(/^1 .*from is not before to/);
    expect(await said(['anna', '--key', 'x'])).toMatch(/^2 .*no option '--key'/);
  });
});
