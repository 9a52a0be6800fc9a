/** Computes beats, spectral rates and quality per second from the wavelengths of one PPG sensor and the accelerometer next to it.
 *
 *  One kernel, because the parts feed each other: the quality judges the detector's beats, and compares them with the spectral rate. */
import type { FoundBeats } from '../kernels/contract.ts';
import { emptyValues, insertValue } from '../kernels/block-values.ts';
import { BAD, SUSPECT } from '../../signal.ts';
import type { FoundValues } from '../kernels/block-values.ts';
import { noBeats } from '../kernels/found-beats.ts';
import { PpgBeatDetector } from './beats.ts';
import { PulseLight } from './light.ts';
import type { FoundRates } from './motion-hr.ts';
import { PpgMotionHeartRate, emptyRates } from './motion-hr.ts';
import { POLARITY_BLOCK_SEC, PulsePolarity } from './polarity.ts';
import type { FoundQuality } from './quality.ts';
import { PpgQuality, emptyQuality } from './quality.ts';

/** Found since it was last emptied; times count from reset, those of blocks from the start of the grid. */
export type FoundPulse = Readonly<{ beats: FoundBeats; rates: FoundRates; seconds: FoundQuality; blocks: FoundValues }>;

export function emptyPulse(): FoundPulse {
  return { beats: noBeats(4), rates: emptyRates(), seconds: emptyQuality(), blocks: emptyValues() };
}

/** Call push with every row in order, flush at the end, and empty `out` whenever it suits. NaN marks a missing sample. Beats are fused
 *  from all wavelengths; quality is judged on the first, by these beats; blocks are of its light, idle where every light is. With an axis
 *  missing there is no accelerometer. A pulse that is given upside down is turned first (polarity.ts). Rows after a reset wait until its
 *  polarity is known, which delays nothing by more than latencySec; where the first seconds are not wanted, none wait. */
export class PulseKernel {
  /** Beats, rates and seconds that start at time t have been found once the sample at t + latencySec was pushed. */
  readonly latencySec: number;
  readonly #fs: number;
  readonly #leadCount: number;
  readonly #axisCount: number;
  readonly #piece: number;
  readonly #detector: PpgBeatDetector;
  readonly #motion: PpgMotionHeartRate;
  readonly #quality: PpgQuality;
  readonly #polarity: PulsePolarity;
  readonly #lights: readonly PulseLight[];
  /** Rows that wait for the first judgement of the polarity, lead by lead; null when none do. */
  #held: Float64Array[] | null = null;
  #heldCount = 0;
  /** Rows since reset, and the first of them that is computed with the polarity in use. */
  #n = 0;
  #turnedAt = 0;
  #turned = false;
  #everTurned = false;
  /** May the pulse be the other way up, and the first row for which that was known. */
  #isDoubtful = false;
  #doubtAt = 0;
  /** By wavelength: the newest value, and what is added to what follows a turn, so that none is a step. */
  readonly #last: Float64Array;
  readonly #offset: Float64Array;

  /** @param fs of every row, Hz, at least 20
   *  @param leadCount number of wavelengths, the first leads
   *  @param axisCount number of axes of acceleration after them: 0 or 3 */
  constructor(fs: number, leadCount: number, axisCount: number) {
    this.#fs = fs;
    this.#leadCount = leadCount;
    this.#axisCount = axisCount;
    this.#piece = Math.ceil(fs); // the rings hold a second more than a judgement needs
    this.#detector = new PpgBeatDetector(fs, leadCount);
    this.#motion = new PpgMotionHeartRate(fs, leadCount, axisCount);
    this.#quality = new PpgQuality(fs, this.#detector.latencySec, true);
    this.#polarity = new PulsePolarity(fs, leadCount);
    this.#lights = Array.from({ length: leadCount }, () => new PulseLight(fs));
    this.#last = new Float64Array(leadCount);
    this.#offset = new Float64Array(leadCount);
    // the rate that a second waits for ends at most 5 s after its start and is decided 4 s later
    this.latencySec = Math.max(this.#quality.latencySec, 5 + this.#motion.latencySec, POLARITY_BLOCK_SEC - 1) + 1;
    this.reset();
  }

  /** @param quietSec seconds that start before this one are not wanted  @param k grid index of the next sample */
  reset(quietSec = 0, k = 0): void {
    for (const light of this.#lights) light.reset(k);
    this.#detector.reset();
    this.#motion.reset();
    this.#quality.reset(quietSec);
    this.#polarity.reset();
    this.#last.fill(0);
    this.#offset.fill(0);
    this.#n = this.#turnedAt = this.#doubtAt = this.#heldCount = 0;
    this.#turned = this.#everTurned = this.#isDoubtful = false;
    this.#held = quietSec >= POLARITY_BLOCK_SEC ? null : [];
  }

  /** Was the pulse upside down at a position, a few seconds ago at most? */
  isInverted(position: number): boolean {
    return this.#turned === position >= this.#turnedAt;
  }

  /** May the pulse be the other way up at a position, a few seconds ago at most? By the last block judged before it, however the rows are
   *  cut. */
  isPolarityDoubtful(position: number): boolean {
    return this.#isDoubtful === position >= this.#doubtAt;
  }

  /** @param leads wavelengths, then axes; rows [from, to) are new */
  push(leads: readonly Float64Array[], from: number, to: number, out: FoundPulse): void {
    this.#pushLight(leads, from, to, out.blocks);
    for (let at = from; at < to;) {
      const end = Math.min(to, at + this.#piece, at + this.#polarity.left);
      if (this.#held === null) this.#find(leads, at, end, out);
      else this.#hold(leads, at, end);
      if (this.#polarity.push(leads, at, end)) this.#turn(out);
      this.#noteDoubt();
      if (this.#held !== null && this.#polarity.isJudged) this.#release(out);
      at = end;
    }
  }

  /** A wavelength that is dead, next to one that moves, is no sensor that came off. */
  #pushLight(leads: readonly Float64Array[], from: number, to: number, blocks: FoundValues): void {
    const first = blocks.count;
    this.#lights[0]!.push(leads[0]!, from, to, blocks);
    for (let l = 1; l < this.#leadCount; l++) {
      this.#lights[l]!.push(leads[l]!, from, to, otherBlocks);
      for (let i = 0; i < otherBlocks.count; i++) mergeBlock(blocks, first, otherBlocks.endSec[i]!, otherBlocks.flag[i]! === BAD);
      otherBlocks.count = 0;
    }
  }

  flush(out: FoundPulse): void {
    if (this.#held !== null) {
      if (this.#polarity.judge()) this.#turn(out);
      this.#noteDoubt();
      this.#release(out);
    }
    const { beats, rates, seconds } = out;
    const [beat, rate] = [beats.count, rates.count];
    this.#detector.flush(beats);
    this.#motion.flush(rates);
    this.#quality.pushBeats(beats, beat, beats.count);
    this.#quality.pushRates(rates, rate, rates.count);
    this.#quality.flush(seconds);
  }

  #noteDoubt(): void {
    const { isDoubtful } = this.#polarity;
    if (isDoubtful === this.#isDoubtful) return;
    this.#isDoubtful = isDoubtful;
    this.#doubtAt = this.#n;
  }

  #hold(leads: readonly Float64Array[], from: number, to: number): void {
    const held = this.#held!;
    if (held.length === 0)
      for (let l = 0; l < this.#leadCount + this.#axisCount; l++) held.push(new Float64Array(Math.ceil(POLARITY_BLOCK_SEC * this.#fs)));
    held.forEach((rows, l) => rows.set(leads[l]!.subarray(from, to), this.#heldCount));
    this.#heldCount += to - from;
  }

  #release(out: FoundPulse): void {
    const held = this.#held!;
    this.#held = null;
    for (let at = 0; at < this.#heldCount; at += this.#piece) this.#find(held, at, Math.min(this.#heldCount, at + this.#piece), out);
  }

  /** The path of beats ends, and another begins with the other polarity. */
  #turn(out: FoundPulse): void {
    const { beats } = out;
    const beat = beats.count;
    this.#detector.flush(beats);
    this.#quality.pushBeats(beats, beat, beats.count);
    this.#turned = this.#polarity.inverted;
    this.#turnedAt = this.#n;
    this.#everTurned = true;
    const sign = this.#turned ? 2 : -2;
    for (let l = 0; l < this.#leadCount; l++) this.#offset[l] = this.#offset[l]! + sign * this.#last[l]!;
  }

  /** In pieces that end where a second is judged: a beat that is decided late, behind lost samples, counts from the next judgement on,
   *  however the samples were cut. */
  #find(leads: readonly Float64Array[], from: number, to: number, out: FoundPulse): void {
    for (let at = from; at < to;) {
      const end = Math.min(to, at + this.#quality.left);
      this.#findUntil(leads, at, end, out);
      at = end;
    }
  }

  #findUntil(leads: readonly Float64Array[], from: number, to: number, out: FoundPulse): void {
    const { beats, rates, seconds } = out;
    const beat = beats.count;
    const rate = rates.count;
    // the spectra of the rate know no sign
    if (this.#axisCount > 0) this.#motion.pushAcc(leads, from, to, rates, this.#leadCount);
    this.#motion.pushPpg(leads, from, to, rates);
    const upright = this.#upright(leads, from, to);
    const first = upright === leads ? from : 0;
    const last = first + to - from;
    this.#detector.push(upright, first, last, beats);
    this.#quality.pushBeats(beats, beat, beats.count);
    this.#quality.pushRates(rates, rate, rates.count);
    this.#quality.push(upright[0]!, first, last, seconds);
    this.#n += to - from;
  }

  /** The rows themselves while the pulse never turned; after that others, from 0 on. */
  #upright(leads: readonly Float64Array[], from: number, to: number): readonly Float64Array[] {
    for (let l = 0; l < this.#leadCount; l++) {
      const given = leads[l]!;
      let i = to - 1;
      while (i >= from && given[i]! - given[i]! !== 0) i--;
      if (i >= from) this.#last[l] = given[i]!;
    }
    if (!this.#everTurned) return leads;
    const sign = this.#turned ? -1 : 1;
    for (let l = 0; l < this.#leadCount; l++) {
      if ((turnedRows[l]?.length ?? 0) < to - from) turnedRows[l] = new Float64Array(this.#piece);
      const rows = turnedRows[l]!;
      const given = leads[l]!;
      const offset = this.#offset[l]!;
      for (let i = from; i < to; i++) rows[i - from] = offset + sign * given[i]!;
    }
    return turnedRows;
  }
}

/** Adds what another wavelength says of a block, in the order of their ends. Where the first has none, its perfusion is not known. */
function mergeBlock(blocks: FoundValues, from: number, endSec: number, isIdle: boolean): void {
  let at = from;
  while (at < blocks.count && blocks.endSec[at]! < endSec) at++;
  if (at < blocks.count && blocks.endSec[at] === endSec) {
    if (!isIdle && blocks.flag[at] === BAD) blocks.flag[at] = SUSPECT;
    return;
  }
  insertValue(blocks, at, endSec, Number.NaN, isIdle ? BAD : SUSPECT);
}

/** Of a wavelength after the first, and turned rows on their way; nothing of them outlives a call. */
const otherBlocks = emptyValues();
const turnedRows: Float64Array[] = [];
