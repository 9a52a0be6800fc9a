/** Background work of src/records: episodes by rule, occurrences of recurring tasks. */
import type { Pool } from 'pg';
import { startEpisodeRules } from './episode-rules.ts';
import { startOccurrences } from './occurrences.ts';

/** Starts the jobs. Several nodes may run them: each round is taken by one node.  @returns how to stop */
export function startRecordsWork(options: Readonly<{ pool: Pool; onError: (error: unknown) => void }>): () => Promise<void> {
  const stops = [startEpisodeRules(options), startOccurrences(options)];
  return async () => {
    for (const stop of stops) await stop();
  };
}
