/** `npm run faults`: does to the service what can happen to it, again and again while devices stream, and holds what was acknowledged
 *  against the database afterwards.
 *
 *  npm run faults -- [--short] [--rounds 50] [--only service-kill,backends] [--seed 1] [--out FILE.jsonl] [--leg 10] [--table]
 *  Prints one line per fault and a table; --only cluster is every fault of three nodes. With --out every --leg rounds become a line of the
 *  file as they end, and a later run with the same file does only the rounds that are not in it; --table prints the table of such a file
 *  and runs nothing. --short is what the tests run, in one scenario. Exit code 1 when anything acknowledged is missing, changed or
 *  doubled, a beat or a value differs from a clean run of the same packets, or a round did not end. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mistaken, numberOption, toolOptions } from '../scripts/tool-options.ts';
import { createRandom } from '../src/cli/simulator/random.ts';
import { clusterScenarios } from './cluster.ts';
import { networkScenario } from './network.ts';
import { standbyRestartScenario, takeBackScenario, takeOverScenarios } from './ownership.ts';
import { sameIdScenario } from './same-id.ts';
import { merged, runScenario, tableOf } from './report.ts';
import type { FaultResult } from './report.ts';
import { scenarios } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';
import { shortRound } from './short.ts';
import { upgradeScenario } from './upgrade.ts';

const { values } = toolOptions({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: '' },
    leg: { type: 'string', default: '10' },
    table: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
});
const seed = numberOption('seed', values.seed);
const rounds = values.rounds === undefined ? null : numberOption('rounds', values.rounds, { whole: true });
const legRounds = numberOption('leg', values.leg, { whole: true });
const wanted =
  values.only === ''
    ? null
    : new Set(values.only.split(',').flatMap((name) => (name === 'cluster' ? clusterScenarios.map((each) => each.name) : [name])));
const shortScenario: Scenario = {
  name: 'short',
  about: 'the kinds that need no minutes, one after the other: what the tests run',
  rounds: 1,
  round: (world) => shortRound(world, seed),
};
const all = values.short
  ? [shortScenario]
  : [
      ...scenarios,
      takeBackScenario,
      ...takeOverScenarios,
      standbyRestartScenario,
      upgradeScenario,
      networkScenario,
      sameIdScenario,
      ...clusterScenarios,
    ];
for (const name of wanted ?? [])
  if (!all.some((scenario) => scenario.name === name)) mistaken(`no fault '${name}'; there are ${all.map((s) => s.name).join(', ')}`);

const legs: FaultResult[] = [];
if (values.out !== '' && existsSync(values.out))
  for (const line of readFileSync(values.out, 'utf8').split('\n')) if (line !== '') legs.push(JSON.parse(line) as FaultResult);

for (const scenario of values.table ? [] : all) {
  if (wanted !== null && !wanted.has(scenario.name)) continue;
  if ('root' in scenario && process.getuid?.() !== 0) {
    console.log(`${scenario.name}: NOT RUN, needs root to mount a small file system`);
    continue;
  }
  const goal = rounds ?? scenario.rounds ?? 50;
  const done = legs.filter(({ name }) => name === scenario.name).reduce((sum, leg) => sum + leg.rounds, 0);
  if (done >= goal) continue;
  const from = seed + done;
  console.log(`${scenario.name}: ${goal - done} rounds, seed ${from}: ${scenario.about}`);
  const before = legs.length;
  const onLeg = (leg: FaultResult): void => {
    legs.push(leg);
    if (values.out !== '') appendFileSync(values.out, `${JSON.stringify(leg)}\n`);
  };
  const random = createRandom(from, scenario.name);
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  await runScenario(scenario, { rounds: goal - done, seed: from, random, legRounds, onLeg, log });
  console.log(tableOf([merged(legs.slice(before))]));
}
const results = [...Map.groupBy(legs, ({ name }) => name).values()].map(merged);
console.log(tableOf(results));
process.exitCode = results.every((result) => result.ok) ? 0 : 1;
