/** `npm run bench [-- NAME ...]`: runs benches one after the other, each in its own process, and keeps what they measured.
 *  NAME is a part of a file's name (`dsp` stands for the micro benches of the detectors); none: all.
 *  --full: longer repetitions and the long benches, up to an hour. --list: names only.
 *  --compare A.json B.json: two kept runs side by side, no bench. --page RUN.json: draws its page again.
 *  Writes bench/results/<time>.json (commit, machine, every figure), .txt (all that was printed) and .html. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { compareRuns } from './lib/compare.ts';
import { drawPage, type BenchRun } from './lib/page.ts';
import { CURVE_MARK, RESULT_MARK, type BenchCurve, type BenchResult } from './lib/result.ts';
import { toolOptions } from '../scripts/tool-options.ts';

const aliases: Readonly<Record<string, readonly string[]>> = { dsp: ['r-peaks', 'segment-engine', 'ppg', 'ecg'] };
const { values, positionals } = toolOptions({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
  },
});
const readRun = (path: string | undefined): BenchRun => JSON.parse(readFileSync(path ?? '', 'utf8')) as BenchRun;

if (values.compare) {
  console.log(compareRuns(readRun(positionals[0]), readRun(positionals[1])));
  process.exit(0);
}
if (values.page) {
  const path = positionals[0] ?? '';
  writeFileSync(path.replace(/\.json$/, '.html'), drawPage(readRun(path)));
  process.exit(0);
}

const asked = positionals.flatMap((name) => aliases[name] ?? [name]);
const files = readdirSync('bench', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.ts') && (asked.length === 0 || asked.some((name) => file.includes(name))))
  .toSorted();
if (files.length === 0) {
  console.error(`no bench is named like ${asked.join(', ')}`);
  process.exit(2);
}
if (values.list) {
  console.log(files.join('\n'));
  process.exit(0);
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

type Finished = Readonly<{ status: number | null; output: string }>;

/** Prints a bench's lines as they come, without the machine's copies of them. */
function runBench(file: string): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', `bench/${file}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, BENCH_FULL: values.full ? '1' : '' },
    });
    let output = '';
    let shown = 0;
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk: string) => {
      output += chunk;
      for (let end = output.indexOf('\n', shown); end >= 0; end = output.indexOf('\n', shown)) {
        const line = output.slice(shown, end);
        if (!line.startsWith(RESULT_MARK) && !line.startsWith(CURVE_MARK)) console.log(line);
        shown = end + 1;
      }
    });
    child.on('close', (status) => resolve({ status, output }));
  });
}

const marked = <T>(output: string, mark: string): T[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith(mark))
    .map((line) => JSON.parse(line.slice(mark.length)) as T);

const startedAt = new Date().toISOString();
const head = {
  startedAt,
  full: values.full,
  commit: git('describe', '--always', '--dirty'),
  machine: { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version },
  loadBefore: loadavg()[0] ?? NaN,
};
console.log(`commit ${head.commit}, ${head.machine.cores} x ${head.machine.cpu}, ${head.machine.memoryGiB} GiB, Node ${head.machine.node}`);
if (head.loadBefore > 0.5)
  console.log(`the machine is busy (load ${head.loadBefore.toFixed(1)}): trust ratios and CPU seconds, not milliseconds`);

const name = `bench/results/${startedAt.replaceAll(':', '-').slice(0, 19)}`;
mkdirSync('bench/results', { recursive: true });
const benches: BenchRun['benches'][number][] = [];
for (const file of files) {
  console.log(`\n== ${file}`);
  const began = performance.now();
  const { status, output } = await runBench(file);
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  if (status !== 0) console.log(`FAILED with ${status}`);
  const results = marked<BenchResult>(output, RESULT_MARK);
  benches.push({ file, status, seconds, results, curves: marked<BenchCurve>(output, CURVE_MARK), output });
  // after each, so that a run that is cut off has left something
  const run: BenchRun = { ...head, benches };
  writeFileSync(`${name}.json`, `${JSON.stringify(run, (key, value: unknown) => (key === 'output' ? undefined : value), 2)}\n`);
  writeFileSync(`${name}.txt`, benches.map((bench) => `== ${bench.file}\n${bench.output ?? ''}`).join('\n'));
  writeFileSync(`${name}.html`, drawPage(run));
}
console.log(`\nkept in ${name}.json, .txt and .html`);
process.exitCode = benches.every(({ status }) => status === 0) ? 0 : 1;
