/** Acknowledgements: who has seen an episode, when, and what they noted. The newest one still in effect counts; the others are history. */
import { build, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Caller } from '../caller.ts';
import { callerKey } from '../http/request.ts';
import { callerName } from './caller-name.ts';

/** An acknowledgement as the API shows it. */
export type Acknowledgement = Readonly<{
  at: string;
  by: string;
  by_name: string | null;
  note: string;
  /** null: still in effect. */
  ended_at: string | null;
}>;

const HISTORY_MAX = 1000;

/** Newest first. */
export async function listAcknowledgements(db: Db, episodeId: string): Promise<readonly Acknowledgement[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('episode_acknowledgement as k')
      .select(({ ref, fn, val }) => [
        isoTime(ref('k.created_at')).as('at'),
        'k.acknowledged_by as by',
        fn<string | null>('nullif', [ref('k.name'), val('')]).as('by_name'),
        'k.note',
        isoTime(ref('k.ended_at')).as('ended_at'),
      ])
      .where('k.episode_id', '=', episodeId)
      .orderBy(({ eb }) => eb('k.ended_at', 'is not', null))
      .orderBy('k.created_at', 'desc')
      .orderBy('k.id')
      .limit(HISTORY_MAX),
  );
  return rows;
}

/** Adds an acknowledgement, which replaces the previous one. The caller holds the lock of the episode. */
export async function acknowledge(db: Db, caller: Caller, episodeId: string, note: string): Promise<void> {
  await endAcknowledgement(db, episodeId);
  const name = await callerName(db, caller);
  const acknowledgement = { episode_id: episodeId, acknowledged_by: callerKey(caller), name, note };
  await run(db, build.insertInto('episode_acknowledgement').values(acknowledgement));
  await run(db, build.updateTable('episode').set({ updated_at: now }).where('id', '=', episodeId));
}

/** Ends the acknowledgement in effect, so that the episode asks to be looked at again. */
export async function endAcknowledgement(db: Db, episodeId: string): Promise<void> {
  const counting = build.updateTable('episode_acknowledgement').where('episode_id', '=', episodeId).where('ended_at', 'is', null);
  await run(db, counting.set({ ended_at: now }));
}
