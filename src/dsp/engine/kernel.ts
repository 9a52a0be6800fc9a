/** The common interface through which the segment runner uses every kernel, and its adapters. */
import type { FoundValues } from '../kernels/block-values.ts';
import { emptyValues } from '../kernels/block-values.ts';
import type { Eda } from '../slow/eda.ts';
import { emptyResponses } from '../slow/eda.ts';
import { noBeats, noShapedBeats } from '../kernels/found-beats.ts';
import type { EcgKernel } from '../ecg/kernel.ts';
import { noJudgements } from '../ecg/kernel.ts';
import type { BreathDetector } from '../slow/respiration.ts';
import { motionRateFlag } from '../ppg/motion-trust.ts';
import type { PulseKernel } from '../ppg/pulse.ts';
import { emptyPulse } from '../ppg/pulse.ts';
import { positionUs } from '../kernels/segment-grid.ts';

/** What an item is. Events (beats, breaths, responses) lie anywhere and may be seen twice at a seam; the others lie on a grid. */
export const itemKind = { event: 0, second: 1, rate: 2, judgement: 3, block: 4 } as const;

/** Things found: kind, device time (whole µs) and six numbers each, flattened; items of one kind ascend in time. A plain array: nearly
 *  always empty, and most runs never fill it. */
export type Items = { count: number; values: number[] };

export const itemWidth = 9;

export const newItems = (): Items => ({ count: 0, values: [] });

export interface SegmentKernel {
  /** An item at time t has been found once the sample at t + latencySec was pushed. */
  readonly latencySec: number;
  /** Start on a whole multiple of this many seconds; 0: anywhere. */
  readonly alignSec: number;
  /** @param k grid index of the next sample  @param fromUs what is not an event and lies before this is not wanted */
  reset(k: number, fromUs: number): void;
  push(leads: readonly Float64Array[], from: number, to: number, out: Items): void;
  flush(out: Items): void;
}

function add(out: Items, tUs: number, a: number, b: number, kind: number = itemKind.event, c = 0, d = 0, e = 0, f = 0, g = 0): void {
  const { values } = out;
  const at = out.count++ * itemWidth;
  values[at] = kind;
  values[at + 1] = tUs;
  values[at + 2] = a;
  values[at + 3] = b;
  values[at + 4] = c;
  values[at + 5] = d;
  values[at + 6] = e;
  values[at + 7] = f;
  values[at + 8] = g;
}

// What kernels find on the way to items: emptied within each call, so shared by every kernel of the thread.
const found = noBeats();
const foundShaped = noShapedBeats();
const foundPulse = emptyPulse();
const judgements = noJudgements();
const foundValues = emptyValues();
const foundResponses = emptyResponses();

/** Breaths: a is how far it rises, b is 1 where a top before it was left out as too near. */
export function breathKernel(detector: BreathDetector, rateNanoHz: number): SegmentKernel {
  let originK = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < found.count; i++)
      add(out, positionUs(originK + found.position[i]!, rateNanoHz), detector.heights[i]!, detector.isHurried[i]! ? 1 : 0);
    found.count = 0;
  };
  return {
    latencySec: detector.latencySec,
    alignSec: 0,
    reset(k) {
      originK = k;
      detector.reset();
    },
    push(leads, from, to, out) {
      detector.push(leads, from, to, found);
      if (found.count > 0) take(out);
    },
    flush(out) {
      detector.flush(found);
      take(out);
    },
  };
}

/** Beats of ECG (b and c: what their shape says of their origin; d: where the usual beat fits, ms after them; e: how alike what stands
 *  before them is to what stands before the usual one; f: how much of it is not of beats of its shape; g: width of its shape, ms), and
 *  once a second a judgement of the 10 s before: it lies a microsecond before their end, a is the probability that their beats are right,
 *  b that their heart rate is. */
export function ecgSegmentKernel(kernel: EcgKernel, rateNanoHz: number): SegmentKernel {
  let originK = 0;
  let originSec = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < foundShaped.count; i++) {
      const tUs = positionUs(originK + foundShaped.position[i]!, rateNanoHz);
      add(
        out,
        tUs,
        foundShaped.confidence[i]!,
        foundShaped.ventricular[i]!,
        itemKind.event,
        foundShaped.supraventricular[i]!,
        foundShaped.shiftMs[i]!,
        foundShaped.pLikeness[i]!,
        foundShaped.beforeRest[i]!,
        foundShaped.widthMs[i]!,
      );
    }
    for (let i = 0; i < judgements.count; i++)
      add(out, (originSec + judgements.endSec[i]!) * 1e6 - 1, judgements.sqi[i]!, judgements.rate[i]!, itemKind.judgement);
    foundShaped.count = judgements.count = 0;
  };
  return {
    latencySec: kernel.latencySec,
    alignSec: 1,
    reset(k, fromUs) {
      originK = k;
      originSec = Math.round(positionUs(k, rateNanoHz) / 1e6);
      kernel.reset(Math.floor(fromUs / 1e6) - originSec);
    },
    push(leads, from, to, out) {
      kernel.push(leads, from, to, foundShaped, judgements);
      if (foundShaped.count + judgements.count > 0) take(out);
    },
    flush(out) {
      kernel.flush(foundShaped, judgements);
      take(out);
    },
  };
}

/** Beats, spectral rates and judged seconds of a PPG sensor. Events are beats, a is the detector's confidence, b is 1 where the pulse is
 *  upside down, c is 1 where it may be the other way up; a judged second lies at its start, a is its index, b its flag; a rate lies a
 *  microsecond before the end of its window, a is the rate per minute, b its flag, c the rate of the motion;
 *  a block of light lies a microsecond before its end, a is its perfusion in %, b is BAD where it is the light of nothing worn, SUSPECT
 *  where its perfusion is in doubt. Frames are 2 s from reset, so it starts on a whole multiple of 2 s. */
export function pulseKernel(kernel: PulseKernel, rateNanoHz: number): SegmentKernel {
  const { beats, rates, seconds, blocks } = foundPulse;
  let originK = 0;
  let originSec = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < beats.count; i++) {
      const position = beats.position[i]!;
      const tUs = positionUs(originK + position, rateNanoHz);
      const isInverted = kernel.isInverted(position) ? 1 : 0;
      add(out, tUs, beats.confidence[i]!, isInverted, itemKind.event, kernel.isPolarityDoubtful(position) ? 1 : 0);
    }
    for (let i = 0; i < rates.count; i++) {
      const bpm = rates.bpm[i]!;
      if (bpm > 0)
        add(
          out,
          (originSec + rates.endSec[i]!) * 1e6 - 1,
          bpm,
          motionRateFlag(rates.trust[i]!, rates.confidence[i]!, rates.motion[i]!),
          itemKind.rate,
          rates.cadence[i]!,
        );
    }
    for (let i = 0; i < seconds.count; i++)
      add(out, (originSec + seconds.startSec[i]!) * 1e6, seconds.sqi[i]!, seconds.flag[i]!, itemKind.second);
    for (let i = 0; i < blocks.count; i++)
      add(out, Math.round(blocks.endSec[i]! * 1e6) - 1, blocks.value[i]!, blocks.flag[i]!, itemKind.block);
    beats.count = rates.count = seconds.count = blocks.count = 0;
  };
  return {
    latencySec: kernel.latencySec,
    alignSec: 2,
    reset(k, fromUs) {
      originK = k;
      originSec = Math.round(positionUs(k, rateNanoHz) / 1e6);
      kernel.reset(Math.floor(fromUs / 1e6) - originSec, k);
    },
    push(leads, from, to, out) {
      kernel.push(leads, from, to, foundPulse);
      if (beats.count + rates.count + seconds.count + blocks.count > 0) take(out);
    },
    flush(out) {
      kernel.flush(foundPulse);
      take(out);
    },
  };
}

/** Values per block: a is the value, b its flag, at the end of the block (a microsecond before it, so that it falls into its segment). */
export type BlockKernel = {
  readonly latencySec: number;
  reset(k: number): void;
  push(leads: readonly Float64Array[], from: number, to: number, out: FoundValues): void;
  flush?(out: FoundValues): void;
};

/** @param build a kernel; every segment gets a new one (they are small, and start on whole blocks) */
export function blockKernel(build: () => BlockKernel): SegmentKernel {
  let kernel = build();
  const take = (out: Items): void => {
    for (let i = 0; i < foundValues.count; i++)
      add(out, Math.round(foundValues.endSec[i]! * 1e6) - 1, foundValues.value[i]!, foundValues.flag[i]!);
    foundValues.count = 0;
  };
  return {
    latencySec: kernel.latencySec + 1,
    alignSec: 0,
    reset(k) {
      kernel = build();
      kernel.reset(k);
    },
    push(leads, from, to, out) {
      kernel.push(leads, from, to, foundValues);
      if (foundValues.count > 0) take(out);
    },
    flush(out) {
      kernel.flush?.(foundValues);
      take(out);
    },
  };
}

/** Skin conductance responses: a is the height in µS, at the peak. */
export function responseKernel(build: () => Eda, rateNanoHz: number): SegmentKernel {
  let eda = build();
  let originK = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < foundResponses.count; i++)
      add(out, positionUs(originK + foundResponses.peak[i]!, rateNanoHz), foundResponses.heightUs[i]!, foundResponses.isNoisy[i]!);
    foundResponses.count = foundValues.count = 0;
  };
  return {
    latencySec: eda.latencySec,
    alignSec: 0,
    reset(k) {
      originK = k;
      eda = build();
      eda.reset(k);
    },
    push(leads, from, to, out) {
      eda.push(leads[0]!, from, to, foundValues, foundResponses);
      take(out);
    },
    flush(out) {
      eda.flush(foundResponses);
      take(out);
    },
  };
}
