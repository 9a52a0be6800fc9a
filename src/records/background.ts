/** Background work of src/records: episodes by rule, occurrences of recurring tasks. */
import type { Pool } from 'pg';
import { startEpisodeRules } from './episode-rules.ts';
import { startOccurrences } from './occurrences.ts';

type Options = Readonly<{ pool: Pool; isTurn: () => boolean; onError: (error: unknown) => void }>;

/** Starts the jobs. Several nodes may run them: one takes each round.
 *  @param options.isTurn whether rounds that read everything are this node's  @returns how to stop */
export function startRecordsWork(options: Options): () => Promise<void> {
  const stops = [startEpisodeRules(options), startOccurrences(options)];
  return async () => {
    for (const stop of stops) await stop();
  };
}
