/** Processes of `start --processes` on a machine that is too busy: who only waits for a processor does not hang. */
import { execFileSync, fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SILENT_MS_MAX, watchSigns } from '../../src/cli/signs-of-life.ts';
import { until } from '../helpers/database.ts';

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

function startChild(): { child: ChildProcess; heard: unknown[]; silent: () => number } {
  const child = fork(join(import.meta.dirname, '../helpers/slow-child.ts'), { execArgv: ['--disable-warning=ExperimentalWarning'] });
  running.push(child);
  const heard: unknown[] = [];
  let silent = 0;
  child.on('message', (message) => void heard.push(message));
  watchSigns(child, () => void (silent += 1));
  return { child, heard, silent: () => silent };
}

// Fourteen that never rest share a core with it, which gives it less than a fifteenth of its time.
test.runIf(existsSync('/usr/bin/taskset') && existsSync('/proc/self/schedstat'))(
  'a process that waits for a processor for half a minute is not taken for one that hangs; one that is stopped is',
  async () => {
    const busy = startChild();
    const stopped = startChild();
    await until(() => busy.heard.length > 0 && stopped.heard.length > 0, 60_000);
    stopped.child.kill('SIGSTOP');
    execFileSync('taskset', ['-acp', '0', String(busy.child.pid)]);
    for (let n = 0; n < 14; n++) running.push(spawn('taskset', ['-c', '0', 'sh', '-c', 'while :; do :; done']));
    const startedMs = performance.now();
    busy.child.send(2);
    await until(() => busy.heard.includes('done'), 240_000);
    expect(performance.now() - startedMs).toBeGreaterThan(SILENT_MS_MAX + 3000);
    expect(busy.silent()).toBe(0);
    await until(() => stopped.silent() === 1, 120_000);
  },
  300_000,
);
