/** Finds the samples that kill workers in the batch that did so, and leaves them out from then on. */
import type { ChannelNo, SampleRun } from '../../signal.ts';
import type { Batch } from './wire.ts';
import { recordOp, recordWidth } from './wire.ts';

export type Poison = Readonly<{ channelNo: number; fromK: number; toK: number }>;

/** Cuts the poison out of runs. */
export function withoutPoison(runs: readonly SampleRun[], poison: readonly Poison[]): SampleRun[] {
  let clean = [...runs];
  for (const { channelNo, fromK, toK } of poison)
    clean = clean.flatMap((run) => {
      const end = run.k0 + run.samples.length;
      if (run.channelNo !== channelNo || end <= fromK || run.k0 >= toK) return [run];
      return [cutRun(run, run.k0, fromK), cutRun(run, toK, end)].filter((part) => part.samples.length > 0);
    });
  return clean;
}

function cutRun(run: SampleRun, fromK: number, toK: number): SampleRun {
  const from = fromK - run.k0;
  const to = Math.max(from, toK - run.k0);
  return { channelNo: run.channelNo, k0: fromK, samples: run.samples.subarray(from, to), qmask: run.qmask?.subarray(from, to) ?? null };
}

/** The runs of one engine in a batch, copied out of shared memory. */
export function runsOf(batch: Batch, handle: number): SampleRun[] {
  const runs: SampleRun[] = [];
  const { records, payload } = batch;
  for (let i = 0; i < batch.recordCount; i++) {
    const at = i * recordWidth;
    const op = records[at]!;
    if (records[at + 1] !== handle || op === recordOp.pass || op === recordOp.control) continue;
    const masked = op >= recordOp.masked;
    const kind = masked ? op - recordOp.masked : op;
    const [n, offset] = [records[at + 4]!, records[at + 5]!];
    runs.push({
      channelNo: records[at + 2]! as ChannelNo,
      k0: records[at + 3]!,
      samples:
        kind === recordOp.int32
          ? Int32Array.from(new Int32Array(payload, offset, n))
          : Float32Array.from(new Float32Array(payload, offset, n)),
      qmask: masked ? Uint8Array.from(new Uint8Array(payload, offset + 4 * n, n)) : null,
    });
  }
  return runs;
}
