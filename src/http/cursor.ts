/** Keyset cursors that cannot be forged: the last key of a page, sealed with a MAC over the caller's organization and the query.
 *  A cursor of another organization, another user or another query is `cursor_invalid`, before any SQL sees it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { PipelineError } from '../errors.ts';

const MAC_BYTES = 12;

export class Cursors {
  readonly #secret: Uint8Array;

  /** @param secret shared by all nodes, at least 32 bytes */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** @param scope what the cursor belongs to: organization, subject and every filter of the query */
  seal(scope: string, key: readonly (string | number | null)[]): string {
    const body = Buffer.from(JSON.stringify(key));
    return Buffer.concat([this.#mac(scope, body), body]).toString('base64url');
  }

  /** @throws PipelineError cursor_invalid */
  open(scope: string, cursor: string): readonly (string | number | null)[] {
    const bytes = Buffer.from(cursor, 'base64url');
    const body = bytes.subarray(MAC_BYTES);
    if (bytes.length <= MAC_BYTES || !timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(scope, body))) {
      throw new PipelineError('cursor_invalid', 'The cursor is malformed or belongs to another query.');
    }
    return JSON.parse(body.toString('utf8')) as (string | number | null)[];
  }

  #mac(scope: string, body: Uint8Array): Buffer {
    return createHmac('sha256', this.#secret).update(scope).update('\n').update(body).digest().subarray(0, MAC_BYTES);
  }
}

/** `Link: <…?cursor=…>; rel="next"`: the same address with another cursor. */
export function nextLink(path: string, query: Readonly<Record<string, unknown>>, cursor: string): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'cursor' && value !== undefined)
      search.set(name, Array.isArray(value) ? value.join(',') : String(value as string | number | boolean));
  }
  search.set('cursor', cursor);
  return `<${path}?${search.toString()}>; rel="next"`;
}
