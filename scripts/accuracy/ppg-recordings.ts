/** The recordings that PPG is scored on, each with its reference beats. */
import { join } from 'node:path';
import type { BeatDetector, FoundBeats } from '../../src/dsp/kernel.ts';
import { RPeakDetector } from '../../src/dsp/r-peaks.ts';
import { listBidmc, listSpc, readBidmc, readSpc } from '../../src/formats/recordings.ts';
import { agreedBeats, twoAverageRPeaks } from './ppg-reference.ts';
import type { PpgReference } from './ppg-reference.ts';

export type PpgItem = Readonly<{
  /** Recording, and channel where it has two. */
  name: string;
  set: 'bidmc' | 'spc';
  /** 0 or 1: recordings alternate; what is fitted on one half is checked on the other. */
  half: number;
  fs: number;
  ppg: Float64Array;
  ecg: Float64Array;
  /** R peaks of src/dsp, seconds. */
  rSec: Float64Array;
  reference: PpgReference;
  /** Inspirations by two annotators, seconds (BIDMC). */
  breathSec: readonly [Float64Array, Float64Array] | null;
  resp: Float64Array | null;
  /** Both wavelengths, the acceleration and the true rates (SPC). */
  spc: Readonly<{ ppg: readonly Float64Array[]; acc: readonly Float64Array[]; bpm: Float64Array }> | null;
}>;

/** Reads BIDMC and IEEE SPC, as far as they are there. */
export function loadPpg(dataDir: string, sets: readonly ('bidmc' | 'spc')[] = ['bidmc', 'spc']): PpgItem[] {
  const items: PpgItem[] = [];
  const bidmc = join(dataDir, 'bidmc');
  if (sets.includes('bidmc')) {
    listBidmc(bidmc).forEach((name, index) => {
      const recording = readBidmc(bidmc, name);
      const ecg = recording.signals.get('II') ?? recording.signals.get('I');
      const ppg = recording.signals.get('PLETH');
      if (ecg === undefined || ppg === undefined) return;
      const { fs } = recording;
      const rSec = findBeats(new RPeakDetector(fs), ecg).map((position) => position / fs);
      const toSec = (indices: Int32Array): Float64Array => Float64Array.from(indices, (i) => i / fs);
      items.push({
        name,
        set: 'bidmc',
        half: index % 2,
        fs,
        ppg,
        ecg,
        rSec,
        reference: agreedBeats(rSec, twoAverageRPeaks(ecg, fs), ppg, fs),
        breathSec: [toSec(recording.breaths[0]), toSec(recording.breaths[1])],
        resp: recording.signals.get('RESP') ?? null,
        spc: null,
      });
    });
  }
  const spcDir = join(dataDir, 'ieee_spc2015');
  if (!sets.includes('spc')) return items;
  listSpc(spcDir).forEach((name, index) => {
    const { fs, ecg, ppg, acc, bpm } = readSpc(spcDir, name);
    const rSec = findBeats(new RPeakDetector(fs), ecg).map((position) => position / fs);
    const second = twoAverageRPeaks(ecg, fs);
    ppg.forEach((x, channel) => {
      items.push({
        name: `${name.slice(0, 7)}.${channel + 1}`,
        set: 'spc',
        half: index % 2,
        fs,
        ppg: x,
        ecg,
        rSec,
        reference: agreedBeats(rSec, second, x, fs),
        breathSec: null,
        resp: null,
        spc: { ppg, acc, bpm },
      });
    });
  });
  return items;
}

/** Beats of a whole recording, fed in 1 s pieces. @returns fractional sample positions */
export function findBeats(detector: BeatDetector, x: Float64Array | readonly Float64Array[]): Float64Array {
  const found = findAll(detector, x);
  return found.position.slice(0, found.count);
}

export function findAll(detector: BeatDetector, x: Float64Array | readonly Float64Array[]): FoundBeats {
  const out: FoundBeats = { count: 0, position: new Float64Array(1024), confidence: new Float64Array(1024) };
  const leads = x instanceof Float64Array ? [x] : x;
  const { length } = leads[0]!;
  for (let at = 0; at < length; at += 125) detector.push(leads, at, Math.min(length, at + 125), out);
  detector.flush(out);
  return out;
}
