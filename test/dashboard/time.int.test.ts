/** The dashboard shows recordings by when they were recorded, in a real Chromium on the whole service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { packetOf } from '../helpers/packets.ts';
import { until } from '../helpers/until.ts';
import { addPerson, sendRecording } from '../helpers/viewed-recording.ts';

const START_MS = Date.parse('2025-03-01T22:30:00Z');
const LAST_SEQ = 5399; // an hour and a half later

let dashboard: DashboardFixture;
beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  for (const seq of [0, LAST_SEQ]) {
    const packet = packetOf('holter', seq, { subject: 'archive', sentUnixNs: 0n, t0UnixNs: 0n });
    const answer = await fetch(`${dashboard.service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${dashboard.service.firstKey}`, 'content-type': 'application/x-protobuf' },
      body: encodePacket({ ...packet, recordedUnixNs: BigInt(START_MS) * 1_000_000n + packet.t0DeviceNs }),
    });
    expect(answer.status, await answer.text()).toBe(202);
  }
});
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('an import of last year', () => {
  // promise: recorded-times
  it('shows as a recording of last year, with its length, received now', async () => {
    const [stream] = await dashboard.send<{ subject_id: string }[]>('GET', '/api/v1/streams?subject_id=archive');
    const last = new Date(START_MS + (LAST_SEQ + 1) * 1000).toISOString();
    await expect
      .poll(
        async () => (await dashboard.send<{ last_sample_at: string }[]>('GET', '/api/v1/streams?subject_id=archive'))[0]!.last_sample_at,
      )
      .toContain(last.slice(0, 19));
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${stream!.subject_id}`, { storageState: dashboard.signedIn });
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Recordings' }) });
    const row = card.getByRole('row', { name: 'holter' });
    await row.waitFor();
    const times = await row.locator('time').evaluateAll((all) => all.map((time) => Date.parse(time.getAttribute('datetime') ?? '')));
    expect(times.slice(0, 2)).toEqual([START_MS, Date.parse(last)]);
    expect(Math.abs(times[2]! - Date.now())).toBeLessThan(300_000);
    expect(await row.textContent()).toContain('1.5 h');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('does not make its device a year late', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/devices', { storageState: dashboard.signedIn });
    const row = page.getByRole('row', { name: 'holter' });
    await row.waitFor();
    const lag = await page.getByRole('columnheader').evaluateAll((all) => all.findIndex((head) => head.textContent?.trim() === 'Lag'));
    expect(lag).toBeGreaterThan(0);
    expect((await row.getByRole('cell').nth(lag).textContent())?.trim()).toBe('–');
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

const HOUR_MS = 36e5;

async function recordingOf(
  externalId: string,
  startMs: number,
  seconds: number,
  zone: string,
): Promise<{ person: string; stream: string }> {
  const person = await addPerson(dashboard, externalId, externalId, zone);
  const deviceId = `patch of ${externalId}`;
  await sendRecording(dashboard, { subject: externalId, deviceId, bootId: '0a'.repeat(16), startMs, seconds, isImport: true });
  const list = (): Promise<{ id: string; last_sample_at: string | null }[]> =>
    dashboard.send('GET', `/api/v1/streams?subject_id=${person}`);
  await until(async () => Date.parse((await list())[0]?.last_sample_at ?? '') === startMs + 1000 * seconds, 60_000);
  return { person, stream: (await list())[0]!.id };
}

describe.skipIf(chromiumPath === null)('a recording of a clock that is ahead', () => {
  // promise again: newest-data
  it('has no value of now, is where the newest data are, and has a report', async () => {
    const startMs = Math.floor((Date.now() + 20 * HOUR_MS) / 60_000) * 60_000;
    const { person } = await recordingOf('tomorrow', startMs, 300, 'UTC');
    await until(
      async () => (await dashboard.send<unknown[]>('GET', `/api/v1/observations?biosignal_id=20&subject_id=${person}`)).length > 2,
    );
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${person}`, { storageState: dashboard.signedIn });
    const chart = page.locator('#trend');
    await chart.getByText('No data in this period').waitFor();
    expect(await chart.locator('[part=value]').count()).toBe(0);
    await chart.getByRole('button', { name: 'Newest data' }).click();
    await chart.locator('[part=value]').first().waitFor();
    const to = Date.parse(new URLSearchParams(page.url().split('?')[1]).get('to') ?? '');
    expect(to).toBeGreaterThan(startMs);
    expect(to).toBeLessThanOrEqual(startMs + 300_000);

    await page.evaluate((hash) => (location.hash = hash), `#/users/${person}/report`);
    await page.getByText('Nothing was recorded in the last 7 days.').waitFor();
    expect(await page.locator('#main').innerText()).toContain('patch of tomorrow');
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('a recording over the end of summer time', () => {
  it('is gone to by times of its clocks, in the hour that comes twice as well, and is left where it is by passing through the field', async () => {
    // Europe/Berlin: 2025-10-26 03:00 CEST is 02:00 CET.
    const changeMs = Date.parse('2025-10-26T01:00:00Z');
    const { person, stream } = await recordingOf('autumn', changeMs - 300_000, 600, 'Europe/Berlin');
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${stream}`, { storageState: dashboard.signedIn });
    const field = page.locator('bio-recording').getByLabel('Go to date and time');
    await field.waitFor();
    const at = (): number => Date.parse(new URLSearchParams(page.url().split('?')[1]).get('at') ?? '');
    await field.fill('2025-10-26T02:02:00');
    await field.press('Enter');
    await expect.poll(at).toBe(changeMs + 120_000);
    await field.focus();
    await field.press('Escape');
    await page.keyboard.press('ArrowRight');
    await expect.poll(at).toBeGreaterThan(changeMs + 120_000);
    expect(at()).toBeLessThan(changeMs + 180_000);
    await field.fill('2025-10-26T02:58:00');
    await field.press('Enter');
    await expect.poll(at).toBe(changeMs - 120_000);

    // promise again: clock-change-said
    const marks = page.locator('section', { has: page.getByRole('heading', { name: 'Marks' }) });
    const starts_at = new Date(changeMs + 120_000).toISOString();
    await dashboard.send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at, text: 'in the second hour' });
    await page.reload();
    await expect.poll(() => marks.innerText()).toContain('02:02:00.000 GMT+1');
    await page.evaluate((hash) => (location.hash = hash), `#/users/${person}/recordings?on=2025-10-26`);
    const bar = page.locator('.day-lane .bar');
    await expect.poll(() => bar.getAttribute('aria-label')).toContain('02:55 GMT+2 to 02:05 GMT+1');
    // promise again: range-in-address
    await page.evaluate(
      (hash) => (location.hash = hash),
      `#/users/${person}?from=${new Date(changeMs - 300_000).toISOString()}&to=${starts_at}`,
    );
    const chart = page.locator('#trend');
    await chart.locator('[part=value]').first().waitFor();
    await chart.getByLabel('Compare with').selectOption('1d');
    await chart.getByText('No data in this period').first().waitFor();
    expect(await chart.getByText('could not be loaded').count()).toBe(0);
    await page.goBack();
    await page.getByText('As a list').click();
    expect(await page.locator('tbody time').allInnerTexts()).toEqual(['Oct 26, 2025, 02:55 GMT+2', 'Oct 26, 2025, 02:05 GMT+1']);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
