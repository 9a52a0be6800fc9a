/** R peaks of a whole recording in memory, cut into segments as the service cuts a stream. */

import { appendBeat, noBeats } from '../kernels/found-beats.ts';
import type { FoundBeats } from '../kernels/contract.ts';
import { RPeakDetector } from './r-peaks.ts';
import { contextSec, segmentSec } from '../kernels/segment-grid.ts';

const SEAM_SEC = 0.2; // two beats closer than this across a seam are one

/** Finds R peaks as the service does: each 64 s segment by a detector that starts 16 s before it.
 *  @param leads of one rate and length, physical units; NaN marks a missing sample
 *  @param fs sampling rate in Hz, 100..1000
 *  @returns ascending fractional sample indices and a confidence 0..1 for each */
export function findRPeaks(leads: readonly Float64Array[], fs: number): FoundBeats {
  const detector = new RPeakDetector(fs, leads.length);
  const n = leads[0]?.length ?? 0;
  const found = noBeats();
  const all = noBeats(Math.ceil((2 * n) / fs) + 16);
  for (let segment = 0; segment * segmentSec * fs < n; segment++) {
    const start = Math.ceil(segment * segmentSec * fs);
    const end = Math.min(n, Math.ceil((segment + 1) * segmentSec * fs));
    const from = Math.max(0, Math.ceil((segment * segmentSec - contextSec) * fs));
    const to = Math.min(n, end + Math.ceil(detector.latencySec * fs) + 1);
    detector.reset();
    found.count = 0;
    detector.push(leads, from, to, found);
    if (to === n) detector.flush(found);
    for (let i = 0; i < found.count; i++) {
      const position = from + found.position[i]!;
      if (position < start || position >= end) continue;
      const last = all.count === 0 ? Number.NEGATIVE_INFINITY : all.position[all.count - 1]!;
      if (last < start && position - last < SEAM_SEC * fs) continue;
      appendBeat(all, position, found.confidence[i]!);
    }
  }
  return all;
}
