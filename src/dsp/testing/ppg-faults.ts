/** A steady pulse, and faults of optical sensors, put into a recording. */

/** Light at a rail for so many seconds from 33 s on, once a minute, by `swings` times the usual swing of the pulse above its middle (below:
 *  negative); a finger that is lifted does the same.
 *  @returns the recording and its rails, s */
export function standAtRail(
  x: Float64Array,
  fs: number,
  railSec: number,
  swings: number,
): { x: Float64Array; rails: readonly (readonly [number, number])[] } {
  const sorted = x.filter((value) => value - value === 0).sort();
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))]!;
  const rail = at(0.5) + swings * (at(0.98) - at(0.02));
  const out = Float64Array.from(x);
  const rails: [number, number][] = [];
  for (let from = 33; from * fs < x.length; from += 60) {
    out.fill(rail, Math.round(from * fs), Math.round((from + railSec) * fs));
    rails.push([from, Math.min(x.length / fs, from + railSec)]);
  }
  return { x: out, rails };
}

/** A steady pulse, from -1.2 to 1.3; a sine would be a tone. @param beats since its start */
export function pulseWave(beats: number): number {
  const phase = 2 * Math.PI * beats;
  return Math.sin(phase) + 0.4 * Math.sin(2 * phase + 1);
}
