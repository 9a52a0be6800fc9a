/** Secrets that all nodes share: made by whichever node asks first. */
import { randomBytes } from 'node:crypto';
import type { Database } from './database.ts';

/** @returns 32 bytes, the same for every node and start */
export async function serviceSecret(database: Database, name: string): Promise<Uint8Array> {
  await database.pool.query('insert into service_secret (name, value) values ($1, $2) on conflict (name) do nothing', [
    name,
    randomBytes(32),
  ]);
  const { rows } = await database.pool.query<{ value: Buffer }>('select value from service_secret where name = $1', [name]);
  const value = rows[0]?.value;
  if (value === undefined) throw new Error(`service secret ${name} vanished`);
  return value;
}
