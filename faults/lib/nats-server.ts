/** A server of NATS that is started, killed and started again: Debian's package nats-server, in a folder of its own. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export type NatsServer = Readonly<{
  port: number;
  readonly pid: number;
  /** Ends it as a crash does. */
  kill: () => Promise<void>;
  start: () => Promise<void>;
  /** For the next start. */
  configure: (lines: string, maxPayload?: string) => void;
  close: () => Promise<void>;
}>;

/** Says so where it is not installed. */
export const hasNatsServer = ((): boolean => {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn('SKIPPED: nats-server is not installed: nothing is tested over NATS');
    return false;
  }
})();

/** @param lines of its configuration, in addition to the address and the size of messages */
export async function startNats(lines = '', maxPayload = '9MB'): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-nats-'));
  const port = await freePort();
  const configure = (more: string, payload = '9MB'): void =>
    writeFileSync(join(folder, 'nats.conf'), `listen: 127.0.0.1:${port}\nmax_payload: ${payload}\nmax_pending: 64MB\n${more}\n`);
  configure(lines, maxPayload);
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    child = spawn('nats-server', ['-c', join(folder, 'nats.conf')], { stdio: 'ignore' });
    for (const deadline = performance.now() + 10_000; !(await isListening(port)); await sleep(10))
      if (performance.now() > deadline) throw new Error('nats-server does not listen');
  };
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    start,
    configure,
    kill,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
