/** Audit entries for commands: made in the name of the operating-system account, because commands have no other identity. */
import { userInfo } from 'node:os';
import type { Actor } from '../tenancy/audit.ts';
import type { Console } from './command.ts';

/** @param orgId null: the command concerns the whole installation */
export function commandLine({ env }: Console, orgId: string | null): Actor {
  return { caller: { kind: 'cli', orgId, account: accountOf(env) }, remoteAddress: '', requestId: '' };
}

function accountOf(env: Console['env']): string {
  let name: string;
  try {
    name = userInfo().username;
  } catch {
    name = `uid ${process.getuid?.() ?? '?'}`; // a container's user without an entry in /etc/passwd
  }
  const before = env['SUDO_USER'] ?? '';
  return before === '' || before === name ? name : `${before} as ${name}`;
}
