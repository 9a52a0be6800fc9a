// Each role of the database is refused what is not its own: read the growing tables or their chunks, another organization's records,
// or change the log.
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routesByOrganization } from '../../src/tenancy/organization-routes.ts';
import type { RequestContext, Route } from '../../src/http/route.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { organizationPool } from '../../src/storage/database/organization-pool.ts';
import { openRoles, type RoleDatabases } from '../../src/storage/database/roles.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { upgrade } from '../../src/storage/upgrade.ts';
import { emptyDatabase, testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testRun, type TestTenant } from '../helpers/recording.ts';

let database: TestDatabase;
let client: pg.Client;
const tenants: { tenant: TestTenant; stream: OpenedStream }[] = [];

beforeAll(async () => {
  database = await testDatabase();
  client = await database.connect();
  const registry = new StreamRegistry(database);
  const blocks = new BlockWriter(database);
  const derived = new DerivedWriter(database, { currentMethods: [] });
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
    const beat = {
      channelNo: 0,
      tNs: 1n,
      ibiMs: 1,
      kind: 'normal',
      reason: '',
      confidence: NaN,
      quality: 0,
      method: 'derived:r_peaks_v1',
    } as const;
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
const growing = ['sample_block', 'beat', 'feature', 'beat_block', 'feature_block', 'measurement', 'device_event'];
const rollups = ['feature_1m', 'feature_1h', 'feature_1d'];
const records = ['organization', 'project', 'xuser', 'device', 'stream', 'stream_channel', 'episode', 'audit_log'];

// promise: row-security
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

test('api gets packed statistics of its own streams alone, and nothing without a name', async () => {
  const ids = `array[${tenants.map(({ stream }) => stream.streamId).join(', ')}]`;
  const hours = 'null, null, null, null';
  const minutes = (schema: string, streams: string): string =>
    `select f.stream_id from method m
     cross join lateral ${schema}.feature_buckets(${streams}, array[m.id], '-infinity', 'infinity', ${hours}, 0, false) f where m.code = 'derived:hr_ecg_v1'`;
  const [own, other] = tenants as [(typeof tenants)[0], (typeof tenants)[0]];
  expect(await as('api', own.tenant.orgId, minutes('api', ids))).toEqual([{ stream_id: own.stream.streamId }]);
  expect(await as('api', own.tenant.orgId, minutes('api', `array[${own.stream.streamId}]`))).toEqual([{ stream_id: own.stream.streamId }]);
  expect(await as('api', own.tenant.orgId, minutes('api', `array[${other.stream.streamId}]`))).toEqual([]);
  expect(await as('api', null, minutes('api', ids))).toEqual([]);
  expect(await as('api', own.tenant.orgId, minutes('public', ids))).toBe(DENIED);
  for (const role of ['ingest', 'worker', 'audit'])
    expect([role, await as(role, own.tenant.orgId, minutes('api', ids))]).toEqual([role, DENIED]);
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

// promise: row-security
test('no role but ingest and worker reads the growing tables, their partitions or chunks', async () => {
  const org = tenants[0]!.tenant.orgId;
  for (const table of [...growing, 'packet_log', ...rollups]) {
    for (const role of ['api', 'audit'])
      expect([role, table, await as(role, org, `select * from ${table}`)]).toEqual([role, table, DENIED]);
  }
  const parts = await database.pool.query<{ part: string }>(
    `select inhrelid::regclass::text as part from pg_inherits where inhparent in ('sample_block'::regclass, 'feature_block'::regclass) and inhrelid in (select oid from pg_class where relkind in ('r', 'p'))`,
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
    expect(await as(role, org, 'select private_pem from signing_key')).toBe(DENIED);
  }
});

// What the roles above are for: a statement that forgets to say whose rows it wants still gets its own organization's alone.
describe('the service', () => {
  let roles: RoleDatabases;
  beforeAll(async () => {
    roles = await openRoles(database, { poolSizeMax: 2 });
  });
  afterAll(() => roles.close());

  const own = (i: number): pg.Pool => organizationPool(roles.api, tenants[i]!.tenant.orgId);

  test('names an organization by its uuid or not at all', () => {
    for (const text of ['', 'organization', `${tenants[0]!.tenant.orgId}', true); select ('`])
      expect(() => organizationPool(roles.api, text)).toThrow(RangeError);
  });

  test('acts as its roles', async () => {
    expect(roles.without).toBeNull();
    for (const [part, { pool }] of [
      ['api', roles.api],
      ['ingest', roles.ingest],
      ['worker', roles.worker],
    ] as const) {
      expect((await pool.query('select current_user::text as role')).rows).toEqual([{ role: `biosignal_${part}` }]);
    }
  });

  test('sees its own organization with a statement that has neither a name nor values', async () => {
    for (const i of [0, 1])
      expect((await own(i).query({ text: 'select stream_id from feature' })).rows).toEqual([{ stream_id: tenants[i]!.stream.streamId }]);
  });

  test('sees one organization per statement, however many run at once on the same connections', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const relation = [...growing.filter((name) => name !== 'measurement'), ...rollups][i % 7]!;
        const { rows } = await own(i % 2).query(`select distinct stream_id from ${relation}`);
        return [i % 2, relation, rows] as const;
      }),
    );
    for (const [i, relation, rows] of answers) expect([relation, rows]).toEqual([relation, [{ stream_id: tenants[i]!.stream.streamId }]]);
    expect((await roles.api.pool.query('select * from feature union all select * from feature')).rows).toEqual([]);
  });

  test('a statement that fails leaves nothing behind for the next, of whatever organization', async () => {
    for (let i = 0; i < 20; i++) {
      await expect(own(0).query('select 1 / (select 0)')).rejects.toMatchObject({ code: '22012' });
      await expect(own(0).query(`insert into mood (organization_id) values ('${tenants[1]!.tenant.orgId}')`)).rejects.toThrow();
      expect((await own(1).query('select id from organization')).rows).toEqual([{ id: tenants[1]!.tenant.orgId }]);
      expect((await roles.api.pool.query('select id from organization')).rows).toEqual([]);
    }
  });

  // With values a statement is sent together with what names its organization, prepared or not.
  const seen = `select id, current_setting('plan_cache_mode') as plans from organization where $1::text is not null`;
  const asked = (i: number) => (i % 3 === 0 ? { name: 'seen', text: seen, values: ['a'] } : { text: seen, values: ['a'] });

  test('a statement with values sees one organization, however many run at once, and none without a name', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, async (_, i) => own(i % 2).query(asked(i))));
    for (const [i, { rows, rowCount, command }] of answers.entries()) {
      const plans = i % 3 === 0 ? 'force_generic_plan' : 'auto';
      expect({ rows, rowCount, command }).toEqual({ rows: [{ id: tenants[i % 2]!.tenant.orgId, plans }], rowCount: 1, command: 'SELECT' });
    }
    for (let i = 0; i < 10; i++) {
      expect((await roles.api.pool.query(asked(i))).rows).toEqual([]);
      expect((await roles.api.pool.query(`select current_setting('bio.organization_id', true) as id`)).rows).toEqual([{ id: '' }]);
    }
  });

  test('a statement with values that fails is undone, and leaves nothing behind; its connection stays unless it was prepared', async () => {
    const { subjectId, orgId } = tenants[0]!.tenant;
    const pid = async (): Promise<number> => (await own(0).query('select pg_backend_pid() as pid where $1', [true])).rows[0].pid;
    const before = await pid();
    const change = `update xuser set display_name = 'changed', time_zone = case when 1 / $1::int > 0 then 'UTC' end where id = $2`;
    for (let i = 0; i < 20; i++) {
      expect(await pid()).toBe(before);
      await expect(own(0).query(change, [0, subjectId])).rejects.toMatchObject({ code: '22012' });
      await expect(own(0).query(change, ['no number', subjectId])).rejects.toMatchObject({ code: '22P02' });
      await expect(own(0).query('select $1 from nowhere', ['a'])).rejects.toMatchObject({ code: '42P01' });
      expect((await own(1).query(asked(i))).rows).toMatchObject([{ id: tenants[1]!.tenant.orgId }]);
      expect((await roles.api.pool.query(asked(i))).rows).toEqual([]);
    }
    expect((await own(0).query('select display_name from xuser where id = $1', [subjectId])).rows).toEqual([{ display_name: '' }]);
    for (let i = 0; i < 3; i++)
      await expect(own(0).query({ name: 'broken', text: 'select $1 from nowhere', values: ['a'] })).rejects.toMatchObject({
        code: '42P01',
      });
    expect((await own(0).query(asked(0))).rows).toMatchObject([{ id: orgId }]);
  });

  test('a transaction of several statements names its organization; nothing outside of it sees a row', async () => {
    const connection = await own(0).connect();
    expect((await connection.query('select id from xuser')).rows).toEqual([]);
    await connection.query('begin isolation level repeatable read read only');
    expect((await connection.query('select distinct stream_id from beat')).rows).toEqual([{ stream_id: tenants[0]!.stream.streamId }]);
    await connection.query('rollback');
    expect((await connection.query('select id from xuser')).rows).toEqual([]);
    connection.release();
  });

  test('what people report goes in for their organization only', async () => {
    const row = (i: number): string =>
      `insert into measurement (time, ts_ns, id, organization_id, project_id, xuser_id, biosignal_id, value, unit)
       select time, ts_ns + 1, gen_random_uuid(), '${tenants[i]!.tenant.orgId}', '${tenants[i]!.tenant.projectId}', '${tenants[i]!.tenant.subjectId}', biosignal_id, 1, ''
       from measurement`;
    expect((await own(0).query(row(0))).rowCount).toBe(1);
    await expect(own(0).query(row(1))).rejects.toMatchObject({ code: '44000' }); // the view's check option
  });

  test('a handler that forgets the organization answers with its caller’s rows', async () => {
    const build = (db: pg.Pool): Route[] => [
      {
        method: 'GET',
        path: '/all',
        operationId: 'all',
        tag: 'T',
        summary: 'everybody',
        access: { key: 'read' },
        responses: { 200: { description: 'ok' } },
        handler: async () => ({ status: 200, json: (await db.query('select id from xuser')).rows }),
      },
    ];
    const [route] = routesByOrganization(build, database.pool, roles.api);
    for (const { tenant } of tenants) {
      const caller = { kind: 'key', keyId: 'k', orgId: tenant.orgId, scopes: ['read'], projectId: null, subjectId: null } as const;
      expect(await route!.handler({ caller } as unknown as RequestContext)).toEqual({ status: 200, json: [{ id: tenant.subjectId }] });
    }
  });
});

// promise: roles-of-two-logins
test('a login that has not made the roles of its server is told who may grant them, and acts as them afterwards', async () => {
  const { url, drop } = await emptyDatabase();
  const name = new URL(url).pathname.slice(1);
  const login = `second_${name}`;
  await database.pool.query(`create role ${login} login createrole password 'word'`);
  await database.pool.query(`alter database ${name} owner to ${login}`);
  const address = Object.assign(new URL(url), { username: login, password: 'word' }).href;
  await upgrade(address, { plain: true });
  const owner = await openDatabase(address);
  try {
    const refused = await openRoles(owner);
    expect(refused.without).toBe(
      'permission denied to set role "biosignal_api": let a superuser grant biosignal_api, biosignal_ingest, biosignal_worker and biosignal_audit to this login, and start again',
    );
    await refused.close();
    await database.pool.query(`grant biosignal_api, biosignal_ingest, biosignal_worker, biosignal_audit to ${login}`);
    const roles = await openRoles(owner);
    expect(roles.without).toBeNull();
    expect((await roles.ingest.pool.query('select partitions from cluster_setting')).rows).toEqual([{ partitions: 1 }]);
    await roles.close();
  } finally {
    await owner.close();
    await drop();
    await database.pool.query(`drop role ${login}`);
  }
});

const seenByView = 'grows: read through its view in schema api';
/** Tables with rows of a person or an owner that have no row-level security, or no policy for api: no role sees them but those that
 *  are named. */
const exceptions: Readonly<Record<string, Readonly<{ reason: string; roles: readonly string[] }>>> = {
  sample_block: { reason: seenByView, roles: ['ingest', 'worker'] },
  beat_block: { reason: seenByView, roles: ['worker'] },
  feature_block: { reason: seenByView, roles: ['worker'] },
  derived_open: { reason: seenByView, roles: ['worker'] },
  measurement: { reason: seenByView, roles: ['ingest', 'worker'] },
  device_event: { reason: seenByView, roles: ['ingest', 'worker'] },
  packet_hash: { reason: 'grows, and is no question of anybody', roles: ['ingest'] },
  rollup_dirty: { reason: 'what the rollups note of features, which api sees through their views', roles: ['worker'] },
  feature_1h_kept: { reason: 'a rollup, which api sees through its view', roles: [] },
  feature_1d_kept: { reason: 'a rollup, which api sees through its view', roles: [] },
  unfinished_erasure: { reason: 'of people who are no longer there: erasure acts as the owner', roles: [] },
  project_retention_swept: { reason: "the housekeeping's own notes", roles: [] },
};

// A migration that adds a table and forgets who may see it fails here. Owned: with an organization, a project, a person or a stream,
// by a column or over a chain of foreign keys that ends with the organization.
// promise: row-security
test('every table with rows of a person or an owner has row-level security and a policy, or is an exception with a reason', async () => {
  const { rows } = await database.pool.query<{ name: string; guarded: boolean; roles: string[]; view: boolean }>(
    `with recursive owned (relation) as (
       select 'organization'::regclass::oid
       union select k.conrelid from pg_constraint k join owned o on k.confrelid = o.relation where k.contype = 'f'
     )
     select c.relname as name, to_regclass('api.' || quote_ident(c.relname)) is not null as view,
       c.relrowsecurity and exists (select from pg_policy p where p.polrelid = c.oid and 'biosignal_api'::regrole = any (p.polroles)) as guarded,
       array(select role from unnest(array['api', 'ingest', 'worker', 'audit']) role
         where has_table_privilege('biosignal_' || role, c.oid, 'select, insert, update, delete')) as roles
     from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
       and (c.oid in (select relation from owned) or exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           and a.attname in ('organization_id', 'project_id', 'xuser_id', 'subject_id', 'stream_id')))
     order by 1`,
  );
  expect(rows.length).toBeGreaterThan(35);
  const unguarded = rows.filter((row) => !row.guarded);
  for (const { name, roles, view } of unguarded) {
    expect(exceptions[name]?.reason, `${name} has no row-level security or no policy`).toBeDefined();
    expect([name, roles]).toEqual([name, exceptions[name]!.roles]);
    if (exceptions[name]!.reason === seenByView) expect([name, view]).toEqual([name, true]);
  }
  expect(unguarded.map(({ name }) => name)).toEqual(Object.keys(exceptions).toSorted());
});
