/** Keys that sign user tokens: RS256 with 3072-bit RSA, kept in the database, so that every node signs and verifies with the same ones.
 *
 *  A key is `published` from its creation (in the JWKS, verifies), `signing` from not_before to retire_at, `retired` until expires_at
 *  (still verifies what it signed), then deleted. Rotation publishes the new key PUBLISH_SEC before it signs, so that no verifier with a
 *  cached JWKS meets an unknown kid.
 *
 *  A withdrawn key (withdrawSigningKey) ends at once, with every token that it signed; a new one is made when the next token needs signing.
 *  The cache here is at most RELOAD_MS old, even on a node without a listening connection.
 *
 *  Private keys are sealed in the table. Those that an older release stored unsealed are sealed at the next start. A key that cannot be
 *  opened (the secret was changed) verifies what it signed but signs no more; a new one is made. */
import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import type { Pool } from 'pg';
import { hashedLock, namedLocks } from '../storage/database/locks.ts';
import { transaction } from '../storage/database/transaction.ts';
import { build, epochMs, inSec, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';
import { KeySealer } from './key-sealer.ts';
import { unixNowMs } from '../unix-clock.ts';

const MODULUS_BITS = 3072;
/** How long JWKS may be cached, and so how long a key is published before it signs. */
export const PUBLISH_SEC = 300;
/** How long a retired key verifies: the life of the last token it signed, and a minute of clock difference. */
const RETIRED_SEC = 3600 + 60;
/** How long the cache is trusted, ms. Also keeps random kids from causing queries. */
export const RELOAD_MS = 1000;

/** A public key as node exports it. */
type RsaJwk = Readonly<{ kty: 'RSA'; n: string; e: string }>;
type PublicJwk = RsaJwk & Readonly<{ kid: string; alg: 'RS256'; use: 'sig' }>;
type Row = Readonly<{
  kid: string;
  private_pem: string;
  public_jwk: RsaJwk;
  not_before_ms: number;
  retire_at_ms: number | null;
  expires_at_ms: number | null;
}>;
/** privateKey is null when it cannot be opened. */
type Held = Readonly<{ row: Row; privateKey: KeyObject | null; publicKey: KeyObject }>;

const makePair = promisify(generateKeyPair);

export class SigningKeys {
  readonly #pool: Pool;
  readonly #sealer: KeySealer;
  #held = new Map<string, Held>();
  /** Start of the query whose answer is cached. */
  #loadedMs = -Infinity;
  /** Time of the last change: anything read before is stale. */
  #changedMs = -Infinity;
  #loading: Promise<void> | null = null;

  /** @param secret of at least 32 bytes, the same for every node */
  constructor(pool: Pool, secret: Uint8Array) {
    this.#pool = pool;
    this.#sealer = new KeySealer(secret);
  }

  /** Loads the keys; makes the first one when there is none. Racing nodes agree on one through an advisory lock. */
  async start(): Promise<void> {
    await this.reload();
    await this.#sealPlain();
    if (this.#signer(unixNowMs()) === null) await this.#makeSigner();
  }

  async #makeSigner(): Promise<void> {
    await transaction(this.#pool, async (client) => {
      await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.signingKey)})`);
      await this.#load(client); // a racing node may have made it
      if (this.#signer(unixNowMs()) === null) {
        // Keys that cannot be opened must not sign: retire them as rotation does.
        await retireAll(client, 0);
        await this.#insert(client, 0);
      }
    });
    await this.reload();
  }

  /** Publishes a new key that takes over after PUBLISH_SEC; the old ones verify until their last token has expired. */
  async rotate(): Promise<string> {
    const made = await transaction(this.#pool, async (client) => {
      await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.signingKey)})`);
      await retireAll(client, PUBLISH_SEC);
      const kid = await this.#insert(client, PUBLISH_SEC);
      await run(client, build.deleteFrom('signing_key').where('expires_at', '<', now));
      return kid;
    });
    await this.reload();
    return made;
  }

  /** The key that signs now; makes one when the last one was withdrawn. */
  async signer(): Promise<Readonly<{ kid: string; key: KeyObject }>> {
    await this.#fresh();
    if (this.#signer(unixNowMs()) === null) await this.#makeSigner();
    const held = this.#signer(unixNowMs());
    if (held === null || held.privateKey === null) throw new Error('there is no signing key');
    return { kid: held.row.kid, key: held.privateKey };
  }

  /** The key that verifies a kid; null when there is none. */
  async verifier(kid: string): Promise<KeyObject | null> {
    await this.#fresh();
    const held = this.#held.get(kid);
    if (held === undefined) return null;
    const expiresMs = held.row.expires_at_ms;
    return expiresMs !== null && expiresMs <= unixNowMs() ? null : held.publicKey;
  }

  /** The key set as /.well-known/jwks.json shows it. */
  async jwks(): Promise<Readonly<{ keys: readonly PublicJwk[] }>> {
    await this.#fresh();
    const now = unixNowMs();
    const live = [...this.#held.values()].filter(({ row }) => row.expires_at_ms === null || row.expires_at_ms > now);
    return { keys: live.map(({ row }) => ({ ...row.public_jwk, kid: row.kid, alg: 'RS256' as const, use: 'sig' as const })) };
  }

  /** Reads the table again. Concurrent calls share one query. */
  reload(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  /** Notes that the table changed, so that it is read again before a key is used. */
  invalidate(): void {
    this.#changedMs = performance.now();
  }

  async #fresh(): Promise<void> {
    const nowMs = performance.now();
    const oldestMs = Math.max(this.#changedMs, nowMs - RELOAD_MS);
    if (this.#loadedMs > oldestMs) return;
    await this.reload();
    if (this.#loadedMs <= this.#changedMs) await this.reload(); // the shared query began before the change
  }

  /** Seals keys that an older release stored unsealed. */
  async #sealPlain(): Promise<void> {
    for (const { row } of this.#held.values()) {
      if (this.#sealer.isSealed(row.private_pem)) continue;
      const { kid, private_pem: plain } = row;
      const sealed = this.#sealer.seal(plain, kid);
      await run(
        this.#pool,
        build.updateTable('signing_key').set({ private_pem: sealed }).where('kid', '=', kid).where('private_pem', '=', plain),
      );
    }
  }

  #open(row: Row): KeyObject | null {
    const pem = this.#sealer.isSealed(row.private_pem) ? this.#sealer.open(row.private_pem, row.kid) : row.private_pem;
    return pem === null ? null : createPrivateKey(pem);
  }

  async #insert(db: Db, delaySec: number): Promise<string> {
    const { privateKey, publicKey } = await makePair('rsa', { modulusLength: MODULUS_BITS });
    // Typed at a command line, where a name that begins with '-' would be an option.
    const kid = randomBytes(9).toString('hex');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    await run(
      db,
      build.insertInto('signing_key').values({
        kid,
        private_pem: this.#sealer.seal(String(pem), kid),
        public_jwk: JSON.stringify(publicKey.export({ format: 'jwk' })),
        not_before: inSec(delaySec),
      }),
    );
    return kid;
  }

  async #load(db: Db = this.#pool): Promise<void> {
    const startedMs = performance.now();
    const { rows } = await run(
      db,
      build
        .selectFrom('signing_key')
        .select(({ ref }) => [
          'kid',
          'private_pem',
          ref('public_jwk').$castTo<RsaJwk>().as('public_jwk'),
          epochMs(ref('not_before')).as('not_before_ms'),
          epochMs(ref('retire_at')).as('retire_at_ms'),
          epochMs(ref('expires_at')).as('expires_at_ms'),
        ])
        .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
        .orderBy('not_before'),
    );
    const held = new Map<string, Held>();
    for (const row of rows) {
      const before = this.#held.get(row.kid);
      const privateKey = before?.privateKey ?? this.#open(row);
      held.set(row.kid, { row, privateKey, publicKey: before?.publicKey ?? createPublicKey({ key: row.public_jwk, format: 'jwk' }) });
    }
    this.#held = held;
    this.#loadedMs = startedMs;
  }

  /** The newest of those that sign. While this machine's clock is behind the database's there may be none yet: then the first to come, as
   *  one that was made now would come later. */
  #signer(nowMs: number): Held | null {
    let newest: Held | null = null;
    let first: Held | null = null;
    for (const held of this.#held.values()) {
      const { not_before_ms: from, retire_at_ms: until } = held.row;
      if (held.privateKey === null || (until !== null && until <= nowMs)) continue;
      first ??= held;
      if (from <= nowMs) newest = held;
    }
    return newest ?? first;
  }
}

export type SigningKeyRow = Readonly<{ kid: string; state: string; created_at: string; ends_at: string | null }>;

/** Retires the keys that sign, or will, after a delay; they verify for as long as the tokens they signed. */
async function retireAll(db: Db, delaySec: number): Promise<void> {
  const ends = { retire_at: inSec(delaySec), expires_at: inSec(delaySec + RETIRED_SEC) };
  await run(db, build.updateTable('signing_key').set(ends).where('retire_at', 'is', null));
}

const keyColumns = ({ ref }: ExpressionBuilder<Tables, 'signing_key'>) =>
  [
    'kid',
    sql<string>`case when expires_at <= now() then 'ended' when retire_at <= now() then 'retired'
      when not_before > now() then 'published' else 'signing' end`.as('state'),
    isoTime(ref('created_at')).as('created_at'),
    isoTime(ref('expires_at')).as('ends_at'),
  ] as const;

/** The signing keys of an installation, oldest first. */
export async function listSigningKeys(db: Db): Promise<readonly SigningKeyRow[]> {
  const { rows } = await run(db, build.selectFrom('signing_key').select(keyColumns).orderBy('signing_key.created_at').orderBy('kid'));
  return rows;
}

/** Ends a key that may have leaked, with every token that it signed: every node refuses them within a second and closes their sockets.
 *  Applications then ask for new tokens, signed by a new key.  @returns null when there is no such key */
export async function withdrawSigningKey(db: Db, kid: string): Promise<SigningKeyRow | null> {
  const ends = { retire_at: sql<Date>`least(retire_at, now())`, expires_at: sql<Date>`least(expires_at, now())` };
  const { rows } = await run(db, build.updateTable('signing_key').set(ends).where('kid', '=', kid).returning(keyColumns));
  return rows[0] ?? null;
}
