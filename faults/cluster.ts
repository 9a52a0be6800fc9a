/** Three nodes of one database: what happens to one of them, to their messages, to the database, or while partitions move. Devices and a
 *  viewer come through a balancer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../src/cli/command.ts';
import type { Command } from '../src/cli/command.ts';
import { cluster } from '../src/cli/cluster.ts';
import { reprocess } from '../src/cli/reprocess.ts';
import type { Random } from '../src/cli/simulator/random.ts';
import { eraseWhileSending } from './lib/erased-person.ts';
import type { Node, Nodes } from './lib/nodes.ts';
import type { World } from './lib/world.ts';
import type { Scenario } from './scenarios.ts';

const calm = (random: Random): Promise<void> => sleep(200 + 900 * random.next());
const anyOf = ({ all }: Nodes, random: Random): Node => all[Math.floor(random.next() * all.length)]!;
const RECOVER_MS_MAX = 120_000;
/** A node that hangs is followed after 10 s. */
const PAUSE_MS = 15_000;
const NATS_AWAY_MS = 30_000;

/** Until every device has had a packet acknowledged that it made after `sinceMs`. */
async function untilEach(world: World, sinceMs: number): Promise<void> {
  for (; !world.fleet.hasEach(sinceMs); await sleep(20))
    if (performance.now() - sinceMs > RECOVER_MS_MAX) throw new Error(`devices wait:\n${world.nodes!.log()}`);
}

/** A round's time is the longest that a packet waited for its acknowledgement. */
const fault = (name: string, about: string, strike: (world: World, nodes: Nodes, random: Random) => Promise<void>): Scenario => ({
  name: `cluster-${name}`,
  about: `three nodes: ${about}`,
  world: { cluster: true, deviceCount: 12 },
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

/** A node gives its partitions away and has them back. */
async function moveAway(world: World, { name }: Node): Promise<void> {
  await command(world, cluster, 'drain', name);
  for (const deadline = performance.now() + RECOVER_MS_MAX; (await world.nodes!.owners()).includes(name); await sleep(50))
    if (performance.now() > deadline) throw new Error(`${name} keeps partitions:\n${world.nodes!.log()}`);
  await command(world, cluster, 'undrain', name);
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
];
