/** Moves an organization to another database: `biosignal org move`, and `remove` afterwards. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { eraseUser } from '../records/erase.ts';
import { openDatabase } from '../storage/database/database.ts';
import type { Database } from '../storage/database/database.ts';
import { moveLock } from '../storage/database/locks.ts';
import { transaction } from '../storage/database/transaction.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { audit } from '../tenancy/audit.ts';
import { commandLine } from './acts.ts';
import { readBackup, writeBackup } from './backup.ts';
import { waitForBacklog } from './backlog.ts';
import type { Console } from './command.ts';
import { EXIT_OK, EXIT_UNAVAILABLE, UsageError } from './command.ts';
import { listNamed } from './table.ts';

const NEXT = "send its devices and applications to the other service; then 'biosignal org remove' erases what is left here";
const UNDEFINED_TABLE = '42P01';
/** Until every node has heard that the organization is moved: credentials are looked up anew after a second. */
const HEARD_MS = 3000;

export type Move = Readonly<{ orgId: string; to: string; folder: string; waitMs: number }>;

/** Moves it. When something fails before the other database has everything, the organization goes on here. A command that was killed is
 *  given again: what it left is taken from where it was. @returns exit code */
export async function moveOrganization(from: Database, { orgId, to, folder, waitMs }: Move, console: Console): Promise<number> {
  if (to === '') throw new UsageError('move needs the other database: --to URL, or BIO_MOVE_TO');
  if (existsSync(folder) && (await readdir(folder)).length > 0) throw new UsageError(`${folder} is not empty`);
  return await alone(from.pool, orgId, () =>
    withOther(to, async (other) => {
      if (await isThere(other.pool, orgId)) {
        if (!((await isMoving(from.pool, orgId)) && (await goesOnThere(other.pool, orgId))))
          throw new PipelineError('conflict', 'the other database has the organization already');
        console.out(`was moved before: ${NEXT}`);
        return EXIT_OK;
      }
      await setMoving(from.pool, orgId, true, console);
      try {
        await sleep(HEARD_MS, undefined, { signal: console.signal });
        if (!(await waitForBacklog(from, waitMs, console))) {
          console.err('biosignal org move: acknowledged packets have not reached the tables; is the service running? Nothing was moved.');
          await setMoving(from.pool, orgId, false, console);
          return EXIT_UNAVAILABLE;
        }
        const manifest = await writeBackup(from, folder, console, orgId);
        await readBackup(other, folder, manifest, console);
      } catch (error) {
        if (!(await isThere(other.pool, orgId))) {
          await setMoving(from.pool, orgId, false, console);
          throw error;
        }
        console.err(`biosignal org move: the other database has everything, although: ${String(error)}`);
      }
      console.out(`moved: ${NEXT}`);
      return EXIT_OK;
    }),
  );
}

/** @param to the other database, which must not have it; '': a person has looked
 *  @throws PipelineError conflict: it is not being moved, or it goes on there */
export async function moveBack(pool: Pool, orgId: string, to: string, console: Console): Promise<number> {
  return await alone(pool, orgId, async () => {
    await needMoving(pool, orgId);
    if (to !== '' && (await withOther(to, (other) => goesOnThere(other.pool, orgId))))
      throw new PipelineError('conflict', 'the other database has everything, and the organization goes on there');
    await setMoving(pool, orgId, false, console);
    console.out('the organization goes on here');
    return EXIT_OK;
  });
}

/** Erases what a move has left here.
 *  @param to the other database: a move that was killed has left everything here, and nothing there
 *  @throws PipelineError conflict: it was not moved */
export async function removeOrganization(pool: Pool, orgId: string, to: string, isSure: boolean, console: Console): Promise<number> {
  if (to === '') throw new UsageError('remove asks the other database whether it has everything: --to URL, or BIO_MOVE_TO');
  return await alone(pool, orgId, async () => {
    await needMoving(pool, orgId);
    if (!(await withOther(to, (other) => goesOnThere(other.pool, orgId))))
      throw new PipelineError(
        'conflict',
        "the other database does not have the organization: 'biosignal org move' has not ended, give it again",
      );
    const { rows } = await pool.query<{ id: string }>('select id from xuser where organization_id = $1', [orgId]);
    if (!isSure) {
      const { rows: its } = await pool.query<{ id: string; name: string }>('select id, name from organization where id = $1', [orgId]);
      console.out(`would erase organization ${listNamed(its)} and its ${rows.length} users from this database; add --yes to do it`);
      return EXIT_OK;
    }
    for (const { id } of rows) {
      console.signal.throwIfAborted();
      await eraseUser(pool, orgId, id, { actor: commandLine(console, orgId) });
    }
    await transaction(pool, async (client) => {
      await audit(client, commandLine(console, orgId), { action: 'organization.removed', targetKind: 'organization', targetId: orgId });
      await client.query('delete from organization where id = $1', [orgId]);
    });
    console.out(`removed, with ${rows.length} users`);
    return EXIT_OK;
  });
}

/** Runs an act while no other command moves the organization. @throws PipelineError conflict: one does */
async function alone<T>(pool: Pool, orgId: string, act: () => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', () => undefined); // the act's own statements say that the database has gone
  try {
    const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${moveLock(orgId)}) as held`);
    if (rows[0]?.held !== true) throw new PipelineError('conflict', 'another command is moving the organization');
    return await act();
  } finally {
    client.release(true); // its lock goes with it
  }
}

async function withOther<T>(to: string, use: (other: Database) => Promise<T>): Promise<T> {
  const other = await openDatabase(to, { applicationName: 'biosignal move', poolSizeMax: 2, statementTimeoutMs: 0 });
  try {
    return await use(other);
  } finally {
    await other.close();
    if (!other.pool.ended) await other.pool.end();
  }
}

/** Only one of both databases may go on with it.
 *  @throws PipelineError unavailable: the other one does not say; nobody goes on until a person has looked */
async function isThere(other: Pool, orgId: string): Promise<boolean> {
  try {
    return (await other.query('select from organization where id = $1', [orgId])).rows.length > 0;
  } catch (error) {
    if (sqlStateOf(error) === UNDEFINED_TABLE)
      throw new PipelineError('conflict', "the other database has no schema: run 'biosignal migrate' there first; nothing was changed");
    throw new PipelineError(
      'unavailable',
      `it is not known whether the other database has everything (${String(error)}): look with 'biosignal org list' there; if it is not in the ` +
        "list, 'biosignal org move --back' lets it go on here",
    );
  }
}

/** Does the other database have it, and is not itself moving it away? The same database never does. */
async function goesOnThere(other: Pool, orgId: string): Promise<boolean> {
  return (await other.query('select from organization where id = $1 and moving_at is null', [orgId])).rows.length > 0;
}

async function isMoving(pool: Pool, orgId: string): Promise<boolean> {
  return (await pool.query('select from organization where id = $1 and moving_at is not null', [orgId])).rows.length > 0;
}

async function needMoving(pool: Pool, orgId: string): Promise<void> {
  if (!(await isMoving(pool, orgId)))
    throw new PipelineError('conflict', "the organization was not moved: 'biosignal org move' comes first");
}

async function setMoving(pool: Pool, orgId: string, moving: boolean, console: Console): Promise<void> {
  const action = moving ? 'organization.moving' : 'organization.stayed';
  await transaction(pool, async (client) => {
    await client.query(`update organization set moving_at = case when $2 then coalesce(moving_at, now()) end where id = $1`, [
      orgId,
      moving,
    ]);
    await audit(client, commandLine(console, orgId), { action, targetKind: 'organization', targetId: orgId });
  });
}
