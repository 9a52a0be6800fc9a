/** Ranks the stretches of a recording that are not good, the longest first: buckets of the whole say where to look, finer ones of those
 *  places say from when to when. */
import type { Quality, RecordingSource } from './recording-source.ts';

/** A stretch of fine buckets none of which is good. */
export type BadStretch = Readonly<{
  fromMs: number;
  toMs: number;
  /** So much of it is bad; the rest is suspect, ms. */
  badMs: number;
}>;

/** The least of a bucket of the whole that is looked at, ms: half of a fine bucket. */
const LEAST_MS = 2500;
/** Read with one question, ms: fine buckets of 5 s, fewer than the service gives at most. */
const PLACE_MS = 4_500_000;
/** Read on both sides of a place: a fine bucket may lie over its edge, ms. */
const EDGE_MS = 10_000;
/** Places that are looked at. */
const LOOKS_MAX = 60;

/** @param coarse buckets of the whole recording
 *  @param fine buckets of a part of it
 *  @returns the longest first; of the same length, the one with more that is bad. Where there are more places than are looked at, those
 *    with the most that is not good are; stretches that are shorter than one of the others could be are left out */
export async function worstStretches(
  coarse: Quality,
  fine: (fromMs: number, toMs: number) => Promise<Quality | null>,
): Promise<BadStretch[]> {
  const places = placesOf(coarse).toSorted((a, b) => b.lostMs - a.lostMs);
  const read = places.slice(0, LOOKS_MAX).toSorted((a, b) => a.fromMs - b.fromMs);
  const found: BadStretch[] = [];
  for (const { fromMs, toMs } of read) {
    const quality = await fine(fromMs - EDGE_MS, toMs + EDGE_MS);
    for (const stretch of quality === null ? [] : stretchesOf(quality)) {
      const before = found.at(-1);
      // Places that touch share what reaches over their edge.
      if (before !== undefined && stretch.fromMs <= before.toMs) found[found.length - 1] = joined(before, stretch);
      else found.push(stretch);
    }
  }
  const unseenMs = places[LOOKS_MAX]?.lostMs ?? 0;
  return found.filter((stretch) => lengthOf(stretch) >= unseenMs).toSorted(byLength);
}

const lengthOf = ({ fromMs, toMs }: BadStretch): number => toMs - fromMs;
const byLength = (a: BadStretch, b: BadStretch): number => lengthOf(b) - lengthOf(a) || b.badMs - a.badMs || a.fromMs - b.fromMs;

type Place = Readonly<{ fromMs: number; toMs: number; lostMs: number }>;

/** Neighbouring buckets of which some is not good, in parts that one question reads. */
function placesOf({ timesMs, stepMs, goodShares }: Quality): Place[] {
  const places: Place[] = [];
  let open: Place | null = null;
  for (const [i, fromMs] of timesMs.entries()) {
    const lostMs = (1 - goodShares[i]!) * stepMs;
    if (lostMs < Math.min(LEAST_MS, stepMs / 2)) continue;
    const toMs = fromMs + stepMs;
    const goesOn: boolean = open !== null && fromMs - open.toMs < stepMs / 2 && toMs - open.fromMs <= PLACE_MS;
    if (goesOn) places.pop();
    open = goesOn ? { fromMs: open!.fromMs, toMs, lostMs: open!.lostMs + lostMs } : { fromMs, toMs, lostMs };
    places.push(open);
  }
  return places;
}

/** The stretch that begins at a time, with the ends that it has among the worst.
 *  @param fine buckets of a part of the recording  @param partMs as long as what one question reads
 *  @returns null: none does */
export async function stretchFrom(
  fromMs: number,
  fine: (fromMs: number, toMs: number) => Promise<Quality | null>,
  partMs = PLACE_MS,
): Promise<BadStretch | null> {
  let found: BadStretch | null = null;
  for (let atMs = fromMs + 1; ;) {
    const quality = await fine(atMs - EDGE_MS, atMs + partMs);
    const next = quality === null ? undefined : stretchesOf(quality).find((one) => one.fromMs <= atMs && one.toMs > atMs);
    if (next === undefined) return found;
    found = found === null ? next : joined(found, next);
    if (found.toMs < atMs + partMs - EDGE_MS) return found;
    atMs = found.toMs - quality!.stepMs / 2;
  }
}

function stretchesOf({ timesMs, stepMs, flags }: Quality): BadStretch[] {
  const found: BadStretch[] = [];
  for (const [i, flag] of flags.entries()) {
    if (flag === 0) continue;
    const [fromMs, before] = [timesMs[i]!, found.at(-1)];
    const one = { fromMs, toMs: fromMs + stepMs, badMs: flag > 1 ? stepMs : 0 };
    if (before !== undefined && fromMs - before.toMs < stepMs / 2) found[found.length - 1] = joined(before, one);
    else found.push(one);
  }
  return found;
}

/** @param next begins within the first, or where it ends */
function joined(first: BadStretch, next: BadStretch): BadStretch {
  const [fromMs, toMs] = [first.fromMs, Math.max(first.toMs, next.toMs)];
  return { fromMs, toMs, badMs: Math.min(toMs - fromMs, first.badMs + next.badMs) };
}

/** Buckets are of the clock: the first may begin before the recording, the last end after it. */
export function within({ fromMs, toMs, badMs }: BadStretch, { startMs, endMs }: Readonly<{ startMs: number; endMs: number }>): BadStretch {
  const [from, to] = [Math.max(fromMs, startMs), Math.min(toMs, Math.max(startMs, endMs))];
  return { fromMs: from, toMs: to, badMs: Math.min(badMs, to - from) };
}

/** Walks from the worst stretch to the next worst, and back. */
export class WorstWalk {
  #of: Quality | null = null;
  #list: readonly BadStretch[] = [];
  /** Where the one begins that was gone to last. */
  #atMs: number | null = null;

  /** There was no bad stretch at the last step. */
  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  /** The next step begins with the worst again. */
  restart(): void {
    this.#atMs = null;
  }

  /** @param quality of the whole recording; read anew while it goes on
   *  @param forward to a less bad one
   *  @returns null: there is none in this direction */
  async step(
    source: RecordingSource,
    quality: Quality,
    forward: boolean,
    signal: AbortSignal,
  ): Promise<Readonly<{ stretch: BadStretch; rank: number; count: number }> | null> {
    if (this.#of !== quality) {
      if (this.#of?.channel !== quality.channel) this.restart();
      const list = await worstStretches(quality, (fromMs, toMs) => source.judged(quality.channel, fromMs, toMs, signal));
      if (signal.aborted) return null;
      [this.#of, this.#list] = [quality, list.map((stretch) => within(stretch, source)).toSorted(byLength)];
    }
    const at = this.#atMs === null ? -1 : this.#list.findIndex(({ fromMs }) => fromMs === this.#atMs);
    const next = forward ? at + 1 : at - 1;
    const stretch = this.#list[next];
    if (stretch === undefined) return null;
    this.#atMs = stretch.fromMs;
    return { stretch, rank: next + 1, count: this.#list.length };
  }
}
