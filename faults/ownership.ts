/** Two instances of one site: the log goes from one to the other and back, again and again. Each has its own way to the database, so that
 *  one of them can be cut off; devices come through a balancer that sends them to the one that is ready. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../src/cli/simulator/random.ts';
import type { ServiceProcess } from './lib/service.ts';
import type { World } from './lib/world.ts';
import type { Scenario } from './scenarios.ts';

type Ending = 'kill' | 'orderly';

const calm = (random: Random): Promise<void> => sleep(200 + 900 * random.next());

/** The second instance, by world. */
const seconds = new WeakMap<World, ServiceProcess>();

async function secondOf(world: World): Promise<ServiceProcess> {
  const known = seconds.get(world);
  if (known !== undefined) return known;
  const second = await world.secondInstance({ env: { DATABASE_URL: world.postgres.url } });
  seconds.set(world, second);
  return second;
}

/** Until it answers, as a standby or ready. */
export async function untilListening(service: ServiceProcess): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
    const answer = await fetch(`${service.url}/healthz`, { signal: AbortSignal.timeout(3000) }).catch(() => null);
    if (answer?.status === 200) return;
  }
  throw new Error(`does not listen:\n${service.log.slice(-2000)}`);
}

/** The balancer sends devices there from now on. @returns ms since `sinceMs` until a packet was acknowledged */
async function servedBy(world: World, service: ServiceProcess, sinceMs: number): Promise<number> {
  world.service = service;
  await service.untilReady(120_000);
  world.front!.targetPort = service.port;
  world.front!.mode = 'pass'; // connections to the other one end
  return await world.untilServing(sinceMs);
}

/** The first is cut off, the second takes over and ends in its turn, the first has the log back, is killed and started.
 *  @returns ms from the cut until the second served */
export async function takeAndGiveBack(world: World, random: Random, ending: Ending): Promise<number> {
  const first = world.service;
  const second = await secondOf(world);
  const stops = [first.supervise(), second.supervise()];
  try {
    await untilListening(second);
    await calm(random);
    const cutMs = performance.now();
    world.proxy.mode = 'refuse';
    const awayMs = await servedBy(world, second, cutMs);
    world.proxy.mode = 'pass';
    await sleep(1000 + 2000 * random.next());
    stops.pop()!();
    if (ending === 'kill') await second.kill();
    else if ((await second.terminate()) !== 0) throw new Error(`SIGTERM of the second:\n${second.log.slice(-2000)}`);
    await servedBy(world, first, performance.now());
    await sleep(1000 + 1000 * random.next());
    stops.pop()!();
    await first.kill();
    first.start();
    await servedBy(world, first, performance.now());
    second.start();
    return awayMs;
  } finally {
    for (const stop of stops) stop();
  }
}

/** Every process of PostgreSQL at once while nobody sends and a second instance waits. @returns ms until one of the two served */
export async function restartBesideStandby(world: World, random: Random): Promise<number> {
  const first = world.service;
  const second = await secondOf(world);
  const stops = [first.supervise(), second.supervise()];
  try {
    await untilListening(second);
    await calm(random);
    const since = performance.now();
    await world.postgres.kill();
    await world.postgres.restart();
    for (;;) {
      for (const service of [first, second]) {
        if (!(await service.isReady())) continue;
        const servedMs = await servedBy(world, service, since).catch(() => null);
        if (servedMs !== null) return servedMs;
      }
      if (performance.now() - since > 120_000) throw new Error(`neither serves:\n${first.log.slice(-2000)}\n${second.log.slice(-2000)}`);
      await sleep(50);
    }
  } finally {
    for (const stop of stops) stop();
    seconds.set(world, world.service === first ? second : first);
  }
}

/** Until it waits for the log. */
async function untilStandby(service: ServiceProcess): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
    const answer = await fetch(`${service.url}/readyz`, { signal: AbortSignal.timeout(3000) }).catch(() => null);
    if (((await answer?.json().catch(() => null)) as { status?: string } | null)?.status === 'standby') return;
  }
  throw new Error(`does not wait:\n${service.log.slice(-2000)}`);
}

/** An owner that was taken over from. @throws Error when it has not ended with code 1 */
async function endOfFormer(owner: ServiceProcess): Promise<void> {
  const code = await Promise.race([owner.gone, sleep(60_000, null, { ref: false })]);
  if (code !== 1) throw new Error(`the former owner ended with ${code}:\n${owner.log.slice(-2000)}`);
}

/** @param strike what happens to the owner  @param end what has to happen until its process has gone
 *  @returns ms from the fault until a packet was acknowledged by the other */
const takeOver = (
  name: string,
  about: string,
  strike: (world: World, owner: ServiceProcess, random: Random) => unknown,
  end: (world: World, owner: ServiceProcess) => Promise<unknown>,
): Scenario => ({
  name: `takeover-${name}`,
  about: `${about}; a second instance waits`,
  world: { front: true },
  round: async (world, random) => {
    const owner = world.service;
    const other = await secondOf(world);
    await untilStandby(other);
    await calm(random);
    const since = performance.now();
    await strike(world, owner, random);
    const awayMs = await servedBy(world, other, since);
    await end(world, owner);
    owner.start();
    await untilStandby(owner);
    // Back to the first, which alone can be cut off.
    await other.terminate();
    await servedBy(world, owner, performance.now());
    other.start();
    return awayMs;
  },
});

export const takeOverScenarios: readonly Scenario[] = [
  takeOver(
    'kill',
    'kill -9 of the owner',
    (_, owner) => owner.kill(),
    async () => undefined,
  ),
  takeOver(
    'sigterm',
    'SIGTERM of the owner',
    (_, owner) => void owner.terminate(),
    (_, owner) => owner.gone,
  ),
  takeOver(
    'hang',
    'SIGSTOP of the owner, SIGCONT when it was taken over from',
    (_, owner) => owner.pause(true),
    async (_, owner) => {
      owner.pause(false);
      await endOfFormer(owner);
    },
  ),
  takeOver(
    'cut',
    'the owner is cut off from the database: connections are refused, or swallowed without a word',
    (world, _, random) => (world.proxy.mode = random.next() < 0.5 ? 'refuse' : 'hole'),
    async (world, owner) => {
      world.proxy.mode = 'pass';
      await endOfFormer(owner);
    },
  ),
];

export const takeBackScenario: Scenario = {
  name: 'take-back',
  about: 'the owner is cut off, a second instance takes over and ends, the first takes over again, is killed and started',
  world: { front: true, deviceCount: 12, packetMs: 500 },
  round: async (world, random) => await takeAndGiveBack(world, random, random.next() < 0.5 ? 'kill' : 'orderly'),
};

export const standbyRestartScenario: Scenario = {
  name: 'postgres-standby',
  about: 'kill -9 of every PostgreSQL process while a second instance waits',
  world: { front: true },
  round: restartBesideStandby,
};
