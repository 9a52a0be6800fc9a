/** Finds where gaps and stretches of bad quality begin, however long the recording: buckets of the whole say where to look, finer ones of
 *  those places say where exactly. */
import type { Envelope, Quality } from './recording-source.ts';

/** Buckets that follow one another, and which of them are what is looked for. */
export type Flags = Readonly<{ timesMs: readonly number[]; stepMs: number; isOne: readonly boolean[] }>;

/** Places that are looked at before the search gives up. */
const LOOKS_MAX = 60;
/** The least gap that is found; and the least that is bad of a bucket of the whole where half of a finer one is, ms. */
const GAP_MS = 1000;
const BAD_MS = 2500;

/** @param coarse buckets of the whole recording in which such a stretch may begin
 *  @param fine buckets of a part of it; what it begins with is not a beginning
 *  @returns where the next stretch after `fromMs`, or the last one before it, begins; null: nowhere */
export async function nextStretch(
  coarse: Flags,
  fine: (fromMs: number, toMs: number) => Promise<Flags>,
  fromMs: number,
  forward: boolean,
): Promise<number | null> {
  const { timesMs, stepMs, isOne } = coarse;
  const places = timesMs.filter((ms, i) => isOne[i]! && (forward ? ms + stepMs > fromMs : ms < fromMs));
  for (const placeMs of (forward ? places : places.toReversed()).slice(0, LOOKS_MAX)) {
    const found = beginnings(await fine(placeMs, placeMs + stepMs));
    const beyond = found.filter((ms) => (forward ? ms > fromMs + 1 : ms < fromMs - 1));
    const hit = forward ? beyond[0] : beyond.at(-1);
    if (hit !== undefined) return hit;
  }
  return null;
}

const beginnings = ({ timesMs, isOne }: Flags): number[] => timesMs.filter((_, i) => i > 0 && isOne[i]! && !isOne[i - 1]!);

/** Buckets of a whole recording that have less than they should. */
export function maybeGaps({ t0Ms, stepMs, n, rateHz }: Envelope): Flags {
  const due = (rateHz * stepMs) / 1000;
  // Within a long gap none begins.
  const isOne = n.map((count, i) => {
    const isShort = count === 0 || count < due - (rateHz * GAP_MS) / 1000;
    return isShort && (count > 0 || (n[i - 1] ?? 0) > 0);
  });
  return { timesMs: n.map((_, i) => t0Ms + i * stepMs), stepMs, isOne };
}

/** Buckets without samples in a part of a recording. An answer begins and ends with a bucket that has samples.
 *  @param envelope null: the part has none */
export function gapsOf(envelope: Envelope | null, fromMs: number, toMs: number): Flags {
  if (envelope === null) return { timesMs: [], stepMs: 1, isOne: [] };
  const { t0Ms, stepMs, n } = envelope;
  const before = Math.max(0, Math.round((t0Ms - fromMs) / stepMs));
  const length = Math.max(n.length + before, Math.ceil((toMs - t0Ms) / stepMs) + before);
  const places = Array.from({ length }, (_, i) => i - before);
  return { timesMs: places.map((i) => t0Ms + i * stepMs), stepMs, isOne: places.map((i) => (n[i] ?? 0) === 0) };
}

/** Buckets of a whole recording of which some is not good. */
export function maybeBad({ timesMs, stepMs, goodShares }: Quality): Flags {
  const isOne = goodShares.map((share, i) => {
    const isBad = share < 0.5 || (1 - share) * stepMs >= BAD_MS;
    return isBad && (share > 0 || (goodShares[i - 1] ?? 1) > 0);
  });
  return { timesMs, stepMs, isOne };
}

/** Buckets of a part of a recording that are not good. Where nothing is judged, before its beginning too, a stretch ends and begins. */
export function badOf({ timesMs, stepMs, flags }: Quality, startMs: number): Flags {
  const found: [timeMs: number, isOne: boolean][] = [];
  for (const [i, timeMs] of timesMs.entries()) {
    const beforeMs = timesMs[i - 1] ?? (timeMs - stepMs < startMs ? -Infinity : timeMs);
    if (timeMs - beforeMs > 1.5 * stepMs) found.push([timeMs - stepMs, false]);
    found.push([Math.max(timeMs, startMs), flags[i]! > 0]);
  }
  return { timesMs: found.map(([timeMs]) => timeMs), stepMs, isOne: found.map(([, isOne]) => isOne) };
}
