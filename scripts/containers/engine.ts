/** podman and buildah with a store of their own, so that stand-in images never appear under official names among a user's images. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Result = Readonly<{ code: number; output: string; /** Whether its time limit ended it. */ late: boolean }>;

export type Engine = Readonly<{
  folder: string;
  /** Runs to its end. @returns exit code and what it wrote to both outputs */
  run: (command: readonly string[], options?: Readonly<{ timeoutMs?: number; cwd?: string; env?: NodeJS.ProcessEnv }>) => Promise<Result>;
  /** The same. @throws Error with the end of its output when the exit code is not 0 */
  must: (command: readonly string[], options?: Readonly<{ timeoutMs?: number; cwd?: string }>) => Promise<string>;
  /** Output of one command piped into another. @throws Error as `must` does */
  pipe: (from: readonly string[], to: readonly string[]) => Promise<void>;
  /** Ends what runs, and runs these commands alone, one after the other: nothing comes between them, and nothing after them. */
  endWith: (commands: readonly (readonly string[])[]) => void;
}>;

/** Time limit of one command, ms: building the image installs its dependencies. */
const COMMAND_MS = 900_000;

/** @param folder store, settings and stand-ins; kept between runs, so that the second one builds from layers */
export function openEngine(folder: string): Engine {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'storage.conf'), `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/store"\nrunroot = "${folder}/run"\n`);
  // runc: crun is not everywhere. The limits: a container may not ask for more than this machine's own.
  writeFileSync(
    join(folder, 'containers.conf'),
    `[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n`,
  );
  const base = {
    ...process.env,
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
  };

  const running = new Set<ChildProcess>();
  let hasEnded = false;

  const run: Engine['run'] = ([program = '', ...args], { timeoutMs = COMMAND_MS, cwd, env } = {}) =>
    new Promise((resolve) => {
      if (hasEnded) return;
      const startedMs = performance.now();
      const options = { timeout: timeoutMs, maxBuffer: 64 << 20, env: { ...base, ...env }, ...(cwd === undefined ? {} : { cwd }) };
      const child = execFile(program, args, options, (error, stdout, stderr) => {
        running.delete(child);
        if (hasEnded) return;
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        const late = error !== null && performance.now() - startedMs >= timeoutMs;
        resolve({ code, output: `${stdout}${stderr}`.trim(), late });
      });
      running.add(child);
    });

  const must: Engine['must'] = async (command, options) => {
    const { code, output, late } = await run(command, options);
    const ended = late ? 'was ended because it took too long' : `ended with ${code}`;
    if (code !== 0) throw new Error(`${command.slice(0, 3).join(' ')} ... ${ended}:\n${output.slice(-2000)}`);
    return output;
  };

  const pipe: Engine['pipe'] = (from, to) =>
    new Promise((resolve, reject) => {
      const source = spawn(from[0]!, from.slice(1), { env: base, stdio: ['ignore', 'pipe', 'inherit'] });
      const sink = spawn(to[0]!, to.slice(1), { env: base, stdio: [source.stdout, 'ignore', 'ignore'] });
      sink.on('error', reject);
      source.on('error', reject);
      sink.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${to.join(' ')} ended with ${code}`))));
    });

  const endWith: Engine['endWith'] = (commands) => {
    hasEnded = true;
    for (const child of running) child.kill('SIGKILL');
    for (const [program = '', ...args] of commands) spawnSync(program, args, { env: base, stdio: 'ignore', timeout: COMMAND_MS });
  };

  return { folder, run, must, pipe, endWith };
}
