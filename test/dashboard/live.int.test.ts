/** The live page on the whole service with its simulated device: pause and scroll back, the full screen, and the loss of the browser's own
 *  connection on the person's page, on the live page and in widgets. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { requireConsents, startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { startWard } from '../helpers/ward.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';

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
}, 300_000);
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

/** Marks of beats above the paused strip: runs of dark pixels on the line that crosses them. */
function markedBeats(page: Page): Promise<number> {
  return page.locator('bio-paused-traces canvas').evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 19, canvas.width, 1);
    const isDark = Array.from({ length: canvas.width }, (_, x) => data[4 * x]! + data[4 * x + 1]! + data[4 * x + 2]! < 450);
    return isDark.filter((one, x) => one && isDark[x - 1] !== true).length;
  });
}

const LOST = 'No connection to the service';

/** Pulls the cable, and looks at what is said within five seconds: every trace in the element has it, and every value is grey. The page
 *  looks, not the test, whose questions to a busy browser take their time. */
async function lose(proxy: TcpProxy, page: Page, within: string): Promise<void> {
  const startedMs = Date.now();
  proxy.mode = 'hole';
  const said = await page.waitForFunction(
    ([selector, words]) => {
      const deep = (root: ParentNode): Element[] =>
        [...root.querySelectorAll('*')].flatMap((element) => [element, ...(element.shadowRoot === null ? [] : deep(element.shadowRoot))]);
      const top = document.querySelector(selector)!;
      const all = [...deep(top), ...(top.shadowRoot === null ? [] : deep(top.shadowRoot))];
      const traces = all.filter(({ localName }) => localName === 'bio-live-trace');
      const says = ({ textContent }: Element | ShadowRoot): boolean => (textContent ?? '').includes(words);
      const isSaid =
        traces.length > 0 && traces.every((trace) => says(trace.shadowRoot!)) && all.filter((e) => e.matches('.link')).every(says);
      return isSaid && !all.some((element) => element.matches('.tile:not(.old)')) ? Date.now() : 0;
    },
    [within, LOST] as const,
    { polling: 50, timeout: 20_000 },
  );
  const tookMs = (await said.jsonValue()) - startedMs;
  console.log(`lost connection: said after ${tookMs} ms`);
  await picture(page, 'live-lost');
  expect(tookMs).toBeLessThan(5000);
}

/** What an electrode that is off gives, of 200 steps per mV. */
const OPEN = 1000;

/** A device with the twelve leads, whose last electrode is off, and which sends until it is stopped. */
async function startTwelveLeads(leads: readonly string[]): Promise<{ person: string; stop: () => void }> {
  const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
  const user = { external_id: 'twelve', project_key: project!.project_key, display_name: 'Twelve Leads' };
  const { xuser_id: person } = await dashboard.send<{ xuser_id: string }>('POST', '/api/v1/xusers', user);
  const [packetMs, rateHz] = [500, 250];
  const startMs = Date.now();
  const valueAt = (sec: number, lead: number): number => {
    if (leads[lead] === 'v6') return OPEN;
    const sinceBeat = (sec % 0.8) - 0.3;
    const size = lead === 3 ? -0.8 : 0.3 + 0.07 * lead;
    return 200 * size * (Math.exp(-(sinceBeat ** 2) / 2e-4) + 0.2 * Math.exp(-((sinceBeat - 0.25) ** 2) / 3e-3)) + 5 * Math.sin(sec * 97);
  };
  let seq = 0;
  const send = async (): Promise<void> => {
    const t0Ms = seq * packetMs;
    const packet = encodePacket({
      schemaVersion: 1,
      deviceId: 'twelve',
      bootId: '12'.repeat(16),
      seq: seq++,
      t0DeviceNs: BigInt(t0Ms) * 1_000_000n,
      t0UnixNs: BigInt(startMs + t0Ms) * 1_000_000n,
      sentUnixNs: BigInt(Date.now()) * 1_000_000n,
      subject: 'twelve',
      firmware: '',
      blocks: leads.map((code, lead) => ({
        channel: {
          code: `ecg.${code}`,
          kind: 'ecg',
          rateNanoHz: rateHz * 1e9,
          gain: 200,
          baseline: 0,
          unit: code === 'v4' ? '1' : 'mV',
          lead: '', // as a table that was imported has it
        },
        tOffsetNs: 0,
        samples: Int32Array.from({ length: (rateHz * packetMs) / 1000 }, (_, i) => Math.round(valueAt(t0Ms / 1000 + i / rateHz, lead))),
        qmask: null,
      })),
      measurements: [],
      events: [],
    });
    const answer = await fetch(`${dashboard.service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${dashboard.service.firstKey}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(packet),
    });
    expect(answer.status, await answer.text()).toBe(202);
  };
  await send();
  const timer = setInterval(() => void send(), packetMs);
  return { person, stop: () => clearInterval(timer) };
}

/** Until the recording is longer than what a page holds. */
async function untilRecordedLong(): Promise<void> {
  await until(async () => {
    const streams = await dashboard.send<{ recorded_from: string | null }[]>('GET', `/api/v1/streams?subject_id=${person}`);
    return streams.some(({ recorded_from: from }) => from !== null && Date.now() - Date.parse(from) > 110_000);
  }, 150_000);
}

describe.skipIf(chromiumPath === null)('the live page', () => {
  // promise: live-any-value
  it('shows any computed value that is chosen, in words and with its unit; what is not there stands there without a number', async () => {
    const all = featureMethods.map(({ feature }) => feature);
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}?values=${all.join(',')}`);
    await liveValue(page);
    const tiles = page.locator('.vitals .tile');
    await expect.poll(() => tiles.count(), { timeout: 60_000 }).toBe(all.length);
    // What is computed within a minute of the demo's signals.
    for (const feature of ['sqi_ecg', 'sqi_ppg', 'longest_rr_10s', 'af_index', 'perfusion_index', 'ventricular_run_10s', 'qt_60s'])
      await expect
        .poll(() => page.locator(`.tile[data-feature=${feature}] output`).textContent(), { timeout: 90_000 })
        .toMatch(/^\d+(\.\d)?\d?$/);
    await expect.poll(() => page.locator('.tile[data-feature=worn_ppg] output').textContent()).toBe('yes');
    await picture(page, 'live-values');
    const shown = await tiles.evaluateAll((found) =>
      found.map((tile) => [
        tile.getAttribute('data-feature')!,
        tile.querySelector('h2')!.textContent!.trim(),
        tile.querySelector('output')!.textContent!.trim(),
        tile.querySelector('.unit')!.textContent!.trim(),
        tile.querySelector('.foot')!.textContent!.trim(),
      ]),
    );
    expect(shown.map(([feature]) => feature)).toEqual(all);
    for (const [feature, name, number, unit, foot] of shown as [string, string, string, string, string][]) {
      expect([feature, name]).toEqual([feature, expect.stringMatching(/^[^_]{3,}$/)]);
      expect([feature, number]).toEqual([feature, expect.stringMatching(/^(--|-?[\d.,]+|yes|no)$/)]);
      expect([feature, unit]).toEqual([feature, expect.not.stringMatching(/[{}[\]]/)]);
      expect([feature, foot]).toEqual([feature, expect.stringMatching(/\p{L}/u)]);
    }
    expect(new Set(shown.map(([, name]) => name)).size).toBe(all.length);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('chooses values as it chooses traces, and the address keeps them', async () => {
    const { page, errors } = await openPerson();
    const before = await page.locator('.vitals .tile').count();
    const choice = page.locator('details.values');
    await choice.getByText('Choose values').click();
    await expect.poll(() => choice.getByRole('checkbox').count()).toBe(featureMethods.length);
    expect(await choice.getByRole('checkbox', { name: 'Heart rate from ECG' }).isChecked()).toBe(true);
    await choice.getByRole('checkbox', { name: 'QT corrected (Hodges), 60 s' }).check();
    await page.locator('.tile[data-feature=qtc_hodges_60s]').waitFor();
    expect(await page.locator('.vitals .tile').count()).toBeGreaterThan(before);
    await choice.getByRole('checkbox', { name: 'Heart rate from ECG' }).uncheck();
    await page.locator('.tile[data-feature=hr_ecg]').waitFor({ state: 'detached' });
    expect(new URLSearchParams(page.url().split('?')[1]).get('values')).toMatch(/^(?!.*hr_ecg).*,qtc_hodges_60s$/);
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.locator('.tile[data-feature=qtc_hodges_60s]').waitFor();
    await choice.getByText('Choose values').click();
    await choice.getByRole('button', { name: 'Usual values' }).click();
    await page.locator('.tile[data-feature=hr_ecg]').waitFor();
    expect(await page.locator('.tile[data-feature=qtc_hodges_60s]').count()).toBe(0);
    expect(page.url()).not.toContain('values=');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Choose values');
    expect(await choice.getByRole('button', { name: 'Usual values' }).count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that the values to choose from could not be read, goes on without them, and asks again', async () => {
    const { page, errors } = await openPerson();
    let isAway = true;
    await page.route(/\/api\/v1\/methods/, (route) =>
      isAway ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503}' }) : route.continue(),
    );
    const words = 'The list of values could not be read from the service.';
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${person}?values=hr_ecg,qtc_hodges_60s`);
    await page.reload();
    await liveValue(page);
    await page.locator('.vitals').getByText(words).waitFor();
    const choice = page.locator('details.values');
    await choice.getByText('Choose values').click();
    await choice.getByText(words).waitFor();
    expect(await violations(page)).toEqual([]);
    await picture(page, 'live-values-failed');
    isAway = false;
    await choice.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.tile[data-feature=qtc_hodges_60s]').waitFor();
    await expect.poll(() => choice.getByRole('checkbox').count()).toBe(featureMethods.length);
    expect(await page.getByText(words).count()).toBe(0);
    expect(errors.filter((error) => !error.includes('503'))).toEqual([]);
    await page.context().close();
  });

  // promise: live-pause
  it('is paused, scrolled back over what it holds and what the service has, and goes on', async () => {
    const { page, errors } = await openPerson();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/Paused at \d\d:\d\d:\d\d (UTC|GMT|[A-Z]{3,4}).*The numbers go on/).waitFor();
    await expect.poll(() => traced(page)).toBeGreaterThan(TRACE_PX);
    // The legend has them; the last ones come when they are judged.
    await expect.poll(() => markedBeats(page), { timeout: 60_000 }).toBeGreaterThan(3);
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
  });

  // promise: live-calipers
  it('is measured and marked while it is paused: by pointer, and by keyboard alone', async () => {
    const { page, errors } = await openPerson();
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => traced(page)).toBeGreaterThan(TRACE_PX);
    const strip = page.getByRole('group', { name: /^Traces, by keyboard/ });
    const reading = page.locator('bio-paused-traces output');
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    const canvas = (await page.locator('bio-paused-traces canvas').boundingBox())!;
    const pxPerSec = (25 * 96) / 25.4;
    await page.mouse.move(canvas.x + 200, canvas.y + 60);
    await page.mouse.down();
    await page.mouse.move(canvas.x + 200 + pxPerSec, canvas.y + 60, { steps: 4 });
    await page.mouse.up();
    const [, ms] = /^(\d+) ms = 60 \/min, ECG II -?[\d.]+ mV$/.exec((await reading.textContent()) ?? '') ?? [];
    expect(Math.abs(Number(ms) - 1000)).toBeLessThan(15);
    await strip.focus();
    for (const key of ['[', 'ArrowLeft', ']']) await page.keyboard.press(key);
    await expect.poll(() => reading.textContent()).toMatch(/^500 ms = 120 \/min/);
    expect(await violations(page)).toEqual([]);
    await picture(page, 'live-calipers');

    await page.getByRole('button', { name: 'Mark between the calipers' }).click();
    await page.getByLabel('Kind').selectOption('symptom');
    await page.getByLabel('Text').fill('felt dizzy');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^Marks: .* felt dizzy$/).waitFor();
    const [mark] = await dashboard.send<{ starts_at: string; ends_at: string; kind: string }[]>(
      'GET',
      `/api/v1/annotations?subject_id=${person}`,
    );
    expect(mark).toMatchObject({ kind: 'symptom', text: 'felt dizzy', made_by_name: 'Ada' });
    expect(Date.parse(mark!.ends_at) - Date.parse(mark!.starts_at)).toBe(500);
    await strip.focus();
    await page.keyboard.press('C'); // with Caps Lock on
    await page.getByRole('button', { name: 'Mark the middle' }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('of two devices: a mark is of the recording that has the trace, whichever device began last', async () => {
    const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
    const user = { external_id: 'two-devices', project_key: project!.project_key };
    const { xuser_id: id } = await dashboard.send<{ xuser_id: string }>('POST', '/api/v1/xusers', user);
    const { baseUrl, firstKey } = dashboard.service;
    const strap = await startWard(baseUrl, firstKey!, [{ id, channels: ['ecg.ii'] }]);
    const list = () => dashboard.send<{ id: string; device_id: string; channels: object[] }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    await until(async () => (await list()).length === 1);
    const ring = await startWard(baseUrl, firstKey!, [{ id: 'two-devices', channels: ['ppg.ir'] }]);
    try {
      await until(async () => (await list()).filter(({ channels }) => channels.length > 0).length === 2);
      const { page, errors } = await dashboard.open(`/dashboard/#/users/${id}`, { storageState: dashboard.signedIn });
      for (const channel of ['ecg', 'ppg']) await page.locator(`bio-live-trace.${channel}[channel*="${channel}"]`).first().waitFor();
      await liveValue(page);
      await page.getByRole('button', { name: 'Pause' }).click();
      const mark = async (channel: string): Promise<void> => {
        await page.getByRole('button', { name: 'Mark the middle' }).click();
        const dialog = page.getByRole('dialog');
        const named = () => dialog.getByLabel('Channel').locator('option').allTextContents();
        await expect.poll(named).toEqual(['All channels', 'ECG II', 'PPG finger']);
        await dialog.getByLabel('Channel').selectOption(channel);
        await dialog.getByLabel('Text').fill(`of ${channel}`);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await expect.poll(() => dialog.count()).toBe(0);
      };
      for (const channel of ['ecg.ii', 'ppg.ir', '']) await mark(channel);
      const shown = page.getByText(/^Marks: /);
      const ofThem = async (): Promise<string[]> =>
        ((await shown.textContent()) ?? '').match(/\bof(?: \w+\.\w+)?(?=;|\s*$)/g)?.toSorted() ?? [];
      await expect.poll(ofThem, { timeout: 60_000 }).toEqual(['of', 'of ecg.ii', 'of ppg.ir']);
      const streamOf = new Map((await list()).map((stream) => [stream.device_id, stream.id]));
      const marks = await dashboard.send<{ stream_id: string; text: string }[]>('GET', `/api/v1/annotations?subject_id=${id}`);
      expect(Object.fromEntries(marks.map(({ text, stream_id: stream }) => [text, stream]))).toEqual({
        'of ecg.ii': streamOf.get(`ward-${id}`),
        'of ppg.ir': streamOf.get('ward-two-devices'),
        of: streamOf.get(`ward-${id}`),
      });
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      strap.stop();
      ring.stop();
    }
  });

  it('begins with the device, and has the beats of one that has begun another recording', async () => {
    const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
    const user = { external_id: 'restarted', project_key: project!.project_key };
    const { xuser_id: id } = await dashboard.send<{ xuser_id: string }>('POST', '/api/v1/xusers', user);
    const { baseUrl, firstKey } = dashboard.service;
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${id}`, { storageState: dashboard.signedIn });
    await page.getByText('No device of this user is sending right now.').waitFor();
    let device = await startWard(baseUrl, firstKey!, [{ id }]);
    try {
      await liveValue(page); // without a reload
      const behind = async (): Promise<number> =>
        Number(/(\d+) s behind/.exec((await page.locator('bio-beat-review p').textContent()) ?? '')?.[1] ?? NaN);
      await expect.poll(behind, { timeout: 90_000 }).toBeGreaterThan(0);
      device.stop();
      device = await startWard(baseUrl, firstKey!, [{ id }]);
      await sleep(55_000); // by then no beat of the recording before is shown
      await expect.poll(behind, { timeout: 60_000 }).toBeLessThan(50);
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      device.stop();
    }
  });

  // promise: live-view
  it('shows what was chosen, by keyboard alone: speed, gain, traces and their order, which the address keeps', async () => {
    const { page, errors } = await openPerson();
    const shown = (): Promise<string[]> =>
      page.locator('bio-live-trace').evaluateAll((all) => all.map((one) => one.getAttribute('channel') ?? ''));
    await expect.poll(async () => (await shown()).length).toBeGreaterThan(1);
    const [first = '', second = ''] = await shown();
    await page.getByLabel('Speed').selectOption('12.5 mm/s');
    await page.getByLabel('Gain').selectOption('20 mm/mV');
    await page.locator('bio-live-trace').first().getByText('12.5 mm/s · 20 mm/mV').waitFor();
    await page.getByText('Choose traces').focus();
    await page.keyboard.press('Enter');
    const down = page.locator(`.order [data-trace="${first}"]`).getByRole('button', { name: /^Down/ });
    await down.focus();
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await shown()).slice(0, 2)).toEqual([second, first]);
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest('li')?.dataset['trace'])).toBe(first);
    await page.locator(`.order [data-trace="${second}"] input`).focus();
    await page.keyboard.press('Space');
    await expect.poll(shown).not.toContain(second);
    expect(await violations(page)).toEqual([]);
    await picture(page, 'live-chosen');
    const chosen = await shown();
    expect(page.url()).toContain(`speed=12.5&gain=20&traces=${encodeURIComponent(chosen.join())}`);
    await page.reload();
    await expect.poll(shown, { timeout: 30_000 }).toEqual(chosen);
    await page.locator('bio-live-trace').first().getByText('12.5 mm/s · 20 mm/mV').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => traced(page)).toBeGreaterThan(TRACE_PX);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: unusable-hidden, no-number, no-rate-of-a-flat-line
  it('shows no heart rate while the line of the electrodes is flat', async () => {
    const [project] = await dashboard.send<{ project_key: string }[]>('GET', '/api/v1/projects');
    const user = { external_id: 'electrode-off', project_key: project!.project_key };
    const { xuser_id: id } = await dashboard.send<{ xuser_id: string }>('POST', '/api/v1/xusers', user);
    const device = await startWard(dashboard.service.baseUrl, dashboard.service.firstKey!, [{ id, channels: ['ecg.ii', 'ppg.ir'] }]);
    try {
      const { page, errors } = await dashboard.open(`/dashboard/#/users/${id}`, { storageState: dashboard.signedIn });
      await liveValue(page);
      await page.locator('.tile:not(.old)[data-feature=hr_ppg] output', { hasText: /^\d+$/ }).waitFor();
      device.takeOff(id);
      const seen = await page.evaluate(async () => {
        const found = new Set<string>();
        let looks = 0;
        const isUnusable = (kind: string): boolean =>
          document.querySelector(`bio-live-trace.${kind}`)?.shadowRoot?.querySelector('.q2') != null;
        let sinceMs = Infinity;
        for (const endMs = performance.now() + 20_000; performance.now() < endMs;) {
          await new Promise(requestAnimationFrame);
          if (!isUnusable('ecg') || !isUnusable('ppg')) continue;
          sinceMs = Math.min(sinceMs, performance.now());
          if (performance.now() - sinceMs < 600) continue; // the page draws values twice a second
          looks++;
          for (const name of ['hr_ecg', 'hr_ppg']) {
            const tile = document.querySelector(`.tile[data-feature=${name}]`)!;
            found.add(`${tile.querySelector('output')!.textContent} ${tile.querySelector('.q')?.textContent}`);
          }
        }
        return { isLooked: looks > 20, found: [...found] };
      });
      expect(seen).toEqual({ isLooked: true, found: ['-- Unusable'] });
      await picture(page, 'live-off');
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      device.stop();
    }
  }, 240_000);

  // promise: twelve-leads
  // promise: flat-is-unusable
  it('shows twelve leads as they are printed, on a phone in two columns, and as rows', async () => {
    const leads = ['i', 'ii', 'iii', 'avr', 'avl', 'avf', 'v1', 'v2', 'v3', 'v4', 'v5', 'v6'];
    const twelve = await startTwelveLeads(leads);
    try {
      const { page, errors } = await dashboard.open('/dashboard/', {
        storageState: dashboard.signedIn,
        viewport: { width: 1280, height: 900 },
      });
      await until(async () => {
        const [stream] = await dashboard.send<{ is_flowing: boolean }[]>('GET', `/api/v1/streams?subject_id=${twelve.person}`);
        return stream?.is_flowing === true;
      });
      await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${twelve.person}`);
      const cells = page.locator('.leads bio-live-trace');
      await expect.poll(() => cells.count(), { timeout: 60_000 }).toBe(12);
      const places = (): Promise<string[][]> =>
        cells.evaluateAll((all) => {
          const rows = new Map<number, [number, string][]>();
          for (const cell of all) {
            const { top, left } = cell.getBoundingClientRect();
            const row = [...rows.keys()].find((one) => Math.abs(one - top) < 20) ?? top;
            rows.set(row, [...(rows.get(row) ?? []), [left, cell.getAttribute('channel')!.slice(4)]]);
          }
          const sorted = [...rows].sort(([a], [b]) => a - b);
          return sorted.map(([, row]) => row.sort(([a], [b]) => a - b).map(([, code]) => code));
        });
      expect(await places()).toEqual([
        ['i', 'avr', 'v1', 'v4'],
        ['ii', 'avl', 'v2', 'v5'],
        ['iii', 'avf', 'v3', 'v6'],
      ]);
      expect(await page.locator('.rhythm bio-live-trace').getAttribute('channel')).toBe('ecg.ii');
      await page.locator('.leads').getByText('ECG aVR').waitFor();
      // Where the unit is not known, nothing is said of mV.
      const scaleOf = (code: string) => page.locator(`.leads bio-live-trace[channel="ecg.${code}"] [part=scale]`).textContent();
      await expect.poll(() => scaleOf('v4')).toMatch(/^25 mm\/s · [\d.,]+ \/ cm$/);
      expect(await scaleOf('v3')).toContain('25 mm/s · 10 mm/mV');
      await liveValue(page);
      // A line that does not move is nobody's heart, whatever the device says of it.
      await page.locator('.leads bio-live-trace[channel="ecg.v6"]').getByText('Unusable').waitFor();
      await page.locator('.leads bio-live-trace[channel="ecg.v5"]').getByText('Good').waitFor();
      await picture(page, 'live-12');
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      await expect.poll(async () => (await places())[0]).toEqual(['i', 'v1']);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      await picture(page, 'live-12-phone');
      await page.getByLabel('Layout').selectOption('Rows');
      await expect.poll(() => cells.count()).toBe(0);
      expect(await page.locator('bio-live-trace').count()).toBe(8);
      const names = () =>
        page.locator('bio-live-trace').evaluateAll((all) => all.map((one) => one.shadowRoot!.querySelector('.lead')!.textContent));
      await expect.poll(names).toEqual(['I', 'II', 'III', 'aVR', 'aVL', 'aVF', 'V1', 'V2'].map((lead) => `ECG ${lead}`));
      expect(page.url()).toContain('layout=rows');
      await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${twelve.person}?values=hr_ecg,hr_ppg,eda_tonic,hrv_dfa_alpha1_300s`);
      const footOf = (feature: string) => page.locator(`.tile[data-feature=${feature}] .foot`).textContent();
      for (const feature of ['hr_ppg', 'eda_tonic']) await expect.poll(() => footOf(feature)).toContain('no signal for it so far');
      expect(await footOf('hrv_dfa_alpha1_300s')).toContain('shown when it is computed next');
      await picture(page, 'live-no-signal');
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      twelve.stop();
    }
  });

  // promise: full-screen-fits
  it.each([
    [1280, 720],
    [1920, 1080],
    [3840, 2160],
    [390, 844],
  ])('fits the whole screen, %i by %i: every trace and the heart rate, without scrolling', async (width, height) => {
    const { page } = await openPerson();
    await page.setViewportSize({ width, height });
    await page.getByRole('button', { name: 'Full screen' }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    const outside = (): Promise<string[]> =>
      page.evaluate(() => {
        const all = [...document.querySelectorAll('bio-live-trace, .tile[data-feature=hr_ecg], .notice, .link')];
        const isInside = (element: Element): boolean => {
          const { top, bottom, left, right, height: tall } = element.getBoundingClientRect();
          return tall > 0 && top >= 0 && left >= 0 && bottom <= innerHeight + 0.5 && right <= innerWidth + 0.5;
        };
        const { scrollHeight, scrollWidth } = document.documentElement;
        const names = all.filter((one) => !isInside(one)).map((one) => `${one.tagName} ${one.className}`);
        return scrollHeight > innerHeight || scrollWidth > innerWidth ? [...names, 'the page scrolls'] : names;
      });
    await expect.poll(outside).toEqual([]);
    expect(await page.locator('bio-live-trace').count()).toBeGreaterThan(2);
    await picture(page, `live-full-${width}`);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

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
  });

  // promise: own-connection-live
  it("says within five seconds that its own connection is gone, with every value grey, on the person's page and the live page", async () => {
    const proxy = await TcpProxy.start(Number(new URL(dashboard.service.baseUrl).port));
    const origin = `http://127.0.0.1:${proxy.port}`;
    try {
      for (const kind of ['person', 'live'] as const) {
        const { page } = kind === 'person' ? await openPerson(origin) : await dashboard.open('/dashboard/');
        if (kind === 'live') await page.goto(`${origin}/dashboard/live#demo=${dashboard.service.demoSecret}`);
        await liveValue(page);
        await lose(proxy, page, 'body');
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
  });

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
      await lose(proxy, page, '#charted');
      proxy.mode = 'pass';
      await expect.poll(() => page.locator('#charted .veil').count(), { timeout: 60_000 }).toBe(0);
      await page.context().close();
    } finally {
      await proxy.close();
    }
  });

  // promise: live-consent
  it('takes every value of a person off the page when they withdraw consent to sharing, and goes on soon after it is given again', async () => {
    const [project] = await dashboard.send<{ id: string }[]>('GET', '/api/v1/projects');
    const consent = (granted: boolean) =>
      dashboard.send('POST', `/api/v1/xusers/${person}/consents`, { purpose: 'sharing', granted, document: '' });
    await consent(true);
    await requireConsents(dashboard, ['sharing']);
    try {
      // The recording began anew, with the rules.
      await until(async () => {
        const streams = await dashboard.send<{ is_flowing: boolean }[]>('GET', `/api/v1/streams?subject_id=${person}`);
        return streams.some(({ is_flowing: flows }) => flows);
      });
      const { page, errors } = await openPerson();
      // As a page of one's own has them, over a connection of their own.
      await page.evaluate(
        ([subjectId, projectId]) => {
          const provider = document.createElement('bio-provider');
          provider.id = 'own';
          Object.assign(provider, { operator: { subjectId, projectId } });
          const chart = document.createElement('bio-trend-chart');
          for (const [name, value] of Object.entries({ biosignals: 'HR', range: '15m', refresh: '2s' })) chart.setAttribute(name, value);
          provider.append(document.createElement('bio-live-trace'), chart);
          document.body.append(provider);
        },
        [person, project!.id],
      );
      const held = () =>
        page.evaluate(() => {
          const trace = document.querySelector('#own bio-live-trace')!.shadowRoot!;
          const canvas = trace.querySelectorAll('canvas')[1]!;
          const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
          return {
            numbers: [...document.querySelectorAll('.tile output')].filter((output) => /\d/.test(output.textContent ?? '')).length,
            charts: [...document.querySelectorAll('bio-trend-chart')].filter((chart) => chart.shadowRoot!.querySelector('.u-over') !== null)
              .length,
            isTraced: data.some((value) => value > 0),
          };
        });
      await expect.poll(held, { timeout: 60_000 }).toMatchObject({ isTraced: true, charts: expect.any(Number) });
      await expect.poll(async () => (await held()).charts, { timeout: 60_000 }).toBeGreaterThan(1);

      await consent(false);
      await page.getByText('This person has not consented to sharing').waitFor({ timeout: 90_000 });
      await expect.poll(held, { timeout: 90_000 }).toEqual({ numbers: 0, charts: 0, isTraced: false });
      await page.locator('#own bio-live-trace').getByText('Access refused').waitFor({ timeout: 90_000 });
      await picture(page, 'live-withdrawn');

      await consent(true);
      await page.locator('.tile:not(.old)[data-feature=hr_ecg]').getByText(/^\d+$/).waitFor({ timeout: 90_000 });
      await expect.poll(async () => (await held()).isTraced, { timeout: 90_000 }).toBe(true);
      await expect.poll(() => page.locator('#own bio-live-trace .veil').count(), { timeout: 90_000 }).toBe(0);
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      await requireConsents(dashboard, []);
    }
  }, 500_000);

  // promise: live-pause
  it('is scrolled back beyond what it holds: the rest is read', async () => {
    const { page } = await openPerson();
    await untilRecordedLong();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('slider', { name: 'Scroll back' }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageDown');
    await page.getByText('90.0 s before the pause').waitFor();
    await expect.poll(() => traced(page), { timeout: 20_000 }).toBeGreaterThan(TRACE_PX);
    await picture(page, 'live-paused-older');
    await page.context().close();
  });

  it('says once that beats could not be read while it is paused, and asks for them a few times', async () => {
    const { page } = await openPerson();
    // The newest part is read every 3 s, the others fail: 503.
    const asked = new Map<string, number>();
    await page.route(/\/beats\?/, async (route) => {
      const since = new URL(route.request().url()).searchParams.get('since')!;
      if (Date.parse(since) % 30_000 !== 0) return route.continue(); // of the strip that is not paused
      asked.set(since, (asked.get(since) ?? 0) + 1);
      const isNewest = since === [...asked.keys()].toSorted().at(-1);
      await (isNewest ? route.continue() : route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503}' }));
    });
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => asked.size).toBeGreaterThan(0);
    await page.locator('bio-paused-traces').evaluate((element) => {
      const seen = globalThis as unknown as { alerts: number };
      seen.alerts = 0;
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of addedNodes) if (node instanceof Element && node.getAttribute('role') === 'alert') seen.alerts += 1;
      }).observe(element.shadowRoot!, { childList: true, subtree: true });
    });
    await page.getByRole('slider', { name: 'Scroll back' }).focus();
    await page.keyboard.press('PageDown'); // 30 s
    await page.getByRole('alert').getByText('Beats could not be read from the service.').waitFor();
    await page.waitForTimeout(20_000);
    expect(await page.evaluate(() => (globalThis as unknown as { alerts: number }).alerts)).toBe(1);
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.waitForTimeout(40_000);
    const before = new Map(asked);
    await page.waitForTimeout(35_000);
    const [newest] = [...before.keys()].toSorted().toReversed();
    for (const [since, count] of before) if (since !== newest) expect([since, asked.get(since)]).toEqual([since, count]);
    await page.unroute(/\/beats\?/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await page.context().close();
  }, 300_000);

  it('asks again after some seconds, not at once, for what could not be read while it is paused', async () => {
    await untilRecordedLong();
    const { page } = await openPerson();
    let asked = 0;
    const samples = /\/samples\?/;
    await page.route(samples, async (route) => {
      asked += 1;
      await route.abort();
    });
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('slider', { name: 'Scroll back' }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageDown');
    await page.getByText('90.0 s before the pause').waitFor();
    await expect.poll(() => asked).toBeGreaterThan(0);
    await page.waitForTimeout(2500);
    expect(asked, 'of five parts at most').toBeLessThan(20);
    await page.unroute(samples);
    await expect.poll(() => traced(page), { timeout: 30_000 }).toBeGreaterThan(TRACE_PX);
    await page.context().close();
  });
});
