/** Does the work of a POST exactly once per Idempotency-Key, whatever fails in between: the answer for a retry is stored in the transaction
 *  that does the work, so no crash or lost connection leaves the work done and the answer unknown. */
import type { Pool, PoolClient } from 'pg';
import { PipelineError } from '../errors.ts';
import type { Reply, RequestContext } from '../http/route.ts';
import { transaction } from '../storage/database/transaction.ts';
import { AGAIN, keepReply } from './idempotency.ts';

export type AnsweredOnce = Readonly<{
  /** Id of the route that answers. */
  operationId: string;
  /** The person whom the answer is about; it is erased with them. Absent: the answer names the person itself, or is about nobody. */
  subjectId?: string;
}>;

/** @param work everything that belongs together, on the client that it is given
 *  @throws PipelineError busy when another request with this key was faster; nothing of this one is kept then */
export async function answerOnce<const Answer extends Reply>(
  pool: Pool,
  request: Pick<RequestContext, 'caller' | 'header'>,
  { operationId, subjectId }: AnsweredOnce,
  work: (client: PoolClient) => Promise<Answer>,
): Promise<Answer> {
  const { caller, header } = request;
  const key = header('idempotency-key');
  return await transaction(pool, async (client) => {
    const reply = await work(client);
    if (key === '' || caller.kind === 'anonymous') return reply;
    if (!(await keepReply(client, { caller, route: operationId, key }, reply, subjectId))) {
      throw new PipelineError('busy', 'Another request with this Idempotency-Key was faster; send it again for its answer.', AGAIN);
    }
    return reply;
  });
}
