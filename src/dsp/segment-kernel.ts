/** The one shape in which the segment runner sees every kernel, and the fittings that give it to them. */
import type { FoundValues } from './block-values.ts';
import { emptyValues } from './block-values.ts';
import type { Eda } from './eda.ts';
import { emptyResponses } from './eda.ts';
import { noBeats } from './kernel-beats.ts';
import type { BeatDetector } from './kernel.ts';
import { motionRateFlag } from './ppg-motion-hr.ts';
import type { PulseKernel } from './ppg-pulse.ts';
import { emptyPulse } from './ppg-pulse.ts';
import type { FoundQuality } from './ppg-quality.ts';
import { emptyQuality } from './ppg-quality.ts';
import { positionUs } from './segment-grid.ts';

/** What an item is. Events (beats, breaths, responses) lie anywhere and may be seen twice at a seam; the others lie on a grid. */
export const itemKind = { event: 0, second: 1, rate: 2 } as const;

/** Things found, parallel growable columns: kind, device time (whole µs) and two numbers. Items of one kind ascend in time. */
export type Items = { count: number; kind: Uint8Array; tUs: Float64Array; a: Float64Array; b: Float64Array };

export const newItems = (): Items => ({
  count: 0,
  kind: new Uint8Array(4),
  tUs: new Float64Array(4),
  a: new Float64Array(4),
  b: new Float64Array(4),
});

export interface SegmentKernel {
  /** An item at time t has been found once the sample at t + latencySec was pushed. */
  readonly latencySec: number;
  /** Start on a whole multiple of this many seconds; 0: anywhere. */
  readonly alignSec: number;
  /** @param k grid index of the next sample */
  reset(k: number): void;
  push(leads: readonly Float64Array[], from: number, to: number, out: Items): void;
  flush(out: Items): void;
}

function add(out: Items, tUs: number, a: number, b: number, kind: number = itemKind.event): void {
  if (out.count === out.tUs.length) {
    const grow = (column: Float64Array): Float64Array => {
      const grown = new Float64Array(2 * column.length);
      grown.set(column);
      return grown;
    };
    out.tUs = grow(out.tUs);
    out.a = grow(out.a);
    out.b = grow(out.b);
    const kinds = new Uint8Array(out.tUs.length);
    kinds.set(out.kind);
    out.kind = kinds;
  }
  out.kind[out.count] = kind;
  out.tUs[out.count] = tUs;
  out.a[out.count] = a;
  out.b[out.count] = b;
  out.count++;
}

/** Beats: a is the detector's confidence. */
export function beatKernel(detector: BeatDetector, rateNanoHz: number): SegmentKernel {
  const found = noBeats();
  let originK = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < found.count; i++) add(out, positionUs(originK + found.position[i]!, rateNanoHz), found.confidence[i]!, 0);
    found.count = 0;
  };
  return {
    latencySec: detector.latencySec,
    alignSec: 0,
    reset(k) {
      originK = k;
      found.count = 0;
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

/** Beats, spectral rates and judged seconds of a PPG sensor. Events are beats; seconds as by qualityKernel; a rate lies a microsecond before the
 *  end of its window, a is the rate per minute, b its flag. Frames are 2 s from reset, so it starts on a whole multiple of 2 s. */
export function pulseKernel(kernel: PulseKernel, rateNanoHz: number): SegmentKernel {
  const found = emptyPulse();
  const { beats, rates, seconds } = found;
  let originK = 0;
  let originSec = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < beats.count; i++) add(out, positionUs(originK + beats.position[i]!, rateNanoHz), beats.confidence[i]!, 0);
    for (let i = 0; i < rates.count; i++) {
      const bpm = rates.bpm[i]!;
      if (bpm > 0)
        add(out, (originSec + rates.endSec[i]!) * 1e6 - 1, bpm, motionRateFlag(rates.confidence[i]!, rates.motion[i]!), itemKind.rate);
    }
    for (let i = 0; i < seconds.count; i++)
      add(out, (originSec + seconds.startSec[i]!) * 1e6, seconds.sqi[i]!, seconds.flag[i]!, itemKind.second);
    beats.count = rates.count = seconds.count = 0;
  };
  return {
    latencySec: kernel.latencySec,
    alignSec: 2,
    reset(k) {
      originK = k;
      originSec = Math.round(positionUs(k, rateNanoHz) / 1e6);
      beats.count = rates.count = seconds.count = 0;
      kernel.reset();
    },
    push(leads, from, to, out) {
      kernel.push(leads, from, to, found);
      if (beats.count + rates.count + seconds.count > 0) take(out);
    },
    flush(out) {
      kernel.flush(found);
      take(out);
    },
  };
}

/** Judges one second after another: a is the index, b the flag, at the start of the second. */
export type SecondJudge = {
  readonly latencySec: number;
  /** Back to the state of a new one, to the last bit; absent: every segment gets a new one. */
  reset?(): void;
  push(leads: readonly Float64Array[], from: number, to: number, out: FoundQuality): void;
  flush?(out: FoundQuality): void;
};

export function qualityKernel(build: () => SecondJudge, rateNanoHz: number): SegmentKernel {
  const found = emptyQuality();
  let judge = build();
  let originSec = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < found.count; i++) add(out, (originSec + Math.round(found.startSec[i]!)) * 1e6, found.sqi[i]!, found.flag[i]!);
    found.count = 0;
  };
  return {
    latencySec: judge.latencySec + 1,
    alignSec: 1,
    reset(k) {
      originSec = Math.round(positionUs(k, rateNanoHz) / 1e6);
      found.count = 0;
      if (judge.reset === undefined) judge = build();
      else judge.reset();
    },
    push(leads, from, to, out) {
      judge.push(leads, from, to, found);
      if (found.count > 0) take(out);
    },
    flush(out) {
      judge.flush?.(found);
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
  const found = emptyValues();
  let kernel = build();
  const take = (out: Items): void => {
    for (let i = 0; i < found.count; i++) add(out, Math.round(found.endSec[i]! * 1e6) - 1, found.value[i]!, found.flag[i]!);
    found.count = 0;
  };
  return {
    latencySec: kernel.latencySec + 1,
    alignSec: 0,
    reset(k) {
      found.count = 0;
      kernel = build();
      kernel.reset(k);
    },
    push(leads, from, to, out) {
      kernel.push(leads, from, to, found);
      if (found.count > 0) take(out);
    },
    flush(out) {
      kernel.flush?.(found);
      take(out);
    },
  };
}

/** Skin conductance responses: a is the height in µS, at the peak. */
export function responseKernel(build: () => Eda, rateNanoHz: number): SegmentKernel {
  const levels = emptyValues();
  const found = emptyResponses();
  let eda = build();
  let originK = 0;
  const take = (out: Items): void => {
    for (let i = 0; i < found.count; i++) add(out, positionUs(originK + found.peak[i]!, rateNanoHz), found.heightUs[i]!, 0);
    found.count = levels.count = 0;
  };
  return {
    latencySec: eda.latencySec,
    alignSec: 0,
    reset(k) {
      originK = k;
      found.count = levels.count = 0;
      eda = build();
      eda.reset(k);
    },
    push(leads, from, to, out) {
      eda.push(leads[0]!, from, to, levels, found);
      take(out);
    },
    flush(out) {
      eda.flush(found);
      take(out);
    },
  };
}
