/** Peaks of the detection signal: those that wait for judgement, and those rejected since the last beat. */
import { arenaDoubles } from '../kernels/arena.ts';

const QUEUE = 64; // a power of two
/** Slot of a candidate in the columns of Candidates. */
export const SLOT = QUEUE - 1;

/** Wait for judgement: numbers [head, tail), in the columns at number & SLOT. The oldest is dropped when it is full. */
export class Candidates {
  /** Feature sample of the peak. */
  readonly at = arenaDoubles(QUEUE);
  readonly height = arenaDoubles(QUEUE);
  /** Steepest |slope| and sharpest bend since the peak before. */
  readonly steep = arenaDoubles(QUEUE);
  readonly edge = arenaDoubles(QUEUE);
  /** Valley before it. */
  readonly before = arenaDoubles(QUEUE);
  head = 0;
  tail = 0;

  add(at: number, height: number, steep: number, edge: number, valley: number): void {
    const slot = this.tail++ & SLOT;
    if (this.tail - this.head > QUEUE) this.head++;
    this.at[slot] = at;
    this.height[slot] = height;
    this.steep[slot] = steep;
    this.edge[slot] = edge;
    this.before[slot] = valley;
  }

  clear(): void {
    this.head = 0;
    this.tail = 0;
  }
}

/** Rejected since the last beat, oldest first: what is searched back for a beat that is missing. */
export class Rejected {
  readonly at = arenaDoubles(QUEUE);
  readonly height = arenaDoubles(QUEUE);
  readonly steep = arenaDoubles(QUEUE);
  readonly edge = arenaDoubles(QUEUE);
  readonly score = arenaDoubles(QUEUE);
  count = 0;

  keep(at: number, height: number, steep: number, edge: number, score: number): void {
    if (this.count === QUEUE) this.drop(1);
    const i = this.count++;
    this.at[i] = at;
    this.height[i] = height;
    this.steep[i] = steep;
    this.edge[i] = edge;
    this.score[i] = score;
  }

  drop(count: number): void {
    this.at.copyWithin(0, count);
    this.height.copyWithin(0, count);
    this.steep.copyWithin(0, count);
    this.edge.copyWithin(0, count);
    this.score.copyWithin(0, count);
    this.count -= count;
  }

  remove(i: number): void {
    for (const column of [this.at, this.height, this.steep, this.edge, this.score]) column.copyWithin(i, i + 1, this.count);
    this.count--;
  }

  /** Drops candidates before `oldest`. @returns number of the best one at least `apart` after `lastAt`; -1: none */
  best(oldest: number, lastAt: number, apart: number): number {
    let old = 0;
    while (old < this.count && this.at[old]! < oldest) old++;
    if (old > 0) this.drop(old);
    let best = -1;
    for (let i = 0; i < this.count; i++) {
      if (this.at[i]! - lastAt < apart) continue;
      if (best < 0 || this.score[i]! > this.score[best]!) best = i;
    }
    return best;
  }
}

/** What the detector thought of its candidates: beats, and the rejected ones that were not far from being one. */
export type CandidateNotes = {
  count: number;
  /** Samples since reset, ascending but for beats found by searching back. */
  readonly position: Float64Array;
  /** Above 0: taken at once. */
  readonly score: Float32Array;
  /** exp -|score|. */
  readonly doubt: Float64Array;
  /** Correlation with the mean beat, -1..1. */
  readonly alike: Float32Array;
  /** Noise level over signal level. */
  readonly noise: Float32Array;
  readonly isBeat: Uint8Array;
};

/** Appends a note; what comes when they are full is left out. @param noise level over signal level */
export function appendNote(notes: CandidateNotes, position: number, score: number, alike: number, noise: number, isBeat: number): void {
  if (notes.count === notes.score.length) return;
  const i = notes.count++;
  notes.position[i] = position;
  notes.score[i] = score;
  notes.doubt[i] = Math.exp(-Math.abs(notes.score[i]!));
  notes.alike[i] = alike;
  notes.noise[i] = noise;
  notes.isBeat[i] = isBeat;
}
