/** Stretches in which a value stayed beyond a bound, which rules look for (episode-rules.ts). A pure function of the values, in any number
 *  of pieces. */
import type { EpisodeRule } from './episode-rule.ts';

export type Stretch = Readonly<{ startMs: number; endMs: number; over: boolean; extreme: number }>;

/** Until a stretch has lasted `sustainSec`, this part of it may lie within the bound: then values beyond it are four fifths of the time. */
const INTERRUPTED_MAX = 0.25;
/** Two values beyond the bound are no time beyond it when they are farther apart than this, ms, and than the feature has values. No less
 *  than a minute: of a minute without a value beyond the bound none is read (rule-values.ts). */
const APART_MS_MAX = 60_000;

/** Values beyond the bound, one after the other. */
type Row = { startMs: number; endMs: number; extreme: number };

/** Finds the stretches of one series, value by value.
 *
 *  It is outside until a value is beyond the bound, then inside until none was for `releaseSec`. A stretch is one once values were beyond
 *  the bound for `sustainSec` in all, with interruptions of no more than a quarter of that; from then on values beyond the bound of its end
 *  make it longer. What ends before that is none. */
export class StretchFinder {
  readonly #rule: EpisodeRule;
  readonly #sustainMs: number;
  readonly #apartMs: number;
  /** Empty: outside. One, once the stretch has lasted. */
  #rows: Row[] = [];
  #hasLasted = false;
  /** The value before this one was back within the bound. */
  #isBack = false;
  /** Values up to this time are those of the stretch that goes on. */
  readonly #knownMs: number;

  /** @param from a stretch that goes on: values up to its end are left out */
  constructor(rule: EpisodeRule, from: Omit<Stretch, 'over'> | null = null) {
    this.#rule = rule;
    this.#knownMs = from?.endMs ?? -Infinity;
    this.#sustainMs = rule.sustainSec * 1000;
    this.#apartMs = Math.max(APART_MS_MAX, 1000 * (rule.everySec ?? 0));
    if (from === null) return;
    this.#rows = [{ ...from }];
    this.#hasLasted = true;
  }

  /** Takes the next value of the series.  @param timeMs after those before  @param value good enough for the rule
   *  @returns the stretch that was over before it, if any */
  push(timeMs: number, value: number): Stretch | null {
    if (timeMs <= this.#knownMs) return null;
    const last = this.#rows.at(-1);
    const ended = last !== undefined && this.#isReleased(timeMs) ? this.#close(true) : null;
    const { above, below, endBound } = this.#rule;
    if (!beyond(value, above, below, this.#hasLasted ? endBound : undefined)) {
      this.#isBack = true;
      return ended;
    }
    const row = this.#rows.at(-1);
    const goesOn = row !== undefined && (this.#hasLasted || (!this.#isBack && timeMs - row.endMs <= this.#apartMs));
    this.#isBack = false;
    if (goesOn) {
      row.endMs = timeMs;
      row.extreme = this.#further(row.extreme, value);
    } else this.#rows.push({ startMs: timeMs, endMs: timeMs, extreme: value });
    if (!this.#hasLasted) this.#judge();
    return ended;
  }

  /** Ends the series.  @param nowMs newest time examined  @returns the stretch that it ends in, over or not */
  finish(nowMs: number): Stretch | null {
    return this.#rows.length > 0 ? this.#close(this.#isReleased(nowMs)) : null;
  }

  #isReleased = (nowMs: number): boolean => nowMs - this.#rows.at(-1)!.endMs > this.#rule.releaseSec * 1000;

  #further = (a: number, b: number): number => (this.#rule.above === undefined ? Math.min(a, b) : Math.max(a, b));

  /** Leaves out the oldest rows while there is too much between them, and joins them once the stretch has lasted. */
  #judge(): void {
    const rows = this.#rows;
    const last = rows.at(-1)!;
    let beyondMs = rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    while (last.endMs - rows[0]!.startMs - beyondMs > INTERRUPTED_MAX * this.#sustainMs) {
      const { startMs, endMs } = rows.shift()!;
      beyondMs -= endMs - startMs;
    }
    if (beyondMs < this.#sustainMs) return;
    this.#rows = [{ startMs: rows[0]!.startMs, endMs: last.endMs, extreme: rows.map(({ extreme }) => extreme).reduce(this.#further) }];
    this.#hasLasted = true;
  }

  #close(over: boolean): Stretch | null {
    const stretch = this.#hasLasted ? { ...this.#rows[0]!, over } : null;
    this.#rows = [];
    this.#hasLasted = false;
    this.#isBack = false;
    return stretch;
  }
}

/** Says whether a value is beyond the bound of a rule; @param endBound of a stretch that has lasted long enough */
function beyond(value: number, above: number | undefined, below: number | undefined, endBound: number | undefined): boolean {
  return (above !== undefined && value > (endBound ?? above)) || (below !== undefined && value < (endBound ?? below));
}
