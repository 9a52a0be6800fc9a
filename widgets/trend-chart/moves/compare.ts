/** A second line for each biosignal: of a period before, or of another person. */
import { parseDuration } from '../../shared/format.ts';
import type { Series } from '../../shared/data.ts';
import { addDays } from '../../shared/days.ts';

const DAY_MS = 864e5;
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

export type Comparison = Readonly<{
  /** null: the same person. */
  subjectId: string | null;
  /** From a time of the chart to the one that it is compared with. */
  shift: (timeMs: number) => number;
}>;

/** @returns null where the attribute means nothing */
export function comparisonOf(wanted: string | null, rangeMs: number, timeZone: string | undefined): Comparison | null {
  if (wanted === null || wanted === '') return null;
  if (uuid.test(wanted)) return { subjectId: wanted, shift: (timeMs) => timeMs };
  const byMs = wanted === 'previous' ? rangeMs : parseDuration(wanted);
  if (byMs === null) return null;
  const days = Math.round(byMs / DAY_MS);
  // A day earlier is so by the clock, also when the clocks changed in between (a day of 23 or 25 hours).
  const whole = days > 0 && Math.abs(byMs - days * DAY_MS) <= 36e5;
  return { subjectId: null, shift: whole ? (timeMs) => addDays(timeMs, -days, timeZone) : (timeMs) => timeMs - byMs };
}

/** Puts a series on the rows of another: each row has the bucket that holds its shifted time. */
export function alignedTo(own: Series, other: Series, shift: (timeMs: number) => number, name: string): Series {
  const { timesMs } = other;
  const near = Math.max(own.stepMs, other.stepMs) / 2;
  let at = 0;
  const rows = own.timesMs.map((timeMs) => {
    const wanted = shift(timeMs);
    if (timesMs[at]! > wanted + near) at = 0; // in the second of two equal hours
    while (at + 1 < timesMs.length && Math.abs(timesMs[at + 1]! - wanted) <= Math.abs(timesMs[at]! - wanted)) at++;
    return timesMs.length > 0 && Math.abs(timesMs[at]! - wanted) <= near ? at : -1;
  });
  const pick = <T>(column: readonly T[], absent: T): T[] => rows.map((row) => (row < 0 ? absent : (column[row] ?? absent)));
  return {
    ...other,
    name,
    compared: true,
    timesMs: own.timesMs,
    stepMs: own.stepMs,
    values: pick(other.values, null),
    flags: pick(other.flags, 0),
    lows: pick(other.lows, null),
    highs: pick(other.highs, null),
    shares: pick(other.shares, 0),
  };
}
