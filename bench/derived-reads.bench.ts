/** Cost of reads of packed minutes: charts of a day by the minute and of a month by the hour, observations, values and beats as columns,
 *  and where a restart goes on; the functions that routes call, as the service calls them (role biosignal_api, one organization). Median
 *  time, and processor time of this process and of the backends.
 *
 *  sh scripts/with-runtime.sh bench/derived-reads.bench.ts [part of a question's name]
 *  On an embedded PostgreSQL, or the server of BIO_BENCH_DATABASE_URL. One person has a day of 30 features, a value a second and 2 % of
 *  them suspect, and beats, in minutes that lie as the writer leaves them, those of all series side by side; and before it a month of
 *  12 features with a few minutes an hour. */
import { readChart, type ChartQuery } from '../src/query/chart.ts';
import { findBiosignal, readObservations } from '../src/query/observations.ts';
import { readBeatSeries, readFeatureSeries } from '../src/query/series.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import { encodeBeats, encodeFeatures } from '../src/storage/derived-block.ts';
import { beatBlockColumns, featureBlockColumns, putBeatBlock, putFeatureBlock } from '../src/storage/derived-rows.ts';
import { organizationPool } from '../src/storage/database/organization-pool.ts';
import { openRoles } from '../src/storage/database/roles.ts';
import type { Database } from '../src/storage/database/database.ts';
import { refreshRollups } from '../src/storage/maintenance.ts';
import { StreamRegistry } from '../src/storage/stream-registry.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { threadsCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';
import { channel, freshDatabase, streamOf, tenantOf, type Tenant } from './lib/storage-fixture.ts';

const DAY_SEC = 86_400;
const DAYS = 30;
const FEATURES = 30;
const MONTH_FEATURES = 12;
/** Minutes of an hour of the month that have values. */
const MONTH_MINUTES = 4;
const ASK_SEC = Number(process.env['BIO_BENCH_ASK_SEC'] ?? 3);

const sixty = Array.from({ length: 60 }, (_, i) => i);
/** Minutes that are used over and over: encoding each anew would take most of the bench. */
const featureMinutes = Array.from({ length: 50 }, (_, k) =>
  encodeFeatures({
    ns: sixty.map((sec) => sec * 1e9),
    steps: sixty.map((sec) => 100 * (60 + ((7 * k + sec) % 40)) + k),
    flags: sixty.map((sec) => ((k + sec) % 50 === 0 ? 1 : 0)),
  }),
);
const beatMinutes = Array.from({ length: 50 }, (_, k) => {
  const ns = sixty.map((sec) => sec * 1e9 + ((k * 37 + sec * 101) % 900) * 1e6);
  return encodeBeats({
    ns,
    intervalUs: ns.map((t, i) => (i === 0 ? 800_000 : (t - ns[i - 1]!) / 1000)),
    kinds: sixty.map((sec) => ((k + sec) % 40 === 0 ? 1 : 0)),
    flags: sixty.map(() => 0),
    reasons: sixty.map((sec) => ((k + sec) % 40 === 0 ? 'early' : '')),
    confidences: sixty.map((sec) => ((k + sec) % 40 === 0 ? 80 : 100 - ((k + sec) % 3))),
  });
});

type Filled = Readonly<{ database: Database; tenant: Tenant; streamId: number; dayMs: number; monthMs: number }>;

async function fill(database: Database): Promise<Filled> {
  const tenant = await tenantOf(database);
  const dayMs = (Math.floor(Date.now() / 1000 / DAY_SEC) - 2) * DAY_SEC * 1000;
  const monthMs = dayMs - DAYS * DAY_SEC * 1000;
  const { streamId } = await streamOf(new StreamRegistry(database), tenant, 'own', [channel('ecg.ii', 250)], BigInt(monthMs) * 1_000_000n);
  const { pool } = database;
  await pool.query('update stream set recorded_from = to_timestamp($1), last_sample_at = to_timestamp($2)', [
    monthMs / 1000,
    dayMs / 1000 + DAY_SEC,
  ]);
  const { rows } = await pool.query<{ id: number }>(
    `insert into method (kind, name, code, cadence_hz, step, unit)
     select 'feature', case n when 1 then 'hr_ecg' else 'feature_' || n end, case n when 1 then 'derived:hr_ecg_v1' else 'derived:feature_' || n || '_v1' end, 1, 0.01, '/min'
     from generate_series(1, ${FEATURES}) n returning id`,
  );
  const beats = await pool.query<{ id: number }>(
    `insert into method (kind, name, code, unit) values ('beat', 'r_peaks', 'derived:r_peaks_v1', '') returning id`,
  );
  if (database.kind === 'postgres')
    for (const table of ['feature_block', 'beat_block'])
      await pool.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($3))', [table, monthMs / 1000, dayMs / 1000 + DAY_SEC]);
  const client = await database.connect();
  const features = new CopyBuffer();
  const key = { streamId, channelNo: -1 };
  for (let minute = monthMs / 60_000; minute < dayMs / 60_000; minute += 60)
    for (const { id: methodId } of rows.slice(0, MONTH_FEATURES))
      for (let i = 0; i < MONTH_MINUTES; i++)
        putFeatureBlock(features, { ...key, methodId, minute: minute + i }, featureMinutes[(minute + i) % featureMinutes.length]!);
  const beatRows = new CopyBuffer();
  for (let i = 0; i < 1440; i++) {
    const minute = dayMs / 60_000 + i;
    for (const { id: methodId } of rows)
      putFeatureBlock(features, { ...key, methodId, minute }, featureMinutes[minute % featureMinutes.length]!);
    putBeatBlock(beatRows, { streamId, channelNo: 0, methodId: beats.rows[0]!.id, minute }, beatMinutes[minute % beatMinutes.length]!);
  }
  await copyRows(client, `feature_block (${featureBlockColumns})`, features);
  await copyRows(client, `beat_block (${beatBlockColumns})`, beatRows);
  await client.end();
  for (let kept = 1; kept > 0;) kept = await refreshRollups(database);
  await pool.query('vacuum (analyze) feature_block, beat_block, feature_1h_kept, rollup_dirty');
  return { database, tenant, streamId, dayMs, monthMs };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

async function ask({ database, tenant, streamId, dayMs, monthMs }: Filled): Promise<void> {
  const roles = await openRoles(database);
  const api = organizationPool(roles.api, tenant.orgId);
  const biosignal = (await findBiosignal(api, tenant.projectId, 20))!;
  const day: ChartQuery = {
    ...tenant,
    series: [{ kind: 'feature', feature: 'hr_ecg', methodCode: null, aggregate: 'mean' }],
    fromNs: BigInt(dayMs) * 1_000_000n,
    toNs: BigInt(dayMs + DAY_SEC * 1000) * 1_000_000n,
    resolution: '1m',
    maxPoints: 2000,
    timeZone: 'Europe/Paris',
    qualityMax: 1,
    fill: 'null',
  };
  const month: ChartQuery = {
    ...day,
    series: Array.from({ length: MONTH_FEATURES }, (_, i) => ({
      kind: 'feature',
      feature: i === 0 ? 'hr_ecg' : `feature_${i + 1}`,
      methodCode: null,
      aggregate: 'mean',
    })),
    fromNs: BigInt(monthMs) * 1_000_000n,
    toNs: BigInt(dayMs) * 1_000_000n,
    resolution: '1h',
  };
  const shown = async (query: ChartQuery): Promise<number> =>
    (await readChart(api, query)).values.reduce((n, row) => n + row.filter((value) => value !== null).length, 0);
  const range = { streamId, methodCode: null, since: isoOf(dayMs + 3_600_000), until: isoOf(dayMs + 4_600_000), limit: 10_000 };
  const observed = {
    subjectId: tenant.subjectId,
    biosignal,
    deviceId: null,
    methodCode: null,
    qualityMax: 0,
    after: null,
    limit: 100,
  } as const;
  const questions: Readonly<Record<string, readonly [() => Promise<number>, number]>> = {
    'chart of 24 h by the minute': [() => shown(day), 1440],
    'chart of 24 h by the minute, with detail': [() => shown({ ...day, detail: true }), 1440],
    'chart of 24 h by 2 minutes, with detail': [() => shown({ ...day, resolution: '2m', detail: true }), 720],
    'a month by the hour, 12 series': [() => shown(month), MONTH_FEATURES * DAYS * 24],
    'a month by the hour, 12 series with detail': [() => shown({ ...month, detail: true }), MONTH_FEATURES * DAYS * 24],
    '100 observations of a day, oldest first': [
      async () =>
        (
          await readObservations(api, {
            ...observed,
            since: isoOf(dayMs),
            until: isoOf(dayMs + DAY_SEC * 1000),
            order: 'asc',
          })
        ).length,
      100,
    ],
    '100 observations, newest first': [
      async () => (await readObservations(api, { ...observed, since: null, until: null, order: 'desc' })).length,
      100,
    ],
    '1,000 values of a feature': [
      async () => {
        const [series] = await readFeatureSeries(api, { ...range, names: ['hr_ecg'], qualityMax: 2, cadenceHz: null });
        return series?.values.length ?? 0;
      },
      1000,
    ],
    '100 values of a day, a page': [
      async () => {
        const asked = { ...range, since: isoOf(dayMs), until: isoOf(dayMs + DAY_SEC * 1000), limit: 100 };
        const [series] = await readFeatureSeries(api, { ...asked, names: ['hr_ecg'], qualityMax: 2, cadenceHz: null });
        return series?.values.length ?? 0;
      },
      100,
    ],
    'beats of 1,000 s': [
      async () => {
        const [series] = await readBeatSeries(api, { ...range, channelCode: null });
        return Math.round((series?.qmask.length ?? 0) / 10) * 10;
      },
      1000,
    ],
    'where a restart goes on': [
      async () => {
        const { rows } = await database.pool.query('select newest_feature_ns($1) is not null and newest_beat_ns($1) is not null as found', [
          streamId,
        ]);
        return rows.length;
      },
      1,
    ],
  };
  const only = process.argv[2];
  for (const [name, [question, wanted]] of Object.entries(questions)) {
    if (only !== undefined && !name.includes(only)) continue;
    for (let i = 0; i < 20; i++) await question();
    const ms: number[] = [];
    const before = await cpuSec(database);
    const untilMs = performance.now() + ASK_SEC * 1000;
    for (let i = 0; performance.now() < untilMs || i < 30; i++) {
      const begun = performance.now();
      const found = await question();
      if (found !== wanted) throw new Error(`${name}: ${found} instead of ${wanted}`);
      ms.push(performance.now() - begun);
    }
    const after = await cpuSec(database);
    const each = (sec: number): string => ((1000 * sec) / ms.length).toFixed(2);
    const note = `processor time ${each(after.own - before.own)} ms of this process, ${each(after.server - before.server)} ms of PostgreSQL`;
    report({ name, value: ms.toSorted((a, b) => a - b)[ms.length >> 1]!, unit: 'ms', better: 'lower', note });
  }
  await roles.close();
}

async function cpuSec(database: Database): Promise<{ own: number; server: number }> {
  const { user, system } = process.cpuUsage();
  const { rows } = await database.pool.query<{ pid: number }>('select pid from pg_stat_activity where datname = current_database()');
  return { own: (user + system) / 1e6, server: rows.reduce((sum, { pid }) => sum + (threadsCpuSec(pid).all || 0), 0) };
}

const bench = await openBenchDatabase();
try {
  console.log(bench.server);
  const { database, drop } = await freshDatabase(bench.url);
  try {
    await ask(await fill(database));
  } finally {
    await drop();
  }
} finally {
  await bench.drop();
}
