/** Takes over databases from before the baseline. The files of sql/ up to number 54 replaced 50 earlier ones, which were in order of
 *  invention; both produce the same schema (sql/README.md says how that was checked). A database that has all 50 is taken over by rewriting
 *  its ledger. A database that has only some is refused, because the files it lacks no longer exist. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { PipelineError } from '../../errors.ts';
import type { ServerKind } from '../database/database.ts';

/** Number of the baseline's last file, and of the last of the files before it. Databases and backups of this version are equal. */
export const BASELINE_VERSION = 54;

/** SHA-256 of the ledger that all 50 files leave, one `number name checksum` per line; the same on every kind of server. */
const LEDGER_BEFORE = 'bfb64dbe3e6157329db855d71f40f2921ebbabf1ade533a5a254d8e93d0bd802';
const FIRST_BEFORE = '000001-control-plane.sql';
const LAST_BEFORE = '000054-open-episodes.sql';

type LedgerRow = Readonly<{ id: number; name: string; checksum: string }>;
type BaselineFile = LedgerRow & Readonly<{ kinds: readonly ServerKind[] | null }>;

/** Whether a ledger is that of all files before the baseline, and the files are not those themselves.
 *  @throws PipelineError conflict when it has some of them, or others than were published */
export function isFromBeforeBaseline(ledger: readonly LedgerRow[], files: readonly BaselineFile[]): boolean {
  const before = ledger.filter(({ id }) => id <= BASELINE_VERSION).toSorted((a, b) => a.id - b.id);
  if (before[0]?.name !== FIRST_BEFORE || files[0]?.name === FIRST_BEFORE) return false;
  const digest = createHash('sha256');
  for (const { id, name, checksum } of before) digest.update(`${id} ${name} ${checksum}\n`);
  if (digest.digest('hex') === LEDGER_BEFORE) return true;
  throw new PipelineError(
    'conflict',
    `this database was made by older code and its schema ends with ${before.at(-1)!.name}: migrate it once with the newest code that has ` +
      `sql/${LAST_BEFORE}, then with this one (docs/operator.md, "Upgrade"). Nothing was changed.`,
  );
}

/** Replaces the ledger by that of the baseline, in one transaction. */
export async function takeOver(client: pg.Client, kind: ServerKind, files: readonly BaselineFile[]): Promise<void> {
  await client.query('begin');
  try {
    await client.query('delete from migration where id <= $1', [BASELINE_VERSION]);
    for (const { id, name, checksum, kinds } of files.filter((file) => file.id <= BASELINE_VERSION)) {
      const skipped = kinds !== null && !kinds.includes(kind);
      await client.query('insert into migration (id, name, checksum, skipped) values ($1, $2, $3, $4)', [id, name, checksum, skipped]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
