/** Cuts subjects into partitions, which nodes share. */
import { randomUUID } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import type { Database } from '../storage/database/database.ts';
import { Ownership } from '../storage/log-ownership.ts';

/** How long to wait for a service that is just ending, ms. */
const CLAIM_MS = 3000;

/** @throws PipelineError conflict while a service runs, or when the packet log has packets that are not in the tables */
export async function cutIntoPartitions(database: Database, count: number): Promise<void> {
  const ownership = await Ownership.claim(database, {
    instance: { id: randomUUID(), name: 'biosignal cluster partitions' },
    waitMs: CLAIM_MS,
  }).catch((error: unknown) => {
    if (!(error instanceof PipelineError) || error.code !== 'conflict') throw error;
    throw new PipelineError('conflict', 'a service runs on this database: stop all of its nodes first');
  });
  try {
    await database.pool.query('select set_partitions($1::smallint)', [count]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55000') throw error;
    throw new PipelineError('conflict', (error as Error).message);
  } finally {
    await ownership.release();
  }
}
