/** Failures as they travel from the node that answers to the node that asked. */
import { errorTable, knownError, PipelineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

/** What a node answered in place of what it was asked for: so it is there. */
export class ToldFailure extends PipelineError {}

/** @param onFault called with a fault of this node, which is one of neither the question nor the database */
export function encodeFailure(error: unknown, onFault: (cause: unknown) => void): Buffer {
  const known = knownError(error);
  const isFault = known.code === 'internal';
  if (isFault) onFault(error);
  const told = isFault ? new PipelineError('internal', 'the other node failed; its log says why') : known;
  return Buffer.from(JSON.stringify({ code: told.code, message: told.message, retryAfterSec: told.retryAfterSec }));
}

/** Whatever the bytes are: a question ends with a failure that is damaged, too. */
export function decodeFailure(bytes: Uint8Array): PipelineError {
  const { code, message, retryAfterSec } = told(bytes) ?? {};
  if (typeof code !== 'string' || typeof message !== 'string') return noAnswer('it sent what is no message');
  const known = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal';
  return new ToldFailure(known, message, typeof retryAfterSec === 'number' ? { retryAfterSec } : {});
}

function told(bytes: Uint8Array): { code?: unknown; message?: unknown; retryAfterSec?: unknown } | null {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as { code?: unknown } | null;
  } catch {
    return null;
  }
}

/** Why a question has no answer. */
export const noAnswer = (why: string): PipelineError => new PipelineError('unavailable', `another node: ${why}`, { retryAfterSec: 1 });
