/** The form of `npm run fuzz` without a service: three quarters of the mutations are of packets. Fails with the input in base64 when a
 *  decoder threw anything but its clean error or took more than 50 ms. */
import { mistaken } from '../../scripts/tool-options.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { fuzz } from './fuzz.ts';
import { makeTargets } from './targets.ts';

/** @param only names of targets, separated by commas; '': all  @returns findings */
export async function fuzzDecoders(count: number, seed: number, only: string): Promise<number> {
  const wanted = only === '' ? null : new Set(only.split(','));
  const all = await makeTargets();
  const unknown = [...(wanted ?? [])].filter((name) => !all.some((target) => target.name === name));
  if (unknown.length > 0) mistaken(`no target of ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
  const targets = all.filter(({ name }) => wanted === null || wanted.has(name));
  const startedMs = performance.now();
  const { counts, findings, rssMiBMax } = await fuzz(targets, {
    count,
    random: createRandom(seed, 'fuzz'),
    onProgress: ({ name, mutations, accepted, refused, slowestMs }) =>
      console.log(
        `${name.padEnd(18)} ${String(mutations).padStart(10)} mutations  ${String(accepted).padStart(9)} accepted  ${String(refused).padStart(9)} refused  slowest ${slowestMs.toFixed(1)} ms`,
      ),
  });
  for (const { target, what, inputBase64 } of findings) console.log(`FINDING ${target}: ${what}\n  ${inputBase64}`);
  const total = counts.reduce((sum, row) => sum + row.mutations, 0);
  console.log(
    `seed ${seed}: ${total} mutations in ${Math.round((performance.now() - startedMs) / 1000)} s, ${findings.length} findings, ${Math.round(rssMiBMax)} MiB resident at most`,
  );
  return findings.length;
}
