/** The name of the key or the operator that writes a record, kept in it: the record says who it was after the name has changed. */
import type { Caller } from '../caller.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';

/** @returns '' for a user's own token, and for an account without a name */
export async function callerName(db: Db, caller: Caller): Promise<string> {
  if (caller.kind === 'key') {
    const { rows } = await run(db, build.selectFrom('api_key').select('name').where('id', '=', caller.keyId));
    return rows[0]?.name ?? '';
  }
  if (caller.kind !== 'operator') return '';
  const account = build.selectFrom('operator_account').select(['display_name', 'email']).where('id', '=', caller.operatorId);
  const { rows } = await run(db, account);
  const { display_name: name = '', email = '' } = rows[0] ?? {};
  // Without a name, the first part of the email address says who it was.
  return name !== '' ? name : (email.split('@', 1)[0] ?? '');
}
