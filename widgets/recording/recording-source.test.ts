import { expect, it, vi } from 'vitest';
import type { Session } from '../shared/session.ts';
import { RecordingSource, TILE_MS } from './recording-source.ts';

/** A recording of a minute and a half that goes on; `samples` says how its newest tile is answered. */
async function opened(samples: (signal: AbortSignal) => Promise<readonly unknown[]>): Promise<RecordingSource> {
  let endMs = 3 * TILE_MS - 10_000;
  const get = (path: string, { signal }: { signal: AbortSignal }): Promise<unknown> => {
    if (path.endsWith('/samples')) return samples(signal);
    if (path.endsWith('/beats')) return Promise.resolve([]);
    const times = { epoch_ns: 0, recorded_from: new Date(0).toISOString(), last_sample_at: new Date((endMs += 1000)).toISOString() };
    return Promise.resolve({ id: 's', subject_id: 'p', channels: [], is_flowing: true, ended_at: null, ...times });
  };
  return await RecordingSource.open({ get } as unknown as Session, 's', () => undefined, new AbortController().signal);
}

const until = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

it('a tile whose second reading was left when the viewer moved on is read again when it is shown again', async () => {
  let answer: (signal: AbortSignal) => Promise<readonly unknown[]> = () => Promise.resolve([]);
  const samples = vi.fn((signal: AbortSignal) => answer(signal));
  const source = await opened(samples);
  const newest = 2 * TILE_MS;
  expect(source.tileAt(newest)).toBe('loading');
  await expect.poll(() => typeof source.tileAt(newest)).toBe('object');

  answer = until;
  await source.refresh(new AbortController().signal);
  source.tileAt(newest);
  expect(samples).toHaveBeenCalledTimes(2);
  source.forgetOutside(0, TILE_MS);
  await expect.poll(() => samples.mock.lastCall![0].aborted).toBe(true);

  answer = () => Promise.resolve([]);
  await expect.poll(() => (source.tileAt(newest), samples.mock.calls.length)).toBe(3);
});

it('what the service judges lies over the second that it judged: its time is the end of that', async () => {
  const times = { epoch_ns: 210e6, recorded_from: new Date(210).toISOString(), last_sample_at: new Date(60_000).toISOString() };
  const stream = { id: 's', subject_id: 'p', channels: [{ code: 'ecg.ii', kind: 'ecg' }], is_flowing: false, ended_at: null, ...times };
  const post = vi.fn((_path: string, _request: { body: { range: { to: string } } }) =>
    Promise.resolve({
      data: [20, 21, 22].map((sec) => [1000 * sec, 0.5]),
      qmask: [[0], [1], [0]],
      detail: { n: [[1], [1], [1]], good_n: [[1], [0], [1]] },
    }),
  );
  const session = { get: () => Promise.resolve(stream), post } as unknown as Session;
  const { signal } = new AbortController();
  const source = await RecordingSource.open(session, 's', () => undefined, signal);
  // A value at 21.21 s, in the bucket of 21 s, is of 20.21 to 21.21 s.
  expect((await source.quality('ecg.ii', signal, [20_000, 22_000]))!.timesMs).toEqual([19_210, 20_210, 21_210]);
  expect(post.mock.calls[0]![1].body.range.to).toBe(new Date(23_000).toISOString());
});

it('an ectopic beat is found however many beats lie before it', async () => {
  const [beatMs, ectopicMs, endMs] = [600, 144_000_000, 259_200_000]; // three days at 100 a minute, which are more than one answer holds
  const times = { epoch_ns: 0, recorded_from: new Date(0).toISOString(), last_sample_at: new Date(endMs).toISOString() };
  const stream = { id: 's', subject_id: 'p', channels: [], is_flowing: false, ended_at: null, ...times };
  const beatsIn = ({ since, until, limit }: { since: string; until: string; limit: number }): unknown[] => {
    const first = Math.ceil(Math.max(0, Date.parse(since)) / beatMs);
    const count = Math.min(limit, Math.ceil(Math.min(endMs, Date.parse(until)) / beatMs) - first);
    const ms = Array.from({ length: count }, (_, i) => (first + i) * beatMs);
    const of = <T>(value: T): T[] => ms.map(() => value);
    const kind = ms.map((at) => (at === ectopicMs ? 'ectopic' : 'normal'));
    return [{ method_code: 'derived:r_peaks_v7', channel: 'ecg.ii', ts_ms: ms, interval_ms: of(beatMs), kind, qmask: of(0) }];
  };
  const get = (path: string, { query }: { query: Parameters<typeof beatsIn>[0] }): Promise<unknown> =>
    Promise.resolve(path.endsWith('/beats') ? beatsIn(query) : stream);
  const { signal } = new AbortController();
  const source = await RecordingSource.open({ get } as unknown as Session, 's', () => undefined, signal);
  expect(await source.ectopic(0, true, signal)).toBe(ectopicMs);
  expect(await source.ectopic(endMs, false, signal)).toBe(ectopicMs);
  expect(await source.ectopic(ectopicMs, true, signal)).toBeNull();
});
