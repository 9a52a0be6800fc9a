/** `biosignal cluster`: the nodes that share a database, and who has which people. */
import { HUNG_MS } from '../cluster/takeover.ts';
import type { Database, Db } from '../storage/database/database.ts';
import { transaction } from '../storage/database/transaction.ts';
import { PipelineError } from '../errors.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { cutIntoPartitions } from './partitions.ts';
import { formatTable } from './table.ts';

/** A node that has not renewed for this long has gone, or is about to be followed, s. */
const SILENT_SEC = HUNG_MS / 1000;
const PARTITIONS_MAX = 1024;

type NodeRow = Readonly<{
  id: string;
  node: string;
  version: string;
  address: string;
  partitions: number;
  state: string;
  renewed_sec: number;
}>;

export const cluster: Command = {
  name: 'cluster',
  summary: 'Show the nodes that share the database, drain one, or cut people into partitions.',
  positionals: 'status | drain NODE | undrain NODE | partitions COUNT',
  verbs: true,
  description: `status lists the nodes and how many partitions of people each has; exit code 1 when a partition has no living owner. A node is refused
when the database gives it no new connection, as after a change of the password: it takes no partition. drain makes a node give
its partitions to the others, within seconds and without a loss; it goes on forwarding packets and serving viewers until it is stopped.
undrain takes that back. NODE is the name or the beginning of the id that status shows. partitions cuts the people into another number of
partitions, while no node runs: three for each node that you will ever have (24 is a good number); one is enough for a service alone. Where
that is their number already, it does nothing, so a job may call it before each start.`,
  options: {},
  examples: ['biosignal cluster status', 'biosignal cluster drain node-2:8080', 'biosignal cluster partitions 24'],
  run: ({ console, positionals, json }) =>
    withDatabase(console, async (database) => {
      const [verb, what, ...rest] = positionals;
      if (rest.length > 0) throw new UsageError(`unexpected '${rest[0]}'`);
      if (verb === 'status' && what === undefined) return await status(database, console, json);
      if ((verb === 'drain' || verb === 'undrain') && what !== undefined) return await drain(database, what, verb === 'drain', console);
      if (verb === 'partitions' && what !== undefined) return await partitions(database, Number(what), console);
      throw new UsageError('say status, drain NODE, undrain NODE or partitions COUNT');
    }),
};

async function status(database: Database, console: Console, json: boolean): Promise<number> {
  const nodes = await nodesOf(database.pool);
  const { rows } = await database.pool.query<{ partition: number; owner: string | null }>(
    `select c.partition, case when c.renewed_at > clock_timestamp() - make_interval(secs => $1) then c.owner end as owner
     from packet_log_checkpoint c order by 1`,
    [SILENT_SEC],
  );
  const free = rows.filter(({ owner }) => owner === null).map(({ partition }) => partition);
  if (json) console.out(JSON.stringify({ partitions: rows.length, without_owner: free, nodes }));
  else {
    for (const line of formatTable(nodes.map(({ id, ...row }) => ({ id: id.slice(0, 8), ...row })))) console.out(line);
    if (nodes.length === 0) console.out(rows.length === free.length ? 'no node runs' : 'a service alone owns the whole packet log');
    console.out(`${rows.length} partitions${free.length === 0 ? ', all with an owner' : `; without an owner: ${free.join(', ')}`}`);
  }
  return free.length === 0 ? EXIT_OK : EXIT_FAILED;
}

async function nodesOf(db: Db): Promise<readonly NodeRow[]> {
  const { rows } = await db.query<NodeRow>(
    `select n.id, n.name as node, n.version, n.address,
       (select count(*)::int from packet_log_checkpoint c where c.owner = n.id) as partitions,
       case when n.renewed_at < clock_timestamp() - make_interval(secs => $1) then 'gone' when n.draining then 'draining'
         when n.refused then 'refused' else 'running' end as state,
       extract(epoch from clock_timestamp() - n.renewed_at)::int as renewed_sec
     from cluster_node n order by n.name, n.started_at`,
    [SILENT_SEC],
  );
  return rows;
}

async function drain({ pool }: Database, what: string, draining: boolean, console: Console): Promise<number> {
  const name = await transaction(pool, async (client) => {
    // One at a time: two at the same moment would each see the other node as the one that stays.
    await client.query('select from cluster_setting for update');
    const nodes = (await nodesOf(client)).filter(({ state }) => state !== 'gone');
    const found = nodes.filter(({ id, node }) => node === what || (what.length >= 4 && id.startsWith(what)));
    if (found.length === 0) throw new PipelineError('not_found', `no node '${what}' runs: see biosignal cluster status`);
    if (found.length > 1) throw new UsageError(`'${what}' names ${found.length} nodes: use the id of one`);
    const [{ id, node }] = found as [NodeRow];
    if (draining && !nodes.some((other) => other.id !== id && other.state === 'running'))
      throw new PipelineError('conflict', 'no other node could take its partitions: there is none, or each is draining or refused');
    await client.query('update cluster_node set draining = $2 where id = $1', [id, draining]);
    return node;
  });
  console.out(draining ? `${name} gives its partitions to the others` : `${name} takes partitions again`);
  return EXIT_OK;
}

async function partitions(database: Database, count: number, console: Console): Promise<number> {
  if (!Number.isInteger(count) || count < 1 || count > PARTITIONS_MAX) throw new UsageError(`a number from 1 to ${PARTITIONS_MAX}`);
  const { rows } = await database.pool.query<{ partitions: number }>('select partitions from cluster_setting');
  const isDone = rows[0]?.partitions === count;
  if (!isDone) await cutIntoPartitions(database, count);
  console.out(`people are ${isDone ? 'already ' : ''}cut into ${count} partition${count === 1 ? '' : 's'}`);
  return EXIT_OK;
}
