import { expect, it } from 'vitest';
import { drawnOf, readComputedTo } from '../../dashboard/report/report-data.ts';
import type { Session } from '../../widgets/shared/session.ts';

const HOUR_MS = 3_600_000;
const nowMs = Date.parse('2026-11-26T12:00:00Z');
const iso = (hours: number): string => new Date(nowMs + hours * HOUR_MS).toISOString();

/** A service that has the samples of a stream to its end and its values for all but the last two hours. */
const session = {
  get: (path: string, { query }: { query: { since: string } }) =>
    Promise.resolve(path.endsWith('overview') ? [{ n: [5] }] : Date.parse(query.since) < nowMs - 2 * HOUR_MS ? [{}] : []),
} as unknown as Session;

it.each([
  ['began', { started_at: iso(-5), last_sample_at: iso(-0.2), is_flowing: false }, true],
  ['goes on', { started_at: iso(-50), last_sample_at: iso(-0.01), is_flowing: true }, true],
  ['ended', { started_at: iso(-50), last_sample_at: iso(-0.2), is_flowing: false }, true],
  ['ended long ago', { started_at: iso(-90), last_sample_at: iso(-30), is_flowing: false }, false],
])('values are still coming of a recording that %s', async (_, of, isComing) => {
  const stream = { id: 'a', recorded_from: iso(-20), channels: [{ code: 'ecg.ii', kind: 'ecg' }], ...of };
  const found = await readComputedTo(session, [stream] as never, { fromMs: nowMs - 168 * HOUR_MS, toMs: nowMs }, nowMs);
  if (!isComing) return expect(found).toBeNull();
  expect(Math.abs(found! - (nowMs - 2 * HOUR_MS))).toBeLessThan(60_000);
});

it('draws a short recording from one whole minute to another, as the report writes times', () => {
  const stream = { recorded_from: '2026-11-26T08:00:00.000Z', last_sample_at: '2026-11-26T08:30:05.831Z' };
  const { fromMs, toMs } = drawnOf([stream], { fromMs: nowMs - 168 * HOUR_MS, toMs: nowMs });
  expect([fromMs, toMs].map((ms) => new Date(ms).toISOString())).toEqual(['2026-11-26T07:58:00.000Z', '2026-11-26T08:32:00.000Z']);
});
