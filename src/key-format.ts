/** The form of keys: prefix, random part, checksum.
 *
 *      org_live_ 4fQ0…(12)  …(33)   …(6)          proj_ / sdk_  …(33)   …(6)
 *      prefix    public id  secret  checksum                    random  checksum
 *
 *  Base62, so that a double click selects a whole key and no address needs escapes. 33 base62 digits hold 196 random bits. The checksum
 *  (CRC-32 of all before it) lets secret scanners and people find typos without asking the service. */
import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PUBLIC_ID_DIGITS = 12;
const SECRET_DIGITS = 33;
const CHECKSUM_DIGITS = 6;

export type KeyEnv = 'live' | 'test';
export type ParsedKey =
  | Readonly<{ kind: 'org'; env: KeyEnv; publicId: string }>
  | Readonly<{ kind: 'proj' | 'sdk' }>
  | Readonly<{ kind: 'malformed' }>;

/** Makes an organization key. The caller shows `key` once and stores its hash. */
export function makeOrgKey(env: KeyEnv): Readonly<{ key: string; publicId: string }> {
  const publicId = randomDigits(PUBLIC_ID_DIGITS);
  return { key: sealed(`org_${env}_${publicId}${randomDigits(SECRET_DIGITS)}`), publicId };
}

/** Makes a public identifier of a project. */
export function makePublicKey(prefix: 'proj' | 'sdk'): string {
  return sealed(`${prefix}_${randomDigits(SECRET_DIGITS)}`);
}

/** Parses a text with a key's prefix; null when it has no such prefix (it may be a token). Checks form and checksum only. */
export function parseKey(text: string): ParsedKey | null {
  if (!/^(org|proj|sdk)_/.test(text)) return null;
  const match = /^(?:org_(live|test)_([0-9A-Za-z]{12})[0-9A-Za-z]{39}|(proj|sdk)_[0-9A-Za-z]{39})$/.exec(text);
  if (match === null || sealed(text.slice(0, -CHECKSUM_DIGITS)) !== text) return { kind: 'malformed' };
  const [, env, publicId, kind] = match;
  if (kind === 'proj' || kind === 'sdk') return { kind };
  return { kind: 'org', env: env === 'live' ? 'live' : 'test', publicId: publicId ?? '' };
}

function randomDigits(count: number): string {
  let text = '';
  for (let i = 0; i < count; i++) text += digits[randomInt(62)] ?? '';
  return text;
}

function sealed(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let i = 0; i < CHECKSUM_DIGITS; i++) {
    checksum = (digits[rest % 62] ?? '') + checksum;
    rest = Math.floor(rest / 62);
  }
  return text + checksum;
}

/** Hashes a secret key for storage: SHA-256, 32 bytes. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
