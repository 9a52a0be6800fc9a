/** Failures as they travel from the node that answers to the node that asked. */
import { errorTable, PipelineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

export function encodeFailure(error: unknown): Buffer {
  const told = error instanceof PipelineError ? error : new PipelineError('internal', 'the other node failed; its log says why');
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
