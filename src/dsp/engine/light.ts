/** Perfusion and wear of a PPG sensor: blocks of its light, flagged by the seconds that they are made of. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { Gaps } from '../hrv/beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { worse } from '../hrv/values.ts';
import { BLOCK_SEC } from '../kernels/block-values.ts';
import { methodIndex } from '../rows/methods.ts';

const secondUs = 1_000_000;
const perfusionMethod = methodIndex('perfusion_index');
const wornMethod = methodIndex('worn_ppg');

/** `light`: BAD where all of it stands still or is noise, SUSPECT where its perfusion is in doubt. */
type Block = Readonly<{ endUs: number; perfusion: number; light: QualityFlag }>;

/** Takes blocks as they end, and gives their values once each of their seconds is judged. */
export class LightValues {
  readonly #channelNo: number;
  readonly #gaps: Gaps;
  readonly #flagOf: (sec: number) => QualityFlag;
  readonly #doubtOf: (fromUs: number, toUs: number) => QualityFlag;
  readonly #sink: ValueSink;
  /** Two at most: a second is judged 10 s after it began. */
  readonly #blocks: Block[] = [];

  /** @param flagOf flag of the second that begins at a time, s
   *  @param doubtOf of what is made of the pulse between two times */
  constructor(
    channelNo: number,
    gaps: Gaps,
    flagOf: (sec: number) => QualityFlag,
    doubtOf: (fromUs: number, toUs: number) => QualityFlag,
    sink: ValueSink,
  ) {
    this.#doubtOf = doubtOf;
    this.#channelNo = channelNo;
    this.#gaps = gaps;
    this.#flagOf = flagOf;
    this.#sink = sink;
  }

  /** @param perfusion in %; NaN: unknown */
  block(endUs: number, perfusion: number, light: QualityFlag): void {
    this.#blocks.push({ endUs, perfusion, light });
  }

  /** @param flaggedUs every second before it has its flag */
  advance(flaggedUs: number): void {
    while (this.#blocks.length > 0 && this.#blocks[0]!.endUs <= flaggedUs) this.#values(this.#blocks.shift()!);
  }

  /** Values exist where their last second has samples. */
  #values({ endUs, perfusion, light }: Block): void {
    if (this.#gaps.missingUs(endUs - secondUs, endUs) >= secondUs) return;
    let worst: QualityFlag = GOOD;
    let best: QualityFlag = BAD;
    for (let sec = endUs / secondUs - BLOCK_SEC; sec < endUs / secondUs; sec++) {
      const flag = this.#flagOf(sec);
      worst = Math.max(worst, flag) as QualityFlag;
      best = Math.min(best, flag) as QualityFlag;
    }
    if (!Number.isNaN(perfusion)) {
      const doubt = this.#doubtOf(endUs - BLOCK_SEC * secondUs, endUs);
      this.#sink.value(perfusionMethod, this.#channelNo, endUs, perfusion, worse(worse(worst, doubt), light));
    }
    const isIdle = light === BAD;
    const hasPulse = best === GOOD;
    this.#sink.value(wornMethod, this.#channelNo, endUs, isIdle ? 0 : 1, isIdle === hasPulse ? SUSPECT : GOOD);
  }
}
