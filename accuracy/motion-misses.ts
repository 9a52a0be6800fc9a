/** Why a heart rate in motion is wrong: where it lies next to the cadence and the true rate. */
import { MotionChannel, RATE_STEP_HZ, STATES, WINDOW_SEC, FFT_SIZE, rateHz, spectrum } from '../src/dsp/ppg/motion-channel.ts';
import type { Run } from './run-parts.ts';

export const missKinds = [
  'stride',
  'half stride',
  '1.5 strides',
  'stride and heart',
  'half or twice the heart',
  'start',
  'late',
  'other',
] as const;
export type MissKind = (typeof missKinds)[number];

const NEAR_BPM = 5;
const START_SEC = 12;

/** Largest of the accelerometer's spectrum in the 8 s that end at twice the index, per minute; NaN where there is none. */
export function cadences({ acc, fs }: Run): Float64Array {
  const axes = acc.map(() => new MotionChannel(fs));
  const windows = Math.floor(acc[0]!.length / fs / 2);
  const cadence = new Float64Array(windows + 1).fill(Number.NaN);
  const x = new Float64Array(FFT_SIZE);
  const power = new Float64Array(2 * STATES);
  for (let at = 0; at < acc[0]!.length;) {
    const end = Math.min(acc[0]!.length, at + axes[0]!.samplesLeft);
    axes.forEach((axis, a) => axis.push(acc[a]!, at, end));
    at = end;
    const frame = axes[0]!.nextFrame;
    axes.forEach((axis) => axis.captureWhenDue());
    if (axes[0]!.captured !== frame || 2 * frame < WINDOW_SEC) continue;
    const sum = new Float64Array(STATES);
    for (const axis of axes) {
      if (axis.tapered(frame, x)) spectrum(fs, x, power);
      else power.fill(0);
      for (let s = 0; s < STATES; s++) sum[s]! += power[s]!;
      axis.release(frame);
    }
    const most = sum.indexOf(Math.max(...sum));
    if (sum[most]! > 0) cadence[frame] = 60 * rateHz(most);
  }
  return cadence;
}

/** @param bpm found  @param truths given rates by window  @param window index of the one it is of  @param cadence of that window */
export function missKind(bpm: number, truths: Float64Array, window: number, cadence: number): MissKind {
  const truth = truths[window]!;
  const isNear = (rate: number): boolean => Math.abs(bpm - rate) <= NEAR_BPM;
  // a peak may be of each step or of each stride: both are tried
  if (isNear(cadence)) return 'stride';
  if (isNear(cadence / 2) || isNear(2 * cadence)) return 'half stride';
  if (isNear(1.5 * cadence) || isNear(0.75 * cadence)) return '1.5 strides';
  if ([1, 0.5].some((k) => isNear(Math.abs(k * cadence - truth)) || isNear(k * cadence + truth))) return 'stride and heart';
  if (isNear(truth / 2) || isNear(2 * truth)) return 'half or twice the heart';
  if (2 * window + WINDOW_SEC < START_SEC) return 'start';
  if (truths.subarray(Math.max(0, window - 5), window + 6).some((rate) => Math.abs(bpm - rate) <= RATE_STEP_HZ * 240)) return 'late';
  return 'other';
}
