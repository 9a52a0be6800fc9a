/** People who work with the dashboard: accounts with scrypt passwords, sessions as random tokens in an HttpOnly cookie. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { ExpressionBuilder, Selectable } from 'kysely';
import { PipelineError } from '../errors.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { hashKey } from '../key-format.ts';
import { inetOf } from './audit.ts';
import { build, inSec, isoTime, isSet, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';

/** OWASP's parameters for scrypt: 128 MiB and about 0.3 s a try. */
const N = 2 ** 17;
const R = 8;
const P = 1;
const HASH_BYTES = 32;
/** Hashes at the same time: they share four threads with the check of user tokens, which must not wait for them. */
const HASHES_MAX = 2;
/** And waiting for that; beyond, a sign-in is refused. */
const HASHES_WAITING_MAX = 64;
export const SESSION_SEC = 12 * 3600;
/** Idle time after which a session ends, unless BIO_SESSION_IDLE_MIN says otherwise. */
export const SESSION_IDLE_SEC = 1800;
export const PASSWORD_MIN = 12;

export const memberRoles = ['owner', 'admin', 'clinician', 'analyst', 'viewer'] as const;
export type MemberRole = (typeof memberRoles)[number];
export type Member = Readonly<{
  id: string;
  email: string;
  display_name: string;
  role: MemberRole;
  created_at: string;
  last_login_at: string | null;
  disabled: boolean;
  /** Covers role and state, which updateMember changes. */
  etag: string;
}>;

const columns = (account: ExpressionBuilder<Tables, 'operator_account'>) =>
  [
    'id',
    'email',
    'display_name',
    'role',
    isoTime(account.ref('created_at')).as('created_at'),
    isoTime(account.ref('last_login_at')).as('last_login_at'),
    isSet(account.ref('disabled_at')).as('disabled'),
    sql<string>`format('"%s"', md5(concat_ws(' ', id, role, disabled_at)))`.as('etag'),
  ] as const;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt as never);

let hashing = 0;
const waiting: (() => void)[] = [];

/** @throws PipelineError busy when too many wait already */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (hashing < HASHES_MAX) hashing++;
  else if (waiting.length >= HASHES_WAITING_MAX)
    throw new PipelineError('busy', 'Too many people sign in at this moment.', { retryAfterSec: 10 });
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) hashing--;
    else next();
  }
}

/** `scrypt$N$r$p$salt$hash`: a stored hash carries its parameters, so that the cost can rise later. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const options = { N, r: R, p: P, maxmem: 256 * N * R };
  const hash = await inTurn(() => derive(password.normalize('NFKC'), salt, HASH_BYTES, options));
  return ['scrypt', N, R, P, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const [kind, n, r, p, salt = '', hash = ''] = stored.split('$');
  if (kind !== 'scrypt') return false;
  const expected = Buffer.from(hash, 'base64url');
  const options = { N: Number(n), r: Number(r), p: Number(p), maxmem: 256 * Number(n) * Number(r) };
  const given = await inTurn(() => derive(password.normalize('NFKC'), Buffer.from(salt, 'base64url'), expected.length, options));
  return timingSafeEqual(given, expected);
}

/** Adds an account. @throws PipelineError conflict when the address is taken */
export async function createMember(
  db: Db,
  input: Readonly<{ orgId: string; email: string; displayName: string; role: MemberRole; password: string }>,
): Promise<Member> {
  const insert = build
    .insertInto('operator_account')
    .values({
      organization_id: input.orgId,
      email: input.email,
      display_name: input.displayName,
      role: input.role,
      password_hash: await hashPassword(input.password),
    })
    .returning(columns);
  const { rows } = await run(db, insert).catch((error: unknown) => {
    if (sqlStateOf(error) === '23505') throw new PipelineError('conflict', 'There is an account with this address.', { cause: error });
    throw error;
  });
  const member = rows[0];
  if (member === undefined) throw new Error('operator_account insert returned no row');
  return member;
}

export async function listMembers(db: Db, orgId: string): Promise<readonly Member[]> {
  const accounts = build.selectFrom('operator_account').select(columns).where('organization_id', '=', orgId);
  const { rows } = await run(db, accounts.orderBy('operator_account.created_at').orderBy('id').limit(1000));
  return rows;
}

/** Returns the member, locked against changes until this transaction ends. Locks every account of the organization, in the order of
 *  updateMember: two transactions that each locked one account would deadlock there.  @throws PipelineError not_found */
export async function lockMember(db: Db, orgId: string, id: string): Promise<Member> {
  const accounts = build.selectFrom('operator_account').select(columns).where('organization_id', '=', orgId);
  const { rows } = await run(db, accounts.orderBy('id').forUpdate());
  const member = rows.find((row) => row.id === id);
  if (member === undefined) throw new PipelineError('not_found', 'There is no such member.');
  return member;
}

/** Changes a role or disables an account, whose sessions end with it. An organization always keeps an owner or admin, and one that has an
 *  owner keeps an owner. All accounts are locked meanwhile, so of two racing changes the second sees the first.
 *  @param within roles whose accounts may be changed; the new role is the caller's to check
 *  @throws PipelineError not_found, conflict; scope_missing when the account has another role */
export async function updateMember(
  db: Db,
  orgId: string,
  id: string,
  change: Readonly<{ role?: MemberRole; disabled?: boolean }>,
  within: readonly MemberRole[] = memberRoles,
): Promise<Member> {
  const { role: toRole = null, disabled = null } = change;
  // SQL inside: one decision in four steps, which kysely's builder would scatter.
  const changed = sql<Selectable<Tables['operator_account']>>`(
    with accounts as materialized (
      select id, role, disabled_at from operator_account where organization_id = ${orgId} order by id for update
    ), others as (
      select count(*) filter (where role = 'owner') as owners, count(*) as administrators from accounts
      where id <> ${id} and disabled_at is null and role in ('owner', 'admin')
    ), wanted as (
      select id, role as before, disabled_at is null as active, coalesce(${toRole}, role) as role,
        not coalesce(${disabled}::boolean, disabled_at is not null) as stays
      from accounts where id = ${id} and role = any (${[...within]}::text[])
    )
    update operator_account a set
      role = w.role,
      disabled_at = case when ${disabled}::boolean is null then a.disabled_at when ${disabled} then coalesce(a.disabled_at, now()) end
    from wanted w, others o
    where a.id = w.id
      and (o.administrators > 0 or not w.active or w.before not in ('owner', 'admin') or (w.stays and w.role in ('owner', 'admin')))
      and (o.owners > 0 or not w.active or w.before <> 'owner' or (w.stays and w.role = 'owner'))
    returning a.*)`;
  const { rows } = await run(
    db,
    build
      .with('changed', () => changed)
      .selectFrom('changed as operator_account')
      .select(columns),
  );
  const member = rows[0];
  if (member !== undefined) return member;
  const account = build.selectFrom('operator_account').select('role').where('organization_id', '=', orgId).where('id', '=', id);
  const role = (await run(db, account)).rows[0]?.role;
  if (role === undefined) throw new PipelineError('not_found', 'There is no such member.');
  if (!within.includes(role)) throw new PipelineError('scope_missing', `An account of role ${role} is not yours to change.`);
  throw new PipelineError('conflict', 'The last owner, or the last administrator, cannot be demoted or disabled.');
}

/** Sets a password and ends the account's sessions. @throws PipelineError not_found */
export async function setPassword(db: Db, orgId: string, id: string, password: string): Promise<void> {
  const hash = await hashPassword(password);
  const accounts = build.updateTable('operator_account').set({ password_hash: hash });
  const sessions = build.updateTable('operator_session').set({ revoked_at: now }).where('revoked_at', 'is', null);
  const { rows } = await run(
    db,
    build
      .with('changed', () => accounts.where('organization_id', '=', orgId).where('id', '=', id).returning('id'))
      .with('ended', (also) => sessions.where('operator_id', 'in', also.selectFrom('changed').select('id')))
      .selectFrom('changed')
      .select('id'),
  );
  if (rows.length === 0) throw new PipelineError('not_found', 'There is no such member.');
}

// Compared when there is no such account, so that timing does not reveal which addresses exist.
let decoy: Promise<string> | null = null;

export type SignInFrom = Readonly<{
  ip: string;
  userAgent: string;
  /** Called when a sign-in fails, with the account of that address; null: there is none. */
  refused?: (account: Readonly<{ operatorId: string; orgId: string }> | null) => void;
}>;

/** Signs in.  @returns the session's token, which is sent in the cookie only.  @throws PipelineError credential_invalid */
export async function signIn(
  db: Db,
  email: string,
  password: string,
  from: SignInFrom,
): Promise<Readonly<{ token: string; member: Member; orgId: string }>> {
  const account = build.selectFrom('operator_account').select(columns).select(['organization_id', 'password_hash']);
  const { rows } = await run(db, account.where(sql`lower(email)`, '=', sql`lower(${email})`));
  const row = rows[0];
  decoy ??= hashPassword(randomBytes(16).toString('hex'));
  const matches = await passwordMatches(password, row?.password_hash ?? (await decoy));
  if (row === undefined || row.disabled || !matches) {
    from.refused?.(row === undefined ? null : { operatorId: row.id, orgId: row.organization_id });
    throw new PipelineError('credential_invalid', 'The address or the password is wrong.');
  }
  const token = randomBytes(32).toString('base64url');
  await run(
    db,
    build
      .with('login', (also) => also.updateTable('operator_account').set({ last_login_at: now }).where('id', '=', row.id))
      .insertInto('operator_session')
      .values({
        operator_id: row.id,
        token_hash: hashKey(token),
        expires_at: inSec(SESSION_SEC),
        ip: inetOf(from.ip),
        user_agent: from.userAgent.slice(0, 300),
      }),
  );
  const { organization_id: orgId, password_hash: _hash, ...member } = row;
  return { token, member, orgId };
}

/** Ends a session. */
export async function signOut(db: Db, token: string): Promise<void> {
  const session = build.updateTable('operator_session').where('token_hash', '=', hashKey(token));
  await run(
    db,
    session.set((row) => ({ revoked_at: row.fn.coalesce('revoked_at', now) })),
  );
}
