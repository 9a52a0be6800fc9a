/** Seals private signing keys at rest: AES-256-GCM under a key derived (HKDF, RFC 5869) from a secret, the key's id as associated data, so
 *  that a row copied to another id does not open. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Prefix of sealed text; keys of older releases (plain PEM) do not have it. */
const MARK = 'sealed.v1.';

export class KeySealer {
  readonly #key: Uint8Array;

  /** @param secret at least 32 bytes, the same for every node */
  constructor(secret: Uint8Array) {
    if (secret.length < 32) throw new RangeError(`a secret of ${secret.length} bytes; at least 32`);
    this.#key = new Uint8Array(hkdfSync('sha256', secret, '', 'biosignal signing key v1', 32));
  }

  isSealed(text: string): boolean {
    return text.startsWith(MARK);
  }

  seal(pem: string, kid: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(kid));
    return MARK + Buffer.concat([nonce, cipher.update(pem, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /** @returns the PEM; null when it was sealed under another secret, for another id, or changed */
  open(text: string, kid: string): string | null {
    const bytes = Buffer.from(text.slice(MARK.length), 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(kid));
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), decipher.final()]).toString('utf8');
    } catch {
      return null;
    }
  }
}
