/** The recordings that PPG is scored on, each with its reference beats. */
import { join } from 'node:path';
import type { BeatDetector, FoundBeats } from '../src/dsp/kernels/contract.ts';
import { RPeakDetector } from '../src/dsp/ecg/r-peaks.ts';
import { listBidmc, listSpc, readBidmc, readSpc } from '../src/formats/datasets.ts';
import { readCapnobase } from './capnobase.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { PhysicalChannel } from './hrv-stream.ts';
import { agreedBeats, markedBeats, twoAverageRPeaks } from './ppg-reference.ts';
import type { PpgReference } from './ppg-reference.ts';
import type { ChosenOn } from './section.ts';

export const ppgSets = ['bidmc', 'spc', 'capnobase'] as const;
export type PpgSet = (typeof ppgSets)[number];
/** Parameters were chosen with these in view. */
export const ppgChosenOn: Readonly<Record<PpgSet, ChosenOn>> = { bidmc: 'yes', spc: 'yes', capnobase: 'no' };

export type PpgItem = Readonly<{
  /** Recording, and channel where it has two. */
  name: string;
  set: PpgSet;
  fs: number;
  ppg: Float64Array;
  /** Empty where the recording has none (CapnoBase). */
  ecg: Float64Array;
  /** R peaks of src/dsp, seconds; likewise. */
  rSec: Float64Array;
  reference: PpgReference;
  /** Inspirations by two annotators, seconds (BIDMC). */
  breathSec: readonly [Float64Array, Float64Array] | null;
  resp: Float64Array | null;
  /** Both wavelengths, the acceleration and the true rates (SPC). */
  spc: Readonly<{ ppg: readonly Float64Array[]; acc: readonly Float64Array[]; bpm: Float64Array }> | null;
}>;

/** Reads BIDMC, IEEE SPC and CapnoBase, as far as they are there. */
export function loadPpg(dataDir: string, sets: readonly PpgSet[] = ppgSets): PpgItem[] {
  const items: PpgItem[] = [];
  const bidmc = join(dataDir, 'bidmc');
  if (sets.includes('bidmc')) {
    listBidmc(bidmc).forEach((name) => {
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
  if (sets.includes('spc')) items.push(...loadSpc(join(dataDir, 'ieee_spc2015')));
  if (sets.includes('capnobase')) items.push(...loadCapnobase(join(dataDir, 'capnobase')));
  return items;
}

function loadSpc(dir: string): PpgItem[] {
  return listSpc(dir).flatMap((name) => {
    const { fs, ecg, ppg, acc, bpm } = readSpc(dir, name);
    const rSec = findBeats(new RPeakDetector(fs), ecg).map((position) => position / fs);
    const second = twoAverageRPeaks(ecg, fs);
    return ppg.map((x, channel): PpgItem => ({
      name: `${name.slice(0, 7)}.${channel + 1}`,
      set: 'spc',
      fs,
      ppg: x,
      ecg,
      rSec,
      reference: agreedBeats(rSec, second, x, fs),
      breathSec: null,
      resp: null,
      spc: { ppg, acc, bpm },
    }));
  });
}

function loadCapnobase(dir: string): PpgItem[] {
  return readCapnobase(dir).map(({ name, fs, ppg, peakSec, artefactSec }): PpgItem => ({
    name,
    set: 'capnobase',
    fs,
    ppg,
    ecg: new Float64Array(0),
    rSec: new Float64Array(0),
    reference: markedBeats(peakSec, artefactSec, ppg, fs),
    breathSec: null,
    resp: null,
    spc: null,
  }));
}

export const ppgChannels = (leads: readonly Float64Array[], fs: number): PhysicalChannel[] =>
  leads.map((samples, i) => ({ code: `ppg.${i}`, kind: 'ppg', fs, unit: '1', samples }));

export const accChannels = ({ spc, fs }: PpgItem): PhysicalChannel[] =>
  (spc?.acc ?? []).map((samples, i) => ({ code: `acc.${'xyz'[i]}`, kind: 'acc', fs, unit: 'g', samples }));

/** Pulse beats as the service stores them, s. @param leads wavelengths to fuse */
export const pulseBeats = (leads: readonly Float64Array[], fs: number): Float64Array =>
  beatSeconds(streamRows(ppgChannels(leads, fs)), 'ppg');

/** Beats of a whole recording by a detector alone, fed in 1 s pieces: for references, and for what the engine does not give out. @returns
 *  fractional sample positions */
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
