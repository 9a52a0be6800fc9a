/** Episodes as the viewer of a recording reads them, from the whole service; in Node, without a browser. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPackets } from '../helpers/ecg-packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { RecordingSource } from '../../widgets/recording/recording-source.ts';
import { Session } from '../../widgets/shared/session.ts';

const COUNT = 1020;
let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

it('has every episode of a recording, however many there are, each once', async () => {
  const { xuser_id: id, xuser_token: token } = await running.token('many');
  const startMs = Date.now() - 3_600_000;
  for (const packet of ecgPackets({ deviceId: 'many', subject: id, startMs, seconds: 60, rrSec: () => 0.8 })) {
    expect((await running.ingest(packet)).status).toBe(202);
  }
  // Of one millisecond those in the middle, where an answer ends.
  const startOf = (i: number): string => new Date(startMs + 20 * Math.min(Math.max(i, 10), COUNT - 10)).toISOString();
  for (let i = 0; i < COUNT; i += 20) {
    const made = Array.from({ length: 20 }, (_, k) =>
      running.send('POST', '/api/v1/episodes', { body: { subject_id: id, kind: 'note', title: `${i + k}`, started_at: startOf(i + k) } }),
    );
    for (const { status, text } of await Promise.all(made)) expect(status, text).toBe(201);
  }
  const [stream] = (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body;
  const { signal } = new AbortController();
  const session = new Session(running.service.baseUrl, { mode: 'token', sdkKey: '', token });
  const source = await RecordingSource.open(session, stream!.id, () => undefined, signal);
  const marks = await source.marks(signal, (english) => english);
  const titles = marks.filter(({ source: of }) => of === 'episode').map(({ label }) => Number(label));
  expect(titles.toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, i) => i));
  source.close();
});
