/** `biosignal operator`: people who may sign in to the dashboard. Works on the database, so it can also create the first one. */
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { createMember, listMembers, memberRoles, PASSWORD_MIN, setPassword, updateMember } from '../tenancy/operators.ts';
import type { Member } from '../tenancy/operators.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from '../tenancy/audit.ts';
import { PipelineError } from '../errors.ts';
import { transaction } from '../storage/database/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command, Console, Options } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { findOrganization } from './organizations.ts';
import { formatTable } from './table.ts';

const verbs = ['create', 'list', 'role', 'password', 'disable', 'enable'] as const;

export const operator: Command = {
  name: 'operator',
  summary: 'Create, list and change the people who sign in to the dashboard.',
  positionals: 'create EMAIL | list | role EMAIL | password EMAIL | disable EMAIL | enable EMAIL',
  verbs: true,
  description: `Without BIO_OPERATOR_PASSWORD in the environment, create and password generate a random password and print it once. A new password,
or disable, ends the account's sessions. Roles: owner and admin may do everything; a clinician reads, and changes people, marks, episodes and
rules; analyst and viewer read.`,
  options: {
    org: { type: 'string', value: 'ORG', doc: 'Id or name of the organization. Not needed while there is only one.' },
    role: { type: 'string', value: 'ROLE', fallback: 'admin', doc: `create, role: ${memberRoles.join(', ')}.` },
    name: { type: 'string', value: 'NAME', doc: 'create: name shown in the dashboard. Default: the part of the address before the @.' },
  },
  examples: ['biosignal operator create ada@clinic.example --role owner', 'biosignal operator password ada@clinic.example'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const [given = '', email = ''] = positionals;
      const verb = verbs.find((one) => one === given);
      if (verb === undefined) throw new UsageError(`say one of ${verbs.join(', ')}`);
      const orgId = await findOrganization(pool, options.text('org'));
      if (verb === 'list') {
        const members = await listMembers(pool, orgId);
        const rows = members.map(({ email: address, display_name: name, role, last_login_at: last, disabled }) => ({
          email: address,
          name,
          role,
          state: disabled ? 'disabled' : 'active',
          last_sign_in: last ?? 'never',
        }));
        if (json) console.out(JSON.stringify(members, null, 2));
        else for (const line of formatTable(rows)) console.out(line);
        return EXIT_OK;
      }
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new UsageError(`${verb} needs an e-mail address`);
      const result =
        verb === 'create'
          ? await create(pool, orgId, email, options, console)
          : await transaction(pool, (client) => change(client, orgId, verb, email, options, console));
      if (json) console.out(JSON.stringify(result, null, 2));
      else for (const [name, value] of Object.entries(result)) console.out(`${name}: ${value}`);
      return EXIT_OK;
    }),
};

async function create(pool: Pool, orgId: string, email: string, options: Options, console: Console): Promise<Record<string, string>> {
  const role = options.oneOf('role', memberRoles);
  return await addOperator(pool, orgId, { email, name: options.text('name'), role }, console);
}

/** Makes an account, with its entry in the audit log.  @returns what to show once; the password only when it was generated here.  @throws
 *  PipelineError conflict */
export async function addOperator(
  pool: Pool,
  orgId: string,
  who: Readonly<{ email: string; name: string; role: Member['role'] }>,
  console: Console,
): Promise<Record<string, string>> {
  const { password, shown } = choosePassword(console);
  const displayName = who.name === '' ? who.email.split('@', 1)[0]! : who.name;
  const member = await transaction(pool, async (client) => {
    const made = await createMember(client, { orgId, email: who.email, displayName, role: who.role, password });
    await note(client, console, orgId, 'member.created', made.id, { role: who.role });
    return made;
  });
  return { id: member.id, email: member.email, role: member.role, ...shown };
}

async function change(
  client: Db,
  orgId: string,
  verb: Exclude<(typeof verbs)[number], 'create' | 'list'>,
  email: string,
  options: Options,
  console: Console,
): Promise<Record<string, string>> {
  const member = (await listMembers(client, orgId)).find((one) => one.email.toLowerCase() === email.toLowerCase());
  if (member === undefined) throw new PipelineError('not_found', `no operator '${email}'`);
  switch (verb) {
    case 'password': {
      const { password, shown } = choosePassword(console);
      await setPassword(client, orgId, member.id, password);
      await note(client, console, orgId, 'member.password_set', member.id);
      return { id: member.id, email: member.email, ...shown };
    }
    case 'role': {
      const { role } = await updateMember(client, orgId, member.id, { role: options.oneOf('role', memberRoles) });
      await note(client, console, orgId, 'member.updated', member.id, { role });
      return { id: member.id, email: member.email, role };
    }
    case 'disable':
    case 'enable': {
      const { disabled } = await updateMember(client, orgId, member.id, { disabled: verb === 'disable' });
      await note(client, console, orgId, 'member.updated', member.id, { disabled });
      return { id: member.id, email: member.email, disabled: disabled ? 'yes' : 'no' };
    }
    default: {
      const never: never = verb;
      throw new RangeError(String(never));
    }
  }
}

async function note(db: Db, console: Console, orgId: string, action: string, id: string, detail: object = {}): Promise<void> {
  await audit(db, commandLine(console, orgId), { action, targetKind: 'operator', targetId: id, detail });
}

function choosePassword(console: Console): { password: string; shown: Record<string, string> } {
  const given = console.env['BIO_OPERATOR_PASSWORD'] ?? '';
  if (given === '') {
    const password = randomBytes(15).toString('base64url');
    return { password, shown: { password } };
  }
  if (given.length < PASSWORD_MIN) throw new UsageError(`BIO_OPERATOR_PASSWORD needs at least ${PASSWORD_MIN} characters`);
  return { password: given, shown: {} };
}
