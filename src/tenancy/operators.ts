/** People who work with the dashboard: accounts with scrypt passwords, sessions as random tokens in an HttpOnly cookie. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { PipelineError } from '../errors.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { hashKey } from '../key-format.ts';
import { inetOf } from './audit.ts';
import type { Db } from '../storage/database/database.ts';

/** OWASP's parameters for scrypt: 128 MiB and about 0.3 s a try. */
const N = 2 ** 17;
const R = 8;
const P = 1;
const HASH_BYTES = 32;
export const SESSION_SEC = 12 * 3600;
/** A session that asks for nothing this long is over, unless BIO_SESSION_IDLE_MIN says otherwise. */
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
  /** Of role and state: what updateMember changes. */
  etag: string;
}>;

const columns = `id, email, display_name, role, to_json(created_at) #>> '{}' as created_at,
  to_json(last_login_at) #>> '{}' as last_login_at, disabled_at is not null as disabled,
  format('"%s"', md5(concat_ws(' ', id, role, disabled_at))) as etag`;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt as never);

/** `scrypt$N$r$p$salt$hash`: a stored hash says how it was made, so that the cost can rise later. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password.normalize('NFKC'), salt, HASH_BYTES, { N, r: R, p: P, maxmem: 256 * N * R });
  return ['scrypt', N, R, P, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const [kind, n, r, p, salt = '', hash = ''] = stored.split('$');
  if (kind !== 'scrypt') return false;
  const expected = Buffer.from(hash, 'base64url');
  const options = { N: Number(n), r: Number(r), p: Number(p), maxmem: 256 * Number(n) * Number(r) };
  const given = await derive(password.normalize('NFKC'), Buffer.from(salt, 'base64url'), expected.length, options);
  return timingSafeEqual(given, expected);
}

/** Adds an account. @throws PipelineError conflict when the address is taken */
export async function createMember(
  db: Db,
  input: Readonly<{ orgId: string; email: string; displayName: string; role: MemberRole; password: string }>,
): Promise<Member> {
  const { rows } = await db
    .query<Member>(
      `insert into operator_account (organization_id, email, display_name, role, password_hash) values ($1, $2, $3, $4, $5) returning ${columns}`,
      [input.orgId, input.email, input.displayName, input.role, await hashPassword(input.password)],
    )
    .catch((error: unknown) => {
      if (sqlStateOf(error) === '23505') throw new PipelineError('conflict', 'There is an account with this address.', { cause: error });
      throw error;
    });
  const member = rows[0];
  if (member === undefined) throw new Error('operator_account insert returned no row');
  return member;
}

export async function listMembers(db: Db, orgId: string): Promise<readonly Member[]> {
  const { rows } = await db.query<Member>(
    `select ${columns} from operator_account where organization_id = $1 order by operator_account.created_at, id limit 1000`,
    [orgId],
  );
  return rows;
}

/** The member, whom nobody else changes until this transaction is over. Locks every account of the organization, in the order of updateMember:
 *  two transactions that locked one account each would wait for one another there. @throws PipelineError not_found */
export async function lockMember(db: Db, orgId: string, id: string): Promise<Member> {
  const { rows } = await db.query<Member>(`select ${columns} from operator_account where organization_id = $1 order by id for update`, [
    orgId,
  ]);
  const member = rows.find((row) => row.id === id);
  if (member === undefined) throw new PipelineError('not_found', 'There is no such member.');
  return member;
}

/** Changes a role or disables an account, whose sessions end with it. An organization keeps one owner or admin, and one that has an owner
 *  keeps an owner. All accounts are locked meanwhile: of two changes that race, the second sees the first.
 *  @param within roles whose accounts may be changed; the new role is the caller's to check
 *  @throws PipelineError not_found, conflict; scope_missing when the account has another role */
export async function updateMember(
  db: Db,
  orgId: string,
  id: string,
  change: Readonly<{ role?: MemberRole; disabled?: boolean }>,
  within: readonly MemberRole[] = memberRoles,
): Promise<Member> {
  const { rows } = await db.query<Member>(
    `with accounts as materialized (
       select id, role, disabled_at from operator_account where organization_id = $1 order by id for update
     ), others as (
       select count(*) filter (where role = 'owner') as owners, count(*) as administrators from accounts
       where id <> $2 and disabled_at is null and role in ('owner', 'admin')
     ), wanted as (
       select id, role as before, disabled_at is null as active, coalesce($3, role) as role,
         not coalesce($4::boolean, disabled_at is not null) as stays
       from accounts where id = $2 and role = any ($5::text[])
     ), changed as (
       update operator_account a set
         role = w.role,
         disabled_at = case when $4::boolean is null then a.disabled_at when $4 then coalesce(a.disabled_at, now()) end
       from wanted w, others o
       where a.id = w.id
         and (o.administrators > 0 or not w.active or w.before not in ('owner', 'admin') or (w.stays and w.role in ('owner', 'admin')))
         and (o.owners > 0 or not w.active or w.before <> 'owner' or (w.stays and w.role = 'owner'))
       returning a.*
     )
     select ${columns} from changed`,
    [orgId, id, change.role ?? null, change.disabled ?? null, [...within]],
  );
  const member = rows[0];
  if (member !== undefined) return member;
  const { rows: found } = await db.query<{ role: MemberRole }>('select role from operator_account where organization_id = $1 and id = $2', [
    orgId,
    id,
  ]);
  const role = found[0]?.role;
  if (role === undefined) throw new PipelineError('not_found', 'There is no such member.');
  if (!within.includes(role)) throw new PipelineError('scope_missing', `An account of role ${role} is not yours to change.`);
  throw new PipelineError('conflict', 'The last owner, or the last administrator, cannot be demoted or disabled.');
}

/** Sets a password and ends the account's sessions. @throws PipelineError not_found */
export async function setPassword(db: Db, orgId: string, id: string, password: string): Promise<void> {
  const { rowCount } = await db.query(
    `with changed as (update operator_account set password_hash = $3 where organization_id = $1 and id = $2 returning id),
       ended as (update operator_session set revoked_at = now() where operator_id in (select id from changed) and revoked_at is null)
     select id from changed`,
    [orgId, id, await hashPassword(password)],
  );
  if (rowCount === 0) throw new PipelineError('not_found', 'There is no such member.');
}

// Compared when there is no such account, so that the time does not tell which addresses exist.
let decoy: Promise<string> | null = null;

export type SignInFrom = Readonly<{
  ip: string;
  userAgent: string;
  /** Called when the sign-in fails, with the account that was meant; null: there is none of that address. */
  refused?: (account: Readonly<{ operatorId: string; orgId: string }> | null) => void;
}>;

/** Signs in. @returns the session's token, which only the cookie carries. @throws PipelineError credential_invalid */
export async function signIn(
  db: Db,
  email: string,
  password: string,
  from: SignInFrom,
): Promise<Readonly<{ token: string; member: Member; orgId: string }>> {
  const { rows } = await db.query<Member & { organization_id: string; password_hash: string }>(
    `select ${columns}, organization_id, password_hash from operator_account where lower(email) = lower($1)`,
    [email],
  );
  const row = rows[0];
  decoy ??= hashPassword(randomBytes(16).toString('hex'));
  const matches = await passwordMatches(password, row?.password_hash ?? (await decoy));
  if (row === undefined || row.disabled || !matches) {
    from.refused?.(row === undefined ? null : { operatorId: row.id, orgId: row.organization_id });
    throw new PipelineError('credential_invalid', 'The address or the password is wrong.');
  }
  const token = randomBytes(32).toString('base64url');
  await db.query(
    `with login as (update operator_account set last_login_at = now() where id = $1)
     insert into operator_session (operator_id, token_hash, expires_at, ip, user_agent)
     values ($1, $2, now() + make_interval(secs => $3::integer), $4, $5)`,
    [row.id, hashKey(token), SESSION_SEC, inetOf(from.ip), from.userAgent.slice(0, 300)],
  );
  const { organization_id: orgId, password_hash: _hash, ...member } = row;
  return { token, member, orgId };
}

/** Ends a session. */
export async function signOut(db: Db, token: string): Promise<void> {
  await db.query('update operator_session set revoked_at = coalesce(revoked_at, now()) where token_hash = $1', [hashKey(token)]);
}
