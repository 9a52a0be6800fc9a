/** A pool that answers for one organization: every statement runs in a transaction that has named it, and row-level security and the views
 *  of schema api show no other's rows, whatever the statement forgot to say. */
import type pg from 'pg';
import type { Database } from './database.ts';

/** What pg has, though its types do not say so. */
type Connected = Readonly<{ connection: Readonly<{ stream: Readonly<{ cork(): void; uncork(): void }> }> }>;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @param api acts as the api role, pipelined: begin, statement and commit cost one round trip. Where the owner must do (openRoles) its
 *  pool is returned as it is.
 *  @returns `query` is one transaction; `connect` gives a client whose `begin` names the organization (outside of a transaction it sees
 *  nothing)
 *  @throws RangeError when the organization is no uuid */
export function organizationPool(api: Database, organizationId: string): pg.Pool {
  const { pool, role } = api;
  if (role === null) return pool;
  if (!uuid.test(organizationId)) throw new RangeError(`organization ${organizationId} is no uuid`);
  const named = `select set_config('bio.organization_id', '${organizationId}', true)`;
  // A prepared statement is planned once: PostgreSQL would plan most of ours again each time, because it takes a plan of one partition for
  // cheaper than one that excludes the others when it runs. They are written for it (test/storage/plans.int.test.ts).
  const planned = `${named}, set_config('plan_cache_mode', 'force_generic_plan', true)`;
  const query = async (text: string | pg.QueryConfig, values?: unknown[]): Promise<pg.QueryResult> => {
    const client = await pool.connect();
    const { stream } = (client as unknown as Connected).connection;
    stream.cork(); // one write to the socket instead of three
    const sent = [
      client.query(`begin; ${typeof text === 'string' || text.name === undefined ? named : planned}`),
      typeof text === 'string' ? client.query(text, values) : client.query(text),
      client.query('commit'), // of a failed transaction: a rollback
    ] as const;
    stream.uncork();
    const [begun, answer, ended] = await Promise.allSettled(sent);
    // A named statement that failed may not have been parsed, which pg does not notice.
    const doubtful = typeof text !== 'string' && answer.status === 'rejected';
    client.release(doubtful || begun.status === 'rejected' || ended.status === 'rejected' || client.getTransactionStatus() !== 'I');
    for (const part of [begun, answer, ended]) if (part.status === 'rejected') throw part.reason as Error;
    return (answer as PromiseFulfilledResult<pg.QueryResult>).value;
  };
  const connect = async (): Promise<pg.PoolClient> => {
    const client = await pool.connect();
    return new Proxy(client, {
      get(target, key): unknown {
        if (key === 'query') {
          return (text: string | pg.QueryConfig, values?: unknown[]) =>
            typeof text !== 'string' ? target.query(text) : target.query(/^begin\b/i.test(text) ? `${text}; ${named}` : text, values);
        }
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return { query, connect } as unknown as pg.Pool;
}
