/** The secret that journals and signing keys are sealed with: is it the one of before, and sealing anew when it was changed. */
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import type { Part } from '../http/service-routes.ts';
import type { JournalSeals } from '../records/journal-seals.ts';
import { inspectSecret, journalSealsOf, noteFirst, reseal, resealKeys } from '../records/secret-change.ts';
import type { Database } from '../storage/database/database.ts';
import { secretParts } from './readiness.ts';

export type Sealing = Readonly<{ journal: JournalSeals; parts: () => readonly Part[]; stop: () => Promise<void> }>;

/** Checks whether BIO_SECRET has changed, and starts to reseal what the old value sealed. A lost secret does not stop the service from
 *  serving signals: the log, /readyz and doctor report it, and journals wait. */
export async function startSealing(database: Database, config: Config, logger: Logger): Promise<Sealing> {
  const { state: found, sentence } = await inspectSecret(database, config);
  let state = found;
  const journal = journalSealsOf(database.pool, config, () => (state === 'lost' ? 'the secret that seals them was changed.' : ''));
  if (state === 'lost') logger.error({}, `secret: ${sentence}`);
  if (state === 'same') await noteFirst(database, config);
  let stopped = false;
  let working: Promise<void> = Promise.resolve();
  if (state === 'rotating') {
    const first = await resealKeys(database, config); // must precede reading them
    working = reseal(database, config, { goesOn: () => !stopped }).then(
      (done) => {
        if (done === null) return;
        state = 'same';
        logger.info(
          { ...done, keys: first + done.keys },
          'secret: everything is sealed with the new value; BIO_SECRET_PREVIOUS is not needed any more',
        );
      },
      (err: unknown) => logger.error({ err }, 'secret: sealing anew failed; it goes on at the next start'),
    );
  }
  return {
    journal,
    parts: () => secretParts({ state, sentence }),
    stop: async () => {
      stopped = true;
      await working;
    },
  };
}
