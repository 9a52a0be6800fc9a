/** Pages: every row once, whatever is added meanwhile; a cursor works only for its own list. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need } from '../checks.ts';
import type { Credential } from '../client.ts';
import type { Run } from '../run.ts';
import { encoded, newBoot, packet } from '../signals.ts';
import { nextPage } from './shapes.ts';

const PAGES_MAX = 60;
const SAVED_MS_MAX = 15_000;
/** Diastolic blood pressure. */
const PRESSURE = 69;

type Listing = Readonly<{
  what: string;
  path: string;
  idOf: string;
  /** Ids that must appear, once each. */
  wanted: readonly string[];
  /** Adds something while the pages are read. */
  add: (page: number) => Promise<void>;
}>;

export async function checkLists(run: Run): Promise<void> {
  const { checks, stage, ben, client } = run;
  const as = stage.full;
  if (typeof as === 'string') return checks.skip('Pages', as);
  const people: string[] = [];
  for (let i = 0; i < 7; i++) people.push((await stage.person(`page${i}`)).id);
  const episodes: string[] = [];
  const episode = async (startedAt: string): Promise<string> => {
    const body = { subject_id: ben.id, kind: 'event', started_at: startedAt };
    return ((await checks.within({ method: 'POST', path: '/api/v1/episodes', as, body }, { status: 201 })).json as { id: string }).id;
  };
  for (let i = 0; i < 7; i++) episodes.push(await episode('2025-02-01T10:00:00Z')); // the same moment: only ids tell them apart
  const measure = async (from: number, count: number): Promise<void> => {
    const measurements = Array.from({ length: count }, (_, i) => ({
      biosignal_id: PRESSURE,
      value: 60 + ((from + i) % 40),
      time: new Date(Date.UTC(2025, 1, 2, 0, from + i)).toISOString(),
    }));
    await checks.within({ method: 'POST', path: '/api/v1/measurements', as, body: { subject_id: ben.id, measurements } }, { status: 201 });
  };
  await measure(100, 23);
  const observations = `/api/v1/observations?biosignal_id=${PRESSURE}&subject_id=${ben.id}&quality_max=2`;
  const before = (await checks.within({ method: 'GET', path: `${observations}&limit=1000`, as }, { status: 200 })).json as { id: string }[];
  const streams: string[] = [];
  const record = async (i: number): Promise<void> => {
    const sent = packet(stage.name(`list${i}`), newBoot(), 0, ben.externalId);
    await checks.within({ method: 'POST', path: '/ingest/raw-packet', as: stage.byScope.ingest, bytes: encoded(sent) }, { status: 202 });
  };
  for (let i = 0; i < 5; i++) await record(i);
  // A recording has its own place in the list once its time is saved: every 2 s.
  let recorded: { id: string; recorded_from: string | null }[];
  const endMs = performance.now() + SAVED_MS_MAX;
  do {
    const { json } = await checks.within({ method: 'GET', path: `/api/v1/streams?subject_id=${ben.id}`, as }, { status: 200 });
    recorded = json as typeof recorded;
    if (recorded.every(({ recorded_from: from }) => from !== null)) break;
    await sleep(250, undefined, { signal: client.signal });
  } while (performance.now() < endMs);
  streams.push(...recorded.map(({ id }) => id));
  const search = `/api/v1/xusers?search=${stage.name('page')}`;
  const nobodyNew = async (): Promise<void> => undefined;
  const listings: readonly Listing[] = [
    {
      what: 'people, newest first',
      path: `${search}&limit=2`,
      idOf: 'xuser_id',
      wanted: people,
      add: async (page) => void (page < 3 && (await stage.person(`page-new${page}`))),
    },
    {
      what: 'people by external id',
      path: `${search}&limit=2&sort=external_id`,
      idOf: 'xuser_id',
      wanted: people,
      add: async (page) => void (page < 3 && (await stage.person(`page-a${page}`))),
    },
    { what: 'people by name', path: `${search}&limit=3&sort=name`, idOf: 'xuser_id', wanted: people, add: nobodyNew },
    {
      what: 'episodes of the same moment',
      path: `/api/v1/episodes?subject_id=${ben.id}&limit=2`,
      idOf: 'id',
      wanted: episodes,
      add: async (page) => void (page < 3 && (await episode('2025-02-01T10:00:00Z'))),
    },
    {
      what: 'observations, newest first',
      path: `${observations}&limit=4`,
      idOf: 'id',
      wanted: before.map(({ id }) => id),
      add: (page) => measure(200 + page, 1),
    },
    {
      what: 'observations, oldest first',
      path: `${observations}&limit=4&order=asc`,
      idOf: 'id',
      wanted: before.map(({ id }) => id),
      add: (page) => measure(10 + page, 1),
    },
    {
      what: 'recordings, one a page',
      path: `/api/v1/streams?subject_id=${ben.id}&limit=1`,
      idOf: 'id',
      wanted: streams,
      add: async (page) => void (page < 2 && (await record(10 + page))),
    },
  ];
  for (const listing of listings) {
    const expected = `each of ${listing.wanted.length} once, in pages as long as asked for`;
    await checks.claim(`Pages of ${listing.what}, while some are added`, `GET ${listing.path} and its next pages`, expected, () =>
      walk(run, listing, as),
    );
  }

  const first = await client.send({ method: 'GET', path: `${observations}&limit=4`, as });
  const next = nextPage(first.headers) ?? '';
  const cursor = new URLSearchParams(next.split('?')[1]).get('cursor') ?? '';
  const turned = `${cursor.slice(0, 8)}${cursor[8] === 'A' ? 'B' : 'A'}${cursor.slice(9)}`;
  const refused = { status: 400, code: 'cursor_invalid' };
  const get = (path: string, by: Credential | string = as) => ({ method: 'GET', path, as: by });
  await checks.ask('A cursor with another letter', get(`${observations}&limit=4&cursor=${turned}`), refused);
  await checks.ask('A cursor that is cut', get(`${observations}&limit=4&cursor=${cursor.slice(0, -3)}`), refused);
  await checks.ask('A cursor of another order', get(`${observations}&limit=4&order=asc&cursor=${cursor}`), refused);
  await checks.ask('A cursor of another list', get(`/api/v1/episodes?subject_id=${ben.id}&cursor=${cursor}`), refused);
  await checks.ask(
    'A cursor of another person',
    get(`/api/v1/observations?biosignal_id=${PRESSURE}&subject_id=${run.ada.id}&quality_max=2&cursor=${cursor}`),
    refused,
  );
  await checks.ask('A cursor with another length of pages goes on', get(next.replace('limit=4', 'limit=5')), {
    status: 200,
    test: ({ json }) => (json as unknown[]).length !== 5 && 'not five',
  });
  await checks.ask('since is inclusive, until exclusive', get(`${observations}&since=2025-02-02T01:40:00Z&until=2025-02-02T01:41:00Z`), {
    status: 200,
    says: 'the one of 01:40',
    test: ({ json }) =>
      (json as { effective_time: string }[]).map((one) => one.effective_time.slice(11, 16)).join() !== '01:40' && 'another',
  });
  await checks.ask('The order is as asked', get(`${observations}&order=asc&limit=1000`), {
    status: 200,
    test: ({ json }) => {
      const times = (json as { effective_time: string }[]).map((one) => Date.parse(one.effective_time));
      return times.some((time, i) => i > 0 && time < (times[i - 1] ?? 0)) && 'not ascending';
    },
  });
}

async function walk({ client }: Run, { path, idOf, wanted, add }: Listing, as: Credential): Promise<string> {
  const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
  const seen: string[] = [];
  let next: string | null = path;
  let pages = 0;
  for (; next !== null && pages < PAGES_MAX; pages++) {
    const answer = await client.send({ method: 'GET', path: next, as });
    need(answer.status === 200, `page ${pages + 1}: ${answer.status} ${answer.code}`);
    const items = answer.json as Record<string, string>[];
    seen.push(...items.map((item) => item[idOf] ?? ''));
    next = nextPage(answer.headers);
    need(next === null ? items.length <= limit : items.length === limit, `page ${pages + 1} has ${items.length} items`);
    await add(pages);
  }
  need(next === null, `more than ${PAGES_MAX} pages`);
  const doubled = seen.length - new Set(seen).size;
  const missing = wanted.filter((id) => !seen.includes(id)).length;
  need(doubled === 0 && missing === 0, `${doubled} twice, ${missing} missing, of ${wanted.length} in ${pages} pages`);
  return `${seen.length} in ${pages} pages, none twice, none missing`;
}
