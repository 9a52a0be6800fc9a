/** Checks which rows a page of a recording has, and what is fetched of pages and kept. */
import { expect, it } from 'vitest';
import type { Session } from '../shared/session.ts';
import { pageAt, RecordingPages } from './recording-pages.ts';
import { RecordingSource } from './recording-source.ts';

const minute = 60_000;
const recording = { startMs: 0, endMs: 23.5 * minute, goesOn: false };

it('has a last page that is as full as the others', () => {
  expect(pageAt(recording, 0, minute, null)).toEqual({ fromMs: 0, rowMs: minute, count: 10 });
  expect(pageAt(recording, 12 * minute, minute, null).fromMs).toBe(10 * minute);
  expect(pageAt(recording, 23 * minute, minute, null).fromMs).toBe(14 * minute);
  expect(pageAt(recording, recording.endMs, 10_000, null).fromMs).toBe(22 * minute - 10_000);
});

it('does not turn the page at a step within it', () => {
  const last = pageAt(recording, 23 * minute, minute, null);
  expect(pageAt(recording, 15 * minute, minute, last)).toBe(last);
  expect(pageAt(recording, 13 * minute, minute, last).fromMs).toBe(10 * minute);
  const before = pageAt(recording, 12 * minute, minute, null);
  expect(pageAt(recording, 19 * minute, minute, before)).toBe(before);
  expect(pageAt(recording, 19 * minute, 10_000, before).fromMs).toBe(18 * minute + 20_000);
});

it('has no rows that a short recording does not fill', () => {
  expect(pageAt({ ...recording, endMs: 2.5 * minute }, minute, minute, null)).toEqual({ fromMs: 0, rowMs: minute, count: 3 });
  expect(pageAt({ ...recording, endMs: 0 }, 0, minute, null).count).toBe(1);
});

it('leaves rows where they are while more are recorded', () => {
  const live = { ...recording, goesOn: true };
  expect(pageAt(live, 23 * minute, minute, null)).toEqual({ fromMs: 20 * minute, rowMs: minute, count: 10 });
});

it('is full again when a recording has ended', () => {
  const live = pageAt({ ...recording, goesOn: true }, 23 * minute, minute, null);
  expect(pageAt(recording, 23 * minute, minute, live)).toEqual(pageAt(recording, 23 * minute, minute, null));
  const inside = pageAt({ ...recording, goesOn: true }, 12 * minute, minute, null);
  expect(pageAt(recording, 12 * minute, minute, inside)).toBe(inside);
});

type Asked = Readonly<{ since: string; buckets: number; signal: AbortSignal }>;
const none = { min: [], max: [], n: [], suspect_n: [], bad_n: [] };

/** Pages of a recording of five hours, and what they asked the service for. */
async function pagesOf(
  rateHz: number,
  answer: (asked: Asked) => Promise<unknown> = () => Promise.resolve(),
  isFlowing = (): boolean => false,
): Promise<Readonly<{ pages: RecordingPages; source: RecordingSource; asked: Asked[]; judged: AbortSignal[]; changed: string[] }>> {
  const [asked, judged, changed]: [Asked[], AbortSignal[], string[]] = [[], [], []];
  const channels = [{ code: 'ecg.ii', kind: 'ecg', rate_hz: rateHz }];
  const times = { epoch_ns: 0, recorded_from: new Date(0).toISOString(), last_sample_at: new Date(300 * minute).toISOString() };
  const get = async (path: string, { query, signal }: { query?: { since: string; buckets: number }; signal: AbortSignal }) => {
    if (query === undefined) return { id: 's', subject_id: 'p', channels, is_flowing: isFlowing(), ended_at: null, ...times };
    asked.push({ ...query, signal });
    await answer(asked.at(-1)!);
    return [{ channel: 'ecg.ii', kind: 'ecg', unit: 'mV', rate_hz: rateHz, t0_ns: Date.parse(query.since) * 1e6, step_ms: 50, ...none }];
  };
  const post = async (_: string, { signal }: { signal: AbortSignal }) => {
    judged.push(signal);
    await answer({ since: '', buckets: 0, signal });
    return { data: [], qmask: [], detail: { n: [], good_n: [] } };
  };
  const source = await RecordingSource.open({ get, post } as unknown as Session, 's', () => undefined, new AbortController().signal);
  return { pages: new RecordingPages(source, (layer) => changed.push(layer)), source, asked, judged, changed };
}

/** Draws the page that has a time, as the viewer does. @returns is all of it here? */
function draw(pages: RecordingPages, atMs: number): boolean {
  const page = pages.at(atMs, 60);
  const isHere = pages.envelopes(page, 'ecg.ii').length > 0 && pages.absent(page, 'ecg.ii').length === 0;
  pages.qualities(page, 'ecg.ii');
  pages.prefetch('ecg.ii');
  return isHere;
}

it('fetches a page at once, then the next one in the direction of turning and the one on the other side', async () => {
  const { pages, asked } = await pagesOf(250);
  const from = (): number[] => asked.map(({ since }) => Date.parse(since) / minute);
  await expect.poll(() => draw(pages, 55 * minute)).toBe(true);
  await expect.poll(from).toEqual([50, 60, 40]);
  expect(draw(pages, 45 * minute)).toBe(true);
  await expect.poll(from).toEqual([50, 60, 40, 30]);
  expect(draw(pages, 5 * minute)).toBe(false);
  await expect.poll(() => draw(pages, 5 * minute)).toBe(true);
  await expect.poll(from).toEqual([50, 60, 40, 30, 0, 10]);
});

it('never puts away the page that is shown', async () => {
  const { pages, changed } = await pagesOf(250);
  for (let page = 1; page <= 22; page++) await expect.poll(() => draw(pages, page * 10 * minute)).toBe(true);
  await expect.poll(() => draw(pages, 3 * 10 * minute)).toBe(true);
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(draw(pages, 3 * 10 * minute)).toBe(true);
  }
  changed.length = 0;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(changed).toEqual([]); // what is prefetched changes nothing that is shown
});

it('no longer waits for pages that one has gone past', async () => {
  const until = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const { pages, asked, judged } = await pagesOf(250, ({ signal }) => until(signal));
  for (let page = 0; page < 20; page++) draw(pages, page * 10 * minute);
  for (const signals of [asked.map(({ signal }) => signal), judged]) {
    expect(signals).toHaveLength(20);
    expect(signals.filter(({ aborted }) => !aborted)).toHaveLength(1);
  }
});

it('is fetched in parts where the service would make buckets of seconds', async () => {
  const { pages, asked } = await pagesOf(4000);
  await expect.poll(() => draw(pages, 5 * minute)).toBe(true);
  expect(asked.slice(0, 2).map(({ since, buckets }) => [Date.parse(since) / minute, buckets])).toEqual([
    [0, 10_000],
    [5, 10_000],
  ]);
});

it('is fetched in smaller parts from a service of an earlier release', async () => {
  const refusal = Object.assign(new Error('validation_failed'), { status: 422 });
  const { pages, asked } = await pagesOf(250, ({ buckets }) => (buckets > 5000 ? Promise.reject(refusal) : Promise.resolve()));
  await expect.poll(() => draw(pages, 5 * minute)).toBe(true);
  expect(asked.slice(0, 5).map(({ buckets }) => buckets)).toEqual([20_000, 5000, 5000, 5000, 5000]);
});

it('keeps what is here of a page when its recording ends', async () => {
  let isFlowing = true;
  const { pages, source } = await pagesOf(
    250,
    () => Promise.resolve(),
    () => isFlowing,
  );
  await expect.poll(() => draw(pages, 295 * minute)).toBe(true);
  isFlowing = false;
  const fromMs = await source.refresh(new AbortController().signal);
  expect(fromMs).not.toBeNull(); // its last values are still to come
  pages.renewAfter(fromMs!);
  expect(draw(pages, 295 * minute)).toBe(true);
});
