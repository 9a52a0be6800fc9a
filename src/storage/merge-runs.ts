/** Merges runs of one channel: equal samples are kept once, contradicting ones are both kept, nothing is lost. */
import type { Samples } from '../signal.ts';
import type { BlockRun } from './block-codec.ts';

/** Merges runs into as few as possible, ascending by k0. Two samples of one grid index with the same value and flag are one sample; if they
 *  differ both stay, in overlapping runs. Without contradictions the result does not depend on how the samples were cut or ordered. */
export function mergeRuns(runs: readonly BlockRun[]): BlockRun[] {
  if (isAscending(runs)) return joinTouching(runs); // the usual case, and the only one that may be long
  const kept: BlockRun[] = [];
  for (const run of runs) keepNew(kept, run);
  kept.sort((a, b) => a.k0 - b.k0);
  return joinTouching(kept);
}

/** Whether each run begins at or after the end of the previous one. */
function isAscending(runs: readonly BlockRun[]): boolean {
  for (let i = 1; i < runs.length; i++) if (runs[i]!.k0 < runs[i - 1]!.k0 + runs[i - 1]!.samples.length) return false;
  return true;
}

/** Adds the stretches of `run` that no kept run has with the same values. */
function keepNew(kept: BlockRun[], run: BlockRun): void {
  let stretches: BlockRun[] = [run];
  for (const other of kept) {
    if (other.samples.constructor !== run.samples.constructor) continue;
    if (!stretches.some((stretch) => overlaps(stretch, other))) continue;
    stretches = stretches.flatMap((stretch) => withoutRepeats(stretch, other));
    if (stretches.length === 0) return;
  }
  kept.push(...stretches);
}

function overlaps(a: BlockRun, b: BlockRun): boolean {
  return a.k0 < b.k0 + b.samples.length && b.k0 < a.k0 + a.samples.length;
}

function withoutRepeats(run: BlockRun, other: BlockRun): BlockRun[] {
  if (!overlaps(run, other)) return [run];
  const n = run.samples.length;
  const shift = run.k0 - other.k0; // index in other = index in run + shift
  const low = Math.max(0, -shift);
  const high = Math.min(n, other.samples.length - shift);
  const out: BlockRun[] = [];
  let start = 0; // of the new stretch
  for (let i = low; i < high; i++) {
    // Object.is, because NaN equals NaN here and -0 differs from 0
    if (!Object.is(run.samples[i], other.samples[i + shift]) || flagAt(run, i) !== flagAt(other, i + shift)) continue;
    if (i > start) out.push(part(run, start, i));
    start = i + 1;
  }
  if (start < n) out.push(part(run, start, n));
  return out;
}

function flagAt(run: BlockRun, i: number): number {
  return run.qmask === null ? 0 : run.qmask[i]!;
}

/** Samples [from, to) of a run; views, not copies. */
export function part(run: BlockRun, from: number, to: number): BlockRun {
  if (from === 0 && to === run.samples.length) return run;
  return { k0: run.k0 + from, samples: run.samples.subarray(from, to), qmask: run.qmask?.subarray(from, to) ?? null };
}

/** Joins runs that continue one another. @param runs ascending by k0 */
function joinTouching(runs: readonly BlockRun[]): BlockRun[] {
  const chains: BlockRun[][] = [];
  for (const run of runs) {
    // With contradictions several chains may run in parallel; otherwise it is the newest or none.
    const chain = chains.findLast((candidate) => {
      const last = candidate.at(-1)!;
      return last.k0 + last.samples.length === run.k0 && last.samples.constructor === run.samples.constructor;
    });
    if (chain === undefined) chains.push([run]);
    else chain.push(run);
  }
  return chains.map(joined);
}

function joined(chain: readonly BlockRun[]): BlockRun {
  const first = chain[0]!;
  if (chain.length === 1) return first;
  const n = chain.reduce((sum, run) => sum + run.samples.length, 0);
  if (
    chain.every(
      (run, i) => run.qmask === null && run.samples instanceof Int32Array && (i === 0 || isBehind(run.samples, chain[i - 1]!.samples)),
    )
  )
    return { k0: first.k0, samples: new Int32Array(first.samples.buffer, first.samples.byteOffset, n), qmask: null };
  const samples: Samples = first.samples instanceof Float32Array ? new Float32Array(n) : new Int32Array(n);
  const qmask = chain.some((run) => run.qmask !== null) ? new Uint8Array(n) : null;
  let at = 0;
  for (const run of chain) {
    samples.set(run.samples, at);
    if (run.qmask !== null) qmask!.set(run.qmask, at);
    at += run.samples.length;
  }
  return { k0: first.k0, samples, qmask };
}

/** Whether its samples directly follow the other's in one buffer, as decodeBlock places them when given a room. */
function isBehind(samples: Samples, other: Samples): boolean {
  return samples.buffer === other.buffer && samples.byteOffset === other.byteOffset + other.byteLength;
}
