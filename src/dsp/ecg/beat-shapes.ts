/** Compares the shape of each beat with that of the usual beat of the recording: evidence of where in the heart it began. */

/** Around the R wave, s: P wave, QRS complex, T wave. */
const P_FROM = -0.26;
const Q_FROM = -0.1;
const Q_TO = 0.14;
const T_TO = 0.42;
/** A beat is put on the usual one where it fits best, at most this far off, s. */
const SHIFT = 0.05;
/** Shapes remembered. */
const SHAPES = 4;
/** Correlation of QRS complexes from which beats have one shape. */
const ALIKE = 0.9;
const GAIN = 0.1;
const FADE = 0.97;
/** Of two shapes that are both frequent, the narrower one is the usual one: in bigeminy every other beat is ventricular. */
const FREQUENT = 0.5;
/** A beat can be this old when it is measured, s: detected at most 2 s after its R wave, given within a second. */
const HELD_SEC = 4;

export const shapeMeasures = [
  'qrs_likeness',
  'qrs_size',
  'qrs_slope',
  'qrs_width',
  'qrs_width_ratio',
  'qrs_rest',
  'p_share',
  'p_likeness',
  'p_usual',
  't_likeness',
  't_size',
  'likeness',
  'usual_share',
] as const;

/** `energy`: of its QRS complex, whose mean is 0. */
type Shape = { wave: Float64Array; weight: number; width: number; energy: number };

/** Fed the decimated lead and asked for one beat after the other: a pure function of the samples and beats since reset. What is asked of a
 *  beat ends at the first missing sample after it. */
export class BeatShapes {
  /** Of the last beat, order of `shapeMeasures`; missing where there is nothing to compare it with. */
  readonly measures = new Float64Array(shapeMeasures.length);
  /** How far after the sample asked for the usual beat fits best, ms; missing as the measures are. */
  shiftMs = Number.NaN;
  readonly #dt: number;
  readonly #ring: Float32Array;
  readonly #mask: number;
  readonly #pFrom: number;
  readonly #qFrom: number;
  readonly #qTo: number;
  readonly #shift: number;
  readonly #wave: Float64Array;
  readonly #shapes: Shape[];
  #k = 0;
  #bestShift = 0;
  /** By shift, of the last fit. */
  readonly #alikes: Float64Array;

  /** @param fd rate of the decimated lead, Hz */
  constructor(fd: number) {
    const at = (sec: number): number => Math.round(sec * fd);
    this.#dt = 1000 / fd;
    const length = 2 ** Math.ceil(Math.log2(HELD_SEC * fd));
    this.#ring = new Float32Array(length);
    this.#mask = length - 1;
    this.#shift = at(SHIFT);
    this.#alikes = new Float64Array(2 * this.#shift + 1);
    // indices into the wave, which starts with the P wave
    this.#pFrom = at(P_FROM);
    this.#qFrom = at(Q_FROM) - this.#pFrom;
    this.#qTo = at(Q_TO) - this.#pFrom;
    const size = at(T_TO) - this.#pFrom;
    this.#wave = new Float64Array(size);
    this.#shapes = Array.from({ length: SHAPES }, () => ({ wave: new Float64Array(size), weight: 0, width: 0, energy: 0 }));
  }

  reset(): void {
    this.#k = 0;
    this.#ring.fill(Number.NaN);
    for (const shape of this.#shapes) shape.weight = 0;
  }

  push(inputs: Float64Array, k: number, count: number): void {
    const ring = this.#ring;
    for (let i = 0; i < count; i++) ring[(k + i) & this.#mask] = inputs[i]!;
    this.#k = k + count;
  }

  /** Measures the beat at a sample of the decimated lead and takes it into its shape.  @returns whether there was a usual beat */
  measure(at: number): boolean {
    const { measures } = this;
    measures.fill(Number.NaN);
    this.shiftMs = Number.NaN;
    let best = this.#usual();
    const usual = best;
    let likeness = -1;
    if (usual !== null) {
      likeness = this.#fit(at, usual);
      this.#compare(usual, likeness);
      if (likeness >= ALIKE) this.shiftMs = this.#between() * this.#dt;
    }
    let cutFor = usual;
    const found = usual !== null && !Number.isNaN(measures[0]!);
    if (likeness < ALIKE)
      for (const shape of this.#shapes) {
        if (shape.weight === 0 || shape === usual) continue;
        const alike = this.#fit(at, shape);
        cutFor = shape;
        if (alike <= likeness) continue;
        likeness = alike;
        best = shape;
      }
    if (best !== null && likeness >= ALIKE) {
      if (cutFor !== best) this.#fit(at, best);
      this.#learn(best, Math.max(GAIN, 1 / (best.weight + 1)));
    } else if (this.#cut(at) > 0) {
      best = this.#shapes[0]!;
      for (const shape of this.#shapes) if (shape.weight < best.weight) best = shape;
      best.weight = 0;
      this.#learn(best, 1);
    }
    return found;
  }

  #learn(shape: Shape, gain: number): void {
    const { wave } = shape;
    const x = this.#wave;
    for (const each of this.#shapes) each.weight *= FADE;
    shape.weight++;
    for (let i = 0; i < wave.length; i++)
      if (x[i] === x[i]) wave[i] = gain === 1 || wave[i] !== wave[i] ? x[i]! : wave[i]! + gain * (x[i]! - wave[i]!);
    shape.width = this.#width(wave);
    shape.energy = 0;
    for (let i = this.#qFrom; i < this.#qTo; i++) shape.energy += wave[i]! * wave[i]!;
  }

  #usual(): Shape | null {
    let most = this.#shapes[0]!;
    for (const shape of this.#shapes) if (shape.weight > most.weight) most = shape;
    let usual = most;
    for (const shape of this.#shapes)
      if (shape.weight > FREQUENT * most.weight && shape.weight > 2 && shape.width < 0.85 * usual.width) usual = shape;
    return most.weight === 0 ? null : usual;
  }

  /** The wave around a sample: missing from the first missing sample on either side on.  @returns how much of the QRS complex is there */
  #cut(at: number): number {
    const x = this.#wave;
    const from = at + this.#pFrom;
    const r = -this.#pFrom;
    let missing = false;
    for (let i = r; i < x.length; i++) {
      const v = from + i < this.#k ? this.#ring[(from + i) & this.#mask]! : Number.NaN;
      missing ||= v !== v;
      x[i] = missing ? Number.NaN : v;
    }
    missing = false;
    for (let i = r - 1; i >= 0; i--) {
      const v = from + i >= 0 ? this.#ring[(from + i) & this.#mask]! : Number.NaN;
      missing ||= v !== v;
      x[i] = missing ? Number.NaN : v;
    }
    let sum = 0;
    for (let i = this.#qFrom; i < this.#qTo; i++) sum += x[i]!;
    if (sum !== sum) return 0;
    const mean = sum / (this.#qTo - this.#qFrom);
    for (let i = 0; i < x.length; i++) x[i] = x[i]! - mean;
    return 1;
  }

  /** Cuts the wave out where its QRS complex is most like the other one's.  @returns how much, -1..1 */
  #fit(at: number, other: Shape): number {
    const alikes = this.#alikes;
    let best = -2;
    let bestShift = 0;
    for (let shift = -this.#shift; shift <= this.#shift; shift++) {
      const alike = this.#qrsAlike(at + shift, other);
      alikes[shift + this.#shift] = alike;
      if (alike > best) {
        best = alike;
        bestShift = shift;
      }
    }
    this.#bestShift = bestShift;
    return this.#cut(at + bestShift) > 0 ? best : -1;
  }

  /** Where between samples the last fit is best: a parabola through its neighbours. */
  #between(): number {
    const i = this.#bestShift + this.#shift;
    if (i === 0 || i === this.#alikes.length - 1) return Number.NaN;
    const left = this.#alikes[i - 1]!;
    const right = this.#alikes[i + 1]!;
    const part = (left - right) / (2 * (left - 2 * this.#alikes[i]! + right));
    return Math.abs(part) < 1 ? this.#bestShift + part : Number.NaN;
  }

  #qrsAlike(at: number, { wave, energy }: Shape): number {
    const ring = this.#ring;
    const mask = this.#mask;
    const from = at + this.#pFrom;
    if (from + this.#qTo > this.#k) return -2;
    const to = this.#qTo;
    let sx = 0;
    let xx = 0;
    let xy = 0;
    for (let i = this.#qFrom; i < to; i++) {
      const x = ring[(from + i) & mask]!;
      sx += x;
      xx += x * x;
      xy += x * wave[i]!;
    }
    const alike = xy / Math.sqrt((xx - (sx * sx) / (to - this.#qFrom)) * energy);
    return alike === alike ? alike : -2;
  }

  #compare(usual: Shape, likeness: number): void {
    const x = this.#wave;
    const y = usual.wave;
    const m = this.measures;
    const qrs = relation(x, y, this.#qFrom, this.#qTo);
    m[0] = likeness;
    m[1] = 0.5 * Math.log(qrs.xx / qrs.yy);
    m[2] = Math.log(this.#slope(x) / this.#slope(y));
    const width = this.#width(x);
    m[3] = width / 100;
    m[4] = Math.log(width / usual.width);
    m[5] = 0.5 * Math.log((qrs.xx - 2 * qrs.xy + qrs.yy) / qrs.yy + 1e-4);
    const yy = qrs.yy;
    const p = relation(x, y, 0, this.#qFrom);
    m[6] = Math.max(-2, Math.min(3, p.xy / p.yy));
    m[7] = p.xy / Math.sqrt(p.xx * p.yy);
    m[8] = 0.5 * Math.log(p.yy / yy + 1e-6);
    const t = relation(x, y, this.#qTo, x.length);
    m[9] = t.xy / Math.sqrt(t.xx * t.yy);
    m[10] = 0.5 * Math.log(t.xx / t.yy);
    const all = relation(x, y, 0, x.length);
    m[11] = all.xy / Math.sqrt(all.xx * all.yy);
    let weights = 0;
    for (const { weight } of this.#shapes) weights += weight;
    m[12] = usual.weight / weights;
  }

  /** Area over height of the QRS complex, ms. */
  #width(x: Float64Array): number {
    let sum = 0;
    let high = 0;
    for (let i = this.#qFrom; i < this.#qTo; i++) {
      const a = Math.abs(x[i]!);
      sum += a;
      if (a > high) high = a;
    }
    return (sum / high) * this.#dt;
  }

  #slope(x: Float64Array): number {
    let steep = 0;
    for (let i = this.#qFrom + 1; i < this.#qTo; i++) steep = Math.max(steep, Math.abs(x[i]! - x[i - 1]!));
    return steep;
  }
}

const sums = { xx: 0, yy: 0, xy: 0 };

/** Energies and product of two stretches without their means. */
function relation(x: Float64Array, y: Float64Array, from: number, to: number): typeof sums {
  let sx = 0;
  let sy = 0;
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (let i = from; i < to; i++) {
    const a = x[i]!;
    const b = y[i]!;
    sx += a;
    sy += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  const n = to - from;
  sums.xx = xx - (sx * sx) / n;
  sums.yy = yy - (sy * sy) / n;
  sums.xy = xy - (sx * sy) / n;
  return sums;
}
