/** Erases one user: every row in every store, rollups included, with a receipt that lists what was erased and confirms that nothing is
 *  left.
 *
 *  The user is disabled first, in a transaction of its own: tokens stop working, and open feeds and recordings end. Then everything is
 *  deleted in one transaction with the receipt's entry in the audit log, so there is never an erasure without a receipt, or a receipt
 *  without an erasure. A service may be storing rows of the user at that moment (the command is a process of its own): they are waited
 *  for, deleted, and have an entry of their own. Until then the user is in the table unfinished_erasure: when this process is killed, any
 *  service finishes the erasure.
 *
 *  Plain SQL where the table comes from the catalog, and where a deletion and the count after it share a condition. */
import type { Pool, PoolClient } from 'pg';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { audit } from '../tenancy/audit.ts';
import type { Actor } from '../tenancy/audit.ts';
import { emitEvent } from '../tenancy/events.ts';
import { knownError, PipelineError } from '../errors.ts';
import { build, now, run } from '../storage/database/build.ts';
import type { SubjectId } from '../signal.ts';
import { waitLong } from '../storage/database/database.ts';
import { erasureLock, pairLocks } from '../storage/database/locks.ts';
import { untilErasureIsSeen } from '../storage/erased-streams.ts';
import { mayHoldEntriesOf } from '../storage/log-batch.ts';

export type StoreReceipt = Readonly<{ store: string; deleted: number; remaining: number }>;
export type EraseReceipt = Readonly<{
  xuser_id: string;
  erased_at: string;
  stores: readonly StoreReceipt[];
  /** Devices of the user that stay, because they recorded other users too. */
  devices_shared: number;
  /** When the last raw packets are gone: they are logged in batches of many devices, and the log drops whole partitions. */
  packet_log_until: string;
}>;

export type EraseOptions = Readonly<{
  /** The actor, for the audit log; null: unknown. */
  actor: Actor | null;
  /** Ends feeds and recordings of the user in this process, and stores data still in memory. Other nodes are notified that the user is
   *  disabled. */
  endSubject?: (subjectId: SubjectId) => Promise<void>;
}>;

const rollups = ['feature_1h', 'feature_1d'] as const;
const ATTEMPTS_MAX = 5;
const DEADLOCK = '40P01';
/** Hours of a partition of the packet log, which is dropped as a whole. */
const LOG_PARTITION_HOURS = 6;
/** Hours that a new database keeps of the packet log; also told where it is kept forever, for which the receipt has no value. */
const LOG_HOURS = 24;

/** @throws PipelineError not_found; conflict when the database is not of this version (then nothing is erased) */
export async function eraseUser(pool: Pool, orgId: string, subjectId: string, options: EraseOptions): Promise<EraseReceipt> {
  const person = build.updateTable('xuser').where('id', '=', subjectId).where('organization_id', '=', orgId);
  const { rows } = await run(pool, person.set(({ fn }) => ({ disabled_at: fn.coalesce('disabled_at', now) })).returning('project_id'));
  const user = rows[0];
  if (user === undefined) throw new PipelineError('not_found', 'There is no such user.');
  await options.endSubject?.(subjectId as SubjectId).catch((error: unknown) => {
    throw asDisabledOnly(error);
  });
  const client = await pool.connect();
  waitLong(client); // years of samples
  try {
    await client.query(`select pg_advisory_lock_shared(${erasureLock(subjectId)})`); // nobody finishes it meanwhile
    const note = async (stores: readonly StoreReceipt[], { devicesShared, packetLogUntil }: Kept): Promise<void> =>
      await audit(client, options.actor ?? nobody(orgId), {
        action: 'xuser.erased',
        targetKind: 'xuser',
        targetId: subjectId,
        subjectId,
        projectId: user.project_id,
        detail: { stores, devices_shared: devicesShared, packet_log_until: packetLogUntil },
      });
    const erased = await inTransaction(client, async () => {
      const rows = await eraseRows(client, orgId, subjectId);
      await noteUnfinished(client, { orgId, projectId: user.project_id }, rows.person);
      const erasedMs = Date.now();
      const packetLogUntil = new Date(erasedMs + (await packetLogHours(client)) * 3_600_000).toISOString();
      await emitEvent(client as unknown as Pool, { orgId, projectId: user.project_id }, 'xuser.erased', { xuser_id: subjectId });
      await note(rows.stores, { ...rows, packetLogUntil });
      return { ...rows, erasedMs, packetLogUntil };
    });
    const late = await eraseLate(client, subjectId, async (stores) => await note(stores, erased));
    return {
      xuser_id: subjectId,
      erased_at: new Date(erased.erasedMs).toISOString(),
      stores: withLate(erased.stores, late),
      devices_shared: erased.devicesShared,
      packet_log_until: erased.packetLogUntil,
    };
  } catch (error) {
    if (/^(42P01|42703|42883)$/.test(sqlStateOf(error) ?? '')) {
      throw new PipelineError('conflict', 'Nothing was erased: the database is not of this version. Run biosignal migrate first.', {
        cause: error,
      });
    }
    throw error;
  } finally {
    client.release(true); // rolls back, and leaves no setting or lock behind
  }
}

/** Says what was done until then, which the request given again goes on from. */
function asDisabledOnly(error: unknown): unknown {
  const { code, message, retryAfterSec } = knownError(error);
  if (code !== 'unavailable') return error;
  const said = `Nothing was erased yet, but the user is disabled: ${message.replace(/\.$/, '')}. Send the same request again.`;
  return new PipelineError(code, said, { cause: error, ...(retryAfterSec !== null && { retryAfterSec }) });
}

/** Hours until the log has dropped a packet of now. */
async function packetLogHours(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ hours: number | null }>(
    `select extract(epoch from keep)::float8 / 3600 as hours from retention where relation = 'packet_log'`,
  );
  return (rows[0]?.hours ?? LOG_HOURS) + LOG_PARTITION_HOURS;
}

/** What is left of the user for a while, or for good. */
type Kept = Readonly<{ devicesShared: number; packetLogUntil: string }>;
type Erased = Readonly<{ stores: readonly StoreReceipt[]; devicesShared: number; person: Person }>;
type Store = Readonly<{ store: string; deleted: number; count: () => Promise<number> }>;

/** The actor of what nobody is known to have asked for. */
const nobody = (orgId: string): Actor => ({ caller: { kind: 'cli', orgId, account: '' }, remoteAddress: '', requestId: '' });

/** Notes in the transaction of the erasure what is needed to finish it. */
async function noteUnfinished(
  client: PoolClient,
  { orgId, projectId }: Readonly<{ orgId: string; projectId: string }>,
  { subjectId, streamIds, streamUuids }: Person,
): Promise<void> {
  await run(
    client,
    build
      .insertInto('unfinished_erasure')
      .values({
        person_id: subjectId,
        organization_id: orgId,
        project_id: projectId,
        stream_ids: [...streamIds],
        stream_uuids: [...streamUuids],
      })
      .onConflict((twice) => twice.doNothing()), // two at once: the first one knew the streams
  );
}

type Unfinished = Readonly<{ person: Person; orgId: string; projectId: string }>;

/** Deletes rows that were being stored when the erasure was committed. From then on writers leave out rows of the user.
 *  @returns nothing when another process has finished the erasure */
async function eraseLate(
  client: PoolClient,
  personId: string,
  note: (late: readonly StoreReceipt[], of: Unfinished) => Promise<void>,
): Promise<readonly StoreReceipt[]> {
  await untilErasureIsSeen(client);
  return await inTransaction(client, async () => {
    await keepRefreshOut(client);
    const finished = build.deleteFrom('unfinished_erasure').where('person_id', '=', personId);
    const { rows } = await run(client, finished.returning(['organization_id', 'project_id', 'stream_ids', 'stream_uuids']));
    const row = rows[0];
    if (row === undefined) return [];
    const person: Person = { subjectId: personId, streamIds: row.stream_ids, streamUuids: row.stream_uuids };
    const late = await receiptOf(await eraseUnreferenced(client, await personalTables(client), person));
    if (late.some(({ deleted }) => deleted > 0)) await note(late, { person, orgId: row.organization_id, projectId: row.project_id });
    return late;
  });
}

/** Finishes erasures whose process has ended before it had deleted what was being stored. Any number of services may call it at once.
 *  @param only one person; default: everybody  @returns how many it finished
 *  @throws the first error, after all have been tried */
export async function finishErasures(pool: Pool, only?: string): Promise<number> {
  const unfinished = build.selectFrom('unfinished_erasure').select('person_id');
  const { rows } = await run(pool, only === undefined ? unfinished : unfinished.where('person_id', '=', only));
  let finished = 0;
  const failures: unknown[] = [];
  for (const { person_id: id } of rows)
    await finishErasure(pool, id).then(
      (done) => (finished += done ? 1 : 0),
      (error: unknown) => failures.push(error),
    );
  if (failures.length > 0) throw failures[0];
  return finished;
}

/** @returns false: the process that erases them is alive, or another one is finishing it */
async function finishErasure(pool: Pool, personId: string): Promise<boolean> {
  const client = await pool.connect();
  waitLong(client);
  try {
    const { rows } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${erasureLock(personId)}) as got`);
    if (rows[0]?.got !== true) return false;
    await eraseLate(client, personId, async (stores, { orgId, projectId }) => {
      const entry = { action: 'xuser.erased', targetKind: 'xuser', targetId: personId, subjectId: personId, projectId };
      await audit(client, nobody(orgId), { ...entry, detail: { stores, interrupted: true } });
    });
    return true;
  } finally {
    client.release(true); // with its lock and settings
  }
}

/** `work` between begin and commit; again, up to ATTEMPTS_MAX times, when the server ended it in favour of a writer that it was in a
 *  deadlock with. */
async function inTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin');
      await client.query('set local statement_timeout = 0'); // deleting years of samples takes longer than a request may
      const result = await work();
      await client.query('commit');
      return result;
    } catch (error) {
      if (sqlStateOf(error) !== DEADLOCK || attempt === ATTEMPTS_MAX) throw error;
      await client.query('rollback');
    }
  }
}

function withLate(stores: readonly StoreReceipt[], late: readonly StoreReceipt[]): readonly StoreReceipt[] {
  const byName = new Map(late.map((row) => [row.store, row]));
  return stores.map(({ store, deleted, remaining }) => {
    const more = byName.get(store);
    return more === undefined ? { store, deleted, remaining } : { store, deleted: deleted + more.deleted, remaining: more.remaining };
  });
}

async function keepRefreshOut(client: PoolClient): Promise<void> {
  const { rows: kinds } = await run(client, build.selectFrom('database_kind').select('kind'));
  if (kinds[0]?.kind === 'timescale') await client.query('set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
  // A refresh already under way would bring back rows that it has read; it holds this lock from listing its work to its last commit.
  await client.query('select pg_advisory_xact_lock($1, $2)', [...pairLocks.refresh]);
}

async function eraseRows(client: PoolClient, orgId: string, subjectId: string): Promise<Erased> {
  await keepRefreshOut(client);
  const streams = await run(client, build.selectFrom('stream').select(['id', 'uuid']).where('xuser_id', '=', subjectId));
  const streamIds = streams.rows.map((row) => row.id);
  const recording = build.selectFrom('stream').select('device_id').where('xuser_id', '=', subjectId);
  const theirs = build
    .selectFrom('device')
    .select('id')
    .where(({ or, eb }) => or([eb('xuser_id', '=', subjectId), eb('id', 'in', recording)]));
  const devices = await run(client, theirs.forUpdate());
  const deviceIds = devices.rows.map((row) => row.id);
  const person: Person = { subjectId, streamIds, streamUuids: streams.rows.map((row) => row.uuid) };
  const stores: Store[] = [];

  const related = await personalTables(client);
  for (const table of related.filter(({ cascades }) => cascades)) {
    const count = (): Promise<number> => countRows(client, table, person);
    stores.push({ store: table.name, deleted: await count(), count });
  }
  stores.push(...(await eraseUnreferenced(client, related, person)));
  // Stored answers of POSTs and queued events may name the user.
  for (const { store, from, condition } of mentions) {
    const values = [orgId, subjectId];
    const { rowCount } = await client.query(`delete from ${from} where ${condition}`, values);
    const count = async (): Promise<number> =>
      (await client.query<{ n: number }>(`select count(*)::integer as n from ${from.replace(' using ', ', ')} where ${condition}`, values))
        .rows[0]?.n ?? 0;
    stores.push({ store, deleted: rowCount ?? 0, count });
  }
  stores.push({ store: 'set_aside of the log', deleted: await eraseUnread(client, orgId, person), count: async () => 0 });
  const user = await run(client, build.deleteFrom('xuser').where('id', '=', subjectId)); // and everything that references it
  stores.push({
    store: 'xuser',
    deleted: user.rowCount,
    count: () => countRows(client, { name: 'xuser', key: 'id', of: 'xuser', type: 'uuid', cascades: true }, person),
  });
  // A device's number identifies its owner. A device that recorded others too stays theirs.
  const unused = `id = any($1::uuid[]) and xuser_id is null and not exists (select 1 from stream where device_id = device.id)`;
  const device = await client.query(`delete from device where ${unused}`, [deviceIds]);
  const deleted = device.rowCount ?? 0;
  stores.push({
    store: 'device',
    deleted,
    count: async () =>
      (await client.query<{ n: number }>(`select count(*)::integer as n from device where ${unused}`, [deviceIds])).rows[0]?.n ?? 0,
  });
  return { stores: await receiptOf(stores), devicesShared: deviceIds.length - deleted, person };
}

/** Deletes the user's rows of tables without a foreign key to the user, and of the rollups. */
async function eraseUnreferenced(client: PoolClient, related: readonly PersonalTable[], person: Person): Promise<readonly Store[]> {
  const stores: Store[] = [];
  for (const table of related.filter(({ cascades }) => !cascades)) {
    const { condition, values } = ownRows(client, table, person);
    const { rowCount } = await client.query(`delete from ${client.escapeIdentifier(table.name)} where ${condition}`, values);
    stores.push({ store: table.name, deleted: rowCount ?? 0, count: () => countRows(client, table, person) });
  }
  for (const rollup of rollups) {
    const deleted = await eraseRollup(client, rollup, person.streamIds);
    const table: PersonalTable = { name: rollup, key: 'stream_id', of: 'stream', type: 'integer', cascades: false };
    stores.push({ store: rollup, deleted, count: () => countRows(client, table, person) });
  }
  return stores;
}

/** Counts what is left in each store. */
async function receiptOf(stores: readonly Store[]): Promise<readonly StoreReceipt[]> {
  const receipt = new Map<string, StoreReceipt>();
  for (const { store, deleted: gone, count } of stores) {
    const before = receipt.get(store) ?? { deleted: 0, remaining: 0 };
    receipt.set(store, { store, deleted: before.deleted + gone, remaining: before.remaining + (await count()) });
  }
  return [...receipt.values()];
}

/** $1: the organization, $2: the user. */
const mentions = [
  {
    store: 'idempotency',
    from: 'idempotency i',
    condition: `i.organization_id = $1 and (split_part(i.idempotency_key, ' ', 1) like '%' || $2::text
      or position(convert_to($2::text, 'UTF8') in coalesce(i.response_body, '')) > 0)`,
  },
  {
    store: 'webhook_delivery',
    from: 'webhook_delivery d using webhook w',
    condition: 'w.id = d.webhook_id and w.organization_id = $1 and position($2::text in d.payload::text) > 0',
  },
] as const;

/** A shorter name occurs in almost any bytes, unless preceded by its length, as in a packet. */
const NAME_BYTES_MIN = 8;

/** Erases damaged pieces of the packet log, which have no owner, if they may hold packets of the user. A piece names the stream in the head
 *  of an entry, and the device and user in text, parts of which may be damaged; erasing one too many does no harm.  @returns how many */
async function eraseUnread(client: PoolClient, orgId: string, { subjectId, streamIds }: Person): Promise<number> {
  const { rows } = await client.query<{ name: string }>(
    `select external_id as name from xuser where id = $1
     union select d.external_id from stream s join device d on d.id = s.device_id where s.xuser_id = $1`,
    [subjectId],
  );
  const names = [subjectId, ...rows.map(({ name }) => name)].map((name) => {
    const bytes = Buffer.from(name);
    return bytes.length < NAME_BYTES_MIN ? Buffer.concat([Buffer.of(bytes.length), bytes]) : bytes;
  });
  const ids = new Set(streamIds);
  const letters = await run(
    client,
    build
      .selectFrom('set_aside')
      .select('id')
      .where('xuser_id', 'is', null)
      .where(({ or, eb }) => or([eb('organization_id', 'is', null), eb('organization_id', '=', orgId)]))
      .where('bytes', 'is not', null),
  );
  let deleted = 0;
  for (const { id } of letters.rows) {
    // One at a time, because a piece is as large as a batch of the log.
    const read = await run(client, build.selectFrom('set_aside').select('bytes').where('id', '=', id));
    const bytes = read.rows[0]?.bytes ?? null;
    if (bytes === null || !(mayHoldEntriesOf(bytes, ids) || names.some((name) => bytes.includes(name)))) continue;
    deleted += (await run(client, build.deleteFrom('set_aside').where('id', '=', id))).rowCount;
  }
  return deleted;
}

type Person = Readonly<{ subjectId: string; streamIds: readonly number[]; streamUuids: readonly string[] }>;
type PersonalTable = Readonly<{
  name: string;
  key: string;
  of: 'xuser' | 'stream' | 'episode';
  type: 'integer' | 'uuid';
  /** Its rows are deleted with the user by foreign keys; otherwise they are deleted table by table. */
  cascades: boolean;
}>;

/** Tables whose rows name their owner, found in the catalog so that a table added later is not forgotten: by a foreign key that cascades
 *  from the user, or by the name of a column. The audit log keeps its ids, the packet log goes with its partitions, rollups are listed by
 *  name. */
async function personalTables(client: PoolClient): Promise<readonly PersonalTable[]> {
  const { rows } = await client.query<PersonalTable>(
    `select c.relname as name, a.attname as key, format_type(a.atttypid, null) as type, k.oid is not null as cascades,
       coalesce(p.relname, case when a.attname in ('xuser_id', 'subject_id') then 'xuser' when a.attname = 'stream_id' then 'stream' else 'episode' end) as of
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' and k.confdeltype = 'c' and k.conparentid = 0
       and k.conkey[1] = a.attnum and k.confrelid in ('xuser'::regclass, 'stream'::regclass, 'episode'::regclass)
     left join pg_class p on p.oid = k.confrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> all($1::text[]) and format_type(a.atttypid, null) in ('integer', 'uuid')
       and (k.oid is not null or a.attname in ('xuser_id', 'subject_id', 'stream_id', 'episode_id') and not exists (
         select 1 from pg_constraint f where f.conrelid = c.oid and f.contype = 'f'
           and (a.attnum = any(f.conkey) or f.confdeltype = 'c' and f.confrelid = 'xuser'::regclass)))
     order by cascades desc, c.relname = 'beat_block', 1, 2`, // after feature_block, as writers lock them
    [['audit_log', 'packet_log', ...rollups.map((rollup) => `${rollup}_kept`)]],
  );
  return rows;
}

function ownRows(client: PoolClient, { key, of, type }: PersonalTable, person: Person): Readonly<{ condition: string; values: unknown[] }> {
  const column = client.escapeIdentifier(key);
  if (of === 'episode') {
    return { condition: `${column} in (select id from episode where xuser_id = $1::uuid)`, values: [person.subjectId] };
  }
  const ids = of === 'xuser' ? [person.subjectId] : type === 'uuid' ? person.streamUuids : person.streamIds;
  return { condition: `${column} = any($1::${type}[])`, values: [ids] };
}

async function countRows(client: PoolClient, table: PersonalTable, person: Person): Promise<number> {
  const { condition, values } = ownRows(client, table, person);
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::integer as n from ${client.escapeIdentifier(table.name)} where ${condition}`,
    values,
  );
  return rows[0]?.n ?? 0;
}

/** Deletes what is kept of a rollup. A refresh would do it too, but would not reach rows that outlived their features.
 *  @returns rows that were shown of the user */
async function eraseRollup(client: PoolClient, rollup: string, streamIds: readonly number[]): Promise<number> {
  const { rowCount } = await client.query(`delete from ${rollup}_kept where stream_id = any($1::integer[])`, [streamIds]);
  return rowCount ?? 0;
}
