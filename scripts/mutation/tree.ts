/** A copy of the checkout in which mutants are run, and the vitest that runs them there. The checkout itself is never changed. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import { copyCheckout } from '../planted/checkout.ts';
import type { Outcome, TestAnswer } from '../planted/seen.ts';
import type { TestRequest } from './host.ts';

export class Tree {
  readonly folder: string;
  readonly #databaseUrl: string;
  #host: ChildProcess | null = null;
  #changed = new Set<string>();

  /** @param databaseUrl the server for all tests of the run */
  constructor(folder: string, databaseUrl: string) {
    this.folder = folder;
    this.#databaseUrl = databaseUrl;
    copyCheckout(folder);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
    this.#changed.add(file);
  }

  /** Runs one test file on the tree as it is. A run that takes too long is killed with everything that it started.
   *  @param names of the tests to run, as a regular expression; '' for all */
  async run(test: string, timeoutMs: number, { hits = '', names = '' } = {}): Promise<Outcome> {
    this.#host ??= await this.#startHost();
    const request: TestRequest = { test, names, changed: [...this.#changed], hits };
    this.#changed.clear();
    const answer = await answerOf<TestAnswer>(this.#host, timeoutMs, () => this.#host!.send(request));
    if (answer !== null) return answer;
    this.#killHost();
    return 'timeout';
  }

  close(): void {
    this.#killHost();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #startHost(): Promise<ChildProcess> {
    const recordings = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');
    const host = fork(join(this.folder, 'scripts/mutation/host.ts'), [], {
      cwd: this.folder,
      detached: true, // a process group, to be killed as one
      stdio: ['ignore', 'ignore', process.env['BIO_MUTATION_DEBUG'] ? 'inherit' : 'ignore', 'ipc'],
      env: { ...process.env, BIO_TEST_DATABASE_URL: this.#databaseUrl, BIO_TEST_DATA: recordings },
    });
    if ((await answerOf(host, 120_000, () => undefined)) === null) throw new Error('vitest does not start in the copy');
    return host;
  }

  #killHost(): void {
    if (this.#host?.pid !== undefined && this.#host.exitCode === null) process.kill(-this.#host.pid, 'SIGKILL');
    this.#host = null;
  }
}

/** Works on a tree, with a database server for all its tests unless BIO_TEST_DATABASE_URL names one or they need none. */
export async function withTree(name: string, needsServer: boolean, work: (tree: Tree) => Promise<void>): Promise<void> {
  const given = process.env['BIO_TEST_DATABASE_URL'] ?? '';
  const dataDir = mkdtempSync(join(tmpdir(), `biosignal-${name}-`));
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB', max_connections: '200' };
  const server = given === '' && needsServer ? await startEmbeddedPostgres({ dataDir, settings }) : null;
  const tree = new Tree(resolve(`.cache/${name}/tree-${process.pid}`), server?.url ?? given);
  const close = async (): Promise<void> => {
    tree.close();
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().then(() => process.exit(130)));
  try {
    await work(tree);
  } finally {
    await close();
  }
}

/** The next message of a child; null when it takes too long or the child is gone. */
function answerOf<T>(child: ChildProcess, timeoutMs: number, ask: () => void): Promise<T | null> {
  return new Promise((settle) => {
    const done = (answer: T | null): void => {
      clearTimeout(timer);
      child.off('message', done).off('exit', gone);
      settle(answer);
    };
    const gone = (): void => done(null);
    const timer = setTimeout(gone, timeoutMs);
    child.once('message', done as (message: unknown) => void).once('exit', gone);
    ask();
  });
}
