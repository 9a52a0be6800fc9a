/** Detects a changed BIO_SECRET, and reseals under the new value what it protects: journals, and the keys that sign user tokens.
 *
 *  `same`: unchanged, still unset, or set for the first time. `rotating`: changed, and BIO_SECRET_PREVIOUS is the old value: everything is
 *  resealed, and can be opened meanwhile. `lost`: changed or removed, and the old value is unknown here: journals sealed with it do not
 *  open, and no new ones are accepted, so that nothing is sealed with a value that may be a mistake. */
import type { Pool, PoolClient } from 'pg';
import { KeySealer } from '../auth/key-sealer.ts';
import type { Config } from '../config.ts';
import { build, run } from '../storage/database/build.ts';
import type { Database } from '../storage/database/database.ts';
import { notedSecret, noteSecret, serviceSecret } from '../storage/service-secret.ts';
import { transaction } from '../storage/database/transaction.ts';
import { JournalSeals } from './journal-seals.ts';

type Secrets = Pick<Config, 'secret' | 'secretPrevious'>;
export type SecretState = Readonly<{ state: 'same' | 'rotating' | 'lost'; sentence: string }>;

/** Journal entries resealed per transaction. */
const BATCH = 500;

const advice =
  "Set BIO_SECRET to the old value, or set BIO_SECRET_PREVIOUS to it as well. If it is lost for good: 'biosignal secret adopt'.";

/** Compares the settings with the secret that the database was used with. Changes nothing, because a command that only reads may run with
 *  another BIO_SECRET than the service (see noteFirst). */
export async function inspectSecret(database: Pick<Database, 'pool'>, { secret, secretPrevious }: Secrets): Promise<SecretState> {
  const noted = await notedSecret(database);
  if (noted === null) {
    if (secret === '') return { state: 'same', sentence: 'BIO_SECRET is not set: a secret stored in the database is used.' };
    // An older release noted nothing: the newest entry tells whether the secret is the same.
    if (!(await opensNewest(database.pool, { secret, secretPrevious }))) return lost('BIO_SECRET does not open the newest journal entry.');
    // Which other entries were sealed, and with which of the two, is unknown.
    if (secretPrevious !== '' && secretPrevious !== secret) return rotating;
    return { state: 'same', sentence: 'No BIO_SECRET is on record for this database yet; the service records it when it starts.' };
  }
  if (secret === '') return lost('BIO_SECRET is not set, but this database was used with one.');
  if (noted(secret)) return { state: 'same', sentence: 'BIO_SECRET is the value that this database was last used with.' };
  if (secretPrevious !== '' && noted(secretPrevious)) return rotating;
  return lost('BIO_SECRET is not the value that this database was last used with.');
}

/** Notes the secret that the service starts with, if none is noted. */
export async function noteFirst(database: Pick<Database, 'pool'>, { secret }: Secrets): Promise<void> {
  if (secret !== '' && (await notedSecret(database)) === null) await noteSecret(database.pool, secret);
}

const rotating: SecretState = {
  state: 'rotating',
  sentence: 'BIO_SECRET is new: what BIO_SECRET_PREVIOUS encrypted is re-encrypted while the service runs, or by secret rotate.',
};

function lost(what: string): SecretState {
  return { state: 'lost', sentence: `${what} Earlier journals cannot be read, and new ones are refused. ${advice}` };
}

export function journalSealsOf(pool: Pool, { secret, secretPrevious }: Secrets, refused: () => string = () => ''): JournalSeals {
  const bytes = (text: string): Buffer | null => (text === '' ? null : Buffer.from(text));
  return new JournalSeals(pool, { secret: bytes(secret), previous: bytes(secretPrevious), refused });
}

async function opensNewest(pool: Pool, secrets: Secrets): Promise<boolean> {
  const { rows } = await run(pool, sealedEntries.orderBy('created_at', 'desc').limit(1));
  const entry = rows[0];
  return entry === undefined || (await journalSealsOf(pool, secrets).open(entry.sealed, entry.xuser_id, entry.id)) !== null;
}

const sealedEntries = build.selectFrom('journal_entry').select(['id', 'xuser_id', 'sealed']);
/** unopened: entries that neither value opens; left unchanged. */
export type Resealed = Readonly<{ keys: number; entries: number; unopened: number }>;

/** Reseals the keys that sign user tokens. Must run before they are read, or a new key would sign tokens.  @returns how many */
export async function resealKeys(database: Pick<Database, 'pool'>, { secret, secretPrevious }: Secrets): Promise<number> {
  const to = new KeySealer(Buffer.from(secret));
  const from = [await serviceSecret(database, 'signing keys'), ...(secretPrevious === '' ? [] : [Buffer.from(secretPrevious)])].map(
    (value) => new KeySealer(value),
  );
  const { rows } = await run(database.pool, build.selectFrom('signing_key').select(['kid', 'private_pem']));
  let count = 0;
  for (const { kid, private_pem: sealed } of rows) {
    if (!to.isSealed(sealed) || to.open(sealed, kid) !== null) continue;
    const pem = from.map((sealer) => sealer.open(sealed, kid)).find((opened) => opened !== null) ?? null;
    if (pem === null) continue;
    const key = build.updateTable('signing_key').where('kid', '=', kid).where('private_pem', '=', sealed);
    await run(database.pool, key.set({ private_pem: to.seal(pem, kid) }));
    count += 1;
  }
  return count;
}

type ResealOptions = Readonly<{
  /** Called between batches; false stops the work, and nothing is noted. */
  goesOn?: () => boolean;
  /** Called in the transaction that notes the secret. */
  onNoted?: (client: PoolClient, done: Resealed) => Promise<void>;
}>;

/** Reseals everything with BIO_SECRET and notes it as the present secret. When stopped, it can be resumed without redoing finished
 *  batches. */
export async function reseal(
  database: Pick<Database, 'pool'>,
  secrets: Secrets,
  { goesOn = () => true, onNoted }: ResealOptions = {},
): Promise<Resealed | null> {
  const { pool } = database;
  const keys = await resealKeys(database, secrets);
  const seals = journalSealsOf(pool, secrets);
  let entries = 0;
  let unopened = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    if (!goesOn()) return null;
    const { rows } = await run(pool, sealedEntries.where('id', '>', after).orderBy('id').limit(BATCH));
    for (const { id, xuser_id: subjectId, sealed: before } of rows) {
      const { opened, sealed } = await seals.renew(before, subjectId, id);
      if (!opened) unopened += 1;
      if (sealed === null) continue;
      await run(pool, build.updateTable('journal_entry').set({ sealed }).where('id', '=', id).where('sealed', '=', before));
      entries += 1;
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  const done = { keys, entries, unopened };
  await transaction(pool, async (client) => {
    await noteSecret(client, secrets.secret);
    await onNoted?.(client, done);
  });
  return done;
}
