/** The short form: what `npm run faults -- --short` and the tests (test/proof/faults.int.test.ts) run. */
import { createRandom } from '../src/cli/simulator/random.ts';
import type { World } from './lib/world.ts';
import { scenarios } from './scenarios.ts';

const names = ['silence', 'backends', 'worker-exit', 'database-blink', 'early-kill-twice', 'postgres-kill', 'service-kill'];

/** One round of each, one after the other, on one world. */
export async function shortRound(world: World, seed: number): Promise<number> {
  const random = createRandom(seed, 'short');
  const since = performance.now();
  for (const name of names) await scenarios.find((scenario) => scenario.name === name)!.round(world, random);
  return performance.now() - since;
}
