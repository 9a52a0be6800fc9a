/** If-Match (RFC 9110 section 13.1.1): a change based on an old version is refused if another came first, so that no change is lost
 *  silently. Check in the transaction of the change, on a locked row. */
import { createHash } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import type { RequestContext } from './route.ts';

/** The tag of what can be changed: it differs whenever that does. */
export function etagOf(state: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 22)}"`;
}

/** People must send the tag that they read; a program may omit it and then replaces the present state. `*` matches any state.
 *  @param etag of the present state; null: there is none
 *  @throws PipelineError precondition_failed, precondition_required */
export function checkIfMatch({ caller, header }: Pick<RequestContext, 'caller' | 'header'>, etag: string | null): void {
  const given = header('if-match');
  if (given === '') {
    if (caller.kind !== 'operator' || etag === null) return;
    throw new PipelineError(
      'precondition_required',
      'Send If-Match with the ETag of the record you read, so that no change by others is lost.',
    );
  }
  // A proxy that compresses makes tags weak; they are compared without that mark.
  const known = given.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (etag !== null && (given.trim() === '*' || known.includes(etag))) return;
  throw new PipelineError(
    'precondition_failed',
    'Someone else changed this after you read it. Nothing was saved: read it again and decide.',
  );
}
