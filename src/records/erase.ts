/** Erases one user: every row of every store, rollups included, with a receipt that says what went and that nothing is left.
 *
 *  The user is disabled first, in a transaction of its own: tokens stop, and open feeds and recordings end. Then everything goes in one
 *  transaction together with the receipt's entry in the audit log: there is no erasure without a receipt, and no receipt without one. */
import type { Pool, PoolClient } from 'pg';
import { sqlState } from '../auth/api-keys.ts';
import { audit } from '../auth/audit.ts';
import type { Actor } from '../auth/audit.ts';
import { PipelineError } from '../errors.ts';
import type { SubjectId } from '../signal.ts';
import { waitLong } from '../storage/database.ts';
import { emitEvent } from './webhooks.ts';

export type StoreReceipt = Readonly<{ store: string; deleted: number; remaining: number }>;
export type EraseReceipt = Readonly<{
  xuser_id: string;
  erased_at: string;
  stores: readonly StoreReceipt[];
  /** Raw packets are logged in batches of many devices; the log drops whole partitions. */
  packet_log_until: string;
}>;

export type EraseOptions = Readonly<{
  /** Who does it, for the audit log; null: the command line. */
  actor: Actor | null;
  /** Ends feeds and recordings of the user in this process, and stores what is on its way. Other nodes hear of the disabled user. */
  endSubject?: (subjectId: SubjectId) => Promise<void>;
}>;

/** Tables without foreign keys, found by stream or by user. */
const dataTables = [
  ['sample_block', 'stream_id'],
  ['beat', 'stream_id'],
  ['feature', 'stream_id'],
  ['device_event', 'stream_id'],
  ['packet_hash', 'stream_id'],
  ['measurement', 'xuser_id'],
] as const;
const rollups = ['feature_1m', 'feature_1h', 'feature_1d'] as const;
const PACKET_LOG_HOURS = 24 + 6; // kept a day, dropped by partitions of six hours

/** @throws PipelineError not_found; conflict when the database is not of this version (then nothing is erased) */
export async function eraseUser(pool: Pool, orgId: string, subjectId: string, options: EraseOptions): Promise<EraseReceipt> {
  const { rows } = await pool.query<{ project_id: string }>(
    'update xuser set disabled_at = coalesce(disabled_at, now()) where id = $1 and organization_id = $2 returning project_id',
    [subjectId, orgId],
  );
  const user = rows[0];
  if (user === undefined) throw new PipelineError('not_found', 'There is no such user.');
  await options.endSubject?.(subjectId as SubjectId);
  const client = await pool.connect();
  const waitAsBefore = waitLong(client); // years of samples
  try {
    await client.query('begin');
    await client.query('set local statement_timeout = 0'); // years of samples take longer than a request may
    const stores = await eraseRows(client, orgId, subjectId);
    const now = Date.now();
    const receipt: EraseReceipt = {
      xuser_id: subjectId,
      erased_at: new Date(now).toISOString(),
      stores,
      packet_log_until: new Date(now + PACKET_LOG_HOURS * 3_600_000).toISOString(),
    };
    await emitEvent(client as unknown as Pool, { orgId, projectId: user.project_id }, 'xuser.erased', { xuser_id: subjectId });
    const cli: Actor = { caller: { kind: 'operator', operatorId: 'cli', orgId, role: 'admin' }, remoteAddress: '', requestId: 'cli' };
    await audit(client, options.actor ?? cli, {
      action: 'xuser.erased',
      targetKind: 'xuser',
      targetId: subjectId,
      detail: { stores, packet_log_until: receipt.packet_log_until },
    });
    await client.query('commit');
    waitAsBefore();
    client.release();
    return receipt;
  } catch (error) {
    client.release(true); // rolls back, and leaves no setting or lock behind
    if (/^(42P01|42703|42883)$/.test(sqlState(error))) {
      throw new PipelineError('conflict', 'Nothing was erased: the database is not of this version. Run biosignal migrate first.', {
        cause: error,
      });
    }
    throw error;
  }
}

async function eraseRows(client: PoolClient, orgId: string, subjectId: string): Promise<readonly StoreReceipt[]> {
  const { rows: kinds } = await client.query<{ kind: string }>('select kind from database_kind');
  const continuous = kinds[0]?.kind === 'timescale';
  if (continuous) await client.query('set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
  // A refresh that began before would bring back what it saw; it keeps this lock from its list to its last commit.
  else await client.query('select pg_advisory_xact_lock(803144, 2)');
  const streams = await client.query<{ id: number }>('select id from stream where xuser_id = $1', [subjectId]);
  const streamIds = streams.rows.map((row) => row.id);
  const stores: { store: string; deleted: number; count: () => Promise<number> }[] = [];

  const related = await relatedTables(client);
  for (const { name, key, parent } of related) {
    const ids = parent === 'stream' ? streamIds : [subjectId];
    const count = (): Promise<number> => countRows(client, name, key, parent, ids);
    stores.push({ store: name, deleted: await count(), count });
  }
  for (const [name, key] of dataTables) {
    const ids = key === 'stream_id' ? streamIds : [subjectId];
    const type = key === 'stream_id' ? 'integer' : 'uuid';
    const { rowCount } = await client.query(`delete from ${name} where ${key} = any($1::${type}[])`, [ids]);
    stores.push({ store: name, deleted: rowCount ?? 0, count: () => countRows(client, name, key, 'data', ids) });
  }
  for (const rollup of rollups) {
    const deleted = await eraseRollup(client, rollup, continuous, streamIds);
    stores.push({ store: rollup, deleted, count: () => countRows(client, rollup, 'stream_id', 'data', streamIds) });
  }
  if (!continuous) await client.query('delete from rollup_dirty where stream_id = any($1::integer[])', [streamIds]);
  // Kept answers of POSTs and told events may name the user.
  const kept = await client.query('delete from idempotency where organization_id = $1 and position($2::bytea in response_body) > 0', [
    orgId,
    Buffer.from(subjectId),
  ]);
  const told = await client.query(
    `delete from webhook_delivery d using webhook w
     where w.id = d.webhook_id and w.organization_id = $1 and position($2 in d.payload::text) > 0`,
    [orgId, subjectId],
  );
  const user = await client.query('delete from xuser where id = $1', [subjectId]); // and all that hangs on it
  stores.push(
    { store: 'idempotency', deleted: kept.rowCount ?? 0, count: async () => 0 },
    { store: 'webhook_delivery', deleted: told.rowCount ?? 0, count: async () => 0 },
    { store: 'xuser', deleted: user.rowCount ?? 0, count: () => countRows(client, 'xuser', 'id', 'data', [subjectId]) },
  );
  const receipt: StoreReceipt[] = [];
  for (const { store, deleted, count } of stores) receipt.push({ store, deleted, remaining: await count() });
  return receipt;
}

type Related = Readonly<{ name: string; key: string; parent: 'xuser' | 'stream' | 'episode' }>;

/** What hangs on a user by foreign keys: found in the catalog, so a table added later is counted without being named here. */
async function relatedTables(client: PoolClient): Promise<readonly Related[]> {
  const { rows } = await client.query<Related>(
    `select c.relname as name, a.attname as key, p.relname as parent
     from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
     where k.contype = 'f' and k.confdeltype = 'c' and k.conparentid = 0
       and k.confrelid in ('xuser'::regclass, 'stream'::regclass, 'episode'::regclass)
     order by 1`,
  );
  return rows;
}

async function countRows(
  client: PoolClient,
  table: string,
  key: string,
  parent: Related['parent'] | 'data',
  ids: readonly (string | number)[],
): Promise<number> {
  const type = typeof ids[0] === 'number' || key === 'stream_id' ? 'integer' : 'uuid';
  const own =
    parent === 'episode'
      ? `${client.escapeIdentifier(key)} in (select id from episode where xuser_id = any($1::uuid[]))`
      : `${client.escapeIdentifier(key)} = any($1::${type}[])`;
  const { rows } = await client.query<{ n: number }>(`select count(*)::integer as n from ${client.escapeIdentifier(table)} where ${own}`, [
    ids,
  ]);
  return rows[0]?.n ?? 0;
}

/** Deletes what is kept of a rollup. A refresh would do it too, but recompute everybody's rows of those days, and would not reach aggregates
 *  that outlived their features. @returns rows that were shown of the user */
async function eraseRollup(client: PoolClient, rollup: string, continuous: boolean, streamIds: readonly number[]): Promise<number> {
  let table = `${rollup}_kept`;
  if (continuous) {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', materialization_hypertable_schema, materialization_hypertable_name) as name
       from timescaledb_information.continuous_aggregates where view_name = $1`,
      [rollup],
    );
    const found = rows[0]?.name;
    if (found === undefined) throw new PipelineError('conflict', `Nothing was erased: there is no continuous aggregate ${rollup}.`);
    table = found;
  }
  const { rowCount } = await client.query(`delete from ${table} where stream_id = any($1::integer[])`, [streamIds]);
  return rowCount ?? 0;
}
