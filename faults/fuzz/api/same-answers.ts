/** The same question asked in two ways has one answer: by the person and by a key, in pages and at once, as JSON, CSV and Arrow, as a chart
 *  and as a list. */
import { tableFromIPC } from 'apache-arrow';
import type { Random } from '../../../src/cli/simulator/random.ts';
import type { FuzzStage } from '../stage.ts';
import type { World } from './world.ts';

type Series = Readonly<{ name: string; ts_ns: readonly number[]; values: readonly number[]; qmask: readonly number[] }>;
type Segment = Readonly<{ channel: string; t0_ns: number; samples: readonly (number | null)[]; qmask: readonly number[] | null }>;

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;

/** Whether a device sends at this moment may change from one answer to the next. */
const lasting = (name: string, value: unknown): unknown => (name === 'is_flowing' ? undefined : value);

/** @returns what differs */
export async function compareAnswers(stage: FuzzStage, world: World, random: Random): Promise<string[]> {
  const { subject_id: subject, streamId, projectId } = world.known.ada;
  const complaints: string[] = [];
  const ask = async (path: string, who: 'ada' | 'all', more: Readonly<{ accept?: string; body?: unknown }> = {}) => {
    const headers = {
      ...world.credentials[who]!.headers,
      ...(more.accept === undefined ? {} : { accept: more.accept }),
      ...(more.body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await stage.ask(more.body === undefined ? 'GET' : 'POST', path, {
      headers,
      ...(more.body === undefined ? {} : { body: JSON.stringify(more.body) }),
    });
    if (answer.status !== 200) complaints.push(`${who} ${path}: answered ${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  };
  const json = async <T>(path: string, who: 'ada' | 'all', body?: unknown): Promise<T> =>
    JSON.parse((await ask(path, who, { body })).text) as T;
  const same = (what: string, one: unknown, other: unknown): void => {
    const [a, b] = [JSON.stringify(one, lasting), JSON.stringify(other, lasting)];
    if (a !== b) complaints.push(`${what}: ${cut(a, b)} and ${cut(b, a)}`);
  };
  /** Every page. */
  const pages = async (path: string, who: 'ada' | 'all'): Promise<unknown[]> => {
    const items: unknown[] = [];
    for (let next: string | null = path; next !== null && items.length < 5000;) {
      const answer = await ask(next, who);
      if (answer.status !== 200) return items;
      items.push(...(JSON.parse(answer.text) as unknown[]));
      next = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1] ?? null;
    }
    return items;
  };

  const own = `subject_id=${subject}`;
  for (const list of ['tasks', 'task-schedules', 'goals'])
    same(`${list} by the person and by a key`, await json(`/api/v1/${list}`, 'ada'), await json(`/api/v1/${list}?${own}`, 'all'));
  for (const list of ['streams', 'episodes', 'observations?biosignal_id=20', 'observations?biosignal_id=20&quality_max=2&order=asc']) {
    const path = `/api/v1/${list}${list.includes('?') ? '&' : '?'}`;
    const whole = await json<unknown[]>(`${path}limit=1000`, 'ada').catch(() => null);
    if (whole === null) continue;
    same(`${list} by the person and by a key`, whole, await json(`${path}limit=1000&${own}`, 'all'));
    same(`${list} in pages and at once`, await pages(`${path}limit=${pick(random, [1, 2, 3, 7])}&${own}`, 'all'), whole);
  }
  for (const list of ['devices', 'audit-log', 'xusers', 'methods', 'device-profiles', 'webhooks', 'signal-quality', 'fleet/episodes'])
    await pages(`/api/v1/${list}${/methods|profiles|webhooks/.test(list) ? '' : '?limit=2'}`, 'all');
  same(
    'biosignals by the person and by a key',
    await json(`/api/v1/projects/${projectId}/biosignals`, 'ada'),
    await json(`/api/v1/projects/${projectId}/biosignals`, 'all'),
  );

  const stream = `/api/v1/streams/${streamId}`;
  const features = await json<Series[]>(`${stream}/features?limit=100000`, 'all');
  same('features by the person and by a key', await json(`${stream}/features?limit=100000`, 'ada'), features);
  same(
    'features in pages and at once',
    joined((await pages(`${stream}/features?limit=${pick(random, [1, 3, 10])}`, 'all')) as Series[]),
    joined(features),
  );
  await compareSamples(stream, ask, same);
  await compareCounts(features, subject, json, same);
  return complaints;
}

/** By name and time: a page may say a value again. */
function joined(list: readonly Series[]): readonly string[] {
  return [
    ...new Set(list.flatMap(({ name, ts_ns: times, values, qmask }) => times.map((ts, i) => `${name} ${ts} ${values[i]} ${qmask[i]}`))),
  ].sort();
}

type Ask = (
  path: string,
  who: 'ada' | 'all',
  more?: Readonly<{ accept?: string }>,
) => Promise<Readonly<{ text: string; bytes: Uint8Array }>>;
type Same = (what: string, one: unknown, other: unknown) => void;

async function compareSamples(stream: string, ask: Ask, same: Same): Promise<void> {
  const path = `${stream}/samples?since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z`;
  const segments = JSON.parse((await ask(path, 'all')).text) as Segment[];
  const rows = segments.flatMap(({ channel, samples, qmask }) => samples.map((value, i) => `${channel} ${value ?? ''} ${qmask?.[i] ?? 0}`));
  const lines = (await ask(path, 'all', { accept: 'text/csv' })).text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  same(
    'samples as CSV and JSON',
    lines.map(([, channel, value, flag]) => `${channel} ${value} ${flag}`),
    rows,
  );
  const table = tableFromIPC((await ask(path, 'all', { accept: 'application/vnd.apache.arrow.stream' })).bytes);
  const column = (name: string): readonly unknown[] => [...(table.getChild(name) ?? [])] as unknown[];
  const [channels, values, flags] = [column('channel'), column('value'), column('quality')];
  const times = (table.getChild('ts_ns')?.data ?? []).flatMap((part) => [...(part.values as BigInt64Array)]); // a value of a vector is in ms
  same(
    'samples as Arrow and JSON',
    channels.map((channel, i) => `${String(channel)} ${typeof values[i] === 'number' ? values[i] : ''} ${String(flags[i])}`),
    rows,
  );
  same(
    'times of samples as Arrow and CSV',
    times.map(String),
    lines.map(([time]) => time),
  );
}

/** How many values a chart counts is how many the list has. */
async function compareCounts(
  features: readonly Series[],
  subject: unknown,
  json: <T>(path: string, who: 'ada' | 'all', body?: unknown) => Promise<T>,
  same: Same,
): Promise<void> {
  const some = features.slice(0, 8);
  if (some.length === 0) return;
  const times = some.flatMap(({ ts_ns: list }) => list).map((ns) => ns / 1e6);
  const range = { from: new Date(Math.min(...times) - 60_000).toISOString(), to: new Date(Math.max(...times) + 60_000).toISOString() };
  for (const resolution of ['1s', '1m', '1h']) {
    const body = {
      series: some.map(({ name }) => ({ feature: name, agg: 'count' })),
      range,
      resolution,
      max_points: 10_000,
      quality_max: 2,
    };
    const chart = await json<{ data: readonly (readonly (number | null)[])[] }>('/api/v1/charts/query', 'ada', body);
    const counts = some.map((_, i) => chart.data.reduce((sum, row) => sum + (row[i + 1] ?? 0), 0));
    same(
      `counts of ${some.map(({ name }) => name).join()} in a chart of ${resolution} and in the list`,
      counts,
      some.map(({ values }) => values.length),
    );
    same('a chart by the person and by a key', chart, await json('/api/v1/charts/query', 'all', { ...body, subject_id: subject }));
  }
}

/** Where it begins to differ. */
function cut(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  return text.slice(Math.max(0, at - 60), at + 160);
}
