/** Secrets shared by all nodes, made by the first node that asks; and a check whether BIO_SECRET has changed. */
import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { Database } from './database/database.ts';

/** @returns 32 bytes, the same for every node and start */
export async function serviceSecret(database: Pick<Database, 'pool'>, name: string): Promise<Uint8Array> {
  await database.pool.query('insert into service_secret (name, value) values ($1, $2) on conflict (name) do nothing', [
    name,
    randomBytes(32),
  ]);
  const { rows } = await database.pool.query<{ value: Buffer }>('select value from service_secret where name = $1', [name]);
  const value = rows[0]?.value;
  if (value === undefined) throw new Error(`service secret ${name} vanished`);
  return value;
}

/** A salt and a hash of it and the secret: tells whether a secret is the same one, and nothing else about it. */
const CHECK = 'BIO_SECRET check';
const SALT_BYTES = 16;

function checkOf(secret: string, salt: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, 'biosignal secret check v1', 32));
}

/** Notes the secret that the database is used with from now on. */
export async function noteSecret(db: Pick<PoolClient, 'query'>, secret: string): Promise<void> {
  const salt = randomBytes(SALT_BYTES);
  await db.query(
    `insert into service_secret (name, value) values ($1, $2)
     on conflict (name) do update set value = excluded.value, created_at = now()`,
    [CHECK, Buffer.concat([salt, checkOf(secret, salt)])],
  );
}

/** @returns a check whether a secret is the noted one; null: none was noted */
export async function notedSecret({ pool }: Pick<Database, 'pool'>): Promise<((secret: string) => boolean) | null> {
  const { rows } = await pool.query<{ value: Buffer }>('select value from service_secret where name = $1', [CHECK]);
  const value = rows[0]?.value;
  if (value === undefined) return null;
  return (secret) => timingSafeEqual(checkOf(secret, value.subarray(0, SALT_BYTES)), value.subarray(SALT_BYTES));
}
