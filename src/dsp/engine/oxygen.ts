/** Oxygen saturation of a PPG sensor with red and infrared light: no better than the pulse in the seconds that it is made of. What moves
 *  both lights alike, as a motion or the light of a room does, looks like a saturation of its own. */
import type { QualityFlag } from '../../signal.ts';
import type { ValueSink } from '../hrv/values.ts';
import { worse } from '../hrv/values.ts';
import { BLOCK_SEC } from '../kernels/block-values.ts';
import { methodIndex } from '../rows/methods.ts';
import type { KernelKind, KernelStock } from './runner.ts';
import { SegmentRunner } from './runner.ts';

const secondUs = 1_000_000;
const method = methodIndex('spo2');

/** Which leads of a group are red and infrared, and where the values are filed. */
export type OxygenLeads = Readonly<{ red: number; infrared: number; channelNo: number; kind: KernelKind }>;

type Block = Readonly<{ endUs: number; percent: number; flag: QualityFlag }>;

/** Takes rows as they come, and gives the value of a block once each of its seconds is judged. */
export class OxygenValues {
  readonly #of: OxygenLeads;
  readonly #runner: SegmentRunner;
  readonly #flagOf: (sec: number) => QualityFlag;
  readonly #doubtOf: (fromUs: number, toUs: number) => QualityFlag;
  readonly #sink: ValueSink;
  /** Two at most, as a second is judged 10 s after it began. */
  readonly #blocks: Block[] = [];
  readonly #lights: Float64Array[] = [];

  /** @param flagOf flag of the second that begins at a time, s
   *  @param doubtOf of what is made of the pulse between two times */
  constructor(
    of: OxygenLeads,
    stock: KernelStock,
    flagOf: (sec: number) => QualityFlag,
    doubtOf: (fromUs: number, toUs: number) => QualityFlag,
    sink: ValueSink,
  ) {
    this.#doubtOf = doubtOf;
    this.#of = of;
    this.#flagOf = flagOf;
    this.#sink = sink;
    this.#runner = new SegmentRunner(of.kind, stock, (tUs, percent, flag) => {
      this.#blocks.push({ endUs: tUs + 1, percent, flag: flag as QualityFlag });
    });
  }

  /** Every block that ends before it has been found, µs. */
  get finalUs(): number {
    return this.#runner.finalUs;
  }

  push(leads: readonly Float64Array[], from: number, to: number, k: number): void {
    this.#lights[0] = leads[this.#of.red]!;
    this.#lights[1] = leads[this.#of.infrared]!;
    this.#runner.push(this.#lights, from, to, k);
  }

  skipTo(k: number): void {
    this.#runner.skipTo(k);
  }

  /** @param flaggedUs every second before it has its flag */
  advance(flaggedUs: number): void {
    while (this.#blocks.length > 0 && this.#blocks[0]!.endUs <= flaggedUs) {
      const { endUs, percent, flag } = this.#blocks.shift()!;
      let worst = flag;
      for (let sec = endUs / secondUs - BLOCK_SEC; sec < endUs / secondUs; sec++) worst = worse(worst, this.#flagOf(sec));
      const doubt = this.#doubtOf(endUs - BLOCK_SEC * secondUs, endUs);
      this.#sink.value(method, this.#of.channelNo, endUs, percent, worse(worst, doubt));
    }
  }

  close(): void {
    this.#runner.close();
  }
}
