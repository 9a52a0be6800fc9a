/** Processor time of processes and threads from /proc (Linux), in seconds; the clock of the kernel ticks 100 times a second. */
import { openSync, readdirSync, readFileSync, readSync } from 'node:fs';

const TICKS_PER_SEC = 100;

type Stat = Readonly<{ parent: number; own: number; reaped: number }>;

function readStat(path: string): Stat | null {
  try {
    const text = readFileSync(path, 'latin1');
    // the name, in brackets, may contain anything
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (i: number): number => Number(fields[i]);
    return { parent: at(1), own: (at(11) + at(12)) / TICKS_PER_SEC, reaped: (at(13) + at(14)) / TICKS_PER_SEC };
  } catch {
    return null; // ended meanwhile
  }
}

/** A process and all below it, those that have ended included. */
export function treeCpuSec(pid: number): number {
  const all = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(`/proc/${name}/stat`);
    if (stat !== null) all.set(Number(name), stat);
  }
  let sum = 0;
  const add = (one: number): void => {
    const stat = all.get(one);
    if (stat === undefined) return;
    sum += stat.own + stat.reaped;
    for (const [child, { parent }] of all) if (parent === one) add(child);
  };
  add(pid);
  return sum;
}

/** The main thread of a process, to the nanosecond where the kernel counts so, and all its threads together. */
export function threadsCpuSec(pid: number): { main: number; all: number } {
  return {
    main: scheduledSec(pid) ?? readStat(`/proc/${pid}/task/${pid}/stat`)?.own ?? NaN,
    all: readStat(`/proc/${pid}/stat`)?.own ?? NaN,
  };
}

function scheduledSec(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e9 || null;
  } catch {
    return null;
  }
}

/** The postmaster above a backend that runs on this machine, or null when the server is elsewhere. */
export function postmasterOf(backendPid: number): number | null {
  const parent = readStat(`/proc/${backendPid}/stat`)?.parent;
  if (parent === undefined || parent <= 1) return null;
  try {
    return readFileSync(`/proc/${parent}/comm`, 'latin1').startsWith('postgres') ? parent : null;
  } catch {
    return null;
  }
}

/** Resident bytes. */
export function rssBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1] ?? NaN) * 1024;
}

let ownFile: number | null = null;
const ownText = Buffer.alloc(64);

/** Processor time of this process's main thread so far, ms; one read of a file that stays open. */
export function mainThreadCpuMs(): number {
  ownFile ??= openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const length = readSync(ownFile, ownText, 0, ownText.length, 0);
  return Number(ownText.toString('latin1', 0, length).split(' ', 1)[0]) / 1e6;
}
