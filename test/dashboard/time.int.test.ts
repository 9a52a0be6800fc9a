/** The dashboard shows recordings by when they were recorded, in a real Chromium on the whole service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { packetOf } from '../helpers/packets.ts';

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
