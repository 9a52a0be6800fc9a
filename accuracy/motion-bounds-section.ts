/** Bounds of the share of made runs whose heart rate is flagged 0 (S9b): how much of it the measures of the flag allow, and in how many
 *  windows the light shows the heart at all. docs/dsp/pulse-and-slow.md has the conclusions. */
import { FFT_SIZE, MotionChannel, STATES, STEP_SEC, WINDOW_SEC, planOf, rateHz, spectrum } from '../src/dsp/ppg/motion-channel.ts';
import { MotionFilter } from '../src/dsp/ppg/motion-filter.ts';
import { weights } from '../src/dsp/ppg/motion-hr.ts';
import { motionTrustMeasures, motionTrustModel } from '../src/dsp/ppg/motion-trust.ts';
import { percent } from './engine-windows.ts';
import { judgedRunsMade } from './perturbed-motion-section.ts';
import type { Made } from './perturbed-motion-section.ts';
import { perturbedRuns } from './perturbed-runs.ts';
import { isFitted, labelledRun } from './ppg-motion-trust-section.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { Run } from './run-parts.ts';
import type { Section } from './section.ts';

/** A line of the spectrum is that of the heart within this, /min. */
const LINE_BPM = 3;
/** Shares of the goals: right of those flagged 0, and flagged of those off. */
const RIGHT_MIN = 0.998;
const OFF_FLAGGED_MIN = 0.95;
const GOAL = 0.9;

/** `rank`: place of the line of the true rate among the lines of its window by height; 0: there is none. */
type Rate = Made['rates'][number] & Readonly<{ of: readonly string[]; kind: string; rank: number }>;
type Row = readonly [what: string, n: string, value: string];

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2) return null;
  const made = judgedRunsMade(perturbedRuns(items.map(labelledRun))).filter((one) => isFitted(one.run));
  const rates = made.flatMap(ranked);
  const right = rates.filter(({ miss }) => miss === null);
  const doubted = right.filter(({ isGoodByOthers }) => !isGoodByOthers);
  const off = rates.filter(({ miss }) => miss !== null);
  const offGood = off.filter(({ isGoodByOthers }) => isGoodByOthers);
  const rows: Row[] = [
    ['flagged 0, %', String(rates.length), percent(rates.length - notGood(rates), rates.length)],
    ...thresholdRows(rates, off.length),
    ['right, and the strongest line is that of the heart, %', String(rates.length), shareStrongest(right, rates.length)],
    ...lineRows('right and flagged 0', right.filter(({ isGoodByOthers }) => isGoodByOthers)), // prettier-ignore
    ...lineRows('right and flagged 1 or 2', doubted),
    ...measureRows(doubted, right),
    ...lineRows('off', off),
    ...lineRows('off and flagged 0', offGood),
    ...recordingRows(rates),
    ...offGoodRows(offGood),
  ];
  return {
    title: 'What bounds the flag of heart rates in motion, runs made of the ones given (kernel called directly)',
    rows: [['figure', 'n', 'value'], ...rows],
    json: rows.map(([what, n, value]) => ({ what, n, value })),
    notes: [
      `Flags by weights of the other recordings. A line is a local maximum of the spectrum that the path is found in (motion taken off, second harmonic added); it is that of the heart within ${LINE_BPM} /min of the true rate.`,
    ],
  };
}

const notGood = (rates: readonly Rate[]): number => rates.filter(({ isGoodByOthers }) => !isGoodByOthers).length;
const shareStrongest = (rates: readonly Rate[], of: number): string => percent(rates.filter(({ rank }) => rank === 1).length, of);

/** How many could be flagged 0 by another threshold. */
function thresholdRows(rates: readonly Rate[], offCount: number): Row[] {
  const sorted = rates.toSorted((a, b) => b.byOthers - a.byOthers);
  let wrong = 0;
  let most = 0;
  let wrongAtGoal = 0;
  const atGoal = Math.floor(GOAL * sorted.length);
  sorted.forEach(({ miss }, i) => {
    if (miss !== null) wrong++;
    if (wrong <= (1 - RIGHT_MIN) * (i + 1) && wrong <= (1 - OFF_FLAGGED_MIN) * offCount) most = i + 1;
    if (i + 1 === atGoal) wrongAtGoal = wrong;
  });
  const of = percent(atGoal - wrongAtGoal, atGoal);
  return [
    ['flagged 0 at most by another threshold, with the other two goals, %', String(sorted.length), percent(most, sorted.length)],
    [
      'flagged 0 by a threshold that flags 90 % so: right; of off, flagged, %',
      String(atGoal),
      `${of}; ${percent(offCount - wrongAtGoal, offCount)}`,
    ],
  ];
}

function lineRows(name: string, rates: readonly Rate[]): Row[] {
  const n = String(rates.length);
  const share = (is: (rank: number) => boolean): string => percent(rates.filter(({ rank }) => is(rank)).length, rates.length);
  const among = [share((rank) => rank === 1), share((rank) => rank >= 1 && rank <= 3), share((rank) => rank === 0)];
  return [[`${name}: line of the heart the strongest; among three; none, %`, n, among.join('; ')]];
}

/** The measure that lowers the probability most, against the mean of those that are right. */
function measureRows(rates: readonly Rate[], right: readonly Rate[]): Row[] {
  const means = motionTrustMeasures.map((_, i) => right.reduce((sum, { measures }) => sum + measures[i]!, 0) / right.length);
  const worst = rates.map(({ measures }) => {
    const lowered = measures.map((value, i) => motionTrustModel.of[i]! * (value - means[i]!));
    return lowered.indexOf(Math.min(...lowered));
  });
  return motionTrustMeasures.map((name, i) => [
    `right and flagged 1 or 2: mostly for ${name}, %`,
    String(rates.length),
    percent(worst.filter((at) => at === i).length, rates.length),
  ]);
}

function recordingRows(rates: readonly Rate[]): Row[] {
  const names = [...new Set(rates.map(({ of }) => of[0]!))].toSorted();
  return names.map((name) => {
    const own = rates.filter(({ of }) => of[0] === name);
    const good = percent(own.length - notGood(own), own.length);
    const right = own.filter(({ miss }) => miss === null);
    return [
      `made of ${name}: flagged 0; right with the line of the heart the strongest; off, %`,
      String(own.length),
      `${good}; ${shareStrongest(right, own.length)}; ${percent(own.length - right.length, own.length)}`,
    ];
  });
}

function offGoodRows(rates: readonly Rate[]): Row[] {
  const runs = [...new Set(rates.map(({ kind, of }) => `${kind}, ${of.join(' ')}`))];
  return runs.map((name) => {
    const own = rates.filter(({ kind, of }) => `${kind}, ${of.join(' ')}` === name);
    const each = own.map(({ t, bpm, truth, cadence }) => `${t} s ${bpm.toFixed(0)} for ${truth.toFixed(0)}, cadence ${cadence.toFixed(0)}`);
    return [`off and flagged 0: ${name}`, String(own.length), each.join('; ')];
  });
}

/** Each rate with the place of its truth, in segments as judgeRates cuts them. */
function ranked({ run, rates }: Made): Rate[] {
  const { fs, ppg, acc, of, kind } = run;
  const found: Rate[] = [];
  for (let from = 0; from * fs < ppg[0]!.length; from += 64) {
    const startSec = Math.max(0, from - 16);
    const supports = cleanSupports({
      ...run,
      ppg: ppg.map((x) => cut(x, startSec, from + 64, fs)),
      acc: acc.map((x) => cut(x, startSec, from + 64, fs)),
    });
    for (const rate of rates) {
      if (rate.t < from || rate.t >= from + 64) continue;
      const support = supports.get(rate.t - startSec);
      found.push({ ...rate, of, kind, rank: support === undefined ? 0 : rankOf(support, rate.truth) });
    }
  }
  return found;
}

const cut = (x: Float64Array, fromSec: number, toSec: number, fs: number): Float64Array =>
  x.subarray(Math.round(fromSec * fs), Math.round(toSec * fs));

function rankOf(support: Float64Array, bpm: number): number {
  const lines: number[] = [];
  for (let s = 1; s < STATES - 1; s++) if (support[s]! > support[s - 1]! && support[s]! >= support[s + 1]!) lines.push(s);
  lines.sort((a, b) => support[b]! - support[a]!);
  return lines.findIndex((s) => Math.abs(60 * rateHz(s) - bpm) <= LINE_BPM) + 1;
}

/** What PpgMotionHeartRate finds its path in, by the end of the window, s. */
function cleanSupports({ fs, ppg, acc }: Run): Map<number, Float64Array> {
  const leads = ppg.map(() => new MotionChannel(fs));
  const axes = acc.map(() => new MotionChannel(fs));
  const channels = [...leads, ...axes];
  const { size } = planOf(fs);
  const filter = new MotionFilter(planOf(fs), ppg.length, acc.length);
  const windows = channels.map(() => new Float64Array(FFT_SIZE));
  const [leadWindows, axisWindows] = [windows.slice(0, ppg.length), windows.slice(ppg.length)];
  const taken = new Float64Array(FFT_SIZE);
  const supports = new Map<number, Float64Array>();
  let frame = WINDOW_SEC / STEP_SEC;
  for (let at = 0; at < ppg[0]!.length;) {
    const end = Math.min(ppg[0]!.length, at + leads[0]!.samplesLeft);
    channels.forEach((channel, c) => channel.push([...ppg, ...acc][c]!, at, end));
    at = end;
    for (const channel of channels) channel.captureWhenDue();
    if (leads[0]!.captured !== frame) continue;
    const isUsable = channels.map((channel, c) => channel.tapered(frame, windows[c]!));
    for (const channel of channels) channel.release(frame);
    const endSec = STEP_SEC * frame++;
    if (!isUsable.slice(0, ppg.length).includes(true)) continue;
    const isMoving = isUsable.slice(ppg.length).includes(true);
    if (isMoving) filter.fit(leadWindows, axisWindows);
    const together = new Float64Array(FFT_SIZE);
    leadWindows.forEach((window, c) => {
      const power = window.subarray(0, size).reduce((sum, value) => sum + value * value, 0);
      if (!(power > 0)) return;
      if (isMoving) filter.takeOff(c, window, axisWindows, taken);
      for (let t = 0; t < size; t++) together[t] = together[t]! + window[t]! / Math.sqrt(power);
    });
    const clean = new Float64Array(2 * STATES);
    spectrum(fs, together, clean);
    supports.set(
      endSec,
      Float64Array.from({ length: STATES }, (_, s) => clean[s]! + Math.min(clean[STATES + s]!, weights.harmonic * clean[s]!)),
    );
  }
  return supports;
}
