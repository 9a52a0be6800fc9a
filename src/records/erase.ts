/** Erases one user: every row of every store, rollups included, with a receipt that says what went and that nothing is left. */
import type { Pool, PoolClient } from 'pg';
import { PipelineError } from '../errors.ts';

export type StoreReceipt = Readonly<{ store: string; deleted: number; remaining: number }>;
export type EraseReceipt = Readonly<{
  xuser_id: string;
  erased_at: string;
  stores: readonly StoreReceipt[];
  /** Raw packets are logged in batches of many devices; the log drops whole partitions. */
  packet_log_until: string;
}>;

/** Tables without foreign keys: found by stream, or by user. */
const dataTables: readonly Readonly<{ name: string; by: 'stream_id' | 'xuser_id' }>[] = [
  { name: 'sample_block', by: 'stream_id' },
  { name: 'beat', by: 'stream_id' },
  { name: 'feature', by: 'stream_id' },
  { name: 'device_event', by: 'stream_id' },
  { name: 'measurement', by: 'xuser_id' },
];
const rollups = ['feature_1m', 'feature_1h', 'feature_1d'] as const;
const PACKET_LOG_HOURS = 24 + 6; // kept a day, dropped by partitions of six hours

/** Erases. The user is disabled first, in a transaction of its own, so that tokens and devices stop before the rows go.
 *  @throws PipelineError not_found */
export async function eraseUser(pool: Pool, orgId: string, subjectId: string): Promise<EraseReceipt> {
  const { rowCount } = await pool.query(
    'update xuser set disabled_at = coalesce(disabled_at, now()) where id = $1 and organization_id = $2',
    [subjectId, orgId],
  );
  if (rowCount === 0) throw new PipelineError('not_found', 'There is no such user.');
  const client = await pool.connect();
  try {
    const streams = await client.query<{ id: number }>('select id from stream where xuser_id = $1', [subjectId]);
    const streamIds = streams.rows.map((row) => row.id);
    const span = await client.query<{ low: string | null; high: string | null }>(
      `select to_json(min(time) - interval '1 day') #>> '{}' as low, to_json(max(time) + interval '2 days') #>> '{}' as high
       from feature where stream_id = any($1::integer[])`,
      [streamIds],
    );
    const deleted = await eraseRows(client, orgId, subjectId, streamIds);
    await refreshRollups(client, span.rows[0]?.low ?? null, span.rows[0]?.high ?? null);
    const stores: StoreReceipt[] = [];
    for (const [store, count] of deleted) {
      const by = dataTables.find(({ name }) => name === store)?.by ?? (store === 'xuser' ? 'id' : 'xuser_id');
      stores.push({ store, deleted: count, remaining: await remaining(client, store, by, by === 'stream_id' ? streamIds : [subjectId]) });
    }
    for (const rollup of rollups)
      stores.push({ store: rollup, deleted: 0, remaining: await remaining(client, rollup, 'stream_id', streamIds) });
    const now = Date.now();
    return {
      xuser_id: subjectId,
      erased_at: new Date(now).toISOString(),
      stores,
      packet_log_until: new Date(now + PACKET_LOG_HOURS * 3_600_000).toISOString(),
    };
  } finally {
    client.release();
  }
}

async function eraseRows(client: PoolClient, orgId: string, subjectId: string, streamIds: readonly number[]): Promise<Map<string, number>> {
  const deleted = new Map<string, number>();
  try {
    await client.query('begin');
    await client.query('set local statement_timeout = 0'); // years of samples take longer than a request may
    for (const { name, by } of dataTables) {
      const ids = by === 'stream_id' ? streamIds : [subjectId];
      const type = by === 'stream_id' ? 'integer' : 'uuid';
      const { rowCount } = await client.query(`delete from ${name} where ${by} = any($1::${type}[])`, [ids]);
      deleted.set(name, rowCount ?? 0);
    }
    // Everything else hangs on the user by foreign keys; a table added later is counted without being named here.
    const related = await client.query<{ name: string }>(
      `select c.relname as name from pg_constraint k join pg_class c on c.oid = k.conrelid
       join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
       where k.contype = 'f' and k.confrelid = 'xuser'::regclass and a.attname = 'xuser_id' and k.confdeltype = 'c' and k.conparentid = 0
       order by 1`,
    );
    for (const { name } of related.rows) {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::integer as n from ${client.escapeIdentifier(name)} where xuser_id = $1`,
        [subjectId],
      );
      deleted.set(name, rows[0]?.n ?? 0);
    }
    // Kept answers of POSTs may name the user.
    const kept = await client.query('delete from idempotency where organization_id = $1 and position($2::bytea in response_body) > 0', [
      orgId,
      Buffer.from(subjectId),
    ]);
    const users = await client.query('delete from xuser where id = $1', [subjectId]);
    deleted.set('xuser', users.rowCount ?? 0);
    await client.query('commit');
    if ((kept.rowCount ?? 0) > 0) deleted.set('idempotency', kept.rowCount ?? 0);
    return deleted;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Deleted rows leave the rollups only when those are refreshed over their time. */
async function refreshRollups(client: PoolClient, low: string | null, high: string | null): Promise<void> {
  if (low === null || high === null) return;
  const { rows } = await client.query<{ kind: string }>('select kind from database_kind');
  if (rows[0]?.kind === 'timescale') {
    for (const rollup of rollups)
      await client.query(`call refresh_continuous_aggregate('${rollup}', $1::timestamptz, $2::timestamptz)`, [low, high]);
  } else await client.query('call refresh_rollups()');
}

async function remaining(client: PoolClient, table: string, by: string, ids: readonly (string | number)[]): Promise<number> {
  if (table === 'idempotency') return 0;
  const type = by === 'stream_id' ? 'integer' : 'uuid';
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::integer as n from ${client.escapeIdentifier(table)} where ${by} = any($1::${type}[])`,
    [ids],
  );
  return rows[0]?.n ?? 0;
}
