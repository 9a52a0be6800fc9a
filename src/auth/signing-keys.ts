/** Keys that sign user tokens: RS256 with 3072-bit RSA, held in the database, so that every node signs and verifies with the same ones.
 *
 *  A key is `published` from its creation (in the JWKS, verifies), `signing` from not_before to retire_at, `retired` until expires_at (still
 *  verifies what it signed), then gone. Rotation publishes the new key PUBLISH_SEC before it signs, so that no verifier with a cached JWKS
 *  meets an unknown kid.
 *
 *  Private keys are sealed in the table. Those of an older release, stored as they were, are sealed at the next start. One that does not open
 *  (the secret was changed) verifies what it signed and signs no more: a new one is made. */
import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import { hashedLock, namedLocks } from '../storage/locks.ts';
import type { Db } from './api-keys.ts';
import { KeySealer } from './key-sealer.ts';

const MODULUS_BITS = 3072;
/** JWKS may be cached this long, so a key is published this long before it signs. */
export const PUBLISH_SEC = 300;
/** A retired key verifies for the life of the last token it signed, and a minute of clock difference. */
const RETIRED_SEC = 3600 + 60;
/** An unknown kid asks the database at most this often: random kids must not become queries. */
const RELOAD_MS = 1000;

type Row = Readonly<{
  kid: string;
  private_pem: string;
  public_jwk: Record<string, string>;
  not_before_ms: number;
  retire_at_ms: number | null;
  expires_at_ms: number | null;
}>;
/** privateKey is null when it does not open. */
type Held = Readonly<{ row: Row; privateKey: KeyObject | null; publicKey: KeyObject }>;

const makePair = promisify(generateKeyPair);

export class SigningKeys {
  readonly #pool: Pool;
  readonly #sealer: KeySealer;
  #held = new Map<string, Held>();
  #loadedMs = -Infinity;
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
    if (this.#signer(Date.now()) !== null) return;
    const client = await this.#pool.connect();
    try {
      await client.query('begin');
      await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.signingKey)})`);
      await this.#load(client); // a racing node may have made it
      if (this.#signer(Date.now()) === null) {
        // What does not open signs no more: it is retired as rotation does.
        await client.query(
          `update signing_key set retire_at = now(), expires_at = now() + make_interval(secs => $1::integer) where retire_at is null`,
          [RETIRED_SEC],
        );
        await this.#insert(client, 0);
      }
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
    await this.reload();
  }

  /** Publishes a new key that takes over after PUBLISH_SEC; the old ones verify until their last token has expired. */
  async rotate(): Promise<string> {
    const client = await this.#pool.connect();
    try {
      await client.query('begin');
      await client.query(`select pg_advisory_xact_lock(${hashedLock(namedLocks.signingKey)})`);
      await client.query(
        `update signing_key set
           retire_at = now() + make_interval(secs => $1::integer),
           expires_at = now() + make_interval(secs => $1::integer + $2::integer)
         where retire_at is null`,
        [PUBLISH_SEC, RETIRED_SEC],
      );
      const kid = await this.#insert(client, PUBLISH_SEC);
      await client.query('delete from signing_key where expires_at < now()');
      await client.query('commit');
      await this.reload();
      return kid;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }

  /** The key that signs now. */
  async signer(): Promise<Readonly<{ kid: string; key: KeyObject }>> {
    let held = this.#signer(Date.now());
    if (held === null) {
      await this.reload();
      held = this.#signer(Date.now());
    }
    if (held === null || held.privateKey === null) throw new Error('there is no signing key');
    return { kid: held.row.kid, key: held.privateKey };
  }

  /** The key that verifies a kid; null when there is none. */
  async verifier(kid: string): Promise<KeyObject | null> {
    if (!this.#held.has(kid) && performance.now() - this.#loadedMs > RELOAD_MS) await this.reload();
    const held = this.#held.get(kid);
    if (held === undefined) return null;
    const expiresMs = held.row.expires_at_ms;
    return expiresMs !== null && expiresMs <= Date.now() ? null : held.publicKey;
  }

  /** The key set as /.well-known/jwks.json shows it. */
  jwks(): Readonly<{ keys: readonly Record<string, string>[] }> {
    const now = Date.now();
    const live = [...this.#held.values()].filter(({ row }) => row.expires_at_ms === null || row.expires_at_ms > now);
    return { keys: live.map(({ row }) => ({ ...row.public_jwk, kid: row.kid, alg: 'RS256', use: 'sig' })) };
  }

  /** Reads the table. Concurrent calls share one query. */
  reload(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  /** Seals what an older release stored as it was. */
  async #sealPlain(): Promise<void> {
    for (const { row } of this.#held.values()) {
      if (this.#sealer.isSealed(row.private_pem)) continue;
      await this.#pool.query('update signing_key set private_pem = $2 where kid = $1 and private_pem = $3', [
        row.kid,
        this.#sealer.seal(row.private_pem, row.kid),
        row.private_pem,
      ]);
    }
  }

  #open(row: Row): KeyObject | null {
    const pem = this.#sealer.isSealed(row.private_pem) ? this.#sealer.open(row.private_pem, row.kid) : row.private_pem;
    return pem === null ? null : createPrivateKey(pem);
  }

  async #insert(db: Db, delaySec: number): Promise<string> {
    const { privateKey, publicKey } = await makePair('rsa', { modulusLength: MODULUS_BITS });
    const kid = randomBytes(9).toString('base64url');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    await db.query(
      `insert into signing_key (kid, private_pem, public_jwk, not_before) values ($1, $2, $3, now() + make_interval(secs => $4::integer))`,
      [kid, this.#sealer.seal(String(pem), kid), publicKey.export({ format: 'jwk' }), delaySec],
    );
    return kid;
  }

  async #load(db: Db = this.#pool): Promise<void> {
    const { rows } = await db.query<Row>(
      `select kid, private_pem, public_jwk,
         (extract(epoch from not_before) * 1000)::float8 as not_before_ms,
         (extract(epoch from retire_at) * 1000)::float8 as retire_at_ms,
         (extract(epoch from expires_at) * 1000)::float8 as expires_at_ms
       from signing_key where expires_at is null or expires_at > now() order by not_before`,
    );
    const held = new Map<string, Held>();
    for (const row of rows) {
      const before = this.#held.get(row.kid);
      const privateKey = before?.privateKey ?? this.#open(row);
      held.set(row.kid, { row, privateKey, publicKey: before?.publicKey ?? createPublicKey({ key: row.public_jwk, format: 'jwk' }) });
    }
    this.#held = held;
    this.#loadedMs = performance.now();
  }

  #signer(nowMs: number): Held | null {
    let newest: Held | null = null;
    for (const held of this.#held.values()) {
      const { not_before_ms: from, retire_at_ms: until } = held.row;
      if (held.privateKey !== null && from <= nowMs && (until === null || until > nowMs)) newest = held;
    }
    return newest;
  }
}
