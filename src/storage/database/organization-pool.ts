/** A pool that answers for one organization: every statement runs in a transaction that has named it, and row-level security and the views
 *  of schema api show no other's rows, whatever the statement forgot to say. */
import pg from 'pg';
import type { Database } from './database.ts';

/** What pg has, though its types do not say so. */
type Connection = Readonly<{
  stream: Readonly<{ cork(): void; uncork(): void }>;
  /** Texts by name: those that the server has, and those on their way to it. */
  parsedStatements: Readonly<Record<string, string>>;
  submittedNamedStatements: Readonly<Record<string, string>>;
  bind(message: Readonly<{ statement: string; values: readonly string[] }>): void;
  execute(message: Readonly<{ portal: string; rows: number }>): void;
}>;
type Connected = Readonly<{ connection: Connection }>;
type Done = (error: Error | null, result: pg.QueryResult) => void;
type Sent = pg.Submittable & {
  prepare(connection: Connection): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
};
const Query = pg.Query as unknown as new (config: pg.QueryConfig & { queryMode: 'extended' }, values: undefined, done: Done) => Sent;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Names the organization of a transaction, and how statements are planned; gives no row. */
const naming = {
  name: 'bio_organization',
  text: `select where set_config('bio.organization_id', $1, true) is null or set_config('plan_cache_mode', $2, true) is null`,
};

/** A statement behind the one that names its organization. Both are sent up to one Sync, which makes them one transaction: it is committed
 *  there, or rolled back, without `begin` and `commit`. */
class StatementOf extends Query {
  readonly #values: readonly string[];
  #isNamed = false;

  constructor(config: pg.QueryConfig, values: readonly string[], done: Done) {
    super({ ...config, queryMode: 'extended' }, undefined, done); // also without a name and values, or nothing would be named
    this.#values = values;
  }

  override prepare(connection: Connection): void {
    connection.bind({ statement: naming.name, values: this.#values });
    connection.execute({ portal: '', rows: 0 });
    super.prepare(connection);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#isNamed) super.handleCommandComplete(message, connection);
    this.#isNamed = true;
  }
}

/** @param api acts as the api role, pipelined: a statement and what names its organization cost one round trip. Where the owner must do
 *  (openRoles) its pool is returned as it is.
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
  const planned = [organizationId, 'force_generic_plan'];
  const unplanned = [organizationId, 'auto'];
  const queryWithValues = async (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    const client = await pool.connect();
    const { connection } = client as unknown as Connected;
    connection.stream.cork(); // one write to the socket
    const begun = isKnown(connection) ? null : client.query({ ...naming, values: unplanned });
    const answered = new Promise<pg.QueryResult>((resolve, reject) => {
      const values = config.name === undefined ? unplanned : planned;
      client.query(new StatementOf(config, values, (error, result) => (error === null ? resolve(result) : reject(error))));
    });
    connection.stream.uncork();
    const [answer, first] = await Promise.allSettled([answered, begun]);
    if (answer.status === 'fulfilled' && first.status === 'fulfilled') {
      client.release();
      return answer.value;
    }
    // A named statement that failed may not have been parsed, which pg does not notice.
    client.release(config.name !== undefined || first.status === 'rejected' || !(await isReady(client)));
    const { reason } = [answer, first].find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    if (reason instanceof Error) Error.captureStackTrace(reason); // who asked, instead of the socket
    throw reason;
  };
  /** Without values, a text may be several statements. */
  const queryText = async (text: string): Promise<pg.QueryResult> => {
    const client = await pool.connect();
    const { stream } = (client as unknown as Connected).connection;
    stream.cork();
    const sent = [
      client.query(`begin; ${named}`),
      client.query(text),
      client.query('commit'), // of a failed transaction: a rollback
    ] as const;
    stream.uncork();
    const [begun, answer, ended] = await Promise.allSettled(sent);
    client.release(begun.status === 'rejected' || ended.status === 'rejected' || client.getTransactionStatus() !== 'I');
    for (const part of [begun, answer, ended]) if (part.status === 'rejected') throw part.reason as Error;
    return (answer as PromiseFulfilledResult<pg.QueryResult>).value;
  };
  const query = (text: string | pg.QueryConfig, values: unknown[] = []): Promise<pg.QueryResult> => {
    if (typeof text !== 'string') return queryWithValues(text);
    return values.length === 0 ? queryText(text) : queryWithValues({ text, values });
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

function isKnown({ parsedStatements: parsed, submittedNamedStatements: submitted }: Connection): boolean {
  return parsed[naming.name] !== undefined || submitted[naming.name] !== undefined;
}

/** Waits until the server has ended the transaction of a statement that failed.  @returns has it? */
async function isReady(client: pg.PoolClient): Promise<boolean> {
  return client.query('').then(
    () => client.getTransactionStatus() === 'I',
    () => false,
  );
}
