/** A worker thread that fails, for the tests of what the pool does about it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { BatchAnswer, BatchTask } from '../pool/wire.ts';
import { recordOp, recordWidth } from '../pool/wire.ts';
import { KernelStock } from '../engine/runner.ts';
import { runBatch as run } from '../pool/worker.ts';

const latencySec = KernelStock.prototype.latencySec;
KernelStock.prototype.latencySec = function (kind) {
  if (kind.rateNanoHz === 123_000_000_000) throw new RangeError('no kernel for 123 Hz');
  return latencySec.call(this, kind);
};

/** Names a file with the number of deaths left to die, each at the third batch of a thread, or at the next one after it. */
const deaths = process.env.BIO_TEST_DEATHS;
let batches = 0;

export function runBatch(task: BatchTask): BatchAnswer {
  if (task.recordCount > 0 && ++batches >= 3 && deaths !== undefined && existsSync(deaths)) {
    const left = Number(readFileSync(deaths, 'utf8'));
    if (left > 0) {
      writeFileSync(deaths, String(left - 1));
      process.exit(1);
    }
  }
  for (let i = 0; i < task.recordCount; i++) {
    const at = i * recordWidth;
    if (task.records[at] !== recordOp.int32) continue;
    const samples = new Int32Array(task.payload, task.records[at + 5], task.records[at + 4]);
    if (samples.includes(123_456_789)) process.exit(1);
    while (samples.includes(987_654_321));
    // In small steps: one that goes far beyond the limit of the thread ends the process.
    if (samples.includes(555_555_555)) for (const hog: number[][] = []; ;) hog.push(Array<number>(30_000).fill(0.5));
  }
  return run(task);
}
