/** Second-order filter sections: coefficients by the bilinear transform with prewarping (Bristow-Johnson, Audio EQ Cookbook). */

/** y = b0 x + b1 x' + b2 x'' - a1 y' - a2 y''; normalised so that a0 = 1. */
export type Biquad = Readonly<{ b0: number; b1: number; b2: number; a1: number; a2: number }>;

/** Low-pass of unit gain at 0 Hz, -3 dB at cutoffHz for q = 1/sqrt(2) (Butterworth).
 *  @throws RangeError unless 0 < cutoffHz < fs / 2 */
export function lowPass(cutoffHz: number, fs: number, q: number = Math.SQRT1_2): Biquad {
  const { cos, alpha } = angles(cutoffHz, fs, q);
  const a0 = 1 + alpha;
  const b0 = (1 - cos) / 2 / a0;
  return { b0, b1: 2 * b0, b2: b0, a1: (-2 * cos) / a0, a2: (1 - alpha) / a0 };
}

/** High-pass of unit gain at fs / 2, -3 dB at cutoffHz for q = 1/sqrt(2) (Butterworth). */
export function highPass(cutoffHz: number, fs: number, q: number = Math.SQRT1_2): Biquad {
  const { cos, alpha } = angles(cutoffHz, fs, q);
  const a0 = 1 + alpha;
  const b0 = (1 + cos) / 2 / a0;
  return { b0, b1: -2 * b0, b2: b0, a1: (-2 * cos) / a0, a2: (1 - alpha) / a0 };
}

function angles(cutoffHz: number, fs: number, q: number): { cos: number; alpha: number } {
  if (!(cutoffHz > 0 && cutoffHz < fs / 2)) throw new RangeError(`cutoff ${cutoffHz} Hz at ${fs} Hz`);
  const w = (2 * Math.PI * cutoffHz) / fs;
  return { cos: Math.cos(w), alpha: Math.sin(w) / (2 * q) };
}
