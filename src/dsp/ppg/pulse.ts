/** Computes beats, spectral rates and quality per second from the wavelengths of one PPG sensor and the accelerometer next to it.
 *
 *  One kernel, because the parts feed each other: the quality judges the detector's beats, and compares them with the spectral rate. */
import type { FoundBeats } from '../kernels/contract.ts';
import { noBeats } from '../kernels/found-beats.ts';
import { PpgBeatDetector } from './beats.ts';
import type { FoundRates } from './motion-hr.ts';
import { PpgMotionHeartRate, emptyRates } from './motion-hr.ts';
import type { FoundQuality } from './quality.ts';
import { PpgQuality, emptyQuality } from './quality.ts';

/** Found since it was last emptied; times count from reset. */
export type FoundPulse = Readonly<{ beats: FoundBeats; rates: FoundRates; seconds: FoundQuality }>;

export function emptyPulse(): FoundPulse {
  return { beats: noBeats(4), rates: emptyRates(), seconds: emptyQuality() };
}

/** Call push with every row in order, flush at the end, and empty `out` whenever it suits. NaN marks a missing sample.
 *  Beats are fused from all wavelengths; quality is judged on the first, by these beats. With an axis missing there is no accelerometer. */
export class PulseKernel {
  /** Beats, rates and seconds that start at time t have been found once the sample at t + latencySec was pushed. */
  readonly latencySec: number;
  readonly #leadCount: number;
  readonly #axisCount: number;
  readonly #piece: number;
  readonly #detector: PpgBeatDetector;
  readonly #motion: PpgMotionHeartRate;
  readonly #quality: PpgQuality;

  /** @param fs of every row, Hz, at least 20
   *  @param leadCount number of wavelengths, the first leads
   *  @param axisCount number of axes of acceleration after them: 0 or 3 */
  constructor(fs: number, leadCount: number, axisCount: number) {
    this.#leadCount = leadCount;
    this.#axisCount = axisCount;
    this.#piece = Math.ceil(fs); // the rings hold a second more than a judgement needs
    this.#detector = new PpgBeatDetector(fs, leadCount);
    this.#motion = new PpgMotionHeartRate(fs, leadCount, axisCount);
    this.#quality = new PpgQuality(fs, this.#detector.latencySec, true);
    // the rate that a second waits for ends at most 5 s after its start and is decided 4 s later
    this.latencySec = Math.max(this.#quality.latencySec, 5 + this.#motion.latencySec) + 1;
  }

  /** @param quietSec seconds that start before this one are not wanted */
  reset(quietSec = 0): void {
    this.#detector.reset();
    this.#motion.reset();
    this.#quality.reset(quietSec);
  }

  /** @param leads wavelengths, then axes; rows [from, to) are new */
  push(leads: readonly Float64Array[], from: number, to: number, out: FoundPulse): void {
    const { beats, rates, seconds } = out;
    for (let at = from; at < to; at += this.#piece) {
      const end = Math.min(to, at + this.#piece);
      const [beat, rate] = [beats.count, rates.count];
      this.#detector.push(leads, at, end, beats);
      if (this.#axisCount > 0) this.#motion.pushAcc(leads, at, end, rates, this.#leadCount);
      this.#motion.pushPpg(leads, at, end, rates);
      this.#quality.pushBeats(beats, beat, beats.count);
      this.#quality.pushRates(rates, rate, rates.count);
      this.#quality.push(leads[0]!, at, end, seconds);
    }
  }

  flush(out: FoundPulse): void {
    const { beats, rates, seconds } = out;
    const [beat, rate] = [beats.count, rates.count];
    this.#detector.flush(beats);
    this.#motion.flush(rates);
    this.#quality.pushBeats(beats, beat, beats.count);
    this.#quality.pushRates(rates, rate, rates.count);
    this.#quality.flush(seconds);
  }
}
