/** Finds the beats of a photoplethysmogram: candidates from the slope sum, chosen as the best path with a fixed lag.
 *
 *  Candidates are maxima of the slope sum function (Zong et al. 2003, doi:10.1109/CIC.2003.1291140): the sum of the rises of the
 *  band-passed signal over the last 170 ms, so that a candidate is an upstroke and its value the height of it. Zong's running threshold
 *  is replaced: a beat is not judged alone but as part of a sequence (dynamic programming with a fixed lag, as Viterbi decoders do). Each
 *  candidate brings a reward for its height and steepness over the level of the 4 s before and `AHEAD_SEC` after it, each step between
 *  two candidates a cost:
 *  - for an interval unlike the period of the last seconds (autocorrelation), as far as these seconds are periodic at all,
 *  - for an interval unlike the one before,
 *  - for a low wave soon after a high one (the dicrotic wave),
 *  - for starting high above the previous foot (again the dicrotic wave).
 *  Beat by beat, an irregular pulse costs little, a repeated dicrotic wave costs much.
 *
 *  Position: where the upstroke crosses the middle between its foot and its top, linearly interpolated. Of the usual fiducial points
 *  this one gives pulse intervals that agree best with RR (see docs/dsp/pulse-and-slow.md); the delay of the low-pass is taken off.
 *  So a beat has a place where its upstroke begins after the first sample and ends before the last one: one that a gap or an end cuts takes
 *  part in the path, so that no dicrotic wave is taken for it, and is not given out. */
import type { BeatDetector, FoundBeats } from '../kernels/contract.ts';
import { appendBeat } from '../kernels/found-beats.ts';
import { FOOT_SEC, PpgLead, RISE_SEC, ringSize } from './lead.ts';
import { BlockLevel, MovingSum } from './level.ts';
import { PeriodTracker } from './period.ts';

/** Width of the steepness measure. */
const STEEP_SEC = 0.07;
/** Two maxima of the slope sum closer than this are one. */
export const MERGE_SEC = 0.12;
/** A candidate is judged this long after it: its level is that of the 4 s before and the 1 s after it, its period that of 5 and 1 s. */
export const AHEAD_SEC = 1;
/** A path is final this long after its beat entered it. */
export const LAG_SEC = 1;
/** Missing samples up to this, a packet or two, are held at the last value; a longer gap ends the path and starts afresh. */
export const HOLD_SEC = 0.25;
/** Light that has not changed for this long stands at a rail, or nothing is under the sensor: a gap from where it stopped. A pulse whose
 *  top is clipped stands still for less. */
export const STUCK_SEC = 0.7;
const BLOCK_SEC = 0.5;
const TICK_SEC = 0.1;
const FS_MAX = 2000;

/** Weights of the path, tuned on 27 BIDMC and 6 IEEE SPC recordings together; see docs/dsp/pulse-and-slow.md for the split-half check. */
export const weights = {
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

/** Shortest step of a path, between the ends of two upstrokes (207/min), and the longest. */
export const IBI_MIN_SEC = 0.289;
export const IBI_MAX_SEC = 3.2;
/** Shortest interval between two beats, as at a seam of segments. Where a beat lies is off by some of IBI_MIN_SEC in noise: with that
 *  as the limit the pulse of runners loses beats (IEEE SPC: F1 89.70 %, with this one 89.97). */
export const APART_SEC = 0.2;

/** Candidates that a path may still choose from; at most (IBI_MAX + LAG) / MERGE = 44 are alive. */
const NODES = 64;
const NODE_MASK = NODES - 1;
/** Columns of a node, in one array: a typed array of its own costs 190 bytes. `from`: id of the node before. `known`: 1 where its place is,
 *  0 for a node that takes part in the path and is not given out. */
const [AT, POSITION, SIZE, FOOT, SCORE, STEP, FROM, TRUST, KNOWN, NODE] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

function slotOf(id: number): number {
  return (id & NODE_MASK) * NODE;
}
/** Candidates waiting for their level; at most AHEAD / MERGE = 17. */
const WAITING = 32;
const WAITING_MASK = WAITING - 1;

// of the rises at hand, at most a tick; shared by every instance of the thread: nothing of them outlives a call
const ticks = (): Float64Array => new Float64Array(Math.ceil(TICK_SEC * FS_MAX));
const rises = ticks();
const leadRises = ticks();
const sums = ticks();
const steeps = ticks();
/** One sample of each lead. */
const held: Float64Array[] = [];

/** Slope-sum candidates, best path.
 *  @see the head of this file
 *  Units: any scale, pulse upwards (systolic upstroke positive; PulseKernel turns what is not). Several leads are several wavelengths of
 *  one sensor: their rises are summed, each over its own level. Tested at 125 Hz, on recordings resampled to 32, 64 and 250 Hz, and on a
 *  synthetic pulse at 25 to 500 Hz.
 *  Latency: `latencySec` = look-ahead + lag + merging and tick. */
export class PpgBeatDetector implements BeatDetector {
  readonly latencySec = AHEAD_SEC + LAG_SEC + TICK_SEC + FOOT_SEC + 0.05;
  readonly #fs: number;
  readonly #leads: readonly PpgLead[];
  readonly #ahead: number;
  readonly #lag: number;
  readonly #merge: number;
  readonly #hold: number;
  readonly #stuck: number;
  readonly #block: number;
  readonly #tick: number;
  readonly #ibiMin: number;
  readonly #ibiMax: number;
  readonly #apart: number;
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
  /** Samples in a row that equal the one before, of every lead. */
  #unchanged = 0;
  /** Samples until a block of the levels is full, and until the path is looked at. */
  #blockLeft = 0;
  #tickLeft = 0;
  #previousRise = 0;
  #rising = false;
  // the newest candidate, not yet final
  #topAt = -1;
  #topRise = 0;
  // candidates that wait for AHEAD_SEC to pass
  readonly #waiting = new Float64Array(WAITING * 3);
  #waitHead = 0;
  #waitTail = 0;
  // nodes of the path; ids ascend
  readonly #nodes = new Float64Array(NODES * NODE);
  #nodeEnd = 0;
  /** Last emitted node, or nodeBase - 1 when there is none since the start. */
  #committed = -1;
  #nodeBase = 0;
  /** Position of the last beat, also of a path before this one. */
  #lastPosition = Number.NEGATIVE_INFINITY;
  /** As long as no node comes, no beat can be emitted before this sample. */
  #readyAt = Number.POSITIVE_INFINITY;

  /** @param fs Hz, 20 … 2000  @param leadCount wavelengths, >= 1  @throws RangeError when either is out of range */
  constructor(fs: number, leadCount = 1) {
    if (!(fs >= 20 && fs <= FS_MAX)) throw new RangeError(`fs = ${fs} Hz: 20 … ${FS_MAX}`);
    if (!(leadCount >= 1)) throw new RangeError(`leadCount = ${leadCount}`);
    this.#fs = fs;
    this.#leads = Array.from({ length: leadCount }, () => new PpgLead(fs, AHEAD_SEC));
    this.#ahead = Math.round(AHEAD_SEC * fs);
    this.#lag = Math.round(LAG_SEC * fs);
    this.#merge = Math.round(MERGE_SEC * fs);
    this.#hold = Math.round(HOLD_SEC * fs);
    this.#stuck = Math.round(STUCK_SEC * fs);
    this.#block = Math.round(BLOCK_SEC * fs);
    this.#tick = Math.max(1, Math.round(TICK_SEC * fs));
    this.#ibiMin = IBI_MIN_SEC * fs;
    this.#ibiMax = IBI_MAX_SEC * fs;
    this.#apart = APART_SEC * fs;
    this.#rise = new MovingSum(Math.round(RISE_SEC * fs));
    this.#steep = new MovingSum(Math.max(1, Math.round(STEEP_SEC * fs)));
    const ring = ringSize((RISE_SEC + MERGE_SEC + TICK_SEC) * fs + 4);
    this.#steepRing = new Float64Array(ring);
    this.#steepMask = ring - 1;
    this.#level = new BlockLevel();
    this.#steepLevel = new BlockLevel();
    this.#period = new PeriodTracker(fs);
  }

  reset(): void {
    this.#n = this.#unchanged = 0;
    this.#missing = 1 << 30;
    for (const lead of this.#leads) lead.last = 0; // as new
    this.#lastPosition = Number.NEGATIVE_INFINITY;
    this.#restart();
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    let waiting = 0; // rises that were not looked at yet
    let due = this.#due();
    for (let i = from; i < to;) {
      const end = this.#missing > this.#hold ? i : this.#runEnd(leads, i, Math.min(to, i + due - waiting));
      if (end > i) {
        this.#filter(leads, i, end, waiting);
        this.#missing = 0;
        waiting += end - i;
        i = end;
        if (waiting < due) continue;
        this.#accept(waiting, out);
      } else {
        if (waiting > 0) this.#accept(waiting, out);
        this.#pushOne(leads, i++, out);
      }
      waiting = 0;
      due = this.#due();
    }
    if (waiting > 0) this.#accept(waiting, out);
  }

  /** Samples until something but the search for maxima is due: a block's end, a look at the path, a candidate's look-ahead. */
  #due(): number {
    const due = Math.min(this.#blockLeft, this.#tickLeft);
    if (this.#waitHead === this.#waitTail) return due;
    return Math.min(due, Math.max(1, this.#waiting[3 * (this.#waitHead & WAITING_MASK)]! + this.#ahead + 1 - this.#n));
  }

  /** Where the samples from `from` on end that every lead has and that do not stand still. */
  #runEnd(leads: readonly Float64Array[], from: number, to: number): number {
    let end = to;
    for (let c = 0; c < this.#leads.length; c++) {
      const x = leads[c]!;
      let i = from;
      while (i < end && x[i]! - x[i]! === 0) i++;
      end = i;
    }
    const x = leads[0]!;
    let before = this.#leads[0]!.last;
    let unchanged = this.#unchanged;
    for (let i = from; i < end; i++) {
      const value = x[i]!;
      const next = value === before && !this.#isChanged(leads, i, from) ? unchanged + 1 : 0;
      if (next >= this.#stuck) end = i;
      else unchanged = next;
      before = value;
    }
    this.#unchanged = unchanged;
    return end;
  }

  /** Does any lead's sample differ from the one before it, which is in the leads from `from` on? */
  #isChanged(leads: readonly Float64Array[], i: number, from: number): boolean {
    for (let c = 0; c < this.#leads.length; c++) if (leads[c]![i] !== (i > from ? leads[c]![i - 1] : this.#leads[c]!.last)) return true;
    return false;
  }

  /** A sample that a lead has not, that stands still, or that follows a gap. It counts as present when any lead has it; a lead
   *  without holds its last value and adds nothing. */
  #pushOne(leads: readonly Float64Array[], i: number, out: FoundBeats): void {
    let present = false;
    let changed = false;
    for (let c = 0; c < this.#leads.length; c++) {
      const value = leads[c]![i]!;
      if (value - value !== 0) continue;
      present = true;
      changed ||= value !== this.#leads[c]!.last;
    }
    if (present) {
      this.#unchanged = changed ? 0 : this.#unchanged + 1;
      if (this.#unchanged >= this.#stuck) {
        this.#standStill(out);
        return;
      }
      if (this.#missing > this.#hold) this.#restart();
      this.#missing = 0;
    } else if (this.#missing < this.#hold) this.#missing++;
    else {
      this.#skip(out);
      return;
    }
    for (let c = 0; c < this.#leads.length; c++) {
      while (held.length <= c) held.push(new Float64Array(1));
      const value = leads[c]![i]!;
      held[c]![0] = value - value === 0 ? value : this.#leads[c]!.last;
    }
    this.#filter(held, 0, 1, 0);
    this.#accept(1, out);
  }

  /** Rises of samples [from, to) into `rises` from `at` on: of one lead as they are, of several each over its scale. */
  #filter(leads: readonly Float64Array[], from: number, to: number, at: number): void {
    if (this.#leads.length === 1) {
      this.#leads[0]!.push(leads[0]!, from, to, rises, at);
      return;
    }
    rises.fill(0, at, at + to - from);
    for (let c = 0; c < this.#leads.length; c++) {
      const lead = this.#leads[c]!;
      lead.push(leads[c]!, from, to, leadRises, 0);
      const { scale } = lead;
      if (scale > 0) for (let j = 0; j < to - from; j++) rises[at + j] = rises[at + j]! + leadRises[j]! / scale;
    }
  }

  flush(out: FoundBeats): void {
    if (this.#missing > this.#hold) return;
    this.#finish(this.#newest - this.#missing, out);
    this.#missing = 1 << 30;
  }

  /** One sample of a gap that is longer than HOLD_SEC. */
  #skip(out: FoundBeats): void {
    if (this.#missing === this.#hold) this.#finish(this.#newest - this.#missing, out);
    if (this.#missing <= this.#hold) this.#missing++;
    this.#n++;
  }

  /** One sample of light that stands still: what came after it stopped was the way to the rail, no beat. */
  #standStill(out: FoundBeats): void {
    if (this.#missing <= this.#hold) {
      const from = this.#n - this.#stuck;
      if (this.#topAt >= from) this.#topAt = -1;
      while (this.#waitTail > this.#waitHead && this.#waiting[3 * ((this.#waitTail - 1) & WAITING_MASK)]! >= from) this.#waitTail--;
      while (this.#nodeEnd > this.#nodeBase && this.#nodes[AT + slotOf(this.#nodeEnd - 1)]! >= from) this.#nodeEnd--;
      this.#finish(from - 1, out);
      this.#missing = 1 << 30;
    }
    this.#n++;
  }

  /** Decides everything with what is there. @param end last sample before the gap, or before the light stood still */
  #finish(end: number, out: FoundBeats): void {
    this.#closeTop();
    while (this.#waitHead < this.#waitTail) this.#admit(end);
    this.#commit(Number.POSITIVE_INFINITY, out);
  }

  #restart(): void {
    this.#start = this.#n;
    this.#blockLeft = this.#block;
    this.#tickLeft = this.#tick;
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
    this.#readyAt = Number.POSITIVE_INFINITY;
    this.#committed = -1;
  }

  /** Looks at `count` rises, at most as many as are due: what is due comes after the last of them. */
  #accept(count: number, out: FoundBeats): void {
    const first = this.#n;
    this.#n = first + count;
    this.#newest = first + count - 1;
    this.#rise.push(rises, count, sums);
    this.#steep.push(rises, count, steeps);
    for (let i = 0; i < count; i++) this.#steepRing[(first + i) & this.#steepMask] = steeps[i]!;
    this.#level.push(sums, count);
    this.#steepLevel.push(steeps, count);
    this.#period.push(sums, count);
    this.#findTops(first, count);
    this.#blockLeft -= count;
    if (this.#blockLeft === 0) {
      this.#blockLeft = this.#block;
      this.#level.closeBlock();
      this.#steepLevel.closeBlock();
      for (const lead of this.#leads) lead.closeBlock(this.#block);
    }
    const oldest = this.#waiting[3 * (this.#waitHead & WAITING_MASK)]!;
    if (this.#waitHead < this.#waitTail && this.#newest - oldest >= this.#ahead) this.#admit(this.#newest);
    this.#tickLeft -= count;
    if (this.#tickLeft > 0) return;
    this.#tickLeft = this.#tick;
    const until = this.#newest - this.#ahead - this.#lag;
    if (until >= this.#readyAt) this.#commit(until, out);
  }

  /** Maxima of the slope sum, each known one sample later. */
  #findTops(first: number, count: number): void {
    let previous = this.#previousRise;
    for (let i = 0; i < count; i++) {
      const sum = sums[i]!;
      if (sum > previous) this.#rising = true;
      else if (sum < previous && this.#rising) {
        this.#rising = false;
        this.#offer(first + i - 1, previous);
      }
      previous = sum;
      if (this.#topAt >= 0 && first + i - this.#topAt >= this.#merge) this.#closeTop();
    }
    this.#previousRise = previous;
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
      const w = 3 * (this.#waitTail++ & WAITING_MASK);
      this.#waiting[w] = this.#topAt;
      this.#waiting[w + 1] = this.#topRise;
      this.#waiting[w + 2] = steepest;
    }
    this.#topAt = -1;
  }

  /** The oldest waiting candidate becomes a node: its best predecessor is chosen. @param end last sample that may tell its place */
  #admit(end: number): void {
    const w = 3 * (this.#waitHead++ & WAITING_MASK);
    const at = this.#waiting[w]!;
    const level = this.#level.value();
    const steepLevel = this.#steepLevel.value();
    if (!(level > 0) || !(steepLevel > 0)) return;
    let lead = this.#leads[0]!;
    for (let c = 1; c < this.#leads.length; c++)
      if (this.#leads[c]!.riseAt(at, this.#newest, end) > lead.riseAt(at, this.#newest, end)) lead = this.#leads[c]!;
    this.#period.update();
    const periodSamples = this.#period.periodSec * this.#fs;
    const periodic = Math.max(0, (this.#period.periodicity - weights.periodicityMin) / (1 - weights.periodicityMin));
    if (this.#nodeEnd - Math.max(this.#committed, this.#nodeBase) >= NODES - 1) return; // cannot happen, see NODES
    this.#readyAt = Number.NEGATIVE_INFINITY;
    const id = this.#nodeEnd++;
    const slot = slotOf(id);
    this.#nodes[AT + slot] = at;
    this.#nodes[KNOWN + slot] = lead.locate(at, this.#newest, end) ? 1 : 0;
    const unit = this.#leads.length === 1 ? level : level * lead.scale;
    this.#nodes[SIZE + slot] =
      weights.height * Math.log(this.#waiting[w + 1]! / level + 0.01) +
      weights.steep * Math.log(this.#waiting[w + 2]! / steepLevel + 0.01) +
      weights.fall * Math.log(lead.fall / unit + weights.fallFloor);
    this.#nodes[POSITION + slot] = lead.crossing;
    this.#nodes[FOOT + slot] = lead.foot / unit;
    this.#nodes[TRUST + slot] = periodic;
    this.#link(id, periodSamples, weights.period * periodic * periodic);
  }

  #link(id: number, periodSamples: number, periodWeight: number): void {
    const slot = slotOf(id);
    const at = this.#nodes[AT + slot]!;
    const position = this.#nodes[POSITION + slot]!;
    const size = this.#nodes[SIZE + slot]!;
    const foot = this.#nodes[FOOT + slot]!;
    const reward = Math.max(weights.rewardMin, Math.min(weights.rewardMax, size - weights.logTheta));
    const dicroticSamples = weights.dicroticSec * this.#fs;
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    let reachable = false;
    for (let other = id - 1; other >= this.#nodeBase && other >= this.#committed; other--) {
      const from = slotOf(other);
      const step = at - this.#nodes[AT + from]!;
      if (step < this.#ibiMin) continue;
      if (step > this.#ibiMax) break;
      // the middle of a candidate's upstroke may lie half a second before it
      if (position - this.#nodes[POSITION + from]! < this.#apart) continue;
      const score = this.#nodes[SCORE + from]!;
      if (score === Number.NEGATIVE_INFINITY) continue;
      reachable = true;
      const offPeriod = Math.log(step / periodSamples);
      let cost = Math.min(weights.periodMax, (offPeriod > 0 ? weights.longShare : 1) * periodWeight * offPeriod * offPeriod);
      const stepBefore = this.#nodes[STEP + from]!;
      if (stepBefore > 0) {
        const change = Math.log(step / stepBefore);
        cost += weights.change * Math.min(1, 2 * change * change);
      }
      const lower = this.#nodes[SIZE + from]! - size;
      if (lower > 0 && step < dicroticSamples) cost += weights.dicrotic * lower * (1 - step / dicroticSamples);
      const higherFoot = foot - this.#nodes[FOOT + from]! - weights.footFree;
      if (higherFoot > 0) cost += weights.foot * Math.min(1, higherFoot);
      if (score - cost > bestScore) {
        bestScore = score - cost;
        best = other;
      }
    }
    if (best >= 0) {
      this.#nodes[SCORE + slot] = bestScore + reward;
      this.#nodes[FROM + slot] = best;
      this.#nodes[STEP + slot] = at - this.#nodes[AT + slotOf(best)]!;
      return;
    }
    // first of its path: after the start, or further than IBI_MAX_SEC from the last beat
    const committed = this.#committed;
    const tooClose =
      (committed >= 0 && at - this.#nodes[AT + slotOf(committed)]! < this.#ibiMin) || position - this.#lastPosition < this.#apart;
    const base = committed >= 0 ? this.#nodes[SCORE + slotOf(committed)]! : 0;
    this.#nodes[SCORE + slot] = reachable || tooClose ? Number.NEGATIVE_INFINITY : base + reward - 1;
    this.#nodes[FROM + slot] = committed;
    this.#nodes[STEP + slot] = 0;
  }

  /** Emits the beats of the best path that lie at or before a sample; notes from which sample on there will be another. */
  #commit(until: number, out: FoundBeats): void {
    for (;;) {
      const first = Math.max(this.#committed + 1, this.#nodeBase);
      let end = -1;
      let endScore = Number.NEGATIVE_INFINITY;
      for (let id = first; id < this.#nodeEnd; id++) {
        const score = this.#nodes[SCORE + slotOf(id)]!;
        if (score > endScore) {
          endScore = score;
          end = id;
        }
      }
      // at an end no wave need be a beat: without more of them the path may be better
      const isLast = until === Number.POSITIVE_INFINITY && this.#committed >= 0;
      if (end < 0 || (isLast && endScore < this.#nodes[SCORE + slotOf(this.#committed)]!)) {
        this.#readyAt = Number.POSITIVE_INFINITY;
        return;
      }
      let id = end;
      while (this.#nodes[FROM + slotOf(id)]! > this.#committed) id = this.#nodes[FROM + slotOf(id)]!;
      const slot = slotOf(id);
      this.#readyAt = this.#nodes[AT + slot]!;
      if (this.#readyAt > until) return;
      if (this.#nodes[KNOWN + slot] === 1) {
        this.#lastPosition = this.#nodes[POSITION + slot]!;
        appendBeat(out, this.#lastPosition, this.#confidence(slot));
      }
      // paths that do not pass through the emitted beat are dead
      for (let other = first; other < this.#nodeEnd; other++) {
        let back = other;
        while (back > id) back = this.#nodes[FROM + slotOf(back)]!;
        if (back !== id) this.#nodes[SCORE + slotOf(other)] = Number.NEGATIVE_INFINITY;
      }
      this.#committed = id;
    }
  }

  /** Logistic function of the reward, raised where the seconds around were periodic. */
  #confidence(slot: number): number {
    return 1 / (1 + Math.exp(-(this.#nodes[SIZE + slot]! - weights.logTheta - 1 + 2 * this.#nodes[TRUST + slot]!)));
  }
}
