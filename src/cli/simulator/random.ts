/** Seeded random numbers: the same seed gives the same numbers on every machine. Not for secrets. */

export type Random = Readonly<{
  /** Uniform in [0, 1). */
  next: () => number;
  /** Uniform in [min, max). */
  between: (min: number, max: number) => number;
  /** Standard normal. Takes two uniforms per call and keeps no state, so the number of draws is predictable. */
  normal: () => number;
  /** Exponential with the given mean. */
  exponential: (mean: number) => number;
}>;

/** sfc32 (Chris Doty-Humphrey, PractRand), seeded by splitmix32 over seed and label.
 *  A label gives each process its own numbers, so that adding one process does not shift the others. */
export function createRandom(seed: number, label: string): Random {
  let mix = seed >>> 0;
  for (let i = 0; i < label.length; i++) mix = Math.imul(mix ^ label.charCodeAt(i), 0x01000193) >>> 0;
  const splitmix = (): number => {
    mix = (mix + 0x9e3779b9) | 0;
    let z = mix ^ (mix >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return (z ^ (z >>> 15)) | 0;
  };
  let a = splitmix();
  let b = splitmix();
  let c = splitmix();
  let counter = 1;
  const next = (): number => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    c |= 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 12; i++) next(); // the author's warm-up
  return {
    next,
    between: (min, max) => min + (max - min) * next(),
    normal: () => {
      const u = 1 - next(); // (0, 1]: log is finite
      return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * next());
    },
    exponential: (mean) => -mean * Math.log(1 - next()),
  };
}
