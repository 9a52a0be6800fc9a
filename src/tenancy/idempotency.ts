/** Idempotency-Key: the first answer of a POST is kept for 24 hours and repeated for the same caller (in direct mode: for the same project
 *  and person), route and key. */
import { createHash } from 'node:crypto';
import type { Expression, ExpressionBuilder, Selectable, SqlBool } from 'kysely';
import { PipelineError } from '../errors.ts';
import { writeJson } from '../http/json.ts';
import { callerKey } from '../http/request.ts';
import type { Reply } from '../http/route.ts';
import type { Idempotency } from '../http/server.ts';
import { build, builtOnce, inSec, now } from '../storage/database/build.ts';
import type { Values } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';
import type { Caller } from '../caller.ts';

const KEPT_SEC = 24 * 3600;
/** How long a first request that never finished (a crash) blocks its key. */
const UNFINISHED_SEC = 60;

/** Of two requests with one key, the slower is told to retry, not that it failed for good: a client that queues what people write would
 *  drop it. */
export const AGAIN = { retryAfterSec: 1 } as const;

/** Keeps answers in the table `idempotency`. Only successes are kept: a refused request may be sent again once its cause is gone. */
export function idempotencyStore(db: Db): Idempotency {
  return async ({ caller, route, key, fingerprint }, work) => {
    if (caller.kind === 'anonymous') return await work();
    const claimed = claimOf({ caller, route, key });
    const bodyHash = createHash('sha256').update(fingerprint).digest();
    const known = await claim(db, claimed, bodyHash);
    if (known !== null) return known;
    try {
      const reply = await work();
      await keepReply(db, { caller, route, key }, reply);
      return reply;
    } catch (error) {
      await deleteClaim(db, claimed);
      throw error;
    }
  };
}

type Keyed = Readonly<{ caller: Exclude<Caller, { kind: 'anonymous' }>; route: string; key: string }>;

/** The columns that identify a key: organization, route and caller. */
type Claim = Pick<Selectable<Tables['idempotency']>, 'organization_id' | 'operation' | 'idempotency_key'>;

function claimOf({ caller, route, key }: Keyed): Claim {
  return { organization_id: caller.orgId, operation: route, idempotency_key: `${identityOf(caller)} ${key}` };
}

const isClaim =
  (claim: Values<Claim>) =>
  ({ and }: ExpressionBuilder<Tables, 'idempotency'>): Expression<SqlBool> =>
    and({ organization_id: claim.organization_id, operation: claim.operation, idempotency_key: claim.idempotency_key });

const insertClaim = builtOnce((claim: Values<Claim & { body_hash: Buffer }>) =>
  build
    .insertInto('idempotency')
    .values({
      organization_id: claim.organization_id,
      operation: claim.operation,
      idempotency_key: claim.idempotency_key,
      body_hash: claim.body_hash,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'operation', 'idempotency_key'])
        .doUpdateSet(({ ref }) => ({ body_hash: ref('excluded.body_hash'), status: null, created_at: now }))
        .where(({ or, and, eb }) =>
          or([
            eb('idempotency.created_at', '<', inSec(-KEPT_SEC)),
            and([eb('idempotency.status', 'is', null), eb('idempotency.created_at', '<', inSec(-UNFINISHED_SEC))]),
          ]),
        ),
    ),
);
const findClaim = builtOnce((claim: Values<Claim>) =>
  build.selectFrom('idempotency').select(['body_hash', 'status', 'response_headers', 'response_body']).where(isClaim(claim)),
);
const deleteClaim = builtOnce((claim: Values<Claim>) => build.deleteFrom('idempotency').where(isClaim(claim)).where('status', 'is', null));

type Answered = Claim & Readonly<{ status: number; headers: string; body: Buffer; xuser_id: string | null }>;
const answerClaim = builtOnce((claim: Values<Answered>) =>
  build
    .updateTable('idempotency')
    .set({ status: claim.status, response_headers: claim.headers, response_body: claim.body, xuser_id: claim.xuser_id })
    .where(isClaim(claim))
    .where('status', 'is', null),
);

/** In direct mode one key acts for many people: the answer for one of them must not be given for another. */
function identityOf(caller: Keyed['caller']): string {
  if (caller.kind !== 'key' || (caller.projectId === null && caller.subjectId === null)) return callerKey(caller);
  return `${callerKey(caller)}/${caller.projectId ?? ''}/${caller.subjectId ?? ''}`;
}

/** Stores the answer of a claimed key. Within the transaction of the work, both are stored or neither (answer-once.ts).
 *  @param subjectId the person it is about  @returns false when the key already has an answer, or is no longer claimed */
export async function keepReply(db: Db, keyed: Keyed, reply: Reply, subjectId: string | null = null): Promise<boolean> {
  const body = reply.json === undefined ? (reply.text ?? '') : writeJson(reply.json);
  const { rowCount } = await answerClaim(db, {
    ...claimOf(keyed),
    status: reply.status,
    headers: JSON.stringify({ ...reply.headers, 'content-type': reply.contentType ?? 'application/json' }),
    body: Buffer.from(body),
    xuser_id: subjectId,
  });
  return rowCount === 1;
}

/** Claims the key, or returns its stored answer.  @throws PipelineError idempotency_mismatch, busy (still being answered) */
async function claim(db: Db, claimed: Claim, bodyHash: Buffer): Promise<Reply | null> {
  if ((await insertClaim(db, { ...claimed, body_hash: bodyHash })).rowCount === 1) return null;
  const { rows } = await findClaim(db, claimed);
  const row = rows[0];
  if (row !== undefined && !row.body_hash.equals(bodyHash)) {
    throw new PipelineError('idempotency_mismatch', 'The Idempotency-Key was used with another request.');
  }
  if (row === undefined || row.status === null)
    throw new PipelineError(
      'busy',
      'The first request with this Idempotency-Key is still being answered; send it again for its answer.',
      AGAIN,
    );
  const { 'content-type': contentType = 'application/json', ...headers } = (row.response_headers ?? {}) as Record<string, string>;
  return {
    status: row.status,
    headers: { ...headers, 'idempotency-replayed': 'true' },
    text: row.response_body?.toString('utf8') ?? '',
    contentType,
  };
}
