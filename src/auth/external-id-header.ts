/** The header `xuser-id` of direct mode, which names the person that a key acts for.
 *
 *  An external id may be any text, a header may not: HTTP strips spaces at both ends, and uWebSockets.js everything but visible ASCII, so
 *  `Zoë` arrives as `Zo`, who may be another person. Written as UTF-8''Zo%C3%AB (RFC 8187's form for text in headers) an id arrives
 *  unchanged. */
import { PipelineError } from '../errors.ts';

const ENCODED = "utf-8''";

/** The id in a header. `exact`: transport cannot have changed it. */
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
