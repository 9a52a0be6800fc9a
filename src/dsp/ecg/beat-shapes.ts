/** Compares the shape of each beat with that of the usual beat of the recording: evidence of where in the heart it began. */

import { arenaDoubles, arenaFloats } from '../kernels/arena.ts';
import { MainsHum } from './mains-hum.ts';

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
/** Beats of the usual shape, about, before others are compared with it. */
const KNOWN = 2;
/** Of a shape that has been seen twice not long ago. */
const TWICE = 1.5;
/** Beats before one that it is compared with, */
const LAST = 3;
/** each of which has noise of its own: twice the power of that against a mean. */
const NOISE_OF_TWO = 0.5 * Math.log(2);
const GAIN = 0.1;
const FADE = 0.97;
/** Of two shapes that are both frequent, the narrower one is the usual one: in bigeminy every other beat is ventricular. */
const FREQUENT = 0.5;
/** A shape of this weight stays the one that others are compared with when a wider one becomes more frequent: a ventricular tachycardia,
 *  or a bundle branch block, which cannot be told apart. */
const HOME = 8;
/** Widths of QRS complexes, over each other, from which one is narrower. */
export const NARROWER = 0.85;
/** Of a usual beat, ms (area over height), from which its QRS complex is broad: bundle branch blocks have 65 to 85, ventricular beats most
 *  often more than 90. Where such beats follow each other within less than the second, s, they may be a ventricular tachycardia. */
export const BROAD = 80;
export const FAST = 0.6;
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
  'p_rest',
  'steep_rest',
  'before_rest',
] as const;

/** Numbers of a shape. */
const [WEIGHT, WIDTH, SLOPE, ENERGY, NUMBERS] = [0, 1, 2, 3, 4] as const;

class Shape {
  readonly wave: Float64Array;
  readonly #numbers = arenaDoubles(NUMBERS);

  constructor(length: number) {
    this.wave = arenaDoubles(length);
  }

  get weight(): number {
    return this.#numbers[WEIGHT]!;
  }

  set weight(weight: number) {
    this.#numbers[WEIGHT] = weight;
  }

  get width(): number {
    return this.#numbers[WIDTH]!;
  }

  get slope(): number {
    return this.#numbers[SLOPE]!;
  }

  /** Of its QRS complex, whose mean is 0. */
  get energy(): number {
    return this.#numbers[ENERGY]!;
  }

  learnQrs(width: number, slope: number, energy: number): void {
    this.#numbers[WIDTH] = width;
    this.#numbers[SLOPE] = slope;
    this.#numbers[ENERGY] = energy;
  }
}

/** Fed the decimated lead and asked for one beat after the other: a pure function of the samples and beats since reset. What is asked of a
 *  beat ends at the first missing sample after it. */
export class BeatShapes {
  /** Of the last beat, order of `shapeMeasures`; missing where there is nothing to compare it with. */
  readonly measures = arenaDoubles(shapeMeasures.length);
  /** How far after the sample asked for the usual beat fits best, ms; missing as the measures are. */
  shiftMs = Number.NaN;
  /** Is it of a rhythm of broad beats that may be ventricular, so that its shape says nothing? */
  mayBeVentricular = false;
  /** Area over height of the QRS complex of its shape, of its own where that is not known, ms; NaN: samples are missing. */
  widthMs = Number.NaN;
  readonly #dt: number;
  readonly #ring: Float32Array;
  readonly #mask: number;
  readonly #pFrom: number;
  readonly #qFrom: number;
  readonly #qTo: number;
  readonly #shift: number;
  /** The beat at hand. */
  readonly #seen: Float64Array;
  readonly #shapes: Shape[];
  readonly #hum: MainsHum;
  /** What stood before the last beats. */
  readonly #lastBefore: readonly Float64Array[];
  #keptCount = 0;
  /** The usual shape before a wider one became more frequent. */
  #home: Shape | null = null;
  readonly #fast: number;
  #lastAt = Number.NaN;
  #isFast = false;
  /** Was the last usual beat broad, and did it and the one before it come fast? */
  #isBroadAndFast = false;
  #k = 0;
  #bestShift = 0;
  /** From there to the top of a parabola through it and its neighbours, samples. */
  #part = 0;

  /** @param fd rate of the decimated lead, Hz */
  constructor(fd: number) {
    const at = (sec: number): number => Math.round(sec * fd);
    this.#dt = 1000 / fd;
    const length = 2 ** Math.ceil(Math.log2(HELD_SEC * fd));
    this.#ring = arenaFloats(length);
    this.#mask = length - 1;
    this.#shift = at(SHIFT);
    this.#fast = FAST * fd;
    this.#hum = new MainsHum(fd);
    // indices into the wave, which starts with the P wave
    this.#pFrom = at(P_FROM);
    this.#qFrom = at(Q_FROM) - this.#pFrom;
    this.#qTo = at(Q_TO) - this.#pFrom;
    const size = at(T_TO) - this.#pFrom;
    this.#seen = arenaDoubles(size + 2 * this.#shift);
    this.#lastBefore = Array.from({ length: LAST }, () => arenaDoubles(this.#qFrom));
    this.#shapes = Array.from({ length: SHAPES }, () => new Shape(size));
  }

  reset(): void {
    this.#k = 0;
    this.#keptCount = 0;
    this.#home = null;
    this.#lastAt = Number.NaN;
    this.#isFast = this.#isBroadAndFast = false;
    this.#ring.fill(Number.NaN);
    for (const shape of this.#shapes) shape.weight = 0;
  }

  push(inputs: Float64Array, k: number, count: number): void {
    const ring = this.#ring;
    for (let i = 0; i < count; i++) ring[(k + i) & this.#mask] = inputs[i]!;
    this.#k = k + count;
  }

  /** Measures the beat at a sample of the decimated lead and takes it into its shape.
   *  @param isAsked false: its shape is learned, and only where it fits is measured
   *  @returns whether it could be compared with a usual beat */
  measure(at: number, isAsked = true): boolean {
    const { measures } = this;
    measures.fill(Number.NaN);
    this.shiftMs = Number.NaN;
    const frequent = this.#usual();
    const usual = this.#homeOf(frequent);
    this.#look(at);
    let best = usual;
    let likeness = -1;
    if (usual !== null) {
      likeness = this.#fit(usual, true);
      if (isAsked && (usual === this.#home || usual.weight > KNOWN)) this.#compare(usual, likeness);
      if (likeness >= ALIKE) this.shiftMs = this.#between() * this.#dt;
    }
    const found = usual !== null && !Number.isNaN(measures[0]!);
    if (likeness < ALIKE)
      for (const shape of this.#shapes) {
        if (shape.weight === 0 || shape === usual) continue;
        const bestShift = this.#bestShift;
        const alike = this.#fit(shape, false);
        if (alike > likeness) {
          likeness = alike;
          best = shape;
        } else this.#bestShift = bestShift;
      }
    if (found) {
      const ofShape = best === usual || likeness < ALIKE || best!.weight < TWICE ? measures[13]! : this.#beforeRest(best!);
      measures[15] = this.#leastRest(ofShape, usual!);
    }
    this.#keepBefore();
    const own = likeness >= ALIKE ? best : null;
    if (usual !== null) this.#time(at, usual, own);
    this.mayBeVentricular = found && this.#isOfUnknownKind(usual!, own, frequent!);
    if (this.mayBeVentricular) measures.fill(Number.NaN);
    this.widthMs = Number.NaN;
    if (own !== null) {
      this.#learn(own, Math.max(GAIN, 1 / (own.weight + 1)));
      this.widthMs = own.width;
    } else {
      this.#bestShift = 0;
      if (this.#isWhole(0)) {
        const fresh = this.#rarest();
        this.#learn(fresh, 1);
        this.widthMs = fresh.width;
      }
    }
    return found && !this.mayBeVentricular;
  }

  /** Does its shape say nothing, because the usual beat may be ventricular?  @param own its shape, null: none that is known */
  #isOfUnknownKind(usual: Shape, own: Shape | null, frequent: Shape): boolean {
    if (own === frequent && usual !== frequent) return true;
    if (own === usual) return this.#isBroadAndFast;
    return this.#isBroadAndFast && this.measures[4]! < Math.log(NARROWER);
  }

  /** Takes in when a beat came, and of which shape it is. */
  #time(at: number, usual: Shape, own: Shape | null): void {
    const wasFast = this.#isFast;
    this.#isFast = at - this.#lastAt < this.#fast;
    this.#lastAt = at;
    if (own === usual) this.#isBroadAndFast = usual.width > BROAD && wasFast && this.#isFast;
  }

  #rarest(): Shape {
    let rarest: Shape | null = null;
    for (const shape of this.#shapes) if (shape !== this.#home && !(rarest !== null && shape.weight >= rarest.weight)) rarest = shape;
    rarest!.weight = 0;
    return rarest!;
  }

  /** Takes the beat in where it fits best. */
  #learn(shape: Shape, gain: number): void {
    const { wave } = shape;
    const x = this.#seen;
    const from = this.#shift + this.#bestShift;
    const mean = this.#qrsMean(from);
    for (const each of this.#shapes) each.weight *= FADE;
    shape.weight++;
    for (let i = 0; i < wave.length; i++) {
      const v = x[from + i]! - mean;
      if (v === v) wave[i] = gain === 1 || wave[i] !== wave[i] ? v : wave[i]! + gain * (v - wave[i]!);
      else if (gain === 1) wave[i] = Number.NaN;
    }
    const to = this.#qTo;
    let energy = 0;
    let area = 0;
    let high = 0;
    let steep = 0;
    let before = wave[this.#qFrom]!;
    for (let i = this.#qFrom; i < to; i++) {
      const v = wave[i]!;
      const size = Math.abs(v);
      area += size;
      if (size > high) high = size;
      energy += v * v;
      const step = Math.abs(v - before);
      if (step > steep) steep = step;
      before = v;
    }
    shape.learnQrs((area / high) * this.#dt, steep, energy);
  }

  #usual(): Shape | null {
    let most = this.#shapes[0]!;
    for (const shape of this.#shapes) if (shape.weight > most.weight) most = shape;
    let usual = most;
    for (const shape of this.#shapes)
      if (shape.weight > FREQUENT * most.weight && shape.weight > 2 && shape.width < NARROWER * usual.width) usual = shape;
    return most.weight === 0 ? null : usual;
  }

  /** The shape that a beat is compared with: the most frequent one, or the one that was so before and is narrower. */
  #homeOf(frequent: Shape | null): Shape | null {
    const home = this.#home;
    const isWider = home !== null && frequent !== null && home.width < NARROWER * frequent.width;
    if (isWider) return home;
    if (frequent !== null && frequent.weight > HOME) this.#home = frequent;
    else if (frequent !== home) this.#home = null;
    return frequent;
  }

  /** The samples around one, as far as a shape can be shifted: missing from the first missing one on either side on. */
  #look(at: number): void {
    const x = this.#seen;
    const ring = this.#ring;
    const mask = this.#mask;
    const from = at + this.#pFrom - this.#shift;
    const r = this.#shift - this.#pFrom;
    const end = Math.min(x.length, this.#k - from);
    let i = r;
    for (; i < end; i++) {
      const v = ring[(from + i) & mask]!;
      if (v !== v) break;
      x[i] = v;
    }
    x.fill(Number.NaN, Math.min(i, x.length));
    for (i = r - 1; i >= 0 && from + i >= 0; i--) {
      const v = ring[(from + i) & mask]!;
      if (v !== v) break;
      x[i] = v;
    }
    x.fill(Number.NaN, 0, i + 1);
    const { reach } = this.#hum;
    if (at + reach < this.#k && this.#hum.find(ring, mask, at)) this.#hum.takeOff(x, from - at, x.length);
  }

  #isWhole(shift: number): boolean {
    const mean = this.#qrsMean(this.#shift + shift);
    return mean === mean;
  }

  #qrsMean(from: number): number {
    const x = this.#seen;
    let sum = 0;
    for (let i = from + this.#qFrom; i < from + this.#qTo; i++) sum += x[i]!;
    return sum / (this.#qTo - this.#qFrom);
  }

  /** Finds where the beat's QRS complex is most like that of a shape: from no shift uphill; where that does not find one that is alike,
   *  everywhere.  @returns how much, -1..1 */
  #fit(shape: Shape, everywhere: boolean): number {
    let at = 0;
    let best = this.#qrsAlike(0, shape);
    let left = this.#qrsAlike(-1, shape);
    let right = this.#qrsAlike(1, shape);
    const step = left > right ? -1 : 1;
    let next = step < 0 ? left : right;
    while (next > best) {
      at += step;
      if (step < 0) right = best;
      else left = best;
      best = next;
      next = Math.abs(at) < this.#shift ? this.#qrsAlike(at + step, shape) : -2;
      if (step < 0) left = next;
      else right = next;
    }
    if (everywhere && best < ALIKE) {
      for (let shift = -this.#shift; shift <= this.#shift; shift++) {
        const alike = this.#qrsAlike(shift, shape);
        if (alike <= best) continue;
        best = alike;
        at = shift;
      }
      left = this.#qrsAlike(Math.max(-this.#shift, at - 1), shape);
      right = this.#qrsAlike(Math.min(this.#shift, at + 1), shape);
    }
    this.#part = (left - right) / (2 * (left - 2 * best + right));
    this.#bestShift = at;
    return best > -2 ? best : -1;
  }

  /** Where between samples the last fit is best: a parabola through its neighbours. */
  #between(): number {
    const part = this.#part;
    return Math.abs(this.#bestShift) < this.#shift && Math.abs(part) < 1 ? this.#bestShift + part : Number.NaN;
  }

  #qrsAlike(shift: number, { wave, energy }: Shape): number {
    const seen = this.#seen;
    const from = this.#shift + shift;
    const to = this.#qTo;
    let sx = 0;
    let xx = 0;
    let xy = 0;
    for (let i = this.#qFrom; i < to; i++) {
      const x = seen[from + i]!;
      sx += x;
      xx += x * x;
      xy += x * wave[i]!;
    }
    const alike = xy / Math.sqrt((xx - (sx * sx) / (to - this.#qFrom)) * energy);
    return alike === alike ? alike : -2;
  }

  #compare(usual: Shape, likeness: number): void {
    const x = this.#seen;
    const y = usual.wave;
    const m = this.measures;
    const from = this.#shift + this.#bestShift;
    clear(whole);
    const p = relate(x, y, from, 0, this.#qFrom, part);
    const pAlong = p.xy / p.yy;
    const pLikeness = p.xy / Math.sqrt(p.xx * p.yy);
    const pEnergy = p.yy;
    const pRest = p.xx - 2 * p.xy + p.yy;
    const qrs = relate(x, y, from, this.#qFrom, this.#qTo, part);
    const { yy } = qrs;
    const { width, slope, steepRest } = this.#qrsAgainst(y, from, qrs.x / qrs.n);
    m[0] = likeness;
    m[1] = 0.5 * Math.log(qrs.xx / yy);
    m[2] = Math.log(slope / usual.slope);
    m[3] = width / 100;
    m[4] = Math.log(width / usual.width);
    m[5] = 0.5 * Math.log((qrs.xx - 2 * qrs.xy + yy) / yy + 1e-4);
    m[6] = Math.max(-2, Math.min(3, pAlong));
    m[7] = pLikeness;
    m[8] = 0.5 * Math.log(pEnergy / yy + 1e-6);
    const t = relate(x, y, from, this.#qTo, y.length, part);
    m[9] = t.xy / Math.sqrt(t.xx * t.yy);
    m[10] = 0.5 * Math.log(t.xx / t.yy);
    const all = centred(whole, part);
    m[11] = all.xy / Math.sqrt(all.xx * all.yy);
    let weights = 0;
    for (const { weight } of this.#shapes) weights += weight;
    m[12] = usual.weight / weights;
    m[13] = 0.5 * Math.log(pRest / yy + 1e-4);
    m[14] = steepRest;
  }

  /** The least of what stands before the beat beyond what stands before beats of its shape, and beyond what stood before one of the last:
   *  in bigeminy of the atria two kinds of beats have one shape, and each is as the one before the last was. */
  #leastRest(ofShape: number, usual: Shape): number {
    let least = ofShape;
    const from = this.#shift + this.#bestShift;
    for (let j = 0; j < Math.min(LAST, this.#keptCount); j++) {
      const p = relate(this.#seen, this.#lastBefore[j]!, from, 0, this.#qFrom, part);
      const rest = 0.5 * Math.log((p.xx - 2 * p.xy + p.yy) / usual.energy + 1e-4) - NOISE_OF_TWO;
      if (rest < least) least = rest;
    }
    return least;
  }

  #keepBefore(): void {
    const kept = this.#lastBefore[this.#keptCount++ % LAST]!;
    const from = this.#shift + this.#bestShift;
    for (let i = 0; i < kept.length; i++) kept[i] = this.#seen[from + i]!;
  }

  /** What stands before the beat beyond what stands before beats of a shape, over the size of their QRS complex. */
  #beforeRest({ wave, energy }: Shape): number {
    const p = relate(this.#seen, wave, this.#shift + this.#bestShift, 0, this.#qFrom, part);
    return 0.5 * Math.log((p.xx - 2 * p.xy + p.yy) / energy + 1e-4);
  }

  /** Of a QRS complex: area over height, ms; its steepest step; and of what is left of it without the usual one, the differences between
   *  samples, over those of the usual one: waves of movement are slow, so that they leave its steep part as it is. */
  #qrsAgainst(y: Float64Array, from: number, mean: number): typeof ofQrs {
    const x = this.#seen;
    const first = this.#qFrom;
    const to = this.#qTo;
    let before = x[from + first]!;
    let usualBefore = y[first]!;
    let high = Math.abs(before - mean);
    let area = high;
    let steep = 0;
    let rest = 0;
    let usual = 0;
    for (let i = first + 1; i < to; i++) {
      const v = x[from + i]!;
      const u = y[i]!;
      const a = Math.abs(v - mean);
      area += a;
      if (a > high) high = a;
      const step = v - before;
      if (Math.abs(step) > steep) steep = Math.abs(step);
      const b = u - usualBefore;
      const left = step - b;
      rest += left * left;
      usual += b * b;
      before = v;
      usualBefore = u;
    }
    ofQrs.width = (area / high) * this.#dt;
    // a missing sample makes all of it missing
    ofQrs.slope = rest === rest ? steep : Number.NaN;
    ofQrs.steepRest = 0.5 * Math.log(rest / usual + 1e-4);
    return ofQrs;
  }
}

/** Of the last beat that was compared. */
const ofQrs = { width: 0, slope: 0, steepRest: 0 };

type Sums = { n: number; x: number; y: number; xx: number; yy: number; xy: number };

const newSums = (): Sums => ({ n: 0, x: 0, y: 0, xx: 0, yy: 0, xy: 0 });
const whole = newSums();
const part = newSums();

function clear(sums: Sums): void {
  sums.n = sums.x = sums.y = sums.xx = sums.yy = sums.xy = 0;
}

/** Energies and product of a stretch of the beat and of a shape, each without its mean; their sums join `whole`. */
function relate(x: Float64Array, y: Float64Array, shift: number, from: number, to: number, out: Sums): Sums {
  let sx = 0;
  let sy = 0;
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (let i = from; i < to; i++) {
    const a = x[shift + i]!;
    const b = y[i]!;
    sx += a;
    sy += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  out.n = to - from;
  out.x = sx;
  out.y = sy;
  out.xx = xx;
  out.yy = yy;
  out.xy = xy;
  whole.n += out.n;
  whole.x += sx;
  whole.y += sy;
  whole.xx += xx;
  whole.yy += yy;
  whole.xy += xy;
  return centred(out, out);
}

function centred({ n, x, y, xx, yy, xy }: Sums, out: Sums): Sums {
  out.xx = xx - (x * x) / n;
  out.yy = yy - (y * y) / n;
  out.xy = xy - (x * y) / n;
  return out;
}
