/** `biosignal migrate`: brings the database to the schema of this release. */
import { readConfig } from '../config.ts';
import { upgrade } from '../storage/upgrade.ts';
import type { Packed } from '../storage/pack-rows.ts';
import type { Command } from './command.ts';
import { EXIT_OK } from './command.ts';
import { locateDatabase } from './open-database.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'Migrate the database to the schema of this release.',
  description: `Runs the files of sql/ that this database has not seen, each in its own transaction. Safe to repeat, and to run from several nodes at
the same time. 'biosignal start' does the same first.`,
  options: {},
  examples: ['biosignal migrate'],
  run: async ({ console, json }) => {
    const address = await locateDatabase(console);
    try {
      const result = await upgrade(address.url, { plain: readConfig(console.env).plainPostgres, onProgress: console.err });
      if (json) console.out(JSON.stringify(result, null, 2));
      else {
        if (result.takenOver)
          console.out('converted from before the baseline: the schema is the same, only the record of migrations was rewritten');
        if (result.packed !== null) console.out(packedWords(result.packed));
        for (const name of result.applied) console.out(`applied ${name}`);
        console.out(`schema version ${result.version} on ${result.kind}${result.applied.length === 0 ? ', nothing to do' : ''}`);
      }
      return EXIT_OK;
    } finally {
      await address.stop();
    }
  },
};

function packedWords({ values, beats, rounded, without }: Packed): string {
  const told = [`packed ${values} values and ${beats} beats`];
  if (rounded > 0) told.push(`${rounded} had more digits than are kept`);
  if (without > 0) told.push(`${without} were too large or infinite and are bad ones without a value now`);
  return told.join('; ');
}
