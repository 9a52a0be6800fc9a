/** The viewer of a recording in a real Chromium, on a recording that was sent as packets, with an ectopic beat, a gap and an annotation:
 *  every gesture, the keyboard alone, what is told, the address, and what axe finds. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';

const FS = 250;
const SECONDS = 600;
const RR_SEC = 0.8;
/** Beats at 0.5 s, 1.3 s …; one too early, and no packets for 20 s. */
const ECTOPIC_SEC = 0.5 + 225 * RR_SEC - 0.35;
const GAP = [300, 320] as const;
const NOTE_SEC = 500;
const startMs = Math.floor((Date.now() - 7_200_000) / 60_000) * 60_000;
const at = (sec: number): string => new Date(startMs + 1000 * sec).toISOString();

let dashboard: DashboardFixture;
let stream: string;
let person: string;

function samples(): Int32Array {
  const values = new Int32Array(SECONDS * FS);
  for (let beat = 0; 0.5 + beat * RR_SEC < SECONDS - 1; beat++) {
    const isEctopic = Math.abs(0.5 + beat * RR_SEC - 0.35 - ECTOPIC_SEC) < 0.01;
    const sec = isEctopic ? ECTOPIC_SEC : 0.5 + beat * RR_SEC;
    for (let i = Math.floor((sec - 0.2) * FS); i < (sec + 0.5) * FS && i < values.length; i++) {
      const t = i / FS - sec;
      const width = isEctopic ? 2e-3 : 2e-4;
      values[i]! += Math.round(
        (isEctopic ? -300 : 240) * Math.exp(-(t * t) / width) + (isEctopic ? 0 : 40 * Math.exp(-((t - 0.24) ** 2) / 3e-3)),
      );
    }
  }
  return values;
}

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  const { service, send } = dashboard;
  const project = (await send<{ project_key: string }[]>('GET', '/api/v1/projects'))[0]!;
  const user = { external_id: 'viewed', project_key: project.project_key, display_name: 'Vera Viewed' };
  person = (await send<{ xuser_id: string }>('POST', '/api/v1/xusers', user)).xuser_id;
  const values = samples();
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  const second = { ...channel, code: 'ecg.v5', lead: 'V5' };
  for (let seq = 0; seq < SECONDS / 10; seq++) {
    if (10 * seq >= GAP[0] && 10 * seq < GAP[1]) continue;
    const t0DeviceNs = BigInt(seq) * 10_000_000_000n;
    const part = values.slice(seq * 10 * FS, (seq + 1) * 10 * FS);
    const packet = encodePacket({
      schemaVersion: 1,
      deviceId: 'viewed patch',
      bootId: '07'.repeat(16),
      seq,
      t0DeviceNs,
      t0UnixNs: BigInt(startMs) * 1_000_000n + t0DeviceNs,
      sentUnixNs: 0n,
      subject: 'viewed',
      firmware: '',
      blocks: [
        { channel, tOffsetNs: 0, samples: part, qmask: null },
        { channel: second, tOffsetNs: 0, samples: part.map((value) => value >> 1), qmask: null },
      ],
      measurements: [],
      events: [],
    });
    const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(packet),
    });
    expect(answer.status, await answer.text()).toBe(202);
  }
  stream = (await send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${person}`))[0]!.id;
  await send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at: at(NOTE_SEC), text: 'walked' });
  await until(async () => {
    const [beats] = await send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${stream}/beats`);
    return (beats?.ts_ns.length ?? 0) > (SECONDS - 60) / RR_SEC;
  });
}, 120_000);
afterAll(() => dashboard?.close());

async function openViewer(query = '', options: BrowserContextOptions = {}): Promise<Opened> {
  const opened = await dashboard.open(`/dashboard/#/recordings/${stream}${query}`, {
    storageState: dashboard.signedIn,
    timezoneId: 'UTC',
    ...options,
  });
  await opened.page.locator('bio-recording[data-state=ready]').waitFor();
  return opened;
}

const shownSec = async (page: Page): Promise<number> => {
  const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '');
  return (Date.parse(query.get('at') ?? '') - startMs) / 1000;
};

/** How many pixels of a canvas are not of its background. */
const inked = async (page: Page, name: string): Promise<number> =>
  await page.locator(`canvas.${name}`).evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i]! > 0) count++;
    return count;
  });

describe.skipIf(chromiumPath === null)('a recording', () => {
  it("is opened from a person's page, and shows the whole, a page and a strip", async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    await page.getByRole('link', { name: /the recording of viewed patch/ }).click();
    await page.getByRole('heading', { name: 'Recording of Vera Viewed' }).waitFor();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    for (const name of ['whole', 'rows', 'strip']) await until(async () => (await inked(page, name)) > 500);
    await until(async () => (await page.getByRole('status').filter({ hasText: 'heart rate' }).textContent())!.includes('75 /min'));
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('moves by keyboard alone, and keeps where it is in the address', async () => {
    const { page } = await openViewer(`?at=${at(100)}`);
    await page.locator('.views').focus();
    await page.keyboard.press('PageDown');
    await until(async () => Math.abs((await shownSec(page)) - SECONDS) < 2); // a page is longer than what is left
    await page.keyboard.press('Home');
    await until(async () => Math.abs(await shownSec(page)) < 1);
    await page.keyboard.press('ArrowDown');
    await until(async () => Math.abs((await shownSec(page)) - 60) < 1);
    await page.keyboard.press('+');
    await until(() => page.url().includes('speed=50'));
    const reloaded = page.url();
    await page.reload();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(page.url()).toBe(reloaded);
    await page.context().close();
  });

  it('goes to the ectopic beat, the gap and the note, and says when there is no more', async () => {
    const { page } = await openViewer(`?at=${at(20)}`);
    const [jump, next] = [page.getByLabel('Jump to'), page.getByRole('button', { name: 'Next' })];
    for (const [choice, sec] of [
      ['Ectopic beat', ECTOPIC_SEC],
      ['Gap', GAP[0]],
      ['Episode or mark', NOTE_SEC],
    ] as const) {
      await jump.selectOption(choice);
      await until(async () => {
        await next.click();
        return Math.abs((await shownSec(page)) - sec) < 2;
      });
    }
    await next.click();
    await page.getByText('There is no other one in this direction').waitFor();
    await page.context().close();
  });

  it('is dragged, wheeled and picked on the rows, and measured with calipers', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    const strip = page.locator('canvas.strip');
    await strip.scrollIntoViewIfNeeded();
    const box = (await strip.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 189, y, { steps: 4 }); // 2 s at 25 mm/s
    await page.mouse.up();
    await until(async () => Math.abs((await shownSec(page)) - 202) < 0.1);
    await page.mouse.wheel(0, 94.5);
    await until(async () => Math.abs((await shownSec(page)) - 203) < 0.1);
    await page.getByRole('checkbox', { name: 'Calipers' }).check();
    await strip.scrollIntoViewIfNeeded();
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 94.5, y, { steps: 4 });
    await page.mouse.up();
    await until(async () => /\b(99\d|100\d) ms = 60 \/min/.test((await page.locator('.measured').textContent())!));
    await page.getByRole('checkbox', { name: 'Filter' }).check();
    await page.getByText('not for measuring ST or T').waitFor();
    const rows = page.locator('canvas.rows');
    await rows.scrollIntoViewIfNeeded();
    const area = (await rows.boundingBox())!;
    await page.mouse.click(area.x + 64 + (area.width - 64) / 2, area.y + area.height * 0.15);
    await until(async () => Math.abs((await shownSec(page)) - 90) < 2);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('is whole on a phone, in the dark, from right to left and in German', async () => {
    for (const options of [
      { viewport: { width: 390, height: 844 }, hasTouch: true },
      { colorScheme: 'dark' },
      { locale: 'de-DE' },
    ] as const satisfies readonly BrowserContextOptions[]) {
      const { page, errors } = await openViewer(`?at=${at(100)}`, options);
      if (!('locale' in options)) await page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'));
      else await page.locator('bio-recording').evaluate((element) => element.setAttribute('lang', 'de'));
      if ('locale' in options) await page.getByLabel('Papiervorschub').waitFor();
      await until(async () => (await inked(page, 'strip')) > 500);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  it('says so when there is none', async () => {
    const { page } = await dashboard.open('/dashboard/#/recordings/00000000-0000-4000-8000-00000000dead', {
      storageState: dashboard.signedIn,
    });
    await page.getByRole('alert').waitFor();
    await page.context().close();
  });
});
