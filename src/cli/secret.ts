/** `biosignal secret`: which BIO_SECRET the database is used with, and how it gets another one. */
import { readConfig } from '../config.ts';
import { inspectSecret, reseal } from '../records/secret-change.ts';
import { noteSecret } from '../storage/service-secret.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';

export const secret: Command = {
  name: 'secret',
  summary: 'Check BIO_SECRET, seal everything anew under another value, or give up a lost one.',
  positionals: 'check|rotate|adopt',
  description: `check   says whether BIO_SECRET is the one that the database was used with.
rotate  seals journals and the keys that sign user tokens anew with BIO_SECRET; BIO_SECRET_PREVIOUS is the value of before. The service does the
        same when it starts with both. Afterwards BIO_SECRET_PREVIOUS is needed no longer, except for backups of before.
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
        if (state.state === 'lost' && options.flag('yes')) await noteSecret(database, config.secret);
        console.out(adoptWords(state.state === 'lost', options.flag('yes')));
        return EXIT_OK;
      }
      if (state.state === 'lost') {
        console.err(`biosignal: ${state.sentence}`);
        return EXIT_FAILED;
      }
      const done = (await reseal(database, config))!;
      if (json) console.out(JSON.stringify(done, null, 2));
      else console.out(`sealed anew: ${done.entries} journal entries, ${done.keys} signing keys; ${done.unopened} entries do not open`);
      return done.unopened === 0 ? EXIT_OK : EXIT_FAILED;
    });
  },
};

function adoptWords(lost: boolean, yes: boolean): string {
  if (!lost) return 'nothing to give up: the secret of before is known';
  return yes
    ? 'noted: entries that the lost secret sealed stay closed'
    : 'would give up every journal entry that the lost secret sealed; add --yes to do it';
}
