/** Stretches in which a value stayed beyond a bound, which rules look for (episode-rules.ts). A pure function of the values, in any number
 *  of pieces. */
import type { EpisodeRule } from './episode-rule.ts';

export type Stretch = Readonly<{ startMs: number; endMs: number; over: boolean; extreme: number }>;

/** Finds the stretches of one series, value by value.
 *
 *  It is outside until a value is beyond the bound, then inside until none was for `releaseSec`. Values beyond the bound make a stretch
 *  longer; once it has lasted `sustainSec`, so do those beyond the bound of its end. A stretch that ends before that is none. */
export class StretchFinder {
  readonly #rule: EpisodeRule;
  #inside = false;
  #startMs = 0;
  #lastMs = 0;
  #extreme = 0;

  /** @param from a stretch that goes on: what comes is after its end */
  constructor(rule: EpisodeRule, from: Omit<Stretch, 'over'> | null = null) {
    this.#rule = rule;
    if (from === null) return;
    this.#inside = true;
    this.#startMs = from.startMs;
    this.#lastMs = from.endMs;
    this.#extreme = from.extreme;
  }

  /** Takes the next value of the series.  @param timeMs after those before  @param value good enough for the rule
   *  @returns the stretch that was over before it, if any */
  push(timeMs: number, value: number): Stretch | null {
    const ended = this.#inside && timeMs - this.#lastMs > this.#rule.releaseSec * 1000 ? this.#close(true) : null;
    const { above, below, endBound } = this.#rule;
    const lasted = this.#inside && this.#lastMs - this.#startMs >= this.#rule.sustainSec * 1000;
    if (!beyond(value, above, below, lasted ? endBound : undefined)) return ended;
    if (!this.#inside) {
      this.#inside = true;
      this.#startMs = timeMs;
      this.#extreme = value;
    }
    this.#lastMs = timeMs;
    this.#extreme = above === undefined ? Math.min(this.#extreme, value) : Math.max(this.#extreme, value);
    return ended;
  }

  /** Ends the series.  @param nowMs newest time examined  @returns the stretch that it ends in, over or not */
  finish(nowMs: number): Stretch | null {
    return this.#inside ? this.#close(nowMs - this.#lastMs > this.#rule.releaseSec * 1000) : null;
  }

  #close(over: boolean): Stretch | null {
    this.#inside = false;
    const { sustainSec } = this.#rule;
    if (this.#lastMs - this.#startMs < sustainSec * 1000) return null;
    return { startMs: this.#startMs, endMs: this.#lastMs, over, extreme: this.#extreme };
  }
}

/** Says whether a value is beyond the bound of a rule; @param endBound of a stretch that has lasted long enough */
function beyond(value: number, above: number | undefined, below: number | undefined, endBound: number | undefined): boolean {
  return (above !== undefined && value > (endBound ?? above)) || (below !== undefined && value < (endBound ?? below));
}

/** Finds the stretches of a whole series.  @param values ascending in time, only those that are good enough for the rule
 *  @param nowMs newest time examined  @param from a stretch that goes on; values up to its end are left out */
export function findStretches(
  rule: EpisodeRule,
  timesMs: readonly number[],
  values: readonly number[],
  nowMs: number,
  from: Omit<Stretch, 'over'> | null = null,
): readonly Stretch[] {
  const finder = new StretchFinder(rule, from);
  const found = timesMs.map((timeMs, i) => (from !== null && timeMs <= from.endMs ? null : finder.push(timeMs, values[i]!)));
  return [...found, finder.finish(nowMs)].filter((stretch) => stretch !== null);
}
