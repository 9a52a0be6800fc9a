/** The hash chain of an organization's audit log. Whole means: no entry was changed, moved or taken out of the middle. Entries that were taken
 *  off its end leave a whole chain: only a head that was kept elsewhere tells. */
import type { Db } from '../storage/database/database.ts';

export type AuditChain = Readonly<{
  entries: number;
  /** Hash of the newest entry, hexadecimal; null: there is none. */
  head: string | null;
  /** chain_seq of the first entry that is not as it was written; null: none. */
  broken_at: number | null;
}>;

/** @param orgId null: the chain of what concerns no single organization */
export async function auditChain(db: Db, orgId: string | null): Promise<AuditChain> {
  const { rows } = await db.query<AuditChain>(
    `select count(*)::float8 as entries, encode((array_agg(hash order by chain_seq desc))[1], 'hex') as head,
       audit_log_broken_at($1)::float8 as broken_at
     from audit_log where organization_id is not distinct from $1 and chain_seq is not null`,
    [orgId],
  );
  return rows[0] ?? { entries: 0, head: null, broken_at: null };
}

/** Is a head that was kept still the hash of an entry, of whichever chain? @param head hexadecimal */
export async function findHead(db: Db, head: string): Promise<boolean> {
  const { rows } = await db.query(`select from audit_log where hash = decode($1, 'hex') limit 1`, [head]);
  return rows.length > 0;
}
