/** `npm run bench [-- NAME ...]`: runs benches one after the other, each in its own process, and keeps what they print.
 *  NAME is a part of a file's name (`dsp` stands for the micro benches of the detectors); none: all. Writes bench/results/<time>.txt and
 *  .json with commit, machine and Node version. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

const aliases: Readonly<Record<string, readonly string[]>> = { dsp: ['r-peaks', 'segment-engine', 'ppg'] };
const asked = process.argv.slice(2).flatMap((name) => aliases[name] ?? [name]);
const files = readdirSync('bench', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.ts') && (asked.length === 0 || asked.some((name) => file.includes(name))))
  .toSorted();
if (files.length === 0) {
  console.error(`no bench is named like ${asked.join(', ')}`);
  process.exit(2);
}

const commit = ((): string => {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
})();
const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version };
const startedAt = new Date().toISOString();
console.log(`commit ${commit}, ${machine.cores} x ${machine.cpu}, ${machine.memoryGiB} GiB, Node ${machine.node}`);

const runs = files.map((file) => {
  console.log(`\n== ${file}`);
  const began = performance.now();
  const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', `bench/${file}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  process.stdout.write(stdout);
  return { file, status, seconds: Math.round((performance.now() - began) / 100) / 10, output: stdout };
});

mkdirSync('bench/results', { recursive: true });
const name = `bench/results/${startedAt.replaceAll(':', '-').slice(0, 19)}`;
writeFileSync(`${name}.json`, `${JSON.stringify({ startedAt, commit, machine, runs }, null, 2)}\n`);
writeFileSync(`${name}.txt`, runs.map(({ file, output }) => `== ${file}\n${output}`).join('\n'));
console.log(`\nkept in ${name}.json`);
process.exitCode = runs.every(({ status }) => status === 0) ? 0 : 1;
