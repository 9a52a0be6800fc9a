// What each role of the database may not do: read the growing tables or their chunks, another organization's records, or change the log.
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlockWriter } from '../src/storage/block-writer.ts';
import { CopyWriter } from '../src/storage/copy-writer.ts';
import { StreamRegistry, type OpenedStream } from '../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase } from './helpers/database.ts';
import { createTenant, openTestStream, testRun, type TestTenant } from './helpers/recording.ts';

let database: TestDatabase;
let client: pg.Client;
const tenants: { tenant: TestTenant; stream: OpenedStream }[] = [];

beforeAll(async () => {
  database = await testDatabase();
  client = await database.connect();
  const registry = new StreamRegistry(database);
  const blocks = new BlockWriter(database);
  const derived = new CopyWriter(database, { currentMethods: [] });
  for (let i = 0; i < 2; i++) {
    const tenant = await createTenant(database);
    const stream = await openTestStream(registry, tenant, undefined, i + 1);
    tenants.push({ tenant, stream });
    blocks.push(
      stream.streamId,
      stream.epochNs,
      stream.channels.map((c) => c.rateNanoHz),
      [testRun(0, 0, 250)],
      1,
    );
    const beat = { channelNo: 0, tNs: 1n, ibiMs: 1, kind: 'normal', reason: '', quality: 0, method: 'derived:r_peaks_v1' } as const;
    const feature = { feature: 'hr_ecg', channelNo: -1, tNs: 1n, value: 60, qmask: 0, methodCode: 'derived:hr_ecg_v1' } as const;
    await derived.add({ streamId: stream.streamId, beats: [beat], features: [feature], replaces: null }, stream.epochNs);
    const spo2 = {
      streamId: stream.streamId,
      seq: 1,
      index: 0,
      subjectId: tenant.subjectId,
      code: 'spo2',
      tsNs: stream.epochNs,
      value: 97,
      unit: '%',
      quality: 0,
    } as const;
    await derived.addReported([spo2], [{ streamId: stream.streamId, seq: 1, index: 0, code: 'button', tsNs: stream.epochNs, text: '' }]);
    await database.pool.query(`insert into audit_log (organization_id, actor_kind, action) values ($1, 'system', 'test')`, [tenant.orgId]);
    await database.pool.query(
      `insert into episode (organization_id, project_id, xuser_id, kind, started_at) values ($1, $2, $3, 'event', now())`,
      [tenant.orgId, tenant.projectId, tenant.subjectId],
    );
  }
  await blocks.close();
  await derived.close();
});
afterAll(async () => {
  await client.end();
  await database.close();
});

/** Runs one statement in a transaction of a role, for an organization. @returns its rows, or the SQLSTATE */
async function as(role: string, orgId: string | null, text: string): Promise<Record<string, unknown>[] | string> {
  await client.query('begin');
  try {
    await client.query(`set local role biosignal_${role}`);
    if (orgId !== null) await client.query(`select set_config('bio.organization_id', $1, true)`, [orgId]);
    return (await client.query<Record<string, unknown>>(text)).rows;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await client.query('rollback');
  }
}

const DENIED = '42501';
const growing = ['sample_block', 'beat', 'feature', 'measurement', 'device_event'];
const rollups = ['feature_1m', 'feature_1h', 'feature_1d'];
const records = ['organization', 'project', 'xuser', 'device', 'stream', 'stream_channel', 'episode', 'audit_log'];

test('api sees through its views the rows of the organization that the transaction names, and none without a name', async () => {
  for (const view of [...growing, ...rollups]) {
    for (const { tenant, stream } of tenants) {
      const column = view === 'measurement' ? 'organization_id::text' : 'stream_id';
      const rows = await as('api', tenant.orgId, `select distinct ${column} as owner from api.${view}`);
      expect([view, rows]).toEqual([view, [{ owner: view === 'measurement' ? tenant.orgId : stream.streamId }]]);
    }
    expect(await as('api', null, `select * from api.${view}`)).toEqual([]);
  }
});

test('api sees records of that organization alone', async () => {
  for (const table of records) {
    const all = (await database.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]!.n;
    const own = await as('api', tenants[0]!.tenant.orgId, `select count(*)::int as n from ${table}`);
    expect([table, own]).toEqual([table, [{ n: all / 2 }]]);
    expect(await as('api', null, `select * from ${table}`)).toEqual([]);
  }
  const other = tenants[1]!.tenant;
  expect(
    await as('api', tenants[0]!.tenant.orgId, `update xuser set display_name = 'x' where id = '${other.subjectId}' returning id`),
  ).toEqual([]);
  expect(
    await as(
      'api',
      tenants[0]!.tenant.orgId,
      `insert into project (organization_id, name, project_key) values ('${other.orgId}', 'x', 'proj_x')`,
    ),
  ).toBe(DENIED);
});

test('no role but ingest and worker reads the growing tables, their partitions or chunks', async () => {
  const org = tenants[0]!.tenant.orgId;
  for (const table of [...growing, 'packet_log', ...rollups]) {
    for (const role of ['api', 'audit'])
      expect([role, table, await as(role, org, `select * from ${table}`)]).toEqual([role, table, DENIED]);
  }
  const parts = await database.pool.query<{ part: string }>(
    `select inhrelid::regclass::text as part from pg_inherits where inhparent in ('sample_block'::regclass, 'feature'::regclass) and inhrelid in (select oid from pg_class where relkind in ('r', 'p'))`,
  );
  expect(parts.rows.length).toBeGreaterThan(0);
  for (const { part } of parts.rows) expect([part, await as('api', org, `select * from ${part}`)]).toEqual([part, DENIED]);
});

test('each role does its own part only', async () => {
  const org = tenants[0]!.tenant.orgId;
  expect(await as('worker', null, 'select count(*)::int as n from sample_block')).toEqual([{ n: 2 }]);
  expect(await as('worker', null, 'select * from api_key')).toBe(DENIED);
  expect(await as('worker', null, 'select * from packet_log')).toBe(DENIED);
  expect(await as('worker', null, 'delete from sample_block')).toBe(DENIED);
  expect(await as('ingest', null, 'select * from feature')).toBe(DENIED);
  expect(await as('ingest', null, 'select * from api_key')).toBe(DENIED);
  expect(await as('ingest', null, 'select * from audit_log')).toBe(DENIED);
  expect(await as('audit', org, 'select count(*)::int as n from audit_log')).toEqual([{ n: 1 }]);
  expect(await as('audit', org, 'select * from xuser')).toBe(DENIED);
  for (const role of ['api', 'audit']) {
    expect(await as(role, org, 'delete from audit_log')).toBe(DENIED);
    expect(await as(role, org, `update audit_log set action = 'x'`)).toBe(DENIED);
  }
  for (const role of ['api', 'ingest', 'worker', 'audit']) {
    expect(await as(role, org, 'create table mine (id integer)')).toBe(DENIED);
    expect(await as(role, org, 'select private_pem from signing_key')).toEqual(role === 'api' ? [] : DENIED);
  }
});
