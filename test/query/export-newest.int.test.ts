/** An export of a recording that goes on: pages of stored samples, and the newest of memory. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { batch, packets } from '../helpers/raw-device.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running.close());

type Line = Readonly<{ table: string; row: Readonly<{ channel: string; t0_ns: number; samples: readonly number[] }> }>;

const FS = 1000; // a row for each second
const SEC = 700;

it('has every acknowledged sample once, and asks memory once for each channel, however many pages there are', async () => {
  const { pipeline } = running.service;
  const sent = packets({ channels: 2, fs: FS, ms: 1000, count: SEC }, { sentUnixNs: 0n }, 'other');
  const ingest = async (some: typeof sent): Promise<void> => {
    const headers = { 'content-type': 'application/x-protobuf; encoding=delimited' };
    for (let i = 0; i < some.length; i += 100) {
      const answer = await running.send('POST', '/ingest/raw-packet', { body: batch(some.slice(i, i + 100)), headers });
      expect([answer.status, answer.body['rejected']], answer.text).toEqual([202, []]);
    }
  };
  await ingest(sent.slice(0, SEC - 50));
  const [{ xuser_id: id }] = (await running.send<[{ xuser_id: string }]>('GET', '/api/v1/xusers')).body;
  const stored = async (): Promise<number> => (await running.database.pool.query('select from sample_block')).rowCount ?? 0;
  await until(async () => (await stored()) > 1200, 60_000); // 300 of each channel are a page
  let questions = 0;
  const recentRuns = pipeline.recentRuns.bind(pipeline);
  pipeline.recentRuns = (...asked) => {
    questions += 1;
    return recentRuns(...asked);
  };
  const authorization = `Bearer ${running.org.apiKey.key}`;
  const reading = fetch(`${running.service.baseUrl}/api/v1/xusers/${id}/export`, { headers: { authorization } });
  await ingest(sent.slice(SEC - 50)); // while it is read
  const lines = (await (await reading).text()).trimEnd().split('\n').map((line) => JSON.parse(line) as Line); // prettier-ignore
  expect(lines.at(-1)).toEqual({ table: 'end' });
  const segments = lines.filter(({ table }) => table === 'samples').map(({ row }) => row);
  const pages = segments.filter(({ channel }) => channel === 'other.c0').length;
  expect(pages, 'of a recording without a gap').toBeGreaterThan(2);
  for (const channel of ['other.c0', 'other.c1']) {
    const own = segments.filter((one) => one.channel === channel);
    const expected = sent.flatMap(({ blocks }) => [...blocks[Number(channel.at(-1))]!.samples]);
    const read = own.flatMap(({ samples }) => samples);
    expect(read.length).toBeGreaterThanOrEqual(FS * (SEC - 50));
    expect(read, channel).toEqual(expected.slice(0, read.length));
  }
  expect(questions).toBe(2);
});
