/** `biosignal secret`: which BIO_SECRET the database is used with, and how it gets another one. */
import type { Pool, PoolClient } from 'pg';
import { audit } from '../auth/audit.ts';
import { readConfig } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { inspectSecret, reseal } from '../records/secret-change.ts';
import type { Resealed } from '../records/secret-change.ts';
import { noteSecret } from '../storage/service-secret.ts';
import { transaction } from '../storage/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';

/** A service renews its row every second; this long after the last time it counts as running, s. */
const RUNNING_SEC = 15;

export const secret: Command = {
  name: 'secret',
  summary: 'Check BIO_SECRET, seal everything anew under another value, or give up a lost one.',
  positionals: 'check|rotate|adopt',
  description: `check   says whether BIO_SECRET is the one that the database was used with.
rotate  seals journals and the keys that sign user tokens anew with BIO_SECRET; BIO_SECRET_PREVIOUS is the value of before. Not while the
        service runs, which does the same when it starts with both. Afterwards BIO_SECRET_PREVIOUS is needed no longer, except for backups of before.
adopt   notes BIO_SECRET although the value of before is lost: journals that it sealed stay closed for good.`,
  options: { yes: { type: 'boolean', doc: 'With adopt: do it. Without, the command only says what it would give up.' } },
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
          await transaction(database.pool, async (client) => {
            await noteSecret(client, config.secret);
            await audit(client, commandLine(console, null), { action: 'secret.adopted', targetKind: 'secret', targetId: 'BIO_SECRET' });
          });
        }
        console.out(adoptWords(state.state === 'lost', options.flag('yes')));
        return EXIT_OK;
      }
      if (state.state === 'lost') {
        console.err(`biosignal: ${state.sentence}`);
        return EXIT_FAILED;
      }
      await refuseRunning(database.pool);
      const entry = { action: 'secret.rotated', targetKind: 'secret', targetId: 'BIO_SECRET' };
      const onNoted = (client: PoolClient, detail: Resealed): Promise<void> =>
        audit(client, commandLine(console, null), { ...entry, detail });
      const done = (await reseal(database, config, { onNoted }))!;
      if (json) console.out(JSON.stringify(done, null, 2));
      else console.out(`sealed anew: ${done.entries} journal entries, ${done.keys} signing keys; ${done.unopened} entries do not open`);
      return done.unopened === 0 ? EXIT_OK : EXIT_FAILED;
    });
  },
};

/** A service goes on sealing with the value that it was started with. @throws PipelineError conflict */
async function refuseRunning(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select owner_name as name from packet_log_checkpoint where owner is not null and renewed_at > clock_timestamp() - make_interval(secs => $1)`,
    [RUNNING_SEC],
  );
  const owner = rows[0];
  if (owner === undefined) return;
  throw new PipelineError(
    'conflict',
    `The service is running (${owner.name}) and would go on sealing with the secret that it was started with. Stop it first, or start it ` +
      `again with BIO_SECRET and BIO_SECRET_PREVIOUS, which does the same. One that was killed counts as running for ${RUNNING_SEC} s.`,
  );
}

function adoptWords(lost: boolean, yes: boolean): string {
  if (!lost) return 'nothing to give up: the secret of before is known';
  return yes
    ? 'noted: entries that the lost secret sealed stay closed'
    : 'would give up every journal entry that the lost secret sealed; add --yes to do it';
}
