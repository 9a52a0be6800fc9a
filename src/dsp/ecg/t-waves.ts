/** T waves that were found as evenly as the beats, told by their place.
 *
 *  A tall, steep T wave (hyperkalaemia) looks like a beat to every detector here, so the rate is twice the heart's and its quality high.
 *  Early ventricular bigeminy has the same intervals: which it is, nothing here tells, so what is made of them is suspect. */

/** A beat so soon after another, with longer intervals on both sides, has the place of that one's T wave. */
export const T_WAVE_WITHIN_SEC = 0.42;
export const T_WAVE_LONGER = 1.3;
/** From this share of the beats on that have such a place, or are followed by one, T waves may have been taken for beats. */
export const T_WAVES_SHARE = 0.5;
const T_WAVES_MIN = 2;

/** May beats [first, last) be half T waves? @param times ascending  @param perSec their unit: so many in a second */
export function mayBeTWaves(times: Float64Array, first: number, last: number, perSec: number): boolean {
  const soon = T_WAVE_WITHIN_SEC * perSec;
  let count = 0;
  for (let b = first + 2; b + 1 < last; b++) {
    const rr = times[b]! - times[b - 1]!;
    const longer = T_WAVE_LONGER * rr;
    if (rr < soon && times[b - 1]! - times[b - 2]! > longer && times[b + 1]! - times[b]! > longer) count++;
  }
  return count >= T_WAVES_MIN && 2 * count >= T_WAVES_SHARE * (last - first);
}
