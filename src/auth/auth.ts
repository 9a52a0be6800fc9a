/** Authenticates requests. The one place where a credential becomes a Caller.
 *
 *  A verified credential is cached for at most CACHE_MS and dropped as soon as the database reports a change (channel bio_auth). A token's
 *  signature is checked once; whether its signing key, user, project and organization are still valid is checked again after that second.
 *  So a revocation takes effect within one second on every node, even one whose listening connection is broken. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import type { AuthRequest, Authenticate } from '../http/route.ts';
import { build, epochMs, now, run } from '../storage/database/build.ts';
import type { Database } from '../storage/database/database.ts';
import { cookieName, readCookie } from './cookies.ts';
import { keyByPublicId, sdkKeyByName, sdkKeysById, sessionSeen, standingUser, works } from './credential-queries.ts';
import { notExact, readExternalId } from './external-id-header.ts';
import { parseKey, hashKey } from '../key-format.ts';
import { SESSION_IDLE_SEC } from '../tenancy/operators.ts';
import { isProjectKey } from '../tenancy/projects.ts';
import { PublicKeyUse } from './public-key-use.ts';
import { SigningKeys } from './signing-keys.ts';
import { mintUserToken, verifyUserToken } from './user-tokens.ts';
import type { TokenClaims, TokenSubject, UserToken } from './user-tokens.ts';
import type { Caller, OperatorRole } from '../caller.ts';
import { unixNowMs } from '../unix-clock.ts';

/** How long a verified credential is trusted without asking the database. */
export const CACHE_MS = 1000;
/** Credentials cached; the oldest are dropped first. */
const CACHE_ENTRIES_MAX = 20_000;
/** Retry-After while an organization is moved, s. */
const MOVED_RETRY_SEC = 5;
const LAST_USED_MS = 10_000;

type KeyCaller = Caller & { kind: 'key' };
type UserCaller = Caller & { kind: 'user' };
type SdkKeyFound = Readonly<{ id: string | null; projectId: string | null; ended: boolean }>;
type Entry = { caller: Caller; checkedMs: number; claims: TokenClaims | null };

/** A row that changed: `api_key:<id>`, `xuser:<id>`, `project:<id>` …; an empty table: any of them may have. */
export type AuthChange = Readonly<{ table: string; id: string }>;

export type AuthOptions = Readonly<{
  database: Pick<Database, 'pool' | 'listen'>;
  /** Issuer of user tokens. */
  issuer: string;
  /** Seals signing keys at rest: at least 32 bytes, the same for every node. */
  secret: Uint8Array;
  /** Origins for direct mode from the environment; those of each project are in the database. */
  allowedOrigins: readonly string[];
  /** Sessions use the cookie for HTTPS. Default: false. */
  secureCookies?: boolean;
  /** A session without a request for this long is over. Default: SESSION_IDLE_SEC. */
  sessionIdleSec?: number;
}>;

export class Auth {
  readonly signingKeys: SigningKeys;
  readonly #pool: Pool;
  readonly #options: AuthOptions;
  readonly #sessionCookie: string;
  /** Keyed by the credential itself, in this process's memory only: a digest of it cost 7 % of a request. */
  readonly #cache = new Map<string, Entry>();
  readonly #pending = new Map<string, { caller: Promise<Caller>; again: boolean }>();
  readonly #subjects = new Map<string, { value: Promise<{ projectId: string; subjectId: string | null }>; untilMs: number }>();
  readonly #origins = new Map<string, { allowed: boolean; untilMs: number }>();
  /** SDK keys seen in requests; `id` is null when there is no such key. */
  readonly #sdkKeys = new Map<string, SdkKeyFound & { untilMs: number }>();
  /** By id of an organization key, SDK key or operator. Nothing is written when one expires, so no notification comes. */
  readonly #keyExpiryMs = new Map<string, number>();
  /** By organization key: performance.now() of its last use, not yet written. */
  readonly #used = new Map<string, number>();
  readonly #publicUse = new PublicKeyUse();
  readonly #listeners = new Set<(change: AuthChange) => void>();
  #stopListening: (() => Promise<void>) | null = null;
  #generation = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: AuthOptions) {
    this.#options = options;
    this.#sessionCookie = cookieName('bio_session', options.secureCookies ?? false);
    this.#pool = options.database.pool;
    this.signingKeys = new SigningKeys(options.database.pool, options.secret);
  }

  async start(): Promise<void> {
    await this.signingKeys.start();
    // job: auth-changes: hears at once of keys, users, sessions and consents that were changed, on every node
    this.#stopListening = await this.#options.database.listen('bio_auth', this.#notified);
    // job: last-used: writes when keys were last used, every 10 s
    this.#timer = setInterval(() => void this.flushLastUsed().catch(() => undefined), LAST_USED_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.flushLastUsed().catch(() => undefined);
    await this.#stopListening?.();
  }

  /** Calls the listener with every change that can take away a right. */
  onChange(listener: (change: AuthChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  readonly authenticate: Authenticate = (request) => {
    const { bearer } = request;
    const secret = bearer ?? this.#sessionOf(request);
    if (secret === null) return { kind: 'anonymous' };
    const id = bearer ?? `session ${secret}`;
    const entry = this.#cache.get(id);
    const nowMs = performance.now();
    if (entry !== undefined && nowMs - entry.checkedMs < CACHE_MS) {
      if (entry.caller.kind === 'user') {
        if (entry.caller.expiresAtMs <= unixNowMs()) throw expired();
        return this.#withSdkKey(entry.caller, request);
      }
      if (entry.caller.kind !== 'key') return entry.caller;
      this.#used.set(entry.caller.keyId, nowMs);
      return this.#narrow(entry.caller, request);
    }
    return this.#check(id, secret, bearer === null, entry ?? null).then((caller) => {
      if (caller.kind === 'user') return this.#withSdkKey(caller, request);
      return caller.kind === 'key' ? this.#narrow(caller, request) : caller;
    });
  };

  /** Was the credential of this request verified here before, or is there none? It may have been revoked since. */
  readonly isVerified = (request: AuthRequest): boolean => {
    const secret = request.bearer ?? this.#sessionOf(request);
    return secret === null || this.#verified(request.bearer ?? `session ${secret}`);
  };

  /** True also while it is being verified again, when it has no entry. */
  #verified(id: string): boolean {
    return this.#cache.has(id) || this.#pending.get(id)?.again === true;
  }

  /** Is the caller's organization being moved to another database? For sockets. */
  async isMoving(caller: Caller): Promise<boolean> {
    if (caller.kind === 'anonymous') return false;
    const organization = build.selectFrom('organization').select('id').where('id', '=', caller.orgId);
    return (await run(this.#pool, organization.where('moving_at', 'is not', null))).rows.length > 0;
  }

  /** Is this caller still valid? For sockets, which outlive the request that opened them. */
  async isValid(caller: Caller): Promise<boolean> {
    switch (caller.kind) {
      case 'anonymous':
        return true;
      case 'key': {
        const key = build.selectFrom('api_key').select(({ ref }) => epochMs(ref('expires_at')).as('expires_ms'));
        const { rows } = await run(this.#pool, key.where('id', '=', caller.keyId).where(works));
        this.#expires(caller.keyId, rows[0]?.expires_ms ?? null); // a rotation gives it an end
        return rows.length > 0;
      }
      case 'user':
        if (caller.kid !== undefined && (await this.signingKeys.verifier(caller.kid)) === null) return false;
        return (await this.#userStands(caller)) && (await this.#sdkKeysStand(caller.sdkKeyIds ?? []));
      case 'operator': {
        const sessions = build
          .selectFrom('operator_session as s')
          .select('s.id')
          .where('s.revoked_at', 'is', null)
          .where('s.expires_at', '>', now);
        const { rows } = await run(
          this.#pool,
          build
            .selectFrom('operator_account as a')
            .select('a.id')
            .where('a.id', '=', caller.operatorId)
            .where('a.disabled_at', 'is', null)
            .where(({ exists, ref }) => exists(sessions.where('s.operator_id', '=', ref('a.id')))),
        );
        return rows.length > 0;
      }
      default: {
        const never: never = caller;
        throw new Error(`caller ${String(never)}`);
      }
    }
  }

  /** Has a key or session behind this caller passed its expiry? */
  isExpired(caller: Caller): boolean {
    const ended = (id: string): boolean => (this.#keyExpiryMs.get(id) ?? Infinity) <= unixNowMs();
    if (caller.kind === 'user') return caller.sdkKeyIds?.some(ended) ?? false;
    if (caller.kind === 'operator') return ended(caller.operatorId);
    return caller.kind === 'key' && ended(caller.keyId);
  }

  /** Finds the SDK key that a token is minted for; null for ''.
   *  @throws PipelineError validation_failed: not a key of the project that works */
  async sdkKeyOf(projectId: string, sdkKey: string): Promise<string | null> {
    if (sdkKey === '') return null;
    const key = build.selectFrom('sdk_key').select('id').where('project_id', '=', projectId).where('sdk_key', '=', sdkKey);
    const { rows } = await run(this.#pool, key.where(works));
    const id = rows[0]?.id;
    const detail = 'is not a key of the project that works';
    if (id === undefined) {
      throw new PipelineError('validation_failed', `The header sdk-key ${detail}.`, {
        errors: [{ pointer: '/header/sdk-key', code: 'unknown', detail }],
      });
    }
    this.notePublicKey(sdkKey);
    return id;
  }

  /** Notes the use of a public key; written by the next flushLastUsed(). */
  notePublicKey(key: string): void {
    this.#publicUse.note(key);
  }

  /** @param caller who asks for it: a key's tokens never outlive the key  @throws PipelineError credential_invalid */
  async mint(subject: TokenSubject, caller?: Caller): Promise<UserToken> {
    const endsMs = caller?.kind === 'key' ? this.#keyExpiryMs.get(caller.keyId) : undefined;
    return await mintUserToken(this.signingKeys, this.#options.issuer, subject, endsMs);
  }

  /** Is this origin registered for direct mode: in the environment, or on a project that the key reaches? */
  readonly originAllowed = async (caller: KeyCaller, origin: string): Promise<boolean> => {
    if (this.#options.allowedOrigins.includes(origin)) return true;
    const id = `${caller.orgId} ${caller.projectId ?? ''} ${origin}`;
    const known = this.#origins.get(id);
    const nowMs = performance.now();
    if (known !== undefined && known.untilMs > nowMs) return known.allowed;
    const { orgId, projectId } = caller;
    const { rows } = await run(
      this.#pool,
      build
        .selectFrom('allowed_origin as o')
        .innerJoin('project as p', 'p.id', 'o.project_id')
        .select('o.id')
        .where('p.organization_id', '=', orgId)
        .$if(projectId !== null, (origins) => origins.where('p.id', '=', projectId))
        .where('o.origin', '=', origin)
        .where('p.archived_at', 'is', null)
        .limit(1),
    );
    if (this.#origins.size > CACHE_ENTRIES_MAX) this.#origins.clear();
    this.#origins.set(id, { allowed: rows.length > 0, untilMs: nowMs + CACHE_MS });
    return rows.length > 0;
  };

  /** Writes when keys were last used: one statement for all keys used since the last flush, not one per request. */
  async flushLastUsed(): Promise<void> {
    await this.#publicUse.flush(this.#pool);
    if (this.#used.size === 0) return;
    const used = [...this.#used];
    const nowMs = performance.now();
    // SQL: kysely has no unnest of several arrays.
    await this.#pool.query(
      `update api_key set last_used_at = greatest(last_used_at, now() - make_interval(secs => used.age))
       from unnest($1::uuid[], $2::float8[]) as used (id, age) where api_key.id = used.id`,
      [used.map(([id]) => id), used.map(([, usedMs]) => (nowMs - usedMs) / 1000)],
    );
    for (const [id, usedMs] of used) if (this.#used.get(id) === usedMs) this.#used.delete(id); // not what was used again meanwhile
  }

  /** Verifies a credential; concurrent requests with the same one share the work. */
  #check(id: string, secret: string, isSession: boolean, entry: Entry | null): Promise<Caller> {
    let pending = this.#pending.get(id);
    if (pending === undefined) {
      const caller = this.#verify(id, secret, isSession, entry).finally(() => this.#pending.delete(id));
      pending = { caller, again: entry !== null };
      this.#pending.set(id, pending);
    }
    return pending.caller;
  }

  async #verify(id: string, secret: string, isSession: boolean, entry: Entry | null): Promise<Caller> {
    const generation = this.#generation;
    const startedMs = performance.now();
    this.#cache.delete(id);
    const { caller, claims } = isSession
      ? { caller: await this.#session(secret), claims: null }
      : secret.includes('.')
        ? await this.#token(secret, entry)
        : { caller: await this.#key(secret), claims: null };
    // A change that arrived meanwhile may concern this credential: use the answer once, do not cache it.
    if (generation === this.#generation) {
      if (this.#cache.size >= CACHE_ENTRIES_MAX) {
        const oldest = this.#cache.keys().next().value;
        if (oldest !== undefined) this.#cache.delete(oldest);
      }
      this.#cache.set(id, { caller, checkedMs: startedMs, claims });
    }
    return caller;
  }

  async #key(text: string): Promise<Caller> {
    const parsed = parseKey(text);
    if (parsed === null || parsed.kind === 'malformed') throw new PipelineError('credential_invalid', 'The credential is malformed.');
    if (parsed.kind !== 'org') {
      throw new PipelineError('credential_kind', `A ${parsed.kind}_ key is a public identifier: it grants no access.`);
    }
    const { rows } = await keyByPublicId(this.#pool, { publicId: parsed.publicId });
    const row = rows[0];
    const given = hashKey(text);
    // Compared even when there is no such key, so that timing does not reveal which public ids exist.
    const same = timingSafeEqual(given, row?.secret_hash ?? createHash('sha256').digest());
    if (row === undefined || !same) throw new PipelineError('credential_invalid', 'The key is unknown.');
    if (!row.active) throw new PipelineError('credential_invalid', 'The key is revoked or has expired.');
    if (row.moving) throw isMoved();
    this.#expires(row.id, row.expires_ms);
    this.#used.set(row.id, performance.now());
    return { kind: 'key', keyId: row.id, orgId: row.organization_id, scopes: row.scopes, projectId: row.project_id, subjectId: null };
  }

  async #token(token: string, entry: Entry | null): Promise<{ caller: Caller; claims: TokenClaims }> {
    const claims = entry?.claims ?? (await verifyUserToken(this.signingKeys, this.#options.issuer, token));
    const expiresAtMs = claims.expiresAtSec * 1000;
    if (expiresAtMs <= unixNowMs()) throw expired();
    const { orgId, projectId, subjectId, sdkKeyId, jti, kid } = claims;
    if ((await this.signingKeys.verifier(kid)) === null) {
      throw new PipelineError('credential_invalid', 'The key that signed this token was withdrawn.');
    }
    if (!(await this.#userStands(claims))) throw new PipelineError('credential_invalid', 'The user of this token is disabled or deleted.');
    if (sdkKeyId === null) return { caller: { kind: 'user', orgId, projectId, subjectId, jti, kid, expiresAtMs }, claims };
    if (!(await this.#sdkKeysStand([sdkKeyId]))) throw sdkKeyEnded();
    return { caller: { kind: 'user', orgId, projectId, subjectId, jti, kid, expiresAtMs, sdkKeyIds: [sdkKeyId] }, claims };
  }

  /** Are these SDK keys all still valid? */
  async #sdkKeysStand(ids: readonly string[]): Promise<boolean> {
    if (ids.length === 0) return true;
    const { rows } = await sdkKeysById(this.#pool, { ids });
    for (const row of rows) this.#expires(row.id, row.expires_ms);
    return rows.length === ids.length && rows.every((row) => row.active);
  }

  #expires(id: string, expiresMs: number | null): void {
    if (expiresMs === null) this.#keyExpiryMs.delete(id);
    else this.#keyExpiryMs.set(id, expiresMs);
  }

  /** Do user, project and organization belong together, and are all still active? */
  async #userStands(who: Readonly<{ orgId: string; projectId: string; subjectId: string }>): Promise<boolean> {
    const { orgId, projectId, subjectId } = who;
    const { rows } = await standingUser(this.#pool, { orgId, projectId, subjectId });
    if (rows[0]?.moving === true) throw isMoved();
    return rows.length > 0;
  }

  async #session(token: string): Promise<Caller> {
    const idleSec = this.#options.sessionIdleSec ?? SESSION_IDLE_SEC;
    const { rows } = await sessionSeen(this.#pool, { tokenHash: hashKey(token), idleSec });
    const row = rows[0];
    if (row === undefined) throw new PipelineError('credential_invalid', 'The session has ended; sign in again.');
    if (row.moving) throw isMoved();
    // Of several sessions the one that ends last: an operator's socket stays open as long as that.
    this.#expires(row.operator_id, Math.max(row.expires_ms, this.#keyExpiryMs.get(row.operator_id) ?? 0));
    return { kind: 'operator', operatorId: row.operator_id, orgId: row.organization_id, role: operatorRoleOf(row.role) };
  }

  #sessionOf(request: AuthRequest): string | null {
    if (request.access.operator === undefined) return null;
    const cookies = request.header('cookie');
    const value = cookies === '' ? '' : readCookie(cookies, this.#sessionCookie);
    return /^[0-9A-Za-z_-]{20,100}$/.test(value) ? value : null;
  }

  /** Checks the SDK key that a page says it was embedded with. The key grants nothing; once revoked or expired, it ends the page's access.
   *  A key of another project is refused, because it could never end that access. */
  #withSdkKey(caller: UserCaller, request: AuthRequest): Caller | Promise<Caller> {
    const sdkKey = request.header('sdk-key');
    if (sdkKey === '') return caller;
    const known = this.#sdkKeys.get(sdkKey);
    if (known !== undefined && known.untilMs > performance.now()) return withSdkKey(caller, known);
    if (parseKey(sdkKey)?.kind !== 'sdk') throw noSdkKey();
    return this.#findSdkKey(sdkKey).then((found) => withSdkKey(caller, found));
  }

  async #findSdkKey(sdkKey: string): Promise<SdkKeyFound> {
    const generation = this.#generation;
    const untilMs = performance.now() + CACHE_MS;
    const { rows } = await sdkKeyByName(this.#pool, { sdkKey });
    const row = rows[0];
    const found = { id: row?.id ?? null, projectId: row?.project_id ?? null, ended: row?.ended ?? false, untilMs };
    if (row !== undefined) {
      this.#expires(row.id, row.expires_ms);
      if (!row.ended) this.notePublicKey(sdkKey);
    }
    if (generation === this.#generation) {
      if (this.#sdkKeys.size > CACHE_ENTRIES_MAX) this.#sdkKeys.clear();
      this.#sdkKeys.set(sdkKey, found);
    }
    return found;
  }

  /** Direct mode: the headers project-key and xuser-id narrow a key to one project and one user. */
  #narrow(caller: KeyCaller, request: AuthRequest): Caller | Promise<Caller> {
    const projectKey = request.header('project-key');
    if (projectKey === '') return caller;
    const named = request.access.direct !== undefined ? request.header('xuser-id') : '';
    const id = `${caller.keyId}\n${projectKey}\n${named}`;
    const nowMs = performance.now();
    let known = this.#subjects.get(id);
    if (known === undefined || known.untilMs <= nowMs) {
      if (this.#subjects.size > CACHE_ENTRIES_MAX) this.#subjects.clear();
      known = { value: this.#directSubject(caller, projectKey, named), untilMs: nowMs + CACHE_MS };
      known.value.catch(() => this.#subjects.delete(id));
      this.#subjects.set(id, known);
    }
    return known.value.then(({ projectId, subjectId }) => ({ ...caller, projectId, subjectId }));
  }

  async #directSubject(caller: KeyCaller, projectKey: string, header: string): Promise<{ projectId: string; subjectId: string | null }> {
    const { externalId, exact } = readExternalId(header);
    // `strpos` first: it is cheap, and false for nearly every user.
    const others = sql<boolean>`exists (select from xuser o
      where o.project_id = p.id and strpos(o.external_id, ${externalId}) > 0 and o.external_id <> ${externalId}
        and regexp_replace(o.external_id collate "C", '^[^!-~]+|[^!-~]+$', '', 'g') = ${externalId})`;
    const { rows } = await run(
      this.#pool,
      build
        .selectFrom('project as p')
        .leftJoin('xuser as x', (join) =>
          join.onRef('x.project_id', '=', 'p.id').on('x.external_id', '=', externalId).on('x.disabled_at', 'is', null),
        )
        .select(['p.id', 'x.id as subject_id', (exact || externalId === '' ? sql<boolean>`false` : others).as('others')])
        .where(isProjectKey(projectKey))
        .where('p.organization_id', '=', caller.orgId)
        .$if(caller.projectId !== null, (projects) => projects.where('p.id', '=', caller.projectId))
        .where('p.archived_at', 'is', null),
    );
    const row = rows[0];
    if (row === undefined) throw new PipelineError('credential_invalid', 'The project key is not of the organization of the key.');
    if (!exact && row.others) throw notExact();
    if (externalId !== '' && row.subject_id === null) {
      throw new PipelineError('not_found', 'There is no such user; create it with POST /api/v1/xusers.');
    }
    this.notePublicKey(projectKey);
    return { projectId: row.id, subjectId: row.subject_id };
  }

  /** null: the listening connection was lost and restored; anything may have changed in between. */
  readonly #notified = (payload: string | null): void => {
    if (payload === null) {
      this.#changed({ table: '', id: '' });
      return;
    }
    const [table = '', ...id] = payload.split(':');
    this.#changed({ table, id: id.join(':') });
  };

  #changed(change: AuthChange): void {
    this.#forget();
    if (change.table === 'signing_key' || change.table === '') this.signingKeys.invalidate();
    for (const listener of this.#listeners) listener(change);
  }

  /** Makes every credential be checked again at its next use. Verified signatures stay, because their keys and claims are checked again
   *  too. */
  #forget(): void {
    this.#generation += 1;
    this.#subjects.clear();
    this.#origins.clear();
    this.#sdkKeys.clear();
    for (const entry of this.#cache.values()) entry.checkedMs = -Infinity;
  }
}

function expired(): PipelineError {
  return new PipelineError('token_expired', 'The user token has expired.');
}

/** Devices and applications keep what they have, and send it again. */
function isMoved(): PipelineError {
  return new PipelineError('unavailable', 'The organization is being moved to another database.', { retryAfterSec: MOVED_RETRY_SEC });
}

function sdkKeyEnded(): PipelineError {
  return new PipelineError('credential_invalid', 'The SDK key of this page is revoked or has expired.');
}

function noSdkKey(): PipelineError {
  return new PipelineError('credential_invalid', 'The header sdk-key is not an SDK key of the project.');
}

function withSdkKey(caller: UserCaller, { id, projectId, ended }: SdkKeyFound): Caller {
  if (id === null || projectId !== caller.projectId) throw noSdkKey();
  if (ended) throw sdkKeyEnded();
  if (caller.sdkKeyIds?.includes(id) === true) return caller;
  return { ...caller, sdkKeyIds: [...(caller.sdkKeyIds ?? []), id] };
}

/** Maps roles of the database to what they may do through the API. */
export function operatorRoleOf(role: string): OperatorRole {
  if (role === 'owner' || role === 'admin') return 'admin';
  return role === 'clinician' ? 'editor' : 'viewer';
}
