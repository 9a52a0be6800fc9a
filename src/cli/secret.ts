/** `biosignal secret`: shows which BIO_SECRET the database is used with, and changes it. */
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { audit } from '../tenancy/audit.ts';
import { readConfig } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { inspectSecret, reseal } from '../records/secret-change.ts';
import type { Database } from '../storage/database/database.ts';
import { Ownership } from '../storage/log-ownership.ts';
import { noteSecret } from '../storage/service-secret.ts';
import { transaction } from '../storage/database/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';

/** How long after its last renewal a service counts as running, s; it renews its row every second. */
const RUNNING_SEC = 15;
/** How long to wait for another owner that claims at the same moment, ms. */
const CLAIM_MS = 1000;
/** Instance name that a service waiting meanwhile reports. */
const INSTANCE = 'biosignal secret rotate';

export const secret: Command = {
  name: 'secret',
  summary: 'Check BIO_SECRET, re-encrypt everything under a new value, or give up a lost one.',
  positionals: 'check|rotate|adopt',
  description: `check   says whether BIO_SECRET is the value that this database was last used with. Exit code 1 if it is not.
rotate  re-encrypts journals and the keys that sign user tokens with BIO_SECRET; BIO_SECRET_PREVIOUS holds the old value. Stop the service
        first, or start it with both values instead: it then does the same while running. Afterwards remove BIO_SECRET_PREVIOUS, and keep
        the old value for as long as you keep older backups.
adopt   accepts BIO_SECRET although the old value is lost. Journals encrypted with the lost value can never be read again.`,
  options: { yes: { type: 'boolean', doc: 'adopt: accept the loss. Without --yes the command only says what would be lost.' } },
  examples: ['biosignal secret check', 'biosignal secret rotate'],
  run: async ({ console, options, positionals, json }) => {
    const [what = 'check'] = positionals;
    if (!['check', 'rotate', 'adopt'].includes(what) || positionals.length > 1) throw new UsageError('say check, rotate or adopt');
    const config = readConfig(console.env);
    return await withDatabase(console, async (database) => {
      const state = await inspectSecret(database, config);
      if (what === 'check') {
        console.out(json ? JSON.stringify(state, null, 2) : state.sentence);
        return state.state === 'lost' ? EXIT_FAILED : EXIT_OK;
      }
      if (config.secret === '') throw new UsageError('BIO_SECRET is not set');
      if (what === 'adopt') {
        if (state.state === 'lost' && options.flag('yes')) {
          await alone(database, (hold) =>
            transaction(database.pool, async (client) => {
              await hold(client);
              await noteSecret(client, config.secret);
              await audit(client, commandLine(console, null), { action: 'secret.adopted', targetKind: 'secret', targetId: 'BIO_SECRET' });
            }),
          );
        }
        console.out(adoptWords(state.state === 'lost', options.flag('yes')));
        return EXIT_OK;
      }
      if (state.state === 'lost') {
        console.err(`biosignal: ${state.sentence}`);
        return EXIT_FAILED;
      }
      const entry = { action: 'secret.rotated', targetKind: 'secret', targetId: 'BIO_SECRET' };
      const done = await alone(database, (hold) =>
        reseal(database, config, {
          goesOn: () => !console.signal.aborted,
          onNoted: async (client, detail) => {
            await hold(client);
            await audit(client, commandLine(console, null), { ...entry, detail });
          },
        }),
      );
      if (done === null) throw new PipelineError('conflict', 'Interrupted: run it again to continue where it stopped.');
      if (json) console.out(JSON.stringify(done, null, 2));
      else
        console.out(
          `re-encrypted ${done.entries} journal entries and ${done.keys} signing keys; ${done.unopened} entries could not be opened`,
        );
      return done.unopened === 0 ? EXIT_OK : EXIT_FAILED;
    });
  },
};

/** Does its work while no service runs, and keeps one started meanwhile on standby, as another instance would; it would otherwise run with
 *  the old secret.
 *  @param work receives a function to call in its last transaction, which throws when a service has taken over after all
 *  @throws PipelineError conflict when a service runs */
async function alone<T>(database: Database, work: (hold: (client: PoolClient) => Promise<unknown>) => Promise<T>): Promise<T> {
  await refuseRunning(database.pool);
  const ownership = await Ownership.claim(database, { instance: { id: randomUUID(), name: INSTANCE }, waitMs: CLAIM_MS });
  try {
    return await work((client) => client.query(ownership.fence.holdStatement));
  } finally {
    await ownership.release();
  }
}

/** @throws PipelineError conflict */
async function refuseRunning(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select owner_name as name from packet_log_checkpoint where owner is not null and renewed_at > clock_timestamp() - make_interval(secs => $1)`,
    [RUNNING_SEC],
  );
  const owner = rows[0];
  if (owner === undefined) return;
  throw new PipelineError(
    'conflict',
    `The service is running (${owner.name}) with the secret it was started with. Stop it first; to rotate, you can also ` +
      `restart it with BIO_SECRET and BIO_SECRET_PREVIOUS. After a kill it counts as running for ${RUNNING_SEC} s.`,
  );
}

function adoptWords(lost: boolean, yes: boolean): string {
  if (!lost) return 'Nothing to give up: BIO_SECRET or BIO_SECRET_PREVIOUS can decrypt everything.';
  return yes
    ? 'BIO_SECRET is accepted. Journal entries encrypted with the lost value stay unreadable.'
    : 'This would make every journal entry that was encrypted with the lost value unreadable for good. Add --yes to do it.';
}
