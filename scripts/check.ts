/** `npm run check`: types, lint, format, dead code, generated types up to date. All of them run, in parallel, and all failures are
 *  shown. */
import { spawn } from 'node:child_process';

const bin = 'node_modules/.bin/';
const steps: readonly (readonly [string, string, readonly string[]])[] = [
  ['types', `${bin}tsc`, ['--noEmit']],
  ['lint', process.execPath, [`${bin}oxlint`, '--type-aware', '--deny-warnings']],
  ['format', process.execPath, [`${bin}oxfmt`, '--check']],
  ['dead code', process.execPath, [`${bin}knip`, '--no-progress', '--no-config-hints']],
  ['API types', process.execPath, ['scripts/build-api-types.ts', '--check']],
  ['schema of the wire', process.execPath, [`${bin}buf`, 'lint', 'proto']],
];

function run(command: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}

const results = await Promise.all(
  steps.map(async ([name, command, args]) => {
    const startedMs = performance.now();
    const result = await run(command, args);
    return { name, ...result, seconds: (performance.now() - startedMs) / 1000 };
  }),
);
for (const { name, code, output, seconds } of results) {
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds.toFixed(1)} s)`);
  if (code !== 0) console.log(output);
}
process.exitCode = results.every((result) => result.code === 0) ? 0 : 1;
