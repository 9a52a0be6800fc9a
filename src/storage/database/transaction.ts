/** Runs a transaction on a pool: all of it is kept, or nothing. */
import type { ClientBase, Pool, PoolClient } from 'pg';

/** Runs `work` in a transaction of its own. */
export type Write = <T>(work: (client: ClientBase) => Promise<T>) => Promise<T>;

/** `work` between begin and commit. A connection that does not roll back cleanly is not used again.
 *  @throws what `work` throws; after an error of the commit itself nobody knows whether it was kept */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    const left = await client.query('rollback').then(
      () => false,
      () => true,
    );
    client.release(left);
    throw error;
  }
}
