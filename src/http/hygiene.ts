/** Header hygiene: refuses headers that uWebSockets.js accepts and we do not. Two different Content-Length headers, Transfer-Encoding other
 *  than `chunked`, or both at once are the known ways to make two servers disagree about where a request ends (RFC 9112 section 6.3), so
 *  they are refused before any work and the connection is closed. */
import { PipelineError } from '../errors.ts';
import { HEADER_BYTES_MAX } from './uws.ts';
import type { UwsRequest } from './uws.ts';

/** Headers that may appear once. A second one is refused, never merged or picked. */
const single = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'origin',
  'project-key',
  'sec-websocket-key',
  'sec-websocket-version',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-proto',
  'x-request-id',
  'xuser-id',
]);

const HEADER_COUNT_MAX = 64;
/** Visible ASCII, space and tab, and obs-text: a CR, LF or NUL inside a value is refused. */
// oxlint-disable-next-line no-control-regex
const badValue = /[\u0000-\u0008\u000a-\u001f\u007f]/;

export type Headers = Map<string, string>;

/** Copies the headers out of uWS's memory. Lists that may repeat are joined by a comma.
 *  @throws PipelineError bad_request, headers_too_large */
export function readHeaders(req: UwsRequest): Headers {
  const headers: Headers = new Map();
  let count = 0;
  let bytes = req.getUrl().length + (req.getQuery()?.length ?? 0);
  let problem = '';
  req.forEach((name, value) => {
    count += 1;
    bytes += name.length + value.length;
    if (badValue.test(value)) problem = `The header ${name} holds a control character.`;
    const earlier = headers.get(name);
    if (earlier === undefined) headers.set(name, value);
    else if (single.has(name)) problem = `The header ${name} was sent twice.`;
    else headers.set(name, `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`);
  });
  if (count > HEADER_COUNT_MAX) throw new PipelineError('headers_too_large', `${count} header fields; at most ${HEADER_COUNT_MAX}.`);
  if (bytes > HEADER_BYTES_MAX)
    throw new PipelineError('headers_too_large', `${bytes} bytes of address and headers; at most ${HEADER_BYTES_MAX}.`);
  if (problem !== '') throw new PipelineError('bad_request', problem);
  return headers;
}

/** Length of the body as the headers declare it: a count, 'chunked', or 0 for none.
 *  @throws PipelineError bad_request for every form that two parsers could read differently */
export function declaredLength(headers: Headers): number | 'chunked' {
  const length = headers.get('content-length');
  const transfer = headers.get('transfer-encoding');
  if (transfer !== undefined) {
    if (length !== undefined) throw new PipelineError('bad_request', 'Content-Length and Transfer-Encoding were both sent.');
    if (transfer.toLowerCase() !== 'chunked') throw new PipelineError('bad_request', 'The only Transfer-Encoding is chunked.');
    return 'chunked';
  }
  if (length === undefined) return 0;
  if (!/^\d{1,15}$/.test(length)) throw new PipelineError('bad_request', 'Content-Length must be decimal digits.');
  return Number(length);
}
