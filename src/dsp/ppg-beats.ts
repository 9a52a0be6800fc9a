/** Finds the beats of a photoplethysmogram: candidates from the slope sum, chosen as the best path with a fixed lag.
 *
 *  Candidates are maxima of the slope sum function (Zong et al. 2003, doi:10.1109/CIC.2003.1291140): the sum of the rises of the band-passed
 *  signal over the last 170 ms, so that a candidate is an upstroke and its value the height of it. Zong's running threshold is replaced:
 *  a beat is not judged alone but as part of a sequence (dynamic programming with a fixed lag, as Viterbi decoders do). Each candidate brings
 *  a reward for its height and steepness over the level of the 4 s before and `AHEAD_SEC` after it, each step between two candidates a cost:
 *  - for an interval unlike the period of the last seconds (autocorrelation), as far as these seconds are periodic at all,
 *  - for an interval unlike the one before,
 *  - for a low wave soon after a high one (the dicrotic wave),
 *  - for starting high above the previous foot (again the dicrotic wave).
 *  Beat by beat, an irregular pulse costs little, a repeated dicrotic wave costs much.
 *
 *  Position: where the upstroke crosses the middle between its foot and its top, linearly interpolated. Of the usual fiducial points
 *  this one gives pulse intervals that agree best with RR (see README.md); the delay of the low-pass is taken off. */
import { highPass, lowPass } from './biquad.ts';
import type { BeatDetector, FoundBeats } from './kernel.ts';

const HIGH_PASS_HZ = 0.3;
const LOW_PASS_HZ = 8;
/** Width of the slope sum, near the duration of a systolic upstroke. */
const RISE_SEC = 0.17;
/** Width of the steepness measure. */
const STEEP_SEC = 0.07;
/** The foot of an upstroke is looked for this far before its top. */
const FOOT_SEC = 0.35;
/** The fall after the top is looked for this far. */
const FALL_SEC = 0.3;
/** Two maxima of the slope sum closer than this are one. */
const MERGE_SEC = 0.12;
/** Level and period are taken from [t - BACK_SEC, t + AHEAD_SEC]. */
const AHEAD_SEC = 1;
const BACK_SEC = 4;
/** A path is final this long after its beat entered it. */
const LAG_SEC = 1;
/** Missing samples up to this are held at the last value; a longer gap ends the path and starts afresh. */
const HOLD_SEC = 0.05;
const BLOCK_SEC = 0.5;
const TICK_SEC = 0.1;

/** Weights of the path, tuned on 27 BIDMC and 6 IEEE SPC recordings together; see README.md for the split-half check. */
const weights = {
  /** log of the height over the level at which a candidate is worth nothing. */
  logTheta: -1.82,
  /** Size of a candidate: weighted logarithms of the height and steepness of the rise, and of the fall within FALL_SEC after it. */
  height: 0.23,
  steep: 0.313,
  fall: 0.557,
  fallFloor: 0.0785,
  rewardMin: -1.6,
  rewardMax: 1.02,
  /** Interval against period: weight, least autocorrelation that counts, share for long intervals, cap. */
  period: 0.468,
  periodicityMin: 0.812,
  longShare: 0.357,
  periodMax: 3.08,
  /** Interval against the one before. */
  change: 0.418,
  /** Low after high within dicroticSec. */
  dicrotic: 1.89,
  dicroticSec: 0.508,
  /** Foot above the previous foot, in levels. */
  foot: 0.195,
  footFree: 0.213,
} as const;

/** Shortest interval between two beats (207/min) and the longest step of a path. */
const IBI_MIN_SEC = 0.289;
const IBI_MAX_SEC = 3.2;
/** A shorter period is preferred when its autocorrelation reaches this share of the best. */
const SHORTER_SHARE = 0.75;
const PERIOD_MIN_SEC = 0.28;
const PERIOD_MAX_SEC = 1.6;
const PERIOD_WINDOW_SEC = 6;
/** Rate at which the period is looked for. */
const PERIOD_FS = 25;

/** Candidates that a path may still choose from; at most (IBI_MAX + LAG) / MERGE = 44 are alive. */
const NODES = 64;
const NODE_MASK = NODES - 1;
/** Candidates waiting for their level; at most AHEAD / MERGE = 17. */
const WAITING = 32;
const WAITING_MASK = WAITING - 1;

/** Slope-sum candidates, best path.
 *  @see the head of this file
 *  Units: any scale, pulse upwards (systolic upstroke positive; invert raw reflectance). Several leads are several wavelengths of one sensor:
 *  their rises are summed, each over its own level. Tested at 125 Hz, on recordings resampled to 32, 64 and 250 Hz, and on a synthetic pulse at 25 to 500 Hz.
 *  Latency: `latencySec` = look-ahead + lag + merging and tick. */
export class PpgBeatDetector implements BeatDetector {
  readonly latencySec = AHEAD_SEC + LAG_SEC + TICK_SEC + FOOT_SEC + 0.05;
  readonly #fs: number;
  readonly #leads: readonly Lead[];
  readonly #ahead: number;
  readonly #lag: number;
  readonly #merge: number;
  readonly #hold: number;
  readonly #block: number;
  readonly #tick: number;
  readonly #ibiMin: number;
  readonly #ibiMax: number;
  /** Fused slope sum and steepness: moving sums over the ring of rises. */
  readonly #rise: MovingSum;
  readonly #steep: MovingSum;
  readonly #steepRing: Float64Array;
  readonly #steepMask: number;
  readonly #level: BlockLevel;
  readonly #steepLevel: BlockLevel;
  readonly #period: PeriodTracker;
  /** Samples since reset. */
  #n = 0;
  /** Index of the newest sample that went through the filters. */
  #newest = -1;
  /** First sample after reset or gap. */
  #start = 0;
  /** Consecutive missing samples; starts in a gap. */
  #missing = 1 << 30;
  #previousRise = 0;
  #rising = false;
  // the newest candidate, not yet final
  #topAt = -1;
  #topRise = 0;
  // candidates that wait for AHEAD_SEC to pass
  readonly #waitAt = new Float64Array(WAITING);
  readonly #waitRise = new Float64Array(WAITING);
  readonly #waitSteep = new Float64Array(WAITING);
  #waitHead = 0;
  #waitTail = 0;
  // nodes of the path; ids ascend, node id lives at id & NODE_MASK
  readonly #at = new Float64Array(NODES);
  readonly #position = new Float64Array(NODES);
  readonly #size = new Float64Array(NODES);
  readonly #foot = new Float64Array(NODES);
  readonly #score = new Float64Array(NODES);
  readonly #step = new Float64Array(NODES);
  readonly #from = new Int32Array(NODES);
  readonly #trust = new Float64Array(NODES);
  #nodeEnd = 0;
  /** Last emitted node, or nodeBase - 1 when there is none since the start. */
  #committed = -1;
  #nodeBase = 0;

  /** @param fs Hz, 25 … 1000  @param leadCount wavelengths, >= 1  @throws RangeError when either is out of range */
  constructor(fs: number, leadCount = 1) {
    if (!(fs >= 20 && fs <= 2000)) throw new RangeError(`fs = ${fs} Hz: 20 … 2000`);
    if (!(leadCount >= 1)) throw new RangeError(`leadCount = ${leadCount}`);
    this.#fs = fs;
    this.#leads = Array.from({ length: leadCount }, () => new Lead(fs));
    this.#ahead = Math.round(AHEAD_SEC * fs);
    this.#lag = Math.round(LAG_SEC * fs);
    this.#merge = Math.round(MERGE_SEC * fs);
    this.#hold = Math.round(HOLD_SEC * fs);
    this.#block = Math.round(BLOCK_SEC * fs);
    this.#tick = Math.max(1, Math.round(TICK_SEC * fs));
    this.#ibiMin = IBI_MIN_SEC * fs;
    this.#ibiMax = IBI_MAX_SEC * fs;
    this.#rise = new MovingSum(Math.round(RISE_SEC * fs));
    this.#steep = new MovingSum(Math.max(1, Math.round(STEEP_SEC * fs)));
    const ring = ringSize((RISE_SEC + MERGE_SEC) * fs + 4);
    this.#steepRing = new Float64Array(ring);
    this.#steepMask = ring - 1;
    this.#level = new BlockLevel();
    this.#steepLevel = new BlockLevel();
    this.#period = new PeriodTracker(fs);
  }

  reset(): void {
    this.#n = 0;
    this.#missing = 1 << 30;
    this.#restart();
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    if (this.#leads.length === 1) {
      const x = leads[0]!;
      const lead = this.#leads[0]!;
      for (let i = from; i < to; i++) {
        const value = x[i]!;
        if (value - value === 0) {
          if (this.#missing > this.#hold) this.#restart();
          this.#missing = 0;
          this.#accept(lead.push(value), out);
        } else if (this.#missing < this.#hold) {
          this.#missing++;
          this.#accept(lead.push(lead.last), out);
        } else this.#skip(out);
      }
      return;
    }
    for (let i = from; i < to; i++) this.#pushFused(leads, i, out);
  }

  /** A sample counts as present when any lead has it; a lead without holds its last value and adds nothing. */
  #pushFused(leads: readonly Float64Array[], i: number, out: FoundBeats): void {
    let present = false;
    for (let c = 0; c < this.#leads.length; c++) {
      const value = leads[c]![i]!;
      if (value - value === 0) present = true;
    }
    if (present) {
      if (this.#missing > this.#hold) this.#restart();
      this.#missing = 0;
    } else if (this.#missing < this.#hold) this.#missing++;
    else {
      this.#skip(out);
      return;
    }
    let sum = 0;
    for (let c = 0; c < this.#leads.length; c++) {
      const lead = this.#leads[c]!;
      const value = leads[c]![i]!;
      const rise = lead.push(value - value === 0 ? value : lead.last);
      if (lead.scale > 0) sum += rise / lead.scale;
    }
    this.#accept(sum, out);
  }

  flush(out: FoundBeats): void {
    if (this.#missing > this.#hold) return;
    this.#finish(out);
    this.#missing = 1 << 30;
  }

  /** One sample of a gap that is longer than HOLD_SEC. */
  #skip(out: FoundBeats): void {
    if (this.#missing === this.#hold) this.#finish(out);
    if (this.#missing <= this.#hold) this.#missing++;
    this.#n++;
  }

  /** Decides everything with what is there. */
  #finish(out: FoundBeats): void {
    this.#closeTop();
    while (this.#waitHead < this.#waitTail) this.#admit();
    this.#commit(Number.POSITIVE_INFINITY, out);
  }

  #restart(): void {
    this.#start = this.#n;
    for (const lead of this.#leads) lead.reset();
    this.#rise.reset();
    this.#steep.reset();
    this.#level.reset();
    this.#steepLevel.reset();
    this.#period.reset();
    this.#previousRise = 0;
    this.#rising = false;
    this.#topAt = -1;
    this.#waitHead = this.#waitTail = 0;
    this.#nodeEnd = this.#nodeBase = 0;
    this.#committed = -1;
  }

  /** @param rise the (fused) positive difference of the newest sample */
  #accept(rise: number, out: FoundBeats): void {
    const n = this.#n;
    this.#newest = n;
    const sum = this.#rise.push(rise);
    const steep = this.#steep.push(rise);
    this.#steepRing[n & this.#steepMask] = steep;
    this.#level.push(sum);
    this.#steepLevel.push(steep);
    this.#period.push(sum);
    // a maximum of the slope sum at n - 1
    if (sum > this.#previousRise) this.#rising = true;
    else if (sum < this.#previousRise && this.#rising) {
      this.#rising = false;
      this.#offer(n - 1, this.#previousRise);
    }
    this.#previousRise = sum;
    if (this.#topAt >= 0 && n - this.#topAt >= this.#merge) this.#closeTop();
    const age = n + 1 - this.#start;
    if (age % this.#block === 0) {
      this.#level.closeBlock();
      this.#steepLevel.closeBlock();
      for (const lead of this.#leads) lead.closeBlock(this.#block);
    }
    if (this.#waitHead < this.#waitTail && n - this.#waitAt[this.#waitHead & WAITING_MASK]! >= this.#ahead) this.#admit();
    if (age % this.#tick === 0 && this.#nodeEnd > this.#nodeBase) this.#commit(n - this.#ahead - this.#lag, out);
    this.#n = n + 1;
  }

  #offer(at: number, rise: number): void {
    if (this.#topAt >= 0 && rise <= this.#topRise) return;
    this.#topAt = at;
    this.#topRise = rise;
  }

  /** The newest candidate is final: nothing higher came within MERGE_SEC. */
  #closeTop(): void {
    if (this.#topAt < 0) return;
    let steepest = 0;
    const from = Math.max(this.#start, this.#topAt - this.#rise.width);
    for (let i = from; i <= this.#topAt; i++) {
      const steep = this.#steepRing[i & this.#steepMask]!;
      if (steep > steepest) steepest = steep;
    }
    if (this.#waitTail - this.#waitHead < WAITING) {
      const w = this.#waitTail++ & WAITING_MASK;
      this.#waitAt[w] = this.#topAt;
      this.#waitRise[w] = this.#topRise;
      this.#waitSteep[w] = steepest;
    }
    this.#topAt = -1;
  }

  /** The oldest waiting candidate becomes a node: its best predecessor is chosen. */
  #admit(): void {
    const w = this.#waitHead++ & WAITING_MASK;
    const at = this.#waitAt[w]!;
    const level = this.#level.value();
    const steepLevel = this.#steepLevel.value();
    if (!(level > 0) || !(steepLevel > 0)) return;
    let lead = this.#leads[0]!;
    for (const other of this.#leads) if (other.riseAt(at, this.#newest) > lead.riseAt(at, this.#newest)) lead = other;
    this.#period.update();
    const periodSamples = this.#period.periodSec * this.#fs;
    const periodic = Math.max(0, (this.#period.periodicity - weights.periodicityMin) / (1 - weights.periodicityMin));
    if (this.#nodeEnd - Math.max(this.#committed, this.#nodeBase) >= NODES - 1) return; // cannot happen, see NODES
    const id = this.#nodeEnd++;
    const slot = id & NODE_MASK;
    this.#at[slot] = at;
    lead.locate(at, this.#newest);
    const unit = this.#leads.length === 1 ? level : level * lead.scale;
    this.#size[slot] =
      weights.height * Math.log(this.#waitRise[w]! / level + 0.01) +
      weights.steep * Math.log(this.#waitSteep[w]! / steepLevel + 0.01) +
      weights.fall * Math.log(lead.fall / unit + weights.fallFloor);
    this.#position[slot] = lead.crossing;
    this.#foot[slot] = lead.foot / unit;
    this.#trust[slot] = periodic;
    this.#link(id, periodSamples, weights.period * periodic * periodic);
  }

  #link(id: number, periodSamples: number, periodWeight: number): void {
    const slot = id & NODE_MASK;
    const at = this.#at[slot]!;
    const size = this.#size[slot]!;
    const foot = this.#foot[slot]!;
    const reward = Math.max(weights.rewardMin, Math.min(weights.rewardMax, size - weights.logTheta));
    const dicroticSamples = weights.dicroticSec * this.#fs;
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    let reachable = false;
    for (let other = id - 1; other >= this.#nodeBase && other >= this.#committed; other--) {
      const from = other & NODE_MASK;
      const step = at - this.#at[from]!;
      if (step < this.#ibiMin) continue;
      if (step > this.#ibiMax) break;
      const score = this.#score[from]!;
      if (score === Number.NEGATIVE_INFINITY) continue;
      reachable = true;
      const offPeriod = Math.log(step / periodSamples);
      let cost = Math.min(weights.periodMax, (offPeriod > 0 ? weights.longShare : 1) * periodWeight * offPeriod * offPeriod);
      const stepBefore = this.#step[from]!;
      if (stepBefore > 0) {
        const change = Math.log(step / stepBefore);
        cost += weights.change * Math.min(1, 2 * change * change);
      }
      const lower = this.#size[from]! - size;
      if (lower > 0 && step < dicroticSamples) cost += weights.dicrotic * lower * (1 - step / dicroticSamples);
      const higherFoot = foot - this.#foot[from]! - weights.footFree;
      if (higherFoot > 0) cost += weights.foot * Math.min(1, higherFoot);
      if (score - cost > bestScore) {
        bestScore = score - cost;
        best = other;
      }
    }
    if (best >= 0) {
      this.#score[slot] = bestScore + reward;
      this.#from[slot] = best;
      this.#step[slot] = at - this.#at[best & NODE_MASK]!;
      return;
    }
    // first of its path: after the start, or further than IBI_MAX_SEC from the last beat
    const committed = this.#committed;
    const tooClose = committed >= 0 && at - this.#at[committed & NODE_MASK]! < this.#ibiMin;
    const base = committed >= 0 ? this.#score[committed & NODE_MASK]! : 0;
    this.#score[slot] = reachable || tooClose ? Number.NEGATIVE_INFINITY : base + reward - 1;
    this.#from[slot] = committed;
    this.#step[slot] = 0;
  }

  /** Emits the beats of the best path that lie at or before a sample. */
  #commit(until: number, out: FoundBeats): void {
    for (;;) {
      const first = Math.max(this.#committed + 1, this.#nodeBase);
      let end = -1;
      let endScore = Number.NEGATIVE_INFINITY;
      for (let id = first; id < this.#nodeEnd; id++) {
        const score = this.#score[id & NODE_MASK]!;
        if (score > endScore) {
          endScore = score;
          end = id;
        }
      }
      if (end < 0) return;
      let id = end;
      while (this.#from[id & NODE_MASK]! > this.#committed) id = this.#from[id & NODE_MASK]!;
      const slot = id & NODE_MASK;
      if (this.#at[slot]! > until) return;
      appendBeat(out, this.#position[slot]!, this.#confidence(slot));
      // paths that do not pass through the emitted beat are dead
      for (let other = first; other < this.#nodeEnd; other++) {
        let back = other;
        while (back > id) back = this.#from[back & NODE_MASK]!;
        if (back !== id) this.#score[other & NODE_MASK] = Number.NEGATIVE_INFINITY;
      }
      this.#committed = id;
    }
  }

  /** Logistic function of the reward, raised where the seconds around were periodic. */
  #confidence(slot: number): number {
    return 1 / (1 + Math.exp(-(this.#size[slot]! - weights.logTheta - 1 + 2 * this.#trust[slot]!)));
  }
}

/** Appends a beat; the columns double when full. */
function appendBeat(out: FoundBeats, position: number, confidence: number): void {
  if (out.count >= out.position.length) {
    const grow = (old: Float64Array): Float64Array => {
      const grown = new Float64Array(Math.max(16, 2 * old.length));
      grown.set(old);
      return grown;
    };
    out.position = grow(out.position);
    out.confidence = grow(out.confidence);
  }
  out.position[out.count] = position;
  out.confidence[out.count] = confidence;
  out.count++;
}

function ringSize(samples: number): number {
  let size = 1;
  while (size < samples) size *= 2;
  return size;
}

/** One wavelength: band-pass, its last seconds, its scale. */
class Lead {
  /** Last accepted input. */
  last = 0;
  /** Mean slope sum of the last blocks (0 until one is complete); used only to add leads of different scales. */
  scale = 0;
  /** Results of locate. */
  crossing = 0;
  foot = 0;
  fall = 0;
  readonly #ring: Float64Array;
  readonly #mask: number;
  readonly #riseSamples: number;
  readonly #footSamples: number;
  readonly #fallSamples: number;
  readonly #delay: number;
  readonly #hb: readonly [number, number];
  readonly #ha: readonly [number, number];
  readonly #lb: readonly [number, number];
  readonly #la: readonly [number, number];
  #fresh = true;
  #x2 = 0;
  #h1 = 0;
  #h2 = 0;
  #y1 = 0;
  #y2 = 0;
  #count = 0;
  #offset = 0;
  #blockRise = 0;

  constructor(fs: number) {
    const ring = ringSize((AHEAD_SEC + RISE_SEC + 0.6) * fs + 8);
    this.#ring = new Float64Array(ring);
    this.#mask = ring - 1;
    this.#riseSamples = Math.round(RISE_SEC * fs);
    this.#footSamples = Math.round(FOOT_SEC * fs);
    this.#fallSamples = Math.round(FALL_SEC * fs);
    // group delay of a Butterworth pair at low frequency: sqrt(2) / (2 pi f)
    const lowPassHz = Math.min(LOW_PASS_HZ, 0.4 * fs);
    this.#delay = (Math.SQRT2 / (2 * Math.PI * lowPassHz)) * fs;
    const high = highPass(HIGH_PASS_HZ, fs);
    const low = lowPass(lowPassHz, fs);
    this.#hb = [high.b0, high.b1];
    this.#ha = [high.a1, high.a2];
    this.#lb = [low.b0, low.b1];
    this.#la = [low.a1, low.a2];
  }

  reset(): void {
    this.#fresh = true;
    this.#count = 0;
    this.scale = 0;
    this.#blockRise = 0;
  }

  /** Filters one sample. @returns its rise over the sample before, 0 when it falls */
  push(value: number): number {
    if (this.#fresh) {
      this.#fresh = false;
      this.last = this.#x2 = value;
      this.#h1 = this.#h2 = this.#y1 = this.#y2 = 0;
    }
    const hb = this.#hb;
    const ha = this.#ha;
    const lb = this.#lb;
    const la = this.#la;
    const h = hb[0] * (value + this.#x2) + hb[1] * this.last - ha[0] * this.#h1 - ha[1] * this.#h2;
    const y = lb[0] * (h + this.#h2) + lb[1] * this.#h1 - la[0] * this.#y1 - la[1] * this.#y2;
    const rise = y > this.#y1 ? y - this.#y1 : 0;
    this.#x2 = this.last;
    this.last = value;
    this.#h2 = this.#h1;
    this.#h1 = h;
    this.#y2 = this.#y1;
    this.#y1 = y;
    this.#ring[this.#count++ & this.#mask] = y;
    this.#blockRise += rise;
    return rise;
  }

  closeBlock(samples: number): void {
    const mean = this.#blockRise / samples;
    this.scale = this.scale === 0 ? mean : this.scale + 0.125 * (mean - this.scale);
    this.#blockRise = 0;
  }

  /** Height of the upstroke that ends near a sample, over the lead's scale. @param n index of the newest sample pushed */
  riseAt(at: number, n: number): number {
    this.locate(at, n);
    return this.scale > 0 ? this.#offset / this.scale : 0;
  }

  /** Finds foot and mid-amplitude crossing of the upstroke whose slope sum peaks at a sample. */
  locate(at: number, n: number): void {
    const ring = this.#ring;
    const mask = this.#mask;
    // sample i of the detector is entry i + shift of the ring (they part after a gap)
    const shift = this.#count - 1 - n;
    const last = this.#count - 1;
    const centre = at + shift;
    const oldest = Math.max(0, centre - this.#footSamples);
    let top = Math.max(0, centre - this.#riseSamples);
    const topEnd = Math.min(last, centre + (this.#riseSamples >> 1));
    for (let i = top; i <= topEnd; i++) if (ring[i & mask]! > ring[top & mask]!) top = i;
    let foot = top;
    for (let i = top; i >= oldest; i--) if (ring[i & mask]! < ring[foot & mask]!) foot = i;
    const low = ring[foot & mask]!;
    const high = ring[top & mask]!;
    const middle = (low + high) / 2;
    let i = top;
    while (i > foot && ring[(i - 1) & mask]! >= middle) i--;
    const below = ring[(i - 1) & mask]!;
    const above = ring[i & mask]!;
    const fraction = i > foot && above > below ? (above - middle) / (above - below) : 0;
    this.foot = low;
    let bottom = high;
    const bottomEnd = Math.min(last, top + this.#fallSamples);
    for (let i = top; i <= bottomEnd; i++) if (ring[i & mask]! < bottom) bottom = ring[i & mask]!;
    this.fall = high - bottom;
    this.#offset = high - low;
    this.crossing = i - fraction - shift - this.#delay;
  }
}

class MovingSum {
  readonly width: number;
  readonly #ring: Float64Array;
  #next = 0;
  #sum = 0;

  constructor(width: number) {
    this.width = width;
    this.#ring = new Float64Array(width);
  }

  reset(): void {
    this.#ring.fill(0);
    this.#next = 0;
    this.#sum = 0;
  }

  /** The sum is rebuilt each time the ring wraps, so that rounding does not pile up. */
  push(value: number): number {
    const ring = this.#ring;
    this.#sum += value - ring[this.#next]!;
    ring[this.#next] = value;
    if (++this.#next === this.width) {
      this.#next = 0;
      let sum = 0;
      for (let i = 0; i < this.width; i++) sum += ring[i]!;
      this.#sum = sum;
    }
    return this.#sum > 0 ? this.#sum : 0;
  }
}

/** Median over the last 6 s of the maximum in 1.5 s: the level of beats, whatever a single spike does. */
class BlockLevel {
  static readonly blocks = Math.round((BACK_SEC + AHEAD_SEC) / BLOCK_SEC);
  readonly #maxima = new Float64Array(BlockLevel.blocks);
  readonly #sorted = new Float64Array(BlockLevel.blocks);
  #count = 0;
  #running = 0;
  #cached = -1;
  #value = 0;

  reset(): void {
    this.#count = 0;
    this.#running = 0;
    this.#cached = -1;
  }

  push(value: number): void {
    if (value > this.#running) this.#running = value;
  }

  closeBlock(): void {
    this.#maxima[this.#count++ % BlockLevel.blocks] = this.#running;
    this.#running = 0;
  }

  value(): number {
    if (this.#cached === this.#count) return this.#value;
    this.#cached = this.#count;
    const blocks = BlockLevel.blocks;
    const from = Math.max(0, this.#count - blocks);
    let size = 0;
    for (let b = from; b + 2 < this.#count; b++) {
      const max = Math.max(this.#maxima[b % blocks]!, this.#maxima[(b + 1) % blocks]!, this.#maxima[(b + 2) % blocks]!);
      let k = size++;
      for (; k > 0 && this.#sorted[k - 1]! > max; k--) this.#sorted[k] = this.#sorted[k - 1]!;
      this.#sorted[k] = max;
    }
    this.#value = size === 0 ? this.#running : this.#sorted[(size - 1) >> 1]!;
    return this.#value;
  }
}

/** Period of the slope sum by autocorrelation over the last 6 s, at most twice a second. */
class PeriodTracker {
  periodSec = 0.8;
  /** Normalised autocorrelation at the period, 0 … 1; 0 while there are less than 3 s. */
  periodicity = 0;
  readonly #decimation: number;
  readonly #rate: number;
  readonly #ring: Float64Array;
  readonly #window: Float64Array;
  readonly #correlation: Float64Array;
  readonly #lagMin: number;
  readonly #lagMax: number;
  #sum = 0;
  #phase = 0;
  #count = 0;
  #updated = 0;

  constructor(fs: number) {
    this.#decimation = Math.max(1, Math.round(fs / PERIOD_FS));
    this.#rate = fs / this.#decimation;
    const size = Math.round(PERIOD_WINDOW_SEC * this.#rate);
    this.#ring = new Float64Array(size);
    this.#window = new Float64Array(size);
    this.#lagMin = Math.floor(PERIOD_MIN_SEC * this.#rate);
    this.#lagMax = Math.ceil(PERIOD_MAX_SEC * this.#rate);
    this.#correlation = new Float64Array(this.#lagMax + 2);
  }

  reset(): void {
    this.#sum = this.#phase = this.#count = this.#updated = 0;
    this.periodSec = 0.8;
    this.periodicity = 0;
  }

  push(value: number): void {
    this.#sum += value;
    if (++this.#phase < this.#decimation) return;
    this.#ring[this.#count++ % this.#ring.length] = this.#sum / this.#decimation;
    this.#sum = 0;
    this.#phase = 0;
  }

  update(): void {
    if (this.#count < 3 * this.#rate || this.#count - this.#updated < 0.5 * this.#rate) return;
    this.#updated = this.#count;
    const n = Math.min(this.#count, this.#ring.length);
    const x = this.#window;
    for (let i = 0; i < n; i++) x[i] = this.#ring[(this.#count - n + i) % this.#ring.length]!;
    clipAndCentre(x, n);
    const r = this.#correlation;
    const first = this.#lagMin - 1;
    const last = Math.min(this.#lagMax + 1, n >> 1);
    for (let lag = first; lag <= last; lag++) {
      let product = 0;
      let head = 0;
      let tail = 0;
      for (let i = 0; i + lag < n; i++) {
        const a = x[i]!;
        const b = x[i + lag]!;
        product += a * b;
        head += a * a;
        tail += b * b;
      }
      r[lag] = product / Math.sqrt(head * tail + 1e-30);
    }
    let best = -1;
    for (let lag = first + 1; lag < last; lag++) if (isPeak(r, lag) && r[lag]! > (best < 0 ? 0 : r[best]!)) best = lag;
    if (best < 0) {
      this.periodicity = 0;
      return;
    }
    for (let lag = first + 1; lag < best; lag++) {
      if (!isPeak(r, lag) || r[lag]! < SHORTER_SHARE * r[best]!) continue;
      best = lag;
      break;
    }
    this.periodSec = best / this.#rate;
    this.periodicity = r[best]!;
  }
}

function isPeak(r: Float64Array, i: number): boolean {
  return r[i]! >= r[i - 1]! && r[i]! >= r[i + 1]!;
}

/** Limits spikes to twice the root mean square, then takes the mean off. */
function clipAndCentre(x: Float64Array, n: number): void {
  let power = 0;
  for (let i = 0; i < n; i++) power += x[i]! * x[i]!;
  const limit = 2 * Math.sqrt(power / n);
  let mean = 0;
  for (let i = 0; i < n; i++) {
    if (x[i]! > limit) x[i] = limit;
    mean += x[i]!;
  }
  mean /= n;
  for (let i = 0; i < n; i++) x[i] = x[i]! - mean;
}
