/** The header `xuser-id` of direct mode, which says for whom a key stands.
 *
 *  An external id may be any text, a header may not: HTTP takes spaces from its ends, and uWebSockets.js everything but visible ASCII, so that what was
 *  sent as `Zoë` arrives as `Zo`, who may be somebody else. Written as UTF-8''Zo%C3%AB (as RFC 8187 writes text in headers) an id arrives as it is. */
import { PipelineError } from '../errors.ts';

const ENCODED = "utf-8''";

/** What a header says. `exact`: it cannot have been another id before it was sent. */
export type NamedUser = Readonly<{ externalId: string; exact: boolean }>;

/** @throws PipelineError bad_request */
export function readExternalId(header: string): NamedUser {
  if (header.slice(0, ENCODED.length).toLowerCase() === ENCODED) {
    try {
      return { externalId: decodeURIComponent(header.slice(ENCODED.length)), exact: true };
    } catch (error) {
      throw new PipelineError('bad_request', "The header xuser-id begins with UTF-8'' and goes on as no percent-encoded UTF-8.", {
        cause: error,
      });
    }
  }
  if (!/^[\x20-\x7e]*$/.test(header)) throw notExact();
  return { externalId: header, exact: false };
}

export function notExact(): PipelineError {
  return new PipelineError(
    'bad_request',
    "The header xuser-id may stand for more than one user: write the id as UTF-8'' and then percent-encoded, e.g. UTF-8''Zo%C3%AB.",
  );
}
