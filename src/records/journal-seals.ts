/** Seals and opens journals with the secrets of this service: BIO_SECRET seals, so that a copy of the database alone opens none. The
 *  previous value, and the secret stored in the database (used where BIO_SECRET is not or was not set), open what they sealed. */
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { serviceSecret } from '../storage/service-secret.ts';
import { JournalCipher } from './journal-cipher.ts';

export type JournalSecrets = Readonly<{
  /** BIO_SECRET, at least 32 bytes; null: the secret stored in the database seals. */
  secret?: Uint8Array | null;
  /** BIO_SECRET_PREVIOUS: opens entries not yet resealed. */
  previous?: Uint8Array | null;
  /** The reason why sealing is refused at the moment; '' or absent: it is not. */
  refused?: () => string;
}>;

export class JournalSeals {
  readonly #owner: Pool;
  readonly #secrets: JournalSecrets;
  #ciphers: Promise<readonly [JournalCipher, ...JournalCipher[]]> | null = null;

  /** @param owner pool that may read the secret stored in the database */
  constructor(owner: Pool, secrets: JournalSecrets = {}) {
    this.#owner = owner;
    this.#secrets = secrets;
  }

  /** @throws PipelineError unavailable when the entry could not be opened once the secret is corrected */
  async seal(text: string, subjectId: string, entryId: string): Promise<Buffer> {
    const refused = this.#secrets.refused?.() ?? '';
    if (refused !== '') throw new PipelineError('unavailable', `Journal entries are not taken at the moment: ${refused}`);
    const [newest] = await this.#all();
    return newest.seal(text, subjectId, entryId);
  }

  /** @returns null when none of the secrets opens it */
  async open(sealed: Uint8Array, subjectId: string, entryId: string): Promise<string | null> {
    for (const cipher of await this.#all()) {
      try {
        return cipher.open(sealed, subjectId, entryId);
      } catch {
        // sealed with another one
      }
    }
    return null;
  }

  /** Reseals with the newest secret.  @returns null when already sealed with it, or when no secret opens it: then `opened` is false */
  async renew(sealed: Uint8Array, subjectId: string, entryId: string): Promise<Readonly<{ opened: boolean; sealed: Buffer | null }>> {
    const [newest] = await this.#all();
    try {
      newest.open(sealed, subjectId, entryId);
      return { opened: true, sealed: null };
    } catch {
      const text = await this.open(sealed, subjectId, entryId);
      return { opened: text !== null, sealed: text === null ? null : newest.seal(text, subjectId, entryId) };
    }
  }

  /** All ciphers, the sealing one first. */
  #all(): Promise<readonly [JournalCipher, ...JournalCipher[]]> {
    this.#ciphers ??= serviceSecret({ pool: this.#owner }, 'journal').then((own) => {
      const { secret = null, previous = null } = this.#secrets;
      const [first = own, ...others] = [secret, previous, own].filter((value) => value !== null);
      return [new JournalCipher(first), ...others.map((value) => new JournalCipher(value))] as const;
    });
    this.#ciphers.catch(() => (this.#ciphers = null));
    return this.#ciphers;
  }
}
