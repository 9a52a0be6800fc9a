/** Failures as they travel from the node that answers to the node that asked. */
import { errorTable, knownError, PipelineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

/** @param onFault called with a fault of this node, which is one of neither the question nor the database */
export function encodeFailure(error: unknown, onFault: (cause: unknown) => void): Buffer {
  const known = knownError(error);
  const isFault = known.code === 'internal';
  if (isFault) onFault(error);
  const told = isFault ? new PipelineError('internal', 'the other node failed; its log says why') : known;
  return Buffer.from(JSON.stringify({ code: told.code, message: told.message, retryAfterSec: told.retryAfterSec }));
}

export function decodeFailure(bytes: Uint8Array): PipelineError {
  const { code, message, retryAfterSec } = JSON.parse(Buffer.from(bytes).toString()) as {
    code: string;
    message: string;
    retryAfterSec: number | null;
  };
  const known = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal';
  return new PipelineError(known, message, retryAfterSec === null ? {} : { retryAfterSec });
}

/** Why a question has no answer. */
export const noAnswer = (why: string): PipelineError => new PipelineError('unavailable', `another node: ${why}`, { retryAfterSec: 1 });
