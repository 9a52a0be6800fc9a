/** Reads from every request what is needed before its route is known: its id, its credential, its address. */
import { randomBytes } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import type { Headers } from './hygiene.ts';
import type { PeerRules } from './peer.ts';
import type { Caller } from '../caller.ts';
import type { UwsResponse } from './uws.ts';

/** The secret after `Bearer `; null when there is no Authorization header.
 *  @throws PipelineError credential_invalid for any other scheme */
export function bearerOf(headers: Headers): string | null {
  const header = headers.get('authorization');
  if (header === undefined) return null;
  const match = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(header);
  if (match?.[1] === undefined) throw new PipelineError('credential_invalid', 'Authorization must be: Bearer <credential>.');
  return match[1];
}

/** Who a rate limit counts. */
export function callerKey(caller: Caller): string {
  switch (caller.kind) {
    case 'anonymous':
      return 'anonymous';
    case 'key':
      return `key:${caller.keyId}`;
    case 'user':
      return `user:${caller.subjectId}`;
    case 'operator':
      return `operator:${caller.operatorId}`;
    default: {
      const never: never = caller;
      throw new Error(`caller ${String(never)}`);
    }
  }
}

/** The client's own id if it is plain, else a new one; it appears in logs and problems. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get('x-request-id') ?? '';
  return /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : newRequestId();
}

let requestCount = 0;
const requestPrefix = randomBytes(6).toString('base64url');

export function newRequestId(): string {
  requestCount += 1;
  return `${requestPrefix}-${requestCount.toString(36).padStart(4, '0')}`;
}

/** The address at the other end of the connection. */
export function addressOf(res: Pick<UwsResponse, 'getRemoteAddressAsText'>, { onlyPeer = null }: PeerRules): string {
  if (onlyPeer !== null) return onlyPeer;
  return Buffer.from(res.getRemoteAddressAsText()).toString('latin1'); // a TextDecoder takes 1 us more, per request
}
