/** The service as a process of its own that can be killed, told to stop, and asked whether it is ready. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const { PATH = '', NODE_OPTIONS = '' } = process.env;
const thisRelease = join(import.meta.dirname, '..', '..');

export type ServiceOptions = Readonly<{
  env: Readonly<Record<string, string>>;
  /** Flags of Node, e.g. a heap limit. */
  nodeFlags?: readonly string[];
  /** Folder of the release. Default: this one. */
  root?: string;
}>;

export class ServiceProcess {
  readonly port: number;
  #options: ServiceOptions;
  #child: ChildProcess;
  #gone: Promise<number>;
  /** What it wrote, the last 20 kB: warnings and errors. */
  log = '';

  constructor(port: number, options: ServiceOptions) {
    this.port = port;
    this.#options = options;
    this.#child = this.#spawn();
    this.#gone = goneOf(this.#child);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Exit code; -1 by a signal. */
  get gone(): Promise<number> {
    return this.#gone;
  }

  send(message: Readonly<{ clockStepMs?: number; worker?: 'exit' | 'oom' | 'loop' }>): void {
    this.#child.send(message);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#gone;
  }

  /** @returns exit code */
  async terminate(): Promise<number> {
    this.#child.kill('SIGTERM');
    return await this.#gone;
  }

  /** Stops every thread where it is (SIGSTOP), or lets them go on. */
  pause(paused: boolean): void {
    this.#child.kill(paused ? 'SIGSTOP' : 'SIGCONT');
  }

  /** From the next start on. */
  change({ env = {}, root }: Partial<Pick<ServiceOptions, 'env' | 'root'>>): void {
    this.#options = { ...this.#options, env: { ...this.#options.env, ...env }, ...(root === undefined ? {} : { root }) };
  }

  /** The one before must be gone. */
  start(): void {
    this.#child = this.#spawn();
    this.#gone = goneOf(this.#child);
  }

  /** Starts it again whenever it ends by itself, as an init system does. @returns how to stop doing so */
  supervise(onEnd: (code: number) => void = () => undefined): () => void {
    let watching = true;
    const watch = async (): Promise<void> => {
      const code = await this.#gone;
      if (!watching) return;
      onEnd(code);
      this.start();
      await watch();
    };
    void watch();
    return () => void (watching = false);
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(3000) }).catch(() => null);
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.status === 200;
  }

  /** @throws Error when it has ended, or is not ready in time */
  async untilReady(timeoutMs = 900_000): Promise<void> {
    for (const deadline = performance.now() + timeoutMs; !(await this.isReady()); await sleep(15)) {
      if (!this.running) throw new Error(`the service ended with ${await this.#gone}:\n${this.log.slice(-1200)}`);
      if (performance.now() > deadline) throw new Error(`the service is not ready after ${timeoutMs} ms:\n${this.log.slice(-1200)}`);
    }
  }

  #spawn(): ChildProcess {
    const { env, nodeFlags = [], root = thisRelease } = this.#options;
    const flags = ['--disable-warning=ExperimentalWarning', '--import', join(root, 'faults', 'lib', 'inject.ts'), ...nodeFlags];
    const child = spawn(process.execPath, [...flags, join(root, 'src/cli/main.ts'), 'start'], {
      cwd: root,
      env: { PATH, NODE_OPTIONS, PORT: String(this.port), BIO_LOG_LEVEL: 'warn', ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A session of its own, as an init system gives it: the devices of the harness do not share its turn on a busy machine.
      detached: true,
    });
    const keep = (chunk: Buffer): void => void (this.log = (this.log + chunk.toString()).slice(-20_000));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('error', () => undefined); // sending to one that has just ended
    return child;
  }
}

function goneOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
}
