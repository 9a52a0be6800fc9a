/** The answer to a value of a request that has the right type and is wrong all the same: validation_failed, which says where it stands. */
import { PipelineError } from '../errors.ts';

/** @param pointer JSON pointer into the request, such as /query/tz  @param detail a sentence about the value, without its subject */
export function wrong(pointer: string, detail: string): PipelineError {
  return new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code: 'value', detail }] });
}
