/** Faults of a network: some packets are lost, some come twice, some overtake others, some come much later. Seeded. */
import { createRandom } from './random.ts';

export type FaultOptions = Readonly<{
  seed: number;
  /** Never sent. */
  dropPercent: number;
  /** Sent a second time, up to reorderMs later. */
  duplicatePercent: number;
  /** Held back up to reorderMs, so that later ones overtake. */
  reorderPercent: number;
  reorderMs: number;
  /** Held back for lateMs (7 days, or the end of the run). */
  latePercent: number;
  lateMs: number;
}>;

export const noFaults: Omit<FaultOptions, 'seed'> = {
  dropPercent: 0,
  duplicatePercent: 0,
  reorderPercent: 0,
  reorderMs: 0,
  latePercent: 0,
  lateMs: 0,
};

export type FaultyPath<T> = Readonly<{
  /** Takes the next packet at a device time; returns the packets that leave now, in order. */
  push: (item: T, nowMs: number) => T[];
  /** The packets still held back, in the order in which they would have left. */
  drain: () => T[];
  counts: { dropped: number; duplicated: number; reordered: number; late: number };
}>;

/** Each packet takes the same number of random draws whatever happens to it, so that one fault rate does not affect the others. */
export function createFaultyPath<T>(options: FaultOptions): FaultyPath<T> {
  const random = createRandom(options.seed, 'faults');
  let held: { item: T; atMs: number; order: number }[] = [];
  let order = 0;
  const counts = { dropped: 0, duplicated: 0, reordered: 0, late: 0 };
  const hold = (item: T, atMs: number): void => void held.push({ item, atMs, order: order++ });
  const byTime = (a: (typeof held)[number], b: (typeof held)[number]): number => a.atMs - b.atMs || a.order - b.order;
  return {
    counts,
    push: (item, nowMs) => {
      const [fate, duplicate, delay, delayOfCopy] = [random.next(), random.next(), random.next(), random.next()];
      const lost = options.dropPercent / 100;
      const late = lost + options.latePercent / 100;
      const reordered = late + options.reorderPercent / 100;
      if (fate < lost) counts.dropped++;
      else {
        if (fate < late) counts.late++;
        else if (fate < reordered) counts.reordered++;
        hold(item, fate < late ? nowMs + options.lateMs : fate < reordered ? nowMs + delay * options.reorderMs : nowMs);
        if (duplicate < options.duplicatePercent / 100) {
          counts.duplicated++;
          hold(item, nowMs + delayOfCopy * options.reorderMs);
        }
      }
      const due = held.filter((entry) => entry.atMs <= nowMs).toSorted(byTime);
      held = held.filter((entry) => entry.atMs > nowMs);
      return due.map((entry) => entry.item);
    },
    drain: () => {
      const rest = held.toSorted(byTime).map((entry) => entry.item);
      held = [];
      return rest;
    },
  };
}
