/** Seals journal texts: AES-256-GCM with one key per user, derived from the service's secret (HKDF, RFC 5869). The entry's owner and id are
 *  associated data, so a row copied to another user or entry does not open. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class JournalCipher {
  readonly #secret: Uint8Array;

  /** @param secret at least 32 bytes, the same for every node */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  seal(text: string, subjectId: string, entryId: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(subjectId), nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(`${subjectId}\n${entryId}`));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws Error when the bytes were changed, or belong to another user or entry */
  open(sealed: Uint8Array, subjectId: string, entryId: string): string {
    const decipher = createDecipheriv('aes-256-gcm', this.#key(subjectId), sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(`${subjectId}\n${entryId}`));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES)), decipher.final()]).toString('utf8');
  }

  #key(subjectId: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#secret, subjectId, 'biosignal journal v1', 32));
  }
}
