/** Background work of src/records: episodes by rule, occurrences of recurring tasks, erasures that were interrupted. */
import type { Pool } from 'pg';
import { startEpisodeRules } from './episode-rules.ts';
import { finishErasures } from './erase.ts';
import { startOccurrences } from './occurrences.ts';

/** Period of looking for erasures that were interrupted, ms. */
const ERASURES_MS = 5000;

type Options = Readonly<{ pool: Pool; isTurn: () => boolean; onError: (error: unknown) => void }>;

/** Starts the jobs. Several nodes may run them: one takes each round.
 *  @param options.isTurn whether rounds that read everything are this node's  @returns how to stop */
export function startRecordsWork(options: Options): () => Promise<void> {
  const stops = [startEpisodeRules(options), startOccurrences(options), startErasures(options)];
  return async () => {
    for (const stop of stops) await stop();
  };
}

function startErasures({ pool, onError }: Options): () => Promise<void> {
  let running: Promise<unknown> | null = null;
  let hasFailed = false; // said once, until it works again
  const look = (): void => {
    running ??= finishErasures(pool)
      .then(
        () => (hasFailed = false),
        (error: unknown) => {
          if (!hasFailed) onError(error);
          hasFailed = true;
        },
      )
      .finally(() => (running = null));
  };
  look();
  // job: erasures: finishes erasures whose process was killed, at the start and every five seconds
  const timer = setInterval(look, ERASURES_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
