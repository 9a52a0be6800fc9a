/** Signs of life of a process of `biosignal start --processes`: its main thread tells the command that started it, every second. The kernel
 *  gives a process that hangs its share of new connections, and closes none of those that it has, so it has to be ended. */
import { readFileSync } from 'node:fs';
import { url as debuggerUrl } from 'node:inspector';
import type { ChildProcess } from 'node:child_process';

const PERIOD_MS = 1000;
/** Silence after which a process is ended, ms, without the time for which it waited for a processor: a start takes seconds of one, and
 *  where many start at once these may be minutes. After 10 s others have taken its partitions, and it would end by itself if it woke up. */
export const SILENT_MS_MAX = 20_000;

type Sign = Readonly<{ debugged: boolean }>;

/** Tells it from now on, where such a command started this process. */
export function giveSigns(): void {
  let waits = false;
  // job: signs-of-life: tells the command that started this process that its main thread works
  const timer = setInterval(() => {
    if (!process.connected) return clearInterval(timer);
    if (waits) return; // the command is stopped, and must not be left a heap of them
    waits = true;
    const sign: Sign = { debugged: debuggerUrl() !== undefined };
    process.send?.(sign, undefined, {}, () => (waits = false));
  }, PERIOD_MS).unref();
}

/** Counts the silence of a process from its first sign on. A process in a debugger may stand still.
 *  @param onSilent called once, after SILENT_MS_MAX */
export function watchSigns(child: ChildProcess, onSilent: () => void): void {
  let silentMs = -Infinity;
  let debugged = false;
  let lookedMs = performance.now();
  let waitedMs = waitedMsOf(child.pid!);
  child.on('message', (sign: Sign) => {
    silentMs = 0;
    ({ debugged } = sign);
  });
  // job: hung-processes: counts how long a process has been silent
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const waitedNowMs = waitedMsOf(child.pid!);
    // While this command itself was stopped, or the machine was, nobody could be heard.
    silentMs += Math.min(Math.max(0, nowMs - lookedMs - (waitedNowMs - waitedMs)), 2 * PERIOD_MS);
    lookedMs = nowMs;
    waitedMs = waitedNowMs;
    if (silentMs < SILENT_MS_MAX || debugged || isTraced(child.pid!)) return;
    clearInterval(timer);
    onSilent();
  }, PERIOD_MS);
  child.once('exit', () => clearInterval(timer));
}

/** Time for which the main thread of a process could have run and had no processor, ms. */
function waitedMsOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0; // no Linux, or it has just ended
  }
}

/** gdb or strace have it. */
function isTraced(pid: number): boolean {
  try {
    return /^TracerPid:\s*[1-9]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no Linux, or it has just ended
  }
}
