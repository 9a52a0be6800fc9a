/** The hash chain of an organization's audit log. "Whole" means that no entry was changed, moved, or removed from the middle. Entries
 *  removed from the end leave a whole chain; only a head kept elsewhere shows that. */
import { sql } from 'kysely';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';

export type AuditChain = Readonly<{
  entries: number;
  /** Hash of the newest entry, hexadecimal; null: the chain is empty. */
  head: string | null;
  /** chain_seq of the first entry that differs from what was written; null: none. */
  broken_at: number | null;
}>;

/** @param orgId null: the chain of entries that concern no single organization */
export async function auditChain(db: Db, orgId: string | null): Promise<AuditChain> {
  const { rows } = await run(
    db,
    build
      .selectFrom('audit_log')
      .select([
        sql<number>`count(*)::float8`.as('entries'),
        sql<string | null>`encode((array_agg(hash order by chain_seq desc))[1], 'hex')`.as('head'),
        sql<number | null>`audit_log_broken_at(${orgId})::float8`.as('broken_at'),
      ])
      .where('organization_id', 'is not distinct from', orgId)
      .where('chain_seq', 'is not', null),
  );
  return rows[0] ?? { entries: 0, head: null, broken_at: null };
}

/** Is a head kept elsewhere still the hash of an entry, in any chain?  @param head hexadecimal */
export async function findHead(db: Db, head: string): Promise<boolean> {
  const entry = build
    .selectFrom('audit_log')
    .select('id')
    .where('hash', '=', sql<Buffer>`decode(${head}, 'hex')`);
  const { rows } = await run(db, entry.limit(1));
  return rows.length > 0;
}
