/** Beats as people have corrected them, and the heart rate variability of both: as computed, and as corrected. */
import { timeDomain } from '../dsp/hrv/time-domain.ts';
import type { BeatColumns } from './series-pages.ts';

/** A correction means the nearest beat within this time, ns: the window in which EC57 takes two beats for the same one. */
export const MATCH_NS = 150_000_000n;
/** So far from a range may be what decides about a beat at its edge: a correction near the range may mean a beat in it, and it means the
 *  nearest one, which may be further out, ns. */
export const CORRECTED_NS = 2n * MATCH_NS;
/** A longer interval is a gap, as in the values that are stored, ns. */
export const INTERVAL_MAX_NS = 3_000_000_000n;

const normal = 0; // of beatKinds

/** What a person says of the beat nearest to `tsNs`: its kind by AAMI EC57, or none where no beat is.
 *  @param channel whose beats it is of, where beats have one; null, or none given: of all */
export type Correction = Readonly<{ id: string; tsNs: bigint; beat: string; channel?: string | null }>;

/** A correction, and the computed beat that it is of; null: none was found there. */
export type AppliedCorrection = Correction & Readonly<{ found: Readonly<{ tsNs: bigint; kind: number }> | null }>;

export type BeatSummary = Readonly<{
  beatCount: number;
  /** Beats that are not normal. */
  otherCount: number;
  /** Intervals between normal beats that follow each other. */
  nnCount: number;
  /** null: too few intervals. */
  meanHr: number | null;
  sdnnMs: number | null;
  rmssdMs: number | null;
  pnn50Percent: number | null;
}>;

/** A beat as corrected. */
export type CorrectedBeat = Readonly<{
  tsNs: bigint;
  /** What a person says that it is; null: nobody has. */
  said: string | null;
  /** Of which channel alone that was said; null: of all. */
  saidOf: string | null;
  /** Its place in the columns; -1: it was not found. */
  index: number;
}>;

type Beat = CorrectedBeat & Readonly<{ isNormal: boolean }>;

/** Times of a range, Unix ns, [fromNs, toNs). */
export type Range = Readonly<{ fromNs: bigint; toNs: bigint }>;

/** @param columns beats as computed, ascending
 *  @param corrections in the order in which they were made; of two for a beat the later counts
 *  @param range of the beats and corrections that are answered; those near it are given too, because a correction at its edge may mean a
 *  beat on the other side
 *  @param channels of the beats, where they are of several: a correction of one means none of another */
export function correctBeats(
  columns: Pick<BeatColumns, 'tsNs' | 'intervalMs' | 'kinds' | 'accepted'> & Readonly<{ channels?: readonly string[] }>,
  corrections: readonly Correction[],
  range?: Range,
): Readonly<{
  computed: BeatSummary;
  corrected: BeatSummary;
  applied: readonly AppliedCorrection[];
  /** Beats as corrected, ascending. */
  beats: readonly CorrectedBeat[];
}> {
  const computed: Beat[] = Array.from(columns.tsNs, (tsNs, index) => {
    return { tsNs, said: null, saidOf: null, index, isNormal: columns.kinds[index] === normal };
  });
  const applied: AppliedCorrection[] = [];
  /** What was said, by the beat that it was said of. */
  const said = new Map<Beat, Correction>();
  /** By the channel that a correction is of; '': of all. */
  const targets = new Map<string, Readonly<{ beats: readonly Beat[]; added: AddedBeats }>>();
  for (const correction of corrections) {
    const of = columns.channels === undefined ? '' : (correction.channel ?? '');
    const target = targets.get(of) ?? {
      beats: of === '' ? computed : computed.filter(({ index }) => columns.channels![index] === of),
      added: new AddedBeats(),
    };
    targets.set(of, target);
    const beat = nearest(target.beats, correction.tsNs) ?? target.added.at(correction.tsNs);
    said.set(beat, correction);
    applied.push({ ...correction, found: beat.index < 0 ? null : { tsNs: beat.tsNs, kind: columns.kinds[beat.index]! } });
  }
  const isInside = ({ tsNs }: Readonly<{ tsNs: bigint }>): boolean => range === undefined || (tsNs >= range.fromNs && tsNs < range.toNs);
  const beats = [computed, ...[...targets.values()].map(({ added }) => added.beats)]
    .flat()
    .filter(isInside)
    .map((beat) => {
      const what = said.get(beat);
      return what === undefined ? beat : { ...beat, said: what.beat, saidOf: what.channel ?? null, isNormal: what.beat === 'N' };
    })
    .filter((beat) => beat.said !== 'none')
    .toSorted((a, b) => (a.tsNs < b.tsNs ? -1 : a.tsNs > b.tsNs ? 1 : 0));
  return {
    computed: summary(computed.filter(isInside), columns),
    corrected: summary(beats, columns),
    applied: applied.filter(isInside),
    beats,
  };
}

/** Beats that were not found by the service. No two are within MATCH_NS of each other, so that a cell of that length holds one at most, and
 *  looking for one costs the same however many there are. */
class AddedBeats {
  readonly beats: Beat[] = [];
  /** Place in `beats` by cell. */
  readonly #places = new Map<bigint, number>();

  /** The first that was added within MATCH_NS of a time; a new one where there is none. */
  at(tsNs: bigint): Beat {
    const cell = (tsNs - (((tsNs % MATCH_NS) + MATCH_NS) % MATCH_NS)) / MATCH_NS; // rounded down, before 1970 too
    let first = Infinity;
    for (const near of [cell - 1n, cell, cell + 1n]) {
      const place = this.#places.get(near);
      if (place !== undefined && place < first && distance(this.beats[place]!.tsNs, tsNs) <= MATCH_NS) first = place;
    }
    const found = this.beats[first];
    if (found !== undefined) return found;
    const beat = { tsNs, said: null, saidOf: null, index: -1, isNormal: false };
    this.#places.set(cell, this.beats.push(beat) - 1);
    return beat;
  }
}

/** NN intervals: between beats that nobody corrected, those that the service took; at a corrected beat, every one between normal beats. */
function summary(beats: readonly Beat[], { intervalMs, accepted }: Pick<BeatColumns, 'intervalMs' | 'accepted'>): BeatSummary {
  const nnMs: number[] = [];
  const adjacent: number[] = [];
  let before = false;
  for (let i = 1; i < beats.length; i++) {
    const [a, b] = [beats[i - 1]!, beats[i]!];
    const isAsComputed = a.said === null && b.said === null && b.index === a.index + 1;
    const apartNs = b.tsNs - a.tsNs;
    const isNn = isAsComputed
      ? accepted[b.index] === 1 && !Number.isNaN(intervalMs[b.index])
      : a.isNormal && b.isNormal && apartNs > 0n && apartNs <= INTERVAL_MAX_NS;
    if (isNn) {
      nnMs.push(isAsComputed ? intervalMs[b.index]! : Number(apartNs) / 1e6);
      adjacent.push(before ? 1 : 0);
    }
    before = isNn;
  }
  const values = timeDomain({ count: nnMs.length, nnMs: Float64Array.from(nnMs), adjacent: Uint8Array.from(adjacent) });
  const known = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    beatCount: beats.length,
    otherCount: beats.filter(({ isNormal }) => !isNormal).length,
    nnCount: nnMs.length,
    meanHr: known(60_000 / values.meanNnMs),
    sdnnMs: known(values.sdnnMs),
    rmssdMs: known(values.rmssdMs),
    pnn50Percent: known(100 * values.pnn50),
  };
}

/** The beat nearest to a time, within MATCH_NS. @param beats ascending */
function nearest(beats: readonly Beat[], tsNs: bigint): Beat | undefined {
  let low = 0;
  let high = beats.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beats[middle]!.tsNs < tsNs) low = middle + 1;
    else high = middle;
  }
  const candidates = beats.slice(Math.max(0, low - 1), low + 1).filter((beat) => distance(beat.tsNs, tsNs) <= MATCH_NS);
  return candidates.toSorted((a, b) => Number(distance(a.tsNs, tsNs) - distance(b.tsNs, tsNs)))[0];
}

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);
