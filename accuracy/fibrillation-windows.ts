/** Measures behind the fibrillation index of a window: worked out again from the stored beats and the samples, to fit its weights, and to
 *  see that the engine's index is what it says. */
import { featureMethods, methodIndex } from '../src/dsp/rows/methods.ts';
import {
  ECTOPIC_MIN,
  INTERVALS_MIN,
  LAG_MAX,
  P_INTERVAL_MIN_SEC,
  P_POINTS,
  irregularity,
  irregularityMin,
  pLikeness,
  pShape,
} from '../src/dsp/hrv/fibrillation.ts';
import { PPoints } from '../src/dsp/engine/p-points.ts';
import { SampleRing } from '../src/dsp/engine/sample-ring.ts';
import type { BeatRow } from '../src/dsp/rows/feature-rows.ts';
import type { StreamRows } from './hrv-stream.ts';

const { windowSec } = featureMethods[methodIndex('af_index')]!;

/** A value of the index: when, what, its flag, and the logistic regression's features of its window. */
export type IndexedWindow = Readonly<{
  endSec: number;
  index: number;
  qmask: number;
  features: readonly [irregular: number, likeness: number];
}>;

/** @param x the first lead, from device time 0 on */
export function indexedWindows({ beats, features }: StreamRows, x: Float64Array, fs: number): IndexedWindow[] {
  const found = beats.filter(({ kind }) => kind !== 'interpolated').toSorted((a, b) => Number(a.tNs - b.tNs));
  const ring = new SampleRing(fs, x.length / fs + 1);
  ring.push(x, 0, x.length, 0);
  const pPoints = new PPoints(fs, ring);
  return (features.get('af_index') ?? []).map(({ tNs, value, qmask }) => {
    const endUs = Number(tNs / 1000n);
    const own = found.filter(({ tNs: at }) => usOf(at) > endUs - windowSec * 1e6 && usOf(at) <= endUs);
    return { endSec: endUs / 1e6, index: value, qmask, features: measures(own, pPoints) };
  });
}

const usOf = (tNs: bigint): number => Number(tNs / 1000n);

const trusts = [
  ({ quality, kind }: BeatRow) => quality === 0 && kind === 'normal',
  ({ quality }: BeatRow) => quality === 0,
  () => true,
] as const;

function measures(beats: readonly BeatRow[], pPoints: PPoints): [number, number] {
  const isPatterned = beats.filter(({ reason }) => isEctopicReason(reason)).length >= ECTOPIC_MIN * beats.length;
  for (const isTrusted of trusts) {
    const rr: number[] = [];
    const adjacent: number[] = [];
    const shapes: number[] = [];
    let last = -1;
    for (let i = 1; i < beats.length; i++) {
      const { tNs, ibiMs } = beats[i]!;
      if (Number.isNaN(ibiMs) || !isTrusted(beats[i - 1]!) || !isTrusted(beats[i]!)) continue;
      rr.push(usOf(tNs) - usOf(beats[i - 1]!.tNs));
      adjacent.push(last === i - 1 ? 1 : 0);
      last = i;
      if (isPatterned && beats[i]!.reason === 'ventricular') continue;
      if (rr.at(-1)! > P_INTERVAL_MIN_SEC * 1e6) shapes.push(...(shapeBefore(usOf(tNs), pPoints) ?? []));
    }
    if (rr.length < INTERVALS_MIN) continue;
    const starts = Int32Array.from({ length: shapes.length / P_POINTS }, (_, i) => i * P_POINTS);
    const irregular = irregularity(Float64Array.from(rr), Uint8Array.from(adjacent), rr.length, isPatterned ? LAG_MAX : 1);
    return [Math.log(irregular + irregularityMin), pLikeness(Int8Array.from(shapes), starts, starts.length)];
  }
  return [Number.NaN, Number.NaN];
}

const isEctopicReason = (reason: string): boolean => reason === 'ventricular' || reason === 'supraventricular';

function shapeBefore(tUs: number, pPoints: PPoints): Int8Array | null {
  const points = new Float64Array(P_POINTS);
  pPoints.before(tUs, points);
  const shape = new Int8Array(P_POINTS);
  return pShape(points, shape, 0) ? shape : null;
}
