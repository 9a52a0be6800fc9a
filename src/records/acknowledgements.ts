/** Acknowledgements: who has seen an episode, when, and what they noted. The newest that has not ended counts; the others are its history. */
import type { Db } from '../storage/database/database.ts';
import type { Caller } from '../caller.ts';
import { callerKey } from '../http/request.ts';

/** As the API shows it. */
export type Acknowledgement = Readonly<{
  at: string;
  by: string;
  by_name: string | null;
  note: string;
  /** null: it counts. */
  ended_at: string | null;
}>;

const HISTORY_MAX = 1000;

/** Newest first. */
export async function listAcknowledgements(db: Db, episodeId: string): Promise<readonly Acknowledgement[]> {
  const { rows } = await db.query<Acknowledgement>(
    `select to_json(created_at) #>> '{}' as at, acknowledged_by as by, nullif(name, '') as by_name, note, to_json(ended_at) #>> '{}' as ended_at
     from episode_acknowledgement where episode_id = $1 order by ended_at is not null, created_at desc, id limit ${HISTORY_MAX}`,
    [episodeId],
  );
  return rows;
}

/** Adds one, which replaces the one before. Call it on an episode that is locked. */
export async function acknowledge(db: Db, caller: Caller, episodeId: string, note: string): Promise<void> {
  await endAcknowledgement(db, episodeId);
  const [operatorId, keyId] = [caller.kind === 'operator' ? caller.operatorId : null, caller.kind === 'key' ? caller.keyId : null];
  // Without a name, who it was is readable by the first part of their address.
  await db.query(
    `insert into episode_acknowledgement (episode_id, acknowledged_by, name, note)
     values ($1, $2, coalesce(
       (select coalesce(nullif(display_name, ''), split_part(email, '@', 1)) from operator_account where id = $3),
       (select name from api_key where id = $4), ''), $5)`,
    [episodeId, callerKey(caller), operatorId, keyId, note],
  );
  await db.query('update episode set updated_at = now() where id = $1', [episodeId]);
}

/** What was acknowledged is to be looked at again. */
export async function endAcknowledgement(db: Db, episodeId: string): Promise<void> {
  await db.query('update episode_acknowledgement set ended_at = now() where episode_id = $1 and ended_at is null', [episodeId]);
}
