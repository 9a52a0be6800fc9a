/** A service and a load generator, each in a process of its own, as benches drive them. */
import { fork, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { BenchReady, BenchSubjects, BenchUsage } from './bench-service.ts';
import type { LoadPlan, LoadResult } from './load.ts';

export type ServiceMode = 'bare' | 'node-ws' | 'memory' | 'full';

export type ServiceProcess = Readonly<{
  pid: number;
  port: number;
  /** Organization key that may read and ingest. */
  key: string;
  usage: (afterGc?: boolean) => Promise<BenchUsage>;
  /** uuid of each user by external id. */
  subjects: () => Promise<Readonly<Record<string, string>>>;
  stop: () => Promise<void>;
}>;

/** @param env of the child; `full` needs DATABASE_URL, an empty database */
export async function startServiceProcess(mode: ServiceMode, env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const child = fork(new URL('./bench-service.ts', import.meta.url).pathname, [mode], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning', ...(process.env['BENCH_NODE_FLAGS']?.split(' ') ?? [])],
    env: { ...process.env, ...env },
  });
  const next = <T>(kind: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the service has ended'));
      child.once('exit', ended);
      child.on('message', function listen(message: { kind: string }) {
        if (message.kind !== kind) return;
        child.off('message', listen);
        child.off('exit', ended);
        resolve(message as T);
      });
    });
  const ready = await next<BenchReady>('ready');
  return {
    pid: child.pid!,
    port: ready.port,
    key: ready.key,
    usage: (afterGc = false) => {
      const answer = next<BenchUsage>('usage');
      child.send(afterGc ? 'usage after gc' : 'usage');
      return answer;
    },
    subjects: async () => {
      const answer = next<BenchSubjects>('subjects');
      child.send('subjects');
      return (await answer).uuids;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.send('stop');
      await ended;
    },
  };
}

export type RunningLoad = Readonly<{
  pid: number;
  /** Resolves when the measured time is over. The devices go on sending. */
  result: Promise<LoadResult>;
  /** Closes every socket. */
  stop: () => Promise<void>;
}>;

/** Connects devices and viewers, lets them warm up, and returns when measuring begins. */
export async function startLoad(service: ServiceProcess, plan: Omit<LoadPlan, 'port' | 'key'>): Promise<RunningLoad> {
  const full: LoadPlan = { ...plan, port: service.port, key: service.key };
  const script = new URL('./load.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, JSON.stringify(full)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the load generator has ended');
    return value;
  };
  if ((await line()) !== 'subjects') throw new Error('no devices');
  child.stdin.write(`${JSON.stringify(await service.subjects())}\n`);
  if ((await line()) !== 'steady') throw new Error('no steady load');
  const result = line().then((text) => JSON.parse(text) as LoadResult);
  return {
    pid: child.pid!,
    result,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end('\n');
      await ended;
    },
  };
}

/** Later than this (p99) the generator did not make the load it says; its run is refused. */
export const LATE_MS_MAX = Number(process.env['BENCH_LATE_MS_MAX'] ?? 50);

/** @throws Error when the generator fell behind, was thrown out, or packets were refused */
export function refuseBadLoad(load: LoadResult): void {
  if (load.lateMs.p99 > LATE_MS_MAX) throw new Error(`refused: the generator was ${load.lateMs.p99} ms late (p99), ${LATE_MS_MAX} allowed`);
  if (load.closed > 0) throw new Error(`refused: ${load.closed} sockets were closed: ${JSON.stringify(load.closeReasons)}`);
  if (Object.keys(load.rejected).length > 0) throw new Error(`refused: packets were rejected: ${JSON.stringify(load.rejected)}`);
}
