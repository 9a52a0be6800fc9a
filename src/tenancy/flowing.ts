/** When a recording counts as flowing, that is, its device sends now. */
import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';

/** Age of the newest packet above which a stream is no longer flowing, s. */
export const FLOWING_SEC = 10;

/** Whether a stream of the row `xuser` flows.
 *  @param ids internal numbers of the streams from which this process received packets within FLOWING_SEC; the database has those of other
 *  nodes */
export function hasFlowingStream(ids: readonly number[]): RawBuilder<boolean> {
  return sql`exists (
    select from stream s where s.xuser_id = xuser.id
      and (s.last_packet_at > now() - make_interval(secs => ${FLOWING_SEC}::integer) or s.id = any(${[...ids]}::integer[])))`;
}
