/** Cost of large charts to other people. The time of another person's chart of 24 hours, alone and during 20
 *  requests at once of 16 features over a year at 10,000 points; where the time goes (main thread, PostgreSQL); and how long the large ones
 *  take.
 *
 *  sh scripts/with-runtime.sh bench/chart-cost.bench.ts
 *  The requests for the small chart leave when they are due (open loop), those for the large ones one after the other, 20 at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../src/storage/database/database.ts';
import type { Database } from '../src/storage/database/database.ts';
import { refreshRollups } from '../src/storage/maintenance.ts';
import { StreamRegistry } from '../src/storage/stream-registry.ts';
import { putFeatures } from '../test/helpers/put-derived.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { treeCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';
import { startServiceProcess } from './lib/service-process.ts';
import type { ServiceProcess } from './lib/service-process.ts';
import { channel, streamOf } from './lib/storage-fixture.ts';
import type { Tenant } from './lib/storage-fixture.ts';

const DAY_SEC = 86_400;
const DAYS = 365;
const FEATURES = 16;
/** A value of each feature so often, seconds. */
const CADENCE_SEC = 1800;
const LARGE_AT_ONCE = 20;
const MEASURE_SEC = 15;
const SMALL_PER_SEC = 20;

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? NaN;

type Person = Readonly<{ id: string; token: string }>;

/** A person with a stream of features. */
async function person(
  database: Database,
  service: ServiceProcess,
  projectKey: string,
  name: string,
  days: number,
  cadenceSec: number,
): Promise<Person> {
  const made = await fetch(`http://127.0.0.1:${service.port}/api/v1/sdk/token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ external_id: name, project_key: projectKey }),
  });
  const { xuser_token: token, xuser_id: id } = (await made.json()) as { xuser_token: string; xuser_id: string };
  const fromSec = (Math.floor(Date.now() / 1000 / DAY_SEC) - days) * DAY_SEC;
  const toSec = fromSec + days * DAY_SEC;
  const { rows } = await database.pool.query<Tenant>(
    'select organization_id as "orgId", project_id as "projectId", id as "subjectId" from xuser where id = $1',
    [id],
  );
  const stream = await streamOf(new StreamRegistry(database), rows[0]!, name, [channel('c0', 250)], BigInt(fromSec) * 1_000_000_000n);
  await database.pool.query('update stream set recorded_from = to_timestamp($2), last_sample_at = to_timestamp($3) where id = $1', [
    stream.streamId,
    fromSec,
    toSec,
  ]);
  const { rows: methods } = await database.pool.query<{ id: number }>(
    `insert into method (kind, name, code, cadence_hz, unit) select 'feature', 'bench_' || i, 'derived:bench_' || i || '_v1', 1, '1' from generate_series(1, $1) i
     on conflict (kind, name, code) do update set unit = excluded.unit returning id`,
    [FEATURES],
  );
  for (const method of methods)
    await putFeatures(
      database,
      `select sec * 1000000000 as ts_ns, (60 + sec % 37)::float8 as value, $3::int as stream_id, $4::smallint as method_id,
         (-1)::smallint as channel_no, 0::smallint as qmask
       from generate_series($1::bigint, $2::bigint - 1, $5::bigint) sec`,
      [fromSec, toSec, stream.streamId, method.id, cadenceSec],
    );
  return { id, token };
}

async function ask(
  service: ServiceProcess,
  { token }: Person,
  body: object,
): Promise<Readonly<{ status: number; ms: number; text: string }>> {
  const begunMs = performance.now();
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/charts/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, ms: performance.now() - begunMs, text };
}

const small = { series: [{ feature: 'bench_1' }], range: { duration: 'P1D' }, resolution: '1m', max_points: 2000, fill: 'null' };
const large = {
  series: Array.from({ length: FEATURES }, (_, i) => ({ feature: `bench_${i + 1}` })),
  range: { duration: `P${DAYS}D` },
  max_points: 10_000,
  fill: 'null',
};

/** Times of the small chart, asked for at a steady rate. */
async function smallCharts(service: ServiceProcess, who: Person): Promise<number[]> {
  const times: number[] = [];
  const pending: Promise<void>[] = [];
  const begunMs = performance.now();
  for (let i = 0; i < MEASURE_SEC * SMALL_PER_SEC; i++) {
    const dueMs = begunMs + (i * 1000) / SMALL_PER_SEC;
    await sleep(Math.max(0, dueMs - performance.now()));
    pending.push(
      ask(service, who, small).then(({ status }) => {
        if (status !== 200) throw new Error(`the small chart was answered ${status}`);
        times.push(performance.now() - dueMs);
      }),
    );
  }
  await Promise.all(pending);
  return times;
}

const bench = await openBenchDatabase();
console.log(bench.server);
const service = await startServiceProcess('full', { DATABASE_URL: bench.url });
const database = await openDatabase(bench.url, { statementTimeoutMs: 0 });
try {
  const { rows: projects } = await database.pool.query<{ project_key: string }>('select project_key from project limit 1');
  const projectKey = projects[0]!.project_key;
  const heavy = await person(database, service, projectKey, 'asks for much', DAYS, CADENCE_SEC);
  const other = await person(database, service, projectKey, 'asks for little', 2, 30);
  for (let kept = 1; kept > 0;) kept = await refreshRollups(database);
  await database.pool.query('vacuum (analyze) feature');

  for (let i = 0; i < 3; i++) await ask(service, heavy, large);
  const one = await ask(service, heavy, large);
  console.log(`one large chart: ${one.status}, ${one.text.length} bytes`);
  report({ name: 'one large chart alone', value: one.ms, unit: 'ms' });

  const alone = await smallCharts(service, other);
  await service.usage();
  const cpuOf = async (): Promise<{ service: number; database: number }> => ({
    service: (await service.usage()).cpuSec,
    database: bench.postmasterPid === null ? NaN : treeCpuSec(bench.postmasterPid),
  });
  const before = await cpuOf();
  const begunMs = performance.now();
  let asking = true;
  const largeMs: number[] = [];
  const refused = new Map<number, number>();
  const askers = Array.from({ length: LARGE_AT_ONCE }, async () => {
    while (asking) {
      const { status, ms } = await ask(service, heavy, large);
      if (status === 200) largeMs.push(ms);
      else {
        refused.set(status, (refused.get(status) ?? 0) + 1);
        await sleep(1000); // what Retry-After asks for
      }
    }
  });
  await sleep(1000);
  const crowded = await smallCharts(service, other);
  asking = false;
  const usage = await service.usage();
  const seconds = (performance.now() - begunMs) / 1000;
  const database1 = bench.postmasterPid === null ? NaN : treeCpuSec(bench.postmasterPid);
  await Promise.all(askers);
  report({ name: 'small chart alone, p50', value: quantile(alone, 0.5), unit: 'ms' });
  report({ name: 'small chart alone, p99', value: quantile(alone, 0.99), unit: 'ms' });
  report({ name: 'small chart next to 20 large, p50', value: quantile(crowded, 0.5), unit: 'ms' });
  report({ name: 'small chart next to 20 large, p99', value: quantile(crowded, 0.99), unit: 'ms' });
  report({ name: 'large chart of 20 at once, p50', value: quantile(largeMs, 0.5), unit: 'ms' });
  report({ name: 'large charts answered in a second', value: largeMs.length / seconds, unit: '1/s', better: 'higher' });
  report({ name: 'processor of the service with 20 large', value: (usage.cpuSec - before.service) / seconds, unit: 'cores' });
  report({ name: 'processor of PostgreSQL with 20 large', value: (database1 - before.database) / seconds, unit: 'cores' });
  report({ name: 'longest work of the main thread at a time, p99', value: usage.ownP99Ms, unit: 'ms' });
  report({ name: 'longest work of the main thread at a time', value: usage.ownMaxMs, unit: 'ms' });
  console.log(`refused: ${JSON.stringify(Object.fromEntries(refused))}`);
} finally {
  await database.close();
  await service.stop();
  await bench.drop();
}
