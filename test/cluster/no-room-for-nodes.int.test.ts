/** `biosignal start --processes` on a machine that gives it no more processes or open files for a while: the nodes that live go on. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, spawnProcesses } from './nodes.ts';

// promise: node-not-forked
test.runIf(existsSync('/usr/bin/prlimit'))(
  'a node that cannot be started again for want of open files is tried until it can; the other one goes on',
  async () => {
    const database = await testDatabase();
    const port = await freePort();
    const own = { DATABASE_URL: database.url, PORT: String(port), BIO_NODE_NAME: 'bed', BIO_DEMO: '0', BIO_STOP_TIMEOUT_MS: '2000' };
    const command = spawnProcesses(2, own);
    let told = '';
    command.stderr!.setEncoding('utf8').on('data', (text: string) => (told += text));
    const nodes = (): number[] =>
      readFileSync(`/proc/${command.pid}/task/${command.pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    const limitFiles = (files: number): void => void execFileSync('prlimit', ['--pid', String(command.pid), `--nofile=${files}:`]);
    const before = Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${command.pid}/limits`, 'utf8'))![1]);
    let all: number[] = [];
    try {
      for await (const line of createInterface(command.stdout!)) if (line.endsWith('with 2 processes')) break;
      await until(() => isShared(database, 2), 60_000);
      all = nodes();
      const [lives, dies] = all as [number, number];
      limitFiles(readdirSync(`/proc/${command.pid}/fd`).length - 1);
      process.kill(dies, 'SIGKILL');
      await until(
        () => /bed\/\d could not be started \(.*EMFILE\); it is started again in /.test(told) || command.exitCode !== null,
        60_000,
      );
      await sleep(2000);
      expect(command.exitCode, told).toBeNull();
      expect(nodes()).toEqual([lives]);
      await until(() => isShared(database, 1), 60_000);
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
      limitFiles(before);
      await until(() => isShared(database, 2), 90_000);
      all = nodes();
      expect(all).toHaveLength(2);
      const gone = once(command, 'exit');
      command.kill('SIGTERM');
      await gone;
      expect(command.exitCode, told).toBe(0);
    } finally {
      for (const pid of all) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
      command.kill('SIGKILL');
      await database.close();
    }
  },
);
