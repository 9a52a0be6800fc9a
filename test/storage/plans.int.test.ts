// Every reader of src/query states the time range so that partitions and chunks outside of it are not opened: each of its statements is
// explained as it runs, as the api role, on a history of twenty months of which five minutes are asked for.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readChart, type ChartSeries } from '../../src/query/chart.ts';
import { readSummaries } from '../../src/query/observation-summaries.ts';
import { readObservations, type BiosignalRow } from '../../src/query/observations.ts';
import { planOverview, readOverview } from '../../src/query/overview.ts';
import { readSamples } from '../../src/query/samples.ts';
import { readBeatSeries, readFeatureSeries } from '../../src/query/series.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { organizationPool } from '../../src/storage/database/organization-pool.ts';
import { deviceRoutes } from '../../src/query/device-routes.ts';
import { openRoles, type RoleDatabases } from '../../src/storage/database/roles.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, ecg, openTestStream, testEpochNs, testRun, type TestTenant } from '../helpers/recording.ts';
import { putFeatures } from '../helpers/put-derived.ts';

const MONTHS = 20;
const MONTH_SEC = 30 * 86_400;
const SECOND = 1_000_000_000n;
const ASKED = 7; // the month that is read

const fromNs = testEpochNs + BigInt(ASKED * MONTH_SEC - 60) * SECOND;
const toNs = fromNs + 300n * SECOND;
const iso = (ns: bigint): string => new Date(Number(ns / 1_000_000n)).toISOString();
const range = { since: iso(fromNs), until: iso(toNs) };

let database: TestDatabase;
let roles: RoleDatabases;
let tenant: TestTenant;
let stream: OpenedStream;
let measured: BiosignalRow;
let derived: BiosignalRow;

beforeAll(async () => {
  database = await testDatabase();
  roles = await openRoles(database);
  tenant = await createTenant(database);
  stream = await openTestStream(new StreamRegistry(database), tenant, [ecg]);
  const blocks = new BlockWriter(database);
  const rows = new DerivedWriter(database, { currentMethods: [] });
  const waits: Promise<void>[] = [];
  for (let month = 0; month < MONTHS; month++) {
    const second = month * MONTH_SEC;
    blocks.push(stream.streamId, stream.epochNs, [ecg.rateNanoHz], [testRun(0, second * 250, 250)], 1);
    const tNs = BigInt(second) * SECOND;
    const beat = {
      channelNo: 0,
      tNs,
      ibiMs: 1,
      kind: 'normal',
      reason: '',
      confidence: NaN,
      quality: 0,
      method: 'derived:r_peaks_v1',
    } as const;
    const feature = { feature: 'hr_ecg', channelNo: -1, tNs, value: 60, qmask: 0, methodCode: 'derived:hr_ecg_v1' } as const;
    waits.push(rows.add({ streamId: stream.streamId, beats: [beat], features: [feature], replaces: null }, stream.epochNs));
    const spo2 = {
      streamId: stream.streamId,
      seq: month,
      index: 0,
      subjectId: tenant.subjectId,
      code: 'spo2',
      tsNs: testEpochNs + tNs,
      value: 97,
      unit: '%',
      quality: 0,
    } as const;
    waits.push(rows.addReported([spo2], []));
  }
  await Promise.all(waits);
  await rows.close();
  await blocks.close();
  await refreshRollups(database);
  await database.pool.query(`update stream set last_sample_at = now() + interval '3 years'`);
  if (database.kind === 'timescale')
    for (const table of ['feature_block', 'beat_block', 'sample_block'])
      await database.pool.query('select compress_chunk(c) from show_chunks($1::regclass, older_than => $2::timestamptz) c', [
        table,
        range.since,
      ]);
  await database.pool.query('vacuum analyze');
  const { rows: catalog } = await database.pool.query<BiosignalRow>(
    `select * from biosignal where code = 'spo2' or feature = 'hr_ecg' order by code nulls last`,
  );
  [measured, derived] = [catalog.find((row) => row.feature === null)!, catalog.find((row) => row.feature === 'hr_ecg')!];
});
afterAll(async () => {
  await roles.close();
  await database.close();
});

type Plan = {
  'Relation Name'?: string;
  'Actual Loops'?: number;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Filter?: string;
  'Join Filter'?: string;
  Plans?: Plan[];
};

type PlanRow = { 'QUERY PLAN': { Plan: Plan }[] };
const explain = 'explain (analyze, costs off, format json)';

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : typeof value === 'string' ? value : JSON.stringify(value));
}

/** A database that explains what it runs. opened: of each statement, the partitions or chunks that it opened, and the tables, partitions
 *  and chunks that gave it rows. */
function explaining(): { db: Parameters<typeof readChart>[0]; opened: { statement: string; parts: string[]; gave: string[] }[] } {
  const pool = organizationPool(roles.api, tenant.orgId);
  const opened: { statement: string; parts: string[]; gave: string[] }[] = [];
  const note = (statement: string, plan: PlanRow | undefined): void => {
    const parts = new Set<string>();
    const gave = new Set<string>();
    const walk = (plan: Plan): void => {
      const name = plan['Relation Name'];
      if (name !== undefined && (plan['Actual Loops'] ?? 0) > 0 && /_p\d{8}_|^_hyper_|^compress_hyper/.test(name)) parts.add(name);
      if (name !== undefined && (plan['Actual Rows'] ?? 0) > 0) gave.add(name);
      for (const inner of plan.Plans ?? []) walk(inner);
    };
    walk(plan!['QUERY PLAN'][0]!.Plan);
    opened.push({ statement, parts: [...parts], gave: [...gave] });
  };
  const query = async (statement: string | pg.QueryConfig, given?: unknown[]): Promise<unknown> => {
    const { text, values = [], name } = typeof statement === 'string' ? { text: statement, values: given } : statement;
    if (text.includes('feature_buckets')) opened.push({ statement: text, parts: await scannedBy(pool, text, values), gave: [] });
    else note(text, (await pool.query<PlanRow>(`${explain} ${text}`, values)).rows[0]);
    if (typeof statement === 'string' || name === undefined) return pool.query(text, values);
    // A prepared statement may be planned once for all values.
    const client = await pool.connect();
    await client.query('begin');
    await client.query('set local plan_cache_mode = force_generic_plan');
    await client.query(`prepare asked as ${text}`);
    const { rows } = await client.query<PlanRow>(
      `${explain} execute asked ${values.length === 0 ? '' : `(${values.map(literal).join(', ')})`}`,
    );
    note(`generic: ${text}`, rows[0]);
    await client.query('deallocate asked');
    await client.query('commit');
    client.release();
    return pool.query(statement);
  };
  return { db: { query } as never, opened };
}

/** Which partitions or chunks a statement looked into, by the server's count of scans: a function hides its plan. */
async function scannedBy(pool: pg.Pool, text: string, values: unknown[]): Promise<string[]> {
  const client = await pool.connect();
  await client.query('select pg_stat_force_next_flush()'); // else what this connection did before counts, too
  await client.query('begin');
  await client.query(text, values);
  const { rows } = await client.query<{ relname: string }>(
    `select relname from pg_stat_xact_all_tables where coalesce(seq_scan, 0) + coalesce(idx_scan, 0) > 0 and relname ~ '_p\\d{8}_|^_hyper_|^compress_hyper'`,
  );
  await client.query('commit');
  client.release();
  return rows.map(({ relname }) => relname);
}

/** Of each table (its partitions' common name) at most one part, in every statement; and something was read. */
function expectOnePart(opened: readonly { statement: string; parts: string[] }[]): void {
  expect(opened.flatMap(({ parts }) => parts).length).toBeGreaterThan(0);
  for (const { statement, parts } of opened) {
    const tables = parts.map((part) => part.replace(/_p\d{8}_\d+$|_\d+_chunk(_compressed)?$/, ''));
    expect([statement, parts.length]).toEqual([statement, new Set(tables).size]);
  }
}

test('samples', async () => {
  const { db, opened } = explaining();
  const { segments } = await readSamples(db, { streamId: stream.streamId, channels: null, fromNs, toNs, rowsMax: 1000 });
  expect(segments.map((segment) => segment.samples.length)).toEqual([250]);
  expectOnePart(opened);
});

// Rows that are decoded; whole rows.
test.each([500, 4000, 300_000])('overviews by %i ms', async (stepMinMs) => {
  const { db, opened } = explaining();
  const asked = { streamId: stream.streamId, channels: null, fromNs, toNs, stepMinMs, bucketsMax: 5000, rowsMax: 1000 };
  const plan = (await planOverview(db, asked))!;
  const { n } = await readOverview(db, plan, plan.channels[0]!, undefined);
  expect(n.reduce((sum, count) => sum + count, 0)).toBe(250);
  expectOnePart(opened);
});

test.each(['1s', '1m', '5m'])('charts of features, measurements and waveforms by %s', async (resolution) => {
  const wanted: [ChartSeries, number][] = [
    [{ kind: 'feature', feature: 'hr_ecg', methodCode: null, aggregate: 'mean' }, 1],
    [{ kind: 'measurement', biosignalId: measured.id, aggregate: 'mean' }, 1],
    [{ kind: 'waveform', channelKind: 'ecg', channelCode: null }, 1],
  ];
  for (const [series, least] of wanted) {
    const { db, opened } = explaining();
    const chart = await readChart(db, {
      ...tenant,
      series: [series],
      fromNs,
      toNs,
      resolution,
      maxPoints: 1000,
      timeZone: 'Europe/Paris',
      qualityMax: 2,
      fill: 'none',
    });
    expect([series.kind, chart.tsMs.length >= least]).toEqual([series.kind, true]);
    expectOnePart(opened);
  }
});

test('features and beats of a stream', async () => {
  const { db, opened } = explaining();
  const filter = { streamId: stream.streamId, methodCode: null, ...range, limit: 100 };
  for (const cadenceHz of [null, 0.5])
    expect(await readFeatureSeries(db, { ...filter, names: ['hr_ecg'], qualityMax: 2, cadenceHz })).toHaveLength(1);
  expect(await readBeatSeries(db, { ...filter, channelCode: null })).toHaveLength(1);
  expectOnePart(opened);
});

// As the owner, as the service calls them, and people with psql.
test.each([
  'count(*) from feature_values($1, $2) where stream_id = $3',
  'count(*) from beat_values($1, $2) where stream_id = $3',
  `count(*) from samples((select uuid from stream where id = $3), '${ecg.code}', $1, $2)`,
  'count(*) from feature_1m where bucket >= $1 and bucket < $2 and stream_id = $3',
  `count(*) from method where has_feature(array[$3::int], id, $1, $2)`,
])('select %s', async (text) => {
  for (const mode of ['force_custom_plan', 'force_generic_plan']) {
    const asOwner = new pg.Pool({ connectionString: database.url, max: 1, options: `-c plan_cache_mode=${mode}` });
    try {
      const values = [range.since, range.until, stream.streamId];
      const { rows } = await asOwner.query<{ count: string }>(`select ${text}`, values);
      expect(Number(rows[0]!.count)).toBeGreaterThan(0);
      expectOnePart([{ statement: `${mode}: ${text}`, parts: await scannedBy(asOwner, `select ${text}`, values) }]);
    } finally {
      await asOwner.end();
    }
  }
});

test.each(['asc', 'desc'] as const)('observations, reported and derived, %s', async (order) => {
  for (const biosignal of [measured, derived]) {
    const { db, opened } = explaining();
    const rows = await readObservations(db, {
      subjectId: tenant.subjectId,
      biosignal,
      ...range,
      deviceId: null,
      methodCode: null,
      qualityMax: 2,
      order,
      after: null,
      limit: 10,
    });
    expect(rows).toHaveLength(1);
    expectOnePart(opened);
  }
});

// Hours, and days of a zone of whole hours, read neither minutes nor values.
test.each(['PT1H', 'P1D'] as const)('observations by %s from the stored hours', async (interval) => {
  const week = { since: iso(fromNs - 3n * 86_400n * SECOND), until: iso(toNs + 3n * 86_400n * SECOND) };
  const { db, opened } = explaining();
  const filter = { subjectId: tenant.subjectId, biosignal: derived, ...week, deviceId: null, methodCode: null, qualityMax: 2 };
  const page = { order: 'asc', after: null, limit: 10 } as const;
  expect(await readSummaries(db, { ...filter, ...page }, interval, 'Europe/Paris')).toHaveLength(1);
  const statements = opened.filter(({ statement }) => statement.includes('feature_1h'));
  expect(statements.length).toBeGreaterThan(0);
  const parts = await rollupOf();
  for (const { statement, gave } of statements)
    expect([statement, gave.map((name) => parts.get(name) ?? name).filter((name) => name.startsWith('feature'))]).toEqual([
      statement,
      [expect.stringMatching(/^feature_1h/)],
    ]);
});

/** The hypertable or continuous aggregate that a chunk belongs to. */
async function rollupOf(): Promise<ReadonlyMap<string, string>> {
  if (database.kind === 'postgres') return new Map();
  const { rows } = await database.pool.query<{ chunk: string; name: string }>(
    `select c.chunk_name as chunk, coalesce(a.view_name, c.hypertable_name) as name from timescaledb_information.chunks c
     left join timescaledb_information.continuous_aggregates a on a.materialization_hypertable_name = c.hypertable_name`,
  );
  return new Map(rows.map(({ chunk, name }) => [chunk, name]));
}

test('channels are found without a look at the other streams of the organization', async () => {
  await database.pool.query(
    `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at)
     select organization_id, project_id, device_id, xuser_id, uuid_send(gen_random_uuid()), epoch_ns, started_at
     from stream, generate_series(1, 3000) where id = $1`,
    [stream.streamId],
  );
  await database.pool.query('vacuum analyze stream');
  const { rows } = await organizationPool(roles.api, tenant.orgId).query<PlanRow>(
    `${explain} select c.code from stream_channel c join stream s on s.id = c.stream_id where c.stream_id = ${stream.streamId}`,
  );
  let streamRows = 0;
  const walk = (plan: Plan): void => {
    const skipped = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0);
    if (plan['Relation Name'] === 'stream') streamRows += (plan['Actual Rows']! + skipped) * plan['Actual Loops']!;
    for (const inner of plan.Plans ?? []) walk(inner);
  };
  walk(rows[0]!['QUERY PLAN'][0]!.Plan);
  expect(streamRows).toBeGreaterThan(0);
  expect(streamRows).toBeLessThan(10);
});

const PEOPLE = 100;
const HOURS = 48;

test('signal quality reads the hours it shows, and asks once for the consent of each person, not for each of their hours', async () => {
  const { pool } = database;
  await pool.query(`update method set cadence_hz = 1 where code = 'derived:hr_ecg_v1'`);
  await pool.query(
    `with person as (
       insert into xuser (organization_id, project_id, external_id) select $1, $2, 'many-' || i from generate_series(1, ${PEOPLE}) i returning id
     ), patch as (
       insert into device (organization_id, project_id, external_id, xuser_id) select $1, $2, id, id from person returning id, xuser_id
     )
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, last_sample_at)
     select $1, $2, id, xuser_id, uuid_send(gen_random_uuid()), 0, now() from patch`,
    [tenant.orgId, tenant.projectId],
  );
  await pool.query(`insert into method (kind, name, code) values ('feature', 'another', 'derived:another_v1')`);
  await putFeatures(
    database,
    `select (extract(epoch from hour) * 1e6)::bigint * 1000 as ts_ns, 60 as value, s.id as stream_id, m.id as method_id,
       (-1)::smallint as channel_no, 0::smallint as qmask
     from stream s join device d on d.id = s.device_id and d.external_id = d.xuser_id::text, method m,
       generate_series(now() - interval '${HOURS - 1} hours', now(), interval '1 hour') hour
     where m.code in ('derived:hr_ecg_v1', 'derived:another_v1')`,
  );
  await refreshRollups(database);
  await pool.query('vacuum analyze');
  const asked = organizationPool(roles.api, tenant.orgId);
  let consentCount = 0;
  // Up to PostgreSQL 17 a plan has the rows of a loop as a whole number.
  const hourCount = { least: 0, most: 0 };
  const walk = (plan: Plan): void => {
    const rowCount = (plan['Actual Rows']! + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']!;
    if (`${plan.Filter} ${plan['Join Filter']}`.includes('missing_consents')) consentCount += rowCount;
    // Not the values of the minute under way: a partition that began a moment ago is read whole.
    if (plan['Relation Name']?.startsWith('feature_1')) {
      hourCount.least += rowCount - plan['Actual Loops']! / 2;
      hourCount.most += rowCount + plan['Actual Loops']! / 2;
    }
    for (const inner of plan.Plans ?? []) walk(inner);
  };
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    walk((await asked.query<PlanRow>(`${explain} ${text}`, values)).rows[0]!['QUERY PLAN'][0]!.Plan);
    return await asked.query(text, values);
  };
  const route = deviceRoutes({ db: { query } as never }).find(({ operationId }) => operationId === 'getSignalQuality')!;
  const caller = { kind: 'key', orgId: tenant.orgId, projectId: null, subjectId: null };
  const { json } = await route.handler({ caller, query: { hours: 168, limit: 1000 } } as never);
  const shown = (json as { hours: unknown[] }[]).filter(({ hours }) => hours.length === HOURS);
  expect(shown).toHaveLength(PEOPLE);
  expect(consentCount).toBeGreaterThanOrEqual(PEOPLE);
  expect(consentCount).toBeLessThan(2 * PEOPLE);
  // The hour under way is not kept, nor is the one before it in its first minutes.
  expect(hourCount.most).toBeGreaterThanOrEqual(PEOPLE * (HOURS - 2));
  expect(hourCount.least).toBeLessThan(1.5 * PEOPLE * HOURS);
});
