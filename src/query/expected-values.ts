/** Counts the values of a method that are due in a stretch of time. */

/** Of a length that is no multiple of the method's cadence, such as a minute of values every 8 s, the count is 7 or 8: the nearest number,
 *  or one more where one series has that many, so that none has more than are due.
 *  @param cadenceHz null: nobody knows  @param lengthMs without what lies in the future  @param n how many there are
 *  @returns null where values are farther apart than the stretch is long: of a minute of values every 5 min nobody can say whether one was
 *  due, and 0 would be less than there may be */
export function expectedIn(cadenceHz: number | null, lengthMs: number, n: number): number | null {
  if (cadenceHz === null) return null;
  if (lengthMs <= 0) return 0;
  const due = (lengthMs / 1000) * cadenceHz;
  if (due < 1 - ROUNDING) return null;
  const nearest = Math.round(due);
  return n === nearest + 1 && due > nearest + ROUNDING ? n : nearest;
}

/** Of 3600 s times 1/300 Hz. */
const ROUNDING = 1e-6;
