/** Transform of a short real signal padded with zeros to 1024 points: most of the work of a spectrum that is read between its bins.
 *
 *  Radix 4, decimation in time, real symmetry used: the algorithm of fft.js's realTransform, with the same operations in the same order on
 *  every number that is not a padded zero, so that results are equal bit for bit (padded-fft.test.ts). Faster by what the zeros save (the
 *  first two of five passes become one with half the products), twiddle factors in the order of their use, and typed arrays throughout. */

export const PADDED_SIZE = 1024;
/** Longest signal. */
export const FILLED_MAX = PADDED_SIZE / 4;

/** Twiddle factors of the passes that join 4 transforms of `length` points, for points 0 ... length / 2: of B, C, D, real and imaginary. */
function twiddles(length: number): Float64Array {
  const step = (PADDED_SIZE * 2) / (4 * length);
  const factors = new Float64Array(6 * (length / 2 + 1));
  for (let i = 0; i <= length / 2; i++)
    for (let branch = 1; branch <= 3; branch++) {
      const angle = (Math.PI * (branch * i * step)) / PADDED_SIZE;
      factors[6 * i + 2 * branch - 2] = Math.cos(angle);
      factors[6 * i + 2 * branch - 1] = -Math.sin(angle);
    }
  return factors;
}

const first = twiddles(4);
const later = [16, 64, 256].map(twiddles);

/** Samples of each first group of four, in the order of the passes. */
const order = Uint16Array.from({ length: FILLED_MAX }, (_, t) => {
  let reversed = 0;
  for (let digit = 0; digit < 4; digit++) reversed |= ((t >>> (2 * digit)) & 3) << (6 - 2 * digit);
  return reversed;
});

/** @param x FILLED_MAX samples  @param out length at least PADDED_SIZE + 2: bins 0 ... PADDED_SIZE / 2, real and imaginary; what lies
 *  beyond is not touched */
export function paddedTransform(x: Float64Array, out: Float64Array): void {
  firstPasses(x, out);
  for (let pass = 0, length = 16; pass < later.length; pass++, length *= 4) joinAll(out, length, later[pass]!);
}

/** Transforms of one sample each (its value everywhere), and of 4 of them: 16 points. */
function firstPasses(x: Float64Array, out: Float64Array): void {
  const b1r = first[6]!;
  const b1i = first[7]!;
  const c1r = first[8]!;
  const c1i = first[9]!;
  const d1r = first[10]!;
  const d1i = first[11]!;
  const b2r = first[12]!;
  const b2i = first[13]!;
  const c2r = first[14]!;
  const c2i = first[15]!;
  const d2r = first[16]!;
  const d2i = first[17]!;
  for (let t = 0, at = 0; t < FILLED_MAX; t += 4, at += 32) {
    const a = x[order[t]!]!;
    const b = x[order[t + 1]!]!;
    const c = x[order[t + 2]!]!;
    const d = x[order[t + 3]!]!;
    const even = a + c;
    const odd = b + d;
    out[at] = even + odd;
    out[at + 1] = 0;
    out[at + 8] = a - c;
    out[at + 9] = -(b - d);
    out[at + 16] = even - odd;
    out[at + 17] = 0;
    // point 1, and its mirrors
    let br = b * b1r;
    let bi = b * b1i;
    let cr = c * c1r;
    let ci = c * c1i;
    let dr = d * d1r;
    let di = d * d1i;
    out[at + 2] = a + cr + (br + dr);
    out[at + 3] = ci + (bi + di);
    out[at + 10] = a - cr + (bi - di);
    out[at + 11] = -ci - (br - dr);
    out[at + 6] = a - cr - (bi - di);
    out[at + 7] = ci - (br - dr);
    out[at + 14] = a + cr - (br + dr);
    out[at + 15] = bi + di - ci;
    // point 2
    br = b * b2r;
    bi = b * b2i;
    cr = c * c2r;
    ci = c * c2i;
    dr = d * d2r;
    di = d * d2i;
    out[at + 4] = a + cr + (br + dr);
    out[at + 5] = ci + (bi + di);
    out[at + 12] = a - cr + (bi - di);
    out[at + 13] = -ci - (br - dr);
  }
}

/** Joins 4 transforms of `length` points each, wherever they lie. */
function joinAll(out: Float64Array, length: number, factors: Float64Array): void {
  const quarter = 2 * length;
  const half = 2 * quarter;
  for (let at = 0; at < 2 * PADDED_SIZE; at += 2 * half) {
    const bAt = at + quarter;
    const cAt = at + half;
    const dAt = cAt + quarter;
    // point 0
    const a0 = out[at]!;
    const b0 = out[bAt]!;
    const c0 = out[cAt]!;
    const d0 = out[dAt]!;
    const even = a0 + c0;
    const odd = b0 + d0;
    out[at] = even + odd;
    out[at + 1] = 0;
    out[bAt] = a0 - c0;
    out[bAt + 1] = -(b0 - d0);
    out[cAt] = even - odd;
    out[cAt + 1] = 0;
    for (let i = 2, f = 6; i <= length; i += 2, f += 6) {
      const ar = out[at + i]!;
      const ai = out[at + i + 1]!;
      const xbr = out[bAt + i]!;
      const xbi = out[bAt + i + 1]!;
      const xcr = out[cAt + i]!;
      const xci = out[cAt + i + 1]!;
      const xdr = out[dAt + i]!;
      const xdi = out[dAt + i + 1]!;
      const wbr = factors[f]!;
      const wbi = factors[f + 1]!;
      const wcr = factors[f + 2]!;
      const wci = factors[f + 3]!;
      const wdr = factors[f + 4]!;
      const wdi = factors[f + 5]!;
      const br = xbr * wbr - xbi * wbi;
      const bi = xbr * wbi + xbi * wbr;
      const cr = xcr * wcr - xci * wci;
      const ci = xcr * wci + xci * wcr;
      const dr = xdr * wdr - xdi * wdi;
      const di = xdr * wdi + xdi * wdr;
      const t0r = ar + cr;
      const t0i = ai + ci;
      const t1r = ar - cr;
      const t1i = ai - ci;
      const t2r = br + dr;
      const t2i = bi + di;
      const t3r = br - dr;
      const t3i = bi - di;
      out[at + i] = t0r + t2r;
      out[at + i + 1] = t0i + t2i;
      out[bAt + i] = t1r + t3i;
      out[bAt + i + 1] = t1i - t3r;
      if (i === length) break; // its own mirror
      out[bAt - i] = t1r - t3i;
      out[bAt - i + 1] = -t1i - t3r;
      out[cAt - i] = t0r - t2r;
      out[cAt - i + 1] = t2i - t0i;
    }
  }
}
