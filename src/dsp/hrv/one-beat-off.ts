/** Does a heart rate hang on one beat that was missed, or found where there was none?
 *
 *  One beat more or less in 8 s is 7.5 /min. In an even rhythm either leaves a mark that the signal's quality does not see, because the
 *  other beats are fine: an interval of two usual ones (a wide ventricular beat between two narrow ones, below the detector's band), or two
 *  intervals that make one usual one (a switch of the amplifier that looks like a beat). A heart can do both: a beat that is not conducted
 *  leaves two intervals, an interpolated beat halves one. Which it was, the intervals alone cannot tell. */

/** An interval is usual, double or a half with its neighbour when it is within this share of the median, of twice or of once it. */
export const sameShare = 0.15;
/** With fewer intervals there is no usual one. */
export const INTERVALS_MIN = 4;
/** Share of the intervals, beyond the doubtful ones, that are usual in an even rhythm. */
export const evenMin = 0.8;

const sorted = new Float64Array(64);

/** @param intervals of successive beats, any unit; 0 where two beats have none between them
 *  @param count at most 64 of them */
export function isOneBeatOff(intervals: Float64Array, count: number): boolean {
  let n = 0;
  for (let i = 0; i < count; i++) {
    const interval = intervals[i]!;
    if (!(interval > 0)) continue;
    let at = n++;
    for (; at > 0 && sorted[at - 1]! > interval; at--) sorted[at] = sorted[at - 1]!;
    sorted[at] = interval;
  }
  if (n < INTERVALS_MIN) return false;
  const usual = sorted[n >> 1]!;
  const is = (interval: number, times: number): boolean => Math.abs(interval - times * usual) <= times * sameShare * usual;
  let doubtful = 0;
  let even = 0;
  for (let i = 0; i < count; i++) {
    const interval = intervals[i]!;
    if (!(interval > 0)) continue;
    if (is(interval, 1)) even++;
    else if (is(interval, 2)) doubtful++;
    else if (i + 1 < count && isShort(interval, usual) && isShort(intervals[i + 1]!, usual) && is(interval + intervals[i + 1]!, 1)) {
      doubtful += 2;
      i++;
    }
  }
  return doubtful > 0 && even >= evenMin * (n - doubtful);
}

const isShort = (interval: number, usual: number): boolean => interval > 0 && interval < (1 - sameShare) * usual;
