/** Bounds of the pulse's goals that are missed: beats while running (S4), the rate at rest (S5), variability against ECG (S8).
 *  docs/dsp/pulse-and-slow.md has the conclusions. */
import type { FeatureRow } from '../src/dsp/rows/feature-rows.ts';
import { beatMethods, featureMethods, methodIndex } from '../src/dsp/rows/methods.ts';
import { timeDomain } from '../src/dsp/hrv/time-domain.ts';
import { correctionMax, doubt, doubtLimits, excludedSuspect, placingOf, scratch } from '../src/dsp/hrv/values.ts';
import { percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { PhysicalChannel, StreamRows } from './hrv-stream.ts';
import { loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import { loadPpg, ppgChannels, ppgChosenOn, ppgSets } from './ppg-recordings.ts';
import type { PpgItem, PpgSet } from './ppg-recordings.ts';
import { matchBeats, median, rates, scoreBeats } from './ppg-reference.ts';
import { gross, scoreOne } from './ppg-section.ts';
import { covers, rateBpm } from './ppg-windows.ts';
import type { Section } from './section.ts';
import { normalBeatsAligned, normalCodes } from './values-section.ts';

type Row = readonly [what: string, database: string, n: string, figure: string];

/** A recording with the beats and rates that the engine finds in it. */
type Scored = Readonly<{
  item: PpgItem;
  rows: StreamRows;
  beats: Float64Array;
  lagSec: number;
  /** For each reference beat the index of its beat, or -1. */
  match: Int32Array;
}>;

export async function run(dataDir: string): Promise<Section | null> {
  const all = loadPpg(dataDir).map(scored);
  if (all.length === 0) return null;
  const rows: Row[] = [];
  for (const set of ppgSets) {
    const own = all.filter(({ item }) => item.set === set);
    if (own.length === 0) continue;
    if (set === 'spc') rows.push(...wavelengthRows(own));
    rows.push(...waveRows(set, own), ...rateRows(set, own));
    if (set === 'bidmc') rows.push(...variabilityRows(own.map(({ item }) => item)));
  }
  rows.push(...(await correctionRows(dataDir)));
  return {
    title: 'What bounds the goals of the pulse',
    rows: [['figure', 'database', 'n', 'value'], ...rows],
    json: rows.map(([what, database, n, figure]) => ({ what, database, n, figure })),
    notes: [
      'S4: steepness is the greatest change of light in 0.2 s, within 0.15 s of where the beat is expected (missed) or at it (false), over its median at the beats found. S5: windows of 8 s, every second, as hr_ppg is scored; the middle half is the mean of the intervals without the longest and the shortest quarter.',
      'S8: windows of 300 s that have prv_sdnn_300s and hrv_sdnn_300s. A window may have several reasons not to be good; alone: no other.',
      `${ppgSets.map((set) => `${set}: chosen on: ${ppgChosenOn[set]}`).join('; ')}; mitdb: yes; qtdb: no.`,
    ],
  };
}

function scored(item: PpgItem): Scored {
  const rows = streamRows(ppgChannels([item.ppg], item.fs));
  const beats = beatSeconds(rows, 'ppg');
  const { lagSec } = scoreBeats(beats, item.reference);
  const shifted = beats.map((t) => t + lagSec);
  return { item, rows, beats, lagSec, match: matchBeats(item.reference.beatSec, shifted, 0.15) };
}

/** S4: single wavelengths, beats that both miss, and how far the places of seams matter. */
function wavelengthRows(runs: readonly Scored[]): Row[] {
  const f1 = (of: readonly PpgItem[]): string => rates(gross(of.map((item) => scoreOne(item)))).f1.toFixed(2);
  const channel = (no: 1 | 2): Scored[] => runs.filter(({ item }) => item.name.endsWith(`.${no}`));
  const others = channel(2).map(isMissed);
  const pairs = channel(1).flatMap((one, i) =>
    [...isMissed(one)].flatMap(([t, isOne]) => (others[i]!.has(t) ? [Number(isOne) + Number(others[i]!.get(t))] : [])),
  );
  const seams = [0, 17, 35, 52].map((sec) => f1(runs.map(({ item }) => delayed(item, sec)))).toSorted();
  const [first, second] = ([1, 2] as const).map((no) => f1(channel(no).map(({ item }) => item)));
  return [
    ['S4: F1, first wavelength; second, %', 'spc', '6 runs each', `${first!}; ${second!}`],
    [
      'S4: beats missed in either wavelength; in both',
      'spc',
      String(pairs.length),
      `${pairs.filter((n) => n > 0).length}; ${pairs.filter((n) => n > 1).length}`,
    ],
    ['S4: F1 where segments begin 0, 17, 35, 52 s later: least; most, %', 'spc', '12 channels', `${seams[0]!}; ${seams[3]!}`],
  ];
}

/** By reference beat, s. */
const isMissed = ({ item, match }: Scored): Map<number, boolean> => new Map([...item.reference.beatSec].map((t, i) => [t, match[i]! < 0]));

/** The same recording, begun earlier without samples: seams of segments lie elsewhere in it. */
function delayed(item: PpgItem, sec: number): PpgItem {
  const { fs, reference } = item;
  const n = sec * fs;
  const ppg = new Float64Array(n + item.ppg.length).fill(Number.NaN, 0, n);
  ppg.set(item.ppg, n);
  const later = (x: Float64Array): Float64Array => x.map((t) => t + sec);
  return { ...item, ppg, reference: { beatSec: later(reference.beatSec), spanSec: later(reference.spanSec) } };
}

/** S4 and S5: is there a wave where a beat was missed, and how steep is what was taken for one? */
function waveRows(set: PpgSet, recordings: readonly Scored[]): Row[] {
  const missed: number[] = [];
  const extra: number[] = [];
  for (const { item, beats, lagSec, match } of recordings) {
    const { ppg, fs, reference } = item;
    const found = new Set(match);
    const at = (j: number): number => steepness(ppg, fs, beats[j]!, 0.05);
    const usual = median([...beats.keys()].filter((j) => found.has(j)).map(at));
    reference.beatSec.forEach((t, i) => match[i]! < 0 && missed.push(steepness(ppg, fs, t - lagSec, 0.15) / usual));
    beats.forEach((t, j) => !found.has(j) && covers(reference.spanSec, t + lagSec, t + lagSec) && extra.push(at(j) / usual));
  }
  const count = (list: readonly number[], is: (x: number) => boolean): number => list.filter(is).length;
  return [
    [
      'S4: missed beats less than 0.1 as steep as the usual one; 0.33',
      set,
      String(missed.length),
      `${count(missed, (x) => x < 0.1)}; ${count(missed, (x) => x < 0.33)}`,
    ],
    ['S4: false beats at least half as steep', set, String(extra.length), String(count(extra, (x) => x >= 0.5))],
  ];
}

/** Greatest change in 0.2 s around a place, of means of 80 ms. */
function steepness(x: Float64Array, fs: number, sec: number, reachSec: number): number {
  const [half, step] = [Math.round(0.04 * fs), Math.round(0.1 * fs)];
  const meanAt = (k: number): number => {
    const part = x.subarray(Math.max(0, k - half), Math.max(0, k + half + 1));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  };
  let most = 0;
  for (let k = Math.ceil((sec - reachSec) * fs); k <= (sec + reachSec) * fs; k++)
    most = Math.max(most, meanAt(k + step) - meanAt(k - step));
  return most;
}

/** S5: the rates that are off by more than 5 /min. */
function rateRows(set: PpgSet, recordings: readonly Scored[]): Row[] {
  let count = 0;
  let offItself = 0;
  let ofItself = 0;
  const off = { median: 0, missed: 0, extra: 0 };
  const within = { median: 0, middle: 0, medianOfMean: 0, middleOfMean: 0 };
  const byRecording = new Map<string, number[]>();
  for (const { item, rows, beats, lagSec } of recordings) {
    const { name, ppg, fs, reference } = item;
    const { beatSec, spanSec } = reference;
    for (const { tNs, value } of rows.features.get('hr_ppg') ?? []) {
      const end = Number(tNs) / 1e9;
      const t = end + lagSec;
      const wanted = covers(spanSec, t - 7, t - 1) && t < ppg.length / fs ? rateBpm(beatSec, t - 8, t) : null;
      if (wanted === null) continue;
      const [theirs, own] = [intervals(beatSec, t - 8, t), intervals(beats, end - 8, end)];
      const later = rateBpm(beatSec, t - 7.8, t + 0.2);
      if (later !== null) ofItself++;
      if (later !== null && Math.abs(later - wanted) > 5) offItself++;
      count++;
      const mean = 60 / meanOf(theirs);
      const middle = 60 / middleHalf(own);
      if (Math.abs(value - wanted) <= 5) within.median++;
      if (Math.abs(middle - wanted) <= 5) within.middle++;
      if (Math.abs(value - mean) <= 5) within.medianOfMean++;
      if (Math.abs(middle - mean) <= 5) within.middleOfMean++;
      if (Math.abs(value - wanted) <= 5) continue;
      const why = Math.abs(60 / meanOf(own) - mean) <= 5 ? 'median' : own.length > theirs.length ? 'extra' : 'missed';
      off[why]++;
      const list = byRecording.get(name) ?? [0, 0, 0];
      list[['median', 'missed', 'extra'].indexOf(why)]!++;
      byRecording.set(name, list);
    }
  }
  const single = [...byRecording].map(([name, parts]): Row => [
    `S5: the same, ${name}`,
    set,
    String(parts.reduce((a, b) => a + b)),
    parts.join('; '),
  ]);
  return [
    [
      'S5: off by more than 5 /min, mean interval right; beats missed; false',
      set,
      `${count - within.median} of ${count}`,
      `${off.median}; ${off.missed}; ${off.extra}`,
    ],
    ...(set === 'spc' ? [] : single),
    ['S5: rate of the reference off by more than 5 /min 0.2 s later, %', set, String(ofItself), percent(offItself, ofItself)],
    [
      'S5: within 5 /min of the median interval: hr_ppg; of the middle half, %',
      set,
      String(count),
      `${percent(within.median, count)}; ${percent(within.middle, count)}`,
    ],
    [
      'S5: within 5 /min of the mean interval: hr_ppg; of the middle half, %',
      set,
      String(count),
      `${percent(within.medianOfMean, count)}; ${percent(within.middleOfMean, count)}`,
    ],
  ];
}

/** Between beats of (from, to], s. */
function intervals(beatSec: Float64Array, from: number, to: number): number[] {
  const inside = beatSec.filter((t) => t > from && t <= to);
  return Array.from(inside.subarray(1), (t, i) => t - inside[i]!);
}

const meanOf = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0) / x.length;

/** Mean without the least and the greatest quarter, which may cut a value. */
function middleHalf(x: readonly number[]): number {
  const [from, to] = [x.length / 4, (3 * x.length) / 4];
  const shareOf = (i: number): number => Math.max(0, Math.min(i + 1, to) - Math.max(i, from));
  return x.toSorted((a, b) => a - b).reduce((sum, value, i) => sum + shareOf(i) * value, 0) / (to - from);
}

const reasonNames = {
  short: 'intervals cover less than 80 % of it',
  beats: 'doubtful beats',
  excluded: `more than ${100 * excludedSuspect} % of the intervals excluded`,
  correction: 'excluded intervals change SDNN by more than 10 %',
  places: 'places of beats vary by more than a share of it',
  detector: 'half of the beats not sure',
  small: `less than ${doubtLimits.ppg.sdnnMin} ms`,
} as const;
type Reason = keyof typeof reasonNames;
type Source = 'ecg' | 'ppg';

const sdnnMethods = { ecg: methodIndex('hrv_sdnn_300s'), ppg: methodIndex('prv_sdnn_300s') } as const;

/** Values of SDNN, and why each is not good. */
type Sdnn = Readonly<{ row: FeatureRow; reasons: ReadonlySet<Reason> }>;

/** By time, ns. @param fs of all channels, Hz */
function sdnnOf(channels: readonly PhysicalChannel[], fs: number): Record<Source, Map<bigint, Sdnn>> {
  const seen = { ecg: new Map<bigint, Set<Reason>>(), ppg: new Map<bigint, Set<Reason>>() };
  const rows = streamRows(channels, null, (method, tUs) => {
    for (const source of ['ecg', 'ppg'] as const)
      if (method === sdnnMethods[source]) seen[source].set(1000n * BigInt(tUs), windowReasons(source, fs));
  });
  const of = (source: Source): Map<bigint, Sdnn> =>
    new Map(
      (rows.features.get(featureMethods[sdnnMethods[source]]!.feature) ?? []).map((row) => [
        row.tNs,
        { row, reasons: new Set([...beatReasonsOf(rows, source, row.tNs), ...seen[source].get(row.tNs)!]) },
      ]),
    );
  return { ecg: of('ecg'), ppg: of('ppg') };
}

/** Reasons in the window that the engine has just computed. */
function windowReasons(source: Source, fs: number): Set<Reason> {
  const reasons = new Set<Reason>();
  const { nn, all, unsureBeats } = scratch;
  const own = timeDomain(nn);
  const limits = doubtLimits[source];
  if (1 - nn.count / all.count > excludedSuspect) reasons.add('excluded');
  if (timeDomain(all).sdnnMs > correctionMax * own.sdnnMs) reasons.add('correction');
  if (unsureBeats > limits.unsureSpreadMax) reasons.add('detector');
  if (own.sdnnMs < limits.sdnnMin) reasons.add('small');
  scratch.all = nn; // as if none were excluded
  if (doubt(own, { ...limits, unsureSpreadMax: 1, sdnnMin: 0 }, placingOf(source, fs)).spread > 0) reasons.add('places');
  scratch.all = all;
  return reasons;
}

/** Reasons that the stored beats of the 300 s before a time tell. */
function beatReasonsOf({ beats }: StreamRows, source: Source, tNs: bigint): Reason[] {
  const { code } = beatMethods[source];
  const inside = beats.filter(
    (beat) => beat.method === code && beat.kind !== 'interpolated' && beat.tNs > tNs - 300_000_000_000n && beat.tNs <= tNs,
  );
  const share = (flag: number): number => inside.filter(({ quality }) => quality >= flag).length / inside.length;
  const covered = inside.slice(1).reduce((sum, { ibiMs }) => sum + (Number.isNaN(ibiMs) ? 0 : ibiMs), 0);
  return [...(covered < 0.8 * 300_000 ? (['short'] as const) : []), ...(share(2) > 0 || share(1) > 0.05 ? (['beats'] as const) : [])];
}

function deviation(x: readonly number[]): number {
  const mean = meanOf(x);
  return Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1));
}

/** S8: flags of either side, and how right the values are whatever their flags. */
function variabilityRows(items: readonly PpgItem[]): Row[] {
  const windows = items.flatMap(({ fs, ecg, ppg }) => {
    const sdnn = sdnnOf([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: ecg }, ...ppgChannels([ppg], fs)], fs);
    return [...sdnn.ppg].flatMap(([tNs, pulse]) => {
      const heart = sdnn.ecg.get(tNs);
      if (heart === undefined) return [];
      const error = Math.abs(pulse.row.value - heart.row.value);
      return [{ error, isRight: error <= 0.1 * heart.row.value, ecg: heart, ppg: pulse }];
    });
  });
  const n = windows.length;
  const errors = windows.map(({ error }) => error).toSorted((a, b) => a - b);
  const means = errors.map((_, i) => meanOf(errors.slice(0, i + 1)));
  const of = (what: string, figure: string, count = n): Row => [`S8: ${what}`, 'bidmc', String(count), figure];
  const isGood = ({ row }: Sdnn): boolean => row.qmask === 0;
  const right = (list: typeof windows): string => `${list.filter(({ isRight }) => isRight).length} of ${list.length}`;
  const sure = windows.filter(({ ecg }) => isGood(ecg));
  const both = sure.filter(({ ppg }) => isGood(ppg));
  const reasons = (['ecg', 'ppg'] as const).flatMap((side) =>
    (Object.keys(reasonNames) as Reason[]).flatMap((reason) => {
      const having = windows.filter((window) => window[side].reasons.has(reason));
      const alone = having.filter((window) => window[side].reasons.size === 1);
      return having.length === 0 ? [] : [of(`${side}, ${reasonNames[reason]}; alone`, `${having.length}; ${alone.length}`)];
    }),
  );
  return [
    of('flagged 0: ECG; pulse; both', `${sure.length}; ${windows.filter(({ ppg }) => isGood(ppg)).length}; ${both.length}`),
    ...reasons,
    of('whatever the flags, within 10 %', right(windows)),
    of('mean error of the 60 % of windows with the least errors, ms', means[Math.ceil(0.6 * n) - 1]!.toFixed(2)),
    of('most windows, of the least errors, with a mean error of 0.6 ms, %', percent(means.filter((mean) => mean <= 0.6).length, n)),
    of('ECG and pulse flagged 0, within 10 %', right(both), sure.length),
    of('ECG flagged 0, pulse 1 or 2, within 10 %', right(sure.filter(({ ppg }) => !isGood(ppg))), sure.length),
  ];
}

/** S8: is the rule that takes most windows too strict? SDNN of annotated normal beats tells, where there are such. */
async function correctionRows(dataDir: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [database, recordings] of [
    ['mitdb', await loadMitdb(dataDir)],
    ['qtdb', await loadQtdb(dataDir)],
  ] as const) {
    const good = { count: 0, right: 0 };
    const corrected = { count: 0, right: 0 };
    for (const { fs, leads, beats, codes } of recordings) {
      const places = normalBeatsAligned(leads[0]!, beats, codes, fs);
      for (const { row, reasons } of sdnnOf([{ code: 'ecg.1', kind: 'ecg', fs, unit: 'mV', samples: leads[0]! }], fs).ecg.values()) {
        const wanted = sdnnAt(places, codes, Number(row.tNs) / 1e9);
        const into = row.qmask === 0 ? good : reasons.size === 1 && reasons.has('correction') ? corrected : null;
        if (into === null || Number.isNaN(wanted)) continue;
        into.count++;
        if (Math.abs(row.value / wanted - 1) <= 0.1) into.right++;
      }
    }
    for (const [what, { count, right }] of [
      ['flagged 0', good],
      [`suspect because ${reasonNames.correction}, alone`, corrected],
    ] as const)
      if (count > 0)
        rows.push([`S8: hrv_sdnn_300s ${what}: within 10 % of the annotated beats`, database, String(count), percent(right, count)]);
  }
  return rows;
}

/** SDNN of the intervals between labelled normal beats of 300 s, ms; NaN with fewer than 60. */
function sdnnAt(beatSec: Float64Array, codes: readonly string[], endSec: number): number {
  const nn: number[] = [];
  for (let i = 1; i < beatSec.length; i++) {
    if (beatSec[i - 1]! <= endSec - 300 || beatSec[i]! > endSec || beatSec[i]! - beatSec[i - 1]! > 3) continue;
    if (normalCodes.has(codes[i]!) && normalCodes.has(codes[i - 1]!)) nn.push(1000 * (beatSec[i]! - beatSec[i - 1]!));
  }
  return nn.length < 60 ? Number.NaN : deviation(nn);
}
