/** Idempotency-Key: the first answer of a POST is kept for 24 hours and given again to the same caller (in direct mode: for the
 *  same project and person), route and key. */
import { createHash } from 'node:crypto';
import { PipelineError } from '../errors.ts';
import { writeJson } from '../http/json.ts';
import { callerKey } from '../http/request.ts';
import type { Reply } from '../http/route.ts';
import type { Idempotency } from '../http/server.ts';
import type { Db } from '../storage/database/database.ts';
import type { Caller } from '../caller.ts';

const KEPT = '24 hours';
/** A first request that never finished (a crash) blocks its key this long. */
const UNFINISHED = '60 seconds';

/** Of two with one key the slower one is told to come again, and not that its work can never be done: a client that queues what people write
 *  would give it up. */
export const AGAIN = { retryAfterSec: 1 } as const;

type Row = Readonly<{
  body_hash: Buffer;
  status: number | null;
  response_headers: Record<string, string> | null;
  response_body: Buffer | null;
  stale: boolean;
}>;

/** Keeps answers in the table `idempotency`. Only successes are kept: a refused request may be repeated when its cause is gone. */
export function idempotencyStore(db: Db): Idempotency {
  return async ({ caller, route, key, fingerprint }, work) => {
    if (caller.kind === 'anonymous') return await work();
    const scope = claimOf({ caller, route, key });
    const bodyHash = createHash('sha256').update(fingerprint).digest();
    const claimed = await claim(db, scope, bodyHash);
    if (claimed !== null) return claimed;
    try {
      const reply = await work();
      await keepReply(db, { caller, route, key }, reply);
      return reply;
    } catch (error) {
      await db.query('delete from idempotency where organization_id = $1 and operation = $2 and idempotency_key = $3 and status is null', [
        ...scope,
      ]);
      throw error;
    }
  };
}

type Keyed = Readonly<{ caller: Exclude<Caller, { kind: 'anonymous' }>; route: string; key: string }>;

/** The columns that name a key: it is one organization's, route's and caller's. */
function claimOf({ caller, route, key }: Keyed): readonly string[] {
  return [caller.orgId, route, `${identityOf(caller)} ${key}`];
}

/** In direct mode one key acts for many people: the answer for one of them must not be given for another. */
function identityOf(caller: Keyed['caller']): string {
  if (caller.kind !== 'key' || (caller.projectId === null && caller.subjectId === null)) return callerKey(caller);
  return `${callerKey(caller)}/${caller.projectId ?? ''}/${caller.subjectId ?? ''}`;
}

/** Keeps the answer of a claimed key. In the transaction of the work it is kept with it or not at all (answer-once.ts).
 *  @param subjectId whom it is about  @returns false when it has an answer already, or is claimed no longer */
export async function keepReply(db: Db, keyed: Keyed, reply: Reply, subjectId: string | null = null): Promise<boolean> {
  const body = reply.json === undefined ? (reply.text ?? '') : writeJson(reply.json);
  const { rowCount } = await db.query(
    `update idempotency set status = $4, response_headers = $5, response_body = $6, xuser_id = $7
     where organization_id = $1 and operation = $2 and idempotency_key = $3 and status is null`,
    [
      ...claimOf(keyed),
      reply.status,
      JSON.stringify({ ...reply.headers, 'content-type': reply.contentType ?? 'application/json' }),
      Buffer.from(body),
      subjectId,
    ],
  );
  return rowCount === 1;
}

/** Takes the key, or answers what is known of it. @throws PipelineError idempotency_mismatch, busy (still being answered) */
async function claim(db: Db, scope: readonly string[], bodyHash: Buffer): Promise<Reply | null> {
  const { rowCount } = await db.query(
    `insert into idempotency (organization_id, operation, idempotency_key, body_hash) values ($1, $2, $3, $4)
     on conflict (organization_id, operation, idempotency_key) do update set body_hash = excluded.body_hash, status = null, created_at = now()
       where idempotency.created_at < now() - interval '${KEPT}'
          or (idempotency.status is null and idempotency.created_at < now() - interval '${UNFINISHED}')`,
    [...scope, bodyHash],
  );
  if (rowCount === 1) return null;
  const { rows } = await db.query<Row>(
    `select body_hash, status, response_headers, response_body from idempotency
     where organization_id = $1 and operation = $2 and idempotency_key = $3`,
    [...scope],
  );
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
  const { 'content-type': contentType = 'application/json', ...headers } = row.response_headers ?? {};
  return {
    status: row.status,
    headers: { ...headers, 'idempotency-replayed': 'true' },
    text: row.response_body?.toString('utf8') ?? '',
    contentType,
  };
}
