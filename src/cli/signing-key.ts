/** `biosignal signing-key`: the keys that sign user tokens, and how to end one that may have leaked. */
import { audit } from '../tenancy/audit.ts';
import { listSigningKeys, withdrawSigningKey } from '../auth/signing-keys.ts';
import { PipelineError } from '../errors.ts';
import { transaction } from '../storage/database/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { formatTable } from './table.ts';

export const signingKey: Command = {
  name: 'signing-key',
  summary: 'List the keys that sign user tokens, and withdraw one.',
  positionals: 'list | withdraw KID',
  verbs: true,
  description: `withdraw ends a key and every token signed with it: within a second all nodes refuse these tokens and close their sockets, and
applications fetch new ones, signed with a new key. Use it when a key may have leaked. The keys belong to the whole installation: users
of every organization are signed out until their pages fetch a new token.`,
  options: {},
  examples: ['biosignal signing-key list', 'biosignal signing-key withdraw 5c1f0a9be2740d3386'],
  run: ({ console, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const [verb, kid] = positionals;
      if (verb === 'list') {
        const keys = await listSigningKeys(pool);
        if (json) console.out(JSON.stringify(keys, null, 2));
        else for (const line of formatTable(keys.map((row) => ({ ...row })))) console.out(line);
        return EXIT_OK;
      }
      if (verb !== 'withdraw' || kid === undefined) throw new UsageError('say list or withdraw KID');
      const key = await transaction(pool, async (client) => {
        const withdrawn = await withdrawSigningKey(client, kid);
        if (withdrawn === null) throw new PipelineError('not_found', `no signing key '${kid}'`);
        await audit(client, commandLine(console, null), { action: 'signing_key.withdrawn', targetKind: 'signing_key', targetId: kid });
        return withdrawn;
      });
      console.out(json ? JSON.stringify(key, null, 2) : `${kid} and every token signed with it are withdrawn`);
      return EXIT_OK;
    }),
};
