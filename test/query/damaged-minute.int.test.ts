// A stored minute of values, and one of beats, whose bytes are damaged on the disk: what is asked for comes without them, and the operator
// is told once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { putBeats, putFeatures } from '../helpers/put-derived.ts';
import { ecg, openTestStream } from '../helpers/recording.ts';
import { runService, type Answer, type RunningService } from '../helpers/running-service.ts';

const START = '2026-01-01T12:00:00Z';
const DAMAGED = '2026-01-01T12:02:00Z';
const END = '2026-01-01T12:05:00Z';
const MINUTES = 5;
const SECONDS = 60 * MINUTES;

let running: RunningService;
let stream: string;

beforeAll(async () => {
  running = await runService();
  const { database, org } = running;
  const { xuser_id: subjectId } = await running.token('ada');
  const { streamId } = await openTestStream(new StreamRegistry(database), { ...org, subjectId } as never, [ecg]);
  await database.pool.query(
    `insert into method (kind, name, code, cadence_hz, unit)
     values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min'), ('beat', 'r_peaks', 'derived:r_peaks_v1', null, '')
     on conflict do nothing`,
  );
  await database.pool.query(`update stream set recorded_from = $1, last_sample_at = $2`, [START, END]);
  const of = (kind: string, columns: string): string =>
    `select (extract(epoch from t) * 1000000)::bigint * 1000 as ts_ns, ${columns}, ${streamId} as stream_id, m.id as method_id, 0::smallint as qmask
     from method m, generate_series($1::timestamptz, $2::timestamptz - interval '1 second', interval '1 second') t where m.kind = '${kind}'`;
  await putFeatures(database, of('feature', `60::float8 as value, (-1)::smallint as channel_no`), [START, END]);
  await putBeats(database, of('beat', `1000::float8 as interval_ms, 0::smallint as channel_no, 0::smallint as kind, '' as reason`), [
    START,
    END,
  ]);
  const { rows } = await database.pool.query<{ uuid: string }>('select uuid from stream');
  stream = rows[0]!.uuid;
});
afterAll(() => running.close());

/** How many values a chart by ten seconds, values, and beats have. */
async function counts(): Promise<Record<string, number>> {
  const { send } = running;
  const range = `since=${START}&until=${END}&limit=1000`;
  const features = await send<{ values: number[] }[]>('GET', `/api/v1/streams/${stream}/features?${range}`);
  const beats = await send<{ ts_ns: unknown[] }[]>('GET', `/api/v1/streams/${stream}/beats?${range}`);
  // Pages of a minute: one of them ends where the damaged minute begins.
  let paged = 0;
  for (let path: string | undefined = `/api/v1/streams/${stream}/features?since=${START}&until=${END}&limit=60`; path !== undefined;) {
    const page: Answer<{ values: number[] }[]> = await send('GET', path);
    paged += page.body[0]?.values.length ?? 0;
    path = /<([^>]+)>; *rel="?next/.exec(page.headers.get('link') ?? '')?.[1];
  }
  const chart = await send<{ data: unknown[] }>('POST', '/api/v1/charts/query', {
    body: { subject_id: 'ada', series: [{ feature: 'hr_ecg' }], range: { from: START, to: END }, resolution: '10s' },
  });
  const status = [features, beats, chart].map((answer) => `${answer.status} ${answer.status === 200 ? '' : answer.text}`.trim());
  expect(status).toEqual(['200', '200', '200']);
  return { values: features.body[0]!.values.length, beats: beats.body[0]!.ts_ns.length, paged, buckets: chart.body.data.length };
}

// promise: damaged-minute
test('a damaged minute is left out of answers, the other minutes are there, and it is reported once', async () => {
  const { database, faults, send } = running;
  expect(await counts()).toEqual({ values: SECONDS, beats: SECONDS, paged: SECONDS, buckets: SECONDS / 10 });
  for (const table of ['feature_block', 'beat_block']) {
    const { rowCount } = await database.pool.query(`update ${table} set codec = substring(codec for length(codec) - 2) where time = $1`, [
      DAMAGED,
    ]);
    expect(rowCount).toBe(1);
  }
  // No interval begins with a beat that cannot be read, so none has a pair there.
  const path = `/api/v1/streams/${stream}/variability?since=${START}&until=${END}`;
  type Window = { series: { interval_count: number; pair_count: number; coverage: number }[] };
  expect((await send<Window>('GET', path)).body.series).toMatchObject([{ interval_count: 237, pair_count: 235, coverage: 0.79 }]);
  const left = { values: SECONDS - 60, beats: SECONDS - 60, paged: SECONDS - 60, buckets: (SECONDS - 60) / 10 };
  expect(await counts()).toEqual(left);
  expect(await counts()).toEqual(left);
  expect(faults.filter((line) => line.includes('a stored minute cannot be unpacked'))).toHaveLength(2);
  expect((await send('GET', '/metrics', { as: '' })).text).toContain('bio_errors_total{where="query"} 2');
});
