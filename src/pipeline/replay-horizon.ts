/** Who still needs which position of the packet log.
 *
 *  A position is one group commit. What is at or before the checkpoint may leave the log; what is after it a start replays. The invariant:
 *  a position leaves only when whatever was acknowledged at it, and at every position before it, no longer depends on this process:
 *  1. it was handed on: writers and feature pool were told of its packets (`noteHanded`);
 *  2. its samples are in sample_block, or set aside (`samplesSafe`: the block writer knows its open, sealed and travelling rows);
 *  3. its measurements and events are in their tables, or set aside (one `hold` for each packet; the position goes with the last);
 *  4. its samples are computed, or a start computes them anyway. A stream goes on after its last stored rows, so what must be kept is what
 *     came while the stream had older rows to compute again: from the first such position (`noteUncomputed`) until none is left.
 *  A horizon too low costs a longer replay, and writing twice is writing once. One too high loses what was acknowledged. */
import assert from 'node:assert/strict';
import type { StreamId } from '../signal.ts';

export class ReplayHorizon {
  #handed: number;
  /** Packets whose measurements and events are not stored yet, by position. */
  readonly #holders = new Map<number, number>();
  /** Streams with rows to compute again, and the position of the first samples since. */
  readonly #uncomputed = new Map<StreamId, number>();

  /** @param position the checkpoint: nothing after it was handed on yet */
  constructor(position: number) {
    this.#handed = position;
  }

  /** Everything up to this position was given to the writers and to the feature pool. Positions come in ascending order. */
  noteHanded(position: number): void {
    assert(position >= this.#handed, `position ${position} of the log was handed on after ${this.#handed}`);
    this.#handed = position;
  }

  /** A packet of this position needs the log. @returns to be called once, when it does not any more */
  hold(position: number): () => void {
    this.#holders.set(position, (this.#holders.get(position) ?? 0) + 1);
    return () => {
      const count = this.#holders.get(position);
      assert(count !== undefined, `position ${position} of the log was let go more often than it was held`);
      if (count === 1) this.#holders.delete(position);
      else this.#holders.set(position, count - 1);
    };
  }

  /** Samples of this position came while the stream had rows to compute again. The first such position counts. */
  noteUncomputed(streamId: StreamId, position: number): void {
    if (!this.#uncomputed.has(streamId)) this.#uncomputed.set(streamId, position);
  }

  /** The newest position that nobody needs, nor any before it.
   *  @param samplesSafe up to where everything is in sample_block, as far as it was handed on
   *  @param isComputed has the stream no rows to compute again? Then it needs nothing until noteUncomputed says so once more */
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
