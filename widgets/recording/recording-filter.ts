/** A filter for looking, not for measuring: 0.5 to 40 Hz, second order, forwards and backwards, so that nothing is shifted in time. */
import type { Segment } from './recording-source.ts';

const LOW_HZ = 0.5;
const HIGH_HZ = 40;

type Biquad = Readonly<{ b: readonly [number, number, number]; a: readonly [number, number] }>;

const known = new WeakMap<Segment, Segment>();

/** The same segment, filtered; missing samples stay missing, and end the stretch that is filtered. */
export function filtered(segment: Segment): Segment {
  let result = known.get(segment);
  if (result === undefined) {
    result = { ...segment, samples: bandpass(segment.samples, segment.rateHz) };
    known.set(segment, result);
  }
  return result;
}

export function bandpass(samples: readonly (number | null)[], rateHz: number): (number | null)[] {
  const out: (number | null)[] = samples.slice();
  const stages = [butterworth(LOW_HZ, rateHz, true), ...(HIGH_HZ < 0.45 * rateHz ? [butterworth(HIGH_HZ, rateHz, false)] : [])];
  for (let from = 0; from < out.length; from++) {
    if (out[from] === null) continue;
    let end = from;
    while (end < out.length && out[end] !== null) end++;
    const part = Float64Array.from(out.slice(from, end) as number[]);
    const offset = part[0]!;
    for (let i = 0; i < part.length; i++) part[i]! -= offset; // it begins at rest
    for (const stage of stages) {
      pass(stage, part);
      part.reverse();
      pass(stage, part);
      part.reverse();
    }
    for (let i = from; i < end; i++) out[i] = part[i - from]!;
    from = end;
  }
  return out;
}

/** Second order, by the bilinear transform. */
function butterworth(cutHz: number, rateHz: number, isHighpass: boolean): Biquad {
  const k = Math.tan((Math.PI * cutHz) / rateHz);
  const norm = 1 / (1 + Math.SQRT2 * k + k * k);
  const b0 = isHighpass ? norm : k * k * norm;
  return { b: [b0, isHighpass ? -2 * b0 : 2 * b0, b0], a: [2 * (k * k - 1) * norm, (1 - Math.SQRT2 * k + k * k) * norm] };
}

function pass({ b: [b0, b1, b2], a: [a1, a2] }: Biquad, x: Float64Array): void {
  let [z1, z2] = [0, 0];
  for (let i = 0; i < x.length; i++) {
    const input = x[i]!;
    const y = b0 * input + z1;
    z1 = b1 * input - a1 * y + z2;
    z2 = b2 * input - a2 * y;
    x[i] = y;
  }
}
