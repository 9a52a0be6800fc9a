/** `npm run faults`: does to the service what can happen to it, again and again while devices stream, and holds what was acknowledged
 *  against the database afterwards.
 *
 *  npm run faults -- [--rounds 50] [--only service-kill,backends] [--seed 1] [--out FILE.json]
 *  Prints one line per fault and a table; the JSON has the same with what `biosignal verify` counted. Exit code 1 when anything acknowledged
 *  is missing, changed or doubled, or a round did not end. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createRandom } from '../src/cli/simulator/random.ts';
import { networkScenario } from './network.ts';
import { sameIdScenario } from './same-id.ts';
import { runScenario, tableOf } from './report.ts';
import type { FaultResult } from './report.ts';
import { scenarios } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: '' },
  },
});
const seed = Number(values.seed);
const wanted = values.only === '' ? null : new Set(values.only.split(','));
const all = [...scenarios, networkScenario, sameIdScenario];
for (const name of wanted ?? [])
  if (!all.some((scenario) => scenario.name === name))
    throw new Error(`no fault '${name}'; there are ${all.map((s) => s.name).join(', ')}`);

const results: FaultResult[] = [];
for (const scenario of all) {
  if (wanted !== null && !wanted.has(scenario.name)) continue;
  if ('root' in scenario && process.getuid?.() !== 0) {
    console.log(`${scenario.name}: NOT RUN, needs root to mount a small file system`);
    continue;
  }
  const rounds = values.rounds === undefined ? (scenario.rounds ?? 50) : Math.min(Number(values.rounds), scenario.rounds ?? Infinity);
  const random = createRandom(seed, scenario.name);
  console.log(`${scenario.name}: ${rounds} rounds, seed ${seed}: ${scenario.about}`);
  const result = await runScenario(scenario, { rounds, seed, random, log: (line) => process.stderr.write(`${line}\n`) });
  results.push(result);
  console.log(tableOf([result]));
  if (values.out !== '') writeFileSync(values.out, `${JSON.stringify({ node: process.version, seed, results }, null, 2)}\n`);
}
console.log(tableOf(results));
process.exitCode = results.every((result) => result.ok) ? 0 : 1;
