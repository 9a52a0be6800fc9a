/** Tracks which positions of the packet log are still needed.
 *
 *  A position is one group commit. Positions up to the checkpoint may be deleted from the log, once they are a day old (retention_cutoff in
 *  sql/000007-retention.sql); a start replays those after it, however old. checkpoints.ts moves the checkpoint every 2 s. The invariant: it
 *  passes a position only when nothing acknowledged at it, or before it, depends on this process any more:
 *  1. its packets were passed on to the writers and the feature pool (`noteHanded`);
 *  2. its samples are in sample_block, or set aside (`samplesSafe`: the block writer knows which rows are open, sealed or being written);
 *  3. its measurements and events are in their tables, or set aside (one `hold` per packet, until the last is released);
 *  4. its samples are computed, or a start computes them anyway. A start resumes a stream after its last stored rows, so the log must keep
 *     what arrived while older rows of the stream had to be computed again: from the first such position (`noteUncomputed`) until none
 *     is left.
 *  A horizon that is too low costs a longer replay, which is harmless: writes are idempotent. Too high loses acknowledged data. */
import assert from 'node:assert/strict';
import type { StreamId } from '../signal.ts';

export class ReplayHorizon {
  #handed: number;
  /** By position: number of packets whose measurements and events are not stored yet. */
  readonly #holders = new Map<number, number>();
  /** Streams with rows to compute again, and the position of the first samples that arrived since. */
  readonly #uncomputed = new Map<StreamId, number>();

  /** @param position of the checkpoint; nothing after it was passed on yet */
  constructor(position: number) {
    this.#handed = position;
  }

  /** Notes that everything up to this position was passed on to the writers and the feature pool. Positions must ascend. */
  noteHanded(position: number): void {
    assert(position >= this.#handed, `position ${position} of the log was handed on after ${this.#handed}`);
    this.#handed = position;
  }

  /** Notes that all batches below this position were passed on, and that all later ones will be above it. */
  noteClaim(position: number): void {
    if (this.#handed < position) this.#handed = position;
  }

  /** Keeps a position for one of its packets. @returns releases it; call it once */
  hold(position: number): () => void {
    this.#holders.set(position, (this.#holders.get(position) ?? 0) + 1);
    return () => {
      const count = this.#holders.get(position);
      assert(count !== undefined, `position ${position} of the log was released more often than it was held`);
      if (count === 1) this.#holders.delete(position);
      else this.#holders.set(position, count - 1);
    };
  }

  /** Notes samples that arrived while the stream had rows to compute again. The first such position counts. */
  noteUncomputed(streamId: StreamId, position: number): void {
    if (!this.#uncomputed.has(streamId)) this.#uncomputed.set(streamId, position);
  }

  /** The newest position up to which nothing is needed any more.
   *  @param samplesSafe position up to which all samples passed on are in sample_block
   *  @param isComputed whether the stream has no rows to compute again; then it needs nothing until the next noteUncomputed */
  position(samplesSafe: number, isComputed: (streamId: StreamId) => boolean): number {
    let position = Math.min(this.#handed, samplesSafe);
    for (const held of this.#holders.keys()) position = Math.min(position, held - 1);
    for (const [streamId, first] of this.#uncomputed) {
      if (isComputed(streamId)) this.#uncomputed.delete(streamId);
      else position = Math.min(position, first - 1);
    }
    return position;
  }
}
