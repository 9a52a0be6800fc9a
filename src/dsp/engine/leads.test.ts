import { expect, test } from 'vitest';
import { LeadFeed } from './leads.ts';

const feedOf = (rateNanoHz: number): LeadFeed => new LeadFeed(1, rateNanoHz, { begin() {}, gap() {}, rows() {} });

/** Passes on runs of n samples.  @returns the buffers in which they waited */
function pass(feed: LeadFeed, count: number, n: number, k0 = 0): Float64Array[] {
  return Array.from({ length: count }, (_, i) => {
    feed.leads[0]!.room(k0 + i * n, n, false);
    const buffer = feed.leads[0]!.samples;
    feed.advance();
    return buffer;
  });
}

test.each([25, 250, 2000, 2048, 4000, 8000, 32_000])('at %d Hz a second waits in the buffer of the second before', (fs) => {
  const buffers = pass(feedOf(fs * 1e9), 6, fs);
  expect(new Set(buffers).size).toBe(1);
});

test('runs that overlap the seconds settle on one buffer, too', () => {
  const feed = feedOf(4000e9);
  const buffers = Array.from({ length: 20 }, (_, i) => {
    // a tenth more and a tenth less by turns
    feed.leads[0]!.room(i * 4000 + (i % 2) * 400, 4000 - (i % 2) * 400 + ((i + 1) % 2) * 400, false);
    const buffer = feed.leads[0]!.samples;
    feed.advance();
    return buffer;
  });
  expect(new Set(buffers.slice(2)).size).toBe(1);
});

test.each([
  [25, 2048],
  [250, 2048],
  [1000, 2048],
  [4000, 5000],
  [1_000_000, 65_536],
])('at %d Hz what a reload has grown is dropped beyond %d samples', (fs, kept) => {
  const feed = feedOf(fs * 1e9);
  pass(feed, 1, 100_000);
  expect(feed.leads[0]!.samples.length).toBe(0);
  pass(feed, 1, kept, 100_000);
  expect(feed.leads[0]!.samples.length).toBe(kept);
  pass(feed, 1, kept + 1, 100_000 + kept);
  expect(feed.leads[0]!.samples.length).toBe(0);
});
