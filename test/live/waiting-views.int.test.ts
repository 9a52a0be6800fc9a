/** Views that wait: for the answer whether a person may be seen, and for the last frames of another node. What happens meanwhile counts. */
import { afterEach, expect, it } from 'vitest';
import type { MemoryService } from '../../bench/lib/memory-service.ts';
import { KEY, startMemoryService } from '../../bench/lib/memory-service.ts';
import type { SubjectId } from '../../src/signal.ts';
import { until } from '../helpers/until.ts';

const ann = 'ann' as SubjectId;
let service: MemoryService;
let socket: WebSocket;
afterEach(async () => {
  socket.close();
  await service.stop();
});

type Held = Readonly<{ asked: readonly string[]; release: () => void }>;

/** Answers wait until they are released; those that are asked for later wait for the next release. */
function held(): Held & Readonly<{ wait: (what: string) => Promise<void> }> {
  const asked: string[] = [];
  let waiting: (() => void)[] = [];
  return {
    asked,
    wait: (what) => {
      asked.push(what);
      return new Promise((done) => void waiting.push(done));
    },
    release: () => {
      const due = waiting;
      waiting = [];
      for (const done of due) done();
    },
  };
}

type Seen = Readonly<{ types: readonly string[]; closed: () => number | null }>;

async function watch(query: string): Promise<Seen> {
  const types: string[] = [];
  let code: number | null = null;
  socket = new WebSocket(`ws://127.0.0.1:${service.port}/ws?${query}`, ['bio.v1', `bio.bearer.${Buffer.from(KEY).toString('base64url')}`]);
  socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'string') types.push((JSON.parse(data) as { type: string }).type);
  });
  socket.addEventListener('close', (event) => void (code = event.code));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return { types, closed: () => code };
}

const watched = (): string[] => Array.from(service.hub.watching(), ({ selection }) => selection);

// promise: consent-sharing
it('a person whose consent ends while frames of another node are awaited is not shown', async () => {
  const frames = held();
  let may = true;
  service = await startMemoryService({
    live: {
      resolveSubject: (_, subject) => Promise.resolve(may ? (subject as SubjectId) : null),
      fetchFrames: (_, selection) => frames.wait(selection),
    },
  });
  const viewer = await watch('subject=ann');
  await until(() => frames.asked.length === 1);
  may = false;
  service.hub.closeSubject(ann, 'unavailable');
  frames.release();
  await until(() => viewer.closed() !== null);
  expect(viewer.closed()).toBe(4507);
  expect(watched()).toEqual([]);
});

it('one of several of whom that holds is gone, and the others are shown', async () => {
  const frames = held();
  const [one, other] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;
  let may = true;
  service = await startMemoryService({
    live: {
      resolveSubject: (_, subject) => Promise.resolve(may || subject === other ? (subject as SubjectId) : null),
      fetchFrames: (_, selection) => frames.wait(selection),
    },
  });
  const viewer = await watch(`subject=${one}&also=${other}`);
  await until(() => frames.asked.length === 2);
  may = false;
  service.hub.closeSubject(one as SubjectId, 'unavailable');
  frames.release();
  await until(() => frames.asked.length === 3);
  frames.release();
  await until(() => watched().length === 1);
  expect(viewer.types.filter((type) => type === 'gone')).toHaveLength(1);
  expect(viewer.closed()).toBe(null);
  expect([...service.hub.watching()].map(({ subjectId }) => subjectId)).toEqual([other]);
});

it('an answer that is older than the end of a consent is asked for again', async () => {
  const answers = held();
  let may = true;
  service = await startMemoryService({
    live: {
      resolveSubject: async (_, subject) => {
        const found = may ? (subject as SubjectId) : null;
        await answers.wait(subject);
        return found;
      },
    },
  });
  const viewer = await watch('subject=ann');
  await until(() => answers.asked.length === 1);
  may = false;
  service.hub.closeSubject(ann, 'unavailable');
  answers.release();
  await until(() => answers.asked.length === 2);
  answers.release();
  await until(() => viewer.closed() !== null);
  expect(viewer.closed()).toBe(4507);
  expect(watched()).toEqual([]);
});

it('of two selections that follow each other at once the second is fetched and shown', async () => {
  const frames = held();
  service = await startMemoryService({ live: { fetchFrames: (_, selection) => frames.wait(selection) } });
  await watch('subject=ann');
  await until(() => frames.asked.length === 1);
  frames.release();
  await until(() => watched().length === 1);
  for (const channels of [['ecg.ii'], ['ppg.ir']]) socket.send(JSON.stringify({ type: 'subscribe', channels }));
  await until(() => frames.asked.length === 2);
  frames.release();
  await until(() => frames.asked.length === 3);
  frames.release();
  await until(() => watched().length === 1);
  expect(frames.asked).toEqual(['', 'ecg.ii', 'ppg.ir']);
  expect(watched()).toEqual(['ppg.ir']);
});
