/** The `biosignal` binary: finds the command, hands it the console, turns its answer into the exit code. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LEFT_BEHIND_MS, runCommand } from './command.ts';
import type { Console } from './command.ts';
import { commands } from './commands.ts';
import { didYouMean } from './did-you-mean.ts';

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 3;
  const rows = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`);
  return [
    'biosignal: a self-hosted biosignal service',
    '',
    'Usage: biosignal COMMAND [options]',
    '',
    'Commands:',
    ...rows,
    '',
    "'biosignal COMMAND --help' explains one. Settings come from the environment and from .env in this folder: 'biosignal config print'.",
    'Exit codes: 0 done, 1 failed or found a difference, 2 wrong usage, 3 service or database unavailable or busy (try again), 130 interrupted.',
  ].join('\n');
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version: number } = JSON.parse(text) as { version: string };
  return [number, ...commit()].join(' ');
}

/** Of a checkout with Git; a package has none. */
function commit(): string[] {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  if (!existsSync(join(cwd, '.git'))) return [];
  try {
    const described = execFileSync('git', ['describe', '--always', '--dirty', '--exclude', '*'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return [`(${described.trim()})`];
  } catch {
    return []; // no Git, or no permission to run it
  }
}

async function main(args: readonly string[], console: Console): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const topic = commands[rest[0] ?? ''];
    if (topic === undefined) console.out(overview());
    else await runCommand(await topic.load(), ['--help'], console);
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (name === '--version' || name === 'version') {
    console.out(version());
    return EXIT_OK;
  }
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (found === undefined) {
    console.err(`biosignal: no command '${name}'${didYouMean(name, Object.keys(commands))}`);
    console.err("Try 'biosignal --help'.");
    return EXIT_USAGE;
  }
  return await runCommand(await found.load(), rest, console);
}

// Settings of this folder; the environment takes precedence.
if (existsSync('.env')) process.loadEnvFile('.env');

// The first Ctrl-C asks the command to finish its present step; the second ends it. A node of `start --processes` is told of each
// twice, by the terminal or supervisor and by its parent, which ends it when it takes too long.
const abort = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    if (abort.signal.aborted && process.channel === undefined) process.exit(EXIT_INTERRUPTED);
    abort.abort(new DOMException(name, 'AbortError'));
  });
}
// What a service says may be lost where the disk is full; what another command was asked for may not.
const isService = process.argv[2] === 'start';
// A reader that stops early (` head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_OK);
  if (!isService) throw error;
});
// A node whose parent was killed has nobody to speak to, and still stops in order.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && !isService) throw error;
});

process.exitCode = await main(process.argv.slice(2), {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  progress: process.stderr.isTTY ? (text) => void process.stderr.write(text) : null,
  env: process.env,
  cwd: process.cwd(),
  signal: abort.signal,
});
setTimeout(() => process.exit(), LEFT_BEHIND_MS).unref();
