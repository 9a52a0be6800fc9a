/** `npm run fuzz`: mutated inputs for every decoder that meets the outside.
 *
 *  npm run fuzz -- [--count 10000000] [--seed 1] [--only packet,json]
 *  Four fifths of the mutations are of packets. Exit code 1 with the input in base64 when a decoder threw anything but its clean error or took
 *  more than 50 ms. */
import { parseArgs } from 'node:util';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { fuzz } from './fuzz.ts';
import { makeTargets } from './targets.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});
const wanted = values.only === '' ? null : new Set(values.only.split(','));
const targets = (await makeTargets()).filter(({ name }) => wanted === null || wanted.has(name));
if (targets.length === 0) throw new Error(`no target of ${values.only}`);
const startedMs = performance.now();
const { counts, findings, rssMiBMax } = await fuzz(targets, {
  count: Number(values.count),
  random: createRandom(Number(values.seed), 'fuzz'),
  onProgress: ({ name, mutations, accepted, refused, slowestMs }) =>
    console.log(
      `${name.padEnd(18)} ${String(mutations).padStart(10)} mutations  ${String(accepted).padStart(9)} accepted  ${String(refused).padStart(9)} refused  slowest ${slowestMs.toFixed(1)} ms`,
    ),
});
for (const { target, what, inputBase64 } of findings) console.log(`FINDING ${target}: ${what}\n  ${inputBase64}`);
const total = counts.reduce((sum, row) => sum + row.mutations, 0);
console.log(
  `seed ${values.seed}: ${total} mutations in ${Math.round((performance.now() - startedMs) / 1000)} s, ${findings.length} findings, ${Math.round(rssMiBMax)} MiB resident at most`,
);
process.exitCode = findings.length === 0 ? 0 : 1;
