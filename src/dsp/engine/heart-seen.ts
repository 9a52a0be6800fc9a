/** Is a rate of breathing that of the heart?
 *
 *  The impedance of the chest changes with each beat as it does with each breath, a fifth as much or more: when breathing stops, beats are
 *  counted as breaths, evenly spaced. Nobody breathes once a beat for half a minute, so a rate within AGREE_PER_MIN of the heart's is
 *  suspect.
 *  A rate waits until those of the heart are out, so that what is live is what is recomputed. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { ValueSink } from '../hrv/values.ts';
import { medianOf } from '../hrv/median.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import type { Chain } from './beat-chain.ts';

/** Beats that are counted as breaths are as many, but for those at the ends of the windows. */
export const AGREE_PER_MIN = 2;

const breathing = methodIndex('resp_rate');
const hearts = [methodIndex('hr_ecg'), methodIndex('hr_ppg')] as const;
const windowUs = featureMethods[breathing]!.windowSec * 1e6;

type Rate = Readonly<{ channelNo: number; tUs: number; perMin: number; flag: QualityFlag }>;

// shared by every stream of the thread: nothing of it outlives a call
const inWindow = new Float64Array(64);

export class HeartSeen {
  /** What gives the stream's heart rates, and its rates of breathing. */
  readonly #hearts: readonly Chain[];
  readonly #breaths: readonly Chain[];
  readonly #sink: ValueSink;
  /** By feature of `hearts`, ascending. */
  readonly #heart: readonly { tUs: number; perMin: number }[][] = hearts.map(() => []);
  /** Of one channel ascending. */
  readonly #waiting: Rate[] = [];

  constructor(hearts: readonly Chain[], breaths: readonly Chain[], sink: ValueSink) {
    this.#hearts = hearts;
    this.#breaths = breaths;
    this.#sink = sink;
  }

  /** Time of the first rate that waits, µs. */
  get finalUs(): number {
    let us = Number.POSITIVE_INFINITY;
    for (const { tUs } of this.#waiting) us = Math.min(us, tUs);
    return us;
  }

  /** @returns false where the value is none to wait */
  takes(method: number, channelNo: number, tUs: number, perMin: number, flag: QualityFlag): boolean {
    if (method === breathing) {
      this.#waiting.push({ channelNo, tUs, perMin, flag });
      return true;
    }
    const no = hearts.indexOf(method);
    if (no >= 0 && flag !== BAD) insertByTime(this.#heart[no]!, { tUs, perMin });
    return false;
  }

  /** Gives out what need not wait any longer. @param all the data end here */
  advance(all: boolean): void {
    const untilUs = all ? Number.POSITIVE_INFINITY : firstFinalUs(this.#hearts);
    let left = 0;
    for (const rate of this.#waiting) {
      if (rate.tUs < untilUs) this.#give(rate);
      else this.#waiting[left++] = rate;
    }
    this.#waiting.length = left;
    // a channel of breathing may be behind the heart, or not have begun
    const fromUs = Math.min(firstFinalUs(this.#breaths), this.finalUs) - windowUs;
    for (const rates of this.#heart) {
      let old = Math.max(0, rates.length - keptRates);
      if (fromUs < Number.POSITIVE_INFINITY) while (old < rates.length && rates[old]!.tUs <= fromUs) old++;
      if (old > 0) rates.splice(0, old);
    }
  }

  #give({ channelNo, tUs, perMin, flag }: Rate): void {
    const isHeart = flag === GOOD && this.#heart.some((rates) => Math.abs(medianIn(rates, tUs) - perMin) <= AGREE_PER_MIN);
    this.#sink.value(breathing, channelNo, tUs, perMin, isHeart ? SUSPECT : flag);
  }
}

/** Those of another group may have waited: see primary-groups.ts. */
function insertByTime(rates: { tUs: number; perMin: number }[], rate: { tUs: number; perMin: number }): void {
  let at = rates.length;
  while (at > 0 && rates[at - 1]!.tUs > rate.tUs) at--;
  if (at === rates.length) rates.push(rate);
  else rates.splice(at, 0, rate);
}

/** At most so many, one a second, wait for a breath. */
const keptRates = 4000;

function firstFinalUs(chains: readonly Chain[]): number {
  let us = Number.POSITIVE_INFINITY;
  for (const chain of chains) us = Math.min(us, chain.finalUs);
  return us;
}

/** Median of the rates of the window that ends here; NaN: none. */
function medianIn(rates: readonly { tUs: number; perMin: number }[], tUs: number): number {
  let n = 0;
  for (let i = rates.length - 1; i >= 0 && rates[i]!.tUs > tUs - windowUs; i--)
    if (rates[i]!.tUs <= tUs && n < inWindow.length) inWindow[n++] = rates[i]!.perMin;
  return n === 0 ? Number.NaN : medianOf(inWindow, n);
}
