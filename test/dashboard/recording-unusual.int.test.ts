/** Recordings that are out of the ordinary, in a real Chromium: without a signal, with a gap of days. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { picture } from '../helpers/recording-viewer.ts';
import { addPerson, sendRecording, startMs } from '../helpers/viewed-recording.ts';

const DAY_MS = 86_400_000;
let dashboard: DashboardFixture;

beforeAll(async () => {
  if (chromiumPath !== null) dashboard = await startDashboard();
}, 400_000);
afterAll(() => dashboard?.close());

type Sent = Readonly<{ id: string; last_sample_at: string | null }>;
const streamOf = async (person: string): Promise<Sent> => (await dashboard.send<[Sent]>('GET', `/api/v1/streams?subject_id=${person}`))[0];

/** @param state of the viewer that is waited for */
async function openRecording(id: string, state: string): Promise<Opened> {
  const opened = await dashboard.open(`/dashboard/#/recordings/${id}`, { storageState: dashboard.signedIn, timezoneId: 'UTC' });
  await opened.page.locator(`bio-recording[data-state=${state}]`).waitFor();
  return opened;
}

describe.skipIf(chromiumPath === null)('a recording', () => {
  it('of events alone says that nothing was recorded', async () => {
    const person = await addPerson(dashboard, 'silent', 'Sila Silent');
    const packet = encodePacket({
      schemaVersion: 1,
      deviceId: 'button',
      bootId: '61'.repeat(16),
      seq: 0,
      t0DeviceNs: 0n,
      t0UnixNs: BigInt(startMs) * 1_000_000n,
      sentUnixNs: 0n,
      subject: 'silent',
      firmware: '',
      blocks: [],
      measurements: [],
      events: [{ code: 'battery', tOffsetNs: 0, text: '5 %' }],
    });
    const answer = await fetch(`${dashboard.service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${dashboard.service.firstKey}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(packet),
    });
    expect(answer.status, await answer.text()).toBe(202);
    const { page, errors } = await openRecording((await streamOf(person)).id, 'empty');
    await page.getByText('There is no such recording, or nothing was recorded').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('with a gap of days is not called suspect where nothing was recorded', async () => {
    const person = await addPerson(dashboard, 'twice', 'Tova Twice');
    await sendRecording(dashboard, {
      subject: 'twice',
      deviceId: 'spot patch',
      bootId: '62'.repeat(16),
      startMs: startMs - 6 * DAY_MS,
      seconds: 40,
      off: [
        [5, 15],
        [25, 35],
      ],
      pause: { at: 20, sec: (6 * DAY_MS) / 1000 },
    });
    await until(async () => Date.parse((await streamOf(person)).last_sample_at ?? '') > startMs + 30_000, 60_000);
    const { id } = await streamOf(person);
    // Its quality is there.
    await until(async () => {
      const range = { from: new Date(startMs).toISOString(), to: new Date(startMs + 60_000).toISOString() };
      const body = { subject_id: person, series: [{ feature: 'sqi_ecg', channel: 'ecg.ii' }], range, max_points: 100, quality_max: 2 };
      return (await dashboard.send<{ data: unknown[] }>('POST', '/api/v1/charts/query', body)).data.length > 15;
    }, 60_000);
    const { page, errors } = await openRecording(id, 'ready');
    await page.getByLabel('Jump to').selectOption('Worst quality');
    const said = page.locator('bio-recording .said');
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await expect.poll(() => said.textContent()).toMatch(/^Worst quality, 1 of 2: [12]\d s from /);
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await expect.poll(() => said.textContent()).toMatch(/^Worst quality, 2 of 2: [12]\d s from /);
    // Along the whole only the two edges are not good: no ribbon goes over the days between.
    const share = await page
      .locator('canvas.whole')
      .first()
      .evaluate((canvas: HTMLCanvasElement) => {
        const y = Math.round((canvas.clientHeight * 0.34 + 6) * devicePixelRatio);
        const { data } = canvas.getContext('2d')!.getImageData(0, y, canvas.width, 4);
        const inked = new Set<number>();
        for (let i = 3; i < data.length; i += 4) if (data[i]! > 100) inked.add(((i - 3) / 4) % canvas.width);
        return inked.size / canvas.width;
      });
    expect(share).toBeLessThan(0.2); // ticks and frames
    expect(errors).toEqual([]);
    await picture(page, 'recording-gap-of-days');
    await page.context().close();
  });

  it('of a device with a long name, and before another of it, fits a phone', async () => {
    const person = await addPerson(dashboard, 'wordy', 'Wilhelmina'.repeat(20));
    const sent = { subject: 'wordy', deviceId: 'd'.repeat(64), seconds: 40 };
    await sendRecording(dashboard, { ...sent, bootId: '63'.repeat(16), startMs });
    await sendRecording(dashboard, { ...sent, bootId: '64'.repeat(16), startMs: startMs + 600_000 });
    const known = async (): Promise<Sent[]> => await dashboard.send('GET', `/api/v1/streams?subject_id=${person}`);
    await until(async () => (await known()).every(({ last_sample_at: last }) => last !== null), 60_000);
    const { page, errors } = await openRecording((await known()).at(-1)!.id, 'ready');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('group', { name: 'Recordings of this person' }).getByRole('link').waitFor();
    await picture(page, 'recording-long-names');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
