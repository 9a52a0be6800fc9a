/** Three nodes of one database: what happens to one of them, to their messages, to the database, or while partitions move. Devices and a
 *  viewer come through a balancer. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../src/cli/command.ts';
import type { Command } from '../src/cli/command.ts';
import { cluster } from '../src/cli/cluster.ts';
import { reprocess } from '../src/cli/reprocess.ts';
import type { Random } from '../src/cli/simulator/random.ts';
import type { PostgresPair } from './lib/postgres-pair.ts';
import { nextRelease, releaseOf } from './upgrade.ts';
import { eraseWhileSending } from './lib/erased-person.ts';
import type { Node, Nodes } from './lib/nodes.ts';
import type { World } from './lib/world.ts';
import type { Scenario } from './scenarios.ts';

const calm = (random: Random): Promise<void> => sleep(200 + 900 * random.next());
const anyOf = ({ all }: Nodes, random: Random): Node => all[Math.floor(random.next() * all.length)]!;
const RECOVER_MS_MAX = 120_000;
/** A node that hangs is followed after 10 s. */
const thisRelease = join(import.meta.dirname, '..');
const PAUSE_MS = 15_000;
const NATS_AWAY_MS = 30_000;
const SLOW_MS = 20_000;
/** All nodes are asked all the time for so long. */
const BUSY_MS = 10_000;

/** Until every device has had a packet acknowledged that it made after `sinceMs`. */
async function untilEach(world: World, sinceMs: number): Promise<void> {
  for (; !world.fleet.hasEach(sinceMs); await sleep(20))
    if (performance.now() - sinceMs > RECOVER_MS_MAX) throw new Error(`devices wait:\n${world.nodes!.log()}`);
}

/** A round's time is the longest that a packet waited for its acknowledgement. */
const fault = (
  name: string,
  about: string,
  strike: (world: World, nodes: Nodes, random: Random) => Promise<void>,
  { world = {}, ...more }: Pick<Scenario, 'world' | 'rounds'> = {},
): Scenario => ({
  name: `cluster-${name}`,
  about: `three nodes: ${about}`,
  ...more,
  world: { cluster: true, deviceCount: 12, ...world },
  round: async (world, random) => {
    const nodes = world.nodes!;
    world.watch();
    await calm(random);
    world.fleet.takeLongestWaitMs();
    await strike(world, nodes, random);
    await nodes.untilShared();
    await untilEach(world, performance.now());
    return world.fleet.takeLongestWaitMs();
  },
  after: async (world) => {
    const { complaints, frameCount } = world.watch();
    return frameCount === 0 ? ['the viewer was sent nothing'] : complaints;
  },
});

/** A command as an operator types it. @throws Error when it fails */
async function command(world: World, what: Command, ...args: string[]): Promise<void> {
  const err: string[] = [];
  const code = await runCommand(what, args, {
    out: () => undefined,
    err: (line) => void err.push(line),
    progress: null,
    env: { DATABASE_URL: world.postgres.url },
    cwd: world.workDir,
    signal: new AbortController().signal,
  });
  if (code !== 0) throw new Error(`biosignal ${what.name} ${args.join(' ')}: ${err.join(' ')}`);
}

/** The nodes one after the other are stopped in order and started with something changed, as in a rolling upgrade. */
async function startAnew(nodes: Nodes, change: Parameters<Node['service']['change']>[0], which = nodes.all): Promise<void> {
  for (const node of which) {
    if (nodes.isAwake(node) && (await nodes.rest(node)) !== 0)
      throw new Error(`SIGTERM of ${node.name}:\n${node.service.log.slice(-2000)}`);
    node.service.change(change);
    nodes.wake(node);
    await nodes.untilShared();
  }
}

let releases = 0;

/** The next release comes to one node while the others run this one, which then take partitions of the newer schema, too. */
async function upgradeNodes(world: World, nodes: Nodes, random: Random): Promise<void> {
  const root = nextRelease(world.workDir, ++releases);
  const [first, second, third] = nodes.all.toSorted(() => random.next() - 0.5) as [Node, Node, Node];
  await startAnew(nodes, { root }, [first]);
  await nodes.lose(second); // for good: this release does not start again on the newer schema
  await nodes.untilShared();
  if (!(await nodes.owners()).includes(third.name)) throw new Error('the node of the former release has no partitions');
  await startAnew(nodes, { root }, [second, third]);
}

/** All nodes run a former release, and this one comes to one after the other, and goes again. Its schema must be this one's. */
async function fromFormer(world: World, nodes: Nodes): Promise<void> {
  const commit = process.env['FAULTS_FORMER'] ?? 'HEAD';
  await startAnew(nodes, { root: (former ??= releaseOf(world.workDir, commit)) });
  await untilEach(world, performance.now());
  await startAnew(nodes, { root: thisRelease });
}
let former: string | null = null;

/** The password of the database changes while nodes run, and one of them loses its connections before it is told: an operator who sees it
 *  ends that one first. */
async function changePassword(world: World, nodes: Nodes, random: Random): Promise<void> {
  const password = `p${Math.floor(1e9 * random.next())}`;
  const isFirst = (await world.sql(`select from pg_roles where rolname = 'rotated'`)).length === 0;
  await world.sql(`${isFirst ? 'create' : 'alter'} role rotated with login superuser password '${password}'`);
  await untilEach(world, performance.now());
  const [cut, ...others] = nodes.all.toSorted(() => random.next() - 0.5) as [Node, ...Node[]];
  if (!isFirst) {
    cut.database.mode = 'pass'; // resets what is open: its new connections are refused
    await nodes.lose(cut);
  }
  for (const node of [cut, ...others]) {
    const url = new URL(world.postgres.url);
    Object.assign(url, { username: 'rotated', password, port: String(node.database.port) });
    // One that may open no connection any more and loses what it has open ends by itself.
    if (nodes.isAwake(node)) await nodes.rest(node);
    node.service.change({ env: { DATABASE_URL: url.href } });
    nodes.wake(node);
    await nodes.untilServed(node);
  }
  await nodes.untilShared();
}

/** Requests at all nodes at once, so that every pool is full. */
async function askEverything(world: World, nodes: Nodes): Promise<void> {
  const headers = { authorization: `Bearer ${world.credential}` };
  const untilMs = performance.now() + BUSY_MS;
  const paths = ['/api/v1/devices?limit=1000', '/api/v1/fleet/counts', '/api/v1/signal-quality?hours=24', '/api/v1/streams?subject_id=d0'];
  let used = 0;
  const ask = async ({ service }: Node, i: number): Promise<void> => {
    for (let n = i; performance.now() < untilMs; n++) {
      const answer = await fetch(`${service.url}${paths[n % paths.length]!}`, { headers }).catch(() => null);
      await answer?.arrayBuffer();
      if (answer !== null && answer.status >= 500) throw new Error(`${paths[n % paths.length]!} was answered ${answer.status}`);
    }
  };
  const count = async (): Promise<void> => {
    for (; performance.now() < untilMs; await sleep(500)) {
      const rows = await world.sql<{ n: number }>(`select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`);
      used = Math.max(used, rows[0]!.n);
    }
  };
  await Promise.all([count(), ...nodes.all.flatMap((node) => Array.from({ length: 40 }, (_, i) => ask(node, i)))]);
  const refused = nodes.all.filter(({ service }) => /too many clients|53300/.test(service.log));
  if (refused.length > 0) throw new Error(`${used} connections were in use, and ${refused.length} nodes were refused more`);
  process.stderr.write(`cluster-connections: at most ${used} of 100 in use\n`);
}

/** A node gives its partitions away and has them back. */
async function moveAway(world: World, { name }: Node): Promise<void> {
  await command(world, cluster, 'drain', name);
  for (const deadline = performance.now() + RECOVER_MS_MAX; (await world.nodes!.owners()).includes(name); await sleep(50))
    if (performance.now() > deadline) throw new Error(`${name} keeps partitions:\n${world.nodes!.log()}`);
  await command(world, cluster, 'undrain', name);
}

/** Two of three at a time may be away, in every way. */
async function churn(_: World, nodes: Nodes, random: Random): Promise<void> {
  for (const untilMs = performance.now() + SLOW_MS; performance.now() < untilMs; await sleep(1500 * random.next())) {
    const { service } = anyOf(nodes, random);
    const what = random.next();
    if (what < 0.35) await service.kill();
    else if (what < 0.7) void service.terminate();
    else {
      service.pause(true);
      await sleep(3000 * random.next());
      service.pause(false);
    }
  }
}

export const clusterScenarios: readonly Scenario[] = [
  fault('node-kill', 'kill -9 of one, which is started again', async (_, nodes, random) => {
    await anyOf(nodes, random).service.kill();
  }),
  fault('node-pause', 'SIGSTOP of one for 15 s: it wakes up as a former owner', async (_, nodes, random) => {
    const { service } = anyOf(nodes, random);
    service.pause(true);
    await sleep(PAUSE_MS);
    service.pause(false);
  }),
  fault('node-database', 'one is cut off from the database for 15 s, connections refused or swallowed', async (_, nodes, random) => {
    const { database } = anyOf(nodes, random);
    database.mode = random.next() < 0.5 ? 'refuse' : 'hole';
    await sleep(PAUSE_MS);
    database.mode = 'pass';
  }),
  fault('node-messages', 'one is cut off from the message server for 10 s, connections refused or swallowed', async (_, nodes, random) => {
    const { messages } = anyOf(nodes, random);
    messages.mode = random.next() < 0.5 ? 'refuse' : 'hole';
    await sleep(10_000);
    messages.mode = 'pass';
  }),
  fault('messages-kill', 'the message server is killed, and away for 30 s', async (_, { nats }) => {
    await nats.kill();
    await sleep(NATS_AWAY_MS);
    await nats.start();
  }),
  fault('messages-hole', 'the message server says nothing for 10 s', async (_, { all }) => {
    for (const { messages } of all) messages.mode = 'hole';
    await sleep(10_000);
    for (const { messages } of all) messages.mode = 'pass';
  }),
  fault('postgres-kill', 'kill -9 of every PostgreSQL process', async (world) => {
    await world.postgres.kill();
    await world.postgres.restart();
  }),
  fault('all-kill', 'kill -9 of everything at once', async (world, nodes) => {
    await Promise.all([world.postgres.kill(), nodes.nats.kill(), ...nodes.all.map(({ service }) => service.kill())]);
    await Promise.all([world.postgres.restart(), nodes.nats.start()]);
  }),
  fault('join-leave', 'one leaves in order, and joins again 5 s later', async (_, nodes, random) => {
    const node = anyOf(nodes, random);
    if ((await nodes.rest(node)) !== 0) throw new Error(`SIGTERM of ${node.name}:\n${node.service.log.slice(-2000)}`);
    await nodes.untilShared();
    await sleep(5000);
    nodes.wake(node);
  }),
  fault('rolling', 'each in turn is drained, stopped and started', async (world, nodes) => {
    for (const node of nodes.all) {
      await moveAway(world, node);
      if ((await nodes.rest(node)) !== 0) throw new Error(`SIGTERM of ${node.name}:\n${node.service.log.slice(-2000)}`);
      nodes.wake(node);
      await nodes.untilShared();
    }
  }),
  fault('late', 'packets that devices held back for 8 s arrive while partitions move', async (world, nodes) => {
    const goOn = world.fleet.silence();
    await sleep(8000);
    const moved = moveAway(world, await nodes.largest());
    await sleep(100);
    goOn();
    await moved;
  }),
  fault('reprocess', 'values are recomputed while partitions move', async (world, nodes) => {
    await sleep(5000);
    await Promise.all([command(world, reprocess, '--device', 'd1'), moveAway(world, await nodes.largest())]);
  }),
  fault('erase', 'a person is erased over any node while their device sends and partitions move', async (world, nodes, random) => {
    const moved = moveAway(world, await nodes.largest());
    await eraseWhileSending(world, `erased-${Math.floor(1e9 * random.next())}`);
    await moved;
  }),
  fault(
    'messages-slow',
    'messages take a second longer, and connections of them are cut all the time, for 20 s',
    async (_, { all }, random) => {
      for (const { messages } of all) messages.delayMs = 500;
      for (const untilMs = performance.now() + SLOW_MS; performance.now() < untilMs; await sleep(1000))
        for (const { messages } of all) if (random.next() < 0.3) messages.mode = 'pass'; // resets what is open
      for (const { messages } of all) messages.delayMs = 0;
    },
  ),
  fault('node-database-slow', 'the database of one takes 300 ms longer to answer, for 20 s', async (_, nodes, random) => {
    const { database } = anyOf(nodes, random);
    database.delayMs = 150;
    await sleep(SLOW_MS);
    database.delayMs = 0;
  }),
  fault('churn', 'for 20 s nodes are killed, suspended, stopped and started, whatever state they are in', churn),
  fault('all-drained', 'all are drained for 5 s, and people cannot be cut anew while they run', async (world, nodes) => {
    await world.sql('update cluster_node set draining = true');
    await sleep(5000);
    const why = await command(world, cluster, 'partitions', '12').then(() => 'it was done', String);
    if (!why.includes('a service runs on this database')) throw new Error(`cluster partitions 12 with nodes that run: ${why}`);
    await untilEach(world, performance.now());
    await world.sql('update cluster_node set draining = false');
    await nodes.untilShared();
  }),
  fault(
    'promotion',
    'the primary is lost for good, its synchronous standby is promoted, and gets a standby',
    async (world, nodes) => {
      const pair = world.postgres as PostgresPair;
      await pair.promote();
      await nodes.untilShared();
      await untilEach(world, performance.now());
      await pair.renewStandby();
    },
    { world: { standby: true } },
  ),
  fault('upgrade', 'the next release comes to one after the other, and one of the former is lost meanwhile', upgradeNodes, { rounds: 10 }),
  fault('former', 'of the commit FAULTS_FORMER are replaced by this release, one after the other', fromFormer, { rounds: 3 }),
  fault('password', 'the password of the database changes, one after the other is started with it', changePassword, { rounds: 10 }),
  fault('connections', 'all are busy with requests, with 100 connections allowed', askEverything, {
    rounds: 5,
    world: { env: { BIO_DB_CONNECTIONS_MAX: '30' } },
  }),
];
